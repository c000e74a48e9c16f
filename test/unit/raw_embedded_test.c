/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RAW_PACKET queue pairs on the embedded device: whatever it refuses leaves nothing behind, and what becomes of them when the
 * device breaks.
 */

#include "verbs.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "../e2e/rdma.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "object/cq.h"
#include "object/rq.h"
#include "prm/cmd.h"
#include "prm/wqe.h"
#include "rdma/rdma.h"
#include "rdmapmd.h"
#include "steering/steer.h"

#define ANY   RDMAPMD_VLAN_ANY
#define BYTES 4096

static const uint8_t mine[6] = { 2, 0, 0, 0, 0xaa, 1 };
static const uint8_t group[6] = { 1, 0, 0x5e, 0, 0, 1 };

struct world {
	struct unit_verbs verbs;
	struct rdmapmd_cq *cq;
	struct rdmapmd_mr *mr;
	struct rdmapmd_qp *qp;
	uint8_t *memory;
};

static int
make_deep_qp(struct world *world, uint32_t receives, struct rdmapmd_qp **qp)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RAW_PACKET,
		.send_cq = world->cq,
		.recv_cq = world->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = receives,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return rdmapmd_qp_create(world->verbs.pd, &attr, qp);
}

static int
make_qp(struct world *world, struct rdmapmd_qp **qp)
{
	return make_deep_qp(world, 16, qp);
}

static int
change(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return rdmapmd_qp_modify(
		qp, &attr, RDMAPMD_QP_STATE | (state == RDMAPMD_QPS_INIT ? RDMAPMD_QP_PORT : 0));
}

static int
setup(void **state)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 100 };
	static struct world world;

	world = (struct world){ .memory = rte_zmalloc(NULL, 2 * BYTES, 4096) };
	assert_non_null(world.memory);
	unit_verbs_open(&world.verbs);
	assert_int_equal(rdmapmd_cq_create(world.verbs.context, &attr, &world.cq), 0);
	assert_int_equal(rdmapmd_mr_reg(world.verbs.pd, world.memory, 2 * BYTES,
					RDMAPMD_ACCESS_LOCAL_WRITE, &world.mr),
			 0);
	assert_int_equal(make_qp(&world, &world.qp), 0);
	*state = &world;
	return 0;
}

static int
teardown(void **state)
{
	struct world *world = *state;

	unit_verbs_close(&world->verbs);
	rte_free(world->memory);
	return 0;
}

static int
teardown_lost(void **state)
{
	struct world *world = *state;

	unit_verbs_close_lost(&world->verbs);
	rte_free(world->memory);
	return 0;
}

static void
bring_up(struct rdmapmd_qp *qp)
{
	assert_int_equal(change(qp, RDMAPMD_QPS_INIT), 0);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTR), 0);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTS), 0);
}

static void
expect(struct world *world, uint64_t wr_id, enum rdmapmd_wc_status status)
{
	const struct rdmapmd_wc wc = rdma_wait(world->cq);

	assert_int_equal(wc.wr_id, wr_id);
	assert_string_equal(rdmapmd_wc_status_str((enum rdmapmd_wc_status)wc.status),
			    rdmapmd_wc_status_str(status));
}

static void
send_to(struct world *world, const uint8_t to[6], uint64_t wr_id)
{
	const struct rdmapmd_sge sge = { (uintptr_t)world->memory, 60, world->mr->lkey };
	const struct rdmapmd_send_wr wr = { .wr_id = wr_id,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = RDMAPMD_WR_SEND,
					    .send_flags = RDMAPMD_SEND_SIGNALED };

	memcpy(world->memory, to, 6);
	assert_int_equal(rdmapmd_post_send(world->qp, &wr, 1), 1);
}

static void
receive(struct world *world, uint64_t wr_id)
{
	const struct rdmapmd_sge sge = { (uintptr_t)world->memory + BYTES, BYTES, world->mr->lkey };

	assert_int_equal(
		rdmapmd_post_recv(world->qp, &(struct rdmapmd_recv_wr){ wr_id, &sge, 1 }, 1), 1);
}

