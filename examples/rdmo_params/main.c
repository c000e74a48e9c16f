/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A thousand parameters that several processes share. Whose they are uses them where they lie, as any memory; the others change some by one
 * SCATTER, and read all by one GATHER. A worker does it, on an lcore beside.
 *
 *   rdmo_params -d librte_net_rnic.so --vdev net_rnic0 --lcores 0-1 -- serve TICKET [ADDRESS]
 *   rdmo_params -d librte_net_rnic.so --vdev net_rnic0 -- set TICKET NUMBER=VALUE...
 *   rdmo_params -d librte_net_rnic.so --vdev net_rnic0 -- all TICKET
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <rdmapmd.h>
#include <rdmo.h>

#define ID	UINT64_C(0x9a) /* what operations name the target by: any number */
#define PARAMS	1000
#define MESSAGE 32768 /* bytes of the longest one: a GATHER names each piece by 24 */
#define LOOK_US 10000 /* between two looks what has changed */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

/* Values are not beside each other: each on a cache line of its own, as what is changed by others should be. */
struct param {
	rte_le64_t value;
	uint64_t seen; /* the value that its owner has printed; no one else's business */
	uint8_t pad[48];
};

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static volatile sig_atomic_t stopped;
static _Atomic bool is_unpolled;

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- serve: the worker, and the parameters ---- */

static int
poll_worker(void *worker)
{
	while (!is_unpolled)
		rdmo_worker_poll(worker, 0);
	return 0;
}

/* It has the secret that lets others in: nobody else may read it. */
static void
ticket_write(const char *path, struct rdmo_target *target, const struct rdmo_ticket *ticket)
{
	char line[RDMO_TICKET_BYTES];
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	TRY(rdmo_ticket_get(target, ticket, line, sizeof(line)));
	if (fd < 0 || dprintf(fd, "%s\n", line) < 0 || close(fd) != 0)
		rte_exit(EXIT_FAILURE, "cannot write %s: %s\n", path, strerror(errno));
}

static void
offer(struct rdmo_target *target, struct param *params, const char *path)
{
	const struct rdmo_mr_attr memory = {
		.addr = params,
		.length = PARAMS * sizeof(*params),
		.rights = RDMO_RIGHT_READ | RDMO_RIGHT_WRITE,
	};
	struct rdmo_ticket ticket = { .at = (uintptr_t)params, .bytes = memory.length };
	uint64_t rq_id;

	TRY(rdmo_mr_reg(target, &memory, &ticket.key));
	TRY(rdmo_rq_create(target, ticket.secret, &rq_id));
	ticket_write(path, target, &ticket);
}

/* A value is 8 bytes at a multiple of 8: a load finds the old one or the new one, and no mixture. */
static uint64_t
param_load(const struct param *param)
{
	return rte_le_to_cpu_64(__atomic_load_n(&param->value, __ATOMIC_ACQUIRE));
}

static void
print_changes(struct param *params)
{
	for (uint32_t i = 0; i < PARAMS; i++) {
		const uint64_t value = param_load(&params[i]);

		if (value == params[i].seen)
			continue;
		printf("parameter %u: %" PRIu64 ", was %" PRIu64 "\n", i, value, params[i].seen);
		params[i].seen = value;
	}
	fflush(stdout);
}

static void
serve(const char *ticket_path, const char *address)
{
	const struct rdmo_worker_attr attr = {
		.address = address,
		.receives = 64,
		.receive_bytes = MESSAGE,
	};
	struct param *params = rte_zmalloc(NULL, PARAMS * sizeof(*params), sizeof(*params));
	struct rdmo_worker *worker;
	struct rdmo_target *target;

	if (rte_lcore_count() < 2)
		rte_exit(EXIT_FAILURE, "the worker wants an lcore of its own: --lcores 0-1\n");
	if (params == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmo_worker_create(pd, &attr, &worker));
	TRY(rte_eal_remote_launch(poll_worker, worker, rte_get_next_lcore(-1, 1, 0)));
	/* From here on somebody polls: these wait for the worker. */
	TRY(rdmo_target_open(worker, ID, &target));
	offer(target, params, ticket_path);
	printf("listening at %s\n", rdmo_worker_address(worker));
	while (!stopped) {
		print_changes(params);
		usleep(LOOK_US);
	}
	rdmo_target_close(target);
	is_unpolled = true;
	rte_eal_mp_wait_lcore();
	TRY(rdmo_worker_destroy(worker));
	rte_free(params);
}

/* ---- set, all ---- */

static struct rdmo_conn *
open_conn(const char *path, struct rdmo_ticket *ticket)
{
	const struct rdmo_connect_attr attr = {
		.address = ticket->address,
		.secret = ticket->secret,
		.receive_bytes = MESSAGE,
	};
	char line[RDMO_TICKET_BYTES + 1];
	FILE *file = fopen(path, "r");
	struct rdmo_conn *conn;

	if (file == NULL)
		rte_exit(EXIT_FAILURE, "there is no %s\n", path);
	if (fgets(line, sizeof(line), file) == NULL || rdmo_ticket_parse(line, ticket) != 0)
		rte_exit(EXIT_FAILURE, "%s is no ticket\n", path);
	fclose(file);
	TRY(rdmo_connect(pd, &attr, &conn));
	return conn;
}

