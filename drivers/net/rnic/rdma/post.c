/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Post bursts: room, build, publish, ring (PRM: "Work Request Operations").
 *
 * A send queue has room for max_post requests of the largest size, so that requests are counted, not blocks. A request that
 * asks for no completion is done when a later one completes. The last one that fits the queue asks for one in any case if
 * none under way does: a full queue always gets empty again.
 *
 * Three ways, each for what the one before it does not do: one common request (post_one()), a burst of them that are alike
 * (post_send()), anything (post_mixed()). A common request has one segment, behind a remote address or nothing.
 */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "core/doorbell.h"
#include "core/dump.h"
#include "object/entry_dump.h"
#include "prm/wqe.h"
#include "rdma/ah.h"
#include "rdma/mw.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/post_wqe.h"
#include "rdma/rdma.h"

/* Bytes of payload in the first unit of a segment that is in line. */
#define INLINE_START (RNIC_WQE_DS_BYTES - (uint32_t)offsetof(struct rnic_wqe_inline, data))

/* The control segment in two stores. `number`: ctrl_begin() of the queue's alone. */
static __rte_always_inline void
set_control(struct rnic_wqe_data *at, uint16_t index, const struct rnic_rdma_kind *kind,
	    uint64_t number, uint32_t ds, uint32_t immediate)
{
	const uint64_t words[2] = {
		kind->ctrl[0] | number | ctrl_begin(index, 0, 0, ds),
		kind->ctrl[1] | RNIC_SWAP64((uint64_t)immediate),
	};

	memcpy(at, words, sizeof(words));
}

/* Where it goes, in the place of the second to the fourth unit. False: not with this handle, not to that number. */
static __rte_always_inline bool
set_vector(struct rnic_wqe_data *at, const struct rdmapmd_send_wr *wr, const struct rdmapmd_pd *pd)
{
	const struct rnic_rdma_ah *ah = (const struct rnic_rdma_ah *)wr->wr.ud.ah;
	struct rnic_wqe_av *vector = (struct rnic_wqe_av *)at;

	if (unlikely(ah == NULL) || unlikely(ah->ah.pd != pd) ||
	    unlikely(wr->wr.ud.remote_qpn > RDMAPMD_MULTICAST_QPN))
		return false;
	*vector = ah->vector;
	vector->qkey = rnic_cpu_to_be32(wr->wr.ud.remote_qkey);
	vector->dqp = rnic_cpu_to_be32(RNIC_WQE_AV_EXTENDED | wr->wr.ud.remote_qpn);
	return true;
}
_Static_assert(sizeof(struct rnic_wqe_ctrl) + sizeof(struct rnic_wqe_av) == RNIC_WQEBB_BYTES,
	       "data begin with the second WQEBB");

/* As rnic_rdma_build(): a control segment and an address vector, which fill a WQEBB, and a packet's payload, whatever it is made of. */
static __rte_always_inline uint32_t
build_datagram(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
	       struct rnic_wqe_data *at, uint8_t parts)
{
	struct rnic_wqe_data *data = at + DS_PER_WQEBB;

	if (unlikely(parts & (OP_BAD | OP_EMPTY)))
		return rnic_rdma_build(&qp->sq, wr, at, parts);
	if (unlikely(!set_vector(at + 1, wr, qp->qp.pd)))
		return 0;
	if (data == ring_end(&qp->sq))
		data = sq_wqebb(&qp->sq, 0);
	if (likely(wr->num_sge == 1) && likely(!(parts & OP_INLINE)) &&
	    likely(wr->sg_list->length - 1 < qp->sq.max_datagram)) {
		rnic_rdma_set_data(data, wr->sg_list);
		return DS_PER_WQEBB + 1;
	}
	return rnic_rdma_build_datagram(&qp->sq, wr, data, parts);
}

/* set_remote() of a WRITE or READ, whose request has address and key behind each other. */
static __rte_always_inline void
set_remote_of(struct rnic_wqe_data *at, const struct rdmapmd_send_wr *wr)
{
#ifdef __SSE4_1__
	const __m128i order = _mm_set_epi8(-1, -1, -1, -1, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7);

	_mm_store_si128((__m128i *)at,
			_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)&wr->wr.rdma), order));
