/* SPDX-License-Identifier: BSD-3-Clause */

/* UAR pages: the memory (uar.c), and the doorbells in it (doorbell.c). */
#ifndef SOFTRNIC_UAR_H
#define SOFTRNIC_UAR_H

#include <string.h>

#include "prm/uar.h"
#include "softrnic/base/device.h"

#define SOFTRNIC_UAR_BELLS (RNIC_BF_REGS_PER_UAR * 2) /* halves of BlueFlame registers */
#define SOFTRNIC_UAR_BYTES ((size_t)SOFTRNIC_UAR_PAGES * RNIC_UAR_PAGE_BYTES)

struct softrnic_uar_page {
	uint64_t bells[SOFTRNIC_UAR_BELLS]; /* as last seen */
	uint64_t arm;
	uint32_t
		arms; /* words found here that may have covered others: see cq_may_be_armed(); mod 2^32 */
	uint32_t users; /* queues that ring here */
};

struct softrnic_uar_watch {
	struct softrnic_uar_page pages[SOFTRNIC_UAR_PAGES];
	uint16_t used[SOFTRNIC_UAR_PAGES]; /* the pages with users */
	uint32_t used_count;
	uint32_t next; /* of those, where the next look begins */
	uint32_t tick;
};

static inline uint64_t *
softrnic_uar_word(const struct softrnic *dev, uint32_t page, uint32_t offset)
{
	return (uint64_t *)(dev->uar_memory + (size_t)page * RNIC_UAR_PAGE_BYTES + offset);
}

static inline uint64_t
softrnic_uar_load(const struct softrnic *dev, uint32_t page, uint32_t offset)
{
	/* Pairs with the driver's doorbell store: its record is visible then. */
	return RNIC_SWAP64(__atomic_load_n(softrnic_uar_word(dev, page, offset), __ATOMIC_ACQUIRE));
}

/* Of UAR pages: numbers, and pages of the BAR. */
static inline uint32_t
softrnic_first_uar(const struct softrnic *dev)
{
	return dev->tables[SOFTRNIC_UAR].first;
}

/* Makes uar_memory and uar_fd. */
int softrnic_uar_init(struct softrnic *dev);
/* See softrnic_bar_renew(). */
int softrnic_uar_renew(struct softrnic *dev);
void softrnic_uar_fini(struct softrnic *dev);
/*
 * A page was allocated or freed: it is clean for the next owner as for the first. Page number n, as ALLOC_UAR returns it, of
 * the SOFTRNIC_UAR_PAGES from softrnic_first_uar() on, stands at uar_memory + (n - the first one) * 4096.
 */
void softrnic_uar_clear(struct softrnic *dev, uint32_t uar);
/* How many words were found on this page that may have covered the first ones of other CQs. */
uint32_t softrnic_uar_arms(const struct softrnic *dev, uint32_t uar);
/* An SQ, QP or CQ starts to ring on this page (+1), or stops (-1): pages without queues cost nothing. */
void softrnic_uar_user(struct softrnic *dev, uint32_t uar, int change);
/* The queue's doorbells so far are forgotten: one with the same words is a new one. */
void softrnic_uar_forget(struct softrnic *dev, uint32_t uar, uint32_t number);

#endif
