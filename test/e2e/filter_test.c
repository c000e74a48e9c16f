/* SPDX-License-Identifier: BSD-3-Clause */

/* Which frames a port takes: addresses that are added, multicast lists, VLANs. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "main.h"

static const struct e2e_conf plain = { 0 };

static const struct rte_ether_addr one = { { 0x02, 0xaa, 1, 2, 3, 1 } };
static const struct rte_ether_addr two = { { 0x02, 0xaa, 1, 2, 3, 2 } };
static const struct rte_ether_addr group_one = { { 0x01, 0x00, 0x5e, 1, 2, 1 } };
static const struct rte_ether_addr group_two = { { 0x33, 0x33, 0, 1, 2, 2 } };

static bool
delivered_in(const struct rte_ether_addr *to, uint16_t vlan_id)
{
	const int rc = e2e_delivered(to, vlan_id);

	assert_in_range(rc, 0, 1);
	return rc == 1;
}

static bool
delivered(const struct rte_ether_addr *to)
{
	return delivered_in(to, E2E_UNTAGGED);
}

static int
add(const struct rte_ether_addr *mac)
{
	struct rte_ether_addr copy = *mac;

	return rte_eth_dev_mac_addr_add(1, &copy, 0);
}

static int
del(const struct rte_ether_addr *mac)
{
	struct rte_ether_addr copy = *mac;

	return rte_eth_dev_mac_addr_remove(1, &copy);
}

static int
set_list(const struct rte_ether_addr *macs, uint32_t count)
{
	struct rte_ether_addr copy[300];

	if (count > 0)
		memcpy(copy, macs, count * sizeof(copy[0]));
	return rte_eth_dev_set_mc_addr_list(1, copy, count);
}

/* ---- Addresses ---- */

static void
addresses_are_added_and_removed(void **unused)
{
	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_false(delivered(&one));
	assert_int_equal(add(&one), 0);
	assert_true(delivered(&one));
	assert_false(delivered(&two));
	assert_int_equal(add(&two), 0);
	assert_int_equal(add(&one), 0);
	assert_true(delivered(&one));
	assert_true(delivered(&two));
	assert_true(e2e_pair_restart());
	assert_true(delivered(&one));
	assert_true(delivered(&two));
	assert_int_equal(del(&one), 0);
	assert_false(delivered(&one));
	assert_true(delivered(&two));
	assert_true(e2e_pair_stop());
	/* Of a port that is stopped. */
	assert_int_equal(del(&two), 0);
	assert_int_equal(add(&one), 0);
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(delivered(&one));
	assert_false(delivered(&two));
	assert_int_equal(del(&one), 0);
	assert_true(e2e_pair_stop());
}

/* As many as the port says that it has, and each is there. */
static void
there_is_room_for_as_many_addresses_as_promised(void **unused)
{
	struct rte_ether_addr mac = { { 0x02, 0xbb, 0, 0, 0, 0 } };
	struct rte_eth_dev_info info;
	unsigned int i;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	assert_true(info.max_mac_addrs >= 64);
	for (i = 1; i < info.max_mac_addrs; i++) {
		mac.addr_bytes[5] = i;
		assert_int_equal(add(&mac), 0);
	}
	for (i = 1; i < info.max_mac_addrs; i++) {
		mac.addr_bytes[5] = i;
		assert_true(delivered(&mac));
	}
	mac.addr_bytes[5] = i;
	assert_int_equal(add(&mac), -ENOSPC);
	assert_false(delivered(&mac));
	for (i = 1; i < info.max_mac_addrs; i++) {
		mac.addr_bytes[5] = i;
		assert_int_equal(del(&mac), 0);
	}
	assert_false(delivered(&mac));
	assert_true(e2e_pair_stop());
}

static void
the_own_address_changes_beside_added_ones(void **unused)
{
	struct rte_ether_addr own, copy = two;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	assert_int_equal(add(&one), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &copy), 0);
	assert_true(delivered(&two));
	assert_true(delivered(&one));
	assert_false(delivered(&own));
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &own), 0);
	assert_true(delivered(&own));
	assert_true(delivered(&one));
	assert_false(delivered(&two));
	assert_int_equal(del(&one), 0);
	assert_false(delivered(&one));
	assert_true(e2e_pair_stop());
}

