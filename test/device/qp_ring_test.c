/* SPDX-License-Identifier: BSD-3-Clause */

/* What queue pairs lean on: rings, records, CQs and doorbells that wrap, go, lie or get lost; and memory of the device. */
#include <stdlib.h>

#include "qp_world.h"
/* Where rings stand, who is watched, and memory that is taken. */
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/latch.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/qp.h"

/* ---- Wraps ---- */

/* Counters of 16 bits for WQEBBs, of 24 for PSNs, and the CQ's, all of them over their ends under traffic. */
static void
test_wraps(void **state)
{
	enum { ROUNDS = 70000, BURST = 10 };
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();
	struct softrnic_qp *qp;
	uint16_t counter = 0;

	attr.psn = 0xffff00;
	qw_two_reconnect(two, &attr);
	/* Of the CQ too: 2^24 entries would take a while. */
	two->a_send.consumer = 0xffff00;
	two->a_send.dbrec->consumer_index = rnic_cpu_to_be32(two->a_send.consumer);
	((struct softrnic_cq *)softrnic_object_get(two->a.end->dp.dev, SOFTRNIC_CQ,
						   two->a_send.cqn))
		->producer = two->a_send.consumer;
	memset(two->a_send.ring, 0xf1, (size_t)64 << two->a_send.log_size);
	for (uint32_t i = 0; i < ROUNDS / BURST; i++) {
		for (uint32_t j = 0; j < BURST; j++) {
			two->out[j * 64] = (uint8_t)(i + j);
			qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out + j * 64, 64,
			       two->in + j * 64, two->b.end->key, RNIC_WQE_CE_ALWAYS);
		}
		dp_sq_ring(&two->a.sq);
		while (dp_cq_peek(&two->a_send) == NULL)
			softrnic_poll(two->qw.poller);
		for (uint32_t j = 0; j < BURST; j++)
			qw_done(two, counter++);
		for (uint32_t j = 0; j < BURST; j++)
			assert_int_equal(two->in[j * 64], (uint8_t)(i + j));
	}
	qp = qw_qp_inside(&two->a);
	assert_int_equal(qp->roce.requester.una, (0xffff00 + ROUNDS) & 0xffffff);
	assert_int_equal(qp->sq_consumer, (uint16_t)ROUNDS);
	assert_true(two->a_send.consumer > 0x1000000);
}

/* A ring that is full is no more than full. */
static void
test_full_ring(void **state)
{
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < 1u << QW_LOG_SQ; i++)
		qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	for (uint16_t i = 0; i < 1u << QW_LOG_SQ; i++)
		qw_done(two, i);
}

/* ---- Records that lie ---- */

static void
test_send_record_ahead(void **state)
{
	const struct qw_attr attr = qw_attr();
	struct qw_two *two = *state;

	qw_write(two, RNIC_WQE_CE_ALWAYS);
	two->a.sq.producer = (1u << QW_LOG_SQ) + 1;
	qw_go(two);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_CATASTROPHIC, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	qw_expect_nothing(&two->a_send);
	/* From RST it is as good as new. */
	two->a.sq.producer = 0;
	dp_sq_record(&two->a.sq);
	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	qw_connect(&two->a, &two->b, &attr);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_done(two, 0);
}

/* WQEs that were fetched and are not done are still the ring's: what is written over them is no WQE of ours. */
static void
test_send_record_ahead_of_what_is_not_done(void **state)
{
	struct qw_two *two = *state;

	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL); /* fetched; waits for a buffer */
	assert_int_equal(qw_qp_inside(&two->a)->sq_consumer, 1);
	two->a.sq.producer = 1u << QW_LOG_SQ;
	dp_sq_record(&two->a.sq);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_RTS);
	two->a.sq.producer++;
	qw_go(two);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_CATASTROPHIC, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	/* What was fetched is flushed. */
	qw_failed(two, 0, RNIC_SYND_WR_FLUSHED);
}

/*
 * One that goes back is no less ahead. Followed, it would have the ring fetched again, into the places of WQEs that are not
 * done: the segments of these were checked, what stands there now was not.
 */
