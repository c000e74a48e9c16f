/* SPDX-License-Identifier: BSD-3-Clause */

/* The mempools of a PD. */
#ifndef RDMAPMD_MEMPOOL_PRIVATE_H
#define RDMAPMD_MEMPOOL_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "object_private.h"

struct rte_mempool;
struct rdmapmd_pool;
struct rdmapmd_published_keys;

struct rdmapmd_pd_object {
	struct rdmapmd_object object;
	atomic_uint pool_count;
	pthread_mutex_t pools_lock; /* of the two below */
	struct rdmapmd_pool *pools;
	/* newest first; a reader may still have an old one */
	struct rdmapmd_published_keys *published;
	pthread_mutex_t listen_lock; /* of the next */
	bool listening;		     /* to mempool events */
};

/* The PD's head is there. */
void rdmapmd_pools_init(struct rdmapmd_pd_object *pd);
/* With no lock held. */
void rdmapmd_pools_fini(struct rdmapmd_pd_object *pd);
/* Hear of mempools that are freed, until fini. With no lock held: EAL's is taken. */
int rdmapmd_pools_listen(struct rdmapmd_pd_object *pd);
int rdmapmd_pools_register(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool,
			   unsigned int access);
int rdmapmd_pools_unregister(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool);
bool rdmapmd_pools_any(struct rdmapmd_pd_object *pd);
/* Deregister all; with the driver or, once that has gone, without. */
int rdmapmd_pools_remove(struct rdmapmd_pd_object *pd);

#endif
