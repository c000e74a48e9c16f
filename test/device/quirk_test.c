/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks: their names, and what a driver meets with each of them. Time is the test's own. */
#include <errno.h>
#include <stdio.h>

#include "driver/cap.h"
#include "driver/reg.h"
#include "driver/roce_addr.h"
#include "driver/vport.h"
#include "quirk.h"
#include "test_clock.h"

/* ---- Names ---- */

static int
create(const char *quirks)
{
	const struct softrnic_conf conf = { .name = "quirk", .quirks = quirks };
	struct softrnic_poller *poller;
	struct softrnic *dev;
	int rc;

	assert_int_equal(softrnic_poller_create(&poller), 0);
	rc = softrnic_create(poller, &conf, &dev);
	if (rc == 0)
		softrnic_destroy(dev);
	assert_int_equal(softrnic_poller_destroy(poller), 0);
	return rc;
}

static void
each_name_that_is_listed_is_taken(void **state)
{
	const char *name = strrchr(softrnic_quirks_wanted(), ':');
	unsigned int count = 0;
	char one[64];

	(void)state;
	assert_non_null(name);
	for (name++; *name == ' '; name += strlen(one), count++) {
		name++;
		snprintf(one, sizeof(one), "%.*s", (int)strcspn(name, " "), name);
		assert_true(softrnic_quirks_valid(one));
		assert_int_equal(create(one), 0);
	}
	assert_int_equal(*name, '\0');
	assert_true(count > 1);
}

static void
quirks_are_names_with_plus_between_them(void **state)
{
	static const char *const good[] = { "uar-8", "uar-256+init-pages-60000",
					    "init-pages-12874+uar-16" };
	/* The last two: of a kind there is one at a time. */
	static const char *const bad[] = {
		"",	   "+",		  "uar-8+",	 "+uar-8",	 "uar-8++uar-8", "uar",
		"uar-80",  "UAR-8",	  " uar-8",	 "uar-8 ",	 "uar-8,uar-16", "uar-8=1",
		"nothing", "uar-8+pages", "uar-8+uar-8", "uar-8+uar-16",
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(softrnic_quirks_valid(good[i]));
		assert_int_equal(create(good[i]), 0);
	}
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(softrnic_quirks_valid(bad[i]));
		assert_int_equal(create(bad[i]), -EINVAL);
	}
	assert_int_equal(create(NULL), 0);
}

/* ---- Numbers ---- */

/* Doorbells of the page that is only a register, and of one that is mapped. */
static void
ring_both_ways(struct hn *hn, uint32_t eq_uar, uint32_t uar)
{
	struct hn_eq eq;
	struct hn_cq cq;
	uint64_t offset, before, arm;
	size_t length;
	void *address;

	hn_create_eq(hn, &eq, eq_uar, 4, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
	hn_eq_arm(hn, &eq);
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
	assert_int_equal(ctl_stats(hn).interrupts, 1);
	hn_create_cq(hn, &cq, uar, eq.number, 4);
	assert_int_equal(softrnic_bar_mmap(hn->dev, &offset, &length, &address, NULL), 0);
	assert_int_equal(offset, (uint64_t)uar * RNIC_UAR_PAGE_BYTES);
	before = ctl_stats(hn).doorbells;
	arm = rnic_cpu_to_be64(UINT64_C(1) << 32 | cq.number).raw;
	__atomic_store_n((uint64_t *)((uint8_t *)address + RNIC_UAR_CQ_ARM), arm, __ATOMIC_RELEASE);
	softrnic_poll(hn->poller);
	assert_int_equal(ctl_stats(hn).doorbells, before + 1);
}

static void
uars_begin_where_they_are_asked_to(void **state)
{
	static const struct {
		const char *quirk;
		uint32_t first;
	} rows[] = { { NULL, 0x10 }, { "uar-8", 0x8 }, { "uar-16", 0x10 }, { "uar-256", 0x100 } };
	struct hn hn;

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t end = ((uint64_t)rows[i].first + SOFTRNIC_UAR_PAGES) * 4096;

		start(&hn, rows[i].quirk);
		hn_bring_up(&hn);
		assert_int_equal(hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR), rows[i].first);
		assert_int_equal(hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR), rows[i].first + 1);
		assert_true(end <= softrnic_bar_size(hn.dev));
		ring_both_ways(&hn, rows[i].first, rows[i].first + 1);
		/* The same after a reset. */
		reset(&hn);
		hn_bring_up(&hn);
		assert_int_equal(hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR), rows[i].first);
		hn_stop(&hn);
	}
}

