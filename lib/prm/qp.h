/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs, the memory pools that SRQs are, RoCE addresses: contexts and commands (PRM: "QP Context",
 * "Address Path", "RMP Context", "RoCE Address").
 */
#ifndef RNIC_PRM_QP_H
#define RNIC_PRM_QP_H

#include <stdbool.h>
#include <string.h>

#include "field.h"
#include "queue.h"

/* Address path: the way to the peer. */
#define RNIC_ADS_FIELDS(F)                       \
	F(RNIC_ADS_FL, 0x00, 31, 31)             \
	F(RNIC_ADS_FREE_AR, 0x00, 30, 30)        \
	F(RNIC_ADS_PKEY_INDEX, 0x00, 15, 0)      \
	F(RNIC_ADS_GRH, 0x04, 23, 23)            \
	F(RNIC_ADS_MLID, 0x04, 22, 16)           \
	F(RNIC_ADS_RLID, 0x04, 15, 0)            \
	F(RNIC_ADS_ACK_TIMEOUT, 0x08, 31, 27)    \
	F(RNIC_ADS_SRC_ADDR_INDEX, 0x08, 23, 16) \
	F(RNIC_ADS_STAT_RATE, 0x08, 11, 8)       \
	F(RNIC_ADS_HOP_LIMIT, 0x08, 7, 0)        \
	F(RNIC_ADS_TCLASS, 0x0c, 27, 20)         \
	F(RNIC_ADS_FLOW_LABEL, 0x0c, 19, 0)      \
	F(RNIC_ADS_RGID_RIP_0, 0x10, 63, 0)      \
	F(RNIC_ADS_RGID_RIP_1, 0x18, 63, 0)      \
	F(RNIC_ADS_F_DSCP, 0x20, 27, 27)         \
	F(RNIC_ADS_F_ECN, 0x20, 26, 26)          \
	F(RNIC_ADS_F_ETH_PRIO, 0x20, 24, 24)     \
	F(RNIC_ADS_ECN, 0x20, 23, 22)            \
	F(RNIC_ADS_DSCP, 0x20, 21, 16)           \
	F(RNIC_ADS_UDP_SPORT, 0x20, 15, 0)       \
	F(RNIC_ADS_DEI_CFI, 0x24, 31, 31)        \
	F(RNIC_ADS_ETH_PRIO, 0x24, 30, 28)       \
	F(RNIC_ADS_SL, 0x24, 27, 24)             \
	F(RNIC_ADS_VHCA_PORT_NUM, 0x24, 23, 16)  \
	F(RNIC_ADS_RMAC_47_32, 0x24, 15, 0)      \
	F(RNIC_ADS_RMAC_31_0, 0x28, 31, 0)
RNIC_LAYOUT(ads, ADS, 0x2c)

