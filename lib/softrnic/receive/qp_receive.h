/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive WQEs, for the transport. */
#ifndef SOFTRNIC_QP_RECEIVE_H
#define SOFTRNIC_QP_RECEIVE_H

#include "softrnic/receive/qp.h"

bool softrnic_qp_recv_take(struct roce_qp *roce, struct roce_recv *recv);
void softrnic_qp_recv_give_back(struct roce_qp *roce, const struct roce_recv *recv);
int softrnic_qp_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv, uint32_t offset,
			     const struct roce_pkt *pkt);
void softrnic_qp_recv_complete(struct roce_qp *roce, const struct roce_recv *recv,
			       uint8_t syndrome);
/* The same, where that pool of an XRC domain has its completions. */
void softrnic_qp_recv_complete_of(struct softrnic_qp *qp, const struct softrnic_rmp *rmp,
				  const struct roce_recv *recv, uint8_t syndrome);
/* The same of a datagram, which tells more. */
void softrnic_qp_recv_complete_datagram(struct roce_qp *roce, const struct roce_recv *recv,
					uint8_t syndrome);
/* The receive ring of its own holds WQEs that it has not taken. */
bool softrnic_qp_recv_waits(struct softrnic *dev, struct softrnic_qp *qp);

#endif
