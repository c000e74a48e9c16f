/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Refusals: for every command of the device's table, in a wrong state, too short, and wrong in each way that a row
 * below names. A row takes a good input, changes one field, and expects one status; then the good input must work, so
 * that no row is refused for another reason than its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ctl_world.h"

#define OUT_ROOM 0x1010

/* ---- Rows ---- */

struct row {
	uint16_t opcode;
	int status;
	uint32_t field; /* of the input */
	uint64_t value;
	size_t from;	/* the value stands in the world, not here */
	int32_t length; /* bytes to cut off instead of a field to change */
	const char *what;
};

#define IN_BITS(offset, high, low) RNIC_FIELD(offset, high, low)
#define INNER(offset, field)                                                    \
	RNIC_FIELD((offset) + RNIC_FIELD_OFFSET(field), RNIC_FIELD_HIGH(field), \
		   RNIC_FIELD_LOW(field))

#define R(op, code, field, value, what)                                                 \
	{                                                                               \
		RNIC_CMD_##op, RNIC_STATUS_##code, (uint32_t)(field), value, 0, 0, what \
	}
#define BUSY(op, member)                                                                 \
	{                                                                                \
		RNIC_CMD_##op, RNIC_STATUS_RES_BUSY, (uint32_t)RNIC_OBJECT_IN_NUMBER, 0, \
			offsetof(struct world, member), 0, "in use"                      \
	}
#define CUT(op, bytes, what)                                                 \
	{                                                                    \
		RNIC_CMD_##op, RNIC_STATUS_BAD_INP_LEN, 0, 0, 0, bytes, what \
	}
#define NUMBER(op)                                                                  \
	R(op, BAD_RES, RNIC_OBJECT_IN_NUMBER, 0, "number 0"),                       \
		R(op, BAD_RES, RNIC_OBJECT_IN_NUMBER, 0xffffff, "number 0xffffff"), \
		R(op, BAD_RES, RNIC_OBJECT_IN_NUMBER, 0xbad, "number of nothing")
#define OP_MOD(op, value) R(op, BAD_PARAM, RNIC_CMD_IN_OP_MOD, value, "op_mod")
#define OTHER_VPORT(op)	  R(op, BAD_PARAM, RNIC_VPORT_IN_OTHER_VPORT, 1, "another vport")
#define FUNCTION(op)	  R(op, BAD_PARAM, RNIC_FUNCTION_IN_FUNCTION_ID, 1, "another function")

#define CQC(field)   INNER(0x10, RNIC_CQC_##field)
#define EQC(field)   INNER(0x10, RNIC_EQC_##field)
#define MKC(field)   INNER(0x10, RNIC_MKC_##field)
#define SQC(field)   INNER(0x20, RNIC_SQC_##field)
#define RQC(field)   INNER(0x20, RNIC_RQC_##field)
#define WQ(field)    INNER(0x50, RNIC_WQ_##field)
#define TIRC(field)  INNER(0x20, RNIC_TIRC_##field)
#define TISC(field)  INNER(0x20, RNIC_TISC_##field)
#define RQTC(field)  INNER(0x20, RNIC_RQTC_##field)
#define FTC(field)   INNER(0x18, RNIC_FLOW_TABLE_CONTEXT_##field)
#define FLOW(field)  INNER(0x40, RNIC_FLOW_CONTEXT_##field)
#define VPORT(field) INNER(0x100, RNIC_NIC_VPORT_CONTEXT_##field)
#define PAGE_0	     IN_BITS(0x110, 63, 0) /* the first page address behind a CREATE_x */

