/* SPDX-License-Identifier: BSD-3-Clause */

/* Doorbell records: a cache line each, packed in pages, zero at first; and the hand-over functions. */

#include "unit.h"

#include <string.h>

#include "core/dbrec.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

static void
test_packing(void **state)
{
	struct rnic_dev *dev = *state;
	void *records[200];
	uint64_t iovas[200];
	const uint32_t maps = dev->access->maps;
	unsigned int i, k;

	for (i = 0; i < 200; i++) {
		assert_int_equal(rnic_dbrec_alloc(dev, &records[i], &iovas[i]), 0);
		assert_int_equal((uintptr_t)records[i] % 64, 0);
		assert_int_equal(iovas[i] % 4096, (uintptr_t)records[i] % 4096);
		assert_memory_equal(records[i], "\0\0\0\0\0\0\0\0", 8);
		memset(records[i], 0xff, 8);
		for (k = 0; k < i; k++)
			assert_true(records[k] != records[i] && iovas[k] != iovas[i]);
	}
	/* 64 to a page. */
	assert_int_equal(dev->access->maps, maps + 4);
	/* A hole is filled again, with zeroes. */
	rnic_dbrec_free(dev, records[77]);
	assert_int_equal(rnic_dbrec_alloc(dev, &records[77], &iovas[77]), 0);
	assert_int_equal(dev->access->maps, maps + 4);
	assert_memory_equal(records[77], "\0\0\0\0\0\0\0\0", 8);
	for (i = 0; i < 200; i++)
		rnic_dbrec_free(dev, records[i]);
	assert_int_equal(dev->access->maps, maps);
}

/* As the PRM lays them out: big-endian, 24 bits of a consumer index. */
static void
test_records(void **state)
{
	struct rnic_wq_dbrec wq = { 0 };
	struct rnic_cq_dbrec cq = { 0 };

	(void)state;
	rnic_rq_dbrec_publish(&wq, 0xabcd);
	assert_memory_equal(&wq, "\x00\x00\xab\xcd\x00\x00\x00\x00", 8);
	rnic_sq_dbrec_publish(&wq, 0x1234);
	assert_memory_equal(&wq, "\x00\x00\xab\xcd\x00\x00\x12\x34", 8);
	rnic_cq_dbrec_publish(&cq, 0x81234567);
	assert_memory_equal(&cq, "\x00\x23\x45\x67\x00\x00\x00\x00", 8);
}

static void
test_owner_bit_toggles_with_each_pass(void **state)
{
	struct rnic_cqe cqe = { .op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1) };
	struct rnic_eqe eqe = { .owner = 1 };

	(void)state;
	/* New rings are invalid in both passes (CQ), or in the first (EQ). */
	assert_false(rnic_cqe_ready(&cqe, 0, 4));
	assert_false(rnic_cqe_ready(&cqe, 16, 4));
	assert_false(rnic_eqe_ready(&eqe, 0, 4));
	cqe.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_RESPONDER_SEND, 0);
	assert_true(rnic_cqe_ready(&cqe, 0, 4));
	assert_true(rnic_cqe_ready(&cqe, 15, 4));
	assert_false(rnic_cqe_ready(&cqe, 16, 4));
	assert_true(rnic_cqe_ready(&cqe, 32, 4));
	cqe.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER_ERROR, 1);
	assert_false(rnic_cqe_ready(&cqe, 15, 4));
	assert_true(rnic_cqe_ready(&cqe, 16, 4));
	/* Across the wrap of the 32-bit index. */
	assert_true(rnic_cqe_ready(&cqe, UINT32_MAX, 4));
	assert_false(rnic_cqe_ready(&cqe, UINT32_MAX + 1, 4));
	assert_true(rnic_eqe_ready(&eqe, 16, 4));
	eqe.owner = 0;
	assert_true(rnic_eqe_ready(&eqe, 0, 4));
	assert_false(rnic_eqe_ready(&eqe, 16, 4));
}

/* Each byte that an entry may end with, in each pass: both comparisons in one. */
static void
test_an_entry_of_an_opcode_is_ready_and_has_it(void **state)
{
	static const uint32_t consumers[] = { 0, 15, 16, 31, 32, UINT32_MAX };
	struct rnic_cqe cqe = { 0 };

	(void)state;
	for (unsigned int byte = 0; byte < 256; byte++) {
		cqe.op_own = (uint8_t)byte;
		for (unsigned int i = 0; i < sizeof(consumers) / sizeof(consumers[0]); i++) {
			const uint32_t at = consumers[i];

			for (uint8_t opcode = 0; opcode < RNIC_CQE_INVALID; opcode++)
				assert_int_equal(rnic_cqe_ready_as(&cqe, opcode, at, 4),
						 rnic_cqe_ready(&cqe, at, 4) &&
							 RNIC_CQE_OPCODE(byte) == opcode);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_packing, unit_open, unit_close),
	cmocka_unit_test(test_records),
	cmocka_unit_test(test_owner_bit_toggles_with_each_pass),
	cmocka_unit_test(test_an_entry_of_an_opcode_is_ready_and_has_it),
};

UNIT_MAIN("dbrec", tests)
