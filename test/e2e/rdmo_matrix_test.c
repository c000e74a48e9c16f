/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What each operation is refused for: a list, each field of which is tried, and which --list prints for doc/features/rdmo.md. What is
 * refused writes nothing, moves no tail, and leaves the connection as it was.
 */

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "rdmo_log_world.h"

#define BYTES  8u    /* of each payload, piece and number */
#define RECORD 2000u /* bytes of one when the log is to be full soon */
#define SIGNAL 64u   /* where in the area a number is */

enum kind {
	KIND_APPEND,
	KIND_RECORD,
	KIND_SCATTER,
	KIND_GATHER,
	KIND_STORE,
	KIND_ADD,
	KIND_FETCH_ADD,
	KIND_CMP_SWAP,
	KIND_FLUSH,
	KINDS
};

static const char *const kind_names[KINDS] = {
	[KIND_APPEND] = "APPEND",	    [KIND_RECORD] = "APPEND to a log",
	[KIND_SCATTER] = "SCATTER",	    [KIND_GATHER] = "GATHER",
	[KIND_STORE] = "PUT_SIGNAL, store", [KIND_ADD] = "PUT_SIGNAL, add",
	[KIND_FETCH_ADD] = "FETCH_ADD",	    [KIND_CMP_SWAP] = "CMP_SWAP",
	[KIND_FLUSH] = "FLUSH of a key",
};

/* Memory beside the world's: a queue that is full, one whose tail is moved; the area with all rights, with another queue's; what was taken back. */
static struct {
	rte_le64_t full_tail, moved_tail;
	uint8_t full[BYTES];
	_Alignas(8) uint8_t moved[64];
	uint64_t full_tail_key, full_key, moved_tail_key, moved_key;
	uint64_t all_key, other_key, gone_key;
	struct rdmo_conn *producer;
} there;

static const uint8_t payload[RECORD] = "payload";

/* ---- Operations ---- */

/* One with all that it points to. */
struct attempt {
	enum kind kind;
	struct rdmo_op op;
	struct rdmo_scatter_iov piece;
	struct rdmo_gather_iov place;
	struct rdmo_signal signal;
	const void *data;
	uint8_t read[BYTES];
};

/* A good one. */
static void
attempt_make(struct attempt *attempt, enum kind kind)
{
	const uint64_t at = (uintptr_t)world.area;
	struct rdmo_op *op = &attempt->op;

	*attempt = (struct attempt){ .kind = kind, .data = payload };
	*op = (struct rdmo_op){ .id = RDMO_ID };
	switch (kind) {
	case KIND_APPEND: *op = rdmo_append_of(0, payload, BYTES); break;
	case KIND_RECORD: *op = rdmo_record_of(0, payload, BYTES); break;
	case KIND_SCATTER:
		attempt->piece = rdmo_piece_of(world.area, there.all_key, BYTES);
		*op = rdmo_scatter_of(0, &attempt->piece, &attempt->data, 1);
		break;
	case KIND_GATHER:
		attempt->place = (struct rdmo_gather_iov){
			.addr = rte_cpu_to_le_64(at),
			.rkey = rte_cpu_to_le_64(there.all_key),
			.len = rte_cpu_to_le_32(BYTES),
		};
		op->op_id = RDMO_OP_GATHER;
		op->length = 1;
		op->gather.iovs = &attempt->place;
		op->gather.data = attempt->read;
		break;
	case KIND_STORE:
	case KIND_ADD:
		attempt->signal = (struct rdmo_signal){
			.addr = at + SIGNAL,
			.key = there.all_key,
			.value = 1,
			.kind = kind == KIND_ADD ? RDMO_SIGNAL_ADD : RDMO_SIGNAL_STORE,
		};
		op->op_id = RDMO_OP_PUT_SIGNAL;
		op->length = BYTES;
		op->put.addr = at;
		op->put.key = there.all_key;
		op->put.payload = payload;
		op->put.signal = &attempt->signal;
		break;
	case KIND_FETCH_ADD:
	case KIND_CMP_SWAP:
		op->op_id = kind == KIND_CMP_SWAP ? RDMO_OP_CMP_SWAP : RDMO_OP_FETCH_ADD;
		op->atomic.addr = at + SIGNAL;
		op->atomic.key = there.all_key;
		break;
	default: *op = rdmo_flush_of(0, there.all_key);
	}
}

