/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering to queue pairs: while one has an address attached, a table stands in front of the ethdev's.
 *
 *	index       group                          matches
 *	0 .. 127    destination MAC, VLAN tag      addresses of queue pairs with a VLAN; the group is there with the first
 *	128 .. 254  destination MAC                ... without
 *	255         everything                     while the ethdev has a table: the rest goes there
 *
 * The lowest index wins, so what is more specific goes first, and queue pairs before the ethdev. An entry of a group address
 * goes on to the ethdev's table as well, if the card can do that (nic_rx_multi_path_tirs_fts), and has not refused it. Each entry has its queue pair's
 * number as the tag: that is what a completion of a received frame has in the place of the queue's number.
 *
 * No entry is changed where it is: not every card can do that. When the ethdev has another table, so have the queue pairs.
 *
 * Nor does every card let another table take the root's place (modify_root). On one that does not, what is the root first
 * stays that: addresses are attached before the ethdev starts, entries for the ethdev come and go in this table, which stays
 * as long as the ethdev is reached by it.
 *
 * Its lock is held for commands: an ethdev may start in one thread while another attaches.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/port.h"
#include "prm/caps.h"
#include "rdmapmd_driver.h"
#include "rdmapmd_qp.h"
#include "steering/flow.h"
#include "steering/neigh_rules.h"
#include "steering/qp_rules.h"

#define LOG_TABLE_SIZE 8
#define LEVEL	       1 /* below the ethdev's, behind that of neighbours */
#define FIRST_VLAN     0
#define FIRST_MAC      128
#define INDEX_REST     255

struct rnic_qp_rule {
	struct rnic_qp_rule *next;
	struct rnic_flow_match match;
	uint32_t index, tir, tag;
};

static const struct rnic_flow_match mac_mask = { .mac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
static const struct rnic_flow_match vlan_mask = {
	.mac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	.by_vlan = true,
	.vlan_id = 0xfff,
};
static const struct rnic_flow_match all_frames;

/* Can one entry lead to a TIR and to a table? */
static bool
forwards_to_both(const struct rnic_dev *dev)
{
	return !dev->qp_steering.one_destination &&
	       rnic_flow_table_cap_get(&dev->caps.flow_table,
				       RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS) != 0;
}

static int
rules_refuse(struct rnic_dev *dev, const char *what)
{
	RNIC_LOG(ERR, dev,
		 "this card keeps the flow table that frames meet first (no modify_root): %s",
		 what);
	return -ENOTSUP;
}

static bool
is_group(const struct rnic_flow_match *match)
{
	return (match->mac[0] & 1) != 0;
}

/* ---- Entries ---- */

static int
set_entry(struct rnic_dev *dev, struct rnic_qp_table *table, const struct rnic_flow_entry *entry)
{
	int rc = rnic_flow_entry_set(dev, entry);

	if (rc == 0)
		table->entries[entry->index / 64] |= UINT64_C(1) << entry->index % 64;
	return rc;
}

static bool
has_entry(const struct rnic_qp_table *table, uint32_t index)
{
	return (table->entries[index / 64] >> index % 64 & 1) != 0;
}

/* If it is there: of a rule whose entry the card had no room for there is none, until it is set again. */
static int
delete_entry(struct rnic_dev *dev, struct rnic_qp_table *table, uint32_t index)
{
	int rc;

	if (!has_entry(table, index))
		return 0;
	rc = rnic_flow_entry_delete(dev, table->number, index);
	if (rc == 0)
		table->entries[index / 64] &= ~(UINT64_C(1) << index % 64);
	return rc;
}

/* Not for want of room, or of time. */
static bool
is_refusal(int rc)
{
	return rnic_cmd_refused(rc) && rc != -ENOSPC && rc != -EBUSY;
}

/*
 * A card may have a capability of its own for entries with a tag and two destinations (nic_rx_flow_tag_multipath_en), which no other
 * driver looks at: one that refuses ours, and takes the same for one, is a card that forwards to one destination.
 */
static int
set_rule(struct rnic_dev *dev, struct rnic_qp_table *table, const struct rnic_qp_rule *rule)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	struct rnic_flow_entry entry = {
		.table = table->number,
		.group = rule->match.by_vlan ? table->group_vlan : table->group_mac,
		.index = rule->index,
		.match = rule->match,
		.tag = rule->tag,
		.to_tir = true,
		.tir = rule->tir,
		/* A group's frames are everybody's. */
		.to_table = is_group(&rule->match) && steering->has_port && forwards_to_both(dev),
		.next_table = steering->port_table,
	};
	int rc = set_entry(dev, table, &entry);

	/* The caller reports nothing for entries with two destinations. */
	if (entry.to_table && rc != 0 && !is_refusal(rc))
		RNIC_LOG(ERR, dev, "no flow entry for an address of QP 0x%x: %s", rule->tag,
			 strerror(-rc));
	if (!entry.to_table || !is_refusal(rc))
		return rc;
	entry.to_table = false;
	rc = set_entry(dev, table, &entry);
	steering->one_destination = rc == 0;
	return rc;
}

