/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include <rte_log.h>

#include "log.h"

static enum vfu_log_level log_level = VFU_LOG_INFO;

void
log_set_level(enum vfu_log_level level)
{
	static const uint32_t levels[] = {
		[VFU_LOG_ERROR] = RTE_LOG_ERR,
		[VFU_LOG_WARNING] = RTE_LOG_WARNING,
		[VFU_LOG_INFO] = RTE_LOG_INFO,
		[VFU_LOG_DEBUG] = RTE_LOG_DEBUG,
	};

	log_level = level;
	/* What the device says at level info is about its driver's mistakes: for those who ask. */
	rte_log_set_level_pattern("softrnic*",
				  level == VFU_LOG_INFO ? RTE_LOG_NOTICE : levels[level]);
}

/* One write per line, so that lines of several daemons on one terminal stay whole. */
void
log_say(enum vfu_log_level level, const char *format, ...)
{
	char line[640];
	va_list args;

	if (level > log_level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "softrnicd: %s\n", line);
}

void
log_vfu(void *arg, enum vfu_log_level level, const char *message)
{
	(void)arg;
	log_say(level, "%s", message);
}
