/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steering on a card that takes what its capabilities say and no more: entries that cannot be changed, and that forward to
 * one place.
 */

#include "card.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "core/cmd.h"
#include "core/dev.h"
#include "object/cq.h"
#include "object/rq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/flow.h"
#include "rdmapmd_qp.h"
#include "steering/flow.h"
#include "steering/qp_rules.h"
#include "steering/steer.h"
#include "steering/tirs.h"
#include "verbs.h"

#define ENTRIES 512 /* of all tables at a time */
#define ANY	RDMAPMD_VLAN_ANY

static const uint8_t own[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t mac[6] = { 2, 0, 0, 0, 9, 9 }, group[6] = { 1, 0, 0x5e, 0, 9, 9 };
static const uint64_t vlans[RNIC_VLAN_WORDS] = { [0] = 1 << 5 };

/* ---- The card ---- */

static struct {
	uint32_t table, index, group;
	uint8_t value[0x200];
	bool used;
} entries[ENTRIES];
static bool one_place; /* an entry forwards to */
static int refusal;    /* of an entry for two */
static bool one_root;  /* until it is destroyed */
static uint32_t root;  /* 0: none */

static const struct rnic_flow_context *
context_of(const void *set)
{
	return (const struct rnic_flow_context *)((const uint8_t *)set + 0x40);
}

/* A group's entries are found by their values: no value is there twice. */
static int
take_entry(const struct rnic_set_fte_in *in)
{
	const uint32_t table = (uint32_t)rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_TABLE_ID);
	const uint32_t of =
		(uint32_t)rnic_flow_context_get(context_of(in), RNIC_FLOW_CONTEXT_GROUP_ID);
	const uint8_t *value = (const uint8_t *)context_of(in) + 0x40;
	unsigned int i, free_one = ENTRIES;

	for (i = 0; i < ENTRIES; i++) {
		if (!entries[i].used)
			free_one = i;
		else if (entries[i].table == table && entries[i].group == of &&
			 memcmp(entries[i].value, value, sizeof(entries[i].value)) == 0)
			return -EINVAL;
	}
	assert_true(free_one < ENTRIES);
	entries[free_one].used = true;
	entries[free_one].table = table;
	entries[free_one].group = of;
	entries[free_one].index = (uint32_t)rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_FLOW_INDEX);
	memcpy(entries[free_one].value, value, sizeof(entries[free_one].value));
	return 0;
}

static void
drop_entry(const struct rnic_fte_in *in)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		if (entries[i].table == rnic_fte_in_get(in, RNIC_FTE_IN_TABLE_ID) &&
		    entries[i].index == rnic_fte_in_get(in, RNIC_FTE_IN_FLOW_INDEX))
			entries[i].used = false;
}

/* Another one does not take its place. */
static int
take_root(const struct rnic_set_flow_table_root_in *in)
{
	if (one_root && root != 0)
		return -EINVAL;
	root = (uint32_t)rnic_set_flow_table_root_in_get(in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID);
	return CARD_SENDS;
}

static int
as_a_card(const struct card_command *c)
{
	if (c->opcode == RNIC_CMD_DELETE_FLOW_TABLE_ENTRY)
		drop_entry(c->in);
	if (c->opcode == RNIC_CMD_SET_FLOW_TABLE_ROOT)
		return take_root(c->in);
	if (c->opcode == RNIC_CMD_DESTROY_FLOW_TABLE &&
	    rnic_flow_table_in_get(c->in, RNIC_FLOW_TABLE_IN_TABLE_ID) == root)
		root = 0;
	if (c->opcode != RNIC_CMD_SET_FLOW_TABLE_ENTRY)
		return CARD_SENDS;
	if (c->op_mod != RNIC_SET_FTE_NEW)
		return -EOPNOTSUPP;
	if (one_place &&
	    rnic_flow_context_get(context_of(c->in), RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE) > 1)
		return refusal;
	return take_entry(c->in);
}