#else
	set_remote(at, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
#endif
}

/* Of one that was built. */
static uint32_t
total_length(const struct rdmapmd_send_wr *wr)
{
	uint32_t total = 0;
	uint16_t i;

	for (i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total;
}

/* What the poll wants to know of a WQE, beside its length. */
static __rte_always_inline void
set_wqe(struct rnic_rdma_wqe *wqe, uint64_t wr_id, uint64_t head, uint8_t opcode, uint8_t quiet)
{
	wqe->wr_id = wr_id;
	wqe->head = head;
	wqe->what = (uint16_t)(opcode | quiet << 8);
}

/*
 * Requests up to this one are under way. Partner: the load-acquire of the poll that flushes them, should the device be lost. The
 * device learns of them by the record.
 */
static __rte_always_inline void
publish_head(struct rnic_rdma_send *sq, uint64_t head)
{
	__atomic_store_n(&sq->head, head, __ATOMIC_RELEASE);
}

/* A single WQE that fits half a register goes with the ring; several, or one that wraps, are as quick to fetch. */
static void __rte_noinline
ring_special(const struct rnic_rdma_send *sq, const struct rnic_wqe_data *last, uint16_t first)
{
	const uint32_t wqebbs = (uint16_t)(sq->wq.producer - first);
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)last;

	if (sq->wq.bf->blueflame && last == sq_wqebb(sq, first) &&
	    wqebbs * RNIC_WQEBB_BYTES <= sq->wq.bf->half &&
	    (first & sq->wq.mask) + wqebbs <= sq->wq.mask + 1u)
		rnic_blueflame_ring(sq->wq.bf, ctrl, wqebbs * RNIC_WQEBB_BYTES);
	else
		rnic_doorbell_ring(sq->wq.bf, ctrl);
}

/* Hand over what was built up to WQEBB `producer`. */
static __rte_always_inline void
hand_over(struct rnic_rdma_send *sq, const struct rnic_wqe_data *last, uint16_t producer)
{
	const uint16_t first = sq->wq.producer;

	sq->wq.producer = producer;
	rnic_sq_dbrec_publish(sq->wq.dbrec, producer);
	if (likely(sq->wq.bf->plain))
		rnic_doorbell_ring(sq->wq.bf, (const struct rnic_wqe_ctrl *)last);
	else
		ring_special(sq, last, first);
}

/* The queue is full, and no completion would ever come: the last request asks for one, on the quiet. */
static void __rte_noinline
signal_last(const struct rnic_rdma_send *sq, struct rnic_wqe_data *last)
{
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)last;

	ctrl->fm_ce_se = (uint8_t)((ctrl->fm_ce_se & ~RNIC_WQE_CE_MASK) | RNIC_WQE_CE_ALWAYS);
	sq->wqes[(last - sq_wqebb(sq, 0)) / DS_PER_WQEBB].what |= RNIC_RDMA_QUIET_SUCCESS << 8;
}

/* All from one WQEBB to another, each WQE once. */
static void
dump_wqes(const struct rnic_rdma_send *sq, uint16_t from, uint16_t to, enum rnic_wqe_kind kind)
{
	uint32_t ds;

	while (from != to) {
		rnic_dump_sq_wqe(&sq->wq, from, kind);
		ds = rnic_be32_to_cpu(((const struct rnic_wqe_ctrl *)sq_wqebb(sq, from))->qpn_ds) &
		     RNIC_WQE_DS_MAX;
		from = (uint16_t)(from + WQEBBS(ds));
	}
}

/* How many requests may be posted. */
static __rte_always_inline uint32_t
send_room(const struct rnic_rdma_send *sq, uint64_t tail)
{
	return likely(atomic_load_explicit(&sq->open, memory_order_relaxed))
		       ? (uint32_t)(sq->max_post - (sq->head - tail))
		       : 0;
}

/* What was built and not handed over. */
struct made {
	uint64_t posted;	    /* requests, up to it */
	uint64_t signaled;	    /* up to the last one that asks for a completion */
	struct rnic_wqe_data *last; /* its last WQE */
	uint16_t producer;	    /* where it ends */
};

