/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: what keys (mkey.c) and pools, whose keys are found by address (mkey_pool.c), know of each other. */
#ifndef RNIC_MKEY_H
#define RNIC_MKEY_H

#include "core/internal.h"
#include "rdmapmd_driver.h"

/* Memory with a key of its own. */
struct rnic_mkey_region {
	struct rdmapmd_handle handle;  /* number: the index */
	struct rnic_mkey_region *next; /* of the same pool; its owner's */
	uintptr_t start, end;	       /* what the key covers */
	uint64_t address;	       /* what work requests call `start` by */
	uint32_t key, pd;
	unsigned int access; /* enum rnic_mkey_access */
	void *mapped;	     /* whole pages */
	size_t mapped_length;
	uint64_t iova;
};

struct rnic_mkeys {
	struct rdmapmd_table *regions; /* by index */
	pthread_mutex_t lock;	       /* of all keys and all pools */
	struct rnic_mkey_history *history;
};

/* ---- mkey.c: called with the lock held ---- */

/* Maps the memory for the device, and makes a key that was not in use lately. */
int rnic_mkey_region_create(struct rnic_dev *dev, const struct rnic_mkey_attr *attr,
			    struct rnic_mkey_region **region);
/* Key first, then the map, then the memory is the owner's again; the region is freed. What the device or the access say. */
int rnic_mkey_region_destroy(struct rnic_dev *dev, struct rnic_mkey_region *region);

/* For the driver's own queues: its PD, the process's addresses, nothing for peers. */
static inline struct rnic_mkey_attr
rnic_mkey_attr_own(const struct rnic_dev *dev, uintptr_t start, size_t length, unsigned int rights)
{
	return (struct rnic_mkey_attr){
		.memory = (void *)start,
		.length = length,
		.address = start,
		.pd = dev->pd,
		.access = rights & RNIC_ACCESS_WRITE ? RNIC_MKEY_LOCAL_WRITE : 0,
	};
}

/* ---- mkey_pool.c ---- */

int rnic_mkey_pools_create(struct rnic_dev *dev);
/* With all keys of theirs. */
void rnic_mkey_pools_destroy(struct rnic_dev *dev);

#endif
