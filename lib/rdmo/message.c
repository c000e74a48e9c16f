/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_common.h>

#include "message.h"

#define HEADERS ((uint32_t)(sizeof(struct rdmo_frame) + sizeof(struct rdmo_hdr)))

/* ---- Write ---- */

void
rdmo_writer_begin(struct rdmo_writer *w, void *buffer, uint32_t room, enum rdmo_msg_kind kind,
		  uint64_t session, uint64_t seq)
{
	*w = (struct rdmo_writer){
		.msg = buffer,
		.at = (uint8_t *)buffer + sizeof(struct rdmo_msg),
		/* However little room there is: not before where the first one would begin. */
		.end = (uint8_t *)buffer + RTE_MAX(RTE_MIN(room, RDMO_MSG_MAX_BYTES),
						   (uint32_t)sizeof(struct rdmo_msg)),
	};
	*w->msg = (struct rdmo_msg){
		.magic = rte_cpu_to_le_32(RDMO_MSG_MAGIC),
		.version = RDMO_VERSION,
		.kind = (uint8_t)kind,
		.session = rte_cpu_to_le_64(session),
		.seq = rte_cpu_to_le_64(seq),
	};
}

uint32_t
rdmo_writer_end(struct rdmo_writer *w, uint32_t credits)
{
	const uint32_t bytes = (uint32_t)(w->at - (uint8_t *)w->msg);
	struct rdmo_msg *msg = w->msg;

	msg->count = rte_cpu_to_le_16((uint16_t)w->count);
	msg->length = rte_cpu_to_le_32(bytes - (uint32_t)sizeof(*msg));
	msg->credits = rte_cpu_to_le_32(credits);
	if (w->count == 0)
		msg->seq = 0;
	return bytes;
}

bool
rdmo_writer_flush(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		  const struct rdmo_flush_hdr *flush)
{
	struct rdmo_flush_hdr *hdr;

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(sizeof(*hdr))))
		return false;
	hdr = rdmo_writer_operation(w, id, RDMO_OP_FLUSH, flags, sizeof(*hdr));
	*hdr = *flush;
	return true;
}

bool
rdmo_writer_put(struct rdmo_writer *w, uint64_t id, uint32_t flags, const struct rdmo_put_hdr *put,
		const void *payload, uint32_t bytes)
{
	const uint64_t behind = sizeof(*put) + (uint64_t)bytes;
	struct rdmo_put_hdr *hdr;

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(behind)))
		return false;
	hdr = rdmo_writer_operation(w, id, RDMO_OP_PUT_SIGNAL, flags, behind);
	*hdr = *put;
	if (bytes > 0)
		memcpy(hdr + 1, payload, bytes);
	return true;
}

bool
rdmo_writer_atomic(struct rdmo_writer *w, uint64_t id, uint32_t op_id, uint32_t flags,
		   const struct rdmo_atomic_hdr *atomic)
{
	struct rdmo_atomic_hdr *hdr;

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(sizeof(*hdr))))
		return false;
	hdr = rdmo_writer_operation(w, id, (enum rdmo_op_id)op_id, flags, sizeof(*hdr));
	*hdr = *atomic;
	return true;
}

bool
rdmo_writer_gather(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		   const struct rdmo_gather_iov *iovs, uint32_t count)
{
	struct rdmo_gather_hdr *hdr;
	const uint64_t behind = sizeof(*hdr) + (uint64_t)count * sizeof(*iovs);

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(behind)))
		return false;
	hdr = rdmo_writer_operation(w, id, RDMO_OP_GATHER, flags, behind);
	hdr->count = rte_cpu_to_le_64(count);
	if (count > 0)
		memcpy(hdr + 1, iovs, count * sizeof(*iovs));
	return true;
}

/* Bytes of a piece in the message, without its descriptor and padding. */
static uint32_t
piece_bytes(bool pull, const struct rdmo_scatter_iov *iov)
{
	return pull ? (uint32_t)sizeof(struct rdmo_pull) : rte_le_to_cpu_32(iov->len);
}