static void
test_send_record_that_goes_back(void **state)
{
	enum { BYTES = 64, WAIT_US = 20000 };
	struct qw_two *two = *state;
	struct rnic_wqe_data *segment;
	struct rnic_wqe_ctrl *ctrl;

	memset(two->out, 0x11, BYTES);
	memset(two->in, 0xee, BYTES);
	for (uint32_t i = 0; i < 2; i++)
		qw_wqe(&two->a, RNIC_WQE_SEND, two->out, BYTES, NULL, 0, RNIC_WQE_CE_ALWAYS);
	qw_go(two); /* fetched; they wait for a buffer */
	assert_int_equal(qw_qp_inside(&two->a)->sq_consumer, 2);
	/* WQEs of two blocks whose bytes nobody looks at: inline data where the others have their segment. */
	for (uint32_t i = 0; i < 1u << QW_LOG_SQ; i++) {
		ctrl = (struct rnic_wqe_ctrl *)(two->a.sq.ring + (size_t)i * RNIC_WQEBB_BYTES);
		segment = (struct rnic_wqe_data *)(ctrl + 1);
		memset(ctrl, 0x5a, RNIC_WQEBB_BYTES);
		*ctrl = (struct rnic_wqe_ctrl){
			.opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_NOP),
			.qpn_ds = rnic_cpu_to_be32(two->a.qpn << 8 | 8),
		};
		segment->byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | BYTES);
	}
	two->a.sq.producer = 1;
	qw_go(two);
	qw_recv(&two->b, two->in, BYTES);
	qw_run_us(&two->qw, WAIT_US);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(two->in[i], 0xee);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_CATASTROPHIC, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	for (uint16_t i = 0; i < 2; i++)
		qw_failed(two, i, RNIC_SYND_WR_FLUSHED);
}

static void
test_receive_record_ahead(void **state)
{
	struct qw_two *two = *state;

	two->b.rq.producer = (1u << QW_LOG_RQ) + 1;
	dp_rq_record(&two->b.rq);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_expect_event(two->b.end, RNIC_EVENT_WQ_CATASTROPHIC, two->b.qpn);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	qw_expect_nothing(&two->b_recv);
}

/* ---- What goes away ---- */

static size_t
rings_bytes(void)
{
	return ((size_t)1 << (QW_LOG_RQ + 6)) + ((size_t)RNIC_WQEBB_BYTES << QW_LOG_SQ);
}

static void
test_rings_gone_before_a_send(void **state)
{
	struct qw_two *two = *state;

	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_unmap(two->a.end, two->a.rq.ring, rings_bytes());
	qw_go(two);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_ACCESS_ERROR, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	qw_expect_nothing(&two->a_send);
}

/* Requests that were fetched before live on in their copies, and are flushed. */
static void
test_rings_gone_under_traffic(void **state)
{
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < 3; i++)
		qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_unmap(two->a.end, two->a.rq.ring, rings_bytes());
	qw_run(&two->qw);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_ACCESS_ERROR, two->a.qpn);
	for (uint16_t i = 0; i < 3; i++)
		qw_failed(two, i, RNIC_SYND_WR_FLUSHED);
	qw_expect_nothing(&two->a_send);
}

static void
test_record_gone(void **state)
{
	struct qw_two *two = *state;

	qw_write(two, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	qw_unmap(two->a.end, two->a.sq.dbrec, sizeof(*two->a.sq.dbrec));
	qw_run(&two->qw);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_ACCESS_ERROR, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
}

static void
test_rings_gone_before_a_receive(void **state)
{
	struct qw_two *two = *state;

	/* Two of them; when the ring goes, the device knows of the second. */
	qw_recv(&two->b, two->in, 64);
	qw_recv(&two->b, two->in, 64);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	qw_unmap(two->b.end, two->b.rq.ring, rings_bytes());
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_expect_event(two->b.end, RNIC_EVENT_WQ_ACCESS_ERROR, two->b.qpn);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	qw_expect_nothing(&two->b_recv);
}

/* Other maps that come and go change nothing, and neither do the rings' own that come back before they are needed. */
static void
test_maps_that_change(void **state)
{
	struct qw_two *two = *state;
	void *other = dp_alloc(&two->a.end->dp, 4096, 4096);

	for (uint16_t i = 0; i < 10; i++) {
		qw_unmap(two->a.end, two->a.rq.ring, rings_bytes());
		qw_map(two->a.end, two->a.rq.ring, rings_bytes());
		qw_unmap(two->a.end, other, 4096);
		qw_map(two->a.end, other, 4096);
		two->out[0] = (uint8_t)i;
		qw_write(two, RNIC_WQE_CE_ALWAYS);
		qw_go(two);
		qw_done(two, i);
		assert_int_equal(two->in[0], i);
	}
}

/* Payload that is not mapped any more: ours is a protection error, theirs is not our fault. */
static void
test_payload_gone(void **state)
{
	struct qw_two *two = *state;
	const struct qw_attr attr = qw_attr();

	qw_unmap(two->a.end, two->out, QW_BUFFER + 4096);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_LOCAL_PROTECTION);
	qw_map(two->a.end, two->out, QW_BUFFER + 4096);
	qw_two_reconnect(two, &attr);
	qw_unmap(two->b.end, two->in, QW_BUFFER + 4096);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_REMOTE_OPERATION);
	qw_expect_event(two->b.end, RNIC_EVENT_WQ_CATASTROPHIC, two->b.qpn);
}