static int
set_rest(struct rnic_dev *dev, struct rnic_qp_table *table)
{
	const struct rnic_flow_entry entry = {
		.table = table->number,
		.group = table->group_rest,
		.index = INDEX_REST,
		.to_table = true,
		.next_table = dev->qp_steering.port_table,
	};

	return set_entry(dev, table, &entry);
}

/* ---- The table ---- */

/* The group for VLANs is there as long as it is needed: devices are quicker without. */
static int
vlans_up(struct rnic_dev *dev, struct rnic_qp_table *table)
{
	int rc = rnic_flow_group_create(dev, table->number, FIRST_VLAN, FIRST_MAC - 1, &vlan_mask,
					&table->group_vlan);

	table->has_vlans = rc == 0;
	return rc;
}

/* What is in it: the rules that there are, and the way to the ethdev, if that has a table. */
static int
rules_fill(struct rnic_dev *dev, struct rnic_qp_table *table)
{
	const struct rnic_qp_rule *rule;
	int rc = 0;

	for (rule = dev->qp_steering.rules; rule != NULL && rc == 0; rule = rule->next) {
		if (rule->match.by_vlan && !table->has_vlans)
			rc = vlans_up(dev, table);
		if (rc == 0)
			rc = set_rule(dev, table, rule);
	}
	return rc == 0 && dev->qp_steering.has_port ? set_rest(dev, table) : rc;
}

/* Whatever the device says to it. */
static int
rules_unmake(struct rnic_dev *dev, struct rnic_qp_table *table)
{
	int rc = 0, first_rc = 0;
	uint32_t index;

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	for (index = 0; index <= INDEX_REST; index++)
		KEEP_FIRST(delete_entry(dev, table, index));
	if (table->has_vlans)
		KEEP_FIRST(rnic_flow_group_destroy(dev, table->number, table->group_vlan));
	KEEP_FIRST(rnic_flow_group_destroy(dev, table->number, table->group_rest));
	KEEP_FIRST(rnic_flow_group_destroy(dev, table->number, table->group_mac));
	KEEP_FIRST(rnic_flow_table_destroy(dev, table->number));
#undef KEEP_FIRST
	*table = (struct rnic_qp_table){ 0 };
	return first_rc;
}

/* Whole, and the root: the ethdev misses nothing. */
static int
rules_make(struct rnic_dev *dev, struct rnic_qp_table *table)
{
	int rc;

	*table = (struct rnic_qp_table){ 0 };
	rc = rnic_flow_table_create(dev, LEVEL, LOG_TABLE_SIZE, &table->number);
	if (rc != 0)
		return rc;
	rc = rnic_flow_group_create(dev, table->number, FIRST_MAC, INDEX_REST - 1, &mac_mask,
				    &table->group_mac);
	if (rc != 0)
		goto no_group_mac;
	rc = rnic_flow_group_create(dev, table->number, INDEX_REST, INDEX_REST, &all_frames,
				    &table->group_rest);
	if (rc != 0)
		goto no_group_rest;
	rc = rules_fill(dev, table);
	if (rc == 0)
		rc = rnic_neigh_rules_next(dev, table->number);
	if (rc != 0)
		(void)rules_unmake(dev, table);
	return rc;

no_group_rest:
	rnic_flow_group_destroy(dev, table->number, table->group_mac);
no_group_mac:
	rnic_flow_table_destroy(dev, table->number);
	return rc;
}

