/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Internet checksums (RFC 1071), of frames that are sent and of such that come.
 *
 * Sums are of 16-bit words as they stand in memory: they come out in the order of bytes that the headers have.
 */
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "eth/eth.h"
#include "tpt.h"

#define IPV4_BYTES	   20
#define IPV4_CHECKSUM	   10
#define IPV6_BYTES	   40
#define IPV6_FRAGMENT	   44 /* next header */
#define TCP_BYTES	   20
#define TCP_DATA_OFFSET	   12
#define TCP_FLAGS	   13
#define TCP_ACK		   0x10
#define TCP_CHECKSUM	   16
#define UDP_BYTES	   8
#define UDP_LENGTH	   4
#define UDP_CHECKSUM	   6
#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */

/* All that is right sums up to this. */
#define SUM_GOOD 0xffff

static uint32_t
least_header(uint8_t proto)
{
	switch (proto) {
	case SOFTRNIC_PROTO_TCP: return TCP_BYTES;
	case SOFTRNIC_PROTO_UDP: return UDP_BYTES;
	default: return UINT32_MAX;
	}
}

bool
softrnic_headers_parse(const uint8_t *head, uint32_t bytes, struct softrnic_headers *headers)
{
	uint32_t at = SOFTRNIC_ETH_HEADER - 2, header;
	uint16_t type = softrnic_load16(head + at);
	const uint8_t *ip;

	while (softrnic_is_vlan(type) && at < 20 && bytes >= at + SOFTRNIC_VLAN_TAG + 2) {
		at += SOFTRNIC_VLAN_TAG;
		type = softrnic_load16(head + at);
	}
	at += 2;
	ip = head + at;
	if (type == SOFTRNIC_ETHERTYPE_IPV4 && bytes >= at + IPV4_BYTES && ip[0] >> 4 == 4) {
		header = (ip[0] & 0xfu) * 4;
		if (header < IPV4_BYTES || bytes < at + header)
			return false;
		headers->version = 4;
		headers->ip_bytes = softrnic_load16(ip + 2);
		headers->fragment = (softrnic_load16(ip + 6) & IPV4_FRAGMENT_MASK) != 0;
		headers->proto = ip[9];
	} else if (type == SOFTRNIC_ETHERTYPE_IPV6 && bytes >= at + IPV6_BYTES && ip[0] >> 4 == 6) {
		header = IPV6_BYTES;
		headers->version = 6;
		headers->ip_bytes = IPV6_BYTES + softrnic_load16(ip + 4);
		headers->fragment = ip[6] == IPV6_FRAGMENT;
		headers->proto = ip[6];
	} else {
		return false;
	}
	headers->l3 = at;
	headers->l4 = at + header;
	if (headers->fragment || bytes - headers->l4 < least_header(headers->proto))
		headers->proto = 0;
	return true;
}

/* The sum over `bytes` bytes of the frame from `at` on, which it must have. */
static uint32_t
frame_sum(const struct softrnic_frame *frame, uint32_t at, uint32_t bytes)
{
	uint32_t sum = 0, i;
	bool odd = false;
	uint16_t part;
	size_t n;

	for (i = 0; bytes > 0; i++) {
		n = frame->pieces[i].iov_len;
		if (at >= n) {
			at -= (uint32_t)n;
			continue;
		}
		n = n - at < bytes ? n - at : bytes;
		part = rte_raw_cksum((const uint8_t *)frame->pieces[i].iov_base + at, n);
		/* Behind an odd byte, the words of a piece straddle those of the packet. */
		sum += odd ? rte_bswap16(part) : part;
		odd ^= n & 1;
		bytes -= (uint32_t)n;
		at = 0;
	}
	return sum;
}

/* The sum over TCP's or UDP's pseudo header. */
static uint32_t
pseudo_sum(const uint8_t *head, const struct softrnic_headers *headers)
{
	const void *ip = head + headers->l3;

	return headers->version == 4 ? rte_ipv4_phdr_cksum(ip, 0) : rte_ipv6_phdr_cksum(ip, 0);
}

static uint16_t
sum_fold(uint32_t sum)
{
	return __rte_raw_cksum_reduce(sum);
}

