/* SPDX-License-Identifier: BSD-3-Clause */

/* Entries of event queues that are about RDMA's objects, handed on to the library (PRM: "Event Queues"). */

#include <stdlib.h>

#include "internal.h"
#include "prm/cqe.h"
#include "rdma.h"

void
rnic_rdma_events_to(struct rnic_dev *dev, struct rdmapmd_device *device)
{
	if (dev->rdma == NULL)
		return;
	pthread_mutex_lock(&dev->rdma->lock);
	dev->rdma->device = device;
	pthread_mutex_unlock(&dev->rdma->lock);
}

/* Called with the lock held. The next arming has another sequence number: this one's is used up. */
static void
completion(struct rnic_rdma *rdma, uint32_t cqn)
{
	struct rdmapmd_handle *handle = rdmapmd_table_get(rdma->cqs, cqn);
	struct rnic_rdma_cq *cq;

	if (handle == NULL)
		return;
	cq = container_of(handle, struct rnic_rdma_cq, number);
	atomic_fetch_add_explicit(&cq->arm_sequence, 1, memory_order_relaxed);
	rdmapmd_table_put(rdma->cqs, handle);
	rdmapmd_device_completion_event(rdma->device, cqn);
}

static const struct {
	uint8_t event;
	bool of_queue; /* any queue's: data[5] says what kind */
	enum rdmapmd_event_type type;
} kinds[] = {
	{ RNIC_EVENT_PATH_MIGRATED, true, RDMAPMD_EVENT_PATH_MIG },
	{ RNIC_EVENT_COMM_ESTABLISHED, true, RDMAPMD_EVENT_COMM_EST },
	{ RNIC_EVENT_SQ_DRAINED, true, RDMAPMD_EVENT_SQ_DRAINED },
	{ RNIC_EVENT_WQ_CATASTROPHIC, true, RDMAPMD_EVENT_QP_FATAL },
	{ RNIC_EVENT_WQ_INVALID_REQUEST, true, RDMAPMD_EVENT_QP_REQ_ERR },
	{ RNIC_EVENT_WQ_ACCESS_ERROR, true, RDMAPMD_EVENT_QP_ACCESS_ERR },
	{ RNIC_EVENT_SRQ_LAST_WQE, true, RDMAPMD_EVENT_QP_LAST_WQE_REACHED },
	{ RNIC_EVENT_SRQ_CATASTROPHIC, false, RDMAPMD_EVENT_SRQ_ERR },
	{ RNIC_EVENT_SRQ_LIMIT, false, RDMAPMD_EVENT_SRQ_LIMIT_REACHED },
};

/* Called with the lock held. The queue pair that a queue's event is about. RNIC_RDMA_NO_QPN: none. */
static uint32_t
queue_pair_of(const struct rnic_rdma *rdma, const struct rnic_eqe *eqe)
{
	const uint32_t number = rnic_be32_to_cpu(eqe->data[6]) & 0xffffff;
	const enum rnic_event_queue type =
		(enum rnic_event_queue)(rnic_be32_to_cpu(eqe->data[5]) >> 24);

	return type == RNIC_EVENT_QUEUE_QP ? number : rnic_rdma_raw_number(rdma, type, number);
}

bool
rnic_rdma_owns_queue(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	bool owns;

	if (dev->rdma == NULL)
		return false;
	pthread_mutex_lock(&dev->rdma->lock);
	owns = queue_pair_of(dev->rdma, eqe) != RNIC_RDMA_NO_QPN;
	pthread_mutex_unlock(&dev->rdma->lock);
	return owns;
}

/* Called with the lock held. */
static void
object_event(struct rnic_rdma *rdma, const struct rnic_eqe *eqe)
{
	const uint32_t number = rnic_be32_to_cpu(eqe->data[6]) & 0xffffff;
	unsigned int i;

	for (i = 0; i < RTE_DIM(kinds); i++)
		if (kinds[i].event == eqe->type)
			rdmapmd_device_object_event(rdma->device, kinds[i].type,
						    kinds[i].of_queue ? queue_pair_of(rdma, eqe)
								      : number);
}

void
rnic_rdma_event(struct rnic_dev *dev, const struct rnic_eqe *eqe)
{
	struct rnic_rdma *rdma = dev->rdma;

	if (rdma == NULL)
		return;
	pthread_mutex_lock(&rdma->lock);
	if (rdma->device == NULL)
		/* Nobody has opened it. */;
	else if (eqe->type == RNIC_EVENT_COMPLETION)
		completion(rdma, rnic_be32_to_cpu(eqe->data[6]) & 0xffffff);
	else if (eqe->type == RNIC_EVENT_CQ_ERROR)
		rdmapmd_device_object_event(rdma->device, RDMAPMD_EVENT_CQ_ERR,
					    rnic_be32_to_cpu(eqe->data[0]) & 0xffffff);
	else
		object_event(rdma, eqe);
	pthread_mutex_unlock(&rdma->lock);
}

void
rnic_rdma_port_event(struct rnic_dev *dev, enum rdmapmd_event_type type)
{
	if (dev->rdma == NULL)
		return;
	pthread_mutex_lock(&dev->rdma->lock);
	if (dev->rdma->device != NULL)
		rdmapmd_device_event(dev->rdma->device, type, 1);
	pthread_mutex_unlock(&dev->rdma->lock);
}

/* ---- What events would have told ---- */

struct asked {
	enum { ASKED_CQ, ASKED_QP, ASKED_RQ } what; /* RQ: a RAW_PACKET queue pair, by that */
	uint32_t number;			    /* that the library knows it by */
	uint32_t queue;				    /* that the device does */
	uint32_t bytes;				    /* of the answer */
};

