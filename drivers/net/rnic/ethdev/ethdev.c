/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's control operations: configure, start, stop, close. */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bus_driver.h>
#include <rte_devargs.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "base/owner.h"
#include "bringup.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/event.h"
#include "core/health.h"
#include "ethdev/ethdev.h"
#include "ethdev/filter.h"
#include "ethdev/info.h"
#include "ethdev/link.h"
#include "ethdev/port.h"
#include "ethdev/regs.h"
#include "ethdev/rss.h"
#include "ethdev/rx.h"
#include "ethdev/rx_intr.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "ethdev/rxq.h"
#include "ethdev/secondary.h"
#include "ethdev/stats.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "ethdev/txq.h"
#include "ethdev/xstats.h"
#include "object/port.h"
#include "steering/flow.h"
#include "steering/steer.h"

/* A loop-back that is asked for, and is not there already. Modes are drivers' own; theirs that have one call it 1. */
static uint32_t
ethdev_loopback_missing(const struct rnic_dev *dev, uint32_t mode)
{
	const struct rnic_devargs *args = &dev->args;
	const bool loops =
		args->socket[0] == '\0' && args->pci[0] == '\0' && strcmp(args->wire, "loop") == 0;

	return mode == 1 && loops ? 0 : mode;
}

/* Options that ethdev passes through and this driver does not support. rnic_rss_configure() checks how packets are spread. */
static int
ethdev_check_conf(const struct rnic_dev *dev, const struct rte_eth_conf *conf)
{
	const struct {
		const char *what;
		uint32_t value;
	} wishes[] = {
		{ "loopback mode (other than 1 on wire=loop)",
		  ethdev_loopback_missing(dev, conf->lpbk_mode) },
		{ "multi-queue mode of sending", conf->txmode.mq_mode },
		{ "DCB capability", conf->dcb_capability_en },
		{ "choice of link speeds", conf->link_speeds },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(wishes); i++)
		if (wishes[i].value != 0) {
			RNIC_LOG(ERR, dev, "%s 0x%x is not supported", wishes[i].what,
				 wishes[i].value);
			return -ENOTSUP;
		}
	return 0;
}

static int
ethdev_configure(struct rte_eth_dev *eth_dev)
{
	int rc = ethdev_check_conf(rnic_ethdev_get(eth_dev)->dev, &eth_dev->data->dev_conf);

	return rc == 0 ? rnic_rss_configure(eth_dev) : rc;
}

/* Safe to call at any time, do nothing. */
static void
ethdev_disarm_bursts(struct rte_eth_dev *eth_dev)
{
	eth_dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	eth_dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	eth_dev->tx_pkt_prepare = rte_eth_pkt_burst_dummy;
	rte_wmb();
}

static void
ethdev_arm_bursts(struct rte_eth_dev *eth_dev)
{
	const struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	eth_dev->rx_pkt_burst =
		rnic_rx_mode_get(port->dev, eth_dev->data->scattered_rx, port->rx_tells)->burst;
	eth_dev->tx_pkt_burst = rnic_tx_mode_get(port->dev, rnic_txq_offloads(eth_dev))->burst;
	eth_dev->tx_pkt_prepare = rnic_tx_prepare;
}

static void
ethdev_stop_queues(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint16_t i;

	/* What was posted still reaches the wire; after that, no frame is sent to this port. */
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		rnic_txq_stop(eth_dev->data->tx_queues[i]);
		eth_dev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
	}
	if (port->steering.up)
		rnic_steering_destroy(port->dev, &port->steering);
	rnic_rx_intr_quiet(eth_dev);
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rnic_rxq_stop(eth_dev->data->rx_queues[i]);
		eth_dev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
	}
	rnic_rx_intr_stop(eth_dev);
}

