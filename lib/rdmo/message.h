/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages between an initiator and a worker: packed into memory of the caller, and read in place. No I/O, no allocation, no
 * state beyond the writer or reader itself.
 *
 * What comes in is judged at two places. Opening a message checks its framing from the first byte to the last: if that is
 * broken, nothing of the message is executed, and the connection is closed with the reason. What is inside an operation's own
 * frame is the operation's: if it is wrong, that operation is refused with a status, and the next one is read.
 */
#ifndef RDMO_MESSAGE_H
#define RDMO_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rdmo_wire.h"

/* Bytes that so many take up to the next multiple of 8. */
static inline uint64_t
rdmo_padded(uint64_t bytes)
{
	return (bytes + 7) & ~(uint64_t)7;
}

/* Bytes of a message that an operation takes: its own header and payload have `behind`. */
static inline uint64_t
rdmo_frame_bytes(uint64_t behind)
{
	return sizeof(struct rdmo_frame) + sizeof(struct rdmo_hdr) + rdmo_padded(behind);
}

/* Is there such an operation? */
static inline bool
rdmo_op_is_known(uint32_t op_id)
{
	return op_id < RDMO_OPS;
}

/* Has its success a value of its own, each? */
static inline bool
rdmo_op_has_value(uint32_t op_id)
{
	return op_id == RDMO_OP_APPEND || op_id == RDMO_OP_FETCH_ADD || op_id == RDMO_OP_CMP_SWAP;
}

/* ---- Write ---- */

/* A message in the making. */
struct rdmo_writer {
	struct rdmo_msg *msg;
	uint8_t *at, *end;	  /* where the next frame or answer goes; behind the buffer */
	uint32_t count;		  /* of what is behind it */
	struct rdmo_rsp_hdr *run; /* the last answer, if the next one may join it */
	rte_le64_t *values;	  /* of the run: where the next value goes */
	uint64_t next_seq;	  /* of the run: what the next answer is to be about */
};

/* As many as can be counted, 65,535, of the smallest that there are: answers, and SCATTERs of no pieces. */
#define RDMO_MSG_MAX_BYTES \
	((uint32_t)(sizeof(struct rdmo_msg) + UINT16_MAX * sizeof(struct rdmo_rsp_hdr)))

/*
 * Begin a message.
 *
 * @param w       the writer
 * @param buffer  at a multiple of 8; written to until the end
 * @param room    its bytes, 32 or more; RDMO_MSG_MAX_BYTES are used at most
 * @param kind    RDMO_MSG_REQUESTS or RDMO_MSG_ANSWERS
 * @param session the connection's
 * @param seq     REQUESTS: the sequence number of the first operation. ANSWERS: it is the first answer's, whatever this is
 */
void rdmo_writer_begin(struct rdmo_writer *w, void *buffer, uint32_t room, enum rdmo_msg_kind kind,
		       uint64_t session, uint64_t seq);

/*
 * Add an operation. Each returns false, and has changed nothing, if there is no room for it: end the message, and begin the next
 * one with it; what an empty message has no room for can only be pulled.
 *
 * @param id      the target's
 * @param flags   enum rdmo_flag; RDMO_FLAG_PULL: payload (data) are struct rdmo_pull
 * @param append, flush  its own header
 * @param payload `bytes` of it
 * @param iovs    `count` pieces; reserved is 0
 * @param data    of each piece
 */
static inline bool rdmo_writer_append(struct rdmo_writer *w, uint64_t id, uint32_t flags,
				      const struct rdmo_append_hdr *append, const void *payload,
				      uint32_t bytes);
bool rdmo_writer_flush(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		       const struct rdmo_flush_hdr *flush);
bool rdmo_writer_put(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		     const struct rdmo_put_hdr *put, const void *payload, uint32_t bytes);
/* `op_id`: RDMO_OP_FETCH_ADD or RDMO_OP_CMP_SWAP. */
bool rdmo_writer_atomic(struct rdmo_writer *w, uint64_t id, uint32_t op_id, uint32_t flags,
			const struct rdmo_atomic_hdr *atomic);
