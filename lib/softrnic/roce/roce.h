/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The transport of a queue pair (RC, XRC, UC or UD), pure: packets and the time come in as arguments, packets, memory
 * accesses and completions go out through a table of operations. No bytes, no I/O, no clock. README.md tells the story.
 *
 * Who calls: the owner, one thread at a time for a QP. None of these functions blocks. An operation must not call
 * back into the same QP, with one exception: emit() may hand the packet to roce_qp_receive() at once, of any QP, the
 * sender included. That works because only roce_qp_poll() emits.
 */
#ifndef ROCE_H
#define ROCE_H

#include "softrnic/roce/pkt.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

/* QP states as the PRM counts them. RC and XRC never enter SQER: only UC's and UD's receives outlive a request that failed. */
enum roce_state {
	ROCE_RST = 0,
	ROCE_INIT = 1,
	ROCE_RTR = 2,
	ROCE_RTS = 3,
	ROCE_SQER = 4,
	ROCE_SQD = 5,
	ROCE_ERR = 6,
};

/* What the peer may do: of the QP (struct roce_attr) and asked of a key (remote operations). */
enum roce_access {
	ROCE_REMOTE_READ = 0x1,
	ROCE_REMOTE_WRITE = 0x2,
	ROCE_REMOTE_ATOMIC = 0x4,
};

/* Names as `rdma stat` prints them. Owned by the caller; QPs may share one. */
struct roce_counters {
	/* responder */
	uint64_t rx_write_requests, rx_read_requests,
		rx_atomic_requests; /* executed, not repeated */
	uint64_t out_of_buffer;	    /* RNR NAKs for want of a receive WQE */
	uint64_t out_of_sequence;   /* packets behind a gap */
	uint64_t duplicate_request; /* packets */
	uint64_t resp_local_length_error, resp_remote_access_errors;
	uint64_t resp_cqe_error, resp_cqe_flush_error;
	/* requester */
	uint64_t rnr_nak_retry_err;   /* RNR NAKs taken */
	uint64_t packet_seq_err;      /* NAKs of sequence taken */
	uint64_t implied_nak_seq_err; /* an answer behind a READ or atomic that has none */
	uint64_t local_ack_timeout_err;
	uint64_t req_remote_invalid_request, req_remote_access_errors;
	uint64_t req_cqe_error, req_cqe_flush_error;
};

/* One posted send WQE. The owner fills the first part of a claimed one. */
struct roce_request {
	uint64_t cookie; /* the owner's; not looked at */
	uint8_t opcode;	 /* enum rnic_wqe_opcode */
	bool fence, solicited;
	/*
	 * Not 0: enum rnic_cqe_syndrome. The owner found it unfit: it does not go out, and fails with this when those
	 * before it have completed. Or ROCE_EXECUTE: nothing of it goes out, the owner carries it out in its turn.
	 */
	uint8_t syndrome;
	uint32_t length;    /* of its data segments */
	uint32_t immediate; /* or the key that a SEND invalidates */
	union {
		uint32_t rkey;
		uint32_t qkey; /* UD */
	};
	union {
		uint64_t va;
		uint32_t dest_qpn; /* UD */
	};
	uint64_t swap_add, compare; /* FETCH_ADD: swap_add alone */
	uint32_t srqn;		    /* XRC: the peer's shared receive queue, 24 bits */

	/* The transport's, from when its first packet is due. */
	uint32_t psn, packets; /* a NOP has none, nor has what is executed */
};
#define ROCE_EXECUTE 0xff

/* One receive WQE in use: recv_take() fills the first part, recv_complete() reads the second. */
struct roce_recv {
	uint64_t cookie;
	uint32_t capacity; /* bytes that its data segments take, at most ROCE_MESSAGE_MAX */

	/* enum rnic_cqe_opcode, one of RNIC_CQE_RESPONDER_; undefined if it failed */
	uint8_t opcode;
	bool solicited;
	uint32_t length;     /* UD: with the 40 bytes of headers */
	uint32_t immediate;  /* or the key that was invalidated */
	uint32_t source_qpn; /* UD */
};

struct roce_qp;

/*
 * What the owner does for the transport. "Refused" is minus an enum rnic_cqe_syndrome: the local ones for the QP's own
 * memory; RNIC_SYND_REMOTE_ACCESS or RNIC_SYND_REMOTE_OPERATION for what the peer asks.
 */
