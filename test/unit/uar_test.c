/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell registers: the figures of 16 registers with 4 low-latency ones, who owns and who shares; dynamic ones, that come
 * and go with their pages, and what happens where there are no more.
 */

#include "verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_log.h>
#include <rte_memory.h>

#include "bringup.h"
#include "core/bfreg.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/uar.h"
#include "object/cq.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/uar.h"
#include "prm/wqe.h"

#define STATIC_PAGES 8
#define OWN	     (RNIC_BFREG_LOW_LATENCY | RNIC_BFREG_DYNAMIC)

/* ---- What the driver asks the device for, answered here if a test wants it ---- */

static struct {
	/* each page that is asked for has it: as many as one likes; 0: the device's answer counts */
	uint32_t number;
	unsigned int refuse; /* the n-th one, and those behind it; 0: none */
	unsigned int asked, held;
} pages;

int __real_rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			uint32_t in_bytes, void *out, uint32_t out_bytes);
int __wrap_rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			uint32_t in_bytes, void *out, uint32_t out_bytes);
int __real_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);
int __wrap_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);

int
__wrap_rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		    uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	int rc = 0;

	if (opcode != RNIC_CMD_ALLOC_UAR)
		return __real_rnic_cmd_try(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
	pages.asked++;
	if (pages.refuse == 1)
		return -ENOSPC;
	if (pages.refuse > 1)
		pages.refuse--;
	if (pages.number != 0)
		rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, pages.number);
	else
		rc = __real_rnic_cmd_try(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
	pages.held += rc == 0;
	return rc;
}

int
__wrap_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number)
{
	if (opcode == RNIC_CMD_DEALLOC_UAR && pages.held > 0) {
		pages.held--;
		if (pages.number != 0)
			return 0;
	}
	return __real_rnic_cmd_destroy(dev, opcode, number);
}

static int
open_fresh(void **state)
{
	memset(&pages, 0, sizeof(pages));
	return unit_open(state);
}

/* ---- The sixteen ---- */

