/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues and steering: made, refused, recovered, and taken down again without a trace. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/cq.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/flow.h"
#include "prm/queue.h"
#include "prm/vport.h"
#include "prm/wqe.h"
#include "steering/steer.h"

struct queues {
	struct rnic_cq tx_cq, rx_cq;
	struct rnic_sq sq;
	struct rnic_rq rq;
	struct rnic_steering steering;
};

static int
make_all(struct rnic_dev *dev, struct queues *q)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	int rc;

	memset(q, 0, sizeof(*q));
	rc = rnic_cq_create(dev, 8, dev->async_eq, &q->tx_cq);
	if (rc == 0)
		rc = rnic_cq_create(dev, 9, dev->async_eq, &q->rx_cq);
	if (rc == 0)
		rc = rnic_sq_create(dev, 8, &q->tx_cq, &q->sq);
	if (rc == 0)
		rc = rnic_rq_create(dev, 9, 6, &q->rx_cq, &q->rq);
	if (rc == 0)
		rc = rnic_steering_create(dev, &q->rq.rqn, NULL, &q->steering);
	if (rc == 0)
		rc = rnic_steering_set(dev, &q->steering, mac, true, true);
	return rc;
}

static void
destroy_all(struct rnic_dev *dev, struct queues *q)
{
	assert_int_equal(rnic_steering_destroy(dev, &q->steering), 0);
	assert_int_equal(rnic_rq_destroy(dev, &q->rq), 0);
	assert_int_equal(rnic_sq_destroy(dev, &q->sq), 0);
	assert_int_equal(rnic_cq_destroy(dev, &q->rx_cq), 0);
	assert_int_equal(rnic_cq_destroy(dev, &q->tx_cq), 0);
}

struct held {
	struct softrnic_stats stats;
	struct unit_account account;
	uint32_t maps;
};

static void
held_take(struct rnic_dev *dev, struct held *held)
{
	softrnic_stats_get(unit_softrnic(dev), &held->stats);
	unit_account_take(&held->account);
	held->maps = dev->access->maps;
}

static void
held_assert_same(struct rnic_dev *dev, const struct held *before)
{
	struct softrnic_stats stats;

	softrnic_stats_get(unit_softrnic(dev), &stats);
	assert_int_equal(stats.objects, before->stats.objects);
	assert_int_equal(stats.dma_maps, before->stats.dma_maps);
	assert_int_equal(dev->access->maps, before->maps);
	unit_account_assert_same(&before->account);
}

static void
test_rings_begin_as_the_prm_says(void **state)
{
	struct rnic_dev *dev = *state;
	struct held before;
	struct queues q;
	uint32_t i;

	held_take(dev, &before);
	assert_int_equal(make_all(dev, &q), 0);
	assert_int_equal(q.rx_cq.mask, 511);
	for (i = 0; i < 512; i++)
		assert_int_equal(q.rx_cq.ring[i].op_own, 0xf1);
	assert_memory_equal(q.rx_cq.dbrec, "\0\0\0\0\0\0\0\0", 8);
	assert_memory_equal(q.sq.dbrec, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(q.sq.mask, 255);
	assert_int_equal(q.rq.mask, 511);
	assert_int_equal(q.sq.bf->kind, RNIC_BFREG_LOW_LATENCY);
	assert_int_equal((uintptr_t)q.sq.ring % 4096, 0);
	destroy_all(dev, &q);
	held_assert_same(dev, &before);
}

static void
test_every_command_refused_in_turn(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_CREATE_CQ,	      RNIC_CMD_CREATE_SQ,
		RNIC_CMD_MODIFY_SQ,	      RNIC_CMD_CREATE_RQ,
		RNIC_CMD_MODIFY_RQ,	      RNIC_CMD_CREATE_TIR,
		RNIC_CMD_CREATE_FLOW_TABLE,   RNIC_CMD_CREATE_FLOW_GROUP,
		RNIC_CMD_SET_FLOW_TABLE_ROOT, RNIC_CMD_SET_FLOW_TABLE_ENTRY,
	};
	struct rnic_dev *dev = *state;
	struct held before;
	struct queues q;
	size_t i;

	held_take(dev, &before);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(dev, opcodes[i], RNIC_STATUS_NO_RES);
		assert_int_equal(make_all(dev, &q), -ENOSPC);
		unit_refuse_nothing(dev);
		destroy_all(dev, &q);
		held_assert_same(dev, &before);
	}
}

