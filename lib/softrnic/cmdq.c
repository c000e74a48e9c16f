/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command queue: fetch an entry and its mailboxes, have the command executed, write the output back.
 *
 * Nothing of an entry or a mailbox is read twice: the host may change them at any time. The owner bit is the hand-over,
 * both ways: acquired before the entry is read, released behind the last byte of the output.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "dump.h"
#include "work.h"

#define CMD_HEADER_BYTES 8
#define CMD_OUT_ROOM	 0x2000 /* at least; handlers of fixed outputs do not look at out_bytes */
/* Longest input or output: a memory key of a million pages. */
#define CMD_MAX_BYTES ((UINT32_C(1) << 23) + 0x110)
/* What a command counts for in its turn, beside its mailboxes and what its handler walks through. */
#define CMD_WORK 64
/* A buffer larger than this is not kept for the next command. */
#define CMD_KEEP_BYTES (1u << 20)

struct softrnic_cmdq {
	uint8_t *in, *out;
	size_t in_room, out_room;
	uint64_t *blocks; /* of the output chain */
	size_t block_room;
	/* A command that is executed, and answered when all objects have gone (dev->leaving): its slot, its output. */
	bool waits;
	unsigned int waiting;
	uint32_t waiting_bytes;
};

int
softrnic_cmdq_init(struct softrnic *dev)
{
	dev->cmdq = calloc(1, sizeof(*dev->cmdq));
	return dev->cmdq == NULL ? -ENOMEM : 0;
}

void
softrnic_cmdq_fini(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;

	if (cmdq == NULL)
		return;
	free(cmdq->in);
	free(cmdq->out);
	free(cmdq->blocks);
	free(cmdq);
	dev->cmdq = NULL;
}

static bool
make_room(void *buffer, size_t *room, size_t bytes)
{
	void **p = buffer;

	if (bytes <= *room && (*room <= CMD_KEEP_BYTES || bytes > CMD_KEEP_BYTES))
		return true;
	free(*p);
	*p = malloc(bytes);
	*room = *p == NULL ? 0 : bytes;
	return *p != NULL;
}

static uint32_t
mailbox_blocks(uint32_t length)
{
	if (length <= RNIC_CMDQ_INLINE_BYTES)
		return 0;
	return (length - RNIC_CMDQ_INLINE_BYTES + RNIC_CMDQ_BLOCK_BYTES - 1) /
	       RNIC_CMDQ_BLOCK_BYTES;
}

/* One block of a chain, checked; the same checks for both directions. */
static enum rnic_cmdq_delivery_status
fetch_block(struct softrnic *dev, uint64_t iova, uint32_t number, uint8_t token,
	    enum rnic_cmdq_delivery_status bad_pointer, struct rnic_cmdq_block *block)
{
	if (iova == 0 || iova % RNIC_CMDQ_BLOCK_ALIGN != 0 ||
	    softrnic_dma_read(dev, iova, block, sizeof(*block)) != 0)
		return bad_pointer;
	if (block->token != token)
		return RNIC_DELIVERY_TOKEN_ERR;
	if (rnic_be32_to_cpu(block->block_number) != number)
		return RNIC_DELIVERY_BLOCK_NUMBER_ERR;
	return RNIC_DELIVERY_OK;
}

static enum rnic_cmdq_delivery_status
fetch_input(struct softrnic *dev, const struct rnic_cmdq_entry *entry, uint32_t length)
{
	uint64_t next = rnic_be64_to_cpu(entry->input_mailbox);
	uint32_t blocks = mailbox_blocks(length);
	struct softrnic_cmdq *cmdq = dev->cmdq;
	uint8_t *to = cmdq->in;

	memcpy(to, entry->input, RNIC_CMDQ_INLINE_BYTES);
	to += RNIC_CMDQ_INLINE_BYTES;
	for (uint32_t i = 0; i < blocks; i++) {
		struct rnic_cmdq_block block;
		enum rnic_cmdq_delivery_status status;

		status = fetch_block(dev, next, i, entry->token, RNIC_DELIVERY_INPUT_POINTER_ERR,
				     &block);
		if (status != RNIC_DELIVERY_OK)
			return status;
		memcpy(to, block.data, sizeof(block.data));
		to += sizeof(block.data);
		next = rnic_be64_to_cpu(block.next);
	}
	return RNIC_DELIVERY_OK;
}

