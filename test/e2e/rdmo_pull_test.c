/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * GATHER, which reads the target's memory; and payloads that no message has room for: the worker fetches them from the initiator's memory, to queues and pieces; what is refused,
 * what others see meanwhile, how it ends when they cannot be had.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "rdmo/end.h"
#include "rdmo/worker.h"
#include "rdmo_raw.h"

#define LARGE 50000u

static int
set_up(void **state)
{
	rdmo_world_open(state);
	rdmo_own_start();
	return 0;
}

static int
tear_down(void **state)
{
	rdmo_world_close(state);
	rdmo_own_end();
	return 0;
}

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)world.queue + offset;
}

static struct rdmo_op
large_of(uint64_t user_data, uint32_t from, uint32_t length)
{
	return rdmo_owned(rdmo_append_of(user_data, rdmo_own.bytes + from, length));
}

/* ---- Queues ---- */

static void
test_a_large_payload_is_fetched(void **state)
{
	const struct rdmo_op large = large_of(1, 3, LARGE), small = rdmo_append_of(2, "abc", 3);
	struct rdmo_completion done;

	(void)state;
	done = rdmo_do(world.conn, &large);
	assert_int_equal(done.status, RDMO_STATUS_OK);
	assert_int_equal(done.value, queue_at(0));
	assert_int_equal(done.length, LARGE);
	assert_int_equal(rdmo_tail_of(), LARGE);
	assert_memory_equal(world.queue, rdmo_own.bytes + 3, LARGE);
	assert_int_equal(world.queue[LARGE], 0xa5);
	rdmo_expect(world.conn, &small, RDMO_STATUS_OK, queue_at(LARGE));
	assert_memory_equal(world.queue + LARGE, "abc\xa5", 4);
}

/* Those in messages, those that are fetched, one that is small and asks for it: in the order of posting. */
static void
test_appends_keep_their_order(void **state)
{
	static const uint32_t lengths[] = { 10, 20000, 4, 4, 30000, 5000, 1, 0, 7 };
	struct rdmo_op ops[RTE_DIM(lengths)];
	struct rdmo_completion done[RTE_DIM(lengths)];
	uint64_t at = 0;

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < RTE_DIM(ops); i++)
			ops[i] = large_of(i, i * 100, lengths[i]);
		ops[3].flags = RDMO_FLAG_PULL;
		ops[5].flags = RDMO_FLAG_FENCE;
		rdmo_post_all(world.conn, ops, RTE_DIM(ops));
		rdmo_wait(world.conn, done, RTE_DIM(ops));
		for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
			assert_int_equal(done[i].user_data, i);
			assert_int_equal(done[i].status, RDMO_STATUS_OK);
			assert_int_equal(done[i].value, queue_at(at));
			assert_memory_equal(world.queue + at, rdmo_own.bytes + i * 100, lengths[i]);
			at += lengths[i];
		}
		assert_int_equal(rdmo_tail_of(), at);
	}
}

/* Each has its payload as a whole, whoever else appends meanwhile, by messages or not. */
static void
test_connections_take_turns(void **state)
{
	struct rdmo_conn *conns[3] = { world.conn, rdmo_conn_to(world.secret),
				       rdmo_conn_to(world.secret) };
	struct rdmo_completion done[8];
	uint64_t sum = 0, seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t c = 0; c < 3; c++) {
			const struct rdmo_op op =
				large_of(i, 1000 * i + c, c == 2 ? 100 : 6000 + 10 * c);

			rdmo_post_all(conns[c], &op, 1);
			sum += op.length;
		}
	for (uint32_t c = 0; c < 3; c++) {
		rdmo_wait(conns[c], done, 8);
		for (uint32_t i = 0; i < 8; i++) {
			assert_int_equal(done[i].user_data, i);
			assert_int_equal(done[i].status, RDMO_STATUS_OK);
			assert_memory_equal((void *)(uintptr_t)done[i].value,
					    rdmo_own.bytes + 1000 * i + c, done[i].length);
			seen += done[i].length;
		}
	}
	assert_int_equal(seen, sum);
	assert_int_equal(rdmo_tail_of(), sum);
	rdmo_disconnect(conns[1]);
	rdmo_disconnect(conns[2]);
}

