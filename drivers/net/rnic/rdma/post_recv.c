/* SPDX-License-Identifier: BSD-3-Clause */

/* Post bursts of receive requests, of a queue pair's own queue and of those that many share. */

#include <errno.h>
#include <stdatomic.h>

#include <rte_branch_prediction.h>

#include "core/doorbell.h"
#include "prm/wqe.h"
#include "rdma/post_recv.h"
#include "rdma/post_wqe.h"
#include "rdma/rdma.h"

/*
 * Data segments, then one that ends the WQE if there is room for it. False: too many or too long. The shortest request's
 * length is kept.
 */
static __rte_always_inline bool
set_scatter(struct rnic_wqe_data *data, uint32_t max_gs, const struct rdmapmd_recv_wr *wr,
	    uint32_t *least)
{
	struct rnic_wqe_data *end = data + max_gs;
	uint64_t total = 0;
	uint16_t i;

	if (unlikely(wr->num_sge > max_gs))
		return false;
	for (i = 0; i < wr->num_sge; i++) {
		if (unlikely(wr->sg_list[i].length > INT32_MAX))
			return false;
		total += wr->sg_list[i].length;
		if (likely(wr->sg_list[i].length != 0))
			rnic_rdma_set_data(data++, &wr->sg_list[i]);
	}
	if (data != end)
		*data = (struct rnic_wqe_data){ .lkey = RNIC_BE32(RNIC_WQE_INVALID_LKEY) };
	if (unlikely(total < *least))
		__atomic_store_n(least, (uint32_t)total, __ATOMIC_RELAXED);
	return true;
}

uint32_t
rnic_rdma_room(const void *segments, uint32_t max_gs)
{
	const struct rnic_wqe_data *data = segments, *end = data + max_gs;
	uint64_t total = 0;

	for (; data != end && data->lkey.raw != RNIC_BE32(RNIC_WQE_INVALID_LKEY).raw; data++)
		total += rnic_be32_to_cpu(data->byte_count);
	return (uint32_t)RTE_MIN(total, (uint64_t)UINT32_MAX);
}

uint16_t
rnic_rdma_post_recv(struct rdmapmd_qp *head, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	struct rnic_rdma_receive *rq = &((struct rnic_rdma_qp *)head)->rq;
	const uint32_t start = rq->head;
	/* Partner: the store-release of the poll, after which the WQEs behind it may be written anew. */
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE);
	const uint32_t room = likely(atomic_load_explicit(&rq->open, memory_order_relaxed))
				      ? rq->max_post - (start - tail)
				      : 0;
	const uint32_t count = RTE_MIN((uint32_t)n, room);
	uint32_t done, index;

	for (done = 0; done < count; done++) {
		index = (start + done) & rq->wq.mask;
		if (unlikely(!set_scatter(
			    (struct rnic_wqe_data *)(rq->wq.ring +
						     ((size_t)index << rq->wq.log_stride)),
			    rq->max_gs, &wr[done], &rq->least)))
			break;
		rq->wr_ids[index] = wr[done].wr_id;
	}
	if (unlikely(done < n))
		head->post_recv_error = rnic_rdma_short_burst(&rq->open, done < room);
	if (unlikely(done == 0))
		return 0;
	/* As publish_head(). */
	__atomic_store_n(&rq->head, start + done, __ATOMIC_RELEASE);
	rq->wq.producer = (uint16_t)(start + done);
	rnic_rq_dbrec_publish(rq->wq.dbrec, rq->wq.producer);
	return (uint16_t)done;
}

uint16_t
rnic_rdma_post_srq_recv(struct rdmapmd_srq *head, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	struct rnic_rdma_srq *srq = (struct rnic_rdma_srq *)head;
	struct rnic_wqe_next *next;
	uint32_t done, free;

	for (done = 0; done < n; done++) {
		/* Partner: the store-release in rnic_rdma_srq_complete(). */
		free = atomic_load_explicit(&srq->next[srq->head], memory_order_acquire);
		if (unlikely(free > srq->mask)) {
			head->post_error = -ENOMEM;
			break;
		}
		next = (struct rnic_wqe_next *)(srq->ring + ((size_t)srq->head << srq->log_stride));
		if (unlikely(!set_scatter((struct rnic_wqe_data *)(next + 1), srq->max_gs,
					  &wr[done], &srq->least))) {
			head->post_error = -EINVAL;
			break;
		}
		next->next_wqe_index = rnic_cpu_to_be16((uint16_t)free);
		srq->wr_ids[srq->head] = wr[done].wr_id;
		/* Partner: the acquire in rnic_rdma_srq_complete(), before it reads the wr_id. */
		atomic_store_explicit(&srq->next[srq->head], RNIC_RDMA_SRQ_POSTED,
				      memory_order_release);
		srq->head = free;
	}
	if (likely(done > 0)) {
		srq->posted += (uint16_t)done;
		rnic_dbrec_publish(srq->dbrec, srq->posted);
	}
	return (uint16_t)done;
}
