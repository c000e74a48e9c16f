/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: messages that claim to be of remote direct memory operations. What is taken must lie inside the message, and be the same
 * when it has been written again.
 *
 *   u8   bit 0: answers, or else requests; 1: the header is made right, but for count and seq
 *   the message
 */

#include <stdbool.h>

#include "fuzz.h"
#include "rdmo/message.h"

#define ANSWERS 0x1
#define HEADER	0x2
#define SESSION UINT64_C(0x1122334455667788)
#define ROOM	(1 << 16)
#define PIECES	(ROOM / (uint32_t)sizeof(struct rdmo_scatter_iov))

static _Alignas(8) uint8_t room[ROOM];
static struct rdmo_scatter_iov iovs[PIECES];
static const void *data_of[PIECES];

static void
mend(struct rdmo_msg *msg, uint32_t bytes, bool answers)
{
	msg->magic = rte_cpu_to_le_32(RDMO_MSG_MAGIC);
	msg->version = RDMO_VERSION;
	if (msg->kind != RDMO_MSG_CLOSE)
		msg->kind = answers ? RDMO_MSG_ANSWERS : RDMO_MSG_REQUESTS;
	msg->session = rte_cpu_to_le_64(SESSION);
	msg->length = rte_cpu_to_le_32(bytes - (uint32_t)sizeof(*msg));
}

/* Memory of just that size, so that the sanitizer sees what goes beyond. */
static void *
own(const uint8_t *bytes, size_t count)
{
	void *copy = malloc(count > 0 ? count : 1);

	must(copy != NULL);
	memcpy(copy, bytes, count);
	return copy;
}

/* All of it is read, and what it says of its own length is so. */
static uint64_t
touch(const uint8_t *bytes, uint64_t count)
{
	uint64_t sum = 0;

	while (count-- > 0)
		sum += bytes[count];
	return sum;
}

static bool
scatter_again(struct rdmo_writer *w, const struct rdmo_request *request)
{
	struct rdmo_pieces pieces = rdmo_pieces_of(request);
	struct rdmo_piece piece;
	uint64_t bytes = 0;
	uint32_t count = 0;

	while (rdmo_pieces_next(&pieces, &piece)) {
		must(count < PIECES);
		must(piece.addr + piece.len >= piece.addr);
		touch(piece.data, pieces.pull ? sizeof(struct rdmo_pull) : piece.len);
		iovs[count] = (struct rdmo_scatter_iov){
			.addr = rte_cpu_to_le_64(piece.addr),
			.rkey = rte_cpu_to_le_64(piece.rkey),
			.len = rte_cpu_to_le_32(piece.len),
		};
		data_of[count++] = piece.data;
		bytes += piece.len;
	}
	must(count == request->count && bytes == request->bytes);
	return rdmo_writer_scatter(w, request->id, request->flags, iovs, data_of, count);
}

static bool
append_again(struct rdmo_writer *w, const struct rdmo_request *request)
{
	uint64_t bytes = request->bytes, sum = 0;

	if ((request->flags & RDMO_FLAG_PULL) != 0) {
		must(request->count > 0 && request->count <= RDMO_PULLS);
		bytes = request->count * sizeof(struct rdmo_pull);
		for (uint64_t i = 0; i < request->count; i++)
			sum += rte_le_to_cpu_32(request->pulls[i].len);
		must(sum == request->bytes);
	}
	touch(request->payload, bytes);
	return rdmo_writer_append(w, request->id, request->flags, request->append, request->payload,
				  (uint32_t)bytes);
}

static bool
request_again(struct rdmo_writer *w, const struct rdmo_request *request)
{
	must((request->flags & ~(uint32_t)RDMO_FLAGS) == 0);
	switch (request->op_id) {
	case RDMO_OP_APPEND: return append_again(w, request);
	case RDMO_OP_SCATTER: return scatter_again(w, request);
	case RDMO_OP_GATHER:
		touch((const uint8_t *)request->gather, request->count * sizeof(*request->gather));
		return rdmo_writer_gather(w, request->id, request->flags, request->gather,
					  (uint32_t)request->count);
	case RDMO_OP_PUT_SIGNAL:
		touch(request->payload, request->bytes);
		return rdmo_writer_put(w, request->id, request->flags, request->put,
				       request->payload, (uint32_t)request->bytes);
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP:
		return rdmo_writer_atomic(w, request->id, request->op_id, request->flags,
					  request->atomic);
	default:
		must(request->op_id == RDMO_OP_FLUSH);
		return rdmo_writer_flush(w, request->id, request->flags, request->flush);
	}
}

