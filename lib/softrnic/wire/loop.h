/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames come back. */
#ifndef SOFTRNIC_WIRE_LOOP_H
#define SOFTRNIC_WIRE_LOOP_H

#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_loop;

#endif
