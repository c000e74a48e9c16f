/* SPDX-License-Identifier: BSD-3-Clause */

#include "cq.h"

uint32_t
drv_cq_fill(void *in, const struct drv_cq *cq)
{
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(in);

	drv_head(in, RNIC_CMD_CREATE_CQ, 0);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, cq->big ? RNIC_CQE_SIZE_128 : RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_CC, cq->collapsed);
	rnic_cqc_set(cqc, RNIC_CQC_OI, cq->ignore_overrun);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_COMP_EN, cq->compressed);
	rnic_cqc_set(cqc, RNIC_CQC_MINI_CQE_RES_FORMAT, cq->format);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_MAX_COUNT, cq->max_count);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_PERIOD, cq->period_us);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, cq->log_size);
	rnic_cqc_set(cqc, RNIC_CQC_UAR_PAGE, cq->uar);
	rnic_cqc_set(cqc, RNIC_CQC_C_EQN, cq->eqn);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, cq->dbrec);
	return drv_pages_put(in, sizeof(struct rnic_create_cq_in), &cq->ring);
}

int
drv_cq_create(struct drv *drv, const struct drv_cq *cq, uint32_t *cqn)
{
	void *in = drv_in(sizeof(struct rnic_create_cq_in) + cq->ring.count * 8ul);

	return drv_create(drv, in, drv_cq_fill(in, cq), cqn);
}

const struct rnic_cqe *
drv_cqe_next(const void *ring, uint32_t log_size, uint32_t entry_bytes, uint32_t consumer)
{
	const uint32_t slot = consumer & ((1u << log_size) - 1);
	const struct rnic_cqe *cqe =
		(const void *)((const uint8_t *)ring + (slot + 1ul) * entry_bytes - sizeof(*cqe));
	const uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	if ((op_own & RNIC_CQE_OWNER) != (consumer >> log_size & 1) ||
	    RNIC_CQE_OPCODE(op_own) == RNIC_CQE_INVALID)
		return NULL;
	return cqe;
}
