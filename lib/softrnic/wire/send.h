/* SPDX-License-Identifier: BSD-3-Clause */

/* Into a wire, whichever it is: for who sends. */
#ifndef SOFTRNIC_WIRE_SEND_H
#define SOFTRNIC_WIRE_SEND_H

#include <rte_branch_prediction.h>

#include "softrnic/receive/burst.h"
#include "softrnic/receive/receive.h"
#include "softrnic/wire/pair.h"
#include "softrnic/wire/pcap.h"
#include "softrnic/wire/port.h"
#include "softrnic/wire/port_frames.h"
#include "softrnic/wire/switch.h"

/*
 * Where a frame that is sent arrives, if the other end is a device of this poller: its clock shows the same moment. NULL: there is
 * none, or no link; the frame is lost, and counted.
 */
static inline struct softrnic *
softrnic_wire_end(struct softrnic *dev)
{
	struct softrnic *peer = dev->peer;

	if (peer == dev)
		return peer;
	if (unlikely(peer == NULL || !peer->port.link_up)) {
		dev->stats.wire_no_peer++;
		return NULL;
	}
	peer->now = dev->now + dev->power_on_ns - peer->power_on_ns;
	return peer;
}

/*
 * Put a frame on the wire: delivered or dropped (counted) when it returns. A direct call per frame, to our own devices or to
 * the few wires that are more than a cable between two of them; a new one of those becomes a case here.
 */
static inline void
softrnic_wire_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic *peer;

	if (unlikely(dev->peer == NULL)) {
		if (dev->wire == &softrnic_wire_port) {
			softrnic_wire_port_send(dev, frame);
			return;
		}
		if (dev->wire == &softrnic_wire_pcap) {
			softrnic_wire_pcap_send(dev, frame);
			return;
		}
		if (dev->wire == &softrnic_wire_switch) {
			softrnic_wire_switch_send(dev, frame);
			return;
		}
		if (dev->wire == &softrnic_wire_pair) {
			softrnic_wire_pair_send(dev, frame);
			return;
		}
		if (dev->wire != NULL && dev->wire->sink)
			return;
	}
	peer = softrnic_wire_end(dev);
	if (peer != NULL)
		softrnic_eth_hand_over(peer, frame);
}

/* The first frames of a burst, as many as are plain to whom they are for: how many; the others go by themselves. */
static inline uint32_t
softrnic_wire_send_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
			 uint32_t count)
{
	if (likely(dev->peer != NULL))
		return likely(dev->peer->port.link_up)
			       ? softrnic_eth_receive_burst(softrnic_wire_end(dev), frames, count)
			       : 0;
	if (dev->wire == &softrnic_wire_pair)
		return softrnic_wire_pair_send_burst(dev, frames, count);
	return dev->wire != NULL && dev->wire->sink ? count : 0;
}

#endif
