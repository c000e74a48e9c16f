/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The bootstrap of a worker: a thread that listens, accepts, reads commands and sends notifications, without ever waiting for one
 * client. Who says nothing for 5 s is disconnected; while 64 have said nothing yet, others wait in the kernel.
 */
#ifndef RDMO_SERVE_H
#define RDMO_SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdmo.h"
#include "session.h"

#define RDMO_HELLO_MS  5000
#define RDMO_HALF_OPEN 64

struct rdmo_server {
	struct rdmo_house house;
	char address[RDMO_ADDRESS_BYTES];
	int listen_fd, wake_fd;
	uint32_t half_open;
	uint64_t deaf_until_ms; /* by rdmo_now_ms(): no descriptor was left */
	uint64_t told_ms;	/* when that was said; 0: never */
	bool has_more;		/* a session has had its turn, and goes on at once */
	atomic_bool is_stopped;
	pthread_mutex_t lock;	       /* of arrivals */
	struct rdmo_sessions arrivals; /* of this process */
	pthread_t thread;
};

/* Begin. `server->house`, but for its sessions, and `wake_fd`, an eventfd that the lane wakes it by, are set. Returns 0, -errno. */
int rdmo_server_start(struct rdmo_server *server, const char *address);

/* End, with all its sessions. */
void rdmo_server_stop(struct rdmo_server *server);

/* The end of a local target's stream, which is the server's from now on. Threads: any. Returns 0, -ENOMEM. */
int rdmo_server_adopt(struct rdmo_server *server, int fd);

#endif
