/* SPDX-License-Identifier: BSD-3-Clause */

/* The port of a function that has less than the embedded device's: no address, few rights, other links. */

#include "card.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_bus.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "eqs.h"
#include "ethdev/port.h"
#include "ethdev/rx_queue.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/list.h"
#include "prm/reg.h"
#include "prm/vport.h"
#include "rdmapmd.h"

#define NAPS 60000 /* of a millisecond, until something is taken not to come */

static int
setup(void **state)
{
	(void)state;
	card_begin();
	return 0;
}

static struct rnic_dev *
open_device(void)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), 0);
	return dev;
}

static int
teardown(void **state)
{
	(void)state;
	card_end();
	return 0;
}

/* ---- An ethdev on it ---- */

static struct {
	struct rte_mempool *pool;
	uint16_t id;
} port;

static int
setup_port(void **state)
{
	port.pool = rte_pktmbuf_pool_create("card", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					    SOCKET_ID_ANY);
	return port.pool == NULL ? -1 : setup(state);
}

static int
teardown_port(void **state)
{
	int rc = 0;

	if (rte_eth_dev_get_port_by_name(UNIT_DEVICE, &port.id) == 0) {
		rte_eth_dev_stop(port.id);
		rc = rte_eal_hotplug_remove("vdev", UNIT_DEVICE);
	}
	rte_mempool_free(port.pool);
	teardown(state);
	return rc;
}

static struct rnic_dev *
plug_port_with(uint64_t rx_offloads)
{
	struct rte_eth_conf conf = { .rxmode = { .offloads = rx_offloads } };

	assert_int_equal(rte_eal_hotplug_add("vdev", UNIT_DEVICE, "wire=loop"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(UNIT_DEVICE, &port.id), 0);
	assert_int_equal(rte_eth_dev_configure(port.id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 128, SOCKET_ID_ANY, NULL, port.pool),
			 0);
	assert_int_equal(rte_eth_tx_queue_setup(port.id, 0, 128, SOCKET_ID_ANY, NULL), 0);
	return rnic_ethdev_get(&rte_eth_devices[port.id])->dev;
}

static struct rnic_dev *
plug_port(void)
{
	return plug_port_with(0);
}

static void
wait_for_link(struct rnic_dev *dev, bool wanted)
{
	unsigned int naps;
	uint32_t speed;
	bool up;

	for (naps = 0; naps < NAPS; naps++) {
		assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
		if (up == wanted)
			return;
		rte_delay_us_sleep(1000);
	}
	fail_msg("the link does not go %s", wanted ? "up" : "down");
}

/* Sends a frame to an address, on a wire that brings it back, and then one to its own; how many of the two have come. */
static unsigned int
arrive(const struct rte_ether_addr *to)
{
	struct rte_ether_addr own;
	struct rte_mbuf *frames[2], *got;
	unsigned int count = 0, naps, i;
	bool last = false;

	assert_int_equal(rte_eth_macaddr_get(port.id, &own), 0);
	for (i = 0; i < 2; i++) {
		frames[i] = rte_pktmbuf_alloc(port.pool);
		assert_non_null(frames[i]);
		memset(rte_pktmbuf_append(frames[i], 60), (int)i, 60);
		memcpy(rte_pktmbuf_mtod(frames[i], void *), i == 0 ? to : &own, 6);
	}
	assert_int_equal(rte_eth_tx_burst(port.id, 0, frames, 2), 2);
	for (naps = 0; naps < NAPS && !last; naps++) {
		while (rte_eth_rx_burst(port.id, 0, &got, 1) == 1) {
			last |= rte_pktmbuf_mtod(got, const uint8_t *)[20] == 1;
			rte_pktmbuf_free(got);
			count++;
		}
		rte_delay_us_sleep(1000);
	}
	assert_true(last);
	return count;
}

/* ---- A function without an address ---- */

static uint64_t permanent_mac;

static void
answer_mac(uint16_t opcode, uint16_t op_mod, const void *in, void *out)
{
	struct rnic_nic_vport_context *context;

	(void)op_mod;
	(void)in;
	if (opcode != RNIC_CMD_QUERY_NIC_VPORT_CONTEXT)
		return;
	context = rnic_query_nic_vport_context_out_nic_vport_context(out);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32,
				   permanent_mac >> 32);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_31_0,
				   permanent_mac);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_NODE_GUID, 0);
}

