/* SPDX-License-Identifier: BSD-3-Clause */

/* Neighbours of two embedded devices on one cable: what there is of them when, and what becomes of look-ups. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_memory.h>

#include "base/clock.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "neigh/neigh.h"
#include "object/port.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/cmd.h"
#include "prm/queue.h"
#include "rdma/gid.h"

#define FIRST_SQ 0x1000 /* an embedded device's, and here its only one */

static const uint8_t none[16];
static const uint8_t four1[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 };
static const uint8_t four2[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 2 };
static const uint8_t nobody[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 77 };
static const uint8_t six2[16] = { 0x20, 1, 0xd, 0xb8, [15] = 2 };

static struct rnic_dev *left, *right;

static struct rnic_dev *
device_open(const char *name, const char *devargs)
{
	struct rnic_dev *dev;

	assert_int_equal(rnic_dev_open(name, devargs, SOCKET_ID_ANY, &dev), 0);
	assert_int_equal(rnic_port_use(dev), 0);
	return dev;
}

static bool
has_link(struct rnic_dev *dev)
{
	uint32_t speed;
	bool up;

	return rnic_port_link(dev, &up, &speed) == 0 && up;
}

static int
setup(void **state)
{
	(void)state;
	left = device_open("net_rnic0", "wire=pair:neigh,ip=192.0.2.1+2001:db8::1");
	right = device_open("net_rnic1", "wire=pair:neigh,ip=192.0.2.2/24+2001:db8::2/64");
	assert_true(UNIT_COMES(has_link(left) && has_link(right)));
	return 0;
}

static int
teardown(void **state)
{
	rnic_dev_close(left);
	rnic_dev_close(right);
	left = right = NULL;
	return unit_restore(state);
}

static void
assert_finds(struct rnic_dev *dev, const uint8_t gid[16], const uint8_t expected[6])
{
	uint8_t mac[6];

	assert_int_equal(rnic_neigh_resolve(dev, gid, none, 0, UINT32_MAX, mac), 0);
	assert_memory_equal(mac, expected, 6);
}

static void
test_ports_find_each_other(void **state)
{
	(void)state;
	assert_finds(left, four2, right->mac);
	assert_finds(left, six2, right->mac);
	assert_finds(right, four1, left->mac);
}

/* Else it would wait for a millisecond, in vain. */
static void
test_without_a_link_it_does_not_wait(void **state)
{
	uint8_t mac[6];

	(void)state;
	assert_int_equal(rnic_neigh_resolve(left, nobody, none, 0, 1, mac), -ETIMEDOUT);
	assert_int_equal(rnic_port_set_admin(right, false), 0);
	assert_true(UNIT_COMES(!has_link(left)));
	assert_int_equal(rnic_neigh_resolve(left, four2, none, 0, 1, mac), -EHOSTUNREACH);
	assert_int_equal(rnic_neigh_resolve(left, nobody, none, 0, UINT32_MAX, mac), -EHOSTUNREACH);
	/* What is known stays known. */
	assert_int_equal(rnic_port_set_admin(right, true), 0);
	assert_true(UNIT_COMES(has_link(left)));
	assert_true(UNIT_COMES(rnic_neigh_resolve(left, four2, none, 0, UINT32_MAX, mac) == 0));
	assert_int_equal(rnic_port_set_admin(right, false), 0);
	assert_true(UNIT_COMES(!has_link(left)));
	assert_finds(left, four2, right->mac);
}

static struct rnic_rq
receive_queue(struct rnic_dev *dev)
{
	struct rnic_query_tir_out out;

	assert_int_equal(
		rnic_cmd_query(dev, RNIC_CMD_QUERY_TIR, dev->neigh_rules.tir, &out, sizeof(out)),
		0);
	return (struct rnic_rq){ .rqn = (uint32_t)rnic_tirc_get(rnic_query_tir_out_tirc(&out),
								RNIC_TIRC_INLINE_RQN) };
}

static bool
receives(struct rnic_dev *dev, const struct rnic_rq *rq)
{
	enum rnic_wq_state state;

	assert_int_equal(rnic_rq_state(dev, rq, &state), 0);
	return state == RNIC_WQ_STATE_RDY;
}

/* What it had received before is not in its way. */
static void
test_a_receive_queue_in_error_is_mended(void **state)
{
	struct rnic_rq rq;

	(void)state;
	assert_finds(left, four2, right->mac);
	rq = receive_queue(right);
	assert_int_equal(rnic_rq_set_state(right, &rq, RNIC_WQ_STATE_ERR), 0);
	assert_true(UNIT_COMES(receives(right, &rq)));
	assert_finds(left, six2, right->mac);
}

/* The request that fails in it is lost; the next one comes. */
static void
test_a_send_queue_in_error_is_mended(void **state)
{
	const struct rnic_sq sq = { .sqn = FIRST_SQ };

	(void)state;
	assert_finds(left, four2, right->mac);
	assert_int_equal(rnic_sq_set_state(left, &sq, RNIC_WQ_STATE_ERR), 0);
	assert_finds(left, six2, right->mac);
}