static const struct row rows[] = {
	FUNCTION(ENABLE_HCA),
	FUNCTION(DISABLE_HCA),
	R(TEARDOWN_HCA, BAD_PARAM, RNIC_TEARDOWN_HCA_IN_PROFILE, 2, "fast teardown"),
	FUNCTION(QUERY_HCA_CAP),
	OP_MOD(QUERY_HCA_CAP, 0x50),
	OP_MOD(QUERY_HCA_CAP, 0xffff),
	OP_MOD(QUERY_PAGES, 0),
	OP_MOD(QUERY_PAGES, 4),
	FUNCTION(QUERY_PAGES),
	R(QUERY_PAGES, BAD_SYS_STATE, RNIC_CMD_IN_OP_MOD, 3, "regular pages before INIT_HCA"),
	OP_MOD(MANAGE_PAGES, 3),
	FUNCTION(MANAGE_PAGES),
	R(MANAGE_PAGES, BAD_INP_LEN, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, 1, "a page short"),
	R(MANAGE_PAGES, BAD_INP_LEN, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, UINT32_MAX,
	  "a list that wraps"),
	OP_MOD(SET_HCA_CAP, 2),
	FUNCTION(SET_HCA_CAP),
	R(SET_HCA_CAP, BAD_PARAM, INNER(0x10, RNIC_GENERAL_CAP_LOG_UAR_PAGE_SZ), 1, "above max"),
	R(SET_HCA_CAP, BAD_PARAM, INNER(0x10, RNIC_GENERAL_CAP_CMDIF_CHECKSUM), 3, "above max"),
	R(SET_ISSI, BAD_PARAM, RNIC_SET_ISSI_IN_CURRENT_ISSI, 2, "not supported"),
	R(SET_ISSI, BAD_PARAM, RNIC_SET_ISSI_IN_CURRENT_ISSI, 0xffff, "out of range"),

	R(CREATE_MKEY, BAD_RES, MKC(PD), 0, "no PD"),
	R(CREATE_MKEY, BAD_PARAM, MKC(ACCESS_MODE_4_2), 1, "unknown mode"),
	R(CREATE_MKEY, BAD_PARAM, MKC(QPN), 1, "for one queue"),
	R(CREATE_MKEY, BAD_PARAM, MKC(BSF_EN), 1, "signatures"),
	R(CREATE_MKEY, BAD_PARAM, MKC(LEN), 8193, "more than its pages"),
	R(CREATE_MKEY, BAD_PARAM, MKC(START_ADDR), UINT64_MAX - 4096, "wraps"),
	R(CREATE_MKEY, BAD_PARAM, MKC(LOG_PAGE_SIZE), 11, "page size"),
	R(CREATE_MKEY, BAD_PARAM, MKC(TRANSLATIONS_OCTWORD_SIZE), 0, "more than its room"),
	R(CREATE_MKEY, BAD_PARAM, RNIC_CREATE_MKEY_IN_MKEY_UMEM_VALID, 1, "umem"),
	R(CREATE_MKEY, BAD_INP_LEN, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, 2,
	  "list too short"),
	R(CREATE_MKEY, BAD_INP_LEN, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE,
	  UINT32_MAX, "a list that wraps"),
	R(CREATE_MKEY, BAD_PARAM, IN_BITS(0x110, 63, 0), 0x123456000ull + 0x800, "MTT alignment"),
	CUT(CREATE_MKEY, 1, "list too short"),
	NUMBER(QUERY_MKEY),
	NUMBER(DESTROY_MKEY),

	R(CREATE_EQ, BAD_PARAM, EQC(LOG_EQ_SIZE), SOFTRNIC_LOG_MAX_EQ_SIZE + 1, "too large"),
	R(CREATE_EQ, BAD_PARAM, EQC(INTR), SOFTRNIC_MSIX_VECTORS, "no such vector"),
	R(CREATE_EQ, BAD_RES, EQC(UAR_PAGE), 1, "no such UAR"),
	R(CREATE_EQ, BAD_PARAM, EQC(LOG_PAGE_SIZE), 20, "page size"),
	R(CREATE_EQ, BAD_INP_LEN, EQC(PAGE_OFFSET), 1, "a page short for the offset"),
	R(CREATE_EQ, BAD_PARAM, PAGE_0, 0x1000, "page not mapped"),
	R(CREATE_EQ, BAD_PARAM, PAGE_0, HN_IOVA_BASE + 8, "page not aligned"),
	CUT(CREATE_EQ, 8, "no page"),
	NUMBER(DESTROY_EQ),
	BUSY(DESTROY_EQ, eq.number),
	NUMBER(QUERY_EQ),

	R(CREATE_CQ, BAD_PARAM, CQC(LOG_CQ_SIZE), 31, "too large"),
	R(CREATE_CQ, BAD_PARAM, CQC(CQE_SZ), 2, "entry size"),
	R(CREATE_CQ, BAD_PARAM, CQC(CQE_COMP_EN), 1, "compression"),
	R(CREATE_CQ, BAD_PARAM, CQC(DBR_ADDR), HN_IOVA_BASE + 4, "doorbell record not aligned"),
	R(CREATE_CQ, BAD_PARAM, CQC(DBR_ADDR), 0x1000, "doorbell record not mapped"),
	R(CREATE_CQ, BAD_RES, CQC(C_EQN), 0, "no such EQ"),
	R(CREATE_CQ, BAD_RES, CQC(UAR_PAGE), 0, "no such UAR"),
	R(CREATE_CQ, BAD_PARAM, RNIC_CREATE_CQ_IN_CQ_UMEM_VALID, 1, "umem"),
	R(CREATE_CQ, BAD_PARAM, CQC(DBR_UMEM_VALID), 1, "umem for the doorbell record"),
	R(CREATE_CQ, BAD_PARAM, PAGE_0, 0x1000, "page not mapped"),
	CUT(CREATE_CQ, 8, "no page"),
	NUMBER(DESTROY_CQ),
	BUSY(DESTROY_CQ, cq.number),
	NUMBER(QUERY_CQ),
	NUMBER(MODIFY_CQ),
	OP_MOD(MODIFY_CQ, 1),
	R(MODIFY_CQ, BAD_PARAM, RNIC_MODIFY_CQ_IN_FIELD_SELECT, 1u << 31, "unknown field"),
	R(MODIFY_CQ, BAD_PARAM, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_MODIFY_CQ_PERIOD,
	  "moderation: not offered"),
	R(MODIFY_CQ, BAD_PARAM, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_MODIFY_CQ_MAX_COUNT,
	  "moderation: not offered"),

	OTHER_VPORT(QUERY_VPORT_STATE),
	OP_MOD(QUERY_VPORT_STATE, 1),
	OTHER_VPORT(MODIFY_VPORT_STATE),
	R(MODIFY_VPORT_STATE, BAD_PARAM, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE, 3, "state"),
	OTHER_VPORT(QUERY_NIC_VPORT_CONTEXT),
	R(QUERY_NIC_VPORT_CONTEXT, BAD_PARAM, RNIC_QUERY_NIC_VPORT_CONTEXT_IN_ALLOWED_LIST_TYPE, 3,
	  "list type"),
	OTHER_VPORT(MODIFY_NIC_VPORT_CONTEXT),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
	  1u << 31, "unknown field"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, VPORT(MTU), 10001, "MTU too large"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, VPORT(MTU), 0, "no MTU"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, VPORT(PERMANENT_ADDRESS_47_32), 0x0100,
	  "group address"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, VPORT(ALLOWED_LIST_TYPE), 2, "VLAN list"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_PARAM, VPORT(ALLOWED_LIST_SIZE), 129, "list too long"),
	R(MODIFY_NIC_VPORT_CONTEXT, BAD_INP_LEN, VPORT(ALLOWED_LIST_SIZE), 2, "list too short"),
	OTHER_VPORT(QUERY_VPORT_COUNTER),
	R(QUERY_VPORT_COUNTER, BAD_PARAM, RNIC_QUERY_VPORT_COUNTER_IN_PORT_NUM, 2, "port"),
	NUMBER(DEALLOC_Q_COUNTER),
	BUSY(DEALLOC_Q_COUNTER, counter),
	R(QUERY_Q_COUNTER, BAD_RES, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID, 0xff, "no such set"),

	NUMBER(DEALLOC_PD),
	BUSY(DEALLOC_PD, pd),
	NUMBER(DEALLOC_UAR),
	BUSY(DEALLOC_UAR, uar),
	NUMBER(DEALLOC_TRANSPORT_DOMAIN),
	BUSY(DEALLOC_TRANSPORT_DOMAIN, td),
	R(ACCESS_REG, BAD_PARAM, RNIC_ACCESS_REG_IN_REGISTER_ID, 0x1234, "unknown register"),
	OP_MOD(ACCESS_REG, 2),
	R(ACCESS_REG, BAD_PARAM, INNER(0x10, RNIC_PMTU_REG_LOCAL_PORT), 2, "port"),
	R(ACCESS_REG, BAD_PARAM, INNER(0x10, RNIC_PMTU_REG_ADMIN_MTU), 10001, "MTU too large"),
	CUT(ACCESS_REG, 4, "register too short"),

	R(CREATE_TIR, BAD_RES, TIRC(TRANSPORT_DOMAIN), 0, "no such domain"),
	R(CREATE_TIR, BAD_RES, TIRC(INDIRECT_TABLE), 0, "no such RQT"),
	R(CREATE_TIR, BAD_PARAM, TIRC(DISP_TYPE), 2, "type"),
	R(CREATE_TIR, BAD_PARAM, TIRC(LRO_ENABLE_MASK), 1, "LRO"),
	R(CREATE_TIR, BAD_PARAM, TIRC(RX_HASH_FN), 3, "hash function"),
	NUMBER(MODIFY_TIR),
	R(MODIFY_TIR, BAD_PARAM, RNIC_MODIFY_TIR_IN_BITMASK, 1u << 20, "unknown field"),
	R(MODIFY_TIR, BAD_PARAM, TIRC(LRO_ENABLE_MASK), 1, "LRO"),
	R(MODIFY_TIR, BAD_RES, TIRC(INDIRECT_TABLE), 1, "no such RQT"),
	{ RNIC_CMD_MODIFY_TIR, RNIC_STATUS_BAD_PARAM, (uint32_t)RNIC_MODIFY_TIR_IN_TIRN, 0,
	  offsetof(struct world, tir), 0, "a table for a direct TIR" },
	NUMBER(DESTROY_TIR),
	BUSY(DESTROY_TIR, tir),
	NUMBER(QUERY_TIR),

	R(CREATE_SQ, BAD_RES, SQC(CQN), 0, "no such CQ"),
	R(CREATE_SQ, BAD_RES, SQC(TIS_NUM_0), 0, "no such TIS"),
	R(CREATE_SQ, BAD_RES, WQ(PD), 0, "no such PD"),
	R(CREATE_SQ, BAD_RES, WQ(UAR_PAGE), 0, "no such UAR"),
	R(CREATE_SQ, BAD_PARAM, SQC(STATE), RNIC_WQ_STATE_RDY, "not in RST"),
	R(CREATE_SQ, BAD_PARAM, WQ(LOG_WQ_SZ), 16, "too large"),
	R(CREATE_SQ, BAD_PARAM, WQ(LOG_WQ_STRIDE), 5, "stride"),
	R(CREATE_SQ, BAD_PARAM, WQ(WQ_TYPE), RNIC_WQ_LINKED_LIST, "type"),
	R(CREATE_SQ, BAD_PARAM, WQ(WQ_SIGNATURE), 1, "signature"),
	R(CREATE_SQ, BAD_PARAM, WQ(DBR_UMEM_VALID), 1, "umem for the doorbell record"),
	R(CREATE_SQ, BAD_PARAM, WQ(WQ_UMEM_VALID), 1, "umem"),
	R(CREATE_SQ, BAD_PARAM, SQC(HAIRPIN), 1, "hairpin"),
	R(CREATE_SQ, BAD_PARAM, SQC(REG_UMR), 1, "UMR"),
	R(CREATE_SQ, BAD_PARAM, SQC(TIS_LST_SZ), 2, "more than one TIS"),
	R(CREATE_SQ, BAD_PARAM, WQ(DBR_ADDR), 0x1000, "doorbell record not mapped"),
	R(CREATE_SQ, BAD_PARAM, PAGE_0, 0x1000, "page not mapped"),
	CUT(CREATE_SQ, 8, "no page"),
	NUMBER(MODIFY_SQ),
	R(MODIFY_SQ, BAD_RES_STATE, RNIC_MODIFY_SQ_IN_SQ_STATE, RNIC_WQ_STATE_ERR, "from"),
	R(MODIFY_SQ, BAD_RES_STATE, SQC(STATE), 7, "to"),
	R(MODIFY_SQ, BAD_PARAM, RNIC_MODIFY_SQ_IN_BITMASK, 1, "rate limit"),
	NUMBER(DESTROY_SQ),
	NUMBER(QUERY_SQ),
	R(CREATE_RQ, BAD_RES, RQC(CQN), 0, "no such CQ"),
	R(CREATE_RQ, BAD_RES, RQC(COUNTER_SET_ID), 0xff, "no such counter set"),
	R(CREATE_RQ, BAD_RES, WQ(PD), 0, "no such PD"),
	R(CREATE_RQ, BAD_PARAM, RQC(MEM_RQ_TYPE), 1, "RMP"),
	R(CREATE_RQ, BAD_PARAM, RQC(STATE), RNIC_WQ_STATE_RDY, "not in RST"),
	R(CREATE_RQ, BAD_PARAM, WQ(LOG_WQ_SZ), 16, "too large"),
	R(CREATE_RQ, BAD_PARAM, WQ(LOG_WQ_STRIDE), 3, "stride"),
	R(CREATE_RQ, BAD_PARAM, WQ(LOG_WQ_STRIDE), 10, "longer WQEs than the capabilities say"),
	R(CREATE_RQ, BAD_PARAM, WQ(WQ_TYPE), RNIC_WQ_CYCLIC_STRIDING, "type"),
	R(CREATE_RQ, BAD_PARAM, WQ(WQ_SIGNATURE), 1, "signature"),
	R(CREATE_RQ, BAD_PARAM, WQ(DBR_UMEM_VALID), 1, "umem for the doorbell record"),
	R(CREATE_RQ, BAD_PARAM, WQ(WQ_UMEM_VALID), 1, "umem"),
	R(CREATE_RQ, BAD_PARAM, RQC(HAIRPIN), 1, "hairpin"),
	R(CREATE_RQ, BAD_PARAM, RQC(SCATTER_FCS), 1, "FCS"),
	R(CREATE_RQ, BAD_PARAM, WQ(DBR_ADDR), 0x1000, "doorbell record not mapped"),
	R(CREATE_RQ, BAD_PARAM, PAGE_0, 0x1000, "page not mapped"),
	CUT(CREATE_RQ, 8, "no page"),
	NUMBER(MODIFY_RQ),
	R(MODIFY_RQ, BAD_RES_STATE, RNIC_MODIFY_RQ_IN_RQ_STATE, RNIC_WQ_STATE_ERR, "from"),
	R(MODIFY_RQ, BAD_RES_STATE, RQC(STATE), 7, "to"),
	R(MODIFY_RQ, BAD_PARAM, RNIC_MODIFY_RQ_IN_BITMASK, RNIC_MODIFY_RQ_SCATTER_FCS, "FCS"),
	R(MODIFY_RQ, BAD_RES, RQC(COUNTER_SET_ID), 0xff, "no such counter set"),
	NUMBER(DESTROY_RQ),
	BUSY(DESTROY_RQ, rq.number),
	NUMBER(QUERY_RQ),

	R(CREATE_TIS, BAD_RES, TISC(TRANSPORT_DOMAIN), 0, "no such domain"),
	R(CREATE_TIS, BAD_RES, TISC(PD), 1, "no such PD"),
	R(CREATE_TIS, BAD_PARAM, TISC(TLS_EN), 1, "TLS"),
	NUMBER(MODIFY_TIS),
	R(MODIFY_TIS, BAD_PARAM, RNIC_MODIFY_TIS_IN_BITMASK, 1u << 20, "unknown field"),
	R(MODIFY_TIS, BAD_PARAM, TISC(LAG_TX_PORT_AFFINITY), 2, "affinity to a second port"),
	NUMBER(DESTROY_TIS),
	BUSY(DESTROY_TIS, tis),
	NUMBER(QUERY_TIS),
	R(CREATE_RQT, BAD_PARAM, RQTC(RQT_ACTUAL_SIZE), 0, "empty"),
	R(CREATE_RQT, BAD_PARAM, RQTC(RQT_ACTUAL_SIZE), 3, "not a power of two"),
	R(CREATE_RQT, BAD_PARAM, RQTC(RQT_MAX_SIZE), 1, "more than its maximum"),
	R(CREATE_RQT, BAD_PARAM, RQTC(RQT_MAX_SIZE), 1024, "maximum"),
	R(CREATE_RQT, BAD_INP_LEN, RQTC(RQT_ACTUAL_SIZE), 4, "list too short"),
	R(CREATE_RQT, BAD_RES, IN_BITS(0x114, 23, 0), 0, "no such RQ"),
	NUMBER(MODIFY_RQT),
	R(MODIFY_RQT, BAD_PARAM, RNIC_MODIFY_RQT_IN_BITMASK, 2, "unknown field"),
	R(MODIFY_RQT, BAD_PARAM, RQTC(RQT_ACTUAL_SIZE), 2, "more than its maximum"),
	R(MODIFY_RQT, BAD_RES, IN_BITS(0x110, 23, 0), 0, "no such RQ"),
	CUT(MODIFY_RQT, 4, "list too short"),
	NUMBER(DESTROY_RQT),
	BUSY(DESTROY_RQT, rqt),
	NUMBER(QUERY_RQT),

	R(SET_FLOW_TABLE_ROOT, BAD_RES, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, 0, "no such table"),
	R(SET_FLOW_TABLE_ROOT, BAD_PARAM, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_TYPE, 1, "type"),
	R(CREATE_FLOW_TABLE, BAD_PARAM, RNIC_CREATE_FLOW_TABLE_IN_TABLE_TYPE, 1, "type"),
	R(CREATE_FLOW_TABLE, BAD_PARAM, FTC(LOG_SIZE), 31, "too large"),
	R(CREATE_FLOW_TABLE, BAD_PARAM, FTC(SW_OWNER), 1, "software steering"),
	R(CREATE_FLOW_TABLE, BAD_RES, FTC(TABLE_MISS_ACTION), 1, "no such table to go on to"),
	R(CREATE_FLOW_TABLE, BAD_PARAM, FTC(TABLE_MISS_ACTION), 2, "unknown miss action"),
	R(DESTROY_FLOW_TABLE, BAD_RES, RNIC_FLOW_TABLE_IN_TABLE_ID, 0, "no such table"),
	R(DESTROY_FLOW_TABLE, BAD_RES, RNIC_FLOW_TABLE_IN_TABLE_TYPE, 1, "of another type"),
	{ RNIC_CMD_DESTROY_FLOW_TABLE, RNIC_STATUS_RES_BUSY, (uint32_t)RNIC_FLOW_TABLE_IN_TABLE_ID,
	  0, offsetof(struct world, table), 0, "has groups" },
	R(QUERY_FLOW_TABLE, BAD_RES, RNIC_FLOW_TABLE_IN_TABLE_ID, 0xffffff, "no such table"),
	R(MODIFY_FLOW_TABLE, BAD_RES, RNIC_MODIFY_FLOW_TABLE_IN_TABLE_ID, 0, "no such table"),
	R(MODIFY_FLOW_TABLE, BAD_PARAM, RNIC_MODIFY_FLOW_TABLE_IN_MODIFY_FIELD_SELECT, 0x8000,
	  "unknown field"),
	R(MODIFY_FLOW_TABLE, BAD_PARAM, FTC(TABLE_MISS_ACTION), 2, "unknown miss action"),
	R(MODIFY_FLOW_TABLE, BAD_RES, FTC(TABLE_MISS_ACTION), 1, "no such table to go on to"),
	R(CREATE_FLOW_GROUP, BAD_RES, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, 0, "no such table"),
	R(CREATE_FLOW_GROUP, BAD_PARAM, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX, 64, "range"),
	R(CREATE_FLOW_GROUP, BAD_PARAM, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX, 15, "overlap"),
	R(CREATE_FLOW_GROUP, BAD_PARAM, RNIC_CREATE_FLOW_GROUP_IN_MATCH_CRITERIA_ENABLE, 0xff,
	  "criteria"),
	R(DESTROY_FLOW_GROUP, BAD_RES, RNIC_FLOW_GROUP_IN_GROUP_ID, 0xffffff, "no such group"),
	R(DESTROY_FLOW_GROUP, BAD_RES, RNIC_FLOW_GROUP_IN_TABLE_ID, 0, "no such table"),
	{ RNIC_CMD_DESTROY_FLOW_GROUP, RNIC_STATUS_RES_BUSY, (uint32_t)RNIC_FLOW_GROUP_IN_GROUP_ID,
	  0, offsetof(struct world, group), 0, "has entries" },
	R(QUERY_FLOW_GROUP, BAD_RES, RNIC_FLOW_GROUP_IN_GROUP_ID, 0xffffff, "no such group"),
	R(SET_FLOW_TABLE_ENTRY, BAD_RES, RNIC_SET_FTE_IN_TABLE_ID, 0, "no such table"),
	R(SET_FLOW_TABLE_ENTRY, BAD_PARAM, RNIC_SET_FTE_IN_FLOW_INDEX, 0, "index taken"),
	R(SET_FLOW_TABLE_ENTRY, BAD_PARAM, RNIC_SET_FTE_IN_FLOW_INDEX, 40, "index of no group"),
	R(SET_FLOW_TABLE_ENTRY, BAD_PARAM, FLOW(GROUP_ID), 0xffffff, "of another group"),
	R(SET_FLOW_TABLE_ENTRY, BAD_PARAM, FLOW(ACTION), 0x8000, "unknown action"),
	R(SET_FLOW_TABLE_ENTRY, BAD_INP_LEN, FLOW(DESTINATION_LIST_SIZE), 2, "list too short"),
	R(SET_FLOW_TABLE_ENTRY, BAD_RES, IN_BITS(0x340, 23, 0), 0, "no such TIR"),
	R(SET_FLOW_TABLE_ENTRY, BAD_RES, IN_BITS(0x340, 31, 0),
	  (uint32_t)RNIC_FLOW_DESTINATION_TABLE << 24 | 0xffffff, "no such table to go on to"),
	R(SET_FLOW_TABLE_ENTRY, BAD_PARAM, IN_BITS(0x340, 31, 24), 9, "destination type"),
	R(QUERY_FLOW_TABLE_ENTRY, BAD_RES, RNIC_FTE_IN_FLOW_INDEX, 5, "no such entry"),
	R(QUERY_FLOW_TABLE_ENTRY, BAD_RES, RNIC_FTE_IN_TABLE_ID, 0, "no such table"),
	R(DELETE_FLOW_TABLE_ENTRY, BAD_RES, RNIC_FTE_IN_FLOW_INDEX, 5, "no such entry"),
	R(DELETE_FLOW_TABLE_ENTRY, BAD_RES, RNIC_FTE_IN_TABLE_ID, UINT64_C(0xffffff),
	  "no such table"),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Commands whose good input fails the second time, and how. */
