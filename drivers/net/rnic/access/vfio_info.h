/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What vfio says of a device or of its IOMMU: a structure that begins with `argsz`, its length, and behind it a chain of
 * capabilities. How long that is the kernel says, in `argsz`, where it was given less room: it leaves the capabilities out.
 */
#ifndef RNIC_VFIO_INFO_H
#define RNIC_VFIO_INFO_H

#include <stddef.h>
#include <stdint.h>

/*
 * Asks until there was room for all. `question` is the structure without capabilities, of `bytes`, with what is to be told in
 * it; the answer is the caller's to free, its argsz is how much memory it has.
 * -EOVERFLOW: it has no end (logged); -ENOMEM; as the request.
 */
int rnic_vfio_info_read(const char *name, int fd, unsigned long request, const void *question,
			uint32_t bytes, void **answer);

/*
 * A capability of an answer's, whose first one is at `offset` (0: it has none): where it is, its fixed part, of `bytes`,
 * copied; or 0. Any address is possible: kernels before 6.6 do not align what is behind one whose length is no multiple of 8.
 */
uint32_t rnic_vfio_info_find(const void *answer, uint32_t offset, uint16_t id, void *cap,
			     size_t bytes);

#endif
