/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Poll bursts and arming (PRM: "Completion Queues"). Nothing that an entry says is believed: its queue pair must be one of
 * the CQ's, its request one that is under way; an entry of anything else is passed over, and counted.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "doorbell.h"
#include "dump.h"
#include "prm/cqe.h"
#include "prm/wqe.h"
#include "rdma.h"

#define DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)
#define READ_HEAD_DS 2 /* of a READ's WQE: control and remote address segment */

/* The last eight bytes of an entry, loaded at once: what was checked is what is used. */
struct entry {
	uint32_t qp_num;
	uint32_t wqe_counter; /* [15:0] */
	uint8_t opcode;
};

static __rte_always_inline struct entry
load_entry(const struct rnic_cqe *cqe)
{
	const uint64_t word = RNIC_SWAP64(
		__atomic_load_n((const uint64_t *)&cqe->sop_drop_qpn, __ATOMIC_RELAXED));

	return (struct entry){
		.qp_num = (uint32_t)(word >> 32) & 0xffffff,
		.wqe_counter = (uint32_t)(word >> 16),
		.opcode = RNIC_CQE_OPCODE((uint8_t)word),
	};
}
_Static_assert(offsetof(struct rnic_cqe, sop_drop_qpn) == sizeof(struct rnic_cqe) - 8,
	       "queue number, counter, opcode: one word");

/* Partner: the load-acquire of the post, which may write anew what is behind the tail. */
static __rte_always_inline void
give_back(uint32_t *tail, uint32_t value)
{
	__atomic_store_n(tail, value, __ATOMIC_RELEASE);
}

/* The send request of an entry, under way in the CQ of its queue; NULL: there is none. */
static __rte_always_inline const struct rnic_rdma_wqe *
find_send(const struct rnic_rdma_cq *cq, const struct rnic_rdma_qp *qp, uint32_t counter)
{
	const struct rnic_rdma_send *sq = &qp->sq;
	const struct rnic_rdma_wqe *wqe = &sq->wqes[counter & sq->wq.mask];

	/* Of each of two CQs a thread may take them. A queue pair without a send queue has room for none. */
	if ((unlikely(qp->apart) && qp->qp.send_cq != &cq->cq) ||
	    unlikely(wqe->head - sq->tail >= sq->max_post))
		return NULL;
	return wqe;
}

/* ---- Lengths: never more than what was posted, whatever an entry says ---- */

/* What a READ has brought: as much as it asked for. */
static uint32_t
read_length(const struct rnic_rdma_send *sq, uint32_t counter)
{
	const struct rnic_wqe_data *const ring = (const struct rnic_wqe_data *)sq->wq.ring;
	const uint32_t mask = (sq->wq.mask + 1u) * DS_PER_WQEBB - 1;
	const uint32_t start = (counter & sq->wq.mask) * DS_PER_WQEBB;
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)&ring[start];
	const uint32_t ds = rnic_be32_to_cpu(ctrl->qpn_ds) & RNIC_WQE_DS_MAX;
	uint32_t total = 0, i;

	for (i = READ_HEAD_DS; i < ds; i++)
		total += rnic_be32_to_cpu(ring[(start + i) & mask].byte_count);
	return total;
}

/* A message is no longer than the request that it is in; a WRITE's bytes are elsewhere. */
static uint32_t
clamp(uint32_t length, uint8_t opcode, const void *segments, uint32_t max_gs)
{
	return opcode == RNIC_CQE_RESPONDER_WRITE_IMM
		       ? length
		       : RTE_MIN(length, rnic_rdma_room(segments, max_gs));
}

static uint32_t __rte_noinline
clamp_own(uint32_t length, uint8_t opcode, const struct rnic_rdma_receive *rq)
{
	return clamp(length, opcode,
		     rq->wq.ring + ((size_t)(rq->tail & rq->wq.mask) << rq->wq.log_stride),
		     rq->max_gs);
}

static uint32_t __rte_noinline
clamp_shared(uint32_t length, uint8_t opcode, const struct rnic_rdma_srq *srq, uint32_t counter)
{
	return clamp(length, opcode,
		     srq->ring + ((size_t)(counter & srq->mask) << srq->log_stride) +
			     sizeof(struct rnic_wqe_next),
		     srq->max_gs);
}

/* ---- Requests ---- */

/*
 * The receive request of an entry: those of a queue complete in order, those of an SRQ name themselves. The length is what the
 * entry says.
 */
