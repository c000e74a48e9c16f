/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Queue pairs: sizes, states, posting.
 *
 *     RESET --> INIT --> RTR --> RTS <--> SQD        any state --> RESET, any state --> ERR
 *
 * INIT takes receive requests, RTR answers the peer, RTS sends, SQD finishes what it has begun to send. In ERR every
 * request completes with RDMAPMD_WC_WR_FLUSH_ERR, in order.
 *
 * RAW_PACKET. Requests are Ethernet frames, from the destination address on and without FCS; padding a short one is the
 * sender's. The only operation is SEND (and NOP), without immediate, fence and solicited. Where the port wants L2 headers
 * inline (a ConnectX-4 does), the queue pair copies the first 18 bytes itself: then addr of the segments that have them must
 * be where they are in this process, as of an inline request.
 *
 * It receives the frames for the addresses that rdmapmd_qp_attach_mac() names, one in each receive request, with VLAN tags
 * in place; byte_len is their length. Frames that find no request are dropped and counted (out_of_buffer). A frame that is longer
 * than its request completes it with RDMAPMD_WC_LOC_LEN_ERR, and the queue pair is in ERR; sends go on until the application
 * asks for ERR as well, or drains. Of its completions src_qp, sl, pkey_index and RDMAPMD_WC_GRH mean nothing.
 *
 * A send request that fails (a key, a length that no MTU allows) moves a RAW_PACKET queue pair to SQE: what follows is
 * flushed, it goes on receiving, and when all that was sent is polled a change to RTS makes it send again. A frame beyond the
 * port's present MTU, or one that finds no link, is dropped by the port; its request has succeeded.
 */
#ifndef RDMAPMD_QP_H
#define RDMAPMD_QP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_device.h"
#include "rdmapmd_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_cq;
struct rdmapmd_pd;
struct rdmapmd_srq;
struct rdmapmd_td;

/** Transports. rdmapmd_qp_create() takes RC and RAW_PACKET; the others are refused with -ENOTSUP. */
enum rdmapmd_qp_type {
	RDMAPMD_QPT_RC = 2,	    /**< reliable connected */
	RDMAPMD_QPT_UC,		    /**< unreliable connected */
	RDMAPMD_QPT_UD,		    /**< unreliable datagram */
	RDMAPMD_QPT_RAW_PACKET = 8, /**< Ethernet frames */
};

/** States. */
enum rdmapmd_qp_state {
	RDMAPMD_QPS_RESET,
	RDMAPMD_QPS_INIT,
	RDMAPMD_QPS_RTR, /**< ready to receive */
	RDMAPMD_QPS_RTS, /**< ready to send */
	RDMAPMD_QPS_SQD, /**< send queue drained */
	RDMAPMD_QPS_SQE, /**< send queue error; RAW_PACKET alone */
	RDMAPMD_QPS_ERR,
};

/**
 * A state's name, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param state Any value, also one that is none.
 * @return E.g. "RTS"; never NULL, never freed.
 */
__rte_experimental const char *rdmapmd_qp_state_str(enum rdmapmd_qp_state state);

/** What a queue pair can hold. */
struct rdmapmd_qp_cap {
	uint32_t max_send_wr; /**< send requests: 0 .. max_qp_wr; 0: no send queue */
	/** receive requests: 0 .. max_qp_wr; 0: no receive queue, or an SRQ */
	uint32_t max_recv_wr;
	/** segments of a send request: 0 .. max_send_sge; 0 counts as 1 */
	uint32_t max_send_sge;
	/** segments of a receive request: 0 .. max_recv_sge; 0 counts as 1 */
	uint32_t max_recv_sge;
	/** bytes of payload in a send WQE: 0 .. what max_sq_desc_sz leaves */
	uint32_t max_inline_data;
};

/**
 * The sizes that follow from what was asked for. Send WQEs take whole blocks of 64 bytes (WQEBB), receive WQEs a power of
 * two of bytes; each ring is a power of two of bytes. PRM: "Work Queue Structure".
 */
