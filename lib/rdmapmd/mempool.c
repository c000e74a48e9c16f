/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mempools registered with a protection domain, as a whole: a region for each run of neighbouring chunks, and a sorted
 * table from addresses to keys, which readers look through without a lock. A table is never changed: another one takes
 * its place. The old ones stay until the PD goes, since a reader may be in one of them.
 *
 * A mempool that is freed takes its keys with it. That comes from the thread that frees it, under a lock of EAL's.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "log_private.h"
#include "mempool_private.h"
#include "object_private.h"
#include "region_private.h"

struct rdmapmd_pool {
	struct rdmapmd_pool *next;
	struct rte_mempool *mempool;
	unsigned int access;
	uint32_t users;
	struct rdmapmd_object_list regions; /* in no other list; the pool's alone */
};

struct rdmapmd_published_keys {
	struct rdmapmd_published_keys *older;
	struct rdmapmd_key_table table;
};

static const struct rdmapmd_key_table no_keys;

/* ---- The table ---- */

static int
range_compare(const void *a, const void *b)
{
	const struct rdmapmd_key_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void
keys_set(struct rdmapmd_pd_object *object, const struct rdmapmd_key_table *table)
{
	struct rdmapmd_pd *pd = rdmapmd_object_head(&object->object);

	/* Partner: the load-acquire in rdmapmd_lkey_lookup(). */
	__atomic_store_n(&pd->keys, table, __ATOMIC_RELEASE);
}

/* Called with the lock held: what is registered now. Without memory for it the last one stays. */
static int
keys_publish(struct rdmapmd_pd_object *pd)
{
	struct rdmapmd_published_keys *published;
	const struct rdmapmd_object *region;
	const struct rdmapmd_pool *pool;
	size_t count = 0;

	for (pool = pd->pools; pool != NULL; pool = pool->next)
		TAILQ_FOREACH(region, &pool->regions, next)
			count++;
	if (count == 0) {
		keys_set(pd, &no_keys);
		return 0;
	}
	published = calloc(1, sizeof(*published) + count * sizeof(struct rdmapmd_key_range));
	if (published == NULL)
		return -ENOMEM;
	for (pool = pd->pools; pool != NULL; pool = pool->next)
		TAILQ_FOREACH(region, &pool->regions, next) {
			const struct rdmapmd_mr *mr =
				rdmapmd_object_head((struct rdmapmd_object *)(uintptr_t)region);
			const uintptr_t start = (uintptr_t)mr->addr;

			published->table.ranges[published->table.count++] =
				(struct rdmapmd_key_range){ .start = start,
							    .end = start + mr->length,
							    .lkey = mr->lkey };
		}
	qsort(published->table.ranges, count, sizeof(published->table.ranges[0]), range_compare);
	published->older = pd->published;
	pd->published = published;
	keys_set(pd, &published->table);
	return 0;
}

/* ---- One pool ---- */

struct chunks {
	uint32_t count, capacity;
	struct rdmapmd_key_range *ranges; /* lkey unused */
};

static void
chunk_collect(struct rte_mempool *mempool, void *arg, struct rte_mempool_memhdr *memhdr,
	      unsigned int index)
{
	struct chunks *chunks = arg;
	const uintptr_t start = (uintptr_t)memhdr->addr;

	(void)mempool;
	(void)index;
	if (chunks->count < chunks->capacity)
		chunks->ranges[chunks->count++] =
			(struct rdmapmd_key_range){ .start = start, .end = start + memhdr->len };
}

static void
chunks_merge(struct chunks *chunks)
{
	uint32_t i, last = 0;

	qsort(chunks->ranges, chunks->count, sizeof(chunks->ranges[0]), range_compare);
	for (i = 1; i < chunks->count; i++) {
		if (chunks->ranges[i].start == chunks->ranges[last].end)
			chunks->ranges[last].end = chunks->ranges[i].end;
		else
			chunks->ranges[++last] = chunks->ranges[i];
	}
	if (chunks->count > 0)
		chunks->count = last + 1;
}

/* Called with the lock held. */
static int
pool_stop_regions(struct rdmapmd_pool *pool)
{
	struct rdmapmd_object *region;
	int rc, first = 0;

	while ((region = TAILQ_FIRST(&pool->regions)) != NULL) {
		TAILQ_REMOVE(&pool->regions, region, next);
		rc = rdmapmd_region_stop((struct rdmapmd_mr_object *)region);
		if (first == 0)
			first = rc;
		rdmapmd_object_free(region);
	}
	return first;
}

/* Called with the lock held. */
static int
pool_start_region(struct rdmapmd_pd_object *pd, struct rdmapmd_pool *pool,
		  const struct rdmapmd_key_range *range)
{
	struct rdmapmd_context_object *context = pd->object.context;
	const struct rdmapmd_mr_attr attr = {
		.pd = rdmapmd_object_head(&pd->object),
		.addr = (void *)range->start,
		.length = range->end - range->start,
		.iova = range->start,
		.access = pool->access,
	};
	struct rdmapmd_object *region;
	int rc = rdmapmd_region_check(context, &attr);

	if (rc != 0)
		return rc;
	region = rdmapmd_object_new(&rdmapmd_region_class, context, context->ops->mr_size);
	if (region == NULL)
		return -ENOMEM;
	rc = rdmapmd_region_start((struct rdmapmd_mr_object *)region, &attr);
	if (rc != 0) {
		rdmapmd_object_free(region);
		return rc;
	}
	TAILQ_INSERT_TAIL(&pool->regions, region, next);
	return 0;
}

/* Called with the lock held. */
static int
pool_start_regions(struct rdmapmd_pd_object *pd, struct rdmapmd_pool *pool)
{
	struct chunks chunks = { .capacity = pool->mempool->nb_mem_chunks };
	uint32_t i;
	int rc = 0;

	if (chunks.capacity == 0)
		return -EINVAL;
	chunks.ranges = calloc(chunks.capacity, sizeof(chunks.ranges[0]));
	if (chunks.ranges == NULL)
		return -ENOMEM;
	rte_mempool_mem_iter(pool->mempool, chunk_collect, &chunks);
	chunks_merge(&chunks);
	for (i = 0; i < chunks.count && rc == 0; i++)
		rc = pool_start_region(pd, pool, &chunks.ranges[i]);
	free(chunks.ranges);
	if (rc != 0)
		pool_stop_regions(pool);
	return rc;
}

/* Called with the lock held. */
static struct rdmapmd_pool *
pool_find(struct rdmapmd_pd_object *pd, const struct rte_mempool *mempool)
{
	struct rdmapmd_pool *pool;

	for (pool = pd->pools; pool != NULL; pool = pool->next)
		if (pool->mempool == mempool)
			break;
	return pool;
}

/* Called with the lock held. Its keys are out of the table before they are dead. */
static int
pool_remove(struct rdmapmd_pd_object *pd, struct rdmapmd_pool *pool)
{
	struct rdmapmd_pool **link;
	int rc;

	for (link = &pd->pools; *link != pool; link = &(*link)->next)
		;
	*link = pool->next;
	atomic_fetch_sub(&pd->pool_count, 1);
	if (keys_publish(pd) != 0) {
		keys_set(pd, &no_keys);
		RDMAPMD_LOG(
			WARNING, pd->object.context->device,
			"out of memory for the table of keys: no mbuf has a key until a mempool is "
			"registered or unregistered");
	}
	rc = pool_stop_regions(pool);
	free(pool);
	return rc;
}

/* Called with the lock held. */
static int
pool_add(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool, unsigned int access)
{
	struct rdmapmd_pool *pool = calloc(1, sizeof(*pool));
	int rc;

	if (pool == NULL)
		return -ENOMEM;
	*pool = (struct rdmapmd_pool){ .mempool = mempool, .access = access, .users = 1 };
	TAILQ_INIT(&pool->regions);
	rc = pool_start_regions(pd, pool);
	if (rc != 0)
		goto no_regions;
	pool->next = pd->pools;
	pd->pools = pool;
	rc = keys_publish(pd);
	if (rc != 0)
		goto not_published;
	atomic_fetch_add(&pd->pool_count, 1);
	return 0;

not_published:
	pd->pools = pool->next;
	pool_stop_regions(pool);
no_regions:
	RDMAPMD_LOG(ERR, pd->object.context->device, "mempool %s cannot be registered: %s",
		    mempool->name, strerror(-rc));
	free(pool);
	return rc;
}

/* ---- All pools of a PD ---- */

void
rdmapmd_pools_init(struct rdmapmd_pd_object *pd)
{
	pthread_mutex_init(&pd->pools_lock, NULL);
	pthread_mutex_init(&pd->listen_lock, NULL);
	keys_set(pd, &no_keys);
}

bool
rdmapmd_pools_any(struct rdmapmd_pd_object *pd)
{
	return atomic_load(&pd->pool_count) > 0;
}

int
rdmapmd_pools_register(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool,
		       unsigned int access)
{
	struct rdmapmd_pool *pool;
	int rc = 0;

	pthread_mutex_lock(&pd->pools_lock);
	pool = pool_find(pd, mempool);
	if (pool == NULL)
		rc = pool_add(pd, mempool, access);
	else if (pool->access != access)
		rc = -EEXIST;
	else
		pool->users++;
	pthread_mutex_unlock(&pd->pools_lock);
	return rc;
}

int
rdmapmd_pools_unregister(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool)
{
	struct rdmapmd_pool *pool;
	int rc = 0;

	pthread_mutex_lock(&pd->pools_lock);
	pool = pool_find(pd, mempool);
	if (pool == NULL)
		rc = -ENOENT;
	else if (--pool->users == 0)
		rc = pool_remove(pd, pool);
	pthread_mutex_unlock(&pd->pools_lock);
	return rc;
}

int
rdmapmd_pools_remove(struct rdmapmd_pd_object *pd)
{
	int rc, first = 0;

	pthread_mutex_lock(&pd->pools_lock);
	while (pd->pools != NULL) {
		rc = pool_remove(pd, pd->pools);
		if (first == 0)
			first = rc;
	}
	pthread_mutex_unlock(&pd->pools_lock);
	return first;
}

/* ---- Mempools that are freed ---- */

/* The PD lives as long as it listens, and its context and device with it. */
static void
mempool_event(enum rte_mempool_event event, struct rte_mempool *mempool, void *arg)
{
	struct rdmapmd_pd_object *pd = arg;
	struct rdmapmd_device *device = pd->object.context->device;
	struct rdmapmd_pool *pool;

	if (event != RTE_MEMPOOL_EVENT_DESTROY)
		return;
	pthread_rwlock_rdlock(&device->use);
	if (!device->gone) {
		pthread_mutex_lock(&pd->pools_lock);
		pool = pool_find(pd, mempool);
		if (pool != NULL)
			pool_remove(pd, pool);
		pthread_mutex_unlock(&pd->pools_lock);
	}
	pthread_rwlock_unlock(&device->use);
}

int
rdmapmd_pools_listen(struct rdmapmd_pd_object *pd)
{
	int rc = 0;

	pthread_mutex_lock(&pd->listen_lock);
	if (!pd->listening && rte_mempool_event_callback_register(mempool_event, pd) != 0)
		rc = -ENOMEM;
	if (rc == 0)
		pd->listening = true;
	pthread_mutex_unlock(&pd->listen_lock);
	return rc;
}

static void
pools_stop_listening(struct rdmapmd_pd_object *pd)
{
	pthread_mutex_lock(&pd->listen_lock);
	/* Returns after a callback that runs. */
	if (pd->listening)
		rte_mempool_event_callback_unregister(mempool_event, pd);
	pd->listening = false;
	pthread_mutex_unlock(&pd->listen_lock);
}

void
rdmapmd_pools_fini(struct rdmapmd_pd_object *pd)
{
	struct rdmapmd_published_keys *published;

	pools_stop_listening(pd);
	while ((published = pd->published) != NULL) {
		pd->published = published->older;
		free(published);
	}
	pthread_mutex_destroy(&pd->pools_lock);
	pthread_mutex_destroy(&pd->listen_lock);
}
