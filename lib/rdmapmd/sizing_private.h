/* SPDX-License-Identifier: BSD-3-Clause */

/* Sizes of queues. */
#ifndef RDMAPMD_SIZING_PRIVATE_H
#define RDMAPMD_SIZING_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmapmd_driver.h"

int rdmapmd_size_qp(const struct rdmapmd_device_attr *device, enum rdmapmd_qp_type type, bool srq,
		    struct rdmapmd_qp_cap *cap, struct rdmapmd_qp_sizing *sizing);
int rdmapmd_size_cq(const struct rdmapmd_device_attr *device, uint32_t cqe, uint8_t *log_size);
int rdmapmd_size_srq(const struct rdmapmd_device_attr *device, struct rdmapmd_srq_attr *attr,
		     struct rdmapmd_srq_sizing *sizing);

#endif
