/* SPDX-License-Identifier: BSD-3-Clause */

/* Our memory for a driver's objects, rings and lists, counted. */
#ifndef SOFTRNIC_MEMORY_H
#define SOFTRNIC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softrnic;

/*
 * calloc(), within what the device may have (softrnic_conf's memory_max); NULL: beyond that too, which is logged, and the
 * command under way then says LIM.
 */
void *softrnic_alloc(struct softrnic *dev, size_t count, size_t bytes);
void softrnic_free(struct softrnic *dev, void *memory);
/* The same for memory that others allocate. */
bool softrnic_memory_take(struct softrnic *dev, uint64_t bytes);
void softrnic_memory_give(struct softrnic *dev, uint64_t bytes);

#endif