static int
table_up(struct rnic_dev *dev)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	int rc = rules_make(dev, &steering->table);

	steering->up = rc == 0;
	return rc;
}

static int
table_down(struct rnic_dev *dev)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	int rc = steering->has_port ? rnic_neigh_rules_next(dev, steering->port_table)
				    : rnic_neigh_rules_no_next(dev);
	int unmake_rc;

	unmake_rc = rules_unmake(dev, &steering->table);
	steering->up = false;
	return rc != 0 ? rc : unmake_rc;
}

/*
 * Another one in its place, as rules and the ethdev's table are now. Not every card lets an entry be changed where it is
 * (flow_modify_en), and its successor beside it would be the same value twice in a group; a root is exchanged by one command.
 * A device that refuses has the old one.
 */
static int
rules_exchange(struct rnic_dev *dev)
{
	struct rnic_qp_table next;
	int rc = rules_make(dev, &next);

	if (rc != 0)
		return rc;
	/* No frame reaches it from now on: what cannot be removed is logged. */
	(void)rules_unmake(dev, &dev->qp_steering.table);
	dev->qp_steering.table = next;
	return 0;
}

/* Nothing is left behind that nobody needs. */
static int
rules_tidy(struct rnic_dev *dev)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	const struct rnic_qp_rule *rule;
	bool vlans = false;
	int rc = 0, down_rc;

	for (rule = steering->rules; rule != NULL; rule = rule->next)
		vlans |= rule->match.by_vlan;
	if (steering->up && steering->table.has_vlans && !vlans) {
		rc = rnic_flow_group_destroy(dev, steering->table.number,
					     steering->table.group_vlan);
		steering->table.has_vlans = false;
	}
	if (!steering->up || steering->rules != NULL ||
	    (steering->has_port && !rnic_flow_root_moves(dev)))
		return rc;
	down_rc = table_down(dev);
	return rc != 0 ? rc : down_rc;
}

/* ---- The ethdev comes and goes ---- */

/* Frames of a group that has a queue pair do not come to an ethdev that starts now, where a card forwards to one destination. */
static void
warn_of_groups(struct rnic_dev *dev)
{
	const struct rnic_qp_rule *rule = dev->qp_steering.rules;

	while (rule != NULL && !is_group(&rule->match))
		rule = rule->next;
	if (rule != NULL && !forwards_to_both(dev))
		RNIC_LOG(
			WARNING, dev,
			"the port does not get frames for multicast addresses that queue pairs have "
			"attached (QP 0x%x and perhaps others): this card forwards them to one place",
			rule->tag);
}

/*
 * Of a table that cannot be exchanged: the ethdev is led to, or no longer, entry by entry, so that frames for groups may be
 * missed for a moment. An entry that was missing for want of room is tried again.
 */
static int
follow_port(struct rnic_dev *dev)
{
	struct rnic_qp_table *table = &dev->qp_steering.table;
	const struct rnic_qp_rule *rule;
	int rc = 0, first_rc = 0;

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	KEEP_FIRST(delete_entry(dev, table, INDEX_REST));
	for (rule = dev->qp_steering.rules; rule != NULL; rule = rule->next) {
		if (has_entry(table, rule->index) &&
		    (!is_group(&rule->match) || !forwards_to_both(dev)))
			continue;
		KEEP_FIRST(delete_entry(dev, table, rule->index));
		if (rc == 0)
			KEEP_FIRST(set_rule(dev, table, rule));
	}
	if (dev->qp_steering.has_port)
		KEEP_FIRST(set_rest(dev, table));
#undef KEEP_FIRST
	return first_rc;
}

