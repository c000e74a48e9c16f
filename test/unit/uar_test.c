/* SPDX-License-Identifier: BSD-3-Clause */

/* Doorbell registers: the figures of 16 registers with 4 low-latency ones, who owns and who shares. */

#include "unit.h"

#include "doorbell.h"

static void
test_figures(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg regs[40];
	uintptr_t base;
	unsigned int i, k, owned = 0;

	for (i = 0; i < 40; i++)
		assert_int_equal(rnic_bfreg_alloc(dev, true, &regs[i]), 0);
	for (i = 0; i < 40; i++) {
		owned += regs[i].owned;
		assert_int_equal(regs[i].half, 256);
		base = (uintptr_t)regs[i].address % RNIC_UAR_PAGE_BYTES;
		/* The first two of a page's four registers. */
		assert_true(base == 0x800 || base == 0xa00);
		assert_true(regs[i].uar != dev->eq_uar);
		assert_true(regs[i].owned || regs[i].lock != NULL);
		for (k = 0; k < i; k++)
			if (regs[i].owned || regs[k].owned)
				assert_true(regs[i].address != regs[k].address);
	}
	/* First come: the first four have one each; 36 queues share the other twelve, three on each. */
	assert_int_equal(owned, RNIC_BF_LOW_LATENCY_REGS);
	for (i = 0; i < 4; i++)
		assert_true(regs[i].owned);
	for (i = 4; i < 40; i++) {
		unsigned int users = 0;

		for (k = 4; k < 40; k++)
			users += regs[k].address == regs[i].address;
		assert_int_equal(users, 3);
	}
	/* An owned register that is given back is the next one's. */
	base = (uintptr_t)regs[2].address;
	rnic_bfreg_free(dev, &regs[2]);
	assert_int_equal(rnic_bfreg_alloc(dev, true, &regs[2]), 0);
	assert_true(regs[2].owned);
	assert_int_equal((uintptr_t)regs[2].address, base);
	for (i = 0; i < 40; i++)
		rnic_bfreg_free(dev, &regs[i]);
}

static void
test_eight_pages_and_the_event_queues(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg regs[16];
	uint32_t pages[16];
	unsigned int i, k, count = 0;

	for (i = 0; i < 16; i++) {
		assert_int_equal(rnic_bfreg_alloc(dev, i < 4, &regs[i]), 0);
		for (k = 0; k < count && pages[k] != regs[i].uar; k++)
			;
		if (k == count)
			pages[count++] = regs[i].uar;
	}
	assert_int_equal(count, 8);
	/* The page that EQs ring was handed out first and is not memory. */
	for (i = 0; i < count; i++) {
		assert_true(pages[i] > dev->eq_uar);
		assert_non_null(dev->access->ops->uar(dev->access, pages[i]));
	}
	assert_null(dev->access->ops->uar(dev->access, dev->eq_uar));
	for (i = 0; i < 16; i++)
		rnic_bfreg_free(dev, &regs[i]);
}

static void
test_halves_in_turn(void **state)
{
	struct rnic_dev *dev = *state;
	const struct rnic_wqe_ctrl ctrl = { .opmod_idx_opcode = RNIC_BE32(0),
					    .qpn_ds = RNIC_BE32(1) };
	struct rnic_bfreg reg;
	uintptr_t base;
	bool low_latency = true;

	do {
		assert_int_equal(rnic_bfreg_alloc(dev, low_latency, &reg), 0);
		base = (uintptr_t)reg.address;
		rnic_doorbell_ring(&reg, &ctrl);
		assert_int_equal((uintptr_t)reg.address, base + 256);
		assert_memory_equal((const void *)base, &ctrl, 8);
		rnic_doorbell_ring(&reg, &ctrl);
		assert_int_equal((uintptr_t)reg.address, base);
		/* A shared one is left unlocked. */
		assert_int_equal(rte_spinlock_is_locked(reg.lock), 0);
		rnic_bfreg_free(dev, &reg);
		low_latency = !low_latency;
	} while (!low_latency);
}

/* A size that the device made up must not lead beyond the mapped page. */
static void
test_registers_larger_than_their_page(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_general_cap *cap = &dev->caps.general;
	uint64_t was = rnic_general_cap_get(cap, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE);

	rnic_general_cap_set(cap, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE, 11);
	assert_int_equal(rnic_uars_create(dev), -ENOTSUP);
	rnic_general_cap_set(cap, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE, was);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_figures, unit_open, unit_close),
		cmocka_unit_test_setup_teardown(test_eight_pages_and_the_event_queues, unit_open,
						unit_close),
		cmocka_unit_test_setup_teardown(test_halves_in_turn, unit_open, unit_close),
		cmocka_unit_test_setup_teardown(test_registers_larger_than_their_page, unit_open,
						unit_close),
	};

	return cmocka_run_group_tests_name("uar", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
