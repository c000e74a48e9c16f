/* SPDX-License-Identifier: BSD-3-Clause */

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eal.h"
#include "folder.h"
#include "guard.h"
#include "jail.h"
#include "loop.h"
#include "probe.h"
#include "sweeper.h"
#include "user.h"

/*
 * Each region of a client may be a mapping of its own, and as many of the session before may not be unmapped yet; the kernel
 * permits 65530 to a process: shared among the devices, so that no client takes what another needs.
 */
#define MAPS_OF_ALL_CLIENTS 20000

/* Returned when it is freed: what is that long is seldom. */
#define MAPPED_ALONE_BYTES (128 << 10)

#define EXIT_USAGE 2

static struct options options;
static struct device devices[DEVICES_MAX];
/* Of each thread; the first one is main's. */
static struct softrnic_poller *pollers[THREADS_MAX];
static struct loop loops[THREADS_MAX];
/* Held until the process is jailed: no thread serves anybody before. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static int
create_pollers(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < options.threads && rc == 0; i++) {
		rc = i == 0 ? softrnic_poller_create(&pollers[i])
			    : softrnic_poller_create_beside(pollers[0], &pollers[i]);
		if (rc != 0) {
			log_error("no memory: %s", strerror(-rc));
			return rc;
		}
		rc = loop_open(&loops[i], i, pollers[i]);
		if (rc == 0)
			softrnic_poller_set_wake(pollers[i], loop_wake, &loops[i]);
	}
	return rc;
}

static int
create_devices(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < options.ndevices && rc == 0; i++) {
		const struct device_options *device = &options.devices[i];

		rc = device_create(&devices[i], device, pollers[device->thread],
				   MAPS_OF_ALL_CLIENTS / options.ndevices);
		if (rc == 0)
			rc = loop_add(&loops[device->thread], &devices[i]);
	}
	return rc;
}

static void
destroy_all(void)
{
	unsigned int i;

	/* The last words of one may reach into the memory of its neighbour's client. */
	for (i = options.ndevices; i-- > 0;) {
		guard_enter_thread(options.devices[i].thread);
		device_destroy(&devices[i]);
	}
	for (i = options.threads; i-- > 0;) {
		if (pollers[i] == NULL)
			continue;
		softrnic_poller_set_wake(pollers[i], NULL, NULL);
		loop_close(&loops[i]);
	}
	for (i = options.threads; i-- > 0;)
		softrnic_poller_destroy(pollers[i]);
}

static void *
loop_main(void *arg)
{
	struct loop *loop = arg;

	atomic_store(&loop->begun, true);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	loop_run(loop);
	return NULL;
}

/* Detached, as the jail knows none of the calls that pthread_join() waits by. */
static int
start_loop(struct loop *loop)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	rc = -pthread_create(&thread, &attributes, loop_main, loop);
	pthread_attr_destroy(&attributes);
	if (rc != 0)
		log_error("cannot start thread %u: %s", loop->thread, strerror(-rc));
	/* The jail denies what the C library calls as a thread starts. */
	while (rc == 0 && !atomic_load(&loop->begun))
		sched_yield();
	return rc;
}

static int
start_threads(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < options.ndevices && rc == 0; i++)
		rc = vfu_server_start_threads(devices[i].server);
	for (i = 1; i < options.threads && rc == 0; i++)
		rc = start_loop(&loops[i]);
	return rc;
}

static void
say_ready(void)
{
	unsigned int i;

	for (i = 0; i < options.ndevices; i++)
		printf("ready %s\n", options.devices[i].socket);
	fflush(stdout);
}

/* Until a signal comes: this thread and the others. */
static void
run_loops(void)
{
	unsigned int i;

	pthread_mutex_unlock(&gate);
	say_ready();
	loop_run(&loops[0]);
	for (i = 1; i < options.threads; i++)
		loop_stop(&loops[i]);
	log_info("ended by signal %d (%s)", loops[0].stopped_by, strsignal(loops[0].stopped_by));
}

/* All devices are there. */
static int
main_serve(void)
{
	int rc;

	if (options.probe_jail != NULL)
		jail_probe_prepare();
	rc = guard_install();
	if (rc != 0) {
		log_error("cannot watch SIGBUS: %s", strerror(-rc));
		return rc;
	}
	pthread_mutex_lock(&gate);
	rc = jail_enter(&options, start_threads);
	if (rc == 0 && options.probe_jail != NULL)
		rc = jail_probe(&options) == 0 ? 0 : -1;
	else if (rc == 0)
		run_loops();
	return rc;
}

/*
 * What clients' objects took is given back piece by piece, as they go: neither put aside to be merged all at once, when somebody
 * asks for much the next time, nor, of the heap, returned to the system at once when the last one at its top has gone. So the
 * heap stays for the clients that come, as large as it was with those that there were.
 */
static void
keep_free_short(void)
{
	mallopt(M_MXFAST, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE_BYTES);
	/* Another heap would grow by calls that the jail does not permit. */
	mallopt(M_ARENA_MAX, 1);
}

int
main(int argc, char **argv)
{
	int rc = options_parse(&options, argc, argv);

	if (rc != 0)
		return rc > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	keep_free_short();
	/* Whatever the parent left open would be open to an attacker, and count among our descriptors. */
	close_range(STDERR_FILENO + 1, ~0u, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	log_open();
	log_set_level(options.log_level);
	if (user_find(&options) != 0 || folder_prepare(&options) != 0 ||
	    sweeper_start(&options) != 0)
		return EXIT_FAILURE;
	jail_limits(&options);
	/* Before there are threads, which inherit it. */
	if (loop_block_signals() != 0 || eal_start(&options) != 0)
		return EXIT_FAILURE;
	rc = create_pollers();
	if (rc == 0)
		rc = create_devices();
	if (rc == 0) {
		rc = main_serve();
		/* While we hold the locks. */
		sweeper_sweep();
	}
	destroy_all();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