/* As a ConnectX-4 Lx of firmware 14.12 says of itself. */
static void
old_caps(struct rnic_caps *caps)
{
	rnic_flow_table_props_set(rnic_flow_table_cap_nic_receive(&caps->flow_table),
				  RNIC_FLOW_TABLE_PROPS_FLOW_MODIFY_EN, 0);
	rnic_flow_table_props_set(rnic_flow_table_cap_nic_receive(&caps->flow_table),
				  RNIC_FLOW_TABLE_PROPS_MODIFY_ROOT, !one_root);
	if (!one_place)
		return;
	rnic_flow_table_cap_set(&caps->flow_table, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS, 0);
	rnic_flow_table_cap_set(&caps->flow_table, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS,
				0);
}

/* ---- The driver on it ---- */

static struct world {
	struct rnic_dev *dev;
	struct unit_receivers to;
	uint32_t tir;
	struct rnic_steering steering;
} world;

static int
setup_card(bool one, bool keeps_root)
{
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	memset(entries, 0, sizeof(entries));
	one_place = one;
	one_root = keeps_root;
	refusal = -EINVAL;
	root = 0;
	card_begin();
	card.caps = old_caps;
	card.before = as_a_card;
	w->dev = card_opened();
	unit_receivers_create(w->dev, &w->to);
	assert_int_equal(rnic_tir_create(w->dev, w->to.rqns[1], &w->tir), 0);
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	return setup_card(false, false);
}

static int
setup_one_place(void **state)
{
	(void)state;
	return setup_card(true, false);
}

static int
setup_one_root(void **state)
{
	(void)state;
	return setup_card(false, true);
}

static int
teardown(void **state)
{
	struct world *w = &world;
	unsigned int i;

	(void)state;
	assert_int_equal(rnic_steering_destroy(w->dev, &w->steering), 0);
	assert_int_equal(rnic_qp_steering_drop(w->dev, w->tir), 0);
	assert_int_equal(rnic_cmd_destroy(w->dev, RNIC_CMD_DESTROY_TIR, w->tir), 0);
	unit_receivers_destroy(w->dev, &w->to);
	card_close(w->dev);
	card_end();
	/* Nothing is left of any table. */
	for (i = 0; i < ENTRIES; i++)
		assert_false(entries[i].used);
	return 0;
}

static void
steer(const struct rnic_rss *rss)
{
	assert_int_equal(rnic_steering_create(world.dev, world.to.rqns, rss, &world.steering), 0);
	assert_int_equal(rnic_steering_set(world.dev, &world.steering, own, false, false), 0);
}

/* Of one table, or of all: 0. */
static unsigned int
entries_of(uint32_t table)
{
	unsigned int i, count = 0;

	for (i = 0; i < ENTRIES; i++)
		count += entries[i].used && (table == 0 || entries[i].table == table);
	return count;
}

static void
test_hashes_change_while_frames_arrive(void **state)
{
	struct rnic_rss other = world.to.rss;
	struct rnic_tirs *tirs = &world.steering.tirs;
	unsigned int i;

	(void)state;
	steer(&world.to.rss);
	for (i = 0; i < 3; i++) {
		/* One kind, then several. */
		other.hash[RNIC_TRAFFIC_IPV6_UDP] = RNIC_HASH_ADDRESSES;
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
		memset(other.hash, RNIC_HASH_ADDRESSES, RNIC_TRAFFIC_OTHER);
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
		assert_memory_equal(tirs->rss.hash, other.hash, sizeof(other.hash));
		assert_int_equal(entries_of(tirs->table), RNIC_TRAFFICS);
		other = world.to.rss;
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
		assert_int_equal(entries_of(tirs->table), RNIC_TRAFFICS);
	}
}

