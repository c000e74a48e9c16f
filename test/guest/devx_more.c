/* SPDX-License-Identifier: BSD-3-Clause */

/* More of what a user of DevX tries: other rings, flow tables by their commands, what is refused, and what goes in which order. */
#include <errno.h>
#include <string.h>

#include "devx.h"
#include "driver/flow.h"
#include "driver/mkey.h"
#include "driver/qp.h"
#include "driver/rqt.h"
#include "driver/tir.h"
#include "driver/tis.h"
#include "prm/cqe.h"

/* ---- What goes, and what stays ---- */

void
stays(uint16_t opcode, uint32_t number, const char *what)
{
	must(drv_destroy(&owner.drv, opcode, number) == (REFUSED | EBUSY), "%s stays", what);
}

void
goes(uint16_t opcode, uint32_t number, const char *what)
{
	must(drv_destroy(&owner.drv, opcode, number) == 0, "%s goes", what);
}

/* ---- Other rings ---- */

/* To a umem, from there on. What says where it is stands where CREATE_CQ has it. */
static int
resize(const struct cq *cq, uint32_t umem, uint32_t at, uint32_t log_size)
{
	union {
		struct rnic_modify_cq_in in;
		struct rnic_create_cq_in place;
	} in = { 0 };

	drv_head(&in, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_CQN, cq->cqn);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_RESIZE_CQ_RING);
	rnic_create_cq_in_set(&in.place, RNIC_CREATE_CQ_IN_CQ_UMEM_ID, umem);
	rnic_create_cq_in_set(&in.place, RNIC_CREATE_CQ_IN_CQ_UMEM_OFFSET, at);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in.in), RNIC_CQC_LOG_CQ_SIZE, log_size);
	return drv_execute(&cq->user->drv, &in, sizeof(in.in), NULL);
}

void
cq_resize(struct cq *cq, uint32_t log_size)
{
	const uint32_t bytes = 64u << log_size, at = take(cq->user, bytes);
	struct rnic_query_cq_out out;

	for (uint32_t i = 63; i < bytes; i += 64)
		cq->user->memory[at + i] = 0xf1; /* invalid, and the device's */
	must(resize(cq, third.umem->umem_id, at, log_size) == RNIC_STATUS_BAD_RES,
	     "another user's umem, for a CQ's other ring, is refused");
	must(resize(cq, cq->user->umem->umem_id, BYTES - 64, log_size) == RNIC_STATUS_BAD_PARAM,
	     "a CQ's other ring beyond its umem is refused");
	must(resize(cq, cq->user->umem->umem_id, at, log_size) == 0, "a CQ has another ring");
	must(cq_next(cq) == RNIC_CQE_RESIZE, "a CQ's old ring ends");
	cq->at = at;
	cq->log_size = log_size;
	must(drv_query(&cq->user->drv, RNIC_CMD_QUERY_CQ, cq->cqn, &out, sizeof(out)) == 0 &&
		     rnic_cqc_get(rnic_query_cq_out_cqc(&out), RNIC_CQC_LOG_CQ_SIZE) == log_size,
	     "a CQ's size");
}

/* ---- Flow tables ---- */

/*
 * Linux leaves the root to no user; a flow of its own leads here. Levels rise on the way of a frame: this one is behind all that
 * Linux has.
 */
#define LEVEL	   200u
#define LOG_FLOWS  2
#define FIRST_FLOW 1u
#define LAST_FLOW  2u
#define COUNTER	   5u /* of the bulk */

static uint32_t table, group, counters;

static struct drv_group
group_of(uint32_t of_table, uint32_t first, uint32_t last)
{
	return (struct drv_group){ .table = of_table,
				   .start = first,
				   .end = last,
				   .match = { DRV_IS(ETHERTYPE, FRAME_TYPE) } };
}

static struct drv_fte
entry_of(uint32_t of_table, uint32_t of_group, const struct rnic_flow_destination *to)
{
	return (struct drv_fte){ .table = of_table,
				 .group = of_group,
				 .index = FIRST_FLOW,
				 .to = to,
				 .count = to != NULL ? 1 : 0,
				 .match = { DRV_IS(ETHERTYPE, FRAME_TYPE) } };
}

