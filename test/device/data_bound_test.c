/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a client can make long: ways through flow tables, lists of destinations, chains of entries, page lists, rings to be
 * flushed. A round of the poller stays short, and what the device remembers stays small. Work is counted, not timed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "data_path.h"
#include "prm/list.h"
#include "softrnic/engine/doorbell.h"
#include "softrnic/receive/steer.h"
#include "softrnic/base/work.h"
#include "softrnic/base/ring.h"
#include "softrnic/engine/sq.h"
#include "softrnic/base/object.h"
#include "softrnic/memory/tpt.h"

#define SQS	40
#define LEVELS	4
#define HEADERS 54 /* Ethernet, IPv4, TCP */
#define MSS	100

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *out, *in;
};

static int
setup_wire(struct fixture *f, const char *name, const char *wire)
{
	struct softrnic_conf conf = { .name = name, .wire = wire };
	struct dp_cq_conf cq = { .log_size = 13, .uar = 1, .ignore_overrun = true };
	int k;

	assert_int_equal(dp_open_quick(&f->dp, f->poller, &conf), 0);
	assert_int_equal(dp_cq_create(&f->dp, &f->tx_cq, &cq), 0);
	assert_int_equal(dp_cq_create(&f->dp, &f->rx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(&f->dp, &f->sq, &f->tx_cq, 8, 2, 0), 0);
	assert_int_equal(dp_rq_create(&f->dp, &f->rq, &f->rx_cq, 12, 4), 0);
	assert_int_equal(dp_tir_create(&f->rq), 0);
	f->in = dp_alloc(&f->dp, 2048, 64);
	f->out = dp_alloc(&f->dp, 16384, 64);
	memcpy(f->out + 12, "\x88\xb5", 2);
	for (k = 0; k < 4096; k++)
		dp_post(&f->rq, f->in, 2048);
	dp_rq_record(&f->rq);
	return 0;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	*state = f;
	return setup_wire(f, "bound", "loop");
}

static void
send_frames(struct fixture *f, struct dp_sq *sq, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		dp_wqe(sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
		dp_wqe_data(sq, 2, f->out, 64);
	}
	dp_sq_ring(sq);
}

static int
flow_to_tirs(struct fixture *f, uint32_t table, uint32_t group, uint32_t index,
	     const struct rnic_fte_match_set_lyr_2_4 *value, uint32_t tir, uint32_t count)
{
	struct rnic_flow_destination to[STEER_TIRS_MAX] = { 0 };
	uint32_t i;

	for (i = 0; i < count; i++) {
		to[i] = drv_to_tir(tir);
	}
	return dp_flow_set(&f->dp, table, group, index, value, RNIC_FLOW_ACTION_FWD_DEST, 0, to,
			   count);
}

/* As many groups as a device has, one behind the other; the last one takes all. None of the others has an entry. */
static void
make_long_way(struct fixture *f)
{
	const uint32_t groups = STEER_DEVICE_GROUPS_MAX / LEVELS;
	struct rnic_fte_match_set_lyr_2_4 ports = { 0 };
	uint32_t table = 0, group = 0, level, i;
	int status;

	/* A verdict on ports is remembered for no other frame. */
	rnic_fte_match_set_lyr_2_4_set(&ports, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	for (level = LEVELS; level-- > 0;) {
		table = dp_table_create(&f->dp, level, 10, table);
		for (i = 0; i < groups; i++) {
			group = dp_group_create(&f->dp, table, i, i, i + 1 < groups ? &ports : NULL,
						&status);
			assert_int_equal(status, 0);
		}
		if (level == LEVELS - 1)
			assert_int_equal(
				flow_to_tirs(f, table, group, groups - 1, NULL, f->rq.tirn, 1), 0);
	}
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
}

static void
test_a_long_way_ends_the_turn(void **state)
{
	struct fixture *f = *state;

	make_long_way(f);
	send_frames(f, &f->sq, 100);
	softrnic_poll(f->poller);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 1);
	assert_int_equal(dp_stats(&f->dp).shares_cut, 0);
	/* It is slow, but it goes on. */
	softrnic_poll(f->poller);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 2);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 100);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 0);
}

