/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The peer of rdma_instr: ibv_post_send() and ibv_poll_cq() of libmlx5, as the distribution compiled it (libmlx5.a), on a
 * reliable connected queue pair without a NIC (uverbs.h). Between two calls this program plays the device and writes the
 * completions. Only the calls are counted.
 *
 *	libmlx5_instr NAME,... BURST,... BYTES,... CALLS
 *
 * NAME: as rdma_instr's. Every request is signaled, and no lock is taken (MLX5_SINGLE_THREADED), as ours takes none.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "counted.h"
#include "uverbs.h"

#define DEPTH	 256
#define ANY_KEY	 0x1234
#define MAX_DATA 4096

static struct ibv_qp *qp;
static struct ibv_cq *cq;
static struct mlx5dv_cq ring;
static uint32_t produced;    /* completions written so far */
static uint16_t posted_sent; /* requests of a WQEBB each */
static uint16_t posted_received;
static struct ibv_send_wr wrs[COUNTED_BURST_MAX];
static struct ibv_recv_wr receives[COUNTED_BURST_MAX];
static struct ibv_wc wcs[COUNTED_BURST_MAX];
static struct ibv_sge sge;
static char memory[MAX_DATA];

/* In the shape that all programs count. A list that was not taken whole counts as nothing. */
static uint16_t
post(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ibv_send_wr *bad;

	(void)pkts;
	return ibv_post_send(queue, wrs, &bad) == 0 ? n : 0;
}

static uint16_t
poll_cq(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	return (uint16_t)ibv_poll_cq(queue, n, wcs);
}

