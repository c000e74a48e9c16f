/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two queue pairs of the transport, the memory behind them, and a network between them that loses, doubles, delays and
 * corrupts packets as it is told, in virtual time. Everything is a function of the seed.
 */
#ifndef ROCE_NET_H
#define ROCE_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "softrnic/roce/roce.h"
#include "../counts.h"

#define NET_MEMORY  (2u << 20)
#define NET_VA	    0x7f00deadb000ull /* of the first byte of memory */
#define NET_KEY	    0x12345600u
#define NET_RECVS   1024u
#define NET_RECORDS 256u
#define NET_LATENCY 2000u /* ns */
#define NET_QPN	    0x100000u
#define NET_QKEY    0x11223344u
#define NET_HEADER  0x9e /* each byte before a datagram's payload */

/* The local memory of a request or receive WQE is in its cookie. */
#define NET_COOKIE(id, offset) ((uint64_t)(id) << 32 | (offset))
#define NET_ID(cookie)	       ((uint32_t)((cookie) >> 32))
#define NET_OFFSET(cookie)     ((uint32_t)(cookie))

struct net;
struct net_end;

struct net_completion {
	uint64_t cookie;
	uint64_t time;
	uint8_t syndrome;
	uint8_t opcode; /* WQE's, or of a receive: CQE's */
	uint32_t length, immediate;
	bool solicited;
	uint32_t source_qpn;
};

struct net_recv {
	uint64_t cookie;
	uint32_t capacity;
};

struct net_end {
	struct roce_qp qp; /* first: operations find the end by it */
	struct net *net;
	struct net_end *peer;
	struct roce_counters counters;
	uint8_t *memory;
	/* what the peer may do with NET_KEY, and where */
	unsigned int access;
	uint32_t region;    /* bytes of memory */
	bool remote_broken; /* accesses fail, for no fault of the peer */
	uint32_t bad_from;  /* local memory from this offset on may not be used */
	struct net_recv recvs[NET_RECVS];
	uint32_t recv_head, recv_tail;
	/* what happened, of late */
	struct net_completion sends[NET_RECORDS], receives[NET_RECORDS];
	uint32_t send_count, receive_count;
	enum rnic_event events[16];
	uint32_t event_count;
	uint32_t atomics;   /* executed */
	uint32_t timeouts;  /* seen before a poll */
	uint32_t strangers; /* datagrams with another Q_Key, which the owner drops */
	/* called as well, if set */
	void (*completed)(struct net_end *end, const struct net_completion *completion);
	void (*received)(struct net_end *end, const struct net_completion *completion);
	void *test;
};

struct net_pkt {
	struct roce_pkt pkt;
	struct net_end *to;
	uint64_t at, order;
	struct iovec piece;
	uint8_t payload[ROCE_MTU_MAX];
};

enum net_action { NET_PASS, NET_DROP, NET_DUPLICATE, NET_CORRUPT };

struct net {
	struct net_end ends[2];
	uint64_t now;
	uint64_t random;
	/* parts per million of packets */
	uint32_t drop, duplicate, reorder, corrupt;
	/* asked for each packet first, if set */
	enum net_action (*rule)(struct net *net, const struct net_end *from,
				const struct roce_pkt *pkt);
	/* sees each packet that arrives, before the QP does */
	void (*watch)(struct net_end *to, const struct roce_pkt *pkt);
	void *test;
	bool direct; /* packets are handed over within emit(), payload where it is */
	bool random_budget;
	/* under way, a heap by (at, order) */
	struct net_pkt **heap;
	uint32_t heap_count, heap_room;
	uint64_t order;
	uint64_t emitted, dropped, corrupted, duplicated, delivered;
};

struct net_conf {
	uint64_t seed;
	uint8_t requests_log;
	uint16_t window;
	bool srq[2];
	const struct roce_transport *transport; /* NULL: RC */
};

uint64_t net_random(struct net *net);
/* 0 .. below - 1 */
uint32_t net_below(struct net *net, uint32_t below);

struct net *net_create(const struct net_conf *conf);
void net_destroy(struct net *net);
/* Attributes that suit most tests. */
struct roce_attr net_attr(const struct net *net);
/* Both ends from RST to RTS with these; PSNs of end 0's requests start at psn, of end 1's at psn + 1000. */
void net_connect(struct net *net, const struct roce_attr *attr, uint32_t psn);
/* Let packets that are under way go. */
void net_clear(struct net *net);

/* A claimed request with its cookie, local length and remote address at that offset of the peer's memory. */
struct roce_request *net_request(struct net_end *end, uint8_t opcode, uint32_t id, uint32_t local,
				 uint32_t length, uint32_t remote);
/* The same, and posted. */
void net_post(struct net_end *end, uint8_t opcode, uint32_t id, uint32_t local, uint32_t length,
	      uint32_t remote);
void net_recv(struct net_end *end, uint32_t id, uint32_t local, uint32_t capacity);

/* Poll the ends until they have nothing to do. */
void net_poll(struct net *net);
/* The next thing: a packet arrives or a deadline passes; false: nothing will ever happen. */
bool net_step(struct net *net);
/* Until nothing happens any more; fails the test if that takes more than a million steps. */
void net_run(struct net *net);
/* A packet to that end, now. */
void net_inject(struct net_end *to, const struct roce_pkt *pkt);

/* What end 0 sent, and when. */
struct net_log {
	uint64_t times[64];
	uint32_t psns[64];
	uint8_t opcodes[64];
	uint32_t count;
	bool lose_all; /* of both ends */
};
/* From now on, as net->rule and net->test. */
void net_log(struct net *net, struct net_log *log);
struct net *net_create_logged(struct net_log *log);
/* For cmocka, whose state is the net: one that is logged. */
int net_setup(void **state);
int net_teardown(void **state);

/* So many requests have completed, all of them well. */
void net_check_done(const struct net_end *end, uint32_t count);
/* State that no packet may bring about. */
void net_check_state(const struct roce_qp *qp);

#endif
