/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An initiator's connection.
 *
 *     rdmo_post():  operations --> message in a buffer --> SEND           places[]: what was posted and is not answered
 *     rdmo_poll():  CQ --> answers in a receive --> completions           in order; a place is free when it is passed
 *
 * The last credit is for a message that brings credits alone: else both ends could wait for each other's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#include "control.h"
#include "end.h"
#include "log.h"
#include "message.h"
#include "rdmo.h"
#include "socket.h"

#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

#define SENDS  16 /* messages that were not sent yet, at most; their buffers are used in turn */
#define SIGNAL 4  /* each fourth one tells that it, and those before it, were sent */
#define BACK   4  /* receives posted at once, at most */
#define BURST  16
#define SEND   (UINT64_C(1) << 63) /* in numbers of requests: else it is a receive */
#define NONE   UINT32_MAX

/* Which operation, and its flags, in one number: kind_of(). */
#define KIND_FLAG(flag) ((uint32_t)(flag) << 16)
#define KIND_SILENT	KIND_FLAG(RDMO_FLAG_SILENT)
#define KIND_FLAGS	KIND_FLAG(RDMO_FLAG_FENCE | RDMO_FLAG_SILENT)

/* An operation that was not answered yet. */
struct place {
	uint64_t user_data;
	uint32_t length;
	uint32_t kind; /* kind_of() it, without RDMO_FLAG_FENCE */
};

struct rdmo_conn {
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq;
	struct rdmapmd_mr *mr;
	uint8_t *memory; /* receives, then sends */
	uint64_t session;
	uint32_t receives, receive_bytes, send_bytes;
	/* Operations: the next one's number, the first one's that was not answered. */
	uint64_t next_seq, first_seq;
	struct place *places;
	uint32_t depth;
	bool is_producer;
	/* Messages, modulo 2^32: sent, that may be sent; received ones that are free again, as the worker has been told. */
	uint32_t sent, may_send, granted, told;
	uint32_t completed; /* of those sent: their buffers are free */
	/* Answers that are read now. */
	struct rdmo_reader reader;
	struct rdmo_answer answer;
	uint32_t answered;   /* of them */
	uint32_t reading;    /* the receive; NONE */
	uint32_t back[BACK]; /* receives that were read, to be posted again */
	uint32_t back_count;
	uint32_t waiting[BURST]; /* receives behind it, as they came */
	uint32_t lengths[BURST];
	uint32_t waiting_count, waiting_at;
	int error;
	enum rdmo_reason reason;
	bool is_over;
	int fd;
	uint32_t gid_index;
	uint64_t idle_since; /* cycles; 0: something has come */
};

static_assert(sizeof(struct rdmo_op) == 64, "struct rdmo_op");
static_assert(sizeof(struct rdmo_completion) == 24, "struct rdmo_completion");

/* ---- Connect ---- */

static uint8_t *
receive_at(const struct rdmo_conn *conn, uint32_t receive)
{
	return conn->memory + (size_t)receive * conn->receive_bytes;
}

static uint8_t *
send_at(const struct rdmo_conn *conn, uint32_t send)
{
	return receive_at(conn, conn->receives) + (size_t)send * conn->send_bytes;
}

/* Post receives: BACK at most. */
static bool
receives_post(struct rdmo_conn *conn, const uint32_t *receives, uint32_t n)
{
	struct rdmapmd_recv_wr wr[BACK];
	struct rdmapmd_sge sge[BACK];

	for (uint32_t i = 0; i < n; i++) {
		sge[i] = (struct rdmapmd_sge){
			.addr = (uintptr_t)receive_at(conn, receives[i]),
			.length = conn->receive_bytes,
			.lkey = conn->mr->lkey,
		};
		wr[i] = (struct rdmapmd_recv_wr){
			.wr_id = receives[i],
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
	return rdmapmd_post_recv(conn->qp, wr, (uint16_t)n) == n;
}

static int
queues_open(struct rdmo_conn *conn, struct rdmapmd_pd *pd)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = conn->receives + SENDS };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = conn->receives,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	const size_t bytes =
		(size_t)conn->receives * conn->receive_bytes + (size_t)SENDS * conn->send_bytes;
	int rc;

	conn->places = calloc(conn->depth, sizeof(*conn->places));
	conn->memory = rte_zmalloc("rdmo", bytes, 4096);
	if (conn->places == NULL || conn->memory == NULL)
		return -ENOMEM;
	rc = rdmapmd_mr_reg(pd, conn->memory, bytes, RDMAPMD_ACCESS_LOCAL_WRITE, &conn->mr);
	if (rc == 0)
		rc = rdmapmd_cq_create(pd->context, &cq, &conn->cq);
	attr.send_cq = attr.recv_cq = conn->cq;
	if (rc == 0)
		rc = rdmapmd_qp_create(pd, &attr, &conn->qp);
	if (rc == 0)
		rc = rdmo_end_prepare(conn->qp);
	for (uint32_t i = 0; i < conn->receives && rc == 0; i++)
		rc = receives_post(conn, &i, 1) ? 0 : conn->qp->post_recv_error;
	return rc;
}

