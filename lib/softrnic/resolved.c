/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is resolved: who holds an address of host memory stands in a list, which an unmap empties. It costs a step for each
 * that was resolved since the last one, not one for each object that there is; and what is used again is looked up
 * again, as after any change of the map.
 */
#include <errno.h>
#include <stdlib.h>

#include "cq.h"
#include "qp/qp.h"
#include "tpt.h"

#define PREFETCH 8 /* they lie all over the heap: the next ones come while one is at hand */

#define OBJECT_OF(link, type) ((struct type *)((uint8_t *)(link)-offsetof(struct type, resolved)))

/* A ring that replaces another one is there beside it for a moment. */
static uint32_t
rings_max(void)
{
	return softrnic_object_limit(SOFTRNIC_EQ) + softrnic_object_limit(SOFTRNIC_CQ) +
	       softrnic_object_limit(SOFTRNIC_SQ) + softrnic_object_limit(SOFTRNIC_RQ) +
	       softrnic_object_limit(SOFTRNIC_QP) + softrnic_object_limit(SOFTRNIC_RMP) + 1;
}

/* One more of each than there can be: one that is made is resolved before it is known whether it has a number. */
int
softrnic_resolved_init(struct softrnic *dev)
{
	uint32_t mkeys = softrnic_object_limit(SOFTRNIC_MKEY) + 1, rings = rings_max() + 1;

	dev->resolved_mkeys.of = calloc(mkeys, sizeof(*dev->resolved_mkeys.of));
	dev->resolved_rings.of = calloc(rings, sizeof(*dev->resolved_rings.of));
	dev->resolved_dbrecs.of = calloc(rings, sizeof(*dev->resolved_dbrecs.of));
	return dev->resolved_mkeys.of == NULL || dev->resolved_rings.of == NULL ||
			       dev->resolved_dbrecs.of == NULL
		       ? -ENOMEM
		       : 0;
}

void
softrnic_resolved_fini(struct softrnic *dev)
{
	free(dev->resolved_mkeys.of);
	free(dev->resolved_rings.of);
	free(dev->resolved_dbrecs.of);
}

void
softrnic_resolved_add(struct softrnic_resolved_list *list, struct softrnic_resolved *who)
{
	list->of[list->count++] = who;
	who->place = list->count;
}

void
softrnic_resolved_remove(struct softrnic_resolved_list *list, struct softrnic_resolved *who)
{
	struct softrnic_resolved *last;

	if (who->place == 0)
		return;
	last = list->of[--list->count];
	list->of[who->place - 1] = last;
	last->place = who->place;
	who->place = 0;
}

static inline void
prefetch(const void *object)
{
	__builtin_prefetch(object, 1);
	__builtin_prefetch((const uint8_t *)object + 64, 1);
}

/* The last one first: then nobody moves to another one's place. */
void
softrnic_resolved_forget(struct softrnic *dev)
{
	struct softrnic_resolved_list *mkeys = &dev->resolved_mkeys, *rings = &dev->resolved_rings,
				      *dbrecs = &dev->resolved_dbrecs;

	while (mkeys->count > 0) {
		if (mkeys->count > PREFETCH)
			prefetch(OBJECT_OF(mkeys->of[mkeys->count - 1 - PREFETCH], softrnic_mkey));
		softrnic_mkey_forget(dev, OBJECT_OF(mkeys->of[mkeys->count - 1], softrnic_mkey));
	}
	while (rings->count > 0) {
		if (rings->count > PREFETCH)
			prefetch(OBJECT_OF(rings->of[rings->count - 1 - PREFETCH], softrnic_ring));
		softrnic_ring_forget(OBJECT_OF(rings->of[rings->count - 1], softrnic_ring));
	}
	while (dbrecs->count > 0) {
		if (dbrecs->count > PREFETCH)
			prefetch(OBJECT_OF(dbrecs->of[dbrecs->count - 1 - PREFETCH],
					   softrnic_dbrec));
		softrnic_dbrec_forget(dev,
				      OBJECT_OF(dbrecs->of[dbrecs->count - 1], softrnic_dbrec));
	}
	softrnic_qp_watch_forget(dev);
}

#ifdef SOFTRNIC_DMA_AUDIT

static bool
holds(const struct softrnic_ring *ring, const struct softrnic_dbrec *dbrec)
{
	return ring->host != NULL || ring->flat != NULL || (dbrec != NULL && dbrec->host != NULL);
}

/* By its type: has the object an address of host memory? */
static bool
object_holds(const void *object, enum softrnic_object_type type)
{
	const struct softrnic_mkey *mkey = object;
	const struct softrnic_cq *cq = object;
	const struct softrnic_sq *sq = object;
	const struct softrnic_rq *rq = object;
	const struct softrnic_qp *qp = object;
	const struct softrnic_rmp *rmp = object;

	switch (type) {
	case SOFTRNIC_MKEY:
		return mkey->flat != NULL || mkey->chunks != NULL || mkey->look.host != NULL;
	case SOFTRNIC_EQ: return holds(softrnic_eq_ring(object), NULL);
	case SOFTRNIC_CQ: return holds(&cq->ring, &cq->dbrec) || cq->latch != NULL;
	case SOFTRNIC_SQ: return holds(&sq->ring, &sq->dbrec);
	case SOFTRNIC_RQ: return holds(&rq->ring, &rq->dbrec);
	case SOFTRNIC_QP: return holds(&qp->ring, &qp->dbrec);
	case SOFTRNIC_RMP: return holds(&rmp->ring, &rmp->dbrec);
	default: return false;
	}
}

bool softrnic_audit_objects = true;

SOFTRNIC_NOT_TRACED static bool
any_holds(const struct softrnic_object_table *table, enum softrnic_object_type type)
{
	uint32_t left = table->used;

	for (uint32_t i = 0; left > 0; i++) {
		if (table->slots[i] == NULL)
			continue;
		if (object_holds(table->slots[i], type))
			return true;
		left--;
	}
	return false;
}

SOFTRNIC_NOT_TRACED void
softrnic_audit_unresolved(struct softrnic *dev)
{
	bool found =
		dev->resolved_mkeys.count + dev->resolved_rings.count + dev->resolved_dbrecs.count >
			0 ||
		softrnic_qp_watch_holds(dev);

	for (unsigned int type = 0;
	     softrnic_audit_objects && type < SOFTRNIC_OBJECT_TYPES && !found; type++)
		found = any_holds(&dev->tables[type], type);
	if (found && atomic_fetch_add(&softrnic_audit_violations, 1) == 0)
		SOFTRNIC_LOG(CRIT, dev, "audit: what was resolved outlives its mapping");
}

#endif
