/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Logs of a target from producers to the reader: what is read is what was appended, by each producer once and in its order; who may
 * append; a log that is full, damaged, or served by one worker after another.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo_log_world.h"

#define BURST 32u

/* ---- Appends and the reader ---- */

static void
test_records_are_read_as_they_were_appended(void **state)
{
	struct rdmo_conn *conns[2] = { rdmo_producer_of(2), rdmo_producer_of(0) };
	const struct rdmo_op first = rdmo_record_of(1, "hello", 5),
			     empty = rdmo_record_of(2, "", 0);
	const struct rdmo_op second = rdmo_record_of(3, "world", 5);
	struct rdmo_log_record records[4];
	struct rdmo_log_info info;

	(void)state;
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 4), 0);
	rdmo_expect(conns[0], &first, RDMO_STATUS_OK, 0);
	rdmo_expect(conns[1], &empty, RDMO_STATUS_OK, 64);
	rdmo_expect(conns[0], &second, RDMO_STATUS_OK, 96);
	/* Answered: so it is visible. */
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 4), 3);
	assert_int_equal(rdmo_log_read(rdmo_the.log, records + 3, 1), 0);
	assert_memory_equal(records[0].payload, "hello", 5);
	assert_memory_equal(records[2].payload, "world", 5);
	assert_int_equal(records[1].length, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(records[i].producer, i == 1 ? 0 : 2);
		assert_int_equal(records[i].seq, i == 2 ? 2 : 1);
		assert_int_equal(records[i].next, i == 2 ? 160 : records[i + 1].position);
		/* Where they lie. */
		assert_true((const uint8_t *)records[i].payload > (uint8_t *)rdmo_the.memory);
		assert_true((const uint8_t *)records[i].payload <
			    (uint8_t *)rdmo_the.memory +
				    rdmo_log_bytes(RDMO_CAPACITY, RDMO_PRODUCERS));
	}
	assert_int_equal(rdmo_log_release(rdmo_the.log, records[1].next), 0);
	assert_int_equal(rdmo_log_release(rdmo_the.log, records[1].position), -EINVAL);
	assert_int_equal(rdmo_log_release(rdmo_the.log, records[2].next + 32), -EINVAL);
	assert_int_equal(rdmo_log_release(rdmo_the.log, records[2].next - 1), -EINVAL);
	assert_int_equal(rdmo_log_query(rdmo_the.log, &info), 0);
	assert_int_equal(info.head, 96);
	assert_int_equal(info.tail, 160);
	for (uint32_t i = 0; i < 2; i++)
		rdmo_disconnect(conns[i]);
}

static void
test_who_may_append(void **state)
{
	struct rdmo_conn *producer = rdmo_producer_of(0),
			 *stranger = rdmo_producer_of(RDMO_PRODUCERS), *conn;
	struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	struct rdmo_scatter_iov iov = {
		.addr = rte_cpu_to_le_64(rdmo_the.info.addr),
		.rkey = rte_cpu_to_le_64(rdmo_the.info.key),
		.len = RTE_LE32(8),
	};
	const void *const data[] = { "12345678" };
	struct rdmo_log_info info;

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	rdmo_expect(stranger, &op, RDMO_STATUS_BOUNDS, 0);
	op.append.ptr_addr += 64; /* of its tail */
	rdmo_expect(producer, &op, RDMO_STATUS_TAIL, 0);
	op.append.data_key = world.data_key;
	rdmo_expect(producer, &op, RDMO_STATUS_TAIL, 0);
	op.op_id = RDMO_OP_SCATTER;
	op.length = 1;
	op.scatter.iovs = &iov;
	op.scatter.data = data;
	rdmo_expect(producer, &op, RDMO_STATUS_RIGHTS, 0);
	assert_int_equal(rdmo_log_query(rdmo_the.log, &info), 0);
	assert_int_equal(info.tail, 0);
	op = rdmo_record_of(1, "hello", 5);
	rdmo_expect(producer, &op, RDMO_STATUS_OK, 0);
	rdmo_expect_record(0, 4, "hello");
	assert_int_equal(rdmo_producer_try(world.secret, RDMO_LOG_PRODUCERS_MAX, &conn), -EINVAL);
	rdmo_disconnect(stranger);
	rdmo_disconnect(producer);
}

