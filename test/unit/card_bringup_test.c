/* SPDX-License-Identifier: BSD-3-Clause */

/* Bring-up of a device as cards are: what it does in its own time, or never, and the software RNIC does not. */

#include "card.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "../counts.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"
#include "prm/uar.h"

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
	card_close(card_opened());
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
	(void)state;
	unit_tunables()->cmd_timeout_ms = 20000;
	looks = 3;
	looks_again = 20;
	card.read = reads_initializing;
	card.write = hears_nothing_meanwhile;
	card_close(card_opened());
	assert_int_equal(looks, 0);
	unit_tunables()->initializing_timeout_ms = 50;
	looks_again = UINT32_MAX;
	card_open_in_vain(-ETIMEDOUT, "is initializing again");
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
	unit_tunables()->initializing_timeout_ms = 50;
	looks = UINT32_MAX;
	card.read = reads_all_ones;
	card_open_in_vain(-EIO, "does not answer");
	assert_int_equal(unit_said("mlxfwreset"), 0);
	card.read = reads_an_assert;
	card_open_in_vain(-EIO, "(syndrome 0x17, extended 0x8123)");
	assert_int_equal(unit_said("let mlx5_core have the function once"), 1);
	assert_int_equal(unit_said("mlxfwreset"), 1);
}

/* ---- Commands ---- */

static uint64_t first_iova; /* the command queue's */
static unsigned int resets, resets_before_its_end;

static void
notes_the_first(const void *address, uint64_t iova, size_t length)
{
	(void)address;
	(void)length;
	if (first_iova == 0)
		first_iova = iova;
}

static void
notes_its_end(uint64_t iova, size_t length)
{
	(void)length;
	if (iova == first_iova)
		resets_before_its_end = resets;
}

static void
counts_resets(void)
{
	resets++;
}

/* It may write its answer yet: to memory that is still there. */
static void
test_a_command_that_does_not_complete_keeps_its_memory(void **state)
{
	const unsigned int usual = unit_tunables()->cmd_timeout_ms;
	struct rnic_cmd_in in = { 0 };
	struct rnic_cmd_out out;
	struct rnic_dev *dev;
	int stuck;

	(void)state;
	card.mapped = notes_the_first;
	card.unmaps = notes_its_end;
	card.was_reset = counts_resets;
	for (stuck = 0; stuck < 2; stuck++) {
		first_iova = 0;
		resets = resets_before_its_end = 0;
		dev = card_opened();
		if (stuck) {
			softrnic_fault(card.device, SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_NOP);
			dev->tunables.cmd_timeout_ms = 50;
			assert_int_equal(rnic_cmd_try(dev, RNIC_CMD_NOP, 0, &in, sizeof(in), &out,
						      sizeof(out)),
					 -ETIMEDOUT);
			dev->tunables.cmd_timeout_ms = usual;
		}
		card_close(dev);
		assert_int_equal(resets, stuck);
		assert_int_equal(resets_before_its_end, stuck);
		/* It was no refusal, which who tries reckons with. */
		assert_int_equal(unit_said("NOP (0x"), stuck);
	}
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
	card_open_in_vain(-ENOTSUP, "embedded CPU");
	assert_int_equal(unit_said("Use a function of the host"), 1);
}

/* ---- UAR pages ---- */

static unsigned int uars_asked, uar_at; /* the n-th one has ... */
static uint32_t uar_number;		/* ... this number */

static int
has_a_uar_of_its_own(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_ALLOC_UAR || ++uars_asked != uar_at)
		return CARD_SENDS;
	rnic_object_out_set(c->out, RNIC_OBJECT_OUT_NUMBER, uar_number);
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
	dev = card_opened();
	numbers[2] = (uint32_t)(dev->access->bar_size / RNIC_UAR_PAGE_BYTES);
	card_close(dev);
	card.before = has_a_uar_of_its_own;
	for (uar_at = 1; uar_at <= 2; uar_at++) {
		for (i = 0; i < RTE_DIM(numbers); i++) {
			uars_asked = 0;
			uar_number = numbers[i];
			snprintf(says, sizeof(says), "UAR page 0x%x cannot be used", uar_number);
			card_open_in_vain(-EIO, says);
			card_reset();
			card.before = has_a_uar_of_its_own;
		}
	}
}

/* ---- What the software RNIC does of it when it is asked ---- */

static void
test_devices_with_quirks_come_up(void **state)
{
	static const char *const devargs[] = {
		"quirks=initializing-again",
		"quirks=uar-8",
		"quirks=uar-16",
		"quirks=uar-256",
		"quirks=no-q-counters",
		"quirks=roce-off",
		"quirks=page-request-early",
		"quirks=commands-late",
		"quirks=events-unknown",
	};
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(devargs); i++) {
		if (card_open(devargs[i], &dev) != 0)
			fail_msg("%s", devargs[i]);
		assert_non_null(dev->rdma);
		assert_int_equal(rnic_port_set_admin(dev, true), 0);
		card_close(dev);
	}
}

static void
test_links_of_devices_with_quirks(void **state)
{
	static const struct {
		const char *devargs;
		uint32_t speed;
	} cases[] = { { "quirks=ptys-400", 400000 }, { "quirks=ptys-800", 800000 } };
	struct rnic_dev *dev;
	uint32_t speed;
	size_t i;
	bool up;

	(void)state;
	for (i = 0; i < RTE_DIM(cases); i++) {
		assert_int_equal(card_open(cases[i].devargs, &dev), 0);
		unit_wait_for_link(dev, true);
		assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
		assert_int_equal(speed, cases[i].speed);
		card_close(dev);
	}
}

/* Of the port, its module and its temperature, in the order in which the device tells of them. */
static void
test_events_of_devices_with_quirks(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	assert_int_equal(card_open("quirks=port-module+events-unknown", &dev), 0);
	assert_true(UNIT_COMES(unit_said("module 0: unplugged") > 0));
	assert_true(UNIT_COMES(unit_said("module 0: high temperature: look at the cable") > 0));
	assert_true(UNIT_COMES(unit_said("module 0: plugged") > 0));
	assert_true(
		UNIT_COMES(unit_said("too warm (sensors 0x00000000000000000000000000000001)") > 0));
	/* It is as good as any. */
	assert_false(atomic_load(&dev->dead));
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	card_close(dev);
}

/* Seconds of its own, which are not longer than the driver's patience. */
static void
test_a_health_counter_that_stands_still_for_a_while(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	assert_int_equal(card_open("quirks=health-still", &dev), 0);
	assert_true(UNIT_COMES(unit_said("its health counter has not moved") > 0));
	assert_true(UNIT_COMES(unit_said("health counter is moving again") > 0));
	assert_false(atomic_load(&dev->dead));
	card_close(dev);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		CARD_TEST(test_a_device_that_does_not_answer_yet),
		CARD_TEST(test_a_device_that_initializes_again_with_its_command_queue),
		CARD_TEST(test_a_dead_device_says_the_way_out),
		CARD_TEST(test_a_command_that_does_not_complete_keeps_its_memory),
		CARD_TEST(test_the_function_of_an_embedded_cpu_is_refused),
		CARD_TEST(test_uar_pages_that_are_none_are_named),
		CARD_TEST(test_devices_with_quirks_come_up),
		CARD_TEST(test_links_of_devices_with_quirks),
		CARD_TEST(test_events_of_devices_with_quirks),
		CARD_TEST(test_a_health_counter_that_stands_still_for_a_while),
	};

	if (default_run())
		cmocka_set_skip_filter("test_a_health_counter_*_for_a_while");
	return cmocka_run_group_tests_name("card_bringup", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
