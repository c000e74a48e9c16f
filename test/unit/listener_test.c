/* SPDX-License-Identifier: BSD-3-Clause */

/* Who hears of the device's loss, and whose event queues the control thread serves: in which order, and until when. */

#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_memory.h>

#include "base/eventfd.h"
#include "base/thread.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/health.h"
#include "object/port.h"

/* ---- Who is told that the device is lost ---- */

static unsigned int told;

static void
note_turn(void *arg)
{
	*(unsigned int *)arg = ++told;
}

static void
test_the_lost_slots_are_told_in_their_order_and_once(void **state)
{
	unsigned int rdma = 0, ethdev = 0;
	struct rnic_dev *dev = *state;

	told = 0;
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, note_turn, &ethdev);
	/* In the place of RDMA's own. */
	rnic_on_lost(dev, RNIC_LOST_RDMA, NULL, NULL);
	rnic_on_lost(dev, RNIC_LOST_RDMA, note_turn, &rdma);
	rnic_dev_fatal(dev, "the test says so");
	rnic_dev_fatal(dev, "the test says so again");
	assert_int_equal(rdma, 1);
	assert_int_equal(ethdev, 2);
	assert_int_equal(told, 2);
}

static void
test_an_empty_slot_is_told_nothing(void **state)
{
	unsigned int ethdev = 0;
	struct rnic_dev *dev = *state;

	rnic_on_lost(dev, RNIC_LOST_ETHDEV, note_turn, &ethdev);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, NULL, NULL);
	rnic_dev_fatal(dev, "the test says so");
	assert_int_equal(ethdev, 0);
}

/* In which state RDMA's slot is when a stage is about to go down. */
static bool slot_at_rdma, thread_at_rdma, slot_behind_rdma;
static sem_t closing, told_on_thread, go_on;
static atomic_bool has_left;

static int
look_at_slots(struct rnic_dev *dev, const char *stage, bool up)
{
	const bool filled = atomic_load(&dev->on_lost[RNIC_LOST_RDMA].fn) != NULL;

	if (up)
		return 0;
	if (strcmp(stage, "control thread") == 0) {
		sem_post(&closing);
	} else if (strcmp(stage, "RDMA") == 0) {
		slot_at_rdma = filled;
		thread_at_rdma = dev->control != NULL;
	} else if (strcmp(stage, "async EQ") == 0) {
		slot_behind_rdma = filled;
	}
	return 0;
}

static void
stay_a_while(void *arg)
{
	const struct timespec time = { .tv_nsec = 50000000 };

	(void)arg;
	sem_post(&told_on_thread);
	sem_wait(&go_on);
	nanosleep(&time, NULL);
	atomic_store(&has_left, true);
}

static void *
close_device(void *arg)
{
	struct rnic_dev *dev = arg;

	rnic_on_lost(dev, RNIC_LOST_ETHDEV, NULL, NULL);
	rnic_dev_close(dev);
	/* What the listener works with may go from here on. */
	return atomic_load(&has_left) ? arg : NULL;
}

static void
test_a_slot_empties_when_no_thread_is_left_that_may_be_in_it(void **state)
{
	struct rnic_dev *dev;
	pthread_t closer;
	void *left = NULL;

	(void)state;
	unit_tunables()->health_period_ms = 50;
	sem_init(&closing, 0, 0);
	sem_init(&told_on_thread, 0, 0);
	sem_init(&go_on, 0, 0);
	atomic_store(&has_left, false);
	rnic_bringup_hook = look_at_slots;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, stay_a_while, NULL);
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_FATAL, 1);
	/* The control thread is in the listener while another thread empties its slot and closes the device. */
	sem_wait(&told_on_thread);
	assert_int_equal(pthread_create(&closer, NULL, close_device, dev), 0);
	sem_wait(&closing);
	sem_post(&go_on);
	assert_int_equal(pthread_join(closer, &left), 0);
	assert_non_null(left);
	/* RDMA's own was there until the thread had gone, and went with RDMA. */
	assert_true(slot_at_rdma);
	assert_false(thread_at_rdma);
	assert_false(slot_behind_rdma);
	sem_destroy(&closing);
	sem_destroy(&told_on_thread);
	sem_destroy(&go_on);
}

/* ---- What the control thread serves for floors above ---- */

