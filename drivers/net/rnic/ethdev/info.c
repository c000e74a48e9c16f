/* SPDX-License-Identifier: BSD-3-Clause */

/* What the port is and can do. Only what works is offered. */

#include <stdio.h>
#include <string.h>

#include "core/dev.h"
#include "ethdev/info.h"
#include "ethdev/port.h"
#include "ethdev/rss.h"
#include "ethdev/rx.h"
#include "ethdev/rx_offload.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "ethdev/txq.h"
#include "steering/tirs.h"

int
rnic_info_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info)
{
	const struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rte_eth_desc_lim limits = {
		.nb_max = RNIC_DESC_MAX,
		.nb_min = RNIC_DESC_MIN,
		.nb_align = 1,
	};

	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = port->max_mtu;
	info->min_rx_bufsize = RTE_PKTMBUF_HEADROOM;
	info->max_rx_pktlen = port->max_mtu + RNIC_FRAME_OVERHEAD;
	info->max_rx_queues = RNIC_RX_QUEUES_MAX;
	info->max_tx_queues = RNIC_TX_QUEUES_MAX;
	info->max_mac_addrs = port->mac_count;
	info->reta_size = RNIC_RETA_SIZE;
	info->hash_key_size = RNIC_RSS_KEY_BYTES;
	info->flow_type_rss_offloads = RNIC_RSS_TYPES;
	info->rx_queue_offload_capa = port->rx_offloads;
	info->rx_offload_capa = info->rx_queue_offload_capa;
	if (port->filters_vlans)
		info->rx_offload_capa |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	info->tx_queue_offload_capa = port->tx_offloads;
	info->tx_offload_capa = info->tx_queue_offload_capa;
	info->rx_desc_lim = limits;
	info->tx_desc_lim = limits;
	info->tx_desc_lim.nb_seg_max = RNIC_TX_LSO_SEGS_MAX;
	info->tx_desc_lim.nb_mtu_seg_max = RNIC_TX_SEGS_MAX;
	info->speed_capa = port->speed_capa;
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = RNIC_BURST_DEFAULT,
		.ring_size = RNIC_DESC_DEFAULT,
		.nb_queues = 1,
	};
	info->default_txportconf = info->default_rxportconf;
	return 0;
}

int
rnic_info_fw_version(struct rte_eth_dev *eth_dev, char *text, size_t size)
{
	int length = snprintf(text, size, "%s", rnic_ethdev_get(eth_dev)->fw_version);

	return length + 1 <= (int)size ? 0 : length + 1;
}

int
rnic_info_rx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			struct rte_eth_burst_mode *mode)
{
	const struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	/* While it is started the one that was chosen runs on, whatever was switched off since. */
	unsigned int tells = port->started ? port->rx_tells : rnic_rx_tells(eth_dev);

	RTE_SET_USED(queue);
	snprintf(mode->info, sizeof(mode->info), "%s",
		 rnic_rx_mode_get(port->dev, eth_dev->data->scattered_rx, tells)->name);
	return 0;
}

int
rnic_info_tx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(queue);
	snprintf(mode->info, sizeof(mode->info), "%s",
		 rnic_tx_mode_get(rnic_ethdev_get(eth_dev)->dev, rnic_txq_offloads(eth_dev))->name);
	return 0;
}
