/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: the queues count on the data path; the device counts what it had no receive WQE for, and frames that its
 * port refused in either direction. Nothing is ever cleared: a reset keeps what was there as an offset.
 *
 * Applications read them from any thread, also while another closes a port that was lost: testpmd does. So a lock
 * joins a reader with the end of a queue and of the device, and with a reset, which a secondary process may ask for at any
 * time. Bursts know nothing of it.
 */

#include <stdatomic.h>
#include <string.h>

#include "base/counter.h"
#include "core/dev.h"
#include "ethdev/port.h"
#include "ethdev/rx_queue.h"
#include "ethdev/stats.h"
#include "ethdev/tx_queue.h"
#include "object/port.h"
#include "object/port_counters.h"
#include "object/q_counter.h"

void
rnic_stats_lock(struct rnic_ethdev *port)
{
	pthread_mutex_lock(&port->stats_lock);
}

void
rnic_stats_unlock(struct rnic_ethdev *port)
{
	pthread_mutex_unlock(&port->stats_lock);
}

void
rnic_stats_publish(struct rnic_ethdev *port, void **slot, void *queue)
{
	rnic_stats_lock(port);
	*slot = queue;
	rnic_stats_unlock(port);
}

void
rnic_stats_remove(struct rnic_ethdev *port, struct rnic_queue_stats *sum, void **slot,
		  const struct rnic_queue_stats *stats)
{
	rnic_stats_lock(port);
	rnic_counter_add(&sum->packets, stats->packets);
	rnic_counter_add(&sum->bytes, stats->bytes);
	rnic_counter_add(&sum->errors, stats->errors);
	rnic_counter_add(&sum->no_mbuf, stats->no_mbuf);
	rnic_counter_add(&sum->restarts, stats->restarts);
	*slot = NULL;
	rnic_stats_unlock(port);
}

/* Of a counter of 64 bits: one that went back was cleared by somebody else, and has counted anew since. */
static uint64_t
stats_grown(uint64_t was, uint64_t now)
{
	return now >= was ? now - was : now;
}

/*
 * What the device counts, and no queue knows of: frames that found no receive WQE (32 bits), frames that the vport
 * refused to take from the wire, and to put on it. None of them met a queue's error.
 */
void
rnic_stats_poll(struct rnic_ethdev *port)
{
	struct rnic_port_errors errors;
	uint32_t missed;

	if (!port->ask_device || atomic_load_explicit(&port->removed, memory_order_relaxed))
		return;
	if (rnic_q_counter_out_of_buffer(port->dev, &missed) == 0) {
		rnic_counter_add(&port->imissed, missed - port->out_of_buffer);
		port->out_of_buffer = missed;
	}
	if (rnic_port_errors(port->dev, &errors) == 0) {
		rnic_counter_add(&port->port_ierrors,
				 stats_grown(port->port_errors.received, errors.received));
		rnic_counter_add(&port->port_oerrors,
				 stats_grown(port->port_errors.transmit, errors.transmit));
		port->port_errors = errors;
	}
}

void
rnic_stats_begin(struct rnic_ethdev *port)
{
	/* The queue counter is new; the vport's may be as old as the card. */
	port->out_of_buffer = 0;
	if (rnic_port_errors(port->dev, &port->port_errors) != 0)
		port->port_errors = (struct rnic_port_errors){ 0 };
}

/* Called with the lock held. */
static void
stats_collect(struct rte_eth_dev *eth_dev, struct rnic_port_stats *stats)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rnic_rxq *rxq;
	const struct rnic_txq *txq;
	uint16_t i;

	rnic_stats_poll(port);
	*stats = (struct rnic_port_stats){
		.ipackets = rnic_counter_get(&port->rx_released.packets),
		.ibytes = rnic_counter_get(&port->rx_released.bytes),
		.ierrors = rnic_counter_get(&port->rx_released.errors) +
			   rnic_counter_get(&port->port_ierrors),
		.rx_nombuf = rnic_counter_get(&port->rx_released.no_mbuf),
		.imissed = rnic_counter_get(&port->imissed),
		.opackets = rnic_counter_get(&port->tx_released.packets),
		.obytes = rnic_counter_get(&port->tx_released.bytes),
		.oerrors = rnic_counter_get(&port->tx_released.errors) +
			   rnic_counter_get(&port->port_oerrors),
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
}

void
rnic_stats_read(struct rte_eth_dev *eth_dev, struct rnic_port_stats *stats)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rnic_port_stats *offset = &port->offset;
	uint16_t i;

	rnic_stats_lock(port);
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
	rnic_stats_unlock(port);
}

int
rnic_stats_report(const struct rnic_port_stats *all, struct rte_eth_stats *stats,
		  struct RNIC_QUEUE_STATS *queues)
{
	stats->ipackets = all->ipackets;
	stats->ibytes = all->ibytes;
	stats->ierrors = all->ierrors;
	stats->imissed = all->imissed;
	stats->rx_nombuf = all->rx_nombuf;
	stats->opackets = all->opackets;
	stats->obytes = all->obytes;
	stats->oerrors = all->oerrors;
	if (queues == NULL)
		return 0;
	memcpy(queues->q_ipackets, all->q_ipackets, sizeof(all->q_ipackets));
	memcpy(queues->q_ibytes, all->q_ibytes, sizeof(all->q_ibytes));
	memcpy(queues->q_errors, all->q_errors, sizeof(all->q_errors));
	memcpy(queues->q_opackets, all->q_opackets, sizeof(all->q_opackets));
	memcpy(queues->q_obytes, all->q_obytes, sizeof(all->q_obytes));
	return 0;
}

#ifdef RNIC_QUEUE_STATS_APART
int
rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
	       struct eth_queue_stats *queues)
#else
int
rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
#endif
{
#ifndef RNIC_QUEUE_STATS_APART
	struct rte_eth_stats *queues = stats;
#endif
	struct rnic_port_stats all;

	rnic_stats_read(eth_dev, &all);
	return rnic_stats_report(&all, stats, queues);
}

int
rnic_stats_reset(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	rnic_stats_lock(port);
	stats_collect(eth_dev, &port->offset);
	rnic_stats_unlock(port);
	return 0;
}
