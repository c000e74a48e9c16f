/* SPDX-License-Identifier: BSD-3-Clause */

/* What queue pairs do when all is well: each operation, its bytes at the other end, its completions. */
#include <stdlib.h>

#include "driver/counter.h"
#include "driver/reg.h"
#include "qp_world.h"
/* Bytes on the wire, which no register counts by themselves. */
#include "softrnic/base/device.h"

#define MTU 1024u

static const struct qw_conf loop_conf = { .pair = false };

static int
setup_loop(void **state)
{
	return qw_setup(state, &loop_conf, NULL);
}

static const uint32_t sizes[] = {
	0, 1, 63, 64, 65, MTU - 1, MTU, MTU + 1, 3 * MTU, 5 * MTU + 7, 1u << 20,
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Fill the source, mark the destination; both stand askew, one byte before and behind may not change. */
#define ASKEW 3
static void
prepare(uint8_t *from, uint8_t *to, uint32_t bytes, uint32_t seed)
{
	qw_fill(from, bytes + 2 * ASKEW, seed);
	memset(to, 0, bytes + 2 * ASKEW);
}

static void
check(const uint8_t *from, const uint8_t *to, uint32_t bytes)
{
	assert_memory_equal(to + ASKEW, from + ASKEW, bytes);
	assert_int_equal(to[ASKEW - 1], 0);
	assert_int_equal(to[ASKEW + bytes], 0);
}

static void
expect_done(struct qw_two *two, uint16_t counter, uint8_t opcode, uint32_t byte_count)
{
	const struct rnic_cqe *cqe = qw_done(two, counter);

	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) >> 24, opcode);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), byte_count);
	qw_expect_nothing(&two->a_send);
}

/* ---- Bytes ---- */

static void
test_write(void **state)
{
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < SIZES; i++) {
		prepare(two->out, two->in, sizes[i], i);
		qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out + ASKEW, sizes[i], two->in + ASKEW);
		expect_done(two, (uint16_t)i, RNIC_WQE_RDMA_WRITE, 0);
		check(two->out, two->in, sizes[i]);
		qw_expect_nothing(&two->b_recv);
	}
}

static void
test_read(void **state)
{
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < SIZES; i++) {
		prepare(two->in, two->out, sizes[i], i);
		qw_execute(two, RNIC_WQE_RDMA_READ, two->out + ASKEW, sizes[i], two->in + ASKEW);
		expect_done(two, (uint16_t)i, RNIC_WQE_RDMA_READ, sizes[i]);
		check(two->in, two->out, sizes[i]);
	}
}

/* SEND, or WRITE with immediate, of each size into a receive WQE. */
static void
messages(struct qw_two *two, uint8_t opcode, enum rnic_cqe_opcode arrives)
{
	bool write = opcode == RNIC_WQE_RDMA_WRITE_IMM, immediate = opcode != RNIC_WQE_SEND;
	struct rnic_wqe_ctrl *ctrl;
	const struct rnic_cqe *cqe;

	for (uint32_t i = 0; i < SIZES; i++) {
		prepare(two->out, two->in, sizes[i], i);
		qw_recv(&two->b, write ? two->in + QW_BUFFER : two->in + ASKEW,
			write ? 16 : sizes[i] + 1);
		ctrl = qw_wqe(&two->a, opcode, two->out + ASKEW, sizes[i], two->in + ASKEW,
			      two->b.end->key, RNIC_WQE_CE_ALWAYS);
		ctrl->immediate = rnic_cpu_to_be32(0xfeed0000 | i);
		qw_go(two);
		expect_done(two, (uint16_t)i, opcode, 0);
		cqe = qw_expect(&two->b_recv, arrives, (uint16_t)i, two->b.qpn);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), sizes[i]);
		assert_int_equal(rnic_be32_to_cpu(cqe->immediate), immediate ? 0xfeed0000 | i : 0);
		qw_expect_nothing(&two->b_recv);
		check(two->out, two->in, sizes[i]);
	}
}

static void
test_send(void **state)
{
	messages(*state, RNIC_WQE_SEND, RNIC_CQE_RESPONDER_SEND);
}

