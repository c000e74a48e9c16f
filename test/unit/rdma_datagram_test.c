/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams in the library: address handles, also those of answers; groups; which queue pairs there are. */

#include "rdma_fake.h"

#include <string.h>

#include <rte_common.h>

static struct rdmapmd_ah_attr
ipv4_path(void)
{
	return (struct rdmapmd_ah_attr){ .dgid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
					 .sgid_index = 1,
					 .hop_limit = 64,
					 .traffic_class = 0x68,
					 .flow_label = 0xfffff,
					 .sl = 7,
					 .port_num = 1 };
}

/* ---- Address handles ---- */

static void
test_an_address_handle(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_ah_attr path = ipv4_path();
	struct rdmapmd_ah *ah;

	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), 0);
	fake_assert_calls(set->fake, 0, "gid_query resolve ah_create");
	assert_ptr_equal(ah->pd, set->pd);
	assert_ptr_equal(ah->context, set->context);
	/* As it was given, with the MAC that was found out. */
	memcpy(path.dmac, "\x02\x00\x00\x00\x00\x99", 6);
	assert_memory_equal(&set->fake->ah, &path, sizeof(path));
	/* Its protection domain stays. */
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
	assert_int_equal(rdmapmd_ah_destroy(ah), -EINVAL);
	/* One that is given is taken. */
	path.dmac[5] = 1;
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), 0);
	fake_assert_calls(set->fake, 0, "gid_query ah_create");
	assert_memory_equal(&set->fake->ah, &path, sizeof(path));
	/* Closing the context takes it along. */
}

#define REFUSED(member_, value_)                                                    \
	do {                                                                        \
		struct rdmapmd_ah_attr path_ = ipv4_path();                         \
		path_.member_ = value_;                                             \
		assert_int_equal(rdmapmd_ah_create(set->pd, &path_, &ah), -EINVAL); \
	} while (0)

static void
test_paths_that_are_none(void **state)
{
	struct fake_set *set = *state;
	const struct rdmapmd_ah_attr good = ipv4_path();
	struct rdmapmd_ah *ah = NULL;

	REFUSED(flow_label, 0x100000);
	REFUSED(sl, 8);
	REFUSED(port_num, 0);
	REFUSED(port_num, 3);
	REFUSED(sgid_index, 2); /* empty */
	REFUSED(sgid_index, 4); /* not there */
	REFUSED(dgid, (union rdmapmd_gid){ 0 });
	REFUSED(dgid.raw[0], 1); /* IPv6, from an IPv4 address */
	assert_int_equal(rdmapmd_ah_create(set->pd, NULL, &ah), -EINVAL);
	assert_int_equal(rdmapmd_ah_create(set->pd, &good, NULL), -EINVAL);
	assert_int_equal(rdmapmd_ah_create(NULL, &good, &ah), -EINVAL);
	assert_int_equal(fake_count(set->fake, "ah_create"), 0);
	set->fake->fail = "resolve";
	set->fake->error = -EHOSTUNREACH;
	assert_int_equal(rdmapmd_ah_create(set->pd, &good, &ah), -EHOSTUNREACH);
	set->fake->fail = "ah_create";
	set->fake->error = -EIO;
	assert_int_equal(rdmapmd_ah_create(set->pd, &good, &ah), -EIO);
	assert_null(ah);
	set->fake->fail = NULL;
	set->fake->ops.ah_create = NULL;
	assert_int_equal(rdmapmd_ah_create(set->pd, &good, &ah), -ENOTSUP);
}

/* Nobody is asked for the MAC of a group: it follows from the address. */
static void
test_the_macs_of_groups(void **state)
{
	static const uint8_t ipv6[16] = { 0xff, 0x0e, [12] = 0xa1, 0xb2, 0xc3, 0xd4 };
	struct fake_set *set = *state;
	struct rdmapmd_ah_attr path = ipv4_path();
	struct rdmapmd_ah *ah;

	memcpy(path.dgid.raw + 12, "\xef\xff\x01\x02", 4);
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), 0);
	assert_memory_equal(set->fake->ah.dmac, "\x01\x00\x5e\x7f\x01\x02", 6);
	memcpy(path.dgid.raw, ipv6, sizeof(ipv6));
	set->fake->gids[2].gid.raw[0] = 0xfe;
	path.sgid_index = 2;
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), 0);
	assert_memory_equal(set->fake->ah.dmac, "\x33\x33\xa1\xb2\xc3\xd4", 6);
	assert_int_equal(fake_count(set->fake, "resolve"), 0);
}

