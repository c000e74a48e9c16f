/* SPDX-License-Identifier: BSD-3-Clause */

#include "cmd_table.h"
#include "cmdq.h"
#include "cqe.h"
#include "reg.h"
#include "wqe.h"

#define UNKNOWN "unknown"

const char *
rnic_cmd_name(uint32_t opcode)
{
	const struct rnic_cmd_desc *cmd = rnic_cmd_find(opcode);

	return cmd != NULL ? cmd->name : UNKNOWN;
}

const char *
rnic_cmd_status_name(uint32_t status)
{
	switch (status) {
	case RNIC_STATUS_OK: return "ok";
	case RNIC_STATUS_INTERNAL_ERR: return "internal error";
	case RNIC_STATUS_BAD_OP: return "bad operation";
	case RNIC_STATUS_BAD_PARAM: return "bad parameter";
	case RNIC_STATUS_BAD_SYS_STATE: return "bad system state";
	case RNIC_STATUS_BAD_RES: return "bad resource";
	case RNIC_STATUS_RES_BUSY: return "resource busy";
	case RNIC_STATUS_LIM: return "limit exceeded";
	case RNIC_STATUS_BAD_RES_STATE: return "bad resource state";
	case RNIC_STATUS_BAD_INDEX: return "bad index";
	case RNIC_STATUS_NO_RES: return "no resources";
	case RNIC_STATUS_BAD_QP_STATE: return "bad QP state";
	case RNIC_STATUS_BAD_SIZE_OUTS_CQES: return "more completions wait than would fit";
	case RNIC_STATUS_BAD_INP_LEN: return "bad input length";
	case RNIC_STATUS_BAD_OUTP_LEN: return "bad output length";
	default: return UNKNOWN;
	}
}

const char *
rnic_delivery_status_name(uint32_t status)
{
	switch (status) {
	case RNIC_DELIVERY_OK: return "no errors";
	case RNIC_DELIVERY_SIGNATURE_ERR: return "signature error";
	case RNIC_DELIVERY_TOKEN_ERR: return "token error";
	case RNIC_DELIVERY_BLOCK_NUMBER_ERR: return "bad block number";
	case RNIC_DELIVERY_OUTPUT_POINTER_ERR: return "bad output pointer";
	case RNIC_DELIVERY_INPUT_POINTER_ERR: return "bad input pointer";
	case RNIC_DELIVERY_INTERNAL_ERR: return "internal error";
	case RNIC_DELIVERY_INPUT_LENGTH_ERR: return "bad input length";
	case RNIC_DELIVERY_OUTPUT_LENGTH_ERR: return "bad output length";
	case RNIC_DELIVERY_RESERVED_NOT_ZERO: return "reserved field not zero";
	case RNIC_DELIVERY_TYPE_ERR: return "bad command type";
	default: return UNKNOWN;
	}
}

const char *
rnic_cap_type_name(uint32_t type)
{
	switch (type) {
	case RNIC_CAP_GENERAL: return "general";
	case RNIC_CAP_ETHERNET_OFFLOADS: return "Ethernet offloads";
	case RNIC_CAP_ODP: return "on-demand paging";
	case RNIC_CAP_ATOMIC: return "atomic";
	case RNIC_CAP_ROCE: return "RoCE";
	case RNIC_CAP_FLOW_TABLE: return "flow table";
	case RNIC_CAP_ESWITCH_FLOW_TABLE: return "eswitch flow table";
	case RNIC_CAP_ESWITCH: return "eswitch";
	default: return UNKNOWN;
	}
}

const char *
rnic_reg_name(uint32_t register_id)
{
	switch (register_id) {
	case RNIC_REG_PMTU: return "PMTU";
	case RNIC_REG_PTYS: return "PTYS";
	case RNIC_REG_PAOS: return "PAOS";
	case RNIC_REG_PFCC: return "PFCC";
	case RNIC_REG_PPCNT: return "PPCNT";
	case RNIC_REG_PCMR: return "PCMR";
	case RNIC_REG_NODE_DESC: return "NODE_DESC";
	case RNIC_REG_HOST_ENDIANNESS: return "HOST_ENDIANNESS";
	default: return UNKNOWN;
	}
}

