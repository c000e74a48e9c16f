/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The send ring: WQEs become requests of the transport, requests become CQEs.
 *
 * A WQE is copied out of the ring once, to a private copy that it keeps until it completes: the transport gathers its data again
 * for each repetition, and the driver may change the ring at any time. An invalid WQE is posted, too, with its syndrome, and fails
 * in order.
 */
#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/engine/qp_av.h"
#include "softrnic/engine/qp_send.h"
#include "softrnic/engine/qp_umr.h"
#include "softrnic/engine/qp_watch.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"

/*
 * What a request's cookie says, so that nothing is parsed twice: where its WQE is, where in it the data segments begin
 * and end (units of 16 bytes), and how it completes.
 */
#define QP_COOKIE(counter, data, ds, fm_ce_se)                             \
	((uint64_t)(uint16_t)(counter) | (uint64_t)(uint8_t)(data) << 16 | \
	 (uint64_t)(uint8_t)(ds) << 24 | (uint64_t)(uint8_t)(fm_ce_se) << 32)
#define QP_COOKIE_COUNTER(cookie)  ((uint16_t)(cookie))
#define QP_COOKIE_DATA(cookie)	   ((uint8_t)((cookie) >> 16))
#define QP_COOKIE_DS(cookie)	   ((uint8_t)((cookie) >> 24))
#define QP_COOKIE_FM_CE_SE(cookie) ((uint8_t)((cookie) >> 32))

const uint8_t softrnic_qp_data_at[256] = {
	[RNIC_WQE_NOP] = 1,	   [RNIC_WQE_SEND] = 1,		  [RNIC_WQE_SEND_IMM] = 1,
	[RNIC_WQE_RDMA_WRITE] = 2, [RNIC_WQE_RDMA_WRITE_IMM] = 2, [RNIC_WQE_RDMA_READ] = 2,
	[RNIC_WQE_ATOMIC_CS] = 3,  [RNIC_WQE_ATOMIC_FA] = 3,	  [RNIC_WQE_SEND_INVAL] = 1,
};

const uint8_t softrnic_qp_datagram_data_at[256] = {
	[RNIC_WQE_NOP] = 1,
	[RNIC_WQE_SEND] = 4,
	[RNIC_WQE_SEND_IMM] = 4,
};

/* Of types whose WQEs are looked at apart. */
const uint8_t softrnic_qp_no_data_at[256];

#define FETCH_AHEAD 4 /* WQEBBs */
#define FENCE_SHIFT \
	5 /* fm: 0 none, 1 behind local operations, which are done when their turn is over; the others are fences */

static uint8_t *
qp_wqe_copy(const struct softrnic_qp *qp, uint16_t counter)
{
	uint32_t index = counter & ((1u << qp->sq_log_size) - 1);

	return qp->wqes + (size_t)index * RNIC_WQEBB_BYTES;
}

const uint8_t *
softrnic_qp_request_wqe(const struct softrnic_qp *qp, const struct roce_request *req)
{
	return qp_wqe_copy(qp, QP_COOKIE_COUNTER(req->cookie));
}

static inline struct softrnic_qp_segments
qp_request_segments(const struct softrnic_qp *qp, const struct roce_request *req)
{
	return (struct softrnic_qp_segments){
		.wqe = qp_wqe_copy(qp, QP_COOKIE_COUNTER(req->cookie)),
		.first = QP_COOKIE_DATA(req->cookie) * RNIC_WQE_DS_BYTES,
		.end = QP_COOKIE_DS(req->cookie) * RNIC_WQE_DS_BYTES,
		.id = QP_COOKIE_COUNTER(req->cookie),
		.pd = qp->pd,
		.rlky = qp->rlky,
	};
}

/* ---- From the ring ---- */

/* The WQEBB counter of the oldest WQE that is not done: what the driver may not have written anew yet. */
static inline uint16_t
qp_oldest(const struct softrnic_qp *qp)
{
	const struct roce_requester *req = &qp->roce.requester;

	return req->tail == req->head ? qp->sq_consumer
				      : QP_COOKIE_COUNTER(req->ring[req->tail & req->mask].cookie);
}

