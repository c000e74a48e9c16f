/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering to the driver's own queue for neighbours: while that is there, a table stands in front of all others. What is not a
 * neighbour's passes through; what is goes both ways, so that an application sees every frame that it would see without.
 *
 *	index   group                            leads to
 *	0       no tag, ARP                      the TIR, and the next table
 *	1       no tag, IPv6, next header 58     the TIR, and the next table
 *	2       a tag, ARP                       the TIR, and the next table
 *	3       a tag, IPv6, next header 58      the TIR, and the next table
 *	4       everything                       the next table
 *
 * As with the tables behind it, no entry is changed where it is: when there is another next table, so there is another one here.
 * It takes a card whose root can be exchanged, and whose entries lead to a TIR and a table: others have none.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "prm/caps.h"
#include "steering/flow.h"
#include "steering/neigh_rules.h"

#define LEVEL	       0 /* below all others */
#define LOG_TABLE_SIZE 3
#define ETHERTYPE_ARP  0x0806
#define ETHERTYPE_IPV6 0x86dd
#define NEXT_ICMPV6    58

enum { INDEX_ARP, INDEX_ND, INDEX_TAGGED_ARP, INDEX_TAGGED_ND, INDEX_REST, INDEXES };
_Static_assert(INDEXES == RNIC_NEIGH_RULES, "as the struct has room for");

/* The tag is looked at: whether it is there. */
static const struct rnic_flow_match masks[INDEXES] = {
	[INDEX_ARP] = { .by_vlan = true, .ethertype = 0xffff },
	[INDEX_ND] = { .by_vlan = true, .ethertype = 0xffff, .ip_protocol = 0xff },
	[INDEX_TAGGED_ARP] = { .by_vlan = true, .ethertype = 0xffff },
	[INDEX_TAGGED_ND] = { .by_vlan = true, .ethertype = 0xffff, .ip_protocol = 0xff },
};
static const struct rnic_flow_match values[INDEXES] = {
	[INDEX_ARP] = { .ethertype = ETHERTYPE_ARP },
	[INDEX_ND] = { .ethertype = ETHERTYPE_IPV6, .ip_protocol = NEXT_ICMPV6 },
	[INDEX_TAGGED_ARP] = { .by_vlan = true, .ethertype = ETHERTYPE_ARP },
	[INDEX_TAGGED_ND] = { .by_vlan = true,
			      .ethertype = ETHERTYPE_IPV6,
			      .ip_protocol = NEXT_ICMPV6 },
};

/* What there is of it, whatever the device says to it. */
static int
table_unmake(struct rnic_dev *dev, struct rnic_neigh_rules_table *table)
{
	int rc = 0, first_rc = 0;
	uint32_t i;

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	for (i = 0; i < INDEXES; i++) {
		if (table->entries & 1u << i)
			KEEP_FIRST(rnic_flow_entry_delete(dev, table->number, i));
		if (table->has_groups & 1u << i)
			KEEP_FIRST(rnic_flow_group_destroy(dev, table->number, table->groups[i]));
	}
	KEEP_FIRST(rnic_flow_table_destroy(dev, table->number));
#undef KEEP_FIRST
	*table = (struct rnic_neigh_rules_table){ 0 };
	return first_rc;
}

static int
entry_make(struct rnic_dev *dev, struct rnic_neigh_rules_table *table, uint32_t index)
{
	const struct rnic_neigh_rules *rules = &dev->neigh_rules;
	const struct rnic_flow_entry entry = {
		.table = table->number,
		.group = table->groups[index],
		.index = index,
		.match = values[index],
		.to_tir = index != INDEX_REST,
		.tir = rules->tir,
		.to_table = rules->has_next,
		.next_table = rules->next,
	};
	int rc;

	/* What leads nowhere is not there. */
	if (!entry.to_tir && !entry.to_table)
		return 0;
	rc = rnic_flow_entry_set(dev, &entry);
	if (rc == 0)
		table->entries |= 1u << index;
	return rc;
}