/* Do it, and wait for it. Returns microseconds. */
static double
run(struct rdmo_conn *conn, const struct rdmo_op *op)
{
	const uint64_t start = rte_get_timer_cycles();
	struct rdmo_completion done;

	if (rdmo_post(conn, op, 1) != 1)
		rte_exit(EXIT_FAILURE, "cannot post: %s\n", strerror(-rdmo_conn_error(conn)));
	while (rdmo_poll(conn, &done, 1) == 0)
		;
	if (done.status != RDMO_STATUS_OK)
		rte_exit(EXIT_FAILURE, "refused: %s\n", rdmo_status_str(done.status));
	return (double)(rte_get_timer_cycles() - start) * 1e6 / (double)rte_get_timer_hz();
}

static uint64_t
addr_of(const struct rdmo_ticket *ticket, uint32_t number)
{
	return ticket->at + number * sizeof(struct param);
}

/* NUMBER=VALUE */
static uint32_t
parse(const char *text, rte_le64_t *value)
{
	char *end;
	const unsigned long number = strtoul(text, &end, 10);

	if (end == text || *end != '=' || number >= PARAMS || end[1] == '\0')
		rte_exit(EXIT_FAILURE, "%s: not NUMBER=VALUE, NUMBER below %u\n", text, PARAMS);
	*value = rte_cpu_to_le_64(strtoull(end + 1, &end, 0));
	if (*end != '\0')
		rte_exit(EXIT_FAILURE, "%s: not a number\n", text);
	return (uint32_t)number;
}

static void
set(const char *path, char **changes, uint32_t count)
{
	struct rdmo_scatter_iov iovs[PARAMS];
	rte_le64_t values[PARAMS];
	const void *data[PARAMS];
	struct rdmo_ticket ticket;
	struct rdmo_conn *conn = open_conn(path, &ticket);
	const struct rdmo_op op = {
		.id = ticket.id,
		.op_id = RDMO_OP_SCATTER,
		.length = count,
		.scatter = { .iovs = iovs, .data = data },
	};

	for (uint32_t i = 0; i < count; i++) {
		iovs[i] = (struct rdmo_scatter_iov){
			.addr = rte_cpu_to_le_64(addr_of(&ticket, parse(changes[i], &values[i]))),
			.rkey = rte_cpu_to_le_64(ticket.key),
			.len = RTE_LE32(sizeof(values[i])),
		};
		data[i] = &values[i];
	}
	printf("%u parameters set in %.1f us\n", count, run(conn, &op));
	rdmo_disconnect(conn);
}

static void
all(const char *path)
{
	struct rdmo_gather_iov iovs[PARAMS];
	rte_le64_t values[PARAMS];
	struct rdmo_ticket ticket;
	struct rdmo_conn *conn = open_conn(path, &ticket);
	const struct rdmo_op op = {
		.id = ticket.id,
		.op_id = RDMO_OP_GATHER,
		.length = PARAMS,
		.gather = { .iovs = iovs, .data = values },
	};
	double us;

	for (uint32_t i = 0; i < PARAMS; i++)
		iovs[i] = (struct rdmo_gather_iov){
			.addr = rte_cpu_to_le_64(addr_of(&ticket, i)),
			.rkey = rte_cpu_to_le_64(ticket.key),
			.len = RTE_LE32(sizeof(values[i])),
		};
	us = run(conn, &op);
	for (uint32_t i = 0; i < PARAMS; i++)
		if (values[i] != 0)
			printf("parameter %u: %" PRIu64 "\n", i, rte_le_to_cpu_64(values[i]));
	printf("%u parameters read in %.1f us\n", PARAMS, us);
	rdmo_disconnect(conn);
}

int
main(int argc, char **argv)
{
	const int used = rte_eal_init(argc, argv);
	char **args = argv + used + 1;
	const int count = argc - used - 1;

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	TRY(rdmapmd_device_open_by_port(0, &context));
	TRY(rdmapmd_pd_alloc(context, &pd));
	if (count >= 2 && count <= 3 && strcmp(args[0], "serve") == 0)
		serve(args[1], args[2]);
	else if (count >= 3 && count <= 2 + PARAMS && strcmp(args[0], "set") == 0)
		set(args[1], args + 2, (uint32_t)(count - 2));
	else if (count == 2 && strcmp(args[0], "all") == 0)
		all(args[1]);
	else
		rte_exit(EXIT_FAILURE, "usage: rdmo_params EAL... -- serve TICKET [ADDRESS]\n"
				       "       rdmo_params EAL... -- set TICKET NUMBER=VALUE...\n"
				       "       rdmo_params EAL... -- all TICKET\n");
	TRY(rdmapmd_pd_dealloc(pd));
	TRY(rdmapmd_context_close(context));
	TRY(rte_eal_cleanup());
	return EXIT_SUCCESS;
}
