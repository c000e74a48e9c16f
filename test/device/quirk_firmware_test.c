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
		cmocka_unit_test(teardown_is_refused),
	};

	return cmocka_run_group_tests_name("quirk_firmware", tests, NULL, NULL);
}
