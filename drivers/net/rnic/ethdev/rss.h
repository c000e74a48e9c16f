/* SPDX-License-Identifier: BSD-3-Clause */

/* Which queue a frame comes to. */
#ifndef RNIC_ETHDEV_RSS_H
#define RNIC_ETHDEV_RSS_H

#include <stdint.h>

#include <ethdev_driver.h>

#include "steering/tirs.h"

struct rte_eth_dev;
struct rte_eth_rss_conf;
struct rte_eth_rss_reta_entry64;

#define RNIC_RSS_TYPES                                                                         \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |             \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |    \
	 RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
	 RTE_ETH_RSS_NONFRAG_IPV6_OTHER)
/* From the port's configuration: the hash, and all queues in turn. */
int rnic_rss_configure(struct rte_eth_dev *eth_dev);
/* The device's numbers of the queues, RNIC_RX_QUEUES_MAX at most. They are made. */
void rnic_rss_queues(const struct rte_eth_dev *eth_dev, uint32_t *rqns);
int rnic_rss_hash_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int rnic_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int rnic_rss_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
			 uint16_t size);
int rnic_rss_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
			uint16_t size);

/* As it is at one time, also while another thread changes it. Returns 0, or -ENOTSUP: it is off. */
struct rnic_rss_copy {
	struct rnic_rss rss;
	uint64_t rss_hf;
};
int rnic_rss_copy(struct rte_eth_dev *eth_dev, struct rnic_rss_copy *copy);
/* What ethdev wants to know of such a copy. -EINVAL: the table has another size. */
void rnic_rss_report_hash(const struct rnic_rss_copy *copy, struct rte_eth_rss_conf *conf);
int rnic_rss_report_reta(const struct rnic_rss_copy *copy, struct rte_eth_rss_reta_entry64 *reta,
			 uint16_t size);

#endif
