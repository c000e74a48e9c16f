/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "lcores.h"
#include "options.h"
#include "say.h"

#define BUSY_PERCENT 90 /* of its CPU that a polling thread should have had */

static cpu_set_t own_cpus; /* of the process, before EAL */

void
perf_lcores_note_cpus(void)
{
	if (sched_getaffinity(0, sizeof(own_cpus), &own_cpus) != 0)
		CPU_ZERO(&own_cpus);
}

int
perf_lcores_check(uint32_t each, uint32_t ends)
{
	const unsigned int there = rte_lcore_count();

	/* One for each end is what there always is. */
	if (each == 1 || each * ends <= there)
		return 0;
	return perf_fail(-EINVAL, "--lcores=%u wants %u lcores, and EAL has %u: give it more (-l)",
			 each, each * ends, there);
}

/* The lcore with that number among EAL's, the main one being the first. */
static unsigned int
nth_lcore(uint32_t n)
{
	unsigned int lcore = rte_get_main_lcore();

	if (n == 0)
		return lcore;
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (--n == 0)
			return lcore;
	}
	return LCORE_ID_ANY;
}

/* ---- Workers ---- */

struct job {
	void (*run)(void *arg, uint32_t worker);
	void *arg;
	uint32_t worker;
	struct perf_cpu *cpu;
	atomic_bool is_done; /* EAL's wait says so, too, but to no ThreadSanitizer */
};

static struct perf_cpu
cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (struct perf_cpu){ (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
				  rte_get_timer_cycles() };
}

static int
run_job(void *arg)
{
	struct job *job = arg;
	const struct perf_cpu start = cpu_now();
	struct perf_cpu end;

	job->run(job->arg, job->worker);
	end = cpu_now();
	*job->cpu = (struct perf_cpu){ end.ns - start.ns, end.ticks - start.ticks };
	atomic_store_explicit(&job->is_done, true, memory_order_release);
	return 0;
}

int
perf_lcores_run(uint32_t first, uint32_t n, void (*run)(void *arg, uint32_t worker), void *arg,
		struct perf_cpu *cpus)
{
	struct job jobs[PERF_LCORES_MAX];
	uint32_t i, started;
	int rc = 0;

	for (i = 0; i < n; i++) {
		cpus[i] = (struct perf_cpu){ 0 };
		jobs[i] = (struct job){ run, arg, i, &cpus[i], false };
	}
	for (started = 1; started < n && rc == 0; started++)
		rc = rte_eal_remote_launch(run_job, &jobs[started], nth_lcore(first + started));
	if (rc == 0)
		run_job(&jobs[0]);
	for (i = 1; i < started; i++) {
		rte_eal_wait_lcore(nth_lcore(first + i));
		/* Partner: run_job(). */
		(void)atomic_load_explicit(&jobs[i].is_done, memory_order_acquire);
	}
	return rc;
}

void
perf_lcores_say_if_busy(const char *device, const struct perf_cpu *cpus, uint32_t n)
{
	double percent;
	uint32_t least = perf_result_least_cpu(cpus, n, (double)rte_get_timer_hz(), &percent);

	if (percent >= BUSY_PERCENT)
		return;
	if (n == 1)
		perf_say("%s: the machine was busy: the thread that polls has had %.0f %% of its "
			 "CPU",
			 device, percent);
	else
		perf_say("%s: the machine was busy: thread %u of the %u that poll has had %.0f %% "
			 "of its CPU",
			 device, least + 1, n, percent);
}

/* ---- The second end ---- */

struct perf_lcores_other {
	int (*run)(void *arg);
	void *arg;
	int result;
	unsigned int lcore; /* or LCORE_ID_ANY: */
	pthread_t thread;
};

static int
run_on_lcore(void *arg)
{
	struct perf_lcores_other *other = arg;

	other->result = other->run(other->arg);
	return 0;
}

static void *
run_in_thread(void *arg)
{
	struct perf_lcores_other *other = arg;

	if (CPU_COUNT(&own_cpus) > 0)
		pthread_setaffinity_np(pthread_self(), sizeof(own_cpus), &own_cpus);
	if (rte_thread_register() != 0)
		perf_say("EAL has no lcore number left for the second end");
	run_on_lcore(other);
	rte_thread_unregister();
	return NULL;
}

struct perf_lcores_other *
perf_lcores_start_other(uint32_t first, int (*run)(void *arg), void *arg)
{
	struct perf_lcores_other *other = calloc(1, sizeof(*other));
	int rc;

	if (other == NULL) {
		perf_say("no memory");
		return NULL;
	}
	*other = (struct perf_lcores_other){ .run = run, .arg = arg, .lcore = nth_lcore(first) };
	if (other->lcore != LCORE_ID_ANY)
		rc = rte_eal_remote_launch(run_on_lcore, other, other->lcore);
	else
		rc = pthread_create(&other->thread, NULL, run_in_thread, other);
	if (rc == 0)
		return other;
	perf_say("cannot start a thread for the second end");
	free(other);
	return NULL;
}

int
perf_lcores_join_other(struct perf_lcores_other *other)
{
	int result;

	if (other->lcore != LCORE_ID_ANY)
		rte_eal_wait_lcore(other->lcore);
	else
		pthread_join(other->thread, NULL);
	result = other->result;
	free(other);
	return result;
}
