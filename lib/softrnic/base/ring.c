/* SPDX-License-Identifier: BSD-3-Clause */

/* Rings and doorbell records: host memory of which the device keeps the address, as long as the map stays as it is. */
#include <string.h>

#include "prm/cmd.h"
#include "prm/mkey.h"
#include "softrnic/base/log.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/resolved.h"
#include "softrnic/base/ring.h"
#include "softrnic/base/work.h"

#define RING_PAGE_SHIFT	    12 /* of the smallest pages */
#define RING_PAGE_SHIFT_MAX 31
#define RING_PAGE_PARTS	    64 /* of a page, as offsets count */

bool
softrnic_ring_refresh(struct softrnic *dev, struct softrnic_ring *ring)
{
	size_t page_bytes = (size_t)1 << ring->page_shift;
	bool neighbours = true;

	softrnic_ring_forget(ring);
	for (uint32_t i = 0; i < ring->page_count; i++) {
		/* The last page may be mapped no further than the ring goes. */
		uint64_t end = (uint64_t)ring->offset + ring->bytes - (uint64_t)i * page_bytes;
		uint32_t skip = i == 0 ? ring->offset : 0;
		size_t length = (end < page_bytes ? end : page_bytes) - skip;
		uint8_t *host = softrnic_dma_ptr(dev, ring->pages[i] + skip, length, ring->prot);

		/* A ring with a hole is looked at anew each time: it must not count as resolved. */
		if (host == NULL)
			return false;
		ring->host_list[i] = host - skip;
		if (i > 0 && ring->host_list[i] != (uint8_t *)ring->host_list[i - 1] + page_bytes)
			neighbours = false;
	}
	ring->host = ring->host_list;
	ring->flat = neighbours ? (uint8_t *)ring->host[0] + ring->offset : NULL;
	ring->generation = dev->dma_generation;
	softrnic_resolved_add(&dev->resolved_rings, &ring->resolved);
	return true;
}

void *
softrnic_ring_find(struct softrnic *dev, const struct softrnic_ring *ring, uint32_t at,
		   uint32_t bytes)
{
	const uint32_t skip = (at + ring->offset) & ((1u << ring->page_shift) - 1);
	const uint32_t page = (at + ring->offset) >> ring->page_shift;

	return softrnic_dma_ptr(dev, ring->pages[page] + skip, bytes, ring->prot);
}

void
softrnic_ring_forget(struct softrnic_ring *ring)
{
	if (ring->dev != NULL)
		softrnic_resolved_remove(&ring->dev->resolved_rings, &ring->resolved);
	ring->host = NULL;
	ring->flat = NULL;
	ring->generation = 0;
}

static uint64_t
ring_list_bytes(const struct softrnic_ring *ring)
{
	return (uint64_t)ring->page_count * (sizeof(*ring->pages) + sizeof(*ring->host_list));
}

/* Room for so many pages. */
static int
ring_room(struct softrnic *dev, struct softrnic_ring *ring, uint64_t count)
{
	ring->page_count = (uint32_t)count;
	if (ring_list_bytes(ring) > SOFTRNIC_RING_MEMORY - dev->rings_memory) {
		SOFTRNIC_LOG(NOTICE, dev,
			     "page lists of queues cannot take more than %" PRIu64 " bytes",
			     SOFTRNIC_RING_MEMORY);
		return RNIC_STATUS_NO_RES;
	}
	ring->dev = dev;
	dev->rings_memory += ring_list_bytes(ring);
	ring->pages = softrnic_alloc(dev, count, sizeof(*ring->pages));
	ring->host_list = softrnic_alloc(dev, count, sizeof(*ring->host_list));
	return ring->pages == NULL || ring->host_list == NULL ? RNIC_STATUS_NO_RES : RNIC_STATUS_OK;
}

