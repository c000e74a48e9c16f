/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow tables: contexts and match parameters (PRM: "Flow Table", "Flow Table Entry"). */
#ifndef RNIC_PRM_FLOW_H
#define RNIC_PRM_FLOW_H

#include "field.h"

/* Flow table context. */
#define RNIC_FLOW_TABLE_CONTEXT_FIELDS(F)                          \
	F(RNIC_FLOW_TABLE_CONTEXT_REFORMAT_EN, 0x00, 31, 31)       \
	F(RNIC_FLOW_TABLE_CONTEXT_DECAP_EN, 0x00, 30, 30)          \
	F(RNIC_FLOW_TABLE_CONTEXT_SW_OWNER, 0x00, 29, 29)          \
	F(RNIC_FLOW_TABLE_CONTEXT_TERMINATION_TABLE, 0x00, 28, 28) \
	F(RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ACTION, 0x00, 27, 24) \
	F(RNIC_FLOW_TABLE_CONTEXT_LEVEL, 0x00, 23, 16)             \
	F(RNIC_FLOW_TABLE_CONTEXT_LOG_SIZE, 0x00, 7, 0)            \
	F(RNIC_FLOW_TABLE_CONTEXT_TABLE_MISS_ID, 0x04, 23, 0)      \
	F(RNIC_FLOW_TABLE_CONTEXT_LAG_MASTER_NEXT_TABLE_ID, 0x08, 23, 0)
RNIC_LAYOUT(flow_table_context, FLOW_TABLE_CONTEXT, 0x28)

enum rnic_flow_table_type {
	RNIC_FLOW_TABLE_NIC_RX = 0,
	RNIC_FLOW_TABLE_NIC_TX = 1,
};

enum rnic_table_miss_action {
	RNIC_TABLE_MISS_DEFAULT = 0,
	RNIC_TABLE_MISS_FORWARD = 1,
};

/* match_criteria_enable: which parts of the match parameters count. */
#define RNIC_MATCH_OUTER_HEADERS   0x01
#define RNIC_MATCH_MISC_PARAMETERS 0x02
#define RNIC_MATCH_INNER_HEADERS   0x04

/* Header fields of one layer stack, as masks in groups and values in entries. */
#define RNIC_FTE_MATCH_SET_LYR_2_4_FIELDS(F)                     \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_47_16, 0x00, 31, 0)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SMAC_15_0, 0x04, 31, 16)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0x04, 15, 0)     \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16, 0x08, 31, 0)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_15_0, 0x0c, 31, 16)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_PRIO, 0x0c, 15, 13)   \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_CFI, 0x0c, 12, 12)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_VID, 0x0c, 11, 0)     \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_IP_PROTOCOL, 0x10, 31, 24)  \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_IP_DSCP, 0x10, 23, 18)      \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_IP_ECN, 0x10, 17, 16)       \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_CVLAN_TAG, 0x10, 15, 15)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SVLAN_TAG, 0x10, 14, 14)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_FRAG, 0x10, 13, 13)         \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION, 0x10, 12, 9)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_TCP_FLAGS, 0x10, 8, 0)      \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_TCP_SPORT, 0x14, 31, 16)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0x14, 15, 0)     \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_TTL_HOPLIMIT, 0x18, 7, 0)   \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_UDP_SPORT, 0x1c, 31, 16)    \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_UDP_DPORT, 0x1c, 15, 0)     \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_127_96, 0x20, 31, 0) \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_95_64, 0x24, 31, 0)  \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_63_32, 0x28, 31, 0)  \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_SRC_IP_31_0, 0x2c, 31, 0)   \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_127_96, 0x30, 31, 0) \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_95_64, 0x34, 31, 0)  \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_63_32, 0x38, 31, 0)  \
	F(RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_31_0, 0x3c, 31, 0)
RNIC_LAYOUT(fte_match_set_lyr_2_4, FTE_MATCH_SET_LYR_2_4, 0x40)

/* Match parameters: outer headers, misc, inner headers. */
#define RNIC_FTE_MATCH_PARAM_FIELDS(F)                  \
	F(RNIC_FTE_MATCH_PARAM_SOURCE_SQN, 0x40, 23, 0) \
	F(RNIC_FTE_MATCH_PARAM_SOURCE_PORT, 0x44, 15, 0)
RNIC_LAYOUT(fte_match_param, FTE_MATCH_PARAM, 0x200)
RNIC_INNER(fte_match_param, fte_match_set_lyr_2_4, outer, 0x00)
RNIC_INNER(fte_match_param, fte_match_set_lyr_2_4, inner, 0x80)

/* Flow table entry; its destinations follow, 8 bytes each. */
#define RNIC_FLOW_CONTEXT_FIELDS(F)                              \
	F(RNIC_FLOW_CONTEXT_GROUP_ID, 0x04, 31, 0)               \
	F(RNIC_FLOW_CONTEXT_FLOW_TAG, 0x08, 23, 0)               \
	F(RNIC_FLOW_CONTEXT_ACTION, 0x0c, 15, 0)                 \
	F(RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, 0x10, 23, 0)  \
	F(RNIC_FLOW_CONTEXT_FLOW_COUNTER_LIST_SIZE, 0x14, 23, 0) \
	F(RNIC_FLOW_CONTEXT_PACKET_REFORMAT_ID, 0x18, 31, 0)     \
	F(RNIC_FLOW_CONTEXT_MODIFY_HEADER_ID, 0x1c, 31, 0)
RNIC_LAYOUT(flow_context, FLOW_CONTEXT, 0x300)
RNIC_INNER(flow_context, fte_match_param, match_value, 0x40)

#define RNIC_FLOW_ACTION_ALLOW	  0x1
#define RNIC_FLOW_ACTION_DROP	  0x2
#define RNIC_FLOW_ACTION_FWD_DEST 0x4
#define RNIC_FLOW_ACTION_COUNT	  0x8

/* Where an entry forwards to. */
#define RNIC_FLOW_DESTINATION_FIELDS(F)             \
	F(RNIC_FLOW_DESTINATION_TYPE, 0x00, 31, 24) \
	F(RNIC_FLOW_DESTINATION_ID, 0x00, 23, 0)
RNIC_LAYOUT(flow_destination, FLOW_DESTINATION, 0x8)

/* Behind the destinations: where an entry counts. */
#define RNIC_FLOW_COUNTER_LIST_FIELDS(F) F(RNIC_FLOW_COUNTER_LIST_FLOW_COUNTER_ID, 0x00, 31, 0)
RNIC_LAYOUT(flow_counter_list, FLOW_COUNTER_LIST, 0x8)

enum rnic_flow_destination_type {
	RNIC_FLOW_DESTINATION_VPORT = 0,
	RNIC_FLOW_DESTINATION_TABLE = 1,
	RNIC_FLOW_DESTINATION_TIR = 2,
};

#endif
