/* SPDX-License-Identifier: BSD-3-Clause */

/* The vport's counters. */
#ifndef RNIC_OBJECT_PORT_COUNTERS_H
#define RNIC_OBJECT_PORT_COUNTERS_H

#include <stdint.h>

struct rnic_dev;

#define RNIC_PORT_COUNTERS 20 /* of the vport's frames and RDMA packets, as in `ethtool -S` */

/* Frames that the vport refused: beyond its MTU, runts, no link. Since whenever; zeros where a device does not count. */
struct rnic_port_errors {
	uint64_t received, transmit;
};
int rnic_port_errors(struct rnic_dev *dev, struct rnic_port_errors *errors);
/* What it took and sent, by kind of destination; in the order of the names. Likewise. */
extern const char *const rnic_port_counter_names[RNIC_PORT_COUNTERS];
int rnic_port_counters(struct rnic_dev *dev, uint64_t values[RNIC_PORT_COUNTERS]);

#endif
