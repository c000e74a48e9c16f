/* SPDX-License-Identifier: BSD-3-Clause */

#include "cmd_table.h"

/* clang-format off */
#define IN(layout)    .in = &rnic_##layout##_desc
#define OUT(layout)   .out = &rnic_##layout##_desc
#define LIST(what, entry, at, count) \
	{ .name = what, .element = &rnic_##entry##_desc, .offset = at, .max = count }
#define PAGES	      .in_list = LIST("pas", page_entry, 0x110, 0)
#define PLAIN(cmd)    { .opcode = RNIC_CMD_##cmd, .name = #cmd }
#define CMD(cmd, ...) { .opcode = RNIC_CMD_##cmd, .name = #cmd, __VA_ARGS__ }
#define DESTROY(cmd)  CMD(cmd, IN(object_in))
#define ALLOC(cmd)    CMD(cmd, OUT(object_out))
/* clang-format on */

const struct rnic_cmd_desc rnic_cmds[] = {
	CMD(QUERY_HCA_CAP, IN(function_in), OUT(query_hca_cap_out), .variant = RNIC_CMD_CAP),
	CMD(QUERY_ADAPTER, OUT(query_adapter_out), .out_list = LIST("vsd", text_entry, 0x30, 52)),
	CMD(INIT_HCA, IN(init_hca_in)),
	CMD(TEARDOWN_HCA, IN(teardown_hca_in), OUT(teardown_hca_out)),
	CMD(ENABLE_HCA, IN(function_in)),
	CMD(DISABLE_HCA, IN(function_in)),
	CMD(QUERY_PAGES, IN(function_in), OUT(query_pages_out)),
	CMD(MANAGE_PAGES, IN(manage_pages_in), OUT(manage_pages_out),
	    .in_list = LIST("pas", page_entry, 0x10, 0),
	    .out_list = LIST("pas", page_entry, 0x10, 0)),
	CMD(SET_HCA_CAP, IN(set_hca_cap_in), .variant = RNIC_CMD_CAP),
	CMD(QUERY_ISSI, OUT(query_issi_out)),
	CMD(SET_ISSI, IN(set_issi_in)),
	CMD(CREATE_MKEY, IN(create_mkey_in), OUT(object_out), .variant = RNIC_CMD_MKEY),
	CMD(QUERY_MKEY, IN(object_in), OUT(query_mkey_out)),
	DESTROY(DESTROY_MKEY),
	CMD(QUERY_SPECIAL_CONTEXTS, OUT(query_special_contexts_out)),
	CMD(CREATE_EQ, IN(create_eq_in), OUT(object_out), PAGES),
	DESTROY(DESTROY_EQ),
	CMD(QUERY_EQ, IN(object_in), OUT(query_eq_out)),
	CMD(CREATE_CQ, IN(create_cq_in), OUT(object_out), PAGES),
	DESTROY(DESTROY_CQ),
	CMD(QUERY_CQ, IN(object_in), OUT(query_cq_out)),
	CMD(MODIFY_CQ, IN(modify_cq_in), PAGES),
	CMD(CREATE_QP, IN(create_qp_in), OUT(object_out), PAGES),
	DESTROY(DESTROY_QP),
	CMD(RST2INIT_QP, IN(modify_qp_in)),
	CMD(INIT2RTR_QP, IN(modify_qp_in)),
	CMD(RTR2RTS_QP, IN(modify_qp_in)),
	CMD(RTS2RTS_QP, IN(modify_qp_in)),
	CMD(SQERR2RTS_QP, IN(modify_qp_in)),
	DESTROY(2ERR_QP),
	CMD(RTS2SQD_QP, IN(modify_qp_in)),
	DESTROY(2RST_QP),
	CMD(QUERY_QP, IN(object_in), OUT(query_qp_out)),
	CMD(SQD_RTS_QP, IN(modify_qp_in)),
	CMD(INIT2INIT_QP, IN(modify_qp_in)),
	CMD(SQD2SQD_QP, IN(modify_qp_in)),
	CMD(CREATE_XRC_SRQ, IN(create_xrc_srq_in), OUT(object_out), PAGES),
	DESTROY(DESTROY_XRC_SRQ),
	CMD(QUERY_XRC_SRQ, IN(object_in), OUT(query_xrc_srq_out)),
	CMD(ARM_XRC_SRQ, IN(arm_xrc_srq_in)),
	CMD(QUERY_VPORT_STATE, IN(vport_in), OUT(query_vport_state_out)),
	CMD(MODIFY_VPORT_STATE, IN(modify_vport_state_in)),
	CMD(QUERY_NIC_VPORT_CONTEXT, IN(query_nic_vport_context_in),
	    OUT(query_nic_vport_context_out), .variant = RNIC_CMD_VPORT),
	CMD(MODIFY_NIC_VPORT_CONTEXT, IN(modify_nic_vport_context_in), .variant = RNIC_CMD_VPORT),
	CMD(QUERY_ROCE_ADDRESS, IN(query_roce_address_in), OUT(query_roce_address_out)),
	CMD(SET_ROCE_ADDRESS, IN(set_roce_address_in)),
	CMD(QUERY_HCA_VPORT_PKEY, IN(query_hca_vport_pkey_in),
	    .out_list = LIST("pkey", pkey_entry, 0x10, 0)),
	CMD(QUERY_VPORT_COUNTER, IN(query_vport_counter_in), OUT(query_vport_counter_out)),
	ALLOC(ALLOC_Q_COUNTER),
	DESTROY(DEALLOC_Q_COUNTER),
	CMD(QUERY_Q_COUNTER, IN(query_q_counter_in), OUT(query_q_counter_out)),
	ALLOC(ALLOC_PD),
	DESTROY(DEALLOC_PD),
	ALLOC(ALLOC_UAR),
	DESTROY(DEALLOC_UAR),
	CMD(ACCESS_REG, IN(access_reg_in), OUT(access_reg_out), .variant = RNIC_CMD_REGISTER),
	CMD(ATTACH_TO_MCG, IN(mcg_in)),
	CMD(DETACH_FROM_MCG, IN(mcg_in)),
	PLAIN(NOP),
	ALLOC(ALLOC_XRCD),
	DESTROY(DEALLOC_XRCD),
	ALLOC(ALLOC_TRANSPORT_DOMAIN),
	DESTROY(DEALLOC_TRANSPORT_DOMAIN),
	CMD(SET_L2_TABLE_ENTRY, IN(l2_table_entry_in)),
	CMD(DELETE_L2_TABLE_ENTRY, IN(l2_table_entry_in)),
	CMD(CREATE_TIR, IN(create_tir_in), OUT(object_out)),
	CMD(MODIFY_TIR, IN(modify_tir_in)),
	DESTROY(DESTROY_TIR),
	CMD(QUERY_TIR, IN(object_in), OUT(query_tir_out)),
	CMD(CREATE_SQ, IN(create_sq_in), OUT(object_out), PAGES),
	CMD(MODIFY_SQ, IN(modify_sq_in)),
	DESTROY(DESTROY_SQ),
	CMD(QUERY_SQ, IN(object_in), OUT(query_sq_out)),
	CMD(CREATE_RQ, IN(create_rq_in), OUT(object_out), PAGES),
	CMD(MODIFY_RQ, IN(modify_rq_in)),
	DESTROY(DESTROY_RQ),
	CMD(QUERY_RQ, IN(object_in), OUT(query_rq_out)),
	CMD(CREATE_RMP, IN(create_rmp_in), OUT(object_out), PAGES),
	CMD(MODIFY_RMP, IN(modify_rmp_in)),
	DESTROY(DESTROY_RMP),
	CMD(QUERY_RMP, IN(object_in), OUT(query_rmp_out)),
	CMD(CREATE_TIS, IN(create_tis_in), OUT(object_out)),
	CMD(MODIFY_TIS, IN(modify_tis_in)),
	DESTROY(DESTROY_TIS),
	CMD(QUERY_TIS, IN(object_in), OUT(query_tis_out)),
	CMD(CREATE_RQT, IN(create_rqt_in), OUT(object_out),
	    .in_list = LIST("rq_num", rqn_entry, 0x110, 0)),
	CMD(MODIFY_RQT, IN(modify_rqt_in), .in_list = LIST("rq_num", rqn_entry, 0x110, 0)),
	DESTROY(DESTROY_RQT),
	CMD(QUERY_RQT, IN(object_in), OUT(query_rqt_out),
	    .out_list = LIST("rq_num", rqn_entry, 0x110, 0)),
	CMD(SET_FLOW_TABLE_ROOT, IN(set_flow_table_root_in)),
	CMD(CREATE_FLOW_TABLE, IN(create_flow_table_in), OUT(object_out)),
	CMD(DESTROY_FLOW_TABLE, IN(flow_table_in)),
	CMD(QUERY_FLOW_TABLE, IN(flow_table_in), OUT(query_flow_table_out)),
	CMD(CREATE_FLOW_GROUP, IN(create_flow_group_in), OUT(object_out)),
	CMD(DESTROY_FLOW_GROUP, IN(flow_group_in)),
	CMD(QUERY_FLOW_GROUP, IN(flow_group_in), OUT(query_flow_group_out)),
	CMD(SET_FLOW_TABLE_ENTRY, IN(set_fte_in),
	    .in_list = LIST("destination", flow_destination, 0x340, 0)),
	CMD(QUERY_FLOW_TABLE_ENTRY, IN(fte_in), OUT(query_fte_out),
	    .out_list = LIST("destination", flow_destination, 0x340, 0)),
	CMD(DELETE_FLOW_TABLE_ENTRY, IN(fte_in)),
	CMD(ALLOC_FLOW_COUNTER, IN(alloc_flow_counter_in), OUT(flow_counter)),
	CMD(DEALLOC_FLOW_COUNTER, IN(flow_counter)),
	CMD(QUERY_FLOW_COUNTER, IN(query_flow_counter_in),
	    .out_list = LIST("flow_statistics", traffic_counter, 0x10, 0)),
	CMD(MODIFY_FLOW_TABLE, IN(modify_flow_table_in)),
	CMD(CREATE_UCTX, IN(create_uctx_in), OUT(uctx)),
	CMD(DESTROY_UCTX, IN(uctx)),
	CMD(CREATE_UMEM, IN(create_umem_in), OUT(object_out),
	    .in_list = LIST("mtt", page_entry, 0x30, 0)),
	DESTROY(DESTROY_UMEM),
};
const uint32_t rnic_cmd_count = sizeof(rnic_cmds) / sizeof(rnic_cmds[0]);

const struct rnic_cmd_desc *
rnic_cmd_find(uint32_t opcode)
{
	uint32_t low = 0, high = rnic_cmd_count, middle;

	/* Rows are in the order of their opcodes; the layout test checks it. */
	while (low < high) {
		middle = (low + high) / 2;
		if (rnic_cmds[middle].opcode == opcode)
			return &rnic_cmds[middle];
		if (rnic_cmds[middle].opcode < opcode)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* A field of the input, 0 where the input is too short for it. */
static uint64_t
in_field(const uint8_t *in, size_t in_length, size_t offset, uint32_t field)
{
	const struct rnic_field_desc desc = {
		.offset = (uint16_t)RNIC_FIELD_OFFSET(field),
		.high = (uint8_t)RNIC_FIELD_HIGH(field),
		.low = (uint8_t)RNIC_FIELD_LOW(field),
	};
	uint64_t value = 0;

	rnic_desc_get(in, in_length, offset, &desc, &value);
	return value;
}

static const struct rnic_layout_desc *
cap_layout(uint64_t type)
{
	switch (type) {
	case RNIC_CAP_GENERAL: return &rnic_general_cap_desc;
	case RNIC_CAP_ETHERNET_OFFLOADS: return &rnic_ethernet_cap_desc;
	case RNIC_CAP_ODP: return &rnic_odp_cap_desc;
	case RNIC_CAP_ATOMIC: return &rnic_atomic_cap_desc;
	case RNIC_CAP_ROCE: return &rnic_roce_cap_desc;
	case RNIC_CAP_FLOW_TABLE: return &rnic_flow_table_cap_desc;
	default: return NULL;
	}
}

static const struct rnic_layout_desc *
reg_layout(uint64_t register_id)
{
	switch (register_id) {
	case RNIC_REG_PMTU: return &rnic_pmtu_reg_desc;
	case RNIC_REG_PTYS: return &rnic_ptys_reg_desc;
	case RNIC_REG_PAOS: return &rnic_paos_reg_desc;
	case RNIC_REG_PFCC: return &rnic_pfcc_reg_desc;
	case RNIC_REG_PPCNT: return &rnic_ppcnt_reg_desc;
	case RNIC_REG_PCMR: return &rnic_pcmr_reg_desc;
	case RNIC_REG_HOST_ENDIANNESS: return &rnic_host_endianness_reg_desc;
	default: return NULL;
	}
}

static const struct rnic_layout_desc *
vport_list_element(uint64_t list_type)
{
	switch (list_type) {
	case RNIC_ALLOWED_LIST_UC:
	case RNIC_ALLOWED_LIST_MC: return &rnic_mac_entry_desc;
	case RNIC_ALLOWED_LIST_VLAN: return &rnic_vlan_entry_desc;
	default: return NULL;
	}
}

static void
visit_layout(const struct rnic_layout_desc *layout, uint32_t offset, const char *name,
	     const struct rnic_cmd_part *outer, rnic_cmd_visit *visit, void *arg)
{
	struct rnic_cmd_part part = {
		.layout = layout,
		.offset = offset,
		.name = name,
		.index = -1,
		.outer = outer,
	};

	visit(arg, &part);
	for (uint32_t i = 0; i < rnic_inner_count; i++) {
		if (rnic_inners[i].outer == layout)
			visit_layout(rnic_inners[i].inner, offset + rnic_inners[i].offset,
				     rnic_inners[i].member, &part, visit, arg);
	}
}

static void
visit_list(const struct rnic_cmd_list *list, size_t length, rnic_cmd_visit *visit, void *arg)
{
	struct rnic_cmd_part part = { .layout = list->element, .name = list->name };
	uint64_t at = list->offset;

	if (list->element == NULL)
		return;
	while (at + list->element->size <= length && at <= UINT32_MAX) {
		if (list->max != 0 && part.index == list->max)
			break;
		part.offset = (uint32_t)at;
		visit(arg, &part);
		part.index++;
		at += list->element->size;
	}
}

/* What the input's own words choose: the layout at 0x10, and a list. */
static void
visit_variant(const struct rnic_cmd_desc *cmd, const uint8_t *in, size_t in_length, bool output,
	      struct rnic_cmd_list *list, rnic_cmd_visit *visit, void *arg)
{
	const struct rnic_layout_desc *layout = NULL;
	const char *name = "";

	switch (cmd->variant) {
	case RNIC_CMD_PLAIN: break;
	case RNIC_CMD_CAP:
		if (output != (cmd->opcode == RNIC_CMD_QUERY_HCA_CAP))
			break;
		layout = cap_layout(in_field(in, in_length, 0, RNIC_CMD_IN_OP_MOD) >> 1);
		name = "capability";
		break;
	case RNIC_CMD_REGISTER:
		layout = reg_layout(in_field(in, in_length, 0, RNIC_ACCESS_REG_IN_REGISTER_ID));
		name = "register_data";
		if (layout == NULL)
			*list = (struct rnic_cmd_list)LIST("register_data", text_entry, 0x10, 0);
		break;
	case RNIC_CMD_MKEY:
		if (output)
			break;
		if (in_field(in, in_length, 0x10, RNIC_MKC_ACCESS_MODE_1_0) >= RNIC_MKEY_KLM)
			*list = (struct rnic_cmd_list)LIST("klm", klm_entry, 0x110, 0);
		else
			*list = (struct rnic_cmd_list)LIST("mtt", mtt_entry, 0x110, 0);
		break;
	case RNIC_CMD_VPORT:
		if (output) {
			list->element = vport_list_element(
				in_field(in, in_length, 0,
					 RNIC_QUERY_NIC_VPORT_CONTEXT_IN_ALLOWED_LIST_TYPE));
			list->offset = 0x110;
		} else if (cmd->opcode == RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT) {
			list->element = vport_list_element(in_field(
				in, in_length, 0x100, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE));
			list->offset = sizeof(struct rnic_modify_nic_vport_context_in);
		}
		list->name = "allowed_list";
		break;
	}
	if (layout != NULL)
		visit_layout(layout, 0x10, name, NULL, visit, arg);
}

static void
cmd_visit(const uint8_t *in, size_t in_length, size_t length, bool output, rnic_cmd_visit *visit,
	  void *arg)
{
	const struct rnic_cmd_desc *cmd =
		rnic_cmd_find((uint32_t)in_field(in, in_length, 0, RNIC_CMD_IN_OPCODE));
	const struct rnic_layout_desc *layout;
	struct rnic_cmd_list list;

	visit_layout(output ? &rnic_cmd_out_desc : &rnic_cmd_in_desc, 0, "", NULL, visit, arg);
	if (cmd == NULL)
		return;
	layout = output ? cmd->out : cmd->in;
	if (layout != NULL)
		visit_layout(layout, 0, "", NULL, visit, arg);
	list = output ? cmd->out_list : cmd->in_list;
	visit_variant(cmd, in, in_length, output, &list, visit, arg);
	visit_list(&list, length, visit, arg);
}

void
rnic_cmd_walk_in(const uint8_t *in, size_t in_length, rnic_cmd_visit *visit, void *arg)
{
	cmd_visit(in, in_length, in_length, false, visit, arg);
}

void
rnic_cmd_walk_out(const uint8_t *in, size_t in_length, size_t out_length, rnic_cmd_visit *visit,
		  void *arg)
{
	cmd_visit(in, in_length, out_length, true, visit, arg);
}
