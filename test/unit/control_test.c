/* SPDX-License-Identifier: BSD-3-Clause */

/* The control thread: what it takes for the end of a device, and what it does for events, in which order. */

#include "unit.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include <rte_common.h>
#include <rte_log.h>
#include <rte_memory.h>

#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/event.h"
#include "core/health.h"
#include "core/pages.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"
#include "rdmapmd.h"

/* ---- Registers as a sick device has them ---- */

/* What reads give beside the truth, by register; all ones: that instead. */
static atomic_uint planted_interface, planted_rfr, planted_syndrome, planted_version;
static atomic_bool planted_hidden; /* of the command queue's address */
static atomic_uint syndromes_read; /* since the last change of what is planted there */

static struct rnic_be32
planted_read32(struct rnic_access *access, uint64_t offset)
{
	uint32_t value = rnic_be32_to_cpu(unit_registers->read32(access, offset));

	switch (offset) {
	case RNIC_FIELD_OFFSET(RNIC_ISEG_NIC_INTERFACE):
		value |= atomic_load(&planted_interface) << RNIC_FIELD_LOW(RNIC_ISEG_NIC_INTERFACE);
		if (atomic_load(&planted_hidden))
			value &= RNIC_PAGE_BYTES - 1;
		break;
	case RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR):
		value |= atomic_load(&planted_rfr) << RNIC_FIELD_LOW(RNIC_ISEG_HEALTH_RFR);
		break;
	case RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_SYNDROME):
		value |= atomic_load(&planted_syndrome)
			 << RNIC_FIELD_LOW(RNIC_ISEG_HEALTH_SYNDROME);
		atomic_fetch_add(&syndromes_read, 1);
		break;
	case RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_FW_VERSION):
		value |= atomic_load(&planted_version);
		break;
	default: break;
	}
	return rnic_cpu_to_be32(value);
}

static struct rnic_dev *
open_planted(void)
{
	struct rnic_dev *dev;

	atomic_store(&planted_interface, 0);
	atomic_store(&planted_rfr, 0);
	atomic_store(&planted_syndrome, 0);
	atomic_store(&planted_version, 0);
	unit_plant(planted_read32, NULL);
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	unit_watch_for_loss(dev);
	return dev;
}

static bool
dies(unsigned int ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (; ms > 0 && atomic_load(&unit_losses) == 0; ms--)
		nanosleep(&nap, NULL);
	return atomic_load(&unit_losses) != 0;
}

static void
test_what_ends_a_device_and_what_does_not(void **state)
{
	static const struct {
		uint32_t interface, rfr, syndrome, version;
		bool fatal;
	} cases[] = {
		{ .rfr = 1 },
		{ .syndrome = 7 },
		{ .interface = RNIC_NIC_INTERFACE_NO_DRAM },
		{ .rfr = 1, .syndrome = 7, .fatal = true },
		{ .interface = RNIC_NIC_INTERFACE_DISABLED, .fatal = true },
		{ .interface = RNIC_NIC_INTERFACE_SW_RESET, .fatal = true },
		{ .version = UINT32_MAX, .fatal = true },
	};
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	unit_tunables()->health_period_ms = 100;
	for (i = 0; i < RTE_DIM(cases); i++) {
		dev = open_planted();
		atomic_store(&planted_interface, cases[i].interface);
		atomic_store(&planted_rfr, cases[i].rfr);
		atomic_store(&planted_syndrome, cases[i].syndrome);
		atomic_store(&planted_version, cases[i].version);
		if (dies(cases[i].fatal ? 10000 : 400) != cases[i].fatal)
			fail_msg("case %zu", i);
		if (!cases[i].fatal)
			assert_int_equal(rnic_port_set_admin(dev, true), 0);
		rnic_dev_close(dev);
	}
}

/* It looks well, and knows nothing of us any more. */
static void
test_a_reset_by_somebody_else_is_noticed(void **state)
{
	struct rnic_dev *dev;
	bool hidden;
	int i;

	(void)state;
	unit_tunables()->health_period_ms = 50;
	for (i = 0; i < 2; i++) {
		/* Of a device that does not let the address be read nothing can be said. */
		hidden = i == 1;
		atomic_store(&planted_hidden, hidden);
		dev = open_planted();
		assert_false(dies(200));
		assert_int_equal(softrnic_reset(unit_softrnic(dev)), 0);
		if (dies(hidden ? 200 : 10000) == hidden)
			fail_msg("hidden: %d", hidden);
		rnic_dev_fatal(dev, "the test is over");
		rnic_dev_close(dev);
	}
	atomic_store(&planted_hidden, false);
}

/* It is looked at many times, and nothing dies of it. */
static void
plant_syndrome(uint32_t syndrome)
{
	atomic_store(&planted_syndrome, syndrome);
	atomic_store(&syndromes_read, 0);
	while (atomic_load(&syndromes_read) < 20)
		assert_false(dies(1));
}

