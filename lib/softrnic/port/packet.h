/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets in frames: their types, and what is found out about one that is received. */
#ifndef SOFTRNIC_PACKET_H
#define SOFTRNIC_PACKET_H

#include "prm/cqe.h"
#include "softrnic/port/frame.h"
#include "softrnic/port/sum.h"

#define SOFTRNIC_ETHERTYPE_IPV4	 0x0800
#define SOFTRNIC_ETHERTYPE_IPV6	 0x86dd
#define SOFTRNIC_ETHERTYPE_CVLAN 0x8100
#define SOFTRNIC_ETHERTYPE_SVLAN 0x88a8
#define SOFTRNIC_VLAN_TAG	 4 /* bytes */
#define SOFTRNIC_PROTO_TCP	 6
#define SOFTRNIC_PROTO_UDP	 17

static inline uint16_t
softrnic_load16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline bool
softrnic_is_vlan(uint16_t type)
{
	return type == SOFTRNIC_ETHERTYPE_CVLAN || type == SOFTRNIC_ETHERTYPE_SVLAN;
}

/* Has it headers that a completion tells of? By its type, of which all others are passed by. */
static inline bool
softrnic_frame_has_headers(const uint8_t *head)
{
	uint16_t type = softrnic_load16(head + 12);

	return type == SOFTRNIC_ETHERTYPE_IPV4 || type == SOFTRNIC_ETHERTYPE_IPV6 ||
	       softrnic_is_vlan(type);
}

/* What steering found out about a frame, for its CQE. */
struct softrnic_rx_info {
	uint32_t flow_tag;
	uint32_t hash;
	/*
	 * Not side by side as in the CQE: compilers load two such bytes as one word, which then waits for both stores, and
	 * for all stores before them.
	 */
	uint8_t l4_l3_hdr_type, hash_type;
	uint8_t hds_ip_ext; /* but for L4_OK: l4_ok */
	bool tagged;	    /* opens with a VLAN tag that queues may strip */
	uint16_t vlan_info; /* the tag, once it is stripped */
	uint16_t checksum;  /* of the IP packet, as its bytes stand in memory */
	uint8_t l4_ok;	    /* RNIC_CQE_L4_OK or 0 */
	bool good, bad;	    /* its checksums, as they are counted */
	/* What each queue adds up as it copies the frame, to know checksum, l4_ok, good and bad (softrnic_rx_sum()). */
	struct {
		uint32_t bytes; /* behind the IP header; 0: all is known */
		uint32_t tail;	/* of the frame, behind those */
		bool verify;
		uint64_t header, pseudo; /* sums */
	} sum;
};

/* The sum of what is behind the IP header is known. */
static inline void
softrnic_rx_sum(struct softrnic_rx_info *info, uint64_t sum)
{
	info->checksum = softrnic_sum_fold(softrnic_sum_add(info->sum.header, sum));
	if (!info->sum.verify)
		return;
	info->good = softrnic_sum_good(softrnic_sum_add(sum, info->sum.pseudo));
	info->bad = !info->good;
	info->l4_ok = info->good ? RNIC_CQE_L4_OK : 0;
}

#endif
