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

#include "prm/cmdq.h"
#include "softrnic/base/clock.h"
#include "softrnic/base/dump.h"
#include "softrnic/base/work.h"
#include "softrnic/event/eq.h"
#include "softrnic/event/latch.h"
#include "softrnic/hca/cmd_table.h"
#include "softrnic/hca/cmdq.h"
#include "softrnic/hca/pages.h"
#include "softrnic/hca/quirks_poll.h"

#define CMD_HEADER_BYTES 8
#define CMD_OUT_ROOM	 0x2000 /* at least; handlers of fixed outputs do not look at out_bytes */
/* Longest input or output: a memory key of a million pages. */
#define CMD_MAX_BYTES ((UINT32_C(1) << 23) + 0x110)
/* What a command counts for in its turn, beside its mailboxes, one each way, and what its handler walks through. */
#define CMD_WORK 64
/* Beside enum rnic_cmdq_delivery_status: there is more to do, in another round. */
#define CMD_LATER 0x100
/* A buffer larger than this is not kept for the next command. */
#define CMD_KEEP_BYTES (1u << 20)

struct softrnic_cmdq {
	uint8_t *in, *out;
	size_t in_room, out_room;
	uint64_t *blocks; /* of the output chain */
	size_t block_room;
	/*
	 * The command under way, and its slot. With many mailboxes it takes several rounds, and if all objects go with it it
	 * is answered when they have gone; the others wait for it.
	 */
	enum { CMD_NONE, CMD_INPUT, CMD_OUTPUT, CMD_EXECUTE, CMD_ANSWER } step;
	unsigned int slot;
	struct rnic_cmdq_entry entry;
	uint32_t in_length, out_length;
	uint32_t block;	    /* the next mailbox */
	uint64_t next;	    /* where it is */
	uint64_t answer_ns; /* not answered before, if commands take their time */
	bool event;	    /* somebody wants to hear of it */
	/* Of quirks. Slots whose command waits for pages; those whose answer is late, and what it will be. */
	uint32_t waiting, late;
	struct {
		uint64_t at; /* CLOCK_MONOTONIC */
		uint8_t status;
		bool event;
	} answers[1 << RNIC_CMDQ_LOG_SIZE];
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
cmdq_make_room(void *buffer, size_t *room, size_t bytes)
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
cmdq_mailbox_blocks(uint32_t length)
{
	if (length <= RNIC_CMDQ_INLINE_BYTES)
		return 0;
	return (length - RNIC_CMDQ_INLINE_BYTES + RNIC_CMDQ_BLOCK_BYTES - 1) /
	       RNIC_CMDQ_BLOCK_BYTES;
}

/* One block of a chain, checked; the same checks for both directions. */
static enum rnic_cmdq_delivery_status
cmdq_fetch_block(struct softrnic *dev, uint64_t iova, uint32_t number, uint8_t token,
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

/* From the first block on, of the chain that begins there. */
static void
cmdq_step_begin(struct softrnic_cmdq *cmdq, unsigned int step, struct rnic_be64 chain)
{
	cmdq->step = step;
	cmdq->block = 0;
	cmdq->next = rnic_be64_to_cpu(chain);
}

/* Is there a turn for one more block? */
static bool
cmdq_block_may_go(struct softrnic *dev)
{
	if (softrnic_share_is_over(dev))
		return false;
	softrnic_spend(dev, 1);
	return true;
}

static int
cmdq_fetch_input(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const uint32_t blocks = cmdq_mailbox_blocks(cmdq->in_length);

	for (; cmdq->block < blocks; cmdq->block++) {
		struct rnic_cmdq_block block;
		enum rnic_cmdq_delivery_status status;

		if (!cmdq_block_may_go(dev))
			return CMD_LATER;
		status = cmdq_fetch_block(dev, cmdq->next, cmdq->block, cmdq->entry.token,
					  RNIC_DELIVERY_INPUT_POINTER_ERR, &block);
		if (status != RNIC_DELIVERY_OK)
			return status;
		memcpy(cmdq->in + RNIC_CMDQ_INLINE_BYTES +
			       (size_t)cmdq->block * RNIC_CMDQ_BLOCK_BYTES,
		       block.data, sizeof(block.data));
		cmdq->next = rnic_be64_to_cpu(block.next);
	}
	cmdq_step_begin(cmdq, CMD_OUTPUT, cmdq->entry.output_mailbox);
	return RNIC_DELIVERY_OK;
}

/* Where the output will go; all of it must be there before the command runs. */
static int
cmdq_fetch_output(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const uint32_t blocks = cmdq_mailbox_blocks(cmdq->out_length);

	for (; cmdq->block < blocks; cmdq->block++) {
		struct rnic_cmdq_block block;
		enum rnic_cmdq_delivery_status status;

		if (!cmdq_block_may_go(dev))
			return CMD_LATER;
		status = cmdq_fetch_block(dev, cmdq->next, cmdq->block, cmdq->entry.token,
					  RNIC_DELIVERY_OUTPUT_POINTER_ERR, &block);
		if (status != RNIC_DELIVERY_OK)
			return status;
		if (!softrnic_dma_reachable(dev, cmdq->next, sizeof(block.data),
					    SOFTRNIC_DMA_WRITE))
			return RNIC_DELIVERY_OUTPUT_POINTER_ERR;
		memset(cmdq->out + RNIC_CMDQ_INLINE_BYTES +
			       (size_t)cmdq->block * RNIC_CMDQ_BLOCK_BYTES,
		       0, RNIC_CMDQ_BLOCK_BYTES);
		cmdq->blocks[cmdq->block] = cmdq->next;
		cmdq->next = rnic_be64_to_cpu(block.next);
	}
	cmdq->step = CMD_EXECUTE;
	return RNIC_DELIVERY_OK;
}

/* All of the output but what stands in the slot. */
static int
cmdq_write_output(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const uint32_t blocks = cmdq_mailbox_blocks(cmdq->out_length);

	for (; cmdq->block < blocks; cmdq->block++) {
		uint32_t at = RNIC_CMDQ_INLINE_BYTES + cmdq->block * RNIC_CMDQ_BLOCK_BYTES;
		uint32_t bytes = cmdq->out_length - at;

		if (!cmdq_block_may_go(dev))
			return CMD_LATER;
		if (bytes > RNIC_CMDQ_BLOCK_BYTES)
			bytes = RNIC_CMDQ_BLOCK_BYTES;
		softrnic_dma_write(dev, cmdq->blocks[cmdq->block], cmdq->out + at, bytes);
	}
	return RNIC_DELIVERY_OK;
}

static bool
cmdq_fault_fits(const struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	uint32_t op_mod = dev->fault_command >> 24 & 0xffff;

	return dev->fault_command != 0 && (dev->fault_command >> 8 & 0xffff) == cmd->opcode &&
	       (op_mod == 0 || op_mod == cmd->op_mod + 1u);
}

/* The command is complete in cmdq->in; its output goes to cmdq->out. */
static void
cmdq_execute(struct softrnic *dev, uint32_t in_bytes, uint32_t out_bytes)
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
		.in_keepable = cmdq->in_room > CMD_KEEP_BYTES,
	};

