/* SPDX-License-Identifier: BSD-3-Clause */

/* Another ethdev of the process as the cable. */
#ifndef SOFTRNIC_WIRE_PORT_H
#define SOFTRNIC_WIRE_PORT_H

#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_port;

#endif
