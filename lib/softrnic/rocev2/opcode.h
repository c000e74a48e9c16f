/* SPDX-License-Identifier: BSD-3-Clause */

/* The headers that each opcode of the BTH has behind it. IBTA vol. 1, 9.2, A14 and A17. */
#ifndef ROCEV2_OPCODE_H
#define ROCEV2_OPCODE_H

#include <stdint.h>

/* In the order in which they stand. */
#define ROCEV2_XRC	  0x001 /* shared receive queue */
#define ROCEV2_DETH	  0x002 /* queue key, source queue pair */
#define ROCEV2_RETH	  0x004 /* address, key, length */
#define ROCEV2_ATOMIC_ETH 0x008 /* address, key, two operands */
#define ROCEV2_AETH	  0x010 /* syndrome, MSN */
#define ROCEV2_ATOMIC_ACK 0x020 /* the original value */
#define ROCEV2_WORD	  0x040 /* ImmDt or IETH: immediate, or a key to invalidate */
#define ROCEV2_CNP	  0x080 /* congestion notification: 16 bytes of zeros */
/* No packet has both, and most have neither. */
#define ROCEV2_FIRST (ROCEV2_XRC | ROCEV2_DETH)
/* No padding: there is no payload, or a whole MTU of it. */
#define ROCEV2_UNPADDED 0x100

struct rocev2_opcode {
	uint8_t bytes;	  /* of these headers */
	uint8_t known;	  /* 0: no packet has this opcode */
	uint16_t headers; /* the flags above */
};

extern const struct rocev2_opcode rocev2_opcodes[256];

#endif