static void
table_create(void)
{
	const struct drv_table conf = { .level = LEVEL, .log_size = LOG_FLOWS };
	struct rnic_query_flow_table_out out;
	struct rnic_flow_table_in in = { 0 };
	const struct rnic_flow_table_context *context = rnic_query_flow_table_out_context(&out);

	must(drv_table_create(&owner.drv, &conf, &table) == 0, "a flow table");
	drv_head(&in, RNIC_CMD_QUERY_FLOW_TABLE, 0);
	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_ID, table);
	must(owner.drv.execute(&owner.drv, &in, sizeof(in), &out, sizeof(out)) == 0 &&
		     rnic_flow_table_context_get(context, RNIC_FLOW_TABLE_CONTEXT_LEVEL) == LEVEL,
	     "a flow table's level");
	must(drv_root_set(&owner.drv, table) == (REFUSED | EINVAL),
	     "a root of a user's is refused");
}

static void
group_create(void)
{
	struct drv_group conf = group_of(table, FIRST_FLOW, LAST_FLOW);
	struct rnic_query_flow_group_out out;
	struct rnic_flow_group_in in = { 0 };
	uint32_t none;

	must(drv_group_create(&owner.drv, &conf, &group) == 0, "a flow group");
	drv_head(&in, RNIC_CMD_QUERY_FLOW_GROUP, 0);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&in, RNIC_FLOW_GROUP_IN_GROUP_ID, group);
	must(owner.drv.execute(&owner.drv, &in, sizeof(in), &out, sizeof(out)) == 0 &&
		     rnic_query_flow_group_out_get(
			     &out, RNIC_QUERY_FLOW_GROUP_OUT_END_FLOW_INDEX) == LAST_FLOW,
	     "a flow group's end");
	must(drv_group_create(&owner.drv, &conf, &none) == RNIC_STATUS_BAD_PARAM,
	     "two groups of one place are refused");
	conf = group_of(table, LAST_FLOW + 1, 1u << LOG_FLOWS);
	must(drv_group_create(&owner.drv, &conf, &none) == RNIC_STATUS_BAD_PARAM,
	     "a group beyond its table is refused");
}

/* It drops, and then it leads to a TIR. */
static void
entry_create(void)
{
	const struct rnic_flow_destination to = drv_to_tir(ethernet.direct_tirn);
	struct drv_fte conf = entry_of(table, group, NULL);
	struct {
		struct rnic_query_fte_out head;
		struct rnic_flow_destination to;
		struct rnic_flow_counter_list counter;
	} out;

	must(drv_fte_set(&owner.drv, &conf) == 0, "an entry that drops");
	conf = entry_of(table, group, &to);
	conf.counter = counters + COUNTER;
	conf.modify = RNIC_SET_FTE_MODIFY_ACTION | RNIC_SET_FTE_MODIFY_DESTINATION_LIST |
		      RNIC_SET_FTE_MODIFY_FLOW_COUNTERS;
	must(drv_fte_set(&owner.drv, &conf) == 0, "an entry that leads to a TIR");
	must(drv_fte_query(&owner.drv, table, FIRST_FLOW, &out, sizeof(out)) == 0 &&
		     rnic_flow_destination_get(&out.to, RNIC_FLOW_DESTINATION_ID) ==
			     ethernet.direct_tirn &&
		     rnic_flow_counter_list_get(&out.counter,
						RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID) ==
			     counters + COUNTER,
	     "where an entry leads, and where it counts");
	conf.index = LAST_FLOW + 1;
	conf.modify = 0;
	must(drv_fte_set(&owner.drv, &conf) == RNIC_STATUS_BAD_PARAM,
	     "an entry of no group is refused");
}

uint32_t
table_open(void)
{
	must(drv_flow_counter_alloc(&owner.drv, 1, &counters) == 0, "a bulk of flow counters");
	table_create();
	group_create();
	entry_create();
	return table;
}

/* And none in the other counters of the bulk. */
void
table_counted(uint64_t frames)
{
	struct drv_flow_count each[RNIC_FLOW_COUNTER_BULK];
	uint64_t packets = 0;

	counted(counters + COUNTER, frames);
	must(drv_flow_counter_query(&owner.drv, counters, RNIC_FLOW_COUNTER_BULK, true, each) == 0,
	     "a bulk of flow counters is read");
	for (unsigned int i = 0; i < RNIC_FLOW_COUNTER_BULK; i++)
		packets += each[i].packets;
	must(packets == frames && each[COUNTER].packets == frames, "one of a bulk has counted");
	counted(counters + COUNTER, 0);
}