/* ---- Memory in many pieces, or askew ---- */

#define ODD_IOVA UINT64_C(0x90000000)

static uint32_t
odd_key(struct qw_end *end, void *start, uint64_t length)
{
	/* The page's address on the bus is ODD_IOVA. */
	void *const pages[] = { end->dp.memory + (ODD_IOVA - DP_IOVA) };
	const struct qw_key_conf conf = {
		.start = start,
		.length = length,
		.access = DRV_LW | DRV_A,
		.pages = pages,
	};

	return qw_key(end, &conf);
}

/* 16 bytes here, 16 there: as many pieces as one packet may have, and more. */
static void
test_many_pieces(void **state)
{
	enum { PIECE = 16, PIECES = 256 };
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();
	struct qw_end *end = two->a.end;
	void *start = (void *)(uintptr_t)0x5000;
	uint8_t *pieces = calloc(2 * (size_t)PIECES, PIECE);
	uint32_t key;

	qw_fill(pieces, 2 * (size_t)PIECES * PIECE, 3);
	for (uint32_t i = 0; i < PIECES; i++)
		assert_int_equal(softrnic_dma_map(end->dp.dev, ODD_IOVA + i * PIECE, PIECE,
						  pieces + 2 * (size_t)i * PIECE,
						  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
				 0);
	key = odd_key(end, start, 4096);
	assert_int_not_equal(key, 0);
	/* With packets of 1,024 bytes, 64 pieces each. */
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, start, 4096, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, key, start, 4096);
	qw_go(two);
	qw_done(two, 0);
	for (uint32_t i = 0; i < PIECES; i++)
		assert_memory_equal(two->in + i * PIECE, pieces + 2 * (size_t)i * PIECE, PIECE);
	/* With packets of 4,096 there are too many. */
	attr.mtu = RNIC_QP_MTU_4096;
	qw_two_reconnect(two, &attr);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, start, 4096, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, key, start, 4096);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_LOCAL_LENGTH);
	for (uint32_t i = 0; i < PIECES; i++)
		assert_int_equal(softrnic_dma_unmap(end->dp.dev, ODD_IOVA + i * PIECE, PIECE), 0);
	free(pieces);
}

/* Addresses do not go round: behind the last byte of them there is nothing, whatever is mapped at the first. */
static void
test_segment_over_the_end_of_addresses(void **state)
{
	struct qw_two *two = *state;
	struct qw_end *end = two->a.end;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	const uint64_t high = UINT64_MAX - 1023;
	uint8_t *last = two->out, *first = two->out + 4096;

	assert_int_equal(softrnic_dma_map(end->dp.dev, high, 1024, last, SOFTRNIC_DMA_READ), 0);
	assert_int_equal(softrnic_dma_map(end->dp.dev, 0, 4096, first, SOFTRNIC_DMA_READ), 0);
	conf.rlky = true;
	qw_two_replace(two, false, &conf);
	memset(two->in, 0, 4096);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, SOFTRNIC_RESERVED_LKEY, (void *)(uintptr_t)high, 2048);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_LOCAL_PROTECTION);
	/* What fits went. */
	assert_memory_equal(two->in, last, 1024);
	assert_int_equal(two->in[1024], 0);
	assert_int_equal(softrnic_dma_unmap(end->dp.dev, high, 1024), 0);
	assert_int_equal(softrnic_dma_unmap(end->dp.dev, 0, 4096), 0);
}

