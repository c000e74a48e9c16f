/* SPDX-License-Identifier: BSD-3-Clause */

/* Bring-up of a device as cards are: what it has not, refuses, or does in its own time, and the software RNIC does not. */

#include "card.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

static unsigned int usual_initializing;

static int
setup(void **state)
{
	(void)state;
	usual_initializing = rnic_initializing_timeout_ms;
	card_begin();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rnic_initializing_timeout_ms = usual_initializing;
	card_end();
	return 0;
}

static void
open_and_close(void)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), 0);
	rnic_dev_close(dev);
}

static void
open_in_vain(int rc, const char *says)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), rc);
	if (card_said(says) == 0)
		fail_msg("'%s' was not said", says);
}

/* ---- Registers ---- */

static unsigned int looks; /* for which it goes on so */

static uint32_t
reads_all_ones(uint64_t offset, uint32_t value)
{
	(void)offset;
	if (looks == 0)
		return value;
	looks--;
	return UINT32_MAX;
}

/* Somebody has reset it a moment ago. */
static void
test_a_device_that_does_not_answer_yet(void **state)
{
	(void)state;
	looks = 30;
	card.read = reads_all_ones;
	open_and_close();
	assert_int_equal(looks, 0);
}

/* ---- The initializing bit ---- */

static uint32_t
reads_initializing(uint64_t offset, uint32_t value)
{
	if (offset != RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING) || looks == 0)
		return value;
	looks--;
	return value | UINT32_C(1) << RNIC_FIELD_LOW(RNIC_ISEG_INITIALIZING);
}

static unsigned int looks_again;

/* With the address it initializes once more, and what is rung meanwhile is not heard. */
static bool
hears_nothing_meanwhile(struct rnic_access *access, uint64_t offset, uint32_t value)
{
	(void)access;
	(void)value;
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW))
		looks = looks_again;
	return offset != RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL) || looks == 0;
}

static void
test_a_device_that_initializes_again_with_its_command_queue(void **state)
{
	const unsigned int usual = rnic_cmd_timeout_ms;

	(void)state;
	rnic_cmd_timeout_ms = 20000;
	looks = 3;
	looks_again = 20;
	card.read = reads_initializing;
	card.write = hears_nothing_meanwhile;
	open_and_close();
	assert_int_equal(looks, 0);
	rnic_initializing_timeout_ms = 50;
	looks_again = UINT32_MAX;
	open_in_vain(-ETIMEDOUT, "is initializing again");
	rnic_cmd_timeout_ms = usual;
}

/* ---- Its health ---- */

static uint32_t
reads_an_assert(uint64_t offset, uint32_t value)
{
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR))
		return value | UINT32_C(1) << RNIC_FIELD_LOW(RNIC_ISEG_HEALTH_RFR);
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_SYNDROME))
		return UINT32_C(0x17) << RNIC_FIELD_LOW(RNIC_ISEG_HEALTH_SYNDROME) | 0x8123;
	return value;
}

static void
test_a_dead_device_says_the_way_out(void **state)
{
	(void)state;
	rnic_initializing_timeout_ms = 50;
	looks = UINT32_MAX;
	card.read = reads_all_ones;
	open_in_vain(-EIO, "does not answer");
	assert_int_equal(card_said("mlxfwreset"), 0);
	card.read = reads_an_assert;
	open_in_vain(-EIO, "(syndrome 0x17, extended 0x8123)");
	assert_int_equal(card_said("let mlx5_core have the function once"), 1);
	assert_int_equal(card_said("mlxfwreset"), 1);
}

/* ---- Which function it is ---- */

static uint32_t
reads_embedded(uint64_t offset, uint32_t value)
{
	return offset == RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING) ? value | UINT32_C(1) << 23
								   : value;
}

/* Linux: "initializing" bit 23; it says in ENABLE_HCA and in page commands which of the functions is meant. */
static void
test_the_function_of_an_embedded_cpu_is_refused(void **state)
{
	(void)state;
	card.read = reads_embedded;
	open_in_vain(-ENOTSUP, "embedded CPU");
	assert_int_equal(card_said("Use a function of the host"), 1);
}

/* ---- UAR pages ---- */

static unsigned int uars_asked, uar_at; /* the n-th one has ... */
static uint32_t uar_number;		/* ... this number */

static int
has_a_uar_of_its_own(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)op_mod;
	(void)in;
	if (opcode != RNIC_CMD_ALLOC_UAR || ++uars_asked != uar_at)
		return CARD_SENDS;
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, uar_number);
	return CARD_DONE;
}

/* The event queues' page is the first one; the second is a queue's. What stands there instead must not be rung. */
static void
test_uar_pages_that_are_none_are_named(void **state)
{
	uint32_t numbers[] = { 0, 3, 0, 0xffffff };
	struct rnic_dev *dev;
	char says[48];
	size_t i;

	(void)state;
	assert_int_equal(card_open("", &dev), 0);
	numbers[2] = (uint32_t)(dev->access->bar_size / RNIC_UAR_PAGE_BYTES);
	rnic_dev_close(dev);
	card.before = has_a_uar_of_its_own;
	for (uar_at = 1; uar_at <= 2; uar_at++) {
		for (i = 0; i < RTE_DIM(numbers); i++) {
			uars_asked = 0;
			uar_number = numbers[i];
			snprintf(says, sizeof(says), "UAR page 0x%x cannot be used", uar_number);
			open_in_vain(-EIO, says);
			card_reset();
			card.before = has_a_uar_of_its_own;
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_device_that_does_not_answer_yet),
		TEST(test_a_device_that_initializes_again_with_its_command_queue),
		TEST(test_a_dead_device_says_the_way_out),
		TEST(test_the_function_of_an_embedded_cpu_is_refused),
		TEST(test_uar_pages_that_are_none_are_named),
	};

	return cmocka_run_group_tests_name("card_bringup", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
