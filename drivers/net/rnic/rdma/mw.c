/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory windows (PRM: "UMR"). A window is a key of the device that leads to a memory region's key; WQEs bind and invalidate it. They
 * are as libmlx5's are.
 *
 * Polls tell which key they saw invalidated in a table by the key's index, whose leaves stay as long as the device: a poll never
 * looks at a window, which another thread may free.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/dev.h"
#include "object/mkey.h"
#include "object/mkey_window.h"
#include "prm/caps.h"
#include "prm/mkey.h"
#include "prm/wqe.h"
#include "rdma/mw.h"

#define LOG_LEAF  12
#define LEAF_MASK ((1u << LOG_LEAF) - 1)
/* Of a slot: no window has this index; one has, and nothing was seen of its present key. No key is so small. */
#define NO_WINDOW 0u
#define NONE_SEEN 1u

struct rnic_rdma_mws {
	_Atomic uint32_t *_Atomic leaves[1 << (24 - LOG_LEAF)];
};

/* ---- The table ---- */

/* NULL: nothing with such an index was ever a window. */
static _Atomic uint32_t *
mw_slot(struct rnic_rdma *rdma, uint32_t key)
{
	struct rnic_rdma_mws *mws = atomic_load_explicit(&rdma->mws, memory_order_acquire);
	_Atomic uint32_t *leaf;

	if (mws == NULL)
		return NULL;
	leaf = atomic_load_explicit(&mws->leaves[key >> 8 >> LOG_LEAF], memory_order_acquire);
	return leaf == NULL ? NULL : &leaf[key >> 8 & LEAF_MASK];
}

static bool
is_window(struct rnic_rdma *rdma, uint32_t key)
{
	_Atomic uint32_t *slot = mw_slot(rdma, key);

	return slot != NULL && atomic_load_explicit(slot, memory_order_relaxed) != NO_WINDOW;
}

/* Called with the lock held. */
static _Atomic uint32_t *
mw_slot_make(struct rnic_rdma *rdma, uint32_t key)
{
	struct rnic_rdma_mws *mws = atomic_load_explicit(&rdma->mws, memory_order_relaxed);
	_Atomic uint32_t *leaf;

	if (mws == NULL) {
		mws = calloc(1, sizeof(*mws));
		if (mws == NULL)
			return NULL;
		/* Partner of this release and of the next one: the load-acquires in mw_slot(). */
		atomic_store_explicit(&rdma->mws, mws, memory_order_release);
	}
	leaf = mws->leaves[key >> 8 >> LOG_LEAF];
	if (leaf == NULL) {
		leaf = calloc((size_t)1 << LOG_LEAF, sizeof(*leaf));
		if (leaf == NULL)
			return NULL;
		atomic_store_explicit(&mws->leaves[key >> 8 >> LOG_LEAF], leaf,
				      memory_order_release);
	}
	return &leaf[key >> 8 & LEAF_MASK];
}

void
rnic_rdma_mws_free(struct rnic_rdma *rdma)
{
	struct rnic_rdma_mws *mws = rdma->mws;
	uint32_t i;

	for (i = 0; mws != NULL && i < RTE_DIM(mws->leaves); i++)
		free(mws->leaves[i]);
	free(mws);
	rdma->mws = NULL;
}

void
rnic_rdma_mw_invalidated(struct rnic_rdma *rdma, uint32_t key)
{
	_Atomic uint32_t *slot = mw_slot(rdma, key);
	uint32_t seen = slot == NULL ? NO_WINDOW : atomic_load_explicit(slot, memory_order_relaxed);

	/* Not of one that is freed meanwhile. */
	if (seen != NO_WINDOW)
		atomic_compare_exchange_strong_explicit(slot, &seen, key, memory_order_relaxed,
							memory_order_relaxed);
}

/* ---- Life ---- */

