/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks: their names, and what a driver meets with each of them. Time is the test's own. */
#include <errno.h>
#include <stdio.h>

#include "prm/qp.h"
#include "prm/vport.h"
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
	assert_int_equal(stats(hn).interrupts, 1);
	hn_create_cq(hn, &cq, uar, eq.number, 4);
	assert_int_equal(softrnic_bar_mmap(hn->dev, &offset, &length, &address, NULL), 0);
	assert_int_equal(offset, (uint64_t)uar * RNIC_UAR_PAGE_BYTES);
	before = stats(hn).doorbells;
	arm = rnic_cpu_to_be64(UINT64_C(1) << 32 | cq.number).raw;
	__atomic_store_n((uint64_t *)((uint8_t *)address + RNIC_UAR_CQ_ARM), arm, __ATOMIC_RELEASE);
	softrnic_poll(hn->poller);
	assert_int_equal(stats(hn).doorbells, before + 1);
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
		assert_int_equal(softrnic_reset(hn.dev), 0);
		hn_set_cmdq(&hn);
		hn_bring_up(&hn);
		assert_int_equal(hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR), rows[i].first);
		hn_stop(&hn);
	}
}

static void
many_pages_are_asked_for_at_init(void **state)
{
	struct hn hn;
	int32_t count;

	(void)state;
	start(&hn, "init-pages-60000");
	hn_enable(&hn);
	assert_int_equal(hn_query_pages(&hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
	assert_int_equal(count, 60000);
	hn_stop(&hn);
	start(&hn, "init-pages-12874");
	hn_enable(&hn);
	assert_int_equal(hn_query_pages(&hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
	assert_int_equal(count, 12874);
	/* In one command, as the largest of a real card. */
	assert_int_equal(hn_give_pages(&hn, (uint32_t)count), RNIC_STATUS_OK);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(stats(&hn).pages_held, 12874 + 4);
	hn_stop(&hn);
}

/* ---- Registers ---- */

#define INITIALIZING   RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING)
#define HEALTH_COUNTER RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER)

static void
a_written_address_makes_it_initialize_again(void **state)
{
	struct rnic_function_in in = { 0 };
	struct rnic_cmd_out out;
	struct hn hn;

	(void)state;
	start(&hn, "initializing-again");
	assert_int_equal(hn_read32(&hn, INITIALIZING) >> 31, 1);
	/* What is rung now nobody hears, then or later. */
	hn_head(&in, RNIC_CMD_ENABLE_HCA, 0);
	hn_cmd_post(&hn, 0, &in, sizeof(in), sizeof(out));
	hn_ring(&hn, 1);
	test_clock_advance_us(90000);
	assert_int_equal(hn_read32(&hn, INITIALIZING) >> 31, 1);
	test_clock_advance_us(20000);
	assert_int_equal(hn_read32(&hn, INITIALIZING), 0);
	softrnic_poll(hn.poller);
	assert_int_equal(hn_cmd_result(&hn, 0, &out, sizeof(out)), HN_PENDING);
	hn_ring(&hn, 1);
	softrnic_poll(hn.poller);
	assert_int_equal(hn_cmd_result(&hn, 0, &out, sizeof(out)), RNIC_STATUS_OK);
	/* A reset is quick, and the next address is as the first one. */
	assert_int_equal(softrnic_reset(hn.dev), 0);
	assert_int_equal(hn_read32(&hn, INITIALIZING), 0);
	hn_set_cmdq(&hn);
	assert_int_equal(hn_read32(&hn, INITIALIZING) >> 31, 1);
	test_clock_advance_us(110000);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

static void
the_health_counter_stands_still_for_a_while(void **state)
{
	uint32_t first, stopped;
	struct hn hn;

	(void)state;
	start(&hn, "health-still");
	test_clock_advance_us(10000000);
	hn_bring_up(&hn);
	first = hn_read32(&hn, HEALTH_COUNTER);
	test_clock_advance_us(1000000);
	assert_int_not_equal(hn_read32(&hn, HEALTH_COUNTER), first);
	test_clock_advance_us(1100000);
	stopped = hn_read32(&hn, HEALTH_COUNTER);
	test_clock_advance_us(4800000);
	assert_int_equal(hn_read32(&hn, HEALTH_COUNTER), stopped);
	/* Commands are executed as ever. */
	hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD);
	test_clock_advance_us(200000);
	first = hn_read32(&hn, HEALTH_COUNTER);
	assert_true(first > stopped && first < stopped + 20);
	/* Not again: for nobody. */
	for (unsigned int i = 0; i < 20; i++) {
		if (i == 10) {
			hn_tear_down(&hn);
			hn_bring_up(&hn);
		}
		first = hn_read32(&hn, HEALTH_COUNTER);
		test_clock_advance_us(1000000);
		assert_int_not_equal(hn_read32(&hn, HEALTH_COUNTER), first);
	}
	hn_stop(&hn);
}

/* ---- Capabilities ---- */

static void
query_cap(struct hn *hn, bool current, struct rnic_general_cap *cap)
{
	static struct rnic_query_hca_cap_out out;
	struct rnic_function_in in = { 0 };

	hn_head(&in, RNIC_CMD_QUERY_HCA_CAP, RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, current));
	hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
	memcpy(cap, (uint8_t *)&out + RNIC_HCA_CAP_OFFSET, sizeof(*cap));
}

/* Current << 4 | maximum. */
static unsigned int
cap_of(struct hn *hn, enum rnic_general_cap_field field)
{
	struct rnic_general_cap current, max;

	query_cap(hn, true, &current);
	query_cap(hn, false, &max);
	return (unsigned int)(rnic_general_cap_get(&current, field) << 4 |
			      rnic_general_cap_get(&max, field));
}

static void
there_are_no_counter_sets(void **state)
{
	struct hn_wq rq;
	struct hn_eq eq;
	struct hn_cq cq;
	struct hn hn;
	uint32_t uar;

	(void)state;
	start(&hn, "no-q-counters");
	hn_bring_up(&hn);
	assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_MAX_QP_CNT), 0);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_ALLOC_Q_COUNTER, 0, 0, NULL), RNIC_STATUS_NO_RES);
	/* Queues do without. */
	uar = hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(&hn, &eq, uar, 4, 0, 0);
	hn_create_cq(&hn, &cq, uar, eq.number, 4);
	hn_create_rq(&hn, &rq, hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD), cq.number, 4, 4);
	hn_stop(&hn);
}

