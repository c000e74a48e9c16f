/* SPDX-License-Identifier: BSD-3-Clause */

/* The life of a transmit queue: set-up, start, drain and stop; what a recovery does to it. */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "base/owner.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/health.h"
#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "ethdev/stats.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "ethdev/txq.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/sq.h"
#include "prm/wqe.h"

#define TXQ_DRAIN_MS 5000 /* a software device may have no CPU for a while */
#define TXQ_LOOK_MS  100  /* how often it is asked whether the device is alive */

static int
txq_repair(void *queue)
{
	struct rnic_txq *txq = queue;

	return rnic_sq_recover(txq->dev, &txq->sq);
}

int
rnic_txq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc, unsigned int socket,
	       const struct rte_eth_txconf *conf)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	uint32_t elts = RTE_MAX(rte_align32pow2(nb_desc), (uint32_t)RNIC_TX_ELTS_MIN);
	struct rnic_txq *txq;

	rnic_txq_release(eth_dev, queue);
	txq = rte_zmalloc_socket("rnic_txq", sizeof(*txq), RTE_CACHE_LINE_SIZE, socket);
	if (txq != NULL) {
		txq->elts = rte_zmalloc_socket("rnic_tx_elts", elts * sizeof(*txq->elts),
					       RTE_CACHE_LINE_SIZE, socket);
		txq->wqes = rte_zmalloc_socket("rnic_tx_wqes", elts * sizeof(*txq->wqes),
					       RTE_CACHE_LINE_SIZE, socket);
	}
	if (txq == NULL || txq->elts == NULL || txq->wqes == NULL) {
		RNIC_LOG(ERR, dev, "Tx queue %u: no memory for %u descriptors", queue, elts);
		if (txq != NULL) {
			rte_free(txq->elts);
			rte_free(txq->wqes);
			rte_free(txq);
		}
		return -ENOMEM;
	}
	txq->elts_mask = elts - 1;
	txq->dev = dev;
	txq->offloads = conf->offloads | eth_dev->data->dev_conf.txmode.offloads;
	txq->fast_free = (txq->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	txq->nb_desc = nb_desc;
	txq->deferred_start = conf->tx_deferred_start;
	txq->queue_id = queue;
	txq->port_id = eth_dev->data->port_id;
	txq->recovery = (struct rnic_recovery){
		.state = &txq->state,
		.dev = dev,
		.direction = "Tx",
		.queue_id = queue,
		.repair = txq_repair,
		.queue = txq,
		.wqe = &txq->wqe_counter,
	};
	rnic_stats_publish(rnic_ethdev_get(eth_dev), &eth_dev->data->tx_queues[queue], txq);
	rnic_owner_leave(eth_dev->data);
	return 0;
}

void
rnic_txq_release(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_txq *txq = eth_dev->data->tx_queues[queue];

	if (txq == NULL)
		return;
	rnic_txq_stop(txq);
	rnic_stats_remove(port, &port->tx_released, &eth_dev->data->tx_queues[queue], &txq->stats);
	rte_free(txq->wqes);
	rte_free(txq->elts);
	rte_free(txq);
}

void
rnic_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info)
{
	const struct rnic_txq *txq = eth_dev->data->tx_queues[queue];

	info->nb_desc = txq->nb_desc;
	info->conf.offloads = txq->offloads;
	info->conf.tx_rs_thresh = RNIC_TX_SIGNAL;
	info->conf.tx_deferred_start = txq->deferred_start;
}

uint64_t
rnic_txq_offloads(const struct rte_eth_dev *eth_dev)
{
	const struct rnic_txq *txq;
	uint64_t offloads = 0;
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		txq = eth_dev->data->tx_queues[i];
		if (txq != NULL)
			offloads |= txq->offloads;
	}
	return offloads;
}

void
rnic_txq_set_mtu(struct rnic_txq *txq, uint16_t mtu)
{
	atomic_store_explicit(&txq->length_span, mtu + RNIC_FRAME_OVERHEAD - RTE_ETHER_HDR_LEN,
			      memory_order_relaxed);
}

int
rnic_txq_start(struct rnic_txq *txq, uint16_t mtu)
{
	unsigned int log_elts = rte_log2_u32(txq->elts_mask + 1u);
	int rc;

	if (txq->dev->min_inline_mode > RNIC_INLINE_MODE_L2) {
		RNIC_LOG(
			ERR, txq->dev,
			"Tx queue %u: the vport demands more than L2 headers inline (mode %u), not "
			"supported: lower it with the card's own tools (min_inline_mode)",
			txq->queue_id, txq->dev->min_inline_mode);
		return -ENOTSUP;
	}
	txq->inline_bytes =
		txq->dev->min_inline_mode == RNIC_INLINE_MODE_L2 ? RNIC_INLINE_L2_BYTES : 0;
	rnic_tx_offloads_init(txq);
	/* Few WQEs ask for a completion, but in the error state each one gets one. */
	rc = rnic_cq_create(txq->dev, log_elts, txq->dev->async_eq, &txq->cq);
	if (rc != 0)
		return rc;
	rc = rnic_sq_create(txq->dev, log_elts, &txq->cq, &txq->sq);
	if (rc != 0) {
		rnic_cq_destroy(txq->dev, &txq->cq);
		return rc;
	}
	rnic_mkey_cache_init(txq->dev, &txq->mkeys);
	rnic_txq_set_mtu(txq, mtu);
	txq->elts_head = txq->dev->tunables.elts;
	txq->elts_tail = txq->dev->tunables.elts;
	rnic_tx_rings_begin(txq);
	atomic_store_explicit(&txq->state, RNIC_QUEUE_RUNNING, memory_order_release);
	rnic_owner_leave(txq);
	return 0;
}