/* No atomic step where a multiple of 8 is mapped as something else. */
static void
test_atomic_on_memory_askew(void **state)
{
	struct qw_two *two = *state;
	struct qw_end *end = two->b.end;
	void *start = (void *)(uintptr_t)0x5000;
	uint64_t memory[4] = { 0 };
	uint32_t key;

	assert_int_equal(softrnic_dma_map(end->dp.dev, ODD_IOVA, 16, (uint8_t *)memory + 4,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
	key = odd_key(end, start, 16);
	assert_int_not_equal(key, 0);
	qw_wqe(&two->a, RNIC_WQE_ATOMIC_FA, two->out, 8, start, key, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_REMOTE_OPERATION);
	qw_expect_event(end, RNIC_EVENT_WQ_CATASTROPHIC, two->b.qpn);
	assert_int_equal(softrnic_dma_unmap(end->dp.dev, ODD_IOVA, 16), 0);
}

/* ---- CQs that are full ---- */

static void
test_send_cq_overrun(void **state)
{
	struct qw_two *two = *state;
	const struct dp_cq_conf cq_conf = { .log_size = 1, .uar = 1 };
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct dp_cq cq;

	assert_int_equal(dp_cq_create(&two->a.end->dp, &cq, &cq_conf), 0);
	conf.send_cq = &cq;
	qw_two_replace(two, false, &conf);
	for (uint32_t i = 0; i < 4; i++)
		qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	assert_int_equal(qw_event(two->a.end, NULL), RNIC_EVENT_CQ_ERROR);
	qw_expect_event(two->a.end, RNIC_EVENT_WQ_CATASTROPHIC, two->a.qpn);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	qw_expect(&cq, RNIC_CQE_REQUESTER, 0, two->a.qpn);
	qw_expect(&cq, RNIC_CQE_REQUESTER, 1, two->a.qpn);
	qw_expect_nothing(&cq);
}

static void
test_receive_cq_overrun(void **state)
{
	struct qw_two *two = *state;
	const struct dp_cq_conf cq_conf = { .log_size = 0, .uar = 1 };
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);
	struct dp_cq cq;

	assert_int_equal(dp_cq_create(&two->b.end->dp, &cq, &cq_conf), 0);
	conf.recv_cq = &cq;
	qw_two_replace(two, true, &conf);
	qw_recv(&two->b, two->in, 64);
	qw_recv(&two->b, two->in, 64);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	assert_int_equal(qw_event(two->b.end, NULL), RNIC_EVENT_CQ_ERROR);
	qw_expect_event(two->b.end, RNIC_EVENT_WQ_CATASTROPHIC, two->b.qpn);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
}

/* ---- Doorbells ---- */

/* The record alone: the sweep finds it, and says so. */
static void
test_lost_doorbell(void **state)
{
	struct qw_two *two = *state;
	struct softrnic_stats before = dp_stats(&two->a.end->dp), after;

	qw_poll(&two->qw, 1000);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	dp_sq_record(&two->a.sq);
	qw_run(&two->qw);
	qw_done(two, 0);
	after = dp_stats(&two->a.end->dp);
	assert_int_equal(after.doorbells, before.doorbells);
	assert_int_equal(after.doorbells_missed, before.doorbells_missed + 1);
}

/* A record that is seen before its doorbell is no lost one: the driver is between its two stores. */
static void
test_record_seen_before_its_doorbell(void **state)
{
	struct qw_two *two = *state;

	qw_poll(&two->qw, 1000);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	dp_sq_record(&two->a.sq);
	softrnic_poll(two->qw.poller);
	assert_true(qw_qp_inside(&two->a)->suspect);
	qw_expect_nothing(&two->a_send);
	qw_go(two);
	qw_done(two, 0);
	assert_int_equal(dp_stats(&two->a.end->dp).doorbells_missed, 0);
}

/* The i-th WQE, told of by the record alone but for the first one: the next poll takes it. */
static void
send_seen_at_once(struct qw_two *two, uint16_t i)
{
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	if (i == 0)
		dp_sq_ring(&two->a.sq);
	else
		dp_sq_record(&two->a.sq);
	softrnic_poll(two->qw.poller);
	assert_int_equal(qw_qp_inside(&two->a)->sq_consumer, i + 1);
	qw_run(&two->qw);
	qw_done(two, i);
}

/* Who sent lately needs no doorbell: another queue of its register may have overwritten it. */
static void
test_record_of_who_sent_lately(void **state)
{
	struct qw_two *two = *state;

	for (uint16_t i = 0; i < 3; i++)
		send_seen_at_once(two, i);
	assert_int_equal(dp_stats(&two->a.end->dp).doorbells_missed, 0);
}

/* Of several that sent lately, one goes: the records of the others are still theirs. */
static void
test_one_of_those_who_sent_lately_goes(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false), peer = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp more[2], peers[2];

	for (unsigned int i = 0; i < 2; i++) {
		qw_two_more(two, &more[i], &conf, &peers[i], &peer, &attr);
		qw_post(&more[i], &peers[i], RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
		qw_run(&two->qw);
		qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 0, more[i].qpn);
	}
	qw_qp_to(&more[0], RNIC_CMD_2RST_QP);
	assert_int_equal(qw_qp_inside(&more[0])->watched, 0);
	assert_int_equal(qw_qp_inside(&more[1])->watched, 1);
	qw_wqe(&more[1], RNIC_WQE_RDMA_WRITE, two->out, 64, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	dp_sq_record(&more[1].sq);
	softrnic_poll(two->qw.poller);
	assert_int_equal(qw_qp_inside(&more[1])->sq_consumer, 2);
	qw_run(&two->qw);
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 1, more[1].qpn);
}