/* What another device left of its round: nearly a look at the clock, and an end that has gone by. */
static void
test_a_round_does_not_end_with_the_one_before(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;

	softrnic_round_begin(dev->budget, NULL);
	softrnic_share_begin(dev, 1);
	softrnic_spend(dev, SOFTRNIC_LOOK_WORK - 1);
	softrnic_round_begin(dev->budget, dev);
	/* Ahead of the first share: doorbells that are seen, records that are watched. */
	for (unsigned int i = 0; i < 2 * SOFTRNIC_LOOK_WORK; i++) {
		softrnic_spend(dev, 1);
		assert_int_equal(dp_stats(&f->dp).shares_cut, 0);
	}
	assert_false(softrnic_round_is_over(dev));
	/* Nor does the one that was over there keep this one from anything. */
	softrnic_spend(dev, SOFTRNIC_WORK_MAX);
	assert_true(softrnic_share_is_over(dev));
	softrnic_round_begin(dev->budget, dev);
	assert_false(softrnic_share_is_over(dev));
	softrnic_round_begin(dev->budget, NULL);
}

/* What is short costs nothing: a queue has its whole turn. */
static void
test_a_short_way_leaves_the_turn_as_it_is(void **state)
{
	struct fixture *f = *state;
	uint32_t table = dp_table_create(&f->dp, 0, 2, 0), group;
	int status;

	group = dp_group_create(&f->dp, table, 0, 0, NULL, &status);
	assert_int_equal(flow_to_tirs(f, table, group, 0, NULL, f->rq.tirn, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	send_frames(f, &f->sq, 200);
	softrnic_poll(f->poller);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 128);
}

static void
test_long_ways_end_the_round_of_all_queues(void **state)
{
	struct fixture *f = *state;
	struct dp_sq sqs[SQS];
	uint32_t i;

	make_long_way(f);
	for (i = 0; i < SQS; i++) {
		assert_int_equal(dp_sq_create(&f->dp, &sqs[i], &f->tx_cq, 6, 2, 0), 0);
		send_frames(f, &sqs[i], 10);
	}
	softrnic_poll(f->poller);
	/* Each frame counts as 1 and its way as 128. */
	assert_in_range(dp_stats(&f->dp).rx_packets, 1, SOFTRNIC_WORK_MAX / 128);
	assert_int_equal(dp_stats(&f->dp).shares_cut, 1);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).rx_packets, SQS * 10);
}

static void
test_a_large_send_stops_on_long_ways(void **state)
{
	struct fixture *f = *state;
	struct rnic_wqe_eth *eth;
	uint8_t *header;

	make_long_way(f);
	dp_wqe(&f->sq, RNIC_WQE_LSO, 7, RNIC_WQE_CE_ON_ERROR);
	eth = dp_wqe_at(&f->sq, 1);
	eth->mss = rnic_cpu_to_be16(MSS);
	eth->inline_header_size = rnic_cpu_to_be16(HEADERS);
	header = (uint8_t *)dp_wqe_at(&f->sq, 1) +
		 offsetof(struct rnic_wqe_eth, inline_header_start);
	memcpy(header, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0\x45", 15);
	header[14 + 8] = 64;
	header[14 + 9] = 6;
	header[34 + 12] = 0x50;
	dp_wqe_data(&f->sq, 6, f->out, MSS * 100);
	dp_sq_ring(&f->sq);
	softrnic_poll(f->poller);
	/* Of the 100 frames; a turn alone would allow for 127. */
	assert_in_range(dp_stats(&f->dp).rx_packets, 1, SOFTRNIC_WORK_MAX / 128);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 100);
	assert_int_equal(dp_stats(&f->dp).tx_lso, 1);
}

/*
 * Entries of other groups that a frame's own lookups pass by, all in one bucket, as if somebody had found out which groups'
 * lookups meet there.
 */
