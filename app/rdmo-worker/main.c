/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "devices.h"
#include "lcores.h"
#include "load.h"
#include "logs.h"
#include "options.h"
#include "report.h"
#include "say.h"
#include "watch.h"

#define EXIT_USAGE 2

/* While there is work, signals and devices are looked at as often as the reader wakes up without. */
#define LOOK_MS 1
/* Drained: what was posted inside is answered, and nothing has come for a while; or it takes too long. */
#define QUIET_MS     200
#define DRAIN_MAX_MS 5000

static struct options options;
static struct devices devices;
static struct own_logs logs;
static struct loads loads;
static struct watch watch;
static FILE *json; /* or NULL */

static uint64_t
now_ms(void)
{
	return rte_get_timer_cycles() / (rte_get_timer_hz() / 1000);
}

/* ---- A turn of the main lcore ---- */

/* Reads the logs, and has the initiators go on. 0; -ENOTCONN one of them has ended. */
static int
turn(bool post, uint32_t *work)
{
	int rc = loads_turn(&loads, post, work);

	*work += logs_read(&logs);
	return rc;
}

/*
 * Whether something has come that ends it, looked at each LOOK_MS: who has had no work, and no initiators to poll for, sleeps
 * as long.
 */
static int
look(struct idle *idle, uint32_t work, uint64_t *next_ms)
{
	const uint64_t now = now_ms();

	if (work == 0 && loads.count == 0)
		return watch_look(&watch, LOOK_MS);
	idle_turn(idle, work);
	if (now < *next_ms)
		return 0;
	*next_ms = now + LOOK_MS;
	return watch_look(&watch, 0);
}

/* ---- Serve, until something ends it ---- */

static int
serve(void)
{
	const uint64_t begun = now_ms();
	uint64_t next_ms = begun, told_ms = begun, now;
	struct idle idle = { 0 };
	uint32_t work;
	int rc = 0;

	do {
		rc = turn(true, &work);
		if (look(&idle, work, &next_ms) != 0)
			break;
		if (watch.is_lost)
			rc = -ENODEV;
		now = now_ms();
		if (now - told_ms >= 1000) {
			loads_print_rates(&loads, (double)(now - told_ms) / 1000);
			told_ms = now;
		}
	} while (rc == 0 &&
		 (options.duration_s == 0 || now - begun < UINT64_C(1000) * options.duration_s));
	return rc;
}

static uint64_t
operations(void)
{
	struct rdmo_worker_stats stats;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < devices.count; i++) {
		rdmo_worker_stats(devices.served[i].worker, &stats);
		sum += stats.operations;
	}
	return sum;
}

/* What has come is executed and answered, and read. */
static int
drain(void)
{
	const uint64_t begun = now_ms();
	uint64_t next_ms = begun, last_ms = begun, seen = operations(), now = begun;
	struct idle idle = { 0 };
	uint32_t work;
	int rc = 0;

	logs_close_tickets(&logs);
	while (rc == 0 && now - last_ms < QUIET_MS && now - begun < DRAIN_MAX_MS) {
		rc = turn(false, &work);
		if (look(&idle, work, &next_ms) != 0)
			break;
		if (watch.is_lost)
			rc = -ENODEV;
		now = now_ms();
		if (work > 0 || operations() != seen || !loads_are_answered(&loads))
			last_ms = now;
		seen = operations();
	}
	if (rc == 0 && now - last_ms < QUIET_MS)
		say("it has ended while operations were coming");
	return rc;
}

static void
say_ready(void)
{
	for (uint32_t i = 0; i < devices.count; i++)
		printf("ready %s\n", rdmo_worker_address(devices.served[i].worker));
	fflush(stdout);
}

/* The workers are polled. */
static int
run(void)
{
	int rc = logs_open(&logs, &devices, &options);

	if (rc == 0)
		rc = loads_open(&loads, &logs, &options);
	if (rc == 0)
		rc = watch_open(&watch, &devices, &loads);
	if (rc == 0) {
		say_ready();
		rc = serve();
		if (rc == 0)
			rc = drain();
		watch_close(&watch);
		report_print(&devices, &logs, &loads);
		if (json != NULL && report_write_json(json, &devices, &logs, &loads) != 0)
			rc = -EIO;
	}
	loads_close(&loads);
	logs_close(&logs);
	return rc;
}

static int
run_on_lcores(void)
{
	const uint32_t lcores = lcores_count();
	int rc;

	if (lcores == 0)
		return EXIT_USAGE;
	rc = devices_open(&devices, &options, lcores);
	if (rc == 0) {
		rc = lcores_start(&devices);
		if (rc == 0)
			rc = run();
		lcores_stop();
	}
	devices_close(&devices);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- The command line ---- */

/* Where our part of it begins: at "--"; 0 there is none. */
static int
find_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

/* Our options mean nothing to EAL, which must not see them; but help is for who does not know that yet. */
static int
without_separator(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
			  strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0))
		return options_parse(&options, argc, argv) > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	say_usage("there is no \"--\": EAL's options stand before it, this program's behind it");
	return EXIT_USAGE;
}

/* Before it has done something that is lost if it cannot be written. */
static int
open_json(void)
{
	if (options.json == NULL)
		return 0;
	json = fopen(options.json, "we");
	return json != NULL ? 0
			    : say_failed(-errno, "--json: cannot write %s: %s", options.json,
					 strerror(errno));
}

int
main(int argc, char **argv)
{
	const int separator = find_separator(argc, argv);
	int rc;

	if (separator == 0)
		return without_separator(argc, argv);
	/* Before EAL takes the machine's time. The program's name is where getopt() expects one. */
	rc = options_parse(&options, argc - separator, argv + separator);
	if (rc != 0)
		return rc > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	/* Before there are threads, which inherit it. */
	if (watch_block_signals() != 0 || open_json() != 0)
		return EXIT_FAILURE;
	if (rte_eal_init(separator + 1, argv) < 0) {
		say("EAL does not start: see its messages");
		return EXIT_FAILURE;
	}
	rc = run_on_lcores();
	if (rte_eal_cleanup() != 0 && rc == 0)
		rc = EXIT_FAILURE;
	return rc;
}
