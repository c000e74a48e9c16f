/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of a port wire. */
#ifndef SOFTRNIC_PORT_FRAMES_H
#define SOFTRNIC_PORT_FRAMES_H

#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/*
 * Where the next frame is to be written, of that length; then it is sent. NULL: it is lost, and counted. The place has room for more
 * than any headers.
 */
uint8_t *softrnic_wire_port_place(struct softrnic *dev, uint32_t length);
void softrnic_wire_port_send_placed(struct softrnic *dev);
/* A frame into the wire; delivered or dropped (counted) when it returns. Who sends calls softrnic_wire_send(). */
void softrnic_wire_port_send(struct softrnic *dev, const struct softrnic_frame *frame);

#endif