static int
ethdev_start_queues(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint32_t rqns[RNIC_RX_QUEUES_MAX];
	const struct rnic_txq *txq;
	struct rnic_rxq *rxq;
	bool scattered = false, compressed;
	uint16_t i;
	int rc;

	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		txq = eth_dev->data->tx_queues[i];
		if (txq->deferred_start)
			continue;
		rc = rnic_txq_queue_start(eth_dev, i);
		if (rc != 0)
			return rc;
	}
	rc = rnic_rx_intr_start(eth_dev);
	if (rc != 0)
		return rc;
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++)
		rnic_rx_offloads_init(eth_dev->data->rx_queues[i], port->ptype_mask);
	port->rx_tells = rnic_rx_tells(eth_dev);
	compressed = port->rx_tells & RNIC_RX_COMPRESSED;
	if (!compressed && port->dev->args.cqe_comp == RNIC_CQE_COMP_ON)
		RNIC_LOG(WARNING, port->dev, "cqe_comp=1: no compressed completions: %s",
			 rnic_rx_not_compressed_why(port->dev, port->rx_tells));
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		rc = rnic_rxq_start(rxq, eth_dev->data->mtu, compressed);
		if (rc != 0)
			return rc;
		eth_dev->data->rx_queue_state[i] = rxq->deferred_start
							   ? RTE_ETH_QUEUE_STATE_STOPPED
							   : RTE_ETH_QUEUE_STATE_STARTED;
		scattered |= rxq->segs > 1;
	}
	/* Secondary processes ask for it, by a thread beside the application's. */
	rnic_stats_lock(port);
	eth_dev->data->scattered_rx = scattered;
	rnic_stats_unlock(port);
	if (eth_dev->data->nb_rx_queues == 0)
		return 0;
	rnic_rss_queues(eth_dev, rqns);
	return rnic_steering_create(port->dev, rqns, port->rss_on ? &port->rss : NULL,
				    &port->steering);
}

static int
ethdev_check_queues(const struct rte_eth_dev *eth_dev)
{
	const struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	const struct rte_eth_dev_data *data = eth_dev->data;
	uint16_t i;

	for (i = 0; i < RTE_MAX(data->nb_rx_queues, data->nb_tx_queues); i++)
		if ((i < data->nb_rx_queues && data->rx_queues[i] == NULL) ||
		    (i < data->nb_tx_queues && data->tx_queues[i] == NULL)) {
			RNIC_LOG(ERR, dev, "queue %u was not set up: each Rx and Tx queue must be",
				 i);
			return -EINVAL;
		}
	return 0;
}

static int
ethdev_start(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rte_eth_dev_data *data = eth_dev->data;
	int rc;

	rc = ethdev_check_queues(eth_dev);
	if (rc != 0)
		return rc;
	rc = rnic_port_request_mtu(port->dev, data->mtu);
	if (rc == 0)
		rc = ethdev_start_queues(eth_dev);
	if (rc == 0)
		rc = rnic_filter_start(eth_dev);
	if (rc == 0)
		rc = rnic_port_use(port->dev);
	if (rc != 0) {
		ethdev_stop_queues(eth_dev);
		return rc;
	}
	atomic_store_explicit(&port->started, true, memory_order_relaxed);
	rnic_control_look(port->dev);
	rnic_link_refresh(eth_dev);
	ethdev_arm_bursts(eth_dev);
	rnic_owner_leave(eth_dev->data);
	return 0;
}

static int
ethdev_stop(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	ethdev_disarm_bursts(eth_dev);
	ethdev_stop_queues(eth_dev);
	atomic_store_explicit(&port->started, false, memory_order_relaxed);
	rnic_link_refresh(eth_dev);
	rnic_owner_leave(eth_dev->data);
	return 0;
}

/* With the function's address before them, if it is a port of the PCI bus: for the driver that is one more devarg. */
static int
ethdev_open_device(struct rte_eth_dev *eth_dev, const char *devargs, int socket,
		   struct rnic_dev **dev)
{
	char *text = NULL;
	int rc;

