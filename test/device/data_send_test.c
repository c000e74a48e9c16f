/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues: every byte of every kind of WQE, counters that wrap, completions as asked for, and every way to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_expect.h"
#include "driver/counter.h"
#include "softrnic/base/poller.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/latch.h"
#include "softrnic/base/object.h"

#define BUFFER	 16384u
#define RQ_LOG	 6
#define MTU_9000 9022 /* as registers count: with header, tag and FCS */
#define SQ_LOG	 6

static int
setup_flags(void **state, unsigned int flags)
{
	const struct dp_cq_conf cq = { .log_size = 7, .uar = 1 };
	const struct dp_side_conf conf = { .device = { .name = "send", .wire = "loop" },
					   .mtu = MTU_9000,
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = SQ_LOG,
					   .sq_uar = 1,
					   .sq_flags = flags,
					   .rq_log_size = RQ_LOG,
					   .rq_log_stride = 4,
					   .out_bytes = BUFFER,
					   .in_bytes = (size_t)BUFFER << RQ_LOG };
	struct dp_side *f;
	uint32_t i;

	assert_int_equal(dp_side_setup(state, &conf), 0);
	f = *state;
	for (i = 0; i < BUFFER; i++)
		f->out[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + 2) & 0xfe;
	for (i = 0; i < 1u << RQ_LOG; i++)
		dp_post(&f->rq, f->in + (size_t)i * BUFFER, BUFFER);
	dp_rq_record(&f->rq);
	return 0;
}

static int
setup(void **state)
{
	return setup_flags(state, DP_SQ_MULTI_PACKET | DP_SQ_FLUSH);
}

static int
setup_no_flush(void **state)
{
	return setup_flags(state, 0);
}

/* The next received frame is exactly these bytes; its buffer is posted again. */
static void
expect_frame(struct dp_side *f, const void *bytes, uint32_t length)
{
	const struct rnic_cqe *cqe = dp_cq_next(&f->rx_cq);
	uint32_t slot = f->taken++ & ((1u << RQ_LOG) - 1);
	uint8_t *buffer = f->in + (size_t)slot * BUFFER;

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), length);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter) & ((1u << RQ_LOG) - 1), slot);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn), 0);
	assert_memory_equal(buffer, bytes, length);
	memset(buffer, 0xee, length + 1);
	dp_post(&f->rq, buffer, BUFFER);
	dp_rq_record(&f->rq);
}

static void
expect_completion(struct dp_side *f, uint16_t counter)
{
	dp_expect(&f->tx_cq, RNIC_CQE_REQUESTER, counter, f->sq.sqn);
}

static void
expect_error(struct dp_side *f, uint16_t counter, uint8_t syndrome)
{
	dp_expect_error(&f->tx_cq, RNIC_CQE_REQUESTER_ERROR, counter, syndrome, f->sq.sqn);
}

/* A SEND of these many segments of one payload. */
static void
send_segments(struct dp_side *f, uint32_t length, uint32_t segments)
{
	uint32_t at = 0, part, i;

	dp_wqe(&f->sq, RNIC_WQE_SEND, 2 + segments, RNIC_WQE_CE_ALWAYS);
	for (i = 0; i < segments; i++) {
		part = i == segments - 1 ? length - at : length / segments;
		dp_wqe_data(&f->sq, 2 + i, f->out + at, part);
		at += part;
	}
	dp_sq_ring(&f->sq);
}

static void
test_sizes_and_segments(void **state)
{
	static const uint32_t sizes[] = { 60,	64,   65,   127,  128,	129, 256,
					  1499, 1514, 1518, 4096, 8999, 9014 };
	struct dp_side *f = *state;
	uint32_t segments, i;
	uint16_t counter;

	for (segments = 1; segments <= 8; segments++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			counter = f->sq.producer;
			send_segments(f, sizes[i], segments);
			dp_run(&f->dp);
			expect_frame(f, f->out, sizes[i]);
			expect_completion(f, counter);
		}
	}
	assert_null(dp_cq_next(&f->rx_cq));
	assert_null(dp_cq_next(&f->tx_cq));
}

