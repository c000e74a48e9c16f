/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Shared receive queues: one pool of receive requests for many queue pairs.
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
	uint32_t max_wr;  /**< requests that it holds */
	uint32_t max_sge; /**< segments of each */
	/** RDMAPMD_EVENT_SRQ_LIMIT_REACHED once fewer requests are left; 0: not armed. */
	uint32_t srq_limit;
};

/** What rdmapmd_srq_modify() changes. */
enum rdmapmd_srq_attr_mask {
	RDMAPMD_SRQ_MAX_WR = 1 << 0,
	RDMAPMD_SRQ_LIMIT = 1 << 1,
};

struct rdmapmd_srq;
/** What a driver provides; see rdmapmd_post_srq_recv(). */
typedef uint16_t (*rdmapmd_post_srq_recv_t)(struct rdmapmd_srq *srq,
					    const struct rdmapmd_recv_wr *wr, uint16_t n);

/** A shared receive queue. The public head: read it, do not write it. */
struct rdmapmd_srq {
	rdmapmd_post_srq_recv_t post_srq_recv;
	uint32_t srqn;	    /**< the device's number */
	int32_t post_error; /**< why the last short burst was short: see rdmapmd_post_srq_recv() */
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	void *srq_context; /**< the application's own */
};

/** How to make an SRQ. */
struct rdmapmd_srq_init_attr {
	/** In: what is needed at least (srq_limit is not looked at). Out: what it has. */
	struct rdmapmd_srq_attr attr;
	void *srq_context;
};

/**
 * Make a shared receive queue.
 *
 * Threads: any. Blocks: for commands.
 *
 * @return 0; -EINVAL sizes are 0 or more than max_srq_wr, max_srq_sge; -ENOTSUP the device has none; -ENOSPC, -ENOMEM.
 */
__rte_experimental int rdmapmd_srq_create(struct rdmapmd_pd *pd, struct rdmapmd_srq_init_attr *attr,
					  struct rdmapmd_srq **srq);

/**
 * Arm the limit, or change the size.
 *
 * Threads: any; with RDMAPMD_SRQ_MAX_WR nobody may post meanwhile. Blocks: for commands.
 * Order:   the limit is armed for one event.
 *
 * @param mask enum rdmapmd_srq_attr_mask.
 * @return 0; -EINVAL unknown bits, or a limit above max_wr; -ENOTSUP the device cannot.
 */
__rte_experimental int rdmapmd_srq_modify(struct rdmapmd_srq *srq,
					  const struct rdmapmd_srq_attr *attr, unsigned int mask);

/** Threads: any. Blocks: for commands. @param attr srq_limit is 0 once the event has come. */
__rte_experimental int rdmapmd_srq_query(struct rdmapmd_srq *srq, struct rdmapmd_srq_attr *attr);

/** @return 0; -EBUSY queue pairs use it, or events of it are not acknowledged. */
__rte_experimental int rdmapmd_srq_destroy(struct rdmapmd_srq *srq);

/**
 * Post receive requests and tell the device once. As rdmapmd_post_recv(), except that requests complete in any order.
 *
 * Threads: one caller per SRQ at a time. Blocks: never.
 * @return How many were taken, 0..n. Fewer than n: srq->post_error says why: -ENOMEM it is full; -EINVAL too many
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