struct rdmapmd_qp_sizing {
	/** The send queue. Everything is 0 without one. */
	struct {
		uint32_t wqe_size;   /**< bytes of the largest WQE, whole blocks */
		uint32_t wqe_count;  /**< blocks in the ring */
		uint32_t max_post;   /**< requests of the largest size that fit */
		uint32_t max_gs;     /**< segments of a request */
		uint32_t max_inline; /**< bytes of inline data of a request */
	} sq;
	/** The receive queue. Everything is 0 without one. */
	struct {
		uint32_t wqe_size;  /**< bytes, 16 << n */
		uint32_t wqe_count; /**< WQEs in the ring */
		uint32_t max_post;  /**< requests that fit */
		uint32_t max_gs;    /**< segments of a request */
	} rq;
};

struct rdmapmd_qp;
/** What a driver provides; see rdmapmd_post_send(). */
typedef uint16_t (*rdmapmd_post_send_t)(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
					uint16_t n);
/** What a driver provides; see rdmapmd_post_recv(). */
typedef uint16_t (*rdmapmd_post_recv_t)(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr,
					uint16_t n);

/** A queue pair. The public head: read it, do not write it. */
struct rdmapmd_qp {
	rdmapmd_post_send_t post_send; /**< the driver's rdmapmd_post_send() */
	rdmapmd_post_recv_t post_recv; /**< the driver's rdmapmd_post_recv() */
	uint32_t qp_num;	       /**< what the peer calls it by; 24 bits */
	int32_t post_send_error; /**< why the last short burst was short: see rdmapmd_post_send() */
	int32_t post_recv_error; /**< likewise: see rdmapmd_post_recv() */
	uint8_t qp_type;	 /**< enum rdmapmd_qp_type */
	uint8_t sq_sig_all;	 /**< every send request completes with an entry in the CQ */
	struct rdmapmd_context *context;      /**< that it was made in */
	struct rdmapmd_pd *pd;		      /**< its protection domain */
	struct rdmapmd_cq *send_cq, *recv_cq; /**< where send and receive requests complete */
	struct rdmapmd_srq *srq;	      /**< NULL: it has a receive queue of its own */
	struct rdmapmd_td *td;		      /**< NULL: it is in no thread domain */
	void *qp_context;		      /**< the application's own */
};

/** How to make a queue pair. */
struct rdmapmd_qp_init_attr {
	struct rdmapmd_cq *send_cq, *recv_cq; /**< may be the same one */
	struct rdmapmd_srq *srq;	      /**< or NULL */
	/** Or NULL. The application posts sends to one queue pair of a thread domain at a time. */
	struct rdmapmd_td *td;
	/** In: what is needed at least. Out: what it has. */
	struct rdmapmd_qp_cap cap;
	enum rdmapmd_qp_type qp_type; /**< its transport */
	bool sq_sig_all;	      /**< every send request is a signaled one */
	void *qp_context;	      /**< the application's own */
};

/** The way to the peer. On RoCE it leads through GIDs always. */
struct rdmapmd_ah_attr {
	union rdmapmd_gid dgid; /**< the peer's address */
	/**
	 * The next hop's MAC. Zeros: found out from dgid, for link-local addresses made of a MAC, and by the driver if it
	 * can.
	 */
	uint8_t dmac[6];
	uint32_t flow_label; /**< 20 bits */
	/** The own address, in the port's GID table: IPv4 to an IPv4 address, IPv6 to an IPv6 one. */
	uint8_t sgid_index;
	uint8_t hop_limit;     /**< of routers on the way: 0 .. 255 */
	uint8_t traffic_class; /**< 8 bits: DSCP and ECN of the packets */
	uint8_t sl;	       /**< service level, 3 bits */
	uint8_t port_num;      /**< from 1 */
};

