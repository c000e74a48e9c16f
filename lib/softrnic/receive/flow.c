/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands on flow tables, groups, entries, and the root. Receive tables only: transmit tables are not offered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/random.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/flow.h"
#include "softrnic/receive/fte.h"

#define FLOW_BUCKETS_MIN 64
#define FLOW_GROUP_IDS	 0xffffffu /* they have 24 bits */

/* The fields that entries can match on; others must not be in a group's mask. */
static const enum rnic_fte_match_set_lyr_2_4_field matched_fields[] = {
	RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16,	 RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_15_0,
	RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE,	 RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16,
	RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_15_0,	 RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_PRIO,
	RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_CFI,	 RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_VID,
	RNIC_FTE_MATCH_SET_LYR_2_4_IP_PROTOCOL,	 RNIC_FTE_MATCH_SET_LYR_2_4_IP_DSCP,
	RNIC_FTE_MATCH_SET_LYR_2_4_IP_ECN,	 RNIC_FTE_MATCH_SET_LYR_2_4_CVLAN_TAG,
	RNIC_FTE_MATCH_SET_LYR_2_4_SVLAN_TAG,	 RNIC_FTE_MATCH_SET_LYR_2_4_FRAG,
	RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION,	 RNIC_FTE_MATCH_SET_LYR_2_4_TCP_FLAGS,
	RNIC_FTE_MATCH_SET_LYR_2_4_TCP_SPORT,	 RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT,
	RNIC_FTE_MATCH_SET_LYR_2_4_TTL_HOPLIMIT, RNIC_FTE_MATCH_SET_LYR_2_4_UDP_SPORT,
	RNIC_FTE_MATCH_SET_LYR_2_4_UDP_DPORT,	 RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_127_96,
	RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_95_64, RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_63_32,
	RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_31_0,	 RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_127_96,
	RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_95_64, RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_63_32,
	RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_31_0,
};

void
softrnic_steering_fields(struct rnic_flow_table_fields *fields)
{
	static const enum rnic_flow_table_fields_field offered[] = {
		RNIC_FLOW_TABLE_FIELDS_OUTER_DMAC,	 RNIC_FLOW_TABLE_FIELDS_OUTER_SMAC,
		RNIC_FLOW_TABLE_FIELDS_OUTER_ETHER_TYPE, RNIC_FLOW_TABLE_FIELDS_OUTER_IP_VERSION,
		RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_PRIO, RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_CFI,
		RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_VID,	 RNIC_FLOW_TABLE_FIELDS_OUTER_IPV4_TTL,
		RNIC_FLOW_TABLE_FIELDS_OUTER_SIP,	 RNIC_FLOW_TABLE_FIELDS_OUTER_DIP,
		RNIC_FLOW_TABLE_FIELDS_OUTER_FRAG,	 RNIC_FLOW_TABLE_FIELDS_OUTER_IP_PROTOCOL,
		RNIC_FLOW_TABLE_FIELDS_OUTER_IP_ECN,	 RNIC_FLOW_TABLE_FIELDS_OUTER_IP_DSCP,
		RNIC_FLOW_TABLE_FIELDS_OUTER_UDP_SPORT,	 RNIC_FLOW_TABLE_FIELDS_OUTER_UDP_DPORT,
		RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_SPORT,	 RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_DPORT,
		RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_FLAGS,
	};
	size_t i;

	for (i = 0; i < sizeof(offered) / sizeof(offered[0]); i++)
		rnic_flow_table_fields_set(fields, offered[i], 1);
}

static void
flow_mask_add(struct softrnic_steering *steering, const struct flow_group *group)
{
	for (uint32_t i = 0; i < group->word_count; i++)
		steering->mask.words[group->words[i]] |= group->mask.words[group->words[i]];
}

