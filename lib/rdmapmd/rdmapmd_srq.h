/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Shared receive queues: one pool of receive requests for many queue pairs.
 *
 * Source: IBTA vol. 1, chapter 11, "Create Shared Receive Queue", "Modify Shared Receive Queue". PRM: "RMP Context".
 */
#ifndef RDMAPMD_SRQ_H
#define RDMAPMD_SRQ_H

#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;
struct rdmapmd_pd;

/** The sizes of an SRQ. */
struct rdmapmd_srq_attr {
	uint32_t max_wr;  /**< its capacity: 1 .. max_srq_wr requests */
	uint32_t max_sge; /**< segments in each: 0 .. max_srq_sge; 0 counts as 1 */
	/** Raise RDMAPMD_EVENT_SRQ_LIMIT_REACHED when fewer requests are left; 0: not armed. */
	uint32_t srq_limit;
};

/** What rdmapmd_srq_modify() changes. */
enum rdmapmd_srq_attr_mask {
	RDMAPMD_SRQ_MAX_WR = 1 << 0,
	RDMAPMD_SRQ_LIMIT = 1 << 1,
};

struct rdmapmd_srq;
/** Provided by the driver; see rdmapmd_post_srq_recv(). */
typedef uint16_t (*rdmapmd_post_srq_recv_t)(struct rdmapmd_srq *srq,
					    const struct rdmapmd_recv_wr *wr, uint16_t n);

/** A shared receive queue. The public head: read it, do not write it. */
struct rdmapmd_srq {
	rdmapmd_post_srq_recv_t post_srq_recv; /**< the driver's rdmapmd_post_srq_recv() */
	uint32_t srqn;			       /**< the device's number; 24 bits */
	int32_t post_error; /**< why the last short burst was short: see rdmapmd_post_srq_recv() */
	struct rdmapmd_context *context; /**< it was created in */
	struct rdmapmd_pd *pd;		 /**< its protection domain */
	void *srq_context;		 /**< the application's own */
};

/** How to create an SRQ. */
struct rdmapmd_srq_init_attr {
	/** In: minimal sizes; srq_limit is ignored. Out: actual sizes. */
	struct rdmapmd_srq_attr attr;
	void *srq_context; /**< the application's own */
};

/**
 * Create a shared receive queue.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd   A protection domain that is alive.
 * @param attr In: minimal sizes. Out: actual sizes.
 * @param srq  Out: the queue.
 * @return 0; -EINVAL max_wr 0, or sizes above max_srq_wr, max_srq_sge; -ENOTSUP not supported by the device; -ENOSPC, -ENOMEM.
 */
__rte_experimental int rdmapmd_srq_create(struct rdmapmd_pd *pd, struct rdmapmd_srq_init_attr *attr,
					  struct rdmapmd_srq **srq);

/**
 * Arm the limit, or change the size.
 *
 * Threads: any; with RDMAPMD_SRQ_MAX_WR no thread may post meanwhile. Blocks: for commands.
 * Order:   the limit is armed for one event.
 *
 * @param srq  A shared receive queue that is alive.
 * @param attr The members that `mask` names.
 * @param mask enum rdmapmd_srq_attr_mask, or'ed.
 * @return 0; -EINVAL unknown bits, or a limit above max_wr; -ENOTSUP the device cannot.
 */
__rte_experimental int rdmapmd_srq_modify(struct rdmapmd_srq *srq,
					  const struct rdmapmd_srq_attr *attr, unsigned int mask);

/**
 * Query the sizes and the limit.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param srq  A shared receive queue that is alive.
 * @param attr Out: all members; srq_limit is 0 once the event has come.
 * @return 0; the device's error.
 */
__rte_experimental int rdmapmd_srq_query(struct rdmapmd_srq *srq, struct rdmapmd_srq_attr *attr);

/**
 * Destroy a shared receive queue. Its posted requests are dropped.
 *
 * Threads: any; no thread may post to it meanwhile. Blocks: for commands.
 *
 * @param srq The queue; invalid afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY queue pairs use it, or some of its events are not acknowledged.
 */
__rte_experimental int rdmapmd_srq_destroy(struct rdmapmd_srq *srq);

/**
 * Post receive requests and ring the doorbell once. As rdmapmd_post_recv(), but requests complete in any order.
 *
 * Threads: one caller per SRQ at a time. Blocks: never.
 *
 * @param srq A shared receive queue that is alive.
 * @param wr  The requests; they and their lists of segments may be reused after the call.
 * @param n   How many; 0 is allowed.
 * @return How many were posted, 0..n. If fewer than n, srq->post_error has the reason: -ENOMEM it is full; -EINVAL too many
 *         segments, or one of 2^31 bytes or more.
 */
__rte_experimental static inline uint16_t
rdmapmd_post_srq_recv(struct rdmapmd_srq *srq, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	return srq->post_srq_recv(srq, wr, n);
}

#ifdef __cplusplus
}
#endif

#endif