static void
qp_sq_fail(struct softrnic_qp *qp, enum rnic_event what, const char *why)
{
	qp->sq_failed = true;
	softrnic_qp_unwatch(qp->dev, qp);
	softrnic_qp_break(qp, what, why);
}

/* WQEBBs that wait, as far as the record says; 0 too when the queue cannot be read. */
static inline uint32_t
qp_sq_available(struct softrnic *dev, struct softrnic_qp *qp)
{
	uint32_t counter, available;

	if (unlikely(!softrnic_dbrec_read(dev, &qp->dbrec, 1, &counter) ||
		     (qp->ring.generation != dev->dma_generation &&
		      !softrnic_ring_refresh(dev, &qp->ring)))) {
		qp_sq_fail(qp, RNIC_EVENT_WQ_ACCESS_ERROR,
			   "its rings or doorbell record are no longer reachable");
		return 0;
	}
	softrnic_bf_audit_counted(dev, &qp->bf_audit, qp->uar, qp->sq_producer, (uint16_t)counter);
	qp->sq_producer = (uint16_t)counter;
	available = (uint16_t)(qp->sq_producer - qp->sq_consumer);
	/*
	 * From the consumer on: a record that has gone back would have copies written anew whose requests are not done, and
	 * whose segments are taken for those that were checked.
	 */
	if (unlikely(available + (uint16_t)(qp->sq_consumer - qp_oldest(qp)) >
		     1u << qp->sq_log_size)) {
		qp_sq_fail(
			qp, RNIC_EVENT_WQ_CATASTROPHIC,
			"the doorbell record is ahead by more than the send ring, or has gone back");
		return 0;
	}
	return available;
}

/* Copy the WQE at the consumer; its bytes (ds), or 0 if its head makes no sense. */
static inline uint32_t
qp_sq_copy(struct softrnic *dev, struct softrnic_qp *qp, uint32_t available, uint8_t *wqe)
{
	uint32_t index = qp->sq_consumer & ((1u << qp->sq_log_size) - 1);
	uint32_t size = RNIC_WQEBB_BYTES << qp->sq_log_size, at = index * RNIC_WQEBB_BYTES;
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)wqe;
	uint32_t length, here;

	softrnic_qp_ring_copy(dev, &qp->ring, qp->sq_offset + at, wqe, RNIC_WQEBB_BYTES);
	length = (rnic_be32_to_cpu(ctrl->qpn_ds) & RNIC_WQE_DS_MAX) * RNIC_WQE_DS_BYTES;
	if (length == 0 || length > available * RNIC_WQEBB_BYTES)
		return 0;
	if (likely(length <= RNIC_WQEBB_BYTES))
		return length;
	/* Over the end of the ring it goes on at its start; in the copy it does not. */
	here = length - RNIC_WQEBB_BYTES;
	if (here > size - at - RNIC_WQEBB_BYTES)
		here = size - at - RNIC_WQEBB_BYTES;
	softrnic_qp_ring_copy(dev, &qp->ring, qp->sq_offset + at + RNIC_WQEBB_BYTES,
			      wqe + RNIC_WQEBB_BYTES, here);
	here += RNIC_WQEBB_BYTES;
	softrnic_qp_ring_copy(dev, &qp->ring, qp->sq_offset, wqe + here, length - here);
	return length;
}

