/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What queue pairs of UC, UD and GSI, address handles and groups ask of a device: the bytes of their commands, at the offsets that
 * the PRM has for them.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "prm/caps.h"
#include "prm/cmd.h"
#include "rdma/ah.h"
#include "rdma/gid.h"
#include "rdma/modify.h"
#include "rdma/post.h"
#include "rdma/qp.h"
#include "rdma/rdma.h"
#include "rdma_commands.h"

static const struct rdmapmd_qp_attr attributes = {
	.path_mtu = RDMAPMD_MTU_1024,
	.qkey = 0x11223344,
	.rq_psn = 0xaaaaaa,
	.sq_psn = 0xbbbbbb,
	.dest_qp_num = 0xcccccc,
	.qp_access_flags = RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ,
	.ah_attr = { .dgid = { { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 } },
		     .dmac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 },
		     .flow_label = 0x12345,
		     .sgid_index = 3,
		     .hop_limit = 64,
		     .traffic_class = 0x6a,
		     .sl = 5,
		     .port_num = 1 },
	.port_num = 1,
};

static int
setup(void **state)
{
	struct world *world;

	assert_int_equal(commands_setup(state), 0);
	world = *state;
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_UC, 1);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_UD, 1);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_BLOCK_LB_MC, 1);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_MAX_QP_MCG, 240);
	commands_mtu = 1500;
	return 0;
}

static int
create(struct world *world, enum rdmapmd_qp_type type, uint32_t flags)
{
	const struct rdmapmd_qp_init_attr attr = { .qp_type = type, .create_flags = flags };

	world->qp.qp.qp_type = (uint8_t)type;
	return rnic_rdma_qp_create(&world->qp.qp, &attr, &commands_sizing);
}

static const uint8_t *
modify(struct world *world, unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to,
       enum rnic_cmd_opcode opcode)
{
	assert_int_equal(
		rnic_rdma_qp_modify(&world->qp.qp, &attributes, mask | RDMAPMD_QP_STATE, from, to),
		0);
	return commands_expect(commands_count - 1, opcode, 0x110);
}

/* ---- UC ---- */

static void
test_uc(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	assert_int_equal(create(world, RDMAPMD_QPT_UC, 0), 0);
	in = commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x18, "00011800 00000111");
	assert_ptr_equal(world->qp.qp.post_send, rnic_rdma_post_send);
	in = modify(world, RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		    RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, RNIC_CMD_RST2INIT_QP);
	/* WRITEs alone, whatever else is allowed. */
	rings_assert_bytes(in + 0x18, "00011800");
	rings_assert_bytes(in + 0x18 + 0x90, "00004000");
	in = modify(world,
		    RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN,
		    RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, RNIC_CMD_INIT2RTR_QP);
	rings_assert_bytes(in + 0x10, "00000000");
	rings_assert_bytes(in + 0x18 + 8, "7e000000");
	rings_assert_bytes(in + 0x18 + 0x14, "00cccccc");
	rings_assert_bytes(in + 0x18 + 0x18 + 8, "00030040 06a12345 fe800000 00000000");
	rings_assert_bytes(in + 0x18 + 0x18 + 0x20, "009a");
	rings_assert_bytes(in + 0x18 + 0x94, "00aaaaaa");
	in = modify(world, RDMAPMD_QP_SQ_PSN, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS,
		    RNIC_CMD_RTR2RTS_QP);
	rings_assert_bytes(in + 0x10, "00000000");
	rings_assert_bytes(in + 0x18 + 0x78, "00bbbbbb");
	assert_true(world->qp.sq.open);
	/* Its path keeps its address. */
	assert_int_equal(rnic_gid_del(&world->dev, 3), -EBUSY);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	assert_int_equal(rnic_gid_del(&world->dev, 3), 0);
}

/* ---- UD ---- */

static void
test_ud(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	assert_int_equal(create(world, RDMAPMD_QPT_UD, 0), 0);
	in = commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x18, "00021800 00000111");
	assert_ptr_equal(world->qp.qp.post_send, rnic_rdma_post_datagrams);
	in = modify(world, RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_QKEY,
		    RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, RNIC_CMD_RST2INIT_QP);
	/* One packet of 4,096 bytes. */
	rings_assert_bytes(in + 0x18, "00021800 00000000 ac000000");
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "00010000");
	rings_assert_bytes(in + 0x18 + 0xa8, "11223344");
	in = modify(world, 0, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, RNIC_CMD_INIT2RTR_QP);
	rings_assert_bytes(in + 0x10, "00000000");
	rings_assert_bytes(in + 0x18 + 8, "ac000000");
	in = modify(world, RDMAPMD_QP_SQ_PSN, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS,
		    RNIC_CMD_RTR2RTS_QP);
	rings_assert_bytes(in + 0x18 + 0x78, "00bbbbbb");
	/* What the port's frames hold: 1,500 bytes are good for 1,024. */
	assert_int_equal(world->qp.sq.max_datagram, 1024);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	commands_expect(commands_count - 1, RNIC_CMD_DESTROY_QP, 0x10);
}