/* Hand it over, at least one; full: there is room for no more. */
static __rte_always_inline void
burst_finish(struct rdmapmd_qp *head, const struct made *made, bool full, uint64_t tail,
	     const bool dump)
{
	struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	uint64_t signaled = made->signaled;

	if (unlikely(full) && signaled <= tail) {
		signal_last(sq, made->last);
		signaled = made->posted;
	}
	sq->signaled = signaled;
	if (dump)
		dump_wqes(sq, sq->wq.producer, made->producer,
			  rnic_rdma_wqe_kind((const struct rnic_rdma_qp *)head));
	publish_head(sq, made->posted);
	hand_over(sq, made->last, made->producer);
}

static uint16_t post_rest(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n,
			  uint32_t room, uint64_t tail, const struct made *made, bool dump);

/* What is the same for all requests of a burst: stores to WQEs could change all that is not in registers. */
struct burst {
	struct rnic_wqe_data (*ring)[DS_PER_WQEBB];
	struct rnic_rdma_wqe *wqes;
	uint64_t number; /* ctrl_begin() of the queue's */
	uint32_t mask, max_inline;
};

/* Number of segments, opcode and flags of a request, in one number. */
static __rte_always_inline uint32_t
request_word(const struct rdmapmd_send_wr *wr)
{
	uint32_t word;

	memcpy(&word, &wr->num_sge, sizeof(word));
	return word;
}
_Static_assert(offsetof(struct rdmapmd_send_wr, opcode) ==
			       offsetof(struct rdmapmd_send_wr, num_sge) + 2 &&
		       offsetof(struct rdmapmd_send_wr, send_flags) ==
			       offsetof(struct rdmapmd_send_wr, num_sge) + 3,
	       "number of segments, opcode and flags lie together");

static __rte_always_inline struct rnic_rdma_kind *
kinds_of(const struct rnic_rdma_send *sq)
{
	return atomic_load_explicit(&sq->kinds, memory_order_relaxed);
}

static __rte_always_inline const struct rnic_rdma_kind *
kind_of(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr)
{
	return rnic_rdma_kind_at(kinds_of(sq), wr->opcode, wr->send_flags);
}

/* Is there a kind of it? */
static __rte_always_inline bool
has_kind(const struct rdmapmd_send_wr *wr)
{
	return wr->opcode < RNIC_RDMA_OPCODES && wr->send_flags < RNIC_RDMA_FLAGS;
}

/* Has it one segment, and a kind? That is one question, as what is below each of both limits is below a power of two. */
static __rte_always_inline bool
has_segment_and_kind(const struct rdmapmd_send_wr *wr)
{
	struct rdmapmd_send_wr most = { .num_sge = UINT16_MAX,
					.opcode = (uint8_t) ~(RNIC_RDMA_OPCODES - 1),
					.send_flags = (uint8_t) ~(RNIC_RDMA_FLAGS - 1) };
	struct rdmapmd_send_wr one = { .num_sge = 1 };

	return (request_word(wr) & request_word(&most)) == request_word(&one);
}
_Static_assert((RNIC_RDMA_OPCODES & (RNIC_RDMA_OPCODES - 1)) == 0 &&
		       (RNIC_RDMA_FLAGS & (RNIC_RDMA_FLAGS - 1)) == 0,
	       "powers of two");

/* Of its first segment: one of 0 bytes would mean 2 GiB. */
static __rte_always_inline bool
length_is_common(const struct rdmapmd_send_wr *wr)
{
	return likely(wr->sg_list->length - 1 < RNIC_RDMA_MAX_MESSAGE);
}

/* `made`, and a run behind it up to request `posted`, whose last WQE is this, and ends before that WQEBB. */
static __rte_always_inline struct made
alike_made(const struct made *made, uint64_t posted, const struct rnic_rdma_kind *kind,
	   struct rnic_wqe_data *last, uint32_t producer)
{
	return (struct made){
		.posted = posted,
		.signaled = kind->fm_ce_se & RNIC_WQE_CE_ALWAYS ? posted : made->signaled,
		.last = last,
		.producer = (uint16_t)producer,
	};
}

