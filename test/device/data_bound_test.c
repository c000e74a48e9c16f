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

#include "data_world.h"
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/engine/doorbell.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/steer.h"
#include "softrnic/base/work.h"
#include "softrnic/base/ring.h"
#include "softrnic/engine/sq.h"

#define SQS	40
#define LEVELS	4
#define HEADERS 54 /* Ethernet, IPv4, TCP */
#define MSS	100

static void
send_frames(struct dw *w, struct dp_sq *sq, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		dp_wqe(sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
		dp_wqe_data(sq, 2, w->out, 64);
	}
	dp_sq_ring(sq);
}

/* From that many sources, beginning with the first'th: nobody else's verdict is theirs. */
static void
send_unlike_frames(struct dw *w, struct dp_sq *sq, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		uint8_t *frame = w->out + (size_t)i * 16;

		frame[10] = (uint8_t)(i >> 8);
		frame[11] = (uint8_t)i;
		dp_wqe(sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
		dp_wqe_data(sq, 2, frame, 64);
	}
	dp_sq_ring(sq);
}

/* To the first queue, so many times. */
static int
flow_to_first(struct dw *w, uint32_t table, uint32_t group, uint32_t index,
	      const struct rnic_fte_match_set_lyr_2_4 *value, uint32_t count)
{
	struct rnic_flow_destination to[STEER_TIRS_MAX];

	for (uint32_t i = 0; i < count; i++)
		to[i] = w->to[0];
	return drv_fte_set(&w->dp.drv, &(struct drv_fte){ .table = table,
							  .group = group,
							  .index = index,
							  .value = value,
							  .to = to,
							  .count = count });
}

/* A group of all indices from `start` to `end`, which asks for nothing. */
static uint32_t
group_of_all(struct dw *w, uint32_t table, uint32_t start, uint32_t end)
{
	return dw_group(w, &(struct drv_group){ table, start, end });
}

/* A verdict on ports is not one on all frames from and to the same addresses. */
static uint32_t
group_of_ports(struct dw *w, uint32_t table, uint32_t start, uint32_t end)
{
	return dw_group(w, &(struct drv_group){ table, start, end,
						.match = { DRV_IS(TCP_DPORT, 0xffff) } });
}

static uint32_t
group_of_sources(struct dw *w, uint32_t table, uint32_t start, uint32_t end)
{
	return dw_group(w, &(struct drv_group){ table, start, end,
						.match = { DRV_IS(SMAC_15_0, 0xffff) } });
}

/* As many groups as a device has, one behind the other; the last one takes all. None of the others has an entry. */
static void
make_long_way(struct dw *w)
{
	const uint32_t last = STEER_DEVICE_GROUPS_MAX / LEVELS - 1;
	uint32_t table = 0, group, level, i;

	for (level = LEVELS; level-- > 0;) {
		table = dw_table(w, level, 10, table);
		for (i = 0; i < last; i++)
			group_of_sources(w, table, i, i);
		group = group_of_all(w, table, last, last);
		if (level == LEVELS - 1)
			assert_int_equal(flow_to_first(w, table, group, last, NULL, 1), 0);
	}
	dw_root(w, table);
}

static void
test_a_long_way_ends_the_turn(void **state)
{
	struct dw *w = *state;

	make_long_way(w);
	send_unlike_frames(w, &w->sq, 0, 100);
	softrnic_poll(w->poller);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 1);
	assert_int_equal(dp_stats(&w->dp).shares_cut, 0);
	/* It is slow, but it goes on. */
	softrnic_poll(w->poller);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 2);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 100);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 0);
}

