/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Post bursts: room, build, publish, ring (PRM: "Work Request Operations").
 *
 * A send queue has room for max_post requests of the largest size, so that requests are counted, not blocks. A request that
 * asks for no completion is done when a later one completes. The last one that fits the queue asks for one in any case if
 * none under way does: a full queue always gets empty again.
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
#include "rdma/post_wqe.h"
#include "rdma/rdma.h"

#define DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)

/* What a request is made of. */
#define OP_REMOTE 0x01 /* a remote address segment */
#define OP_ATOMIC 0x02 /* an atomic segment */
#define OP_IMM	  0x04
#define OP_EMPTY  0x08 /* no data */
#define OP_INLINE 0x10
#define OP_BAD	  0x20 /* not with these flags, or not on this queue pair */
#define OP_FRAME  0x40 /* an Ethernet segment */
/* Built out of line, and so is whatever has not exactly one data segment. */
#define OP_SLOW (OP_ATOMIC | OP_EMPTY | OP_INLINE | OP_BAD | OP_FRAME)

#define ETHERNET_HEADER 14 /* bytes: no frame is shorter */

static const struct {
	uint8_t wqe_opcode, wc_opcode, parts;
	bool may_inline;
} operations[] = {
	[RDMAPMD_WR_RDMA_WRITE] = { RNIC_WQE_RDMA_WRITE, RDMAPMD_WC_RDMA_WRITE, OP_REMOTE, true },
	[RDMAPMD_WR_RDMA_WRITE_WITH_IMM] = { RNIC_WQE_RDMA_WRITE_IMM, RDMAPMD_WC_RDMA_WRITE,
					     OP_REMOTE | OP_IMM, true },
	[RDMAPMD_WR_SEND] = { RNIC_WQE_SEND, RDMAPMD_WC_SEND, 0, true },
	[RDMAPMD_WR_SEND_WITH_IMM] = { RNIC_WQE_SEND_IMM, RDMAPMD_WC_SEND, OP_IMM, true },
	[RDMAPMD_WR_RDMA_READ] = { RNIC_WQE_RDMA_READ, RDMAPMD_WC_RDMA_READ, OP_REMOTE, false },
	[RDMAPMD_WR_ATOMIC_CMP_AND_SWP] = { RNIC_WQE_ATOMIC_CS, RDMAPMD_WC_COMP_SWAP,
					    OP_REMOTE | OP_ATOMIC, false },
	[RDMAPMD_WR_ATOMIC_FETCH_AND_ADD] = { RNIC_WQE_ATOMIC_FA, RDMAPMD_WC_FETCH_ADD,
					      OP_REMOTE | OP_ATOMIC, false },
	[RDMAPMD_WR_NOP] = { RNIC_WQE_NOP, RDMAPMD_WC_NOP, OP_EMPTY, false },
};
_Static_assert(RTE_DIM(operations) == RNIC_RDMA_OPCODES, "all operations");

/* Of RAW_PACKET: whole frames, or nothing, and neither peer nor order of operations. */
static uint8_t
frame_parts(unsigned int opcode, unsigned int flags)
{
	if ((opcode != RDMAPMD_WR_SEND && opcode != RDMAPMD_WR_NOP) ||
	    (flags & (RDMAPMD_SEND_FENCE | RDMAPMD_SEND_SOLICITED)))
		return OP_BAD;
	return opcode == RDMAPMD_WR_SEND ? OP_FRAME : 0;
}

/* Of UD: a message, or nothing. */
static uint8_t
datagram_parts(unsigned int opcode)
{
	return opcode == RDMAPMD_WR_SEND || opcode == RDMAPMD_WR_SEND_WITH_IMM ||
			       opcode == RDMAPMD_WR_NOP
		       ? 0
		       : OP_BAD;
}

