/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues (PRM: "SQ Context"): cyclic rings of 64-byte basic blocks. */

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/timestamp.h"
#include "core/uar.h"
#include "object/cq.h"
#include "object/ring.h"
#include "object/sq.h"
#include "object/wq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/queue.h"
#include "prm/wqe.h"

#define LOG_WQEBB_BYTES 6

static void
sq_context_fill(struct rnic_sqc *sqc, struct rnic_dev *dev, const struct rnic_cq *cq)
{
	const struct rnic_ethernet_cap *ethernet = &dev->caps.ethernet;

	rnic_sqc_set(sqc, RNIC_SQC_FLUSH_IN_ERROR_EN, 1);
	if (rnic_ethernet_cap_get(ethernet, RNIC_ETHERNET_CAP_ENHANCED_MULTI_PKT_SEND_WQE) ||
	    rnic_ethernet_cap_get(ethernet, RNIC_ETHERNET_CAP_MULTI_PKT_SEND_WQE))
		rnic_sqc_set(sqc, RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE, 1);
	/* Cards that always want the same have no field for it, and Linux leaves it alone. */
	if (rnic_ethernet_cap_get(ethernet, RNIC_ETHERNET_CAP_WQE_INLINE_MODE) ==
	    RNIC_WQE_INLINE_CAP_VPORT)
		rnic_sqc_set(sqc, RNIC_SQC_MIN_WQE_INLINE_MODE, dev->min_inline_mode);
	rnic_sqc_set(sqc, RNIC_SQC_STATE, RNIC_WQ_STATE_RST);
	rnic_sqc_set(sqc, RNIC_SQC_TS_FORMAT,
		     rnic_ts_format(rnic_general_cap(dev, RNIC_GENERAL_CAP_SQ_TS_FORMAT)));
	rnic_sqc_set(sqc, RNIC_SQC_CQN, cq->cqn);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_LST_SZ, 1);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_NUM_0, dev->tis);
}

static int
sq_create_command(struct rnic_dev *dev, const struct rnic_wq_owner *owner, const struct rnic_cq *cq,
		  struct rnic_sq *sq)
{
	struct rnic_create_sq_in in = { 0 };
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(&in);
	struct rnic_wq *wq = rnic_sqc_wq(sqc);

	sq_context_fill(sqc, dev, cq);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, owner->pd);
	rnic_wq_set(wq, RNIC_WQ_UAR_PAGE, sq->bf->uar);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, sq->memory.dbrec_iova);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, LOG_WQEBB_BYTES);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, sq->log_size);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_SQ, &in, sizeof(in), &sq->memory.mem, &sq->sqn);
}

static int
sq_modify(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state from,
	  enum rnic_wq_state to)
{
	struct rnic_modify_sq_in in = { 0 };

	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQ_STATE, from);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQN, sq->sqn);
	rnic_sqc_set(rnic_modify_sq_in_sqc(&in), RNIC_SQC_STATE, to);
	return rnic_cmd_exec_in(dev, RNIC_CMD_MODIFY_SQ, 0, &in, sizeof(in));
}

static int
sq_check_size(struct rnic_dev *dev, unsigned int log_wqebbs)
{
	const unsigned int max =
		(unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ);

	/* The counters have 16 bits. */
	if (log_wqebbs > max || log_wqebbs > 15) {
		RNIC_LOG(ERR, dev, "an SQ of 2^%u WQEBBs is too large; the device has at most 2^%u",
			 log_wqebbs, max);
		return -EINVAL;
	}
	return 0;
}

static void
sq_free(struct rnic_dev *dev, struct rnic_sq *sq)
{
	rnic_bfreg_free(dev, sq->bf);
	rnic_ring_free(dev, &sq->memory, sq->dbrec);
	*sq = (struct rnic_sq){ 0 };
}

int
rnic_sq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner, unsigned int log_wqebbs,
		   const struct rnic_cq *cq, struct rnic_sq *sq)
{
	void *dbrec;
	int rc = sq_check_size(dev, log_wqebbs);

	if (rc != 0)
		return rc;
	*sq = (struct rnic_sq){ .log_size = (uint8_t)log_wqebbs,
				.mask = (uint16_t)((1u << log_wqebbs) - 1) };
	rc = rnic_ring_alloc(dev, "a send queue", (size_t)RNIC_WQEBB_BYTES << log_wqebbs,
			     RNIC_ACCESS_READ, &sq->memory, &dbrec);
	if (rc != 0)
		return rc;
	sq->ring = sq->memory.mem.address;
	sq->dbrec = dbrec;
	sq->bf = rnic_bfreg_take(dev, owner->domain, owner->registers);
	rc = sq_create_command(dev, owner, cq, sq);
	if (rc != 0)
		sq_free(dev, sq);
	return rc;
}

int
rnic_sq_destroy(struct rnic_dev *dev, struct rnic_sq *sq)
{
	int rc;

	if (sq->ring == NULL)
		return 0;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_SQ, sq->sqn);
	sq_free(dev, sq);
	return rc;
}

int
rnic_sq_create(struct rnic_dev *dev, unsigned int log_wqebbs, const struct rnic_cq *cq,
	       struct rnic_sq *sq)
{
	/* One thread sends: a register of its own needs no lock. */
	const struct rnic_wq_owner port = {
		.pd = dev->pd,
		.registers = RNIC_BFREG_LOW_LATENCY | RNIC_BFREG_DYNAMIC,
	};
	int rc = rnic_sq_create_for(dev, &port, log_wqebbs, cq, sq);

	if (rc != 0)
		return rc;
	rc = sq_modify(dev, sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	if (rc != 0)
		rnic_sq_destroy(dev, sq);
	return rc;
}

int
rnic_sq_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state *state)
{
	struct rnic_query_sq_out out;
	int rc = rnic_cmd_query(dev, RNIC_CMD_QUERY_SQ, sq->sqn, &out, sizeof(out));

	if (rc == 0)
		*state = (enum rnic_wq_state)rnic_sqc_get(rnic_query_sq_out_sqc(&out),
							  RNIC_SQC_STATE);
	return rc;
}

int
rnic_sq_set_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state to)
{
	enum rnic_wq_state state, next;
	int rc = rnic_sq_state(dev, sq, &state);

	for (; rc == 0 && state != to; state = next) {
		next = rnic_wq_next_state(state, to);
		rc = sq_modify(dev, sq, state, next);
		/* A request of it may have failed meanwhile. */
		if (rc != 0 && state == RNIC_WQ_STATE_RDY && rnic_sq_state(dev, sq, &next) == 0 &&
		    next == RNIC_WQ_STATE_ERR)
			rc = 0;
	}
	return rc;
}

int
rnic_sq_recover(struct rnic_dev *dev, struct rnic_sq *sq)
{
	int rc = rnic_sq_set_state(dev, sq, RNIC_WQ_STATE_RST);

	if (rc != 0)
		return rc;
	__atomic_store_n(&sq->dbrec->send_counter.raw, 0, __ATOMIC_RELEASE);
	rc = sq_modify(dev, sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	if (rc == 0)
		sq->producer = 0;
	return rc;
}
