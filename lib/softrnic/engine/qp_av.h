/* SPDX-License-Identifier: BSD-3-Clause */

/* Address vectors: where datagrams go. */
#ifndef SOFTRNIC_QP_AV_H
#define SOFTRNIC_QP_AV_H

#include "softrnic/receive/qp.h"

/* Where a request's datagram goes. 0, or the syndrome if it cannot go there. */
uint8_t softrnic_qp_av_request(const struct softrnic *dev, const struct rnic_wqe_av *av,
			       struct roce_request *req);
/* The next packets of the queue pair go there. */
void softrnic_qp_av_path(const struct softrnic *dev, struct softrnic_qp *qp,
			 const struct rnic_wqe_av *av);

#endif
