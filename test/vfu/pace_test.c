/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A client hangs so much on its descriptors that each system call with them is long for the server, too. It has a tenth of
 * the server's time then, and others the rest; what it is owed comes later, and nothing gets lost.
 */

#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "vfio_user/pace.h"

#define SETS	   400
#define COPIES	   100	/* more of them at a time, each in all sets */
#define MOST	   1000 /* of copies */
#define MESSAGES   3
#define TRIGGERS   20u
#define AT_ONCE	   16u /* of one message */
#define PATIENCE_S 60

static struct answer answer;

/* What hangs on a descriptor. */
struct weight {
	int sets[SETS], copies[MOST];
	unsigned int ncopies;
};

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
weight_begin(struct weight *weight)
{
	struct rlimit files;

	weight->ncopies = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (unsigned int i = 0; i < SETS; i++) {
		weight->sets[i] = epoll_create1(EPOLL_CLOEXEC);
		assert_true(weight->sets[i] >= 0);
	}
}

static void
weight_add(struct weight *weight, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };

	for (unsigned int i = 0; i < COPIES; i++) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		assert_true(copy >= 0 && weight->ncopies < MOST);
		weight->copies[weight->ncopies++] = copy;
		for (unsigned int k = 0; k < SETS; k++)
			assert_int_equal(epoll_ctl(weight->sets[k], EPOLL_CTL_ADD, copy, &event),
					 0);
	}
}

static void
weight_end(struct weight *weight)
{
	for (unsigned int i = 0; i < weight->ncopies; i++)
		close(weight->copies[i]);
	for (unsigned int i = 0; i < SETS; i++)
		close(weight->sets[i]);
}

/* The thread's processor time of a look. */
static uint64_t
look(struct fixture *f)
{
	const uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	vfu_server_process(f->server);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void
send_command(struct fixture *f, uint16_t command, const void *payload, size_t length)
{
	struct vfu_header header = { .id = f->next_id++,
				     .command = command,
				     .size = sizeof(header) + length };

	raw_send(f->peer, &header, sizeof(header), NULL, 0);
	if (length > 0)
		raw_send(f->peer, payload, length, NULL, 0);
}

/* Look until it is answered, without an error. @return the processor time of all looks; *longest is of the longest one. */
static uint64_t
until_answered(struct fixture *f, uint64_t *longest)
{
	const time_t end = time(NULL) + PATIENCE_S;
	struct vfu_header header;
	uint64_t sum = 0, took;

	for (;;) {
		assert_true(time(NULL) < end);
		took = look(f);
		sum += took;
		if (took > *longest)
			*longest = took;
		if (raw_receive(f->peer, &header, sizeof(header), NULL, NULL) > 0)
			break;
		usleep(1000);
	}
	assert_int_equal(header.error, 0);
	assert_int_equal(header.size, sizeof(header));
	return sum;
}

/* @return the processor time of a look at one that is long: the least of some in a row, as a single one may be so by chance. */
static uint64_t
make_heavy(struct fixture *f, struct weight *weight, int fd, uint16_t command, const void *payload,
	   size_t length)
{
	uint64_t least = 0, longest;

	weight_begin(weight);
	while (least < VFU_PACE_UNIT_NS + VFU_PACE_UNIT_NS / 2) {
		weight_add(weight, fd);
		least = UINT64_MAX;
		for (unsigned int i = 0; i < MESSAGES; i++) {
			longest = 0;
			send_command(f, command, payload, length);
			until_answered(f, &longest);
			least = longest < least ? longest : least;
		}
	}
	return least;
}

static void
test_a_client_whose_messages_are_long_has_a_tenth(void **state)
{
	struct fixture *f = *state;
	struct weight weight;
	uint64_t cpu = 0, longest = 0, start, wall;

	make_heavy(f, &weight, f->peer, VFU_DEVICE_RESET, NULL, 0);
	start = clock_ns(CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		send_command(f, VFU_DEVICE_RESET, NULL, 0);
		cpu += until_answered(f, &longest);
	}
	wall = clock_ns(CLOCK_MONOTONIC) - start;
	/* One of them at either end may have no pause in this time, be it the longest. */
	assert_true(cpu >= VFU_PACE_UNIT_NS);
	assert_in_range(cpu - longest, 0, wall / 5);
	assert_true(fixture_logged(f, "take long"));
	weight_end(&weight);
}

/* All vectors have the same one. */
static int
set_vectors(struct fixture *f)
{
	const struct vfu_irq_set set = { .argsz = sizeof(set),
					 .flags = VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_TRIGGER,
					 .index = VFU_PCI_MSIX,
					 .count = MSIX_VECTORS };
	int fds[MSIX_VECTORS], fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < MSIX_VECTORS; i++)
		fds[i] = fd;
	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, &set, sizeof(set), fds, MSIX_VECTORS, &answer),
			 0);
	return fd;
}

static uint64_t
signals(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void
test_signals_of_one_message_that_are_long_are_not_in_one_look(void **state)
{
	struct fixture *f = *state;
	struct vfu_irq_set set = { .argsz = sizeof(set),
				   .flags = VFU_IRQ_SET_NONE | VFU_IRQ_SET_TRIGGER,
				   .index = VFU_PCI_MSIX,
				   .count = 1 };
	const int fd = set_vectors(f);
	uint64_t unit, longest = 0;
	struct weight weight;

	unit = make_heavy(f, &weight, fd, VFU_DEVICE_SET_IRQS, &set, sizeof(set));
	signals(fd);
	set.count = AT_ONCE;
	send_command(f, VFU_DEVICE_SET_IRQS, &set, sizeof(set));
	until_answered(f, &longest);
	assert_in_range(longest, 0, AT_ONCE / 4 * unit);
	assert_in_range(signals(fd), 1, AT_ONCE);
	weight_end(&weight);
	close(fd);
}

/* As the device does, between looks. */
static void
test_interrupts_that_are_long_come_together(void **state)
{
	struct fixture *f = *state;
	struct vfu_irq_set set = { .argsz = sizeof(set),
				   .flags = VFU_IRQ_SET_NONE | VFU_IRQ_SET_TRIGGER,
				   .index = VFU_PCI_MSIX,
				   .count = 1 };
	const time_t end = time(NULL) + PATIENCE_S;
	const int fd = set_vectors(f);
	struct weight weight;
	uint64_t unit, start;

	unit = make_heavy(f, &weight, fd, VFU_DEVICE_SET_IRQS, &set, sizeof(set));
	signals(fd);
	start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned int i = 0; i < TRIGGERS; i++)
		assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, i), 0);
	assert_in_range(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start, 0, TRIGGERS / 2 * unit);
	signals(fd);
	/* Nobody says anything: the server knows when there is something to do. */
	for (unsigned int told = 0; told == 0;) {
		assert_true(time(NULL) < end && fixture_is_ready(f, PATIENCE_S * 1000));
		look(f);
		told += (unsigned int)signals(fd);
	}
	weight_end(&weight);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_client_whose_messages_are_long_has_a_tenth),
		TEST(test_signals_of_one_message_that_are_long_are_not_in_one_look),
		TEST(test_interrupts_that_are_long_come_together),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
