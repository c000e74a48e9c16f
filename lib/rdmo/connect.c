/* SPDX-License-Identifier: BSD-3-Clause */

/* An initiator's connection: made, ended, and made again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#include "conn.h"
#include "control.h"
#include "end.h"
#include "log.h"
#include "socket.h"

#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

#define SENDS 16 /* messages of operations that were not sent yet, at most */
#define SPARE 8	 /* of a producer: answered, and not yet known to have been sent */

static_assert(RDMO_LOG_WINDOW + SPARE <= RDMO_OUTBOX_MAX, "buffers of a producer");

/* ---- Memory ---- */

/* A producer keeps its messages until they are answered: one for each operation at worst. */
static uint32_t
sends_of(const struct rdmo_conn *conn)
{
	return conn->is_producer ? conn->depth + SPARE : SENDS;
}

static int
memory_open(struct rdmo_conn *conn)
{
	const size_t received = (size_t)conn->receives * conn->receive_bytes;
	const size_t sent = (size_t)sends_of(conn) * conn->receive_bytes;
	const size_t bytes = received + sent + RDMO_CONN_CREDITS * sizeof(struct rdmo_msg);

	conn->places = calloc(conn->depth, sizeof(*conn->places));
	conn->into = calloc(conn->depth, sizeof(*conn->into));
	conn->memory = rte_zmalloc("rdmo", bytes, 4096);
	if (conn->places == NULL || conn->into == NULL || conn->memory == NULL)
		return -ENOMEM;
	conn->credit_memory = conn->memory + received + sent;
	rdmo_outbox_begin(&conn->outbox, conn->memory + received, sends_of(conn),
			  conn->receive_bytes, conn->is_producer);
	return rdmapmd_mr_reg(conn->pd, conn->memory, bytes, RDMAPMD_ACCESS_LOCAL_WRITE, &conn->mr);
}

/* ---- Queues and stream ---- */

