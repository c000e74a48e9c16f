/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hand-overs that ThreadSanitizer does not see. A queue belongs to one thread at a time, and so do a port's control calls; it
 * is the application that hands them over. DPDK's own ways to do so are not built with ThreadSanitizer, which is told here;
 * for all other builds this is nothing.
 */
#ifndef RNIC_OWNER_H
#define RNIC_OWNER_H

#include <rte_common.h>

/* This build is ThreadSanitizer's. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RNIC_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RNIC_TSAN 1
#endif

#ifdef RNIC_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline void
rnic_owner_enter(void *owned)
{
#ifdef RNIC_TSAN
	__tsan_acquire(owned);
#else
	RTE_SET_USED(owned);
#endif
}

static inline void
rnic_owner_leave(void *owned)
{
#ifdef RNIC_TSAN
	__tsan_release(owned);
#else
	RTE_SET_USED(owned);
#endif
}

#endif
