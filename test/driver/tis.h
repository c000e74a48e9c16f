/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_TIS_H
#define TEST_DRIVER_TIS_H

#include "driver.h"

uint32_t drv_tis_fill(void *in, uint32_t td);
int drv_tis_create(struct drv *drv, uint32_t td, uint32_t *tisn);

#endif
