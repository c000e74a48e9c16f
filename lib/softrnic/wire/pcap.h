/* SPDX-License-Identifier: BSD-3-Clause */

/* Captures, read and written. */
#ifndef SOFTRNIC_PCAP_H
#define SOFTRNIC_PCAP_H

#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"
#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_pcap;

/* A frame into the wire; delivered or dropped (counted) when it returns. Who sends calls softrnic_wire_send(). */
void softrnic_wire_pcap_send(struct softrnic *dev, const struct softrnic_frame *frame);

#endif