static void
test_a_full_log_has_room_when_its_reader_releases(void **state)
{
	static uint8_t payload[2048 - 32];
	struct rdmo_conn *conn = rdmo_producer_of(1);
	const struct rdmo_op op = rdmo_record_of(1, payload, sizeof(payload));
	uint64_t position = 0;

	(void)state;
	for (uint32_t i = 0; i < RDMO_CAPACITY / 2048; i++, position += 2048)
		rdmo_expect(conn, &op, RDMO_STATUS_OK, position);
	for (uint32_t i = 0; i < 100; i++, position += 2048) {
		rdmo_expect(conn, &op, RDMO_STATUS_FULL, 0);
		assert_int_equal(rdmo_log_release(rdmo_the.log, rdmo_read_one().next), 0);
		rdmo_expect(conn, &op, RDMO_STATUS_OK, position);
	}
	rdmo_disconnect(conn);
}

static void
test_a_damaged_record(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	struct rdmo_log_record records[4];
	uint8_t *at;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		rdmo_expect(conn, &op, RDMO_STATUS_OK, i * 64);
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 1), 1);
	at = (uint8_t *)(uintptr_t)records[0].payload;
	at[64 + 4] ^= 1;
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 4), -EILSEQ);
	assert_int_equal(records[0].position, 64);
	assert_int_equal(records[0].next, 192);
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 4), -EILSEQ);
	assert_int_equal(rdmo_log_release(rdmo_the.log, records[0].next), 0);
	assert_int_equal(rdmo_log_read(rdmo_the.log, records, 4), 0);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 192);
	rdmo_expect_record(1, 4, "hello");
	rdmo_disconnect(conn);
}

/* ---- Many records ---- */

#define RECORDS 34000u /* of each producer */

static uint64_t *positions[RDMO_PRODUCERS]; /* as answers have them, by number */

static uint32_t
length_of(uint32_t producer, uint64_t seq)
{
	return (uint32_t)(8 + (seq * 29 + producer * 7) % 57);
}

static uint8_t
byte_of(uint32_t producer, uint64_t seq)
{
	return (uint8_t)(producer * 83 + seq * 7);
}

/* A burst, if what is not read yet leaves room: the log has a third of it for each. */
static void
post_some(struct rdmo_conn *conn, uint32_t producer, uint64_t seen)
{
	uint8_t payloads[BURST][64];
	struct rdmo_op ops[BURST];
	uint32_t n = 0;

	if (rdmo_conn_seq(conn) - seen > RDMO_CAPACITY / RDMO_PRODUCERS / 96 - BURST - 1)
		return;
	for (; n < BURST && rdmo_conn_seq(conn) + n <= RECORDS; n++) {
		const uint64_t seq = rdmo_conn_seq(conn) + n;

		memset(payloads[n], byte_of(producer, seq), sizeof(payloads[n]));
		ops[n] = rdmo_record_of(seq, payloads[n], length_of(producer, seq));
	}
	rdmo_post(conn, ops, n);
}

/* What was answered, in order. */
static uint64_t
poll_some(struct rdmo_conn *conn, uint32_t producer, uint64_t answered)
{
	struct rdmo_completion done[BURST];
	const uint32_t n = rdmo_poll(conn, done, BURST);

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(done[i].user_data, ++answered);
		assert_int_equal(done[i].status, RDMO_STATUS_OK);
		positions[producer][answered] = done[i].value;
	}
	return answered;
}

/* What is in the log: of each producer its next, whole, once. */
static uint32_t
read_some(uint64_t *seen, uint64_t *found_at)
{
	struct rdmo_log_record records[BURST];
	const int n = rdmo_log_read(rdmo_the.log, records, BURST);

	assert_in_range(n, 0, BURST);
	for (int i = 0; i < n; i++) {
		const struct rdmo_log_record *r = &records[i];
		const uint8_t *payload = r->payload;

		assert_true(r->producer < RDMO_PRODUCERS);
		assert_int_equal(r->seq, ++seen[r->producer]);
		assert_int_equal(r->length, length_of(r->producer, r->seq));
		for (uint32_t k = 0; k < r->length; k++)
			if (payload[k] != byte_of(r->producer, r->seq))
				fail_msg("record %lu of %u is torn at %u", (unsigned long)r->seq,
					 r->producer, k);
		found_at[(uint64_t)r->producer * (RECORDS + 1) + r->seq] = r->position;
	}
	if (n > 0)
		assert_int_equal(rdmo_log_release(rdmo_the.log, records[n - 1].next), 0);
	return (uint32_t)n;
}

