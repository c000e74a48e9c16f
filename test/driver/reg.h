/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_REG_H
#define TEST_DRIVER_REG_H

#include "driver.h"
#include "prm/reg.h"

/* ACCESS_REG of a register (RNIC_REG_...) of `bytes`, as it stands in `reg`, which becomes what the answer has. */
int drv_reg_read(struct drv *drv, uint16_t id, void *reg, uint32_t bytes);
int drv_reg_write(struct drv *drv, uint16_t id, void *reg, uint32_t bytes);

#endif