/* Queue pair context. */
#define RNIC_QPC_FIELDS(F)                            \
	F(RNIC_QPC_STATE, 0x00, 31, 28)               \
	F(RNIC_QPC_ST, 0x00, 23, 16)                  \
	F(RNIC_QPC_PM_STATE, 0x00, 12, 11)            \
	F(RNIC_QPC_OFFLOAD_TYPE, 0x00, 7, 4)          \
	F(RNIC_QPC_END_PADDING_MODE, 0x00, 3, 2)      \
	F(RNIC_QPC_WQ_SIGNATURE, 0x04, 31, 31)        \
	F(RNIC_QPC_BLOCK_LB_MC, 0x04, 30, 30)         \
	F(RNIC_QPC_PD, 0x04, 23, 0)                   \
	F(RNIC_QPC_MTU, 0x08, 31, 29)                 \
	F(RNIC_QPC_LOG_MSG_MAX, 0x08, 28, 24)         \
	F(RNIC_QPC_LOG_RQ_SIZE, 0x08, 22, 19)         \
	F(RNIC_QPC_LOG_RQ_STRIDE, 0x08, 18, 16)       \
	F(RNIC_QPC_NO_SQ, 0x08, 15, 15)               \
	F(RNIC_QPC_LOG_SQ_SIZE, 0x08, 14, 11)         \
	F(RNIC_QPC_TS_FORMAT, 0x08, 7, 6)             \
	F(RNIC_QPC_RLKY, 0x08, 4, 4)                  \
	F(RNIC_QPC_COUNTER_SET_ID, 0x0c, 31, 24)      \
	F(RNIC_QPC_UAR_PAGE, 0x0c, 23, 0)             \
	F(RNIC_QPC_USER_INDEX, 0x10, 23, 0)           \
	F(RNIC_QPC_LOG_PAGE_SIZE, 0x14, 28, 24)       \
	F(RNIC_QPC_REMOTE_QPN, 0x14, 23, 0)           \
	F(RNIC_QPC_LOG_ACK_REQ_FREQ, 0x70, 31, 28)    \
	F(RNIC_QPC_LOG_SRA_MAX, 0x70, 23, 21)         \
	F(RNIC_QPC_RETRY_COUNT, 0x70, 18, 16)         \
	F(RNIC_QPC_RNR_RETRY, 0x70, 15, 13)           \
	F(RNIC_QPC_FRE, 0x70, 11, 11)                 \
	F(RNIC_QPC_NEXT_SEND_PSN, 0x78, 23, 0)        \
	F(RNIC_QPC_CQN_SND, 0x7c, 23, 0)              \
	F(RNIC_QPC_DETH_SQPN, 0x80, 23, 0)            \
	F(RNIC_QPC_LAST_ACKED_PSN, 0x88, 23, 0)       \
	F(RNIC_QPC_SSN, 0x8c, 23, 0)                  \
	F(RNIC_QPC_LOG_RRA_MAX, 0x90, 23, 21)         \
	F(RNIC_QPC_ATOMIC_MODE, 0x90, 19, 16)         \
	F(RNIC_QPC_RRE, 0x90, 15, 15)                 \
	F(RNIC_QPC_RWE, 0x90, 14, 14)                 \
	F(RNIC_QPC_RAE, 0x90, 13, 13)                 \
	F(RNIC_QPC_PAGE_OFFSET, 0x90, 11, 6)          \
	F(RNIC_QPC_MIN_RNR_NAK, 0x94, 28, 24)         \
	F(RNIC_QPC_NEXT_RCV_PSN, 0x94, 23, 0)         \
	F(RNIC_QPC_XRCD, 0x98, 23, 0)                 \
	F(RNIC_QPC_CQN_RCV, 0x9c, 23, 0)              \
	F(RNIC_QPC_DBR_ADDR, 0xa0, 63, 0)             \
	F(RNIC_QPC_Q_KEY, 0xa8, 31, 0)                \
	F(RNIC_QPC_RQ_TYPE, 0xac, 26, 24)             \
	F(RNIC_QPC_SRQN_RMPN_XRQN, 0xac, 23, 0)       \
	F(RNIC_QPC_RMSN, 0xb0, 23, 0)                 \
	F(RNIC_QPC_HW_SQ_WQEBB_COUNTER, 0xb4, 31, 16) \
	F(RNIC_QPC_SW_SQ_WQEBB_COUNTER, 0xb4, 15, 0)  \
	F(RNIC_QPC_HW_RQ_COUNTER, 0xb8, 31, 0)        \
	F(RNIC_QPC_SW_RQ_COUNTER, 0xbc, 31, 0)        \
	F(RNIC_QPC_CS_REQ, 0xc4, 15, 8)               \
	F(RNIC_QPC_CS_RES, 0xc4, 7, 0)                \
	F(RNIC_QPC_DBR_UMEM_VALID, 0xd0, 28, 28)      \
	F(RNIC_QPC_DBR_UMEM_ID, 0xe4, 31, 0)
RNIC_LAYOUT(qpc, QPC, 0xe8)
RNIC_INNER(qpc, ads, primary_address_path, 0x18)
RNIC_INNER(qpc, ads, secondary_address_path, 0x44)

enum rnic_qp_st {
	RNIC_QP_ST_RC = 0x0,
	RNIC_QP_ST_UC = 0x1,
	RNIC_QP_ST_UD = 0x2,
	RNIC_QP_ST_XRC = 0x3,
	RNIC_QP_ST_QP1 = 0x8,
	RNIC_QP_ST_REG_UMR = 0xc,
};

enum rnic_qp_state {
	RNIC_QP_STATE_RST = 0,
	RNIC_QP_STATE_INIT = 1,
	RNIC_QP_STATE_RTR = 2,
	RNIC_QP_STATE_RTS = 3,
	RNIC_QP_STATE_SQER = 4,
	RNIC_QP_STATE_SQD = 5,
	RNIC_QP_STATE_ERR = 6,
	RNIC_QP_STATE_SQ_DRAINING = 7, /* on its way to SQD */
};

