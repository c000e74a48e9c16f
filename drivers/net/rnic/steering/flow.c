/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Flow tables of received frames (PRM: "Flow Tables"), command by command. Of entries that match the one with the lowest
 * index of its table wins; a group is a range of indexes and says which fields its entries match.
 */

#include <errno.h>
#include <string.h>

#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/flow.h"
#include "prm/queue.h"
#include "steering/flow.h"

static void
set_match(struct rnic_fte_match_param *match, const struct rnic_flow_match *from)
{
	struct rnic_fte_match_set_lyr_2_4 *outer = rnic_fte_match_param_outer(match);
	const uint8_t *mac = from->mac;

	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16,
				       (uint32_t)mac[0] << 24 | (uint32_t)mac[1] << 16 |
					       (uint32_t)mac[2] << 8 | mac[3]);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_15_0,
				       (uint32_t)mac[4] << 8 | mac[5]);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_CVLAN_TAG, from->by_vlan);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_VID, from->vlan_id);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE,
				       from->ethertype);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_IP_PROTOCOL,
				       from->ip_protocol);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_FRAG, from->fragment);
}

static bool
matches_all(const struct rnic_flow_match *mask)
{
	static const uint8_t no_mac[6];

	return memcmp(mask->mac, no_mac, sizeof(no_mac)) == 0 && !mask->by_vlan &&
	       mask->vlan_id == 0 && mask->ethertype == 0 && mask->ip_protocol == 0 &&
	       !mask->fragment;
}

int
rnic_tir_create_for(struct rnic_dev *dev, struct rnic_create_tir_in *in, uint32_t *tir)
{
	rnic_tirc_set(rnic_create_tir_in_tirc(in), RNIC_TIRC_TRANSPORT_DOMAIN, dev->td);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_TIR, in, sizeof(*in), NULL, tir);
}

int
rnic_tir_create(struct rnic_dev *dev, uint32_t rqn, uint32_t *tir)
{
	struct rnic_create_tir_in in = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);

	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_DIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INLINE_RQN, rqn);
	return rnic_tir_create_for(dev, &in, tir);
}

int
rnic_flow_table_create(struct rnic_dev *dev, uint8_t level, unsigned int log_size, uint32_t *table)
{
	struct rnic_create_flow_table_in in = { 0 };
	struct rnic_flow_table_context *context = rnic_create_flow_table_in_context(&in);

	rnic_create_flow_table_in_set(&in, RNIC_CREATE_FLOW_TABLE_IN_TABLE_TYPE,
				      RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL, level);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE, log_size);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_FLOW_TABLE, &in, sizeof(in), NULL, table);
}

int
rnic_flow_table_destroy(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_flow_table_in in = { 0 };

	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_ID, table);
	return rnic_cmd_exec_in(dev, RNIC_CMD_DESTROY_FLOW_TABLE, 0, &in, sizeof(in));
}

int
rnic_flow_root_set(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_set_flow_table_root_in in = { 0 };

	rnic_set_flow_table_root_in_set(&in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_TYPE,
					RNIC_FLOW_TABLE_NIC_RX);
	rnic_set_flow_table_root_in_set(&in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, table);
	return rnic_cmd_exec_in(dev, RNIC_CMD_SET_FLOW_TABLE_ROOT, 0, &in, sizeof(in));
}

bool
rnic_flow_root_moves(struct rnic_dev *dev)
{
	return rnic_flow_table_props_get(rnic_flow_table_cap_nic_receive(&dev->caps.flow_table),
					 RNIC_FLOW_TABLE_PROPS_MODIFY_ROOT) != 0;
}

int
rnic_flow_group_create(struct rnic_dev *dev, uint32_t table, uint32_t first, uint32_t last,
		       const struct rnic_flow_match *mask, uint32_t *group)
{
	struct rnic_create_flow_group_in in = { 0 };

	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_TYPE,
				      RNIC_FLOW_TABLE_NIC_RX);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, first);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX, last);
	if (!matches_all(mask)) {
		rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE,
					      RNIC_MATCH_OUTER_HEADERS);
		set_match(rnic_create_flow_group_in_match_criteria(&in), mask);
	}
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_FLOW_GROUP, &in, sizeof(in), NULL, group);
}

int
rnic_flow_group_destroy(struct rnic_dev *dev, uint32_t table, uint32_t group)
{
	struct rnic_flow_group_in in = { 0 };

	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_GROUP_ID, group);
	return rnic_cmd_exec_in(dev, RNIC_CMD_DESTROY_FLOW_GROUP, 0, &in, sizeof(in));
}

/* A SET command with room for both destinations. */
struct set_entry {
	struct rnic_set_fte_in in;
	struct rnic_flow_destination destinations[2];
};
_Static_assert(sizeof(struct set_entry) == 0x350, "destinations follow the entry");

static void
destination_set(struct rnic_flow_destination *destination, enum rnic_flow_destination_type type,
		uint32_t id)
{
	rnic_flow_destination_set(destination, RNIC_FLOW_DESTINATION_TYPE, type);
	rnic_flow_destination_set(destination, RNIC_FLOW_DESTINATION_ID, id);
}

/* Returns how many there are. */
static uint32_t
destinations_fill(struct rnic_flow_destination list[2], const struct rnic_flow_entry *entry)
{
	uint32_t count = 0;

	if (entry->to_tir)
		destination_set(&list[count++], RNIC_FLOW_DESTINATION_TIR, entry->tir);
	if (entry->to_table)
		destination_set(&list[count++], RNIC_FLOW_DESTINATION_TABLE, entry->next_table);
	return count;
}

static void
flow_context_fill(struct rnic_flow_context *context, const struct rnic_flow_entry *entry,
		  uint32_t destinations)
{
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, entry->group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_FLOW_TAG, entry->tag);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, RNIC_FLOW_ACTION_FWD_DEST);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, destinations);
	set_match(rnic_flow_context_match_value(context), &entry->match);
}

int
rnic_flow_entry_set(struct rnic_dev *dev, const struct rnic_flow_entry *entry)
{
	struct set_entry set = { 0 };
	/* Of two destinations a card may take one: who asks for both goes on. */
	rnic_cmd_fn *command = entry->to_tir && entry->to_table ? rnic_cmd_try : rnic_cmd_exec;
	const uint32_t count = destinations_fill(set.destinations, entry);
	struct rnic_cmd_out out;

	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_TABLE_ID, entry->table);
	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_FLOW_INDEX, entry->index);
	flow_context_fill(rnic_set_fte_in_flow_context(&set.in), entry, count);
	return command(dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_SET_FTE_NEW, &set,
		       (uint32_t)(sizeof(set.in) + count * sizeof(set.destinations[0])), &out,
		       sizeof(out));
}

int
rnic_flow_entry_delete(struct rnic_dev *dev, uint32_t table, uint32_t index)
{
	struct rnic_fte_in in = { 0 };

	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, table);
	rnic_fte_in_set(&in, RNIC_FTE_IN_FLOW_INDEX, index);
	return rnic_cmd_exec_in(dev, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0, &in, sizeof(in));
}
