/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"

#define BLOCK_ROOM  RNIC_CMDQ_BLOCK_ALIGN
#define POLLS	    1000
#define GUARD_BYTES (2u << 20)

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
	rnic_cmd_in_set(in, RNIC_CMD_IN_OPCODE, opcode);
	rnic_cmd_in_set(in, RNIC_CMD_IN_OP_MOD, op_mod);
}

int
hn_simple(struct hn *hn, uint16_t opcode, uint16_t op_mod, uint32_t number, uint32_t *result)
{
	struct rnic_object_in in = { 0 };
	struct rnic_object_out out = { 0 };
	int status;

	hn_head(&in, opcode, op_mod);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	status = hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
	if (result != NULL)
		*result = rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}

int
hn_destroy(struct hn *hn, uint16_t opcode, uint32_t number)
{
	return hn_simple(hn, opcode, 0, number, NULL);
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

/* Page addresses behind an input; returns the bytes of the whole input. */
static uint32_t
put_pages(void *in, uint32_t fixed, uint64_t iova, size_t bytes)
{
	struct rnic_be64 *list = (struct rnic_be64 *)((uint8_t *)in + fixed);
	uint32_t pages = (bytes + 4095) / 4096;

	for (uint32_t i = 0; i < pages; i++)
		list[i] = rnic_cpu_to_be64(iova + i * 4096ul);
	return fixed + pages * sizeof(*list);
}

/* Room for an input and the pages of a ring of up to 4 MiB. */
#define IN_ROOM (0x400 + 1024 * 8)

static uint32_t
create(struct hn *hn, const void *in, uint32_t in_bytes)
{
	struct rnic_object_out out = { 0 };

	hn_cmd_ok(hn, in, in_bytes, &out, sizeof(out));
	return rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
}

void
hn_create_eq(struct hn *hn, struct hn_eq *eq, uint32_t uar, unsigned int log_size, uint64_t mask,
	     unsigned int vector)
{
	size_t bytes = sizeof(struct rnic_eqe) << log_size;
	struct rnic_create_eq_in *in = calloc(1, IN_ROOM);
	struct rnic_eqc *eqc = rnic_create_eq_in_eqc(in);
	struct rnic_eqe *entries;

	memset(eq, 0, sizeof(*eq));
	eq->uar = uar;
	eq->log_size = log_size;
	eq->iova = hn_alloc(hn, bytes, 4096);
	entries = hn_va(hn, eq->iova);
	for (uint32_t i = 0; i < 1u << log_size; i++)
		entries[i].owner = 1;
	hn_head(in, RNIC_CMD_CREATE_EQ, 0);
	rnic_eqc_set(eqc, RNIC_EQC_LOG_EQ_SIZE, log_size);
	rnic_eqc_set(eqc, RNIC_EQC_UAR_PAGE, uar);
	rnic_eqc_set(eqc, RNIC_EQC_INTR, vector);
	rnic_create_eq_in_set(in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0, mask);
	eq->number = create(hn, in, put_pages(in, sizeof(*in), eq->iova, bytes));
	free(in);
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
	struct rnic_create_cq_in *in = calloc(1, IN_ROOM);
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(in);
	struct rnic_cqe *entries;

	memset(cq, 0, sizeof(*cq));
	cq->log_size = log_size;
	cq->iova = hn_alloc(hn, bytes, 4096);
	cq->dbrec = hn_alloc(hn, 64, 64);
	entries = hn_va(hn, cq->iova);
	for (uint32_t i = 0; i < 1u << log_size; i++)
		entries[i].op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1);
	hn_head(in, RNIC_CMD_CREATE_CQ, 0);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, log_size);
	rnic_cqc_set(cqc, RNIC_CQC_UAR_PAGE, uar);
	rnic_cqc_set(cqc, RNIC_CQC_C_EQN, eqn);
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, cq->dbrec);
	cq->number = create(hn, in, put_pages(in, sizeof(*in), cq->iova, bytes));
	free(in);
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

static void
wq_memory(struct hn *hn, struct hn_wq *q, struct rnic_wq *wq, uint32_t pd)
{
	q->iova = hn_alloc(hn, 1ul << (q->log_stride + q->log_size), 4096);
	q->dbrec = hn_alloc(hn, 64, 64);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, q->dbrec);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, q->log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, q->log_size);
}

