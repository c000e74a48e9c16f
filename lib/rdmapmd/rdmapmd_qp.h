/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Queue pairs: sizes, states, posting.
 *
 *     RESET --> INIT --> RTR --> RTS <--> SQD        any state --> RESET, any state --> ERR
 *
 * INIT accepts receive requests, RTR answers the peer, RTS sends, SQD finishes the sends that have begun. In ERR every request
 * completes with RDMAPMD_WC_WR_FLUSH_ERR, in order.
 *
 * Source: IBTA vol. 1, chapter 10, "Queue Pair and EE Context States", and chapter 11, "Create Queue Pair", "Modify Queue Pair" (the
 * table of changes), "Query Queue Pair". PRM: "QP Context", "QP State Change Commands".
 *
 * UC. As RC, with SEND, RDMA_WRITE (both also WITH_IMM) and NOP alone. Nothing is acknowledged or sent again: a request completes
 * when its packets have gone. A message of which a packet is lost is lost as a whole: its receive request waits for the next one.
 * What it has written of a WRITE stays.
 *
 * UD. Each request, SEND, SEND_WITH_IMM or NOP, names its receiver by an address handle (rdmapmd_ah.h), a queue pair's number and
 * a Q_Key. A message is one packet, at most the port's active_mtu. It arrives behind RDMAPMD_GRH_BYTES: 40 bytes that receive
 * requests have room for, and that byte_len counts; rdmapmd_ah_from_wc() makes the path back of them. A message with another
 * Q_Key than the receiver's, one that is longer than its receive request, and one that finds no request are dropped and counted;
 * the queue pair goes on. With rdmapmd_mcast_attach() it receives what is sent to groups.
 *
 * GSI. The port's queue pair 1, which every node has at that number: packets to queue pair 1 come here, those that it sends say
 * that 1 has sent them; qp_num is another number. Otherwise as UD, with Q_Key RDMAPMD_QP1_QKEY, messages of at most 256 bytes,
 * and without groups. There is one for each port. The library has no communication manager: MADs are the application's own.
 *
 * A send request of UC, UD or GSI that fails (a bad key) moves the queue pair to SQE: later requests are flushed, and it goes on
 * receiving. A change to RTS makes it send again.
 *
 * RAW_PACKET. A send request is an Ethernet frame, from the destination address on and without FCS; the application pads short
 * frames. The only operations are SEND and NOP, without immediate, fence and solicited. Where the port wants L2 headers inline (a
 * ConnectX-4 does), the queue pair copies the first 18 bytes itself: addr of the segments that hold them must then be their
 * address in this process, as for an inline request.
 *
 * It receives the frames for the addresses given to rdmapmd_qp_attach_mac(), one per receive request, with their VLAN tags;
 * byte_len is the frame's length. Frames that find no request are dropped and counted (out_of_buffer). A frame longer than its
 * request completes it with RDMAPMD_WC_LOC_LEN_ERR and moves the queue pair to ERR; sends go on until the application moves it to
 * ERR as well, or drains it. src_qp, sl, pkey_index and RDMAPMD_WC_GRH of its completions are undefined.
 *
 * A send request that fails (a bad key, a length above every MTU) moves a RAW_PACKET queue pair to SQE: later requests are
 * flushed, and it goes on receiving. Once all send completions are polled, a change to RTS makes it send again. The port drops
 * frames above its present MTU, and all frames while it has no link; their requests succeed nevertheless.
 */
#ifndef RDMAPMD_QP_H
#define RDMAPMD_QP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_ah.h"
#include "rdmapmd_device.h"
#include "rdmapmd_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_cq;
struct rdmapmd_pd;
struct rdmapmd_srq;
struct rdmapmd_td;

/** Transports. The values are those of enum ib_qp_type. */
enum rdmapmd_qp_type {
	RDMAPMD_QPT_GSI = 1,	    /**< queue pair 1: datagrams of a subnet's management */
	RDMAPMD_QPT_RC = 2,	    /**< reliable connected */
	RDMAPMD_QPT_UC,		    /**< unreliable connected */
	RDMAPMD_QPT_UD,		    /**< unreliable datagram */
	RDMAPMD_QPT_RAW_PACKET = 8, /**< Ethernet frames */
};

/** The Q_Key of queue pair 1. */
#define RDMAPMD_QP1_QKEY 0x80010000

/** States. */
enum rdmapmd_qp_state {
	RDMAPMD_QPS_RESET,
	RDMAPMD_QPS_INIT,
	RDMAPMD_QPS_RTR, /**< ready to receive */
	RDMAPMD_QPS_RTS, /**< ready to send */
	RDMAPMD_QPS_SQD, /**< send queue drained */
	RDMAPMD_QPS_SQE, /**< send queue error; not of RC */
	RDMAPMD_QPS_ERR,
};

