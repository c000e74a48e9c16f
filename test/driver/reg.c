/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "reg.h"

static int
reg_access(struct drv *drv, uint16_t op_mod, uint16_t id, void *reg, uint32_t bytes)
{
	struct rnic_access_reg_in *in = drv_in(sizeof(*in) + bytes);
	struct rnic_access_reg_out *out = drv_in(sizeof(*out) + bytes);
	int status;

	drv_head(in, RNIC_CMD_ACCESS_REG, op_mod);
	rnic_access_reg_in_set(in, RNIC_ACCESS_REG_IN_REGISTER_ID, id);
	memcpy(in + 1, reg, bytes);
	status = drv->execute(drv, in, (uint32_t)sizeof(*in) + bytes, out,
			      (uint32_t)sizeof(*out) + bytes);
	memcpy(reg, out + 1, bytes);
	free(in);
	free(out);
	return status;
}

int
drv_reg_read(struct drv *drv, uint16_t id, void *reg, uint32_t bytes)
{
	return reg_access(drv, RNIC_ACCESS_REG_READ, id, reg, bytes);
}

int
drv_reg_write(struct drv *drv, uint16_t id, void *reg, uint32_t bytes)
{
	return reg_access(drv, RNIC_ACCESS_REG_WRITE, id, reg, bytes);
}
