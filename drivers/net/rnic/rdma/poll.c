/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Poll bursts and arming (PRM: "Completion Queues"). Nothing that an entry says is believed: its queue pair must be one of
 * the CQ's, its request one that is under way; an entry of anything else is passed over, and counted.
 */

#include <errno.h>
#include <stdatomic.h>

#include <rte_branch_prediction.h>

#include "core/doorbell.h"
#include "object/entry_dump.h"
#include "prm/cqe.h"
#include "prm/wqe.h"
#include "rdma/event.h"
#include "rdma/flush.h"
#include "rdma/mw.h"
#include "rdma/poll.h"
#include "rdma/post_recv.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma/srq.h"

/* A VLAN tag. */
#define VLAN_PRIORITY_SHIFT 13
#define VLAN_ID_MASK	    0xfff

/* flags_rqpn: of the kinds of packets the one with that bit. */
#define IPV4 (RNIC_CQE_ROCE_IPV4 << RNIC_CQE_ROCE_SHIFT)

/*
 * The last eight bytes of an entry, loaded at once: what was checked is what is used.
 * Queue number [55:32], WQE counter [31:16], opcode [7:4].
 */
#define WORD_QPN	  UINT64_C(0x00ffffff00000000)
#define WORD_OPCODE	  UINT64_C(0xf0)
#define WORD_OPCODE_SHIFT 4

static __rte_always_inline uint64_t
load_word(const struct rnic_cqe *cqe)
{
	return RNIC_SWAP64(__atomic_load_n((const uint64_t *)&cqe->sop_drop_qpn, __ATOMIC_RELAXED));
}
_Static_assert(offsetof(struct rnic_cqe, sop_drop_qpn) == sizeof(struct rnic_cqe) - 8,
	       "queue number, counter, opcode: one word");

static __rte_always_inline uint32_t
qpn_of(uint64_t word)
{
	return (uint32_t)(word >> 32) & 0xffffff;
}

/* With what stands before it: users take as many bits as they have WQEs. */
static __rte_always_inline uint32_t
counter_of(uint64_t word)
{
	return (uint32_t)(word >> 16);
}

static __rte_always_inline uint8_t
opcode_of(uint64_t word)
{
	return RNIC_CQE_OPCODE((uint8_t)word);
}

/* Whose entry it is and of which kind: what cq->last_sends and cq->last_receives are held against. */
static __rte_always_inline uint64_t
kind_of(uint64_t word)
{
	return word & (WORD_QPN | WORD_OPCODE);
}

/* All up to this one. Partner: the load-acquire of the post, which may write anew what is behind the tail. */
static __rte_always_inline void
give_back(struct rnic_rdma_send *sq, const struct rnic_rdma_wqe *wqe)
{
	__atomic_store_n(&sq->tail, wqe->head + 1, __ATOMIC_RELEASE);
}

/* The send request of an entry; NULL: none that is under way. */
static __rte_always_inline const struct rnic_rdma_wqe *
find_send(const struct rnic_rdma_send *sq, uint32_t counter)
{
	const struct rnic_rdma_wqe *wqe = &sq->wqes[counter & sq->wq.mask];

	/* A queue pair without a send queue has room for none. */
	return likely(wqe->head - sq->tail < sq->max_post) ? wqe : NULL;
}

/* ---- Lengths: never more than what was posted, whatever an entry says ---- */

/* Has each receive request room for so many bytes? A peer's WRITE, the first kind of arrival, is in memory of its choice. */
static __rte_always_inline bool
fits_each(const struct rnic_rdma_qp *qp, uint64_t behind, uint32_t length, const bool shared)
{
	const uint32_t *least = shared ? &qp->srq->least : &qp->rq.least;

	return likely(length <= __atomic_load_n(least, __ATOMIC_RELAXED)) || behind == 0;
}

/* What the request has room for that an entry is about. */
static uint32_t
room_of(const struct rnic_rdma_qp *qp, uint32_t counter)
{
	const struct rnic_rdma_receive *rq = &qp->rq;
	const struct rnic_rdma_srq *srq = qp->srq;

	if (srq != NULL)
		return rnic_rdma_room(srq->ring +
					      ((size_t)(counter & srq->mask) << srq->log_stride) +
					      sizeof(struct rnic_wqe_next),
				      srq->max_gs);
	return rnic_rdma_room(rq->wq.ring + ((size_t)(rq->tail & rq->wq.mask) << rq->wq.log_stride),
			      rq->max_gs);
}

