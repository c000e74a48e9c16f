/* SPDX-License-Identifier: BSD-3-Clause */

#include "tis.h"
#include "prm/queue.h"

uint32_t
drv_tis_fill(void *in, uint32_t td)
{
	drv_head(in, RNIC_CMD_CREATE_TIS, 0);
	rnic_tisc_set(rnic_create_tis_in_tisc(in), RNIC_TISC_TRANSPORT_DOMAIN, td);
	return sizeof(struct rnic_create_tis_in);
}

int
drv_tis_create(struct drv *drv, uint32_t td, uint32_t *tisn)
{
	struct rnic_create_tis_in in = { 0 };

	return drv_execute(drv, &in, drv_tis_fill(&in, td), tisn);
}
