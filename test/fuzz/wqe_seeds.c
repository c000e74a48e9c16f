/* SPDX-License-Identifier: BSD-3-Clause */

/* Seeds of fuzz-wqe: traffic in each shape of world, and what is refused, each for each of its reasons. */
#include "prm/uar.h"
#include "wqe.h"

static struct fuzz_seed seed;

static void
seed_begin(uint8_t flags, uint8_t sizes)
{
	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	fuzz_put_u8(&seed, sizes);
}

static void
put_segment(unsigned int island, enum wqe_key key, uint16_t offset, uint16_t bytes)
{
	fuzz_put_u8(&seed, (uint8_t)(island | (unsigned int)key << 4));
	fuzz_put_u16(&seed, offset);
	fuzz_put_u16(&seed, bytes);
}

static void
put_send(uint8_t opcode, uint8_t inline_bytes, uint8_t segments)
{
	PUT(&seed, OP_SEND, opcode, inline_bytes, segments);
}

static void
put_ring(uint8_t polls)
{
	PUT(&seed, OP_RING, OP_POLL, polls);
}

/* From ERR. */
static void
put_recovery(void)
{
	PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_ERR | RNIC_WQ_STATE_RST << 2);
	PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
}

static void
put_buffers(enum wqe_op op, unsigned int count, uint16_t bytes)
{
	while (count-- > 0) {
		PUT(&seed, (uint8_t)op, 1);
		put_segment(5, KEY_FLAT, 0, bytes);
	}
}

/* A SEND of one segment; of a whole frame. */
static void
put_single(unsigned int island, enum wqe_key key, uint16_t offset, uint16_t bytes)
{
	put_send(0, 0, 1);
	put_segment(island, key, offset, bytes);
}

static void
put_frame(uint16_t bytes)
{
	put_single(2, KEY_WHOLE, 0, bytes);
}

static void
seed_traffic(uint8_t flags, uint8_t sizes, enum wqe_key key)
{
	unsigned int i;

	seed_begin(flags, sizes);
	for (i = 0; i < 3; i++) {
		PUT(&seed, OP_POST, 2);
		put_segment(5, key, 0, 64);
		put_segment(3, KEY_WHOLE, 100, 8000);
	}
	put_send(0, 14, 2);
	put_segment(5, key, 0, 700);
	put_segment(2, KEY_WHOLE, 14, 200);
	put_send(1, 0, 2);
	put_segment(7, KEY_WHOLE, 0, 60);
	put_segment(5, key, 5, 90);
	put_ring(4);
	PUT(&seed, OP_REAP);
	PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RDY | RNIC_WQ_STATE_ERR << 2);
	put_recovery();
	PUT(&seed, OP_UNMAP, 5);
	PUT(&seed, OP_POLL, 2);
	fuzz_seed_write(&seed, "traffic-%02x-%02x-%u", flags, sizes, (unsigned int)key);
}

