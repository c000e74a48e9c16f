/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs. */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "context_private.h"
#include "cq_private.h"
#include "groups_private.h"
#include "log_private.h"
#include "object_private.h"
#include "path_private.h"
#include "pd_private.h"
#include "qp_private.h"
#include "qp_state_private.h"
#include "sizing_private.h"
#include "srq_private.h"
#include "td_private.h"

#define QP_EVENTS (RDMAPMD_EVENT_QP_LAST_WQE_REACHED - RDMAPMD_EVENT_QP_FATAL + 1)

struct rdmapmd_qp_object {
	struct rdmapmd_object object;
	atomic_uchar state;	     /* enum rdmapmd_qp_state */
	atomic_bool tell_drained;    /* the caller that went to SQD wants SQ_DRAINED */
	unsigned char asked;	     /* the state that was asked for last; object->lock */
	struct rdmapmd_qp_attr attr; /* set last; object->lock */
	struct rdmapmd_qp_cap cap;
	struct rdmapmd_qp_sizing sizing;
	uint32_t create_flags;
	uint8_t port_num;	      /* GSI */
	struct rdmapmd_groups groups; /* object->lock */
	struct rdmapmd_event_node events[QP_EVENTS];
};

static struct rdmapmd_qp_object *
qp_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_qp_object *)object;
}

static int
qp_destroy(struct rdmapmd_object *object)
{
	struct rdmapmd_qp *qp = rdmapmd_object_head(object);
	const struct rdmapmd_driver_ops *ops = object->context->ops;
	int rc = rdmapmd_groups_leave_all(&qp_of(object)->groups, ops, qp),
	    destroy_rc = ops->qp_destroy(qp);

	return rc != 0 ? rc : destroy_rc;
}

static void
qp_orphan(struct rdmapmd_object *object)
{
	struct rdmapmd_qp *qp = rdmapmd_object_head(object);

	qp->post_send = rdmapmd_post_send_none;
	qp->post_recv = rdmapmd_post_recv_none;
}

static bool
qp_note_event(struct rdmapmd_object *object, enum rdmapmd_event_type type)
{
	switch (type) {
	case RDMAPMD_EVENT_QP_FATAL:
	case RDMAPMD_EVENT_QP_REQ_ERR:
	case RDMAPMD_EVENT_QP_ACCESS_ERR:
		rdmapmd_qp_in_error(rdmapmd_object_head(object));
		return true;
	/* Devices tell of every SQ that is drained. */
	case RDMAPMD_EVENT_SQ_DRAINED: return atomic_load(&qp_of(object)->tell_drained);
	default: return true;
	}
}

static void
qp_release(struct rdmapmd_object *object)
{
	const struct rdmapmd_qp *qp = rdmapmd_object_head(object);

	if (qp->td != NULL)
		rdmapmd_object_undepend(&rdmapmd_td_class, qp->td);
	if (qp->srq != NULL)
		rdmapmd_object_undepend(&rdmapmd_srq_class, qp->srq);
	rdmapmd_object_undepend(&rdmapmd_cq_class, qp->recv_cq);
	rdmapmd_object_undepend(&rdmapmd_cq_class, qp->send_cq);
	rdmapmd_object_undepend(&rdmapmd_pd_class, qp->pd);
}

const struct rdmapmd_object_class rdmapmd_qp_class = {
	.type = RDMAPMD_OBJECT_QP,
	.name = "queue pair",
	.size = sizeof(struct rdmapmd_qp_object),
	.destroy = qp_destroy,
	.orphan = qp_orphan,
	.event = qp_note_event,
	.release = qp_release,
};

/* ---- Create ---- */

static int
qp_check_raw_packet(const struct rdmapmd_context_object *context,
		    const struct rdmapmd_qp_init_attr *attr)
{
	if (context->ops->qp_attach_mac == NULL) {
		RDMAPMD_LOG(ERR, context->device, "the driver has no RAW_PACKET queue pairs");
		return -ENOTSUP;
	}
	if (attr->srq != NULL) {
		RDMAPMD_LOG(ERR, context->device,
			    "RAW_PACKET queue pairs receive into a queue of their own: no SRQ");
		return -ENOTSUP;
	}
	if (attr->cap.max_send_wr == 0 && attr->cap.max_recv_wr == 0) {
		RDMAPMD_LOG(ERR, context->device, "a RAW_PACKET queue pair without any queue");
		return -EINVAL;
	}
	return 0;
}