static void
test_send_immediate(void **state)
{
	messages(*state, RNIC_WQE_SEND_IMM, RNIC_CQE_RESPONDER_SEND_IMM);
}

static void
test_write_immediate(void **state)
{
	messages(*state, RNIC_WQE_RDMA_WRITE_IMM, RNIC_CQE_RESPONDER_WRITE_IMM);
}

/* Every MTU cuts the message elsewhere. */
static void
test_each_mtu(void **state)
{
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();

	for (uint32_t mtu = RNIC_QP_MTU_256; mtu <= RNIC_QP_MTU_4096; mtu++) {
		const uint32_t bytes = 3 * RNIC_QP_MTU_BYTES(mtu) + 5;
		uint64_t packets = dp_stats(&two->qw.ends[0]->dp).tx_packets;

		attr.mtu = (enum rnic_qp_mtu)mtu;
		qw_two_reconnect(two, &attr);
		prepare(two->out, two->in, bytes, mtu);
		qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out + ASKEW, bytes, two->in + ASKEW);
		expect_done(two, 0, RNIC_WQE_RDMA_WRITE, 0);
		check(two->out, two->in, bytes);
		/* Four of the message; on a loop the ACK is the same device's. */
		assert_int_equal(dp_stats(&two->qw.ends[0]->dp).tx_packets - packets,
				 two->qw.ends[0] == two->qw.ends[1] ? 5 : 4);
	}
}

/* An inline segment at `ds` with these bytes, which may go round the ring's end. */
static void
put_inline(struct qw_qp *qp, uint32_t ds, const uint8_t *data, uint32_t bytes)
{
	struct rnic_be32 header = rnic_cpu_to_be32(RNIC_WQE_INLINE | bytes);
	const uint8_t *head = (const uint8_t *)&header;

	for (uint32_t i = 0; i < 4 + bytes; i++) {
		uint8_t *at = dp_wqe_at(&qp->sq, ds + i / RNIC_WQE_DS_BYTES);

		at[i % RNIC_WQE_DS_BYTES] = i < 4 ? head[i] : data[i - 4];
	}
}

/* So many that the ring goes round, with WQEs of up to 16 blocks over its end. */
static void
test_inline(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 11, 12, 13, 27, 28, 100, 500, 972 };
	struct qw_two *two = *state;
	uint16_t counter = 0;

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t bytes = lengths[i % 10], ds = 2 + (4 + bytes + 15) / 16;
		struct rnic_wqe_raddr *raddr;

		prepare(two->out, two->in, bytes, i);
		dp_wqe(&two->a.sq, RNIC_WQE_RDMA_WRITE, ds, RNIC_WQE_CE_ALWAYS);
		raddr = dp_wqe_at(&two->a.sq, 1);
		raddr->address = rnic_cpu_to_be64((uintptr_t)two->in + ASKEW);
		raddr->rkey = rnic_cpu_to_be32(two->b.end->key);
		put_inline(&two->a, 2, two->out + ASKEW, bytes);
		qw_go(two);
		expect_done(two, counter, RNIC_WQE_RDMA_WRITE, 0);
		check(two->out, two->in, bytes);
		counter = (uint16_t)(counter + (ds + 3) / 4);
	}
}

/* Once it is handed over and copied, the ring is the driver's to spoil: the wire loses nothing, the copy is the message. */
static void
test_inline_is_copied_once(void **state)
{
	struct qw_two *two = *state;
	uint8_t *wqe;

	prepare(two->out, two->in, 64, 1);
	qw_recv(&two->b, two->in + ASKEW, 64);
	dp_wqe(&two->a.sq, RNIC_WQE_SEND, 6, RNIC_WQE_CE_ALWAYS);
	put_inline(&two->a, 1, two->out + ASKEW, 64);
	/* Fetched without being sent. */
	qw_qp_to(&two->a, RNIC_CMD_RTS2SQD_QP);
	qw_go(two);
	qw_expect_nothing(&two->a_send);
	wqe = two->a.sq.ring;
	memset(wqe, 0xee, 128);
	qw_qp_to(&two->a, RNIC_CMD_SQD_RTS_QP);
	qw_run(&two->qw);
	expect_done(two, 0, RNIC_WQE_SEND, 0);
	check(two->out, two->in, 64);
}