struct roce_ops {
	/* Send it; it and its pieces are valid during the call. What the wire cannot take counts as lost. */
	void (*emit)(struct roce_qp *qp, const struct roce_pkt *pkt);

	/* Requester. Pieces of [offset, offset + length) of the request's data, at most ROCE_PKT_PIECES: their number. */
	int (*gather)(struct roce_qp *qp, const struct roce_request *req, uint32_t offset,
		      uint32_t length, struct iovec *pieces);
	/* A READ's payload, to that offset of the request's data segments: 0. */
	int (*scatter)(struct roce_qp *qp, const struct roce_request *req, uint32_t offset,
		       const struct roce_pkt *pkt);
	/* An atomic's original value, to the request's data segment: 0. */
	int (*scatter_atomic)(struct roce_qp *qp, const struct roce_request *req,
			      uint64_t original);
	/*
	 * Carry out a ROCE_EXECUTE request, once, when packets of all before it were sent: 0. Where none is posted there may be
	 * no such operation.
	 */
	int (*execute)(struct roce_qp *qp, const struct roce_request *req);
	/* The oldest request is done, in the order of posting: 0 or its syndrome. */
	void (*complete)(struct roce_qp *qp, const struct roce_request *req, uint8_t syndrome);

	/*
	 * Responder of XRC. From now on recv_take and remote_* are for that shared receive queue, until the next call: 0;
	 * -RNIC_SYND_REMOTE_INVALID_REQUEST: it is none that requests may name. Asked for each packet anew, since it may have
	 * gone. Where no XRC is there may be no such operation.
	 */
	int (*srq_select)(struct roce_qp *qp, uint32_t srqn);
	/* Responder. The next receive WQE: true; none: false. */
	bool (*recv_take)(struct roce_qp *qp, struct roce_recv *recv);
	/*
	 * One that was taken is not needed: who comes next has it, whichever QP that is. Where conf.srq is never set there may
	 * be no such operation.
	 */
	void (*recv_give_back)(struct roce_qp *qp, const struct roce_recv *recv);
	/* Payload to that offset of its data segments, within its capacity: 0. */
	int (*recv_scatter)(struct roce_qp *qp, const struct roce_recv *recv, uint32_t offset,
			    const struct roce_pkt *pkt);
	void (*recv_complete)(struct roce_qp *qp, const struct roce_recv *recv, uint8_t syndrome);
	/* May the peer? 0. length is not 0; va + length may wrap. */
	int (*remote_check)(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
			    enum roce_access access);
	/* Checks as well: the key may have gone since remote_check(). 0. */
	int (*remote_write)(struct roce_qp *qp, uint32_t rkey, uint64_t va,
			    const struct roce_pkt *pkt);
	/* Pieces of the memory for a READ's response, at most ROCE_PKT_PIECES: their number. */
	int (*remote_read)(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
			   struct iovec *pieces);
	/* Check, and execute at once what the packet asks; va is a multiple of 8. 0. */
	int (*remote_atomic)(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t *original);
	/* The key leads nowhere from now on: 0. */
	int (*remote_invalidate)(struct roce_qp *qp, uint32_t rkey);

	/*
	 * An asynchronous event of the QP: RNIC_EVENT_COMM_ESTABLISHED, _SQ_DRAINED, _SRQ_LAST_WQE, and for errors of
	 * the responder that no completion reports _WQ_INVALID_REQUEST, _WQ_ACCESS_ERROR, _WQ_CATASTROPHIC.
	 */
	void (*event)(struct roce_qp *qp, enum rnic_event event);
};

/* What the service types differ in. */
struct roce_transport {
	/* A packet came: roce_qp_receive(). */
	void (*receive)(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now);
	/* Of the requests, send at most qp->budget packets: how many. In SQER they are flushed. */
	unsigned int (*send)(struct roce_qp *qp, uint64_t now);
	/* What it adds to the opcodes that RC's code sends: ROCE_OPCODE(its number, 0). */
	uint8_t opcode_bits;
};
extern const struct roce_transport roce_rc, roce_xrc, roce_uc, roce_ud;