static struct {
	int fd; /* of the source */
	sem_t polled;
	atomic_uint armings, suspicions;
	/* When a stage is about to go down. */
	bool rdma_stays, rdma_is_gone;
} served;

static int
served_fd(struct rnic_dev *dev)
{
	(void)dev;
	return served.fd;
}

static void
served_arm(struct rnic_dev *dev)
{
	(void)dev;
	atomic_fetch_add(&served.armings, 1);
}

static void
served_poll(struct rnic_dev *dev)
{
	/* By the thread that serves the device. */
	if (rnic_thread_serves(dev))
		sem_post(&served.polled);
}

static void
served_suspect(struct rnic_dev *dev)
{
	(void)dev;
	atomic_fetch_add(&served.suspicions, 1);
}

/* In the place of the ethdev's, which there is not. */
static int
add_source(struct rnic_dev *dev, const char *stage, bool up)
{
	static const struct rnic_control_source source = {
		.irq_fd = served_fd,
		.arm = served_arm,
		.poll = served_poll,
		.suspect = served_suspect,
	};

	if (up && strcmp(stage, "control thread") == 0)
		rnic_control_add(dev, RNIC_CONTROL_RX_INTR, &source);
	if (!up && strcmp(stage, "RDMA") == 0) {
		served.rdma_stays = atomic_load(&dev->sources[RNIC_CONTROL_RDMA]) != NULL &&
				    dev->control == NULL;
		/* The thread has ended: its descriptor may be closed. */
		rnic_control_remove(dev, RNIC_CONTROL_RX_INTR);
		if (served.fd >= 0)
			close(served.fd);
	}
	/* The interrupts of RDMA's are the access's. */
	if (!up && strcmp(stage, "async EQ") == 0)
		served.rdma_is_gone = atomic_load(&dev->sources[RNIC_CONTROL_RDMA]) == NULL &&
				      dev->access != NULL;
	return 0;
}

static struct rnic_dev *
open_served(int fd)
{
	struct rnic_dev *dev;

	served.fd = fd;
	served.rdma_stays = served.rdma_is_gone = false;
	atomic_store(&served.armings, 0);
	atomic_store(&served.suspicions, 0);
	sem_init(&served.polled, 0, 0);
	rnic_bringup_hook = add_source;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	return dev;
}

static void
close_served(struct rnic_dev *dev)
{
	rnic_dev_close(dev);
	assert_int_equal(atomic_load(&served.armings), 1);
	assert_true(served.rdma_stays);
	assert_true(served.rdma_is_gone);
	sem_destroy(&served.polled);
}

static void
test_a_source_is_polled_when_its_descriptor_says_so(void **state)
{
	struct rnic_dev *dev;
	int fd;

	(void)state;
	assert_int_equal(rnic_eventfd_open(UNIT_DEVICE, &fd), 0);
	dev = open_served(fd);
	rnic_eventfd_signal(fd);
	sem_wait(&served.polled);
	/* Once each: it was drained. */
	rnic_eventfd_signal(fd);
	sem_wait(&served.polled);
	rnic_control_suspect(dev);
	assert_int_equal(atomic_load(&served.suspicions), 1);
	close_served(dev);
}

static void
test_a_source_without_a_descriptor_is_polled_with_the_asynchronous_queue(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	dev = open_served(-1);
	/* A port change is an entry there. */
	while (sem_trywait(&served.polled) == 0)
		;
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	sem_wait(&served.polled);
	/* And who waits for all events waits for its own, too. */
	while (sem_trywait(&served.polled) == 0)
		;
	rnic_control_sync(dev);
	assert_int_equal(sem_trywait(&served.polled), 0);
	close_served(dev);
}

static const struct CMUnitTest tests[] = {
	UNIT_OPEN_TEST(test_the_lost_slots_are_told_in_their_order_and_once),
	UNIT_OPEN_TEST(test_an_empty_slot_is_told_nothing),
	UNIT_TEST(test_a_slot_empties_when_no_thread_is_left_that_may_be_in_it),
	UNIT_TEST(test_a_source_is_polled_when_its_descriptor_says_so),
	UNIT_TEST(test_a_source_without_a_descriptor_is_polled_with_the_asynchronous_queue),
};

UNIT_MAIN("listener", tests)
