/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands on flow table entries. */
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/flow_counter.h"
#include "softrnic/receive/fte.h"
#include "softrnic/receive/tir.h"

/* Destinations and a counter. */
#define FTE_LIST_MAX (STEER_TIRS_MAX + 1)

static struct flow_group *
fte_group_of_index(struct softrnic_flow_table *table, uint64_t index)
{
	struct flow_group *group;

	TAILQ_FOREACH(group, &table->groups, link) {
		if (index >= group->start && index <= group->end)
			return group;
	}
	return NULL;
}

/* The chain of that index: entries of one group are in different chains, those of two groups may share one. */
static struct flow_entry **
fte_index_chain(const struct softrnic_steering *steering, const struct flow_group *group,
		uint64_t index)
{
	uint64_t chain = (steering->secrets[0] * group->id >> 32) + index;

	return &steering->by_index[chain & ((1u << STEER_INDEX_LOG) - 1)];
}

static struct flow_entry *
fte_entry_find(const struct softrnic_steering *steering, const struct flow_group *group,
	       uint64_t index)
{
	struct flow_entry *entry = *fte_index_chain(steering, group, index);

	while (entry != NULL && (entry->index != index || entry->group != group))
		entry = entry->same;
	return entry;
}

/*
 * The link of its bucket's chain that leads, or would lead, to an entry. Of two entries with the same value the lower flow
 * index wins: chains are in that order. Values that are all the same make one long chain of them, whatever the hash.
 */
static struct flow_entry **
fte_bucket_link(struct softrnic *dev, const struct flow_entry *entry)
{
	struct softrnic_steering *steering = dev->steering;
	struct flow_entry **link = &steering->buckets[entry->hash & steering->bucket_mask];
	uint32_t steps = 0;

	for (; *link != NULL && *link != entry && (*link)->index <= entry->index; steps++)
		link = &(*link)->next;
	softrnic_spend_steps(dev, steps);
	return link;
}

/*
 * Twice the buckets when there are more entries: each one becomes two, in the same order. Without memory chains just get
 * longer. There are never fewer again: the most is 2^SOFTRNIC_LOG_MAX_FLOW of them.
 */
static void
fte_buckets_grow(struct softrnic *dev)
{
	struct softrnic_steering *steering = dev->steering;
	uint32_t count = steering->bucket_mask + 1, i;
	struct flow_entry **buckets, **ends[2], *entry;

	if (steering->entry_count <= count || count >> SOFTRNIC_LOG_MAX_FLOW != 0)
		return;
	buckets = calloc(2 * (size_t)count, sizeof(*buckets));
	if (buckets == NULL)
		return;
	softrnic_spend_steps(dev, steering->entry_count);
	for (i = 0; i < count; i++) {
		ends[0] = &buckets[i];
		ends[1] = &buckets[count + i];
		for (entry = steering->buckets[i]; entry != NULL; entry = entry->next) {
			*ends[(entry->hash & count) != 0] = entry;
			ends[(entry->hash & count) != 0] = &entry->next;
		}
		*ends[0] = *ends[1] = NULL;
	}
	free(steering->buckets);
	steering->buckets = buckets;
	steering->bucket_mask = 2 * count - 1;
}

static void
fte_entry_insert(struct softrnic *dev, struct flow_group *group, struct flow_entry *entry)
{
	struct flow_entry **link;

	fte_buckets_grow(dev);
	link = fte_bucket_link(dev, entry);
	entry->next = *link;
	*link = entry;
	link = fte_index_chain(dev->steering, group, entry->index);
	entry->same = *link;
	*link = entry;
	LIST_INSERT_HEAD(&group->entries, entry, link);
	group->entry_count++;
}

