/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands: cmdq.c runs them, cmd_table.c lists them, and each handler is in the file of its object. */
#ifndef SOFTRNIC_COMMANDS_H
#define SOFTRNIC_COMMANDS_H

#include "softrnic/base/device.h"
#include "prm/cmd_table.h"

struct softrnic_cmd {
	uint16_t opcode, op_mod;
	const void *in; /* one private copy of the whole input; at least the table's in_bytes */
	uint32_t in_bytes;
	void *out; /* zeroed; room for at least 0x2000 bytes or out_bytes, whichever is more */
	uint32_t out_bytes; /* what the driver asked for: the output is cut to it */
	uint32_t syndrome; /* set by a handler that fails: any number that tells the places apart */
	/*
	 * `in` is too long to be copied then and there: a handler may keep it, sets in_kept, counts it (softrnic_memory_take()),
	 * and gives it back by softrnic_free().
	 */
	bool in_keepable, in_kept;
};

/* BAD_PARAM, and why. */
static inline int
softrnic_refuse(const struct softrnic *dev, const struct softrnic_cmd *cmd, const char *why)
{
	SOFTRNIC_LOG(NOTICE, dev, "%s: %s", rnic_cmd_name(cmd->opcode), why);
	return RNIC_STATUS_BAD_PARAM;
}

/* A handler returns an enum rnic_cmd_status; the engine writes status and syndrome. */
#define SOFTRNIC_CMD(name) int softrnic_cmd_##name(struct softrnic *dev, struct softrnic_cmd *cmd)

/* Control plane: hca.c pages.c caps.c small.c mkey.c eq.c tis.c tir.c rqt.c eth/l2.c eth/vport.c eth/reg.c, the folder qp */
SOFTRNIC_CMD(query_hca_cap);
SOFTRNIC_CMD(query_adapter);
SOFTRNIC_CMD(init_hca);
SOFTRNIC_CMD(teardown_hca);
SOFTRNIC_CMD(enable_hca);
SOFTRNIC_CMD(disable_hca);
SOFTRNIC_CMD(query_pages);
SOFTRNIC_CMD(manage_pages);
SOFTRNIC_CMD(set_hca_cap);
SOFTRNIC_CMD(query_issi);
SOFTRNIC_CMD(set_issi);
SOFTRNIC_CMD(nop);
SOFTRNIC_CMD(query_special_contexts);
SOFTRNIC_CMD(create_mkey);
SOFTRNIC_CMD(query_mkey);
SOFTRNIC_CMD(destroy_mkey);
SOFTRNIC_CMD(create_eq);
SOFTRNIC_CMD(destroy_eq);
SOFTRNIC_CMD(query_eq);
SOFTRNIC_CMD(alloc_pd);
SOFTRNIC_CMD(dealloc_pd);
SOFTRNIC_CMD(alloc_uar);
SOFTRNIC_CMD(dealloc_uar);
SOFTRNIC_CMD(alloc_transport_domain);
SOFTRNIC_CMD(dealloc_transport_domain);
SOFTRNIC_CMD(alloc_q_counter);
SOFTRNIC_CMD(dealloc_q_counter);
SOFTRNIC_CMD(query_q_counter);
SOFTRNIC_CMD(create_tis);
SOFTRNIC_CMD(modify_tis);
SOFTRNIC_CMD(destroy_tis);
SOFTRNIC_CMD(query_tis);
SOFTRNIC_CMD(create_tir);
SOFTRNIC_CMD(modify_tir);
SOFTRNIC_CMD(destroy_tir);
SOFTRNIC_CMD(query_tir);
SOFTRNIC_CMD(create_rqt);
SOFTRNIC_CMD(modify_rqt);
SOFTRNIC_CMD(destroy_rqt);
SOFTRNIC_CMD(query_rqt);
SOFTRNIC_CMD(query_vport_state);
SOFTRNIC_CMD(modify_vport_state);
SOFTRNIC_CMD(query_nic_vport_context);
SOFTRNIC_CMD(modify_nic_vport_context);
SOFTRNIC_CMD(query_vport_counter);
SOFTRNIC_CMD(set_l2_table_entry);
SOFTRNIC_CMD(delete_l2_table_entry);
SOFTRNIC_CMD(access_reg);
SOFTRNIC_CMD(create_qp);
SOFTRNIC_CMD(destroy_qp);
SOFTRNIC_CMD(query_qp);
SOFTRNIC_CMD(modify_qp); /* RST2INIT_QP, INIT2RTR_QP, ...: the opcode says which */
SOFTRNIC_CMD(2err_qp);
SOFTRNIC_CMD(2rst_qp);
SOFTRNIC_CMD(create_rmp);
SOFTRNIC_CMD(modify_rmp);
SOFTRNIC_CMD(destroy_rmp);
SOFTRNIC_CMD(query_rmp);
SOFTRNIC_CMD(query_roce_address);
SOFTRNIC_CMD(set_roce_address);
/* Data path: cq.c sq.c rq.c eth/steer.c */
SOFTRNIC_CMD(create_cq);
SOFTRNIC_CMD(destroy_cq);
SOFTRNIC_CMD(query_cq);
SOFTRNIC_CMD(modify_cq);
SOFTRNIC_CMD(create_sq);
SOFTRNIC_CMD(modify_sq);
SOFTRNIC_CMD(destroy_sq);
SOFTRNIC_CMD(query_sq);
SOFTRNIC_CMD(create_rq);
SOFTRNIC_CMD(modify_rq);
SOFTRNIC_CMD(destroy_rq);
SOFTRNIC_CMD(query_rq);
SOFTRNIC_CMD(set_flow_table_root);
SOFTRNIC_CMD(create_flow_table);
SOFTRNIC_CMD(destroy_flow_table);
SOFTRNIC_CMD(query_flow_table);
SOFTRNIC_CMD(modify_flow_table);
SOFTRNIC_CMD(create_flow_group);
SOFTRNIC_CMD(destroy_flow_group);
SOFTRNIC_CMD(query_flow_group);
SOFTRNIC_CMD(set_flow_table_entry);
SOFTRNIC_CMD(query_flow_table_entry);
SOFTRNIC_CMD(delete_flow_table_entry);

/* One row per command that the device knows, in the order of opcodes. */
struct softrnic_cmd_desc {
	uint16_t opcode;
	uint16_t in_bytes; /* a shorter input is BAD_INP_LEN */
	uint8_t state;	   /* enum softrnic_hca_state */
	bool needs_boot_pages;
	const char *name;
	int (*fn)(struct softrnic *dev, struct softrnic_cmd *cmd);
};
extern const struct softrnic_cmd_desc softrnic_cmd_table[];
extern const unsigned int softrnic_cmd_table_size;
/* Look it up, check state and length, run it; the output's header is written in every case. */
int softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd);

#endif
