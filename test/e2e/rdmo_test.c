/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Remote direct memory operations from an initiator to a target's memory: each operation, each refusal and what it leaves as it was,
 * each way in which a connection, a target or a worker ends.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo_world.h"

#define BURST 32u

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)world.queue + offset;
}

/* ---- Append ---- */

static void
test_an_append_tells_where_its_payload_lies(void **state)
{
	const struct rdmo_op first = rdmo_append_of(1, "hello", 5);
	const struct rdmo_op empty = rdmo_append_of(2, "", 0);
	const struct rdmo_op second = rdmo_append_of(3, "world", 5);

	(void)state;
	rdmo_expect(world.conn, &first, RDMO_STATUS_OK, queue_at(0));
	/* It is answered: so it is visible. */
	assert_int_equal(rdmo_tail_of(), 5);
	assert_memory_equal(world.queue, "hello\xa5", 6);
	rdmo_expect(world.conn, &empty, RDMO_STATUS_OK, queue_at(5));
	rdmo_expect(world.conn, &second, RDMO_STATUS_OK, queue_at(5));
	assert_int_equal(rdmo_tail_of(), 10);
	assert_memory_equal(world.queue, "helloworld\xa5", 11);
}

static void
test_a_burst_is_one_message_and_one_answer(void **state)
{
	struct rdmo_worker_stats before, after;
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];
	uint64_t payloads[BURST];

	(void)state;
	for (uint32_t i = 0; i < BURST; i++) {
		payloads[i] = i;
		ops[i] = rdmo_append_of(1000 + i, &payloads[i], 8);
	}
	assert_int_equal(rdmo_worker_stats(world.worker, &before), 0);
	assert_int_equal(rdmo_post(world.conn, ops, BURST), BURST);
	rdmo_wait(world.conn, done, BURST);
	assert_int_equal(rdmo_worker_stats(world.worker, &after), 0);
	assert_int_equal(after.messages - before.messages, 1);
	assert_int_equal(after.answers - before.answers, 1);
	assert_int_equal(after.operations - before.operations, BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		assert_int_equal(done[i].user_data, 1000 + i);
		assert_int_equal(done[i].status, RDMO_STATUS_OK);
		assert_int_equal(done[i].value, queue_at(8 * i));
		assert_int_equal(done[i].length, 8);
	}
	assert_memory_equal(world.queue, payloads, sizeof(payloads));
}

/* Runs of some that are alike but for their payloads, then of others; one in eight is refused. */
static void
test_bursts_of_runs_are_what_they_are_one_by_one(void **state)
{
	static uint8_t payloads[BURST][96];
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];
	uint64_t random = 7, at = 0;

	(void)state;
	for (uint32_t burst = 0; burst < 40; burst++) {
		for (uint32_t i = 0, run = 0, kind = 0; i < BURST; i++, run--) {
			if (run == 0) {
				run = 1 + (uint32_t)(e2e_random(&random) % 6);
				kind = (uint32_t)(e2e_random(&random) % 96);
			}
			memset(payloads[i], (int)(burst + 3 * i), sizeof(payloads[i]));
			ops[i] = rdmo_append_of(burst * BURST + i, payloads[i],
						kind < 32 ? 64 : kind);
			if (kind % 8 == 0)
				ops[i].append.data_key = world.area_key;
		}
		rdmo_post_all(world.conn, ops, BURST);
		rdmo_wait(world.conn, done, BURST);
		for (uint32_t i = 0; i < BURST; i++) {
			const bool ok = ops[i].append.data_key == world.data_key;

			assert_int_equal(done[i].user_data, ops[i].user_data);
			assert_int_equal(done[i].status, ok ? RDMO_STATUS_OK : RDMO_STATUS_RIGHTS);
			assert_int_equal(done[i].length, ok ? ops[i].length : 0);
			assert_int_equal(done[i].value, ok ? queue_at(at) : 0);
			assert_memory_equal(world.queue + at, payloads[i], done[i].length);
			at += done[i].length;
		}
	}
	assert_int_equal(rdmo_tail_of(), at);
}

