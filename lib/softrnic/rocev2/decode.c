/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_branch_prediction.h>

#include "prm/qp.h"
#include "softrnic/port/headers.h"
#include "softrnic/port/sum.h"
#include "softrnic/rocev2/bytes.h"
#include "softrnic/rocev2/decode.h"
#include "softrnic/rocev2/icrc.h"
#include "softrnic/rocev2/opcode.h"

#define IPV4_FRAGMENT 0x3fff /* more fragments, offset */

/* ---- Is it one? ---- */

static bool
recognize_ipv4(const uint8_t *ip, struct rocev2_frame *frame)
{
	if (ip[0] != ROCEV2_IPV4_VERSION || (rocev2_get16(ip + 6) & IPV4_FRAGMENT) != 0 ||
	    ip[9] != SOFTRNIC_PROTO_UDP)
		return false;
	frame->traffic_class = ip[1];
	frame->hop_limit = ip[8];
	frame->flow_label = 0;
	rnic_gid_set_ipv4(frame->sgid, ip + 12);
	rnic_gid_set_ipv4(frame->dgid, ip + 16);
	return true;
}

static bool
recognize_ipv6(const uint8_t *ip, struct rocev2_frame *frame)
{
	uint32_t word = rocev2_get32(ip);

	if (word >> 28 != ROCEV2_IPV6_VERSION || ip[6] != SOFTRNIC_PROTO_UDP)
		return false;
	frame->traffic_class = (uint8_t)(word >> 20);
	frame->hop_limit = ip[7];
	frame->flow_label = word & 0xfffff;
	memcpy(frame->sgid, ip + 8, sizeof(frame->sgid));
	memcpy(frame->dgid, ip + 24, sizeof(frame->dgid));
	/* What stands for an address of IPv4 is none of IPv6's own: as a GID it would be taken for that. */
	return !rnic_gid_is_ipv4(frame->sgid) && !rnic_gid_is_ipv4(frame->dgid);
}

bool
rocev2_recognize(const uint8_t *head, uint32_t bytes, struct rocev2_frame *frame)
{
	uint32_t at = ROCEV2_ETHER_BYTES, ip_bytes;
	uint16_t type;

	/* The shortest of all, so that what every frame has can be read. */
	if (bytes < ROCEV2_ETHER_BYTES + ROCEV2_IPV4_BYTES + ROCEV2_UDP_BYTES)
		return false;
	type = rocev2_get16(head + at - 2);
	frame->tagged = type == SOFTRNIC_ETHERTYPE_CVLAN;
	frame->tci = 0;
	if (frame->tagged) {
		frame->tci = rocev2_get16(head + at);
		at += ROCEV2_TAG_BYTES;
		type = rocev2_get16(head + at - 2);
	}
	if (type != SOFTRNIC_ETHERTYPE_IPV4 && type != SOFTRNIC_ETHERTYPE_IPV6)
		return false;
	ip_bytes = type == SOFTRNIC_ETHERTYPE_IPV4 ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES;
	if (bytes < at + ip_bytes + ROCEV2_UDP_BYTES ||
	    rocev2_get16(head + at + ip_bytes + 2) != ROCEV2_UDP_PORT ||
	    !(type == SOFTRNIC_ETHERTYPE_IPV4 ? recognize_ipv4(head + at, frame)
					      : recognize_ipv6(head + at, frame)))
		return false;
	frame->ip = head + at;
	frame->prefixes = NULL;
	memcpy(frame->dmac, head, sizeof(frame->dmac));
	memcpy(frame->smac, head + 6, sizeof(frame->smac));
	frame->source_port = rocev2_get16(head + at + ip_bytes);
	return true;
}

/* ---- Is it whole? ---- */

/* Lengths and checksum of IP and UDP. Sets the bytes behind UDP. */
static enum rocev2_reason
decode_lengths(const uint8_t *ip, uint32_t ip_bytes, uint32_t room, uint32_t *left)
{
	uint32_t total = ip_bytes == ROCEV2_IPV4_BYTES ? rocev2_get16(ip + 2)
						       : ip_bytes + rocev2_get16(ip + 4);

	if (total > room)
		return ROCEV2_IP_LENGTH;
	if (total < ip_bytes + ROCEV2_UDP_BYTES ||
	    rocev2_get16(ip + ip_bytes + 4) != total - ip_bytes)
		return ROCEV2_UDP_LENGTH;
	if (ip_bytes == ROCEV2_IPV4_BYTES && !softrnic_sum_good(softrnic_sum_bytes(ip, ip_bytes)))
		return ROCEV2_IP_CHECKSUM;
	*left = total - ip_bytes - ROCEV2_UDP_BYTES;
	return ROCEV2_GOOD;
}

