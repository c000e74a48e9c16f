/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which memory keys were handed out lately, so that none of them is again: a stale key of an old peer must fail.
 *
 * The device chooses a key's index, and may give the one that has just become free; its variant, the low byte, is ours.
 * So the last variants of each index are remembered. With 62 of 256 taken, a random one is fresh three times of four.
 * Indices are kept in blocks; when there are more blocks than REMEMBERED, the oldest is forgotten: that many other keys
 * were made since.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "object/mkey_history.h"
#include "rdmapmd_driver.h"

#define LOG_BLOCK  3 /* indices */
#define REMEMBERED (1u << 13)
#define VARIANTS   62

struct variants {
	uint8_t count, next;
	uint8_t last[VARIANTS];
};
_Static_assert(sizeof(struct variants) == 64, "a line for each index");

struct block {
	struct rdmapmd_handle handle; /* number: of its indices, without the low bits */
	TAILQ_ENTRY(block) link;
	struct variants indices[1 << LOG_BLOCK];
};

struct rnic_mkey_history {
	struct rdmapmd_table *table;
	TAILQ_HEAD(, block) blocks; /* oldest first */
	uint32_t count;
};

int
rnic_mkey_history_create(struct rnic_mkey_history **result)
{
	struct rnic_mkey_history *history = calloc(1, sizeof(*history));
	int rc;

	if (history == NULL)
		return -ENOMEM;
	TAILQ_INIT(&history->blocks);
	rc = rdmapmd_table_create(&history->table);
	if (rc != 0) {
		free(history);
		return rc;
	}
	*result = history;
	return 0;
}

static void
history_forget(struct rnic_mkey_history *history, struct block *block)
{
	rdmapmd_table_remove(history->table, block->handle.number, NULL);
	TAILQ_REMOVE(&history->blocks, block, link);
	history->count--;
	free(block);
}

void
rnic_mkey_history_destroy(struct rnic_mkey_history *history)
{
	struct block *block;

	if (history == NULL)
		return;
	while ((block = TAILQ_FIRST(&history->blocks)) != NULL)
		history_forget(history, block);
	rdmapmd_table_destroy(history->table);
	free(history);
}

/* What is known of an index; NULL: nothing. */
static struct variants *
history_find(struct rnic_mkey_history *history, uint32_t index)
{
	struct rdmapmd_handle *handle = rdmapmd_table_get(history->table, index >> LOG_BLOCK);
	struct block *block;

	if (handle == NULL)
		return NULL;
	/* Blocks go only by our caller, who has a lock. */
	rdmapmd_table_put(history->table, handle);
	block = container_of(handle, struct block, handle);
	return &block->indices[index & ((1u << LOG_BLOCK) - 1)];
}

bool
rnic_mkey_history_has(struct rnic_mkey_history *history, uint32_t key)
{
	const struct variants *variants = history_find(history, key >> 8);

	return variants != NULL && memchr(variants->last, (uint8_t)key, variants->count) != NULL;
}

static int
add_block(struct rnic_mkey_history *history, uint32_t index)
{
	struct block *block = calloc(1, sizeof(*block));
	int rc;

	if (block == NULL)
		return -ENOMEM;
	rc = rdmapmd_table_insert(history->table, index >> LOG_BLOCK, &block->handle);
	if (rc != 0) {
		free(block);
		return rc;
	}
	TAILQ_INSERT_TAIL(&history->blocks, block, link);
	if (++history->count > REMEMBERED)
		history_forget(history, TAILQ_FIRST(&history->blocks));
	return 0;
}

int
rnic_mkey_history_add(struct rnic_mkey_history *history, uint32_t key)
{
	struct variants *variants = history_find(history, key >> 8);
	int rc;

	if (variants == NULL) {
		rc = add_block(history, key >> 8);
		if (rc != 0)
			return rc;
		variants = history_find(history, key >> 8);
	}
	variants->last[variants->next] = (uint8_t)key;
	variants->next = (uint8_t)((variants->next + 1) % VARIANTS);
	if (variants->count < VARIANTS)
		variants->count++;
	return 0;
}
