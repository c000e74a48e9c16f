/* SPDX-License-Identifier: BSD-3-Clause */

/* The port of a function that may not change, or is not told, what the embedded device's may; and what is not offered then. */

#include "card_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_common.h>
#include <rte_dev.h>

#include "core/dev.h"
#include "ethdev/port.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/list.h"
#include "prm/reg.h"
#include "prm/vport.h"
#include "rdmapmd.h"

/* ---- A function of few rights ---- */

/* Of one of these rows, or of all. */
static const struct {
	const char *what;
	uint32_t select;
	enum rnic_allowed_list_type list;
	uint16_t reg, op_mod;
} may_not[] = {
	{ "unicast", RNIC_NIC_VPORT_ADDRESSES_LIST, RNIC_ALLOWED_LIST_UC, 0, 0 },
	{ "multicast", RNIC_NIC_VPORT_ADDRESSES_LIST, RNIC_ALLOWED_LIST_MC, 0, 0 },
	{ "an MTU for the vport", RNIC_NIC_VPORT_MTU, 0, 0, 0 },
	{ "how large an MTU", 0, 0, RNIC_REG_PMTU, RNIC_ACCESS_REG_READ },
	{ "an MTU for the port", 0, 0, RNIC_REG_PMTU, RNIC_ACCESS_REG_WRITE },
	{ "the port's state", 0, 0, RNIC_REG_PAOS, RNIC_ACCESS_REG_WRITE },
};
#define ALL_OF_IT RTE_DIM(may_not)

static unsigned int forbidden;
static int refusal;

static bool
is_row(unsigned int i, const struct card_command *c)
{
	const struct rnic_nic_vport_context *context =
		(const struct rnic_nic_vport_context *)((const uint8_t *)c->in + 0x100);

	if (may_not[i].select != 0)
		return card_vport_select(c) == may_not[i].select &&
		       (may_not[i].select != RNIC_NIC_VPORT_ADDRESSES_LIST ||
			rnic_nic_vport_context_get(context,
						   RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE) ==
				may_not[i].list);
	return card_register(c) == may_not[i].reg && c->op_mod == may_not[i].op_mod;
}

static int
forbid(const struct card_command *c)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(may_not); i++)
		if ((forbidden == i || forbidden == ALL_OF_IT) && is_row(i, c))
			return refusal;
	/* Nobody asks for it before there is a link. */
	return forbidden == ALL_OF_IT && card_register(c) == RNIC_REG_PTYS ? refusal : CARD_SENDS;
}

static void
test_each_thing_that_a_function_may_not_is_a_warning(void **state)
{
	static const int refusals[] = { -EPERM, -EINVAL, -EOPNOTSUPP, -EREMOTEIO, -ENOSPC };
	struct rnic_dev *dev;
	unsigned int said = 0;

	(void)state;
	card.before = forbid;
	for (forbidden = 0; forbidden < RTE_DIM(may_not); forbidden++) {
		refusal = refusals[forbidden % RTE_DIM(refusals)];
		dev = card_opened();
		assert_int_equal(unit_said("the device refuses"), ++said);
		assert_int_equal(unit_said(may_not[forbidden].what), 1);
		card_close(dev);
	}
}

static void
test_a_port_of_few_rights_carries_frames(void **state)
{
	struct rte_ether_addr further = { { 2, 0, 0, 0, 0, 7 } }, own;
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	forbidden = ALL_OF_IT;
	refusal = -EPERM;
	card.before = forbid;
	dev = card_port_plug(0);
	/* Whatever the port can have, the vport has this. */
	assert_int_equal(dev->max_mtu, 1500);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_start(card_port.id), 0);
		unit_wait_for_link(dev, true);
		assert_int_equal(rte_eth_macaddr_get(card_port.id, &own), 0);
		assert_int_equal(card_port_arrive(&own), 2);
		/* It is asked for, and steered; the vport lets no other in. */
		assert_int_equal(rte_eth_dev_mac_addr_add(card_port.id, &further, 0), 0);
		assert_int_equal(card_port_arrive(&further), 1);
		assert_int_equal(rte_eth_dev_stop(card_port.id), 0);
	}
	/* What an application asks for itself is another thing. */
	assert_int_equal(rte_eth_dev_set_link_down(card_port.id), -EPERM);
	for (i = 0; i < RTE_DIM(may_not); i++)
		assert_int_equal(unit_said(may_not[i].what), 1);
	assert_int_equal(unit_said("how fast the link is"), 1);
	assert_int_equal(unit_said("longer frames get lost"), 0);
}