/* ---- Answers ---- */

/* From 10.0.0.2 to 10.0.0.1, traffic class 0x68, checksum and all; what stands before it looks like IPv6. */
static const uint8_t ipv4_header[RDMAPMD_GRH_BYTES] = {
	0x60, 0,    0,	  0,	0,  0,	0,    0,    1,	  2,	3,    4,    5,	  6,
	7,    8,    9,	  10,	11, 12, 0x45, 0x68, 0x00, 0x40, 0x12, 0x34, 0x40, 0x00,
	0x40, 0x11, 0x14, 0x0f, 10, 0,	0,    2,    10,	  0,	0,    1,
};
/* From 2001:db8::2 to 2001:db8::1, traffic class 0x68, flow label 0x12345. */
static const uint8_t ipv6_header[RDMAPMD_GRH_BYTES] = {
	0x66, 0x81, 0x23, 0x45, 0x00, 0x40, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0,    0,
	0,    0,    0,	  0,	0,    0,    0,	  0,	0,    2,    0x20, 0x01, 0x0d, 0xb8,
	0,    0,    0,	  0,	0,    0,    0,	  0,	0,    0,    0,	  1,
};

static void
test_the_way_back_by_ipv4(void **state)
{
	const struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH | RDMAPMD_WC_IPV4, .sl = 5 };
	struct fake_set *set = *state;
	struct rdmapmd_ah_attr expected = ipv4_path();
	struct rdmapmd_ah *ah;

	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, ipv4_header, &ah), 0);
	expected.hop_limit = 255;
	expected.flow_label = 0;
	expected.sl = 5;
	memcpy(expected.dmac, "\x02\x00\x00\x00\x00\x99", 6);
	assert_memory_equal(&set->fake->ah, &expected, sizeof(expected));
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
}

static void
test_the_way_back_by_ipv6(void **state)
{
	const struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH };
	struct fake_set *set = *state;
	struct rdmapmd_ah *ah;

	/* It is told which address it came to, not the first one of its kind. */
	set->fake->gids[2].gid.raw[0] = 0xfe;
	memcpy(set->fake->gids[3].gid.raw, ipv6_header + 24, 16);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 2, &wc, ipv6_header, &ah), 0);
	assert_memory_equal(set->fake->ah.dgid.raw, ipv6_header + 8, 16);
	assert_int_equal(set->fake->ah.sgid_index, 3);
	assert_int_equal(set->fake->ah.traffic_class, 0x68);
	assert_int_equal(set->fake->ah.flow_label, 0x12345);
	assert_int_equal(set->fake->ah.port_num, 2);
}

/* One of IPv6 whose addresses make a good header of IPv4 of its end: the device says what it is. */
static void
test_the_way_back_by_what_looks_like_both(void **state)
{
	struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH };
	uint8_t header[RDMAPMD_GRH_BYTES];
	struct fake_set *set = *state;
	struct rdmapmd_ah *ah;

	memcpy(header, ipv6_header, sizeof(header));
	memcpy(header + 20, ipv4_header + 20, 20);
	memcpy(set->fake->gids[2].gid.raw, header + 24, 16);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 2, &wc, header, &ah), 0);
	assert_memory_equal(set->fake->ah.dgid.raw, header + 8, 16);
	assert_int_equal(set->fake->ah.sgid_index, 2);
	wc.wc_flags |= RDMAPMD_WC_IPV4;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, header, &ah), 0);
	assert_memory_equal(set->fake->ah.dgid.raw + 12, header + 32, 4);
	assert_int_equal(set->fake->ah.sgid_index, 1);
	/* And of IPv4 is only what has its form. */
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, ipv6_header, &ah), -EINVAL);
}