/* A ring that goes away under its queue, which then is flushed. */
static void
seed_gone(unsigned int island)
{
	seed_begin(DP_SQ_FLUSH | DP_SQ_MULTI_PACKET, 1);
	put_buffers(OP_POST, 1, 8000);
	put_send(2, 0, 0);
	PUT(&seed, OP_UNMAP, (uint8_t)island);
	put_ring(15);
	put_recovery();
	/* The receiver has met an error by now, if it is its ring that is gone. */
	put_single(5, KEY_FLAT, 0, 100);
	put_ring(15);
	PUT(&seed, OP_RQ_STATE, RNIC_WQ_STATE_ERR | RNIC_WQ_STATE_RST << 2);
	PUT(&seed, OP_RQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
	put_buffers(OP_POST, 1, 8000);
	put_single(5, KEY_FLAT, 0, 100);
	put_ring(15);
	fuzz_seed_write(&seed, "gone-%u", island);
}

/* Frames with headers of every kind, whole and cut short. */
static void
seed_headers(void)
{
	static const uint8_t
		headers[][64] = {
			{ 2,  0,    0, 0, 0,  1, 2, 0, 0,    0,	   0,	 2,   0x08,
			  0,  0x45, 0, 0, 40, 0, 0, 0, 0,    64,   17,	 0,   0,
			  10, 0,    0, 1, 10, 0, 0, 2, 0x12, 0xb7, 0x12, 0xb7 },
			{ 2, 0, 0,  0, 0, 1, 2,	 0, 0, 0, 0,  2, 0x08, 0, 0x46, 0, 0, 40, 0, 0,
			  0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0,    2, 1,	1, 1, 1,  0, 80 },
			{ 2,	0,    0,    0, 0, 1, 2, 0,  0,	0,  0,	 2,
			  0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 17, 64, 0xfe },
			{ 1,	0, 0, 0, 0,    1, 2,	0, 0, 0,  0, 2, 0x88, 0xa8, 0,	1,
			  0x81, 0, 0, 2, 0x08, 0, 0x45, 0, 0, 40, 0, 0, 0x20, 1,    64, 6 },
			{ 255, 255, 255,  255,	255,  255, 2, 0, 0, 0,	0, 2,  0x81, 0,
			  0,   1,   0x86, 0xdd, 0x60, 0,   0, 0, 0, 40, 6, 64, 0xfe },
		};
	static const uint16_t lengths[] = { 1, 13, 14, 15, 18, 33, 34, 53, 54, 57, 58, 64 };
	unsigned int i, j;

	for (i = 0; i < 2 * sizeof(headers) / sizeof(headers[0]); i++) {
		/* Each also from memory that may change meanwhile, to a vport that looks at addresses. */
		seed_begin(0, i & 1 ? 0xc2 : 0x82);
		if (i & 1)
			PUT(&seed, OP_VPORT, (uint8_t)(i << 3));
		PUT(&seed, OP_FILL, 0, 0, 64);
		fuzz_put(&seed, headers[i / 2], 64);
		for (j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			PUT(&seed, OP_POST, 1);
			put_segment(5, KEY_WHOLE, 0, 8000);
			put_send(0, 0, lengths[j] > 20 ? 2 : 1);
			if (lengths[j] > 20)
				put_segment(0, KEY_WHOLE, 0, 20);
			put_segment(0, KEY_WHOLE, lengths[j] > 20 ? 20 : 0,
				    lengths[j] > 20 ? lengths[j] - 20 : lengths[j]);
			put_ring(1);
		}
		fuzz_seed_write(&seed, "headers-%u", i);
	}
}

static void
put_offloads(uint8_t what, uint8_t cs_flags, uint16_t mss, uint16_t size)
{
	PUT(&seed, OP_OFFLOADS, what);
	fuzz_put_u8(&seed, cs_flags);
	fuzz_put_u16(&seed, mss);
	fuzz_put_u16(&seed, size);
	put_ring(2);
}

/* A tag and checksums for the frame of an island, then a large send whose headers are the same. */
static void
seed_offloads(void)
{
	static const uint8_t headers[][64] = {
		{ 2, 0,	 0, 0,	0, 1, 2,  0, 0, 0, 0,  2, 0x08, 0, 0x45, 0,
		  0, 50, 0, 1,	0, 0, 64, 6, 0, 0, 10, 0, 0,	1, 10,	 0,
		  0, 2,	 0, 80, 0, 9, 0,  0, 0, 7, 0,  0, 0,	1, 0x50, 0x19 },
		{ 2, 0,	 0,  0, 0, 1,  2, 0, 0, 0,  0, 2, 0x08, 0, 0x45, 0, 0, 50, 0,  1, 0,
		  0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,	0, 80,	 0, 9, 0,  30, 1, 1 },
		{ 2, 0, 0, 0,	 0,    1,    2, 0, 0, 0, 0, 2,	0x81,
		  0, 0, 7, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		seed_begin(DP_SQ_FLUSH, 0x02);
		PUT(&seed, OP_FILL, 0, 0, 64);
		fuzz_put(&seed, headers[i], 64);
		for (unsigned int post = 0; post < 6; post++) {
			PUT(&seed, OP_POST, 1);
			put_segment(5, KEY_WHOLE, 0, 8000);
		}
		for (unsigned int tag = 0; tag < 2; tag++) {
			put_single(0, KEY_WHOLE, 0, 64);
			put_offloads(2, RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM, 0,
				     (uint16_t)(RNIC_WQE_ETH_INSERT_VLAN | tag));
		}
		/* Behind the two of one WQEBB each: size and header stand at byte 28 of the third. */
		put_send(0, 54, 1);
		put_segment(5, KEY_WHOLE, 0, 3000);
		PUT(&seed, OP_SQ_BYTES, 2, 7, 56, 0, 54);
		fuzz_put(&seed, headers[i], 54);
		put_offloads(1, RNIC_WQE_ETH_L3_CSUM, 1000, 0);
		fuzz_seed_write(&seed, "offloads-%u", i);
	}
}

/* ---- Packets that are what they should be, or nearly ---- */

struct packet {
	uint8_t version, proto;
	bool options;	/* of IPv6 */
	uint8_t unsure; /* of UDP 1: there is no checksum, 2: its length is another one */
	uint16_t payload, padding;
};

static const struct packet packets[] = {
	{ 4, 17, false, 0, 8, 0 },  { 4, 17, false, 0, 120, 40 }, { 4, 17, false, 1, 8, 0 },
	{ 4, 17, false, 1, 80, 0 }, { 4, 17, false, 2, 8, 6 },	  { 4, 6, false, 0, 20, 0 },
	{ 4, 6, false, 0, 150, 4 }, { 4, 1, false, 0, 30, 0 },	  { 4, 1, false, 0, 0, 0 },
	{ 4, 1, false, 0, 0, 30 },  { 6, 17, false, 0, 40, 2 },	  { 6, 6, false, 0, 100, 0 },
	{ 6, 17, true, 0, 40, 0 },  { 6, 0, true, 0, 0, 0 },	  { 6, 6, true, 0, 9, 9 },
};

static void
put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void
header_sum(uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)) & 0xffff);
}

