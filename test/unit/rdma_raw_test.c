/* SPDX-License-Identifier: BSD-3-Clause */

/* RAW_PACKET queue pairs as the library sees them: whom it lets make them, their states, their addresses. */

#include "rdma_fake.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };

static struct rdmapmd_qp_init_attr
raw_attr(const struct fake_set *set)
{
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);

	attr.qp_type = RDMAPMD_QPT_RAW_PACKET;
	attr.srq = NULL;
	return attr;
}

static int
setup(void **state)
{
	struct rdmapmd_qp_init_attr attr;
	struct fake_set *set;

	fake_setup(state);
	set = *state;
	attr = raw_attr(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->own), 0);
	return 0;
}

static int
change(struct rdmapmd_qp *qp, enum rdmapmd_qp_state to, unsigned int mask)
{
	const struct rdmapmd_qp_attr attr = {
		.qp_state = to,
		.cur_qp_state = (enum rdmapmd_qp_state)rdmapmd_qp_state(qp),
		.port_num = 1,
		.path_mtu = RDMAPMD_MTU_1024,
	};

	return rdmapmd_qp_modify(qp, &attr, mask | RDMAPMD_QP_STATE);
}

/* ---- Create ---- */

static void
test_what_can_be_made(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr = raw_attr(set);
	struct rdmapmd_qp *qp;

	attr.srq = set->srq;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -ENOTSUP);
	attr.srq = NULL;
	attr.cap.max_recv_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	attr = raw_attr(set);
	attr.cap.max_send_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	attr.cap.max_recv_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -EINVAL);
	attr = raw_attr(set);
	set->fake->ops.qp_attach_mac = NULL;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -ENOTSUP);
}

/* ---- States ---- */

#define NONE 0xffffffffu /* no such change */
#define PORT RDMAPMD_QP_PORT

/* What each change needs; it takes nothing else. RESET and ERR are reached from everywhere. */
static const unsigned int needs[][RDMAPMD_QPS_ERR + 1] = {
	/*                     RESET INIT  RTR   RTS   SQD   SQE   ERR */
	[RDMAPMD_QPS_RESET] = { 0, PORT, NONE, NONE, NONE, NONE, 0 },
	[RDMAPMD_QPS_INIT] = { 0, 0, 0, NONE, NONE, NONE, 0 },
	[RDMAPMD_QPS_RTR] = { 0, NONE, NONE, 0, NONE, NONE, 0 },
	[RDMAPMD_QPS_RTS] = { 0, NONE, NONE, 0, NONE, NONE, 0 },
	[RDMAPMD_QPS_SQD] = { 0 },
	[RDMAPMD_QPS_SQE] = { 0, NONE, NONE, 0, NONE, NONE, 0 },
	[RDMAPMD_QPS_ERR] = { 0, NONE, NONE, NONE, NONE, NONE, 0 },
};

static void
bring_to(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state)
{
	const enum rdmapmd_qp_state up_to = state == RDMAPMD_QPS_SQE ? RDMAPMD_QPS_RTS : state;
	unsigned int step;

	assert_int_equal(change(qp, RDMAPMD_QPS_RESET, 0), 0);
	if (state == RDMAPMD_QPS_ERR) {
		assert_int_equal(change(qp, state, 0), 0);
		return;
	}
	for (step = RDMAPMD_QPS_INIT; step <= up_to; step++)
		assert_int_equal(change(qp, (enum rdmapmd_qp_state)step,
					step == RDMAPMD_QPS_INIT ? PORT : 0),
				 0);
	if (state == RDMAPMD_QPS_SQE)
		rdmapmd_qp_send_in_error(qp);
	assert_int_equal(rdmapmd_qp_state(qp), state);
}

static void
test_every_state_change(void **state)
{
	struct fake_set *set = *state;
	unsigned int from, to, bit;

	for (from = RDMAPMD_QPS_RESET; from <= RDMAPMD_QPS_ERR; from++) {
		if (from == RDMAPMD_QPS_SQD) /* not to be reached */
			continue;
		for (to = RDMAPMD_QPS_RESET; to <= RDMAPMD_QPS_ERR; to++) {
			const unsigned int mask = needs[from][to];

			bring_to(set->own, (enum rdmapmd_qp_state)from);
			if (mask == NONE) {
				assert_int_equal(change(set->own, (enum rdmapmd_qp_state)to, 0),
						 -EINVAL);
				continue;
			}
			for (bit = 1; bit < 24; bit++)
				if (!(mask & 1u << bit))
					assert_int_equal(change(set->own, (enum rdmapmd_qp_state)to,
								mask | 1u << bit),
							 -EINVAL);
				else
					assert_int_equal(change(set->own, (enum rdmapmd_qp_state)to,
								mask & ~(1u << bit)),
							 -EINVAL);
			assert_int_equal(rdmapmd_qp_state(set->own), from);
			assert_int_equal(change(set->own, (enum rdmapmd_qp_state)to, mask), 0);
			assert_int_equal(rdmapmd_qp_state(set->own), to);
			assert_int_equal(set->fake->qp_to, to);
		}
	}
}

