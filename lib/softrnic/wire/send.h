/* SPDX-License-Identifier: BSD-3-Clause */

/* Into a wire, whichever it is: for who sends. */
#ifndef SOFTRNIC_WIRE_SEND_H
#define SOFTRNIC_WIRE_SEND_H

#include "eth/receive.h"
#include "wire/wire.h"

/*
 * Put a frame on the wire: delivered or dropped (counted) when it returns. A direct call per frame, to the few wires
 * that there are; a new wire becomes a case here.
 */
static inline void
softrnic_wire_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (dev->wire == &softrnic_wire_pair)
		softrnic_pair_send(dev, frame);
	else if (dev->wire == &softrnic_wire_loop)
		softrnic_eth_hand_over(dev, frame);
	else if (dev->wire == &softrnic_wire_port)
		softrnic_wire_port_send(dev, frame);
	else
		softrnic_wire_pcap_send(dev, frame);
}

#endif
