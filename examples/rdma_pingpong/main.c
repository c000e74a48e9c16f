/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two queue pairs throw a message back and forth: SEND on one side, a posted receive on the other, completions polled.
 * Both are in this process, on one device whose wire is a loop, or on two that a wire joins; between two hosts each would
 * learn the other's number, address and first PSN by other means, a TCP connection for one.
 *
 *   rdma_pingpong -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [ROUNDS [PEER]]]
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

#define MESSAGE 64
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

struct side {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	struct rdmapmd_mr *mr;
	uint8_t *out, *in; /* a message each, in mr */
};

/* name: NULL for the first port. */
static void
make_side(const char *name, struct side *side)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr qp = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (name != NULL)
		TRY(rdmapmd_device_open_by_name(name, &side->context));
	else
		TRY(rdmapmd_device_open_by_port(0, &side->context));
	TRY(rdmapmd_pd_alloc(side->context, &side->pd));
	side->out = rte_zmalloc("pingpong", 2 * MESSAGE, 4096);
	if (side->out == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	side->in = side->out + MESSAGE;
	TRY(rdmapmd_mr_reg(side->pd, side->out, 2 * MESSAGE, RDMAPMD_ACCESS_LOCAL_WRITE,
			   &side->mr));
	TRY(rdmapmd_cq_create(side->context, &cq, &side->cq));
	qp.send_cq = qp.recv_cq = side->cq;
	TRY(rdmapmd_qp_create(side->pd, &qp, &side->qp));
}

/* Two hosts would tell each other this. The first PSNs are 0. */
static void
connect_to(struct rdmapmd_qp *qp, const struct side *side)
{
	struct rdmapmd_qp_peer peer = { .qp_num = side->qp->qp_num };
	struct rdmapmd_gid_entry address;
	struct rdmapmd_port_attr port;

	TRY(rdmapmd_gid_query(side->context, 1, 0, &address));
	TRY(rdmapmd_port_query(side->context, 1, &port));
	peer.gid = address.gid;
	peer.mtu = port.active_mtu;
	TRY(rdmapmd_qp_connect(qp, &peer, NULL));
}

static void
post_recv(struct side *side)
{
	const struct rdmapmd_sge sge = { (uintptr_t)side->in, MESSAGE, side->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(side->qp, &wr, 1) != 1)
		TRY(side->qp->post_recv_error);
}

static void
post_send(struct side *side)
{
	const struct rdmapmd_sge sge = { (uintptr_t)side->out, MESSAGE, side->mr->lkey };
	const struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_SEND,
					    .send_flags = RDMAPMD_SEND_SIGNALED,
					    .sg_list = &sge,
					    .num_sge = 1 };

	if (rdmapmd_post_send(side->qp, &wr, 1) != 1)
		TRY(side->qp->post_send_error);
}

/* The next completion, which must be a good one. */
static void
wait_for(struct side *side)
{
	const uint64_t end = rte_get_timer_cycles() + 10 * rte_get_timer_hz();
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(side->cq, &wc, 1) == 0)
		if (rte_get_timer_cycles() > end)
			rte_exit(EXIT_FAILURE, "no completion for 10 s\n");
	if (wc.status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "completion: %s\n", rdmapmd_wc_status_str(wc.status));
}

int
main(int argc, char **argv)
{
	const char *devices[2] = { NULL, NULL };
	uint64_t round, rounds, start, i;
	struct side sides[2];
	int used = rte_eal_init(argc, argv);

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	rounds = argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 10000;
	if (argc - used > 1)
		devices[0] = devices[1] = argv[used + 1];
	if (argc - used > 3)
		devices[1] = argv[used + 3];
	for (i = 0; i < 2; i++)
		make_side(devices[i], &sides[i]);
	for (i = 0; i < 2; i++)
		connect_to(sides[i].qp, &sides[1 - i]);

	start = rte_get_timer_cycles();
	for (round = 0; round < rounds; round++)
		for (i = 0; i < 2; i++) {
			snprintf((char *)sides[i].out, MESSAGE, "%s %" PRIu64,
				 i == 0 ? "ping" : "pong", round);
			post_recv(&sides[1 - i]);
			post_send(&sides[i]);
			wait_for(&sides[1 - i]);
			wait_for(&sides[i]);
			if (memcmp(sides[i].out, sides[1 - i].in, MESSAGE) != 0)
				rte_exit(EXIT_FAILURE, "another message has arrived\n");
		}
	printf("%" PRIu64 " round trips of %d bytes, %.2f us each; the last message: %s\n", rounds,
	       MESSAGE,
	       (double)(rte_get_timer_cycles() - start) * 1e6 / (double)rte_get_timer_hz() /
		       (double)(rounds > 0 ? rounds : 1),
	       sides[0].in);

	for (i = 0; i < 2; i++) {
		TRY(rdmapmd_qp_destroy(sides[i].qp));
		TRY(rdmapmd_cq_destroy(sides[i].cq));
		TRY(rdmapmd_mr_dereg(sides[i].mr));
		rte_free(sides[i].out);
		TRY(rdmapmd_pd_dealloc(sides[i].pd));
		TRY(rdmapmd_context_close(sides[i].context));
	}
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
