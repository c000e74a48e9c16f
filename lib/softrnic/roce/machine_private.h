/* SPDX-License-Identifier: BSD-3-Clause */

/* What the parts of the transport know of each other. */
#ifndef ROCE_MACHINE_PRIVATE_H
#define ROCE_MACHINE_PRIVATE_H

#include "softrnic/roce/roce.h"

/* qp.c: to ERR. A receive WQE in use is flushed, the rest by roce_qp_poll(). */
void roce_qp_error(struct roce_qp *qp);
void roce_recv_done(struct roce_qp *qp, uint8_t syndrome);
/* The receive WQE in use, if there is one, got no message: give it back, to the next message of this QP or of the pool. */
void roce_recv_undone(struct roce_qp *qp);

/* Posted requests are flushed, at most qp->budget of them: how many. */
unsigned int roce_requests_flush(struct roce_qp *qp);

/* requester.c */
/* qp->budget of them at most, as of the answers. */
unsigned int roce_requester_send(struct roce_qp *qp, uint64_t now);
/*
 * All PSNs before this one are acknowledged, and what is complete by that completes. False: a READ or atomic before it
 * has no answer, which an acknowledgement cannot stand for; `una` then is what its answer must begin with.
 */
bool roce_requester_cover(struct roce_qp *qp, uint32_t psn, uint64_t now);
/* una is the oldest PSN that is not acknowledged: complete, restart timers and retries. */
void roce_requester_advance(struct roce_qp *qp, uint32_t una, uint64_t now);
/* Go back to una, without counting it as a retry. */
void roce_requester_rewind(struct roce_qp *qp);
/* Go back to una, or fail the oldest request if that was tried often enough. */
void roce_requester_retry(struct roce_qp *qp, uint64_t now);
/* The oldest request fails, and the QP with it. */
void roce_requester_fail(struct roce_qp *qp, uint8_t syndrome);

/* completer.c */
void roce_completer_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now);

/* responder.c */
void roce_responder_receive(struct roce_qp *qp, const struct roce_pkt *pkt);
/* The QP dies of the peer's request at psn: NAK; the WQE in use fails with syndrome, or an event tells. */
void roce_responder_die(struct roce_qp *qp, uint32_t psn, enum roce_nak nak, uint8_t syndrome,
			enum rnic_event event);
/* answer.c: READ responses, atomics' results, then one ACK or NAK. */
unsigned int roce_responder_answer(struct roce_qp *qp);

/* unreliable.c: what UC and UD share */
struct roce_sender {
	/* Is the request, no NOP, one for this transport? 0, or with which syndrome it fails. */
	uint8_t (*check)(const struct roce_qp *qp, const struct roce_request *request);
	/* Its next packet goes: 0, or its syndrome. */
	uint8_t (*emit)(struct roce_qp *qp, struct roce_request *request);
};
/* Send requests, packet by packet, qp->budget of them at most: how many. In SQER, flush them. */
unsigned int roce_unreliable_send(struct roce_qp *qp, const struct roce_sender *sender);
/* Its next PSN, of a packet that is about to go. */
uint32_t roce_unreliable_psn(struct roce_qp *qp);
/* A receive WQE is in use: the one that was given back, or a new one. False: there is none, and this was counted. */
bool roce_unreliable_take(struct roce_qp *qp);
/* Payload to the WQE in use; false: its memory failed, and the QP with it. */
bool roce_unreliable_scatter(struct roce_qp *qp, const struct roce_pkt *pkt);
/* The message in the WQE in use is whole. */
void roce_unreliable_complete(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t opcode);

/* A READ that XRC's responder remembers, so that no other transport's answers have to ask whose they are. */
#define ROCE_XRC_READ ROCE_OPCODE(ROCE_TRANSPORT_XRC, ROCE_READ_REQUEST)

static inline uint64_t
roce_timeout_ns(const struct roce_qp *qp)
{
	return 4096ull << qp->attr.timeout;
}

static inline bool
roce_is_atomic(uint8_t wqe_opcode)
{
	return wqe_opcode == RNIC_WQE_ATOMIC_CS || wqe_opcode == RNIC_WQE_ATOMIC_FA;
}

/* Is it done only when data came back? */
static inline bool
roce_wants_answer(const struct roce_request *req)
{
	return req->opcode == RNIC_WQE_RDMA_READ || roce_is_atomic(req->opcode);
}

static inline bool
roce_is_write(uint8_t wqe_opcode)
{
	return wqe_opcode == RNIC_WQE_RDMA_WRITE || wqe_opcode == RNIC_WQE_RDMA_WRITE_IMM;
}

static inline struct roce_request *
roce_request_at(const struct roce_requester *req, uint32_t index)
{
	return &req->ring[index & req->mask];
}

#endif
