/* SPDX-License-Identifier: BSD-3-Clause */

/* The device as lib/rdmapmd has it: what RDMA needs of its own, and the table of calls. */
#ifndef RNIC_RDMA_CONTEXT_H
#define RNIC_RDMA_CONTEXT_H

#include <stdbool.h>

#include "rdmapmd_driver.h"

struct rnic_dev;

extern const struct rdmapmd_driver_ops rnic_rdma_ops;
/* Does the device say that it can? */
bool rnic_rdma_supported(const struct rnic_dev *dev);
/* Bring-up: what RDMA needs of its own. Nothing, for a device without it. */
int rnic_rdma_setup(struct rnic_dev *dev);
void rnic_rdma_teardown(struct rnic_dev *dev);

#endif
