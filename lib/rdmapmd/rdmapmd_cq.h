/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Completion queues, and completion channels for threads that sleep until completions arrive.
 *
 * Source: IBTA vol. 1, chapter 11, "Create Completion Queue", "Resize Completion Queue", "Poll for Completion", "Request Completion
 * Notification"; the statuses are those of "Completion Return Status". PRM: "CQ Context", "CQE Format".
 */
#ifndef RDMAPMD_CQ_H
#define RDMAPMD_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;

/** How a request ended. The names are those of enum ibv_wc_status. */
enum rdmapmd_wc_status {
	RDMAPMD_WC_SUCCESS,
	RDMAPMD_WC_LOC_LEN_ERR,
	RDMAPMD_WC_LOC_QP_OP_ERR,
	RDMAPMD_WC_LOC_EEC_OP_ERR,
	RDMAPMD_WC_LOC_PROT_ERR,
	RDMAPMD_WC_WR_FLUSH_ERR,
	RDMAPMD_WC_MW_BIND_ERR,
	RDMAPMD_WC_BAD_RESP_ERR,
	RDMAPMD_WC_LOC_ACCESS_ERR,
	RDMAPMD_WC_REM_INV_REQ_ERR,
	RDMAPMD_WC_REM_ACCESS_ERR,
	RDMAPMD_WC_REM_OP_ERR,
	RDMAPMD_WC_RETRY_EXC_ERR,
	RDMAPMD_WC_RNR_RETRY_EXC_ERR,
	RDMAPMD_WC_LOC_RDD_VIOL_ERR,
	RDMAPMD_WC_REM_INV_RD_REQ_ERR,
	RDMAPMD_WC_REM_ABORT_ERR,
	RDMAPMD_WC_INV_EECN_ERR,
	RDMAPMD_WC_INV_EEC_STATE_ERR,
	RDMAPMD_WC_FATAL_ERR,
	RDMAPMD_WC_RESP_TIMEOUT_ERR,
	RDMAPMD_WC_GENERAL_ERR,
};

/**
 * A status in words, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param status Any value, also an invalid one.
 * @return E.g. "remote access error"; never NULL, never freed.
 */
__rte_experimental const char *rdmapmd_wc_status_str(enum rdmapmd_wc_status status);

/** Which operation has completed. Receive side: RDMAPMD_WC_RECV is set. */
enum rdmapmd_wc_opcode {
	RDMAPMD_WC_SEND,
	RDMAPMD_WC_RDMA_WRITE,
	RDMAPMD_WC_RDMA_READ,
	RDMAPMD_WC_COMP_SWAP,
	RDMAPMD_WC_FETCH_ADD,
	RDMAPMD_WC_NOP,
	RDMAPMD_WC_BIND_MW,
	RDMAPMD_WC_LOCAL_INV,
	RDMAPMD_WC_RECV = 1 << 7,
	RDMAPMD_WC_RECV_RDMA_WITH_IMM,
};

/** Which optional fields of a completion are valid. */
enum rdmapmd_wc_flags {
	/** of a datagram, always: RDMAPMD_GRH_BYTES stand before its payload */
	RDMAPMD_WC_GRH = 1 << 0,
	RDMAPMD_WC_WITH_IMM = 1 << 1,
	RDMAPMD_WC_WITH_INV = 1 << 3,
	RDMAPMD_WC_WITH_VLAN = 1 << 5,
	/** of a datagram: the last 20 of those bytes are an IPv4 header; without it all 40 are one of IPv6 */
	RDMAPMD_WC_IPV4 = 1 << 6,
};

/**
 * A completion, in 40 bytes. Unless status is RDMAPMD_WC_SUCCESS, only wr_id, status, qp_num, vendor_err and completion_ts are
 * valid.
 */