static const struct {
	uint16_t opcode;
	int status;
} once[] = {
	{ RNIC_CMD_ENABLE_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_INIT_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_TEARDOWN_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_DISABLE_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_DESTROY_MKEY, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_EQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_CQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_SQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_RQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_TIR, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_TIS, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_RQT, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_FLOW_TABLE, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_FLOW_GROUP, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_CREATE_FLOW_GROUP, RNIC_STATUS_BAD_PARAM },
	{ RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_PARAM },
	{ RNIC_CMD_MODIFY_SQ, RNIC_STATUS_BAD_RES_STATE },
	{ RNIC_CMD_MODIFY_RQ, RNIC_STATUS_BAD_RES_STATE },
};

#define ONCE (sizeof(once) / sizeof(once[0]))

/* Commands without an argument: all they can be is too many, too short, or too early. */
static const struct {
	uint16_t opcode;
	enum softrnic_object_type type;
} allocations[] = {
	{ RNIC_CMD_ALLOC_PD, SOFTRNIC_PD },
	{ RNIC_CMD_ALLOC_UAR, SOFTRNIC_UAR },
	{ RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, SOFTRNIC_TD },
	{ RNIC_CMD_ALLOC_Q_COUNTER, SOFTRNIC_Q_COUNTER },
};

