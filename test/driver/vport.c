/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "vport.h"

size_t
drv_vport_bytes(const struct drv_vport *vport)
{
	return sizeof(struct rnic_modify_nic_vport_context_in) +
	       vport->count * sizeof(struct rnic_be64);
}

uint32_t
drv_vport_fill(void *in, const struct drv_vport *vport)
{
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(in);
	struct rnic_be64 *entries =
		(struct rnic_be64 *)((struct rnic_modify_nic_vport_context_in *)in + 1);

	drv_head(in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     vport->select);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_MTU, vport->mtu);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ROCE_EN, vport->roce);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_UC, vport->promisc_uc);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC, vport->promisc_mc);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_ALL, vport->promisc_all);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE, vport->list);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, vport->count);
	for (uint32_t i = 0; i < vport->count; i++)
		entries[i] = rnic_cpu_to_be64(vport->entries[i]);
	return (uint32_t)drv_vport_bytes(vport);
}

int
drv_vport_modify(struct drv *drv, const struct drv_vport *vport)
{
	void *in = drv_in(drv_vport_bytes(vport));

	return drv_create(drv, in, drv_vport_fill(in, vport), NULL);
}

int
drv_vport_mtu_set(struct drv *drv, uint16_t mtu)
{
	return drv_vport_modify(drv,
				&(struct drv_vport){ .select = RNIC_NIC_VPORT_MTU, .mtu = mtu });
}

int
drv_vport_roce_set(struct drv *drv, bool enabled)
{
	return drv_vport_modify(
		drv, &(struct drv_vport){ .select = RNIC_NIC_VPORT_ROCE_EN, .roce = enabled });
}

int
drv_vport_promisc_set(struct drv *drv, bool all)
{
	return drv_vport_modify(
		drv, &(struct drv_vport){ .select = RNIC_NIC_VPORT_PROMISC, .promisc_all = all });
}

int
drv_vport_query(struct drv *drv, enum rnic_allowed_list_type list,
		struct rnic_nic_vport_context *context, uint64_t entries[DRV_VPORT_LIST])
{
	struct rnic_query_nic_vport_context_in in = { 0 };
	struct {
		struct rnic_query_nic_vport_context_out out;
		struct rnic_be64 entries[DRV_VPORT_LIST];
	} *answer = drv_in(sizeof(*answer));
	int status;

	drv_head(&in, RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, 0);
	rnic_query_nic_vport_context_in_set(&in, RNIC_QUERY_NIC_VPORT_CONTEXT_IN_ALLOWED_LIST_TYPE,
					    list);
	status = drv->execute(drv, &in, sizeof(in), answer, sizeof(*answer));
	*context = *rnic_query_nic_vport_context_out_nic_vport_context(&answer->out);
	for (unsigned int i = 0; entries != NULL && i < DRV_VPORT_LIST; i++)
		entries[i] = rnic_be64_to_cpu(answer->entries[i]);
	free(answer);
	return status;
}

uint64_t
drv_vport_mac(const struct rnic_nic_vport_context *context)
{
	return rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32)
		       << 32 |
	       rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_31_0);
}
