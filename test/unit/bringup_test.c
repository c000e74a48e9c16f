/* SPDX-License-Identifier: BSD-3-Clause */

/* Bring-up: whatever fails, wherever, all is given back; and it can be done over and over. */

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "base/clock.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/health.h"
#include "core/pages.h"
#include "nth.h"
#include "prm/cmd.h"

static void
expect_clean_failure(struct rnic_dev *dev, int rc, const struct unit_account *before,
		     const char *where)
{
	if (rc == 0) {
		rnic_dev_close(dev);
		fail_msg("%s: opened all the same", where);
	}
	if (unit_watch.ended) {
		if (unit_watch.stats.pages_held != 0 || unit_watch.stats.objects != 0 ||
		    unit_watch.stats.dma_maps != 0)
			fail_msg("%s: left %u pages, %u objects, %u maps", where,
				 unit_watch.stats.pages_held, unit_watch.stats.objects,
				 unit_watch.stats.dma_maps);
		unit_watch_assert_clean();
	}
	unit_account_assert_same(before);
}

/* Whoever follows must find everything as before. */
static void
expect_open_works(void)
{
	struct rnic_dev *dev;

	unit_watch = (struct unit_watch){ 0 };
	assert_int_equal(unit_watched_open(&dev), 0);
	rnic_dev_close(dev);
	unit_watch_assert_clean();
}

static void
test_every_stage_fails_in_turn(void **state)
{
	struct unit_account before;
	unsigned int stage;

	(void)state;
	expect_open_works();
	unit_account_take(&before);
	assert_true(rnic_bringup_stages() > 20);
	for (stage = 0; stage < rnic_bringup_stages(); stage++) {
		struct rnic_dev *dev = NULL;
		int rc;

		unit_watch = (struct unit_watch){ .fail_at = rnic_bringup_stage_name(stage) };
		rc = unit_watched_open(&dev);
		/* The hook's own code comes back, so the stage that was meant was the one that failed. */
		assert_int_equal(rc, -ENOEXEC);
		assert_int_equal(unit_watch.ended, stage > 0);
		expect_clean_failure(dev, rc, &before, unit_watch.fail_at);
	}
	expect_open_works();
}

static uint64_t fault_value;

static void
set_status_fault(struct softrnic *device)
{
	softrnic_fault(device, SOFTRNIC_FAULT_COMMAND_STATUS, fault_value);
}

#define ANY_OP_MOD -1

static void
test_every_command_refused_in_turn(void **state)
{
	static const struct {
		const char *name;
		uint16_t opcode;
		int op_mod;
	} commands[] = {
		{ "ENABLE_HCA", RNIC_CMD_ENABLE_HCA, ANY_OP_MOD },
		{ "QUERY_ISSI", RNIC_CMD_QUERY_ISSI, ANY_OP_MOD },
		{ "SET_ISSI", RNIC_CMD_SET_ISSI, ANY_OP_MOD },
		{ "QUERY_PAGES boot", RNIC_CMD_QUERY_PAGES, RNIC_PAGES_BOOT },
		{ "QUERY_PAGES init", RNIC_CMD_QUERY_PAGES, RNIC_PAGES_INIT },
		{ "MANAGE_PAGES give", RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE },
		{ "QUERY_HCA_CAP general max", RNIC_CMD_QUERY_HCA_CAP, 0 },
		{ "QUERY_HCA_CAP general current", RNIC_CMD_QUERY_HCA_CAP, 1 },
		{ "QUERY_HCA_CAP ethernet", RNIC_CMD_QUERY_HCA_CAP,
		  RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ETHERNET_OFFLOADS, 1) },
		{ "QUERY_HCA_CAP flow table", RNIC_CMD_QUERY_HCA_CAP,
		  RNIC_HCA_CAP_OP_MOD(RNIC_CAP_FLOW_TABLE, 1) },
		{ "SET_HCA_CAP", RNIC_CMD_SET_HCA_CAP, ANY_OP_MOD },
		{ "INIT_HCA", RNIC_CMD_INIT_HCA, ANY_OP_MOD },
		{ "QUERY_ADAPTER", RNIC_CMD_QUERY_ADAPTER, ANY_OP_MOD },
		{ "ALLOC_UAR", RNIC_CMD_ALLOC_UAR, ANY_OP_MOD },
		{ "CREATE_EQ", RNIC_CMD_CREATE_EQ, ANY_OP_MOD },
		{ "ALLOC_PD", RNIC_CMD_ALLOC_PD, ANY_OP_MOD },
		{ "ALLOC_TRANSPORT_DOMAIN", RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, ANY_OP_MOD },
		{ "CREATE_TIS", RNIC_CMD_CREATE_TIS, ANY_OP_MOD },
		{ "QUERY_NIC_VPORT_CONTEXT", RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, ANY_OP_MOD },
	};
	struct unit_account before;
	size_t i;

	(void)state;
	unit_account_take(&before);
	for (i = 0; i < RTE_DIM(commands); i++) {
		struct rnic_dev *dev = NULL;
		int rc;

		fault_value = (uint64_t)(commands[i].op_mod + 1) << 24 |
			      (uint64_t)commands[i].opcode << 8 | RNIC_STATUS_LIM;
		unit_watch = (struct unit_watch){ .prepare = set_status_fault };
		rc = unit_watched_open(&dev);
		if (rc != -ENOSPC)
			fail_msg("%s refused: opening gave %d", commands[i].name, rc);
		expect_clean_failure(dev, rc, &before, commands[i].name);
	}
	expect_open_works();
}

