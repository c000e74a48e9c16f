/* SPDX-License-Identifier: BSD-3-Clause */

/* Where the rings of queues begin: pages of any size, and an offset in 64ths of one. */
#include "ctl_world.h"
#include "prm/qp.h"
#include "prm/queue.h"
/* A ring's beginning shows to nobody before something is in it: it is looked at as the device has it. */
#include "softrnic/base/object.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"
#include "softrnic/engine/sq.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/receive/rq.h"

#define LOG_PAGE     4 /* 64 KiB */
#define PAGE	     (4096u << LOG_PAGE)
#define PAGES	     2
#define OFFSET	     5 /* 64ths of a page */
#define OFFSET_BYTES (OFFSET * PAGE / 64)

/* The command's good input, with a ring that begins there; its fixed part ends where the list of pages does begin. */
#define PLACE(in, fixed, set, context, size, offset)     \
	do {                                             \
		set(context, size, LOG_PAGE);            \
		set(context, offset, OFFSET);            \
		pages_put(w, (uint8_t *)(in) + (fixed)); \
	} while (0)

static void
pages_put(struct world *w, uint8_t *list)
{
	const uint64_t memory = hn_alloc(&w->hn, PAGES * PAGE, PAGE);

	for (uint64_t i = 0; i < PAGES; i++) {
		const struct rnic_be64 page = rnic_cpu_to_be64(memory + i * PAGE);

		memcpy(list + i * sizeof(page), &page, sizeof(page));
	}
	w->in_bytes = (uint32_t)(list - w->in) + PAGES * sizeof(struct rnic_be64);
}

/* Execute it; the object. */
static void *
made(struct world *w, enum softrnic_object_type type)
{
	uint32_t number;
	void *object;

	assert_int_equal(world_run(w, &number), RNIC_STATUS_OK);
	object = softrnic_object_get(w->hn.dev, type, number);
	assert_non_null(object);
	return object;
}

static void
cq_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_cq_in *in = world_good(w, RNIC_CMD_CREATE_CQ);

	PLACE(in, sizeof(*in), rnic_cqc_set, rnic_create_cq_in_cqc(in), RNIC_CQC_LOG_PAGE_SIZE,
	      RNIC_CQC_PAGE_OFFSET);
	assert_int_equal(((struct softrnic_cq *)made(w, SOFTRNIC_CQ))->ring.offset, OFFSET_BYTES);
}

static void
sq_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_sq_in *in = world_good(w, RNIC_CMD_CREATE_SQ);

	PLACE(in, sizeof(*in), rnic_wq_set, rnic_sqc_wq(rnic_create_sq_in_sqc(in)),
	      RNIC_WQ_LOG_WQ_PG_SZ, RNIC_WQ_PAGE_OFFSET);
	assert_int_equal(((struct softrnic_sq *)made(w, SOFTRNIC_SQ))->ring.offset, OFFSET_BYTES);
}

static void
rq_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_rq_in *in = world_good(w, RNIC_CMD_CREATE_RQ);

	PLACE(in, sizeof(*in), rnic_wq_set, rnic_rqc_wq(rnic_create_rq_in_rqc(in)),
	      RNIC_WQ_LOG_WQ_PG_SZ, RNIC_WQ_PAGE_OFFSET);
	assert_int_equal(((struct softrnic_rq *)made(w, SOFTRNIC_RQ))->ring.offset, OFFSET_BYTES);
}

static void
rmp_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_rmp_in *in = world_good(w, RNIC_CMD_CREATE_RMP);

	PLACE(in, sizeof(*in), rnic_wq_set, rnic_rmpc_wq(rnic_create_rmp_in_rmpc(in)),
	      RNIC_WQ_LOG_WQ_PG_SZ, RNIC_WQ_PAGE_OFFSET);
	assert_int_equal(((struct softrnic_rmp *)made(w, SOFTRNIC_RMP))->ring.offset, OFFSET_BYTES);
}

static void
qp_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_qp_in *in = world_good(w, RNIC_CMD_CREATE_QP);

	PLACE(in, sizeof(*in), rnic_qpc_set, rnic_create_qp_in_qpc(in), RNIC_QPC_LOG_PAGE_SIZE,
	      RNIC_QPC_PAGE_OFFSET);
	assert_int_equal(((struct softrnic_qp *)made(w, SOFTRNIC_QP))->ring.offset, OFFSET_BYTES);
}

/* An event stands there. */
static void
eq_begins_within_its_page(void **state)
{
	struct world *w = *state;
	struct rnic_create_eq_in *in = world_good(w, RNIC_CMD_CREATE_EQ);
	const struct rnic_eqe *eqe;
	uint32_t eqn;

	PLACE(in, sizeof(*in), rnic_eqc_set, rnic_create_eq_in_eqc(in), RNIC_EQC_LOG_PAGE_SIZE,
	      RNIC_EQC_PAGE_OFFSET);
	eqe = hn_va(&w->hn, w->hn.iova + w->hn.used - PAGES * PAGE + OFFSET_BYTES);
	assert_int_equal(world_run(w, &eqn), RNIC_STATUS_OK);
	softrnic_eq_post(w->hn.dev, eqn, RNIC_EVENT_PORT_CHANGE, 0, (const uint32_t[7]){ 0 });
	assert_int_equal(eqe->type, RNIC_EVENT_PORT_CHANGE);
}

/* 32 of 128 bytes, from 64 bytes of a page on: the last one has its two halves in two pages, between which is somebody else's. */
static void
an_entry_lies_in_two_pages(void **state)
{
	struct world *w = *state;
	struct rnic_create_cq_in *in = world_good(w, RNIC_CMD_CREATE_CQ);
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(in);
	const uint64_t memory = hn_alloc(&w->hn, 3 * 4096, 4096);
	const struct rnic_be64 pages[] = { rnic_cpu_to_be64(memory),
					   rnic_cpu_to_be64(memory + 2 * 4096) };
	const uint8_t *between = hn_va(&w->hn, memory + 4096);
	const struct rnic_cqe *last = hn_va(&w->hn, memory + 2 * 4096);
	struct rnic_cqe *entry;
	struct softrnic_cq *cq;

	memset(hn_va(&w->hn, memory), 0x5a, 3 * 4096);
	memcpy(in + 1, pages, sizeof(pages));
	w->in_bytes = sizeof(*in) + sizeof(pages);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, RNIC_CQE_SIZE_128);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, 5);
	rnic_cqc_set(cqc, RNIC_CQC_PAGE_OFFSET, 1);
	cq = made(w, SOFTRNIC_CQ);
	for (unsigned int i = 0; i < 32; i++) {
		entry = softrnic_cq_claim(w->hn.dev, cq);
		assert_non_null(entry);
		softrnic_cq_publish(w->hn.dev, cq, entry, RNIC_CQE_REQUESTER, false);
	}
	for (unsigned int i = 0; i < 4096; i++)
		assert_int_equal(between[i], 0x5a);
	assert_int_equal(RNIC_CQE_OPCODE(last->op_own), RNIC_CQE_REQUESTER);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, ctl_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(cq_begins_within_its_page),  T(eq_begins_within_its_page),
		T(sq_begins_within_its_page),  T(rq_begins_within_its_page),
		T(rmp_begins_within_its_page), T(qp_begins_within_its_page),
		T(an_entry_lies_in_two_pages),
	};

	return cmocka_run_group_tests_name("ctl_offset", tests, NULL, NULL);
}
