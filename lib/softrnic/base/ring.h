/* SPDX-License-Identifier: BSD-3-Clause */

/* Rings and doorbell records in host memory, followed across changes of the DMA map. */
#ifndef SOFTRNIC_RING_H
#define SOFTRNIC_RING_H

#include "softrnic/base/device.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/umem.h"

/*
 * A ring in host memory (ring.c): the page list that a CREATE command carried, resolved to host addresses at create time and
 * again whenever the DMA map has changed (dev->dma_generation).
 */
struct softrnic_ring {
	uint64_t *pages; /* iovas */
	void **host;	 /* their host addresses; NULL: not resolved */
	uint32_t page_count;
	uint8_t page_shift;
	uint32_t offset; /* of the ring in its first page, bytes */
	uint32_t bytes;
	uint64_t generation;
	unsigned int prot;
	void *flat; /* start of the ring if its pages are neighbours in host memory, else NULL */
	struct softrnic_object *umem; /* that it lies in, or NULL */
	/* whose memory its lists take (SOFTRNIC_RING_MEMORY); NULL: there are none */
	struct softrnic *dev;
	void **host_list; /* the room of `host` */
	struct softrnic_resolved resolved;
};
/*
 * Bytes of our memory that page lists of all rings of a device may take: a list may name one page a million times, so
 * what the driver has is no measure.
 */
#define SOFTRNIC_RING_MEMORY (UINT64_C(128) << 20)
/*
 * Where a command says that a ring lies, in sizes as contexts have them: from page_offset 64ths of a page on, in pages of
 * 4 KiB << log_page_size that it lists (big-endian addresses), or that begin so far into a umem.
 */
struct softrnic_ring_place {
	const struct rnic_be64 *pas;
	size_t pas_bytes;
	uint64_t log_page_size, page_offset;
	struct softrnic_address address; /* not looked at if it is in no umem */
};
/* RNIC_STATUS_OK, BAD_PARAM (not reachable, bad sizes), BAD_RES (no such umem), BAD_INP_LEN or NO_RES. */
int softrnic_ring_init(struct softrnic *dev, struct softrnic_ring *ring,
		       const struct softrnic_ring_place *place, uint32_t bytes, unsigned int prot);
void softrnic_ring_fini(struct softrnic_ring *ring);
/* `to`, which has been given back, becomes what `from` is; `from` is empty then. */
void softrnic_ring_move(struct softrnic_ring *to, struct softrnic_ring *from);
/* Resolve again after a change of the DMA map; false: some page is no longer reachable. */
bool softrnic_ring_refresh(struct softrnic *dev, struct softrnic_ring *ring);
/* Where [at, at + bytes) of it, which do not cross a page, are now, whatever is resolved; NULL if not reachable. */
void *softrnic_ring_find(struct softrnic *dev, const struct softrnic_ring *ring, uint32_t at,
			 uint32_t bytes);
/* Address of byte `at` of the ring, for an access that does not cross a page; NULL if not reachable. */
static inline void *
softrnic_ring_at(const struct softrnic_ring *ring, uint32_t at)
{
	if (ring->flat != NULL)
		return (uint8_t *)ring->flat + at;
	at += ring->offset;
	uint8_t *page = ring->host[at >> ring->page_shift];
	return page == NULL ? NULL : page + (at & ((1u << ring->page_shift) - 1));
}

/* A doorbell record (ring.c): 8 bytes in host memory, followed across changes of the DMA map like a ring. */
struct softrnic_dbrec {
	uint64_t iova;
	void *host; /* NULL: not reachable */
	uint64_t generation;
	struct softrnic_object *umem; /* that it lies in, or NULL */
	struct softrnic_resolved resolved;
};
/* RNIC_STATUS_OK, BAD_PARAM (not on 8 bytes, or not reachable), BAD_RES (no such umem). */
int softrnic_dbrec_init(struct softrnic *dev, struct softrnic_dbrec *dbrec,
			const struct softrnic_address *address);
/* All zero is fine. */
void softrnic_dbrec_fini(struct softrnic *dev, struct softrnic_dbrec *dbrec);
bool softrnic_dbrec_refresh(struct softrnic *dev, struct softrnic_dbrec *dbrec);
/* Counter 0 or 1 of the record, host order, read with acquire; false: not reachable. */
static inline bool
softrnic_dbrec_read(struct softrnic *dev, struct softrnic_dbrec *dbrec, unsigned int which,
		    uint32_t *value)
{
	if (dbrec->generation != dev->dma_generation && !softrnic_dbrec_refresh(dev, dbrec))
		return false;
	if (dbrec->host == NULL)
		return false;
	softrnic_audit(dev, dbrec->host, sizeof(struct rnic_wq_dbrec), SOFTRNIC_DMA_READ);
	/* Pairs with the driver's store of the counter behind its WQEs or index. */
	*value = RNIC_SWAP32(
		__atomic_load_n((const uint32_t *)dbrec->host + which, __ATOMIC_ACQUIRE));
	return true;
}

/* All of them, called before memory is taken away from the device (its `holders`). */
void softrnic_rings_forget(struct softrnic *dev);
void softrnic_dbrecs_forget(struct softrnic *dev);
/* One of them, also before it is freed. All zero is fine. */
void softrnic_ring_forget(struct softrnic_ring *ring);
void softrnic_dbrec_forget(struct softrnic *dev, struct softrnic_dbrec *dbrec);

#endif