static void
requests_read(const struct rdmo_msg *msg, uint32_t bytes)
{
	struct rdmo_reader reader;
	struct rdmo_request request;
	struct rdmo_writer w;
	uint32_t count = 0;
	bool all = true;

	if (rdmo_requests_open(&reader, msg, bytes, SESSION) != RDMO_REASON_NONE ||
	    reader.closed_by != RDMO_REASON_NONE)
		return;
	rdmo_writer_begin(&w, room, sizeof(room), RDMO_MSG_REQUESTS, SESSION,
			  rte_le_to_cpu_64(msg->seq));
	for (; rdmo_requests_next(&reader, &request); count++) {
		must(request.seq == rte_le_to_cpu_64(msg->seq) + count);
		must((unsigned int)request.status < RDMO_STATUSES);
		if (request.status != RDMO_STATUS_OK)
			all = false;
		else
			must(request_again(&w, &request));
	}
	must(count == rte_le_to_cpu_16(msg->count));
	if (!all)
		return;
	must(rdmo_writer_end(&w, rte_le_to_cpu_32(msg->credits)) == bytes);
	must(memcmp(room, msg, bytes) == 0);
}

/* Answers may have come one by one that join when they are written: each operation has the same one. */
static void
answers_match(const void *message, uint32_t bytes, const void *others, uint32_t other_bytes)
{
	struct rdmo_reader readers[2];
	struct rdmo_answer a, b;
	uint32_t i = 0;

	must(rdmo_answers_open(&readers[0], message, bytes, SESSION) == RDMO_REASON_NONE);
	must(rdmo_answers_open(&readers[1], others, other_bytes, SESSION) == RDMO_REASON_NONE);
	must(readers[0].credits == readers[1].credits);
	b.count = 0;
	while (rdmo_answers_next(&readers[0], &a)) {
		for (uint32_t n = 0; n < a.count; n++, i++) {
			if (i >= b.count) {
				must(rdmo_answers_next(&readers[1], &b));
				i = 0;
			}
			must(a.op_id == b.op_id && a.status == b.status);
			must(a.seq + n == b.seq + i);
			must(rdmo_answer_value(&a, n) == rdmo_answer_value(&b, i));
			must((a.flush == NULL) == (b.flush == NULL));
			must(a.flush == NULL || a.flush->flush_id == b.flush->flush_id);
			must(a.gathered_bytes == b.gathered_bytes);
			must(a.gathered_bytes == 0 ||
			     memcmp(a.gathered, b.gathered, a.gathered_bytes) == 0);
		}
	}
	must(i == b.count && !rdmo_answers_next(&readers[1], &b));
}

