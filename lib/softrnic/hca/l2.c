/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of the switch between a card's functions (MPFS), for a function that manages the embedded switch: which unicast
 * addresses are this one's. There is one function on our wires, so nothing is decided by it: which indices are in use is
 * kept, and what a card would refuse is refused. Without the capability, which those devices have that are like a card's
 * physical function, the commands are unknown.
 */
#include "softrnic/hca/l2.h"

/* Of an index that is in the table: its bit. */
static bool
l2_bit_of(struct softrnic *dev, const struct rnic_l2_table_entry_in *in, uint64_t **word,
	  uint64_t *bit)
{
	const struct rnic_general_cap *cap = &dev->general_cap[1];
	const uint64_t index = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_TABLE_INDEX);
	const uint64_t log = rnic_general_cap_get(cap, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE);

	if (index >> log != 0 || index >> SOFTRNIC_L2_TABLE_LOG != 0)
		return false;
	*word = &dev->port.l2_used[index / 64];
	*bit = UINT64_C(1) << index % 64;
	return true;
}

bool
softrnic_manages_eswitch(const struct softrnic *dev)
{
	return rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_ESWITCH_MANAGER) != 0;
}

SOFTRNIC_CMD(set_l2_table_entry)
{
	const struct rnic_l2_table_entry_in *in = cmd->in;
	const uint64_t high = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_MAC_47_32);
	const uint64_t low = rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_MAC_31_0);
	uint64_t *word, bit;

	if (!softrnic_manages_eswitch(dev))
		return RNIC_STATUS_BAD_OP;
	/* One unicast address, of whatever VLAN. */
	if (!l2_bit_of(dev, in, &word, &bit) || (high == 0 && low == 0) || (high >> 8 & 1) != 0 ||
	    rnic_l2_table_entry_in_get(in, RNIC_L2_TABLE_ENTRY_IN_VLAN_VALID))
		return RNIC_STATUS_BAD_PARAM;
	*word |= bit;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(delete_l2_table_entry)
{
	uint64_t *word, bit;

	if (!softrnic_manages_eswitch(dev))
		return RNIC_STATUS_BAD_OP;
	if (!l2_bit_of(dev, cmd->in, &word, &bit) || (*word & bit) == 0)
		return RNIC_STATUS_BAD_RES;
	*word &= ~bit;
	return RNIC_STATUS_OK;
}
