/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The control thread of a device in another process that does not answer: it is ended at once, whatever it waits for, and the
 * device is as good as before for those who come after. And who closes such a device does not wait for long.
 */

#include "world.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/sockios.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "../counts.h"
#include "access/access.h"
#include "access/vfio_user.h"
#include "base/clock.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/event.h"
#include "core/health.h"
#include "core/mem.h"
#include "core/pages.h"
#include "object/port.h"

#define PATIENCE_MS 60000
#define TIMEOUT_MS  100000 /* of the driver, for an answer */
#define BYTES	    (1u << 16)

/* Half a second is what it has; a loaded machine may need longer to run us at all. */
static uint64_t
within_us(void)
{
	return full_run() ? 1000000 : TIMEOUT_MS / 4 * 1000;
}

static void
sleep_ms(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	nanosleep(&nap, NULL);
}

/* ---- What the control thread waits for ---- */

static struct rnic_mem memory;

static void
read_a_register(struct rnic_dev *dev)
{
	(void)dev->access->ops->read32(dev->access, 0);
}

static void
execute_a_command(struct rnic_dev *dev)
{
	uint16_t mtu;

	(void)rnic_port_mtu(dev, &mtu);
}

/* Memory for them is to be mapped first. */
static void
answer_a_page_request(struct rnic_dev *dev)
{
	rnic_pages_request(dev, 0, 1000);
	rnic_pages_answer(dev);
}

static void
unmap(struct rnic_dev *dev)
{
	rnic_mem_free(dev, &memory);
}

static void
lose_the_device(struct rnic_dev *dev)
{
	rnic_dev_fatal(dev, "the test says so");
}

/* ---- Another thread that waits, and has what the control thread needs ---- */

static struct rnic_mem others;

static void *
also_reads(void *dev)
{
	read_a_register(dev);
	return NULL;
}

static void *
also_maps(void *dev)
{
	(void)rnic_mem_alloc(dev, "a test", BYTES, RNIC_PAGE_BYTES, RNIC_ACCESS_READ, &others);
	return NULL;
}

static const struct wait {
	void (*act)(struct rnic_dev *dev);
	void *(*other)(void *dev);
} waits[] = {
	{ read_a_register, NULL },
	{ execute_a_command, NULL },
	{ answer_a_page_request, NULL },
	{ unmap, NULL },
	{ lose_the_device, NULL },
	{ read_a_register, also_reads },
	{ answer_a_page_request, also_maps },
};
static const struct wait *wait_for;

/* ---- The way back ---- */

static sem_t go, begun;
static atomic_bool armed;
static pthread_t other;
static int unread; /* bytes, by the server that stands still */
static uint64_t stop_begins, stop_ends;
static bool went_on; /* the connection */

static int
bytes_to_read(struct rnic_dev *dev)
{
	int bytes = 0;

	assert_int_equal(ioctl(dev->access->ops->hangup_fd(dev->access), SIOCOUTQ, &bytes), 0);
	return bytes;
}

static void
wait_for_request(struct rnic_dev *dev)
{
	unsigned int ms;

	for (ms = 0; ms < PATIENCE_MS && bytes_to_read(dev) <= unread; ms++)
		sleep_ms();
	assert_true(bytes_to_read(dev) > unread);
}

static void
stop_server(void)
{
	siginfo_t info;

	assert_int_equal(kill(world.daemon.pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)world.daemon.pid, &info, WSTOPPED), 0);
}

/* In the control thread. */
static void
on_port_change(void *arg)
{
	struct rnic_dev *dev = arg;

	if (!atomic_exchange(&armed, false))
		return;
	/* Whoever caused it has the answers to its commands. */
	sem_wait(&go);
	stop_server();
	unread = bytes_to_read(dev);
	if (wait_for->other != NULL) {
		assert_int_equal(pthread_create(&other, NULL, wait_for->other, dev), 0);
		wait_for_request(dev);
	}
	sem_post(&begun);
	wait_for->act(dev);
}

/* The control thread waits for the server. */
static void
make_it_wait(struct rnic_dev *dev)
{
	atomic_store(&armed, true);
	rnic_on_port_change(dev, on_port_change, dev);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	sem_post(&go);
	sem_wait(&begun);
	wait_for_request(dev);
}

/* It has ended. The server goes on, and so does whoever else asks it for something. */
static void
go_on(struct rnic_dev *dev)
{
	assert_int_equal(kill(world.daemon.pid, SIGCONT), 0);
	if (wait_for->other != NULL)
		pthread_join(other, NULL);
	rnic_mem_free(dev, &others);
	/* A device that was given up is reset by now. */
	rnic_mem_free(dev, &memory);
	went_on = !atomic_load(&dev->access->gone) &&
		  dev->access->ops->read32(dev->access, 0).raw != UINT32_MAX;
}

static int
on_stage(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up)
		return 0;
	if (strcmp(stage, "control thread") == 0) {
		make_it_wait(dev);
		stop_begins = rnic_now_us();
	} else if (strcmp(stage, "RDMA") == 0) {
		stop_ends = rnic_now_us();
		go_on(dev);
	}
	return 0;
}

static void
the_control_thread_is_ended_at_once(void **state)
{
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	world_close();
	sem_init(&go, 0, 0);
	sem_init(&begun, 0, 0);
	rnic_bringup_hook = on_stage;
	for (i = 0; i < RTE_DIM(waits); i++) {
		wait_for = &waits[i];
		dev = world_open_driver();
		assert_int_equal(rnic_mem_alloc(dev, "a test", BYTES, RNIC_PAGE_BYTES,
						RNIC_ACCESS_READ, &memory),
				 0);
		rnic_dev_close(dev);
		if (stop_ends - stop_begins > within_us())
			fail_msg("wait %zu: the control thread went on for %" PRIu64 " us", i,
				 stop_ends - stop_begins);
		assert_true(went_on);
	}
	rnic_bringup_hook = NULL;
	sem_destroy(&go);
	sem_destroy(&begun);
	/* Whoever comes next starts from the beginning. */
	world_reopen();
}

/* Whatever each of its stages waits for, all of them have one deadline. */
static void
a_device_is_closed_in_time(void **state)
{
	struct rnic_dev *dev;
	uint64_t begins, ends;

	(void)state;
	dev = world_open_driver();
	dev->tunables.close_ms = 100;
	stop_server();
	begins = rnic_now_us();
	rnic_dev_close(dev);
	ends = rnic_now_us();
	assert_int_equal(kill(world.daemon.pid, SIGCONT), 0);
	if (ends - begins > within_us())
		fail_msg("the device took %" PRIu64 " us to be closed", ends - begins);
	world_reopen();
}

/* Memory that was given up is not looked for. */
static int
teardown(void **state)
{
	(void)state;
	world_close();
	daemon_stop(&world.daemon);
	daemon_clean(&world.daemon);
	return 0;
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_control_thread_is_ended_at_once, world_setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_device_is_closed_in_time, world_setup, teardown),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
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
	tunables->last_ms = full_run() ? 500 : 100;
	return unit_main(1, argv, run);
}
