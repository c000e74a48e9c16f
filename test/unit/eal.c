/* SPDX-License-Identifier: BSD-3-Clause */

#include "eal.h"

#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>

int
unit_eal(char *program, unsigned int megabytes, const char *log_level)
{
	char memory[16], log[64];
	char *args[] = { program,
			 (char *)"--no-huge",
			 memory,
			 (char *)"--no-shconf",
			 (char *)"--no-pci",
			 (char *)"--no-telemetry",
			 (char *)"--lcores=0@(0-1)",
			 log };

	snprintf(memory, sizeof(memory), "-m%u", megabytes);
	snprintf(log, sizeof(log), "--log-level=%s", log_level);
	if (rte_eal_init(RTE_DIM(args), args) >= 0)
		return 0;
	fprintf(stderr, "EAL does not start\n");
	return 1;
}
