/* SPDX-License-Identifier: BSD-3-Clause */

#include "card_port.h"

#include <string.h>

struct unit_ethdev card_port;

int
card_port_teardown(void **state)
{
	unit_ethdev_unplug(&card_port);
	return card_teardown(state);
}

struct rnic_dev *
card_port_plug(uint64_t rx_offloads)
{
	const struct rte_eth_conf conf = { .rxmode = { .offloads = rx_offloads } };

	unit_ethdev_plug(&card_port, 1023, &conf, 128, 128);
	return card_port.dev;
}

/* What has come; whether the last one is among it. */
static unsigned int
receive(bool *last)
{
	struct rte_mbuf *got;
	unsigned int count = 0;

	while (rte_eth_rx_burst(card_port.id, 0, &got, 1) == 1) {
		*last |= rte_pktmbuf_mtod(got, const uint8_t *)[20] == 1;
		rte_pktmbuf_free(got);
		count++;
	}
	return count;
}

unsigned int
card_port_arrive(const struct rte_ether_addr *to)
{
	struct rte_ether_addr own;
	struct rte_mbuf *frames[2];
	unsigned int count = 0, i;
	bool last = false;

	assert_int_equal(rte_eth_macaddr_get(card_port.id, &own), 0);
	for (i = 0; i < 2; i++) {
		frames[i] = rte_pktmbuf_alloc(card_port.pool);
		assert_non_null(frames[i]);
		memset(rte_pktmbuf_append(frames[i], 60), (int)i, 60);
		memcpy(rte_pktmbuf_mtod(frames[i], void *), i == 0 ? to : &own, 6);
	}
	assert_int_equal(rte_eth_tx_burst(card_port.id, 0, frames, 2), 2);
	assert_true(UNIT_COMES((count += receive(&last), last)));
	return count;
}
