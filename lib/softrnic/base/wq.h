/* SPDX-License-Identifier: BSD-3-Clause */

/* What work queues of all kinds have in common. */
#ifndef SOFTRNIC_WQ_H
#define SOFTRNIC_WQ_H

#include <errno.h>

#include <rte_branch_prediction.h>

#include "prm/queue.h"
#include "softrnic/base/ring.h"

/*
 * May MODIFY_SQ, MODIFY_RQ go from this state to that one? RST to RDY, RDY to ERR, anything to RST, and staying. Not ERR
 * to RDY (what was flushed would be lost between), not RST to ERR (there is nothing to flush).
 */
static inline bool
softrnic_wq_state_allowed(uint64_t from, uint64_t to)
{
	switch (to) {
	case RNIC_WQ_STATE_RST: return true;
	case RNIC_WQ_STATE_RDY: return from != RNIC_WQ_STATE_ERR;
	case RNIC_WQ_STATE_ERR: return from != RNIC_WQ_STATE_RST;
	default: return false;
	}
}

/* Receive WQEs that the record tells of and that are not taken: how many, or -errno. Rings may go at any time. */
static inline int
softrnic_ring_waiting(struct softrnic *dev, struct softrnic_ring *ring,
		      struct softrnic_dbrec *dbrec, uint16_t consumer, uint8_t log_size,
		      uint16_t *producer)
{
	uint32_t counter;

	if (unlikely(
		    !softrnic_dbrec_read(dev, dbrec, 0, &counter) ||
		    (ring->generation != dev->dma_generation && !softrnic_ring_refresh(dev, ring))))
		return -EFAULT;
	*producer = (uint16_t)counter;
	counter = (uint16_t)(*producer - consumer);
	return unlikely(counter > 1u << log_size) ? -EOVERFLOW : (int)counter;
}

/* Where its context, which SQs, RQs and pools have within theirs, says that it lies; `list`: the command's pages. */
static inline struct softrnic_ring_place
softrnic_wq_place(const struct rnic_wq *wq, const void *list, size_t list_bytes)
{
	return (struct softrnic_ring_place){
		.pas = list,
		.pas_bytes = list_bytes,
		.log_page_size = rnic_wq_get(wq, RNIC_WQ_LOG_WQ_PG_SZ),
		.page_offset = rnic_wq_get(wq, RNIC_WQ_PAGE_OFFSET),
		.address = { .in_umem = rnic_wq_get(wq, RNIC_WQ_WQ_UMEM_VALID) != 0,
			     .umem = (uint32_t)rnic_wq_get(wq, RNIC_WQ_WQ_UMEM_ID),
			     .at = rnic_wq_get(wq, RNIC_WQ_WQ_UMEM_OFFSET) },
	};
}

/* And its doorbell record. */
static inline struct softrnic_address
softrnic_wq_record(const struct rnic_wq *wq)
{
	return (struct softrnic_address){
		.in_umem = rnic_wq_get(wq, RNIC_WQ_DBR_UMEM_VALID) != 0,
		.umem = (uint32_t)rnic_wq_get(wq, RNIC_WQ_DBR_UMEM_ID),
		.at = rnic_wq_get(wq, RNIC_WQ_DBR_ADDR),
	};
}

#endif
