/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lists of keys, whose entries may be as short as a byte and lead through other lists: how long a way one access, one WQE,
 * one frame and one round may have. What is legal works, whatever the length of the entries; what is too long fails by
 * its length; what is long takes several rounds, and loses nothing.
 */
#include <stdlib.h>

#include "qp_world.h"
/* How deep lists may lead. */
#include "softrnic/memory/tpt.h"

#define DEEP	   SOFTRNIC_MAX_INDIRECTION
#define LIST	   16384u
#define ACCESS	   4096u	   /* entries, at all depths together */
#define WQE	   16384u	   /* ... */
#define BYTES	   (ACCESS / DEEP) /* with which an access takes so many of them */
#define HEADERS	   54		   /* Ethernet, IPv4, TCP */
#define RQ_LOG	   7
#define RQ_STRIDE  9
#define RQ_ENTRIES 32u /* segments of a receive WQE */

struct fixture {
	struct qw_two *two;
	struct dp *a, *b;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
};

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = 10, .uar = 1, .ignore_overrun = true };
	const struct qw_conf conf = { .pair = true };
	struct fixture *f = calloc(1, sizeof(*f));
	struct qw_attr attr = qw_attr();

	assert_non_null(f);
	attr.mtu = RNIC_QP_MTU_4096;
	f->two = qw_two_open(&conf);
	qw_two_connect(f->two, &attr);
	f->a = &f->two->a.end->dp;
	f->b = &f->two->b.end->dp;
	assert_int_equal(dp_cq_create(f->a, &f->tx_cq, &cq), 0);
	assert_int_equal(dp_cq_create(f->b, &f->rx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(f->a, &f->sq, &f->tx_cq, 9, 2, DP_SQ_MULTI_PACKET), 0);
	assert_int_equal(dp_rq_create(f->b, &f->rq, &f->rx_cq, RQ_LOG, RQ_STRIDE), 0);
	qw_fill(f->two->out, 1u << 20, 1);
	memcpy(f->two->out, "\x02\0\0\0\0\2\x02\0\0\0\0\1\x88\xb5", 14);
	*state = f;
	return 0;
}

/*
 * As deep as lists may be, each of them of single bytes: byte i is memory[i]. All of them are neighbours, and become one
 * piece: it is not the pieces that end an access.
 */
static uint32_t
deep_key(struct qw_end *end, const void *memory)
{
	struct rnic_klm *entries = calloc(LIST, sizeof(*entries));
	uint64_t address = dp_iova(&end->dp, memory);
	uint32_t key = qw_physical_key(end);

	assert_non_null(entries);
	for (uint32_t depth = 0; depth < DEEP; depth++, address = 0) {
		for (uint32_t i = 0; i < LIST; i++)
			entries[i] = qw_entry(key, address + i, 1);
		key = qw_list_key(end, entries, LIST);
	}
	free(entries);
	return key;
}

/* As storage has it: 512 bytes of data, then 8 that protect them, again and again. */
#define DATA	   512u
#define PROTECTION 8u
#define PAIRS	   128u
#define PROTECTED  (PAIRS * (DATA + PROTECTION))

static uint32_t
protected_key(struct qw_end *end, const uint8_t *data, const uint8_t *protection)
{
	struct rnic_klm entries[2 * PAIRS];

	for (uint32_t i = 0; i < PAIRS; i++) {
		entries[2 * i] = qw_entry(end->key, (uintptr_t)data + i * DATA, DATA);
		entries[2 * i + 1] =
			qw_entry(end->key, (uintptr_t)protection + i * PROTECTION, PROTECTION);
	}
	return qw_list_key(end, entries, 2 * PAIRS);
}

/* Entries of any length are legal: data and protection information, put together and taken apart again. */
static void
test_short_entries_are_legal(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;
	uint8_t *data = two->out, *protection = two->out + PAIRS * DATA + 4096;
	uint8_t *mixed = two->in, *apart = two->in + (1u << 20);
	uint32_t lkey, rkey;

	qw_fill(protection, PAIRS * PROTECTION, 7);
	lkey = protected_key(two->a.end, data, protection);
	rkey = protected_key(two->b.end, apart, apart + (1u << 19));
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, NULL, 1, mixed, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, lkey, NULL, PROTECTED);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, NULL, 1, NULL, rkey, RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, lkey, NULL, PROTECTED);
	qw_go(two);
	qw_done(two, 0);
	qw_done(two, 1);
	for (uint32_t i = 0; i < PAIRS; i++) {
		const uint8_t *at = mixed + i * (DATA + PROTECTION);

		assert_memory_equal(at, data + i * DATA, DATA);
		assert_memory_equal(at + DATA, protection + i * PROTECTION, PROTECTION);
	}
	assert_memory_equal(apart, data, PAIRS * DATA);
	assert_memory_equal(apart + (1u << 19), protection, PAIRS * PROTECTION);
}