/* ---- What the device refuses ---- */

static void
test_a_refused_create_leaves_nothing(void **state)
{
	static const uint16_t opcodes[] = { RNIC_CMD_CREATE_SQ, RNIC_CMD_CREATE_RQ,
					    RNIC_CMD_CREATE_TIR };
	struct world *world = *state;
	const uint32_t maps = world->verbs.dev->access->maps,
		       before = unit_objects(world->verbs.dev);
	struct rdmapmd_qp *qp = NULL;
	unsigned int i;

	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(world->verbs.dev, opcodes[i], RNIC_STATUS_NO_RES);
		assert_int_equal(make_qp(world, &qp), -ENOSPC);
		unit_refuse_nothing(world->verbs.dev);
		assert_null(qp);
		assert_int_equal(unit_objects(world->verbs.dev), before);
		assert_int_equal(world->verbs.dev->access->maps, maps);
	}
}

static void
test_refused_changes_of_state(void **state)
{
	struct world *world = *state;
	struct rdmapmd_qp *qp = world->qp;

	assert_int_equal(change(qp, RDMAPMD_QPS_INIT), 0);
	unit_refuse(world->verbs.dev, RNIC_CMD_MODIFY_RQ, RNIC_STATUS_NO_RES);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTR), -ENOSPC);
	assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_INIT);
	unit_refuse_nothing(world->verbs.dev);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTR), 0);
	unit_refuse(world->verbs.dev, RNIC_CMD_MODIFY_SQ, RNIC_STATUS_NO_RES);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTS), -ENOSPC);
	assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RTR);
	unit_refuse_nothing(world->verbs.dev);
	assert_int_equal(change(qp, RDMAPMD_QPS_RTS), 0);
	unit_refuse(world->verbs.dev, RNIC_CMD_QUERY_SQ, RNIC_STATUS_NO_RES);
	assert_int_equal(change(qp, RDMAPMD_QPS_RESET), -ENOSPC);
	unit_refuse_nothing(world->verbs.dev);
	assert_int_equal(change(qp, RDMAPMD_QPS_RESET), 0);
}

/* With an ethdev's table and without; an address of a VLAN, which needs a group of its own, and a group's. */
static void
test_a_refused_attach_leaves_nothing(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_CREATE_FLOW_TABLE,	   RNIC_CMD_CREATE_FLOW_GROUP,
		RNIC_CMD_SET_FLOW_TABLE_ROOT,	   RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT,
	};
	struct world *world = *state;
	struct rnic_steering steering;
	struct rnic_cq cq;
	struct rnic_rq rq;
	unsigned int i, port;
	uint32_t before;

	assert_int_equal(rnic_cq_create(world->verbs.dev, 6, world->verbs.dev->async_eq, &cq), 0);
	assert_int_equal(rnic_rq_create(world->verbs.dev, 6, 4, &cq, &rq), 0);
	for (port = 0; port < 2; port++) {
		if (port == 1)
			assert_int_equal(
				rnic_steering_create(world->verbs.dev, &rq.rqn, NULL, &steering),
				0);
		before = unit_objects(world->verbs.dev);
		for (i = 0; i < RTE_DIM(opcodes); i++) {
			unit_refuse(world->verbs.dev, opcodes[i], RNIC_STATUS_NO_RES);
			assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, ANY), -ENOSPC);
			assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, 5), -ENOSPC);
			assert_int_equal(rdmapmd_qp_attach_mac(world->qp, group, ANY), -ENOSPC);
			unit_refuse_nothing(world->verbs.dev);
			assert_int_equal(unit_objects(world->verbs.dev), before);
			assert_int_equal(world->verbs.dev->mac_count, 0);
		}
		assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, ANY), 0);
		assert_int_equal(rdmapmd_qp_attach_mac(world->qp, group, 5), 0);
		assert_int_equal(rdmapmd_qp_detach_mac(world->qp, mine, ANY), 0);
		assert_int_equal(rdmapmd_qp_detach_mac(world->qp, group, 5), 0);
		assert_int_equal(unit_objects(world->verbs.dev), before);
	}
	assert_int_equal(rnic_steering_destroy(world->verbs.dev, &steering), 0);
	assert_int_equal(rnic_rq_destroy(world->verbs.dev, &rq), 0);
	assert_int_equal(rnic_cq_destroy(world->verbs.dev, &cq), 0);
}