/* Segments of odd lengths on both sides, borders of segments and packets nowhere together. */
static void
test_segments(void **state)
{
	static const uint32_t from[] = { 1, 999, 24, 2000, 3, 700 };
	static const uint32_t to[] = { 500, 1, 1023, 3000 };
	const uint32_t bytes = 1 + 999 + 24 + 2000 + 3 + 700;
	struct qw_two *two = *state;
	struct rnic_wqe_data *segment = (struct rnic_wqe_data *)two->b.rq.ring;
	uint8_t *at = two->out, message[1 + 999 + 24 + 2000 + 3 + 700], *m = message;

	qw_fill(two->out, 10000, 5);
	memset(two->in, 0, 10000);
	dp_wqe(&two->a.sq, RNIC_WQE_SEND, 7, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < 6; i++) {
		qw_segment(&two->a, 1 + i, two->a.end->key, at, from[i]);
		memcpy(m, at, from[i]);
		m += from[i];
		at += from[i] + 17;
	}
	at = two->in;
	for (uint32_t i = 0; i < 4; i++) {
		segment[i].byte_count = rnic_cpu_to_be32(to[i]);
		segment[i].lkey = rnic_cpu_to_be32(two->b.end->key);
		segment[i].address = rnic_cpu_to_be64((uintptr_t)at);
		at += to[i] + 9;
	}
	two->b.rq.producer++;
	dp_rq_record(&two->b.rq);
	qw_go(two);
	expect_done(two, 0, RNIC_WQE_SEND, 0);
	assert_int_equal(
		rnic_be32_to_cpu(qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn)
					 ->byte_count),
		bytes);
	at = two->in;
	m = message;
	for (uint32_t i = 0, left = bytes; i < 4; i++) {
		uint32_t n = to[i] < left ? to[i] : left;

		assert_memory_equal(at, m, n);
		m += n;
		left -= n;
		assert_int_equal(at[n], 0);
		at += to[i] + 9;
	}
}

/* A READ's answer goes over several segments of the requester. */
static void
test_read_into_segments(void **state)
{
	struct qw_two *two = *state;

	qw_fill(two->in, 5000, 8);
	memset(two->out, 0, 10000);
	qw_wqe(&two->a, RNIC_WQE_RDMA_READ, two->out, 1, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	/* Two more segments behind the one that is there. */
	two->a.sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(two->a.qpn, 5));
	qw_segment(&two->a, 2, two->a.end->key, two->out, 1500);
	qw_segment(&two->a, 3, two->a.end->key, two->out + 3000, 7);
	qw_segment(&two->a, 4, two->a.end->key, two->out + 4000, 3493);
	two->a.sq.producer++;
	qw_go(two);
	expect_done(two, 0, RNIC_WQE_RDMA_READ, 5000);
	assert_memory_equal(two->out, two->in, 1500);
	assert_memory_equal(two->out + 3000, two->in + 1500, 7);
	assert_memory_equal(two->out + 4000, two->in + 1507, 3493);
	assert_int_equal(two->out[1500] | two->out[3007] | two->out[7493], 0);
}

/* Keys whose pages lie in any order: packets go over their borders on both sides. */
static void
test_scattered_pages(void **state)
{
	struct qw_two *two = *state;
	enum { PAGES = 8, BYTES = PAGES * 4096 };
	uint8_t *from = dp_alloc(&two->a.end->dp, BYTES, 4096);
	uint8_t *to = dp_alloc(&two->b.end->dp, BYTES, 4096);
	void *from_pages[PAGES], *to_pages[PAGES];
	struct qw_key_conf conf = { .start = (void *)(uintptr_t)0x10000123,
				    .length = BYTES - 0x123 };
	const uint32_t bytes = BYTES - 0x123 - 100;
	uint32_t from_key, to_key;

	for (uint32_t i = 0; i < PAGES; i++) {
		from_pages[i] = from + (size_t)(i * 5 % PAGES) * 4096;
		to_pages[i] = to + (size_t)(i * 3 % PAGES) * 4096;
	}
	conf.pages = from_pages;
	from_key = qw_key(two->a.end, &conf);
	conf.pages = to_pages;
	conf.access = DRV_LW | DRV_RW;
	to_key = qw_key(two->b.end, &conf);
	assert_true(from_key != 0 && to_key != 0);
	qw_fill(from, BYTES, 3);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, conf.start, bytes, (uint8_t *)conf.start + 77, to_key,
	       RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, from_key, conf.start, bytes);
	qw_go(two);
	expect_done(two, 0, RNIC_WQE_RDMA_WRITE, 0);
	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t f = 0x123 + i, t = f + 77;

		assert_int_equal(((uint8_t *)to_pages[t / 4096])[t % 4096],
				 ((uint8_t *)from_pages[f / 4096])[f % 4096]);
	}
}