/* Many more than may be under way, of any length: none is lost, doubled or out of order, to the queue's last byte. */
static void
test_a_queue_is_filled_by_two_connections(void **state)
{
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	uint64_t next[2] = { 0 }, seen[2] = { 0 }, last[2] = { 0 }, random = 42, full = 0, sum = 0;
	struct rdmo_completion done[BURST];

	(void)state;
	while (full < 2 * BURST || next[0] != seen[0] || next[1] != seen[1])
		for (unsigned int c = 0; c < 2; c++) {
			uint8_t payload[64];
			const uint32_t length = 16 + (uint32_t)(e2e_random(&random) % 48);
			const struct rdmo_op op = rdmo_append_of(next[c], payload, length);
			uint32_t n;

			memset(payload, (int)(next[c] % 251), sizeof(payload));
			if (full < 2 * BURST)
				next[c] += rdmo_post(conns[c], &op, 1);
			n = rdmo_poll(conns[c], done, BURST);
			for (uint32_t i = 0; i < n; i++) {
				const uint64_t offset = done[i].value - queue_at(0);

				assert_int_equal(done[i].user_data, seen[c]++);
				if (done[i].status == RDMO_STATUS_FULL) {
					full++;
					continue;
				}
				assert_int_equal(done[i].status, RDMO_STATUS_OK);
				assert_true(offset >= last[c]);
				last[c] = offset + done[i].length;
				sum += done[i].length;
				for (uint32_t k = 0; k < done[i].length; k++)
					assert_int_equal(world.queue[offset + k],
							 done[i].user_data % 251);
			}
		}
	assert_int_equal(rdmo_tail_of(), sum);
	assert_true(sum > RDMO_QUEUE - 64 && sum <= RDMO_QUEUE);
	rdmo_disconnect(conns[1]);
}

/* ---- Scatter ---- */

static void
test_a_scatter_writes_its_pieces(void **state)
{
	const struct rdmo_scatter_iov iovs[] = {
		rdmo_piece_of(world.area + RDMO_AREA - 4, world.area_key, 4),
		rdmo_piece_of(world.area + 3, world.area_key, 3),
		rdmo_piece_of(world.area, world.area_key, 0),
	};
	const void *const data[] = { "last", "abc", "" };
	const struct rdmo_op op = rdmo_scatter_of(7, iovs, data, 3),
			     none = rdmo_scatter_of(8, iovs, data, 0);

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.area,
			    "\xa5\xa5\xa5"
			    "abc\xa5",
			    7);
	assert_memory_equal(world.area + RDMO_AREA - 5,
			    "\xa5"
			    "last",
			    5);
	rdmo_expect(world.conn, &none, RDMO_STATUS_OK, 0);
}

/* ---- Numbers ---- */

static struct rdmo_op
atomic_of(uint16_t op_id, uint64_t key, uint64_t operand, uint64_t swap)
{
	return (struct rdmo_op){
		.id = RDMO_ID,
		.op_id = op_id,
		.atomic = { .addr = (uintptr_t)world.area + 64,
			    .key = key,
			    .operand = operand,
			    .swap = swap },
	};
}

static void
test_numbers_are_changed_in_place(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_ATOMIC | RDMO_RIGHT_READ,
	};
	rte_le64_t *const number = (void *)(world.area + 64);
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	struct rdmo_completion done[BURST];
	struct rdmo_op op, ops[BURST];
	uint64_t key, last[2] = { 0 }, sum = 0;

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	*number = RTE_LE64(100);
	op = atomic_of(RDMO_OP_FETCH_ADD, key, 5, 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 100);
	op = atomic_of(RDMO_OP_CMP_SWAP, key, 105, 7);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 105);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 7);
	assert_int_equal(rte_le_to_cpu_64(*number), 7);
	op = atomic_of(RDMO_OP_CMP_SWAP, world.area_key, 7, 1);
	rdmo_expect(world.conn, &op, RDMO_STATUS_RIGHTS, 0);
	op = atomic_of(RDMO_OP_FETCH_ADD, key, 1, 0);
	op.atomic.addr += 4;
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	/* Two connections count: each number is somebody's. */
	*number = 0;
	op = atomic_of(RDMO_OP_FETCH_ADD, key, 1, 0);
	for (uint32_t i = 0; i < BURST; i++)
		ops[i] = op;
	for (uint32_t round = 0; round < 50; round++) {
		for (uint32_t c = 0; c < 2; c++)
			rdmo_post_all(conns[c], ops, BURST);
		for (uint32_t c = 0; c < 2; c++) {
			rdmo_wait(conns[c], done, BURST);
			for (uint32_t i = 0; i < BURST; i++) {
				assert_int_equal(done[i].status, RDMO_STATUS_OK);
				assert_true(done[i].value >= last[c]);
				last[c] = done[i].value + 1;
				sum += done[i].value;
			}
		}
	}
	assert_int_equal(rte_le_to_cpu_64(*number), 2 * 50 * BURST);
	assert_int_equal(sum, UINT64_C(2) * 50 * BURST * (2 * 50 * BURST - 1) / 2);
	rdmo_disconnect(conns[1]);
}

