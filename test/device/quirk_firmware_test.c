/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks of a firmware that is slow, or refuses, or tells of what nobody knows. Time is the test's own. */
#include <stdio.h>

#include "prm/cmd_table.h"
#include "quirk.h"
#include "test_clock.h"

#define PAGE_REQUESTS (UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST)

static void
request_page(struct hn *hn)
{
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
}

/* The next event asks for pages. */
static void
assert_requested(struct hn *hn, struct hn_eq *eq, struct rnic_eqe *eqe)
{
	assert_true(hn_eq_next(hn, eq, eqe));
	assert_int_equal(eqe->type, RNIC_EVENT_PAGE_REQUEST);
}

/* ---- Pages ---- */

static void
pages_come_back_late(void **state)
{
	struct hn *hn = *state;

	/* Some at run time, and all at the end. */
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, (uint32_t)-7), 0);
	assert_int_equal(hn_take_pages(hn, 7), 0);
	test_clock_advance_us(2900000);
	assert_int_equal(hn_take_pages(hn, 7), 0);
	test_clock_advance_us(200000);
	assert_int_equal(hn_take_pages(hn, 7), 7);
	assert_int_equal(command(hn, RNIC_CMD_TEARDOWN_HCA), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(hn, 100), 0);
	test_clock_advance_us(2900000);
	assert_int_equal(hn_take_pages(hn, 100), 0);
	test_clock_advance_us(200000);
	assert_int_equal(hn_take_pages(hn, 20), 20);
	assert_int_equal(hn_take_pages(hn, 20), 9);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
}

static void
pages_come_back_in_small_lots(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(command(hn, RNIC_CMD_TEARDOWN_HCA), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(hn, 3), 3);
	for (unsigned int left = 33; left > 0; left -= left < 7 ? left : 7)
		assert_int_equal(hn_take_pages(hn, 100), left < 7 ? left : 7);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
}

static void
pages_never_come_back(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(command(hn, RNIC_CMD_TEARDOWN_HCA), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(hn, 100), 0);
	test_clock_advance_us(60000000);
	assert_int_equal(hn_take_pages(hn, 100), 0);
	assert_int_equal(command(hn, RNIC_CMD_DISABLE_HCA), RNIC_STATUS_OK);
	assert_int_equal(ctl_stats(hn).pages_held, 36);
	reset(hn);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	hn_bring_up(hn);
}

#define PAGES_IOVA UINT64_C(0x7000000000)
#define PAGES	   36
static _Alignas(4096) uint8_t pages[PAGES][4096];