/* ---- Atomics ---- */

static void
atomic(struct qw_two *two, uint8_t opcode, uint64_t swap_add, uint64_t compare, uint64_t *target)
{
	struct rnic_wqe_atomic *operands;

	qw_wqe(&two->a, opcode, two->out, 8, target, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	operands = dp_wqe_at(&two->a.sq, 2);
	operands->swap_add = rnic_cpu_to_be64(swap_add);
	operands->compare = rnic_cpu_to_be64(compare);
	qw_go(two);
}

/* In the order of bytes of this CPU, on both sides. */
static void
test_atomics(void **state)
{
	struct qw_two *two = *state;
	uint64_t *target = (uint64_t *)two->in, *original = (uint64_t *)two->out;

	*target = UINT64_C(0x0102030405060708);
	atomic(two, RNIC_WQE_ATOMIC_FA, 0x10, 0, target);
	expect_done(two, 0, RNIC_WQE_ATOMIC_FA, 8);
	assert_true(*original == UINT64_C(0x0102030405060708));
	assert_true(*target == UINT64_C(0x0102030405060718));

	atomic(two, RNIC_WQE_ATOMIC_FA, UINT64_MAX, 0, target);
	expect_done(two, 1, RNIC_WQE_ATOMIC_FA, 8);
	assert_true(*target == UINT64_C(0x0102030405060717));

	atomic(two, RNIC_WQE_ATOMIC_CS, 5, 4, target);
	expect_done(two, 2, RNIC_WQE_ATOMIC_CS, 8);
	assert_true(*original == UINT64_C(0x0102030405060717));
	assert_true(*target == UINT64_C(0x0102030405060717));

	atomic(two, RNIC_WQE_ATOMIC_CS, 5, UINT64_C(0x0102030405060717), target);
	expect_done(two, 3, RNIC_WQE_ATOMIC_CS, 8);
	assert_true(*original == UINT64_C(0x0102030405060717));
	assert_true(*target == 5);
}

/* ---- Completions ---- */

/* All that a CQE says, and zeros elsewhere. */
static void
test_cqe_fields(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_cqe *cqe;
	struct rnic_wqe_ctrl *ctrl;
	struct rnic_cqe expected;

	qw_recv(&two->b, two->in, 100);
	ctrl = qw_wqe(&two->a, RNIC_WQE_SEND_IMM, two->out, 10, NULL, 0,
		      RNIC_WQE_CE_ALWAYS | RNIC_WQE_SE);
	ctrl->immediate = rnic_cpu_to_be32(0x11223344);
	qw_go(two);

	cqe = qw_done(two, 0);
	assert_int_not_equal(cqe->timestamp.raw, 0);
	expected = (struct rnic_cqe){
		.srqn_user_index = RNIC_BE32(QW_USER_INDEX),
		.timestamp = cqe->timestamp,
		.sop_drop_qpn = RNIC_BE32(RNIC_WQE_SEND_IMM << 24 | two->a.qpn),
		.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER, 0),
	};
	assert_memory_equal(cqe, &expected, sizeof(expected));

	cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND_IMM, 0, two->b.qpn);
	assert_int_not_equal(cqe->timestamp.raw, 0);
	expected = (struct rnic_cqe){
		.flags_rqpn = RNIC_BE32(two->a.qpn),
		.srqn_user_index = RNIC_BE32(QW_USER_INDEX),
		.immediate = RNIC_BE32(0x11223344),
		.byte_count = RNIC_BE32(10),
		.timestamp = cqe->timestamp,
		.sop_drop_qpn = RNIC_BE32(two->b.qpn),
		.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_RESPONDER_SEND_IMM, 0) | 2,
	};
	assert_memory_equal(cqe, &expected, sizeof(expected));
}

