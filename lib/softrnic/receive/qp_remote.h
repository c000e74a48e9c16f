/* SPDX-License-Identifier: BSD-3-Clause */

/* What peers ask of our memory, for the transport. */
#ifndef SOFTRNIC_QP_REMOTE_H
#define SOFTRNIC_QP_REMOTE_H

#include "softrnic/roce/roce.h"

int softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			     enum roce_access access);
int softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
			     const struct roce_pkt *pkt);
int softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			    struct iovec *pieces);
int softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt, uint64_t *original);
int softrnic_qp_remote_invalidate(struct roce_qp *roce, uint32_t rkey);

#endif
