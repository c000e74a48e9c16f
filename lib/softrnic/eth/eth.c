/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames in and out: checks and exact counters; what happens to them is up to steering and the wire. */
#include "softrnic/copy.h"
#include "eth/eth.h"

const uint8_t *
softrnic_frame_gather(const struct softrnic_frame *frame, uint8_t *room, uint32_t bytes)
{
	uint32_t at = 0, i;
	size_t n;

	for (i = 0; i < frame->count && at < bytes; i++) {
		n = frame->pieces[i].iov_len;
		if (n > bytes - at)
			n = bytes - at;
		memcpy(room + at, frame->pieces[i].iov_base, n);
		at += (uint32_t)n;
	}
	return room;
}

void
softrnic_frame_append(struct softrnic_frame *to, const struct softrnic_frame *from, uint32_t skip)
{
	uint32_t i;
	size_t n;

	for (i = 0; i < from->count; i++) {
		n = from->pieces[i].iov_len;
		if (skip >= n) {
			skip -= (uint32_t)n;
			continue;
		}
		to->pieces[to->count].iov_base = (uint8_t *)from->pieces[i].iov_base + skip;
		to->pieces[to->count].iov_len = n - skip;
		to->length += (uint32_t)(n - skip);
		to->count++;
		skip = 0;
	}
}

/*
 * From the function to itself, past the wire: what is for its own address goes nowhere else, multicast does. Only where
 * some TIR asks for it; else all goes to the wire.
 */
static __attribute__((noinline)) bool
eth_loop_back(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head,
	      enum softrnic_eth_class class)
{
	bool unicast = class == SOFTRNIC_ETH_UNICAST;

	if (unicast && !softrnic_eth_own_address(&dev->port, head))
		return false;
	dev->self_lb = unicast ? RNIC_TIR_SELF_LB_UNICAST : RNIC_TIR_SELF_LB_MULTICAST;
	softrnic_eth_hand_over(dev, frame);
	dev->self_lb = 0;
	return unicast;
}

void
softrnic_eth_changed(struct softrnic *dev)
{
	dev->send_aside = dev->faults != NULL || dev->self_lb_tirs != 0;
}

/* What few frames meet. Apart from the way of all others, which needs nothing of it. */
static __attribute__((noinline)) void
eth_send_aside(struct softrnic *dev, const struct softrnic_frame *frame)
{
	uint8_t room[SOFTRNIC_ETH_HEADER];
	const uint8_t *head = softrnic_frame_head(frame, room, sizeof(room));

	if (dev->self_lb_tirs != 0 && eth_loop_back(dev, frame, head, softrnic_eth_class(head)))
		return;
	if (dev->faults != NULL)
		softrnic_faults_send(dev, frame);
	else
		softrnic_wire_send(dev, frame);
}

bool
softrnic_eth_transmit(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	uint8_t room[SOFTRNIC_ETH_HEADER];
	enum softrnic_eth_class class;

	/* A runt, a frame beyond the MTU, no link to send on, or one that is full: gone, as on any Ethernet. */
	if (__builtin_expect(frame->length < SOFTRNIC_ETH_HEADER ||
				     frame->length > softrnic_eth_frame_max(dev) ||
				     !dev->port.link_up || dev->wire_full,
			     0)) {
		counters->tx_errors++;
		dev->stats.tx_errors++;
		return false;
	}
	class = softrnic_eth_class(softrnic_frame_head(frame, room, sizeof(room)));
	counters->tx_packets[class]++;
	counters->tx_bytes[class] += frame->length;
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += frame->length;
	if (__builtin_expect(dev->send_aside, 0))
		eth_send_aside(dev, frame);
	else
		softrnic_wire_send(dev, frame);
	return true;
}

static bool
list_has(const struct softrnic_mac_list *list, const uint8_t *mac)
{
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		if (memcmp(list->macs[i], mac, sizeof(list->macs[i])) == 0)
			return true;
	}
	return false;
}

bool
softrnic_eth_own_address(const struct softrnic_port *port, const uint8_t *mac)
{
	return memcmp(mac, port->mac, sizeof(port->mac)) == 0 || list_has(&port->uc, mac);
}

/*
 * Is the frame for this vport? A card asks that before any flow table: a driver that did not tell the vport of an
 * address gets nothing, whatever its tables say. Broadcast is an address of the multicast list.
 */
static inline bool
vport_takes(const struct softrnic_port *port, const uint8_t *dmac, enum softrnic_eth_class class)
{
	if (port->promisc_all)
		return true;
	if (class == SOFTRNIC_ETH_UNICAST)
		return port->promisc_uc || softrnic_eth_own_address(port, dmac);
	return port->promisc_mc || list_has(&port->mc, dmac);
}

void
softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	uint8_t room[SOFTRNIC_ETH_HEAD_MAX];
	enum softrnic_eth_class class;
	const uint8_t *head;

	if (__builtin_expect(frame->length < SOFTRNIC_ETH_HEADER ||
				     frame->length > softrnic_eth_frame_max(dev),
			     0)) {
		counters->rx_errors++;
		dev->stats.rx_errors++;
		return;
	}
	/* A function without a driver takes nothing. */
	if (__builtin_expect(dev->state != SOFTRNIC_HCA_READY || dev->dead, 0)) {
		dev->stats.rx_unmatched++;
		return;
	}
	head = softrnic_frame_head(frame, room, sizeof(room));
	class = softrnic_eth_class(head);
	counters->rx_packets[class]++;
	counters->rx_bytes[class] += frame->length;
	softrnic_port_count_length(&dev->port, frame->length);
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += frame->length;
	if (__builtin_expect(!vport_takes(&dev->port, head, class), 0)) {
		counters->rx_foreign_packets[class]++;
		counters->rx_foreign_bytes[class] += frame->length;
		dev->stats.rx_unmatched++;
		return;
	}
	softrnic_steer(dev, frame, head,
		       frame->length < sizeof(room) ? frame->length : (uint32_t)sizeof(room));
}

void
softrnic_eth_receive_foreign(struct softrnic *dev, const struct softrnic_frame *frame)
{
	uint8_t head[SOFTRNIC_ETH_PRIVATE];
	struct softrnic_frame own;

	own.length = frame->length < sizeof(head) ? frame->length : (uint32_t)sizeof(head);
	softrnic_frame_gather(frame, head, own.length);
	SOFTRNIC_PRIVATE(head);
	/* What was added up is not what arrives, if the sender has changed it since. */
	own.l4_summed = false;
	own.pieces[0].iov_base = head;
	own.pieces[0].iov_len = own.length;
	own.count = 1;
	softrnic_frame_append(&own, frame, own.length);
	softrnic_eth_receive(dev, &own);
}

enum softrnic_eth_room
softrnic_eth_room(struct softrnic *dev, const struct softrnic_frame *frame)
{
	uint8_t room[SOFTRNIC_ETH_HEAD_MAX];
	const uint8_t *head;

	if (frame->length < SOFTRNIC_ETH_HEADER || frame->length > softrnic_eth_frame_max(dev))
		return SOFTRNIC_ETH_ROOM;
	head = softrnic_frame_head(frame, room, sizeof(room));
	if (!vport_takes(&dev->port, head, softrnic_eth_class(head)))
		return SOFTRNIC_ETH_NOBODY;
	return softrnic_steer_room(
		dev, head, frame->length < sizeof(room) ? frame->length : (uint32_t)sizeof(room));
}