/* Let the device send what was posted, so that a stop loses nothing; one that is dead is not waited for. */
static void
txq_drain(struct rnic_txq *txq)
{
	const uint64_t ms = rte_get_timer_hz() / 1000, start = rte_get_timer_cycles();
	uint64_t look = start + TXQ_LOOK_MS * ms, now;
	bool posted = false, dead = false;

	while (rnic_tx_reap(txq, RNIC_TX_REAP_ALL)) {
		uint16_t used = txq->elts_head - txq->elts_tail;

		if (used == 0)
			return;
		/* The last packets may not have asked for a completion. */
		if (!posted && rnic_tx_room(txq) > 0) {
			rnic_tx_post_nop(txq);
			posted = true;
		}
		now = rte_get_timer_cycles();
		if (now > look) {
			look = now + TXQ_LOOK_MS * ms;
			dead = rnic_device_dead(txq->dev) != NULL;
		}
		if (dead || now - start > TXQ_DRAIN_MS * ms) {
			txq->wqe_counter = txq->sq_tail;
			return;
		}
		rte_delay_us_sleep(10);
	}
}

/* What the queue still holds when it stops: counted, and said, as nobody else will. */
static void
txq_give_up(struct rnic_txq *txq, enum rnic_queue_state state)
{
	uint16_t packets;

	if (txq->elts_head == txq->elts_tail)
		return;
	packets = rnic_tx_count_lost(txq);
	if (state == RNIC_QUEUE_RUNNING)
		RNIC_LOG(ERR, txq->dev,
			 "Tx queue %u: stopped with %u packets that the device did not send",
			 txq->queue_id, packets);
	else
		RNIC_LOG(ERR, txq->dev,
			 "Tx queue %u: stopped after an error: %u packets are lost with it",
			 txq->queue_id, packets);
}

int
rnic_txq_stop(struct rnic_txq *txq)
{
	enum rnic_queue_state state = atomic_load_explicit(&txq->state, memory_order_acquire);
	int rc, rc2;

	if (state == RNIC_QUEUE_STOPPED)
		return 0;
	rnic_owner_enter(txq);
	if (state == RNIC_QUEUE_RUNNING)
		txq_drain(txq);
	rnic_recovery_settle(&txq->recovery);
	txq_give_up(txq, atomic_load_explicit(&txq->state, memory_order_acquire));
	rc = rnic_sq_destroy(txq->dev, &txq->sq);
	rc2 = rnic_cq_destroy(txq->dev, &txq->cq);
	/* Gone from the device: what is left is the driver's again. */
	rnic_tx_free(txq, txq->elts_head);
	atomic_store_explicit(&txq->state, RNIC_QUEUE_STOPPED, memory_order_release);
	return rc != 0 ? rc : rc2;
}

/* Low bits of how many packets the device has completed. */
static uint16_t
txq_packets_done(const struct rnic_txq *txq)
{
	return txq->sq_tail == txq->sq.producer
		       ? (uint16_t)txq->stats.packets
		       : txq->wqes[txq->sq_tail & txq->sq.mask].packets_start;
}

/*
 * The last packets may not have asked for a completion: a NOP behind them does. There is never a second one. It has a WQEBB
 * and no slot of elts, on whose room the ring's rests: packets have one slot less until it is completed.
 */
static void
txq_ask_completion(struct rnic_txq *txq)
{
	if (txq->nop_posted || txq->elts_head == txq->elts_tail || txq->unsignalled == 0 ||
	    rnic_tx_room(txq) == 0)
		return;
	rnic_tx_post_nop(txq);
	txq->nop_posted = true;
	txq->nop_end = txq->sq.producer;
	txq->slots--;
}

int
rnic_txq_done_cleanup(void *queue, uint32_t count)
{
	struct rnic_txq *txq = queue;
	const uint32_t enough = count != 0 ? count : RNIC_TX_REAP_ALL;
	uint16_t packets = 0, segs, before;

	rnic_owner_enter(txq);
	if (atomic_load_explicit(&txq->state, memory_order_acquire) == RNIC_QUEUE_RUNNING) {
		before = txq_packets_done(txq);
		segs = txq->elts_tail;
		if (rnic_tx_reap(txq, enough)) {
			segs = txq->elts_tail - segs;
			packets = txq_packets_done(txq) - before;
			/* A device may say anything. */
			packets = RTE_MIN(packets, segs);
			txq_ask_completion(txq);
		}
	}
	rnic_owner_leave(txq);
	return packets;
}

/*
 * How far the ring is from full, at the queue's own time: slots from the next packet's on that are free. What is not may be
 * long sent, only that no completion was asked for: the next question knows.
 */
int
rnic_txq_descriptor_status(void *queue, uint16_t offset)
{
	struct rnic_txq *txq = queue;
	int status = RTE_ETH_TX_DESC_UNAVAIL;

	if (offset >= txq->nb_desc)
		return -EINVAL;
	rnic_owner_enter(txq);
	if (atomic_load_explicit(&txq->state, memory_order_acquire) == RNIC_QUEUE_RUNNING &&
	    rnic_tx_reap(txq, RNIC_TX_REAP_ALL)) {
		status = offset < rnic_tx_room(txq) ? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;
		if (status == RTE_ETH_TX_DESC_FULL)
			txq_ask_completion(txq);
	}
	rnic_owner_leave(txq);
	return status;
}

/* ---- One queue of a port that runs ---- */

int
rnic_txq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	int rc = rnic_txq_start(eth_dev->data->tx_queues[queue], eth_dev->data->mtu);

	if (rc == 0)
		eth_dev->data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
	return rc;
}

int
rnic_txq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	int rc = rnic_txq_stop(eth_dev->data->tx_queues[queue]);

	eth_dev->data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
	return rc;
}