static void
test_silent_ones_are_told_of_by_a_flush(void **state)
{
	struct rdmo_op ops[3] = { large_of(1, 0, LARGE), large_of(2, 0, LARGE),
				  rdmo_flush_of(3, 0) };
	struct rdmo_completion done;

	(void)state;
	ops[0].flags = ops[1].flags = RDMO_FLAG_SILENT;
	ops[1].append.data_key = world.area_key;
	rdmo_post_all(world.conn, ops, 3);
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.user_data, 3);
	assert_int_equal(done.status, RDMO_STATUS_RIGHTS);
	assert_int_equal(done.value, 2);
	assert_memory_equal(world.queue, rdmo_own.bytes, LARGE);
}

/* ---- Pieces ---- */

static void
test_large_pieces_are_fetched(void **state)
{
	const struct rdmo_scatter_iov iovs[] = {
		rdmo_piece_of(world.area + 3000, world.area_key, 5000),
		rdmo_piece_of(world.area, world.area_key, 2999),
	};
	const void *const data[] = { rdmo_own.bytes + 1, rdmo_own.bytes + 9000 };
	const struct rdmo_op op = rdmo_owned(rdmo_scatter_of(7, iovs, data, 2));

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.area, rdmo_own.bytes + 9000, 2999);
	assert_int_equal(world.area[2999], 0xa5);
	assert_memory_equal(world.area + 3000, rdmo_own.bytes + 1, 5000);
	assert_int_equal(world.area[8000], 0xa5);
}

/* Of no length are 16 bits kept, nor of a part that goes to another process's memory. */
static void
test_lengths_of_more_than_16_bits(void **state)
{
	const uint32_t length = 100001;
	const struct rdmo_op append = large_of(1, 5, length), behind = large_of(2, 0, 3);
	struct rdmo_mr_attr attr = { .addr = world.queue + (1u << 17),
				     .length = 1u << 17,
				     .rights = RDMO_RIGHT_WRITE };
	const void *const data[] = { rdmo_own.bytes + 7 };
	struct rdmo_scatter_iov iov = rdmo_piece_of(world.queue + (1u << 17) + 11, 0, length);
	struct rdmo_op scatter;
	uint64_t key;

	(void)state;
	rdmo_expect(world.conn, &append, RDMO_STATUS_OK, queue_at(0));
	rdmo_expect(world.conn, &behind, RDMO_STATUS_OK, queue_at(length));
	assert_memory_equal(world.queue, rdmo_own.bytes + 5, length);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	iov.rkey = rte_cpu_to_le_64(key);
	scatter = rdmo_owned(rdmo_scatter_of(3, &iov, data, 1));
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.queue + (1u << 17) + 11, rdmo_own.bytes + 7, length);
	assert_int_equal(world.queue[(1u << 17) + 10], 0xa5);
	assert_int_equal(world.queue[(1u << 17) + 11 + length], 0xa5);
	assert_int_equal(rdmo_mr_dereg(world.target, key), 0);
}

/* ---- What is read ---- */

static struct rdmo_gather_iov
wanted_of(const void *at, uint64_t key, uint32_t len)
{
	return (struct rdmo_gather_iov){
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.len = rte_cpu_to_le_32(len),
	};
}

static struct rdmo_op
gather_of(uint64_t user_data, const struct rdmo_gather_iov *iovs, uint32_t count, void *data)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_GATHER,
		.length = count,
		.gather = { .iovs = iovs, .data = data },
	};
}

/* A hundred places at once, in another order than they lie in. */
static void
test_pieces_are_gathered(void **state)
{
	struct rdmo_gather_iov iovs[100] = { 0 };
	uint8_t read[4096];
	const struct rdmo_op op = gather_of(5, iovs, RTE_DIM(iovs), read);
	struct rdmo_completion done;
	uint32_t at = 0;

	(void)state;
	for (uint32_t i = 0; i < RDMO_AREA; i++)
		world.area[i] = (uint8_t)(i * 7 + (i >> 8));
	for (uint32_t i = 0; i < RTE_DIM(iovs); i++)
		iovs[i] = wanted_of(world.area + 8000 - 77 * i, world.read_key, i % 50);
	done = rdmo_do(world.conn, &op);
	assert_int_equal(done.status, RDMO_STATUS_OK);
	assert_int_equal(done.length, 2450);
	assert_int_equal(done.value, 0);
	for (uint32_t i = 0; i < RTE_DIM(iovs); at += i % 50, i++)
		assert_memory_equal(read + at, world.area + 8000 - 77 * i, i % 50);
}

