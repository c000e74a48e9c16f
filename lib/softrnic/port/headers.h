/* SPDX-License-Identifier: BSD-3-Clause */

/* Headers and checksums of frames. */
#ifndef SOFTRNIC_HEADERS_H
#define SOFTRNIC_HEADERS_H

#include "softrnic/port/packet.h"

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

#endif