static int32_t
init_pages(struct hn *hn)
{
	int32_t count;

	hn_enable(hn);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
	return count;
}

static void
many_pages_are_asked_for_at_init(void **state)
{
	assert_int_equal(init_pages(*state), 60000);
}

/* In one command, as the largest of a real card. */
static void
many_pages_are_given_at_init(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(init_pages(hn), 12874);
	assert_int_equal(hn_give_pages(hn, 12874), RNIC_STATUS_OK);
	assert_int_equal(command(hn, RNIC_CMD_INIT_HCA), RNIC_STATUS_OK);
	assert_int_equal(ctl_stats(hn).pages_held, 12874 + 4);
}

/* ---- Registers ---- */

#define INITIALIZING   RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING)
#define HEALTH_COUNTER RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER)

static void
a_written_address_makes_it_initialize_again(void **state)
{
	struct hn *hn = *state;
	struct rnic_function_in in = { 0 };
	struct rnic_cmd_out out;

	assert_int_equal(hn_read32(hn, INITIALIZING) >> 31, 1);
	/* What is rung now nobody hears, then or later. */
	hn_head(&in, RNIC_CMD_ENABLE_HCA, 0);
	hn_cmd_post(hn, 0, &in, sizeof(in), sizeof(out));
	hn_ring(hn, 1);
	test_clock_advance_us(90000);
	assert_int_equal(hn_read32(hn, INITIALIZING) >> 31, 1);
	test_clock_advance_us(20000);
	assert_int_equal(hn_read32(hn, INITIALIZING) >> 31, 0);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 0, &out, sizeof(out)), HN_PENDING);
	hn_ring(hn, 1);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 0, &out, sizeof(out)), RNIC_STATUS_OK);
	/* A reset is quick, and the next address is as the first one. */
	assert_int_equal(softrnic_reset(hn->dev), 0);
	assert_int_equal(hn_read32(hn, INITIALIZING) >> 31, 0);
	hn_set_cmdq(hn);
	assert_int_equal(hn_read32(hn, INITIALIZING) >> 31, 1);
	test_clock_advance_us(110000);
	hn_bring_up(hn);
}

static void
the_health_counter_stands_still_for_a_while(void **state)
{
	struct hn *hn = *state;
	uint32_t first, stopped;

	test_clock_advance_us(10000000);
	hn_bring_up(hn);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(1000000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
	test_clock_advance_us(1100000);
	stopped = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(4800000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER), stopped);
	/* Commands are executed as ever. */
	hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	test_clock_advance_us(200000);
	first = hn_read32(hn, HEALTH_COUNTER);
	assert_true(first > stopped && first < stopped + 20);
	/* Not again: for nobody. */
	for (unsigned int i = 0; i < 20; i++) {
		if (i == 10) {
			hn_tear_down(hn);
			hn_bring_up(hn);
		}
		first = hn_read32(hn, HEALTH_COUNTER);
		test_clock_advance_us(1000000);
		assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
	}
}

/* ---- Capabilities ---- */

