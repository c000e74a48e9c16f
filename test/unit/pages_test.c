/* SPDX-License-Identifier: BSD-3-Clause */

/* Pages that the firmware works in: where they come from, when they are given, and that none is taken from under it. */

#include "../counts.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "card.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/event.h"
#include "core/pages.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"

/* ---- What the firmware has ---- */

#define GIVEN_MAX (1u << 16)

/* Page by page, as the commands say. */
static struct {
	uint64_t pages[GIVEN_MAX];
	uint32_t count;
	unsigned int resets;
	uint32_t pulled; /* unmapped while the firmware had them */
} firmware;

static void
note_given(const struct rnic_be64 *list, uint32_t count)
{
	assert_true(firmware.count + count <= GIVEN_MAX);
	for (; count > 0; count--, list++)
		firmware.pages[firmware.count++] = rnic_be64_to_cpu(*list);
}

static void
note_taken(const struct rnic_be64 *list, uint32_t count)
{
	uint32_t i;

	for (; count > 0; count--, list++)
		for (i = 0; i < firmware.count; i++)
			if (firmware.pages[i] == rnic_be64_to_cpu(*list)) {
				firmware.pages[i] = firmware.pages[--firmware.count];
				break;
			}
}

static const struct rnic_be64 *
list_behind(const void *header, size_t bytes)
{
	return (const struct rnic_be64 *)(const void *)((const uint8_t *)header + bytes);
}

static void
note_pages(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_MANAGE_PAGES)
		return;
	if (c->op_mod == RNIC_PAGES_GIVE)
		note_given(list_behind(c->in, sizeof(struct rnic_manage_pages_in)),
			   (uint32_t)rnic_manage_pages_in_get(
				   c->in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES));
	else if (c->op_mod == RNIC_PAGES_TAKE)
		note_taken(list_behind(c->out, sizeof(struct rnic_manage_pages_out)),
			   (uint32_t)rnic_manage_pages_out_get(
				   c->out, RNIC_MANAGE_PAGES_OUT_OUTPUT_NUM_ENTRIES));
}

static void
note_reset(void)
{
	firmware.resets++;
	firmware.count = 0;
}

static void
note_unmap(uint64_t iova, size_t length)
{
	uint32_t i;

	for (i = 0; i < firmware.count; i++)
		firmware.pulled += firmware.pages[i] >= iova && firmware.pages[i] - iova < length;
}

/* ---- What it does at the end ---- */

static uint16_t refused;
static unsigned int takes, takes_in_vain; /* so many are answered, with none */

static int
at_the_end(const struct card_command *c)
{
	if (c->opcode == refused &&
	    (c->opcode != RNIC_CMD_MANAGE_PAGES || c->op_mod == RNIC_PAGES_TAKE))
		return c->opcode == RNIC_CMD_TEARDOWN_HCA ? -EREMOTEIO : -EINVAL;
	if (c->opcode != RNIC_CMD_MANAGE_PAGES || c->op_mod != RNIC_PAGES_TAKE ||
	    takes++ >= takes_in_vain)
		return CARD_SENDS;
	return CARD_DONE;
}

static void
open_and_close(const char *devargs)
{
	struct unit_account before;
	struct rnic_dev *dev;

	memset(&firmware, 0, sizeof(firmware));
	takes = 0;
	card.before = at_the_end;
	card.after = note_pages;
	card.unmaps = note_unmap;
	card.was_reset = note_reset;
	unit_account_take(&before);
	assert_int_equal(card_open(devargs, &dev), 0);
	assert_true(firmware.count > 0);
	card_close(dev);
	unit_account_assert_same(&before);
	assert_int_equal(firmware.count, 0);
	assert_int_equal(firmware.pulled, 0);
}

static void
test_no_page_is_unmapped_under_the_firmware(void **state)
{
	static const struct {
		uint16_t refused;
		unsigned int takes_in_vain;
		const char *says;
	} cases[] = {
		{ RNIC_CMD_TEARDOWN_HCA, 0, "the firmware does not end: the function is reset" },
		{ RNIC_CMD_MANAGE_PAGES, 0, "the firmware keeps pages of ours: the function is" },
		{ 0, UINT_MAX, "the firmware keeps pages of ours: the function is reset" },
	};
	size_t i;

	(void)state;
	unit_tunables()->pages_patience_ms = 50;
	for (i = 0; i < RTE_DIM(cases); i++) {
		refused = cases[i].refused;
		takes_in_vain = cases[i].takes_in_vain;
		open_and_close("");
		assert_int_equal(firmware.resets, 1);
		assert_int_equal(unit_said(cases[i].says), 1);
		card_reset();
	}
}

/* It needs a while: until then it has them, and then there is nothing to be said. */
static void
test_pages_that_come_back_late_are_waited_for(void **state)
{
	(void)state;
	refused = 0;
	takes_in_vain = 100;
	unit_tunables()->pages_patience_ms = 60000;
	open_and_close("");
	assert_int_equal(firmware.resets, 0);
	assert_true(takes > takes_in_vain);
	assert_int_equal(unit_said("pages"), 0);
}

/* ---- What the software RNIC does of it when it is asked ---- */

