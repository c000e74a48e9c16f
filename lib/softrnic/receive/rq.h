/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues. */
#ifndef SOFTRNIC_RQ_H
#define SOFTRNIC_RQ_H

#include "prm/wqe.h"
#include "softrnic/base/command.h"
#include "softrnic/base/ring.h"
#include "softrnic/port/headers.h"

struct softrnic_cq;
struct softrnic_q_counter;
struct softrnic_rmp;

struct softrnic_rq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *cq;
	struct softrnic_q_counter *counter; /* may be NULL */
	struct softrnic_rmp *rmp;	    /* whose WQEs it takes; NULL: its own ring's */
	struct softrnic_object *pd_object;  /* NULL with rmp, whose domain counts */
	uint32_t pd, user_index;
	uint16_t consumer; /* WQEs used */
	uint16_t producer; /* as last read from the record */
	uint8_t log_size, log_stride;
	uint8_t state;
	bool rlky, vsd, flush_in_error;
	bool flushing; /* in ERR, and can be read: what is posted is flushed */
	bool utc;      /* the times of its frames are */
	bool plain;    /* RDY, and frames have nothing more to ask for than others */
	TAILQ_ENTRY(softrnic_rq) flush_link;
	struct rnic_rqc context;
};

/* Flush what was posted to a few queues in ERR since: no doorbell tells of it. */
void softrnic_rq_sweep(struct softrnic *dev, unsigned int count);
/* Has the queue a WQE for a frame that came now? */
bool softrnic_rq_has_wqe(struct softrnic *dev, struct softrnic_rq *rq);
/*
 * How many WQEs of its own ring, up to `want`, it has for frames that ask for nothing more than others. It looks, and fails nothing:
 * 0 too when the queue takes frames in another way, or none, or is about to fail.
 */
uint32_t softrnic_rq_posted(struct softrnic *dev, struct softrnic_rq *rq, uint32_t want);
/* Deliver a frame to an RQ: one WQE, one CQE. */
void softrnic_rq_receive(struct softrnic *dev, struct softrnic_rq *rq,
			 const struct softrnic_frame *frame, struct softrnic_rx_info *info);

/* ---- Inline: WQEs as they are in the ring. ---- */

#define SOFTRNIC_RQ_AHEAD 256 /* bytes: WQEs to come are asked for early */

/* We need no padding in front of it. */
static inline uint32_t
softrnic_rq_segment_length(const struct rnic_wqe_data *seg)
{
	return rnic_be32_to_cpu(seg->byte_count) & ~RNIC_WQE_START_PADDING;
}

/* See softrnic_object_drop(). */
void softrnic_rq_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_rq);
SOFTRNIC_CMD(modify_rq);
SOFTRNIC_CMD(destroy_rq);
SOFTRNIC_CMD(query_rq);

#endif
