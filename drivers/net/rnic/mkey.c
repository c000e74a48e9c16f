/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory keys (PRM: "Memory Keys"): a key is memory mapped for the device plus a translation table that gives it those
 * addresses which the process uses. Work requests carry process addresses, only the translation has IOVAs.
 *
 * Two tables:
 *  - index -> region, with all keys that are alive, for the control path;
 *  - address -> key, of all registered mempools, for the data path: a sorted array that is never changed. A change
 *    publishes a new one; old ones are kept until the device closes, since a queue may still read them. Each queue has a
 *    small cache in front of it, which the generation number empties when a range has gone away.
 *
 * A key's number is index << 8 | variant. The device chooses the index, a random variant makes numbers hard to guess,
 * and none that was handed out lately comes again, so that a stale key fails (mkey_history.c).
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "internal.h"
#include "rdmapmd_driver.h"

#define KEY_TRIES	  16
#define LOG_PAGE_SIZE_MIN 12
#define LOG_PAGE_SIZE_MAX 31

struct region {
	struct rdmapmd_handle handle; /* number: the index */
	struct region *next;	      /* of the same pool */
	uintptr_t start, end;	      /* what the key covers */
	uint64_t address;	      /* what work requests call `start` by */
	uint32_t key, pd;
	unsigned int access; /* enum rnic_mkey_access */
	void *mapped;	     /* whole pages */
	size_t mapped_length;
	uint64_t iova;
};

struct pool {
	struct pool *next;
	struct rte_mempool *mempool; /* NULL: memory that the application has mapped by itself */
	struct region *regions;
	uint32_t users; /* register calls; 0: the data path met it by itself */
	bool failed;	/* the data path need not try again */
	bool lacks;	/* maybe: memory that the application had mapped, and has no more */
};

struct address_table {
	struct address_table *older;
	uint32_t count;
	struct rnic_mkey_range ranges[];
};

struct rnic_mkeys {
	struct rnic_dev *dev;
	struct rdmapmd_table *regions;
	pthread_mutex_t lock; /* of all below; readers of `addresses` take none */
	struct pool *pools;
	struct address_table *_Atomic addresses;
	struct address_table *spare; /* empty, for when there is no memory */
	atomic_uint generation;
	atomic_uint registrations; /* a pool without a key may get one now */
	struct rnic_mkey_history *history;
	bool listening; /* to mempool events */
};

/* ---- One key ---- */

static int
map_region(struct rnic_dev *dev, struct region *region)
{
	const unsigned int rights =
		RNIC_ACCESS_READ | (region->access & RNIC_MKEY_LOCAL_WRITE ? RNIC_ACCESS_WRITE : 0);
	const uintptr_t first = RTE_ALIGN_FLOOR(region->start, RNIC_PAGE_BYTES);

	region->mapped = (void *)first;
	region->mapped_length = RTE_ALIGN_CEIL(region->end, RNIC_PAGE_BYTES) - first;
	return dev->access->ops->map(dev->access, region->mapped, region->mapped_length, rights,
				     &region->iova);
}

/* The largest pages that memory, IOVA and the address in work requests have in common. */
static uint32_t
log_page_size(const struct region *region)
{
	uint64_t differ =
		((uintptr_t)region->mapped ^ region->iova) | (region->start ^ region->address);
	uint32_t log = (uint32_t)(63 - __builtin_clzll(region->mapped_length));

	log = RTE_MIN(log, (uint32_t)LOG_PAGE_SIZE_MAX);
	if (differ != 0)
		log = RTE_MIN(log, (uint32_t)__builtin_ctzll(differ));
	return log;
}

static void
set_context(struct rnic_mkc *mkc, const struct region *region, uint8_t variant, uint32_t octwords,
	    uint32_t log_page)
{
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, (region->access & RNIC_MKEY_LOCAL_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RR, (region->access & RNIC_MKEY_REMOTE_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RW, (region->access & RNIC_MKEY_REMOTE_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_A, (region->access & RNIC_MKEY_REMOTE_ATOMIC) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, variant);
	rnic_mkc_set(mkc, RNIC_MKC_PD, region->pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, region->address);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, region->end - region->start);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, log_page);
}

