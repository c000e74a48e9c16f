/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames out: checks and exact counters; what happens to them is up to the wire. */
#include <rte_branch_prediction.h>

#include "softrnic/engine/send.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/send.h"

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
	if (unlikely(frame->length < SOFTRNIC_ETH_HEADER ||
		     frame->length > softrnic_eth_frame_max(dev) || !dev->port.link_up ||
		     dev->wire_full)) {
		counters->tx_errors++;
		dev->stats.tx_errors++;
		return false;
	}
	class = softrnic_eth_class(softrnic_frame_head(frame, room, sizeof(room)));
	counters->tx_packets[class]++;
	counters->tx_bytes[class] += frame->length;
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += frame->length;
	if (unlikely(dev->send_aside))
		eth_send_aside(dev, frame);
	else
		softrnic_wire_send(dev, frame);
	return true;
}

uint32_t
softrnic_eth_transmit_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
			    uint32_t count)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	const struct softrnic_burst_frame *first, *next;
	uint64_t bytes = 0, alike;

	if (unlikely(!dev->port.link_up || dev->wire_full || dev->send_aside))
		return 0;
	count = softrnic_wire_send_burst(dev, frames, count);
	for (first = frames; first < frames + count; first = next) {
		next = softrnic_burst_alike(first, frames + count);
		alike = (uint64_t)(next - first);
		counters->tx_packets[first->class] += alike;
		counters->tx_bytes[first->class] += alike * first->length;
		bytes += alike * first->length;
	}
	dev->stats.tx_packets += count;
	dev->stats.tx_bytes += bytes;
	return count;
}