static uint32_t
put_ip(uint8_t *ip, const struct packet *packet, uint32_t bytes)
{
	static const uint8_t options[8] = { 0, 0, 1, 4 };

	if (packet->version == 4) {
		ip[0] = 0x45;
		put16(ip + 2, 20 + bytes);
		ip[8] = 64;
		ip[9] = packet->proto;
		ip[12] = ip[16] = 10;
		ip[15] = 1;
		ip[19] = 2;
		header_sum(ip);
		return 20;
	}
	ip[0] = 0x60;
	put16(ip + 4, bytes + (packet->options ? sizeof(options) : 0));
	ip[6] = packet->options ? 60 : packet->proto;
	ip[7] = 64;
	ip[8] = ip[24] = 0xfe;
	ip[23] = 1;
	ip[39] = 2;
	if (!packet->options)
		return 40;
	memcpy(ip + 40, options, sizeof(options));
	ip[40] = packet->proto;
	return 40 + sizeof(options);
}

/* Into `frame`, zeroed; returns the headers' bytes. to: the first byte of the address. */
static uint32_t
packet_make(uint8_t *frame, const struct packet *packet, uint8_t to)
{
	uint32_t l4_bytes = packet->proto == 17 ? 8 : packet->proto == 6 ? 20 : 0;
	uint8_t *l4;

	frame[0] = to;
	frame[5] = 1;
	frame[6] = 2;
	put16(frame + 12, packet->version == 4 ? 0x0800 : 0x86dd);
	l4 = frame + 14;
	l4 += put_ip(l4, packet, l4_bytes + packet->payload);
	if (l4_bytes > 0) {
		put16(l4, 4096);
		put16(l4 + 2, 80);
	}
	if (packet->proto == 17) {
		put16(l4 + 4, l4_bytes + packet->payload + (packet->unsure == 2));
		put16(l4 + 6, packet->unsure == 1 ? 0 : 0x1234);
	} else if (packet->proto == 6) {
		l4[12] = 0x50;
		l4[13] = 0x19;
	}
	return (uint32_t)(l4 - frame) + l4_bytes;
}

/* In an island; returns how long the frame is. */
static uint16_t
put_packet(unsigned int island, const struct packet *packet, uint8_t to)
{
	uint8_t frame[256] = { 0 };
	uint32_t bytes = packet_make(frame, packet, to) + packet->payload + packet->padding;

	must(bytes < sizeof(frame));
	PUT(&seed, OP_FILL, (uint8_t)island, 0, (uint8_t)bytes);
	fuzz_put(&seed, frame, bytes);
	return (uint16_t)bytes;
}

