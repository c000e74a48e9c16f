/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The same traffic on the same bad wire, once with packets that stay descriptors, once with frames of bytes: what becomes of
 * it must be the same, to the poll. Which traffic, which faults and which attributes follows from a seed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../counts.h"
#include "near_end.h"
#include "qp_mix.h"
/* What the transport remembers, and what the device counts of it. */
#include "softrnic/base/device.h"
#include "softrnic/receive/qp.h"

/* A queue pair, apart from numbers that are drawn anew and memory that is elsewhere. */
struct ended {
	enum roce_state state;
	uint32_t tail, next, fresh, head, sent, psn, high, una, rd_atomics, retries, rnr_retries;
	bool gone_back, retry, resume;
	uint32_t expected, msn, message, gap, ack, nak, syndrome, pending, oldest, recv_held;
	uint16_t sq_consumer, rq_consumer;
};

#define FRAMES 8

struct outcome {
	struct qm mix;
	struct ended ended[2];
	struct roce_counters counters[2];
	/* sent, bytes, arrived; dropped, doubled, late, damaged; refused for that */
	uint64_t frames[2][FRAMES];
	uint8_t memory[2][QM_BYTES];
};

/* ---- One run ---- */

static struct qw_conf
conf_of(struct qm *qm, uint64_t seed)
{
	const uint32_t worst = 1 + qm_below(qm, 4) * qm_below(qm, 4) * 12000;

	return (struct qw_conf){
		.pair = qm_below(qm, 4) != 0,
		.ipv6 = qm_below(qm, 2),
		.seed = seed + 1,
		.drop_ppm = qm_below(qm, worst),
		.dup_ppm = qm_below(qm, worst),
		.reorder_ppm = qm_below(qm, worst),
		.corrupt_ppm = qm_below(qm, worst),
	};
}

static struct qw_attr
attr_of(struct qm *qm)
{
	struct qw_attr attr = qw_attr();

	attr.mtu = RNIC_QP_MTU_256 + qm_below(qm, 3);
	attr.psn = qm_below(qm, 2) ? 0xfffff0 : qm_below(qm, 1 << 24);
	attr.timeout = (uint8_t)(4 + qm_below(qm, 3));
	attr.retry_count = (uint8_t)qm_below(qm, 8);
	attr.rnr_retry = (uint8_t)qm_below(qm, 8);
	attr.min_rnr_timer = (uint8_t)(1 + qm_below(qm, 6));
	return attr;
}

static void
note_qp(struct ended *ended, struct qw_qp *qp)
{
	const struct softrnic_qp *inside = qw_qp_inside(qp);
	const struct roce_requester *req = &inside->roce.requester;
	const struct roce_responder *resp = &inside->roce.responder;

	ended->state = inside->roce.state;
	ended->tail = req->tail;
	ended->next = req->next;
	ended->fresh = req->fresh;
	ended->head = req->head;
	ended->sent = req->sent;
	ended->psn = req->psn;
	ended->high = req->high;
	ended->una = req->una;
	ended->rd_atomics = req->rd_atomics;
	ended->retries = req->retries;
	ended->rnr_retries = req->rnr_retries;
	ended->gone_back = req->gone_back;
	ended->retry = req->retry_at != 0;
	ended->resume = req->resume_at != 0;
	ended->expected = resp->psn;
	ended->msn = resp->msn;
	ended->message = resp->message;
	ended->gap = resp->gap;
	ended->ack = resp->ack;
	ended->nak = resp->nak;
	ended->syndrome = resp->syndrome;
	ended->pending = resp->pending;
	ended->oldest = resp->oldest;
	ended->recv_held = resp->recv_held;
	ended->sq_consumer = inside->sq_consumer;
	ended->rq_consumer = inside->rq.consumer;
}

static void
note_end(struct outcome *o, unsigned int i, struct qw_end *end)
{
	const struct softrnic_stats stats = dp_stats(&end->dp);
	const uint64_t frames[FRAMES] = { stats.tx_packets, stats.tx_bytes, stats.rx_packets,
					  stats.wire_dropped, stats.wire_duplicated,
					  stats.wire_reordered, stats.wire_corrupted,
					  /* damaged bytes may be no packet at all */
					  stats.roce_icrc_errors + stats.roce_malformed };

	memcpy(o->frames[i], frames, sizeof(frames));
	o->counters[i] = end->dp.dev->roce_counters;
	memcpy(o->memory[i], qm_memory(&o->mix, i), QM_BYTES);
}