/* ---- The n-th command, map or allocation fails ---- */

static int (*watch_hook)(struct rnic_dev *dev, const char *stage, bool up);

static unsigned int fails_at;

/* Once the access is open. */
static int
arm_hook(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "wait until initialized") == 0) {
		unit_nth_take_maps(dev);
		unit_nth.left = fails_at;
	}
	return watch_hook(dev, stage, up);
}

/* Open with the n-th of them failing; false: it was not reached. */
static bool
open_with_a_failure(enum unit_nth_of of, unsigned int n, const struct unit_account *before)
{
	struct rnic_dev *dev = NULL;
	char where[64];
	int rc;

	unit_nth = (struct unit_nth){ .of = of };
	fails_at = n;
	unit_watch = (struct unit_watch){ 0 };
	unit_watch_begin();
	watch_hook = rnic_bringup_hook;
	rnic_bringup_hook = arm_hook;
	unit_nth_counts = true;
	rc = rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev);
	unit_nth_counts = false;
	if (!unit_nth.failed) {
		assert_int_equal(rc, 0);
		rnic_dev_close(dev);
		unit_watch_assert_clean();
		return false;
	}
	snprintf(where, sizeof(where), "%s %u, opcode 0x%x",
		 (const char *const[]){ "command", "map", "allocation", "heap", "mmap" }[of], n,
		 unit_nth.opcode);
	/* Its own error comes back, not one that follows from it. */
	if (rc != unit_nth_error(of))
		fail_msg("%s failed: opening gave %d", where, rc);
	assert_true(unit_watch.ended);
	expect_clean_failure(dev, rc, before, where);
	return true;
}

static unsigned int failures[0x1000]; /* by opcode */

static void
each_in_turn(enum unit_nth_of of, unsigned int at_least)
{
	struct unit_account before;
	unsigned int n = 1;

	expect_open_works();
	unit_account_take(&before);
	memset(failures, 0, sizeof(failures));
	while (open_with_a_failure(of, n, &before)) {
		failures[unit_nth.opcode & 0xfff]++;
		/* Whoever follows finds a device as if nothing had been. */
		if (n % 8 == 0)
			expect_open_works();
		n++;
	}
	expect_open_works();
	if (n <= at_least)
		fail_msg("only %u were made to fail", n - 1);
}

static void
test_the_nth_command_fails(void **state)
{
	(void)state;
	each_in_turn(UNIT_COMMANDS, 30);
	/* Not the first use alone: at boot and at init, page by page, address by address. */
	assert_true(failures[RNIC_CMD_MANAGE_PAGES] >= 2);
	assert_true(failures[RNIC_CMD_ALLOC_UAR] >= 2);
	/* What a function of few rights is refused is only tried. */
	assert_int_equal(failures[RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT], 0);
	assert_int_equal(failures[RNIC_CMD_SET_ROCE_ADDRESS], 0);
}

static void
test_the_nth_map_fails(void **state)
{
	(void)state;
	each_in_turn(UNIT_MAPS, 3);
}

static void
test_the_nth_allocation_fails(void **state)
{
	(void)state;
	each_in_turn(UNIT_ALLOCATIONS, 15);
}