/* Pages that the command lists. */
static int
ring_of_list(struct softrnic *dev, struct softrnic_ring *ring,
	     const struct softrnic_ring_place *place)
{
	const uint64_t page_bytes = UINT64_C(1) << ring->page_shift;
	const uint64_t count =
		((uint64_t)ring->offset + ring->bytes + page_bytes - 1) >> ring->page_shift;
	int status;

	if (place->pas_bytes / sizeof(*place->pas) < count)
		return RNIC_STATUS_BAD_INP_LEN;
	status = ring_room(dev, ring, count);
	for (uint32_t i = 0; status == RNIC_STATUS_OK && i < count; i++) {
		ring->pages[i] = rnic_be64_to_cpu(place->pas[i]);
		if ((ring->pages[i] & (page_bytes - 1)) != 0) {
			SOFTRNIC_LOG(INFO, dev,
				     "queue page 0x%" PRIx64 " is not aligned to 2^%u bytes",
				     ring->pages[i], ring->page_shift);
			status = RNIC_STATUS_BAD_PARAM;
		}
	}
	return status;
}

/* Pages of a umem, of whatever size they are there. Entries do not cross them: all are as long as what they are aligned to. */
static int
ring_of_umem(struct softrnic *dev, struct softrnic_ring *ring,
	     const struct softrnic_ring_place *place)
{
	const uint64_t skip = ring->offset;
	struct softrnic_umem *umem;
	uint64_t begin, count;
	int status = softrnic_umem_find(dev, &place->address, skip + ring->bytes, &umem);

	if (status != RNIC_STATUS_OK)
		return status;
	begin = umem->offset + place->address.at + skip;
	if (umem->page_shift > RING_PAGE_SHIFT_MAX || begin % RING_PAGE_PARTS != 0 ||
	    ((ring->prot & SOFTRNIC_DMA_READ) != 0 && (umem->rights & RNIC_MTT_READ) == 0) ||
	    ((ring->prot & SOFTRNIC_DMA_WRITE) != 0 && (umem->rights & RNIC_MTT_WRITE) == 0))
		return RNIC_STATUS_BAD_PARAM;
	ring->page_shift = umem->page_shift;
	ring->offset = (uint32_t)(begin & ((UINT64_C(1) << umem->page_shift) - 1));
	if ((uint64_t)ring->offset + ring->bytes > UINT32_MAX)
		return RNIC_STATUS_BAD_PARAM;
	count = ((begin + ring->bytes - 1) >> umem->page_shift) - (begin >> umem->page_shift) + 1;
	status = ring_room(dev, ring, count);
	if (status != RNIC_STATUS_OK)
		return status;
	memcpy(ring->pages, umem->pages + (begin >> umem->page_shift),
	       count * sizeof(*ring->pages));
	ring->umem = &umem->object;
	ring->umem->refs++;
	return RNIC_STATUS_OK;
}

/* Without an address; what is to be given back is in the ring. */
static int
ring_prepare(struct softrnic *dev, struct softrnic_ring *ring,
	     const struct softrnic_ring_place *place)
{
	const uint64_t page_shift = RING_PAGE_SHIFT + place->log_page_size;
	uint64_t part;

	if (page_shift > RING_PAGE_SHIFT_MAX || ring->bytes == 0 ||
	    place->page_offset >= RING_PAGE_PARTS)
		return RNIC_STATUS_BAD_PARAM;
	part = (UINT64_C(1) << page_shift) / RING_PAGE_PARTS;
	if (place->page_offset * part + ring->bytes > UINT32_MAX)
		return RNIC_STATUS_BAD_PARAM;
	ring->page_shift = (uint8_t)page_shift;
	ring->offset = (uint32_t)(place->page_offset * part);
	return place->address.in_umem ? ring_of_umem(dev, ring, place)
				      : ring_of_list(dev, ring, place);
}

int
softrnic_ring_init(struct softrnic *dev, struct softrnic_ring *ring,
		   const struct softrnic_ring_place *place, uint32_t bytes, unsigned int prot)
{
	int status;

	*ring = (struct softrnic_ring){ .bytes = bytes, .prot = prot };
	status = ring_prepare(dev, ring, place);
	if (status == RNIC_STATUS_OK && !softrnic_ring_refresh(dev, ring)) {
		SOFTRNIC_LOG(INFO, dev,
			     "queue of %u bytes at 0x%" PRIx64
			     ": not all of it is mapped for the device",
			     bytes, ring->pages[0]);
		status = RNIC_STATUS_BAD_PARAM;
	}
	if (status != RNIC_STATUS_OK)
		softrnic_ring_fini(ring);
	return status;
}