/** The attributes of a queue pair. Those that a mask names are valid. */
struct rdmapmd_qp_attr {
	enum rdmapmd_qp_state qp_state;	    /**< to be, or as it is */
	enum rdmapmd_qp_state cur_qp_state; /**< which the application holds it to be in */
	enum rdmapmd_mtu path_mtu;	    /**< bytes of payload in a packet, at most */
	uint32_t qkey;			    /**< of datagrams; no transport here has it */
	uint32_t rq_psn;		    /**< first packet sequence number to come; 24 bits */
	uint32_t sq_psn;		    /**< ... to go */
	uint32_t dest_qp_num;		    /**< 24 bits */
	/** What the peer may do: enum rdmapmd_access_flags, the REMOTE ones. */
	uint32_t qp_access_flags;
	struct rdmapmd_qp_cap cap;	/**< query only: what it holds */
	struct rdmapmd_ah_attr ah_attr; /**< the way to the peer */
	uint16_t pkey_index;		/**< into the port's P_Key table */
	uint8_t en_sqd_async_notify;	/**< RDMAPMD_EVENT_SQ_DRAINED when SQD is done */
	uint8_t sq_draining;		/**< query: SQD is not done yet */
	uint8_t max_rd_atomic;	    /**< READs and atomics under way: 0 .. max_qp_init_rd_atomic */
	uint8_t max_dest_rd_atomic; /**< ... that it answers at a time: 0 .. max_qp_rd_atomic */
	/** A code of 5 bits: how long the peer waits when no receive is posted. */
	uint8_t min_rnr_timer;
	uint8_t port_num;  /**< from 1 */
	uint8_t timeout;   /**< of acknowledgements: 4.096 us << timeout, 5 bits; 0: none */
	uint8_t retry_cnt; /**< 0..7 */
	uint8_t rnr_retry; /**< 0..6; 7: for ever */
};

/** Names of struct rdmapmd_qp_attr's members. The bits are those of enum ibv_qp_attr_mask. */
enum rdmapmd_qp_attr_mask {
	RDMAPMD_QP_STATE = 1 << 0,
	RDMAPMD_QP_CUR_STATE = 1 << 1,
	RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	RDMAPMD_QP_ACCESS_FLAGS = 1 << 3,
	RDMAPMD_QP_PKEY_INDEX = 1 << 4,
	RDMAPMD_QP_PORT = 1 << 5,
	RDMAPMD_QP_QKEY = 1 << 6,
	RDMAPMD_QP_AV = 1 << 7,
	RDMAPMD_QP_PATH_MTU = 1 << 8,
	RDMAPMD_QP_TIMEOUT = 1 << 9,
	RDMAPMD_QP_RETRY_CNT = 1 << 10,
	RDMAPMD_QP_RNR_RETRY = 1 << 11,
	RDMAPMD_QP_RQ_PSN = 1 << 12,
	RDMAPMD_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	/** No alternate paths here: -ENOTSUP where it would be legal. */
	RDMAPMD_QP_ALT_PATH = 1 << 14,
	RDMAPMD_QP_MIN_RNR_TIMER = 1 << 15,
	RDMAPMD_QP_SQ_PSN = 1 << 16,
	RDMAPMD_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	RDMAPMD_QP_PATH_MIG_STATE = 1 << 18, /**< as ALT_PATH */
	RDMAPMD_QP_CAP = 1 << 19,	     /**< query only */
	RDMAPMD_QP_DEST_QPN = 1 << 20,
};

/**
 * Make a queue pair, in RESET.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd   A protection domain that is alive.
 * @param attr In: what is needed. Out: in its cap, what the queues hold, at least what was asked for.
 * @param qp   Out: the queue pair.
 * @return 0; -EINVAL sizes beyond what the device can, a CQ missing, objects of different contexts, RAW_PACKET without
 *         any queue; -ENOTSUP a transport that is neither RC nor RAW_PACKET, RAW_PACKET with an SRQ, or on a driver
 *         without it; -EEXIST (RAW_PACKET) the device's number of a queue is another one's in that CQ: take a CQ of
 *         its own; -ENOSPC the device has none left; -ENOMEM.
 */
__rte_experimental int rdmapmd_qp_create(struct rdmapmd_pd *pd, struct rdmapmd_qp_init_attr *attr,
					 struct rdmapmd_qp **qp);

/**
 * The sizes of a queue pair's rings.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp     A queue pair that is alive.
 * @param sizing Out: all members.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmapmd_qp_sizing_query(struct rdmapmd_qp *qp,
					       struct rdmapmd_qp_sizing *sizing);

/**
 * The sizes that a queue pair would have, without making it.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @param cap     In: what is needed. Out: what it would hold.
 * @param srq     It would take its receive requests from an SRQ: max_recv_wr and max_recv_sge do not count.
 * @param sizing  Out: all members.
 * @return As rdmapmd_qp_create().
 */
__rte_experimental int rdmapmd_qp_sizing_compute(struct rdmapmd_context *context,
						 struct rdmapmd_qp_cap *cap, bool srq,
						 struct rdmapmd_qp_sizing *sizing);

