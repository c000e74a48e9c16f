/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long a cache line takes from one CPU to the other, again and again: virtual machines have states in which it takes 60 ns, and others
 * in which it takes 260, as their CPUs are put on cores that share a cache or do not. Rates between two threads follow it.
 *
 *	crossing CPU CPU EVERY_MS
 *
 * Prints `crossing SECONDS NS`: when, by CLOCK_MONOTONIC, and how long one way took. Ends with its input. Its two threads go before all
 * others (SCHED_FIFO, so it takes root), as the CPUs may be polled on; each look takes them for a fraction of a millisecond.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARM	 100u /* round trips before those that count */
#define COUNTED	 400u
#define PRIORITY 50
#define PAGE	 4096

/* Each flag has its lines to itself, and what prefetches neighbours finds nothing. */
static struct {
	_Alignas(PAGE) _Atomic uint64_t there;
	_Alignas(PAGE) _Atomic uint64_t back;
} lines;

static pthread_barrier_t both;
static int far_cpu;

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* This thread: there, and before all others. Returns 0, or an errno. */
static int
move_to(int cpu)
{
	const struct sched_param first = { .sched_priority = PRIORITY };
	cpu_set_t cpus;
	int rc;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	return rc != 0 ? rc : pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
}

static void *
answer(void *moved)
{
	*(int *)moved = move_to(far_cpu);
	/* The other thread sees what was found, and may end all. */
	pthread_barrier_wait(&both);
	for (uint64_t i = 0;;) {
		pthread_barrier_wait(&both);
		for (uint64_t end = i + WARM + COUNTED; i < end;) {
			i++;
			while (atomic_load_explicit(&lines.there, memory_order_acquire) != i)
				;
			atomic_store_explicit(&lines.back, i, memory_order_release);
		}
	}
	return NULL;
}

static void
there_and_back(uint64_t *i, unsigned int times)
{
	while (times-- > 0) {
		++*i;
		atomic_store_explicit(&lines.there, *i, memory_order_release);
		while (atomic_load_explicit(&lines.back, memory_order_acquire) != *i)
			;
	}
}

/* Nobody types here: what is readable is the end. */
static int
input_ended(int ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, ms) != 0;
}

static int
look_again_and_again(int every_ms)
{
	uint64_t i = 0;

	while (!input_ended(every_ms)) {
		double start, end;

		pthread_barrier_wait(&both);
		there_and_back(&i, WARM);
		start = now_ns();
		there_and_back(&i, COUNTED);
		end = now_ns();
		printf("crossing %.3f %.1f\n", end / 1e9, (end - start) / (2.0 * COUNTED));
		if (fflush(stdout) != 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	int moved = 0, rc, cpu, every_ms;

	cpu = argc == 4 ? atoi(argv[1]) : -1;
	far_cpu = argc == 4 ? atoi(argv[2]) : -1;
	every_ms = argc == 4 ? atoi(argv[3]) : 0;
	/* On one CPU the two would wait for each other for ever. */
	if (cpu < 0 || far_cpu < 0 || cpu == far_cpu || every_ms <= 0) {
		fprintf(stderr, "usage: crossing CPU CPU EVERY_MS, two different CPUs\n");
		return 2;
	}
	pthread_barrier_init(&both, NULL, 2);
	rc = pthread_create(&thread, NULL, answer, &moved);
	if (rc == 0) {
		rc = move_to(cpu);
		pthread_barrier_wait(&both);
		rc = rc != 0 ? rc : moved;
	}
	if (rc != 0) {
		fprintf(stderr, "crossing: CPUs %d and %d: %s\n", cpu, far_cpu, strerror(rc));
		return EXIT_FAILURE;
	}
	return look_again_and_again(every_ms);
}