/* Whoever sees the number sees the payload. */
static void
test_a_put_signals(void **state)
{
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_ATOMIC | RDMO_RIGHT_WRITE,
	};
	rte_le64_t *const number = (void *)(world.area + 4096);
	struct rdmo_signal signal = { .addr = (uintptr_t)number };
	uint64_t payload, seen;
	struct rdmo_op op = {
		.id = RDMO_ID,
		.op_id = RDMO_OP_PUT_SIGNAL,
		.length = sizeof(payload),
		.put = { .addr = (uintptr_t)world.area, .payload = &payload, .signal = &signal },
	};
	struct rdmo_completion done;

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &op.put.key), 0);
	signal.key = op.put.key;
	__atomic_store_n(number, 0, __ATOMIC_RELEASE);
	for (payload = 1; payload <= 200; payload++) {
		signal.kind = payload % 2 == 0 ? RDMO_SIGNAL_ADD : RDMO_SIGNAL_STORE;
		signal.value = payload % 2 == 0 ? 1 : payload;
		rdmo_post_all(world.conn, &op, 1);
		/* What a device writes, no C program may look at meanwhile. */
		while (!world.is_remote &&
		       rte_le_to_cpu_64(__atomic_load_n(number, __ATOMIC_ACQUIRE)) != payload)
			usleep(10);
		if (world.is_remote)
			rdmo_wait(world.conn, &done, 1);
		assert_int_equal(rte_le_to_cpu_64(*number), payload);
		memcpy(&seen, world.area, sizeof(seen));
		assert_int_equal(seen, payload);
		if (!world.is_remote)
			rdmo_wait(world.conn, &done, 1);
		assert_int_equal(done.status, RDMO_STATUS_OK);
		assert_int_equal(done.length, sizeof(payload));
		assert_int_equal(done.value, 0);
	}
	signal.addr += 4;
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	signal.addr -= 4;
	op.put.key = world.read_key;
	rdmo_expect(world.conn, &op, RDMO_STATUS_RIGHTS, 0);
}

/* ---- Flush ---- */

static void
test_silent_operations_are_told_of_by_a_flush(void **state)
{
	struct rdmo_op ops[4];
	struct rdmo_completion done[2];

	(void)state;
	ops[0] = rdmo_append_of(1, "one", 3);
	ops[1] = rdmo_append_of(2, "two", 3);
	ops[1].append.data_key = world.area_key;
	ops[2] = rdmo_append_of(3, "three", 5);
	ops[0].flags = ops[1].flags = ops[2].flags = RDMO_FLAG_SILENT;
	ops[3] = rdmo_flush_of(4, 0);
	rdmo_post_all(world.conn, ops, 4);
	rdmo_wait(world.conn, done, 1);
	assert_int_equal(done[0].user_data, 4);
	assert_int_equal(done[0].status, RDMO_STATUS_RIGHTS);
	assert_int_equal(done[0].value, 2);
	assert_memory_equal(world.queue, "onethree\xa5", 9);
	rdmo_expect(world.conn, &ops[3], RDMO_STATUS_OK, RDMO_NONE);
	assert_int_equal(rdmo_poll(world.conn, done, 2), 0);
}

/* The last place is kept for what can free the others. */
static void
test_silent_operations_alone_do_not_stop_a_connection(void **state)
{
	struct rdmo_op op = rdmo_append_of(1, "12345678", 8);
	const struct rdmo_op flush = rdmo_flush_of(2, 0);
	struct rdmo_completion done;
	uint32_t taken = 0;

	(void)state;
	op.flags = RDMO_FLAG_SILENT;
	/* Credits come for a while, places do not. */
	for (uint32_t tries = 0; tries < 100 && taken < 256; tries++) {
		while (rdmo_post(world.conn, &op, 1) == 1)
			taken++;
		assert_int_equal(rdmo_conn_error(world.conn), -EAGAIN);
		assert_int_equal(rdmo_poll(world.conn, &done, 1), 0);
		usleep(5000);
	}
	assert_int_equal(taken, 255);
	/* Credits come by polling. */
	while (rdmo_post(world.conn, &flush, 1) == 0)
		assert_int_equal(rdmo_poll(world.conn, &done, 1), 0);
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.user_data, 2);
	assert_int_equal(done.status, RDMO_STATUS_OK);
	assert_int_equal(rdmo_tail_of(), 255 * 8);
}