#define ALLOCATIONS (sizeof(allocations) / sizeof(allocations[0]))

static const uint16_t early_only[] = { RNIC_CMD_QUERY_ADAPTER, RNIC_CMD_QUERY_ISSI, RNIC_CMD_NOP,
				       RNIC_CMD_QUERY_SPECIAL_CONTEXTS };

static int
send_input(struct world *w, const void *in, uint32_t bytes)
{
	static uint8_t out[OUT_ROOM];

	return hn_cmd(&w->hn, in, bytes, out, sizeof(out));
}

static void
every_row(void **state)
{
	static uint8_t good[IN_ROOM], bad[IN_ROOM];
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
		uint64_t value = row->value;
		struct softrnic_stats before, after;
		uint32_t bytes;
		int status;

		world_make(&w, world_state_for(row->opcode), false);
		memset(good, 0, sizeof(good));
		bytes = world_good_input(&w, row->opcode, good);
		memcpy(bad, good, sizeof(bad));
		if (row->from != 0)
			value = *(uint32_t *)((uint8_t *)&w + row->from);
		if (row->length == 0)
			rnic_field_set((struct rnic_be32 *)(void *)bad, row->field, value);
		softrnic_stats_get(w.hn.dev, &before);
		status = send_input(&w, bad, bytes - row->length);
		softrnic_stats_get(w.hn.dev, &after);
		if (status != row->status)
			fail_msg("0x%x, %s: status 0x%x, expected 0x%x", row->opcode, row->what,
				 status, row->status);
		/* A refusal leaves nothing behind. */
		assert_int_equal(after.objects, before.objects);
		assert_int_equal(after.commands_failed, before.commands_failed + 1);
		status = send_input(&w, good, bytes);
		if (status != RNIC_STATUS_OK)
			fail_msg("0x%x, behind %s: the good input got status 0x%x", row->opcode,
				 row->what, status);
		hn_stop(&w.hn);
	}
}

