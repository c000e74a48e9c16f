/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Polling queue pairs: those with work, with a due deadline, or with a lost doorbell; and the parts of commands that concern the
 * data path. Queue pairs with work are polled in turn, so that one delays the others by one budget at most.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/qp_datagram.h"
#include "softrnic/engine/qp_emit.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/engine/qp_send.h"
#include "softrnic/engine/qp_watch.h"
#include "softrnic/event/cq.h"
#include "softrnic/receive/qp_receive.h"
#include "softrnic/receive/qp_remote.h"
#include "softrnic/receive/qp_xrc.h"
#include "softrnic/receive/rmp.h"

#define QPS_BUDGET 64 /* WQEs fetched, answers, requests: of each for a QP and poll */
/*
 * For all of a device: a packet counts as so many bytes beside its own. A poll then takes a tenth of a millisecond or
 * so, which is what a command may have to wait.
 */
#define QPS_WORK_PACKET 512
#define QPS_WORK_MAX	(512u << 10)
/* A wire that takes nothing for so long has stopped: it loses what is sent, and those who wait for answers find out. */
#define QPS_WIRE_WAIT_NS UINT64_C(10000000)

static void
qp_event(struct roce_qp *roce, enum rnic_event event)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	softrnic_wq_event(qp->dev, event, SOFTRNIC_EVENT_QUEUE_QP, qp->object.number);
}

static const struct roce_ops ops = {
	.emit = softrnic_qp_emit,
	.gather = softrnic_qp_gather,
	.scatter = softrnic_qp_scatter,
	.scatter_atomic = softrnic_qp_scatter_atomic,
	.execute = softrnic_qp_execute,
	.complete = softrnic_qp_complete,
	.recv_take = softrnic_qp_recv_take,
	.recv_give_back = softrnic_qp_recv_give_back,
	.recv_scatter = softrnic_qp_recv_scatter,
	.recv_complete = softrnic_qp_recv_complete,
	.remote_check = softrnic_qp_remote_check,
	.remote_write = softrnic_qp_remote_write,
	.remote_read = softrnic_qp_remote_read,
	.remote_atomic = softrnic_qp_remote_atomic,
	.remote_invalidate = softrnic_qp_remote_invalidate,
	.event = qp_event,
};

/* Where they differ. */
static const struct roce_ops xrc_ops = {
	.emit = softrnic_qp_emit,
	.gather = softrnic_qp_gather,
	.scatter = softrnic_qp_scatter,
	.scatter_atomic = softrnic_qp_scatter_atomic,
	.complete = softrnic_qp_complete,
	.srq_select = softrnic_qp_xrc_select,
	.recv_take = softrnic_qp_xrc_recv_take,
	.recv_give_back = softrnic_qp_xrc_recv_give_back,
	.recv_scatter = softrnic_qp_xrc_recv_scatter,
	.recv_complete = softrnic_qp_xrc_recv_complete,
	.remote_check = softrnic_qp_remote_check,
	.remote_write = softrnic_qp_remote_write,
	.remote_read = softrnic_qp_remote_read,
	.remote_atomic = softrnic_qp_remote_atomic,
	.remote_invalidate = softrnic_qp_remote_invalidate,
	.event = qp_event,
};

static const struct roce_ops datagram_ops = {
	.emit = softrnic_qp_emit_datagram,
	.gather = softrnic_qp_gather_datagram,
	.complete = softrnic_qp_complete,
	.recv_take = softrnic_qp_recv_take,
	.recv_give_back = softrnic_qp_recv_give_back,
	.recv_scatter = softrnic_qp_recv_scatter,
	.recv_complete = softrnic_qp_recv_complete_datagram,
	.event = qp_event,
};