/* ---- Refusals ---- */

/* Each leaves queue, tail and memory as they were, and the connection as well. */
static void
test_each_refusal(void **state)
{
	const struct rdmo_op good = rdmo_append_of(0, "x", 1);
	const struct rdmo_scatter_iov iovs[] = {
		rdmo_piece_of(world.area, world.area_key, 3),
		rdmo_piece_of(world.area + RDMO_AREA - 2, world.area_key, 3),
		rdmo_piece_of(world.area, world.read_key, 3),
		rdmo_piece_of(world.area, 12345, 3),
	};
	const void *const data[] = { "abc", "abc", "abc", "abc" };
	struct {
		struct rdmo_op op;
		enum rdmo_status status;
	} rows[14];
	uint32_t n = 0;

	(void)state;
#define ROW(op_, expected, change)           \
	do {                                 \
		rows[n].op = (op_);          \
		rows[n].op.user_data = n;    \
		rows[n].status = (expected); \
		rows[n].op.change;           \
		n++;                         \
	} while (0)
	ROW(good, RDMO_STATUS_CLIENT, id = RDMO_ID + 1);
	ROW(good, RDMO_STATUS_KEY, append.ptr_key++);
	ROW(good, RDMO_STATUS_KEY, append.data_key++);
	ROW(good, RDMO_STATUS_RIGHTS, append.ptr_key = world.area_key);
	ROW(good, RDMO_STATUS_RIGHTS, append.data_key = world.read_key);
	ROW(good, RDMO_STATUS_BOUNDS, append.ptr_addr += 8);
	ROW(good, RDMO_STATUS_BOUNDS, append.ptr_addr += 1);
	ROW(good, RDMO_STATUS_TAIL, append.data_key = world.ptr_key);
	ROW(rdmo_scatter_of(0, iovs, data, 2), RDMO_STATUS_BOUNDS, flags = 0);
	ROW(rdmo_scatter_of(0, iovs + 2, data, 1), RDMO_STATUS_RIGHTS, flags = 0);
	ROW(rdmo_scatter_of(0, iovs + 3, data, 1), RDMO_STATUS_KEY, flags = 0);
	ROW(rdmo_scatter_of(0, iovs, data, 1), RDMO_STATUS_CLIENT, id = 0);
	ROW(rdmo_flush_of(0, 12345), RDMO_STATUS_KEY, id = RDMO_ID);
	ROW(rdmo_flush_of(0, 0), RDMO_STATUS_CLIENT, id = 1);
	assert_int_equal(n, RTE_DIM(rows));
	for (uint32_t i = 0; i < n; i++) {
		rdmo_expect(world.conn, &rows[i].op, rows[i].status, 0);
		assert_int_equal(rdmo_tail_of(), i);
		assert_int_equal(world.queue[i], 0xa5);
		assert_memory_equal(world.area, "\xa5\xa5\xa5", 3);
		rdmo_expect(world.conn, &good, RDMO_STATUS_OK, queue_at(i));
	}
}

static void
test_a_key_of_another_receive_queue(void **state)
{
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 64,
		.rights = RDMO_RIGHT_WRITE,
	};
	const void *const data[] = { "abc" };
	struct rdmo_scatter_iov iov;
	struct rdmo_conn *other;
	struct rdmo_op op;
	uint64_t key;

	(void)state;
	assert_int_equal(rdmo_rq_create(world.target, secret, &attr.rq_id), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	iov = rdmo_piece_of(world.area, key, 3);
	op = rdmo_scatter_of(1, &iov, data, 1);
	other = rdmo_conn_to(secret);
	rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	assert_int_equal(world.area[0], 0xa5);
	rdmo_expect(other, &op, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.area, "abc\xa5", 4);
	rdmo_disconnect(other);
}

