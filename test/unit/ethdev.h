/* SPDX-License-Identifier: BSD-3-Clause */

/* An ethdev on the embedded device, with one queue each way, whose wire brings back what it sends. */
#ifndef UNIT_ETHDEV_H
#define UNIT_ETHDEV_H

#include "unit.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

struct unit_ethdev {
	struct rte_mempool *pool;
	uint16_t id;
	uint16_t rx_desc, tx_desc; /* of its queues, from unit_ethdev_plug() on */
	struct rnic_dev *dev;
};

/* As UNIT_DEVICE, with a pool of so many mbufs (none, if it has one); configured, not started. */
void unit_ethdev_plug(struct unit_ethdev *port, unsigned int mbufs, const struct rte_eth_conf *conf,
		      uint16_t rx_desc, uint16_t tx_desc);
/* Configure it anew. */
void unit_ethdev_configure(const struct unit_ethdev *port, const struct rte_eth_conf *conf);
/* Stopped, and away, with its pool: no mbuf of it stays behind. Also of one that was unplugged already. */
void unit_ethdev_unplug(struct unit_ethdev *port);
/* Started; the link is up, as ethdev has it. */
void unit_ethdev_start(const struct unit_ethdev *port);

/*
 * For a test's setup and teardown: in *state a port that takes all frames, of any length, has started, and whose warnings are
 * heard. Its control thread looks so often, or each 100 ms.
 */
#define ETHDEV_TEST(name) \
	cmocka_unit_test_setup_teardown(name, unit_ethdev_setup, unit_ethdev_close)
int unit_ethdev_setup(void **state);
int unit_ethdev_open(void **state, unsigned int period_ms);
int unit_ethdev_close(void **state);

/* 100 bytes in each segment. */
struct rte_mbuf *unit_frame(const struct unit_ethdev *port, unsigned int segs);
/* All of them are taken, a burst each. */
void unit_send(const struct unit_ethdev *port, unsigned int count, unsigned int segs);
/* How many come, until it is so many. */
unsigned int unit_receive(const struct unit_ethdev *port, unsigned int want);
/* So many frames are sent, and come back. */
void unit_loop(const struct unit_ethdev *port, unsigned int count);

#endif