/* What another device left of its round: nearly a look at the clock, and an end that has gone by. */
static void
test_a_round_does_not_end_with_the_one_before(void **state)
{
	struct dw *w = *state;
	struct softrnic *dev = w->dp.dev;

	softrnic_round_begin(dev->budget, NULL);
	softrnic_share_begin(dev, 1);
	softrnic_spend(dev, SOFTRNIC_LOOK_WORK - 1);
	softrnic_round_begin(dev->budget, dev);
	/* Ahead of the first share: doorbells that are seen, records that are watched. */
	for (unsigned int i = 0; i < 2 * SOFTRNIC_LOOK_WORK; i++) {
		softrnic_spend(dev, 1);
		assert_int_equal(dp_stats(&w->dp).shares_cut, 0);
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
	struct dw *w = *state;

	dw_root_to_first(w);
	send_frames(w, &w->sq, 200);
	softrnic_poll(w->poller);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 128);
}

static void
test_long_ways_end_the_round_of_all_queues(void **state)
{
	struct dw *w = *state;
	struct dp_sq sqs[SQS];
	uint32_t i;

	make_long_way(w);
	for (i = 0; i < SQS; i++) {
		assert_int_equal(dp_sq_create(&w->dp, &sqs[i], &w->tx_cq, 6, 2, 0), 0);
		send_unlike_frames(w, &sqs[i], i * 10, 10);
	}
	softrnic_poll(w->poller);
	/* Each frame counts as 1 and its way as 128. */
	assert_in_range(dp_stats(&w->dp).rx_packets, 1, SOFTRNIC_WORK_MAX / 128);
	assert_int_equal(dp_stats(&w->dp).shares_cut, 1);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).rx_packets, SQS * 10);
}

static void
test_a_large_send_stops_on_long_ways(void **state)
{
	struct dw *w = *state;
	const uint32_t table = dw_table(w, 0, 2, 0), group = group_of_all(w, table, 0, 0);
	struct rnic_wqe_eth *eth;
	uint8_t *header;

	/* Its frames look alike to all tables, but each has as many destinations. */
	assert_int_equal(flow_to_first(w, table, group, 0, NULL, STEER_TIRS_MAX), 0);
	dw_root(w, table);
	dp_wqe(&w->sq, RNIC_WQE_LSO, 7, RNIC_WQE_CE_ON_ERROR);
	eth = dp_wqe_at(&w->sq, 1);
	eth->mss = rnic_cpu_to_be16(MSS);
	eth->inline_header_size = rnic_cpu_to_be16(HEADERS);
	header = (uint8_t *)dp_wqe_at(&w->sq, 1) +
		 offsetof(struct rnic_wqe_eth, inline_header_start);
	memcpy(header, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0\x45", 15);
	header[14 + 8] = 64;
	header[14 + 9] = 6;
	header[34 + 12] = 0x50;
	dp_wqe_data(&w->sq, 6, w->out, MSS * 100);
	dp_sq_ring(&w->sq);
	softrnic_poll(w->poller);
	/* Of the 100 frames; a turn alone would allow for 127. */
	/* All destinations but the first count. */
	assert_in_range(dp_stats(&w->dp).rx_packets, 1,
			SOFTRNIC_WORK_MAX / (STEER_TIRS_MAX - 1) + 1);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 100);
	assert_int_equal(dp_stats(&w->dp).tx_lso, 1);
}

/*
 * Entries of other groups that a frame's own lookups pass by, all in one bucket, as if somebody had found out which groups'
 * lookups meet there.
 */
