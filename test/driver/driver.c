/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define PAGE UINT64_C(4096)

void
drv_head(void *in, uint16_t opcode, uint16_t op_mod)
{
	rnic_cmd_in_set(in, RNIC_CMD_IN_OPCODE, opcode);
	rnic_cmd_in_set(in, RNIC_CMD_IN_OP_MOD, op_mod);
}

int
drv_execute(struct drv *drv, void *in, uint32_t in_bytes, uint32_t *number)
{
	struct rnic_object_out out = { 0 };
	int status = drv->execute(drv, in, in_bytes, &out, sizeof(out));

	if (number != NULL)
		*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}

int
drv_simple(struct drv *drv, uint16_t opcode, uint32_t number, uint32_t *result)
{
	struct rnic_object_in in = { 0 };

	drv_head(&in, opcode, 0);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return drv_execute(drv, &in, sizeof(in), result);
}

int
drv_destroy(struct drv *drv, uint16_t opcode, uint32_t number)
{
	return drv_simple(drv, opcode, number, NULL);
}

int
drv_query(struct drv *drv, uint16_t opcode, uint32_t number, void *out, uint32_t out_bytes)
{
	struct rnic_object_in in = { 0 };

	memset(out, 0, out_bytes);
	drv_head(&in, opcode, 0);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return drv->execute(drv, &in, sizeof(in), out, out_bytes);
}

void *
drv_in(size_t bytes)
{
	void *in = calloc(1, bytes);

	if (in == NULL) {
		perror("test/driver: an input");
		abort();
	}
	return in;
}

int
drv_create(struct drv *drv, void *in, uint32_t in_bytes, uint32_t *number)
{
	int status = drv_execute(drv, in, in_bytes, number);

	free(in);
	return status;
}

struct drv_pages
drv_pages_of(uint64_t iova, size_t bytes)
{
	return (struct drv_pages){ .iova = iova,
				   .step = PAGE,
				   .count = (uint32_t)((bytes + PAGE - 1) / PAGE) };
}

uint32_t
drv_pages_put(void *in, size_t fixed, const struct drv_pages *pages)
{
	struct rnic_be64 *list = (struct rnic_be64 *)(void *)((uint8_t *)in + fixed);

	for (uint32_t i = 0; i < pages->count; i++)
		list[i] = rnic_cpu_to_be64(pages->iova + i * pages->step);
	return (uint32_t)(fixed + pages->count * sizeof(*list));
}
