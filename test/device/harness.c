/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"

#define BLOCK_ROOM  RNIC_CMDQ_BLOCK_ALIGN
#define POLLS	    1000
#define GUARD_BYTES (2u << 20)

/* The door of test/driver. */
static int
execute(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	return hn_cmd((struct hn *)(void *)((uint8_t *)drv - offsetof(struct hn, drv)), in,
		      in_bytes, out, out_bytes);
}

void
hn_start(struct hn *hn, struct softrnic_poller *poller, const struct softrnic_conf *conf)
{
	struct softrnic_conf given = { 0 };
	uint8_t *guarded;

	if (conf != NULL)
		given = *conf;
	if (given.name == NULL)
		given.name = "test";
	if (given.seed == 0)
		given.seed = 1;
	memset(hn, 0, sizeof(*hn));
	hn->drv.execute = execute;
	hn->poller = poller;
	if (poller == NULL) {
		hn->own_poller = true;
		assert_int_equal(softrnic_poller_create(&hn->poller), 0);
	}
	assert_int_equal(softrnic_create(hn->poller, &given, &hn->dev), 0);
	/* Untouched pages cost nothing; an access beside them ends the test. */
	guarded = mmap(NULL, HN_MEMORY_BYTES + 2 * GUARD_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(guarded, MAP_FAILED);
	hn->memory = guarded + GUARD_BYTES;
	assert_int_equal(mprotect(hn->memory, HN_MEMORY_BYTES, PROT_READ | PROT_WRITE), 0);
	hn->iova = HN_IOVA_BASE;
	assert_int_equal(softrnic_dma_map(hn->dev, hn->iova, HN_MEMORY_BYTES, hn->memory,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
	/* IOVA 0 of the harness stays unused: a null pointer must not look like memory. */
	hn->used = 4096;
	hn->cmdq = hn_alloc(hn, 4096, 4096);
	hn_set_cmdq(hn);
}

void
hn_stop(struct hn *hn)
{
	softrnic_destroy(hn->dev);
	munmap(hn->memory - GUARD_BYTES, HN_MEMORY_BYTES + 2 * GUARD_BYTES);
	if (hn->own_poller)
		assert_int_equal(softrnic_poller_destroy(hn->poller), 0);
	memset(hn, 0, sizeof(*hn));
}

uint64_t
hn_alloc(struct hn *hn, size_t bytes, size_t align)
{
	size_t at = (hn->used + align - 1) / align * align;

	if (bytes > HN_MEMORY_BYTES || at > HN_MEMORY_BYTES - bytes)
		fail_msg("harness: out of memory");
	hn->used = at + bytes;
	memset(hn->memory + at, 0, bytes);
	return hn->iova + at;
}

void *
hn_va(const struct hn *hn, uint64_t iova)
{
	assert_true(iova >= hn->iova && iova - hn->iova < HN_MEMORY_BYTES);
	return hn->memory + (iova - hn->iova);
}

/* ---- Registers ---- */

uint32_t
hn_read32(struct hn *hn, uint64_t offset)
{
	struct rnic_be32 value;

	assert_int_equal(softrnic_bar_read(hn->dev, offset, &value, sizeof(value)), 0);
	return rnic_be32_to_cpu(value);
}

void
hn_write32(struct hn *hn, uint64_t offset, uint32_t value)
{
	struct rnic_be32 be = rnic_cpu_to_be32(value);

	assert_int_equal(softrnic_bar_write(hn->dev, offset, &be, sizeof(be)), 0);
}

void
hn_write64(struct hn *hn, uint64_t offset, uint64_t value)
{
	struct rnic_be64 be = rnic_cpu_to_be64(value);

	assert_int_equal(softrnic_bar_write(hn->dev, offset, &be, sizeof(be)), 0);
}

void
hn_set_cmdq(struct hn *hn)
{
	hn_write32(hn, 0x10, hn->cmdq >> 32);
	hn_write32(hn, 0x14, (uint32_t)hn->cmdq);
}

/* ---- Commands ---- */

static uint32_t
chain_blocks(uint32_t bytes)
{
	return bytes <= 16 ? 0 : (bytes - 16 + 511) / 512;
}

/* A chain of at least `blocks` blocks, set up for this token. */
static void
chain(struct hn *hn, uint64_t *iova, uint32_t *room, uint32_t blocks)
{
	struct rnic_cmdq_block *block;

	if (*room < blocks) {
		*iova = hn_alloc(hn, (size_t)blocks * BLOCK_ROOM, BLOCK_ROOM);
		*room = blocks;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		uint64_t at = *iova + (uint64_t)i * BLOCK_ROOM;

		block = hn_va(hn, at);
		memset(block, 0, sizeof(*block));
		if (i + 1 < blocks)
			block->next = rnic_cpu_to_be64(at + BLOCK_ROOM);
		block->block_number = rnic_cpu_to_be32(i);
		block->token = hn->token;
	}
}

struct rnic_cmdq_entry *
hn_slot(struct hn *hn, unsigned int slot)
{
	return (struct rnic_cmdq_entry *)hn_va(hn, hn->cmdq) + slot;
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
	memcpy(entry->input, in, in_bytes < 16 ? in_bytes : 16);
	for (uint32_t i = 0; i < in_blocks; i++) {
		struct rnic_cmdq_block *block =
			hn_va(hn, hn->slots[slot].in + (uint64_t)i * BLOCK_ROOM);
		uint32_t at = 16 + i * 512, bytes = in_bytes - at;

		memcpy(block->data, (const uint8_t *)in + at, bytes < 512 ? bytes : 512);
	}
	if (in_blocks > 0)
		entry->input_mailbox = rnic_cpu_to_be64(hn->slots[slot].in);
	if (out_blocks > 0)
		entry->output_mailbox = rnic_cpu_to_be64(hn->slots[slot].out);
	entry->token = hn->token;
	entry->signature = 0x5a;
	__atomic_store_n(&entry->status_own, RNIC_CMDQ_STATUS_OWN_HW, __ATOMIC_RELEASE);
}

void
hn_ring(struct hn *hn, uint32_t slots)
{
	hn_write32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), slots);
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
	memcpy(out, entry->output, out_bytes < 16 ? out_bytes : 16);
	for (uint32_t i = 0; i < blocks; i++) {
		const struct rnic_cmdq_block *block =
			hn_va(hn, hn->slots[slot].out + (uint64_t)i * BLOCK_ROOM);
		uint32_t at = 16 + i * 512, bytes = out_bytes - at;

		memcpy((uint8_t *)out + at, block->data, bytes < 512 ? bytes : 512);
	}
	return entry->output[0];
}

int
hn_cmd(struct hn *hn, const void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	int status = HN_PENDING;

	hn_cmd_post(hn, 0, in, in_bytes, out_bytes);
	hn_ring(hn, 1);
	for (int i = 0; i < POLLS && status == HN_PENDING; i++) {
		softrnic_poll(hn->poller);
		status = hn_cmd_result(hn, 0, out, out_bytes);
	}
	return status;
}

void
hn_head(void *in, uint16_t opcode, uint16_t op_mod)
{
	drv_head(in, opcode, op_mod);
}

int
hn_simple(struct hn *hn, uint16_t opcode, uint16_t op_mod, uint32_t number, uint32_t *result)
{
	struct rnic_object_in in = { 0 };

	hn_head(&in, opcode, op_mod);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return drv_execute(&hn->drv, &in, sizeof(in), result);
}

int
hn_destroy(struct hn *hn, uint16_t opcode, uint32_t number)
{
	return drv_destroy(&hn->drv, opcode, number);
}

uint32_t
hn_alloc_object(struct hn *hn, uint16_t opcode)
{
	uint32_t number;

	assert_int_equal(hn_simple(hn, opcode, 0, 0, &number), RNIC_STATUS_OK);
	return number;
}

/* ---- Bring-up ---- */

int
hn_query_pages(struct hn *hn, uint16_t op_mod, int32_t *count)
{
	struct rnic_function_in in = { 0 };
	struct rnic_query_pages_out out = { 0 };
	int status;

	hn_head(&in, RNIC_CMD_QUERY_PAGES, op_mod);
	status = hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
	*count = (int32_t)rnic_query_pages_out_get(&out, RNIC_QUERY_PAGES_OUT_NUM_PAGES);
	return status;
}

int
hn_give_pages(struct hn *hn, uint32_t count)
{
	size_t bytes = sizeof(struct rnic_manage_pages_in) + count * sizeof(struct rnic_be64);
	struct rnic_manage_pages_in *in = calloc(1, bytes);
	struct rnic_be64 *list = (struct rnic_be64 *)(in + 1);
	struct rnic_manage_pages_out out;
	uint64_t pages = 0;
	int status;

	assert_non_null(in);
	if (count > 0)
		pages = hn_alloc(hn, count * 4096ul, 4096);
	hn_head(in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	for (uint32_t i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(pages + i * 4096ul);
	status = hn_cmd(hn, in, bytes, &out, sizeof(out));
	free(in);
	return status;
}

uint32_t
hn_take_pages(struct hn *hn, uint32_t count)
{
	struct rnic_manage_pages_in in = { 0 };
	uint32_t bytes = sizeof(struct rnic_manage_pages_out) + count * sizeof(struct rnic_be64);
	struct rnic_manage_pages_out *out = calloc(1, bytes);
	const struct rnic_be64 *list = (const struct rnic_be64 *)(out + 1);
	uint32_t taken;

	assert_non_null(out);
	hn_head(&in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_TAKE);
	rnic_manage_pages_in_set(&in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	hn_cmd_ok(hn, &in, sizeof(in), out, bytes);
	taken = rnic_manage_pages_out_get(out, RNIC_MANAGE_PAGES_OUT_OUTPUT_NUM_ENTRIES);
	assert_true(taken <= count);
	for (uint32_t i = 0; i < taken; i++) {
		assert_int_not_equal(list[i].raw, 0);
		assert_int_equal(rnic_be64_to_cpu(list[i]) % 4096, 0);
	}
	free(out);
	return taken;
}

void
hn_enable(struct hn *hn)
{
	int32_t count;

	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_simple(hn, RNIC_CMD_SET_ISSI, 0, 1, NULL), RNIC_STATUS_OK);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_BOOT, &count), RNIC_STATUS_OK);
	assert_int_equal(hn_give_pages(hn, count), RNIC_STATUS_OK);
}

void
hn_bring_up(struct hn *hn)
{
	int32_t count;

	hn_enable(hn);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &count), RNIC_STATUS_OK);
	assert_int_equal(hn_give_pages(hn, count), RNIC_STATUS_OK);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_OK);
}