static void
key_set(struct attempt *attempt, uint64_t key)
{
	struct rdmo_op *op = &attempt->op;

	switch (attempt->kind) {
	case KIND_RECORD: op->append.data_key = key; /* fallthrough */
	case KIND_APPEND: op->append.ptr_key = key; break;
	case KIND_SCATTER: attempt->piece.rkey = rte_cpu_to_le_64(key); break;
	case KIND_GATHER: attempt->place.rkey = rte_cpu_to_le_64(key); break;
	case KIND_STORE:
	case KIND_ADD: op->put.key = key; break;
	case KIND_FETCH_ADD:
	case KIND_CMP_SWAP: op->atomic.key = key; break;
	default: op->flush.key = key;
	}
}

/* Of the bytes of a queue, of a signal. */
static void
second_key_set(struct attempt *attempt, uint64_t key)
{
	if (attempt->kind == KIND_APPEND)
		attempt->op.append.data_key = key;
	else
		attempt->signal.key = key;
}

/* Where it is to be in memory of so many bytes, that begins there: of APPEND the tail. */
static void
address_set(struct attempt *attempt, uint64_t addr)
{
	struct rdmo_op *op = &attempt->op;

	switch (attempt->kind) {
	case KIND_APPEND:
	case KIND_RECORD: op->append.ptr_addr = addr; break;
	case KIND_SCATTER: attempt->piece.addr = rte_cpu_to_le_64(addr); break;
	case KIND_GATHER: attempt->place.addr = rte_cpu_to_le_64(addr); break;
	case KIND_STORE:
	case KIND_ADD: op->put.addr = addr; break;
	default: op->atomic.addr = addr;
	}
}

static bool
has_number(enum kind kind)
{
	return kind == KIND_APPEND || kind == KIND_FETCH_ADD || kind == KIND_CMP_SWAP;
}

/* Where its memory begins, and the bytes there. */
static uint64_t
memory_of(enum kind kind, uint64_t *bytes)
{
	*bytes = kind == KIND_APPEND ? sizeof(world.tail) : RDMO_AREA;
	return kind == KIND_APPEND ? (uintptr_t)&world.tail : (uintptr_t)world.area;
}

/* ---- What is wrong ---- */

static void
another_id(struct attempt *attempt)
{
	attempt->op.id++;
}

static void
no_key(struct attempt *attempt)
{
	key_set(attempt, 12345);
}

static void
no_second_key(struct attempt *attempt)
{
	second_key_set(attempt, 12345);
}

static void
key_of_another_queue(struct attempt *attempt)
{
	key_set(attempt, there.other_key);
}

static void
key_taken_back(struct attempt *attempt)
{
	key_set(attempt, there.gone_key);
}

static void
no_right(struct attempt *attempt)
{
	key_set(attempt, attempt->kind == KIND_GATHER ? world.area_key : world.read_key);
}

static void
no_second_right(struct attempt *attempt)
{
	second_key_set(attempt, world.read_key);
}

static void
behind_the_end(struct attempt *attempt)
{
	uint64_t bytes;
	const uint64_t at = memory_of(attempt->kind, &bytes);

	address_set(attempt, at + bytes - (has_number(attempt->kind) ? 0 : BYTES - 1));
}

static void
before_the_beginning(struct attempt *attempt)
{
	uint64_t bytes;
	const uint64_t at = memory_of(attempt->kind, &bytes);

	address_set(attempt, at - (has_number(attempt->kind) ? sizeof(uint64_t) : 1));
}

/* The first byte behind it would be at 0. */
static void
sum_that_wraps(struct attempt *attempt)
{
	address_set(attempt, UINT64_MAX - BYTES + 1);
}