static void
positions_open(uint64_t **found_at)
{
	*found_at = calloc(RDMO_PRODUCERS * (RECORDS + 1), sizeof(**found_at));
	assert_non_null(*found_at);
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++) {
		positions[p] = calloc(RECORDS + 1, sizeof(*positions[p]));
		assert_non_null(positions[p]);
	}
}

/* Each was told the position where the reader has found it. */
static void
positions_close(uint64_t *found_at)
{
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++) {
		assert_memory_equal(positions[p] + 1, found_at + p * (RECORDS + 1) + 1,
				    RECORDS * sizeof(*found_at));
		free(positions[p]);
	}
	free(found_at);
}

static void
test_three_producers(void **state)
{
	uint64_t answered[RDMO_PRODUCERS] = { 0 }, seen[RDMO_PRODUCERS] = { 0 }, *found_at,
		 read = 0;
	struct rdmo_conn *conns[RDMO_PRODUCERS];

	(void)state;
	positions_open(&found_at);
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++)
		conns[p] = rdmo_producer_of(p);
	while (read < RDMO_PRODUCERS * RECORDS || answered[0] + answered[1] + answered[2] < read) {
		for (uint32_t p = 0; p < RDMO_PRODUCERS; p++) {
			post_some(conns[p], p, seen[p]);
			answered[p] = poll_some(conns[p], p, answered[p]);
		}
		read += read_some(seen, found_at);
	}
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++)
		rdmo_disconnect(conns[p]);
	assert_int_equal(read_some(seen, found_at), 0);
	positions_close(found_at);
}

/* ---- Who a producer is ---- */

static void
wait_for_the_end(struct rdmo_conn *conn)
{
	const struct rdmo_op op = rdmo_record_of(1, "never", 5);
	struct rdmo_completion done;

	while (rdmo_post(conn, &op, 1) == 1 || rdmo_conn_error(conn) == -EAGAIN) {
		rdmo_poll(conn, &done, 1);
		usleep(100);
	}
	assert_int_equal(rdmo_conn_error(conn), -ENOTCONN);
}

static void
test_an_older_connection_of_a_producer_ends(void **state)
{
	struct rdmo_conn *older = rdmo_producer_of(0), *other = rdmo_producer_of(1), *newer, *none;
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t rq_id;

	(void)state;
	rdmo_expect(older, &op, RDMO_STATUS_OK, 0);
	newer = rdmo_producer_of(0);
	rdmo_wait_connections(3); /* with the one that is none */
	rdmo_expect(newer, &op, RDMO_STATUS_OK, 64);
	rdmo_expect(other, &op, RDMO_STATUS_OK, 128);
	wait_for_the_end(older);
	rdmo_disconnect(older);
	/* Not by another secret. */
	assert_int_equal(rdmo_rq_create(world.target, secret, &rq_id), 0);
	assert_int_equal(rdmo_producer_try(secret, 0, &none), -EBUSY);
	rdmo_expect(newer, &op, RDMO_STATUS_OK, 192);
	rdmo_disconnect(newer);
	rdmo_disconnect(other);
	rdmo_wait_connections(1);
	assert_int_equal(rdmo_producer_try(secret, 0, &newer), 0);
	rdmo_disconnect(newer);
}

static void
test_a_producer_that_comes_again_learns_its_next_number(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(0);
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);

	(void)state;
	assert_int_equal(rdmo_conn_seq(conn), 1);
	for (uint32_t i = 0; i < 5; i++)
		rdmo_expect(conn, &op, RDMO_STATUS_OK, i * 64);
	assert_int_equal(rdmo_conn_seq(conn), 6);
	rdmo_disconnect(conn);
	conn = rdmo_producer_of(1);
	assert_int_equal(rdmo_conn_seq(conn), 1);
	rdmo_disconnect(conn);
	conn = rdmo_producer_of(0);
	assert_int_equal(rdmo_conn_seq(conn), 6);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 320);
	rdmo_disconnect(conn);
	for (uint32_t i = 1; i <= 6; i++)
		rdmo_expect_record(0, i, "hello");
}