void
rnic_rdma_kinds_init(struct rnic_rdma_kind *kinds, unsigned int qp_kind)
{
	const bool asks = (qp_kind & RNIC_RDMA_QP_ASKS_NONE) == 0;
	unsigned int opcode, flags;

	for (opcode = 0; opcode < RNIC_RDMA_OPCODES; opcode++)
		for (flags = 0; flags < RNIC_RDMA_FLAGS; flags++, kinds++) {
			kinds->wqe_opcode = operations[opcode].wqe_opcode;
			kinds->wc_opcode = operations[opcode].wc_opcode;
			kinds->parts = operations[opcode].parts;
			if (flags & RDMAPMD_SEND_INLINE)
				kinds->parts |= operations[opcode].may_inline ? OP_INLINE : OP_BAD;
			if (!asks && (opcode == RDMAPMD_WR_RDMA_READ ||
				      (operations[opcode].parts & OP_ATOMIC)))
				kinds->parts |= OP_BAD;
			if (qp_kind & RNIC_RDMA_QP_RAW)
				kinds->parts |= frame_parts(opcode, flags);
			if (qp_kind & RNIC_RDMA_QP_DATAGRAM)
				kinds->parts |= datagram_parts(opcode);
			kinds->fm_ce_se = (flags & RDMAPMD_SEND_FENCE ? RNIC_WQE_FM_FENCE : 0) |
					  (flags & RDMAPMD_SEND_SOLICITED ? RNIC_WQE_SE : 0) |
					  (flags & RDMAPMD_SEND_SIGNALED ||
							   (qp_kind & RNIC_RDMA_QP_SIGNALS_ALL)
						   ? RNIC_WQE_CE_ALWAYS
						   : RNIC_WQE_CE_ON_ERROR);
		}
}

/* The ring as units of 16 bytes. */
static __rte_always_inline struct rnic_wqe_data *
sq_wqebb(const struct rnic_rdma_send *sq, uint32_t index)
{
	return (struct rnic_wqe_data *)(sq->wq.ring +
					(size_t)(index & sq->wq.mask) * RNIC_WQEBB_BYTES);
}

static __rte_always_inline struct rnic_wqe_data *
ring_end(const struct rnic_rdma_send *sq)
{
	return (struct rnic_wqe_data *)(sq->wq.ring + ((size_t)sq->wq.mask + 1) * RNIC_WQEBB_BYTES);
}

/*
 * Any number of data segments, for all but the first `skip` bytes. False: too many, too long. One of 0 bytes is left out: it
 * would mean 2 GiB.
 */
static __rte_always_inline bool
set_gather(const struct rnic_rdma_send *sq, struct rnic_wqe_data *data, uint32_t *ds,
	   const struct rdmapmd_send_wr *wr, uint32_t skip)
{
	const struct rdmapmd_sge *sge = wr->sg_list;
	uint64_t total = 0;
	uint16_t i;

	if (wr->num_sge > sq->max_gs)
		return false;
	for (i = 0; i < wr->num_sge; i++, sge++) {
		const uint32_t passed = RTE_MIN(skip, sge->length);
		const struct rdmapmd_sge rest = { sge->addr + passed, sge->length - passed,
						  sge->lkey };

		skip -= passed;
		total += sge->length;
		if (rest.length == 0)
			continue;
		if (data == ring_end(sq))
			data = sq_wqebb(sq, 0);
		rnic_rdma_set_data(data++, &rest);
		(*ds)++;
	}
	return total <= RNIC_RDMA_MAX_MESSAGE;
}

/* The payload itself but for its first `skip` bytes, behind a word with its length. False: too much, too many segments. */
static __rte_always_inline bool
set_inline(const struct rnic_rdma_send *sq, struct rnic_wqe_data *data, uint32_t *ds,
	   const struct rdmapmd_send_wr *wr, uint32_t skip)
{
	const uint8_t *from, *end = (const uint8_t *)ring_end(sq);
	struct rnic_wqe_inline *header = (struct rnic_wqe_inline *)data;
	uint8_t *to = header->data;
	uint32_t total = 0, passed, left, here;
	uint16_t i;

	if (wr->num_sge > sq->max_gs)
		return false;
	for (i = 0; i < wr->num_sge; i++) {
		/* No wrap: both are at most max_inline. */
		if (wr->sg_list[i].length > sq->max_inline - total)
			return false;
		total += wr->sg_list[i].length;
	}
	/* An empty message has no segment at all. */
	total -= skip;
	if (total == 0)
		return true;
	header->byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | total);
	for (i = 0; i < wr->num_sge; i++) {
		passed = RTE_MIN(skip, wr->sg_list[i].length);
		skip -= passed;
		from = (const uint8_t *)(uintptr_t)wr->sg_list[i].addr + passed;
		for (left = wr->sg_list[i].length - passed; left > 0; left -= here) {
			here = (uint32_t)RTE_MIN((size_t)left, (size_t)(end - to));
			memcpy(to, from, here);
			from += here;
			to += here;
			if (to == end)
				to = sq->wq.ring;
		}
	}
	*ds += (uint32_t)(sizeof(header->byte_count) + total + RNIC_WQE_DS_BYTES - 1) /
	       RNIC_WQE_DS_BYTES;
	return true;
}

