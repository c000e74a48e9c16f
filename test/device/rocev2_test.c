/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of RoCEv2 out of packets and back: bytes, checks, ICRC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_byteorder.h>

#include "opcodes.h"
#include "prm/qp.h"
#include "softrnic/base/random.h"
#include "softrnic/rocev2/decode.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/rocev2/fold.h"
#include "softrnic/rocev2/icrc.h"

#define FRAMES 1000000
#define IP     ROCEV2_ETHER_BYTES

static uint64_t seed = 4791;

static uint32_t
below(uint32_t end)
{
	return (uint32_t)(softrnic_splitmix64(&seed) >> 33) % end;
}

static void
fill(void *to, size_t bytes)
{
	for (uint8_t *at = to; bytes > 0; bytes--)
		*at++ = (uint8_t)below(256);
}

/* ---- Vectors from elsewhere ---- */

/* A congestion notification that a ConnectX-4 Lx sent (scapy's tests have it). */
static const uint8_t card_cnp[] = {
	0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, 0x45,
	0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
	0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff,
	0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a,
};

static void
test_a_frame_of_a_card_is_taken(void **state)
{
	struct iovec piece = { (void *)(uintptr_t)card_cnp, sizeof(card_cnp) }, payload;
	struct rocev2_frame frame;
	struct roce_pkt pkt;

	(void)state;
	assert_true(rocev2_recognize(card_cnp, sizeof(card_cnp), &frame));
	assert_int_equal(rocev2_decode(card_cnp, &piece, sizeof(card_cnp), &frame, &pkt, &payload),
			 ROCEV2_GOOD);
	assert_int_equal(pkt.opcode, ROCE_CNP);
	assert_int_equal(pkt.dest_qpn, 0x118);
	assert_true(frame.becn && !frame.fecn && !frame.tagged);
	assert_int_equal(frame.traffic_class, 0xc2);
	assert_int_equal(frame.hop_limit, 64);
	assert_int_equal(frame.pkey, 0xffff);
	assert_true(rnic_gid_is_ipv4(frame.sgid));
	assert_int_equal(pkt.length, 0);
}

/* The ICRC that scapy's tests have for a SEND of an unreliable connection; its IP header has a number, ours none. */
static void
test_the_icrc_is_others(void **state)
{
	static const uint8_t packet[] = {
		0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5,
		0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7,
		0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3,
		0x00, 0xcf, 0x17, 0x10, 'F',  '0',  0x81, 0x8b, 0xe2, 0x89, '5',  0xd9,
		0x0e, 0x9a, 0x95, 'P',	'T',  0x01, 0xbe, 0x88, '^',  'P',  0x00, 0x00,
	};
	uint32_t crc = rocev2_icrc_begin(packet, ROCEV2_IPV4_BYTES);

	(void)state;
	crc = rocev2_icrc_add(crc, packet + 36, sizeof(packet) - 36);
	assert_int_equal(rte_cpu_to_be_32(crc), 0x78f353f3);
}

/* With and without what the CPU has for it: the sum of ISA-L, and the bytes as they are, with nothing beside them. */
static void
test_what_is_copied_is_summed(void **state)
{
	static uint8_t from[5200], to[5200];
	const bool is_there = rocev2_fold_is_there;

	(void)state;
	for (uint32_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * i >> 3);
	for (uint32_t length = 0; length <= 5000; length += length < 1100 ? 1 : 61)
		for (uint32_t way = 0; way < 2; way++) {
			const uint32_t a = length % 67, b = length % 71 + 1;
			uint32_t crc = length * 0x9e3779b9, wanted;

			rocev2_fold_is_there = false;
			wanted = rocev2_icrc_add(crc, from + a, length);
			memset(to, 0xa5, sizeof(to));
			rocev2_fold_is_there = is_there && way == 0;
			crc = rocev2_icrc_copy(crc, to + b, from + a, length);
			rocev2_fold_is_there = is_there;
			assert_int_equal(crc, wanted);
			assert_memory_equal(to + b, from + a, length);
			assert_int_equal(to[b - 1], 0xa5);
			assert_int_equal(to[b + length], 0xa5);
		}
}

