/* SPDX-License-Identifier: BSD-3-Clause */

/* The DMA map: the memory that the host has mapped for the device, as sorted ranges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/dma.h"
#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/tunables.h"

struct dma_range {
	uint64_t iova, last; /* the last byte, so that a range may end at 2^64 */
	uint8_t *host;
	unsigned int prot;
};

/*
 * In order, and in leaves of a few: there may be ten thousands of them, which come and go one by one, in any order. A
 * change moves what is behind it in its leaf, and of the others no more than the list of leaves.
 */
#define LEAF_RANGES 64
struct dma_leaf {
	uint32_t count;
	struct dma_range ranges[LEAF_RANGES];
};

struct dma_branch {
	uint64_t last; /* of the leaf's last range */
	struct dma_leaf *leaf;
};

struct softrnic_dma {
	struct dma_branch *branches; /* by address; none is empty */
	uint32_t branch_count, branch_room;
	uint32_t count; /* of ranges */
	bool vanished;	/* no look-up finds any of them */
	bool off;	/* no bus master: the same, until it is on */
	const struct dma_range *
		recent; /* the last hit, as neighbours follow each other; NULL: the map has changed */
};

struct dma_slot {
	uint32_t branch, index; /* the end: branch_count, 0 */
};

int
softrnic_dma_init(struct softrnic *dev)
{
	dev->dma = calloc(1, sizeof(*dev->dma));
	dev->dma_generation = softrnic_tunables.dma_generation;
	return dev->dma == NULL ? -ENOMEM : 0;
}

void
softrnic_dma_fini(struct softrnic *dev)
{
	struct softrnic_dma *dma = dev->dma;

	if (dma == NULL)
		return;
	for (uint32_t i = 0; i < dma->branch_count; i++)
		free(dma->branches[i].leaf);
	free(dma->branches);
	free(dma);
	dev->dma = NULL;
}

uint32_t
softrnic_dma_count(const struct softrnic *dev)
{
	return dev->dma->count;
}

/* NULL at the end. */
static const struct dma_range *
dma_at(const struct softrnic_dma *dma, struct dma_slot slot)
{
	return slot.branch == dma->branch_count
		       ? NULL
		       : &dma->branches[slot.branch].leaf->ranges[slot.index];
}

static struct dma_slot
dma_next(const struct softrnic_dma *dma, struct dma_slot slot)
{
	if (++slot.index == dma->branches[slot.branch].leaf->count)
		slot = (struct dma_slot){ slot.branch + 1, 0 };
	return slot;
}

/* The first range that ends at or behind the address. */
static struct dma_slot
dma_lower_bound(const struct softrnic_dma *dma, uint64_t iova)
{
	uint32_t low = 0, high = dma->branch_count, branch;
	const struct dma_leaf *leaf;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dma->branches[middle].last < iova)
			low = middle + 1;
		else
			high = middle;
	}
	branch = low;
	if (branch == dma->branch_count)
		return (struct dma_slot){ branch, 0 };
	leaf = dma->branches[branch].leaf;
	for (low = 0, high = leaf->count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (leaf->ranges[middle].last < iova)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct dma_slot){ branch, low };
}

static const struct dma_range *
dma_find(struct softrnic_dma *dma, uint64_t iova)
{
	const struct dma_range *range = dma->recent;

	if (dma->off)
		return NULL;
	if (range != NULL && range->iova <= iova && iova <= range->last)
		return range;
	range = dma_at(dma, dma_lower_bound(dma, iova));
	if (range == NULL || range->iova > iova || dma->vanished)
		return NULL;
	dma->recent = range;
	return range;
}

static void
dma_changed(struct softrnic *dev)
{
	dev->dma->recent = NULL;
	/* It comes round only in a test that begins near its end. 0 is "never resolved". */
	if (++dev->dma_generation == 0)
		dev->dma_generation = 1;
}

/* ---- Leaves. ---- */

