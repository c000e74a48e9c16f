/* SPDX-License-Identifier: BSD-3-Clause */

/* A connection in one call: which changes it makes, with what, and what is left when one fails. */

#include "rdma_fake.h"

#include <string.h>

#include <rte_common.h>

static const struct rdmapmd_qp_peer peer4 = {
	.gid = { { [10] = 0xff, [11] = 0xff, 10, 0, 0, 9 } },
	.qp_num = 0x123456,
	.psn = 0xabcdef,
};

/* ... with its MAC in it. */
static const struct rdmapmd_qp_peer peer6 = {
	.gid = { { 0xfe, 0x80, [8] = 0, 0, 0, 0xff, 0xfe, 0, 0, 9 } },
};

static struct rdmapmd_qp *
new_qp(struct fake_set *set, enum rdmapmd_qp_type type)
{
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	struct rdmapmd_qp *qp;

	attr.qp_type = type;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	return qp;
}

static const struct rdmapmd_qp_attr *
connected(struct fake_set *set, struct rdmapmd_qp *qp, const struct rdmapmd_qp_peer *peer,
	  const struct rdmapmd_qp_connect_opts *opts)
{
	assert_int_equal(rdmapmd_qp_connect(qp, peer, opts), 0);
	assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RTS);
	return &set->fake->qp_attr;
}

static void
test_defaults(void **state)
{
	struct fake_set *set = *state;
	const struct rdmapmd_qp_attr *attr =
		connected(set, new_qp(set, RDMAPMD_QPT_RC), &peer4, NULL);

	assert_int_equal(attr->dest_qp_num, 0x123456);
	assert_int_equal(attr->rq_psn, 0xabcdef);
	assert_int_equal(attr->sq_psn, 0);
	assert_memory_equal(&attr->ah_attr.dgid, &peer4.gid, sizeof(peer4.gid));
	assert_int_equal(attr->path_mtu, RDMAPMD_MTU_1024);
	assert_int_equal(attr->port_num, 1);
	assert_int_equal(attr->ah_attr.port_num, 1);
	assert_int_equal(attr->ah_attr.hop_limit, 64);
	assert_int_equal(attr->qp_access_flags, 0);
	assert_int_equal(attr->max_dest_rd_atomic, 16);
	assert_int_equal(attr->max_rd_atomic, 16);
	assert_int_equal(attr->min_rnr_timer, 12);
	assert_int_equal(attr->timeout, 14);
	assert_int_equal(attr->retry_cnt, 7);
	assert_int_equal(attr->rnr_retry, 7);
}

static int
setup_few(void **state)
{
	static struct fake_set set;
	struct fake *fake = fake_register("fake0");

	fake->attr.max_qp_rd_atom = 4;
	fake->attr.max_qp_init_rd_atom = 8;
	fake_open_all(fake, &set);
	*state = &set;
	return 0;
}

static void
test_a_device_with_few_reads(void **state)
{
	struct fake_set *set = *state;
	const struct rdmapmd_qp_attr *attr =
		connected(set, new_qp(set, RDMAPMD_QPT_RC), &peer4, NULL);

	assert_int_equal(attr->max_dest_rd_atomic, 4);
	assert_int_equal(attr->max_rd_atomic, 8);
}

static void
test_choices(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_peer peer = peer4;
	const struct rdmapmd_qp_connect_opts opts = {
		.path = { .port_num = 2,
			  .hop_limit = 3,
			  .traffic_class = 0x68,
			  .sl = 5,
			  .dmac = { 2, 0, 0, 0, 0, 7 },
			  .sgid_index = 1 },
		.psn = 0x111111,
		.qp_access_flags = RDMAPMD_ACCESS_REMOTE_READ,
		.max_dest_rd_atomic = RDMAPMD_CONNECT_NONE,
		.max_rd_atomic = 2,
		.min_rnr_timer = RDMAPMD_CONNECT_NONE,
		.timeout = 20,
		.retry_cnt = 3,
		.rnr_retry = RDMAPMD_CONNECT_NONE,
	};
	const struct rdmapmd_qp_attr *attr;

	peer.mtu = RDMAPMD_MTU_256;
	attr = connected(set, new_qp(set, RDMAPMD_QPT_RC), &peer, &opts);
	assert_int_equal(attr->path_mtu, RDMAPMD_MTU_256);
	assert_int_equal(attr->sq_psn, 0x111111);
	assert_int_equal(attr->qp_access_flags, RDMAPMD_ACCESS_REMOTE_READ);
	assert_int_equal(attr->port_num, 2);
	assert_int_equal(attr->ah_attr.port_num, 2);
	assert_int_equal(attr->ah_attr.hop_limit, 3);
	assert_int_equal(attr->ah_attr.traffic_class, 0x68);
	assert_int_equal(attr->ah_attr.sl, 5);
	assert_int_equal(attr->ah_attr.sgid_index, 1);
	assert_memory_equal(attr->ah_attr.dmac, opts.path.dmac, 6);
	assert_int_equal(fake_count(set->fake, "resolve"), 0);
	assert_int_equal(attr->max_dest_rd_atomic, 0);
	assert_int_equal(attr->max_rd_atomic, 2);
	assert_int_equal(attr->min_rnr_timer, 0);
	assert_int_equal(attr->timeout, 20);
	assert_int_equal(attr->retry_cnt, 3);
	assert_int_equal(attr->rnr_retry, 0);
	/* No more than this port has. */
	peer.mtu = RDMAPMD_MTU_4096;
	attr = connected(set, new_qp(set, RDMAPMD_QPT_RC), &peer, &opts);
	assert_int_equal(attr->path_mtu, RDMAPMD_MTU_1024);
}

