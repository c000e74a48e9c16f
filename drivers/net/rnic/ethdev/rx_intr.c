/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rx interrupts: each receive queue's CQ has an event queue, and that a vector, of its own, whose eventfd is what ethdev
 * hands to epoll. A queue's thread arms both when it wants to sleep; nobody else looks at that event queue.
 *
 *	rte_eth_dev_rx_intr_enable()    events so far, arm the EQ, arm the CQ: an entry that waits raises the event at once
 *	rte_epoll_wait()
 *	rte_eth_dev_rx_intr_disable()   the eventfd is read
 *
 * No two queues share a vector: one that reads the eventfd would take the other's event with it.
 *
 * An event queue that takes no more events stays so until the port is started again: its CQ names it, and no command moves a
 * CQ that every device has. The control thread, which finds out, wakes the queue's thread every few milliseconds.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_interrupts.h>

#include "base/eventfd.h"
#include "base/log.h"
#include "base/owner.h"
#include "base/thread.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/eq.h"
#include "core/uar.h"
#include "core/vector.h"
#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "ethdev/rx_intr.h"
#include "ethdev/rx_queue.h"
#include "object/cq.h"
#include "prm/wqe.h"

#define LOG_EQ_SIZE 6 /* a page; there is never more than one event in it */

_Static_assert(RNIC_RX_QUEUES_MAX <= RNIC_RX_VECTORS_MAX, "a vector for each");

static int
vector_fd(struct rnic_dev *dev, uint16_t queue)
{
	return dev->access->ops->irq_fd(dev->access, RNIC_VECTOR_RX + queue);
}

/* ---- What epoll needs ---- */

static void
handle_down(struct rte_eth_dev *eth_dev)
{
	if (eth_dev->intr_handle == NULL)
		return;
	rte_intr_free_epoll_fd(eth_dev->intr_handle);
	rte_intr_vec_list_free(eth_dev->intr_handle);
	rte_intr_instance_free(eth_dev->intr_handle);
	eth_dev->intr_handle = NULL;
}

static int
handle_up(struct rte_eth_dev *eth_dev)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	const uint16_t queues = eth_dev->data->nb_rx_queues;
	struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	uint16_t i;

	eth_dev->intr_handle = handle;
	/* EAL reads nothing: that is done where the queue's interrupt is disabled. */
	if (handle == NULL || rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) != 0 ||
	    rte_intr_vec_list_alloc(handle, NULL, queues) != 0 ||
	    rte_intr_nb_efd_set(handle, queues) != 0)
		return -ENOMEM;
	for (i = 0; i < queues; i++)
		if (rte_intr_efds_index_set(handle, i, vector_fd(dev, i)) != 0 ||
		    rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i) != 0)
			return -ENOMEM;
	return 0;
}

/* ---- What the control thread knows of them ---- */

static void
intr_kick(struct rnic_dev *dev, uint16_t queue)
{
	rnic_eventfd_signal(vector_fd(dev, queue));
}

static int
events_up(struct rte_eth_dev *eth_dev)
{
	struct rnic_rx_events *events = &rnic_ethdev_get(eth_dev)->dev->rx_events;
	const uint16_t count = eth_dev->data->nb_rx_queues;
	struct rnic_rx_event *queues = calloc(count, sizeof(*queues));
	const struct rnic_rxq *rxq;
	uint16_t i;

	if (queues == NULL)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		rxq = eth_dev->data->rx_queues[i];
		queues[i].rxq = rxq;
		queues[i].eqn = rnic_eq_number(rxq->eq);
	}
	pthread_mutex_lock(&events->lock);
	events->queues = queues;
	events->count = count;
	pthread_mutex_unlock(&events->lock);
	return 0;
}

/* From now on the control thread looks at none of them. */
void
rnic_rx_intr_quiet(struct rte_eth_dev *eth_dev)
{
	struct rnic_rx_events *events = &rnic_ethdev_get(eth_dev)->dev->rx_events;

	pthread_mutex_lock(&events->lock);
	free(events->queues);
	events->queues = NULL;
	events->count = events->deaf = 0;
	pthread_mutex_unlock(&events->lock);
}

