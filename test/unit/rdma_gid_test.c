/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's addresses: their commands byte for byte, and which of them the port has when. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dev.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "rdma/gid.h"
#include "rdma_commands.h"

static const union rdmapmd_gid first = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };
static const union rdmapmd_gid second = { { 0x20, 1, 0xd, 0xb8, [15] = 2 } };
static const union rdmapmd_gid third = { { 0x20, 1, 0xd, 0xb8, [15] = 3 } };
static const union rdmapmd_gid fourth = { { 0x20, 1, 0xd, 0xb8, [15] = 4 } };

static void
test_gids(void **state)
{
	static const struct rdmapmd_gid_entry ipv4 = {
		.gid = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } },
		.gid_type = RDMAPMD_GID_TYPE_ROCE_V2,
		.mac = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 },
	};
	static const struct rdmapmd_gid_entry none;
	struct world *world = *state;
	struct rdmapmd_gid_entry entry;

	assert_int_equal(rnic_gid_set(&world->dev, 3, &ipv4), 0);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00030000 00000000 00000000 00000000 0000ffff c0000201"
			   "00000211 22334455 00000002 00000000");
	assert_int_equal(rnic_gid_set(&world->dev, 3, &none), 0);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00030000 00000000 00000000 00000000 00000000 00000000"
			   "00000000 00000000 00000000 00000000");
	memcpy(commands_answer + 0x10, commands[0].in + 0x10, 0x20);
	assert_int_equal(rnic_gid_query(&world->dev, 2, &entry), 0);
	rings_assert_bytes(commands_expect(2, RNIC_CMD_QUERY_ROCE_ADDRESS, 0x10) + 8,
			   "00020000 00000000");
	assert_memory_equal(&entry.gid, &ipv4.gid, sizeof(entry.gid));
	assert_memory_equal(entry.mac, ipv4.mac, sizeof(entry.mac));
	assert_int_equal(entry.gid_type, RDMAPMD_GID_TYPE_ROCE_V2);
	assert_int_equal(rnic_gid_set(&world->dev, 4, &ipv4), -EINVAL);
	assert_int_equal(rnic_gid_query(&world->dev, 4, &entry), -EINVAL);
	assert_int_equal(commands_count, 3);
}

static void
test_a_port_has_its_link_local_address(void **state)
{
	struct world *world = *state;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00000000 00000000 fe800000 00000000 001122ff fe334455"
			   "00000211 22334455 00000102 00000000");
	rnic_gids_down(&world->dev);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 0x10, "00000000");
}

static void
test_addresses_of_the_devargs(void **state)
{
	struct world *world = *state;
	unsigned int i;

	world->dev.args.ip_count = 2;
	memcpy(world->dev.args.ip[0], &first, 16);
	memcpy(world->dev.args.ip[1], &second, 16);
	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00010000 00000000 00000000 00000000 0000ffff c0000201"
			   "00000211 22334455 00000002 00000000");
	rings_assert_bytes(commands_expect(2, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00020000 00000000 20010db8 00000000 00000000 00000002"
			   "00000211 22334455 00000102 00000000");
	/* All are taken back. */
	rnic_gids_down(&world->dev);
	assert_int_equal(commands_count, 6);
	for (i = 3; i < 6; i++)
		rings_assert_bytes(commands[i].in + 0x10, "00000000 00000000 00000000 00000000");
}

static void
test_more_addresses_than_the_table_holds(void **state)
{
	struct world *world = *state;
	unsigned int i;

	world->dev.args.ip_count = 4;
	for (i = 0; i < 4; i++) {
		memcpy(world->dev.args.ip[i], &second, 16);
		world->dev.args.ip[i][15] = (uint8_t)(10 + i);
	}
	assert_int_equal(rnic_gids_setup(&world->dev), -ENOSPC);
	/* What was set is taken back. */
	assert_int_equal(commands_count, 8);
	rings_assert_bytes(commands[7].in + 8, "00030000 00000000 00000000");
}

static void
test_no_table_no_addresses(void **state)
{
	struct world *world = *state;

	rnic_roce_cap_set(&world->dev.caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE, 0);
	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	world->dev.args.ip_count = 1;
	assert_int_equal(rnic_gids_setup(&world->dev), -ENOTSUP);
	world->dev.rdma = NULL;
	assert_int_equal(rnic_gids_setup(&world->dev), -ENOTSUP);
	world->dev.args.ip_count = 0;
	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	assert_int_equal(rnic_gids_follow_mac(&world->dev), 0);
	assert_int_equal(commands_count, 0);
	world->dev.rdma = &world->rdma;
}

static void
test_add_and_delete(void **state)
{
	struct world *world = *state;
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	commands_gid_changes = 0;
	/* The link-local one alone is an Ethernet port's. */
	assert_int_equal(commands_neighbours, 0);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), 0);
	assert_int_equal(commands_neighbours, 1);
	assert_int_equal(index, 1);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), -EEXIST);
	assert_int_equal(rnic_gid_add(&world->dev, &second, &index), 0);
	assert_int_equal(rnic_gid_add(&world->dev, &third, &index), 0);
	assert_int_equal(index, 3);
	assert_int_equal(rnic_gid_add(&world->dev, &fourth, &index), -ENOSPC);
	assert_int_equal(commands_gid_changes, 3);
	assert_int_equal(rnic_gid_del(&world->dev, 0), -EPERM);
	assert_int_equal(rnic_gid_del(&world->dev, 4), -EINVAL);
	assert_int_equal(rnic_gid_del(&world->dev, 2), 0);
	rings_assert_bytes(commands[commands_count - 1].in + 8, "00020000 00000000 00000000");
	assert_int_equal(rnic_gid_del(&world->dev, 2), -ENODATA);
	assert_int_equal(commands_gid_changes, 4);
	/* The place is free again. */
	assert_int_equal(rnic_gid_add(&world->dev, &fourth, &index), 0);
	assert_int_equal(index, 2);
}