static __rte_always_inline bool
take_receive(const struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint32_t counter,
	     uint8_t opcode, uint64_t *wr_id, uint32_t *length)
{
	struct rnic_rdma_receive *rq = &qp->rq;
	const uint32_t tail = rq->tail;

	if (unlikely(qp->apart)) {
		struct rnic_rdma_srq *srq = qp->srq;

		/* Two threads would take them, of each of two CQs. */
		if (qp->qp.recv_cq != &cq->cq)
			return false;
		if (srq != NULL) {
			if (unlikely(*length > __atomic_load_n(&srq->least, __ATOMIC_RELAXED)))
				*length = clamp_shared(*length, opcode, srq, counter);
			return rnic_rdma_srq_complete(srq, (uint16_t)counter, wr_id);
		}
	}
	if (unlikely(__atomic_load_n(&rq->head, __ATOMIC_RELAXED) == tail))
		return false;
	if (unlikely(*length > __atomic_load_n(&rq->least, __ATOMIC_RELAXED)))
		*length = clamp_own(*length, opcode, rq);
	*wr_id = rq->wr_ids[tail & rq->wq.mask];
	give_back(&rq->tail, tail + 1);
	return true;
}

/* As requester(), for what is seldom. Reads the WQE, which is the caller's until the tail has passed it. */
static bool __rte_noinline
seldom(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint32_t counter, struct rdmapmd_wc *wc)
{
	const struct rnic_rdma_wqe *wqe = find_send(cq, qp, counter);
	uint16_t what;

	if (wqe == NULL) {
		cq->strange++;
		return false;
	}
	what = wqe->what;
	wc->wr_id = wqe->wr_id;
	wc->status = RDMAPMD_WC_SUCCESS;
	wc->opcode = (uint8_t)what;
	wc->wc_flags = 0;
	wc->byte_len = wc->opcode == RDMAPMD_WC_RDMA_READ ? read_length(&qp->sq, counter)
							  : sizeof(uint64_t);
	give_back(&qp->sq.tail, wqe->head + 1);
	return what >> 8 == RNIC_RDMA_REPORTED;
}

/* A request that has been carried out, and all before it. False: nothing to report. */
static __rte_always_inline bool
requester(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint32_t counter,
	  const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const struct rnic_rdma_send *sq = &qp->sq;
	const struct rnic_rdma_wqe *wqe = find_send(cq, qp, counter);
	const struct rnic_wqe_data *first;

	if (unlikely(wqe == NULL) || unlikely(wqe->what > UINT8_MAX))
		return seldom(cq, qp, counter, wc);
	/* Of a WRITE or a SEND it means nothing. */
	if (wqe->what >= RDMAPMD_WC_RDMA_READ) {
		wc->byte_len = sizeof(uint64_t);
		if (wqe->what == RDMAPMD_WC_RDMA_READ) {
			/* As much as it asked for: mostly of one segment, behind the remote address. */
			first = (const struct rnic_wqe_data *)(sq->wq.ring +
							       (size_t)(wqe - sq->wqes) *
								       RNIC_WQEBB_BYTES) +
				READ_HEAD_DS;
			if (unlikely(cqe->byte_count.raw != first->byte_count.raw))
				return seldom(cq, qp, counter, wc);
			wc->byte_len = rnic_be32_to_cpu(cqe->byte_count);
		}
	}
	wc->wr_id = wqe->wr_id;
	wc->status = RDMAPMD_WC_SUCCESS;
	wc->opcode = (uint8_t)wqe->what;
	wc->wc_flags = 0;
	give_back(&qp->sq.tail, wqe->head + 1);
	return true;
}

/* Something that has arrived. False: nothing to report. */
static __rte_always_inline bool
responder(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, const struct entry *entry,
	  const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const uint32_t source = rnic_be32_to_cpu(cqe->flags_rqpn);
	uint32_t length = rnic_be32_to_cpu(cqe->byte_count);

	if (unlikely(!take_receive(cq, qp, entry->wqe_counter, entry->opcode, &wc->wr_id,
				   &length))) {
		cq->strange++;
		return false;
	}
	wc->status = RDMAPMD_WC_SUCCESS;
	wc->opcode = entry->opcode == RNIC_CQE_RESPONDER_WRITE_IMM ? RDMAPMD_WC_RECV_RDMA_WITH_IMM
								   : RDMAPMD_WC_RECV;
	wc->byte_len = length;
	wc->imm_data = cqe->immediate.raw;
	wc->src_qp = source & 0xffffff;
	wc->sl = source >> 24 & 0xf;
	wc->pkey_index = 0;
	wc->wc_flags = (entry->opcode == RNIC_CQE_RESPONDER_WRITE_IMM ||
					entry->opcode == RNIC_CQE_RESPONDER_SEND_IMM
				? RDMAPMD_WC_WITH_IMM
				: 0) |
		       (source >> 28 & 3 ? RDMAPMD_WC_GRH : 0);
	return true;
}

