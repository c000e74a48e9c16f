/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "harness.h"

/* What must succeed. */
#define OK(status) assert_int_equal(status, RNIC_STATUS_OK)

void
hn_start(struct hn *hn, struct softrnic_poller *poller, const struct softrnic_conf *conf)
{
	assert_int_equal(hn_open(hn, &(struct hn_conf){ .poller = poller,
							.device = conf,
							.bytes = HN_MEMORY_BYTES,
							.iova = HN_IOVA_BASE }),
			 0);
	/* The first page stays unused: what leads to the start of the memory is a mistake. */
	hn->used = 4096;
	assert_int_equal(hn_open_cmdq(hn), 0);
}

void
hn_stop(struct hn *hn)
{
	assert_int_equal(hn_close(hn), 0);
}

uint64_t
hn_alloc(struct hn *hn, size_t bytes, size_t align)
{
	void *memory = hn_memory(hn, bytes, align);

	if (memory == NULL)
		fail_msg("harness: out of memory");
	return hn_iova(hn, memory);
}

void *
hn_va(const struct hn *hn, uint64_t iova)
{
	assert_true(iova >= hn->iova && iova - hn->iova < hn->bytes);
	return hn_at(hn, iova);
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
	assert_int_equal(hn_tell_cmdq(hn), 0);
}

/* ---- Commands ---- */

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
	OK(hn_try_enable(hn));
}

void
hn_bring_up(struct hn *hn)
{
	hn_enable(hn);
	OK(hn_try_init(hn));
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

void
hn_create_eq(struct hn *hn, struct hn_eq *eq, uint32_t uar, unsigned int log_size, uint64_t mask,
	     unsigned int vector)
{
	struct drv_eq conf = { .log_size = log_size, .uar = uar, .vector = vector, .events = mask };

	*eq = (struct hn_eq){ .uar = uar, .log_size = log_size };
	OK(hn_eq_open(hn, &conf, &eq->number));
	eq->iova = conf.ring.iova;
}

bool
hn_eq_next(struct hn *hn, struct hn_eq *eq, struct rnic_eqe *eqe)
{
	const struct rnic_eqe *next = drv_eqe_next(hn_va(hn, eq->iova), eq->log_size, eq->consumer);

	if (next == NULL)
		return false;
	*eqe = *next;
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
	struct drv_cq conf = { .log_size = log_size, .uar = uar, .eqn = eqn };

	*cq = (struct hn_cq){ .log_size = log_size };
	OK(hn_cq_open(hn, &conf, &cq->number));
	cq->iova = conf.ring.iova;
	cq->dbrec = conf.dbrec;
}

bool
hn_cq_next(struct hn *hn, struct hn_cq *cq, struct rnic_cqe *cqe)
{
	const struct rnic_cqe *next =
		drv_cqe_next(hn_va(hn, cq->iova), cq->log_size, sizeof(*next), cq->consumer);

	if (next == NULL)
		return false;
	*cqe = *next;
	cq->consumer++;
	return true;
}

void
hn_create_sq(struct hn *hn, struct hn_wq *sq, uint32_t pd, uint32_t uar, uint32_t cqn,
	     uint32_t tisn, unsigned int log_size)
{
	struct drv_sq conf = {
		.log_size = log_size, .pd = pd, .uar = uar, .cqn = cqn, .tisn = tisn, .flush = true
	};

	*sq = (struct hn_wq){ .log_stride = 6, .log_size = log_size, .uar = uar };
	OK(hn_sq_open(hn, &conf, &sq->number));
	sq->iova = conf.ring.iova;
	sq->dbrec = conf.dbrec;
}

void
hn_create_rq(struct hn *hn, struct hn_wq *rq, uint32_t pd, uint32_t cqn, unsigned int log_stride,
	     unsigned int log_size)
{
	struct drv_rq conf = { .log_size = log_size,
			       .log_stride = log_stride,
			       .pd = pd,
			       .cqn = cqn,
			       .vsd = true,
			       .flush = true };

	*rq = (struct hn_wq){ .log_stride = log_stride, .log_size = log_size };
	OK(hn_rq_open(hn, &conf, &rq->number));
	rq->iova = conf.ring.iova;
	rq->dbrec = conf.dbrec;
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