static int
create_command(struct rnic_dev *dev, const struct region *region, uint8_t variant, uint32_t *index)
{
	const uint32_t log = log_page_size(region);
	const uint64_t page = UINT64_C(1) << log;
	const uint64_t first = region->start & ~(page - 1);
	const uint32_t pages = (uint32_t)((region->end - 1 - first) / page + 1);
	const uint32_t octwords = (pages + 1) / 2;
	const uint32_t bytes = (uint32_t)sizeof(struct rnic_create_mkey_in) + octwords * 16;
	struct rnic_create_mkey_in *in;
	struct rnic_object_out out;
	struct rnic_be64 *mtt;
	uint64_t iova, access = RNIC_MTT_READ;
	uint32_t i;
	int rc;

	if (log < LOG_PAGE_SIZE_MIN) {
		RNIC_LOG(ERR, dev,
			 "%#zx bytes at %#zx cannot be called by 0x%" PRIx64
			 ": their offsets in a page of 4 KiB must be the same",
			 (size_t)(region->end - region->start), (size_t)region->start,
			 region->address);
		return -EINVAL;
	}
	in = calloc(1, bytes);
	if (in == NULL)
		return -ENOMEM;
	if (region->access & RNIC_MKEY_LOCAL_WRITE)
		access |= RNIC_MTT_WRITE;
	set_context(rnic_create_mkey_in_mkc(in), region, variant, octwords, log);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_PG_ACCESS, 1);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	/* The first page may begin before what is mapped; the key's bounds keep the device out of there. */
	iova = region->iova & ~(page - 1);
	mtt = (struct rnic_be64 *)(in + 1);
	for (i = 0; i < pages; i++)
		mtt[i] = rnic_cpu_to_be64((iova + i * page) | access);
	rc = rnic_cmd_exec(dev, RNIC_CMD_CREATE_MKEY, 0, in, bytes, &out, sizeof(out));
	if (rc == 0)
		*index = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	free(in);
	return rc;
}

/* Called with the lock held: a new key is known to everybody. */
static int
take_key(struct rnic_mkeys *mkeys, struct region *region)
{
	int rc = rdmapmd_table_insert(mkeys->regions, region->key >> 8, &region->handle);

	if (rc != 0)
		return rc;
	rc = rnic_mkey_history_add(mkeys->history, region->key);
	if (rc != 0)
		rdmapmd_table_remove(mkeys->regions, region->key >> 8, NULL);
	return rc;
}

/* Called with the lock held: a key whose number was not in use lately. */
static int
create_key(struct rnic_dev *dev, struct region *region)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	uint8_t variant;
	uint32_t index;
	int rc, tries;

	for (tries = 0; tries < KEY_TRIES; tries++) {
		if (getrandom(&variant, sizeof(variant), 0) != sizeof(variant)) {
			RNIC_LOG(ERR, dev, "the system has no random number for a memory key");
			return -EIO;
		}
		rc = create_command(dev, region, variant, &index);
		if (rc != 0)
			return rc;
		region->key = index << 8 | variant;
		if (!rnic_mkey_history_has(mkeys->history, region->key)) {
			rc = take_key(mkeys, region);
			if (rc != 0)
				rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, index);
			return rc;
		}
		rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, index);
	}
	RNIC_LOG(ERR, dev, "no memory key with a fresh number in %d tries", KEY_TRIES);
	return -EAGAIN;
}

/* Called with the lock held: key first, then the map, then the memory is the owner's again. */
static int
destroy_region(struct rnic_dev *dev, struct region *region)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	int rc, unmap_rc;

	rc = rdmapmd_table_remove(mkeys->regions, region->key >> 8, NULL);
	if (rc != 0)
		return rc;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, region->key >> 8);
	rnic_dev_silence(dev);
	unmap_rc = dev->access->ops->unmap(dev->access, region->iova, region->mapped_length);
	if (unmap_rc != 0)
		RNIC_LOG(ERR, dev, "cannot unmap %p (%zu bytes): %s", region->mapped,
			 region->mapped_length, strerror(-unmap_rc));
	free(region);
	return rc != 0 ? rc : unmap_rc;
}

