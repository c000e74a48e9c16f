/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_SQ_H
#define TEST_DRIVER_SQ_H

#include "driver.h"
#include "prm/queue.h"

struct drv_sq {
	uint32_t log_size, pd, uar, cqn, tisn, user_index;
	enum rnic_ts_format ts_format;
	bool multi_packet, flush,
		rlky; /* as the context has them: flush_in_error_en, allow_multi_pkt_send_wqe */
	uint64_t dbrec;
	struct drv_pages ring;
};

/* In state RST. */
uint32_t drv_sq_fill(void *in, const struct drv_sq *sq);
int drv_sq_create(struct drv *drv, const struct drv_sq *sq, uint32_t *sqn);
/* From, to: enum rnic_wq_state. */
uint32_t drv_sq_modify_fill(void *in, uint32_t sqn, unsigned int from, unsigned int to);
int drv_sq_modify(struct drv *drv, uint32_t sqn, unsigned int from, unsigned int to);
int drv_sq_query(struct drv *drv, uint32_t sqn, struct rnic_sqc *sqc);

#endif
