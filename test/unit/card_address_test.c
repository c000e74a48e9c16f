/* SPDX-License-Identifier: BSD-3-Clause */

/* Addresses of a function: that it has none, and how the switch between a card's functions knows of them. */

#include "card.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "core/dev.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/list.h"
#include "prm/vport.h"

/* ---- A function without an address ---- */

static uint64_t permanent_mac;

static void
answer_mac(const struct card_command *c)
{
	struct rnic_nic_vport_context *context;

	if (c->opcode != RNIC_CMD_QUERY_NIC_VPORT_CONTEXT)
		return;
	context = rnic_query_nic_vport_context_out_nic_vport_context(c->out);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32,
				   permanent_mac >> 32);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_31_0,
				   permanent_mac);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_NODE_GUID, 0);
}

/* Addresses that the device was told of, and those of them that nobody can have. */
static unsigned int listed, listed_zero;

static int
count_addresses(const struct card_command *c)
{
	const struct rnic_modify_nic_vport_context_in *modify = c->in;
	const struct rnic_mac_entry *entries = (const struct rnic_mac_entry *)(modify + 1);
	uint32_t i, count;

	if (!(card_vport_select(c) & RNIC_NIC_VPORT_ADDRESSES_LIST))
		return CARD_SENDS;
	count = (uint32_t)rnic_nic_vport_context_get(
		(const struct rnic_nic_vport_context *)((const uint8_t *)c->in + 0x100),
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
		dev = card_opened();
		assert_int_equal(dev->mac[0] & 3, 2);
		assert_memory_not_equal(dev->mac, before, 6);
		memcpy(before, dev->mac, 6);
		/* Its identity in RDMA is the address, too, as far as nobody has given it another. */
		assert_int_equal(dev->node_guid >> 40,
				 (uint64_t)before[0] << 16 | before[1] << 8 | before[2]);
		assert_int_equal(dev->node_guid & 0xffffff,
				 (uint64_t)before[3] << 16 | before[4] << 8 | before[5]);
		assert_int_equal(unit_said("has no MAC address of its own"), i + 1);
		assert_int_equal(rnic_port_set_mac(dev, zero), -EINVAL);
		assert_int_equal(rnic_port_add_mac(dev, zero), -EINVAL);
		assert_memory_equal(dev->mac, before, 6);
		card_close(dev);
	}
	assert_true(listed > 0);
	assert_int_equal(listed_zero, 0);
}

/* ---- A function that manages its eswitch ---- */

#define TABLE_LOG 2
static struct {
	uint64_t macs[1 << TABLE_LOG]; /* 0: none */
	unsigned int sets, deletes;
	bool unknown; /* the commands are */
} l2;

