/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "lcores.h"
#include "options.h"
#include "say.h"

static cpu_set_t cpus; /* of the process, before EAL */

void
perf_lcores_note_cpus(void)
{
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);
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
};

static int
run_job(void *arg)
{
	struct job *job = arg;

	job->run(job->arg, job->worker);
	return 0;
}

int
perf_lcores_run(uint32_t first, uint32_t n, void (*run)(void *arg, uint32_t worker), void *arg)
{
	struct job jobs[PERF_LCORES_MAX];
	uint32_t i, started;
	int rc = 0;

	for (started = 1; started < n && rc == 0; started++) {
		jobs[started] = (struct job){ run, arg, started };
		rc = rte_eal_remote_launch(run_job, &jobs[started], nth_lcore(first + started));
	}
	if (rc == 0)
		run(arg, 0);
	for (i = 1; i < started; i++)
		rte_eal_wait_lcore(nth_lcore(first + i));
	return rc;
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

	if (CPU_COUNT(&cpus) > 0)
		pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
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
