/* SPDX-License-Identifier: BSD-3-Clause */

/* The control thread and a device that always has one more thing to tell, or that never answers: it can be ended. */

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_log.h>
#include <rte_memory.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "base/owner.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/health.h"
#include "eqs.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "prm/uar.h"

#ifndef RNIC_TSAN
/* ---- A device that fills the whole queue anew whenever its doorbell rings ---- */

static atomic_bool refills;
static atomic_uint refilled, syndrome;
static uint32_t eqn;

static void
refill(struct rnic_access *access, uint32_t consumer)
{
	/* Of the asynchronous queue, which is made first. */
	struct rnic_eqe *ring = unit_eqs.first[0].address;
	const uint32_t entries = (uint32_t)(unit_eqs.first[0].length / sizeof(*ring));
	uint32_t i, index;

	for (i = 0; i < entries; i++) {
		struct rnic_eqe *eqe;

		index = consumer + i;
		eqe = &ring[index % entries];
		eqe->type = RNIC_EVENT_CQ_ERROR;
		eqe->data[0] = rnic_cpu_to_be32(index & 0xffff);
		__atomic_store_n(&eqe->owner, (uint8_t)((index & entries) != 0), __ATOMIC_RELEASE);
	}
	atomic_fetch_add(&refilled, 1);
	rnic_eventfd_signal(unit_registers->irq_fd(access, 0));
}

static void
planted_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	const uint32_t bell = rnic_be32_to_cpu(value);
	const uint64_t at = offset % RNIC_UAR_PAGE_BYTES;

	if (atomic_load(&refills) && offset >= RNIC_UAR_PAGE_BYTES &&
	    (at == RNIC_UAR_EQ_ARM || at == RNIC_UAR_EQ_UPDATE) && bell >> 24 == eqn)
		refill(access, bell & 0xffffff);
	else
		unit_registers->write32(access, offset, value);
}

static struct rnic_be32
planted_read32(struct rnic_access *access, uint64_t offset)
{
	const uint32_t value = rnic_be32_to_cpu(unit_registers->read32(access, offset));

	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_SYNDROME))
		return rnic_cpu_to_be32(value | atomic_load(&syndrome) << RNIC_FIELD_LOW(
							RNIC_ISEG_HEALTH_SYNDROME));
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR) && atomic_load(&syndrome) != 0)
		return rnic_cpu_to_be32(value | UINT32_C(1)
							<< RNIC_FIELD_LOW(RNIC_ISEG_HEALTH_RFR));
	return rnic_cpu_to_be32(value);
}

static struct rnic_dev *
open_planted(void)
{
	struct rnic_dev *dev;

	unit_eqs.count = 0;
	atomic_store(&refills, false);
	atomic_store(&refilled, 0);
	atomic_store(&syndrome, 0);
	unit_plant(planted_read32, planted_write32);
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	assert_in_range(unit_eqs.count, 1, UNIT_EQS);
	eqn = rnic_eq_number(dev->async_eq);
	return dev;
}

/* From now on it writes without an end. */
static void
begin_refills(struct rnic_dev *dev)
{
	atomic_store(&refills, true);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
	assert_true(UNIT_COMES(atomic_load(&refilled) >= 1000));
}

static atomic_uint lines;

static ssize_t
count_line(void *cookie, const char *text, size_t bytes)
{
	size_t i;

	(void)cookie;
	for (i = 0; i < bytes; i++)
		atomic_fetch_add(&lines, text[i] == '\n');
	return (ssize_t)bytes;
}

/* Its lines are counted, and not kept. */
static FILE *
count_lines(void)
{
	FILE *log = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = count_line });

	assert_non_null(log);
	setvbuf(log, NULL, _IONBF, 0);
	atomic_store(&lines, 0);
	rte_openlog_stream(log);
	rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_ERR);
	return log;
}

