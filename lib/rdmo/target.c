/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A target as its application has it: commands over a stream, one after the other. In the worker's process it has nothing but that; in
 * another one a queue pair as well, by which the worker comes to its memory, and the memory is registered with its device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include <rdmapmd.h>

#include "claim.h"
#include "control.h"
#include "end.h"
#include "log.h"
#include "rdmo.h"
#include "socket.h"
#include "target.h"
#include "ticket.h"
#include "worker.h"

#define ANSWER_MS 5000

/* Memory that is offered. */
struct target_mr {
	TAILQ_ENTRY(target_mr) next;
	uint64_t key;
	uint64_t events;       /* that are not polled yet */
	struct rdmapmd_mr *mr; /* the device's, in another process than the worker; else NULL */
	bool is_claimed;       /* there are appends to it: */
	struct rdmo_claim claim;
};

struct rdmo_target {
	char *address; /* the worker's */
	uint64_t id;
	int fd;
	uint64_t tag; /* of the last command */
	struct rdmo_stream stream;
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	/* In another process than the worker; else NULL. */
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	TAILQ_HEAD(, target_mr) mrs;
	SLIST_HEAD(, rdmo_kept) kept;
};

/* Of memory that was taken back meanwhile nothing is to be told. */
static void
event_take(struct rdmo_target *target, const struct rdmo_notification *notification)
{
	struct target_mr *entry;

	TAILQ_FOREACH(entry, &target->mrs, next)
		if (entry->key == notification->number)
			entry->events += notification->count;
}

/* The answer to the last command. What comes before it is events, and answers to commands that nobody waited for any longer. */
static int
answer_receive(struct rdmo_target *target, struct rdmo_notification *notification, uint64_t end_ms)
{
	int rc;

	for (;;) {
		rc = rdmo_socket_receive_until(target->fd, &target->stream, notification, end_ms);
		if (rc != 0)
			return rc;
		if (notification->kind == RDMO_CMD_EVENT)
			event_take(target, notification);
		else if (notification->tag == 0 || notification->tag >= target->tag)
			return 0;
		/* However much there is of that. */
		if (rdmo_now_ms() > end_ms)
			return -ETIMEDOUT;
	}
}

/* Ask, and have it done; a status that the caller has an error of its own for is that error. */
static int
worker_ask(struct rdmo_target *target, uint32_t bytes, struct rdmo_notification *notification)
{
	const uint64_t end_ms = rdmo_now_ms() + ANSWER_MS;
	const struct rdmo_cmd *cmd = (const void *)target->cmd;
	int rc;

	rc = rdmo_socket_send(target->fd, cmd, bytes, ANSWER_MS);
	if (rc == 0)
		rc = answer_receive(target, notification, end_ms);
	if (rc != 0)
		return rc;
	if (notification->kind != cmd->kind || notification->tag != target->tag)
		return -EPROTO;
	switch (notification->status) {
	case RDMO_STATUS_OK: return 0;
	case RDMO_STATUS_KEY: return -ENOENT;
	case RDMO_STATUS_FULL: return -ENOSPC;
	case RDMO_STATUS_TAIL: return -EBUSY;
	case RDMO_STATUS_NOTSUP: return -ENOTSUP;
	default:
		RDMO_LOG(ERR, "the worker refuses a target's command: %s",
			 rdmo_status_str(notification->status));
		return -EREMOTEIO;
	}
}

/* ---- Open and close ---- */

static int
client_init(struct rdmo_target *target, const struct rdmo_addr *own,
	    struct rdmo_notification *notification)
{
	return worker_ask(target,
			  rdmo_client_init_write(target->cmd, ++target->tag, target->id, own),
			  notification);
}

static void
mr_free(struct target_mr *entry)
{
	if (entry->is_claimed)
		rdmo_claim_drop(&entry->claim);
	if (entry->mr != NULL)
		rdmapmd_mr_dereg(entry->mr);
	free(entry);
}

static void
target_free(struct rdmo_target *target)
{
	struct target_mr *entry;
	struct rdmo_kept *kept;

	if (target->fd >= 0)
		close(target->fd);
	/* Nobody comes to its memory any more, whatever the worker does. */
	if (target->qp != NULL)
		rdmapmd_qp_destroy(target->qp);
	if (target->cq != NULL)
		rdmapmd_cq_destroy(target->cq);
	while ((entry = TAILQ_FIRST(&target->mrs)) != NULL) {
		TAILQ_REMOVE(&target->mrs, entry, next);
		mr_free(entry);
	}
	while ((kept = SLIST_FIRST(&target->kept)) != NULL) {
		SLIST_REMOVE_HEAD(&target->kept, next);
		kept->free(kept);
	}
	free(target->address);
	free(target);
}