	softrnic_dump_cmd(dev, &cmd, false);
	if (cmdq_fault_fits(dev, &cmd)) {
		rnic_cmd_out_set(out, RNIC_CMD_OUT_STATUS, dev->fault_command & 0xff);
		dev->stats.commands_failed++;
	} else {
		softrnic_cmd_execute(dev, &cmd);
	}
	if (cmd.in_kept) {
		cmdq->in = NULL;
		cmdq->in_room = 0;
	}
	dev->stats.commands++;
	softrnic_dump_cmd(dev, &cmd, true);
}

static size_t
cmdq_output_room(uint32_t out_length)
{
	const size_t blocks = RNIC_CMDQ_INLINE_BYTES +
			      (size_t)cmdq_mailbox_blocks(out_length) * RNIC_CMDQ_BLOCK_BYTES;

	return blocks > CMD_OUT_ROOM ? blocks : CMD_OUT_ROOM;
}

/* The entry makes sense, and there is room for what it brings and asks for. */
static enum rnic_cmdq_delivery_status
cmdq_begin(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const struct rnic_cmdq_entry *entry = &cmdq->entry;
	const uint32_t in_length = rnic_be32_to_cpu(entry->input_length);
	const uint32_t out_length = rnic_be32_to_cpu(entry->output_length);

	if (entry->type != RNIC_CMDQ_ENTRY_TYPE)
		return RNIC_DELIVERY_TYPE_ERR;
	if (entry->rsvd_01[0] != 0 || entry->rsvd_01[1] != 0 || entry->rsvd_01[2] != 0)
		return RNIC_DELIVERY_RESERVED_NOT_ZERO;
	if (in_length < CMD_HEADER_BYTES || in_length > CMD_MAX_BYTES)
		return RNIC_DELIVERY_INPUT_LENGTH_ERR;
	if (out_length < CMD_HEADER_BYTES || out_length > CMD_MAX_BYTES)
		return RNIC_DELIVERY_OUTPUT_LENGTH_ERR;

	if (!cmdq_make_room(&cmdq->in, &cmdq->in_room,
			    RNIC_CMDQ_INLINE_BYTES + (size_t)cmdq_mailbox_blocks(in_length) *
							     RNIC_CMDQ_BLOCK_BYTES) ||
	    !cmdq_make_room(&cmdq->out, &cmdq->out_room, cmdq_output_room(out_length)) ||
	    !cmdq_make_room(&cmdq->blocks, &cmdq->block_room,
			    (cmdq_mailbox_blocks(out_length) + 1) * sizeof(cmdq->blocks[0])))
		return RNIC_DELIVERY_INTERNAL_ERR;

	softrnic_spend(dev, CMD_WORK);
	cmdq->in_length = in_length;
	cmdq->out_length = out_length;
	memcpy(cmdq->in, entry->input, RNIC_CMDQ_INLINE_BYTES);
	cmdq_step_begin(cmdq, CMD_INPUT, entry->input_mailbox);
	return RNIC_DELIVERY_OK;
}

