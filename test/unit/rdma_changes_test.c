/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Changes of queue pairs that do not leave their state, and events that follow from what a peer or a program does: by
 * library, driver and embedded device together.
 */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "../e2e/rdma.h"
#include "core/doorbell.h"
#include "rdma/rdma.h"

#define READ  RDMAPMD_ACCESS_REMOTE_READ
#define WRITE (RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_WRITE)

struct world {
	void *dev;
	struct rdma_pair pair;
	struct rdmapmd_qp *talks, *listens;
};

static int
open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};

	assert_non_null(world);
	assert_int_equal(unit_open(&world->dev), 0);
	rdma_open(&world->pair, &(const struct rdma_conf){ .srq = true });
	attr.send_cq = attr.recv_cq = world->pair.cq[0];
	assert_int_equal(rdmapmd_qp_create(world->pair.pd, &attr, &world->talks), 0);
	assert_int_equal(rdmapmd_qp_create(world->pair.pd, &attr, &world->listens), 0);
	*state = world;
	return 0;
}

static int
close_world(void **state)
{
	struct world *world = *state;

	assert_int_equal(rdmapmd_qp_destroy(world->talks), 0);
	assert_int_equal(rdmapmd_qp_destroy(world->listens), 0);
	rdma_close(&world->pair);
	rdma_free(&world->pair);
	assert_int_equal(unit_close(&world->dev), 0);
	free(world);
	return 0;
}

/* A WRITE of the one that talks ends like this. */
static void
write_ends(struct world *world, enum rdmapmd_wc_status status)
{
	const struct rdmapmd_sge sge = rdma_sge(&world->pair, 0, 8);
	const struct rdmapmd_send_wr wr =
		rdma_request(&world->pair, RDMAPMD_WR_RDMA_WRITE, 1, &sge);

	rdma_post(world->talks, &wr);
	rdma_expect_status(world->pair.cq[0], 1, status);
}

/* Takes the next event: is it of that kind? */
static bool
next_is(struct world *world, enum rdmapmd_event_type type, struct rdmapmd_async_event *event)
{
	struct rdmapmd_context *context = world->pair.context;

	if (rdmapmd_async_event_get(context, event) != 0)
		return false;
	assert_int_equal(rdmapmd_async_event_ack(context, event), 0);
	return event->event_type == type;
}

/* The event must come; others may come before it. */
static struct rdmapmd_async_event
expect_event(struct world *world, enum rdmapmd_event_type type)
{
	struct rdmapmd_async_event event;

	if (!UNIT_COMES(next_is(world, type, &event)))
		fail_msg("no event \"%s\"", rdmapmd_event_type_str(type));
	return event;
}

/* ---- Changes ---- */

static void
change_access(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state, uint32_t access)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state, .qp_access_flags = access };

	assert_int_equal(rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(rdmapmd_qp_state(qp), state);
}

/* From the one to the other in that state, where it is not the state that changes. */
static void
access_changes_in(struct world *world, enum rdmapmd_qp_state state, uint32_t from, uint32_t to)
{
	const struct rdma_conf rts = { .access = from };
	const struct rdma_conf init = { .access = from, .up_to = RDMAPMD_QPS_INIT };
	const struct rdma_conf again = { .access = to };

	rdma_to(world->talks, RDMAPMD_QPS_RESET);
	rdma_to(world->listens, RDMAPMD_QPS_RESET);
	rdma_connect(world->talks, world->listens, &rts);
	if (state == RDMAPMD_QPS_INIT) {
		rdma_connect(world->listens, world->talks, &init);
		/* The first step of it is from INIT to INIT. */
		rdma_connect(world->listens, world->talks, &again);
	} else {
		rdma_connect(world->listens, world->talks, &rts);
		if (state == RDMAPMD_QPS_SQD)
			rdma_to(world->listens, RDMAPMD_QPS_SQD);
		if (from == WRITE)
			write_ends(world, RDMAPMD_WC_SUCCESS);
		change_access(world->listens, state, to);
	}
	write_ends(world, to == WRITE ? RDMAPMD_WC_SUCCESS : RDMAPMD_WC_REM_INV_REQ_ERR);
}