/* What the types run by. */
static const struct {
	const struct roce_transport *transport;
	const struct roce_ops *ops;
	const uint8_t *data_at; /* see struct softrnic_qp */
	uint8_t log_resources;	/* READs and atomics of the peer's that are remembered */
} kinds[SOFTRNIC_QP_TYPES] = {
	[SOFTRNIC_QP_RC] = { &roce_rc, &ops, softrnic_qp_data_at, SOFTRNIC_LOG_MAX_RD_ATOMIC },
	[SOFTRNIC_QP_UC] = { &roce_uc, &ops, softrnic_qp_data_at, 0 },
	[SOFTRNIC_QP_UD] = { &roce_ud, &datagram_ops, softrnic_qp_datagram_data_at, 0 },
	[SOFTRNIC_QP_QP1] = { &roce_ud, &datagram_ops, softrnic_qp_datagram_data_at, 0 },
	[SOFTRNIC_QP_XRC] = { &roce_xrc, &xrc_ops, softrnic_qp_no_data_at,
			      SOFTRNIC_LOG_MAX_RD_ATOMIC },
	/* What is executed and not sent has its turn in RC's order. */
	[SOFTRNIC_QP_REG_UMR] = { &roce_rc, &ops, softrnic_qp_no_data_at, 0 },
};

/* ---- Turns ---- */

/*
 * Those that no longer have a deadline stay on the list until its next scan: nearly all deadlines are taken back by an
 * answer.
 */
static inline void
qp_deadline(struct softrnic *dev, struct softrnic_qp *qp)
{
	qp->deadline = roce_qp_deadline(&qp->roce);
	if (qp->deadline == UINT64_MAX)
		return;
	if (!qp->timed) {
		qp->timed = true;
		dev->timed_count++;
		TAILQ_INSERT_TAIL(&dev->timed_qps, qp, timed_link);
	}
	if (qp->deadline < dev->qps_deadline)
		dev->qps_deadline = qp->deadline;
}

static void
qp_untime(struct softrnic *dev, struct softrnic_qp *qp)
{
	if (!qp->timed)
		return;
	qp->timed = false;
	dev->timed_count--;
	TAILQ_REMOVE(&dev->timed_qps, qp, timed_link);
}

/*
 * Some deadline may be due: look at all of them, so many in a poll. Those that are looked at go to the end; what is new
 * meanwhile makes qps_deadline earlier, as it always does.
 */
static void
qps_expire(struct softrnic *dev)
{
	struct softrnic_qp *qp;
	uint32_t looks;

	if (dev->timed_left == 0) {
		dev->timed_left = dev->timed_count;
		dev->qps_deadline = UINT64_MAX;
	}
	for (looks = 0; dev->timed_left > 0 && looks < SOFTRNIC_IDLE_LOOKS; looks++) {
		dev->timed_left--;
		qp = TAILQ_FIRST(&dev->timed_qps);
		/* Some of them may have gone since. */
		if (qp == NULL)
			break;
		if (qp->deadline == UINT64_MAX) {
			qp_untime(dev, qp);
			continue;
		}
		TAILQ_REMOVE(&dev->timed_qps, qp, timed_link);
		TAILQ_INSERT_TAIL(&dev->timed_qps, qp, timed_link);
		if (qp->deadline <= dev->now)
			softrnic_qp_activate(dev, qp);
		else if (qp->deadline < dev->qps_deadline)
			dev->qps_deadline = qp->deadline;
	}
}

static inline unsigned int
qp_poll(struct softrnic *dev, struct softrnic_qp *qp)
{
	enum roce_state state = qp->roce.state;
	unsigned int done = 0;

	/* What is posted in the states of errors is flushed. */
	if (state >= ROCE_RTS)
		done = softrnic_qp_fetch(dev, qp, QPS_BUDGET);
	dev->budget->qp_packets = &qp->roce.budget;
	done += roce_qp_poll(&qp->roce, dev->now, QPS_BUDGET);
	/* Cut short by what it met: it has more to do, as far as anybody knows. */
	if (unlikely(qp->roce.budget == 0))
		done++;
	dev->budget->qp_packets = NULL;
	if (unlikely(qp->broken && qp->roce.state != ROCE_ERR)) {
		roce_qp_modify(&qp->roce, ROCE_ERR, NULL);
		done++;
	}
	qp_deadline(dev, qp);
	return done;
}

/* Among many, the next one is in no cache near: what its turn will touch comes while another has its own. */
static inline void
qp_prefetch(const struct softrnic_qp *qp)
{
	const uint8_t *line = (const uint8_t *)qp, *end = (const uint8_t *)&qp->context;

	for (; line < end; line += RTE_CACHE_LINE_SIZE)
		__builtin_prefetch(line, 1);
}

/*
 * The wire is full: nobody has a turn, so that nothing is lost, and the next round begins with queue pairs, before others fill
 * what has become free. One that is busy will take more as soon as another thread of ours has had its round; any other may not.
 */
