/* SPDX-License-Identifier: BSD-3-Clause */

/* Steering of the ethdev's frames: what a device refuses leaves what was there, and nothing else. */

#include "verbs.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "core/cmd.h"
#include "core/dev.h"
#include "object/cq.h"
#include "object/rq.h"
#include "prm/cmd.h"
#include "prm/list.h"
#include "prm/queue.h"
#include "rdmapmd_qp.h"
#include "steering/flow.h"
#include "steering/qp_rules.h"
#include "steering/steer.h"
#include "steering/tirs.h"

struct world {
	struct rnic_dev *dev;
	struct unit_receivers to;
	struct rnic_steering steering;
};
static struct world world;

static const uint8_t own[6] = { 2, 0, 0, 0, 0, 1 };
static const struct rnic_mac macs[3] = {
	{ { 2, 0, 0, 0, 1, 1 } },
	{ { 2, 0, 0, 0, 1, 2 } },
	{ { 1, 0, 0x5e, 0, 1, 3 } },
};

static int
setup(void **state)
{
	struct world *w = &world;

	if (unit_open(state) != 0)
		return -1;
	memset(w, 0, sizeof(*w));
	w->dev = *state;
	unit_receivers_create(w->dev, &w->to);
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = &world;

	assert_int_equal(rnic_steering_destroy(w->dev, &w->steering), 0);
	assert_int_equal(w->dev->mac_count, 0);
	unit_receivers_destroy(w->dev, &w->to);
	*state = w->dev;
	return unit_close(state);
}

static void
steer(const struct rnic_rss *rss)
{
	assert_int_equal(rnic_steering_create(world.dev, world.to.rqns, rss, &world.steering), 0);
	assert_int_equal(rnic_steering_set(world.dev, &world.steering, own, false, false), 0);
}

/* ---- Spreading ---- */

static void
assert_rss_is(const struct rnic_rss *rss)
{
	const struct rnic_rss *now = &world.steering.tirs.rss;

	assert_memory_equal(now->key, rss->key, sizeof(rss->key));
	assert_memory_equal(now->hash, rss->hash, sizeof(rss->hash));
	assert_memory_equal(now->reta, rss->reta, sizeof(rss->reta));
}

static void
test_each_command_of_spreading_refused(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_CREATE_RQT,	       RNIC_CMD_CREATE_TIR,
		RNIC_CMD_CREATE_FLOW_TABLE,    RNIC_CMD_CREATE_FLOW_GROUP,
		RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_CMD_SET_FLOW_TABLE_ROOT,
	};
	const uint32_t before = unit_objects(world.dev);
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(world.dev, opcodes[i], RNIC_STATUS_LIM);
		assert_int_equal(rnic_steering_create(world.dev, world.to.rqns, &world.to.rss,
						      &world.steering),
				 -ENOSPC);
		unit_refuse_nothing(world.dev);
		assert_int_equal(unit_objects(world.dev), before);
		assert_false(world.steering.up);
	}
	steer(&world.to.rss);
	assert_int_equal(rnic_steering_destroy(world.dev, &world.steering), 0);
	assert_int_equal(unit_objects(world.dev), before);
}

/* A place of the device's table of queues. */
static uint32_t
queue_at(uint32_t rqt, unsigned int place)
{
	struct rnic_object_in in = { 0 };
	struct {
		struct rnic_query_rqt_out out;
		struct rnic_rqn_entry queues[RNIC_RETA_SIZE];
	} out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, rqt);
	assert_int_equal(
		rnic_cmd_exec(world.dev, RNIC_CMD_QUERY_RQT, 0, &in, sizeof(in), &out, sizeof(out)),
		0);
	return (uint32_t)rnic_rqn_entry_get(&out.queues[place], RNIC_RQN_ENTRY_RQN);
}

/* The first bytes of the key that a TIR has. */
static uint64_t
key_of(uint32_t tir)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_tir_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, tir);
	assert_int_equal(
		rnic_cmd_exec(world.dev, RNIC_CMD_QUERY_TIR, 0, &in, sizeof(in), &out, sizeof(out)),
		0);
	return rnic_tirc_get(rnic_query_tir_out_tirc(&out), RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0);
}