static void
what_works_only_once(void **state)
{
	uint8_t in[IN_ROOM];
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < ONCE; i++) {
		uint16_t opcode = once[i].opcode;
		uint32_t bytes;
		int status;

		world_make(&w, world_state_for(opcode), opcode == RNIC_CMD_INIT_HCA);
		memset(in, 0, sizeof(in));
		bytes = world_good_input(&w, opcode, in);
		assert_int_equal(send_input(&w, in, bytes), RNIC_STATUS_OK);
		status = send_input(&w, in, bytes);
		if (status != once[i].status)
			fail_msg("0x%x for the second time: status 0x%x, expected 0x%x", opcode,
				 status, once[i].status);
		hn_stop(&w.hn);
	}
}

/* What prepares a function is refused once it is ready. */
static void
preparations_in_a_ready_function(void **state)
{
	static const uint16_t opcodes[] = { RNIC_CMD_ENABLE_HCA, RNIC_CMD_DISABLE_HCA,
					    RNIC_CMD_INIT_HCA, RNIC_CMD_SET_HCA_CAP,
					    RNIC_CMD_SET_ISSI };
	uint8_t in[IN_ROOM];
	struct world w;

	(void)state;
	world_make(&w, SOFTRNIC_HCA_READY, false);
	for (unsigned int i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		uint32_t bytes;
		int status;

		memset(in, 0, sizeof(in));
		bytes = world_good_input(&w, opcodes[i], in);
		status = send_input(&w, in, bytes);
		if (status != RNIC_STATUS_BAD_SYS_STATE)
			fail_msg("0x%x in a ready function: status 0x%x", opcodes[i], status);
	}
	hn_stop(&w.hn);
}

