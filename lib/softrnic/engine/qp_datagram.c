/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams out: to where the WQE's address vector says, one packet each. */
#include <rte_branch_prediction.h>

#include "softrnic/engine/qp_av.h"
#include "softrnic/engine/qp_datagram.h"
#include "softrnic/engine/qp_emit.h"
#include "softrnic/engine/qp_send.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

int
softrnic_qp_gather_datagram(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
			    uint32_t length, struct iovec *pieces)
{
	const struct softrnic *dev = softrnic_qp_of(roce)->dev;

	if (unlikely(!softrnic_roce_datagram_fits(dev, length)))
		return -RNIC_SYND_LOCAL_LENGTH;
	return softrnic_qp_gather(roce, req, offset, length, pieces);
}

/* What goes to a group goes to those of its own device, too, which no wire but a loop brings back. */
static __attribute__((noinline)) void
qp_loop_back(struct softrnic *dev, const struct softrnic_qp *qp, const struct roce_pkt *pkt)
{
	const struct softrnic_roce_frame frame = {
		.head = &qp->frame,
		.pkt = pkt,
		.bytes = rocev2_frame_bytes(&qp->frame, pkt),
		.route = SOFTRNIC_ROCE_SELF,
	};

	if (dev->peer != dev && qp->route != SOFTRNIC_ROCE_NOWHERE && dev->port.link_up &&
	    softrnic_roce_takes(dev, &qp->frame))
		softrnic_roce_receive(dev, &frame);
}

void
softrnic_qp_emit_datagram(struct roce_qp *roce, const struct roce_pkt *pkt)
{
	const struct roce_requester *requests = &roce->requester;
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)softrnic_qp_request_wqe(
		qp, &requests->ring[requests->tail & requests->mask]);

	softrnic_qp_av_path(qp->dev, qp, (const struct rnic_wqe_av *)(ctrl + 1));
	softrnic_qp_emit(roce, pkt);
	if (unlikely(softrnic_eth_class(qp->frame.dmac) != SOFTRNIC_ETH_UNICAST))
		qp_loop_back(qp->dev, qp, pkt);
}