static void
fte_entry_unlink(struct softrnic *dev, struct flow_group *group, struct flow_entry *entry)
{
	struct flow_entry **link = fte_bucket_link(dev, entry);

	*link = entry->next;
	link = fte_index_chain(dev->steering, group, entry->index);
	while (*link != entry)
		link = &(*link)->same;
	*link = entry->same;
	LIST_REMOVE(entry, link);
	group->entry_count--;
}

void
softrnic_flow_entry_free(struct softrnic *dev, struct flow_entry *entry)
{
	uint32_t i;

	if (entry->table != NULL)
		entry->table->object.refs--;
	for (i = 0; i < entry->tir_count; i++)
		entry->tirs[i]->object.refs--;
	dev->steering->indirect_entries -= entry->indirect;
	if (entry->count != NULL) {
		entry->counter->object.refs--;
		dev->steering->counting_entries--;
	}
	softrnic_free(dev, entry->tirs);
	softrnic_free(dev, entry);
	dev->steering->entry_count--;
}

/* One destination of the list; takes its reference. */
static int
fte_destination_add(struct softrnic *dev, const struct softrnic_flow_table *table,
		    struct flow_entry *entry, const struct rnic_flow_destination *destination)
{
	uint32_t id = (uint32_t)rnic_flow_destination_get(destination, RNIC_FLOW_DESTINATION_ID);
	struct softrnic_flow_table *next;
	struct softrnic_tir *tir;

	switch (rnic_flow_destination_get(destination, RNIC_FLOW_DESTINATION_TYPE)) {
	case RNIC_FLOW_DESTINATION_TABLE:
		next = softrnic_object_find(dev, SOFTRNIC_FLOW_TABLE, id);
		if (next == NULL)
			return RNIC_STATUS_BAD_RES;
		/* Levels rise, so that no walk comes back; else STEER_STEPS_MAX ends it. */
		if (entry->table != NULL || next->type != table->type ||
		    (next->level <= table->level && !entry->any_level))
			return RNIC_STATUS_BAD_PARAM;
		entry->table = next;
		next->object.refs++;
		return RNIC_STATUS_OK;
	case RNIC_FLOW_DESTINATION_TIR:
		tir = softrnic_object_find(dev, SOFTRNIC_TIR, id);
		if (tir == NULL)
			return RNIC_STATUS_BAD_RES;
		entry->tirs[entry->tir_count++] = tir;
		tir->object.refs++;
		/* A TIR stays what it is. */
		if (tir->rq == NULL && !entry->indirect) {
			entry->indirect = true;
			dev->steering->indirect_entries++;
		}
		return RNIC_STATUS_OK;
	default: return RNIC_STATUS_BAD_PARAM;
	}
}

/* Where an entry leads to, as a command says it. */
struct fte_forward {
	const struct rnic_flow_destination *list;
	uint32_t bytes;
	bool any_level;
};

/* Where it counts stands behind its destinations. */
static int
fte_counter_set(struct softrnic *dev, struct flow_entry *entry, const void *list)
{
	struct softrnic_flow_counter *counter;
	struct softrnic_flow_count *count = softrnic_flow_count_find(
		dev,
		(uint32_t)rnic_flow_counter_list_get(list, RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID),
		&counter);

	if (count == NULL)
		return RNIC_STATUS_BAD_RES;
	entry->count = count;
	entry->counter = counter;
	counter->object.refs++;
	dev->steering->counting_entries++;
	return RNIC_STATUS_OK;
}

/* Drop, or forward to at least one destination; and count, in one counter. How many destinations there are, or minus a status. */
static int
fte_actions_check(const struct rnic_flow_context *context, const struct fte_forward *to)
{
	uint64_t count = rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE);
	uint64_t counters =
		rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_COUNTER_LIST_SIZE);
	uint64_t action = rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_ACTION);
	bool forward = (action & RNIC_FLOW_ACTION_FWD_DEST) != 0;
	bool counts = (action & RNIC_FLOW_ACTION_COUNT) != 0;

	if ((action & ~(uint64_t)(RNIC_FLOW_ACTION_ALLOW | RNIC_FLOW_ACTION_DROP |
				  RNIC_FLOW_ACTION_FWD_DEST | RNIC_FLOW_ACTION_COUNT)) != 0 ||
	    ((action & RNIC_FLOW_ACTION_DROP) != 0) == forward || (count > 0) != forward ||
	    count > STEER_TIRS_MAX || counters != counts)
		return -RNIC_STATUS_BAD_PARAM;
	if (to->bytes / sizeof(*to->list) < count + counters)
		return -RNIC_STATUS_BAD_INP_LEN;
	return (int)count;
}