/* What frames must have in common to share a verdict. The type always counts: it tells tagged frames from others. */
static void
flow_mask_make(struct softrnic_steering *steering)
{
	static const uint8_t type_mask[8] = { 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	const struct flow_group *group;

	memset(&steering->mask, 0, sizeof(steering->mask));
	memcpy(&steering->mask.words[0], type_mask, 8);
	LIST_FOREACH(group, &steering->groups, all)
		flow_mask_add(steering, group);
}

int
softrnic_steering_init(struct softrnic *dev)
{
	struct softrnic_steering *steering = calloc(1, sizeof(*steering));
	uint32_t i;

	dev->steering = steering;
	if (steering == NULL)
		return -ENOMEM;
	LIST_INIT(&steering->groups);
	/* Of the device's key, without a step of what memory keys are drawn from. */
	for (i = 0; i < sizeof(steering->secrets) / sizeof(steering->secrets[0]); i++)
		steering->secrets[i] = softrnic_siphash(dev->secret.key, UINT64_MAX - i);
	steering->bucket_mask = FLOW_BUCKETS_MIN - 1;
	steering->buckets = calloc(FLOW_BUCKETS_MIN, sizeof(*steering->buckets));
	steering->by_index = calloc((size_t)1 << STEER_INDEX_LOG, sizeof(*steering->by_index));
	if (steering->buckets == NULL || steering->by_index == NULL)
		return -ENOMEM;
	flow_mask_make(steering);
	softrnic_steering_changed(dev);
	return 0;
}

/* Its entries have gone. */
static void
flow_group_free(struct softrnic *dev, struct softrnic_flow_table *table, struct flow_group *group)
{
	TAILQ_REMOVE(&table->groups, group, link);
	LIST_REMOVE(group, all);
	table->group_count--;
	dev->steering->group_count--;
	dev->steering->uncacheable_groups -= !group->cacheable;
	softrnic_free(dev, group);
}

static void
flow_table_free(struct softrnic *dev, struct softrnic_flow_table *table)
{
	if (table->miss != NULL)
		table->miss->object.refs--;
	if (dev->steering->root == table)
		dev->steering->root = NULL;
	softrnic_object_remove(dev, &table->object);
	softrnic_free(dev, table);
}

/* All of the group, behind softrnic_steering_forget(): they stay in the chains. As far as the share goes. */
static bool
flow_entries_drop(struct softrnic *dev, struct flow_group *group)
{
	struct flow_entry *entry;

	while ((entry = LIST_FIRST(&group->entries)) != NULL) {
		if (softrnic_share_is_over(dev))
			return false;
		softrnic_spend(dev, 8 + entry->tir_count / 8);
		LIST_REMOVE(entry, link);
		softrnic_flow_entry_free(dev, entry);
	}
	return true;
}

void
softrnic_steering_forget(struct softrnic *dev)
{
	struct softrnic_steering *steering = dev->steering;

	if (steering->entry_count == 0)
		return;
	memset(steering->buckets, 0, (steering->bucket_mask + 1) * sizeof(*steering->buckets));
	memset(steering->by_index, 0, sizeof(*steering->by_index) << STEER_INDEX_LOG);
}

bool
softrnic_steering_drop(struct softrnic *dev)
{
	struct softrnic_flow_table *table;
	struct flow_group *group;
	uint32_t number = 0;

	if (dev->tables[SOFTRNIC_FLOW_TABLE].used == 0)
		return true;
	/* Entries and misses refer to tables: all entries go first, then the tables without looking at references. */
	while ((table = softrnic_object_next(dev, SOFTRNIC_FLOW_TABLE, &number)) != NULL) {
		while ((group = TAILQ_FIRST(&table->groups)) != NULL) {
			if (!flow_entries_drop(dev, group))
				return false;
			flow_group_free(dev, table, group);
		}
		if (table->miss != NULL)
			table->miss->object.refs--;
		table->miss = NULL;
	}
	number = 0;
	while ((table = softrnic_object_next(dev, SOFTRNIC_FLOW_TABLE, &number)) != NULL) {
		table->object.refs = 0;
		flow_table_free(dev, table);
	}
	dev->steering->next_group_id = 0;
	flow_mask_make(dev->steering);
	softrnic_steering_changed(dev);
	return true;
}

void
softrnic_steering_fini(struct softrnic *dev)
{
	if (dev->steering != NULL) {
		free(dev->steering->buckets);
		free(dev->steering->by_index);
	}
	free(dev->steering);
	dev->steering = NULL;
}

/* The table that a command names, if its type is right. */
static struct softrnic_flow_table *
flow_table_find(struct softrnic *dev, uint64_t type, uint64_t number)
{
	struct softrnic_flow_table *table =
		softrnic_object_find(dev, SOFTRNIC_FLOW_TABLE, (uint32_t)number);

	return table != NULL && table->type == type ? table : NULL;
}

/* Where a miss goes, from a context; levels must rise, so that no walk can return. */
static int
flow_table_miss_find(struct softrnic *dev, const struct rnic_flow_table_context *context,
		     uint8_t type, uint8_t level, struct softrnic_flow_table **miss)
{
	uint64_t action =
		rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION);

	*miss = NULL;
	if (action == RNIC_TABLE_MISS_DEFAULT)
		return RNIC_STATUS_OK;
	if (action != RNIC_TABLE_MISS_FORWARD)
		return RNIC_STATUS_BAD_PARAM;
	*miss = flow_table_find(
		dev, type,
		rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID));
	if (*miss == NULL)
		return RNIC_STATUS_BAD_RES;
	return (*miss)->level > level ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;
}