static void
test_figures(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg *regs[40], *first;
	unsigned int i, k, owned = 0;
	uintptr_t base;

	for (i = 0; i < 40; i++)
		regs[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
	for (i = 0; i < 40; i++) {
		owned += regs[i]->kind == RNIC_BFREG_LOW_LATENCY;
		assert_int_equal(regs[i]->half, 256);
		base = (uintptr_t)regs[i]->address % RNIC_UAR_PAGE_BYTES;
		/* The first two of a page's four registers. */
		assert_true(base == 0x800 || base == 0xa00);
		assert_true(regs[i]->uar != dev->eq_uar);
		for (k = 0; k < i; k++)
			if (regs[i]->kind != RNIC_BFREG_SHARED)
				assert_ptr_not_equal(regs[i], regs[k]);
			else if (regs[i] != regs[k])
				assert_ptr_not_equal(regs[i]->address, regs[k]->address);
	}
	/* First come: the first four have one each; 36 queues share the other twelve, three on each. */
	assert_int_equal(owned, RNIC_LOW_LATENCY);
	for (i = 0; i < 4; i++)
		assert_int_equal(regs[i]->kind, RNIC_BFREG_LOW_LATENCY);
	for (i = 4; i < 40; i++) {
		unsigned int users = 0;

		for (k = 4; k < 40; k++)
			users += regs[k] == regs[i];
		assert_int_equal(users, 3);
	}
	/* An owned register that is given back is the next one's. */
	first = regs[2];
	assert_int_equal(rnic_bfreg_free(dev, regs[2]), 0);
	regs[2] = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
	assert_ptr_equal(regs[2], first);
	for (i = 0; i < 40; i++)
		assert_int_equal(rnic_bfreg_free(dev, regs[i]), 0);
	assert_int_equal(pages.asked, 0);
}

static void
test_eight_pages_and_the_event_queues(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg *regs[16];
	uint32_t numbers[16];
	unsigned int i, k, count = 0;

	for (i = 0; i < 16; i++) {
		regs[i] = rnic_bfreg_alloc(dev, i < 4 ? RNIC_BFREG_LOW_LATENCY : 0);
		for (k = 0; k < count && numbers[k] != regs[i]->uar; k++)
			;
		if (k == count)
			numbers[count++] = regs[i]->uar;
	}
	assert_int_equal(count, STATIC_PAGES);
	/* The page that EQs ring was handed out first and is not memory. */
	for (i = 0; i < count; i++) {
		assert_true(numbers[i] > dev->eq_uar);
		assert_non_null(dev->access->ops->uar(dev->access, numbers[i]));
	}
	assert_null(dev->access->ops->uar(dev->access, dev->eq_uar));
	for (i = 0; i < 16; i++)
		rnic_bfreg_free(dev, regs[i]);
}

static void
test_halves_in_turn(void **state)
{
	static const unsigned int kinds[] = { RNIC_BFREG_SHARED, RNIC_BFREG_LOW_LATENCY,
					      RNIC_BFREG_DYNAMIC };
	struct rnic_dev *dev = *state;
	const struct rnic_wqe_ctrl ctrl = { .opmod_idx_opcode = RNIC_BE32(0),
					    .qpn_ds = RNIC_BE32(1) };
	struct rnic_bfreg *reg;
	unsigned int i;
	uintptr_t base;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		reg = rnic_bfreg_alloc(dev, kinds[i]);
		assert_int_equal(reg->kind, kinds[i]);
		base = (uintptr_t)reg->address;
		rnic_doorbell_ring(reg, &ctrl);
		assert_int_equal((uintptr_t)reg->address, base + 256);
		assert_memory_equal((const void *)base, &ctrl, 8);
		rnic_doorbell_ring(reg, &ctrl);
		assert_int_equal((uintptr_t)reg->address, base);
		/* A shared one is left unlocked. */
		assert_int_equal(rte_spinlock_is_locked(&reg->lock), 0);
		rnic_bfreg_free(dev, reg);
	}
}

struct ringer {
	struct rnic_bfreg *reg;
	atomic_bool done;
};

static void *
ring(void *arg)
{
	const struct rnic_wqe_ctrl ctrl = { .qpn_ds = RNIC_BE32(1) };
	struct ringer *ringer = arg;

	rnic_doorbell_ring(ringer->reg, &ctrl);
	atomic_store(&ringer->done, true);
	return NULL;
}

/* Who shares a register waits for the one that has its lock; an owner looks at no lock. */
static void
test_the_lock_is_for_shared_registers_alone(void **state)
{
	static const unsigned int kinds[] = { RNIC_BFREG_SHARED, RNIC_BFREG_LOW_LATENCY,
					      RNIC_BFREG_DYNAMIC };
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct rnic_dev *dev = *state;
	struct ringer ringer;
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		ringer.reg = rnic_bfreg_alloc(dev, kinds[i]);
		atomic_init(&ringer.done, false);
		rte_spinlock_lock(&ringer.reg->lock);
		assert_int_equal(pthread_create(&thread, NULL, ring, &ringer), 0);
		if (kinds[i] != RNIC_BFREG_SHARED)
			assert_int_equal(pthread_join(thread, NULL), 0);
		nanosleep(&nap, NULL);
		assert_int_equal(atomic_load(&ringer.done), kinds[i] != RNIC_BFREG_SHARED);
		rte_spinlock_unlock(&ringer.reg->lock);
		if (kinds[i] == RNIC_BFREG_SHARED)
			assert_int_equal(pthread_join(thread, NULL), 0);
		assert_true(atomic_load(&ringer.done));
		rnic_bfreg_free(dev, ringer.reg);
	}
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

