/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Memory windows: a range of a memory region, with rights and a key of its own, that is given to a peer and taken away again by
 * requests in the order of a send queue, which costs no command of the device.
 *
 * |                   | type 1                                | type 2 (2B of the specification)                    |
 * |-------------------|---------------------------------------|-----------------------------------------------------|
 * | bound by          | rdmapmd_mw_bind()                     | a request RDMAPMD_WR_BIND_MW                        |
 * | its key           | chosen by that call                   | named by the request: rdmapmd_mw_next_rkey()        |
 * | whose peers       | those of all queue pairs of its PD    | that of the queue pair to which it was bound        |
 * | bound again       | at any time; the old key is invalid   | after it was invalidated                            |
 * | unbound by        | a bind of length 0                    | RDMAPMD_WR_LOCAL_INV; a peer's SEND_WITH_INV        |
 * | zero-based        | no                                    | RDMAPMD_ACCESS_ZERO_BASED                           |
 *
 * The region must have RDMAPMD_ACCESS_MW_BIND, and RDMAPMD_ACCESS_LOCAL_WRITE for windows that let peers write; it need not give
 * peers any right itself. Queue pairs of type RC bind.
 *
 * From when an invalidation has completed (LOCAL_INV, a bind of length 0, or a receive with RDMAPMD_WC_WITH_INV), no packet
 * reaches the memory by that key: the peer gets a remote access error. A request that names a window which it may not change
 * completes with RDMAPMD_WC_MW_BIND_ERR, and its queue pair is in ERR. A window whose bind failed, or was flushed, has no
 * known key: free it.
 *
 * Source: IBTA vol. 1, chapter 10, "Memory Windows", and chapter 11, "Allocate Memory Window", "Bind Memory Window",
 * "Deallocate Memory Window", "Post Send Request". PRM: "UMR", "Memory Key Context".
 */
#ifndef RDMAPMD_MW_H
#define RDMAPMD_MW_H

#include <stdint.h>

#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;
struct rdmapmd_mr;
struct rdmapmd_pd;
struct rdmapmd_qp;

/** How a window is bound. */
enum rdmapmd_mw_type {
	RDMAPMD_MW_TYPE_1 = 1, /**< by a call, for the peers of all queue pairs of its PD */
	RDMAPMD_MW_TYPE_2,     /**< by a request, for the peer of one queue pair */
};

/** The longest window. */
#define RDMAPMD_MW_MAX_LENGTH (UINT64_C(1) << 31)

/** A memory window. The public head: read it, do not write it. */
struct rdmapmd_mw {
	struct rdmapmd_context *context; /**< it was created in */
	struct rdmapmd_pd *pd;		 /**< its protection domain */
	/** Its key as of the last bind that was posted; before the first one it leads nowhere. */
	uint32_t rkey;
	enum rdmapmd_mw_type type; /**< how it is bound */
	/** The region that it was bound to last, and may be bound to still; NULL: none. */
	const struct rdmapmd_mr *mr;
};

/** What a window of type 1 is bound to. */
struct rdmapmd_mw_bind_attr {
	uint64_t wr_id;		     /**< of the completion, RDMAPMD_WC_BIND_MW */
	const struct rdmapmd_mr *mr; /**< a region of the same PD; ignored with length 0 */
	uint64_t addr;	     /**< the first byte, as the region counts (struct rdmapmd_mr: iova) */
	uint64_t length;     /**< bytes, at most RDMAPMD_MW_MAX_LENGTH; 0: unbind */
	unsigned int access; /**< the REMOTE ones of enum rdmapmd_access_flags */
	unsigned int send_flags; /**< enum rdmapmd_send_flags, but for INLINE */
};

/**
 * Create a memory window, which is not bound.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd   A protection domain that is alive.
 * @param type How it will be bound.
 * @param mw   Out: the window.
 * @return 0; -EINVAL no such type; -ENOTSUP the device has no windows; -ENOSPC the device has no keys left; -ENOMEM.
 */
__rte_experimental int rdmapmd_mw_alloc(struct rdmapmd_pd *pd, enum rdmapmd_mw_type type,
					struct rdmapmd_mw **mw);

/**
 * Free a memory window, bound or not. When it returns, its key leads nowhere.
 *
 * Threads: any; no thread may post a request that names it meanwhile. Blocks: for commands.
 *
 * @param mw A window; invalid afterwards.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmapmd_mw_free(struct rdmapmd_mw *mw);

/**
 * Bind a window of type 1, or unbind it with length 0: posts a request to a queue pair, in whose order it is executed. `mw->rkey`
 * is the new key when the call returns; the peer may be told in a later message of the same queue pair.
 *
 * Threads: the one that posts sends to qp; the call counts as posting. Blocks: never for long; takes locks, unlike a burst.
 *
 * @param qp   A queue pair of type RC, of the window's PD.
 * @param mw   A window of type 1.
 * @param attr What it is bound to; read during the call only.
 * @return 0; -EINVAL a window of type 2, objects of different PDs, a range that the region has not all of, or longer than
 *         RDMAPMD_MW_MAX_LENGTH, a region without RDMAPMD_ACCESS_MW_BIND, a right to write on a region without
 *         RDMAPMD_ACCESS_LOCAL_WRITE, access other than REMOTE, a zero-based window or region, a send queue of less than
 *         256 bytes, or of one request; -ENOMEM the send queue is full; -EPERM its state accepts no sends.
 */
__rte_experimental int rdmapmd_mw_bind(struct rdmapmd_qp *qp, struct rdmapmd_mw *mw,
				       const struct rdmapmd_mw_bind_attr *attr);

/**
 * Propose a key for the next bind of a window: the same number with another random byte. A request that names the present byte is
 * refused.
 *
 * Threads: any; not while another one posts a bind of it. Blocks: never for long; a system call.
 *
 * @param mw A window that is alive.
 * @return The key, for `rkey` of RDMAPMD_WR_BIND_MW.
 */
__rte_experimental uint32_t rdmapmd_mw_next_rkey(const struct rdmapmd_mw *mw);

#ifdef __cplusplus
}
#endif

#endif
