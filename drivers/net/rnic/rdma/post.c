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

#include "base/tunables.h"
#include "core/doorbell.h"
#include "object/entry_dump.h"
#include "prm/wqe.h"
#include "rdma/ah.h"
#include "rdma/post.h"
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

/* In three plain stores: compilers that may merge them make more of it. */
static __rte_always_inline void
set_data(struct rnic_wqe_data *data, const struct rdmapmd_sge *sge)
{
	__atomic_store_n(&data->byte_count.raw, RNIC_SWAP32(sge->length), __ATOMIC_RELAXED);
	__atomic_store_n(&data->lkey.raw, RNIC_SWAP32(sge->lkey), __ATOMIC_RELAXED);
	__atomic_store_n(&data->address.raw, RNIC_SWAP64(sge->addr), __ATOMIC_RELAXED);
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
		set_data(data++, &rest);
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
		set_data(data, wr->sg_list);
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
		set_data(at + 2, wr->sg_list);
		return 3;
	}
	set_data(at + 1, wr->sg_list);
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

/* Why a burst took fewer than it was given. */
static int __rte_noinline
short_burst(const _Atomic uint8_t *open, bool room)
{
	if (!atomic_load_explicit(open, memory_order_relaxed))
		return -EPERM;
	return room ? -EINVAL : -ENOMEM;
}

/* All from one WQEBB to another, each WQE once. */
static void
dump_wqes(const struct rnic_rdma_send *sq, uint16_t from, uint16_t to, bool ethernet)
{
	uint32_t ds;

	while (from != to) {
		rnic_dump_sq_wqe(&sq->wq, from, ethernet);
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

static __rte_always_inline uint16_t
post_send(struct rdmapmd_qp *head, const struct rdmapmd_send_wr *wr, uint16_t n, const bool dump,
	  const bool datagrams)
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
	if (unlikely(posted - start < n))
		head->post_send_error = short_burst(&sq->open, posted - start < room);
	if (unlikely(posted == start))
		return 0;
	if (unlikely(posted - start == room) && signaled <= tail) {
		signal_last(sq, (uint16_t)last);
		signaled = posted;
	}
	sq->signaled = signaled;
	if (dump)
		dump_wqes(sq, sq->wq.producer, (uint16_t)producer,
			  head->qp_type == RDMAPMD_QPT_RAW_PACKET);
	publish_head(sq, posted);
	hand_over(sq, sq->wq.producer, (uint16_t)last, (uint16_t)producer);
	return (uint16_t)(posted - start);
}

uint16_t
rnic_rdma_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, false, false);
}

uint16_t
rnic_rdma_post_send_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, true, false);
}

uint16_t
rnic_rdma_post_datagrams(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, false, true);
}

uint16_t
rnic_rdma_post_datagrams_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return post_send(qp, wr, n, true, true);
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

/* ---- Receive requests ---- */

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
			set_data(data++, &wr->sg_list[i]);
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
		head->post_recv_error = short_burst(&rq->open, done < room);
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

/* ---- From the start ---- */

void
rnic_rdma_queues_reset(struct rnic_rdma_qp *qp)
{
	struct rnic_rdma_send *sq = &qp->sq;
	struct rnic_rdma_receive *rq = &qp->rq;
	uint32_t i;

	sq->signaled = rnic_tunables.sends;
	__atomic_store_n(&sq->head, rnic_tunables.sends, __ATOMIC_RELEASE);
	__atomic_store_n(&sq->tail, rnic_tunables.sends, __ATOMIC_RELEASE);
	sq->wq.producer = 0;
	/* A WQEBB where no WQE starts stands for a request that is long done. */
	for (i = 0; sq->wqes != NULL && i <= sq->wq.mask; i++)
		sq->wqes[i] = (struct rnic_rdma_wqe){ .head = rnic_tunables.sends - 1 };
	__atomic_store_n(&rq->head, rnic_tunables.receives, __ATOMIC_RELEASE);
	__atomic_store_n(&rq->tail, rnic_tunables.receives, __ATOMIC_RELEASE);
	rq->wq.producer = 0;
	__atomic_store_n(&rq->least, UINT32_MAX, __ATOMIC_RELAXED);
	if (sq->wq.dbrec != NULL)
		rnic_sq_dbrec_publish(sq->wq.dbrec, 0);
	if (rq->wq.dbrec != NULL)
		rnic_rq_dbrec_publish(rq->wq.dbrec, 0);
}

void
rnic_rdma_srq_reset(struct rnic_rdma_srq *srq)
{
	uint32_t i;

	for (i = 0; i <= srq->mask; i++)
		atomic_store_explicit(&srq->next[i], i < srq->mask ? i + 1 : RNIC_RDMA_SRQ_LAST,
				      memory_order_relaxed);
	srq->head = 0;
	__atomic_store_n(&srq->least, UINT32_MAX, __ATOMIC_RELAXED);
	atomic_store_explicit(&srq->tail, srq->mask, memory_order_release);
	srq->posted = 0;
	rnic_dbrec_publish(srq->dbrec, 0);
}
