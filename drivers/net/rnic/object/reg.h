/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's access registers (PRM: "Access Registers"). */
#ifndef RNIC_OBJECT_REG_H
#define RNIC_OBJECT_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cmd.h"

struct rnic_dev;

/*
 * Write `data` to the register, or read it to there: `bytes` of it, at most 256. What the register needs to know which of its
 * instances is meant stands there in both cases. Returns what `command` does, or -EINVAL.
 */
int rnic_access_reg(struct rnic_dev *dev, rnic_cmd_fn *command, uint16_t reg, bool write,
		    void *data, uint32_t bytes);

#endif
