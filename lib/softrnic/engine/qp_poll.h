/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs in time: for the commands, and for who polls the device. */
#ifndef SOFTRNIC_QP_POLL_H
#define SOFTRNIC_QP_POLL_H

#include "softrnic/receive/qp.h"

/*
 * The last step of CREATE_QP, with everything above filled and no number yet: memory for requests and copies of WQEs,
 * state RST. RNIC_STATUS_OK, or NO_RES (the device's budget for such memory is used up, or the system has none).
 */
int softrnic_qp_open(struct softrnic *dev, struct softrnic_qp *qp);
/* Off all lists, memory given back; no host memory is touched, nothing completes. */
void softrnic_qp_close(struct softrnic *dev, struct softrnic_qp *qp);
/*
 * Change the state; attr as in roce_qp_modify(). What must be flushed or drained is, by the polls that follow. To RST:
 * counters of the rings are 0 again. RNIC_STATUS_OK; BAD_QP_STATE: no such change; BAD_PARAM: a value.
 */
int softrnic_qp_change(struct softrnic *dev, struct softrnic_qp *qp, enum roce_state to,
		       const struct roce_attr *attr);
/* What QUERY_QP reports of a QP beyond its context: state (SQ_DRAINING included), counters, PSNs. */
void softrnic_qp_report(const struct softrnic_qp *qp, struct rnic_qpc *qpc);

/* Kick: look at the queue pair of this number (a doorbell named it). */
void softrnic_qp_doorbell(struct softrnic *dev, uint32_t qpn);
/* Look at the records of the next so many QPs: repairs doorbells that were lost on a shared page. */
void softrnic_qp_sweep(struct softrnic *dev, unsigned int count);
/* Execute WQEs, send what is due, look at timers: the work done. Direct call from softrnic_poll(), behind the SQs. */
unsigned int softrnic_qps_poll(struct softrnic *dev);
/* Is there anything that it could look at? */
static inline bool
softrnic_qps_wait(const struct softrnic *dev)
{
	return dev->qp_watch.count > 0 || !TAILQ_EMPTY(&dev->active_qps) ||
	       !TAILQ_EMPTY(&dev->timed_qps);
}

#endif
