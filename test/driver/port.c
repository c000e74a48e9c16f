/* SPDX-License-Identifier: BSD-3-Clause */

#include "port.h"
#include "reg.h"
#include "vport.h"

int
drv_port_mtu_set(struct drv *drv, uint16_t mtu)
{
	struct rnic_pmtu_reg reg = { 0 };

	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_ADMIN_MTU, mtu);
	return drv_reg_write(drv, RNIC_REG_PMTU, &reg, sizeof(reg));
}

int
drv_mtu_set(struct drv *drv, uint16_t mtu)
{
	int status = drv_port_mtu_set(drv, mtu);

	return status != 0 ? status : drv_vport_mtu_set(drv, mtu);
}
