/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One device that is up for many inputs: an ethdev port with two pairs of queues, and all objects of lib/rdmapmd. What an
 * input has used is as it was when the next one begins; a device that cannot be brought there is closed, and another opened.
 */
#ifndef TEST_FUZZ_DRIVER_WORLD_H
#define TEST_FUZZ_DRIVER_WORLD_H

#include "port.h"

#include "core/dev.h"
#include "rdmapmd_driver.h"

#define WORLD_MEMORY	 (1u << 16)
#define WORLD_DEPTH	 16 /* requests of each queue */
#define WORLD_SGES	 4
#define WORLD_EQ_ENTRIES 16
#define WORLD_INLINE	 64

enum world_qp {
	QP_PLAIN,  /* one CQ for both queues, which has events */
	QP_SHARED, /* an SRQ, and two CQs */
	QP_RAW,	   /* RAW_PACKET */
	QP_ASKS_NONE, /* all sends are signaled; no READs, no atomics; as CQ that of QP_PLAIN; its peer is itself */
	WORLD_QPS,
};
#define WORLD_SRQ WORLD_QPS /* where a request was posted to, if not to a queue pair */

enum world_cq {
	CQ_PLAIN,
	CQ_SENDS,
	CQ_RECEIVES,
	CQ_RAW,
	WORLD_CQS,
};

/* Requests are told apart by their wr_id: whose, and the how maniest. */
#define WORLD_REQUESTS 256
struct world_posted {
	uint32_t count;
	uint64_t length[WORLD_REQUESTS]; /* of those last posted */
};

struct world {
	struct rnic_dev *dev;
	struct port_queues q[PORT_QUEUES];
	struct rnic_eq *eq; /* of completions that nobody waits for */
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	uint8_t *memory;
	struct rdmapmd_mr *mr;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq[WORLD_CQS];
	struct rdmapmd_srq *srq;
	struct rdmapmd_qp *qp[WORLD_QPS];
	rdmapmd_poll_cq_t poll; /* of a device that is not lost */
	uint32_t objects;	/* of the device, when nothing has happened */
	struct world_posted sends[WORLD_QPS], receives[WORLD_QPS + 1];

	/* By this input. */
	bool rx_used[PORT_QUEUES], tx_used[PORT_QUEUES];
	bool qp_used[WORLD_QPS], srq_used, gids_used;
};

extern struct world world;

/* The device is up, and nothing has happened. */
void world_begin(void);
/* What was used is made as it was. Then: is it? */
void world_end(void);
/* A change of state that the application may ask for. */
int world_modify(unsigned int qp, enum rdmapmd_qp_state to);
/* Take what the library tells, and acknowledge it. */
void world_take_events(void);
/* Entries of a CQ, at most so many; each is one that an application may get. Returns how many. */
uint16_t world_poll_cq(unsigned int cq, uint16_t n);

#endif
