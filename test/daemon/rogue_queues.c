/* SPDX-License-Identifier: BSD-3-Clause */

/* Rogues whose objects are many: queues, keys, flow groups and entries. */
#include "harness.h"

#include <stdlib.h>

#include "client.h"
#include "rogue_parts.h"

#define QUEUES		8191u /* and the nic's own */
#define QUEUES_OF_MANY	512u
#define RUNG		512u /* at a time */
#define KEYS		65520u
#define KEYS_OF_MANY	4096u
#define HALF		(HN_SLOTS / 2) /* destroyed, and as many made */
#define GROUPS		1024u	       /* of each of two tables */
#define ENTRIES		(65536u - GROUPS)
#define ENTRIES_OF_MANY 2048u
#define LOG_TABLE	16
#define FRAMES		64u
#define RECEIVE_LOG	7
#define FRAME_ROOM	2048

/* ---- Queues ---- */

/* All have one ring and one record, in which nothing is posted. */
static uint32_t
make_queue(struct rogue *r, uint32_t i, void *in)
{
	(void)i;
	return drv_sq_fill(in, &(struct drv_sq){ .log_size = 6,
						 .pd = r->nic.pd,
						 .uar = r->nic.sq.uar,
						 .cqn = r->nic.cq.number,
						 .tisn = r->tis,
						 .dbrec = r->sq.dbrec,
						 .ring = { .iova = r->sq.iova, .count = 1 } });
}

static uint32_t
make_ready(struct rogue *r, uint32_t i, void *in)
{
	return drv_sq_modify_fill(in, r->numbers[i], RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

static void
count_of(struct rogue *r, uint32_t count)
{
	free(r->numbers);
	r->numbers = calloc(count, sizeof(r->numbers[0]));
	assert_non_null(r->numbers);
	r->count = count;
	r->next = 0;
}

void
rogue_build_queues(struct rogue *r)
{
	r->sq.iova = hn_alloc(&r->nic.hn, ROGUE_PAGE, ROGUE_PAGE);
	r->sq.dbrec = hn_alloc(&r->nic.hn, 64, 64);
	count_of(r, r->many ? QUEUES_OF_MANY : QUEUES);
	rogue_commands(r, r->count, make_queue, r->numbers);
	rogue_commands(r, r->count, make_ready, NULL);
}

void
rogue_work_queues(struct rogue *r)
{
	static struct vfu_region_write writes[RUNG];

	for (uint32_t i = 0; i < RUNG; i++, r->next = (r->next + 1) % r->count)
		writes[i] =
			rogue_bell(r, RNIC_WQE_CTRL_DW0(0, 0, RNIC_WQE_SEND), r->numbers[r->next]);
	assert_int_equal(vfu_client_region_write_multi(client_of(r->nic.hn.dev), writes, RUNG), 0);
}

/* ---- Keys ---- */

/* Of one page, which is looked up when the key is made. */
static uint32_t
make_key(struct rogue *r, uint32_t i, void *in)
{
	struct drv_mkey page = rogue_mkey(r, RNIC_MKEY_MTT, false);

	(void)i;
	page.start = HN_IOVA_BASE;
	page.length = ROGUE_PAGE;
	page.log_page_size = 12;
	page.pages = drv_pages_of(HN_IOVA_BASE, ROGUE_PAGE);
	return drv_mkey_fill(in, &page);
}

void
rogue_build_keys(struct rogue *r)
{
	count_of(r, r->many ? KEYS_OF_MANY : KEYS);
	rogue_commands(r, r->count, make_key, r->numbers);
}

void
rogue_work_keys(struct rogue *r)
{
	rogue_change_map(r);
	if (!rogue_answered(r, UINT32_MAX))
		return;
	for (uint32_t i = 0; i < HALF && r->step > 0; i++) {
		rogue_number(r, i);
		r->numbers[r->next++] = rogue_number(r, HALF + i);
	}
	r->next %= r->count;
	for (uint32_t i = 0; i < HALF; i++) {
		rogue_put(r, i, rogue_make_destroy_mkey, r->numbers[r->next + i]);
		rogue_put(r, HALF + i, make_key, 0);
	}
	rogue_ring(r, UINT32_MAX);
	r->step++;
}

/* ---- Flow tables ---- */

/* Of one index each, but for the last one, which has all others. What is asked of a frame keeps its verdict from being kept. */
static uint32_t
make_group(struct rogue *r, uint32_t i, void *in)
{
	const bool last = i == GROUPS - 1;
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 };

	if (last && r->step > 0)
		rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16,
					       UINT32_MAX);
	else if (!last)
		rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	return drv_group_fill(in, &(struct drv_group){ .table = r->table,
						       .start = i,
						       .end = last ? (1u << LOG_TABLE) - 1 : i,
						       .mask = &mask });
}

/* The next entry of the last group, to so many destinations. */
static uint32_t
entry(struct rogue *r, uint32_t i, uint32_t source, uint32_t times, void *in)
{
	struct rnic_fte_match_set_lyr_2_4 value = { 0 };
	struct rnic_flow_destination to[NIC_DESTINATIONS];

	rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16, source);
	for (uint32_t k = 0; k < times; k++)
		to[k] = drv_to_tir(r->tir);
	return drv_fte_fill(in, &(struct drv_fte){ .table = r->table,
						   .group = r->group,
						   .index = GROUPS - 1 + i,
						   .action = RNIC_FLOW_ACTION_FWD_DEST,
						   .value = &value,
						   .to = to,
						   .count = times });
}