/* The sum of the data segments; 0 or a syndrome. */
static inline uint8_t
qp_wqe_data(const uint8_t *wqe, uint32_t at, uint32_t length, bool may_inline, uint32_t *bytes)
{
	const struct rnic_wqe_data *segment;
	uint64_t sum = 0;
	uint32_t n;

	for (; at < length; at += softrnic_qp_segment_size(segment)) {
		segment = (const struct rnic_wqe_data *)(wqe + at);
		n = softrnic_qp_segment_length(segment);
		if (unlikely((rnic_be32_to_cpu(segment->byte_count) & RNIC_WQE_INLINE) != 0) &&
		    (!may_inline || n > length - at - sizeof(segment->byte_count)))
			return RNIC_SYND_LOCAL_QP_OPERATION;
		sum += n;
	}
	if (unlikely(sum > ROCE_MESSAGE_MAX))
		return RNIC_SYND_LOCAL_LENGTH;
	*bytes = (uint32_t)sum;
	return 0;
}

/*
 * What is behind the control segment of a message to a connected peer, whose data segments begin at `data`: 0 or a syndrome. `raddr`:
 * where the remote address is if there is one.
 */
static inline uint8_t
qp_wqe_message(const uint8_t *wqe, uint32_t length, const struct rnic_wqe_raddr *raddr,
	       bool has_raddr, bool has_operands, uint8_t data, struct roce_request *req)
{
	const struct rnic_wqe_atomic *atomic = (const struct rnic_wqe_atomic *)(raddr + 1);

	if (has_raddr) {
		req->va = rnic_be64_to_cpu(raddr->address);
		req->rkey = rnic_be32_to_cpu(raddr->rkey);
	}
	if (has_operands) {
		req->swap_add = rnic_be64_to_cpu(atomic->swap_add);
		req->compare = rnic_be64_to_cpu(atomic->compare);
	}
	return qp_wqe_data(wqe, data * RNIC_WQE_DS_BYTES, length,
			   !has_operands && req->opcode != RNIC_WQE_RDMA_READ, &req->length);
}

static inline void
qp_wqe_head(const struct rnic_wqe_ctrl *ctrl, struct roce_request *req)
{
	req->fence = ctrl->fm_ce_se >> FENCE_SHIFT > 1;
	req->solicited = (ctrl->fm_ce_se & RNIC_WQE_SE) != 0;
	req->immediate = rnic_be32_to_cpu(ctrl->immediate);
}

/* As a message of RC, but that all stands one segment further: in front of it is whose receive WQEs and keys are meant. */
static uint8_t
qp_wqe_xrc(const uint8_t *wqe, uint32_t length, uint8_t *data, struct roce_request *req)
{
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)wqe;
	const struct rnic_wqe_xrc *xrc = (const struct rnic_wqe_xrc *)(ctrl + 1);
	const uint8_t at = softrnic_qp_data_at[req->opcode];

	*data = at + 1;
	if (at == 0 || length < *data * RNIC_WQE_DS_BYTES)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	req->srqn = rnic_be32_to_cpu(xrc->srqn) & RNIC_WQE_XRC_SRQN_MASK;
	return qp_wqe_message(wqe, length, (const struct rnic_wqe_raddr *)(xrc + 1), at > 1, at > 2,
			      *data, req);
}

/* What is no message of a type in `data_at`, or makes no sense: as qp_wqe_request(). */
static __rte_noinline uint8_t
qp_wqe_other(const struct softrnic_qp *qp, const uint8_t *wqe, uint32_t length, uint8_t *data,
	     struct roce_request *req)
{
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)wqe;

	if (length == 0 || rnic_be32_to_cpu(ctrl->qpn_ds) >> 8 != qp->object.number)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	qp_wqe_head(ctrl, req);
	if (req->opcode == RNIC_WQE_NOP)
		return 0;
	if (qp->type == SOFTRNIC_QP_XRC)
		return qp_wqe_xrc(wqe, length, data, req);
	if (req->opcode != RNIC_WQE_UMR ||
	    (qp->type != SOFTRNIC_QP_RC && qp->type != SOFTRNIC_QP_REG_UMR) ||
	    !softrnic_qp_umr_is_sound(qp, wqe, length))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	return ROCE_EXECUTE;
}

