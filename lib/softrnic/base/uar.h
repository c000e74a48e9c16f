/* SPDX-License-Identifier: BSD-3-Clause */

/* UAR pages, as those see them who own the memory (uar.c) and who look at doorbells (doorbell.c). */
#ifndef SOFTRNIC_UAR_H
#define SOFTRNIC_UAR_H

#include <string.h>

#include "softrnic/base/device.h"
#include "prm/uar.h"

#define SOFTRNIC_UAR_BELLS (RNIC_BF_REGS_PER_UAR * 2) /* halves of BlueFlame registers */
#define SOFTRNIC_UAR_BYTES ((size_t)SOFTRNIC_UAR_PAGES * RNIC_UAR_PAGE_BYTES)

struct softrnic_uar_page {
	uint64_t bells[SOFTRNIC_UAR_BELLS]; /* as last seen */
	uint64_t arm;
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

#endif