/* The first that the peer can answer to as to a neighbour; none of a VLAN. */
static void
test_where_the_path_begins(void **state)
{
	static const union rdmapmd_gid six = { { 0x20, 1, 0xd, 0xb8, [15] = 1 } };
	static const union rdmapmd_gid local = { { 0xfe, 0x80, [15] = 1 } };
	struct fake_set *set = *state;
	struct rdmapmd_gid_entry *gids = set->fake->gids;
	struct rdmapmd_qp_peer peer = peer6;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_UC);
	const struct {
		union rdmapmd_gid own[4], peer;
		uint16_t vlans[4];
		uint8_t expected;
	} rows[] = {
		{ { local, peer4.gid, six, six }, peer6.gid, { 0 }, 0 },
		{ { local, peer4.gid, six, six }, six, { 0 }, 2 },
		{ { local, peer4.gid, six, six }, six, { 0, 0, 5 }, 3 },
		{ { local, peer4.gid, peer4.gid, six }, peer4.gid, { 0, 5, 0 }, 2 },
		/* Better than none. */
		{ { local, peer4.gid }, six, { 0 }, 0 },
		{ { peer4.gid, six }, peer6.gid, { 0 }, 1 },
	};
	const struct rdmapmd_qp_connect_opts opts = { .path = { .dmac = { 2, 0, 0, 0, 0, 9 } } };
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(rows); i++) {
		for (k = 0; k < 4; k++)
			gids[k] = (struct rdmapmd_gid_entry){ .gid = rows[i].own[k],
							      .vlan_id = rows[i].vlans[k] };
		peer.gid = rows[i].peer;
		assert_int_equal(connected(set, qp, &peer, &opts)->ah_attr.sgid_index,
				 rows[i].expected);
		assert_int_equal(rdmapmd_qp_modify(qp,
						   &(struct rdmapmd_qp_attr){ RDMAPMD_QPS_RESET },
						   RDMAPMD_QP_STATE),
				 0);
	}
}

static void
test_which_queue_pairs_can_be(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp *rc = new_qp(set, RDMAPMD_QPT_RC), *ud = new_qp(set, RDMAPMD_QPT_UD);
	const struct rdmapmd_qp_attr init = { .qp_state = RDMAPMD_QPS_INIT, .port_num = 1 };

	assert_int_equal(rdmapmd_qp_connect(ud, &peer4, NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_connect(rc, NULL, NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_connect(NULL, &peer4, NULL), -EINVAL);
	assert_int_equal(fake_count(set->fake, "qp_modify"), 0);
	/* Receives may have been posted. */
	assert_int_equal(rdmapmd_qp_modify(rc, &init,
					   RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX |
						   RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS),
			 0);
	connected(set, rc, &peer4, NULL);
	/* One that is connected stays as it is. */
	assert_int_equal(rdmapmd_qp_connect(rc, &peer4, NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_state(rc), RDMAPMD_QPS_RTS);
}

static void
test_a_step_that_fails_leads_back(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_RC);
	const struct rdmapmd_qp_connect_opts wrong = { .retry_cnt = 8 };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		set->fake->fail = "qp_modify";
		set->fake->error = -EIO;
		set->fake->skip = i;
		/* The way back succeeds. */
		set->fake->once = true;
		assert_int_equal(rdmapmd_qp_connect(qp, &peer4, NULL), -EIO);
		assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RESET);
	}
	set->fake->fail = NULL;
	assert_int_equal(rdmapmd_qp_connect(qp, &peer4, &wrong), -EINVAL);
	assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RESET);
	connected(set, qp, &peer4, NULL);
}

/* One in bytes, say, is not taken for none. */
static void
test_an_mtu_of_the_peer_that_is_none(void **state)
{
	static const unsigned int mtus[] = { RDMAPMD_MTU_4096 + 1, 1024, UINT32_MAX };
	struct fake_set *set = *state;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_RC);
	struct rdmapmd_qp_peer peer = peer4;
	unsigned int i;

	for (i = 0; i < RTE_DIM(mtus); i++) {
		peer.mtu = (enum rdmapmd_mtu)mtus[i];
		assert_int_equal(rdmapmd_qp_connect(qp, &peer, NULL), -EINVAL);
		assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RESET);
	}
	peer.mtu = RDMAPMD_MTU_4096;
	assert_int_equal(connected(set, qp, &peer, NULL)->path_mtu, RDMAPMD_MTU_1024);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_defaults),
	cmocka_unit_test_setup_teardown(test_a_device_with_few_reads, setup_few, fake_teardown),
	TEST(test_choices),
	TEST(test_where_the_path_begins),
	TEST(test_which_queue_pairs_can_be),
	TEST(test_a_step_that_fails_leads_back),
	TEST(test_an_mtu_of_the_peer_that_is_none),
};

FAKE_MAIN("rdma_connect", tests)
