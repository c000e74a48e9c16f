/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues (PRM: "RQ Context"): cyclic rings of WQEs that are 2^log_stride bytes of data segments. */

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/timestamp.h"
#include "object/cq.h"
#include "object/ring.h"
#include "object/rq.h"
#include "object/wq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/queue.h"
#include "prm/wqe.h"

/* Of a device with two clocks, times must be of the one that is read. */
static enum rnic_ts_format
rq_ts_format(const struct rnic_dev *dev, const struct rnic_wq_owner *owner)
{
	const uint64_t capability = rnic_general_cap(dev, RNIC_GENERAL_CAP_RQ_TS_FORMAT);

	return owner->ethdev && capability == RNIC_TS_CAP_BOTH ? RNIC_TS_FORMAT_REAL_TIME
							       : rnic_ts_format(capability);
}

static void
rq_context_fill(struct rnic_rqc *rqc, const struct rnic_dev *dev, const struct rnic_wq_owner *owner,
		const struct rnic_cq *cq)
{
	rnic_rqc_set(rqc, RNIC_RQC_VSD, 1); /* VLAN tags stay in the frame */
	rnic_rqc_set(rqc, RNIC_RQC_STATE, RNIC_WQ_STATE_RST);
	rnic_rqc_set(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN, 1);
	rnic_rqc_set(rqc, RNIC_RQC_TS_FORMAT, rq_ts_format(dev, owner));
	rnic_rqc_set(rqc, RNIC_RQC_USER_INDEX, owner->user_index);
	rnic_rqc_set(rqc, RNIC_RQC_CQN, cq->cqn);
	rnic_rqc_set(rqc, RNIC_RQC_COUNTER_SET_ID, owner->q_counter);
}

static int
rq_create_command(struct rnic_dev *dev, const struct rnic_wq_owner *owner, const struct rnic_cq *cq,
		  struct rnic_rq *rq)
{
	struct rnic_create_rq_in in = { 0 };
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(&in);
	struct rnic_wq *wq = rnic_rqc_wq(rqc);

	rq_context_fill(rqc, dev, owner, cq);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, owner->pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, rq->memory.dbrec_iova);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, rq->log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, rq->log_size);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_RQ, &in, sizeof(in), &rq->memory.mem, &rq->rqn);
}

static int
rq_modify(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state from,
	  enum rnic_wq_state to)
{
	struct rnic_modify_rq_in in = { 0 };

	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, from);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rq->rqn);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, to);
	return rnic_cmd_exec_in(dev, RNIC_CMD_MODIFY_RQ, 0, &in, sizeof(in));
}

static int
rq_check_size(struct rnic_dev *dev, unsigned int log_wqes, unsigned int log_stride)
{
	const uint64_t max = rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ);
	const uint64_t max_wqe = rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ);

	/* The counters have 16 bits. */
	if (log_wqes > max || log_wqes > 15) {
		RNIC_LOG(ERR, dev,
			 "an RQ of 2^%u WQEs is too large; the device has at most 2^%" PRIu64,
			 log_wqes, max);
		return -EINVAL;
	}
	if (log_stride < 4 || UINT64_C(1) << log_stride > max_wqe) {
		RNIC_LOG(ERR, dev,
			 "receive WQEs of 2^%u bytes; the device takes 16 to %" PRIu64
			 " bytes: use fewer segments, with larger mbufs",
			 log_stride, max_wqe);
		return -EINVAL;
	}
	return 0;
}

static void
rq_free(struct rnic_dev *dev, struct rnic_rq *rq)
{
	rnic_ring_free(dev, &rq->memory, rq->dbrec);
	*rq = (struct rnic_rq){ 0 };
}