/* Once: what was compared is what is told. */
static __rte_always_inline uint32_t
load_length(const struct rnic_cqe *cqe)
{
	return RNIC_SWAP32(__atomic_load_n(&cqe->byte_count.raw, __ATOMIC_RELAXED));
}

/* An error's entry has syndromes where others have their time. */
static __rte_always_inline uint64_t
time_of(const struct rnic_cqe *cqe, uint8_t status)
{
	return likely(status == RDMAPMD_WC_SUCCESS) ? rnic_be64_to_cpu(cqe->timestamp) : 0;
}

/* ---- Requests ---- */

/* A kind of arrival, for the application. */
struct arrival {
	uint8_t opcode, flags;
};
/* One after the other, from this one on. */
#define WORD_FIRST_ARRIVAL ((uint64_t)RNIC_CQE_RESPONDER_WRITE_IMM << WORD_OPCODE_SHIFT)
static const struct arrival arrivals[] = {
#define KIND(opcode) ((opcode)-RNIC_CQE_RESPONDER_WRITE_IMM)
	[KIND(RNIC_CQE_RESPONDER_WRITE_IMM)] = { RDMAPMD_WC_RECV_RDMA_WITH_IMM,
						 RDMAPMD_WC_WITH_IMM },
	[KIND(RNIC_CQE_RESPONDER_SEND)] = { RDMAPMD_WC_RECV, 0 },
	[KIND(RNIC_CQE_RESPONDER_SEND_IMM)] = { RDMAPMD_WC_RECV, RDMAPMD_WC_WITH_IMM },
};

/* How far an entry is behind one of the first kind; what is none is further. */
static __rte_always_inline bool
is_arrival(uint64_t behind)
{
	return behind <= (uint64_t)(RTE_DIM(arrivals) - 1) << WORD_OPCODE_SHIFT;
}