	if (eth_dev->device->bus == NULL || strcmp(rte_bus_name(eth_dev->device->bus), "pci") != 0)
		return rnic_dev_open(eth_dev->data->name, devargs, socket, dev);
	if (asprintf(&text, "pci=%s%s%s", eth_dev->device->name,
		     devargs != NULL && devargs[0] != '\0' ? "," : "",
		     devargs != NULL ? devargs : "") < 0)
		return -ENOMEM;
	rc = rnic_dev_open(eth_dev->data->name, text, socket, dev);
	free(text);
	return rc;
}

/* The device comes or goes: readers of statistics may ask it from now on, or must no longer. It is asked a last time. */
static void
ethdev_count_by_device(struct rnic_ethdev *port, bool on)
{
	rnic_stats_lock(port);
	if (on) {
		rnic_stats_begin(port);
		rnic_xstats_begin(port);
	} else {
		rnic_stats_poll(port);
		rnic_xstats_poll(port);
	}
	port->ask_device = on;
	rnic_stats_unlock(port);
}

/* Open the device of a port, and learn what the port tells of it. */
static int
ethdev_open(struct rte_eth_dev *eth_dev, const char *devargs)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int socket =
		eth_dev->data->numa_node >= 0 ? eth_dev->data->numa_node : (int)rte_socket_id();
	struct rnic_dev *dev;
	int rc;

	rc = ethdev_open_device(eth_dev, devargs, socket, &dev);
	if (rc != 0)
		return rc;
	port->dev = dev;
	port->max_mtu = dev->max_mtu;
	port->mac_count = RTE_MIN(rnic_port_macs_max(dev), (uint32_t)RNIC_MAC_ADDRS_MAX);
	port->speed_capa = rnic_link_speed_capa(dev);
	port->rx_offloads = rnic_rx_offloads_of(dev);
	port->filters_vlans = rnic_flow_root_moves(dev);
	port->tx_offloads = rnic_tx_offloads_of(dev);
	port->ptype_mask = UINT32_MAX;
	port->promiscuous = false;
	port->allmulticast = false;
	port->removed = false;
	snprintf(port->fw_version, sizeof(port->fw_version), "%s", dev->fw_version);
	memcpy(eth_dev->data->mac_addrs[0].addr_bytes, dev->mac, RTE_ETHER_ADDR_LEN);
	rnic_link_refresh(eth_dev);
	rnic_control_add(dev, RNIC_CONTROL_RX_INTR, &rnic_rx_intr_source);
	rnic_on_port_change(dev, rnic_link_on_port_change, eth_dev);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, rnic_link_on_lost, eth_dev);
	ethdev_count_by_device(port, true);
	return 0;
}

static void
ethdev_release_queues(struct rte_eth_dev *eth_dev)
{
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++)
		rnic_rxq_release(eth_dev, i);
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++)
		rnic_txq_release(eth_dev, i);
}

static void
ethdev_shut(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	if (port->dev == NULL)
		return;
	ethdev_release_queues(eth_dev);
	ethdev_count_by_device(port, false);
	rnic_on_port_change(port->dev, NULL, NULL);
	rnic_on_lost(port->dev, RNIC_LOST_ETHDEV, NULL, NULL);
	rnic_dev_close(port->dev);
	port->dev = NULL;
}

/* rte_eth_dev_close() goes on with releasing the port, its private data and addresses. */
static int
ethdev_close(struct rte_eth_dev *eth_dev)
{
	rnic_secondary_withdraw(eth_dev);
	ethdev_shut(eth_dev);
	rnic_owner_leave(eth_dev->data);
	return 0;
}

static const struct eth_dev_ops shut_ops;

/*
 * The port is stopped: a new device on the old port, to be configured again. Without one, the port can be asked what it
 * was and what it counted, reset again, or closed.
 */
static int
ethdev_reset(struct rte_eth_dev *eth_dev)
{
	int rc;

	rnic_secondary_hide(eth_dev, true);
	ethdev_shut(eth_dev);
	eth_dev->dev_ops = &shut_ops;
	rc = ethdev_open(eth_dev,
			 eth_dev->device->devargs != NULL ? eth_dev->device->devargs->args : NULL);
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, eth_dev->data->name,
			       "port %u has no device: reset it again, or close it",
			       eth_dev->data->port_id);
		return rc;
	}
	eth_dev->dev_ops = &rnic_ethdev_ops;
	rnic_secondary_hide(eth_dev, false);
	return 0;
}

