/* SPDX-License-Identifier: BSD-3-Clause */

/* All layouts as data, for code that handles them by table: dumps, tests. */
#ifndef RNIC_PRM_LAYOUTS_H
#define RNIC_PRM_LAYOUTS_H

#include <stdbool.h>

#include "caps.h"
#include "cmd.h"
#include "flow.h"
#include "init_seg.h"
#include "list.h"
#include "mkey.h"
#include "qp.h"
#include "queue.h"
#include "reg.h"
#include "vport.h"

/* L(name, NAME) for each layout with rows, FRAME(name) for each that only holds others. */
#define RNIC_LAYOUTS(L, FRAME)                                      \
	L(init_seg, INIT_SEG)                                       \
	L(cmd_in, CMD_IN)                                           \
	L(cmd_out, CMD_OUT)                                         \
	L(object_in, OBJECT_IN)                                     \
	L(object_out, OBJECT_OUT)                                   \
	L(function_in, FUNCTION_IN)                                 \
	FRAME(query_hca_cap_out)                                    \
	L(set_hca_cap_in, SET_HCA_CAP_IN)                           \
	L(general_cap, GENERAL_CAP)                                 \
	L(ethernet_cap, ETHERNET_CAP)                               \
	L(odp_cap, ODP_CAP)                                         \
	L(atomic_cap, ATOMIC_CAP)                                   \
	L(roce_cap, ROCE_CAP)                                       \
	L(flow_table_cap, FLOW_TABLE_CAP)                           \
	L(flow_table_props, FLOW_TABLE_PROPS)                       \
	L(flow_table_fields, FLOW_TABLE_FIELDS)                     \
	L(query_adapter_out, QUERY_ADAPTER_OUT)                     \
	FRAME(init_hca_in)                                          \
	L(teardown_hca_in, TEARDOWN_HCA_IN)                         \
	L(teardown_hca_out, TEARDOWN_HCA_OUT)                       \
	L(query_pages_out, QUERY_PAGES_OUT)                         \
	L(manage_pages_in, MANAGE_PAGES_IN)                         \
	L(manage_pages_out, MANAGE_PAGES_OUT)                       \
	L(query_issi_out, QUERY_ISSI_OUT)                           \
	L(set_issi_in, SET_ISSI_IN)                                 \
	L(create_mkey_in, CREATE_MKEY_IN)                           \
	FRAME(query_mkey_out)                                       \
	L(mkc, MKC)                                                 \
	L(query_special_contexts_out, QUERY_SPECIAL_CONTEXTS_OUT)   \
	L(create_eq_in, CREATE_EQ_IN)                               \
	L(query_eq_out, QUERY_EQ_OUT)                               \
	L(eqc, EQC)                                                 \
	L(create_cq_in, CREATE_CQ_IN)                               \
	FRAME(query_cq_out)                                         \
	L(modify_cq_in, MODIFY_CQ_IN)                               \
	L(cqc, CQC)                                                 \
	L(create_qp_in, CREATE_QP_IN)                               \
	L(modify_qp_in, MODIFY_QP_IN)                               \
	L(mcg_in, MCG_IN)                                           \
	L(query_qp_out, QUERY_QP_OUT)                               \
	L(qpc, QPC)                                                 \
	L(ads, ADS)                                                 \
	FRAME(create_rmp_in)                                        \
	L(modify_rmp_in, MODIFY_RMP_IN)                             \
	FRAME(query_rmp_out)                                        \
	L(rmpc, RMPC)                                               \
	L(create_xrc_srq_in, CREATE_XRC_SRQ_IN)                     \
	FRAME(query_xrc_srq_out)                                    \
	L(arm_xrc_srq_in, ARM_XRC_SRQ_IN)                           \
	L(xrc_srqc, XRC_SRQC)                                       \
	L(query_roce_address_in, QUERY_ROCE_ADDRESS_IN)             \
	FRAME(query_roce_address_out)                               \
	L(set_roce_address_in, SET_ROCE_ADDRESS_IN)                 \
	L(roce_addr, ROCE_ADDR)                                     \
	L(vport_in, VPORT_IN)                                       \
	L(query_vport_state_out, QUERY_VPORT_STATE_OUT)             \
	L(modify_vport_state_in, MODIFY_VPORT_STATE_IN)             \
	L(query_nic_vport_context_in, QUERY_NIC_VPORT_CONTEXT_IN)   \
	FRAME(query_nic_vport_context_out)                          \
	L(modify_nic_vport_context_in, MODIFY_NIC_VPORT_CONTEXT_IN) \
	L(nic_vport_context, NIC_VPORT_CONTEXT)                     \
	L(query_hca_vport_pkey_in, QUERY_HCA_VPORT_PKEY_IN)         \
	L(query_vport_counter_in, QUERY_VPORT_COUNTER_IN)           \
	FRAME(query_vport_counter_out)                              \
	L(vport_counters, VPORT_COUNTERS)                           \
	L(query_q_counter_in, QUERY_Q_COUNTER_IN)                   \
	L(query_q_counter_out, QUERY_Q_COUNTER_OUT)                 \
	L(l2_table_entry_in, L2_TABLE_ENTRY_IN)                     \
	L(access_reg_in, ACCESS_REG_IN)                             \
	FRAME(access_reg_out)                                       \
	L(pmtu_reg, PMTU_REG)                                       \
	L(ptys_reg, PTYS_REG)                                       \
	L(paos_reg, PAOS_REG)                                       \
	L(pfcc_reg, PFCC_REG)                                       \
	L(ppcnt_reg, PPCNT_REG)                                     \
	L(pcmr_reg, PCMR_REG)                                       \
	L(host_endianness_reg, HOST_ENDIANNESS_REG)                 \
	FRAME(node_desc_reg)                                        \
	FRAME(create_tir_in)                                        \
	L(modify_tir_in, MODIFY_TIR_IN)                             \
	FRAME(query_tir_out)                                        \
	L(tirc, TIRC)                                               \
	FRAME(create_tis_in)                                        \
	L(modify_tis_in, MODIFY_TIS_IN)                             \
	FRAME(query_tis_out)                                        \
	L(tisc, TISC)                                               \
	FRAME(create_rqt_in)                                        \
	L(modify_rqt_in, MODIFY_RQT_IN)                             \
	FRAME(query_rqt_out)                                        \
	L(rqtc, RQTC)                                               \
	FRAME(create_sq_in)                                         \
	L(modify_sq_in, MODIFY_SQ_IN)                               \
	FRAME(query_sq_out)                                         \
	L(sqc, SQC)                                                 \
	FRAME(create_rq_in)                                         \
	L(modify_rq_in, MODIFY_RQ_IN)                               \
	FRAME(query_rq_out)                                         \
	L(rqc, RQC)                                                 \
	L(wq, WQ)                                                   \
	L(set_flow_table_root_in, SET_FLOW_TABLE_ROOT_IN)           \
	L(create_flow_table_in, CREATE_FLOW_TABLE_IN)               \
	L(modify_flow_table_in, MODIFY_FLOW_TABLE_IN)               \
	L(alloc_flow_counter_in, ALLOC_FLOW_COUNTER_IN)             \
	L(flow_counter, FLOW_COUNTER)                               \
	L(query_flow_counter_in, QUERY_FLOW_COUNTER_IN)             \
	FRAME(query_flow_counter_out)                               \
	L(traffic_counter, TRAFFIC_COUNTER)                         \
	L(flow_counter_list, FLOW_COUNTER_LIST)                     \
	L(create_uctx_in, CREATE_UCTX_IN)                           \
	L(uctx, UCTX)                                               \
	L(create_umem_in, CREATE_UMEM_IN)                           \
	L(flow_table_in, FLOW_TABLE_IN)                             \
	FRAME(query_flow_table_out)                                 \
	L(flow_table_context, FLOW_TABLE_CONTEXT)                   \
	L(create_flow_group_in, CREATE_FLOW_GROUP_IN)               \
	L(flow_group_in, FLOW_GROUP_IN)                             \
	L(query_flow_group_out, QUERY_FLOW_GROUP_OUT)               \
	L(fte_match_param, FTE_MATCH_PARAM)                         \
	L(fte_match_set_lyr_2_4, FTE_MATCH_SET_LYR_2_4)             \
	L(set_fte_in, SET_FTE_IN)                                   \
	L(fte_in, FTE_IN)                                           \
	FRAME(query_fte_out)                                        \
	L(flow_context, FLOW_CONTEXT)                               \
	L(flow_destination, FLOW_DESTINATION)                       \
	L(page_entry, PAGE_ENTRY)                                   \
	L(mtt_entry, MTT_ENTRY)                                     \
	L(klm_entry, KLM_ENTRY)                                     \
	L(rqn_entry, RQN_ENTRY)                                     \
	L(mac_entry, MAC_ENTRY)                                     \
	L(vlan_entry, VLAN_ENTRY)                                   \
	L(pkey_entry, PKEY_ENTRY)                                   \
	L(text_entry, TEXT_ENTRY)