/* Does the frame have all of the packet, and the packet all of its headers? */
static bool
lengths_fit(const struct softrnic_frame *frame, const struct softrnic_headers *headers)
{
	uint32_t header = headers->l4 - headers->l3;

	if (headers->ip_bytes < header || headers->ip_bytes > frame->length - headers->l3)
		return false;
	return headers->proto == 0 || headers->ip_bytes - header >= least_header(headers->proto);
}

void
softrnic_checksums_insert(const struct softrnic_frame *frame, uint8_t *head,
			  const struct softrnic_headers *headers, uint8_t cs_flags)
{
	uint32_t header = headers->l4 - headers->l3;
	uint16_t checksum = 0;
	uint8_t *field;

	if ((cs_flags & RNIC_WQE_ETH_L3_CSUM) != 0 && headers->version == 4) {
		field = head + headers->l3 + IPV4_CHECKSUM;
		memcpy(field, &checksum, sizeof(checksum));
		checksum = (uint16_t)~rte_raw_cksum(head + headers->l3, header);
		memcpy(field, &checksum, sizeof(checksum));
	}
	if ((cs_flags & RNIC_WQE_ETH_L4_CSUM) == 0 || headers->proto == 0 ||
	    !lengths_fit(frame, headers))
		return;
	field = head + headers->l4 +
		(headers->proto == SOFTRNIC_PROTO_TCP ? TCP_CHECKSUM : UDP_CHECKSUM);
	checksum = 0;
	memcpy(field, &checksum, sizeof(checksum));
	checksum = (uint16_t)~sum_fold(pseudo_sum(head, headers) +
				       frame_sum(frame, headers->l4, headers->ip_bytes - header));
	/* 0 would say that there is none (RFC 768). */
	if (checksum == 0 && headers->proto == SOFTRNIC_PROTO_UDP)
		checksum = 0xffff;
	memcpy(field, &checksum, sizeof(checksum));
}

static uint8_t
header_types(const uint8_t *head, const struct softrnic_headers *headers)
{
	const uint8_t *l4 = head + headers->l4;
	uint32_t ip_header = headers->l4 - headers->l3;
	uint8_t types = headers->version == 4 ? RNIC_CQE_L3_IPV4 : RNIC_CQE_L3_IPV6;

	if (headers->version == 4 && ip_header > IPV4_BYTES)
		types |= RNIC_CQE_IP_OPTIONS;
	if (headers->fragment)
		types |= RNIC_CQE_IP_FRAGMENT;
	if (headers->proto == SOFTRNIC_PROTO_UDP)
		types |= RNIC_CQE_L4_UDP;
	if (headers->proto != SOFTRNIC_PROTO_TCP)
		return types;
	if ((l4[TCP_FLAGS] & TCP_ACK) == 0)
		return types | RNIC_CQE_L4_TCP_NO_ACK;
	return types | (headers->ip_bytes > ip_header + (l4[TCP_DATA_OFFSET] >> 4) * 4u
				? RNIC_CQE_L4_TCP_ACK_AND_DATA
				: RNIC_CQE_L4_TCP_ACK_NO_DATA);
}

/* What is needed of TCP or UDP to be right; *sum: of the bytes behind the IP header. */
static bool
l4_verify(const struct softrnic_frame *frame, const uint8_t *head,
	  const struct softrnic_headers *headers, uint32_t *sum)
{
	const uint32_t bytes = headers->ip_bytes - (headers->l4 - headers->l3);
	const uint8_t *l4 = head + headers->l4;
	bool udp = headers->proto == SOFTRNIC_PROTO_UDP;

	*sum = frame_sum(frame, headers->l4, bytes);
	if (udp &&
	    (softrnic_load16(l4 + UDP_LENGTH) != bytes || softrnic_load16(l4 + UDP_CHECKSUM) == 0))
		return false;
	return headers->proto != 0 && sum_fold(*sum + pseudo_sum(head, headers)) == SUM_GOOD;
}

