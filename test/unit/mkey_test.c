/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: registration of mempools, lookup as the data path does it, removal, keys that are not used again. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/mempool.h"
#include "object/mkey.h"
#include "prm/cmd.h"
#include "prm/mkey.h"

/* Locks taken by this thread (the linker's --wrap). */
static __thread unsigned int locks;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	locks++;
	return __real_pthread_mutex_lock(mutex);
}

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

static struct rte_mempool *
make_pool(const char *name, unsigned int count)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		name, count, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

static uintptr_t
data_of(const struct rte_mbuf *mbuf)
{
	return (uintptr_t)mbuf->buf_addr + mbuf->data_off;
}

struct key_query {
	bool valid;
	uint64_t start, length;
	unsigned int pd, lr, lw, rr, rw, a;
};

/* What the device itself knows of a key. */
static struct key_query
query(struct rnic_dev *dev, uint32_t key)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_mkey_out out;
	struct key_query result = { 0 };
	struct rnic_mkc *mkc;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, key >> 8);
	if (rnic_cmd_try(dev, RNIC_CMD_QUERY_MKEY, 0, &in, sizeof(in), &out, sizeof(out)) != 0)
		return result;
	mkc = rnic_query_mkey_out_mkc(&out);
	result.valid = rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0) == (key & 0xff);
	result.start = rnic_mkc_get(mkc, RNIC_MKC_START_ADDR);
	result.length = rnic_mkc_get(mkc, RNIC_MKC_LEN);
	result.pd = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_PD);
	result.lr = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_LR);
	result.lw = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_LW);
	result.rr = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_RR);
	result.rw = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_RW);
	result.a = (unsigned int)rnic_mkc_get(mkc, RNIC_MKC_A);
	return result;
}

/* As for the driver's own queues. */
static int
create_own(struct rnic_dev *dev, void *memory, size_t length, unsigned int rights, uint32_t *key)
{
	const struct rnic_mkey_attr attr =
		rnic_mkey_attr_own(dev, (uintptr_t)memory, length, rights);

	return rnic_mkey_create(dev, &attr, key);
}

static void
test_a_key_covers_exactly_what_was_asked(void **state)
{
	struct rnic_dev *dev = *state;
	const size_t offsets[] = { 0, 1, 4095, 4096, 100000 };
	const size_t lengths[] = { 1, 4096, 4097, 65536, 300001 };
	uint8_t *memory = rte_malloc(NULL, 1 << 20, 4096);
	const uint32_t maps = dev->access->maps, keys = rnic_mkeys_count(dev);
	size_t i, k;

	assert_non_null(memory);
	for (i = 0; i < RTE_DIM(offsets); i++)
		for (k = 0; k < RTE_DIM(lengths); k++) {
			unsigned int rights = RNIC_ACCESS_READ | (k % 2 ? RNIC_ACCESS_WRITE : 0);
			struct key_query known;
			uint32_t key;

			assert_int_equal(
				create_own(dev, memory + offsets[i], lengths[k], rights, &key), 0);
			known = query(dev, key);
			assert_true(known.valid);
			assert_int_equal(known.start, (uintptr_t)memory + offsets[i]);
			assert_int_equal(known.length, lengths[k]);
			assert_int_equal(known.pd, dev->pd);
			assert_int_equal(known.lr, 1);
			assert_int_equal(known.lw, k % 2);
			assert_int_equal(known.rr | known.rw, 0);
			/* The wrong variant is no key. */
			assert_int_equal(rnic_mkey_destroy(dev, key ^ 1), -ENOENT);
			assert_int_equal(rnic_mkey_destroy(dev, key), 0);
			assert_int_equal(rnic_mkey_destroy(dev, key), -ENOENT);
			assert_false(query(dev, key).valid);
		}
	assert_int_equal(dev->access->maps, maps);
	assert_int_equal(rnic_mkeys_count(dev), keys);
	assert_int_equal(create_own(dev, memory, 0, RNIC_ACCESS_READ, &(uint32_t){ 0 }), -EINVAL);
	rte_free(memory);
}