static __attribute__((noinline)) bool
qps_wait_for_wire(struct softrnic *dev)
{
	if (!dev->wire_full && !dev->wire_busy)
		return false;
	if (dev->wire_waits_from == 0)
		dev->wire_waits_from = dev->now;
	if (!dev->wire_busy && dev->now - dev->wire_waits_from >= QPS_WIRE_WAIT_NS)
		return false;
	dev->round_cut = true;
	dev->next_part = SOFTRNIC_PART_QPS;
	return true;
}

unsigned int
softrnic_qps_poll(struct softrnic *dev)
{
	unsigned int done = 0, looks = 0, n;
	struct softrnic_qp *qp, *last;
	uint32_t spent;
	uint64_t now;

	if (dev->qp_watch.count > 0)
		softrnic_qp_watch_poll(dev);
	if (TAILQ_EMPTY(&dev->active_qps) && TAILQ_EMPTY(&dev->timed_qps))
		return 0;
	now = softrnic_now_ns();
	dev->now = now - dev->power_on_ns;
	if (unlikely(dev->now >= dev->qps_deadline || dev->timed_left > 0)) {
		if (qps_wait_for_wire(dev))
			return dev->wire_full;
		qps_expire(dev);
	}
	softrnic_share_begin(dev, now + SOFTRNIC_SHARE_NS);
	dev->qps_work = 0;
	last = TAILQ_LAST(&dev->active_qps, softrnic_qp_list);
	/* The polling thread must not sleep before all deadlines were looked at. */
	done = dev->timed_left > 0;
	if (last == NULL)
		return done;
	/*
	 * Who had its turn goes to the end. Those that its packets wake come behind it. Who had nothing to do leaves, until
	 * a packet, its deadline, its record or a doorbell wakes it.
	 */
	do {
		qp = TAILQ_FIRST(&dev->active_qps);
		TAILQ_REMOVE(&dev->active_qps, qp, active_link);
		TAILQ_INSERT_TAIL(&dev->active_qps, qp, active_link);
		qp_prefetch(TAILQ_FIRST(&dev->active_qps));
		spent = dev->budget->spent;
		n = qp_poll(dev, qp);
		done += n;
		looks += n == 0;
		dev->qps_work += (n + dev->budget->spent - spent) * QPS_WORK_PACKET;
		softrnic_spend(dev, n);
		if (n == 0) {
			qp->active = false;
			TAILQ_REMOVE(&dev->active_qps, qp, active_link);
		}
	} while (qp != last && dev->qps_work < QPS_WORK_MAX && looks < SOFTRNIC_IDLE_LOOKS &&
		 !softrnic_share_is_over(dev));
	return done;
}

void
softrnic_qp_doorbell(struct softrnic *dev, uint32_t qpn)
{
	struct softrnic_qp *qp = softrnic_object_get(dev, SOFTRNIC_QP, qpn);

	if (qp != NULL && qp->roce.state != ROCE_RST)
		softrnic_qp_activate(dev, qp);
}

/* The send ring's record is ahead although no doorbell told of it. */
static bool
qp_sends_wait(struct softrnic *dev, struct softrnic_qp *qp)
{
	uint32_t producer;

	return !qp->no_sq && !qp->sq_failed && qp->roce.state >= ROCE_RTS &&
	       softrnic_dbrec_read(dev, &qp->dbrec, 1, &producer) &&
	       (uint16_t)producer != qp->sq_consumer && (uint16_t)producer != qp->sq_producer;
}

/* As for SQs: one visit alone may have come between the driver's two stores. */
static void
qp_sweep(struct softrnic *dev, struct softrnic_qp *qp)
{
	if (qp->active)
		return;
	/* Receive WQEs have no doorbell; in ERR they are to be flushed all the same. */
	if (qp->roce.state == ROCE_ERR && softrnic_qp_recv_waits(dev, qp))
		softrnic_qp_activate(dev, qp);
	if (qp->watched != 0)
		return;
	if (!qp_sends_wait(dev, qp)) {
		qp->suspect = false;
		return;
	}
	if (!qp->suspect) {
		qp->suspect = true;
		return;
	}
	qp->suspect = false;
	dev->stats.doorbells_missed++;
	softrnic_qp_activate(dev, qp);
}