/* Of both ends: a queue pair has the clock that it asks for, if the card has it. */
static void
test_times_are_of_the_clock_that_is_asked_for(void **state)
{
	static const struct {
		const char *like;
		enum rnic_ts_format format;
		bool utc;
	} cases[] = {
		{ "realtime", RNIC_TS_FORMAT_DEFAULT, true },
		{ "cx6dx", RNIC_TS_FORMAT_FREE_RUNNING, false },
		{ "cx6dx", RNIC_TS_FORMAT_DEFAULT, false },
		{ "cx6dx", RNIC_TS_FORMAT_REAL_TIME, true },
		{ "default", RNIC_TS_FORMAT_REAL_TIME, false }, /* reserved: not looked at */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct qw_conf conf = { .like = cases[i].like, .ts_format = cases[i].format };
		const bool utc = cases[i].utc;
		const struct rnic_cqe *cqe;
		uint64_t before, after;
		struct qw_two *two;
		void *world;

		qw_setup(&world, &conf, NULL);
		two = world;
		before = dp_clock(&two->qw.ends[0]->dp, utc);
		qw_recv(&two->b, two->in, 100);
		qw_execute(two, RNIC_WQE_SEND, two->out, 10, NULL);
		after = dp_clock(&two->qw.ends[0]->dp, utc);
		cqe = qw_done(two, 0);
		assert_in_range(dp_cqe_time(cqe, utc), before, after);
		cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
		assert_in_range(dp_cqe_time(cqe, utc), before, after);
		qw_teardown(&world);
	}
}

/* Those that ask for none have none; those behind them complete for them. */
static void
test_unsignaled(void **state)
{
	static const uint8_t quiet[] = { RNIC_WQE_CE_ON_ERROR, RNIC_WQE_CE_ON_FIRST_ERROR };
	struct qw_two *two = *state;

	qw_fill(two->out, 400, 1);
	for (uint32_t i = 0; i < 4; i++)
		qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out + i * 100, 100, two->in + i * 100,
		       two->b.end->key, i == 3 ? RNIC_WQE_CE_ALWAYS : quiet[i % 2]);
	qw_go(two);
	expect_done(two, 3, RNIC_WQE_RDMA_WRITE, 0);
	assert_memory_equal(two->in, two->out, 400);
}

/* The solicited bit: of a SEND and of a WRITE with immediate at the peer, and of a WQE that asks for an event here. */
static void
test_solicited(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_cqe *cqe;

	for (uint32_t i = 0; i < 3; i++)
		qw_recv(&two->b, two->in, 100);
	qw_wqe(&two->a, RNIC_WQE_SEND, two->out, 1, NULL, 0, RNIC_WQE_CE_ALWAYS | RNIC_WQE_SE);
	qw_wqe(&two->a, RNIC_WQE_SEND, two->out, 1, NULL, 0, RNIC_WQE_CE_ALWAYS);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE_IMM, two->out, 1, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS_EVENT | RNIC_WQE_SE);
	qw_go(two);
	for (uint16_t i = 0; i < 3; i++) {
		cqe = qw_expect(&two->b_recv,
				i == 2 ? RNIC_CQE_RESPONDER_WRITE_IMM : RNIC_CQE_RESPONDER_SEND, i,
				two->b.qpn);
		assert_int_equal(cqe->op_own & 2, i == 1 ? 0 : 2);
		cqe = qw_done(two, i);
		assert_int_equal(cqe->op_own & 2, i == 2 ? 2 : 0);
	}
}

