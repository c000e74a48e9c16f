/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations whose payload is still the initiator's: which round takes them, what it is to fetch, what is left when it cannot. */

#include "rdmo_round_world.h"

#define LKEY 7000 /* and the number of the region */

static struct rdmo_fetches fetches;

/* A round that fetches, and memory that can be fetched into. */
static void
make_fetching(void)
{
	for (uint32_t i = 0; i < RTE_DIM(world.table); i++) {
		world.table[i].is_fetchable = true;
		world.table[i].lkey = LKEY + i;
	}
	world.round.fetches = &fetches;
	rdmo_round_begin(&world.round);
}

static struct rdmo_pull
pull_of(uint64_t addr, uint32_t rkey, uint32_t len)
{
	return (struct rdmo_pull){
		.addr = rte_cpu_to_le_64(addr),
		.rkey = rte_cpu_to_le_32(rkey),
		.len = rte_cpu_to_le_32(len),
	};
}

static void
add_pulls(const struct rdmo_pull *pulls, uint32_t count, uint32_t flags)
{
	round_add_append(ID, RDMO_FLAG_PULL | flags, &world.target.tail, PTR_KEY, DATA_KEY, pulls,
			 count * (uint32_t)sizeof(*pulls));
}

static void
add_pull(uint32_t len)
{
	const struct rdmo_pull pull = pull_of(0x1000, 5, len);

	add_pulls(&pull, 1, 0);
}

static void
expect_fetch(uint32_t i, uint64_t from, uint32_t from_key, uint64_t to, uint32_t to_key,
	     uint32_t bytes)
{
	assert_int_equal(fetches.all[i].from, from);
	assert_int_equal(fetches.all[i].from_key, from_key);
	assert_int_equal(fetches.all[i].to, to);
	assert_int_equal(fetches.all[i].to_key, to_key);
	assert_int_equal(fetches.all[i].bytes, bytes);
}

static void
test_a_pull_is_for_a_round_that_fetches(void **state)
{
	(void)state;
	add_pull(8);
	round_run();
	assert_false(world.is_done);
	assert_int_equal(world.round.elsewhere, RDMO_PULLED);
	assert_int_equal(world.round.count, 0);
	assert_null(world.table[1].held_by);
}

/* Nothing is told before it is there, and nobody else is between. */
static void
test_payloads_are_fetched_to_their_places(void **state)
{
	const uint64_t queue = (uintptr_t)world.target.queue;
	const struct rdmo_pull pulls[] = { pull_of(0x1000, 5, 100), pull_of(0x9000, 6, 1) };
	struct rdmo_round other = { 0 }, *own = &world.round;
	struct rdmo_region *const region = &world.table[1];

	(void)state;
	make_fetching();
	add_pulls(pulls, 2, 0);
	add_pull(50);
	round_run();
	assert_int_equal(fetches.count, 3);
	expect_fetch(0, 0x1000, 5, queue, LKEY + 1, 100);
	expect_fetch(1, 0x9000, 6, queue + 100, LKEY + 1, 1);
	expect_fetch(2, 0x1000, 5, queue + 101, LKEY + 1, 50);
	assert_ptr_equal(fetches.flow, &world.flow);
	assert_ptr_equal(region->held_by, own);
	assert_int_equal(round_tail_at(), 0);
	assert_int_equal(world.target.queue[0], 0xa5);
	assert_false(round_append_by(&other));
	assert_int_equal(other.elsewhere, RDMO_BUSY);
	rdmo_round_fetched(own);
	rdmo_round_settle(own);
	round_expect(0, RDMO_STATUS_OK, queue);
	round_expect(1, RDMO_STATUS_OK, queue + 101);
	assert_int_equal(round_tail_at(), 151);
	assert_true(round_append_by(&other));
	assert_int_equal(other.results[0].value, queue + 151);
}

static void
test_a_fetch_that_fails_leaves_nothing(void **state)
{
	const uint64_t queue = (uintptr_t)world.target.queue;

	(void)state;
	make_fetching();
	add_pull(100);
	add_pull(100);
	round_run();
	rdmo_round_abandon(&world.round);
	rdmo_round_settle(&world.round);
	assert_int_equal(round_tail_at(), 0);
	assert_null(world.table[1].held_by);
	assert_int_equal(world.round.results[0].status, RDMO_STATUS_UNKNOWN);
	world.round.fetches = NULL;
	rdmo_round_begin(&world.round);
	round_append_text("next");
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, queue);
	assert_int_equal(round_tail_at(), 4);
}

