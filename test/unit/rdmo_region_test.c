/* SPDX-License-Identifier: BSD-3-Clause */

/* A queue in memory of this process, by itself: whose tail the target sets, and whose tail others move as well. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "rdmo/region.h"

#define QUEUE 1024

static struct {
	rte_le64_t tail, other_tail;
	uint8_t queue[QUEUE];
} target;

static struct rdmo_region region;

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)target.queue + offset;
}

static int
set_up(void **state)
{
	(void)state;
	memset(&target, 0xa5, sizeof(target));
	target.tail = target.other_tail = rte_cpu_to_le_64(queue_at(0));
	region = (struct rdmo_region){ .va = queue_at(0), .len = QUEUE };
	return 0;
}

/* Append, publish; it is this status, and, if it is OK, this offset. */
static void
expect_append(const rte_le64_t *word, const char *text, enum rdmo_status status, uint64_t offset)
{
	uint64_t address = 0;

	assert_int_equal(rdmo_region_append(&region, (uintptr_t)word, text, strlen(text), &address),
			 status);
	if (status != RDMO_STATUS_OK)
		return;
	assert_int_equal(address, queue_at(offset));
	assert_memory_equal(target.queue + offset, text, strlen(text));
	rdmo_tail_publish(rdmo_region_tail(&region), (rte_le64_t *)(uintptr_t)region.word);
}

static void
set_tail(uint64_t offset)
{
	target.tail = rte_cpu_to_le_64(queue_at(offset));
}

static void
expect_tail(uint64_t offset)
{
	assert_int_equal(rte_le_to_cpu_64(target.tail), queue_at(offset));
}

/* ---- A tail that the target sets ---- */

/* Between hold and free nothing is appended or looked at; then it goes on from what the word holds. */
static void
test_a_tail_is_held_and_set(void **state)
{
	(void)state;
	expect_append(&target.tail, "one", RDMO_STATUS_OK, 0);
	rdmo_region_hold(&region, true);
	set_tail(100);
	expect_append(&target.tail, "two", RDMO_STATUS_TAIL, 0);
	expect_append(&target.other_tail, "two", RDMO_STATUS_TAIL, 0);
	expect_tail(100);
	rdmo_region_hold(&region, false);
	expect_append(&target.tail, "three", RDMO_STATUS_OK, 100);
	expect_tail(105);
	assert_memory_equal(target.queue + 3, "\xa5\xa5\xa5", 3);
	expect_append(&target.other_tail, "two", RDMO_STATUS_TAIL, 0);
}

/* Also one that had no tail yet, one that a foreign move has stopped, and one that is set outside. */
static void
test_a_tail_that_has_stopped_is_set(void **state)
{
	uint64_t address;

	(void)state;
	rdmo_region_hold(&region, true);
	expect_append(&target.tail, "none", RDMO_STATUS_TAIL, 0);
	rdmo_region_hold(&region, false);
	assert_int_equal(rdmo_region_append(&region, (uintptr_t)&target.tail, "one", 3, &address),
			 RDMO_STATUS_OK);
	set_tail(1);
	assert_false(rdmo_tail_publish(rdmo_region_tail(&region), &target.tail));
	expect_append(&target.tail, "none", RDMO_STATUS_TAIL, 0);
	rdmo_region_hold(&region, true);
	set_tail(QUEUE + 1);
	rdmo_region_hold(&region, false);
	expect_append(&target.tail, "none", RDMO_STATUS_TAIL, 0);
	rdmo_region_hold(&region, true);
	set_tail(1);
	rdmo_region_hold(&region, false);
	expect_append(&target.tail, "two", RDMO_STATUS_OK, 1);
	expect_tail(4);
}

/* ---- A tail that others move as well ---- */

static void
expect_share(const char *text, enum rdmo_status status, uint64_t offset)
{
	uint64_t address = 0;
	uint32_t one = 1;

	assert_int_equal(rdmo_region_share(&region, (uintptr_t)&target.tail, (const uint8_t *)text,
					   strlen(text), 0, &one, &address),
			 status);
	if (status != RDMO_STATUS_OK)
		return;
	assert_int_equal(one, 1);
	assert_int_equal(address, queue_at(offset));
	assert_memory_equal(target.queue + offset, text, strlen(text));
}

/* It is asked each time, and says at once what is taken; whatever it holds, nothing is written outside. */
static void
test_a_shared_tail_is_asked_each_time(void **state)
{
	(void)state;
	rdmo_region_begin_shared(&region);
	expect_share("one", RDMO_STATUS_OK, 0);
	expect_tail(3);
	set_tail(10);
	expect_share("two", RDMO_STATUS_OK, 10);
	expect_tail(13);
	set_tail(QUEUE - 2);
	expect_share("two", RDMO_STATUS_FULL, 0);
	expect_share("2", RDMO_STATUS_OK, QUEUE - 2);
	expect_share("", RDMO_STATUS_OK, QUEUE - 1);
	expect_tail(QUEUE - 1);
	target.tail = rte_cpu_to_le_64(queue_at(0) - 1);
	expect_share("two", RDMO_STATUS_TAIL, 0);
	set_tail(QUEUE + 1);
	expect_share("", RDMO_STATUS_TAIL, 0);
	expect_tail(QUEUE + 1);
	set_tail(50);
	expect_share("two", RDMO_STATUS_OK, 50);
	assert_false(rdmo_region_tail(&region)->stopped);
	assert_false(rdmo_tail_is_due(rdmo_region_tail(&region)));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

static const struct CMUnitTest tests[] = {
	TEST(test_a_tail_is_held_and_set),
	TEST(test_a_tail_that_has_stopped_is_set),
	TEST(test_a_shared_tail_is_asked_each_time),
};

PLAIN_MAIN("rdmo-region", tests)