int
rnic_rdma_mw_alloc(struct rdmapmd_mw *head)
{
	struct rnic_rdma_mw *mw = (struct rnic_rdma_mw *)head;
	struct rnic_dev *dev = rnic_rdma_dev(head->context);
	int rc;

	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_IMAICL))
		return -ENOTSUP;
	rc = rnic_mkey_window_create(dev, head->pd->pdn, head->type == RDMAPMD_MW_TYPE_2,
				     &head->rkey);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&dev->rdma->lock);
	mw->seen = mw_slot_make(dev->rdma, head->rkey);
	pthread_mutex_unlock(&dev->rdma->lock);
	if (mw->seen == NULL) {
		rnic_mkey_window_destroy(dev, head->rkey);
		return -ENOMEM;
	}
	atomic_store_explicit(mw->seen, NONE_SEEN, memory_order_relaxed);
	return 0;
}

int
rnic_rdma_mw_free(struct rdmapmd_mw *head)
{
	struct rnic_rdma_mw *mw = (struct rnic_rdma_mw *)head;

	atomic_store_explicit(mw->seen, NO_WINDOW, memory_order_relaxed);
	return rnic_mkey_window_destroy(rnic_rdma_dev(head->context), head->rkey);
}

bool
rnic_rdma_mw_bound(const struct rdmapmd_mw *head)
{
	const struct rnic_rdma_mw *mw = (const struct rnic_rdma_mw *)head;

	return atomic_load_explicit(mw->seen, memory_order_relaxed) !=
	       __atomic_load_n(&head->rkey, __ATOMIC_RELAXED);
}

/* ---- WQEs ---- */

#define CONTROL_UNITS 4 /* control segment and UMR control: a WQEBB */
#define CONTEXT_UNITS 4
#define ENTRY_UNITS   4 /* one entry, and what fills up a WQEBB */

_Static_assert(sizeof(struct rnic_wqe_ctrl) + sizeof(struct rnic_wqe_umr) == RNIC_WQEBB_BYTES &&
		       sizeof(struct rnic_mkc) == RNIC_WQEBB_BYTES,
	       "each part in a WQEBB of its own");

static bool
wr_unbinds(const struct rdmapmd_send_wr *wr)
{
	return wr->opcode == RDMAPMD_WR_LOCAL_INV || wr->wr.bind_mw.length == 0;
}

struct rnic_rdma_umr
rnic_rdma_mw_look(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
		  enum rdmapmd_mw_type type)
{
	struct rnic_rdma_umr umr = { .ds = CONTROL_UNITS + CONTEXT_UNITS };

	if (wr->opcode == RDMAPMD_WR_LOCAL_INV) {
		umr.key = umr.invalidated = wr->invalidate_rkey;
		if (wr->num_sge != 0 || (wr->send_flags & RDMAPMD_SEND_INLINE))
			umr.ds = 0;
		return umr;
	}
	if (!rdmapmd_mw_may_bind(&qp->qp, wr, type) ||
	    /* No region has a window's key, but what somebody passes off as one may. */
	    (!wr_unbinds(wr) && is_window(qp->dev->rdma, wr->wr.bind_mw.mr->rkey)))
		return (struct rnic_rdma_umr){ 0 };
	umr.key = wr->wr.bind_mw.mw->rkey;
	if (wr_unbinds(wr))
		umr.invalidated = wr->wr.bind_mw.rkey;
	else
		umr.ds += ENTRY_UNITS;
	return umr;
}