void
hn_tear_down(struct hn *hn)
{
	assert_int_equal(hn_simple(hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), RNIC_STATUS_OK);
	while (hn_take_pages(hn, 16) > 0)
		;
	assert_int_equal(hn_simple(hn, RNIC_CMD_DISABLE_HCA, 0, 0, NULL), RNIC_STATUS_OK);
}

/* ---- Queues ---- */

/* What must succeed. */
#define OK(status) assert_int_equal(status, RNIC_STATUS_OK)

void
hn_create_eq(struct hn *hn, struct hn_eq *eq, uint32_t uar, unsigned int log_size, uint64_t mask,
	     unsigned int vector)
{
	size_t bytes = sizeof(struct rnic_eqe) << log_size;
	struct rnic_eqe *entries;

	memset(eq, 0, sizeof(*eq));
	eq->uar = uar;
	eq->log_size = log_size;
	eq->iova = hn_alloc(hn, bytes, 4096);
	entries = hn_va(hn, eq->iova);
	for (uint32_t i = 0; i < 1u << log_size; i++)
		entries[i].owner = 1;
	OK(drv_eq_create(&hn->drv,
			 &(struct drv_eq){ .log_size = log_size,
					   .uar = uar,
					   .vector = vector,
					   .events = mask,
					   .ring = drv_pages_of(eq->iova, bytes) },
			 &eq->number));
}