struct rdmapmd_wc {
	uint64_t wr_id;	   /**< of the request that completed */
	uint32_t byte_len; /**< bytes; of a receive, a READ or an atomic */
	union {
		rte_be32_t imm_data; /**< with RDMAPMD_WC_WITH_IMM: as the peer sent it */
		/** with RDMAPMD_WC_WITH_INV: the key of the window that the peer has invalidated */
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num; /**< of the queue pair whose request it was; 24 bits */
	union {
		uint32_t src_qp;     /**< of a receive: the sender's queue pair; 24 bits */
		uint32_t vendor_err; /**< unless RDMAPMD_WC_SUCCESS: the device's own syndrome */
	};
	/**
	 * When the device wrote the completion, in ticks of its clock; 0 unless RDMAPMD_WC_SUCCESS, as failures bear no time. Of
	 * queues made with RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP; polls of others do not fill it in.
	 */
	uint64_t completion_ts;
	uint16_t pkey_index; /**< of a receive: into the port's P_Key table; 0 on RoCE */
	uint8_t status;	     /**< enum rdmapmd_wc_status */
	uint8_t opcode;	     /**< enum rdmapmd_wc_opcode */
	uint8_t wc_flags;    /**< enum rdmapmd_wc_flags */
	/** of a receive: service level, 0 .. 15; of a datagram the priority in its VLAN tag, or 0 */
	uint8_t sl;
	uint16_t vlan_id; /**< with RDMAPMD_WC_WITH_VLAN, of a datagram: its VLAN's identifier */
};

struct rdmapmd_cq;
/** Provided by the driver; see rdmapmd_poll_cq(). */
typedef uint16_t (*rdmapmd_poll_cq_t)(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/** Provided by the driver; see rdmapmd_req_notify_cq(). */
typedef int (*rdmapmd_req_notify_cq_t)(struct rdmapmd_cq *cq, bool solicited_only);

/** A completion channel: a file descriptor that is readable while armed CQs have completions. */
struct rdmapmd_comp_channel {
	struct rdmapmd_context *context; /**< it was created in */
	/** For poll(), epoll, rte_epoll: POLLIN, level or edge triggered. Do not read, write or close it. */
	int fd;
};

/** A completion queue. The public head: read it, do not write it. */
struct rdmapmd_cq {
	rdmapmd_poll_cq_t poll_cq;	       /**< the driver's rdmapmd_poll_cq() */
	rdmapmd_req_notify_cq_t req_notify_cq; /**< the driver's rdmapmd_req_notify_cq() */
	uint32_t cqn;			       /**< the device's number; 24 bits */
	uint32_t cqe;			       /**< its capacity, at least the one requested */
	struct rdmapmd_context *context;       /**< it was created in */
	struct rdmapmd_comp_channel *channel;  /**< NULL if there is none */
	void *cq_context;		       /**< the application's own */
};

/** What polls fill in beside the rest. The values are those of enum ibv_create_cq_wc_flags. */
enum rdmapmd_create_cq_wc_flags {
	/**
	 * completion_ts, of each completion that succeeded. Times of one device can be compared, also those of different queues;
	 * rdmapmd_device_clock_read() reads the same clock. A difference is (later - earlier) & completion_timestamp_mask, in
	 * ticks: hca_core_clock of them are a millisecond. Both are in struct rdmapmd_device_attr.
	 */
	RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP = 1 << 7,
};

/** How to create a completion queue. */
struct rdmapmd_cq_init_attr {
	uint32_t cqe;			      /**< minimal capacity: 1 .. max_cqe entries */
	struct rdmapmd_comp_channel *channel; /**< NULL: polled only */
	/**
	 * 0 .. num_comp_vectors - 1: the event queue and interrupt that report its completions. Each is created with the
	 * first queue that names it.
	 */
	uint32_t comp_vector;
	uint32_t wc_flags; /**< enum rdmapmd_create_cq_wc_flags, or'ed */
	void *cq_context;  /**< the application's own */
};

/**
 * Create a completion queue.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context An open device.
 * @param attr    Size, channel, vector and flags; read during the call only.
 * @param cq      Out: the queue.
 * @return 0; -EINVAL cqe is 0 or above max_cqe, no such vector or flag, a channel of another context; -ENOTSUP timestamps, and
 *         completion_timestamp_mask is 0; -ENOSPC, -ENOMEM.
 */
__rte_experimental int rdmapmd_cq_create(struct rdmapmd_context *context,
					 const struct rdmapmd_cq_init_attr *attr,
					 struct rdmapmd_cq **cq);

/**
 * Resize a queue. Completions that wait in it stay.
 *
 * Threads: as a burst: no thread may poll it meanwhile. Blocks: for commands.
 *
 * @param cq  A completion queue that is alive.
 * @param cqe Minimal capacity: 1 .. max_cqe entries.
 * @return 0; -EINVAL as rdmapmd_cq_create(), or more completions wait than would fit; -ENOTSUP the device cannot.
 */
__rte_experimental int rdmapmd_cq_resize(struct rdmapmd_cq *cq, uint32_t cqe);

/**
 * Moderate the events of a queue: one after `count` completions or `period_us` microseconds, whichever comes first.
 * Polling is not affected. It is for queues with a channel, and applies to a queue that is already armed, too.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param cq        A completion queue that is alive.
 * @param count     Completions since the last one polled when the queue was armed. 0, or period_us 0: no moderation.
 * @param period_us Microseconds since the first of them.
 * @return 0; -EINVAL more than the device's fields hold; -ENOTSUP the device cannot.
 */
__rte_experimental int rdmapmd_cq_moderate(struct rdmapmd_cq *cq, uint16_t count,
					   uint16_t period_us);

/**
 * Destroy a completion queue. Completions that wait in it are lost.
 *
 * Threads: any; no thread may poll it meanwhile. Blocks: for commands.
 *
 * @param cq A completion queue that is alive.
 * @return 0; -EBUSY a queue pair or SRQ uses it, or some of its events are not acknowledged.
 */
__rte_experimental int rdmapmd_cq_destroy(struct rdmapmd_cq *cq);

/**
 * Whether a queue still works. An overrun loses completions and breaks the queue for good; RDMAPMD_EVENT_CQ_ERR reports it, too.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq A completion queue that is alive.
 * @return 0; -EOVERFLOW an overrun, or the device could not write to it: destroy it and the queue pairs that use it.
 */
__rte_experimental int rdmapmd_cq_status(struct rdmapmd_cq *cq);

/**
 * Poll for completions.
 *
 * Threads: one caller per CQ at a time. Blocks: never.
 * Order:   loads after the call see what the device wrote for a request.
 * Owner:   the buffers of the completed requests are the caller's again.
 *
 * @param cq A completion queue that is alive.
 * @param wc Out: room for `n` completions, oldest first.
 * @param n  Completions at most; 0 is allowed.
 * @return How many entries of wc were filled, 0..n.
 */
__rte_experimental static inline uint16_t
rdmapmd_poll_cq(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	return cq->poll_cq(cq, wc, n);
}

/**
 * Arm: the next completion raises one event in the queue's channel. If a completion waits that was not polled yet, the event
 * is raised at once. After an event: poll until nothing is left, arm, poll once more.
 *
 * Threads: as rdmapmd_poll_cq(). Blocks: never; while the device is lost it takes locks for a moment.
 *
 * @param cq             A completion queue that is alive.
 * @param solicited_only Only for receives of solicited sends (RDMAPMD_SEND_SOLICITED), and for errors.
 * @return 0; -EINVAL the queue has no channel; -ENODEV the device was removed.
 */
__rte_experimental static inline int
rdmapmd_req_notify_cq(struct rdmapmd_cq *cq, bool solicited_only)
{
	return cq->req_notify_cq(cq, solicited_only);
}

/**
 * Create a completion channel.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @param channel Out: the channel.
 * @return 0; -EMFILE out of descriptors; -ENOMEM.
 */
__rte_experimental int rdmapmd_comp_channel_create(struct rdmapmd_context *context,
						   struct rdmapmd_comp_channel **channel);

/**
 * Destroy a completion channel. Its descriptor is closed.
 *
 * Threads: any. Blocks: never.
 *
 * @param channel A completion channel that is alive.
 * @return 0; -EBUSY completion queues use it.
 */
__rte_experimental int rdmapmd_comp_channel_destroy(struct rdmapmd_comp_channel *channel);

/**
 * Get the next event of a channel: a CQ that was armed and has completions. A CQ is in the channel at most once, however
 * often it was armed. With an edge-triggered wait, get events until -EAGAIN.
 *
 * Threads: any. Blocks: never; to wait, poll the descriptor.
 * Owner:   a CQ cannot be destroyed until its events are acknowledged: rdmapmd_cq_events_ack().
 *
 * @param channel A completion channel that is alive.
 * @param cq      Out: the queue that has completions.
 * @return 0; -EAGAIN there is none.
 */
__rte_experimental int rdmapmd_cq_event_get(struct rdmapmd_comp_channel *channel,
					    struct rdmapmd_cq **cq);

/**
 * Acknowledge `n` events of a CQ.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq As rdmapmd_cq_event_get() gave it.
 * @param n  How many, at most as many as were got; 0 is allowed.
 * @return 0; -EINVAL more than were got (none is acknowledged).
 */
__rte_experimental int rdmapmd_cq_events_ack(struct rdmapmd_cq *cq, unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
