/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: frames that claim to be RoCEv2. What is a packet must be the same when it has become a frame again.
 *
 *   u8   bit 0: lengths of IP and UDP are made those of the frame; 1: IPv4's checksum is made right; 2: the ICRC is
 *   u8   bytes of its first piece
 *   the frame
 */

#include "fuzz.h"
#include "prm/qp.h"
#include "softrnic/port/sum.h"
#include "softrnic/rocev2/bytes.h"
#include "softrnic/rocev2/decode.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/rocev2/icrc.h"

#define LENGTHS	 0x1
#define CHECKSUM 0x2
#define ICRC	 0x4

/* What a search would hardly find. */
static void
mend(uint8_t *bytes, uint32_t count, uint8_t flags)
{
	struct rocev2_frame frame;
	uint32_t ip, ip_bytes, summed, crc;
	uint16_t sum;

	if (!rocev2_recognize(bytes, count, &frame))
		return;
	ip = ROCEV2_ETHER_BYTES + (frame.tagged ? ROCEV2_TAG_BYTES : 0);
	ip_bytes = rocev2_is_ipv4(&frame) ? ROCEV2_IPV4_BYTES : ROCEV2_IPV6_BYTES;
	if ((flags & LENGTHS) != 0) {
		rocev2_put16(
			bytes + ip + (ip_bytes == ROCEV2_IPV4_BYTES ? 2 : 4),
			(uint16_t)(count - ip - (ip_bytes == ROCEV2_IPV4_BYTES ? 0 : ip_bytes)));
		rocev2_put16(bytes + ip + ip_bytes + 4, (uint16_t)(count - ip - ip_bytes));
	}
	if ((flags & CHECKSUM) != 0 && ip_bytes == ROCEV2_IPV4_BYTES) {
		memset(bytes + ip + 10, 0, 2);
		sum = (uint16_t)~softrnic_sum_fold(softrnic_sum_bytes(bytes + ip, ip_bytes));
		memcpy(bytes + ip + 10, &sum, 2);
	}
	summed = ip + ip_bytes + ROCEV2_UDP_BYTES + ROCEV2_BTH_SHARED;
	if ((flags & ICRC) != 0 && count >= summed + ROCEV2_ICRC_BYTES) {
		crc = rocev2_icrc_begin(bytes + ip, ip_bytes);
		crc = rte_cpu_to_le_32(
			rocev2_icrc_add(crc, bytes + summed, count - summed - ROCEV2_ICRC_BYTES));
		memcpy(bytes + count - ROCEV2_ICRC_BYTES, &crc, ROCEV2_ICRC_BYTES);
	}
}

/* Memory of just that size, so that the sanitizer sees what goes beyond. */
static void *
own(const uint8_t *bytes, size_t count)
{
	void *copy = malloc(count);

	must(copy != NULL);
	memcpy(copy, bytes, count);
	return copy;
}

/* A packet that was taken: what it becomes is taken, and the same. */
static void
again(const struct rocev2_frame *frame, const struct roce_pkt *pkt)
{
	static uint8_t room[2 * ROCEV2_FRAME_MAX];
	const uint32_t count = rocev2_encode(frame, pkt, room);
	struct rocev2_frame other_frame;
	struct iovec piece = { room, count }, payload;
	struct roce_pkt other;
	uint32_t at = 0;

	must(count == rocev2_frame_bytes(frame, pkt));
	memset(&other_frame, 0, sizeof(other_frame));
	must(rocev2_recognize(room, count, &other_frame));
	must(rocev2_decode(room, &piece, count, &other_frame, &other, &payload) == ROCEV2_GOOD);
	other_frame.ip = frame->ip;
	other_frame.shared_crc = frame->shared_crc;
	must(memcmp(&other_frame, frame, sizeof(other_frame)) == 0);
	for (uint32_t i = 0; i < pkt->count; at += (uint32_t)pkt->pieces[i++].iov_len)
		must(memcmp((uint8_t *)payload.iov_base + at, pkt->pieces[i].iov_base,
			    pkt->pieces[i].iov_len) == 0);
	must(at == other.length && other.count == (at > 0));
	other.pieces = pkt->pieces;
	other.count = pkt->count;
	must(memcmp(&other, pkt, sizeof(other)) == 0);
}