/* Addresses that the device was told of, and those of them that nobody can have. */
static unsigned int listed, listed_zero;

static int
count_addresses(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	const struct rnic_modify_nic_vport_context_in *modify = in;
	const struct rnic_mac_entry *entries = (const struct rnic_mac_entry *)(modify + 1);
	uint32_t i, count;

	(void)op_mod;
	(void)out;
	if (!(card_vport_select(opcode, in) & RNIC_NIC_VPORT_ADDRESSES_LIST))
		return CARD_SENDS;
	count = (uint32_t)rnic_nic_vport_context_get(
		(const struct rnic_nic_vport_context *)((const uint8_t *)in + 0x100),
		RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE);
	for (i = 0; i < count; i++) {
		listed++;
		listed_zero += rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_47_32) == 0 &&
			       rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_31_0) == 0;
	}
	return CARD_SENDS;
}

static void
test_a_function_without_an_address_makes_one_up(void **state)
{
	static const uint64_t none[] = { 0, UINT64_C(0x010203040506) };
	static const uint8_t zero[6];
	uint8_t before[6] = { 0 };
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	card.after = answer_mac;
	card.before = count_addresses;
	listed = listed_zero = 0;
	for (i = 0; i < RTE_DIM(none); i++) {
		permanent_mac = none[i];
		dev = open_device();
		assert_int_equal(dev->mac[0] & 3, 2);
		assert_memory_not_equal(dev->mac, before, 6);
		memcpy(before, dev->mac, 6);
		/* Its identity in RDMA is the address, too, as far as nobody has given it another. */
		assert_int_equal(dev->node_guid >> 40,
				 (uint64_t)before[0] << 16 | before[1] << 8 | before[2]);
		assert_int_equal(dev->node_guid & 0xffffff,
				 (uint64_t)before[3] << 16 | before[4] << 8 | before[5]);
		assert_int_equal(card_said("has no MAC address of its own"), i + 1);
		assert_int_equal(rnic_port_set_mac(dev, zero), -EINVAL);
		assert_int_equal(rnic_port_add_mac(dev, zero), -EINVAL);
		assert_memory_equal(dev->mac, before, 6);
		card_close(dev);
	}
	assert_true(listed > 0);
	assert_int_equal(listed_zero, 0);
}

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
is_row(unsigned int i, uint16_t opcode, uint16_t op_mod, const void *in)
{
	const struct rnic_nic_vport_context *context =
		(const struct rnic_nic_vport_context *)((const uint8_t *)in + 0x100);

	if (may_not[i].select != 0)
		return card_vport_select(opcode, in) == may_not[i].select &&
		       (may_not[i].select != RNIC_NIC_VPORT_ADDRESSES_LIST ||
			rnic_nic_vport_context_get(context,
						   RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE) ==
				may_not[i].list);
	return card_register(opcode, in) == may_not[i].reg && op_mod == may_not[i].op_mod;
}

static int
forbid(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	unsigned int i;

	(void)out;
	for (i = 0; i < RTE_DIM(may_not); i++)
		if ((forbidden == i || forbidden == ALL_OF_IT) && is_row(i, opcode, op_mod, in))
			return refusal;
	/* Nobody asks for it before there is a link. */
	return forbidden == ALL_OF_IT && card_register(opcode, in) == RNIC_REG_PTYS ? refusal
										    : CARD_SENDS;
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
		dev = open_device();
		assert_int_equal(card_said("the device refuses"), ++said);
		assert_int_equal(card_said(may_not[forbidden].what), 1);
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
	dev = plug_port();
	/* Whatever the port can have, the vport has this. */
	assert_int_equal(dev->max_mtu, 1500);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_start(port.id), 0);
		wait_for_link(dev, true);
		assert_int_equal(rte_eth_macaddr_get(port.id, &own), 0);
		assert_int_equal(arrive(&own), 2);
		/* It is asked for, and steered; the vport lets no other in. */
		assert_int_equal(rte_eth_dev_mac_addr_add(port.id, &further, 0), 0);
		assert_int_equal(arrive(&further), 1);
		assert_int_equal(rte_eth_dev_stop(port.id), 0);
	}
	/* What an application asks for itself is another thing. */
	assert_int_equal(rte_eth_dev_set_link_down(port.id), -EPERM);
	for (i = 0; i < RTE_DIM(may_not); i++)
		assert_int_equal(card_said(may_not[i].what), 1);
	assert_int_equal(card_said("how fast the link is"), 1);
	assert_int_equal(card_said("longer frames get lost"), 0);
}