static void
tables_of_created_objects_have_an_end(void **state)
{
	static const struct {
		uint16_t opcode;
		enum softrnic_object_type type;
	} creations[] = {
		{ RNIC_CMD_CREATE_MKEY, SOFTRNIC_MKEY },
		{ RNIC_CMD_CREATE_EQ, SOFTRNIC_EQ },
		{ RNIC_CMD_CREATE_CQ, SOFTRNIC_CQ },
		{ RNIC_CMD_CREATE_TIS, SOFTRNIC_TIS },
		{ RNIC_CMD_CREATE_TIR, SOFTRNIC_TIR },
		{ RNIC_CMD_CREATE_RQT, SOFTRNIC_RQT },
		{ RNIC_CMD_CREATE_SQ, SOFTRNIC_SQ },
		{ RNIC_CMD_CREATE_RQ, SOFTRNIC_RQ },
		{ RNIC_CMD_CREATE_FLOW_TABLE, SOFTRNIC_FLOW_TABLE },
	};
	uint8_t in[IN_ROOM];
	struct world w;

	(void)state;
	world_make(&w, SOFTRNIC_HCA_READY, false);
	for (unsigned int i = 0; i < sizeof(creations) / sizeof(creations[0]); i++) {
		const struct softrnic_object_table *table = &w.hn.dev->tables[creations[i].type];
		uint32_t bytes;
		int status;

		memset(in, 0, sizeof(in));
		bytes = world_good_input(&w, creations[i].opcode, in);
		do {
			status = send_input(&w, in, bytes);
		} while (status == RNIC_STATUS_OK);
		if (status != RNIC_STATUS_LIM ||
		    table->used != softrnic_object_limit(creations[i].type))
			fail_msg("0x%x behind %u objects: status 0x%x", creations[i].opcode,
				 table->used, status);
	}
	hn_stop(&w.hn);
}

