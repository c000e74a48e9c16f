/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Address vectors: each datagram has one. What follows from it is kept until another one comes, so that a stream to one peer costs
 * no more than a connection's.
 */
#include <rte_branch_prediction.h>

#include "softrnic/engine/qp_av.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

#define GID_INDEX(grh_gid_fl) ((grh_gid_fl) >> RNIC_WQE_AV_GID_SHIFT & 0xff)
#define QPN_MASK	      0xffffffu

uint8_t
softrnic_qp_av_request(const struct softrnic *dev, const struct rnic_wqe_av *av,
		       struct roce_request *req)
{
	const uint32_t dqp = rnic_be32_to_cpu(av->dqp);
	const uint32_t grh_gid_fl = rnic_be32_to_cpu(av->grh_gid_fl);
	const uint32_t index = GID_INDEX(grh_gid_fl);

	/* RNIC_WQE_AV_GRH is not looked at: libmlx5 does not set it on Ethernet, where the header is there anyhow. */
	if (unlikely((dqp & RNIC_WQE_AV_EXTENDED) == 0 || index >= SOFTRNIC_ROCE_ADDRS ||
		     !dev->roce_addrs[index].valid ||
		     rnic_gid_is_ipv4(dev->roce_addrs[index].gid) != rnic_gid_is_ipv4(av->rgid)))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	req->dest_qpn = dqp & QPN_MASK;
	req->qkey = rnic_be32_to_cpu(av->qkey);
	return 0;
}

void
softrnic_qp_av_path(const struct softrnic *dev, struct softrnic_qp *qp,
		    const struct rnic_wqe_av *av)
{
	const uint32_t grh_gid_fl = rnic_be32_to_cpu(av->grh_gid_fl);
	struct rocev2_frame *frame = &qp->frame;

	if (likely(memcmp(av, &qp->av, sizeof(*av)) == 0))
		return;
	qp->av = *av;
	qp->source_index = (uint8_t)GID_INDEX(grh_gid_fl);
	memcpy(frame->dgid, av->rgid, sizeof(frame->dgid));
	memcpy(frame->sgid, dev->roce_addrs[qp->source_index].gid, sizeof(frame->sgid));
	memcpy(frame->dmac, av->rmac, sizeof(frame->dmac));
	frame->traffic_class = av->tclass;
	frame->hop_limit = av->hop_limit;
	frame->flow_label = grh_gid_fl & RNIC_WQE_AV_FLOW_LABEL;
	/* Its priority, if it has a tag. */
	frame->tci = (uint16_t)((av->stat_rate_sl >> 1 & 7) << 13);
	frame->source_port = rnic_be16_to_cpu(av->udp_sport);
	if (frame->source_port == 0)
		frame->source_port = rocev2_source_port(frame, qp->object.number,
							rnic_be32_to_cpu(av->dqp) & QPN_MASK);
	qp->route_generation = 0;
}