static __rte_always_inline struct rnic_wqe_data *
set_remote(struct rnic_wqe_data *at, uint64_t address, uint32_t rkey)
{
	struct rnic_wqe_raddr *raddr = (struct rnic_wqe_raddr *)at;

	raddr->address = rnic_cpu_to_be64(address);
	raddr->rkey = rnic_cpu_to_be32(rkey);
	raddr->rsvd_0c.raw = 0;
	return at + 1;
}

/* Remote address and atomic segment; false: not one segment of 8 bytes for the old value. */
static bool
set_atomic(struct rnic_wqe_data *at, const struct rdmapmd_send_wr *wr)
{
	const bool swap = wr->opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP;
	struct rnic_wqe_atomic *atomic = (struct rnic_wqe_atomic *)set_remote(
		at, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);

	if (wr->num_sge != 1 || wr->sg_list[0].length != sizeof(uint64_t))
		return false;
	atomic->swap_add = rnic_cpu_to_be64(swap ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
	atomic->compare = rnic_cpu_to_be64(swap ? wr->wr.atomic.compare_add : 0);
	return true;
}

/* The control segment in two stores. */
static __rte_always_inline void
set_control(struct rnic_wqe_data *at, uint16_t index, struct rnic_rdma_kind kind, uint32_t qpn,
	    uint32_t ds, uint32_t immediate)
{
	uint64_t words[2] = {
		(uint64_t)RNIC_WQE_CTRL_DW0(0, index, kind.wqe_opcode) << 32 |
			RNIC_WQE_CTRL_DW1(qpn, ds),
		(uint64_t)kind.fm_ce_se << 32 | immediate,
	};

	words[0] = RNIC_SWAP64(words[0]);
	words[1] = RNIC_SWAP64(words[1]);
	memcpy(at, words, sizeof(words));
}
_Static_assert(offsetof(struct rnic_wqe_ctrl, qpn_ds) == 4 &&
		       offsetof(struct rnic_wqe_ctrl, fm_ce_se) == 11 &&
		       offsetof(struct rnic_wqe_ctrl, immediate) == 12,
	       "a control segment in two words");

/* How long a frame is, before anything of it is read; 0: too long, or too many segments. */
static uint64_t
frame_length(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr, uint8_t parts)
{
	uint64_t total = 0;
	uint16_t i;

	if (wr->num_sge > sq->max_gs)
		return 0;
	for (i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total <= (parts & OP_INLINE ? sq->max_inline : RNIC_RDMA_MAX_MESSAGE) ? total : 0;
}

/* The first bytes of a frame, which has as many. */
static void
copy_header(uint8_t *to, const struct rdmapmd_send_wr *wr, uint32_t bytes)
{
	const struct rdmapmd_sge *sge = wr->sg_list;
	uint32_t here;

	for (; bytes > 0; bytes -= here, to += here, sge++) {
		here = RTE_MIN(bytes, sge->length);
		memcpy(to, (const void *)(uintptr_t)sge->addr, here);
	}
}

/* As build_slow(): an Ethernet segment, in which the frame begins if the device wants that, then the rest of it. */
static uint32_t
build_frame(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
	    struct rnic_wqe_data *at, uint8_t parts)
{
	struct rnic_wqe_eth *eth = (struct rnic_wqe_eth *)(at + 1);
	const uint64_t length = frame_length(sq, wr, parts);
	const uint32_t header = (uint32_t)RTE_MIN(length, (uint64_t)sq->header_bytes);
	uint32_t ds = 2;

	if (length < ETHERNET_HEADER)
		return 0;
	*eth = (struct rnic_wqe_eth){ 0 };
	if (header > 0) {
		eth->inline_header_size = rnic_cpu_to_be16((uint16_t)header);
		/* It runs on into the next unit. */
		copy_header((uint8_t *)eth + offsetof(struct rnic_wqe_eth, inline_header_start), wr,
			    header);
		ds++;
	}
	if (!(parts & OP_INLINE ? set_inline(sq, at + ds, &ds, wr, header)
				: set_gather(sq, at + ds, &ds, wr, header)))
		return 0;
	return ds;
}

/* All of a WQE but its control segment, whatever it is made of: its length in units, or 0 if it cannot be. */
static uint32_t __rte_noinline
build_slow(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
	   struct rnic_wqe_data *at, uint8_t parts)
{
	uint32_t ds = 1;

	if (parts & OP_BAD)
		return 0;
	if (parts & OP_FRAME)
		return build_frame(sq, wr, at, parts);
	if (parts & OP_ATOMIC) {
		if (!set_atomic(at + ds, wr))
			return 0;
		ds += 2;
	} else if (parts & OP_REMOTE) {
		set_remote(at + ds, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		ds++;
	}
	if (parts & OP_EMPTY)
		return wr->num_sge == 0 ? ds : 0;
	if (!(parts & OP_INLINE ? set_inline(sq, at + ds, &ds, wr, 0)
				: set_gather(sq, at + ds, &ds, wr, 0)))
		return 0;
	return ds;
}

/* One packet. */
static bool
datagram_fits(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr)
{
	uint64_t total = 0;
	uint16_t i;

	if (wr->num_sge > sq->max_gs)
		return false;
	for (i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total <= sq->max_datagram;
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

/* As build_slow(): a control segment and an address vector, which fill a WQEBB, and a packet's payload, whatever it is made of. */
static __rte_always_inline uint32_t
build_datagram(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
	       struct rnic_wqe_data *at, uint8_t parts)
{
	struct rnic_wqe_data *data = at + DS_PER_WQEBB;
	uint32_t ds = DS_PER_WQEBB;

	if (unlikely(parts & (OP_BAD | OP_EMPTY)))
		return build_slow(&qp->sq, wr, at, parts);
	if (unlikely(!set_vector(at + 1, wr, qp->qp.pd)))
		return 0;
	if (data == ring_end(&qp->sq))
		data = sq_wqebb(&qp->sq, 0);
	if (likely(wr->num_sge == 1) && likely(!(parts & OP_INLINE)) &&
	    likely(wr->sg_list->length - 1 < qp->sq.max_datagram)) {
		rnic_rdma_set_data(data, wr->sg_list);
		return ds + 1;
	}
	if (!datagram_fits(&qp->sq, wr) ||
	    !(parts & OP_INLINE ? set_inline(&qp->sq, data, &ds, wr, 0)
				: set_gather(&qp->sq, data, &ds, wr, 0)))
		return 0;
	return ds;
}

/* As build_slow(): one data segment, behind a remote address or not. */
static __rte_always_inline uint32_t
build_one(const struct rdmapmd_send_wr *wr, struct rnic_wqe_data *at, uint8_t parts)
{
	if (parts & OP_REMOTE) {
		set_remote(at + 1, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		rnic_rdma_set_data(at + 2, wr->sg_list);
		return 3;
	}
	rnic_rdma_set_data(at + 1, wr->sg_list);
	return 2;
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

/* Hand over what was built from WQEBB `first` on; the last WQE starts at `last`. */
static __rte_always_inline void
hand_over(struct rnic_rdma_send *sq, uint16_t first, uint16_t last, uint16_t producer)
{
	const struct rnic_wqe_ctrl *ctrl = (const struct rnic_wqe_ctrl *)sq_wqebb(sq, last);
	const uint32_t wqebbs = (uint16_t)(producer - first);

	sq->wq.producer = producer;
	rnic_sq_dbrec_publish(sq->wq.dbrec, producer);
	/* A single WQE that fits half a register goes with the ring; several, or one that wraps, are as quick to fetch. */
	if (unlikely(sq->wq.bf->blueflame) && first == last &&
	    wqebbs * RNIC_WQEBB_BYTES <= sq->wq.bf->half &&
	    (first & sq->wq.mask) + wqebbs <= sq->wq.mask + 1u)
		rnic_blueflame_ring(sq->wq.bf, ctrl, wqebbs * RNIC_WQEBB_BYTES);
	else
		rnic_doorbell_ring(sq->wq.bf, ctrl);
}

/* The queue is full, and no completion would ever come: the last request asks for one, on the quiet. */
static void __rte_noinline
signal_last(struct rnic_rdma_send *sq, uint16_t last)
{
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)sq_wqebb(sq, last);

	ctrl->fm_ce_se = (uint8_t)((ctrl->fm_ce_se & ~RNIC_WQE_CE_MASK) | RNIC_WQE_CE_ALWAYS);
	sq->wqes[last & sq->wq.mask].what |= RNIC_RDMA_QUIET_SUCCESS << 8;
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
		from = (uint16_t)(from + (ds + DS_PER_WQEBB - 1) / DS_PER_WQEBB);
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
	uint64_t posted;   /* requests, up to it */
	uint64_t signaled; /* up to the last one that asks for a completion */
	uint16_t last;	   /* where its last WQE starts */
	uint16_t producer; /* where it ends */
};

/* Hand it over, at least one; full: there is room for no more. */
static __rte_always_inline void
finish(struct rdmapmd_qp *head, const struct made *made, bool full, uint64_t tail, const bool dump)
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
	hand_over(sq, sq->wq.producer, made->last, made->producer);
}

static uint16_t post_rest(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n,
			  uint32_t room, uint64_t tail, const struct made *made, bool dump);

/* plain: none of the requests names a key that changes, or is of an opcode behind those of kinds. */
static __rte_always_inline uint16_t
post_send(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n, const bool dump,
	  const bool datagrams, const bool plain)
{
	struct rnic_rdma_send *sq = &((struct rnic_rdma_qp *)head)->sq;
	/* Partner: the store-release of the poll, after which the WQEs behind it may be written anew. */
	const uint64_t tail = __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE), start = sq->head;
	const uint32_t room = send_room(sq, tail);
	const uint64_t stop = start + RTE_MIN((uint32_t)n, room);
	/* Stores to WQEs could change all that is not in registers. */
	const uint32_t mask = sq->wq.mask, qpn = sq->wq.sqn;
	struct rnic_wqe_data(*const ring)[DS_PER_WQEBB] = (void *)sq->wq.ring;
	const struct rnic_rdma_kind *const kinds =
		atomic_load_explicit(&sq->kinds, memory_order_relaxed);
	struct rnic_rdma_wqe *const wqes = sq->wqes;
	uint32_t producer = sq->wq.producer, last = producer, ds;
	uint64_t posted, signaled = sq->signaled;

	for (posted = start; posted != stop; posted++, wr++) {
		struct rnic_wqe_data *at = ring[producer & mask];
		struct rnic_rdma_wqe *wqe = &wqes[producer & mask];
		struct rnic_rdma_kind kind;

		if (unlikely(wr->opcode >= RNIC_RDMA_OPCODES) ||
		    unlikely(wr->send_flags >= RNIC_RDMA_FLAGS))
			break;
		kind = kinds[wr->opcode * RNIC_RDMA_FLAGS + wr->send_flags];
		if (datagrams) {
			ds = build_datagram((struct rnic_rdma_qp *)head, wr, at, kind.parts);
		} else if (likely(!(kind.parts & OP_SLOW)) && likely(wr->num_sge == 1) &&
			   likely(wr->sg_list->length - 1 < RNIC_RDMA_MAX_MESSAGE)) {
			wqe->length = wr->sg_list->length;
			ds = build_one(wr, at, kind.parts);
		} else {
			ds = build_slow(sq, wr, at, kind.parts);
			if (ds != 0 && kind.wc_opcode >= RDMAPMD_WC_RDMA_READ)
				wqe->length = total_length(wr);
		}
		if (unlikely(ds == 0))
			break;
		set_control(at, (uint16_t)producer, kind, qpn, ds,
			    unlikely(kind.parts & OP_IMM) ? RNIC_SWAP32(wr->imm_data) : 0);
		set_wqe(wqe, wr->wr_id, posted, kind.wc_opcode, RNIC_RDMA_REPORTED);
		signaled = kind.fm_ce_se & RNIC_WQE_CE_ALWAYS ? posted + 1 : signaled;
		last = producer;
		producer += (ds + DS_PER_WQEBB - 1) / DS_PER_WQEBB;
	}
	if (unlikely(posted - start < n)) {
		const struct made rest = { posted, signaled, (uint16_t)last, (uint16_t)producer };

		if (!plain)
			return post_rest(head, wr - (posted - start), n, room, tail, &rest, dump);
		head->post_send_error = rnic_rdma_short_burst(&sq->open, posted - start < room);
	}
	if (unlikely(posted == start))
		return 0;
	finish(head, &(struct made){ posted, signaled, (uint16_t)last, (uint16_t)producer },
	       posted - start == room, tail, dump);
	return (uint16_t)(posted - start);
}

/* A NOP whose completion is not reported; there is room. */
static void
post_marker(struct rnic_rdma_send *sq)
{
	const uint16_t producer = sq->wq.producer;

	set_control(sq_wqebb(sq, producer), producer,
		    sq->kinds[RDMAPMD_WR_NOP * RNIC_RDMA_FLAGS + RDMAPMD_SEND_SIGNALED], sq->wq.sqn,
		    1, 0);
	set_wqe(&sq->wqes[producer & sq->wq.mask], 0, sq->head, RDMAPMD_WC_NOP, RNIC_RDMA_QUIET);
	sq->signaled = sq->head + 1;
	publish_head(sq, sq->head + 1);
	hand_over(sq, producer, producer, (uint16_t)(producer + 1));
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
		return build_slow(sq, wr, wqebbs[0],
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

	made->last = made->producer;
	made->producer = (uint16_t)(made->last + (ds + DS_PER_WQEBB - 1) / DS_PER_WQEBB);
	if (kind.fm_ce_se & RNIC_WQE_CE_ALWAYS)
		made->signaled = made->posted;
	set_control(sq_wqebb(sq, made->last), made->last, kind, sq->wq.sqn, ds, key);
	set_wqe(&sq->wqes[made->last & sq->wq.mask], wr_id, made->posted - 1, kind.wc_opcode,
		quiet);
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
	struct made made = { sq->head, sq->signaled, sq->wq.producer, sq->wq.producer };
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
	kind = sq->kinds[RDMAPMD_WR_NOP * RNIC_RDMA_FLAGS +
			 (wr->send_flags & ~RDMAPMD_SEND_INLINE)];
	made.posted += slots;
	if (send) {
		kind.wqe_opcode = RNIC_WQE_SEND_INVAL;
		kind.wc_opcode = RDMAPMD_WC_SEND;
		add_naming(qp, wr->wr_id, kind, umr.ds, umr.key, RNIC_RDMA_REPORTED, &made);
	} else {
		add_change(qp, wr, kind, &umr, &made);
	}
	finish(&qp->qp, &made, room == slots, tail, dump);
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
		finish(head, made, done == room, tail, dump);
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
		taken = plain == 0 ? 0 : post_send(head, &wr[done], plain, dump, false, true);
		done = (uint16_t)(done + taken);
		if (taken < plain)
			return done;
	}
	return done;
}

uint16_t
rnic_rdma_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, false, false, false);
}

uint16_t
rnic_rdma_post_send_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, true, false, false);
}

uint16_t
rnic_rdma_post_datagrams(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, false, true, true);
}

uint16_t
rnic_rdma_post_datagrams_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, true, true, true);
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