/* What the worker's refusal is to the caller. */
static int
refusal(enum rdmo_status status)
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

static int
hello(struct rdmo_conn *conn, const struct rdmo_connect_attr *attr, uint32_t timeout_ms)
{
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_hello hello = {
		.producer = rte_cpu_to_le_32(attr->is_producer ? attr->producer : RDMO_NO_PRODUCER),
	};
	struct rdmo_notification notification;
	struct rdmo_stream stream;
	struct rdmo_addr own;
	int rc;

	memcpy(hello.secret, attr->secret, sizeof(hello.secret));
	rc = rdmo_end_tell(conn->qp->context, conn->gid_index, conn->qp->qp_num, conn->receives,
			   conn->receive_bytes, &own);
	if (rc == 0)
		rc = rdmo_socket_ask(conn->fd, cmd, rdmo_hello_write(cmd, 1, &hello, &own), &stream,
				     &notification, timeout_ms);
	if (rc == 0)
		rc = refusal(notification.status);
	if (rc != 0)
		return rc;
	conn->session = notification.number;
	conn->next_seq = conn->first_seq = notification.first_seq;
	conn->may_send = rte_le_to_cpu_32(notification.addr->credits);
	/* What it receives may be more than there are buffers for here. */
	if (rte_le_to_cpu_32(notification.addr->receive_bytes) < conn->send_bytes)
		conn->send_bytes =
			rte_le_to_cpu_32(notification.addr->receive_bytes) & ~UINT32_C(7);
	return rdmo_end_connect(conn->qp, conn->gid_index, &own, notification.addr);
}

static void
conn_free(struct rdmo_conn *conn)
{
	if (conn->qp != NULL)
		rdmapmd_qp_destroy(conn->qp);
	if (conn->cq != NULL)
		rdmapmd_cq_destroy(conn->cq);
	if (conn->mr != NULL)
		rdmapmd_mr_dereg(conn->mr);
	if (conn->fd >= 0)
		close(conn->fd);
	rte_free(conn->memory);
	free(conn->places);
	free(conn);
}

static bool
attr_is_good(const struct rdmo_conn *conn)
{
	const uint32_t most = conn->is_producer ? RDMO_LOG_WINDOW : 32768;

	return conn->depth >= 2 && conn->depth <= most && rte_is_power_of_2(conn->depth) &&
	       rdmo_end_may_be(conn->gid_index, conn->receives, conn->receive_bytes);
}

int
rdmo_connect(struct rdmapmd_pd *pd, const struct rdmo_connect_attr *attr, struct rdmo_conn **conn)
{
	struct rdmo_conn *made;
	uint32_t timeout_ms;
	int rc = -EINVAL;

	if (pd == NULL || attr == NULL || attr->secret == NULL || conn == NULL)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->fd = -1;
	made->depth = OR(attr->depth, RDMO_LOG_WINDOW);
	made->is_producer = attr->is_producer;
	made->receives = made->granted = made->told = OR(attr->receives, 16);
	made->receive_bytes = made->send_bytes = OR(attr->receive_bytes, 4096);
	made->gid_index = attr->gid_index;
	made->reading = NONE;
	timeout_ms = OR(attr->timeout_ms, 5000);
	if (attr_is_good(made) && (!attr->is_producer || attr->producer < RDMO_LOG_PRODUCERS_MAX))
		rc = queues_open(made, pd);
	if (rc == 0) {
		made->fd = rdmo_socket_connect(attr->address != NULL ? attr->address : RDMO_ADDRESS,
					       timeout_ms);
		rc = made->fd < 0 ? made->fd : hello(made, attr, timeout_ms);
	}
	if (rc != 0) {
		conn_free(made);
		return rc;
	}
	*conn = made;
	return 0;
}

