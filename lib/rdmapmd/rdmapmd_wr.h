/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Work requests, the input of the post bursts. They are plain memory of the caller: a request, its list of segments and an
 * inline payload may be reused as soon as the burst has returned.
 *
 * Source: IBTA vol. 1, chapter 11, "Post Send Request", "Post Receive Request". PRM: "WQE Formats".
 */
#ifndef RDMAPMD_WR_H
#define RDMAPMD_WR_H

#include <stdint.h>

#include <rte_byteorder.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_ah;
struct rdmapmd_mr;
struct rdmapmd_mw;

/** A segment of memory. */
struct rdmapmd_sge {
	uint64_t addr;	 /**< its first byte, as the region counts (struct rdmapmd_mr: iova) */
	uint32_t length; /**< bytes; a message has at most max_msg_sz of the port */
	/** Local key of the region that has it (struct rdmapmd_mr: lkey); ignored with RDMAPMD_SEND_INLINE. */
	uint32_t lkey;
};

/** Operations. */
enum rdmapmd_wr_opcode {
	RDMAPMD_WR_RDMA_WRITE,
	RDMAPMD_WR_RDMA_WRITE_WITH_IMM,
	RDMAPMD_WR_SEND,
	RDMAPMD_WR_SEND_WITH_IMM,
	RDMAPMD_WR_RDMA_READ,
	RDMAPMD_WR_ATOMIC_CMP_AND_SWP, /**< 64 bit; the only segment, of 8 bytes, gets the old value */
	RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, /**< likewise */
	RDMAPMD_WR_NOP,			 /**< completes in order; nothing is sent */
	/** Invalidate a window of type 2 that is bound to this queue pair (RC). */
	RDMAPMD_WR_LOCAL_INV,
	RDMAPMD_WR_BIND_MW, /**< bind a window of type 2 to a region, and to this queue pair (RC) */
	/** A SEND (RC) that invalidates a window of type 2 of the receiver's, bound to its queue pair. */
	RDMAPMD_WR_SEND_WITH_INV,
};

/** How a send request is treated. */
enum rdmapmd_send_flags {
	/** Start after earlier READs and atomics have completed. */
	RDMAPMD_SEND_FENCE = 1 << 0,
	/** Write a completion to the CQ, also on success. */
	RDMAPMD_SEND_SIGNALED = 1 << 1,
	/** The receiver's completion is solicited. */
	RDMAPMD_SEND_SOLICITED = 1 << 2,
	/** The burst copies the payload; lkeys are ignored. */
	RDMAPMD_SEND_INLINE = 1 << 3,
};

/** A request for a send queue: one cache line. */
struct rdmapmd_send_wr {
	uint64_t wr_id;			   /**< comes back in struct rdmapmd_wc */
	const struct rdmapmd_sge *sg_list; /**< the segments, in order */
	uint16_t num_sge;		   /**< how many: 0 .. max_send_sge of the queue pair */
	uint8_t opcode;			   /**< enum rdmapmd_wr_opcode */
	uint8_t send_flags;		   /**< enum rdmapmd_send_flags */
	union {
		rte_be32_t imm_data; /**< of the operations WITH_IMM; passed to the peer as is */
		uint32_t invalidate_rkey; /**< LOCAL_INV, SEND_WITH_INV: the window's key */
	};
	union {
		/** WRITE, READ */
		struct {
			/** of the first byte, as the peer's region has it */
			uint64_t remote_addr;
			uint32_t rkey; /**< the peer's, of that region */
		} rdma;
		/** CMP_AND_SWP, FETCH_AND_ADD; remote_addr is a multiple of 8 */
		struct {
			/** of the 8 bytes, as the peer's region has it */
			uint64_t remote_addr;
			uint64_t compare_add; /**< the value to compare with, or to add */
			uint64_t swap;	      /**< CMP_AND_SWP: stored on equality */
			uint32_t rkey;	      /**< the peer's, of that region */
		} atomic;
		/** UD, GSI: SEND, SEND_WITH_IMM */
		struct {
			const struct rdmapmd_ah *ah; /**< the way there; of the QP's PD */
			/** the peer's queue pair, 24 bits; RDMAPMD_MULTICAST_QPN with a group's address */
			uint32_t remote_qpn;
			/** its Q_Key; with the highest bit set this queue pair's own one is sent */
			uint32_t remote_qkey;
		} ud;
		/** BIND_MW: see rdmapmd_mw.h; window and region must be alive */
		struct {
			struct rdmapmd_mw *mw;	     /**< a window of type 2, not bound */
			const struct rdmapmd_mr *mr; /**< the region */
			uint64_t
				addr; /**< the first byte, as the region counts (struct rdmapmd_mr: iova) */
			uint64_t length; /**< bytes, 1 .. RDMAPMD_MW_MAX_LENGTH */
			uint32_t rkey;	 /**< the new key: see rdmapmd_mw_next_rkey() */
			/** enum rdmapmd_access_flags: the REMOTE ones, ZERO_BASED */
			uint32_t access;
		} bind_mw;
		uint64_t reserved[5]; /**< fills the cache line; ignored */
	} wr;
};

/** A request for a receive queue or SRQ. */
struct rdmapmd_recv_wr {
	uint64_t wr_id;			   /**< comes back in struct rdmapmd_wc */
	const struct rdmapmd_sge *sg_list; /**< where the payload goes, in order */
	uint16_t num_sge; /**< how many: 0 .. max_recv_sge of the queue pair or SRQ */
};

#ifdef __cplusplus
}
#endif

#endif
