/* SPDX-License-Identifier: BSD-3-Clause */

/* Every field that flow tables match on: by itself, by its value, and by no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "../counts.h"
#include "data_frames.h"

#define FRAMES_IN_A_ROW 100u
#define FRAME_BYTES	200u /* the longest of them has fewer */
#define ADDRESS_ROWS	6u   /* the first ones */
#define CHAIN		2u   /* tables, each asking for one field */

enum frame {
	TCP4,
	UDP4,
	TCP6,
	UDP6,
	CTAG,
	STAG,
	FRAGMENT4,
	FRAGMENT6,
	FRAMES,
};

static const struct df_spec specs[FRAMES] = {
	[TCP4] = { .version = 4, .proto = DF_TCP, .tcp_flags = 0x12, .payload = 20 },
	[UDP4] = { .version = 4, .proto = DF_UDP, .payload = 20, .ip_options = 8 },
	[TCP6] = { .version = 6, .proto = DF_TCP, .tcp_flags = 0x19, .payload = 20 },
	[UDP6] = { .version = 6, .proto = DF_UDP, .payload = 20 },
	[CTAG] = { .version = 4,
		   .proto = DF_TCP,
		   .payload = 20,
		   .tags = 1,
		   .types = { 0x8100 },
		   .tcis = { 0xb123 } },
	[STAG] = { .version = 6,
		   .proto = DF_UDP,
		   .payload = 20,
		   .tags = 2,
		   .types = { 0x88a8, 0x8100 },
		   .tcis = { 0x4fed, 0x0001 } },
	[FRAGMENT4] = { .version = 4, .proto = DF_UDP, .fragment = 0x2000, .payload = 20 },
	[FRAGMENT6] = { .version = 6, .proto = 44, .payload = 20 },
};

#define F(name) RNIC_FTE_MATCH_SET_LYR_2_4_##name
static const struct row {
	enum rnic_fte_match_set_lyr_2_4_field field;
	enum frame frame;
	uint32_t value;
} rows[] = {
	/* ADDRESS_ROWS */
	{ F(SMAC_47_16), TCP4, 0x02667788 },
	{ F(SMAC_15_0), TCP4, 0x99aa },
	{ F(DMAC_47_16), TCP4, 0x02112233 },
	{ F(DMAC_15_0), TCP4, 0x4455 },
	{ F(ETHERTYPE), TCP4, 0x0800 },
	{ F(ETHERTYPE), TCP6, 0x86dd },
	/* Behind tags. */
	{ F(ETHERTYPE), CTAG, 0x0800 },
	{ F(ETHERTYPE), STAG, 0x86dd },
	{ F(CVLAN_TAG), CTAG, 1 },
	{ F(CVLAN_TAG), STAG, 0 },
	{ F(CVLAN_TAG), TCP4, 0 },
	{ F(SVLAN_TAG), STAG, 1 },
	{ F(SVLAN_TAG), CTAG, 0 },
	{ F(FIRST_VID), CTAG, 0x123 },
	{ F(FIRST_VID), STAG, 0xfed },
	{ F(FIRST_PRIO), CTAG, 5 },
	{ F(FIRST_CFI), CTAG, 1 },
	{ F(FIRST_CFI), STAG, 0 },
	{ F(IP_VERSION), TCP4, 4 },
	{ F(IP_VERSION), STAG, 6 },
	{ F(IP_PROTOCOL), TCP4, 6 },
	{ F(IP_PROTOCOL), UDP6, 17 },
	{ F(IP_PROTOCOL), FRAGMENT6, 44 },
	{ F(IP_DSCP), TCP4, 0x0a },
	{ F(IP_DSCP), TCP6, 0x29 },
	{ F(IP_ECN), TCP4, 0 },
	{ F(IP_ECN), UDP6, 1 },
	{ F(TTL_HOPLIMIT), UDP4, 64 },
	{ F(TTL_HOPLIMIT), UDP6, 64 },
	{ F(FRAG), TCP4, 0 },
	{ F(FRAG), FRAGMENT4, 1 },
	{ F(FRAG), FRAGMENT6, 1 },
	{ F(TCP_FLAGS), TCP4, 0x12 },
	{ F(TCP_FLAGS), TCP6, 0x19 },
	{ F(TCP_SPORT), TCP4, 0x1234 },
	{ F(TCP_DPORT), CTAG, 443 },
	{ F(TCP_DPORT), TCP6, 443 },
	{ F(TCP_DPORT), UDP4, 0 },
	{ F(UDP_SPORT), UDP4, 5353 },
	{ F(UDP_DPORT), STAG, 4000 },
	{ F(UDP_DPORT), TCP4, 0 },
	/* What follows the IP header of a fragment may be anything. */
	{ F(UDP_DPORT), FRAGMENT4, 0 },
	{ F(SRC_IP_31_0), UDP4, 0xc0a80117 },
	{ F(DST_IP_31_0), CTAG, 0x0a0b0c0d },
	{ F(SRC_IP_127_96), TCP6, 0x20252a2f },
	{ F(SRC_IP_95_64), TCP6, 0x34393e43 },
	{ F(SRC_IP_63_32), TCP6, 0x484d5257 },
	{ F(SRC_IP_31_0), STAG, 0x5c61666b },
	{ F(DST_IP_127_96), UDP6, 0x70757a7f },
	{ F(DST_IP_95_64), UDP6, 0x84898e93 },
	{ F(DST_IP_63_32), UDP6, 0x989da2a7 },
	{ F(DST_IP_31_0), UDP6, 0xacb1b6bb },
};