/* ---- Limits ---- */

static uint16_t
write_through(struct fixture *f, uint32_t lkey, uint32_t rkey, uint32_t bytes)
{
	const uint16_t counter = f->two->a.sq.producer;

	qw_wqe(&f->two->a, RNIC_WQE_RDMA_WRITE, NULL, 1, rkey != 0 ? NULL : f->two->in,
	       rkey != 0 ? rkey : f->two->b.end->key, RNIC_WQE_CE_ALWAYS);
	qw_segment(&f->two->a, 2, lkey != 0 ? lkey : f->two->a.end->key,
		   lkey != 0 ? NULL : f->two->out, bytes);
	qw_go(f->two);
	return counter;
}

static void
test_a_requester_s_way_has_an_end(void **state)
{
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->a.end, f->two->out);

	qw_done(f->two, write_through(f, key, 0, BYTES));
	assert_memory_equal(f->two->in, f->two->out, BYTES);
	qw_failed(f->two, write_through(f, key, 0, BYTES + 1), RNIC_SYND_LOCAL_LENGTH);
}

static void
test_a_peer_s_way_has_an_end(void **state)
{
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->b.end, f->two->in);

	qw_done(f->two, write_through(f, 0, key, BYTES));
	assert_memory_equal(f->two->in, f->two->out, BYTES);
	qw_failed(f->two, write_through(f, 0, key, BYTES + 1), RNIC_SYND_REMOTE_OPERATION);
}

/* A frame of so many segments, each of so many bytes of the key, from its first one on. */
static void
send_segments(struct fixture *f, uint8_t opcode, uint32_t key, uint32_t segments, uint32_t bytes)
{
	struct rnic_wqe_data *segment;

	dp_wqe(&f->sq, opcode, 2 + segments, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < segments; i++) {
		dp_wqe_data(&f->sq, 2 + i, NULL, bytes);
		segment = dp_wqe_at(&f->sq, 2 + i);
		segment->lkey = rnic_cpu_to_be32(key);
		segment->address = rnic_cpu_to_be64(0);
	}
}

static void
expect_send(struct fixture *f, uint8_t syndrome)
{
	const struct rnic_cqe *cqe;

	dp_sq_ring(&f->sq);
	qw_run(&f->two->qw);
	cqe = dp_cq_next(&f->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->op_own >> 4,
			 syndrome == 0 ? RNIC_CQE_REQUESTER : RNIC_CQE_REQUESTER_ERROR);
	if (syndrome != 0)
		assert_int_equal(((const struct rnic_error_cqe *)cqe)->syndrome, syndrome);
}

/* To RST and RDY again, with everything from the start. */
static void
restart(struct fixture *f)
{
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
	f->sq.producer = 0;
	dp_sq_record(&f->sq);
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

static void
test_a_frame_s_way_has_an_end(void **state)
{
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->a.end, f->two->out);

	send_segments(f, RNIC_WQE_SEND, key, WQE / ACCESS, BYTES);
	expect_send(f, 0);
	assert_int_equal(dp_stats(f->a).tx_packets, 1);
	send_segments(f, RNIC_WQE_SEND, key, 1, BYTES + 1);
	expect_send(f, RNIC_SYND_LOCAL_LENGTH);
	restart(f);
	send_segments(f, RNIC_WQE_SEND, key, WQE / ACCESS + 1, BYTES);
	expect_send(f, RNIC_SYND_LOCAL_LENGTH);
	restart(f);
	/* The same for all packets of a WQE together. */
	send_segments(f, RNIC_WQE_ENHANCED_MPSW, key, WQE / ACCESS, BYTES);
	expect_send(f, 0);
	send_segments(f, RNIC_WQE_ENHANCED_MPSW, key, WQE / ACCESS + 1, BYTES);
	expect_send(f, RNIC_SYND_LOCAL_LENGTH);
	assert_int_equal(dp_stats(f->a).tx_packets, 1 + WQE / ACCESS + WQE / ACCESS);
}

