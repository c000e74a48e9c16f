/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rates and latencies of appends: by RDMO, whose initiators and worker are all this thread, and by what an initiator would do without
 * a worker: a FETCH_AND_ADD that reserves, then a WRITE to where it says. Beside them what messages cost that nobody looks into.
 *
 *	rdmo_bench [EAL OPTIONS] -- DEVICE DEVICE TEST BYTES QPS SECONDS
 *
 * TEST:
 *	queue		APPENDs to a queue with an exclusive tail, in bursts of 32, as many as may be under way, over QPS connections in
 *			turn; those that no message has room for are fetched
 *	queue-one	the same, each APPEND in a message of its own
 *	log		the same as queue, to a log with its checksums, of which nobody reads: its records are released unseen
 *	queue-lat	one APPEND after the other, from post to completion
 *	handler		what the worker does with a message of such a burst when it has come, in memory alone: no message is sent
 *	echo		a SEND there and one back: 15 such pairs under way, as many as a connection has messages
 *	fw1		FETCH_AND_ADD, then WRITE: 16 such pairs under way, over QPS queue pairs
 *	fw1-lat		one such pair after the other
 *
 * Prints `result TEST bytes N qps N rate X packets X`: appends or echos a second, and packets that both devices sent for each,
 * acknowledgements among them. Or `... lat MEDIAN P99`, microseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "rdmo_handler.h"
#include "rdmo_pair.h"
#include "timed.h"

#define QUEUE_BYTES (1ul << 24)
#define LOG_BYTES   (1ul << 22)
#define BURST	    32u
#define UNDER_WAY   16u /* pairs of fw1 */
#define ECHOS	    15u /* of the 16 messages of a connection one is for credits alone */
#define BYTES_MAX   2048u
#define PULLED_MAX  (1u << 20) /* of payloads that are fetched */

struct bench;

struct test {
	const char *name;
	int (*begin)(struct bench *b);
	/* One of both. */
	int64_t (*step)(void *of);
	int (*one)(void *of);
	uint32_t qps_max;
	bool connects; /* QPS are connections */
	bool has_log;
	uint32_t bytes_max;   /* 0: BYTES_MAX */
	uint32_t per_message; /* APPENDs */
	uint32_t receives;    /* of each queue pair */
};

struct bench {
	struct rdmo_pair pair;
	const struct test *test;
	const char *names[2]; /* of the devices */
	uint32_t bytes, qps;
	struct timed timed;
	uint64_t packets; /* sent before it counted */
	/* Of queue: */
	struct rdmo_op ops[BURST];
	uint32_t burst; /* so that two bursts fit into the queue */
	uint64_t posted, done;
	uint32_t next; /* connection */
	/* Of fw1: the requests that a queue pair is to get next. */
	struct pending {
		struct rdmapmd_send_wr wrs[UNDER_WAY];
		uint16_t count;
	} * pending;
	struct rdmapmd_sge results[UNDER_WAY], payloads[UNDER_WAY];
	struct rdmo_handler *handler;
	/* Of echo, at each end: as many as are needed are taken from the arrays' ends; all alike, but the last SEND is signaled. */
	struct echo {
		struct rdmapmd_recv_wr receives[ECHOS];
		struct rdmapmd_send_wr sends[ECHOS];
		struct rdmapmd_sge from, to;
	} echos[2];
};

/* ---- Appends by RDMO ---- */

static uint32_t
queue_post(struct bench *b, struct rdmo_conn *conn, uint32_t n)
{
	uint32_t posted = 0, wanted, taken;

	do {
		wanted = RTE_MIN(n - posted, b->test->per_message);
		taken = rdmo_post(conn, b->ops, wanted);
		posted += taken;
	} while (taken == wanted && posted < n);
	return posted;
}

/* Complete; post a burst, if there is room; serve. The next connection's turn. Returns completions, or -1. */
static int64_t
queue_turn(struct bench *b, uint32_t burst)
{
	struct rdmo_conn *conn = b->pair.conns[b->next];
	struct rdmo_completion done[BURST];
	uint32_t n = rdmo_poll(conn, done, BURST);

	for (uint32_t i = 0; i < n; i++)
		if (done[i].status != RDMO_STATUS_OK) {
			fprintf(stderr, "append: %s\n", rdmo_status_str(done[i].status));
			return -1;
		}
	b->done += n;
	if (burst > 0)
		b->posted += queue_post(b, conn, burst);
	rdmo_worker_poll(b->pair.worker, 0);
	b->next = b->next + 1 == b->pair.connections ? 0 : b->next + 1;
	return n;
}

