/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decoded packets of RoCEv2: headers as numbers, payload as pieces of memory. Bytes, padding,
 * addresses, P_Key and ICRC are the codec's and the owner's.
 */
#ifndef ROCE_PKT_H
#define ROCE_PKT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* BTH opcodes: transport[7:5] operation[4:0]. */
#define ROCE_TRANSPORT(opcode) ((opcode) >> 5)
#define ROCE_TRANSPORT_RC      0x0
#define ROCE_TRANSPORT_UC      0x1
#define ROCE_TRANSPORT_UD      0x3
#define ROCE_TRANSPORT_XRC     0x5
#define ROCE_CNP	       0x81 /* a congestion notification, of no transport */

enum roce_opcode {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_LAST_IMM = 0x03,
	ROCE_SEND_ONLY = 0x04,
	ROCE_SEND_ONLY_IMM = 0x05,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_LAST_IMM = 0x09,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_WRITE_ONLY_IMM = 0x0b,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESPONSE_FIRST = 0x0d,
	ROCE_READ_RESPONSE_MIDDLE = 0x0e,
	ROCE_READ_RESPONSE_LAST = 0x0f,
	ROCE_READ_RESPONSE_ONLY = 0x10,
	ROCE_ACKNOWLEDGE = 0x11,
	ROCE_ATOMIC_ACKNOWLEDGE = 0x12,
	ROCE_COMPARE_SWAP = 0x13,
	ROCE_FETCH_ADD = 0x14,
	ROCE_SEND_LAST_INVALIDATE = 0x16,
	ROCE_SEND_ONLY_INVALIDATE = 0x17,
};

/* One of the above that another transport has, too. */
#define ROCE_OPCODE(transport, opcode) ((uint8_t)((transport) << 5 | (opcode)))

/* AETH syndromes: kind[7:5] value[4:0]. */
#define ROCE_SYNDROME_KIND(syndrome)  ((syndrome) >> 5)
#define ROCE_SYNDROME_VALUE(syndrome) ((syndrome)&0x1f)

enum roce_syndrome_kind {
	ROCE_KIND_ACK = 0, /* value: credits */
	ROCE_KIND_RNR = 1, /* value: code of the time to wait */
	ROCE_KIND_NAK = 3, /* value: enum roce_nak */
};

enum roce_nak {
	ROCE_NAK_SEQUENCE = 0,
	ROCE_NAK_INVALID_REQUEST = 1,
	ROCE_NAK_REMOTE_ACCESS = 2,
	ROCE_NAK_REMOTE_OPERATION = 3,
};

#define ROCE_ACK_UNLIMITED 0x1f /* an ACK that counts no credits */
#define ROCE_RNR(code)	   (ROCE_KIND_RNR << 5 | (code))
#define ROCE_NAK(nak)	   (ROCE_KIND_NAK << 5 | (nak))

#define ROCE_MTU_MIN	 256u
#define ROCE_MTU_MAX	 4096u
#define ROCE_MESSAGE_MAX (1u << 31)
/* The headers that stand before a datagram's payload where it is received. */
#define ROCE_GRH_BYTES 40u
/* Pieces of one packet's payload: 61 data segments, each over a border of pages, fit. */
#define ROCE_PKT_PIECES 128

struct roce_pkt {
	/* BTH */
	uint8_t opcode; /* enum roce_opcode */
	bool solicited, ack_request;
	uint8_t syndrome; /* AETH, as msn is */
	uint32_t dest_qpn;
	uint32_t psn;  /* 24 bits */
	uint32_t srqn; /* XRCETH: requests of XRC; 24 bits */
	/* AETH: ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, READ_RESPONSE but MIDDLE */
	uint32_t msn; /* 24 bits */
	union {
		uint32_t immediate;	  /* ImmDt */
		uint32_t invalidate_rkey; /* IETH: SEND with invalidate */
	};
	union {
		struct {
			/* RETH: WRITE FIRST and ONLY, READ_REQUEST; AtomicETH shares va and rkey */
			uint32_t rkey;
			uint64_t va;
			uint32_t dma_length;
		};
		struct {
			/* DETH: datagrams */
			uint32_t qkey;
			uint32_t source_qpn;
		};
	};
	/* AtomicETH: CMP_SWAP, FETCH_ADD */
	uint64_t swap_add, compare;
	/* AtomicAckETH */
	uint64_t original;
	/* Payload without padding; `length` is the sum of the pieces. */
	uint32_t length;
	uint32_t count;
	const struct iovec *pieces;
};

/* ---- Packet sequence numbers: 24 bits, compared within half of their range. ---- */

#define ROCE_PSN_MASK 0xffffffu
#define ROCE_PSN_HALF 0x800000u

static inline uint32_t
roce_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ROCE_PSN_MASK;
}

/* a - b, from -2^23 to 2^23 - 1. */
static inline int32_t
roce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* PSNs that a message of this length takes; mtu_log: of the path MTU. */
static inline uint32_t
roce_packets(uint32_t length, uint8_t mtu_log)
{
	return length == 0 ? 1 : ((length - 1) >> mtu_log) + 1;
}

#endif