static int
forbid_mtus(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)out;
	return card_vport_select(opcode, in) == RNIC_NIC_VPORT_MTU ||
			       (card_register(opcode, in) == RNIC_REG_PMTU &&
				op_mod == RNIC_ACCESS_REG_WRITE)
		       ? -EPERM
		       : CARD_SENDS;
}

static void
test_a_port_that_keeps_its_mtu_is_enough_for_a_smaller_one(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = forbid_mtus;
	dev = plug_port();
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	wait_for_link(dev, true);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 1400), 0);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 1500), 0);
	assert_int_equal(card_said("may not change"), 0);
	assert_int_equal(rnic_port_set_mtu(dev, 1501), -EPERM);
	assert_int_equal(card_said("the port has 1500, which this function may not change"), 1);
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
forbid_port_mtu(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)out;
	return card_register(opcode, in) == RNIC_REG_PMTU &&
			       (op_mod == RNIC_ACCESS_REG_WRITE || pmtu_unknown)
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
	dev = plug_port_with(RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 9000), 0);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	assert_int_equal(card_said("an MTU of 9000 is asked for, and the port has 1500"), 1);
	assert_int_equal(active_mtu(dev), RDMAPMD_MTU_1024);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 9000), -EPERM);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 1400), 0);
	assert_int_equal(rnic_port_mtu(dev, &mtu), 0);
	assert_int_equal(mtu, 1400);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 9000), -EPERM);
	/* It does not even say. */
	pmtu_unknown = true;
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 9000), -EPERM);
	assert_int_equal(active_mtu(dev), RDMAPMD_MTU_1024);
	assert_int_equal(rte_eth_dev_set_mtu(port.id, 1500), 0);
}

static int
forbid_promiscuous(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)op_mod;
	(void)out;
	return card_vport_select(opcode, in) == RNIC_NIC_VPORT_PROMISC ? -EPERM : CARD_SENDS;
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
	dev = plug_port();
	ethdev = rnic_ethdev_get(&rte_eth_devices[port.id]);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	/* Of what nobody has asked for nobody is told. */
	assert_int_equal(card_said("trust on"), 0);
	assert_int_equal(rte_eth_promiscuous_enable(port.id), 0);
	assert_int_equal(card_said("trust on"), 1);
	assert_true(ethdev->steering.entries & ALL_FRAMES);
	/* Now it is trusted: after the next start, or when it is asked for again, all frames come. */
	card.before = NULL;
	assert_int_equal(rte_eth_dev_stop(port.id), 0);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	wait_for_link(dev, true);
	assert_int_equal(arrive(&foreign), 2);
	card.before = forbid_promiscuous;
	assert_int_equal(rte_eth_promiscuous_disable(port.id), 0);
	assert_int_equal(rte_eth_promiscuous_get(port.id), 0);
	assert_int_equal(arrive(&foreign), 1);
	assert_int_equal(rte_eth_allmulticast_enable(port.id), 0);
	assert_int_equal(rte_eth_allmulticast_disable(port.id), 0);
	assert_int_equal(rte_eth_dev_stop(port.id), 0);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	assert_int_equal(card_said("trust on"), 1);
}

static uint16_t vport_mtu_answer;

static void
answer_mtu(uint16_t opcode, uint16_t op_mod, const void *in, void *out)
{
	(void)op_mod;
	(void)in;
	if (opcode == RNIC_CMD_QUERY_NIC_VPORT_CONTEXT)
		rnic_nic_vport_context_set(rnic_query_nic_vport_context_out_nic_vport_context(out),
					   RNIC_NIC_VPORT_CONTEXT_MTU, vport_mtu_answer);
}

