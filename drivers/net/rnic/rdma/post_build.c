/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * WQEs, whatever they are made of: kinds of requests, and all their segments but the control segment. What bursts are made of is built
 * by post.c, in line.
 */

#include <string.h>

#include "prm/wqe.h"
#include "rdma/post_build.h"
#include "rdma/post_wqe.h"
#include "rdma/rdma.h"

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
rnic_rdma_kind_finish(struct rnic_rdma_kind *kind)
{
	kind->ctrl[0] = ctrl_begin(0, kind->wqe_opcode, 0, 0);
	kind->ctrl[1] = RNIC_SWAP64((uint64_t)kind->fm_ce_se << 32);
}

static struct rnic_rdma_kind
kind_of(unsigned int opcode, unsigned int flags, unsigned int qp_kind)
{
	const bool asks = (qp_kind & RNIC_RDMA_QP_ASKS_NONE) == 0;
	struct rnic_rdma_kind kind = {
		.wqe_opcode = operations[opcode].wqe_opcode,
		.wc_opcode = operations[opcode].wc_opcode,
		.parts = operations[opcode].parts,
		.fm_ce_se = (flags & RDMAPMD_SEND_FENCE ? RNIC_WQE_FM_FENCE : 0) |
			    (flags & RDMAPMD_SEND_SOLICITED ? RNIC_WQE_SE : 0) |
			    (flags & RDMAPMD_SEND_SIGNALED || (qp_kind & RNIC_RDMA_QP_SIGNALS_ALL)
				     ? RNIC_WQE_CE_ALWAYS
				     : RNIC_WQE_CE_ON_ERROR),
	};

	if (flags & RDMAPMD_SEND_INLINE)
		kind.parts |= operations[opcode].may_inline ? OP_INLINE : OP_BAD;
	if (!asks && (opcode == RDMAPMD_WR_RDMA_READ || (operations[opcode].parts & OP_ATOMIC)))
		kind.parts |= OP_BAD;
	if (qp_kind & RNIC_RDMA_QP_RAW)
		kind.parts |= frame_parts(opcode, flags);
	if (qp_kind & RNIC_RDMA_QP_DATAGRAM)
		kind.parts |= datagram_parts(opcode);
	rnic_rdma_kind_finish(&kind);
	return kind;
}

void
rnic_rdma_kinds_init(struct rnic_rdma_kind *kinds, unsigned int qp_kind)
{
	unsigned int opcode, flags;

	for (opcode = 0; opcode < RNIC_RDMA_OPCODES; opcode++)
		for (flags = 0; flags < RNIC_RDMA_FLAGS; flags++)
			*rnic_rdma_kind_at(kinds, opcode, flags) = kind_of(opcode, flags, qp_kind);
}

/*
 * Any number of data segments, for all but the first `skip` bytes. False: too many, too long. One of 0 bytes is left out: it
 * would mean 2 GiB.
 */
static bool
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
static bool
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

/* As rnic_rdma_build(): an Ethernet segment, in which the frame begins if the device wants that, then the rest of it. */
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

uint32_t
rnic_rdma_build(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
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

/* As rnic_rdma_build(), behind control segment and address vector. */
uint32_t
rnic_rdma_build_datagram(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
			 struct rnic_wqe_data *data, uint8_t parts)
{
	uint32_t ds = DS_PER_WQEBB;

	if (!datagram_fits(sq, wr) || !(parts & OP_INLINE ? set_inline(sq, data, &ds, wr, 0)
							  : set_gather(sq, data, &ds, wr, 0)))
		return 0;
	return ds;
}