static void
test_the_nth_allocation_of_device_memory_fails(void **state)
{
	(void)state;
	each_in_turn(UNIT_HEAP, 3);
}

static void
test_the_nth_piece_of_ordinary_memory_fails(void **state)
{
	(void)state;
	each_in_turn(UNIT_SYSTEM, 1);
}

/* What the device refuses to take down must not keep memory of ours, nor stop the rest. */
static void
test_refused_destroys_leave_no_memory_behind(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_DESTROY_TIS,
		RNIC_CMD_DEALLOC_PD,
		RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN,
		RNIC_CMD_DEALLOC_Q_COUNTER,
		RNIC_CMD_DEALLOC_UAR,
		RNIC_CMD_DESTROY_EQ,
		RNIC_CMD_TEARDOWN_HCA,
		RNIC_CMD_MANAGE_PAGES,
		RNIC_CMD_DISABLE_HCA,
	};
	struct unit_account before;
	size_t i;

	(void)state;
	unit_account_take(&before);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		struct rnic_dev *dev;

		unit_watch = (struct unit_watch){ 0 };
		assert_int_equal(unit_watched_open(&dev), 0);
		unit_refuse(dev, opcodes[i], RNIC_STATUS_INTERNAL_ERR);
		rnic_dev_close(dev);
		assert_true(unit_watch.ended);
		assert_int_equal(unit_watch.stats.dma_maps, 0);
		unit_account_assert_same(&before);
	}
	expect_open_works();
}

static void
stay_initializing(struct softrnic *device)
{
	softrnic_fault(device, SOFTRNIC_FAULT_INITIALIZING, 1);
}

static void
be_dead(struct softrnic *device)
{
	softrnic_fault(device, SOFTRNIC_FAULT_FATAL, 1);
}

static void
test_a_device_that_is_not_ready(void **state)
{
	struct rnic_dev *dev = NULL;
	struct unit_account before;
	int rc;

	unit_account_take(&before);
	unit_tunables()->initializing_timeout_ms = 50;
	unit_watch = (struct unit_watch){ .prepare = stay_initializing };
	rc = unit_watched_open(&dev);
	assert_int_equal(rc, -ETIMEDOUT);
	expect_clean_failure(dev, rc, &before, "initializing");

	unit_watch = (struct unit_watch){ .prepare = be_dead };
	rc = unit_watched_open(&dev);
	assert_int_equal(rc, -EIO);
	expect_clean_failure(dev, rc, &before, "dead");
	unit_restore(state);
	expect_open_works();
}

/* What tests set is for devices that are opened later. */
static void
test_an_open_device_keeps_its_tunables(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	unit_tunables()->cmd_timeout_ms = 54321;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	unit_tunables()->cmd_timeout_ms = 1;
	assert_int_equal(dev->tunables.cmd_timeout_ms, 54321);
	rnic_dev_close(dev);
}

/* Both ways to die under the health watch; closing then gives everything back, fast. */
static void
test_health_watch(void **state)
{
	static const enum softrnic_fault faults[] = { SOFTRNIC_FAULT_HEALTH_STOPPED,
						      SOFTRNIC_FAULT_FATAL };
	const struct timespec nap = { .tv_nsec = 10000000 };
	struct unit_account before;
	size_t i;

	(void)state;
	unit_account_take(&before);
	for (i = 0; i < RTE_DIM(faults); i++) {
		struct rnic_dev *dev;
		unsigned int waits = 0;
		uint64_t start;

		/* Longer than the device takes to move its counter. */
		unit_tunables()->health_period_ms = 50;
		unit_watch = (struct unit_watch){ 0 };
		assert_int_equal(unit_watched_open(&dev), 0);
		unit_watch_for_loss(dev);
		/* A healthy device stays alive. */
		for (waits = 0; waits < 100; waits++)
			nanosleep(&nap, NULL);
		assert_int_equal(atomic_load(&unit_losses), 0);
		softrnic_fault(unit_softrnic(dev), faults[i], 1);
		assert_true(UNIT_COMES(atomic_load(&unit_losses) != 0));
		for (waits = 0; waits < 50; waits++)
			nanosleep(&nap, NULL);
		assert_int_equal(atomic_load(&unit_losses), 1);
		/* Who waited for a command would wait for long. */
		dev->tunables.cmd_dead_timeout_ms = dev->tunables.cmd_timeout_ms;
		start = rnic_now_us();
		rnic_dev_close(dev);
		assert_true(rnic_now_us() - start <
			    (uint64_t)unit_tunables()->cmd_timeout_ms * 1000);
		unit_watch_assert_clean();
		unit_account_assert_same(&before);
	}
}

