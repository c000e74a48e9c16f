/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interrupt.h"
#include "link.h"
#include "say.h"
#include "tcp.h"

static const char *const types[] = {
	[PERF_MESSAGE_HELLO] = "HELLO",	  [PERF_MESSAGE_ADDRESSES] = "ADDRESS",
	[PERF_MESSAGE_BEGIN] = "BEGIN",	  [PERF_MESSAGE_SENT] = "SENT",
	[PERF_MESSAGE_RESULT] = "RESULT", [PERF_MESSAGE_LEAVES] = "LEAVES",
};

int
perf_link_open(struct perf_link *link, int fd)
{
	*link = (struct perf_link){ .fd = fd, .room = PERF_LINK_HEAD + PERF_LINK_BODY_MAX };
	link->buffer = malloc(link->room + 1);
	return link->buffer == NULL ? -ENOMEM : 0;
}

void
perf_link_close(struct perf_link *link)
{
	if (link->buffer == NULL)
		return;
	close(link->fd);
	free(link->buffer);
	*link = (struct perf_link){ 0 };
}

/* Whoever notices first says it: what is sent or looked for behind that meets the same end. */
static int
gone(struct perf_link *link, int rc)
{
	if (link->is_over)
		return rc == -ETIMEDOUT ? rc : -EPIPE;
	link->is_over = true;
	if (rc == -ETIMEDOUT)
		return perf_fail(rc, "the other end does not answer");
	return perf_fail(-EPIPE, "the other end has gone");
}

int
perf_link_left(struct perf_link *link)
{
	const bool is_known = link->is_over;

	link->is_over = true;
	/* Ctrl-C is for both ends of a loopback, and of a terminal: so this one ends as well. */
	if (perf_interrupted())
		return -EINTR;
	return is_known ? -ECONNABORTED : perf_fail(-ECONNABORTED, "the other end was interrupted");
}

int
perf_link_send(struct perf_link *link, enum perf_message_type type, const char *body)
{
	char head[PERF_LINK_HEAD + 1 + 8]; /* what a length of more digits would take */
	int rc;

	snprintf(head, sizeof(head), "RDMAPERF %03u %-8s %08zx\n", PERF_LINK_VERSION, types[type],
		 strlen(body));
	rc = perf_tcp_send(link->fd, head, PERF_LINK_HEAD);
	if (rc == 0)
		rc = perf_tcp_send(link->fd, body, strlen(body));
	return rc == 0 ? 0 : gone(link, rc);
}

/* Another program sends something else, and so does another version of this one. */
static int
check_magic(const struct perf_link *link)
{
	const size_t n = link->have < 9 ? link->have : 9;
	unsigned int version;

	if (memcmp(link->buffer, "RDMAPERF ", n) != 0)
		return perf_fail(
			-EPROTO,
			"the other end is not " PERF_PROGRAM ": for ibv_*_pingpong give "
			"--exchange=pingpong, for perftest's programs --exchange=perftest");
	if (link->have < 12 ||
	    (sscanf(link->buffer + 9, "%3u", &version) == 1 && version == PERF_LINK_VERSION))
		return 0;
	return perf_fail(
		-EPROTO,
		"the other end speaks version %.3s, this one version %03u: install the same " PERF_PROGRAM
		" at both ends",
		link->buffer + 9, PERF_LINK_VERSION);
}

/* What the head says, all of which is there. */
static int
parse_head(const struct perf_link *link, enum perf_message_type *type, size_t *length)
{
	char name[9];
	unsigned int i;

	if (sscanf(link->buffer + 13, "%8s %8zx", name, length) != 2 ||
	    *length > PERF_LINK_BODY_MAX)
		return perf_fail(-EPROTO, "the other end sends an invalid message");
	for (i = 0; i < PERF_MESSAGE_TYPES; i++)
		if (strcmp(types[i], name) == 0) {
			*type = i;
			return 0;
		}
	return perf_fail(-EPROTO, "the other end sends an unknown message");
}

/* More of the next message: 1, 0 nothing has come, or an error. */
static int
take_bytes(struct perf_link *link, size_t wanted)
{
	ssize_t n = recv(link->fd, link->buffer + link->have, wanted - link->have, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return gone(link, -EPIPE);
	link->have += (size_t)n;
	return 1;
}

int
perf_link_poll(struct perf_link *link, struct perf_message *message)
{
	size_t length = 0;
	int rc;

	for (;;) {
		if (link->have >= PERF_LINK_HEAD) {
			link->buffer[link->have] = '\0';
			rc = parse_head(link, &message->type, &length);
			if (rc != 0)
				return rc;
			if (link->have == PERF_LINK_HEAD + length)
				break;
		}
		rc = take_bytes(link, PERF_LINK_HEAD + length);
		if (rc > 0)
			rc = check_magic(link) == 0 ? 1 : -EPROTO;
		if (rc <= 0)
			return rc;
	}
	link->have = 0;
	if (message->type == PERF_MESSAGE_LEAVES)
		return perf_link_left(link);
	message->body = link->buffer + PERF_LINK_HEAD;
	message->length = length;
	return 1;
}

int
perf_link_wait(struct perf_link *link, enum perf_message_type type, int timeout_ms,
	       struct perf_message *message)
{
	struct pollfd ready = { .fd = link->fd, .events = POLLIN };
	const uint64_t start = perf_tcp_now_ms();
	int rc, left = 0, interrupted_ms = 0;

	for (;;) {
		rc = perf_link_poll(link, message);
		/* It ends in the middle of a size, and tells what was measured so far all the same. */
		if (type == PERF_MESSAGE_RESULT && (rc == -ECONNABORTED || rc == -EINTR))
			left = rc;
		else if (rc != 0)
			break;
		if (perf_interrupted() && (interrupted_ms += PERF_TCP_TICK_MS) > PERF_INTERRUPT_MS)
			return -EINTR;
		/* All of it in that time, however little comes at once. */
		if (timeout_ms >= 0 && perf_tcp_now_ms() - start > (uint64_t)timeout_ms)
			return gone(link, -ETIMEDOUT);
		poll(&ready, 1, PERF_TCP_TICK_MS);
	}
	if (rc < 0)
		return left != 0 ? left : rc;
	if (message->type != type)
		return perf_fail(-EPROTO, "the other end sends %s where %s is to come",
				 types[message->type], types[type]);
	return 0;
}
