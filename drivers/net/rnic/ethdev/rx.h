/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive bursts. */
#ifndef RNIC_ETHDEV_RX_H
#define RNIC_ETHDEV_RX_H

#include <stdbool.h>

#include <ethdev_driver.h>

struct rnic_dev;
struct rnic_rxq;

struct rnic_rx_mode {
	const char *name;
	eth_rx_burst_t burst;
};
const struct rnic_rx_mode *rnic_rx_mode_get(const struct rnic_dev *dev, bool scattered,
					    unsigned int tells);

/* Why queues of a port that tells this do not get compressed completions; NULL: they do. */
const char *rnic_rx_not_compressed_why(const struct rnic_dev *dev, unsigned int tells);

/* Fill all free WQEs and publish them; false: the pool ran dry before. */
bool rnic_rx_refill_all(struct rnic_rxq *rxq);
/* From the burst, in any state but running: after a recovery the ring is filled again. There is nothing to be taken yet. */
void rnic_rx_restart(struct rnic_rxq *rxq);

#endif
