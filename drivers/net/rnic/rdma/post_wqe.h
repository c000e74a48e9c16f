/* SPDX-License-Identifier: BSD-3-Clause */

/* What both kinds of posting do. */
#ifndef RNIC_RDMA_POST_WQE_H
#define RNIC_RDMA_POST_WQE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <rte_vect.h>

#include "prm/wqe.h"
#include "rdmapmd_wr.h"

/* A segment is what the request says in another order of bytes, 16 of both. */
static __rte_always_inline void
rnic_rdma_set_data(struct rnic_wqe_data *data, const struct rdmapmd_sge *sge)
{
#ifdef __SSE4_1__
	const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11);

	_mm_store_si128((__m128i *)data,
			_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)sge), order));
#else
	/* In three plain stores: compilers that may merge them make more of it. */
	__atomic_store_n(&data->byte_count.raw, RNIC_SWAP32(sge->length), __ATOMIC_RELAXED);
	__atomic_store_n(&data->lkey.raw, RNIC_SWAP32(sge->lkey), __ATOMIC_RELAXED);
	__atomic_store_n(&data->address.raw, RNIC_SWAP64(sge->addr), __ATOMIC_RELAXED);
#endif
}

/* Why a burst took fewer than it was given. */
static inline int
rnic_rdma_short_burst(const _Atomic uint8_t *open, bool room)
{
	if (!atomic_load_explicit(open, memory_order_relaxed))
		return -EPERM;
	return room ? -EINVAL : -ENOMEM;
}

#endif
