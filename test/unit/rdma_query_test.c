/* SPDX-License-Identifier: BSD-3-Clause */

/* What device and port say of themselves, through the library, on the embedded device. */

#include "verbs.h"

#include <time.h>

#include "bringup.h"
#include "object/port.h"
#include "prm/caps.h"

#define ALWAYS                                                                 \
	(RDMAPMD_DEVICE_CURR_QP_STATE_MOD | RDMAPMD_DEVICE_PORT_ACTIVE_EVENT | \
	 RDMAPMD_DEVICE_SYS_IMAGE_GUID | RDMAPMD_DEVICE_RC_RNR_NAK_GEN)
#define WINDOWS (RDMAPMD_DEVICE_MEM_WINDOW | RDMAPMD_DEVICE_MEM_WINDOW_TYPE_2B)

static void
test_what_the_device_has_beyond_queue_pairs(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_device_attr attr;

	assert_int_equal(rdmapmd_device_query(world->context, &attr), 0);
	assert_int_equal(attr.device_cap_flags, ALWAYS | WINDOWS | RDMAPMD_DEVICE_BAD_QKEY_CNTR |
							RDMAPMD_DEVICE_BLOCK_MULTICAST_LOOPBACK);
	/* Checksums and tags are the application's, whatever the device could do about them. */
	assert_int_equal(
		rnic_ethernet_cap_get(&world->dev->caps.ethernet, RNIC_ETHERNET_CAP_CSUM_CAP), 1);
	assert_int_equal(
		rnic_ethernet_cap_get(&world->dev->caps.ethernet, RNIC_ETHERNET_CAP_VLAN_CAP), 1);
	assert_int_equal(attr.raw_packet_caps, 0);
	assert_int_equal(attr.max_mw, attr.max_mr);
	assert_int_equal(attr.max_ah, INT32_MAX);
	assert_int_equal(attr.max_mcast_grp, 4096);
	assert_int_equal(attr.max_mcast_qp_attach, 240);
	assert_int_equal(attr.max_total_mcast_qp_attach, 4096 * 240);
	assert_int_equal(attr.max_res_rd_atom, attr.max_qp * attr.max_qp_rd_atom);
	assert_int_equal(attr.max_cq_count, 65535);
	assert_int_equal(attr.max_cq_period, 4095);
	/* Its clock has nanoseconds. */
	assert_int_equal(attr.hca_core_clock, 1000000);
	assert_true(attr.completion_timestamp_mask == INT64_MAX);
}

/* As cards have them that are older, or restricted. */
static void
test_what_a_device_lacks(void **state)
{
	static const enum rnic_general_cap_field lacking[] = {
		RNIC_GENERAL_CAP_UD,
		RNIC_GENERAL_CAP_QKV,
		RNIC_GENERAL_CAP_IMAICL,
		RNIC_GENERAL_CAP_BLOCK_LB_MC,
		RNIC_GENERAL_CAP_CQ_MODERATION,
		RNIC_GENERAL_CAP_DEVICE_FREQUENCY_KHZ,
	};
	struct unit_verbs *world = *state;
	struct rnic_caps *caps = &world->dev->caps;
	struct rdmapmd_context *context;
	struct rdmapmd_device_attr attr;
	unsigned int i;

	for (i = 0; i < RTE_DIM(lacking); i++)
		rnic_general_cap_set(&caps->general, lacking[i], 0);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_PKV, 1);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_LOG_MAX_QP, 31);
	rnic_ethernet_cap_set(&caps->ethernet, RNIC_ETHERNET_CAP_VLAN_CAP, 0);
	rnic_ethernet_cap_set(&caps->ethernet, RNIC_ETHERNET_CAP_CSUM_CAP, 0);
	rnic_ethernet_cap_set(&caps->ethernet, RNIC_ETHERNET_CAP_SCATTER_FCS, 1);
	world->dev->system_image_guid = 0;
	/* What is said is what was so when the context was opened. */
	assert_int_equal(rdmapmd_device_query(world->context, &attr), 0);
	assert_int_not_equal(attr.max_mw, 0);
	assert_int_equal(rdmapmd_device_open(world->dev->device, &context), 0);
	assert_int_equal(rdmapmd_device_query(context, &attr), 0);
	assert_int_equal(attr.device_cap_flags,
			 (ALWAYS & ~RDMAPMD_DEVICE_SYS_IMAGE_GUID) | RDMAPMD_DEVICE_BAD_PKEY_CNTR);
	assert_int_equal(attr.raw_packet_caps, 0);
	assert_int_equal(attr.max_mw, 0);
	assert_int_equal(attr.max_ah, 0);
	assert_int_equal(attr.max_mcast_grp, 0);
	assert_int_equal(attr.max_mcast_qp_attach, 0);
	assert_int_equal(attr.max_total_mcast_qp_attach, 0);
	assert_int_equal(attr.max_cq_count, 0);
	assert_int_equal(attr.max_cq_period, 0);
	assert_int_equal(attr.hca_core_clock, 0);
	assert_true(attr.completion_timestamp_mask == 0);
	/* More than the member holds. */
	assert_int_equal(attr.max_res_rd_atom, UINT32_MAX);
	assert_int_equal(rdmapmd_context_close(context), 0);
}

