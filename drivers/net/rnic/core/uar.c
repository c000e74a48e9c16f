/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * UAR pages and BlueFlame registers. The first page is the event queues' alone. Behind it come pages for queues: of the
 * four registers of a page, the first two are handed out, so that 16 registers take 8 pages. The last four of them are
 * low-latency: first come, first served, each to one owner. The rest are shared, the least used first, under a lock of the
 * register. Dynamic registers have an owner as well: further pages are allocated for them on demand, and given back with
 * their last user. Where the device has none left, there is always one to share.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/uar.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"
#include "prm/uar.h"

#define USED_PER_PAGE RNIC_BF_NON_FAST_PATH_REGS_PER_UAR
#define DYNAMIC_PAGES (RNIC_BF_DYNAMIC_REGS / USED_PER_PAGE)
#define LOG_REG_MIN   9
#define LOG_REG_MAX   10 /* those used still lie in their page */

_Static_assert(USED_PER_PAGE == 2, "as devargs.c has it: a page is of one kind");
_Static_assert(RNIC_UAR_BLUEFLAME + (USED_PER_PAGE << LOG_REG_MAX) <= RNIC_UAR_PAGE_BYTES,
	       "registers that are handed out end with their page");

struct rnic_uar_page {
	TAILQ_ENTRY(rnic_uar_page) next; /* of the dynamic ones */
	volatile uint8_t *mapped;
	uint32_t number;
	struct rnic_bfreg regs[USED_PER_PAGE];
};
TAILQ_HEAD(page_list, rnic_uar_page);

struct rnic_uars {
	pthread_mutex_t lock;		    /* of all below, and of the registers' users */
	uint32_t page_count;		    /* allocated */
	uint32_t static_pages, first_owned; /* those before it are shared */
	uint32_t reg_bytes;
	struct page_list dynamic;
	uint32_t dynamic_count;
	bool shortage_reported;
	struct rnic_uar_page *pages[]; /* static_pages */
};

/* ---- Pages ---- */

static void
init_registers(const struct rnic_dev *dev, const struct rnic_uars *uars, struct rnic_uar_page *page,
	       enum rnic_bfreg_kind kind)
{
	const bool blueflame = kind != RNIC_BFREG_SHARED && dev->args.bf &&
			       rnic_general_cap(dev, RNIC_GENERAL_CAP_BF) != 0;
	uint32_t i;

	for (i = 0; i < USED_PER_PAGE; i++) {
		page->regs[i] = (struct rnic_bfreg){
			.address = page->mapped + RNIC_UAR_BLUEFLAME + i * uars->reg_bytes,
			.half = uars->reg_bytes / 2,
			.kind = kind,
			.blueflame = blueflame,
			.plain = kind != RNIC_BFREG_SHARED && !blueflame,
			.uar = page->number,
			.page = page,
		};
		rte_spinlock_init(&page->regs[i].lock);
	}
}

/* A number that the device has made up would lead to other registers. */
static bool
is_in_bar(const struct rnic_dev *dev, uint32_t number)
{
	return number >= RNIC_INIT_SEG_PAGES &&
	       number < dev->access->bar_size / RNIC_UAR_PAGE_BYTES;
}

static void
report_not_usable(const struct rnic_dev *dev, uint32_t number)
{
	RNIC_LOG(ERR, dev,
		 "UAR page 0x%x cannot be used: BAR0 has room for 0x%zx to 0x%zx behind the "
		 "initialization segment",
		 number, RNIC_INIT_SEG_PAGES, dev->access->bar_size / RNIC_UAR_PAGE_BYTES - 1);
}

/* The event queues'. It is written to by the access, so that it needs not be memory. */
static int
alloc_eq_page(struct rnic_dev *dev)
{
	int rc = rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_UAR, &dev->eq_uar);

	if (rc != 0 || is_in_bar(dev, dev->eq_uar))
		return rc;
	report_not_usable(dev, dev->eq_uar);
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, dev->eq_uar);
	return -EIO;
}

/* Not reported: a device with no pages left for dynamic registers has not failed. */
static int
try_alloc(struct rnic_dev *dev, uint32_t *number)
{
	struct rnic_cmd_in in = { 0 };

	return rnic_cmd_try_create(dev, RNIC_CMD_ALLOC_UAR, &in, sizeof(in), NULL, number);
}

