/* SPDX-License-Identifier: BSD-3-Clause */

#include "prm/qp.h"
#include "prm/queue.h"
#include "umem.h"

uint32_t
drv_umem_fill(void *in, const struct drv_umem *umem)
{
	drv_head(in, RNIC_CMD_CREATE_UMEM, 0);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_LOG_PAGE_SIZE, umem->log_page_size - 12);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_PAGE_OFFSET, umem->offset);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_NUM_OF_MTT, umem->pages.count);
	return drv_pages_put(in, sizeof(struct rnic_create_umem_in), &umem->pages);
}

int
drv_umem_create(struct drv *drv, const struct drv_umem *umem, uint32_t *number)
{
	void *in = drv_in(sizeof(struct rnic_create_umem_in) + umem->pages.count * 8ul);

	return drv_create(drv, in, drv_umem_fill(in, umem), number);
}

/* Where a ring is whose pages follow so many bytes. */
static uint64_t
listed(const void *in, size_t fixed)
{
	const struct rnic_be64 *pages =
		(const struct rnic_be64 *)(const void *)((const uint8_t *)in + fixed);

	return rnic_be64_to_cpu(*pages) & ~UINT64_C(0xfff);
}

static uint32_t
wq_move(struct rnic_wq *wq, const void *in, size_t fixed, uint32_t umem, uint64_t begin)
{
	rnic_wq_set(wq, RNIC_WQ_WQ_UMEM_VALID, 1);
	rnic_wq_set(wq, RNIC_WQ_WQ_UMEM_ID, umem);
	rnic_wq_set(wq, RNIC_WQ_WQ_UMEM_OFFSET, listed(in, fixed) - begin);
	rnic_wq_set(wq, RNIC_WQ_DBR_UMEM_VALID, 1);
	rnic_wq_set(wq, RNIC_WQ_DBR_UMEM_ID, umem);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, rnic_wq_get(wq, RNIC_WQ_DBR_ADDR) - begin);
	return (uint32_t)fixed;
}

static uint32_t
cq_move(struct rnic_create_cq_in *in, uint32_t umem, uint64_t begin)
{
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(in);

	rnic_create_cq_in_set(in, RNIC_CREATE_CQ_IN_CQ_UMEM_VALID, 1);
	rnic_create_cq_in_set(in, RNIC_CREATE_CQ_IN_CQ_UMEM_ID, umem);
	rnic_create_cq_in_set(in, RNIC_CREATE_CQ_IN_CQ_UMEM_OFFSET,
			      listed(in, sizeof(*in)) - begin);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_UMEM_VALID, 1);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_UMEM_ID, umem);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, rnic_cqc_get(cqc, RNIC_CQC_DBR_ADDR) - begin);
	return sizeof(*in);
}

static uint32_t
qp_move(struct rnic_create_qp_in *in, uint32_t umem, uint64_t begin)
{
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in);

	rnic_create_qp_in_set(in, RNIC_CREATE_QP_IN_WQ_UMEM_VALID, 1);
	rnic_create_qp_in_set(in, RNIC_CREATE_QP_IN_WQ_UMEM_ID, umem);
	rnic_create_qp_in_set(in, RNIC_CREATE_QP_IN_WQ_UMEM_OFFSET,
			      listed(in, sizeof(*in)) - begin);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_UMEM_VALID, 1);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_UMEM_ID, umem);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_ADDR, rnic_qpc_get(qpc, RNIC_QPC_DBR_ADDR) - begin);
	return sizeof(*in);
}

uint32_t
drv_umem_move(void *in, uint32_t in_bytes, uint32_t umem, uint64_t begin)
{
	switch (rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE)) {
	case RNIC_CMD_CREATE_CQ: return cq_move(in, umem, begin);
	case RNIC_CMD_CREATE_QP: return qp_move(in, umem, begin);
	case RNIC_CMD_CREATE_SQ:
		return wq_move(rnic_sqc_wq(rnic_create_sq_in_sqc(in)), in,
			       sizeof(struct rnic_create_sq_in), umem, begin);
	case RNIC_CMD_CREATE_RQ:
		return wq_move(rnic_rqc_wq(rnic_create_rq_in_rqc(in)), in,
			       sizeof(struct rnic_create_rq_in), umem, begin);
	case RNIC_CMD_CREATE_RMP:
		return wq_move(rnic_rmpc_wq(rnic_create_rmp_in_rmpc(in)), in,
			       sizeof(struct rnic_create_rmp_in), umem, begin);
	default: return in_bytes;
	}
}