void
rdmo_disconnect(struct rdmo_conn *conn)
{
	if (conn != NULL)
		conn_free(conn);
}

uint64_t
rdmo_conn_seq(const struct rdmo_conn *conn)
{
	return conn->next_seq;
}

int
rdmo_conn_error(const struct rdmo_conn *conn)
{
	return conn->error;
}

enum rdmo_reason
rdmo_conn_reason(const struct rdmo_conn *conn)
{
	return conn->reason;
}

/* ---- Post ---- */

/* May one more message be sent? `kept`: credits that must be left then. */
static bool
message_is_possible(const struct rdmo_conn *conn, uint32_t kept)
{
	return conn->sent - conn->completed < SENDS &&
	       (int32_t)(conn->may_send - conn->sent) > (int32_t)kept;
}

static void
message_begin(struct rdmo_conn *conn, struct rdmo_writer *writer)
{
	rdmo_writer_begin(writer, send_at(conn, conn->sent % SENDS), conn->send_bytes,
			  RDMO_MSG_REQUESTS, conn->session, conn->next_seq);
}

static bool
message_post(struct rdmo_conn *conn, struct rdmo_writer *writer)
{
	const struct rdmapmd_sge sge = {
		.addr = (uintptr_t)writer->msg,
		.length = rdmo_writer_end(writer, conn->granted),
		.lkey = conn->mr->lkey,
	};
	const uint32_t number = conn->sent + 1;
	const struct rdmapmd_send_wr wr = {
		.wr_id = SEND | number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = number % SIGNAL == 0 ? RDMAPMD_SEND_SIGNALED : 0,
	};

	if (rdmapmd_post_send(conn->qp, &wr, 1) != 1) {
		conn->is_over = true;
		return false;
	}
	conn->sent = number;
	conn->told = conn->granted;
	return true;
}

/* False: there is no room. */
static inline bool
append_write(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_append_hdr append = {
		.ptr_addr = rte_cpu_to_le_64(op->append.ptr_addr),
		.ptr_rkey = rte_cpu_to_le_64(op->append.ptr_key),
		.data_rkey = rte_cpu_to_le_64(op->append.data_key),
	};

	return rdmo_writer_append(writer, op->id, op->flags, &append, op->append.payload,
				  op->length);
}

/* Add an operation to a message. 0; -ENOSPC there is no room; -EINVAL it is none. */
static int
op_write(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_flush_hdr flush = {
		.flush_id = rte_cpu_to_le_64(op->flush.flush_id),
		.key = rte_cpu_to_le_64(op->flush.key),
	};
	bool fits;

	if ((KIND_FLAG(op->flags) & ~KIND_FLAGS) != 0)
		return -EINVAL;
	switch (op->op_id) {
	case RDMO_OP_APPEND: fits = append_write(writer, op); break;
	case RDMO_OP_SCATTER:
		fits = rdmo_writer_scatter(writer, op->id, op->flags, op->scatter.iovs,
					   op->scatter.data, op->length);
		break;
	case RDMO_OP_FLUSH:
		if ((op->flags & RDMO_FLAG_SILENT) != 0)
			return -EINVAL;
		fits = rdmo_writer_flush(writer, op->id, op->flags, &flush);
		break;
	default: return -EINVAL;
	}
	return fits ? 0 : -ENOSPC;
}

static uint32_t
kind_of(const struct rdmo_op *op)
{
	return op->op_id | KIND_FLAG(op->flags);
}

/*
 * Behind the last operation that there is a place for. What is silent leaves that place to what is not: else nothing could ever free
 * the others.
 */
static uint64_t
places_end(const struct rdmo_conn *conn)
{
	return conn->first_seq + conn->depth;
}

static struct place
place_of(const struct rdmo_op *op)
{
	return (struct place){
		.user_data = op->user_data,
		.length = op->length,
		.kind = kind_of(op) & ~KIND_FLAG(RDMO_FLAG_FENCE),
	};
}

