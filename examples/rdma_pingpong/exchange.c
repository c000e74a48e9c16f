/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_debug.h>

#include "exchange.h"

/* With the NUL, which is sent, too. A LID is InfiniBand's; a port of Ethernet has none. */
#define TEXT	   sizeof("0000:000000:000000:00000000000000000000000000000000")
#define LID	   0u
#define PATIENCE_S 5 /* for what the other side is to say at once */
#define FAIL(what) rte_exit(EXIT_FAILURE, "%s: %s\n", what, strerror(errno))

/* A socket that is connected to that address, or bound to it; -1. */
static int
open_socket(const struct addrinfo *address, int passive)
{
	const int yes = 1;
	int fd = socket(address->ai_family, address->ai_socktype, address->ai_protocol);

	if (fd < 0)
		return -1;
	if (passive) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1) == 0)
			return fd;
	} else if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
		return fd;
	}
	close(fd);
	return -1;
}

/* The first client; a look at `stopped` ten times a second, as a signal may come just before poll(). */
static int
wait_for_client(int listener, volatile sig_atomic_t *stopped)
{
	struct pollfd client = { .fd = listener, .events = POLLIN };
	int connection;

	while (!*stopped) {
		if (poll(&client, 1, 100) <= 0)
			continue;
		connection = accept(listener, NULL, NULL);
		if (connection >= 0)
			return connection;
		if (errno != EINTR && errno != ECONNABORTED)
			FAIL("accept");
	}
	return -1;
}

/* Who says nothing holds nobody, nor keeps a signal from being seen. */
static int
with_patience(int connection)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	if (connection >= 0 &&
	    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
		FAIL("setsockopt");
	return connection;
}

int
exchange_open(const char *host, const char *port, volatile sig_atomic_t *stopped)
{
	const struct addrinfo hints = { .ai_flags = host == NULL ? AI_PASSIVE : 0,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *addresses, *address;
	int fd = -1, connection, rc = getaddrinfo(host, port, &hints, &addresses);

	if (rc != 0)
		rte_exit(EXIT_FAILURE, "%s, port %s: %s\n", host == NULL ? "here" : host, port,
			 gai_strerror(rc));
	for (address = addresses; address != NULL && fd < 0; address = address->ai_next)
		fd = open_socket(address, host == NULL);
	freeaddrinfo(addresses);
	if (fd < 0)
		rte_exit(EXIT_FAILURE, "TCP port %s of %s: %s\n", port,
			 host == NULL ? "this host" : host, strerror(errno));
	if (host != NULL)
		return with_patience(fd);
	printf("waiting at TCP port %s\n", port);
	fflush(stdout);
	connection = wait_for_client(fd, stopped);
	close(fd);
	return with_patience(connection);
}

static void
send_text(int connection, const char *text, size_t bytes)
{
	if (send(connection, text, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		FAIL("the other side does not listen");
}

static void
receive_text(int connection, char *text, size_t bytes)
{
	ssize_t n = recv(connection, text, bytes, MSG_WAITALL);

	if (n < 0)
		FAIL("the other side does not answer");
	if (n != (ssize_t)bytes || text[bytes - 1] != '\0')
		rte_exit(EXIT_FAILURE, "the other side sent something else, or has gone\n");
}

void
exchange_tell(int connection, const struct exchange_end *own)
{
	char text[TEXT];
	int at = snprintf(text, sizeof(text), "%04x:%06" PRIx32 ":%06" PRIx32 ":", LID, own->qp_num,
			  own->psn);
	unsigned int i;

	for (i = 0; i < sizeof(own->gid.raw); i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%02x", own->gid.raw[i]);
	send_text(connection, text, sizeof(text));
}

void
exchange_hear(int connection, struct exchange_end *peer)
{
	char text[TEXT];
	unsigned int i;
	int at = 0;

	receive_text(connection, text, sizeof(text));
	if (sscanf(text, "%*x:%6" SCNx32 ":%6" SCNx32 ":%n", &peer->qp_num, &peer->psn, &at) < 2 ||
	    strlen(text + at) != 2 * sizeof(peer->gid.raw))
		rte_exit(EXIT_FAILURE, "not an address: %s\n", text);
	for (i = 0; i < sizeof(peer->gid.raw); i++, at += 2)
		if (sscanf(text + at, "%2hhx", &peer->gid.raw[i]) != 1)
			rte_exit(EXIT_FAILURE, "not an address: %s\n", text);
}

void
exchange_done(int connection)
{
	send_text(connection, "done", sizeof("done"));
}

void
exchange_wait(int connection)
{
	char text[sizeof("done")];

	receive_text(connection, text, sizeof(text));
}