static void
unaligned(struct attempt *attempt)
{
	switch (attempt->kind) {
	case KIND_APPEND: attempt->op.append.ptr_addr += 4; break;
	case KIND_STORE:
	case KIND_ADD: attempt->signal.addr += 4; break;
	default: attempt->op.atomic.addr += 4;
	}
}

static void
full(struct attempt *attempt)
{
	struct rdmo_op *op = &attempt->op;

	op->append.payload = payload;
	if (attempt->kind == KIND_RECORD) {
		op->length = RECORD;
		while (rdmo_do(there.producer, op).status == RDMO_STATUS_OK)
			;
		return;
	}
	op->append.ptr_addr = (uintptr_t)&there.full_tail;
	op->append.ptr_key = there.full_tail_key;
	op->append.data_key = there.full_key;
	rdmo_expect(world.conn, op, RDMO_STATUS_OK, (uintptr_t)there.full);
}

static void
moved_tail(struct attempt *attempt)
{
	struct rdmo_op *op = &attempt->op;

	op->append.ptr_addr = (uintptr_t)&there.moved_tail;
	op->append.ptr_key = there.moved_tail_key;
	op->append.data_key = there.moved_key;
	rdmo_expect(world.conn, op, RDMO_STATUS_OK, (uintptr_t)there.moved);
	__atomic_store_n(&there.moved_tail, rte_cpu_to_le_64((uintptr_t)there.moved + 24),
			 __ATOMIC_RELEASE);
}

static void
another_tail(struct attempt *attempt)
{
	struct rdmo_op *op = &attempt->op;

	if (attempt->kind == KIND_RECORD) {
		op->append.ptr_addr += sizeof(uint64_t);
		return;
	}
	op->append.ptr_addr = (uintptr_t)&there.moved_tail;
	op->append.ptr_key = there.moved_tail_key;
}

/* As an append may have written it: an address in the queue, of which nobody has a tail yet. */
static void
tail_in_its_queue(struct attempt *attempt)
{
	const rte_le64_t word = rte_cpu_to_le_64((uintptr_t)there.moved);

	memcpy(there.moved + 8, &word, sizeof(word));
	attempt->op.append.ptr_addr = (uintptr_t)there.moved + 8;
	attempt->op.append.ptr_key = there.moved_key;
	attempt->op.append.data_key = there.moved_key;
}

/* It is who sends it. */
static void
no_producer(struct attempt *attempt)
{
	(void)attempt;
}

static void
target_gone(struct attempt *attempt)
{
	(void)attempt;
	rdmo_log_destroy(rdmo_the.log);
	rdmo_target_close(world.target);
	rdmo_the.log = NULL;
	world.target = NULL;
}

#define APPENDS_TO(status) [KIND_APPEND] = (status), [KIND_RECORD] = (status)
#define MOVES(status)                                                                 \
	[KIND_SCATTER] = (status), [KIND_GATHER] = (status), [KIND_STORE] = (status), \
	[KIND_ADD] = (status), [KIND_FETCH_ADD] = (status), [KIND_CMP_SWAP] = (status)
#define ALL(status)	APPENDS_TO(status), MOVES(status), [KIND_FLUSH] = (status)
#define SECOND(status)	[KIND_APPEND] = (status), [KIND_STORE] = (status), [KIND_ADD] = (status)
#define NUMBERS(status) SECOND(status), [KIND_FETCH_ADD] = (status), [KIND_CMP_SWAP] = (status)

/* RDMO_STATUS_OK: that cannot be wrong with it. */
struct refusal {
	const char *what;
	void (*spoil)(struct attempt *attempt);
	enum rdmo_status statuses[KINDS];
};