static int
qp_check_datagrams(const struct rdmapmd_context_object *context,
		   const struct rdmapmd_qp_init_attr *attr)
{
	if (context->ops->ah_create == NULL) {
		RDMAPMD_LOG(ERR, context->device, "the driver has no datagrams");
		return -ENOTSUP;
	}
	if (attr->qp_type == RDMAPMD_QPT_GSI &&
	    (attr->port_num == 0 || attr->port_num > context->attr.phys_port_cnt)) {
		RDMAPMD_LOG(ERR, context->device,
			    "queue pair 1 of port %u: the device does not have that port",
			    attr->port_num);
		return -EINVAL;
	}
	return 0;
}

static int
qp_check_type(const struct rdmapmd_context_object *context, const struct rdmapmd_qp_init_attr *attr)
{
	const uint32_t flags = attr->qp_type == RDMAPMD_QPT_UD ? RDMAPMD_QP_BLOCK_SELF_MCAST_LB : 0;

	if (attr->create_flags & ~flags) {
		RDMAPMD_LOG(ERR, context->device,
			    "create_flags 0x%x: of queue pairs of type %d, 0x%x are known",
			    attr->create_flags, attr->qp_type, flags);
		return -EINVAL;
	}
	switch (attr->qp_type) {
	case RDMAPMD_QPT_RC:
	case RDMAPMD_QPT_UC: return 0;
	case RDMAPMD_QPT_RAW_PACKET: return qp_check_raw_packet(context, attr);
	case RDMAPMD_QPT_UD:
	case RDMAPMD_QPT_GSI: return qp_check_datagrams(context, attr);
	default: return -EINVAL;
	}
}

static int
qp_compute_size(const struct rdmapmd_context_object *context, enum rdmapmd_qp_type type, bool srq,
		struct rdmapmd_qp_cap *cap, struct rdmapmd_qp_sizing *sizing)
{
	const struct rdmapmd_device_attr *device = &context->attr;
	int rc = rdmapmd_size_qp(device, type, srq, cap, sizing);

	if (rc != 0)
		RDMAPMD_LOG(ERR, context->device,
			    "a QP of %u send requests (%u segments, %u bytes inline) and %u "
			    "receive requests (%u segments) is too large; the device has at most "
			    "%u requests, %u and %u segments, send WQEs of %u bytes and %u blocks "
			    "of them, receive WQEs of %u bytes",
			    cap->max_send_wr, cap->max_send_sge, cap->max_inline_data,
			    cap->max_recv_wr, cap->max_recv_sge, device->max_qp_wr,
			    device->max_send_sge, device->max_recv_sge, device->max_sq_desc_sz,
			    device->max_send_wqebb, device->max_rq_desc_sz);
	return rc;
}

/* References on all that it needs, or on nothing. */
static int
qp_depend(const struct rdmapmd_context_object *context, struct rdmapmd_pd *pd,
	  const struct rdmapmd_qp_init_attr *attr)
{
	int rc = rdmapmd_object_depend(&rdmapmd_pd_class, pd, context);

	if (rc != 0)
		return rc;
	rc = rdmapmd_object_depend(&rdmapmd_cq_class, attr->send_cq, context);
	if (rc != 0)
		goto no_send_cq;
	rc = rdmapmd_object_depend(&rdmapmd_cq_class, attr->recv_cq, context);
	if (rc != 0)
		goto no_recv_cq;
	if (attr->srq != NULL)
		rc = rdmapmd_object_depend(&rdmapmd_srq_class, attr->srq, context);
	if (rc != 0)
		goto no_srq;
	if (attr->td != NULL)
		rc = rdmapmd_object_depend(&rdmapmd_td_class, attr->td, context);
	if (rc != 0)
		goto no_td;
	return 0;

no_td:
	if (attr->srq != NULL)
		rdmapmd_object_undepend(&rdmapmd_srq_class, attr->srq);
no_srq:
	rdmapmd_object_undepend(&rdmapmd_cq_class, attr->recv_cq);
no_recv_cq:
	rdmapmd_object_undepend(&rdmapmd_cq_class, attr->send_cq);
no_send_cq:
	rdmapmd_object_undepend(&rdmapmd_pd_class, pd);
	return rc;
}

