/* SPDX-License-Identifier: BSD-3-Clause */

/* The virtual bus: net_rnicN. */
#ifndef RNIC_BUS_VDEV_H
#define RNIC_BUS_VDEV_H

/* Into DPDK's list. */
void rnic_vdev_register(void);

#endif
