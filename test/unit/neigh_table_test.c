/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of neighbours, alone, in a time of the test's own. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "neigh/packet.h"
#include "neigh/table.h"

#define SECOND UINT64_C(1000000)

static const uint8_t own[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
static const uint8_t mac1[6] = { 2, 0, 0, 0, 0, 1 }, mac2[6] = { 2, 0, 0, 0, 0, 2 };

static struct rnic_neigh_table *table;
static struct rnic_neigh_ask ask;
static uint8_t mac[6];
static uint16_t vlan; /* that is looked in, and heard of */
static uint64_t now;
static bool asks;

static int
setup(void **state)
{
	(void)state;
	table = rnic_neigh_table_new();
	assert_non_null(table);
	/* Not long after the clock began, where what lies a minute back is before it. */
	now = 5;
	vlan = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rnic_neigh_table_free(table);
	return 0;
}

static const uint8_t *
gid_of(uint32_t number)
{
	static uint8_t gids[4][16];
	static unsigned int next;
	uint8_t *gid = gids[next++ % 4];

	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	gid[13] = (uint8_t)(number >> 16);
	gid[14] = (uint8_t)(number >> 8);
	gid[15] = (uint8_t)number;
	return gid;
}

static int
find(uint32_t number)
{
	return rnic_neigh_table_find(table, gid_of(number), vlan, own, now, false, mac, &ask,
				     &asks);
}

static unsigned int
hear(uint32_t number, const uint8_t *from, bool answers, bool solicited, bool override)
{
	struct rnic_neigh_message message = {
		.answers = answers,
		.solicited = solicited,
		.override = override,
		.has_gid = true,
		.has_mac = from != NULL,
		.vlan = vlan,
	};

	memcpy(message.gid, gid_of(number), 16);
	if (from != NULL)
		memcpy(message.mac, from, 6);
	return rnic_neigh_table_hear(table, &message, now);
}

static unsigned int
answer(uint32_t number, const uint8_t *from)
{
	return hear(number, from, true, true, true);
}

/* How many requests are due; the news. */
static unsigned int
due(unsigned int *news)
{
	unsigned int count = 0, some;

	*news = 0;
	while (rnic_neigh_table_due(table, now, &ask, &some)) {
		*news |= some;
		count++;
	}
	*news |= some;
	return count;
}

static void
assert_mac(uint32_t number, const uint8_t expected[6])
{
	memset(mac, 0, sizeof(mac));
	assert_int_equal(find(number), 0);
	assert_memory_equal(mac, expected, 6);
}

static void
test_the_first_look_up_asks_all(void **state)
{
	(void)state;
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks && !ask.alone);
	assert_memory_equal(ask.target, gid_of(1), 16);
	assert_memory_equal(ask.own, own, 16);
	assert_true(rnic_neigh_table_busy(table));
	/* Others wait with it. */
	assert_int_equal(find(1), -EINPROGRESS);
	assert_false(asks);
	assert_int_equal(rnic_neigh_table_count(table), 1);
}

static void
test_an_answer_is_known(void **state)
{
	(void)state;
	find(1);
	assert_int_equal(answer(1, mac1), RNIC_NEIGH_WAITERS);
	assert_false(rnic_neigh_table_busy(table));
	assert_mac(1, mac1);
	assert_false(asks);
	assert_int_equal(find(2), -EINPROGRESS);
}

/* At 0, 1 and 2 s; at 3 s it is given up, for one more. */
static void
test_three_tries_then_nobody_is_there(void **state)
{
	unsigned int news, ms, tries = 1;

	(void)state;
	assert_int_equal(find(1), -EINPROGRESS);
	for (ms = 1; ms < 3000; ms++) {
		now += 1000;
		tries += due(&news);
		assert_int_equal(news, 0);
		assert_int_equal(tries, 1 + ms / 1000);
		assert_int_equal(find(1), -EINPROGRESS);
	}
	now += 1000;
	assert_int_equal(due(&news), 0);
	assert_int_equal(news, RNIC_NEIGH_WAITERS);
	for (ms = 0; ms < 1000; ms++) {
		assert_int_equal(find(1), -EHOSTUNREACH);
		assert_false(asks);
		now += 1000;
	}
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks);
}

