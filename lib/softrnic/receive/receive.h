/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that come in. */
#ifndef SOFTRNIC_RECEIVE_H
#define SOFTRNIC_RECEIVE_H

#include "softrnic/receive/steer.h"

/* A frame from the wire: counters, steering, queues. */
void softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame);

/* softrnic_eth_receive() of a frame whose memory its sender may change meanwhile. */
void softrnic_eth_receive_foreign(struct softrnic *dev, const struct softrnic_frame *frame);

/* From a sender in this process to `dev`, which is another device or the sender itself. */
static inline void
softrnic_eth_hand_over(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (dev->conf.foreign_memory)
		softrnic_eth_receive_foreign(dev, frame);
	else
		softrnic_eth_receive(dev, frame);
}

/* What would become of a frame that came now? For wires that can wait. */
enum softrnic_eth_room softrnic_eth_room(struct softrnic *dev, const struct softrnic_frame *frame);

#endif