/**
 * A state's name, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param state Any value, also an invalid one.
 * @return E.g. "RTS"; never NULL, never freed.
 */
__rte_experimental const char *rdmapmd_qp_state_str(enum rdmapmd_qp_state state);

/** The capacities of a queue pair. */
struct rdmapmd_qp_cap {
	uint32_t max_send_wr; /**< send requests: 0 .. max_qp_wr; 0: no send queue */
	/** receive requests: 0 .. max_qp_wr; 0: no receive queue, or an SRQ */
	uint32_t max_recv_wr;
	/** segments in a send request: 0 .. max_send_sge; 0 counts as 1 */
	uint32_t max_send_sge;
	/** segments in a receive request: 0 .. max_recv_sge; 0 counts as 1 */
	uint32_t max_recv_sge;
	/** bytes of payload in a send WQE: 0 .. what max_sq_desc_sz leaves */
	uint32_t max_inline_data;
};

/**
 * The sizes that result from the requested capacities. A send WQE takes whole blocks of 64 bytes (WQEBB), a receive WQE a power
 * of two of bytes; so does each ring. PRM: "Work Queue Structure".
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
/** Provided by the driver; see rdmapmd_post_send(). */
typedef uint16_t (*rdmapmd_post_send_t)(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
					uint16_t n);
/** Provided by the driver; see rdmapmd_post_recv(). */
typedef uint16_t (*rdmapmd_post_recv_t)(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr,
					uint16_t n);

/** A queue pair. The public head: read it, do not write it. */
struct rdmapmd_qp {
	rdmapmd_post_send_t post_send; /**< the driver's rdmapmd_post_send() */
	rdmapmd_post_recv_t post_recv; /**< the driver's rdmapmd_post_recv() */
	uint32_t qp_num;	       /**< its number, for the peer; 24 bits */
	int32_t post_send_error; /**< why the last short burst was short: see rdmapmd_post_send() */
	int32_t post_recv_error; /**< likewise: see rdmapmd_post_recv() */
	uint8_t qp_type;	 /**< enum rdmapmd_qp_type */
	uint8_t sq_sig_all;	 /**< every send request writes a completion to the CQ */
	struct rdmapmd_context *context;      /**< it was created in */
	struct rdmapmd_pd *pd;		      /**< its protection domain */
	struct rdmapmd_cq *send_cq, *recv_cq; /**< where send and receive requests complete */
	struct rdmapmd_srq *srq;	      /**< NULL: it has its own receive queue, or none */
	struct rdmapmd_td *td;		      /**< NULL: it is in no thread domain */
	void *qp_context;		      /**< the application's own */
};

/** What else a queue pair is created with. */
enum rdmapmd_qp_create_flags {
	/** UD: what it sends to a group that it is attached to does not come back to it. */
	RDMAPMD_QP_BLOCK_SELF_MCAST_LB = 1 << 1,
};

/** How to create a queue pair. */
struct rdmapmd_qp_init_attr {
	struct rdmapmd_cq *send_cq, *recv_cq; /**< may be the same one */
	struct rdmapmd_srq *srq;	      /**< or NULL */
	/** Or NULL. Only one thread at a time may post sends to the queue pairs of a thread domain. */
	struct rdmapmd_td *td;
	/** In: minimal capacities. Out: actual ones. */
	struct rdmapmd_qp_cap cap;
	enum rdmapmd_qp_type qp_type; /**< its transport */
	uint32_t create_flags;	      /**< enum rdmapmd_qp_create_flags, or'ed */
	uint8_t port_num;	      /**< GSI: whose queue pair 1 it is, from 1; else ignored */
	bool sq_sig_all;	      /**< every send request is signaled */
	void *qp_context;	      /**< the application's own */
};

