/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Double fetch: a thread rewrites rings, doorbell records, command entries and mailboxes while the device works on them.
 * Whatever the device has read once and checked must be what it goes by. It is built with its audit on: each access to
 * host memory is held against the map, where it is done; and AddressSanitizer watches in its build.
 *
 * What the thread writes is good most of the time, or nothing would ever get beyond the first check: it flips fields
 * between values that pass and values that do not.
 *
 * 10^7 WQEs, 10^6 in the default run. Not for ThreadSanitizer: here the data races are the test.
 */

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../counts.h"
#include "data_path.h"
#include "driver/vport.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/log.h"
#include "softrnic/base/random.h"

#define LOG_RING     6
#define RQ_LOG_WQE   6 /* four segments */
#define FRAME_ROOM   2048
#define BLOCKS	     4
#define BATCH	     48
#define COMMAND_EACH 8 /* rounds */

struct victim {
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *payload;
	uint32_t lkey;
	struct rnic_cmdq_entry *entry;
	uint8_t *in, *out;
	atomic_bool stop;
	uint64_t random; /* the scribbler's */
	uint64_t scribbles;
};

static void
put32(void *at, uint32_t value)
{
	__atomic_store_n((uint32_t *)at, RNIC_SWAP32(value), __ATOMIC_RELAXED);
}

static void
put64(void *at, uint64_t value)
{
	__atomic_store_n((uint64_t *)at, RNIC_SWAP64(value), __ATOMIC_RELAXED);
}

/* ---- What the thread writes ---- */

/* A length, a key, an address: sometimes one that must not pass. */
static void
scribble_segment(struct victim *v, struct rnic_wqe_data *seg, uint64_t r)
{
	static const uint32_t lengths[] = { 60, 64,	    1500,	200,	   1,
					    0,	0x7fffffff, 0x80000010, 0xffffffff };
	bool bad = (r >> 8 & 0x1f) == 0;

	switch (r >> 16 & 3) {
	case 0: put32(&seg->byte_count, lengths[(r >> 20) % (bad ? 9 : 4)]); break;
	case 1: put32(&seg->lkey, v->lkey ^ (bad ? (uint32_t)(r >> 32) : 0)); break;
	default:
		put64(&seg->address, (uintptr_t)v->payload + (r >> 24) % (BATCH * FRAME_ROOM) +
					     (bad ? r << 20 : 0));
	}
}

static void
scribble_sq(struct victim *v, uint64_t r)
{
	uint32_t slot = (uint32_t)(r >> 40) & ((1u << LOG_RING) - 1);
	uint8_t *wqe = v->sq.ring + (size_t)slot * RNIC_WQEBB_BYTES;
	bool bad = (r >> 8 & 0x7f) == 0;
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)wqe;

	switch (r & 7) {
	case 0: /* the length, which says where everything is */
		put32(&ctrl->qpn_ds,
		      RNIC_WQE_CTRL_DW1(v->sq.sqn, bad ? r >> 20 & 63 : 3 + (r >> 20 & 1)));
		break;
	case 1: put32(&ctrl->opmod_idx_opcode, bad ? (uint32_t)(r >> 30) : RNIC_WQE_SEND); break;
	case 2: /* inline bytes, or none */
		put32(wqe + 16 + 12, (bad ? (uint32_t)(r >> 20 & 0x3ff) : (r >> 20 & 1) * 18)
					     << 16);
		break;
	case 3:
		if (bad)
			put64(wqe + (r >> 20 & 56), softrnic_splitmix64(&v->random));
		break;
	default: scribble_segment(v, (struct rnic_wqe_data *)(wqe + 32 + (r >> 20 & 16)), r);
	}
}

static void
scribble_rq(struct victim *v, uint64_t r)
{
	uint32_t slot = (uint32_t)(r >> 40) & ((1u << LOG_RING) - 1);
	uint8_t *wqe = v->rq.ring + ((size_t)slot << RQ_LOG_WQE);

	scribble_segment(v, (struct rnic_wqe_data *)(wqe + (r >> 20 & 48)), r);
}

static void
scribble_records(struct victim *v, uint64_t r)
{
	/* Both are far too often wrong for any work: seldom. */
	if ((r >> 8 & 0x3ff) != 0)
		return;
	put32((uint8_t *)v->sq.dbrec + (r >> 24 & 4), (uint32_t)(r >> 32));
	put32((uint8_t *)v->rq.dbrec + (r >> 25 & 4), (uint32_t)(r >> 40));
	put32((uint8_t *)v->tx_cq.dbrec + 4, (uint32_t)(r >> 30));
}