void
hn_create_sq(struct hn *hn, struct hn_wq *sq, uint32_t pd, uint32_t uar, uint32_t cqn,
	     uint32_t tisn, unsigned int log_size)
{
	struct rnic_create_sq_in *in = calloc(1, IN_ROOM);
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(in);

	memset(sq, 0, sizeof(*sq));
	sq->log_stride = 6;
	sq->log_size = log_size;
	sq->uar = uar;
	wq_memory(hn, sq, rnic_sqc_wq(sqc), pd);
	hn_head(in, RNIC_CMD_CREATE_SQ, 0);
	rnic_sqc_set(sqc, RNIC_SQC_FLUSH_IN_ERROR_EN, 1);
	rnic_sqc_set(sqc, RNIC_SQC_CQN, cqn);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_LST_SZ, 1);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_NUM_0, tisn);
	rnic_wq_set(rnic_sqc_wq(sqc), RNIC_WQ_UAR_PAGE, uar);
	sq->number = create(hn, in, put_pages(in, sizeof(*in), sq->iova, 64ul << log_size));
	free(in);
}

void
hn_create_rq(struct hn *hn, struct hn_wq *rq, uint32_t pd, uint32_t cqn, unsigned int log_stride,
	     unsigned int log_size)
{
	struct rnic_create_rq_in *in = calloc(1, IN_ROOM);
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(in);

	memset(rq, 0, sizeof(*rq));
	rq->log_stride = log_stride;
	rq->log_size = log_size;
	wq_memory(hn, rq, rnic_rqc_wq(rqc), pd);
	hn_head(in, RNIC_CMD_CREATE_RQ, 0);
	rnic_rqc_set(rqc, RNIC_RQC_VSD, 1);
	rnic_rqc_set(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN, 1);
	rnic_rqc_set(rqc, RNIC_RQC_CQN, cqn);
	rq->number = create(hn, in,
			    put_pages(in, sizeof(*in), rq->iova, 1ul << (log_stride + log_size)));
	free(in);
}

int
hn_modify_sq(struct hn *hn, uint32_t sqn, unsigned int from, unsigned int to)
{
	struct rnic_modify_sq_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_SQ, 0);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQ_STATE, from);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQN, sqn);
	rnic_sqc_set(rnic_modify_sq_in_sqc(&in), RNIC_SQC_STATE, to);
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

int
hn_modify_rq(struct hn *hn, uint32_t rqn, unsigned int from, unsigned int to)
{
	struct rnic_modify_rq_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_RQ, 0);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, from);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rqn);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, to);
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

uint32_t
hn_create_tis(struct hn *hn, uint32_t td)
{
	struct rnic_create_tis_in in = { 0 };

	hn_head(&in, RNIC_CMD_CREATE_TIS, 0);
	rnic_tisc_set(rnic_create_tis_in_tisc(&in), RNIC_TISC_TRANSPORT_DOMAIN, td);
	return create(hn, &in, sizeof(in));
}

uint32_t
hn_create_rqt(struct hn *hn, const uint32_t *rqns, uint32_t count)
{
	struct rnic_create_rqt_in *in = calloc(1, IN_ROOM);
	struct rnic_rqn_entry *entries = (struct rnic_rqn_entry *)(in + 1);
	struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(in);
	uint32_t number;

	hn_head(in, RNIC_CMD_CREATE_RQT, 0);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, count);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, count);
	for (uint32_t i = 0; i < count; i++)
		rnic_rqn_entry_set(&entries[i], RNIC_RQN_ENTRY_RQN, rqns[i]);
	number = create(hn, in, sizeof(*in) + count * sizeof(*entries));
	free(in);
	return number;
}

uint32_t
hn_create_tir(struct hn *hn, uint32_t td, uint32_t rqn)
{
	struct rnic_create_tir_in in = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);

	hn_head(&in, RNIC_CMD_CREATE_TIR, 0);
	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_DIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INLINE_RQN, rqn);
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, td);
	return create(hn, &in, sizeof(in));
}

uint32_t
hn_create_mkey(struct hn *hn, uint32_t pd, uint64_t iova, uint64_t length, bool write)
{
	uint64_t first = iova & ~UINT64_C(4095);
	uint32_t pages = (iova + length - first + 4095) / 4096;
	struct rnic_create_mkey_in *in = calloc(1, sizeof(*in) + (pages + 1ul) * 8);
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(in);
	struct rnic_be64 *list = (struct rnic_be64 *)(in + 1);
	uint32_t octwords = (pages + 1) / 2, index;

	hn_head(in, RNIC_CMD_CREATE_MKEY, 0);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, write);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, 0x42);
	rnic_mkc_set(mkc, RNIC_MKC_PD, pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, iova);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, length);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	for (uint32_t i = 0; i < pages; i++)
		list[i] = rnic_cpu_to_be64((first + i * 4096ul) | RNIC_MTT_READ | RNIC_MTT_WRITE);
	index = create(hn, in, sizeof(*in) + octwords * 16);
	free(in);
	return index << 8 | 0x42;
}