/* An ethdev that cannot start beside queue pairs does not take their frames away. */
static void
test_an_ethdev_that_is_refused_beside_a_queue_pair(void **state)
{
	struct world *world = *state;
	struct rnic_steering steering;
	struct rnic_cq cq;
	struct rnic_rq rq;
	uint32_t before;

	bring_up(world->qp);
	assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, ANY), 0);
	assert_int_equal(rdmapmd_qp_attach_mac(world->qp, group, ANY), 0);
	assert_int_equal(rnic_cq_create(world->verbs.dev, 6, world->verbs.dev->async_eq, &cq), 0);
	assert_int_equal(rnic_rq_create(world->verbs.dev, 6, 4, &cq, &rq), 0);
	before = unit_objects(world->verbs.dev);
	unit_refuse(world->verbs.dev, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_NO_RES);
	assert_int_equal(rnic_steering_create(world->verbs.dev, &rq.rqn, NULL, &steering), -ENOSPC);
	unit_refuse_nothing(world->verbs.dev);
	assert_int_equal(unit_objects(world->verbs.dev), before);
	receive(world, 1);
	send_to(world, mine, 2);
	/* It arrives before its sender is told. */
	expect(world, 1, RDMAPMD_WC_SUCCESS);
	expect(world, 2, RDMAPMD_WC_SUCCESS);
	/* The one that starts goes, and the last address behind it. */
	assert_int_equal(rnic_steering_create(world->verbs.dev, &rq.rqn, NULL, &steering), 0);
	assert_int_equal(rdmapmd_qp_destroy(world->qp), 0);
	assert_int_equal(rnic_steering_destroy(world->verbs.dev, &steering), 0);
	assert_int_equal(rnic_rq_destroy(world->verbs.dev, &rq), 0);
	assert_int_equal(rnic_cq_destroy(world->verbs.dev, &cq), 0);
	assert_int_equal(world->verbs.dev->mac_count, 0);
}

/* ---- A device that breaks ---- */

static void
test_a_lost_device_flushes_frames(void **state)
{
	struct world *world = *state;
	unsigned int i;

	bring_up(world->qp);
	assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, ANY), 0);
	for (i = 0; i < 3; i++)
		receive(world, 10 + i);
	assert_int_equal(softrnic_fault(unit_softrnic(world->verbs.dev), SOFTRNIC_FAULT_FATAL, 1),
			 0);
	assert_true(UNIT_COMES(atomic_load(&world->verbs.dev->dead)));
	send_to(world, mine, 1);
	expect(world, 1, RDMAPMD_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++)
		expect(world, 10 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rdmapmd_qp_state(world->qp), RDMAPMD_QPS_ERR);
	assert_int_equal(rdmapmd_qp_drain(world->qp), 0);
	assert_int_equal(rdmapmd_qp_attach_mac(world->qp, group, ANY), -EIO);
	assert_int_equal(rdmapmd_qp_detach_mac(world->qp, mine, ANY), -EIO);
}

