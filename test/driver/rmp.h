/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive memory pools: what SRQs are made of, and what several RQs may share. */
#ifndef TEST_DRIVER_RMP_H
#define TEST_DRIVER_RMP_H

#include "driver.h"
#include "prm/qp.h"

struct drv_rmp {
	uint32_t log_size, log_stride, pd;
	uint32_t limit; /* fewer WQEs than these are told of, once; 0: never */
	bool cyclic;	/* else WQEs are linked */
	uint64_t dbrec;
	struct drv_pages ring;
};

/* In state RDY. */
uint32_t drv_rmp_fill(void *in, const struct drv_rmp *rmp);
int drv_rmp_create(struct drv *drv, const struct drv_rmp *rmp, uint32_t *rmpn);
/* From, to: enum rnic_wq_state. */
uint32_t drv_rmp_modify_fill(void *in, uint32_t rmpn, unsigned int from, unsigned int to);
/* Of one that is ready: another limit. */
uint32_t drv_rmp_limit_fill(void *in, uint32_t rmpn, uint32_t limit);
int drv_rmp_modify(struct drv *drv, uint32_t rmpn, unsigned int from, unsigned int to);
int drv_rmp_limit_set(struct drv *drv, uint32_t rmpn, uint32_t limit);
int drv_rmp_query(struct drv *drv, uint32_t rmpn, struct rnic_rmpc *rmpc);

#endif
