/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mbufs outlive the wire that made them: the other side of an ethdev may have them, or the ethdev may keep them for
 * as long as it likes. An ethdev that was given back has a queue that takes its mbufs from the wire's pool, though it has none
 * of them while it is stopped. The pool is left behind then, for the next wire that wants such a one, or to be freed.
 * All pools are in this list, as a name in DPDK's own says nothing of who uses what it names.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "softrnic/wire/port_pool.h"

struct port_pool {
	LIST_ENTRY(port_pool) link;
	struct rte_mempool *mempool;
	uint32_t frame_bytes, count;
	int socket;
	bool used;
	uint16_t ethdev; /* that is set up with it, or NO_ETHDEV */
};

#define NO_ETHDEV RTE_MAX_ETHPORTS

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, port_pool) pools = LIST_HEAD_INITIALIZER(pools);
static unsigned int pools_made;
static bool pools_told; /* of ethdevs that go */

/* Free pools without a user, that no ethdev is set up with, and whose mbufs are all back. */
static void
pools_sweep(void)
{
	struct port_pool *pool, *next;

	for (pool = LIST_FIRST(&pools); pool != NULL; pool = next) {
		next = LIST_NEXT(pool, link);
		if (pool->used || pool->ethdev != NO_ETHDEV || !rte_mempool_full(pool->mempool))
			continue;
		LIST_REMOVE(pool, link);
		rte_mempool_free(pool->mempool);
		free(pool);
	}
}

/* The ethdev has gone, or is set up anew. */
static void
pools_leave(uint16_t ethdev)
{
	struct port_pool *pool;

	LIST_FOREACH(pool, &pools, link) {
		if (pool->ethdev == ethdev)
			pool->ethdev = NO_ETHDEV;
	}
}

static int
pools_ethdev_gone(uint16_t ethdev, enum rte_eth_event_type type, void *arg, void *rc)
{
	(void)type;
	(void)arg;
	(void)rc;
	pthread_mutex_lock(&pools_lock);
	pools_leave(ethdev);
	pools_sweep();
	pthread_mutex_unlock(&pools_lock);
	return 0;
}

static struct port_pool *
pool_find(uint16_t ethdev, uint32_t frame_bytes, uint32_t count, int socket)
{
	struct port_pool *pool;

	LIST_FOREACH(pool, &pools, link) {
		if (!pool->used && (pool->ethdev == NO_ETHDEV || pool->ethdev == ethdev) &&
		    pool->frame_bytes == frame_bytes && pool->count == count &&
		    pool->socket == socket)
			break;
	}
	return pool;
}

static struct port_pool *
pool_make(uint64_t owner, uint32_t frame_bytes, uint32_t count, int socket)
{
	struct port_pool *pool = calloc(1, sizeof(*pool));
	char name[RTE_MEMPOOL_NAMESIZE];

	if (pool == NULL)
		return NULL;
	snprintf(name, sizeof(name), "softrnic-%" PRIu64 "-%u", owner, pools_made++);
	pool->mempool = rte_pktmbuf_pool_create(
		name, count, 0, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + frame_bytes), socket);
	if (pool->mempool == NULL) {
		free(pool);
		return NULL;
	}
	pool->frame_bytes = frame_bytes;
	pool->count = count;
	pool->socket = socket;
	pool->ethdev = NO_ETHDEV;
	LIST_INSERT_HEAD(&pools, pool, link);
	return pool;
}

struct rte_mempool *
softrnic_port_pool_get(uint64_t owner, uint16_t ethdev, uint32_t frame_bytes, uint32_t count,
		       int socket)
{
	struct port_pool *pool;

	pthread_mutex_lock(&pools_lock);
	pools_sweep();
	pool = pool_find(ethdev, frame_bytes, count, socket);
	if (pool == NULL)
		pool = pool_make(owner, frame_bytes, count, socket);
	if (pool != NULL)
		pool->used = true;
	pthread_mutex_unlock(&pools_lock);
	return pool != NULL ? pool->mempool : NULL;
}

void
softrnic_port_pool_configured(struct rte_mempool *mempool, uint16_t ethdev)
{
	struct port_pool *pool;

	pthread_mutex_lock(&pools_lock);
	/* Where that fails, pools stay for ever. */
	pools_told = pools_told || rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY,
								 pools_ethdev_gone, NULL) == 0;
	pools_leave(ethdev);
	LIST_FOREACH(pool, &pools, link) {
		if (pool->mempool == mempool)
			pool->ethdev = ethdev;
	}
	pools_sweep();
	pthread_mutex_unlock(&pools_lock);
}

bool
softrnic_port_pool_put(struct rte_mempool *mempool)
{
	struct port_pool *pool;
	bool kept = false;

	pthread_mutex_lock(&pools_lock);
	LIST_FOREACH(pool, &pools, link) {
		if (pool->mempool == mempool)
			pool->used = false;
	}
	pools_sweep();
	LIST_FOREACH(pool, &pools, link)
		kept |= pool->mempool == mempool;
	pthread_mutex_unlock(&pools_lock);
	return !kept;
}