/* Its record says more than its ring holds: the device gives the queue up, and an event of the queue pair tells. */
static void
test_a_queue_that_breaks_is_an_event_of_the_queue_pair(void **state)
{
	struct world *world = *state;
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)world->qp;
	struct pollfd wait = { .fd = rdmapmd_async_event_fd(world->verbs.context),
			       .events = POLLIN };
	struct rdmapmd_async_event event;
	struct rdmapmd_qp_attr attr;
	unsigned int receives;

	for (receives = 0; receives < 2; receives++) {
		bring_up(world->qp);
		if (receives) {
			/* Nobody looks at receives but for a frame. */
			assert_int_equal(rdmapmd_qp_attach_mac(world->qp, mine, ANY), 0);
			rnic_rq_dbrec_publish(qp->rq.wq.dbrec, 100);
			send_to(world, mine, 1);
			expect(world, 1, RDMAPMD_WC_SUCCESS);
		} else {
			rnic_sq_dbrec_publish(qp->sq.wq.dbrec, 100);
			rnic_doorbell_ring(qp->sq.wq.bf,
					   (const struct rnic_wqe_ctrl *)qp->sq.wq.ring);
		}
		do {
			assert_int_equal(poll(&wait, 1, 20000), 1);
			assert_int_equal(rdmapmd_async_event_get(world->verbs.context, &event), 0);
			assert_int_equal(rdmapmd_async_event_ack(world->verbs.context, &event), 0);
		} while (event.event_type == RDMAPMD_EVENT_PORT_ACTIVE);
		assert_int_equal(event.event_type, RDMAPMD_EVENT_QP_FATAL);
		assert_ptr_equal(event.element.qp, world->qp);
		/* Of which the device's answer, one queue in ERR, leads nowhere else. */
		assert_int_equal(rdmapmd_qp_state(world->qp), RDMAPMD_QPS_ERR);
		assert_int_equal(rdmapmd_qp_query(world->qp, &attr, NULL), 0);
		assert_int_equal(attr.qp_state, RDMAPMD_QPS_ERR);
		assert_int_equal(rdmapmd_qp_state(world->qp), RDMAPMD_QPS_ERR);
		assert_int_equal(change(world->qp, RDMAPMD_QPS_RESET), 0);
	}
	bring_up(world->qp);
	receive(world, 3);
	send_to(world, mine, 4);
	expect(world, 3, RDMAPMD_WC_SUCCESS);
	expect(world, 4, RDMAPMD_WC_SUCCESS);
}

/* RESET forgets what is posted: were it flushed, it might be more than its CQ, which is others' as well, has room for. */
static void
test_a_reset_completes_nothing(void **state)
{
	enum { RECEIVES = 256 };
	struct world *world = *state;
	struct rdmapmd_qp *deep;
	struct rdmapmd_wc wc;
	unsigned int i;

	assert_true(world->cq->cqe < RECEIVES);
	assert_int_equal(make_deep_qp(world, RECEIVES, &deep), 0);
	for (i = 0; i < 2; i++) {
		struct rdmapmd_sge sge = { (uintptr_t)world->memory, BYTES, world->mr->lkey };
		const struct rdmapmd_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		unsigned int n;

		bring_up(deep);
		for (n = 0; n < RECEIVES; n++)
			assert_int_equal(rdmapmd_post_recv(deep, &wr, 1), 1);
		assert_int_equal(
			i == 0 ? change(deep, RDMAPMD_QPS_RESET) : rdmapmd_qp_destroy(deep), 0);
		assert_int_equal(rdmapmd_cq_status(world->cq), 0);
		assert_int_equal(rdmapmd_poll_cq(world->cq, &wc, 1), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_a_refused_create_leaves_nothing),
	TEST(test_refused_changes_of_state),
	TEST(test_a_refused_attach_leaves_nothing),
	TEST(test_an_ethdev_that_is_refused_beside_a_queue_pair),
	cmocka_unit_test_setup_teardown(test_a_lost_device_flushes_frames, setup, teardown_lost),
	TEST(test_a_queue_that_breaks_is_an_event_of_the_queue_pair),
	TEST(test_a_reset_completes_nothing),
};

UNIT_MAIN("raw_embedded", tests)