/* An error of a send stops sends alone, and only where there are some. */
static void
test_an_error_of_a_send(void **state)
{
	struct fake_set *set = *state;

	bring_to(set->own, RDMAPMD_QPS_SQE);
	/* The next one, and the flushed ones behind it. */
	rdmapmd_qp_send_in_error(set->own);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_SQE);
	rdmapmd_qp_in_error(set->own);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	/* Those that come back in ERR. */
	rdmapmd_qp_send_in_error(set->own);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	/* Of a connection it is the end. */
	assert_int_equal(change(set->qp, RDMAPMD_QPS_RESET, 0), 0);
	rdmapmd_qp_send_in_error(set->qp);
	assert_int_equal(rdmapmd_qp_state(set->qp), RDMAPMD_QPS_ERR);
}

static void
test_leaving_sqe_too_early(void **state)
{
	struct fake_set *set = *state;

	bring_to(set->own, RDMAPMD_QPS_SQE);
	set->fake->fail = "qp_modify";
	set->fake->error = -EBUSY;
	assert_int_equal(change(set->own, RDMAPMD_QPS_RTS, 0), -EBUSY);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_SQE);
	set->fake->fail = NULL;
	assert_int_equal(change(set->own, RDMAPMD_QPS_RTS, 0), 0);
}

/* The error of a receive leaves sends under way: the first drain asks for ERR nevertheless, and no other does. */
static void
test_draining_after_an_error_of_a_receive(void **state)
{
	struct fake_set *set = *state;

	bring_to(set->own, RDMAPMD_QPS_RTS);
	rdmapmd_qp_in_error(set->own);
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_drain(set->own), 0);
	assert_int_equal(fake_count(set->fake, "qp_modify"), 1);
	assert_int_equal(set->fake->qp_to, RDMAPMD_QPS_ERR);
	assert_int_equal(rdmapmd_qp_drain(set->own), 0);
	assert_int_equal(fake_count(set->fake, "qp_modify"), 1);
	/* In the next life as well. */
	bring_to(set->own, RDMAPMD_QPS_SQE);
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_drain(set->own), 0);
	assert_int_equal(fake_count(set->fake, "qp_modify"), 1);
}

/* ---- Addresses ---- */

static void
test_addresses_are_the_driver_s(void **state)
{
	struct fake_set *set = *state;

	assert_int_equal(rdmapmd_qp_attach_mac(set->own, mac, 4094), 0);
	assert_memory_equal(set->fake->mac, mac, 6);
	assert_int_equal(set->fake->vlan_id, 4094);
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, mac, 0), 0);
	assert_int_equal(rdmapmd_qp_detach_mac(set->own, mac, RDMAPMD_VLAN_ANY), 0);
	assert_int_equal(set->fake->vlan_id, RDMAPMD_VLAN_ANY);
	set->fake->fail = "qp_attach_mac";
	set->fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, mac, 1), -ENOSPC);
	set->fake->fail = "qp_detach_mac";
	set->fake->error = -ENOENT;
	assert_int_equal(rdmapmd_qp_detach_mac(set->own, mac, 1), -ENOENT);
}

static void
test_addresses_that_are_none(void **state)
{
	static const uint8_t nothing[6];
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr = raw_attr(set);
	struct rdmapmd_qp *sends;

	attr.cap.max_recv_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &sends), 0);
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, NULL, 1), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, nothing, 1), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, mac, 4095), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(set->own, mac, 0xfffe), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(sends, mac, 1), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(set->qp, mac, 1), -EINVAL); /* RC */
	assert_int_equal(rdmapmd_qp_attach_mac(NULL, mac, 1), -EINVAL);
	assert_int_equal(rdmapmd_qp_detach_mac(set->qp, mac, 1), -EINVAL);
	assert_int_equal(set->fake->call_count, 0);
	assert_int_equal(rdmapmd_qp_destroy(sends), 0);
	assert_int_equal(rdmapmd_qp_attach_mac(sends, mac, 1), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_what_can_be_made),
	TEST(test_every_state_change),
	TEST(test_an_error_of_a_send),
	TEST(test_leaving_sqe_too_early),
	TEST(test_draining_after_an_error_of_a_receive),
	TEST(test_addresses_are_the_driver_s),
	TEST(test_addresses_that_are_none),
};

FAKE_MAIN("rdma_raw", tests)
