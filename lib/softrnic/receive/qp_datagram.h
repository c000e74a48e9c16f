/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams in. */
#ifndef SOFTRNIC_QP_DATAGRAM_RECEIVE_H
#define SOFTRNIC_QP_DATAGRAM_RECEIVE_H

#include "softrnic/receive/qp.h"

/* For a queue pair of datagrams that receives; what does not fit it is counted and dropped. */
void softrnic_qp_datagram_receive(struct softrnic *dev, struct softrnic_qp *qp,
				  const struct rocev2_frame *head, const struct roce_pkt *pkt);

#endif
