/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_RQ_H
#define TEST_DRIVER_RQ_H

#include "driver.h"
#include "prm/queue.h"

struct drv_rq {
	uint32_t log_size, log_stride, pd, cqn, counter, user_index;
	enum rnic_ts_format ts_format;
	bool vsd, flush; /* as the context has them: VLAN tags stay; flush_in_error_en */
	uint32_t
		rmpn; /* not 0: its WQEs are the RMP's, and the queue has neither ring nor record */
	uint64_t dbrec;
	struct drv_pages ring;
};

/* In state RST. */
uint32_t drv_rq_fill(void *in, const struct drv_rq *rq);
int drv_rq_create(struct drv *drv, const struct drv_rq *rq, uint32_t *rqn);
/* From, to: enum rnic_wq_state. */
int drv_rq_modify(struct drv *drv, uint32_t rqn, unsigned int from, unsigned int to);
/* In RDY: the fields of `rqc` that `bitmask` names (RNIC_MODIFY_RQ_...). */
int drv_rq_change(struct drv *drv, uint32_t rqn, uint64_t bitmask, const struct rnic_rqc *rqc);
int drv_rq_query(struct drv *drv, uint32_t rqn, struct rnic_rqc *rqc);

#endif
