/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with quirks, for their tests. */
#ifndef TEST_DEVICE_QUIRK_H
#define TEST_DEVICE_QUIRK_H

#include "ctl_fixture.h"

static inline void
start(struct hn *hn, const char *quirks)
{
	const struct softrnic_conf conf = { .name = "quirk", .quirks = quirks };

	hn_start(hn, NULL, &conf);
}

/* cmocka's: *state is the quirk's name, and then the struct hn: of a device that is off, or brought up. */
static inline int
quirk_off(void **state)
{
	static struct hn hn;

	start(&hn, *state);
	*state = &hn;
	return 0;
}

static inline int
quirk_up(void **state)
{
	quirk_off(state);
	hn_bring_up(*state);
	return 0;
}

#define QUIRK_OFF(test, name) \
	cmocka_unit_test_prestate_setup_teardown(test, quirk_off, ctl_teardown, (void *)(name))
#define QUIRK_UP(test, name) \
	cmocka_unit_test_prestate_setup_teardown(test, quirk_up, ctl_teardown, (void *)(name))

/* A command of 16 bytes that is about all of the device. */
static inline int
command(struct hn *hn, uint16_t opcode)
{
	return hn_simple(hn, opcode, 0, 0, NULL);
}

/* Nothing is left of what it was. */
static inline void
reset(struct hn *hn)
{
	assert_int_equal(softrnic_reset(hn->dev), 0);
	hn_set_cmdq(hn);
}

/* On a page of its own; events: bit n for those of type n. */
static inline void
open_eq(struct hn *hn, struct hn_eq *eq, unsigned int log_size, uint64_t events)
{
	hn_create_eq(hn, eq, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), log_size, events, 0);
}

#endif