static void
test_a_way_without_end_leads_nowhere(void **state)
{
	struct fixture *f = *state;
	uint32_t table = dp_table_create(&f->dp, 0, 16, 0), group, last, i;
	const uint32_t entries = 2 * STEER_STEPS_MAX;
	struct rnic_fte_match_set_lyr_2_4 ports = { 0 };
	struct softrnic_steering *steering = f->dp.dev->steering;
	struct flow_entry *chain = NULL;
	int status;

	rnic_fte_match_set_lyr_2_4_set(&ports, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	group = dp_group_create(&f->dp, table, 0, entries - 1, &ports, &status);
	assert_int_equal(status, 0);
	last = dp_group_create(&f->dp, table, entries, entries, NULL, &status);
	assert_int_equal(status, 0);
	/* The lowest index is the first of the chain. */
	for (i = entries; i-- > 0;)
		assert_int_equal(flow_to_tirs(f, table, group, i, &ports, f->rq.tirn, 1), 0);
	assert_int_equal(flow_to_tirs(f, table, last, entries, NULL, f->rq.tirn, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	send_frames(f, &f->sq, 1);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 0);
	for (i = 0; i <= steering->bucket_mask; i++)
		if (steering->buckets[i] != NULL && steering->buckets[i]->next != NULL)
			chain = steering->buckets[i];
	assert_non_null(chain);
	for (i = 0; i <= steering->bucket_mask; i++)
		if (steering->buckets[i] == NULL)
			steering->buckets[i] = chain;
	send_frames(f, &f->sq, 1);
	softrnic_doorbells_poll(f->dp.dev);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 1);
	assert_in_range(f->dp.dev->budget->spent, STEER_STEPS_MAX / 16, STEER_STEPS_MAX / 16 + 8);
}

static void
test_empty_tables_are_steps(void **state)
{
	struct fixture *f = *state;
	uint32_t table = 0, level;

	for (level = 256; level-- > 0;)
		table = dp_table_create(&f->dp, level, 2, table);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	send_frames(f, &f->sq, 1);
	softrnic_doorbells_poll(f->dp.dev);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 1);
	assert_in_range(f->dp.dev->budget->spent, 256 / 16, 256 / 16 + 8);
}

/* Deliveries beyond the first are work, also where the verdict is remembered. */
static void
test_many_destinations_end_the_turn(void **state)
{
	struct fixture *f = *state;
	uint32_t table = dp_table_create(&f->dp, 0, 2, 0), group;
	int status;

	group = dp_group_create(&f->dp, table, 0, 0, NULL, &status);
	assert_int_equal(flow_to_tirs(f, table, group, 0, NULL, f->rq.tirn, STEER_TIRS_MAX), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	send_frames(f, &f->sq, 20);
	softrnic_poll(f->poller);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 128 / STEER_TIRS_MAX);
	assert_true(f->dp.dev->steering->cached);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 20);
	assert_int_equal(dp_stats(&f->dp).cqes, 20 * STEER_TIRS_MAX);
}

/* The way through the peer's tables takes as long: it is in the turn of who sends. */
static void
test_the_peers_tables_end_the_senders_turn(void **state)
{
	struct fixture *f = *state, peer = { .poller = f->poller };
	struct fixture sender = { .poller = f->poller };

	setup_wire(&sender, "sender", "pair:cable");
	setup_wire(&peer, "peer", "pair:cable");
	make_long_way(&peer);
	send_frames(&sender, &sender.sq, 50);
	softrnic_poll(f->poller);
	assert_int_equal(dp_stats(&peer.dp).rx_packets, 1);
	dp_run(&sender.dp);
	assert_int_equal(dp_stats(&peer.dp).rx_packets, 50);
	dp_close(&sender.dp);
	dp_close(&peer.dp);
}

/* Of all tables together; one gone makes room for one. */
static void
test_groups_of_a_device_are_limited(void **state)
{
	struct fixture *f = *state;
	uint32_t first = 0, last = 0, group = 0, i;
	int status;

	for (i = 0; i < STEER_DEVICE_GROUPS_MAX; i++) {
		if (i % STEER_GROUPS_MAX == 0) {
			first = last;
			last = dp_table_create(&f->dp, 0, 11, 0);
		}
		group = dp_group_create(&f->dp, last, i, i, NULL, &status);
		assert_int_equal(status, 0);
	}
	last = dp_table_create(&f->dp, 0, 11, 0);
	dp_group_create(&f->dp, last, 0, 0, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_LIM);
	assert_int_equal(drv_group_destroy(&f->dp.drv, first, 0), 0);
	group = dp_group_create(&f->dp, last, 0, 0, NULL, &status);
	assert_int_equal(status, 0);
	dp_group_create(&f->dp, last, 1, 1, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_LIM);
	/* A device that starts again has none. */
	softrnic_reset(f->dp.dev);
	assert_int_equal(f->dp.dev->steering->group_count, 0);
	(void)group;
}