void
softrnic_qp_sweep(struct softrnic *dev, unsigned int count)
{
	struct softrnic_qp *last = TAILQ_LAST(&dev->swept_qps, softrnic_qp_list), *qp = NULL;

	/* None of them twice. */
	for (; count > 0 && qp != last; count--) {
		qp = TAILQ_FIRST(&dev->swept_qps);
		TAILQ_REMOVE(&dev->swept_qps, qp, sweep_link);
		TAILQ_INSERT_TAIL(&dev->swept_qps, qp, sweep_link);
		qp_sweep(dev, qp);
	}
}

/* ---- For the commands ---- */

static uint64_t
qp_wqes_bytes(const struct softrnic_qp *qp)
{
	/* Behind the copies: the rest of one that begins at the ring's end. */
	return qp->no_sq ? 0
			 : ((uint64_t)RNIC_WQEBB_BYTES << qp->sq_log_size) +
				   SOFTRNIC_QP_WQE_BYTES_MAX;
}

static size_t
qp_recv_bytes(const struct softrnic_qp *qp)
{
	/* Whichever pool it is of. */
	if (softrnic_qp_is_xrc_target(qp))
		return (size_t)1 << SOFTRNIC_LOG_MAX_RQ_WQE;
	if (qp->rmp != NULL && qp->type != SOFTRNIC_QP_XRC)
		return (size_t)1 << qp->rmp->log_stride;
	return qp->no_rq ? 0 : (size_t)1 << qp->rq.log_stride;
}

