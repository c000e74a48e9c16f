/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pools: memory whose keys the data path finds by the address of an mbuf's data. A mempool's is registered when a queue
 * is made or when the data path meets it, and loses its keys when it is freed; the application's own comes and goes by
 * calls. A pool has a region (mkey.c), which is to say a key, for each of its pieces.
 *
 * The table from address to key is a sorted array that is never changed. A change publishes a new one; old ones are kept
 * until the device closes, since a queue may still read them. Each queue has a small cache in front of it, which the
 * generation number empties when a range has gone away.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/log.h"
#include "core/dev.h"
#include "object/mempool.h"
#include "object/mkey.h"

struct pool {
	struct pool *next;
	struct rte_mempool *mempool; /* NULL: memory that the application has mapped by itself */
	struct rnic_mkey_region *regions;
	uint32_t users; /* register calls; 0: the data path met it by itself */
	bool failed;	/* the data path need not try again */
	bool lacks;	/* maybe: memory that the application had mapped, and has unmapped */
};

struct address_table {
	struct address_table *older;
	uint32_t count;
	struct rnic_mkey_range ranges[];
};

struct rnic_mkey_pools {
	struct rnic_dev *dev;
	/* All below is under the lock of the keys; readers of `addresses` take none. */
	struct pool *first;
	const struct address_table *_Atomic addresses;
	struct address_table *tables; /* that there were */
	atomic_ullong generation;
	atomic_ullong registrations; /* a pool without a key may get one now */
	bool listening;		     /* to mempool events */
};

static const struct address_table no_addresses;

/* ---- Address to key ---- */

static int
compare_ranges(const void *a, const void *b)
{
	const struct rnic_mkey_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void
set_addresses(struct rnic_mkey_pools *pools, const struct address_table *table)
{
	/* Partner: the load-acquire in find_range(). */
	atomic_store_explicit(&pools->addresses, table, memory_order_release);
}

/* Called with the lock held: the table of what is registered now. Without memory for it the last one stays. */
static int
pools_publish(struct rnic_mkey_pools *pools)
{
	const struct rnic_mkey_region *region;
	struct address_table *table;
	const struct pool *pool;
	uint32_t count = 0;

	for (pool = pools->first; pool != NULL; pool = pool->next)
		for (region = pool->regions; region != NULL; region = region->next)
			count++;
	if (count == 0) {
		set_addresses(pools, &no_addresses);
		return 0;
	}
	table = calloc(1, sizeof(*table) + count * sizeof(table->ranges[0]));
	if (table == NULL)
		return -ENOMEM;
	for (pool = pools->first; pool != NULL; pool = pool->next)
		for (region = pool->regions; region != NULL; region = region->next)
			table->ranges[table->count++] =
				(struct rnic_mkey_range){ .start = region->start,
							  .end = region->end,
							  .lkey = rnic_cpu_to_be32(region->key) };
	qsort(table->ranges, table->count, sizeof(table->ranges[0]), compare_ranges);
	table->older = pools->tables;
	pools->tables = table;
	set_addresses(pools, table);
	return 0;
}

/* Takes no lock. */
static bool
find_range(const struct rnic_mkey_pools *pools, uintptr_t address, struct rnic_mkey_range *range)
{
	/* Partner: the store-release in set_addresses(). */
	const struct address_table *table =
		atomic_load_explicit(&pools->addresses, memory_order_acquire);
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < table->ranges[middle].start) {
			high = middle;
		} else if (address >= table->ranges[middle].end) {
			low = middle + 1;
		} else {
			*range = table->ranges[middle];
			return true;
		}
	}
	return false;
}

/* ---- Mempools ---- */

struct chunks {
	uint32_t count, capacity;
	struct rnic_mkey_range *ranges; /* lkey unused */
};

static void
collect_chunk(struct rte_mempool *mempool, void *arg, struct rte_mempool_memhdr *memhdr,
	      unsigned int index)
{
	struct chunks *chunks = arg;

	RTE_SET_USED(mempool);
	RTE_SET_USED(index);
	if (chunks->count < chunks->capacity)
		chunks->ranges[chunks->count++] = (struct rnic_mkey_range){
			.start = (uintptr_t)memhdr->addr,
			.end = (uintptr_t)memhdr->addr + memhdr->len,
		};
}

static void
merge_neighbours(struct chunks *chunks)
{
	uint32_t i, last = 0;

	qsort(chunks->ranges, chunks->count, sizeof(chunks->ranges[0]), compare_ranges);
	for (i = 1; i < chunks->count; i++) {
		if (chunks->ranges[i].start == chunks->ranges[last].end)
			chunks->ranges[last].end = chunks->ranges[i].end;
		else
			chunks->ranges[++last] = chunks->ranges[i];
	}
	if (chunks->count > 0)
		chunks->count = last + 1;
}