static struct rdmapmd_object *
qp_new(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd,
       const struct rdmapmd_qp_init_attr *attr, const struct rdmapmd_qp_sizing *sizing)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&rdmapmd_qp_class, context, context->ops->qp_size);
	struct rdmapmd_qp *qp;
	unsigned int i;

	if (object == NULL)
		return NULL;
	for (i = 0; i < QP_EVENTS; i++)
		qp_of(object)->events[i] = (struct rdmapmd_event_node){
			.object = object,
			.type = (uint8_t)(RDMAPMD_EVENT_QP_FATAL + i),
		};
	object->events = qp_of(object)->events;
	object->event_count = QP_EVENTS;
	qp_of(object)->cap = attr->cap;
	qp_of(object)->sizing = *sizing;
	qp_of(object)->create_flags = attr->create_flags;
	qp_of(object)->port_num = attr->port_num;
	atomic_init(&qp_of(object)->state, RDMAPMD_QPS_RESET);
	atomic_init(&qp_of(object)->tell_drained, true);
	qp = rdmapmd_object_head(object);
	qp->post_send = rdmapmd_post_send_none;
	qp->post_recv = rdmapmd_post_recv_none;
	qp->qp_type = (uint8_t)attr->qp_type;
	qp->sq_sig_all = attr->sq_sig_all;
	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->td = attr->td;
	qp->qp_context = attr->qp_context;
	return object;
}

/* With everything that it depends on. */
static int
qp_create(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd,
	  const struct rdmapmd_qp_init_attr *attr, const struct rdmapmd_qp_sizing *sizing,
	  struct rdmapmd_qp **result)
{
	struct rdmapmd_object *object = qp_new(context, pd, attr, sizing);
	struct rdmapmd_qp *qp;
	int rc;

	if (object == NULL)
		return -ENOMEM;
	qp = rdmapmd_object_head(object);
	rc = context->ops->qp_create(qp, attr, sizing);
	rc = rdmapmd_object_publish_or_undo(object, rc, qp->qp_num);
	if (rc == 0)
		*result = qp;
	return rc;
}

int
rdmapmd_qp_create(struct rdmapmd_pd *pd, struct rdmapmd_qp_init_attr *attr,
		  struct rdmapmd_qp **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_qp_sizing sizing;
	struct rdmapmd_qp_init_attr got;
	struct rdmapmd_object *parent;
	int rc = attr == NULL || result == NULL
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_pd_class, pd, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	got = *attr;
	rc = qp_check_type(context, attr);
	if (rc == 0)
		rc = qp_compute_size(context, attr->qp_type, attr->srq != NULL, &got.cap, &sizing);
	if (rc == 0)
		rc = qp_depend(context, pd, attr);
	if (rc == 0) {
		rc = qp_create(context, pd, &got, &sizing, result);
		if (rc == 0) {
			attr->cap = got.cap;
		} else {
			if (attr->td != NULL)
				rdmapmd_object_undepend(&rdmapmd_td_class, attr->td);
			if (attr->srq != NULL)
				rdmapmd_object_undepend(&rdmapmd_srq_class, attr->srq);
			rdmapmd_object_undepend(&rdmapmd_cq_class, attr->recv_cq);
			rdmapmd_object_undepend(&rdmapmd_cq_class, attr->send_cq);
			rdmapmd_object_undepend(&rdmapmd_pd_class, pd);
		}
	}
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_qp_destroy(struct rdmapmd_qp *qp)
{
	return rdmapmd_object_destroy(&rdmapmd_qp_class, qp);
}

/* ---- Ask ---- */

int
rdmapmd_qp_sizing_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_sizing *sizing)
{
	struct rdmapmd_object *object;
	int rc = sizing == NULL ? -EINVAL : rdmapmd_object_hold(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	*sizing = qp_of(object)->sizing;
	rdmapmd_object_drop(object);
	return 0;
}

int
rdmapmd_qp_sizing_compute(struct rdmapmd_context *context, enum rdmapmd_qp_type qp_type,
			  struct rdmapmd_qp_cap *cap, bool srq, struct rdmapmd_qp_sizing *sizing)
{
	struct rdmapmd_qp_sizing answer;
	struct rdmapmd_object *object;
	int rc = cap == NULL || sizing == NULL
			 ? -EINVAL
			 : rdmapmd_object_hold(&rdmapmd_context_class, context, &object);

	if (rc != 0)
		return rc;
	rc = qp_compute_size(object->context, qp_type, srq, cap, &answer);
	if (rc == 0)
		*sizing = answer;
	rdmapmd_object_drop(object);
	return rc;
}

int
rdmapmd_qp_state(struct rdmapmd_qp *qp)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	rc = atomic_load(&qp_of(object)->state);
	rdmapmd_object_drop(object);
	return rc;
}

