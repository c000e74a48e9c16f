/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues of the library's: a CQ as the port has them, with events for those who want them. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/dump.h"
#include "core/eq.h"
#include "core/uar.h"
#include "object/cq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "rdma/cq.h"
#include "rdma/event.h"
#include "rdma/poll.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma/vector.h"

/* ---- Events: room in the event queue, and the number by which they are found ---- */

static int
events_begin(struct rnic_rdma_cq *cq)
{
	struct rnic_rdma *rdma = cq->dev->rdma;
	int rc = 0;

	/* An event queue that runs over loses events: each of its CQs has room for one. */
	pthread_mutex_lock(&rdma->lock);
	if (rdma->event_cqs >= RNIC_RDMA_EVENTS_MAX)
		rc = -ENOSPC;
	else
		rdma->event_cqs++;
	pthread_mutex_unlock(&rdma->lock);
	if (rc != 0) {
		RNIC_LOG(ERR, cq->dev, "at most %u completion queues can have a channel",
			 RNIC_RDMA_EVENTS_MAX);
		return rc;
	}
	rc = rdmapmd_table_insert(rdma->cqs, cq->ring.cqn, &cq->number);
	pthread_mutex_lock(&rdma->lock);
	if (rc == 0) {
		LIST_INSERT_HEAD(&rdma->event_cq_list, cq, next_event_cq);
		/* Made while the event queue was. */
		cq->deaf = cq->eqn != rnic_eq_number(rdma->vectors[cq->vector].eq);
		rdma->deaf_cqs += cq->deaf;
	} else {
		rdma->event_cqs--;
	}
	pthread_mutex_unlock(&rdma->lock);
	cq->has_events = rc == 0;
	return rc;
}

/* Afterwards nobody is handling an event of it: that is done with the lock held. */
static void
events_end(struct rnic_rdma_cq *cq)
{
	struct rnic_rdma *rdma = cq->dev->rdma;

	if (!cq->has_events)
		return;
	pthread_mutex_lock(&rdma->lock);
	rdmapmd_table_remove(rdma->cqs, cq->ring.cqn, NULL);
	LIST_REMOVE(cq, next_event_cq);
	rdma->event_cqs--;
	rdma->deaf_cqs -= cq->deaf;
	pthread_mutex_unlock(&rdma->lock);
	cq->has_events = false;
}

/* ---- Life ---- */

static enum rnic_rdma_poll_kind
poll_kind(void)
{
	if (rnic_dump_wanted())
		return RNIC_RDMA_POLL_DUMP;
	return rnic_rdma_polls_fenced() ? RNIC_RDMA_POLL_FENCED : RNIC_RDMA_POLL_PLAIN;
}

int
rnic_rdma_cq_create(struct rdmapmd_cq *head, const struct rdmapmd_cq_layout *layout)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	struct rnic_dev *dev = rnic_rdma_dev(head->context);
	struct rnic_eq *eq;
	int rc = rnic_rdma_vector_eq(dev, layout->comp_vector, &eq);

	if (rc != 0)
		return rc;
	cq->dev = dev;
	cq->vector = layout->comp_vector;
	cq->lost = &dev->quiesced;
	cq->arm_register = rnic_uars_cq_register(dev);
	atomic_store(&cq->arm_sequence, dev->tunables.armings + RNIC_CQ_ARM_SEQUENCE_FIRST);
	rc = rnic_rdma_qps_init(cq);
	if (rc != 0)
		return rc;
	cq->eqn = rnic_eq_number(eq);
	rc = rnic_cq_create(dev, layout->log_size, eq, &cq->ring);
	if (rc != 0)
		goto no_ring;
	if (head->channel != NULL)
		rc = events_begin(cq);
	if (rc != 0)
		goto no_events;
	pthread_mutex_lock(&dev->rdma->lock);
	LIST_INSERT_HEAD(&dev->rdma->all_cqs, cq, next_cq);
	pthread_mutex_unlock(&dev->rdma->lock);
	head->cqn = cq->ring.cqn;
	head->poll_cq = rnic_rdma_polls[layout->timestamps][poll_kind()];
	if (head->channel != NULL)
		head->req_notify_cq = rnic_rdma_req_notify_cq;
	return 0;

no_events:
	rnic_cq_destroy(dev, &cq->ring);
no_ring:
	rnic_rdma_qps_fini(cq);
	return rc;
}

int
rnic_rdma_cq_destroy(struct rdmapmd_cq *head)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	int rc;

	if (cq->unmatched > 0)
		RNIC_LOG(WARNING, cq->dev, "CQ 0x%x: %" PRIu64 " completions matched no queue pair",
			 head->cqn, cq->unmatched);
	pthread_mutex_lock(&cq->dev->rdma->lock);
	LIST_REMOVE(cq, next_cq);
	pthread_mutex_unlock(&cq->dev->rdma->lock);
	events_end(cq);
	rc = rnic_cq_destroy(cq->dev, &cq->ring);
	rnic_control_sync(cq->dev);
	rnic_rdma_qps_fini(cq);
	return rc;
}

int
rnic_rdma_cq_resize(struct rdmapmd_cq *head, uint8_t log_size)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	int rc;

	if (!rnic_general_cap(cq->dev, RNIC_GENERAL_CAP_CQ_RESIZE))
		return -ENOTSUP;
	pthread_mutex_lock(&cq->lock);
	rc = rnic_cq_resize(cq->dev, &cq->ring, log_size);
	pthread_mutex_unlock(&cq->lock);
	return rc;
}

int
rnic_rdma_cq_moderate(struct rdmapmd_cq *head, uint16_t count, uint16_t period_us)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	struct rnic_modify_cq_in in = { 0 };
	struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(&in);

	if (!rnic_general_cap(cq->dev, RNIC_GENERAL_CAP_CQ_MODERATION))
		return -ENOTSUP;
	if (period_us > rnic_field_mask(RNIC_CQC_CQ_PERIOD))
		return -EINVAL;
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, cq->ring.cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT,
			      RNIC_MODIFY_CQ_PERIOD | RNIC_MODIFY_CQ_MAX_COUNT);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_PERIOD, period_us);
	rnic_cqc_set(cqc, RNIC_CQC_CQ_MAX_COUNT, count);
	return rnic_cmd_exec_in(cq->dev, RNIC_CMD_MODIFY_CQ, 0, &in, sizeof(in));
}