static void
test_a_key_for_a_peer_allows_what_was_asked(void **state)
{
	struct rnic_dev *dev = *state;
	uint8_t *memory = rte_malloc(NULL, 1 << 20, 4096);
	struct rnic_mkey_attr attr = { .memory = memory + 5, .length = 100000, .address = 5 };
	struct key_query known;
	unsigned int access;
	uint32_t key;

	assert_non_null(memory);
	assert_int_equal(rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_PD, &attr.pd), 0);
	for (access = 0; access < 16; access++) {
		attr.access = access;
		assert_int_equal(rnic_mkey_create(dev, &attr, &key), 0);
		known = query(dev, key);
		assert_true(known.valid);
		assert_int_equal(known.start, 5);
		assert_int_equal(known.length, 100000);
		assert_int_equal(known.pd, attr.pd);
		assert_int_equal(known.lr, 1);
		assert_int_equal(known.lw, (access & RNIC_MKEY_LOCAL_WRITE) != 0);
		assert_int_equal(known.rw, (access & RNIC_MKEY_REMOTE_WRITE) != 0);
		assert_int_equal(known.rr, (access & RNIC_MKEY_REMOTE_READ) != 0);
		assert_int_equal(known.a, (access & RNIC_MKEY_REMOTE_ATOMIC) != 0);
		assert_int_equal(rnic_mkey_destroy(dev, key), 0);
	}
	/* Pages are translated, not bytes. */
	attr.address = 0;
	assert_int_equal(rnic_mkey_create(dev, &attr, &key), -EINVAL);
	assert_int_equal(rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_PD, attr.pd), 0);
	rte_free(memory);
}

/* mkey_number_test.c has more of them. */
static void
test_freed_keys_do_not_come_back_soon(void **state)
{
	struct rnic_dev *dev = *state;
	void *memory = rte_malloc(NULL, 4096, 4096);
	uint32_t keys[256];
	size_t i, k;

	assert_non_null(memory);
	for (i = 0; i < RTE_DIM(keys); i++) {
		assert_int_equal(create_own(dev, memory, 4096, RNIC_ACCESS_READ, &keys[i]), 0);
		for (k = 0; k < i; k++)
			assert_int_not_equal(keys[i], keys[k]);
		assert_int_equal(rnic_mkey_destroy(dev, keys[i]), 0);
	}
	rte_free(memory);
}

static void
test_pool_lookup(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *pool = make_pool("lookup", 2047);
	const uint32_t keys = rnic_mkeys_count(dev), maps = dev->access->maps;
	static struct rte_mbuf *mbufs[2047];
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;
	unsigned int i;

	/* Twice registered, one set of keys: in one piece if its chunks are neighbours. */
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_true(rnic_mkeys_count(dev) > keys);
	assert_true(rnic_mkeys_count(dev) - keys <= pool->nb_mem_chunks);
	i = rnic_mkeys_count(dev);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_int_equal(rnic_mkeys_count(dev), i);

	rnic_mkey_cache_init(dev, &cache);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, RTE_DIM(mbufs)), 0);
	for (i = 0; i < RTE_DIM(mbufs); i++) {
		uintptr_t address = data_of(mbufs[i]);
		struct key_query known;

		assert_true(rnic_mkey_lookup(&cache, mbufs[i], address, &lkey));
		/* Now from the cache. */
		assert_true(cache.last.start <= address && address < cache.last.end);
		if (i % 64 != 0)
			continue;
		known = query(dev, rnic_be32_to_cpu(lkey));
		assert_true(known.valid && known.lr && known.lw);
		assert_true(known.start <= address &&
			    known.start + known.length >= address + mbufs[i]->buf_len - 128);
	}
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));

	/* Counted: the second unregister is the one that counts. */
	rnic_mkey_unregister_pool(dev, pool);
	assert_true(rnic_mkeys_count(dev) > keys);
	rnic_mkey_unregister_pool(dev, pool);
	assert_int_equal(rnic_mkeys_count(dev), keys);
	assert_int_equal(dev->access->maps, maps);
	rte_mempool_free(pool);
}

