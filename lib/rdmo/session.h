/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sessions: the streams of a worker's bootstrap, and what each of them owns. Its first command tells whose a session is: a target's
 * (CLIENT_INIT) or an initiator's (HELLO); any other one ends it.
 *
 *     target's session ----> receive queues (secrets, or initiators by address), regions (keys, in all lanes), of another process: its remote target (of a lane)
 *     initiator's session -> a connection: queue pair, peer of a lane
 *
 * Threads: one, which is none of the lanes' lcores. It may wait for commands of the device and for the lanes.
 */
#ifndef RDMO_SESSION_H
#define RDMO_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "control.h"
#include "crew.h"
#include "remote.h"
#include "shadow.h"

struct rdmo_rq_entry {
	TAILQ_ENTRY(rdmo_rq_entry) next;
	uint64_t rq_id;
	uint8_t secret[RDMO_SECRET_BYTES]; /* all zeros: it is for one initiator, */
	struct rdmo_addr addr;		   /* this one */
};

struct rdmo_region_entry {
	TAILQ_ENTRY(rdmo_region_entry) next;
	struct rdmo_region region;
	struct rdmapmd_mr *mr; /* of memory here, that the worker's device READs into; else NULL */
	struct rdmo_shadow shadow; /* of a log in another process */
};

enum rdmo_session_kind {
	RDMO_SESSION_NEW, /* half open */
	RDMO_SESSION_TARGET,
	RDMO_SESSION_INITIATOR,
};

struct rdmo_session {
	TAILQ_ENTRY(rdmo_session) next;
	int fd;
	enum rdmo_session_kind kind;
	bool is_local;	      /* a target of this process, which is believed where its memory is */
	bool is_ending;	      /* when what is to be sent has been sent */
	uint64_t deadline_ms; /* of a new one */
	struct rdmo_stream in;
	/* A notification under way: no command is read before it is sent. */
	_Alignas(8) uint8_t out[RDMO_CMD_MAX_BYTES];
	uint32_t out_count, out_sent;
	/* A target's. */
	uint64_t id;	 /* as it has named itself */
	uint64_t client; /* as the worker has numbered it */
	TAILQ_HEAD(, rdmo_rq_entry) queues;
	TAILQ_HEAD(, rdmo_region_entry) regions;
	struct rdmo_remote *remote; /* of one in another process; else NULL */
	/* An initiator's. */
	struct rdmo_peer *peer;
};
TAILQ_HEAD(rdmo_sessions, rdmo_session);

/* What they share. */
struct rdmo_house {
	struct rdmapmd_pd *pd;
	struct rdmo_crew *crew;
	uint32_t gid_index;
	struct rdmo_sessions sessions;
	uint64_t clients, queues;      /* how many there have been */
	atomic_uint targets;	       /* of this process that there are now */
	uint32_t remotes, max_remotes; /* targets of other processes: there are, there may be */
};

/* A descriptor's session, in no list yet; NULL: no memory, and it is closed. */
struct rdmo_session *rdmo_session_new(int fd, bool is_local, uint64_t deadline_ms);

/* Is its target to be told of what operations have done? Then that is to be sent. Nothing else is. */
bool rdmo_session_event(struct rdmo_session *session);

/* Execute the command that is whole; its notification is to be sent. */
void rdmo_session_command(struct rdmo_house *house, struct rdmo_session *session);

/* End it, and all that it has; it leaves its list. */
void rdmo_session_end(struct rdmo_house *house, struct rdmo_session *session);

#endif