struct roce_conf {
	const struct roce_ops *ops;
	const struct roce_transport *transport;
	struct roce_counters *counters;
	uint8_t requests_log; /* room for posted requests, at most 15 */
	/* the most that attributes can ask for, at most ROCE_RD_ATOMIC_MAX */
	uint8_t max_dest_rd_atomic;
	uint16_t window; /* unacknowledged PSNs of SEND and WRITE, at least 1; 0: ROCE_WINDOW */
	/* receive WQEs are others' too, as always of XRC: none is kept, an error flushes none, and ends with SRQ_LAST_WQE */
	bool srq;
	uint32_t ring_index; /* where the indices of its rings begin, which run free */
};
#define ROCE_RD_ATOMIC_MAX    128
#define ROCE_REQUESTS_LOG_MAX 15
#define ROCE_WINDOW	      256

/* Of a datagram's Q_Key: the QP's own is sent. */
#define ROCE_QKEY_OWN 0x80000000u

/* Of those that a transport does not have, any good value does. */
struct roce_attr {
	/* INIT to RTR */
	uint16_t mtu; /* 256, 512, 1024, 2048, 4096; UD: the longest datagram */
	uint32_t dest_qpn;
	uint32_t rq_psn;
	/* INIT to RTR, SQD to SQD */
	uint8_t max_dest_rd_atomic;
	/* RTR to RTS */
	uint32_t sq_psn;
	/* RTR to RTS, SQD to SQD or RTS */
	uint8_t max_rd_atomic;
	uint8_t timeout;	  /* 4.096 us * 2^timeout, at most 31; 0: never */
	uint8_t retry_cnt;	  /* at most 7 */
	uint8_t rnr_retry;	  /* at most 7: for ever */
	uint8_t ack_req_freq_log; /* AckReq at least every 2^n packets of a message, at most 8 */
	/* every change but to RST and ERR */
	uint8_t min_rnr_timer; /* code of AETH, at most 31 */
	uint8_t access;	       /* enum roce_access */
	uint32_t qkey;	       /* UD */
	uint32_t source_qpn;   /* UD: what datagrams are said to come from */
};

/* A READ or atomic that the peer asked for, kept to answer it again. */
struct roce_resource {
	uint8_t opcode; /* READ_REQUEST, COMPARE_SWAP, FETCH_ADD; XRC's READ_REQUEST is its own */
	bool pending;	/* to be answered, from `next` */
	bool answered;	/* in full, at least once */
	bool begun;	/* the first packet from `next` is out */
	uint32_t psn, packets;
	uint32_t rkey;
	uint64_t va;
	uint32_t length;
	uint32_t msn;
	/* READ: what is left to answer */
	uint32_t next_psn, next_left;
	uint64_t next_va;
	union {
		uint32_t srqn; /* READ of XRC */
		/* atomics: the request, and the value that was there */
		uint64_t swap_add;
	};
	uint64_t compare, original;
};

/* The sender of requests. Indices run free, the ring's mask is applied at use. */
struct roce_requester {
	struct roce_request *ring;
	uint32_t mask;
	uint32_t tail;	     /* the oldest that has not completed; its PSNs hold `una` */
	uint32_t next;	     /* whose packet is sent next */
	uint32_t fresh;	     /* the first that was never sent from; behind it no PSNs are given */
	uint32_t head;	     /* where the next one is posted */
	uint32_t sent;	     /* packets of `next` that are out */
	uint32_t psn;	     /* next to send; lower than `high` while packets are repeated */
	uint32_t high;	     /* one more than the highest that was ever sent */
	uint32_t una;	     /* the oldest unacknowledged */
	uint32_t rd_atomics; /* READs and atomics between tail and next: they wait for answers */
	uint32_t since_ack_request;   /* packets */
	uint8_t retries, rnr_retries; /* left */
	bool gone_back;	    /* for the gap at `una`, by a NAK or an implied one: once is enough */
	bool draining;	    /* SQD: SQ_DRAINED is due */
	uint64_t retry_at;  /* deadline of the oldest unacknowledged packet, 0: none */
	uint64_t resume_at; /* end of an RNR wait, 0: none */
};

