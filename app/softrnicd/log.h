/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages to people, on stderr. Levels and signature are those of lib/vfio_user, whose messages come here too.
 */
#ifndef SOFTRNICD_LOG_H
#define SOFTRNICD_LOG_H

#include "vfio_user/log.h"

/** Print this level and those before it; the software RNIC's own messages too. */
void log_set_level(enum vfu_log_level level);

void log_say(enum vfu_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** For lib/vfio_user: arg is not used. */
void log_vfu(void *arg, enum vfu_log_level level, const char *message);

#define log_error(...)	 log_say(VFU_LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_say(VFU_LOG_WARNING, __VA_ARGS__)
#define log_info(...)	 log_say(VFU_LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log_say(VFU_LOG_DEBUG, __VA_ARGS__)

#endif
