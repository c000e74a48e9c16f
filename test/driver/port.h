/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_PORT_H
#define TEST_DRIVER_PORT_H

#include "driver.h"

/* MTUs as registers count them: with header, tag and FCS. The smaller one of the two holds. */
int drv_port_mtu_set(struct drv *drv, uint16_t mtu);
int drv_vport_mtu_set(struct drv *drv, uint16_t mtu);
/* Both. */
int drv_mtu_set(struct drv *drv, uint16_t mtu);
int drv_vport_roce_set(struct drv *drv, bool enabled);

#endif