void
table_empty(void)
{
	stays(RNIC_CMD_DESTROY_TIR, ethernet.direct_tirn, "a TIR of an entry");
	stays(RNIC_CMD_DEALLOC_FLOW_COUNTER, counters, "a bulk of counters of an entry");
	must(drv_group_destroy(&owner.drv, table, group) == (REFUSED | EBUSY),
	     "a group of an entry stays");
	must(drv_fte_delete(&owner.drv, table, FIRST_FLOW) == 0, "an entry goes");
	goes(RNIC_CMD_DEALLOC_FLOW_COUNTER, counters, "a bulk of counters");
	must(drv_group_destroy(&owner.drv, table, group) == 0, "a group goes");
}

/* The group is there again: now it is all that leans on the table. */
void
table_close(void)
{
	const struct drv_group conf = group_of(table, FIRST_FLOW, LAST_FLOW);

	must(drv_group_create(&owner.drv, &conf, &group) == 0, "a flow group");
	must(drv_table_destroy(&owner.drv, table) == (REFUSED | EBUSY), "a table of a group stays");
	must(drv_group_destroy(&owner.drv, table, group) == 0, "a group goes");
	must(drv_table_destroy(&owner.drv, table) == 0, "a table goes");
}

/* ---- A domain of XRC ---- */

/* A target has no rings, but the door looks for one. */
static int
target_create(struct user *by, uint32_t xrcd, const struct cq *cq, uint32_t *qpn)
{
	const struct drv_qp conf = { .st = RNIC_QP_ST_XRC,
				     .pd = by->pd,
				     .send_cqn = cq->cqn,
				     .receive_cqn = cq->cqn,
				     .no_sq = true,
				     .no_rq = true,
				     .xrcd = xrcd,
				     .ring = drv_pages_of(0, PAGE) };

	return drv_qp_create(&by->drv, &conf, qpn);
}

void
domain_of_xrc(void)
{
	uint32_t xrcd, qpn, none;
	struct cq cq;

	must(drv_simple(&owner.drv, RNIC_CMD_ALLOC_XRCD, 0, &xrcd) == 0, "an XRC domain");
	must(target_create(&owner, xrcd, &send_cq, &qpn) == 0, "an XRC target");
	must(cq_create(&third, &cq) == 0, "another user's CQ");
	must(target_create(&third, xrcd, &cq, &none) == RNIC_STATUS_BAD_RES,
	     "another user's XRC domain is refused");
	stays(RNIC_CMD_DEALLOC_XRCD, xrcd, "an XRC domain of a target");
	goes(RNIC_CMD_DESTROY_QP, qpn, "an XRC target");
	goes(RNIC_CMD_DEALLOC_XRCD, xrcd, "an XRC domain");
}

/* ---- What is refused ---- */

static void
another_s(int status, const char *what)
{
	must(status == RNIC_STATUS_BAD_RES, "another user's %s is refused", what);
}

/* Of who has one thing of another's, and the rest of its own: CQ and TIS. */
static void
queues_at_another_s_page(const struct cq *cq, uint32_t tisn)
{
	struct user thief = third;
	struct cq no_cq;
	struct wq sq;
	struct qp qp;

	thief.uar = owner.uar;
	another_s(cq_create(&thief, &no_cq), "UAR, by a CQ,");
	another_s(qp_create(&thief, &qp, cq, cq, third.pd, NULL), "UAR, by a queue pair,");
	another_s(sq_create(&thief, &sq, cq, tisn), "UAR, by an SQ,");
}

static void
memory_of_another(const struct cq *cq, uint32_t tisn)
{
	const struct drv_mkey key = { .mode = RNIC_MKEY_MTT,
				      .access = DRV_LR,
				      .log_page_size = 12,
				      .length = PAGE,
				      .pd = third.pd,
				      .umem = owner.umem->umem_id };
	struct user thief = third;
	struct cq no_cq;
	struct wq wq;
	struct qp qp;
	uint32_t none;

	thief.umem = owner.umem;
	another_s(cq_create(&thief, &no_cq), "umem, by a CQ,");
	another_s(qp_create(&thief, &qp, cq, cq, third.pd, NULL), "umem, by a queue pair,");
	another_s(sq_create(&thief, &wq, cq, tisn), "umem, by an SQ,");
	another_s(rq_create(&thief, &wq, cq, NULL, 0), "umem, by an RQ,");
	another_s(pool_create(&thief, &wq), "umem, by an RMP,");
	another_s(drv_mkey_create(&third.drv, &key, &none), "umem, by a memory key,");
}

