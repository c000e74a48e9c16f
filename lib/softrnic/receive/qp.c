/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: what both ways of their data have in common. */
#include "softrnic/event/cq.h"
#include "softrnic/receive/qp.h"

void
softrnic_qp_break(struct softrnic_qp *qp, enum rnic_event what, const char *why)
{
	if (qp->broken)
		return;
	qp->broken = true;
	SOFTRNIC_LOG(INFO, qp->dev, "QP 0x%x: %s", qp->object.number, why);
	softrnic_wq_event(qp->dev, what, SOFTRNIC_EVENT_QUEUE_QP, qp->object.number);
}
