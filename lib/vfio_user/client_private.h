/* SPDX-License-Identifier: BSD-3-Clause */

/* The inside of a client, shared by its two halves: the connection (client.c) and the calls (client_calls.c). */
#ifndef VFU_CLIENT_PRIVATE_H
#define VFU_CLIENT_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client.h"
#include "message.h"

#define VFU_LEFT_MAX 4 /* requests whose answers nobody waits for */

struct vfu_client {
	struct vfu_client_conf conf;
	struct vfu_log log;
	char name[64];
	struct vfu_peer server;
	struct vfu_capabilities agreed;
	unsigned int server_max_fds;

	pthread_mutex_t lock; /* of the next two; held for moments */
	bool busy;	      /* it is a thread's turn, whose all below is */
	int reason;	      /* why the connection is dead; 0: it lives */

	pthread_cond_t freed; /* it is nobody's turn now */
	struct vfu_channel channel;
	uint64_t deadline_ms; /* of the call under way */
	atomic_ullong end_ms; /* ... and of all calls */
	uint16_t next_id;
	bool dead;
	/* In the order in which their answers come. */
	struct vfu_left {
		uint16_t id, command;
	} left[VFU_LEFT_MAX];
	unsigned int left_count;
};

/* A request, and what is expected of the answer. */
struct vfu_call {
	uint16_t command;
	bool posted;
	unsigned int npayload;
	struct iovec payload[2];
	const int *fds;
	unsigned int nfds;
	size_t min_reply; /* bytes of payload in an answer that is no error */
};

/*
 * Begin a call, which has timeout_ms from now on for all its messages. Other calls wait.
 * @return 0, or -ECANCELED: this thread must not wait, and may not call.
 */
int vfu_client_enter(struct vfu_client *client);
void vfu_client_leave(struct vfu_client *client);

/*
 * Send a request and wait for its answer, which is client->channel.message until the call ends. The caller has begun one.
 * @return 0, the server's errno, -ECANCELED, or why the connection is dead.
 */
int vfu_client_call(struct vfu_client *client, const struct vfu_call *call);

/* The server is lost: log it once. @return reason. */
int vfu_client_give_up(struct vfu_client *client, int reason);

#endif