/* `iovs`: `count` pieces; reserved is 0. */
bool rdmo_writer_gather(struct rdmo_writer *w, uint64_t id, uint32_t flags,
			const struct rdmo_gather_iov *iovs, uint32_t count);
bool rdmo_writer_scatter(struct rdmo_writer *w, uint64_t id, uint32_t flags,
			 const struct rdmo_scatter_iov *iovs, const void *const *data,
			 uint32_t count);

/* Bytes of an APPEND in front of its payload. */
#define RDMO_APPEND_HEADERS                                               \
	((uint32_t)(sizeof(struct rdmo_frame) + sizeof(struct rdmo_hdr) + \
		    sizeof(struct rdmo_append_hdr)))

/* A payload. Of a cache line, as many are, it takes fewer instructions than a call does. */
static inline void
rdmo_copy(void *to, const void *from, uint64_t bytes)
{
	if (bytes == RTE_CACHE_LINE_MIN_SIZE)
		memcpy(to, from, RTE_CACHE_LINE_MIN_SIZE);
	else if (bytes > 0)
		memcpy(to, from, bytes);
}

/* Is there room for one more frame or answer? */
static inline bool
rdmo_writer_has_room(const struct rdmo_writer *w, uint64_t bytes)
{
	return bytes <= (uint64_t)(w->end - w->at);
}

/* Take it. Its last 8 bytes are 0, so that padding is. */
static inline void *
rdmo_writer_take(struct rdmo_writer *w, uint64_t bytes)
{
	uint8_t *at = w->at;

	memset(at + bytes - 8, 0, 8);
	w->at += bytes;
	w->count++;
	return at;
}

/* Take room for an operation, and write all in front of its own header. Returns where that goes. */
static inline void *
rdmo_writer_operation(struct rdmo_writer *w, uint64_t id, enum rdmo_op_id op_id, uint32_t flags,
		      uint64_t behind)
{
	struct rdmo_frame *frame = rdmo_writer_take(w, rdmo_frame_bytes(behind));
	struct rdmo_hdr *hdr = (void *)(frame + 1);

	*frame = (struct rdmo_frame){ .length = rte_cpu_to_le_32((uint32_t)behind) };
	*hdr = (struct rdmo_hdr){
		.id = rte_cpu_to_le_64(id),
		.op_id = rte_cpu_to_le_32(op_id),
		.flags = rte_cpu_to_le_32(flags),
	};
	return hdr + 1;
}

static inline bool
rdmo_writer_append(struct rdmo_writer *w, uint64_t id, uint32_t flags,
		   const struct rdmo_append_hdr *append, const void *payload, uint32_t bytes)
{
	const uint64_t behind = sizeof(*append) + (uint64_t)bytes;
	struct rdmo_append_hdr *hdr;

	if (!rdmo_writer_has_room(w, rdmo_frame_bytes(behind)))
		return false;
	hdr = rdmo_writer_operation(w, id, RDMO_OP_APPEND, flags, behind);
	*hdr = *append;
	rdmo_copy(hdr + 1, payload, bytes);
	return true;
}

/* What is copied and compared at once. */
typedef uint64_t rdmo_words __attribute__((vector_size(16), aligned(1), may_alias));

static_assert(RDMO_APPEND_HEADERS == 3 * sizeof(rdmo_words), "struct rdmo_append_again");

/* The APPEND that was written last, to be written once more with other payloads of as many bytes. By members, which have registers. */
struct rdmo_append_again {
	rdmo_words frame, hdr, append; /* all that is in front of a payload */
	uint64_t bytes;		       /* of the whole frame */
	const uint8_t *end;	       /* behind the last place where one can begin */
};

static inline struct rdmo_append_again
rdmo_writer_again(const struct rdmo_writer *w, uint32_t payload_bytes)
{
	const uint64_t bytes =
		rdmo_frame_bytes(sizeof(struct rdmo_append_hdr) + (uint64_t)payload_bytes);
	const rdmo_words *const headers = (const void *)(w->at - bytes);

	return (struct rdmo_append_again){
		.frame = headers[0],
		.hdr = headers[1],
		.append = headers[2],
		.bytes = bytes,
		.end = w->end - bytes + 1,
	};
}

