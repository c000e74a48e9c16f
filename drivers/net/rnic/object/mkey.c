/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory keys (PRM: "Memory Keys"): a key is memory mapped for the device plus a translation table that gives it those
 * addresses which the process uses. Work requests carry process addresses, only the translation has IOVAs.
 *
 * A key's number is index << 8 | variant. The device chooses the index, a random variant makes numbers hard to guess,
 * and none that was handed out lately comes again, so that a stale key fails (mkey_history.c).
 *
 * The table from index to region has all keys that are alive, for the control path. How the data path finds the keys of
 * its mbufs: mempool.c.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/health.h"
#include "object/mkey.h"
#include "object/mkey_history.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/mkey.h"
#include "rdmapmd_driver.h"

#define KEY_TRIES	  16
#define LOG_PAGE_SIZE_MIN 12
#define LOG_PAGE_SIZE_MAX 31

static int
region_map(struct rnic_dev *dev, struct rnic_mkey_region *region)
{
	const unsigned int rights =
		RNIC_ACCESS_READ | (region->access & RNIC_MKEY_LOCAL_WRITE ? RNIC_ACCESS_WRITE : 0);
	const uintptr_t first = RTE_ALIGN_FLOOR(region->start, RNIC_PAGE_BYTES);

	region->mapped = (void *)first;
	region->mapped_length = RTE_ALIGN_CEIL(region->end, RNIC_PAGE_BYTES) - first;
	return dev->access->ops->map(dev->access, region->mapped, region->mapped_length, rights,
				     &region->iova);
}

/* The largest pages that memory, IOVA and the address in work requests have in common. */
static uint32_t
region_log_page_size(const struct rnic_mkey_region *region)
{
	uint64_t differ =
		((uintptr_t)region->mapped ^ region->iova) | (region->start ^ region->address);
	uint32_t log = (uint32_t)(63 - __builtin_clzll(region->mapped_length));

	log = RTE_MIN(log, (uint32_t)LOG_PAGE_SIZE_MAX);
	if (differ != 0)
		log = RTE_MIN(log, (uint32_t)__builtin_ctzll(differ));
	return log;
}