/* Behind struct rdmo_hdr. */
static uint64_t
scatter_behind(bool pull, const struct rdmo_scatter_iov *iovs, uint32_t count)
{
	uint64_t bytes = sizeof(struct rdmo_scatter_hdr);

	for (uint32_t i = 0; i < count; i++)
		bytes += sizeof(iovs[i]) + rdmo_padded(piece_bytes(pull, &iovs[i]));
	return bytes;
}

uint64_t
rdmo_scatter_bytes(uint32_t flags, const struct rdmo_scatter_iov *iovs, uint32_t count)
{
	return rdmo_frame_bytes(scatter_behind((flags & RDMO_FLAG_PULL) != 0, iovs, count));
}

bool
rdmo_writer_scatter(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		    const struct rdmo_scatter_iov *iovs, const void *const *data, uint32_t count)
{
	const bool pull = (flags & RDMO_FLAG_PULL) != 0;
	const uint64_t behind = scatter_behind(pull, iovs, count);
	struct rdmo_scatter_hdr *hdr;
	uint8_t *at;

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(behind)))
		return false;
	hdr = rdmo_writer_operation(w, id, RDMO_OP_SCATTER, flags, behind);
	hdr->count = rte_cpu_to_le_64(count);
	at = (uint8_t *)(hdr + 1);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t bytes = piece_bytes(pull, &iovs[i]);
		const uint64_t padded = rdmo_padded(bytes);

		memcpy(at, &iovs[i], sizeof(iovs[i]));
		at += sizeof(iovs[i]);
		if (padded > 0) {
			memset(at + padded - 8, 0, 8);
			memcpy(at, data[i], bytes);
		}
		at += padded;
	}
	return true;
}

/* An answer of its own. */
static struct rdmo_rsp_hdr *
answer_begin(struct rdmo_writer *w, uint32_t op_id, enum rdmo_status status, uint64_t seq,
	     uint64_t value, uint32_t length)
{
	struct rdmo_rsp_hdr *rsp;

	if (!rdmo_writer_has_room(w, sizeof(*rsp) + rdmo_padded(length)))
		return NULL;
	rsp = rdmo_writer_take(w, sizeof(*rsp) + rdmo_padded(length));
	w->run = NULL;
	*rsp = (struct rdmo_rsp_hdr){
		.op_id = rte_cpu_to_le_16((uint16_t)(op_id < UINT16_MAX ? op_id : UINT16_MAX)),
		.status = rte_cpu_to_le_16((uint16_t)status),
		.count = rte_cpu_to_le_32(1),
		.length = rte_cpu_to_le_32(length),
		.seq = rte_cpu_to_le_64(seq),
		.value = rte_cpu_to_le_64(value),
	};
	if (w->count == 1)
		w->msg->seq = rsp->seq;
	return rsp;
}

/* So many more operations have the run's answer, with values so far apart. */
static bool
run_extend(struct rdmo_writer *w, uint64_t value, uint64_t step, uint32_t count)
{
	const uint32_t bytes = count * (uint32_t)sizeof(*w->values);
	struct rdmo_rsp_hdr *rsp = w->run;
	rte_le64_t *restrict to = w->values;

	if (!rdmo_writer_has_room(w, bytes))
		return false;
	for (uint32_t i = 0; i < count; i++, value += step)
		to[i] = rte_cpu_to_le_64(value);
	w->values += count;
	w->at += bytes;
	rsp->length = rte_cpu_to_le_32(rte_le_to_cpu_32(rsp->length) + bytes);
	rsp->count = rte_cpu_to_le_32(rte_le_to_cpu_32(rsp->count) + count);
	w->next_seq += count;
	return true;
}

/* One more operation has the run's answer. */
static bool
run_join(struct rdmo_writer *w, uint64_t value)
{
	struct rdmo_rsp_hdr *rsp = w->run;

	if (rdmo_op_has_value(rte_le_to_cpu_16(rsp->op_id)))
		return run_extend(w, value, 0, 1);
	rsp->count = rte_cpu_to_le_32(rte_le_to_cpu_32(rsp->count) + 1);
	w->next_seq++;
	return true;
}

