/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory that forked children have no part of. */
#ifndef RDMAPMD_FORK_PRIVATE_H
#define RDMAPMD_FORK_PRIVATE_H

#include <stdint.h>

/* Whole pages around [start, end) are no children's until let go; counted. Returns the range that it became. */
int rdmapmd_fork_keep(uintptr_t start, uintptr_t end, uintptr_t *kept_start, uintptr_t *kept_end);
void rdmapmd_fork_release(uintptr_t kept_start, uintptr_t kept_end);

#endif
