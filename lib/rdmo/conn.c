/* SPDX-License-Identifier: BSD-3-Clause */

/* An initiator's connection: operations that are posted, and polled for. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <rdmapmd.h>

#include "conn.h"
#include "log.h"

#define SIGNAL 4 /* each fourth message tells that it, and those before it, were sent */
#define BURST  RDMO_CONN_BURST
#define BACK   RDMO_CONN_BACK
#define SEND   (UINT64_C(1) << 63) /* in numbers of requests: else it is a receive */
#define NONE   RDMO_CONN_NONE

/* Which operation, and its flags, in one number: kind_of(). */
#define KIND_FLAG(flag) ((uint32_t)(flag) << 16)
#define KIND_SILENT	KIND_FLAG(RDMO_FLAG_SILENT)
#define KIND_PULL	KIND_FLAG(RDMO_FLAG_PULL)
#define KIND_FLAGS	KIND_FLAG(RDMO_FLAG_FENCE | RDMO_FLAG_SILENT | RDMO_FLAG_NOTIFY)

static_assert(sizeof(struct rdmo_op) == 64, "struct rdmo_op");
static_assert(sizeof(struct rdmo_completion) == 24, "struct rdmo_completion");

uint64_t
rdmo_conn_seq(const struct rdmo_conn *conn)
{
	return conn->next_seq;
}

int
rdmo_conn_error(const struct rdmo_conn *conn)
{
	return conn->is_over ? -ENOTCONN : conn->error;
}

enum rdmo_reason
rdmo_conn_reason(const struct rdmo_conn *conn)
{
	return conn->reason;
}

/* ---- Messages ---- */

/* May one more message be sent? `kept`: credits that must be left then. */
static bool
credit_is_left(const struct rdmo_conn *conn, uint32_t kept)
{
	return (int32_t)(conn->may_send - conn->sent) > (int32_t)kept;
}

static bool
message_send(struct rdmo_conn *conn, const struct rdmo_msg *msg, bool is_signaled)
{
	const uint32_t number = conn->sent + 1;
	const struct rdmapmd_sge sge = {
		.addr = (uintptr_t)msg,
		.length = (uint32_t)sizeof(*msg) + rte_le_to_cpu_32(msg->length),
		.lkey = conn->mr->lkey,
	};
	const struct rdmapmd_send_wr wr = {
		.wr_id = SEND | number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = is_signaled || number % SIGNAL == 0 ? RDMAPMD_SEND_SIGNALED : 0,
	};

	if (rdmapmd_post_send(conn->qp, &wr, 1) != 1) {
		conn->is_over = true;
		return false;
	}
	conn->sent = number;
	conn->told = conn->granted;
	return true;
}

/* Begin a message of operations, if one may be sent. */
static bool
message_begin(struct rdmo_conn *conn, struct rdmo_writer *writer)
{
	void *buffer;

	/* What is sent again goes first. */
	if (!credit_is_left(conn, 1) || rdmo_outbox_next(&conn->outbox) != NULL)
		return false;
	rdmo_outbox_done(&conn->outbox, conn->completed, conn->first_seq);
	buffer = rdmo_outbox_free(&conn->outbox);
	if (buffer == NULL)
		return false;
	rdmo_writer_begin(writer, buffer, conn->outbox.bytes, RDMO_MSG_REQUESTS, conn->session,
			  conn->next_seq);
	return true;
}

static bool
message_post(struct rdmo_conn *conn, struct rdmo_writer *writer)
{
	rdmo_writer_end(writer, conn->granted);
	rdmo_outbox_put(&conn->outbox);
	if (!message_send(conn, writer->msg, false))
		return false;
	rdmo_outbox_posted(&conn->outbox, conn->sent);
	return true;
}

void
rdmo_conn_send_again(struct rdmo_conn *conn)
{
	struct rdmo_msg *msg;

	while ((msg = rdmo_outbox_next(&conn->outbox)) != NULL && !conn->is_over &&
	       credit_is_left(conn, 1)) {
		msg->session = rte_cpu_to_le_64(conn->session);
		msg->credits = rte_cpu_to_le_32(conn->granted);
		if (message_send(conn, msg, false))
			rdmo_outbox_posted(&conn->outbox, conn->sent);
	}
}

