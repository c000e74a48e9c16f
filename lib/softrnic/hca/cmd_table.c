/* SPDX-License-Identifier: BSD-3-Clause */

/* The commands that the device knows, and what is checked before their handlers see them. */
#include "softrnic/base/object.h"
#include "softrnic/base/umem.h"
#include "softrnic/engine/qp_create.h"
#include "softrnic/engine/qp_modify.h"
#include "softrnic/engine/sq.h"
#include "softrnic/engine/tis.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"
#include "softrnic/hca/caps.h"
#include "softrnic/hca/cmd_table.h"
#include "softrnic/hca/hca.h"
#include "softrnic/hca/l2.h"
#include "softrnic/hca/like.h"
#include "softrnic/hca/pages.h"
#include "softrnic/hca/pd_uar_counter.h"
#include "softrnic/hca/reg.h"
#include "softrnic/hca/roce_addr.h"
#include "softrnic/hca/uctx.h"
#include "softrnic/hca/vport.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/receive/flow.h"
#include "softrnic/receive/flow_counter.h"
#include "softrnic/receive/fte.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/rqt.h"
#include "softrnic/receive/tir.h"
#include "softrnic/receive/xrc_srq.h"

/* Most inputs are at least the common header and one number. */
#define HEADER	   sizeof(struct rnic_cmd_in)
#define IN(layout) sizeof(struct rnic_##layout)

