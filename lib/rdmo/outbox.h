/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that an initiator sends: buffers, and which of them are under way, in their order. A buffer is free when it was sent; if its
 * operations may have to be sent again, when they are answered as well. No I/O, no allocation.
 *
 *     oldest ---------------- posted ---------------- next
 *       being sent, not answered    to be sent again
 *
 * Numbers of messages are the connection's, and count modulo 2^32.
 */
#ifndef RDMO_OUTBOX_H
#define RDMO_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmo_wire.h"

/* Buffers at most. */
#define RDMO_OUTBOX_MAX 320

struct rdmo_outbox {
	uint8_t *memory;
	uint32_t buffers, bytes;		    /* of each */
	bool keeps;				    /* until their operations are answered */
	uint32_t oldest, posted, next;		    /* of the order, modulo 2^32 */
	uint64_t free[(RDMO_OUTBOX_MAX + 63) / 64]; /* by bit */
	struct {
		uint32_t buffer;
		uint32_t number; /* of the message, when it is posted */
	} order[512];
};

/* Begin, with nothing under way. `memory`: of buffers x bytes; `bytes` is a multiple of 8. */
void rdmo_outbox_begin(struct rdmo_outbox *box, void *memory, uint32_t buffers, uint32_t bytes,
		       bool keeps);

/* A buffer that is free: the same one until rdmo_outbox_put(). NULL: there is none. */
void *rdmo_outbox_free(const struct rdmo_outbox *box);

/* The message in the buffer that rdmo_outbox_free() gave is to be sent. */
void rdmo_outbox_put(struct rdmo_outbox *box);

/* The next message that is to be sent; NULL: there is none. */
struct rdmo_msg *rdmo_outbox_next(const struct rdmo_outbox *box);

/* It is being sent, as this number. */
void rdmo_outbox_posted(struct rdmo_outbox *box, uint32_t number);

/* Messages up to this number were sent; operations before `seq` are answered. */
void rdmo_outbox_done(struct rdmo_outbox *box, uint32_t number, uint64_t seq);

/* Nothing is being sent any more, and what is not answered will be sent again, from operation `seq` on. */
void rdmo_outbox_again(struct rdmo_outbox *box, uint64_t seq);

#endif
