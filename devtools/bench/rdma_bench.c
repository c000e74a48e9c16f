/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rates and latencies of RDMA operations between two devices, from one thread. The peer does nothing: its device does.
 *
 *	rdma_bench [EAL OPTIONS] -- DEVICE DEVICE TEST BYTES QPS ACTIVE SECONDS [MTU]
 *
 * TEST:
 *	write		WRITEs, as many as there is room for, bursts of up to 32, one signaled in 32
 *	write-lat	a WRITE there and one back, each seen in memory: half of the time that both take
 *	add		FETCH_AND_ADDs, as write, one signaled in eight
 *	add-lat		one FETCH_AND_ADD after the other, from post to completion
 *	send		SENDs of RC, as write; counted are those that arrive, whose receives the thread posts anew
 *	ud		the same as datagrams
 *
 * ACTIVE of QPS queue pairs are used, in turn: whose burst completes first gets the next one first. WRITEs of eight bytes are inline.
 * MTU is the ports': without it they have the one that they come with, 1500.
 *
 * Prints `result TEST bytes N qps N active N rate X`, operations a second, or `... lat MEDIAN P99`, microseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>

#include "rdma_pair.h"
#include "timed.h"

#define LARGE 4096u /* from here on each one is signaled, and few are under way */
#define BATCH 32u   /* receives posted at once, and completions polled */
/* More than are under way: what has arrived and was not polled yet keeps some. */
#define RECEIVES (4 * RDMA_PAIR_DEPTH)

struct bench {
	struct rdma_pair pair;
	const char *test;
	bool add;
	bool sends;	/* what arrives is counted, not what completes */
	bool datagrams; /* of these */
	uint32_t qps, bytes, active;
	uint16_t mtu;
	double seconds;
	uint16_t burst; /* one signaled at its end */
	uint32_t depth; /* requests of a queue pair under way, at most */
	/* Bursts that there is room for, by queue pair, in the order in which room came. */
	uint32_t *room, room_size, room_head, room_tail;
	struct rdmapmd_recv_wr
		receives[BATCH]; /* all alike: into the second half of the other end's memory */
	struct rdmapmd_sge receive_sge;
	uint32_t due; /* receives to post anew */
	uint64_t posted, arrived;
	/* What is posted: a burst; or one request from each end. */
	struct rdmapmd_send_wr wrs[RDMA_PAIR_SIGNALS];
	struct rdmapmd_sge sges[2];
	uint8_t mark; /* what the last WRITE wrote */
};

static int
completion(const struct rdmapmd_wc *wc)
{
	if (wc->status == RDMAPMD_WC_SUCCESS)
		return 0;
	fprintf(stderr, "completion: %s (0x%x)\n", rdmapmd_wc_status_str(wc->status),
		wc->vendor_err);
	return -1;
}

/* `n` requests from end `from`, the last one signaled: from the first half of its memory to the other's second half. */
static void
fill(struct bench *b, unsigned int from, struct rdmapmd_send_wr *wrs, uint16_t n)
{
	const struct rdma_end *here = &b->pair.ends[from], *there = &b->pair.ends[1 - from];
	struct rdmapmd_sge *sge = &b->sges[from];
	uint16_t i;

	*sge = (struct rdmapmd_sge){ (uintptr_t)here->memory, b->bytes, here->mr->lkey };
	for (i = 0; i < n; i++) {
		struct rdmapmd_send_wr *wr = &wrs[i];

		*wr = (struct rdmapmd_send_wr){ .sg_list = sge, .num_sge = 1 };
		wr->send_flags = i + 1 == n ? RDMAPMD_SEND_SIGNALED : 0;
		if (b->add) {
			wr->opcode = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD;
			wr->wr.atomic.remote_addr = there->mr->iova + b->bytes;
			wr->wr.atomic.rkey = there->mr->rkey;
			wr->wr.atomic.compare_add = 1;
			continue;
		}
		if (b->sends) {
			wr->opcode = RDMAPMD_WR_SEND;
			wr->wr.ud.ah = here->ah;
			wr->wr.ud.remote_qpn = there->qps[0]->qp_num;
			wr->wr.ud.remote_qkey = RDMA_PAIR_QKEY;
			continue;
		}
		wr->opcode = RDMAPMD_WR_RDMA_WRITE;
		wr->wr.rdma.remote_addr = there->mr->iova + b->bytes;
		wr->wr.rdma.rkey = there->mr->rkey;
		if (b->bytes <= 8 && b->bytes <= here->max_inline)
			wr->send_flags |= RDMAPMD_SEND_INLINE;
	}
}

static void
give_room(struct bench *b, uint32_t qp)
{
	b->room[b->room_head] = qp;
	b->room_head = b->room_head + 1 == b->room_size ? 0 : b->room_head + 1;
}