SOFTRNIC_CMD(create_flow_table)
{
	struct rnic_create_flow_table_in *in =
		(struct rnic_create_flow_table_in *)(uintptr_t)cmd->in;
	const struct rnic_flow_table_context *context = rnic_create_flow_table_in_context(in);
	uint64_t level = rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL);
	uint64_t size = rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE);
	struct softrnic_flow_table *table;
	int status;

	cmd->syndrome = 0x930001;
	if (rnic_create_flow_table_in_get(in, RNIC_CREATE_FLOW_TABLE_IN_TABLE_TYPE) !=
		    RNIC_FLOW_TABLE_NIC_RX ||
	    rnic_create_flow_table_in_get(in, RNIC_CREATE_FLOW_TABLE_IN_OTHER_VPORT) != 0)
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x930002;
	if (size > SOFTRNIC_LOG_MAX_FT_SIZE ||
	    rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_REFORMAT_EN) != 0 ||
	    rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_DECAP_EN) != 0 ||
	    rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_SW_OWNER) != 0)
		return RNIC_STATUS_BAD_PARAM;
	table = softrnic_alloc(dev, 1, sizeof(*table));
	if (table == NULL)
		return RNIC_STATUS_NO_RES;
	table->level = (uint8_t)level;
	table->log_size = (uint8_t)size;
	table->type = RNIC_FLOW_TABLE_NIC_RX;
	table->context = *context;
	TAILQ_INIT(&table->groups);
	cmd->syndrome = 0x930003;
	status = flow_table_miss_find(dev, context, table->type, table->level, &table->miss);
	if (status == RNIC_STATUS_OK)
		status = softrnic_object_add(dev, SOFTRNIC_FLOW_TABLE, &table->object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, table);
		return status;
	}
	if (table->miss != NULL)
		table->miss->object.refs++;
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, table->object.number);
	return RNIC_STATUS_OK;
}

static struct softrnic_flow_table *
flow_table_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return flow_table_find(dev, rnic_flow_table_in_get(cmd->in, RNIC_FLOW_TABLE_IN_TABLE_TYPE),
			       rnic_flow_table_in_get(cmd->in, RNIC_FLOW_TABLE_IN_TABLE_ID));
}

