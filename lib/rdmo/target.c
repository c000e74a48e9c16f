/* SPDX-License-Identifier: BSD-3-Clause */

/* A target as its application has it: commands over a stream, one after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include "control.h"
#include "end.h"
#include "log.h"
#include "rdmo.h"
#include "socket.h"
#include "ticket.h"
#include "worker.h"

#define ANSWER_MS 5000

struct rdmo_target {
	const struct rdmo_worker *worker;
	uint64_t id;
	int fd;
	uint64_t tag; /* of the last command */
	struct rdmo_stream stream;
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
};

/* Ask, and have it done; a status that the caller has an error of its own for is that error. */
static int
ask(struct rdmo_target *target, uint32_t bytes, struct rdmo_notification *notification)
{
	int rc = rdmo_socket_ask(target->fd, target->cmd, bytes, &target->stream, notification,
				 ANSWER_MS);

	if (rc != 0)
		return rc;
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

static int
client_init(struct rdmo_target *target, uint64_t id)
{
	/* It has no queue pair: it is where the worker is. */
	static const struct rdmo_addr here = { .mtu = RTE_LE16(4096) };
	struct rdmo_notification notification;

	return ask(target, rdmo_client_init_write(target->cmd, ++target->tag, id, &here),
		   &notification);
}

int
rdmo_target_open(struct rdmo_worker *worker, uint64_t id, struct rdmo_target **target)
{
	struct rdmo_target *made;
	int fds[2], rc;

	if (worker == NULL || target == NULL)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
		rc = -errno;
		free(made);
		return rc;
	}
	made->worker = worker;
	made->id = id;
	made->fd = fds[0];
	rc = rdmo_server_adopt(&worker->server, fds[1]);
	if (rc == 0)
		rc = client_init(made, id);
	if (rc != 0) {
		close(made->fd);
		free(made);
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
	/* The worker closes its end when the memory is the caller's again. */
	if (rdmo_socket_finish(target->fd) != 0)
		RDMO_LOG(ERR, "the worker does not say that a target's memory is free");
	close(target->fd);
	free(target);
}

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

int
rdmo_rq_restore(struct rdmo_target *target, const uint8_t *secret, uint64_t *rq_id)
{
	struct rdmo_notification notification;
	int rc;

	if (target == NULL || secret == NULL || rq_id == NULL)
		return -EINVAL;
	rc = ask(target, rdmo_rq_create_write(target->cmd, ++target->tag, NULL, secret),
		 &notification);
	if (rc == 0)
		*rq_id = notification.number;
	return rc;
}

int
rdmo_rq_destroy(struct rdmo_target *target, uint64_t rq_id)
{
	struct rdmo_notification notification;

	if (target == NULL)
		return -EINVAL;
	return ask(target, rdmo_rq_destroy_write(target->cmd, ++target->tag, rq_id), &notification);
}

int
rdmo_mr_reg(struct rdmo_target *target, const struct rdmo_mr_attr *attr, uint64_t *key)
{
	struct rdmo_notification notification;
	struct rdmo_mr_reg reg;
	int rc;

	if (target == NULL || attr == NULL || attr->addr == NULL || key == NULL ||
	    attr->length == 0 || attr->length > UINT64_MAX - (uintptr_t)attr->addr ||
	    attr->rights == 0 || (attr->rights & ~(uint32_t)RDMO_RIGHTS_ALL) != 0)
		return -EINVAL;
	reg = (struct rdmo_mr_reg){
		.va = rte_cpu_to_le_64((uintptr_t)attr->addr),
		.len = rte_cpu_to_le_64(attr->length),
		.rq_id = rte_cpu_to_le_64(attr->rq_id),
		.rights = rte_cpu_to_le_32(attr->rights),
		.tail_mode = rte_cpu_to_le_32((uint32_t)attr->tail_mode),
	};
	rc = ask(target, rdmo_mr_reg_write(target->cmd, ++target->tag, &reg, 0), &notification);
	if (rc == 0)
		*key = notification.number;
	return rc;
}

int
rdmo_mr_dereg(struct rdmo_target *target, uint64_t key)
{
	struct rdmo_notification notification;

	if (target == NULL)
		return -EINVAL;
	return ask(target, rdmo_mr_dereg_write(target->cmd, ++target->tag, key), &notification);
}

int
rdmo_ticket_get(const struct rdmo_target *target, const struct rdmo_ticket *ticket, char *text,
		size_t size)
{
	struct rdmo_ticket whole;

	if (target == NULL || ticket == NULL || text == NULL)
		return -EINVAL;
	whole = *ticket;
	whole.id = target->id;
	snprintf(whole.address, sizeof(whole.address), "%s", rdmo_worker_address(target->worker));
	return rdmo_ticket_write(&whole, text, size);
}