static int
forbid_mtus(const struct card_command *c)
{
	return card_vport_select(c) == RNIC_NIC_VPORT_MTU || (card_register(c) == RNIC_REG_PMTU &&
							      c->op_mod == RNIC_ACCESS_REG_WRITE)
		       ? -EPERM
		       : CARD_SENDS;
}

static void
test_a_port_that_keeps_its_mtu_is_enough_for_a_smaller_one(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = forbid_mtus;
	dev = card_port_plug(0);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	unit_wait_for_link(dev, true);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 1400), 0);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 1500), 0);
	assert_int_equal(unit_said("may not change"), 0);
	assert_int_equal(rnic_port_set_mtu(dev, 1501), -EPERM);
	assert_int_equal(unit_said("the port has 1500, which this function may not change"), 1);
}

static enum rdmapmd_mtu
active_mtu(struct rnic_dev *dev)
{
	struct rdmapmd_context *context;
	struct rdmapmd_port_attr attr;

	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	assert_int_equal(rdmapmd_port_query(context, 1, &attr), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	return attr.active_mtu;
}

static bool pmtu_unknown;

/* The vport's is taken. */
static int
forbid_port_mtu(const struct card_command *c)
{
	return card_register(c) == RNIC_REG_PMTU &&
			       (c->op_mod == RNIC_ACCESS_REG_WRITE || pmtu_unknown)
		       ? -EPERM
		       : CARD_SENDS;
}

/* What the vport takes is not what the port has. */
static void
test_a_port_that_keeps_its_mtu_below_a_vport_that_does_not(void **state)
{
	struct rnic_dev *dev;
	uint16_t mtu;

	(void)state;
	card.before = forbid_port_mtu;
	pmtu_unknown = false;
	dev = card_port_plug(RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 9000), 0);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	assert_int_equal(unit_said("an MTU of 9000 is asked for, and the port has 1500"), 1);
	assert_int_equal(active_mtu(dev), RDMAPMD_MTU_1024);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 9000), -EPERM);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 1400), 0);
	assert_int_equal(rnic_port_mtu(dev, &mtu), 0);
	assert_int_equal(mtu, 1400);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 9000), -EPERM);
	/* It does not even say. */
	pmtu_unknown = true;
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 9000), -EPERM);
	assert_int_equal(active_mtu(dev), RDMAPMD_MTU_1024);
	assert_int_equal(rte_eth_dev_set_mtu(card_port.id, 1500), 0);
}

static int
forbid_promiscuous(const struct card_command *c)
{
	return card_vport_select(c) == RNIC_NIC_VPORT_PROMISC ? -EPERM : CARD_SENDS;
}

#define ALL_FRAMES (1u << 9) /* of the bitmap of entries, as in the table of steer.c */

/* Each start says it anew, as ethdev has it. */
static void
test_all_frames_of_a_vport_that_will_not(void **state)
{
	const struct rte_ether_addr foreign = { { 2, 0xff, 0, 0, 0, 1 } };
	const struct rnic_ethdev *ethdev;
	struct rnic_dev *dev;

	(void)state;
	card.before = forbid_promiscuous;
	dev = card_port_plug(0);
	ethdev = rnic_ethdev_get(&rte_eth_devices[card_port.id]);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	/* Of what nobody has asked for nobody is told. */
	assert_int_equal(unit_said("trust on"), 0);
	assert_int_equal(rte_eth_promiscuous_enable(card_port.id), 0);
	assert_int_equal(unit_said("trust on"), 1);
	assert_true(ethdev->steering.entries & ALL_FRAMES);
	/* Now it is trusted: after the next start, or when it is asked for again, all frames come. */
	card.before = NULL;
	assert_int_equal(rte_eth_dev_stop(card_port.id), 0);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	unit_wait_for_link(dev, true);
	assert_int_equal(card_port_arrive(&foreign), 2);
	card.before = forbid_promiscuous;
	assert_int_equal(rte_eth_promiscuous_disable(card_port.id), 0);
	assert_int_equal(rte_eth_promiscuous_get(card_port.id), 0);
	assert_int_equal(card_port_arrive(&foreign), 1);
	assert_int_equal(rte_eth_allmulticast_enable(card_port.id), 0);
	assert_int_equal(rte_eth_allmulticast_disable(card_port.id), 0);
	assert_int_equal(rte_eth_dev_stop(card_port.id), 0);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	assert_int_equal(unit_said("trust on"), 1);
}