/* ---- The log's memory ---- */

static void
test_a_log_is_taken_up(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(0);
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	struct rdmo_log_attr attr = {
		.capacity = RDMO_CAPACITY,
		.producers = RDMO_PRODUCERS,
		.memory = rdmo_the.memory,
	};
	const struct rdmo_log_info was = rdmo_the.info;
	struct rdmo_log *other;

	(void)state;
	assert_int_equal(was.epoch, 1);
	assert_int_equal(rdmo_log_create(world.target, &attr, &other), -EBUSY);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 0);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 64);
	assert_int_equal(rdmo_log_release(rdmo_the.log, rdmo_read_one().next), 0);
	rdmo_log_destroy(rdmo_the.log);
	rdmo_expect(conn, &op, RDMO_STATUS_KEY, 0);
	attr.capacity *= 2;
	assert_int_equal(rdmo_log_create(world.target, &attr, &other), -EEXIST);
	rdmo_log_start(RDMO_CAPACITY);
	assert_int_equal(rdmo_the.info.key, was.key);
	assert_int_equal(rdmo_the.info.epoch, 2);
	assert_int_equal(rdmo_the.info.head, 64);
	assert_int_equal(rdmo_the.info.tail, 128);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 128);
	rdmo_expect_record(0, 2, "hello");
	rdmo_expect_record(0, 4, "hello");
	rdmo_disconnect(conn);
}

static void
test_a_log_in_memory_of_its_own(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(0);
	const struct rdmo_log_attr wrong[] = {
		{ .capacity = 4096 },
		{ .producers = 1 },
		{ .capacity = 4097, .producers = 1 },
		{ .capacity = 4096, .producers = 1, .memory = (uint8_t *)rdmo_the.memory + 32 },
	};
	struct rdmo_op op;

	(void)state;
	rdmo_log_destroy(rdmo_the.log);
	for (uint32_t i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(rdmo_log_create(world.target, &wrong[i], &rdmo_the.log), -EINVAL);
	free(rdmo_the.memory);
	rdmo_the.memory = NULL;
	rdmo_log_start(4096);
	op = rdmo_record_of(1, "hello", 5);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 0);
	rdmo_expect_record(0, 1, "hello");
	rdmo_disconnect(conn);
}

/* ---- Connecting again ---- */

static void
wait_for_tail(uint64_t position)
{
	struct rdmo_log_info info;

	do {
		usleep(100);
		assert_int_equal(rdmo_log_query(rdmo_the.log, &info), 0);
	} while (info.tail < position);
}

/* All was done, and its answers are lost: none is done again. */
static void
test_answers_that_were_lost(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	struct rdmo_completion done[BURST + 1];
	struct rdmo_op ops[BURST];

	(void)state;
	for (uint32_t i = 0; i < BURST; i++)
		ops[i] = rdmo_record_of(i, "hello", 5);
	rdmo_expect(conn, &ops[0], RDMO_STATUS_OK, 0);
	rdmo_post_all(conn, ops, BURST);
	wait_for_tail(64 * (BURST + 1));
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	assert_int_equal(rdmo_conn_seq(conn), BURST + 2);
	rdmo_wait(conn, done, BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		assert_int_equal(done[i].user_data, i);
		assert_int_equal(done[i].status, RDMO_STATUS_OK);
		assert_int_equal(done[i].value, 64 * (i + 1));
		assert_int_equal(done[i].length, 5);
	}
	rdmo_expect(conn, &ops[0], RDMO_STATUS_OK, 64 * (BURST + 1));
	for (uint32_t i = 0; i < BURST + 2; i++)
		rdmo_expect_record(1, i + 1, "hello");
	assert_int_equal(rdmo_poll(conn, done, 1), 0);
	rdmo_disconnect(conn);
}

