/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs in: addresses, port, and the queue pair that they are for, while the sender waits. */
#include <rte_branch_prediction.h>

#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"

#define COMPLETIONS_FREE 16 /* of an answer; two of the others are like a frame */

/* Is it for us, and does it come the way that the queue pair's path says? */
static inline bool
roce_path_fits(const struct softrnic *dev, const struct softrnic_qp *qp,
	       const struct softrnic_roce_frame *frame)
{
	const struct softrnic_roce_addr *own = &dev->roce_addrs[qp->source_index];

	return own->valid && memcmp(frame->dgid, own->gid, sizeof(own->gid)) == 0 &&
	       memcmp(frame->sgid, qp->dgid, sizeof(qp->dgid)) == 0;
}

static inline bool
qp_receives(const struct softrnic_qp *qp)
{
	return qp->roce.state >= ROCE_RTR && qp->roce.state != ROCE_ERR;
}

void
softrnic_roce_receive(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic_port *port = &dev->port;
	enum softrnic_eth_class class = softrnic_eth_class(frame->dmac);
	struct softrnic_qp *qp;
	uint32_t done;

	/* A function without a driver takes nothing. */
	if (unlikely(dev->state != SOFTRNIC_HCA_READY || dev->dead)) {
		dev->stats.rx_unmatched++;
		return;
	}
	if (unlikely(frame->bytes > softrnic_eth_frame_max(dev))) {
		port->counters.rx_errors++;
		dev->stats.rx_errors++;
		return;
	}
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += frame->bytes;
	softrnic_port_count_length(port, frame->bytes);
	if (unlikely(!softrnic_eth_own_address(port, frame->dmac))) {
		port->counters.rx_packets[class]++;
		port->counters.rx_bytes[class] += frame->bytes;
		port->counters.rx_foreign_packets[class]++;
		port->counters.rx_foreign_bytes[class] += frame->bytes;
		dev->stats.roce_dropped++;
		return;
	}
	port->counters.rx_rdma_packets[class]++;
	port->counters.rx_rdma_bytes[class] += frame->bytes;
	if (unlikely(frame->corrupt)) {
		dev->stats.roce_icrc_errors++;
		return;
	}
	if (unlikely(!port->roce_enabled || frame->pkey != SOFTRNIC_PKEY)) {
		dev->stats.roce_dropped++;
		return;
	}
	qp = softrnic_object_get(dev, SOFTRNIC_QP, frame->pkt->dest_qpn);
	if (unlikely(qp == NULL)) {
		dev->stats.roce_unknown_qp++;
		return;
	}
	if (unlikely(!qp_receives(qp) || !roce_path_fits(dev, qp, frame))) {
		dev->stats.roce_dropped++;
		return;
	}
	done = qp->roce.requester.tail;
	roce_qp_receive(&qp->roce, frame->pkt, dev->now);
	/* One answer may end hundreds of requests, each with a completion. */
	done = qp->roce.requester.tail - done;
	if (unlikely(done > COMPLETIONS_FREE))
		softrnic_spend(dev, done / 2);
	softrnic_qp_activate(dev, qp);
}