static struct outcome *
outcome_of(uint64_t seed, bool bytes)
{
	struct outcome *o = calloc(1, sizeof(*o));
	struct qw_conf conf;
	struct qw_attr attr;

	assert_non_null(o);
	qm_seed(&o->mix, seed);
	conf = conf_of(&o->mix, seed);
	attr = attr_of(&o->mix);
	conf.bytes = bytes;
	o->mix.bad_keys = 5;
	o->mix.two = qw_two_open(&conf);
	qw_two_connect(o->mix.two, &attr);
	qw_fill(o->mix.two->out, QM_WORD, (uint32_t)seed);
	qw_fill(o->mix.two->in, QM_WORD, (uint32_t)seed + 1);
	qm_run(&o->mix);
	note_qp(&o->ended[0], &o->mix.two->a);
	note_qp(&o->ended[1], &o->mix.two->b);
	for (unsigned int i = 0; i < 2; i++)
		note_end(o, i, o->mix.two->qw.ends[i]);
	qw_two_close(o->mix.two);
	return o;
}

/* ---- The same? ---- */

static void
same_completions(const struct qm *a, const struct qm *b, uint64_t seed)
{
	for (uint32_t i = 0; i < a->count || i < b->count; i++) {
		const struct qm_seen *x = &a->seen[i], *y = &b->seen[i];

		if (memcmp(x, y, sizeof(*x)) != 0)
			fail_msg(
				"seed %u, completion %u: at poll %u of queue %u: opcode 0x%x, syndrome 0x%x, request %u, "
				"%u bytes; as bytes: at poll %u of queue %u: opcode 0x%x, syndrome 0x%x, request %u, %u bytes",
				(unsigned int)seed, i, x->poll, x->queue, x->opcode, x->syndrome,
				x->counter, x->bytes, y->poll, y->queue, y->opcode, y->syndrome,
				y->counter, y->bytes);
	}
}

static void
same(const struct outcome *a, const struct outcome *b, uint64_t seed)
{
	same_completions(&a->mix, &b->mix, seed);
	assert_memory_equal(a->ended, b->ended, sizeof(a->ended));
	assert_memory_equal(a->counters, b->counters, sizeof(a->counters));
	assert_memory_equal(a->frames, b->frames, sizeof(a->frames));
	for (unsigned int i = 0; i < 2; i++)
		assert_memory_equal(a->memory[i], b->memory[i], QM_BYTES);
}

/* What is compared must have happened: over all seeds, each kind of fault and each way to end. */
struct totals {
	uint64_t faults[4], naks, timeouts, rnr, implied, in_error, in_rts;
};

static void
add_up(struct totals *all, const struct outcome *o)
{
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int fault = 0; fault < 4; fault++)
			all->faults[fault] += o->frames[i][3 + fault];
		all->naks += o->counters[i].packet_seq_err;
		all->timeouts += o->counters[i].local_ack_timeout_err;
		all->rnr += o->counters[i].rnr_nak_retry_err;
		all->implied += o->counters[i].implied_nak_seq_err;
		all->in_error += o->ended[i].state == ROCE_ERR;
		all->in_rts += o->ended[i].state == ROCE_RTS;
	}
}

static void
test_descriptors_and_bytes_fare_the_same(void **state)
{
	const uint64_t seeds = full_run() ? 10000 : 120;
	struct totals all = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct outcome *elided = outcome_of(seed, false), *bytes = outcome_of(seed, true);

		same(elided, bytes, seed);
		add_up(&all, elided);
		free(elided);
		free(bytes);
	}
	printf("# %u seeds: %u dropped, %u doubled, %u late, %u damaged; %u queue pairs in ERR\n",
	       (unsigned int)seeds, (unsigned int)all.faults[0], (unsigned int)all.faults[1],
	       (unsigned int)all.faults[2], (unsigned int)all.faults[3],
	       (unsigned int)all.in_error);
	for (unsigned int fault = 0; fault < 4; fault++)
		assert_true(all.faults[fault] > 0);
	assert_true(all.naks > 0 && all.timeouts > 0 && all.rnr > 0 && all.implied > 0);
	assert_true(all.in_error > 0 && all.in_rts > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors_and_bytes_fare_the_same),
	};

	return cmocka_run_group_tests_name("qp_same", tests, NULL, NULL);
}
