/* SPDX-License-Identifier: BSD-3-Clause */

/* Mailbox blocks: made many at a time, chained, filled, given back. */

#include "core/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dev.h"
#include "core/mem.h"
#include "prm/cmdq.h"

#define CHUNK_BYTES 65536u /* made at a time */

struct rnic_mailbox_chunk {
	struct rnic_mailbox_chunk *next;
	struct rnic_mem mem;
	struct rnic_mailbox mailboxes[];
};

static int
grow_pool(struct rnic_dev *dev, struct rnic_mailbox_pool *pool)
{
	const uint32_t count = CHUNK_BYTES / RNIC_CMDQ_BLOCK_ALIGN;
	struct rnic_mailbox_chunk *chunk =
		calloc(1, sizeof(*chunk) + count * sizeof(chunk->mailboxes[0]));
	uint32_t i;
	int rc;

	if (chunk == NULL)
		return -ENOMEM;
	rc = rnic_mem_alloc(dev, pool->what, CHUNK_BYTES, RNIC_PAGE_BYTES, pool->rights,
			    &chunk->mem);
	if (rc != 0) {
		free(chunk);
		return rc;
	}
	for (i = 0; i < count; i++) {
		struct rnic_mailbox *mailbox = &chunk->mailboxes[i];
		size_t offset = (size_t)i * RNIC_CMDQ_BLOCK_ALIGN;

		mailbox->block = (struct rnic_cmdq_block *)((uint8_t *)chunk->mem.address + offset);
		mailbox->iova = chunk->mem.iova + offset;
		mailbox->next = pool->free;
		pool->free = mailbox;
	}
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	return 0;
}

void
rnic_mailbox_put(struct rnic_mailbox_pool *pool, struct rnic_mailbox *chain)
{
	while (chain != NULL) {
		struct rnic_mailbox *next = chain->next;

		chain->next = pool->free;
		pool->free = chain;
		chain = next;
	}
}

int
rnic_mailbox_get(struct rnic_dev *dev, struct rnic_mailbox_pool *pool, uint32_t count,
		 uint8_t token, struct rnic_mailbox **result)
{
	struct rnic_mailbox *chain = NULL, *mailbox;
	int rc;

	/* From the last block to the first: each names the next. */
	while (count-- > 0) {
		if (pool->free == NULL) {
			rc = grow_pool(dev, pool);
			if (rc != 0) {
				rnic_mailbox_put(pool, chain);
				return rc;
			}
		}
		mailbox = pool->free;
		pool->free = mailbox->next;
		memset(mailbox->block, 0, sizeof(*mailbox->block));
		mailbox->block->next = rnic_cpu_to_be64(chain != NULL ? chain->iova : 0);
		mailbox->block->block_number = rnic_cpu_to_be32(count);
		mailbox->block->token = token;
		mailbox->next = chain;
		chain = mailbox;
	}
	*result = chain;
	return 0;
}

void
rnic_mailbox_copy_in(struct rnic_mailbox *chain, const uint8_t *from, uint32_t bytes)
{
	while (bytes > 0) {
		uint32_t n = bytes < RNIC_CMDQ_BLOCK_BYTES ? bytes : RNIC_CMDQ_BLOCK_BYTES;

		memcpy(chain->block->data, from, n);
		from += n;
		bytes -= n;
		chain = chain->next;
	}
}

void
rnic_mailbox_copy_out(const struct rnic_mailbox *chain, uint8_t *to, uint32_t bytes)
{
	while (bytes > 0) {
		uint32_t n = bytes < RNIC_CMDQ_BLOCK_BYTES ? bytes : RNIC_CMDQ_BLOCK_BYTES;

		memcpy(to, chain->block->data, n);
		to += n;
		bytes -= n;
		chain = chain->next;
	}
}

void
rnic_mailbox_pool_free(struct rnic_dev *dev, struct rnic_mailbox_pool *pool)
{
	struct rnic_mailbox_chunk *chunk;

	while ((chunk = pool->chunks) != NULL) {
		pool->chunks = chunk->next;
		rnic_mem_free(dev, &chunk->mem);
		free(chunk);
	}
	pool->free = NULL;
}
