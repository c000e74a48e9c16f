/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of GIDs (PRM: "RoCE Address"): which addresses are ours, and which MAC address each has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "softrnic/base/poller.h"
#include "softrnic/base/quirks.h"
#include "softrnic/hca/roce_addr.h"
#include "softrnic/receive/roce.h"

#define PORT 1

/*
 * A copy to where a page begins, or close behind that, is the fastest one of what begins with a page, as payloads often do: loads are
 * compared with the stores before them by their places in a page.
 */
#define ROOM_ALIGN 4096
#define ROOM_BYTES RTE_ALIGN_CEIL(ROCEV2_FRAME_MAX, ROOM_ALIGN)

int
softrnic_roce_addrs_init(struct softrnic *dev)
{
	dev->roce_addrs = calloc(SOFTRNIC_ROCE_ADDRS, sizeof(*dev->roce_addrs));
	dev->roce_room = aligned_alloc(ROOM_ALIGN, ROOM_BYTES);
	dev->roce_seen = calloc(SOFTRNIC_ROCE_SEEN, sizeof(*dev->roce_seen));
	return dev->roce_addrs != NULL && dev->roce_room != NULL && dev->roce_seen != NULL
		       ? 0
		       : -ENOMEM;
}

void
softrnic_roce_addrs_reset(struct softrnic *dev)
{
	memset(dev->roce_addrs, 0, SOFTRNIC_ROCE_ADDRS * sizeof(*dev->roce_addrs));
	softrnic_roce_changed(dev);
}

void
softrnic_roce_addrs_fini(struct softrnic *dev)
{
	free(dev->roce_addrs);
	free(dev->roce_room);
	free(dev->roce_seen);
	dev->roce_addrs = NULL;
	dev->roce_room = NULL;
	dev->roce_seen = NULL;
}

/* The entry that a command names; NULL: none. Port 0 is the only one, too. */
static struct softrnic_roce_addr *
roce_addr_entry_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd, int *status)
{
	/* SET_ROCE_ADDRESS begins with the same two fields. */
	const struct rnic_query_roce_address_in *in = cmd->in;
	const uint64_t index =
		rnic_query_roce_address_in_get(in, RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX);

	*status = RNIC_STATUS_OK;
	if (rnic_query_roce_address_in_get(in, RNIC_QUERY_ROCE_ADDRESS_IN_VHCA_PORT_NUM) > PORT)
		*status = softrnic_refuse(dev, cmd, "there is one port, of number 1");
	else if (index >= SOFTRNIC_ROCE_ADDRS)
		*status = RNIC_STATUS_BAD_INDEX;
	return *status == RNIC_STATUS_OK ? &dev->roce_addrs[index] : NULL;
}

static const char *
roce_addr_address_fault(const struct rnic_roce_addr *address,
			const struct softrnic_roce_addr *entry)
{
	const uint64_t type = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE);

	if (rnic_roce_addr_get(address, RNIC_ROCE_ADDR_ROCE_VERSION) != RNIC_ROCE_VERSION_2)
		return "only RoCE version 2 is supported";
	if (type !=
	    (rnic_gid_is_ipv4(entry->gid) ? RNIC_ROCE_L3_TYPE_IPV4 : RNIC_ROCE_L3_TYPE_IPV6))
		return "roce_l3_type does not fit the address";
	if ((entry->mac[0] & 1) != 0)
		return "its MAC address is a group address";
	return NULL;
}

/* An address of zeros empties the entry. */
SOFTRNIC_CMD(set_roce_address)
{
	struct rnic_set_roce_address_in *in = (struct rnic_set_roce_address_in *)(uintptr_t)cmd->in;
	const struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(in);
	const uint64_t mac = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32) << 32 |
			     rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0);
	static const uint8_t none[16];
	struct softrnic_roce_addr entry = { .valid = true, .context = *address }, *slot;
	const char *fault;
	int status;

	cmd->syndrome = 0x761001;
	slot = roce_addr_entry_of_command(dev, cmd, &status);
	if (slot == NULL)
		return status;
	if (softrnic_quirks_roce_off(dev))
		return softrnic_refuse(dev, cmd, "RoCE is off");
	memcpy(entry.gid, address, sizeof(entry.gid));
	if (memcmp(entry.gid, none, sizeof(none)) == 0) {
		*slot = (struct softrnic_roce_addr){ .valid = false };
		softrnic_roce_changed(dev);
		return RNIC_STATUS_OK;
	}
	for (unsigned int i = 0; i < sizeof(entry.mac); i++)
		entry.mac[i] = (uint8_t)(mac >> (40 - 8 * i));
	cmd->syndrome = 0x761002;
	fault = roce_addr_address_fault(address, &entry);
	if (fault != NULL)
		return softrnic_refuse(dev, cmd, fault);
	entry.tagged = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_VLAN_VALID);
	entry.vlan =
		entry.tagged ? (uint16_t)rnic_roce_addr_get(address, RNIC_ROCE_ADDR_VLAN_ID) : 0;
	*slot = entry;
	softrnic_roce_changed(dev);
	return RNIC_STATUS_OK;
}

/* An empty entry is zeros. */
SOFTRNIC_CMD(query_roce_address)
{
	const struct softrnic_roce_addr *entry;
	int status;

	cmd->syndrome = 0x760001;
	entry = roce_addr_entry_of_command(dev, cmd, &status);
	if (entry == NULL)
		return status;
	*rnic_query_roce_address_out_roce_address(cmd->out) = entry->context;
	return RNIC_STATUS_OK;
}