/* Called with the lock held. Those that were made after `last`, NULL: all. */
static void
destroy_regions(struct rnic_dev *dev, struct pool *pool, const struct rnic_mkey_region *last)
{
	struct rnic_mkey_region *region;

	while ((region = pool->regions) != last) {
		pool->regions = region->next;
		rnic_mkey_region_destroy(dev, region);
	}
}

/* Called with the lock held. The region that has some of [start, end); NULL: none. */
static const struct rnic_mkey_region *
find_overlap(const struct rnic_mkey_pools *pools, uintptr_t start, uintptr_t end, bool of_mempools)
{
	const struct rnic_mkey_region *region;
	const struct pool *pool;

	for (pool = pools->first; pool != NULL; pool = pool->next)
		for (region = pool->regions; region != NULL; region = region->next)
			if ((pool->mempool == NULL || of_mempools) && start < region->end &&
			    region->start < end)
				return region;
	return NULL;
}

/* Called with the lock held. What the application has mapped has a key: the table has each address once. */
static int
create_chunk(struct rnic_dev *dev, struct pool *pool, uintptr_t start, uintptr_t end)
{
	/* Writable even if only sent from: the same pool may fill a receive queue. */
	const struct rnic_mkey_attr attr =
		rnic_mkey_attr_own(dev, start, end - start, RNIC_ACCESS_READ | RNIC_ACCESS_WRITE);
	const struct rnic_mkey_region *mapped = find_overlap(dev->mkey_pools, start, end, false);
	struct rnic_mkey_region *region;
	int rc;

	for (region = pool->regions; region != NULL; region = region->next)
		if (region->start <= start && end <= region->end)
			return 0;
	if (mapped != NULL)
		return mapped->start <= start && end <= mapped->end ? 0 : -EEXIST;
	rc = rnic_mkey_region_create(dev, &attr, &region);
	if (rc == 0) {
		region->next = pool->regions;
		pool->regions = region;
	}
	return rc;
}

/* Called with the lock held. */
static int
create_regions(struct rnic_dev *dev, struct pool *pool)
{
	const struct rnic_mkey_region *before = pool->regions;
	struct rte_mempool *mempool = pool->mempool;
	struct chunks chunks = { .capacity = mempool->nb_mem_chunks };
	uint32_t i;
	int rc = 0;

	if (chunks.capacity == 0)
		return -EINVAL;
	chunks.ranges = calloc(chunks.capacity, sizeof(chunks.ranges[0]));
	if (chunks.ranges == NULL)
		return -ENOMEM;
	rte_mempool_mem_iter(mempool, collect_chunk, &chunks);
	merge_neighbours(&chunks);
	for (i = 0; i < chunks.count && rc == 0; i++)
		rc = create_chunk(dev, pool, chunks.ranges[i].start, chunks.ranges[i].end);
	free(chunks.ranges);
	if (rc == 0)
		rc = pools_publish(dev->mkey_pools);
	if (rc != 0) {
		destroy_regions(dev, pool, before);
		RNIC_LOG(ERR, dev, "mempool %s cannot be registered: %s", mempool->name,
			 strerror(-rc));
	}
	return rc;
}

/* Called with the lock held. */
static struct pool *
find_pool(struct rnic_mkey_pools *pools, const struct rte_mempool *mempool)
{
	struct pool *pool;

	for (pool = pools->first; pool != NULL; pool = pool->next)
		if (pool->mempool == mempool)
			break;
	return pool;
}

/* Called with the lock held. */
static int
add_pool(struct rnic_dev *dev, struct rte_mempool *mempool, struct pool **result)
{
	struct pool *pool = find_pool(dev->mkey_pools, mempool);
	int rc;

	if (pool == NULL) {
		pool = calloc(1, sizeof(*pool));
		if (pool == NULL)
			return -ENOMEM;
		pool->mempool = mempool;
		pool->next = dev->mkey_pools->first;
		dev->mkey_pools->first = pool;
	}
	*result = pool;
	if (pool->regions != NULL && !pool->lacks)
		return 0;
	rc = create_regions(dev, pool);
	pool->failed = rc != 0;
	pool->lacks = pool->lacks && rc != 0;
	return rc;
}