/* The same address stands in the table twice: it is told which VLAN it came from. */
static void
test_the_way_back_into_a_vlan(void **state)
{
	struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH | RDMAPMD_WC_WITH_VLAN, .vlan_id = 5 };
	struct fake_set *set = *state;
	struct rdmapmd_ah *ah;

	memcpy(set->fake->gids[2].gid.raw, ipv6_header + 24, 16);
	memcpy(set->fake->gids[3].gid.raw, ipv6_header + 24, 16);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 2, &wc, ipv6_header, &ah), -EINVAL);
	set->fake->gids[3].vlan_id = 5;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 2, &wc, ipv6_header, &ah), 0);
	assert_int_equal(set->fake->ah.sgid_index, 3);
	wc.wc_flags = RDMAPMD_WC_GRH;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 2, &wc, ipv6_header, &ah), 0);
	assert_int_equal(set->fake->ah.sgid_index, 2);
}

/* A group is nobody's source: the port's first address of that protocol is. */
static void
test_the_way_back_from_a_group(void **state)
{
	const struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH };
	uint8_t header[RDMAPMD_GRH_BYTES];
	struct fake_set *set = *state;
	struct rdmapmd_ah *ah;

	memcpy(header, ipv6_header, sizeof(header));
	header[24] = 0xff;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, header, &ah), -EINVAL);
	set->fake->gids[2].gid.raw[0] = 0xfe;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, header, &ah), 0);
	assert_int_equal(set->fake->ah.sgid_index, 2);
}

static void
test_no_way_back(void **state)
{
	struct rdmapmd_wc wc = { .wc_flags = RDMAPMD_WC_GRH | RDMAPMD_WC_IPV4 };
	uint8_t header[RDMAPMD_GRH_BYTES];
	struct fake_set *set = *state;
	struct rdmapmd_ah *ah = NULL;

	memcpy(header, ipv4_header, sizeof(header));
	/* A wrong sum is no IPv4, whatever stands before it. */
	header[39]++;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, header, &ah), -EINVAL);
	header[39]--;
	header[0] = 0;
	header[20] = 0x46;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, header, &ah), -EINVAL);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 0, &wc, ipv4_header, &ah), -EINVAL);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 3, &wc, ipv4_header, &ah), -EINVAL);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, NULL, ipv4_header, &ah), -EINVAL);
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, NULL, &ah), -EINVAL);
	/* The address that it came to is gone. */
	set->fake->gids[1].gid.raw[15]++;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, ipv4_header, &ah), -EINVAL);
	set->fake->gids[1].gid.raw[15]--;
	wc.wc_flags = RDMAPMD_WC_WITH_IMM | RDMAPMD_WC_IPV4;
	assert_int_equal(rdmapmd_ah_from_wc(set->pd, 1, &wc, ipv4_header, &ah), -EINVAL);
	assert_null(ah);
	assert_int_equal(fake_count(set->fake, "ah_create"), 0);
}

/* ---- Queue pairs ---- */

static struct rdmapmd_qp *
new_qp(struct fake_set *set, enum rdmapmd_qp_type type)
{
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	struct rdmapmd_qp *qp;

	attr.qp_type = type;
	attr.port_num = 2;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	assert_int_equal(set->fake->qp_init.qp_type, type);
	assert_int_equal(set->fake->qp_init.port_num, 2);
	return qp;
}

static int
try_create(struct fake_set *set, enum rdmapmd_qp_type type, uint32_t flags, uint8_t port_num)
{
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	struct rdmapmd_qp *qp = NULL;
	int rc;

	attr.qp_type = type;
	attr.create_flags = flags;
	attr.port_num = port_num;
	rc = rdmapmd_qp_create(set->pd, &attr, &qp);
	assert_int_equal(qp != NULL, rc == 0);
	return rc;
}

