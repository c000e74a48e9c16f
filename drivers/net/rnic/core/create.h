/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands that create an object, or give it other pages: one frame for all of them. */
#ifndef RNIC_CORE_CREATE_H
#define RNIC_CORE_CREATE_H

#include <stdint.h>

struct rnic_dev;
struct rnic_mem;

/*
 * Execute a CREATE. `in` is its fixed part, behind which stand the addresses of the pages of `mem` (NULL: there are none).
 * Returns what rnic_cmd_exec() does, or -ENOMEM; 0: *number is the object's.
 */
int rnic_cmd_create(struct rnic_dev *dev, uint16_t opcode, void *in, uint32_t in_bytes,
		    const struct rnic_mem *mem, uint32_t *number);
/* The same as rnic_cmd_try(). */
int rnic_cmd_try_create(struct rnic_dev *dev, uint16_t opcode, void *in, uint32_t in_bytes,
			const struct rnic_mem *mem, uint32_t *number);
/* The same of a command that answers nothing but its status, and is no CREATE. */
int rnic_cmd_exec_pages(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			uint32_t in_bytes, const struct rnic_mem *mem);

#endif
