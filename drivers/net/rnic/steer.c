/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering to the ethdev: one table, three groups of entries, all forwarding to one TIR. Frames of queue pairs have been
 * taken out before (steer_qp.c); without such it is the root.
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
#define LEVEL		1
#define INDEX_OWN	0
#define INDEX_BROADCAST 2
#define MAC_INDEXES	8
#define INDEX_MULTICAST 8
#define INDEX_ALL	9

static const struct rnic_flow_match all_frames;
static const struct rnic_flow_match whole_mac = { .mac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
static const struct rnic_flow_match multicast_bit = { .mac = { 0x01 } };
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static int
add_entry(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t index, uint32_t group,
	  const uint8_t mac[6])
{
	struct rnic_flow_entry entry = {
		.table = steering->table,
		.group = group,
		.index = index,
		.to_tir = true,
		.tir = steering->tir,
	};
	int rc;

	memcpy(entry.match.mac, mac, sizeof(entry.match.mac));
	rc = rnic_flow_entry_set(dev, &entry, false);
	if (rc == 0)
		steering->entries |= 1u << index;
	return rc;
}

static int
delete_entry(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t index)
{
	int rc = rnic_flow_entry_delete(dev, steering->table, index);

	if (rc == 0)
		steering->entries &= ~(1u << index);
	return rc;
}

int
rnic_steering_create(struct rnic_dev *dev, const struct rnic_rq *rq, struct rnic_steering *steering)
{
	int rc;

	*steering = (struct rnic_steering){ 0 };
	rc = rnic_tir_create(dev, rq->rqn, &steering->tir);
	if (rc != 0)
		return rc;
	rc = rnic_flow_table_create(dev, LEVEL, LOG_TABLE_SIZE, &steering->table);
	if (rc != 0)
		goto no_table;
	rc = rnic_flow_group_create(dev, steering->table, 0, MAC_INDEXES - 1, &whole_mac,
				    &steering->group_mac);
	if (rc != 0)
		goto no_group_mac;
	rc = rnic_flow_group_create(dev, steering->table, INDEX_MULTICAST, INDEX_MULTICAST,
				    &multicast_bit, &steering->group_multicast);
	if (rc != 0)
		goto no_group_multicast;
	rc = rnic_flow_group_create(dev, steering->table, INDEX_ALL, INDEX_ALL, &all_frames,
				    &steering->group_all);
	if (rc != 0)
		goto no_group_all;
	rc = rnic_qp_steering_port_up(dev, steering->table);
	if (rc != 0)
		goto no_root;
	steering->up = true;
	return 0;

no_root:
	rnic_flow_group_destroy(dev, steering->table, steering->group_all);
no_group_all:
	rnic_flow_group_destroy(dev, steering->table, steering->group_multicast);
no_group_multicast:
	rnic_flow_group_destroy(dev, steering->table, steering->group_mac);
no_group_mac:
	rnic_flow_table_destroy(dev, steering->table);
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
	KEEP_FIRST(rnic_qp_steering_port_down(dev));
	for (index = 0; index < 1u << LOG_TABLE_SIZE; index++)
		if (steering->entries & 1u << index)
			KEEP_FIRST(delete_entry(dev, steering, index));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_all));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_multicast));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_mac));
	KEEP_FIRST(rnic_flow_table_destroy(dev, steering->table));
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
				steering->group_multicast, multicast_bit.mac);
	if (rc == 0)
		rc = want_entry(dev, steering, promiscuous, INDEX_ALL, steering->group_all,
				all_frames.mac);
	return rc;
}
