/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rates and latencies of appends: by RDMO, whose initiator and worker are both this thread, and by what an initiator would do without
 * a worker: a FETCH_AND_ADD that reserves, then a WRITE to where it says.
 *
 *	rdmo_bench [EAL OPTIONS] -- DEVICE DEVICE TEST BYTES QPS SECONDS
 *
 * TEST:
 *	queue		APPENDs to a queue with an exclusive tail, in bursts of 32, as many as may be under way
 *	queue-lat	one APPEND after the other, from post to completion
 *	fw1		FETCH_AND_ADD, then WRITE: 16 such pairs under way, over QPS queue pairs
 *	fw1-lat		one such pair after the other
 *
 * QPS is for fw1; one connection, else. Prints `result TEST bytes N qps N rate X`, appends a second, or `... lat MEDIAN P99`,
 * microseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>

#include "rdmo_pair.h"

#define QUEUE_BYTES (1ul << 24)
#define BURST	    32u
#define UNDER_WAY   16u /* pairs of fw1 */
#define SAMPLES	    (1u << 20)
#define WARM_UP_S   0.2

struct bench {
	struct rdmo_pair pair;
	const char *test;
	uint32_t bytes, qps;
	double seconds;
	/* Of queue: */
	struct rdmo_op ops[BURST];
	uint64_t posted, done;
	/* Of fw1: the requests that a queue pair is to get next. */
	struct pending {
		struct rdmapmd_send_wr wrs[UNDER_WAY];
		uint16_t count;
	} * pending;
	struct rdmapmd_sge results[UNDER_WAY], payloads[UNDER_WAY];
	uint32_t under_way;
};

/* ---- Appends by RDMO ---- */

/* Post a burst if there is room; serve; complete. Returns completions, or -1. */
static int64_t
queue_turn(struct bench *b, uint32_t burst)
{
	struct rdmo_completion done[BURST];
	struct rdmo_conn *conn = b->pair.conn;
	uint32_t n;

	if (burst > 0)
		b->posted += rdmo_post(conn, b->ops, burst);
	rdmo_worker_poll(b->pair.worker, 0);
	n = rdmo_poll(conn, done, BURST);
	for (uint32_t i = 0; i < n; i++)
		if (done[i].status != RDMO_STATUS_OK) {
			fprintf(stderr, "append: %s\n", rdmo_status_str(done[i].status));
			return -1;
		}
	b->done += n;
	return n;
}

/* The queue is near its end: all that is under way, and an empty one. */
static int
queue_renew(struct bench *b)
{
	while (b->done < b->posted)
		if (queue_turn(b, 0) < 0)
			return -1;
	if (rdmo_pair_renew(&b->pair) != 0)
		return -1;
	for (uint32_t i = 0; i < BURST; i++)
		b->ops[i] = rdmo_pair_append(&b->pair, b->pair.rdma.ends[0].memory, b->bytes);
	b->posted = b->done = 0;
	return 0;
}

static int64_t
queue_step(struct bench *b)
{
	if ((b->posted + BURST) * b->bytes > QUEUE_BYTES && queue_renew(b) != 0)
		return -1;
	return queue_turn(b, BURST);
}

static int
queue_one(struct bench *b)
{
	int64_t n;

	if ((b->posted + 1) * b->bytes > QUEUE_BYTES && queue_renew(b) != 0)
		return -1;
	for (n = queue_turn(b, 1); n == 0; n = queue_turn(b, 0))
		;
	return n < 0 ? -1 : 0;
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
fw1_turn(struct bench *b)
{
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
		if (b->under_way > 1)
			reserve(b, which);
	}
	return pending_post(b) != 0 ? -1 : done;
}

static int
fw1_one(struct bench *b)
{
	int64_t n;

	reserve(b, 0);
	if (pending_post(b) != 0)
		return -1;
	do
		n = fw1_turn(b);
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
	for (uint32_t i = 0; i < UNDER_WAY && b->under_way > 1; i++)
		reserve(b, i);
	return pending_post(b);
}

/* ---- Measuring ---- */