/* What stands at w->out, as it stands there. */
static bool
arrives_as_it_is(struct df_world *w, uint32_t bytes)
{
	struct rnic_cqe cqe;
	const uint8_t *got;

	df_wqe(w, bytes, 1);
	df_ring(w);
	got = df_receive(w, &cqe);
	if (got != NULL)
		assert_memory_equal(got, w->out, bytes);
	return got != NULL;
}

static bool
arrives(struct df_world *w, enum frame frame)
{
	return arrives_as_it_is(w, df_build(w->out, &specs[frame], 0));
}

/* A table whose one group looks at that field and nothing else, with one entry. */
static uint32_t
table_of(struct df_world *w, const struct row *row, uint32_t level, uint32_t value, uint32_t miss)
{
	const struct rnic_flow_destination to = drv_to_tir(w->rq.tirn);
	struct drv_fte entry = { { { row->field, value } }, &to, .count = 1 };
	uint32_t table;

	assert_int_equal(drv_table_of(&w->dp.drv, level, miss, &entry, 1, &table), 0);
	assert_int_equal(drv_fte_set(&w->dp.drv, &entry), 0);
	return table;
}

static uint32_t
draw(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void
test_each_field_by_its_value(void **state)
{
	struct df_world *w = *state;
	uint32_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		uint32_t right = table_of(w, row, 1, row->value, 0);
		uint32_t wrong = table_of(w, row, 1, row->value ^ 1, 0);

		assert_int_equal(drv_root_set(&w->dp.drv, right), 0);
		assert_true(arrives(w, row->frame));
		assert_int_equal(drv_root_set(&w->dp.drv, wrong), 0);
		assert_false(arrives(w, row->frame));
	}
}

/* What one table does not know goes to the next, as far as there is one. */
static void
test_misses_go_on(void **state)
{
	static const struct row chain[] = {
		{ F(SVLAN_TAG), STAG, 1 },
		{ F(UDP_DPORT), UDP4, 4000 },
		{ F(SRC_IP_127_96), TCP6, 0x20252a2f },
		{ F(TCP_FLAGS), TCP4, 0x12 },
	};
	struct df_world *w = *state;
	uint32_t table = 0, i;

	for (i = sizeof(chain) / sizeof(chain[0]); i-- > 0;)
		table = table_of(w, &chain[i], i + 1, chain[i].value, table);
	assert_int_equal(drv_root_set(&w->dp.drv, table), 0);
	assert_true(arrives(w, UDP4));
	assert_true(arrives(w, STAG));
	assert_true(arrives(w, TCP6));
	assert_true(arrives(w, TCP4));
	assert_false(arrives(w, CTAG));
	assert_false(arrives(w, FRAGMENT4));
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 2);
}

/*
 * The device remembers what it decided. Of frames of many kinds in a row, one bit of each changed, it decides as it does of
 * each of them when nothing is remembered: when the root was set anew.
 */
static void
test_what_is_remembered_is_what_is_decided(void **state)
{
	const uint32_t chains = sanitized_run() ? 12 : 24;
	struct df_world *w = *state;
	uint8_t frames[FRAMES_IN_A_ROW][FRAME_BYTES];
	bool arrived[FRAMES_IN_A_ROW];
	uint32_t random = 1, table, chain, link, i;
	uint32_t bytes[FRAMES_IN_A_ROW], came = 0;

	for (chain = 0; chain < chains; chain++) {
		table = 0;
		for (link = CHAIN; link > 0; link--) {
			/* Of every second chain, what is known without a look at all headers. */
			const uint32_t choice = chain % 2 == 0 ? RTE_DIM(rows) : ADDRESS_ROWS;
			const struct row *row = &rows[draw(&random) % choice];

			table = table_of(w, row, link, row->value, table);
		}
		assert_int_equal(drv_root_set(&w->dp.drv, table), 0);
		for (i = 0; i < FRAMES_IN_A_ROW; i++) {
			bytes[i] = df_build(w->out, &specs[draw(&random) % FRAMES], 0);
			w->out[draw(&random) % bytes[i]] ^= (uint8_t)(1u << draw(&random) % 8);
			memcpy(frames[i], w->out, bytes[i]);
			arrived[i] = arrives_as_it_is(w, bytes[i]);
			came += arrived[i];
		}
		for (i = 0; i < FRAMES_IN_A_ROW; i++) {
			assert_int_equal(drv_root_set(&w->dp.drv, table), 0);
			memcpy(w->out, frames[i], bytes[i]);
			assert_int_equal(arrives_as_it_is(w, bytes[i]), arrived[i]);
		}
	}
	assert_in_range(came, 1, chains * FRAMES_IN_A_ROW - 1);
}

/* Of tagged frames so many kinds that each place for a verdict is needed for one of them. */
static void
test_a_verdict_that_makes_room_is_gone(void **state)
{
	const struct row type = { F(ETHERTYPE), TCP4, 0x0800 };
	struct df_world *w = *state;
	uint32_t bytes, i;

	assert_int_equal(drv_root_set(&w->dp.drv, table_of(w, &type, 1, 0x0800, 0)), 0);
	assert_true(arrives(w, TCP4));
	for (i = 0; i < 200; i++) {
		bytes = df_build(w->out, &specs[CTAG], 0);
		w->out[16] = 0x90;
		w->out[17] = (uint8_t)i;
		assert_false(arrives_as_it_is(w, bytes));
		assert_true(arrives(w, TCP4));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_field_by_its_value, df_setup,
						df_teardown),
		cmocka_unit_test_setup_teardown(test_misses_go_on, df_setup, df_teardown),
		cmocka_unit_test_setup_teardown(test_a_verdict_that_makes_room_is_gone, df_setup,
						df_teardown),
		cmocka_unit_test_setup_teardown(test_what_is_remembered_is_what_is_decided,
						df_setup, df_teardown),
	};

	return cmocka_run_group_tests_name("data_match", tests, NULL, NULL);
}