/* I(outer, inner, member, offset): every RNIC_INNER once more; the layout test compares the two. */
#define RNIC_INNERS(I)                                                              \
	I(flow_table_props, flow_table_fields, field_support, 0x20)                 \
	I(flow_table_props, flow_table_fields, field_bitmask_support, 0x30)         \
	I(flow_table_cap, flow_table_props, nic_receive, 0x40)                      \
	I(flow_table_cap, flow_table_props, nic_receive_rdma, 0x80)                 \
	I(flow_table_cap, flow_table_props, nic_receive_sniffer, 0xc0)              \
	I(flow_table_cap, flow_table_props, nic_transmit, 0x100)                    \
	I(flow_table_cap, flow_table_props, nic_transmit_rdma, 0x140)               \
	I(flow_table_cap, flow_table_props, nic_transmit_sniffer, 0x180)            \
	I(create_mkey_in, mkc, mkc, 0x10)                                           \
	I(query_mkey_out, mkc, mkc, 0x10)                                           \
	I(create_eq_in, eqc, eqc, 0x10)                                             \
	I(query_eq_out, eqc, eqc, 0x10)                                             \
	I(create_cq_in, cqc, cqc, 0x10)                                             \
	I(query_cq_out, cqc, cqc, 0x10)                                             \
	I(modify_cq_in, cqc, cqc, 0x10)                                             \
	I(create_qp_in, qpc, qpc, 0x18)                                             \
	I(modify_qp_in, qpc, qpc, 0x18)                                             \
	I(query_qp_out, qpc, qpc, 0x18)                                             \
	I(qpc, ads, primary_address_path, 0x18)                                     \
	I(qpc, ads, secondary_address_path, 0x44)                                   \
	I(create_rmp_in, rmpc, rmpc, 0x20)                                          \
	I(modify_rmp_in, rmpc, rmpc, 0x20)                                          \
	I(query_rmp_out, rmpc, rmpc, 0x20)                                          \
	I(rmpc, wq, wq, 0x30)                                                       \
	I(create_xrc_srq_in, xrc_srqc, xrc_srqc, 0x10)                              \
	I(query_xrc_srq_out, xrc_srqc, xrc_srqc, 0x10)                              \
	I(query_roce_address_out, roce_addr, roce_address, 0x10)                    \
	I(set_roce_address_in, roce_addr, roce_address, 0x10)                       \
	I(query_nic_vport_context_out, nic_vport_context, nic_vport_context, 0x10)  \
	I(modify_nic_vport_context_in, nic_vport_context, nic_vport_context, 0x100) \
	I(query_vport_counter_out, vport_counters, vport_counters, 0x10)            \
	I(create_tir_in, tirc, tirc, 0x20)                                          \
	I(modify_tir_in, tirc, tirc, 0x20)                                          \
	I(query_tir_out, tirc, tirc, 0x20)                                          \
	I(create_tis_in, tisc, tisc, 0x20)                                          \
	I(modify_tis_in, tisc, tisc, 0x20)                                          \
	I(query_tis_out, tisc, tisc, 0x20)                                          \
	I(create_rqt_in, rqtc, rqtc, 0x20)                                          \
	I(modify_rqt_in, rqtc, rqtc, 0x20)                                          \
	I(query_rqt_out, rqtc, rqtc, 0x20)                                          \
	I(create_sq_in, sqc, sqc, 0x20)                                             \
	I(modify_sq_in, sqc, sqc, 0x20)                                             \
	I(query_sq_out, sqc, sqc, 0x20)                                             \
	I(create_rq_in, rqc, rqc, 0x20)                                             \
	I(modify_rq_in, rqc, rqc, 0x20)                                             \
	I(query_rq_out, rqc, rqc, 0x20)                                             \
	I(create_flow_table_in, flow_table_context, context, 0x18)                  \
	I(modify_flow_table_in, flow_table_context, context, 0x18)                  \
	I(query_flow_table_out, flow_table_context, context, 0x18)                  \
	I(create_flow_group_in, fte_match_param, match_criteria, 0x40)              \
	I(query_flow_group_out, fte_match_param, match_criteria, 0x40)              \
	I(set_fte_in, flow_context, flow_context, 0x40)                             \
	I(query_fte_out, flow_context, flow_context, 0x40)                          \
	I(sqc, wq, wq, 0x30)                                                        \
	I(rqc, wq, wq, 0x30)                                                        \
	I(fte_match_param, fte_match_set_lyr_2_4, outer, 0x00)                      \
	I(fte_match_param, fte_match_set_lyr_2_4, inner, 0x80)                      \
	I(flow_context, fte_match_param, match_value, 0x40)

