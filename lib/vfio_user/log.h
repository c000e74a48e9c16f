/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Log messages. The library prints nothing itself: the creator of a server or client passes a function for them.
 */
#ifndef VFU_LOG_H
#define VFU_LOG_H

enum vfu_log_level {
	VFU_LOG_ERROR,
	VFU_LOG_WARNING,
	VFU_LOG_INFO,
	VFU_LOG_DEBUG,
};

/** Called with one line without its line feed, the device's name in front. */
typedef void vfu_log_fn(void *arg, enum vfu_log_level level, const char *message);

/** Where messages go, and the device's name for them. */
struct vfu_log {
	vfu_log_fn *fn;	  /**< NULL: messages are dropped */
	void *arg;	  /**< for fn */
	const char *name; /**< of the device, in front of each message */
};

/**
 * Format one line and pass it to log->fn, with the device's name in front.
 *
 * Threads: any, if fn allows it. Blocks: as fn does.
 *
 * @param log    Where it goes.
 * @param level  Its severity.
 * @param format As for printf(), without a line feed.
 */
void vfu_log(const struct vfu_log *log, enum vfu_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