/* Is it armed, and there is an entry that was not there then? The queue's thread may be arming it: then not for long. */
static bool
is_due(const struct rnic_rxq *rxq)
{
	const struct rnic_cq *cq = &rxq->cq;
	uint32_t index;

	/* Partner: the first arming, behind which the CQ stays as it is. */
	if (!atomic_load_explicit(&rxq->armed, memory_order_acquire))
		return false;
	index = RNIC_SWAP32(__atomic_load_n(&cq->dbrec->arm.raw, __ATOMIC_ACQUIRE)) &
		RNIC_CQ_INDEX_MASK;
	return rnic_cqe_ready(&cq->ring[index & cq->mask], index, cq->log_size);
}

/* Which event queues owe an event: their CQ is armed, and has an entry. */
static void
intr_check(struct rnic_dev *dev)
{
	struct rnic_rx_events *events = &dev->rx_events;
	const struct rnic_rxq *rxq;
	uint16_t i;

	pthread_mutex_lock(&events->lock);
	for (i = 0; i < events->count; i++) {
		rxq = events->queues[i].rxq;
		rnic_eq_owes(rxq->eq, is_due(rxq));
	}
	pthread_mutex_unlock(&events->lock);
}

/* The next one, from that on, that the device is to be asked for. False: there is none. */
static bool
to_be_asked(struct rnic_dev *dev, bool all, uint16_t *queue, uint32_t *eqn)
{
	struct rnic_rx_events *events = &dev->rx_events;
	const struct rnic_rx_event *event;
	bool found = false;

	pthread_mutex_lock(&events->lock);
	for (; *queue < events->count; ++*queue) {
		event = &events->queues[*queue];
		found = !event->deaf && (all || rnic_eq_silent(dev, event->rxq->eq));
		if (found) {
			rnic_eq_trust(event->rxq->eq);
			*eqn = event->eqn;
			break;
		}
	}
	pthread_mutex_unlock(&events->lock);
	return found;
}

/* Unless it is another one by now. */
static void
note_deaf(struct rnic_dev *dev, uint16_t queue, uint32_t eqn)
{
	struct rnic_rx_events *events = &dev->rx_events;
	struct rnic_rx_event *event;
	bool news = false;

	pthread_mutex_lock(&events->lock);
	event = queue < events->count ? &events->queues[queue] : NULL;
	if (event != NULL && event->eqn == eqn && !event->deaf) {
		news = event->deaf = true;
		events->deaf++;
	}
	pthread_mutex_unlock(&events->lock);
	if (news)
		RNIC_LOG_REPEATED(
			WARNING, dev,
			"Rx queue %u: its event queue accepts no further events: threads that sleep "
			"on it are woken every %u ms; restart the port",
			queue, RNIC_DEAF_LOOK_MS);
}

/* The device is asked for those that are silent, or for all. None of them is replaced: nothing else was missed. */
static bool
look_for_deaf(struct rnic_dev *dev, bool all)
{
	uint32_t eqn;
	uint16_t i;

	/* Not with the lock held: the application may be waiting for it. */
	for (i = 0; to_be_asked(dev, all, &i, &eqn) && !rnic_thread_stopping(dev); i++)
		if (rnic_eq_failed(dev, eqn))
			note_deaf(dev, i, eqn);
	return false;
}

static bool
is_deaf(struct rnic_dev *dev)
{
	bool deaf;

	pthread_mutex_lock(&dev->rx_events.lock);
	deaf = dev->rx_events.deaf > 0;
	pthread_mutex_unlock(&dev->rx_events.lock);
	return deaf;
}

/* Threads that sleep on their receive queues. */
static void
intr_wake(struct rnic_dev *dev)
{
	uint16_t i;

	pthread_mutex_lock(&dev->rx_events.lock);
	for (i = 0; i < dev->rx_events.count; i++)
		if (dev->rx_events.queues[i].deaf)
			intr_kick(dev, i);
	pthread_mutex_unlock(&dev->rx_events.lock);
}

/* All of it works as long as the device is there, whether its ethdev is started or not. */
const struct rnic_control_source rnic_rx_intr_source = {
	.check = intr_check,
	.mend = look_for_deaf,
	.is_deaf = is_deaf,
	.look = intr_wake,
};

/* ---- Life ---- */