static void
match_macs(struct rnic_fte_match_set_lyr_2_4 *set, uint64_t word0, uint64_t word1)
{
	memcpy(&set->dw[0], &word0, 8);
	memcpy(&set->dw[2], &word1, 8);
}

static uint32_t
longest_chain(const struct softrnic_steering *steering)
{
	const struct flow_entry *entry;
	uint32_t longest = 0, length, i;

	for (i = 0; i <= steering->bucket_mask; i++) {
		length = 0;
		for (entry = steering->buckets[i]; entry != NULL; entry = entry->next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/*
 * Addresses, types and tags that a hash of shifts and known multiplications would put into one bucket. They spread, and
 * each device has a hash of its own.
 */
static void
test_nobody_knows_what_collides(void **state)
{
	struct fixture *f = *state;
	struct softrnic_conf conf = { .name = "other", .wire = "loop", .seed = 2 };
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	uint32_t table = dp_table_create(&f->dp, 0, 12, 0), group, i, same = 0;
	const struct softrnic_steering *steering = f->dp.dev->steering;
	struct softrnic *other;
	struct steer_key key = { 0 };
	int status;

	match_macs(&set, UINT64_MAX, UINT64_MAX);
	group = dp_group_create(&f->dp, table, 0, 4095, &set, &status);
	assert_int_equal(status, 0);
	for (i = 0; i < 2048; i++) {
		uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15);

		match_macs(&set, i, hash ^ hash >> 32);
		assert_int_equal(flow_to_tirs(f, table, group, i, &set, f->rq.tirn, 1), 0);
	}
	assert_int_equal(steering->entry_count, 2048);
	assert_in_range(longest_chain(steering), 1, 16);
	assert_int_equal(softrnic_create(f->poller, &conf, &other), 0);
	for (i = 0; i < 256; i++) {
		const struct flow_group all = { .words = { 0 },
						.word_count = 1,
						.mask.words = { UINT64_MAX } };

		key.words[0] = i;
		same += (softrnic_steer_hash(steering, &all, &key) & 0xff) ==
			(softrnic_steer_hash(other->steering, &all, &key) & 0xff);
	}
	assert_in_range(same, 0, 16);
	softrnic_destroy(other);
}

/*
 * As many entries as there can be, with many destinations. If each command walked through all of them, as it might to see
 * what changed, this would take the time of 2^36 steps.
 */
static void
test_a_command_does_not_walk_through_all_entries(void **state)
{
	const uint32_t entries = 1u << SOFTRNIC_LOG_MAX_FLOW;
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	uint32_t table = dp_table_create(&f->dp, 0, SOFTRNIC_LOG_MAX_FT_SIZE, 0), group, spare, i;
	int status;

	match_macs(&set, UINT64_MAX, 0);
	group = dp_group_create(&f->dp, table, 0, entries - 1, &set, &status);
	assert_int_equal(status, 0);
	for (i = 0; i < entries; i++) {
		match_macs(&set, i * UINT64_C(0x10001) << 16, 0);
		assert_int_equal(flow_to_tirs(f, table, group, i, &set, f->rq.tirn, 32), 0);
	}
	spare = dp_table_create(&f->dp, 0, 2, 0);
	group = dp_group_create(&f->dp, spare, 0, 1, NULL, &status);
	assert_int_equal(flow_to_tirs(f, spare, group, 0, NULL, f->rq.tirn, 1), RNIC_STATUS_LIM);
	/* One in the middle goes, and there is room for one. */
	softrnic_share_begin(f->dp.dev, 0);
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, entries / 2), 0);
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, entries / 2), RNIC_STATUS_BAD_RES);
	assert_int_equal(flow_to_tirs(f, spare, group, 0, NULL, f->rq.tirn, 1), 0);
	assert_int_equal(flow_to_tirs(f, spare, group, 1, NULL, f->rq.tirn, 1), RNIC_STATUS_LIM);
	assert_in_range(f->dp.dev->budget->spent, 0, 15);
	assert_in_range(longest_chain(f->dp.dev->steering), 1, 16);
}