static void
test_inline_header(void **state)
{
	struct dp_side *f = *state;
	struct rnic_wqe_eth *eth;
	uint32_t bytes, ds;
	uint16_t counter;

	/* 2 bytes fit into the segment itself, 18 take one unit more, and so on. */
	for (bytes = 1; bytes <= 64; bytes++) {
		counter = f->sq.producer;
		ds = bytes <= 2 ? 2 : 2 + (bytes - 2 + 15) / 16;
		dp_wqe(&f->sq, RNIC_WQE_SEND, ds + 1, RNIC_WQE_CE_ALWAYS);
		eth = dp_wqe_at(&f->sq, 1);
		eth->inline_header_size = rnic_cpu_to_be16((uint16_t)bytes);
		for (uint32_t i = 0; i < bytes; i++)
			((uint8_t *)dp_wqe_at(&f->sq, 1 + (14 + i) / 16))[(14 + i) % 16] =
				f->out[i];
		dp_wqe_data(&f->sq, ds, f->out + bytes, 200 - bytes);
		dp_sq_ring(&f->sq);
		dp_run(&f->dp);
		expect_frame(f, f->out, 200);
		expect_completion(f, counter);
	}
}

/* Write `bytes` of inline data from unit ds on; returns the units taken. */
static uint32_t
inline_segment(struct dp_side *f, uint32_t ds, const uint8_t *data, uint32_t bytes)
{
	struct rnic_wqe_inline *seg = dp_wqe_at(&f->sq, ds);
	uint32_t i;

	seg->byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | bytes);
	for (i = 0; i < bytes; i++)
		((uint8_t *)dp_wqe_at(&f->sq, ds + (4 + i) / 16))[(4 + i) % 16] = data[i];
	return (4 + bytes + 15) / 16;
}

static void
test_inline_data(void **state)
{
	struct dp_side *f = *state;
	uint32_t bytes, units;
	uint16_t counter;

	for (bytes = 14; bytes <= 400; bytes += 7) {
		counter = f->sq.producer;
		units = (4 + bytes + 15) / 16;
		dp_wqe(&f->sq, RNIC_WQE_SEND, 2 + units + 1, RNIC_WQE_CE_ALWAYS);
		inline_segment(f, 2, f->out, bytes);
		dp_wqe_data(&f->sq, 2 + units, f->out + bytes, 100);
		dp_sq_ring(&f->sq);
		dp_run(&f->dp);
		expect_frame(f, f->out, bytes + 100);
		expect_completion(f, counter);
	}
}

static void
test_multi_packet(void **state)
{
	struct dp_side *f = *state;
	uint32_t round, units, ds;
	uint16_t counter;

	/* Pointer, inline, pointer, inline of changing sizes, over the ring's end many times. */
	for (round = 0; round < 100; round++) {
		uint32_t small = 14 + round % 90;

		counter = f->sq.producer;
		units = (4 + small + 15) / 16;
		ds = 2 + 1 + units + 1 + units;
		dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, ds, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&f->sq, 2, f->out + 100, 64 + round);
		inline_segment(f, 3, f->out + 3, small);
		dp_wqe_data(&f->sq, 3 + units, f->out, 1514);
		inline_segment(f, 4 + units, f->out + 5, small);
		dp_sq_ring(&f->sq);
		dp_run(&f->dp);
		expect_frame(f, f->out + 100, 64 + round);
		expect_frame(f, f->out + 3, small);
		expect_frame(f, f->out, 1514);
		expect_frame(f, f->out + 5, small);
		expect_completion(f, counter);
	}
}