/* Called with the lock held. */
static int
create_region(struct rnic_dev *dev, const struct rnic_mkey_attr *attr, struct region **result)
{
	const uintptr_t start = (uintptr_t)attr->memory;
	struct region *region;
	int rc;

	if (attr->length == 0 || start + attr->length < start)
		return -EINVAL;
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return -ENOMEM;
	region->start = start;
	region->end = start + attr->length;
	region->address = attr->address;
	region->pd = attr->pd;
	region->access = attr->access;
	rc = map_region(dev, region);
	if (rc != 0) {
		RNIC_LOG(ERR, dev, "cannot map %#zx bytes at %#zx for the device: %s", attr->length,
			 (size_t)start, strerror(-rc));
		free(region);
		return rc;
	}
	rc = create_key(dev, region);
	if (rc != 0) {
		dev->access->ops->unmap(dev->access, region->iova, region->mapped_length);
		free(region);
		return rc;
	}
	*result = region;
	return 0;
}

/* For the driver's own queues: its PD, the process's addresses, nothing for peers. */
static struct rnic_mkey_attr
own_memory(const struct rnic_dev *dev, uintptr_t start, size_t length, unsigned int rights)
{
	return (struct rnic_mkey_attr){
		.memory = (void *)start,
		.length = length,
		.address = start,
		.pd = dev->pd,
		.access = rights & RNIC_ACCESS_WRITE ? RNIC_MKEY_LOCAL_WRITE : 0,
	};
}

