/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "cap.h"

#define ROOM (RNIC_HCA_CAP_OFFSET + RNIC_HCA_CAP_BYTES)

int
drv_cap_query(struct drv *drv, unsigned int type, bool current, void *cap, size_t bytes)
{
	struct rnic_function_in in = { 0 };
	uint8_t *out = drv_in(ROOM);
	int status;

	drv_head(&in, RNIC_CMD_QUERY_HCA_CAP, RNIC_HCA_CAP_OP_MOD(type, current));
	status = drv->execute(drv, &in, sizeof(in), out, ROOM);
	memcpy(cap, out + RNIC_HCA_CAP_OFFSET, bytes);
	free(out);
	return status;
}

int
drv_cap_set(struct drv *drv, unsigned int type, const void *cap, size_t bytes)
{
	uint8_t *in = drv_in(ROOM);

	drv_head(in, RNIC_CMD_SET_HCA_CAP, RNIC_HCA_CAP_OP_MOD(type, 0));
	memcpy(in + RNIC_HCA_CAP_OFFSET, cap, bytes);
	return drv_create(drv, in, ROOM, NULL);
}