void
rdmapmd_qp_in_error(struct rdmapmd_qp *qp)
{
	atomic_store(&qp_of(rdmapmd_object_of(&rdmapmd_qp_class, qp))->state, RDMAPMD_QPS_ERR);
}

void
rdmapmd_qp_send_in_error(struct rdmapmd_qp *qp)
{
	atomic_uchar *state = &qp_of(rdmapmd_object_of(&rdmapmd_qp_class, qp))->state;
	unsigned char running = RDMAPMD_QPS_RTS, drained = RDMAPMD_QPS_SQD;

	if (qp->qp_type == RDMAPMD_QPT_RC)
		rdmapmd_qp_in_error(qp);
	else if (!atomic_compare_exchange_strong(state, &running, RDMAPMD_QPS_SQE))
		atomic_compare_exchange_strong(state, &drained, RDMAPMD_QPS_SQE);
}

struct rdmapmd_qp *
rdmapmd_qp_find(struct rdmapmd_context *context, uint32_t qp_num)
{
	struct rdmapmd_object *parent, *object;
	struct rdmapmd_device *device;
	struct rdmapmd_qp *qp = NULL;

	if (rdmapmd_object_hold(&rdmapmd_context_class, context, &parent) != 0)
		return NULL;
	device = parent->context->device;
	pthread_mutex_lock(&device->lock);
	object = rdmapmd_object_find_number(device, RDMAPMD_OBJECT_QP, qp_num);
	if (object != NULL && object->context == parent->context)
		qp = rdmapmd_object_head(object);
	pthread_mutex_unlock(&device->lock);
	rdmapmd_object_drop(parent);
	return qp;
}

/* An error that the device or a poll meets meanwhile is not forgotten. */
static void
qp_set_state(struct rdmapmd_qp_object *qp, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	unsigned char expected = (unsigned char)from;

	if (to == RDMAPMD_QPS_RESET || to == RDMAPMD_QPS_ERR)
		atomic_store(&qp->state, (unsigned char)to);
	else
		atomic_compare_exchange_strong(&qp->state, &expected, (unsigned char)to);
}

int
rdmapmd_qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr,
		 struct rdmapmd_qp_init_attr *init_attr)
{
	struct rdmapmd_qp_attr answer;
	struct rdmapmd_object *object;
	enum rdmapmd_qp_state from;
	int rc = attr == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	answer = qp_of(object)->attr;
	from = (enum rdmapmd_qp_state)atomic_load(&qp_of(object)->state);
	rc = object->context->ops->qp_query(qp, &answer);
	if (rc == 0) {
		/* Only a modify leads out of it, whatever a device says that has yet to get there. */
		if (from == RDMAPMD_QPS_ERR)
			answer.qp_state = from;
		qp_set_state(qp_of(object), from, answer.qp_state);
		answer.cur_qp_state = answer.qp_state;
		answer.cap = qp_of(object)->cap;
		*attr = answer;
	}
	pthread_mutex_unlock(&object->lock);
	if (rc == 0 && init_attr != NULL)
		*init_attr = (struct rdmapmd_qp_init_attr){
			.send_cq = qp->send_cq,
			.recv_cq = qp->recv_cq,
			.srq = qp->srq,
			.td = qp->td,
			.cap = answer.cap,
			.qp_type = (enum rdmapmd_qp_type)qp->qp_type,
			.create_flags = qp_of(object)->create_flags,
			.port_num = qp_of(object)->port_num,
			.sq_sig_all = qp->sq_sig_all,
			.qp_context = qp->qp_context,
		};
	rdmapmd_object_leave(object);
	return rc;
}

/* ---- Change ---- */