void
softrnic_ring_fini(struct softrnic_ring *ring)
{
	if (ring->dev == NULL)
		return;
	ring->dev->rings_memory -= ring_list_bytes(ring);
	softrnic_spend_bytes(ring->dev, ring_list_bytes(ring));
	softrnic_ring_forget(ring);
	if (ring->umem != NULL)
		ring->umem->refs--;
	softrnic_free(ring->dev, ring->pages);
	softrnic_free(ring->dev, ring->host_list);
	memset(ring, 0, sizeof(*ring));
}

void
softrnic_ring_move(struct softrnic_ring *to, struct softrnic_ring *from)
{
	bool resolved = from->resolved.slot != 0;

	/* The list knows a ring by where it is. */
	if (resolved)
		softrnic_resolved_remove(&from->dev->resolved_rings, &from->resolved);
	*to = *from;
	memset(from, 0, sizeof(*from));
	if (resolved)
		softrnic_resolved_add(&to->dev->resolved_rings, &to->resolved);
}

bool
softrnic_dbrec_refresh(struct softrnic *dev, struct softrnic_dbrec *dbrec)
{
	softrnic_dbrec_forget(dev, dbrec);
	dbrec->host =
		softrnic_dma_ptr(dev, dbrec->iova, sizeof(struct rnic_wq_dbrec), SOFTRNIC_DMA_READ);
	/* Mapped again elsewhere it may lie otherwise. */
	if ((uintptr_t)dbrec->host % sizeof(struct rnic_wq_dbrec) != 0)
		dbrec->host = NULL;
	dbrec->generation = dev->dma_generation;
	if (dbrec->host == NULL)
		return false;
	softrnic_resolved_add(&dev->resolved_dbrecs, &dbrec->resolved);
	return true;
}

void
softrnic_dbrec_forget(struct softrnic *dev, struct softrnic_dbrec *dbrec)
{
	softrnic_resolved_remove(&dev->resolved_dbrecs, &dbrec->resolved);
	dbrec->host = NULL;
	dbrec->generation = 0;
}

int
softrnic_dbrec_init(struct softrnic *dev, struct softrnic_dbrec *dbrec,
		    const struct softrnic_address *address)
{
	struct softrnic_umem *umem;
	int status;

	dbrec->iova = address->at;
	if (address->in_umem) {
		status = softrnic_umem_find(dev, address, sizeof(struct rnic_wq_dbrec), &umem);
		if (status != RNIC_STATUS_OK)
			return status;
		dbrec->iova = softrnic_umem_at(umem, address->at);
		dbrec->umem = &umem->object;
		dbrec->umem->refs++;
	}
	if (dbrec->iova % sizeof(struct rnic_wq_dbrec) != 0 ||
	    !softrnic_dbrec_refresh(dev, dbrec)) {
		SOFTRNIC_LOG(INFO, dev,
			     "doorbell record at 0x%" PRIx64
			     ": not aligned to 8 bytes, or not mapped for the device",
			     dbrec->iova);
		return RNIC_STATUS_BAD_PARAM;
	}
	return RNIC_STATUS_OK;
}

void
softrnic_dbrec_fini(struct softrnic *dev, struct softrnic_dbrec *dbrec)
{
	softrnic_dbrec_forget(dev, dbrec);
	if (dbrec->umem != NULL)
		dbrec->umem->refs--;
	dbrec->umem = NULL;
}

void
softrnic_rings_forget(struct softrnic *dev)
{
	struct softrnic_ring *ring;

	while ((ring = SOFTRNIC_RESOLVED_LAST(&dev->resolved_rings, struct softrnic_ring)) != NULL)
		softrnic_ring_forget(ring);
}

void
softrnic_dbrecs_forget(struct softrnic *dev)
{
	struct softrnic_dbrec *dbrec;

	while ((dbrec = SOFTRNIC_RESOLVED_LAST(&dev->resolved_dbrecs, struct softrnic_dbrec)) !=
	       NULL)
		softrnic_dbrec_forget(dev, dbrec);
}
