/* SPDX-License-Identifier: BSD-3-Clause */

/* What only a device in another process has: it can be lost, refused, busy, and not all memory can be shared with it. */

#include "world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "../counts.h"
#include "access/access.h"
#include "access/vfio_user.h"
#include "base/clock.h"
#include "bringup.h"
#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/health.h"
#include "core/uar.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"

#define OPS (world.access->ops)

/* A loaded machine may need longer than a second to run us at all: what we must not do is wait for a time-out. */
#define PATIENCE_MS 60000
#define TIMEOUT_MS  100000 /* all of them */

static uint64_t
within_us(void)
{
	return full_run() ? 1000000 : TIMEOUT_MS / 2 * 1000;
}

static bool
hangs_up(struct rnic_access *access)
{
	struct pollfd one = { .fd = access->ops->hangup_fd(access), .events = POLLRDHUP };

	return poll(&one, 1, PATIENCE_MS) == 1;
}

static void
expect_lost(struct rnic_access *access)
{
	void *memory = world_alloc(RNIC_PAGE_BYTES);
	uint64_t iova;

	assert_int_equal(access->ops->read32(access, 0).raw, UINT32_MAX);
	assert_true(atomic_load(&access->gone));
	access->ops->write32(access, 0, RNIC_BE32(1));
	access->ops->write64(access, 0x10000, rnic_cpu_to_be64(1));
	assert_int_equal(access->ops->map(access, memory, RNIC_PAGE_BYTES, RNIC_ACCESS_READ, &iova),
			 -ENOTCONN);
	assert_int_equal(access->ops->reset(access), -ENOTCONN);
	rte_free(memory);
}

static void
a_killed_server_is_noticed(void **state)
{
	void *memory = world_alloc(3 * RNIC_PAGE_BYTES);
	struct pollfd before = { .fd = OPS->hangup_fd(world.access), .events = POLLRDHUP };
	volatile uint8_t *page = OPS->uar(world.access, RNIC_FIRST_UAR + 1);
	uint64_t iova, start;

	(void)state;
	iova = world_map(memory, 3 * RNIC_PAGE_BYTES, RNIC_ACCESS_READ);
	assert_int_equal(poll(&before, 1, 0), 0);
	world_kill_server();
	start = rnic_now_us();
	assert_true(hangs_up(world.access));
	expect_lost(world.access);
	world_unmap(iova, 3 * RNIC_PAGE_BYTES);
	assert_true(rnic_now_us() - start < within_us());
	/* The UAR pages outlive it: who still rings does no harm. */
	page[0x800] = 1;
	rte_free(memory);
}

/* One that stands still may come to itself: what it may reach is not given back. */
static void
a_server_that_stands_still_keeps_the_memory(void **state)
{
	void *memory = world_alloc(RNIC_PAGE_BYTES);
	uint64_t iova;

	(void)state;
	/* For an answer of a server that has no CPU for a while, and for one of a server that stands still. */
	unit_tunables()->vfio_user_timeout_ms = 4000;
	world_reopen();
	iova = world_map(memory, RNIC_PAGE_BYTES, RNIC_ACCESS_WRITE);
	assert_int_equal(kill(world.daemon.pid, SIGSTOP), 0);
	expect_lost(world.access);
	assert_true(hangs_up(world.access));
	assert_int_equal(OPS->unmap(world.access, iova, RNIC_PAGE_BYTES), -ENOTCONN);
	assert_int_equal(world.access->maps, 1);
	/* Once it has ended, nobody has the memory. */
	world_kill_server();
	world_unmap(iova, RNIC_PAGE_BYTES);
	rte_free(memory);
}

/* ---- Under the driver ---- */

static atomic_int fatal_calls;
static atomic_ullong fatal_us;

static void
note_fatal(void *arg)
{
	(void)arg;
	atomic_store(&fatal_us, rnic_now_us());
	atomic_fetch_add(&fatal_calls, 1);
}

static struct rnic_dev *
open_device(void)
{
	struct rnic_dev *dev = world_open_driver();

	atomic_store(&fatal_calls, 0);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, note_fatal, dev);
	return dev;
}

/* Told within a second, without anybody asking; commands fail at once; closing works and leaves nothing. */
static void
expect_told(struct rnic_dev *dev, uint64_t killed_us)
{
	const uint64_t deadline = rnic_now_us() + PATIENCE_MS * 1000;
	struct rnic_bfreg *reg;
	uint32_t number;
	uint64_t start;

	while (atomic_load(&fatal_calls) == 0 && rnic_now_us() < deadline)
		usleep(1000);
	assert_int_equal(atomic_load(&fatal_calls), 1);
	assert_true(atomic_load(&fatal_us) - killed_us < within_us());
	start = rnic_now_us();
	assert_int_equal(rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_PD, &number), -EIO);
	assert_int_equal(rnic_port_set_admin(dev, true), -EIO);
	reg = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	assert_int_equal(reg->kind, RNIC_BFREG_SHARED);
	assert_int_equal(rnic_bfreg_free(dev, reg), 0);
	rnic_dev_close(dev);
	assert_true(rnic_now_us() - start < within_us());
	assert_int_equal(atomic_load(&fatal_calls), 1);
}

