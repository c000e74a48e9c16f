/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What RDMA's burst calls cost, and what the device does with requests: two queue pairs on the embedded software RNIC, and one
 * thread that posts, polls the device by hand, and polls the completion queue. Only the burst calls are counted, as an application makes
 * them, or only the device's rounds.
 *
 *	rdma_instr [EAL OPTIONS] -- NAME,... BURST,... BYTES,... CALLS
 *
 * NAME:
 *	post		WRITEs of one segment
 *	post-inline	WRITEs whose payload is in the WQE
 *	poll		their completions
 *	poll-read	those of READs
 *	poll-receive	SENDs of the other one that have arrived
 *	device-write	the rounds of both devices from the WQEs to the completions, and the last one, which finds nothing: WRITEs
 *	device-read	the same, READs
 *	device-send	the same, SENDs
 *
 * Every request is signaled. EAL's options name the devices: --vdev=net_rnic0,wire=pair:b --vdev=net_rnic1,wire=pair:b.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "by_hand.h"
#include "counted.h"
#include "rdma_pair.h"

static struct rdma_pair pair;
static struct rdmapmd_send_wr wrs[COUNTED_BURST_MAX];
static struct rdmapmd_wc wcs[COUNTED_BURST_MAX];
static struct rdmapmd_recv_wr receives[COUNTED_BURST_MAX];
static struct rdmapmd_sge sge, room;

/* In the shape that both programs count: what is posted or filled is ours to know. */
static uint16_t
post(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	return rdmapmd_post_send(queue, wrs, n);
}

static uint16_t
poll_cq(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	return rdmapmd_poll_cq(queue, wcs, n);
}

/* The device's rounds, as if they were a burst. */
static uint16_t
settle(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue;
	(void)pkts;
	by_hand_settle();
	return n;
}

/* What is counted of a round trip. */
enum part { POST, DEVICE, POLL };

static const struct kind {
	const char *name;
	enum rdmapmd_wr_opcode opcode;
	unsigned int flags;
	enum part part;
	bool arrives; /* at the other one: there it is polled */
} kinds[] = {
	{ "post", RDMAPMD_WR_RDMA_WRITE, 0, POST, false },
	{ "post-inline", RDMAPMD_WR_RDMA_WRITE, RDMAPMD_SEND_INLINE, POST, false },
	{ "poll", RDMAPMD_WR_RDMA_WRITE, 0, POLL, false },
	{ "poll-read", RDMAPMD_WR_RDMA_READ, 0, POLL, false },
	{ "poll-receive", RDMAPMD_WR_SEND, 0, POLL, true },
	{ "device-write", RDMAPMD_WR_RDMA_WRITE, 0, DEVICE, false },
	{ "device-read", RDMAPMD_WR_RDMA_READ, 0, DEVICE, false },
	{ "device-send", RDMAPMD_WR_SEND, 0, DEVICE, true },
};

static void
fill(unsigned int bytes, const struct kind *kind)
{
	const struct rdma_end *here = &pair.ends[0], *there = &pair.ends[1];
	unsigned int i;

	sge = (struct rdmapmd_sge){ (uintptr_t)here->memory, bytes, here->mr->lkey };
	room = (struct rdmapmd_sge){ (uintptr_t)there->memory, bytes, there->mr->lkey };
	for (i = 0; i < COUNTED_BURST_MAX; i++) {
		wrs[i] = (struct rdmapmd_send_wr){ .wr_id = i,
						   .opcode = kind->opcode,
						   .sg_list = &sge,
						   .num_sge = 1,
						   .send_flags =
							   RDMAPMD_SEND_SIGNALED | kind->flags };
		wrs[i].wr.rdma.remote_addr = there->mr->iova;
		wrs[i].wr.rdma.rkey = there->mr->rkey;
		receives[i] =
			(struct rdmapmd_recv_wr){ .wr_id = i, .sg_list = &room, .num_sge = 1 };
	}
}