/* Its queue's memory, and where that has its tail: until the payload is there, and no other memory. */
static void
test_what_a_round_that_fetches_uses(void **state)
{
	const struct rdmo_scatter_iov iov = round_piece(world.target.memory + 9, WRITE_KEY, 7);
	const struct rdmo_pull pull = pull_of(0x1000, 5, 7);
	const void *const data[] = { &pull };
	struct rdmo_region near = { .va = (uintptr_t)world.target.memory, .len = 9 };

	(void)state;
	make_fetching();
	add_pull(100);
	round_run();
	assert_true(rdmo_round_uses(&world.round, &world.table[0]));
	assert_true(rdmo_round_uses(&world.round, &world.table[1]));
	assert_false(rdmo_round_uses(&world.round, &world.table[2]));
	rdmo_round_abandon(&world.round);
	rdmo_round_begin(&world.round);
	assert_true(rdmo_writer_scatter(&world.writer, ID, RDMO_FLAG_PULL, &iov, data, 1));
	round_run();
	assert_false(rdmo_round_uses(&world.round, &world.table[1]));
	assert_true(rdmo_round_uses(&world.round, &world.table[2]));
	/* Up to its first byte, with it, with its last one, behind it. */
	assert_false(rdmo_round_uses(&world.round, &near));
	near.len = 10;
	assert_true(rdmo_round_uses(&world.round, &near));
	near.va += 15;
	assert_true(rdmo_round_uses(&world.round, &near));
	near.va++;
	assert_false(rdmo_round_uses(&world.round, &near));
}

static struct rdmo_request
request_of(uint32_t flags, uint64_t count)
{
	return (struct rdmo_request){
		.op_id = RDMO_OP_APPEND,
		.flags = flags,
		.count = count,
	};
}

static void
test_what_a_round_that_fetches_takes(void **state)
{
	const struct rdmo_request plain = request_of(0, 0), pull = request_of(RDMO_FLAG_PULL, 16),
				  fence = request_of(RDMO_FLAG_PULL | RDMO_FLAG_FENCE, 1);

	(void)state;
	make_fetching();
	assert_false(rdmo_round_takes(&world.round, &plain));
	assert_true(rdmo_round_takes(&world.round, &fence));
	fetches.count = RDMO_FETCHES - 16;
	assert_true(rdmo_round_takes(&world.round, &pull));
	assert_false(rdmo_round_takes(&world.round, &fence));
	fetches.count++;
	assert_false(rdmo_round_takes(&world.round, &pull));
}

static void
test_what_pulls_are_refused_for(void **state)
{
	const struct rdmo_scatter_iov iovs[] = { round_piece(world.target.memory, WRITE_KEY, 8),
						 round_piece(world.target.memory, READ_KEY, 8) };
	const struct rdmo_pull pull = pull_of(0x1000, 5, 8);
	const void *const data[] = { &pull, &pull };

	(void)state;
	make_fetching();
	add_pull(QUEUE + 1);
	assert_true(rdmo_writer_scatter(&world.writer, ID, RDMO_FLAG_PULL, iovs, data, 2));
	round_run();
	world.table[1].is_fetchable = world.table[2].is_fetchable = false;
	add_pull(8);
	assert_true(rdmo_writer_scatter(&world.writer, ID, RDMO_FLAG_PULL, iovs, data, 1));
	round_run();
	assert_int_equal(fetches.count, 0);
	rdmo_round_fetched(&world.round);
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_FULL, 0);
	round_expect(1, RDMO_STATUS_RIGHTS, 0);
	round_expect(2, RDMO_STATUS_NOTSUP, 0);
	round_expect(3, RDMO_STATUS_NOTSUP, 0);
	assert_int_equal(round_tail_at(), 0);
}

static void
test_pieces_are_fetched(void **state)
{
	const struct rdmo_scatter_iov iovs[] = { round_piece(world.target.memory + 9, WRITE_KEY,
							     70),
						 round_piece(world.target.memory, HERE_KEY, 3) };
	const struct rdmo_pull pulls[] = { pull_of(0x1000, 5, 70), pull_of(0x5000, 5, 3) };
	const void *const data[] = { &pulls[0], &pulls[1] };

	(void)state;
	make_fetching();
	assert_true(rdmo_writer_scatter(&world.writer, ID, RDMO_FLAG_PULL, iovs, data, 2));
	round_run();
	assert_int_equal(fetches.count, 2);
	expect_fetch(0, 0x1000, 5, (uintptr_t)world.target.memory + 9, LKEY + 2, 70);
	expect_fetch(1, 0x5000, 5, (uintptr_t)world.target.memory, LKEY + 6, 3);
	rdmo_round_fetched(&world.round);
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, 0);
}

/* A hole is left where a payload cannot be had: others may be behind it already. */
static void
test_a_pull_at_a_shared_tail(void **state)
{
	const uint64_t queue = (uintptr_t)world.target.queue;

	(void)state;
	make_fetching();
	rdmo_region_begin_shared(&world.table[1]);
	add_pull(100);
	round_run();
	assert_int_equal(round_tail_at(), 100);
	expect_fetch(0, 0x1000, 5, queue, LKEY + 1, 100);
	assert_null(world.table[1].held_by);
	rdmo_round_abandon(&world.round);
	assert_int_equal(round_tail_at(), 100);
	/* What is refused has no address. */
	rdmo_round_begin(&world.round);
	add_pull(QUEUE);
	round_run();
	rdmo_round_fetched(&world.round);
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_FULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, round_set_up, round_tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_a_pull_is_for_a_round_that_fetches),
	TEST(test_payloads_are_fetched_to_their_places),
	TEST(test_a_fetch_that_fails_leaves_nothing),
	TEST(test_what_a_round_that_fetches_uses),
	TEST(test_what_a_round_that_fetches_takes),
	TEST(test_what_pulls_are_refused_for),
	TEST(test_pieces_are_fetched),
	TEST(test_a_pull_at_a_shared_tail),
};

PLAIN_MAIN("rdmo-pull", tests)
