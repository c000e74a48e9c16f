/* SPDX-License-Identifier: BSD-3-Clause */

/* Mempools that are registered with a protection domain, and the look-up of their keys. */

#include "rdma_fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#define PAGE  4096u
#define LOCAL RDMAPMD_ACCESS_LOCAL_WRITE

/* From the n-th allocation of this thread on there is no memory; 0: there is. */
static __thread unsigned int memory_ends;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *
__wrap_calloc(size_t count, size_t size)
{
	if (memory_ends == 1)
		return NULL;
	memory_ends -= memory_ends > 0;
	return __real_calloc(count, size);
}

struct world {
	struct fake *fake;
	struct fake_set set;
};

static int
setup(void **state)
{
	static struct world world;

	world.fake = fake_register("fake0");
	fake_open(world.fake, &world.set);
	assert_int_equal(rdmapmd_pd_alloc(world.set.context, &world.set.pd), 0);
	*state = &world;
	return 0;
}

static int
teardown(void **state)
{
	struct world *world = *state;

	assert_int_equal(rdmapmd_context_close(world->set.context), 0);
	fake_unregister(world->fake);
	return 0;
}

static struct rte_mempool *
new_pool(const char *name)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, 255, 0, 0, 2176, SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

/* Whether each mbuf of a pool has a key, or none has; and that it is one of a region around the data. */
static void
assert_keys(struct world *world, struct rte_mempool *pool, bool expected)
{
	struct rte_mbuf *mbufs[255];
	unsigned int i;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, RTE_DIM(mbufs)), 0);
	for (i = 0; i < RTE_DIM(mbufs); i++) {
		const uint32_t key = rdmapmd_mbuf_lkey(world->set.pd, mbufs[i]);

		assert_int_equal(key != RDMAPMD_INVALID_LKEY, expected);
	}
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
}

static void
test_mempools_are_counted(void **state)
{
	struct world *world = *state;
	struct rte_mempool *pool = new_pool("counted");

	assert_keys(world, pool, false);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), -ENOENT);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), 0);
	assert_keys(world, pool, true);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), 0);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, 0), -EEXIST);
	assert_int_equal(fake_count(world->fake, "mr_dereg"), 0);
	assert_int_equal(rdmapmd_pd_dealloc(world->set.pd), -EBUSY);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), 0);
	assert_keys(world, pool, true);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), 0);
	assert_keys(world, pool, false);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), -ENOENT);
	assert_int_equal(fake_count(world->fake, "mr_dereg"), fake_count(world->fake, "mr_reg"));
	assert_int_equal(rdmapmd_pd_dealloc(world->set.pd), 0);
	rte_mempool_free(pool);
}

/* What a mempool could not get, others do not lose. */
static void
test_a_mempool_that_finds_no_memory_leaves_others_their_keys(void **state)
{
	struct world *world = *state;
	struct rte_mempool *has = new_pool("has"), *wants = new_pool("wants");
	unsigned int n = 0;
	int rc;

	assert_int_equal(rdmapmd_mempool_register(world->set.pd, has, LOCAL), 0);
	do {
		memory_ends = ++n;
		rc = rdmapmd_mempool_register(world->set.pd, wants, LOCAL);
		memory_ends = 0;
		assert_keys(world, has, true);
		assert_keys(world, wants, rc == 0);
	} while (rc == -ENOMEM);
	assert_int_equal(rc, 0);
	/* The pool, its pieces, the table. */
	assert_true(n > 3);
	/* Rather none than a key that is dead; and from the next change on all have theirs. */
	memory_ends = 1;
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, wants), 0);
	memory_ends = 0;
	assert_keys(world, has, false);
	assert_keys(world, wants, false);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, wants, LOCAL), 0);
	assert_keys(world, has, true);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, wants), 0);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, has), 0);
	assert_int_equal(rdmapmd_pd_dealloc(world->set.pd), 0);
	rte_mempool_free(wants);
	rte_mempool_free(has);
}

static void
test_each_domain_has_its_own_keys(void **state)
{
	struct world *world = *state;
	struct rte_mempool *pool = new_pool("domains");
	struct rdmapmd_pd *other;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_int_equal(rdmapmd_pd_alloc(world->set.context, &other), 0);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), 0);
	assert_int_equal(rdmapmd_mbuf_lkey(other, mbuf), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_mempool_register(other, pool, LOCAL), 0);
	assert_int_not_equal(rdmapmd_mbuf_lkey(other, mbuf),
			     rdmapmd_mbuf_lkey(world->set.pd, mbuf));
	rte_pktmbuf_free(mbuf);
	assert_int_equal(rdmapmd_mempool_unregister(other, pool), 0);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), 0);
	rte_mempool_free(pool);
}

