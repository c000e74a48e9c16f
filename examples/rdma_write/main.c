/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One side writes into the other's memory, reads it back, and counts in it with an atomic; the other side does nothing
 * but name its memory: an address and a key. Both are in this process and on one device, whose wire is a loop.
 *
 *   rdma_write -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [BYTES]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define REMOTE                                                                                   \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

/* RESET, INIT, RTR, RTS: what each step needs is the table at rdmapmd_qp_modify(). */
static void
connect_to(struct rdmapmd_qp *qp, uint32_t peer, union rdmapmd_gid address, enum rdmapmd_mtu mtu)
{
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT, .port_num = 1 };

	/* What the peer may do here at all; what it may do with which memory, each key says. */
	attr.qp_access_flags = REMOTE & ~RDMAPMD_ACCESS_LOCAL_WRITE;
	TRY(rdmapmd_qp_modify(qp, &attr,
			      RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
				      RDMAPMD_QP_ACCESS_FLAGS));
	attr.qp_state = RDMAPMD_QPS_RTR;
	attr.path_mtu = mtu;
	attr.dest_qp_num = peer;
	attr.min_rnr_timer = 12;
	attr.max_dest_rd_atomic = 4; /* READs and atomics of the peer, at a time */
	attr.ah_attr = (struct rdmapmd_ah_attr){ .dgid = address, .hop_limit = 64, .port_num = 1 };
	TRY(rdmapmd_qp_modify(qp, &attr,
			      RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU |
				      RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN |
				      RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER));
	attr.qp_state = RDMAPMD_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4; /* ... of ours */
	TRY(rdmapmd_qp_modify(qp, &attr,
			      RDMAPMD_QP_STATE | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
				      RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_SQ_PSN |
				      RDMAPMD_QP_MAX_QP_RD_ATOMIC));
}

/* Post one request, wait for its completion, say what it was. */
static void
execute(struct rdmapmd_qp *qp, const char *what, const struct rdmapmd_send_wr *wr)
{
	const uint64_t start = rte_get_timer_cycles(), hz = rte_get_timer_hz();
	struct rdmapmd_wc wc;

	if (rdmapmd_post_send(qp, wr, 1) != 1)
		TRY(qp->post_send_error);
	while (rdmapmd_poll_cq(qp->send_cq, &wc, 1) == 0)
		if (rte_get_timer_cycles() > start + 10 * hz)
			rte_exit(EXIT_FAILURE, "%s: no completion for 10 s\n", what);
	if (wc.status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "%s: %s\n", what, rdmapmd_wc_status_str(wc.status));
	printf("%s of %" PRIu32 " bytes: %.1f us\n", what, wr->sg_list->length,
	       (double)(rte_get_timer_cycles() - start) * 1e6 / (double)hz);
}

int
main(int argc, char **argv)
{
	struct rdmapmd_qp_init_attr attr = { .qp_type = RDMAPMD_QPT_RC,
					     .cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	const struct rdmapmd_cq_init_attr cq_attr = { .cqe = 16 };
	struct rdmapmd_mr *source, *target, *result;
	struct rdmapmd_send_wr wr = { .send_flags = RDMAPMD_SEND_SIGNALED, .num_sge = 1 };
	struct rdmapmd_context *context;
	struct rdmapmd_gid_entry own;
	struct rdmapmd_port_attr port;
	struct rdmapmd_qp *qp, *peer;
	struct rdmapmd_sge sge;
	struct rdmapmd_cq *cq;
	struct rdmapmd_pd *pd;
	uint8_t *from, *to, *back;
	uint64_t *counter, old;
	uint32_t bytes, i;
	int used = rte_eal_init(argc, argv);

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	bytes = argc - used > 2 ? (uint32_t)strtoul(argv[used + 2], NULL, 10) & ~7u : 1 << 20;
	if (argc - used > 1)
		TRY(rdmapmd_device_open_by_name(argv[used + 1], &context));
	else
		TRY(rdmapmd_device_open_by_port(0, &context));
	TRY(rdmapmd_port_query(context, 1, &port));
	TRY(rdmapmd_gid_query(context, 1, 0, &own));
	TRY(rdmapmd_pd_alloc(context, &pd));
	TRY(rdmapmd_cq_create(context, &cq_attr, &cq));
	attr.send_cq = attr.recv_cq = cq;
	TRY(rdmapmd_qp_create(pd, &attr, &qp));
	TRY(rdmapmd_qp_create(pd, &attr, &peer));
	connect_to(qp, peer->qp_num, own.gid, port.active_mtu);
	connect_to(peer, qp->qp_num, own.gid, port.active_mtu);

	/* The peer's memory: the data, and a counter behind it. */
	to = rte_zmalloc("target", bytes + sizeof(*counter), 4096);
	from = rte_malloc("source", bytes + 1, 4096);
	back = rte_zmalloc("result", bytes + sizeof(old), 4096);
	if (to == NULL || from == NULL || back == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	counter = (uint64_t *)(to + bytes);
	TRY(rdmapmd_mr_reg(pd, to, bytes + sizeof(*counter), REMOTE, &target));
	TRY(rdmapmd_mr_reg(pd, from, bytes + 1, 0, &source)); /* only read, and only from here */
	TRY(rdmapmd_mr_reg(pd, back, bytes + sizeof(old), RDMAPMD_ACCESS_LOCAL_WRITE, &result));
	for (i = 0; i < bytes; i++)
		from[i] = (uint8_t)(i * 31 + (i >> 8));

	wr.sg_list = &sge;
	wr.opcode = RDMAPMD_WR_RDMA_WRITE;
	sge = (struct rdmapmd_sge){ (uintptr_t)from, bytes, source->lkey };
	wr.wr.rdma.remote_addr = target->iova;
	wr.wr.rdma.rkey = target->rkey;
	execute(qp, "WRITE", &wr);
	wr.opcode = RDMAPMD_WR_RDMA_READ;
	sge = (struct rdmapmd_sge){ (uintptr_t)back, bytes, result->lkey };
	execute(qp, "READ", &wr);
	if (memcmp(from, to, bytes) != 0 || memcmp(from, back, bytes) != 0)
		rte_exit(EXIT_FAILURE, "what was read is not what was written\n");

	wr.opcode = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD;
	sge = (struct rdmapmd_sge){ (uintptr_t)back + bytes, sizeof(old), result->lkey };
	wr.wr.atomic.remote_addr = target->iova + bytes;
	wr.wr.atomic.rkey = target->rkey;
	wr.wr.atomic.compare_add = 42;
	for (i = 0; i < 2; i++) {
		execute(qp, "FETCH_AND_ADD", &wr);
		memcpy(&old, back + bytes, sizeof(old));
		printf("the counter was %" PRIu64 " and is %" PRIu64 "\n", old, *counter);
	}

	TRY(rdmapmd_qp_destroy(qp));
	TRY(rdmapmd_qp_destroy(peer));
	TRY(rdmapmd_cq_destroy(cq));
	TRY(rdmapmd_mr_dereg(target));
	TRY(rdmapmd_mr_dereg(source));
	TRY(rdmapmd_mr_dereg(result));
	TRY(rdmapmd_pd_dealloc(pd));
	TRY(rdmapmd_context_close(context));
	rte_free(to);
	rte_free(from);
	rte_free(back);
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
