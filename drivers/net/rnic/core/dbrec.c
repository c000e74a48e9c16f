/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell records, packed in pages of hugepage memory: 64 to a page, a cache line each, so that two queues on two cores
 * do not share one. The device only reads them.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/dbrec.h"
#include "core/dev.h"
#include "core/mem.h"

#define RECORD_BYTES	 64u
#define RECORDS_PER_PAGE (RNIC_PAGE_BYTES / RECORD_BYTES)

struct page {
	struct page *next;
	struct rnic_mem mem;
	uint64_t used;
};
_Static_assert(RECORDS_PER_PAGE == 64, "one bit of used for each record");

struct rnic_dbrecs {
	pthread_mutex_t lock;
	struct page *pages;
};

int
rnic_dbrecs_create(struct rnic_dev *dev)
{
	dev->dbrecs = calloc(1, sizeof(*dev->dbrecs));
	if (dev->dbrecs == NULL)
		return -ENOMEM;
	pthread_mutex_init(&dev->dbrecs->lock, NULL);
	return 0;
}

void
rnic_dbrecs_destroy(struct rnic_dev *dev)
{
	struct page *page;

	if (dev->dbrecs == NULL)
		return;
	while ((page = dev->dbrecs->pages) != NULL) {
		RNIC_LOG(ERR, dev, "%d doorbell records are still in use",
			 __builtin_popcountll(page->used));
		dev->dbrecs->pages = page->next;
		rnic_mem_free(dev, &page->mem);
		free(page);
	}
	pthread_mutex_destroy(&dev->dbrecs->lock);
	free(dev->dbrecs);
	dev->dbrecs = NULL;
}

/* Called with the lock held. */
static int
add_page(struct rnic_dev *dev)
{
	struct page *page = calloc(1, sizeof(*page));
	int rc;

	if (page == NULL)
		return -ENOMEM;
	rc = rnic_mem_alloc(dev, "doorbell records", RNIC_PAGE_BYTES, RNIC_PAGE_BYTES,
			    RNIC_ACCESS_READ, &page->mem);
	if (rc != 0) {
		free(page);
		return rc;
	}
	page->next = dev->dbrecs->pages;
	dev->dbrecs->pages = page;
	return 0;
}

int
rnic_dbrec_alloc(struct rnic_dev *dev, void **record, uint64_t *iova)
{
	struct page *page;
	size_t offset;
	int bit, rc = 0;

	pthread_mutex_lock(&dev->dbrecs->lock);
	for (page = dev->dbrecs->pages; page != NULL; page = page->next)
		if (~page->used != 0)
			break;
	if (page == NULL) {
		rc = add_page(dev);
		page = dev->dbrecs->pages;
	}
	if (rc == 0) {
		bit = __builtin_ctzll(~page->used);
		page->used |= UINT64_C(1) << bit;
		offset = (size_t)bit * RECORD_BYTES;
		*record = (uint8_t *)page->mem.address + offset;
		*iova = page->mem.iova + offset;
		memset(*record, 0, RECORD_BYTES);
	}
	pthread_mutex_unlock(&dev->dbrecs->lock);
	return rc;
}

void
rnic_dbrec_free(struct rnic_dev *dev, void *record)
{
	struct page **link, *page;

	if (record == NULL)
		return;
	pthread_mutex_lock(&dev->dbrecs->lock);
	for (link = &dev->dbrecs->pages; (page = *link) != NULL; link = &page->next) {
		uintptr_t offset = (uintptr_t)record - (uintptr_t)page->mem.address;

		if (offset >= RNIC_PAGE_BYTES)
			continue;
		page->used &= ~(UINT64_C(1) << offset / RECORD_BYTES);
		if (page->used == 0) {
			*link = page->next;
			rnic_mem_free(dev, &page->mem);
			free(page);
		}
		break;
	}
	pthread_mutex_unlock(&dev->dbrecs->lock);
}