/* Each in one piece and in two, as it is and with checksums asked for. */
static void
seed_packets(void)
{
	unsigned int i, way;
	uint16_t bytes;

	for (i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		seed_begin(0, 0x1a);
		bytes = put_packet(2, &packets[i], 2);
		for (way = 0; way < 4; way++) {
			put_buffers(OP_POST, 1, 8000);
			put_send(0, 0, way & 1 ? 2 : 1);
			if (way & 1)
				put_segment(2, KEY_WHOLE, 0, 30);
			put_segment(2, KEY_WHOLE, way & 1 ? 30 : 0,
				    (uint16_t)(way & 1 ? bytes - 30 : bytes));
			put_offloads(0, way & 2 ? RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM : 0,
				     0, 0);
		}
		fuzz_seed_write(&seed, "packet-%u", i);
	}
}

/* ---- Queues that share their WQEs ---- */

/* Frames to one, to many, to all: each also by the function itself, where it asks for that. */
static void
seed_pool(uint8_t what)
{
	static const uint8_t to[] = { 2, 1, 2, 1 };
	unsigned int i;
	uint16_t bytes;

	seed_begin(0, 0x1a);
	PUT(&seed, OP_VPORT, 4, OP_POOL, what);
	put_buffers(OP_POOL_POST, 3, 8000);
	put_buffers(OP_POST, 4, 8000);
	for (i = 0; i < sizeof(to); i++) {
		bytes = put_packet(2, &packets[i < 2 ? 0 : 10], to[i]);
		put_frame(bytes);
		put_ring(3);
	}
	/* By now it has no more: one that is too short, and then it is gone. */
	put_buffers(OP_POOL_POST, 1, 10);
	put_frame(60);
	put_ring(3);
	fuzz_seed_write(&seed, "pool-%u", what);
	seed_begin(0, 0x1a);
	PUT(&seed, OP_POOL, what);
	put_buffers(OP_POOL_POST, 2, 8000);
	PUT(&seed, OP_UNMAP, ISLANDS + 5);
	put_frame(60);
	put_ring(3);
	fuzz_seed_write(&seed, "pool-gone-%u", what);
}

/* ---- Queues that are refused ---- */

/* A dword of a context, and what is not as it should be there. */
struct refusal {
	uint32_t dword, bits;
};