/* One value, many times: no hash helps, so it is counted. The lowest index wins, whatever came first. */
static void
test_entries_of_one_value_are_charged(void **state)
{
	struct fixture *f = *state;
	uint32_t table = dp_table_create(&f->dp, 0, 12, 0), group, i;
	int status;

	group = dp_group_create(&f->dp, table, 0, 4095, NULL, &status);
	assert_int_equal(status, 0);
	for (i = 1; i < 2048; i++)
		assert_int_equal(flow_to_tirs(f, table, group, i, NULL, f->rq.tirn, 2), 0);
	softrnic_share_begin(f->dp.dev, 0);
	assert_int_equal(flow_to_tirs(f, table, group, 2048, NULL, f->rq.tirn, 1), 0);
	assert_in_range(f->dp.dev->budget->spent, 2047 / 16, 2 * 2048 / 16);
	assert_int_equal(flow_to_tirs(f, table, group, 0, NULL, f->rq.tirn, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	send_frames(f, &f->sq, 1);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).cqes, 1);
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, 0), 0);
	send_frames(f, &f->sq, 1);
	dp_run(&f->dp);
	assert_int_equal(dp_stats(&f->dp).cqes, 3);
}

static bool
verdict_is_kept(struct fixture *f)
{
	send_frames(f, &f->sq, 1);
	dp_run(&f->dp);
	return f->dp.dev->steering->cached;
}

static uint32_t
create_indirect_tir(struct fixture *f)
{
	struct drv_tir tir = { .td = f->dp.td };
	uint32_t tirn;

	assert_int_equal(drv_rqt_create(&f->dp.drv, &f->rq.rqn, 1, &tir.rqtn), 0);
	assert_int_equal(drv_tir_create(&f->dp.drv, &tir, &tirn), 0);
	return tirn;
}

/* What stands in the way of a kept verdict comes and goes, in any order; each of it counts once. */
static void
test_verdicts_are_kept_again_when_nothing_speaks_against_it(void **state)
{
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 ports = { 0 }, source = { 0 };
	uint32_t table = dp_table_create(&f->dp, 0, 4, 0), group, deep, exact, tir;
	uint64_t mask;
	int status;

	tir = create_indirect_tir(f);
	group = dp_group_create(&f->dp, table, 0, 1, NULL, &status);
	assert_int_equal(flow_to_tirs(f, table, group, 0, NULL, f->rq.tirn, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	assert_true(verdict_is_kept(f));
	mask = f->dp.dev->steering->cache_mask[0];
	rnic_fte_match_set_lyr_2_4_set(&ports, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	deep = dp_group_create(&f->dp, table, 2, 3, &ports, &status);
	assert_int_equal(status, 0);
	assert_false(verdict_is_kept(f));
	assert_int_equal(flow_to_tirs(f, table, group, 1, NULL, tir, 3), 0);
	assert_int_equal(drv_group_destroy(&f->dp.drv, table, deep), 0);
	assert_false(verdict_is_kept(f));
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, 1), 0);
	assert_true(verdict_is_kept(f));
	/* A source address that no group asks for any more makes no difference to the verdict. */
	match_macs(&source, UINT64_C(0xffffffffffff), 0);
	exact = dp_group_create(&f->dp, table, 4, 5, &source, &status);
	assert_int_equal(status, 0);
	assert_true(verdict_is_kept(f));
	assert_true(f->dp.dev->steering->cache_mask[0] != mask);
	assert_int_equal(drv_group_destroy(&f->dp.drv, table, exact), 0);
	assert_true(f->dp.dev->steering->cache_mask[0] == mask);
	assert_true(verdict_is_kept(f));
}

/* ---- Lists of other objects ---- */

/* The error of one frame, or a command, does not flush tens of thousands of WQEs at once; the sweep does the rest. */
static void
test_a_long_ring_is_flushed_in_pieces(void **state)
{
	struct fixture *f = *state;
	uint32_t flushed = 0;

	/* Its record is read where it is flushed. */
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	while (dp_cq_next(&f->rx_cq) != NULL)
		flushed++;
	assert_in_range(flushed, 1, 1024);
	dp_run(&f->dp);
	while (dp_cq_next(&f->rx_cq) != NULL)
		flushed++;
	assert_int_equal(flushed, 4096);
}

/* Looking for it is charged, in vain, and the queue rests at last. */
static void
test_a_ring_out_of_reach_is_no_work(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	struct softrnic_sq *sq;
	struct dp_sq large;
	uint32_t i;

	assert_int_equal(dp_sq_create(&f->dp, &large, &f->tx_cq, 12, 2, 0), 0);
	send_frames(f, &large, 1);
	softrnic_poll(f->poller);
	assert_false(TAILQ_EMPTY(&dev->active_sqs));
	sq = softrnic_object_get(dev, SOFTRNIC_SQ, large.sqn);
	for (i = 0; i < sq->ring.page_count; i++)
		sq->ring.pages[i] = UINT64_C(1) << 50;
	/* All is looked up anew. */
	assert_int_equal(softrnic_dma_map(dev, UINT64_C(1) << 51, 4096, f->in, SOFTRNIC_DMA_READ),
			 0);
	for (i = 0; i < 1000; i++)
		softrnic_poll(f->poller);
	assert_true(TAILQ_EMPTY(&dev->active_sqs));
	assert_int_equal(softrnic_poll(f->poller), 0);
}

/* A CQ whose page list names one page all the time. */
static int
create_cq_of_one_page(struct fixture *f, uint32_t log_size, uint32_t *cqn)
{
	const uint64_t iova = dp_iova(&f->dp, f->out) & ~UINT64_C(4095);
	const struct drv_pages ring = { .iova = iova,
					.count = (uint32_t)((UINT64_C(64) << log_size) / 4096) };

	return drv_cq_create(&f->dp.drv,
			     &(struct drv_cq){ .log_size = log_size,
					       .uar = f->dp.uars[1],
					       .eqn = f->dp.eqn,
					       .dbrec = iova,
					       .ring = ring },
			     cqn);
}

static void
test_page_lists_of_rings_have_a_budget(void **state)
{
	struct fixture *f = *state;
	const uint64_t before = f->dp.dev->rings_memory;
	uint32_t cqn, other;

	assert_int_equal(create_cq_of_one_page(f, 20, &cqn), 0);
	assert_int_equal(f->dp.dev->rings_memory - before, ((64u << 20) / 4096) * 16);
	/* As if the rest were of other queues: one more of these is too much. */
	f->dp.dev->rings_memory +=
		SOFTRNIC_RING_MEMORY - before - 2 * ((64u << 20) / 4096) * 16 + 1;
	assert_int_equal(create_cq_of_one_page(f, 20, &other), RNIC_STATUS_NO_RES);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_CQ, cqn), 0);
	assert_int_equal(create_cq_of_one_page(f, 20, &other), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_CQ, other), 0);
	f->dp.dev->rings_memory -=
		SOFTRNIC_RING_MEMORY - before - 2 * ((64u << 20) / 4096) * 16 + 1;
	assert_int_equal(f->dp.dev->rings_memory, before);
}