static void
test_types(void **state)
{
	static const enum rdmapmd_qp_type none[] = { 0, 5, 7, 9, 1000 };
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;
	unsigned int i;

	/* As ib_verbs numbers them. */
	assert_int_equal(RDMAPMD_QPT_GSI, 1);
	assert_int_equal(RDMAPMD_QPT_UC, 3);
	assert_int_equal(RDMAPMD_QPT_UD, 4);
	for (i = RDMAPMD_QPT_GSI; i <= RDMAPMD_QPT_UD; i++) {
		assert_int_equal(
			rdmapmd_qp_query(new_qp(set, (enum rdmapmd_qp_type)i), &attr, &init), 0);
		assert_int_equal(init.qp_type, i);
	}
	for (i = 0; i < RTE_DIM(none); i++)
		assert_int_equal(try_create(set, none[i], 0, 1), -EINVAL);
	assert_int_equal(try_create(set, RDMAPMD_QPT_GSI, 0, 0), -EINVAL);
	assert_int_equal(try_create(set, RDMAPMD_QPT_GSI, 0, 3), -EINVAL);
	set->fake->fail = "qp_create";
	set->fake->error = -ENOTSUP;
	assert_int_equal(try_create(set, RDMAPMD_QPT_UC, 0, 1), -ENOTSUP);
	set->fake->fail = NULL;
	set->fake->ops.ah_create = NULL;
	assert_int_equal(try_create(set, RDMAPMD_QPT_UD, 0, 1), -ENOTSUP);
	assert_int_equal(try_create(set, RDMAPMD_QPT_GSI, 0, 1), -ENOTSUP);
}

static void
test_flags(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;
	struct rdmapmd_qp *qp;
	unsigned int i;

	for (i = RDMAPMD_QPT_GSI; i <= RDMAPMD_QPT_RAW_PACKET; i++)
		if (i != RDMAPMD_QPT_UD)
			assert_int_equal(try_create(set, (enum rdmapmd_qp_type)i,
						    RDMAPMD_QP_BLOCK_SELF_MCAST_LB, 1),
					 -EINVAL);
	for (i = 0; i < 32; i++)
		if (1u << i != RDMAPMD_QP_BLOCK_SELF_MCAST_LB)
			assert_int_equal(try_create(set, RDMAPMD_QPT_UD, 1u << i, 1), -EINVAL);
	init = fake_qp_attr(set);
	init.qp_type = RDMAPMD_QPT_UD;
	init.create_flags = RDMAPMD_QP_BLOCK_SELF_MCAST_LB;
	assert_int_equal(rdmapmd_qp_create(set->pd, &init, &qp), 0);
	assert_int_equal(set->fake->qp_init.create_flags, RDMAPMD_QP_BLOCK_SELF_MCAST_LB);
	init.create_flags = 0;
	assert_int_equal(rdmapmd_qp_query(qp, &attr, &init), 0);
	assert_int_equal(init.create_flags, RDMAPMD_QP_BLOCK_SELF_MCAST_LB);
}

static void
test_the_qkey(void **state)
{
	const unsigned int init = RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY;
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT,
					.qkey = 0x11223344,
					.port_num = 1 };
	struct fake_set *set = *state;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_UD);
	struct rdmapmd_qp_attr got;

	assert_int_equal(rdmapmd_qp_modify(qp, &attr, init | RDMAPMD_QP_PORT), 0);
	assert_int_equal(rdmapmd_qp_query(qp, &got, NULL), 0);
	assert_int_equal(got.qkey, 0x11223344);
	/* That of queue pair 1 is known. */
	qp = new_qp(set, RDMAPMD_QPT_GSI);
	assert_int_equal(rdmapmd_qp_modify(qp, &attr, init), -EINVAL);
	attr.qkey = RDMAPMD_QP1_QKEY;
	assert_int_equal(rdmapmd_qp_modify(qp, &attr, init), 0);
}

/* ---- Groups ---- */

static union rdmapmd_gid
group(uint8_t number)
{
	return (union rdmapmd_gid){ .raw = { 0xff, 0x0e, [15] = number } };
}

static void
test_groups(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_UD);
	const union rdmapmd_gid ipv4 = { .raw = { [10] = 0xff, 0xff, 224, 0, 0, 251 } };
	union rdmapmd_gid gid = group(0);
	unsigned int i;

	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_mcast_attach(qp, &ipv4), 0);
	for (i = 0; i < 3; i++) {
		gid = group((uint8_t)i);
		assert_int_equal(rdmapmd_mcast_attach(qp, &gid), 0);
		assert_memory_equal(&set->fake->group, &gid, sizeof(gid));
		/* Once is enough. */
		assert_int_equal(rdmapmd_mcast_attach(qp, &gid), 0);
	}
	assert_int_equal(fake_count(set->fake, "mcast_attach"), 4);
	gid = group(1);
	assert_int_equal(rdmapmd_mcast_detach(qp, &gid), 0);
	assert_memory_equal(&set->fake->group, &gid, sizeof(gid));
	assert_int_equal(rdmapmd_mcast_detach(qp, &gid), -EINVAL);
	assert_int_equal(fake_count(set->fake, "mcast_detach"), 1);
	/* What is left is detached before the queue pair goes. */
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	fake_assert_calls(set->fake, 0, "mcast_detach mcast_detach mcast_detach qp_destroy");
}

