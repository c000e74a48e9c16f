/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs on wires. */
#ifndef SOFTRNIC_WIRE_ROCE_H
#define SOFTRNIC_WIRE_ROCE_H

#include "softrnic/receive/roce.h"

/* Where a packet with these addresses goes from here, as long as dev->roce_generation stays. */
enum softrnic_roce_route softrnic_roce_route(struct softrnic *dev, const struct rocev2_frame *head);
/* The frame that a packet is, undamaged, in dev->roce_room. */
void softrnic_roce_bytes(struct softrnic *dev, const struct softrnic_roce_frame *frame,
			 struct softrnic_frame *bytes);
/* Put it there; what a wire cannot take is lost, and counted. */
void softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame);

#endif
