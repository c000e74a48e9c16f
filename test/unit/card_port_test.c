/* SPDX-License-Identifier: BSD-3-Clause */

/* The port of a function that has less than the embedded device's: no address, few rights, other links. */

#include "card.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "prm/list.h"

static int
setup(void **state)
{
	(void)state;
	card_begin();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	card_end();
	return 0;
}

static struct rnic_dev *
open_device(void)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), 0);
	return dev;
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
		rnic_dev_close(dev);
	}
	assert_true(listed > 0);
	assert_int_equal(listed_zero, 0);
}

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(test_a_function_without_an_address_makes_one_up),
	};

	return cmocka_run_group_tests_name("card_port", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