bool
rdmo_writer_answer(struct rdmo_writer *w, uint32_t op_id, enum rdmo_status status, uint64_t seq,
		   uint64_t value)
{
	struct rdmo_rsp_hdr *rsp;

	if (w->run != NULL && status == RDMO_STATUS_OK && seq == w->next_seq &&
	    w->run->op_id == rte_cpu_to_le_16((uint16_t)op_id))
		return run_join(w, value);
	rsp = answer_begin(w, op_id, status, seq, value, 0);
	if (rsp == NULL)
		return false;
	if (status == RDMO_STATUS_OK) {
		w->run = rsp;
		w->values = (rte_le64_t *)(rsp + 1);
		w->next_seq = seq + 1;
	}
	return true;
}

bool
rdmo_writer_appended(struct rdmo_writer *w, uint64_t seq, uint64_t value, uint64_t step,
		     uint32_t count)
{
	if (w->run != NULL && seq == w->next_seq &&
	    w->run->op_id == rte_cpu_to_le_16(RDMO_OP_APPEND))
		return run_extend(w, value, step, count);
	if (!rdmo_writer_answer(w, RDMO_OP_APPEND, RDMO_STATUS_OK, seq, value))
		return false;
	return count == 1 || run_extend(w, value + step, step, count - 1);
}

bool
rdmo_writer_flushed(struct rdmo_writer *w, enum rdmo_status status, uint64_t seq, uint64_t failed,
		    uint64_t flush_id)
{
	struct rdmo_flush_rsp *flush;
	struct rdmo_rsp_hdr *rsp =
		answer_begin(w, RDMO_OP_FLUSH, status, seq, failed, sizeof(*flush));

	if (rsp == NULL)
		return false;
	flush = (struct rdmo_flush_rsp *)(rsp + 1);
	flush->flush_id = rte_cpu_to_le_64(flush_id);
	return true;
}

void *
rdmo_writer_gathered(struct rdmo_writer *w, uint64_t seq, uint32_t bytes)
{
	struct rdmo_rsp_hdr *rsp = answer_begin(w, RDMO_OP_GATHER, RDMO_STATUS_OK, seq, 0, bytes);

	return rsp != NULL ? rsp + 1 : NULL;
}

void
rdmo_requests_drop(struct rdmo_msg *msg, uint32_t count)
{
	uint8_t *const first = (uint8_t *)(msg + 1), *at = first;
	const uint32_t length = rte_le_to_cpu_32(msg->length);
	uint32_t left;

	for (uint32_t i = 0; i < count; i++)
		at += rdmo_frame_bytes(rte_le_to_cpu_32(((struct rdmo_frame *)at)->length));
	left = length - (uint32_t)(at - first);
	memmove(first, at, left);
	msg->length = rte_cpu_to_le_32(left);
	msg->count = rte_cpu_to_le_16((uint16_t)(rte_le_to_cpu_16(msg->count) - count));
	msg->seq = rte_cpu_to_le_64(rte_le_to_cpu_64(msg->seq) + count);
}

void
rdmo_close_write(void *buffer, uint64_t session, enum rdmo_reason reason)
{
	struct rdmo_writer w;
	struct rdmo_close *close;

	rdmo_writer_begin(&w, buffer, RDMO_CLOSE_BYTES, RDMO_MSG_CLOSE, session, 0);
	close = rdmo_writer_take(&w, sizeof(*close));
	close->reason = rte_cpu_to_le_32(reason);
	w.count = 0;
	rdmo_writer_end(&w, 0);
}

/* ---- Read: the framing ---- */

/* Is what is between `length` and the next multiple of 8 zero? */
static bool
padding_is_zero(const uint8_t *at, uint64_t length)
{
	rte_le64_t last;

	if (length % 8 == 0)
		return true;
	memcpy(&last, at + (length & ~(uint64_t)7), sizeof(last));
	return rte_le_to_cpu_64(last) >> (length % 8 * 8) == 0;
}