static void
test_a_mempool_that_is_freed_takes_its_keys_with_it(void **state)
{
	struct world *world = *state;
	struct rte_mempool *pool = new_pool("freed"), *stays = new_pool("stays");
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	const uintptr_t address = (uintptr_t)mbuf->buf_addr;

	assert_int_equal(rdmapmd_mempool_register(world->set.pd, stays, LOCAL), 0);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), 0);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), 0);
	assert_int_not_equal(rdmapmd_lkey_lookup(world->set.pd, address), RDMAPMD_INVALID_LKEY);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
	assert_int_equal(rdmapmd_lkey_lookup(world->set.pd, address), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pool), -ENOENT);
	assert_keys(world, stays, true);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, stays), 0);
	assert_int_equal(fake_count(world->fake, "mr_dereg"), fake_count(world->fake, "mr_reg"));
	rte_mempool_free(stays);
}

static void
test_mempools_go_with_the_context_and_the_device(void **state)
{
	struct fake *fake = fake_register("fake1");
	struct rte_mempool *pool = new_pool("goes");
	struct world *world = *state, gone = { .fake = fake };
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;

	(void)world;
	assert_int_equal(rdmapmd_device_open(fake->device, &context), 0);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	assert_int_equal(rdmapmd_mempool_register(pd, pool, LOCAL), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	assert_int_equal(fake->alive, 0);
	assert_int_equal(fake_count(fake, "mr_dereg"), fake_count(fake, "mr_reg"));

	fake_open(fake, &gone.set);
	assert_int_equal(rdmapmd_pd_alloc(gone.set.context, &gone.set.pd), 0);
	assert_int_equal(rdmapmd_mempool_register(gone.set.pd, pool, LOCAL), 0);
	assert_keys(&gone, pool, true);
	rdmapmd_device_unregister(fake->device);
	assert_int_equal(fake->alive, 0);
	assert_keys(&gone, pool, false);
	assert_int_equal(rdmapmd_mempool_register(gone.set.pd, pool, LOCAL), -ENODEV);
	assert_int_equal(rdmapmd_mempool_unregister(gone.set.pd, pool), -ENODEV);
	/* Freed after the device, before the context. */
	rte_mempool_free(pool);
	assert_int_equal(rdmapmd_context_close(gone.set.context), 0);
	free(fake);
}

static void
test_a_mempool_that_cannot_be_registered_leaves_nothing(void **state)
{
	struct world *world = *state;
	struct rte_mempool *pool = new_pool("refused");
	struct rte_mempool *empty =
		rte_mempool_create_empty("empty", 8, 64, 0, 0, SOCKET_ID_ANY, 0);
	const int alive = world->fake->alive;

	world->fake->fail = "mr_reg";
	world->fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, LOCAL), -ENOSPC);
	assert_int_equal(world->fake->alive, alive);
	assert_keys(world, pool, false);
	world->fake->fail = NULL;
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, empty, LOCAL), -EINVAL);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, NULL, LOCAL), -EINVAL);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, RDMAPMD_ACCESS_ZERO_BASED),
			 -EINVAL);
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, pool, RDMAPMD_ACCESS_REMOTE_WRITE),
			 -EINVAL);
	assert_int_equal(rdmapmd_pd_dealloc(world->set.pd), 0);
	rte_mempool_free(empty);
	rte_mempool_free(pool);
}

/* Chunks at pages 0, 2 (its neighbour) and 5: two regions. */
static struct rte_mempool *
pool_of_chunks(char *memory)
{
	struct rte_mempool *pool = rte_mempool_create_empty("chunks", 4096, 64, 0, 0, SOCKET_ID_ANY,
							    RTE_MEMPOOL_F_NO_IOVA_CONTIG);

	assert_non_null(pool);
	assert_true(rte_mempool_populate_iova(pool, memory + 5 * PAGE, RTE_BAD_IOVA, 2 * PAGE, NULL,
					      NULL) > 0);
	assert_true(rte_mempool_populate_iova(pool, memory, RTE_BAD_IOVA, 2 * PAGE, NULL, NULL) >
		    0);
	assert_true(rte_mempool_populate_iova(pool, memory + 2 * PAGE, RTE_BAD_IOVA, 2 * PAGE, NULL,
					      NULL) > 0);
	return pool;
}