static int
keep_table(const struct card_command *c)
{
	/* The index in the sixth dword, the address in the ninth and tenth. */
	const struct rnic_be32 *dword = c->in;
	uint32_t index;

	if (c->opcode != 0x829 && c->opcode != 0x82b)
		return CARD_SENDS;
	index = rnic_be32_to_cpu(dword[5]) & 0xffffff;
	if (l2.unknown)
		return -EOPNOTSUPP;
	assert_true(index < RTE_DIM(l2.macs));
	/* An index has one address, and an address one index. */
	assert_true((l2.macs[index] == 0) == (c->opcode == 0x829));
	l2.macs[index] = c->opcode == 0x829
				 ? (uint64_t)(rnic_be32_to_cpu(dword[8]) & 0xffff) << 32 |
					   rnic_be32_to_cpu(dword[9])
				 : 0;
	l2.sets += c->opcode == 0x829;
	l2.deletes += c->opcode == 0x82b;
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
	card_close(card_opened());
	assert_int_equal(l2.sets, 0);
	card.caps = caps_of_manager;
	dev = card_opened();
	memcpy(own, dev->mac, 6);
	assert_int_equal(entered(own), 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(rnic_port_add_mac(dev, macs[i]), 0);
	assert_int_equal(rnic_port_add_mac(dev, group), 0);
	assert_int_equal(l2.sets, 4);
	assert_int_equal(entered(group), 0);
	/* The table is full: that is said, and the vport has the address all the same. */
	assert_int_equal(rnic_port_add_mac(dev, macs[3]), 0);
	assert_int_equal(unit_said("the switch between the card's functions"), 1);
	/* Its place is the next one's. */
	assert_int_equal(rnic_port_del_mac(dev, macs[1]), 0);
	assert_int_equal(entered(macs[1]), 0);
	assert_int_equal(entered(macs[3]), 1);
	assert_int_equal(rnic_port_del_mac(dev, macs[3]), 0);
	assert_int_equal(rnic_port_set_mac(dev, macs[1]), 0);
	assert_int_equal(entered(own), 0);
	assert_int_equal(entered(macs[1]), 1);
	assert_int_equal(unit_said("the switch between the card's functions"), 1);
	card_close(dev);
	assert_int_equal(l2.sets, l2.deletes);
	/* Firmware that does not know the commands. */
	l2.unknown = true;
	dev = card_opened();
	assert_int_equal(rnic_port_add_mac(dev, macs[0]), 0);
	assert_int_equal(unit_said("the switch between the card's functions"), 2);
	card_close(dev);
}

/* Of the unicast list. */
static int list_refusal;

static int
keep_table_and_no_list(const struct card_command *c)
{
	const struct rnic_nic_vport_context *context =
		(const struct rnic_nic_vport_context *)((const uint8_t *)c->in + 0x100);

	if (card_vport_select(c) == RNIC_NIC_VPORT_ADDRESSES_LIST &&
	    rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE) ==
		    RNIC_ALLOWED_LIST_UC)
		return list_refusal;
	return keep_table(c);
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
	for (i = 0; i < RTE_DIM(refusals); i++) {
		memset(&l2, 0, sizeof(l2));
		list_refusal = refusals[i];
		dev = card_opened();
		assert_int_equal(entered(dev->mac), 1);
		card_close(dev);
	}
}

/* ---- The list of multicast addresses ---- */

#define LIST 128u /* of the device */

/* The list as it was said last. */
static struct {
	uint32_t count;
	uint64_t macs[LIST];
} heard;

static int
hear_list(const struct card_command *c)
{
	const struct rnic_modify_nic_vport_context_in *modify = c->in;
	const struct rnic_mac_entry *entries = (const struct rnic_mac_entry *)(modify + 1);
	const struct rnic_nic_vport_context *context =
		(const struct rnic_nic_vport_context *)((const uint8_t *)c->in + 0x100);
	uint32_t i;

	if (!(card_vport_select(c) & RNIC_NIC_VPORT_ADDRESSES_LIST) ||
	    rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE) !=
		    RNIC_ALLOWED_LIST_MC)
		return CARD_SENDS;
	heard.count = (uint32_t)rnic_nic_vport_context_get(
		context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE);
	assert_true(heard.count <= LIST);
	for (i = 0; i < heard.count; i++)
		heard.macs[i] = rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_47_32)
					<< 32 |
				rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_31_0);
	return CARD_SENDS;
}

static const uint8_t *
group_mac(uint8_t kind, uint32_t number)
{
	static uint8_t mac[6] = { 0x33, 0x33 };

	mac[2] = kind;
	mac[4] = (uint8_t)(number >> 8);
	mac[5] = (uint8_t)number;
	return mac;
}

static bool
is_listed(uint8_t kind, uint32_t number)
{
	const uint64_t mac = UINT64_C(0x333300000000) | (uint64_t)kind << 24 | number;
	uint32_t i;

	for (i = 0; i < heard.count; i++)
		if (heard.macs[i] == mac)
			return true;
	return false;
}

