/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs on wires. */
#ifndef SOFTRNIC_WIRE_ROCE_H
#define SOFTRNIC_WIRE_ROCE_H

#include "softrnic/receive/roce.h"

/* A packet of a queue pair, to whatever is at the other end: delivered or dropped (counted) when it returns. */
void softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame);

#endif
