/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive memory pools (PRM: "RMP Context"): receive WQEs for many queues. Linked, they are what SRQs are. */
#include <errno.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/wq.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/segments.h"
#include "softrnic/receive/rmp.h"

#define LOG_STRIDE_MIN \
	5 /* the link to the next WQE, and one data segment; cyclic ones have no link */

/* ---- For the queues that use one ---- */

/* The pool is broken, for all that use it: each queue that comes for a WQE goes to ERR. */
static int
rmp_fail(struct softrnic *dev, struct softrnic_rmp *rmp, const char *why)
{
	if (rmp->state != RNIC_WQ_STATE_ERR) {
		SOFTRNIC_LOG(INFO, dev, "RMP 0x%x: %s", rmp->object.number, why);
		rmp->state = RNIC_WQ_STATE_ERR;
		softrnic_wq_event(dev, RNIC_EVENT_SRQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_QP,
				  rmp->object.number);
	}
	return -EIO;
}

void
softrnic_rmp_limit(struct softrnic *dev, struct softrnic_rmp *rmp)
{
	int waiting;

	if (rmp->limit == 0 || rmp->state != RNIC_WQ_STATE_RDY)
		return;
	waiting = softrnic_ring_waiting(dev, &rmp->ring, &rmp->dbrec, rmp->consumer, rmp->log_size,
					&rmp->producer);
	/* One that cannot be read is noticed by who comes for a WQE. */
	if (waiting < 0 || (uint32_t)waiting + rmp->returned_count >= rmp->limit)
		return;
	rmp->limit = 0;
	softrnic_wq_event(dev, RNIC_EVENT_SRQ_LIMIT, SOFTRNIC_EVENT_QUEUE_QP, rmp->object.number);
}

bool
softrnic_rmp_empty(struct softrnic *dev, struct softrnic_rmp *rmp)
{
	return rmp->state == RNIC_WQ_STATE_RDY && rmp->returned_count == 0 &&
	       (rmp->consumer == rmp->producer || rmp->ring.generation != dev->dma_generation) &&
	       softrnic_ring_waiting(dev, &rmp->ring, &rmp->dbrec, rmp->consumer, rmp->log_size,
				     &rmp->producer) == 0;
}

/* Are there any? As softrnic_rmp_take(). */
static int
rmp_look(struct softrnic *dev, struct softrnic_rmp *rmp)
{
	int waiting = softrnic_ring_waiting(dev, &rmp->ring, &rmp->dbrec, rmp->consumer,
					    rmp->log_size, &rmp->producer);

	if (waiting == -EOVERFLOW)
		return rmp_fail(dev, rmp, "the doorbell record is ahead by more than its ring");
	if (waiting < 0)
		return rmp_fail(dev, rmp, "ring or doorbell record are no longer reachable");
	return waiting > 0 || rmp->returned_count > 0;
}

static void
rmp_copy(struct softrnic *dev, struct softrnic_rmp *rmp, uint32_t index, uint8_t *wqe)
{
	softrnic_qp_ring_copy(dev, &rmp->ring, index << rmp->log_stride, wqe,
			      1u << rmp->log_stride);
}

/* In the place where the next one of the list is now: what it names was taken long ago. */
static int
rmp_take_returned(struct softrnic *dev, struct softrnic_rmp *rmp, uint8_t *wqe, uint16_t *counter)
{
	*counter = rmp->returned[--rmp->returned_count];
	rmp_copy(dev, rmp, *counter & ((1u << rmp->log_size) - 1), wqe);
	if (rmp->limit != 0)
		softrnic_rmp_limit(dev, rmp);
	return 1;
}

/* There is room, unless the driver posts what it has not got back. */
void
softrnic_rmp_give_back(struct softrnic_rmp *rmp, uint16_t counter)
{
	if (rmp->returned_count < 1u << rmp->log_size)
		rmp->returned[rmp->returned_count++] = counter;
}

int
softrnic_rmp_take(struct softrnic *dev, struct softrnic_rmp *rmp, uint8_t *wqe, uint16_t *counter)
{
	const struct rnic_wqe_next *next = (const struct rnic_wqe_next *)wqe;
	uint32_t index = rmp->next;
	int rc;

	if (rmp->state != RNIC_WQ_STATE_RDY)
		return rmp_fail(dev, rmp, "in error");
	if (rmp->consumer == rmp->producer || rmp->ring.generation != dev->dma_generation) {
		rc = rmp_look(dev, rmp);
		if (rc <= 0)
			return rc;
	}
	if (unlikely(rmp->returned_count > 0))
		return rmp_take_returned(dev, rmp, wqe, counter);
	if (rmp->cyclic)
		index = rmp->consumer & ((1u << rmp->log_size) - 1);
	/* However the list is linked, only as many are taken as were posted. */
	if (index >= 1u << rmp->log_size)
		return rmp_fail(dev, rmp, "a WQE's next_wqe_index is beyond the queue");
	rmp_copy(dev, rmp, index, wqe);
	*counter = rmp->cyclic ? rmp->consumer : (uint16_t)index;
	if (!rmp->cyclic)
		rmp->next = rnic_be16_to_cpu(next->next_wqe_index);
	rmp->consumer++;
	if (unlikely(rmp->limit != 0))
		softrnic_rmp_limit(dev, rmp);
	return 1;
}

