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
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(in);
	struct rnic_wq *wq = rnic_sqc_wq(sqc);
	struct rnic_be64 *pages = (struct rnic_be64 *)((struct rnic_create_sq_in *)in + 1);

	(void)i;
	hn_head(in, RNIC_CMD_CREATE_SQ, 0);
	rnic_sqc_set(sqc, RNIC_SQC_CQN, r->nic.cq.number);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_LST_SZ, 1);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_NUM_0, r->tis);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_CYCLIC);
	rnic_wq_set(wq, RNIC_WQ_PD, r->nic.pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, r->sq.dbrec);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, 6);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, 6);
	rnic_wq_set(wq, RNIC_WQ_UAR_PAGE, r->nic.sq.uar);
	pages[0] = rnic_cpu_to_be64(r->sq.iova);
	return sizeof(struct rnic_create_sq_in) + sizeof(pages[0]);
}

static uint32_t
make_ready(struct rogue *r, uint32_t i, void *in)
{
	hn_head(in, RNIC_CMD_MODIFY_SQ, 0);
	rnic_modify_sq_in_set(in, RNIC_MODIFY_SQ_IN_SQ_STATE, RNIC_WQ_STATE_RST);
	rnic_modify_sq_in_set(in, RNIC_MODIFY_SQ_IN_SQN, r->numbers[i]);
	rnic_sqc_set(rnic_modify_sq_in_sqc(in), RNIC_SQC_STATE, RNIC_WQ_STATE_RDY);
	return sizeof(struct rnic_modify_sq_in);
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
	const uint64_t page = r->nic.sq.uar * (uint64_t)RNIC_UAR_PAGE_BYTES;

	for (uint32_t i = 0; i < RUNG; i++, r->next = (r->next + 1) % r->count) {
		struct rnic_be64 bell =
			rnic_cpu_to_be64((uint64_t)RNIC_WQE_CTRL_DW0(0, 0, RNIC_WQE_SEND) << 32 |
					 RNIC_WQE_CTRL_DW1(r->numbers[r->next], 1));

		writes[i] = (struct vfu_region_write){
			page + RNIC_UAR_BLUEFLAME, VFU_PCI_BAR0, sizeof(bell), { 0 }
		};
		memcpy(writes[i].data, &bell, sizeof(bell));
	}
	assert_int_equal(vfu_client_region_write_multi(client_of(r->nic.hn.dev), writes, RUNG), 0);
}

/* ---- Keys ---- */

/* Of one page, which is looked up when the key is made. */
static uint32_t
make_key(struct rogue *r, uint32_t i, void *in)
{
	struct rnic_mkc *mkc = rogue_create_mkey(r, in, RNIC_MKEY_MTT, false, 1);
	struct rnic_be64 *pages = (struct rnic_be64 *)((struct rnic_create_mkey_in *)in + 1);

	(void)i;
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, HN_IOVA_BASE);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, ROGUE_PAGE);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	pages[0] = rnic_cpu_to_be64(HN_IOVA_BASE | RNIC_MTT_READ | RNIC_MTT_WRITE);
	return sizeof(struct rnic_create_mkey_in) + 2 * sizeof(pages[0]);
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

static uint32_t
make_table(struct rogue *r, uint32_t level, void *in)
{
	struct rnic_flow_table_context *context = rnic_create_flow_table_in_context(in);

	hn_head(in, RNIC_CMD_CREATE_FLOW_TABLE, 0);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL, level);
	rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE, LOG_TABLE);
	if (level == 0) {
		rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION,
					    RNIC_TABLE_MISS_FORWARD);
		rnic_flow_table_context_set(context, RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID,
					    r->table);
	}
	return sizeof(struct rnic_create_flow_table_in);
}

/* Of one index each, but for the last one, which has all others. What is asked of a frame keeps its verdict from being kept. */
static uint32_t
make_group(struct rogue *r, uint32_t i, void *in)
{
	struct rnic_fte_match_set_lyr_2_4 *mask =
		rnic_fte_match_param_outer(rnic_create_flow_group_in_match_criteria(in));

	hn_head(in, RNIC_CMD_CREATE_FLOW_GROUP, 0);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, r->table);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, i);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX,
				      i == GROUPS - 1 ? (1u << LOG_TABLE) - 1 : i);
	rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE,
				      RNIC_MATCH_OUTER_HEADERS);
	if (i == GROUPS - 1 && r->step > 0)
		rnic_fte_match_set_lyr_2_4_set(mask, RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16,
					       UINT32_MAX);
	else if (i < GROUPS - 1)
		rnic_fte_match_set_lyr_2_4_set(mask, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	return sizeof(struct rnic_create_flow_group_in);
}

/* The next entry of the last group, to so many destinations. */
static uint32_t
entry(struct rogue *r, uint32_t i, uint32_t value, uint32_t times, void *in)
{
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(in);
	struct rnic_flow_destination *to =
		(struct rnic_flow_destination *)((struct rnic_set_fte_in *)in + 1);

	hn_head(in, RNIC_CMD_SET_FLOW_TABLE_ENTRY, 0);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_TABLE_ID, r->table);
	rnic_set_fte_in_set(in, RNIC_SET_FTE_IN_FLOW_INDEX, GROUPS - 1 + i);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, r->group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, RNIC_FLOW_ACTION_FWD_DEST);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, times);
	rnic_fte_match_set_lyr_2_4_set(
		rnic_fte_match_param_outer(rnic_flow_context_match_value(context)),
		RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16, value);
	for (uint32_t k = 0; k < times; k++) {
		rnic_flow_destination_set(&to[k], RNIC_FLOW_DESTINATION_TYPE,
					  RNIC_FLOW_DESTINATION_TIR);
		rnic_flow_destination_set(&to[k], RNIC_FLOW_DESTINATION_ID, r->tir);
	}
	return (uint32_t)(sizeof(struct rnic_set_fte_in) + times * sizeof(to[0]));
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

static uint32_t
make_root(struct rogue *r, uint32_t i, void *in)
{
	(void)i;
	hn_head(in, RNIC_CMD_SET_FLOW_TABLE_ROOT, 0);
	rnic_set_flow_table_root_in_set(in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, r->table);
	return sizeof(struct rnic_set_flow_table_root_in);
}

/* What the first one misses goes to the second one, which is made first. */
static void
build_table(struct rogue *r, uint32_t level)
{
	struct rnic_create_flow_table_in in = { 0 };
	uint32_t groups[GROUPS];
	struct rnic_object_out out[4];

	make_table(r, level, &in);
	hn_cmd_ok(&r->nic.hn, &in, sizeof(in), out, sizeof(out));
	r->table = rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
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
	rogue_commands(r, 1, make_root, NULL);
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
