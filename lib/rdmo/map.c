/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "map.h"

/* 2^64 divided by the golden ratio: neighbours go far from each other. */
#define MAP_HASH UINT64_C(0x9e3779b97f4a7c15)

static uint32_t
map_mask(const struct rdmo_map *map)
{
	return (uint32_t)(UINT64_MAX >> map->shift);
}

static uint32_t
map_home(const struct rdmo_map *map, uint64_t key)
{
	return (uint32_t)(key * MAP_HASH >> map->shift);
}

/* Where the key is, or the free slot where it would be put. */
static uint32_t
map_index(const struct rdmo_map *map, uint64_t key)
{
	uint32_t i = map_home(map, key);

	while (map->slots[i].value != NULL && map->slots[i].key != key)
		i = (i + 1) & map_mask(map);
	return i;
}

int
rdmo_map_open(struct rdmo_map *map, uint32_t max)
{
	uint32_t bits = 1;

	while (UINT32_C(1) << bits < 2 * max)
		bits++;
	*map = (struct rdmo_map){
		.slots = calloc((size_t)1 << bits, sizeof(*map->slots)),
		.shift = 64 - bits,
		.max = max,
	};
	return map->slots != NULL ? 0 : -ENOMEM;
}

void
rdmo_map_close(struct rdmo_map *map)
{
	free(map->slots);
	*map = (struct rdmo_map){ 0 };
}

int
rdmo_map_put(struct rdmo_map *map, uint64_t key, void *value)
{
	const uint32_t i = map_index(map, key);

	if (map->slots[i].value != NULL)
		return -EEXIST;
	if (map->count == map->max)
		return -ENOSPC;
	map->slots[i] = (struct rdmo_map_slot){ .key = key, .value = value };
	map->count++;
	return 0;
}

void *
rdmo_map_find(const struct rdmo_map *map, uint64_t key)
{
	return map->slots[map_index(map, key)].value;
}

void *
rdmo_map_take(struct rdmo_map *map, uint64_t key)
{
	const uint32_t mask = map_mask(map);
	uint32_t hole = map_index(map, key);
	void *value = map->slots[hole].value;

	if (value == NULL)
		return NULL;
	/* Each of those behind it moves into the hole, unless the hole is before its home. */
	for (uint32_t i = (hole + 1) & mask; map->slots[i].value != NULL; i = (i + 1) & mask) {
		const uint32_t home = map_home(map, map->slots[i].key);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].value = NULL;
	map->count--;
	return value;
}
