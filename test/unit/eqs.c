/* SPDX-License-Identifier: BSD-3-Clause */

#include "eqs.h"

#include <string.h>

#include "core/dev.h"
#include "core/mem.h"

struct unit_eqs unit_eqs;

int __real_rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
			  unsigned int rights, struct rnic_mem *mem);
int __wrap_rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
			  unsigned int rights, struct rnic_mem *mem);

int
__wrap_rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
		      unsigned int rights, struct rnic_mem *mem)
{
	int rc = __real_rnic_mem_alloc(dev, what, length, align, rights, mem);

	if (rc != 0 || strcmp(what, "an event queue") != 0)
		return rc;
	if (unit_eqs.count < UNIT_EQS)
		unit_eqs.first[unit_eqs.count] = *mem;
	unit_eqs.last = *mem;
	unit_eqs.count++;
	return rc;
}
