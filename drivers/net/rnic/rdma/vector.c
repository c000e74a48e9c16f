/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion vectors and their event queues. The control thread sleeps on one epoll descriptor for all of them, to which a
 * vector's is added when its queue is made: it walks the queues that have something to tell, and no others.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/log.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/vector.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "rdma/event.h"
#include "rdma/rdma.h"
#include "rdma/vector.h"

#define COMP_EQ_LOG_SIZE 12
/*
 * Thousands of queue pairs may have something to tell at the same time, and an event queue that runs over is lost: it is not
 * the one that commands need, and has room.
 */
#define EVENT_EQ_LOG_SIZE 13
#define EVENT(type)	  (UINT64_C(1) << (type))
#define EVENTS                                                                 \
	(EVENT(RNIC_EVENT_COMM_ESTABLISHED) | EVENT(RNIC_EVENT_SQ_DRAINED) |   \
	 EVENT(RNIC_EVENT_SRQ_CATASTROPHIC) | EVENT(RNIC_EVENT_SRQ_LAST_WQE) | \
	 EVENT(RNIC_EVENT_SRQ_LIMIT))
_Static_assert(RNIC_RDMA_EVENTS_MAX < 1 << COMP_EQ_LOG_SIZE, "an entry for each CQ");

#define OTHER_EQS 2u /* the asynchronous one, and that of queue pairs */

/* At least 1. */
static uint32_t
count_vectors(const struct rnic_dev *dev)
{
	const unsigned int rx = rnic_rx_vectors(dev);
	/* MAX_NUM_EQS is 0 of devices that have all that the other one says. */
	const uint32_t few = (uint32_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_NUM_EQS);
	const uint32_t eqs =
		few != 0 ? few : UINT32_C(1) << rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_EQ);
	const uint32_t irqs = dev->access->irq_count;
	const uint32_t of_irqs = irqs - RTE_MIN(irqs, RNIC_VECTOR_RX + rx) + 1;
	const uint32_t of_eqs = eqs - RTE_MIN(eqs, OTHER_EQS + rx);
	const uint32_t left = RTE_MIN(of_irqs, of_eqs);

	return left > 0 ? left : 1;
}

/* RNIC_VECTOR_ASYNC: it comes with the asynchronous queue's. */
static unsigned int
irq_of(const struct rnic_dev *dev, uint32_t vector)
{
	if (vector > 0)
		return RNIC_VECTOR_RX + rnic_rx_vectors(dev) + vector - 1;
	return dev->access->irq_count > RNIC_VECTOR_RDMA ? RNIC_VECTOR_RDMA : RNIC_VECTOR_ASYNC;
}

static int
vector_fd(struct rnic_dev *dev, uint32_t vector)
{
	return dev->access->ops->irq_fd(dev->access, dev->rdma->vectors[vector].irq);
}

/* ---- What the control thread does for them ---- */

/* -1: they come with the asynchronous queue's. */
static int
irq_fd(struct rnic_dev *dev)
{
	return dev->rdma->epoll_fd;
}

/* The others are armed where they are made. */
static void
vectors_arm(struct rnic_dev *dev)
{
	rnic_eq_arm(dev, atomic_load(&dev->rdma->vectors[0].eq));
	rnic_eq_arm(dev, dev->rdma->event_eq);
}

static void
poll_vector(struct rnic_dev *dev, uint32_t vector)
{
	struct rnic_eq *eq = atomic_load(&dev->rdma->vectors[vector].eq);

	if (eq != NULL)
		rnic_eq_poll(dev, eq);
	if (vector == 0)
		rnic_eq_poll(dev, dev->rdma->event_eq);
}

void
rnic_rdma_poll(struct rnic_dev *dev)
{
	uint32_t i;

	if (dev->rdma == NULL)
		return;
	for (i = 0; i < dev->rdma->vector_count; i++)
		poll_vector(dev, i);
}

/* More than fit stay readable. */
static void
vectors_hear(struct rnic_dev *dev)
{
	struct epoll_event ready[8];
	const int count = epoll_wait(dev->rdma->epoll_fd, ready, RTE_DIM(ready), 0);
	int i;

	for (i = 0; i < count; i++) {
		/* Before the walk: what is written after it makes the descriptor readable again. */
		rnic_eventfd_drain(vector_fd(dev, ready[i].data.u32));
		poll_vector(dev, ready[i].data.u32);
	}
}

/* What befell a queue pair may show nowhere else. Of completions their CQs tell. */
static void
vectors_suspect(struct rnic_dev *dev)
{
	rnic_eq_suspect(dev->rdma->event_eq);
}

