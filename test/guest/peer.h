/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One end of a connection between two implementations of RoCE: the same orders for a program of verbs (verbs_peer.c) and for one
 * of ours (rnic_peer.c). Orders are lines on stdin, each a word and values KEY=VALUE, where numbers are decimal; each is answered by
 * a line "told answer ...", or "told answer failed: ..." before the end of the program:
 *
 *   who                                     address= of the memory, its bytes=, its rkey=, and that of a part that is read only
 *   create type= srq=                       another queue pair, in INIT, in place of that before: qpn=
 *   connect qpn= psn= own_psn= gid= mtu= timeout= retry= rnr= qkey= peer_qkey=
 *   fill seed=                              message `seed` to PEER_FROM; at PEER_TO nothing
 *   word value=                             8 bytes at PEER_FROM
 *   receive length=                         a receive to PEER_TO
 *   post op= length= address= rkey= imm= add= swap= key= qpn= qkey= gid=
 *   poll ms=                                the next completion: status= opcode= length= imm= key= src=, or the word none
 *   quiet ms=                               none within a while? yes or no
 *   has seed= length=                       is that at PEER_TO, and nothing around it? yes or no
 *   value at=                               8 bytes of the memory
 *   bind window=                            another window on the memory: type 1 or 2, when it is bound: key=
 *   unbind                                  that of type 1, when it is done
 *   rereg write=                            what is registered to be read is to be written, too: 0 or 1; its key then
 *   join gid= / leave gid=
 *   state                                   the queue pair's
 *   counters                                each NAME=VALUE
 *   quit
 */
#ifndef GUEST_PEER_H
#define GUEST_PEER_H

#include <stdbool.h>
#include <stdint.h>

#define PEER_BYTES   (256u << 10)
#define PEER_FROM    4096u	      /* where messages are taken from, in the memory */
#define PEER_TO	     (PEER_BYTES / 2) /* where they go */
#define PEER_MESSAGE (64u << 10)      /* the longest */
#define PEER_GUARD   64u	      /* bytes around a message that must stay */
#define PEER_GRH     40u	      /* before a datagram */
#define PEER_DEPTH   64u	      /* requests of a queue */

enum peer_type {
	PEER_RC,
	PEER_UC,
	PEER_UD,
};

enum peer_op {
	PEER_WRITE,
	PEER_WRITE_IMM,
	PEER_SEND,
	PEER_SEND_IMM,
	PEER_READ,
	PEER_SWAP,
	PEER_ADD,
	PEER_SEND_INV,
	PEER_LOCAL_INV,
};

/* The way to a queue pair of the other end's. */
struct peer_path {
	uint32_t qpn, psn, own_psn;
	uint32_t mtu;	    /* bytes */
	uint32_t qkey;	    /* of datagrams: ours */
	uint32_t peer_qkey; /* and the other end's */
	uint8_t gid[16];
	uint8_t timeout, retry, rnr;
};

struct peer_request {
	enum peer_op op;
	uint32_t length;
	uint64_t address; /* the other end's */
	uint32_t rkey;
	uint32_t imm; /* in host byte order */
	uint32_t key; /* to invalidate */
	uint64_t add, swap;
	/* Of a datagram. */
	uint32_t qpn, qkey;
	uint8_t gid[16];
};

struct peer_completion {
	int status; /* enum ibv_wc_status, enum rdmapmd_wc_status: they are the same */
	int opcode; /* the same, too, but for NOP, which is not used */
	uint32_t length;
	bool has_imm, has_key;
	uint32_t imm, key;
	uint32_t src; /* of a receive of datagrams */
};

/* An end's memory, and its keys for the other one. */
struct peer_memory {
	uint8_t *bytes; /* PEER_BYTES of them */
	uint32_t rkey, read_only_rkey;
};

/* ---- For both: peer.c ---- */

extern struct peer_memory peer_memory;

/* What fails is told, and is the end. */
void peer_must(bool good, const char *what);
/* The orders, until there are no more. */
void peer_obey(void);
/* Of an answer. */
void peer_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Of one of them each: verbs_peer.c, rnic_peer.c ---- */

uint32_t peer_create(enum peer_type type, bool srq);
void peer_connect(const struct peer_path *path);
void peer_receive(uint32_t at, uint32_t length);
/* Signaled; from or into PEER_FROM. */
void peer_post(const struct peer_request *request);
bool peer_poll(struct peer_completion *completion);
uint32_t peer_bind(unsigned int type);
void peer_unbind(void);
void peer_rereg(bool may_write);
void peer_group(const uint8_t gid[16], bool join);
const char *peer_state(void);
void peer_counters(void);
const char *peer_status(int status);

#endif