/* But not as fast. */
static void
test_queues_are_mended_as_often_as_they_break(void **state)
{
	struct rnic_rq rq;
	uint64_t start;
	unsigned int i;

	(void)state;
	assert_finds(left, four2, right->mac);
	rq = receive_queue(right);
	start = rnic_now_us();
	for (i = 0; i < 20; i++) {
		assert_int_equal(rnic_rq_set_state(right, &rq, RNIC_WQ_STATE_ERR), 0);
		assert_true(UNIT_COMES(receives(right, &rq)));
	}
	assert_true(rnic_now_us() - start >= 19 * 50000);
	assert_finds(left, six2, right->mac);
}

/* It is said, and tried again once a second. */
static void
test_queues_that_are_not_mended_are_tried_again(void **state)
{
	const uint64_t start = rnic_now_us();
	struct rnic_rq rq;
	unsigned int tries;

	(void)state;
	assert_finds(left, four2, right->mac);
	rq = receive_queue(right);
	unit_listen(RTE_LOG_ERR);
	unit_refuse(right, RNIC_CMD_MODIFY_SQ, RNIC_STATUS_BAD_PARAM);
	assert_int_equal(rnic_rq_set_state(right, &rq, RNIC_WQ_STATE_ERR), 0);
	assert_true(UNIT_COMES(unit_said("their queues failed, and are not recovered") > 0));
	rte_delay_us_sleep(200000);
	tries = unit_said("MODIFY_SQ");
	assert_in_range(tries, 1, 2 + (rnic_now_us() - start) / 1000000);
	unit_refuse_nothing(right);
	assert_true(UNIT_COMES(receives(right, &rq)));
	assert_finds(left, six2, right->mac);
}

/* Nothing else wakes the control thread then. */
static void
test_tries_need_no_health_watch(void **state)
{
	uint8_t mac[6];

	(void)state;
	rnic_control_watch(left, false);
	assert_int_equal(rnic_neigh_resolve(left, nobody, none, 0, 0, mac), -EINPROGRESS);
	assert_true(UNIT_COMES(rnic_neigh_resolve(left, nobody, none, 0, 0, mac) == -EHOSTUNREACH));
	rnic_control_watch(left, true);
}

static void
test_another_mac_is_announced(void **state)
{
	static const uint8_t other[6] = { 2, 0, 0, 0, 7, 7 };
	uint8_t mac[6];

	(void)state;
	assert_finds(left, four2, right->mac);
	assert_int_equal(rnic_port_set_mac(right, other), 0);
	assert_int_equal(rnic_port_follow_mac(right), 0);
	assert_true(UNIT_COMES(rnic_neigh_resolve(left, four2, none, 0, 0, mac) == 0 &&
			       memcmp(mac, other, 6) == 0));
}

static void
test_an_address_that_went_is_not_answered(void **state)
{
	static const union rdmapmd_gid kept = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 } };
	static const union rdmapmd_gid went = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 10 } };
	static const union rdmapmd_gid next = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 11 } };
	const uint8_t *gone = went.raw;
	uint8_t mac[6];
	uint32_t index;

	(void)state;
	assert_int_equal(rnic_gid_add(right, &kept, &index), 0);
	assert_finds(left, kept.raw, right->mac);
	assert_int_equal(rnic_gid_add(right, &went, &index), 0);
	assert_int_equal(rnic_gid_del(right, index), 0);
	/* Its announcement has come before what is heard of the next one, and makes no entry. */
	assert_int_equal(rnic_gid_add(right, &next, &index), 0);
	assert_finds(left, next.raw, right->mac);
	/* Another one is answered behind it. */
	assert_int_equal(rnic_neigh_resolve(left, gone, none, 0, 0, mac), -EINPROGRESS);
	assert_finds(left, six2, right->mac);
	assert_int_equal(rnic_neigh_resolve(left, gone, none, 0, 0, mac), -EINPROGRESS);
}

/* They ask and answer there, with its tag; who has an address elsewhere does not hear of it. */
static void
test_ports_find_each_other_in_a_vlan(void **state)
{
	static const union rdmapmd_gid here = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 20 } };
	static const union rdmapmd_gid there = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 21 } };
	static const union rdmapmd_gid here6 = { { 0x20, 1, 0xd, 0xb8, [15] = 20 } };
	static const union rdmapmd_gid there6 = { { 0x20, 1, 0xd, 0xb8, [15] = 21 } };
	uint8_t mac[6];
	uint32_t index;

	(void)state;
	assert_int_equal(rnic_gid_add_vlan(left, &here, 5, &index), 0);
	assert_int_equal(rnic_gid_add_vlan(right, &there, 5, &index), 0);
	assert_int_equal(rnic_gid_add_vlan(left, &here6, 5, &index), 0);
	assert_int_equal(rnic_gid_add_vlan(right, &there6, 5, &index), 0);
	assert_int_equal(rnic_neigh_resolve(left, there.raw, none, 5, UINT32_MAX, mac), 0);
	assert_memory_equal(mac, right->mac, 6);
	assert_int_equal(rnic_neigh_resolve(left, there6.raw, none, 5, UINT32_MAX, mac), 0);
	assert_memory_equal(mac, right->mac, 6);
	/* Each answer has come before this one, and there is none. */
	assert_int_equal(rnic_neigh_resolve(left, there.raw, none, 0, 0, mac), -EINPROGRESS);
	assert_int_equal(rnic_neigh_resolve(left, four2, none, 5, 0, mac), -EINPROGRESS);
	assert_finds(left, four2, right->mac);
	assert_int_equal(rnic_neigh_resolve(left, there.raw, none, 0, 0, mac), -EINPROGRESS);
	assert_int_equal(rnic_neigh_resolve(left, four2, none, 5, 0, mac), -EINPROGRESS);
}