static int
queue_begin(struct bench *b)
{
	for (uint32_t i = 0; i < BURST; i++)
		b->ops[i] = rdmo_pair_append(&b->pair, b->pair.rdma.ends[0].memory, b->bytes);
	b->burst = RTE_MIN(BURST, (uint32_t)(QUEUE_BYTES / 2 / b->bytes));
	b->posted = b->done = 0;
	return 0;
}

/* There must be room for a burst: else all that is under way, and an empty queue. Returns what that has completed, or -1. */
static int64_t
queue_room(struct bench *b)
{
	const uint64_t done = b->done;
	uint64_t start;

	if ((b->posted + b->burst) * b->bytes <= QUEUE_BYTES)
		return 0;
	while (b->done < b->posted)
		if (queue_turn(b, 0) < 0)
			return -1;
	start = timed_now_ns();
	if (rdmo_pair_renew(&b->pair) != 0)
		return -1;
	b->timed.left_out_ns += timed_now_ns() - start;
	return (int64_t)(b->done - done) + queue_begin(b);
}

static int64_t
queue_step(void *of)
{
	struct bench *b = of;
	const int64_t before = queue_room(b), n = before < 0 ? -1 : queue_turn(b, b->burst);

	return n < 0 ? -1 : before + n;
}

static int
queue_one(void *of)
{
	struct bench *b = of;
	int64_t n;

	if (queue_room(b) < 0)
		return -1;
	for (n = queue_turn(b, 1); n == 0; n = queue_turn(b, 0))
		;
	return n < 0 ? -1 : 0;
}

static int
log_begin(struct bench *b)
{
	for (uint32_t i = 0; i < BURST; i++)
		b->ops[i] = rdmo_pair_record(&b->pair, b->pair.rdma.ends[0].memory, b->bytes);
	b->posted = b->done = 0;
	return 0;
}

/* A burst finds room: all that was under way before fits into a quarter of the log. */
static int64_t
log_step(void *of)
{
	struct bench *b = of;
	const int64_t n = queue_turn(b, BURST);

	return n < 0 || rdmo_pair_release(&b->pair) != 0 ? -1 : n;
}

/* ---- What a worker does with a message ---- */

static int
handler_begin(struct bench *b)
{
	const int rc = rdmo_handler_open(BURST, b->bytes, &b->handler);

	if (rc != 0)
		fprintf(stderr, "handler: %s\n", strerror(-rc));
	return rc;
}

static int64_t
handler_step(void *of)
{
	struct bench *b = of;

	return rdmo_handler_handle(b->handler);
}

/* ---- Messages that nobody looks into ---- */

/* What has come goes back. Returns how much, or -1. */
static int64_t
echo_end(struct bench *b, uint32_t end)
{
	struct rdma_end *here = &b->pair.rdma.ends[end];
	struct echo *echo = &b->echos[end];
	struct rdmapmd_wc wcs[2 * ECHOS];
	const uint16_t n = rdmapmd_poll_cq(here->cq, wcs, RTE_DIM(wcs));
	uint16_t come = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (wcs[i].status != RDMAPMD_WC_SUCCESS) {
			fprintf(stderr, "completion: %s\n", rdmapmd_wc_status_str(wcs[i].status));
			return -1;
		}
		come += wcs[i].opcode == RDMAPMD_WC_RECV;
	}
	if (come == 0)
		return 0;
	if (rdmapmd_post_recv(here->qps[0], &echo->receives[ECHOS - come], come) == come &&
	    rdmapmd_post_send(here->qps[0], &echo->sends[ECHOS - come], come) == come)
		return come;
	fprintf(stderr, "echo: a queue is full\n");
	return -1;
}

static int64_t
echo_step(void *of)
{
	const int64_t n = echo_end(of, 0);

	return n < 0 || echo_end(of, 1) < 0 ? -1 : n;
}

static int
echo_begin(struct bench *b)
{
	for (uint32_t end = 0; end < 2; end++) {
		struct rdma_end *here = &b->pair.rdma.ends[end];
		struct echo *echo = &b->echos[end];

		echo->from =
			(struct rdmapmd_sge){ (uintptr_t)here->memory, b->bytes, here->mr->lkey };
		echo->to = echo->from;
		echo->to.addr += BYTES_MAX;
		for (uint32_t i = 0; i < ECHOS; i++) {
			echo->receives[i] =
				(struct rdmapmd_recv_wr){ .sg_list = &echo->to, .num_sge = 1 };
			echo->sends[i] = (struct rdmapmd_send_wr){
				.sg_list = &echo->from,
				.num_sge = 1,
				.opcode = RDMAPMD_WR_SEND,
				.send_flags = i + 1 == ECHOS ? RDMAPMD_SEND_SIGNALED : 0,
			};
		}
		if (rdmapmd_post_recv(here->qps[0], echo->receives, ECHOS) != ECHOS)
			return -1;
	}
	return rdmapmd_post_send(b->pair.rdma.ends[0].qps[0], b->echos[0].sends, ECHOS) == ECHOS
		       ? 0
		       : -1;
}