static int
set_roce(struct hn *hn, bool on)
{
	static struct rnic_set_hca_cap_in in;
	struct rnic_general_cap cap;
	struct rnic_cmd_out out;

	memset(&in, 0, sizeof(in));
	query_cap(hn, true, &cap);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_ROCE, on);
	hn_head(&in, RNIC_CMD_SET_HCA_CAP, RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, 0));
	memcpy((uint8_t *)&in + RNIC_HCA_CAP_OFFSET, &cap, sizeof(cap));
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

static int
set_roce_en(struct hn *hn, bool on)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_ROCE_EN);
	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_ROCE_EN, on);
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

static int
set_address(struct hn *hn)
{
	static const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	struct rnic_set_roce_address_in in = { 0 };
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(&in);
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_SET_ROCE_ADDRESS, 0);
	memcpy(address, gid, sizeof(gid));
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, 0x0200);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE, RNIC_ROCE_L3_TYPE_IPV4);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION, RNIC_ROCE_VERSION_2);
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

static void
roce_is_off_until_it_is_asked_for(void **state)
{
	struct hn hn;
	int32_t count;

	(void)state;
	start(&hn, "roce-off");
	for (unsigned int asked = 0; asked < 2; asked++) {
		const int status = asked ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;

		/* Each time anew: DISABLE_HCA has forgotten what was asked for. */
		hn_enable(&hn);
		assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_ROCE), 0x01);
		assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED), 0x11);
		assert_int_equal(set_roce(&hn, asked != 0), RNIC_STATUS_OK);
		assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_ROCE), asked ? 0x11 : 0x01);
		assert_int_equal(hn_query_pages(&hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
		assert_int_equal(hn_give_pages(&hn, (uint32_t)count), RNIC_STATUS_OK);
		assert_int_equal(hn_simple(&hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_OK);
		assert_int_equal(set_roce_en(&hn, true), status);
		assert_int_equal(set_roce_en(&hn, false), RNIC_STATUS_OK);
		assert_int_equal(set_address(&hn), status);
		hn_tear_down(&hn);
	}
	hn_stop(&hn);
}

/* ---- The port ---- */

static int
access_ptys(struct hn *hn, bool write, struct rnic_ptys_reg *reg)
{
	uint8_t in[0x10 + sizeof(*reg)] = { 0 }, out[0x10 + sizeof(*reg)];
	int status;

	hn_head(in, RNIC_CMD_ACCESS_REG, write ? RNIC_ACCESS_REG_WRITE : RNIC_ACCESS_REG_READ);
	rnic_access_reg_in_set((void *)in, RNIC_ACCESS_REG_IN_REGISTER_ID, RNIC_REG_PTYS);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_LOCAL_PORT, 1);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
	memcpy(in + 0x10, reg, sizeof(*reg));
	status = hn_cmd(hn, in, sizeof(in), out, sizeof(out));
	memcpy(reg, out + 0x10, sizeof(*reg));
	return status;
}

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
	struct rnic_vport_in in;
	struct rnic_ptys_reg reg;
	struct hn hn;

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(&hn, rows[i].quirk);
		hn_bring_up(&hn);
		memset(&reg, 0, sizeof(reg));
		assert_int_equal(access_ptys(&hn, false, &reg), RNIC_STATUS_OK);