/* Between others of its connection it finds what was written before, and nothing that is written behind it. */
static void
test_a_gather_is_executed_in_its_turn(void **state)
{
	const struct rdmo_scatter_iov to = rdmo_piece_of(world.area + 8, world.area_key, 8);
	const struct rdmo_gather_iov from = wanted_of(world.area + 8, world.read_key, 8);
	struct rdmo_completion done[30];
	uint64_t values[30], read[30] = { 0 };
	const void *data[30];
	struct rdmo_op ops[30];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
		values[i] = 1000 + i;
		data[i] = &values[i];
		ops[i] = i % 3 != 2 ? rdmo_scatter_of(i, &to, &data[i], 1)
				    : gather_of(i, &from, 1, &read[i]);
	}
	for (uint32_t round = 0; round < 20; round++) {
		rdmo_post_all(world.conn, ops, RTE_DIM(ops));
		rdmo_wait(world.conn, done, RTE_DIM(ops));
		for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
			assert_int_equal(done[i].user_data, i);
			assert_int_equal(done[i].status, RDMO_STATUS_OK);
			if (i % 3 == 2)
				assert_int_equal(read[i], values[i - 1]);
		}
	}
}

static void
test_what_is_not_gathered(void **state)
{
	static uint8_t read[8192];
	const struct rdmo_gather_iov good = wanted_of(world.area, world.read_key, 4032);
	struct rdmo_gather_iov iov = good;
	struct rdmo_op op = gather_of(1, &iov, 1, read);

	(void)state;
	assert_int_equal(rdmo_do(world.conn, &op).status, RDMO_STATUS_OK);
	iov.len = RTE_LE32(4033);
	assert_int_equal(rdmo_post(world.conn, &op, 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -EMSGSIZE);
	op.flags = RDMO_FLAG_SILENT;
	assert_int_equal(rdmo_post(world.conn, &op, 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -EINVAL);
	op.flags = 0;
	iov = wanted_of(world.area, world.area_key, 8);
	rdmo_expect(world.conn, &op, RDMO_STATUS_RIGHTS, 0);
	iov = wanted_of(world.area, world.read_key + 1, 8);
	rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	iov = wanted_of(world.area + RDMO_AREA - 7, world.read_key, 8);
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	iov = good;
	assert_int_equal(rdmo_do(world.conn, &op).length, 4032);
	/* None is some, too. */
	op.length = 0;
	op.gather.data = NULL;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 0);
}

/* ---- What is refused ---- */

static void
test_what_cannot_be_fetched_is_not_posted(void **state)
{
	struct rdmo_scatter_iov iovs[RDMO_PULLS + 1];
	const void *data[RDMO_PULLS + 1];
	struct rdmo_op ops[6];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(iovs); i++) {
		iovs[i] = rdmo_piece_of(world.area, world.area_key, 400);
		data[i] = rdmo_own.bytes;
	}
	iovs[RDMO_PULLS].len = 0;
	ops[0] = large_of(0, 0, 0);
	ops[1] = large_of(0, 0, 8);
	ops[1].rkey = 0;
	ops[2] = rdmo_flush_of(0, 0);
	ops[3] = rdmo_scatter_of(0, iovs, data, RDMO_PULLS + 1);
	ops[4] = rdmo_scatter_of(0, iovs + RDMO_PULLS, data, 1);
	ops[5] = (struct rdmo_op){ .id = RDMO_ID, .op_id = RDMO_OP_FETCH_ADD };
	for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
		ops[i].flags |= RDMO_FLAG_PULL;
		if (i >= 2)
			ops[i].rkey = rdmo_own.mr->rkey;
		assert_int_equal(rdmo_post(world.conn, &ops[i], 1), 0);
		assert_int_equal(rdmo_conn_error(world.conn), -EINVAL);
	}
	ops[0] = large_of(0, 0, LARGE);
	ops[0].rkey = 0;
	assert_int_equal(rdmo_post(world.conn, ops, 1), 0);
	assert_int_equal(rdmo_conn_error(world.conn), -EMSGSIZE);
	ops[0].rkey = rdmo_own.mr->rkey;
	rdmo_expect(world.conn, ops, RDMO_STATUS_OK, queue_at(0));
}