/* Whole, and the root. */
static int
table_make(struct rnic_dev *dev, struct rnic_neigh_rules_table *table)
{
	uint32_t i;
	int rc;

	*table = (struct rnic_neigh_rules_table){ 0 };
	rc = rnic_flow_table_create(dev, LEVEL, LOG_TABLE_SIZE, &table->number);
	if (rc != 0)
		return rc;
	for (i = 0; i < INDEXES && rc == 0; i++) {
		rc = rnic_flow_group_create(dev, table->number, i, i, &masks[i], &table->groups[i]);
		if (rc == 0)
			table->has_groups |= 1u << i;
		if (rc == 0)
			rc = entry_make(dev, table, i);
	}
	if (rc == 0)
		rc = rnic_flow_root_set(dev, table->number);
	if (rc != 0)
		(void)table_unmake(dev, table);
	return rc;
}

/* Called with the lock held: another one, as things are now. A device that refuses has the old one. */
static int
table_exchange(struct rnic_dev *dev)
{
	struct rnic_neigh_rules_table next;
	int rc = table_make(dev, &next);

	if (rc != 0)
		return rc;
	/* No frame reaches it from now on: what cannot be removed is logged. */
	(void)table_unmake(dev, &dev->neigh_rules.table);
	dev->neigh_rules.table = next;
	return 0;
}

/* ---- It comes and goes ---- */

static int
card_check(struct rnic_dev *dev)
{
	if (rnic_flow_root_moves(dev) &&
	    rnic_flow_table_cap_get(&dev->caps.flow_table,
				    RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS) != 0)
		return 0;
	RNIC_LOG(
		NOTICE, dev,
		"no ARP and no neighbour discovery of the driver's own: this card forwards a frame to "
		"one place, and the application has them");
	return -ENOTSUP;
}

int
rnic_neigh_rules_up(struct rnic_dev *dev, uint32_t tir)
{
	struct rnic_neigh_rules *rules = &dev->neigh_rules;
	int rc = card_check(dev);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&rules->lock);
	rules->tir = tir;
	rc = table_make(dev, &rules->table);
	rules->up = rc == 0;
	pthread_mutex_unlock(&rules->lock);
	return rc;
}

int
rnic_neigh_rules_down(struct rnic_dev *dev)
{
	struct rnic_neigh_rules *rules = &dev->neigh_rules;
	int rc = 0, unmake_rc = 0;

	pthread_mutex_lock(&rules->lock);
	if (rules->up && rules->has_next)
		rc = rnic_flow_root_set(dev, rules->next);
	if (rules->up)
		unmake_rc = table_unmake(dev, &rules->table);
	rules->up = false;
	pthread_mutex_unlock(&rules->lock);
	return rc != 0 ? rc : unmake_rc;
}

int
rnic_neigh_rules_next(struct rnic_dev *dev, uint32_t table)
{
	struct rnic_neigh_rules *rules = &dev->neigh_rules;
	struct rnic_neigh_rules was;
	int rc;

	pthread_mutex_lock(&rules->lock);
	was = *rules;
	rules->has_next = true;
	rules->next = table;
	rc = rules->up ? table_exchange(dev) : rnic_flow_root_set(dev, table);
	if (rc != 0) {
		rules->has_next = was.has_next;
		rules->next = was.next;
	}
	pthread_mutex_unlock(&rules->lock);
	return rc;
}

int
rnic_neigh_rules_no_next(struct rnic_dev *dev)
{
	struct rnic_neigh_rules *rules = &dev->neigh_rules;
	int rc = 0;

	pthread_mutex_lock(&rules->lock);
	/* One that leads to a table which goes would keep it there. */
	if (rules->has_next && rules->up) {
		rules->has_next = false;
		rc = table_exchange(dev);
	}
	rules->has_next = false;
	pthread_mutex_unlock(&rules->lock);
	return rc;
}
