/* SPDX-License-Identifier: BSD-3-Clause */

/* Transmit queues: set-up, start, stop. */
#ifndef RNIC_ETHDEV_TXQ_H
#define RNIC_ETHDEV_TXQ_H

#include <stdint.h>

struct rnic_txq;
struct rte_eth_dev;
struct rte_eth_txconf;
struct rte_eth_txq_info;

int rnic_txq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc,
		   unsigned int socket, const struct rte_eth_txconf *conf);
void rnic_txq_release(struct rte_eth_dev *eth_dev, uint16_t queue);
void rnic_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info);
/* Of all queues together. */
uint64_t rnic_txq_offloads(const struct rte_eth_dev *eth_dev);
int rnic_txq_start(struct rnic_txq *txq, uint16_t mtu);
/* Packets of more than the MTU and RNIC_FRAME_OVERHEAD are counted as errors from now on. Any thread, at any time. */
void rnic_txq_set_mtu(struct rnic_txq *txq, uint16_t mtu);
int rnic_txq_stop(struct rnic_txq *txq);
int rnic_txq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_txq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue);
/* ethdev's tx_descriptor_status. */
int rnic_txq_descriptor_status(void *queue, uint16_t offset);
/*
 * ethdev's tx_done_cleanup: how many packets were given back; no more completions are taken once those had `count` mbufs,
 * unless that is 0: never more packets than asked for, but for those that share the last completion.
 */
int rnic_txq_done_cleanup(void *queue, uint32_t count);

#endif