/* clang-format off */
#define CMD(NAME, in, hca_state, boot, function, handler)                                       \
	{ .opcode = RNIC_CMD_##NAME, .in_bytes = in, .state = SOFTRNIC_HCA_##hca_state,         \
	  .needs_boot_pages = boot, .of_function = function, .name = #NAME,                     \
	  .fn = softrnic_cmd_##handler }
/*
 * Bring-up before the firmware has its boot pages; behind them; and everything after INIT_HCA, for all who have objects, and for
 * who has the function.
 */
#define BRINGUP(NAME, in, handler)  CMD(NAME, in, ENABLED, false, true, handler)
#define BOOTED(NAME, in, handler)   CMD(NAME, in, ENABLED, true, true, handler)
#define READY(NAME, in, handler)    CMD(NAME, in, READY, true, false, handler)
#define FUNCTION(NAME, in, handler) CMD(NAME, in, READY, true, true, handler)

const struct softrnic_cmd_desc softrnic_cmd_table[] = {
	CMD(QUERY_HCA_CAP, IN(function_in), ENABLED, true, false, query_hca_cap),
	CMD(QUERY_ADAPTER, HEADER, ENABLED, true, false, query_adapter),
	BOOTED(INIT_HCA, 8, init_hca),
	BRINGUP(TEARDOWN_HCA, IN(teardown_hca_in), teardown_hca),
	CMD(ENABLE_HCA, IN(function_in), OFF, false, true, enable_hca),
	BRINGUP(DISABLE_HCA, IN(function_in), disable_hca),
	BRINGUP(QUERY_PAGES, IN(function_in), query_pages),
	BRINGUP(MANAGE_PAGES, IN(manage_pages_in), manage_pages),
	BOOTED(SET_HCA_CAP, RNIC_HCA_CAP_OFFSET + IN(general_cap), set_hca_cap),
	BRINGUP(QUERY_ISSI, 8, query_issi),
	BRINGUP(SET_ISSI, IN(set_issi_in), set_issi),
	READY(CREATE_MKEY, IN(create_mkey_in), create_mkey),
	READY(QUERY_MKEY, IN(object_in), query_mkey),
	READY(DESTROY_MKEY, IN(object_in), destroy_mkey),
	READY(QUERY_SPECIAL_CONTEXTS, 8, query_special_contexts),
	FUNCTION(CREATE_EQ, IN(create_eq_in), create_eq),
	FUNCTION(DESTROY_EQ, IN(object_in), destroy_eq),
	READY(QUERY_EQ, IN(object_in), query_eq),
	READY(CREATE_CQ, IN(create_cq_in), create_cq),
	READY(DESTROY_CQ, IN(object_in), destroy_cq),
	READY(QUERY_CQ, IN(object_in), query_cq),
	READY(MODIFY_CQ, IN(modify_cq_in), modify_cq),
	READY(CREATE_QP, IN(create_qp_in), create_qp),
	READY(DESTROY_QP, IN(object_in), destroy_qp),
	READY(RST2INIT_QP, IN(modify_qp_in), modify_qp),
	READY(INIT2RTR_QP, IN(modify_qp_in), modify_qp),
	READY(RTR2RTS_QP, IN(modify_qp_in), modify_qp),
	READY(RTS2RTS_QP, IN(modify_qp_in), modify_qp),
	READY(SQERR2RTS_QP, IN(modify_qp_in), modify_qp),
	READY(2ERR_QP, IN(object_in), 2err_qp),
	READY(RTS2SQD_QP, IN(modify_qp_in), modify_qp),
	READY(2RST_QP, IN(object_in), 2rst_qp),
	READY(QUERY_QP, IN(object_in), query_qp),
	READY(SQD_RTS_QP, IN(modify_qp_in), modify_qp),
	READY(INIT2INIT_QP, IN(modify_qp_in), modify_qp),
	READY(SQD2SQD_QP, IN(modify_qp_in), modify_qp),
	READY(CREATE_XRC_SRQ, IN(create_xrc_srq_in), create_xrc_srq),
	READY(DESTROY_XRC_SRQ, IN(object_in), destroy_xrc_srq),
	READY(QUERY_XRC_SRQ, IN(object_in), query_xrc_srq),
	READY(ARM_XRC_SRQ, IN(arm_xrc_srq_in), arm_xrc_srq),
	READY(QUERY_VPORT_STATE, IN(vport_in), query_vport_state),
	FUNCTION(MODIFY_VPORT_STATE, IN(modify_vport_state_in), modify_vport_state),
	READY(QUERY_NIC_VPORT_CONTEXT, IN(query_nic_vport_context_in), query_nic_vport_context),
	FUNCTION(MODIFY_NIC_VPORT_CONTEXT, IN(modify_nic_vport_context_in), modify_nic_vport_context),
	READY(QUERY_ROCE_ADDRESS, IN(query_roce_address_in), query_roce_address),
	FUNCTION(SET_ROCE_ADDRESS, IN(set_roce_address_in), set_roce_address),
	READY(QUERY_HCA_VPORT_PKEY, IN(query_hca_vport_pkey_in), query_hca_vport_pkey),
	READY(QUERY_VPORT_COUNTER, IN(query_vport_counter_in), query_vport_counter),
	READY(ALLOC_Q_COUNTER, 8, alloc_q_counter),
	READY(DEALLOC_Q_COUNTER, IN(object_in), dealloc_q_counter),
	READY(QUERY_Q_COUNTER, IN(query_q_counter_in), query_q_counter),
	READY(ALLOC_PD, 8, alloc_pd),
	READY(DEALLOC_PD, IN(object_in), dealloc_pd),
	READY(ALLOC_UAR, 8, alloc_uar),
	READY(DEALLOC_UAR, IN(object_in), dealloc_uar),
	BOOTED(ACCESS_REG, IN(access_reg_in), access_reg),
	READY(ATTACH_TO_MCG, IN(mcg_in), attach_to_mcg),
	READY(DETACH_FROM_MCG, IN(mcg_in), detach_from_mcg),
	CMD(NOP, 8, ENABLED, false, false, nop),
	READY(ALLOC_XRCD, 8, alloc_xrcd),
	READY(DEALLOC_XRCD, IN(object_in), dealloc_xrcd),
	READY(ALLOC_TRANSPORT_DOMAIN, 8, alloc_transport_domain),
	READY(DEALLOC_TRANSPORT_DOMAIN, IN(object_in), dealloc_transport_domain),
	FUNCTION(SET_L2_TABLE_ENTRY, IN(l2_table_entry_in), set_l2_table_entry),
	FUNCTION(DELETE_L2_TABLE_ENTRY, IN(l2_table_entry_in), delete_l2_table_entry),
	READY(CREATE_TIR, IN(create_tir_in), create_tir),
	READY(MODIFY_TIR, IN(modify_tir_in), modify_tir),
	READY(DESTROY_TIR, IN(object_in), destroy_tir),
	READY(QUERY_TIR, IN(object_in), query_tir),
	READY(CREATE_SQ, IN(create_sq_in), create_sq),
	READY(MODIFY_SQ, IN(modify_sq_in), modify_sq),
	READY(DESTROY_SQ, IN(object_in), destroy_sq),
	READY(QUERY_SQ, IN(object_in), query_sq),
	READY(CREATE_RQ, IN(create_rq_in), create_rq),
	READY(MODIFY_RQ, IN(modify_rq_in), modify_rq),
	READY(DESTROY_RQ, IN(object_in), destroy_rq),
	READY(QUERY_RQ, IN(object_in), query_rq),
	READY(CREATE_RMP, IN(create_rmp_in), create_rmp),
	READY(MODIFY_RMP, IN(modify_rmp_in), modify_rmp),
	READY(DESTROY_RMP, IN(object_in), destroy_rmp),
	READY(QUERY_RMP, IN(object_in), query_rmp),
	READY(CREATE_TIS, IN(create_tis_in), create_tis),
	READY(MODIFY_TIS, IN(modify_tis_in), modify_tis),
	READY(DESTROY_TIS, IN(object_in), destroy_tis),
	READY(QUERY_TIS, IN(object_in), query_tis),
	READY(CREATE_RQT, IN(create_rqt_in), create_rqt),
	READY(MODIFY_RQT, IN(modify_rqt_in), modify_rqt),
	READY(DESTROY_RQT, IN(object_in), destroy_rqt),
	READY(QUERY_RQT, IN(object_in), query_rqt),
	READY(SET_FLOW_TABLE_ROOT, IN(set_flow_table_root_in), set_flow_table_root),
	READY(CREATE_FLOW_TABLE, IN(create_flow_table_in), create_flow_table),
	READY(DESTROY_FLOW_TABLE, IN(flow_table_in), destroy_flow_table),
	READY(QUERY_FLOW_TABLE, IN(flow_table_in), query_flow_table),
	READY(CREATE_FLOW_GROUP, IN(create_flow_group_in), create_flow_group),
	READY(DESTROY_FLOW_GROUP, IN(flow_group_in), destroy_flow_group),
	READY(QUERY_FLOW_GROUP, IN(flow_group_in), query_flow_group),
	READY(SET_FLOW_TABLE_ENTRY, IN(set_fte_in), set_flow_table_entry),
	READY(QUERY_FLOW_TABLE_ENTRY, IN(fte_in), query_flow_table_entry),
	READY(DELETE_FLOW_TABLE_ENTRY, IN(fte_in), delete_flow_table_entry),
	READY(ALLOC_FLOW_COUNTER, IN(alloc_flow_counter_in), alloc_flow_counter),
	READY(DEALLOC_FLOW_COUNTER, IN(flow_counter), dealloc_flow_counter),
	READY(QUERY_FLOW_COUNTER, IN(query_flow_counter_in), query_flow_counter),
	READY(MODIFY_FLOW_TABLE, IN(modify_flow_table_in), modify_flow_table),
	FUNCTION(CREATE_UCTX, IN(create_uctx_in), create_uctx),
	FUNCTION(DESTROY_UCTX, IN(uctx), destroy_uctx),
	READY(CREATE_UMEM, IN(create_umem_in), create_umem),
	READY(DESTROY_UMEM, IN(object_in), destroy_umem),
};
/* clang-format on */

const unsigned int softrnic_cmd_table_size =
	sizeof(softrnic_cmd_table) / sizeof(softrnic_cmd_table[0]);

static const struct softrnic_cmd_desc *
cmd_find(uint16_t opcode)
{
	unsigned int low = 0, high = softrnic_cmd_table_size;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (softrnic_cmd_table[middle].opcode < opcode)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < softrnic_cmd_table_size && softrnic_cmd_table[low].opcode == opcode)
		return &softrnic_cmd_table[low];
	return NULL;
}

