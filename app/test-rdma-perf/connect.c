/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs from RESET to RTS, and back. */
#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "end_private.h"
#include "interrupt.h"
#include "say.h"

#define PORT	     1
#define LINK_MS	     4000
#define LINK_LOOK_MS 10

int
perf_end_wait_link(struct perf_end *end)
{
	unsigned int ms;
	int rc;

	for (ms = 0; ms < LINK_MS && !perf_interrupted(); ms += LINK_LOOK_MS) {
		rc = rdmapmd_port_query(end->context, PORT, &end->port);
		if (rc != 0)
			return perf_end_cannot(end, rc, "query its port");
		if (end->port.state == RDMAPMD_PORT_ACTIVE)
			return 0;
		rte_delay_us_sleep(1000 * LINK_LOOK_MS);
	}
	if (perf_interrupted())
		return -EINTR;
	return perf_fail(
		-ENOLINK,
		"%s: the port has no link: see to its cable, or to the wire that its device was "
		"given",
		end->device);
}

static enum rdmapmd_mtu
mtu_of(uint32_t bytes)
{
	enum rdmapmd_mtu mtu = RDMAPMD_MTU_256;

	while (mtu < RDMAPMD_MTU_4096 && rdmapmd_mtu_bytes(mtu) < bytes)
		mtu++;
	return mtu;
}

static struct rdmapmd_ah_attr
path_to_peer(const struct perf_end *end)
{
	return (struct rdmapmd_ah_attr){
		.dgid = end->peer.gid,
		.sgid_index = (uint8_t)end->options->gid_index,
		.hop_limit = 64,
		.port_num = PORT,
	};
}

static uint8_t
or_none(uint32_t value)
{
	return value != 0 ? (uint8_t)value : RDMAPMD_CONNECT_NONE;
}

static int
connect_connected(struct perf_end *end, struct perf_queue *queue)
{
	const struct rdmapmd_qp_peer peer = {
		.gid = end->peer.gid,
		.qp_num = queue->peer_qp_num,
		.psn = queue->peer_psn,
		.mtu = mtu_of(end->mtu),
	};
	struct rdmapmd_qp_connect_opts opts = {
		.path = path_to_peer(end),
		.psn = queue->psn,
		.qp_access_flags = RDMAPMD_ACCESS_REMOTE_WRITE,
		.max_dest_rd_atomic = or_none(end->out_reads),
		.max_rd_atomic = or_none(RTE_MIN(end->out_reads, end->peer.out_reads)),
		.timeout = or_none(end->options->timeout),
	};

	if (end->options->transport == RDMAPMD_QPT_RC)
		opts.qp_access_flags |= RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC;
	return rdmapmd_qp_connect(queue->qp, &peer, &opts);
}

static int
connect_datagram(struct perf_queue *queue)
{
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT,
					.port_num = PORT,
					.qkey = PERF_QKEY };
	int rc = rdmapmd_qp_modify(queue->qp, &attr,
				   RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
					   RDMAPMD_QP_QKEY);

	attr.qp_state = RDMAPMD_QPS_RTR;
	if (rc == 0)
		rc = rdmapmd_qp_modify(queue->qp, &attr, RDMAPMD_QP_STATE);
	attr.qp_state = RDMAPMD_QPS_RTS;
	attr.sq_psn = queue->psn;
	if (rc == 0)
		rc = rdmapmd_qp_modify(queue->qp, &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_SQ_PSN);
	return rc;
}

static int
connect_queues(struct perf_end *end)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < end->options->qps; i++)
		rc = end->options->transport == RDMAPMD_QPT_UD
			     ? connect_datagram(&end->queues[i])
			     : connect_connected(end, &end->queues[i]);
	return rc == 0 ? 0 : perf_end_cannot(end, rc, "connect a queue pair");
}

int
perf_end_connect(struct perf_end *end)
{
	const struct rdmapmd_ah_attr path = path_to_peer(end);
	uint32_t i;
	int rc = perf_end_wait_link(end);

	if (rc != 0)
		return rc;
	end->mtu = RTE_MIN(end->mtu, end->peer.mtu);
	if (end->options->transport == RDMAPMD_QPT_UD)
		end->size_max = RTE_MIN(end->size_max, end->mtu);
	for (i = 0; i < end->options->qps; i++) {
		end->queues[i].peer_out =
			end->peer.vaddr + perf_layout_parts(end->options) * end->part * i;
		end->queues[i].peer_in = end->queues[i].peer_out + end->part;
		end->queues[i].peer_last = end->queues[i].peer_in + end->part;
	}
	if (end->options->transport == RDMAPMD_QPT_UD && end->ah == NULL) {
		rc = rdmapmd_ah_create(end->pd, &path, &end->ah);
		if (rc != 0)
			return perf_end_cannot(end, rc, "make an address handle");
	}
	return connect_queues(end);
}

int
perf_end_reconnect(struct perf_end *end)
{
	const struct rdmapmd_qp_attr reset = { .qp_state = RDMAPMD_QPS_RESET };
	struct rdmapmd_wc wc[16];
	uint32_t i;
	int rc;

	for (i = 0; i < end->options->qps; i++) {
		rc = rdmapmd_qp_modify(end->queues[i].qp, &reset, RDMAPMD_QP_STATE);
		if (rc != 0)
			return perf_end_cannot(end, rc, "reset a queue pair");
	}
	for (i = 0; i < end->options->lcores; i++)
		while (rdmapmd_poll_cq(end->workers[i].cq, wc, RTE_DIM(wc)) > 0)
			;
	return connect_queues(end);
}
