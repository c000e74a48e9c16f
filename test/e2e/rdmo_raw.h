/* SPDX-License-Identifier: BSD-3-Clause */

/* An initiator that sends bytes, whatever they are: a queue pair that a worker has let in. There is one at a time. */
#ifndef E2E_RDMO_RAW_H
#define E2E_RDMO_RAW_H

#include "rdmo/message.h"
#include "rdmo_world.h"

#define RDMO_RAW_WAIT_MS  60000 /* with sanitizers on a busy machine */
#define RDMO_RAW_RECEIVES 8u
#define RDMO_RAW_BYTES	  4096u

struct rdmo_raw {
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq, *send_cq;
	struct rdmapmd_mr *mr;
	uint8_t *memory; /* receives, then one message */
	uint64_t session;
	uint32_t credits;
	int fd;
};

extern struct rdmo_raw rdmo_raw;

void rdmo_raw_open(void);
/* One that has no receives, whatever it tells. */
void rdmo_raw_open_deaf(void);
/* One of no worker, for rdmo_raw_turn(). */
void rdmo_raw_open_to_itself(void);
void rdmo_raw_close(void);

/* Where the next message is written. */
uint8_t *rdmo_raw_message(void);

/* So many bytes of it; the worker's device has them when this returns. */
void rdmo_raw_send(uint32_t bytes);

/* A SEND of nothing to itself, and its end: the device has had a turn of all that was posted before. */
void rdmo_raw_turn(void);

/* The next message that comes: where it is, and its bytes. */
const uint8_t *rdmo_raw_wait(uint32_t *bytes);

/* Likewise; it has answers, and this is the first one. */
struct rdmo_answer rdmo_raw_answer(struct rdmo_reader *reader);

/* Answers, and then why the connection is closed. */
void rdmo_raw_expect_close(enum rdmo_reason reason);

/* A message that is good: an append of 8 bytes to the target's queue. Returns its bytes. */
uint32_t rdmo_raw_append(uint64_t seq);

#endif