/* The root may go: drivers destroy it last, without naming another one before. Then nothing matches. */
SOFTRNIC_CMD(destroy_flow_table)
{
	struct softrnic_flow_table *table = flow_table_of_command(dev, cmd);

	cmd->syndrome = 0x931001;
	if (table == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x931002;
	if (table->object.refs > 0 || !TAILQ_EMPTY(&table->groups))
		return RNIC_STATUS_RES_BUSY;
	flow_table_free(dev, table);
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_flow_table)
{
	struct softrnic_flow_table *table = flow_table_of_command(dev, cmd);

	cmd->syndrome = 0x932001;
	if (table == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_flow_table_out_context(cmd->out) = table->context;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_flow_table)
{
	struct rnic_modify_flow_table_in *in =
		(struct rnic_modify_flow_table_in *)(uintptr_t)cmd->in;
	const struct rnic_flow_table_context *context = rnic_modify_flow_table_in_context(in);
	struct softrnic_flow_table *table, *miss;
	int status;

	table = flow_table_find(
		dev, rnic_modify_flow_table_in_get(in, RNIC_MODIFY_FLOW_TABLE_IN_TABLE_TYPE),
		rnic_modify_flow_table_in_get(in, RNIC_MODIFY_FLOW_TABLE_IN_TABLE_ID));
	cmd->syndrome = 0x93c001;
	if (table == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x93c002;
	if (rnic_modify_flow_table_in_get(in, RNIC_MODIFY_FLOW_TABLE_IN_MODIFY_FIELD_SELECT) !=
	    RNIC_MODIFY_FLOW_TABLE_MISS_TABLE_ID)
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x93c003;
	status = flow_table_miss_find(dev, context, table->type, table->level, &miss);
	if (status != RNIC_STATUS_OK)
		return status;
	if (table->miss != NULL)
		table->miss->object.refs--;
	if (miss != NULL)
		miss->object.refs++;
	table->miss = miss;
	rnic_flow_table_context_set(
		&table->context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION,
		rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION));
	rnic_flow_table_context_set(
		&table->context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID,
		rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID));
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(set_flow_table_root)
{
	struct rnic_set_flow_table_root_in *in =
		(struct rnic_set_flow_table_root_in *)(uintptr_t)cmd->in;
	struct softrnic_flow_table *table;

	cmd->syndrome = 0x92f001;
	if (cmd->op_mod > 1 ||
	    rnic_set_flow_table_root_in_get(in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_TYPE) !=
		    RNIC_FLOW_TABLE_NIC_RX ||
	    rnic_set_flow_table_root_in_get(in, RNIC_SET_FLOW_TABLE_ROOT_IN_UNDERLAY_QPN) != 0)
		return RNIC_STATUS_BAD_PARAM;
	table = flow_table_find(
		dev, RNIC_FLOW_TABLE_NIC_RX,
		rnic_set_flow_table_root_in_get(in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID));
	cmd->syndrome = 0x92f002;
	/* op_mod 1 goes back to no root at all. */
	if (cmd->op_mod == 0 && table == NULL)
		return RNIC_STATUS_BAD_RES;
	dev->steering->root = cmd->op_mod == 0 ? table : NULL;
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}

/* Only outer headers, and only fields that we parse. */
static bool
flow_mask_supported(const struct rnic_fte_match_param *match, uint8_t criteria)
{
	struct rnic_fte_match_param rest = *match;
	uint32_t i;

	if ((criteria & ~RNIC_MATCH_OUTER_HEADERS) != 0)
		return false;
	for (i = 0; i < sizeof(matched_fields) / sizeof(matched_fields[0]); i++)
		rnic_fte_match_set_lyr_2_4_set(rnic_fte_match_param_outer(&rest), matched_fields[i],
					       0);
	/* Parts that criteria leave out do not count, whatever they hold. */
	if ((criteria & RNIC_MATCH_OUTER_HEADERS) == 0)
		return true;
	for (i = 0; i < sizeof(struct rnic_fte_match_set_lyr_2_4) / 4; i++) {
		if (rest.dw[i].raw != 0)
			return false;
	}
	return true;
}

/* Are addresses and type all that it looks at, where an untagged frame has them? */
static bool
flow_group_fits_cache(const struct flow_group *group)
{
	const struct rnic_fte_match_set_lyr_2_4 *set =
		(const struct rnic_fte_match_set_lyr_2_4 *)&group->mask;
	uint32_t i;

	/* Tags are in the second word, but not at the frame's place for it. */
	if ((rnic_be32_to_cpu(set->dw[3]) & 0xffff) != 0)
		return false;
	for (i = 2; i < STEER_KEY_WORDS; i++) {
		if (group->mask.words[i] != 0)
			return false;
	}
	return true;
}

static void
flow_group_compile(struct flow_group *group)
{
	uint32_t i;

	if ((group->criteria & RNIC_MATCH_OUTER_HEADERS) != 0)
		memcpy(&group->mask, rnic_fte_match_param_outer(&group->match),
		       sizeof(group->mask));
	for (i = 0; i < STEER_KEY_WORDS; i++) {
		if (group->mask.words[i] != 0)
			group->words[group->word_count++] = (uint8_t)i;
	}
	group->cacheable = flow_group_fits_cache(group);
}

/* Keep groups in the order of their flow indices; RNIC_STATUS_BAD_PARAM if they overlap. */
static int
flow_group_insert(struct softrnic *dev, struct softrnic_flow_table *table, struct flow_group *group)
{
	struct softrnic_steering *steering = dev->steering;
	struct flow_group *other;

	TAILQ_FOREACH(other, &table->groups, link) {
		if (group->start <= other->end && other->start <= group->end)
			return RNIC_STATUS_BAD_PARAM;
	}
	TAILQ_FOREACH(other, &table->groups, link) {
		if (other->start > group->start)
			break;
	}
	if (other != NULL)
		TAILQ_INSERT_BEFORE(other, group, link);
	else
		TAILQ_INSERT_TAIL(&table->groups, group, link);
	table->group_count++;
	LIST_INSERT_HEAD(&steering->groups, group, all);
	steering->group_count++;
	steering->uncacheable_groups += !group->cacheable;
	flow_mask_add(steering, group);
	return RNIC_STATUS_OK;
}

/*
 * An id that no group of the device has. They come round after 2^24, and a group may live longer than that: of those that are
 * next, one more than there can be groups, one is free.
 */
static uint32_t
flow_group_id_draw(struct softrnic *dev)
{
	uint8_t used[STEER_DEVICE_GROUPS_MAX + 1] = { 0 };
	struct softrnic_steering *steering = dev->steering;
	const uint32_t next = steering->next_group_id + softrnic_tunables.flow_groups;
	const struct flow_group *group;
	uint32_t ahead = 0;

	LIST_FOREACH(group, &steering->groups, all) {
		ahead = (group->id - next) & FLOW_GROUP_IDS;
		if (ahead < sizeof(used))
			used[ahead] = 1;
	}
	for (ahead = 0; used[ahead] != 0; ahead++)
		;
	softrnic_spend_steps(dev, steering->group_count + ahead);
	return (next + ahead) & FLOW_GROUP_IDS;
}

SOFTRNIC_CMD(create_flow_group)
{
	struct rnic_create_flow_group_in *in =
		(struct rnic_create_flow_group_in *)(uintptr_t)cmd->in;
	struct softrnic_flow_table *table;
	struct flow_group *group;
	uint64_t start, end;
	uint8_t criteria;
	int status;

	table = flow_table_find(
		dev, rnic_create_flow_group_in_get(in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_TYPE),
		rnic_create_flow_group_in_get(in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID));
	start = rnic_create_flow_group_in_get(in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX);
	end = rnic_create_flow_group_in_get(in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX);
	criteria = (uint8_t)rnic_create_flow_group_in_get(
		in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE);
	cmd->syndrome = 0x933001;
	if (table == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x933002;
	if (start > end || end >> table->log_size != 0)
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x933003;
	if (!flow_mask_supported(rnic_create_flow_group_in_match_criteria(in), criteria))
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x933004;
	if (table->group_count == STEER_GROUPS_MAX ||
	    dev->steering->group_count == STEER_DEVICE_GROUPS_MAX)
		return RNIC_STATUS_LIM;
	group = softrnic_alloc(dev, 1, sizeof(*group));
	if (group == NULL)
		return RNIC_STATUS_NO_RES;
	group->start = (uint32_t)start;
	group->end = (uint32_t)end;
	group->criteria = criteria;
	group->match = *rnic_create_flow_group_in_match_criteria(in);
	flow_group_compile(group);
	LIST_INIT(&group->entries);
	group->id = flow_group_id_draw(dev);
	cmd->syndrome = 0x933005;
	status = flow_group_insert(dev, table, group);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, group);
		return status;
	}
	dev->steering->next_group_id = group->id + 1 - softrnic_tunables.flow_groups;
	softrnic_steering_changed(dev);
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, group->id);
	return RNIC_STATUS_OK;
}