/* Current << 4 | maximum. */
static unsigned int
cap_of(struct hn *hn, enum rnic_general_cap_field field)
{
	struct rnic_general_cap caps[2];

	for (unsigned int current = 0; current < 2; current++)
		assert_int_equal(drv_cap_query(&hn->drv, RNIC_CAP_GENERAL, current != 0,
					       &caps[current], sizeof(caps[current])),
				 0);
	return (unsigned int)(rnic_general_cap_get(&caps[1], field) << 4 |
			      rnic_general_cap_get(&caps[0], field));
}

static void
there_are_no_counter_sets(void **state)
{
	struct hn *hn = *state;
	struct hn_wq rq;
	struct hn_eq eq;
	struct hn_cq cq;

	assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_MAX_QP_CNT), 0);
	assert_int_equal(command(hn, RNIC_CMD_ALLOC_Q_COUNTER), RNIC_STATUS_NO_RES);
	/* Queues do without. */
	open_eq(hn, &eq, 4, 0);
	hn_create_cq(hn, &cq, eq.uar, eq.number, 4);
	hn_create_rq(hn, &rq, hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), cq.number, 4, 4);
}

static int
set_roce(struct hn *hn, bool on)
{
	struct rnic_general_cap cap;

	assert_int_equal(drv_cap_query(&hn->drv, RNIC_CAP_GENERAL, true, &cap, sizeof(cap)), 0);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_ROCE, on);
	return drv_cap_set(&hn->drv, RNIC_CAP_GENERAL, &cap, sizeof(cap));
}

static void
roce_is_off_until_it_is_asked_for(void **state)
{
	static const struct drv_roce_addr address = {
		.gid = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 }, .mac = UINT64_C(0x020000000000)
	};
	struct hn *hn = *state;
	int32_t count;

	for (unsigned int asked = 0; asked < 2; asked++) {
		const int status = asked ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;

		/* Each time anew: DISABLE_HCA has forgotten what was asked for. */
		hn_enable(hn);
		assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_ROCE), 0x01);
		assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED), 0x11);
		assert_int_equal(set_roce(hn, asked != 0), RNIC_STATUS_OK);
		assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_ROCE), asked ? 0x11 : 0x01);
		assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
		assert_int_equal(hn_give_pages(hn, (uint32_t)count), RNIC_STATUS_OK);
		assert_int_equal(command(hn, RNIC_CMD_INIT_HCA), RNIC_STATUS_OK);
		assert_int_equal(drv_vport_roce_set(&hn->drv, true), status);
		assert_int_equal(drv_vport_roce_set(&hn->drv, false), RNIC_STATUS_OK);
		assert_int_equal(drv_roce_addr_set(&hn->drv, &address), status);
		hn_tear_down(hn);
	}
}

/* ---- The port ---- */

static void
speeds_stand_in_the_extended_fields_alone(void **state)
{
	static const struct {
		const char *quirk;
		uint32_t offered, oper, units;
	} rows[] = {
		{ "ptys-400", 1 << 14 | 1 << 17, 1 << 17, 4000 },
		{ "ptys-800", 1 << 14 | 1 << 17 | 1 << 19 | 1 << 20, 1 << 20, 8000 },
	};
	struct rnic_query_vport_state_out out;
	struct rnic_ptys_reg reg;
	struct hn hn;
	struct drv *drv = &hn.drv;

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(&hn, rows[i].quirk);
		hn_bring_up(&hn);
		reg = (struct rnic_ptys_reg){ 0 };
		rnic_ptys_reg_set(&reg, RNIC_PTYS_REG_LOCAL_PORT, 1);
		rnic_ptys_reg_set(&reg, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
		assert_int_equal(drv_reg_read(drv, RNIC_REG_PTYS, &reg, sizeof(reg)), 0);
#define GET(field) rnic_ptys_reg_get(&reg, RNIC_PTYS_REG_##field)
		assert_int_equal(GET(EXT_ETH_PROTO_CAPABILITY), rows[i].offered);
		assert_int_equal(GET(EXT_ETH_PROTO_OPER), rows[i].oper);
		assert_int_equal(GET(ETH_PROTO_CAPABILITY), 0);
		assert_int_equal(GET(ETH_PROTO_ADMIN), 0);
		assert_int_equal(GET(ETH_PROTO_OPER), 0);
		assert_int_equal(GET(DATA_RATE_OPER), 0);
#undef GET
		/* As it is read it may be written; not without the one that runs. */
		assert_int_equal(drv_reg_write(drv, RNIC_REG_PTYS, &reg, sizeof(reg)), 0);
		rnic_ptys_reg_set(&reg, RNIC_PTYS_REG_EXT_ETH_PROTO_ADMIN, 1 << 14);
		assert_int_equal(drv_reg_write(drv, RNIC_REG_PTYS, &reg, sizeof(reg)),
				 RNIC_STATUS_BAD_PARAM);
		assert_int_equal(drv_query(drv, RNIC_CMD_QUERY_VPORT_STATE, 0, &out, sizeof(out)),
				 0);
		assert_int_equal(rnic_query_vport_state_out_get(
					 &out, RNIC_QUERY_VPORT_STATE_OUT_MAX_TX_SPEED),
				 rows[i].units);
		hn_stop(&hn);
	}
}

