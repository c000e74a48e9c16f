/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One of those that remote direct memory operations are between, each a process of its own on a device of softrnicd:
 *
 *   rdmo_peer worker DEVARGS ADDRESS RECEIVES           "listening ADDRESS"
 *   rdmo_peer target DEVARGS ADDRESS RECORDS            "ticket TICKET"; a queue of records
 *   rdmo_peer initiator DEVARGS WHO CONNECTIONS TICKET  appends records: "appended N" now and then
 *
 * A line of the input asks a target to look at its queue ("WHO: COUNT" for each who has records there, "looked"), a worker for its
 * connections. At the input's end each comes to an end: an initiator when all that it has posted is answered.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#include "port.h"
#include "rdmo/rdmo.h"

#define ID	   UINT64_C(0x70)
#define BURST	   8
#define WHO_MAX	   65536
#define TIMEOUT_MS 60000
#define TURN_US	   1000 /* a rate that a queue has room for, as long as a test is */
#define TELL_MS	   50
#define TRY(call)                                                                     \
	do {                                                                          \
		int rc_ = (call);                                                     \
		if (rc_ != 0) {                                                       \
			fprintf(stderr, "%s:%d: " #call ": %s\n", __FILE__, __LINE__, \
				strerror(abs(rc_)));                                  \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

struct record {
	uint64_t who, seq; /* from 1 */
};

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;

/* A line of the input: 1 there is one, 0 none yet, -1 it has ended. */
static int
asked(int wait_ms)
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

static void
tell(void)
{
	putchar('\n');
	fflush(stdout);
}

/* ---- Worker ---- */

static struct rdmo_worker *worker;
static atomic_bool is_stopped;

static void *
poll_worker(void *unused)
{
	while (!atomic_load(&is_stopped))
		if (rdmo_worker_poll(worker, 0) == 0)
			usleep(1); /* two CPUs for all */
	return unused;
}

static void
run_worker(char **args)
{
	const struct rdmo_worker_attr attr = {
		.address = args[0],
		.receives = (uint32_t)strtoul(args[1], NULL, 10),
		.credits = BURST,
	};
	struct rdmo_worker_stats stats;
	pthread_t poller;
	int rc;

	TRY(rdmo_worker_create(pd, &attr, &worker));
	TRY(pthread_create(&poller, NULL, poll_worker, NULL));
	printf("listening %s", rdmo_worker_address(worker));
	tell();
	while ((rc = asked(-1)) >= 0) {
		TRY(rdmo_worker_stats(worker, &stats));
		printf("connections %" PRIu64, stats.connections);
		tell();
	}
	atomic_store(&is_stopped, true);
	TRY(pthread_join(poller, NULL));
	TRY(rdmo_worker_destroy(worker));
}

/* ---- Target ---- */

/* Of each its records lie in their order, without a gap, and nothing else does. */
static void
look(const struct record *queue, const rte_le64_t *tail)
{
	static uint64_t counts[WHO_MAX];
	const uint64_t end = rte_le_to_cpu_64(__atomic_load_n(tail, __ATOMIC_ACQUIRE));
	const uint64_t n = (end - (uintptr_t)queue) / sizeof(*queue);

	memset(counts, 0, sizeof(counts));
	for (uint64_t i = 0; i < n; i++) {
		if (queue[i].who >= WHO_MAX || queue[i].seq != counts[queue[i].who] + 1) {
			printf("record %" PRIu64 " is wrong: %" PRIu64 ", %" PRIu64 "\n", i,
			       queue[i].who, queue[i].seq);
			continue;
		}
		counts[queue[i].who]++;
	}
	for (uint32_t who = 0; who < WHO_MAX; who++)
		if (counts[who] > 0)
			printf("%u: %" PRIu64 "\n", who, counts[who]);
	printf("looked");
	tell();
}

static uint64_t
offer(struct rdmo_target *target, void *at, uint64_t bytes)
{
	const struct rdmo_mr_attr attr = {
		.addr = at,
		.length = bytes,
		.rights = RDMO_RIGHT_APPEND,
	};
	uint64_t key;

	TRY(rdmo_mr_reg(target, &attr, &key));
	return key;
}

static void
run_target(char **args)
{
	const uint64_t bytes = strtoull(args[1], NULL, 10) * sizeof(struct record);
	const struct rdmo_target_attr attr = { .address = args[0], .id = ID };
	struct record *queue = rte_zmalloc("queue", bytes, 4096);
	rte_le64_t *tail = rte_zmalloc("tail", sizeof(*tail), 64);
	struct rdmo_ticket ticket = { .bytes = bytes };
	char line[RDMO_TICKET_BYTES];
	struct rdmo_target *target;
	uint64_t rq_id;

	if (queue == NULL || tail == NULL)
		exit(1);
	*tail = rte_cpu_to_le_64((uintptr_t)queue);
	TRY(rdmo_target_connect(pd, &attr, &target));
	TRY(rdmo_rq_create(target, ticket.secret, &rq_id));
	ticket.tail_key = offer(target, tail, sizeof(*tail));
	ticket.key = offer(target, queue, bytes);
	ticket.at = (uintptr_t)queue;
	ticket.tail = (uintptr_t)tail;
	TRY(rdmo_ticket_get(target, &ticket, line, sizeof(line)));
	printf("ticket %s", line);
	tell();
	while (asked(-1) >= 0)
		look(queue, tail);
	rdmo_target_close(target);
	rte_free(queue);
	rte_free(tail);
}

/* ---- Initiator ---- */

/* A connection, and what it has come to. */
struct client {
	struct rdmo_conn *conn;
	uint64_t who, posted, answered;
};

static struct {
	uint64_t ok, lost, unknown, other;
} counts;

static void
client_connect(struct client *client, const struct rdmo_ticket *ticket)
{
	const struct rdmo_connect_attr attr = {
		.address = ticket->address,
		.secret = ticket->secret,
		.depth = BURST,
		.receives = 4,
		.timeout_ms = TIMEOUT_MS,
	};

	TRY(rdmo_connect(pd, &attr, &client->conn));
}

static void
client_post(struct client *client, const struct rdmo_ticket *ticket)
{
	struct record record = { .who = client->who, .seq = client->posted + 1 };
	const struct rdmo_op op = {
		.id = ticket->id,
		.op_id = RDMO_OP_APPEND,
		.length = sizeof(record),
		.append = { .ptr_addr = ticket->tail,
			    .ptr_key = ticket->tail_key,
			    .data_key = ticket->key,
			    .payload = &record },
	};

	client->posted += rdmo_post(client->conn, &op, 1);
}

static uint32_t
client_poll(struct client *client)
{
	struct rdmo_completion done[BURST];
	const uint32_t n = rdmo_poll(client->conn, done, BURST);

	for (uint32_t i = 0; i < n; i++)
		switch (done[i].status) {
		case RDMO_STATUS_OK: counts.ok++; break;
		case RDMO_STATUS_TARGET_LOST: counts.lost++; break;
		case RDMO_STATUS_UNKNOWN: counts.unknown++; break;
		default: counts.other++;
		}
	client->answered += n;
	return n;
}

/* Whether it has something under way, or may have. */
static bool
client_turn(struct client *client, const struct rdmo_ticket *ticket, bool post, uint32_t *work)
{
	if (post && client->posted - client->answered < BURST && counts.lost == 0)
		client_post(client, ticket);
	*work += client_poll(client);
	return rdmo_conn_error(client->conn) != -ENOTCONN &&
	       (post || client->posted != client->answered);
}

static void
tell_counts(const char *word)
{
	printf("%s %" PRIu64 " lost %" PRIu64 " unknown %" PRIu64 " other %" PRIu64, word,
	       counts.ok, counts.lost, counts.unknown, counts.other);
	tell();
}

static void
run_initiator(char **args)
{
	const uint32_t n = (uint32_t)strtoul(args[1], NULL, 10);
	struct client *clients = calloc(n, sizeof(*clients));
	uint64_t told = 0, now;
	struct rdmo_ticket ticket;
	uint32_t under_way = n, work;
	bool post = true;

	if (clients == NULL || rdmo_ticket_parse(args[2], &ticket) != 0)
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		clients[i].who = strtoul(args[0], NULL, 10) + i;
		client_connect(&clients[i], &ticket);
	}
	printf("connected %u", n);
	tell();
	while (under_way > 0 && (!post || counts.lost == 0)) {
		under_way = work = 0;
		for (uint32_t i = 0; i < n; i++)
			under_way += client_turn(&clients[i], &ticket, post, &work);
		if (post && asked(0) < 0)
			post = false;
		now = rte_get_timer_cycles();
		if (now - told > rte_get_timer_hz() / 1000 * TELL_MS) {
			tell_counts("appended");
			told = now;
		}
		usleep(TURN_US * (1 + n / 10));
	}
	tell_counts("ended");
	for (uint32_t i = 0; i < n; i++)
		rdmo_disconnect(clients[i].conn);
	free(clients);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int argc;
		void (*run)(char **args);
	} roles[] = {
		{ "worker", 5, run_worker },
		{ "target", 5, run_target },
		{ "initiator", 6, run_initiator },
	};
	const char *vdevs[2] = { NULL, NULL };
	char spec[256];

	for (uint32_t i = 0; i < RTE_DIM(roles); i++) {
		if (argc != roles[i].argc || strcmp(argv[1], roles[i].name) != 0)
			continue;
		e2e_port_spec(spec, sizeof(spec), 0, argv[2]);
		vdevs[0] = spec;
		if (e2e_init("rdmo_peer", vdevs) != 0)
			return 1;
		TRY(rdmapmd_device_open_by_name(e2e_port_name(0), &context));
		TRY(rdmapmd_pd_alloc(context, &pd));
		roles[i].run(argv + 3);
		TRY(rdmapmd_pd_dealloc(pd));
		TRY(rdmapmd_context_close(context));
		e2e_fini();
		return 0;
	}
	return 2;
}