static uint32_t
make_entry(struct rogue *r, uint32_t i, void *in)
{
	return entry(r, i, i + 1, 1, in);
}

/* The first one that is made is the last one of all that are alike. */
static uint32_t
make_alike(struct rogue *r, uint32_t i, void *in)
{
	return entry(r, r->count - 1 - i, 1, 1, in);
}

/* All frames, to many. */
static uint32_t
make_last_entry(struct rogue *r, uint32_t i, void *in)
{
	return entry(r, i, 0, NIC_DESTINATIONS, in);
}

static uint32_t
make_delete_entry(struct rogue *r, uint32_t i, void *in)
{
	hn_head(in, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0);
	rnic_fte_in_set(in, RNIC_FTE_IN_TABLE_ID, r->table);
	rnic_fte_in_set(in, RNIC_FTE_IN_FLOW_INDEX, GROUPS - 1 + i);
	return sizeof(struct rnic_fte_in);
}

static uint32_t
make_delete_alike(struct rogue *r, uint32_t i, void *in)
{
	return make_delete_entry(r, r->count - 1 - i, in);
}

/* What the first one misses goes to the second one, which is made first. */
static void
build_table(struct rogue *r, uint32_t level)
{
	const struct drv_table table = { .level = level,
					 .log_size = LOG_TABLE,
					 .miss_table = level == 0 ? r->table : 0 };
	uint32_t groups[GROUPS];

	assert_int_equal(drv_table_create(&r->nic.hn.drv, &table, &r->table), 0);
	r->step = level == 0;
	rogue_commands(r, GROUPS, make_group, groups);
	r->group = groups[GROUPS - 1];
}

/* A way through all groups there can be, and entries that it does not lead to. */
static void
build_flows(struct rogue *r, rogue_make_fn *make)
{
	const uint64_t buffer = hn_alloc(&r->nic.hn, FRAME_ROOM, ROGUE_PAGE);
	const struct rogue_buffers buffers = {
		.log_size = RECEIVE_LOG, .segments = 1, .address = buffer, .bytes = FRAME_ROOM
	};

	rogue_receive(r, &buffers);
	build_table(r, 1);
	rogue_commands(r, 1, make_last_entry, NULL);
	build_table(r, 0);
	r->count = r->many ? ENTRIES_OF_MANY : ENTRIES;
	rogue_commands(r, r->count, make, NULL);
	assert_int_equal(drv_root_set(&r->nic.hn.drv, r->table), 0);
	r->next = r->step = 0;
}

/* Some entries go, and come again. */
static void
work_flows(struct rogue *r, rogue_make_fn *make, rogue_make_fn *make_delete)
{
	rogue_reap(r);
	rogue_refill(r);
	for (; r->under_way < FRAMES; r->under_way++)
		nic_send(&r->nic);
	if (!rogue_answered(r, UINT32_MAX))
		return;
	for (uint32_t slot = 0; slot < HN_SLOTS && r->step > 0; slot++)
		rogue_number(r, slot);
	for (uint32_t i = 0; i < HALF; i++) {
		rogue_put(r, i, make_delete, r->next + i);
		rogue_put(r, HALF + i, make, r->next + i);
	}
	rogue_ring(r, UINT32_MAX);
	r->step++;
}

void
rogue_build_flows(struct rogue *r)
{
	build_flows(r, make_entry);
}

void
rogue_work_flows(struct rogue *r)
{
	work_flows(r, make_entry, make_delete_entry);
	r->next = (r->next + HALF) % (r->count - HALF);
}

void
rogue_build_alike(struct rogue *r)
{
	build_flows(r, make_alike);
}

void
rogue_work_alike(struct rogue *r)
{
	work_flows(r, make_alike, make_delete_alike);
}

/* ---- All of it ---- */

void
rogue_build_full(struct rogue *r)
{
	rogue_build_flows(r);
	rogue_build_queues(r);
	rogue_build_keys(r);
}

void
rogue_work_full(struct rogue *r)
{
	const uint32_t offset = RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING);

	if (r->step++ == 0) {
		assert_int_equal(vfu_client_reset(client_of(r->nic.hn.dev)), 0);
		return;
	}
	r->done = r->done || hn_read32(&r->nic.hn, offset) >> 31 == 0;
}

/* ---- A link ---- */

static uint32_t
make_link(struct rogue *r, uint32_t i, void *in)
{
	(void)r;
	hn_head(in, RNIC_CMD_MODIFY_VPORT_STATE, 0);
	rnic_modify_vport_state_in_set(in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE,
				       i % 2 == 0 ? RNIC_VPORT_STATE_DOWN : RNIC_VPORT_STATE_UP);
	return sizeof(struct rnic_modify_vport_state_in);
}

void
rogue_build_flaps(struct rogue *r)
{
	for (uint32_t slot = 0; slot < HN_SLOTS; slot++)
		rogue_put(r, slot, make_link, slot);
	rogue_ring(r, UINT32_MAX);
}

void
rogue_work_flaps(struct rogue *r)
{
	if (rogue_answered(r, UINT32_MAX))
		rogue_again(r, UINT32_MAX);
}
