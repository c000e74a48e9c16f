/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "rdma_pair.h"

#define ACCESS                                                                                   \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define LINK_SECONDS 15
#define PORT_RING    64
#define FRAME_ROOM   (RTE_PKTMBUF_HEADROOM + 32) /* of an mbuf, beside the MTU */
#define ROCE_HEADERS 96				 /* a path MTU leaves so much of the port's */

static int
check(int rc, const char *what)
{
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", what, strerror(abs(rc)));
	return rc;
}
#define TRY(call)                                    \
	do {                                         \
		int rc_ = check(call, #call);        \
		if (rc_ != 0)                        \
			return rc_ < 0 ? rc_ : -rc_; \
	} while (0)

/* An MTU holds from the port's start on, which needs queues. Nobody uses them. */
static int
start_with_mtu(struct rdma_end *end, const char *name, uint16_t mtu)
{
	const struct rte_eth_conf conf = { .rxmode.mtu = mtu };

	TRY(rte_eth_dev_get_port_by_name(name, &end->port));
	TRY(rte_eth_dev_configure(end->port, 1, 1, &conf));
	end->pool = rte_pktmbuf_pool_create(name, 2 * PORT_RING - 1, 0, 0,
					    (uint16_t)(mtu + FRAME_ROOM), SOCKET_ID_ANY);
	if (end->pool == NULL)
		return check(-ENOMEM, "mbufs (-m)");
	TRY(rte_eth_rx_queue_setup(end->port, 0, PORT_RING, SOCKET_ID_ANY, NULL, end->pool));
	TRY(rte_eth_tx_queue_setup(end->port, 0, PORT_RING, SOCKET_ID_ANY, NULL));
	return check(rte_eth_dev_start(end->port), "start");
}

static int
stop(struct rdma_end *end)
{
	if (end->pool == NULL)
		return 0;
	TRY(rte_eth_dev_stop(end->port));
	TRY(rte_eth_dev_close(end->port));
	rte_mempool_free(end->pool);
	return 0;
}

static int
create_qps(struct rdma_end *end, const struct rdma_pair_attr *attr)
{
	unsigned int i;

	for (i = 0; i < attr->qps; i++) {
		struct rdmapmd_qp_init_attr init = {
			.send_cq = end->cq,
			.recv_cq = end->cq,
			.qp_type = attr->type,
			.cap = { .max_send_wr = RDMA_PAIR_DEPTH,
				 .max_recv_wr = attr->receives,
				 .max_send_sge = 1,
				 .max_recv_sge = attr->receives > 0,
				 .max_inline_data = 8 },
		};

		TRY(rdmapmd_qp_create(end->pd, &init, &end->qps[i]));
		end->max_inline = init.cap.max_inline_data;
	}
	return 0;
}

static int
open_end(struct rdma_end *end, const char *name, const struct rdma_pair_attr *attr)
{
	struct rdmapmd_cq_init_attr cq = { .cqe = attr->qps * (RDMA_PAIR_DEPTH / RDMA_PAIR_SIGNALS +
							       attr->receives) +
						  RDMA_PAIR_DEPTH };

	if (attr->mtu != 0)
		TRY(start_with_mtu(end, name, attr->mtu));
	TRY(rdmapmd_device_open_by_name(name, &end->context));
	TRY(rdmapmd_pd_alloc(end->context, &end->pd));
	end->memory = rte_zmalloc("rdma", attr->bytes, 4096);
	end->qps = calloc(attr->qps, sizeof(*end->qps));
	if (end->memory == NULL || end->qps == NULL)
		return check(-ENOMEM, "memory (-m)");
	TRY(rdmapmd_mr_reg(end->pd, end->memory, attr->bytes, ACCESS, &end->mr));
	TRY(rdmapmd_cq_create(end->context, &cq, &end->cq));
	return create_qps(end, attr);
}

static int
wait_link(struct rdma_end *end, struct rdmapmd_port_attr *port)
{
	unsigned int i;

	for (i = 0; i < LINK_SECONDS * 100; i++) {
		TRY(rdmapmd_port_query(end->context, 1, port));
		if (port->state == RDMAPMD_PORT_ACTIVE)
			return 0;
		rte_delay_us_sleep(10000);
	}
	return check(-ENOLINK, "port");
}

/* Is the path MTU the largest that fits the port's MTU? What was measured would be said of another one. */
static int
check_path(const struct rdmapmd_port_attr *port, uint16_t mtu)
{
	uint32_t path = rdmapmd_mtu_bytes(port->active_mtu);

	if (port->active_mtu == port->max_mtu || 2 * path + ROCE_HEADERS > mtu)
		return 0;
	fprintf(stderr, "MTU %u: the path MTU is %u\n", mtu, path);
	return -EINVAL;
}

static int
connect_to(struct rdmapmd_qp *qp, uint32_t qp_num, const union rdmapmd_gid *gid,
	   enum rdmapmd_mtu mtu)
{
	const struct rdmapmd_qp_peer peer = { .gid = *gid, .qp_num = qp_num, .mtu = mtu };
	const struct rdmapmd_qp_connect_opts opts = {
		.qp_access_flags = ACCESS & ~RDMAPMD_ACCESS_LOCAL_WRITE,
		.timeout = 18, /* a second: a busy machine is no lost packet */
	};

	return check(rdmapmd_qp_connect(qp, &peer, &opts), "connect");
}

static int
begin_datagrams(struct rdma_end *end, const union rdmapmd_gid *gid)
{
	const struct rdmapmd_ah_attr path = { .dgid = *gid, .hop_limit = 64, .port_num = 1 };
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT,
					.port_num = 1,
					.qkey = RDMA_PAIR_QKEY };

	TRY(rdmapmd_qp_modify(end->qps[0], &attr,
			      RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
				      RDMAPMD_QP_QKEY));
	attr.qp_state = RDMAPMD_QPS_RTR;
	TRY(rdmapmd_qp_modify(end->qps[0], &attr, RDMAPMD_QP_STATE));
	attr.qp_state = RDMAPMD_QPS_RTS;
	TRY(rdmapmd_qp_modify(end->qps[0], &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_SQ_PSN));
	return check(rdmapmd_ah_create(end->pd, &path, &end->ah), "address handle");
}

