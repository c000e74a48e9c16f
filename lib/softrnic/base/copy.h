/* SPDX-License-Identifier: BSD-3-Clause */

/* Copies of client memory. */
#ifndef SOFTRNIC_COPY_H
#define SOFTRNIC_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * From one client's memory to another's, or to its own: a driver on a loop wire may send from where it
 * receives, so the two may overlap. Small copies inline: most frames are.
 */
static inline void
softrnic_copy(void *to, const void *from, size_t length)
{
	uint8_t *d = to;
	const uint8_t *s = from;

#ifdef __SANITIZE_THREAD__
	/*
	 * A word that others store meanwhile is read, and one that they load is written, in one piece, as by a card: so does memmove().
	 * Here that is said, as ThreadSanitizer takes it for a race else.
	 */
	if (length == sizeof(uint64_t) && ((uintptr_t)d | (uintptr_t)s) % sizeof(uint64_t) == 0) {
		__atomic_store_n((uint64_t *)to,
				 __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
		return;
	}
#endif
	if (length < 16 || length > 128) {
		memmove(d, s, length);
		return;
	}
	/* 16 bytes at a time; the last ones overlap what is already there. */
	for (size_t at = 0; at + 16 < length; at += 16)
		memmove(d + at, s + at, 16);
	memmove(d + length - 16, s + length - 16, 16);
}

/*
 * The compiler must read client memory once: behind this it knows nothing of what the private copy holds, so it
 * cannot go back to the source for it.
 */
#define SOFTRNIC_PRIVATE(copy) __asm__ volatile("" : "+m"(copy))

#endif