/**
 * Change state or attributes. What each change needs and allows is the table of the InfiniBand specification for RC:
 *
 * | from, to   | needs                                                                      | allows       |
 * |------------|----------------------------------------------------------------------------|--------------|
 * | RESET INIT | PKEY_INDEX PORT ACCESS_FLAGS                                               |              |
 * | INIT INIT  |                                                            | PKEY_INDEX PORT ACCESS_FLAGS |
 * | INIT RTR   | AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER  | PKEY_INDEX ACCESS_FLAGS   |
 * | RTR RTS    | TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC | CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER |
 * | RTS RTS, SQD RTS |                                           | CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER   |
 * | RTS SQD    |                                                                    | EN_SQD_ASYNC_NOTIFY  |
 * | SQD SQD    |        | PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC |
 * |            |                                                   | PKEY_INDEX ACCESS_FLAGS MIN_RNR_TIMER   |
 * | any RESET, any ERR |                                                                    |              |
 *
 * RAW_PACKET needs PORT from RESET to INIT, and nothing else: INIT INIT, INIT RTR, RTR RTS, RTS RTS, SQE RTS.
 *
 * RESET forgets all requests, and their completions are not delivered; the application reposts.
 *
 * Threads: any; to RESET, and from SQE to RTS, nobody may post meanwhile. Its CQs may be polled: a poll beside a change to
 *          RESET may find nothing, even if others' completions wait. Blocks: for commands.
 *
 * @param qp   A queue pair that is alive.
 * @param attr The members that `mask` names; read during the call only.
 * @param mask enum rdmapmd_qp_attr_mask, or'ed; without RDMAPMD_QP_STATE the state stays.
 * @return 0; -EINVAL a change that is not in the table, an attribute that is missing, not allowed or out of range (named
 *         in the log); -EHOSTUNREACH the MAC of the peer is not known: set dmac; -ENOTSUP alternate paths, remote
 *         atomics where the device has none (atomic_cap), and to SQD (and in it) where a card's firmware does not know
 *         that state: softrnic does, and the manual; -EBUSY from SQE to RTS, send requests that were posted have not
 *         all been polled.
 */
__rte_experimental int rdmapmd_qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
					 unsigned int mask);

/**
 * Read attributes back from the device.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp        A queue pair that is alive.
 * @param attr      Out: all members; those that do not apply to the state are as they were set last, or 0.
 * @param init_attr Out: as at creation, with the sizes that it got; may be NULL.
 * @return 0; the device's error.
 */
__rte_experimental int rdmapmd_qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr,
					struct rdmapmd_qp_init_attr *init_attr);

/**
 * Its state as the library knows it: set by rdmapmd_qp_modify() and rdmapmd_qp_query(), and ERR (or SQE) as soon as the
 * device or a poll has met a fatal error.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp A queue pair that is alive.
 * @return enum rdmapmd_qp_state, or -errno.
 */
__rte_experimental int rdmapmd_qp_state(struct rdmapmd_qp *qp);

/**
 * Destroy. Requests that were posted are gone; completions that wait in a CQ are dropped.
 *
 * Threads: nobody may post to it meanwhile. Its CQs may be polled, for other queue pairs: a poll may find nothing then, even
 *          if others' completions wait. Blocks: for commands, and until a poll that is under way has ended.
 *
 * @param qp A queue pair; gone afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY events of it are not acknowledged.
 */
__rte_experimental int rdmapmd_qp_destroy(struct rdmapmd_qp *qp);

/**
 * Find a queue pair of a context by its number, as a completion has it.
 *
 * Threads: any. Blocks: never for long; not for a data path: it takes a lock.
 * Owner:   no reference is taken: the caller knows that nobody destroys it.
 *
 * @param context An open device.
 * @param qp_num  Of 24 bits.
 * @return The queue pair, or NULL if there is none.
 */
__rte_experimental struct rdmapmd_qp *rdmapmd_qp_find(struct rdmapmd_context *context,
						      uint32_t qp_num);

