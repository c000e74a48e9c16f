/* SPDX-License-Identifier: BSD-3-Clause */

#include "core/create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cmd.h"
#include "core/mem.h"
#include "prm/cmd.h"

/* `in`, behind it the pages of `mem`. */
static int
exec_pages(struct rnic_dev *dev, rnic_cmd_fn *command, uint16_t opcode, uint16_t op_mod, void *in,
	   uint32_t in_bytes, const struct rnic_mem *mem, void *out, uint32_t out_bytes)
{
	const uint32_t pages = mem != NULL ? rnic_mem_page_count(mem) : 0;
	const uint32_t bytes = in_bytes + pages * (uint32_t)sizeof(uint64_t);
	uint8_t *frame;
	int rc;

	if (pages == 0)
		return command(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
	frame = calloc(1, bytes);
	if (frame == NULL)
		return -ENOMEM;
	memcpy(frame, in, in_bytes);
	rnic_mem_page_list(mem, frame + in_bytes);
	rc = command(dev, opcode, op_mod, frame, bytes, out, out_bytes);
	free(frame);
	return rc;
}

static int
create_object(struct rnic_dev *dev, rnic_cmd_fn *command, uint16_t opcode, void *in,
	      uint32_t in_bytes, const struct rnic_mem *mem, uint32_t *number)
{
	struct rnic_object_out out;
	int rc = exec_pages(dev, command, opcode, 0, in, in_bytes, mem, &out, sizeof(out));

	if (rc == 0)
		*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

int
rnic_cmd_create(struct rnic_dev *dev, uint16_t opcode, void *in, uint32_t in_bytes,
		const struct rnic_mem *mem, uint32_t *number)
{
	return create_object(dev, rnic_cmd_exec, opcode, in, in_bytes, mem, number);
}

int
rnic_cmd_try_create(struct rnic_dev *dev, uint16_t opcode, void *in, uint32_t in_bytes,
		    const struct rnic_mem *mem, uint32_t *number)
{
	return create_object(dev, rnic_cmd_try, opcode, in, in_bytes, mem, number);
}

int
rnic_cmd_exec_pages(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		    uint32_t in_bytes, const struct rnic_mem *mem)
{
	struct rnic_cmd_out out;

	return exec_pages(dev, rnic_cmd_exec, opcode, op_mod, in, in_bytes, mem, &out, sizeof(out));
}