static void
test_nop(void **state)
{
	struct qw_two *two = *state;
	uint64_t packets = dp_stats(&two->qw.ends[0]->dp).tx_packets;

	dp_wqe(&two->a.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	expect_done(two, 0, RNIC_WQE_NOP, 0);
	assert_int_equal(dp_stats(&two->qw.ends[0]->dp).tx_packets, packets);
}

/* A WRITE of what a READ brings: with a fence the new bytes, without one the old ones. */
static void
fence(struct qw_two *two, uint8_t fm, uint8_t expected)
{
	two->out[0] = 1;
	two->in[0] = 2;
	two->in[1] = 0;
	qw_wqe(&two->a, RNIC_WQE_RDMA_READ, two->out, 1, two->in, two->b.end->key,
	       RNIC_WQE_CE_ON_ERROR);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 1, two->in + 1, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS | fm);
	qw_go(two);
	qw_done(two, (uint16_t)(two->a.sq.producer - 1));
	assert_int_equal(two->in[1], expected);
}

static void
test_fence(void **state)
{
	fence(*state, RNIC_WQE_FM_FENCE, 2);
	fence(*state, 0, 1);
	fence(*state, 0x20, 1);
	fence(*state, 0x60, 2);
	fence(*state, 0x80, 2);
}

/* ---- Ways ---- */

/* Frames as they would be on Ethernet, IPv4 and IPv6, padded to 4 bytes, with ICRC. */
static void
count_bytes(bool ipv6, uint32_t ip_bytes)
{
	struct qw_conf conf = { .pair = true, .ipv6 = ipv6 };
	struct qw_two *two = qw_two_open(&conf);
	struct qw_attr attr = qw_attr();
	struct softrnic_port_counters *a, *b;

	qw_two_connect(two, &attr);
	a = &two->qw.ends[0]->dp.dev->port.counters;
	b = &two->qw.ends[1]->dp.dev->port.counters;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 5, two->in);
	expect_done(two, 0, RNIC_WQE_RDMA_WRITE, 0);
	assert_int_equal(a->tx_rdma_packets[0], 1);
	assert_int_equal(a->tx_rdma_bytes[0], 14 + ip_bytes + 8 + 12 + 16 + 8 + 4);
	assert_int_equal(b->rx_rdma_packets[0], 1);
	assert_int_equal(b->rx_rdma_bytes[0], a->tx_rdma_bytes[0]);
	assert_int_equal(b->tx_rdma_packets[0], 1);
	assert_int_equal(b->tx_rdma_bytes[0], 14 + ip_bytes + 8 + 12 + 4 + 4);
	assert_int_equal(a->rx_rdma_bytes[0], b->tx_rdma_bytes[0]);
	qw_two_close(two);
}

static void
test_counted_as_frames(void **state)
{
	(void)state;
	count_bytes(false, 20);
	count_bytes(true, 40);
}

/* RoCE is no Ethernet traffic of the vport's, it is RDMA traffic; on the cable both are frames. */
static void
test_counters_of_vport_and_port(void **state)
{
	struct qw_two *two = *state;
	struct drv *drv = &two->a.end->dp.drv;
	struct rnic_vport_counters counters;
	struct rnic_ppcnt_reg port;

	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 3000, two->in);
	expect_done(two, 0, RNIC_WQE_RDMA_WRITE, 0);
	assert_int_equal(drv_vport_counter_query(drv, false, &counters), 0);
#define COUNTER(name) rnic_vport_counters_get(&counters, RNIC_VPORT_COUNTERS_##name)
	assert_int_equal(COUNTER(TRANSMITTED_IB_UNICAST_PACKETS), 3);
	assert_int_equal(COUNTER(TRANSMITTED_IB_UNICAST_OCTETS),
			 3000 + 16 + 3 * (14 + 20 + 8 + 12 + 4));
	assert_int_equal(COUNTER(RECEIVED_IB_UNICAST_PACKETS), 1);
	assert_int_equal(COUNTER(RECEIVED_IB_UNICAST_OCTETS), 14 + 20 + 8 + 12 + 4 + 4);
	assert_int_equal(COUNTER(TRANSMITTED_ETH_UNICAST_PACKETS), 0);
	assert_int_equal(COUNTER(TRANSMITTED_ETH_UNICAST_OCTETS), 0);
	assert_int_equal(COUNTER(RECEIVED_ETH_UNICAST_PACKETS), 0);
	assert_int_equal(COUNTER(RECEIVED_ETH_UNICAST_OCTETS), 0);
