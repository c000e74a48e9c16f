/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When a driver sees completions: in order, several at once, all of them before the round ends and before anything else
 * tells of them. Within a round a test calls the device's parts itself, under the lock as a poll has it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "data_expect.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"
#include "softrnic/hca/cmdq.h"
#include "../counts.h"
#include "test_clock.h"
#include "softrnic/base/object.h"

#define CQ_LOG	   5
#define CQ_ENTRIES (1u << CQ_LOG)
#define QUEUE_LOG  8
#define BUFFER	   2048u
#define FRAMES_MAX 40u

struct fixture {
	struct softrnic_poller *poller;
	struct dp_side ends[2]; /* of a pair wire */
	struct dp *dp;		/* the first end's */
	struct dp_cq cq;	/* there, which the tests complete in by hand */
	uint32_t posted;
	uint32_t seen, interrupts; /* entries of `cq` that the first interrupt found */
};

static void
open_end(struct fixture *f, struct dp_side *end, const char *name)
{
	const struct dp_cq_conf cq = { .log_size = QUEUE_LOG + 1, .uar = 1 };
	const struct dp_side_conf conf = { .device = { .name = name, .wire = "pair:batch" },
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = QUEUE_LOG,
					   .sq_uar = 2,
					   .rq_log_size = QUEUE_LOG,
					   .rq_log_stride = 4,
					   .out_bytes = BUFFER,
					   .in_bytes = (size_t)BUFFER << QUEUE_LOG };

	assert_int_equal(dp_side_open(end, f->poller, &conf), 0);
	memset(end->out, 2, BUFFER);
}

static void
create_cq(struct fixture *f, const struct dp_cq_conf *conf)
{
	assert_int_equal(dp_cq_create(f->dp, &f->cq, conf), 0);
	f->posted = 0;
}

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = CQ_LOG, .uar = 1 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	open_end(f, &f->ends[0], "batch0");
	open_end(f, &f->ends[1], "batch1");
	f->dp = &f->ends[0].dp;
	/* A poll to have a command executed would end with all entries seen. */
	hn_quick(&f->dp->hn);
	create_cq(f, &cq);
	while (dp_eq_next(f->dp) != NULL)
		;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	dp_close(&f->ends[0].dp);
	dp_close(&f->ends[1].dp);
	assert_int_equal(softrnic_poller_destroy(f->poller), 0);
	free(f);
	return 0;
}

static struct softrnic_cq *
inside(const struct fixture *f)
{
	return softrnic_object_get(f->dp->dev, SOFTRNIC_CQ, f->cq.cqn);
}

/* What the data path does for so many packets of a round. */
static void
complete(struct fixture *f, uint32_t count)
{
	struct softrnic_cq *cq = inside(f);
	struct rnic_cqe *cqe;

	for (; count > 0; count--) {
		cqe = softrnic_cq_claim(f->dp->dev, cq);
		assert_non_null(cqe);
		cqe->wqe_counter = rnic_cpu_to_be16((uint16_t)f->posted++);
		softrnic_cq_publish_soon(f->dp->dev, cq, cqe, RNIC_CQE_REQUESTER, false);
	}
}

/* Entries that a driver finds, each the next one. The consumer index stays as it is. */
static uint32_t
visible(const struct fixture *f)
{
	struct dp_cq cq = f->cq;
	const struct rnic_cqe *cqe;

	while (cq.consumer - f->cq.consumer < 1u << cq.log_size &&
	       (cqe = dp_cq_peek(&cq)) != NULL) {
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), cq.consumer & 0xffff);
		cq.consumer++;
	}
	return cq.consumer - f->cq.consumer;
}

/* An MSI-X handler: the driver looks now. */
static void
interrupt(void *arg, unsigned int vector)
{
	struct fixture *f = arg;

	(void)vector;
	if (f->interrupts++ == 0)
		f->seen = visible(f);
}

static void
arm_interrupt(struct fixture *f)
{
	const struct rnic_be32 word =
		rnic_cpu_to_be32(f->dp->eqn << 24 | (f->dp->eq_consumer & 0xffffff));
	const uint64_t page = (uint64_t)f->dp->uars[0] * RNIC_UAR_PAGE_BYTES;

	assert_int_equal(softrnic_set_interrupt(f->dp->dev, 0, interrupt, f), 0);
	assert_int_equal(
		softrnic_bar_write(f->dp->dev, page + RNIC_UAR_EQ_ARM, &word, sizeof(word)), 0);
}

