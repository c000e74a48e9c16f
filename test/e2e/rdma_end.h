/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One end of a connection whose other end is in the same process, or in another one: the end that acts is called
 * directly, its peer by orders, which go over a socket if they must.
 */
#ifndef E2E_RDMA_END_H
#define E2E_RDMA_END_H

#include "rdma.h"

#include <sys/types.h>

#define RDMA_MESSAGE (8u << 20) /* the longest */
#define RDMA_PIECES  4		/* segments of a message that has several */
#define RDMA_FROM    RDMA_GUARD /* where messages are taken from, in an end's memory */
#define RDMA_GRH     (RDMA_HALF - 2 * RDMA_GUARD) /* where the headers of datagrams go */
#define RDMA_TO	     (RDMA_HALF + RDMA_GUARD)

/* All of an end's memory, registered with different rights. */
enum rdma_region {
	RDMA_REGION_ALL,
	RDMA_REGION_READ,    /* local read, remote read */
	RDMA_REGION_WRITE,   /* local write, remote write */
	RDMA_REGION_FOREIGN, /* all rights, in another protection domain */
	RDMA_REGION_GONE,    /* all rights, deregistered */
	RDMA_REGIONS,
};

/* What a window of an end's is like, when it is asked for: of the target, RDMA_TO, and all rights. */
enum rdma_window {
	RDMA_WINDOW_NONE,
	RDMA_WINDOW_TYPE_1,
	RDMA_WINDOW_TYPE_2,
	RDMA_WINDOW_OTHER_QP,	 /* type 2, bound to another queue pair */
	RDMA_WINDOW_UNBOUND,	 /* type 1, bound and unbound */
	RDMA_WINDOW_INVALIDATED, /* type 2, bound and invalidated */
	RDMA_WINDOW_FREED,
	RDMA_WINDOW_NO_RIGHTS,
	RDMA_WINDOW_FREE,	/* type 2, not bound */
	RDMA_WINDOW_ZERO_BASED, /* type 2, whose addresses begin with 0 */
};

struct rdma_end {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd, *other_pd;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp; /* the one in use */
	struct rdmapmd_qp_cap cap;
	/* One of each type that was in use, and its capacities; how they are made. */
	struct rdmapmd_qp *qps[RDMAPMD_QPT_UD + 1];
	struct rdmapmd_qp_cap caps[RDMAPMD_QPT_UD + 1];
	struct rdma_conf conf;
	struct rdmapmd_ah *ah; /* to the peer; of UD */
	struct rdmapmd_mr *mr[RDMA_REGIONS];
	uint32_t keys[RDMA_REGIONS];
	struct rdmapmd_mw *window; /* NULL: none */
	struct rdmapmd_qp *other;  /* connected with itself */
	uint8_t *memory;
	union rdmapmd_gid gid;
	uint8_t mac[6];
};

/* In RESET. The queues are as conf says; of the other types they are made when they are asked for. */
void rdma_end_open(struct rdma_end *end, const char *device, const struct rdma_conf *conf);
void rdma_end_close(struct rdma_end *end);
/* From now on the queue pair of that type is in use. */
void rdma_end_use(struct rdma_end *end, enum rdmapmd_qp_type type);

/* ---- Windows ---- */

/* Another one in place of the one that there is: its key. */
uint32_t rdma_end_window(struct rdma_end *end, enum rdma_window kind);
void rdma_end_window_free(struct rdma_end *end);
/* By a request: the one of type 2 that there is. */
void rdma_end_window_invalidate(struct rdma_end *end);
/* A request that binds a window of type 2 so. */
struct rdmapmd_send_wr rdma_end_bind(struct rdma_end *end);

/* ---- Messages: a pattern that follows from a seed ---- */

/* A message in `count` segments (1 or RDMA_PIECES) from there on, of lengths that differ and with gaps. */
void rdma_end_pieces(const struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count,
		     struct rdmapmd_sge *sges);
/* Put message `seed` there; or mark all of it, and what is around it, as untouched. */
void rdma_end_put(struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count,
		  uint64_t seed);
void rdma_end_blank(struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count);
/* Is message `seed` there, and nothing around it? */
bool rdma_end_has(const struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count,
		  uint64_t seed);