/* What the WQE asks for; 0 or a syndrome. `data`: of its opcode, by `data_at`. */
static inline uint8_t
qp_wqe_request(const struct softrnic_qp *qp, const uint8_t *wqe, uint32_t length, uint8_t *data,
	       struct roce_request *req)
{
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)wqe;
	const struct rnic_wqe_raddr *raddr = (const struct rnic_wqe_raddr *)(ctrl + 1);
	uint8_t syndrome;

	if (length == 0 || rnic_be32_to_cpu(ctrl->qpn_ds) >> 8 != qp->object.number || *data == 0 ||
	    length < *data * RNIC_WQE_DS_BYTES)
		return qp_wqe_other(qp, wqe, length, data, req);
	qp_wqe_head(ctrl, req);
	if (req->opcode == RNIC_WQE_NOP)
		return 0;
	if (*data > 2 && softrnic_qp_is_datagram(qp)) {
		syndrome = softrnic_qp_av_request(qp->dev, (const struct rnic_wqe_av *)raddr, req);
		if (syndrome != 0)
			return syndrome;
		return qp_wqe_data(wqe, *data * RNIC_WQE_DS_BYTES, length, true, &req->length);
	}
	return qp_wqe_message(wqe, length, raddr, *data > 1, *data > 2, *data, req);
}

/* A WQEBB to come, and the place of its copy. */
static inline void
qp_prefetch(const struct softrnic_qp *qp, uint16_t counter)
{
	const uint8_t *copy = qp_wqe_copy(qp, counter);

	__builtin_prefetch(copy, 1);
	if (qp->ring.flat != NULL)
		__builtin_prefetch((const uint8_t *)qp->ring.flat + qp->sq_offset +
				   (copy - qp->wqes));
}

unsigned int
softrnic_qp_fetch(struct softrnic *dev, struct softrnic_qp *qp, unsigned int budget)
{
	uint32_t available, blocks, length;
	const struct rnic_wqe_ctrl *ctrl;
	struct roce_request *req;
	uint8_t *wqe, data;
	unsigned int n;

	if (qp->no_sq || qp->sq_failed)
		return 0;
	available = qp_sq_available(dev, qp);
	for (n = 0; n < budget && available > 0; n++, available -= blocks) {
		req = roce_qp_claim(&qp->roce);
		/* There is a request for each WQEBB of the ring. */
		if (unlikely(req == NULL))
			break;
		wqe = qp_wqe_copy(qp, qp->sq_consumer);
		qp_prefetch(qp, (uint16_t)(qp->sq_consumer + FETCH_AHEAD));
		length = qp_sq_copy(dev, qp, available, wqe);
		blocks = length == 0 ? 1 : (length + RNIC_WQEBB_BYTES - 1) / RNIC_WQEBB_BYTES;
		if (unlikely(dev->dump_queues))
			softrnic_dump_wqe(dev, "QP", qp->object.number, qp->sq_consumer, wqe,
					  blocks * RNIC_WQEBB_BYTES,
					  qp->data_at == softrnic_qp_datagram_data_at
						  ? RNIC_WQE_OF_DATAGRAMS
						  : RNIC_WQE_OF_MESSAGES);
		ctrl = (const struct rnic_wqe_ctrl *)wqe;
		*req = (struct roce_request){
			.opcode = (uint8_t)rnic_be32_to_cpu(ctrl->opmod_idx_opcode),
		};
		data = qp->data_at[req->opcode];
		req->syndrome = qp_wqe_request(qp, wqe, length, &data, req);
		req->cookie = QP_COOKIE(qp->sq_consumer, data, length / RNIC_WQE_DS_BYTES,
					ctrl->fm_ce_se);
		roce_qp_post(&qp->roce);
		softrnic_bf_audit_executed(&qp->bf_audit, wqe, length, qp->sq_consumer,
					   qp->sq_log_size);
		qp->sq_consumer = (uint16_t)(qp->sq_consumer + blocks);
	}
	dev->stats.wqes += n;
	if (n > 0)
		softrnic_qp_watch(dev, qp);
	return n;
}

/* ---- For the transport ---- */

