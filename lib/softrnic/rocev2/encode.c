/* SPDX-License-Identifier: BSD-3-Clause */

#include "prm/qp.h"
#include "softrnic/base/random.h"
#include "softrnic/port/headers.h"
#include "softrnic/port/sum.h"
#include "softrnic/rocev2/bytes.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/rocev2/icrc.h"

#define IPV4_DONT_FRAGMENT 0x4000

#define QPN_MASK 0xffffffu

_Static_assert(ROCEV2_SHARED_MAX + ROCEV2_BTH_BYTES - ROCEV2_BTH_SHARED + ROCEV2_EXTENDED_MAX <=
		       ROCEV2_HEAD_MAX,
	       "the longest headers fit");

#define PORT_FIRST 0xc000 /* of the dynamic ones */
#define PORT_BITS  14

bool
rocev2_is_ipv4(const struct rocev2_frame *frame)
{
	return rnic_gid_is_ipv4(frame->dgid);
}

uint32_t
rocev2_frame_bytes(const struct rocev2_frame *frame, const struct roce_pkt *pkt)
{
	return ROCEV2_ETHER_BYTES + (frame->tagged ? ROCEV2_TAG_BYTES : 0) +
	       (rocev2_is_ipv4(frame) ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES) +
	       rocev2_udp_bytes(pkt);
}

static uint8_t *
encode_ether(const struct rocev2_frame *frame, uint8_t *at, uint16_t type)
{
	memcpy(at, frame->dmac, sizeof(frame->dmac));
	memcpy(at + 6, frame->smac, sizeof(frame->smac));
	at += 12;
	if (frame->tagged) {
		rocev2_put16(at, SOFTRNIC_ETHERTYPE_CVLAN);
		rocev2_put16(at + 2, frame->tci);
		at += ROCEV2_TAG_BYTES;
	}
	rocev2_put16(at, type);
	return at + 2;
}

static uint8_t *
encode_ipv4(const struct rocev2_frame *frame, uint32_t udp_bytes, uint8_t *at)
{
	uint16_t sum;

	at[0] = ROCEV2_IPV4_VERSION;
	at[1] = frame->traffic_class;
	rocev2_put16(at + 2, (uint16_t)(ROCEV2_IPV4_BYTES + udp_bytes));
	rocev2_put16(at + 4, 0); /* the number: frames that are never cut need none (RFC 6864) */
	rocev2_put16(at + 6, IPV4_DONT_FRAGMENT);
	at[8] = frame->hop_limit;
	at[9] = SOFTRNIC_PROTO_UDP;
	rocev2_put16(at + 10, 0);
	memcpy(at + 12, frame->sgid + 12, 4);
	memcpy(at + 16, frame->dgid + 12, 4);
	sum = (uint16_t)~softrnic_sum_fold(softrnic_sum_bytes(at, ROCEV2_IPV4_BYTES));
	memcpy(at + 10, &sum, sizeof(sum));
	return at + ROCEV2_IPV4_BYTES;
}

static uint8_t *
encode_ipv6(const struct rocev2_frame *frame, uint32_t udp_bytes, uint8_t *at)
{
	rocev2_put32(at, ROCEV2_IPV6_VERSION << 28 | (uint32_t)frame->traffic_class << 20 |
				 (frame->flow_label & 0xfffff));
	rocev2_put16(at + 4, (uint16_t)udp_bytes);
	at[6] = SOFTRNIC_PROTO_UDP;
	at[7] = frame->hop_limit;
	memcpy(at + 8, frame->sgid, sizeof(frame->sgid));
	memcpy(at + 24, frame->dgid, sizeof(frame->dgid));
	return at + ROCEV2_IPV6_BYTES;
}

static uint8_t *
encode_udp(const struct rocev2_frame *frame, uint32_t udp_bytes, uint8_t *at)
{
	rocev2_put16(at, frame->source_port);
	rocev2_put16(at + 2, ROCEV2_UDP_PORT);
	rocev2_put16(at + 4, (uint16_t)udp_bytes);
	rocev2_put16(at + 6, 0); /* no checksum: the ICRC is better */
	return at + ROCEV2_UDP_BYTES;
}

