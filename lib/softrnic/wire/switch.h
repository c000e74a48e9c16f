/* SPDX-License-Identifier: BSD-3-Clause */

/* A switch between devices of one poller. */
#ifndef SOFTRNIC_WIRE_SWITCH_H
#define SOFTRNIC_WIRE_SWITCH_H

#include "softrnic/port/frame.h"
#include "softrnic/receive/route.h"
#include "softrnic/rocev2/frame.h"
#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_switch;

/* Put a frame on the wire: delivered to who it is for, or to all others; or dropped (counted). */
void softrnic_wire_switch_send(struct softrnic *dev, const struct softrnic_frame *frame);
/* Where a packet with these addresses goes: SOFTRNIC_ROCE_ENDS and the end's number, or SOFTRNIC_ROCE_BYTES. */
enum softrnic_roce_route softrnic_wire_switch_route(struct softrnic *dev,
						    const struct rocev2_frame *head);
/* The device at that end, its clock at the same moment. NULL: there is none, or no link; the packet is lost, and counted. */
struct softrnic *softrnic_wire_switch_end(struct softrnic *dev, enum softrnic_roce_route route);

#endif