/* Those that may be changed, of each transport. */
static void
test_optional_parameters(void **state)
{
	static const struct {
		enum rdmapmd_qp_type type;
		enum rdmapmd_qp_state from, to;
		unsigned int mask;
		enum rnic_cmd_opcode opcode;
		uint32_t parameters;
	} rows[] = {
		{ RDMAPMD_QPT_UC, RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT,
		  RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_INIT2INIT_QP, 0x10018 },
		{ RDMAPMD_QPT_UC, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_INIT2RTR_QP, 0x8 },
		{ RDMAPMD_QPT_UC, RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_RTS2RTS_QP, 0x8 },
		{ RDMAPMD_QPT_UC, RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD,
		  RDMAPMD_QP_AV | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_SQD2SQD_QP, 0x10098 },
		{ RDMAPMD_QPT_UC, RDMAPMD_QPS_SQE, RDMAPMD_QPS_RTS, RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_SQERR2RTS_QP, 0x8 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT,
		  RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_QKEY, RNIC_CMD_INIT2INIT_QP,
		  0x10030 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR,
		  RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY, RNIC_CMD_INIT2RTR_QP, 0x30 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, RDMAPMD_QP_QKEY,
		  RNIC_CMD_RTR2RTS_QP, 0x20 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, RDMAPMD_QP_QKEY,
		  RNIC_CMD_RTS2RTS_QP, 0x20 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, 0, RNIC_CMD_RTS2SQD_QP, 0 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD,
		  RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY, RNIC_CMD_SQD2SQD_QP, 0x30 },
		{ RDMAPMD_QPT_UD, RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, RDMAPMD_QP_QKEY,
		  RNIC_CMD_SQD_RTS_QP, 0x20 },
		{ RDMAPMD_QPT_GSI, RDMAPMD_QPS_SQE, RDMAPMD_QPS_RTS, RDMAPMD_QP_QKEY,
		  RNIC_CMD_SQERR2RTS_QP, 0x20 },
	};
	struct world *world = *state;
	const uint8_t *in;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		if (i == 0 || rows[i].type != rows[i - 1].type)
			assert_int_equal(create(world, rows[i].type, 0), 0);
		in = modify(world, rows[i].mask, rows[i].from, rows[i].to, rows[i].opcode);
		assert_int_equal((uint32_t)in[0x10] << 24 | in[0x11] << 16 | in[0x12] << 8 |
					 in[0x13],
				 rows[i].parameters);
		if (i + 1 == RTE_DIM(rows) || rows[i].type != rows[i + 1].type)
			assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	}
}

static void
test_qp1(void **state)
{
	struct world *world = *state;
	struct rnic_rdma_qp first;
	const uint8_t *in;

	assert_int_equal(create(world, RDMAPMD_QPT_GSI, 0), 0);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8) + 0x18,
			   "00081800");
	in = modify(world, RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY, RDMAPMD_QPS_RESET,
		    RDMAPMD_QPS_INIT, RNIC_CMD_RST2INIT_QP);
	/* Packets of 256 bytes; the port is known. */
	rings_assert_bytes(in + 0x18, "00081800 00000000 28000000");
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "00010000");
	modify(world, 0, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, RNIC_CMD_INIT2RTR_QP);
	modify(world, RDMAPMD_QP_SQ_PSN, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, RNIC_CMD_RTR2RTS_QP);
	assert_int_equal(world->qp.sq.max_datagram, 256);
	/* There is one. */
	first = world->qp;
	assert_int_equal(create(world, RDMAPMD_QPT_GSI, 0), -EBUSY);
	world->qp = first;
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	/* One that could not be made is none. */
	commands_refused_at = commands_count + 1;
	assert_int_equal(create(world, RDMAPMD_QPT_GSI, 0), -EINVAL);
	assert_int_equal(create(world, RDMAPMD_QPT_GSI, 0), 0);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_what_a_device_has_not(void **state)
{
	static const enum rdmapmd_qp_type types[] = { RDMAPMD_QPT_UC, RDMAPMD_QPT_UD,
						      RDMAPMD_QPT_GSI };
	struct world *world = *state;
	unsigned int i;

	assert_int_equal(create(world, RDMAPMD_QPT_UD, RDMAPMD_QP_BLOCK_SELF_MCAST_LB), 0);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8) + 0x18,
			   "00021800 40000111");
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_BLOCK_LB_MC, 0);
	assert_int_equal(create(world, RDMAPMD_QPT_UD, RDMAPMD_QP_BLOCK_SELF_MCAST_LB), -ENOTSUP);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_UC, 0);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_UD, 0);
	for (i = 0; i < RTE_DIM(types); i++)
		assert_int_equal(create(world, types[i], 0), -ENOTSUP);
	assert_int_equal(commands_count, 2);
}