/* ---- Within a round ---- */

/* What the data path does for a burst of packets. */
static struct softrnic_cq_burst
complete_burst(struct fixture *f, uint32_t count)
{
	struct softrnic *dev = f->dp->dev;
	struct softrnic_cq_burst burst;
	struct rnic_cqe *cqe;
	uint8_t op_own;

	assert_int_equal(softrnic_cq_burst_open(dev, inside(f), count, &burst), count);
	for (uint32_t i = 0; i < count; i++) {
		cqe = softrnic_cq_burst_claim(dev, &burst, i, RNIC_CQE_REQUESTER, &op_own);
		cqe->wqe_counter = rnic_cpu_to_be16((uint16_t)f->posted++);
		softrnic_cq_burst_put(cqe, op_own);
	}
	return burst;
}

/* None of it is seen before it ends; a short one waits as part of a batch. */
static void
a_burst_is_seen_when_it_ends(void **state)
{
	struct fixture *f = *state;
	struct softrnic_cq_burst burst;

	burst = complete_burst(f, 3);
	assert_int_equal(visible(f), 0);
	softrnic_cq_burst_close(f->dp->dev, &burst, 3);
	assert_int_equal(visible(f), 0);
	complete(f, 2);
	assert_int_equal(visible(f), 0);
	burst = complete_burst(f, SOFTRNIC_CQ_BATCH - 5);
	assert_int_equal(visible(f), 0);
	softrnic_cq_burst_close(f->dp->dev, &burst, SOFTRNIC_CQ_BATCH - 5);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH);
	burst = complete_burst(f, 2);
	softrnic_cq_burst_close(f->dp->dev, &burst, 2);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH + 2);
}

static void
entries_are_seen_together(void **state)
{
	struct fixture *f = *state;
	const uint8_t *second = f->cq.ring + 2 * sizeof(struct rnic_cqe) - 1;

	complete(f, 3);
	assert_int_equal(visible(f), 0);
	/* Only the first one's owner byte is missing. */
	assert_int_equal(RNIC_CQE_OPCODE(*second), RNIC_CQE_REQUESTER);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), 3);
	complete(f, 1);
	assert_int_equal(visible(f), 3);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), 4);
}

static void
a_full_batch_is_seen(void **state)
{
	struct fixture *f = *state;

	complete(f, SOFTRNIC_CQ_BATCH - 1);
	assert_int_equal(visible(f), 0);
	complete(f, 1);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH);
	complete(f, 1);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), SOFTRNIC_CQ_BATCH + 1);
}

/* Queue pairs complete so, and errors. */
static void
an_entry_that_does_not_wait_takes_the_others_along(void **state)
{
	struct fixture *f = *state;

	complete(f, 3);
	assert_int_equal(softrnic_cq_post_error(f->dp->dev, inside(f), RNIC_CQE_REQUESTER_ERROR,
						RNIC_SYND_WR_FLUSHED, 0, 0, 0,
						(uint16_t)f->posted++),
			 0);
	assert_int_equal(visible(f), 4);
	complete(f, 2);
	assert_int_equal(visible(f), 4);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), 6);
}

/* The dump shows the entry as it stands in the ring. */
static void
a_dumped_entry_is_whole(void **state)
{
	struct fixture *f = *state;

	/* By hand: it is the log level's when a CQ is made, and this one's test looks at single completions. */
	f->dp->dev->dump_queues = true;
	complete(f, 1);
	assert_int_equal(visible(f), 1);
	complete(f, 1);
	assert_int_equal(visible(f), 2);
}

static void
rings_shorter_than_a_batch(void **state)
{
	struct fixture *f = *state;

	for (uint32_t log_size = 0; log_size < 4; log_size++) {
		const struct dp_cq_conf conf = { .log_size = log_size,
						 .uar = 1,
						 .ignore_overrun = true };
		const uint32_t entries = 1u << log_size;

		create_cq(f, &conf);
		for (uint32_t count = 1; count <= 3 * entries; count++) {
			complete(f, 1);
			/* Once around, and what the ring holds is all there. */
			if (count % entries == 0)
				assert_int_equal(visible(f), entries);
			if (count % entries == 0)
				f->cq.consumer += entries;
		}
		complete(f, 1);
		softrnic_cq_flush(f->dp->dev);
		assert_int_equal(visible(f), 1);
	}
}