static void
mkey_context_fill(struct rnic_mkc *mkc, const struct rnic_mkey_region *region, uint8_t variant,
		  uint32_t octwords, uint32_t log_page)
{
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, (region->access & RNIC_MKEY_LOCAL_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RR, (region->access & RNIC_MKEY_REMOTE_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RW, (region->access & RNIC_MKEY_REMOTE_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_A, (region->access & RNIC_MKEY_REMOTE_ATOMIC) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RELAXED_ORDERING_WRITE,
		     (region->access & RNIC_MKEY_RELAXED_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RELAXED_ORDERING_READ,
		     (region->access & RNIC_MKEY_RELAXED_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, variant);
	rnic_mkc_set(mkc, RNIC_MKC_PD, region->pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, region->address);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, region->end - region->start);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, log_page);
}

/*
 * Rights of single pages, in the low bits of their addresses, are for devices that page on demand; others take addresses
 * alone, and look at the key's rights, which are the same.
 */
static uint64_t
region_page_rights(const struct rnic_mkey_region *region, bool paging)
{
	if (!paging)
		return 0;
	return RNIC_MTT_READ | (region->access & RNIC_MKEY_LOCAL_WRITE ? RNIC_MTT_WRITE : 0);
}

/* The pages that a key translates to. */
struct mkey_pages {
	uint32_t log;	/* of the bytes of each */
	uint32_t count; /* in an even number of entries, of 8 bytes */
	uint64_t
		iova; /* of the first; it may begin before what is mapped: the key's bounds keep the device out of there */
};

static int
mkey_pages_of(struct rnic_dev *dev, const struct rnic_mkey_region *region, struct mkey_pages *pages)
{
	uint64_t bytes, first;

	pages->log = region_log_page_size(region);
	if (pages->log < LOG_PAGE_SIZE_MIN) {
		RNIC_LOG(ERR, dev,
			 "%#zx bytes at %#zx cannot be called by 0x%" PRIx64
			 ": their offsets in a page of 4 KiB must be the same",
			 (size_t)(region->end - region->start), (size_t)region->start,
			 region->address);
		return -EINVAL;
	}
	bytes = UINT64_C(1) << pages->log;
	first = region->start & ~(bytes - 1);
	pages->count = (uint32_t)((region->end - 1 - first) / bytes + 1);
	pages->iova = region->iova & ~(bytes - 1);
	return 0;
}

/* The input of CREATE_MKEY, whole; NULL: no memory. */
static struct rnic_create_mkey_in *
mkey_create_fill(struct rnic_dev *dev, const struct rnic_mkey_region *region, uint8_t variant,
		 const struct mkey_pages *pages, uint32_t *bytes)
{
	const bool paging = rnic_general_cap(dev, RNIC_GENERAL_CAP_PG) != 0;
	const uint64_t rights = region_page_rights(region, paging);
	const uint32_t octwords = (pages->count + 1) / 2;
	struct rnic_create_mkey_in *in;
	struct rnic_be64 *mtt;
	uint32_t i;

	*bytes = (uint32_t)sizeof(*in) + octwords * 16;
	in = calloc(1, *bytes);
	if (in == NULL)
		return NULL;
	mkey_context_fill(rnic_create_mkey_in_mkc(in), region, variant, octwords, pages->log);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_PG_ACCESS, paging);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	mtt = (struct rnic_be64 *)(in + 1);
	for (i = 0; i < pages->count; i++)
		mtt[i] = rnic_cpu_to_be64((pages->iova + ((uint64_t)i << pages->log)) | rights);
	return in;
}

static int
mkey_create_command(struct rnic_dev *dev, const struct rnic_mkey_region *region, uint8_t variant,
		    uint32_t *index)
{
	struct rnic_create_mkey_in *in;
	struct mkey_pages pages;
	uint32_t bytes;
	int rc = mkey_pages_of(dev, region, &pages);

	if (rc != 0)
		return rc;
	in = mkey_create_fill(dev, region, variant, &pages, &bytes);
	if (in == NULL)
		return -ENOMEM;
	rc = rnic_cmd_create(dev, RNIC_CMD_CREATE_MKEY, in, bytes, NULL, index);
	free(in);
	return rc;
}

/* Called with the lock held: a new key is known to everybody. */
static int
mkey_publish(struct rnic_mkeys *mkeys, struct rnic_mkey_region *region)
{
	int rc = rdmapmd_table_insert(mkeys->regions, region->key >> 8, &region->handle);

	if (rc != 0)
		return rc;
	rc = rnic_mkey_history_add(mkeys->history, region->key);
	if (rc != 0)
		rdmapmd_table_remove(mkeys->regions, region->key >> 8, NULL);
	return rc;
}

/* Called with the lock held: a key whose number was not in use lately. */
static int
mkey_create(struct rnic_dev *dev, struct rnic_mkey_region *region)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	uint8_t variant;
	uint32_t index;
	int rc, tries;

	for (tries = 0; tries < KEY_TRIES; tries++) {
		if (getrandom(&variant, sizeof(variant), 0) != sizeof(variant)) {
			RNIC_LOG(ERR, dev, "the system has no random number for a memory key");
			return -EIO;
		}
		rc = mkey_create_command(dev, region, variant, &index);
		if (rc != 0)
			return rc;
		region->key = index << 8 | variant;
		if (!rnic_mkey_history_has(mkeys->history, region->key)) {
			rc = mkey_publish(mkeys, region);
			if (rc != 0)
				rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, index);
			return rc;
		}
		rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, index);
	}
	RNIC_LOG(ERR, dev, "no memory key with a fresh number in %d tries", KEY_TRIES);
	return -EAGAIN;
}