/* The own address must fit, the peer's MAC is found out if it is not given. */
static int
path_complete(struct rdmapmd_context_object *context, uint32_t qp_num, struct rdmapmd_ah_attr *ah)
{
	char whose[32];

	snprintf(whose, sizeof(whose), "QP 0x%x", qp_num);
	return rdmapmd_path_complete(context, whose, ah);
}

/* A path cannot carry larger packets than the port. */
static int
path_check_mtu(struct rdmapmd_context_object *context, uint32_t qp_num,
	       const struct rdmapmd_qp_attr *attr)
{
	struct rdmapmd_port_attr port = { 0 };
	int rc = context->ops->port_query(rdmapmd_object_head(&context->object),
					  attr->ah_attr.port_num, &port);

	if (rc != 0 || attr->path_mtu <= port.active_mtu)
		return rc;
	RDMAPMD_LOG(ERR, context->device,
		    "QP 0x%x: path_mtu %u is more than the port's %u: make the port's MTU larger",
		    qp_num, rdmapmd_mtu_bytes(attr->path_mtu), rdmapmd_mtu_bytes(port.active_mtu));
	return -EINVAL;
}

/* What a mask names, for the next query. */
static void
qp_merge(struct rdmapmd_qp_attr *into, const struct rdmapmd_qp_attr *from, unsigned int mask)
{
#define TAKE(bit, member)                            \
	do {                                         \
		if (mask & RDMAPMD_QP_##bit)         \
			into->member = from->member; \
	} while (0)
	TAKE(EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	TAKE(ACCESS_FLAGS, qp_access_flags);
	TAKE(PKEY_INDEX, pkey_index);
	TAKE(PORT, port_num);
	TAKE(QKEY, qkey);
	TAKE(AV, ah_attr);
	TAKE(PATH_MTU, path_mtu);
	TAKE(TIMEOUT, timeout);
	TAKE(RETRY_CNT, retry_cnt);
	TAKE(RNR_RETRY, rnr_retry);
	TAKE(RQ_PSN, rq_psn);
	TAKE(MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(MIN_RNR_TIMER, min_rnr_timer);
	TAKE(SQ_PSN, sq_psn);
	TAKE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(DEST_QPN, dest_qp_num);
#undef TAKE
}

/* Called with the lock held. */
static int
qp_modify(struct rdmapmd_object *object, struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	struct rdmapmd_context_object *context = object->context;
	struct rdmapmd_qp *qp = rdmapmd_object_head(object);
	const enum rdmapmd_qp_state from =
		(enum rdmapmd_qp_state)atomic_load(&qp_of(object)->state);
	const enum rdmapmd_qp_state to = mask & RDMAPMD_QP_STATE ? attr->qp_state : from;
	int rc;

	if ((mask & RDMAPMD_QP_CUR_STATE) && attr->cur_qp_state != from) {
		RDMAPMD_LOG(ERR, context->device, "QP 0x%x is in %s, not in %s", qp->qp_num,
			    rdmapmd_qp_state_str(from), rdmapmd_qp_state_str(attr->cur_qp_state));
		return -EINVAL;
	}
	rc = rdmapmd_qp_check_change(context->device, qp, from, to, mask);
	if (rc == 0)
		rc = rdmapmd_qp_check_values(context, qp, attr, mask);
	if (rc == 0 && (mask & RDMAPMD_QP_AV))
		rc = path_complete(context, qp->qp_num, &attr->ah_attr);
	if (rc == 0 && (mask & RDMAPMD_QP_PATH_MTU))
		rc = path_check_mtu(context, qp->qp_num, attr);
	/* The event may come before the change has returned. */
	if (rc == 0 && from != RDMAPMD_QPS_SQD && to == RDMAPMD_QPS_SQD)
		atomic_store(&qp_of(object)->tell_drained,
			     (mask & RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify);
	if (rc == 0)
		rc = context->ops->qp_modify(qp, attr, mask | RDMAPMD_QP_STATE, from, to);
	if (rc != 0)
		return rc;
	if (to == RDMAPMD_QPS_RESET)
		qp_of(object)->attr = (struct rdmapmd_qp_attr){ 0 };
	qp_merge(&qp_of(object)->attr, attr, mask);
	qp_of(object)->asked = (unsigned char)to;
	qp_set_state(qp_of(object), from, to);
	return 0;
}

int
rdmapmd_qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	struct rdmapmd_qp_attr completed;
	struct rdmapmd_object *object;
	int rc = attr == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	completed = *attr;
	pthread_mutex_lock(&object->lock);
	rc = qp_modify(object, &completed, mask);
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

/* Called with the lock held: does the device flush all that is posted? Of frames, an error stops but one direction. */
static bool
qp_flushes(struct rdmapmd_object *object)
{
	const unsigned char state = atomic_load(&qp_of(object)->state);
	const struct rdmapmd_qp *qp = rdmapmd_object_head(object);

	return state == RDMAPMD_QPS_RESET ||
	       (state == RDMAPMD_QPS_ERR &&
		(qp->qp_type != RDMAPMD_QPT_RAW_PACKET || qp_of(object)->asked == RDMAPMD_QPS_ERR));
}

int
rdmapmd_qp_drain(struct rdmapmd_qp *qp)
{
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_ERR };
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);
	uint32_t outstanding;

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	outstanding = object->context->ops->qp_outstanding(qp);
	if (!qp_flushes(object))
		rc = qp_modify(object, &attr, RDMAPMD_QP_STATE);
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc != 0 ? rc : (int)outstanding;
}

/* ---- Which frames a RAW_PACKET queue pair receives ---- */

#define VLAN_ID_MAX 4094

/* Called with the lock held. */
static int
qp_check_address(struct rdmapmd_object *object, const uint8_t mac[6], uint16_t vlan_id)
{
	static const uint8_t no_mac[6];
	const struct rdmapmd_qp *qp = rdmapmd_object_head(object);
	const char *why = NULL;

	if (qp->qp_type != RDMAPMD_QPT_RAW_PACKET)
		why = "it is not of type RAW_PACKET";
	else if (qp_of(object)->sizing.rq.wqe_count == 0)
		why = "it has no receive queue";
	else if (memcmp(mac, no_mac, sizeof(no_mac)) == 0)
		why = "the address is empty";
	else if (vlan_id > VLAN_ID_MAX && vlan_id != RDMAPMD_VLAN_ANY)
		why = "a VLAN's identifier is 0 to 4094";
	if (why == NULL)
		return 0;
	RDMAPMD_LOG(ERR, object->context->device, "QP 0x%x: cannot attach or detach an address: %s",
		    qp->qp_num, why);
	return -EINVAL;
}

static int
qp_change_address(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id, bool attach)
{
	const struct rdmapmd_driver_ops *ops;
	struct rdmapmd_object *object;
	int rc = mac == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	ops = object->context->ops;
	rc = qp_check_address(object, mac, vlan_id);
	if (rc == 0)
		rc = (attach ? ops->qp_attach_mac : ops->qp_detach_mac)(qp, mac, vlan_id);
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_qp_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id)
{
	return qp_change_address(qp, mac, vlan_id, true);
}

int
rdmapmd_qp_detach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id)
{
	return qp_change_address(qp, mac, vlan_id, false);
}

/* ---- Which groups a UD queue pair is in ---- */

/* Called with the lock held. */
static int
qp_check_group(struct rdmapmd_object *object, const union rdmapmd_gid *gid)
{
	const struct rdmapmd_qp *qp = rdmapmd_object_head(object);
	const char *why = NULL;

	if (qp->qp_type != RDMAPMD_QPT_UD)
		why = "it is not of type UD";
	else if (!rdmapmd_gid_is_multicast(gid))
		why = "the address is not a group's";
	else if (object->context->ops->mcast_attach == NULL)
		return -ENOTSUP;
	if (why == NULL)
		return 0;
	RDMAPMD_LOG(ERR, object->context->device, "QP 0x%x: cannot join or leave a group: %s",
		    qp->qp_num, why);
	return -EINVAL;
}

static int
qp_change_group(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid, bool attach)
{
	struct rdmapmd_object *object;
	int rc = gid == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	rc = qp_check_group(object, gid);
	if (rc == 0)
		rc = (attach ? rdmapmd_groups_join : rdmapmd_groups_leave)(
			&qp_of(object)->groups, object->context->ops, qp, gid);
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_mcast_attach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	return qp_change_group(qp, gid, true);
}

int
rdmapmd_mcast_detach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	return qp_change_group(qp, gid, false);
}