/* Of each kind of queue that a queue pair may have: 0 free running, 1 real time alone, 2 both. */
static uint64_t
mask_of_clocks(struct unit_verbs *world, unsigned int qp, unsigned int sq, unsigned int rq)
{
	struct rnic_caps *caps = &world->dev->caps;
	struct rdmapmd_context *context;
	struct rdmapmd_device_attr attr;

	rnic_roce_cap_set(&caps->roce, RNIC_ROCE_CAP_QP_TS_FORMAT, qp);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_SQ_TS_FORMAT, sq);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_RQ_TS_FORMAT, rq);
	assert_int_equal(rdmapmd_device_open(world->dev->device, &context), 0);
	assert_int_equal(rdmapmd_device_query(context, &attr), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	return attr.completion_timestamp_mask;
}

static void
test_times_are_of_the_free_running_clock(void **state)
{
	assert_true(mask_of_clocks(*state, 2, 2, 2) == INT64_MAX);
	assert_true(mask_of_clocks(*state, 1, 0, 0) == 0);
	assert_true(mask_of_clocks(*state, 0, 1, 0) == 0);
	assert_true(mask_of_clocks(*state, 0, 0, 1) == 0);
	assert_true(mask_of_clocks(*state, 0, 0, 0) == INT64_MAX);
}

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Not UTC, also where the ethdev has that. */
static void
test_the_clock_runs_from_the_reset_on(void **state)
{
	struct unit_verbs *world = *state;
	uint64_t first, second;

	rnic_general_cap_set(&world->dev->caps.general, RNIC_GENERAL_CAP_RQ_TS_FORMAT,
			     RNIC_TS_CAP_BOTH);
	assert_int_equal(rdmapmd_device_clock_read(world->context, &first), 0);
	assert_int_equal(rdmapmd_device_clock_read(world->context, &second), 0);
	assert_true(0 < first && first < second && second < monotonic_ns());
}

static struct rdmapmd_port_attr
port_of(const struct unit_verbs *world)
{
	struct rdmapmd_port_attr port;

	assert_int_equal(rdmapmd_port_query(world->context, 1, &port), 0);
	return port;
}

static void
assert_link(const struct unit_verbs *world, enum rdmapmd_phys_state state)
{
	const struct rdmapmd_port_attr port = port_of(world);
	const bool up = state == RDMAPMD_PHYS_STATE_LINK_UP;

	assert_int_equal(port.phys_state, state);
	assert_int_equal(port.state, up ? RDMAPMD_PORT_ACTIVE : RDMAPMD_PORT_DOWN);
	assert_int_equal(port.active_speed, up ? 100000 : 0);
	assert_int_equal(port.active_width, up ? 4 : 0);
}

static void
test_what_the_port_is(void **state)
{
	const struct rdmapmd_port_attr port = port_of(*state);

	assert_int_equal(port.link_layer, RDMAPMD_LINK_LAYER_ETHERNET);
	assert_int_equal(port.flags, RDMAPMD_PORT_GRH_REQUIRED);
	assert_int_equal(port.port_cap_flags, RDMAPMD_PORT_CAP_IP_BASED_GIDS);
	assert_int_equal(port.max_mtu, RDMAPMD_MTU_4096);
	assert_int_equal(port.active_mtu, RDMAPMD_MTU_1024);
	assert_int_equal(port.max_msg_sz, 1 << 30);
	assert_int_equal(port.qkey_viol_cntr, 0);
}

/* Off is not the same as without a link. */
static void
test_the_link_comes_and_goes(void **state)
{
	struct unit_verbs *world = *state;

	assert_link(world, RDMAPMD_PHYS_STATE_LINK_UP);
	assert_int_equal(rnic_port_set_admin(world->dev, false), 0);
	unit_wait_for_link(world->dev, false);
	assert_link(world, RDMAPMD_PHYS_STATE_DISABLED);
	assert_int_equal(rnic_port_set_admin(world->dev, true), 0);
	unit_wait_for_link(world->dev, true);
	assert_link(world, RDMAPMD_PHYS_STATE_LINK_UP);
}

/* On a pair whose other end nobody has. */
static void
test_a_port_without_a_link(void **state)
{
	struct unit_verbs world = { 0 };

	(void)state;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "wire=pair:alone", SOCKET_ID_ANY, &world.dev),
			 0);
	assert_int_equal(rdmapmd_device_open(world.dev->device, &world.context), 0);
	assert_link(&world, RDMAPMD_PHYS_STATE_POLLING);
	assert_int_equal(rdmapmd_context_close(world.context), 0);
	rnic_dev_close(world.dev);
}

static const struct CMUnitTest tests[] = {
	UNIT_VERBS_TEST(test_what_the_device_has_beyond_queue_pairs),
	UNIT_VERBS_TEST(test_what_a_device_lacks),
	UNIT_VERBS_TEST(test_times_are_of_the_free_running_clock),
	UNIT_VERBS_TEST(test_the_clock_runs_from_the_reset_on),
	UNIT_VERBS_TEST(test_what_the_port_is),
	UNIT_VERBS_TEST(test_the_link_comes_and_goes),
	UNIT_TEST(test_a_port_without_a_link),
};

UNIT_MAIN("rdma_query", tests)
