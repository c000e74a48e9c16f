/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands of a target and the worker's notifications, over a stream of bytes: written into memory of the caller, and put together
 * as they arrive. No I/O, no allocation.
 *
 * A stream asks for the bytes that it wants next, never for more than the rest of one command: first struct rdmo_cmd, then, when that
 * was found good, the length that it names, of RDMO_CMD_MAX_BYTES at most. What is wrong there leaves no next command, and the
 * connection is closed with a reason. What is wrong behind it is the command's, which is refused with a status; the stream goes on.
 */
#ifndef RDMO_CONTROL_H
#define RDMO_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmo_wire.h"

/* ---- Write: `buffer` at a multiple of 8, of RDMO_CMD_MAX_BYTES; each returns the bytes to send ---- */

/* Commands. `tag`: comes back in the notification. */
uint32_t rdmo_client_init_write(void *buffer, uint64_t tag, uint64_t id,
				const struct rdmo_addr *addr);
/* Either an address or a secret; the other one is NULL. */
uint32_t rdmo_rq_create_write(void *buffer, uint64_t tag, const struct rdmo_addr *addr,
			      const uint8_t *secret);
uint32_t rdmo_rq_destroy_write(void *buffer, uint64_t tag, uint64_t rq_id);
/* `reg`: all but the lengths of the byte strings. `rkey`: the region's RDMA key. */
uint32_t rdmo_mr_reg_write(void *buffer, uint64_t tag, const struct rdmo_mr_reg *reg,
			   uint32_t rkey);
uint32_t rdmo_mr_dereg_write(void *buffer, uint64_t tag, uint64_t rkey);
uint32_t rdmo_tail_hold_write(void *buffer, uint64_t tag, uint64_t rkey, bool is_held);
/* `hello`: all but the length of the address. */
uint32_t rdmo_hello_write(void *buffer, uint64_t tag, const struct rdmo_hello *hello,
			  const struct rdmo_addr *addr);

/* Notifications. `kind`: the command's, any that came. A command that was refused; not RDMO_STATUS_OK. */
uint32_t rdmo_refused_write(void *buffer, uint8_t kind, uint64_t tag, enum rdmo_status status);
/* CLIENT_INIT is done. */
uint32_t rdmo_client_init_done_write(void *buffer, uint64_t tag, const struct rdmo_addr *addr);
/* HELLO is done. */
uint32_t rdmo_hello_done_write(void *buffer, uint64_t tag, uint64_t session, uint64_t first_seq,
			       const struct rdmo_addr *addr);
/* Operations that have asked for it are done; `count`: 1 and more. */
uint32_t rdmo_event_write(void *buffer, uint64_t rkey, uint64_t count);
/* Another command is done. `number`: rq_id of the RQ ones, rkey of the MR ones and of TAIL. */
uint32_t rdmo_done_write(void *buffer, enum rdmo_cmd_kind kind, uint64_t tag, uint64_t number);

/* ---- Read ---- */

/* One command or notification that arrives. */
struct rdmo_stream {
	_Alignas(8) uint8_t bytes[RDMO_CMD_MAX_BYTES];
	uint32_t have;	    /* of them that have arrived */
	uint32_t whole;	    /* how long it is; before that is known, struct rdmo_cmd */
	bool notifications; /* the target's end; else commands, the worker's */
};

/* Begin: for notifications, or for commands. */
void rdmo_stream_begin(struct rdmo_stream *stream, bool notifications);

/* Where the next bytes go; and how many at most: 0, it is whole. */
static inline void *
rdmo_stream_room(struct rdmo_stream *stream)
{
	return stream->bytes + stream->have;
}

static inline uint32_t
rdmo_stream_wanted(const struct rdmo_stream *stream)
{
	return stream->whole - stream->have;
}

/* So many of those that were wanted have arrived. Returns why the connection is to be closed, if it is. */
enum rdmo_reason rdmo_stream_received(struct rdmo_stream *stream, uint32_t bytes);

/* Forget the one that is whole, and what was read of it. */
void rdmo_stream_next(struct rdmo_stream *stream);

/* A command. All pointers lead into the stream. */
struct rdmo_command {
	uint64_t tag;
	uint8_t kind; /* enum rdmo_cmd_kind if `status` is not RDMO_STATUS_OP */
	/* OK: what follows is right in itself. Else what it is to be refused with, and what follows is not to be used. */
	enum rdmo_status status;
	union {
		const struct rdmo_client_init *client_init;
		const struct rdmo_rq_create *rq_create;
		const struct rdmo_rq *rq;
		const struct rdmo_mr_reg *mr_reg;
		const struct rdmo_mr *mr;
		const struct rdmo_hello *hello;
		const struct rdmo_tail_hold *tail_hold;
	};
	const struct rdmo_addr *addr; /* CLIENT_INIT, RQ_CREATE, HELLO; NULL: none came */
	uint32_t rkey;		      /* MR_REG: the region's RDMA key */
};

/* Read the command that is whole. */
void rdmo_command_read(const struct rdmo_stream *stream, struct rdmo_command *command);

/* A notification. */
struct rdmo_notification {
	uint64_t tag;
	uint64_t number;    /* rq_id, rkey, session; else 0 */
	uint64_t count;	    /* EVENT */
	uint64_t first_seq; /* HELLO */
	uint8_t kind;	    /* the command's */
	enum rdmo_status status;
	const struct rdmo_addr
		*addr; /* CLIENT_INIT, HELLO: the worker's, in the stream; else NULL */
};

/* Read the notification that is whole. Returns why the connection is to be closed, if it is. */
enum rdmo_reason rdmo_notification_read(const struct rdmo_stream *stream,
					struct rdmo_notification *notification);

#endif
