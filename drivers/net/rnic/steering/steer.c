/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering to the ethdev. Frames of queue pairs have been taken out before (qp_rules.c); without such the first table here
 * is the root.
 *
 *	VLANs (while they are filtered)          addresses                           kinds of packets (tirs.c)
 *	0 .. 4095  that 802.1Q tag               0, 1     own                        while there is RSS
 *	4096       no tag                        2        broadcast
 *	                                         8        all multicast
 *	                                         9        all frames
 *	                                         16 ..    further ones
 *
 * The own address has one of two slots, so that a change never leaves a gap; all multicast and all frames are there while
 * asked for. All entries of a table forward to the same destination: the next table, or the TIR of the one queue.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "steering/flow.h"
#include "steering/qp_rules.h"
#include "steering/steer.h"
#include "steering/tirs.h"

#define VLAN_LEVEL	2
#define LEVEL		3
#define INDEX_OWN	0
#define INDEX_BROADCAST 2
#define MAC_INDEXES	8
#define INDEX_MULTICAST 8
#define INDEX_ALL	9
#define FIXED_INDEXES	16
#define INDEX_MORE	16
#define LOG_TABLE_SIZE	(RNIC_STEERING_MACS_LOG + 1)
_Static_assert(INDEX_MORE + RNIC_STEERING_MACS <= 1u << LOG_TABLE_SIZE, "room for all");

#define LOG_VLAN_TABLE_SIZE 13
#define VLANS		    (RNIC_VLAN_WORDS * 64u)
#define INDEX_UNTAGGED	    VLANS

static const struct rnic_flow_match all_frames;
static const struct rnic_flow_match whole_mac = { .mac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
static const struct rnic_flow_match multicast_bit = { .mac = { 0x01 } };
static const struct rnic_flow_match tag_bit = { .by_vlan = true };
static const struct rnic_flow_match whole_vlan = { .by_vlan = true, .vlan_id = 0xfff };
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

/* ---- Addresses ---- */

static int
set_entry(struct rnic_dev *dev, const struct rnic_steering *steering, uint32_t index,
	  uint32_t group, const uint8_t mac[6])
{
	struct rnic_flow_entry entry = {
		.table = steering->table,
		.group = group,
		.index = index,
		.to_tir = !steering->has_tirs,
		.tir = steering->tir,
		.to_table = steering->has_tirs,
		.next_table = steering->tirs.table,
	};

	memcpy(entry.match.mac, mac, sizeof(entry.match.mac));
	return rnic_flow_entry_set(dev, &entry);
}

static int
add_entry(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t index, uint32_t group,
	  const uint8_t mac[6])
{
	int rc = set_entry(dev, steering, index, group, mac);

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

static int
create_target(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
	      struct rnic_steering *steering)
{
	steering->has_tirs = rss != NULL;
	if (rss == NULL)
		return rnic_tir_create(dev, rqns[0], &steering->tir);
	return rnic_tirs_create(dev, rqns, rss, &steering->tirs);
}

static int
destroy_target(struct rnic_dev *dev, struct rnic_steering *steering)
{
	if (steering->has_tirs)
		return rnic_tirs_destroy(dev, &steering->tirs);
	return rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIR, steering->tir);
}

int
rnic_steering_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		     struct rnic_steering *steering)
{
	int rc;

	*steering = (struct rnic_steering){ 0 };
	rc = create_target(dev, rqns, rss, steering);
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
	destroy_target(dev, steering);
	return rc;
}

static int vlans_down(struct rnic_dev *dev, struct rnic_steering *steering);

int
rnic_steering_destroy(struct rnic_dev *dev, struct rnic_steering *steering)
{
	uint32_t index;
	int rc = 0, first_rc = 0;

	if (!steering->up)
		return 0;
#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	KEEP_FIRST(rnic_qp_steering_port_down(dev));
	if (steering->has_vlans)
		KEEP_FIRST(vlans_down(dev, steering));
	KEEP_FIRST(rnic_steering_set_macs(dev, steering, NULL, 0));
	for (index = 0; index < FIXED_INDEXES; index++)
		if (steering->entries & 1u << index)
			KEEP_FIRST(delete_entry(dev, steering, index));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_all));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_multicast));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->table, steering->group_mac));
	KEEP_FIRST(rnic_flow_table_destroy(dev, steering->table));
	KEEP_FIRST(destroy_target(dev, steering));
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
	const uint32_t current = INDEX_OWN + steering->own_slot, other = current ^ 1;
	const bool set = (steering->entries & 1u << current) != 0;
	/* One that the device did not let go of when it should have. */
	int rc = want_entry(dev, steering, false, other, steering->group_mac, mac);

	if (rc != 0 || (set && memcmp(mac, steering->mac, sizeof(steering->mac)) == 0))
		return rc;
	rc = add_entry(dev, steering, set ? other : current, steering->group_mac, mac);
	if (rc != 0)
		return rc;
	rc = set ? delete_entry(dev, steering, current) : 0;
	if (rc != 0) {
		/* The old one stays, alone. */
		(void)delete_entry(dev, steering, other);
		return rc;
	}
	steering->own_slot ^= set;
	memcpy(steering->mac, mac, sizeof(steering->mac));
	return 0;
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

