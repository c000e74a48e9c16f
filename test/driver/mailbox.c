/* SPDX-License-Identifier: BSD-3-Clause */

/* The door by mailboxes: the command queue, as a driver uses it. */
#include <string.h>

#include "host.h"
#include "prm/init_seg.h"

#define BLOCK_ROOM  RNIC_CMDQ_BLOCK_ALIGN
#define BLOCK_BYTES 512u  /* of data */
#define ENTRY_BYTES 16u	  /* of data in the entry itself */
#define POLLS	    20000 /* on a test's own clock 20 ms */

static int
bar_write32(struct hn *hn, uint64_t offset, uint32_t value)
{
	struct rnic_be32 be = rnic_cpu_to_be32(value);

	return softrnic_bar_write(hn->dev, offset, &be, sizeof(be));
}

int
hn_open_cmdq(struct hn *hn)
{
	hn->cmdq = hn_iova(hn, hn_need(hn, 4096, 4096));
	return hn_tell_cmdq(hn);
}

int
hn_tell_cmdq(struct hn *hn)
{
	int rc = bar_write32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH), hn->cmdq >> 32);

	return rc != 0 ? rc
		       : bar_write32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW),
				     (uint32_t)hn->cmdq);
}

static uint32_t
chain_blocks(uint32_t bytes)
{
	return bytes <= ENTRY_BYTES ? 0 : (bytes - ENTRY_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static struct rnic_cmdq_block *
chain_block(const struct hn *hn, uint64_t first, uint32_t i)
{
	return hn_at(hn, first + (uint64_t)i * BLOCK_ROOM);
}

/* A chain of at least `blocks` blocks, set up for this token. */
static void
chain(struct hn *hn, uint64_t *iova, uint32_t *room, uint32_t blocks)
{
	if (*room < blocks) {
		*iova = hn_iova(hn, hn_need(hn, (size_t)blocks * BLOCK_ROOM, BLOCK_ROOM));
		*room = blocks;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		struct rnic_cmdq_block *block = chain_block(hn, *iova, i);

		memset(block, 0, sizeof(*block));
		if (i + 1 < blocks)
			block->next = rnic_cpu_to_be64(*iova + (i + 1) * (uint64_t)BLOCK_ROOM);
		block->block_number = rnic_cpu_to_be32(i);
		block->token = hn->token;
	}
}

/* What block i has of so many bytes. */
static uint32_t
block_bytes(uint32_t bytes, uint32_t i)
{
	const uint32_t left = bytes - ENTRY_BYTES - i * BLOCK_BYTES;

	return left < BLOCK_BYTES ? left : BLOCK_BYTES;
}

struct rnic_cmdq_entry *
hn_slot(struct hn *hn, unsigned int slot)
{
	return (struct rnic_cmdq_entry *)hn_at(hn, hn->cmdq) + slot;
}

static void
put_uid(const struct hn *hn, void *in)
{
	if (hn->uid != NULL)
		rnic_cmd_in_set(in, RNIC_CMD_IN_UID,
				hn->uid((uint16_t)rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE)));
}

void
hn_cmd_post(struct hn *hn, unsigned int slot, const void *in, uint32_t in_bytes, uint32_t out_bytes)
{
	uint32_t in_blocks = chain_blocks(in_bytes), out_blocks = chain_blocks(out_bytes);
	struct rnic_cmdq_entry *entry = hn_slot(hn, slot);

	if (++hn->token == 0)
		hn->token = 1;
	chain(hn, &hn->slots[slot].in, &hn->slots[slot].in_blocks, in_blocks);
	chain(hn, &hn->slots[slot].out, &hn->slots[slot].out_blocks, out_blocks);
	hn->slots[slot].out_bytes = out_bytes;
	memset(entry, 0, sizeof(*entry));
	entry->type = RNIC_CMDQ_ENTRY_TYPE;
	entry->input_length = rnic_cpu_to_be32(in_bytes);
	entry->output_length = rnic_cpu_to_be32(out_bytes);
	memcpy(entry->input, in, in_bytes < ENTRY_BYTES ? in_bytes : ENTRY_BYTES);
	put_uid(hn, entry->input);
	for (uint32_t i = 0; i < in_blocks; i++)
		memcpy(chain_block(hn, hn->slots[slot].in, i)->data,
		       (const uint8_t *)in + ENTRY_BYTES + i * BLOCK_BYTES,
		       block_bytes(in_bytes, i));
	if (in_blocks > 0)
		entry->input_mailbox = rnic_cpu_to_be64(hn->slots[slot].in);
	if (out_blocks > 0)
		entry->output_mailbox = rnic_cpu_to_be64(hn->slots[slot].out);
	entry->token = hn->token;
	entry->signature = 0x5a;
	__atomic_store_n(&entry->status_own, RNIC_CMDQ_STATUS_OWN_HW, __ATOMIC_RELEASE);
}

int
hn_ring(struct hn *hn, uint32_t slots)
{
	return bar_write32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), slots);
}

int
hn_cmd_result(struct hn *hn, unsigned int slot, void *out, uint32_t out_bytes)
{
	struct rnic_cmdq_entry *entry = hn_slot(hn, slot);
	uint8_t status = __atomic_load_n(&entry->status_own, __ATOMIC_ACQUIRE);
	uint32_t blocks = chain_blocks(out_bytes);

	if ((status & RNIC_CMDQ_STATUS_OWN_HW) != 0)
		return HN_PENDING;
	if (status != 0)
		return HN_DELIVERY(status >> 1);
	memcpy(out, entry->output, out_bytes < ENTRY_BYTES ? out_bytes : ENTRY_BYTES);
	for (uint32_t i = 0; i < blocks; i++)
		memcpy((uint8_t *)out + ENTRY_BYTES + i * BLOCK_BYTES,
		       chain_block(hn, hn->slots[slot].out, i)->data, block_bytes(out_bytes, i));
	return entry->output[0];
}

int
hn_cmd(struct hn *hn, const void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	int status = HN_PENDING;

	hn_cmd_post(hn, 0, in, in_bytes, out_bytes);
	if (hn_ring(hn, 1) != 0)
		return HN_PENDING;
	for (int i = 0; i < POLLS && status == HN_PENDING; i++) {
		softrnic_poll(hn->poller);
		status = hn_cmd_result(hn, 0, out, out_bytes);
	}
	return status;
}