static const struct refusal refusals[] = {
	{ "another target's number", another_id, { ALL(RDMO_STATUS_CLIENT) } },
	{ "a key that there is not", no_key, { ALL(RDMO_STATUS_KEY) } },
	{ "a second key that there is not", no_second_key, { SECOND(RDMO_STATUS_KEY) } },
	{ "the key of another receive queue", key_of_another_queue, { ALL(RDMO_STATUS_KEY) } },
	{ "the key of memory that was taken back", key_taken_back, { ALL(RDMO_STATUS_KEY) } },
	{ "memory without the right",
	  no_right,
	  { APPENDS_TO(RDMO_STATUS_RIGHTS), MOVES(RDMO_STATUS_RIGHTS) } },
	{ "second memory without the right", no_second_right, { SECOND(RDMO_STATUS_RIGHTS) } },
	{ "one byte behind the end, a number behind it",
	  behind_the_end,
	  { [KIND_APPEND] = RDMO_STATUS_BOUNDS, MOVES(RDMO_STATUS_BOUNDS) } },
	{ "one byte before the beginning, a number before it",
	  before_the_beginning,
	  { [KIND_APPEND] = RDMO_STATUS_BOUNDS, MOVES(RDMO_STATUS_BOUNDS) } },
	{ "an end beyond 2^64",
	  sum_that_wraps,
	  { [KIND_APPEND] = RDMO_STATUS_BOUNDS, MOVES(RDMO_STATUS_BOUNDS) } },
	{ "a number that is not at a multiple of 8", unaligned, { NUMBERS(RDMO_STATUS_BOUNDS) } },
	{ "no room", full, { APPENDS_TO(RDMO_STATUS_FULL) } },
	{ "a tail that somebody else has moved", moved_tail, { [KIND_APPEND] = RDMO_STATUS_TAIL } },
	{ "another one's tail", another_tail, { APPENDS_TO(RDMO_STATUS_TAIL) } },
	{ "a tail among its queue's own bytes",
	  tail_in_its_queue,
	  { [KIND_APPEND] = RDMO_STATUS_TAIL } },
	{ "a connection that is no producer", no_producer, { [KIND_RECORD] = RDMO_STATUS_BOUNDS } },
	{ "a target that has gone", target_gone, { ALL(RDMO_STATUS_TARGET_LOST) } },
};

/* ---- Attempts ---- */

static struct rdmo_conn *
conn_of(const struct attempt *attempt)
{
	return attempt->kind == KIND_RECORD ? there.producer : world.conn;
}

/* All records are read, and their room is free. */
static void
records_release(void)
{
	struct rdmo_log_record record;

	while (rdmo_log_read(rdmo_the.log, &record, 1) == 1)
		assert_int_equal(rdmo_log_release(rdmo_the.log, record.next), 0);
}

/* A good one is done. */
static void
expect_good(enum kind kind)
{
	struct attempt attempt;

	attempt_make(&attempt, kind);
	/* The first FLUSH tells of what has failed before. */
	if (kind == KIND_FLUSH)
		(void)rdmo_do(world.conn, &attempt.op);
	assert_int_equal(rdmo_do(conn_of(&attempt), &attempt.op).status, RDMO_STATUS_OK);
	records_release();
}

static void
expect_refused(const struct refusal *row, enum kind kind)
{
	static uint8_t queue[RDMO_QUEUE], area[RDMO_AREA];
	struct rdmo_log_info before, after;
	struct attempt attempt;
	uint64_t tail;

	expect_good(kind);
	attempt_make(&attempt, kind);
	row->spoil(&attempt);
	memcpy(queue, world.queue, sizeof(queue));
	memcpy(area, world.area, sizeof(area));
	tail = rdmo_tail_of();
	assert_int_equal(rdmo_log_query(rdmo_the.log, &before), 0);
	rdmo_expect(row->spoil == no_producer ? world.conn : conn_of(&attempt), &attempt.op,
		    row->statuses[kind], 0);
	assert_memory_equal(world.queue, queue, sizeof(queue));
	assert_memory_equal(world.area, area, sizeof(area));
	assert_int_equal(rdmo_tail_of(), tail);
	assert_int_equal(rdmo_log_query(rdmo_the.log, &after), 0);
	assert_int_equal(after.tail, before.tail);
	records_release();
	expect_good(kind);
}

static void
test_refusal(void **state)
{
	const struct refusal *row = *state;

	for (enum kind kind = 0; kind < KINDS; kind++)
		if (row->statuses[kind] != RDMO_STATUS_OK)
			expect_refused(row, kind);
}

