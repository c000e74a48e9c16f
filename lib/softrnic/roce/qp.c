/* SPDX-License-Identifier: BSD-3-Clause */

/* The queue pair: its states and its attributes. All others stand on it. */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/roce/machine_private.h"

/* Both rings are empty. */
static void
qp_empty(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;
	struct roce_responder *resp = &qp->responder;

	req->tail = req->next = req->fresh = req->head = qp->conf.ring_index;
	resp->oldest = resp->pending = resp->head = qp->conf.ring_index;
}

int
roce_qp_init(struct roce_qp *qp, const struct roce_conf *conf)
{
	uint32_t resources = 1;

	*qp = (struct roce_qp){ .conf = *conf, .ops = conf->ops, .counters = conf->counters };
	if (conf->ops == NULL || conf->transport == NULL || conf->counters == NULL ||
	    conf->requests_log > ROCE_REQUESTS_LOG_MAX ||
	    conf->max_dest_rd_atomic > ROCE_RD_ATOMIC_MAX)
		return -EINVAL;
	qp->transport = *conf->transport;
	if (conf->window == 0)
		qp->conf.window = ROCE_WINDOW;
	while (resources < conf->max_dest_rd_atomic)
		resources *= 2;
	qp->requester.mask = (1u << conf->requests_log) - 1;
	qp->responder.mask = resources - 1;
	qp_empty(qp);
	qp->requester.ring = calloc(qp->requester.mask + 1, sizeof(*qp->requester.ring));
	qp->responder.ring = calloc(resources, sizeof(*qp->responder.ring));
	if (qp->requester.ring == NULL || qp->responder.ring == NULL) {
		roce_qp_fini(qp);
		return -ENOMEM;
	}
	return 0;
}

void
roce_recv_undone(struct roce_qp *qp)
{
	if (!qp->responder.recv_held || !qp->conf.srq)
		return;
	qp->responder.recv_held = false;
	qp->ops->recv_give_back(qp, &qp->responder.recv);
}

void
roce_qp_fini(struct roce_qp *qp)
{
	roce_recv_undone(qp);
	free(qp->requester.ring);
	free(qp->responder.ring);
	qp->requester.ring = NULL;
	qp->responder.ring = NULL;
	qp->state = ROCE_RST;
}

bool
roce_state_allowed(enum roce_state from, enum roce_state to)
{
	static const uint8_t to_of[] = {
		[ROCE_RST] = 1 << ROCE_INIT,
		[ROCE_INIT] = 1 << ROCE_INIT | 1 << ROCE_RTR,
		[ROCE_RTR] = 1 << ROCE_RTS,
		[ROCE_RTS] = 1 << ROCE_RTS | 1 << ROCE_SQD,
		[ROCE_SQER] = 1 << ROCE_RTS,
		[ROCE_SQD] = 1 << ROCE_SQD | 1 << ROCE_RTS,
		[ROCE_ERR] = 0,
	};

	if (to == ROCE_RST || to == ROCE_ERR)
		return (unsigned int)from <= ROCE_ERR;
	return (unsigned int)from <= ROCE_ERR && (unsigned int)to < ROCE_ERR &&
	       (to_of[from] >> to & 1) != 0;
}

void
roce_qp_set_counters(struct roce_qp *qp, struct roce_counters *counters)
{
	qp->conf.counters = counters;
	qp->counters = counters;
}

/* What a change of state takes from the attributes. */
#define TAKES_PATH  0x1 /* towards the peer's requester */
#define TAKES_PSN   0x2 /* where our requester starts */
#define TAKES_RETRY 0x4
#define TAKES_DEPTH 0x8 /* how much of the peer's is remembered */

static unsigned int
qp_attr_takes(enum roce_state from, enum roce_state to)
{
	if (to == ROCE_RTR)
		return TAKES_PATH | TAKES_DEPTH;
	if (from == ROCE_RTR)
		return TAKES_PSN | TAKES_RETRY;
	if (from == ROCE_SQD)
		return to == ROCE_SQD ? TAKES_RETRY | TAKES_DEPTH : TAKES_RETRY;
	return 0;
}

