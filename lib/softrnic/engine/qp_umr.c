/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * WQEs that change memory keys (UMR): control, UMR control, the new context, translations. Their form is looked at when they are
 * fetched, the key when their turn has come.
 */
#include "softrnic/base/work.h"
#include "softrnic/engine/qp_umr.h"
#include "softrnic/memory/umr.h"

/* What one costs, in frames: it has no packet that counts. */
#define UMR_WORK 1

static struct softrnic_umr
umr_of(const struct softrnic_qp *qp, const uint8_t *wqe)
{
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)wqe;
	const struct rnic_wqe_umr *control = (const struct rnic_wqe_umr *)(ctrl + 1);
	const struct rnic_mkc *context = (const struct rnic_mkc *)(control + 1);

	return (struct softrnic_umr){
		.qpn = qp->object.number,
		.pd = qp->pd,
		.of_all_pds = qp->type == SOFTRNIC_QP_REG_UMR,
		.registers = qp->fre || qp->type == SOFTRNIC_QP_REG_UMR,
		.rlky = qp->rlky,
		.key = rnic_be32_to_cpu(ctrl->immediate),
		.control = control,
		.context = context,
		.list = context + 1,
	};
}

bool
softrnic_qp_umr_is_sound(const struct softrnic_qp *qp, const uint8_t *wqe, uint32_t length)
{
	const struct softrnic_umr umr = umr_of(qp, wqe);

	return softrnic_umr_is_sound(&umr, length - (uint32_t)sizeof(struct rnic_wqe_ctrl));
}

int
softrnic_qp_umr(struct softrnic_qp *qp, const uint8_t *wqe)
{
	const struct softrnic_umr umr = umr_of(qp, wqe);

	softrnic_spend(qp->dev, UMR_WORK);
	return softrnic_umr_execute(qp->dev, &umr) == 0 ? 0 : -RNIC_SYND_MW_BIND;
}
