/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs: what all of their files know.
 *
 * A QP is the owner of a struct roce_qp (roce/roce.h): it fetches WQEs, writes CQEs, checks keys, and hands packets to
 * the wire. All of it runs under the poller's lock.
 */
#ifndef SOFTRNIC_QP_H
#define SOFTRNIC_QP_H

#include <rte_common.h>

#include "prm/qp.h"
#include "softrnic/base/bf_audit.h"
#include "softrnic/memory/segments.h"
#include "softrnic/receive/route.h"
#include "softrnic/rocev2/frame.h"

struct softrnic_cq;
struct softrnic_mcg_member;
struct softrnic_q_counter;
struct softrnic_rmp;

/* Send WQEs are at most so long (max_wqe_sz_sq). */
#define SOFTRNIC_QP_WQE_BYTES_MAX 1024u
/* What the QPs of a device may keep of the device's own memory: copies of WQEs, requests, saved READs. */
#define SOFTRNIC_QP_MEMORY (UINT64_C(256) << 20)

/* A receive ring of the QP's own; `rmp` of the QP stands for it when that is not NULL. */
struct softrnic_qp_rq {
	uint16_t consumer, producer;
	uint8_t log_size, log_stride; /* stride in bytes, log2 */
};

enum softrnic_qp_type {
	SOFTRNIC_QP_RC,
	SOFTRNIC_QP_UC,
	SOFTRNIC_QP_UD,
	SOFTRNIC_QP_QP1,
	SOFTRNIC_QP_XRC,
	SOFTRNIC_QP_REG_UMR, /* changes memory keys, and sends nothing */
	SOFTRNIC_QP_TYPES,
};

/* No transport has these numbers. */
#define SOFTRNIC_QP_UNCONNECTED 0xff
#define SOFTRNIC_QP_ALONE	0xfe

struct softrnic_qp {
	struct softrnic_object object;
	/*
	 * The transport of the packets that come by its path. It has none: SOFTRNIC_QP_UNCONNECTED gets datagrams,
	 * SOFTRNIC_QP_ALONE nothing.
	 */
	uint8_t connection;
	uint8_t type;	     /* enum softrnic_qp_type */
	struct roce_qp roce; /* its state is the QP's */

	/* The control plane's (engine/qp_create.c, qp_modify.c): set at CREATE, or by a modify. */
	struct softrnic_ring ring; /* both rings: receive WQEs first, then send WQEBBs */
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *send_cq, *recv_cq;
	struct softrnic_rmp *rmp; /* may be NULL; of XRC: which the receive WQE in use is of */
	/* Of XRC: which the last request named, and the domain where that may be. NULL: no request can name one. */
	struct softrnic_rmp *named;
	struct softrnic_object *xrcd;
	struct softrnic_q_counter *counter; /* may be NULL */
	struct softrnic_object *pd_object, *uar_object;
	uint32_t pd, uar, user_index;
	uint32_t sq_offset;  /* of the send ring, bytes */
	uint8_t sq_log_size; /* WQEBBs */
	bool no_sq, no_rq, rlky;
	bool fre; /* its WQEs may register memory: a kernel's */
	bool utc; /* the times of its completions are */
	struct softrnic_qp_rq rq;
	LIST_HEAD(, softrnic_mcg_member) groups; /* that it is in: receive/mcg.h */
	bool block_lb_mc; /* what it sends to a group that it is in does not come back */
	/* The path: the address of ours that is the source; what its packets have around them, the peer's addresses among it */
	uint8_t source_index;
	struct rocev2_frame frame;
	struct rocev2_prefix prefixes[ROCEV2_PREFIXES]; /* of frames of it */
	/* What follows from it, by the addresses of generation dev->roce_generation (engine/qp_emit.c). */
	uint64_t route_generation;
	enum softrnic_roce_route route;
	uint32_t frame_bytes; /* of a frame, but for what opcode and payload add */
	/* Datagrams: what the path was made of, and what is around the one that is being received. */
	struct rnic_wqe_av av;
	const struct rocev2_frame *arriving;

	/* The data path's. */
	struct softrnic *dev;
	uint16_t sq_consumer;	   /* WQEBBs fetched */
	uint16_t sq_producer;	   /* as last read from the record */
	bool sq_failed, rq_failed; /* that ring can no longer be read */
	bool broken;		   /* an event told why it must go to ERR, or why it did */
	bool error_told;	   /* an error CQE of a send WQE was written since RST */
	bool open;		   /* counted in dev->open_qps */
	bool active;		   /* on the list of those with work */
	bool suspect;		   /* the sweep saw work that no doorbell has told of yet */
	bool timed;		   /* on the list of those with a deadline */
	uint32_t watched; /* its slot among those that qp_watch.c looks at, from 1 on; 0: none */
	/* Where the data segments of its WQEs begin, by opcode, in units of 16 bytes; 0: not an opcode of its type. */
	const uint8_t *data_at;
	/* Private copies of the send WQEs that are not done, at the offsets that they have in the ring. */
	uint8_t *wqes;
	/* Private copy of the receive WQE in use: its data segments. */
	uint8_t *recv_wqe;
	uint32_t recv_bytes;
	/* Where the last packet's data was found: of what is sent, of a READ's answer, of what is received. */
	struct softrnic_qp_cursor gather_at, scatter_at, recv_at;
	uint64_t deadline;
	uint64_t memory; /* bytes that count in the device's budget */
	TAILQ_ENTRY(softrnic_qp) active_link;
	TAILQ_ENTRY(softrnic_qp) sweep_link;
	TAILQ_ENTRY(softrnic_qp) timed_link;

	/* Cold: the control plane's, as created and modified, for QUERY_QP. */
	struct rnic_qpc context;
#ifdef SOFTRNIC_BF_AUDIT
	struct softrnic_bf_audit bf_audit;
#endif
};

/* The vendor syndromes of our error CQEs tell the places apart. */
enum qp_vendor_syndrome {
	QP_VENDOR_REQUESTER = 0x81,
	QP_VENDOR_RESPONDER = 0x82,
	QP_VENDOR_FLUSHED = 0x83,
};

static inline bool
softrnic_qp_is_datagram(const struct softrnic_qp *qp)
{
	return qp->connection == SOFTRNIC_QP_UNCONNECTED;
}

static inline bool
softrnic_qp_is_connected(const struct softrnic_qp *qp)
{
	return qp->connection < SOFTRNIC_QP_ALONE;
}

/* The end of an XRC connection that gets requests; the other end sends them. */
static inline bool
softrnic_qp_is_xrc_target(const struct softrnic_qp *qp)
{
	return qp->type == SOFTRNIC_QP_XRC && qp->no_sq;
}

static inline struct softrnic_qp *
softrnic_qp_of(struct roce_qp *roce)
{
	return container_of(roce, struct softrnic_qp, roce);
}

/* There may be something to do. */
static inline void
softrnic_qp_activate(struct softrnic *dev, struct softrnic_qp *qp)
{
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&dev->active_qps, qp, active_link);
}

/* It must go to ERR, for a reason that no completion tells: an event does. The next poll changes the state. */
void softrnic_qp_break(struct softrnic_qp *qp, enum rnic_event what, const char *why);

#endif
