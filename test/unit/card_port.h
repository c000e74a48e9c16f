/* SPDX-License-Identifier: BSD-3-Clause */

/* An ethdev on a card. */
#ifndef CARD_PORT_H
#define CARD_PORT_H

#include "card.h"
#include "ethdev.h"

/* Of this test, from card_port_plug() on. */
extern struct unit_ethdev card_port;

#define CARD_PORT_TEST(name) cmocka_unit_test_setup_teardown(name, card_setup, card_port_teardown)
int card_port_teardown(void **state);

/* Configured with these offloads, not started. */
struct rnic_dev *card_port_plug(uint64_t rx_offloads);
/* Sends a frame to an address, on a wire that brings it back, and then one to its own; how many of the two have come. */
unsigned int card_port_arrive(const struct rte_ether_addr *to);

#endif
