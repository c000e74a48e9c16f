/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver's log types. */

#include <rte_log.h>

#include "base/log.h"

RTE_LOG_REGISTER(rnic_logtype, pmd.net.rnic.driver, NOTICE);
RTE_LOG_REGISTER(rnic_logtype_dump, pmd.net.rnic.dump, NOTICE);
