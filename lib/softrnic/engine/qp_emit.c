/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of queue pairs out: addresses, port, faults or wire, and the queue pair at its other end, all of it while the
 * sender waits. Only softrnic_qps_poll() emits, so one packet never leads to another before its call has returned.
 */
#include <rte_branch_prediction.h>

#include "softrnic/engine/qp_emit.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/qp.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/roce.h"

void
softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic *dev = qp->dev;
	const struct softrnic_roce_addr *source = &dev->roce_addrs[qp->source_index];
	struct softrnic_port *port = &dev->port;
	struct softrnic_roce_frame frame;
	enum softrnic_eth_class class;

	memcpy(frame.smac, source->mac, sizeof(frame.smac));
	memcpy(frame.dmac, qp->dmac, sizeof(frame.dmac));
	memcpy(frame.sgid, source->gid, sizeof(frame.sgid));
	memcpy(frame.dgid, qp->dgid, sizeof(frame.dgid));
	frame.pkey = SOFTRNIC_PKEY;
	frame.corrupt = false;
	frame.pkt = pkt;
	frame.bytes = softrnic_roce_frame_bytes(&frame);
	dev->qps_work += pkt->length;
	if (unlikely(!source->valid || !port->roce_enabled || !port->rdma_up ||
		     frame.bytes > softrnic_eth_frame_max(dev))) {
		port->counters.tx_errors++;
		dev->stats.tx_errors++;
		return;
	}
	class = softrnic_eth_class(frame.dmac);
	port->counters.tx_rdma_packets[class]++;
	port->counters.tx_rdma_bytes[class] += frame.bytes;
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += frame.bytes;
	if (unlikely(dev->faults != NULL))
		softrnic_faults_send_roce(dev, &frame);
	else
		softrnic_roce_wire_send(dev, &frame);
}
