/* SPDX-License-Identifier: BSD-3-Clause */

#include "object/ring.h"

#include "core/dbrec.h"
#include "core/mem.h"

int
rnic_ring_alloc(struct rnic_dev *dev, const char *what, size_t bytes, unsigned int rights,
		struct rnic_ring *ring, void **dbrec)
{
	int rc = 0;

	*ring = (struct rnic_ring){ 0 };
	if (bytes > 0)
		rc = rnic_mem_alloc(dev, what, bytes, RNIC_PAGE_BYTES, rights, &ring->mem);
	if (rc != 0)
		return rc;
	rc = rnic_dbrec_alloc(dev, dbrec, &ring->dbrec_iova);
	if (rc != 0)
		rnic_mem_free(dev, &ring->mem);
	return rc;
}

void
rnic_ring_free(struct rnic_dev *dev, struct rnic_ring *ring, void *dbrec)
{
	rnic_dbrec_free(dev, dbrec);
	rnic_mem_free(dev, &ring->mem);
	*ring = (struct rnic_ring){ 0 };
}
