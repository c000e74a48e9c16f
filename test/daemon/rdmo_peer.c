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
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "rdmo_parts.h"

#define ID	   UINT64_C(0x70)
#define BURST	   8
#define WHO_MAX	   65536
#define TIMEOUT_MS 60000
#define TURN_US	   1000 /* a rate that a queue has room for, as long as a test is */
#define TELL_MS	   50

struct record {
	uint64_t who, seq; /* from 1 */
};

/* ---- Worker ---- */

static void
run_worker(char **args)
{
	struct rdmo_worker *worker =
		rdmo_parts_worker(args[0], (uint32_t)strtoul(args[1], NULL, 10), BURST);
	struct rdmo_worker_stats stats;

	while (rdmo_parts_asked(-1) >= 0) {
		TRY(rdmo_worker_stats(worker, &stats));
		printf("connections %" PRIu64, stats.connections);
		rdmo_parts_tell();
	}
	rdmo_parts_worker_end();
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
	rdmo_parts_tell();
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
	TRY(rdmo_target_connect(rdmo_parts_pd, &attr, &target));
	TRY(rdmo_rq_create(target, ticket.secret, &rq_id));
	ticket.tail_key = offer(target, tail, sizeof(*tail));
	ticket.key = offer(target, queue, bytes);
	ticket.at = (uintptr_t)queue;
	ticket.tail = (uintptr_t)tail;
	TRY(rdmo_ticket_get(target, &ticket, line, sizeof(line)));
	printf("ticket %s", line);
	rdmo_parts_tell();
	while (rdmo_parts_asked(-1) >= 0)
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

	TRY(rdmo_connect(rdmo_parts_pd, &attr, &client->conn));
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
	rdmo_parts_tell();
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
	rdmo_parts_tell();
	while (under_way > 0 && (!post || counts.lost == 0)) {
		under_way = work = 0;
		for (uint32_t i = 0; i < n; i++)
			under_way += client_turn(&clients[i], &ticket, post, &work);
		if (post && rdmo_parts_asked(0) < 0)
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
	static const struct rdmo_role roles[] = {
		{ "worker", 5, run_worker },
		{ "target", 5, run_target },
		{ "initiator", 6, run_initiator },
	};

	return rdmo_parts_main(argc, argv, roles, RTE_DIM(roles));
}
