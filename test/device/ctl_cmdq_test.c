/* SPDX-License-Identifier: BSD-3-Clause */

/* The command queue itself: entries, mailboxes, delivery, events; and the DMA map that all of it goes through. */
#include <errno.h>
#include <stdlib.h>

#include "ctl_fixture.h"

/* Post a QUERY_ISSI of many bytes on slot 0, let the test spoil it, and run it. */
static void
post_nop(struct hn *hn, uint32_t in_bytes, uint32_t out_bytes)
{
	uint8_t *in = calloc(1, in_bytes);

	hn_head(in, RNIC_CMD_QUERY_ISSI, 0);
	hn_cmd_post(hn, 0, in, in_bytes, out_bytes);
	free(in);
}

static int
run(struct hn *hn)
{
	static uint8_t out[1 << 20];

	hn_ring(hn, 1);
	ctl_poll(hn, 10);
	return hn_cmd_result(hn, 0, out, 16);
}

/* A command of such lengths, spoilt so, is not delivered for that reason. */
#define SPOILED(error, in_bytes, out_bytes, change)                            \
	do {                                                                   \
		post_nop(hn, in_bytes, out_bytes);                             \
		change;                                                        \
		assert_int_equal(run(hn), HN_DELIVERY(RNIC_DELIVERY_##error)); \
	} while (0)

static struct rnic_cmdq_block *
block(struct hn *hn, uint64_t chain, uint32_t number)
{
	return hn_va(hn, chain + (uint64_t)number * RNIC_CMDQ_BLOCK_ALIGN);
}

static void
enable(struct hn *hn)
{
	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), 0);
}

/* ---- Delivery ---- */

static void
chains_of_one_to_two_hundred_blocks(void **state)
{
	struct hn *hn = *state;
	static uint8_t out[16 + 201 * 512];

	enable(hn);
	for (uint32_t blocks = 1; blocks <= 201; blocks += blocks < 10 ? 1 : 19) {
		uint32_t bytes = 16 + blocks * 512;
		uint8_t *in = calloc(1, bytes);

		hn_head(in, RNIC_CMD_QUERY_ISSI, 0);
		/* Whole blocks, and one byte less or more than that. */
		for (uint32_t n = bytes - 1; n <= bytes && n <= sizeof(out); n++) {
			memset(out, 0xee, sizeof(out));
			assert_int_equal(hn_cmd(hn, in, n, out, n), RNIC_STATUS_OK);
			assert_int_equal(hn_get32(out, 0x6c), 2);
			assert_int_equal(out[n - 1], 0);
		}
		free(in);
	}
}

static void
a_long_input_arrives_byte_for_byte(void **state)
{
	struct softrnic_conf conf = { .name = "long", .boot_pages = 6000 };
	struct hn hn;
	int32_t count;

	(void)state;
	hn_start(&hn, NULL, &conf);
	enable(&hn);
	assert_int_equal(hn_query_pages(&hn, RNIC_PAGES_BOOT, &count), 0);
	assert_int_equal(count, 6000);
	/* 94 blocks in; and all of them back, each only once. */
	assert_int_equal(hn_give_pages(&hn, count), 0);
	assert_int_equal(hn_take_pages(&hn, 7000), 6000);
	hn_stop(&hn);
}

static void
wrong_tokens(void **state)
{
	struct hn *hn = *state;

	enable(hn);
	for (uint32_t i = 0; i < 4; i++) {
		SPOILED(TOKEN_ERR, 2000, 2000, block(hn, hn->slots[0].in, i)->token ^= 0x80);
		SPOILED(TOKEN_ERR, 2000, 2000, block(hn, hn->slots[0].out, i)->token ^= 0x01);
	}
	/* Tokens may all be 0. */
	post_nop(hn, 2000, 2000);
	for (uint32_t i = 0; i < 4; i++) {
		block(hn, hn->slots[0].in, i)->token = 0;
		block(hn, hn->slots[0].out, i)->token = 0;
	}
	hn_slot(hn, 0)->token = 0;
	assert_int_equal(run(hn), RNIC_STATUS_OK);
}