static void
test_a_refused_table_of_queues_keeps_the_old_one(void **state)
{
	struct rnic_tirs *tirs = &world.steering.tirs;
	struct rnic_rss other = world.to.rss;
	unsigned int i;

	(void)state;
	steer(&world.to.rss);
	for (i = 0; i < RNIC_RETA_SIZE; i++)
		other.reta[i] = 1;
	unit_refuse(world.dev, RNIC_CMD_MODIFY_RQT, RNIC_STATUS_LIM);
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), -ENOSPC);
	unit_refuse_nothing(world.dev);
	assert_rss_is(&world.to.rss);
	assert_int_equal(queue_at(tirs->rqt, 0), world.to.rqns[0]);
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
	assert_int_equal(queue_at(tirs->rqt, 0), world.to.rqns[1]);
	assert_int_equal(queue_at(tirs->rqt, 126), world.to.rqns[1]);
	assert_int_equal(queue_at(tirs->first_rqt, 0), world.to.rqns[1]);
}

static void
test_a_refused_key_keeps_the_old_one(void **state)
{
	struct rnic_tirs *tirs = &world.steering.tirs;
	struct rnic_rss other = world.to.rss;
	unsigned int i;

	(void)state;
	steer(&world.to.rss);
	memset(other.key, 0xa5, sizeof(other.key));
	unit_refuse(world.dev, RNIC_CMD_MODIFY_TIR, RNIC_STATUS_LIM);
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), -ENOSPC);
	unit_refuse_nothing(world.dev);
	assert_rss_is(&world.to.rss);
	for (i = 1; i < RNIC_TIRS_MAX; i++)
		assert_true(key_of(tirs->numbers[i]) == UINT64_C(0x5a5a5a5a5a5a5a5a));
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
	for (i = 1; i < RNIC_TIRS_MAX; i++)
		assert_true(key_of(tirs->numbers[i]) == UINT64_C(0xa5a5a5a5a5a5a5a5));
}

static void
test_a_refused_hash_type_keeps_the_old_one(void **state)
{
	struct rnic_tirs *tirs = &world.steering.tirs;
	struct rnic_rss other = world.to.rss;

	(void)state;
	steer(&world.to.rss);
	other.hash[RNIC_TRAFFIC_IPV6_UDP] = RNIC_HASH_ADDRESSES;
	unit_refuse(world.dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_LIM);
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), -ENOSPC);
	unit_refuse_nothing(world.dev);
	assert_rss_is(&world.to.rss);
	assert_int_equal(rnic_tirs_set(world.dev, world.to.rqns, &other, tirs), 0);
	assert_rss_is(&other);
}

/* ---- Addresses ---- */

static void
test_refused_addresses_keep_the_old_ones(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_CREATE_FLOW_GROUP,
		RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT,
	};
	struct rnic_steering *steering = &world.steering;
	struct rnic_mac before[RNIC_STEERING_MACS];
	unsigned int i, had;
	uint32_t was;

	(void)state;
	steer(NULL);
	/* Where there is none yet, and where there is one. */
	for (had = 0; had < 2; had++) {
		assert_int_equal(rnic_steering_set_macs(world.dev, steering, macs, had), 0);
		was = unit_objects(world.dev);
		memcpy(before, steering->macs, sizeof(before));
		for (i = had; i < RTE_DIM(opcodes); i++) {
			unit_refuse(world.dev, opcodes[i], RNIC_STATUS_LIM);
			assert_int_equal(rnic_steering_set_macs(world.dev, steering, macs, 3),
					 -ENOSPC);
			unit_refuse_nothing(world.dev);
			assert_int_equal(unit_objects(world.dev), was);
			assert_int_equal(world.dev->mac_count, had);
			assert_memory_equal(before, steering->macs, sizeof(before));
		}
	}
	assert_int_equal(rnic_steering_set_macs(world.dev, steering, macs, 3), 0);
	assert_int_equal(world.dev->mac_count, 3);
	assert_int_equal(rnic_steering_set_macs(world.dev, steering, &macs[1], 1), 0);
	assert_int_equal(world.dev->mac_count, 1);
}

