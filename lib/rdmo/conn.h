/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An initiator's connection: how it is made, and made again (connect.c); what is posted and polled (conn.c).
 *
 *     rdmo_post():  operations --> message in a buffer --> SEND           places[]: what was posted and is not answered
 *     rdmo_poll():  CQ --> answers in a receive --> completions           in order; a place is free when it is passed
 *
 * The last credit is for a message that brings credits alone: else both ends could wait for each other's.
 *
 * A producer keeps its messages until they are answered. Made again, the connection sends them again, as they are: the worker tells what
 * was done by the log (round.h).
 */
#ifndef RDMO_CONN_H
#define RDMO_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "outbox.h"
#include "rdmo.h"

#define RDMO_CONN_BURST	  16
#define RDMO_CONN_BACK	  4 /* receives posted at once, at most */
#define RDMO_CONN_CREDITS 4 /* messages that bring credits alone, under way at most */
#define RDMO_CONN_NONE	  UINT32_MAX

/* An operation that was not answered yet. */
struct rdmo_conn_place {
	uint64_t user_data;
	uint32_t length; /* of GATHER: of its bytes */
	uint32_t kind;	 /* which operation, and whether RDMO_FLAG_SILENT */
};

struct rdmo_conn {
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq;
	struct rdmapmd_comp_channel *channel; /* of who sleeps; else NULL */
	struct rdmapmd_mr *mr;
	uint8_t *memory;	/* receives, then the outbox's, then: */
	uint8_t *credit_memory; /* messages that bring credits alone */
	uint64_t session;
	uint32_t receives, receive_bytes;
	/* Operations: the next one's number, the first one's that was not answered, and those before which nobody will answer. */
	uint64_t next_seq, first_seq, lost_seq;
	/* The first silent one that no FLUSH has told of; and that of a former connection, whose failures its worker alone knew. 0: none. */
	uint64_t silent_seq, doubtful_seq;
	struct rdmo_conn_place *places;
	void **into; /* of a place that is a GATHER's: where its bytes go */
	uint32_t depth;
	/* Messages, modulo 2^32: sent, that may be sent; received ones that are free again, as the worker has been told. */
	uint32_t sent, may_send, granted, told;
	uint32_t completed; /* of those sent */
	struct rdmo_outbox outbox;
	uint32_t credit_sent[RDMO_CONN_CREDITS], credit_count; /* those that bring credits alone */
	/* Answers that are read now. */
	struct rdmo_reader reader;
	struct rdmo_answer answer;
	uint32_t answered;	       /* of them */
	uint32_t reading;	       /* the receive; RDMO_CONN_NONE */
	uint32_t back[RDMO_CONN_BACK]; /* receives that were read, to be posted again */
	uint32_t back_count;
	uint32_t waiting[RDMO_CONN_BURST]; /* receives behind it, as they came */
	uint32_t lengths[RDMO_CONN_BURST];
	uint32_t waiting_count, waiting_at;
	int error;
	enum rdmo_reason reason;
	bool is_over;
	uint64_t idle_since; /* cycles; 0: something has come */
	/* How it was made, and is made again. */
	struct rdmapmd_pd *pd;
	char *address;
	uint8_t secret[RDMO_SECRET_BYTES];
	uint32_t gid_index, timeout_ms;
	bool is_producer;
	uint32_t producer;
	bool is_named; /* by its target, which has its address; and it has no secret */
	bool is_begun; /* named, and not connected yet */
	struct rdmo_addr own;
	int fd;
	int epoll_fd; /* of who sleeps: the channel's, and `fd`; else -1 */
};

static inline uint8_t *
rdmo_conn_receive_at(const struct rdmo_conn *conn, uint32_t receive)
{
	return conn->memory + (size_t)receive * conn->receive_bytes;
}

/* Post receives, RDMO_CONN_BACK at most. False: the queue pair takes none. */
bool rdmo_conn_receives_post(struct rdmo_conn *conn, const uint32_t *receives, uint32_t n);

/* Send again what there is of it, as far as there are credits. */
void rdmo_conn_send_again(struct rdmo_conn *conn);

#endif
