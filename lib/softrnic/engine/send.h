/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that go out. */
#ifndef SOFTRNIC_SEND_H
#define SOFTRNIC_SEND_H

#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/* A frame from an SQ to the wire: checks, counters, faults. False: the port dropped it. */
bool softrnic_eth_transmit(struct softrnic *dev, const struct softrnic_frame *frame);

#endif