bool
hn_eq_next(struct hn *hn, struct hn_eq *eq, struct rnic_eqe *eqe)
{
	uint32_t entries = 1u << eq->log_size;
	struct rnic_eqe *slot =
		(struct rnic_eqe *)hn_va(hn, eq->iova) + (eq->consumer & (entries - 1));
	uint8_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);

	if (owner != ((eq->consumer & entries) != 0))
		return false;
	*eqe = *slot;
	eq->consumer++;
	return true;
}

void
hn_eq_arm(struct hn *hn, const struct hn_eq *eq)
{
	hn_write32(hn, eq->uar * (uint64_t)RNIC_UAR_PAGE_BYTES + RNIC_UAR_EQ_ARM,
		   RNIC_EQ_DOORBELL(eq->number, eq->consumer));
}

void
hn_create_cq(struct hn *hn, struct hn_cq *cq, uint32_t uar, uint32_t eqn, unsigned int log_size)
{
	size_t bytes = sizeof(struct rnic_cqe) << log_size;
	struct rnic_cqe *entries;

	memset(cq, 0, sizeof(*cq));
	cq->log_size = log_size;
	cq->iova = hn_alloc(hn, bytes, 4096);
	cq->dbrec = hn_alloc(hn, 64, 64);
	entries = hn_va(hn, cq->iova);
	for (uint32_t i = 0; i < 1u << log_size; i++)
		entries[i].op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1);
	OK(drv_cq_create(&hn->drv,
			 &(struct drv_cq){ .log_size = log_size,
					   .uar = uar,
					   .eqn = eqn,
					   .dbrec = cq->dbrec,
					   .ring = drv_pages_of(cq->iova, bytes) },
			 &cq->number));
}