/* What is not a queue pair's goes to the ethdev's table; to another one than before, if it has one already. */
static int
port_up(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	const bool had_port = steering->has_port;
	const uint32_t was = steering->port_table;
	int rc;

	if (had_port && !rnic_flow_root_moves(dev))
		return rules_refuse(dev, "VLANs cannot be filtered");
	steering->has_port = true;
	steering->port_table = table;
	if (!steering->up)
		rc = rnic_neigh_rules_next(dev, table);
	else
		rc = rnic_flow_root_moves(dev) ? rules_exchange(dev) : follow_port(dev);
	if (rc != 0) {
		steering->has_port = had_port;
		steering->port_table = was;
		/* What can be: the first failure is the one that counts. */
		if (steering->up && !rnic_flow_root_moves(dev))
			(void)follow_port(dev);
	} else if (!had_port) {
		warn_of_groups(dev);
	}
	return rc;
}

static int
port_down(struct rnic_dev *dev)
{
	struct rnic_qp_steering *steering = &dev->qp_steering;
	int rc = 0, tidy_rc;

	if (!steering->has_port)
		return 0;
	steering->has_port = false;
	if (!steering->up)
		rc = rnic_neigh_rules_no_next(dev);
	else if (!rnic_flow_root_moves(dev) || rules_exchange(dev) != 0)
		rc = follow_port(dev);
	/* A table may have stayed for the ethdev alone. */
	tidy_rc = rules_tidy(dev);
	return rc != 0 ? rc : tidy_rc;
}

int
rnic_qp_steering_port_up(struct rnic_dev *dev, uint32_t table)
{
	int rc;

	pthread_mutex_lock(&dev->qp_steering.lock);
	rc = port_up(dev, table);
	pthread_mutex_unlock(&dev->qp_steering.lock);
	return rc;
}

int
rnic_qp_steering_port_down(struct rnic_dev *dev)
{
	int rc;

	pthread_mutex_lock(&dev->qp_steering.lock);
	rc = port_down(dev);
	pthread_mutex_unlock(&dev->qp_steering.lock);
	return rc;
}

/* ---- Rules ---- */

static struct rnic_flow_match
match_of(const uint8_t mac[6], uint16_t vlan_id)
{
	struct rnic_flow_match match = { 0 };

	memcpy(match.mac, mac, sizeof(match.mac));
	match.by_vlan = vlan_id != RDMAPMD_VLAN_ANY;
	match.vlan_id = match.by_vlan ? vlan_id : 0;
	return match;
}

/* The link that points to the rule; to NULL if there is none. */
static struct rnic_qp_rule **
rule_find(struct rnic_dev *dev, const struct rnic_flow_match *match)
{
	struct rnic_qp_rule **link = &dev->qp_steering.rules;

	while (*link != NULL && (memcmp((*link)->match.mac, match->mac, sizeof(match->mac)) != 0 ||
				 (*link)->match.by_vlan != match->by_vlan ||
				 (*link)->match.vlan_id != match->vlan_id))
		link = &(*link)->next;
	return link;
}

/* An index of its group that no rule has; INDEX_REST: none is left. */
static uint32_t
free_index(const struct rnic_dev *dev, bool by_vlan)
{
	const uint32_t end = by_vlan ? FIRST_MAC : INDEX_REST;
	bool taken[INDEX_REST] = { false };
	const struct rnic_qp_rule *rule;
	uint32_t index = by_vlan ? FIRST_VLAN : FIRST_MAC;

	for (rule = dev->qp_steering.rules; rule != NULL; rule = rule->next)
		taken[rule->index] = true;
	while (index < end && taken[index])
		index++;
	return index < end ? index : INDEX_REST;
}

/* Nobody has the frames of a group beside the ethdev then. */
static bool
is_the_ports(const struct rnic_dev *dev, const struct rnic_flow_match *match)
{
	return is_group(match) && dev->qp_steering.has_port && !forwards_to_both(dev);
}

static int
refuse_group(struct rnic_dev *dev)
{
	RNIC_LOG(
		ERR, dev,
		"this card forwards a multicast frame to one place: attach the address while the port is "
		"stopped, and the queue pair alone has its frames");
	return -ENOTSUP;
}

