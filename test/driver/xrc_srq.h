/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues of XRC domains. */
#ifndef TEST_DRIVER_XRC_SRQ_H
#define TEST_DRIVER_XRC_SRQ_H

#include "driver.h"
#include "prm/qp.h"

struct drv_xrc_srq {
	uint32_t log_size, log_stride, pd, xrcd, cqn, user_index;
	uint32_t limit; /* fewer WQEs than these are told of, once; 0: never */
	bool cyclic;	/* else WQEs are linked */
	uint64_t dbrec;
	struct drv_pages ring;
};

uint32_t drv_xrc_srq_fill(void *in, const struct drv_xrc_srq *srq);
int drv_xrc_srq_create(struct drv *drv, const struct drv_xrc_srq *srq, uint32_t *srqn);
uint32_t drv_xrc_srq_arm_fill(void *in, uint32_t srqn, uint32_t limit);
int drv_xrc_srq_arm(struct drv *drv, uint32_t srqn, uint32_t limit);
int drv_xrc_srq_query(struct drv *drv, uint32_t srqn, struct rnic_xrc_srqc *srqc);

#endif