/* APPENDs, which bursts are made of: up to one that does not fit, to another operation, or to the last place but one. */
static uint32_t
appends_write(struct rdmo_conn *conn, struct rdmo_writer *writer, const struct rdmo_op *ops,
	      uint32_t n)
{
	const uint32_t first = conn->next_seq & (conn->depth - 1);
	const uint32_t left = (uint32_t)(places_end(conn) - conn->next_seq);
	const struct rdmo_op *op, *end;
	struct rdmo_writer w = *writer; /* in registers, as it is nobody else's */
	struct place *place;

	/* Those from the array's beginning on are the next run's. */
	end = ops + RTE_MIN(n, RTE_MIN(left - (left > 0), conn->depth - first));
	for (op = ops, place = &conn->places[first]; op < end; op++)
		if ((kind_of(op) & ~KIND_FLAGS) == RDMO_OP_APPEND && append_write(&w, op))
			*place++ = place_of(op);
		else
			break;
	*writer = w;
	conn->next_seq += (uint32_t)(op - ops);
	return (uint32_t)(op - ops);
}

/* As many as fit into one message. */
static uint32_t
post_message(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n)
{
	struct rdmo_writer writer;
	uint32_t taken = 0;
	bool is_silent;

	if (!message_is_possible(conn, 1)) {
		conn->error = -EAGAIN;
		return 0;
	}
	message_begin(conn, &writer);
	for (;;) {
		taken += appends_write(conn, &writer, ops + taken, n - taken);
		if (taken == n)
			break;
		is_silent = (kind_of(&ops[taken]) & KIND_SILENT) != 0;
		if (conn->next_seq + is_silent >= places_end(conn))
			conn->error = -EAGAIN;
		else
			conn->error = op_write(&writer, &ops[taken]);
		if (conn->error != 0)
			break;
		conn->places[conn->next_seq++ & (conn->depth - 1)] = place_of(&ops[taken++]);
	}
	/* The next message has room for it, or none has. */
	if (conn->error == -ENOSPC)
		conn->error = taken > 0 ? 0 : -EMSGSIZE;
	if (taken > 0 && !message_post(conn, &writer))
		conn->error = -ENOTCONN;
	return taken;
}

uint32_t
rdmo_post(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n)
{
	uint32_t taken = 0;

	conn->error = conn->is_over && n > 0 ? -ENOTCONN : 0;
	while (taken < n && conn->error == 0)
		taken += post_message(conn, ops + taken, n - taken);
	return taken;
}

/* ---- Poll ---- */

/* It does not go on: both ends see that. */
static void
conn_end(struct rdmo_conn *conn, enum rdmo_reason reason)
{
	if (reason != RDMO_REASON_NONE)
		RDMO_LOG(NOTICE, "connection %#lx has ended: %s", (unsigned long)conn->session,
			 rdmo_reason_str(reason));
	conn->reason = reason;
	conn->is_over = true;
}

/* What was received is another's place now, as soon as there are some; half of all are worth a message. */
static void
receive_free(struct rdmo_conn *conn)
{
	struct rdmo_writer writer;

	conn->back[conn->back_count++] = conn->reading;
	conn->reading = NONE;
	if (conn->back_count < RTE_MIN((uint32_t)BACK, conn->receives / 4))
		return;
	if (!receives_post(conn, conn->back, conn->back_count))
		conn->is_over = true;
	conn->granted += conn->back_count;
	conn->back_count = 0;
	if (conn->granted - conn->told < conn->receives / 2 || !message_is_possible(conn, 0))
		return;
	message_begin(conn, &writer);
	message_post(conn, &writer);
}

/* The next message of answers, if one has come. */
static void
message_open(struct rdmo_conn *conn)
{
	const uint32_t receive = conn->waiting[conn->waiting_at];
	const uint32_t bytes = conn->lengths[conn->waiting_at++];
	enum rdmo_reason reason;

	reason = rdmo_answers_open(&conn->reader, receive_at(conn, receive), bytes, conn->session);
	if (reason != RDMO_REASON_NONE || conn->reader.closed_by != RDMO_REASON_NONE) {
		conn_end(conn, reason != RDMO_REASON_NONE
				       ? reason
				       : (enum rdmo_reason)conn->reader.closed_by);
		return;
	}
	if ((int32_t)(conn->reader.credits - conn->may_send) > 0)
		conn->may_send = conn->reader.credits;
	conn->reading = receive;
	conn->answer.count = conn->answered = 0;
}