static void
test_counter_wraps(void **state)
{
	struct dp_side *f = *state;
	uint32_t round;
	uint16_t counter;

	/* Start a few hundred blocks before 2^16 and 2^24, which is a long run away: no command sets a queue's index. */
	softrnic_lock(f->poller);
	struct softrnic_sq *sq = softrnic_object_get(f->dp.dev, SOFTRNIC_SQ, f->sq.sqn);
	struct softrnic_cq *cq = softrnic_object_get(f->dp.dev, SOFTRNIC_CQ, f->tx_cq.cqn);

	sq->consumer = f->sq.producer = 0xffff - 100;
	cq->producer = cq->consumer = f->tx_cq.consumer = 0xffffff - 100;
	softrnic_unlock(f->poller);
	/* The entries of the pass before this one must not look valid. */
	for (round = 0; round < 128; round++)
		f->tx_cq.ring[round * 64 + 63] = 0xf0 | !(0xffffff >> 7 & 1);
	for (round = 0; round < 1000; round++) {
		counter = f->sq.producer;
		send_segments(f, 64 + round, 1 + round % 8);
		dp_run(&f->dp);
		expect_frame(f, f->out, 64 + round);
		expect_completion(f, counter);
	}
	assert_true(f->sq.producer < 0xffff - 100);
	assert_true(f->tx_cq.consumer > 0x1000000);
}

static void
test_completion_on_demand(void **state)
{
	struct dp_side *f = *state;
	static const uint8_t ce[] = { RNIC_WQE_CE_ON_ERROR, RNIC_WQE_CE_ON_FIRST_ERROR,
				      RNIC_WQE_CE_ALWAYS, RNIC_WQE_CE_ALWAYS_EVENT };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		dp_wqe(&f->sq, RNIC_WQE_SEND, 3, ce[i]);
		dp_wqe_data(&f->sq, 2, f->out, 64 + i);
	}
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	for (i = 0; i < 4; i++)
		expect_frame(f, f->out, 64 + i);
	expect_completion(f, 2);
	expect_completion(f, 3);
	assert_null(dp_cq_next(&f->tx_cq));
}

static void
test_nop(void **state)
{
	struct dp_side *f = *state;

	dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_completion(f, 0);
	assert_null(dp_cq_next(&f->rx_cq));
}

/* The WQE just written fails so; the queue is in ERR, the WQE behind it is flushed, and RST heals. */
static void
expect_failure(struct dp_side *f, uint8_t syndrome)
{
	uint16_t counter = (uint16_t)(((uint8_t *)f->sq.last - f->sq.ring) / 64), behind;

	/* Counters start at 0 in each round, so the slot is the counter. */
	behind = f->sq.producer;
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, f->out, 64);
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_FIRST_ERROR);
	dp_wqe_data(&f->sq, 2, f->out, 64);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_error(f, counter, syndrome);
	expect_error(f, behind, RNIC_SYND_WR_FLUSHED);
	assert_null(dp_cq_next(&f->tx_cq));
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
	/* What is posted now is flushed too. */
	behind = f->sq.producer;
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	expect_error(f, behind, RNIC_SYND_WR_FLUSHED);
	assert_int_not_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RDY), 0);
	assert_int_equal(dp_sq_restart(&f->sq, RNIC_WQ_STATE_ERR), 0);
	dp_send(&f->sq, f->out, 90);
	dp_run(&f->dp);
	expect_frame(f, f->out, 90);
	expect_completion(f, 0);
}

static void
test_unknown_opcodes(void **state)
{
	struct dp_side *f = *state;
	uint32_t opcode;

	for (opcode = 1; opcode < 256; opcode++) {
		if (opcode == RNIC_WQE_SEND || opcode == RNIC_WQE_ENHANCED_MPSW ||
		    opcode == RNIC_WQE_LSO)
			continue;
		dp_wqe(&f->sq, (uint8_t)opcode, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&f->sq, 2, f->out, 64);
		expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	}
}