/* ---- The commands ---- */

void
softrnic_rmp_free(struct softrnic *dev, struct softrnic_rmp *rmp)
{
	softrnic_object_remove(dev, &rmp->object);
	softrnic_ring_fini(&rmp->ring);
	softrnic_dbrec_fini(dev, &rmp->dbrec);
	rmp->pd_object->refs--;
	softrnic_free(dev, rmp->returned);
	softrnic_free(dev, rmp);
}

struct softrnic_rmp *
softrnic_rmp_find(struct softrnic *dev, uint32_t number, bool of_xrcd)
{
	struct softrnic_rmp *rmp = softrnic_object_find(dev, SOFTRNIC_RMP, number);

	return rmp != NULL && (rmp->xrcd != NULL) == of_xrcd ? rmp : NULL;
}

const char *
softrnic_rmp_fault(const struct softrnic_rmp_conf *conf)
{
	if (conf->log_stride + conf->cyclic < LOG_STRIDE_MIN ||
	    conf->log_stride > SOFTRNIC_LOG_MAX_RQ_WQE)
		return "WQEs are too short or longer than max_wqe_sz_rq";
	if (conf->log_size > SOFTRNIC_LOG_MAX_RMP_SIZE)
		return "it is larger than log_max_srq_sz";
	if (conf->limit > 1u << conf->log_size)
		return "the limit is above its size";
	return NULL;
}

/* Everything but what must be given back. */
static int
rmp_prepare(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_rmp *rmp,
	    const struct softrnic_rmp_conf *conf)
{
	const uint32_t syndrome = (uint32_t)cmd->opcode << 12;
	int status;

	rmp->state = RNIC_WQ_STATE_RDY;
	rmp->cyclic = conf->cyclic;
	rmp->log_size = conf->log_size;
	rmp->log_stride = conf->log_stride;
	rmp->limit = (uint16_t)conf->limit;
	rmp->pd = conf->pd;
	cmd->syndrome = syndrome | 2;
	rmp->pd_object = softrnic_object_find(dev, SOFTRNIC_PD, rmp->pd);
	if (rmp->pd_object == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = syndrome | 3;
	status = softrnic_dbrec_init(dev, &rmp->dbrec, &conf->record);
	if (status != RNIC_STATUS_OK)
		return status;
	cmd->syndrome = syndrome | 4;
	return softrnic_ring_init(dev, &rmp->ring, &conf->place,
				  1u << (rmp->log_size + rmp->log_stride), SOFTRNIC_DMA_READ);
}

int
softrnic_rmp_open(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_rmp *rmp,
		  const struct softrnic_rmp_conf *conf)
{
	int status = rmp_prepare(dev, cmd, rmp, conf);

	if (status != RNIC_STATUS_OK)
		goto forget;
	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 5;
	status = RNIC_STATUS_NO_RES;
	rmp->returned = softrnic_alloc(dev, 1u << rmp->log_size, sizeof(*rmp->returned));
	if (rmp->returned == NULL)
		goto free_ring;
	status = softrnic_object_add(dev, SOFTRNIC_RMP, &rmp->object);
	if (status != RNIC_STATUS_OK)
		goto free_ring;
	rmp->pd_object->refs++;
	if (rmp->limit != 0)
		softrnic_rmp_limit(dev, rmp);
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, rmp->object.number);
	return RNIC_STATUS_OK;
free_ring:
	softrnic_ring_fini(&rmp->ring);
	softrnic_free(dev, rmp->returned);
forget:
	softrnic_dbrec_fini(dev, &rmp->dbrec);
	return status;
}

/* What the context asks for and we do not offer; NULL: all is well. */
static const char *
rmp_context_fault(struct rnic_rmpc *rmpc)
{
	const bool cyclic = rnic_rmpc_get(rmpc, RNIC_RMPC_BASIC_CYCLIC_RCV_WQE) != 0;
	const struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

#define WQ(field) rnic_wq_get(wq, RNIC_WQ_##field)
	if (rnic_rmpc_get(rmpc, RNIC_RMPC_STATE) != RNIC_WQ_STATE_RDY)
		return "a pool begins in RDY";
	if (WQ(WQ_TYPE) != (cyclic ? RNIC_WQ_CYCLIC : RNIC_WQ_LINKED_LIST))
		return "pools are linked lists, or basic cyclic ones";
	if (WQ(WQ_SIGNATURE) != 0 || WQ(END_PADDING_MODE) != 0)
		return "signatures and padding are not offered";
	return NULL;
}

