/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>
#include <sys/uio.h>

#include "opcodes.h"
#include "softrnic/base/random.h"
#include "softrnic/rocev2/bytes.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/rocev2/icrc.h"
#include "stranger.h"

#define PAYLOAD_MAX 100 /* of what may have any length */
#define TAGGED_TYPE 0x8100
#define IPV4_TYPE   0x0800
#define IPV6_TYPE   0x86dd
#define IPV4_SUM    10
#define BTH_PSN	    9 /* three bytes */

uint32_t
stranger_below(uint64_t *random, uint32_t below)
{
	return (uint32_t)(softrnic_splitmix64(random) >> 32) % below;
}

/* ---- Whole frames ---- */

static void
head_make(const struct stranger_target *target, enum stranger_way way, uint64_t *random,
	  struct rocev2_frame *head)
{
	*head = (struct rocev2_frame){
		.traffic_class = (uint8_t)stranger_below(random, 256),
		.hop_limit = (uint8_t)stranger_below(random, 256),
		.source_port = (uint16_t)stranger_below(random, 65536),
		.pkey = 0xffff,
		.mig_req = stranger_below(random, 2) != 0,
		.fecn = stranger_below(random, 2) != 0,
		.tagged = target->vlan != 0,
		.tci = target->vlan,
	};
	memcpy(head->dmac, target->mac, 6);
	memcpy(head->smac, target->peer_mac, 6);
	memcpy(head->dgid, target->gid, 16);
	memcpy(head->sgid, target->peer_gid, 16);
	/* Nobody looks at it: behind a router it is the router's. */
	head->smac[5] ^= (uint8_t)stranger_below(random, 2);
	switch (way) {
	case STRANGER_SOURCE:
		head->sgid[12 + stranger_below(random, 4)] ^=
			(uint8_t)(1 + stranger_below(random, 255));
		break;
	case STRANGER_MAC: head->dmac[5] ^= (uint8_t)(1 + stranger_below(random, 255)); break;
	case STRANGER_NO_VLAN:
		/* Without a tag, where one belongs. */
		head->tagged = target->vlan == 0 || stranger_below(random, 2) != 0;
		head->tci = (uint16_t)(STRANGER_VLAN + 1 + stranger_below(random, 4000));
		break;
	case STRANGER_ANOTHER_VLAN:
		head->tagged = true;
		head->tci = (uint16_t)(stranger_below(random, 8) << 13 | STRANGER_VLAN);
		break;
	case STRANGER_ANOTHER_GID: head->dgid[15] = STRANGER_OTHER_GID; break;
	case STRANGER_RIGHT: break;
	}
}

static void
pkt_make(const struct stranger_target *target, uint8_t opcode, uint32_t psn, uint64_t *random,
	 struct roce_pkt *pkt)
{
	const struct opcodes_row *row = opcodes_find(opcode);

	*pkt = (struct roce_pkt){
		.opcode = opcode,
		.solicited = stranger_below(random, 2) != 0,
		.ack_request = stranger_below(random, 2) != 0,
		.dest_qpn = target->qpn,
		.psn = psn,
		.syndrome = (uint8_t)stranger_below(random, 128),
		.msn = stranger_below(random, 1u << 24),
		.immediate = (uint32_t)softrnic_splitmix64(random),
		.swap_add = softrnic_splitmix64(random),
		.compare = stranger_below(random, 2) ? 0 : softrnic_splitmix64(random),
		.original = softrnic_splitmix64(random),
		.length = stranger_below(random, PAYLOAD_MAX),
	};
	if (row->whole && (row->headers & OPCODES_RESERVED) != 0)
		pkt->length = 0;
	else if (row->whole)
		pkt->length = stranger_below(random, 8) == 0 ? target->mtu : 0;
	if ((row->headers & OPCODES_XRC) != 0)
		pkt->srqn = stranger_below(random, 1u << 24);
	if ((row->headers & OPCODES_DETH) != 0) {
		pkt->qkey = (uint32_t)softrnic_splitmix64(random);
		pkt->source_qpn = stranger_below(random, 1u << 24);
		return;
	}
	/* Half of them are right, some have the right index, and the others anything. */
	pkt->rkey = target->key;
	if (stranger_below(random, 2) != 0)
		pkt->rkey ^= stranger_below(random, 4) != 0 ? 1 + stranger_below(random, 255)
							    : (uint32_t)softrnic_splitmix64(random);
	pkt->va = target->va + stranger_below(random, target->bytes - ROCE_MTU_MAX) / 8 * 8;
	pkt->dma_length = pkt->length;
	if (opcode == ROCE_READ_REQUEST)
		pkt->dma_length = stranger_below(random, ROCE_MTU_MAX);
}

/* Where the BTH is, with addresses as a frame of ours has them. */
static uint32_t
bth_of(const uint8_t *bytes, uint32_t *ip)
{
	const bool tagged = rocev2_get16(bytes + 12) == TAGGED_TYPE;
	uint16_t type;

	*ip = ROCEV2_ETHER_BYTES + (tagged ? ROCEV2_TAG_BYTES : 0);
	type = rocev2_get16(bytes + *ip - 2);
	if (type != IPV4_TYPE && type != IPV6_TYPE)
		return 0;
	return *ip + (type == IPV4_TYPE ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES) + ROCEV2_UDP_BYTES;
}