static void
set_rights(struct rnic_mkc *mkc, unsigned int access)
{
	rnic_mkc_set(mkc, RNIC_MKC_RR, (access & RDMAPMD_ACCESS_REMOTE_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RW, (access & RDMAPMD_ACCESS_REMOTE_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_A, (access & RDMAPMD_ACCESS_REMOTE_ATOMIC) != 0);
}

/* The end of a binding: of type 2 by LOCAL_INV, which leaves the byte 0, of type 1 by a new byte. */
static void
build_end(const struct rdmapmd_send_wr *wr, struct rnic_wqe_umr *umr, struct rnic_mkc *mkc)
{
	const bool type2 = wr->opcode == RDMAPMD_WR_LOCAL_INV;

	umr->flags = RNIC_WQE_UMR_INLINE | RNIC_WQE_UMR_TRANSLATION_OFFSET |
		     (type2 ? RNIC_WQE_UMR_CHECK_QPN : 0);
	umr->mkey_mask = rnic_cpu_to_be64(RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY |
					  (type2 ? RNIC_UMR_MASK_QPN : 0));
	rnic_mkc_set(mkc, RNIC_MKC_FREE, 1);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, type2 ? 0 : wr->wr.bind_mw.rkey & 0xff);
}

static void
build_bind(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
	   struct rnic_wqe_umr *umr, struct rnic_mkc *mkc, struct rnic_klm *entry)
{
	const bool type2 = wr->wr.bind_mw.mw->type == RDMAPMD_MW_TYPE_2;
	const bool zero_based = wr->wr.bind_mw.access & RDMAPMD_ACCESS_ZERO_BASED;

	umr->flags = RNIC_WQE_UMR_INLINE | RNIC_WQE_UMR_TRANSLATION_OFFSET |
		     (type2 ? RNIC_WQE_UMR_CHECK_FREE : 0);
	umr->translations_octwords = RNIC_BE16(ENTRY_UNITS);
	umr->mkey_mask = rnic_cpu_to_be64(RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY |
					  RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR |
					  RNIC_UMR_MASK_LW | RNIC_UMR_MASK_RR | RNIC_UMR_MASK_RW |
					  RNIC_UMR_MASK_A | (type2 ? RNIC_UMR_MASK_QPN : 0));
	set_rights(mkc, wr->wr.bind_mw.access);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, type2 ? qp->qp.qp_num : RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, wr->wr.bind_mw.rkey & 0xff);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, zero_based ? 0 : wr->wr.bind_mw.addr);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, wr->wr.bind_mw.length);
	/* 0 bytes are 2 GiB. */
	entry->byte_count = rnic_cpu_to_be32((uint32_t)wr->wr.bind_mw.length & INT32_MAX);
	entry->mkey = rnic_cpu_to_be32(wr->wr.bind_mw.mr->lkey);
	entry->address = rnic_cpu_to_be64(wr->wr.bind_mw.addr);
}

/* For those that ask whether it is bound. */
static void
mw_note(const struct rdmapmd_send_wr *wr)
{
	struct rnic_rdma_mw *mw = (struct rnic_rdma_mw *)wr->wr.bind_mw.mw;

	atomic_store_explicit(mw->seen, NONE_SEEN, memory_order_relaxed);
	if (wr->wr.bind_mw.length > 0)
		__atomic_store_n(&mw->mw.mr, wr->wr.bind_mw.mr, __ATOMIC_RELAXED);
	__atomic_store_n(&mw->mw.rkey, wr->wr.bind_mw.rkey, __ATOMIC_RELAXED);
}

void
rnic_rdma_mw_build(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
		   struct rnic_wqe_data *const wqebbs[RNIC_RDMA_UMR_WQEBBS])
{
	struct rnic_wqe_umr *umr = (struct rnic_wqe_umr *)(wqebbs[0] + 1);
	struct rnic_mkc *mkc = (struct rnic_mkc *)wqebbs[1];

	memset(umr, 0, sizeof(*umr));
	memset(mkc, 0, sizeof(*mkc));
	if (wr_unbinds(wr)) {
		build_end(wr, umr, mkc);
	} else {
		memset(wqebbs[2], 0, RNIC_WQEBB_BYTES);
		build_bind(qp, wr, umr, mkc, (struct rnic_klm *)wqebbs[2]);
	}
	if (wr->opcode == RDMAPMD_WR_BIND_MW)
		mw_note(wr);
}
