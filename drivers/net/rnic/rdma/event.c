/* SPDX-License-Identifier: BSD-3-Clause */

/* Entries of event queues that are about RDMA's objects, handed on to the library (PRM: "Event Queues"). */

#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/eq.h"
#include "core/mem.h"
#include "neigh/neigh.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/qp.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "rdma/event.h"
#include "rdma/raw.h"
#include "rdma/rdma.h"

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
cq_completion(struct rnic_rdma *rdma, uint32_t cqn)
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

/* Called with the lock held: it is to be armed again. */
static void
srq_disarm(struct rnic_rdma *rdma, uint32_t srqn)
{
	struct rnic_rdma_srq *srq;

	LIST_FOREACH(srq, &rdma->all_srqs, next_srq)
		if (srq->srq.srqn == srqn)
			atomic_store(&srq->armed, false);
}

/* Called with the lock held. */
static void
object_event(struct rnic_rdma *rdma, const struct rnic_eqe *eqe)
{
	const uint32_t number = rnic_be32_to_cpu(eqe->data[6]) & 0xffffff;
	unsigned int i;

	if (eqe->type == RNIC_EVENT_SRQ_LIMIT)
		srq_disarm(rdma, number);
	for (i = 0; i < RTE_DIM(kinds); i++)
		if (kinds[i].event == eqe->type)
			rdmapmd_device_object_event(rdma->device, kinds[i].type,
						    kinds[i].of_queue ? queue_pair_of(rdma, eqe)
								      : number);
}

/* Called with the lock held. */
static bool
is_broken_queue(const struct rnic_rdma *rdma, const struct rnic_eqe *eqe)
{
	switch (eqe->type) {
	case RNIC_EVENT_WQ_CATASTROPHIC:
	case RNIC_EVENT_WQ_INVALID_REQUEST:
	case RNIC_EVENT_WQ_ACCESS_ERROR: return queue_pair_of(rdma, eqe) != RNIC_RDMA_NO_QPN;
	default: return false;
	}
}

static void
port_lost(struct rnic_dev *dev)
{
	rnic_rdma_port_event(dev, RDMAPMD_EVENT_PORT_ERR);
	rnic_neigh_lost_link(dev);
}

