/* SPDX-License-Identifier: BSD-3-Clause */

#include "umem.h"

uint32_t
drv_umem_fill(void *in, const struct drv_umem *umem)
{
	drv_head(in, RNIC_CMD_CREATE_UMEM, 0);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_LOG_PAGE_SIZE, umem->log_page_size - 12);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_PAGE_OFFSET, umem->offset);
	rnic_create_umem_in_set(in, RNIC_CREATE_UMEM_IN_NUM_OF_MTT, umem->pages.count);
	return drv_pages_put(in, sizeof(struct rnic_create_umem_in), &umem->pages);
}

int
drv_umem_create(struct drv *drv, const struct drv_umem *umem, uint32_t *number)
{
	void *in = drv_in(sizeof(struct rnic_create_umem_in) + umem->pages.count * 8ul);

	return drv_create(drv, in, drv_umem_fill(in, umem), number);
}