static struct rnic_cmdq_entry *
cmdq_find_slot(struct softrnic *dev, unsigned int number)
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

/* Hand the slot back to the driver. The driver's signature byte stays. */
static void
cmdq_hand_back(struct softrnic *dev, struct rnic_cmdq_entry *slot, uint8_t status)
{
	softrnic_cqs_show(dev);
	/* Pairs with the driver's acquire of the owner bit. */
	__atomic_store_n(&slot->status_own, (uint8_t)(status << 1), __ATOMIC_RELEASE);
}

static bool
cmdq_keep_answer(struct softrnic *dev, uint8_t status)
{
	const uint64_t delay = softrnic_quirks_answer_delay(dev);
	struct softrnic_cmdq *cmdq = dev->cmdq;

	if (delay == 0)
		return false;
	cmdq->answers[cmdq->slot].at = softrnic_now_ns() + delay;
	cmdq->answers[cmdq->slot].status = status;
	cmdq->answers[cmdq->slot].event = cmdq->event;
	cmdq->late |= UINT32_C(1) << cmdq->slot;
	return true;
}

/* Those whose time has come; returns the slots that somebody wants to hear of. */
static uint32_t
cmdq_answer_late(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	const uint64_t now = softrnic_now_ns();
	uint32_t done = 0;

	for (uint32_t left = cmdq->late; left != 0; left &= left - 1) {
		const unsigned int number = (unsigned int)__builtin_ctz(left);
		struct rnic_cmdq_entry *slot;

		if (now < cmdq->answers[number].at)
			continue;
		cmdq->late &= ~(UINT32_C(1) << number);
		slot = cmdq_find_slot(dev, number);
		if (slot == NULL)
			continue;
		cmdq_hand_back(dev, slot, cmdq->answers[number].status);
		if (cmdq->answers[number].event)
			done |= UINT32_C(1) << number;
	}
	return done;
}

static void
cmdq_answer(struct softrnic *dev, int status)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	struct rnic_cmdq_entry *slot = cmdq_find_slot(dev, cmdq->slot);

	cmdq->step = CMD_NONE;
	if (slot == NULL)
		return;
	if (status == RNIC_DELIVERY_OK)
		memcpy(slot->output, cmdq->out,
		       cmdq->out_length < RNIC_CMDQ_INLINE_BYTES ? cmdq->out_length
								 : RNIC_CMDQ_INLINE_BYTES);
	else
		SOFTRNIC_LOG(NOTICE, dev, "command in slot %u not delivered: status 0x%x",
			     cmdq->slot, (unsigned int)status);
	if (!cmdq_keep_answer(dev, (uint8_t)status))
		cmdq_hand_back(dev, slot, (uint8_t)status);
}

void
softrnic_cmdq_reset(struct softrnic *dev)
{
	dev->cmdq->step = CMD_NONE;
	dev->cmdq->waiting = 0;
	dev->cmdq->late = 0;
}