static void
test_who_answers_late_is_known(void **state)
{
	unsigned int news;

	(void)state;
	find(1);
	for (; rnic_neigh_table_busy(table); now += SECOND)
		due(&news);
	assert_int_equal(answer(1, mac1), 0);
	assert_mac(1, mac1);
}

static void
test_nobody_is_known_that_was_not_asked_for(void **state)
{
	uint32_t i;

	(void)state;
	find(1);
	for (i = 2; i < 3000; i++) {
		assert_int_equal(answer(i, mac1), 0);
		assert_int_equal(hear(i, mac1, true, false, true), 0);
		assert_int_equal(hear(i, mac1, false, false, true), 0);
	}
	assert_int_equal(rnic_neigh_table_count(table), 1);
	assert_int_equal(find(2), -EINPROGRESS);
}

static void
test_an_announcement_moves_an_entry_which_is_checked_then(void **state)
{
	(void)state;
	find(1);
	answer(1, mac1);
	hear(1, mac2, true, false, true);
	assert_mac(1, mac2);
	assert_true(asks && ask.alone);
	assert_memory_equal(ask.mac, mac2, 6);
	answer(1, mac2);
	assert_mac(1, mac2);
	assert_false(asks);
	/* What asks says its own MAC, too. */
	hear(1, mac1, false, false, true);
	assert_mac(1, mac1);
	assert_true(asks);
}

static void
test_an_answer_without_override_changes_nothing(void **state)
{
	(void)state;
	find(1);
	answer(1, mac1);
	hear(1, mac2, true, true, false);
	hear(1, mac2, true, false, false);
	assert_mac(1, mac1);
	assert_false(asks);
}

static void
test_an_answer_without_a_mac(void **state)
{
	(void)state;
	find(1);
	assert_int_equal(hear(1, NULL, true, true, true), 0);
	assert_int_equal(find(1), -EINPROGRESS);
	answer(1, mac1);
	now += RNIC_NEIGH_KNOWN_US;
	hear(1, NULL, true, true, true);
	assert_mac(1, mac1);
	assert_false(asks);
}

static void
test_what_was_known_for_long_is_checked_beside_its_use(void **state)
{
	unsigned int news, tries = 1;

	(void)state;
	find(1);
	answer(1, mac1);
	now += RNIC_NEIGH_KNOWN_US - 1;
	assert_mac(1, mac1);
	assert_false(asks);
	now++;
	assert_mac(1, mac1);
	assert_true(asks && ask.alone);
	assert_memory_equal(ask.mac, mac1, 6);
	assert_mac(1, mac1);
	assert_false(asks);
	for (; rnic_neigh_table_busy(table); now += SECOND / 4) {
		tries += due(&news);
		assert_int_equal(news, 0);
	}
	assert_int_equal(tries, RNIC_NEIGH_TRIES);
	/* It does not answer: all are asked. */
	assert_int_equal(rnic_neigh_table_count(table), 0);
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks && !ask.alone);
}

static void
test_unasked_words_do_not_make_it_younger(void **state)
{
	(void)state;
	find(1);
	answer(1, mac1);
	now += RNIC_NEIGH_KNOWN_US - 1;
	hear(1, mac1, true, false, true);
	hear(1, mac1, false, false, true);
	now++;
	assert_mac(1, mac1);
	assert_true(asks);
}

static void
test_a_full_table_forgets_the_one_not_used_for_longest(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < RNIC_NEIGH_ENTRIES; i++) {
		assert_int_equal(find(i), -EINPROGRESS);
		answer(i, mac1);
		now++;
	}
	assert_int_equal(rnic_neigh_table_count(table), RNIC_NEIGH_ENTRIES);
	/* All but the second are used once more; the first last of all. */
	for (i = 2; i < RNIC_NEIGH_ENTRIES; i++)
		assert_mac(i, mac1);
	assert_mac(0, mac1);
	assert_int_equal(find(5000), -EINPROGRESS);
	assert_int_equal(rnic_neigh_table_count(table), RNIC_NEIGH_ENTRIES);
	for (i = 2; i < RNIC_NEIGH_ENTRIES; i++)
		assert_mac(i, mac1);
	assert_mac(0, mac1);
	assert_int_equal(find(5000), -EINPROGRESS);
	assert_false(asks);
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks);
}

