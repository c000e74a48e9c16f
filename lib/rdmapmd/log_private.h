/* SPDX-License-Identifier: BSD-3-Clause */

/* Messages of the library: "rdmapmd: DEVICE: message". */
#ifndef RDMAPMD_LOG_PRIVATE_H
#define RDMAPMD_LOG_PRIVATE_H

#include <stdint.h>

#include <rte_log.h>

#include "rdmapmd_device.h"

extern int rdmapmd_logtype; /* lib.rdmapmd */

#define RDMAPMD_LOG(level, device, fmt, ...)                                          \
	rte_log(RTE_LOG_##level, (uint32_t)rdmapmd_logtype, "rdmapmd: %s: " fmt "\n", \
		rdmapmd_device_name(device), ##__VA_ARGS__)

#endif