static void
test_a_tail_that_the_target_moves(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.queue,
		.length = sizeof(world.queue),
		.rights = RDMO_RIGHT_APPEND,
	};
	struct rdmo_op op = rdmo_append_of(1, "abc", 3);

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	__atomic_store_n(&world.tail, rte_cpu_to_le_64(queue_at(100)), __ATOMIC_RELEASE);
	rdmo_expect(world.conn, &op, RDMO_STATUS_TAIL, 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_TAIL, 0);
	assert_int_equal(rdmo_tail_of(), 100);
	/* Registered again, it goes on from there. */
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &op.append.data_key), 0);
	assert_true(op.append.data_key != world.data_key);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(100));
	assert_int_equal(rdmo_tail_of(), 103);
	world.data_key = op.append.data_key;
}

/* One that has stopped, and one that goes back to its beginning, with the key that initiators have; between two rounds of others. */
static void
test_a_tail_is_set(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 64,
		.rights = RDMO_RIGHT_APPEND,
		.tail_mode = RDMO_TAIL_SHARED,
	};
	struct rdmo_completion done;
	uint64_t key, posted = 0, seen = 0;

	(void)state;
	assert_int_equal(rdmo_tail_set(world.target, 12345, &world.tail, queue_at(0)), -ENOENT);
	assert_int_equal(rdmo_tail_set(world.target, world.data_key, NULL, queue_at(0)), -EINVAL);
	/* Before anything was appended. */
	assert_int_equal(rdmo_tail_set(world.target, world.data_key, &world.tail, queue_at(50)), 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(50));
	__atomic_store_n(&world.tail, rte_cpu_to_le_64(queue_at(100)), __ATOMIC_RELEASE);
	rdmo_expect(world.conn, &op, RDMO_STATUS_TAIL, 0);
	assert_int_equal(rdmo_tail_set(world.target, world.data_key, &world.tail, queue_at(60)), 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(60));
	assert_int_equal(rdmo_tail_of(), 63);
	/* Outside it is none. */
	assert_int_equal(rdmo_tail_set(world.target, world.data_key, &world.tail, queue_at(0) - 1),
			 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_TAIL, 0);
	for (uint32_t round = 0; round < 20; round++) {
		while (rdmo_post(world.conn, &op, 1) == 1)
			posted++;
		assert_int_equal(
			rdmo_tail_set(world.target, world.data_key, &world.tail, queue_at(0)), 0);
		for (; seen < posted; seen++) {
			rdmo_wait(world.conn, &done, 1);
			assert_true(done.status == RDMO_STATUS_OK ||
				    done.status == RDMO_STATUS_TAIL);
		}
		/* It goes on when the call has returned. */
		assert_int_equal(rdmo_do(world.conn, &op).status, RDMO_STATUS_OK);
	}
	assert_int_equal(rdmo_tail_set(world.target, world.data_key, &world.tail, queue_at(0)), 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	assert_int_equal(rdmo_tail_of(), 3);
	/* Who shares a tail moves it himself. */
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	assert_int_equal(rdmo_tail_set(world.target, key, &world.tail, queue_at(0)), -ENOTSUP);
}

static void
test_memory_that_was_taken_back(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	assert_int_equal(rdmo_tail_of(), 3);
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), -ENOENT);
}

static void
test_what_is_not_posted(void **state)
{
	static uint8_t large[8192];
	struct rdmo_op ops[2] = { rdmo_append_of(1, "abc", 3), rdmo_append_of(2, "abc", 3) };
	struct rdmo_completion done;

	(void)state;
	ops[1].op_id = RDMO_OPS;
	assert_int_equal(rdmo_post(world.conn, ops, 2), 1);
	assert_int_equal(rdmo_conn_error(world.conn), -EINVAL);
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.user_data, 1);
	ops[1] = rdmo_flush_of(2, 0);
	ops[1].flags |= RDMO_FLAG_SILENT;
	assert_int_equal(rdmo_post(world.conn, &ops[1], 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -EINVAL);
	ops[1] = rdmo_append_of(2, large, sizeof(large));
	assert_int_equal(rdmo_post(world.conn, &ops[1], 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -EMSGSIZE);
	assert_int_equal(rdmo_post(world.conn, NULL, 0), 0);
	assert_int_equal(rdmo_conn_error(world.conn), 0);
	rdmo_expect(world.conn, &ops[0], RDMO_STATUS_OK, queue_at(3));
}

/* ---- Who is let in ---- */

static int
try_to_connect(const uint8_t *secret, struct rdmo_conn **conn)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.secret = secret,
		.timeout_ms = 60000,
	};

	return rdmo_connect(world.pd[1], &attr, conn);
}

