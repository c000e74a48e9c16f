/* SPDX-License-Identifier: BSD-3-Clause */

/* The frames of a port wire, under the poller's lock. */
#include <string.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/receive.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/port_frames.h"
#include "softrnic/wire/port_private.h"

#define PORT_STALE 8192 /* at most so many old frames are thrown away in a poll */

/* Queue pairs wait then, and look again in each poll (engine/qp_poll.c). */
static void
port_set_full(struct softrnic *dev, bool full)
{
	dev->wire_full = full;
	if (full)
		dev->qps_deadline = 0;
	else
		dev->wire_waits_from = 0;
}

void
softrnic_wire_port_make_room(struct port_wire *wire)
{
	if (wire->spare_count == 0 &&
	    rte_pktmbuf_alloc_bulk(wire->pool, wire->spare, PORT_BURST) == 0)
		wire->spare_count = PORT_BURST;
	port_set_full(wire->dev, wire->spare_count == 0 || wire->tx_count == PORT_BURST);
}

static unsigned int
port_flush(struct port_wire *wire)
{
	unsigned int sent, left;

	if (wire->tx_count == 0)
		return 0;
	sent = rte_eth_tx_burst(wire->id, 0, wire->tx, (uint16_t)wire->tx_count);
	left = wire->tx_count - sent;
	memmove(wire->tx, wire->tx + sent, left * sizeof(wire->tx[0]));
	wire->tx_count = left;
	return sent;
}

/* Does anybody send or receive? A port that is switched off does not, nor does one whose queues are all in reset. */
static bool
port_is_used(const struct softrnic *dev)
{
	return dev->port.link_up &&
	       (dev->open_rqs > 0 || dev->open_qps > 0 || !TAILQ_EMPTY(&dev->swept_sqs));
}

/* Bursts are called again: what waits in the ethdev is from a time without bursts, and no port sees such frames. */
static void
port_wake(struct port_wire *wire)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	unsigned int count, left = PORT_STALE;

	wire->idle = false;
	softrnic_wire_port_make_room(wire);
	do {
		count = rte_eth_rx_burst(wire->id, 0, mbufs, PORT_BURST);
		rte_pktmbuf_free_bulk(mbufs, count);
		left -= count;
	} while (count > 0 && left >= PORT_BURST);
}

/* What did not get through, and does not now. */
static void
port_drop(struct port_wire *wire)
{
	rte_pktmbuf_free_bulk(wire->rx + wire->rx_at, wire->rx_count - wire->rx_at);
	wire->rx_count = wire->rx_at = 0;
	rte_pktmbuf_free_bulk(wire->tx, wire->tx_count);
	wire->dev->stats.wire_dropped += wire->tx_count;
	wire->tx_count = 0;
}

/* No bursts. Who sent what did not get through has gone. */
static void
port_sleep(struct port_wire *wire)
{
	wire->idle = true;
	if (wire->tx_count == 0 && wire->rx_at == wire->rx_count)
		return;
	port_drop(wire);
	softrnic_wire_port_make_room(wire);
}

uint8_t *
softrnic_wire_port_place(struct softrnic *dev, uint32_t length)
{
	struct port_wire *wire = dev->wire_data;
	char *place;

	if (unlikely(wire->idle) && wire->stage == PORT_LIVE && port_is_used(dev))
		port_wake(wire);
	/* Only a frame that the faults had kept or doubled comes here then, and what queue pairs send into a wire that stopped. */
	if (unlikely(wire->idle || dev->wire_full)) {
		dev->stats.wire_dropped++;
		return NULL;
	}
	place = rte_pktmbuf_append(wire->spare[wire->spare_count - 1], (uint16_t)length);
	if (unlikely(place == NULL))
		dev->stats.wire_dropped++;
	return (uint8_t *)place;
}

void
softrnic_wire_port_send_placed(struct softrnic *dev)
{
	struct port_wire *wire = dev->wire_data;

	wire->tx[wire->tx_count++] = wire->spare[--wire->spare_count];
	if (wire->tx_count == PORT_BURST)
		port_flush(wire);
	if (wire->spare_count == 0 || wire->tx_count == PORT_BURST)
		softrnic_wire_port_make_room(wire);
}

void
softrnic_wire_port_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	uint8_t *place = softrnic_wire_port_place(dev, frame->length);

	if (unlikely(place == NULL))
		return;
	softrnic_frame_gather(frame, place, frame->length);
	softrnic_wire_port_send_placed(dev);
}

static void
port_receive(struct softrnic *dev, const struct rte_mbuf *mbuf)
{
	struct softrnic_frame frame;

	frame.length = frame.count = 0;
	frame.l4_summed = false;
	for (; mbuf != NULL; mbuf = mbuf->next) {
		if (mbuf->data_len == 0)
			continue;
		if (frame.count == SOFTRNIC_FRAME_PIECES) {
			dev->port.counters.rx_errors++;
			dev->stats.rx_errors++;
			return;
		}
		frame.pieces[frame.count].iov_base = rte_pktmbuf_mtod(mbuf, void *);
		frame.pieces[frame.count++].iov_len = mbuf->data_len;
		frame.length += mbuf->data_len;
	}
	softrnic_eth_receive(dev, &frame);
}

unsigned int
softrnic_wire_port_poll(struct softrnic *dev)
{
	struct port_wire *wire = dev->wire_data;
	unsigned int done, at;
	uint64_t now;

	if (unlikely(wire->changed)) {
		wire->changed = false;
		softrnic_wire_changed(dev);
	}
	/* An ethdev may be removed while the port above it is unused: no burst then. */
	if (unlikely(wire->stage != PORT_LIVE || !port_is_used(dev))) {
		port_sleep(wire);
		return 0;
	}
	if (unlikely(wire->idle))
		port_wake(wire);
	done = port_flush(wire);
	if (dev->wire_full)
		softrnic_wire_port_make_room(wire);
	if (wire->rx_at == wire->rx_count) {
		wire->rx_at = 0;
		wire->rx_count = rte_eth_rx_burst(wire->id, 0, wire->rx, PORT_BURST);
	}
	if (wire->rx_count == 0)
		return done;
	now = softrnic_now_ns();
	dev->now = now - dev->power_on_ns;
	softrnic_share_set_end(dev, now + SOFTRNIC_SHARE_NS);
	for (at = wire->rx_at; at < wire->rx_count && !softrnic_share_is_over(dev); at++)
		port_receive(dev, wire->rx[at]);
	rte_pktmbuf_free_bulk(wire->rx + wire->rx_at, at - wire->rx_at);
	done += at - wire->rx_at;
	wire->rx_at = at;
	return done;
}

void
softrnic_wire_port_let_go(struct port_wire *wire, enum port_stage stage)
{
	port_drop(wire);
	rte_pktmbuf_free_bulk(wire->spare, wire->spare_count);
	wire->spare_count = 0;
	wire->stage = stage;
	wire->up = false;
	wire->idle = true;
	port_set_full(wire->dev, false);
}
