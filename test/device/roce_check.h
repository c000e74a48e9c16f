/* SPDX-License-Identifier: BSD-3-Clause */

/* State that no packet, no request and no answer may bring a QP of the RC transport into. */
#ifndef TEST_DEVICE_ROCE_CHECK_H
#define TEST_DEVICE_ROCE_CHECK_H

#include "softrnic/roce/roce.h"

#define ROCE_CHECK(condition)              \
	do {                               \
		if (!(condition))          \
			return #condition; \
	} while (0)

/* Of the requester, in RTS and SQD: PSNs follow each other, and what waits for an answer is counted. */
static inline const char *
roce_check_requests(const struct roce_requester *req)
{
	const struct roce_request *request;
	uint32_t i, asked = 0;

	ROCE_CHECK(req->next - req->tail <= req->fresh - req->tail);
	ROCE_CHECK(req->fresh - req->tail <= req->head - req->tail);
	ROCE_CHECK(roce_psn_diff(req->psn, req->una) >= 0);
	ROCE_CHECK(roce_psn_diff(req->high, req->psn) >= 0);
	for (i = req->tail; i != req->fresh; i++) {
		request = &req->ring[i & req->mask];
		if (i != req->tail) {
			const struct roce_request *before = &req->ring[(i - 1) & req->mask];

			ROCE_CHECK(request->psn == roce_psn_add(before->psn, before->packets));
		}
		if ((int32_t)(i - req->next) < 0)
			asked += request->opcode == RNIC_WQE_RDMA_READ ||
				 request->opcode == RNIC_WQE_ATOMIC_CS ||
				 request->opcode == RNIC_WQE_ATOMIC_FA;
	}
	ROCE_CHECK(req->rd_atomics == asked);
	return NULL;
}

/* NULL, or what is wrong. */
static inline const char *
roce_check_state(const struct roce_qp *qp)
{
	const struct roce_requester *req = &qp->requester;
	const struct roce_responder *resp = &qp->responder;

	ROCE_CHECK(req->head - req->tail <= req->mask + 1);
	ROCE_CHECK(resp->head - resp->oldest <= resp->mask + 1);
	ROCE_CHECK((int32_t)(resp->pending - resp->oldest) >= 0);
	ROCE_CHECK((int32_t)(resp->head - resp->pending) >= 0);
	return qp->state == ROCE_RTS || qp->state == ROCE_SQD ? roce_check_requests(req) : NULL;
}

/* The same after a poll: what is unacknowledged is being waited for. */
static inline const char *
roce_check_timers(const struct roce_qp *qp)
{
	const struct roce_requester *req = &qp->requester;

	if (qp->state == ROCE_RTS || qp->state == ROCE_SQD)
		ROCE_CHECK(req->una == req->high || qp->attr.timeout == 0 || req->retry_at != 0 ||
			   req->resume_at != 0);
	return NULL;
}

#endif
