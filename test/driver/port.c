/* SPDX-License-Identifier: BSD-3-Clause */

#include "port.h"
#include "prm/reg.h"
#include "prm/vport.h"

int
drv_port_mtu_set(struct drv *drv, uint16_t mtu)
{
	struct {
		struct rnic_access_reg_in in;
		struct rnic_pmtu_reg reg;
	} in = { 0 };
	struct {
		struct rnic_access_reg_out out;
		struct rnic_pmtu_reg reg;
	} out;

	drv_head(&in, RNIC_CMD_ACCESS_REG, RNIC_ACCESS_REG_WRITE);
	rnic_access_reg_in_set(&in.in, RNIC_ACCESS_REG_IN_REGISTER_ID, RNIC_REG_PMTU);
	rnic_pmtu_reg_set(&in.reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
	rnic_pmtu_reg_set(&in.reg, RNIC_PMTU_REG_ADMIN_MTU, mtu);
	return drv->execute(drv, &in, sizeof(in), &out, sizeof(out));
}

/* The context is what `in` has of it, apart from its header and the field that is selected. */
static int
vport_modify(struct drv *drv, struct rnic_modify_nic_vport_context_in *in, uint32_t select)
{
	drv_head(in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     select);
	return drv_execute(drv, in, sizeof(*in), NULL);
}

int
drv_vport_mtu_set(struct drv *drv, uint16_t mtu)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };

	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_MTU, mtu);
	return vport_modify(drv, &in, RNIC_NIC_VPORT_MTU);
}

int
drv_mtu_set(struct drv *drv, uint16_t mtu)
{
	int status = drv_port_mtu_set(drv, mtu);

	return status != 0 ? status : drv_vport_mtu_set(drv, mtu);
}

int
drv_vport_roce_set(struct drv *drv, bool enabled)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };

	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_ROCE_EN, enabled);
	return vport_modify(drv, &in, RNIC_NIC_VPORT_ROCE_EN);
}
