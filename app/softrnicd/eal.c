/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * EAL here has one lcore, which is this process's one thread, and memory that nobody else sees: no files, so that it is
 * not in the way of other DPDK programs, no server of telemetry, no other processes. What it runs beside it is its
 * interrupt thread, where alarms are served, the wires' looks at their ethdevs among them.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "log.h"

#define EAL_OWN_ARGS 4 /* and a NULL */

static const char wire_port[] = "port:";

static const char *
ethdev_name(const struct device_options *device)
{
	const size_t skip = sizeof(wire_port) - 1;

	return strncmp(device->wire, wire_port, skip) == 0 ? device->wire + skip : NULL;
}

bool
eal_wanted(const struct options *options)
{
	unsigned int i;

	for (i = 0; i < options->ndevices; i++) {
		if (ethdev_name(&options->devices[i]) != NULL)
			return true;
	}
	return options->eal_argc > 0;
}

static bool
has_no_huge(const struct options *options)
{
	int i;

	for (i = 0; i < options->eal_argc; i++) {
		if (strcmp(options->eal_argv[i], "--no-huge") == 0)
			return true;
	}
	return false;
}

/* EAL moves the pointers about, and getopt() may look at them again. */
static int
eal_init(const struct options *options, char *lcores)
{
	static char program[] = "softrnicd", telemetry[] = "--no-telemetry";
	/* The second is the same for hugepages, and contradicts --no-huge. */
	static char no_files[] = "--no-shconf", in_memory[] = "--in-memory";
	static char **argv;
	int argc = 0, i;

	argv = calloc((size_t)options->eal_argc + EAL_OWN_ARGS + 1, sizeof(argv[0]));
	if (argv == NULL)
		return -ENOMEM;
	argv[argc++] = program;
	argv[argc++] = has_no_huge(options) ? no_files : in_memory;
	argv[argc++] = telemetry;
	argv[argc++] = lcores;
	for (i = 0; i < options->eal_argc; i++)
		argv[argc++] = options->eal_argv[i];
	if (rte_eal_init(argc, argv) >= 0)
		return 0;
	return rte_errno != 0 ? -rte_errno : -EINVAL;
}

static int
check_ethdevs(const struct options *options)
{
	unsigned int i;
	uint16_t id;

	for (i = 0; i < options->ndevices; i++) {
		const char *name = ethdev_name(&options->devices[i]);

		if (name == NULL || rte_eth_dev_get_port_by_name(name, &id) == 0)
			continue;
		log_error("%s: there is no ethdev %s: have EAL make it, behind \"--\" "
			  "(--vdev=%s,...), or read EAL's messages",
			  options->devices[i].name, name, name);
		return -ENODEV;
	}
	return 0;
}

int
eal_start(const struct options *options)
{
	static char lcores[32];
	cpu_set_t cpus;
	int cpu, rc;

	if (!eal_wanted(options))
		return 0;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);
	for (cpu = 0; cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &cpus); cpu++)
		;
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", cpu == CPU_SETSIZE - 1 ? 0 : cpu);
	rc = eal_init(options, lcores);
	if (rc != 0) {
		log_error("cannot start DPDK's EAL with the options behind \"--\": %s",
			  strerror(-rc));
		return rc;
	}
	/* EAL has tied the thread to the one CPU. */
	if (CPU_COUNT(&cpus) > 0)
		sched_setaffinity(0, sizeof(cpus), &cpus);
	return check_ethdevs(options);
}

struct eal_call {
	int (*fn)(void *arg);
	void *arg;
	int rc;
	/* Set with release when the rest is; EAL's own locks on the way are not ours to build on. */
	atomic_bool ready;
	sem_t done;
};

static void
eal_called(void *arg)
{
	struct eal_call *call = arg;

	call->rc = atomic_load_explicit(&call->ready, memory_order_acquire) ? call->fn(call->arg)
									    : -EINVAL;
	sem_post(&call->done);
}

int
eal_in_threads(const struct options *options, int (*fn)(void *arg), void *arg)
{
	struct eal_call call = { .fn = fn, .arg = arg };
	int rc = fn(arg);

	if (rc != 0 || !eal_wanted(options))
		return rc;
	if (sem_init(&call.done, 0, 0) != 0)
		return -errno;
	atomic_store_explicit(&call.ready, true, memory_order_release);
	rc = rte_eal_alarm_set(1, eal_called, &call);
	if (rc == 0) {
		while (sem_wait(&call.done) != 0)
			;
		rc = call.rc;
	}
	sem_destroy(&call.done);
	return rc;
}

const char *
eal_driver(const struct device_options *device)
{
	const char *name = ethdev_name(device);
	struct rte_eth_dev_info info;
	uint16_t id;

	if (name == NULL || rte_eth_dev_get_port_by_name(name, &id) != 0 ||
	    rte_eth_dev_info_get(id, &info) != 0 || info.driver_name == NULL)
		return NULL;
	return info.driver_name;
}
