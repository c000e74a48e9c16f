/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each command, map and allocation of RDMA's objects in the driver fails once, the n-th of them for every n: the call that
 * needed it says so, and nothing of it is left.
 */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "bringup.h"
#include "base/tunables.h"
#include "core/bfreg.h"
#include "core/dev.h"
#include "nth.h"
#include "object/mkey.h"
#include "rdma/gid.h"
#include "rdma/rdma.h"

/* ---- One of each object, connected, changed, asked ---- */

struct world {
	struct rnic_dev *dev;
	uint8_t *memory;
	uint32_t gid;
	bool has_gid;
};

static int
make_queues(struct rdmapmd_context *context, struct rdmapmd_pd *pd, struct rdmapmd_qp *qps[2])
{
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 10, .max_sge = 2 } };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 100 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdmapmd_cq *cq;
	int rc = rdmapmd_comp_channel_create(context, &cq_attr.channel);

	if (rc == 0)
		rc = rdmapmd_cq_create(context, &cq_attr, &cq);
	if (rc != 0)
		return rc;
	attr.send_cq = attr.recv_cq = cq;
	rc = rdmapmd_qp_create(pd, &attr, &qps[0]);
	if (rc == 0)
		rc = rdmapmd_srq_create(pd, &srq_attr, &attr.srq);
	if (rc == 0)
		rc = rdmapmd_qp_create(pd, &attr, &qps[1]);
	if (rc == 0)
		rc = rdmapmd_cq_resize(cq, 300);
	return rc;
}

static int
connect_qp(struct rdmapmd_qp *qp, uint32_t gid_index)
{
	struct rdmapmd_gid_entry own;
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT, .port_num = 1 };
	int rc = rdmapmd_gid_query(qp->context, 1, gid_index, &own);

	if (rc == 0)
		rc = rdmapmd_qp_modify(qp, &attr,
				       RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
					       RDMAPMD_QP_ACCESS_FLAGS);
	attr = (struct rdmapmd_qp_attr){
		.qp_state = RDMAPMD_QPS_RTR,
		.path_mtu = RDMAPMD_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = { .dgid = own.gid, .sgid_index = (uint8_t)gid_index, .port_num = 1 },
	};
	if (rc == 0)
		rc = rdmapmd_qp_modify(qp, &attr,
				       RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU |
					       RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN |
					       RDMAPMD_QP_MAX_DEST_RD_ATOMIC |
					       RDMAPMD_QP_MIN_RNR_TIMER);
	attr.qp_state = RDMAPMD_QPS_RTS;
	if (rc == 0)
		rc = rdmapmd_qp_modify(qp, &attr,
				       RDMAPMD_QP_STATE | RDMAPMD_QP_TIMEOUT |
					       RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY |
					       RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC);
	return rc;
}

static int
use_srq(struct rdmapmd_srq *srq)
{
	struct rdmapmd_srq_attr attr = { .srq_limit = 2 };
	int rc = rdmapmd_srq_modify(srq, &attr, RDMAPMD_SRQ_LIMIT);

	return rc == 0 ? rdmapmd_srq_query(srq, &attr) : rc;
}

/* Stops at the first error. */
static int
use_all(struct world *world, struct rdmapmd_context *context)
{
	const union rdmapmd_gid ipv4 = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 } };
	struct rdmapmd_qp *qps[2];
	struct rdmapmd_qp_attr attr;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;
	int rc = rdmapmd_gid_add(context, 1, &ipv4, &world->gid);

	world->has_gid = rc == 0;
	if (rc == 0)
		rc = rdmapmd_pd_alloc(context, &pd);
	if (rc == 0)
		rc = rdmapmd_mr_reg(pd, world->memory, 8192, RDMAPMD_ACCESS_LOCAL_WRITE, &mr);
	if (rc == 0)
		rc = rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0);
	if (rc == 0)
		rc = make_queues(context, pd, qps);
	if (rc == 0)
		rc = connect_qp(qps[1], world->gid);
	if (rc == 0)
		rc = rdmapmd_qp_query(qps[1], &attr, NULL);
	if (rc == 0)
		rc = use_srq(qps[1]->srq);
	if (rc == 0 && ((struct rnic_rdma_qp *)qps[1])->sq.wq.bf->kind == RNIC_BFREG_SHARED)
		fail_msg("registers of queue pairs that failed have not come back");
	return rc;
}

/* The n-th fails (0: none); false: there were fewer. */
static bool
one_fails(struct world *world, enum unit_nth_of of, unsigned int n)
{
	struct rdmapmd_context *context;
	struct unit_account before;
	const uint32_t maps = world->dev->access->maps, keys = rnic_mkeys_count(world->dev);
	bool failed;
	int rc;

	unit_account_take(&before);
	unit_nth = (struct unit_nth){ .of = of, .left = n };
	unit_nth_counts = true;
	rc = rdmapmd_device_open(world->dev->device, &context);
	if (rc == 0) {
		rc = use_all(world, context);
		unit_nth_counts = false;
		assert_int_equal(rdmapmd_context_close(context), 0);
	}
	failed = unit_nth.failed;
	unit_nth_counts = false;
	if (world->has_gid) {
		assert_int_equal(rdmapmd_device_open(world->dev->device, &context), 0);
		assert_int_equal(rdmapmd_gid_del(context, 1, world->gid), 0);
		assert_int_equal(rdmapmd_context_close(context), 0);
	}
	world->has_gid = false;
	if (rc != (failed ? unit_nth_error(of) : 0))
		fail_msg("kind %d, number %u: %d", of, n, rc);
	assert_int_equal(world->dev->access->maps, maps);
	assert_int_equal(rnic_mkeys_count(world->dev), keys);
	assert_int_equal(world->dev->rdma->event_cqs, 0);
	assert_int_equal(rdmapmd_table_count(world->dev->rdma->cqs), 0);
	unit_account_assert_same(&before);
	return failed;
}