static int
ethdev_is_removed(struct rte_eth_dev *eth_dev)
{
	return atomic_load_explicit(&rnic_ethdev_get(eth_dev)->removed, memory_order_relaxed);
}

static void
ethdev_limit_tx(struct rte_eth_dev *eth_dev, uint16_t mtu)
{
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_tx_queues; i++)
		rnic_txq_set_mtu(eth_dev->data->tx_queues[i], mtu);
}

static int
ethdev_mtu_set(struct rte_eth_dev *eth_dev, uint16_t mtu)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint16_t i, was = eth_dev->data->mtu;
	const struct rnic_rxq *rxq;
	int rc;

	/* The queues are laid out for an MTU when they start. */
	if (!port->started)
		return 0;
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		if (!rnic_rxq_fits(rxq, mtu)) {
			RNIC_LOG(
				ERR, port->dev,
				"MTU %u: Rx queue %u was started for frames of %u bytes; stop the port first",
				mtu, i, rxq->frame_bytes);
			return -EBUSY;
		}
	}
	/* What the port would drop is refused before, what it takes is let through afterwards. */
	ethdev_limit_tx(eth_dev, RTE_MIN(mtu, was));
	rc = rnic_port_set_mtu(port->dev, mtu);
	ethdev_limit_tx(eth_dev, rc == 0 ? mtu : was);
	return rc;
}

const struct eth_dev_ops rnic_ethdev_ops = {
	.dev_configure = ethdev_configure,
	.dev_start = ethdev_start,
	.dev_stop = ethdev_stop,
	.dev_close = ethdev_close,
	.dev_reset = ethdev_reset,
	.is_removed = ethdev_is_removed,
	.dev_infos_get = rnic_info_get,
	.fw_version_get = rnic_info_fw_version,
	.dev_supported_ptypes_get = rnic_rx_ptypes_get,
	.dev_ptypes_set = rnic_rx_ptypes_set,
	.rx_queue_setup = rnic_rxq_setup,
	.rx_queue_release = rnic_rxq_release,
	.rx_queue_start = rnic_rxq_queue_start,
	.rx_queue_stop = rnic_rxq_queue_stop,
	.rx_queue_intr_enable = rnic_rx_intr_enable,
	.rx_queue_intr_disable = rnic_rx_intr_disable,
	.rxq_info_get = rnic_rxq_info,
	.rx_burst_mode_get = rnic_info_rx_burst_mode,
	.tx_queue_setup = rnic_txq_setup,
	.tx_queue_release = rnic_txq_release,
	.tx_queue_start = rnic_txq_queue_start,
	.tx_queue_stop = rnic_txq_queue_stop,
	.txq_info_get = rnic_txq_info,
	.tx_burst_mode_get = rnic_info_tx_burst_mode,
	.tx_done_cleanup = rnic_txq_done_cleanup,
	.link_update = rnic_link_update,
	.dev_set_link_up = rnic_link_set_up,
	.dev_set_link_down = rnic_link_set_down,
	.promiscuous_enable = rnic_filter_promiscuous_enable,
	.promiscuous_disable = rnic_filter_promiscuous_disable,
	.allmulticast_enable = rnic_filter_allmulticast_enable,
	.allmulticast_disable = rnic_filter_allmulticast_disable,
	.mac_addr_set = rnic_filter_mac_set,
	.mac_addr_add = rnic_filter_mac_add,
	.mac_addr_remove = rnic_filter_mac_remove,
	.set_mc_addr_list = rnic_filter_set_mc_list,
	.vlan_filter_set = rnic_filter_vlan_set,
	.vlan_offload_set = rnic_filter_vlan_offload_set,
	.vlan_strip_queue_set = rnic_rx_vlan_strip_queue_set,
	.rss_hash_update = rnic_rss_hash_update,
	.rss_hash_conf_get = rnic_rss_hash_conf_get,
	.reta_update = rnic_rss_reta_update,
	.reta_query = rnic_rss_reta_query,
	.mtu_set = ethdev_mtu_set,
	.get_reg = rnic_regs_get,
	.read_clock = rnic_regs_clock,
	.stats_get = rnic_stats_get,
	.xstats_get = rnic_xstats_get,
	.xstats_get_names = rnic_xstats_names,
	.xstats_reset = rnic_xstats_reset,
	.stats_reset = rnic_stats_reset,
};