/* Of a SEND with room for a data segment, which is written by now. */
static struct rnic_wqe_eth *
eth_segment(struct dp_side *f)
{
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	return dp_wqe_at(&f->sq, 1);
}

static void
test_bad_control_segments(void **state)
{
	struct dp_side *f = *state;

	/* ds 1: no Ethernet segment. Another queue's number; ds 0, in a WQE of one block. */
	dp_wqe(&f->sq, RNIC_WQE_SEND, 1, RNIC_WQE_CE_ALWAYS);
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	eth_segment(f);
	f->sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(f->sq.sqn + 1, 3));
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	eth_segment(f);
	f->sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(f->sq.sqn, 0));
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	/* An inline header longer than the WQE; offloads that are not offered. */
	eth_segment(f)->inline_header_size = rnic_cpu_to_be16(19);
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	eth_segment(f)->cs_flags = RNIC_WQE_ETH_L3_INNER_CSUM;
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	eth_segment(f)->cs_flags = RNIC_WQE_ETH_L4_CSUM | RNIC_WQE_ETH_L4_INNER_CSUM;
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	/* A tag to insert and an inline header: there is room for one of them. */
	eth_segment(f)->inline_header_size = rnic_cpu_to_be16(RNIC_WQE_ETH_INSERT_VLAN | 18);
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	/* Inline data that runs out of the WQE. */
	eth_segment(f);
	((struct rnic_wqe_inline *)dp_wqe_at(&f->sq, 2))->byte_count =
		rnic_cpu_to_be32(RNIC_WQE_INLINE | 13);
	expect_failure(f, RNIC_SYND_LOCAL_QP_OPERATION);
	((struct rnic_wqe_inline *)dp_wqe_at(&f->sq, 2))->byte_count = RNIC_BE32(0);
}

static void
test_bad_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, 9997, 0x10000, 0x10001, 0x7fffffff };
	struct dp_side *f = *state;
	uint32_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&f->sq, 2, f->out, lengths[i]);
		expect_failure(f, RNIC_SYND_LOCAL_LENGTH);
	}
	/* No data at all. */
	dp_wqe(&f->sq, RNIC_WQE_SEND, 2, RNIC_WQE_CE_ALWAYS);
	expect_failure(f, RNIC_SYND_LOCAL_LENGTH);
	/* The longest one goes. */
	dp_send(&f->sq, f->out, 9018);
	dp_run(&f->dp);
	expect_frame(f, f->out, 9018);
}

#define RFC_2863      1 /* a group of the port's counters */
#define IF_OUT_ERRORS 8 /* in it */

/* The port drops and counts what exceeds its MTU; the queue that sent it lives on. */
static void
test_frames_beyond_the_mtu_are_dropped_and_counted(void **state)
{
	static const uint32_t lengths[] = { 9019, 9500, 9996 };
	struct dp_side *f = *state;
	uint32_t i;
	uint16_t counter;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		counter = f->sq.producer;
		dp_send(&f->sq, f->out, lengths[i]);
		dp_run(&f->dp);
		expect_completion(f, counter);
		assert_null(dp_cq_next(&f->rx_cq));
		assert_int_equal(dp_stats(&f->dp).tx_errors, i + 1);
		assert_int_equal(
			drv_vport_counter(&f->dp.drv, RNIC_VPORT_COUNTERS_TRANSMIT_ERRORS_PACKETS),
			i + 1);
		assert_int_equal(drv_port_counter(&f->dp.drv, RFC_2863, IF_OUT_ERRORS, false),
				 i + 1);
	}
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_RDY);
	/* So do the neighbours in one WQE. */
	counter = f->sq.producer;
	dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, 5, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&f->sq, 2, f->out, 9018);
	dp_wqe_data(&f->sq, 3, f->out, 9019);
	dp_wqe_data(&f->sq, 4, f->out, 100);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_completion(f, counter);
	expect_frame(f, f->out, 9018);
	expect_frame(f, f->out, 100);
	assert_int_equal(dp_stats(&f->dp).tx_errors, i + 1);
	assert_int_equal(dp_stats(&f->dp).tx_packets, 2);
}