/* Called with the lock held. The range is gone from the table before its key is. */
static void
remove_pool(struct rnic_dev *dev, struct pool *pool)
{
	struct rnic_mkey_pools *pools = dev->mkey_pools;
	struct pool **link;

	for (link = &pools->first; *link != pool; link = &(*link)->next)
		;
	*link = pool->next;
	atomic_fetch_add_explicit(&pools->registrations, 1, memory_order_release);
	if (pool->regions != NULL) {
		if (pools_publish(pools) != 0) {
			set_addresses(pools, &no_addresses);
			RNIC_LOG(WARNING, dev,
				 "out of memory for the table of keys: no mbuf has a key until a "
				 "mempool is registered or freed");
		}
		atomic_fetch_add_explicit(&pools->generation, 1, memory_order_release);
	}
	destroy_regions(dev, pool, NULL);
	free(pool);
}

int
rnic_mkey_register_pool(struct rnic_dev *dev, struct rte_mempool *mempool)
{
	struct pool *pool;
	int rc;

	pthread_mutex_lock(&dev->mkeys->lock);
	rc = add_pool(dev, mempool, &pool);
	if (rc == 0) {
		pool->users++;
		atomic_fetch_add_explicit(&dev->mkey_pools->registrations, 1, memory_order_release);
	}
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

void
rnic_mkey_unregister_pool(struct rnic_dev *dev, struct rte_mempool *mempool)
{
	struct pool *pool;

	pthread_mutex_lock(&dev->mkeys->lock);
	pool = find_pool(dev->mkey_pools, mempool);
	if (pool != NULL && pool->users > 0 && --pool->users == 0)
		remove_pool(dev, pool);
	pthread_mutex_unlock(&dev->mkeys->lock);
}

/* ---- Memory of the application's own ---- */

/* Called with the lock held. */
static int
add_memory(struct rnic_dev *dev, struct pool *pool, uintptr_t start, size_t length)
{
	struct rnic_mkey_pools *pools = dev->mkey_pools;
	int rc;

	if (find_overlap(pools, start, start + length, true) != NULL) {
		RNIC_LOG(ERR, dev,
			 "%zu bytes at 0x%" PRIxPTR " are mapped already, in part or whole", length,
			 start);
		return -EEXIST;
	}
	rc = create_chunk(dev, pool, start, start + length);
	if (rc != 0)
		return rc;
	pool->next = pools->first;
	pools->first = pool;
	rc = pools_publish(pools);
	if (rc != 0) {
		pools->first = pool->next;
		destroy_regions(dev, pool, NULL);
	}
	atomic_fetch_add_explicit(&pools->registrations, 1, memory_order_release);
	return rc;
}

int
rnic_mkey_map(struct rnic_dev *dev, void *address, size_t length)
{
	struct pool *pool;
	int rc;

	if (length == 0 || (uintptr_t)address + length < (uintptr_t)address)
		return -EINVAL;
	pool = calloc(1, sizeof(*pool));
	if (pool == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&dev->mkeys->lock);
	rc = add_memory(dev, pool, (uintptr_t)address, length);
	pthread_mutex_unlock(&dev->mkeys->lock);
	if (rc != 0)
		free(pool);
	return rc;
}

int
rnic_mkey_unmap(struct rnic_dev *dev, void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address;
	struct pool *pool;
	int rc = -ENOENT;

	pthread_mutex_lock(&dev->mkeys->lock);
	for (pool = dev->mkey_pools->first; pool != NULL; pool = pool->next)
		if (pool->mempool == NULL && pool->regions->start == start &&
		    pool->regions->end - start == length)
			break;
	if (pool != NULL) {
		remove_pool(dev, pool);
		rc = 0;
		/* Mempools that lie there, in part or whole, had no keys of their own, or were refused. */
		for (pool = dev->mkey_pools->first; pool != NULL; pool = pool->next) {
			pool->lacks = pool->mempool != NULL;
			pool->failed = false;
		}
	}
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

/* A mempool is about to be freed: its keys go first. */
static void
mempool_event(enum rte_mempool_event event, struct rte_mempool *mempool, void *arg)
{
	struct rnic_dev *dev = arg;
	struct pool *pool;

	if (event != RTE_MEMPOOL_EVENT_DESTROY)
		return;
	pthread_mutex_lock(&dev->mkeys->lock);
	pool = find_pool(dev->mkey_pools, mempool);
	if (pool != NULL)
		remove_pool(dev, pool);
	/* Another pool may come to lie at its address. */
	atomic_fetch_add_explicit(&dev->mkey_pools->registrations, 1, memory_order_release);
	pthread_mutex_unlock(&dev->mkeys->lock);
}

/* ---- The data path's side ---- */

void
rnic_mkey_cache_init(struct rnic_dev *dev, struct rnic_mkey_cache *cache)
{
	*cache = (struct rnic_mkey_cache){
		.dev = dev,
		.device_generation = &dev->mkey_pools->generation,
		.generation =
			atomic_load_explicit(&dev->mkey_pools->generation, memory_order_acquire),
	};
}

static void
cache_range(struct rnic_mkey_cache *cache, const struct rnic_mkey_range *range)
{
	cache->ranges[cache->next++ % RNIC_MKEY_CACHE] = *range;
	cache->last = *range;
}

/* The pool that an mbuf's data comes from; NULL for memory of somebody else. */
static struct rte_mempool *
data_pool(const struct rte_mbuf *mbuf)
{
	if (mbuf == NULL || RTE_MBUF_HAS_EXTBUF(mbuf))
		return NULL;
	if (RTE_MBUF_CLONED(mbuf)) {
		/* The clone's data lies in the mbuf that it was made of. */
		return rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)mbuf)->pool;
	}
	return mbuf->pool;
}