/* MANAGE_PAGES that gives so many, and its bytes. */
static uint32_t
give_fill(uint8_t in[sizeof(struct rnic_manage_pages_in) + PAGES * 8], uint64_t iova,
	  uint32_t count)
{
	memset(in, 0, sizeof(struct rnic_manage_pages_in));
	hn_head(in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set((void *)in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	return drv_pages_put(in, sizeof(struct rnic_manage_pages_in),
			     &(struct drv_pages){ iova, 4096, count });
}

/* In memory of their own map. */
static void
give_pages(struct hn *hn, uint16_t stage, uint32_t *given)
{
	_Alignas(8) uint8_t in[sizeof(struct rnic_manage_pages_in) + PAGES * 8];
	uint32_t bytes;
	int32_t count;

	assert_int_equal(hn_query_pages(hn, stage, &count), RNIC_STATUS_OK);
	bytes = give_fill(in, PAGES_IOVA + 4096ull * *given, (uint32_t)count);
	assert_int_equal(drv_execute(&hn->drv, in, bytes, NULL), RNIC_STATUS_OK);
	*given += (uint32_t)count;
}

static void
bring_up_in_own_map(struct hn *hn)
{
	uint32_t given = 0;

	memset(pages, 0, sizeof(pages));
	assert_int_equal(softrnic_dma_map(hn->dev, PAGES_IOVA, sizeof(pages), pages,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
	assert_int_equal(command(hn, RNIC_CMD_ENABLE_HCA), RNIC_STATUS_OK);
	give_pages(hn, RNIC_PAGES_BOOT, &given);
	give_pages(hn, RNIC_PAGES_INIT, &given);
	assert_int_equal(given, PAGES);
	assert_int_equal(command(hn, RNIC_CMD_INIT_HCA), RNIC_STATUS_OK);
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
		(void)command(&hn, RNIC_CMD_TEARDOWN_HCA);
		assert_int_equal(hn_take_pages(&hn, PAGES), 0);
		assert_int_equal(pages_written(&hn), PAGES);
		/* Without a bus master it cannot; with one but without them it notices. */
		softrnic_bus_master(hn.dev, false);
		assert_int_equal(pages_written(&hn), 0);
		softrnic_bus_master(hn.dev, true);
		assert_int_equal(ctl_stats(&hn).tpt_faults, 0);
		assert_int_equal(hn_read32(&hn, SYNDROME) >> 16 & 0xff, 0);
		assert_int_equal(softrnic_dma_unmap(hn.dev, PAGES_IOVA, sizeof(pages)), 0);
		assert_int_equal(pages_written(&hn), 0);
		assert_int_equal(ctl_stats(&hn).tpt_faults, 1);
		assert_int_equal(hn_read32(&hn, SYNDROME) >> 16 & 0xff, 0xa);
		/* After a reset it has none. */
		assert_int_equal(softrnic_reset(hn.dev), 0);
		assert_int_equal(pages_written(&hn), 0);
		assert_int_equal(ctl_stats(&hn).tpt_faults, 0);
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
	assert_int_equal(command(&hn, RNIC_CMD_TEARDOWN_HCA), RNIC_STATUS_OK);
	assert_int_equal(hn_take_pages(&hn, PAGES), 0);
	test_clock_advance_us(3000000);
	assert_int_equal(hn_take_pages(&hn, PAGES), PAGES);
	(void)pages_written(&hn);
	assert_int_equal(pages_written(&hn), 0);
	assert_int_equal(softrnic_dma_unmap(hn.dev, PAGES_IOVA, sizeof(pages)), 0);
	assert_int_equal(pages_written(&hn), 0);
	assert_int_equal(ctl_stats(&hn).tpt_faults, 0);
	hn_stop(&hn);
}

/* ---- Commands ---- */

/* About all of the device, in the slot, rung with the others. */
static void
post(struct hn *hn, unsigned int slot, uint16_t opcode)
{
	struct rnic_function_in in = { 0 };

	hn_head(&in, opcode, 0);
	hn_cmd_post(hn, slot, &in, sizeof(in), sizeof(struct rnic_cmd_out));
}

static int
result_of(struct hn *hn, unsigned int slot)
{
	struct rnic_cmd_out out;

	return hn_cmd_result(hn, slot, &out, sizeof(out));
}

/* Of slots 1, 2 and 3. */
static void
assert_results(struct hn *hn, int first, int second, int third)
{
	assert_int_equal(result_of(hn, 1), first);
	assert_int_equal(result_of(hn, 2), second);
	assert_int_equal(result_of(hn, 3), third);
}

/* On the last slot, by themselves: the others are taken. */
static void
give_on_the_last_slot(struct hn *hn, uint32_t count)
{
	_Alignas(8) uint8_t in[sizeof(struct rnic_manage_pages_in) + PAGES * 8];

	hn_cmd_post(hn, 31, in, give_fill(in, hn_alloc(hn, count * 4096ul, 4096), count), 16);
	hn_ring(hn, UINT32_C(1) << 31);
	ctl_poll(hn, 4);
	assert_int_equal(result_of(hn, 31), RNIC_STATUS_OK);
}

static void
a_command_waits_for_pages(void **state)
{
	struct hn *hn = *state;
	struct rnic_eqe eqe;
	struct hn_eq eq;
	int32_t count;

	/* Each time that it is initialized. */
	for (unsigned int round = 0; round < 2; round++) {
		hn_bring_up(hn);
		open_eq(hn, &eq, 4, PAGE_REQUESTS);
		assert_false(hn_eq_next(hn, &eq, &eqe));
		post(hn, 0, RNIC_CMD_NOP);
		post(hn, 1, RNIC_CMD_NOP);
		hn_ring(hn, 3);
		ctl_poll(hn, 4);
		assert_requested(hn, &eq, &eqe);
		assert_int_equal(rnic_be32_to_cpu(eqe.data[1]), 5);
		assert_false(hn_eq_next(hn, &eq, &eqe));
		give_on_the_last_slot(hn, 3);
		test_clock_advance_us(60000000);
		ctl_poll(hn, 4);
		assert_int_equal(result_of(hn, 0), HN_PENDING);
		assert_int_equal(result_of(hn, 1), HN_PENDING);
		give_on_the_last_slot(hn, 2);
		assert_int_equal(result_of(hn, 0), RNIC_STATUS_OK);
		assert_int_equal(result_of(hn, 1), RNIC_STATUS_OK);
		/* Once: requests that come later have nobody wait. */
		request_page(hn);
		hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
		assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &count), RNIC_STATUS_OK);
		assert_int_equal(count, 1);
		hn_tear_down(hn);
	}
}

/* A driver that says so is not left waiting. */
static void
a_command_waits_no_longer_for_pages_that_cannot_be_given(void **state)
{
	struct hn *hn = *state;
	struct hn_eq eq;

	open_eq(hn, &eq, 4, PAGE_REQUESTS);
	post(hn, 1, RNIC_CMD_NOP);
	hn_ring(hn, 2);
	ctl_poll(hn, 4);
	assert_int_equal(result_of(hn, 1), HN_PENDING);
	assert_int_equal(hn_simple(hn, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_CANT_GIVE, 0, NULL), 0);
	ctl_poll(hn, 4);
	assert_int_equal(result_of(hn, 1), RNIC_STATUS_OK);
}

/* Until it has its answer. */
static int
late_command(struct hn *hn, uint16_t opcode)
{
	int status = HN_PENDING;

	post(hn, 0, opcode);
	hn_ring(hn, 1);
	softrnic_poll(hn->poller);
	assert_int_equal(result_of(hn, 0), HN_PENDING);
	for (unsigned int ms = 0; ms < 10 && status == HN_PENDING; ms++) {
		test_clock_advance_us(1000);
		/* Once more is not twice. */
		hn_ring(hn, 1);
		softrnic_poll(hn->poller);
		status = result_of(hn, 0);
	}
	return status;
}

static void
commands_are_answered_late_and_out_of_order(void **state)
{
	struct hn *hn = *state;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(late_command(hn, RNIC_CMD_ENABLE_HCA), RNIC_STATUS_OK);
		assert_int_equal(late_command(hn, RNIC_CMD_DISABLE_HCA), RNIC_STATUS_OK);
	}
	assert_int_equal(late_command(hn, RNIC_CMD_ENABLE_HCA), RNIC_STATUS_OK);
	assert_int_equal(ctl_stats(hn).commands, 7);
	/* After a reset nobody hears of them. */
	post(hn, 5, RNIC_CMD_NOP);
	hn_ring(hn, 1 << 5);
	softrnic_poll(hn->poller);
	assert_int_equal(ctl_stats(hn).commands, 8);
	reset(hn);
	test_clock_advance_us(10000);
	ctl_poll(hn, 4);
	assert_int_equal(result_of(hn, 5), HN_PENDING);
	/* The last of three is the first one that is answered. */
	assert_int_equal(late_command(hn, RNIC_CMD_ENABLE_HCA), RNIC_STATUS_OK);
	for (unsigned int slot = 1; slot < 4; slot++)
		post(hn, slot, RNIC_CMD_NOP);
	hn_ring(hn, 0xe);
	ctl_poll(hn, 4);
	assert_results(hn, HN_PENDING, HN_PENDING, HN_PENDING);
	test_clock_advance_us(1500);
	ctl_poll(hn, 4);
	assert_results(hn, HN_PENDING, HN_PENDING, RNIC_STATUS_OK);
	test_clock_advance_us(2000);
	ctl_poll(hn, 4);
	assert_results(hn, HN_PENDING, RNIC_STATUS_OK, RNIC_STATUS_OK);
	test_clock_advance_us(3000);
	ctl_poll(hn, 4);
	assert_results(hn, RNIC_STATUS_OK, RNIC_STATUS_OK, RNIC_STATUS_OK);
}

/* ---- Events ---- */

static void
events_of_unknown_types_come_between_the_others(void **state)
{
	struct hn *hn = *state;
	uint8_t before = 0;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	open_eq(hn, &eq, 2, PAGE_REQUESTS);
	for (unsigned int i = 0; i < 8; i++) {
		request_page(hn);
		assert_true(hn_eq_next(hn, &eq, &eqe));
		assert_string_equal(rnic_event_name(eqe.type), "unknown");
		assert_int_not_equal(eqe.type, before);
		before = eqe.type;
		assert_requested(hn, &eq, &eqe);
		/* No more of them than this, while nothing is read: a queue is as long as it was. */
		request_page(hn);
		request_page(hn);
		assert_requested(hn, &eq, &eqe);
		assert_requested(hn, &eq, &eqe);
		assert_false(hn_eq_next(hn, &eq, &eqe));
		hn_eq_arm(hn, &eq);
	}
	assert_int_equal(ctl_stats(hn).eq_overruns, 0);
}

/* ---- The end ---- */

/* All goes on: a reset alone ends it. */
static void
teardown_is_refused(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(command(hn, RNIC_CMD_TEARDOWN_HCA), RNIC_STATUS_INTERNAL_ERR);
	hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	assert_int_equal(hn_take_pages(hn, 16), 0);
	assert_int_equal(command(hn, RNIC_CMD_DISABLE_HCA), RNIC_STATUS_BAD_SYS_STATE);
	reset(hn);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	hn_bring_up(hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		QUIRK_UP(pages_come_back_late, "pages-late"),
		QUIRK_UP(pages_come_back_in_small_lots, "pages-small"),
		QUIRK_UP(pages_never_come_back, "pages-never"),
		cmocka_unit_test(pages_that_it_has_are_written_to),
		cmocka_unit_test(pages_that_it_has_not_are_left_alone),
		QUIRK_OFF(a_command_waits_for_pages, "page-request-early"),
		QUIRK_UP(a_command_waits_no_longer_for_pages_that_cannot_be_given,
			 "page-request-early"),
		QUIRK_OFF(commands_are_answered_late_and_out_of_order, "commands-late"),
		QUIRK_UP(events_of_unknown_types_come_between_the_others, "events-unknown"),
		QUIRK_UP(teardown_is_refused, "teardown-refused"),
	};

	return cmocka_run_group_tests_name("quirk_firmware", tests, NULL, NULL);
}
