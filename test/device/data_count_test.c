/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow counters: what entries count, whatever becomes of the frames, and the commands about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_world.h"

#define MAC(i)	  (UINT64_C(0x020000000000) + (i))
#define BULK	  128u
#define MOST	  32768u
#define TO(queue) .to = &w->to[queue], .count = 1

static unsigned int
arrives(struct dw *w, uint64_t dmac, uint32_t bytes)
{
	memset(w->out, 0, bytes);
	for (int i = 0; i < 6; i++)
		w->out[i] = (uint8_t)(dmac >> (40 - 8 * i));
	memcpy(w->out + 6, "\x02\x11\x22\x33\x44\x55\x88\xb5", 8);
	return dw_arrives(w, bytes, NULL);
}

static uint32_t
counter(struct dw *w, uint32_t bulk)
{
	uint32_t id;

	assert_int_equal(drv_flow_counter_alloc(&w->dp.drv, bulk, &id), 0);
	return id;
}

static void
has(struct dw *w, uint32_t id, uint64_t packets, uint64_t octets)
{
	struct drv_flow_count count;

	assert_int_equal(drv_flow_counter_query(&w->dp.drv, id, 0, false, &count), 0);
	assert_int_equal(count.packets, packets);
	assert_int_equal(count.octets, octets);
}

/* ---- What counts ---- */

static void
test_each_frame_counts(void **state)
{
	struct dw *w = *state;
	const uint32_t a = counter(w, 0), b = counter(w, 0);
	struct drv_fte entries[] = {
		{ .match = { DRV_DMAC_IS(MAC(1)) }, TO(0), .counter = a },
		{ .match = { DRV_DMAC_IS(MAC(2)) }, TO(1), .counter = b },
		{ .match = { DRV_DMAC_IS(MAC(3)) }, TO(2) },
	};

	dw_root(w, dw_table_of(w, 0, 0, entries, 3));
	/* Again and again: a verdict that is kept counts as one that is not. */
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(arrives(w, MAC(1), 60), 1);
		assert_int_equal(arrives(w, MAC(2), 100 + i), 2);
		assert_int_equal(arrives(w, MAC(3), 60), 4);
	}
	has(w, a, 5, 300);
	has(w, b, 5, 510);
}

/* Many at a time go another way than single ones. */
static void
test_each_frame_of_many_counts(void **state)
{
	struct dw *w = *state;
	const uint32_t id = counter(w, 0);
	struct drv_fte all[] = { { TO(0), .counter = id } };
	struct dp_sq sq;

	dw_root(w, dw_table_of(w, 0, 0, all, 1));
	memset(w->out, 0x22, 64);
	assert_int_equal(dp_sq_create(&w->dp, &sq, &w->tx_cq, 6, 2, DP_SQ_MULTI_PACKET), 0);
	dp_wqe(&sq, RNIC_WQE_ENHANCED_MPSW, 2 + 32, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < 32; i++)
		dp_wqe_data(&sq, 2 + i, w->out, 64);
	dp_sq_ring(&sq);
	dp_run(&w->dp);
	has(w, id, 32, 32 * 64);
	for (unsigned int i = 0; i < 32; i++)
		assert_non_null(dp_cq_next(&w->rx_cq[0]));
}

static void
test_dropped_frames_count(void **state)
{
	struct dw *w = *state;
	const uint32_t id = counter(w, 0);
	struct drv_fte all[] = { { .counter = id } };

	dw_root(w, dw_table_of(w, 0, 0, all, 1));
	assert_int_equal(arrives(w, MAC(1), 70), 0);
	assert_int_equal(arrives(w, MAC(1), 70), 0);
	has(w, id, 2, 140);
}

/* From table to table, and in one counter twice. */
static void
test_each_entry_on_the_way_counts(void **state)
{
	struct dw *w = *state;
	const uint32_t first = counter(w, 0), both = counter(w, 0);
	struct drv_fte third[] = { { TO(0), .counter = both } };
	const uint32_t table3 = dw_table_of(w, 2, 0, third, 1);
	const struct rnic_flow_destination to3 = drv_to_table(table3);
	struct drv_fte second[] = { { .to = &to3, .count = 1, .counter = both } };
	const uint32_t table2 = dw_table_of(w, 1, 0, second, 1);
	const struct rnic_flow_destination to2 = drv_to_table(table2);
	struct drv_fte root[] = { { .to = &to2, .count = 1, .counter = first } };

	dw_root(w, dw_table_of(w, 0, 0, root, 1));
	assert_int_equal(arrives(w, MAC(1), 64), 1);
	has(w, first, 1, 64);
	has(w, both, 2, 128);
}