#define RQC(field, value)                                                     \
	{                                                                     \
		RNIC_FIELD_OFFSET(RNIC_RQC_##field) / 4,                      \
			(uint32_t)(value) << RNIC_FIELD_LOW(RNIC_RQC_##field) \
	}
#define SQC(field, value)                                                     \
	{                                                                     \
		RNIC_FIELD_OFFSET(RNIC_SQC_##field) / 4,                      \
			(uint32_t)(value) << RNIC_FIELD_LOW(RNIC_SQC_##field) \
	}
/* Of both, in the same place. */
#define WQ(field, value)                                                     \
	{                                                                    \
		(0x30 + RNIC_FIELD_OFFSET(RNIC_WQ_##field)) / 4,             \
			(uint32_t)(value) << RNIC_FIELD_LOW(RNIC_WQ_##field) \
	}

static const struct refusal rq_refusals[] = {
	RQC(RLKY, 0),	     RQC(STATE, 1),	  RQC(HAIRPIN, 1),    RQC(SCATTER_FCS, 1),
	RQC(MEM_RQ_TYPE, 1), RQC(MEM_RQ_TYPE, 2), RQC(CQN, 0xff0000), RQC(COUNTER_SET_ID, 0x7f),
};
static const struct refusal sq_refusals[] = {
	SQC(RLKY, 0),	    SQC(STATE, 1),	  SQC(HAIRPIN, 1),    SQC(REG_UMR, 1),
	SQC(TIS_LST_SZ, 2), SQC(TIS_NUM_0, 0xff), SQC(CQN, 0xff0000), WQ(UAR_PAGE, 0xff0000),
};
static const struct refusal wq_refusals[] = {
	WQ(WQ_TYPE, 1),	    WQ(WQ_SIGNATURE, 1),    WQ(LOG_WQ_STRIDE, 0xf), WQ(LOG_WQ_SZ, 0x10),
	WQ(LOG_WQ_SZ, 8),   WQ(DBR_UMEM_VALID, 1),  WQ(WQ_UMEM_VALID, 1),   WQ(PD, 0xff0000),
	WQ(PAGE_OFFSET, 3), WQ(LOG_WQ_PG_SZ, 0x1f), { 0x40 / 4, 0x80 },	    { 0x44 / 4, 1 },
};

static void
put_refusals(uint8_t rq, const struct refusal *refusals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fuzz_put_u8(&seed, OP_CREATE);
		fuzz_put_u8(&seed, (uint8_t)(rq | refusals[i].dword));
		fuzz_put(&seed, &refusals[i].bits, sizeof(refusals[i].bits));
	}
}

#define REFUSALS(rq, list) put_refusals(rq, list, sizeof(list) / sizeof((list)[0]))

static void
seed_refusals(void)
{
	seed_begin(0, 0x1a);
	REFUSALS(0x80, rq_refusals);
	REFUSALS(0x80, wq_refusals);
	REFUSALS(0, sq_refusals);
	REFUSALS(0, wq_refusals);
	fuzz_seed_write(&seed, "refused-queues-0");

	/* What may be changed, and what may not; a queue with a counter, and without WQEs. */
	seed_begin(0, 0x1a);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_COUNTER_SET_ID, 0x80, 0);
	put_frame(60);
	put_ring(3);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_COUNTER_SET_ID, 0x80, 0);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_COUNTER_SET_ID, 0x7f, 0);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_COUNTER_SET_ID, 0, 0);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_VSD, 0, 1);
	PUT(&seed, OP_MODIFY, 1, RNIC_MODIFY_RQ_SCATTER_FCS, 0, 0);
	PUT(&seed, OP_MODIFY, 0, 1, 0, 0);
	PUT(&seed, OP_DESTROY, 1, OP_DESTROY, 0, OP_DESTROY, 0);
	PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RDY | RNIC_WQ_STATE_ERR << 2);
	PUT(&seed, OP_CREATE, 0, 0, 0, 0, 0);
	fuzz_seed_write(&seed, "modified-queues-0");

	/* Two of each kind, one idle. */
	seed_begin(0, 0x1a);
	PUT(&seed, OP_CREATE, 0x40, 0, 0, 0, 0, OP_CREATE, 0xc0, 0, 0, 0, 0);
	put_buffers(OP_POST, 1, 8000);
	for (unsigned int i = 0; i < 4; i++) {
		put_frame(60);
		PUT(&seed, OP_RING, OP_POLL, 15, OP_POLL, 15);
	}
	fuzz_seed_write(&seed, "two-queues-0");
}

/* ---- WQEs that fail ---- */

static void
seed_refused_wqes(void)
{
	unsigned int i;

	seed_begin(DP_SQ_FLUSH, 0x1a);
	/* No completion; no Ethernet segment; flags and sizes that are not offered. */
	put_frame(60);
	put_offloads(8, 0, 0, 0);
	put_frame(60);
	put_offloads(4, 0, 0, 0);
	put_recovery();
	for (i = 0; i < 2; i++) {
		put_frame(60);
		put_offloads(0, i == 0, 0, i == 0 ? 0 : 0x4000);
		put_recovery();
	}
	/* 2 GiB; packets of which each may be one, with a header in front that is for one. */
	for (i = 0; i < 3; i++) {
		put_send(i > 0, i == 2 ? 14 : 0, 1);
		put_segment(2, KEY_WHOLE, 0, 0);
		put_ring(3);
		put_recovery();
	}
	/* Headers that the device wants inline, and has not. */
	PUT(&seed, OP_HEADERS, 1);
	for (i = 0; i < 3; i++) {
		put_send(i & 1, i == 2 ? 14 : 0, 1);
		put_segment(2, KEY_WHOLE, 0, 60);
		put_offloads(0, 0, 0, i == 2 ? RNIC_WQE_ETH_INSERT_VLAN : 0);
		put_recovery();
	}
	PUT(&seed, OP_HEADERS, 0);
	/* A runt, and a frame that the port is too small for, with offloads. */
	put_frame(10);
	put_offloads(0, RNIC_WQE_ETH_L4_CSUM, 0, 0);
	put_send(1, 0, 2);
	put_segment(2, KEY_WHOLE, 0, 100);
	put_segment(2, KEY_WHOLE, 0, 100);
	put_offloads(0, RNIC_WQE_ETH_L4_CSUM, 0, 0);
	PUT(&seed, OP_MTU, 100, 0);
	put_frame(200);
	put_offloads(0, RNIC_WQE_ETH_L4_CSUM, 0, 0);
	put_send(0, 0, 2);
	put_segment(3, KEY_WHOLE, 0, 9000);
	put_segment(3, KEY_WHOLE, 0, 9000);
	put_offloads(0, RNIC_WQE_ETH_L4_CSUM, 0, 0);
	fuzz_seed_write(&seed, "refused-wqes-0");

	/* More pieces than a frame has; one more, when it has all of them but that one. */
	for (i = 0; i < 2; i++) {
		seed_begin(0, 0x1a);
		put_send(0, (uint8_t)(i == 0 ? 0 : 2), 40);
		for (unsigned int j = 0; j < 40; j++)
			put_segment(5, KEY_KLM, 990, 20);
		put_ring(3);
		fuzz_seed_write(&seed, "pieces-%u", i);
	}
}

