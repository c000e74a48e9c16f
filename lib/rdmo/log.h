/* SPDX-License-Identifier: BSD-3-Clause */

/* Messages of the library: "rdmo: message". */
#ifndef RDMO_LOG_H
#define RDMO_LOG_H

#include <stdint.h>

#include <rte_log.h>

extern int rdmo_logtype; /* lib.rdmo */

#define RDMO_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)rdmo_logtype, "rdmo: " fmt "\n", ##__VA_ARGS__)

#endif