/* Where the output will go; all of it must be there before the command runs. */
static enum rnic_cmdq_delivery_status
fetch_output(struct softrnic *dev, const struct rnic_cmdq_entry *entry, uint32_t length)
{
	uint64_t next = rnic_be64_to_cpu(entry->output_mailbox);
	uint32_t blocks = mailbox_blocks(length);

	for (uint32_t i = 0; i < blocks; i++) {
		struct rnic_cmdq_block block;
		enum rnic_cmdq_delivery_status status;

		status = fetch_block(dev, next, i, entry->token, RNIC_DELIVERY_OUTPUT_POINTER_ERR,
				     &block);
		if (status != RNIC_DELIVERY_OK)
			return status;
		if (!softrnic_dma_reachable(dev, next, sizeof(block.data), SOFTRNIC_DMA_WRITE))
			return RNIC_DELIVERY_OUTPUT_POINTER_ERR;
		dev->cmdq->blocks[i] = next;
		next = rnic_be64_to_cpu(block.next);
	}
	return RNIC_DELIVERY_OK;
}

static void
write_output(struct softrnic *dev, struct rnic_cmdq_entry *slot, uint32_t length)
{
	const struct softrnic_cmdq *cmdq = dev->cmdq;
	uint32_t at = length < RNIC_CMDQ_INLINE_BYTES ? length : RNIC_CMDQ_INLINE_BYTES;

	memcpy(slot->output, cmdq->out, at);
	for (uint32_t i = 0; at < length; i++) {
		uint32_t bytes = length - at;

		if (bytes > RNIC_CMDQ_BLOCK_BYTES)
			bytes = RNIC_CMDQ_BLOCK_BYTES;
		softrnic_dma_write(dev, cmdq->blocks[i], cmdq->out + at, bytes);
		at += bytes;
	}
}

static bool
fault_fits(const struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	uint32_t op_mod = dev->fault_command >> 24 & 0xffff;

	return dev->fault_command != 0 && (dev->fault_command >> 8 & 0xffff) == cmd->opcode &&
	       (op_mod == 0 || op_mod == cmd->op_mod + 1u);
}

/* The command is complete in cmdq->in; its output goes to cmdq->out. */
static void
execute(struct softrnic *dev, uint32_t in_bytes, uint32_t out_bytes)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const struct rnic_cmd_in *in = (const struct rnic_cmd_in *)cmdq->in;
	struct rnic_cmd_out *out = (struct rnic_cmd_out *)cmdq->out;
	struct softrnic_cmd cmd = {
		.opcode = rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE),
		.op_mod = rnic_cmd_in_get(in, RNIC_CMD_IN_OP_MOD),
		.in = cmdq->in,
		.in_bytes = in_bytes,
		.out = cmdq->out,
		.out_bytes = out_bytes,
	};

	softrnic_dump_cmd(dev, &cmd, false);
	if (fault_fits(dev, &cmd)) {
		rnic_cmd_out_set(out, RNIC_CMD_OUT_STATUS, dev->fault_command & 0xff);
		dev->stats.commands_failed++;
	} else {
		softrnic_cmd_execute(dev, &cmd);
	}
	dev->stats.commands++;
	softrnic_dump_cmd(dev, &cmd, true);
}

static enum rnic_cmdq_delivery_status
deliver(struct softrnic *dev, const struct rnic_cmdq_entry *entry, uint32_t *out_bytes)
{
	uint32_t in_length = rnic_be32_to_cpu(entry->input_length);
	uint32_t out_length = rnic_be32_to_cpu(entry->output_length);
	struct softrnic_cmdq *cmdq = dev->cmdq;
	enum rnic_cmdq_delivery_status status;
	size_t in_room, out_room;

	if (entry->type != RNIC_CMDQ_ENTRY_TYPE)
		return RNIC_DELIVERY_TYPE_ERR;
	if (entry->rsvd_01[0] != 0 || entry->rsvd_01[1] != 0 || entry->rsvd_01[2] != 0)
		return RNIC_DELIVERY_RESERVED_NOT_ZERO;
	if (in_length < CMD_HEADER_BYTES || in_length > CMD_MAX_BYTES)
		return RNIC_DELIVERY_INPUT_LENGTH_ERR;
	if (out_length < CMD_HEADER_BYTES || out_length > CMD_MAX_BYTES)
		return RNIC_DELIVERY_OUTPUT_LENGTH_ERR;

	in_room =
		RNIC_CMDQ_INLINE_BYTES + (size_t)mailbox_blocks(in_length) * RNIC_CMDQ_BLOCK_BYTES;
	out_room = out_length > CMD_OUT_ROOM ? out_length : CMD_OUT_ROOM;
	if (!make_room(&cmdq->in, &cmdq->in_room, in_room) ||
	    !make_room(&cmdq->out, &cmdq->out_room, out_room) ||
	    !make_room(&cmdq->blocks, &cmdq->block_room,
		       (mailbox_blocks(out_length) + 1) * sizeof(cmdq->blocks[0])))
		return RNIC_DELIVERY_INTERNAL_ERR;

	softrnic_charge(dev, CMD_WORK + mailbox_blocks(in_length) + mailbox_blocks(out_length));
	status = fetch_input(dev, entry, in_length);
	if (status == RNIC_DELIVERY_OK)
		status = fetch_output(dev, entry, out_length);
	if (status != RNIC_DELIVERY_OK)
		return status;
	memset(cmdq->out, 0, out_room);
	execute(dev, in_length, out_length);
	*out_bytes = out_length;
	return RNIC_DELIVERY_OK;
}