/* A message that brings credits alone, when they are half of all receives: their buffers are used in turn. */
static void
credits_tell(struct rdmo_conn *conn)
{
	uint32_t *last = &conn->credit_sent[conn->credit_count % RDMO_CONN_CREDITS];
	struct rdmo_writer writer;

	if (conn->granted - conn->told < conn->receives / 2 || !credit_is_left(conn, 0) ||
	    (int32_t)(conn->completed - *last) < 0)
		return;
	rdmo_writer_begin(&writer,
			  conn->credit_memory + (size_t)(conn->credit_count % RDMO_CONN_CREDITS) *
							sizeof(struct rdmo_msg),
			  sizeof(struct rdmo_msg), RDMO_MSG_REQUESTS, conn->session, 0);
	rdmo_writer_end(&writer, conn->granted);
	if (!message_send(conn, writer.msg, true))
		return;
	*last = conn->sent;
	conn->credit_count++;
}

/* Post receives: BACK at most. */
bool
rdmo_conn_receives_post(struct rdmo_conn *conn, const uint32_t *receives, uint32_t n)
{
	struct rdmapmd_recv_wr wr[BACK];
	struct rdmapmd_sge sge[BACK];

	for (uint32_t i = 0; i < n; i++) {
		sge[i] = (struct rdmapmd_sge){
			.addr = (uintptr_t)rdmo_conn_receive_at(conn, receives[i]),
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

/* ---- Post ---- */

/* False: there is no room. */
static inline bool
append_write(struct rdmo_writer *writer, const struct rdmo_op *op, uint32_t flags,
	     const void *payload, uint32_t bytes)
{
	const struct rdmo_append_hdr append = {
		.ptr_addr = rte_cpu_to_le_64(op->append.ptr_addr),
		.ptr_rkey = rte_cpu_to_le_64(op->append.ptr_key),
		.data_rkey = rte_cpu_to_le_64(op->append.data_key),
	};

	return rdmo_writer_append(writer, op->id, flags, &append, payload, bytes);
}

/* Is it to be fetched by the worker? `bytes`: that it takes in a message. */
static bool
must_pull(const struct rdmo_writer *writer, const struct rdmo_op *op, uint64_t bytes)
{
	const uint64_t room = (uint64_t)(writer->end - (uint8_t *)(writer->msg + 1));

	return (op->flags & RDMO_FLAG_PULL) != 0 || (bytes > room && op->rkey != 0);
}

static struct rdmo_pull
pull_of(const struct rdmo_op *op, const void *payload, uint32_t bytes)
{
	return (struct rdmo_pull){
		.addr = rte_cpu_to_le_64((uintptr_t)payload),
		.rkey = rte_cpu_to_le_32(op->rkey),
		.len = rte_cpu_to_le_32(bytes),
	};
}

/* 0; -ENOSPC there is no room; -EINVAL there is nothing to be fetched. */
static int
append_add(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_pull pull = pull_of(op, op->append.payload, op->length);
	bool fits;

	if (!must_pull(writer, op,
		       rdmo_frame_bytes(sizeof(struct rdmo_append_hdr) + (uint64_t)op->length)))
		fits = append_write(writer, op, op->flags, op->append.payload, op->length);
	else if (op->rkey == 0 || op->length == 0)
		return -EINVAL;
	else
		fits = append_write(writer, op, op->flags | RDMO_FLAG_PULL, &pull, sizeof(pull));
	return fits ? 0 : -ENOSPC;
}

/* Likewise. */
static int
scatter_pull(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	struct rdmo_pull pulls[RDMO_PULLS];
	const void *data[RDMO_PULLS];

	if (op->rkey == 0 || op->length > RDMO_PULLS)
		return -EINVAL;
	for (uint32_t i = 0; i < op->length; i++) {
		if (op->scatter.iovs[i].len == 0)
			return -EINVAL;
		pulls[i] =
			pull_of(op, op->scatter.data[i], rte_le_to_cpu_32(op->scatter.iovs[i].len));
		data[i] = &pulls[i];
	}
	return rdmo_writer_scatter(writer, op->id, op->flags | RDMO_FLAG_PULL, op->scatter.iovs,
				   data, op->length)
		       ? 0
		       : -ENOSPC;
}

static int
scatter_add(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	if (must_pull(writer, op,
		      rdmo_scatter_bytes(op->flags & ~(uint32_t)RDMO_FLAG_PULL, op->scatter.iovs,
					 op->length)))
		return scatter_pull(writer, op);
	return rdmo_writer_scatter(writer, op->id, op->flags, op->scatter.iovs, op->scatter.data,
				   op->length)
		       ? 0
		       : -ENOSPC;
}

static bool
put_write(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_signal *signal = op->put.signal;
	const struct rdmo_put_hdr put = {
		.addr = rte_cpu_to_le_64(op->put.addr),
		.rkey = rte_cpu_to_le_64(op->put.key),
		.signal_addr = rte_cpu_to_le_64(signal->addr),
		.signal_rkey = rte_cpu_to_le_64(signal->key),
		.value = rte_cpu_to_le_64(signal->value),
		.kind = rte_cpu_to_le_32(signal->kind),
	};

	return rdmo_writer_put(writer, op->id, op->flags, &put, op->put.payload, op->length);
}

static bool
atomic_write(struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_atomic_hdr atomic = {
		.addr = rte_cpu_to_le_64(op->atomic.addr),
		.rkey = rte_cpu_to_le_64(op->atomic.key),
		.operand = rte_cpu_to_le_64(op->atomic.operand),
		.swap = rte_cpu_to_le_64(op->op_id == RDMO_OP_CMP_SWAP ? op->atomic.swap : 0),
	};

	return rdmo_writer_atomic(writer, op->id, op->op_id, op->flags, &atomic);
}

/* Bytes that a GATHER asks for. */
static uint64_t
gather_bytes(const struct rdmo_op *op)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < op->length; i++)
		bytes += rte_le_to_cpu_32(op->gather.iovs[i].len);
	return bytes;
}

/* 0; -ENOSPC there is no room; -EMSGSIZE no answer has as much; -EINVAL */
static int
gather_write(struct rdmo_conn *conn, struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const uint64_t bytes = gather_bytes(op);

	if ((op->flags & ~RDMO_FLAG_FENCE) != 0 || (op->gather.data == NULL && bytes > 0))
		return -EINVAL;
	if (bytes > rdmo_gathered_max(conn->receive_bytes))
		return -EMSGSIZE;
	if (!rdmo_writer_gather(writer, op->id, op->flags, op->gather.iovs, op->length))
		return -ENOSPC;
	conn->into[conn->next_seq & (conn->depth - 1)] = op->gather.data;
	return 0;
}

/* Add an operation to a message. 0; -ENOSPC there is no room; -EINVAL it is none; -EMSGSIZE */
static int
op_write(struct rdmo_conn *conn, struct rdmo_writer *writer, const struct rdmo_op *op)
{
	const struct rdmo_flush_hdr flush = {
		.flush_id = rte_cpu_to_le_64(op->flush.flush_id),
		.key = rte_cpu_to_le_64(op->flush.key),
	};
	bool fits;

	if ((KIND_FLAG(op->flags) & ~(KIND_FLAGS | KIND_PULL)) != 0)
		return -EINVAL;
	if (op->op_id == RDMO_OP_APPEND)
		return append_add(writer, op);
	if (op->op_id == RDMO_OP_SCATTER)
		return scatter_add(writer, op);
	if (op->op_id == RDMO_OP_GATHER)
		return gather_write(conn, writer, op);
	if ((op->flags & RDMO_FLAG_PULL) != 0)
		return -EINVAL;
	switch (op->op_id) {
	case RDMO_OP_PUT_SIGNAL: fits = put_write(writer, op); break;
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP: fits = atomic_write(writer, op); break;
	case RDMO_OP_FLUSH:
		if ((op->flags & (RDMO_FLAG_SILENT | RDMO_FLAG_NOTIFY)) != 0)
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

static struct rdmo_conn_place
place_of(const struct rdmo_op *op)
{
	return (struct rdmo_conn_place){
		.user_data = op->user_data,
		.length = op->op_id == RDMO_OP_GATHER ? (uint32_t)gather_bytes(op) : op->length,
		.kind = kind_of(op) &
			~KIND_FLAG(RDMO_FLAG_FENCE | RDMO_FLAG_PULL | RDMO_FLAG_NOTIFY),
	};
}

/* Operation, flags and length. */
static inline uint64_t
shape_of(const struct rdmo_op *op)
{
	return kind_of(op) | (uint64_t)op->length << 32;
}

/* APPENDs that differ in `user_data` and their payloads alone. */
static inline bool
appends_are_alike(const struct rdmo_op *a, const struct rdmo_op *b)
{
	return a->id == b->id && shape_of(a) == shape_of(b) &&
	       a->append.ptr_addr == b->append.ptr_addr && a->append.ptr_key == b->append.ptr_key &&
	       a->append.data_key == b->append.data_key;
}

/*
 * Those behind the first, which was written last and has its place: as long as they are alike, and there is room. Returns how many there
 * are, with the first.
 */
static __rte_always_inline uint32_t
alike_write(struct rdmo_writer *writer, const struct rdmo_op *ops, uint32_t n,
	    struct rdmo_conn_place *places, const uint32_t bytes)
{
	/* In registers: what is written might be anything's. */
	const struct rdmo_op first = ops[0];
	const struct rdmo_append_again again = rdmo_writer_again(writer, bytes);
	const struct rdmo_conn_place like = places[0];
	const struct rdmo_op *op = ops + 1;
	uint8_t *at = writer->at;
	/* One bound: where there is no more room, or no more of them. */
	const uint8_t *const end = RTE_MIN(again.end, at + (n - 1) * again.bytes);

	for (; at < end && appends_are_alike(op, &first); op++) {
		rdmo_append_again(&again, at, op->append.payload, bytes);
		at += again.bytes;
		*++places = (struct rdmo_conn_place){ op->user_data, like.length, like.kind };
	}
	rdmo_writer_took(writer, at, (uint32_t)(op - ops) - 1);
	return (uint32_t)(op - ops);
}

/* Functions of their own have all registers; with a size that the compiler knows there are no calls to copy. */
static __rte_noinline uint32_t
lines_write_alike(struct rdmo_writer *writer, const struct rdmo_op *ops, uint32_t n,
		  struct rdmo_conn_place *places)
{
	return alike_write(writer, ops, n, places, RTE_CACHE_LINE_MIN_SIZE);
}

static __rte_noinline uint32_t
others_write_alike(struct rdmo_writer *writer, const struct rdmo_op *ops, uint32_t n,
		   struct rdmo_conn_place *places)
{
	return alike_write(writer, ops, n, places, ops[0].length);
}

/* APPENDs, which bursts are made of: up to one that does not fit, to another operation, or to the last place but one. */
static uint32_t
appends_write(struct rdmo_conn *conn, struct rdmo_writer *writer, const struct rdmo_op *ops,
	      uint32_t n)
{
	const uint32_t first = conn->next_seq & (conn->depth - 1);
	const uint32_t left = (uint32_t)(places_end(conn) - conn->next_seq);
	struct rdmo_conn_place *const places = &conn->places[first];
	const struct rdmo_op *op;
	uint32_t i = 0;

	/* Those from the array's beginning on are the next run's. */
	n = RTE_MIN(n, RTE_MIN(left - (left > 0), conn->depth - first));
	while (i < n) {
		op = &ops[i];
		if ((kind_of(op) & ~KIND_FLAGS) != RDMO_OP_APPEND ||
		    !append_write(writer, op, op->flags, op->append.payload, op->length))
			break;
		places[i] = (struct rdmo_conn_place){
			.user_data = op->user_data,
			.length = op->length,
			.kind = kind_of(op) & (KIND_SILENT | RDMO_OP_APPEND),
		};
		i += op->length == RTE_CACHE_LINE_MIN_SIZE
			     ? lines_write_alike(writer, op, n - i, &places[i])
			     : others_write_alike(writer, op, n - i, &places[i]);
	}
	conn->next_seq += i;
	return i;
}

/* As many as fit into one message. */
static uint32_t
post_message(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n)
{
	struct rdmo_writer writer;
	uint32_t taken = 0;
	bool is_silent;

	if (!message_begin(conn, &writer)) {
		conn->error = -EAGAIN;
		return 0;
	}
	for (;;) {
		taken += appends_write(conn, &writer, ops + taken, n - taken);
		if (taken == n)
			break;
		is_silent = (kind_of(&ops[taken]) & KIND_SILENT) != 0;
		if (conn->next_seq + is_silent >= places_end(conn))
			conn->error = -EAGAIN;
		else
			conn->error = op_write(conn, &writer, &ops[taken]);
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
	conn->back[conn->back_count++] = conn->reading;
	conn->reading = NONE;
	if (conn->back_count < RTE_MIN((uint32_t)BACK, conn->receives / 4))
		return;
	if (!rdmo_conn_receives_post(conn, conn->back, conn->back_count))
		conn->is_over = true;
	conn->granted += conn->back_count;
	conn->back_count = 0;
	credits_tell(conn);
}

/* The next message of answers, if one has come. */
static void
message_open(struct rdmo_conn *conn)
{
	const uint32_t receive = conn->waiting[conn->waiting_at];
	const uint32_t bytes = conn->lengths[conn->waiting_at++];
	enum rdmo_reason reason;

	reason = rdmo_answers_open(&conn->reader, rdmo_conn_receive_at(conn, receive), bytes,
				   conn->session);
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
	       (conn->places[conn->first_seq & (conn->depth - 1)].kind & KIND_SILENT) != 0) {
		if (conn->silent_seq == 0)
			conn->silent_seq = conn->first_seq;
		conn->first_seq++;
	}
}

/* One that was executed tells of all silent ones before it; not of those of a former connection. */
static void
flush_tell(struct rdmo_conn *conn, struct rdmo_completion *done)
{
	if (done->value == 0)
		return;
	if (conn->doubtful_seq != 0) {
		done->status = RDMO_STATUS_UNKNOWN;
		done->value = conn->doubtful_seq;
	}
	conn->silent_seq = conn->doubtful_seq = 0;
}

/* What a GATHER has read goes where it is to be. False: it is not as much. */
static bool
gathered_copy(const struct rdmo_conn *conn, const struct rdmo_answer *answer, uint32_t place)
{
	if (answer->gathered == NULL || conn->places[place].kind != RDMO_OP_GATHER)
		return true;
	if (answer->gathered_bytes != conn->places[place].length)
		return false;
	if (answer->gathered_bytes > 0)
		memcpy(conn->into[place], answer->gathered, answer->gathered_bytes);
	return true;
}

/* A run of completions out of one answer: `n` at most. Is it none of what was posted, then the connection ends. */
static uint32_t
answer_take(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	const struct rdmo_answer answer = conn->answer;
	const uint64_t seq = answer.seq + conn->answered;
	const uint32_t first = seq & (conn->depth - 1);
	const rte_le64_t *const values =
		answer.values != NULL ? answer.values + conn->answered : NULL;
	const struct rdmo_conn_place *place = &conn->places[first];
	uint32_t count;

	silent_pass(conn, seq);
	n = RTE_MIN(n, answer.count - conn->answered);
	if (conn->first_seq != seq || conn->next_seq - seq < n) {
		conn_end(conn, RDMO_REASON_SEQ);
		return 0;
	}
	if (!gathered_copy(conn, &answer, first)) {
		conn_end(conn, RDMO_REASON_ANSWER);
		return 0;
	}
	/* Those from the array's beginning on are the next run's. */
	n = RTE_MIN(n, conn->depth - first);
	for (count = 0; count < n && place->kind == answer.op_id; count++, place++)
		done[count] = (struct rdmo_completion){
			.user_data = place->user_data,
			.value = values != NULL ? rte_le_to_cpu_64(values[count]) : answer.value,
			.status = answer.status,
			.length = place->length,
		};
	/* A refusal is of one. */
	if (answer.status != RDMO_STATUS_OK && count > 0)
		done->length = 0;
	for (uint32_t i = 0; i < count && answer.op_id == RDMO_OP_FLUSH; i++)
		flush_tell(conn, &done[i]);
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
completions_poll(struct rdmo_conn *conn)
{
	struct rdmapmd_wc wc[BURST];
	const uint16_t n = rdmapmd_poll_cq(conn->cq, wc, BURST);

	conn->waiting_at = conn->waiting_count = 0;
	for (uint16_t i = 0; i < n; i++) {
		if (wc[i].status != RDMAPMD_WC_SUCCESS) {
			conn->is_over = true;
		} else if ((wc[i].wr_id & SEND) != 0) {
			conn->completed = (uint32_t)wc[i].wr_id;
			credits_tell(conn);
		} else {
			conn->waiting[conn->waiting_count] = (uint32_t)wc[i].wr_id;
			conn->lengths[conn->waiting_count++] = wc[i].byte_len;
		}
	}
}

/* Nobody will answer those that are lost. */
static uint32_t
unknown_take(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count = 0;

	for (; count < n && conn->first_seq < conn->lost_seq; conn->first_seq++)
		done[count++] = (struct rdmo_completion){
			.user_data = conn->places[conn->first_seq & (conn->depth - 1)].user_data,
			.status = RDMO_STATUS_UNKNOWN,
		};
	return count;
}

/* Has the stream ended, which is the connection's end? */
static void
stream_look(struct rdmo_conn *conn)
{
	uint8_t byte;
	const ssize_t n = recv(conn->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		conn->is_over = true;
}

/* A system call, and so not before nothing has come for a while. */
static void
stream_look_if_idle(struct rdmo_conn *conn)
{
	const uint64_t now = rte_get_timer_cycles();

	if (conn->idle_since == 0)
		conn->idle_since = now;
	if (now - conn->idle_since < rte_get_timer_hz() / 1000 * RDMO_IDLE_MS)
		return;
	conn->idle_since = now;
	stream_look(conn);
}

uint32_t
rdmo_poll(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count = unknown_take(conn, done, n);

	rdmo_conn_send_again(conn);
	while (count < n && !conn->is_over) {
		if (conn->reading != NONE) {
			count += answers_take(conn, done + count, n - count);
			continue;
		}
		if (conn->waiting_at == conn->waiting_count)
			completions_poll(conn);
		if (conn->waiting_at == conn->waiting_count) {
			stream_look_if_idle(conn);
			break;
		}
		conn->idle_since = 0;
		message_open(conn);
	}
	/* A producer's may be known later. */
	if (conn->is_over && !conn->is_producer) {
		conn->lost_seq = conn->next_seq;
		count += unknown_take(conn, done + count, n - count);
	}
	return count;
}

/* ---- Sleep ---- */

int
rdmo_conn_fd(const struct rdmo_conn *conn)
{
	return conn == NULL || conn->epoll_fd < 0 ? -EINVAL : conn->epoll_fd;
}

/* Is there something for rdmo_poll() that the device has told of already? */
static bool
has_some(const struct rdmo_conn *conn)
{
	return conn->is_over || conn->reading != NONE || conn->waiting_at != conn->waiting_count ||
	       conn->first_seq < conn->lost_seq;
}

int
rdmo_conn_arm(struct rdmo_conn *conn)
{
	struct rdmapmd_cq *cq;

	if (conn == NULL || conn->epoll_fd < 0)
		return -EINVAL;
	if (has_some(conn))
		return 1;
	/* What woke it before. */
	while (rdmapmd_cq_event_get(conn->channel, &cq) == 0)
		rdmapmd_cq_events_ack(cq, 1);
	stream_look(conn);
	return conn->is_over ? 1 : rdmapmd_req_notify_cq(conn->cq, false);
}