#define RNIC_QP_PM_STATE_MIGRATED 3

/* Of QP1, whose number on the wire is 1 whatever CREATE_QP gave: its Q_Key is everybody's. */
#define RNIC_QP1_QPN  1
#define RNIC_QP1_QKEY 0x80010000u

enum rnic_qp_rq_type {
	RNIC_QP_RQ = 0,
	RNIC_QP_SRQ = 1,
	RNIC_QP_ZERO_SIZE_RQ = 3,
};

/* mtu: the payload of a full packet. */
enum rnic_qp_mtu {
	RNIC_QP_MTU_256 = 1,
	RNIC_QP_MTU_512 = 2,
	RNIC_QP_MTU_1024 = 3,
	RNIC_QP_MTU_2048 = 4,
	RNIC_QP_MTU_4096 = 5,
};
#define RNIC_QP_MTU_BYTES(mtu) (UINT32_C(128) << (mtu))
/*
 * What a port's MTU must have beside a path's: IPv6, UDP, BTH, the longest headers behind it, and the ICRC. As Linux reckons
 * (iboe_get_mtu()): with those of XRC and atomics, although no packet has all of them and a payload.
 */
#define RNIC_ROCE_MTU_OVERHEAD (40 + 8 + 12 + 4 + 28 + 4)

/* atomic_mode: how large the operands of atomics may be. */
enum rnic_qp_atomic_mode {
	RNIC_QP_ATOMIC_MODE_NONE = 0,
	RNIC_QP_ATOMIC_MODE_IB_SPEC = 1, /* 8 bytes */
};

/* opt_param_mask of the commands that change a QP: what they change of what they need not. */
enum rnic_qp_opt_param {
	RNIC_QP_OPT_RRE = 1 << 1,
	RNIC_QP_OPT_RAE = 1 << 2,
	RNIC_QP_OPT_RWE = 1 << 3,
	RNIC_QP_OPT_PKEY_INDEX = 1 << 4,
	RNIC_QP_OPT_Q_KEY = 1 << 5,
	RNIC_QP_OPT_RNR_TIMEOUT = 1 << 6,
	RNIC_QP_OPT_PRIMARY_ADDR_PATH = 1 << 7,
	RNIC_QP_OPT_SRA_MAX = 1 << 8,
	RNIC_QP_OPT_RRA_MAX = 1 << 9,
	RNIC_QP_OPT_PM_STATE = 1 << 10,
	RNIC_QP_OPT_RETRY_COUNT = 1 << 12,
	RNIC_QP_OPT_RNR_RETRY = 1 << 13,
	RNIC_QP_OPT_ACK_TIMEOUT = 1 << 14,
	RNIC_QP_OPT_PRI_PORT = 1 << 16,
	RNIC_QP_OPT_COUNTER_SET_ID = 1 << 25,
};

/* CREATE_QP; page addresses follow: of the receive ring, then the send ring. */
#define RNIC_CREATE_QP_IN_FIELDS(F)                       \
	F(RNIC_CREATE_QP_IN_OPT_PARAM_MASK, 0x10, 31, 0)  \
	F(RNIC_CREATE_QP_IN_WQ_UMEM_OFFSET, 0x100, 63, 0) \
	F(RNIC_CREATE_QP_IN_WQ_UMEM_ID, 0x108, 31, 0)     \
	F(RNIC_CREATE_QP_IN_WQ_UMEM_VALID, 0x10c, 31, 31)
RNIC_LAYOUT(create_qp_in, CREATE_QP_IN, 0x110)
RNIC_INNER(create_qp_in, qpc, qpc, 0x18)

/* RST2INIT_QP, INIT2RTR_QP, ... */
#define RNIC_MODIFY_QP_IN_FIELDS(F)           \
	F(RNIC_MODIFY_QP_IN_QPN, 0x08, 23, 0) \
	F(RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, 0x10, 31, 0)
RNIC_LAYOUT(modify_qp_in, MODIFY_QP_IN, 0x110)
RNIC_INNER(modify_qp_in, qpc, qpc, 0x18)