/* Of so many pages, each of them so far behind the one before it. */
static uint32_t
create_key_of(struct fixture *f, uint32_t pages, uint64_t iova, uint64_t step)
{
	uint32_t key;

	assert_int_equal(dp_key_create(&f->dp, pages, 12, iova, step, &key), 0);
	return key;
}

/* They are one and the same: no two of them are neighbours, so the key has chunks. */
static uint32_t
create_key(struct fixture *f, uint32_t pages)
{
	return create_key_of(f, pages, dp_iova(&f->dp, f->out) & ~UINT64_C(4095), 0);
}

static int
reach(struct fixture *f, uint32_t key, uint64_t va)
{
	struct iovec iov[2];

	return softrnic_tpt_translate(f->dp.dev, key << 8, f->dp.pd, va, 64, SOFTRNIC_LOCAL_READ,
				      iov, 2);
}

static void
test_chunks_of_keys_are_in_the_budget_of_translations(void **state)
{
	struct fixture *f = *state;
	uint64_t *bytes = &f->dp.dev->translation_bytes, before = *bytes;
	struct softrnic_mkey *mkey;
	uint32_t key;

	softrnic_share_begin(f->dp.dev, 0);
	key = create_key(f, 256);
	assert_int_equal(*bytes - before, 256 * 8 + 256 * 8);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
	assert_int_equal(*bytes, before);
	/* Room for the translations alone: the key is as good, but slower. */
	*bytes = SOFTRNIC_TRANSLATION_MEMORY - 256 * 8;
	key = create_key(f, 256);
	mkey = softrnic_object_get(f->dp.dev, SOFTRNIC_MKEY, key);
	assert_null(mkey->chunks);
	assert_int_equal(reach(f, key, 77 * 4096 + 5), 1);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
	*bytes = before;
}

