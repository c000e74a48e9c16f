/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CQs of a device that is lost. It no longer completes anything, so the driver does: every request that was posted comes
 * back, flushed, in order. What the device may still write is not looked at again, since a request that was flushed gives
 * its WQE to the next one.
 */

#include "core/doorbell.h"

#include <pthread.h>
#include <stdatomic.h>

#include "prm/wqe.h"
#include "rdma/flush.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"

#define DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)

static void
set_flushed(struct rnic_rdma_qp *qp, uint64_t wr_id, struct rdmapmd_wc *wc)
{
	wc->wr_id = wr_id;
	wc->status = RDMAPMD_WC_WR_FLUSH_ERR;
	wc->vendor_err = 0;
	wc->completion_ts = 0;
	wc->qp_num = qp->qp.qp_num;
}

/* The WQEBB where the WQE of the first request from there on starts: long ones have several numbers, and bear the last one. */
static uint32_t
find_wqe(const struct rnic_rdma_send *sq, uint64_t number)
{
	uint32_t i, first = 0;

	for (i = 1; i <= sq->wq.mask; i++)
		if (sq->wqes[i].head - number < sq->wqes[first].head - number)
			first = i;
	return first;
}

/* How many WQEBBs a WQE has. The device cannot write there. */
static uint32_t
length_of(const struct rnic_rdma_send *sq, uint32_t index)
{
	const struct rnic_wqe_ctrl *ctrl =
		(const struct rnic_wqe_ctrl *)(sq->wq.ring +
					       (size_t)(index & sq->wq.mask) * RNIC_WQEBB_BYTES);
	const uint32_t ds = rnic_be32_to_cpu(ctrl->qpn_ds) & RNIC_WQE_DS_MAX;

	return (ds + DS_PER_WQEBB - 1) / DS_PER_WQEBB;
}

static uint16_t
flush_sends(struct rnic_rdma_qp *qp, struct rdmapmd_wc *wc, uint16_t n)
{
	struct rnic_rdma_send *sq = &qp->sq;
	/* Partner: the store-release of the post, before which the WQEs and what is known of them were written. */
	const uint64_t head = __atomic_load_n(&sq->head, __ATOMIC_ACQUIRE);
	uint64_t tail = sq->tail;
	uint32_t index;
	uint16_t done = 0;

	if (tail == head)
		return 0;
	for (index = find_wqe(sq, tail); tail != head && done < n; index += length_of(sq, index)) {
		const struct rnic_rdma_wqe *wqe = &sq->wqes[index & sq->wq.mask];

		tail = wqe->head + 1;
		if (!(wqe->what >> 8 & (RNIC_RDMA_QUIET | RNIC_RDMA_QUIET_ERROR)))
			set_flushed(qp, wqe->wr_id, &wc[done++]);
	}
	/* Partner: the load-acquire of the post, which may write anew what is behind the tail. */
	__atomic_store_n(&sq->tail, tail, __ATOMIC_RELEASE);
	return done;
}

/* Requests of an SRQ stay where they are: another queue pair may be what they wait for. */
static uint16_t
flush_receives(struct rnic_rdma_qp *qp, struct rdmapmd_wc *wc, uint16_t n)
{
	struct rnic_rdma_receive *rq = &qp->rq;
	const uint32_t head = __atomic_load_n(&rq->head, __ATOMIC_ACQUIRE);
	uint32_t tail = rq->tail;
	uint16_t done = 0;

	for (; tail != head && done < n; tail++)
		set_flushed(qp, rq->wr_ids[tail & rq->wq.mask], &wc[done++]);
	__atomic_store_n(&rq->tail, tail, __ATOMIC_RELEASE);
	return done;
}

uint16_t
rnic_rdma_poll_cq_lost(struct rdmapmd_cq *head, struct rdmapmd_wc *wc, uint16_t n)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	const struct rnic_rdma_qps *table;
	uint16_t done = 0, before;
	uint32_t i;

	if (!rnic_rdma_poll_begins(cq, true))
		return 0;
	table = atomic_load_explicit(&cq->qps, memory_order_acquire);
	for (i = 0; i <= table->mask && done < n; i++) {
		struct rnic_rdma_qp *qp =
			atomic_load_explicit(&table->slots[i], memory_order_acquire);

		if (qp == NULL)
			continue;
		before = done;
		if (qp->qp.send_cq == head)
			done += flush_sends(qp, wc + done, n - done);
		if (qp->qp.recv_cq == head)
			done += flush_receives(qp, wc + done, n - done);
		if (done != before)
			rdmapmd_qp_in_error(&qp->qp);
	}
	rnic_rdma_poll_ends(cq);
	return done;
}

bool
rnic_rdma_cq_waits(struct rnic_rdma_cq *cq)
{
	const struct rnic_rdma_qps *table;
	bool waits = false;
	uint32_t i;

	/* Nobody takes one out meanwhile. */
	pthread_mutex_lock(&cq->lock);
	table = atomic_load_explicit(&cq->qps, memory_order_acquire);
	for (i = 0; i <= table->mask && !waits; i++) {
		const struct rnic_rdma_qp *qp =
			atomic_load_explicit(&table->slots[i], memory_order_acquire);

		if (qp == NULL)
			continue;
		waits = (qp->qp.send_cq == &cq->cq &&
			 __atomic_load_n(&qp->sq.head, __ATOMIC_RELAXED) != qp->sq.tail) ||
			(qp->qp.recv_cq == &cq->cq &&
			 __atomic_load_n(&qp->rq.head, __ATOMIC_RELAXED) != qp->rq.tail);
	}
	pthread_mutex_unlock(&cq->lock);
	return waits;
}