/* ---- Turns and rounds ---- */

/* What was walked through is work: of many such frames a round has few, and the next ones have the others. */
static void
test_ways_end_the_round(void **state)
{
	enum { FRAMES = 20 };
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->a.end, f->two->out);

	for (uint32_t i = 0; i < FRAMES; i++)
		send_segments(f, RNIC_WQE_SEND, key, WQE / ACCESS, BYTES);
	dp_sq_ring(&f->sq);
	softrnic_poll(f->two->qw.poller);
	assert_in_range(dp_stats(f->a).tx_packets, 1, 2);
	qw_run(&f->two->qw);
	assert_int_equal(dp_stats(f->a).tx_packets, FRAMES);
	assert_int_equal(dp_stats(f->a).tx_errors, 0);
}

/* Of queue pairs, too: a turn ends between two packets. */
static void
test_ways_end_a_queue_pair_s_turn(void **state)
{
	enum { WRITES = 50 };
	struct fixture *f = *state;
	uint32_t lkey = deep_key(f->two->a.end, f->two->out);
	uint32_t rkey = deep_key(f->two->b.end, f->two->in);

	for (uint32_t i = 0; i < WRITES; i++) {
		qw_wqe(&f->two->a, RNIC_WQE_RDMA_WRITE, NULL, 1, NULL, rkey, RNIC_WQE_CE_ALWAYS);
		qw_segment(&f->two->a, 2, lkey, NULL, BYTES);
	}
	dp_sq_ring(&f->two->a.sq);
	softrnic_poll(f->two->qw.poller);
	assert_in_range(dp_stats(f->a).tx_packets, 1, 4);
	qw_run(&f->two->qw);
	for (uint16_t i = 0; i < WRITES; i++)
		qw_done(f->two, i);
	assert_memory_equal(f->two->in, f->two->out, BYTES);
}

/* A large send whose payload alone is as far as a round goes: a frame in each. */
static void
test_a_large_send_goes_on(void **state)
{
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->a.end, f->two->out);
	struct rnic_wqe_data *segment;
	struct rnic_wqe_eth *eth;
	uint8_t *header;

	dp_wqe(&f->sq, RNIC_WQE_LSO, 6 + WQE / ACCESS, RNIC_WQE_CE_ALWAYS);
	eth = dp_wqe_at(&f->sq, 1);
	eth->mss = rnic_cpu_to_be16(BYTES);
	eth->inline_header_size = rnic_cpu_to_be16(HEADERS);
	header = (uint8_t *)eth + offsetof(struct rnic_wqe_eth, inline_header_start);
	memcpy(header, "\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0\x45", 15);
	header[14 + 8] = 64;
	header[14 + 9] = 6;
	header[34 + 12] = 0x50;
	for (uint32_t i = 0; i < WQE / ACCESS; i++) {
		dp_wqe_data(&f->sq, 6 + i, NULL, BYTES);
		segment = dp_wqe_at(&f->sq, 6 + i);
		segment->lkey = rnic_cpu_to_be32(key);
		segment->address = rnic_cpu_to_be64(0);
	}
	dp_sq_ring(&f->sq);
	softrnic_poll(f->two->qw.poller);
	assert_int_equal(dp_stats(f->a).tx_packets, 1);
	qw_run(&f->two->qw);
	assert_int_equal(dp_stats(f->a).tx_packets, WQE / ACCESS);
	assert_int_equal(dp_stats(f->a).tx_lso, 1);
}

/* ---- Who receives ---- */

/* Buffers of so many segments, of so many bytes each, of a key. */
static void
post_segments(struct fixture *f, uint32_t key, uint32_t segments, uint32_t bytes)
{
	const uint32_t mask = (1u << RQ_LOG) - 1;
	struct rnic_wqe_data *wqe =
		(struct rnic_wqe_data *)(f->rq.ring +
					 ((size_t)(f->rq.producer++ & mask) << RQ_STRIDE));

	for (uint32_t i = 0; i < RQ_ENTRIES; i++)
		wqe[i] = (struct rnic_wqe_data){
			.byte_count = rnic_cpu_to_be32(i < segments ? bytes : 0),
			.lkey = rnic_cpu_to_be32(i < segments ? key : RNIC_WQE_INVALID_LKEY),
		};
}