/* ---- Appends by FETCH_AND_ADD and WRITE ---- */

#define IS_WRITE UINT64_C(0x100) /* in numbers of requests, beside that of the pair */

static struct rdmapmd_send_wr *
pending_add(struct bench *b, uint32_t which)
{
	struct pending *pending = &b->pending[which % b->qps];

	return &pending->wrs[pending->count++];
}

static void
reserve(struct bench *b, uint32_t which)
{
	const struct rdma_end *there = &b->pair.rdma.ends[1];

	*pending_add(b, which) = (struct rdmapmd_send_wr){
		.wr_id = which,
		.sg_list = &b->results[which],
		.num_sge = 1,
		.opcode = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = there->mr->iova,
			       .rkey = there->mr->rkey,
			       .compare_add = b->bytes },
	};
}

static void
place(struct bench *b, uint32_t which)
{
	const struct rdma_end *there = &b->pair.rdma.ends[1];
	const uint64_t at = *(const uint64_t *)(uintptr_t)b->results[which].addr;

	*pending_add(b, which) = (struct rdmapmd_send_wr){
		.wr_id = which | IS_WRITE,
		.sg_list = &b->payloads[which],
		.num_sge = 1,
		.opcode = RDMAPMD_WR_RDMA_WRITE,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)b->pair.queue + at % QUEUE_BYTES,
			     .rkey = there->mr->rkey },
	};
}

static int
pending_post(struct bench *b)
{
	for (uint32_t i = 0; i < b->qps; i++) {
		struct rdmapmd_qp *qp = b->pair.rdma.ends[0].qps[i];
		struct pending *pending = &b->pending[i];

		if (pending->count > 0 &&
		    rdmapmd_post_send(qp, pending->wrs, pending->count) != pending->count) {
			fprintf(stderr, "post: %s\n", strerror(-qp->post_send_error));
			return -1;
		}
		pending->count = 0;
	}
	return 0;
}

/* What has completed goes on to its next request. Returns pairs that are done, or -1. */
static int64_t
fw1_step(void *of)
{
	struct bench *b = of;
	struct rdmapmd_wc wcs[UNDER_WAY];
	const uint16_t n = rdmapmd_poll_cq(b->pair.rdma.ends[0].cq, wcs, UNDER_WAY);
	int64_t done = 0;

	for (uint16_t i = 0; i < n; i++) {
		const uint32_t which = (uint32_t)(wcs[i].wr_id & (IS_WRITE - 1));

		if (wcs[i].status != RDMAPMD_WC_SUCCESS) {
			fprintf(stderr, "completion: %s\n", rdmapmd_wc_status_str(wcs[i].status));
			return -1;
		}
		if ((wcs[i].wr_id & IS_WRITE) == 0) {
			place(b, which);
			continue;
		}
		done++;
		if (b->test->step != NULL)
			reserve(b, which);
	}
	return pending_post(b) != 0 ? -1 : done;
}

static int
fw1_one(void *of)
{
	struct bench *b = of;
	int64_t n;

	reserve(b, 0);
	if (pending_post(b) != 0)
		return -1;
	do
		n = fw1_step(b);
	while (n == 0);
	return n < 0 ? -1 : 0;
}

static int
fw1_begin(struct bench *b)
{
	const struct rdma_end *here = &b->pair.rdma.ends[0];
	uint8_t *at = here->memory;

	b->pending = calloc(b->qps, sizeof(*b->pending));
	if (b->pending == NULL)
		return -1;
	for (uint32_t i = 0; i < UNDER_WAY; i++) {
		b->results[i] = (struct rdmapmd_sge){ (uintptr_t)at, 8, here->mr->lkey };
		b->payloads[i] =
			(struct rdmapmd_sge){ (uintptr_t)at + 64, b->bytes, here->mr->lkey };
		at += 64 + RTE_ALIGN_CEIL(b->bytes, 64);
	}
	*b->pair.tail = 0;
	for (uint32_t i = 0; i < UNDER_WAY && b->test->step != NULL; i++)
		reserve(b, i);
	return pending_post(b);
}

/* ---- Measuring ---- */