/* A change of the map that is none of its business leaves it where it was. */
static void
test_who_sent_lately_outlives_other_maps(void **state)
{
	struct qw_two *two = *state;
	void *other = dp_alloc(&two->a.end->dp, 4096, 4096);

	for (uint16_t i = 0; i < 5; i++) {
		send_seen_at_once(two, i);
		qw_unmap(two->a.end, other, 4096);
		softrnic_poll(two->qw.poller);
		qw_map(two->a.end, other, 4096);
		softrnic_poll(two->qw.poller);
	}
	assert_int_equal(dp_stats(&two->a.end->dp).doorbells_missed, 0);
}

/* One that sent lately and has nothing to do does not make the first doorbell of another wait for a look in eight. */
static void
test_a_quiet_device_looks_at_doorbells_in_each_poll(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false), peer_conf = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp qp, peer;

	for (unsigned int i = 0; i < 8; i++) {
		qw_two_more(two, &qp, &conf, &peer, &peer_conf, &attr);
		qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
		qw_done(two, (uint16_t)i);
		qw_poll(&two->qw, i);
		assert_true(qw_qp_inside(&two->a)->watched);
		qw_post(&qp, &peer, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
		softrnic_poll(two->qw.poller);
		assert_int_equal(qw_qp_inside(&qp)->sq_consumer, 1);
		qw_run(&two->qw);
		qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 0, qp.qpn);
	}
}

/* The device has no more memory for them than queue pairs that there are. */
static void
test_those_who_sent_lately_are_forgotten_with_the_last(void **state)
{
	struct qw_two *two = *state;
	struct softrnic *dev = two->a.end->dp.dev;

	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	assert_int_equal(dev->qp_watch.users, 1);
	assert_int_equal(dev->qp_watch.count, 1);
	assert_int_equal(qw_qp_destroy(&two->a), 0);
	assert_null(dev->qp_watch.of);
	assert_int_equal(dev->qp_watch.users + dev->qp_watch.count, 0);
}

/* A record that another map shows is read there, and the old place never again. */
static void
test_record_of_who_sent_lately_moves(void **state)
{
	struct qw_two *two = *state;

	for (uint16_t i = 0; i < 3; i++) {
		qw_write(two, RNIC_WQE_CE_ALWAYS);
		qw_go(two);
		qw_done(two, i);
		assert_true(qw_qp_inside(&two->a)->watched);
		qw_unmap(two->a.end, two->a.sq.dbrec, sizeof(*two->a.sq.dbrec));
		qw_map(two->a.end, two->a.sq.dbrec, sizeof(*two->a.sq.dbrec));
	}
	qw_unmap(two->a.end, two->a.sq.dbrec, sizeof(*two->a.sq.dbrec));
	qw_run(&two->qw);
	assert_false(qw_qp_inside(&two->a)->watched);
}

/* Idle ones leave the lists; a doorbell brings them back, and nothing is taken for missed. */
static void
test_idle_and_back(void **state)
{
	struct qw_two *two = *state;

	for (uint16_t i = 0; i < 3; i++) {
		qw_write(two, RNIC_WQE_CE_ALWAYS);
		qw_go(two);
		qw_done(two, i);
		/* Done with everything; its record is looked at for a while. */
		assert_false(qw_qp_inside(&two->a)->active || qw_qp_inside(&two->b)->active);
		assert_true(qw_qp_inside(&two->a)->watched && !qw_qp_inside(&two->b)->watched);
		qw_poll(&two->qw, 1000);
		assert_false(qw_qp_inside(&two->a)->active || qw_qp_inside(&two->a)->watched);
	}
	assert_int_equal(dp_stats(&two->a.end->dp).doorbells_missed, 0);
}

