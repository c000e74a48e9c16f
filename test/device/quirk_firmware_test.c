/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks of a firmware that is slow, or refuses, or tells of what nobody knows. Time is the test's own. */
#include <stdio.h>

#include "prm/cmd_table.h"
#include "quirk.h"
#include "test_clock.h"

/* ---- Pages ---- */

static void
pages_come_back_late(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, "pages-late");
	hn_bring_up(&hn);
	/* Some at run time, and all at the end. */
	assert_int_equal(softrnic_fault(hn.dev, SOFTRNIC_FAULT_PAGE_REQUEST, (uint32_t)-7), 0);
	assert_int_equal(hn_take_pages(&hn, 7), 0);
	test_clock_advance_us(2900000);
	assert_int_equal(hn_take_pages(&hn, 7), 0);
	test_clock_advance_us(200000);
	assert_int_equal(hn_take_pages(&hn, 7), 7);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(&hn, 100), 0);
	test_clock_advance_us(2900000);
	assert_int_equal(hn_take_pages(&hn, 100), 0);
	test_clock_advance_us(200000);
	assert_int_equal(hn_take_pages(&hn, 20), 20);
	assert_int_equal(hn_take_pages(&hn, 20), 9);
	assert_int_equal(stats(&hn).pages_held, 0);
	hn_stop(&hn);
}

static void
pages_come_back_in_small_lots(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, "pages-small");
	hn_bring_up(&hn);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(&hn, 3), 3);
	for (unsigned int left = 33; left > 0; left -= left < 7 ? left : 7)
		assert_int_equal(hn_take_pages(&hn, 100), left < 7 ? left : 7);
	assert_int_equal(stats(&hn).pages_held, 0);
	hn_stop(&hn);
}

static void
pages_never_come_back(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, "pages-never");
	hn_bring_up(&hn);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(&hn, 100), 0);
	test_clock_advance_us(60000000);
	assert_int_equal(hn_take_pages(&hn, 100), 0);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_DISABLE_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(stats(&hn).pages_held, 36);
	assert_int_equal(softrnic_reset(hn.dev), 0);
	assert_int_equal(stats(&hn).pages_held, 0);
	hn_set_cmdq(&hn);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

#define PAGES_IOVA UINT64_C(0x7000000000)
#define PAGES	   36
static _Alignas(4096) uint8_t pages[PAGES][4096];