static void
queues_of_another(const struct cq *cq, uint32_t tisn)
{
	struct user thief = third;
	struct wq wq;
	struct qp qp;

	another_s(qp_create(&owner, &qp, &send_cq, &receive_cq, third.pd, NULL),
		  "PD, by a queue pair,");
	another_s(qp_create(&third, &qp, &send_cq, &receive_cq, third.pd, NULL),
		  "CQ, by a queue pair,");
	another_s(qp_create(&third, &qp, cq, cq, third.pd, &pool), "RMP, by a queue pair,");
	another_s(sq_create(&third, &wq, &send_cq, tisn), "CQ, by an SQ,");
	another_s(sq_create(&third, &wq, cq, ethernet.tisn), "TIS, by an SQ,");
	another_s(rq_create(&third, &wq, &receive_cq, NULL, 0), "CQ, by an RQ,");
	another_s(rq_create(&third, &wq, cq, &pool, 0), "RMP, by an RQ,");
	thief.pd = owner.pd;
	another_s(sq_create(&thief, &wq, cq, tisn), "PD, by an SQ,");
	another_s(rq_create(&thief, &wq, cq, NULL, 0), "PD, by an RQ,");
	another_s(pool_create(&thief, &wq), "PD, by an RMP,");
}

static void
ways_of_another(const struct wq *rq)
{
	struct drv_tir tir = { .td = owner.td, .rqn = rq->number };
	uint32_t none;

	another_s(drv_tis_create(&third.drv, owner.td, &none), "TD, by a TIS,");
	another_s(drv_tir_create(&third.drv, &tir, &none), "TD, by a TIR,");
	tir = (struct drv_tir){ .td = third.td, .rqn = ethernet.rq.number };
	another_s(drv_tir_create(&third.drv, &tir, &none), "RQ, by a TIR,");
	tir = (struct drv_tir){ .td = third.td, .rqtn = ethernet.rqtn };
	another_s(drv_tir_create(&third.drv, &tir, &none), "RQT, by a TIR,");
	another_s(drv_rqt_create(&third.drv, &ethernet.rq.number, 1, &none), "RQ, by an RQT,");
}

/* A table, and entries in one of its own that lead to what it has not. */
static void
flows_of_another(void)
{
	const struct rnic_flow_destination tir = drv_to_tir(ethernet.direct_tirn);
	struct rnic_flow_destination onwards;
	struct drv_table conf = { .level = LEVEL, .log_size = LOG_FLOWS };
	struct drv_group group_conf;
	struct drv_fte entry;
	uint32_t own_table, own_group, theirs, counter = 0, none;

	must(drv_table_create(&owner.drv, &conf, &theirs) == 0 &&
		     drv_flow_counter_alloc(&owner.drv, 0, &counter) == 0,
	     "a flow table and a counter");
	conf.miss_table = theirs;
	conf.level = LEVEL - 1;
	another_s(drv_table_create(&third.drv, &conf, &none), "flow table, by one before it,");
	group_conf = group_of(theirs, FIRST_FLOW, LAST_FLOW);
	another_s(drv_group_create(&third.drv, &group_conf, &none), "flow table, by a group,");
	conf.miss_table = 0;
	must(drv_table_create(&third.drv, &conf, &own_table) == 0, "a flow table of one's own");
	group_conf = group_of(own_table, FIRST_FLOW, LAST_FLOW);
	must(drv_group_create(&third.drv, &group_conf, &own_group) == 0, "a group of one's own");
	entry = entry_of(own_table, own_group, &tir);
	another_s(drv_fte_set(&third.drv, &entry), "TIR, by an entry,");
	onwards = drv_to_table(theirs);
	entry = entry_of(own_table, own_group, &onwards);
	another_s(drv_fte_set(&third.drv, &entry), "flow table, by an entry,");
	entry = entry_of(own_table, own_group, NULL);
	entry.counter = counter;
	another_s(drv_fte_set(&third.drv, &entry), "counter, by an entry,");
	must(drv_table_destroy(&owner.drv, theirs) == 0, "a flow table goes");
	goes(RNIC_CMD_DEALLOC_FLOW_COUNTER, counter, "a counter");
}

void
refusals(void)
{
	uint32_t tisn = 0;
	struct cq cq;
	struct wq rq;
	struct qp qp;

	must(cq_create(&third, &cq) == 0 && drv_tis_create(&third.drv, third.td, &tisn) == 0 &&
		     rq_create(&third, &rq, &cq, NULL, 0) == 0,
	     "a CQ, a TIS and an RQ of one's own");
	queues_at_another_s_page(&cq, tisn);
	memory_of_another(&cq, tisn);
	queues_of_another(&cq, tisn);
	ways_of_another(&rq);
	flows_of_another();
	must(qp_create(&owner, &qp, &send_cq, &receive_cq, 0xfffff, NULL) == RNIC_STATUS_BAD_RES,
	     "a PD that is none is refused");
}

