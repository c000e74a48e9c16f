/* SPDX-License-Identifier: BSD-3-Clause */

/* Of the world of queue pairs: shared receive queues. */
#include <rte_common.h>

#include "driver/rmp.h"
#include "driver/xrc_srq.h"
#include "qp_world.h"

#define PAGE 4096u

/* Its memory; where the ring is. */
static struct drv_pages
srq_memory(struct qw_end *end, struct qw_srq *srq, uint32_t log_size, uint32_t log_stride)
{
	const size_t bytes = (size_t)1 << (log_size + log_stride);

	*srq = (struct qw_srq){
		.end = end,
		.log_size = log_size,
		.log_stride = log_stride,
		.ring = dp_alloc(&end->dp, RTE_ALIGN_CEIL(bytes, PAGE), PAGE),
		.dbrec = dp_alloc(&end->dp, sizeof(*srq->dbrec), 64),
	};
	return drv_pages_of(dp_iova(&end->dp, srq->ring), bytes);
}

int
qw_srq_try(struct qw_end *end, struct qw_srq *srq, uint32_t log_size, uint32_t log_stride,
	   uint32_t limit)
{
	struct drv_rmp told = {
		.log_size = log_size, .log_stride = log_stride, .pd = end->dp.pd, .limit = limit
	};

	told.ring = srq_memory(end, srq, log_size, log_stride);
	told.dbrec = dp_iova(&end->dp, srq->dbrec);
	return drv_rmp_create(&end->dp.drv, &told, &srq->rmpn);
}

int
qw_xrc_srq_try(struct qw_end *end, struct qw_srq *srq, const struct qw_xrc_conf *conf)
{
	struct drv_xrc_srq told = {
		.log_size = conf->log_size,
		.log_stride = conf->log_stride,
		.pd = conf->pd != 0 ? conf->pd : end->dp.pd,
		.xrcd = conf->xrcd,
		.cqn = conf->cq->cqn,
		.user_index = conf->user_index,
		.limit = conf->limit,
	};

	told.ring = srq_memory(end, srq, conf->log_size, conf->log_stride);
	told.dbrec = dp_iova(&end->dp, srq->dbrec);
	return drv_xrc_srq_create(&end->dp.drv, &told, &srq->rmpn);
}

void
qw_srq_create(struct qw_end *end, struct qw_srq *srq, uint32_t log_size, uint32_t log_stride,
	      uint32_t limit)
{
	assert_int_equal(qw_srq_try(end, srq, log_size, log_stride, limit), 0);
}

void
qw_srq_write(struct qw_srq *srq, uint16_t index, uint16_t next, void *data, uint32_t bytes)
{
	struct rnic_wqe_next *head =
		(struct rnic_wqe_next *)(srq->ring + ((size_t)index << srq->log_stride));
	struct rnic_wqe_data *segment = (struct rnic_wqe_data *)(head + 1);

	head->next_wqe_index = rnic_cpu_to_be16(next);
	segment[0].byte_count = rnic_cpu_to_be32(bytes);
	segment[0].lkey = rnic_cpu_to_be32(srq->end->key);
	segment[0].address = rnic_cpu_to_be64((uintptr_t)data);
	if (srq->log_stride > 5) {
		segment[1].byte_count = rnic_cpu_to_be32(0);
		segment[1].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
	}
}

void
qw_srq_post(struct qw_srq *srq, uint16_t count)
{
	srq->producer = (uint16_t)(srq->producer + count);
	__atomic_store_n(&srq->dbrec->receive_counter.raw, RNIC_SWAP32(srq->producer),
			 __ATOMIC_RELEASE);
}
