/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_CQ_H
#define TEST_DRIVER_CQ_H

#include "driver.h"
#include "prm/cqe.h"

struct drv_cq {
	uint32_t log_size, uar, eqn;
	bool big, collapsed, ignore_overrun; /* big: entries of 128 bytes */
	uint16_t max_count, period_us;	     /* moderation */
	bool compressed;
	enum rnic_mini_cqe_format format;
	uint64_t dbrec;
	struct drv_pages ring;
};

uint32_t drv_cq_fill(void *in, const struct drv_cq *cq);
int drv_cq_create(struct drv *drv, const struct drv_cq *cq, uint32_t *cqn);

/* The entry at `consumer`, which is the last half of its `entry_bytes`; NULL if it is the device's yet. */
const struct rnic_cqe *drv_cqe_next(const void *ring, uint32_t log_size, uint32_t entry_bytes,
				    uint32_t consumer);

#endif
