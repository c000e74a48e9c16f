/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table from numbers to what has them: keys to regions, numbers of queue pairs to connections. Its room is taken once; finding
 * takes neither a lock nor memory.
 *
 * Threads: one at a time.
 */
#ifndef RDMO_MAP_H
#define RDMO_MAP_H

#include <stdint.h>

struct rdmo_map_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct rdmo_map {
	struct rdmo_map_slot *slots; /* a power of two, twice as many as may be used at least */
	uint32_t shift;		     /* of a hash, to the index of a slot */
	uint32_t count, max;
};

/* `max`: values that it can have, 1 .. 2^20. Returns 0, -ENOMEM. */
int rdmo_map_open(struct rdmo_map *map, uint32_t max);
void rdmo_map_close(struct rdmo_map *map);

/* `value` is not NULL. Returns 0; -EEXIST the key is there; -ENOSPC it is full. */
int rdmo_map_put(struct rdmo_map *map, uint64_t key, void *value);

/* The value of a key, or NULL. */
void *rdmo_map_find(const struct rdmo_map *map, uint64_t key);

/* Likewise, and it is not there any more. */
void *rdmo_map_take(struct rdmo_map *map, uint64_t key);

#endif