void
stranger_make(const struct stranger_target *target, enum stranger_way way, uint8_t opcode,
	      uint32_t psn, uint64_t *random, struct stranger_frame *frame)
{
	const bool known = opcodes_find(opcode) != NULL;
	uint8_t payload[ROCE_MTU_MAX];
	struct iovec piece = { payload, 0 };
	struct rocev2_frame head;
	struct roce_pkt pkt;
	uint32_t ip;

	head_make(target, way, random, &head);
	pkt_make(target, known ? opcode : ROCE_SEND_ONLY, psn, random, &pkt);
	memset(payload, (int)(0x80 | stranger_below(random, 128)), pkt.length);
	piece.iov_len = pkt.length;
	pkt.pieces = &piece;
	pkt.count = pkt.length > 0;
	frame->opcode = opcode;
	frame->length = rocev2_encode(&head, &pkt, frame->bytes);
	if (!known)
		frame->bytes[bth_of(frame->bytes, &ip)] = opcode;
}

enum stranger_verdict
stranger_verdict(const struct stranger_target *target, enum stranger_way way, uint8_t opcode)
{
	if (way == STRANGER_MAC || way == STRANGER_NO_VLAN)
		return STRANGER_ETHERNET;
	if (opcodes_find(opcode) == NULL)
		return STRANGER_MALFORMED;
	if (opcode == ROCE_CNP)
		return STRANGER_CNP;
	if (ROCE_TRANSPORT(opcode) != target->transport)
		return STRANGER_DROPPED;
	/* A datagram may come from anybody who has the key, which nobody guesses. */
	if (target->transport == ROCE_TRANSPORT_UD)
		return STRANGER_QKEY;
	return way == STRANGER_RIGHT ? STRANGER_TAKEN : STRANGER_FOREIGN_SOURCE;
}

/* ---- And what is left of them ---- */

uint8_t
stranger_opcode(const struct stranger_frame *frame)
{
	uint32_t ip;
	const uint32_t bth = bth_of(frame->bytes, &ip);

	return bth != 0 && bth < frame->length ? frame->bytes[bth] : 0;
}

static void
mend_ipv4(uint8_t *ip)
{
	uint32_t sum = 0, i;

	rocev2_put16(ip + IPV4_SUM, 0);
	for (i = 0; i < ROCEV2_IPV4_BYTES; i += 2)
		sum += rocev2_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	rocev2_put16(ip + IPV4_SUM, (uint16_t)~sum);
}

/* Checksum and ICRC are right again where its IP ends, if that is within the frame; the PSN is that one. */
static void
mend(struct stranger_frame *frame, uint32_t psn)
{
	uint32_t ip, end, bth = bth_of(frame->bytes, &ip), crc;
	const bool ipv4 = bth == ip + ROCEV2_IPV4_BYTES + ROCEV2_UDP_BYTES;

	if (bth == 0 || bth + ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES > frame->length)
		return;
	end = ipv4 ? ip + rocev2_get16(frame->bytes + ip + 2)
		   : ip + ROCEV2_IPV6_BYTES + rocev2_get16(frame->bytes + ip + 4);
	if (end > frame->length || end < bth + ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES)
		end = frame->length;
	if (ipv4)
		mend_ipv4(frame->bytes + ip);
	frame->bytes[bth + BTH_PSN] = (uint8_t)(psn >> 16);
	rocev2_put16(frame->bytes + bth + BTH_PSN + 1, (uint16_t)psn);
	end -= ROCEV2_ICRC_BYTES;
	crc = rocev2_icrc_begin(frame->bytes + ip, ipv4 ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES);
	crc = rocev2_icrc_add(crc, frame->bytes + bth + ROCEV2_BTH_SHARED,
			      end - bth - ROCEV2_BTH_SHARED);
	for (uint32_t i = 0; i < ROCEV2_ICRC_BYTES; i++)
		frame->bytes[end + i] = (uint8_t)(crc >> 8 * i);
}

static void
random_bytes(uint8_t *at, uint32_t length, uint64_t *random)
{
	for (uint32_t i = 0; i < length; i++)
		at[i] = (uint8_t)stranger_below(random, 256);
}

/* Two bytes of the headers: none, all, or any bits. */
static void
damage_header(struct stranger_frame *frame, uint64_t *random)
{
	static const uint16_t values[] = { 0, 0xffff, 1, 0x8000 };
	const uint32_t at = stranger_below(random, 90);
	const uint32_t which = stranger_below(random, 8);

	if (at + 2 <= frame->length)
		rocev2_put16(frame->bytes + at,
			     which < 4 ? values[which] : (uint16_t)stranger_below(random, 65536));
}

void
stranger_damage(struct stranger_frame *frame, uint32_t psn, uint64_t *random)
{
	uint32_t count = 1 + stranger_below(random, 8), bit, ip;

	switch (stranger_below(random, 6)) {
	case 0: /* nothing but an Ethernet header */
		frame->length = ROCEV2_ETHER_BYTES + stranger_below(random, 200);
		random_bytes(frame->bytes + 14, frame->length - 14, random);
		break;
	case 1:
		while (count-- > 0) {
			bit = stranger_below(random, 8 * frame->length);
			frame->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		break;
	case 2:
		frame->length = ROCEV2_ETHER_BYTES +
				stranger_below(random, frame->length - ROCEV2_ETHER_BYTES);
		break;
	case 3:
		count = stranger_below(random, 100);
		random_bytes(frame->bytes + frame->length, count, random);
		frame->length += count;
		break;
	case 4: damage_header(frame, random); break;
	default: /* the BTH, but for its PSN */
		random_bytes(frame->bytes + bth_of(frame->bytes, &ip), BTH_PSN, random);
		break;
	}
	if (stranger_below(random, 2) != 0)
		mend(frame, psn);
}