/* A frame that lies in the message as a whole; `bytes`: all that it takes. */
static enum rdmo_reason
frame_check(const uint8_t *at, uint64_t left, uint64_t *bytes)
{
	const struct rdmo_frame *frame = (const void *)at;
	const uint64_t length = rte_le_to_cpu_32(frame->length);

	*bytes = rdmo_frame_bytes(length);
	if (*bytes > left)
		return RDMO_REASON_FRAME;
	return frame->reserved != 0 || !padding_is_zero(at + HEADERS, length) ? RDMO_REASON_RESERVED
									      : RDMO_REASON_NONE;
}

#ifdef __SSE4_1__
typedef long long ia32_words __attribute__((vector_size(16)));
#endif

/* Frame, header, and that of an APPEND. */
static inline bool
headers_are_alike(const uint8_t *a, const uint8_t *b)
{
	const rdmo_words *const x = (const rdmo_words *)(const void *)a;
	const rdmo_words *const y = (const rdmo_words *)(const void *)b;
	const rdmo_words differs = (x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]);

#ifdef __SSE4_1__
	return __builtin_ia32_ptestz128((ia32_words)differs, (ia32_words)differs) != 0;
#else
	return (differs[0] | differs[1]) == 0;
#endif
}

/* How many frames, the first one among them, are as good as the first one, which is: only their payloads differ. */
static uint32_t
frames_alike(const uint8_t *first, uint64_t bytes, uint64_t left, uint32_t count)
{
	const uint64_t length =
		rte_le_to_cpu_32(((const struct rdmo_frame *)(const void *)first)->length);
	/* The last one that there is room for, and that there are. */
	const uint8_t *const last = first + RTE_MIN(left - bytes, (count - 1) * bytes);
	const bool is_padded = length % 8 != 0;
	const uint8_t *at = first + bytes;
	uint32_t n = 1;

	if (bytes < RDMO_APPEND_HEADERS)
		return 1;
	while (at <= last && headers_are_alike(at, first) &&
	       (!is_padded || padding_is_zero(at + HEADERS, length))) {
		at += bytes;
		n++;
	}
	return n;
}

/* `alike`: how many at the beginning. */
static enum rdmo_reason
frames_check(const uint8_t *at, uint64_t left, uint32_t count, uint32_t *alike)
{
	enum rdmo_reason reason;
	uint64_t bytes;

	for (uint32_t n; count > 0 && left > 0; count -= n) {
		reason = left < HEADERS ? RDMO_REASON_FRAME : frame_check(at, left, &bytes);
		if (reason != RDMO_REASON_NONE)
			return reason;
		n = frames_alike(at, bytes, left, count);
		if (*alike == 0)
			*alike = n;
		at += n * bytes;
		left -= n * bytes;
	}
	return count == 0 && left == 0 ? RDMO_REASON_NONE : RDMO_REASON_COUNT;
}

/* May an answer to this have so many bytes behind it? */
static bool
answer_length_fits(const struct rdmo_rsp_hdr *rsp, uint64_t count, uint64_t length)
{
	const uint16_t op_id = rte_le_to_cpu_16(rsp->op_id);
	const bool ok = rsp->status == rte_cpu_to_le_16(RDMO_STATUS_OK);

	if (op_id == RDMO_OP_FLUSH)
		return length == (length > 0 || ok ? sizeof(struct rdmo_flush_rsp) : 0);
	/* How much there is to be the initiator knows. */
	if (op_id == RDMO_OP_GATHER)
		return ok || length == 0;
	return length == (rdmo_op_has_value(op_id) ? (count - 1) * sizeof(rte_le64_t) : 0);
}