/* At `at`, which is before again->end. */
static __rte_always_inline void
rdmo_append_again(const struct rdmo_append_again *again, uint8_t *at, const void *payload,
		  const uint32_t payload_bytes)
{
	rdmo_words *const headers = (void *)at;

	if (payload_bytes % 8 != 0)
		memset(at + again->bytes - 8, 0, 8);
	headers[0] = again->frame;
	headers[1] = again->hdr;
	headers[2] = again->append;
	if (payload_bytes > 0)
		memcpy(headers + 3, payload, payload_bytes);
}

/* So many more frames were written, up to there. */
static inline void
rdmo_writer_took(struct rdmo_writer *w, uint8_t *at, uint32_t count)
{
	w->at = at;
	w->count += count;
}

/* Bytes of a message that a SCATTER takes. */
uint64_t rdmo_scatter_bytes(uint32_t flags, const struct rdmo_scatter_iov *iovs, uint32_t count);

/*
 * Add the answer to an operation that is not FLUSH, or to a FLUSH that is refused. A success joins the answer before it, if that
 * is the success of the same kind of operation right before it. False: as above. `op_id` may be any if the status is
 * RDMO_STATUS_OP; `value` is that of an operation that has one (rdmo_op_has_value()), else 0.
 */
bool rdmo_writer_answer(struct rdmo_writer *w, uint32_t op_id, enum rdmo_status status,
			uint64_t seq, uint64_t value);
/* Add those to APPENDs in a row that went well, likewise: `value` is the first one's, the others' are `step` apart. */
bool rdmo_writer_appended(struct rdmo_writer *w, uint64_t seq, uint64_t value, uint64_t step,
			  uint32_t count);
/* Add the answer to a FLUSH that was executed. `failed`: the first failure since the last one, or RDMO_NONE with OK. */
bool rdmo_writer_flushed(struct rdmo_writer *w, enum rdmo_status status, uint64_t seq,
			 uint64_t failed, uint64_t flush_id);

/* Add the answer to a GATHER that was executed. Returns where its bytes go; NULL: there is no room. */
void *rdmo_writer_gathered(struct rdmo_writer *w, uint64_t seq, uint32_t bytes);

/* Bytes of a GATHER's pieces at most, if its answer has a message of so many for itself. */
static inline uint32_t
rdmo_gathered_max(uint32_t message_bytes)
{
	return (message_bytes - (uint32_t)(sizeof(struct rdmo_msg) + sizeof(struct rdmo_rsp_hdr))) &
	       ~UINT32_C(7);
}

/* End the message. Returns its bytes, to be sent in one SEND. `credits`: struct rdmo_msg's. */
uint32_t rdmo_writer_end(struct rdmo_writer *w, uint32_t credits);

/* Forget the first `count` operations of a message that was written; it has more. It begins with the next one. */
void rdmo_requests_drop(struct rdmo_msg *msg, uint32_t count);

/* Bytes of the message that closes a connection. */
#define RDMO_CLOSE_BYTES (sizeof(struct rdmo_msg) + sizeof(struct rdmo_close))

/* Write it: `buffer` at a multiple of 8, of RDMO_CLOSE_BYTES. */
void rdmo_close_write(void *buffer, uint64_t session, enum rdmo_reason reason);

/* ---- Read ---- */

/* A message that is read. */
struct rdmo_reader {
	const uint8_t *at; /* the next frame or answer */
	uint32_t left;	   /* frames or answers */
	uint32_t credits;  /* struct rdmo_msg's */
	uint64_t seq;	   /* requests: of the next one */
	/* Requests: so many, from the next one on, have headers that are alike, to the last bit of all that is not payload. */
	uint32_t alike;
	uint32_t
		closed_by; /* the peer's reason, if the message closes the connection; else RDMO_REASON_NONE */
};