#define GET(field) rnic_ptys_reg_get(&reg, RNIC_PTYS_REG_##field)
		assert_int_equal(GET(EXT_ETH_PROTO_CAPABILITY), rows[i].offered);
		assert_int_equal(GET(EXT_ETH_PROTO_OPER), rows[i].oper);
		assert_int_equal(GET(ETH_PROTO_CAPABILITY), 0);
		assert_int_equal(GET(ETH_PROTO_ADMIN), 0);
		assert_int_equal(GET(ETH_PROTO_OPER), 0);
		assert_int_equal(GET(DATA_RATE_OPER), 0);
#undef GET
		/* As it is read it may be written; not without the one that runs. */
		assert_int_equal(access_ptys(&hn, true, &reg), RNIC_STATUS_OK);
		rnic_ptys_reg_set(&reg, RNIC_PTYS_REG_EXT_ETH_PROTO_ADMIN, 1 << 14);
		assert_int_equal(access_ptys(&hn, true, &reg), RNIC_STATUS_BAD_PARAM);
		memset(&in, 0, sizeof(in));
		hn_head(&in, RNIC_CMD_QUERY_VPORT_STATE, 0);
		hn_cmd_ok(&hn, &in, sizeof(in), &out, sizeof(out));
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
	struct rnic_eqe eqe;
	struct hn_eq eq;
	struct hn hn;
	uint32_t uar;

	(void)state;
	start(&hn, "port-module");
	hn_bring_up(&hn);
	assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_PORT_MODULE_EVENT), 0x11);
	assert_int_equal(cap_of(&hn, RNIC_GENERAL_CAP_TEMP_WARN_EVENT), 0x11);
	uar = hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR);
	test_clock_advance_us(1000000);
	hn_create_eq(&hn, &eq, uar, 4, 1 << 0x09 | 1 << 0x16 | 1 << 0x17, 0);
	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		softrnic_poll(hn.poller);
		assert_false(hn_eq_next(&hn, &eq, &eqe));
		test_clock_advance_us(100000);
		softrnic_poll(hn.poller);
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_int_equal(eqe.type, wanted[i].type);
		assert_int_equal(eqe.sub_type, wanted[i].sub_type);
		for (unsigned int w = 0; w < 4; w++)
			assert_int_equal(rnic_be32_to_cpu(eqe.data[w]), wanted[i].data[w]);
		hn_eq_arm(&hn, &eq);
	}
	for (unsigned int i = 0; i < 20; i++) {
		test_clock_advance_us(100000);
		softrnic_poll(hn.poller);
	}
	assert_false(hn_eq_next(&hn, &eq, &eqe));
	hn_stop(&hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_that_is_listed_is_taken),
		cmocka_unit_test(quirks_are_names_with_plus_between_them),
		cmocka_unit_test(uars_begin_where_they_are_asked_to),
		cmocka_unit_test(many_pages_are_asked_for_at_init),
		cmocka_unit_test(a_written_address_makes_it_initialize_again),
		cmocka_unit_test(the_health_counter_stands_still_for_a_while),
		cmocka_unit_test(there_are_no_counter_sets),
		cmocka_unit_test(roce_is_off_until_it_is_asked_for),
		cmocka_unit_test(speeds_stand_in_the_extended_fields_alone),
		cmocka_unit_test(port_and_module_and_temperature_events),
	};

	return cmocka_run_group_tests_name("quirk", tests, NULL, NULL);
}