/* Each leaves all as it was, and the connection as well. */
static void
test_each_refusal(void **state)
{
	const struct rdmo_op good = large_of(0, 0, 5000);
	struct rdmo_op ops[6];
	static const enum rdmo_status statuses[] = {
		RDMO_STATUS_CLIENT, RDMO_STATUS_KEY,  RDMO_STATUS_RIGHTS,
		RDMO_STATUS_BOUNDS, RDMO_STATUS_TAIL, RDMO_STATUS_FULL,
	};

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		ops[i] = good;
	ops[0].id++;
	ops[1].append.data_key++;
	ops[2].append.data_key = world.read_key;
	ops[3].append.ptr_addr += 8;
	ops[4].append.data_key = world.ptr_key;
	ops[5].length = RDMO_QUEUE; /* more than there is left, and than there is to be fetched */
	rdmo_expect(world.conn, &good, RDMO_STATUS_OK, queue_at(0));
	for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
		rdmo_expect(world.conn, &ops[i], statuses[i], 0);
		assert_int_equal(rdmo_tail_of(), 5000 * (i + 1));
		assert_int_equal(world.queue[5000 * (i + 1)], 0xa5);
		rdmo_expect(world.conn, &good, RDMO_STATUS_OK, queue_at(5000 * (i + 1)));
	}
}

/* ---- Ends ---- */

/* Who promises what he has not got is disconnected; what was reserved for it is the next one's. */
static void
test_a_payload_that_cannot_be_had(void **state)
{
	struct rdmo_conn *other = rdmo_conn_to(world.secret);
	const struct rdmo_op good = large_of(1, 0, LARGE), small = rdmo_append_of(2, "abc", 3);
	struct rdmo_op ops[3] = { good, good, good };

	(void)state;
	ops[1].rkey ^= 0xff;
	rdmo_post_all(other, ops, 3);
	for (uint32_t i = 0; i < 3; i++) {
		struct rdmo_completion done;

		rdmo_wait(other, &done, 1);
		assert_int_equal(done.user_data, 1);
		assert_true(done.status == RDMO_STATUS_UNKNOWN ||
			    (i == 0 && done.status == RDMO_STATUS_OK));
	}
	assert_int_equal(rdmo_conn_error(other), -ENOTCONN);
	rdmo_disconnect(other);
	rdmo_wait_connections(1);
	/* All or nothing of what is fetched together. */
	assert_true(rdmo_tail_of() == 0 || rdmo_tail_of() == LARGE);
	rdmo_expect(world.conn, &small, RDMO_STATUS_OK, queue_at(rdmo_tail_of()));
	rdmo_expect(world.conn, &good, RDMO_STATUS_OK, queue_at(rdmo_tail_of()));
}

/* One whose READs are under way, of any lane; NULL: there is none. Nobody polls. */
static struct rdmo_peer *
fetching_find(void)
{
	for (uint32_t i = 0; i < world.lcores; i++) {
		struct rdmo_lane *lane = &world.worker->crew.lanes[i];

		if (!TAILQ_EMPTY(&lane->fetching))
			return TAILQ_FIRST(&lane->fetching);
	}
	return NULL;
}

/* Likewise; the worker is polled here until there is one. */
static struct rdmo_peer *
fetching_peer(void)
{
	struct rdmo_peer *peer;

	for (uint32_t tries = 0; tries < 500000; tries++, usleep(10))
		for (uint32_t i = 0; i < world.lcores; i++) {
			rdmo_worker_poll(world.worker, i);
			peer = fetching_find();
			if (peer != NULL)
				return peer;
		}
	rdmo_pollers_start();
	fail_msg("nothing is fetched");
	return NULL;
}

static void
fetch_expire(struct rdmo_peer *peer)
{
	peer->fetch_until = 1;
	rdmo_fetches_look(peer->home);
}

/* Its time is over, as if it had passed: it is lost, and others append where it was to. */
static void
test_a_fetch_that_takes_too_long(void **state)
{
	struct rdmo_conn *other = rdmo_conn_to(world.secret);
	const struct rdmo_op large = large_of(1, 0, LARGE), small = rdmo_append_of(2, "abc", 3);
	struct rdmo_completion done;
	struct rdmo_peer *peer;

	(void)state;
	rdmo_pollers_stop();
	rdmo_post_all(other, &large, 1);
	peer = fetching_peer();
	assert_true(peer->fetch_until > rte_get_timer_cycles());
	fetch_expire(peer);
	rdmo_pollers_start();
	rdmo_wait(other, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_UNKNOWN);
	rdmo_disconnect(other);
	rdmo_wait_connections(1);
	rdmo_expect(world.conn, &small, RDMO_STATUS_OK, queue_at(0));
	rdmo_expect(world.conn, &large, RDMO_STATUS_OK, queue_at(3));
}