/* In memory of their own map. */
static void
give_pages(struct hn *hn, uint16_t stage, uint32_t *given)
{
	_Alignas(8) uint8_t in[sizeof(struct rnic_manage_pages_in) + PAGES * 8] = { 0 };
	struct rnic_be64 *list = (void *)(in + sizeof(struct rnic_manage_pages_in));
	struct rnic_manage_pages_out out;
	int32_t count;

	assert_int_equal(hn_query_pages(hn, stage, &count), RNIC_STATUS_OK);
	hn_head(in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set((void *)in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES,
				 (uint32_t)count);
	for (int32_t i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(PAGES_IOVA + 4096ull * (*given)++);
	hn_cmd_ok(hn, in, (uint32_t)(sizeof(struct rnic_manage_pages_in) + 8ull * (uint32_t)count),
		  &out, sizeof(out));
}

static void
bring_up_in_own_map(struct hn *hn)
{
	uint32_t given = 0;

	memset(pages, 0, sizeof(pages));
	assert_int_equal(softrnic_dma_map(hn->dev, PAGES_IOVA, sizeof(pages), pages,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	give_pages(hn, RNIC_PAGES_BOOT, &given);
	give_pages(hn, RNIC_PAGES_INIT, &given);
	assert_int_equal(given, PAGES);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_OK);
}

/* Since they were last looked at. */
static unsigned int
pages_written(struct hn *hn)
{
	unsigned int count = 0;

	test_clock_advance_us(1000);
	softrnic_poll(hn->poller);
	for (unsigned int i = 0; i < PAGES; i++) {
		count += pages[i][0] != 0 || memcmp(pages[i], pages[i] + 1, 4095) != 0;
		memset(pages[i], 0, 4096);
	}
	return count;
}

#define SYNDROME 0x23c

static void
pages_that_it_has_are_written_to(void **state)
{
	static const char *const in_use[] = { "pages-late", "pages-never", "teardown-refused" };
	struct hn hn;

	(void)state;
	for (unsigned int i = 0; i < sizeof(in_use) / sizeof(in_use[0]); i++) {
		start(&hn, in_use[i]);
		bring_up_in_own_map(&hn);
		assert_int_equal(pages_written(&hn), PAGES);
		(void)hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL);
		assert_int_equal(hn_take_pages(&hn, PAGES), 0);
		assert_int_equal(pages_written(&hn), PAGES);
		/* Without a bus master it cannot; with one but without them it notices. */
		softrnic_bus_master(hn.dev, false);
		assert_int_equal(pages_written(&hn), 0);
		softrnic_bus_master(hn.dev, true);
		assert_int_equal(stats(&hn).tpt_faults, 0);
		assert_int_equal(hn_read32(&hn, SYNDROME) >> 16 & 0xff, 0);
		assert_int_equal(softrnic_dma_unmap(hn.dev, PAGES_IOVA, sizeof(pages)), 0);
		assert_int_equal(pages_written(&hn), 0);
		assert_int_equal(stats(&hn).tpt_faults, 1);
		assert_int_equal(hn_read32(&hn, SYNDROME) >> 16 & 0xff, 0xa);
		/* After a reset it has none. */
		assert_int_equal(softrnic_reset(hn.dev), 0);
		assert_int_equal(pages_written(&hn), 0);
		assert_int_equal(stats(&hn).tpt_faults, 0);
		assert_int_equal(hn_read32(&hn, SYNDROME) >> 16 & 0xff, 0);
		hn_stop(&hn);
	}
}

/* By itself the device leaves them alone, and so it does with those that have been taken back. */
static void
pages_that_it_has_not_are_left_alone(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, NULL);
	bring_up_in_own_map(&hn);
	assert_int_equal(pages_written(&hn), 0);
	hn_stop(&hn);
	start(&hn, "pages-late");
	bring_up_in_own_map(&hn);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(&hn, PAGES), 0);
	test_clock_advance_us(3000000);
	assert_int_equal(hn_take_pages(&hn, PAGES), PAGES);
	(void)pages_written(&hn);
	assert_int_equal(pages_written(&hn), 0);
	assert_int_equal(softrnic_dma_unmap(hn.dev, PAGES_IOVA, sizeof(pages)), 0);
	assert_int_equal(pages_written(&hn), 0);
	assert_int_equal(stats(&hn).tpt_faults, 0);
	hn_stop(&hn);
}

/* ---- Commands ---- */

/* A NOP in the slot, rung with the others. */
static void
post_nop(struct hn *hn, unsigned int slot)
{
	struct rnic_cmd_in in = { 0 };

	hn_head(&in, RNIC_CMD_NOP, 0);
	hn_cmd_post(hn, slot, &in, sizeof(in), sizeof(struct rnic_cmd_out));
}

static int
result_of(struct hn *hn, unsigned int slot)
{
	struct rnic_cmd_out out;

	return hn_cmd_result(hn, slot, &out, sizeof(out));
}

static void
poll_a_few(struct hn *hn)
{
	for (unsigned int i = 0; i < 4; i++)
		softrnic_poll(hn->poller);
}