/* The data path meets a pool that nobody registered. */
static void
test_met_pools_are_registered(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *pools[6];
	struct rte_mbuf *mbufs[6], *clone;
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey, first;
	unsigned int i, round;

	rnic_mkey_cache_init(dev, &cache);
	/* More pools than the cache has places. */
	for (round = 0; round < 3; round++)
		for (i = 0; i < RTE_DIM(pools); i++) {
			char name[16];

			if (round == 0) {
				snprintf(name, sizeof(name), "met%u", i);
				pools[i] = make_pool(name, 63);
				mbufs[i] = rte_pktmbuf_alloc(pools[i]);
			}
			assert_true(rnic_mkey_lookup(&cache, mbufs[i], data_of(mbufs[i]), &lkey));
			assert_true(query(dev, rnic_be32_to_cpu(lkey)).start <= data_of(mbufs[i]));
		}
	/* A clone has the data of the mbuf that it was made of, whatever pool it is from itself. */
	rnic_mkey_unregister_pool(dev, pools[0]);
	assert_true(rnic_mkey_lookup(&cache, mbufs[0], data_of(mbufs[0]), &first));
	clone = rte_pktmbuf_clone(mbufs[0], pools[1]);
	assert_non_null(clone);
	assert_true(rnic_mkey_lookup(&cache, clone, data_of(clone), &lkey));
	assert_int_equal(lkey.raw, first.raw);
	rte_pktmbuf_free(clone);
	for (i = 0; i < RTE_DIM(pools); i++) {
		rte_pktmbuf_free(mbufs[i]);
		rte_mempool_free(pools[i]);
	}
}