static int
fte_actions_set(struct softrnic *dev, const struct softrnic_flow_table *table,
		struct flow_entry *entry, const struct rnic_flow_context *context,
		const struct fte_forward *to)
{
	const int count = fte_actions_check(context, to);
	int status = RNIC_STATUS_OK;

	if (count < 0)
		return -count;
	entry->action = (uint16_t)rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_ACTION);
	entry->any_level = to->any_level;
	if (count > 0) {
		entry->tirs = softrnic_alloc(dev, (size_t)count, sizeof(struct softrnic_tir *));
		if (entry->tirs == NULL)
			return RNIC_STATUS_NO_RES;
	}
	for (int i = 0; i < count && status == RNIC_STATUS_OK; i++)
		status = fte_destination_add(dev, table, entry, &to->list[i]);
	if (status == RNIC_STATUS_OK && (entry->action & RNIC_FLOW_ACTION_COUNT) != 0)
		status = fte_counter_set(dev, entry, &to->list[count]);
	return status;
}

/* A new entry as the command describes it, not yet in its group. */
static int
fte_entry_create(struct softrnic *dev, struct softrnic_flow_table *table, struct flow_group *group,
		 struct rnic_flow_context *context, const struct fte_forward *to,
		 struct flow_entry **out)
{
	struct flow_entry *entry;
	uint32_t i;
	int status;

	entry = softrnic_alloc(dev, 1, sizeof(*entry));
	if (entry == NULL)
		return RNIC_STATUS_NO_RES;
	dev->steering->entry_count++;
	entry->group = group;
	memcpy(&entry->value, rnic_fte_match_param_outer(rnic_flow_context_match_value(context)),
	       sizeof(entry->value));
	for (i = 0; i < STEER_KEY_WORDS; i++)
		entry->value.words[i] &= group->mask.words[i];
	entry->hash = softrnic_steer_hash(dev->steering, group, &entry->value);
	entry->tag = (uint32_t)rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_TAG);
	entry->context = *context;
	status = fte_actions_set(dev, table, entry, context, to);
	if (status != RNIC_STATUS_OK) {
		softrnic_flow_entry_free(dev, entry);
		return status;
	}
	*out = entry;
	return RNIC_STATUS_OK;
}

/* What MODIFY keeps of the old entry: its match value, and the fields that the mask leaves out. */
static void
fte_context_merge(struct rnic_flow_context *context, const struct flow_entry *old, uint64_t mask)
{
	struct rnic_flow_context merged = old->context;

	if ((mask & RNIC_SET_FTE_MODIFY_ACTION) != 0)
		rnic_flow_context_set(&merged, RNIC_FLOW_CONTEXT_ACTION,
				      rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_ACTION));
	if ((mask & RNIC_SET_FTE_MODIFY_FLOW_TAG) != 0)
		rnic_flow_context_set(&merged, RNIC_FLOW_CONTEXT_FLOW_TAG,
				      rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_TAG));
	if ((mask & RNIC_SET_FTE_MODIFY_DESTINATION_LIST) != 0)
		rnic_flow_context_set(
			&merged, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE,
			rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE));
	if ((mask & RNIC_SET_FTE_MODIFY_FLOW_COUNTERS) != 0)
		rnic_flow_context_set(
			&merged, RNIC_FLOW_CONTEXT_FLOW_COUNTER_LIST_SIZE,
			rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_COUNTER_LIST_SIZE));
	*context = merged;
}

