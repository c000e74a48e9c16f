/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of the switch between a card's functions (MPFS), for a function that manages the embedded switch: which unicast
 * addresses are this one's. There is one function on our wires, so nothing is decided by it; what a driver enters is kept, and
 * what a card would refuse is. Without the capability, which no device has by itself, the commands are unknown.
 */
#include "commands.h"

static struct softrnic_l2_entry *
entry_of(struct softrnic *dev, const struct rnic_l2_table_entry_in *in)
{
	const struct rnic_general_cap *cap = &dev->general_cap[1];
	const uint64_t index = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_TABLE_INDEX);
	const uint64_t log = rnic_general_cap_get(cap, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE);

	return index >> log == 0 && index >> SOFTRNIC_L2_TABLE_LOG == 0 ? &dev->port.l2_table[index]
									: NULL;
}

static bool
manages_switch(const struct softrnic *dev)
{
	return rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_ESWITCH_MANAGER) != 0;
}

SOFTRNIC_CMD(set_l2_table_entry)
{
	const struct rnic_l2_table_entry_in *in = cmd->in;
	const uint64_t high = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_MAC_47_32);
	const uint64_t low = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_MAC_31_0);
	struct softrnic_l2_entry *entry = entry_of(dev, in);

	if (!manages_switch(dev))
		return RNIC_STATUS_BAD_OP;
	/* One unicast address, of whatever VLAN. */
	if (entry == NULL || (high == 0 && low == 0) || (high >> 8 & 1) != 0 ||
	    rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_VLAN_VALID))
		return RNIC_STATUS_BAD_PARAM;
	entry->used = true;
	for (unsigned int i = 0; i < sizeof(entry->mac); i++)
		entry->mac[i] = (uint8_t)((high << 32 | low) >> (40 - 8 * i));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(delete_l2_table_entry)
{
	struct softrnic_l2_entry *entry = entry_of(dev, cmd->in);

	if (!manages_switch(dev))
		return RNIC_STATUS_BAD_OP;
	if (entry == NULL || !entry->used)
		return RNIC_STATUS_BAD_RES;
	entry->used = false;
	return RNIC_STATUS_OK;
}