static void
test_a_way_without_end_leads_nowhere(void **state)
{
	struct dw *w = *state;
	const uint32_t table = dw_table(w, 0, 16, 0), entries = 2 * STEER_STEPS_MAX;
	const uint32_t group = group_of_ports(w, table, 0, entries - 1);
	const uint32_t last = group_of_all(w, table, entries, entries);
	struct rnic_fte_match_set_lyr_2_4 ports = { 0 };
	struct softrnic_steering *steering = w->dp.dev->steering;
	struct flow_entry *chain = NULL;
	uint32_t i;

	rnic_fte_match_set_lyr_2_4_set(&ports, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	/* The lowest index is the first of the chain. */
	for (i = entries; i-- > 0;)
		assert_int_equal(flow_to_first(w, table, group, i, &ports, 1), 0);
	assert_int_equal(flow_to_first(w, table, last, entries, NULL, 1), 0);
	dw_root(w, table);
	send_frames(w, &w->sq, 1);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 0);
	for (i = 0; i <= steering->bucket_mask; i++)
		if (steering->buckets[i] != NULL && steering->buckets[i]->next != NULL)
			chain = steering->buckets[i];
	assert_non_null(chain);
	/* By hand: the device's secret says which bucket a group's entries are in, and no driver finds it out. */
	for (i = 0; i <= steering->bucket_mask; i++)
		if (steering->buckets[i] == NULL)
			steering->buckets[i] = chain;
	/* ... whose first verdict on such a frame it is. */
	softrnic_steering_changed(w->dp.dev);
	send_frames(w, &w->sq, 1);
	softrnic_doorbells_poll(w->dp.dev);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 1);
	assert_in_range(w->dp.dev->budget->spent, STEER_STEPS_MAX / 16, STEER_STEPS_MAX / 16 + 8);
}

static void
test_empty_tables_are_steps(void **state)
{
	struct dw *w = *state;
	uint32_t table = 0, level;

	for (level = 256; level-- > 0;)
		table = dw_table(w, level, 2, table);
	dw_root(w, table);
	send_frames(w, &w->sq, 1);
	softrnic_doorbells_poll(w->dp.dev);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 1);
	assert_in_range(w->dp.dev->budget->spent, 256 / 16, 256 / 16 + 8);
}

/* Deliveries beyond the first are work, also where the verdict is remembered. */
static void
test_many_destinations_end_the_turn(void **state)
{
	struct dw *w = *state;
	const uint32_t table = dw_table(w, 0, 2, 0), group = group_of_all(w, table, 0, 0);

	assert_int_equal(flow_to_first(w, table, group, 0, NULL, STEER_TIRS_MAX), 0);
	dw_root(w, table);
	send_frames(w, &w->sq, 20);
	softrnic_poll(w->poller);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 128 / STEER_TIRS_MAX);
	assert_true(w->dp.dev->steering->cached);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 20);
	assert_int_equal(dp_stats(&w->dp).cqes, 20 * STEER_TIRS_MAX);
}