/*
 * Requests up to `stop` with one data segment, as long as they are of this kind, which is one with a remote address or none, and
 * with nothing else; the first one is. `made`: what was built before; in, out. Returns where it ended.
 */
static __rte_always_inline const struct rdmapmd_send_wr *
build_alike(const struct burst *b, const struct rdmapmd_send_wr *wr, uint64_t stop,
	    const struct rnic_rdma_kind *kind, struct made *made, const bool remote)
{
	const struct rnic_rdma_kind own = { .ctrl = { kind->ctrl[0] | b->number, kind->ctrl[1] } };
	const uint32_t what = request_word(wr), wc_opcode = kind->wc_opcode;
	const uint32_t ds = remote ? 3 : 2;
	uint64_t posted = made->posted;
	uint32_t producer = made->producer;
	struct rnic_wqe_data *at;

	do {
		struct rnic_rdma_wqe *wqe = &b->wqes[producer & b->mask];

		at = b->ring[producer & b->mask];
		wqe->length = wr->sg_list->length;
		if (remote)
			set_remote_of(at + 1, wr);
		rnic_rdma_set_data(at + ds - 1, wr->sg_list);
		set_control(at, (uint16_t)producer, &own, 0, ds, 0);
		set_wqe(wqe, wr->wr_id, posted, (uint8_t)wc_opcode, RNIC_RDMA_REPORTED);
		producer++;
		posted++;
		wr++;
	} while (posted != stop && request_word(wr) == what && length_is_common(wr));
	*made = alike_made(made, posted, kind, at, producer);
	return wr;
}

static __rte_always_inline const struct rdmapmd_send_wr *
build_gather(const struct burst *b, const struct rdmapmd_send_wr *wr, uint64_t stop,
	     const struct rnic_rdma_kind *kind, struct made *made)
{
	return kind->parts ? build_alike(b, wr, stop, kind, made, true)
			   : build_alike(b, wr, stop, kind, made, false);
}