/* ROCEV2_BTH_SHARED bytes of it. */
static uint8_t *
encode_bth(const struct rocev2_frame *frame, const struct roce_pkt *pkt, uint8_t *at)
{
	at[0] = pkt->opcode;
	at[1] = (uint8_t)(pkt->solicited << 7 | frame->mig_req << 6 | (-pkt->length & 3) << 4);
	rocev2_put16(at + 2, frame->pkey);
	rocev2_put32(at + 4, pkt->dest_qpn & QPN_MASK);
	at[4] = (uint8_t)(frame->fecn << 7 | frame->becn << 6);
	return at + ROCEV2_BTH_SHARED;
}

static void
encode_prefix(const struct rocev2_frame *frame, const struct roce_pkt *pkt,
	      struct rocev2_prefix *prefix)
{
	bool ipv4 = rocev2_is_ipv4(frame);
	uint32_t udp_bytes = rocev2_udp_bytes(pkt);
	uint8_t *ip = encode_ether(frame, prefix->bytes,
				   ipv4 ? SOFTRNIC_ETHERTYPE_IPV4 : SOFTRNIC_ETHERTYPE_IPV6);
	uint8_t *udp = ipv4 ? encode_ipv4(frame, udp_bytes, ip) : encode_ipv6(frame, udp_bytes, ip);
	uint8_t *end = encode_bth(frame, pkt, encode_udp(frame, udp_bytes, udp));

	prefix->length = (uint32_t)(end - prefix->bytes);
	prefix->crc = rocev2_icrc_begin(ip, (uint32_t)(udp - ip));
}

/* The one that was made for such a packet before, or a new one, in `own` if none is kept. */
static const struct rocev2_prefix *
encode_prefix_find(const struct rocev2_frame *frame, const struct roce_pkt *pkt,
		   struct rocev2_prefix *own)
{
	uint64_t key = 1ull << 63 | (uint64_t)pkt->solicited << 56 | (uint64_t)pkt->opcode << 48 |
		       (uint64_t)pkt->length << 24 | (pkt->dest_qpn & QPN_MASK);
	struct rocev2_prefix *prefix = own;

	if (frame->prefixes != NULL) {
		prefix = &frame->prefixes[pkt->opcode / ROCE_READ_RESPONSE_ONLY % ROCEV2_PREFIXES];
		if (likely(prefix->key == key))
			return prefix;
		prefix->key = key;
	}
	encode_prefix(frame, pkt, prefix);
	return prefix;
}

/* XRCETH or DETH. */
static uint8_t *
encode_first(const struct roce_pkt *pkt, uint16_t headers, uint8_t *at)
{
	if ((headers & ROCEV2_XRC) != 0) {
		rocev2_put32(at, pkt->srqn & 0xffffff);
		return at + 4;
	}
	rocev2_put32(at, pkt->qkey);
	rocev2_put32(at + 4, pkt->source_qpn & 0xffffff);
	return at + 8;
}

static uint8_t *
encode_extended(const struct roce_pkt *pkt, uint16_t headers, uint8_t *at)
{
	if ((headers & ROCEV2_FIRST) != 0)
		at = encode_first(pkt, headers, at);
	if ((headers & (ROCEV2_RETH | ROCEV2_ATOMIC_ETH)) != 0) {
		rocev2_put64(at, pkt->va);
		rocev2_put32(at + 8, pkt->rkey);
		at += 12;
	}
	if ((headers & ROCEV2_RETH) != 0) {
		rocev2_put32(at, pkt->dma_length);
		at += 4;
	}
	if ((headers & ROCEV2_ATOMIC_ETH) != 0) {
		rocev2_put64(at, pkt->swap_add);
		rocev2_put64(at + 8, pkt->compare);
		at += 16;
	}
	if ((headers & ROCEV2_AETH) != 0) {
		rocev2_put32(at, (uint32_t)pkt->syndrome << 24 | (pkt->msn & 0xffffff));
		at += 4;
	}
	if ((headers & ROCEV2_ATOMIC_ACK) != 0) {
		rocev2_put64(at, pkt->original);
		at += 8;
	}
	if ((headers & ROCEV2_WORD) != 0) {
		rocev2_put32(at, pkt->immediate);
		at += 4;
	}
	if ((headers & ROCEV2_CNP) != 0) {
		memset(at, 0, 16);
		at += 16;
	}
	return at;
}