static void *
area_dereg(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)rdmo_mr_dereg(world.target, world.area_key);
}

/* Taking memory back waits for the fetch, in the thread that has to end it. Here nobody polls meanwhile. */
static void
test_a_fetch_ends_while_memory_is_taken_back(void **state)
{
	struct rdmo_conn *other = rdmo_conn_to(world.secret);
	const struct rdmo_op large = large_of(1, 0, LARGE);
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RTS };
	struct rdmo_completion done;
	struct rdmo_peer *peer;
	pthread_t thread;
	void *rc;

	(void)state;
	rdmo_pollers_stop();
	rdmo_post_all(other, &large, 1);
	peer = fetching_peer();
	assert_int_equal(pthread_create(&thread, NULL, area_dereg, NULL), 0);
	usleep(100000);
	fetch_expire(peer);
	for (uint32_t tries = 0; tries < 1000 && attr.qp_state != RDMAPMD_QPS_ERR; tries++) {
		usleep(5000);
		assert_int_equal(rdmapmd_qp_query(peer->qp, &attr, &init), 0);
	}
	rdmo_pollers_start();
	assert_int_equal(attr.qp_state, RDMAPMD_QPS_ERR);
	assert_int_equal(pthread_join(thread, &rc), 0);
	assert_int_equal((intptr_t)rc, 0);
	rdmo_wait(other, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_UNKNOWN);
	rdmo_disconnect(other);
	rdmo_wait_connections(1);
}

/* ---- An initiator whose device answers no more ---- */

/*
 * Its append, whose payload is to be fetched from it: READs are under way when this returns, for as long as the worker's device asks once
 * more. Nobody polls.
 */
static struct rdmo_peer *
slow_begin(void)
{
	const struct rdmo_append_hdr hdr = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)&world.tail),
		.ptr_rkey = rte_cpu_to_le_64(world.ptr_key),
		.data_rkey = rte_cpu_to_le_64(world.data_key),
	};
	const struct rdmo_pull pull = {
		.addr = rte_cpu_to_le_64((uintptr_t)rdmo_own.bytes),
		.rkey = rte_cpu_to_le_32(rdmo_own.mr->rkey),
		.len = RTE_LE32(LARGE),
	};
	struct rdmo_writer w;

	rdmo_raw_open();
	rdmo_writer_begin(&w, rdmo_raw_message(), RDMO_RAW_BYTES, RDMO_MSG_REQUESTS,
			  rdmo_raw.session, 1);
	assert_true(rdmo_writer_append(&w, RDMO_ID, RDMO_FLAG_PULL, &hdr, &pull, sizeof(pull)));
	rdmo_pollers_stop();
	rdmo_raw_send(rdmo_writer_end(&w, RDMO_RAW_RECEIVES));
	rdmo_end_break(rdmo_raw.qp);
	return fetching_peer();
}

/* The worker is polled, and has lost it. */
static void
slow_end(void)
{
	rdmo_wait_connections(1);
	rdmo_raw_close();
}

/* Operations of others on other memory of the target, and memory that is taken back: before its time is over, in one of so many tries. */
static void
test_others_go_on_beside_a_slow_initiator(void **state)
{
	const struct rdmo_scatter_iov iov = rdmo_piece_of(world.area, world.area_key, 3);
	const void *const data[] = { "abc" };
	const struct rdmo_op scatter = rdmo_scatter_of(1, &iov, data, 1);
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_READ,
	};
	bool is_still;

	(void)state;
	for (uint32_t tries = 0; tries < 20; tries++) {
		slow_begin();
		rdmo_pollers_start();
		rdmo_expect(world.conn, &scatter, RDMO_STATUS_OK, 0);
		assert_int_equal(rdmo_mr_dereg(world.target, world.read_key), 0);
		rdmo_pollers_stop();
		is_still = fetching_find() != NULL;
		rdmo_pollers_start();
		assert_memory_equal(world.area, "abc", 3);
		slow_end();
		if (is_still)
			return;
		assert_int_equal(rdmo_mr_reg(world.target, &attr, &world.read_key), 0);
	}
	fail_msg("others have waited for a slow initiator, each time");
}

static void *
queue_dereg(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)rdmo_mr_dereg(world.target, world.data_key);
}