bool
rnic_rdma_on_event(void *arg, const struct rnic_eqe *eqe)
{
	struct rnic_dev *dev = arg;
	struct rnic_rdma *rdma = dev->rdma;
	bool broken;

	if (eqe->type == RNIC_EVENT_PORT_CHANGE && eqe->sub_type == RNIC_PORT_CHANGE_ACTIVE)
		rnic_rdma_port_event(dev, RDMAPMD_EVENT_PORT_ACTIVE);
	else if (eqe->type == RNIC_EVENT_PORT_CHANGE && eqe->sub_type == RNIC_PORT_CHANGE_DOWN)
		port_lost(dev);
	else if (eqe->type == RNIC_EVENT_COMPLETION &&
		 rnic_neigh_on_completion(dev, rnic_be32_to_cpu(eqe->data[6]) & 0xffffff))
		return false;
	pthread_mutex_lock(&rdma->lock);
	broken = is_broken_queue(rdma, eqe);
	if (rdma->device == NULL)
		/* Nobody has opened it. */;
	else if (eqe->type == RNIC_EVENT_COMPLETION)
		cq_completion(rdma, rnic_be32_to_cpu(eqe->data[6]) & 0xffffff);
	else if (eqe->type == RNIC_EVENT_CQ_ERROR)
		rdmapmd_device_object_event(rdma->device, RDMAPMD_EVENT_CQ_ERR,
					    rnic_be32_to_cpu(eqe->data[0]) & 0xffffff);
	else
		object_event(rdma, eqe);
	pthread_mutex_unlock(&rdma->lock);
	return broken;
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

/*
 * The device says in which state things are, not why: a queue pair in error is QP_FATAL, whatever broke it. What was told before
 * the queue failed may be told once more. Nothing says that a packet came while a queue pair was in RTR once it is in RTS; who
 * has gone there did not wait for it. Paths do not migrate: none has an alternate one.
 */
struct asked {
	enum {
		ASKED_CQ,
		ASKED_SRQ,
		ASKED_QP,
		ASKED_RQ
	} what;		 /* RQ: a RAW_PACKET queue pair, by that */
	uint32_t number; /* that the library knows it by */
	uint32_t queue;	 /* that the device does */
	uint32_t bytes;	 /* of the answer */
	/* Of a queue pair, as set last; of an SRQ: is it armed? */
	uint8_t state;
	bool armed, has_srq;
	uint32_t rq_psn;
};

static uint32_t
state_bytes(const struct rnic_rdma_qp *qp)
{
	/* The page list comes with it. */
	return (uint32_t)(rnic_rdma_is_raw(qp) ? sizeof(struct rnic_query_rq_out)
					       : sizeof(struct rnic_query_qp_out) +
							 rnic_mem_page_count(&qp->memory.mem) * 8);
}

static bool
may_have_news(const struct rnic_rdma_qp *qp)
{
	const uint8_t state = atomic_load_explicit(&qp->state, memory_order_relaxed);

	if (state == RDMAPMD_QPS_RESET || (state == RDMAPMD_QPS_ERR && qp->srq == NULL))
		return false;
	return !rnic_rdma_is_raw(qp) || qp->rq.max_post > 0;
}

static struct asked
query_of_qp(const struct rnic_rdma_qp *qp)
{
	const bool raw = rnic_rdma_is_raw(qp);

	return (struct asked){
		.what = raw ? ASKED_RQ : ASKED_QP,
		.number = qp->qp.qp_num,
		.queue = raw ? qp->rq.wq.rqn : qp->qp.qp_num,
		.bytes = state_bytes(qp),
		.state = atomic_load_explicit(&qp->state, memory_order_relaxed),
		.has_srq = qp->srq != NULL,
		.rq_psn = atomic_load_explicit(&qp->rq_psn, memory_order_relaxed),
	};
}

/* CQs, SRQs, and queue pairs but for those of which all is known. NULL: none, or no memory. */
static struct asked *
objects_collect(struct rnic_rdma *rdma, unsigned int *count)
{
	const struct rnic_rdma_srq *srq;
	const struct rnic_rdma_cq *cq;
	struct asked *list, *next;
	struct rnic_rdma_qp *qp;

	*count = 0;
	pthread_mutex_lock(&rdma->lock);
	LIST_FOREACH(cq, &rdma->all_cqs, next_cq)
		++*count;
	LIST_FOREACH(srq, &rdma->all_srqs, next_srq)
		++*count;
	LIST_FOREACH(qp, &rdma->all_qps, next_qp)
		++*count;
	list = next = *count > 0 ? calloc(*count, sizeof(*list)) : NULL;
	if (list != NULL) {
		LIST_FOREACH(cq, &rdma->all_cqs, next_cq)
			*next++ = (struct asked){ .what = ASKED_CQ,
						  .number = cq->ring.cqn,
						  .queue = cq->ring.cqn,
						  .bytes = sizeof(struct rnic_query_cq_out) };
		LIST_FOREACH(srq, &rdma->all_srqs, next_srq)
			*next++ = (struct asked){ .what = ASKED_SRQ,
						  .number = srq->srq.srqn,
						  .queue = srq->srq.srqn,
						  .bytes = sizeof(struct rnic_query_rmp_out),
						  .armed = atomic_load(&srq->armed) };
		LIST_FOREACH(qp, &rdma->all_qps, next_qp)
			if (may_have_news(qp))
				*next++ = query_of_qp(qp);
		*count = (unsigned int)(next - list);
	}
	pthread_mutex_unlock(&rdma->lock);
	return list;
}

static void
device_tell(struct rnic_rdma *rdma, enum rdmapmd_event_type type, uint32_t number)
{
	pthread_mutex_lock(&rdma->lock);
	if (rdma->device != NULL)
		rdmapmd_device_object_event(rdma->device, type, number);
	pthread_mutex_unlock(&rdma->lock);
}

static void
tell_of_srq(struct rnic_rdma *rdma, const struct asked *asked, struct rnic_rmpc *rmpc)
{
	if (rnic_rmpc_get(rmpc, RNIC_RMPC_STATE) == RNIC_WQ_STATE_ERR)
		device_tell(rdma, RDMAPMD_EVENT_SRQ_ERR, asked->number);
	/* A limit that was reached is no longer set. */
	else if (asked->armed && rnic_wq_get(rnic_rmpc_wq(rmpc), RNIC_WQ_LWM) == 0)
		device_tell(rdma, RDMAPMD_EVENT_SRQ_LIMIT_REACHED, asked->number);
}

static void
tell_of_qp(struct rnic_rdma *rdma, const struct asked *asked, const struct rnic_qpc *qpc)
{
	const uint64_t state = rnic_qpc_get(qpc, RNIC_QPC_STATE);

	if (state == RNIC_QP_STATE_ERR && asked->state != RDMAPMD_QPS_ERR)
		device_tell(rdma, RDMAPMD_EVENT_QP_FATAL, asked->number);
	/* In ERR it takes none, and what it had has come back. */
	if (state == RNIC_QP_STATE_ERR && asked->has_srq)
		device_tell(rdma, RDMAPMD_EVENT_QP_LAST_WQE_REACHED, asked->number);
	/* On the way there it would be SQ_DRAINING. */
	if (state == RNIC_QP_STATE_SQD && asked->state == RDMAPMD_QPS_SQD)
		device_tell(rdma, RDMAPMD_EVENT_SQ_DRAINED, asked->number);
	/* It expects another packet than the first one. */
	if (state == RNIC_QP_STATE_RTR && asked->state == RDMAPMD_QPS_RTR &&
	    rnic_qpc_get(qpc, RNIC_QPC_NEXT_RCV_PSN) != asked->rq_psn)
		device_tell(rdma, RDMAPMD_EVENT_COMM_EST, asked->number);
}

static void
tell_of_answer(struct rnic_rdma *rdma, const struct asked *asked, void *out)
{
	switch (asked->what) {
	case ASKED_CQ:
		if (rnic_cqc_get(rnic_query_cq_out_cqc(out), RNIC_CQC_STATUS) != RNIC_CQ_STATUS_OK)
			device_tell(rdma, RDMAPMD_EVENT_CQ_ERR, asked->number);
		break;
	case ASKED_SRQ: tell_of_srq(rdma, asked, rnic_query_rmp_out_rmpc(out)); break;
	case ASKED_QP: tell_of_qp(rdma, asked, rnic_query_qp_out_qpc(out)); break;
	default:
		if (rnic_rqc_get(rnic_query_rq_out_rqc(out), RNIC_RQC_STATE) == RNIC_WQ_STATE_ERR)
			device_tell(rdma, RDMAPMD_EVENT_QP_FATAL, asked->number);
	}
}

/* What has become of it, if it is still there. */
static void
object_query(struct rnic_dev *dev, const struct asked *asked)
{
	static const uint16_t opcodes[] = {
		[ASKED_CQ] = RNIC_CMD_QUERY_CQ,
		[ASKED_SRQ] = RNIC_CMD_QUERY_RMP,
		[ASKED_QP] = RNIC_CMD_QUERY_QP,
		[ASKED_RQ] = RNIC_CMD_QUERY_RQ,
	};
	void *out = calloc(1, asked->bytes);

	if (out == NULL)
		return;
	if (rnic_cmd_try_query(dev, opcodes[asked->what], asked->queue, out, asked->bytes) == 0)
		tell_of_answer(dev->rdma, asked, out);
	free(out);
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
	list = objects_collect(rdma, &count);
	for (i = 0; list != NULL && i < count && !rnic_thread_stopping(dev); i++)
		object_query(dev, &list[i]);
	free(list);
}

/* ---- CQs that name an event queue that takes no more events ---- */

void
rnic_rdma_find_deaf(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_rdma_cq *cq;
	uint32_t count = 0;

	pthread_mutex_lock(&rdma->lock);
	LIST_FOREACH(cq, &rdma->event_cq_list, next_event_cq) {
		cq->deaf = cq->eqn != rnic_eq_number(rdma->vectors[cq->vector].eq);
		count += cq->deaf;
	}
	rdma->deaf_cqs = count;
	pthread_mutex_unlock(&rdma->lock);
	if (count == 0)
		return;
	RNIC_LOG_REPEATED(WARNING, dev,
			  "%u completion queues have stopped raising events: they are polled every "
			  "%u ms until they are created again",
			  count, RNIC_DEAF_LOOK_MS);
}

bool
rnic_rdma_has_deaf(struct rnic_dev *dev)
{
	bool has;

	if (dev->rdma == NULL)
		return false;
	pthread_mutex_lock(&dev->rdma->lock);
	has = dev->rdma->deaf_cqs > 0;
	pthread_mutex_unlock(&dev->rdma->lock);
	return has;
}

/* Is it armed, and there is an entry that was not there then? For one of solicited events alone that is more than it asks for. */
static bool
is_due(struct rnic_rdma_cq *cq)
{
	const uint32_t sequence = atomic_load_explicit(&cq->arm_sequence, memory_order_relaxed);
	/* Partner: the store-release of the thread that arms it. */
	const uint32_t word =
		RNIC_SWAP32(__atomic_load_n(&cq->ring.dbrec->arm.raw, __ATOMIC_ACQUIRE));
	const uint32_t index = word & RNIC_CQ_INDEX_MASK;
	bool due;

	if ((word >> RNIC_CQ_ARM_SEQUENCE_SHIFT & 3) != (sequence & 3))
		return false;
	/* The lock is held by a resize or by the end of the CQ: try again later. */
	if (pthread_mutex_trylock(&cq->lock) != 0)
		return false;
	due = rnic_cqe_ready(&cq->ring.ring[index & cq->ring.mask], index, cq->ring.log_size);
	pthread_mutex_unlock(&cq->lock);
	return due;
}

void
rnic_rdma_look(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_rdma_cq *cq;

	pthread_mutex_lock(&rdma->lock);
	LIST_FOREACH(cq, &rdma->event_cq_list, next_event_cq)
		if (cq->deaf && rdma->device != NULL && is_due(cq))
			cq_completion(rdma, cq->ring.cqn);
	pthread_mutex_unlock(&rdma->lock);
}

/* Those that name another one are looked at already. */
void
rnic_rdma_check_events(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_rdma_cq *cq;
	struct rnic_eq *eq;
	bool *owes;
	uint32_t i;

	if (rdma == NULL)
		return;
	for (i = 0; i < rdma->vector_count; i++)
		rdma->vectors[i].owes = false;
	pthread_mutex_lock(&rdma->lock);
	LIST_FOREACH(cq, &rdma->event_cq_list, next_event_cq) {
		owes = &rdma->vectors[cq->vector].owes;
		*owes = *owes || (rdma->device != NULL && !cq->deaf && is_due(cq));
	}
	pthread_mutex_unlock(&rdma->lock);
	for (i = 0; i < rdma->vector_count; i++) {
		eq = atomic_load(&rdma->vectors[i].eq);
		if (eq != NULL)
			rnic_eq_owes(eq, rdma->vectors[i].owes);
	}
}

void
rnic_rdma_lost(void *arg)
{
	struct rnic_rdma *rdma = ((struct rnic_dev *)arg)->rdma;
	struct rnic_rdma_cq *cq;

	rnic_neigh_lost_link(arg);
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