static void
test_sizes_beyond_the_capabilities(void **state)
{
	struct rnic_dev *dev = *state;
	unsigned int max = (unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ);
	struct held before;
	struct queues q;

	memset(&q, 0, sizeof(q));
	held_take(dev, &before);
	assert_int_equal(
		rnic_cq_create(dev,
			       (unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ) +
				       1,
			       dev->async_eq, &q.rx_cq),
		-EINVAL);
	assert_int_equal(rnic_cq_create(dev, 6, dev->async_eq, &q.rx_cq), 0);
	assert_int_equal(rnic_sq_create(dev, max + 1, &q.rx_cq, &q.sq), -EINVAL);
	assert_int_equal(rnic_rq_create(dev, max + 1, 4, &q.rx_cq, &q.rq), -EINVAL);
	assert_int_equal(rnic_rq_create(dev, 6, 3, &q.rx_cq, &q.rq), -EINVAL);
	assert_int_equal(rnic_rq_create(dev, 6, 12, &q.rx_cq, &q.rq), -EINVAL);
	assert_int_equal(rnic_cq_destroy(dev, &q.rx_cq), 0);
	held_assert_same(dev, &before);
}

/* The largest rings: page lists of several mailbox blocks. */
static void
test_largest_queues(void **state)
{
	struct rnic_dev *dev = *state;
	unsigned int max = (unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ);
	struct rnic_cq cq;
	struct rnic_sq sq;
	struct rnic_rq rq;

	max = RTE_MIN(max, 15u);
	assert_int_equal(rnic_cq_create(dev, 16, dev->async_eq, &cq), 0);
	assert_int_equal(rnic_sq_create(dev, max, &cq, &sq), 0);
	assert_int_equal(rnic_rq_create(dev, max, 7, &cq, &rq), 0);
	assert_int_equal(rnic_sq_destroy(dev, &sq), 0);
	assert_int_equal(rnic_rq_destroy(dev, &rq), 0);
	assert_int_equal(rnic_cq_destroy(dev, &cq), 0);
}

static unsigned int
sq_state(struct rnic_dev *dev, uint32_t sqn)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_sq_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, sqn);
	assert_int_equal(
		rnic_cmd_exec(dev, RNIC_CMD_QUERY_SQ, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	return (unsigned int)rnic_sqc_get(rnic_query_sq_out_sqc(&out), RNIC_SQC_STATE);
}

static void
test_recovery_starts_again_at_zero(void **state)
{
	struct rnic_dev *dev = *state;
	struct queues q;

	assert_int_equal(make_all(dev, &q), 0);
	assert_int_equal(sq_state(dev, q.sq.sqn), RNIC_WQ_STATE_RDY);
	q.sq.producer = 77;
	q.rq.producer = 88;
	assert_int_equal(rnic_sq_recover(dev, &q.sq), 0);
	assert_int_equal(rnic_rq_recover(dev, &q.rq), 0);
	assert_int_equal(sq_state(dev, q.sq.sqn), RNIC_WQ_STATE_RDY);
	assert_int_equal(q.sq.producer | q.rq.producer, 0);
	assert_memory_equal(q.sq.dbrec, "\0\0\0\0\0\0\0\0", 8);
	assert_memory_equal(q.rq.dbrec, "\0\0\0\0\0\0\0\0", 8);
	destroy_all(dev, &q);
}

/* Entries of the root table, as the device has them. */
static uint32_t
entries_of_device(struct rnic_dev *dev, const struct rnic_steering *steering)
{
	uint32_t index, entries = 0;

	for (index = 0; index < 16; index++) {
		struct rnic_fte_in in = { 0 };
		struct {
			struct rnic_query_fte_out out;
			struct rnic_flow_destination destination;
		} out;

		rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, steering->table);
		rnic_fte_in_set(&in, RNIC_FTE_IN_FLOW_INDEX, index);
		if (rnic_cmd_try(dev, RNIC_CMD_QUERY_FLOW_TABLE_ENTRY, 0, &in, sizeof(in), &out,
				 sizeof(out)) == 0)
			entries |= 1u << index;
	}
	return entries;
}