/* The port's is that of all functions on it. */
static void
test_the_mtu_is_the_vport_s(void **state)
{
	struct rnic_dev *dev = open_device();
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
	dev = open_device();
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
	dev = open_device();
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
	plug_port();
	assert_int_equal(rte_eth_dev_info_get(port.id, &info), 0);
	assert_true(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	assert_int_equal(rte_eal_hotplug_remove("vdev", UNIT_DEVICE), 0);
	card.caps = caps_of_one_root;
	plug_port();
	assert_int_equal(rte_eth_dev_info_get(port.id, &info), 0);
	assert_int_equal(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 0);
}

static int
refuse_roce(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)op_mod;
	(void)out;
	return card_vport_select(opcode, in) == RNIC_NIC_VPORT_ROCE_EN ? -EINVAL : CARD_SENDS;
}

static void
test_a_port_that_is_refused_roce_has_no_counters_of_it(void **state)
{
	struct rte_eth_xstat_name *names;
	int count, i, of_rdma = 0;

	(void)state;
	card.before = refuse_roce;
	plug_port();
	count = rte_eth_xstats_get_names(port.id, NULL, 0);
	assert_true(count > 0);
	names = calloc((size_t)count, sizeof(*names));
	assert_non_null(names);
	assert_int_equal(rte_eth_xstats_get_names(port.id, names, (unsigned int)count), count);
	for (i = 0; i < count; i++)
		of_rdma += strcmp(names[i].name, "rx_write_requests") == 0;
	free(names);
	assert_int_equal(of_rdma, 0);
}

/* ---- A function that manages its eswitch ---- */

#define TABLE_LOG 2
static struct {
	uint64_t macs[1 << TABLE_LOG]; /* 0: none */
	unsigned int sets, deletes;
	bool unknown; /* the commands are */
} l2;

static int
keep_table(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	/* The index in the sixth dword, the address in the ninth and tenth. */
	const struct rnic_be32 *dword = in;
	const uint32_t index = rnic_be32_to_cpu(dword[5]) & 0xffffff;

	(void)op_mod;
	(void)out;
	if (opcode != 0x829 && opcode != 0x82b)
		return CARD_SENDS;
	if (l2.unknown)
		return -EOPNOTSUPP;
	assert_true(index < RTE_DIM(l2.macs));
	/* An index has one address, and an address one index. */
	assert_true((l2.macs[index] == 0) == (opcode == 0x829));
	l2.macs[index] = opcode == 0x829 ? (uint64_t)(rnic_be32_to_cpu(dword[8]) & 0xffff) << 32 |
						   rnic_be32_to_cpu(dword[9])
					 : 0;
	l2.sets += opcode == 0x829;
	l2.deletes += opcode == 0x82b;
	return CARD_DONE;
}

static void
caps_of_manager(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_ESWITCH_MANAGER, 1);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE, TABLE_LOG);
}