/* An answer that lies in the message as a whole. */
static enum rdmo_reason
answer_check(const struct rdmo_rsp_hdr *rsp, uint32_t length)
{
	const uint16_t op_id = rte_le_to_cpu_16(rsp->op_id);
	const uint16_t status = rte_le_to_cpu_16(rsp->status);
	const uint32_t count = rte_le_to_cpu_32(rsp->count);
	const bool ok = status == RDMO_STATUS_OK;

	if (rsp->reserved != 0)
		return RDMO_REASON_RESERVED;
	if (count == 0 || status >= RDMO_STATUSES ||
	    (!rdmo_op_is_known(op_id) && status != RDMO_STATUS_OP) ||
	    (count > 1 && (!ok || op_id == RDMO_OP_FLUSH || op_id == RDMO_OP_GATHER)) ||
	    !answer_length_fits(rsp, count, length))
		return RDMO_REASON_ANSWER;
	if (op_id == RDMO_OP_FLUSH && length > 0) {
		if (ok != (rsp->value == rte_cpu_to_le_64(RDMO_NONE)))
			return RDMO_REASON_ANSWER;
	} else if (rsp->value != 0 && (!ok || !rdmo_op_has_value(op_id))) {
		return RDMO_REASON_ANSWER;
	}
	if (rte_le_to_cpu_64(rsp->seq) > RDMO_NONE - count)
		return RDMO_REASON_SEQ;
	return RDMO_REASON_NONE;
}

static enum rdmo_reason
answers_check(const uint8_t *at, uint64_t left, uint32_t count)
{
	enum rdmo_reason reason;

	for (; count > 0 && left > 0; count--) {
		const struct rdmo_rsp_hdr *rsp = (const void *)at;
		uint64_t length, bytes;

		if (left < sizeof(*rsp))
			return RDMO_REASON_FRAME;
		length = rte_le_to_cpu_32(rsp->length);
		bytes = sizeof(*rsp) + rdmo_padded(length);
		if (bytes > left)
			return RDMO_REASON_FRAME;
		reason = answer_check(rsp, (uint32_t)length);
		if (reason != RDMO_REASON_NONE)
			return reason;
		at += bytes;
		left -= bytes;
	}
	return count == 0 && left == 0 ? RDMO_REASON_NONE : RDMO_REASON_COUNT;
}

/* The header, and the whole body of a message that closes the connection. */
static enum rdmo_reason
message_open(struct rdmo_reader *reader, const void *message, uint32_t bytes, uint64_t session,
	     enum rdmo_msg_kind kind)
{
	const struct rdmo_msg *msg = message;
	const struct rdmo_close *close = (const void *)(msg + 1);

	if (bytes < sizeof(*msg))
		return RDMO_REASON_SHORT;
	if (msg->magic != rte_cpu_to_le_32(RDMO_MSG_MAGIC))
		return RDMO_REASON_MAGIC;
	if (msg->version != RDMO_VERSION)
		return RDMO_REASON_VERSION;
	if (msg->kind != kind && msg->kind != RDMO_MSG_CLOSE)
		return RDMO_REASON_KIND;
	if (msg->session != rte_cpu_to_le_64(session))
		return RDMO_REASON_SESSION;
	if (rte_le_to_cpu_32(msg->length) != bytes - sizeof(*msg))
		return RDMO_REASON_LENGTH;
	*reader = (struct rdmo_reader){
		.at = (const uint8_t *)(msg + 1),
		.left = rte_le_to_cpu_16(msg->count),
		.credits = rte_le_to_cpu_32(msg->credits),
		.seq = rte_le_to_cpu_64(msg->seq),
	};
	if (msg->seq != 0 && msg->count == 0)
		return RDMO_REASON_SEQ;
	if (msg->kind != RDMO_MSG_CLOSE)
		return RDMO_REASON_NONE;
	if (reader->left > 0)
		return RDMO_REASON_COUNT;
	if (bytes != RDMO_CLOSE_BYTES)
		return RDMO_REASON_LENGTH;
	reader->closed_by = rte_le_to_cpu_32(close->reason);
	if (close->reserved != 0)
		return RDMO_REASON_RESERVED;
	return reader->closed_by != RDMO_REASON_NONE ? RDMO_REASON_NONE : RDMO_REASON_ANSWER;
}