static void
test_steering_entries(void **state)
{
	const uint8_t one[6] = { 2, 0, 0, 0, 0, 1 }, two[6] = { 2, 0, 0, 0, 0, 2 };
	static const struct {
		bool promiscuous, allmulticast;
		uint32_t expected; /* beside the own MAC's */
	} steps[] = {
		{ false, false, 0x004 }, { false, true, 0x104 }, { true, true, 0x304 },
		{ true, true, 0x304 },	 { true, false, 0x204 }, { false, false, 0x004 },
	};
	struct rnic_dev *dev = *state;
	struct rnic_steering *steering;
	struct queues q;
	size_t i;

	assert_int_equal(make_all(dev, &q), 0);
	steering = &q.steering;
	for (i = 0; i < RTE_DIM(steps); i++) {
		const uint8_t *mac = i % 2 ? two : one;

		assert_int_equal(rnic_steering_set(dev, steering, mac, steps[i].promiscuous,
						   steps[i].allmulticast),
				 0);
		/* The own address has exactly one of its two places. */
		assert_int_equal(steering->entries & ~3u, steps[i].expected);
		assert_int_equal(__builtin_popcount(steering->entries & 3), 1);
		assert_int_equal(entries_of_device(dev, steering), steering->entries);
		assert_memory_equal(steering->mac, mac, 6);
	}
	destroy_all(dev, &q);
}

/* An address that the device refuses leaves the old one in place. */
static void
test_a_refused_address_keeps_the_old_one(void **state)
{
	const uint8_t other[6] = { 2, 0, 0, 0, 0, 9 };
	struct rnic_dev *dev = *state;
	struct queues q;
	uint32_t entries;

	assert_int_equal(make_all(dev, &q), 0);
	entries = q.steering.entries;
	unit_refuse(dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_LIM);
	assert_int_equal(rnic_steering_set(dev, &q.steering, other, true, true), -ENOSPC);
	unit_refuse_nothing(dev);
	assert_int_equal(q.steering.entries, entries);
	assert_int_equal(entries_of_device(dev, &q.steering), entries);
	assert_int_equal(q.steering.mac[5], 1);
	destroy_all(dev, &q);
}

/* The vport's own limit, which a card holds frames to beside the port's. */
static uint64_t
vport_mtu(struct rnic_dev *dev)
{
	struct rnic_query_nic_vport_context_in in = { 0 };
	struct rnic_query_nic_vport_context_out out;

	assert_int_equal(rnic_cmd_exec(dev, RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, 0, &in, sizeof(in),
				       &out, sizeof(out)),
			 0);
	return rnic_nic_vport_context_get(rnic_query_nic_vport_context_out_nic_vport_context(&out),
					  RNIC_NIC_VPORT_CONTEXT_MTU);
}

static void
test_port(void **state)
{
	struct rnic_dev *dev = *state;
	const uint8_t mac[6] = { 2, 1, 2, 3, 4, 5 };
	uint32_t speed = 0, count = 1;
	bool up = false;

	assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
	assert_true(up);
	assert_true(speed >= 1000);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
	assert_false(up);
	assert_int_equal(speed, 0);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	assert_true(dev->max_mtu >= 9000);
	assert_int_equal(rnic_port_set_mtu(dev, dev->max_mtu), 0);
	assert_int_equal(vport_mtu(dev), dev->max_mtu + 22);
	assert_int_equal(rnic_port_set_mtu(dev, 1500), 0);
	assert_int_equal(vport_mtu(dev), 1522);
	assert_int_equal(rnic_port_set_mtu(dev, (uint16_t)(dev->max_mtu + 1)), -EINVAL);
	assert_int_equal(rnic_port_set_mac(dev, mac), 0);
	assert_memory_equal(dev->mac, mac, 6);
	assert_int_equal(rnic_port_set_promiscuous(dev, true, true), 0);
	assert_int_equal(rnic_port_set_promiscuous(dev, false, false), 0);
	assert_int_equal(rnic_q_counter_out_of_buffer(dev, &count), 0);
	assert_int_equal(count, 0);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, unit_open, unit_close)

static const struct CMUnitTest tests[] = {
	OPEN_TEST(test_rings_begin_as_the_prm_says),
	OPEN_TEST(test_every_command_refused_in_turn),
	OPEN_TEST(test_sizes_beyond_the_capabilities),
	OPEN_TEST(test_largest_queues),
	OPEN_TEST(test_recovery_starts_again_at_zero),
	OPEN_TEST(test_steering_entries),
	OPEN_TEST(test_a_refused_address_keeps_the_old_one),
	OPEN_TEST(test_port),
};

UNIT_MAIN("queue", tests)