/* One that is not connected. NULL: no memory. */
static struct rdmo_target *
target_new(const char *address, uint64_t id)
{
	struct rdmo_target *target = calloc(1, sizeof(*target));

	if (target == NULL)
		return NULL;
	target->id = id;
	target->fd = -1;
	rdmo_stream_begin(&target->stream, true);
	TAILQ_INIT(&target->mrs);
	target->address = strdup(address);
	if (target->address == NULL) {
		target_free(target);
		return NULL;
	}
	return target;
}

static int
local_open(struct rdmo_target *target, struct rdmo_worker *worker)
{
	/* It has no queue pair: it is where the worker is. */
	static const struct rdmo_addr here = { .mtu = RTE_LE16(4096) };
	struct rdmo_notification notification;
	int fds[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
		return -errno;
	target->fd = fds[0];
	rc = rdmo_server_adopt(&worker->server, fds[1]);
	return rc == 0 ? client_init(target, &here, &notification) : rc;
}

int
rdmo_target_open(struct rdmo_worker *worker, uint64_t id, struct rdmo_target **target)
{
	struct rdmo_target *made;
	int rc;

	if (worker == NULL || target == NULL)
		return -EINVAL;
	made = target_new(rdmo_worker_address(worker), id);
	if (made == NULL)
		return -ENOMEM;
	rc = local_open(made, worker);
	if (rc != 0) {
		target_free(made);
		return rc;
	}
	*target = made;
	return 0;
}

/* A queue pair that sends and receives nothing: it is there for the worker's to write to. */
static int
remote_queues_open(struct rdmo_target *target)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 1 };
	struct rdmapmd_qp_init_attr qp = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	int rc;

	rc = rdmapmd_cq_create(target->pd->context, &cq, &target->cq);
	qp.send_cq = qp.recv_cq = target->cq;
	return rc == 0 ? rdmapmd_qp_create(target->pd, &qp, &target->qp) : rc;
}

static int
remote_open(struct rdmo_target *target, uint32_t gid_index)
{
	struct rdmo_notification told;
	struct rdmo_addr own;
	int rc;

	target->fd = rdmo_socket_connect(target->address, ANSWER_MS);
	if (target->fd < 0)
		return target->fd;
	rc = remote_queues_open(target);
	if (rc == 0)
		rc = rdmo_end_tell(target->pd->context, gid_index, target->qp->qp_num, 0, 0, &own);
	if (rc == 0)
		rc = client_init(target, &own, &told);
	if (rc == 0)
		rc = rdmo_end_connect(target->qp, gid_index, &own, told.addr,
				      RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ |
					      RDMAPMD_ACCESS_REMOTE_ATOMIC);
	return rc;
}

int
rdmo_target_connect(struct rdmapmd_pd *pd, const struct rdmo_target_attr *attr,
		    struct rdmo_target **target)
{
	struct rdmo_target *made;
	int rc;

	if (pd == NULL || attr == NULL || target == NULL ||
	    !rdmo_end_may_be(attr->gid_index, 4, RDMO_RECEIVE_MIN_BYTES))
		return -EINVAL;
	made = target_new(attr->address != NULL ? attr->address : RDMO_ADDRESS, attr->id);
	if (made == NULL)
		return -ENOMEM;
	made->pd = pd;
	rc = remote_open(made, attr->gid_index);
	if (rc != 0) {
		target_free(made);
		return rc;
	}
	*target = made;
	return 0;
}

void
rdmo_target_close(struct rdmo_target *target)
{
	if (target == NULL)
		return;
	/* The worker closes its end when the memory is the caller's again. Of one in another process nothing gets at it without the queue pair. */
	if (rdmo_socket_finish(target->fd, target->pd == NULL ? -1 : ANSWER_MS) != 0 &&
	    target->pd == NULL) {
		RDMO_LOG(ERR, "the worker does not say that a target's memory is free");
		SLIST_INIT(&target->kept);
	}
	target_free(target);
}

void
rdmo_target_keep(struct rdmo_target *target, struct rdmo_kept *kept)
{
	SLIST_INSERT_HEAD(&target->kept, kept, next);
}

/* ---- Receive queues ---- */

int
rdmo_rq_create(struct rdmo_target *target, uint8_t *secret, uint64_t *rq_id)
{
	uint8_t drawn[RDMO_SECRET_BYTES];
	int rc;

	if (secret == NULL)
		return -EINVAL;
	rc = rdmo_random(drawn, sizeof(drawn));
	if (rc == 0)
		rc = rdmo_rq_restore(target, drawn, rq_id);
	if (rc == 0)
		memcpy(secret, drawn, sizeof(drawn));
	return rc;
}

