/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues: set-up, start, stop. */
#ifndef RNIC_ETHDEV_RXQ_H
#define RNIC_ETHDEV_RXQ_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_version.h>

struct rnic_rxq;
struct rte_eth_dev;
struct rte_eth_rxconf;
struct rte_eth_rxq_info;
struct rte_mempool;

int rnic_rxq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc,
		   unsigned int socket, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *pool);
void rnic_rxq_release(struct rte_eth_dev *eth_dev, uint16_t queue);
void rnic_rxq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_rxq_info *info);
/* Does a WQE of the queue take frames of this MTU, as it stands? */
bool rnic_rxq_fits(const struct rnic_rxq *rxq, uint16_t mtu);
int rnic_rxq_start(struct rnic_rxq *rxq, uint16_t mtu, bool compressed);
int rnic_rxq_stop(struct rnic_rxq *rxq);
/* Of a queue of a port that runs: it holds no mbufs and takes no frames; and again. Frames for it are missed. */
int rnic_rxq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_rxq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue);
/* ethdev's rx_queue_count and rx_descriptor_status. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
typedef int rnic_rxq_count_t;
#else
typedef uint32_t rnic_rxq_count_t;
#endif
rnic_rxq_count_t rnic_rxq_count(void *queue);
int rnic_rxq_descriptor_status(void *queue, uint16_t offset);

#endif