static void
wrong_block_numbers(void **state)
{
	struct hn *hn = *state;

	enable(hn);
	SPOILED(BLOCK_NUMBER_ERR, 2000, 100,
		block(hn, hn->slots[0].in, 2)->block_number = rnic_cpu_to_be32(3));
	SPOILED(BLOCK_NUMBER_ERR, 100, 2000,
		block(hn, hn->slots[0].out, 0)->block_number = rnic_cpu_to_be32(1));
}

static void
chains_that_loop(void **state)
{
	struct hn *hn = *state;

	enable(hn);
	SPOILED(BLOCK_NUMBER_ERR, 16 + 50 * 512, 100,
		block(hn, hn->slots[0].in, 10)->next = rnic_cpu_to_be64(hn->slots[0].in));
	SPOILED(BLOCK_NUMBER_ERR, 100, 16 + 50 * 512,
		block(hn, hn->slots[0].out, 10)->next =
			rnic_cpu_to_be64(hn->slots[0].out + 10 * RNIC_CMDQ_BLOCK_ALIGN));
}

static void
pointers_to_nowhere(void **state)
{
	struct hn *hn = *state;
	const uint64_t bad[] = { 0,
				 1024,
				 hn->iova - 1024,
				 hn->iova + HN_MEMORY_BYTES,
				 hn->cmdq + 512,
				 UINT64_MAX - 1023,
				 hn->iova + HN_MEMORY_BYTES - 512 };

	enable(hn);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		SPOILED(INPUT_POINTER_ERR, 2000, 100,
			hn_slot(hn, 0)->input_mailbox = rnic_cpu_to_be64(bad[i]));
		SPOILED(INPUT_POINTER_ERR, 2000, 100,
			block(hn, hn->slots[0].in, 1)->next = rnic_cpu_to_be64(bad[i]));
		SPOILED(OUTPUT_POINTER_ERR, 100, 2000,
			hn_slot(hn, 0)->output_mailbox = rnic_cpu_to_be64(bad[i]));
		SPOILED(OUTPUT_POINTER_ERR, 100, 2000,
			block(hn, hn->slots[0].out, 1)->next = rnic_cpu_to_be64(bad[i]));
	}
	/* What is behind the last block that the length needs does not count. */
	post_nop(hn, 2000, 2000);
	block(hn, hn->slots[0].in, 3)->next = rnic_cpu_to_be64(1);
	block(hn, hn->slots[0].out, 3)->next = rnic_cpu_to_be64(1);
	assert_int_equal(run(hn), RNIC_STATUS_OK);
}

static void
output_mailboxes_must_be_writable(void **state)
{
	struct hn *hn = *state;
	const uint64_t iova = UINT64_C(0x9000000);
	struct rnic_cmdq_block *mailbox;
	void *memory = NULL;

	enable(hn);
	assert_int_equal(posix_memalign(&memory, 4096, 4096), 0);
	memset(memory, 0, 4096);
	assert_int_equal(softrnic_dma_map(hn->dev, iova, 4096, memory, SOFTRNIC_DMA_READ), 0);
	post_nop(hn, 16, 100);
	mailbox = memory;
	mailbox->token = hn->token;
	hn_slot(hn, 0)->output_mailbox = rnic_cpu_to_be64(iova);
	assert_int_equal(run(hn), HN_DELIVERY(RNIC_DELIVERY_OUTPUT_POINTER_ERR));
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova, 4096), 0);
	free(memory);
}