/* ATTACH_TO_MCG, DETACH_FROM_MCG: a queue pair and a group's address. */
#define RNIC_MCG_IN_FIELDS(F)                       \
	F(RNIC_MCG_IN_QPN, 0x08, 23, 0)             \
	F(RNIC_MCG_IN_MULTICAST_GID_0, 0x10, 63, 0) \
	F(RNIC_MCG_IN_MULTICAST_GID_1, 0x18, 63, 0)
RNIC_LAYOUT(mcg_in, MCG_IN, 0x20)

#define RNIC_QUERY_QP_OUT_FIELDS(F) F(RNIC_QUERY_QP_OUT_OPT_PARAM_MASK, 0x10, 31, 0)
RNIC_LAYOUT(query_qp_out, QUERY_QP_OUT, 0x110)
RNIC_INNER(query_qp_out, qpc, qpc, 0x18)

/* Receive memory pool context: a receive queue of many, linked or cyclic. */
#define RNIC_RMPC_FIELDS(F)              \
	F(RNIC_RMPC_STATE, 0x00, 23, 20) \
	F(RNIC_RMPC_BASIC_CYCLIC_RCV_WQE, 0x04, 31, 31)
RNIC_LAYOUT(rmpc, RMPC, 0xf0)
RNIC_INNER(rmpc, wq, wq, 0x30)

/* Page addresses follow. */
RNIC_FRAME(create_rmp_in, 0x110)
RNIC_INNER(create_rmp_in, rmpc, rmpc, 0x20)

#define RNIC_MODIFY_RMP_IN_FIELDS(F)                  \
	F(RNIC_MODIFY_RMP_IN_RMP_STATE, 0x08, 31, 28) \
	F(RNIC_MODIFY_RMP_IN_RMPN, 0x08, 23, 0)       \
	F(RNIC_MODIFY_RMP_IN_BITMASK, 0x10, 63, 0)
RNIC_LAYOUT(modify_rmp_in, MODIFY_RMP_IN, 0x110)
RNIC_INNER(modify_rmp_in, rmpc, rmpc, 0x20)

#define RNIC_MODIFY_RMP_LWM (1u << 0)

RNIC_FRAME(query_rmp_out, 0x110)
RNIC_INNER(query_rmp_out, rmpc, rmpc, 0x20)

/* A shared receive queue of an XRC domain: WQEs as those of a pool, linked or cyclic, and a CQ of its own. */
#define RNIC_XRC_SRQC_FIELDS(F)                                  \
	F(RNIC_XRC_SRQC_STATE, 0x00, 31, 28)                     \
	F(RNIC_XRC_SRQC_LOG_XRC_SRQ_SIZE, 0x00, 27, 24)          \
	F(RNIC_XRC_SRQC_WQ_SIGNATURE, 0x04, 31, 31)              \
	F(RNIC_XRC_SRQC_CONT_SRQ, 0x04, 30, 30)                  \
	F(RNIC_XRC_SRQC_RLKY, 0x04, 28, 28)                      \
	F(RNIC_XRC_SRQC_BASIC_CYCLIC_RCV_WQE, 0x04, 27, 27)      \
	F(RNIC_XRC_SRQC_LOG_RQ_STRIDE, 0x04, 26, 24)             \
	F(RNIC_XRC_SRQC_XRCD, 0x04, 23, 0)                       \
	F(RNIC_XRC_SRQC_PAGE_OFFSET, 0x08, 31, 26)               \
	F(RNIC_XRC_SRQC_DBR_UMEM_VALID, 0x08, 24, 24)            \
	F(RNIC_XRC_SRQC_CQN, 0x08, 23, 0)                        \
	F(RNIC_XRC_SRQC_USER_INDEX_EQUAL_XRC_SRQN, 0x10, 31, 31) \
	F(RNIC_XRC_SRQC_LOG_PAGE_SIZE, 0x10, 29, 24)             \
	F(RNIC_XRC_SRQC_USER_INDEX, 0x10, 23, 0)                 \
	F(RNIC_XRC_SRQC_PD, 0x18, 23, 0)                         \
	F(RNIC_XRC_SRQC_LWM, 0x1c, 31, 16)                       \
	F(RNIC_XRC_SRQC_WQE_CNT, 0x1c, 15, 0)                    \
	F(RNIC_XRC_SRQC_DBR_ADDR, 0x28, 63, 0)
RNIC_LAYOUT(xrc_srqc, XRC_SRQC, 0x40)