static bool
register_met_pool(struct rnic_dev *dev, struct rte_mempool *mempool)
{
	struct pool *pool;
	int rc = -EFAULT;

	pthread_mutex_lock(&dev->mkeys->lock);
	pool = find_pool(dev->mkey_pools, mempool);
	if (pool == NULL || !pool->failed)
		rc = add_pool(dev, mempool, &pool);
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc == 0;
}

/* Did the last attempt to register this pool fail, with nothing registered or removed since? Takes no lock. */
static bool
is_refused(struct rnic_mkey_cache *cache, const struct rte_mempool *mempool)
{
	const uint64_t now =
		atomic_load_explicit(&cache->dev->mkey_pools->registrations, memory_order_acquire);
	uint32_t i;

	if (now != cache->refused_at) {
		memset(cache->refused, 0, sizeof(cache->refused));
		cache->refused_at = now;
	}
	for (i = 0; i < RNIC_MKEY_CACHE; i++)
		if (cache->refused[i] == mempool)
			return true;
	return false;
}

bool
rnic_mkey_lookup_slow(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf, uintptr_t address,
		      struct rnic_be32 *lkey)
{
	struct rnic_mkey_pools *pools = cache->dev->mkey_pools;
	const uint64_t generation = atomic_load_explicit(&pools->generation, memory_order_acquire);
	struct rnic_mkey_range range;
	struct rte_mempool *mempool;
	uint32_t i;

	if (generation != cache->generation) {
		cache->last = (struct rnic_mkey_range){ 0 };
		memset(cache->ranges, 0, sizeof(cache->ranges));
		cache->generation = generation;
	}
	for (i = 0; i < RNIC_MKEY_CACHE; i++)
		if (address >= cache->ranges[i].start && address < cache->ranges[i].end) {
			cache->last = cache->ranges[i];
			*lkey = cache->last.lkey;
			return true;
		}
	if (!find_range(pools, address, &range)) {
		mempool = data_pool(mbuf);
		if (mempool == NULL || is_refused(cache, mempool))
			return false;
		if (!register_met_pool(cache->dev, mempool) ||
		    !find_range(pools, address, &range)) {
			cache->refused[cache->next_refused++ % RNIC_MKEY_CACHE] = mempool;
			return false;
		}
	}
	cache_range(cache, &range);
	*lkey = range.lkey;
	return true;
}

/* ---- Life ---- */

int
rnic_mkey_pools_create(struct rnic_dev *dev)
{
	struct rnic_mkey_pools *pools = calloc(1, sizeof(*pools));

	if (pools == NULL)
		return -ENOMEM;
	pools->dev = dev;
	atomic_init(&pools->generation, dev->tunables.generation);
	atomic_init(&pools->registrations, dev->tunables.generation);
	atomic_init(&pools->addresses, &no_addresses);
	dev->mkey_pools = pools;
	if (rte_mempool_event_callback_register(mempool_event, dev) != 0) {
		RNIC_LOG(ERR, dev, "cannot listen to mempool events");
		rnic_mkey_pools_destroy(dev);
		return -EIO;
	}
	pools->listening = true;
	return 0;
}

void
rnic_mkey_pools_destroy(struct rnic_dev *dev)
{
	struct rnic_mkey_pools *pools = dev->mkey_pools;
	struct address_table *table;

	if (pools->listening)
		rte_mempool_event_callback_unregister(mempool_event, dev);
	pthread_mutex_lock(&dev->mkeys->lock);
	while (pools->first != NULL)
		remove_pool(dev, pools->first);
	pthread_mutex_unlock(&dev->mkeys->lock);
	while ((table = pools->tables) != NULL) {
		pools->tables = table->older;
		free(table);
	}
	dev->mkey_pools = NULL;
	free(pools);
}
