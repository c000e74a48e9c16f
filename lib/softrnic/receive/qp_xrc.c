/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * XRC targets: each request names the shared receive queue whose WQEs, and whose protection domain's keys, it means. That queue may be
 * destroyed at any time, also between the packets of a message that has a WQE of it: then `rmp` is NULL, and with the queue goes what
 * would have been told.
 */
#include "softrnic/receive/qp.h"
#include "softrnic/receive/qp_receive.h"
#include "softrnic/receive/qp_xrc.h"
#include "softrnic/receive/rmp.h"

int
softrnic_qp_xrc_select(struct roce_qp *roce, uint32_t srqn)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic_rmp *rmp = softrnic_rmp_find(qp->dev, srqn, true);

	qp->named = rmp != NULL && rmp->xrcd == qp->xrcd ? rmp : NULL;
	if (qp->named == NULL)
		return -RNIC_SYND_REMOTE_INVALID_REQUEST;
	qp->pd = rmp->pd;
	return 0;
}

bool
softrnic_qp_xrc_recv_take(struct roce_qp *roce, struct roce_recv *recv)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	qp->rmp = qp->named;
	return qp->rmp != NULL && softrnic_qp_recv_take(roce, recv);
}

void
softrnic_qp_xrc_recv_give_back(struct roce_qp *roce, const struct roce_recv *recv)
{
	if (softrnic_qp_of(roce)->rmp != NULL)
		softrnic_qp_recv_give_back(roce, recv);
}

int
softrnic_qp_xrc_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv, uint32_t offset,
			     const struct roce_pkt *pkt)
{
	/* Another queue has the number of the one that has gone. */
	if (softrnic_qp_of(roce)->rmp == NULL)
		return -RNIC_SYND_LOCAL_QP_OPERATION;
	return softrnic_qp_recv_scatter(roce, recv, offset, pkt);
}

void
softrnic_qp_xrc_recv_complete(struct roce_qp *roce, const struct roce_recv *recv, uint8_t syndrome)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	if (qp->rmp != NULL)
		softrnic_qp_recv_complete_of(qp, qp->rmp, recv, syndrome);
}