/* The length of a WQE, in units, with one segment that is in line; 0: not this one, or it would wrap. */
static __rte_always_inline uint32_t
inline_ds(const struct burst *b, const struct rdmapmd_send_wr *wr, uint32_t producer,
	  const bool remote)
{
	const uint32_t length = wr->sg_list->length;
	const uint32_t bytes = (remote ? 3 : 2) * RNIC_WQE_DS_BYTES - INLINE_START + length;
	const uint32_t ds = (bytes + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES;

	return length - 1 < b->max_inline && (producer & b->mask) + WQEBBS(ds) <= b->mask + 1 ? ds
											      : 0;
}

/* build_alike() of such whose segment is in line. The first one need not be one that can be: then it is none. */
static __rte_always_inline const struct rdmapmd_send_wr *
build_inline(const struct burst *b, const struct rdmapmd_send_wr *wr, uint64_t stop,
	     const struct rnic_rdma_kind *kind, struct made *made, const bool remote)
{
	const struct rnic_rdma_kind own = { .ctrl = { kind->ctrl[0] | b->number, kind->ctrl[1] } };
	const uint32_t what = request_word(wr), wc_opcode = kind->wc_opcode;
	uint64_t posted = made->posted;
	uint32_t producer = made->producer, ds = inline_ds(b, wr, producer, remote);
	struct rnic_wqe_data *at;
	struct rnic_wqe_inline *data;

	if (unlikely(ds == 0))
		return wr;
	do {
		at = b->ring[producer & b->mask];
		if (remote)
			set_remote_of(at + 1, wr);
		data = (struct rnic_wqe_inline *)(at + (remote ? 2 : 1));
		data->byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | wr->sg_list->length);
		memcpy(data->data, (const void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
		set_control(at, (uint16_t)producer, &own, 0, ds, 0);
		set_wqe(&b->wqes[producer & b->mask], wr->wr_id, posted, (uint8_t)wc_opcode,
			RNIC_RDMA_REPORTED);
		producer += WQEBBS(ds);
		posted++;
		wr++;
	} while (posted != stop && request_word(wr) == what &&
		 (ds = inline_ds(b, wr, producer, remote)) != 0);
	*made = alike_made(made, posted, kind, at, producer);
	return wr;
}

/*
 * Those of a burst from this one on that are alike, if it is a common one: one segment, behind a remote address or nothing. Returns
 * where they end; at `wr`: it is not.
 */
static __rte_always_inline const struct rdmapmd_send_wr *
build_common(const struct burst *b, const struct rdmapmd_send_wr *wr, uint64_t stop,
	     const struct rnic_rdma_kind *kind, struct made *made)
{
	if (likely(!(kind->parts & ~OP_REMOTE)))
		return length_is_common(wr) ? build_gather(b, wr, stop, kind, made) : wr;
	if (kind->parts == OP_INLINE)
		return build_inline(b, wr, stop, kind, made, false);
	if (kind->parts == (OP_INLINE | OP_REMOTE))
		return build_inline(b, wr, stop, kind, made, true);
	return wr;
}

/* One request, whatever it is made of. False: it cannot be. */
static __rte_always_inline bool
build_single(const struct rnic_rdma_qp *qp, const struct burst *b, const struct rdmapmd_send_wr *wr,
	     const struct rnic_rdma_kind *kind, struct made *made, const bool datagrams)
{
	struct rnic_rdma_wqe *wqe = &b->wqes[made->producer & b->mask];
	struct rnic_wqe_data *at = b->ring[made->producer & b->mask];
	uint32_t ds;

	if (datagrams) {
		ds = build_datagram(qp, wr, at, kind->parts);
	} else {
		ds = rnic_rdma_build(&qp->sq, wr, at, kind->parts);
		if (ds != 0 && kind->wc_opcode >= RDMAPMD_WC_RDMA_READ)
			wqe->length = total_length(wr);
	}
	if (unlikely(ds == 0))
		return false;
	set_control(at, made->producer, kind, b->number, ds,
		    unlikely(kind->parts & OP_IMM) ? RNIC_SWAP32(wr->imm_data) : 0);
	set_wqe(wqe, wr->wr_id, made->posted, kind->wc_opcode, RNIC_RDMA_REPORTED);
	made->posted++;
	made->last = at;
	made->producer = (uint16_t)(made->producer + WQEBBS(ds));
	if (kind->fm_ce_se & RNIC_WQE_CE_ALWAYS)
		made->signaled = made->posted;
	return true;
}

static __rte_always_inline struct burst
burst_of(const struct rnic_rdma_send *sq)
{
	return (struct burst){
		.ring = (void *)sq->wq.ring,
		.wqes = sq->wqes,
		.number = ctrl_begin(0, 0, sq->wq.sqn, 0),
		.mask = sq->wq.mask,
		.max_inline = sq->max_inline,
	};
}

/*
 * The rest of a burst, whatever it is made of; `wr` and `n` are the burst's, `before` is what was built of it. There was `room` then,
 * which is not asked for again: another thread may have closed the queue since. plain: none of the requests names a key that changes, or
 * is of an opcode behind those of kinds.
 */
static __rte_always_inline uint16_t
post_mixed(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n,
	   const struct made *before, uint32_t room, uint64_t tail, const bool dump,
	   const bool datagrams, const bool plain)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	struct rnic_rdma_send *sq = &qp->sq;
	const struct burst b = burst_of(sq);
	const uint64_t start = sq->head, stop = start + RTE_MIN((uint32_t)n, room);
	const struct rdmapmd_send_wr *next = wr + (before->posted - start);
	const struct rnic_rdma_kind *kind;
	struct made made = *before;

	while (made.posted != stop) {
		const struct rdmapmd_send_wr *from = next;

		if (unlikely(!has_kind(next)))
			break;
		kind = kind_of(sq, next);
		if (!datagrams && next->num_sge == 1)
			next = build_common(&b, from, stop, kind, &made);
		if (next == from) {
			if (unlikely(!build_single(qp, &b, next, kind, &made, datagrams)))
				break;
			next++;
		}
	}
	if (unlikely(made.posted - start < n)) {
		if (!plain)
			return post_rest(head, wr, n, room, tail, &made, dump);
		head->post_send_error =
			rnic_rdma_short_burst(&sq->open, made.posted - start < room);
	}
	if (unlikely(made.posted == start))
		return 0;
	burst_finish(head, &made, made.posted - start == room, tail, dump);
	return (uint16_t)(made.posted - start);
}

static uint16_t __rte_noinline
post_messages(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n,
	      const struct made *before, uint32_t room, uint64_t tail, bool dump, bool plain)
{
	return post_mixed(head, wr, n, before, room, tail, dump, false, plain);
}

/* Messages. A burst of common requests that are alike, for which there is room, is all done here. */
static __rte_always_inline uint16_t
post_send(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n, const bool dump,
	  const bool plain)
{
	struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	/* Partner: the store-release of the poll, after which the WQEs behind it may be written anew. */
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE), start = sq->head;
	const uint32_t room = send_room(sq, tail);
	struct made made = { start, sq->signaled, NULL, sq->wq.producer };
	struct burst b;

	/* None is too few, too. */
	if (likely(n - 1u < room) && likely(has_segment_and_kind(wr))) {
		b = burst_of(sq);
		build_common(&b, wr, start + n, kind_of(sq, wr), &made);
		if (likely(made.posted == start + n)) {
			burst_finish(head, &made, n == room, tail, dump);
			return n;
		}
	}
	return post_messages(head, wr, n,
			     &(struct made){ made.posted, made.signaled, made.last, made.producer },
			     room, tail, dump, plain);
}

