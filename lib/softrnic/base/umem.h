/* SPDX-License-Identifier: BSD-3-Clause */

/* User memory (umem): pages that a kernel has pinned for a user, in which rings, doorbell records and memory regions of his lie. */
#ifndef SOFTRNIC_UMEM_H
#define SOFTRNIC_UMEM_H

#include "softrnic/base/command.h"

struct softrnic_umem {
	struct softrnic_object object;
	uint64_t *pages; /* addresses on the bus */
	uint32_t count;
	uint8_t page_shift;
	uint64_t offset; /* of its first byte in the first page */
	uint64_t bytes;
	unsigned int rights; /* RNIC_MTT_..., of all pages */
};

/* Where a command says that something lies: at an address on the bus, or so far into a umem. */
struct softrnic_address {
	bool in_umem;
	uint32_t umem;
	uint64_t at;
};

/* Bytes of our memory that pages of all umems of a device may take. */
#define SOFTRNIC_UMEM_MEMORY (UINT64_C(64) << 20)

/* The umem that the address names, if [at, at + bytes) is in it: RNIC_STATUS_OK, BAD_RES or BAD_PARAM. No reference is taken. */
int softrnic_umem_find(struct softrnic *dev, const struct softrnic_address *address, uint64_t bytes,
		       struct softrnic_umem **umem);
/* That byte of it, on the bus. */
static inline uint64_t
softrnic_umem_at(const struct softrnic_umem *umem, uint64_t at)
{
	const uint64_t page_bytes = UINT64_C(1) << umem->page_shift;

	at += umem->offset;
	return umem->pages[at >> umem->page_shift] + (at & (page_bytes - 1));
}

/* See softrnic_object_drop(). */
void softrnic_umem_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_umem);
SOFTRNIC_CMD(destroy_umem);

#endif