/* rte_raw_cksum() of an IPv4 header without options. */
static inline uint16_t
ipv4_sum(const uint8_t *ip)
{
	uint32_t words[IPV4_BYTES / 4];
	uint64_t sum = 0;

	memcpy(words, ip, sizeof(words));
	for (unsigned int i = 0; i < IPV4_BYTES / 4; i++)
		sum += words[i];
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/*
 * The frame that generators send: UDP over IPv4, without tags, options or a checksum, all of it right. It would fare
 * the same below, with three times the instructions; whatever else it is goes there.
 */
static inline bool
plain_datagram(const uint8_t *head, uint32_t bytes, uint32_t length)
{
	uint8_t ip[IPV4_BYTES + UDP_BYTES];
	uint32_t ip_bytes;

	if (bytes < SOFTRNIC_ETH_HEADER + sizeof(ip))
		return false;
	memcpy(ip, head + SOFTRNIC_ETH_HEADER, sizeof(ip));
	SOFTRNIC_PRIVATE(ip);
	ip_bytes = softrnic_load16(ip + 2);
	return ip[0] == 0x45 && ip[9] == SOFTRNIC_PROTO_UDP &&
	       (softrnic_load16(ip + 6) & IPV4_FRAGMENT_MASK) == 0 &&
	       softrnic_load16(ip + IPV4_BYTES + UDP_CHECKSUM) == 0 &&
	       ip_bytes <= length - SOFTRNIC_ETH_HEADER && ip_bytes >= sizeof(ip) &&
	       softrnic_load16(ip + IPV4_BYTES + UDP_LENGTH) == ip_bytes - IPV4_BYTES &&
	       ipv4_sum(ip) == SUM_GOOD;
}

/* A UDP datagram over IPv4 without a checksum: nothing to verify, and its payload need not be read. */
static bool
l4_without_checksum(const uint8_t *head, const struct softrnic_headers *headers)
{
	const uint8_t *l4 = head + headers->l4;

	return headers->version == 4 && headers->proto == SOFTRNIC_PROTO_UDP &&
	       softrnic_load16(l4 + UDP_CHECKSUM) == 0 &&
	       softrnic_load16(l4 + UDP_LENGTH) == headers->ip_bytes - (headers->l4 - headers->l3);
}

void
softrnic_headers_receive(struct softrnic *dev, const struct softrnic_frame *frame,
			 const uint8_t *head, uint32_t bytes, struct softrnic_rx_info *info)
{
	uint8_t copy[SOFTRNIC_ETH_HEAD_MAX];
	struct softrnic_headers headers;
	uint32_t header_sum, sum;
	bool good;

	if (softrnic_load16(head + SOFTRNIC_ETH_HEADER - 2) == SOFTRNIC_ETHERTYPE_IPV4 &&
	    plain_datagram(head, bytes, frame->length)) {
		info->l4_l3_hdr_type = RNIC_CQE_L3_IPV4 | RNIC_CQE_L4_UDP;
		info->hds_ip_ext = RNIC_CQE_L2_OK | RNIC_CQE_L3_OK | RNIC_CQE_L4_OK;
		dev->stats.rx_checksums_good++;
		return;
	}
	/* The head may be the sender's memory: lengths must not change between check and use. */
	softrnic_copy(copy, head, bytes);
	SOFTRNIC_PRIVATE(copy);
	info->tagged =
		softrnic_load16(copy + SOFTRNIC_ETH_HEADER - 2) == SOFTRNIC_ETHERTYPE_CVLAN &&
		bytes >= SOFTRNIC_ETH_HEADER + SOFTRNIC_VLAN_TAG;
	if (!softrnic_headers_parse(copy, bytes, &headers))
		return;
	info->l4_l3_hdr_type = header_types(copy, &headers);
	header_sum = rte_raw_cksum(copy + headers.l3, headers.l4 - headers.l3);
	good = lengths_fit(frame, &headers) && (headers.version == 6 || header_sum == SUM_GOOD);
	if (!good) {
		dev->stats.rx_checksums_bad++;
		return;
	}
	info->hds_ip_ext |= RNIC_CQE_L3_OK;
	if (l4_without_checksum(copy, &headers)) {
		info->hds_ip_ext |= RNIC_CQE_L4_OK;
		dev->stats.rx_checksums_good++;
		return;
	}
	if (l4_verify(frame, copy, &headers, &sum))
		info->hds_ip_ext |= RNIC_CQE_L4_OK;
	else if (headers.proto != 0)
		good = false;
	info->checksum = sum_fold(header_sum + sum);
	/* An IPv6 packet of another protocol has none that is known here. */
	dev->stats.rx_checksums_good += good && (headers.version == 4 || headers.proto != 0);
	dev->stats.rx_checksums_bad += !good;
}
