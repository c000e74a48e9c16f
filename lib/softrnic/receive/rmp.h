/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive memory pools. */
#ifndef SOFTRNIC_RMP_H
#define SOFTRNIC_RMP_H

#include "softrnic/base/command.h"
#include "softrnic/base/ring.h"

struct softrnic_cq;

/*
 * A receive memory pool, for many QPs and RQs: receive WQEs in a linked list, which is what an SRQ is, or one behind the
 * other. One of an XRC domain (xrc_srq.h) is named by requests, and has a CQ of its own.
 */
struct softrnic_rmp {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec; /* counter 0: WQEs posted */
	struct softrnic_object *pd_object;
	uint32_t pd;
	uint16_t producer; /* as last read from the record */
	uint16_t consumer; /* WQEs taken, for the first time */
	uint16_t next;	   /* index of the WQE that is taken next */
	uint16_t limit;	   /* fewer left than this: SRQ_LIMIT once, then 0 */
	uint8_t log_size, log_stride;
	uint8_t state; /* enum rnic_wq_state: RDY, ERR */
	bool cyclic;
	/* Those that were taken and came back, as completions name them: the last one is taken first. */
	uint16_t *returned;
	uint32_t returned_count;
	struct softrnic_object *xrcd; /* NULL: of no XRC domain, and then there is no CQ */
	struct softrnic_cq *cq;
	uint32_t user_index;
	union {
		struct rnic_rmpc context;
		struct rnic_xrc_srqc xrc_context;
	};
};

/* How a pool of either kind is laid out, as its context says. */
struct softrnic_rmp_conf {
	uint32_t pd, limit;
	uint8_t log_size, log_stride; /* WQEs; bytes of one */
	bool cyclic;
	struct softrnic_address record;
	struct softrnic_ring_place place;
};

/* Where the data segments of its WQEs begin. */
static inline uint32_t
softrnic_rmp_first(const struct softrnic_rmp *rmp)
{
	return rmp->cyclic ? 0 : sizeof(struct rnic_wqe_next);
}

/* MODIFY_RMP armed a limit: is it reached already? */
void softrnic_rmp_limit(struct softrnic *dev, struct softrnic_rmp *rmp);
/* Has it no WQE now? One in error is not empty: its error is for who comes for a WQE. */
bool softrnic_rmp_empty(struct softrnic *dev, struct softrnic_rmp *rmp);
/*
 * Copy the next WQE into `wqe`, 2^log_stride bytes. *counter: how completions name it, by its place in the list, or by
 * its count. 1; 0: there is none; < 0: the pool is in error, which its event has told.
 */
int softrnic_rmp_take(struct softrnic *dev, struct softrnic_rmp *rmp, uint8_t *wqe,
		      uint16_t *counter);
/* One that was taken is not needed: it is the next one. */
void softrnic_rmp_give_back(struct softrnic_rmp *rmp, uint16_t counter);

/* What of it we do not offer; NULL: all is well. */
const char *softrnic_rmp_fault(const struct softrnic_rmp_conf *conf);
/* The last steps of a CREATE command: memory, and its number. An enum rnic_cmd_status; `rmp` is zero but for its context. */
int softrnic_rmp_open(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_rmp *rmp,
		      const struct softrnic_rmp_conf *conf);
/* It goes, whatever refers to it. */
void softrnic_rmp_free(struct softrnic *dev, struct softrnic_rmp *rmp);
/* The pool of that number, if it is one of an XRC domain, or if it is none of those; else NULL. */
struct softrnic_rmp *softrnic_rmp_find(struct softrnic *dev, uint32_t number, bool of_xrcd);

SOFTRNIC_CMD(create_rmp);
SOFTRNIC_CMD(modify_rmp);
SOFTRNIC_CMD(destroy_rmp);
SOFTRNIC_CMD(query_rmp);

#endif
