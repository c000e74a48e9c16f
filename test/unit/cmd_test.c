/* SPDX-License-Identifier: BSD-3-Clause */

/* The command engine against the device: many threads, timeouts, refusals, a lost device. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_memory.h>

#include "base/clock.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/health.h"
#include "prm/cmd.h"
#include "prm/cmd_table.h"
#include "prm/init_seg.h"

static int
nop(struct rnic_dev *dev)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_cmd_out out;

	return rnic_cmd_try(dev, RNIC_CMD_NOP, 0, &in, sizeof(in), &out, sizeof(out));
}

struct worker {
	pthread_t thread;
	struct rnic_dev *dev;
	unsigned int errors;
};

#define WORKERS 6
#define OWN_PDS 20
#define ROUNDS	15
static atomic_uint pd_users[1 << 16];

/* Short and long commands in turn; a PD number must never be two threads' at once. */
static void *
work(void *arg)
{
	struct rnic_query_hca_cap_out *cap = malloc(sizeof(*cap));
	struct rnic_function_in in = { 0 };
	struct worker *worker = arg;
	uint32_t pds[OWN_PDS];
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < OWN_PDS; i++) {
			if (rnic_cmd_alloc(worker->dev, RNIC_CMD_ALLOC_PD, &pds[i]) != 0) {
				worker->errors++;
				free(cap);
				return NULL;
			}
			worker->errors += atomic_fetch_add(&pd_users[pds[i] & 0xffff], 1) != 0;
		}
		memset(cap, 0, sizeof(*cap));
		if (rnic_cmd_exec(worker->dev, RNIC_CMD_QUERY_HCA_CAP,
				  RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, 1), &in, sizeof(in), cap,
				  sizeof(*cap)) != 0 ||
		    memcmp((uint8_t *)cap + RNIC_HCA_CAP_OFFSET, &worker->dev->caps.general,
			   sizeof(worker->dev->caps.general)) != 0)
			worker->errors++;
		for (i = 0; i < OWN_PDS; i++) {
			atomic_fetch_sub(&pd_users[pds[i] & 0xffff], 1);
			worker->errors +=
				rnic_cmd_destroy(worker->dev, RNIC_CMD_DEALLOC_PD, pds[i]) != 0;
		}
	}
	free(cap);
	return NULL;
}

static void
test_many_threads(void **state)
{
	struct worker workers[WORKERS];
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .dev = *state };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].errors, 0);
	}
	assert_int_equal(rnic_cmdq_busy_slots(*state), 0);
}

/* The same without events: the owner bit alone says when a command is done. */
static void
test_polled(void **state)
{
	struct rnic_dev *dev = *state;
	unsigned int i;

	rnic_cmdq_use_events(dev, false);
	for (i = 0; i < 100; i++)
		assert_int_equal(nop(dev), 0);
	rnic_cmdq_use_events(dev, true);
	for (i = 0; i < 100; i++)
		assert_int_equal(nop(dev), 0);
}

static void
test_timeout_loses_one_slot(void **state)
{
	struct rnic_dev *dev = *state;
	const unsigned int usual = dev->tunables.cmd_timeout_ms;
	uint64_t start;
	uint32_t pd;

	assert_int_equal(
		softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_NOP), 0);
	dev->tunables.cmd_timeout_ms = 150;
	start = rnic_now_us();
	assert_int_equal(nop(dev), -ETIMEDOUT);
	start = rnic_now_us() - start;
	dev->tunables.cmd_timeout_ms = usual;
	assert_in_range(start, 150000, (uint64_t)usual * 1000 - 1);
	assert_int_equal(__builtin_popcount(rnic_cmdq_busy_slots(dev)), 1);
	assert_false(atomic_load(&dev->dead));
	/* Others go on. */
	assert_int_equal(rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_PD, &pd), 0);
	assert_int_equal(rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_PD, pd), 0);
}

/* What it does not let go, it may go on writing to: it is reset before the memory is given back. */
static void
test_an_object_that_stays_is_the_end(void **state)
{
	struct rnic_dev *dev = *state;
	const unsigned int usual = dev->tunables.cmd_timeout_ms;
	uint32_t pd;

	assert_int_equal(rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_PD, &pd), 0);
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_DEALLOC_PD);
	dev->tunables.cmd_timeout_ms = 150;
	assert_int_equal(rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_PD, pd), -ETIMEDOUT);
	dev->tunables.cmd_timeout_ms = usual;
	assert_true(atomic_load(&dev->dead));
	assert_int_equal(rnic_register_read(dev, RNIC_ISEG_CMDQ_ADDR_LOW), 0);
}

static atomic_bool mute;

static void
muted_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	if (!atomic_load(&mute) || offset != RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL))
		unit_registers->write32(access, offset, value);
}

/* Each stage of the way down has commands, and each of those its own timeout: all together have one deadline. */
static void
test_a_device_that_executes_nothing_is_closed_in_time(void **state)
{
	struct unit_account before;
	struct rnic_dev *dev;
	uint64_t start;

	(void)state;
	unit_account_take(&before);
	unit_plant(NULL, muted_write32);
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	dev->tunables.close_ms = 100;
	atomic_store(&mute, true);
	start = rnic_now_us();
	rnic_dev_close(dev);
	start = rnic_now_us() - start;
	atomic_store(&mute, false);
	rnic_bringup_hook = NULL;
	/* One command alone would have more. */
	assert_in_range(start, 0, (uint64_t)unit_tunables()->cmd_timeout_ms * 1000 / 2);
	unit_account_assert_same(&before);
}