/* The far end takes less than this one sends. */
static void
seed_small_peer(void)
{
	seed_begin(0x40, 0x1a);
	PUT(&seed, OP_MTU, 100, 0);
	put_frame(200);
	put_ring(3);
	fuzz_seed_write(&seed, "small-peer-0");
}

/* ---- Large sends ---- */

static void
put_large(const struct packet *packet, uint16_t bytes, unsigned int pieces)
{
	uint8_t frame[256] = { 0 };
	uint8_t header = (uint8_t)packet_make(frame, packet, 2);

	put_send(0, header, (uint8_t)pieces);
	for (unsigned int i = 0; i < pieces; i++)
		put_segment(3, KEY_WHOLE, 0, bytes);
	PUT(&seed, OP_SQ_BYTES, 0, 7, (uint8_t)(2 + header), 0, header);
	fuzz_put(&seed, frame, header);
}

static void
seed_large(void)
{
	static const uint8_t kinds[] = { 0, 5, 10, 11, 12 };
	unsigned int i;

	for (i = 0; i < sizeof(kinds); i++) {
		/* The second of two is another round's; of a large one also the rest. */
		seed_begin(DP_SQ_FLUSH, 0x1a);
		put_buffers(OP_POST, 4, 8000);
		put_large(&packets[kinds[i]], 8000, 1);
		put_offloads(1, 0, 100, 0);
		PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RDY | RNIC_WQ_STATE_RST << 2);
		PUT(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
		put_large(&packets[kinds[i]], 1000, 3);
		PUT(&seed, OP_OFFLOADS, 1, 0, 10, 0, 0, 0);
		put_send(2, 0, 0);
		put_send(2, 0, 0);
		PUT(&seed, OP_RING, OP_POLL, 15, OP_POLL, 15);
		fuzz_seed_write(&seed, "large-%u", i);
	}
	/* Too long for the port; without headers; without payload that can be had. */
	seed_begin(DP_SQ_FLUSH, 0x1a);
	put_large(&packets[5], 9000, 2);
	put_offloads(1, 0, 9999, 0);
	put_recovery();
	put_large(&packets[5], 0, 1);
	put_offloads(1, 0, 100, 0);
	put_recovery();
	put_frame(60);
	put_offloads(1, 0, 100, 0);
	fuzz_seed_write(&seed, "refused-large-0");
}

/* ---- Keys ---- */

static void
put_key(enum wqe_key which, uint8_t what, uint16_t bytes, enum wqe_key other)
{
	PUT(&seed, OP_KEY, (uint8_t)which, what);
	fuzz_put_u16(&seed, bytes);
	fuzz_put_u8(&seed, (uint8_t)other);
}

static void
put_use(enum wqe_key key, uint16_t offset, uint16_t bytes)
{
	put_single(5, key, offset, bytes);
	put_ring(3);
	put_recovery();
}