/* The way through the peer's tables takes as long: it is in the turn of who sends. */
static void
test_the_peers_tables_end_the_senders_turn(void **state)
{
	const struct softrnic_conf conf = { .name = "sender", .wire = "pair:cable" };
	const struct softrnic_conf other = { .name = "peer", .wire = "pair:cable" };
	struct dw *w = *state, sender, peer;

	assert_int_equal(dp_open_quick(&sender.dp, w->poller, &conf), 0);
	assert_int_equal(dp_open_quick(&peer.dp, w->poller, &other), 0);
	dw_open(&sender);
	dw_open(&peer);
	make_long_way(&peer);
	send_frames(&sender, &sender.sq, 50);
	softrnic_poll(w->poller);
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
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	uint32_t first = 0, last = 0, i;

	for (i = 0; i < STEER_DEVICE_GROUPS_MAX; i++) {
		if (i % STEER_GROUPS_MAX == 0) {
			first = last;
			last = dw_table(w, 0, 11, 0);
		}
		group_of_all(w, last, i, i);
	}
	last = dw_table(w, 0, 11, 0);
	assert_int_equal(drv_group_create(drv, &(struct drv_group){ last, 0, 0 }, NULL),
			 RNIC_STATUS_LIM);
	assert_int_equal(drv_group_destroy(drv, first, 0), 0);
	group_of_all(w, last, 0, 0);
	assert_int_equal(drv_group_create(drv, &(struct drv_group){ last, 1, 1 }, NULL),
			 RNIC_STATUS_LIM);
	/* A device that starts again has none. */
	softrnic_reset(w->dp.dev);
	assert_int_equal(w->dp.dev->steering->group_count, 0);
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
	struct dw *w = *state;
	struct softrnic_conf conf = { .name = "other", .wire = "loop", .seed = 2 };
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	uint32_t table = dw_table(w, 0, 12, 0), group, i, same = 0;
	const struct softrnic_steering *steering = w->dp.dev->steering;
	struct softrnic *other;
	struct steer_key key = { 0 };

	match_macs(&set, UINT64_MAX, UINT64_MAX);
	group = dw_group(w, &(struct drv_group){ table, 0, 4095, &set });
	for (i = 0; i < 2048; i++) {
		uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15);

		match_macs(&set, i, hash ^ hash >> 32);
		assert_int_equal(flow_to_first(w, table, group, i, &set, 1), 0);
	}
	assert_int_equal(steering->entry_count, 2048);
	assert_in_range(longest_chain(steering), 1, 16);
	assert_int_equal(softrnic_create(w->poller, &conf, &other), 0);
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
	struct dw *w = *state;
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	uint32_t table = dw_table(w, 0, SOFTRNIC_LOG_MAX_FT_SIZE, 0), group, spare, i;

	match_macs(&set, UINT64_MAX, 0);
	group = dw_group(w, &(struct drv_group){ table, 0, entries - 1, &set });
	for (i = 0; i < entries; i++) {
		match_macs(&set, i * UINT64_C(0x10001) << 16, 0);
		assert_int_equal(flow_to_first(w, table, group, i, &set, 32), 0);
	}
	spare = dw_table(w, 0, 2, 0);
	group = group_of_all(w, spare, 0, 1);
	assert_int_equal(flow_to_first(w, spare, group, 0, NULL, 1), RNIC_STATUS_LIM);
	/* One in the middle goes, and there is room for one. */
	softrnic_share_begin(w->dp.dev, 0);
	assert_int_equal(drv_fte_delete(&w->dp.drv, table, entries / 2), 0);
	assert_int_equal(drv_fte_delete(&w->dp.drv, table, entries / 2), RNIC_STATUS_BAD_RES);
	assert_int_equal(flow_to_first(w, spare, group, 0, NULL, 1), 0);
	assert_int_equal(flow_to_first(w, spare, group, 1, NULL, 1), RNIC_STATUS_LIM);
	assert_in_range(w->dp.dev->budget->spent, 0, 15);
	assert_in_range(longest_chain(w->dp.dev->steering), 1, 16);
}

/* One value, many times: no hash helps, so it is counted. The lowest index wins, whatever came first. */
static void
test_entries_of_one_value_are_charged(void **state)
{
	struct dw *w = *state;
	uint32_t table = dw_table(w, 0, 12, 0), group = group_of_all(w, table, 0, 4095), i;

	for (i = 1; i < 2048; i++)
		assert_int_equal(flow_to_first(w, table, group, i, NULL, 2), 0);
	softrnic_share_begin(w->dp.dev, 0);
	assert_int_equal(flow_to_first(w, table, group, 2048, NULL, 1), 0);
	assert_in_range(w->dp.dev->budget->spent, 2047 / 16, 2 * 2048 / 16);
	assert_int_equal(flow_to_first(w, table, group, 0, NULL, 1), 0);
	dw_root(w, table);
	send_frames(w, &w->sq, 1);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).cqes, 1);
	assert_int_equal(drv_fte_delete(&w->dp.drv, table, 0), 0);
	send_frames(w, &w->sq, 1);
	dp_run(&w->dp);
	assert_int_equal(dp_stats(&w->dp).cqes, 3);
}

static bool
verdict_is_kept(struct dw *w)
{
	send_frames(w, &w->sq, 1);
	dp_run(&w->dp);
	return w->dp.dev->steering->cached;
}

