/* SPDX-License-Identifier: BSD-3-Clause */

/* The threads of dpdk-test-rdma-perf: what each has had of its CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>

#include <cmocka.h>

#include "lcores.h"

#define WORKERS 3
#define BUSY_NS 20000000
#define IDLE_US 100000

static uint64_t
own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* All but one take CPU time, however long the machine lets them wait for it. */
static void
work(void *arg, uint32_t worker)
{
	const uint32_t *idle = arg;
	const uint64_t start = own_ns();

	if (worker == *idle)
		rte_delay_us_sleep(IDLE_US);
	else
		while (own_ns() - start < BUSY_NS)
			;
}

static void
each_thread_s_cpu_is_its_own(void **state)
{
	struct perf_cpu cpus[WORKERS];
	uint32_t idle, i;
	double percent;

	(void)state;
	for (idle = 0; idle < WORKERS; idle++) {
		assert_int_equal(perf_lcores_run(0, WORKERS, work, &idle, cpus), 0);
		for (i = 0; i < WORKERS; i++) {
			assert_int_equal(cpus[i].ns >= BUSY_NS, i != idle);
			assert_true(cpus[i].ticks > 0);
		}
		/* EAL rounds its clock. */
		assert_true(cpus[idle].ticks >= IDLE_US * rte_get_timer_hz() / 2000000);
		perf_result_least_cpu(&cpus[idle], 1, (double)rte_get_timer_hz(), &percent);
		assert_true(percent < 100.0 * BUSY_NS / (IDLE_US * 1000.0));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_thread_s_cpu_is_its_own),
};

int
main(int argc, char **argv)
{
	char *args[] = { argv[0],
			 (char *)"--no-huge",
			 (char *)"-m8",
			 (char *)"--no-shconf",
			 (char *)"--no-pci",
			 (char *)"--no-telemetry",
			 (char *)"--lcores=(0-2)@(0-1)",
			 (char *)"--log-level=warning" };

	(void)argc;
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		return 1;
	return cmocka_run_group_tests_name("perf-lcores", tests, NULL, NULL);
}
