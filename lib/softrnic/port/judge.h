/* SPDX-License-Identifier: BSD-3-Clause */

/* What a completion says of a received packet: the judge, inline for most packets. For all others: headers.h. */
#ifndef SOFTRNIC_JUDGE_H
#define SOFTRNIC_JUDGE_H

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "softrnic/port/packet.h"

#define JUDGE_IPV4_BYTES	 20
#define JUDGE_IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */
#define JUDGE_TCP_BYTES		 20
#define JUDGE_TCP_DATA_OFFSET	 12
#define JUDGE_TCP_FLAGS		 13
#define JUDGE_TCP_ACK		 0x10
#define JUDGE_UDP_BYTES		 8
#define JUDGE_UDP_LENGTH	 4
#define JUDGE_UDP_CHECKSUM	 6

/* No datagram in it carries another packet, whose checksums somebody could want to know from its sum. */
#define JUDGE_SHORT_FRAME 64

/* What counts of TCP or UDP, or of another protocol (0), behind a good IP header. */
struct softrnic_judge_l4 {
	uint32_t bytes, tail; /* of the packet; of the frame behind it */
	uint8_t version, proto;
	bool none, fits; /* of a datagram: it has no checksum; its length is the packet's */
	uint64_t pseudo; /* sum of the pseudo header */
};

static inline uint8_t
softrnic_judge_tcp_type(uint8_t flags, uint32_t header_bytes, uint32_t ip_bytes)
{
	if ((flags & JUDGE_TCP_ACK) == 0)
		return RNIC_CQE_L4_TCP_NO_ACK;
	return ip_bytes > header_bytes ? RNIC_CQE_L4_TCP_ACK_AND_DATA : RNIC_CQE_L4_TCP_ACK_NO_DATA;
}

/* TCP and UDP are right or wrong, and the sum of all is told, whatever it is. l4_sum: as of softrnic_headers_receive(). */
static __rte_always_inline void
softrnic_judge_l4(const struct softrnic_judge_l4 *l4, uint32_t length, const uint16_t *l4_sum,
		  struct softrnic_rx_info *info)
{
	if (l4->proto == 0) {
		/* What is known of an IPv6 packet of another protocol is no checksum. */
		info->good = l4->version == 4;
	} else if (l4->none && l4->fits && l4->version == 4) {
		info->good = true;
		info->l4_ok = RNIC_CQE_L4_OK;
		if (length <= JUDGE_SHORT_FRAME)
			return;
	} else if (l4->none || !l4->fits) {
		info->bad = true;
	} else {
		info->sum.verify = true;
		info->sum.pseudo = l4->pseudo;
	}
	if (l4_sum != NULL && l4->proto != 0) {
		softrnic_rx_sum(info, *l4_sum);
	} else if (l4->bytes == 0) {
		softrnic_rx_sum(info, 0);
	} else {
		info->sum.bytes = l4->bytes;
		info->sum.tail = l4->tail;
	}
}

/*
 * Words of client memory, each loaded once, into a register: a load from a copy would wait for the stores that made the copy,
 * and with them for all stores before: those to the last frame's CQE, whose line another core has.
 */
static __rte_always_inline uint64_t
softrnic_judge_take64(const uint8_t *bytes)
{
	uint64_t word = softrnic_sum_word(bytes);

	__asm__ volatile("" : "+r"(word));
	return word;
}

static __rte_always_inline uint64_t
softrnic_judge_take32(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	__asm__ volatile("" : "+r"(word));
	return word;
}

/* Bytes of such a word, by their place in memory; two of them as a number. */
static __rte_always_inline uint8_t
softrnic_judge_byte(uint64_t word, unsigned int at)
{
	return (uint8_t)(word >> 8 * at);
}

static __rte_always_inline uint16_t
softrnic_judge_16(uint64_t word, unsigned int at)
{
	return rte_bswap16((uint16_t)(word >> 8 * at));
}

/* In the first word of an IPv4 header without options, of no fragment: what is always the same. */
#define JUDGE_PLAIN_MASK  (0xffu | (uint64_t)RTE_STATIC_BSWAP16(JUDGE_IPV4_FRAGMENT_MASK) << 48)
#define JUDGE_PLAIN_VALUE 0x45u

/*
 * Most frames: IPv4 without options, whole, right behind the Ethernet header, with TCP or UDP. False: it is not that plain, and
 * nothing was judged. As softrnic_headers_receive(), which says the same of them.
 */
static __rte_always_inline bool
softrnic_judge_plain(const uint8_t *head, uint32_t length, const uint16_t *l4_sum,
		     struct softrnic_rx_info *info)
{
	const uint8_t *ip = head + SOFTRNIC_ETH_HEADER;
	struct softrnic_judge_l4 l4 = { .version = 4, .fits = true };
	uint64_t first, second, to, ports, rest, sum;
	uint32_t ip_bytes, least;

	if (length < SOFTRNIC_ETH_HEADER + JUDGE_IPV4_BYTES + JUDGE_TCP_BYTES ||
	    softrnic_load16(ip - 2) != SOFTRNIC_ETHERTYPE_IPV4)
		return false;
	first = softrnic_judge_take64(ip);
	second = softrnic_judge_take64(ip + 8);
	to = softrnic_judge_take32(ip + 16);
	ports = softrnic_judge_take64(ip + JUDGE_IPV4_BYTES);
	ip_bytes = softrnic_judge_16(first, 2);
	l4.proto = softrnic_judge_byte(second, 1);
	l4.bytes = ip_bytes - JUDGE_IPV4_BYTES;
	if ((first & JUDGE_PLAIN_MASK) != JUDGE_PLAIN_VALUE)
		return false;
	if (l4.proto == SOFTRNIC_PROTO_UDP) {
		info->l4_l3_hdr_type = RNIC_CQE_L3_IPV4 | RNIC_CQE_L4_UDP;
		l4.none = softrnic_judge_16(ports, JUDGE_UDP_CHECKSUM) == 0;
		l4.fits = softrnic_judge_16(ports, JUDGE_UDP_LENGTH) == l4.bytes;
		least = JUDGE_UDP_BYTES;
	} else if (l4.proto == SOFTRNIC_PROTO_TCP) {
		rest = softrnic_judge_take64(ip + JUDGE_IPV4_BYTES + 8);
		least = (softrnic_judge_byte(rest, JUDGE_TCP_DATA_OFFSET - 8) >> 4) * 4u;
		info->l4_l3_hdr_type =
			RNIC_CQE_L3_IPV4 |
			softrnic_judge_tcp_type(softrnic_judge_byte(rest, JUDGE_TCP_FLAGS - 8),
						JUDGE_IPV4_BYTES + least, ip_bytes);
		least = JUDGE_TCP_BYTES;
	} else {
		return false;
	}
	sum = softrnic_sum_add(softrnic_sum_add(first, second), to);
	if (ip_bytes < JUDGE_IPV4_BYTES + least || ip_bytes > length - SOFTRNIC_ETH_HEADER ||
	    !softrnic_sum_good(sum)) {
		info->bad = true;
		return true;
	}
	info->hds_ip_ext = RNIC_CQE_L2_OK | RNIC_CQE_L3_OK;
	info->sum.header = sum;
	l4.tail = length - SOFTRNIC_ETH_HEADER - ip_bytes;
	l4.pseudo = (uint64_t)rte_bswap16(l4.proto) + rte_bswap16((uint16_t)l4.bytes) +
		    (second >> 32) + to;
	softrnic_judge_l4(&l4, length, l4_sum, info);
	return true;
}

#endif
