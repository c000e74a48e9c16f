/* SPDX-License-Identifier: BSD-3-Clause */

/* The DMA map: what the host has mapped. */
#ifndef SOFTRNIC_DMA_H
#define SOFTRNIC_DMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct softrnic;

int softrnic_dma_init(struct softrnic *dev);
void softrnic_dma_fini(struct softrnic *dev);

uint32_t softrnic_dma_count(const struct softrnic *dev);
/* Host address of [iova, iova + length) if maps cover it as one piece of host memory with that permission, else NULL. */
void *softrnic_dma_ptr(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot);
/* Copy, across neighbouring maps too. 0 or -EFAULT (counted in tpt_faults); then nothing was copied. */
int softrnic_dma_read(struct softrnic *dev, uint64_t iova, void *data, size_t length);
int softrnic_dma_write(struct softrnic *dev, uint64_t iova, const void *data, size_t length);
/* There is a bus master: what is mapped can be reached. */
bool softrnic_dma_on(const struct softrnic *dev);
/* All of it is mapped with that permission, in however many maps. */
bool softrnic_dma_reachable(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot);
/*
 * Host pieces of [iova, iova + length), behind the `count` that are there: how many there are now, or -EFAULT, -E2BIG.
 * Neighbours become one. Not counted in tpt_faults.
 */
int softrnic_dma_pieces(struct softrnic *dev, uint64_t iova, uint64_t length, unsigned int prot,
			struct iovec *iov, int count, int max);

/*
 * A test build checks each access to host memory once more, where it is done: is it inside the map as it stands? It
 * counts, and says the first one that is not. Everywhere else this is nothing.
 */
#ifdef SOFTRNIC_DMA_AUDIT
void softrnic_audit(struct softrnic *dev, const void *host, size_t length, unsigned int prot);
extern atomic_ullong softrnic_audit_accesses, softrnic_audit_violations;
/* Of tens of thousands of comparisons for each unmap a fuzzer need not know: to tell it of them takes longer than all else. */
#ifdef __clang__
#define SOFTRNIC_NOT_TRACED __attribute__((no_sanitize("coverage")))
#else
#define SOFTRNIC_NOT_TRACED
#endif
#else
#define softrnic_audit(dev, host, length, prot) ((void)0)
#endif

#endif