struct roce_responder {
	uint32_t psn; /* expected */
	uint32_t msn; /* messages completed */
	enum roce_message { ROCE_NO_MESSAGE, ROCE_SEND_MESSAGE, ROCE_WRITE_MESSAGE } message;
	bool gap; /* a NAK told of the missing PSN: silence until it comes */
	bool ack; /* an ACK is due */
	bool nak; /* a NAK is due: */
	uint8_t syndrome;
	uint32_t nak_psn;
	bool dying; /* in ERR: answers that were due before the NAK, and the NAK, still go out */
	bool established; /* COMM_ESTABLISHED was raised */
	bool recv_held;
	struct roce_recv recv;
	/* the message: SEND into recv, WRITE to va */
	uint32_t offset, left;
	uint32_t rkey;
	uint32_t srqn; /* XRC: named by its packets */
	uint64_t va;
	/* saved READs and atomics */
	struct roce_resource *ring;
	uint32_t mask;
	uint32_t head;	  /* where the next one goes */
	uint32_t oldest;  /* the oldest that may be asked for again */
	uint32_t pending; /* no resource before this one is pending */
};

/* Embedded in the owner's QP. All of it may be read; changed only by the functions below. */
struct roce_qp {
	enum roce_state state;
	uint8_t mtu_log;
	bool last_wqe;		    /* SRQ_LAST_WQE was raised */
	unsigned int budget;	    /* of the poll under way */
	const struct roce_ops *ops; /* of conf, as is the next: nearer */
	struct roce_counters *counters;
	struct roce_transport transport; /* the same, and a copy */
	struct roce_requester requester;
	struct roce_responder responder;
	struct roce_attr attr;
	struct roce_conf conf;
};

/* Zeroes it; state RST. 0, -EINVAL (the configuration), -ENOMEM. */
int roce_qp_init(struct roce_qp *qp, const struct roce_conf *conf);
/* Completes nothing. A receive WQE in use that is others' too goes back to them. */
void roce_qp_fini(struct roce_qp *qp);
/* From now on it counts there. */
void roce_qp_set_counters(struct roce_qp *qp, struct roce_counters *counters);

/* Is that change in the PRM's table, for any type of QP? */
bool roce_state_allowed(enum roce_state from, enum roce_state to);
/*
 * Change the state. `attr` is NULL for RST and ERR, else holds all attributes; those that the change may set are
 * taken, the others are not looked at. To RST: everything is forgotten, nothing is completed (see roce_qp_fini()). To ERR: what was posted
 * is flushed by roce_qp_poll(). To SQD: messages that have begun are completed, then SQ_DRAINED.
 * -EINVAL: no such change, or a value out of its range; nothing was changed.
 */
int roce_qp_modify(struct roce_qp *qp, enum roce_state to, const struct roce_attr *attr);

/*
 * The next free slot of the ring, to be filled and posted; NULL: full. Its index in requester.ring is stable until it
 * completes. Posting goes in every state but RST (NULL); sending in RTS, flushing in ERR.
 */
struct roce_request *roce_qp_claim(struct roce_qp *qp);
void roce_qp_post(struct roce_qp *qp);

/* Do packets reach it, in its state? */
static inline bool
roce_qp_receives(const struct roce_qp *qp)
{
	return (unsigned int)qp->state - ROCE_RTR <= ROCE_SQD - ROCE_RTR;
}

/*
 * A packet for this QP, whose addresses, P_Key and Q_Key the owner has checked. Copies what it takes of the
 * payload, completes, emits nothing: poll afterwards. Packets that fit no expectation are dropped, as are those of another
 * transport. UD: the payload begins with the ROCE_GRH_BYTES of headers.
 */
static inline void
roce_qp_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	qp->transport.receive(qp, pkt, now);
}

/*
 * Send what is due: answers, then requests, at most `budget` packets of each; look at the deadlines; flush at most
 * `budget` WQEs of each queue in ERR. `now`: nanoseconds, not 0, never less than before.
 * Returns packets and flushed WQEs; 0: nothing to do before a packet, a post, or the deadline.
 *
 * An operation may set qp->budget to 0: then the poll ends behind the packet or WQE under way. What it returns says
 * nothing of what is left then.
 */
unsigned int roce_qp_poll(struct roce_qp *qp, uint64_t now, unsigned int budget);
/* When roce_qp_poll() must be called at the latest; UINT64_MAX: no timer runs. */
uint64_t roce_qp_deadline(const struct roce_qp *qp);

#endif
