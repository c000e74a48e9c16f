/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/vfio_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/vfio.h>

#include "access/vfio_sys.h"
#include "base/log.h"

#define BYTES_MAX  65536u
#define ROUNDS_MAX 8
#define CAPS_MAX   64

/* With room for `bytes`; -errno. */
static int
info_query(int fd, unsigned long request, uint32_t bytes, void *answer)
{
	memcpy(answer, &bytes, sizeof(bytes));
	return rnic_vfio_sys->ioctl(fd, request, answer) < 0 ? -errno : 0;
}

int
rnic_vfio_info_read(const char *name, int fd, unsigned long request, const void *question,
		    uint32_t bytes, void **answer)
{
	uint32_t room = bytes, wanted;
	void *info;
	int round, rc;

	/* The second time there is room for what it had to say the first time, which may be more by then. */
	for (round = 0; round < ROUNDS_MAX && room <= BYTES_MAX; round++) {
		info = calloc(1, room);
		if (info == NULL)
			return -ENOMEM;
		memcpy(info, question, bytes);
		rc = info_query(fd, request, room, info);
		memcpy(&wanted, info, sizeof(wanted));
		if (rc == 0 && wanted <= room) {
			memcpy(info, &room, sizeof(room));
			*answer = info;
			return 0;
		}
		free(info);
		if (rc != 0)
			return rc;
		room = wanted;
	}
	RNIC_LOG_NAMED(ERR, name,
		       "vfio's answer has no end: after %d requests it needs room for %u bytes",
		       round, room);
	return -EOVERFLOW;
}

uint32_t
rnic_vfio_info_find(const void *answer, uint32_t offset, uint16_t id, void *cap, size_t bytes)
{
	struct vfio_info_cap_header header;
	uint32_t room, steps;

	memcpy(&room, answer, sizeof(room));
	for (steps = 0; offset != 0 && steps < CAPS_MAX; steps++) {
		if (room < sizeof(header) || offset > room - sizeof(header))
			return 0;
		memcpy(&header, (const char *)answer + offset, sizeof(header));
		if (header.id == id) {
			if (bytes > room - offset)
				return 0;
			memcpy(cap, (const char *)answer + offset, bytes);
			return offset;
		}
		offset = header.next;
	}
	return 0;
}
