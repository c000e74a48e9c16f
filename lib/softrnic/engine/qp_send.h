/* SPDX-License-Identifier: BSD-3-Clause */

/* The send ring. */
#ifndef SOFTRNIC_QP_SEND_H
#define SOFTRNIC_QP_SEND_H

#include "softrnic/receive/qp.h"

/* For struct softrnic_qp's data_at: of connections, of datagrams, of types whose WQEs are looked at apart. */
extern const uint8_t softrnic_qp_data_at[256], softrnic_qp_datagram_data_at[256],
	softrnic_qp_no_data_at[256];

/* Post what the driver has put into the send ring, at most `budget` WQEs; how many. */
unsigned int softrnic_qp_fetch(struct softrnic *dev, struct softrnic_qp *qp, unsigned int budget);
/* The private copy of a posted request's WQE. */
const uint8_t *softrnic_qp_request_wqe(const struct softrnic_qp *qp,
				       const struct roce_request *req);
int softrnic_qp_gather(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
		       uint32_t length, struct iovec *pieces);
int softrnic_qp_scatter(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
			const struct roce_pkt *pkt);
int softrnic_qp_scatter_atomic(struct roce_qp *roce, const struct roce_request *req,
			       uint64_t original);
int softrnic_qp_execute(struct roce_qp *roce, const struct roce_request *req);
void softrnic_qp_complete(struct roce_qp *roce, const struct roce_request *req, uint8_t syndrome);

#endif
