/* SPDX-License-Identifier: BSD-3-Clause */

/* The inside of a client, shared by its two halves: the connection (client.c) and the calls (client_calls.c). */
#ifndef VFU_CLIENT_PRIVATE_H
#define VFU_CLIENT_PRIVATE_H

#include <pthread.h>

#include "client.h"
#include "message.h"

struct vfu_client {
	struct vfu_client_conf conf;
	struct vfu_log log;
	char name[64];
	struct vfu_peer server;
	struct vfu_capabilities agreed;
	unsigned int server_max_fds;

	pthread_mutex_t lock; /* all below */
	struct vfu_channel channel;
	uint64_t deadline_ms; /* of the call under way */
	uint16_t next_id;
	bool dead;
	int reason;	  /* of the death; 0: alive */
	uint8_t *scratch; /* data of an answer to a DMA request */
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

/* Take the lock for a call, which has timeout_ms from now on, however many messages it is made of. */
void vfu_client_enter(struct vfu_client *client);

/*
 * Send a request and wait for its answer, which is client->channel.message until the lock is released.
 * Lock: held. @return 0, the server's errno, or why the connection is dead.
 */
int vfu_client_call(struct vfu_client *client, const struct vfu_call *call);

/* The server cannot go on: say so once. @return reason. */
int vfu_client_give_up(struct vfu_client *client, int reason);

#endif