static void
entries_that_make_no_sense(void **state)
{
	struct hn *hn = *state;

	enable(hn);
	SPOILED(TYPE_ERR, 16, 16, hn_slot(hn, 0)->type = 1);
	SPOILED(RESERVED_NOT_ZERO, 16, 16, hn_slot(hn, 0)->rsvd_01[1] = 1);
	SPOILED(INPUT_LENGTH_ERR, 16, 16, hn_slot(hn, 0)->input_length = rnic_cpu_to_be32(7));
	SPOILED(OUTPUT_LENGTH_ERR, 16, 16, hn_slot(hn, 0)->output_length = rnic_cpu_to_be32(7));
	SPOILED(INPUT_LENGTH_ERR, 16, 16,
		hn_slot(hn, 0)->input_length = rnic_cpu_to_be32(UINT32_MAX));
	SPOILED(OUTPUT_LENGTH_ERR, 16, 16,
		hn_slot(hn, 0)->output_length = rnic_cpu_to_be32(UINT32_MAX));
}

static void
the_device_clears_the_owner_bit_and_nothing_else(void **state)
{
	struct hn *hn = *state;

	enable(hn);
	post_nop(hn, 16, 16);
	assert_int_equal(run(hn), RNIC_STATUS_OK);
	assert_int_equal(hn_slot(hn, 0)->signature, 0x5a);
	assert_int_equal(hn_slot(hn, 0)->token, hn->token);
	assert_int_equal(hn_slot(hn, 0)->status_own, 0);
	/* A slot that is not the device's is left alone, however often it is rung. */
	memset(hn_slot(hn, 0)->output, 0xee, 16);
	hn_ring(hn, 1);
	ctl_poll(hn, 10);
	assert_int_equal(hn_slot(hn, 0)->output[0], 0xee);
	/* And one that was not rung as well. */
	post_nop(hn, 16, 16);
	ctl_poll(hn, 10);
	assert_int_equal(hn_slot(hn, 0)->status_own, 1);
	assert_int_equal(run(hn), RNIC_STATUS_OK);
}

static void
output_is_cut_to_its_length(void **state)
{
	struct hn *hn = *state;
	struct rnic_function_in in = { 0 };
	static uint8_t whole[0x1010], part[0x1010];

	hn_enable(hn);
	hn_head(&in, RNIC_CMD_QUERY_HCA_CAP, 1);
	hn_cmd_ok(hn, &in, sizeof(in), whole, sizeof(whole));
	for (uint32_t bytes = 8; bytes < sizeof(whole); bytes += bytes < 64 ? 4 : 0xf4) {
		memset(part, 0xee, sizeof(part));
		hn_cmd_post(hn, 0, &in, sizeof(in), bytes);
		/* What is behind the end stays: inline bytes, the rest of the last block. */
		memset(hn_slot(hn, 0)->output, 0xee, 16);
		if (bytes > 16)
			memset(block(hn, hn->slots[0].out, (bytes - 17) / 512)->data, 0xee, 512);
		hn_ring(hn, 1);
		ctl_poll(hn, 10);
		assert_int_equal(hn_cmd_result(hn, 0, part, bytes), RNIC_STATUS_OK);
		assert_memory_equal(part, whole, bytes);
		if (bytes < 16)
			assert_int_equal(hn_slot(hn, 0)->output[bytes], 0xee);
		else if (bytes > 16 && (bytes - 16) % 512 != 0)
			assert_int_equal(block(hn, hn->slots[0].out, (bytes - 17) / 512)
						 ->data[(bytes - 16) % 512],
					 0xee);
	}
}

static void
all_slots_at_once(void **state)
{
	struct hn *hn = *state;
	uint8_t in[1000] = { 0 }, out[1000];

	enable(hn);
	hn_head(in, RNIC_CMD_QUERY_ISSI, 0);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int slot = 0; slot < HN_SLOTS; slot++)
			hn_cmd_post(hn, slot, in, 16 + slot * 30, 0x70 + slot * 20);
		hn_ring(hn, UINT32_MAX);
		ctl_poll(hn, 10);
		for (unsigned int slot = 0; slot < HN_SLOTS; slot++) {
			assert_int_equal(hn_cmd_result(hn, slot, out, 0x70 + slot * 20),
					 RNIC_STATUS_OK);
			assert_int_equal(hn_get32(out, 0x6c), 2);
		}
	}
}