static void
test_a_refused_address_is_not_there(void **state)
{
	struct world *world = *state;
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), -EINVAL);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), 0);
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_gid_del(&world->dev, index), -EINVAL);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), -EEXIST);
}

static void
test_addresses_follow_the_mac(void **state)
{
	struct world *world = *state;
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	assert_int_equal(rnic_gid_add(&world->dev, &second, &index), 0);
	commands_count = 0;
	world->dev.mac[5] = 0x66;
	assert_int_equal(world->dev.follow_mac(&world->dev), 0);
	assert_int_equal(commands_count, 2);
	rings_assert_bytes(commands[0].in + 8,
			   "00000000 00000000 fe800000 00000000 001122ff fe334466"
			   "00000211 22334466 00000102 00000000");
	rings_assert_bytes(commands[1].in + 8,
			   "00010000 00000000 20010db8 00000000 00000000 00000002"
			   "00000211 22334466 00000102 00000000");
}

/* Whichever address the device does not take: all others are as they were, and nobody is told of the new MAC. */
static void
test_a_mac_that_an_address_does_not_take(void **state)
{
	struct world *world = *state;
	struct rdmapmd_ah_attr ah = { .dgid = second };
	uint8_t own[16], was[6];
	unsigned int i;
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), 0);
	assert_int_equal(rnic_gid_add(&world->dev, &second, &index), 0);
	memcpy(own, commands_own, sizeof(own));
	memcpy(was, world->dev.mac, sizeof(was));
	world->dev.mac[5] = 0x66;
	for (i = 0; i < 3; i++) {
		commands_count = commands_gid_changes = 0;
		commands_refused_at = i + 1;
		assert_int_equal(world->dev.follow_mac(&world->dev), -EINVAL);
		assert_int_equal(commands_count, 2 * i + 1);
		/* The last that was set is the link-local one. */
		if (i > 0)
			rings_assert_bytes(commands[2 * i].in + 8,
					   "00000000 00000000 fe800000 00000000 001122ff fe334455"
					   "00000211 22334455 00000102 00000000");
		assert_memory_equal(commands_own, own, sizeof(own));
		assert_int_equal(commands_mac_changes, 0);
		assert_int_equal(commands_gid_changes, 0);
		assert_int_equal(rnic_gid_resolve(&world->dev, &ah, 0), 0);
		assert_memory_equal(ah.dmac, was, sizeof(was));
	}
	/* It goes another time, and the link-local one that was is gone. */
	commands_refused_at = 0;
	assert_int_equal(world->dev.follow_mac(&world->dev), 0);
	assert_int_equal(commands_mac_changes, 1);
	assert_int_equal(commands_own[15], 0x66);
	assert_int_equal(commands_not_own[15], 0x55);
}

static void
test_own_addresses_are_resolved(void **state)
{
	struct world *world = *state;
	struct rdmapmd_ah_attr ah = { .dgid = first };
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	assert_int_equal(rnic_gid_resolve(&world->dev, &ah, 0), -EHOSTUNREACH);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), 0);
	assert_int_equal(rnic_gid_resolve(&world->dev, &ah, 0), 0);
	assert_memory_equal(ah.dmac, world->dev.mac, sizeof(ah.dmac));
}

/* An address in a VLAN is not the one without; it is resolved for paths in the same VLAN alone. */
static void
test_addresses_in_a_vlan(void **state)
{
	struct world *world = *state;
	struct rdmapmd_ah_attr ah = { .dgid = first };
	uint32_t index;

	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	assert_int_equal(rnic_gid_add(&world->dev, &first, &index), 0);
	assert_int_equal(rnic_gid_add_vlan(&world->dev, &first, 0xabc, &index), 0);
	assert_int_equal(index, 2);
	rings_assert_bytes(commands[commands_count - 1].in + 8 + 24, "1abc0211 22334455");
	assert_int_equal(rnic_gid_add_vlan(&world->dev, &first, 0xabc, &index), -EEXIST);
	assert_int_equal(rnic_gid_add_vlan(&world->dev, &second, 0xabc, &index), 0);
	assert_int_equal(rnic_gid_del(&world->dev, 1), 0);
	ah.sgid_index = 0;
	assert_int_equal(rnic_gid_resolve(&world->dev, &ah, 0), -EHOSTUNREACH);
	ah.sgid_index = 3;
	assert_int_equal(rnic_gid_resolve(&world->dev, &ah, 0), 0);
	/* It stays there when the MAC changes. */
	world->dev.mac[5] = 0x66;
	assert_int_equal(world->dev.follow_mac(&world->dev), 0);
	rings_assert_bytes(commands[commands_count - 1].in + 8 + 24, "1abc0211 22334466");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, commands_setup_bare, commands_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_gids),
	TEST(test_a_port_has_its_link_local_address),
	TEST(test_addresses_of_the_devargs),
	TEST(test_more_addresses_than_the_table_holds),
	TEST(test_no_table_no_addresses),
	TEST(test_add_and_delete),
	TEST(test_a_refused_address_is_not_there),
	TEST(test_addresses_follow_the_mac),
	TEST(test_a_mac_that_an_address_does_not_take),
	TEST(test_own_addresses_are_resolved),
	TEST(test_addresses_in_a_vlan),
};

PLAIN_MAIN("rdma_gid", tests)