/* MODIFY: to another counter, to none, and with what was there. */
static void
test_an_entry_changes_where_it_counts(void **state)
{
	struct dw *w = *state;
	const uint32_t a = counter(w, 0), b = counter(w, 0);
	struct drv_fte entry[] = { { TO(0), .counter = a } };
	struct drv *drv = &w->dp.drv;

	dw_root(w, dw_table_of(w, 0, 0, entry, 1));
	arrives(w, MAC(1), 64);
	entry->counter = b;
	entry->modify = RNIC_SET_FTE_MODIFY_FLOW_COUNTERS;
	assert_int_equal(drv_fte_set(drv, entry), 0);
	arrives(w, MAC(1), 64);
	has(w, a, 1, 64);
	has(w, b, 1, 64);
	/* another destination, the same counter */
	entry->to = &w->to[1];
	entry->counter = 0;
	entry->action = RNIC_FLOW_ACTION_FWD_DEST | RNIC_FLOW_ACTION_COUNT;
	entry->modify = RNIC_SET_FTE_MODIFY_DESTINATION_LIST;
	assert_int_equal(drv_fte_set(drv, entry), 0);
	assert_int_equal(arrives(w, MAC(1), 64), 2);
	has(w, b, 2, 128);
	/* none any more */
	entry->action = RNIC_FLOW_ACTION_FWD_DEST;
	entry->modify = RNIC_SET_FTE_MODIFY_ACTION | RNIC_SET_FTE_MODIFY_FLOW_COUNTERS;
	assert_int_equal(drv_fte_set(drv, entry), 0);
	assert_int_equal(arrives(w, MAC(1), 64), 2);
	has(w, b, 2, 128);
	assert_int_equal(drv_flow_counter_dealloc(drv, a), 0);
	assert_int_equal(drv_flow_counter_dealloc(drv, b), 0);
}

static void
test_an_entry_tells_where_it_counts(void **state)
{
	struct dw *w = *state;
	const uint32_t id = counter(w, 1) + 77;
	struct drv_fte entry[] = { { TO(0), .counter = id } };
	uint8_t out[sizeof(struct rnic_query_fte_out) + 16];
	const struct rnic_flow_counter_list *list =
		(const void *)(out + sizeof(struct rnic_query_fte_out) + 8);

	dw_table_of(w, 0, 0, entry, 1);
	assert_int_equal(drv_fte_query(&w->dp.drv, entry->table, 0, out, sizeof(out)), 0);
	assert_int_equal(rnic_flow_counter_list_get(list, RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID),
			 id);
}

/* ---- Commands ---- */