int
rnic_mkey_create_for(struct rnic_dev *dev, const struct rnic_mkey_attr *attr, uint32_t *key)
{
	struct region *region;
	int rc;

	pthread_mutex_lock(&dev->mkeys->lock);
	rc = create_region(dev, attr, &region);
	if (rc == 0)
		*key = region->key;
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

int
rnic_mkey_create(struct rnic_dev *dev, void *address, size_t length, unsigned int rights,
		 uint32_t *key)
{
	const struct rnic_mkey_attr attr = own_memory(dev, (uintptr_t)address, length, rights);

	return rnic_mkey_create_for(dev, &attr, key);
}

int
rnic_mkey_destroy(struct rnic_dev *dev, uint32_t key)
{
	struct rdmapmd_handle *handle;
	struct region *region;
	int rc = -ENOENT;

	pthread_mutex_lock(&dev->mkeys->lock);
	handle = rdmapmd_table_get(dev->mkeys->regions, key >> 8);
	if (handle != NULL) {
		region = (struct region *)((char *)handle - offsetof(struct region, handle));
		rdmapmd_table_put(dev->mkeys->regions, handle);
		if (region->key == key)
			rc = destroy_region(dev, region);
	}
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

/* ---- Address to key ---- */

static int
compare_ranges(const void *a, const void *b)
{
	const struct rnic_mkey_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Called with the lock held: the table of what is registered now; without memory for it an empty one, always right. */
static int
publish(struct rnic_mkeys *mkeys)
{
	const struct region *region;
	struct address_table *table;
	const struct pool *pool;
	uint32_t count = 0;
	int rc = 0;

	for (pool = mkeys->pools; pool != NULL; pool = pool->next)
		for (region = pool->regions; region != NULL; region = region->next)
			count++;
	table = calloc(1, sizeof(*table) + count * sizeof(table->ranges[0]));
	if (table == NULL) {
		RNIC_LOG(WARNING, mkeys->dev, "no memory for the table of addresses");
		rc = -ENOMEM;
		table = mkeys->spare;
		mkeys->spare = NULL;
		if (table == NULL) /* twice in a row: the empty one is there already */
			return rc;
	}
	for (pool = mkeys->pools; pool != NULL && rc == 0; pool = pool->next)
		for (region = pool->regions; region != NULL; region = region->next)
			table->ranges[table->count++] =
				(struct rnic_mkey_range){ .start = region->start,
							  .end = region->end,
							  .lkey = rnic_cpu_to_be32(region->key) };
	qsort(table->ranges, table->count, sizeof(table->ranges[0]), compare_ranges);
	table->older = atomic_load_explicit(&mkeys->addresses, memory_order_relaxed);
	/* Partner: the load-acquire in find_range(). */
	atomic_store_explicit(&mkeys->addresses, table, memory_order_release);
	if (mkeys->spare == NULL)
		mkeys->spare = calloc(1, sizeof(*mkeys->spare));
	return rc;
}

/* Takes no lock. */
static bool
find_range(const struct rnic_mkeys *mkeys, uintptr_t address, struct rnic_mkey_range *range)
{
	/* Partner: the store-release in publish(). */
	const struct address_table *table =
		atomic_load_explicit(&mkeys->addresses, memory_order_acquire);
	uint32_t low = 0, high = table != NULL ? table->count : 0;

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

	(void)mempool;
	(void)index;
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
destroy_regions(struct rnic_dev *dev, struct pool *pool, const struct region *last)
{
	struct region *region;

	while ((region = pool->regions) != last) {
		pool->regions = region->next;
		destroy_region(dev, region);
	}
}

/* Called with the lock held. The region that has some of [start, end); NULL: none. */
static const struct region *
find_overlap(const struct rnic_mkeys *mkeys, uintptr_t start, uintptr_t end, bool of_mempools)
{
	const struct region *region;
	const struct pool *pool;

	for (pool = mkeys->pools; pool != NULL; pool = pool->next)
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
		own_memory(dev, start, end - start, RNIC_ACCESS_READ | RNIC_ACCESS_WRITE);
	const struct region *mapped = find_overlap(dev->mkeys, start, end, false);
	struct region *region;
	int rc;

	for (region = pool->regions; region != NULL; region = region->next)
		if (region->start <= start && end <= region->end)
			return 0;
	if (mapped != NULL)
		return mapped->start <= start && end <= mapped->end ? 0 : -EEXIST;
	rc = create_region(dev, &attr, &region);
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
	const struct region *before = pool->regions;
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
		rc = publish(dev->mkeys);
	if (rc != 0) {
		destroy_regions(dev, pool, before);
		RNIC_LOG(ERR, dev, "mempool %s cannot be registered: %s", mempool->name,
			 strerror(-rc));
	}
	return rc;
}

/* Called with the lock held. */
static struct pool *
find_pool(struct rnic_mkeys *mkeys, const struct rte_mempool *mempool)
{
	struct pool *pool;

	for (pool = mkeys->pools; pool != NULL; pool = pool->next)
		if (pool->mempool == mempool)
			break;
	return pool;
}

/* Called with the lock held. */
static int
add_pool(struct rnic_dev *dev, struct rte_mempool *mempool, struct pool **result)
{
	struct pool *pool = find_pool(dev->mkeys, mempool);
	int rc;

	if (pool == NULL) {
		pool = calloc(1, sizeof(*pool));
		if (pool == NULL)
			return -ENOMEM;
		pool->mempool = mempool;
		pool->next = dev->mkeys->pools;
		dev->mkeys->pools = pool;
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
	struct rnic_mkeys *mkeys = dev->mkeys;
	struct pool **link;

	for (link = &mkeys->pools; *link != pool; link = &(*link)->next)
		;
	*link = pool->next;
	atomic_fetch_add_explicit(&mkeys->registrations, 1, memory_order_release);
	if (pool->regions != NULL) {
		publish(mkeys);
		atomic_fetch_add_explicit(&mkeys->generation, 1, memory_order_release);
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
		atomic_fetch_add_explicit(&dev->mkeys->registrations, 1, memory_order_release);
	}
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

void
rnic_mkey_unregister_pool(struct rnic_dev *dev, struct rte_mempool *mempool)
{
	struct pool *pool;

	pthread_mutex_lock(&dev->mkeys->lock);
	pool = find_pool(dev->mkeys, mempool);
	if (pool != NULL && pool->users > 0 && --pool->users == 0)
		remove_pool(dev, pool);
	pthread_mutex_unlock(&dev->mkeys->lock);
}

/* ---- Memory of the application's own ---- */

/* Called with the lock held. */
static int
add_memory(struct rnic_dev *dev, struct pool *pool, uintptr_t start, size_t length)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	int rc;

	if (find_overlap(mkeys, start, start + length, true) != NULL) {
		RNIC_LOG(ERR, dev,
			 "%zu bytes at 0x%" PRIxPTR " are mapped already, in part or whole", length,
			 start);
		return -EEXIST;
	}
	rc = create_chunk(dev, pool, start, start + length);
	if (rc != 0)
		return rc;
	pool->next = mkeys->pools;
	mkeys->pools = pool;
	rc = publish(mkeys);
	if (rc != 0) {
		mkeys->pools = pool->next;
		destroy_regions(dev, pool, NULL);
	}
	atomic_fetch_add_explicit(&mkeys->registrations, 1, memory_order_release);
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
	for (pool = dev->mkeys->pools; pool != NULL; pool = pool->next)
		if (pool->mempool == NULL && pool->regions->start == start &&
		    pool->regions->end - start == length)
			break;
	if (pool != NULL) {
		remove_pool(dev, pool);
		rc = 0;
		/* Mempools that lie there, in part or whole, had no keys of their own, or were refused. */
		for (pool = dev->mkeys->pools; pool != NULL; pool = pool->next) {
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
	pool = find_pool(dev->mkeys, mempool);
	if (pool != NULL)
		remove_pool(dev, pool);
	/* Another pool may come to lie at its address. */
	atomic_fetch_add_explicit(&dev->mkeys->registrations, 1, memory_order_release);
	pthread_mutex_unlock(&dev->mkeys->lock);
}

/* ---- The data path's side ---- */

void
rnic_mkey_cache_init(struct rnic_dev *dev, struct rnic_mkey_cache *cache)
{
	*cache = (struct rnic_mkey_cache){
		.dev = dev,
		.device_generation = &dev->mkeys->generation,
		.generation = atomic_load_explicit(&dev->mkeys->generation, memory_order_acquire),
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
	pool = find_pool(dev->mkeys, mempool);
	if (pool == NULL || !pool->failed)
		rc = add_pool(dev, mempool, &pool);
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc == 0;
}

/* Was the pool in vain asked for a key, and has nothing happened since that could help? No lock. */
static bool
is_refused(struct rnic_mkey_cache *cache, const struct rte_mempool *mempool)
{
	const uint32_t now =
		atomic_load_explicit(&cache->dev->mkeys->registrations, memory_order_acquire);
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
	struct rnic_mkeys *mkeys = cache->dev->mkeys;
	const uint32_t generation = atomic_load_explicit(&mkeys->generation, memory_order_acquire);
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
	if (!find_range(mkeys, address, &range)) {
		mempool = data_pool(mbuf);
		if (mempool == NULL || is_refused(cache, mempool))
			return false;
		if (!register_met_pool(cache->dev, mempool) ||
		    !find_range(mkeys, address, &range)) {
			cache->refused[cache->next_refused++ % RNIC_MKEY_CACHE] = mempool;
			return false;
		}
	}
	cache_range(cache, &range);
	*lkey = range.lkey;
	return true;
}

/* ---- Life ---- */

uint32_t
rnic_mkeys_count(struct rnic_dev *dev)
{
	return rdmapmd_table_count(dev->mkeys->regions);
}

int
rnic_mkeys_create(struct rnic_dev *dev)
{
	struct rnic_mkeys *mkeys = calloc(1, sizeof(*mkeys));
	int rc;

	if (mkeys == NULL)
		return -ENOMEM;
	mkeys->dev = dev;
	mkeys->spare = calloc(1, sizeof(*mkeys->spare));
	rc = mkeys->spare == NULL ? -ENOMEM : rdmapmd_table_create(&mkeys->regions);
	if (rc == 0)
		rc = rnic_mkey_history_create(&mkeys->history);
	if (rc != 0) {
		rdmapmd_table_destroy(mkeys->regions);
		free(mkeys->spare);
		free(mkeys);
		return rc;
	}
	pthread_mutex_init(&mkeys->lock, NULL);
	dev->mkeys = mkeys;
	rc = rte_mempool_event_callback_register(mempool_event, dev);
	if (rc != 0) {
		RNIC_LOG(ERR, dev, "cannot listen to mempool events");
		rnic_mkeys_destroy(dev);
		return -EIO;
	}
	mkeys->listening = true;
	return 0;
}

void
rnic_mkeys_destroy(struct rnic_dev *dev)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	struct address_table *table, *older;

	if (mkeys == NULL)
		return;
	if (mkeys->listening)
		rte_mempool_event_callback_unregister(mempool_event, dev);
	pthread_mutex_lock(&mkeys->lock);
	while (mkeys->pools != NULL)
		remove_pool(dev, mkeys->pools);
	pthread_mutex_unlock(&mkeys->lock);
	if (rdmapmd_table_destroy(mkeys->regions) != 0)
		RNIC_LOG(ERR, dev, "%u memory keys are still in use",
			 rdmapmd_table_count(mkeys->regions));
	for (table = atomic_load(&mkeys->addresses); table != NULL; table = older) {
		older = table->older;
		free(table);
	}
	pthread_mutex_destroy(&mkeys->lock);
	rnic_mkey_history_destroy(mkeys->history);
	dev->mkeys = NULL;
	free(mkeys->spare);
	free(mkeys);
}
