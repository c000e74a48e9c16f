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

int
drv_link_switch(struct drv *drv, uint32_t admin_state)
{
	struct rnic_modify_vport_state_in in = { 0 };

	drv_head(&in, RNIC_CMD_MODIFY_VPORT_STATE, 0);
	rnic_modify_vport_state_in_set(&in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE, admin_state);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

bool
drv_link_is_up(struct drv *drv)
{
	struct rnic_query_vport_state_out out;

	return drv_query(drv, RNIC_CMD_QUERY_VPORT_STATE, 0, &out, sizeof(out)) == 0 &&
	       rnic_query_vport_state_out_get(&out, RNIC_QUERY_VPORT_STATE_OUT_STATE) ==
		       RNIC_VPORT_STATE_UP;
}
