/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs, whatever they are made of, and kinds of requests. */
#ifndef RNIC_RDMA_POST_BUILD_H
#define RNIC_RDMA_POST_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "prm/wqe.h"
#include "rdma/rdma.h"

#define DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)
#define WQEBBS(ds)   (((ds) + DS_PER_WQEBB - 1) / DS_PER_WQEBB)

/* What a request is made of. */
#define OP_REMOTE 0x01 /* a remote address segment */
#define OP_ATOMIC 0x02 /* an atomic segment */
#define OP_IMM	  0x04
#define OP_EMPTY  0x08 /* no data */
#define OP_INLINE 0x10
#define OP_BAD	  0x20 /* not with these flags, or not on this queue pair */
#define OP_FRAME  0x40 /* an Ethernet segment */

static __rte_always_inline struct rnic_rdma_kind *
rnic_rdma_kind_at(struct rnic_rdma_kind *kinds, unsigned int opcode, unsigned int flags)
{
	return &kinds[flags * RNIC_RDMA_OPCODES + opcode];
}

/* The control segment's first eight bytes hold this, in the device's order of bytes. */
static __rte_always_inline uint64_t
ctrl_begin(uint32_t index, uint8_t opcode, uint32_t qpn, uint32_t ds)
{
	return RNIC_SWAP64((uint64_t)RNIC_WQE_CTRL_DW0(0, index, opcode) << 32 |
			   RNIC_WQE_CTRL_DW1(qpn, ds));
}
_Static_assert(offsetof(struct rnic_wqe_ctrl, qpn_ds) == 4 &&
		       offsetof(struct rnic_wqe_ctrl, fm_ce_se) == 11 &&
		       offsetof(struct rnic_wqe_ctrl, immediate) == 12,
	       "a control segment in two words");

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

static __rte_always_inline struct rnic_wqe_data *
set_remote(struct rnic_wqe_data *at, uint64_t address, uint32_t rkey)
{
	struct rnic_wqe_raddr *raddr = (struct rnic_wqe_raddr *)at;

	raddr->address = rnic_cpu_to_be64(address);
	raddr->rkey = rnic_cpu_to_be32(rkey);
	raddr->rsvd_0c.raw = 0;
	return at + 1;
}

/* Fill a table of RNIC_RDMA_KINDS, for that kind of queue pair. */
void rnic_rdma_kinds_init(struct rnic_rdma_kind *kinds, unsigned int qp_kind);
/* Its control segment is made of its members. */
void rnic_rdma_kind_finish(struct rnic_rdma_kind *kind);

/* All of a WQE but its control segment, whatever it is made of: its length in units, or 0 if it cannot be. */
uint32_t rnic_rdma_build(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
			 struct rnic_wqe_data *at, uint8_t parts);
/* The same of a datagram's payload, at `data`: the length is that of the whole WQE. */
uint32_t rnic_rdma_build_datagram(const struct rnic_rdma_send *sq, const struct rdmapmd_send_wr *wr,
				  struct rnic_wqe_data *data, uint8_t parts);

#endif
