/* SPDX-License-Identifier: BSD-3-Clause */

/* A cable that leads nowhere. */
#ifndef SOFTRNIC_WIRE_NULL_H
#define SOFTRNIC_WIRE_NULL_H

#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_null;

#endif