static __rte_always_inline uint16_t
post_datagrams(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n,
	       const bool dump)
{
	const struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	/* Partner: as in post_send(). */
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE);
	const struct made made = { sq->head, sq->signaled, NULL, sq->wq.producer };

	return post_mixed(head, wr, n, &made, send_room(sq, tail), tail, dump, true, true);
}

/* A NOP whose completion is not reported; there is room. */
static void
post_marker(struct rnic_rdma_send *sq)
{
	const uint16_t producer = sq->wq.producer;

	set_control(sq_wqebb(sq, producer), producer,
		    rnic_rdma_kind_at(kinds_of(sq), RDMAPMD_WR_NOP, RDMAPMD_SEND_SIGNALED),
		    ctrl_begin(0, 0, sq->wq.sqn, 0), 1, 0);
	set_wqe(&sq->wqes[producer & sq->wq.mask], 0, sq->head, RDMAPMD_WC_NOP, RNIC_RDMA_QUIET);
	sq->signaled = sq->head + 1;
	publish_head(sq, sq->head + 1);
	hand_over(sq, sq_wqebb(sq, producer), (uint16_t)(producer + 1));
}

/* ---- What names a key that changes: rare, and longer than what a queue counts with ---- */

static bool
names_key(const struct rdmapmd_send_wr *wr)
{
	return wr->opcode == RDMAPMD_WR_LOCAL_INV || wr->opcode == RDMAPMD_WR_BIND_MW ||
	       wr->opcode == RDMAPMD_WR_SEND_WITH_INV;
}

/* The WQE at the producer, all but its control segment: its length in units, or 0 if it cannot be. */
static uint32_t
build_naming(struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr, uint32_t ds)
{
	const struct rnic_rdma_send *sq = &qp->sq;
	const uint32_t producer = sq->wq.producer;
	struct rnic_wqe_data *const wqebbs[RNIC_RDMA_UMR_WQEBBS] = { sq_wqebb(sq, producer),
								     sq_wqebb(sq, producer + 1),
								     sq_wqebb(sq, producer + 2) };

	if (wr->opcode == RDMAPMD_WR_SEND_WITH_INV)
		return rnic_rdma_build(sq, wr, wqebbs[0],
				       wr->send_flags & RDMAPMD_SEND_INLINE ? OP_INLINE : 0);
	rnic_rdma_mw_build(qp, wr, wqebbs);
	return ds;
}

/* One of its WQEs, whose data are built, behind those that are made. */
static void
add_naming(struct rnic_rdma_qp *qp, uint64_t wr_id, struct rnic_rdma_kind kind, uint32_t ds,
	   uint32_t key, uint8_t quiet, struct made *made)
{
	struct rnic_rdma_send *sq = &qp->sq;

	rnic_rdma_kind_finish(&kind);
	made->last = sq_wqebb(sq, made->producer);
	set_control(made->last, made->producer, &kind, ctrl_begin(0, 0, sq->wq.sqn, 0), ds, key);
	set_wqe(&sq->wqes[made->producer & sq->wq.mask], wr_id, made->posted - 1, kind.wc_opcode,
		quiet);
	made->producer = (uint16_t)(made->producer + WQEBBS(ds));
	if (kind.fm_ce_se & RNIC_WQE_CE_ALWAYS)
		made->signaled = made->posted;
}