static void
collapsed_entries_do_not_wait(void **state)
{
	const struct dp_cq_conf conf = {
		.log_size = 1, .uar = 1, .collapsed = true, .ignore_overrun = true
	};
	const struct rnic_cqe *cqe;
	struct fixture *f = *state;

	create_cq(f, &conf);
	cqe = (const struct rnic_cqe *)f->cq.ring;
	for (uint32_t i = 0; i < 40; i++) {
		complete(f, 1);
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), i);
		assert_int_equal(cqe->op_own, RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER, i >> 1 & 1));
	}
}

/* ---- What tells of them comes later ---- */

static void
an_event_comes_after_them(void **state)
{
	const uint32_t data[7] = { 0 };
	struct fixture *f = *state;

	arm_interrupt(f);
	complete(f, 3);
	softrnic_event(f->dp->dev, RNIC_EVENT_PORT_CHANGE, RNIC_PORT_CHANGE_ACTIVE, data);
	assert_int_equal(f->interrupts, 1);
	assert_int_equal(f->seen, 3);
}

/* In the middle of a round: a doorbell arms, or the sweep finds the record. */
static void
a_completion_event_comes_after_them(void **state)
{
	struct fixture *f = *state;

	arm_interrupt(f);
	complete(f, 3);
	softrnic_cq_arm_doorbell(f->dp->dev, 0, f->cq.cqn);
	assert_int_equal(f->interrupts, 1);
	assert_int_equal(f->seen, 3);
	dp_expect_event(f->dp, RNIC_EVENT_COMPLETION);
}

static void
an_overrun_comes_after_them(void **state)
{
	struct fixture *f = *state;

	complete(f, 3);
	softrnic_cq_flush(f->dp->dev);
	arm_interrupt(f);
	complete(f, CQ_ENTRIES - 3);
	assert_int_not_equal(visible(f), CQ_ENTRIES);
	assert_null(softrnic_cq_claim(f->dp->dev, inside(f)));
	assert_int_equal(f->seen, CQ_ENTRIES);
	dp_expect_event(f->dp, RNIC_EVENT_CQ_ERROR);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), CQ_ENTRIES);
}

/* Its event waits, they do not. */
static void
moderation_holds_no_entry_back(void **state)
{
	const struct dp_cq_conf conf = {
		.log_size = CQ_LOG, .uar = 1, .max_count = 8, .period_us = 4000
	};
	struct fixture *f = *state;

	create_cq(f, &conf);
	softrnic_cq_arm_doorbell(f->dp->dev, 0, f->cq.cqn);
	complete(f, 3);
	softrnic_poll(f->poller);
	assert_null(dp_eq_next(f->dp));
	assert_int_equal(visible(f), 3);
	/* The time is over, and others have come: in the middle of a round, to be sure. */
	arm_interrupt(f);
	complete(f, 2);
	test_clock_advance_us(4000);
	softrnic_cq_release(f->dp->dev);
	assert_int_equal(f->interrupts, 1);
	assert_int_equal(f->seen, 5);
}

/* ---- Commands ---- */

/* Whoever sees the answer sees what was completed before. */
static void
a_command_is_answered_after_them(void **state)
{
	struct fixture *f = *state;
	struct rnic_cmd_in in = { 0 };
	struct rnic_cmd_out out;

	drv_head(&in, RNIC_CMD_NOP, 0);
	hn_cmd_post(&f->dp->hn, 0, &in, sizeof(in), sizeof(out));
	assert_int_equal(hn_ring(&f->dp->hn, 1), 0);
	complete(f, 3);
	assert_int_equal(visible(f), 0);
	assert_int_equal(softrnic_cmdq_poll(f->dp->dev), 1);
	assert_int_equal(hn_cmd_result(&f->dp->hn, 0, &out, sizeof(out)), RNIC_STATUS_OK);
	assert_int_equal(visible(f), 3);
}