/* A burst from the first end, if any queue pair has room for it. */
static int
post_burst(struct bench *b)
{
	struct rdmapmd_qp *qp;

	if (b->room_tail == b->room_head)
		return 0;
	qp = b->pair.ends[0].qps[b->room[b->room_tail]];
	b->wrs[b->burst - 1].wr_id = b->room[b->room_tail];
	b->room_tail = b->room_tail + 1 == b->room_size ? 0 : b->room_tail + 1;
	b->posted += b->burst;
	if (rdmapmd_post_send(qp, b->wrs, b->burst) == b->burst)
		return 0;
	fprintf(stderr, "post: %s\n", strerror(-qp->post_send_error));
	return -1;
}

static int
post_receives(struct bench *b)
{
	struct rdmapmd_qp *qp = b->pair.ends[1].qps[0];

	for (; b->due >= BATCH; b->due -= BATCH) {
		if (rdmapmd_post_recv(qp, b->receives, BATCH) != BATCH) {
			fprintf(stderr, "receives: %s\n", strerror(-qp->post_recv_error));
			return -1;
		}
	}
	return 0;
}

static int
begin_receives(struct bench *b)
{
	const struct rdma_end *there = &b->pair.ends[1];
	unsigned int i;

	b->receive_sge = (struct rdmapmd_sge){ (uintptr_t)there->memory + b->bytes,
					       b->bytes + RDMAPMD_GRH_BYTES, there->mr->lkey };
	for (i = 0; i < BATCH; i++)
		b->receives[i] =
			(struct rdmapmd_recv_wr){ .sg_list = &b->receive_sge, .num_sge = 1 };
	b->due = b->sends ? RECEIVES : 0;
	return post_receives(b);
}

/* What has arrived, or -1. */
static int64_t
arrive(struct bench *b)
{
	struct rdmapmd_wc wcs[BATCH];
	uint16_t i, n;

	n = rdmapmd_poll_cq(b->pair.ends[1].cq, wcs, BATCH);
	for (i = 0; i < n; i++)
		if (completion(&wcs[i]) != 0)
			return -1;
	b->due += n;
	b->arrived += n;
	return post_receives(b) != 0 ? -1 : n;
}

/* Of datagrams nobody else would tell that one was lost. */
static int
all_arrived(struct bench *b)
{
	const uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz();

	while (b->arrived < b->posted && rte_get_timer_cycles() < end)
		if (arrive(b) < 0)
			return -1;
	if (b->arrived == b->posted)
		return 0;
	fprintf(stderr, "%" PRIu64 " of %" PRIu64 " messages arrived\n", b->arrived, b->posted);
	return -1;
}

/* What has completed, or -1. */
static int64_t
reap(struct bench *b)
{
	struct rdmapmd_wc wcs[BATCH];
	int64_t done = 0;
	uint16_t i, n;

	n = rdmapmd_poll_cq(b->pair.ends[0].cq, wcs, BATCH);
	for (i = 0; i < n; i++) {
		if (completion(&wcs[i]) != 0)
			return -1;
		give_room(b, (uint32_t)wcs[i].wr_id);
		done += b->burst;
	}
	return b->sends ? arrive(b) : done;
}

static int64_t
step(void *of)
{
	struct bench *b = of;

	return post_burst(b) != 0 ? -1 : reap(b);
}

static int
rate(struct bench *b)
{
	struct timed timed = { .of = b, .seconds = b->seconds };
	struct timed_rate found;

	fill(b, 0, b->wrs, b->burst);
	for (uint32_t i = 0; i + 1 < b->room_size; i++)
		give_room(b, i % b->active);
	if (timed_rate(&timed, step, &found) != 0)
		return -1;
	printf("result %s bytes %u qps %u active %u rate %.1f\n", b->test, b->bytes, b->qps,
	       b->active, (double)found.done / found.seconds);
	return 0;
}

static int
post_one(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr)
{
	if (rdmapmd_post_send(qp, wr, 1) == 1)
		return 0;
	fprintf(stderr, "post: %s\n", strerror(-qp->post_send_error));
	return -1;
}