static unsigned int
each_in_turn(struct world *world, enum unit_nth_of of)
{
	unsigned int n = 1;

	while (one_fails(world, of, n))
		n++;
	return n - 1;
}

/* While nobody else knows the device. */
static int
take_over_maps(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "wait until initialized") == 0)
		unit_nth_take_maps(dev);
	return 0;
}

static int
open_world(void **state)
{
	const union rdmapmd_gid first = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 8 } };
	static struct world world;
	uint32_t index;
	void *dev;

	rnic_bringup_hook = take_over_maps;
	assert_int_equal(unit_open(&dev), 0);
	rnic_bringup_hook = NULL;
	world.dev = dev;
	world.memory = rte_malloc(NULL, 8192, 4096);
	assert_non_null(world.memory);
	/* What is made once and stays: the driver's own queues come with the first address. */
	assert_int_equal(rnic_gid_add(world.dev, &first, &index), 0);
	assert_int_equal(rnic_gid_del(world.dev, index), 0);
	assert_false(one_fails(&world, UNIT_COMMANDS, 0));
	*state = &world;
	return 0;
}

static int
close_world(void **state)
{
	struct world *world = *state;
	void *dev = world->dev;

	rte_free(world->memory);
	return unit_close(&dev);
}

static void
test_the_nth_command_fails(void **state)
{
	/* Made: a GID, a PD, two keys, a CQ, two QPs, an SRQ; changed and asked: the rest. */
	assert_true(each_in_turn(*state, UNIT_COMMANDS) >= 15);
}

static void
test_the_nth_map_fails(void **state)
{
	/* The region twice, four rings and another size of one. */
	assert_true(each_in_turn(*state, UNIT_MAPS) >= 6);
}

static void
test_the_nth_allocation_fails(void **state)
{
	assert_true(each_in_turn(*state, UNIT_ALLOCATIONS) >= 15);
}

static void
test_the_nth_piece_of_the_heap_fails(void **state)
{
	assert_true(each_in_turn(*state, UNIT_HEAP) >= 4);
}

/* ---- The event queue of a completion vector, which stays once it is there ---- */

static int
open_world_with_vectors(void **state)
{
	unit_tunables()->rx_vectors = 1;
	return open_world(state);
}

/* The n-th fails of what the first CQ of a vector needs. */
static int
one_fails_of_a_vector(struct rdmapmd_context *context, uint32_t vector, enum unit_nth_of of,
		      unsigned int n)
{
	const struct rdmapmd_cq_init_attr attr = { .cqe = 100, .comp_vector = vector };
	struct rdmapmd_cq *cq;
	int rc;

	unit_nth = (struct unit_nth){ .of = of, .left = n };
	unit_nth_counts = true;
	rc = rdmapmd_cq_create(context, &attr, &cq);
	unit_nth_counts = false;
	if (rc == 0)
		assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	return rc;
}

static void
each_fails_of_a_vector(struct world *world, struct rdmapmd_context *context, uint32_t vector,
		       enum unit_nth_of of)
{
	const struct rnic_rdma_vector *its = &world->dev->rdma->vectors[vector];
	const uint32_t maps = world->dev->access->maps;
	struct unit_account before;
	unsigned int n = 0;
	int rc;

	do {
		unit_account_take(&before);
		rc = one_fails_of_a_vector(context, vector, of, ++n);
		if (atomic_load(&its->eq) != NULL)
			break;
		assert_int_equal(rc, unit_nth_error(of));
		assert_int_equal(world->dev->access->maps, maps);
		unit_account_assert_same(&before);
	} while (true);
	assert_true(n >= 2);
	/* Whatever came of that call. */
	assert_int_equal(one_fails_of_a_vector(context, vector, UNIT_COMMANDS, 0), 0);
	assert_int_equal(world->dev->access->maps, maps + 1);
}

static void
test_an_event_queue_that_cannot_be_made(void **state)
{
	struct world *world = *state;
	struct rdmapmd_context *context;
	uint32_t vector = 1;
	const enum unit_nth_of kinds[] = { UNIT_COMMANDS, UNIT_MAPS, UNIT_ALLOCATIONS, UNIT_HEAP,
					   UNIT_INTERRUPTS };

	assert_int_equal(rdmapmd_device_open(world->dev->device, &context), 0);
	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		each_fails_of_a_vector(world, context, vector++, kinds[i]);
	assert_int_equal(rdmapmd_context_close(context), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

static const struct CMUnitTest tests[] = {
	TEST(test_the_nth_command_fails),
	TEST(test_the_nth_map_fails),
	TEST(test_the_nth_allocation_fails),
	TEST(test_the_nth_piece_of_the_heap_fails),
	cmocka_unit_test_setup_teardown(test_an_event_queue_that_cannot_be_made,
					open_world_with_vectors, close_world),
};

UNIT_MAIN("rdma_fail", tests)
