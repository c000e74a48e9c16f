/* SPDX-License-Identifier: BSD-3-Clause */

/* A doorbell (BlueFlame) register. */
#ifndef RNIC_CORE_BFREG_H
#define RNIC_CORE_BFREG_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_spinlock.h>

struct rnic_uar_page;

enum rnic_bfreg_kind {
	/* Of several queues, under its lock. */
	RNIC_BFREG_SHARED = 0,
	/* Of one owner, that is, rung by one thread at a time: the few that are always there ... */
	RNIC_BFREG_LOW_LATENCY = 1 << 0,
	/* ... and those whose pages come and go. */
	RNIC_BFREG_DYNAMIC = 1 << 1,
};
/* `address` belongs to who rings: the owner, or who has the lock. The rest stays as it is while the register has users. */
struct rnic_bfreg {
	volatile void *address; /* in the mapped page: of the half whose turn it is */
	uint32_t half;		/* 256: distance of the two halves that are used in turn */
	enum rnic_bfreg_kind kind;
	bool blueflame;	     /* whole WQEs may be written; only if owned and asked for (bf=1) */
	bool plain;	     /* owned, and without BlueFlame: a ring is one store */
	rte_spinlock_t lock; /* of a shared one */
	uint32_t uar;	     /* page index, for queue contexts */
	uint32_t users;	     /* this and the next are the allocator's */
	struct rnic_uar_page *page;
} __rte_cache_aligned;

#endif