/* Some answers of a message have been taken, others not. */
static void
test_a_message_that_is_answered_in_part(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];

	(void)state;
	for (uint32_t i = 0; i < BURST; i++)
		ops[i] = rdmo_record_of(i, "hello", 5);
	rdmo_post_all(conn, ops, BURST);
	rdmo_wait(conn, done, 10);
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	rdmo_wait(conn, done + 10, BURST - 10);
	for (uint32_t i = 0; i < BURST; i++) {
		assert_int_equal(done[i].user_data, i);
		assert_int_equal(done[i].value, 64 * i);
		rdmo_expect_record(1, i + 1, "hello");
	}
	wait_for_tail(64 * BURST);
	assert_int_equal(rdmo_poll(conn, done, 1), 0);
	rdmo_disconnect(conn);
}

/* What is no append to a log was done, and is not done again. */
static void
test_others_than_records_end_with_unknown(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	const struct rdmo_op ops[] = {
		rdmo_append_of(1, "queue", 5),
		rdmo_record_of(2, "hello", 5),
		rdmo_flush_of(3, 0),
		rdmo_record_of(4, "world", 5),
	};
	struct rdmo_completion done[RTE_DIM(ops)];

	(void)state;
	rdmo_post_all(conn, ops, RTE_DIM(ops));
	wait_for_tail(128);
	assert_int_equal(rdmo_tail_of(), 5);
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	rdmo_wait(conn, done, RTE_DIM(ops));
	for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
		assert_int_equal(done[i].user_data, i + 1);
		assert_int_equal(done[i].status, i % 2 == 0 ? RDMO_STATUS_UNKNOWN : RDMO_STATUS_OK);
		assert_int_equal(done[i].value, i == 3 ? 64 : 0);
	}
	assert_int_equal(rdmo_tail_of(), 5);
	rdmo_expect(conn, &ops[0], RDMO_STATUS_OK, (uintptr_t)world.queue + 5);
	rdmo_disconnect(conn);
}

static void
test_silent_records_are_done_once(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	struct rdmo_op ops[4] = { rdmo_record_of(1, "one", 3), rdmo_record_of(2, "two", 3),
				  rdmo_record_of(3, "three", 5), rdmo_record_of(4, "four", 4) };
	struct rdmo_completion done;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		ops[i].flags = RDMO_FLAG_SILENT;
	rdmo_post_all(conn, ops, 3);
	wait_for_tail(192);
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	rdmo_post_all(conn, ops + 3, 1);
	rdmo_wait(conn, &done, 1);
	assert_int_equal(done.user_data, 4);
	assert_int_equal(done.value, 192);
	rdmo_expect_record(1, 1, "one");
	rdmo_expect_record(1, 2, "two");
	rdmo_expect_record(1, 3, "three");
	rdmo_expect_record(1, 4, "four");
	rdmo_disconnect(conn);
}

/* Its failure was the former connection's to tell. */
static void
test_a_flush_does_not_tell_of_a_former_connection(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	struct rdmo_op ops[2] = { rdmo_record_of(1, "one", 3), rdmo_record_of(2, "two", 3) };
	const struct rdmo_op flush = rdmo_flush_of(3, 0);

	(void)state;
	ops[0].flags = RDMO_FLAG_SILENT;
	ops[0].append.data_key = ops[0].append.ptr_key = world.area_key;
	rdmo_post_all(conn, ops, 1);
	rdmo_expect(conn, &ops[1], RDMO_STATUS_OK, 0);
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	rdmo_expect(conn, &flush, RDMO_STATUS_UNKNOWN, 1);
	rdmo_expect(conn, &flush, RDMO_STATUS_OK, RDMO_NONE);
	rdmo_disconnect(conn);
}

/* Nobody repeats anything for who is no producer. */
static void
test_a_connection_without_records_goes_on(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_completion done;

	(void)state;
	rdmo_post_all(world.conn, &op, 1);
	assert_int_equal(rdmo_reconnect(world.conn, NULL), 0);
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.user_data, 1);
	assert_int_equal(done.status, RDMO_STATUS_UNKNOWN);
	assert_int_equal(rdmo_conn_seq(world.conn), 2);
	assert_in_range(rdmo_tail_of(), 0, 3);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(rdmo_do(world.conn, &op).status, RDMO_STATUS_OK);
}

/* Until the initiator sees that it has ended. */
static void
wait_until_over(struct rdmo_conn *conn)
{
	struct rdmo_completion done;

	while (rdmo_conn_error(conn) != -ENOTCONN) {
		assert_int_equal(rdmo_poll(conn, &done, 1), 0);
		usleep(1000);
	}
}