static void
tables_have_an_end(void **state)
{
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < ALLOCATIONS; i++) {
		uint32_t count = softrnic_object_limit(allocations[i].type), number, seen = 0;

		world_make(&w, SOFTRNIC_HCA_READY, false);
		for (uint32_t n = 2; n < count; n++) {
			assert_int_equal(hn_simple(&w.hn, allocations[i].opcode, 0, 0, &number), 0);
			assert_int_not_equal(number, seen);
			seen = number;
		}
		assert_int_equal(hn_simple(&w.hn, allocations[i].opcode, 0, 0, NULL),
				 RNIC_STATUS_LIM);
		/* One back, and there is room for one. */
		assert_int_equal(hn_destroy(&w.hn, allocations[i].opcode + 1, number), 0);
		assert_int_equal(hn_simple(&w.hn, allocations[i].opcode, 0, 0, NULL), 0);
		assert_int_equal(hn_simple(&w.hn, allocations[i].opcode, 0, 0, NULL),
				 RNIC_STATUS_LIM);
		hn_stop(&w.hn);
	}
}

static void
every_opcode_in_a_state_below_its_own(void **state)
{
	uint8_t in[IN_ROOM] = { 0 };
	struct world w;

	(void)state;
	for (unsigned int below = 0; below < SOFTRNIC_HCA_READY; below++) {
		world_make(&w, below, false);
		for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
			const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
			int status;

			if (desc->state <= below)
				continue;
			hn_head(in, desc->opcode, 0);
			status = send_input(&w, in, sizeof(in));
			if (status != RNIC_STATUS_BAD_SYS_STATE)
				fail_msg("%s in state %u: status 0x%x", desc->name, below, status);
		}
		hn_stop(&w.hn);
	}
}

static void
every_opcode_one_byte_too_short(void **state)
{
	uint8_t in[IN_ROOM] = { 0 };
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
		int status;

		assert_true(desc->in_bytes >= 8);
		world_make(&w, desc->state, false);
		hn_head(in, desc->opcode, 0);
		status = send_input(&w, in, desc->in_bytes - 1);
		/* Less than a header does not even get delivered. */
		if (status != (desc->in_bytes == 8 ? HN_DELIVERY(RNIC_DELIVERY_INPUT_LENGTH_ERR)
						   : RNIC_STATUS_BAD_INP_LEN))
			fail_msg("%s with %u bytes: status 0x%x", desc->name, desc->in_bytes - 1,
				 status);
		hn_stop(&w.hn);
	}
}

static void
every_opcode_with_the_shortest_output(void **state)
{
	uint8_t in[IN_ROOM], out[8];
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
		uint32_t bytes;
		int status;

		world_make(&w, world_state_for(desc->opcode), desc->opcode == RNIC_CMD_INIT_HCA);
		memset(in, 0, sizeof(in));
		bytes = world_good_input(&w, desc->opcode, in);
		status = hn_cmd(&w.hn, in, bytes, out, sizeof(out));
		if (status != RNIC_STATUS_OK)
			fail_msg("%s with 8 bytes of output: status 0x%x", desc->name, status);
		hn_stop(&w.hn);
	}
}

static void
unknown_opcodes(void **state)
{
	static const uint16_t unknown[] = { 0x000, 0x0ff, 0x106, 0x10c, 0x10d, 0x500, 0x700,
					    0x760, 0x806, 0x90c, 0xa04, 0xb00, 0xffff };
	uint8_t in[64] = { 0 };
	struct world w;

	(void)state;
	world_make(&w, SOFTRNIC_HCA_READY, false);
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		hn_head(in, unknown[i], 0);
		assert_int_equal(send_input(&w, in, sizeof(in)), RNIC_STATUS_BAD_OP);
	}
	hn_stop(&w.hn);
}

