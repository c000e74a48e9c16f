/* SPDX-License-Identifier: BSD-3-Clause */

/* The life of a receive queue: set-up, layout for an MTU, start and stop; what a recovery does to it. */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/counter.h"
#include "base/log.h"
#include "base/owner.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "ethdev/rx.h"
#include "ethdev/rx_intr.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "ethdev/rxq.h"
#include "ethdev/stats.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/rq.h"
#include "prm/queue.h"
#include "prm/wqe.h"

/*
 * Empty the slots: of those of one mbuf a WQE, only the posted ones hold one; else the others are NULL. The device must
 * no longer know the WQEs.
 */
static void
rxq_drop_mbufs(struct rnic_rxq *rxq, uint16_t producer)
{
	uint32_t i, mask = (rxq->slots >> rxq->log_segs) - 1;
	uint16_t index;

	if (rxq->segs == 1) {
		for (index = rxq->consumer; index != producer; index++)
			rte_mbuf_raw_free(rxq->elts[index & mask]);
		return;
	}
	for (i = 0; i < rxq->slots; i++) {
		if (rxq->elts[i] != NULL)
			rte_mbuf_raw_free(rxq->elts[i]);
		rxq->elts[i] = NULL;
	}
}

/* Of a queue whose WQEs the device has let go of: it starts empty. */
static int
rxq_drop(struct rnic_rxq *rxq, uint16_t producer)
{
	if (rxq->cq.lost)
		return -EPROTO;
	rnic_cq_drop(&rxq->cq);
	rxq_drop_mbufs(rxq, producer);
	rxq->consumer = 0;
	return 0;
}

/* Of what was in the ring nothing was delivered. */
static int
rxq_repair(void *queue)
{
	struct rnic_rxq *rxq = queue;
	const uint16_t producer = rxq->rq.producer;
	int rc = rnic_rq_recover(rxq->dev, &rxq->rq);

	if (rc == 0)
		rc = rxq_drop(rxq, producer);
	if (rc == 0)
		rnic_counter_add(&rxq->stats.restarts, 1);
	return rc;
}

int
rnic_rxq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc, unsigned int socket,
	       const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;
	struct rnic_rxq *rxq;
	int rc;

	if (pool == NULL) {
		RNIC_LOG(ERR, dev,
			 "Rx queue %u: one mempool is needed, buffer split is not supported",
			 queue);
		return -ENOTSUP;
	}
	rnic_rxq_release(eth_dev, queue);
	rxq = rte_zmalloc_socket("rnic_rxq", sizeof(*rxq), RTE_CACHE_LINE_SIZE, socket);
	if (rxq == NULL) {
		RNIC_LOG(ERR, dev, "Rx queue %u: no memory", queue);
		return -ENOMEM;
	}
	rxq->dev = dev;
	rxq->pool = pool;
	rxq->socket = socket;
	rxq->offloads = conf->offloads | eth_dev->data->dev_conf.rxmode.offloads;
	rxq->nb_desc = nb_desc;
	rxq->deferred_start = conf->rx_deferred_start;
	rxq->queue_id = queue;
	rxq->port_id = eth_dev->data->port_id;
	rxq->recovery = (struct rnic_recovery){
		.state = &rxq->state,
		.dev = dev,
		.direction = "Rx",
		.queue_id = queue,
		.repair = rxq_repair,
		.queue = rxq,
	};
	rc = rnic_rx_timestamps_init(rxq);
	if (rc != 0) {
		rte_free(rxq);
		return rc;
	}
	rnic_stats_publish(rnic_ethdev_get(eth_dev), &eth_dev->data->rx_queues[queue], rxq);
	rnic_owner_leave(eth_dev->data);
	return 0;
}

void
rnic_rxq_release(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_rxq *rxq = eth_dev->data->rx_queues[queue];

	if (rxq == NULL)
		return;
	rnic_rxq_stop(rxq);
	rnic_stats_remove(port, &port->rx_released, &eth_dev->data->rx_queues[queue], &rxq->stats);
	rte_free(rxq);
}