/* ---- Further addresses ---- */

static bool
is_set(const struct rnic_mac *mac)
{
	static const struct rnic_mac none;

	return memcmp(mac, &none, sizeof(none)) != 0;
}

static bool
has_mac(const struct rnic_mac *macs, uint32_t count, const struct rnic_mac *mac)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (memcmp(&macs[i], mac, sizeof(*mac)) == 0)
			return true;
	return false;
}

/* The group is there with the first of them. */
static int
more_macs_up(struct rnic_dev *dev, struct rnic_steering *steering)
{
	int rc;

	if (steering->has_macs)
		return 0;
	rc = rnic_flow_group_create(dev, steering->table, INDEX_MORE,
				    INDEX_MORE + RNIC_STEERING_MACS - 1, &whole_mac,
				    &steering->group_more_macs);
	steering->has_macs = rc == 0;
	return rc;
}

static int
add_mac(struct rnic_dev *dev, struct rnic_steering *steering, const struct rnic_mac *mac)
{
	uint32_t i = 0;
	int rc;

	while (i < RNIC_STEERING_MACS && is_set(&steering->macs[i]))
		i++;
	if (i == RNIC_STEERING_MACS) {
		RNIC_LOG(ERR, dev, "no room for more than %u addresses", i);
		return -ENOSPC;
	}
	rc = more_macs_up(dev, steering);
	/* The vport is asked before any table. */
	if (rc == 0)
		rc = rnic_port_add_mac(dev, mac->address);
	if (rc != 0)
		return rc;
	rc = set_entry(dev, steering, INDEX_MORE + i, steering->group_more_macs, mac->address);
	if (rc == 0)
		steering->macs[i] = *mac;
	else
		rnic_port_del_mac(dev, mac->address);
	return rc;
}

static int
delete_mac(struct rnic_dev *dev, struct rnic_steering *steering, uint32_t i)
{
	int rc = rnic_flow_entry_delete(dev, steering->table, INDEX_MORE + i);

	if (rc != 0)
		return rc;
	rc = rnic_port_del_mac(dev, steering->macs[i].address);
	steering->macs[i] = (struct rnic_mac){ 0 };
	return rc;
}

/* Those that are not in the list go. */
static int
keep_macs(struct rnic_dev *dev, struct rnic_steering *steering, const struct rnic_mac *macs,
	  uint32_t count)
{
	int rc, first_rc = 0;
	bool left = false;
	uint32_t i;

	for (i = 0; i < RNIC_STEERING_MACS; i++) {
		if (!is_set(&steering->macs[i]))
			continue;
		if (!has_mac(macs, count, &steering->macs[i])) {
			rc = delete_mac(dev, steering, i);
			first_rc = first_rc != 0 ? first_rc : rc;
		}
		left |= is_set(&steering->macs[i]);
	}
	if (left || !steering->has_macs)
		return first_rc;
	rc = rnic_flow_group_destroy(dev, steering->table, steering->group_more_macs);
	steering->has_macs = rc != 0;
	return first_rc != 0 ? first_rc : rc;
}

int
rnic_steering_set_macs(struct rnic_dev *dev, struct rnic_steering *steering,
		       const struct rnic_mac *macs, uint32_t count)
{
	struct rnic_mac before[RNIC_STEERING_MACS];
	int rc = 0;
	uint32_t i;

	memcpy(before, steering->macs, sizeof(before));
	/* New ones first: what stays in the list misses no frame. */
	for (i = 0; i < count && rc == 0; i++)
		if (!has_mac(steering->macs, RNIC_STEERING_MACS, &macs[i]))
			rc = add_mac(dev, steering, &macs[i]);
	if (rc != 0) {
		keep_macs(dev, steering, before, RNIC_STEERING_MACS);
		return rc;
	}
	return keep_macs(dev, steering, macs, count);
}