static void
seed_keys(void)
{
	seed_begin(DP_SQ_FLUSH, 0x1a);
	put_use(KEY_KLM, 1500, 1000);
	/* Less than its pages; pages that may not be read, or are not there. */
	put_key(KEY_FLAT, RNIC_MKEY_MTT, 5000, 0);
	put_use(KEY_FLAT, 100, 4800);
	put_key(KEY_FLAT, RNIC_MKEY_MTT | 0x30, 5000, 0);
	put_use(KEY_FLAT, 100, 4800);
	put_use(KEY_FLAT, 100, 800);
	put_key(KEY_FLAT, RNIC_MKEY_KSM, 8000, KEY_WHOLE);
	put_use(KEY_FLAT, 4000, 3000);
	put_key(KEY_FLAT, RNIC_MKEY_KLM, 8000, KEY_WHOLE);
	put_use(KEY_FLAT, 3900, 500);
	put_use(KEY_FLAT, 5000, 500);
	put_key(KEY_FLAT, RNIC_MKEY_KLM, 4000, KEY_RESERVED);
	put_use(KEY_FLAT, 100, 500);
	fuzz_seed_write(&seed, "keys-0");

	/* Deeper than keys may lead through keys. */
	seed_begin(DP_SQ_FLUSH, 0x1a);
	put_key(KEY_READ, RNIC_MKEY_KLM, 2000, KEY_NESTED);
	put_use(KEY_READ, 0, 100);
	put_key(KEY_WHOLE, RNIC_MKEY_KLM, 2000, KEY_READ);
	put_use(KEY_WHOLE, 0, 100);
	put_key(KEY_FLAT, RNIC_MKEY_KLM, 2000, KEY_WHOLE);
	put_use(KEY_FLAT, 0, 100);
	fuzz_seed_write(&seed, "keys-1");

	/* What a receive WQE may not be. */
	seed_begin(0, 0x1a);
	PUT(&seed, OP_POST, 1);
	put_segment(5, KEY_RESERVED, 0, 8000);
	put_single(5, KEY_FLAT, 0, 100);
	put_ring(3);
	fuzz_seed_write(&seed, "keys-2");
}

/* ---- Doorbells, and a CQ that nobody empties ---- */

static void
put_register(uint32_t offset, uint8_t bytes)
{
	fuzz_put_u8(&seed, OP_BAR);
	fuzz_put_u16(&seed, (uint16_t)offset);
	PUT(&seed, bytes, 1, 2, 3, 4, 5, 6, 7, 8);
}

static void
seed_doorbells(void)
{
	static const uint32_t registers[] = { RNIC_UAR_CQ_ARM,
					      RNIC_UAR_EQ_ARM,
					      RNIC_UAR_EQ_UPDATE,
					      RNIC_UAR_BLUEFLAME,
					      RNIC_UAR_BLUEFLAME + RNIC_BF_HALF_BYTES,
					      0x100 };
	unsigned int i, page;

	seed_begin(0, 0x1a);
	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (page = 0; page < 2; page++) {
			put_register(page * RNIC_UAR_PAGE_BYTES + registers[i], 8);
			put_register(page * RNIC_UAR_PAGE_BYTES + registers[i], 4);
			put_register(page * RNIC_UAR_PAGE_BYTES + registers[i] + 4, 4);
		}
		put_register(registers[i] + 1, 4);
	}
	for (i = 0; i < 4; i++)
		PUT(&seed, OP_CQ_RECORD, (uint8_t)(2 | (i & 1) | i << 2), 0, 0, 0, 0, 0, 0, 0, 0,
		    OP_POLL, 15);
	fuzz_seed_write(&seed, "doorbells-0");

	seed_begin(0, 2);
	put_buffers(OP_POST, 8, 8000);
	for (i = 0; i < 9; i++) {
		put_frame(60);
		put_offloads(8, 0, 0, 0);
		if (i == 7)
			put_buffers(OP_POST, 1, 8000);
	}
	fuzz_seed_write(&seed, "full-cq-0");
}

void
fuzz_seeds_write(void)
{
	static const uint8_t pools[] = { 0x00, 0x0c, 0x4b, 0x10, 0x28, 0x38, 0x74 };
	unsigned int i;

	for (i = 0; i < 8; i++)
		seed_traffic((uint8_t)(1u << i | DP_SQ_MULTI_PACKET | DP_SQ_RLKY),
			     (uint8_t)(2 | i << 3), (enum wqe_key)(i % KEYS));
	seed_traffic(DP_SQ_MULTI_PACKET, 7, KEY_WHOLE);
	for (i = 0; i < ISLANDS + 5; i++)
		seed_gone(i);
	seed_headers();
	seed_offloads();
	seed_packets();
	for (i = 0; i < sizeof(pools); i++)
		seed_pool(pools[i]);
	seed_refusals();
	seed_refused_wqes();
	seed_small_peer();
	seed_large();
	seed_keys();
	seed_doorbells();
}
