/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation and protection: from a key and an address to host memory. All bounds are taken as distances from the
 * region's start, so that nothing wraps at the end of the address space.
 */
#include <errno.h>

#include "device.h"

#define MTT_PERMISSIONS (RNIC_MTT_READ | RNIC_MTT_WRITE)

#define WRITES (SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC)

static unsigned int
dma_rights(unsigned int access)
{
	/* An atomic reads too; a pure write does not need to. */
	if ((access & SOFTRNIC_REMOTE_ATOMIC) != 0)
		return SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE;
	return (access & WRITES) != 0 ? SOFTRNIC_DMA_WRITE : SOFTRNIC_DMA_READ;
}

/* Where an address stands in the key's pages: the first page holds `start`. */
static uint64_t
page_offset(const struct softrnic_mkey *mkey, uint64_t distance, uint64_t *page)
{
	uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	uint64_t first = mkey->start & (page_bytes - 1);
	uint64_t in_page = (first + (distance & (page_bytes - 1))) & (page_bytes - 1);
	uint64_t carry = in_page < first || in_page < (distance & (page_bytes - 1));

	/* distance + first may wrap, so the pages are counted apart. */
	*page = (distance >> mkey->log_page_size) + carry;
	return in_page;
}

void
softrnic_mkey_resolve(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	unsigned int prot = SOFTRNIC_DMA_READ;
	uint8_t *host = NULL;
	uint64_t skip;

	mkey->generation = dev->dma_generation;
	mkey->flat = NULL;
	if (mkey->free || mkey->mode != RNIC_MKEY_MTT || mkey->length == 0 ||
	    mkey->translation_count == 0)
		return;
	if ((mkey->access & WRITES) != 0)
		prot |= SOFTRNIC_DMA_WRITE;
	skip = mkey->start & ((UINT64_C(1) << mkey->log_page_size) - 1);
	for (uint64_t i = 0, left = mkey->length; left > 0; i++, skip = 0) {
		uint64_t bytes = (UINT64_C(1) << mkey->log_page_size) - skip;
		uint8_t *at;

		if (mkey->page_rights && (mkey->mtts[i] & MTT_PERMISSIONS) != MTT_PERMISSIONS)
			return;
		if (bytes > left)
			bytes = left;
		at = softrnic_dma_ptr(dev, (mkey->mtts[i] & RNIC_MTT_ADDRESS_MASK) + skip, bytes,
				      prot);
		if (at == NULL || (i > 0 && at != host + (mkey->length - left)))
			return;
		if (i == 0)
			host = at;
		left -= bytes;
	}
	mkey->flat = host;
}

static int
translate_mtt(struct softrnic *dev, const struct softrnic_mkey *mkey, uint64_t distance,
	      uint32_t length, unsigned int access, struct iovec *iov, int max)
{
	unsigned int prot = dma_rights(access);
	uint64_t needed = (prot & SOFTRNIC_DMA_READ ? RNIC_MTT_READ : 0) |
			  (prot & SOFTRNIC_DMA_WRITE ? RNIC_MTT_WRITE : 0);
	uint64_t page, skip = page_offset(mkey, distance, &page);
	int count = 0;

	for (; length > 0; page++, skip = 0) {
		uint64_t bytes = (UINT64_C(1) << mkey->log_page_size) - skip;
		int n;

		if (page >= mkey->translation_count)
			return -EFAULT;
		if (mkey->page_rights && (mkey->mtts[page] & needed) != needed)
			return -EACCES;
		if (bytes > length)
			bytes = length;
		n = softrnic_dma_pieces(dev, (mkey->mtts[page] & RNIC_MTT_ADDRESS_MASK) + skip,
					bytes, prot, iov + count, max - count);
		if (n < 0)
			return n;
		count += n;
		length -= bytes;
	}
	return count;
}

static int translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
		     unsigned int access, struct iovec *iov, int max, unsigned int depth);

static uint64_t
klm_bytes(const struct rnic_klm *klm)
{
	uint32_t bytes = rnic_be32_to_cpu(klm->byte_count);

	return bytes == 0 ? UINT64_C(1) << 31 : bytes;
}

/* Stretches of other keys, one behind the other; KSM: all of the same size. */
static int
translate_klm(struct softrnic *dev, const struct softrnic_mkey *mkey, uint32_t pd,
	      uint64_t distance, uint32_t length, unsigned int access, struct iovec *iov, int max,
	      unsigned int depth)
{
	uint64_t index = 0, skip = distance;
	int count = 0;

	if (depth == SOFTRNIC_MAX_INDIRECTION)
		return -EACCES;
	if (mkey->mode == RNIC_MKEY_KSM) {
		skip = page_offset(mkey, distance, &index);
	} else {
		while (index < mkey->translation_count && skip >= klm_bytes(&mkey->klms[index]))
			skip -= klm_bytes(&mkey->klms[index++]);
	}
	for (; length > 0; index++, skip = 0) {
		const struct rnic_klm *klm = &mkey->klms[index];
		uint64_t bytes;
		int n;

		if (index >= mkey->translation_count)
			return -EFAULT;
		bytes = mkey->mode == RNIC_MKEY_KSM ? UINT64_C(1) << mkey->log_page_size :
						      klm_bytes(klm);
		bytes -= skip;
		if (bytes > length)
			bytes = length;
		n = translate(dev, rnic_be32_to_cpu(klm->mkey), pd,
			      rnic_be64_to_cpu(klm->address) + skip, bytes, access, iov + count,
			      max - count, depth + 1);
		if (n < 0)
			return n;
		count += n;
		length -= bytes;
	}
	return count;
}

static int
translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
	  unsigned int access, struct iovec *iov, int max, unsigned int depth)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);
	unsigned int needed = access & ~SOFTRNIC_LOCAL_READ;
	uint64_t distance;

	if (mkey == NULL || mkey->variant != (key & 0xff) || mkey->free || mkey->pd != pd ||
	    (mkey->access & needed) != needed)
		return -EACCES;
	distance = va - mkey->start;
	if (!mkey->length64) {
		if (va < mkey->start || distance > mkey->length ||
		    length > mkey->length - distance)
			return -EFAULT;
	}
	if (length == 0)
		return 0;
	if (mkey->generation != dev->dma_generation)
		softrnic_mkey_resolve(dev, mkey);
	if (mkey->flat != NULL) {
		if (max < 1)
			return -E2BIG;
		iov[0].iov_base = mkey->flat + distance;
		iov[0].iov_len = length;
		return 1;
	}
	switch (mkey->mode) {
	case RNIC_MKEY_PA:
		return softrnic_dma_pieces(dev, va, length, dma_rights(access), iov, max);
	case RNIC_MKEY_MTT:
		return translate_mtt(dev, mkey, distance, length, access, iov, max);
	default:
		return translate_klm(dev, mkey, pd, distance, length, access, iov, max, depth);
	}
}

int
softrnic_tpt_translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		       uint32_t length, unsigned int access, struct iovec *iov, int max)
{
	int rc;

	if (key == SOFTRNIC_RESERVED_LKEY)
		rc = softrnic_dma_pieces(dev, va, length, dma_rights(access), iov, max);
	else
		rc = translate(dev, key, pd, va, length, access, iov, max, 0);
	if (rc < 0)
		dev->stats.tpt_faults++;
	return rc;
}
