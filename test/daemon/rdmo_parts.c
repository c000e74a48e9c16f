/* SPDX-License-Identifier: BSD-3-Clause */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo_parts.h"

struct rdmapmd_pd *rdmo_parts_pd;

int
rdmo_parts_asked(int wait_ms)
{
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	if (poll(&ready, 1, wait_ms) <= 0)
		return 0;
	do {
		if (read(STDIN_FILENO, &byte, 1) != 1)
			return -1;
	} while (byte != '\n');
	return 1;
}

void
rdmo_parts_tell(void)
{
	putchar('\n');
	fflush(stdout);
}

/* ---- A worker ---- */

static struct rdmo_worker *worker;
static pthread_t poller;
static atomic_bool is_stopped;

static void *
poll_worker(void *unused)
{
	while (!atomic_load(&is_stopped))
		if (rdmo_worker_poll(worker, 0) == 0)
			usleep(1); /* two CPUs for all */
	return unused;
}

struct rdmo_worker *
rdmo_parts_worker(const char *address, uint32_t receives, uint32_t credits)
{
	const struct rdmo_worker_attr attr = {
		.address = address,
		.receives = receives,
		.credits = credits,
	};

	TRY(rdmo_worker_create(rdmo_parts_pd, &attr, &worker));
	TRY(pthread_create(&poller, NULL, poll_worker, NULL));
	printf("listening %s", rdmo_worker_address(worker));
	rdmo_parts_tell();
	return worker;
}

void
rdmo_parts_worker_end(void)
{
	atomic_store(&is_stopped, true);
	TRY(pthread_join(poller, NULL));
	TRY(rdmo_worker_destroy(worker));
}

/* ---- A process ---- */

int
rdmo_parts_main(int argc, char **argv, const struct rdmo_role *roles, uint32_t n)
{
	struct rdmapmd_context *context;
	const char *vdevs[2] = { NULL, NULL };
	char spec[256];

	for (uint32_t i = 0; i < n; i++) {
		if (argc != roles[i].argc || strcmp(argv[1], roles[i].name) != 0)
			continue;
		e2e_port_spec(spec, sizeof(spec), 0, argv[2]);
		vdevs[0] = spec;
		if (e2e_init("rdmo_peer", vdevs) != 0)
			return 1;
		TRY(rdmapmd_device_open_by_name(e2e_port_name(0), &context));
		TRY(rdmapmd_pd_alloc(context, &rdmo_parts_pd));
		roles[i].run(argv + 3);
		TRY(rdmapmd_pd_dealloc(rdmo_parts_pd));
		TRY(rdmapmd_context_close(context));
		e2e_fini();
		return 0;
	}
	return 2;
}
