/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs whose doorbell records each poll looks at. */
#ifndef SOFTRNIC_QP_WATCH_H
#define SOFTRNIC_QP_WATCH_H

#include "softrnic/receive/qp.h"

/* There is a slot for one QP more, or one less. RNIC_STATUS_OK or NO_RES. */
int softrnic_qp_watch_open(struct softrnic *dev);
void softrnic_qp_watch_close(struct softrnic *dev);
/* Its record has just been read: look at it in each poll, and give it a turn when it says more than it did now. */
void softrnic_qp_watch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_unwatch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_watch_poll(struct softrnic *dev);
/* Their pointers are given up; those of the next poll are found anew. */
void softrnic_qp_watch_forget(struct softrnic *dev);
#ifdef SOFTRNIC_DMA_AUDIT
bool softrnic_qp_watch_holds(const struct softrnic *dev);
#endif

#endif
