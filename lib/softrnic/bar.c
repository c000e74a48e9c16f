/* SPDX-License-Identifier: BSD-3-Clause */

/* BAR0: the initialization segment, then the UAR pages. */
#include <errno.h>
#include <string.h>

#include "prm/init_seg.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/uar.h"
#include "softrnic/engine/doorbell.h"
#include "softrnic/hca/iseg.h"
#include "softrnic/softrnic_private.h"

#define UAR_BYTES (SOFTRNIC_UAR_PAGES * (uint64_t)RNIC_UAR_PAGE_BYTES)
/* PCI wants a power of two; capability uar_sz says how many MiB. */
#define BAR_BYTES ((uint64_t)2 << 20)

_Static_assert(SOFTRNIC_FIRST_UAR_MAX >= RNIC_FIRST_UAR &&
		       SOFTRNIC_FIRST_UAR_MAX * (uint64_t)RNIC_UAR_PAGE_BYTES + UAR_BYTES <=
			       BAR_BYTES,
	       "UAR pages do not fit into the BAR");

static uint64_t
uar_offset(const struct softrnic *dev)
{
	return softrnic_first_uar(dev) * (uint64_t)RNIC_UAR_PAGE_BYTES;
}

size_t
softrnic_bar_size(const struct softrnic *dev)
{
	(void)dev;
	return BAR_BYTES;
}

static bool
bar_access_valid(uint64_t offset, size_t length)
{
	return (length == 4 || length == 8) && offset % length == 0 && offset < BAR_BYTES &&
	       length <= BAR_BYTES - offset;
}

int
softrnic_bar_read(struct softrnic *dev, uint64_t offset, void *data, size_t length)
{
	const uint64_t uars = uar_offset(dev);
	uint32_t dw[2] = { 0, 0 };

	if (!bar_access_valid(offset, length))
		return -EINVAL;
	softrnic_lock(dev->poller);
	for (size_t i = 0; i < length / 4; i++) {
		uint64_t at = offset + 4 * i;

		if (at < sizeof(*dev->iseg))
			dw[i] = RNIC_SWAP32(softrnic_iseg_read(dev, at));
		else if (at >= uars && at - uars < UAR_BYTES)
			dw[i] = __atomic_load_n((const uint32_t *)(dev->uar_memory + (at - uars)),
						__ATOMIC_RELAXED);
	}
	softrnic_unlock(dev->poller);
	memcpy(data, dw, length);
	return 0;
}

int
softrnic_bar_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length)
{
	const uint64_t uars = uar_offset(dev);
	int rc = 0;

	if (!bar_access_valid(offset, length))
		return -EINVAL;
	if (offset == SOFTRNIC_ISEG_DOORBELL) {
		softrnic_iseg_ring(dev, data);
		return 0;
	}
	softrnic_lock(dev->poller);
	if (offset >= uars && offset - uars < UAR_BYTES) {
		rc = softrnic_doorbell_write(dev, offset - uars, data, length);
	} else if (offset < sizeof(*dev->iseg)) {
		for (size_t i = 0; i < length / 4; i++) {
			struct rnic_be32 dw;

			memcpy(&dw, (const uint8_t *)data + 4 * i, sizeof(dw));
			if (softrnic_iseg_write(dev, offset + 4 * i, rnic_be32_to_cpu(dw))) {
				softrnic_device_reset(dev);
				softrnic_iseg_disable(dev);
			}
		}
	}
	softrnic_unlock(dev->poller);
	return rc;
}

int
softrnic_bar_mmap(struct softrnic *dev, uint64_t *offset, size_t *length, void **address, int *fd)
{
	*offset = uar_offset(dev) + RNIC_UAR_PAGE_BYTES;
	*length = UAR_BYTES - RNIC_UAR_PAGE_BYTES;
	*address = dev->uar_memory + RNIC_UAR_PAGE_BYTES;
	if (fd != NULL)
		*fd = dev->uar_fd;
	return 0;
}

int
softrnic_bar_renew(struct softrnic *dev, int *fd)
{
	int rc;

	softrnic_lock(dev->poller);
	rc = softrnic_uar_renew(dev);
	*fd = dev->uar_fd;
	softrnic_unlock(dev->poller);
	return rc;
}