/* Nothing is good behind that. */
static void
test_target_gone(void **state)
{
	const struct refusal *row = *state;
	struct attempt attempt;

	for (enum kind kind = 0; kind < KINDS; kind++)
		expect_good(kind);
	row->spoil(&attempt);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		attempt_make(&attempt, kind);
		rdmo_expect(conn_of(&attempt), &attempt.op, row->statuses[kind], 0);
	}
}

static uint64_t
offer(void *at, uint64_t length, uint32_t rights, uint64_t rq_id)
{
	const struct rdmo_mr_attr attr = {
		.addr = at,
		.length = length,
		.rights = rights,
		.rq_id = rq_id,
	};
	uint64_t key;

	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	return key;
}

static int
set_up(void **state)
{
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t rq_id;

	rdmo_log_world_open(state);
	there.full_tail = rte_cpu_to_le_64((uintptr_t)there.full);
	there.moved_tail = rte_cpu_to_le_64((uintptr_t)there.moved);
	there.full_tail_key =
		offer(&there.full_tail, sizeof(there.full_tail), RDMO_RIGHT_APPEND, 0);
	there.full_key = offer(there.full, sizeof(there.full), RDMO_RIGHT_APPEND, 0);
	there.moved_tail_key =
		offer(&there.moved_tail, sizeof(there.moved_tail), RDMO_RIGHT_APPEND, 0);
	there.moved_key = offer(there.moved, sizeof(there.moved), RDMO_RIGHT_APPEND, 0);
	there.all_key = offer(world.area, sizeof(world.area),
			      RDMO_RIGHT_READ | RDMO_RIGHT_WRITE | RDMO_RIGHT_ATOMIC, 0);
	assert_int_equal(rdmo_rq_create(world.target, secret, &rq_id), 0);
	there.other_key = offer(world.area, sizeof(world.area), RDMO_RIGHTS_ALL, rq_id);
	there.gone_key = offer(world.area, sizeof(world.area), RDMO_RIGHT_READ, 0);
	assert_int_equal(rdmo_mr_dereg(world.target, there.gone_key), 0);
	there.producer = rdmo_producer_of(1);
	return 0;
}

static int
tear_down(void **state)
{
	rdmo_disconnect(there.producer);
	return rdmo_log_world_close(state);
}

/* ---- The list ---- */

static const char *
status_name(enum rdmo_status status)
{
	switch (status) {
	case RDMO_STATUS_CLIENT: return "CLIENT";
	case RDMO_STATUS_KEY: return "KEY";
	case RDMO_STATUS_RIGHTS: return "RIGHTS";
	case RDMO_STATUS_BOUNDS: return "BOUNDS";
	case RDMO_STATUS_FULL: return "FULL";
	case RDMO_STATUS_TAIL: return "TAIL";
	case RDMO_STATUS_TARGET_LOST: return "TARGET_LOST";
	default: return "";
	}
}

static void
print_list(void)
{
	printf("| what is wrong |");
	for (enum kind kind = 0; kind < KINDS; kind++)
		printf(" %s |", kind_names[kind]);
	printf("\n|---|");
	for (enum kind kind = 0; kind < KINDS; kind++)
		printf("---|");
	for (uint32_t i = 0; i < RTE_DIM(refusals); i++) {
		printf("\n| %s |", refusals[i].what);
		for (enum kind kind = 0; kind < KINDS; kind++)
			printf(" %s |", status_name(refusals[i].statuses[kind]));
	}
	printf("\n");
}

/* --list; else as e2e_rdmo's. */
int
main(int argc, char **argv)
{
	struct CMUnitTest tests[RTE_DIM(refusals)];
	int rc;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		print_list();
		return 0;
	}
	for (uint32_t i = 0; i < RTE_DIM(refusals); i++)
		tests[i] = (struct CMUnitTest){
			.name = refusals[i].what,
			.test_func =
				refusals[i].spoil == target_gone ? test_target_gone : test_refusal,
			.setup_func = set_up,
			.teardown_func = tear_down,
			.initial_state = (void *)(uintptr_t)&refusals[i],
		};
	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo_matrix", argc - (world.is_far || world.is_remote), argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-matrix", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