static int
alloc_page(struct rnic_dev *dev, const struct rnic_uars *uars, enum rnic_bfreg_kind kind,
	   struct rnic_uar_page **result)
{
	struct rnic_uar_page *page = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*page));
	int rc;

	if (page == NULL)
		return -ENOMEM;
	memset(page, 0, sizeof(*page));
	rc = kind == RNIC_BFREG_DYNAMIC ? try_alloc(dev, &page->number)
					: rnic_cmd_alloc(dev, RNIC_CMD_ALLOC_UAR, &page->number);
	if (rc != 0)
		goto no_page;
	if (is_in_bar(dev, page->number))
		page->mapped = dev->access->ops->uar(dev->access, page->number);
	if (page->mapped == NULL) {
		rc = -EIO;
		goto not_mapped;
	}
	init_registers(dev, uars, page, kind);
	*result = page;
	return 0;

not_mapped:
	if (kind != RNIC_BFREG_DYNAMIC || !uars->shortage_reported)
		report_not_usable(dev, page->number);
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, page->number);
no_page:
	free(page);
	return rc;
}

static int
free_page(struct rnic_dev *dev, struct rnic_uar_page *page)
{
	int rc = rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, page->number);

	free(page);
	return rc;
}

static uint32_t
page_users(const struct rnic_uar_page *page)
{
	uint32_t i, users = 0;

	for (i = 0; i < USED_PER_PAGE; i++)
		users += page->regs[i].users;
	return users;
}

/* Those that are in use. */
static uint32_t
page_registers(const struct rnic_uar_page *page)
{
	uint32_t i, registers = 0;

	for (i = 0; i < USED_PER_PAGE; i++)
		registers += page->regs[i].users > 0;
	return registers;
}

/* ---- Life ---- */

int
rnic_uars_create(struct rnic_dev *dev)
{
	const uint32_t static_pages = dev->args.bfregs / USED_PER_PAGE;
	struct rnic_uars *uars = calloc(1, sizeof(*uars) + static_pages * sizeof(uars->pages[0]));
	uint64_t log_reg = rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE);
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
	uars->static_pages = static_pages;
	uars->first_owned = static_pages - dev->args.low_latency / USED_PER_PAGE;
	pthread_mutex_init(&uars->lock, NULL);
	TAILQ_INIT(&uars->dynamic);
	dev->uars = uars;
	rc = alloc_eq_page(dev);
	if (rc != 0) {
		dev->uars = NULL;
		pthread_mutex_destroy(&uars->lock);
		free(uars);
		return rc;
	}
	while (rc == 0 && uars->page_count < uars->static_pages) {
		rc = alloc_page(dev, uars,
				uars->page_count < uars->first_owned ? RNIC_BFREG_SHARED
								     : RNIC_BFREG_LOW_LATENCY,
				&uars->pages[uars->page_count]);
		if (rc == 0)
			uars->page_count++;
	}
	if (rc != 0)
		rnic_uars_destroy(dev);
	return rc;
}

static void
destroy_page(struct rnic_dev *dev, struct rnic_uar_page *page)
{
	const uint32_t users = page_users(page);

	if (users > 0)
		RNIC_LOG(ERR, dev, "doorbell registers of UAR page 0x%x still have %u users",
			 page->number, users);
	free_page(dev, page);
}

void
rnic_uars_destroy(struct rnic_dev *dev)
{
	struct rnic_uars *uars = dev->uars;
	struct rnic_uar_page *page;

	if (uars == NULL)
		return;
	while ((page = TAILQ_FIRST(&uars->dynamic)) != NULL) {
		TAILQ_REMOVE(&uars->dynamic, page, next);
		destroy_page(dev, page);
	}
	while (uars->page_count > 0)
		destroy_page(dev, uars->pages[--uars->page_count]);
	rnic_cmd_destroy(dev, RNIC_CMD_DEALLOC_UAR, dev->eq_uar);
	dev->uars = NULL;
	pthread_mutex_destroy(&uars->lock);
	free(uars);
}

uint32_t
rnic_uars_cq_page(struct rnic_dev *dev)
{
	return dev->uars->pages[0]->number;
}

volatile void *
rnic_uars_cq_register(struct rnic_dev *dev)
{
	return dev->uars->pages[0]->mapped + RNIC_UAR_CQ_ARM;
}

