/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queue pairs that sent lately: each poll reads their doorbell records, so that they do not depend on a register that others
 * share.
 *
 * There may be a thousand of them, nearly all without news. So one array has all that a look needs, in the order of reading; the
 * queue pair itself is touched only when its record has changed. Each poll reads some of them, and the next one goes on where it
 * stopped.
 */
#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "prm/cmd.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/qp_watch.h"

#define WATCH_IDLE_POLLS 512 /* until a queue pair is left to its doorbell */
#define WATCH_MIN	 16

struct softrnic_qp_watched {
	const uint32_t *counter; /* of sends, in the record */
	struct softrnic_qp *qp;
	uint16_t producer; /* as last seen */
	uint16_t idle;	   /* polls since it changed */
};

int
softrnic_qp_watch_open(struct softrnic *dev)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;
	uint32_t size = watch->size == 0 ? WATCH_MIN : 2 * watch->size;
	struct softrnic_qp_watched *more;

	if (watch->users == watch->size) {
		more = realloc(watch->of, size * sizeof(*more));
		if (more == NULL)
			return RNIC_STATUS_NO_RES;
		watch->of = more;
		watch->size = size;
	}
	watch->users++;
	return RNIC_STATUS_OK;
}

void
softrnic_qp_watch_close(struct softrnic *dev)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;

	if (--watch->users > 0)
		return;
	free(watch->of);
	*watch = (struct softrnic_qp_watch){ 0 };
}

void
softrnic_qp_watch(struct softrnic *dev, struct softrnic_qp *qp)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;

	/* The others are of this map, too: each poll begins with a look at them. */
	watch->generation = dev->dma_generation;
	if (qp->watched == 0)
		qp->watched = ++watch->count;
	watch->of[qp->watched - 1] = (struct softrnic_qp_watched){
		.counter = (const uint32_t *)qp->dbrec.host + 1,
		.qp = qp,
		.producer = qp->sq_producer,
	};
}

void
softrnic_qp_unwatch(struct softrnic *dev, struct softrnic_qp *qp)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;
	struct softrnic_qp_watched *last;

	if (qp->watched == 0)
		return;
	last = &watch->of[--watch->count];
	if (watch->old > watch->count)
		watch->old = watch->count;
	watch->of[qp->watched - 1] = *last;
	last->qp->watched = qp->watched;
	qp->watched = 0;
}

void
softrnic_qp_watch_forget(struct softrnic *dev)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;
	uint32_t i;

	/* Thousands of maps may go at once, and nobody has looked since the first one. */
	if (watch->generation == 0)
		return;
	for (i = 0; i < watch->count; i++)
		watch->of[i].counter = NULL;
	watch->generation = 0;
}

#ifdef SOFTRNIC_DMA_AUDIT
bool
softrnic_qp_watch_holds(const struct softrnic *dev)
{
	const struct softrnic_qp_watch *watch = &dev->qp_watch;
	uint32_t i;

	for (i = 0; i < watch->count; i++) {
		if (watch->of[i].counter != NULL)
			return true;
	}
	return false;
}
#endif

/* Records may be elsewhere, or nowhere, and so may rings, as a queue pair finds in its turn. */
static bool
watch_again(struct softrnic *dev, struct softrnic_qp_watched *watched)
{
	struct softrnic_qp *qp = watched->qp;

	softrnic_qp_activate(dev, qp);
	if (!softrnic_dbrec_refresh(dev, &qp->dbrec)) {
		softrnic_qp_unwatch(dev, qp);
		return false;
	}
	watched->counter = (const uint32_t *)qp->dbrec.host + 1;
	return true;
}

static inline void
watch_look(struct softrnic *dev, uint32_t i)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;
	struct softrnic_qp_watched *watched = &watch->of[i];

	if (unlikely(i < watch->old)) {
		watch->old = i;
		if (!watch_again(dev, watched))
			return;
	}
	softrnic_audit(dev, watched->counter - 1, sizeof(struct rnic_wq_dbrec), SOFTRNIC_DMA_READ);
	/* Pairs with the driver's store of the counter behind its WQEs. */
	if ((uint16_t)RNIC_SWAP32(__atomic_load_n(watched->counter, __ATOMIC_ACQUIRE)) !=
	    watched->producer)
		softrnic_qp_activate(dev, watched->qp);
	else if (++watched->idle >= WATCH_IDLE_POLLS)
		softrnic_qp_unwatch(dev, watched->qp);
}

void
softrnic_qp_watch_poll(struct softrnic *dev)
{
	struct softrnic_qp_watch *watch = &dev->qp_watch;
	uint32_t looks = watch->count < SOFTRNIC_IDLE_LOOKS ? watch->count : SOFTRNIC_IDLE_LOOKS;

	if (unlikely(watch->generation != dev->dma_generation)) {
		watch->generation = dev->dma_generation;
		watch->next = watch->old = watch->count;
	}
	/* Towards the start: the slot of one that leaves is taken by one that was looked at. */
	for (; looks > 0; looks--) {
		if (watch->next == 0 || watch->next > watch->count)
			watch->next = watch->count;
		if (watch->count == 0)
			return;
		watch_look(dev, --watch->next);
	}
}
