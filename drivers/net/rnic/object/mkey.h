/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: memory that the device reaches by a key of its own. */
#ifndef RNIC_OBJECT_MKEY_H
#define RNIC_OBJECT_MKEY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dev.h"
#include "rdmapmd_driver.h"

struct rdmapmd_table;
struct rnic_mkey_history;

/* Reading from here is always allowed. */
enum rnic_mkey_access {
	RNIC_MKEY_LOCAL_WRITE = 1 << 0,
	RNIC_MKEY_REMOTE_WRITE = 1 << 1,
	RNIC_MKEY_REMOTE_READ = 1 << 2,
	RNIC_MKEY_REMOTE_ATOMIC = 1 << 3,
	/* no right, but an order: of devices that say so */
	RNIC_MKEY_RELAXED_WRITE = 1 << 4,
	RNIC_MKEY_RELAXED_READ = 1 << 5,
};
struct rnic_mkey_attr {
	void *memory;
	size_t length;
	/* What work requests call it by; its offset in a page of 4 KiB is that of `memory`. */
	uint64_t address;
	uint32_t pd;
	unsigned int access; /* enum rnic_mkey_access */
};
/* Map the memory, in whole pages, and make a key for it, in host order. */
int rnic_mkey_create(struct rnic_dev *dev, const struct rnic_mkey_attr *attr, uint32_t *key);
int rnic_mkey_destroy(struct rnic_dev *dev, uint32_t key);

int rnic_mkeys_create(struct rnic_dev *dev);
void rnic_mkeys_destroy(struct rnic_dev *dev);
/* Keys alive, for tests. */
uint32_t rnic_mkeys_count(struct rnic_dev *dev);

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

#endif
