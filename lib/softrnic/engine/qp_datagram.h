/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams out, for the transport. */
#ifndef SOFTRNIC_QP_DATAGRAM_H
#define SOFTRNIC_QP_DATAGRAM_H

#include "softrnic/roce/roce.h"

void softrnic_qp_emit_datagram(struct roce_qp *roce, const struct roce_pkt *pkt);
int softrnic_qp_gather_datagram(struct roce_qp *roce, const struct roce_request *req,
				uint32_t offset, uint32_t length, struct iovec *pieces);

#endif
