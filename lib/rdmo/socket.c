/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "socket.h"

#define BACKLOG	   64
#define UNIX	   "unix:"
#define HOST_BYTES 64

struct address {
	socklen_t length;
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
		struct sockaddr_un local;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
};

/* ---- Addresses ---- */

static int
address_local(const char *path, struct address *address)
{
	if (path[0] == '\0' || strlen(path) >= sizeof(address->local.sun_path))
		return -EINVAL;
	address->local.sun_family = AF_UNIX;
	memcpy(address->local.sun_path, path, strlen(path));
	address->length = sizeof(address->local);
	return 0;
}

static int
address_parse(const char *text, struct address *address)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found;
	char host[HOST_BYTES];
	size_t length;

	memset(address, 0, sizeof(*address));
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return address_local(text + strlen(UNIX), address);
	if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof(host))
		return -EINVAL;
	length = (size_t)(colon - text);
	if (text[0] == '[' && colon[-1] == ']') {
		text++;
		length -= 2;
	}
	memcpy(host, text, length);
	host[length] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -EINVAL;
	memcpy(&address->room, found->ai_addr, found->ai_addrlen);
	address->length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int
address_write(int fd, char *text, size_t room)
{
	char host[HOST_BYTES], port[8];
	struct address address = { .length = sizeof(address.room) };
	int n;

	if (getsockname(fd, &address.any, &address.length) != 0)
		return -errno;
	if (getnameinfo(&address.any, address.length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return -EINVAL;
	n = snprintf(text, room, address.any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		     port);
	return n < 0 || (size_t)n >= room ? -EINVAL : 0;
}

static int
socket_open(const struct address *address)
{
	const int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 ? fd : -errno;
}

static int
socket_for(const char *text, struct address *address)
{
	const int rc = address_parse(text, address);

	return rc != 0 ? rc : socket_open(address);
}

/* ---- Listen ---- */

/* A socket that nobody serves is removed; another file is not. */
static int
local_replace(const struct address *address)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->local.sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = socket_open(address);
	if (fd < 0)
		return fd;
	rc = connect(fd, &address->any, address->length) != 0 && errno == ECONNREFUSED
		     ? 0
		     : -EADDRINUSE;
	close(fd);
	if (rc == 0 && unlink(address->local.sun_path) != 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

static int
listen_at(int fd, const struct address *address)
{
	const int yes = 1;
	int rc;

	if (address->any.sa_family == AF_UNIX) {
		rc = local_replace(address);
		if (rc != 0)
			return rc;
		/* bind() makes the file with the mode of the socket's inode: never open to others. */
		if (fchmod(fd, 0600) != 0)
			return -errno;
	} else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0) {
		return -errno;
	}
	if (bind(fd, &address->any, address->length) != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	return 0;
}

int
rdmo_socket_listen(const char *text, char *bound, size_t room)
{
	struct address address;
	int fd, rc;

	fd = socket_for(text, &address);
	if (fd < 0)
		return fd;
	rc = listen_at(fd, &address);
	if (rc == 0 && address.any.sa_family != AF_UNIX)
		rc = address_write(fd, bound, room);
	else if (rc == 0 && snprintf(bound, room, "%s", text) >= (int)room)
		rc = -EINVAL;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

void
rdmo_socket_forget(const char *bound)
{
	if (strncmp(bound, UNIX, strlen(UNIX)) == 0)
		unlink(bound + strlen(UNIX));
}

/* ---- Connect and ask ---- */

uint64_t
rdmo_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Until it can be read or written; `end_ms` UINT64_MAX: for ever. */
static int
wait_for(int fd, short events, uint64_t end_ms)
{
	struct pollfd wait = { .fd = fd, .events = events };
	const uint64_t now = rdmo_now_ms();
	int n = 0;

	if (end_ms == UINT64_MAX)
		n = poll(&wait, 1, -1);
	else if (now < end_ms)
		n = poll(&wait, 1, (int)(end_ms - now));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

static int
connect_to(int fd, const struct address *address, uint64_t end_ms)
{
	socklen_t length = sizeof(int);
	const int yes = 1;
	int rc, error;

	if (connect(fd, &address->any, address->length) != 0) {
		if (errno != EINPROGRESS)
			return -errno;
		rc = wait_for(fd, POLLOUT, end_ms);
		if (rc != 0)
			return rc;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
			return -errno;
		if (error != 0)
			return -error;
	}
	if (address->any.sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	rdmo_socket_watch_peer(fd);
	return 0;
}

void
rdmo_socket_watch_peer(int fd)
{
	const int yes = 1, seconds = 1, idle = RDMO_GONE_MS / 2000, tries = RDMO_GONE_MS / 2000;
	const unsigned int gone_ms = RDMO_GONE_MS;

	/* A local socket has none of them, and its end is always told. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) != 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof(gone_ms));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
}

int
rdmo_socket_connect(const char *text, uint32_t timeout_ms)
{
	const uint64_t end_ms = rdmo_now_ms() + timeout_ms;
	struct address address;
	int fd, rc;

	fd = socket_for(text, &address);
	if (fd < 0)
		return fd;
	rc = connect_to(fd, &address, end_ms);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int
rdmo_socket_send(int fd, const void *bytes, uint32_t count, uint32_t timeout_ms)
{
	const uint64_t end_ms = rdmo_now_ms() + timeout_ms;
	const uint8_t *from = bytes;
	int rc = 0;

	while (count > 0 && rc == 0) {
		const ssize_t n = send(fd, from, count, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			from += n;
			count -= (uint32_t)n;
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			rc = wait_for(fd, POLLOUT, end_ms);
		} else {
			rc = n < 0 ? -errno : -ECONNRESET;
		}
	}
	return rc;
}

int
rdmo_socket_receive_until(int fd, struct rdmo_stream *stream,
			  struct rdmo_notification *notification, uint64_t end_ms)
{
	int rc = 0;

	if (rdmo_stream_wanted(stream) == 0)
		rdmo_stream_next(stream);
	while (rdmo_stream_wanted(stream) > 0 && rc == 0) {
		const ssize_t n = recv(fd, rdmo_stream_room(stream), rdmo_stream_wanted(stream),
				       MSG_DONTWAIT);

		if (n > 0 && rdmo_stream_received(stream, (uint32_t)n) != RDMO_REASON_NONE)
			rc = -EPROTO;
		else if (n == 0)
			rc = -ECONNRESET;
		else if (n < 0 && (errno == EAGAIN || errno == EINTR))
			rc = wait_for(fd, POLLIN, end_ms);
		else if (n < 0)
			rc = -errno;
	}
	if (rc == 0 && rdmo_notification_read(stream, notification) != RDMO_REASON_NONE)
		rc = -EPROTO;
	return rc;
}

int
rdmo_socket_receive(int fd, struct rdmo_stream *stream, struct rdmo_notification *notification,
		    uint32_t timeout_ms)
{
	return rdmo_socket_receive_until(fd, stream, notification, rdmo_now_ms() + timeout_ms);
}

int
rdmo_socket_ask(int fd, const void *bytes, uint32_t count, struct rdmo_stream *stream,
		struct rdmo_notification *notification, uint32_t timeout_ms)
{
	const struct rdmo_cmd *cmd = bytes;
	int rc;

	rdmo_stream_begin(stream, true);
	rc = rdmo_socket_send(fd, bytes, count, timeout_ms);
	if (rc == 0)
		rc = rdmo_socket_receive(fd, stream, notification, timeout_ms);
	if (rc == 0 &&
	    (notification->kind != cmd->kind || notification->tag != rte_le_to_cpu_64(cmd->tag)))
		rc = -EPROTO;
	return rc;
}

int
rdmo_socket_finish(int fd, int timeout_ms)
{
	const uint64_t end_ms = timeout_ms < 0 ? UINT64_MAX : rdmo_now_ms() + (uint64_t)timeout_ms;
	uint8_t left[64];
	ssize_t n;
	int rc = 0;

	if (shutdown(fd, SHUT_WR) != 0)
		return -errno;
	do {
		rc = wait_for(fd, POLLIN, end_ms);
		n = recv(fd, left, sizeof(left), MSG_DONTWAIT);
	} while (rc == 0 && (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))));
	return rc;
}