void
rnic_rxq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_rxq_info *info)
{
	const struct rnic_rxq *rxq = eth_dev->data->rx_queues[queue];
	const uint32_t room = rte_pktmbuf_data_room_size(rxq->pool);

	info->mp = rxq->pool;
	info->scattered_rx = eth_dev->data->scattered_rx;
	info->nb_desc = rxq->nb_desc;
	info->rx_buf_size = (uint16_t)(room - RTE_MIN(room, (uint32_t)RTE_PKTMBUF_HEADROOM));
	info->conf.offloads = rxq->offloads;
	info->conf.rx_free_thresh = RNIC_RX_REFILL;
	info->conf.rx_drop_en = 1;
	info->conf.rx_deferred_start = rxq->deferred_start;
}

bool
rnic_rxq_fits(const struct rnic_rxq *rxq, uint16_t mtu)
{
	return (uint32_t)mtu + RNIC_FRAME_OVERHEAD <= rxq->frame_bytes;
}

/* How many mbufs a frame of this MTU may take. */
static int
rxq_layout(struct rnic_rxq *rxq, uint16_t mtu)
{
	uint32_t frame = mtu + RNIC_FRAME_OVERHEAD, room = rte_pktmbuf_data_room_size(rxq->pool);
	uint32_t segs;

	if (room <= RTE_PKTMBUF_HEADROOM) {
		RNIC_LOG(ERR, rxq->dev,
			 "Rx queue %u: mempool %s has mbufs of %u bytes, all headroom",
			 rxq->queue_id, rxq->pool->name, room);
		return -EINVAL;
	}
	room -= RTE_PKTMBUF_HEADROOM;
	segs = (frame + room - 1) / room;
	if (segs > RNIC_RX_SEGS_MAX) {
		RNIC_LOG(
			ERR, rxq->dev,
			"Rx queue %u: a frame of MTU %u takes %u mbufs of %u bytes, at most %u can be; use larger mbufs",
			rxq->queue_id, mtu, segs, room, RNIC_RX_SEGS_MAX);
		return -EINVAL;
	}
	rxq->segs = segs;
	rxq->log_segs = rte_log2_u32(segs);
	rxq->segment_bytes = room;
	rxq->frame_bytes = segs * room;
	return 0;
}

/* The parts of the WQEs that never change: lengths, and the end mark where slots are not used. */
static void
rxq_init_ring(struct rnic_rxq *rxq)
{
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)rxq->rq.ring;
	uint32_t wqe, i;

	for (wqe = 0; wqe <= rxq->rq.mask; wqe++)
		for (i = 0; i < 1u << rxq->log_segs; i++, data++)
			*data = i < rxq->segs ?
					(struct rnic_wqe_data){
						.byte_count = rnic_cpu_to_be32(rxq->segment_bytes),
					} :
					(struct rnic_wqe_data){
						.lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY),
					};
}

/* All that the ring needs but the mbufs. */
static int
rxq_prepare(struct rnic_rxq *rxq)
{
	struct rte_mbuf fresh = {
		.data_off = RTE_PKTMBUF_HEADROOM,
		.refcnt = 1,
		.nb_segs = 1,
		.port = rxq->port_id,
	};
	int rc;

	memcpy(&rxq->rearm, &fresh.rearm_data, sizeof(rxq->rearm));
	rxq->slots = ((uint32_t)rxq->rq.mask + 1) << rxq->log_segs;
	rxq->elts = rte_zmalloc_socket("rnic_rx_elts", rxq->slots * sizeof(*rxq->elts),
				       RTE_CACHE_LINE_SIZE, rxq->socket);
	if (rxq->elts == NULL) {
		RNIC_LOG(ERR, rxq->dev, "Rx queue %u: no memory for %u mbufs", rxq->queue_id,
			 rxq->slots);
		return -ENOMEM;
	}
	rc = rnic_mkey_register_pool(rxq->dev, rxq->pool);
	if (rc != 0)
		return rc;
	rxq->registered = rxq->pool;
	rnic_mkey_cache_init(rxq->dev, &rxq->mkeys);
	rxq_init_ring(rxq);
	return 0;
}

