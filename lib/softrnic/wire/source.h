/* SPDX-License-Identifier: BSD-3-Clause */

/* A cable out of which frames come without end. */
#ifndef SOFTRNIC_WIRE_SOURCE_H
#define SOFTRNIC_WIRE_SOURCE_H

#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_source;

#endif