static const struct kind {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint8_t wqe_opcode; /* that the completion repeats */
	unsigned int flags;
	bool posts;   /* the post is counted, not the poll */
	bool arrives; /* SENDs are received, none is posted here */
} kinds[] = {
	{ "post", IBV_WR_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE, 0, true, false },
	{ "post-inline", IBV_WR_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE, IBV_SEND_INLINE, true, false },
	{ "poll", IBV_WR_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE, 0, false, false },
	{ "poll-read", IBV_WR_RDMA_READ, MLX5_OPCODE_RDMA_READ, 0, false, false },
	{ "poll-receive", IBV_WR_SEND, MLX5_OPCODE_SEND, 0, false, true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* As many as posted at once, linked. */
static void
fill(const struct kind *kind, unsigned int burst, unsigned int bytes)
{
	unsigned int i;

	sge = (struct ibv_sge){ (uintptr_t)memory, bytes, ANY_KEY };
	for (i = 0; i < burst; i++) {
		bool last = i + 1 == burst;

		wrs[i] = (struct ibv_send_wr){ .wr_id = i,
					       .next = last ? NULL : &wrs[i + 1],
					       .sg_list = &sge,
					       .num_sge = 1,
					       .opcode = kind->opcode,
					       .send_flags = IBV_SEND_SIGNALED | kind->flags };
		wrs[i].wr.rdma.remote_addr = (uintptr_t)memory;
		wrs[i].wr.rdma.rkey = ANY_KEY;
		receives[i] = (struct ibv_recv_wr){ .wr_id = i,
						    .next = last ? NULL : &receives[i + 1],
						    .sg_list = &sge,
						    .num_sge = 1 };
	}
}

/* The device: everything that was posted is done. */
static void
complete(const struct kind *kind, unsigned int n, unsigned int bytes)
{
	for (; n > 0; n--, produced++) {
		char *entry = (char *)ring.buf + (produced & (ring.cqe_cnt - 1)) * ring.cqe_size;
		struct mlx5_cqe64 *cqe = (void *)(entry + ring.cqe_size - sizeof(*cqe));
		uint8_t owner = !!(produced & ring.cqe_cnt);

		memset(cqe, 0, sizeof(*cqe));
		cqe->srqn_uidx = htobe32(uverbs_last_uidx());
		cqe->byte_cnt = htobe32(bytes);
		cqe->sop_drop_qpn = htobe32((uint32_t)kind->wqe_opcode << 24 | qp->qp_num);
		cqe->wqe_counter = htobe16(kind->arrives ? posted_received++ : posted_sent++);
		cqe->op_own = (kind->arrives ? MLX5_CQE_RESP_SEND : MLX5_CQE_REQ) << 4 | owner;
	}
}

/* So many good completions, of requests 0, 1, ... */
static bool
all_good(unsigned int got, unsigned int expected)
{
	unsigned int i;

	for (i = 0; i < got && i < expected; i++)
		if (wcs[i].status != IBV_WC_SUCCESS || wcs[i].wr_id != i)
			break;
	if (got == expected && i == expected)
		return true;
	fprintf(stderr, "%u of %u completions, or bad ones\n", got, expected);
	return false;
}

static int
round_trips(struct counted *counted, const struct kind *kind, unsigned int burst,
	    unsigned int bytes, uint64_t calls)
{
	struct ibv_recv_wr *bad;
	unsigned int got;

	counted_start(counted, kind->posts ? post : poll_cq, kind->posts ? (void *)qp : (void *)cq,
		      calls);
	for (uint64_t call = 0; call < calls; call++) {
		if (kind->arrives)
			got = ibv_post_recv(qp, receives, &bad) == 0 ? burst : 0;
		else
			got = kind->posts ? counted_burst(counted, NULL, burst)
					  : post(qp, NULL, burst);
		if (got != burst) {
			fprintf(stderr, "%s: a list was not taken whole\n", kind->name);
			return -EIO;
		}
		complete(kind, burst, bytes);
		got = kind->posts ? poll_cq(cq, NULL, burst) : counted_burst(counted, NULL, burst);
		if (!all_good(got, burst))
			return -EIO;
	}
	return 0;
}

static int
measure(struct counted *counted, const char *name, const struct counted_plan *plan)
{
	const struct kind *kind = kinds;
	int ret;

	while (kind != kinds + KINDS && strcmp(name, kind->name) != 0)
		kind++;
	if (kind == kinds + KINDS) {
		fprintf(stderr, "unknown name %s\n", name);
		return -EINVAL;
	}
	for (unsigned int b = 0; b < plan->n_bytes; b++) {
		for (unsigned int n = 0; n < plan->n_bursts; n++) {
			unsigned int burst = plan->bursts[n], bytes = plan->bytes[b];

			fill(kind, burst, bytes);
			ret = round_trips(counted, kind, burst, bytes, 512);
			if (ret == 0)
				ret = round_trips(counted, kind, burst, bytes, plan->calls);
			if (ret != 0)
				return ret;
			counted_stop(counted, name, burst, bytes);
		}
	}
	return 0;
}

/* The kernel's part of this is nothing; the library's is what it sets up for the data path. */
static int
connect_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int ret;

	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	if (ret == 0)
		ret = ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	if (ret == 0)
		ret = ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	return ret;
}

static int
make_queues(void)
{
	struct ibv_context *context = uverbs_open();
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = 32 } };
	struct mlx5dv_obj objects = { 0 };
	struct ibv_pd *pd;

	if (context == NULL)
		return -ENODEV;
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 2 * DEPTH - 1, NULL, NULL, 0);
	if (pd == NULL || cq == NULL)
		return -errno;
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (qp == NULL)
		return -errno;
	objects.cq.in = cq;
	objects.cq.out = &ring;
	if (mlx5dv_init_obj(&objects, MLX5DV_OBJ_CQ) != 0 || connect_qp() != 0)
		return -EINVAL;
	return 0;
}

int
main(int argc, char **argv)
{
	struct counted_plan plan;
	struct counted counted;
	int ret;

	if (counted_plan_parse(argc, argv, &plan) < 0)
		return 2;
	setenv("MLX5_SINGLE_THREADED", "1", 1);
	ret = make_queues();
	if (ret != 0) {
		fprintf(stderr, "no queue pair: %s\n", strerror(-ret));
		return EXIT_FAILURE;
	}
	counted_init(&counted);
	for (unsigned int i = 0; i < plan.n_names && ret == 0; i++)
		ret = measure(&counted, plan.names[i], &plan);
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
