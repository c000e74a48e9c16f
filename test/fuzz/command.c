/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a driver that is the input talks to the device's command queue.
 *
 *   byte 0    bits 1..0: the device is off, enabled, ready, or ready with objects of every kind
 *   then operations, each
 *     u8      one of OP_x, or the high half of a command's opcode
 *     command:
 *     u8      low half of the opcode
 *     u8      op_mod
 *     u8      low half: what is wrong with the input's chain, high half: with the output's; see enum shape
 *     u8      with which block of it
 *     u16     bytes of input that the entry claims
 *     u8      bytes of output, in units of 16; 255: a lot
 *     runs    of dwords in the input: u8 how many to skip, u8 how many follow (0: end), the dwords. One whose bits
 *             23..16 are 0xfb stands for a number: bits 15..8 the type of the object, 7..0 which of those that there are
 */

#include "command.h"
#include "softrnic/base/command.h"
#include "softrnic/base/object.h"

enum shape {
	SHAPE_GOOD,
	SHAPE_LOOP,	 /* the block's next is itself */
	SHAPE_FIRST,	 /* ... is the first one */
	SHAPE_OUTSIDE,	 /* ... is not mapped */
	SHAPE_UNALIGNED, /* ... is not on 1 KiB */
	SHAPE_END,	 /* ... is 0 */
	SHAPE_HALF,	 /* ... is mapped in part */
	SHAPE_TOKEN,
	SHAPE_NUMBER,
	SHAPE_OTHER_CHAIN,
	SHAPES,
};

/* ---- Commands ---- */

static uint32_t
resolve_ref(struct softrnic *dev, uint32_t value)
{
	enum softrnic_object_type type = (value >> 8 & 0xff) % SOFTRNIC_OBJECT_TYPES;
	const struct softrnic_object *object = NULL, *next;
	uint32_t number = 0, which = value & 0xff;

	/* The last one, if there are not so many. */
	while ((next = softrnic_object_next(dev, type, &number)) != NULL) {
		object = next;
		if (which-- == 0)
			break;
	}
	return (value & 0xff000000) | (object == NULL ? 0 : object->number);
}

static void
chain_make(struct world *w, uint8_t *area, enum shape shape, unsigned int which, uint8_t token)
{
	uint64_t first = dp_iova(&w->dp, area);
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		struct rnic_cmdq_block *block =
			(struct rnic_cmdq_block *)(area + i * RNIC_CMDQ_BLOCK_ALIGN);
		uint64_t next = i + 1 < BLOCKS ? first + (i + 1) * RNIC_CMDQ_BLOCK_ALIGN : 0;

		memset(block, 0, sizeof(*block));
		block->token = token;
		block->block_number = rnic_cpu_to_be32(i);
		if (i == which % BLOCKS) {
			switch (shape) {
			case SHAPE_LOOP: next = first + i * RNIC_CMDQ_BLOCK_ALIGN; break;
			case SHAPE_FIRST: next = first; break;
			case SHAPE_OUTSIDE: next = UINT64_MAX - 1023; break;
			case SHAPE_UNALIGNED: next += 64; break;
			case SHAPE_END: next = 0; break;
			case SHAPE_HALF: next = first + BLOCKS * RNIC_CMDQ_BLOCK_ALIGN; break;
			case SHAPE_TOKEN: block->token ^= 1; break;
			case SHAPE_NUMBER: block->block_number.raw ^= 1; break;
			case SHAPE_OTHER_CHAIN:
				next = dp_iova(&w->dp, area == w->in ? w->out : w->in);
				break;
			default: break;
			}
		}
		block->next = rnic_cpu_to_be64(next);
	}
}

static void
put_input(struct world *w, struct rnic_cmdq_entry *entry, uint32_t at, uint32_t value)
{
	struct rnic_cmdq_block *block;
	struct rnic_be32 dword;

	if ((value >> REF_AT & 0xff) == REF_MARK)
		value = resolve_ref(w->dp.dev, value);
	dword = rnic_cpu_to_be32(value);
	if (at < RNIC_CMDQ_INLINE_BYTES) {
		memcpy(entry->input + at, &dword, sizeof(dword));
		return;
	}
	at -= RNIC_CMDQ_INLINE_BYTES;
	if (at / RNIC_CMDQ_BLOCK_BYTES >= BLOCKS)
		return;
	block = (struct rnic_cmdq_block *)(w->in +
					   at / RNIC_CMDQ_BLOCK_BYTES * RNIC_CMDQ_BLOCK_ALIGN);
	memcpy(block->data + at % RNIC_CMDQ_BLOCK_BYTES, &dword, sizeof(dword));
}