static void
test_whole_wqes_go_to_owned_registers_alone(void **state)
{
	struct rnic_bfreg *reg;
	struct rnic_dev *dev;
	unsigned int kind;

	(void)state;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "bf=1", SOCKET_ID_ANY, &dev), 0);
	for (kind = RNIC_BFREG_SHARED; kind <= RNIC_BFREG_DYNAMIC; kind++) {
		reg = rnic_bfreg_alloc(dev, kind);
		assert_int_equal(reg->kind, kind);
		assert_int_equal(reg->blueflame, kind != RNIC_BFREG_SHARED);
		rnic_bfreg_free(dev, reg);
	}
	rnic_dev_close(dev);
}

/* ---- Dynamic ones ---- */

static void
test_dynamic_registers_have_one_owner(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg *sixteen[16], *regs[30];
	struct rnic_uars_usage usage;
	unsigned int i, k;
	uintptr_t base;

	for (i = 0; i < 16; i++)
		sixteen[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
	for (i = 0; i < RTE_DIM(regs); i++) {
		regs[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		assert_int_equal(regs[i]->kind, RNIC_BFREG_DYNAMIC);
		assert_int_equal(regs[i]->users, 1);
		base = (uintptr_t)regs[i]->address % RNIC_UAR_PAGE_BYTES;
		assert_true(base == 0x800 || base == 0xa00);
		/* On pages of their own, two on each. */
		assert_int_not_equal(regs[i]->uar, dev->eq_uar);
		for (k = 0; k < 16; k++)
			assert_int_not_equal(regs[i]->uar, sixteen[k]->uar);
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(regs[i]->address, regs[k]->address);
	}
	assert_int_equal(pages.held, RTE_DIM(regs) / 2);
	rnic_uars_usage(dev, &usage);
	assert_int_equal(usage.dynamic, RTE_DIM(regs));
	assert_int_equal(usage.dynamic_pages, RTE_DIM(regs) / 2);
	assert_int_equal(usage.low_latency, 4);
	assert_int_equal(usage.shared_users, 12);
	for (i = 0; i < RTE_DIM(regs); i++)
		assert_int_equal(rnic_bfreg_free(dev, regs[i]), 0);
	for (i = 0; i < 16; i++)
		rnic_bfreg_free(dev, sixteen[i]);
	assert_int_equal(pages.held, 0);
}

static void
test_a_page_goes_with_its_last_user(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t before = unit_objects(dev);
	struct rnic_bfreg *one, *two, *was;

	one = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	two = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	assert_int_equal(one->uar, two->uar);
	assert_int_equal(unit_objects(dev), before + 1);
	was = one;
	assert_int_equal(rnic_bfreg_free(dev, one), 0);
	assert_int_equal(unit_objects(dev), before + 1);
	/* There is room on a page that is there. */
	one = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	assert_ptr_equal(one, was);
	assert_int_equal(pages.asked, 1);
	assert_int_equal(rnic_bfreg_free(dev, two), 0);
	assert_int_equal(rnic_bfreg_free(dev, one), 0);
	assert_int_equal(unit_objects(dev), before);
	assert_int_equal(rnic_bfreg_free(dev, NULL), 0);
}

static void
test_low_latency_then_dynamic_then_shared(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg *regs[8];
	unsigned int i;

	pages.refuse = 2;
	for (i = 0; i < RTE_DIM(regs); i++) {
		regs[i] = rnic_bfreg_alloc(dev, OWN);
		assert_int_equal(regs[i]->kind, i < 4	? RNIC_BFREG_LOW_LATENCY
						: i < 6 ? RNIC_BFREG_DYNAMIC
							: RNIC_BFREG_SHARED);
	}
	for (i = 0; i < RTE_DIM(regs); i++)
		rnic_bfreg_free(dev, regs[i]);
}

static void
test_a_device_with_no_more_pages(void **state)
{
	static struct rnic_bfreg *regs[RNIC_BF_DYNAMIC_REGS];
	struct rnic_dev *dev = *state;
	const uint32_t before = unit_objects(dev);
	struct rnic_bfreg *low_latency;
	unsigned int i, count = 0;

	while (count < RNIC_BF_DYNAMIC_REGS) {
		regs[count] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		if (regs[count++]->kind != RNIC_BFREG_DYNAMIC)
			break;
	}
	/* All of them but the event queues' and the sixteen's; the next is shared, and no low-latency one is touched. */
	assert_int_equal(count, 2 * (SOFTRNIC_UAR_PAGES - 1 - STATIC_PAGES) + 1);
	assert_int_equal(regs[count - 1]->kind, RNIC_BFREG_SHARED);
	for (i = 0; i < 20; i++) {
		regs[count] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		assert_int_equal(regs[count++]->kind, RNIC_BFREG_SHARED);
	}
	low_latency = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
	assert_int_equal(low_latency->kind, RNIC_BFREG_LOW_LATENCY);
	rnic_bfreg_free(dev, low_latency);
	/* One that comes back is the next one's. */
	rnic_bfreg_free(dev, regs[7]);
	regs[7] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	assert_int_equal(regs[7]->kind, RNIC_BFREG_DYNAMIC);
	for (i = 0; i < count; i++)
		assert_int_equal(rnic_bfreg_free(dev, regs[i]), 0);
	assert_int_equal(unit_objects(dev), before);
}

/*
 * Faked pages: 1,024 registers are 512 pages, and the embedded device's BAR has 256 (SOFTRNIC_UAR_PAGES), which is the size of its
 * BAR and of the list that every look at doorbells goes through. Up to those, driver and device are tested together.
 */
static void
test_1024_of_them_at_most(void **state)
{
	static struct rnic_bfreg *regs[RNIC_BF_DYNAMIC_REGS + 3];
	struct rnic_dev *dev = *state;
	unsigned int i;

	assert_int_equal(RNIC_BF_DYNAMIC_REGS, 1024);
	pages.number = dev->eq_uar + 100;
	for (i = 0; i < RTE_DIM(regs); i++) {
		regs[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		assert_int_equal(regs[i]->kind, i < 1024 ? RNIC_BFREG_DYNAMIC : RNIC_BFREG_SHARED);
	}
	/* More pages are not even asked for. */
	assert_int_equal(pages.asked, 512);
	for (i = 0; i < RTE_DIM(regs); i++)
		assert_int_equal(rnic_bfreg_free(dev, regs[i]), 0);
	assert_int_equal(pages.held, 0);
}

/* ---- What is said, and what is not ---- */

/* The n-th page is refused: who asked shares, which is said once, and not as an error. */
static void
test_the_nth_page_is_refused(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t before = unit_objects(dev);
	struct rnic_bfreg *regs[8];
	unsigned int n, i;

	for (n = 1; n <= 3; n++) {
		pages.refuse = n;
		unit_listen(RTE_LOG_NOTICE);
		for (i = 0; i < RTE_DIM(regs); i++) {
			regs[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
			assert_int_equal(regs[i]->kind,
					 i < 2 * (n - 1) ? RNIC_BFREG_DYNAMIC : RNIC_BFREG_SHARED);
		}
		assert_int_equal(unit_said("\n"), 1);
		assert_true(unit_said("no more than") > 0);
		/* There are some again, until there are none again. */
		pages.refuse = 0;
		for (i = 0; i < RTE_DIM(regs); i++)
			rnic_bfreg_free(dev, regs[i]);
		regs[0] = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		assert_int_equal(regs[0]->kind, RNIC_BFREG_DYNAMIC);
		rnic_bfreg_free(dev, regs[0]);
		pages.refuse = 1;
		rnic_bfreg_free(dev, rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC));
		assert_int_equal(unit_said("\n"), 2);
		unit_listen_no_more();
		pages.refuse = 0;
		rnic_bfreg_free(dev, rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC));
		assert_int_equal(unit_objects(dev), before);
	}
}

/* The device has pages, but the BAR does not show them, or not as memory. */
static void
test_a_page_that_cannot_be_mapped(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t numbers[] = { dev->eq_uar, dev->eq_uar + SOFTRNIC_UAR_PAGES, UINT32_MAX };
	struct rnic_bfreg *reg;
	char says[48];
	unsigned int i, asked = 0, again;

	for (i = 0; i < RTE_DIM(numbers); i++) {
		pages.number = numbers[i];
		unit_listen(RTE_LOG_NOTICE);
		for (again = 0; again < 2; again++) {
			reg = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
			assert_int_equal(reg->kind, RNIC_BFREG_SHARED);
			assert_int_equal(pages.asked, ++asked);
			assert_int_equal(pages.held, 0);
			rnic_bfreg_free(dev, reg);
		}
		/* The number, and what comes of it; once, until there are pages again. */
		assert_int_equal(unit_said("\n"), 2);
		snprintf(says, sizeof(says), "UAR page 0x%x cannot be used", numbers[i] & 0xffffff);
		assert_true(unit_said(says) > 0);
		unit_listen_no_more();
		pages.number = 0;
		reg = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
		assert_int_equal(reg->kind, RNIC_BFREG_DYNAMIC);
		rnic_bfreg_free(dev, reg);
		asked++;
	}
}

static void
test_a_lost_device_has_none_and_takes_none_back(void **state)
{
	struct rnic_dev *dev = *state;
	struct rnic_bfreg *reg = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC), *shared;

	assert_int_equal(reg->kind, RNIC_BFREG_DYNAMIC);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_FATAL, 1), 0);
	/* On the page that is there is room still. */
	rnic_bfreg_free(dev, rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC));
	assert_int_equal(rnic_bfreg_free(dev, reg), -EIO);
	shared = rnic_bfreg_alloc(dev, RNIC_BFREG_DYNAMIC);
	assert_int_equal(shared->kind, RNIC_BFREG_SHARED);
	assert_int_equal(rnic_bfreg_free(dev, shared), 0);
}