static void
test_query(void **state)
{
	struct rdmapmd_qp_attr attr = { 0 };
	struct world *world = *state;

	assert_int_equal(create(world, RDMAPMD_QPT_UD, 0), 0);
	commands_answer[0x18] = RNIC_QP_STATE_SQER << 4;
	memcpy(commands_answer + 0x18 + 0xa8, "\x11\x22\x33\x44", 4);
	assert_int_equal(rnic_rdma_qp_query(&world->qp.qp, &attr), 0);
	assert_int_equal(attr.qp_state, RDMAPMD_QPS_SQE);
	assert_int_equal(attr.qkey, 0x11223344);
	memset(commands_answer + 0x18, 0, sizeof(commands_answer) - 0x18);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

/* ---- Address handles ---- */

static void
test_an_address_handle(void **state)
{
	struct world *world = *state;
	struct rdmapmd_ah_attr attr = attributes.ah_attr;
	struct rnic_rdma_ah ah = { .ah = { .context = &world->context, .pd = &world->pd } };
	uint16_t port;

	assert_int_equal(rnic_rdma_ah_create(&ah.ah, &attr), 0);
	/* No command; the priority above a bit that is 0. */
	assert_int_equal(commands_count, 0);
	rings_assert_bytes(&ah.vector, "00000000 00000000 80000000 0a00");
	rings_assert_bytes((uint8_t *)&ah.vector + 0x10, "00000000 02112233 44556a40 40312345"
							 "fe800000 00000000 01020304 05060708");
	port = rnic_be16_to_cpu(ah.vector.udp_sport);
	assert_true(port >= 0xc000);
	/* As long as it lives its address stays. */
	assert_int_equal(rnic_gid_del(&world->dev, 3), -EBUSY);
	assert_int_equal(rnic_rdma_ah_destroy(&ah.ah), 0);
	assert_int_equal(rnic_gid_del(&world->dev, 3), 0);
	assert_int_equal(rnic_rdma_ah_create(&ah.ah, &attr), -EINVAL);
	/* Flows differ in their port: by their label, and without one by whom they go to. */
	attr.sgid_index = 2;
	attr.flow_label++;
	assert_int_equal(rnic_rdma_ah_create(&ah.ah, &attr), 0);
	assert_int_not_equal(rnic_be16_to_cpu(ah.vector.udp_sport), port);
	rnic_rdma_ah_destroy(&ah.ah);
	attr.flow_label = 0;
	assert_int_equal(rnic_rdma_ah_create(&ah.ah, &attr), 0);
	port = rnic_be16_to_cpu(ah.vector.udp_sport);
	assert_true(port >= 0xc000);
	rnic_rdma_ah_destroy(&ah.ah);
	attr.dgid.raw[15]++;
	assert_int_equal(rnic_rdma_ah_create(&ah.ah, &attr), 0);
	assert_int_not_equal(rnic_be16_to_cpu(ah.vector.udp_sport), port);
	rnic_rdma_ah_destroy(&ah.ah);
}

/* ---- Groups ---- */

static void
test_groups(void **state)
{
	static const union rdmapmd_gid ipv6 = { { 0xff, 0x0e, [12] = 0xa1, 0xb2, 0xc3, 0xd4 } };
	static const union rdmapmd_gid ipv4 = { { [10] = 0xff, 0xff, 239, 0x81, 2, 3 } };
	struct world *world = *state;

	assert_int_equal(create(world, RDMAPMD_QPT_UD, 0), 0);
	assert_int_equal(rnic_rdma_mcast_attach(&world->qp.qp, &ipv6), 0);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_ATTACH_TO_MCG, 0x20) + 8,
			   "00000123 00000000 ff0e0000 00000000 00000000 a1b2c3d4");
	assert_memory_equal(commands_mac, "\x33\x33\xa1\xb2\xc3\xd4", 6);
	assert_int_equal(rnic_rdma_mcast_attach(&world->qp.qp, &ipv4), 0);
	assert_memory_equal(commands_mac, "\x01\x00\x5e\x01\x02\x03", 6);
	assert_int_equal(commands_macs, 2);
	assert_int_equal(rnic_rdma_mcast_detach(&world->qp.qp, &ipv6), 0);
	rings_assert_bytes(commands_expect(3, RNIC_CMD_DETACH_FROM_MCG, 0x20) + 8,
			   "00000123 00000000 ff0e0000 00000000 00000000 a1b2c3d4");
	assert_memory_equal(commands_mac, "\x33\x33\xa1\xb2\xc3\xd4", 6);
	assert_int_equal(commands_macs, 1);
	assert_int_equal(rnic_rdma_mcast_detach(&world->qp.qp, &ipv4), 0);
	/* What the device refuses leaves nothing. */
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_rdma_mcast_attach(&world->qp.qp, &ipv4), -EINVAL);
	assert_int_equal(commands_macs, 0);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_MAX_QP_MCG, 0);
	assert_int_equal(rnic_rdma_mcast_attach(&world->qp.qp, &ipv4), -ENOTSUP);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, commands_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_uc),
	TEST(test_ud),
	TEST(test_optional_parameters),
	TEST(test_qp1),
	TEST(test_what_a_device_has_not),
	TEST(test_query),
	TEST(test_an_address_handle),
	TEST(test_groups),
};

PLAIN_MAIN("rdma_types", tests)