static struct rnic_flow_destination
create_indirect_tir(struct dw *w)
{
	struct drv_tir tir = { .td = w->dp.td };
	uint32_t tirn;

	assert_int_equal(drv_rqt_create(&w->dp.drv, &w->rq[0].rqn, 1, &tir.rqtn), 0);
	assert_int_equal(drv_tir_create(&w->dp.drv, &tir, &tirn), 0);
	return drv_to_tir(tirn);
}

/* What stands in the way of a kept verdict comes and goes, in any order; each of it counts once. */
static void
test_verdicts_are_kept_again_when_nothing_speaks_against_it(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	const uint64_t *mask = &w->dp.dev->steering->mask.words[0];
	const struct rnic_flow_destination indirect = create_indirect_tir(w);
	const struct rnic_flow_destination to[] = { indirect, indirect, indirect };
	struct drv_fte entries[] = { { .to = w->to, .count = 1 }, { .to = to, .count = 3 } };
	uint32_t table, deep, exact;
	uint64_t before;

	assert_int_equal(drv_table_of(drv, 0, 0, entries, 2, &table), 0);
	assert_int_equal(drv_fte_set(drv, &entries[0]), 0);
	dw_root(w, table);
	assert_true(verdict_is_kept(w));
	before = *mask;
	deep = group_of_ports(w, table, 2, 3);
	assert_false(verdict_is_kept(w));
	assert_int_equal(drv_fte_set(drv, &entries[1]), 0);
	assert_int_equal(drv_group_destroy(drv, table, deep), 0);
	assert_false(verdict_is_kept(w));
	assert_int_equal(drv_fte_delete(drv, table, 1), 0);
	assert_true(verdict_is_kept(w));
	/* A source address that no group asks for any more makes no difference to the verdict. */
	exact = dw_group(
		w, &(struct drv_group){ table, 4, 5,
					.match = { DRV_IS(SMAC_47_16, 0), DRV_IS(SMAC_15_0, 0) } });
	assert_true(verdict_is_kept(w));
	assert_true(*mask != before);
	assert_int_equal(drv_group_destroy(drv, table, exact), 0);
	assert_true(*mask == before);
	assert_true(verdict_is_kept(w));
}

/* ---- Lists of other objects ---- */