static unsigned int
entered(const uint8_t mac[6])
{
	uint64_t number = 0;
	unsigned int i, times = 0;

	for (i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	for (i = 0; i < RTE_DIM(l2.macs); i++)
		times += l2.macs[i] == number;
	return times;
}

static void
test_unicast_addresses_are_entered_in_the_switch(void **state)
{
	static const uint8_t macs[4][6] = { { 2, 0, 0, 0, 1, 0 },
					    { 2, 0, 0, 0, 1, 1 },
					    { 2, 0, 0, 0, 1, 2 },
					    { 2, 0, 0, 0, 1, 3 } };
	static const uint8_t group[6] = { 1, 0, 0x5e, 0, 0, 1 };
	uint8_t own[6];
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	memset(&l2, 0, sizeof(l2));
	card.before = keep_table;
	/* One of the card's other functions. */
	card_close(open_device());
	assert_int_equal(l2.sets, 0);
	card.caps = caps_of_manager;
	dev = open_device();
	memcpy(own, dev->mac, 6);
	assert_int_equal(entered(own), 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(rnic_port_add_mac(dev, macs[i]), 0);
	assert_int_equal(rnic_port_add_mac(dev, group), 0);
	assert_int_equal(l2.sets, 4);
	assert_int_equal(entered(group), 0);
	/* The table is full: that is said, and the vport has the address all the same. */
	assert_int_equal(rnic_port_add_mac(dev, macs[3]), 0);
	assert_int_equal(card_said("the switch between the card's functions"), 1);
	/* Its place is the next one's. */
	assert_int_equal(rnic_port_del_mac(dev, macs[1]), 0);
	assert_int_equal(entered(macs[1]), 0);
	assert_int_equal(entered(macs[3]), 1);
	assert_int_equal(rnic_port_del_mac(dev, macs[3]), 0);
	assert_int_equal(rnic_port_set_mac(dev, macs[1]), 0);
	assert_int_equal(entered(own), 0);
	assert_int_equal(entered(macs[1]), 1);
	assert_int_equal(card_said("the switch between the card's functions"), 1);
	card_close(dev);
	assert_int_equal(l2.sets, l2.deletes);
	/* Firmware that does not know the commands. */
	l2.unknown = true;
	dev = open_device();
	assert_int_equal(rnic_port_add_mac(dev, macs[0]), 0);
	assert_int_equal(card_said("the switch between the card's functions"), 2);
	card_close(dev);
}

static int
keep_table_and_no_list(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	const int rc = forbid(opcode, op_mod, in, out);

	return rc != CARD_SENDS ? rc : keep_table(opcode, op_mod, in, out);
}

/* Frames come by the switch first, whatever the vport says to its list. */
static void
test_the_switch_has_the_address_of_a_vport_that_refuses_its_list(void **state)
{
	static const int refusals[] = { -EPERM, -ENOSPC };
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	card.caps = caps_of_manager;
	card.before = keep_table_and_no_list;
	forbidden = 0;
	for (i = 0; i < RTE_DIM(refusals); i++) {
		memset(&l2, 0, sizeof(l2));
		refusal = refusals[i];
		dev = open_device();
		assert_int_equal(entered(dev->mac), 1);
		card_close(dev);
	}
}

/* ---- The link ---- */

static const struct rnic_paos_reg *
paos_of(const void *data)
{
	/* Behind the command's header, in as well as out. */
	return (const struct rnic_paos_reg *)((const uint8_t *)data + 0x10);
}

static struct {
	uint32_t extended, legacy, rate;
} link_answer;

static void
answer_link(uint16_t opcode, uint16_t op_mod, const void *in, void *out)
{
	struct rnic_ptys_reg *ptys = (struct rnic_ptys_reg *)((uint8_t *)out + 0x10);

	(void)op_mod;
	if (card_register(opcode, in) != RNIC_REG_PTYS)
		return;
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_EXT_ETH_PROTO_OPER, link_answer.extended);
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_ETH_PROTO_OPER, link_answer.legacy);
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_DATA_RATE_OPER, link_answer.rate);
}

static void
test_speeds_of_newer_links(void **state)
{
	static const struct {
		uint32_t extended, legacy, rate, speed;
	} links[] = {
		{ 1u << 12, 0, 0, 200000 },    { 1u << 14, 0, 0, 200000 },
		{ 1u << 16, 0, 0, 400000 },    { 1u << 17, 0, 0, 400000 },
		{ 1u << 19, 0, 0, 800000 },    { 1u << 20, 0, 0, 800000 },
		{ 0, 1u << 20, 0, 100000 },    { 1u << 23, 0, 16000, 1600000 },
		{ 1u << 17, 0, 4000, 400000 }, { 0, 0, 0, 0 },
	};
	struct rnic_dev *dev = open_device();
	uint32_t speed;
	unsigned int i;
	bool up;

	(void)state;
	wait_for_link(dev, true);
	card.after = answer_link;
	for (i = 0; i < RTE_DIM(links); i++) {
		link_answer.extended = links[i].extended;
		link_answer.legacy = links[i].legacy;
		link_answer.rate = links[i].rate;
		assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
		assert_int_equal(speed, links[i].speed);
	}
	card_close(dev);
}

static unsigned int went_up, went_down;

static int
count_states(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	uint64_t status;

	(void)out;
	if (card_register(opcode, in) != RNIC_REG_PAOS || op_mod != RNIC_ACCESS_REG_WRITE)
		return CARD_SENDS;
	status = rnic_paos_reg_get(paos_of(in), RNIC_PAOS_REG_ADMIN_STATUS);
	went_up += status == RNIC_PORT_UP;
	went_down += status == RNIC_PORT_DOWN;
	return CARD_SENDS;
}

