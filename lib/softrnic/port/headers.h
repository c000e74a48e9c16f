/* SPDX-License-Identifier: BSD-3-Clause */

/* Headers and checksums of frames. */
#ifndef SOFTRNIC_HEADERS_H
#define SOFTRNIC_HEADERS_H

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

/* An IP packet in a frame, behind at most two tags. Offsets count from the frame's start. */
struct softrnic_headers {
	uint32_t l3, l4;
	/* of the packet, as its header says: not checked against the frame */
	uint32_t ip_bytes;
	uint8_t version; /* 4 or 6 */
	uint8_t proto;	 /* TCP or UDP with its whole header (TCP: without options) there; else 0 */
	bool fragment;
	bool options; /* of IPv4, or extension headers of IPv6 that are options */
};

/* Behind the IP header, options included; never ask for it before the length was checked. */
static inline uint32_t
softrnic_l4_bytes(const struct softrnic_headers *headers)
{
	return headers->ip_bytes - (headers->l4 - headers->l3);
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

/*
 * Find them; false: no IP packet. `head`: the frame's first bytes, in memory that nothing else changes. Of IPv6's
 * extension headers only options are followed.
 */
bool softrnic_headers_parse(const uint8_t *head, uint32_t bytes, struct softrnic_headers *headers);

/*
 * Write the checksums that cs_flags ask for (RNIC_WQE_ETH_L3_CSUM, L4_CSUM) into the headers at `head`, where the frame
 * begins with them. What the fields held counts for nothing. Of a fragment, or without that header: none. The frame
 * remembers the sum. @return whether one was written
 */
bool softrnic_checksums_insert(struct softrnic_frame *frame, uint8_t *head,
			       const struct softrnic_headers *headers, uint8_t cs_flags);

/*
 * Of a received IP or tagged frame of so many bytes: header types, and whether its checksums are right, or what is left to be added
 * up to know that. head: its first bytes, SOFTRNIC_ETH_HEAD_MAX or all of them, which may change. l4_sum: the sum over what is behind
 * the IP header; NULL: not known.
 */
void softrnic_headers_receive(const uint8_t *head, uint32_t length, const uint16_t *l4_sum,
			      struct softrnic_rx_info *info);

/*
 * The frame, in one piece, to where it is received, with what is left to be added up (info->sum.bytes > 0) added up. A small one of
 * another process must be in our own memory.
 */
void softrnic_rx_copy(uint8_t *to, const uint8_t *from, uint32_t length,
		      struct softrnic_rx_info *info);

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