static bool
qp_attr_valid(const struct roce_qp *qp, const struct roce_attr *attr, unsigned int takes)
{
	const uint8_t all = ROCE_REMOTE_READ | ROCE_REMOTE_WRITE | ROCE_REMOTE_ATOMIC;

	if (attr->min_rnr_timer > 31 || (attr->access & ~all) != 0)
		return false;
	if ((takes & TAKES_PATH) != 0 &&
	    (attr->mtu < ROCE_MTU_MIN || attr->mtu > ROCE_MTU_MAX ||
	     (attr->mtu & (attr->mtu - 1)) != 0 || attr->dest_qpn > 0xffffff ||
	     attr->rq_psn > ROCE_PSN_MASK))
		return false;
	if ((takes & TAKES_DEPTH) != 0 && attr->max_dest_rd_atomic > qp->conf.max_dest_rd_atomic)
		return false;
	if ((takes & TAKES_PSN) != 0 && attr->sq_psn > ROCE_PSN_MASK)
		return false;
	return (takes & TAKES_RETRY) == 0 ||
	       (attr->max_rd_atomic <= ROCE_RD_ATOMIC_MAX && attr->timeout <= 31 &&
		attr->retry_cnt <= 7 && attr->rnr_retry <= 7 && attr->ack_req_freq_log <= 8);
}

static void
qp_attr_take(struct roce_qp *qp, const struct roce_attr *attr, unsigned int takes)
{
	struct roce_requester *req = &qp->requester;

	qp->attr.min_rnr_timer = attr->min_rnr_timer;
	qp->attr.access = attr->access;
	qp->attr.qkey = attr->qkey;
	qp->attr.source_qpn = attr->source_qpn;
	if ((takes & TAKES_PATH) != 0) {
		qp->attr.mtu = attr->mtu;
		qp->mtu_log = (uint8_t)__builtin_ctz(attr->mtu);
		qp->attr.dest_qpn = attr->dest_qpn;
		qp->attr.rq_psn = attr->rq_psn;
		qp->responder.psn = attr->rq_psn;
	}
	if ((takes & TAKES_DEPTH) != 0)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if ((takes & TAKES_PSN) != 0) {
		qp->attr.sq_psn = attr->sq_psn;
		req->psn = req->high = req->una = attr->sq_psn;
	}
	if ((takes & TAKES_RETRY) != 0) {
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
		qp->attr.timeout = attr->timeout;
		qp->attr.retry_cnt = attr->retry_cnt;
		qp->attr.rnr_retry = attr->rnr_retry;
		qp->attr.ack_req_freq_log = attr->ack_req_freq_log;
		req->retries = attr->retry_cnt;
		req->rnr_retries = attr->rnr_retry;
	}
}

static void
qp_reset(struct roce_qp *qp)
{
	struct roce_request *requests = qp->requester.ring;
	struct roce_resource *resources = qp->responder.ring;
	uint32_t request_mask = qp->requester.mask, resource_mask = qp->responder.mask;

	roce_recv_undone(qp);
	qp->requester = (struct roce_requester){ .ring = requests, .mask = request_mask };
	qp->responder = (struct roce_responder){ .ring = resources, .mask = resource_mask };
	qp_empty(qp);
	qp->attr = (struct roce_attr){ 0 };
	qp->mtu_log = 0;
	qp->last_wqe = false;
	qp->state = ROCE_RST;
}

int
roce_qp_modify(struct roce_qp *qp, enum roce_state to, const struct roce_attr *attr)
{
	unsigned int takes;

	if (qp->requester.ring == NULL || !roce_state_allowed(qp->state, to))
		return -EINVAL;
	if (to == ROCE_RST) {
		qp_reset(qp);
		return 0;
	}
	if (to == ROCE_ERR) {
		roce_qp_error(qp);
		return 0;
	}
	takes = qp_attr_takes(qp->state, to);
	if (attr == NULL || !qp_attr_valid(qp, attr, takes))
		return -EINVAL;
	qp_attr_take(qp, attr, takes);
	if (to != ROCE_SQD)
		qp->requester.draining = false;
	else if (qp->state != ROCE_SQD)
		qp->requester.draining = true;
	qp->state = to;
	return 0;
}

unsigned int
roce_requests_flush(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;
	unsigned int n;

	for (n = 0; n < qp->budget && req->tail != req->head; n++) {
		qp->counters->req_cqe_flush_error++;
		qp->ops->complete(qp, roce_request_at(req, req->tail), RNIC_SYND_WR_FLUSHED);
		req->tail++;
	}
	return n;
}

void
roce_recv_done(struct roce_qp *qp, uint8_t syndrome)
{
	if (syndrome == RNIC_SYND_WR_FLUSHED)
		qp->counters->resp_cqe_flush_error++;
	else if (syndrome != 0)
		qp->counters->resp_cqe_error++;
	qp->responder.recv_held = false;
	qp->ops->recv_complete(qp, &qp->responder.recv, syndrome);
}

void
roce_qp_error(struct roce_qp *qp)
{
	qp->state = ROCE_ERR;
	qp->requester.retry_at = 0;
	qp->requester.resume_at = 0;
	qp->requester.draining = false;
	qp->responder.dying = false;
	qp->responder.message = ROCE_NO_MESSAGE;
	if (qp->responder.recv_held)
		roce_recv_done(qp, RNIC_SYND_WR_FLUSHED);
}
