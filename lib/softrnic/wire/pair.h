/* SPDX-License-Identifier: BSD-3-Clause */

/* A cable between two devices. */
#ifndef SOFTRNIC_WIRE_PAIR_H
#define SOFTRNIC_WIRE_PAIR_H

#include "softrnic/port/frame.h"
#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_pair;

/* Put a frame on the wire whose other end is no device of this poller: sent to it, or dropped (counted). */
void softrnic_wire_pair_send(struct softrnic *dev, const struct softrnic_frame *frame);
/* The first of a burst, as many as go there at once: how many. */
uint32_t softrnic_wire_pair_send_burst(struct softrnic *dev,
				       const struct softrnic_burst_frame *frames, uint32_t count);

#endif