/* Until this slot is answered, in however many rounds; how many there were. */
static unsigned int
poll_until_done(struct hn *hn, unsigned int slot)
{
	unsigned int rounds = 0;
	uint8_t out[16];

	for (; hn_cmd_result(hn, slot, out, sizeof(out)) == HN_PENDING; rounds++) {
		assert_true(rounds < 100000);
		softrnic_poll(hn->poller);
	}
	return rounds;
}

/* Of the longest ones a round runs a few, however many were rung; the others follow without being rung again. */
static void
long_commands_take_turns(void **state)
{
	static uint8_t in[1u << 18];
	struct hn *hn = *state;
	uint8_t out[0x70];
	uint32_t done = 0;

	enable(hn);
	hn_head(in, RNIC_CMD_QUERY_ISSI, 0);
	for (unsigned int slot = 0; slot < HN_SLOTS; slot++)
		hn_cmd_post(hn, slot, in, sizeof(in), sizeof(out));
	hn_ring(hn, UINT32_MAX);
	softrnic_poll(hn->poller);
	for (unsigned int slot = 0; slot < HN_SLOTS; slot++)
		done += hn_cmd_result(hn, slot, out, sizeof(out)) == RNIC_STATUS_OK;
	/* 512 mailboxes each, and 4096 is the budget. */
	assert_in_range(done, 0, 8);
	for (unsigned int slot = 0; slot < HN_SLOTS; slot++) {
		poll_until_done(hn, slot);
		assert_int_equal(hn_cmd_result(hn, slot, out, sizeof(out)), RNIC_STATUS_OK);
	}
}

/* One whose mailboxes alone are more than a round's share, both ways. Others wait for it, and it is answered once. */
static void
a_long_command_takes_rounds(void **state)
{
	enum { BYTES = 3 << 20, BLOCKS = (BYTES - 16) / 512, LAST = 0x70 };
	static uint8_t in[BYTES], out[BYTES];
	struct hn *hn = *state;
	struct softrnic_stats before, after;
	uint8_t nop[16] = { 0 };

	enable(hn);
	hn_head(in, RNIC_CMD_QUERY_ISSI, 0);
	hn_head(nop, RNIC_CMD_NOP, 0);
	hn_cmd_post(hn, 4, in, sizeof(in), sizeof(out));
	hn_cmd_post(hn, 2, nop, sizeof(nop), sizeof(nop));
	/* What is not written stays as it is. */
	memset(block(hn, hn->slots[4].out, BLOCKS - 1)->data, 0xee, 512);
	before = ctl_stats(hn);
	hn_ring(hn, 1 << 4);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 4, out, 16), HN_PENDING);
	hn_ring(hn, 1 << 2);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 2, nop, sizeof(nop)), HN_PENDING);
	assert_true(poll_until_done(hn, 4) >= 2 * BLOCKS / 4096);
	poll_until_done(hn, 2);
	assert_int_equal(hn_cmd_result(hn, 4, out, sizeof(out)), RNIC_STATUS_OK);
	assert_int_equal(hn_get32(out, LAST - 4), 2);
	assert_int_equal(out[sizeof(out) - 1], 0);
	ctl_poll(hn, 10);
	after = ctl_stats(hn);
	assert_int_equal(after.commands - before.commands, 2);
	/* A reset ends one that is under way. */
	hn_cmd_post(hn, 4, in, sizeof(in), sizeof(out));
	hn_ring(hn, 1 << 4);
	softrnic_poll(hn->poller);
	softrnic_reset(hn->dev);
	hn_set_cmdq(hn);
	enable(hn);
	assert_int_equal(hn_cmd_result(hn, 4, out, 16), HN_PENDING);
}

static void
a_queue_that_is_not_mapped(void **state)
{
	struct hn *hn = *state;
	uint64_t cmdq = hn->cmdq;

	post_nop(hn, 16, 16);
	hn_write32(hn, 0x10, 0xffffffff);
	hn_write32(hn, 0x14, 0xfffff000);
	hn_ring(hn, UINT32_MAX);
	ctl_poll(hn, 10);
	assert_int_equal(ctl_stats(hn).tpt_faults, 32);
	hn->cmdq = cmdq;
	hn_set_cmdq(hn);
	enable(hn);
}

