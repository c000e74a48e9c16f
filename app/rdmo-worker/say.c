/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "say.h"

/* One write for a line: other threads speak as well. */
static void
say_line(const char *format, va_list args, const char *end)
{
	char text[600];

	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, PROGRAM ": %s%s\n", text, end);
}

void
say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line(format, args, "");
	va_end(args);
}

int
say_failed(int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line(format, args, "");
	va_end(args);
	return rc;
}

int
say_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line(format, args, " (see --help)");
	va_end(args);
	return -EINVAL;
}