static void
test_a_syndrome_that_is_not_fatal_is_said_once(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	unit_tunables()->health_period_ms = 20;
	dev = open_planted();
	unit_listen(RTE_LOG_WARNING);
	plant_syndrome(7);
	plant_syndrome(9);
	rnic_dev_close(dev);
	assert_int_equal(unit_said("health syndrome 0x07"), 1);
	assert_int_equal(unit_said("health syndrome 0x09"), 1);
	assert_int_equal(unit_said("health syndrome"), 2);
	unit_listen_no_more();
}

/* What a report needs, and what helps where a reset of the function does not. */
static void
test_a_fatal_syndrome_is_said_with_the_way_out(void **state)
{
	struct rnic_dev *dev;
	unsigned int fatal;

	(void)state;
	unit_tunables()->health_period_ms = 20;
	for (fatal = 0; fatal < 2; fatal++) {
		dev = open_planted();
		unit_listen(RTE_LOG_WARNING);
		if (fatal) {
			atomic_store(&planted_syndrome, 0x17);
			atomic_store(&planted_rfr, 1);
			assert_true(dies(60000));
		} else {
			rnic_dev_fatal(dev, "somebody says so");
		}
		rnic_dev_close(dev);
		assert_int_equal(unit_said("device lost: "), 1);
		assert_int_equal(unit_said("Close the port and start it again"), 1);
		assert_int_equal(unit_said("(syndrome 0x17, extended 0x"), fatal);
		assert_int_equal(unit_said("let mlx5_core have the function once"), fatal);
		unit_listen_no_more();
	}
}

/* ---- The health counter ---- */

#define STILL_SAID 3
#define STILL_LOST 10

/* While it is still it reads the same so many times, and then moves with each look. */
static atomic_uint still_for, still_reads, moved_reads;

static struct rnic_be32
counting_read32(struct rnic_access *access, uint64_t offset)
{
	static atomic_uint counter;

	if (offset != RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER))
		return unit_registers->read32(access, offset);
	if (atomic_load(&still_reads) < atomic_load(&still_for)) {
		atomic_fetch_add(&still_reads, 1);
	} else {
		atomic_fetch_add(&counter, 1);
		atomic_fetch_add(&moved_reads, 1);
	}
	return rnic_cpu_to_be32(atomic_load(&counter));
}

static struct rnic_dev *
open_counting(void)
{
	struct rnic_dev *dev;

	unit_tunables()->health_period_ms = 20;
	atomic_store(&still_for, 0);
	atomic_store(&still_reads, 0);
	unit_plant(counting_read32, NULL);
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	unit_watch_for_loss(dev);
	unit_listen(RTE_LOG_NOTICE);
	return dev;
}

static void
wait_for_moves(unsigned int count)
{
	atomic_store(&moved_reads, 0);
	while (atomic_load(&moved_reads) < count)
		assert_false(dies(1));
}

/* Busy with something else it has no time for its counter: the port goes on. */
static void
test_a_counter_that_stands_still_for_a_while_is_a_warning(void **state)
{
	struct rnic_dev *dev = open_counting();

	(void)state;
	wait_for_moves(2);
	/* One look less than it would be lost at. */
	atomic_store(&still_for, STILL_LOST - 1);
	wait_for_moves(STILL_LOST + 2);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	rnic_dev_close(dev);
	assert_int_equal(unit_said("its health counter has not moved for 60 ms"), 1);
	assert_int_equal(unit_said("health counter is moving again"), 1);
	assert_int_equal(unit_said("device lost"), 0);
	unit_listen_no_more();
}

static void
test_a_counter_that_stands_still_for_long_is_the_end(void **state)
{
	struct rnic_dev *dev = open_counting();

	(void)state;
	wait_for_moves(2);
	atomic_store(&still_for, UINT32_MAX);
	assert_true(dies(60000));
	assert_int_equal(atomic_load(&still_reads), STILL_LOST);
	rnic_dev_close(dev);
	assert_int_equal(unit_said("device lost: its health counter stands still."), 1);
	unit_listen_no_more();
}

/* It does not move, and a command has timed out: nothing is to be hoped for. */
static void
test_a_counter_that_stands_still_with_a_stuck_command_is_the_end(void **state)
{
	const unsigned int usual_timeout = unit_tunables()->cmd_timeout_ms;
	struct rnic_cmd_in in = { 0 };
	struct rnic_cmd_out out;
	struct rnic_dev *dev = open_counting();

	(void)state;
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_NOP);
	dev->tunables.cmd_timeout_ms = 50;
	assert_int_equal(rnic_cmd_try(dev, RNIC_CMD_NOP, 0, &in, sizeof(in), &out, sizeof(out)),
			 -ETIMEDOUT);
	dev->tunables.cmd_timeout_ms = usual_timeout;
	/* That alone is not. */
	wait_for_moves(STILL_LOST);
	atomic_store(&still_for, UINT32_MAX);
	assert_true(dies(60000));
	assert_int_equal(atomic_load(&still_reads), STILL_SAID);
	rnic_dev_close(dev);
	assert_int_equal(unit_said("and a command does not complete"), 1);
	unit_listen_no_more();
}

/* ---- Events ---- */