/* The packets of one WQE lead into buffers of which each is a long way: it stops between them, and loses none. */
static void
test_a_receiver_s_ways_stop_a_wqe_of_many_packets(void **state)
{
	enum { PACKETS = 40 };
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->b.end, f->two->in);

	assert_int_equal(dp_steer_all(&f->rq), 0);
	for (uint32_t i = 0; i < PACKETS; i++)
		post_segments(f, key, 2, BYTES);
	dp_rq_record(&f->rq);
	dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, 2 + PACKETS, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < PACKETS; i++)
		dp_wqe_data(&f->sq, 2 + i, f->two->out, 2 * BYTES - i);
	dp_sq_ring(&f->sq);
	softrnic_poll(f->two->qw.poller);
	assert_in_range(dp_stats(f->b).rx_packets, 1, 4);
	assert_null(dp_cq_peek(&f->tx_cq));
	qw_run(&f->two->qw);
	for (uint32_t i = 0; i < PACKETS; i++) {
		const struct rnic_cqe *cqe = dp_cq_next(&f->rx_cq);

		assert_non_null(cqe);
		assert_int_equal(cqe->op_own >> 4, RNIC_CQE_RESPONDER_SEND);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 2 * BYTES - i);
	}
	assert_null(dp_cq_peek(&f->rx_cq));
	assert_non_null(dp_cq_next(&f->tx_cq));
	assert_null(dp_cq_peek(&f->tx_cq));
	/* Both segments of a buffer are the same bytes. */
	assert_memory_equal(f->two->in, f->two->out + BYTES, BYTES - PACKETS);
}

static void
test_a_receive_wqe_s_way_has_an_end(void **state)
{
	const uint32_t most = WQE / ACCESS;
	const struct rnic_error_cqe *error;
	const struct rnic_cqe *cqe;
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->b.end, f->two->in);

	assert_int_equal(dp_steer_all(&f->rq), 0);
	post_segments(f, key, most, BYTES);
	post_segments(f, key, most + 1, BYTES);
	dp_rq_record(&f->rq);
	dp_send(&f->sq, f->two->out, most * BYTES);
	dp_send(&f->sq, f->two->out, most * BYTES + 1000);
	qw_run(&f->two->qw);
	cqe = dp_cq_next(&f->rx_cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->op_own >> 4, RNIC_CQE_RESPONDER_SEND);
	error = (const struct rnic_error_cqe *)dp_cq_next(&f->rx_cq);
	assert_non_null(error);
	assert_int_equal(error->op_own >> 4, RNIC_CQE_RESPONDER_ERROR);
	assert_int_equal(error->syndrome, RNIC_SYND_LOCAL_LENGTH);
	/* Who sent it has nothing to do with it. */
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_RDY);
}

/* One frame to a queue many times over: what is beyond the limit is lost as if there were no buffer. */
static void
test_deliveries_of_a_frame_have_an_end(void **state)
{
	enum { COPIES = 64 };
	struct fixture *f = *state;
	uint32_t key = deep_key(f->two->b.end, f->two->in), tirns[COPIES];

	assert_int_equal(dp_tir_create(&f->rq), 0);
	for (uint32_t i = 0; i < COPIES; i++)
		tirns[i] = f->rq.tirn;
	assert_int_equal(drv_root_to_tirs(&f->b->drv, tirns, COPIES, NULL), 0);
	for (uint32_t i = 0; i < COPIES; i++)
		post_segments(f, key, 1, BYTES);
	dp_rq_record(&f->rq);
	dp_send(&f->sq, f->two->out, BYTES);
	qw_run(&f->two->qw);
	assert_int_equal(dp_stats(f->b).rx_packets, 1);
	/* The first one alone comes to the limit; it may be met, not passed. */
	assert_in_range(dp_stats(f->b).cqes, 1, 2);
	assert_int_equal(dp_stats(f->b).cqes + dp_stats(f->b).rx_no_buffer, COPIES);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_RDY);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(short_entries_are_legal),
		T(a_requester_s_way_has_an_end),
		T(a_peer_s_way_has_an_end),
		T(a_frame_s_way_has_an_end),
		T(ways_end_the_round),
		T(ways_end_a_queue_pair_s_turn),
		T(a_large_send_goes_on),
		T(a_receiver_s_ways_stop_a_wqe_of_many_packets),
		T(a_receive_wqe_s_way_has_an_end),
		T(deliveries_of_a_frame_have_an_end),
	};

	return cmocka_run_group_tests_name("qp_walk", tests, NULL, NULL);
}