static const struct test tests[] = {
	{ "queue", queue_begin, .step = queue_step, .connects = true, .qps_max = 1024,
	  .per_message = BURST, .bytes_max = PULLED_MAX },
	{ "log", log_begin, .step = log_step, .connects = true, .qps_max = 1, .has_log = true,
	  .per_message = BURST },
	{ "queue-one", queue_begin, .step = queue_step, .connects = true, .qps_max = 1024,
	  .per_message = 1 },
	{ "handler", handler_begin, .step = handler_step, .qps_max = 1 },
	{ "queue-lat", queue_begin, .one = queue_one, .connects = true, .qps_max = 1,
	  .per_message = 1 },
	{ "echo", echo_begin, .step = echo_step, .qps_max = 1, .receives = ECHOS },
	{ "fw1", fw1_begin, .step = fw1_step, .qps_max = UNDER_WAY },
	{ "fw1-lat", fw1_begin, .one = fw1_one, .qps_max = UNDER_WAY },
};

/* Packets of RDMA that both devices have sent. */
static int
packets_sent(const struct bench *b, uint64_t *packets)
{
	static const char counter[] = "tx_vport_rdma_unicast_packets";
	uint64_t id, sent;
	uint16_t port;

	*packets = 0;
	for (uint32_t i = 0; i < RTE_DIM(b->names); i++) {
		if (rte_eth_dev_get_port_by_name(b->names[i], &port) != 0 ||
		    rte_eth_xstats_get_id_by_name(port, counter, &id) != 0 ||
		    rte_eth_xstats_get_by_id(port, &id, &sent, 1) != 1) {
			fprintf(stderr, "%s has no %s\n", b->names[i], counter);
			return -1;
		}
		*packets += sent;
	}
	return 0;
}

static void
rate_begins(void *of)
{
	struct bench *b = of;

	packets_sent(b, &b->packets); /* that it cannot be known is seen at the end, too */
}

static int
rate(struct bench *b)
{
	struct timed_rate found;
	uint64_t packets;

	b->timed.before = rate_begins;
	if (timed_rate(&b->timed, b->test->step, &found) != 0 || packets_sent(b, &packets) != 0)
		return -1;
	printf("result %s bytes %u qps %u rate %.1f packets %.4f\n", b->test->name, b->bytes,
	       b->qps, (double)found.done / found.seconds,
	       (double)(packets - b->packets) / (double)found.done);
	return 0;
}

static int
latency(struct bench *b)
{
	struct timed_latency found;

	if (timed_latency(&b->timed, b->test->one, &found) != 0)
		return -1;
	printf("result %s bytes %u qps %u lat %.3f %.3f\n", b->test->name, b->bytes, b->qps,
	       found.median_us, found.p99_us);
	return 0;
}

static int
run(struct bench *b)
{
	const struct rdmo_pair_attr attr = { .qps = b->test->connects ? 1 : b->qps,
					     .receives = b->test->receives,
					     .connections = b->test->connects ? b->qps : 1,
					     .queue_bytes = QUEUE_BYTES,
					     .log_bytes = b->test->has_log ? LOG_BYTES : 0 };
	int rc = rdmo_pair_open(&b->pair, b->names, &attr);

	if (rc == 0)
		rc = b->test->begin(b);
	if (rc == 0)
		rc = b->test->step != NULL ? rate(b) : latency(b);
	free(b->pending);
	rdmo_handler_close(b->handler);
	/* What broke may not come to an end. */
	return rc != 0 ? rc : rdmo_pair_close(&b->pair);
}

/* What the command line asks for makes sense. */
static bool
read_arguments(struct bench *b, int argc, char **argv)
{
	uint32_t bytes_max;

	if (argc != 7)
		return false;
	b->names[0] = argv[1];
	b->names[1] = argv[2];
	for (uint32_t i = 0; i < RTE_DIM(tests); i++)
		if (strcmp(argv[3], tests[i].name) == 0)
			b->test = &tests[i];
	b->bytes = (uint32_t)strtoul(argv[4], NULL, 10);
	b->qps = (uint32_t)strtoul(argv[5], NULL, 10);
	b->timed = (struct timed){ .of = b, .seconds = strtod(argv[6], NULL) };
	bytes_max = b->test != NULL && b->test->bytes_max > 0 ? b->test->bytes_max : BYTES_MAX;
	return b->test != NULL && b->bytes >= 8 && b->bytes <= bytes_max && b->qps > 0 &&
	       b->qps <= b->test->qps_max && b->timed.seconds > 0;
}

int
main(int argc, char **argv)
{
	struct bench b = { 0 };
	int used, rc;

	used = rte_eal_init(argc, argv);
	if (used < 0)
		return EXIT_FAILURE;
	argv += used;
	if (!read_arguments(&b, argc - used, argv)) {
		fprintf(stderr,
			"usage: rdmo_bench [EAL OPTIONS] -- DEVICE DEVICE "
			"queue|log|queue-one|queue-lat|handler|echo|fw1|fw1-lat BYTES QPS SECONDS\n"
			"8 to 2,048 bytes, of queue to 1 MiB; 1 to 1,024 connections, or 1 to 16 queue pairs\n");
		return 2;
	}
	rc = run(&b);
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