/* What the BTH has for the frame and, but for the PSN, for the packet. Sets the payload's length. */
static enum rocev2_reason
decode_bth(const uint8_t *bth, uint32_t left, struct rocev2_frame *frame, struct roce_pkt *pkt)
{
	const struct rocev2_opcode *opcode;
	uint32_t padding, other;

	if (left < ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES)
		return ROCEV2_SHORT;
	if ((bth[1] & 0xf) != 0)
		return ROCEV2_VERSION;
	opcode = &rocev2_opcodes[bth[0]];
	if (!opcode->known)
		return ROCEV2_OPCODE;
	padding = bth[1] >> 4 & 3;
	other = ROCEV2_BTH_BYTES + opcode->bytes + padding + ROCEV2_ICRC_BYTES;
	if (left < other)
		return ROCEV2_SHORT;
	if (left % 4 != 0 || (padding != 0 && (opcode->headers & ROCEV2_UNPADDED) != 0))
		return ROCEV2_PADDING;
	frame->mig_req = (bth[1] & 0x40) != 0;
	frame->pkey = rocev2_get16(bth + 2);
	frame->fecn = (bth[4] & 0x80) != 0;
	frame->becn = (bth[4] & 0x40) != 0;
	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = bth[0];
	pkt->solicited = (bth[1] & 0x80) != 0;
	pkt->dest_qpn = rocev2_get32(bth + 4) & 0xffffff;
	pkt->length = left - other;
	return ROCEV2_GOOD;
}

/* XRCETH or DETH. */
static const uint8_t *
decode_first(const uint8_t *at, uint16_t headers, struct roce_pkt *pkt)
{
	if ((headers & ROCEV2_XRC) != 0) {
		pkt->srqn = rocev2_get32(at) & 0xffffff;
		return at + 4;
	}
	pkt->qkey = rocev2_get32(at);
	pkt->source_qpn = rocev2_get32(at + 4) & 0xffffff;
	return at + 8;
}

static void
decode_extended(const uint8_t *at, uint16_t headers, struct roce_pkt *pkt)
{
	uint32_t word;

	if ((headers & ROCEV2_FIRST) != 0)
		at = decode_first(at, headers, pkt);
	if ((headers & (ROCEV2_RETH | ROCEV2_ATOMIC_ETH)) != 0) {
		pkt->va = rocev2_get64(at);
		pkt->rkey = rocev2_get32(at + 8);
		at += 12;
	}
	if ((headers & ROCEV2_RETH) != 0) {
		pkt->dma_length = rocev2_get32(at);
		at += 4;
	}
	if ((headers & ROCEV2_ATOMIC_ETH) != 0) {
		pkt->swap_add = rocev2_get64(at);
		pkt->compare = rocev2_get64(at + 8);
		at += 16;
	}
	if ((headers & ROCEV2_AETH) != 0) {
		word = rocev2_get32(at);
		pkt->syndrome = (uint8_t)(word >> 24);
		pkt->msn = word & 0xffffff;
		at += 4;
	}
	if ((headers & ROCEV2_ATOMIC_ACK) != 0) {
		pkt->original = rocev2_get64(at);
		at += 8;
	}
	if ((headers & ROCEV2_WORD) != 0)
		pkt->immediate = rocev2_get32(at);
}

/* ---- Its pieces ---- */

/* Bytes [at, at + bytes) of a frame, which has them: their pieces. */
static inline uint32_t
decode_cut(const struct iovec *pieces, uint32_t at, uint32_t bytes, struct iovec *part)
{
	uint32_t count = 0;
	size_t n;

	if (likely(at + bytes <= pieces->iov_len)) {
		part->iov_base = (uint8_t *)pieces->iov_base + at;
		part->iov_len = bytes;
		return bytes > 0;
	}
	for (; bytes > 0; pieces++) {
		n = pieces->iov_len;
		if (at >= n) {
			at -= (uint32_t)n;
			continue;
		}
		n = n - at < bytes ? n - at : bytes;
		part[count].iov_base = (uint8_t *)pieces->iov_base + at;
		part[count++].iov_len = n;
		bytes -= (uint32_t)n;
		at = 0;
	}
	return count;
}

