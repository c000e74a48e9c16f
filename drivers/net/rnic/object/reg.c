/* SPDX-License-Identifier: BSD-3-Clause */

#include "object/reg.h"

#include <errno.h>
#include <string.h>

#include "core/cmd.h"
#include "prm/cmd.h"
#include "prm/reg.h"

#define REG_MAX 0x100 /* bytes */

int
rnic_access_reg(struct rnic_dev *dev, rnic_cmd_fn *command, uint16_t reg, bool write, void *data,
		uint32_t bytes)
{
	struct {
		struct rnic_access_reg_in header;
		uint8_t data[REG_MAX];
	} in = { 0 };
	struct {
		struct rnic_access_reg_out header;
		uint8_t data[REG_MAX];
	} out;
	int rc;

	if (bytes > sizeof(in.data))
		return -EINVAL;
	rnic_access_reg_in_set(&in.header, RNIC_ACCESS_REG_IN_REGISTER_ID, reg);
	memcpy(in.data, data, bytes);
	rc = command(dev, RNIC_CMD_ACCESS_REG, write ? RNIC_ACCESS_REG_WRITE : RNIC_ACCESS_REG_READ,
		     &in, (uint32_t)sizeof(in.header) + bytes, &out,
		     (uint32_t)sizeof(out.header) + bytes);
	if (rc == 0 && !write)
		memcpy(data, out.data, bytes);
	return rc;
}