/* They have what others leave of it, and are joined without; a list that is full of the others is an error. */
static void
test_groups_leave_room_in_the_list(void **state)
{
	enum { GROUP = 1, FRAMES = 2 };
	struct rnic_dev *dev;
	uint32_t i, listed_groups = 0;

	(void)state;
	card.before = hear_list;
	dev = card_opened();
	assert_int_equal(heard.count, 1);
	for (i = 0; i < 2 * LIST; i++)
		assert_int_equal(rnic_port_add_group(dev, group_mac(GROUP, i)), 0);
	assert_int_equal(heard.count, LIST);
	assert_true(is_listed(GROUP, 0));
	assert_int_equal(unit_said("more multicast addresses in the vport's list"), 1);
	/* One that is left makes room for another. */
	assert_int_equal(rnic_port_del_group(dev, group_mac(GROUP, 0)), 0);
	assert_false(is_listed(GROUP, 0));
	assert_int_equal(heard.count, LIST);
	for (i = 0; i < LIST - 1; i++) {
		assert_int_equal(rnic_port_add_mac(dev, group_mac(FRAMES, i)), 0);
		assert_true(is_listed(FRAMES, i));
	}
	assert_int_equal(rnic_port_add_mac(dev, group_mac(FRAMES, i)), -ENOSPC);
	/* Not even that of a group that was joined without. */
	assert_int_equal(rnic_port_add_mac(dev, group_mac(GROUP, 1)), -ENOSPC);
	assert_int_equal(rnic_port_del_group(dev, group_mac(GROUP, 1)), 0);
	for (i = 0; i < LIST - 1; i++)
		assert_int_equal(rnic_port_del_mac(dev, group_mac(FRAMES, i)), 0);
	for (i = 0; i < 2 * LIST; i++)
		listed_groups += is_listed(GROUP, i);
	assert_int_equal(listed_groups, LIST - 1);
	for (i = 2; i < 2 * LIST; i++)
		assert_int_equal(rnic_port_del_group(dev, group_mac(GROUP, i)), 0);
	assert_int_equal(heard.count, 1);
	assert_int_equal(dev->mac_count, 0);
	card_close(dev);
}

/* Who has frames of its own for a group's address keeps it, whoever leaves first. */
static void
test_an_address_is_a_groups_and_others(void **state)
{
	struct rnic_dev *dev;
	unsigned int first;

	(void)state;
	card.before = hear_list;
	dev = card_opened();
	for (first = 0; first < 2; first++) {
		assert_int_equal(rnic_port_add_group(dev, group_mac(1, 1)), 0);
		assert_int_equal(rnic_port_add_mac(dev, group_mac(1, 1)), 0);
		assert_int_equal(heard.count, 2);
		assert_int_equal(
			(first ? rnic_port_del_mac : rnic_port_del_group)(dev, group_mac(1, 1)), 0);
		assert_true(is_listed(1, 1));
		assert_int_equal(
			(first ? rnic_port_del_group : rnic_port_del_mac)(dev, group_mac(1, 1)), 0);
		assert_int_equal(heard.count, 1);
	}
	card_close(dev);
}

/* As many as the queue pairs of a device can have: a group's MAC has the last 32 bits of its address alone. */
static void
test_an_address_of_many_memberships(void **state)
{
	const uint32_t count = 4096 * 240;
	struct rnic_dev *dev;
	uint32_t i;

	(void)state;
	card.before = hear_list;
	dev = card_opened();
	for (i = 0; i < count; i++)
		assert_int_equal(rnic_port_add_group(dev, group_mac(1, 1)), 0);
	for (i = 1; i < count; i++)
		assert_int_equal(rnic_port_del_group(dev, group_mac(1, 1)), 0);
	assert_true(is_listed(1, 1));
	assert_int_equal(rnic_port_del_group(dev, group_mac(1, 1)), 0);
	assert_int_equal(dev->mac_count, 0);
	card_close(dev);
}

static const struct CMUnitTest tests[] = {
	CARD_TEST(test_a_function_without_an_address_makes_one_up),
	CARD_TEST(test_unicast_addresses_are_entered_in_the_switch),
	CARD_TEST(test_the_switch_has_the_address_of_a_vport_that_refuses_its_list),
	CARD_TEST(test_groups_leave_room_in_the_list),
	CARD_TEST(test_an_address_is_a_groups_and_others),
	CARD_TEST(test_an_address_of_many_memberships),
};

UNIT_MAIN("card_address", tests)