/* Who sleeps is woken by that, too. */
static int
wake_by(const struct rdmo_conn *conn, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };

	if (conn->epoll_fd < 0)
		return 0;
	return epoll_ctl(conn->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int
channel_open(struct rdmo_conn *conn)
{
	int rc;

	if (conn->epoll_fd < 0)
		return 0;
	rc = rdmapmd_comp_channel_create(conn->pd->context, &conn->channel);
	return rc == 0 ? wake_by(conn, conn->channel->fd) : rc;
}

static int
queues_open(struct rdmo_conn *conn)
{
	const uint32_t sends = sends_of(conn) + RDMO_CONN_CREDITS;
	struct rdmapmd_cq_init_attr cq = { .cqe = conn->receives + sends };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = sends,
			 .max_recv_wr = conn->receives,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int rc = channel_open(conn);

	cq.channel = conn->channel;
	if (rc == 0)
		rc = rdmapmd_cq_create(conn->pd->context, &cq, &conn->cq);
	attr.send_cq = attr.recv_cq = conn->cq;
	if (rc == 0)
		rc = rdmapmd_qp_create(conn->pd, &attr, &conn->qp);
	if (rc == 0)
		rc = rdmo_end_prepare(conn->qp);
	for (uint32_t i = 0; i < conn->receives && rc == 0; i++)
		rc = rdmo_conn_receives_post(conn, &i, 1) ? 0 : conn->qp->post_recv_error;
	return rc == 0 ? rdmo_end_tell(conn->pd->context, conn->gid_index, conn->qp->qp_num,
				       conn->receives, conn->receive_bytes, &conn->own)
		       : rc;
}

static void
stream_close(struct rdmo_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
}

static void
queues_close(struct rdmo_conn *conn)
{
	if (conn->qp != NULL)
		rdmapmd_qp_destroy(conn->qp);
	if (conn->cq != NULL)
		rdmapmd_cq_destroy(conn->cq);
	if (conn->channel != NULL)
		rdmapmd_comp_channel_destroy(conn->channel);
	stream_close(conn);
	conn->qp = NULL;
	conn->cq = NULL;
	conn->channel = NULL;
}

/* What the worker's refusal is to the caller. */
static int
refusal_errno(enum rdmo_status status)
{
	switch (status) {
	case RDMO_STATUS_OK: return 0;
	case RDMO_STATUS_KEY: return -EACCES;
	case RDMO_STATUS_FULL: return -ENOSPC;
	case RDMO_STATUS_RIGHTS: return -EBUSY;
	default:
		RDMO_LOG(ERR, "the worker refuses a connection: %s", rdmo_status_str(status));
		return -EREMOTEIO;
	}
}

/* The first operation that it will send: what is not answered, if it is sent again. */
static uint64_t
first_seq_of(const struct rdmo_conn *conn)
{
	return conn->is_producer ? conn->first_seq : conn->next_seq;
}

/* What the worker has told of its end. */
static int
welcome_take(struct rdmo_conn *conn, const struct rdmo_notification *told)
{
	const uint32_t theirs = rte_le_to_cpu_32(told->addr->receive_bytes);

	/* All that is posted goes into buffers of that size. */
	if (told->addr->credits == 0 || theirs < RDMO_RECEIVE_MIN_BYTES)
		return -EPROTO;
	conn->session = told->number;
	conn->may_send = rte_le_to_cpu_32(told->addr->credits);
	if (conn->next_seq == 0)
		conn->next_seq = conn->first_seq = told->first_seq;
	else if (told->first_seq != first_seq_of(conn))
		return -EPROTO;
	/* What it receives may be more than there are buffers for here; but what was written once is sent as it is. */
	if (theirs < conn->outbox.bytes && rdmo_outbox_next(&conn->outbox) != NULL)
		return -EMSGSIZE;
	if (theirs < conn->outbox.bytes)
		rdmo_outbox_begin(&conn->outbox, conn->outbox.memory, conn->outbox.buffers,
				  theirs & ~UINT32_C(7), conn->outbox.keeps);
	/* Payloads that no message has room for are the worker's to READ. */
	return rdmo_end_connect(conn->qp, conn->gid_index, &conn->own, told->addr,
				RDMAPMD_ACCESS_REMOTE_READ);
}

static int
hello_say(struct rdmo_conn *conn)
{
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_hello hello = {
		.producer = rte_cpu_to_le_32(conn->is_producer ? conn->producer : RDMO_NO_PRODUCER),
		.first_seq = rte_cpu_to_le_64(first_seq_of(conn)),
		.next_seq = rte_cpu_to_le_64(conn->next_seq),
	};
	struct rdmo_notification told;
	struct rdmo_stream stream;
	int rc;

	memcpy(hello.secret, conn->secret, sizeof(hello.secret));
	rc = rdmo_socket_ask(conn->fd, cmd, rdmo_hello_write(cmd, 1, &hello, &conn->own), &stream,
			     &told, conn->timeout_ms);
	if (rc == 0)
		rc = refusal_errno(told.status);
	return rc == 0 ? welcome_take(conn, &told) : rc;
}

/* Its queues, which are not there yet; nothing was sent. */
static int
conn_begin(struct rdmo_conn *conn)
{
	conn->sent = conn->may_send = conn->completed = 0;
	conn->credit_count = conn->back_count = 0;
	memset(conn->credit_sent, 0, sizeof(conn->credit_sent));
	conn->granted = conn->told = conn->receives;
	conn->reading = RDMO_CONN_NONE;
	conn->waiting_at = conn->waiting_count = 0;
	conn->idle_since = 0;
	conn->is_over = true;
	return queues_open(conn);
}

/* From there to RTS. */
static int
conn_finish(struct rdmo_conn *conn)
{
	int rc;

	conn->fd = rdmo_socket_connect(conn->address, conn->timeout_ms);
	rc = conn->fd < 0 ? conn->fd : hello_say(conn);
	if (rc == 0)
		rc = wake_by(conn, conn->fd);
	if (rc != 0) {
		stream_close(conn);
		return rc;
	}
	conn->reason = RDMO_REASON_NONE;
	conn->is_over = conn->is_begun = false;
	return 0;
}

/* All of it. On error all is closed again. */
static int
conn_open(struct rdmo_conn *conn)
{
	int rc = conn_begin(conn);

	if (rc == 0)
		rc = conn_finish(conn);
	if (rc != 0)
		queues_close(conn);
	return rc;
}

/* ---- API ---- */

static void
conn_free(struct rdmo_conn *conn)
{
	queues_close(conn);
	if (conn->epoll_fd >= 0)
		close(conn->epoll_fd);
	if (conn->mr != NULL)
		rdmapmd_mr_dereg(conn->mr);
	rte_free(conn->memory);
	free(conn->places);
	free(conn->into);
	free(conn->address);
	free(conn);
}

static bool
conn_may_be(const struct rdmo_conn *conn)
{
	const uint32_t most = conn->is_producer ? RDMO_LOG_WINDOW : 32768;

	return conn->depth >= 2 && conn->depth <= most && rte_is_power_of_2(conn->depth) &&
	       (!conn->is_producer || conn->producer < RDMO_LOG_PRODUCERS_MAX) &&
	       rdmo_end_may_be(conn->gid_index, conn->receives, conn->receive_bytes);
}

/* Memory, and what stays when it is made again. */
static int
conn_prepare(struct rdmo_conn *conn, bool sleeps)
{
	if (!conn_may_be(conn))
		return -EINVAL;
	if (conn->address == NULL)
		return -ENOMEM;
	if (sleeps && (conn->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return -errno;
	return memory_open(conn);
}

/* One with its memory, and no queues. */
static int
conn_make(struct rdmapmd_pd *pd, const struct rdmo_connect_attr *attr, const uint8_t *secret,
	  struct rdmo_conn **conn)
{
	struct rdmo_conn *made = calloc(1, sizeof(*made));
	int rc;

	if (made == NULL)
		return -ENOMEM;
	made->fd = made->epoll_fd = -1;
	made->pd = pd;
	made->address = strdup(attr->address != NULL ? attr->address : RDMO_ADDRESS);
	memcpy(made->secret, secret, sizeof(made->secret));
	made->depth = OR(attr->depth, RDMO_LOG_WINDOW);
	made->receives = OR(attr->receives, 16);
	made->receive_bytes = OR(attr->receive_bytes, 4096);
	made->gid_index = attr->gid_index;
	made->timeout_ms = OR(attr->timeout_ms, 5000);
	made->is_producer = attr->is_producer;
	made->producer = attr->producer;
	rc = conn_prepare(made, attr->sleeps);
	if (rc != 0) {
		conn_free(made);
		return rc;
	}
	*conn = made;
	return 0;
}

int
rdmo_connect(struct rdmapmd_pd *pd, const struct rdmo_connect_attr *attr, struct rdmo_conn **conn)
{
	struct rdmo_conn *made;
	int rc;

	if (pd == NULL || attr == NULL || attr->secret == NULL || conn == NULL)
		return -EINVAL;
	rc = conn_make(pd, attr, attr->secret, &made);
	if (rc != 0)
		return rc;
	rc = conn_open(made);
	if (rc != 0) {
		conn_free(made);
		return rc;
	}
	*conn = made;
	return 0;
}

int
rdmo_connect_begin(struct rdmapmd_pd *pd, const struct rdmo_connect_attr *attr,
		   struct rdmo_conn **conn, struct rdmo_addr *addr)
{
	static const uint8_t none[RDMO_SECRET_BYTES];
	struct rdmo_conn *made;
	int rc;

	if (pd == NULL || attr == NULL || conn == NULL || addr == NULL)
		return -EINVAL;
	rc = conn_make(pd, attr, none, &made);
	if (rc != 0)
		return rc;
	made->is_named = made->is_begun = true;
	rc = conn_begin(made);
	if (rc != 0) {
		conn_free(made);
		return rc;
	}
	*addr = made->own;
	*conn = made;
	return 0;
}

int
rdmo_connect_finish(struct rdmo_conn *conn)
{
	return conn != NULL && conn->is_begun ? conn_finish(conn) : -EINVAL;
}

int
rdmo_reconnect(struct rdmo_conn *conn, const char *address)
{
	char *copy = NULL;
	int rc;

	if (conn == NULL)
		return -EINVAL;
	/* It would have another queue pair. */
	if (conn->is_named)
		return -ENOTSUP;
	if (address != NULL) {
		copy = strdup(address);
		if (copy == NULL)
			return -ENOMEM;
		free(conn->address);
		conn->address = copy;
	}
	queues_close(conn);
	conn->is_over = true;
	if (!conn->is_producer)
		conn->lost_seq = conn->next_seq;
	rdmo_outbox_again(&conn->outbox, first_seq_of(conn));
	rc = conn_open(conn);
	if (rc != 0)
		return rc;
	if (conn->doubtful_seq == 0)
		conn->doubtful_seq = conn->silent_seq;
	rdmo_conn_send_again(conn);
	return 0;
}

void
rdmo_disconnect(struct rdmo_conn *conn)
{
	if (conn != NULL)
		conn_free(conn);
}
