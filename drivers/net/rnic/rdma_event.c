/* SPDX-License-Identifier: BSD-3-Clause */

/* Entries of event queues that are about RDMA's objects, handed on to the library (PRM: "Event Queues"). */

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
