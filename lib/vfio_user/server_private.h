/* SPDX-License-Identifier: BSD-3-Clause */

/* The inside of a server, shared by its two halves: connections (server.c) and commands (server_commands.c). */
#ifndef VFU_SERVER_PRIVATE_H
#define VFU_SERVER_PRIVATE_H

#include "close_thread.h"
#include "dma.h"
#include "irq.h"
#include "listen.h"
#include "look.h"
#include "message.h"
#include "pace.h"
#include "server.h"

#define VFU_WAITING	    4  /* clients that are being told that another is served */
#define VFU_LOGGED_REFUSALS 16 /* per client: a hostile one shall not fill the disk */

enum vfu_client_state {
	VFU_CLIENT_NONE,
	VFU_CLIENT_CONNECTED, /* no version yet */
	VFU_CLIENT_SERVED,
	VFU_CLIENT_LEAVING, /* gone, and its memory is being unmapped */
};

struct vfu_waiting {
	struct vfu_channel channel; /* fd -1: free */
	uint64_t deadline_ms;
};

struct vfu_server {
	struct vfu_server_conf conf;
	struct vfu_log log;
	char name[64];
	int epoll_fd;
	int timer_fd;
	int spare_fd; /* closed for a moment when the process has no descriptor left for a new client */
	uint64_t said_ms;	/* the last time of a message that can repeat in a loop */
	uint64_t deaf_until_ms; /* new clients are ignored until then; 0: they are not */
	uint64_t timer_ms;	/* 0: not set */
	struct vfu_listener listener;
	/* NULL: not started. Two of them, as a close() may wait for ever, and no mapping may wait for it. */
	struct vfu_close_thread *close_thread, *map_thread;

	/* The client */
	enum vfu_client_state state;
	struct vfu_channel channel;
	uint32_t events; /* that epoll watches on its socket */
	struct vfu_peer client;
	struct vfu_capabilities agreed;
	unsigned int client_max_fds;
	uint64_t deadline_ms; /* of the first message */
	unsigned int logged;
	bool closing; /* after the answer at hand: it broke the protocol */
	/* Of a client that is leaving: whether it had negotiated, and why it leaves. */
	bool was_served;
	int reason;
	struct vfu_look look;
	struct vfu_pace pace; /* of all clients, since they come and go */
	/* The current command has many units, and continues in the next look. */
	bool unfinished;
	bool waits;    /* ... for the close thread, which wakes us */
	uint64_t done; /* of it: bytes, or writes */

	struct vfu_dma_table dma;
	struct vfu_irq_table irqs;

	struct vfu_waiting waiting[VFU_WAITING];

	uint8_t *reply; /* room for the longest payload */
	size_t reply_room;
	struct vfu_server_stats stats;
};

/* The answer of a command. */
struct vfu_reply {
	size_t length; /* bytes of server->reply */
	int fd;	       /* -1: none */
};

/*
 * Execute the command that server->channel has received, or go on with it. If it sets server->unfinished there is no
 * answer yet. @return 0 or the -errno of the answer.
 */
int vfu_server_command(struct vfu_server *server, struct vfu_reply *reply);

/*
 * Unmap the entries [first, first + count), in the device first, the last entry first: as many as the look has steps for, and at
 * least one. @return whether that was all.
 */
bool vfu_server_dma_drop(struct vfu_server *server, unsigned int first, unsigned int count);

#endif