static void
test_who_is_waited_for_is_not_forgotten(void **state)
{
	unsigned int news;
	uint32_t i;

	(void)state;
	for (i = 0; i < RNIC_NEIGH_ENTRIES; i++)
		assert_int_equal(find(i), -EINPROGRESS);
	assert_int_equal(find(5000), -ENOSPC);
	assert_false(asks);
	for (i = 0; i < 3; i++) {
		now += SECOND;
		due(&news);
	}
	assert_int_equal(news, RNIC_NEIGH_WAITERS);
	assert_int_equal(find(5000), -EINPROGRESS);
	assert_true(asks);
}

static void
test_an_event_is_for_who_asked_for_one(void **state)
{
	unsigned int news;

	(void)state;
	find(1);
	rnic_neigh_table_find(table, gid_of(1), vlan, own, now, true, mac, &ask, &asks);
	assert_int_equal(answer(1, mac1), RNIC_NEIGH_WAITERS | RNIC_NEIGH_EVENT);
	rnic_neigh_table_find(table, gid_of(2), vlan, own, now, true, mac, &ask, &asks);
	for (; rnic_neigh_table_busy(table); now += SECOND)
		due(&news);
	assert_int_equal(news, RNIC_NEIGH_WAITERS | RNIC_NEIGH_EVENT);
	/* Once. */
	now += SECOND;
	find(2);
	assert_int_equal(answer(2, mac1), RNIC_NEIGH_WAITERS);
}

static void
test_without_a_way_nobody_waits(void **state)
{
	(void)state;
	find(1);
	find(2);
	answer(2, mac2);
	assert_int_equal(rnic_neigh_table_fail(table, now), RNIC_NEIGH_WAITERS);
	assert_false(rnic_neigh_table_busy(table));
	assert_mac(2, mac2);
	assert_int_equal(find(1), -EHOSTUNREACH);
	now += SECOND;
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks);
}

/* Each asks and hears in its own. */
static void
test_the_same_address_in_two_vlans(void **state)
{
	(void)state;
	assert_int_equal(find(1), -EINPROGRESS);
	assert_int_equal(ask.vlan, 0);
	vlan = 5;
	assert_int_equal(find(1), -EINPROGRESS);
	assert_true(asks);
	assert_int_equal(ask.vlan, 5);
	assert_int_equal(answer(1, mac1), RNIC_NEIGH_WAITERS);
	assert_mac(1, mac1);
	vlan = 0;
	assert_int_equal(find(1), -EINPROGRESS);
	assert_int_equal(answer(1, mac2), RNIC_NEIGH_WAITERS);
	assert_mac(1, mac2);
	vlan = 5;
	assert_mac(1, mac1);
	assert_int_equal(rnic_neigh_table_count(table), 2);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TABLE_TEST(test_the_first_look_up_asks_all),
	TABLE_TEST(test_an_answer_is_known),
	TABLE_TEST(test_three_tries_then_nobody_is_there),
	TABLE_TEST(test_who_answers_late_is_known),
	TABLE_TEST(test_nobody_is_known_that_was_not_asked_for),
	TABLE_TEST(test_an_announcement_moves_an_entry_which_is_checked_then),
	TABLE_TEST(test_an_answer_without_override_changes_nothing),
	TABLE_TEST(test_an_answer_without_a_mac),
	TABLE_TEST(test_what_was_known_for_long_is_checked_beside_its_use),
	TABLE_TEST(test_unasked_words_do_not_make_it_younger),
	TABLE_TEST(test_a_full_table_forgets_the_one_not_used_for_longest),
	TABLE_TEST(test_who_is_waited_for_is_not_forgotten),
	TABLE_TEST(test_an_event_is_for_who_asked_for_one),
	TABLE_TEST(test_without_a_way_nobody_waits),
	TABLE_TEST(test_the_same_address_in_two_vlans),
};

PLAIN_MAIN("neigh-table", tests)