/* The map changes, and every key in use is looked at anew: not all of them in one turn. */
static void
test_long_keys_are_not_looked_at_anew_at_the_end_of_a_turn(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	const struct softrnic_mkey *mkey;
	static uint8_t more[4096];
	uint32_t key;

	softrnic_share_begin(dev, 0);
	key = create_key(f, 1024);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	assert_int_equal(mkey->generation, dev->dma_generation);
	assert_in_range(dev->budget->spent, 1024 / 16, 1024 / 4);
	assert_int_equal(
		softrnic_dma_map(dev, UINT64_C(1) << 50, sizeof(more), more, SOFTRNIC_DMA_READ), 0);
	dev->budget->spent = SOFTRNIC_WORK_MAX;
	assert_int_equal(reach(f, key, 1023 * 4096), 1);
	assert_int_not_equal(mkey->generation, dev->dma_generation);
	assert_int_equal(dev->budget->spent, SOFTRNIC_WORK_MAX);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(f, key, 1023 * 4096), 1);
	assert_int_equal(mkey->generation, dev->dma_generation);
	assert_in_range(dev->budget->spent, 1024 / 16, 1024 / 4);
}

/* That a key of very many pages is one piece is found out in several accesses, each of which works. */
static void
test_very_long_keys_are_looked_at_in_pieces(void **state)
{
	enum { PAGES = 1 << 18, PIECE = 1 << 14 };
	const uint64_t iova = UINT64_C(1) << 44, bytes = UINT64_C(4096) * PAGES;
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	const struct softrnic_mkey *mkey;
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint32_t key, accesses = 0;

	assert_true(memory != MAP_FAILED);
	assert_int_equal(softrnic_dma_map(dev, iova, bytes, memory, SOFTRNIC_DMA_READ), 0);
	softrnic_share_begin(dev, 0);
	key = create_key_of(f, PAGES, iova, 4096);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	for (; mkey->flat == NULL; accesses++) {
		assert_in_range(accesses, 0, PAGES / PIECE);
		softrnic_share_begin(dev, 0);
		assert_int_equal(reach(f, key, bytes - 64), 1);
		assert_in_range(dev->budget->spent, 1, PIECE / 16 + 8);
	}
	assert_ptr_equal(mkey->flat, memory);
	assert_in_range(accesses, PAGES / PIECE - 1, PAGES / PIECE);
	/* The map changes: all of it once more; and what is known after the first piece does not outlive the memory either. */
	assert_int_equal(softrnic_dma_unmap(dev, iova, bytes), 0);
	assert_null(mkey->flat);
	assert_int_equal(softrnic_dma_map(dev, iova, bytes, memory, SOFTRNIC_DMA_READ), 0);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(f, key, 0), 1);
	assert_null(mkey->flat);
	assert_int_equal(softrnic_dma_unmap(dev, iova, bytes), 0);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(f, key, 0), -EFAULT);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
	munmap(memory, bytes);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, dp_teardown)
	const struct CMUnitTest tests[] = {
		T(a_long_way_ends_the_turn),
		T(a_round_does_not_end_with_the_one_before),
		T(a_short_way_leaves_the_turn_as_it_is),
		T(long_ways_end_the_round_of_all_queues),
		T(a_large_send_stops_on_long_ways),
		T(a_way_without_end_leads_nowhere),
		T(empty_tables_are_steps),
		T(many_destinations_end_the_turn),
		T(the_peers_tables_end_the_senders_turn),
		T(groups_of_a_device_are_limited),
		T(nobody_knows_what_collides),
		T(a_command_does_not_walk_through_all_entries),
		T(entries_of_one_value_are_charged),
		T(verdicts_are_kept_again_when_nothing_speaks_against_it),
		T(a_long_ring_is_flushed_in_pieces),
		T(a_ring_out_of_reach_is_no_work),
		T(page_lists_of_rings_have_a_budget),
		T(chunks_of_keys_are_in_the_budget_of_translations),
		T(long_keys_are_not_looked_at_anew_at_the_end_of_a_turn),
		T(very_long_keys_are_looked_at_in_pieces),
	};
#undef T

	return cmocka_run_group_tests_name("data_bound", tests, NULL, NULL);
}