/* An empty leaf, the `branch`th one from here on. */
static int
dma_branch_add(struct softrnic_dma *dma, uint32_t branch)
{
	struct dma_branch *branches = dma->branches;
	uint32_t room = dma->branch_room == 0 ? 16 : dma->branch_room * 2;
	struct dma_leaf *leaf;

	if (dma->branch_count == dma->branch_room) {
		branches = realloc(branches, room * sizeof(*branches));
		if (branches == NULL)
			return -ENOMEM;
		dma->branches = branches;
		dma->branch_room = room;
	}
	leaf = malloc(sizeof(*leaf));
	if (leaf == NULL)
		return -ENOMEM;
	leaf->count = 0;
	memmove(&branches[branch + 1], &branches[branch],
		(dma->branch_count - branch) * sizeof(*branches));
	branches[branch] = (struct dma_branch){ .leaf = leaf };
	dma->branch_count++;
	return 0;
}

static void
dma_branch_remove(struct softrnic_dma *dma, uint32_t branch)
{
	free(dma->branches[branch].leaf);
	dma->branch_count--;
	memmove(&dma->branches[branch], &dma->branches[branch + 1],
		(dma->branch_count - branch) * sizeof(*dma->branches));
}

static void
dma_branch_update(struct softrnic_dma *dma, uint32_t branch)
{
	const struct dma_leaf *leaf = dma->branches[branch].leaf;

	dma->branches[branch].last = leaf->ranges[leaf->count - 1].last;
}

/* Make room for a range at the slot, which may change. */
static int
dma_make_room(struct softrnic_dma *dma, struct dma_slot *slot)
{
	struct dma_leaf *leaf, *more;
	uint32_t kept;
	int rc;

	if (slot->branch == dma->branch_count) {
		if (slot->branch == 0)
			return dma_branch_add(dma, 0);
		slot->branch--;
		slot->index = dma->branches[slot->branch].leaf->count;
	}
	leaf = dma->branches[slot->branch].leaf;
	if (leaf->count < LEAF_RANGES)
		return 0;
	rc = dma_branch_add(dma, slot->branch + 1);
	if (rc != 0)
		return rc;
	more = dma->branches[slot->branch + 1].leaf;
	/* Those who map in rising order leave full leaves behind. */
	kept = slot->index == LEAF_RANGES ? LEAF_RANGES : LEAF_RANGES / 2;
	more->count = LEAF_RANGES - kept;
	memcpy(more->ranges, &leaf->ranges[kept], more->count * sizeof(more->ranges[0]));
	leaf->count = kept;
	if (more->count > 0)
		dma_branch_update(dma, slot->branch + 1);
	dma_branch_update(dma, slot->branch);
	if (slot->index > kept || kept == LEAF_RANGES)
		*slot = (struct dma_slot){ slot->branch + 1, slot->index - kept };
	return 0;
}

/* Merge two leaves that fill at most half of one, so that few ranges never take much memory. */
static void
dma_merge(struct softrnic_dma *dma, uint32_t branch)
{
	struct dma_leaf *leaf, *next;

	if (branch + 1 >= dma->branch_count)
		return;
	leaf = dma->branches[branch].leaf;
	next = dma->branches[branch + 1].leaf;
	if (leaf->count + next->count > LEAF_RANGES / 2)
		return;
	memcpy(&leaf->ranges[leaf->count], next->ranges, next->count * sizeof(next->ranges[0]));
	leaf->count += next->count;
	dma_branch_remove(dma, branch + 1);
	dma_branch_update(dma, branch);
}

static void
dma_remove(struct softrnic_dma *dma, struct dma_slot slot)
{
	struct dma_leaf *leaf = dma->branches[slot.branch].leaf;

	if (--dma->count == 0)
		dma->vanished = false;
	if (--leaf->count == 0) {
		dma_branch_remove(dma, slot.branch);
		return;
	}
	memmove(&leaf->ranges[slot.index], &leaf->ranges[slot.index + 1],
		(leaf->count - slot.index) * sizeof(leaf->ranges[0]));
	dma_branch_update(dma, slot.branch);
	dma_merge(dma, slot.branch);
	if (slot.branch > 0)
		dma_merge(dma, slot.branch - 1);
}

