/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The owner of a queue pair of the RC transport (roce/roce.h), for its fuzz targets: it holds the transport to what that
 * header promises, and refuses, answers and lets time pass as the input says. It keeps a record of its own of what was
 * posted, sent and asked, so that each call can be checked against what may come.
 *
 * An input: the QP's configuration and attributes (owner_open()), then operations of the target: a u8, and what the
 * operation of that number reads.
 */
#ifndef TEST_FUZZ_ROCE_OWNER_H
#define TEST_FUZZ_ROCE_OWNER_H

#include "fuzz.h"
#include "softrnic/roce/roce.h"

#define OWNER_REQUESTS	  16u
#define OWNER_RECVS	  16u
#define OWNER_READS	  256u /* more than the transport remembers */
#define OWNER_PAYLOAD_MAX 8192u
#define OWNER_KEY	  0x12345600u
#define OWNER_VA	  0x7f00deadb000ull
#define OWNER_QPN	  0x4711u
#define OWNER_INPUT_LEAST 20u /* bytes: about what owner_open() reads */

/* What can be refused. */
enum owner_refusal {
	OWNER_GATHER,
	OWNER_SCATTER,
	OWNER_SCATTER_ATOMIC,
	OWNER_RECV_SCATTER,
	OWNER_REMOTE_CHECK,
	OWNER_REMOTE_WRITE,
	OWNER_REMOTE_READ,
	OWNER_REMOTE_ATOMIC,
	OWNER_REFUSALS,
};

/* A posted request, and how far it is. */
struct owner_request {
	struct roce_request posted;
	uint32_t sent;	    /* one more than the highest of its packets that went out */
	uint32_t scattered; /* bytes of a READ */
	bool answered;	    /* an atomic */
	uint8_t refused;    /* the syndrome that gather or a scatter gave */
};

struct owner_range {
	uint32_t rkey;
	uint64_t va;
	uint32_t length;
};

struct owner {
	struct roce_qp qp; /* first: operations find the owner by it */
	struct roce_counters counters;
	struct fuzz_input *input;
	struct roce_attr attr; /* of the last change of state */
	uint64_t now;
	uint32_t cuts; /* pieces that memory is handed out in */
	/* called for each packet that went out, within emit(), if set */
	void (*emitted)(struct owner *o, const struct roce_pkt *pkt);
	/*
	 * The QP talks to itself, and nobody else: whatever its network does, no request of it is to blame for the end
	 * of another one.
	 */
	bool honest;

	/* Where the transport is. */
	bool polling, changing;
	const struct roce_pkt *received;
	uint32_t emissions;	    /* of this poll */
	const struct iovec *pieces; /* of the last gather or remote_read */
	int count;

	/* Since the last reset. */
	struct owner_request requests[OWNER_REQUESTS];
	uint32_t posted, completed; /* run free, as the transport's indices */
	bool failed;		    /* what comes now is flushed */
	uint32_t recvs[OWNER_RECVS];
	uint32_t recv_head, recv_tail;
	bool held; /* the one before recv_tail is in use */
	uint32_t held_scattered;
	struct owner_range reads[OWNER_READS]; /* that the peer was allowed */
	uint32_t read_count;
	struct owner_range write; /* under way */
	uint32_t written;
	bool established, draining, last_wqe;

	uint64_t cookies;
	uint64_t send_errors, send_flushed, recv_errors, recv_flushed;
	uint8_t refuse, refuse_after, refuse_syndrome;
};

/* Make the QP and bring it to that state. Equal PSNs: what it sends is what it expects. */
void owner_open(struct owner *o, struct fuzz_input *input, enum roce_state state, bool equal_psns);
/* A change of state, with its attributes or NULL; refused, it must have changed nothing. */
void owner_change(struct owner *o, enum roce_state to, const struct roce_attr *attr);
/* As far up as that state, with the attributes of the last change. */
void owner_bring_up(struct owner *o, enum roce_state state);
/* What is due is done; then it ends: everything that was posted must come back. */
void owner_close(struct owner *o);

static inline uint32_t
owner_mtu(const struct owner *o)
{
	return 1u << o->qp.mtu_log;
}

/* Payload of that length, in pieces. At most ROCE_PKT_PIECES: their number. */
uint32_t owner_cut(const struct owner *o, uint32_t at, uint32_t length, struct iovec *pieces);
/* pkt.length bytes of payload get pieces, and the packet arrives. */
void owner_receive(struct owner *o, struct roce_pkt *pkt);
unsigned int owner_poll(struct owner *o, unsigned int budget);
/* Poll until there is nothing to do, which must come, unless what is to be sent would take too long here. */
void owner_settle(struct owner *o);
/* A length by one of eight codes; most are around borders. */
uint32_t owner_length(struct owner *o, unsigned int code);
/*
 * The answer that a good peer would give next: to the oldest unacknowledged PSN. False: nothing is under way. Its
 * payload has no pieces yet.
 */
bool owner_next_answer(struct owner *o, struct roce_pkt *pkt);

/* Operations of inputs, each of which reads its arguments. */
typedef void owner_op(struct owner *o);
/* All of the input: each operation by its number, which is the rest of the division by their count. */
void owner_run(struct owner *o, owner_op *const *operations, unsigned int count);

/* Those that targets have in common. */
void owner_op_post(struct owner *o);
void owner_op_recv(struct owner *o);
void owner_op_poll(struct owner *o);
void owner_op_time(struct owner *o);
void owner_op_refuse(struct owner *o);
void owner_op_modify(struct owner *o);
void owner_op_cuts(struct owner *o);
/* Good answers, as many as the u8 says. */
void owner_op_answers(struct owner *o);

/* The first bytes of a seed: requests, READs at most, attributes that suit most, both PSNs, or the one that is both. */
void owner_seed(struct fuzz_seed *seed, uint8_t window, bool srq, uint32_t psn, bool equal_psns);

#endif