/* The destinations of an entry in wire form: the table comes last. */
static uint32_t
fte_destinations_get(const struct flow_entry *entry, struct rnic_flow_destination *list)
{
	uint32_t i;

	for (i = 0; i < entry->tir_count; i++) {
		rnic_flow_destination_set(&list[i], RNIC_FLOW_DESTINATION_TYPE,
					  RNIC_FLOW_DESTINATION_TIR);
		rnic_flow_destination_set(&list[i], RNIC_FLOW_DESTINATION_ID,
					  entry->tirs[i]->object.number);
	}
	if (entry->table != NULL) {
		rnic_flow_destination_set(&list[i], RNIC_FLOW_DESTINATION_TYPE,
					  RNIC_FLOW_DESTINATION_TABLE);
		rnic_flow_destination_set(&list[i], RNIC_FLOW_DESTINATION_ID,
					  entry->table->object.number);
		i++;
	}
	return i;
}

/* Its counter, too, if it has one: how many. */
static uint32_t
fte_counters_get(const struct flow_entry *entry, void *list)
{
	if (entry->count == NULL)
		return 0;
	rnic_flow_counter_list_set(list, RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID,
				   softrnic_flow_count_id(entry->counter, entry->count));
	return 1;
}

/* The list that a change leads to: destinations and counters of the command's, or those that are there. */
static struct fte_forward
fte_forward_merge(const struct fte_forward *to, const struct rnic_flow_context *context,
		  uint64_t mask, const struct flow_entry *old,
		  struct rnic_flow_destination list[FTE_LIST_MAX])
{
	const uint64_t told = to->bytes / sizeof(list[0]);
	const uint64_t count =
		rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE);
	struct fte_forward merged = { .list = list, .any_level = to->any_level };
	uint32_t used;

	if ((mask & RNIC_SET_FTE_MODIFY_DESTINATION_LIST) != 0) {
		used = (uint32_t)(count < told ? count : told);
		used = used < FTE_LIST_MAX ? used : FTE_LIST_MAX - 1;
		memcpy(list, to->list, used * sizeof(list[0]));
	} else {
		used = fte_destinations_get(old, list);
		merged.any_level = old->any_level;
	}
	if ((mask & RNIC_SET_FTE_MODIFY_FLOW_COUNTERS) == 0)
		used += fte_counters_get(old, &list[used]);
	else if (count < told)
		list[used++] = to->list[count];
	merged.bytes = used * (uint32_t)sizeof(list[0]);
	return merged;
}

static struct fte_forward
fte_forward_of(const struct softrnic_cmd *cmd)
{
	const struct rnic_set_fte_in *in = cmd->in;

	return (struct fte_forward){
		.list = (const struct rnic_flow_destination *)(in + 1),
		.bytes = cmd->in_bytes - (uint32_t)sizeof(*in),
		.any_level = rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_IGNORE_FLOW_LEVEL) != 0,
	};
}