bool
hn_cq_next(struct hn *hn, struct hn_cq *cq, struct rnic_cqe *cqe)
{
	uint32_t entries = 1u << cq->log_size;
	struct rnic_cqe *slot =
		(struct rnic_cqe *)hn_va(hn, cq->iova) + (cq->consumer & (entries - 1));
	uint8_t op_own = __atomic_load_n(&slot->op_own, __ATOMIC_ACQUIRE);

	if (RNIC_CQE_OPCODE(op_own) == RNIC_CQE_INVALID ||
	    (op_own & RNIC_CQE_OWNER) != ((cq->consumer & entries) != 0))
		return false;
	*cqe = *slot;
	cq->consumer++;
	return true;
}

/* A ring and its record. */
static struct drv_pages
wq_memory(struct hn *hn, struct hn_wq *wq, uint32_t log_stride, uint32_t log_size)
{
	const size_t bytes = (size_t)1 << (log_stride + log_size);

	*wq = (struct hn_wq){ .log_stride = log_stride, .log_size = log_size };
	wq->iova = hn_alloc(hn, bytes, 4096);
	wq->dbrec = hn_alloc(hn, 64, 64);
	return drv_pages_of(wq->iova, bytes);
}

void
hn_create_sq(struct hn *hn, struct hn_wq *sq, uint32_t pd, uint32_t uar, uint32_t cqn,
	     uint32_t tisn, unsigned int log_size)
{
	struct drv_pages ring = wq_memory(hn, sq, 6, log_size);

	sq->uar = uar;
	OK(drv_sq_create(&hn->drv,
			 &(struct drv_sq){ .log_size = log_size,
					   .pd = pd,
					   .uar = uar,
					   .cqn = cqn,
					   .tisn = tisn,
					   .flush = true,
					   .dbrec = sq->dbrec,
					   .ring = ring },
			 &sq->number));
}

void
hn_create_rq(struct hn *hn, struct hn_wq *rq, uint32_t pd, uint32_t cqn, unsigned int log_stride,
	     unsigned int log_size)
{
	struct drv_pages ring = wq_memory(hn, rq, log_stride, log_size);

	OK(drv_rq_create(&hn->drv,
			 &(struct drv_rq){ .log_size = log_size,
					   .log_stride = log_stride,
					   .pd = pd,
					   .cqn = cqn,
					   .vsd = true,
					   .flush = true,
					   .dbrec = rq->dbrec,
					   .ring = ring },
			 &rq->number));
}

int
hn_modify_sq(struct hn *hn, uint32_t sqn, unsigned int from, unsigned int to)
{
	return drv_sq_modify(&hn->drv, sqn, from, to);
}

int
hn_modify_rq(struct hn *hn, uint32_t rqn, unsigned int from, unsigned int to)
{
	return drv_rq_modify(&hn->drv, rqn, from, to);
}

uint32_t
hn_create_tis(struct hn *hn, uint32_t td)
{
	uint32_t tisn;

	OK(drv_tis_create(&hn->drv, td, &tisn));
	return tisn;
}

uint32_t
hn_create_rqt(struct hn *hn, const uint32_t *rqns, uint32_t count)
{
	uint32_t rqtn;

	OK(drv_rqt_create(&hn->drv, rqns, count, &rqtn));
	return rqtn;
}

uint32_t
hn_create_tir(struct hn *hn, uint32_t td, uint32_t rqn)
{
	uint32_t tirn;

	OK(drv_tir_create(&hn->drv, &(struct drv_tir){ .td = td, .rqn = rqn }, &tirn));
	return tirn;
}

uint32_t
hn_create_mkey(struct hn *hn, uint32_t pd, uint64_t iova, uint64_t length, bool write)
{
	uint64_t first = iova & ~UINT64_C(4095);
	uint32_t key;

	OK(drv_mkey_create(&hn->drv,
			   &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
					       .access = DRV_LR | (write ? DRV_LW : 0),
					       .log_page_size = 12,
					       .pd = pd,
					       .start = iova,
					       .length = length,
					       .pages = drv_pages_of(first, iova + length - first),
					       .variant = 0x42 },
			   &key));
	return key;
}