/** The attributes of a queue pair. A mask selects the valid ones. */
struct rdmapmd_qp_attr {
	enum rdmapmd_qp_state qp_state;	    /**< modify: the new state; query: the present one */
	enum rdmapmd_qp_state cur_qp_state; /**< the state that the application assumes */
	enum rdmapmd_mtu path_mtu;	    /**< largest payload of a packet; RC, UC */
	uint32_t qkey;			    /**< UD, GSI: what datagrams must have */
	uint32_t rq_psn;		    /**< first packet sequence number to receive; 24 bits */
	uint32_t sq_psn;		    /**< ... to send */
	uint32_t dest_qp_num;		    /**< the peer's queue pair; 24 bits */
	/** What the peer may do: the REMOTE ones of enum rdmapmd_access_flags. */
	uint32_t qp_access_flags;
	struct rdmapmd_qp_cap cap;	/**< query only: its capacities */
	struct rdmapmd_ah_attr ah_attr; /**< the path to the peer */
	uint16_t pkey_index;		/**< into the port's P_Key table */
	uint8_t en_sqd_async_notify;	/**< raise RDMAPMD_EVENT_SQ_DRAINED when drained */
	uint8_t sq_draining;		/**< query: SQD, and not drained yet */
	uint8_t max_rd_atomic; /**< outstanding READs and atomics: 0 .. max_qp_init_rd_atomic */
	uint8_t max_dest_rd_atomic; /**< ... as responder: 0 .. max_qp_rd_atomic */
	/** How long the peer waits when no receive is posted: a code of 5 bits. */
	uint8_t min_rnr_timer;
	uint8_t port_num;  /**< from 1 */
	uint8_t timeout;   /**< of acknowledgements: 4.096 us << timeout, 5 bits; 0: none */
	uint8_t retry_cnt; /**< 0..7 */
	uint8_t rnr_retry; /**< 0..6; 7: no limit */
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
	/** Alternate paths are not supported: -ENOTSUP where it would be legal. */
	RDMAPMD_QP_ALT_PATH = 1 << 14,
	RDMAPMD_QP_MIN_RNR_TIMER = 1 << 15,
	RDMAPMD_QP_SQ_PSN = 1 << 16,
	RDMAPMD_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	RDMAPMD_QP_PATH_MIG_STATE = 1 << 18, /**< as ALT_PATH */
	RDMAPMD_QP_CAP = 1 << 19,	     /**< query only */
	RDMAPMD_QP_DEST_QPN = 1 << 20,
};

/**
 * Create a queue pair, in RESET.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd   A protection domain that is alive.
 * @param attr In: what is needed. Out: cap has the actual capacities, at least the requested ones.
 * @param qp   Out: the queue pair.
 * @return 0; -EINVAL sizes above the device's limits, a CQ missing, objects of different contexts, RAW_PACKET without any
 *         queue, flags that are none or are not for this transport, (GSI) no such port; -ENOTSUP a transport or a flag that
 *         the device or its driver does not have, RAW_PACKET with an SRQ; -EBUSY (GSI) the port has one; -EEXIST
 *         (RAW_PACKET) the device gave a queue a number that another queue of that CQ has: use a separate CQ; -ENOSPC the
 *         device has none left; -ENOMEM.
 */
__rte_experimental int rdmapmd_qp_create(struct rdmapmd_pd *pd, struct rdmapmd_qp_init_attr *attr,
					 struct rdmapmd_qp **qp);

/**
 * Query the sizes of a queue pair's rings.
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
 * Compute the sizes that a queue pair would have, without creating it.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @param qp_type Its transport: a datagram takes more room in a send WQE.
 * @param cap     In: minimal capacities. Out: actual ones.
 * @param srq     Whether it would use an SRQ: max_recv_wr and max_recv_sge are ignored then.
 * @param sizing  Out: all members.
 * @return As rdmapmd_qp_create().
 */
__rte_experimental int rdmapmd_qp_sizing_compute(struct rdmapmd_context *context,
						 enum rdmapmd_qp_type qp_type,
						 struct rdmapmd_qp_cap *cap, bool srq,
						 struct rdmapmd_qp_sizing *sizing);

