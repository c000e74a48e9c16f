/* SPDX-License-Identifier: BSD-3-Clause */

/* The headers that each opcode of the BTH has behind it. IBTA vol. 1, 9.2 and A17. */
#ifndef ROCEV2_OPCODE_H
#define ROCEV2_OPCODE_H

#include <stdint.h>

/* In the order in which they stand. */
#define ROCEV2_DETH	  0x01 /* queue key, source queue pair */
#define ROCEV2_RETH	  0x02 /* address, key, length */
#define ROCEV2_ATOMIC_ETH 0x04 /* address, key, two operands */
#define ROCEV2_AETH	  0x08 /* syndrome, MSN */
#define ROCEV2_ATOMIC_ACK 0x10 /* the original value */
#define ROCEV2_WORD	  0x20 /* ImmDt or IETH: immediate, or a key to invalidate */
#define ROCEV2_CNP	  0x40 /* congestion notification: 16 bytes of zeros */
/* No padding: there is no payload, or a whole MTU of it. */
#define ROCEV2_UNPADDED 0x80

struct rocev2_opcode {
	uint8_t bytes;	 /* of these headers */
	uint8_t headers; /* the flags above */
	uint8_t known;	 /* 0: no packet has this opcode */
};

extern const struct rocev2_opcode rocev2_opcodes[256];

#endif