static void
command(struct world *w, struct fuzz_input *input, uint16_t opcode)
{
	struct rnic_cmdq_entry entry = { .type = RNIC_CMDQ_ENTRY_TYPE, .token = 0x77 };
	uint16_t op_mod = fuzz_u8(input);
	uint8_t shapes = fuzz_u8(input), which = fuzz_u8(input);
	uint32_t in_bytes = fuzz_u16(input), out_bytes = fuzz_u8(input), at = 8, count;
	uint32_t bell = RNIC_SWAP32(1u);

	chain_make(w, w->in, (shapes & 0xf) % SHAPES, which, entry.token);
	chain_make(w, w->out, (shapes >> 4) % SHAPES, which, entry.token);
	rnic_cmd_in_set((struct rnic_cmd_in *)entry.input, RNIC_CMD_IN_OPCODE, opcode);
	rnic_cmd_in_set((struct rnic_cmd_in *)entry.input, RNIC_CMD_IN_OP_MOD, op_mod);
	for (;;) {
		at += fuzz_u8(input) * 4u;
		count = fuzz_u8(input);
		if (count == 0)
			break;
		for (; count > 0; count--, at += 4)
			put_input(w, &entry, at, RNIC_SWAP32(fuzz_u32(input)));
	}
	out_bytes = out_bytes == OUT_A_LOT ? 0x2010 : out_bytes * 16;
	entry.input_length = rnic_cpu_to_be32(in_bytes);
	entry.output_length = rnic_cpu_to_be32(out_bytes);
	entry.input_mailbox = rnic_cpu_to_be64(dp_iova(&w->dp, w->in));
	entry.output_mailbox = rnic_cpu_to_be64(dp_iova(&w->dp, w->out));
	entry.status_own = RNIC_CMDQ_STATUS_OWN_HW;
	if (w->patched)
		((uint8_t *)&entry)[w->patch_at % sizeof(entry)] = w->patch;
	w->patched = false;
	w->entries[0] = entry;
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &bell, 4);
	softrnic_poll(command_poller);
}

/* ---- Everything else ---- */

#define MAPS 6 /* the last one is none */

static void
unmap(struct world *w, unsigned int which)
{
	/* Boundaries as arena_make() and bring-up have them; what matches no map is refused. */
	const struct {
		void *at;
		size_t bytes;
	} maps[MAPS] = {
		{ w->dp.memory, 4 * 4096 },
		{ w->dp.memory + 5 * 4096, 32 * 4096 },
		{ w->dp.memory + 38 * 4096, 512 * sizeof(struct rnic_eqe) },
		{ w->sq.ring, (size_t)RNIC_WQEBB_BYTES << w->sq.log_size },
		{ w->cq.ring, sizeof(struct rnic_cqe) << w->cq.log_size },
	};

	fuzz_unmap(&w->gone, &w->dp, maps[which].at, maps[which].bytes);
}

static void
registers(struct world *w, struct fuzz_input *input, bool write)
{
	uint32_t offset = fuzz_u32(input) & 0x1fffff;
	uint8_t bytes = fuzz_u8(input), data[16] = { 0 };

	if (write) {
		fuzz_bytes(input, data, bytes & 0xf);
		softrnic_bar_write(w->dp.dev, offset, data, bytes & 0xf);
	} else {
		softrnic_bar_read(w->dp.dev, offset, data, bytes & 0xf);
	}
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	uint8_t op = fuzz_u8(input);
	unsigned int n;

	switch (op) {
	case OP_BAR_WRITE: registers(w, input, true); break;
	case OP_BAR_READ: registers(w, input, false); break;
	case OP_UNMAP: unmap(w, fuzz_u8(input) % MAPS); break;
	case OP_RESET: softrnic_reset(w->dp.dev); break;
	case OP_FAULT:
		n = fuzz_u8(input) % 7;
		softrnic_fault(w->dp.dev, (enum softrnic_fault)n,
			       (uint64_t)(int16_t)fuzz_u16(input));
		break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(command_poller);
		break;
	case OP_ENTRY:
		w->patch_at = fuzz_u8(input);
		w->patch = fuzz_u8(input);
		w->patched = true;
		break;
	default: command(w, input, (uint16_t)(op << 8 | fuzz_u8(input)));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct world w;

	if (size < 2)
		return 0;
	command_world_open(&w, fuzz_u8(&input) % 4);
	while (input.left > 0)
		operation(&w, &input);
	softrnic_poll(command_poller);
	command_world_close(&w);
	return 0;
}

void
fuzz_begin(void)
{
	fuzz_device_quiet();
	must(softrnic_poller_create(&command_poller) == 0);
}