enum rdmo_reason
rdmo_requests_open(struct rdmo_reader *reader, const void *message, uint32_t bytes,
		   uint64_t session)
{
	const enum rdmo_reason reason =
		message_open(reader, message, bytes, session, RDMO_MSG_REQUESTS);

	if (reason != RDMO_REASON_NONE || reader->closed_by != RDMO_REASON_NONE)
		return reason;
	if (reader->seq > RDMO_NONE - reader->left)
		return RDMO_REASON_SEQ;
	return frames_check(reader->at, bytes - sizeof(struct rdmo_msg), reader->left,
			    &reader->alike);
}

enum rdmo_reason
rdmo_answers_open(struct rdmo_reader *reader, const void *message, uint32_t bytes, uint64_t session)
{
	enum rdmo_reason reason = message_open(reader, message, bytes, session, RDMO_MSG_ANSWERS);

	if (reason != RDMO_REASON_NONE || reader->closed_by != RDMO_REASON_NONE)
		return reason;
	reason = answers_check(reader->at, bytes - sizeof(struct rdmo_msg), reader->left);
	if (reason == RDMO_REASON_NONE && reader->left > 0 &&
	    ((const struct rdmo_rsp_hdr *)reader->at)->seq != rte_cpu_to_le_64(reader->seq))
		return RDMO_REASON_SEQ;
	return reason;
}

/* ---- Read: operations, of which the framing is good ---- */

/* Would the end wrap? */
static bool
end_wraps(rte_le64_t addr, uint64_t bytes)
{
	return rte_le_to_cpu_64(addr) > UINT64_MAX - bytes;
}

static enum rdmo_status
pull_check(const struct rdmo_pull *pull)
{
	if (pull->len == 0)
		return RDMO_STATUS_LENGTH;
	return end_wraps(pull->addr, rte_le_to_cpu_32(pull->len)) ? RDMO_STATUS_BOUNDS
								  : RDMO_STATUS_OK;
}

/* An APPEND whose payload is still the initiator's. */
static enum rdmo_status
pulls_check(struct rdmo_request *request, uint64_t behind)
{
	enum rdmo_status status = RDMO_STATUS_OK;

	request->count = behind / sizeof(struct rdmo_pull);
	request->bytes = 0;
	if (behind % sizeof(struct rdmo_pull) != 0 || request->count == 0 ||
	    request->count > RDMO_PULLS)
		return RDMO_STATUS_LENGTH;
	for (uint64_t i = 0; i < request->count && status == RDMO_STATUS_OK; i++) {
		status = pull_check(&request->pulls[i]);
		request->bytes += rte_le_to_cpu_32(request->pulls[i].len);
	}
	return status;
}

static enum rdmo_status
append_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	const struct rdmo_append_hdr *append = own;

	if (length < sizeof(*append))
		return RDMO_STATUS_LENGTH;
	request->append = append;
	request->payload = (const uint8_t *)(append + 1);
	request->bytes = length - sizeof(*append);
	if (rte_le_to_cpu_64(append->ptr_addr) % 8 != 0 || end_wraps(append->ptr_addr, 8))
		return RDMO_STATUS_BOUNDS;
	return (request->flags & RDMO_FLAG_PULL) != 0 ? pulls_check(request, request->bytes)
						      : RDMO_STATUS_OK;
}

static enum rdmo_status
flush_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	if (length != sizeof(struct rdmo_flush_hdr))
		return RDMO_STATUS_LENGTH;
	request->flush = own;
	return (request->flags & (RDMO_FLAG_SILENT | RDMO_FLAG_PULL | RDMO_FLAG_NOTIFY)) != 0
		       ? RDMO_STATUS_NOTSUP
		       : RDMO_STATUS_OK;
}

static enum rdmo_status
put_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	const struct rdmo_put_hdr *put = own;

	if (length < sizeof(*put))
		return RDMO_STATUS_LENGTH;
	request->put = put;
	request->payload = (const uint8_t *)(put + 1);
	request->bytes = length - sizeof(*put);
	if (rte_le_to_cpu_64(put->signal_addr) % 8 != 0 || end_wraps(put->signal_addr, 8) ||
	    end_wraps(put->addr, request->bytes))
		return RDMO_STATUS_BOUNDS;
	return (request->flags & RDMO_FLAG_PULL) != 0 || put->reserved != 0 ||
			       rte_le_to_cpu_32(put->kind) >= RDMO_SIGNALS
		       ? RDMO_STATUS_NOTSUP
		       : RDMO_STATUS_OK;
}