void
rnic_rx_intr_stop(struct rte_eth_dev *eth_dev)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	struct rnic_rxq *rxq;
	uint16_t i;

	handle_down(eth_dev);
	rnic_rx_intr_quiet(eth_dev);
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		rnic_eq_destroy(dev, rxq->eq);
		rxq->eq = NULL;
	}
}

int
rnic_rx_intr_start(struct rte_eth_dev *eth_dev)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	struct rnic_rxq *rxq;
	uint16_t i;
	int rc;

	if (!eth_dev->data->dev_conf.intr_conf.rxq)
		return 0;
	if (eth_dev->data->nb_rx_queues > rnic_rx_vectors(dev)) {
		RNIC_LOG(
			ERR, dev,
			"interrupts for %u Rx queues: the device has vectors for %u; use fewer queues",
			eth_dev->data->nb_rx_queues, rnic_rx_vectors(dev));
		return -ENOTSUP;
	}
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		rxq->arm_sequence = dev->tunables.armings + RNIC_CQ_ARM_SEQUENCE_FIRST;
		rxq->armed = false;
		/* Of the last start; none comes before the queue is armed. */
		rnic_eventfd_drain(vector_fd(dev, i));
		/* No event type is bound to this queue: CQs name it by number. The queue's thread looks at it by itself. */
		rc = rnic_eq_create(dev, LOG_EQ_SIZE, 0, RNIC_VECTOR_RX + i, NULL, &rxq->eq);
		if (rc != 0)
			return rc;
	}
	rc = handle_up(eth_dev);
	if (rc == 0)
		rc = events_up(eth_dev);
	if (rc != 0)
		RNIC_LOG(ERR, dev, "no memory for the interrupts of %u Rx queues",
			 eth_dev->data->nb_rx_queues);
	return rc;
}

/* ---- One queue's, from the thread that polls it ---- */

static void
intr_arm(struct rnic_rxq *rxq)
{
	uint32_t word;

	/* Each event uses up the number that the CQ was armed with. */
	rxq->arm_sequence += rnic_eq_take_completions(rxq->dev, rxq->eq);
	word = (rxq->arm_sequence & 3) << RNIC_CQ_ARM_SEQUENCE_SHIFT |
	       (rxq->cq.consumer & RNIC_CQ_INDEX_MASK);
	rnic_cq_arm(rxq->cq.dbrec, rnic_uars_cq_register(rxq->dev), word, rxq->cq.cqn);
	atomic_store_explicit(&rxq->armed, true, memory_order_release);
}

int
rnic_rx_intr_enable(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	struct rnic_rxq *rxq = eth_dev->data->rx_queues[queue];
	bool needs_burst = false;

	if (rxq->eq == NULL)
		return -ENOTSUP;
	/* Nothing would ever wake a thread that sleeps on it. */
	if (atomic_load_explicit(&rxq->dev->dead, memory_order_relaxed))
		return -EIO;
	rnic_owner_enter(rxq);
	switch (atomic_load_explicit(&rxq->state, memory_order_acquire)) {
	case RNIC_QUEUE_RUNNING:
		intr_arm(rxq);
		/* Without mbufs: no frame can come. Within a session: frames are there, and no entry tells intr_check() of them. */
		needs_burst = rxq->rq.producer == rxq->consumer || rxq->cq.session != 0;
		break;
	case RNIC_QUEUE_ERROR: needs_burst = rxq->recovery.unasked; break;
	case RNIC_QUEUE_RECOVERED: needs_burst = true; break;
	/* Another thread has the queue, and wakes this one when it is to go on. */
	default: break;
	}
	if (needs_burst)
		intr_kick(rxq->dev, queue);
	rnic_owner_leave(rxq);
	return 0;
}

int
rnic_rx_intr_disable(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	struct rnic_rxq *rxq = eth_dev->data->rx_queues[queue];

	if (rxq->eq == NULL)
		return -ENOTSUP;
	rnic_eventfd_drain(vector_fd(rxq->dev, queue));
	return 0;
}

void
rnic_rx_intr_ready(struct rnic_dev *dev, uint16_t queue)
{
	intr_kick(dev, queue);
}

void
rnic_rx_intr_wake(struct rnic_dev *dev)
{
	unsigned int i;

	for (i = 0; i < rnic_rx_vectors(dev); i++)
		intr_kick(dev, (uint16_t)i);
}
