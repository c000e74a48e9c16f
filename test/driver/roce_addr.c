/* SPDX-License-Identifier: BSD-3-Clause */

#include "roce_addr.h"

uint32_t
drv_roce_addr_fill(void *in, const struct drv_roce_addr *address)
{
	struct rnic_roce_addr *entry = rnic_set_roce_address_in_roce_address(in);

	drv_head(in, RNIC_CMD_SET_ROCE_ADDRESS, 0);
	rnic_set_roce_address_in_set(in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX,
				     address->index);
	memcpy(entry, address->gid, sizeof(address->gid));
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, address->mac >> 32);
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_SOURCE_MAC_31_0, address->mac & UINT32_MAX);
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_ROCE_VERSION, RNIC_ROCE_VERSION_2);
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_VLAN_VALID, address->vlan != 0);
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_VLAN_ID, address->vlan);
	rnic_roce_addr_set(entry, RNIC_ROCE_ADDR_ROCE_L3_TYPE,
			   rnic_gid_is_ipv4(address->gid) ? RNIC_ROCE_L3_TYPE_IPV4
							  : RNIC_ROCE_L3_TYPE_IPV6);
	return sizeof(struct rnic_set_roce_address_in);
}

int
drv_roce_addr_set(struct drv *drv, const struct drv_roce_addr *address)
{
	struct rnic_set_roce_address_in in = { 0 };

	return drv_execute(drv, &in, drv_roce_addr_fill(&in, address), NULL);
}

int
drv_roce_addr_query(struct drv *drv, uint32_t index, struct rnic_roce_addr *entry)
{
	struct rnic_query_roce_address_in in = { 0 };
	struct rnic_query_roce_address_out out = { 0 };
	int status;

	drv_head(&in, RNIC_CMD_QUERY_ROCE_ADDRESS, 0);
	rnic_query_roce_address_in_set(&in, RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	status = drv->execute(drv, &in, sizeof(in), &out, sizeof(out));
	*entry = *rnic_query_roce_address_out_roce_address(&out);
	return status;
}