static void
test_bad_keys(void **state)
{
	struct dp_side *f = *state;
	struct rnic_wqe_data *seg;
	uint32_t i;

	for (i = 0; i < 7; i++) {
		dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&f->sq, 2, f->out, 64);
		seg = dp_wqe_at(&f->sq, 2);
		switch (i) {
		case 0: seg->lkey = rnic_cpu_to_be32(f->dp.lkey ^ 1); break;
		case 1: seg->lkey = rnic_cpu_to_be32(f->dp.lkey + 0x100); break;
		case 2: seg->lkey = rnic_cpu_to_be32(0xffffffff); break;
		case 3: seg->lkey = rnic_cpu_to_be32(drv_reserved_lkey(&f->dp.drv)); break;
		case 4: /* one byte before the region */
			seg->address = rnic_cpu_to_be64((uintptr_t)f->dp.memory - 1);
			break;
		case 5: /* one byte behind it */
			seg->address = rnic_cpu_to_be64((uintptr_t)f->dp.memory + DP_BYTES - 63);
			break;
		default: /* the end of the address space */
			seg->address = rnic_cpu_to_be64(UINT64_MAX - 10);
			break;
		}
		expect_failure(f, RNIC_SYND_LOCAL_PROTECTION);
	}
	assert_true(dp_stats(&f->dp).tpt_faults >= 6);
}

/* The context's bit is of the other multi-packet WQE. */
static void
test_multi_packet_without_the_context_bit(void **state)
{
	struct dp_side *f = *state;

	dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, 4, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&f->sq, 2, f->out, 64);
	dp_wqe_data(&f->sq, 3, f->out + 64, 80);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_completion(f, 0);
	expect_frame(f, f->out, 64);
	expect_frame(f, f->out + 64, 80);
}

static void
test_queue_that_does_not_flush(void **state)
{
	struct dp_side *f = *state;

	dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&f->sq, 2, f->out - 1, 64);
	((struct rnic_wqe_data *)dp_wqe_at(&f->sq, 2))->lkey = rnic_cpu_to_be32(0);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_error(f, 0, RNIC_SYND_LOCAL_PROTECTION);
	/* Nothing more completes. */
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	assert_null(dp_cq_next(&f->tx_cq));
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
}

/*
 * Through RST with the record left as it was: the old count is no work, and the first WQE may look like the one before it,
 * record and doorbell included.
 */
static void
test_record_left_over_reset(void **state)
{
	struct dp_side *f = *state;

	for (int again = 0; again < 3; again++) {
		dp_send(&f->sq, f->out, 64);
		dp_run(&f->dp);
		expect_completion(f, 0);
		expect_frame(f, f->out, 64);
		assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
		assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
		f->sq.producer = 0;
		f->sq.half = 0;
		dp_run(&f->dp);
		assert_null(dp_cq_next(&f->tx_cq));
		assert_null(dp_cq_next(&f->rx_cq));
	}
	/* Nor is it in ERR, where what waits is flushed. */
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	dp_run(&f->dp);
	assert_null(dp_cq_next(&f->tx_cq));
}

static void
test_record_ahead_of_ring(void **state)
{
	struct dp_side *f = *state;
	const struct rnic_eqe *eqe;

	while (dp_eq_next(&f->dp) != NULL)
		;
	dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	f->sq.producer = (1u << SQ_LOG) + 1;
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	assert_null(dp_cq_next(&f->tx_cq));
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
	eqe = dp_expect_event(&f->dp, RNIC_EVENT_WQ_CATASTROPHIC);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[6]) & 0xffffff, f->sq.sqn);
}

