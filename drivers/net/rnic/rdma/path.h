/* SPDX-License-Identifier: BSD-3-Clause */

/* What the packets of a path are like. */
#ifndef RNIC_RDMA_PATH_H
#define RNIC_RDMA_PATH_H

#include <stdint.h>

#include "rdmapmd_device.h"

struct rnic_dev;

/* The largest payload whose packets fit frames of the port. */
enum rdmapmd_mtu rnic_path_mtu(uint32_t port_mtu);
/* The UDP source port of packets that belong together: from the range that the device takes. */
uint16_t rnic_path_source_port(const struct rnic_dev *dev, uint32_t flow);

#endif