static enum rdmo_status
atomic_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	const struct rdmo_atomic_hdr *atomic = own;

	if (length != sizeof(*atomic))
		return RDMO_STATUS_LENGTH;
	request->atomic = atomic;
	if (rte_le_to_cpu_64(atomic->addr) % 8 != 0 || end_wraps(atomic->addr, 8))
		return RDMO_STATUS_BOUNDS;
	if ((request->flags & RDMO_FLAG_PULL) != 0 ||
	    (request->op_id == RDMO_OP_FETCH_ADD && atomic->swap != 0))
		return RDMO_STATUS_NOTSUP;
	return RDMO_STATUS_OK;
}

/* What `count` claims is no more than there are bytes. */
static enum rdmo_status
gather_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	const struct rdmo_gather_hdr *hdr = own;
	const struct rdmo_gather_iov *iov;

	if (length < sizeof(*hdr))
		return RDMO_STATUS_LENGTH;
	request->gather = (const void *)(hdr + 1);
	request->count = rte_le_to_cpu_64(hdr->count);
	if (request->count > (length - sizeof(*hdr)) / sizeof(*iov) ||
	    length != sizeof(*hdr) + request->count * sizeof(*iov))
		return RDMO_STATUS_LENGTH;
	if ((request->flags & ~(uint32_t)RDMO_FLAG_FENCE) != 0)
		return RDMO_STATUS_NOTSUP;
	for (iov = request->gather; iov < request->gather + request->count; iov++) {
		if (iov->reserved != 0)
			return RDMO_STATUS_NOTSUP;
		if (end_wraps(iov->addr, rte_le_to_cpu_32(iov->len)))
			return RDMO_STATUS_BOUNDS;
		request->bytes += rte_le_to_cpu_32(iov->len);
	}
	return RDMO_STATUS_OK;
}

/* A piece that has `left` bytes for itself and those behind it; `taken`: how many are its own. */
static enum rdmo_status
piece_check(const uint8_t *at, uint64_t left, bool pull, uint64_t *taken)
{
	const struct rdmo_scatter_iov *iov = (const void *)at;
	const struct rdmo_pull *pulled = (const void *)(iov + 1);
	uint32_t bytes;

	if (left < sizeof(*iov))
		return RDMO_STATUS_LENGTH;
	bytes = piece_bytes(pull, iov);
	*taken = sizeof(*iov) + rdmo_padded(bytes);
	if (left < *taken || (pull && pulled->len != iov->len))
		return RDMO_STATUS_LENGTH;
	if (iov->reserved != 0 || !padding_is_zero(at + sizeof(*iov), bytes))
		return RDMO_STATUS_NOTSUP;
	if (end_wraps(iov->addr, rte_le_to_cpu_32(iov->len)))
		return RDMO_STATUS_BOUNDS;
	return pull ? pull_check(pulled) : RDMO_STATUS_OK;
}

/* What `count` claims is believed as far as there are bytes, so that the largest one costs no more than the message is long. */
static enum rdmo_status
scatter_check(struct rdmo_request *request, const void *own, uint64_t left)
{
	const struct rdmo_scatter_hdr *scatter = own;
	const bool pull = (request->flags & RDMO_FLAG_PULL) != 0;
	const uint8_t *at = (const uint8_t *)(scatter + 1);
	enum rdmo_status status;
	uint64_t taken;

	if (left < sizeof(*scatter))
		return RDMO_STATUS_LENGTH;
	left -= sizeof(*scatter);
	request->payload = at;
	request->count = rte_le_to_cpu_64(scatter->count);
	if (pull && request->count > RDMO_PULLS)
		return RDMO_STATUS_LENGTH;
	for (uint64_t i = 0; i < request->count; i++) {
		status = piece_check(at, left, pull, &taken);
		if (status != RDMO_STATUS_OK)
			return status;
		request->bytes +=
			rte_le_to_cpu_32(((const struct rdmo_scatter_iov *)(const void *)at)->len);
		at += taken;
		left -= taken;
	}
	return left == 0 ? RDMO_STATUS_OK : RDMO_STATUS_LENGTH;
}

