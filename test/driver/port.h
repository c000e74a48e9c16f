/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_PORT_H
#define TEST_DRIVER_PORT_H

#include "driver.h"

/* MTUs as registers count them: with header, tag and FCS. */
int drv_port_mtu_set(struct drv *drv, uint16_t mtu);
/* The port's and the vport's, of which the smaller one holds. */
int drv_mtu_set(struct drv *drv, uint16_t mtu);
/* What the driver wants of the link: enum rnic_vport_state; and whether it is up. */
int drv_link_switch(struct drv *drv, uint32_t admin_state);
bool drv_link_is_up(struct drv *drv);

#endif