static void
test_who_is_not_let_in_may_try_again(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	struct rdmo_completion done;

	(void)state;
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	rdmo_post(conn, &op, 1);
	wait_until_over(conn);
	assert_int_equal(rdmo_conn_seq(conn), 2);
	assert_int_equal(rdmo_reconnect(conn, NULL), -EACCES);
	assert_int_equal(rdmo_reconnect(conn, "127.0.0.1:1"), -ECONNREFUSED);
	assert_int_equal(rdmo_conn_error(conn), -ENOTCONN);
	assert_int_equal(rdmo_poll(conn, &done, 1), 0);
	assert_int_equal(rdmo_post(conn, &op, 1), 0);
	assert_int_equal(rdmo_rq_restore(world.target, world.secret, &world.rq_id), 0);
	assert_int_equal(rdmo_reconnect(conn, rdmo_worker_address(world.worker)), 0);
	rdmo_wait(conn, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_OK);
	rdmo_expect_record(1, 1, "hello");
	rdmo_disconnect(conn);
}

/* The worker goes, with operations under way, and another one comes, elsewhere. */
static void
worker_again(void)
{
	static const struct rdmo_worker_attr plain = { .receives = 64, .max_regions = 16 };

	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	rdmo_log_destroy(rdmo_the.log);
	rdmo_target_close(world.target);
	rdmo_worker_end();
	rdmo_worker_start(&plain);
	rdmo_target_make();
	rdmo_log_start(RDMO_CAPACITY);
	assert_int_equal(rdmo_rq_restore(world.target, world.secret, &world.rq_id), 0);
}

/* Connections are made again at any moment, and workers go: each record is there once, whole and in order. */
static void
many_ends(uint32_t workers)
{
	uint64_t answered[RDMO_PRODUCERS] = { 0 }, seen[RDMO_PRODUCERS] = { 0 }, *found_at,
		 random = 42;
	struct rdmo_conn *conns[RDMO_PRODUCERS];
	uint32_t read = 0, again = 0;

	positions_open(&found_at);
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++)
		conns[p] = rdmo_producer_of(p);
	for (uint32_t i = 0; answered[0] + answered[1] + answered[2] < RDMO_PRODUCERS * RECORDS;
	     i++) {
		const uint32_t p = i % RDMO_PRODUCERS;

		post_some(conns[p], p, seen[p]);
		if (workers > 0 && i % 500 == 499 && again < workers) {
			worker_again();
			for (uint32_t k = 0; k < RDMO_PRODUCERS; k++)
				assert_int_equal(
					rdmo_reconnect(conns[k], rdmo_worker_address(world.worker)),
					0);
			again++;
		} else if (workers == 0 && e2e_random(&random) % 64 == 0) {
			assert_int_equal(rdmo_reconnect(conns[p], NULL), 0);
			again++;
		}
		answered[p] = poll_some(conns[p], p, answered[p]);
		read += read_some(seen, found_at);
	}
	while (read < RDMO_PRODUCERS * RECORDS)
		read += read_some(seen, found_at);
	assert_int_equal(read_some(seen, found_at), 0);
	assert_true(again > workers / 2);
	if (workers > 0)
		assert_int_equal(rdmo_the.info.epoch, again + 1);
	for (uint32_t p = 0; p < RDMO_PRODUCERS; p++)
		rdmo_disconnect(conns[p]);
	positions_close(found_at);
}

static void
test_connections_are_made_again(void **state)
{
	(void)state;
	rdmo_disconnect(world.conn);
	world.conn = NULL;
	many_ends(0);
}

static void
test_workers_come_and_go(void **state)
{
	(void)state;
	rdmo_disconnect(world.conn);
	world.conn = NULL;
	many_ends(5);
}

/* ---- Records that no message has room for ---- */

static int
large_set_up(void **state)
{
	rdmo_log_world_open(state);
	rdmo_own_start();
	return 0;
}

static int
large_tear_down(void **state)
{
	rdmo_log_world_close(state);
	rdmo_own_end();
	return 0;
}

static struct rdmo_op
large_of(uint64_t user_data, uint32_t from, uint32_t length)
{
	return rdmo_owned(rdmo_record_of(user_data, rdmo_own.bytes + from, length));
}

