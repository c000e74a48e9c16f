/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages between the two ends of a run, over a stream: TCP, or a pair of sockets for a loopback run.
 *
 * A message is a head of PERF_LINK_HEAD bytes, which every version has, and a body of text:
 *
 *     RDMAPERF VVV TTTTTTTT LLLLLLLL\n     version (decimal), type, length of the body (hexadecimal)
 */
#ifndef PERF_LINK_H
#define PERF_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_LINK_VERSION  4
#define PERF_LINK_HEAD	   31
#define PERF_LINK_BODY_MAX (1u << 20)

/** What a message is about. */
enum perf_message_type {
	PERF_MESSAGE_HELLO,	/**< what the run is to be */
	PERF_MESSAGE_ADDRESSES, /**< of queue pairs and memory */
	PERF_MESSAGE_BEGIN,	/**< this end is ready for what comes next */
	PERF_MESSAGE_SENT,	/**< how many messages have been sent */
	PERF_MESSAGE_RESULT,	/**< what was measured */
	PERF_MESSAGE_LEAVES,	/**< this end was interrupted, and ends; at any time */
	PERF_MESSAGE_TYPES
};

/** A stream, and what of its next message has come. */
struct perf_link {
	int fd;
	char *buffer; /**< head and body, and a NUL behind it */
	size_t have, room;
	bool is_over; /**< it was said that it is */
};

/** A message that has come. */
struct perf_message {
	enum perf_message_type type;
	const char *body; /**< ends with NUL; the link's, until its next message */
	size_t length;	  /**< of the body */
};

/** Take over a descriptor. @return 0; -ENOMEM. */
int perf_link_open(struct perf_link *link, int fd);

/** Close it; one that is all zeros is no link. */
void perf_link_close(struct perf_link *link);

/** The other end was interrupted, as it has told: say so, once for each link. @return -ECONNABORTED; -EINTR: so was this one. */
int perf_link_left(struct perf_link *link);

/** @return 0; -EPIPE, -ETIMEDOUT: it was said, once for each link. */
int perf_link_send(struct perf_link *link, enum perf_message_type type, const char *body);

/**
 * Look for a message, without waiting.
 *
 * @return 1 there is one; 0 none yet; -EPIPE the other end has gone, -ECONNABORTED or -EINTR as perf_link_left(), -EPROTO it speaks another language: it was said.
 */
int perf_link_poll(struct perf_link *link, struct perf_message *message);

/**
 * Wait for a message of that type. Who waits for a RESULT has it also behind LEAVES.
 *
 * @param link       The stream.
 * @param type       What has to come next.
 * @param timeout_ms For all of it; -1: the other end has it to send, however long it takes.
 * @param message    Out.
 * @return 0; -EINTR (Ctrl-C; nothing was said); -ETIMEDOUT (said once for each link); as perf_link_poll(); -EPROTO also: one of another type.
 */
int perf_link_wait(struct perf_link *link, enum perf_message_type type, int timeout_ms,
		   struct perf_message *message);

#endif
