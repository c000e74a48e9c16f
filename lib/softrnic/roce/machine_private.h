/* SPDX-License-Identifier: BSD-3-Clause */

/* What the parts of the transport know of each other. */
#ifndef ROCE_MACHINE_PRIVATE_H
#define ROCE_MACHINE_PRIVATE_H

#include "softrnic/roce/roce.h"

/* qp.c: to ERR. A receive WQE in use is flushed, the rest by roce_qp_poll(). */
void roce_qp_error(struct roce_qp *qp);
void roce_recv_done(struct roce_qp *qp, uint8_t syndrome);

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

static inline struct roce_request *
roce_request_at(const struct roce_requester *req, uint32_t index)
{
	return &req->ring[index & req->mask];
}

#endif