/* ---- Events and faults ---- */

static void
completion_by_event(void **state)
{
	struct hn *hn = *state;
	struct rnic_cmd_in in = { 0 };
	struct rnic_eqe eqe;
	struct hn_eq eq;
	uint32_t uar;

	hn_bring_up(hn);
	uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(hn, &eq, uar, 3, UINT64_C(1) << RNIC_EVENT_COMMAND, 0);
	/* The reply to the command that makes the queue is polled. */
	assert_false(hn_eq_next(hn, &eq, &eqe));
	hn_head(&in, RNIC_CMD_NOP, 0);
	/* Round the queue several times. */
	for (unsigned int i = 0; i < 40; i++) {
		uint32_t slots = 1u << (i % 32) | 1u << (i * 7 % 32), seen = 0;

		for (unsigned int slot = 0; slot < 32; slot++) {
			if ((slots >> slot & 1) != 0)
				hn_cmd_post(hn, slot, &in, sizeof(in), 16);
		}
		hn_ring(hn, slots);
		ctl_poll(hn, 10);
		while (hn_eq_next(hn, &eq, &eqe)) {
			assert_int_equal(eqe.type, RNIC_EVENT_COMMAND);
			assert_int_equal(seen & rnic_be32_to_cpu(eqe.data[0]), 0);
			seen |= rnic_be32_to_cpu(eqe.data[0]);
		}
		assert_int_equal(seen, slots);
		hn_eq_arm(hn, &eq);
	}
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_EQ, eq.number), 0);
}

struct raised {
	unsigned int count, vector;
};

static void
raise_vector(void *arg, unsigned int vector)
{
	struct raised *raised = arg;

	raised->count++;
	raised->vector = vector;
}

static void
arming_with_unread_entries_raises_at_once(void **state)
{
	struct hn *hn = *state;
	struct raised raised = { 0 };
	struct rnic_eqe eqe;
	struct hn_eq eq;

	hn_bring_up(hn);
	assert_int_equal(softrnic_set_interrupt(hn->dev, 5, raise_vector, &raised), 0);
	assert_int_equal(softrnic_set_interrupt(hn->dev, SOFTRNIC_MSIX_VECTORS, raise_vector, NULL),
			 -EINVAL);
	hn_create_eq(hn, &eq, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), 4,
		     UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 5);
	/* Not armed: an entry, no interrupt. */
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	assert_int_equal(raised.count, 0);
	hn_eq_arm(hn, &eq);
	assert_int_equal(raised.count, 1);
	assert_int_equal(raised.vector, 5);
	/* It has fired: not again before it is armed anew. */
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	assert_int_equal(raised.count, 1);
	while (hn_eq_next(hn, &eq, &eqe))
		;
	assert_int_equal(eq.consumer, 2);
	hn_eq_arm(hn, &eq);
	assert_int_equal(raised.count, 1);
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	assert_int_equal(raised.count, 2);
	/* Nobody is told any more. */
	assert_int_equal(softrnic_set_interrupt(hn->dev, 5, NULL, NULL), 0);
	hn_eq_arm(hn, &eq);
	assert_int_equal(raised.count, 2);
}

static void
an_event_queue_that_overruns_says_so(void **state)
{
	struct hn *hn = *state;
	struct rnic_query_eq_out out;
	struct rnic_eqe eqe;
	struct hn_eq eq;
	unsigned int count = 0;

	hn_bring_up(hn);
	hn_create_eq(hn, &eq, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), 2,
		     UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
	for (unsigned int i = 0; i < 6; i++)
		softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	while (hn_eq_next(hn, &eq, &eqe))
		count++;
	assert_int_equal(count, 4);
	assert_int_equal(drv_query(&hn->drv, RNIC_CMD_QUERY_EQ, eq.number, &out, sizeof(out)), 0);
	assert_int_not_equal(rnic_eqc_get(rnic_query_eq_out_eqc(&out), RNIC_EQC_STATUS), 0);
	assert_int_equal(rnic_eqc_get(rnic_query_eq_out_eqc(&out), RNIC_EQC_PRODUCER_COUNTER), 4);
	assert_int_equal(ctl_stats(hn).eq_overruns, 1);
}

