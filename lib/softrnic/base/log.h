/* SPDX-License-Identifier: BSD-3-Clause */

/* Log lines of the device. */
#ifndef SOFTRNIC_LOG_H
#define SOFTRNIC_LOG_H

#include <rte_log.h>

extern int softrnic_logtype;
/* "softrnic: NAME: message" */
#define SOFTRNIC_LOG(level, dev, fmt, ...)                                                 \
	rte_log(RTE_LOG_##level, softrnic_logtype, "softrnic: %s: " fmt "\n", (dev)->name, \
		##__VA_ARGS__)

#endif