static void
test_the_end_of_devices_with_quirks(void **state)
{
	static const struct {
		const char *devargs;
		unsigned int patience_ms, resets;
		bool slow;
	} cases[] = {
		{ "quirks=teardown-refused", 50, 1, false },
		{ "quirks=pages-never", 50, 1, false },
		{ "quirks=pages-small", 60000, 0, false },
		{ "quirks=init-pages-12874", 60000, 0, false },
		{ "quirks=init-pages-60000", 60000, 0, true },
		{ "quirks=pages-late", 60000, 0, true },
	};
	size_t i;

	(void)state;
	refused = 0;
	takes_in_vain = 0;
	for (i = 0; i < RTE_DIM(cases); i++) {
		if (cases[i].slow && default_run())
			continue;
		unit_tunables()->pages_patience_ms = cases[i].patience_ms;
		/* Beside what else runs, and under a sanitizer, many pages take long. */
		unit_tunables()->close_ms = 600000;
		open_and_close(cases[i].devargs);
		assert_int_equal(firmware.resets, cases[i].resets);
		card_reset();
	}
}

/* ---- A command that needs some first ---- */

#define WANTED	  10
#define PAGE_SLOT (1u << 31) /* the doorbell's bit of page commands */

/* The next command is not heard until pages are given that the device has asked for. */
static atomic_bool hold_next;
static atomic_uint held_back; /* its doorbell */

static bool
wants_pages_first(struct rnic_access *access, uint64_t offset, uint32_t value)
{
	uint32_t held;

	if (offset != RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL))
		return true;
	if (value != PAGE_SLOT) {
		if (!atomic_exchange(&hold_next, false))
			return true;
		atomic_store(&held_back, value);
		assert_int_equal(softrnic_fault(card.device, SOFTRNIC_FAULT_PAGE_REQUEST, WANTED),
				 0);
		return false;
	}
	held = atomic_exchange(&held_back, 0);
	if (held != 0) {
		const struct rnic_be32 both = rnic_cpu_to_be32(held | PAGE_SLOT);

		assert_int_equal(softrnic_bar_write(card.device, offset, &both, sizeof(both)), 0);
	}
	(void)access;
	return held == 0;
}

static const char *hold_at;

static void
hold_at_stage(struct rnic_dev *dev, const char *stage, bool up)
{
	(void)dev;
	if (up && hold_at != NULL && strcmp(stage, hold_at) == 0)
		atomic_store(&hold_next, true);
}

static uint32_t
pages_of_a_start(void)
{
	struct rnic_dev *dev;
	uint32_t pages;

	dev = card_opened();
	pages = rnic_pages_held(dev);
	card_close(dev);
	return pages;
}

/* The event queue is there, and nobody walks it yet. */
static void
test_bring_up_gives_pages_while_it_waits(void **state)
{
	const uint32_t pages = pages_of_a_start();
	struct rnic_dev *dev;

	(void)state;
	unit_tunables()->cmd_timeout_ms = 20000;
	card.write = wants_pages_first;
	card.stage = hold_at_stage;
	hold_at = "RDMA";
	dev = card_opened();
	assert_false(atomic_load(&hold_next));
	/* The request is still in the queue, and is not counted twice. */
	rnic_control_sync(dev);
	unit_wait_for_pages(dev, pages + WANTED);
	card_close(dev);
}

static atomic_int asked;
static int answer;

static void
ask_for_the_mtu(void *arg)
{
	struct rnic_dev *dev = arg;
	uint16_t mtu;

	if (atomic_exchange(&asked, 1) != 0)
		return;
	atomic_store(&hold_next, true);
	answer = rnic_port_mtu(dev, &mtu);
	atomic_store(&asked, 2);
}

static void
test_the_control_thread_gives_pages_while_it_waits(void **state)
{
	const uint32_t pages = pages_of_a_start();
	struct rnic_dev *dev;

	(void)state;
	card.write = wants_pages_first;
	atomic_store(&asked, 0);
	dev = card_opened();
	rnic_on_port_change(dev, ask_for_the_mtu, dev);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_true(UNIT_COMES(atomic_load(&asked) == 2));
	assert_int_equal(answer, 0);
	rnic_on_port_change(dev, NULL, NULL);
	rnic_control_sync(dev);
	unit_wait_for_pages(dev, pages + WANTED);
	card_close(dev);
}

/* ---- Where they come from ---- */

#define CARD_PAGES 12874 /* of a ConnectX-4 Lx, boot and init */

/* An application has its hugepages for itself. */
static void
test_they_are_not_of_eals_memory(void **state)
{
	struct unit_account before, after;
	struct rnic_dev *dev;
	uint32_t held;

	(void)state;
	dev = card_opened();
	held = rnic_pages_held(dev);
	unit_account_take(&before);
	assert_int_equal(softrnic_fault(card.device, SOFTRNIC_FAULT_PAGE_REQUEST, CARD_PAGES), 0);
	unit_wait_for_pages(dev, held + CARD_PAGES);
	unit_account_take(&after);
	print_message("# %u pages for the firmware: %" PRIu64 " bytes of EAL's heap\n", CARD_PAGES,
		      after.heap_bytes - before.heap_bytes);
	/* Mailboxes for their addresses have come to it. */
	assert_in_range(after.heap_bytes - before.heap_bytes, 0, 1u << 20);
	card_close(dev);
}

static const struct CMUnitTest tests[] = {
	CARD_TEST(test_no_page_is_unmapped_under_the_firmware),
	CARD_TEST(test_pages_that_come_back_late_are_waited_for),
	CARD_TEST(test_the_end_of_devices_with_quirks),
	CARD_TEST(test_bring_up_gives_pages_while_it_waits),
	CARD_TEST(test_the_control_thread_gives_pages_while_it_waits),
	CARD_TEST(test_they_are_not_of_eals_memory),
};

UNIT_MAIN("pages", tests)
