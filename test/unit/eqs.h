/* SPDX-License-Identifier: BSD-3-Clause */

/* The memory of event queues, which the driver keeps to itself. Whose program has it wraps rnic_mem_alloc. */
#ifndef UNIT_EQS_H
#define UNIT_EQS_H

#include "core/mem.h"

#define UNIT_EQS 3 /* asynchronous, completions, RDMA: in the order of their making */

struct unit_eqs {
	unsigned int count; /* of those that were made since it was set to 0 */
	struct rnic_mem first[UNIT_EQS], last;
};
extern struct unit_eqs unit_eqs;

#endif
