/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering (PRM: "Flow Tables"): one root table, three groups of entries, all forwarding to one TIR.
 *
 *	index   group            matches
 *	0, 1    destination MAC  own address: one of the two, so that a change never leaves a gap
 *	2       destination MAC  broadcast
 *	8       multicast bit    all multicast, while asked for
 *	9       everything       all frames, while promiscuous
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "internal.h"

#define LOG_TABLE_SIZE	4
#define INDEX_OWN	0
#define INDEX_BROADCAST 2
#define MAC_INDEXES	8
#define INDEX_MULTICAST 8
#define INDEX_ALL	9

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t multicast_bit[6] = { 0x01 };
static const uint8_t no_mac[6];

static void
match_dmac(struct rnic_fte_match_param *match, const uint8_t mac[6])
{
	struct rnic_fte_match_set_lyr_2_4 *outer = rnic_fte_match_param_outer(match);

	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16,
				       (uint32_t)mac[0] << 24 | (uint32_t)mac[1] << 16 |
					       (uint32_t)mac[2] << 8 | mac[3]);
	rnic_fte_match_set_lyr_2_4_set(outer, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_15_0,
				       (uint32_t)mac[4] << 8 | mac[5]);
}

static int
create_tir(struct rnic_dev *dev, const struct rnic_rq *rq, uint32_t *tir)
{
	struct rnic_create_tir_in in = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);
	struct rnic_object_out out;
	int rc;

	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_DIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INLINE_RQN, rq->rqn);
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, dev->td);
	rc = rnic_cmd_exec(dev, RNIC_CMD_CREATE_TIR, 0, &in, sizeof(in), &out, sizeof(out));
	if (rc == 0)
		*tir = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

static int
create_table(struct rnic_dev *dev, uint32_t *table)
{
	struct rnic_create_flow_table_in in = { 0 };
	struct rnic_flow_table_context *context = rnic_create_flow_table_in_context(&in);
	struct rnic_object_out out;
	int rc;

	rnic_create_flow_table_in_set(&in, RNIC_CREATE_FLOW_TABLE_IN_TABLE_TYPE,
				      RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL, 0);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE, LOG_TABLE_SIZE);
	rc = rnic_cmd_exec(dev, RNIC_CMD_CREATE_FLOW_TABLE, 0, &in, sizeof(in), &out, sizeof(out));
	if (rc == 0)
		*table = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

static int
destroy_table(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_flow_table_in in = { 0 };
	struct rnic_cmd_out out;

	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_ID, table);
	return rnic_cmd_exec(dev, RNIC_CMD_DESTROY_FLOW_TABLE, 0, &in, sizeof(in), &out,
			     sizeof(out));
}

/* mask: of the destination MAC; all zero for a group that matches everything. */
static int
create_group(struct rnic_dev *dev, uint32_t table, uint32_t first, uint32_t last,
	     const uint8_t mask[6], uint32_t *group)
{
	struct rnic_create_flow_group_in in = { 0 };
	struct rnic_object_out out;
	int rc;

	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_TYPE,
				      RNIC_FLOW_TABLE_NIC_RX);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, first);
	rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX, last);
	if (memcmp(mask, no_mac, sizeof(no_mac)) != 0) {
		rnic_create_flow_group_in_set(&in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE,
					      RNIC_MATCH_OUTER_HEADERS);
		match_dmac(rnic_create_flow_group_in_match_criteria(&in), mask);
	}
	rc = rnic_cmd_exec(dev, RNIC_CMD_CREATE_FLOW_GROUP, 0, &in, sizeof(in), &out, sizeof(out));
	if (rc == 0)
		*group = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

static int
destroy_group(struct rnic_dev *dev, uint32_t table, uint32_t group)
{
	struct rnic_flow_group_in in = { 0 };
	struct rnic_cmd_out out;

	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_GROUP_ID, group);
	return rnic_cmd_exec(dev, RNIC_CMD_DESTROY_FLOW_GROUP, 0, &in, sizeof(in), &out,
			     sizeof(out));
}

static int
set_root(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_set_flow_table_root_in in = { 0 };
	struct rnic_cmd_out out;

	rnic_set_flow_table_root_in_set(&in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_TYPE,
					RNIC_FLOW_TABLE_NIC_RX);
	rnic_set_flow_table_root_in_set(&in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, table);
	return rnic_cmd_exec(dev, RNIC_CMD_SET_FLOW_TABLE_ROOT, 0, &in, sizeof(in), &out,
			     sizeof(out));
}

struct set_entry {
	struct rnic_set_fte_in in;
	struct rnic_flow_destination destination;
};
_Static_assert(sizeof(struct set_entry) == 0x348, "one destination follows the entry");

static int
add_entry(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t index, uint32_t group,
	  const uint8_t mac[6])
{
	struct set_entry set = { 0 };
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(&set.in);
	struct rnic_cmd_out out;
	int rc;

	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_TABLE_ID, steering->table);
	rnic_set_fte_in_set(&set.in, RNIC_SET_FTE_IN_FLOW_INDEX, index);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, RNIC_FLOW_ACTION_FWD_DEST);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, 1);
	match_dmac(rnic_flow_context_match_value(context), mac);
	rnic_flow_destination_set(&set.destination, RNIC_FLOW_DESTINATION_TYPE,
				  RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&set.destination, RNIC_FLOW_DESTINATION_ID, steering->tir);
	rc = rnic_cmd_exec(dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_SET_FTE_NEW, &set, sizeof(set),
			   &out, sizeof(out));
	if (rc == 0)
		steering->entries |= 1u << index;
	return rc;
}

