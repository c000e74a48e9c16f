/* SPDX-License-Identifier: BSD-3-Clause */

/* Transmit bursts. */
#ifndef RNIC_ETHDEV_TX_H
#define RNIC_ETHDEV_TX_H

#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>

struct rnic_dev;
struct rnic_txq;

struct rnic_tx_mode {
	const char *name;
	eth_tx_burst_t burst;
};
/* The fitting instance of the burst function for a device, and what its queues offer together. */
const struct rnic_tx_mode *rnic_tx_mode_get(const struct rnic_dev *dev, uint64_t offloads);

/* Give back the mbufs of [elts_tail, end). */
void rnic_tx_free(struct rnic_txq *txq, uint16_t end);
/* The packets from the failed WQE on were counted when they were posted: no longer. Returns how many they are. */
uint16_t rnic_tx_count_lost(struct rnic_txq *txq);
/* Nothing is in the rings. */
void rnic_tx_rings_begin(struct rnic_txq *txq);
/* From the burst, in any state but running: after a recovery what was lost is counted and freed, and the queue runs. */
void rnic_tx_restart(struct rnic_txq *txq);
/* Take completions, until `enough` mbufs were given back; false: the queue is in error now. */
#define RNIC_TX_REAP_ALL UINT32_MAX
bool rnic_tx_reap(struct rnic_txq *txq, uint32_t enough);
/* Post a NOP that asks for a completion; there must be room. */
void rnic_tx_post_nop(struct rnic_txq *txq);

#endif
