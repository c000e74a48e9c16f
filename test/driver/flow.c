/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
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

/* The bits that count, or what they are to be. */
static void
put_match(struct rnic_fte_match_set_lyr_2_4 *set, const struct drv_match *match, bool values)
{
	const struct drv_match *end = match + DRV_MATCHES;

	for (; match < end && match->field != 0; match++) {
		const uint32_t bits = match->mask != 0 ? match->mask : UINT32_MAX;

		rnic_fte_match_set_lyr_2_4_set(set, match->field, values ? match->value : bits);
	}
}

uint32_t
drv_group_fill(void *in, const struct drv_group *group)
{
	struct rnic_fte_match_set_lyr_2_4 *mask =
		rnic_fte_match_param_outer(rnic_create_flow_group_in_match_criteria(in));

	drv_head(in, RNIC_CMD_CREATE_FLOW_GROUP, 0);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, group->table);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, group->start);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX, group->end);
	put_match(mask, group->match, false);
	if (group->mask != NULL)
		*mask = *group->mask;
	if (group->mask != NULL || group->match[0].field != 0)
		rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE,
					      RNIC_MATCH_OUTER_HEADERS);
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
	return sizeof(struct rnic_set_fte_in) +
	       (fte->count + (fte->counter != 0)) * sizeof(*fte->to);
}

uint32_t
drv_fte_fill(void *in, const struct drv_fte *fte)
{
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(in);
	struct rnic_fte_match_set_lyr_2_4 *value =
		rnic_fte_match_param_outer(rnic_flow_context_match_value(context));
	const uint32_t usual =
		(fte->count > 0 ? RNIC_FLOW_ACTION_FWD_DEST : RNIC_FLOW_ACTION_DROP) |
		(fte->counter != 0 ? RNIC_FLOW_ACTION_COUNT : 0);
	struct rnic_flow_destination *list =
		(struct rnic_flow_destination *)((struct rnic_set_fte_in *)in + 1);

	drv_head(in, RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		 fte->modify != 0 ? RNIC_SET_FTE_MODIFY : RNIC_SET_FTE_NEW);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_MODIFY_ENABLE_MASK, fte->modify);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_TABLE_ID, fte->table);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_FLOW_INDEX, fte->index);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_IGNORE_FLOW_LEVEL, fte->any_level);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, fte->group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_FLOW_TAG, fte->tag);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION,
			      fte->action != 0 ? fte->action : usual);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, fte->count);
	put_match(value, fte->match, true);
	if (fte->value != NULL)
		*value = *fte->value;
	if (fte->count > 0)
		memcpy(list, fte->to, fte->count * sizeof(*fte->to));
	if (fte->counter != 0) {
		rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_FLOW_COUNTER_LIST_SIZE, 1);
		rnic_flow_counter_list_set((void *)(list + fte->count),
					   RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID, fte->counter);
	}
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

int
drv_fte_query(struct drv *drv, uint32_t table, uint32_t index, void *out, uint32_t out_bytes)
{
	struct rnic_fte_in in = { 0 };

	drv_head(&in, RNIC_CMD_QUERY_FLOW_TABLE_ENTRY, 0);
	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, table);
	rnic_fte_in_set(&in, RNIC_FTE_IN_FLOW_INDEX, index);
	return drv->execute(drv, &in, sizeof(in), out, out_bytes);
}

static struct rnic_flow_destination
destination(enum rnic_flow_destination_type type, uint32_t id)
{
	struct rnic_flow_destination to = { 0 };

	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_TYPE, type);
	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_ID, id);
	return to;
}

struct rnic_flow_destination
drv_to_tir(uint32_t tirn)
{
	return destination(RNIC_FLOW_DESTINATION_TIR, tirn);
}

struct rnic_flow_destination
drv_to_table(uint32_t table)
{
	return destination(RNIC_FLOW_DESTINATION_TABLE, table);
}

/* ---- Lists of entries ---- */

static bool
same_bits(const struct drv_fte *one, const struct drv_fte *other)
{
	struct rnic_fte_match_set_lyr_2_4 sets[2] = { 0 };

	put_match(&sets[0], one->match, false);
	put_match(&sets[1], other->match, false);
	return memcmp(&sets[0], &sets[1], sizeof(sets[0])) == 0;
}