int
rnic_rq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner, unsigned int log_wqes,
		   unsigned int log_stride, const struct rnic_cq *cq, struct rnic_rq *rq)
{
	void *dbrec;
	int rc = rq_check_size(dev, log_wqes, log_stride);

	if (rc != 0)
		return rc;
	*rq = (struct rnic_rq){ .log_size = (uint8_t)log_wqes,
				.log_stride = (uint8_t)log_stride,
				.mask = (uint16_t)((1u << log_wqes) - 1) };
	rc = rnic_ring_alloc(dev, "a receive queue", (size_t)1 << (log_wqes + log_stride),
			     RNIC_ACCESS_READ, &rq->memory, &dbrec);
	if (rc != 0)
		return rc;
	rq->ring = rq->memory.mem.address;
	rq->dbrec = dbrec;
	rc = rq_create_command(dev, owner, cq, rq);
	if (rc != 0)
		rq_free(dev, rq);
	return rc;
}

int
rnic_rq_destroy(struct rnic_dev *dev, struct rnic_rq *rq)
{
	int rc;

	if (rq->ring == NULL)
		return 0;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_RQ, rq->rqn);
	rq_free(dev, rq);
	return rc;
}

int
rnic_rq_create(struct rnic_dev *dev, unsigned int log_wqes, unsigned int log_stride,
	       const struct rnic_cq *cq, struct rnic_rq *rq)
{
	const struct rnic_wq_owner port = { .pd = dev->pd,
					    .q_counter = dev->q_counter,
					    .ethdev = true };
	int rc = rnic_rq_create_for(dev, &port, log_wqes, log_stride, cq, rq);

	if (rc != 0)
		return rc;
	rc = rq_modify(dev, rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	if (rc != 0)
		rnic_rq_destroy(dev, rq);
	return rc;
}

int
rnic_rq_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state *state)
{
	struct rnic_query_rq_out out;
	int rc = rnic_cmd_query(dev, RNIC_CMD_QUERY_RQ, rq->rqn, &out, sizeof(out));

	if (rc == 0)
		*state = (enum rnic_wq_state)rnic_rqc_get(rnic_query_rq_out_rqc(&out),
							  RNIC_RQC_STATE);
	return rc;
}

int
rnic_rq_set_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state to)
{
	enum rnic_wq_state state, next;
	int rc = rnic_rq_state(dev, rq, &state);

	for (; rc == 0 && state != to; state = next) {
		next = rnic_wq_next_state(state, to);
		rc = rq_modify(dev, rq, state, next);
		/* A request of it may have failed meanwhile. */
		if (rc != 0 && state == RNIC_WQ_STATE_RDY && rnic_rq_state(dev, rq, &next) == 0 &&
		    next == RNIC_WQ_STATE_ERR)
			rc = 0;
	}
	return rc;
}

int
rnic_rq_set_vlan_strip(struct rnic_dev *dev, const struct rnic_rq *rq, bool strip)
{
	struct rnic_modify_rq_in in = { 0 };
	enum rnic_wq_state state;
	int rc = rnic_rq_state(dev, rq, &state);

	if (rc != 0)
		return rc;
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, state);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rq->rqn);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_BITMASK, RNIC_MODIFY_RQ_VSD);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, state);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_VSD, !strip);
	return rnic_cmd_exec_in(dev, RNIC_CMD_MODIFY_RQ, 0, &in, sizeof(in));
}

int
rnic_rq_reset(struct rnic_dev *dev, struct rnic_rq *rq)
{
	int rc = rnic_rq_set_state(dev, rq, RNIC_WQ_STATE_RST);

	if (rc != 0)
		return rc;
	__atomic_store_n(&rq->dbrec->receive_counter.raw, 0, __ATOMIC_RELEASE);
	rq->producer = 0;
	return 0;
}

int
rnic_rq_recover(struct rnic_dev *dev, struct rnic_rq *rq)
{
	int rc = rnic_rq_set_state(dev, rq, RNIC_WQ_STATE_RST);

	if (rc != 0)
		return rc;
	__atomic_store_n(&rq->dbrec->receive_counter.raw, 0, __ATOMIC_RELEASE);
	rc = rq_modify(dev, rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	/* Not before: a queue that stays down is emptied by what had been posted. */
	if (rc == 0)
		rq->producer = 0;
	return rc;
}
