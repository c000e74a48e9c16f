/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pace of a client: what it makes the kernel do in the server's thread, it pays for.
 *
 * A message, a signal, a close() take a microsecond, unless the client sees to it that they do not: each epoll set that it
 * hangs on its end of a socket, or on an eventfd, is a callback in the thread that sends, receives or signals, and
 * each lock on a file a step in the thread that closes it. A user may have millions. No such call can be cut, and the
 * clock sees it when it is over. So a client with a unit that took too long is left alone for ten times as long: its
 * messages wait, and its interrupts come together afterwards. Others have the rest.
 *
 * What counts is the processor's time, since any thread may have to wait for a processor. It costs a system call to ask
 * for that: so only who took long by the clock on the wall is asked, and for a while.
 *
 * Inside of the library.
 */
#ifndef VFU_PACE_H
#define VFU_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a unit that cannot be cut may take. Tools that look for mistakes make everything longer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VFU_PACE_UNIT_NS UINT64_C(10000000)
#else
#define VFU_PACE_UNIT_NS UINT64_C(5000000)
#endif
#define VFU_PACE_TIMES	    10
#define VFU_PACE_SUSPECT_NS UINT64_C(10000000000)

/* Threads: any. */
struct vfu_pace {
	_Atomic(uint64_t) paused_until_ns; /* 0: it is not */
	_Atomic(uint64_t) suspect_until_ns;
};

struct vfu_pace_unit {
	uint64_t wall_ns, cpu_ns;
};

void vfu_pace_begin(const struct vfu_pace *pace, struct vfu_pace_unit *unit);

/* @return it was too long: there is a pause from now on, or a longer one. */
bool vfu_pace_end(struct vfu_pace *pace, const struct vfu_pace_unit *unit);

/* Until vfu_pace_goes_on(). */
static inline bool
vfu_pace_is_paused(const struct vfu_pace *pace)
{
	return atomic_load_explicit(&pace->paused_until_ns, memory_order_relaxed) != 0;
}

/* When it ends, by vfu_now_ms(); 0: there is none. */
static inline uint64_t
vfu_pace_paused_until_ms(const struct vfu_pace *pace)
{
	const uint64_t until = atomic_load(&pace->paused_until_ns);

	return until == 0 ? 0 : until / 1000000 + 1;
}

/* The pause, if there is one, is over: what waits is the caller's to do. */
bool vfu_pace_goes_on(struct vfu_pace *pace);

#endif