const char *
rnic_event_name(uint32_t type)
{
	switch (type) {
	case RNIC_EVENT_COMPLETION: return "completion";
	case RNIC_EVENT_PATH_MIGRATED: return "path migrated";
	case RNIC_EVENT_COMM_ESTABLISHED: return "communication established";
	case RNIC_EVENT_SQ_DRAINED: return "send queue drained";
	case RNIC_EVENT_CQ_ERROR: return "CQ error";
	case RNIC_EVENT_WQ_CATASTROPHIC: return "work queue catastrophic error";
	case RNIC_EVENT_PORT_CHANGE: return "port state change";
	case RNIC_EVENT_COMMAND: return "command completion";
	case RNIC_EVENT_PAGE_REQUEST: return "page request";
	case RNIC_EVENT_PAGE_FAULT: return "page fault";
	case RNIC_EVENT_NIC_VPORT_CHANGE: return "NIC vport change";
	case RNIC_EVENT_WQ_INVALID_REQUEST: return "work queue invalid request";
	case RNIC_EVENT_WQ_ACCESS_ERROR: return "work queue access error";
	case RNIC_EVENT_SRQ_CATASTROPHIC: return "SRQ catastrophic error";
	case RNIC_EVENT_SRQ_LAST_WQE: return "SRQ last WQE";
	case RNIC_EVENT_SRQ_LIMIT: return "SRQ limit";
	case RNIC_EVENT_PORT_MODULE: return "port module";
	case RNIC_EVENT_TEMP_WARN: return "temperature warning";
	default: return UNKNOWN;
	}
}

const char *
rnic_wqe_opcode_name(uint32_t opcode)
{
	switch (opcode) {
	case RNIC_WQE_NOP: return "NOP";
	case RNIC_WQE_SEND_INVAL: return "SEND_INVAL";
	case RNIC_WQE_RDMA_WRITE: return "RDMA_WRITE";
	case RNIC_WQE_RDMA_WRITE_IMM: return "RDMA_WRITE_IMM";
	case RNIC_WQE_SEND: return "SEND";
	case RNIC_WQE_SEND_IMM: return "SEND_IMM";
	case RNIC_WQE_LSO: return "LSO";
	case RNIC_WQE_RDMA_READ: return "RDMA_READ";
	case RNIC_WQE_ATOMIC_CS: return "ATOMIC_CS";
	case RNIC_WQE_ATOMIC_FA: return "ATOMIC_FA";
	case RNIC_WQE_UMR: return "UMR";
	case RNIC_WQE_ENHANCED_MPSW: return "ENHANCED_MPSW";
	default: return UNKNOWN;
	}
}

const char *
rnic_cqe_opcode_name(uint32_t opcode)
{
	switch (opcode) {
	case RNIC_CQE_REQUESTER: return "requester";
	case RNIC_CQE_RESPONDER_WRITE_IMM: return "responder RDMA write with immediate";
	case RNIC_CQE_RESPONDER_SEND: return "responder send";
	case RNIC_CQE_RESPONDER_SEND_IMM: return "responder send with immediate";
	case RNIC_CQE_RESPONDER_SEND_INVAL: return "responder send with invalidate";
	case RNIC_CQE_RESIZE: return "resize";
	case RNIC_CQE_REQUESTER_ERROR: return "requester error";
	case RNIC_CQE_RESPONDER_ERROR: return "responder error";
	case RNIC_CQE_INVALID: return "invalid";
	default: return UNKNOWN;
	}
}

const char *
rnic_cqe_syndrome_name(uint32_t syndrome)
{
	switch (syndrome) {
	case RNIC_SYND_LOCAL_LENGTH: return "local length error";
	case RNIC_SYND_LOCAL_QP_OPERATION: return "local QP operation error";
	case RNIC_SYND_LOCAL_PROTECTION: return "local protection error";
	case RNIC_SYND_WR_FLUSHED: return "work request flushed";
	case RNIC_SYND_MW_BIND: return "memory window bind error";
	case RNIC_SYND_BAD_RESPONSE: return "bad response";
	case RNIC_SYND_LOCAL_ACCESS: return "local access error";
	case RNIC_SYND_REMOTE_INVALID_REQUEST: return "remote invalid request";
	case RNIC_SYND_REMOTE_ACCESS: return "remote access error";
	case RNIC_SYND_REMOTE_OPERATION: return "remote operation error";
	case RNIC_SYND_RETRY_EXCEEDED: return "transport retries exceeded";
	case RNIC_SYND_RNR_RETRY_EXCEEDED: return "RNR retries exceeded";
	case RNIC_SYND_REMOTE_ABORTED: return "remote aborted";
	default: return UNKNOWN;
	}
}