static uint32_t
state_bytes(const struct rnic_rdma_qp *qp)
{
	/* The page list comes with it. */
	return (uint32_t)(rnic_rdma_is_raw(qp) ? sizeof(struct rnic_query_rq_out)
					       : sizeof(struct rnic_query_qp_out) +
							 rnic_mem_page_count(&qp->mem) * 8);
}

static bool
may_have_failed(const struct rnic_rdma_qp *qp)
{
	const uint8_t state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	return state != RDMAPMD_QPS_RESET && state != RDMAPMD_QPS_ERR &&
	       (!rnic_rdma_is_raw(qp) || qp->rq.max_post > 0);
}

/* CQs, and queue pairs that are not known to be in error. NULL: none, or no memory. */
static struct asked *
collect(struct rnic_rdma *rdma, unsigned int *count)
{
	const struct rnic_rdma_cq *cq;
	struct asked *list, *next;
	struct rnic_rdma_qp *qp;

	*count = 0;
	pthread_mutex_lock(&rdma->lock);
	LIST_FOREACH(cq, &rdma->all_cqs, next_cq)
		++*count;
	LIST_FOREACH(qp, &rdma->all_qps, next_qp)
		++*count;
	list = next = *count > 0 ? calloc(*count, sizeof(*list)) : NULL;
	if (list != NULL) {
		LIST_FOREACH(cq, &rdma->all_cqs, next_cq)
			*next++ = (struct asked){ ASKED_CQ, cq->ring.cqn, cq->ring.cqn,
						  sizeof(struct rnic_query_cq_out) };
		LIST_FOREACH(qp, &rdma->all_qps, next_qp)
			if (may_have_failed(qp))
				*next++ = (struct asked){
					rnic_rdma_is_raw(qp) ? ASKED_RQ : ASKED_QP, qp->qp.qp_num,
					rnic_rdma_is_raw(qp) ? qp->rq.wq.rqn : qp->qp.qp_num,
					state_bytes(qp)
				};
		*count = (unsigned int)(next - list);
	}
	pthread_mutex_unlock(&rdma->lock);
	return list;
}

/* Is it in error? One that has gone meanwhile is not. */
static bool
failed(struct rnic_dev *dev, const struct asked *asked)
{
	static const uint16_t opcodes[] = {
		[ASKED_CQ] = RNIC_CMD_QUERY_CQ,
		[ASKED_QP] = RNIC_CMD_QUERY_QP,
		[ASKED_RQ] = RNIC_CMD_QUERY_RQ,
	};
	struct rnic_object_in in = { 0 };
	void *out = calloc(1, asked->bytes);
	bool bad = false;

	if (out == NULL)
		return false;
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, asked->queue);
	if (rnic_cmd_try(dev, opcodes[asked->what], 0, &in, sizeof(in), out, asked->bytes) == 0)
		switch (asked->what) {
		case ASKED_CQ:
			bad = rnic_cqc_get(rnic_query_cq_out_cqc(out), RNIC_CQC_STATUS) !=
			      RNIC_CQ_STATUS_OK;
			break;
		case ASKED_QP:
			bad = rnic_qpc_get(rnic_query_qp_out_qpc(out), RNIC_QPC_STATE) ==
			      RNIC_QP_STATE_ERR;
			break;
		default:
			bad = rnic_rqc_get(rnic_query_rq_out_rqc(out), RNIC_RQC_STATE) ==
			      RNIC_WQ_STATE_ERR;
		}
	free(out);
	return bad;
}

void
rnic_rdma_ask(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct asked *list;
	unsigned int count, i;
	uint32_t speed;
	bool up;

	if (rdma == NULL)
		return;
	if (rnic_port_link(dev, &up, &speed) == 0)
		rnic_rdma_port_event(dev, up ? RDMAPMD_EVENT_PORT_ACTIVE : RDMAPMD_EVENT_PORT_ERR);
	list = collect(rdma, &count);
	for (i = 0; list != NULL && i < count && !rnic_control_stopping(dev); i++) {
		if (!failed(dev, &list[i]))
			continue;
		pthread_mutex_lock(&rdma->lock);
		if (rdma->device != NULL)
			rdmapmd_device_object_event(rdma->device,
						    list[i].what == ASKED_CQ
							    ? RDMAPMD_EVENT_CQ_ERR
							    : RDMAPMD_EVENT_QP_FATAL,
						    list[i].number);
		pthread_mutex_unlock(&rdma->lock);
	}
	free(list);
}

void
rnic_rdma_lost(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_rdma_cq *cq;

	if (rdma == NULL)
		return;
	pthread_mutex_lock(&rdma->lock);
	if (rdma->device != NULL) {
		rdmapmd_device_event(rdma->device, RDMAPMD_EVENT_DEVICE_FATAL, 1);
		LIST_FOREACH(cq, &rdma->event_cq_list, next_event_cq)
			rdmapmd_device_completion_event(rdma->device, cq->ring.cqn);
	}
	pthread_mutex_unlock(&rdma->lock);
}

void
rnic_rdma_wake(const struct rnic_rdma_cq *cq)
{
	struct rnic_rdma *rdma = cq->dev->rdma;

	pthread_mutex_lock(&rdma->lock);
	if (rdma->device != NULL && cq->has_events)
		rdmapmd_device_completion_event(rdma->device, cq->ring.cqn);
	pthread_mutex_unlock(&rdma->lock);
}