/* A ring of so many entries takes the old one's place, which remains in `old`. */
static void
resize(struct fixture *f, uint32_t log_size, struct dp_cq *old)
{
	struct {
		struct rnic_modify_cq_in in;
		struct rnic_be64 page;
	} in = { 0 };
	struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(&in.in);
	const size_t bytes = sizeof(struct rnic_cqe) << log_size;

	*old = f->cq;
	f->cq.log_size = log_size;
	f->cq.ring = dp_alloc(f->dp, bytes, 4096);
	memset(f->cq.ring, 0xff, bytes);
	in.page = rnic_cpu_to_be64(dp_iova(f->dp, f->cq.ring));
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_CQN, f->cq.cqn);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_RESIZE_CQ_RING);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, log_size);
	assert_int_equal(dp_command(f->dp, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE, &in,
				    sizeof(in), NULL, 0),
			 0);
}

static void
a_resize_ends_the_old_ring_behind_them(void **state)
{
	struct fixture *f = *state;
	struct dp_cq old;

	complete(f, 3);
	resize(f, CQ_LOG + 1, &old);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&old)->op_own), RNIC_CQE_REQUESTER);
	assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&old)->op_own), RNIC_CQE_RESIZE);
	/* The next one has the next number, in the new ring. */
	f->cq.consumer = old.consumer;
	f->posted++;
	complete(f, 2);
	assert_int_equal(visible(f), 0);
	softrnic_cq_flush(f->dp->dev);
	assert_int_equal(visible(f), 2);
	assert_null(dp_cq_peek(&old));
}

static void
a_resize_makes_batches_no_longer_than_the_ring(void **state)
{
	struct fixture *f = *state;
	struct dp_cq old;

	complete(f, 3);
	softrnic_cq_flush(f->dp->dev);
	f->cq.consumer = 3;
	f->cq.dbrec->consumer_index = rnic_cpu_to_be32(3);
	resize(f, 2, &old);
	f->cq.consumer++;
	f->cq.dbrec->consumer_index = rnic_cpu_to_be32(f->cq.consumer);
	f->posted++;
	complete(f, 4);
	assert_int_equal(visible(f), 4);
}

static void
a_cq_is_destroyed_after_them(void **state)
{
	struct fixture *f = *state;

	complete(f, 3);
	assert_int_equal(dp_destroy(f->dp, RNIC_CMD_DESTROY_CQ, f->cq.cqn), 0);
	assert_int_equal(visible(f), 3);
	/* Nobody writes there any more. */
	memset(f->cq.ring, 0xff, 64);
	softrnic_poll(f->poller);
	assert_int_equal(visible(f), 0);
}

static void
a_function_is_torn_down_after_them(void **state)
{
	struct fixture *f = *state;

	complete(f, 3);
	assert_int_equal(drv_simple(&f->dp->drv, RNIC_CMD_TEARDOWN_HCA, 0, NULL), 0);
	assert_int_equal(visible(f), 3);
	softrnic_poll(f->poller);
	assert_int_equal(visible(f), 3);
}

/* ---- Rounds ---- */

/* A device that died in this round executes nothing, but what it has completed it has. */
static void
a_dead_device_holds_nothing_back(void **state)
{
	struct fixture *f = *state;

	complete(f, 3);
	assert_int_equal(softrnic_fault(f->dp->dev, SOFTRNIC_FAULT_FATAL, 1), 0);
	softrnic_poll(f->poller);
	assert_int_equal(visible(f), 3);
}

static void
post_all(struct dp_side *end)
{
	while ((uint16_t)(end->rq.producer - end->rx_cq.consumer) < 1u << QUEUE_LOG)
		dp_post(&end->rq, end->in + (size_t)(end->rq.producer % (1u << QUEUE_LOG)) * BUFFER,
			BUFFER);
	dp_rq_record(&end->rq);
}

static void
send(struct dp_side *end, uint32_t count)
{
	for (; count > 0; count--) {
		dp_wqe(&end->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&end->sq, 2, end->out, 60 + ((end->sq.producer - 1) & 0x3ff));
	}
	dp_sq_ring(&end->sq);
}

static uint32_t
reap(struct dp_cq *cq)
{
	const struct rnic_cqe *cqe;
	uint32_t n = 0;

	for (; (cqe = dp_cq_next(cq)) != NULL; n++)
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), (cq->consumer - 1) & 0xffff);
	return n;
}

