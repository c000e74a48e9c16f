/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages of all kinds that both ends of a connection send at once, as a seed says: how many, how long, with which rights,
 * and how often the devices are polled meanwhile. Time goes by as the test clock says, so that a run can be repeated to the
 * poll.
 */
#ifndef TEST_QP_MIX_H
#define TEST_QP_MIX_H

#include "qp_world.h"

#define QM_SLOT (8u << 10) /* of a message, at either end */
#define QM_MESSAGES \
	24u /* of each end: in its memory half of the slots are for them, half for the peer's */
#define QM_WORD	 (2 * QM_MESSAGES * QM_SLOT) /* where the peer's atomics go */
#define QM_BYTES (QM_WORD + 8)
#define QM_ROOM	 256u /* for completions */

/* A completion. */
struct qm_seen {
	uint32_t poll, counter, bytes, immediate;
	uint8_t queue; /* a_send, a_recv, b_send, b_recv */
	uint8_t opcode, syndrome;
	bool solicited;
};

struct qm {
	struct qw_two *two;
	uint64_t random;
	bool punctual;			  /* all receives are there before anything is sent */
	uint32_t bad_keys;		  /* so many of 1000 requests have a key that is none */
	void (*each_poll)(struct qm *qm); /* before each; may be NULL */
	uint32_t posted[2], done[2], received[2], polls;
	uint32_t count;
	struct qm_seen seen[QM_ROOM];
};

/* The next number of the seed's, below the limit. */
uint32_t qm_below(struct qm *qm, uint32_t limit);
void qm_seed(struct qm *qm, uint64_t seed);
/* What that end sends from and receives into: QM_BYTES. */
uint8_t *qm_memory(const struct qm *qm, unsigned int end);
/* All messages, until each has completed, and then some polls more; its queue pairs are connected. */
void qm_run(struct qm *qm);

#endif
