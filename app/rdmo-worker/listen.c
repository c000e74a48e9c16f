/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listen.h"

#define UNIX	 "unix:"
#define PORT_MAX 65535

static int
listen_local(const char *listen, uint32_t i, char *address, size_t size)
{
	const char *path = listen + strlen(UNIX);
	int n;

	/* A ticket has spaces between its parts. */
	if (path[0] == '\0' || strpbrk(path, " \t\n") != NULL)
		return -EINVAL;
	if (i == 0)
		n = snprintf(address, size, "%s", listen);
	else
		n = snprintf(address, size, "%s.%u", listen, i);
	return n > 0 && (size_t)n < size ? 0 : -EINVAL;
}

int
listen_address(const char *listen, uint32_t i, char *address, size_t size)
{
	const char *colon = strrchr(listen, ':');
	unsigned long port;
	char *end;
	int n;

	if (strncmp(listen, UNIX, strlen(UNIX)) == 0)
		return listen_local(listen, i, address, size);
	if (colon == NULL || colon == listen || !isdigit((unsigned char)colon[1]))
		return -EINVAL;
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (errno != 0 || *end != '\0' || port > PORT_MAX)
		return -EINVAL;
	if (port != 0)
		port += i;
	if (port > PORT_MAX)
		return -ERANGE;
	n = snprintf(address, size, "%.*s:%lu", (int)(colon - listen), listen, port);
	return n > 0 && (size_t)n < size ? 0 : -EINVAL;
}
