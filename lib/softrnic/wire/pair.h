/* SPDX-License-Identifier: BSD-3-Clause */

/* Two devices of the poller. */
#ifndef SOFTRNIC_WIRE_PAIR_H
#define SOFTRNIC_WIRE_PAIR_H

#include "softrnic/wire/ops.h"

extern const struct softrnic_wire_ops softrnic_wire_pair;

#endif