/* On the last slot, by themselves: the others are taken. */
static void
give_on_the_last_slot(struct hn *hn, uint32_t count)
{
	_Alignas(8) uint8_t in[sizeof(struct rnic_manage_pages_in) + 16 * 8] = { 0 };
	struct rnic_be64 *list = (void *)(in + sizeof(struct rnic_manage_pages_in));
	const uint64_t memory = hn_alloc(hn, count * 4096ul, 4096);

	hn_head(in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set((void *)in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	for (uint32_t i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(memory + i * 4096ul);
	hn_cmd_post(hn, 31, in, (uint32_t)(sizeof(struct rnic_manage_pages_in) + 8ul * count), 16);
	hn_ring(hn, UINT32_C(1) << 31);
	poll_a_few(hn);
	assert_int_equal(result_of(hn, 31), RNIC_STATUS_OK);
}

static void
a_command_waits_for_pages(void **state)
{
	struct rnic_eqe eqe;
	struct hn_eq eq;
	struct hn hn;
	uint32_t uar;
	int32_t count;

	(void)state;
	start(&hn, "page-request-early");
	/* Each time that it is initialized. */
	for (unsigned int round = 0; round < 2; round++) {
		hn_bring_up(&hn);
		uar = hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR);
		hn_create_eq(&hn, &eq, uar, 4, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
		assert_false(hn_eq_next(&hn, &eq, &eqe));
		post_nop(&hn, 0);
		post_nop(&hn, 1);
		hn_ring(&hn, 3);
		poll_a_few(&hn);
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
		assert_int_equal(rnic_be32_to_cpu(eqe.data[1]), 5);
		assert_false(hn_eq_next(&hn, &eq, &eqe));
		give_on_the_last_slot(&hn, 3);
		test_clock_advance_us(60000000);
		poll_a_few(&hn);
		assert_int_equal(result_of(&hn, 0), HN_PENDING);
		assert_int_equal(result_of(&hn, 1), HN_PENDING);
		give_on_the_last_slot(&hn, 2);
		assert_int_equal(result_of(&hn, 0), RNIC_STATUS_OK);
		assert_int_equal(result_of(&hn, 1), RNIC_STATUS_OK);
		/* Once: requests that come later have nobody wait. */
		assert_int_equal(softrnic_fault(hn.dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
		hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD);
		assert_int_equal(hn_query_pages(&hn, RNIC_PAGES_REGULAR, &count), RNIC_STATUS_OK);
		assert_int_equal(count, 1);
		hn_tear_down(&hn);
	}
	hn_stop(&hn);
}

/* A driver that says so is not left waiting. */
static void
a_command_waits_no_longer_for_pages_that_cannot_be_given(void **state)
{
	struct hn_eq eq;
	struct hn hn;
	uint32_t uar;

	(void)state;
	start(&hn, "page-request-early");
	hn_bring_up(&hn);
	uar = hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(&hn, &eq, uar, 4, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
	post_nop(&hn, 1);
	hn_ring(&hn, 2);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), HN_PENDING);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_CANT_GIVE, 0, NULL), 0);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), RNIC_STATUS_OK);
	hn_stop(&hn);
}

/* Until it has its answer. */
static int
late_cmd(struct hn *hn, uint16_t opcode, void *in, uint32_t bytes)
{
	struct rnic_object_out out;
	int status = HN_PENDING;

	hn_head(in, opcode, 0);
	hn_cmd_post(hn, 0, in, bytes, sizeof(out));
	hn_ring(hn, 1);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 0, &out, sizeof(out)), HN_PENDING);
	for (unsigned int ms = 0; ms < 10 && status == HN_PENDING; ms++) {
		test_clock_advance_us(1000);
		/* Once more is not twice. */
		hn_ring(hn, 1);
		softrnic_poll(hn->poller);
		status = hn_cmd_result(hn, 0, &out, sizeof(out));
	}
	return status;
}