static void
scribble_command(struct victim *v, uint64_t r)
{
	struct rnic_cmdq_block *block =
		(struct rnic_cmdq_block *)((r & 8 ? v->in : v->out) +
					   (r >> 20 & 3) * RNIC_CMDQ_BLOCK_ALIGN);

	switch (r >> 4 & 7) {
	case 0:
		put32(&v->entry->input_length, (uint32_t)(r >> 32) & (r & 1 ? 0x7ff : 0xffffff));
		break;
	case 1:
		put32(&v->entry->output_length, (uint32_t)(r >> 32) & (r & 1 ? 0x7ff : 0xffffff));
		break;
	case 2:
		put64(&block->next, dp_iova(&v->dp, v->in) + (r >> 30 & 7) * RNIC_CMDQ_BLOCK_ALIGN);
		break;
	case 3: put64(&v->entry->output_mailbox, r << 10); break;
	case 4: put32(&block->block_number, (uint32_t)(r >> 30) & 3); break;
	default: put64(block->data + (r >> 30 & 0x1f8), softrnic_splitmix64(&v->random));
	}
}

static void *
scribbler(void *arg)
{
	struct victim *v = arg;

	while (!atomic_load_explicit(&v->stop, memory_order_relaxed)) {
		uint64_t r = softrnic_splitmix64(&v->random);

		scribble_sq(v, r);
		r = softrnic_splitmix64(&v->random);
		scribble_rq(v, r);
		scribble_records(v, r >> 4);
		scribble_command(v, softrnic_splitmix64(&v->random));
		v->scribbles += 4;
	}
	return NULL;
}

/* ---- The driver that it does that to ---- */

static void
post_all(struct victim *v)
{
	uint32_t i;

	for (i = 0; i < 1u << LOG_RING; i++)
		dp_post(&v->rq, v->payload + (size_t)(i % BATCH) * FRAME_ROOM, FRAME_ROOM);
	dp_rq_record(&v->rq);
}