/* Whichever command is refused: what was there before is what there is, and it is not stuck. */
static void
test_hashes_that_cannot_be_changed(void **state)
{
	static const uint16_t opcodes[] = { RNIC_CMD_CREATE_FLOW_GROUP,
					    RNIC_CMD_SET_FLOW_TABLE_ENTRY,
					    RNIC_CMD_DELETE_FLOW_TABLE_ENTRY,
					    RNIC_CMD_DESTROY_FLOW_GROUP };
	struct rnic_rss other = world.to.rss;
	struct rnic_tirs *tirs = &world.steering.tirs;
	unsigned int i;

	(void)state;
	steer(&world.to.rss);
	memset(other.hash, RNIC_HASH_ADDRESSES, RNIC_TRAFFIC_OTHER);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(world.dev, opcodes[i], RNIC_STATUS_LIM);
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), -ENOSPC);
		unit_refuse_nothing(world.dev);
		assert_memory_equal(tirs->rss.hash, world.to.rss.hash, sizeof(world.to.rss.hash));
		/* The card was asked before the device refused: it has lost count. */
		card.before = NULL;
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
		assert_memory_equal(tirs->rss.hash, other.hash, sizeof(other.hash));
		assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &world.to.rss, tirs), 0);
		assert_int_equal(rnic_steering_destroy(world.dev, &world.steering), 0);
		memset(entries, 0, sizeof(entries));
		card.before = as_a_card;
		steer(&world.to.rss);
	}
}

static void
test_an_ethdev_comes_and_goes_beside_queue_pairs(void **state)
{
	struct rnic_steering *steering = &world.steering;
	unsigned int i;

	(void)state;
	assert_int_equal(rnic_qp_steering_add(world.dev, mac, ANY, world.tir, 1), 0);
	assert_int_equal(rnic_qp_steering_add(world.dev, mac, 7, world.tir, 1), 0);
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
	for (i = 0; i < 2; i++) {
		steer(NULL);
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, NULL), 0);
		/* Three addresses, the way to the ethdev, and its own address and broadcast there. */
		assert_int_equal(entries_of(0), 3 + 1 + 2);
		assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
		assert_int_equal(entries_of(0), 3);
	}
	assert_int_equal(unit_said("multicast"), 0);
}

static void
test_frames_of_a_group_go_to_one_place(void **state)
{
	struct rnic_steering *steering = &world.steering;

	(void)state;
	steer(NULL);
	assert_int_equal(rnic_qp_steering_add(world.dev, mac, ANY, world.tir, 1), 0);
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), -ENOTSUP);
	assert_int_equal(unit_said("forwards a multicast frame to one place"), 1);
	assert_int_equal(world.dev->mac_count, 1);
	assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
	/* Without the ethdev there is one place, and the ethdev comes later. */
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
	assert_int_equal(unit_said("this card forwards them to one place"), 0);
	steer(NULL);
	assert_int_equal(unit_said("this card forwards them to one place"), 1);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, NULL), 0);
	assert_int_equal(unit_said("this card forwards them to one place"), 1);
}

/* The capabilities promise two: the first refusal is what tells. */
static void
setup_unsaid(void **state, int how)
{
	teardown(state);
	setup_one_place(state);
	refusal = how;
	rnic_flow_table_cap_set(&world.dev->caps.flow_table,
				RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS, 1);
}

static void
test_frames_of_a_group_go_to_one_place_unsaid(void **state)
{
	static const int refusals[] = { -EINVAL, -EOPNOTSUPP, -EREMOTEIO };
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(refusals); i++) {
		setup_unsaid(state, refusals[i]);
		steer(NULL);
		for (k = 0; k < 2; k++) {
			assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1),
					 -ENOTSUP);
			assert_int_equal(unit_said("forwards a multicast frame to one place"),
					 k + 1);
			assert_int_equal(world.dev->mac_count, 0);
			assert_int_equal(entries_of(0), 2);
		}
		/* A port that starts is warned, and misses them alone. */
		setup_unsaid(state, refusals[i]);
		assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
		steer(NULL);
		assert_int_equal(unit_said("this card forwards them to one place"), 1);
		assert_int_equal(entries_of(0), 1 + 1 + 2);
		assert_int_equal(unit_said("failed"), 0);
	}
	/* No room is another matter, and may pass. */
	setup_unsaid(state, -ENOSPC);
	steer(NULL);
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), -ENOSPC);
	assert_int_equal(unit_said("no flow entry for an address of QP 0x1"), 1);
	one_place = false;
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
}

