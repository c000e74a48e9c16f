/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory whose keys the data path finds by its address: mempools, and what the application maps. */
#ifndef RNIC_OBJECT_MEMPOOL_H
#define RNIC_OBJECT_MEMPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "prm/field.h"

struct rnic_dev;
struct rte_mbuf;
struct rte_mempool;

/* Register all memory of a mempool (chunks merged where neighbours); idempotent, counted. */
int rnic_mkey_register_pool(struct rnic_dev *dev, struct rte_mempool *pool);
void rnic_mkey_unregister_pool(struct rnic_dev *dev, struct rte_mempool *pool);

/* The same for memory of the application's own, found by its address. -EEXIST: it has a key, in part or whole. */
int rnic_mkey_map(struct rnic_dev *dev, void *address, size_t length);
/* What was mapped, whole. -ENOENT. */
int rnic_mkey_unmap(struct rnic_dev *dev, void *address, size_t length);

/*
 * Address -> lkey for the data path: each queue has a small cache in front of the device's sorted table. A hit costs two
 * compares; a miss is a function call (rnic_mkey_lookup_slow) that registers the pool of the mbuf when it is met for the
 * first time, which takes the lock, allocates and executes commands. A pool that got no key is not tried again until
 * somebody registers or removes one: its packets cost no lock.
 * Keys are in wire order, ready for a data segment. Removal of a range bumps `generation` of the device, which empties
 * the caches at their next look.
 */
struct rnic_mkey_range {
	uintptr_t start, end;
	struct rnic_be32 lkey;
};
#define RNIC_MKEY_CACHE 4
struct rnic_mkey_cache {
	struct rnic_mkey_range last;
	struct rnic_mkey_range ranges[RNIC_MKEY_CACHE];
	/* Pools without a key: whatever may help them (a registration, a removal) bumps `registrations`. */
	const struct rte_mempool *refused[RNIC_MKEY_CACHE];
	uint64_t refused_at; /* value of it */
	/* 64 bits: a queue may stand still for as long as it likes, and shall not take an old number for the one of now. */
	const atomic_ullong *device_generation;
	uint64_t generation;
	uint32_t next;
	uint32_t next_refused;
	struct rnic_dev *dev;
};
void rnic_mkey_cache_init(struct rnic_dev *dev, struct rnic_mkey_cache *cache);
/* False: no key covers the address, and none can be made (the caller counts an error). */
bool rnic_mkey_lookup_slow(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf,
			   uintptr_t address, struct rnic_be32 *lkey);
static inline bool
rnic_mkey_lookup(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf, uintptr_t address,
		 struct rnic_be32 *lkey)
{
	if (likely(address >= cache->last.start && address < cache->last.end &&
		   atomic_load_explicit(cache->device_generation, memory_order_relaxed) ==
			   cache->generation)) {
		*lkey = cache->last.lkey;
		return true;
	}
	return rnic_mkey_lookup_slow(cache, mbuf, address, lkey);
}

int rnic_mkey_pools_create(struct rnic_dev *dev);
/* With all keys of theirs. */
void rnic_mkey_pools_destroy(struct rnic_dev *dev);

#endif
