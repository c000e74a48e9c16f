/* SPDX-License-Identifier: BSD-3-Clause */

#include "wq.h"

void
drv_wq_put(struct rnic_wq *wq, uint32_t pd, uint64_t dbrec, uint32_t log_stride, uint32_t log_size)
{
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, dbrec);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, log_size);
}
