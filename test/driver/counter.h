/* SPDX-License-Identifier: BSD-3-Clause */

/* Counters: of a counter set, of the vport, of the port. */
#ifndef TEST_DRIVER_COUNTER_H
#define TEST_DRIVER_COUNTER_H

#include "driver.h"
#include "prm/vport.h"

/* clear: they count from zero then. */
int drv_q_counter_query(struct drv *drv, uint32_t set, bool clear,
			struct rnic_query_q_counter_out *counters);
int drv_vport_counter_query(struct drv *drv, bool clear, struct rnic_vport_counters *counters);
/* One of them; UINT64_MAX if the device does not tell. */
uint64_t drv_vport_counter(struct drv *drv, enum rnic_vport_counters_field field);
/* One of the port's, the n-th of 64 bits in a group of PPCNT's; clear: all of the group count from zero then. */
uint64_t drv_port_counter(struct drv *drv, uint32_t group, uint32_t n, bool clear);

#endif