/* Those before the next answer that are silent are done with it. */
static void
silent_pass(struct rdmo_conn *conn, uint64_t seq)
{
	while (conn->first_seq < conn->next_seq && conn->first_seq < seq &&
	       (conn->places[conn->first_seq & (conn->depth - 1)].kind & KIND_SILENT) != 0)
		conn->first_seq++;
}

/* A run of completions out of one answer: `n` at most. Is it none of what was posted, then the connection ends. */
static uint32_t
answer_take(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	const struct rdmo_answer answer = conn->answer;
	const uint64_t seq = answer.seq + conn->answered;
	const uint32_t first = seq & (conn->depth - 1);
	const uint32_t length_mask = answer.status == RDMO_STATUS_OK ? UINT32_MAX : 0;
	const struct place *place = &conn->places[first];
	uint32_t count;

	silent_pass(conn, seq);
	n = RTE_MIN(n, answer.count - conn->answered);
	if (conn->first_seq != seq || conn->next_seq - seq < n) {
		conn_end(conn, RDMO_REASON_SEQ);
		return 0;
	}
	/* Those from the array's beginning on are the next run's. */
	n = RTE_MIN(n, conn->depth - first);
	for (count = 0; count < n && place->kind == answer.op_id; count++, place++)
		done[count] = (struct rdmo_completion){
			.user_data = place->user_data,
			.value = rdmo_answer_value(&answer, conn->answered + count),
			.status = answer.status,
			.length = place->length & length_mask,
		};
	conn->first_seq += count;
	conn->answered += count;
	if (count < n)
		conn_end(conn, place->kind >= KIND_SILENT ? RDMO_REASON_SEQ : RDMO_REASON_ANSWER);
	return count;
}

/* Completions out of the message that is read. */
static uint32_t
answers_take(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count = 0;

	while (count < n && !conn->is_over) {
		if (conn->answered == conn->answer.count) {
			conn->answered = conn->answer.count = 0;
			if (!rdmo_answers_next(&conn->reader, &conn->answer)) {
				receive_free(conn);
				break;
			}
		}
		count += answer_take(conn, done + count, n - count);
	}
	return count;
}

/* What the device has done. */
static void
completions(struct rdmo_conn *conn)
{
	struct rdmapmd_wc wc[BURST];
	const uint16_t n = rdmapmd_poll_cq(conn->cq, wc, BURST);

	conn->waiting_at = conn->waiting_count = 0;
	for (uint16_t i = 0; i < n; i++) {
		if (wc[i].status != RDMAPMD_WC_SUCCESS) {
			conn->is_over = true;
		} else if ((wc[i].wr_id & SEND) != 0) {
			conn->completed = (uint32_t)wc[i].wr_id;
		} else {
			conn->waiting[conn->waiting_count] = (uint32_t)wc[i].wr_id;
			conn->lengths[conn->waiting_count++] = wc[i].byte_len;
		}
	}
}

/* Nobody will answer these any more. */
static uint32_t
unknown_take(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count = 0;

	for (; count < n && conn->first_seq < conn->next_seq; conn->first_seq++)
		done[count++] = (struct rdmo_completion){
			.user_data = conn->places[conn->first_seq & (conn->depth - 1)].user_data,
			.status = RDMO_STATUS_UNKNOWN,
		};
	return count;
}

/* Has the stream ended, which is the connection's end? A system call, and so not before nothing has come for a while. */
static void
stream_look(struct rdmo_conn *conn)
{
	const uint64_t now = rte_get_timer_cycles();
	uint8_t byte;
	ssize_t n;

	if (conn->idle_since == 0)
		conn->idle_since = now;
	if (now - conn->idle_since < rte_get_timer_hz() / 1000 * RDMO_IDLE_MS)
		return;
	conn->idle_since = now;
	n = recv(conn->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		conn->is_over = true;
}

uint32_t
rdmo_poll(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count = 0;

	while (count < n && !conn->is_over) {
		if (conn->reading != NONE) {
			count += answers_take(conn, done + count, n - count);
			continue;
		}
		if (conn->waiting_at == conn->waiting_count)
			completions(conn);
		if (conn->waiting_at == conn->waiting_count) {
			stream_look(conn);
			break;
		}
		conn->idle_since = 0;
		message_open(conn);
	}
	if (conn->is_over)
		count += unknown_take(conn, done + count, n - count);
	return count;
}