/* An operation. All pointers lead into the message. */
struct rdmo_request {
	uint64_t seq;
	uint64_t id;
	uint32_t op_id; /* enum rdmo_op_id if `status` is not RDMO_STATUS_OP */
	uint32_t flags;
	/* OK: what follows is right in itself. Else why it is refused, and what follows is not to be used. */
	enum rdmo_status status;
	union {
		const struct rdmo_append_hdr *append;
		const struct rdmo_flush_hdr *flush;
		const struct rdmo_atomic_hdr *atomic;
		const struct rdmo_put_hdr *put;
		const struct rdmo_gather_iov *gather; /* `count` of them */
	};
	/* APPEND, PUT_SIGNAL: the payload; PULL: `pulls`. SCATTER: the pieces, for rdmo_scatter_next(). */
	union {
		const uint8_t *payload;
		const struct rdmo_pull *pulls;
	};
	/* APPEND, PULL: pieces of the initiator's memory. SCATTER, GATHER: pieces of the target's. */
	uint64_t count;
	/* All that is to be placed, or read, wherever it is now. */
	uint64_t bytes;
};

/*
 * Open a message that a worker (requests) or an initiator (answers) has received.
 *
 * @param reader  set if it is whole: answers or requests can be had then, if `closed_by` is RDMO_REASON_NONE
 * @param message at a multiple of 8; must not change while it is read
 * @param bytes   that were received
 * @param session the connection's
 * @return RDMO_REASON_NONE, or why the connection is to be closed
 */
enum rdmo_reason rdmo_requests_open(struct rdmo_reader *reader, const void *message, uint32_t bytes,
				    uint64_t session);
enum rdmo_reason rdmo_answers_open(struct rdmo_reader *reader, const void *message, uint32_t bytes,
				   uint64_t session);

/* The next operation, if there is one. */
bool rdmo_requests_next(struct rdmo_reader *reader, struct rdmo_request *request);

/* Is its payload still the initiator's? */
static inline bool
rdmo_is_pulled(const struct rdmo_request *request)
{
	return (request->flags & RDMO_FLAG_PULL) != 0;
}

/* Bytes from an APPEND's payload, which is in the message, to that of one that is alike behind it. */
static inline uint64_t
rdmo_requests_stride(const struct rdmo_request *request)
{
	return rdmo_frame_bytes(sizeof(*request->append) + request->bytes);
}

/* Pass over so many that are alike, behind this one. */
static inline void
rdmo_requests_pass(struct rdmo_reader *reader, const struct rdmo_request *request, uint32_t n)
{
	reader->at += n * rdmo_requests_stride(request);
	reader->seq += n;
	reader->left -= n;
	reader->alike -= n;
}

/* A piece of a SCATTER. */
struct rdmo_piece {
	uint64_t addr, rkey;
	uint32_t len;
	const uint8_t *data; /* PULL: struct rdmo_pull */
};

/* The pieces of a SCATTER whose status is OK, one after the other. */
struct rdmo_pieces {
	const uint8_t *at;
	uint64_t left;
	bool pull;
};
struct rdmo_pieces rdmo_pieces_of(const struct rdmo_request *request);
bool rdmo_pieces_next(struct rdmo_pieces *pieces, struct rdmo_piece *piece);

/* Answers to `count` operations from `seq` on. */
struct rdmo_answer {
	uint64_t seq;
	uint64_t value; /* the first one's; rdmo_answer_value() has all */
	uint32_t count;
	uint32_t op_id; /* enum rdmo_op_id if `status` is not RDMO_STATUS_OP */
	enum rdmo_status status;
	const rte_le64_t *values;	    /* of all; NULL: all have `value` */
	const struct rdmo_flush_rsp *flush; /* FLUSH, executed; else NULL */
	const void *gathered;		    /* GATHER, executed; else NULL */
	uint32_t gathered_bytes;
};

/* The next answer, if there is one. */
bool rdmo_answers_next(struct rdmo_reader *reader, struct rdmo_answer *answer);

/* The value of the n-th operation of an answer, from 0. */
static inline uint64_t
rdmo_answer_value(const struct rdmo_answer *answer, uint32_t n)
{
	return answer->values == NULL ? answer->value : rte_le_to_cpu_64(answer->values[n]);
}

#endif