/**
 * Modify state or attributes. Each change needs and allows the attributes of these tables (InfiniBand specification). RC:
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
 * UC:
 *
 * | from, to         | needs                         | allows                            |
 * |------------------|-------------------------------|-----------------------------------|
 * | RESET INIT       | PKEY_INDEX PORT ACCESS_FLAGS  |                                   |
 * | INIT INIT        |                               | PKEY_INDEX PORT ACCESS_FLAGS      |
 * | INIT RTR         | AV PATH_MTU DEST_QPN RQ_PSN   | PKEY_INDEX ACCESS_FLAGS           |
 * | RTR RTS          | SQ_PSN                        | CUR_STATE ACCESS_FLAGS            |
 * | RTS RTS, SQD RTS |                               | CUR_STATE ACCESS_FLAGS            |
 * | RTS SQD          |                               | EN_SQD_ASYNC_NOTIFY               |
 * | SQD SQD          |                               | AV PKEY_INDEX ACCESS_FLAGS        |
 * | SQE RTS          |                               | CUR_STATE ACCESS_FLAGS            |
 *
 * UD; and GSI, whose port is known, so that it takes no PORT:
 *
 * | from, to         | needs                         | allows                            |
 * |------------------|-------------------------------|-----------------------------------|
 * | RESET INIT       | PKEY_INDEX PORT QKEY          |                                   |
 * | INIT INIT        |                               | PKEY_INDEX PORT QKEY              |
 * | INIT RTR         |                               | PKEY_INDEX QKEY                   |
 * | RTR RTS          | SQ_PSN                        | CUR_STATE QKEY                    |
 * | RTS RTS, SQD RTS, SQE RTS |                      | CUR_STATE QKEY                    |
 * | RTS SQD          |                               | EN_SQD_ASYNC_NOTIFY               |
 * | SQD SQD          |                               | PKEY_INDEX QKEY                   |
 *
 * RAW_PACKET needs PORT from RESET to INIT, and nothing else: INIT INIT, INIT RTR, RTR RTS, RTS RTS, SQE RTS.
 *
 * RESET drops all requests without completions; the application posts them again.
 *
 * Threads: any; to RESET, and from SQE to RTS, no thread may post meanwhile. Its CQs may be polled: a poll during a change to
 *          RESET may find nothing, even if completions of other queue pairs wait. Blocks: for commands; to RTR with a dmac of zeros
 *          also for the peer's MAC, as rdmapmd_resolve() with RDMAPMD_RESOLVE_WAIT.
 *
 * @param qp   A queue pair that is alive.
 * @param attr The members that `mask` names; read during the call only.
 * @param mask enum rdmapmd_qp_attr_mask, or'ed; without RDMAPMD_QP_STATE the state stays.
 * @return 0; -EINVAL a change that is not in the table, an attribute that is missing, not allowed or out of range (named
 *         in the log); -EHOSTUNREACH the MAC of the peer is not known: set dmac; -ENOTSUP alternate paths, remote
 *         atomics where the device has none (atomic_cap), and SQD where a card's firmware does not implement that state
 *         (softrnic does, as in the manual); -EBUSY (RAW_PACKET) from SQE to RTS: completions of posted sends were not all
 *         polled.
 */
__rte_experimental int rdmapmd_qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
					 unsigned int mask);

/**
 * Query the attributes from the device.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp        A queue pair that is alive.
 * @param attr      Out: all members; those that do not apply to the state have the value set last, or 0.
 * @param init_attr Out: as at creation, with the actual capacities; may be NULL.
 * @return 0; the device's error.
 */
__rte_experimental int rdmapmd_qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr,
					struct rdmapmd_qp_init_attr *init_attr);

/**
 * The state as the library knows it: set by rdmapmd_qp_modify() and rdmapmd_qp_query(), and ERR (or SQE) as soon as the device
 * has reported, or a poll has found, a fatal error.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp A queue pair that is alive.
 * @return enum rdmapmd_qp_state, or -errno.
 */
__rte_experimental int rdmapmd_qp_state(struct rdmapmd_qp *qp);

/**
 * Destroy a queue pair. Posted requests, and completions that wait in a CQ, are dropped.
 *
 * Threads: no thread may post to it meanwhile. Its CQs may be polled for other queue pairs: a poll may then find nothing, even
 *          if completions of these wait. Blocks: for commands, and for a poll of its CQs in another thread.
 *
 * @param qp A queue pair; invalid afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY some of its events are not acknowledged.
 */
__rte_experimental int rdmapmd_qp_destroy(struct rdmapmd_qp *qp);

/**
 * Find a queue pair of a context by its number, as a completion has it.
 *
 * Threads: any. Blocks: never for long. Not for a data path: it takes a lock.
 * Owner:   it takes no reference: the caller ensures that no thread destroys it.
 *
 * @param context An open device.
 * @param qp_num  Of 24 bits.
 * @return The queue pair, or NULL if there is none.
 */
__rte_experimental struct rdmapmd_qp *rdmapmd_qp_find(struct rdmapmd_context *context,
						      uint32_t qp_num);

/**
 * Drain: every request completes, and no new one is accepted. The first call moves the queue pair to ERR, so that posted
 * requests complete with RDMAPMD_WC_WR_FLUSH_ERR. Poll its CQs and call again until it returns 0; then it may be destroyed. To
 * let sends finish instead, go to SQD first and wait for RDMAPMD_EVENT_SQ_DRAINED; where a card has no SQD, poll until they
 * have completed.
 *
 * Threads: the one that posts to it and polls its CQs; the call counts as posting. Blocks: the first call, for commands.
 *
 * @param qp A queue pair that is alive.
 * @return How many requests of its own queues were not polled yet; -errno.
 */
__rte_experimental int rdmapmd_qp_drain(struct rdmapmd_qp *qp);