/* ---- Alone ---- */

static void
test_a_port_for_ethernet_has_none_of_it(void **state)
{
	const union rdmapmd_gid gid = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };
	struct rnic_dev *dev = device_open(UNIT_DEVICE, "");
	uint32_t index;

	(void)state;
	assert_false(dev->neigh_rules.up);
	assert_int_equal(rnic_gid_add(dev, &gid, &index), 0);
	assert_true(dev->neigh_rules.up);
	rnic_dev_close(dev);
	/* Who looks for an address needs it, too. */
	dev = device_open(UNIT_DEVICE, "");
	(void)rnic_neigh_resolve(dev, nobody, none, 0, 0, (uint8_t[6]){ 0 });
	assert_true(dev->neigh_rules.up);
	rnic_dev_close(dev);
}

static void
test_a_card_that_forwards_to_one_place_resolves_none(void **state)
{
	struct rnic_dev *dev = device_open(UNIT_DEVICE, "like=cx4lx,ip=192.0.2.1");
	uint8_t mac[6];

	(void)state;
	assert_false(dev->neigh_rules.up);
	assert_int_equal(rnic_neigh_resolve(dev, four2, none, 0, UINT32_MAX, mac), -EHOSTUNREACH);
	rnic_dev_close(dev);
}

/* The port has its address all the same. */
static void
test_a_device_that_refuses_has_none_of_it(void **state)
{
	static const uint16_t commands[] = {
		RNIC_CMD_CREATE_MKEY,	      RNIC_CMD_CREATE_CQ,
		RNIC_CMD_CREATE_SQ,	      RNIC_CMD_MODIFY_SQ,
		RNIC_CMD_CREATE_RQ,	      RNIC_CMD_MODIFY_RQ,
		RNIC_CMD_CREATE_TIR,	      RNIC_CMD_CREATE_FLOW_TABLE,
		RNIC_CMD_CREATE_FLOW_GROUP,   RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_SET_FLOW_TABLE_ROOT,
	};
	const union rdmapmd_gid gid = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };
	struct rnic_dev *dev;
	uint32_t index, objects;
	uint8_t mac[6];
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(commands); i++) {
		dev = device_open(UNIT_DEVICE, "");
		objects = unit_objects(dev);
		unit_refuse(dev, commands[i], RNIC_STATUS_BAD_PARAM);
		assert_int_equal(rnic_gid_add(dev, &gid, &index), 0);
		assert_false(dev->neigh_rules.up);
		assert_int_equal(unit_objects(dev), objects);
		assert_int_equal(rnic_neigh_resolve(dev, four2, none, 0, UINT32_MAX, mac),
				 -EHOSTUNREACH);
		unit_refuse_nothing(dev);
		rnic_dev_close(dev);
	}
}

static void
test_all_is_given_back(void **state)
{
	struct unit_account before;

	/* What a first device leaves behind for others is there already. */
	setup(state);
	teardown(state);
	unit_account_take(&before);
	setup(state);
	assert_finds(left, four2, right->mac);
	teardown(state);
	unit_account_assert_same(&before);
}

#define PAIR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	PAIR_TEST(test_ports_find_each_other),
	PAIR_TEST(test_without_a_link_it_does_not_wait),
	PAIR_TEST(test_a_receive_queue_in_error_is_mended),
	PAIR_TEST(test_a_send_queue_in_error_is_mended),
	PAIR_TEST(test_queues_are_mended_as_often_as_they_break),
	PAIR_TEST(test_queues_that_are_not_mended_are_tried_again),
	PAIR_TEST(test_tries_need_no_health_watch),
	PAIR_TEST(test_another_mac_is_announced),
	PAIR_TEST(test_an_address_that_went_is_not_answered),
	PAIR_TEST(test_ports_find_each_other_in_a_vlan),
	UNIT_TEST(test_a_port_for_ethernet_has_none_of_it),
	UNIT_TEST(test_a_card_that_forwards_to_one_place_resolves_none),
	UNIT_TEST(test_a_device_that_refuses_has_none_of_it),
	UNIT_TEST(test_all_is_given_back),
};

UNIT_MAIN("neigh", tests)