/* The table and group that a command names. */
static struct flow_group *
flow_group_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd,
		      struct softrnic_flow_table **table)
{
	uint64_t id = rnic_flow_group_in_get(cmd->in, RNIC_FLOW_GROUP_IN_GROUP_ID);
	struct flow_group *group;

	*table = flow_table_of_command(dev, cmd);
	if (*table == NULL)
		return NULL;
	TAILQ_FOREACH(group, &(*table)->groups, link) {
		if (group->id == id)
			return group;
	}
	return NULL;
}

SOFTRNIC_CMD(destroy_flow_group)
{
	struct softrnic_flow_table *table;
	struct flow_group *group = flow_group_of_command(dev, cmd, &table);

	cmd->syndrome = 0x934001;
	if (group == NULL)
		return RNIC_STATUS_BAD_RES;
	if (group->entry_count > 0)
		return RNIC_STATUS_RES_BUSY;
	flow_group_free(dev, table, group);
	flow_mask_make(dev->steering);
	softrnic_spend_steps(dev, dev->steering->group_count);
	softrnic_steering_changed(dev);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_flow_group)
{
	struct softrnic_flow_table *table;
	struct flow_group *group = flow_group_of_command(dev, cmd, &table);
	struct rnic_query_flow_group_out *out = cmd->out;

	cmd->syndrome = 0x935001;
	if (group == NULL)
		return RNIC_STATUS_BAD_RES;
	rnic_query_flow_group_out_set(out, RNIC_QUERY_FLOW_GROUP_OUT_START_FLOW_INDEX,
				      group->start);
	rnic_query_flow_group_out_set(out, RNIC_QUERY_FLOW_GROUP_OUT_END_FLOW_INDEX, group->end);
	rnic_query_flow_group_out_set(out, RNIC_QUERY_FLOW_GROUP_OUT_MATCH_CRITERIA_ENABLE,
				      group->criteria);
	*rnic_query_flow_group_out_match_criteria(out) = group->match;
	return RNIC_STATUS_OK;
}