/* ---- VLANs ---- */

static int
set_vlan(struct rnic_dev *dev, const struct rnic_steering *steering, uint32_t index)
{
	const struct rnic_flow_entry entry = {
		.table = steering->vlan_table,
		.group = index == INDEX_UNTAGGED ? steering->group_untagged : steering->group_vlan,
		.index = index,
		.match = { .by_vlan = index != INDEX_UNTAGGED, .vlan_id = index % VLANS },
		.to_table = true,
		.next_table = steering->table,
	};

	return rnic_flow_entry_set(dev, &entry);
}

/* Those that are wanted and no others: NULL, none. Goes on where the device refuses to let go of one. */
static int
want_vlans(struct rnic_dev *dev, struct rnic_steering *steering, const uint64_t *vlans)
{
	uint64_t differ, bit;
	int rc = 0, first_rc = 0;
	uint32_t word, index;

	for (word = 0; word < RNIC_VLAN_WORDS; word++) {
		differ = steering->vlans[word] ^ (vlans != NULL ? vlans[word] : 0);
		for (; differ != 0; differ &= differ - 1) {
			bit = differ & -differ;
			index = word * 64 + (uint32_t)__builtin_ctzll(differ);
			if (steering->vlans[word] & bit)
				rc = rnic_flow_entry_delete(dev, steering->vlan_table, index);
			else
				rc = set_vlan(dev, steering, index);
			if (rc == 0)
				steering->vlans[word] ^= bit;
			else if (vlans != NULL)
				return rc;
			first_rc = first_rc != 0 ? first_rc : rc;
		}
	}
	return first_rc;
}

/* Nothing leads there now. Destroys as much of it as there is. */
static int
vlans_down(struct rnic_dev *dev, struct rnic_steering *steering)
{
	int rc, first_rc = want_vlans(dev, steering, NULL);

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	if (steering->untagged)
		KEEP_FIRST(rnic_flow_entry_delete(dev, steering->vlan_table, INDEX_UNTAGGED));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->vlan_table, steering->group_untagged));
	KEEP_FIRST(rnic_flow_group_destroy(dev, steering->vlan_table, steering->group_vlan));
	KEEP_FIRST(rnic_flow_table_destroy(dev, steering->vlan_table));
#undef KEEP_FIRST
	memset(steering->vlans, 0, sizeof(steering->vlans));
	steering->untagged = false;
	steering->has_vlans = false;
	return first_rc;
}

static int
vlans_up(struct rnic_dev *dev, struct rnic_steering *steering, const uint64_t *vlans)
{
	int rc =
		rnic_flow_table_create(dev, VLAN_LEVEL, LOG_VLAN_TABLE_SIZE, &steering->vlan_table);

	if (rc != 0)
		return rc;
	rc = rnic_flow_group_create(dev, steering->vlan_table, 0, VLANS - 1, &whole_vlan,
				    &steering->group_vlan);
	if (rc != 0)
		goto no_group_vlan;
	rc = rnic_flow_group_create(dev, steering->vlan_table, INDEX_UNTAGGED, INDEX_UNTAGGED,
				    &tag_bit, &steering->group_untagged);
	if (rc != 0)
		goto no_group_untagged;
	rc = set_vlan(dev, steering, INDEX_UNTAGGED);
	steering->untagged = rc == 0;
	if (rc == 0)
		rc = want_vlans(dev, steering, vlans);
	/* It is whole before frames meet it. */
	if (rc == 0)
		rc = rnic_qp_steering_port_up(dev, steering->vlan_table);
	if (rc != 0) {
		vlans_down(dev, steering);
		return rc;
	}
	steering->has_vlans = true;
	return 0;

no_group_untagged:
	rnic_flow_group_destroy(dev, steering->vlan_table, steering->group_vlan);
no_group_vlan:
	rnic_flow_table_destroy(dev, steering->vlan_table);
	return rc;
}

int
rnic_steering_set_vlans(struct rnic_dev *dev, struct rnic_steering *steering, const uint64_t *vlans)
{
	int rc;

	if (vlans != NULL)
		return steering->has_vlans ? want_vlans(dev, steering, vlans)
					   : vlans_up(dev, steering, vlans);
	if (!steering->has_vlans)
		return 0;
	rc = rnic_qp_steering_port_up(dev, steering->table);
	return rc != 0 ? rc : vlans_down(dev, steering);
}