/* Called with the lock held: the device knows of it, or of nothing. */
static int
rule_install(struct rnic_dev *dev, const struct rnic_qp_rule *rule)
{
	int rc = dev->qp_steering.up ? 0 : table_up(dev);

	if (rc != 0)
		return rc;
	if (rule->match.by_vlan && !dev->qp_steering.table.has_vlans)
		rc = vlans_up(dev, &dev->qp_steering.table);
	if (rc == 0)
		rc = rnic_port_add_mac(dev, rule->match.mac);
	if (rc != 0)
		goto fail;
	rc = set_rule(dev, &dev->qp_steering.table, rule);
	if (rc != 0)
		goto no_rule;
	/* That is known only now, and the frames are the ethdev's. */
	if (is_the_ports(dev, &rule->match)) {
		(void)delete_entry(dev, &dev->qp_steering.table, rule->index);
		rc = refuse_group(dev);
		goto no_rule;
	}
	return 0;

no_rule:
	rnic_port_del_mac(dev, rule->match.mac);
fail:
	rules_tidy(dev);
	return rc;
}

static int
rule_add(struct rnic_dev *dev, const struct rnic_flow_match *match, uint32_t tir, uint32_t tag)
{
	struct rnic_qp_rule **link = rule_find(dev, match), *rule;
	const uint32_t index = free_index(dev, match->by_vlan);
	int rc;

	if (*link != NULL) {
		RNIC_LOG(ERR, dev, "QP 0x%x has the frames for this address already", (*link)->tag);
		return -EEXIST;
	}
	if (is_the_ports(dev, match))
		return refuse_group(dev);
	if (!dev->qp_steering.up && dev->qp_steering.has_port && !rnic_flow_root_moves(dev))
		return rules_refuse(dev,
				    "queue pairs' addresses are attached before the port starts");
	if (index == INDEX_REST) {
		RNIC_LOG(ERR, dev, "no room for another address of a queue pair");
		return -ENOSPC;
	}
	rule = malloc(sizeof(*rule));
	if (rule == NULL)
		return -ENOMEM;
	*rule = (struct rnic_qp_rule){ .match = *match, .index = index, .tir = tir, .tag = tag };
	rc = rule_install(dev, rule);
	if (rc != 0) {
		free(rule);
		return rc;
	}
	*link = rule;
	return 0;
}

int
rnic_qp_steering_add(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id, uint32_t tir,
		     uint32_t tag)
{
	const struct rnic_flow_match match = match_of(mac, vlan_id);
	int rc;

	pthread_mutex_lock(&dev->qp_steering.lock);
	rc = rule_add(dev, &match, tir, tag);
	pthread_mutex_unlock(&dev->qp_steering.lock);
	return rc;
}

/* Called with the lock held: out of the list, whatever the device says. */
static int
rule_forget(struct rnic_dev *dev, struct rnic_qp_rule **link)
{
	struct rnic_qp_rule *rule = *link;
	const int rc = rnic_port_del_mac(dev, rule->match.mac);

	*link = rule->next;
	free(rule);
	return rc;
}

int
rnic_qp_steering_del(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id, uint32_t tir)
{
	const struct rnic_flow_match match = match_of(mac, vlan_id);
	struct rnic_qp_rule **link;
	int rc;

	pthread_mutex_lock(&dev->qp_steering.lock);
	link = rule_find(dev, &match);
	if (*link == NULL || (*link)->tir != tir)
		rc = -ENOENT;
	else
		rc = delete_entry(dev, &dev->qp_steering.table, (*link)->index);
	/* No frame comes from here on: what cannot be removed is logged. */
	if (rc == 0) {
		rule_forget(dev, link);
		rules_tidy(dev);
	}
	pthread_mutex_unlock(&dev->qp_steering.lock);
	return rc;
}

int
rnic_qp_steering_drop(struct rnic_dev *dev, uint32_t tir)
{
	struct rnic_qp_rule **link = &dev->qp_steering.rules;
	int rc = 0, first_rc = 0;

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	pthread_mutex_lock(&dev->qp_steering.lock);
	while (*link != NULL) {
		if ((*link)->tir != tir) {
			link = &(*link)->next;
			continue;
		}
		KEEP_FIRST(delete_entry(dev, &dev->qp_steering.table, (*link)->index));
		KEEP_FIRST(rule_forget(dev, link));
	}
	KEEP_FIRST(rules_tidy(dev));
	pthread_mutex_unlock(&dev->qp_steering.lock);
#undef KEEP_FIRST
	return first_rc;
}