/* So many good completions, of requests 0, 1, ... */
static bool
all_good(unsigned int got, unsigned int expected)
{
	unsigned int i;

	for (i = 0; i < got && i < expected; i++)
		if (wcs[i].status != RDMAPMD_WC_SUCCESS || wcs[i].wr_id != i)
			break;
	if (got == expected && i == expected)
		return true;
	fprintf(stderr, "%u of %u completions, or bad ones\n", got, expected);
	return false;
}

static void
begin(struct counted *counted, const struct kind *kind, uint64_t calls)
{
	switch (kind->part) {
	case POST: counted_start(counted, post, pair.ends[0].qps[0], calls); break;
	case DEVICE: counted_start(counted, settle, NULL, calls); break;
	case POLL: counted_start(counted, poll_cq, pair.ends[kind->arrives].cq, calls); break;
	}
}

static int
round_trips(struct counted *counted, const struct kind *kind, unsigned int burst, uint64_t calls)
{
	struct rdmapmd_qp *qp = pair.ends[0].qps[0], *peer = pair.ends[1].qps[0];
	struct rdmapmd_cq *cq = pair.ends[kind->arrives].cq;
	unsigned int got;

	begin(counted, kind, calls);
	for (uint64_t call = 0; call < calls; call++) {
		if (kind->arrives && rdmapmd_post_recv(peer, receives, burst) != burst) {
			fprintf(stderr, "receive requests: %s\n", strerror(-peer->post_recv_error));
			return -EIO;
		}
		if ((kind->part == POST ? counted_burst(counted, NULL, burst)
					: rdmapmd_post_send(qp, wrs, burst)) != burst) {
			fprintf(stderr, "post: %s\n", strerror(-qp->post_send_error));
			return -EIO;
		}
		if (kind->part == DEVICE)
			counted_burst(counted, NULL, burst);
		by_hand_settle();
		got = kind->part == POLL ? counted_burst(counted, NULL, burst)
					 : rdmapmd_poll_cq(cq, wcs, burst);
		if (!all_good(got, burst))
			return -EIO;
		if (kind->arrives && !all_good(rdmapmd_poll_cq(pair.ends[0].cq, wcs, burst), burst))
			return -EIO;
	}
	return 0;
}

static int
measure(struct counted *counted, const char *name, const struct counted_plan *plan)
{
	const struct kind *kind = kinds;
	unsigned int b, n;
	int ret;

	while (kind != kinds + RTE_DIM(kinds) && strcmp(name, kind->name) != 0)
		kind++;
	if (kind == kinds + RTE_DIM(kinds)) {
		fprintf(stderr, "unknown name %s\n", name);
		return -EINVAL;
	}
	for (b = 0; b < plan->n_bytes; b++) {
		fill(plan->bytes[b], kind);
		for (n = 0; n < plan->n_bursts; n++) {
			ret = round_trips(counted, kind, plan->bursts[n], 512);
			if (ret == 0)
				ret = round_trips(counted, kind, plan->bursts[n], plan->calls);
			if (ret != 0)
				return ret;
			counted_stop(counted, name, plan->bursts[n], plan->bytes[b]);
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const char *const names[] = { "net_rnic0", "net_rnic1" };
	const struct rdma_pair_attr attr = {
		.type = RDMAPMD_QPT_RC, .qps = 1, .receives = COUNTED_BURST_MAX, .bytes = 4096
	};
	struct counted_plan plan;
	struct counted counted;
	int skip, ret;

	skip = rte_eal_init(argc, argv);
	if (skip < 0)
		return EXIT_FAILURE;
	if (counted_plan_parse(argc - skip, argv + skip, &plan) < 0)
		return 2;
	ret = rdma_pair_open(&pair, names, &attr);
	if (ret == 0) {
		by_hand_begin();
		counted_init(&counted);
		for (unsigned int i = 0; i < plan.n_names && ret == 0; i++)
			ret = measure(&counted, plan.names[i], &plan);
		if (by_hand_end() != 0 || rdma_pair_close(&pair) != 0)
			ret = -EIO;
	}
	rte_eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
