/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive side scaling as ethdev has it: hash types, key, redirection table. The port keeps what was asked for, and a
 * device that is up follows at once; what it refuses leaves both as they were.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "core/dev.h"
#include "ethdev/port.h"
#include "ethdev/rss.h"
#include "ethdev/rx_queue.h"
#include "ethdev/stats.h"
#include "steering/tirs.h"

/* The key that the vendors of RSS publish with their examples. */
static const uint8_t default_key[RNIC_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* What of ethdev's types asks for which hash of a kind of packets. */
static const struct {
	uint64_t ports, addresses;
} types[RNIC_TRAFFICS] = {
	[RNIC_TRAFFIC_IPV4_TCP] = { RTE_ETH_RSS_NONFRAG_IPV4_TCP, RTE_ETH_RSS_IPV4 },
	[RNIC_TRAFFIC_IPV4_UDP] = { RTE_ETH_RSS_NONFRAG_IPV4_UDP, RTE_ETH_RSS_IPV4 },
	[RNIC_TRAFFIC_IPV6_TCP] = { RTE_ETH_RSS_NONFRAG_IPV6_TCP, RTE_ETH_RSS_IPV6 },
	[RNIC_TRAFFIC_IPV6_UDP] = { RTE_ETH_RSS_NONFRAG_IPV6_UDP, RTE_ETH_RSS_IPV6 },
	[RNIC_TRAFFIC_IPV4_FRAGMENT] = { 0, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 },
	[RNIC_TRAFFIC_IPV6_FRAGMENT] = { 0, RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 },
	[RNIC_TRAFFIC_IPV4] = { 0, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER },
	[RNIC_TRAFFIC_IPV6] = { 0, RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER },
};

/* The types and the key of `conf`; without a key, `rss` keeps the one that it has. */
static int
rss_set_hash(const struct rnic_dev *dev, const struct rte_eth_rss_conf *conf, struct rnic_rss *rss)
{
	unsigned int kind;

	if (conf->rss_hf & ~RNIC_RSS_TYPES) {
		RNIC_LOG(ERR, dev, "RSS types 0x%" PRIx64 " are not supported",
			 conf->rss_hf & ~RNIC_RSS_TYPES);
		return -EINVAL;
	}
	if (conf->rss_key != NULL && conf->rss_key_len != RNIC_RSS_KEY_BYTES) {
		RNIC_LOG(ERR, dev, "an RSS key of %u bytes: it must have %u", conf->rss_key_len,
			 RNIC_RSS_KEY_BYTES);
		return -EINVAL;
	}
	if (conf->rss_key != NULL)
		memcpy(rss->key, conf->rss_key, sizeof(rss->key));
	for (kind = 0; kind < RNIC_TRAFFICS; kind++) {
		rss->hash[kind] = RNIC_HASH_NONE;
		if (conf->rss_hf & types[kind].ports)
			rss->hash[kind] = RNIC_HASH_PORTS;
		else if (conf->rss_hf & types[kind].addresses)
			rss->hash[kind] = RNIC_HASH_ADDRESSES;
	}
	return 0;
}

/* Secondary processes may ask at any time, in another thread. */
static void
rss_keep(struct rnic_ethdev *port, const struct rnic_rss *rss, uint64_t rss_hf)
{
	rnic_stats_lock(port);
	port->rss = *rss;
	port->rss_hf = rss_hf;
	port->rss_on = true;
	rnic_stats_unlock(port);
}

int
rnic_rss_configure(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rte_eth_conf *conf = &eth_dev->data->dev_conf;
	struct rnic_rss rss;
	unsigned int i;
	int rc;

	if (conf->rxmode.mq_mode != RTE_ETH_MQ_RX_NONE &&
	    conf->rxmode.mq_mode != RTE_ETH_MQ_RX_RSS) {
		RNIC_LOG(ERR, port->dev, "multi-queue mode %u: only none and RSS are supported",
			 conf->rxmode.mq_mode);
		return -ENOTSUP;
	}
	rnic_stats_lock(port);
	port->rss_on = false;
	rnic_stats_unlock(port);
	if (conf->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE || eth_dev->data->nb_rx_queues == 0)
		return 0;
	memcpy(rss.key, default_key, sizeof(rss.key));
	rc = rss_set_hash(port->dev, &conf->rx_adv_conf.rss_conf, &rss);
	if (rc != 0)
		return rc;
	for (i = 0; i < RNIC_RETA_SIZE; i++)
		rss.reta[i] = i % eth_dev->data->nb_rx_queues;
	rss_keep(port, &rss, conf->rx_adv_conf.rss_conf.rss_hf);
	return 0;
}

void
rnic_rss_queues(const struct rte_eth_dev *eth_dev, uint32_t *rqns)
{
	const struct rnic_rxq *rxq;
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		rqns[i] = rxq->rq.rqn;
	}
}