/* As one that is like another it is what it was. */
static void
as_its_model(const uint8_t *head, const struct iovec *pieces, uint32_t count,
	     const struct rocev2_frame *frame, const struct roce_pkt *pkt)
{
	struct rocev2_model model;
	struct iovec payload[2];

	rocev2_model_make(&model, head, count, frame, pkt);
	must(rocev2_model_fits(&model, head, count));
	must(rocev2_model_decode(&model, head, pieces, payload) == ROCEV2_GOOD);
	must(memcmp(&model.frame, frame, sizeof(*frame)) == 0);
	must(memcmp(payload, pkt->pieces, pkt->count * sizeof(payload[0])) == 0);
	model.pkt.pieces = pkt->pieces;
	must(memcmp(&model.pkt, pkt, sizeof(*pkt)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const uint8_t flags = fuzz_u8(&input);
	uint32_t border = fuzz_u8(&input), count;
	struct iovec pieces[2], payload[2];
	uint8_t *bytes, *head;
	struct rocev2_frame frame;
	struct roce_pkt pkt;

	count = (uint32_t)(input.left < ROCEV2_FRAME_MAX ? input.left : ROCEV2_FRAME_MAX);
	if (count < 2)
		return 0;
	bytes = own(input.data, count);
	mend(bytes, count, flags);
	border = border == 0 || border >= count ? 1 : border;
	pieces[0] = (struct iovec){ own(bytes, border), border };
	pieces[1] = (struct iovec){ own(bytes + border, count - border), count - border };
	head = own(bytes, count < ROCEV2_HEAD_MAX ? count : ROCEV2_HEAD_MAX);
	memset(&frame, 0, sizeof(frame));
	if (rocev2_recognize(head, count, &frame) &&
	    rocev2_decode(head, pieces, count, &frame, &pkt, payload) == ROCEV2_GOOD) {
		as_its_model(head, pieces, count, &frame, &pkt);
		again(&frame, &pkt);
	}
	free(head);
	free(pieces[1].iov_base);
	free(pieces[0].iov_base);
	free(bytes);
	return 0;
}

void
fuzz_begin(void)
{
}

static void
seed_write(uint8_t opcode, bool ipv4, bool tagged)
{
	static uint8_t zeros[64];
	struct iovec piece = { zeros, 33 };
	struct roce_pkt pkt = { .opcode = opcode, .dest_qpn = 5, .psn = 7, .pieces = &piece };
	struct rocev2_frame frame = {
		.tagged = tagged, .tci = 5, .hop_limit = 64, .source_port = 0xc000
	};
	struct fuzz_seed seed = { .used = 0 };
	uint8_t room[ROCEV2_FRAME_MAX];

	if ((rocev2_opcodes[opcode].headers & ROCEV2_UNPADDED) == 0) {
		pkt.length = 33;
		pkt.count = 1;
	}
	frame.dgid[0] = frame.sgid[0] = ipv4 ? 0 : 0xfe;
	if (ipv4) {
		memset(frame.dgid + 10, 0xff, 2);
		memset(frame.sgid + 10, 0xff, 2);
	}
	PUT(&seed, LENGTHS | CHECKSUM | ICRC, 60);
	fuzz_put(&seed, room, rocev2_encode(&frame, &pkt, room));
	fuzz_seed_write(&seed, "%02x-%d%s", opcode, ipv4 ? 4 : 6, tagged ? "-vlan" : "");
}

void
fuzz_seeds_write(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		if (!rocev2_opcodes[i].known)
			continue;
		seed_write((uint8_t)i, i % 2 == 0, i % 3 == 0);
		seed_write((uint8_t)i, i % 2 == 1, i % 3 == 1);
	}
}