static uint8_t
status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case RNIC_SYND_LOCAL_LENGTH: return RDMAPMD_WC_LOC_LEN_ERR;
	case RNIC_SYND_LOCAL_QP_OPERATION: return RDMAPMD_WC_LOC_QP_OP_ERR;
	case RNIC_SYND_LOCAL_PROTECTION: return RDMAPMD_WC_LOC_PROT_ERR;
	case RNIC_SYND_WR_FLUSHED: return RDMAPMD_WC_WR_FLUSH_ERR;
	case RNIC_SYND_MW_BIND: return RDMAPMD_WC_MW_BIND_ERR;
	case RNIC_SYND_BAD_RESPONSE: return RDMAPMD_WC_BAD_RESP_ERR;
	case RNIC_SYND_LOCAL_ACCESS: return RDMAPMD_WC_LOC_ACCESS_ERR;
	case RNIC_SYND_REMOTE_INVALID_REQUEST: return RDMAPMD_WC_REM_INV_REQ_ERR;
	case RNIC_SYND_REMOTE_ACCESS: return RDMAPMD_WC_REM_ACCESS_ERR;
	case RNIC_SYND_REMOTE_OPERATION: return RDMAPMD_WC_REM_OP_ERR;
	case RNIC_SYND_RETRY_EXCEEDED: return RDMAPMD_WC_RETRY_EXC_ERR;
	case RNIC_SYND_RNR_RETRY_EXCEEDED: return RDMAPMD_WC_RNR_RETRY_EXC_ERR;
	case RNIC_SYND_REMOTE_ABORTED: return RDMAPMD_WC_REM_ABORT_ERR;
	default: return RDMAPMD_WC_GENERAL_ERR;
	}
}

/*
 * Whose an entry is. Errors of the receive queue of a RAW_PACKET queue pair bear the queue's number, and the queue pair's as
 * their user index; no other kind has a queue of its own number.
 */
static struct rnic_rdma_qp *
owner_of(const struct rnic_rdma_cq *cq, uint32_t qp_num, uint8_t opcode, const struct rnic_cqe *cqe)
{
	struct rnic_rdma_qp *qp;

	if (opcode == RNIC_CQE_RESPONDER_ERROR) {
		qp = rnic_rdma_qps_find(cq, rnic_be32_to_cpu(cqe->srqn_user_index) & 0xffffff);
		if (qp != NULL && rnic_rdma_is_raw(qp) && qp->rq.wq.rqn == qp_num)
			return qp;
	}
	return rnic_rdma_qps_find(cq, qp_num);
}

/* A request that has failed, or an entry that makes no sense. False: nothing to report. */
static bool __rte_noinline
failed(struct rnic_rdma_cq *cq, uint32_t qp_num, uint32_t counter, uint8_t opcode,
       const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const struct rnic_error_cqe *error = (const struct rnic_error_cqe *)cqe;
	struct rnic_rdma_qp *qp = owner_of(cq, qp_num, opcode, cqe);
	const struct rnic_rdma_wqe *wqe = NULL;
	uint32_t length = 0;
	bool taken = false;
	uint16_t what = 0;

	if (qp == NULL)
		/* Nobody's: the device has changed it meanwhile. */;
	else if (opcode == RNIC_CQE_REQUESTER_ERROR)
		wqe = find_send(cq, qp, counter);
	else if (opcode == RNIC_CQE_RESPONDER_ERROR && qp->qp.recv_cq == &cq->cq)
		taken = take_receive(cq, qp, counter, opcode, &wc->wr_id, &length);
	if (wqe != NULL) {
		wc->wr_id = wqe->wr_id;
		what = wqe->what;
		give_back(&qp->sq.tail, wqe->head + 1);
	} else if (!taken) {
		cq->strange++;
		return false;
	}
	wc->status = status_of(error->syndrome);
	wc->vendor_err = error->vendor_error_syndrome;
	wc->qp_num = qp->qp.qp_num;
	if (opcode == RNIC_CQE_REQUESTER_ERROR)
		rdmapmd_qp_send_in_error(&qp->qp);
	else
		rdmapmd_qp_in_error(&qp->qp);
	return what >> 8 != RNIC_RDMA_QUIET;
}

/* Not the last entry's queue pair; NULL: none of this CQ. */
static struct rnic_rdma_qp *__rte_noinline
other_qp(struct rnic_rdma_cq *cq, uint32_t qp_num, uint8_t opcode, const struct rnic_cqe *cqe)
{
	struct rnic_rdma_qp *qp = owner_of(cq, qp_num, opcode, cqe);

	if (qp != NULL)
		cq->last = qp;
	else if (opcode != RNIC_CQE_RESIZE && qp_num != RNIC_RDMA_NO_QPN)
		cq->strange++;
	return qp;
}

/* Nothing comes from the device any more. From now on this is what polls do. */
static uint16_t __rte_noinline
lost(struct rnic_rdma_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	cq->cq.poll_cq = rnic_rdma_poll_cq_lost;
	return rnic_rdma_poll_cq_lost(&cq->cq, wc, n);
}

