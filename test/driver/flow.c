/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "flow.h"

int
drv_table_create(struct drv *drv, const struct drv_table *table, uint32_t *number)
{
	struct rnic_create_flow_table_in in = { 0 };
	struct rnic_flow_table_context *context = rnic_create_flow_table_in_context(&in);

	drv_head(&in, RNIC_CMD_CREATE_FLOW_TABLE, 0);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL, table->level);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE, table->log_size);
	if (table->miss_table != 0) {
		rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION,
					    RNIC_TABLE_MISS_FORWARD);
		rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID,
					    table->miss_table);
	}
	return drv_execute(drv, &in, sizeof(in), number);
}

int
drv_table_destroy(struct drv *drv, uint32_t table)
{
	struct rnic_flow_table_in in = { 0 };

	drv_head(&in, RNIC_CMD_DESTROY_FLOW_TABLE, 0);
	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_ID, table);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

int
drv_root_set(struct drv *drv, uint32_t table)
{
	struct rnic_set_flow_table_root_in in = { 0 };

	drv_head(&in, RNIC_CMD_SET_FLOW_TABLE_ROOT, 0);
	rnic_set_flow_table_root_in_set(&in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, table);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

uint32_t
drv_group_fill(void *in, const struct drv_group *group)
{
	drv_head(in, RNIC_CMD_CREATE_FLOW_GROUP, 0);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, group->table);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, group->start);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX, group->end);
	if (group->mask != NULL) {
		rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE,
					      RNIC_MATCH_OUTER_HEADERS);
		*rnic_fte_match_param_outer(rnic_create_flow_group_in_match_criteria(in)) =
			*group->mask;
	}
	return sizeof(struct rnic_create_flow_group_in);
}

int
drv_group_create(struct drv *drv, const struct drv_group *group, uint32_t *number)
{
	struct rnic_create_flow_group_in in = { 0 };

	return drv_execute(drv, &in, drv_group_fill(&in, group), number);
}

int
drv_group_destroy(struct drv *drv, uint32_t table, uint32_t group)
{
	struct rnic_flow_group_in in = { 0 };

	drv_head(&in, RNIC_CMD_DESTROY_FLOW_GROUP, 0);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_GROUP_ID, group);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

size_t
drv_fte_bytes(const struct drv_fte *fte)
{
	return sizeof(struct rnic_set_fte_in) + fte->count * sizeof(*fte->to);
}

uint32_t
drv_fte_fill(void *in, const struct drv_fte *fte)
{
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(in);

	drv_head(in, RNIC_CMD_SET_FLOW_TABLE_ENTRY, 0);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_TABLE_ID, fte->table);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_FLOW_INDEX, fte->index);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_IGNORE_FLOW_LEVEL, fte->any_level);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, fte->group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_FLOW_TAG, fte->tag);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, fte->action);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, fte->count);
	if (fte->value != NULL)
		*rnic_fte_match_param_outer(rnic_flow_context_match_value(context)) = *fte->value;
	if (fte->count > 0)
		memcpy((struct rnic_set_fte_in *)in + 1, fte->to, fte->count * sizeof(*fte->to));
	return (uint32_t)drv_fte_bytes(fte);
}

int
drv_fte_set(struct drv *drv, const struct drv_fte *fte)
{
	void *in = drv_in(drv_fte_bytes(fte));

	return drv_create(drv, in, drv_fte_fill(in, fte), NULL);
}

int
drv_fte_delete(struct drv *drv, uint32_t table, uint32_t index)
{
	struct rnic_fte_in in = { 0 };

	drv_head(&in, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0);
	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, table);
	rnic_fte_in_set(&in, RNIC_FTE_IN_FLOW_INDEX, index);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

struct rnic_flow_destination
drv_to_tir(uint32_t tirn)
{
	struct rnic_flow_destination to = { 0 };

	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_ID, tirn);
	return to;
}