static struct softrnic_rmp_conf
rmp_conf(struct softrnic_cmd *cmd, struct rnic_rmpc *rmpc)
{
	const struct rnic_create_rmp_in *in = cmd->in;
	const struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

	return (struct softrnic_rmp_conf){
		.pd = (uint32_t)WQ(PD),
		.limit = (uint32_t)WQ(LWM),
		.log_size = (uint8_t)WQ(LOG_WQ_SZ),
		.log_stride = (uint8_t)WQ(LOG_WQ_STRIDE),
		.cyclic = rnic_rmpc_get(rmpc, RNIC_RMPC_BASIC_CYCLIC_RCV_WQE) != 0,
		.record = softrnic_wq_record(wq),
		.place = softrnic_wq_place(wq, in + 1, cmd->in_bytes - sizeof(*in)),
	};
#undef WQ
}

SOFTRNIC_CMD(create_rmp)
{
	struct rnic_create_rmp_in *in = (struct rnic_create_rmp_in *)(uintptr_t)cmd->in;
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(in);
	const struct softrnic_rmp_conf conf = rmp_conf(cmd, rmpc);
	const char *fault = rmp_context_fault(rmpc);
	struct softrnic_rmp *rmp;
	int status;

	cmd->syndrome = 0x90c001;
	if (fault == NULL)
		fault = softrnic_rmp_fault(&conf);
	if (fault != NULL)
		return softrnic_refuse(dev, cmd, fault);
	rmp = softrnic_alloc(dev, 1, sizeof(*rmp));
	if (rmp == NULL)
		return RNIC_STATUS_NO_RES;
	rmp->context = *rmpc;
	status = softrnic_rmp_open(dev, cmd, rmp, &conf);
	if (status != RNIC_STATUS_OK)
		softrnic_free(dev, rmp);
	return status;
}

/* Its limit; and RDY to ERR, from where only DESTROY_RMP leads. */
SOFTRNIC_CMD(modify_rmp)
{
	struct rnic_modify_rmp_in *in = (struct rnic_modify_rmp_in *)(uintptr_t)cmd->in;
	struct rnic_rmpc *rmpc = rnic_modify_rmp_in_rmpc(in);
	struct softrnic_rmp *rmp = softrnic_rmp_find(
		dev, (uint32_t)rnic_modify_rmp_in_get(in, RNIC_MODIFY_RMP_IN_RMPN), false);
	const uint64_t mask = rnic_modify_rmp_in_get(in, RNIC_MODIFY_RMP_IN_BITMASK);
	const uint64_t limit = rnic_wq_get(rnic_rmpc_wq(rmpc), RNIC_WQ_LWM);
	const uint64_t to = rnic_rmpc_get(rmpc, RNIC_RMPC_STATE);

	cmd->syndrome = 0x90d001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x90d002;
	if (rnic_modify_rmp_in_get(in, RNIC_MODIFY_RMP_IN_RMP_STATE) != rmp->state)
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x90d003;
	if (to != rmp->state && to != RNIC_WQ_STATE_ERR)
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x90d004;
	if ((mask & ~(uint64_t)RNIC_MODIFY_RMP_LWM) != 0)
		return softrnic_refuse(dev, cmd, "only the limit of a pool can change");
	if ((mask & RNIC_MODIFY_RMP_LWM) != 0 && limit > 1u << rmp->log_size)
		return softrnic_refuse(dev, cmd, "the limit is above its size");
	rmp->state = (uint8_t)to;
	if ((mask & RNIC_MODIFY_RMP_LWM) == 0)
		return RNIC_STATUS_OK;
	rmp->limit = (uint16_t)limit;
	if (limit != 0)
		softrnic_rmp_limit(dev, rmp);
	return RNIC_STATUS_OK;
}

static struct softrnic_rmp *
rmp_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_rmp_find(dev, (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER),
				 false);
}

SOFTRNIC_CMD(destroy_rmp)
{
	struct softrnic_rmp *rmp = rmp_of_command(dev, cmd);

	cmd->syndrome = 0x90e001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x90e002;
	if (rmp->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	softrnic_rmp_free(dev, rmp);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_rmp)
{
	const struct softrnic_rmp *rmp = rmp_of_command(dev, cmd);
	struct rnic_rmpc *rmpc = rnic_query_rmp_out_rmpc(cmd->out);

	cmd->syndrome = 0x90f001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	*rmpc = rmp->context;
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, rmp->state);
	rnic_wq_set(rnic_rmpc_wq(rmpc), RNIC_WQ_LWM, rmp->limit);
	rnic_wq_set(rnic_rmpc_wq(rmpc), RNIC_WQ_HW_COUNTER,
		    (uint16_t)(rmp->consumer - rmp->returned_count));
	rnic_wq_set(rnic_rmpc_wq(rmpc), RNIC_WQ_SW_COUNTER, rmp->producer);
	return RNIC_STATUS_OK;
}
