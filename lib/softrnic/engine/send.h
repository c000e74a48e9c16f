/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that go out. */
#ifndef SOFTRNIC_SEND_H
#define SOFTRNIC_SEND_H

#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/* A frame from an SQ to the wire: checks, counters, faults. False: the port dropped it. */
bool softrnic_eth_transmit(struct softrnic *dev, const struct softrnic_frame *frame);

/*
 * The first frames of a burst, as many as go to another device of this process and are plain to it: how many. They are sent and
 * counted as by softrnic_eth_transmit().
 */
uint32_t softrnic_eth_transmit_burst(struct softrnic *dev,
				     const struct softrnic_burst_frame *frames, uint32_t count);

#endif