static void
multicast_lists_replace_each_other(void **unused)
{
	const struct rte_ether_addr both[2] = { group_one, group_two };
	struct rte_ether_addr many[129];
	unsigned int i;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_false(delivered(&group_one));
	assert_int_equal(set_list(both, 2), 0);
	assert_true(delivered(&group_one));
	assert_true(delivered(&group_two));
	assert_int_equal(set_list(&both[1], 1), 0);
	assert_false(delivered(&group_one));
	assert_true(delivered(&group_two));
	assert_true(e2e_pair_restart());
	assert_false(delivered(&group_one));
	assert_true(delivered(&group_two));
	/* What is refused changes nothing. */
	assert_int_equal(set_list(&one, 1), -EINVAL);
	for (i = 0; i < RTE_DIM(many); i++) {
		many[i] = group_one;
		many[i].addr_bytes[5] = i;
	}
	assert_int_equal(set_list(many, RTE_DIM(many)), -ENOSPC);
	assert_false(delivered(&group_one));
	assert_true(delivered(&group_two));
	/* All multicast and back again. */
	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	assert_true(delivered(&group_one));
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	assert_false(delivered(&group_one));
	assert_true(delivered(&group_two));
	assert_int_equal(set_list(NULL, 0), 0);
	assert_false(delivered(&group_two));
	assert_true(e2e_pair_restart());
	assert_false(delivered(&group_one));
	assert_false(delivered(&group_two));
	assert_true(e2e_pair_stop());
}

/* ---- VLANs ---- */

static void
vlans_are_filtered(void **unused)
{
	struct rte_ether_addr own;

	(void)unused;
	assert_true(e2e_pair_start(
		&plain, &(struct e2e_conf){ .rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER }));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	assert_true(delivered(&own));
	assert_false(delivered_in(&own, 5));
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 1), 0);
	assert_int_equal(rte_eth_dev_vlan_filter(1, 4095, 1), 0);
	assert_true(delivered_in(&own, 5));
	assert_true(delivered_in(&own, 4095));
	assert_false(delivered_in(&own, 6));
	assert_true(delivered(&own));
	/* An address is as foreign with a tag as without. */
	assert_false(delivered_in(&one, 5));
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_true(delivered_in(&one, 5));
	assert_false(delivered_in(&one, 6));
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	assert_true(e2e_pair_restart());
	assert_true(delivered_in(&own, 5));
	assert_false(delivered_in(&own, 6));
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 0), 0);
	assert_false(delivered_in(&own, 5));
	assert_true(delivered_in(&own, 4095));
	assert_true(e2e_pair_stop());
}

static void
the_filter_of_vlans_is_switched_while_frames_flow(void **unused)
{
	struct rte_ether_addr own;
	unsigned int i;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	for (i = 0; i < 10; i++) {
		assert_true(delivered_in(&own, 5));
		assert_true(delivered_in(&own, 6));
		assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
		assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 1), 0);
		assert_true(delivered_in(&own, 5));
		assert_false(delivered_in(&own, 6));
		assert_true(delivered(&own));
		assert_int_equal(rte_eth_dev_set_vlan_offload(1, 0), 0);
		assert_true(delivered_in(&own, 6));
	}
	assert_true(e2e_pair_stop());
}

/* All 4,096 of them. */
static void
each_vlan_has_its_place(void **unused)
{
	struct rte_ether_addr own;
	uint16_t vlan_id;

	(void)unused;
	assert_true(e2e_pair_start(
		&plain, &(struct e2e_conf){ .rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER }));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	for (vlan_id = 0; vlan_id < 4096; vlan_id++)
		assert_int_equal(rte_eth_dev_vlan_filter(1, vlan_id, 1), 0);
	for (vlan_id = 1; vlan_id < 4096; vlan_id += 63)
		assert_int_equal(rte_eth_dev_vlan_filter(1, vlan_id, 0), 0);
	for (vlan_id = 0; vlan_id < 4096; vlan_id += 7)
		assert_int_equal(delivered_in(&own, vlan_id), (vlan_id - 1) % 63 != 0);
	assert_true(e2e_pair_stop());
}

static const struct CMUnitTest tests[] = {
	E2E_PAIR_TEST(addresses_are_added_and_removed),
	E2E_PAIR_TEST(there_is_room_for_as_many_addresses_as_promised),
	E2E_PAIR_TEST(the_own_address_changes_beside_added_ones),
	E2E_PAIR_TEST(multicast_lists_replace_each_other),
	E2E_PAIR_TEST(vlans_are_filtered),
	E2E_PAIR_TEST(the_filter_of_vlans_is_switched_while_frames_flow),
	E2E_PAIR_TEST(each_vlan_has_its_place),
};

E2E_PAIR_MAIN("filter", tests)