static bool
covered(uint16_t opcode)
{
	for (unsigned int i = 0; i < ROWS; i++) {
		if (rows[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < ONCE; i++) {
		if (once[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < ALLOCATIONS; i++) {
		if (allocations[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < sizeof(early_only) / sizeof(early_only[0]); i++) {
		if (early_only[i] == opcode)
			return true;
	}
	return false;
}

static void
no_opcode_is_left_out(void **state)
{
	(void)state;
	assert_true(softrnic_cmd_table_size > 60);
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		if (!covered(softrnic_cmd_table[i].opcode))
			fail_msg("%s has no refusal here", softrnic_cmd_table[i].name);
		/* The table is searched by halves. */
		if (i > 0)
			assert_true(softrnic_cmd_table[i - 1].opcode <
				    softrnic_cmd_table[i].opcode);
	}
}

/* Everything of the world destroyed in a good order: nothing is left. */
static void
nothing_is_left_when_all_is_destroyed(void **state)
{
	struct rnic_fte_in fte = { 0 };
	struct rnic_flow_group_in group = { 0 };
	struct rnic_flow_table_in table = { 0 };
	struct softrnic_stats stats;
	struct world w;

	(void)state;
	world_make(&w, SOFTRNIC_HCA_READY, false);
	hn_head(&fte, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0);
	rnic_fte_in_set(&fte, RNIC_FTE_IN_TABLE_ID, w.table);
	assert_int_equal(send_input(&w, &fte, sizeof(fte)), 0);
	hn_head(&group, RNIC_CMD_DESTROY_FLOW_GROUP, 0);
	rnic_flow_group_in_set(&group, RNIC_FLOW_GROUP_IN_TABLE_ID, w.table);
	rnic_flow_group_in_set(&group, RNIC_FLOW_GROUP_IN_GROUP_ID, w.group);
	assert_int_equal(send_input(&w, &group, sizeof(group)), 0);
	rnic_flow_group_in_set(&group, RNIC_FLOW_GROUP_IN_GROUP_ID, w.loose_group);
	assert_int_equal(send_input(&w, &group, sizeof(group)), 0);
	hn_head(&table, RNIC_CMD_DESTROY_FLOW_TABLE, 0);
	rnic_flow_table_in_set(&table, RNIC_FLOW_TABLE_IN_TABLE_ID, w.table);
	assert_int_equal(send_input(&w, &table, sizeof(table)), 0);
	rnic_flow_table_in_set(&table, RNIC_FLOW_TABLE_IN_TABLE_ID, w.loose_table);
	assert_int_equal(send_input(&w, &table, sizeof(table)), 0);
#define DESTROY(op, number) assert_int_equal(hn_destroy(&w.hn, RNIC_CMD_##op, number), 0)
	DESTROY(DESTROY_TIR, w.tir);
	DESTROY(DESTROY_TIR, w.loose_tir);
	DESTROY(DESTROY_TIR, w.indirect_tir);
	DESTROY(DESTROY_RQT, w.rqt);
	DESTROY(DESTROY_RQT, w.loose_rqt);
	DESTROY(DESTROY_RQ, w.rq.number);
	DESTROY(DESTROY_RQ, w.loose_rq.number);
	DESTROY(DESTROY_SQ, w.sq.number);
	DESTROY(DESTROY_TIS, w.tis);
	DESTROY(DESTROY_TIS, w.loose_tis);
	DESTROY(DESTROY_CQ, w.cq.number);
	DESTROY(DESTROY_CQ, w.loose_cq.number);
	DESTROY(DESTROY_EQ, w.eq.number);
	DESTROY(DESTROY_EQ, w.loose_eq.number);
	DESTROY(DESTROY_MKEY, w.mkey >> 8);
	DESTROY(DEALLOC_Q_COUNTER, w.counter);
	DESTROY(DEALLOC_Q_COUNTER, w.loose_counter);
	DESTROY(DEALLOC_UAR, w.uar);
	DESTROY(DEALLOC_UAR, w.loose_uar);
	DESTROY(DEALLOC_TRANSPORT_DOMAIN, w.td);
	DESTROY(DEALLOC_TRANSPORT_DOMAIN, w.loose_td);
	DESTROY(DEALLOC_PD, w.pd);
	DESTROY(DEALLOC_PD, w.loose_pd);
#undef DESTROY
	softrnic_stats_get(w.hn.dev, &stats);
	assert_int_equal(stats.objects, 0);
	/* And by reset, whatever is there. */
	world_populate(&w);
	softrnic_stats_get(w.hn.dev, &stats);
	assert_int_equal(stats.objects, 25);
	softrnic_reset(w.hn.dev);
	softrnic_stats_get(w.hn.dev, &stats);
	assert_int_equal(stats.objects, 0);
	hn_stop(&w.hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_opcode_is_left_out),
		cmocka_unit_test(every_row),
		cmocka_unit_test(what_works_only_once),
		cmocka_unit_test(preparations_in_a_ready_function),
		cmocka_unit_test(tables_have_an_end),
		cmocka_unit_test(tables_of_created_objects_have_an_end),
		cmocka_unit_test(every_opcode_in_a_state_below_its_own),
		cmocka_unit_test(every_opcode_one_byte_too_short),
		cmocka_unit_test(every_opcode_with_the_shortest_output),
		cmocka_unit_test(unknown_opcodes),
		cmocka_unit_test(nothing_is_left_when_all_is_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
