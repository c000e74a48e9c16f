/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pace of a client: it pays for the time that it makes the kernel spend in the server's thread.
 *
 * A message, a signal, a close() take a microsecond, unless the client makes them longer: each epoll set that watches its end of a
 * socket, or an eventfd, is a callback in the thread that sends, receives or signals, and each lock on a file is a step in the thread
 * that closes it. A user may have millions of them. Such a call cannot be interrupted, and is measured only when it is over. So a
 * client with a unit that took too long is not served for ten times as long: its messages wait, and its interrupts are raised together
 * afterwards. The other clients get that time.
 *
 * Processor time counts, since any thread may have to wait for a processor. Reading it costs a system call: so it is read only for a
 * client that took long by the wall clock, and for a while afterwards.
 *
 * Inside of the library.
 */
#ifndef VFU_PACE_H
#define VFU_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The limit of a unit that cannot be cut. Sanitizers and the like make everything slower. */
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

/* @return whether it was too long: there is a pause from now on, or a longer one. */
bool vfu_pace_end(struct vfu_pace *pace, const struct vfu_pace_unit *unit);

/* Until vfu_pace_goes_on(). */
static inline bool
vfu_pace_is_paused(const struct vfu_pace *pace)
{
	return atomic_load_explicit(&pace->paused_until_ns, memory_order_relaxed) != 0;
}

/* The end of the pause, by vfu_now_ms(); 0: there is none. */
static inline uint64_t
vfu_pace_paused_until_ms(const struct vfu_pace *pace)
{
	const uint64_t until = atomic_load(&pace->paused_until_ns);

	return until == 0 ? 0 : until / 1000000 + 1;
}

/* The pause, if there is one, is over: what waits is the caller's to do. */
bool vfu_pace_goes_on(struct vfu_pace *pace);

#endif
