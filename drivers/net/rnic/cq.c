/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues (PRM: "Completion Queues"): 64-byte CQEs, polled. */

#include <errno.h>
#include <stdlib.h>

#include "internal.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

static int
create_command(struct rnic_dev *dev, const struct rnic_eq *eq, struct rnic_cq *cq,
	       uint64_t dbrec_iova)
{
	const uint32_t bytes =
		(uint32_t)sizeof(struct rnic_create_cq_in) + rnic_mem_page_count(&cq->mem) * 8;
	struct rnic_create_cq_in *in = calloc(1, bytes);
	struct rnic_object_out out;
	struct rnic_cqc *cqc;
	int rc;

	if (in == NULL)
		return -ENOMEM;
	cqc = rnic_create_cq_in_cqc(in);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, cq->log_size);
	rnic_cqc_set(cqc, RNIC_CQC_UAR_PAGE, rnic_uars_cq_page(dev));
	rnic_cqc_set(cqc, RNIC_CQC_C_EQN, rnic_eq_number(eq));
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, dbrec_iova);
	rnic_mem_page_list(&cq->mem, in + 1);
	rc = rnic_cmd_exec(dev, RNIC_CMD_CREATE_CQ, 0, in, bytes, &out, sizeof(out));
	if (rc == 0)
		cq->cqn = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	free(in);
	return rc;
}

int
rnic_cq_create(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
	       struct rnic_cq *cq)
{
	const unsigned int max =
		(unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ);
	uint64_t dbrec_iova;
	void *dbrec;
	uint32_t i;
	int rc;

	*cq = (struct rnic_cq){ .log_size = (uint8_t)log_size };
	if (log_size > max) {
		RNIC_LOG(ERR, dev, "a CQ of 2^%u entries is too large; the device has at most 2^%u",
			 log_size, max);
		return -EINVAL;
	}
	cq->mask = (1u << log_size) - 1;
	rc = rnic_mem_alloc(dev, "a completion queue", sizeof(struct rnic_cqe) << log_size,
			    RNIC_PAGE_BYTES, RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &cq->mem);
	if (rc != 0)
		return rc;
	cq->ring = cq->mem.address;
	for (i = 0; i <= cq->mask; i++)
		cq->ring[i].op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1);
	rc = rnic_dbrec_alloc(dev, &dbrec, &dbrec_iova);
	if (rc != 0)
		goto no_dbrec;
	cq->dbrec = dbrec;
	rc = create_command(dev, eq, cq, dbrec_iova);
	if (rc != 0)
		goto no_cq;
	return 0;

no_cq:
	rnic_dbrec_free(dev, dbrec);
no_dbrec:
	rnic_mem_free(dev, &cq->mem);
	*cq = (struct rnic_cq){ 0 };
	return rc;
}

int
rnic_cq_destroy(struct rnic_dev *dev, struct rnic_cq *cq)
{
	int rc;

	if (cq->ring == NULL)
		return 0;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_CQ, cq->cqn);
	/* What the device refuses to let go of loses its memory all the same: it is unmapped first. */
	rnic_dbrec_free(dev, cq->dbrec);
	rnic_mem_free(dev, &cq->mem);
	*cq = (struct rnic_cq){ 0 };
	return rc;
}