/* ---- Memory of the device ---- */

/* What the largest queue pairs take is bounded for all of them together, and comes back. */
static void
test_memory_budget(void **state)
{
	struct qw_two *two = *state;
	struct qw_end *end = two->a.end;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct qw_qp *qps = calloc(1000, sizeof(*qps));
	size_t used;
	uint64_t before = end->dp.dev->qps_memory;
	uint32_t count = 0;
	int status;

	conf.log_sq = 15;
	conf.no_rq = true;
	used = end->dp.hn.used;
	for (;;) {
		/* All in the same 2 MiB of the driver's memory, mapped once. */
		status = qw_qp_create(end, &qps[count], &conf);
		if (status != 0)
			break;
		count++;
		end->dp.hn.used = used;
		qw_unmap(end, qps[0].sq.ring, (size_t)RNIC_WQEBB_BYTES << 15);
		qw_unmap(end, qps[0].sq.dbrec, sizeof(*qps[0].sq.dbrec));
		assert_true(count < 1000);
	}
	assert_int_equal(status, RNIC_STATUS_NO_RES);
	assert_true(count > 10);
	assert_true(end->dp.dev->qps_memory <= SOFTRNIC_QP_MEMORY);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(qw_qp_destroy(&qps[i]), 0);
	assert_int_equal(end->dp.dev->qps_memory, before);
	free(qps);
}

/* A device that is reset takes all along, whatever they were doing. */
static void
test_device_reset_under_traffic(void **state)
{
	struct qw_two *two = *state;

	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 3000, NULL);
	softrnic_poll(two->qw.poller);
	assert_int_equal(softrnic_reset(two->b.end->dp.dev), 0);
	qw_run(&two->qw);
	assert_int_equal(two->b.end->dp.dev->qps_memory, 0);
	assert_int_equal(softrnic_reset(two->a.end->dp.dev), 0);
	qw_run(&two->qw);
	assert_true(TAILQ_EMPTY(&two->a.end->dp.dev->active_qps));
	assert_true(TAILQ_EMPTY(&two->a.end->dp.dev->timed_qps));
	assert_true(TAILQ_EMPTY(&two->a.end->dp.dev->swept_qps));
}

/* Of queue pairs without a counter set: the device's own. */
static void
test_device_reset_forgets_what_was_counted(void **state)
{
	struct qw_two *two = *state;
	const struct softrnic *dev = two->b.end->dp.dev;

	qw_execute(two, RNIC_WQE_RDMA_READ, two->out, 64, two->in);
	qw_done(two, 0);
	assert_int_equal(dev->roce_counters.rx_read_requests, 1);
	assert_int_equal(softrnic_reset(two->b.end->dp.dev), 0);
	assert_int_equal(dev->roce_counters.rx_read_requests, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, qw_setup_islands, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_wraps),
		T(test_full_ring),
		T(test_send_record_ahead),
		T(test_send_record_ahead_of_what_is_not_done),
		T(test_send_record_that_goes_back),
		T(test_receive_record_ahead),
		T(test_rings_gone_before_a_send),
		T(test_rings_gone_under_traffic),
		T(test_record_gone),
		T(test_rings_gone_before_a_receive),
		T(test_maps_that_change),
		T(test_payload_gone),
		T(test_many_pieces),
		T(test_segment_over_the_end_of_addresses),
		T(test_atomic_on_memory_askew),
		T(test_send_cq_overrun),
		T(test_receive_cq_overrun),
		T(test_lost_doorbell),
		T(test_record_of_who_sent_lately),
		T(test_one_of_those_who_sent_lately_goes),
		T(test_who_sent_lately_outlives_other_maps),
		T(test_a_quiet_device_looks_at_doorbells_in_each_poll),
		T(test_those_who_sent_lately_are_forgotten_with_the_last),
		T(test_record_of_who_sent_lately_moves),
		T(test_record_seen_before_its_doorbell),
		T(test_idle_and_back),
		T(test_memory_budget),
		T(test_device_reset_under_traffic),
		T(test_device_reset_forgets_what_was_counted),
	};

	return cmocka_run_group_tests_name("qp_ring", tests, NULL, NULL);
}