int
rdma_pair_open(struct rdma_pair *pair, const char *const names[2],
	       const struct rdma_pair_attr *attr)
{
	struct rdmapmd_gid_entry gids[2];
	struct rdmapmd_port_attr port;
	unsigned int i, q;

	*pair = (struct rdma_pair){ 0 };
	for (i = 0; i < 2; i++) {
		TRY(open_end(&pair->ends[i], names[i], attr));
		TRY(wait_link(&pair->ends[i], &port));
		if (attr->mtu != 0)
			TRY(check_path(&port, attr->mtu));
		TRY(rdmapmd_gid_query(pair->ends[i].context, 1, 0, &gids[i]));
	}
	for (i = 0; i < 2; i++) {
		if (attr->type == RDMAPMD_QPT_UD) {
			TRY(begin_datagrams(&pair->ends[i], &gids[1 - i].gid));
			continue;
		}
		for (q = 0; q < attr->qps; q++)
			TRY(connect_to(pair->ends[i].qps[q], pair->ends[1 - i].qps[q]->qp_num,
				       &gids[1 - i].gid, port.active_mtu));
	}
	return 0;
}

int
rdma_pair_close(struct rdma_pair *pair)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		/* With all that is in it. */
		TRY(rdmapmd_context_close(pair->ends[i].context));
		TRY(stop(&pair->ends[i]));
		rte_free(pair->ends[i].memory);
		free(pair->ends[i].qps);
	}
	return 0;
}