static int
rxq_fill(struct rnic_rxq *rxq)
{
	if (rnic_rx_refill_all(rxq))
		return 0;
	RNIC_LOG(ERR, rxq->dev,
		 "Rx queue %u: mempool %s holds fewer than the %u mbufs that fill the ring",
		 rxq->queue_id, rxq->pool->name, (rxq->rq.mask + 1) * rxq->segs);
	return -ENOMEM;
}

/* Of a queue of any stage: the device's objects, then the mbufs, then their keys. */
static int
rxq_tear_down(struct rnic_rxq *rxq)
{
	uint16_t producer = rxq->rq.producer;
	int rc = rnic_rq_destroy(rxq->dev, &rxq->rq);
	int rc2 = rnic_cq_destroy(rxq->dev, &rxq->cq);

	if (rxq->elts != NULL)
		rxq_drop_mbufs(rxq, producer);
	rte_free(rxq->elts);
	rxq->elts = NULL;
	if (rxq->registered != NULL)
		rnic_mkey_unregister_pool(rxq->dev, rxq->registered);
	rxq->registered = NULL;
	rxq->frame_bytes = 0;
	return rc != 0 ? rc : rc2;
}

int
rnic_rxq_start(struct rnic_rxq *rxq, uint16_t mtu, bool compressed)
{
	const struct rnic_eq *eq = rxq->eq != NULL ? rxq->eq : rxq->dev->async_eq;
	unsigned int log_wqes;
	int rc = rxq_layout(rxq, mtu);

	if (rc != 0)
		return rc;
	log_wqes = rte_log2_u32(RTE_MAX(rte_align32pow2(rxq->nb_desc) >> rxq->log_segs,
					(uint32_t)RNIC_RX_WQES_MIN));
	/* A CQE per WQE: no overrun, and the two rings turn together. */
	rc = compressed ? rnic_cq_create_compressed(rxq->dev, log_wqes, eq, &rxq->cq)
			: rnic_cq_create(rxq->dev, log_wqes, eq, &rxq->cq);
	if (rc != 0)
		return rc;
	rc = rnic_rq_create(rxq->dev, log_wqes, rte_log2_u32(RNIC_WQE_DS_BYTES) + rxq->log_segs,
			    &rxq->cq, &rxq->rq);
	if (rc != 0) {
		rnic_cq_destroy(rxq->dev, &rxq->cq);
		return rc;
	}
	rxq->consumer = 0;
	rxq->recovery.wake = rxq->eq != NULL ? rnic_rx_intr_ready : NULL;
	rc = rxq_prepare(rxq);
	if (rc == 0 && rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP)
		rc = rnic_rq_set_vlan_strip(rxq->dev, &rxq->rq, true);
	/* One that is to wait is made all the same: what frames are spread over names it. */
	if (rc == 0)
		rc = rxq->deferred_start ? rnic_rq_set_state(rxq->dev, &rxq->rq, RNIC_WQ_STATE_RST)
					 : rxq_fill(rxq);
	if (rc != 0) {
		rxq_tear_down(rxq);
		return rc;
	}
	atomic_store_explicit(&rxq->state,
			      rxq->deferred_start ? RNIC_QUEUE_HALTED : RNIC_QUEUE_RUNNING,
			      memory_order_release);
	rnic_owner_leave(rxq);
	return 0;
}

/* No recovery can run from here on: the queue is this thread's, whatever state it is in. */
static void
rxq_settle(struct rnic_rxq *rxq)
{
	rnic_owner_enter(rxq);
	rnic_recovery_settle(&rxq->recovery);
}

int
rnic_rxq_stop(struct rnic_rxq *rxq)
{
	if (atomic_load_explicit(&rxq->state, memory_order_acquire) == RNIC_QUEUE_STOPPED)
		return 0;
	rxq_settle(rxq);
	atomic_store_explicit(&rxq->state, RNIC_QUEUE_STOPPED, memory_order_release);
	return rxq_tear_down(rxq);
}

/* The device lets go of all mbufs, and they are free. */
static int
rxq_empty(struct rnic_rxq *rxq)
{
	const uint16_t producer = rxq->rq.producer;
	int rc = rnic_rq_reset(rxq->dev, &rxq->rq);

	/* Else it may still write to them: they stay where they are until the port stops. */
	return rc != 0 ? rc : rxq_drop(rxq, producer);
}