/* Who was there first is; the others are told, or go without. */
static void
test_a_root_that_stays(void **state)
{
	struct rnic_steering *steering = &world.steering;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		steer(&world.to.rss);
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), -ENOTSUP);
		assert_int_equal(unit_said("VLANs cannot be filtered"), i + 1);
		assert_int_equal(rnic_qp_steering_add(world.dev, mac, ANY, world.tir, 1), -ENOTSUP);
		assert_int_equal(unit_said("attached before the port starts"), i + 1);
		assert_int_equal(world.dev->mac_count, 0);
		/* It is steered as before. */
		assert_int_equal(rnic_steering_set(world.dev, steering, mac, true, true), 0);
		assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
		assert_int_equal(root, 0);
	}
}

static void
test_a_root_that_stays_is_the_queue_pairs(void **state)
{
	struct rnic_steering *steering = &world.steering;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(rnic_qp_steering_add(world.dev, mac, 7, world.tir, 1), 0);
		assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
		/* An ethdev comes, goes, and comes again: two addresses, the way to it, its own and broadcast. */
		steer(NULL);
		assert_int_equal(entries_of(0), 2 + 1 + 2);
		assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
		assert_int_equal(entries_of(0), 2);
		steer(NULL);
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), -ENOTSUP);
		/* Beside it others can be attached, and the last one may go before it. */
		assert_int_equal(rnic_qp_steering_add(world.dev, mac, ANY, world.tir, 1), 0);
		assert_int_equal(entries_of(0), 3 + 1 + 2);
		assert_int_equal(rnic_qp_steering_drop(world.dev, world.tir), 0);
		assert_int_equal(entries_of(0), 1 + 2);
		assert_int_not_equal(root, 0);
		assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
		assert_int_equal(root, 0);
	}
	assert_int_equal(unit_said("VLANs cannot be filtered"), 2);
	assert_int_equal(unit_said("failed"), 0);
}

/* What a card has no room for at one time it may have at another: the queue pair's frames come back. */
static void
test_a_root_that_stays_keeps_the_groups(void **state)
{
	struct rnic_steering *steering = &world.steering;

	(void)state;
	assert_int_equal(rnic_qp_steering_add(world.dev, group, ANY, world.tir, 1), 0);
	one_place = true;
	refusal = -ENOSPC;
	assert_int_equal(rnic_steering_create(world.dev, world.to.rqns, NULL, steering), -ENOSPC);
	assert_int_equal(entries_of(0), 1);
	one_place = false;
	steer(NULL);
	assert_int_equal(entries_of(0), 1 + 1 + 2);

	/* The ethdev goes, and there is no room for what led to it. */
	unit_refuse(world.dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_LIM);
	card.before = NULL;
	assert_int_equal(rnic_steering_destroy(world.dev, steering), -ENOSPC);
	unit_refuse_nothing(world.dev);
	/* It can be asked for again, and be given up. */
	steer(NULL);
	assert_int_equal(rnic_steering_destroy(world.dev, steering), 0);
	assert_int_equal(rnic_qp_steering_del(world.dev, group, ANY, world.tir), 0);
	memset(entries, 0, sizeof(entries)); /* the card was not asked: it has lost count */
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_hashes_change_while_frames_arrive, setup, teardown),
	cmocka_unit_test_setup_teardown(test_hashes_that_cannot_be_changed, setup, teardown),
	cmocka_unit_test_setup_teardown(test_an_ethdev_comes_and_goes_beside_queue_pairs, setup,
					teardown),
	cmocka_unit_test_setup_teardown(test_frames_of_a_group_go_to_one_place, setup_one_place,
					teardown),
	cmocka_unit_test_setup_teardown(test_frames_of_a_group_go_to_one_place_unsaid,
					setup_one_place, teardown),
	cmocka_unit_test_setup_teardown(test_a_root_that_stays, setup_one_root, teardown),
	cmocka_unit_test_setup_teardown(test_a_root_that_stays_is_the_queue_pairs, setup_one_root,
					teardown),
	cmocka_unit_test_setup_teardown(test_a_root_that_stays_keeps_the_groups, setup_one_root,
					teardown),
};

UNIT_MAIN("card_flow", tests)