#undef COUNTER
	for (unsigned int i = 0; i < 2; i++) {
		port = (struct rnic_ppcnt_reg){ 0 };
		rnic_ppcnt_reg_set(&port, RNIC_PPCNT_REG_LOCAL_PORT, 1);
		rnic_ppcnt_reg_set(&port, RNIC_PPCNT_REG_CLR, 1);
		assert_int_equal(drv_reg_read(drv, RNIC_REG_PPCNT, &port, sizeof(port)), 0);
		assert_int_equal(rnic_ppcnt_reg_get(&port, RNIC_PPCNT_REG_A_FRAMES_TRANSMITTED_OK),
				 i == 0 ? 3 : 0);
		assert_int_equal(rnic_ppcnt_reg_get(&port, RNIC_PPCNT_REG_A_FRAMES_RECEIVED_OK),
				 i == 0 ? 1 : 0);
	}
}

/* Headers by operation: of what a sends, and of what b answers; three packets of a long message. */
static void
test_bytes_of_each_operation(void **state)
{
	static const struct {
		uint8_t opcode;
		uint16_t bytes;		 /* of the message */
		uint16_t sends, answers; /* bytes beside the frames' fixed ones, padding included */
		uint8_t packets, answer_packets;
	} rows[] = {
		{ RNIC_WQE_SEND, 1, 4, 4, 1, 1 },
		{ RNIC_WQE_SEND, 2049, 2048 + 4, 4, 3, 1 },
		{ RNIC_WQE_SEND_IMM, 1, 4 + 4, 4, 1, 1 },
		{ RNIC_WQE_SEND_IMM, 2049, 2048 + 4 + 4, 4, 3, 1 },
		{ RNIC_WQE_RDMA_WRITE, 0, 16, 4, 1, 1 },
		{ RNIC_WQE_RDMA_WRITE, 2049, 16 + 2048 + 4, 4, 3, 1 },
		{ RNIC_WQE_RDMA_WRITE_IMM, 4, 16 + 4 + 4, 4, 1, 1 },
		{ RNIC_WQE_RDMA_WRITE_IMM, 2049, 16 + 2048 + 4 + 4, 4, 3, 1 },
		{ RNIC_WQE_RDMA_READ, 3, 16, 4 + 4, 1, 1 },
		{ RNIC_WQE_RDMA_READ, 2049, 16, 4 + 2048 + 4 + 4, 1, 3 },
		{ RNIC_WQE_ATOMIC_CS, 8, 28, 12, 1, 1 },
		{ RNIC_WQE_ATOMIC_FA, 8, 28, 12, 1, 1 },
	};
	const uint32_t fixed = 14 + 20 + 8 + 12 + 4;
	struct qw_two *two = *state;
	struct softrnic_port_counters *a = &two->qw.ends[0]->dp.dev->port.counters;
	struct softrnic_port_counters *b = &two->qw.ends[1]->dp.dev->port.counters;

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t a_bytes = a->tx_rdma_bytes[0], b_bytes = b->tx_rdma_bytes[0];

		if (rows[i].opcode == RNIC_WQE_SEND || rows[i].opcode == RNIC_WQE_SEND_IMM ||
		    rows[i].opcode == RNIC_WQE_RDMA_WRITE_IMM)
			qw_recv(&two->b, two->in, 4096);
		qw_execute(two, rows[i].opcode, two->out, rows[i].bytes, two->in);
		assert_non_null(dp_cq_next(&two->a_send));
		assert_int_equal(a->tx_rdma_bytes[0] - a_bytes,
				 rows[i].packets * fixed + rows[i].sends);
		assert_int_equal(b->tx_rdma_bytes[0] - b_bytes,
				 rows[i].answer_packets * fixed + rows[i].answers);
		assert_int_equal(b->rx_rdma_bytes[0], a->tx_rdma_bytes[0]);
		assert_int_equal(a->rx_rdma_bytes[0], b->tx_rdma_bytes[0]);
	}
}