/** Frames with any VLAN tag, and frames without one. */
#define RDMAPMD_VLAN_ANY 0xffff

/**
 * Attach an address: a RAW_PACKET queue pair receives the frames with this destination address and VLAN tag, from RTR on; in
 * other states they are dropped. An address stays attached through all state changes, until it is detached or the queue pair is
 * destroyed.
 *
 * Precedence: an address with a VLAN comes before the same address without one, and queue pairs come before the ethdev, whatever
 * its filters are. So the ethdev, promiscuous or not, does not receive frames of an individual address that is attached here, even
 * the port's own one. Frames of a group address (broadcast, multicast) are copied: the ethdev also gets those that it would get
 * otherwise. RoCE packets for the port's own addresses always go to RDMA.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp      A RAW_PACKET queue pair, in any state.
 * @param mac     The destination address, in the order of the wire.
 * @param vlan_id The identifier in the outer 802.1Q tag, 0 to 4094; or RDMAPMD_VLAN_ANY.
 * @return 0; -EINVAL not a RAW_PACKET queue pair, or one without receive queue; an invalid address or VLAN; -EEXIST a
 *         queue pair of the device, maybe this one, has it; -ENOSPC the device has no room for it; -ENOTSUP a group
 *         address while the ethdev is started, on a card that delivers a frame to one destination only (if attached
 *         before the start, the queue pair alone gets such frames).
 */
__rte_experimental int rdmapmd_qp_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6],
					     uint16_t vlan_id);

/**
 * Detach an address. Completions that wait in a CQ stay.
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
 * Join a group: a UD queue pair receives the datagrams that are sent to its address and queue pair RDMAPMD_MULTICAST_QPN, with
 * its Q_Key, from RTR on; those that this device sends too, its own unless it has RDMAPMD_QP_BLOCK_SELF_MCAST_LB. Each queue pair
 * of the group gets a copy. It stays in the group through all state changes, until it is detached or destroyed. Switches and
 * routers are not told (no IGMP, no MLD).
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp  A UD queue pair, in any state.
 * @param gid The group's address: rdmapmd_gid_is_multicast().
 * @return 0, also if it is in the group; -EINVAL not a UD queue pair, or no group's address; -ENOSPC the device has as
 *         many groups as it can, or this one as many queue pairs; -ENOTSUP the device has no groups; -ENOMEM.
 */
__rte_experimental int rdmapmd_mcast_attach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);

/**
 * Leave a group. Completions that wait in a CQ stay.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param qp  A UD queue pair, in any state.
 * @param gid The group's address.
 * @return 0; -EINVAL as rdmapmd_mcast_attach(), or it is not in that group.
 */
__rte_experimental int rdmapmd_mcast_detach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);

/**
 * Post send requests in order and ring the doorbell once.
 *
 * Threads: one caller per send queue at a time; in a thread domain, one for all of its queue pairs. Blocks: never.
 * Order:   the device sees stores to the payload that were made before the call.
 * Owner:   buffers of posted requests belong to the device until their completion, or a later one of the same queue, is
 *          polled.
 *
 * @param qp A queue pair that is alive.
 * @param wr The requests; they, their lists of segments and inline payload may be reused after the call.
 * @param n  How many; 0 is allowed.
 * @return How many were posted, 0..n. If fewer than n, qp->post_send_error has the reason: -ENOMEM the ring is full;
 *         -EINVAL a bad request: opcode, also one that the transport does not have, flags, too many segments, too much
 *         inline data, a length that does not fit the operation, a READ or atomic with max_rd_atomic 0, a frame shorter than
 *         its header of 14 bytes, a datagram longer than the port's MTU, or whose address handle is NULL or of another
 *         protection domain, or whose remote_qpn has more than 24 bits; -EPERM the state (RTS, SQD, SQE and ERR accept
 *         sends).
 */
__rte_experimental static inline uint16_t
rdmapmd_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return qp->post_send(qp, wr, n);
}

/**
 * Post receive requests in order and ring the doorbell once.
 *
 * Threads: one caller per receive queue at a time. Blocks: never.
 * Owner:   buffers of posted requests belong to the device until their completion is polled.
 *
 * @param qp A queue pair that is alive.
 * @param wr The requests; they and their lists of segments may be reused after the call.
 * @param n  How many; 0 is allowed.
 * @return How many were posted, 0..n. If fewer than n, qp->post_recv_error has the reason: -ENOMEM the ring is full; -EINVAL
 *         too many segments, one of 2^31 bytes or more, or the queue pair has an SRQ; -EPERM the state (any but RESET
 *         accepts receives).
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