static void
test_what_is_no_group_and_who_joins_none(void **state)
{
	const union rdmapmd_gid none[] = { { { 0 } },
					   { { 0xfe, 0x80 } },
					   { { [10] = 0xff, 0xff, 223, 255, 255, 255 } },
					   { { [10] = 0xff, 0xff, 240, 0, 0, 0 } } };
	const union rdmapmd_gid good = group(1);
	struct fake_set *set = *state;
	struct rdmapmd_qp *ud = new_qp(set, RDMAPMD_QPT_UD);
	unsigned int i;

	for (i = 0; i < RTE_DIM(none); i++) {
		assert_int_equal(rdmapmd_mcast_attach(ud, &none[i]), -EINVAL);
		assert_int_equal(rdmapmd_mcast_detach(ud, &none[i]), -EINVAL);
	}
	assert_int_equal(rdmapmd_mcast_attach(ud, NULL), -EINVAL);
	assert_int_equal(rdmapmd_mcast_attach(NULL, &good), -EINVAL);
	for (i = RDMAPMD_QPT_GSI; i < RDMAPMD_QPT_UD; i++)
		assert_int_equal(rdmapmd_mcast_attach(new_qp(set, (enum rdmapmd_qp_type)i), &good),
				 -EINVAL);
	assert_int_equal(fake_count(set->fake, "mcast_attach"), 0);
	/* What could not be joined was not. */
	set->fake->fail = "mcast_attach";
	set->fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_mcast_attach(ud, &good), -ENOSPC);
	set->fake->fail = NULL;
	assert_int_equal(rdmapmd_mcast_detach(ud, &good), -EINVAL);
	set->fake->ops.mcast_attach = NULL;
	assert_int_equal(rdmapmd_mcast_attach(ud, &good), -ENOTSUP);
}

/* The device goes: groups and handles go with it, and the shells stay. */
static void
test_a_device_that_is_removed(void **state)
{
	const union rdmapmd_gid gid = group(1);
	const struct rdmapmd_ah_attr path = ipv4_path();
	struct fake_set *set = *state;
	struct rdmapmd_qp *qp = new_qp(set, RDMAPMD_QPT_UD);
	struct rdmapmd_ah *ah;

	assert_int_equal(rdmapmd_mcast_attach(qp, &gid), 0);
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), 0);
	fake_remove(set->fake);
	assert_int_equal(rdmapmd_mcast_attach(qp, &gid), -ENODEV);
	assert_int_equal(rdmapmd_ah_create(set->pd, &path, &ah), -ENODEV);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
}

/* A request of a send queue is a cache line, whatever it names. */
_Static_assert(sizeof(struct rdmapmd_send_wr) == RTE_CACHE_LINE_MIN_SIZE, "a cache line");

/* Queue pairs of the test have a receive queue of their own. */
static int
setup(void **state)
{
	struct fake_set *set;

	fake_setup(state);
	set = *state;
	set->srq = NULL;
	return 0;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_an_address_handle),
	TEST(test_paths_that_are_none),
	TEST(test_the_macs_of_groups),
	TEST(test_the_way_back_by_ipv4),
	TEST(test_the_way_back_by_ipv6),
	TEST(test_the_way_back_by_what_looks_like_both),
	TEST(test_the_way_back_into_a_vlan),
	TEST(test_the_way_back_from_a_group),
	TEST(test_no_way_back),
	TEST(test_types),
	TEST(test_flags),
	TEST(test_the_qkey),
	TEST(test_groups),
	TEST(test_what_is_no_group_and_who_joins_none),
	TEST(test_a_device_that_is_removed),
};

FAKE_MAIN("rdma_datagram", tests)