/*
 * A change of a window: the WQE that makes it, and a NOP which waits for that, so that nothing behind them is ahead of it. The NOP
 * tells of success, the first one of errors; the driver wants to know of the end of a window in any case.
 */
static void
add_change(struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr, struct rnic_rdma_kind kind,
	   const struct rnic_rdma_umr *umr, struct made *made)
{
	struct rnic_rdma_send *sq = &qp->sq;
	struct rnic_rdma_kind nop = kind;
	uint8_t quiet = RNIC_RDMA_QUIET_ERROR;

	kind.wqe_opcode = RNIC_WQE_UMR;
	kind.wc_opcode = nop.wc_opcode =
		wr->opcode == RDMAPMD_WR_LOCAL_INV ? RDMAPMD_WC_LOCAL_INV : RDMAPMD_WC_BIND_MW;
	kind.fm_ce_se = (uint8_t)((kind.fm_ce_se & ~RNIC_WQE_CE_MASK) | RNIC_WQE_CE_ON_ERROR);
	made->posted--;
	add_naming(qp, wr->wr_id, kind, umr->ds, umr->key, RNIC_RDMA_REPORTED, made);
	made->posted++;
	nop.fm_ce_se = (uint8_t)((nop.fm_ce_se & ~RNIC_WQE_FM_FENCE) | RNIC_WQE_FM_LOCAL);
	if (umr->invalidated != 0) {
		quiet |= RNIC_RDMA_INVALIDATES;
		if (!(nop.fm_ce_se & RNIC_WQE_CE_ALWAYS))
			quiet |= RNIC_RDMA_QUIET_SUCCESS;
		nop.fm_ce_se |= RNIC_WQE_CE_ALWAYS;
	}
	sq->wqes[made->producer & sq->wq.mask].length = umr->invalidated;
	add_naming(qp, wr->wr_id, nop, 1, 0, quiet, made);
}

/* The numbers that a request takes: a change of a window is longer than a request may be, and has two WQEs. */
static uint32_t
naming_slots(const struct rnic_rdma_send *sq, const struct rnic_rdma_umr *umr)
{
	const uint32_t wqebbs = umr->ds / DS_PER_WQEBB + 1, each = RTE_MAX(sq->wqebbs, 1u);

	return RTE_MAX((wqebbs + each - 1) / each, 2u);
}

/* One request. 0 or -errno. */
static int
post_naming(struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr, enum rdmapmd_mw_type type,
	    bool dump)
{
	struct rnic_rdma_send *sq = &qp->sq;
	const bool send = wr->opcode == RDMAPMD_WR_SEND_WITH_INV;
	struct rnic_rdma_umr umr = { .ds = 1, .key = wr->invalidate_rkey };
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE);
	const uint32_t room = send_room(sq, tail);
	struct made made = { sq->head, sq->signaled, NULL, sq->wq.producer };
	struct rnic_rdma_kind kind;
	uint32_t slots = 1;

	if (!atomic_load_explicit(&sq->open, memory_order_relaxed))
		return -EPERM;
	if (qp->qp.qp_type != RDMAPMD_QPT_RC || wr->send_flags >= RNIC_RDMA_FLAGS)
		return -EINVAL;
	if (!send) {
		umr = rnic_rdma_mw_look(qp, wr, type);
		slots = naming_slots(sq, &umr);
	}
	if (umr.ds == 0 || slots > sq->max_post)
		return -EINVAL;
	if (room < slots) {
		/* If none under way asks for a completion, there would never be more. */
		if (room > 0 && sq->signaled <= tail)
			post_marker(sq);
		return -ENOMEM;
	}
	umr.ds = build_naming(qp, wr, umr.ds);
	if (umr.ds == 0)
		return -EINVAL;
	kind = *rnic_rdma_kind_at(kinds_of(sq), RDMAPMD_WR_NOP,
				  wr->send_flags & ~RDMAPMD_SEND_INLINE);
	made.posted += slots;
	if (send) {
		kind.wqe_opcode = RNIC_WQE_SEND_INVAL;
		kind.wc_opcode = RDMAPMD_WC_SEND;
		add_naming(qp, wr->wr_id, kind, umr.ds, umr.key, RNIC_RDMA_REPORTED, &made);
	} else {
		add_change(qp, wr, kind, &umr, &made);
	}
	burst_finish(&qp->qp, &made, room == slots, tail, dump);
	return 0;
}

