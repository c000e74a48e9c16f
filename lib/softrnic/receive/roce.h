/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets on wires, which are descriptors as frames are, and the addresses that they go by. */
#ifndef SOFTRNIC_QP_ROCE_H
#define SOFTRNIC_QP_ROCE_H

#include "prm/qp.h"
#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/* An entry of the RoCE address table: a GID. */
struct softrnic_roce_addr {
	bool valid;
	struct rnic_roce_addr context;
	uint8_t gid[16];
	uint8_t mac[6];
};
#define SOFTRNIC_ROCE_ADDRS 128

#define SOFTRNIC_PKEY 0xffff /* the whole of the P_Key table */

/* What is around the BTH of a packet inside one process; valid during the call that carries it. */
struct softrnic_roce_frame {
	uint8_t smac[6], dmac[6];
	uint8_t sgid[16], dgid[16];
	uint16_t pkey;
	bool corrupt;	/* damaged on its way: its ICRC is wrong */
	uint32_t bytes; /* as softrnic_roce_frame_bytes() has it */
	const struct roce_pkt *pkt;
};

/* Bytes that the packet would have on an Ethernet wire, without FCS: what counters count. */
static inline uint32_t
softrnic_roce_frame_bytes(const struct softrnic_roce_frame *frame)
{
	/* Extended headers by opcode (ImmDt 4, RETH 16, AETH 4, AtomicETH 28, AtomicAckETH 8). */
	static const uint8_t extended[32] = {
		[ROCE_SEND_LAST_IMM] = 4,	 [ROCE_SEND_ONLY_IMM] = 4,
		[ROCE_WRITE_FIRST] = 16,	 [ROCE_WRITE_LAST_IMM] = 4,
		[ROCE_WRITE_ONLY] = 16,		 [ROCE_WRITE_ONLY_IMM] = 20,
		[ROCE_READ_REQUEST] = 16,	 [ROCE_READ_RESPONSE_FIRST] = 4,
		[ROCE_READ_RESPONSE_LAST] = 4,	 [ROCE_READ_RESPONSE_ONLY] = 4,
		[ROCE_ACKNOWLEDGE] = 4,		 [ROCE_ATOMIC_ACKNOWLEDGE] = 12,
		[ROCE_COMPARE_SWAP] = 28,	 [ROCE_FETCH_ADD] = 28,
		[ROCE_SEND_LAST_INVALIDATE] = 4, [ROCE_SEND_ONLY_INVALIDATE] = 4,
	};
	enum { IPV4 = 20, IPV6 = 40, UDP = 8, BTH = 12, ICRC = 4 };

	return SOFTRNIC_ETH_HEADER + (rnic_gid_is_ipv4(frame->dgid) ? IPV4 : IPV6) + UDP + BTH +
	       extended[frame->pkt->opcode & 0x1f] + ((frame->pkt->length + 3) & ~3u) + ICRC;
}

/* From the wire: addresses, QPN, transport. What fits nothing is counted and dropped. */
void softrnic_roce_receive(struct softrnic *dev, const struct softrnic_roce_frame *frame);

#endif