static void
answers_read(const struct rdmo_msg *msg, uint32_t bytes)
{
	struct rdmo_reader reader;
	struct rdmo_answer answer;
	struct rdmo_writer w;
	uint64_t operations = 0;

	if (rdmo_answers_open(&reader, msg, bytes, SESSION) != RDMO_REASON_NONE ||
	    reader.closed_by != RDMO_REASON_NONE)
		return;
	rdmo_writer_begin(&w, room, sizeof(room), RDMO_MSG_ANSWERS, SESSION, 0);
	while (rdmo_answers_next(&reader, &answer)) {
		/* A row of SCATTERs may count to 2^32. */
		operations += answer.count;
		if (operations > 10000)
			return;
		must((unsigned int)answer.status < RDMO_STATUSES);
		if (answer.gathered != NULL) {
			void *to = rdmo_writer_gathered(&w, answer.seq, answer.gathered_bytes);

			must(to != NULL);
			memcpy(to, answer.gathered, answer.gathered_bytes);
			continue;
		}
		for (uint32_t n = 0; n < answer.count; n++)
			must(answer.flush != NULL
				     ? rdmo_writer_flushed(&w, answer.status, answer.seq,
							   answer.value,
							   rte_le_to_cpu_64(answer.flush->flush_id))
				     : rdmo_writer_answer(&w, answer.op_id, answer.status,
							  answer.seq + n,
							  rdmo_answer_value(&answer, n)));
	}
	answers_match(msg, bytes, room, rdmo_writer_end(&w, rte_le_to_cpu_32(msg->credits)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const uint8_t flags = fuzz_u8(&input);
	const uint32_t bytes = (uint32_t)(input.left < ROOM / 2 ? input.left : ROOM / 2);
	struct rdmo_msg *msg = own(input.data, bytes);

	if ((flags & HEADER) != 0 && bytes >= sizeof(*msg))
		mend(msg, bytes, (flags & ANSWERS) != 0);
	if ((flags & ANSWERS) != 0)
		answers_read(msg, bytes);
	else
		requests_read(msg, bytes);
	free(msg);
	return 0;
}

void
fuzz_begin(void)
{
}

/* ---- Seeds: each operation, and each answer ---- */

static void
seed_write(struct rdmo_writer *w, uint8_t flags, const char *name)
{
	struct fuzz_seed seed = { .used = 0 };

	PUT(&seed, flags);
	fuzz_put(&seed, w->msg, rdmo_writer_end(w, 7));
	fuzz_seed_write(&seed, "%s", name);
}

static void
seed_requests(uint32_t flags, const char *name)
{
	static const struct rdmo_append_hdr append = { RTE_LE64(0x1000), RTE_LE64(1), RTE_LE64(2) };
	static const struct rdmo_flush_hdr flush = { RTE_LE64(3), 0 };
	static const struct rdmo_scatter_iov two[2] = {
		{ RTE_LE64(0x2000), RTE_LE64(4), RTE_LE32(3), 0 },
		{ RTE_LE64(0x3000), RTE_LE64(4), RTE_LE32(8), 0 },
	};
	static const struct rdmo_pull pulls[2] = {
		{ RTE_LE64(0x4000), RTE_LE32(5), RTE_LE32(3) },
		{ RTE_LE64(0x5000), RTE_LE32(5), RTE_LE32(8) },
	};
	static const struct rdmo_gather_iov read[2] = {
		{ RTE_LE64(0x6000), RTE_LE64(6), RTE_LE32(3), 0 },
		{ RTE_LE64(0x7000), RTE_LE64(6), RTE_LE32(8), 0 },
	};
	const bool pull = (flags & RDMO_FLAG_PULL) != 0;
	const void *data[2] = { pull ? (const void *)&pulls[0] : "abc",
				pull ? (const void *)&pulls[1] : "12345678" };
	struct rdmo_writer w;

	rdmo_writer_begin(&w, room, sizeof(room), RDMO_MSG_REQUESTS, SESSION, 5);
	must(rdmo_writer_append(&w, 1, flags, &append, pull ? (const void *)pulls : "hello",
				pull ? sizeof(pulls) : 5));
	must(rdmo_writer_flush(&w, 1, RDMO_FLAG_FENCE, &flush));
	must(rdmo_writer_scatter(&w, 1, flags, two, data, 2));
	must(rdmo_writer_gather(&w, 1, RDMO_FLAG_FENCE, read, 2));
	seed_write(&w, HEADER, name);
}

void
fuzz_seeds_write(void)
{
	struct fuzz_seed seed = { .used = 0 };
	struct rdmo_writer w;
	void *to;

	seed_requests(0, "requests");
	seed_requests(RDMO_FLAG_PULL | RDMO_FLAG_NOTIFY, "pulled");
	rdmo_writer_begin(&w, room, sizeof(room), RDMO_MSG_ANSWERS, SESSION, 0);
	for (uint64_t i = 0; i < 3; i++)
		must(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_OK, 5 + i, i));
	must(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_KEY, 8, 0));
	must(rdmo_writer_flushed(&w, RDMO_STATUS_KEY, 9, 8, 3));
	must(rdmo_writer_flushed(&w, RDMO_STATUS_OK, 10, RDMO_NONE, 4));
	for (uint64_t i = 0; i < 2; i++)
		must(rdmo_writer_answer(&w, RDMO_OP_SCATTER, RDMO_STATUS_OK, 11 + i, 0));
	must(rdmo_writer_answer(&w, 9, RDMO_STATUS_OP, 13, 0));
	to = rdmo_writer_gathered(&w, 14, 11);
	must(to != NULL);
	memcpy(to, "abc12345678", 11);
	seed_write(&w, HEADER | ANSWERS, "answers");
	rdmo_close_write(room, SESSION, RDMO_REASON_KEYS);
	PUT(&seed, HEADER);
	fuzz_put(&seed, room, RDMO_CLOSE_BYTES);
	fuzz_seed_write(&seed, "close");
}