static int
fte_entry_modify(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_flow_table *table,
		 struct flow_group *group, struct flow_entry *old)
{
	struct rnic_set_fte_in *in = (struct rnic_set_fte_in *)(uintptr_t)cmd->in;
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(in);
	uint64_t mask = rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_MODIFY_ENABLE_MASK);
	struct rnic_flow_destination list[FTE_LIST_MAX] = { 0 };
	struct fte_forward to = fte_forward_of(cmd);
	struct flow_entry *entry;
	int status;

	cmd->syndrome = 0x936005;
	if (old == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x936006;
	if ((mask & ~(uint64_t)(RNIC_SET_FTE_MODIFY_ACTION | RNIC_SET_FTE_MODIFY_FLOW_TAG |
				RNIC_SET_FTE_MODIFY_DESTINATION_LIST |
				RNIC_SET_FTE_MODIFY_FLOW_COUNTERS)) != 0)
		return RNIC_STATUS_BAD_PARAM;
	to = fte_forward_merge(&to, context, mask, old, list);
	fte_context_merge(context, old, mask);
	status = fte_entry_create(dev, table, group, context, &to, &entry);
	if (status != RNIC_STATUS_OK)
		return status;
	entry->index = old->index;
	fte_entry_unlink(dev, group, old);
	fte_entry_insert(dev, group, entry);
	softrnic_flow_entry_free(dev, old);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(set_flow_table_entry)
{
	struct rnic_set_fte_in *in = (struct rnic_set_fte_in *)(uintptr_t)cmd->in;
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(in);
	uint64_t index = rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_FLOW_INDEX);
	struct softrnic_flow_table *table =
		softrnic_object_find(dev, SOFTRNIC_FLOW_TABLE,
				     (uint32_t)rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_TABLE_ID));
	struct fte_forward to;
	struct flow_group *group;
	struct flow_entry *entry;
	int status;

	cmd->syndrome = 0x936001;
	if (table == NULL || table->type != rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_TABLE_TYPE))
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x936002;
	group = fte_group_of_index(table, index);
	if (group == NULL ||
	    group->id != rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_GROUP_ID))
		return RNIC_STATUS_BAD_PARAM;
	entry = fte_entry_find(dev->steering, group, index);
	if (cmd->op_mod == RNIC_SET_FTE_MODIFY) {
		status = fte_entry_modify(dev, cmd, table, group, entry);
		if (status == RNIC_STATUS_OK)
			softrnic_steering_changed(dev);
		return status;
	}
	cmd->syndrome = 0x936003;
	if (cmd->op_mod != RNIC_SET_FTE_NEW || entry != NULL)
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x936005;
	if (dev->steering->entry_count >> SOFTRNIC_LOG_MAX_FLOW != 0)
		return RNIC_STATUS_LIM;
	cmd->syndrome = 0x936004;
	to = fte_forward_of(cmd);
	status = fte_entry_create(dev, table, group, context, &to, &entry);
	if (status != RNIC_STATUS_OK)
		return status;
	entry->index = (uint32_t)index;
	fte_entry_insert(dev, group, entry);
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}

/* The entry that a query or delete command names. */
static struct flow_entry *
fte_entry_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd,
		     struct flow_group **group)
{
	uint64_t index = rnic_fte_in_get(cmd->in, RNIC_FTE_IN_FLOW_INDEX);
	struct softrnic_flow_table *table = softrnic_object_find(
		dev, SOFTRNIC_FLOW_TABLE, (uint32_t)rnic_fte_in_get(cmd->in, RNIC_FTE_IN_TABLE_ID));

	if (table == NULL || table->type != rnic_fte_in_get(cmd->in, RNIC_FTE_IN_TABLE_TYPE))
		return NULL;
	*group = fte_group_of_index(table, index);
	return *group == NULL ? NULL : fte_entry_find(dev->steering, *group, index);
}

SOFTRNIC_CMD(query_flow_table_entry)
{
	struct rnic_query_fte_out *out = cmd->out;
	struct rnic_flow_destination *list;
	struct flow_group *group;
	struct flow_entry *entry = fte_entry_of_command(dev, cmd, &group);

	cmd->syndrome = 0x937001;
	if (entry == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_fte_out_flow_context(out) = entry->context;
	list = (struct rnic_flow_destination *)(out + 1);
	fte_counters_get(entry, list + fte_destinations_get(entry, list));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(delete_flow_table_entry)
{
	struct flow_group *group;
	struct flow_entry *entry = fte_entry_of_command(dev, cmd, &group);

	cmd->syndrome = 0x938001;
	if (entry == NULL)
		return RNIC_STATUS_BAD_RES;
	fte_entry_unlink(dev, group, entry);
	softrnic_flow_entry_free(dev, entry);
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}
