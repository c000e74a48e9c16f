/* SPDX-License-Identifier: BSD-3-Clause */

/* A client of softrnicd that says what it likes, as fast as it can, and waits for nothing. */
#ifndef TEST_DAEMON_HOSTILE_H
#define TEST_DAEMON_HOSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vfio_user/proto.h"

#define HOSTILE_LONGEST (1u << 20) /* data of a message, if the server takes that much */

struct hostile {
	int socket;
	size_t longest; /* data of a message, as agreed */
	uint8_t *bytes; /* messages to be sent */
	size_t length, sent;
	int fd; /* goes with the first of them, and stays ours; -1: none */
	uint64_t answers, refusals;
	/* The answer that is being received. */
	struct vfu_header answer;
	size_t received;
	int memory;    /* a file that can be mapped */
	pid_t puncher; /* 0: none */
	atomic_uint *punches;
	uint64_t turn;
};

/* Connect and negotiate. */
void hostile_open(struct hostile *h, const char *path);
void hostile_close(struct hostile *h);

/* One more message to be sent, an answer to it wanted or not. */
void hostile_say(struct hostile *h, uint16_t command, bool answered, const void *fixed,
		 size_t fixed_bytes, const void *data, size_t data_bytes);
/* DMA_MAP of part of h->memory. */
void hostile_map(struct hostile *h, uint64_t iova, uint64_t bytes, uint64_t offset);

/* A process maps the start of h->memory so many times, and punches it again and again when its pages are there: h->punches counts. */
void hostile_punch(struct hostile *h, size_t bytes, unsigned int maps);

/* Send what the socket takes. @return whether all is sent. */
bool hostile_push(struct hostile *h);
/* Take the answers that are there. */
void hostile_take(struct hostile *h);
/* All that is to be said is sent, and so many answers have come since the negotiation. */
void hostile_finish(struct hostile *h, uint64_t answers);

#endif