static void
test_bulks(void **state)
{
	struct dw *w = *state;
	const uint32_t first = counter(w, 1);
	struct drv_fte entries[] = { { .match = { DRV_DMAC_IS(MAC(1)) }, .counter = first + 3 },
				     { .match = { DRV_DMAC_IS(MAC(2)) }, .counter = first + 127 } };
	struct drv_flow_count counts[BULK + 1];
	struct drv *drv = &w->dp.drv;

	dw_root(w, dw_table_of(w, 0, 0, entries, 2));
	arrives(w, MAC(1), 64);
	arrives(w, MAC(2), 80);
	assert_int_equal(drv_flow_counter_query(drv, first, BULK, false, counts), 0);
	for (unsigned int i = 0; i < BULK; i++) {
		assert_int_equal(counts[i].packets, i == 3 || i == 127);
		assert_int_equal(counts[i].octets, i == 3 ? 64 : i == 127 ? 80 : 0);
	}
	/* Some of them, which begin anew; others do not. */
	assert_int_equal(drv_flow_counter_query(drv, first + 2, 4, true, counts), 0);
	assert_int_equal(counts[1].packets, 1);
	has(w, first + 3, 0, 0);
	has(w, first + 127, 1, 80);
	/* Those behind the last one are not there; the first one must be. */
	assert_int_equal(drv_flow_counter_query(drv, first + 127, 5, false, counts), 0);
	assert_int_equal(counts[0].packets, 1);
	assert_int_equal(counts[1].packets, 0);
	assert_int_equal(drv_flow_counter_query(drv, first + 128, 1, false, counts),
			 RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_flow_counter_query(drv, first, BULK + 1, false, counts),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(drv_flow_counter_alloc(drv, 2, &(uint32_t){ 0 }), RNIC_STATUS_BAD_PARAM);
}

static void
test_a_counter_goes_behind_its_entries(void **state)
{
	struct dw *w = *state;
	const uint32_t id = counter(w, 1);
	struct drv_fte entry[] = { { .counter = id + 5 } };
	struct drv *drv = &w->dp.drv;

	dw_table_of(w, 0, 0, entry, 1);
	assert_int_equal(drv_flow_counter_dealloc(drv, id), RNIC_STATUS_RES_BUSY);
	/* not the first of them; none */
	assert_int_equal(drv_flow_counter_dealloc(drv, id + 5), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_flow_counter_dealloc(drv, 0), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_fte_delete(drv, entry->table, 0), 0);
	assert_int_equal(drv_flow_counter_dealloc(drv, id), 0);
	assert_int_equal(drv_flow_counter_dealloc(drv, id), RNIC_STATUS_BAD_RES);
}

static void
test_entries_that_are_refused(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	const uint32_t id = counter(w, 0);
	struct drv_fte entry[] = { { TO(0) } };
	uint8_t in[sizeof(struct rnic_set_fte_in) + 16] = { 0 };
	struct rnic_object_out out;
	struct drv_fte bad;

	dw_table_of(w, 0, 0, entry, 1);
	assert_int_equal(drv_fte_delete(drv, entry->table, 0), 0);
	/* no such counter; an action without one; one without the action; no room for it in the command */
	bad = entry[0];
	bad.counter = id + 1;
	assert_int_equal(drv_fte_set(drv, &bad), RNIC_STATUS_BAD_RES);
	bad.counter = 0;
	bad.action = RNIC_FLOW_ACTION_FWD_DEST | RNIC_FLOW_ACTION_COUNT;
	assert_int_equal(drv_fte_set(drv, &bad), RNIC_STATUS_BAD_PARAM);
	bad.counter = id;
	bad.action = RNIC_FLOW_ACTION_FWD_DEST;
	assert_int_equal(drv_fte_set(drv, &bad), RNIC_STATUS_BAD_PARAM);
	bad.action = 0;
	assert_int_equal(
		w->dp.drv.execute(&w->dp.drv, in, drv_fte_fill(in, &bad) - 8, &out, sizeof(out)),
		RNIC_STATUS_BAD_INP_LEN);
	/* Nothing refers to it. */
	assert_int_equal(drv_flow_counter_dealloc(drv, id), 0);
}

static void
test_there_is_an_end(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	uint32_t id, last = 0;

	for (uint32_t i = 0; i < MOST / BULK; i++)
		last = counter(w, 1);
	assert_int_equal(drv_flow_counter_alloc(drv, 0, &id), RNIC_STATUS_LIM);
	assert_int_equal(drv_flow_counter_dealloc(drv, last), 0);
	for (uint32_t i = 0; i < BULK; i++)
		counter(w, 0);
	assert_int_equal(drv_flow_counter_alloc(drv, 0, &id), RNIC_STATUS_LIM);
	assert_int_equal(drv_flow_counter_alloc(drv, 1, &id), RNIC_STATUS_LIM);
	softrnic_reset(w->dp.dev);
	for (unsigned int i = 0; i < 1000 && dp_stats(&w->dp).objects != 0; i++)
		softrnic_poll(w->poller);
	assert_int_equal(dp_stats(&w->dp).objects, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, dw_setup_quick, dp_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_frame_counts),
		TEST(test_each_frame_of_many_counts),
		TEST(test_dropped_frames_count),
		TEST(test_each_entry_on_the_way_counts),
		TEST(test_an_entry_changes_where_it_counts),
		TEST(test_an_entry_tells_where_it_counts),
		TEST(test_bulks),
		TEST(test_a_counter_goes_behind_its_entries),
		TEST(test_entries_that_are_refused),
		TEST(test_there_is_an_end),
	};

	return cmocka_run_group_tests_name("data_count", tests, NULL, NULL);
}
