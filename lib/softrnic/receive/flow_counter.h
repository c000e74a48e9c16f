/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow counters: frames and bytes of the flow table entries that name them. */
#ifndef SOFTRNIC_FLOW_COUNTER_H
#define SOFTRNIC_FLOW_COUNTER_H

#include "softrnic/base/command.h"

struct softrnic_flow_count {
	uint64_t packets, octets;
};

/* What one command allocates: a counter, or many. Its counters' numbers are its own times RNIC_FLOW_COUNTER_BULK, and those behind it. */
struct softrnic_flow_counter {
	struct softrnic_object object;
	uint32_t size;
	struct softrnic_flow_count counts[];
};

/* The counter of that number, for a command, and the block that it is of; NULL: there is none for who sends it. */
struct softrnic_flow_count *softrnic_flow_count_find(struct softrnic *dev, uint32_t id,
						     struct softrnic_flow_counter **block);
/* The number of one of a block's. */
uint32_t softrnic_flow_count_id(const struct softrnic_flow_counter *block,
				const struct softrnic_flow_count *count);
/* See softrnic_object_drop(). */
void softrnic_flow_counter_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(alloc_flow_counter);
SOFTRNIC_CMD(dealloc_flow_counter);
SOFTRNIC_CMD(query_flow_counter);

#endif
