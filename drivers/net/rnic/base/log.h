/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver's lines in the log: "net_rnic: NAME: message". */
#ifndef RNIC_BASE_LOG_H
#define RNIC_BASE_LOG_H

#include <rte_log.h>

extern int rnic_logtype, rnic_logtype_dump; /* pmd.net.rnic.driver, pmd.net.rnic.dump */
/* "net_rnic: NAME: message" */
#define RNIC_LOG_NAMED(level, name, fmt, ...) \
	rte_log(RTE_LOG_##level, rnic_logtype, "net_rnic: %s: " fmt "\n", name, ##__VA_ARGS__)
#define RNIC_LOG(level, dev, fmt, ...) RNIC_LOG_NAMED(level, (dev)->name, fmt, ##__VA_ARGS__)

#endif