/*
 * Is the ICRC right, which stands at `end`? What it covers is summed where the frame's pieces have it, from `from` on; `room` is
 * for as many pieces as the frame has.
 */
static bool
decode_icrc_good(uint32_t crc, const struct iovec *pieces, uint32_t from, uint32_t end,
		 struct iovec *room)
{
	const uint8_t *frame = pieces->iov_base;
	uint32_t count, sent;
	uint8_t *to = (uint8_t *)&sent;

	if (likely(end + sizeof(sent) <= pieces->iov_len)) {
		memcpy(&sent, frame + end, sizeof(sent));
		return rte_le_to_cpu_32(sent) == rocev2_icrc_add(crc, frame + from, end - from);
	}
	count = decode_cut(pieces, from, end - from, room);
	for (uint32_t i = 0; i < count; i++)
		crc = rocev2_icrc_add(crc, room[i].iov_base, room[i].iov_len);
	count = decode_cut(pieces, end, sizeof(sent), room);
	for (uint32_t i = 0; i < count; to += room[i++].iov_len)
		memcpy(to, room[i].iov_base, room[i].iov_len);
	return rte_le_to_cpu_32(sent) == crc;
}

/* What is behind the bytes that packets share, `shared` of which the frame has; of the packet the rest is set. */
static enum rocev2_reason
decode_rest(const uint8_t *head, uint32_t shared, const struct iovec *pieces, uint32_t crc,
	    struct roce_pkt *pkt, struct iovec *payload)
{
	const struct rocev2_opcode *opcode = &rocev2_opcodes[pkt->opcode];
	uint32_t extended = shared + ROCEV2_BTH_BYTES - ROCEV2_BTH_SHARED;
	uint32_t at = extended + opcode->bytes;

	if (!decode_icrc_good(crc, pieces, shared, at + ((pkt->length + 3) & ~3u), payload))
		return ROCEV2_ICRC;
	pkt->ack_request = (head[shared] & 0x80) != 0;
	pkt->psn = rocev2_get32(head + shared) & ROCE_PSN_MASK;
	if (opcode->bytes > 0)
		decode_extended(head + extended, opcode->headers, pkt);
	pkt->pieces = payload;
	pkt->count = decode_cut(pieces, at, pkt->length, payload);
	return ROCEV2_GOOD;
}

enum rocev2_reason
rocev2_decode(const uint8_t *head, const struct iovec *pieces, uint32_t bytes,
	      struct rocev2_frame *frame, struct roce_pkt *pkt, struct iovec *payload)
{
	uint32_t ip = ROCEV2_ETHER_BYTES + (frame->tagged ? ROCEV2_TAG_BYTES : 0);
	uint32_t ip_bytes = head[ip] == ROCEV2_IPV4_VERSION ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES;
	uint32_t bth = ip + ip_bytes + ROCEV2_UDP_BYTES, left;
	enum rocev2_reason reason = decode_lengths(head + ip, ip_bytes, bytes - ip, &left);

	if (reason == ROCEV2_GOOD)
		reason = decode_bth(head + bth, left, frame, pkt);
	if (reason != ROCEV2_GOOD)
		return reason;
	frame->shared_crc = rocev2_icrc_begin(head + ip, ip_bytes);
	return decode_rest(head, bth + ROCEV2_BTH_SHARED, pieces, frame->shared_crc, pkt, payload);
}

/* ---- One like another ---- */

void
rocev2_model_make(struct rocev2_model *model, const uint8_t *head, uint32_t bytes,
		  const struct rocev2_frame *frame, const struct roce_pkt *pkt)
{
	model->bytes = bytes;
	model->ip = (uint32_t)(frame->ip - head);
	model->shared = model->ip + ROCEV2_UDP_BYTES + ROCEV2_BTH_SHARED +
			(*frame->ip == ROCEV2_IPV4_VERSION ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES);
	memcpy(model->head, head, model->shared);
	model->frame = *frame;
	model->pkt = *pkt;
	model->pkt.pieces = NULL;
}

enum rocev2_reason
rocev2_model_decode(struct rocev2_model *model, const uint8_t *head, const struct iovec *pieces,
		    struct iovec *payload)
{
	model->frame.ip = head + model->ip;
	return decode_rest(head, model->shared, pieces, model->frame.shared_crc, &model->pkt,
			   payload);
}
