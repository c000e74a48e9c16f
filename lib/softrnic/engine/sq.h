/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues. */
#ifndef SOFTRNIC_SQ_H
#define SOFTRNIC_SQ_H

#include "softrnic/base/bf_audit.h"
#include "softrnic/base/command.h"
#include "softrnic/base/ring.h"
#include "softrnic/engine/offload.h"

struct softrnic_cq;

/* How far a multi-packet WQE is: where its next packet stands, and what those before it took of SOFTRNIC_ENTRIES_WQE. */
struct softrnic_multi {
	uint32_t at, entries;
};

struct softrnic_sq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *cq;
	struct softrnic_object *pd_object, *uar_object, *tis_object;
	uint32_t pd, uar, tis, user_index;
	uint16_t consumer; /* WQEBB counter */
	uint16_t producer; /* as last read from the record */
	uint8_t log_size;  /* of WQEBBs */
	uint8_t state;	   /* enum rnic_wq_state */
	bool rlky, flush_in_error;
	bool utc;		 /* the times of its completions are */
	bool stale;		 /* the record is from before RST: `producer` until a doorbell */
	bool active;		 /* on the device's list of queues with work */
	bool failed;		 /* an error CQE was written since RST */
	bool suspect;		 /* the sweep saw work that no doorbell has told of yet */
	uint32_t idle;		 /* polls without work */
	struct softrnic_lso lso; /* of the WQE at the consumer, as is the next */
	struct softrnic_multi multi;
	TAILQ_ENTRY(softrnic_sq) active_link;
	TAILQ_ENTRY(softrnic_sq) sweep_link;
	struct rnic_sqc context;
#ifdef SOFTRNIC_BF_AUDIT
	struct softrnic_bf_audit bf_audit;
#endif
};

/* Kick: look at the queue of this number (a doorbell named it). */
void softrnic_sq_doorbell(struct softrnic *dev, uint32_t sqn);
/*
 * The queue's turn, in a share that is not over: execute its WQEs, so many packets of them (and other work that they make:
 * work.h) and what remains of a WQE; returns how many.
 */
unsigned int softrnic_sq_poll(struct softrnic *dev, struct softrnic_sq *sq);

/* See softrnic_object_drop(). */
void softrnic_sq_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_sq);
SOFTRNIC_CMD(modify_sq);
SOFTRNIC_CMD(destroy_sq);
SOFTRNIC_CMD(query_sq);

#endif