static void
test_a_stop_leaves_the_link(void **state)
{
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	card.before = count_states;
	went_down = 0;
	dev = plug_port();
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_dev_start(port.id), 0);
		wait_for_link(dev, true);
		assert_int_equal(rte_eth_dev_stop(port.id), 0);
	}
	assert_int_equal(went_down, 0);
	wait_for_link(dev, true);
	/* Who wants it down says so; a start is as good as the opposite. */
	assert_int_equal(rte_eth_dev_set_link_down(port.id), 0);
	assert_int_equal(went_down, 1);
	wait_for_link(dev, false);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	wait_for_link(dev, true);
}

static void
answer_down(uint16_t opcode, uint16_t op_mod, const void *in, void *out)
{
	if (card_register(opcode, in) == RNIC_REG_PAOS && op_mod == RNIC_ACCESS_REG_READ)
		rnic_paos_reg_set((struct rnic_paos_reg *)((uint8_t *)out + 0x10),
				  RNIC_PAOS_REG_ADMIN_STATUS, RNIC_PORT_DOWN);
}

static void
test_a_port_is_left_as_it_was_found(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = count_states;
	went_up = went_down = 0;
	card_close(open_device());
	assert_int_equal(went_down, 0);
	/* An application's wish ends with it. */
	dev = open_device();
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_int_equal(went_down, 1);
	went_up = 0;
	card_close(dev);
	assert_int_equal(went_down, 1);
	assert_int_equal(went_up, 1);
	/* One that was down: up while it is in use. */
	card.after = answer_down;
	went_down = 0;
	dev = open_device();
	assert_int_equal(went_up, 2);
	assert_int_equal(went_down, 0);
	card_close(dev);
	assert_int_equal(went_down, 1);
}

/* ---- What the card says of itself ---- */

#define MODULE	    (UINT64_C(1) << 0x16)
#define TEMPERATURE (UINT64_C(1) << 0x17)

static uint64_t asked_events;

static int
note_events(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)op_mod;
	(void)out;
	if (opcode == RNIC_CMD_CREATE_EQ)
		asked_events |= rnic_create_eq_in_get(in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0);
	return CARD_SENDS;
}

static void
caps_of_events(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_PORT_MODULE_EVENT, 1);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_TEMP_WARN_EVENT, 1);
}

/* An event as the device would have written it into a queue that nobody else walks. */
static void
raise_event(struct rnic_dev *dev, uint8_t type, const uint32_t data[4])
{
	struct rnic_eq *eq;
	struct rnic_eqe *eqe;
	unsigned int i;

	assert_int_equal(rnic_eq_create(dev, 4, 0, 0, rnic_event_handle, &eq), 0);
	eqe = unit_eqs.last.address;
	eqe->type = type;
	for (i = 0; i < 4; i++)
		eqe->data[i] = rnic_cpu_to_be32(data[i]);
	__atomic_store_n(&eqe->owner, 0, __ATOMIC_RELEASE);
	assert_int_equal(rnic_eq_poll(dev, eq), 1);
	rnic_eq_destroy(dev, eq);
}

static void
test_modules_and_temperatures_are_told_of(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = note_events;
	asked_events = 0;
	card_close(open_device());
	assert_int_equal(asked_events & (MODULE | TEMPERATURE), 0);
	card.caps = caps_of_events;
	dev = open_device();
	assert_int_equal(asked_events & MODULE, MODULE);
	assert_int_equal(asked_events & TEMPERATURE, TEMPERATURE);
	raise_event(dev, 0x16, (const uint32_t[4]){ 1 << 16 | 2 });
	assert_int_equal(card_said("module 1: unplugged"), 1);
	raise_event(dev, 0x16, (const uint32_t[4]){ 3, 7 << 8 });
	assert_int_equal(card_said("module 0: bad or shorted cable"), 1);
	raise_event(dev, 0x17, (const uint32_t[4]){ 0, 0, 0, 5 });
	assert_int_equal(card_said("too warm (sensors 0x00000000000000000000000000000005)"), 1);
	card_close(dev);
}

/* ---- The clock ---- */

static unsigned int clocks; /* RQ_TS_FORMAT: 0 free running, 1 real time, 2 both */

static void
caps_of_clocks(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_RQ_TS_FORMAT, clocks);
}

static uint32_t asked_format;

static int
note_format(uint16_t opcode, uint16_t op_mod, void *in, void *out)
{
	(void)op_mod;
	(void)out;
	if (opcode == RNIC_CMD_CREATE_RQ)
		asked_format = rnic_be32_to_cpu(((const struct rnic_be32 *)in)[0x20 / 4]) >> 4 & 3;
	return CARD_SENDS;
}