static int
delete_entry(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t index)
{
	struct rnic_fte_in in = { 0 };
	struct rnic_cmd_out out;
	int rc;

	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_TYPE, RNIC_FLOW_TABLE_NIC_RX);
	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, steering->table);
	rnic_fte_in_set(&in, RNIC_FTE_IN_FLOW_INDEX, index);
	rc = rnic_cmd_exec(dev, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0, &in, sizeof(in), &out,
			   sizeof(out));
	if (rc == 0)
		steering->entries &= ~(1u << index);
	return rc;
}

int
rnic_steering_create(struct rnic_dev *dev, const struct rnic_rq *rq, struct rnic_steering *steering)
{
	int rc;

	*steering = (struct rnic_steering){ 0 };
	rc = create_tir(dev, rq, &steering->tir);
	if (rc != 0)
		return rc;
	rc = create_table(dev, &steering->table);
	if (rc != 0)
		goto no_table;
	rc = create_group(dev, steering->table, 0, MAC_INDEXES - 1, broadcast,
			  &steering->group_mac);
	if (rc != 0)
		goto no_group_mac;
	rc = create_group(dev, steering->table, INDEX_MULTICAST, INDEX_MULTICAST, multicast_bit,
			  &steering->group_multicast);
	if (rc != 0)
		goto no_group_multicast;
	rc = create_group(dev, steering->table, INDEX_ALL, INDEX_ALL, no_mac, &steering->group_all);
	if (rc != 0)
		goto no_group_all;
	rc = set_root(dev, steering->table);
	if (rc != 0)
		goto no_root;
	steering->up = true;
	return 0;

no_root:
	destroy_group(dev, steering->table, steering->group_all);
no_group_all:
	destroy_group(dev, steering->table, steering->group_multicast);
no_group_multicast:
	destroy_group(dev, steering->table, steering->group_mac);
no_group_mac:
	destroy_table(dev, steering->table);
no_table:
	rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIR, steering->tir);
	return rc;
}

int
rnic_steering_destroy(struct rnic_dev *dev, struct rnic_steering *steering)
{
	uint32_t index;
	int rc = 0, first_rc = 0;

	if (!steering->up)
		return 0;
#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	for (index = 0; index < 1u << LOG_TABLE_SIZE; index++)
		if (steering->entries & 1u << index)
			KEEP_FIRST(delete_entry(dev, steering, index));
	KEEP_FIRST(destroy_group(dev, steering->table, steering->group_all));
	KEEP_FIRST(destroy_group(dev, steering->table, steering->group_multicast));
	KEEP_FIRST(destroy_group(dev, steering->table, steering->group_mac));
	KEEP_FIRST(destroy_table(dev, steering->table));
	KEEP_FIRST(rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIR, steering->tir));
#undef KEEP_FIRST
	*steering = (struct rnic_steering){ 0 };
	return first_rc;
}

/* Make an entry be there, or not. */
static int
want_entry(struct rnic_dev *dev, struct rnic_steering *steering, bool wanted, uint32_t index,
	   uint32_t group, const uint8_t mac[6])
{
	const bool set = (steering->entries & 1u << index) != 0;

	if (wanted == set)
		return 0;
	return wanted ? add_entry(dev, steering, index, group, mac)
		      : delete_entry(dev, steering, index);
}

static int
set_own_mac(struct rnic_dev *dev, struct rnic_steering *steering, const uint8_t mac[6])
{
	const uint32_t current =
		steering->entries & 1u << (INDEX_OWN + 1) ? INDEX_OWN + 1 : INDEX_OWN;
	const bool set = (steering->entries & 1u << current) != 0;
	int rc;

	if (set && memcmp(mac, steering->mac, sizeof(steering->mac)) == 0)
		return 0;
	rc = add_entry(dev, steering, set ? current ^ 1 : current, steering->group_mac, mac);
	if (rc == 0 && set)
		rc = delete_entry(dev, steering, current);
	if (rc == 0)
		memcpy(steering->mac, mac, sizeof(steering->mac));
	return rc;
}

int
rnic_steering_set(struct rnic_dev *dev, struct rnic_steering *steering, const uint8_t mac[6],
		  bool promiscuous, bool allmulticast)
{
	int rc = set_own_mac(dev, steering, mac);

	if (rc == 0)
		rc = want_entry(dev, steering, true, INDEX_BROADCAST, steering->group_mac,
				broadcast);
	if (rc == 0)
		rc = want_entry(dev, steering, allmulticast, INDEX_MULTICAST,
				steering->group_multicast, multicast_bit);
	if (rc == 0)
		rc = want_entry(dev, steering, promiscuous, INDEX_ALL, steering->group_all, no_mac);
	return rc;
}