/* ---- Their users ---- */

/* A NOP, and its completion. */
static void
send_nop(struct rnic_sq *sq, struct rnic_cq *cq)
{
	unit_post_nop(sq);
	assert_true(UNIT_COMES(
		rnic_cqe_ready(&cq->ring[cq->consumer & cq->mask], cq->consumer, cq->log_size)));
	cq->consumer++;
	rnic_cq_dbrec_publish(cq->dbrec, cq->consumer);
}

static void
test_send_queues_ring_registers_of_their_own(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t before = unit_objects(dev);
	struct rnic_sq sqs[24];
	struct rnic_cq cq;
	unsigned int i, k;

	assert_int_equal(rnic_cq_create(dev, 6, dev->async_eq, &cq), 0);
	for (i = 0; i < RTE_DIM(sqs); i++) {
		assert_int_equal(rnic_sq_create(dev, 6, &cq, &sqs[i]), 0);
		assert_int_equal(sqs[i].bf->kind,
				 i < 4 ? RNIC_BFREG_LOW_LATENCY : RNIC_BFREG_DYNAMIC);
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(sqs[i].bf, sqs[k].bf);
	}
	assert_int_equal(pages.held, 10);
	for (i = 0; i < RTE_DIM(sqs); i++)
		send_nop(&sqs[i], &cq);
	for (i = 0; i < RTE_DIM(sqs); i++)
		assert_int_equal(rnic_sq_destroy(dev, &sqs[i]), 0);
	assert_int_equal(rnic_cq_destroy(dev, &cq), 0);
	assert_int_equal(unit_objects(dev), before);
}