int
softrnic_qp_open(struct softrnic *dev, struct softrnic_qp *qp)
{
	uint8_t log_resources = kinds[qp->type].log_resources;
	struct roce_conf conf = {
		.ops = kinds[qp->type].ops,
		.transport = kinds[qp->type].transport,
		.counters = qp->counter != NULL ? &qp->counter->roce : &dev->roce_counters,
		.requests_log = qp->no_sq ? 0 : qp->sq_log_size,
		.max_dest_rd_atomic = (uint8_t)(1 << log_resources),
		.srq = qp->rmp != NULL || softrnic_qp_is_xrc_target(qp),
		.ring_index = softrnic_tunables.ring_index,
	};
	uint64_t transport = ((uint64_t)sizeof(struct roce_request) << conf.requests_log) +
			     (sizeof(struct roce_resource) << log_resources);
	uint64_t memory = qp_wqes_bytes(qp) + qp_recv_bytes(qp) + transport;

	/* Copies are made by whole blocks of the ring's pages. */
	if (conf.requests_log > SOFTRNIC_LOG_MAX_QP_SIZE || qp->sq_offset % RNIC_WQEBB_BYTES != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (memory > SOFTRNIC_QP_MEMORY - dev->qps_memory) {
		SOFTRNIC_LOG(NOTICE, dev, "queue pairs may not take more than %" PRIu64 " bytes",
			     SOFTRNIC_QP_MEMORY);
		return RNIC_STATUS_NO_RES;
	}
	if (!softrnic_memory_take(dev, transport))
		return RNIC_STATUS_NO_RES;
	if (softrnic_qp_watch_open(dev) != RNIC_STATUS_OK)
		goto give;
	if (roce_qp_init(&qp->roce, &conf) != 0)
		goto close_watch;
	qp->memory = memory;
	dev->qps_memory += memory;
	qp->dev = dev;
	qp->data_at = kinds[qp->type].data_at;
	qp->deadline = UINT64_MAX;
	/* calloc(): large ones cost no memory before they are used. */
	qp->wqes = qp->no_sq ? NULL : softrnic_alloc(dev, 1, qp_wqes_bytes(qp));
	qp->recv_wqe = qp_recv_bytes(qp) == 0 ? NULL : softrnic_alloc(dev, 1, qp_recv_bytes(qp));
	if ((qp->wqes == NULL && !qp->no_sq) || (qp->recv_wqe == NULL && qp_recv_bytes(qp) != 0)) {
		softrnic_qp_close(dev, qp);
		return RNIC_STATUS_NO_RES;
	}
	return RNIC_STATUS_OK;
close_watch:
	softrnic_qp_watch_close(dev);
give:
	softrnic_memory_give(dev, transport);
	return RNIC_STATUS_NO_RES;
}

/* To RST, by what the data path knows of it: off the lists, and from the start. */
static void
qp_to_reset(struct softrnic *dev, struct softrnic_qp *qp)
{
	softrnic_qp_unwatch(dev, qp);
	if (qp->active)
		TAILQ_REMOVE(&dev->active_qps, qp, active_link);
	qp_untime(dev, qp);
	if (qp->roce.state != ROCE_RST)
		TAILQ_REMOVE(&dev->swept_qps, qp, sweep_link);
	qp->active = qp->suspect = false;
	qp->sq_failed = qp->rq_failed = qp->broken = qp->error_told = false;
	qp->sq_consumer = qp->sq_producer = 0;
	softrnic_bf_audit_reset(&qp->bf_audit);
	qp->rq.consumer = qp->rq.producer = 0;
	qp->deadline = UINT64_MAX;
	dev->open_qps -= qp->open;
	qp->open = false;
}

void
softrnic_qp_close(struct softrnic *dev, struct softrnic_qp *qp)
{
	qp_to_reset(dev, qp);
	softrnic_qp_watch_close(dev);
	softrnic_spend_bytes(dev, qp->memory);
	roce_qp_fini(&qp->roce);
	softrnic_free(dev, qp->wqes);
	softrnic_free(dev, qp->recv_wqe);
	qp->wqes = qp->recv_wqe = NULL;
	dev->qps_memory -= qp->memory;
	softrnic_memory_give(dev, qp->memory - qp_wqes_bytes(qp) - qp_recv_bytes(qp));
	qp->memory = 0;
}

int
softrnic_qp_change(struct softrnic *dev, struct softrnic_qp *qp, enum roce_state to,
		   const struct roce_attr *attr)
{
	enum roce_state from = qp->roce.state;

	if (!roce_state_allowed(from, to))
		return RNIC_STATUS_BAD_QP_STATE;
	/* To ERR it may complete a receive WQE, now. */
	dev->now = softrnic_now_ns() - dev->power_on_ns;
	if (to == ROCE_RST)
		qp_to_reset(dev, qp);
	if (roce_qp_modify(&qp->roce, to, attr) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (to == ROCE_RST)
		return RNIC_STATUS_OK;
	if (from == ROCE_SQER)
		qp->error_told = false;
	if (from == ROCE_RST)
		TAILQ_INSERT_TAIL(&dev->swept_qps, qp, sweep_link);
	dev->open_qps += !qp->open && to >= ROCE_RTR && to != ROCE_ERR;
	dev->open_qps -= qp->open && to == ROCE_ERR;
	qp->open = to >= ROCE_RTR && to != ROCE_ERR;
	/* What is to be flushed or drained; what was rung for before. */
	softrnic_qp_activate(dev, qp);
	return RNIC_STATUS_OK;
}

void
softrnic_qp_report(const struct softrnic_qp *qp, struct rnic_qpc *qpc)
{
	const struct roce_requester *req = &qp->roce.requester;
	const struct roce_responder *resp = &qp->roce.responder;
	enum roce_state state = qp->roce.state;

	rnic_qpc_set(qpc, RNIC_QPC_STATE,
		     state == ROCE_SQD && req->draining ? RNIC_QP_STATE_SQ_DRAINING : state);
	rnic_qpc_set(qpc, RNIC_QPC_HW_SQ_WQEBB_COUNTER, qp->sq_consumer);
	rnic_qpc_set(qpc, RNIC_QPC_SW_SQ_WQEBB_COUNTER, qp->sq_producer);
	rnic_qpc_set(qpc, RNIC_QPC_HW_RQ_COUNTER, qp->rq.consumer);
	rnic_qpc_set(qpc, RNIC_QPC_SW_RQ_COUNTER, qp->rq.producer);
	/* Before, they are what the driver will say. */
	if (state >= ROCE_RTR) {
		rnic_qpc_set(qpc, RNIC_QPC_NEXT_RCV_PSN, resp->psn);
		rnic_qpc_set(qpc, RNIC_QPC_RMSN, resp->msn);
	}
	if (state >= ROCE_RTS) {
		rnic_qpc_set(qpc, RNIC_QPC_NEXT_SEND_PSN, req->high);
		rnic_qpc_set(qpc, RNIC_QPC_LAST_ACKED_PSN, roce_psn_add(req->una, ROCE_PSN_MASK));
	}
}