static uint16_t vport_mtu_answer;

static void
answer_mtu(const struct card_command *c)
{
	if (c->opcode == RNIC_CMD_QUERY_NIC_VPORT_CONTEXT)
		rnic_nic_vport_context_set(
			rnic_query_nic_vport_context_out_nic_vport_context(c->out),
			RNIC_NIC_VPORT_CONTEXT_MTU, vport_mtu_answer);
}

/* The port's is that of all functions on it. */
static void
test_the_mtu_is_the_vport_s(void **state)
{
	struct rnic_dev *dev = card_opened();
	uint16_t mtu = 0;

	(void)state;
	card.after = answer_mtu;
	vport_mtu_answer = 1400 + 22;
	assert_int_equal(rnic_port_mtu(dev, &mtu), 0);
	assert_int_equal(mtu, 1400);
	/* A vport that says none. */
	vport_mtu_answer = 0;
	assert_int_equal(rnic_port_mtu(dev, &mtu), 0);
	assert_int_equal(mtu, 1500);
	card_close(dev);
	card.before = forbid;
	forbidden = ALL_OF_IT;
	refusal = -EPERM;
	dev = card_opened();
	assert_int_equal(dev->max_mtu, 9978);
	card_close(dev);
}

/* Neither of the vport nor of the port: no more is promised than each port has. */
static void
test_an_mtu_that_nobody_says(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.after = answer_mtu;
	vport_mtu_answer = 0;
	card.before = forbid_port_mtu;
	pmtu_unknown = true;
	dev = card_opened();
	assert_int_equal(dev->max_mtu, 9978);
	assert_int_equal(active_mtu(dev), RDMAPMD_MTU_1024);
	card_close(dev);
}

/* ---- What is not offered ---- */

static void
caps_of_one_root(struct rnic_caps *caps)
{
	rnic_flow_table_props_set(rnic_flow_table_cap_nic_receive(&caps->flow_table),
				  RNIC_FLOW_TABLE_PROPS_MODIFY_ROOT, 0);
}

static void
test_vlans_are_filtered_where_the_root_can_be_moved(void **state)
{
	struct rte_eth_dev_info info;

	(void)state;
	card_port_plug(0);
	assert_int_equal(rte_eth_dev_info_get(card_port.id, &info), 0);
	assert_true(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	assert_int_equal(rte_eal_hotplug_remove("vdev", UNIT_DEVICE), 0);
	card.caps = caps_of_one_root;
	card_port_plug(0);
	assert_int_equal(rte_eth_dev_info_get(card_port.id, &info), 0);
	assert_int_equal(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 0);
}

static int
refuse_roce(const struct card_command *c)
{
	return card_vport_select(c) == RNIC_NIC_VPORT_ROCE_EN ? -EINVAL : CARD_SENDS;
}

static void
test_a_port_that_is_refused_roce_has_no_counters_of_it(void **state)
{
	struct rte_eth_xstat_name *names;
	int count, i, of_rdma = 0;

	(void)state;
	card.before = refuse_roce;
	card_port_plug(0);
	count = rte_eth_xstats_get_names(card_port.id, NULL, 0);
	assert_true(count > 0);
	names = calloc((size_t)count, sizeof(*names));
	assert_non_null(names);
	assert_int_equal(rte_eth_xstats_get_names(card_port.id, names, (unsigned int)count), count);
	for (i = 0; i < count; i++)
		of_rdma += strcmp(names[i].name, "rx_write_requests") == 0;
	free(names);
	assert_int_equal(of_rdma, 0);
}

static const struct CMUnitTest tests[] = {
	CARD_TEST(test_each_thing_that_a_function_may_not_is_a_warning),
	CARD_PORT_TEST(test_a_port_of_few_rights_carries_frames),
	CARD_PORT_TEST(test_all_frames_of_a_vport_that_will_not),
	CARD_PORT_TEST(test_a_port_that_keeps_its_mtu_is_enough_for_a_smaller_one),
	CARD_PORT_TEST(test_a_port_that_keeps_its_mtu_below_a_vport_that_does_not),
	CARD_TEST(test_the_mtu_is_the_vport_s),
	CARD_TEST(test_an_mtu_that_nobody_says),
	CARD_PORT_TEST(test_vlans_are_filtered_where_the_root_can_be_moved),
	CARD_PORT_TEST(test_a_port_that_is_refused_roce_has_no_counters_of_it),
};

UNIT_MAIN("card_rights", tests)