enum rnic_xrc_srqc_state {
	RNIC_XRC_SRQC_STATE_GOOD = 0,
	RNIC_XRC_SRQC_STATE_ERROR = 1,
};

/* Page addresses follow. */
#define RNIC_CREATE_XRC_SRQ_IN_FIELDS(F) F(RNIC_CREATE_XRC_SRQ_IN_XRC_SRQ_UMEM_VALID, 0x5c, 31, 31)
RNIC_LAYOUT(create_xrc_srq_in, CREATE_XRC_SRQ_IN, 0x110)
RNIC_INNER(create_xrc_srq_in, xrc_srqc, xrc_srqc, 0x10)

RNIC_FRAME(query_xrc_srq_out, 0x110)
RNIC_INNER(query_xrc_srq_out, xrc_srqc, xrc_srqc, 0x10)

/* Another limit of an XRC SRQ, by op_mod. */
#define RNIC_ARM_XRC_SRQ_IN_FIELDS(F)                \
	F(RNIC_ARM_XRC_SRQ_IN_XRC_SRQN, 0x08, 23, 0) \
	F(RNIC_ARM_XRC_SRQ_IN_LWM, 0x0c, 15, 0)
RNIC_LAYOUT(arm_xrc_srq_in, ARM_XRC_SRQ_IN, 0x10)

#define RNIC_ARM_XRC_SRQ_OP_MOD 1

/* An entry of the RoCE address table. */
#define RNIC_ROCE_ADDR_FIELDS(F)                           \
	F(RNIC_ROCE_ADDR_SOURCE_L3_ADDRESS_0, 0x00, 63, 0) \
	F(RNIC_ROCE_ADDR_SOURCE_L3_ADDRESS_1, 0x08, 63, 0) \
	F(RNIC_ROCE_ADDR_VLAN_VALID, 0x10, 28, 28)         \
	F(RNIC_ROCE_ADDR_VLAN_ID, 0x10, 27, 16)            \
	F(RNIC_ROCE_ADDR_SOURCE_MAC_47_32, 0x10, 15, 0)    \
	F(RNIC_ROCE_ADDR_SOURCE_MAC_31_0, 0x14, 31, 0)     \
	F(RNIC_ROCE_ADDR_ROCE_L3_TYPE, 0x18, 11, 8)        \
	F(RNIC_ROCE_ADDR_ROCE_VERSION, 0x18, 7, 0)
RNIC_LAYOUT(roce_addr, ROCE_ADDR, 0x20)

/* The GID that stands for an IPv4 address, ::ffff:a.b.c.d. */
static inline void
rnic_gid_set_ipv4(uint8_t gid[16], const uint8_t address[4])
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, address, 4);
}

/* Are their first bits the same? */
static inline bool
rnic_gid_shares(const uint8_t a[16], const uint8_t b[16], unsigned int bits)
{
	const unsigned int bytes = bits / 8, rest = bits % 8;

	return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* Does it stand for one? */
static inline bool
rnic_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

enum rnic_roce_version {
	RNIC_ROCE_VERSION_1 = 0,
	RNIC_ROCE_VERSION_2 = 2,
};

enum rnic_roce_l3_type {
	RNIC_ROCE_L3_TYPE_IPV4 = 0,
	RNIC_ROCE_L3_TYPE_IPV6 = 1,
};

/* QUERY_ROCE_ADDRESS and the header of SET_ROCE_ADDRESS. */
#define RNIC_QUERY_ROCE_ADDRESS_IN_FIELDS(F)                           \
	F(RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, 0x08, 31, 16) \
	F(RNIC_QUERY_ROCE_ADDRESS_IN_VHCA_PORT_NUM, 0x08, 3, 0)
RNIC_LAYOUT(query_roce_address_in, QUERY_ROCE_ADDRESS_IN, 0x10)

RNIC_FRAME(query_roce_address_out, 0x30)
RNIC_INNER(query_roce_address_out, roce_addr, roce_address, 0x10)

#define RNIC_SET_ROCE_ADDRESS_IN_FIELDS(F)                           \
	F(RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, 0x08, 31, 16) \
	F(RNIC_SET_ROCE_ADDRESS_IN_VHCA_PORT_NUM, 0x08, 3, 0)
RNIC_LAYOUT(set_roce_address_in, SET_ROCE_ADDRESS_IN, 0x30)
RNIC_INNER(set_roce_address_in, roce_addr, roce_address, 0x10)

#endif
