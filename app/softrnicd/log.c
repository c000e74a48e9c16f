/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "log.h"

#define LOG_LINE_BYTES 640
#define LOG_LINES      200 /* of one device, at once */
#define LOG_LINES_S    10  /* and a second */
#define LOG_RESUME     20  /* once silent, a device is heard again with so many */

static enum vfu_log_level log_level = VFU_LOG_INFO;
/* Of what is left of shares, and of messages that were lost. Taken inside the lock of rte_log()'s stream. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, log_source) log_sources = LIST_HEAD_INITIALIZER(log_sources);

/* ---- stderr, which must never stop us ---- */

static struct {
	int fd;
	enum {
		SINK_FILE,	   /* takes everything */
		SINK_NON_BLOCKING, /* is asked not to block, by a description of our own */
		SINK_SOCKET,	   /* is asked so in each call */
		SINK_ASKED,	   /* is asked first whether it would */
	} kind;
	uint64_t lost; /* lines that it did not take */
} sink = { .fd = STDERR_FILENO };

static void
sink_open(void)
{
	struct stat st;
	int fd;

	if (fstat(STDERR_FILENO, &st) != 0 || S_ISREG(st.st_mode))
		return;
	if (S_ISSOCK(st.st_mode)) {
		sink.kind = SINK_SOCKET;
		return;
	}
	sink.kind = SINK_ASKED;
	if (!S_ISFIFO(st.st_mode) && !isatty(STDERR_FILENO))
		return;
	/* O_NONBLOCK on the descriptor that we have been given would be one for all who share it, our shell as well. */
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		sink.fd = fd;
		sink.kind = SINK_NON_BLOCKING;
	}
}