int
drv_table_of(struct drv *drv, uint32_t level, uint32_t miss_table, struct drv_fte *entries,
	     uint32_t count, uint32_t *table)
{
	struct drv_group group = { 0 };
	uint32_t start, i, number = 0;
	int status = drv_table_create(drv, &(struct drv_table){ level, 4, miss_table }, table);

	for (start = 0; start < count && status == 0; start = i) {
		for (i = start + 1; i < count && same_bits(&entries[start], &entries[i]); i++)
			;
		group = (struct drv_group){ .table = *table, .start = start, .end = i - 1 };
		memcpy(group.match, entries[start].match, sizeof(group.match));
		status = drv_group_create(drv, &group, &number);
		for (i = start; i <= group.end; i++) {
			entries[i].table = *table;
			entries[i].group = number;
			entries[i].index = i;
		}
	}
	return status;
}

int
drv_ftes_set(struct drv *drv, const struct drv_fte *entries, uint32_t count)
{
	int status = 0;

	for (uint32_t i = 0; i < count && status == 0; i++)
		status = drv_fte_set(drv, &entries[i]);
	return status;
}

int
drv_root_to_tirs(struct drv *drv, const uint32_t *tirns, uint32_t count, uint32_t *table)
{
	struct rnic_flow_destination *to = drv_in(count * sizeof(*to));
	struct drv_fte all = { .to = to, .count = count };
	int status = drv_table_of(drv, 0, 0, &all, 1, &all.table);

	for (uint32_t i = 0; i < count; i++)
		to[i] = drv_to_tir(tirns[i]);
	if (status == 0)
		status = drv_fte_set(drv, &all);
	free(to);
	if (table != NULL)
		*table = all.table;
	return status != 0 ? status : drv_root_set(drv, all.table);
}

int
drv_flow_counter_alloc(struct drv *drv, uint32_t bulk, uint32_t *id)
{
	struct rnic_alloc_flow_counter_in in = { 0 };
	struct rnic_flow_counter out = { 0 };
	int status;

	drv_head(&in, RNIC_CMD_ALLOC_FLOW_COUNTER, 0);
	rnic_alloc_flow_counter_in_set(&in, RNIC_ALLOC_FLOW_COUNTER_IN_FLOW_COUNTER_BULK, bulk);
	status = drv->execute(drv, &in, sizeof(in), &out, sizeof(out));
	*id = (uint32_t)rnic_flow_counter_get(&out, RNIC_FLOW_COUNTER_ID);
	return status;
}

int
drv_flow_counter_dealloc(struct drv *drv, uint32_t id)
{
	struct rnic_flow_counter in = { 0 };

	drv_head(&in, RNIC_CMD_DEALLOC_FLOW_COUNTER, 0);
	rnic_flow_counter_set(&in, RNIC_FLOW_COUNTER_ID, id);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

int
drv_flow_counter_query(struct drv *drv, uint32_t id, uint32_t count, bool clear,
		       struct drv_flow_count *counts)
{
	const uint32_t number = count == 0 ? 1 : count;
	const uint32_t out_bytes = (uint32_t)(sizeof(struct rnic_query_flow_counter_out) +
					      number * sizeof(struct rnic_traffic_counter));
	struct rnic_query_flow_counter_in in = { 0 };
	struct rnic_query_flow_counter_out *out = drv_in(out_bytes);
	const struct rnic_traffic_counter *each = (const struct rnic_traffic_counter *)(out + 1);
	int status;

	drv_head(&in, RNIC_CMD_QUERY_FLOW_COUNTER, 0);
	rnic_query_flow_counter_in_set(&in, RNIC_QUERY_FLOW_COUNTER_IN_FLOW_COUNTER_ID, id);
	rnic_query_flow_counter_in_set(&in, RNIC_QUERY_FLOW_COUNTER_IN_NUM_OF_COUNTERS, count);
	rnic_query_flow_counter_in_set(&in, RNIC_QUERY_FLOW_COUNTER_IN_CLEAR, clear);
	status = drv->execute(drv, &in, sizeof(in), out, out_bytes);
	for (uint32_t i = 0; i < number; i++) {
		counts[i].packets =
			rnic_traffic_counter_get(&each[i], RNIC_TRAFFIC_COUNTER_PACKETS);
		counts[i].octets = rnic_traffic_counter_get(&each[i], RNIC_TRAFFIC_COUNTER_OCTETS);
	}
	free(out);
	return status;
}