/* Where it is new there is an old one to keep; where that may not go, the new one must. */
static void
test_a_refused_own_address_keeps_the_old_one(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_DELETE_FLOW_TABLE_ENTRY,
	};
	static const uint8_t other[6] = { 2, 0, 0, 0, 0, 2 };
	struct rnic_steering *steering = &world.steering;
	uint32_t entries;
	unsigned int i;

	(void)state;
	steer(NULL);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		entries = steering->entries;
		unit_refuse(world.dev, opcodes[i], RNIC_STATUS_LIM);
		assert_int_equal(rnic_steering_set(world.dev, steering, other, false, false),
				 -ENOSPC);
		unit_refuse_nothing(world.dev);
		assert_memory_equal(steering->mac, own, sizeof(own));
		assert_int_equal(rnic_steering_set(world.dev, steering, own, false, false), 0);
		assert_int_equal(steering->entries, entries);
		/* There and back: both places are of use. */
		assert_int_equal(rnic_steering_set(world.dev, steering, other, false, false), 0);
		assert_memory_equal(steering->mac, other, sizeof(other));
		assert_int_equal(rnic_steering_set(world.dev, steering, own, false, false), 0);
		assert_int_equal(steering->entries, entries);
	}
}

/* ---- VLANs ---- */

static void
test_a_refused_filter_of_vlans_leaves_nothing(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_CREATE_FLOW_TABLE,
		RNIC_CMD_CREATE_FLOW_GROUP,
		RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_SET_FLOW_TABLE_ROOT,
	};
	const uint64_t vlans[RNIC_VLAN_WORDS] = { [0] = 1 << 5, [63] = UINT64_C(1) << 63 };
	struct rnic_steering *steering = &world.steering;
	unsigned int i;
	uint32_t was;

	(void)state;
	steer(NULL);
	was = unit_objects(world.dev);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(world.dev, opcodes[i], RNIC_STATUS_LIM);
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), -ENOSPC);
		unit_refuse_nothing(world.dev);
		assert_int_equal(unit_objects(world.dev), was);
		assert_false(steering->has_vlans);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
		assert_memory_equal(steering->vlans, vlans, sizeof(vlans));
		assert_int_equal(rnic_steering_set_vlans(world.dev, steering, NULL), 0);
		assert_int_equal(unit_objects(world.dev), was);
	}
	/* What is up goes with the rest. */
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
}

/* The way to the ethdev's tables leads through those of queue pairs. */
static void
test_vlans_are_filtered_behind_queue_pairs(void **state)
{
	const uint64_t vlans[RNIC_VLAN_WORDS] = { [0] = 1 << 5 };
	const uint8_t mac[6] = { 2, 0, 0, 0, 9, 9 }, group[6] = { 1, 0, 0x5e, 0, 9, 9 };
	struct rnic_steering *steering = &world.steering;
	uint32_t tir, was;

	(void)state;
	steer(NULL);
	assert_int_equal(rnic_tir_create(world.dev, world.to.rqns[1], &tir), 0);
	assert_int_equal(rnic_qp_steering_add(world.dev, mac, RDMAPMD_VLAN_ANY, tir, 1), 0);
	assert_int_equal(rnic_qp_steering_add(world.dev, group, RDMAPMD_VLAN_ANY, tir, 1), 0);
	was = unit_objects(world.dev);
	unit_refuse(world.dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_LIM);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), -ENOSPC);
	unit_refuse_nothing(world.dev);
	assert_int_equal(unit_objects(world.dev), was);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
	assert_int_equal(world.dev->qp_steering.port_table, steering->vlan_table);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, NULL), 0);
	assert_int_equal(world.dev->qp_steering.port_table, steering->table);
	assert_int_equal(unit_objects(world.dev), was);
	assert_int_equal(rnic_steering_set_vlans(world.dev, steering, vlans), 0);
	assert_int_equal(rnic_qp_steering_drop(world.dev, tir), 0);
	assert_int_equal(rnic_cmd_destroy(world.dev, RNIC_CMD_DESTROY_TIR, tir), 0);
}

#define STEER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	STEER_TEST(test_each_command_of_spreading_refused),
	STEER_TEST(test_a_refused_table_of_queues_keeps_the_old_one),
	STEER_TEST(test_a_refused_key_keeps_the_old_one),
	STEER_TEST(test_a_refused_hash_type_keeps_the_old_one),
	STEER_TEST(test_refused_addresses_keep_the_old_ones),
	STEER_TEST(test_a_refused_own_address_keeps_the_old_one),
	STEER_TEST(test_a_refused_filter_of_vlans_leaves_nothing),
	STEER_TEST(test_vlans_are_filtered_behind_queue_pairs),
};

UNIT_MAIN("steer", tests)