int
softrnic_qp_gather(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
		   uint32_t length, struct iovec *pieces)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic_qp_segments segments = qp_request_segments(qp, req);

	return softrnic_qp_pieces(qp->dev, &segments, &qp->gather_at, offset, length,
				  SOFTRNIC_LOCAL_READ, pieces);
}

int
softrnic_qp_scatter(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
		    const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic_qp_segments segments = qp_request_segments(qp, req);
	struct iovec to[ROCE_PKT_PIECES];
	int rc;

	rc = softrnic_qp_pieces(qp->dev, &segments, &qp->scatter_at, offset, pkt->length,
				SOFTRNIC_LOCAL_WRITE, to);
	if (rc < 0)
		return rc;
	softrnic_qp_copy(qp->dev, to, pkt);
	return 0;
}

/* In the order of bytes that the CPU has, on this side as on the other. */
int
softrnic_qp_scatter_atomic(struct roce_qp *roce, const struct roce_request *req, uint64_t original)
{
	struct iovec value = { &original, sizeof(original) };
	struct roce_pkt pkt = { .length = sizeof(original), .count = 1, .pieces = &value };

	return softrnic_qp_scatter(roce, req, 0, &pkt);
}

int
softrnic_qp_execute(struct roce_qp *roce, const struct roce_request *req)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	return softrnic_qp_umr(qp, qp_wqe_copy(qp, QP_COOKIE_COUNTER(req->cookie)));
}

static void
qp_complete_error(struct softrnic_qp *qp, const struct roce_request *req, uint8_t syndrome)
{
	uint8_t ce = QP_COOKIE_FM_CE_SE(req->cookie) & RNIC_WQE_CE_MASK;

	if (qp->error_told && ce == RNIC_WQE_CE_ON_FIRST_ERROR)
		return;
	qp->error_told = true;
	if (softrnic_cq_post_error(qp->dev, qp->send_cq, RNIC_CQE_REQUESTER_ERROR,
				   (enum rnic_cqe_syndrome)syndrome,
				   syndrome == RNIC_SYND_WR_FLUSHED ? QP_VENDOR_FLUSHED
								    : QP_VENDOR_REQUESTER,
				   (uint32_t)req->opcode << 24 | qp->object.number, qp->user_index,
				   QP_COOKIE_COUNTER(req->cookie)) != 0)
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "its send CQ takes no completion");
}

void
softrnic_qp_complete(struct roce_qp *roce, const struct roce_request *req, uint8_t syndrome)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	uint8_t fm_ce_se = QP_COOKIE_FM_CE_SE(req->cookie);
	struct softrnic *dev = qp->dev;
	struct rnic_cqe *cqe;

	if (unlikely(syndrome != 0)) {
		qp_complete_error(qp, req, syndrome);
		return;
	}
	if ((fm_ce_se & RNIC_WQE_CE_ALWAYS) == 0)
		return;
	cqe = softrnic_cq_claim(dev, qp->send_cq);
	if (unlikely(cqe == NULL)) {
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "its send CQ takes no completion");
		return;
	}
	cqe->srqn_user_index = rnic_cpu_to_be32(qp->user_index);
	cqe->timestamp = softrnic_clock_stamp(dev, qp->utc);
	cqe->sop_drop_qpn = rnic_cpu_to_be32((uint32_t)req->opcode << 24 | qp->object.number);
	cqe->wqe_counter = rnic_cpu_to_be16(QP_COOKIE_COUNTER(req->cookie));
	/* How much came back. */
	if (req->opcode == RNIC_WQE_RDMA_READ || req->opcode == RNIC_WQE_ATOMIC_CS ||
	    req->opcode == RNIC_WQE_ATOMIC_FA)
		cqe->byte_count = rnic_cpu_to_be32(req->length);
	softrnic_cq_publish(dev, qp->send_cq, cqe, RNIC_CQE_REQUESTER,
			    (fm_ce_se & RNIC_WQE_CE_MASK) == RNIC_WQE_CE_ALWAYS_EVENT);
}
