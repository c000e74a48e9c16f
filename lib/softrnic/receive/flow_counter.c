/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow counters: their commands. What counts in them is in steer.c. */
#include "prm/caps.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/flow_counter.h"

#define BULK RNIC_FLOW_COUNTER_BULK

static void
flow_counter_free(struct softrnic *dev, struct softrnic_flow_counter *block)
{
	dev->flow_counters -= block->size;
	softrnic_spend_bytes(dev, block->size * sizeof(block->counts[0]));
	softrnic_free(dev, block);
}

void
softrnic_flow_counter_drop(struct softrnic *dev, struct softrnic_object *object)
{
	softrnic_object_remove(dev, object);
	flow_counter_free(dev, (struct softrnic_flow_counter *)object);
}

struct softrnic_flow_count *
softrnic_flow_count_find(struct softrnic *dev, uint32_t id, struct softrnic_flow_counter **block)
{
	*block = softrnic_object_find(dev, SOFTRNIC_FLOW_COUNTER, id / BULK);
	return *block == NULL || id % BULK >= (*block)->size ? NULL : &(*block)->counts[id % BULK];
}

uint32_t
softrnic_flow_count_id(const struct softrnic_flow_counter *block,
		       const struct softrnic_flow_count *count)
{
	return block->object.number * BULK + (uint32_t)(count - block->counts);
}

SOFTRNIC_CMD(alloc_flow_counter)
{
	const uint64_t bulk = rnic_alloc_flow_counter_in_get(
		cmd->in, RNIC_ALLOC_FLOW_COUNTER_IN_FLOW_COUNTER_BULK);
	const uint32_t size = bulk == 0 ? 1 : BULK;
	struct softrnic_flow_counter *block;
	int status;

	if (rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_MAX_FLOW_COUNTER_15_0) == 0)
		return RNIC_STATUS_BAD_OP;
	if (bulk > 1)
		return softrnic_refuse(dev, cmd, "bulks have 128 counters");
	if (size > SOFTRNIC_MAX_FLOW_COUNTERS - dev->flow_counters)
		return RNIC_STATUS_LIM;
	block = softrnic_alloc(dev, 1, sizeof(*block) + size * sizeof(block->counts[0]));
	if (block == NULL)
		return RNIC_STATUS_NO_RES;
	block->size = size;
	dev->flow_counters += size;
	status = softrnic_object_add(dev, SOFTRNIC_FLOW_COUNTER, &block->object);
	if (status != RNIC_STATUS_OK) {
		flow_counter_free(dev, block);
		return status;
	}
	rnic_flow_counter_set(cmd->out, RNIC_FLOW_COUNTER_ID,
			      softrnic_flow_count_id(block, block->counts));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(dealloc_flow_counter)
{
	struct softrnic_flow_counter *block;
	const struct softrnic_flow_count *count = softrnic_flow_count_find(
		dev, (uint32_t)rnic_flow_counter_get(cmd->in, RNIC_FLOW_COUNTER_ID), &block);

	if (count == NULL || count != block->counts)
		return RNIC_STATUS_BAD_RES;
	if (block->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	softrnic_flow_counter_drop(dev, &block->object);
	return RNIC_STATUS_OK;
}

/* One, or neighbours by their numbers, among which may be some that there are not: Linux asks for all from the first to the last. */
SOFTRNIC_CMD(query_flow_counter)
{
	const struct rnic_query_flow_counter_in *in = cmd->in;
	const uint32_t id = (uint32_t)rnic_query_flow_counter_in_get(
		in, RNIC_QUERY_FLOW_COUNTER_IN_FLOW_COUNTER_ID);
	const uint64_t said =
		rnic_query_flow_counter_in_get(in, RNIC_QUERY_FLOW_COUNTER_IN_NUM_OF_COUNTERS);
	const uint32_t number = said == 0 ? 1 : (uint32_t)said;
	struct rnic_traffic_counter *out =
		(struct rnic_traffic_counter *)((struct rnic_query_flow_counter_out *)cmd->out + 1);
	struct softrnic_flow_counter *block;
	struct softrnic_flow_count *count;

	if (said > BULK || id > UINT32_MAX - number)
		return RNIC_STATUS_BAD_PARAM;
	if (softrnic_flow_count_find(dev, id, &block) == NULL)
		return RNIC_STATUS_BAD_RES;
	for (uint32_t i = 0; i < number; i++) {
		count = softrnic_flow_count_find(dev, id + i, &block);
		if (count == NULL)
			continue;
		rnic_traffic_counter_set(&out[i], RNIC_TRAFFIC_COUNTER_PACKETS, count->packets);
		rnic_traffic_counter_set(&out[i], RNIC_TRAFFIC_COUNTER_OCTETS, count->octets);
		if (rnic_query_flow_counter_in_get(in, RNIC_QUERY_FLOW_COUNTER_IN_CLEAR))
			*count = (struct softrnic_flow_count){ 0 };
	}
	return RNIC_STATUS_OK;
}