static void
test_a_wrong_secret_lets_nobody_in(void **state)
{
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_conn *conn;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(secret, world.secret, sizeof(secret));
		secret[i * (RDMO_SECRET_BYTES - 1)] ^= 1;
		assert_int_equal(try_to_connect(secret, &conn), -EACCES);
	}
	rdmo_wait_connections(1);
}

/* What an initiator is told by a line is all that it needs. */
static void
test_a_ticket_is_enough(void **state)
{
	struct rdmo_ticket ticket = {
		.key = world.data_key,
		.at = queue_at(0),
		.bytes = sizeof(world.queue),
		.tail = (uintptr_t)&world.tail,
		.tail_key = world.ptr_key,
	};
	struct rdmo_connect_attr attr = { .timeout_ms = 60000 };
	struct rdmo_op op = { .op_id = RDMO_OP_APPEND, .length = 5 };
	char line[RDMO_TICKET_BYTES];
	struct rdmo_conn *conn;

	(void)state;
	assert_int_equal(rdmo_ticket_get(world.target, &ticket, line, sizeof(line)), -EINVAL);
	memcpy(ticket.secret, world.secret, sizeof(ticket.secret));
	assert_int_equal(rdmo_ticket_get(world.target, &ticket, line, sizeof(line)), 0);
	memset(&ticket, 0, sizeof(ticket));
	assert_int_equal(rdmo_ticket_parse(line, &ticket), 0);
	assert_int_equal(ticket.bytes, RDMO_QUEUE);
	attr.address = ticket.address;
	attr.secret = ticket.secret;
	assert_int_equal(rdmo_connect(world.pd[1], &attr, &conn), 0);
	op.id = ticket.id;
	op.append.ptr_addr = ticket.tail;
	op.append.ptr_key = ticket.tail_key;
	op.append.data_key = ticket.key;
	op.append.payload = "hello";
	rdmo_expect(conn, &op, RDMO_STATUS_OK, ticket.at);
	assert_memory_equal(world.queue, "hello\xa5", 6);
	rdmo_disconnect(conn);
}

/* As many as there are receives for, again and again, with operations under way when they go: no receive is lost. */
static void
test_connections_come_and_go(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_conn *conns[3], *more;

	(void)state;
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 3; i++)
			conns[i] = rdmo_conn_to(world.secret);
		assert_int_equal(try_to_connect(world.secret, &more), -ENOSPC);
		for (uint32_t i = 0; i < 3; i++) {
			/* All that it has credits for. */
			while (rdmo_post(conns[i], &op, 1) == 1)
				;
			rdmo_disconnect(conns[i]);
		}
		rdmo_wait_connections(1);
	}
	for (uint32_t i = 0; i < 3; i++) {
		conns[i] = rdmo_conn_to(world.secret);
		for (uint32_t k = 0; k < 100; k++)
			assert_int_equal(rdmo_do(conns[i], &op).status, RDMO_STATUS_OK);
	}
	for (uint32_t i = 0; i < 3; i++)
		rdmo_disconnect(conns[i]);
}

/* ---- Ends ---- */

static void
test_sixteen_wrong_keys_close_a_connection(void **state)
{
	struct rdmo_conn *other = rdmo_conn_to(world.secret);
	struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	const struct rdmo_op good = op;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		op.append.data_key = 1000 + i;
		rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	}
	/* Not answered any more. */
	assert_int_equal(rdmo_do(world.conn, &good).status, RDMO_STATUS_UNKNOWN);
	assert_int_equal(rdmo_conn_reason(world.conn), RDMO_REASON_KEYS);
	assert_int_equal(rdmo_post(world.conn, &good, 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -ENOTCONN);
	assert_int_equal(rdmo_tail_of(), 0);
	rdmo_expect(other, &good, RDMO_STATUS_OK, queue_at(0));
	rdmo_wait_connections(1);
	rdmo_disconnect(other);
}

static void
test_a_target_that_has_gone(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3), flush = rdmo_flush_of(2, 0);

	(void)state;
	rdmo_target_close(world.target);
	world.target = NULL;
	rdmo_expect(world.conn, &op, RDMO_STATUS_TARGET_LOST, 0);
	rdmo_expect(world.conn, &flush, RDMO_STATUS_TARGET_LOST, 0);
	assert_int_equal(rdmo_tail_of(), 0);
	assert_int_equal(world.queue[0], 0xa5);
}

