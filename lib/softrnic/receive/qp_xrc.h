/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive WQEs and keys of an XRC target, for the transport. */
#ifndef SOFTRNIC_QP_XRC_H
#define SOFTRNIC_QP_XRC_H

#include "softrnic/roce/roce.h"

int softrnic_qp_xrc_select(struct roce_qp *roce, uint32_t srqn);
bool softrnic_qp_xrc_recv_take(struct roce_qp *roce, struct roce_recv *recv);
void softrnic_qp_xrc_recv_give_back(struct roce_qp *roce, const struct roce_recv *recv);
int softrnic_qp_xrc_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv,
				 uint32_t offset, const struct roce_pkt *pkt);
void softrnic_qp_xrc_recv_complete(struct roce_qp *roce, const struct roce_recv *recv,
				   uint8_t syndrome);

#endif
