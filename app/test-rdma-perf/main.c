/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>

#include "interrupt.h"
#include "lcores.h"
#include "options.h"
#include "say.h"
#include "side.h"

static int
run_side(void *arg)
{
	return perf_side_run(arg);
}

/* Both ends, over a pair of sockets instead of TCP. */
static int
run_loopback(const struct perf_options *options, struct perf_side *client)
{
	struct perf_side server = { .options = options,
				    .first_lcore = options->lcores,
				    .device = options->device_2 != NULL ? options->device_2
									: options->device };
	struct perf_lcores_other *other;
	int fds[2], rc, rc_server;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
		return perf_fail(-errno, "socketpair: %s", strerror(errno));
	client->fd = fds[0];
	server.fd = fds[1];
	other = perf_lcores_start_other(options->lcores, run_side, &server);
	if (other == NULL) {
		close(fds[0]);
		close(fds[1]);
		return -EAGAIN;
	}
	rc = perf_side_run(client);
	rc_server = perf_lcores_join_other(other);
	return rc != 0 ? rc : rc_server;
}

static int
run(const struct perf_options *options)
{
	struct perf_side side = {
		.options = options,
		.client = options->loopback || options->host != NULL,
		.device = options->device,
		.out = stdout,
		.fd = -1,
	};
	int rc = options->loopback ? run_loopback(options, &side) : perf_side_run(&side);

	return rc == 0 ? EXIT_SUCCESS : rc == -EINTR ? PERF_EXIT_INTERRUPTED : PERF_EXIT_FAILED;
}

/* Where our part of the command line begins: at "--"; 0 there is none. */
static int
find_separator(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

/* Our options' letters mean something else to EAL, which must not see them. */
static int
without_separator(int argc, char **argv)
{
	struct perf_options options;

	if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
			  strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0))
		return perf_options_parse(&options, argc, argv) > 0 ? EXIT_SUCCESS
								    : PERF_EXIT_USAGE;
	perf_usage_error(
		"there is no \"--\": EAL's options stand before it, this program's behind it");
	return PERF_EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	const int separator = find_separator(argc, argv);
	struct perf_options options;
	int rc;

	if (separator == 0)
		return without_separator(argc, argv);
	/* Before EAL takes the machine's time. The program's name is where getopt() expects one. */
	rc = perf_options_parse(&options, argc - separator, argv + separator);
	if (rc != 0)
		return rc > 0 ? EXIT_SUCCESS : PERF_EXIT_USAGE;
	perf_lcores_note_cpus();
	perf_interrupt_install();
	if (rte_eal_init(separator + 1, argv) < 0)
		return perf_fail(PERF_EXIT_FAILED, "EAL does not start: see its messages");
	if (perf_lcores_check(options.lcores, options.loopback ? 2 : 1) != 0)
		rc = PERF_EXIT_USAGE;
	else
		rc = run(&options);
	if (rte_eal_cleanup() != 0 && rc == 0)
		rc = PERF_EXIT_FAILED;
	return rc;
}