static void
the_driver_is_told_and_can_open_again(void **state)
{
	struct unit_account before;
	struct rnic_dev *dev;
	uint64_t killed_us;
	int i;

	(void)state;
	dev = open_device();
	rnic_dev_close(dev);
	unit_account_take(&before);
	for (i = 0; i < 5; i++) {
		dev = open_device();
		killed_us = rnic_now_us();
		world_kill_server();
		expect_told(dev, killed_us);
		unit_account_assert_same(&before);
		world_restart_server();
	}
}

static void *
execute_command(void *arg)
{
	uint32_t number;

	return (void *)(intptr_t)rnic_cmd_alloc(arg, RNIC_CMD_ALLOC_PD, &number);
}

/* The command is on its way when the server ends: nobody waits for its time-out. */
static void
commands_under_way_end_with_the_server(void **state)
{
	pthread_t threads[8];
	struct rnic_dev *dev;
	uint64_t killed_us;
	void *result;
	size_t i;

	(void)state;
	dev = open_device();
	assert_int_equal(kill(world.daemon.pid, SIGSTOP), 0);
	for (i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, execute_command, dev), 0);
	usleep(100000);
	killed_us = rnic_now_us();
	world_kill_server();
	for (i = 0; i < RTE_DIM(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_true((intptr_t)result == -EIO || (intptr_t)result == -ETIMEDOUT);
	}
	assert_true(rnic_now_us() - killed_us < within_us());
	expect_told(dev, killed_us);
}

/* ---- Refusals, each with a message that says what to do ---- */

static void
memory_that_is_not_eals_is_refused(void **state)
{
	const size_t bytes = 4u << 20;
	char *memory = aligned_alloc(2u << 20, bytes);
	uint64_t iova;
	FILE *log;

	(void)state;
	assert_non_null(memory);
	log = world_listen();
	assert_int_equal(OPS->map(world.access, memory, 8192, RNIC_ACCESS_READ, &iova), -ENOTSUP);
	world_expect_said(log, "rte_malloc");
	/* Known to EAL, and still somebody else's. */
	assert_int_equal(rte_extmem_register(memory, bytes, NULL, 0, 4096), 0);
	log = world_listen();
	assert_int_equal(OPS->map(world.access, memory, 8192, RNIC_ACCESS_READ, &iova), -ENOTSUP);
	world_expect_said(log, "rte_malloc");
	assert_int_equal(rte_extmem_unregister(memory, bytes), 0);
	free(memory);
}

static void
a_second_client_is_told_of_the_first(void **state)
{
	struct rnic_access *second = NULL;
	char pid[32];
	FILE *log = world_listen();

	(void)state;
	assert_int_equal(world_open(&second), -EBUSY);
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	world_expect_said(log, pid);
	assert_int_not_equal(OPS->read32(world.access, 0).raw, UINT32_MAX);
}

static void
what_is_no_such_device_is_refused(void **state)
{
	struct rnic_devargs args = { .poll_core = -1 };
	struct rnic_access *access = NULL;
	FILE *log = world_listen();

	(void)state;
	memcpy(args.socket, world.daemon.sockets[1], strlen(world.daemon.sockets[1]));
	assert_int_equal(rnic_access_vfio_user_open(UNIT_DEVICE, &args, unit_tunables(), &access),
			 -ENODEV);
	world_expect_said(log, "8086:100e");

	log = world_listen();
	strcpy(args.socket, "/nonexistent/socket");
	assert_int_equal(rnic_access_vfio_user_open(UNIT_DEVICE, &args, unit_tunables(), &access),
			 -ENOENT);
	world_expect_said(log, "/nonexistent/socket");
}

static int
run(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_killed_server_is_noticed),
		CASE(a_server_that_stands_still_keeps_the_memory),
		CASE(the_driver_is_told_and_can_open_again),
		CASE(commands_under_way_end_with_the_server),
		CASE(memory_that_is_not_eals_is_refused),
		CASE(a_second_client_is_told_of_the_first),
		CASE(what_is_no_such_device_is_refused),
	};

	return cmocka_run_group_tests_name("lost", tests, NULL, NULL);
}

/* SOFTRNICD */
int
main(int argc, char **argv)
{
	struct rnic_tunables *tunables = unit_tunables();

	if (argc < 2)
		return 1;
	world.remote = true;
	daemon_program = argv[1];
	tunables->vfio_user_timeout_ms = TIMEOUT_MS;
	tunables->cmd_timeout_ms = TIMEOUT_MS;
	tunables->cmd_dead_timeout_ms = TIMEOUT_MS;
	return unit_main(1, argv, run);
}