/* By one of both; the other one is NULL. */
static int
rq_make(struct rdmo_target *target, const struct rdmo_addr *addr, const uint8_t *secret,
	uint64_t *rq_id)
{
	struct rdmo_notification notification;
	int rc;

	rc = worker_ask(target, rdmo_rq_create_write(target->cmd, ++target->tag, addr, secret),
			&notification);
	if (rc == 0)
		*rq_id = notification.number;
	return rc;
}

int
rdmo_rq_restore(struct rdmo_target *target, const uint8_t *secret, uint64_t *rq_id)
{
	if (target == NULL || secret == NULL || rq_id == NULL)
		return -EINVAL;
	return rq_make(target, NULL, secret, rq_id);
}

int
rdmo_rq_create_for(struct rdmo_target *target, const struct rdmo_addr *addr, uint64_t *rq_id)
{
	if (target == NULL || addr == NULL || addr->qpn == 0 || rq_id == NULL)
		return -EINVAL;
	return rq_make(target, addr, NULL, rq_id);
}

int
rdmo_rq_destroy(struct rdmo_target *target, uint64_t rq_id)
{
	struct rdmo_notification notification;

	if (target == NULL)
		return -EINVAL;
	return worker_ask(target, rdmo_rq_destroy_write(target->cmd, ++target->tag, rq_id),
			  &notification);
}

/* ---- Memory ---- */

