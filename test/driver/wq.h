/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_WQ_H
#define TEST_DRIVER_WQ_H

#include "driver.h"
#include "prm/queue.h"

/* What is common to the rings of SQs and RQs: cyclic, so many WQEs of 2^log_stride bytes. */
void drv_wq_put(struct rnic_wq *wq, uint32_t pd, uint64_t dbrec, uint32_t log_stride,
		uint32_t log_size);

#endif