/**
 * Drain: every request completes, and no new one is taken. The first call moves the queue pair to ERR, so that what is
 * posted comes back with RDMAPMD_WC_WR_FLUSH_ERR. Poll its CQs and call again until 0 is returned; it may be destroyed
 * then. To let sends finish instead, go to SQD first, and wait for RDMAPMD_EVENT_SQ_DRAINED; where a card has no SQD, poll
 * until they have completed.
 *
 * Threads: the one that posts to it and polls its CQs; it counts as posting. Blocks: the first call, for commands.
 *
 * @param qp A queue pair that is alive.
 * @return How many requests of its own queues have not been polled yet; -errno.
 */
__rte_experimental int rdmapmd_qp_drain(struct rdmapmd_qp *qp);

/** Frames with whatever VLAN tag, and those without one. */
#define RDMAPMD_VLAN_ANY 0xffff

/**
 * Receive frames: those that have this destination address, and this VLAN tag. Of a RAW_PACKET queue pair, in any state; they
 * come from RTR on, and are dropped in other states. Addresses stay attached through all of them, until they are detached or the
 * queue pair is destroyed.
 *
 * Who gets a frame: an address with a VLAN goes before the same address alone, and queue pairs before the ethdev, whatever
 * that is set to. So the ethdev, promiscuous or not, does not see frames of an individual address that is attached here, be it the
 * port's own; frames of a group address (broadcast, multicast) are copied: the ethdev gets those it would get otherwise. RoCE
 * packets for the port's own addresses are RDMA's before anybody is asked.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp      A RAW_PACKET queue pair, in any state.
 * @param mac     The destination address, in the order of the wire.
 * @param vlan_id Of the outer 802.1Q tag, 0 to 4094; or RDMAPMD_VLAN_ANY.
 * @return 0; -EINVAL not a RAW_PACKET queue pair or one without receive queue, no such address or VLAN; -EEXIST a
 *         queue pair of the device, maybe this one, has it; -ENOSPC the device has no room for it; -ENOTSUP a group
 *         address, the ethdev is started, and the card leads a frame to one place only (attached before, the queue
 *         pair alone has such frames).
 */
__rte_experimental int rdmapmd_qp_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6],
					     uint16_t vlan_id);

/**
 * Receive them no longer. Completions that wait stay.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp      A RAW_PACKET queue pair, in any state.
 * @param mac     The destination address, in the order of the wire.
 * @param vlan_id As it was attached.
 * @return 0; -EINVAL as rdmapmd_qp_attach_mac(); -ENOENT it is not attached to this queue pair.
 */
__rte_experimental int rdmapmd_qp_detach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6],
					     uint16_t vlan_id);

/**
 * Post send requests in order and ring the doorbell once.
 *
 * Threads: one caller per send queue at a time; in a thread domain, one for all of its queue pairs. Blocks: never.
 * Order:   stores to the payload made before the call are seen by the device.
 * Owner:   buffers of requests that were taken belong to the device until their completion, or a later one of the same
 *          queue, is polled.
 *
 * @param qp A queue pair that is alive.
 * @param wr The requests; they, their lists of segments and inline payload may be used again after the call.
 * @param n  How many; 0 is allowed.
 * @return How many were taken, 0..n. Fewer than n: qp->post_send_error is the reason: -ENOMEM the ring
 *         is full; -EINVAL the request: opcode, flags, too many segments, too much inline data, a length that does not
 *         fit the operation, a READ or atomic with max_rd_atomic 0, a frame shorter than its header of 14 bytes;
 *         -EPERM the state (RTS, SQD, SQE and ERR take sends).
 */
__rte_experimental static inline uint16_t
rdmapmd_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return qp->post_send(qp, wr, n);
}

/**
 * Post receive requests in order and tell the device once.
 *
 * Threads: one caller per receive queue at a time. Blocks: never.
 * Owner:   buffers of requests that were taken belong to the device until their completion is polled.
 *
 * @param qp A queue pair that is alive.
 * @param wr The requests; they and their lists of segments may be used again after the call.
 * @param n  How many; 0 is allowed.
 * @return How many were taken, 0..n. Fewer than n: qp->post_recv_error is the reason: -ENOMEM the ring is full; -EINVAL too
 *         many segments, one of 2^31 bytes or more, or the queue pair has an SRQ; -EPERM the state (any but RESET
 *         takes receives).
 */
__rte_experimental static inline uint16_t
rdmapmd_post_recv(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	return qp->post_recv(qp, wr, n);
}

#ifdef __cplusplus
}
#endif

#endif
