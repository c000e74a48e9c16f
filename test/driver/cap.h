/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_CAP_H
#define TEST_DRIVER_CAP_H

#include "driver.h"
#include "prm/caps.h"

/* Capabilities of a type (enum rnic_cap_type): the first `bytes` of them, maximum or current. */
int drv_cap_query(struct drv *drv, unsigned int type, bool current, void *cap, size_t bytes);
/* Those that the driver wants, with zeros behind. */
int drv_cap_set(struct drv *drv, unsigned int type, const void *cap, size_t bytes);

#endif
