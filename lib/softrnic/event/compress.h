/* SPDX-License-Identifier: BSD-3-Clause */

/* Compressed completions of a CQ (PRM: "CQE Compression"): entries that are held back, and what they become. */
#ifndef SOFTRNIC_COMPRESS_H
#define SOFTRNIC_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/cqe.h"

struct softrnic;

#define SOFTRNIC_CQ_COMPRESS_MAX 64 /* entries that are held back; a power of two */

struct softrnic_cq_compress {
	struct softrnic *dev;
	enum rnic_mini_cqe_format format;
	uint32_t count; /* held back: the last ones before the CQ's producer */
	struct rnic_cqe entries[SOFTRNIC_CQ_COMPRESS_MAX]; /* by their index in the CQ */
};

/* Where the entry with this index is made. */
static inline struct rnic_cqe *
softrnic_cq_compress_at(struct softrnic_cq_compress *compress, uint32_t index)
{
	return &compress->entries[index & (SOFTRNIC_CQ_COMPRESS_MAX - 1)];
}

#endif