/* Requests are added up: those of another function must not count as ours. */
static void
test_page_requests_of_another_function(void **state)
{
	struct rnic_dev *dev = *state;
	uint32_t held;

	held = rnic_pages_held(dev);
	rnic_pages_request(dev, 7, 100);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 10), 0);
	unit_wait_for_pages(dev, held + 10);
	rnic_pages_request(dev, 7, -5);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 10), 0);
	unit_wait_for_pages(dev, held + 20);
}

static sem_t change_seen, change_go;
static uint32_t held_at_change;

static void
slow_port_change(void *arg)
{
	struct rnic_dev *dev = arg;

	held_at_change = rnic_pages_held(dev);
	sem_post(&change_seen);
	sem_wait(&change_go);
}

/*
 * A port change executes commands, which may have to wait for what stands behind it in the event queue: it is looked at
 * when the walk is over and the pages that were asked for are given.
 */
static void
test_port_changes_wait_for_the_end_of_the_walk(void **state)
{
	struct rnic_dev *dev = *state;
	uint32_t held;

	sem_init(&change_seen, 0, 0);
	sem_init(&change_go, 0, 0);
	held = rnic_pages_held(dev);
	rnic_on_port_change(dev, slow_port_change, dev);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	sem_wait(&change_seen);
	/* With the control thread held up: a port change and, behind it, a request for pages. */
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 10), 0);
	sem_post(&change_go);
	sem_wait(&change_seen);
	assert_int_equal(held_at_change, held + 10);
	sem_post(&change_go);
	unit_wait_for_pages(dev, held + 10);
	rnic_on_port_change(dev, NULL, NULL);
	/* Its own last change, if there is one, must not wait for us. */
	sem_post(&change_go);
}

/* Its thread gets no CPU for a while. */
static atomic_uint naps;
static long nap_ms;

static void
nap(void *arg)
{
	const struct timespec time = { .tv_nsec = nap_ms * 1000000 };

	(void)arg;
	if (atomic_fetch_add(&naps, 1) == 0)
		nanosleep(&time, NULL);
}

static void
wait_for_naps(unsigned int count)
{
	assert_true(UNIT_COMES(atomic_load(&naps) >= count));
}

/* The event queue has 256 entries; each command leaves one. */
static void
test_commands_do_not_outrun_their_events(void **state)
{
	struct rnic_dev *dev = *state;
	uint16_t mtu;
	unsigned int i;

	atomic_store(&naps, 0);
	/* Longer than the commands take, however long they wait for one event. */
	nap_ms = 700;
	rnic_on_port_change(dev, nap, dev);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	for (i = 0; i < 500; i++)
		assert_int_equal(rnic_port_mtu(dev, &mtu), 0);
	/* It has lost none: the next one is told of, too. */
	wait_for_naps(1);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	wait_for_naps(2);
	rnic_on_port_change(dev, NULL, NULL);
}

/* Has the control thread met this one? What an application hears of it is put in place on the way. */
static bool
met(struct rdmapmd_context *context, enum rdmapmd_event_type type)
{
	struct rdmapmd_async_event event;
	bool found = false;

	while (rdmapmd_async_event_get(context, &event) == 0) {
		found |= event.event_type == type;
		assert_int_equal(rdmapmd_async_event_ack(context, &event), 0);
	}
	return found;
}

static void
test_who_waits_for_events_waits_for_all_of_them(void **state)
{
	struct rdmapmd_context *context;
	struct rnic_dev *dev = *state;
	unsigned int i;

	nap_ms = 100;
	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	rnic_on_port_change(dev, nap, dev);
	for (i = 0; i < 5; i++) {
		/* Asleep, then with a change that it has not seen. */
		atomic_store(&naps, 0);
		assert_int_equal(rnic_port_set_admin(dev, false), 0);
		wait_for_naps(1);
		assert_int_equal(rnic_port_set_admin(dev, true), 0);
		rnic_control_sync(dev);
		assert_true(met(context, RDMAPMD_EVENT_PORT_ACTIVE));
	}
	rnic_on_port_change(dev, NULL, NULL);
	assert_int_equal(rdmapmd_context_close(context), 0);
}

static const struct CMUnitTest tests[] = {
	UNIT_TEST(test_what_ends_a_device_and_what_does_not),
	UNIT_TEST(test_a_reset_by_somebody_else_is_noticed),
	UNIT_TEST(test_a_syndrome_that_is_not_fatal_is_said_once),
	UNIT_TEST(test_a_fatal_syndrome_is_said_with_the_way_out),
	UNIT_TEST(test_a_counter_that_stands_still_for_a_while_is_a_warning),
	UNIT_TEST(test_a_counter_that_stands_still_for_long_is_the_end),
	UNIT_TEST(test_a_counter_that_stands_still_with_a_stuck_command_is_the_end),
	UNIT_WATCHED_TEST(test_page_requests_of_another_function),
	UNIT_WATCHED_TEST(test_port_changes_wait_for_the_end_of_the_walk),
	UNIT_WATCHED_TEST(test_commands_do_not_outrun_their_events),
	UNIT_WATCHED_TEST(test_who_waits_for_events_waits_for_all_of_them),
};

UNIT_MAIN("control", tests)
