/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages to people, on stderr. Levels and signature are those of lib/vfio_user, whose messages come here too, as do the
 * software RNIC's own.
 *
 * Nobody has to read them: a message that stderr does not take at once (a pipe that is full, a terminal that is held) is
 * lost and counted, and the number is said when it takes messages again. And clients do not decide how much is written:
 * what is said of a device is limited to so many lines at once and so many a second, without the traces of level debug.
 *
 * Threads: any, but for log_open(), log_set_level(), log_join() and log_leave(), which are for the first one while it is alone.
 */
#ifndef SOFTRNICD_LOG_H
#define SOFTRNICD_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "vfio_user/log.h"

/** A device that messages are about, with what is left of its share of lines. */
struct log_source {
	LIST_ENTRY(log_source) next;
	const char *name;
	uint64_t refilled_ms;
	uint64_t unsaid; /* since the last line */
	unsigned int lines;
	bool silent; /* its share was used up */
};

/** Once, before the jail and after foreign descriptors are closed. It can do without whatever fails in here. */
void log_open(void);

/** Print this level and those before it; the software RNIC's own messages too. */
void log_set_level(enum vfu_log_level level);

/** name must live until log_leave(). From the one on to the other, messages of this name count against its share. */
void log_join(struct log_source *source, const char *name);
void log_leave(struct log_source *source);

/** source: what a client can cause; NULL: all else. */
void log_say(struct log_source *source, enum vfu_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** For lib/vfio_user: arg is a struct log_source. */
void log_vfu(void *arg, enum vfu_log_level level, const char *message);

/** One line with its line feed, as it is, in a signal handler: system calls alone. */
void log_last_words(const char *text, size_t length);

#define log_error(...)	 log_say(NULL, VFU_LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_say(NULL, VFU_LOG_WARNING, __VA_ARGS__)
#define log_info(...)	 log_say(NULL, VFU_LOG_INFO, __VA_ARGS__)

#endif