static void
count_no_lines(FILE *log, int level)
{
	rte_log_set_level((uint32_t)rnic_logtype, (uint32_t)level);
	rte_openlog_stream(NULL);
	fclose(log);
}

static void
test_a_device_that_refills_its_queue_is_still_watched(void **state)
{
	const int level = rte_log_get_level((uint32_t)rnic_logtype);
	unsigned int seconds, said;
	struct rnic_dev *dev;
	uint64_t start;
	bool noticed;
	FILE *log;

	(void)state;
	unit_tunables()->health_period_ms = 20;
	dev = open_planted();
	unit_watch_for_loss(dev);
	log = count_lines();
	start = rnic_now_us();
	begin_refills(dev);
	atomic_store(&syndrome, 7);
	noticed = UNIT_COMES(atomic_load(&unit_losses) != 0);
	seconds = (unsigned int)((rnic_now_us() - start) / 1000000) + 1;
	said = atomic_load(&lines);
	atomic_store(&refills, false);
	rnic_dev_close(dev);
	count_no_lines(log, level);
	assert_true(noticed);
	/* A quarter of a million events: ten lines a second, how many others there were, and the loss. */
	assert_in_range(said, 1, seconds * 11 + 13);
}

static atomic_bool closed;

static void *
close_it(void *dev)
{
	rnic_dev_close(dev);
	atomic_store(&closed, true);
	return NULL;
}

static void
test_a_device_that_refills_its_queue_can_be_closed(void **state)
{
	struct rnic_dev *dev = open_planted();
	pthread_t thread;
	bool in_time;

	(void)state;
	atomic_store(&closed, false);
	begin_refills(dev);
	assert_int_equal(pthread_create(&thread, NULL, close_it, dev), 0);
	in_time = UNIT_COMES(atomic_load(&closed));
	atomic_store(&refills, false);
	pthread_join(thread, NULL);
	assert_true(in_time);
}

#endif /* two write to the queue, on purpose */

/* The way back: when the control thread is to end, and when it has. */
static uint64_t stop_begins, stop_ends;
static uint32_t slots_then;

static int
note_stop(struct rnic_dev *dev, const char *stage, bool up)
{
	if (!up && strcmp(stage, "control thread") == 0)
		stop_begins = rnic_now_us();
	if (!up && strcmp(stage, "RDMA") == 0) {
		stop_ends = rnic_now_us();
		slots_then = rnic_cmdq_busy_slots(dev);
		/* A reset ends what the device was doing, or the rest would take as long. */
		rnic_dev_fatal(dev, "the test is over");
	}
	return 0;
}

/* It waits for a command for a minute, but not once it is to end. The device may still write to what the command had. */
static void
test_the_control_thread_gives_its_command_up(void **state)
{
	const uint64_t limit_us = (uint64_t)unit_tunables()->cmd_timeout_ms * 1000 / 2;
	struct softrnic *device;
	struct rnic_dev *dev;

	(void)state;
	rnic_bringup_hook = note_stop;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	device = unit_softrnic(dev);
	assert_int_equal(
		softrnic_fault(device, SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_MANAGE_PAGES), 0);
	assert_int_equal(softrnic_fault(device, SOFTRNIC_FAULT_PAGE_REQUEST, 10), 0);
	assert_true(UNIT_COMES(rnic_cmdq_busy_slots(dev) != 0));
	rnic_dev_close(dev);
	assert_in_range(stop_ends - stop_begins, 0, limit_us);
	assert_int_equal(__builtin_popcount(slots_then), 1);
}

static const struct CMUnitTest tests[] = {
#ifndef RNIC_TSAN
	UNIT_TEST(test_a_device_that_refills_its_queue_is_still_watched),
	UNIT_TEST(test_a_device_that_refills_its_queue_can_be_closed),
#endif
	UNIT_TEST(test_the_control_thread_gives_its_command_up),
};

UNIT_MAIN("refill", tests)