/* Called with the lock held: key first, then the map, then the memory is the owner's again. */
int
rnic_mkey_region_destroy(struct rnic_dev *dev, struct rnic_mkey_region *region)
{
	struct rnic_mkeys *mkeys = dev->mkeys;
	int rc, unmap_rc;

	rc = rdmapmd_table_remove(mkeys->regions, region->key >> 8, NULL);
	if (rc != 0)
		return rc;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_MKEY, region->key >> 8);
	rnic_dev_quiesce(dev);
	unmap_rc = dev->access->ops->unmap(dev->access, region->iova, region->mapped_length);
	if (unmap_rc != 0)
		RNIC_LOG(ERR, dev, "cannot unmap %p (%zu bytes): %s", region->mapped,
			 region->mapped_length, strerror(-unmap_rc));
	free(region);
	return rc != 0 ? rc : unmap_rc;
}

/* Called with the lock held. */
int
rnic_mkey_region_create(struct rnic_dev *dev, const struct rnic_mkey_attr *attr,
			struct rnic_mkey_region **result)
{
	const uintptr_t start = (uintptr_t)attr->memory;
	struct rnic_mkey_region *region;
	int rc;

	if (attr->length == 0 || start + attr->length < start)
		return -EINVAL;
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return -ENOMEM;
	region->start = start;
	region->end = start + attr->length;
	region->address = attr->address;
	region->pd = attr->pd;
	region->access = attr->access;
	rc = region_map(dev, region);
	if (rc != 0) {
		RNIC_LOG(ERR, dev, "cannot map %#zx bytes at %#zx for the device: %s", attr->length,
			 (size_t)start, strerror(-rc));
		free(region);
		return rc;
	}
	rc = mkey_create(dev, region);
	if (rc != 0) {
		/* A device that was lost meanwhile may have it all the same. */
		rnic_dev_quiesce(dev);
		dev->access->ops->unmap(dev->access, region->iova, region->mapped_length);
		free(region);
		return rc;
	}
	*result = region;
	return 0;
}

int
rnic_mkey_create(struct rnic_dev *dev, const struct rnic_mkey_attr *attr, uint32_t *key)
{
	struct rnic_mkey_region *region;
	int rc;

	pthread_mutex_lock(&dev->mkeys->lock);
	rc = rnic_mkey_region_create(dev, attr, &region);
	if (rc == 0)
		*key = region->key;
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

int
rnic_mkey_destroy(struct rnic_dev *dev, uint32_t key)
{
	struct rdmapmd_handle *handle;
	struct rnic_mkey_region *region;
	int rc = -ENOENT;

	pthread_mutex_lock(&dev->mkeys->lock);
	handle = rdmapmd_table_get(dev->mkeys->regions, key >> 8);
	if (handle != NULL) {
		region = container_of(handle, struct rnic_mkey_region, handle);
		rdmapmd_table_put(dev->mkeys->regions, handle);
		if (region->key == key)
			rc = rnic_mkey_region_destroy(dev, region);
	}
	pthread_mutex_unlock(&dev->mkeys->lock);
	return rc;
}

/* ---- Life ---- */

uint32_t
rnic_mkeys_count(struct rnic_dev *dev)
{
	return rdmapmd_table_count(dev->mkeys->regions);
}

int
rnic_mkeys_create(struct rnic_dev *dev)
{
	struct rnic_mkeys *mkeys = calloc(1, sizeof(*mkeys));
	int rc;

	if (mkeys == NULL)
		return -ENOMEM;
	rc = rdmapmd_table_create(&mkeys->regions);
	if (rc == 0)
		rc = rnic_mkey_history_create(&mkeys->history);
	if (rc != 0) {
		rdmapmd_table_destroy(mkeys->regions);
		free(mkeys);
		return rc;
	}
	pthread_mutex_init(&mkeys->lock, NULL);
	dev->mkeys = mkeys;
	return 0;
}

void
rnic_mkeys_destroy(struct rnic_dev *dev)
{
	struct rnic_mkeys *mkeys = dev->mkeys;

	if (mkeys == NULL)
		return;
	if (rdmapmd_table_destroy(mkeys->regions) != 0)
		RNIC_LOG(ERR, dev, "%u memory keys are still in use",
			 rdmapmd_table_count(mkeys->regions));
	pthread_mutex_destroy(&mkeys->lock);
	rnic_mkey_history_destroy(mkeys->history);
	dev->mkeys = NULL;
	free(mkeys);
}
