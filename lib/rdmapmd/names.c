/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers in words. */

#include <rte_common.h>

#include "rdmapmd.h"

static const char *
name_of(const char *const *names, unsigned int count, unsigned int value)
{
	return value < count && names[value] != NULL ? names[value] : "unknown";
}

const char *
rdmapmd_wc_status_str(enum rdmapmd_wc_status status)
{
	static const char *const names[] = {
		[RDMAPMD_WC_SUCCESS] = "success",
		[RDMAPMD_WC_LOC_LEN_ERR] = "local length error",
		[RDMAPMD_WC_LOC_QP_OP_ERR] = "local QP operation error",
		[RDMAPMD_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
		[RDMAPMD_WC_LOC_PROT_ERR] = "local protection error",
		[RDMAPMD_WC_WR_FLUSH_ERR] = "work request flushed error",
		[RDMAPMD_WC_MW_BIND_ERR] = "memory window bind error",
		[RDMAPMD_WC_BAD_RESP_ERR] = "bad response error",
		[RDMAPMD_WC_LOC_ACCESS_ERR] = "local access error",
		[RDMAPMD_WC_REM_INV_REQ_ERR] = "remote invalid request error",
		[RDMAPMD_WC_REM_ACCESS_ERR] = "remote access error",
		[RDMAPMD_WC_REM_OP_ERR] = "remote operation error",
		[RDMAPMD_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
		[RDMAPMD_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
		[RDMAPMD_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
		[RDMAPMD_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
		[RDMAPMD_WC_REM_ABORT_ERR] = "aborted error",
		[RDMAPMD_WC_INV_EECN_ERR] = "invalid EE context number",
		[RDMAPMD_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
		[RDMAPMD_WC_FATAL_ERR] = "fatal error",
		[RDMAPMD_WC_RESP_TIMEOUT_ERR] = "response timeout error",
		[RDMAPMD_WC_GENERAL_ERR] = "general error",
	};

	return name_of(names, RTE_DIM(names), (unsigned int)status);
}

const char *
rdmapmd_qp_state_str(enum rdmapmd_qp_state state)
{
	static const char *const names[] = {
		[RDMAPMD_QPS_RESET] = "RESET", [RDMAPMD_QPS_INIT] = "INIT",
		[RDMAPMD_QPS_RTR] = "RTR",     [RDMAPMD_QPS_RTS] = "RTS",
		[RDMAPMD_QPS_SQD] = "SQD",     [RDMAPMD_QPS_SQE] = "SQE",
		[RDMAPMD_QPS_ERR] = "ERR",
	};

	return name_of(names, RTE_DIM(names), (unsigned int)state);
}

const char *
rdmapmd_event_type_str(enum rdmapmd_event_type type)
{
	static const char *const names[RDMAPMD_EVENT_COUNT] = {
		[RDMAPMD_EVENT_CQ_ERR] = "CQ error",
		[RDMAPMD_EVENT_QP_FATAL] = "local work queue catastrophic error",
		[RDMAPMD_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
		[RDMAPMD_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
		[RDMAPMD_EVENT_COMM_EST] = "communication established",
		[RDMAPMD_EVENT_SQ_DRAINED] = "send queue drained",
		[RDMAPMD_EVENT_PATH_MIG] = "path migrated",
		[RDMAPMD_EVENT_PATH_MIG_ERR] = "path migration request error",
		[RDMAPMD_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
		[RDMAPMD_EVENT_SRQ_ERR] = "SRQ catastrophic error",
		[RDMAPMD_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
		[RDMAPMD_EVENT_PORT_ACTIVE] = "port active",
		[RDMAPMD_EVENT_PORT_ERR] = "port error",
		[RDMAPMD_EVENT_GID_CHANGE] = "GID table change",
		[RDMAPMD_EVENT_RESOLVED] = "address resolved",
		[RDMAPMD_EVENT_DEVICE_FATAL] = "local catastrophic error",
	};

	return name_of(names, RTE_DIM(names), (unsigned int)type);
}
