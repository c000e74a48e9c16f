/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: the queues count on the data path, the device counts what it had no receive WQE for. Nothing is ever
 * cleared: a reset keeps what was there as an offset.
 *
 * Applications read them from any thread, also while another closes a port that was lost: testpmd does. So in the primary
 * process a lock joins a reader with the end of a queue and of the device. Bursts know nothing of it.
 */

#include "ethdev.h"
#include "rx.h"
#include "tx.h"

static void
stats_lock(struct rnic_ethdev *port)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		pthread_mutex_lock(&port->stats_lock);
}

static void
stats_unlock(struct rnic_ethdev *port)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		pthread_mutex_unlock(&port->stats_lock);
}

void
rnic_stats_admit(struct rnic_ethdev *port, void **slot, void *queue)
{
	stats_lock(port);
	*slot = queue;
	stats_unlock(port);
}

void
rnic_stats_retire(struct rnic_ethdev *port, struct rnic_queue_stats *sum, void **slot,
		  const struct rnic_queue_stats *stats)
{
	stats_lock(port);
	rnic_counter_add(&sum->packets, stats->packets);
	rnic_counter_add(&sum->bytes, stats->bytes);
	rnic_counter_add(&sum->errors, stats->errors);
	rnic_counter_add(&sum->no_mbuf, stats->no_mbuf);
	rnic_counter_add(&sum->restarts, stats->restarts);
	*slot = NULL;
	stats_unlock(port);
}

void
rnic_stats_ask_device(struct rnic_ethdev *port, bool ask)
{
	stats_lock(port);
	port->ask_device = ask;
	stats_unlock(port);
}

/* Frames that found no receive WQE; the device's counter has 32 bits. */
static void
stats_poll_missed(struct rnic_ethdev *port)
{
	uint32_t now;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY || !port->ask_device ||
	    __atomic_load_n(&port->removed, __ATOMIC_RELAXED) ||
	    rnic_port_out_of_buffer(port->dev, &now) < 0)
		return;
	rnic_counter_add(&port->imissed, now - port->out_of_buffer);
	port->out_of_buffer = now;
}

static void
stats_collect(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rnic_rxq *rxq;
	const struct rnic_txq *txq;
	uint16_t i;

	stats_lock(port);
	stats_poll_missed(port);
	*stats = (struct rte_eth_stats){
		.ipackets = rnic_counter_get(&port->rx_released.packets),
		.ibytes = rnic_counter_get(&port->rx_released.bytes),
		.ierrors = rnic_counter_get(&port->rx_released.errors),
		.rx_nombuf = rnic_counter_get(&port->rx_released.no_mbuf),
		.imissed = rnic_counter_get(&port->imissed),
		.opackets = rnic_counter_get(&port->tx_released.packets),
		.obytes = rnic_counter_get(&port->tx_released.bytes),
		.oerrors = rnic_counter_get(&port->tx_released.errors),
	};
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		if (rxq == NULL)
			continue;
		stats->q_ipackets[i] = rnic_counter_get(&rxq->stats.packets);
		stats->q_ibytes[i] = rnic_counter_get(&rxq->stats.bytes);
		stats->q_errors[i] = rnic_counter_get(&rxq->stats.errors);
		stats->ipackets += stats->q_ipackets[i];
		stats->ibytes += stats->q_ibytes[i];
		stats->ierrors += stats->q_errors[i];
		stats->rx_nombuf += rnic_counter_get(&rxq->stats.no_mbuf);
	}
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		txq = eth_dev->data->tx_queues[i];
		if (txq == NULL)
			continue;
		stats->q_opackets[i] = rnic_counter_get(&txq->stats.packets);
		stats->q_obytes[i] = rnic_counter_get(&txq->stats.bytes);
		stats->opackets += stats->q_opackets[i];
		stats->obytes += stats->q_obytes[i];
		stats->oerrors += rnic_counter_get(&txq->stats.errors);
	}
	stats_unlock(port);
}

int
rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
{
	const struct rte_eth_stats *offset = &rnic_ethdev_get(eth_dev)->offset;
	uint16_t i;

	stats_collect(eth_dev, stats);
	stats->ipackets -= offset->ipackets;
	stats->ibytes -= offset->ibytes;
	stats->ierrors -= offset->ierrors;
	stats->imissed -= offset->imissed;
	stats->rx_nombuf -= offset->rx_nombuf;
	stats->opackets -= offset->opackets;
	stats->obytes -= offset->obytes;
	stats->oerrors -= offset->oerrors;
	for (i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		stats->q_ipackets[i] -= offset->q_ipackets[i];
		stats->q_ibytes[i] -= offset->q_ibytes[i];
		stats->q_errors[i] -= offset->q_errors[i];
		stats->q_opackets[i] -= offset->q_opackets[i];
		stats->q_obytes[i] -= offset->q_obytes[i];
	}
	return 0;
}

int
rnic_stats_reset(struct rte_eth_dev *eth_dev)
{
	stats_collect(eth_dev, &rnic_ethdev_get(eth_dev)->offset);
	return 0;
}