/* As far as the share goes with the command under way. False: there is more to do. */
static bool
cmdq_go_on(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	int status = RNIC_DELIVERY_OK;

	if (cmdq->step == CMD_INPUT)
		status = cmdq_fetch_input(dev);
	if (status == RNIC_DELIVERY_OK && cmdq->step == CMD_OUTPUT)
		status = cmdq_fetch_output(dev);
	if (status == RNIC_DELIVERY_OK && cmdq->step == CMD_EXECUTE) {
		/* What is behind it was zeroed with its mailboxes. */
		memset(cmdq->out, 0, CMD_OUT_ROOM);
		cmdq->step = CMD_ANSWER;
		cmdq->block = 0;
		cmdq_execute(dev, cmdq->in_length, cmdq->out_length);
		cmdq->answer_ns = dev->command_ns > 0 ? softrnic_now_ns() + dev->command_ns : 0;
		if (dev->leaving)
			return false;
	}
	if (cmdq->step == CMD_ANSWER && cmdq->answer_ns > 0 && softrnic_now_ns() < cmdq->answer_ns)
		return false;
	if (status == RNIC_DELIVERY_OK)
		status = cmdq_write_output(dev);
	if (status == CMD_LATER)
		return false;
	cmdq_answer(dev, status);
	return true;
}

/* Is there a command in the slot? */
static bool
cmdq_take(struct softrnic *dev, unsigned int number)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	struct rnic_cmdq_entry *slot = cmdq_find_slot(dev, number);
	enum rnic_cmdq_delivery_status status;
	uint16_t opcode;

	/* Pairs with the driver's release of the entry to the hardware. */
	if (slot == NULL ||
	    (__atomic_load_n(&slot->status_own, __ATOMIC_ACQUIRE) & RNIC_CMDQ_STATUS_OWN_HW) == 0)
		return false;
	/* It is done, and its answer is on its way. */
	if ((cmdq->late >> number & 1) != 0)
		return false;
	memcpy(&cmdq->entry, slot, offsetof(struct rnic_cmdq_entry, status_own));
	opcode = (uint16_t)rnic_cmd_in_get((const struct rnic_cmd_in *)cmdq->entry.input,
					   RNIC_CMD_IN_OPCODE);
	if (dev->fault_stuck != 0 && dev->fault_stuck == opcode)
		return false;
	if (softrnic_quirks_command_waits(dev, opcode)) {
		cmdq->waiting |= UINT32_C(1) << number;
		return false;
	}
	cmdq->slot = number;
	/* The reply to the command that makes the queue of command events is polled. */
	cmdq->event = softrnic_event_wanted(dev, RNIC_EVENT_COMMAND);
	status = cmdq_begin(dev);
	if (status != RNIC_DELIVERY_OK)
		cmdq_answer(dev, status);
	return true;
}

/* As good as rung: those that have waited for pages, which are there; SOFTRNIC_BELL_QUIRKS, if something comes yet. */
static uint64_t
cmdq_quirks_poll(struct softrnic *dev, uint32_t *done)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	uint64_t again = 0;

	*done |= cmdq_answer_late(dev);
	if (cmdq->waiting != 0 && !softrnic_pages_missing(dev)) {
		again |= cmdq->waiting;
		cmdq->waiting = 0;
	}
	if (softrnic_quirks_poll(dev) || cmdq->late != 0)
		again |= SOFTRNIC_BELL_QUIRKS;
	return again;
}

unsigned int
softrnic_cmdq_poll(struct softrnic *dev)
{
	struct softrnic_cmdq *cmdq = dev->cmdq;
	uint32_t rung, done = 0;
	unsigned int count = 0;
	uint64_t again;

	rung = (uint32_t)atomic_exchange_explicit(&dev->cmd_doorbell, 0, memory_order_acquire);
	softrnic_share_begin(dev, softrnic_now_ns() + SOFTRNIC_SHARE_NS);
	while (rung != 0 && !dev->dead && !softrnic_share_is_over(dev)) {
		/* One that is under way comes before all others. */
		unsigned int slot =
			cmdq->step != CMD_NONE ? cmdq->slot : (unsigned int)__builtin_ctz(rung);

		if (cmdq->step == CMD_NONE && !cmdq_take(dev, slot)) {
			rung &= ~(UINT32_C(1) << slot);
			continue;
		}
		count++;
		if (cmdq->step != CMD_NONE && !cmdq_go_on(dev)) {
			rung |= UINT32_C(1) << slot;
			break;
		}
		rung &= ~(UINT32_C(1) << slot);
		if (cmdq->event && (cmdq->late >> slot & 1) == 0)
			done |= UINT32_C(1) << slot;
	}
	/* Those that had no turn are as good as rung again. */
	again = rung;
	if (dev->quirks.set != 0 && !dev->dead)
		again |= cmdq_quirks_poll(dev, &done);
	if (again != 0 && !dev->dead)
		atomic_fetch_or_explicit(&dev->cmd_doorbell, again, memory_order_release);
	if (done != 0) {
		uint32_t data[7] = { done };

		softrnic_event(dev, RNIC_EVENT_COMMAND, 0, data);
	}
	return count;
}
