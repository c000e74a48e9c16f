/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames in: checks and exact counters; what becomes of them is up to steering. */
#include <rte_branch_prediction.h>

#include "softrnic/base/copy.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/receive.h"
#include "softrnic/receive/roce.h"

/*
 * Is the frame for this vport? A card asks that before any flow table: a driver that did not tell the vport of an
 * address gets nothing, whatever its tables say. Broadcast is an address of the multicast list.
 */
static inline bool
receive_vport_takes(const struct softrnic_port *port, const uint8_t *dmac,
		    enum softrnic_eth_class class)
{
	if (port->promisc_all)
		return true;
	if (class == SOFTRNIC_ETH_UNICAST)
		return port->promisc_uc || softrnic_eth_own_address(port, dmac);
	return port->promisc_mc || softrnic_mac_list_has(&port->mc, dmac);
}

void
softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	uint8_t room[SOFTRNIC_ETH_HEAD_MAX];
	enum softrnic_eth_class class;
	const uint8_t *head;

	if (unlikely(frame->length < SOFTRNIC_ETH_HEADER ||
		     frame->length > softrnic_eth_frame_max(dev))) {
		counters->rx_errors++;
		dev->stats.rx_errors++;
		return;
	}
	/* A function without a driver takes nothing. */
	if (unlikely(dev->state != SOFTRNIC_HCA_READY || dev->dead)) {
		dev->stats.rx_unmatched++;
		return;
	}
	head = softrnic_frame_head(frame, room, sizeof(room));
	if (unlikely(softrnic_roce_possible(dev, head, frame->length)) &&
	    softrnic_roce_receive_frame(dev, frame, head))
		return;
	class = softrnic_eth_class(head);
	counters->rx_packets[class]++;
	counters->rx_bytes[class] += frame->length;
	softrnic_port_count_length(&dev->port, frame->length);
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += frame->length;
	if (unlikely(!receive_vport_takes(&dev->port, head, class))) {
		counters->rx_foreign_packets[class]++;
		counters->rx_foreign_bytes[class] += frame->length;
		dev->stats.rx_unmatched++;
		return;
	}
	softrnic_steer(dev, frame, head);
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
	struct rocev2_frame addresses;
	const uint8_t *head;

	if (frame->length < SOFTRNIC_ETH_HEADER || frame->length > softrnic_eth_frame_max(dev))
		return SOFTRNIC_ETH_ROOM;
	head = softrnic_frame_head(frame, room, sizeof(room));
	if (softrnic_roce_possible(dev, head, frame->length) &&
	    softrnic_roce_recognize(dev, head, frame->length, &addresses))
		return SOFTRNIC_ETH_ROOM;
	if (!receive_vport_takes(&dev->port, head, softrnic_eth_class(head)))
		return SOFTRNIC_ETH_NOBODY;
	return softrnic_steer_room(
		dev, head, frame->length < sizeof(room) ? frame->length : (uint32_t)sizeof(room));
}
