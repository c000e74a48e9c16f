/* SPDX-License-Identifier: BSD-3-Clause */

/* ethdev's statistics, in the primary process. */
#ifndef RNIC_ETHDEV_STATS_H
#define RNIC_ETHDEV_STATS_H

#include "ethdev/port.h"

struct RNIC_QUEUE_STATS;
struct eth_queue_stats;
struct rte_eth_dev;
struct rte_eth_stats;

/* ethdev's, in the primary process. */
#ifdef RNIC_QUEUE_STATS_APART
int rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
		   struct eth_queue_stats *queues);
#else
int rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats);
#endif
/* What ethdev wants to know, of queues too unless `queues` is NULL. Returns 0. */
int rnic_stats_report(const struct rnic_port_stats *all, struct rte_eth_stats *stats,
		      struct RNIC_QUEUE_STATS *queues);
/* In the primary process. */
void rnic_stats_read(struct rte_eth_dev *eth_dev, struct rnic_port_stats *stats);
int rnic_stats_reset(struct rte_eth_dev *eth_dev);
/* Publish a queue in its slot of the port: readers see all of it or nothing. */
void rnic_stats_publish(struct rnic_ethdev *port, void **slot, void *queue);
/* Remove a queue: its counters are added to `sum` and its slot is cleared, in one step for readers. */
void rnic_stats_remove(struct rnic_ethdev *port, struct rnic_queue_stats *sum, void **slot,
		       const struct rnic_queue_stats *stats);
/* Keeps readers apart from the end of queues and of the device. */
void rnic_stats_lock(struct rnic_ethdev *port);
void rnic_stats_unlock(struct rnic_ethdev *port);
/* With the lock held: a device was attached; ask it, as long as readers may (port->ask_device). */
void rnic_stats_begin(struct rnic_ethdev *port);
void rnic_stats_poll(struct rnic_ethdev *port);

#endif