static void
an_event_queue_follows_the_dma_map(void **state)
{
	struct hn *hn = *state;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	hn_bring_up(hn);
	ctl_event_queue(hn, &eq, RNIC_EVENT_PAGE_REQUEST);
	assert_int_equal(softrnic_dma_unmap(hn->dev, hn->iova, HN_MEMORY_BYTES), 0);
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1);
	assert_false(hn_eq_next(hn, &eq, &eqe));
	assert_int_equal(softrnic_dma_map(hn->dev, hn->iova, HN_MEMORY_BYTES, hn->memory,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
}

static void
faults_of_commands(void **state)
{
	struct hn *hn = *state;
	uint32_t number;

	hn_bring_up(hn);
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_COMMAND_STATUS,
		       (uint64_t)RNIC_CMD_ALLOC_PD << 8 | RNIC_STATUS_INTERNAL_ERR);
	assert_int_equal(hn_simple(hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), RNIC_STATUS_INTERNAL_ERR);
	assert_int_equal(hn_simple(hn, RNIC_CMD_ALLOC_UAR, 0, 0, &number), RNIC_STATUS_OK);
	/* Of one op_mod only. */
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_COMMAND_STATUS,
		       UINT64_C(2) << 24 | (uint64_t)RNIC_CMD_QUERY_HCA_CAP << 8 |
			       RNIC_STATUS_NO_RES);
	assert_int_equal(hn_simple(hn, RNIC_CMD_QUERY_HCA_CAP, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_simple(hn, RNIC_CMD_QUERY_HCA_CAP, 1, 0, NULL), RNIC_STATUS_NO_RES);
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_NONE, 0);
	softrnic_fault(hn->dev, SOFTRNIC_FAULT_COMMAND_STUCK, RNIC_CMD_ALLOC_PD);
	assert_int_equal(hn_simple(hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), HN_PENDING);
	/* Others go on. */
	assert_int_equal(hn_simple(hn, RNIC_CMD_NOP, 0, 0, NULL), RNIC_STATUS_OK);
	softrnic_reset(hn->dev);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
	assert_int_equal(hn_simple(hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), RNIC_STATUS_OK);
}

/* ---- The DMA map ---- */

static void
maps_do_not_overlap_or_wrap(void **state)
{
	struct hn *hn = *state;
	const unsigned int rw = SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE;
	static uint8_t memory[4096 * 4];
	const uint64_t base = UINT64_C(0x100000);

#define MAP(iova, length) softrnic_dma_map(hn->dev, iova, length, memory, rw)
	assert_int_equal(MAP(base, 8192), 0);
	assert_int_equal(MAP(base, 8192), -EEXIST);
	assert_int_equal(MAP(base + 4096, 4096), -EEXIST);
	assert_int_equal(MAP(base - 4096, 4097), -EEXIST);
	assert_int_equal(MAP(base + 8191, 1), -EEXIST);
	assert_int_equal(MAP(base - 4096, 16384), -EEXIST);
	assert_int_equal(MAP(base + 8192, 4096), 0);
	assert_int_equal(MAP(base - 4096, 4096), 0);
	assert_int_equal(MAP(base, 0), -EINVAL);
	assert_int_equal(MAP(UINT64_MAX - 4094, 4096), -EINVAL);
	/* Up to the very end of the address space. */
	assert_int_equal(MAP(UINT64_MAX - 4095, 4096), 0);
	assert_int_equal(MAP(UINT64_MAX, 1), -EEXIST);
	assert_int_equal(softrnic_dma_map(hn->dev, 0x5000, 4096, memory, 0), -EINVAL);
	assert_int_equal(softrnic_dma_unmap(hn->dev, base, 4096), -ENOENT);
	assert_int_equal(softrnic_dma_unmap(hn->dev, base + 4096, 4096), -ENOENT);
	assert_int_equal(softrnic_dma_unmap(hn->dev, 0x5000, 4096), -ENOENT);
	assert_int_equal(softrnic_dma_unmap(hn->dev, UINT64_MAX - 4095, 4096), 0);
	assert_int_equal(softrnic_dma_unmap(hn->dev, base, 8192), 0);
	assert_int_equal(softrnic_dma_unmap(hn->dev, base, 8192), -ENOENT);
	assert_int_equal(MAP(base, 8192), 0);
#undef MAP
}