static void
expect_large(uint64_t seq, uint32_t from, uint32_t length)
{
	const struct rdmo_log_record record = rdmo_read_one();

	assert_int_equal(record.seq, seq);
	assert_int_equal(record.length, length);
	assert_memory_equal(record.payload, rdmo_own.bytes + from, length);
	assert_int_equal(rdmo_log_release(rdmo_the.log, record.next), 0);
}

/* Round and round: with PADs, with small ones between, with refusals. */
static void
test_large_records_are_fetched(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	uint64_t seq = 0;

	(void)state;
	for (uint32_t i = 0; i < 20; i++, seq += 5) {
		const struct rdmo_op large = large_of(1, 77 * i, 20000), small = large_of(2, i, 9),
				     full = large_of(3, 0, 30000), never = large_of(4, 0, 40000);

		assert_int_equal(rdmo_do(conn, &large).status, RDMO_STATUS_OK);
		assert_int_equal(rdmo_do(conn, &small).status, RDMO_STATUS_OK);
		assert_int_equal(rdmo_do(conn, &large).status, RDMO_STATUS_OK);
		assert_int_equal(rdmo_do(conn, &full).status, RDMO_STATUS_FULL);
		assert_int_equal(rdmo_do(conn, &never).status, RDMO_STATUS_LENGTH);
		expect_large(seq + 1, 77 * i, 20000);
		expect_large(seq + 2, i, 9);
		expect_large(seq + 3, 77 * i, 20000);
	}
	rdmo_disconnect(conn);
}

/* Fetched or not when the connection ends: each record is there once. */
static void
test_large_records_are_done_once(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	uint64_t posted = 0, seen = 0, read = 0, cuts = 0;

	(void)state;
	while (read < 60 || seen < 60) {
		const struct rdmo_op op = large_of(posted, 100 * (uint32_t)posted, 10000);
		struct rdmo_log_record record;
		struct rdmo_completion done;

		/* It has room for them. */
		if (posted < 60 && posted - read < 4)
			posted += rdmo_post(conn, &op, 1);
		if (posted > seen && seen >= 5 * cuts) {
			usleep(10 * (cuts++ % 8));
			assert_int_equal(rdmo_reconnect(conn, NULL), 0);
		}
		if (rdmo_poll(conn, &done, 1) == 1) {
			assert_int_equal(done.user_data, seen++);
			assert_int_equal(done.status, RDMO_STATUS_OK);
		}
		if (rdmo_log_read(rdmo_the.log, &record, 1) == 1) {
			assert_memory_equal(record.payload, rdmo_own.bytes + 100 * read, 10000);
			assert_int_equal(record.seq, ++read);
			assert_int_equal(rdmo_log_release(rdmo_the.log, record.next), 0);
		}
	}
	assert_true(cuts > 5);
	rdmo_disconnect(conn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_log_world_open, rdmo_log_world_close)

#define LARGE_TEST(name) cmocka_unit_test_setup_teardown(name, large_set_up, large_tear_down)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_records_are_read_as_they_were_appended),
		TEST(test_who_may_append),
		TEST(test_a_full_log_has_room_when_its_reader_releases),
		TEST(test_a_damaged_record),
		TEST(test_three_producers),
		TEST(test_an_older_connection_of_a_producer_ends),
		TEST(test_a_producer_that_comes_again_learns_its_next_number),
		TEST(test_a_log_is_taken_up),
		TEST(test_a_log_in_memory_of_its_own),
		TEST(test_answers_that_were_lost),
		TEST(test_a_message_that_is_answered_in_part),
		TEST(test_others_than_records_end_with_unknown),
		TEST(test_silent_records_are_done_once),
		TEST(test_a_flush_does_not_tell_of_a_former_connection),
		TEST(test_a_connection_without_records_goes_on),
		TEST(test_who_is_not_let_in_may_try_again),
		TEST(test_connections_are_made_again),
		TEST(test_workers_come_and_go),
		LARGE_TEST(test_large_records_are_fetched),
		LARGE_TEST(test_large_records_are_done_once),
	};
	int rc;

	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo_log", argc - (world.is_far || world.is_remote), argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-log", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
