/* SPDX-License-Identifier: BSD-3-Clause */

/* Checksums of frames that are sent, and of such that come. */
#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "prm/wqe.h"
#include "softrnic/base/copy.h"
#include "softrnic/port/headers.h"

#define IPV4_BYTES	   20
#define IPV4_CHECKSUM	   10
#define IPV4_ADDRESSES	   12
#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */
#define IPV6_BYTES	   40
#define IPV6_ADDRESSES	   8
#define IPV6_HOP_OPTIONS   0 /* next headers */
#define IPV6_FRAGMENT	   44
#define IPV6_OPTIONS	   60
#define TCP_BYTES	   20
#define TCP_DATA_OFFSET	   12
#define TCP_FLAGS	   13
#define TCP_ACK		   0x10
#define TCP_CHECKSUM	   16
#define UDP_BYTES	   8
#define UDP_LENGTH	   4
#define UDP_CHECKSUM	   6

/* No datagram in it carries another packet, whose checksums somebody could want to know from its sum. */
#define SHORT_FRAME 64

/* ---- Sums ---- */

static inline uint64_t
headers_load32(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The sum over `bytes` bytes of the frame from `at` on, which it must have. */
static __attribute__((noinline)) uint64_t
headers_sum_pieces(const struct softrnic_frame *frame, uint32_t at, uint32_t bytes)
{
	uint64_t sum = 0, part;
	bool odd = false;
	uint32_t i;
	size_t n;

	for (i = 0; bytes > 0; i++) {
		n = frame->pieces[i].iov_len;
		if (at >= n) {
			at -= (uint32_t)n;
			continue;
		}
		n = n - at < bytes ? n - at : bytes;
		part = softrnic_sum_bytes((const uint8_t *)frame->pieces[i].iov_base + at, n);
		/* Behind an odd byte, the words of a piece straddle those of the packet. */
		sum = softrnic_sum_add(sum, odd ? rte_bswap16(softrnic_sum_fold(part)) : part);
		odd ^= n & 1;
		bytes -= (uint32_t)n;
		at = 0;
	}
	return sum;
}

static inline uint64_t
headers_sum_frame(const struct softrnic_frame *frame, uint32_t at, uint32_t bytes)
{
	if (likely(frame->count == 1))
		return softrnic_sum_bytes((const uint8_t *)frame->pieces[0].iov_base + at, bytes);
	return headers_sum_pieces(frame, at, bytes);
}

static inline uint64_t
headers_sum_ip_header(const uint8_t *ip, uint32_t bytes)
{
	if (likely(bytes == IPV4_BYTES))
		return softrnic_sum_add(
			softrnic_sum_add(softrnic_sum_word(ip), softrnic_sum_word(ip + 8)),
			headers_load32(ip + 16));
	return softrnic_sum_bytes(ip, bytes);
}

/* Of TCP's or UDP's pseudo header. */
static inline uint64_t
headers_sum_pseudo(const uint8_t *head, const struct softrnic_headers *headers)
{
	const uint8_t *ip = head + headers->l3;
	uint64_t sum = rte_cpu_to_be_16(headers->proto) +
		       (uint64_t)rte_cpu_to_be_16((uint16_t)softrnic_l4_bytes(headers));

	if (headers->version == 4)
		return softrnic_sum_add(sum, (uint64_t)headers_load32(ip + IPV4_ADDRESSES) +
						     headers_load32(ip + IPV4_ADDRESSES + 4));
	ip += IPV6_ADDRESSES;
	sum = softrnic_sum_add(sum,
			       softrnic_sum_add(softrnic_sum_word(ip), softrnic_sum_word(ip + 8)));
	return softrnic_sum_add(
		sum, softrnic_sum_add(softrnic_sum_word(ip + 16), softrnic_sum_word(ip + 24)));
}

/* ---- Headers ---- */

static inline uint32_t
headers_least_header(uint8_t proto)
{
	switch (proto) {
	case SOFTRNIC_PROTO_TCP: return TCP_BYTES;
	case SOFTRNIC_PROTO_UDP: return UDP_BYTES;
	default: return UINT32_MAX;
	}
}

/* Over options, which change nothing in what follows them. Others (routing, AH) do, and are protocols in here. */
static void
headers_skip_ipv6_options(const uint8_t *head, uint32_t bytes, struct softrnic_headers *headers)
{
	const uint8_t *option;

	while (headers->proto == IPV6_HOP_OPTIONS || headers->proto == IPV6_OPTIONS) {
		option = head + headers->l4;
		if (bytes - headers->l4 < 8 || bytes - headers->l4 < (option[1] + 1u) * 8) {
			headers->proto = 0;
			return;
		}
		headers->proto = option[0];
		headers->l4 += (option[1] + 1u) * 8;
	}
}

bool
softrnic_headers_parse(const uint8_t *head, uint32_t bytes, struct softrnic_headers *headers)
{
	uint32_t at = SOFTRNIC_ETH_HEADER - 2, header;
	uint16_t type = softrnic_load16(head + at);
	const uint8_t *ip;

	while (unlikely(softrnic_is_vlan(type)) && at < 20 && bytes >= at + SOFTRNIC_VLAN_TAG + 2) {
		at += SOFTRNIC_VLAN_TAG;
		type = softrnic_load16(head + at);
	}
	at += 2;
	ip = head + at;
	headers->l3 = at;
	if (type == SOFTRNIC_ETHERTYPE_IPV4 && bytes >= at + IPV4_BYTES && ip[0] >> 4 == 4) {
		header = (ip[0] & 0xfu) * 4;
		if (header < IPV4_BYTES || bytes < at + header)
			return false;
		headers->version = 4;
		headers->ip_bytes = softrnic_load16(ip + 2);
		headers->fragment = (softrnic_load16(ip + 6) & IPV4_FRAGMENT_MASK) != 0;
		headers->options = header > IPV4_BYTES;
		headers->proto = ip[9];
		headers->l4 = at + header;
	} else if (type == SOFTRNIC_ETHERTYPE_IPV6 && bytes >= at + IPV6_BYTES && ip[0] >> 4 == 6) {
		headers->version = 6;
		headers->ip_bytes = IPV6_BYTES + softrnic_load16(ip + 4);
		headers->proto = ip[6];
		headers->l4 = at + IPV6_BYTES;
		headers_skip_ipv6_options(head, bytes, headers);
		headers->fragment = headers->proto == IPV6_FRAGMENT;
		headers->options = headers->l4 > at + IPV6_BYTES;
	} else {
		return false;
	}
	if (headers->fragment || bytes - headers->l4 < headers_least_header(headers->proto))
		headers->proto = 0;
	return true;
}

/* Does the frame have all of the packet, and the packet all of its headers? */
static inline bool
headers_lengths_fit(const struct softrnic_frame *frame, const struct softrnic_headers *headers)
{
	uint32_t header = headers->l4 - headers->l3;

	if (headers->ip_bytes < header || headers->ip_bytes > frame->length - headers->l3)
		return false;
	return headers->proto == 0 ||
	       headers->ip_bytes - header >= headers_least_header(headers->proto);
}

bool
softrnic_checksums_insert(struct softrnic_frame *frame, uint8_t *head,
			  const struct softrnic_headers *headers, uint8_t cs_flags)
{
	bool l3 = (cs_flags & RNIC_WQE_ETH_L3_CSUM) != 0 && headers->version == 4;
	bool udp = headers->proto == SOFTRNIC_PROTO_UDP;
	uint16_t checksum = 0;
	uint8_t *field;
	uint64_t sum;

	if (l3) {
		field = head + headers->l3 + IPV4_CHECKSUM;
		memcpy(field, &checksum, sizeof(checksum));
		checksum = (uint16_t)~softrnic_sum_fold(
			headers_sum_ip_header(head + headers->l3, headers->l4 - headers->l3));
		memcpy(field, &checksum, sizeof(checksum));
	}
	if ((cs_flags & RNIC_WQE_ETH_L4_CSUM) == 0 || headers->proto == 0 ||
	    !headers_lengths_fit(frame, headers))
		return l3;
	field = head + headers->l4 + (udp ? UDP_CHECKSUM : TCP_CHECKSUM);
	checksum = 0;
	memcpy(field, &checksum, sizeof(checksum));
	sum = headers_sum_frame(frame, headers->l4, softrnic_l4_bytes(headers));
	checksum = (uint16_t)~softrnic_sum_fold(
		softrnic_sum_add(sum, headers_sum_pseudo(head, headers)));
	/* 0 would say that there is none (RFC 768). */
	if (checksum == 0 && udp)
		checksum = 0xffff;
	memcpy(field, &checksum, sizeof(checksum));
	/* Who receives it in this process need not add it all up again. */
	frame->l4_sum = softrnic_sum_fold(softrnic_sum_add(sum, checksum));
	frame->l4_summed = true;
	return true;
}

/* ---- Receiving ---- */

static inline uint8_t
header_types(const uint8_t *head, const struct softrnic_headers *headers)
{
	uint8_t types = headers->version == 4 ? RNIC_CQE_L3_IPV4 : RNIC_CQE_L3_IPV6;
	const uint8_t *l4 = head + headers->l4;
	uint32_t header_bytes;

	if (headers->options)
		types |= RNIC_CQE_IP_OPTIONS;
	if (headers->fragment)
		types |= RNIC_CQE_IP_FRAGMENT;
	if (headers->proto == SOFTRNIC_PROTO_UDP)
		types |= RNIC_CQE_L4_UDP;
	if (headers->proto != SOFTRNIC_PROTO_TCP)
		return types;
	if ((l4[TCP_FLAGS] & TCP_ACK) == 0)
		return types | RNIC_CQE_L4_TCP_NO_ACK;
	header_bytes = headers->l4 - headers->l3 + (l4[TCP_DATA_OFFSET] >> 4) * 4u;
	return types | (headers->ip_bytes > header_bytes ? RNIC_CQE_L4_TCP_ACK_AND_DATA
							 : RNIC_CQE_L4_TCP_ACK_NO_DATA);
}

/* What is behind a good IP header: TCP and UDP are right or wrong, and the sum of all is told, whatever it is. */
static __rte_always_inline void
headers_judge_l4(const struct softrnic_frame *frame, const uint8_t *head,
		 const struct softrnic_headers *headers, struct softrnic_rx_info *info)
{
	const uint32_t bytes = softrnic_l4_bytes(headers);
	const uint8_t *l4 = head + headers->l4;
	bool none = false, fits = true;

	if (headers->proto == SOFTRNIC_PROTO_UDP) {
		none = softrnic_load16(l4 + UDP_CHECKSUM) == 0;
		fits = softrnic_load16(l4 + UDP_LENGTH) == bytes;
	}
	if (headers->proto == 0) {
		/* What is known of an IPv6 packet of another protocol is no checksum. */
		info->good = headers->version == 4;
	} else if (none && fits && headers->version == 4) {
		info->good = true;
		info->l4_ok = RNIC_CQE_L4_OK;
		if (frame->length <= SHORT_FRAME)
			return;
	} else if (none || !fits) {
		info->bad = true;
	} else {
		info->sum.verify = true;
		info->sum.pseudo = headers_sum_pseudo(head, headers);
	}
	if (frame->l4_summed && headers->proto != 0) {
		softrnic_rx_sum(info, frame->l4_sum);
	} else if (bytes == 0) {
		softrnic_rx_sum(info, 0);
	} else {
		info->sum.bytes = bytes;
		info->sum.tail = frame->length - headers->l4 - bytes;
	}
}

/* What the completion says of the packet, but for what its receive queue adds up. */
static __rte_always_inline void
headers_judge(const struct softrnic_frame *frame, const uint8_t *head,
	      const struct softrnic_headers *headers, struct softrnic_rx_info *info)
{
	uint64_t header_sum = headers_sum_ip_header(head + headers->l3, headers->l4 - headers->l3);

	info->l4_l3_hdr_type = header_types(head, headers);
	if (!headers_lengths_fit(frame, headers) ||
	    (headers->version == 4 && !softrnic_sum_good(header_sum))) {
		info->bad = true;
		return;
	}
	info->hds_ip_ext = RNIC_CQE_L2_OK | RNIC_CQE_L3_OK;
	info->sum.header = header_sum;
	headers_judge_l4(frame, head, headers, info);
}

/*
 * What is looked at of such a frame, in pieces that hold each word which is read from the copy. A load across two stores
 * waits until both are in the cache, and with them all stores before: those to the last frame's CQE, whose line another
 * core has.
 */
static inline void
headers_copy_plain(uint8_t *head, const uint8_t *from)
{
	static const uint8_t at[] = { 0, 8, 20, 28 };
	const uint32_t ip = SOFTRNIC_ETH_HEADER;

	memcpy(head + ip - 2, from + ip - 2, 2);
	for (uint32_t i = 0; i < sizeof(at); i++)
		memcpy(head + ip + at[i], from + ip + at[i], 8);
	memcpy(head + ip + 16, from + ip + 16, 4);
}

/* Most frames: IPv4 without options, whole, right behind the Ethernet header. TCP and UDP each have a judge of their own. */
static inline bool
headers_judge_plain(const struct softrnic_frame *frame, const uint8_t *from,
		    struct softrnic_rx_info *info)
{
	struct softrnic_headers headers = { .l3 = SOFTRNIC_ETH_HEADER,
					    .l4 = SOFTRNIC_ETH_HEADER + IPV4_BYTES,
					    .version = 4 };
	uint8_t head[SOFTRNIC_ETH_HEADER + IPV4_BYTES + TCP_BYTES];
	const uint8_t *ip = head + SOFTRNIC_ETH_HEADER;

	headers_copy_plain(head, from);
	SOFTRNIC_PRIVATE(head);
	if (softrnic_load16(ip - 2) != SOFTRNIC_ETHERTYPE_IPV4 || ip[0] != 0x45 ||
	    (softrnic_load16(ip + 6) & IPV4_FRAGMENT_MASK) != 0)
		return false;
	headers.ip_bytes = softrnic_load16(ip + 2);
	if (ip[9] == SOFTRNIC_PROTO_UDP)
		headers.proto = SOFTRNIC_PROTO_UDP;
	else if (ip[9] == SOFTRNIC_PROTO_TCP)
		headers.proto = SOFTRNIC_PROTO_TCP;
	else
		return false;
	if (headers.proto == SOFTRNIC_PROTO_UDP)
		headers_judge(frame, head, &headers, info);
	else
		headers_judge(frame, head, &headers, info);
	return true;
}

static __attribute__((noinline)) void
headers_judge_any(const struct softrnic_frame *frame, const uint8_t *head, uint32_t bytes,
		  struct softrnic_rx_info *info)
{
	uint8_t copy[SOFTRNIC_ETH_HEAD_MAX];
	struct softrnic_headers headers;

	softrnic_copy(copy, head, bytes);
	SOFTRNIC_PRIVATE(copy);
	info->tagged =
		softrnic_load16(copy + SOFTRNIC_ETH_HEADER - 2) == SOFTRNIC_ETHERTYPE_CVLAN &&
		bytes >= SOFTRNIC_ETH_HEADER + SOFTRNIC_VLAN_TAG;
	if (softrnic_headers_parse(copy, bytes, &headers))
		headers_judge(frame, copy, &headers, info);
}

void
softrnic_headers_receive(const struct softrnic_frame *frame, const uint8_t *head, uint32_t bytes,
			 struct softrnic_rx_info *info)
{
	/* The head may be the sender's memory: lengths must not change between check and use. */
	if (bytes < SOFTRNIC_ETH_HEADER + IPV4_BYTES + TCP_BYTES ||
	    !headers_judge_plain(frame, head, info))
		headers_judge_any(frame, head, bytes, info);
}