/* The error of one frame, or a command, does not flush tens of thousands of WQEs at once; the sweep does the rest. */
static void
test_a_long_ring_is_flushed_in_pieces(void **state)
{
	struct dw *w = *state;
	uint32_t flushed = 0;

	/* Its record is read where it is flushed. */
	assert_int_equal(dp_rq_modify(&w->rq[0], RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	while (dp_cq_next(&w->rx_cq[0]) != NULL)
		flushed++;
	assert_in_range(flushed, 1, 1024);
	dp_run(&w->dp);
	while (dp_cq_next(&w->rx_cq[0]) != NULL)
		flushed++;
	assert_int_equal(flushed, 4096);
}

/* Looking for it is charged, in vain, and the queue rests at last. */
static void
test_a_ring_out_of_reach_is_no_work(void **state)
{
	static _Alignas(4096) uint8_t ring[RNIC_WQEBB_BYTES << 12];
	const uint64_t iova = UINT64_C(1) << 50;
	struct dw *w = *state;
	struct softrnic *dev = w->dp.dev;
	struct dp_sq sq = { .dp = &w->dp,
			    .uar = w->dp.uars[2],
			    .log_size = 12,
			    .ring = ring,
			    .dbrec = dp_alloc(&w->dp, sizeof(*sq.dbrec), 64) };
	const struct drv_sq conf = { .log_size = 12,
				     .pd = w->dp.pd,
				     .uar = sq.uar,
				     .cqn = w->tx_cq.cqn,
				     .tisn = w->dp.tis,
				     .dbrec = dp_iova(&w->dp, sq.dbrec),
				     .ring = drv_pages_of(iova, sizeof(ring)) };

	assert_int_equal(softrnic_dma_map(dev, iova, sizeof(ring), ring, SOFTRNIC_DMA_READ), 0);
	assert_int_equal(drv_sq_create(&w->dp.drv, &conf, &sq.sqn), 0);
	assert_int_equal(dp_sq_modify(&sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	send_frames(w, &sq, 1);
	softrnic_poll(w->poller);
	assert_false(TAILQ_EMPTY(&dev->active_sqs));
	assert_int_equal(softrnic_dma_unmap(dev, iova, sizeof(ring)), 0);
	for (uint32_t i = 0; i < 1000; i++)
		softrnic_poll(w->poller);
	assert_true(TAILQ_EMPTY(&dev->active_sqs));
	assert_int_equal(softrnic_poll(w->poller), 0);
}

/* A CQ whose page list names one page all the time. */
static int
create_cq_of_one_page(struct dw *w, uint32_t log_size, uint32_t *cqn)
{
	const uint64_t iova = dp_iova(&w->dp, w->out) & ~UINT64_C(4095);
	const struct drv_pages ring = { .iova = iova,
					.count = (uint32_t)((UINT64_C(64) << log_size) / 4096) };

	return drv_cq_create(&w->dp.drv,
			     &(struct drv_cq){ .log_size = log_size,
					       .uar = w->dp.uars[1],
					       .eqn = w->dp.eqn,
					       .dbrec = iova,
					       .ring = ring },
			     cqn);
}

static void
test_page_lists_of_rings_have_a_budget(void **state)
{
	const uint64_t list = (64u << 20) / 4096 * 16;
	struct dw *w = *state;
	const uint64_t *bytes = &w->dp.dev->rings_memory, before = *bytes;
	uint32_t cqn = 0, last = 0;

	assert_int_equal(create_cq_of_one_page(w, 20, &last), 0);
	assert_int_equal(*bytes - before, list);
	while (create_cq_of_one_page(w, 20, &cqn) == 0)
		last = cqn;
	assert_int_equal(*bytes - before, (SOFTRNIC_RING_MEMORY - before) / list * list);
	/* One gone makes room for one. */
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_CQ, last), 0);
	assert_int_equal(create_cq_of_one_page(w, 20, &cqn), 0);
	assert_int_equal(create_cq_of_one_page(w, 20, &cqn), RNIC_STATUS_NO_RES);
}

/* Of so many pages, each of them so far behind the one before it. */
static uint32_t
create_key_of(struct dw *w, uint32_t pages, uint64_t iova, uint64_t step)
{
	uint32_t key;

	assert_int_equal(dp_key_create(&w->dp, pages, 12, iova, step, &key), 0);
	return key;
}

/* They are one and the same: no two of them are neighbours, so the key has chunks. */
static uint32_t
create_key(struct dw *w, uint32_t pages)
{
	return create_key_of(w, pages, dp_iova(&w->dp, w->out) & ~UINT64_C(4095), 0);
}

/* Keys of pages that are neighbours, which are one piece without chunks, take all but this of the budget. */
static void
leave_translations(struct dw *w, uint64_t room)
{
	const uint64_t *bytes = &w->dp.dev->translation_bytes;

	for (uint64_t left; (left = SOFTRNIC_TRANSLATION_MEMORY - room - *bytes) > 0;)
		create_key_of(w, (uint32_t)(left < DP_BYTES / 512 ? left / 8 : DP_BYTES / 4096),
			      DP_IOVA, 4096);
}

static int
reach(struct dw *w, uint32_t key, uint64_t va)
{
	struct iovec iov[2];

	return softrnic_tpt_translate(w->dp.dev, key << 8, w->dp.pd, va, 64, SOFTRNIC_LOCAL_READ,
				      iov, 2);
}

static void
test_chunks_of_keys_are_in_the_budget_of_translations(void **state)
{
	struct dw *w = *state;
	const uint64_t *bytes = &w->dp.dev->translation_bytes, before = *bytes;
	struct softrnic_mkey *mkey;
	uint32_t key;

	softrnic_share_begin(w->dp.dev, 0);
	key = create_key(w, 256);
	assert_int_equal(*bytes - before, 256 * 8 + 256 * 8);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
	assert_int_equal(*bytes, before);
	/* Room for the translations alone: the key is as good, but slower. */
	leave_translations(w, 256 * 8);
	key = create_key(w, 256);
	mkey = softrnic_object_get(w->dp.dev, SOFTRNIC_MKEY, key);
	assert_null(mkey->chunks);
	assert_int_equal(reach(w, key, 77 * 4096 + 5), 1);
}

/* The map changes, and every key in use is looked at anew: not all of them in one turn. */
static void
test_long_keys_are_not_looked_at_anew_at_the_end_of_a_turn(void **state)
{
	struct dw *w = *state;
	struct softrnic *dev = w->dp.dev;
	const struct softrnic_mkey *mkey;
	static uint8_t more[4096];
	uint32_t key;

	softrnic_share_begin(dev, 0);
	key = create_key(w, 1024);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	assert_int_equal(mkey->generation, dev->dma_generation);
	assert_in_range(dev->budget->spent, 1024 / 16, 1024 / 4);
	assert_int_equal(
		softrnic_dma_map(dev, UINT64_C(1) << 50, sizeof(more), more, SOFTRNIC_DMA_READ), 0);
	softrnic_share_begin(dev, 0);
	softrnic_spend(dev, SOFTRNIC_WORK_MAX);
	assert_int_equal(reach(w, key, 1023 * 4096), 1);
	assert_int_not_equal(mkey->generation, dev->dma_generation);
	assert_int_equal(dev->budget->spent, SOFTRNIC_WORK_MAX);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(w, key, 1023 * 4096), 1);
	assert_int_equal(mkey->generation, dev->dma_generation);
	assert_in_range(dev->budget->spent, 1024 / 16, 1024 / 4);
}

/* That a key of very many pages is one piece is found out in several accesses, each of which works. */
static void
test_very_long_keys_are_looked_at_in_pieces(void **state)
{
	enum { PAGES = 1 << 18, PIECE = 1 << 14 };
	const uint64_t iova = UINT64_C(1) << 44, bytes = UINT64_C(4096) * PAGES;
	struct dw *w = *state;
	struct softrnic *dev = w->dp.dev;
	const struct softrnic_mkey *mkey;
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint32_t key, accesses = 0;

	assert_true(memory != MAP_FAILED);
	assert_int_equal(softrnic_dma_map(dev, iova, bytes, memory, SOFTRNIC_DMA_READ), 0);
	softrnic_share_begin(dev, 0);
	key = create_key_of(w, PAGES, iova, 4096);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	for (; mkey->flat == NULL; accesses++) {
		assert_in_range(accesses, 0, PAGES / PIECE);
		softrnic_share_begin(dev, 0);
		assert_int_equal(reach(w, key, bytes - 64), 1);
		assert_in_range(dev->budget->spent, 1, PIECE / 16 + 8);
	}
	assert_ptr_equal(mkey->flat, memory);
	assert_in_range(accesses, PAGES / PIECE - 1, PAGES / PIECE);
	/* The map changes: all of it once more; and what is known after the first piece does not outlive the memory either. */
	assert_int_equal(softrnic_dma_unmap(dev, iova, bytes), 0);
	assert_null(mkey->flat);
	assert_int_equal(softrnic_dma_map(dev, iova, bytes, memory, SOFTRNIC_DMA_READ), 0);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(w, key, 0), 1);
	assert_null(mkey->flat);
	assert_int_equal(softrnic_dma_unmap(dev, iova, bytes), 0);
	softrnic_share_begin(dev, 0);
	assert_int_equal(reach(w, key, 0), -EFAULT);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
	munmap(memory, bytes);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, dw_setup_quick, dp_teardown)
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