static int
dma_insert(struct softrnic *dev, const struct dma_range *range)
{
	struct softrnic_dma *dma = dev->dma;
	struct dma_slot slot = dma_lower_bound(dma, range->iova);
	const struct dma_range *behind = dma_at(dma, slot);
	struct dma_leaf *leaf;
	int rc;

	if (behind != NULL && behind->iova <= range->last) {
		SOFTRNIC_LOG(ERR, dev,
			     "DMA map of 0x%" PRIx64 "-0x%" PRIx64
			     " overlaps the one at 0x%" PRIx64,
			     range->iova, range->last, behind->iova);
		return -EEXIST;
	}
	rc = dma_make_room(dma, &slot);
	if (rc != 0)
		return rc;
	leaf = dma->branches[slot.branch].leaf;
	memmove(&leaf->ranges[slot.index + 1], &leaf->ranges[slot.index],
		(leaf->count - slot.index) * sizeof(*range));
	leaf->ranges[slot.index] = *range;
	leaf->count++;
	dma_branch_update(dma, slot.branch);
	dma->count++;
	dma_changed(dev);
	return 0;
}

/* ---- The door, and what is found through it. ---- */

int
softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
		 unsigned int prot)
{
	struct dma_range range = { iova, iova + (length - 1), address, prot };
	int rc;

	if (length == 0 || range.last < iova || address == NULL ||
	    (prot & (SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE)) == 0) {
		SOFTRNIC_LOG(ERR, dev,
			     "DMA map of %zu bytes at 0x%" PRIx64
			     ": wraps, or is empty, or without a right",
			     length, iova);
		return -EINVAL;
	}
	softrnic_lock(dev->poller);
	rc = dma_insert(dev, &range);
	softrnic_unlock(dev->poller);
	return rc;
}

int
softrnic_dma_unmap(struct softrnic *dev, uint64_t iova, size_t length)
{
	struct softrnic_dma *dma = dev->dma;
	const struct dma_range *range;
	struct dma_slot slot;
	int rc = -ENOENT;

	/* Polls hold the lock too: when we have it, no access is under way, and no address is kept for the next. */
	softrnic_lock(dev->poller);
	slot = dma_lower_bound(dma, iova);
	range = dma_at(dma, slot);
	if (length > 0 && range != NULL && range->iova == iova &&
	    range->last == iova + (length - 1)) {
		dma_remove(dma, slot);
		dma_changed(dev);
		for (unsigned int i = 0; dev->holders[i] != NULL; i++)
			dev->holders[i](dev);
		rc = 0;
	}
	softrnic_unlock(dev->poller);
	return rc;
}

/* What is resolved is a pointer past the map: only a change of it makes all of that be looked up anew. */
void
softrnic_bus_master(struct softrnic *dev, bool on)
{
	softrnic_lock(dev->poller);
	if (dev->dma->off == on)
		dma_changed(dev);
	dev->dma->off = !on;
	softrnic_unlock(dev->poller);
}

bool
softrnic_dma_on(const struct softrnic *dev)
{
	return !dev->dma->off;
}

void *
softrnic_dma_ptr(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot)
{
	struct softrnic_dma *dma = dev->dma;
	const struct dma_range *range = dma_find(dma, iova);
	uint64_t last = iova + (length - 1);
	struct dma_slot slot;
	uint32_t ranges = 1;
	uint8_t *host;

	if (range == NULL || (range->prot & prot) != prot || length == 0 || last < iova)
		return NULL;
	host = range->host + (iova - range->iova);
	/* Neighbours may go on where the first one ends, in both address spaces. */
	if (range->last < last)
		slot = dma_lower_bound(dma, iova);
	for (; range->last < last; ranges++) {
		const struct dma_range *next;

		slot = dma_next(dma, slot);
		next = dma_at(dma, slot);
		if (next == NULL || next->iova != range->last + 1 || (next->prot & prot) != prot ||
		    next->host != range->host + (range->last - range->iova) + 1) {
			host = NULL;
			break;
		}
		range = next;
	}
	softrnic_spend_ranges(dev, ranges);
	return host;
}

void
softrnic_dma_vanished(struct softrnic *dev)
{
	dev->dma->vanished = true;
	dma_changed(dev);
}

/* The host address of iova, and how many bytes of its range follow (at most length). */
static uint8_t *
dma_piece(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot, size_t *bytes)
{
	const struct dma_range *range = dma_find(dev->dma, iova);

	if (range == NULL || (range->prot & prot) != prot)
		return NULL;
	*bytes = length;
	if (range->last - iova < length - 1)
		*bytes = range->last - iova + 1;
	return range->host + (iova - range->iova);
}