static void
test_itself(void **state)
{
	struct qw_two *two = qw_two_open(&loop_conf);
	const struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct qw_attr attr = qw_attr();

	(void)state;
	assert_int_equal(qw_qp_create(two->qw.ends[0], &two->a, &conf), 0);
	qw_connect(&two->a, &two->a, &attr);
	qw_fill(two->out, 5000, 1);
	qw_recv(&two->a, two->in, 5000);
	qw_post(&two->a, &two->a, RNIC_WQE_SEND, two->out, 5000, NULL);
	qw_run(&two->qw);
	expect_done(two, 0, RNIC_WQE_SEND, 0);
	qw_expect(&two->a_recv, RNIC_CQE_RESPONDER_SEND, 0, two->a.qpn);
	assert_memory_equal(two->in, two->out, 5000);
	memset(two->in, 0, 5000);
	qw_post(&two->a, &two->a, RNIC_WQE_RDMA_READ, two->in, 5000, two->out);
	qw_run(&two->qw);
	expect_done(two, 1, RNIC_WQE_RDMA_READ, 5000);
	assert_memory_equal(two->in, two->out, 5000);
	qw_two_close(two);
}

/* Each of 1,024 gets its turn, however much its neighbours have to do. */
static void
test_1024(void **state)
{
	enum { PAIRS = 512, EACH = 4096 };
	struct qw_two *two = qw_two_open(&loop_conf);
	struct qw_end *end = two->qw.ends[0];
	const struct dp_cq_conf cq_conf = { .log_size = 12, .uar = 1 };
	struct qw_qp *qps = calloc(2 * (size_t)PAIRS, sizeof(*qps));
	struct qw_attr attr = qw_attr();
	struct qw_qp_conf conf;
	struct dp_cq cq;
	uint32_t done = 0;

	(void)state;
	assert_int_equal(dp_cq_create(&end->dp, &cq, &cq_conf), 0);
	attr.mtu = RNIC_QP_MTU_4096;
	conf = (struct qw_qp_conf){ .send_cq = &cq, .recv_cq = &cq, .log_sq = 2, .no_rq = true };
	for (uint32_t i = 0; i < 2 * PAIRS; i++)
		assert_int_equal(qw_qp_create(end, &qps[i], &conf), 0);
	qw_fill(two->out, EACH * PAIRS, 9);
	/* All of them have work at the same moment: it waits for their state. */
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct qw_qp *qp = &qps[2 * i];

		qw_post(qp, qp, RNIC_WQE_RDMA_WRITE, two->out + i * EACH, EACH, two->in + i * EACH);
		qw_connect(qp, qp + 1, &attr);
	}
	/* No poll takes long: a command may be waiting. */
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t before = end->dp.dev->port.counters.tx_rdma_bytes[0];

		softrnic_poll(two->qw.poller);
		assert_true(end->dp.dev->port.counters.tx_rdma_bytes[0] - before < (768u << 10));
	}
	qw_run(&two->qw);
	while (dp_cq_next(&cq) != NULL)
		done++;
	assert_int_equal(done, PAIRS);
	assert_memory_equal(two->in, two->out, EACH * PAIRS);
	for (uint32_t i = 0; i < 2 * PAIRS; i++)
		assert_int_equal(qw_qp_destroy(&qps[i]), 0);
	free(qps);
	qw_two_close(two);
}

#define setup_pair qw_setup_pair
#define ON(wire, test)                                                    \
	{                                                                 \
#test "_on_" #wire, test, setup_##wire, qw_teardown, NULL \
	}
#define BOTH(test) ON(loop, test), ON(pair, test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_write),
		BOTH(test_read),
		BOTH(test_send),
		BOTH(test_send_immediate),
		BOTH(test_write_immediate),
		BOTH(test_each_mtu),
		BOTH(test_inline),
		ON(pair, test_inline_is_copied_once),
		BOTH(test_segments),
		BOTH(test_read_into_segments),
		BOTH(test_scattered_pages),
		BOTH(test_atomics),
		BOTH(test_cqe_fields),
		cmocka_unit_test(test_times_are_of_the_clock_that_is_asked_for),
		BOTH(test_unsignaled),
		BOTH(test_solicited),
		BOTH(test_nop),
		BOTH(test_fence),
		cmocka_unit_test(test_counted_as_frames),
		ON(pair, test_bytes_of_each_operation),
		ON(pair, test_counters_of_vport_and_port),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_1024),
	};

	return cmocka_run_group_tests_name("qp_ops", tests, NULL, NULL);
}