void
rnic_uars_usage(struct rnic_dev *dev, struct rnic_uars_usage *usage)
{
	struct rnic_uars *uars = dev->uars;
	const struct rnic_uar_page *page;
	uint32_t i;

	*usage = (struct rnic_uars_usage){ 0 };
	pthread_mutex_lock(&uars->lock);
	for (i = 0; i < uars->first_owned; i++)
		usage->shared_users += page_users(uars->pages[i]);
	for (; i < uars->static_pages; i++)
		usage->low_latency += page_registers(uars->pages[i]);
	TAILQ_FOREACH(page, &uars->dynamic, next)
		usage->dynamic += page_registers(page);
	usage->dynamic_pages = uars->dynamic_count;
	pthread_mutex_unlock(&uars->lock);
}

/* ---- Registers: those that find one are called with the lock held. ---- */

static struct rnic_bfreg *
unused_of(struct rnic_uar_page *page)
{
	uint32_t i;

	for (i = 0; i < USED_PER_PAGE; i++)
		if (page->regs[i].users == 0)
			return &page->regs[i];
	return NULL;
}

static struct rnic_bfreg *
find_low_latency(struct rnic_uars *uars)
{
	struct rnic_bfreg *reg = NULL;
	uint32_t i;

	for (i = uars->first_owned; i < uars->static_pages && reg == NULL; i++)
		reg = unused_of(uars->pages[i]);
	return reg;
}

static struct rnic_bfreg *
find_dynamic(struct rnic_dev *dev, struct rnic_uars *uars)
{
	struct rnic_uar_page *page;
	struct rnic_bfreg *reg;
	int rc = -ENOSPC;

	TAILQ_FOREACH(page, &uars->dynamic, next) {
		reg = unused_of(page);
		if (reg != NULL)
			return reg;
	}
	if (uars->dynamic_count < DYNAMIC_PAGES)
		rc = alloc_page(dev, uars, RNIC_BFREG_DYNAMIC, &page);
	if (rc != 0) {
		if (!uars->shortage_reported)
			RNIC_LOG(NOTICE, dev,
				 "no more than %u UAR pages for doorbells (%s): queues share "
				 "registers, under a lock",
				 uars->static_pages + uars->dynamic_count, strerror(-rc));
		uars->shortage_reported = true;
		return NULL;
	}
	uars->shortage_reported = false;
	TAILQ_INSERT_TAIL(&uars->dynamic, page, next);
	uars->dynamic_count++;
	return &page->regs[0];
}

static struct rnic_bfreg *
find_shared(struct rnic_uars *uars)
{
	struct rnic_bfreg *reg, *best = &uars->pages[0]->regs[0];
	uint32_t i;

	for (i = 1; i < uars->first_owned * USED_PER_PAGE; i++) {
		reg = &uars->pages[i / USED_PER_PAGE]->regs[i % USED_PER_PAGE];
		if (reg->users < best->users)
			best = reg;
	}
	return best;
}

struct rnic_bfreg *
rnic_bfreg_alloc(struct rnic_dev *dev, unsigned int kinds)
{
	struct rnic_uars *uars = dev->uars;
	struct rnic_bfreg *reg = NULL;

	pthread_mutex_lock(&uars->lock);
	if (kinds & RNIC_BFREG_LOW_LATENCY)
		reg = find_low_latency(uars);
	if (reg == NULL && (kinds & RNIC_BFREG_DYNAMIC))
		reg = find_dynamic(dev, uars);
	if (reg == NULL)
		reg = find_shared(uars);
	reg->users++;
	pthread_mutex_unlock(&uars->lock);
	return reg;
}

struct rnic_bfreg *
rnic_bfreg_share(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	pthread_mutex_lock(&dev->uars->lock);
	reg->users++;
	pthread_mutex_unlock(&dev->uars->lock);
	return reg;
}

int
rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	struct rnic_uars *uars = dev->uars;
	int rc = 0;

	if (reg == NULL)
		return 0;
	pthread_mutex_lock(&uars->lock);
	reg->users--;
	if (reg->kind == RNIC_BFREG_DYNAMIC && page_users(reg->page) == 0) {
		TAILQ_REMOVE(&uars->dynamic, reg->page, next);
		uars->dynamic_count--;
		rc = free_page(dev, reg->page);
	}
	pthread_mutex_unlock(&uars->lock);
	return rc;
}