/* A counter of its port, by its name. */
uint64_t rdma_end_counter(struct rdma_end *end, const char *name);
/* One more address, in a VLAN; at the end of the table. */
void rdma_end_address(struct rdma_end *end, const union rdmapmd_gid *gid, uint16_t vlan);

/* ---- The peer ---- */

/* What a receive is like. */
enum rdma_receive {
	RDMA_RECEIVE_EXACT, /* as long as the message */
	RDMA_RECEIVE_SHORT, /* a byte less */
	RDMA_RECEIVE_BAD_KEY,
	RDMA_RECEIVE_READ_ONLY, /* into memory that may not be written to */
};

struct rdma_order {
	enum rdma_order_kind {
		RDMA_ORDER_HELLO,   /* says who it is, by its GID conf.sgid_index */
		RDMA_ORDER_CONNECT, /* from RESET, to `qpn` at `gid` as `conf` says */
		RDMA_ORDER_RESET,   /* and from now on the one of conf's type is in use */
		/* message `seed` to RDMA_FROM; RDMA_TO blank; receives for `length` bytes in `pieces`; arm */
		RDMA_ORDER_PREPARE,
		RDMA_ORDER_WINDOW,    /* as `window` says; after CONNECT, before PREPARE */
		RDMA_ORDER_LOCAL_INV, /* the window of type 2 */
		RDMA_ORDER_POLL, /* wait for a completion, then for an event of the CQ if `event` */
		RDMA_ORDER_HAS,	 /* is message `seed` at RDMA_TO? */
		RDMA_ORDER_EVENT,   /* wait for an asynchronous one */
		RDMA_ORDER_QUIET,   /* nothing comes for a while? */
		RDMA_ORDER_COUNTER, /* how many of `counter`? */
		RDMA_ORDER_ADDRESS, /* it has `gid` as well, in `vlan` */
		RDMA_ORDER_JOIN,    /* the one in use joins the group `gid` */
		RDMA_ORDER_LEAVE,
	} kind;
	struct rdma_conf conf;
	uint32_t qpn;
	union rdmapmd_gid gid;
	uint16_t vlan;
	uint64_t seed;
	uint64_t value; /* what RDMA_FROM begins with instead, unless it is 0 */
	uint32_t length;
	uint32_t slot; /* PREPARE and HAS: so far behind RDMA_FROM and RDMA_TO */
	uint32_t psn;  /* HAS, of UC: all packets before it have been sent */
	uint32_t pieces;
	uint32_t receives;
	enum rdma_receive receive;
	enum rdma_window window;
	bool event;
	char counter[32];
};

struct rdma_answer {
	uint32_t qpn;
	union rdmapmd_gid gid;
	uint8_t mac[6];
	uint64_t address; /* of its memory */
	uint32_t keys[RDMA_REGIONS];
	uint32_t window; /* its key */
	struct rdmapmd_wc wc;
	uint64_t value; /* what RDMA_FROM begins with; the counter */
	enum rdmapmd_event_type type;
	bool yes; /* HAS, QUIET; POLL: the CQ had an event */
};

void rdma_end_obey(struct rdma_end *end, const struct rdma_order *order,
		   struct rdma_answer *answer);

struct rdma_peer {
	struct rdma_end *end; /* in this process; NULL: */
	int fd;
	pid_t pid;
};

/* Start this program again, as the process whose device `devargs` says; in the network namespace of RDMA_PEER_NETNS, if set. */
void rdma_peer_start(struct rdma_peer *peer, const char *devargs);
/* It closes everything and ends well. */
void rdma_peer_stop(struct rdma_peer *peer);
/* kill -9. */
void rdma_peer_kill(struct rdma_peer *peer);
/* What main() does if its first argument is RDMA_PEER_ARGUMENT: PROGRAM RDMA_PEER_ARGUMENT FD DEVARGS. */
#define RDMA_PEER_ARGUMENT "--peer"
int rdma_peer_main(char **argv);
struct rdma_answer rdma_peer_do(struct rdma_peer *peer, const struct rdma_order *order);

/*
 * Both from RESET to RTS, and to each other, of own_conf's type; the peer of one of type GSI is of type UD. Asynchronous events that
 * wait are dropped.
 */
void rdma_meet(struct rdma_end *own, struct rdma_peer *peer, const struct rdma_conf *own_conf,
	       const struct rdma_conf *peer_conf);

#endif