void
not_there(void)
{
	static const struct {
		uint16_t opcode;
		const char *name;
	} commands[] = {
		{ 0x782, "CREATE_SCHEDULING_ELEMENT" },
		{ 0x700, "CREATE_SRQ" },
		{ 0x710, "CREATE_DCT" },
		{ 0x717, "CREATE_XRQ" },
		{ 0x600, "CREATE_PSV" },
		{ 0x93d, "ALLOC_PACKET_REFORMAT_CONTEXT" },
		{ 0x940, "ALLOC_MODIFY_HEADER_CONTEXT" },
		{ 0xa00, "CREATE_GENERAL_OBJECT" },
	};
	/* Of PSVs, one is asked for: Linux forwards no other number. */
	union {
		struct rnic_cmd_in head;
		uint8_t bytes[512];
	} in = { .bytes = { [8] = 0x10 } };
	struct rnic_cmd_out out;

	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		rnic_cmd_in_set(&in.head, RNIC_CMD_IN_OPCODE, commands[i].opcode);
		memset(&out, 0, sizeof(out));
		must(mlx5dv_devx_obj_create(owner.context, &in, sizeof(in), &out, sizeof(out)) ==
				     NULL &&
			     rnic_cmd_out_get(&out, RNIC_CMD_OUT_STATUS) == RNIC_STATUS_BAD_OP,
		     "%s: bad operation", commands[i].name);
	}
}

/* ---- All goes ---- */

static void
ethernet_goes(void)
{
	stays(RNIC_CMD_DESTROY_TIS, ethernet.tisn, "a TIS of an SQ");
	stays(RNIC_CMD_DESTROY_RQ, ethernet.rq.number, "an RQ of a TIR");
	stays(RNIC_CMD_DESTROY_RQ, ethernet.pooled_rq.number, "an RQ of an RQT");
	stays(RNIC_CMD_DESTROY_RQT, ethernet.rqtn, "an RQT of a TIR");
	goes(RNIC_CMD_DESTROY_TIR, ethernet.tirn, "a TIR");
	goes(RNIC_CMD_DESTROY_RQT, ethernet.rqtn, "an RQT");
	stays(RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, owner.td, "a TD of a TIR and a TIS");
	goes(RNIC_CMD_DESTROY_TIR, ethernet.direct_tirn, "a TIR");
	goes(RNIC_CMD_DESTROY_RQ, ethernet.rq.number, "an RQ");
	stays(RNIC_CMD_DESTROY_RMP, pool.number, "an RMP of an RQ");
	goes(RNIC_CMD_DESTROY_RQ, ethernet.pooled_rq.number, "an RQ");
	goes(RNIC_CMD_DESTROY_RMP, pool.number, "an RMP");
	goes(RNIC_CMD_DESTROY_SQ, ethernet.sq.number, "an SQ");
	stays(RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, owner.td, "a TD of a TIS");
	goes(RNIC_CMD_DESTROY_TIS, ethernet.tisn, "a TIS");
	goes(RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, owner.td, "a TD");
}

void
destroys_in_order(void)
{
	stays(RNIC_CMD_DEALLOC_PD, owner.pd, "a PD in use");
	stays(RNIC_CMD_DESTROY_CQ, send_cq.cqn, "a CQ in use");
	must(mlx5dv_devx_umem_dereg(owner.umem) != 0, "a umem in use stays");
	for (unsigned int i = 0; i < 2; i++)
		goes(RNIC_CMD_DESTROY_QP, qps[i].qpn, "a queue pair");
	ethernet_goes();
	goes(RNIC_CMD_DESTROY_CQ, send_cq.cqn, "a CQ");
	goes(RNIC_CMD_DESTROY_CQ, receive_cq.cqn, "a CQ");
	must(mlx5dv_devx_umem_dereg(owner.umem) != 0, "a umem of a memory key stays");
	stays(RNIC_CMD_DEALLOC_PD, owner.pd, "a PD of a memory key");
	goes(RNIC_CMD_DESTROY_MKEY, owner.key >> 8, "a memory key");
	goes(RNIC_CMD_DEALLOC_PD, owner.pd, "a PD");
	must(mlx5dv_devx_umem_dereg(owner.umem) == 0, "a umem goes");
}