static void
test_a_clone_of_an_unmet_pool(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *data = make_pool("data", 63), *clones = make_pool("clones", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(data), *clone = rte_pktmbuf_clone(mbuf, clones);
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;

	assert_non_null(clone);
	rnic_mkey_cache_init(dev, &cache);
	assert_true(rnic_mkey_lookup(&cache, clone, data_of(clone), &lkey));
	rte_pktmbuf_free(clone);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(data);
	rte_mempool_free(clones);
}

static void
no_free(void *address, void *opaque)
{
	(void)address;
	(void)opaque;
}

static void
test_memory_of_others_has_no_key(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *pool = make_pool("extbuf", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct rte_mbuf_ext_shared_info *shinfo;
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;
	uint16_t length = 2048;
	char *buffer = malloc(length);

	assert_non_null(buffer);
	rnic_mkey_cache_init(dev, &cache);
	assert_true(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	shinfo = rte_pktmbuf_ext_shinfo_init_helper(buffer, &length, no_free, NULL);
	assert_non_null(shinfo);
	rte_pktmbuf_attach_extbuf(mbuf, buffer, RTE_BAD_IOVA, length, shinfo);
	assert_false(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	assert_false(rnic_mkey_lookup(&cache, NULL, (uintptr_t)&lkey, &lkey));
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
	free(buffer);
}

/* A freed mempool takes its keys with it, and every cache forgets them. */
static void
test_a_freed_pool_is_forgotten(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t keys = rnic_mkeys_count(dev), maps = dev->access->maps;
	struct rte_mempool *pool = make_pool("freed", 63), *other = make_pool("other", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool), *kept = rte_pktmbuf_alloc(other);
	const uintptr_t address = data_of(mbuf);
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey, before;
	uint64_t generation;

	rnic_mkey_cache_init(dev, &cache);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_true(rnic_mkey_lookup(&cache, kept, data_of(kept), &before));
	assert_true(rnic_mkey_lookup(&cache, mbuf, address, &lkey));
	generation = atomic_load(cache.device_generation);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
	assert_int_not_equal(atomic_load(cache.device_generation), generation);
	assert_false(query(dev, rnic_be32_to_cpu(lkey)).valid);
	/* The cache had it as its last; it must not answer from there. */
	assert_false(rnic_mkey_lookup(&cache, NULL, address, &lkey));
	assert_true(rnic_mkey_lookup(&cache, kept, data_of(kept), &lkey));
	assert_int_equal(lkey.raw, before.raw);
	rte_pktmbuf_free(kept);
	rte_mempool_free(other);
	assert_int_equal(rnic_mkeys_count(dev), keys);
	assert_int_equal(dev->access->maps, maps);
}

/* As many pools as a number of 32 bits has values came and went while a queue stood still: its cache is as old as it is. */
static void
test_a_cache_is_old_after_any_number_of_removals(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *pool = make_pool("long ago", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	const uintptr_t address = data_of(mbuf);
	struct rnic_mkey_cache cache;
	/* However many bits it has. */
	_Atomic __typeof__(atomic_load(cache.device_generation)) *counter;
	struct rnic_be32 lkey;

	rnic_mkey_cache_init(dev, &cache);
	assert_true(rnic_mkey_lookup(&cache, mbuf, address, &lkey));
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
	assert_false(query(dev, rnic_be32_to_cpu(lkey)).valid);
	/* That was the first of them. */
	counter = (void *)(uintptr_t)cache.device_generation;
	atomic_fetch_add(counter, UINT32_MAX);
	assert_false(rnic_mkey_lookup(&cache, NULL, address, &lkey));
}

#define CHUNK 65536u

/* A pool of two chunks that are no neighbours, and an mbuf of each. */
static struct rte_mempool *
make_pool_in(const char *name, uint8_t *const chunks[2], struct rte_mbuf *mbufs[2])
{
	struct rte_pktmbuf_pool_private conf = { .mbuf_data_room_size = 2176 };
	struct rte_mempool *pool = rte_mempool_create_empty(
		name, 32, sizeof(struct rte_mbuf) + 2176, 0, sizeof(conf), SOCKET_ID_ANY, 0);
	struct rte_mbuf *mbuf;
	unsigned int i;

	assert_non_null(pool);
	rte_pktmbuf_pool_init(pool, &conf);
	for (i = 0; i < 2; i++)
		assert_true(rte_mempool_populate_iova(pool, (char *)chunks[i], RTE_BAD_IOVA, CHUNK,
						      NULL, NULL) > 0);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	mbufs[0] = mbufs[1] = NULL;
	while ((mbuf = rte_pktmbuf_alloc(pool)) != NULL)
		for (i = 0; i < 2; i++)
			if (mbufs[i] == NULL && (uint8_t *)mbuf >= chunks[i] &&
			    (uint8_t *)mbuf < chunks[i] + CHUNK)
				mbufs[i] = mbuf;
	assert_true(mbufs[0] != NULL && mbufs[1] != NULL);
	return pool;
}

/* What a pool had of the application's mappings, it gets of its own when those are gone; the rest stays as it was. */
static void
test_a_pool_outlives_a_mapping_of_the_application(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t keys = rnic_mkeys_count(dev), maps = dev->access->maps;
	/* The mapping covers a chunk and more, or part of it. */
	static const size_t lengths[] = { CHUNK + 4096, CHUNK / 2 };
	struct rnic_be32 lkey, mapped, own;
	uint8_t *memory = rte_malloc(NULL, 4 * CHUNK, 4096);
	uint8_t *const chunks[2] = { memory, memory + 2 * CHUNK };
	struct rnic_mkey_cache cache;
	struct rte_mempool *pool;
	struct rte_mbuf *mbufs[2];
	unsigned int i;

	assert_non_null(memory);
	rnic_mkey_cache_init(dev, &cache);
	for (i = 0; i < RTE_DIM(lengths); i++) {
		pool = make_pool_in("outlives", chunks, mbufs);
		assert_int_equal(rnic_mkey_map(dev, memory, lengths[i]), 0);
		if (lengths[i] >= CHUNK) {
			assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
			assert_true(rnic_mkey_lookup(&cache, mbufs[0], data_of(mbufs[0]), &mapped));
			assert_true(rnic_mkey_lookup(&cache, mbufs[1], data_of(mbufs[1]), &own));
			assert_int_not_equal(mapped.raw, own.raw);
		} else {
			/* The table has each address once. */
			assert_int_equal(rnic_mkey_register_pool(dev, pool), -EEXIST);
			assert_false(rnic_mkey_lookup(&cache, mbufs[1], data_of(mbufs[1]), &own));
		}
		assert_int_equal(rnic_mkey_unmap(dev, memory, lengths[i]), 0);
		assert_true(rnic_mkey_lookup(&cache, mbufs[0], data_of(mbufs[0]), &lkey));
		assert_true(query(dev, rnic_be32_to_cpu(lkey)).valid);
		assert_true(rnic_mkey_lookup(&cache, mbufs[1], data_of(mbufs[1]), &lkey));
		if (lengths[i] >= CHUNK)
			assert_int_equal(lkey.raw, own.raw);
		assert_int_equal(rnic_mkeys_count(dev), keys + 2);
		rte_mempool_free(pool);
		assert_int_equal(rnic_mkeys_count(dev), keys);
		assert_int_equal(dev->access->maps, maps);
	}
	rte_free(memory);
}

/* Nor does a pool lose the keys that it has when it cannot get those. */
static void
test_a_pool_keeps_its_keys_when_it_gets_no_more(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t keys = rnic_mkeys_count(dev);
	uint8_t *memory = rte_malloc(NULL, 4 * CHUNK, 4096);
	uint8_t *const chunks[2] = { memory, memory + 2 * CHUNK };
	struct rnic_mkey_cache cache;
	struct rte_mempool *pool;
	struct rnic_be32 lkey;
	struct rte_mbuf *mbufs[2];

	assert_non_null(memory);
	rnic_mkey_cache_init(dev, &cache);
	pool = make_pool_in("keeps", chunks, mbufs);
	assert_int_equal(rnic_mkey_map(dev, memory, CHUNK), 0);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_int_equal(rnic_mkey_unmap(dev, memory, CHUNK), 0);
	unit_refuse(dev, RNIC_CMD_CREATE_MKEY, RNIC_STATUS_NO_RES);
	assert_false(rnic_mkey_lookup(&cache, mbufs[0], data_of(mbufs[0]), &lkey));
	assert_true(rnic_mkey_lookup(&cache, mbufs[1], data_of(mbufs[1]), &lkey));
	assert_true(query(dev, rnic_be32_to_cpu(lkey)).valid);
	unit_refuse_nothing(dev);
	/* An explicit call tries again. */
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_true(rnic_mkey_lookup(&cache, mbufs[0], data_of(mbufs[0]), &lkey));
	assert_int_equal(rnic_mkeys_count(dev), keys + 2);
	rte_mempool_free(pool);
	rte_free(memory);
}

/* What a pool could not get, other pools do not lose. */
static void
test_a_pool_that_finds_no_memory_leaves_others_their_keys(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t keys = rnic_mkeys_count(dev);
	struct rte_mempool *has = make_pool("has", 63), *wants = make_pool("wants", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(has);
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;
	uint32_t own_keys;
	unsigned int n = 0;
	int rc;

	assert_int_equal(rnic_mkey_register_pool(dev, has), 0);
	own_keys = rnic_mkeys_count(dev);
	do {
		memory_ends = ++n;
		rc = rnic_mkey_register_pool(dev, wants);
		memory_ends = 0;
		/* A queue that has not met it. */
		rnic_mkey_cache_init(dev, &cache);
		assert_true(rnic_mkey_lookup(&cache, NULL, data_of(mbuf), &lkey));
		assert_true(rc == 0 || rnic_mkeys_count(dev) == own_keys);
	} while (rc == -ENOMEM);
	assert_int_equal(rc, 0);
	/* The pool, its pieces, a region, the table. */
	assert_true(n > 4);
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(wants);
	rte_mempool_free(has);
	assert_int_equal(rnic_mkeys_count(dev), keys);
}

/* Rather none than a key that is dead; and from the next change on all have theirs. */
static void
test_a_pool_that_goes_without_memory_leaves_no_dead_key(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *stays = make_pool("stays", 63), *goes = make_pool("goes", 63);
	struct rte_mbuf *mbufs[2] = { rte_pktmbuf_alloc(stays), rte_pktmbuf_alloc(goes) };
	struct rte_mempool *pools[2] = { stays, goes };
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(rnic_mkey_register_pool(dev, pools[i]), 0);
	for (i = 0; i < 2; i++) {
		rnic_mkey_cache_init(dev, &cache);
		assert_true(rnic_mkey_lookup(&cache, NULL, data_of(mbufs[i]), &lkey));
	}
	memory_ends = 1;
	rnic_mkey_unregister_pool(dev, goes);
	memory_ends = 0;
	for (i = 0; i < 2; i++)
		assert_false(rnic_mkey_lookup(&cache, NULL, data_of(mbufs[i]), &lkey));
	assert_int_equal(rnic_mkey_register_pool(dev, goes), 0);
	for (i = 0; i < 2; i++)
		assert_true(rnic_mkey_lookup(&cache, NULL, data_of(mbufs[i]), &lkey));
	for (i = 0; i < 2; i++) {
		rte_pktmbuf_free(mbufs[i]);
		rte_mempool_free(pools[i]);
	}
}

static void
test_a_refused_key_leaves_nothing(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t keys = rnic_mkeys_count(dev), maps = dev->access->maps;
	struct rte_mempool *pool = make_pool("refused", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct rnic_mkey_cache cache;
	struct softrnic_stats stats;
	struct rnic_be32 lkey;
	uint64_t commands;

	unit_refuse(dev, RNIC_CMD_CREATE_MKEY, RNIC_STATUS_NO_RES);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), -ENOSPC);
	assert_int_equal(rnic_mkeys_count(dev), keys);
	assert_int_equal(dev->access->maps, maps);
	/* The data path does not ask the device again for each packet. */
	rnic_mkey_cache_init(dev, &cache);
	softrnic_stats_get(unit_softrnic(dev), &stats);
	commands = stats.commands;
	assert_false(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	softrnic_stats_get(unit_softrnic(dev), &stats);
	assert_int_equal(stats.commands, commands);
	/* An explicit call does. */
	unit_refuse_nothing(dev);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_true(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
}

/* In a burst, packet for packet. */
static void
test_a_refused_pool_costs_no_lock(void **state)
{
	struct rnic_dev *dev = *state;
	struct rte_mempool *pool = make_pool("unlucky", 63);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct rnic_mkey_cache cache;
	struct rnic_be32 lkey;
	unsigned int i, before = locks;

	unit_refuse(dev, RNIC_CMD_CREATE_MKEY, RNIC_STATUS_NO_RES);
	rnic_mkey_cache_init(dev, &cache);
	assert_false(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	/* The first one did: the count is one that counts. */
	assert_int_not_equal(locks, before);
	before = locks;
	for (i = 0; i < 100; i++)
		assert_false(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	assert_int_equal(locks, before);
	/* Somebody registers it: the same cache finds it. */
	unit_refuse_nothing(dev);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	assert_true(rnic_mkey_lookup(&cache, mbuf, data_of(mbuf), &lkey));
	rte_pktmbuf_free(mbuf);
	rte_mempool_free(pool);
}

/* Pools that are still registered when the device closes. */
static void
test_close_takes_all_keys_back(void **state)
{
	struct rte_mempool *pool = make_pool("open", 1023);
	struct unit_account before;
	struct rnic_dev *dev;

	(void)state;
	unit_account_take(&before);
	unit_watch = (struct unit_watch){ 0 };
	assert_int_equal(unit_watched_open(&dev), 0);
	assert_int_equal(rnic_mkey_register_pool(dev, pool), 0);
	rnic_dev_close(dev);
	unit_watch_assert_clean();
	rnic_bringup_hook = NULL;
	unit_account_assert_same(&before);
	rte_mempool_free(pool);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, unit_open, unit_close)

static const struct CMUnitTest tests[] = {
	OPEN_TEST(test_a_key_covers_exactly_what_was_asked),
	OPEN_TEST(test_a_key_for_a_peer_allows_what_was_asked),
	OPEN_TEST(test_freed_keys_do_not_come_back_soon),
	OPEN_TEST(test_pool_lookup),
	OPEN_TEST(test_met_pools_are_registered),
	OPEN_TEST(test_a_clone_of_an_unmet_pool),
	OPEN_TEST(test_memory_of_others_has_no_key),
	OPEN_TEST(test_a_freed_pool_is_forgotten),
	OPEN_TEST(test_a_cache_is_old_after_any_number_of_removals),
	OPEN_TEST(test_a_pool_outlives_a_mapping_of_the_application),
	OPEN_TEST(test_a_pool_keeps_its_keys_when_it_gets_no_more),
	OPEN_TEST(test_a_pool_that_finds_no_memory_leaves_others_their_keys),
	OPEN_TEST(test_a_pool_that_goes_without_memory_leaves_no_dead_key),
	OPEN_TEST(test_a_refused_key_leaves_nothing),
	OPEN_TEST(test_a_refused_pool_costs_no_lock),
	cmocka_unit_test(test_close_takes_all_keys_back),
};

UNIT_MAIN("mkey", tests)
