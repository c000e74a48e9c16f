/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages of this library to people. It prints nothing itself: the maker of a server or client hands in where they go.
 */
#ifndef VFU_LOG_H
#define VFU_LOG_H

enum vfu_log_level {
	VFU_LOG_ERROR,
	VFU_LOG_WARNING,
	VFU_LOG_INFO,
	VFU_LOG_DEBUG,
};

/** Takes one line without its line feed, with the device's name in front. */
typedef void vfu_log_fn(void *arg, enum vfu_log_level level, const char *message);

/** Where messages go, and whose they are. */
struct vfu_log {
	vfu_log_fn *fn;	  /**< NULL: nobody listens */
	void *arg;	  /**< for fn */
	const char *name; /**< of the device, in front of each message */
};

/**
 * Format one line and hand it to log->fn, with the device's name in front.
 *
 * Threads: any, if fn may be called by any. Blocks: as fn does.
 *
 * @param log    Where to.
 * @param level  How bad it is.
 * @param format As of printf(), without a line feed.
 */
void vfu_log(const struct vfu_log *log, enum vfu_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
