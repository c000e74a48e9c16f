/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * UAR pages and BlueFlame registers. The first page is the event queues' alone. Behind it come pages for queues: of the
 * four registers of a page, the first two are handed out, so that 16 registers take 8 pages. The last four of them are
 * low-latency: first come, first served, one queue each. The rest are shared, the least used first, under a lock of the
 * register.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "internal.h"

#define USED_PER_PAGE RNIC_BF_NON_FAST_PATH_REGS_PER_UAR
#define PAGES	      (RNIC_BF_REGS / USED_PER_PAGE)
#define FIRST_OWNED   (RNIC_BF_REGS - RNIC_BF_LOW_LATENCY_REGS)
#define LOG_REG_MIN   9
#define LOG_REG_MAX   10 /* those used still lie in their page */

_Static_assert(RNIC_UAR_BLUEFLAME + (USED_PER_PAGE << LOG_REG_MAX) <= RNIC_UAR_PAGE_BYTES,
	       "registers that are handed out end with their page");

struct reg {
	uint32_t users;
	rte_spinlock_t lock; /* of writes to a shared register */
};

struct rnic_uars {
	pthread_mutex_t lock;
	uint32_t pages[PAGES];
	volatile uint8_t *mapped[PAGES];
	uint32_t page_count; /* allocated */
	uint32_t reg_bytes;
	struct reg regs[RNIC_BF_REGS];
};

static int
alloc_queue_page(struct rnic_dev *dev, struct rnic_uars *uars)
{
	uint32_t page;
	int rc = rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_UAR, &page);

	if (rc != 0)
		return rc;
	uars->mapped[uars->page_count] = dev->access->ops->uar(dev->access, page);
	if (uars->mapped[uars->page_count] == NULL) {
		RNIC_LOG(ERR, dev, "UAR page 0x%x cannot be mapped", page);
		rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, page);
		return -EIO;
	}
	uars->pages[uars->page_count++] = page;
	return 0;
}

int
rnic_uars_create(struct rnic_dev *dev)
{
	struct rnic_uars *uars = calloc(1, sizeof(*uars));
	uint64_t log_reg = rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE);
	uint32_t i;
	int rc;

	if (log_reg > LOG_REG_MAX) {
		RNIC_LOG(ERR, dev,
			 "BlueFlame registers of 2^%" PRIu64 " bytes: at most 2^%u are usable",
			 log_reg, LOG_REG_MAX);
		free(uars);
		return -ENOTSUP;
	}
	if (uars == NULL)
		return -ENOMEM;
	/* Without BlueFlame the size may be 0; doorbells stand where registers would. */
	if (log_reg < LOG_REG_MIN)
		log_reg = LOG_REG_MIN;
	uars->reg_bytes = 1u << log_reg;
	pthread_mutex_init(&uars->lock, NULL);
	for (i = 0; i < RNIC_BF_REGS; i++)
		rte_spinlock_init(&uars->regs[i].lock);
	dev->uars = uars;
	rc = rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_UAR, &dev->eq_uar);
	if (rc != 0) {
		dev->uars = NULL;
		pthread_mutex_destroy(&uars->lock);
		free(uars);
		return rc;
	}
	while (rc == 0 && uars->page_count < PAGES)
		rc = alloc_queue_page(dev, uars);
	if (rc != 0)
		rnic_uars_destroy(dev);
	return rc;
}

void
rnic_uars_destroy(struct rnic_dev *dev)
{
	struct rnic_uars *uars = dev->uars;
	uint32_t i;

	if (uars == NULL)
		return;
	for (i = 0; i < RNIC_BF_REGS; i++)
		if (uars->regs[i].users > 0)
			RNIC_LOG(ERR, dev, "doorbell register %u still has %u users", i,
				 uars->regs[i].users);
	while (uars->page_count > 0)
		rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, uars->pages[--uars->page_count]);
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, dev->eq_uar);
	dev->uars = NULL;
	pthread_mutex_destroy(&uars->lock);
	free(uars);
}

uint32_t
rnic_uars_cq_page(struct rnic_dev *dev)
{
	return dev->uars->pages[0];
}

volatile void *
rnic_uars_cq_register(struct rnic_dev *dev)
{
	return dev->uars->mapped[0] + RNIC_UAR_CQ_ARM;
}

/* Called with the lock held. */
static uint32_t
choose(const struct rnic_uars *uars, bool low_latency)
{
	uint32_t i, best = 0;

	if (low_latency)
		for (i = FIRST_OWNED; i < RNIC_BF_REGS; i++)
			if (uars->regs[i].users == 0)
				return i;
	for (i = 1; i < FIRST_OWNED; i++)
		if (uars->regs[i].users < uars->regs[best].users)
			best = i;
	return best;
}

int
rnic_bfreg_alloc(struct rnic_dev *dev, bool low_latency, struct rnic_bfreg *reg)
{
	struct rnic_uars *uars = dev->uars;
	uint32_t id;

	pthread_mutex_lock(&uars->lock);
	id = choose(uars, low_latency);
	uars->regs[id].users++;
	pthread_mutex_unlock(&uars->lock);

	*reg = (struct rnic_bfreg){
		.uar = uars->pages[id / USED_PER_PAGE],
		.address = uars->mapped[id / USED_PER_PAGE] + RNIC_UAR_BLUEFLAME +
			   id % USED_PER_PAGE * uars->reg_bytes,
		.half = uars->reg_bytes / 2,
		.owned = id >= FIRST_OWNED,
		.lock = &uars->regs[id].lock,
		.id = (uint16_t)id,
	};
	reg->blueflame =
		reg->owned && dev->args.bf && rnic_general_cap(dev, RNIC_GENERAL_CAP_BF) != 0;
	return 0;
}

void
rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	if (reg->address == NULL)
		return;
	pthread_mutex_lock(&dev->uars->lock);
	dev->uars->regs[reg->id].users--;
	pthread_mutex_unlock(&dev->uars->lock);
	*reg = (struct rnic_bfreg){ 0 };
}
