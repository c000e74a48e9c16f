/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "say.h"
#include "tcp.h"

#define ADDRESSES_MAX 8 /* of a host that are tried: each waits for whole ticks */

uint64_t
perf_tcp_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A host that has died says nothing: it is asked each second, and has gone after three. So has one that does not acknowledge what it is sent. */
static void
keep_alive(int fd)
{
	const int on = 1, idle_s = 1, interval_s = 1, probes = 3;
	const unsigned int unacknowledged_ms = PERF_TCP_PATIENCE_MS;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
		   sizeof(unacknowledged_ms));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

/* Until the descriptor is ready: 0, -ETIMEDOUT, -EINTR. */
static int
wait_for(int fd, short events, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = events };
	int waited = 0;

	while (!perf_interrupted()) {
		if (poll(&ready, 1, PERF_TCP_TICK_MS) > 0)
			return 0;
		waited += PERF_TCP_TICK_MS;
		if (timeout_ms >= 0 && waited >= timeout_ms)
			return -ETIMEDOUT;
	}
	return -EINTR;
}

/* ---- The server ---- */

static int
bind_to(int family, uint16_t port)
{
	const int on = 1, off = 0;
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int rc, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	rc = family == AF_INET6 ? bind(fd, (struct sockaddr *)&any6, sizeof(any6))
				: bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	if (rc == 0 && listen(fd, 1) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int
perf_tcp_listen(uint16_t port, int *listener)
{
	int rc = bind_to(AF_INET6, port);

	if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL)
		rc = bind_to(AF_INET, port);
	if (rc == -EADDRINUSE)
		return perf_fail(
			rc,
			"TCP port %u is taken, maybe by perftest or ibv_*_pingpong, which use "
			"18515 as well: give both ends another one by --port (-p)",
			port);
	if (rc < 0)
		return perf_fail(rc, "cannot listen to TCP port %u: %s", port, strerror(-rc));
	*listener = rc;
	return 0;
}

int
perf_tcp_accept(int listener, int *fd)
{
	int rc = wait_for(listener, POLLIN, -1);

	if (rc == 0) {
		*fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (*fd < 0)
			rc = perf_fail(-errno, "accept: %s", strerror(errno));
		else
			keep_alive(*fd);
	}
	close(listener);
	return rc;
}

/* ---- The client ---- */

static int
connect_one(const struct addrinfo *address, int timeout_ms)
{
	int rc, error = 0,
		fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t length = sizeof(error);

	if (fd < 0)
		return -errno;
	rc = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : -errno;
	if (rc == -EINPROGRESS) {
		rc = wait_for(fd, POLLOUT, timeout_ms);
		if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0)
			rc = -error;
	}
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* One after the other, of which none takes the time of those behind it. @return The connection, or why the last one was none. */
static int
connect_any(const struct addrinfo *list)
{
	const struct addrinfo *address;
	int rc = -ENOENT, n = 0, left = ADDRESSES_MAX;

	for (address = list; address != NULL && n < ADDRESSES_MAX; address = address->ai_next)
		n++;
	for (address = list; address != NULL && left > 0 && rc < 0 && rc != -EINTR;
	     address = address->ai_next, left--)
		rc = connect_one(address, PERF_TCP_PATIENCE_MS / n);
	return rc;
}

int
perf_tcp_connect(const char *host, uint16_t port, int *fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc != 0)
		return perf_fail(-EINVAL, "%s: %s", host, gai_strerror(rc));
	rc = connect_any(list);
	freeaddrinfo(list);
	if (rc == -EINTR)
		return rc;
	if (rc < 0)
		return perf_fail(
			rc,
			"cannot connect to %s, TCP port %u: %s (is the server started, with the "
			"same --port?)",
			host, port, strerror(-rc));
	*fd = rc;
	keep_alive(*fd);
	return 0;
}

/* ---- Both ---- */

int
perf_tcp_send(int fd, const void *data, size_t bytes)
{
	const char *from = data;
	ssize_t n;

	while (bytes > 0) {
		n = send(fd, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			/* What has begun is brought to its end, Ctrl-C or not. */
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			if (poll(&ready, 1, PERF_TCP_PATIENCE_MS) == 0)
				return -ETIMEDOUT;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EPIPE;
		from += n;
		bytes -= (size_t)n;
	}
	return 0;
}

bool
perf_tcp_is_over(int fd)
{
	char byte;
	const ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

int
perf_tcp_receive(int fd, void *data, size_t bytes, int timeout_ms)
{
	const uint64_t start = perf_tcp_now_ms();
	char *to = data;
	ssize_t n;
	int rc;

	while (bytes > 0) {
		rc = wait_for(fd, POLLIN, timeout_ms);
		/* All of it in that time, however little comes at once. */
		if (rc == 0 && timeout_ms >= 0 && perf_tcp_now_ms() - start > (uint64_t)timeout_ms)
			rc = -ETIMEDOUT;
		if (rc != 0)
			return rc;
		n = recv(fd, to, bytes, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -EPIPE;
		to += n;
		bytes -= (size_t)n;
	}
	return 0;
}