static struct rnic_cmdq_entry *
find_slot(struct softrnic *dev, unsigned int number)
{
	struct rnic_cmdq_entry *slot;

	slot = softrnic_dma_ptr(dev, dev->cmdq_iova + number * sizeof(*slot), sizeof(*slot),
				SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	if (dev->cmdq_iova == 0 || slot == NULL) {
		SOFTRNIC_LOG(ERR, dev,
			     "command slot %u rung, but the queue at 0x%" PRIx64
			     " is not mapped for the device",
			     number, dev->cmdq_iova);
		dev->stats.tpt_faults++;
		return NULL;
	}
	softrnic_audit(dev, slot, sizeof(*slot), SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	return slot;
}

/* Hand the slot back to the driver. */
static void
answer(struct softrnic *dev, struct rnic_cmdq_entry *slot, enum rnic_cmdq_delivery_status status,
       uint32_t out_bytes)
{
	if (status == RNIC_DELIVERY_OK)
		write_output(dev, slot, out_bytes);
	softrnic_cqs_show(dev);
	/* The driver's signature byte stays. Pairs with its acquire of the owner bit. */
	__atomic_store_n(&slot->status_own, (uint8_t)(status << 1), __ATOMIC_RELEASE);
}

void
softrnic_cmdq_reset(struct softrnic *dev)
{
	dev->cmdq->waits = false;
}

void
softrnic_cmdq_answer(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	struct rnic_cmdq_entry *slot;

	if (!cmdq->waits || dev->dead)
		return;
	cmdq->waits = false;
	slot = find_slot(dev, cmdq->waiting);
	if (slot != NULL)
		answer(dev, slot, RNIC_DELIVERY_OK, cmdq->waiting_bytes);
}

/* @return the slot's command is done (also if it could not be delivered). */
static bool
run_slot(struct softrnic *dev, unsigned int number)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	struct rnic_cmdq_entry *slot = find_slot(dev, number), entry;
	enum rnic_cmdq_delivery_status status;
	uint32_t out_bytes = 0;

	if (slot == NULL)
		return false;
	/* Pairs with the driver's release of the entry to the hardware. */
	if ((__atomic_load_n(&slot->status_own, __ATOMIC_ACQUIRE) & RNIC_CMDQ_STATUS_OWN_HW) == 0)
		return false;
	memcpy(&entry, slot, offsetof(struct rnic_cmdq_entry, status_own));
	if (dev->fault_stuck != 0 &&
	    dev->fault_stuck ==
		    rnic_cmd_in_get((const struct rnic_cmd_in *)entry.input, RNIC_CMD_IN_OPCODE))
		return false;

	status = deliver(dev, &entry, &out_bytes);
	if (dev->leaving) {
		cmdq->waits = true;
		cmdq->waiting = number;
		cmdq->waiting_bytes = out_bytes;
		return false;
	}
	if (status != RNIC_DELIVERY_OK)
		SOFTRNIC_LOG(NOTICE, dev, "command in slot %u not delivered: status 0x%x", number,
			     status);
	answer(dev, slot, status, out_bytes);
	return true;
}

unsigned int
softrnic_cmdq_poll(struct softrnic *dev)
{
	uint32_t rung, done = 0;
	unsigned int count = 0;

	if (atomic_load_explicit(&dev->cmd_doorbell, memory_order_relaxed) == 0)
		return 0;
	rung = atomic_exchange_explicit(&dev->cmd_doorbell, 0, memory_order_acquire);
	softrnic_share_begin(dev, softrnic_now_ns());
	for (; rung != 0 && !dev->dead && !dev->leaving && !softrnic_share_is_over(dev);
	     rung &= rung - 1) {
		unsigned int slot = __builtin_ctz(rung);
		/* The reply to the command that makes the queue of command events is polled. */
		bool event = softrnic_event_wanted(dev, RNIC_EVENT_COMMAND);

		if (!run_slot(dev, slot))
			continue;
		count++;
		if (event)
			done |= UINT32_C(1) << slot;
	}
	/* Those that had no turn are as good as rung again. */
	if (rung != 0 && !dev->dead)
		atomic_fetch_or_explicit(&dev->cmd_doorbell, rung, memory_order_release);
	if (done != 0) {
		uint32_t data[7] = { done };

		softrnic_event(dev, RNIC_EVENT_COMMAND, 0, data);
	}
	return count;
}