static enum rdmo_status
request_check(struct rdmo_request *request, const void *own, uint64_t length)
{
	if (!rdmo_op_is_known(request->op_id))
		return RDMO_STATUS_OP;
	if ((request->flags & ~(uint32_t)RDMO_FLAGS) != 0)
		return RDMO_STATUS_NOTSUP;
	switch (request->op_id) {
	case RDMO_OP_APPEND: return append_check(request, own, length);
	case RDMO_OP_FLUSH: return flush_check(request, own, length);
	case RDMO_OP_GATHER: return gather_check(request, own, length);
	case RDMO_OP_PUT_SIGNAL: return put_check(request, own, length);
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP: return atomic_check(request, own, length);
	default: return scatter_check(request, own, length);
	}
}

bool
rdmo_requests_next(struct rdmo_reader *reader, struct rdmo_request *request)
{
	const struct rdmo_frame *frame = (const void *)reader->at;
	const struct rdmo_hdr *hdr = (const void *)(frame + 1);
	uint32_t length;

	if (reader->left == 0)
		return false;
	length = rte_le_to_cpu_32(frame->length);
	*request = (struct rdmo_request){
		.seq = reader->seq,
		.id = rte_le_to_cpu_64(hdr->id),
		.op_id = rte_le_to_cpu_32(hdr->op_id),
		.flags = rte_le_to_cpu_32(hdr->flags),
	};
	request->status = request_check(request, hdr + 1, length);
	reader->at += rdmo_frame_bytes(length);
	reader->seq++;
	reader->left--;
	reader->alike -= reader->alike > 0;
	return true;
}

struct rdmo_pieces
rdmo_pieces_of(const struct rdmo_request *request)
{
	return (struct rdmo_pieces){
		.at = request->payload,
		.left = request->count,
		.pull = (request->flags & RDMO_FLAG_PULL) != 0,
	};
}

bool
rdmo_pieces_next(struct rdmo_pieces *pieces, struct rdmo_piece *piece)
{
	const struct rdmo_scatter_iov *iov = (const void *)pieces->at;

	if (pieces->left == 0)
		return false;
	*piece = (struct rdmo_piece){
		.addr = rte_le_to_cpu_64(iov->addr),
		.rkey = rte_le_to_cpu_64(iov->rkey),
		.len = rte_le_to_cpu_32(iov->len),
		.data = (const uint8_t *)(iov + 1),
	};
	pieces->at += sizeof(*iov) + rdmo_padded(piece_bytes(pieces->pull, iov));
	pieces->left--;
	return true;
}

bool
rdmo_answers_next(struct rdmo_reader *reader, struct rdmo_answer *answer)
{
	const struct rdmo_rsp_hdr *rsp = (const void *)reader->at;
	uint32_t length;

	if (reader->left == 0)
		return false;
	length = rte_le_to_cpu_32(rsp->length);
	*answer = (struct rdmo_answer){
		.seq = rte_le_to_cpu_64(rsp->seq),
		.value = rte_le_to_cpu_64(rsp->value),
		.count = rte_le_to_cpu_32(rsp->count),
		.op_id = rte_le_to_cpu_16(rsp->op_id),
		.status = (enum rdmo_status)rte_le_to_cpu_16(rsp->status),
	};
	if (rdmo_op_has_value(answer->op_id) && answer->status == RDMO_STATUS_OK)
		answer->values = &rsp->value;
	else if (answer->op_id == RDMO_OP_GATHER && answer->status == RDMO_STATUS_OK)
		answer->gathered = rsp + 1;
	else if (length > 0)
		answer->flush = (const void *)(rsp + 1);
	answer->gathered_bytes = answer->gathered != NULL ? length : 0;
	reader->at += sizeof(*rsp) + rdmo_padded(length);
	reader->left--;
	return true;
}