/* Post, and wait for what the other side then sees in its memory, or here for the completion; 0, or -1. */
static int
one_way(struct bench *b, unsigned int from, const struct rdmapmd_send_wr *wr, uint8_t mark)
{
	struct rdma_end *here = &b->pair.ends[from], *there = &b->pair.ends[1 - from];
	volatile uint8_t *seen = there->memory + 2 * b->bytes - 1;
	const uint64_t end = rte_get_timer_cycles() + 10 * rte_get_timer_hz();
	bool arrived = b->add, completed = false;
	struct rdmapmd_wc wc;

	/* Where an atomic answers, nothing is written first: the device would have to fetch the line back. */
	if (!b->add)
		here->memory[b->bytes - 1] = mark;
	if (post_one(here->qps[0], wr) != 0)
		return -1;
	while (!arrived || (b->add && !completed)) {
		arrived = arrived || *seen == mark;
		if (!completed && rdmapmd_poll_cq(here->cq, &wc, 1) == 1) {
			if (completion(&wc) != 0)
				return -1;
			completed = true;
		}
		if (rte_get_timer_cycles() > end) {
			fprintf(stderr, "nothing came for 10 s\n");
			return -1;
		}
	}
	/* The other half of the ping-pong hides the rest of the way of its completion. */
	return 0;
}

/* Completions that were not waited for. */
static void
poll_rest(void *of)
{
	struct bench *b = of;
	struct rdmapmd_wc wcs[8];

	rdmapmd_poll_cq(b->pair.ends[0].cq, wcs, RTE_DIM(wcs));
	rdmapmd_poll_cq(b->pair.ends[1].cq, wcs, RTE_DIM(wcs));
}

static int
there_and_back(void *of)
{
	struct bench *b = of;
	int rc;

	b->mark++;
	rc = one_way(b, 0, &b->wrs[0], b->mark);
	return rc != 0 || b->add ? rc : one_way(b, 1, &b->wrs[1], b->mark);
}

static int
latency(struct bench *b)
{
	const struct timed timed = { .of = b,
				     .seconds = b->seconds,
				     .before = b->add ? NULL : poll_rest };
	const double ways = b->add ? 1 : 2;
	struct timed_latency found;

	fill(b, 0, &b->wrs[0], 1);
	fill(b, 1, &b->wrs[1], 1);
	if (timed_latency(&timed, there_and_back, &found) != 0)
		return -1;
	printf("result %s bytes %u qps %u active 1 lat %.3f %.3f\n", b->test, b->bytes, b->qps,
	       found.median_us / ways, found.p99_us / ways);
	return 0;
}

static int
run(struct bench *b, const char *const names[2])
{
	const struct rdma_pair_attr attr = { .type = b->datagrams ? RDMAPMD_QPT_UD : RDMAPMD_QPT_RC,
					     .qps = b->qps,
					     .receives = b->sends ? RECEIVES : 0,
					     .bytes = 2ul * b->bytes + RDMAPMD_GRH_BYTES,
					     .mtu = b->mtu };
	int rc = rdma_pair_open(&b->pair, names, &attr);

	if (rc != 0)
		return rc;
	/* One more: empty is not full. */
	b->room_size = b->active * (b->depth / b->burst) + 1;
	b->room = calloc(b->room_size, sizeof(*b->room));
	if (b->room == NULL)
		return -1;
	rc = begin_receives(b);
	if (rc == 0)
		rc = strstr(b->test, "-lat") != NULL ? latency(b) : rate(b);
	if (rc == 0 && b->sends)
		rc = all_arrived(b);
	free(b->room);
	return rdma_pair_close(&b->pair) != 0 ? -1 : rc;
}

/* What the command line asks for makes sense. */
static bool
read_arguments(struct bench *b, int argc, char **argv)
{
	if (argc != 8 && argc != 9)
		return false;
	b->test = argv[3];
	b->add = strncmp(b->test, "add", 3) == 0;
	b->datagrams = strcmp(b->test, "ud") == 0;
	b->sends = b->datagrams || strcmp(b->test, "send") == 0;
	b->bytes = (uint32_t)strtoul(argv[4], NULL, 10);
	b->qps = (uint32_t)strtoul(argv[5], NULL, 10);
	b->active = (uint32_t)strtoul(argv[6], NULL, 10);
	b->seconds = strtod(argv[7], NULL);
	b->mtu = argc == 9 ? (uint16_t)strtoul(argv[8], NULL, 10) : 0;
	b->burst = b->bytes >= LARGE ? 1 : b->add ? 8 : RDMA_PAIR_SIGNALS;
	b->depth = b->bytes >= LARGE ? 8 : RDMA_PAIR_DEPTH;
	return b->bytes != 0 && b->qps != 0 && b->active != 0 && b->active <= b->qps &&
	       b->seconds > 0 && (!b->add || b->bytes == 8) && (!b->sends || b->qps == 1);
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
			"usage: rdma_bench [EAL OPTIONS] -- DEVICE DEVICE "
			"write|write-lat|add|add-lat|send|ud BYTES QPS ACTIVE SECONDS [MTU]\n"
			"atomics have 8 bytes, SENDs one queue pair\n");
		return 2;
	}
	rc = run(&b, (const char *const[]){ argv[1], argv[2] });
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