/* All slots lost: ordinary commands fail in time, page commands have their own slot. */
static void
test_page_commands_have_a_slot_of_their_own(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_manage_pages_in give = { 0 };
	struct rnic_manage_pages_out out;
	const unsigned int usual = dev->tunables.cmd_timeout_ms;
	unsigned int i;

	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_NOP);
	dev->tunables.cmd_timeout_ms = 5;
	for (i = 0; i < 31; i++)
		assert_int_equal(nop(dev), -ETIMEDOUT);
	assert_int_equal(rnic_cmdq_busy_slots(dev), 0x7fffffff);
	assert_int_equal(nop(dev), -EIO);
	dev->tunables.cmd_timeout_ms = usual;
	assert_int_equal(rnic_cmd_exec(dev, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE, &give,
				       sizeof(give), &out, sizeof(out)),
			 0);
	/* To close without waiting a minute for each command, the device must be given up. */
	rnic_dev_fatal(dev, "the test took all slots");
}

static void
test_each_status_has_its_errno(void **state)
{
	static const struct {
		uint32_t status;
		int rc;
	} cases[] = {
		{ RNIC_STATUS_OK, 0 },
		{ RNIC_STATUS_INTERNAL_ERR, -EREMOTEIO },
		{ RNIC_STATUS_BAD_OP, -EOPNOTSUPP },
		{ RNIC_STATUS_BAD_PARAM, -EINVAL },
		{ RNIC_STATUS_BAD_SYS_STATE, -EPERM },
		{ RNIC_STATUS_BAD_RES, -EINVAL },
		{ RNIC_STATUS_RES_BUSY, -EBUSY },
		{ RNIC_STATUS_LIM, -ENOSPC },
		{ RNIC_STATUS_BAD_RES_STATE, -EINVAL },
		{ RNIC_STATUS_BAD_INDEX, -EINVAL },
		{ RNIC_STATUS_NO_RES, -ENOSPC },
		{ RNIC_STATUS_BAD_INP_LEN, -EINVAL },
		{ RNIC_STATUS_BAD_OUTP_LEN, -EINVAL },
		{ 0x77, -EREMOTEIO },
	};
	struct rnic_dev *dev = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STATUS,
			       RNIC_CMD_NOP << 8 | cases[i].status);
		assert_int_equal(nop(dev), cases[i].rc);
	}
	unit_refuse_nothing(dev);
	assert_int_equal(nop(dev), 0);
}

static void
test_a_lost_device_fails_fast_and_is_told_once(void **state)
{
	struct rnic_dev *dev = *state;
	const unsigned int usual = dev->tunables.cmd_dead_timeout_ms;
	uint64_t start;
	unsigned int i;

	unit_watch_for_loss(dev);
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_FATAL, 1);
	/* Who waits at all, waits for long. */
	dev->tunables.cmd_dead_timeout_ms = dev->tunables.cmd_timeout_ms;
	start = rnic_now_us();
	for (i = 0; i < 10; i++)
		assert_int_equal(nop(dev), -EIO);
	assert_true(rnic_now_us() - start < (uint64_t)dev->tunables.cmd_dead_timeout_ms * 1000);
	dev->tunables.cmd_dead_timeout_ms = usual;
	assert_true(atomic_load(&dev->dead));
	assert_int_equal(atomic_load(&unit_losses), 1);
}

/* A device that dies under a command: the short timeout, not the long one. */
static void *
die_under_a_command(void *arg)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct rnic_dev *dev = arg;

	while (rnic_cmdq_busy_slots(dev) == 0)
		nanosleep(&nap, NULL);
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_FATAL, 1);
	return NULL;
}

static void
test_death_shortens_the_timeout(void **state)
{
	struct rnic_dev *dev = *state;
	const unsigned int usual = dev->tunables.cmd_dead_timeout_ms;
	pthread_t thread;
	uint64_t start;

	dev->tunables.cmd_dead_timeout_ms = 100;
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_NOP);
	assert_int_equal(pthread_create(&thread, NULL, die_under_a_command, dev), 0);
	start = rnic_now_us();
	assert_int_equal(nop(dev), -ETIMEDOUT);
	start = rnic_now_us() - start;
	pthread_join(thread, NULL);
	dev->tunables.cmd_dead_timeout_ms = usual;
	assert_in_range(start, 100000, (uint64_t)dev->tunables.cmd_timeout_ms * 1000 - 1);
	assert_true(atomic_load(&dev->dead));
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, unit_open, unit_close)

static const struct CMUnitTest tests[] = {
	OPEN_TEST(test_many_threads),
	OPEN_TEST(test_polled),
	OPEN_TEST(test_timeout_loses_one_slot),
	OPEN_TEST(test_an_object_that_stays_is_the_end),
	OPEN_TEST(test_page_commands_have_a_slot_of_their_own),
	OPEN_TEST(test_each_status_has_its_errno),
	OPEN_TEST(test_a_lost_device_fails_fast_and_is_told_once),
	OPEN_TEST(test_death_shortens_the_timeout),
	cmocka_unit_test(test_a_device_that_executes_nothing_is_closed_in_time),
};

UNIT_MAIN("cmd", tests)