/* What needs no device; all else is -ENOTSUP. */
static const struct eth_dev_ops shut_ops = {
	.dev_stop =
		ethdev_stop, /* ethdev calls it of no port that is stopped, but wants it there */
	.dev_close = ethdev_close,
	.dev_reset = ethdev_reset,
	.is_removed = ethdev_is_removed,
	.dev_infos_get = rnic_info_get,
	.fw_version_get = rnic_info_fw_version,
	.stats_get = rnic_stats_get,
	.xstats_get = rnic_xstats_get,
	.xstats_get_names = rnic_xstats_names,
	.xstats_reset = rnic_xstats_reset,
	.stats_reset = rnic_stats_reset,
};

int
rnic_ethdev_create(struct rte_device *device, const char *name, const char *devargs)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocate(name);
	int rc = -ENOMEM;

	if (eth_dev == NULL) {
		RNIC_LOG_NAMED(ERR, name, "cannot allocate an ethdev port of that name");
		return -ENOMEM;
	}
	rnic_owner_enter(eth_dev->data);
	eth_dev->device = device;
	eth_dev->dev_ops = &rnic_ethdev_ops;
	eth_dev->rx_queue_count = rnic_rxq_count;
	eth_dev->rx_descriptor_status = rnic_rxq_descriptor_status;
	eth_dev->tx_descriptor_status = rnic_txq_descriptor_status;
	eth_dev->data->numa_node = device->numa_node;
	eth_dev->data->dev_flags =
		RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	eth_dev->data->dev_private = rte_zmalloc_socket(name, sizeof(struct rnic_ethdev),
							RTE_CACHE_LINE_SIZE, device->numa_node);
	eth_dev->data->mac_addrs =
		rte_zmalloc(name, RNIC_MAC_ADDRS_MAX * sizeof(struct rte_ether_addr), 0);
	ethdev_disarm_bursts(eth_dev);
	if (eth_dev->data->dev_private != NULL && eth_dev->data->mac_addrs != NULL) {
		pthread_mutex_init(&rnic_ethdev_get(eth_dev)->stats_lock, NULL);
		rc = ethdev_open(eth_dev, devargs);
	} else {
		RNIC_LOG_NAMED(ERR, name, "no memory for the port");
	}
	if (rc != 0) {
		rte_eth_dev_release_port(eth_dev);
		return rc;
	}
	rnic_owner_leave(eth_dev->data);
	rnic_secondary_offer(eth_dev);
	rte_eth_dev_probing_finish(eth_dev);
	return 0;
}

int
rnic_ethdev_attach(struct rte_device *device, const char *name)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_attach_secondary(name);

	if (eth_dev == NULL) {
		RNIC_LOG_NAMED(ERR, name, "the primary process has no such port");
		return -ENODEV;
	}
	eth_dev->device = device;
	eth_dev->dev_ops = &rnic_secondary_ops;
	ethdev_disarm_bursts(eth_dev);
	rte_eth_dev_probing_finish(eth_dev);
	return 0;
}

int
rnic_ethdev_destroy(struct rte_eth_dev *eth_dev)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rte_eth_dev_release_port(eth_dev);
	if (eth_dev->data->dev_started)
		rte_eth_dev_stop(eth_dev->data->port_id);
	return rte_eth_dev_close(eth_dev->data->port_id);
}
