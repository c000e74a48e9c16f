/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "say.h"

/* Both ends of a loopback run speak. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool progress_stands; /* under lock */

static void
clear_progress(void)
{
	if (progress_stands)
		fputs("\r\033[K", stderr);
	progress_stands = false;
}

static void
say(const char *format, va_list args)
{
	pthread_mutex_lock(&lock);
	clear_progress();
	fputs(PERF_PROGRAM ": ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	pthread_mutex_unlock(&lock);
}

void
perf_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

int
perf_fail(int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return rc;
}

void
perf_progress(const char *text)
{
	if (!isatty(STDERR_FILENO))
		return;
	pthread_mutex_lock(&lock);
	clear_progress();
	if (text != NULL) {
		fputs(text, stderr);
		progress_stands = true;
	}
	fflush(stderr);
	pthread_mutex_unlock(&lock);
}