#define RNIC_LAYOUT_EXTERN(name, NAME) extern const struct rnic_layout_desc rnic_##name##_desc;
#define RNIC_FRAME_EXTERN(name)	       extern const struct rnic_layout_desc rnic_##name##_desc;
RNIC_LAYOUTS(RNIC_LAYOUT_EXTERN, RNIC_FRAME_EXTERN)

extern const struct rnic_layout_desc *const rnic_layouts[];
extern const uint32_t rnic_layout_count;

struct rnic_inner_desc {
	const struct rnic_layout_desc *outer;
	const struct rnic_layout_desc *inner;
	const char *member;
	uint32_t offset;
};

extern const struct rnic_inner_desc rnic_inners[];
extern const uint32_t rnic_inner_count;

/*
 * A field of a layout that starts at byte offset of bytes. Any alignment. False, and nothing done,
 * where a part of the field lies outside the bytes.
 */
bool rnic_desc_get(const uint8_t *bytes, size_t length, size_t offset,
		   const struct rnic_field_desc *field, uint64_t *value);
bool rnic_desc_set(uint8_t *bytes, size_t length, size_t offset,
		   const struct rnic_field_desc *field, uint64_t value);

/* A field's name without the layout's: "LOG_EQ_SIZE" for RNIC_EQC_LOG_EQ_SIZE. */
const char *rnic_field_short_name(const struct rnic_layout_desc *layout,
				  const struct rnic_field_desc *field);

#endif