/* By who takes back the memory that its payload is to go to: it has a moment more, and not all of its time; in one of so many tries. */
static void
test_a_slow_initiator_is_not_waited_for_long(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.queue,
		.length = sizeof(world.queue),
		.rights = RDMO_RIGHT_APPEND,
	};
	const uint64_t hurry = RDMO_HURRY_S * rte_get_timer_hz();
	const struct rdmo_peer *peer;
	bool is_hurried = false;
	pthread_t thread;
	void *rc;

	(void)state;
	for (uint32_t tries = 0; tries < 20 && !is_hurried; tries++) {
		if (tries > 0)
			assert_int_equal(rdmo_mr_reg(world.target, &attr, &world.data_key), 0);
		peer = slow_begin();
		assert_true(peer->fetch_until > rte_get_timer_cycles() + hurry);
		assert_int_equal(pthread_create(&thread, NULL, queue_dereg, NULL), 0);
		while (fetching_find() != NULL && !is_hurried) {
			for (uint32_t i = 0; i < world.lcores; i++)
				rdmo_worker_poll(world.worker, i);
			is_hurried = fetching_find() != NULL &&
				     peer->fetch_until <= rte_get_timer_cycles() + hurry;
		}
		rdmo_pollers_start();
		assert_int_equal(pthread_join(thread, &rc), 0);
		assert_int_equal((intptr_t)rc, 0);
		slow_end();
	}
	assert_true(is_hurried);
	assert_int_equal(rdmo_tail_of(), 0);
}

/* It is the target's again when the call returns: nothing is written to it any more. */
static void
test_memory_is_taken_back_under_a_fetch(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.queue,
		.length = sizeof(world.queue),
		.rights = RDMO_RIGHT_APPEND,
	};

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		const struct rdmo_op ops[2] = { large_of(1, 0, LARGE), large_of(2, 0, LARGE) };
		/* Wrong keys would end it. */
		struct rdmo_conn *conn = rdmo_conn_to(world.secret);
		struct rdmo_completion done[2];

		rdmo_post_all(conn, ops, 2);
		if (round % 2 == 1)
			usleep(20 * round);
		assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
		memset(world.queue, 0xa5, sizeof(world.queue));
		rdmo_wait(conn, done, 2);
		for (uint32_t i = 0; i < 2; i++)
			if (done[i].status != RDMO_STATUS_OK && done[i].status != RDMO_STATUS_KEY)
				fail_msg("round %u, operation %u: %s", round, i,
					 rdmo_status_str(done[i].status));
		rdmo_disconnect(conn);
		for (uint32_t i = 0; i < sizeof(world.queue); i++)
			assert_int_equal(world.queue[i], 0xa5);
		world.tail = rte_cpu_to_le_64(queue_at(0));
		assert_int_equal(rdmo_mr_reg(world.target, &attr, &world.data_key), 0);
	}
}

/* All that there is goes, with fetches under way. */
static void
test_ends_under_fetches(void **state)
{
	const struct rdmo_op op = large_of(1, 0, LARGE);
	struct rdmo_conn *others[3];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(others); i++) {
		others[i] = rdmo_conn_to(world.secret);
		while (rdmo_post(others[i], &op, 1) == 1)
			;
	}
	while (rdmo_post(world.conn, &op, 1) == 1)
		;
	rdmo_disconnect(others[0]);
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	rdmo_disconnect(others[1]);
	rdmo_target_close(world.target);
	world.target = NULL;
	rdmo_worker_end();
	rdmo_disconnect(others[2]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_large_payload_is_fetched),
		TEST(test_appends_keep_their_order),
		TEST(test_connections_take_turns),
		TEST(test_silent_ones_are_told_of_by_a_flush),
		TEST(test_lengths_of_more_than_16_bits),
		TEST(test_large_pieces_are_fetched),
		TEST(test_pieces_are_gathered),
		TEST(test_a_gather_is_executed_in_its_turn),
		TEST(test_what_is_not_gathered),
		TEST(test_what_cannot_be_fetched_is_not_posted),
		TEST(test_each_refusal),
		TEST(test_a_payload_that_cannot_be_had),
		TEST(test_a_fetch_that_takes_too_long),
		TEST(test_a_fetch_ends_while_memory_is_taken_back),
		TEST(test_others_go_on_beside_a_slow_initiator),
		TEST(test_a_slow_initiator_is_not_waited_for_long),
		TEST(test_memory_is_taken_back_under_a_fetch),
		TEST(test_ends_under_fetches),
	};
	int rc;

	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo_pull", argc - (world.is_far || world.is_remote), argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-pull", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