static __rte_always_inline uint16_t
poll_cq(struct rdmapmd_cq *head, struct rdmapmd_wc *wc, uint16_t n, const bool dump,
	const bool fenced)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	const struct rnic_cqe *const ring = cq->ring.ring, *cqe;
	const uint32_t mask = cq->ring.mask, first = cq->ring.consumer;
	/* Of entries that nobody sees, no more than the ring holds: a device cannot keep the caller here. */
	const uint32_t stop = first + mask + 1;
	const uint8_t log_size = cq->ring.log_size;
	struct rdmapmd_wc *const start = wc, *const end = wc + n;
	uint32_t consumer = first;
	struct rnic_rdma_qp *qp;
	struct entry entry;
	bool reported;

	cqe = &ring[consumer & mask];
	if (wc == end || !rnic_cqe_ready(cqe, consumer, log_size)) {
		/* Who asks for nothing has not seen that there is nothing. */
		if (likely(!atomic_load_explicit(cq->lost, memory_order_relaxed)) || n == 0)
			return 0;
		return lost(cq, wc, n);
	}
	if (unlikely(!rnic_rdma_poll_begins(cq, fenced)))
		return 0;
	qp = cq->last;
	do {
		if (dump)
			rnic_dump_cq_entry(&cq->ring, cqe);
		entry = load_entry(cqe);
		if (unlikely(entry.qp_num != qp->qp.qp_num)) {
			struct rnic_rdma_qp *other = other_qp(cq, entry.qp_num, entry.opcode, cqe);

			if (unlikely(other == NULL))
				continue;
			qp = other;
		}
		wc->qp_num = entry.qp_num;
		if (entry.opcode == RNIC_CQE_REQUESTER)
			reported = requester(cq, qp, entry.wqe_counter, cqe, wc);
		else if (likely(entry.opcode <= RNIC_CQE_RESPONDER_SEND_INVAL))
			reported = responder(cq, qp, &entry, cqe, wc);
		else
			reported =
				failed(cq, entry.qp_num, entry.wqe_counter, entry.opcode, cqe, wc);
		wc += reported;
	} while (++consumer != stop && wc != end &&
		 rnic_cqe_ready(cqe = &ring[consumer & mask], consumer, log_size));
	cq->ring.consumer = consumer;
	rnic_cq_dbrec_publish(cq->ring.dbrec, consumer);
	rnic_rdma_poll_ends(cq);
	return (uint16_t)(wc - start);
}

uint16_t
rnic_rdma_poll_cq(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	return poll_cq(cq, wc, n, false, false);
}

uint16_t
rnic_rdma_poll_cq_dump(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	return poll_cq(cq, wc, n, true, true);
}

uint16_t
rnic_rdma_poll_cq_fenced(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	return poll_cq(cq, wc, n, false, true);
}

void
rnic_rdma_cq_clean(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp)
{
	const uint32_t first = cq->ring.consumer;
	struct rnic_cqe *cqe;
	struct entry entry;
	uint64_t wr_id;
	uint32_t index;

	for (index = first; index - first <= cq->ring.mask; index++) {
		cqe = &cq->ring.ring[index & cq->ring.mask];
		if (!rnic_cqe_ready(cqe, index, cq->ring.log_size))
			break;
		entry = load_entry(cqe);
		if (owner_of(cq, entry.qp_num, entry.opcode, cqe) != qp)
			continue;
		/* What it has taken from an SRQ goes back there. */
		if (qp->srq != NULL && entry.opcode != RNIC_CQE_REQUESTER &&
		    entry.opcode != RNIC_CQE_REQUESTER_ERROR)
			rnic_rdma_srq_complete(qp->srq, (uint16_t)entry.wqe_counter, &wr_id);
		/* The device does not look at what it has written. */
		cqe->sop_drop_qpn = RNIC_BE32(RNIC_RDMA_NO_QPN);
	}
}

int
rnic_rdma_req_notify_cq(struct rdmapmd_cq *head, bool solicited_only)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	const uint32_t sequence = atomic_load_explicit(&cq->arm_sequence, memory_order_relaxed) & 3;

	rnic_cq_arm(cq->ring.dbrec, cq->arm_register,
		    sequence << RNIC_CQ_ARM_SEQUENCE_SHIFT |
			    (solicited_only ? RNIC_CQ_ARM_SOLICITED : 0) |
			    (cq->ring.consumer & RNIC_CQ_INDEX_MASK),
		    cq->ring.cqn);
	/* A lost device raises no event. */
	if (unlikely(atomic_load_explicit(cq->lost, memory_order_relaxed)) &&
	    rnic_rdma_cq_waits(cq))
		rnic_rdma_wake(cq);
	return 0;
}
