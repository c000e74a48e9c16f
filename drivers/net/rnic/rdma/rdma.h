/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's half of the objects of lib/rdmapmd: each struct begins with the library's head, and is made of the same
 * queues that the ethdev port uses.
 *
 * Who writes what on the data path: a send queue belongs to the thread that posts to it, a receive queue likewise, a CQ to
 * the thread that polls it. Of a queue pair that thread writes the tails alone, which those who post read.
 */
#ifndef RNIC_RDMA_RDMA_H
#define RNIC_RDMA_RDMA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/dev.h"
#include "object/cq.h"
#include "object/ring.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/dump.h"
#include "prm/qp.h"
#include "rdmapmd_driver.h"

struct rdmapmd_device;
struct rdmapmd_table;
struct rnic_rdma_mws;
struct rnic_eq;
struct rnic_gid;

/* Kinds of queue pairs, by bits. */
#define RNIC_RDMA_QP_SIGNALS_ALL 1u /* sq_sig_all */
#define RNIC_RDMA_QP_ASKS_NONE	 2u /* max_rd_atomic 0: no READs, no atomics */
#define RNIC_RDMA_QP_RAW	 4u /* RAW_PACKET */
#define RNIC_RDMA_QP_DATAGRAM	 8u /* UD, GSI */
#define RNIC_RDMA_QP_KINDS	 16u

#define RNIC_RDMA_PORT 1 /* there is one */

#define RNIC_RDMA_MAX_MESSAGE (UINT32_C(1) << 30) /* bytes */

/* Who tells of completions. */
struct rnic_rdma_vector {
	struct rnic_eq *_Atomic eq; /* NULL: no CQ has asked for it yet */
	unsigned int irq;	    /* MSI-X vector */
	bool owes;		    /* an event; the control thread's own */
};

struct rnic_rdma {
	struct rnic_rdma_vector *vectors;
	uint32_t vector_count;	      /* at least 1 */
	int epoll_fd;		      /* readable when one of them is; -1: they have no interrupt */
	pthread_mutex_t vectors_lock; /* of who makes an event queue; it is held for the command */
	struct rnic_eq *event_eq;     /* events of queue pairs and SRQs, but for errors */
	struct rdmapmd_table *cqs;    /* that have events: number -> struct rnic_rdma_cq */
	/* How many they are: each may have one entry in the event queue of its vector. */
	uint32_t event_cqs;
	LIST_HEAD(, rnic_rdma_cq) event_cq_list;
	LIST_HEAD(, rnic_rdma_qp) raw_qps; /* RAW_PACKET */
	LIST_HEAD(, rnic_rdma_cq) all_cqs;
	LIST_HEAD(, rnic_rdma_qp) all_qps;
	LIST_HEAD(, rnic_rdma_srq) all_srqs;
	/* Of event_cq_list, those that name an event queue that takes no more events. */
	uint32_t deaf_cqs;
	/* Of the seven above, and of device: an event is handed on, or it is gone. */
	pthread_mutex_t lock;
	struct rdmapmd_device *device; /* which events are raised for; NULL: none */
	struct rnic_rdma_kind *kinds[RNIC_RDMA_QP_KINDS]; /* of each kind of queue pair */
	struct rnic_rdma_mws *_Atomic mws; /* which keys are windows; NULL: none was one yet */

	bool has_qp1; /* a queue pair of type GSI; under lock */

	/* What is in the table of addresses. The lock is held for its commands. */
	pthread_mutex_t gids_lock;
	struct rnic_gid *gids; /* NULL: no table */
	bool refused;	       /* RoCE, to this function: RDMA is offered to nobody */
};
static inline struct rnic_dev *
rnic_rdma_dev(const struct rdmapmd_context *context)
{
	return context->device_priv;
}

/* The queue pairs of a CQ by number: a hash table of pointers, at most half full, NULL: free. */
struct rnic_rdma_qps {
	struct rnic_rdma_qps *older; /* a poll may still read it; freed when the CQ is stopped */
	uint32_t mask, count;
	struct rnic_rdma_qp *_Atomic slots[];
};

struct rnic_rdma_cq {
	struct rdmapmd_cq cq;

