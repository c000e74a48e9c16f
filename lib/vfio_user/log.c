/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "log.h"

void
vfu_log(const struct vfu_log *log, enum vfu_log_level level, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	if (log->fn == NULL)
		return;
	n = snprintf(line, sizeof(line), "%s: ", log->name);
	if (n < 0 || n >= (int)sizeof(line))
		n = 0;
	va_start(args, format);
	vsnprintf(line + n, sizeof(line) - n, format, args);
	va_end(args);
	log->fn(log->arg, level, line);
}