static void
port_and_module_and_temperature_events(void **state)
{
	static const struct {
		uint8_t type, sub_type;
		uint32_t data[4];
	} wanted[] = {
		{ 0x09, 5, { 0, 0, 0x10000000, 0 } }, { 0x16, 0, { 2, 0, 0, 0 } },
		{ 0x16, 0, { 3, 6 << 8, 0, 0 } },     { 0x16, 0, { 1, 0, 0, 0 } },
		{ 0x17, 0, { 0, 0, 0, 1 } },
	};
	struct hn *hn = *state;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_PORT_MODULE_EVENT), 0x11);
	assert_int_equal(cap_of(hn, RNIC_GENERAL_CAP_TEMP_WARN_EVENT), 0x11);
	test_clock_advance_us(1000000);
	open_eq(hn, &eq, 4, 1 << 0x09 | 1 << 0x16 | 1 << 0x17);
	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		softrnic_poll(hn->poller);
		assert_false(hn_eq_next(hn, &eq, &eqe));
		test_clock_advance_us(100000);
		softrnic_poll(hn->poller);
		assert_true(hn_eq_next(hn, &eq, &eqe));
		assert_int_equal(eqe.type, wanted[i].type);
		assert_int_equal(eqe.sub_type, wanted[i].sub_type);
		for (unsigned int w = 0; w < 4; w++)
			assert_int_equal(rnic_be32_to_cpu(eqe.data[w]), wanted[i].data[w]);
		hn_eq_arm(hn, &eq);
	}
	for (unsigned int i = 0; i < 20; i++) {
		test_clock_advance_us(100000);
		softrnic_poll(hn->poller);
	}
	assert_false(hn_eq_next(hn, &eq, &eqe));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_that_is_listed_is_taken),
		cmocka_unit_test(quirks_are_names_with_plus_between_them),
		cmocka_unit_test(uars_begin_where_they_are_asked_to),
		QUIRK_OFF(many_pages_are_asked_for_at_init, "init-pages-60000"),
		QUIRK_OFF(many_pages_are_given_at_init, "init-pages-12874"),
		QUIRK_OFF(a_written_address_makes_it_initialize_again, "initializing-again"),
		QUIRK_OFF(the_health_counter_stands_still_for_a_while, "health-still"),
		QUIRK_UP(there_are_no_counter_sets, "no-q-counters"),
		QUIRK_OFF(roce_is_off_until_it_is_asked_for, "roce-off"),
		cmocka_unit_test(speeds_stand_in_the_extended_fields_alone),
		QUIRK_UP(port_and_module_and_temperature_events, "port-module"),
	};

	return cmocka_run_group_tests_name("quirk", tests, NULL, NULL);
}