	/* hot: the thread that polls */
	struct rnic_cq ring;
	struct rnic_rdma_qp *last; /* whose entry was the last one; never NULL */
	/* Its number with the kind of entry that its requests have, and the first kind that arrivals have: poll.c. */
	uint64_t last_sends, last_receives;
	struct rnic_rdma_qps *_Atomic qps;
	const atomic_bool *lost; /* the device is lost, and no longer writes to buffers */
	/* Entries of no queue pair of ours, or of no request that was posted. */
	uint64_t unmatched;
	_Atomic uint8_t polling, stopped; /* a poll looks at queue pairs; none may */

	/* arming */
	volatile void *arm_register;
	atomic_uint arm_sequence; /* of the next arming */

	/* cold */
	struct rnic_dev *dev;
	pthread_mutex_t lock;	      /* of changes of qps, of the ring's size and place */
	struct rdmapmd_handle number; /* in the device's table of CQs with events */
	LIST_ENTRY(rnic_rdma_cq) next_event_cq, next_cq;
	uint32_t vector;
	uint32_t eqn; /* of the event queue that it names */
	bool has_events, deaf;
};

/* No queue pair has this number: 24 bits that stand for multicast. */
#define RNIC_RDMA_NO_QPN  0xffffffu
#define RNIC_RDMA_NO_KIND (UINT64_C(1) << 63) /* and no entry is of that, or next to it */

/* A send request under way, at the WQEBB where its WQE starts. */
struct rnic_rdma_wqe {
	uint64_t wr_id;
	uint64_t head; /* how many requests were posted before it */
	uint32_t
		length; /* of a READ or an atomic: bytes that it brings; with INVALIDATES the key */
	uint16_t what;	/* enum rdmapmd_wc_opcode; [15:8] enum rnic_rdma_quiet */
};

/* Requests whose completion is not the application's to see, or not its alone: bits. */
enum rnic_rdma_quiet {
	RNIC_RDMA_REPORTED = 0,
	RNIC_RDMA_QUIET_SUCCESS = 1, /* unsignaled, but the driver wants to know when it is done */
	RNIC_RDMA_QUIET = 2,	     /* the driver's own */
	RNIC_RDMA_INVALIDATES = 4,   /* a window's key leads nowhere when it is done */
	RNIC_RDMA_QUIET_ERROR = 8, /* the second WQE of a request: the first one tells of errors */
};

/* What an opcode with a combination of send_flags leads to. */
struct rnic_rdma_kind {
	uint64_t ctrl[2]; /* the control segment, without what differs from WQE to WQE */
	uint8_t wqe_opcode, fm_ce_se; /* of it */
	uint8_t parts;		      /* of the WQE: post.c */
	uint8_t wc_opcode;	      /* enum rdmapmd_wc_opcode */
	uint8_t reserved[12];
};
_Static_assert(sizeof(struct rnic_rdma_kind) == 32, "found without a multiplication");
#define RNIC_RDMA_OPCODES (RDMAPMD_WR_NOP + 1)
#define RNIC_RDMA_FLAGS	  16
#define RNIC_RDMA_KINDS	  (RNIC_RDMA_OPCODES * RNIC_RDMA_FLAGS)

struct rnic_rdma_send {
	struct rnic_sq wq;
	struct rnic_rdma_wqe *wqes;
	/*
	 * Nobody lives to see these come round. Where no WQE has started for long, wqes[] has a request of long ago, which must
	 * not pass for one that is under way.
	 */
	uint64_t head;	   /* requests posted, free running */
	uint64_t tail;	   /* atomic: requests completed; who polls writes it */
	uint64_t signaled; /* requests posted up to the last one that asks for a completion */
	uint64_t max_post;
	uint32_t max_gs, max_inline;
	_Atomic uint8_t open;  /* the state takes requests */
	uint8_t header_bytes;  /* of a frame that go into its WQE: 0 or RNIC_INLINE_L2_BYTES */
	uint16_t max_datagram; /* bytes of its payload, as the port was when it came to RTS */
	uint8_t wqebbs;	       /* that each of max_post requests may have */
	struct rnic_rdma_kind *_Atomic kinds; /* rnic_rdma_kind_at() */
};