static void
test_a_queue_that_is_refused_gives_its_register_back(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t before = unit_objects(dev);
	struct rnic_bfreg *regs[4];
	struct rnic_cq cq;
	struct rnic_sq sq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(regs); i++)
		regs[i] = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
	assert_int_equal(rnic_cq_create(dev, 6, dev->async_eq, &cq), 0);
	unit_refuse(dev, RNIC_CMD_CREATE_SQ, RNIC_STATUS_NO_RES);
	assert_int_equal(rnic_sq_create(dev, 6, &cq, &sq), -ENOSPC);
	unit_refuse_nothing(dev);
	assert_int_equal(pages.asked, 1);
	assert_int_equal(pages.held, 0);
	assert_int_equal(rnic_cq_destroy(dev, &cq), 0);
	for (i = 0; i < RTE_DIM(regs); i++)
		rnic_bfreg_free(dev, regs[i]);
	assert_int_equal(unit_objects(dev), before);
}

/* All that the device has pages for, beside that of the event queues; none with an owner; as few as there may be. */
static void
test_as_many_as_the_devargs_say(void **state)
{
	static const struct {
		const char *devargs;
		unsigned int bfregs, low_latency;
	} rows[] = {
		{ "bfregs=510,low_latency=508", 510, 508 },
		{ "low_latency=0", 16, 0 },
		{ "bfregs=2,low_latency=0", 2, 0 },
		{ "bfregs=32,low_latency=8", 32, 8 },
	};
	static struct rnic_bfreg *regs[1100];
	struct rnic_uars_usage usage;
	struct rnic_dev *dev;
	unsigned int i, k, n;

	(void)state;
	memset(&pages, 0, sizeof(pages));
	for (i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(rnic_dev_open(UNIT_DEVICE, rows[i].devargs, SOCKET_ID_ANY, &dev),
				 0);
		n = 2 * rows[i].bfregs;
		for (k = 0; k < n; k++) {
			regs[k] = rnic_bfreg_alloc(dev, RNIC_BFREG_LOW_LATENCY);
			assert_int_equal(regs[k]->kind, k < rows[i].low_latency
								? RNIC_BFREG_LOW_LATENCY
								: RNIC_BFREG_SHARED);
			/* Before one comes round, each of the others was given. */
			if (k >= rows[i].bfregs)
				assert_true(regs[k]->users > 1);
			else
				assert_int_equal(regs[k]->users, 1);
		}
		rnic_uars_usage(dev, &usage);
		assert_int_equal(usage.low_latency, rows[i].low_latency);
		assert_int_equal(usage.shared_users, n - rows[i].low_latency);
		for (k = 0; k < n; k++)
			assert_int_equal(rnic_bfreg_free(dev, regs[k]), 0);
		rnic_dev_close(dev);
	}
	assert_int_equal(
		rnic_dev_open(UNIT_DEVICE, "bfregs=512,low_latency=0", SOCKET_ID_ANY, &dev),
		-ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fresh, unit_close)

static const struct CMUnitTest tests[] = {
	TEST(test_figures),
	TEST(test_eight_pages_and_the_event_queues),
	UNIT_TEST(test_as_many_as_the_devargs_say),
	TEST(test_halves_in_turn),
	TEST(test_the_lock_is_for_shared_registers_alone),
	TEST(test_registers_larger_than_their_page),
	cmocka_unit_test(test_whole_wqes_go_to_owned_registers_alone),
	TEST(test_dynamic_registers_have_one_owner),
	TEST(test_a_page_goes_with_its_last_user),
	TEST(test_low_latency_then_dynamic_then_shared),
	TEST(test_a_device_with_no_more_pages),
	TEST(test_1024_of_them_at_most),
	TEST(test_the_nth_page_is_refused),
	TEST(test_a_page_that_cannot_be_mapped),
	TEST(test_a_lost_device_has_none_and_takes_none_back),
	TEST(test_send_queues_ring_registers_of_their_own),
	TEST(test_a_queue_that_is_refused_gives_its_register_back),
};

UNIT_MAIN("uar", tests)
