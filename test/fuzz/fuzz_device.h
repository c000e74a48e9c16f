/* SPDX-License-Identifier: BSD-3-Clause */

/* What the targets share that have the device in them. */
#ifndef TEST_FUZZ_DEVICE_H
#define TEST_FUZZ_DEVICE_H

#include <rte_log.h>

#include "fuzz.h"

extern int softrnic_logtype;

/* What it logs is told only where FUZZ_LOG asks for it. */
static inline void
fuzz_device_quiet(void)
{
	rte_log_set_level((uint32_t)softrnic_logtype,
			  getenv("FUZZ_LOG") != NULL ? RTE_LOG_DEBUG : RTE_LOG_EMERG);
}

#endif
