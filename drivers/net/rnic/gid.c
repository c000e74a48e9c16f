/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's RoCE addresses (PRM: "RoCE Address"), which the library knows as its GID table. */

#include <errno.h>
#include <string.h>

#include "internal.h"
#include "rdma.h"

_Static_assert(sizeof(union rdmapmd_gid) == 16, "an address");

static const uint8_t ipv4_mapped[12] = { [10] = 0xff, [11] = 0xff };

uint32_t
rnic_gid_count(const struct rnic_dev *dev)
{
	return (uint32_t)rnic_roce_cap_get(&dev->caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE);
}

int
rnic_gid_query(struct rnic_dev *dev, uint32_t index, struct rdmapmd_gid_entry *entry)
{
	struct rnic_query_roce_address_in in = { 0 };
	struct rnic_query_roce_address_out out;
	const struct rnic_roce_addr *address;
	uint64_t mac;
	unsigned int i;
	int rc;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	rnic_query_roce_address_in_set(&in, RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_ROCE_ADDRESS, 0, &in, sizeof(in), &out, sizeof(out));
	if (rc != 0)
		return rc;
	address = rnic_query_roce_address_out_roce_address(&out);
	*entry = (struct rdmapmd_gid_entry){
		.gid_type = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_ROCE_VERSION) ==
					    RNIC_ROCE_VERSION_2
				    ? RDMAPMD_GID_TYPE_ROCE_V2
				    : RDMAPMD_GID_TYPE_ROCE_V1,
	};
	memcpy(entry->gid.raw, address, sizeof(entry->gid.raw));
	mac = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32) << 32 |
	      rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0);
	for (i = 0; i < sizeof(entry->mac); i++)
		entry->mac[i] = (uint8_t)(mac >> (40 - 8 * i));
	return 0;
}

static uint64_t
mac_number(const uint8_t mac[6])
{
	uint64_t number = 0;
	unsigned int i;

	for (i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

int
rnic_gid_set(struct rnic_dev *dev, uint32_t index, const struct rdmapmd_gid_entry *entry)
{
	static const union rdmapmd_gid none;
	const bool ipv4 = memcmp(entry->gid.raw, ipv4_mapped, sizeof(ipv4_mapped)) == 0;
	const uint64_t mac = mac_number(entry->mac);
	struct rnic_set_roce_address_in in = { 0 };
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(&in);
	struct rnic_cmd_out out;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	rnic_set_roce_address_in_set(&in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	if (memcmp(&entry->gid, &none, sizeof(none)) != 0) {
		memcpy(address, entry->gid.raw, sizeof(entry->gid.raw));
		rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, mac >> 32);
		rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0, mac);
		rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE,
				   ipv4 ? RNIC_ROCE_L3_TYPE_IPV4 : RNIC_ROCE_L3_TYPE_IPV6);
		rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION,
				   entry->gid_type == RDMAPMD_GID_TYPE_ROCE_V2
					   ? RNIC_ROCE_VERSION_2
					   : RNIC_ROCE_VERSION_1);
	}
	return rnic_cmd_exec(dev, RNIC_CMD_SET_ROCE_ADDRESS, 0, &in, sizeof(in), &out, sizeof(out));
}

/* fe80::/64 with the MAC as EUI-64 (RFC 4291, appendix A): what every RoCE port has. */
static struct rdmapmd_gid_entry
link_local(const uint8_t mac[6])
{
	struct rdmapmd_gid_entry entry = {
		.gid = { { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
			   mac[3], mac[4], mac[5] } },
		.gid_type = RDMAPMD_GID_TYPE_ROCE_V2,
	};

	memcpy(entry.mac, mac, sizeof(entry.mac));
	return entry;
}

int
rnic_gids_setup(struct rnic_dev *dev)
{
	const struct rdmapmd_gid_entry entry = link_local(dev->mac);
	int rc;

	if (dev->rdma == NULL || rnic_gid_count(dev) == 0)
		return 0;
	rc = rnic_port_set_roce(dev, true);
	if (rc != 0)
		return rc;
	rc = rnic_gid_set(dev, 0, &entry);
	if (rc != 0)
		rnic_port_set_roce(dev, false);
	return rc;
}

void
rnic_gids_down(struct rnic_dev *dev)
{
	static const struct rdmapmd_gid_entry none;

	if (dev->rdma == NULL || rnic_gid_count(dev) == 0)
		return;
	rnic_gid_set(dev, 0, &none);
	rnic_port_set_roce(dev, false);
}