/* Pages that a running device asks for and offers back; 5,000 of them need mailboxes of up to 64 blocks, both ways. */
static void
test_page_requests_at_run_time(void **state)
{
	static const int32_t requests[] = { 100, -60, 5000, -4990, 300 };
	struct softrnic_stats stats;
	struct rnic_dev *dev = *state;
	uint32_t held;
	size_t i;

	held = rnic_pages_held(dev);
	assert_true(held > 0);
	softrnic_stats_get(unit_softrnic(dev), &stats);
	assert_int_equal(stats.pages_held, held);
	for (i = 0; i < RTE_DIM(requests); i++) {
		assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST,
						(uint64_t)requests[i]),
				 0);
		held += (uint32_t)requests[i];
		unit_wait_for_pages(dev, held);
	}
	/* It closes with pages beyond those of the start. */
}

/* A request without measure is refused, and the device goes on with what it has. */
static void
test_a_request_for_all_memory_is_refused(void **state)
{
	struct softrnic_stats stats;
	struct rnic_dev *dev = *state;
	uint64_t commands;
	uint32_t held;

	held = rnic_pages_held(dev);
	softrnic_stats_get(unit_softrnic(dev), &stats);
	commands = stats.commands;
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 300000),
			 0);
	/* The refusal is a command. Requests that meet in the driver are added up, and refused together. */
	assert_true(UNIT_COMES(
		(softrnic_stats_get(unit_softrnic(dev), &stats), stats.commands != commands)));
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 10), 0);
	unit_wait_for_pages(dev, held + 10);
}

static void
test_open_and_close_a_hundred_times(void **state)
{
	struct unit_account before;
	unsigned int i;

	(void)state;
	expect_open_works();
	unit_account_take(&before);
	for (i = 0; i < 100; i++) {
		expect_open_works();
		unit_account_assert_same(&before);
	}
}

static void
test_two_devices_at_once_and_a_name_twice(void **state)
{
	struct rnic_dev *one, *two, *again;
	struct unit_account before;

	(void)state;
	rnic_bringup_hook = NULL;
	unit_account_take(&before);
	assert_int_equal(rnic_dev_open("net_rnic0", "wire=pair:t", SOCKET_ID_ANY, &one), 0);
	assert_int_equal(rnic_dev_open("net_rnic1", "wire=pair:t,mac=02:00:00:00:00:77",
				       SOCKET_ID_ANY, &two),
			 0);
	assert_memory_equal(two->mac, "\x02\0\0\0\0\x77", 6);
	assert_memory_not_equal(one->mac, two->mac, 6);
	assert_int_equal(rnic_dev_open("net_rnic1", "", SOCKET_ID_ANY, &again), -EEXIST);
	rnic_dev_close(one);
	rnic_dev_close(two);
	unit_account_assert_same(&before);
}

static const struct CMUnitTest tests[] = {
	UNIT_TEST(test_every_stage_fails_in_turn),
	UNIT_TEST(test_every_command_refused_in_turn),
	UNIT_TEST(test_the_nth_command_fails),
	UNIT_TEST(test_the_nth_map_fails),
	UNIT_TEST(test_the_nth_allocation_fails),
	UNIT_TEST(test_the_nth_allocation_of_device_memory_fails),
	UNIT_TEST(test_the_nth_piece_of_ordinary_memory_fails),
	UNIT_TEST(test_refused_destroys_leave_no_memory_behind),
	UNIT_TEST(test_a_device_that_is_not_ready),
	UNIT_TEST(test_an_open_device_keeps_its_tunables),
	UNIT_TEST(test_health_watch),
	UNIT_WATCHED_TEST(test_page_requests_at_run_time),
	UNIT_WATCHED_TEST(test_a_request_for_all_memory_is_refused),
	UNIT_TEST(test_open_and_close_a_hundred_times),
	UNIT_TEST(test_two_devices_at_once_and_a_name_twice),
};

UNIT_MAIN("bringup", tests)
