/* SPDX-License-Identifier: BSD-3-Clause */

#include <limits.h>
#include <malloc.h>
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

static int
create_devices(struct softrnic_poller *poller)
{
	unsigned int i;
	int rc;

	for (i = 0; i < options.ndevices; i++) {
		rc = device_create(&devices[i], &options.devices[i], poller,
				   MAPS_OF_ALL_CLIENTS / options.ndevices);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static void
destroy_devices(void)
{
	unsigned int i;

	for (i = options.ndevices; i-- > 0;)
		device_destroy(&devices[i]);
}

static int
start_threads(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < options.ndevices && rc == 0; i++)
		rc = vfu_server_start_threads(devices[i].server);
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

/* All devices are there. */
static int
main_serve(struct softrnic_poller *poller)
{
	struct loop loop;
	int rc = loop_open(&loop, poller, devices, options.ndevices);

	if (rc != 0)
		return rc;
	if (options.probe_jail != NULL)
		jail_probe_prepare();
	rc = guard_install();
	if (rc != 0)
		log_error("cannot watch SIGBUS: %s", strerror(-rc));
	else
		rc = jail_enter(&options, start_threads);
	if (rc == 0 && options.probe_jail != NULL) {
		rc = jail_probe(&options) == 0 ? 0 : -1;
	} else if (rc == 0) {
		say_ready();
		loop_run(&loop);
		log_info("ended by signal %d (%s)", loop.stopped_by, strsignal(loop.stopped_by));
	}
	loop_close(&loop);
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
}

int
main(int argc, char **argv)
{
	struct softrnic_poller *poller;
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
	rc = softrnic_poller_create(&poller);
	if (rc != 0) {
		log_error("no memory: %s", strerror(-rc));
		return EXIT_FAILURE;
	}
	rc = create_devices(poller);
	if (rc == 0) {
		rc = main_serve(poller);
		/* While we hold the locks. */
		sweeper_sweep();
	}
	destroy_devices();
	softrnic_poller_destroy(poller);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
