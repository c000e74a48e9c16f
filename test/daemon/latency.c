/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "latency.h"

static int daemon_fd = -1, own_fd = -1;

void
latencies_forget(struct latencies *latencies)
{
	for (unsigned int i = 0; i < LATENCY_KINDS; i++)
		latencies->of[i].count = 0;
}

/* Ready to run, without a processor: the second number of the kernel's, where it counts that; else 0. */
static uint64_t
delayed_ns(int fd)
{
	char text[64];
	const ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);
	char *ran;

	if (bytes <= 0)
		return 0;
	text[bytes] = '\0';
	strtoull(text, &ran, 10);
	return strtoull(ran, NULL, 10);
}

static void
schedstat_open(int *fd, pid_t pid)
{
	char path[64];

	if (*fd >= 0)
		close(*fd);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
}

void
latency_of_daemon(pid_t pid)
{
	schedstat_open(&daemon_fd, pid);
	schedstat_open(&own_fd, getpid());
}

static uint64_t
wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct latency_start
latency_begin(void)
{
	const uint64_t delayed = delayed_ns(daemon_fd) + delayed_ns(own_fd);

	return (struct latency_start){ wall_ns(), delayed };
}

void
latency_end(struct latencies *latencies, enum latency_of kind, struct latency_start start)
{
	const uint64_t took = wall_ns() - start.wall_ns;
	const uint64_t delayed = delayed_ns(daemon_fd) + delayed_ns(own_fd) - start.delayed_ns;
	const uint64_t waited = took > delayed ? took - delayed : 0;
	uint64_t *ns = latencies->of[kind].ns, *last = &ns[LATENCY_SAMPLES - 1];

	if (latencies->of[kind].count < LATENCY_SAMPLES)
		ns[latencies->of[kind].count++] = waited;
	else if (waited > *last)
		*last = waited;
}

static int
order(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

uint64_t
latency_of(struct latencies *latencies, enum latency_of kind, unsigned int per_mille)
{
	const unsigned int count = latencies->of[kind].count;
	unsigned int at = (unsigned int)((uint64_t)count * per_mille / 1000);

	if (count == 0)
		return 0;
	qsort(latencies->of[kind].ns, count, sizeof(latencies->of[kind].ns[0]), order);
	return latencies->of[kind].ns[at < count ? at : count - 1];
}