/* What is copied and summed at once: less is done sooner if it is summed with what is in front of it. */
#define LONG_PAYLOAD 1024u

/* Behind the headers. `summed`: what is not in the CRC yet, up to what is returned. */
static uint8_t *
encode_payload(const struct roce_pkt *pkt, uint8_t *at, uint8_t **summed, uint32_t *crc)
{
	if (pkt->count == 1 && pkt->length >= LONG_PAYLOAD) {
		*crc = rocev2_icrc_add(*crc, *summed, (size_t)(at - *summed));
		*crc = rocev2_icrc_copy(*crc, at, pkt->pieces->iov_base, pkt->pieces->iov_len);
		*summed = at + pkt->pieces->iov_len;
		return *summed;
	}
	for (uint32_t i = 0; i < pkt->count; at += pkt->pieces[i++].iov_len)
		memcpy(at, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
	return at;
}

uint32_t
rocev2_encode(const struct rocev2_frame *frame, const struct roce_pkt *pkt, uint8_t *room)
{
	const struct rocev2_opcode *opcode = &rocev2_opcodes[pkt->opcode];
	struct rocev2_prefix own;
	const struct rocev2_prefix *prefix = encode_prefix_find(frame, pkt, &own);
	uint8_t *summed = room + prefix->length, *at;
	uint32_t crc = prefix->crc;

	/* More of them than there are: a constant takes no call, and the rest is overwritten. */
	memcpy(room, prefix->bytes, sizeof(prefix->bytes));
	rocev2_put32(summed, (uint32_t)pkt->ack_request << 31 | (pkt->psn & ROCE_PSN_MASK));
	at = summed + ROCEV2_BTH_BYTES - ROCEV2_BTH_SHARED;
	if (opcode->bytes > 0)
		at = encode_extended(pkt, opcode->headers, at);
	at = encode_payload(pkt, at, &summed, &crc);
	memset(at, 0, ROCEV2_ICRC_BYTES); /* whose place is behind the padding */
	at += -pkt->length & 3;
	if (at > summed)
		crc = rocev2_icrc_add(crc, summed, (size_t)(at - summed));
	crc = rte_cpu_to_le_32(crc);
	memcpy(at, &crc, sizeof(crc));
	return (uint32_t)(at - room) + ROCEV2_ICRC_BYTES;
}

void
rocev2_encode_grh(const struct rocev2_frame *frame, const struct roce_pkt *pkt,
		  uint8_t grh[ROCEV2_GRH_BYTES])
{
	bool ipv4 = rocev2_is_ipv4(frame);
	uint32_t udp_bytes = rocev2_udp_bytes(pkt);
	uint32_t bytes = ipv4 ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES;
	uint8_t *at = grh + ROCEV2_GRH_BYTES - bytes;

	memset(grh, 0, ROCEV2_GRH_BYTES - bytes);
	if (frame->ip != NULL)
		memcpy(at, frame->ip, bytes);
	else if (ipv4)
		encode_ipv4(frame, udp_bytes, at);
	else
		encode_ipv6(frame, udp_bytes, at);
}

uint16_t
rocev2_source_port(const struct rocev2_frame *frame, uint32_t source_qpn, uint32_t dest_qpn)
{
	uint64_t state = (uint64_t)source_qpn << 32 | dest_qpn, half;

	for (unsigned int i = 0; i < 16; i += 8) {
		memcpy(&half, frame->sgid + i, sizeof(half));
		state = softrnic_splitmix64(&state) ^ half;
		memcpy(&half, frame->dgid + i, sizeof(half));
		state = softrnic_splitmix64(&state) ^ half;
	}
	return (uint16_t)(PORT_FIRST | softrnic_splitmix64(&state) >> (64 - PORT_BITS));
}