/* The time of a frame whose completion has these two dwords. */
static uint64_t
time_told(uint32_t high, uint32_t low, int offset)
{
	struct rnic_rxq *rxq = rte_eth_devices[port.id].data->rx_queues[0];
	struct rte_mbuf *frame = rte_pktmbuf_alloc(port.pool);
	struct rnic_cqe *cqe;
	unsigned int naps;
	uint64_t told;

	assert_non_null(frame);
	memset(rte_pktmbuf_append(frame, 60), 0xff, 60);
	assert_int_equal(rte_eth_tx_burst(port.id, 0, &frame, 1), 1);
	for (naps = 0; naps < NAPS && rte_eth_rx_queue_count(port.id, 0) == 0; naps++)
		rte_delay_us_sleep(1000);
	cqe = &rxq->cq.ring[rxq->cq.consumer & rxq->cq.mask];
	cqe->timestamp = rnic_cpu_to_be64((uint64_t)high << 32 | low);
	assert_int_equal(rte_eth_rx_burst(port.id, 0, &frame, 1), 1);
	told = *RTE_MBUF_DYNFIELD(frame, offset, rte_mbuf_timestamp_t *);
	rte_pktmbuf_free(frame);
	return told;
}

static uint64_t
utc_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Both in nanoseconds of UTC, or both in the free running clock's. */
static void
test_frames_and_reads_are_of_one_clock(void **state)
{
	uint64_t before, clock, after;
	int offset;

	(void)state;
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&offset, NULL), 0);
	card.caps = caps_of_clocks;
	card.before = note_format;
	for (clocks = 0; clocks < 3; clocks++) {
		if (clocks > 0)
			assert_int_equal(rte_eal_hotplug_remove("vdev", UNIT_DEVICE), 0);
		wait_for_link(plug_port_with(RTE_ETH_RX_OFFLOAD_TIMESTAMP), true);
		assert_int_equal(rte_eth_dev_start(port.id), 0);
		/* Where there are two the driver says which. */
		assert_int_equal(asked_format, clocks);
		before = utc_ns();
		assert_int_equal(rte_eth_read_clock(port.id, &clock), 0);
		after = utc_ns();
		if (clocks == 0) {
			assert_true(time_told(7, 5, offset) == (UINT64_C(7) << 32 | 5));
			assert_true(clock < before);
		} else {
			assert_true(time_told(1700000000, 999999999, offset) ==
				    UINT64_C(1700000000999999999));
			assert_true(before <= clock && clock <= after);
		}
		assert_int_equal(rte_eth_dev_stop(port.id), 0);
	}
}

#define PORT_TEST(name)	  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define ETHDEV_TEST(name) cmocka_unit_test_setup_teardown(name, setup_port, teardown_port)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(test_a_function_without_an_address_makes_one_up),
		PORT_TEST(test_each_thing_that_a_function_may_not_is_a_warning),
		ETHDEV_TEST(test_a_port_of_few_rights_carries_frames),
		ETHDEV_TEST(test_all_frames_of_a_vport_that_will_not),
		ETHDEV_TEST(test_a_port_that_keeps_its_mtu_is_enough_for_a_smaller_one),
		ETHDEV_TEST(test_a_port_that_keeps_its_mtu_below_a_vport_that_does_not),
		PORT_TEST(test_the_mtu_is_the_vport_s),
		PORT_TEST(test_an_mtu_that_nobody_says),
		ETHDEV_TEST(test_vlans_are_filtered_where_the_root_can_be_moved),
		ETHDEV_TEST(test_a_port_that_is_refused_roce_has_no_counters_of_it),
		PORT_TEST(test_unicast_addresses_are_entered_in_the_switch),
		PORT_TEST(test_the_switch_has_the_address_of_a_vport_that_refuses_its_list),
		PORT_TEST(test_speeds_of_newer_links),
		ETHDEV_TEST(test_a_stop_leaves_the_link),
		PORT_TEST(test_a_port_is_left_as_it_was_found),
		PORT_TEST(test_modules_and_temperatures_are_told_of),
		ETHDEV_TEST(test_frames_and_reads_are_of_one_clock),
	};

	return cmocka_run_group_tests_name("card_port", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