/* Many maps, given and taken in a scrambled order, against a plain array. */
static void
many_maps_against_a_plain_list(void **state)
{
	enum { MAPS = 512 };
	struct hn *hn = *state;
	static uint8_t memory[64];
	bool mapped[MAPS] = { false };
	uint32_t count = 1, x = 1;

	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int at;
		int rc, expected;

		x = x * 1103515245 + 12345;
		at = x >> 16 & (MAPS - 1);
		if ((x >> 8 & 1) != 0) {
			rc = softrnic_dma_map(hn->dev, 0x1000000 + at * 64ul, 64, memory,
					      SOFTRNIC_DMA_READ);
			expected = mapped[at] ? -EEXIST : 0;
			count += !mapped[at];
			mapped[at] = true;
		} else {
			rc = softrnic_dma_unmap(hn->dev, 0x1000000 + at * 64ul, 64);
			expected = mapped[at] ? 0 : -ENOENT;
			count -= mapped[at];
			mapped[at] = false;
		}
		assert_int_equal(rc, expected);
	}
	assert_int_equal(ctl_stats(hn).dma_maps, count);
}

/* A mailbox that lies in two maps, at places far from each other. */
static void
mailboxes_may_cross_maps(void **state)
{
	struct hn *hn = *state;
	static uint8_t low[1024], high[1024];
	struct rnic_cmdq_block mailbox = { .data = { 0 } };
	const uint64_t iova = 0x80000;
	const unsigned int rw = SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE;

	enable(hn);
	assert_int_equal(softrnic_dma_map(hn->dev, iova, 100, low, rw), 0);
	assert_int_equal(softrnic_dma_map(hn->dev, iova + 100, 924, high, rw), 0);
	post_nop(hn, 16, 0x70);
	mailbox.token = hn->token;
	memcpy(low, &mailbox, 100);
	memcpy(high, (uint8_t *)&mailbox + 100, sizeof(mailbox) - 100);
	memset(low, 0xee, 0x60);
	hn_slot(hn, 0)->output_mailbox = rnic_cpu_to_be64(iova);
	assert_int_equal(run(hn), RNIC_STATUS_OK);
	assert_int_equal(hn_get32(low, 0x6c - 16), 2);
	assert_int_equal(low[0x6c - 17], 0);
	assert_int_equal(high[0], 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, ctl_setup, ctl_teardown)
	const struct CMUnitTest tests[] = {
		T(chains_of_one_to_two_hundred_blocks),
		T(a_long_input_arrives_byte_for_byte),
		T(wrong_tokens),
		T(wrong_block_numbers),
		T(chains_that_loop),
		T(pointers_to_nowhere),
		T(output_mailboxes_must_be_writable),
		T(entries_that_make_no_sense),
		T(the_device_clears_the_owner_bit_and_nothing_else),
		T(output_is_cut_to_its_length),
		T(all_slots_at_once),
		T(long_commands_take_turns),
		T(a_long_command_takes_rounds),
		T(a_queue_that_is_not_mapped),
		T(completion_by_event),
		T(arming_with_unread_entries_raises_at_once),
		T(an_event_queue_that_overruns_says_so),
		T(an_event_queue_follows_the_dma_map),
		T(faults_of_commands),
		T(maps_do_not_overlap_or_wrap),
		T(many_maps_against_a_plain_list),
		T(mailboxes_may_cross_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