/* Starting it now would leave driver and device at different indices: it must be stopped first, which may succeed now. */
static void
rxq_not_emptied(struct rnic_rxq *rxq, int rc)
{
	RNIC_LOG(ERR, rxq->dev,
		 "Rx queue %u: not emptied: %s; it is down: stop it again, or restart the port",
		 rxq->queue_id, strerror(-rc));
	rxq->recovery.unasked = false;
	atomic_store_explicit(&rxq->state, RNIC_QUEUE_ERROR, memory_order_release);
}

static int
rxq_halt(struct rnic_rxq *rxq)
{
	int rc;

	if (atomic_load_explicit(&rxq->state, memory_order_acquire) == RNIC_QUEUE_HALTED)
		return 0;
	rxq_settle(rxq);
	atomic_store_explicit(&rxq->state, RNIC_QUEUE_HALTED, memory_order_release);
	rc = rxq_empty(rxq);
	if (rc != 0)
		rxq_not_emptied(rxq, rc);
	rnic_owner_leave(rxq);
	return rc;
}

static int
rxq_resume(struct rnic_rxq *rxq)
{
	int rc, rc2;

	if (atomic_load_explicit(&rxq->state, memory_order_acquire) != RNIC_QUEUE_HALTED)
		return 0;
	rnic_owner_enter(rxq);
	rc = rnic_rq_set_state(rxq->dev, &rxq->rq, RNIC_WQ_STATE_RDY);
	if (rc != 0)
		return rc;
	rc = rxq_fill(rxq);
	if (rc != 0) {
		rc2 = rxq_empty(rxq);
		if (rc2 != 0)
			rxq_not_emptied(rxq, rc2);
		return rc;
	}
	atomic_store_explicit(&rxq->state, RNIC_QUEUE_RUNNING, memory_order_release);
	rnic_owner_leave(rxq);
	if (rxq->eq != NULL)
		rnic_rx_intr_ready(rxq->dev, rxq->queue_id);
	return 0;
}

/* ---- What ethdev asks of the ring, in the thread whose queue it is ---- */

static bool
rxq_entry_ready(const struct rnic_rxq *rxq, uint32_t offset)
{
	const struct rnic_cq *cq = &rxq->cq;
	const uint32_t index = cq->consumer + offset;

	if (cq->compressed)
		return rnic_cq_waiting(cq, offset + 1) > offset;
	return rnic_cqe_ready(&cq->ring[index & cq->mask], index, cq->log_size);
}

rnic_rxq_count_t
rnic_rxq_count(void *queue)
{
	struct rnic_rxq *rxq = queue;
	uint32_t count = 0;

	rnic_owner_enter(rxq);
	if (atomic_load_explicit(&rxq->state, memory_order_acquire) == RNIC_QUEUE_RUNNING)
		count = rnic_cq_waiting(&rxq->cq, (uint16_t)(rxq->rq.producer - rxq->consumer));
	rnic_owner_leave(rxq);
	return count;
}

int
rnic_rxq_descriptor_status(void *queue, uint16_t offset)
{
	struct rnic_rxq *rxq = queue;
	int status = RTE_ETH_RX_DESC_UNAVAIL;

	if (offset >= rxq->nb_desc)
		return -EINVAL;
	rnic_owner_enter(rxq);
	if (atomic_load_explicit(&rxq->state, memory_order_acquire) == RNIC_QUEUE_RUNNING &&
	    offset < (uint16_t)(rxq->rq.producer - rxq->consumer))
		status =
			rxq_entry_ready(rxq, offset) ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
	rnic_owner_leave(rxq);
	return status;
}

/* ---- One queue of a port that runs ---- */

int
rnic_rxq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	int rc = rxq_resume(eth_dev->data->rx_queues[queue]);

	if (rc == 0)
		eth_dev->data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
	return rc;
}

int
rnic_rxq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue)
{
	int rc = rxq_halt(eth_dev->data->rx_queues[queue]);

	if (rc == 0)
		eth_dev->data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
	return rc;
}