/* Both ways, so that one device is polled before who sends to it. */
static void
a_round_ends_with_all_entries_seen(void **state)
{
	struct fixture *f = *state;
	uint64_t seen = 0, before = dp_stats(&f->ends[0].dp).cqes + dp_stats(&f->ends[1].dp).cqes;

	for (uint32_t count = 1; count <= FRAMES_MAX; count++) {
		for (unsigned int i = 0; i < 2; i++) {
			post_all(&f->ends[i]);
			send(&f->ends[i], count);
		}
		do {
			softrnic_poll(f->poller);
			for (unsigned int i = 0; i < 2; i++)
				seen += reap(&f->ends[i].tx_cq) + reap(&f->ends[i].rx_cq);
			assert_int_equal(dp_stats(&f->ends[0].dp).cqes +
						 dp_stats(&f->ends[1].dp).cqes - before,
					 seen);
		} while (f->ends[0].tx_cq.consumer != f->ends[0].sq.producer ||
			 f->ends[1].tx_cq.consumer != f->ends[1].sq.producer);
	}
	assert_int_equal(seen, 2 * FRAMES_MAX * (FRAMES_MAX + 1));
}

/* ---- A driver on another core ---- */

struct consumer {
	struct dp_side *end;
	uint32_t count;
	_Atomic uint32_t taken;
	uint32_t wrong;
};

/* Each entry that shows is the next one, whole, and so is its frame. */
static void *
consume(void *arg)
{
	struct consumer *c = arg;
	struct dp_side *end = c->end;
	const struct rnic_cqe *cqe;
	uint32_t n = 0, bytes;
	const uint8_t *frame;

	while (n < c->count) {
		cqe = dp_cq_next(&end->rx_cq);
		if (cqe == NULL) {
			sched_yield();
			continue;
		}
		bytes = 60 + (n & 0x3ff);
		frame = end->in + (size_t)(n % (1u << QUEUE_LOG)) * BUFFER;
		c->wrong += rnic_be16_to_cpu(cqe->wqe_counter) != (uint16_t)n ||
			    rnic_be32_to_cpu(cqe->byte_count) != bytes || frame[0] != 2 ||
			    frame[bytes - 1] != 2;
		n++;
		post_all(end);
		atomic_store(&c->taken, n);
	}
	return NULL;
}

static void
another_thread_takes_them_in_order(void **state)
{
	struct fixture *f = *state;
	struct dp_side *from = &f->ends[0];
	struct consumer c = { .end = &f->ends[1], .count = full_run() ? 2000000 : 20000 };
	uint32_t sent = 0, count = 0;
	pthread_t thread;

	post_all(c.end);
	assert_int_equal(pthread_create(&thread, NULL, consume, &c), 0);
	while (atomic_load(&c.taken) < c.count) {
		count = count % FRAMES_MAX + 1;
		if (count > c.count - sent)
			count = c.count - sent;
		/* Never more than there are buffers for. */
		if (count > 0 && sent - atomic_load(&c.taken) + count < 1u << QUEUE_LOG &&
		    (uint16_t)(from->sq.producer - from->tx_cq.consumer) + count <
			    1u << QUEUE_LOG) {
			send(from, count);
			sent += count;
		} else {
			sched_yield();
		}
		softrnic_poll(f->poller);
		reap(&from->tx_cq);
	}
	pthread_join(thread, NULL);
	assert_int_equal(c.wrong, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_are_seen_together),
		TEST(a_burst_is_seen_when_it_ends),
		TEST(a_full_batch_is_seen),
		TEST(an_entry_that_does_not_wait_takes_the_others_along),
		TEST(a_dumped_entry_is_whole),
		TEST(rings_shorter_than_a_batch),
		TEST(collapsed_entries_do_not_wait),
		TEST(an_event_comes_after_them),
		TEST(a_completion_event_comes_after_them),
		TEST(an_overrun_comes_after_them),
		TEST(moderation_holds_no_entry_back),
		TEST(a_command_is_answered_after_them),
		TEST(a_resize_ends_the_old_ring_behind_them),
		TEST(a_resize_makes_batches_no_longer_than_the_ring),
		TEST(a_cq_is_destroyed_after_them),
		TEST(a_function_is_torn_down_after_them),
		TEST(a_dead_device_holds_nothing_back),
		TEST(a_round_ends_with_all_entries_seen),
		TEST(another_thread_takes_them_in_order),
	};

	return cmocka_run_group_tests_name("data_batch", tests, NULL, NULL);
}