static void
test_a_region_for_each_run_of_chunks(void **state)
{
	char *memory = rte_malloc(NULL, 8 * PAGE, PAGE);
	struct rte_mempool *pool = pool_of_chunks(memory);
	struct world *world = *state;
	struct rdmapmd_pd *pd = world->set.pd;
	const uintptr_t at = (uintptr_t)memory;
	const int alive = world->fake->alive;

	/* The second region fails: the first goes too. */
	world->fake->fail = "mr_reg";
	world->fake->error = -ENOSPC;
	world->fake->skip = 1;
	assert_int_equal(rdmapmd_mempool_register(pd, pool, LOCAL), -ENOSPC);
	assert_int_equal(world->fake->alive, alive);
	assert_int_equal(rdmapmd_lkey_lookup(pd, at + PAGE), RDMAPMD_INVALID_LKEY);
	world->fake->fail = NULL;
	assert_int_equal(rdmapmd_mempool_register(pd, pool, LOCAL), 0);
	assert_int_equal(world->fake->alive, alive + 2);
	assert_int_equal(rdmapmd_lkey_lookup(pd, at + PAGE),
			 rdmapmd_lkey_lookup(pd, at + 3 * PAGE));
	assert_int_equal(rdmapmd_lkey_lookup(pd, at + 4 * PAGE + 64), RDMAPMD_INVALID_LKEY);
	assert_int_not_equal(rdmapmd_lkey_lookup(pd, at + 6 * PAGE), RDMAPMD_INVALID_LKEY);
	assert_int_not_equal(rdmapmd_lkey_lookup(pd, at + 6 * PAGE),
			     rdmapmd_lkey_lookup(pd, at + PAGE));
	assert_int_equal(rdmapmd_mempool_unregister(pd, pool), 0);
	rte_mempool_free(pool);
	rte_free(memory);
}

static void
test_look_up_at_the_borders(void **state)
{
	static const struct rdmapmd_key_range ranges[] = { { 100, 200, 1 },
							   { 200, 300, 2 },
							   { 400, 401, 3 } };
	struct rdmapmd_key_table *keys = calloc(1, sizeof(*keys) + sizeof(ranges));
	const struct rdmapmd_pd pd = { .keys = keys };

	(void)state;
	assert_non_null(keys);
	memcpy(keys->ranges, ranges, sizeof(ranges));
	keys->count = RTE_DIM(ranges);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 99), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 100), 1);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 199), 1);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 200), 2);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 299), 2);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 300), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 400), 3);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 401), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, 0), RDMAPMD_INVALID_LKEY);
	assert_int_equal(rdmapmd_lkey_lookup(&pd, UINTPTR_MAX), RDMAPMD_INVALID_LKEY);
	free(keys);
}

struct reader {
	struct rdmapmd_pd *pd;
	struct rte_mbuf *mbuf; /* of a pool that stays */
	uint32_t key;
	unsigned int wrong;
	atomic_bool stop;
};

static void *
look_up_all_the_time(void *arg)
{
	struct reader *reader = arg;

	while (!atomic_load(&reader->stop)) {
		reader->wrong += rdmapmd_mbuf_lkey(reader->pd, reader->mbuf) != reader->key;
		if (rand() % 64 == 0)
			usleep(50);
	}
	return NULL;
}

static void
test_look_up_while_mempools_come_and_go(void **state)
{
	struct world *world = *state;
	struct rte_mempool *pools[4], *stays = new_pool("stays");
	struct reader reader = { .pd = world->set.pd };
	unsigned int i, round;
	pthread_t thread;
	char name[16];

	for (i = 0; i < RTE_DIM(pools); i++) {
		snprintf(name, sizeof(name), "pool%u", i);
		pools[i] = new_pool(name);
	}
	assert_int_equal(rdmapmd_mempool_register(world->set.pd, stays, LOCAL), 0);
	reader.mbuf = rte_pktmbuf_alloc(stays);
	reader.key = rdmapmd_mbuf_lkey(world->set.pd, reader.mbuf);
	assert_int_not_equal(reader.key, RDMAPMD_INVALID_LKEY);
	assert_int_equal(pthread_create(&thread, NULL, look_up_all_the_time, &reader), 0);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < RTE_DIM(pools); i++)
			assert_int_equal(rdmapmd_mempool_register(world->set.pd, pools[i], LOCAL),
					 0);
		for (i = 0; i < RTE_DIM(pools); i++)
			assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, pools[i]), 0);
	}
	atomic_store(&reader.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(reader.wrong, 0);
	rte_pktmbuf_free(reader.mbuf);
	assert_int_equal(rdmapmd_mempool_unregister(world->set.pd, stays), 0);
	for (i = 0; i < RTE_DIM(pools); i++)
		rte_mempool_free(pools[i]);
	rte_mempool_free(stays);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_mempools_are_counted),
		TEST(test_a_mempool_that_finds_no_memory_leaves_others_their_keys),
		TEST(test_each_domain_has_its_own_keys),
		TEST(test_a_mempool_that_is_freed_takes_its_keys_with_it),
		TEST(test_mempools_go_with_the_context_and_the_device),
		TEST(test_a_mempool_that_cannot_be_registered_leaves_nothing),
		TEST(test_a_region_for_each_run_of_chunks),
		TEST(test_look_up_at_the_borders),
		TEST(test_look_up_while_mempools_come_and_go),
	};

	(void)argc;
	if (fake_eal(argv[0]) != 0)
		return 1;
	return cmocka_run_group_tests_name("rdma_mempool", tests, NULL, NULL);
}