/* The receive request of an entry: those of a queue complete in order, those of an SRQ name themselves. */
static __rte_always_inline bool
take_receive(struct rnic_rdma_qp *qp, uint32_t counter, uint64_t *wr_id, const bool shared)
{
	struct rnic_rdma_receive *rq = &qp->rq;
	const uint32_t tail = rq->tail;

	if (shared)
		return rnic_rdma_srq_complete(qp->srq, (uint16_t)counter, wr_id);
	if (unlikely(__atomic_load_n(&rq->head, __ATOMIC_RELAXED) == tail))
		return false;
	*wr_id = rq->wr_ids[tail & rq->wq.mask];
	/* As give_back(). */
	__atomic_store_n(&rq->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

/* A request that the driver, too, wanted to know of. False: it is the driver's alone. */
static bool __rte_noinline
poll_known(struct rnic_rdma_qp *qp, uint8_t quiet, uint32_t key)
{
	if (quiet & RNIC_RDMA_INVALIDATES)
		rnic_rdma_mw_invalidated(qp->dev->rdma, key);
	return !(quiet & (RNIC_RDMA_QUIET | RNIC_RDMA_QUIET_SUCCESS));
}

/* A request that has been carried out, and all before it. False: nothing to report. */
static __rte_always_inline bool
poll_requester(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint64_t word,
	       struct rdmapmd_wc *wc)
{
	const struct rnic_rdma_wqe *wqe = find_send(&qp->sq, counter_of(word));
	uint16_t what;

	if (unlikely(wqe == NULL)) {
		cq->unmatched++;
		return false;
	}
	what = wqe->what;
	wc->wr_id = wqe->wr_id;
	/* A READ or an atomic brings what it asked for; of others it means nothing. */
	wc->byte_len = wqe->length;
	wc->qp_num = qp->qp.qp_num;
	wc->status = RDMAPMD_WC_SUCCESS;
	wc->opcode = (uint8_t)what;
	wc->wc_flags = 0;
	give_back(&qp->sq, wqe);
	return likely(what <= UINT8_MAX) || poll_known(qp, (uint8_t)(what >> 8), wc->byte_len);
}

/* Something that has arrived, so far behind the first kind of it. False: nothing to report. */
static __rte_always_inline bool
poll_responder(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint64_t word, uint64_t behind,
	       uint32_t length, const struct rnic_cqe *cqe, struct rdmapmd_wc *wc,
	       const bool shared)
{
	const struct arrival *arrival = &arrivals[behind >> WORD_OPCODE_SHIFT];
	const uint32_t source = rnic_be32_to_cpu(cqe->flags_rqpn);

	wc->byte_len = length;
	wc->imm_data = cqe->immediate.raw;
	wc->qp_num = qp->qp.qp_num;
	wc->src_qp = source & 0xffffff;
	wc->pkey_index = 0;
	wc->status = RDMAPMD_WC_SUCCESS;
	wc->opcode = arrival->opcode;
	wc->wc_flags = arrival->flags | (source >> 28 & 3 ? RDMAPMD_WC_GRH : 0);
	wc->sl = source >> 24 & 0xf;
	if (likely(take_receive(qp, counter_of(word), &wc->wr_id, shared)))
		return true;
	cq->unmatched++;
	return false;
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
static bool
poll_failed(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint64_t word,
	    const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const struct rnic_error_cqe *error = (const struct rnic_error_cqe *)cqe;
	const struct rnic_rdma_wqe *wqe = NULL;
	const uint8_t opcode = opcode_of(word);
	bool taken = false;
	uint16_t what = 0;

	if (opcode == RNIC_CQE_REQUESTER_ERROR && qp->qp.send_cq == &cq->cq)
		wqe = find_send(&qp->sq, counter_of(word));
	else if (opcode == RNIC_CQE_RESPONDER_ERROR && qp->qp.recv_cq == &cq->cq)
		taken = take_receive(qp, counter_of(word), &wc->wr_id, qp->srq != NULL);
	if (wqe != NULL) {
		wc->wr_id = wqe->wr_id;
		what = wqe->what;
		give_back(&qp->sq, wqe);
	} else if (!taken) {
		cq->unmatched++;
		return false;
	}
	wc->status = status_of(error->syndrome);
	wc->vendor_err = error->vendor_error_syndrome;
	wc->qp_num = qp->qp.qp_num;
	if (opcode == RNIC_CQE_REQUESTER_ERROR)
		rdmapmd_qp_send_in_error(&qp->qp);
	else
		rdmapmd_qp_in_error(&qp->qp);
	return !(what >> 8 & (RNIC_RDMA_QUIET | RNIC_RDMA_QUIET_ERROR));
}

/* From now on this is the queue pair whose entries are looked for first. */
static void
poll_remember(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp)
{
	if (cq->last == qp)
		return;
	cq->last = qp;
	cq->last_sends = cq->last_receives = RNIC_RDMA_NO_KIND;
}

/* As poll_responder(), of a datagram, and what its VLAN tag says; as Linux's mlx5_ib and libmlx5 read such entries. */
static bool
poll_datagram(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint64_t word, uint64_t behind,
	      uint32_t length, const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const uint16_t tag = rnic_be16_to_cpu(cqe->vlan_info);
	const bool tagged = (cqe->l4_l3_hdr_type & RNIC_CQE_VLAN_STRIPPED) != 0;

	/* No WRITE, whatever an entry says, is in memory of a peer's choice. */
	if (unlikely(behind == 0))
		length = RTE_MIN(length, room_of(qp, counter_of(word)));
	if (!poll_responder(cq, qp, word, behind, length, cqe, wc, qp->srq != NULL))
		return false;
	wc->sl = tagged ? (uint8_t)(tag >> VLAN_PRIORITY_SHIFT) : 0;
	wc->vlan_id = tagged ? tag & VLAN_ID_MASK : 0;
	wc->wc_flags |= (tagged ? RDMAPMD_WC_WITH_VLAN : 0) |
			(rnic_be32_to_cpu(cqe->flags_rqpn) & IPV4 ? RDMAPMD_WC_IPV4 : 0);
	return true;
}

/* A peer's SEND that has invalidated a window. */
static bool
poll_invalidating(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp, uint64_t word,
		  const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const uint64_t send = (uint64_t)(RNIC_CQE_RESPONDER_SEND - RNIC_CQE_RESPONDER_WRITE_IMM)
			      << WORD_OPCODE_SHIFT;
	uint32_t length = load_length(cqe);

	if (!fits_each(qp, send, length, qp->srq != NULL))
		length = RTE_MIN(length, room_of(qp, counter_of(word)));
	if (!poll_responder(cq, qp, word, send, length, cqe, wc, qp->srq != NULL))
		return false;
	wc->wc_flags |= RDMAPMD_WC_WITH_INV;
	wc->invalidated_rkey = rte_be_to_cpu_32(wc->imm_data);
	rnic_rdma_mw_invalidated(qp->dev->rdma, wc->invalidated_rkey);
	return true;
}

/*
 * An entry that is not as those of the last queue pair were: another one's, the first of its kind, an error, nobody's. Of
 * each of two CQs a thread may take them: requests are the send CQ's, what arrives is the receive CQ's. False: nothing to
 * report.
 */
static bool __rte_noinline
poll_slow(struct rnic_rdma_cq *cq, const struct rnic_cqe *cqe, struct rdmapmd_wc *wc)
{
	const uint64_t word = load_word(cqe);
	const uint64_t behind = (word & WORD_OPCODE) - WORD_FIRST_ARRIVAL;
	const uint8_t opcode = opcode_of(word);
	const uint32_t qpn = qpn_of(word);
	struct rnic_rdma_qp *qp = owner_of(cq, qpn, opcode, cqe);
	uint32_t length;

	if (qp == NULL) {
		/* The device has changed it meanwhile, or it is the end of a ring. */
		cq->unmatched += opcode != RNIC_CQE_RESIZE && qpn != RNIC_RDMA_NO_QPN;
		return false;
	}
	if (opcode == RNIC_CQE_REQUESTER && qp->qp.send_cq == &cq->cq) {
		poll_remember(cq, qp);
		cq->last_sends = kind_of(word);
		return poll_requester(cq, qp, word, wc);
	}
	if (opcode == RNIC_CQE_RESPONDER_SEND_INVAL && qp->qp.recv_cq == &cq->cq)
		return poll_invalidating(cq, qp, word, cqe, wc);
	if (is_arrival(behind) && qp->qp.recv_cq == &cq->cq) {
		poll_remember(cq, qp);
		length = load_length(cqe);
		if (!fits_each(qp, behind, length, qp->srq != NULL))
			length = RTE_MIN(length, room_of(qp, counter_of(word)));
		/* Of datagrams there is more to say: all of them come here. */
		if (unlikely(rnic_rdma_is_datagram(qp)))
			return poll_datagram(cq, qp, word, behind, length, cqe, wc);
		cq->last_receives = kind_of(word) - behind;
		return poll_responder(cq, qp, word, behind, length, cqe, wc, qp->srq != NULL);
	}
	return poll_failed(cq, qp, word, cqe, wc);
}

/* As poll_responder(), of the last queue pair, and for what is not rare. */
static __rte_always_inline bool
poll_arrival(struct rnic_rdma_cq *cq, uint64_t word, uint64_t behind, const struct rnic_cqe *cqe,
	     struct rdmapmd_wc *wc, const bool shared)
{
	const uint32_t length = load_length(cqe);

	return fits_each(cq->last, behind, length, shared)
		       ? poll_responder(cq, cq->last, word, behind, length, cqe, wc, shared)
		       : poll_slow(cq, cqe, wc);
}

/* What is no request of the last queue pair's. */
static __rte_always_inline bool
poll_other(struct rnic_rdma_cq *cq, const struct rnic_cqe *cqe, uint64_t word,
	   struct rdmapmd_wc *wc)
{
	const uint64_t behind = kind_of(word) - cq->last_receives;

	if (unlikely(!is_arrival(behind)))
		return poll_slow(cq, cqe, wc);
	return likely(cq->last->srq == NULL) ? poll_arrival(cq, word, behind, cqe, wc, false)
					     : poll_arrival(cq, word, behind, cqe, wc, true);
}

/* The device writes nothing from now on, and polls do this. */
static uint16_t __rte_noinline
poll_lost(struct rnic_rdma_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	cq->cq.poll_cq = rnic_rdma_poll_cq_lost;
	return rnic_rdma_poll_cq_lost(&cq->cq, wc, n);
}

/* One body, instances by constant flags. */
static __rte_always_inline uint16_t
poll_cq(struct rdmapmd_cq *head, struct rdmapmd_wc *wc, uint16_t n, const bool timed,
	const bool dump, const bool fenced)
{
	struct rnic_rdma_cq *cq = (struct rnic_rdma_cq *)head;
	const struct rnic_cqe *const ring = cq->ring.ring, *cqe;
	const uint32_t mask = cq->ring.mask;
	uint32_t consumer = cq->ring.consumer, passed = 0, left = n;
	uint32_t owner = consumer >> cq->ring.log_size & 1; /* as this lap's entries have it */
	uint64_t word;
	bool reported;

	cqe = &ring[consumer & mask];
	if (n == 0 || !rnic_cqe_ready(cqe, owner, 0)) {
		/* Who asks for nothing has not seen that there is nothing. */
		if (likely(!atomic_load_explicit(cq->lost, memory_order_relaxed)) || n == 0)
			return 0;
		return poll_lost(cq, wc, n);
	}
	if (unlikely(!rnic_rdma_poll_begins(cq, fenced)))
		return 0;
	do {
		if (dump)
			rnic_dump_cq_entry(&cq->ring, cqe);
		word = load_word(cqe);
		if (likely(kind_of(word) == cq->last_sends))
			reported = poll_requester(cq, cq->last, word, wc);
		else
			reported = poll_other(cq, cqe, word, wc);
		if (timed && reported)
			wc->completion_ts = time_of(cqe, wc->status);
		consumer++;
		if (likely(reported)) {
			wc++;
			left--;
		} else if (++passed > mask) {
			/* Of those that are not reported, at most a ring: a device cannot keep the caller here. */
			break;
		}
		if (left == 0)
			break;
		cqe++;
		if (unlikely((consumer & mask) == 0)) {
			cqe = ring;
			owner ^= 1;
		}
	} while (rnic_cqe_ready(cqe, owner, 0));
	cq->ring.consumer = consumer;
	rnic_cq_dbrec_publish(cq->ring.dbrec, consumer);
	rnic_rdma_poll_ends(cq);
	return (uint16_t)(n - left);
}

#define POLL_INSTANCE(name, timed, dump, fenced)                                       \
	static uint16_t name(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n) \
	{                                                                              \
		return poll_cq(cq, wc, n, timed, dump, fenced);                        \
	}

POLL_INSTANCE(poll_plain, false, false, false)
POLL_INSTANCE(poll_plain_fenced, false, false, true)
POLL_INSTANCE(poll_plain_dump, false, true, true)
POLL_INSTANCE(poll_timed, true, false, false)
POLL_INSTANCE(poll_timed_fenced, true, false, true)
POLL_INSTANCE(poll_timed_dump, true, true, true)

const rdmapmd_poll_cq_t rnic_rdma_polls[2][RNIC_RDMA_POLL_KINDS] = {
	{ poll_plain, poll_plain_fenced, poll_plain_dump },
	{ poll_timed, poll_timed_fenced, poll_timed_dump },
};

void
rnic_rdma_cq_clean(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp)
{
	const uint32_t first = cq->ring.consumer;
	struct rnic_cqe *cqe;
	uint64_t word, wr_id;
	uint32_t index;
	uint8_t opcode;

	for (index = first; index - first <= cq->ring.mask; index++) {
		cqe = &cq->ring.ring[index & cq->ring.mask];
		if (!rnic_cqe_ready(cqe, index, cq->ring.log_size))
			break;
		word = load_word(cqe);
		opcode = opcode_of(word);
		if (owner_of(cq, qpn_of(word), opcode, cqe) != qp)
			continue;
		/* What it has taken from an SRQ goes back there. */
		if (qp->srq != NULL && opcode != RNIC_CQE_REQUESTER &&
		    opcode != RNIC_CQE_REQUESTER_ERROR)
			rnic_rdma_srq_complete(qp->srq, (uint16_t)counter_of(word), &wr_id);
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