/* ---- Round trips ---- */

static struct rocev2_frame
random_frame(void)
{
	struct rocev2_frame frame = {
		.tagged = below(2),
		.traffic_class = (uint8_t)below(256),
		.hop_limit = (uint8_t)below(256),
		.source_port = (uint16_t)below(65536),
		.pkey = (uint16_t)below(65536),
		.mig_req = below(2),
		.fecn = below(2),
		.becn = below(2),
	};
	bool ipv4 = below(2);

	fill(frame.dmac, 12);
	fill(frame.sgid, 32);
	if (frame.tagged)
		frame.tci = (uint16_t)below(65536);
	if (ipv4) {
		memcpy(frame.sgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		memcpy(frame.dgid, frame.sgid, 12);
	} else {
		frame.sgid[0] = frame.dgid[0] = 0x20;
		frame.flow_label = below(1 << 20);
	}
	return frame;
}

static uint8_t payload_bytes[ROCE_MTU_MAX];
static struct iovec payload_pieces[8];

/* Every header that the opcode has with random contents, a payload in random pieces. */
static struct roce_pkt
random_packet(uint8_t opcode, uint32_t length)
{
	const struct opcodes_row *row = opcodes_find(opcode);
	const uint8_t headers = row->headers;
	struct roce_pkt pkt = {
		.opcode = opcode,
		.solicited = below(2),
		.ack_request = below(2),
		.dest_qpn = below(1 << 24),
		.psn = below(1 << 24),
		.length = row->whole ? length & ~3u : length,
		.pieces = payload_pieces,
	};
	uint32_t at = 0, n;

	if ((headers & OPCODES_XRC) != 0)
		pkt.srqn = below(1 << 24);
	if ((headers & OPCODES_WORD) != 0)
		fill(&pkt.immediate, sizeof(pkt.immediate));
	if ((headers & OPCODES_AETH) != 0) {
		pkt.syndrome = (uint8_t)below(256);
		pkt.msn = below(1 << 24);
	}
	if ((headers & (OPCODES_RETH | OPCODES_ATOMIC_ETH)) != 0) {
		fill(&pkt.va, sizeof(pkt.va));
		fill(&pkt.rkey, sizeof(pkt.rkey));
	}
	if ((headers & OPCODES_RETH) != 0)
		fill(&pkt.dma_length, sizeof(pkt.dma_length));
	if ((headers & OPCODES_ATOMIC_ETH) != 0) {
		fill(&pkt.swap_add, sizeof(pkt.swap_add));
		fill(&pkt.compare, sizeof(pkt.compare));
	}
	if ((headers & OPCODES_ATOMIC_ACK) != 0)
		fill(&pkt.original, sizeof(pkt.original));
	if ((headers & OPCODES_DETH) != 0) {
		fill(&pkt.qkey, sizeof(pkt.qkey));
		pkt.source_qpn = below(1 << 24);
	}
	for (; at < pkt.length; at += n) {
		n = pkt.count == 7 ? pkt.length - at : 1 + below(pkt.length - at);
		payload_pieces[pkt.count++] = (struct iovec){ payload_bytes + at, n };
	}
	return pkt;
}

/* CRC-32 by the book: a bit at a time made the table. */
static uint32_t
oracle_crc(const uint8_t *bytes, uint32_t length)
{
	static uint32_t table[256];
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
		table[i] = i;
		for (uint32_t bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320 : 0);
	}
	for (uint32_t i = 0; i < length; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

/* Of a frame without its last four bytes, as the text of annex 17 says. */
static uint32_t
oracle_icrc(const uint8_t *bytes, uint32_t length, bool tagged)
{
	static uint8_t copy[8 + ROCEV2_FRAME_MAX];
	uint8_t *ip = copy + 8, *bth;
	uint32_t skip = tagged ? 18 : 14;

	memset(copy, 0xff, 8);
	memcpy(ip, bytes + skip, length - skip - 4);
	if (ip[0] >> 4 == 4) {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
		bth = ip + 28;
	} else {
		ip[0] = 0x6f;
		ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
		bth = ip + 48;
	}
	bth[-1] = bth[-2] = bth[4] = 0xff;
	return oracle_crc(copy, length - skip - 4 + 8);
}

/* The frame in up to eight pieces, none of them empty, at any borders. */
static uint32_t
cut(uint8_t *bytes, uint32_t length, struct iovec *pieces)
{
	uint32_t count = 0, n;

	for (uint32_t at = 0; at < length; at += n) {
		n = count == 7 ? length - at : 1 + below(length - at);
		pieces[count++] = (struct iovec){ bytes + at, n };
	}
	return count;
}

static void
assert_same_packet(const struct roce_pkt *got, const struct roce_pkt *want)
{
	struct roce_pkt headers = *got;
	uint32_t at = 0;

	headers.pieces = want->pieces;
	headers.count = want->count;
	assert_memory_equal(&headers, want, sizeof(headers));
	for (uint32_t i = 0; i < got->count; at += (uint32_t)got->pieces[i++].iov_len)
		assert_memory_equal(got->pieces[i].iov_base, payload_bytes + at,
				    got->pieces[i].iov_len);
	assert_int_equal(at, want->length);
}

static uint32_t
a_length(void)
{
	return below(16) == 0 ? below(ROCE_MTU_MAX + 1) : below(70);
}

static void
assert_same_frame(struct rocev2_frame back, const struct rocev2_frame *frame)
{
	back.ip = NULL;
	back.shared_crc = 0;
	back.prefixes = frame->prefixes;
	assert_memory_equal(&back, frame, sizeof(back));
}

static void
test_each_frame_comes_back_as_it_went(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX + 64];
	uint32_t length, crc, n, alike = 0;
	struct rocev2_frame frame = random_frame(), back;
	struct rocev2_prefix prefixes[ROCEV2_PREFIXES] = { 0 };
	struct rocev2_model model = { 0 };
	struct roce_pkt pkt, got;
	struct iovec pieces[8], payload[8];

	(void)state;
	for (uint32_t i = 0; i < FRAMES; i++) {
		/* Many are of one connection: their headers have been made and summed before. */
		if (below(8) == 0) {
			frame = random_frame();
			memset(prefixes, 0, sizeof(prefixes));
		}
		frame.prefixes = below(8) == 0 ? NULL : prefixes;
		if (i == 0 || below(2) == 0) {
			pkt = random_packet(opcodes_rows[i % OPCODES_KNOWN].code, a_length());
		} else {
			/* As the one before, but for one thing or none. */
			n = below(4) == 0 ? 0 : pkt.dest_qpn;
			pkt = random_packet(pkt.opcode,
					    RTE_MIN(pkt.length + below(2), ROCE_MTU_MAX));
			pkt.dest_qpn = n != 0 ? n : pkt.dest_qpn;
		}
		length = rocev2_encode(&frame, &pkt, bytes);
		assert_int_equal(length, rocev2_frame_bytes(&frame, &pkt));
		memcpy(&crc, bytes + length - 4, 4);
		assert_int_equal(rte_le_to_cpu_32(crc), oracle_icrc(bytes, length, frame.tagged));
		length += below(2) * below(64); /* padding of Ethernet */
		memset(&back, 0, sizeof(back));
		assert_true(rocev2_recognize(bytes, length, &back));
		cut(bytes, length, pieces);
		assert_int_equal(rocev2_decode(bytes, pieces, length, &back, &got, payload),
				 ROCEV2_GOOD);
		assert_same_frame(back, &frame);
		assert_same_packet(&got, &pkt);
		if (rocev2_model_fits(&model, bytes, length)) {
			alike++;
			assert_int_equal(rocev2_model_decode(&model, bytes, pieces, payload),
					 ROCEV2_GOOD);
			assert_same_frame(model.frame, &frame);
			assert_same_packet(&model.pkt, &pkt);
		}
		rocev2_model_make(&model, bytes, length, &back, &got);
	}
	assert_true(alike > FRAMES / 100);
}

/* ---- XRC ---- */

#define XRC_BTH (IP + ROCEV2_IPV6_BYTES + ROCEV2_UDP_BYTES)

struct by_hand {
	const char *name;
	struct roce_pkt pkt;
	uint32_t count;
	uint8_t bytes[64]; /* from the BTH on, without the ICRC */
};

#define HAND_PKT(code) .opcode = (code), .dest_qpn = 0x123456, .psn = 0xabcdef
#define HAND_BTH(code, second, ack) \
	(code), (second), 0xff, 0xff, 0, 0x12, 0x34, 0x56, (ack), 0xab, 0xcd, 0xef
#define HAND_XRC     0, 0x98, 0x76, 0x54
#define HAND_VA	     1, 2, 3, 4, 5, 6, 7, 8
#define HAND_KEY     0xa1, 0xa2, 0xa3, 0xa4
#define HAND_SWAP    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18
#define HAND_COMPARE 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28

/* As IBTA vol. 1 has the headers, and annex A14 where XRCETH stands: requests have it in front of all others, answers have none. */
static const struct by_hand by_hand[] = {
	{ "SEND ONLY",
	  { HAND_PKT(0xa4), .srqn = 0x987654, .length = 5 },
	  12 + 4 + 5 + 3,
	  { HAND_BTH(0xa4, 0x30, 0), HAND_XRC, 'h', 'e', 'l', 'l', 'o' } },
	{ "WRITE ONLY with immediate",
	  { HAND_PKT(0xab), .srqn = 0x987654, .solicited = true, .ack_request = true,
	    .va = 0x0102030405060708, .rkey = 0xa1a2a3a4, .dma_length = 4, .immediate = 0xc1c2c3c4,
	    .length = 4 },
	  12 + 4 + 16 + 4 + 4,
	  { HAND_BTH(0xab, 0x80, 0x80), HAND_XRC, HAND_VA, HAND_KEY, 0, 0, 0, 4, 0xc1, 0xc2, 0xc3,
	    0xc4, 'h', 'e', 'l', 'l' } },
	{ "compare and swap",
	  { HAND_PKT(0xb3), .srqn = 0x987654, .va = 0x0102030405060708, .rkey = 0xa1a2a3a4,
	    .swap_add = 0x1112131415161718, .compare = 0x2122232425262728 },
	  12 + 4 + 28,
	  { HAND_BTH(0xb3, 0, 0), HAND_XRC, HAND_VA, HAND_KEY, HAND_SWAP, HAND_COMPARE } },
	{ "ACK",
	  { HAND_PKT(0xb1), .syndrome = 0x1f, .msn = 0x313233 },
	  12 + 4,
	  { HAND_BTH(0xb1, 0, 0), 0x1f, 0x31, 0x32, 0x33 } },
};

static void
test_xrc_is_what_the_specification_says(void **state)
{
	static char text[] = "hello";
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct rocev2_frame frame = { .dgid = { 0x20 }, .sgid = { 0x20 }, .pkey = 0xffff };

	(void)state;
	for (size_t i = 0; i < sizeof(by_hand) / sizeof(by_hand[0]); i++) {
		const struct by_hand *row = &by_hand[i];
		struct iovec piece = { text, row->pkt.length };
		struct roce_pkt pkt = row->pkt;

		print_message("# %s\n", row->name);
		pkt.pieces = &piece;
		pkt.count = pkt.length > 0;
		memset(bytes, 0xee, sizeof(bytes));
		assert_int_equal(rocev2_encode(&frame, &pkt, bytes), XRC_BTH + row->count + 4);
		assert_memory_equal(bytes + XRC_BTH, row->bytes, row->count);
	}
}

/* What is reserved in XRCETH says nothing: it is sent as 0, whatever the number has there, and not looked at. */
static void
test_reserved_bits_of_xrceth(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct rocev2_frame frame = { .dgid = { 0x20 }, .sgid = { 0x20 } };
	struct roce_pkt pkt = { .opcode = 0xa4, .srqn = 0xff987654 }, got;
	uint32_t length = rocev2_encode(&frame, &pkt, bytes), crc;
	struct iovec piece = { bytes, length }, payload;

	(void)state;
	assert_int_equal(bytes[XRC_BTH + ROCEV2_BTH_BYTES], 0);
	bytes[XRC_BTH + ROCEV2_BTH_BYTES] = 0xff;
	crc = rte_cpu_to_le_32(oracle_icrc(bytes, length, false));
	memcpy(bytes + length - 4, &crc, 4);
	assert_true(rocev2_recognize(bytes, length, &frame));
	assert_int_equal(rocev2_decode(bytes, &piece, length, &frame, &got, &payload), ROCEV2_GOOD);
	assert_int_equal(got.srqn, 0x987654);
}

/* Each of its opcodes with each length of padding, of a little payload and of much. */
static void
test_each_opcode_of_xrc_comes_back_as_it_went(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct rocev2_frame frame = random_frame();
	uint32_t length, opcode, n, tried = 0;
	struct iovec pieces[8], payload[8];
	struct roce_pkt pkt, got;

	(void)state;
	for (opcode = 0xa0; opcode < 0xc0; opcode++) {
		if (opcodes_find(opcode) == NULL)
			continue;
		for (n = 0; n < 8; n++, tried++) {
			pkt = random_packet((uint8_t)opcode, n < 4 ? n : ROCE_MTU_MAX - 8 + n);
			length = rocev2_encode(&frame, &pkt, bytes);
			assert_true(rocev2_recognize(bytes, length, &frame));
			cut(bytes, length, pieces);
			assert_int_equal(
				rocev2_decode(bytes, pieces, length, &frame, &got, payload),
				ROCEV2_GOOD);
			assert_same_packet(&got, &pkt);
		}
	}
	assert_int_equal(tried, 23 * 8);
}

/* ---- Damage ---- */

static void
test_any_bit_of_the_packet_that_flips_is_seen(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	uint32_t length, bth, bit;
	struct rocev2_frame frame;
	struct rocev2_model model;
	struct roce_pkt pkt, got;
	struct iovec piece = { bytes, 0 }, payload;

	(void)state;
	for (uint32_t i = 0; i < 20 * OPCODES_KNOWN; i++) {
		frame = random_frame();
		pkt = random_packet(opcodes_rows[i % OPCODES_KNOWN].code, below(40));
		length = rocev2_encode(&frame, &pkt, bytes);
		piece.iov_len = length;
		assert_true(rocev2_recognize(bytes, length, &frame));
		assert_int_equal(rocev2_decode(bytes, &piece, length, &frame, &got, &payload),
				 ROCEV2_GOOD);
		rocev2_model_make(&model, bytes, length, &frame, &got);
		bth = length - rocev2_udp_bytes(&pkt) + ROCEV2_UDP_BYTES;
		for (bit = bth * 8; bit < length * 8; bit++) {
			if (bit / 8 == bth + 4) /* which routers change */
				continue;
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_not_equal(
				rocev2_decode(bytes, &piece, length, &frame, &got, &payload),
				ROCEV2_GOOD);
			/* In the shared bytes it is another's; behind them the sum says so. */
			assert_int_equal(rocev2_model_fits(&model, bytes, length),
					 bit / 8 >= bth + ROCEV2_BTH_SHARED);
			if (bit / 8 >= bth + ROCEV2_BTH_SHARED)
				assert_int_equal(
					rocev2_model_decode(&model, bytes, &piece, &payload),
					ROCEV2_ICRC);
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* What a router may change, it may. */
static void
test_what_routers_change_is_not_damage(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct rocev2_frame frame = random_frame(), back;
	struct roce_pkt pkt = random_packet(ROCE_SEND_ONLY, 33), got;
	struct iovec piece = { bytes, 0 }, payload;

	(void)state;
	frame.tagged = false;
	memset(frame.dgid, 0x20, 16);
	memset(frame.sgid, 0x20, 16);
	piece.iov_len = rocev2_encode(&frame, &pkt, bytes);
	bytes[IP] ^= 0x0f;
	fill(bytes + IP + 1, 3);
	bytes[IP + 7]--;
	fill(bytes + IP + ROCEV2_IPV6_BYTES + 6, 2);
	bytes[IP + ROCEV2_IPV6_BYTES + ROCEV2_UDP_BYTES + 4] = 0xff;
	assert_true(rocev2_recognize(bytes, (uint32_t)piece.iov_len, &back));
	assert_int_equal(
		rocev2_decode(bytes, &piece, (uint32_t)piece.iov_len, &back, &got, &payload),
		ROCEV2_GOOD);
	assert_true(back.fecn && back.becn);
}

/* ---- What is no RoCEv2, and what is none that is whole ---- */

struct spoilt {
	const char *name;
	bool ipv6;
	uint32_t at;
	uint8_t xor ;
	int verdict; /* enum rocev2_reason, or -1: an Ethernet frame */
};

#define UDP4 (IP + ROCEV2_IPV4_BYTES)
#define BTH4 (UDP4 + ROCEV2_UDP_BYTES)
#define UDP6 (IP + ROCEV2_IPV6_BYTES)

static const struct spoilt spoilt[] = {
	{ "another type", false, 12, 0x80, -1 },
	{ "IPv4 of another version", false, IP, 0x10, -1 },
	{ "IPv4 with options", false, IP, 0x03, -1 },
	{ "more fragments", false, IP + 6, 0x20, -1 },
	{ "a later fragment", false, IP + 7, 0x01, -1 },
	{ "TCP", false, IP + 9, 17 ^ 6, -1 },
	{ "another port", false, UDP4 + 3, 0x01, -1 },
	{ "IPv6 of another version", true, IP, 0x10, -1 },
	{ "a header of IPv6", true, IP + 6, 17 ^ 44, -1 },
	{ "another port over IPv6", true, UDP6 + 2, 0x80, -1 },
	{ "IPv4 longer than the frame", false, IP + 2, 0x10, ROCEV2_IP_LENGTH },
	{ "IPv6 longer than the frame", true, IP + 4, 0x10, ROCEV2_IP_LENGTH },
	{ "UDP shorter than IPv4's rest", false, UDP4 + 5, 0x04, ROCEV2_UDP_LENGTH },
	{ "UDP longer than IPv6's rest", true, UDP6 + 4, 0x01, ROCEV2_UDP_LENGTH },
	{ "IPv4's checksum", false, IP + 10, 0x01, ROCEV2_IP_CHECKSUM },
	{ "IPv4's address", false, IP + 15, 0x01, ROCEV2_IP_CHECKSUM },
	{ "version 1", false, BTH4 + 1, 0x01, ROCEV2_VERSION },
	{ "reserved opcode of RC", false, BTH4, 0x04 ^ 0x15, ROCEV2_OPCODE },
	{ "opcode of RD", false, BTH4, 0x40, ROCEV2_OPCODE },
	{ "reserved opcode of XRC", false, BTH4, 0x04 ^ 0xb5, ROCEV2_OPCODE },
	{ "opcode of no transport", false, BTH4, 0xc0, ROCEV2_OPCODE },
	{ "READ's opcode of UC", false, BTH4, 0x04 ^ 0x2c, ROCEV2_OPCODE },
	{ "padding of a FIRST", false, BTH4, 0x04, ROCEV2_PADDING },
	{ "another padding", false, BTH4 + 1, 0x20, ROCEV2_ICRC },
	{ "P_Key", false, BTH4 + 3, 0x01, ROCEV2_ICRC },
	{ "PSN", false, BTH4 + 11, 0x01, ROCEV2_ICRC },
	{ "source port", true, UDP6, 0x01, ROCEV2_ICRC },
};

static void
test_what_is_wrong_is_named(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct roce_pkt pkt = random_packet(ROCE_SEND_ONLY, 33), got;
	struct rocev2_frame frame, back;
	struct iovec piece = { bytes, 0 }, payload;
	int verdict;

	(void)state;
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		frame = random_frame();
		frame.tagged = false;
		memset(frame.dgid, spoilt[i].ipv6 ? 0x20 : 0, 10);
		memset(frame.dgid + 10, 0xff, 2);
		memcpy(frame.sgid, frame.dgid, 12);
		piece.iov_len = rocev2_encode(&frame, &pkt, bytes);
		bytes[spoilt[i].at] ^= spoilt[i].xor ;
		verdict = -1;
		if (rocev2_recognize(bytes, (uint32_t)piece.iov_len, &back))
			verdict = (int)rocev2_decode(bytes, &piece, (uint32_t)piece.iov_len, &back,
						     &got, &payload);
		if (verdict != spoilt[i].verdict)
			fail_msg("%s: %d instead of %d", spoilt[i].name, verdict,
				 spoilt[i].verdict);
	}
}

/* The GID of an IPv4 address, in a header of IPv6: on neither end. */
static void
test_ipv4_addresses_in_ipv6_are_no_ones(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct roce_pkt pkt = random_packet(ROCE_SEND_ONLY, 33);
	struct rocev2_frame frame = random_frame(), back;
	uint32_t length;

	(void)state;
	frame.tagged = false;
	memset(frame.dgid, 0x20, 16);
	memset(frame.sgid, 0x20, 16);
	length = rocev2_encode(&frame, &pkt, bytes);
	assert_true(rocev2_recognize(bytes, length, &back));
	for (uint32_t at = IP + 8; at <= IP + 24; at += 16) {
		memset(bytes + at, 0, 10);
		memset(bytes + at + 10, 0xff, 2);
		assert_false(rocev2_recognize(bytes, length, &back));
		memset(bytes + at, 0x20, 12);
	}
}

/* ---- All opcodes, lengths, paddings ---- */

/* A frame of that many bytes behind UDP, with a right ICRC where four bytes are left for one. */
static uint32_t
grid_frame(uint8_t opcode, uint32_t left, uint8_t padding, uint8_t *bytes)
{
	static struct rocev2_frame frame = { .dgid = { 0x20 }, .sgid = { 0x20 } };
	struct roce_pkt pkt = { .opcode = ROCE_ACKNOWLEDGE };
	uint32_t at = ROCEV2_ETHER_BYTES + ROCEV2_IPV6_BYTES + ROCEV2_UDP_BYTES, crc;

	rocev2_encode(&frame, &pkt, bytes);
	memset(bytes + at + ROCEV2_BTH_BYTES, 0, 320);
	bytes[at] = opcode;
	bytes[at + 1] = (uint8_t)(padding << 4);
	bytes[IP + 4] = bytes[at - 4] = (uint8_t)((left + 8) >> 8);
	bytes[IP + 5] = bytes[at - 3] = (uint8_t)(left + 8);
	if (left >= ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES) {
		crc = rte_cpu_to_le_32(oracle_icrc(bytes, at + left, false));
		memcpy(bytes + at + left - 4, &crc, 4);
	}
	return at + left;
}

static enum rocev2_reason
grid_expected(uint8_t code, uint32_t left, uint32_t padding)
{
	const struct opcodes_row *row = opcodes_find(code);

	if (left < ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES)
		return ROCEV2_SHORT;
	if (row == NULL)
		return ROCEV2_OPCODE;
	if (left < ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES + opcodes_bytes(row) + padding)
		return ROCEV2_SHORT;
	if (left % 4 != 0 || (padding != 0 && row->whole))
		return ROCEV2_PADDING;
	return ROCEV2_GOOD;
}

static void
test_each_opcode_with_each_length_and_padding(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct rocev2_frame frame;
	struct roce_pkt pkt;
	struct iovec piece = { bytes, 0 }, payload;
	uint32_t length, opcode, padding, left;
	enum rocev2_reason reason;

	(void)state;
	for (opcode = 0; opcode < 256; opcode++)
		for (left = 0; left <= 300; left++)
			for (padding = 0; padding < 4; padding++) {
				length = grid_frame((uint8_t)opcode, left, (uint8_t)padding, bytes);
				piece.iov_len = length;
				assert_true(rocev2_recognize(bytes, length, &frame));
				reason = rocev2_decode(bytes, &piece, length, &frame, &pkt,
						       &payload);
				assert_int_equal(reason,
						 grid_expected((uint8_t)opcode, left, padding));
				if (reason == ROCEV2_GOOD)
					assert_int_equal(
						pkt.length,
						left - 16 - padding -
							opcodes_bytes(opcodes_find(opcode)));
			}
}

/* Bytes at a time, in memory of just that size. */
static void
test_frames_that_end_early_are_none(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	uint32_t length, n;
	struct rocev2_frame frame, back;
	struct roce_pkt pkt, got;
	struct iovec piece, payload;

	(void)state;
	for (uint32_t i = 0; i < 4 * OPCODES_KNOWN; i++) {
		frame = random_frame();
		pkt = random_packet(opcodes_rows[i % OPCODES_KNOWN].code, 8);
		length = rocev2_encode(&frame, &pkt, bytes);
		for (n = 1; n < length; n++) {
			uint8_t *own = malloc(n);

			assert_non_null(own);
			memcpy(own, bytes, n);
			piece = (struct iovec){ own, n };
			if (rocev2_recognize(own, n, &back))
				assert_int_equal(
					rocev2_decode(own, &piece, n, &back, &got, &payload),
					ROCEV2_IP_LENGTH);
			free(own);
		}
	}
}

/* ---- Beside the frame ---- */

static void
test_a_datagrams_header_in_memory_is_the_wires(void **state)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	uint8_t grh[ROCEV2_GRH_BYTES], zeros[20] = { 0 };
	struct rocev2_frame frame;
	struct roce_pkt pkt;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		frame = random_frame();
		frame.tagged = false;
		pkt = random_packet(0x64, below(1000));
		rocev2_encode(&frame, &pkt, bytes);
		rocev2_encode_grh(&frame, &pkt, grh);
		if (rocev2_is_ipv4(&frame)) {
			assert_memory_equal(grh, zeros, 20);
			assert_memory_equal(grh + 20, bytes + IP, 20);
		} else {
			assert_memory_equal(grh, bytes + IP, 40);
		}
	}
}

static void
test_source_ports_are_dynamic_and_spread(void **state)
{
	struct rocev2_frame frame = random_frame();
	static uint8_t seen[65536];
	uint32_t different = 0;
	uint16_t port;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		port = rocev2_source_port(&frame, i, 7);
		assert_true(port >= 0xc000);
		assert_int_equal(port, rocev2_source_port(&frame, i, 7));
		different += !seen[port];
		seen[port] = 1;
	}
	assert_in_range(different, 900, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_of_a_card_is_taken),
		cmocka_unit_test(test_the_icrc_is_others),
		cmocka_unit_test(test_what_is_copied_is_summed),
		cmocka_unit_test(test_each_frame_comes_back_as_it_went),
		cmocka_unit_test(test_xrc_is_what_the_specification_says),
		cmocka_unit_test(test_reserved_bits_of_xrceth),
		cmocka_unit_test(test_each_opcode_of_xrc_comes_back_as_it_went),
		cmocka_unit_test(test_any_bit_of_the_packet_that_flips_is_seen),
		cmocka_unit_test(test_what_routers_change_is_not_damage),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(test_ipv4_addresses_in_ipv6_are_no_ones),
		cmocka_unit_test(test_each_opcode_with_each_length_and_padding),
		cmocka_unit_test(test_frames_that_end_early_are_none),
		cmocka_unit_test(test_a_datagrams_header_in_memory_is_the_wires),
		cmocka_unit_test(test_source_ports_are_dynamic_and_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
