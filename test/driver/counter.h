/* SPDX-License-Identifier: BSD-3-Clause */

/* Counters: of a counter set, of the vport. */
#ifndef TEST_DRIVER_COUNTER_H
#define TEST_DRIVER_COUNTER_H

#include "driver.h"
#include "prm/vport.h"

/* clear: they count from zero then. */
int drv_q_counter_query(struct drv *drv, uint32_t set, bool clear,
			struct rnic_query_q_counter_out *counters);
int drv_vport_counter_query(struct drv *drv, bool clear, struct rnic_vport_counters *counters);

#endif