/* On behalf of the kernel; of all, which it does, too; or of a user context that there is. */
static bool
cmd_is_for(struct softrnic *dev, const struct softrnic_cmd_desc *desc, uint16_t uid)
{
	if (!softrnic_uid_is_users(uid))
		return true;
	return !desc->of_function && softrnic_object_get(dev, SOFTRNIC_UCTX, uid) != NULL;
}

static int
cmd_run(struct softrnic *dev, struct softrnic_cmd *cmd)
{
	const uint16_t uid = (uint16_t)rnic_cmd_in_get(cmd->in, RNIC_CMD_IN_UID);
	const struct softrnic_cmd_desc *desc = cmd_find(cmd->opcode);
	int status;

	if (desc == NULL)
		return RNIC_STATUS_BAD_OP;
	if (dev->state < desc->state)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (cmd->in_bytes < desc->in_bytes)
		return RNIC_STATUS_BAD_INP_LEN;
	if (desc->needs_boot_pages && !softrnic_pages_booted(dev))
		return RNIC_STATUS_NO_RES;
	if (!cmd_is_for(dev, desc, uid))
		return RNIC_STATUS_BAD_RES;
	status = softrnic_like_refuses(dev, cmd);
	if (status != RNIC_STATUS_OK)
		return status;
	dev->uid = uid;
	status = desc->fn(dev, cmd);
	dev->uid = RNIC_UID_KERNEL;
	return status;
}

int
softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd)
{
	struct rnic_cmd_out *out = cmd->out;
	int status;

	dev->memory_refused = false;
	status = cmd_run(dev, cmd);
	/* It is a limit of the driver's own that it has met, and not that we have none. */
	if (status == RNIC_STATUS_NO_RES && dev->memory_refused)
		status = RNIC_STATUS_LIM;
	if (status != RNIC_STATUS_OK) {
		dev->stats.commands_failed++;
		if (cmd->syndrome == 0)
			cmd->syndrome = (uint32_t)cmd->opcode << 8 | (uint32_t)status;
		SOFTRNIC_LOG(NOTICE, dev,
			     "%s(0x%x) op_mod 0x%x refused: status %s(0x%x), syndrome 0x%x",
			     rnic_cmd_name(cmd->opcode), cmd->opcode, cmd->op_mod,
			     rnic_cmd_status_name(status), status, cmd->syndrome);
		rnic_cmd_out_set(out, RNIC_CMD_OUT_SYNDROME, cmd->syndrome);
	}
	rnic_cmd_out_set(out, RNIC_CMD_OUT_STATUS, status);
	return status;
}