/* Commands of the fixture, past the queue that is scribbled over. */
static void
revive(struct victim *v)
{
	uint32_t state = dp_sq_state(&v->sq);

	if (state != RNIC_WQ_STATE_RDY) {
		assert_int_equal(dp_sq_modify(&v->sq, state, RNIC_WQ_STATE_RST), 0);
		v->sq.producer = 0;
		dp_sq_record(&v->sq);
		assert_int_equal(dp_sq_modify(&v->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	}
	state = dp_rq_state(&v->rq);
	if (state != RNIC_WQ_STATE_RDY) {
		assert_int_equal(dp_rq_modify(&v->rq, state, RNIC_WQ_STATE_RST), 0);
		v->rq.producer = 0;
		assert_int_equal(dp_rq_modify(&v->rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
		post_all(v);
	}
}

/* A good command of some blocks, with room for an answer of some; what becomes of it nobody knows. */
static void
command(struct victim *v, uint64_t r)
{
	_Alignas(8) uint8_t in[0x300] = { 0 };

	switch (r % 5) {
	case 0:
		drv_head(in, RNIC_CMD_QUERY_HCA_CAP, RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, 1));
		break;
	case 1:
		drv_mkey_fill(in, &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
						      .log_page_size = 12,
						      .pd = v->dp.pd,
						      .length = 8 << 12,
						      .pages = { DP_IOVA, 4096, 8 } });
		break;
	case 2:
		drv_head(in, RNIC_CMD_QUERY_SQ, 0);
		rnic_object_in_set((void *)in, RNIC_OBJECT_IN_NUMBER, v->sq.sqn);
		break;
	case 3:
		drv_vport_fill(in, &(struct drv_vport){ .select = RNIC_NIC_VPORT_PROMISC,
							.promisc_all = true });
		break;
	default: drv_tir_fill(in, &(struct drv_tir){ .td = v->dp.td, .rqn = v->rq.rqn });
	}
	hn_cmd_post(&v->dp.hn, 0, in, sizeof(in), 0x600);
	assert_int_equal(hn_ring(&v->dp.hn, 1), 0);
}

/* Beside the door that the fixture's own commands go by. A first command, which is not rung, makes its blocks. */
static void
set_command_queue(struct victim *v)
{
	static const uint8_t in[16 + BLOCKS * sizeof(((struct rnic_cmdq_block *)0)->data)];
	struct hn *hn = &v->dp.hn;

	assert_int_equal(hn_open_cmdq(hn), 0);
	hn_cmd_post(hn, 0, in, sizeof(in), sizeof(in));
	v->entry = hn_slot(hn, 0);
	v->in = hn_at(hn, hn->slots[0].in);
	v->out = hn_at(hn, hn->slots[0].out);
}

static void
victim_open(struct victim *v, struct softrnic_poller *poller)
{
	const struct softrnic_conf conf = { .name = "victim", .seed = 1 };
	const struct dp_cq_conf cq_conf = { .log_size = LOG_RING,
					    .uar = 1,
					    .ignore_overrun = true };

	memset(v, 0, sizeof(*v));
	v->random = 1;
	/* Nothing but what is used is mapped: an access beside it is seen. */
	assert_int_equal(dp_open_islands(&v->dp, poller, &conf, true), 0);
	assert_int_equal(dp_cq_create(&v->dp, &v->tx_cq, &cq_conf), 0);
	assert_int_equal(dp_cq_create(&v->dp, &v->rx_cq, &cq_conf), 0);
	assert_int_equal(dp_sq_create(&v->dp, &v->sq, &v->tx_cq, LOG_RING, 1,
				      DP_SQ_FLUSH | DP_SQ_MULTI_PACKET),
			 0);
	assert_int_equal(dp_rq_create(&v->dp, &v->rq, &v->rx_cq, LOG_RING, RQ_LOG_WQE), 0);
	assert_int_equal(dp_steer_all(&v->rq), 0);
	v->payload = dp_alloc(&v->dp, (size_t)BATCH * FRAME_ROOM, 4096);
	assert_non_null(v->payload);
	v->lkey = v->dp.lkey;
	set_command_queue(v);
	post_all(v);
}

static void
round_of_work(struct victim *v, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		dp_wqe(&v->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		dp_wqe_data(&v->sq, 2, v->payload + (size_t)i * FRAME_ROOM, 64 + i);
	}
	/* The device reads the record by itself from here on. */
	dp_sq_ring(&v->sq);
	if (number % COMMAND_EACH == 0)
		command(v, number / COMMAND_EACH);
	for (i = 0; i < 4; i++)
		softrnic_poll(v->dp.poller);
	v->rq.producer = (uint16_t)(v->rq.producer + BATCH);
	dp_rq_record(&v->rq);
	revive(v);
}

/* Work of every kind, and refusals, or the test would say little. */
static bool
of_every_kind(const struct softrnic_stats *stats)
{
	return stats->tx_errors > 0 && stats->rx_errors > 0 && stats->tpt_faults > 0 &&
	       stats->commands > stats->commands_failed && stats->commands_failed > 0;
}

static void
test_memory_changes_under_the_device(void **state)
{
	const uint64_t goal = default_run() ? 1000000 : 10000000;
	struct softrnic_stats stats = { 0 };
	static struct victim v;
	struct softrnic_poller *poller;
	unsigned int number = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(softrnic_poller_create(&poller), 0);
	victim_open(&v, poller);
	rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_CRIT);
	assert_int_equal(pthread_create(&thread, NULL, scribbler, &v), 0);
	/* The scribbler may have been kept from its work. */
	while ((stats.wqes < goal || !of_every_kind(&stats)) && number < goal) {
		round_of_work(&v, number++);
		stats = dp_stats(&v.dp);
	}
	atomic_store(&v.stop, true);
	pthread_join(thread, NULL);
	print_message("# %" PRIu64 " WQEs, %" PRIu64 " frames sent, %" PRIu64 " received, %" PRIu64
		      " commands, %" PRIu64 " queue errors, %" PRIu64 " accesses refused, %" PRIu64
		      " words scribbled, %llu DMA accesses audited\n",
		      stats.wqes, stats.tx_packets, stats.rx_packets, stats.commands,
		      stats.tx_errors + stats.rx_errors, stats.tpt_faults, v.scribbles,
		      atomic_load(&softrnic_audit_accesses));
	assert_true(stats.wqes >= goal);
	assert_true(stats.rx_packets > goal / 100);
	assert_true(of_every_kind(&stats));
	assert_int_equal(atomic_load(&softrnic_audit_violations), 0);

	/* So many objects are freed over some rounds. */
	softrnic_reset(v.dp.dev);
	dp_run(&v.dp);
	assert_int_equal(dp_stats(&v.dp).objects, 0);
	dp_close(&v.dp);
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

/* The audit itself: an access that the map does not have is counted. */
static void
test_audit_sees_what_is_not_mapped(void **state)
{
	const struct softrnic_conf conf = { .name = "audit", .seed = 1 };
	struct softrnic_poller *poller;
	uint8_t *memory;
	struct dp dp;

	(void)state;
	assert_int_equal(softrnic_poller_create(&poller), 0);
	assert_int_equal(dp_open_islands(&dp, poller, &conf, false), 0);
	memory = dp_alloc(&dp, 100, 64);
	softrnic_audit(dp.dev, memory, 100, SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	softrnic_audit(dp.dev, memory + 99, 1, SOFTRNIC_DMA_WRITE);
	assert_int_equal(atomic_load(&softrnic_audit_violations), 0);
	softrnic_audit(dp.dev, memory, 101, SOFTRNIC_DMA_READ);
	softrnic_audit(dp.dev, memory + 100, 1, SOFTRNIC_DMA_READ);
	softrnic_audit(dp.dev, memory - 1, 2, SOFTRNIC_DMA_READ);
	assert_int_equal(atomic_exchange(&softrnic_audit_violations, 0), 3);
	dp_close(&dp);
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_audit_sees_what_is_not_mapped),
		cmocka_unit_test(test_memory_changes_under_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
