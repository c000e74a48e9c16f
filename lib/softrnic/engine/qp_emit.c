/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of queue pairs out: addresses, port, faults or wire, and the queue pair at its other end, all of it while the
 * sender waits. Only softrnic_qps_poll() emits, so one packet never leads to another before its call has returned.
 */
#include <rte_branch_prediction.h>

#include "softrnic/engine/qp_emit.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/qp.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/roce.h"

/* Where its packets go, and from where, as the tables of addresses have it now. */
static __attribute__((noinline)) void
qp_route(struct softrnic *dev, struct softrnic_qp *qp)
{
	const struct softrnic_roce_addr *source = &dev->roce_addrs[qp->source_index];
	const struct roce_pkt empty = { .opcode = ROCE_SEND_ONLY };
	struct rocev2_frame *frame = &qp->frame;

	memcpy(frame->smac, source->mac, sizeof(frame->smac));
	memcpy(frame->sgid, source->gid, sizeof(frame->sgid));
	frame->tagged = source->tagged;
	frame->tci = (uint16_t)((frame->tci & ~ROCEV2_VLAN_MASK) | source->vlan);
	frame->pkey = SOFTRNIC_PKEY;
	frame->mig_req = true;
	frame->prefixes = qp->prefixes;
	memset(qp->prefixes, 0, sizeof(qp->prefixes));
	qp->frame_bytes = rocev2_frame_bytes(frame, &empty);
	qp->route = source->valid && dev->port.roce_enabled ? softrnic_roce_route(dev, frame)
							    : SOFTRNIC_ROCE_NOWHERE;
	qp->route_generation = dev->roce_generation;
}

void
softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic *dev = qp->dev;
	struct softrnic_port *port = &dev->port;
	struct softrnic_roce_frame frame;
	enum softrnic_eth_class class;

	if (unlikely(qp->route_generation != dev->roce_generation))
		qp_route(dev, qp);
	frame.head = &qp->frame;
	frame.pkt = pkt;
	frame.bytes =
		qp->frame_bytes + rocev2_opcodes[pkt->opcode].bytes + ((pkt->length + 3) & ~3u);
	frame.route = qp->route;
	frame.corrupt = false;
	dev->qps_work += pkt->length;
	if (unlikely(frame.route == SOFTRNIC_ROCE_NOWHERE || !port->link_up ||
		     frame.bytes > softrnic_eth_frame_max(dev))) {
		port->counters.tx_errors++;
		dev->stats.tx_errors++;
		return;
	}
	class = softrnic_eth_class(frame.head->dmac);
	port->counters.tx_rdma_packets[class]++;
	port->counters.tx_rdma_bytes[class] += frame.bytes;
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += frame.bytes;
	/* What comes back to the device past the wire meets none of its faults. */
	if (unlikely(dev->faults != NULL) &&
	    (frame.route != SOFTRNIC_ROCE_SELF || dev->peer == dev))
		softrnic_faults_send_roce(dev, &frame);
	else
		softrnic_roce_wire_send(dev, &frame);
}
