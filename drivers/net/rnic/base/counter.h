/* SPDX-License-Identifier: BSD-3-Clause */

/* Counters that one thread writes and others read. */
#ifndef RNIC_BASE_COUNTER_H
#define RNIC_BASE_COUNTER_H

#include <stdint.h>

/* Written by one thread, read by any: a torn or lost value is impossible, order does not matter. */
static inline void
rnic_counter_add(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline uint64_t
rnic_counter_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
