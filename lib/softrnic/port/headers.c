/* SPDX-License-Identifier: BSD-3-Clause */

/* Checksums of frames that are sent, and of such that come. */
#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "prm/wqe.h"
#include "softrnic/base/copy.h"
#include "softrnic/port/headers.h"
#include "softrnic/port/judge.h"

#define IPV4_CHECKSUM	 10
#define IPV4_ADDRESSES	 12
#define IPV6_BYTES	 40
#define IPV6_ADDRESSES	 8
#define IPV6_HOP_OPTIONS 0 /* next headers */
#define IPV6_FRAGMENT	 44
#define IPV6_OPTIONS	 60
#define TCP_CHECKSUM	 16

/* Added up before it is copied. */
#define SMALL_FRAME 128

_Static_assert(SMALL_FRAME <= SOFTRNIC_ETH_PRIVATE,
	       "small frames of other processes have been copied");

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
	if (likely(bytes == JUDGE_IPV4_BYTES))
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
	case SOFTRNIC_PROTO_TCP: return JUDGE_TCP_BYTES;
	case SOFTRNIC_PROTO_UDP: return JUDGE_UDP_BYTES;
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
	if (type == SOFTRNIC_ETHERTYPE_IPV4 && bytes >= at + JUDGE_IPV4_BYTES && ip[0] >> 4 == 4) {
		header = (ip[0] & 0xfu) * 4;
		if (header < JUDGE_IPV4_BYTES || bytes < at + header)
			return false;
		headers->version = 4;
		headers->ip_bytes = softrnic_load16(ip + 2);
		headers->fragment = (softrnic_load16(ip + 6) & JUDGE_IPV4_FRAGMENT_MASK) != 0;
		headers->options = header > JUDGE_IPV4_BYTES;
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
headers_lengths_fit(uint32_t length, const struct softrnic_headers *headers)
{
	uint32_t header = headers->l4 - headers->l3;

	if (headers->ip_bytes < header || headers->ip_bytes > length - headers->l3)
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
	    !headers_lengths_fit(frame->length, headers))
		return l3;
	field = head + headers->l4 + (udp ? JUDGE_UDP_CHECKSUM : TCP_CHECKSUM);
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

	if (headers->options)
		types |= RNIC_CQE_IP_OPTIONS;
	if (headers->fragment)
		types |= RNIC_CQE_IP_FRAGMENT;
	if (headers->proto == SOFTRNIC_PROTO_UDP)
		types |= RNIC_CQE_L4_UDP;
	if (headers->proto != SOFTRNIC_PROTO_TCP)
		return types;
	return types | softrnic_judge_tcp_type(l4[JUDGE_TCP_FLAGS],
					       headers->l4 - headers->l3 +
						       (l4[JUDGE_TCP_DATA_OFFSET] >> 4) * 4u,
					       headers->ip_bytes);
}

/* What the completion says of the packet, but for what its receive queue adds up. */
static inline void
headers_judge(const uint8_t *head, const struct softrnic_headers *headers, uint32_t length,
	      const uint16_t *l4_sum, struct softrnic_rx_info *info)
{
	uint64_t header_sum = headers_sum_ip_header(head + headers->l3, headers->l4 - headers->l3);
	struct softrnic_judge_l4 l4 = { .version = headers->version,
					.proto = headers->proto,
					.fits = true };

	info->l4_l3_hdr_type = header_types(head, headers);
	if (!headers_lengths_fit(length, headers) ||
	    (headers->version == 4 && !softrnic_sum_good(header_sum))) {
		info->bad = true;
		return;
	}
	info->hds_ip_ext = RNIC_CQE_L2_OK | RNIC_CQE_L3_OK;
	info->sum.header = header_sum;
	l4.bytes = softrnic_l4_bytes(headers);
	l4.tail = length - headers->l4 - l4.bytes;
	if (headers->proto == SOFTRNIC_PROTO_UDP) {
		l4.none = softrnic_load16(head + headers->l4 + JUDGE_UDP_CHECKSUM) == 0;
		l4.fits = softrnic_load16(head + headers->l4 + JUDGE_UDP_LENGTH) == l4.bytes;
	}
	if (headers->proto != 0)
		l4.pseudo = headers_sum_pseudo(head, headers);
	softrnic_judge_l4(&l4, length, l4_sum, info);
}

static __attribute__((noinline)) void
headers_judge_any(const uint8_t *head, uint32_t length, const uint16_t *l4_sum,
		  struct softrnic_rx_info *info)
{
	const uint32_t bytes = length < SOFTRNIC_ETH_HEAD_MAX ? length : SOFTRNIC_ETH_HEAD_MAX;
	uint8_t copy[SOFTRNIC_ETH_HEAD_MAX];
	struct softrnic_headers headers;

	softrnic_copy(copy, head, bytes);
	SOFTRNIC_PRIVATE(copy);
	info->tagged =
		softrnic_load16(copy + SOFTRNIC_ETH_HEADER - 2) == SOFTRNIC_ETHERTYPE_CVLAN &&
		bytes >= SOFTRNIC_ETH_HEADER + SOFTRNIC_VLAN_TAG;
	if (softrnic_headers_parse(copy, bytes, &headers))
		headers_judge(copy, &headers, length, l4_sum, info);
}

void
softrnic_headers_receive(const uint8_t *head, uint32_t length, const uint16_t *l4_sum,
			 struct softrnic_rx_info *info)
{
	/* The head may be the sender's memory: lengths must not change between check and use. */
	if (!softrnic_judge_plain(head, length, l4_sum, info))
		headers_judge_any(head, length, l4_sum, info);
}

void
softrnic_rx_copy(uint8_t *to, const uint8_t *from, uint32_t length, struct softrnic_rx_info *info)
{
	const uint32_t end = length - info->sum.tail, skip = end - info->sum.bytes;

	if (length <= SMALL_FRAME) {
		softrnic_rx_sum(info, softrnic_sum_bytes(from + skip, info->sum.bytes));
		softrnic_copy(to, from, length);
		return;
	}
	softrnic_copy(to, from, skip);
	softrnic_rx_sum(info, softrnic_sum_copy(to + skip, from + skip, info->sum.bytes));
	if (end < length)
		softrnic_copy(to + end, from + end, length - end);
}
