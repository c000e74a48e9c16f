/* SPDX-License-Identifier: BSD-3-Clause */

/* Of test builds: does any object hold a host address when none may? */
#include "softrnic/engine/qp_watch.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/compress.h"
#include "softrnic/event/eq.h"
#include "softrnic/event/latch.h"
#include "softrnic/hca/audit.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/receive/rq.h"

#ifdef SOFTRNIC_DMA_AUDIT

static bool
audit_holds(const struct softrnic_ring *ring, const struct softrnic_dbrec *dbrec)
{
	return ring->host != NULL || ring->flat != NULL || (dbrec != NULL && dbrec->host != NULL);
}

/* By its type: has the object an address of host memory? */
static bool
audit_object_holds(const void *object, enum softrnic_object_type type)
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
	case SOFTRNIC_EQ: return audit_holds(softrnic_eq_ring(object), NULL);
	case SOFTRNIC_CQ:
		return audit_holds(&cq->ring, &cq->dbrec) || cq->latch != NULL ||
		       (cq->compress != NULL && cq->compress->count != 0);
	case SOFTRNIC_SQ: return audit_holds(&sq->ring, &sq->dbrec);
	case SOFTRNIC_RQ: return audit_holds(&rq->ring, &rq->dbrec);
	case SOFTRNIC_QP: return audit_holds(&qp->ring, &qp->dbrec);
	case SOFTRNIC_RMP: return audit_holds(&rmp->ring, &rmp->dbrec);
	default: return false;
	}
}

bool softrnic_audit_objects = true;

SOFTRNIC_NOT_TRACED static bool
audit_any_holds(const struct softrnic_object_table *table, enum softrnic_object_type type)
{
	uint32_t left = table->used;

	for (uint32_t i = 0; left > 0; i++) {
		if (table->slots[i] == NULL)
			continue;
		if (audit_object_holds(table->slots[i], type))
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
		found = audit_any_holds(&dev->tables[type], type);
	if (found && atomic_fetch_add(&softrnic_audit_violations, 1) == 0)
		SOFTRNIC_LOG(CRIT, dev,
			     "audit: an object still holds addresses of unmapped memory");
}

#endif