bool
softrnic_dma_reachable(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot)
{
	size_t bytes;

	if (length == 0)
		return true;
	if (iova + (length - 1) < iova)
		return false;
	for (; length > 0; iova += bytes, length -= bytes) {
		if (dma_piece(dev, iova, length, prot, &bytes) == NULL)
			return false;
	}
	return true;
}

int
softrnic_dma_read(struct softrnic *dev, uint64_t iova, void *data, size_t length)
{
	uint8_t *to = data;
	size_t bytes = 0;

	if (!softrnic_dma_reachable(dev, iova, length, SOFTRNIC_DMA_READ)) {
		dev->stats.tpt_faults++;
		return -EFAULT;
	}
	for (; length > 0; iova += bytes, to += bytes, length -= bytes) {
		const uint8_t *from = dma_piece(dev, iova, length, SOFTRNIC_DMA_READ, &bytes);

		softrnic_audit(dev, from, bytes, SOFTRNIC_DMA_READ);
		memcpy(to, from, bytes);
	}
	return 0;
}

int
softrnic_dma_write(struct softrnic *dev, uint64_t iova, const void *data, size_t length)
{
	const uint8_t *from = data;
	size_t bytes = 0;

	if (!softrnic_dma_reachable(dev, iova, length, SOFTRNIC_DMA_WRITE)) {
		dev->stats.tpt_faults++;
		return -EFAULT;
	}
	for (; length > 0; iova += bytes, from += bytes, length -= bytes) {
		uint8_t *to = dma_piece(dev, iova, length, SOFTRNIC_DMA_WRITE, &bytes);

		softrnic_audit(dev, to, bytes, SOFTRNIC_DMA_WRITE);
		memcpy(to, from, bytes);
	}
	return 0;
}

int
softrnic_dma_pieces(struct softrnic *dev, uint64_t iova, uint64_t length, unsigned int prot,
		    struct iovec *iov, int count, int max)
{
	uint32_t ranges = 0;
	size_t bytes;

	if (length == 0)
		return count;
	if (iova + (length - 1) < iova)
		return -EFAULT;
	for (; length > 0; iova += bytes, length -= bytes) {
		uint8_t *host = dma_piece(dev, iova, length, prot, &bytes);

		ranges++;
		if (host == NULL) {
			count = -EFAULT;
			break;
		}
		/* However many neighbours become one piece, each is looked up. */
		if (count > 0 &&
		    (uint8_t *)iov[count - 1].iov_base + iov[count - 1].iov_len == host) {
			iov[count - 1].iov_len += bytes;
			continue;
		}
		if (count == max) {
			count = -E2BIG;
			break;
		}
		iov[count].iov_base = host;
		iov[count++].iov_len = bytes;
	}
	softrnic_spend_ranges(dev, ranges);
	return count;
}

#ifdef SOFTRNIC_DMA_AUDIT

atomic_ullong softrnic_audit_accesses, softrnic_audit_violations;

SOFTRNIC_NOT_TRACED static const struct dma_range *
dma_audit_find(const struct softrnic_dma *dma, const uint8_t *at, unsigned int prot)
{
	const struct dma_range *range, *end;

	for (uint32_t i = 0; !dma->off && i < dma->branch_count; i++) {
		range = dma->branches[i].leaf->ranges;
		for (end = range + dma->branches[i].leaf->count; range < end; range++)
			if ((range->prot & prot) == prot && at >= range->host &&
			    (uint64_t)(at - range->host) <= range->last - range->iova)
				return range;
	}
	return NULL;
}

/* In host addresses: however the caller came by the pointer. A poll holds the lock, so the map stands still. */
SOFTRNIC_NOT_TRACED void
softrnic_audit(struct softrnic *dev, const void *host, size_t length, unsigned int prot)
{
	const uint8_t *at = host, *end = at + length;
	const struct dma_range *range;

	atomic_fetch_add_explicit(&softrnic_audit_accesses, 1, memory_order_relaxed);
	/* The rest may lie in any other range. */
	while (at < end && (range = dma_audit_find(dev->dma, at, prot)) != NULL)
		at += range->last - range->iova - (uint64_t)(at - range->host) + 1;
	if (at >= end)
		return;
	if (atomic_fetch_add(&softrnic_audit_violations, 1) == 0)
		SOFTRNIC_LOG(CRIT, dev,
			     "audit: %zu bytes at %p, rights %u: not mapped for the device", length,
			     host, prot);
}

#endif