static void
commands_are_answered_late_and_out_of_order(void **state)
{
	struct rnic_function_in in = { 0 };
	struct hn hn;

	(void)state;
	start(&hn, "commands-late");
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(late_cmd(&hn, RNIC_CMD_ENABLE_HCA, &in, sizeof(in)),
				 RNIC_STATUS_OK);
		assert_int_equal(late_cmd(&hn, RNIC_CMD_DISABLE_HCA, &in, sizeof(in)),
				 RNIC_STATUS_OK);
	}
	assert_int_equal(late_cmd(&hn, RNIC_CMD_ENABLE_HCA, &in, sizeof(in)), RNIC_STATUS_OK);
	assert_int_equal(stats(&hn).commands, 7);
	/* After a reset nobody hears of them. */
	post_nop(&hn, 5);
	hn_ring(&hn, 1 << 5);
	softrnic_poll(hn.poller);
	assert_int_equal(stats(&hn).commands, 8);
	assert_int_equal(softrnic_reset(hn.dev), 0);
	hn_set_cmdq(&hn);
	test_clock_advance_us(10000);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 5), HN_PENDING);
	/* The last of three is the first one that is answered. */
	assert_int_equal(late_cmd(&hn, RNIC_CMD_ENABLE_HCA, &in, sizeof(in)), RNIC_STATUS_OK);
	for (unsigned int slot = 1; slot < 4; slot++)
		post_nop(&hn, slot);
	hn_ring(&hn, 0xe);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), HN_PENDING);
	assert_int_equal(result_of(&hn, 2), HN_PENDING);
	assert_int_equal(result_of(&hn, 3), HN_PENDING);
	test_clock_advance_us(1500);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), HN_PENDING);
	assert_int_equal(result_of(&hn, 2), HN_PENDING);
	assert_int_equal(result_of(&hn, 3), RNIC_STATUS_OK);
	test_clock_advance_us(2000);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), HN_PENDING);
	assert_int_equal(result_of(&hn, 2), RNIC_STATUS_OK);
	test_clock_advance_us(3000);
	poll_a_few(&hn);
	assert_int_equal(result_of(&hn, 1), RNIC_STATUS_OK);
	hn_stop(&hn);
}

/* ---- Events ---- */

static void
events_of_unknown_types_come_between_the_others(void **state)
{
	uint8_t before = 0;
	struct rnic_eqe eqe;
	struct hn_eq eq;
	struct hn hn;
	uint32_t uar;

	(void)state;
	start(&hn, "events-unknown");
	hn_bring_up(&hn);
	uar = hn_alloc_object(&hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(&hn, &eq, uar, 2, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(softrnic_fault(hn.dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_string_equal(rnic_event_name(eqe.type), "unknown");
		assert_int_not_equal(eqe.type, before);
		before = eqe.type;
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
		/* No more of them than this, while nothing is read: a queue is as long as it was. */
		assert_int_equal(softrnic_fault(hn.dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
		assert_int_equal(softrnic_fault(hn.dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
		assert_true(hn_eq_next(&hn, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
		assert_false(hn_eq_next(&hn, &eq, &eqe));
		hn_eq_arm(&hn, &eq);
	}
	assert_int_equal(stats(&hn).eq_overruns, 0);
	hn_stop(&hn);
}

/* ---- The end ---- */

/* All goes on: a reset alone ends it. */
static void
teardown_is_refused(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, "teardown-refused");
	hn_bring_up(&hn);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL),
			 RNIC_STATUS_INTERNAL_ERR);
	hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD);
	assert_int_equal(hn_take_pages(&hn, 16), 0);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_DISABLE_HCA, 0, 0, NULL),
			 RNIC_STATUS_BAD_SYS_STATE);
	assert_int_equal(softrnic_reset(hn.dev), 0);
	assert_int_equal(stats(&hn).pages_held, 0);
	hn_set_cmdq(&hn);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_back_late),
		cmocka_unit_test(pages_come_back_in_small_lots),
		cmocka_unit_test(pages_never_come_back),
		cmocka_unit_test(pages_that_it_has_are_written_to),
		cmocka_unit_test(pages_that_it_has_not_are_left_alone),
		cmocka_unit_test(a_command_waits_for_pages),
		cmocka_unit_test(a_command_waits_no_longer_for_pages_that_cannot_be_given),
		cmocka_unit_test(commands_are_answered_late_and_out_of_order),
		cmocka_unit_test(events_of_unknown_types_come_between_the_others),
		cmocka_unit_test(teardown_is_refused),
	};

	return cmocka_run_group_tests_name("quirk_firmware", tests, NULL, NULL);
}
