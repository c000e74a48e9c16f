/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks: their names, and what a driver meets with each of them. Time is the test's own. */
#include <errno.h>
#include <stdio.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_that_is_listed_is_taken),
		cmocka_unit_test(quirks_are_names_with_plus_between_them),
		cmocka_unit_test(uars_begin_where_they_are_asked_to),
		cmocka_unit_test(many_pages_are_asked_for_at_init),
	};

	return cmocka_run_group_tests_name("quirk", tests, NULL, NULL);
}
