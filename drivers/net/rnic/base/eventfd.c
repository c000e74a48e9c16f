/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>

#include "base/eventfd.h"
#include "base/log.h"

int
rnic_eventfd_open(const char *name, int *fd)
{
	int rc;

	*fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (*fd >= 0)
		return 0;
	rc = -errno;
	RNIC_LOG_NAMED(ERR, name, "no eventfd: %s", strerror(-rc));
	return rc;
}

void
rnic_eventfd_signal(int fd)
{
	const uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	/* A full counter means that the reader has not come round yet; it will. */
	RTE_SET_USED(n);
}

void
rnic_eventfd_drain(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	/* Nothing there is as good. */
	RTE_SET_USED(n);
}