static void
test_access_changes_from_init_to_init(void **state)
{
	access_changes_in(*state, RDMAPMD_QPS_INIT, READ, WRITE);
	access_changes_in(*state, RDMAPMD_QPS_INIT, WRITE, READ);
}

static void
test_access_changes_from_rts_to_rts(void **state)
{
	access_changes_in(*state, RDMAPMD_QPS_RTS, READ, WRITE);
	access_changes_in(*state, RDMAPMD_QPS_RTS, WRITE, READ);
}

static void
test_access_changes_from_sqd_to_sqd(void **state)
{
	access_changes_in(*state, RDMAPMD_QPS_SQD, READ, WRITE);
	access_changes_in(*state, RDMAPMD_QPS_SQD, WRITE, READ);
}

/* ---- Events ---- */

static void
test_a_packet_in_rtr_is_told(void **state)
{
	const struct rdma_conf rtr = { .up_to = RDMAPMD_QPS_RTR }, rts = { 0 };
	struct world *world = *state;

	rdma_connect(world->listens, world->talks, &rtr);
	rdma_connect(world->talks, world->listens, &rts);
	write_ends(world, RDMAPMD_WC_SUCCESS);
	assert_ptr_equal(expect_event(world, RDMAPMD_EVENT_COMM_EST).element.qp, world->listens);
	assert_int_equal(rdmapmd_qp_state(world->listens), RDMAPMD_QPS_RTR);
}

/* One that comes has packets, one that went has none. */
static void
test_addresses_that_come_and_go_are_told(void **state)
{
	static const union rdmapmd_gid address = {
		.raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 7 },
	};
	struct world *world = *state;
	struct rdmapmd_context *context = world->pair.context;
	struct rdma_conf conf = { 0 };
	struct rdmapmd_gid_entry entry;

	assert_int_equal(rdmapmd_gid_add(context, 1, &address, &conf.sgid_index), 0);
	assert_int_equal(expect_event(world, RDMAPMD_EVENT_GID_CHANGE).element.port_num, 1);
	rdma_connect(world->talks, world->listens, &conf);
	rdma_connect(world->listens, world->talks, &conf);
	write_ends(world, RDMAPMD_WC_SUCCESS);
	rdma_to(world->talks, RDMAPMD_QPS_RESET);
	rdma_to(world->listens, RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_gid_del(context, 1, conf.sgid_index), 0);
	assert_int_equal(expect_event(world, RDMAPMD_EVENT_GID_CHANGE).element.port_num, 1);
	assert_true(rdmapmd_gid_query(context, 1, conf.sgid_index, &entry) != 0 ||
		    memcmp(&entry.gid, &address, sizeof(address)) != 0);
}

/* Its record counts more than its ring has: nothing can be taken from it any more. */
static void
test_a_broken_srq_is_told(void **state)
{
	struct world *world = *state;
	struct rdma_pair *pair = &world->pair;
	struct rnic_rdma_srq *srq = container_of(pair->srq, struct rnic_rdma_srq, srq);
	const struct rdmapmd_sge sge = rdma_sge(pair, 0, 8);
	const struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_SEND, 2, &sge);

	rnic_dbrec_publish(srq->dbrec, srq->mask + 2);
	rdma_post(pair->qp[0], &wr);
	assert_ptr_equal(expect_event(world, RDMAPMD_EVENT_SRQ_ERR).element.srq, pair->srq);
	/* The peer gets nothing out of it either. */
	assert_int_not_equal(rdma_wait(pair->cq[0]).status, RDMAPMD_WC_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

static const struct CMUnitTest tests[] = {
	TEST(test_access_changes_from_init_to_init),	TEST(test_access_changes_from_rts_to_rts),
	TEST(test_access_changes_from_sqd_to_sqd),	TEST(test_a_packet_in_rtr_is_told),
	TEST(test_addresses_that_come_and_go_are_told), TEST(test_a_broken_srq_is_told),
};

UNIT_MAIN("rdma_changes", tests)