int
rnic_rdma_mw_bind(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr)
{
	return head->post_send == rdmapmd_post_send_none
		       ? -EINVAL
		       : post_naming((struct rnic_rdma_qp *)head, wr, RDMAPMD_MW_TYPE_1,
				     rnic_dump_wanted());
}

/* How many of the requests are not of that kind, before the first one that is. */
static uint16_t
count_plain(const struct rdmapmd_send_wr *wr, uint16_t n)
{
	uint16_t count = 0;

	while (count < n && !names_key(&wr[count]))
		count++;
	return count;
}

/*
 * A burst that has ended early: what was built of its requests, then those that name keys, and all others as before. How many were
 * posted.
 */
static uint16_t __rte_noinline
post_rest(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n, uint32_t room,
	  uint64_t tail, const struct made *made, bool dump)
{
	struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	uint16_t done = (uint16_t)(made->posted - sq->head), plain, taken;
	int rc;

	head->post_send_error = rnic_rdma_short_burst(&sq->open, done < room);
	if (done > 0)
		burst_finish(head, made, done == room, tail, dump);
	if (done == room || !names_key(&wr[done]))
		return done;
	while (done < n) {
		rc = post_naming((struct rnic_rdma_qp *)head, &wr[done], RDMAPMD_MW_TYPE_2, dump);
		if (rc != 0) {
			head->post_send_error = rc;
			return done;
		}
		done++;
		plain = count_plain(&wr[done], (uint16_t)(n - done));
		taken = plain == 0 ? 0 : post_send(head, &wr[done], plain, dump, true);
		done = (uint16_t)(done + taken);
		if (taken < plain)
			return done;
	}
	return done;
}

static uint16_t __rte_noinline
post_burst(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(head, wr, n, false, false);
}

/* One that is common, but for data in line: all of it without a call, and with few registers. */
static __rte_always_inline uint16_t
post_one(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr)
{
	struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	/* Partner: as in post_send(). */
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE);
	const uint32_t room = send_room(sq, tail);
	const struct rnic_rdma_kind *kind;
	struct made made = { sq->head, sq->signaled, NULL, sq->wq.producer };
	struct burst b;

	if (likely(room > 0) && likely(has_segment_and_kind(wr))) {
		kind = kind_of(sq, wr);
		if (likely(!(kind->parts & ~OP_REMOTE)) && length_is_common(wr)) {
			b = burst_of(sq);
			build_gather(&b, wr, made.posted + 1, kind, &made);
			burst_finish(head, &made, room == 1, tail, false);
			return 1;
		}
	}
	return post_burst(head, wr, 1);
}

uint16_t
rnic_rdma_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return n == 1 && !(wr->send_flags & RDMAPMD_SEND_INLINE) ? post_one(qp, wr)
								 : post_burst(qp, wr, n);
}

uint16_t
rnic_rdma_post_send_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, true, false);
}

uint16_t
rnic_rdma_post_datagrams(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_datagrams(qp, wr, n, false);
}

uint16_t
rnic_rdma_post_datagrams_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_datagrams(qp, wr, n, true);
}

uint32_t
rnic_rdma_qp_outstanding(struct rdmapmd_qp *head)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	struct rnic_rdma_send *sq = &qp->sq;
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE);

	if (sq->head != tail && sq->signaled != sq->head && sq->head - tail < sq->max_post &&
	    atomic_load_explicit(&sq->open, memory_order_relaxed))
		post_marker(sq);
	return (uint32_t)(sq->head - tail) + __atomic_load_n(&qp->rq.head, __ATOMIC_RELAXED) -
	       __atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE);
}
