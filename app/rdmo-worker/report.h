/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What was counted: lines, and JSON.
 */
#ifndef RDMO_WORKER_REPORT_H
#define RDMO_WORKER_REPORT_H

#include <stdio.h>

#include "devices.h"
#include "load.h"
#include "logs.h"

/** Print a line for each device, log and initiator. */
void report_print(const struct devices *devices, const struct own_logs *logs,
		  const struct loads *loads);

/** The same as JSON. @return 0; -EIO, which is said. */
int report_write_json(FILE *out, const struct devices *devices, const struct own_logs *logs,
		      const struct loads *loads);

#endif