static void
test_flush_by_command(void **state)
{
	struct dp_side *f = *state;
	uint32_t i;

	/* In RDY without a doorbell nothing runs; ERR flushes what the record tells of. */
	for (i = 0; i < 5; i++)
		dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	assert_int_not_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_ERR), 0);
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	dp_sq_record(&f->sq);
	dp_run(&f->dp);
	for (i = 0; i < 5; i++)
		expect_error(f, (uint16_t)i, RNIC_SYND_WR_FLUSHED);
	assert_null(dp_cq_next(&f->tx_cq));
}

/* modify_tis: the priority is kept, and the queue that sends by the TIS goes on. */
static void
test_priority_of_a_tis(void **state)
{
	struct dp_side *f = *state;
	struct rnic_modify_tis_in in = { 0 };
	struct rnic_object_in query = { 0 };
	struct rnic_query_tis_out out;

	rnic_modify_tis_in_set(&in, RNIC_MODIFY_TIS_IN_TISN, f->dp.tis);
	rnic_modify_tis_in_set(&in, RNIC_MODIFY_TIS_IN_BITMASK, 0x1);
	rnic_tisc_set(rnic_modify_tis_in_tisc(&in), RNIC_TISC_PRIO, 0xa);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_TIS, 0, &in, sizeof(in), NULL, 0), 0);
	rnic_object_in_set(&query, RNIC_OBJECT_IN_NUMBER, f->dp.tis);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_QUERY_TIS, 0, &query, sizeof(query), &out, sizeof(out)),
		0);
	assert_int_equal(rnic_tisc_get(rnic_query_tis_out_tisc(&out), RNIC_TISC_PRIO), 0xa);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	expect_frame(f, f->out, 64);
}

static void
unmapped(struct dp_side *f, bool away)
{
	int rc = away ? softrnic_dma_unmap(f->dp.dev, DP_IOVA, DP_BYTES)
		      : softrnic_dma_map(f->dp.dev, DP_IOVA, DP_BYTES, f->dp.memory,
					 SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);

	assert_int_equal(rc, 0);
}

static void
no_bus_master(struct dp_side *f, bool away)
{
	softrnic_bus_master(f->dp.dev, !away);
	/* Twice is not back. */
	softrnic_bus_master(f->dp.dev, !away);
}

/* What was resolved is not used either. */
static void
without_memory(struct dp_side *f, void (*take)(struct dp_side *f, bool away))
{
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	expect_completion(f, 0);
	take(f, true);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	assert_null(dp_cq_next(&f->tx_cq));
	take(f, false);
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
	/* The EQ was away as well: its event may be lost. With the memory back, RST heals. */
	assert_int_equal(dp_sq_restart(&f->sq, RNIC_WQ_STATE_ERR), 0);
	/* The failed one was told as soon as there was memory to tell it in. */
	expect_error(f, 1, RNIC_SYND_WR_FLUSHED);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	expect_completion(f, 0);
}

static void
test_memory_taken_away(void **state)
{
	without_memory(*state, unmapped);
}

static void
test_no_bus_master_reaches_no_memory(void **state)
{
	without_memory(*state, no_bus_master);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sizes_and_segments, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_inline_header, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_inline_data, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_multi_packet, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_counter_wraps, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_completion_on_demand, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_nop, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_opcodes, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_bad_control_segments, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_bad_lengths, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_frames_beyond_the_mtu_are_dropped_and_counted,
						setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_bad_keys, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_multi_packet_without_the_context_bit,
						setup_no_flush, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_queue_that_does_not_flush, setup_no_flush,
						dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_record_left_over_reset, setup,
						dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_record_ahead_of_ring, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_flush_by_command, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_priority_of_a_tis, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_memory_taken_away, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_no_bus_master_reaches_no_memory, setup,
						dp_side_teardown),
	};

	return cmocka_run_group_tests_name("data_send", tests, NULL, NULL);
}
