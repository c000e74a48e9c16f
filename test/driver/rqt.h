/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_RQT_H
#define TEST_DRIVER_RQT_H

#include "driver.h"

/* A table of `count` RQs, and of no more ever. */
size_t drv_rqt_bytes(uint32_t count);
uint32_t drv_rqt_fill(void *in, const uint32_t *rqns, uint32_t count);
int drv_rqt_create(struct drv *drv, const uint32_t *rqns, uint32_t count, uint32_t *rqtn);
/* Another list. */
int drv_rqt_modify(struct drv *drv, uint32_t rqtn, const uint32_t *rqns, uint32_t count);

#endif