/* What the worker must be able to do in it, on the initiators' behalf. */
static uint32_t
access_of(uint32_t rights)
{
	uint32_t access = RDMAPMD_ACCESS_LOCAL_WRITE;

	if ((rights & (RDMO_RIGHT_APPEND | RDMO_RIGHT_WRITE)) != 0)
		access |= RDMAPMD_ACCESS_REMOTE_WRITE;
	if ((rights & (RDMO_RIGHT_APPEND | RDMO_RIGHT_READ)) != 0)
		access |= RDMAPMD_ACCESS_REMOTE_READ;
	if ((rights & (RDMO_RIGHT_APPEND | RDMO_RIGHT_ATOMIC)) != 0)
		access |= RDMAPMD_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* Offer it to the worker, which knows it by `rkey` if it is in another process, and else wakes a log's reader by that. */
static int
mr_offer(struct rdmo_target *target, const struct rdmo_mr_attr *attr, uint32_t rkey, uint64_t *key)
{
	const struct rdmo_mr_reg reg = {
		.va = rte_cpu_to_le_64((uintptr_t)attr->addr),
		.len = rte_cpu_to_le_64(attr->length),
		.rq_id = rte_cpu_to_le_64(attr->rq_id),
		.rights = rte_cpu_to_le_32(attr->rights),
		.tail_mode = rte_cpu_to_le_32((uint32_t)attr->tail_mode),
	};
	struct rdmo_notification notification;
	int rc;

	rc = worker_ask(target, rdmo_mr_reg_write(target->cmd, ++target->tag, &reg, rkey),
			&notification);
	if (rc == 0)
		*key = notification.number;
	return rc;
}

/* Its device's key is what a worker in another process knows it by. */
static int
device_mr_reg(struct rdmo_target *target, const struct rdmo_mr_attr *attr, struct target_mr *entry)
{
	return target->pd == NULL ? 0
				  : rdmapmd_mr_reg(target->pd, attr->addr, attr->length,
						   access_of(attr->rights), &entry->mr);
}

/* What is appended to is one worker's, unless all of them know that it is not. */
static int
mr_claim(const struct rdmo_target *target, const struct rdmo_mr_attr *attr, struct target_mr *entry)
{
	struct rdmapmd_device_attr device = { .atomic_cap = RDMAPMD_ATOMIC_GLOB };
	int rc = target->pd != NULL ? rdmapmd_device_query(target->pd->context, &device) : 0;

	if (rc != 0)
		return rc;
	if ((attr->rights & RDMO_RIGHT_APPEND) == 0)
		return 0;
	entry->claim = (struct rdmo_claim){
		.va = (uintptr_t)attr->addr,
		.len = attr->length,
		.worker = target->address,
		.is_shared = attr->tail_mode == RDMO_TAIL_SHARED,
		.is_log = attr->tail_mode == RDMO_TAIL_LOG,
		.is_by_cpu = target->pd == NULL,
		.is_by_device = device.atomic_cap != RDMAPMD_ATOMIC_GLOB,
		.device = target->pd != NULL ? rdmapmd_context_device(target->pd->context) : NULL,
	};
	rc = rdmo_claim_make(&entry->claim);
	entry->is_claimed = rc == 0;
	return rc;
}

int
rdmo_target_offer(struct rdmo_target *target, const struct rdmo_mr_attr *attr, uint32_t bell,
		  uint64_t *key)
{
	struct target_mr *entry;
	int rc;

	if (target == NULL || attr == NULL || attr->addr == NULL || key == NULL ||
	    attr->length == 0 || attr->length > UINT64_MAX - (uintptr_t)attr->addr ||
	    attr->rights == 0 || (attr->rights & ~(uint32_t)RDMO_RIGHTS_ALL) != 0)
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return -ENOMEM;
	rc = mr_claim(target, attr, entry);
	if (rc == 0)
		rc = device_mr_reg(target, attr, entry);
	if (rc == 0)
		rc = mr_offer(target, attr, entry->mr != NULL ? entry->mr->rkey : bell,
			      &entry->key);
	if (rc != 0 && rc != -ETIMEDOUT) {
		mr_free(entry);
		return rc;
	}
	/* The worker may still do what it was asked, and has the memory then until the target is closed. */
	TAILQ_INSERT_TAIL(&target->mrs, entry, next);
	if (rc == 0)
		*key = entry->key;
	return rc;
}

bool
rdmo_target_is_remote(const struct rdmo_target *target)
{
	return target->pd != NULL;
}

int
rdmo_mr_reg(struct rdmo_target *target, const struct rdmo_mr_attr *attr, uint64_t *key)
{
	return rdmo_target_offer(target, attr, 0, key);
}

/* What the worker has let go of. */
static void
mr_forget(struct rdmo_target *target, uint64_t key)
{
	struct target_mr *entry;

	TAILQ_FOREACH(entry, &target->mrs, next)
		if (entry->key == key)
			break;
	if (entry == NULL)
		return;
	TAILQ_REMOVE(&target->mrs, entry, next);
	mr_free(entry);
}

int
rdmo_mr_dereg(struct rdmo_target *target, uint64_t key)
{
	struct rdmo_notification notification;
	int rc;

	if (target == NULL)
		return -EINVAL;
	rc = worker_ask(target, rdmo_mr_dereg_write(target->cmd, ++target->tag, key),
			&notification);
	if (rc == 0)
		mr_forget(target, key);
	return rc;
}

/* ---- Tails ---- */

static int
tail_hold(struct rdmo_target *target, uint64_t key, bool is_held)
{
	struct rdmo_notification notification;

	return worker_ask(target, rdmo_tail_hold_write(target->cmd, ++target->tag, key, is_held),
			  &notification);
}

int
rdmo_tail_set(struct rdmo_target *target, uint64_t key, rte_le64_t *tail, uint64_t value)
{
	int rc;

	if (target == NULL || tail == NULL || (uintptr_t)tail % sizeof(*tail) != 0)
		return -EINVAL;
	rc = tail_hold(target, key, true);
	if (rc != 0)
		return rc;
	/* The worker has no atomic under way that this could lose, or be lost by. Partner: who reads what the queue has. */
	__atomic_store_n(tail, rte_cpu_to_le_64(value), __ATOMIC_RELEASE);
	return tail_hold(target, key, false);
}

/* ---- Events ---- */

int
rdmo_target_fd(const struct rdmo_target *target)
{
	return target == NULL ? -EINVAL : target->fd;
}

/* All that has come: 0, or why there is no more of it ever. */
static int
events_receive(struct rdmo_target *target)
{
	struct rdmo_notification notification;
	int rc;

	while ((rc = rdmo_socket_receive(target->fd, &target->stream, &notification, 0)) == 0) {
		if (notification.kind != RDMO_CMD_EVENT)
			return -EPROTO;
		event_take(target, &notification);
	}
	return rc == -ETIMEDOUT ? 0 : rc;
}

int
rdmo_target_poll(struct rdmo_target *target, struct rdmo_event *events, uint32_t n)
{
	struct target_mr *entry;
	uint32_t count = 0;
	int rc;

	if (target == NULL || (events == NULL && n > 0))
		return -EINVAL;
	rc = events_receive(target);
	TAILQ_FOREACH(entry, &target->mrs, next) {
		if (count == n || entry->events == 0)
			continue;
		events[count++] = (struct rdmo_event){ .key = entry->key, .count = entry->events };
		entry->events = 0;
	}
	return count > 0 ? (int)count : rc;
}

/* ---- Tickets ---- */

int
rdmo_ticket_get(const struct rdmo_target *target, const struct rdmo_ticket *ticket, char *text,
		size_t size)
{
	struct rdmo_ticket whole;

	if (target == NULL || ticket == NULL || text == NULL)
		return -EINVAL;
	whole = *ticket;
	whole.id = target->id;
	snprintf(whole.address, sizeof(whole.address), "%s", target->address);
	return rdmo_ticket_write(&whole, text, size);
}