static bool
sink_take(const char *text, size_t length)
{
	static const struct timespec no_time = { 0 };
	struct pollfd room = { .fd = sink.fd, .events = POLLOUT };
	struct iovec part = { .iov_base = (char *)(uintptr_t)text, .iov_len = length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (sink.kind == SINK_SOCKET)
		return sendmsg(sink.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
	/* ppoll(), as the jail has it already. */
	if (sink.kind == SINK_ASKED &&
	    (ppoll(&room, 1, &no_time, NULL) != 1 || (room.revents & POLLOUT) == 0))
		return false;
	return write(sink.fd, text, length) == (ssize_t)length;
}

/* One write per line, so that lines of several daemons on one terminal stay whole. */
static void
log_emit(const char *text, size_t length)
{
	char line[LOG_LINE_BYTES];
	int n;

	if (sink.lost > 0) {
		n = snprintf(line, sizeof(line),
			     "softrnicd: %" PRIu64
			     " messages are lost: stderr did not accept them\n",
			     sink.lost);
		if (!sink_take(line, n)) {
			sink.lost++;
			return;
		}
		sink.lost = 0;
	}
	if (!sink_take(text, length))
		sink.lost++;
}

void
log_last_words(const char *text, size_t length)
{
	sink_take(text, length);
}

/* ---- The share of a device ---- */

static void
log_line(const char *format, va_list args)
{
	char line[LOG_LINE_BYTES] = "softrnicd: ";
	size_t at = strlen(line);
	int n = vsnprintf(line + at, sizeof(line) - at, format, args);

	if (n < 0)
		return;
	at = at + n < sizeof(line) - 1 ? at + n : sizeof(line) - 2;
	line[at++] = '\n';
	log_emit(line, at);
}

__attribute__((format(printf, 1, 2))) static void
log_unlimited(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(format, args);
	va_end(args);
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000) + now.tv_nsec / 1000000;
}

static void
log_refill(struct log_source *source)
{
	uint64_t lines = (now_ms() - source->refilled_ms) * LOG_LINES_S / 1000;

	if (lines == 0)
		return;
	source->refilled_ms += lines * 1000 / LOG_LINES_S;
	source->lines =
		lines < LOG_LINES - source->lines ? source->lines + (unsigned int)lines : LOG_LINES;
}

static void
log_say_unsaid(struct log_source *source)
{
	if (source->unsaid > 0)
		log_unlimited("%s: %" PRIu64 " messages left out", source->name, source->unsaid);
	source->unsaid = 0;
}

/* May a line be said of it? Then it counts as said. */
static bool
log_share(struct log_source *source)
{
	log_refill(source);
	if (source->lines < (source->silent ? LOG_RESUME : 1)) {
		source->unsaid++;
		if (!source->silent)
			log_unlimited("%s: more messages are left out, and counted", source->name);
		source->silent = true;
		return false;
	}
	source->silent = false;
	log_say_unsaid(source);
	source->lines--;
	return true;
}

void
log_join(struct log_source *source, const char *name)
{
	*source = (struct log_source){ .name = name, .refilled_ms = now_ms(), .lines = LOG_LINES };
	LIST_INSERT_HEAD(&log_sources, source, next);
}

void
log_leave(struct log_source *source)
{
	log_say_unsaid(source);
	LIST_REMOVE(source, next);
}

/* ---- Those who speak ---- */

/* Who asks for level debug wants to see all of it. */
void
log_say(struct log_source *source, enum vfu_log_level level, const char *format, ...)
{
	va_list args;

	if (level > log_level)
		return;
	pthread_mutex_lock(&log_lock);
	if (source == NULL || level >= VFU_LOG_DEBUG || log_share(source)) {
		va_start(args, format);
		log_line(format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&log_lock);
}

void
log_vfu(void *arg, enum vfu_log_level level, const char *message)
{
	log_say(arg, level, "%s", message);
}

/* "softrnic: NAME: message" */
static struct log_source *
log_source_of(const char *text, size_t length)
{
	static const char prefix[] = "softrnic: ";
	const size_t skip = sizeof(prefix) - 1;
	struct log_source *source;

	if (length < skip || memcmp(text, prefix, skip) != 0)
		return NULL;
	LIST_FOREACH(source, &log_sources, next) {
		size_t n = strlen(source->name);

		if (length - skip > n && memcmp(text + skip, source->name, n) == 0 &&
		    text[skip + n] == ':')
			return source;
	}
	return NULL;
}

static void
log_rte_line(const char *text, size_t length)
{
	struct log_source *source = log_source_of(text, length);

	if (source == NULL || rte_log_cur_msg_loglevel() >= (int)RTE_LOG_DEBUG || log_share(source))
		log_emit(text, length);
}

/* rte_log() writes a message into this stream and flushes it: two threads' messages may be flushed as one. */
static ssize_t
log_rte(void *cookie, const char *text, size_t length)
{
	const char *end = text + length, *line, *feed;

	(void)cookie;
	pthread_mutex_lock(&log_lock);
	for (line = text; line < end; line = feed) {
		feed = memchr(line, '\n', (size_t)(end - line));
		feed = feed == NULL ? end : feed + 1;
		log_rte_line(line, (size_t)(feed - line));
	}
	pthread_mutex_unlock(&log_lock);
	return (ssize_t)length;
}

void
log_open(void)
{
	static const cookie_io_functions_t functions = { .write = log_rte };
	static char buffer[16384];
	static FILE *stream;

	sink_open();
	stream = fopencookie(NULL, "w", functions);
	if (stream == NULL)
		return;
	setvbuf(stream, buffer, _IOFBF, sizeof(buffer));
	rte_openlog_stream(stream);
}

void
log_set_level(enum vfu_log_level level)
{
	static const uint32_t levels[] = {
		[VFU_LOG_ERROR] = RTE_LOG_ERR,
		[VFU_LOG_WARNING] = RTE_LOG_WARNING,
		[VFU_LOG_INFO] = RTE_LOG_INFO,
		[VFU_LOG_DEBUG] = RTE_LOG_DEBUG,
	};

	uint32_t rte = level == VFU_LOG_INFO ? RTE_LOG_NOTICE : levels[level];

	log_level = level;
	/* What the device says at level info is about its driver's mistakes: for those who ask. So it is with EAL. */
	rte_log_set_level_pattern("softrnic*", rte);
	rte_log_set_level_pattern("lib.*", rte);
}