/* Under requests: some are done, the others unknown, and those of another one go on. */
static void
test_a_receive_queue_is_destroyed_under_requests(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_completion done;
	struct rdmo_conn *other;
	uint64_t rq_id, ok = 0;

	(void)state;
	assert_int_equal(rdmo_rq_create(world.target, secret, &rq_id), 0);
	other = rdmo_conn_to(secret);
	while (rdmo_post(world.conn, &op, 1) == 1)
		;
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	do {
		rdmo_wait(world.conn, &done, 1);
		ok += done.status == RDMO_STATUS_OK;
	} while (done.status != RDMO_STATUS_UNKNOWN && ok < 10000 &&
		 (rdmo_post(world.conn, &op, 1) == 1 || rdmo_conn_error(world.conn) == -EAGAIN ||
		  rdmo_conn_error(world.conn) == -ENOTCONN));
	assert_int_equal(done.status, RDMO_STATUS_UNKNOWN);
	assert_true(rdmo_tail_of() >= 3 * ok);
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), -ENOENT);
	assert_int_equal(rdmo_do(other, &op).status, RDMO_STATUS_OK);
	assert_int_equal(try_to_connect(world.secret, &world.conn), -EACCES);
	rdmo_disconnect(other);
}

static void
test_a_worker_that_ends(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	const char *address = rdmo_worker_address(world.worker);
	char there[128];

	(void)state;
	if (!world.is_remote)
		assert_int_equal(rdmo_worker_destroy(world.worker), -EBUSY);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	snprintf(there, sizeof(there), "%s", address);
	rdmo_target_close(world.target);
	world.target = NULL;
	rdmo_worker_end();
	assert_int_equal(rdmo_do(world.conn, &op).status, RDMO_STATUS_UNKNOWN);
	assert_int_equal(rdmo_conn_reason(world.conn), RDMO_REASON_NONE);
	assert_int_equal(rdmo_tail_of(), 3);
}

/* Operations that are alone in a round, in another process's memory, as long as both have some: nobody waits for the other one's last. */
static void
test_connections_take_turns(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_ATOMIC,
	};
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	struct rdmo_completion done[BURST];
	uint64_t key, counts[2] = { 0 };
	struct rdmo_op op;

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	op = atomic_of(RDMO_OP_FETCH_ADD, key, 1, 0);
	while (counts[0] + counts[1] < 4000)
		for (uint32_t c = 0; c < 2; c++) {
			while (rdmo_post(conns[c], &op, 1) == 1)
				;
			counts[c] += rdmo_poll(conns[c], done, BURST);
		}
	assert_true(counts[0] > 1000);
	assert_true(counts[1] > 1000);
	rdmo_disconnect(conns[1]);
	assert_int_equal(rdmo_mr_dereg(world.target, key), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/*
 * Arguments: devargs of the worker's device, and of the initiator's if that is another one; without any "wire=loop". Behind them
 * "far": the worker has two lcores, and all appends are handed over; or "remote": the target is one of another process.
 */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_append_tells_where_its_payload_lies),
		TEST(test_a_burst_is_one_message_and_one_answer),
		TEST(test_bursts_of_runs_are_what_they_are_one_by_one),
		TEST(test_a_queue_is_filled_by_two_connections),
		TEST(test_a_scatter_writes_its_pieces),
		TEST(test_numbers_are_changed_in_place),
		TEST(test_connections_take_turns),
		TEST(test_a_put_signals),
		TEST(test_silent_operations_are_told_of_by_a_flush),
		TEST(test_silent_operations_alone_do_not_stop_a_connection),
		TEST(test_each_refusal),
		TEST(test_a_key_of_another_receive_queue),
		TEST(test_a_tail_that_the_target_moves),
		TEST(test_a_tail_is_set),
		TEST(test_memory_that_was_taken_back),
		TEST(test_what_is_not_posted),
		TEST(test_a_wrong_secret_lets_nobody_in),
		TEST(test_a_ticket_is_enough),
		TEST(test_connections_come_and_go),
		TEST(test_sixteen_wrong_keys_close_a_connection),
		TEST(test_a_target_that_has_gone),
		TEST(test_a_receive_queue_is_destroyed_under_requests),
		TEST(test_a_worker_that_ends),
	};
	int rc;

	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo", argc - (world.is_far || world.is_remote), argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