struct rnic_rdma_receive {
	struct rnic_rq wq;
	uint64_t *wr_ids;
	uint32_t head; /* atomic */
	uint32_t tail; /* atomic: who polls writes it */
	uint32_t max_post, max_gs;
	/* atomic: the length of the shortest request so far. Completions of no more bytes than that need no look at a request. */
	uint32_t least;
	_Atomic uint8_t open;
};

struct rnic_rdma_qp {
	struct rdmapmd_qp qp;
	struct rnic_rdma_send sq;
	struct rnic_rdma_receive rq;
	struct rnic_rdma_srq *srq; /* NULL: rq is in use */

	/* cold */
	struct rnic_dev *dev;
	struct rnic_ring memory; /* of both rings, the receive ring first */
	void *dbrec;
	/* What stands in the place of a send queue that there is not. */
	struct rnic_rdma_wqe no_wqe;
	uint32_t access;	    /* of peers: enum rdmapmd_access_flags, as set last */
	uint8_t max_dest_rd_atomic; /* as set last */
	_Atomic uint8_t state;	    /* enum rdmapmd_qp_state, as set last */
	_Atomic uint32_t rq_psn;    /* of the first packet, as set last */
	uint8_t source;		    /* the index of the address that its path begins with */
	bool has_path;

	/* of RAW_PACKET: where frames are steered to */
	bool has_tir;
	uint32_t tir;
	LIST_ENTRY(rnic_rdma_qp) next_raw_qp;

	LIST_ENTRY(rnic_rdma_qp) next_qp;
};
static inline bool
rnic_rdma_is_raw(const struct rnic_rdma_qp *qp)
{
	return qp->qp.qp_type == RDMAPMD_QPT_RAW_PACKET;
}

static inline bool
rnic_rdma_is_datagram(const struct rnic_rdma_qp *qp)
{
	return qp->qp.qp_type == RDMAPMD_QPT_UD || qp->qp.qp_type == RDMAPMD_QPT_GSI;
}

static inline enum rnic_wqe_kind
rnic_rdma_wqe_kind(const struct rnic_rdma_qp *qp)
{
	if (rnic_rdma_is_raw(qp))
		return RNIC_WQE_OF_FRAMES;
	return rnic_rdma_is_datagram(qp) ? RNIC_WQE_OF_DATAGRAMS : RNIC_WQE_OF_MESSAGES;
}

static inline enum rnic_qp_st
rnic_rdma_service_type(const struct rnic_rdma_qp *qp)
{
	switch (qp->qp.qp_type) {
	case RDMAPMD_QPT_UC: return RNIC_QP_ST_UC;
	case RDMAPMD_QPT_UD: return RNIC_QP_ST_UD;
	case RDMAPMD_QPT_GSI: return RNIC_QP_ST_QP1;
	default: return RNIC_QP_ST_RC;
	}
}

/*
 * Free WQEs are a list from `head` to `tail`; the last one stays free. Posting takes from the head. Polls of several
 * CQs give back at the tail, each with one exchange of it, and then links what was the tail to its own: a WQE that is not
 * linked yet looks like the last one.
 */
struct rnic_rdma_srq {
	struct rdmapmd_srq srq;
	uint8_t *ring;
	struct rnic_be32 *dbrec;
	uint64_t *wr_ids;
	_Atomic uint32_t *next; /* of each WQE the next free one, or one of the below */
	uint32_t head;
	_Atomic uint32_t tail;
	uint32_t mask, max_gs;
	uint32_t least; /* atomic: as that of a receive queue */
	uint8_t log_stride;
	uint16_t posted; /* free running */

	/* cold */
	struct rnic_dev *dev;
	struct rnic_ring memory;
	atomic_bool armed; /* with a limit that was not reached, as far as events tell */
	LIST_ENTRY(rnic_rdma_srq) next_srq;
};
#define RNIC_RDMA_SRQ_LAST   UINT32_MAX
#define RNIC_RDMA_SRQ_POSTED (UINT32_MAX - 1)

#endif