/* The device has this now, or what it had. */
static int
rss_follow(struct rte_eth_dev *eth_dev, const struct rnic_rss *rss, uint64_t rss_hf)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint32_t rqns[RNIC_RX_QUEUES_MAX];
	int rc = 0;

	if (port->steering.up) {
		rnic_rss_queues(eth_dev, rqns);
		rc = rnic_tirs_set(port->dev, rqns, rss, &port->steering.tirs);
		if (rc != 0)
			(void)rnic_tirs_set(port->dev, rqns, &port->rss, &port->steering.tirs);
	}
	if (rc == 0)
		rss_keep(port, rss, rss_hf);
	return rc;
}

int
rnic_rss_hash_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_rss rss = port->rss;
	int rc;

	if (!port->rss_on)
		return -ENOTSUP;
	rc = rss_set_hash(port->dev, conf, &rss);
	return rc == 0 ? rss_follow(eth_dev, &rss, conf->rss_hf) : rc;
}

int
rnic_rss_copy(struct rte_eth_dev *eth_dev, struct rnic_rss_copy *copy)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	bool on;

	rnic_stats_lock(port);
	on = port->rss_on;
	copy->rss = port->rss;
	copy->rss_hf = port->rss_hf;
	rnic_stats_unlock(port);
	return on ? 0 : -ENOTSUP;
}

void
rnic_rss_report_hash(const struct rnic_rss_copy *copy, struct rte_eth_rss_conf *conf)
{
	if (conf->rss_key != NULL && conf->rss_key_len >= RNIC_RSS_KEY_BYTES)
		memcpy(conf->rss_key, copy->rss.key, RNIC_RSS_KEY_BYTES);
	conf->rss_key_len = RNIC_RSS_KEY_BYTES;
	conf->rss_hf = copy->rss_hf;
}

int
rnic_rss_report_reta(const struct rnic_rss_copy *copy, struct rte_eth_rss_reta_entry64 *reta,
		     uint16_t size)
{
	uint16_t i;

	if (size != RNIC_RETA_SIZE)
		return -EINVAL;
	for (i = 0; i < size; i++)
		if (reta[i / RTE_ETH_RETA_GROUP_SIZE].mask >> i % RTE_ETH_RETA_GROUP_SIZE & 1)
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				copy->rss.reta[i];
	return 0;
}

int
rnic_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct rnic_rss_copy copy;
	int rc = rnic_rss_copy(eth_dev, &copy);

	if (rc == 0)
		rnic_rss_report_hash(&copy, conf);
	return rc;
}

int
rnic_rss_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
		     uint16_t size)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_rss rss = port->rss;
	uint16_t i, queue;

	if (!port->rss_on)
		return -ENOTSUP;
	if (size != RNIC_RETA_SIZE) {
		RNIC_LOG(ERR, port->dev, "a redirection table of %u entries: it must have %u", size,
			 RNIC_RETA_SIZE);
		return -EINVAL;
	}
	for (i = 0; i < size; i++) {
		if (!(reta[i / RTE_ETH_RETA_GROUP_SIZE].mask >> i % RTE_ETH_RETA_GROUP_SIZE & 1))
			continue;
		queue = reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
		if (queue >= eth_dev->data->nb_rx_queues) {
			RNIC_LOG(ERR, port->dev, "redirection table: there is no Rx queue %u",
				 queue);
			return -EINVAL;
		}
		rss.reta[i] = queue;
	}
	return rss_follow(eth_dev, &rss, port->rss_hf);
}

int
rnic_rss_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
		    uint16_t size)
{
	struct rnic_rss_copy copy;
	int rc = rnic_rss_copy(eth_dev, &copy);

	return rc != 0 ? rc : rnic_rss_report_reta(&copy, reta, size);
}