/* Replace those that failed. May events of queue pairs and SRQs have been lost? */
static bool
vectors_mend(struct rnic_dev *dev, bool all)
{
	struct rnic_rdma *rdma = dev->rdma;
	bool mended = false;
	struct rnic_eq *eq;
	uint32_t i;

	if (atomic_load(&dev->dead))
		return false;
	for (i = 0; i < rdma->vector_count; i++) {
		eq = atomic_load(&rdma->vectors[i].eq);
		if (eq != NULL && (all || rnic_eq_silent(dev, eq)))
			mended |= rnic_control_mend_eq(dev, eq);
	}
	/* Completions are looked for in the CQs; nothing else was missed there. */
	if (mended)
		rnic_rdma_find_deaf(dev);
	return (all || rnic_eq_silent(dev, rdma->event_eq)) &&
	       rnic_control_mend_eq(dev, rdma->event_eq);
}

const struct rnic_control_source rnic_rdma_source = {
	.irq_fd = irq_fd,
	.hear = vectors_hear,
	.arm = vectors_arm,
	.poll = rnic_rdma_poll,
	.suspect = vectors_suspect,
	.check = rnic_rdma_check_events,
	.mend = vectors_mend,
	.ask = rnic_rdma_ask,
	.is_deaf = rnic_rdma_has_deaf,
	.look = rnic_rdma_look,
};

/* ---- Life ---- */

/* From now on the control thread hears of it. */
static int
listen_to(struct rnic_dev *dev, uint32_t vector)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = vector };

	return epoll_ctl(dev->rdma->epoll_fd, EPOLL_CTL_ADD, vector_fd(dev, vector), &event) == 0
		       ? 0
		       : -errno;
}

/* No completion is a queue's own by nature: CQs name it. */
static int
make_eq(struct rnic_dev *dev, uint32_t vector, struct rnic_eq **result)
{
	struct rnic_eq *eq;
	int rc = rnic_eq_create(dev, COMP_EQ_LOG_SIZE, 0, dev->rdma->vectors[vector].irq,
				rnic_event_handle, &eq);

	if (rc != 0)
		return rc;
	rc = listen_to(dev, vector);
	if (rc != 0) {
		RNIC_LOG(ERR, dev, "completion vector %u: its interrupt cannot be awaited: %s",
			 vector, strerror(-rc));
		rnic_eq_destroy(dev, eq);
		return rc;
	}
	rnic_eq_arm(dev, eq);
	/* The control thread's from here on. No CQ names it yet: it has told of nothing. */
	atomic_store(&dev->rdma->vectors[vector].eq, eq);
	*result = eq;
	return 0;
}

int
rnic_rdma_vector_eq(struct rnic_dev *dev, uint32_t vector, struct rnic_eq **eq)
{
	struct rnic_rdma *rdma = dev->rdma;
	int rc = 0;

	if (vector >= rdma->vector_count)
		return -EINVAL;
	pthread_mutex_lock(&rdma->vectors_lock);
	*eq = atomic_load(&rdma->vectors[vector].eq);
	if (*eq == NULL)
		rc = make_eq(dev, vector, eq);
	pthread_mutex_unlock(&rdma->vectors_lock);
	return rc;
}

static int
make_first_eqs(struct rnic_dev *dev, bool *refused)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rnic_eq *eq;
	const unsigned int irq = rdma->vectors[0].irq;
	int rc = rnic_eq_try(dev, COMP_EQ_LOG_SIZE, 0, irq, rnic_event_handle, refused, &eq);

	if (rc != 0)
		return rc;
	atomic_store(&rdma->vectors[0].eq, eq);
	return rnic_eq_try(dev, EVENT_EQ_LOG_SIZE, EVENTS, irq, rnic_event_handle, refused,
			   &rdma->event_eq);
}

int
rnic_rdma_vectors_setup(struct rnic_dev *dev, bool *refused)
{
	const uint32_t count = count_vectors(dev);
	struct rnic_rdma *rdma = dev->rdma;
	int rc = 0;

	*refused = false;
	rdma->vectors = calloc(count, sizeof(*rdma->vectors));
	if (rdma->vectors == NULL)
		return -ENOMEM;
	for (; rdma->vector_count < count; rdma->vector_count++)
		rdma->vectors[rdma->vector_count].irq = irq_of(dev, rdma->vector_count);
	if (rdma->vectors[0].irq != RNIC_VECTOR_ASYNC) {
		rdma->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		rc = rdma->epoll_fd < 0 ? -errno : listen_to(dev, 0);
	}
	return rc != 0 ? rc : make_first_eqs(dev, refused);
}

void
rnic_rdma_vectors_teardown(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	uint32_t i;

	rnic_eq_destroy(dev, rdma->event_eq);
	for (i = 0; i < rdma->vector_count; i++)
		rnic_eq_destroy(dev, atomic_load(&rdma->vectors[i].eq));
	if (rdma->epoll_fd >= 0)
		close(rdma->epoll_fd);
	free(rdma->vectors);
}