static int
rate(struct bench *b, int64_t (*step)(struct bench *))
{
	const double hz = (double)rte_get_timer_hz();
	uint64_t start = 0, now, done = 0;
	uint64_t end = rte_get_timer_cycles() + (uint64_t)(WARM_UP_S * hz);
	int64_t n;

	for (uint32_t i = 0;; i++) {
		n = step(b);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
		now = rte_get_timer_cycles();
		if (i % 16 != 0 || now < end)
			continue;
		if (start != 0)
			break;
		/* It counts from here. */
		done = 0;
		start = now;
		end = now + (uint64_t)(b->seconds * hz);
	}
	printf("result %s bytes %u qps %u rate %.1f\n", b->test, b->bytes, b->qps,
	       (double)done * hz / (double)(now - start));
	return 0;
}

static int
compare(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

static int
latency(struct bench *b, int (*one)(struct bench *))
{
	const double hz = (double)rte_get_timer_hz(), unit = 1e6 / hz;
	const uint64_t begin = rte_get_timer_cycles();
	const uint64_t warm = begin + (uint64_t)(WARM_UP_S * hz);
	const uint64_t end = warm + (uint64_t)(b->seconds * hz);
	uint32_t *samples = malloc(SAMPLES * sizeof(*samples)), n = 0;
	uint64_t start, now = begin;
	int rc = 0;

	if (samples == NULL)
		return -1;
	while (rc == 0 && n < SAMPLES && now < end) {
		start = rte_get_timer_cycles();
		rc = one(b);
		now = rte_get_timer_cycles();
		samples[n] = (uint32_t)RTE_MIN(now - start, UINT32_MAX);
		n += start >= warm;
	}
	qsort(samples, n, sizeof(*samples), compare);
	if (rc == 0 && n > 0)
		printf("result %s bytes %u qps %u lat %.3f %.3f\n", b->test, b->bytes, b->qps,
		       samples[n / 2] * unit, samples[(uint64_t)n * 99 / 100] * unit);
	free(samples);
	return rc != 0 || n == 0 ? -1 : 0;
}

static int
measure(struct bench *b)
{
	const bool is_latency = strstr(b->test, "-lat") != NULL;

	if (strncmp(b->test, "fw1", 3) == 0) {
		b->under_way = is_latency ? 1 : UNDER_WAY;
		if (fw1_begin(b) != 0)
			return -1;
		return is_latency ? latency(b, fw1_one) : rate(b, fw1_turn);
	}
	if (queue_renew(b) != 0)
		return -1;
	return is_latency ? latency(b, queue_one) : rate(b, queue_step);
}

static int
run(struct bench *b, const char *const names[2])
{
	const struct rdmo_pair_attr attr = { .qps = b->qps, .queue_bytes = QUEUE_BYTES };
	int rc = rdmo_pair_open(&b->pair, names, &attr);

	if (rc != 0)
		return rc;
	rc = measure(b);
	free(b->pending);
	return rdmo_pair_close(&b->pair) != 0 ? -1 : rc;
}

/* What the command line asks for makes sense. */
static bool
read_arguments(struct bench *b, int argc, char **argv)
{
	static const char *const tests[] = { "queue", "queue-lat", "fw1", "fw1-lat" };
	bool is_test = false;

	if (argc != 7)
		return false;
	b->test = argv[3];
	for (uint32_t i = 0; i < RTE_DIM(tests); i++)
		is_test |= strcmp(b->test, tests[i]) == 0;
	b->bytes = (uint32_t)strtoul(argv[4], NULL, 10);
	b->qps = (uint32_t)strtoul(argv[5], NULL, 10);
	b->seconds = strtod(argv[6], NULL);
	return is_test && b->bytes >= 8 && b->bytes <= 2048 && b->qps > 0 && b->qps <= UNDER_WAY &&
	       b->seconds > 0;
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
		fprintf(stderr, "usage: rdmo_bench [EAL OPTIONS] -- DEVICE DEVICE "
				"queue|queue-lat|fw1|fw1-lat BYTES QPS SECONDS\n"
				"8 to 2,048 bytes, 1 to 16 queue pairs\n");
		return 2;
	}
	rc = run(&b, (const char *const[]){ argv[1], argv[2] });
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
