/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * HCA capabilities (PRM: "HCA Capabilities"): what QUERY_HCA_CAP answers and SET_HCA_CAP asks for,
 * one layout per type. Offsets count from the capability, which stands at RNIC_HCA_CAP_OFFSET in
 * both.
 */
#ifndef RNIC_PRM_CAPS_H
#define RNIC_PRM_CAPS_H

#include "field.h"

/*
 * General device capabilities. A name with LOG is a power of two. fast_teardown stands at 0x1c,
 * where Linux reads it; rdma-core looks for it at 0x20[14].
 */
#define RNIC_GENERAL_CAP_FIELDS(F)                                             \
	F(RNIC_GENERAL_CAP_HCA_CAP_2, 0x04, 31, 31)                            \
	F(RNIC_GENERAL_CAP_VHCA_ID, 0x04, 15, 0)                               \
	F(RNIC_GENERAL_CAP_QP_DATA_IN_ORDER, 0x0c, 29, 29)                     \
	F(RNIC_GENERAL_CAP_LOG_MAX_SRQ_SZ, 0x10, 31, 24)                       \
	F(RNIC_GENERAL_CAP_LOG_MAX_QP_SZ, 0x10, 23, 16)                        \
	F(RNIC_GENERAL_CAP_EVENT_CAP, 0x10, 15, 15)                            \
	F(RNIC_GENERAL_CAP_ISOLATE_VL_TC_NEW, 0x10, 12, 12)                    \
	F(RNIC_GENERAL_CAP_PRIO_TAG_REQUIRED, 0x10, 7, 7)                      \
	F(RNIC_GENERAL_CAP_LOG_MAX_QP, 0x10, 4, 0)                             \
	F(RNIC_GENERAL_CAP_REG_C_PRESERVE, 0x14, 22, 22)                       \
	F(RNIC_GENERAL_CAP_LOG_MAX_SRQ, 0x14, 20, 16)                          \
	F(RNIC_GENERAL_CAP_UPLINK_FOLLOW, 0x14, 14, 14)                        \
	F(RNIC_GENERAL_CAP_TS_CQE_TO_DEST_CQN, 0x14, 13, 13)                   \
	F(RNIC_GENERAL_CAP_MAX_SGL_FOR_OPTIMIZED_PERFORMANCE, 0x18, 31, 24)    \
	F(RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ, 0x18, 23, 16)                        \
	F(RNIC_GENERAL_CAP_RELAXED_ORDERING_WRITE_UMR, 0x18, 15, 15)           \
	F(RNIC_GENERAL_CAP_RELAXED_ORDERING_READ_UMR, 0x18, 14, 14)            \
	F(RNIC_GENERAL_CAP_LOG_MAX_CQ, 0x18, 4, 0)                             \
	F(RNIC_GENERAL_CAP_LOG_MAX_EQ_SZ, 0x1c, 31, 24)                        \
	F(RNIC_GENERAL_CAP_RELAXED_ORDERING_WRITE, 0x1c, 23, 23)               \
	F(RNIC_GENERAL_CAP_RELAXED_ORDERING_READ, 0x1c, 22, 22)                \
	F(RNIC_GENERAL_CAP_LOG_MAX_MKEY, 0x1c, 21, 16)                         \
	F(RNIC_GENERAL_CAP_DUMP_FILL_MKEY, 0x1c, 7, 7)                         \
	F(RNIC_GENERAL_CAP_FAST_TEARDOWN, 0x1c, 4, 4)                          \
	F(RNIC_GENERAL_CAP_LOG_MAX_EQ, 0x1c, 3, 0)                             \
	F(RNIC_GENERAL_CAP_MAX_INDIRECTION, 0x20, 31, 24)                      \
	F(RNIC_GENERAL_CAP_FIXED_BUFFER_SIZE, 0x20, 23, 23)                    \
	F(RNIC_GENERAL_CAP_LOG_MAX_MRW_SZ, 0x20, 22, 16)                       \
	F(RNIC_GENERAL_CAP_FORCE_TEARDOWN, 0x20, 15, 15)                       \
	F(RNIC_GENERAL_CAP_LOG_MAX_BSF_LIST_SIZE, 0x20, 13, 8)                 \
	F(RNIC_GENERAL_CAP_UMR_EXTENDED_TRANSLATION_OFFSET, 0x20, 7, 7)        \
	F(RNIC_GENERAL_CAP_NULL_MKEY, 0x20, 6, 6)                              \
	F(RNIC_GENERAL_CAP_LOG_MAX_KLM_LIST_SIZE, 0x20, 5, 0)                  \
	F(RNIC_GENERAL_CAP_QPC_EXTENSION, 0x24, 29, 29)                        \
	F(RNIC_GENERAL_CAP_LOG_MAX_RA_REQ_DC, 0x24, 21, 16)                    \
	F(RNIC_GENERAL_CAP_ETH_WQE_TOO_SMALL, 0x24, 13, 13)                    \
	F(RNIC_GENERAL_CAP_VNIC_ENV_CQ_OVERRUN, 0x24, 6, 6)                    \
	F(RNIC_GENERAL_CAP_LOG_MAX_RA_RES_DC, 0x24, 5, 0)                      \
	F(RNIC_GENERAL_CAP_RELEASE_ALL_PAGES, 0x28, 26, 26)                    \
	F(RNIC_GENERAL_CAP_SIG_CRC64_XP10, 0x28, 24, 24)                       \
	F(RNIC_GENERAL_CAP_SIG_CRC32C, 0x28, 23, 23)                           \
	F(RNIC_GENERAL_CAP_ROCE_ACCL, 0x28, 22, 22)                            \
	F(RNIC_GENERAL_CAP_LOG_MAX_RA_REQ_QP, 0x28, 21, 16)                    \
	F(RNIC_GENERAL_CAP_RTS2RTS_QP_UDP_SPORT, 0x28, 14, 14)                 \
	F(RNIC_GENERAL_CAP_RTS2RTS_LAG_TX_PORT_AFFINITY, 0x28, 13, 13)         \
	F(RNIC_GENERAL_CAP_LOG_MAX_RA_RES_QP, 0x28, 5, 0)                      \
	F(RNIC_GENERAL_CAP_END_PAD, 0x2c, 31, 31)                              \
	F(RNIC_GENERAL_CAP_CC_QUERY_ALLOWED, 0x2c, 30, 30)                     \
	F(RNIC_GENERAL_CAP_CC_MODIFY_ALLOWED, 0x2c, 29, 29)                    \
	F(RNIC_GENERAL_CAP_START_PAD, 0x2c, 28, 28)                            \
	F(RNIC_GENERAL_CAP_CACHE_LINE_128BYTE, 0x2c, 27, 27)                   \
	F(RNIC_GENERAL_CAP_GID_TABLE_SIZE_RO, 0x2c, 26, 26)                    \
	F(RNIC_GENERAL_CAP_PKEY_TABLE_SIZE_RO, 0x2c, 25, 25)                   \
	F(RNIC_GENERAL_CAP_RNR_NAK_Q_COUNTERS, 0x2c, 23, 23)                   \
	F(RNIC_GENERAL_CAP_RTS2RTS_QP_COUNTERS_SET_ID, 0x2c, 22, 22)           \
	F(RNIC_GENERAL_CAP_RTS2RTS_QP_DSCP, 0x2c, 21, 21)                      \
	F(RNIC_GENERAL_CAP_VNIC_ENV_INT_RQ_OOB, 0x2c, 19, 19)                  \
	F(RNIC_GENERAL_CAP_QCAM_REG, 0x2c, 16, 16)                             \
	F(RNIC_GENERAL_CAP_GID_TABLE_SIZE, 0x2c, 15, 0)                        \
	F(RNIC_GENERAL_CAP_OUT_OF_SEQ_CNT, 0x30, 31, 31)                       \
	F(RNIC_GENERAL_CAP_VPORT_COUNTERS, 0x30, 30, 30)                       \
	F(RNIC_GENERAL_CAP_RETRANSMISSION_Q_COUNTERS, 0x30, 29, 29)            \
	F(RNIC_GENERAL_CAP_DEBUG, 0x30, 28, 28)                                \
	F(RNIC_GENERAL_CAP_MODIFY_RQ_COUNTER_SET_ID, 0x30, 27, 27)             \
	F(RNIC_GENERAL_CAP_RQ_DELAY_DROP, 0x30, 26, 26)                        \
	F(RNIC_GENERAL_CAP_MAX_QP_CNT, 0x30, 25, 16)                           \
	F(RNIC_GENERAL_CAP_PKEY_TABLE_SIZE, 0x30, 15, 0)                       \
	F(RNIC_GENERAL_CAP_VPORT_GROUP_MANAGER, 0x34, 31, 31)                  \
	F(RNIC_GENERAL_CAP_VHCA_GROUP_MANAGER, 0x34, 30, 30)                   \
	F(RNIC_GENERAL_CAP_IB_VIRT, 0x34, 29, 29)                              \
	F(RNIC_GENERAL_CAP_ETH_VIRT, 0x34, 28, 28)                             \
	F(RNIC_GENERAL_CAP_VNIC_ENV_QUEUE_COUNTERS, 0x34, 27, 27)              \
	F(RNIC_GENERAL_CAP_ETS, 0x34, 26, 26)                                  \
	F(RNIC_GENERAL_CAP_NIC_FLOW_TABLE, 0x34, 25, 25)                       \
	F(RNIC_GENERAL_CAP_ESWITCH_MANAGER, 0x34, 24, 24)                      \
	F(RNIC_GENERAL_CAP_DEVICE_MEMORY, 0x34, 23, 23)                        \
	F(RNIC_GENERAL_CAP_MCAM_REG, 0x34, 22, 22)                             \
	F(RNIC_GENERAL_CAP_PCAM_REG, 0x34, 21, 21)                             \
	F(RNIC_GENERAL_CAP_LOCAL_CA_ACK_DELAY, 0x34, 20, 16)                   \
	F(RNIC_GENERAL_CAP_PORT_MODULE_EVENT, 0x34, 15, 15)                    \
	F(RNIC_GENERAL_CAP_ENHANCED_ERROR_Q_COUNTERS, 0x34, 14, 14)            \
	F(RNIC_GENERAL_CAP_PORTS_CHECK, 0x34, 13, 13)                          \
	F(RNIC_GENERAL_CAP_DISABLE_LINK_UP, 0x34, 11, 11)                      \
	F(RNIC_GENERAL_CAP_BEACON_LED, 0x34, 10, 10)                           \
	F(RNIC_GENERAL_CAP_PORT_TYPE, 0x34, 9, 8)                              \
	F(RNIC_GENERAL_CAP_NUM_PORTS, 0x34, 7, 0)                              \
	F(RNIC_GENERAL_CAP_PPS, 0x38, 30, 30)                                  \
	F(RNIC_GENERAL_CAP_PPS_MODIFY, 0x38, 29, 29)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_MSG, 0x38, 28, 24)                          \
	F(RNIC_GENERAL_CAP_TRAFFIC_FAST_CONTROL, 0x38, 20, 20)                 \
	F(RNIC_GENERAL_CAP_MAX_TC, 0x38, 19, 16)                               \
	F(RNIC_GENERAL_CAP_TEMP_WARN_EVENT, 0x38, 15, 15)                      \
	F(RNIC_GENERAL_CAP_DCBX, 0x38, 14, 14)                                 \
	F(RNIC_GENERAL_CAP_GENERAL_NOTIFICATION_EVENT, 0x38, 13, 13)           \
	F(RNIC_GENERAL_CAP_MULTI_PRIO_SQ, 0x38, 12, 12)                        \
	F(RNIC_GENERAL_CAP_FPGA, 0x38, 10, 10)                                 \
	F(RNIC_GENERAL_CAP_ROL_S, 0x38, 9, 9)                                  \
	F(RNIC_GENERAL_CAP_ROL_G, 0x38, 8, 8)                                  \
	F(RNIC_GENERAL_CAP_IB_PORT_SNIFFER, 0x38, 7, 7)                        \
	F(RNIC_GENERAL_CAP_WOL_S, 0x38, 6, 6)                                  \
	F(RNIC_GENERAL_CAP_WOL_G, 0x38, 5, 5)                                  \
	F(RNIC_GENERAL_CAP_WOL_A, 0x38, 4, 4)                                  \
	F(RNIC_GENERAL_CAP_WOL_B, 0x38, 3, 3)                                  \
	F(RNIC_GENERAL_CAP_WOL_M, 0x38, 2, 2)                                  \
	F(RNIC_GENERAL_CAP_WOL_U, 0x38, 1, 1)                                  \
	F(RNIC_GENERAL_CAP_WOL_P, 0x38, 0, 0)                                  \
	F(RNIC_GENERAL_CAP_STAT_RATE_SUPPORT, 0x3c, 31, 16)                    \
	F(RNIC_GENERAL_CAP_SIG_BLOCK_4048, 0x3c, 15, 15)                       \
	F(RNIC_GENERAL_CAP_PCI_SYNC_FOR_FW_UPDATE_EVENT, 0x3c, 14, 14)         \
	F(RNIC_GENERAL_CAP_INIT2_LAG_TX_PORT_AFFINITY, 0x3c, 7, 7)             \
	F(RNIC_GENERAL_CAP_CQE_VERSION, 0x3c, 3, 0)                            \
	F(RNIC_GENERAL_CAP_COMPACT_ADDRESS_VECTOR, 0x40, 31, 31)               \
	F(RNIC_GENERAL_CAP_STRIDING_RQ, 0x40, 30, 30)                          \
	F(RNIC_GENERAL_CAP_IPOIB_ENHANCED_OFFLOADS, 0x40, 28, 28)              \
	F(RNIC_GENERAL_CAP_IPOIB_BASIC_OFFLOADS, 0x40, 27, 27)                 \
	F(RNIC_GENERAL_CAP_IB_STRIDING_WQ, 0x40, 26, 26)                       \
	F(RNIC_GENERAL_CAP_REPEATED_BLOCK_DISABLED, 0x40, 25, 25)              \
	F(RNIC_GENERAL_CAP_UMR_MODIFY_ENTITY_SIZE_DISABLED, 0x40, 24, 24)      \
	F(RNIC_GENERAL_CAP_UMR_MODIFY_ATOMIC_DISABLED, 0x40, 23, 23)           \
	F(RNIC_GENERAL_CAP_UMR_INDIRECT_MKEY_DISABLED, 0x40, 22, 22)           \
	F(RNIC_GENERAL_CAP_UMR_FENCE, 0x40, 21, 20)                            \
	F(RNIC_GENERAL_CAP_DC_REQ_SCAT_DATA_CQE, 0x40, 19, 19)                 \
	F(RNIC_GENERAL_CAP_DC_CONNECT_QP, 0x40, 18, 18)                        \
	F(RNIC_GENERAL_CAP_DC_CNAK_TRACE, 0x40, 17, 17)                        \
	F(RNIC_GENERAL_CAP_DRAIN_SIGERR, 0x40, 16, 16)                         \
	F(RNIC_GENERAL_CAP_CMDIF_CHECKSUM, 0x40, 15, 14)                       \
	F(RNIC_GENERAL_CAP_SIGERR_CQE, 0x40, 13, 13)                           \
	F(RNIC_GENERAL_CAP_WQ_SIGNATURE, 0x40, 11, 11)                         \
	F(RNIC_GENERAL_CAP_SCTR_DATA_CQE, 0x40, 10, 10)                        \
	F(RNIC_GENERAL_CAP_SHO, 0x40, 8, 8)                                    \
	F(RNIC_GENERAL_CAP_TPH, 0x40, 7, 7)                                    \
	F(RNIC_GENERAL_CAP_RF, 0x40, 6, 6)                                     \
	F(RNIC_GENERAL_CAP_DCT, 0x40, 5, 5)                                    \
	F(RNIC_GENERAL_CAP_QOS, 0x40, 4, 4)                                    \
	F(RNIC_GENERAL_CAP_ETH_NET_OFFLOADS, 0x40, 3, 3)                       \
	F(RNIC_GENERAL_CAP_ROCE, 0x40, 2, 2)                                   \
	F(RNIC_GENERAL_CAP_ATOMIC, 0x40, 1, 1)                                 \
	F(RNIC_GENERAL_CAP_EXTENDED_RETRY_COUNT, 0x40, 0, 0)                   \
	F(RNIC_GENERAL_CAP_CQ_OI, 0x44, 31, 31)                                \
	F(RNIC_GENERAL_CAP_CQ_RESIZE, 0x44, 30, 30)                            \
	F(RNIC_GENERAL_CAP_CQ_MODERATION, 0x44, 29, 29)                        \
	F(RNIC_GENERAL_CAP_CQ_PERIOD_MODE_MODIFY, 0x44, 28, 28)                \
	F(RNIC_GENERAL_CAP_CQ_INVALIDATE, 0x44, 27, 27)                        \
	F(RNIC_GENERAL_CAP_CQ_EQ_REMAP, 0x44, 25, 25)                          \
	F(RNIC_GENERAL_CAP_PG, 0x44, 24, 24)                                   \
	F(RNIC_GENERAL_CAP_BLOCK_LB_MC, 0x44, 23, 23)                          \
	F(RNIC_GENERAL_CAP_EXPONENTIAL_BACKOFF, 0x44, 22, 22)                  \
	F(RNIC_GENERAL_CAP_SCQE_BREAK_MODERATION, 0x44, 21, 21)                \
	F(RNIC_GENERAL_CAP_CQ_PERIOD_START_FROM_CQE, 0x44, 20, 20)             \
	F(RNIC_GENERAL_CAP_CD, 0x44, 19, 19)                                   \
	F(RNIC_GENERAL_CAP_ATM, 0x44, 18, 18)                                  \
	F(RNIC_GENERAL_CAP_APM, 0x44, 17, 17)                                  \
	F(RNIC_GENERAL_CAP_VECTOR_CALC, 0x44, 16, 16)                          \
	F(RNIC_GENERAL_CAP_UMR_PTR_RLKY, 0x44, 15, 15)                         \
	F(RNIC_GENERAL_CAP_IMAICL, 0x44, 14, 14)                               \
	F(RNIC_GENERAL_CAP_QP_PACKET_BASED, 0x44, 13, 13)                      \
	F(RNIC_GENERAL_CAP_IPOIB_ENHANCED_PKEY_CHANGE, 0x44, 11, 11)           \
	F(RNIC_GENERAL_CAP_INITIATOR_SRC_DCT_IN_CQE, 0x44, 10, 10)             \
	F(RNIC_GENERAL_CAP_QKV, 0x44, 9, 9)                                    \
	F(RNIC_GENERAL_CAP_PKV, 0x44, 8, 8)                                    \
	F(RNIC_GENERAL_CAP_SET_DETH_SQPN, 0x44, 7, 7)                          \
	F(RNIC_GENERAL_CAP_RTS2RTS_PRIMARY_SL, 0x44, 6, 6)                     \
	F(RNIC_GENERAL_CAP_INITIATOR_SRC_DCT, 0x44, 5, 5)                      \
	F(RNIC_GENERAL_CAP_DC_V2, 0x44, 4, 4)                                  \
	F(RNIC_GENERAL_CAP_XRC, 0x44, 3, 3)                                    \
	F(RNIC_GENERAL_CAP_UD, 0x44, 2, 2)                                     \
	F(RNIC_GENERAL_CAP_UC, 0x44, 1, 1)                                     \
	F(RNIC_GENERAL_CAP_RC, 0x44, 0, 0)                                     \
	F(RNIC_GENERAL_CAP_UAR_4K, 0x48, 31, 31)                               \
	F(RNIC_GENERAL_CAP_FL_RC_QP_WHEN_ROCE_DISABLED, 0x48, 23, 23)          \
	F(RNIC_GENERAL_CAP_UAR_SZ, 0x48, 21, 16)                               \
	F(RNIC_GENERAL_CAP_UMEM_UID_0, 0x48, 13, 13)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_DC_CNAK_QPS, 0x48, 12, 8)                   \
	F(RNIC_GENERAL_CAP_LOG_PG_SZ, 0x48, 7, 0)                              \
	F(RNIC_GENERAL_CAP_BF, 0x4c, 31, 31)                                   \
	F(RNIC_GENERAL_CAP_DRIVER_VERSION, 0x4c, 30, 30)                       \
	F(RNIC_GENERAL_CAP_PAD_TX_ETH_PACKET, 0x4c, 29, 29)                    \
	F(RNIC_GENERAL_CAP_QUERY_DRIVER_VERSION, 0x4c, 28, 28)                 \
	F(RNIC_GENERAL_CAP_MAX_QP_RETRY_FREQ, 0x4c, 27, 27)                    \
	F(RNIC_GENERAL_CAP_QP_BY_NAME, 0x4c, 26, 26)                           \
	F(RNIC_GENERAL_CAP_MKEY_BY_NAME, 0x4c, 25, 25)                         \
	F(RNIC_GENERAL_CAP_LOG_BF_REG_SIZE, 0x4c, 20, 16)                      \
	F(RNIC_GENERAL_CAP_LAG_DCT, 0x4c, 9, 8)                                \
	F(RNIC_GENERAL_CAP_LAG_TX_PORT_AFFINITY, 0x4c, 7, 7)                   \
	F(RNIC_GENERAL_CAP_LAG_NATIVE_FDB_SELECTION, 0x4c, 6, 6)               \
	F(RNIC_GENERAL_CAP_LAG_MASTER, 0x4c, 4, 4)                             \
	F(RNIC_GENERAL_CAP_NUM_LAG_PORTS, 0x4c, 3, 0)                          \
	F(RNIC_GENERAL_CAP_NUM_OF_DIAGNOSTIC_COUNTERS, 0x50, 31, 16)           \
	F(RNIC_GENERAL_CAP_MAX_WQE_SZ_SQ, 0x50, 15, 0)                         \
	F(RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ, 0x54, 15, 0)                         \
	F(RNIC_GENERAL_CAP_MAX_FLOW_COUNTER_31_16, 0x58, 31, 16)               \
	F(RNIC_GENERAL_CAP_MAX_WQE_SZ_SQ_DC, 0x58, 15, 0)                      \
	F(RNIC_GENERAL_CAP_MAX_QP_MCG, 0x5c, 24, 0)                            \
	F(RNIC_GENERAL_CAP_FLOW_COUNTER_BULK_ALLOC, 0x60, 15, 8)               \
	F(RNIC_GENERAL_CAP_LOG_MAX_MCG, 0x60, 7, 0)                            \
	F(RNIC_GENERAL_CAP_LOG_MAX_TRANSPORT_DOMAIN, 0x64, 28, 24)             \
	F(RNIC_GENERAL_CAP_LOG_MAX_PD, 0x64, 20, 16)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_XRCD, 0x64, 4, 0)                           \
	F(RNIC_GENERAL_CAP_NIC_RECEIVE_STEERING_DISCARD, 0x68, 31, 31)         \
	F(RNIC_GENERAL_CAP_RECEIVE_DISCARD_VPORT_DOWN, 0x68, 30, 30)           \
	F(RNIC_GENERAL_CAP_TRANSMIT_DISCARD_VPORT_DOWN, 0x68, 29, 29)          \
	F(RNIC_GENERAL_CAP_EQ_OVERRUN_COUNT, 0x68, 28, 28)                     \
	F(RNIC_GENERAL_CAP_NIC_RECEIVE_STEERING_DEPTH, 0x68, 27, 27)           \
	F(RNIC_GENERAL_CAP_INVALID_COMMAND_COUNT, 0x68, 26, 26)                \
	F(RNIC_GENERAL_CAP_QUOTA_EXCEEDED_COUNT, 0x68, 25, 25)                 \
	F(RNIC_GENERAL_CAP_LOG_MAX_FLOW_COUNTER_BULK, 0x68, 23, 16)            \
	F(RNIC_GENERAL_CAP_MAX_FLOW_COUNTER_15_0, 0x68, 15, 0)                 \
	F(RNIC_GENERAL_CAP_MODIFY_TIS, 0x6c, 31, 31)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_RQ, 0x6c, 28, 24)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_SQ, 0x6c, 20, 16)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_TIR, 0x6c, 12, 8)                           \
	F(RNIC_GENERAL_CAP_LOG_MAX_TIS, 0x6c, 4, 0)                            \
	F(RNIC_GENERAL_CAP_BASIC_CYCLIC_RCV_WQE, 0x70, 31, 31)                 \
	F(RNIC_GENERAL_CAP_LOG_MAX_RMP, 0x70, 28, 24)                          \
	F(RNIC_GENERAL_CAP_LOG_MAX_RQT, 0x70, 20, 16)                          \
	F(RNIC_GENERAL_CAP_LOG_MAX_RQT_SIZE, 0x70, 12, 8)                      \
	F(RNIC_GENERAL_CAP_LOG_MAX_TIS_PER_SQ, 0x70, 4, 0)                     \
	F(RNIC_GENERAL_CAP_EXT_STRIDE_NUM_RANGE, 0x74, 31, 31)                 \
	F(RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED, 0x74, 30, 30)                    \
	F(RNIC_GENERAL_CAP_LOG_MAX_CURRENT_UC_LIST_WR_SUPPORTED, 0x74, 29, 29) \
	F(RNIC_GENERAL_CAP_LOG_MAX_STRIDE_SZ_RQ, 0x74, 28, 24)                 \
	F(RNIC_GENERAL_CAP_LOG_MIN_STRIDE_SZ_RQ, 0x74, 20, 16)                 \
	F(RNIC_GENERAL_CAP_LOG_MAX_STRIDE_SZ_SQ, 0x74, 12, 8)                  \
	F(RNIC_GENERAL_CAP_LOG_MIN_STRIDE_SZ_SQ, 0x74, 4, 0)                   \
	F(RNIC_GENERAL_CAP_HAIRPIN, 0x78, 31, 31)                              \
	F(RNIC_GENERAL_CAP_LOG_MAX_HAIRPIN_QUEUES, 0x78, 28, 24)               \
	F(RNIC_GENERAL_CAP_LOG_MAX_HAIRPIN_WQ_DATA_SZ, 0x78, 20, 16)           \
	F(RNIC_GENERAL_CAP_LOG_MAX_HAIRPIN_NUM_PACKETS, 0x78, 12, 8)           \
	F(RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ, 0x78, 4, 0)                          \
	F(RNIC_GENERAL_CAP_NIC_VPORT_CHANGE_EVENT, 0x7c, 31, 31)               \
	F(RNIC_GENERAL_CAP_DISABLE_LOCAL_LB_UC, 0x7c, 30, 30)                  \
	F(RNIC_GENERAL_CAP_DISABLE_LOCAL_LB_MC, 0x7c, 29, 29)                  \
	F(RNIC_GENERAL_CAP_LOG_MIN_HAIRPIN_WQ_DATA_SZ, 0x7c, 28, 24)           \
	F(RNIC_GENERAL_CAP_LOG_MAX_VLAN_LIST, 0x7c, 20, 16)                    \
	F(RNIC_GENERAL_CAP_LOG_MAX_CURRENT_MC_LIST, 0x7c, 12, 8)               \
	F(RNIC_GENERAL_CAP_LOG_MAX_CURRENT_UC_LIST, 0x7c, 4, 0)                \
	F(RNIC_GENERAL_CAP_GENERAL_OBJ_TYPES, 0x80, 63, 0)                     \
	F(RNIC_GENERAL_CAP_SQ_TS_FORMAT, 0x88, 31, 30)                         \
	F(RNIC_GENERAL_CAP_RQ_TS_FORMAT, 0x88, 29, 28)                         \
	F(RNIC_GENERAL_CAP_LOG_MAX_UCTX, 0x8c, 28, 24)                         \
	F(RNIC_GENERAL_CAP_LOG_MAX_UMEM, 0x8c, 20, 16)                         \
	F(RNIC_GENERAL_CAP_MAX_NUM_EQS, 0x8c, 15, 0)                           \
	F(RNIC_GENERAL_CAP_SIGERR_DOMAIN_AND_SIG_TYPE, 0x90, 31, 31)           \
	F(RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE, 0x90, 28, 24)                     \
	F(RNIC_GENERAL_CAP_LOG_UAR_PAGE_SZ, 0x90, 15, 0)                       \
	F(RNIC_GENERAL_CAP_DEVICE_FREQUENCY_MHZ, 0x98, 31, 0)                  \
	F(RNIC_GENERAL_CAP_DEVICE_FREQUENCY_KHZ, 0x9c, 31, 0)                  \
	F(RNIC_GENERAL_CAP_NUM_OF_UARS_PER_PAGE, 0xa4, 31, 0)                  \
	F(RNIC_GENERAL_CAP_LOG_MAX_GUARANTEED_CONNECTIONS, 0xac, 12, 8)        \
	F(RNIC_GENERAL_CAP_LOG_MAX_DCT_CONNECTIONS, 0xac, 4, 0)                \
	F(RNIC_GENERAL_CAP_LOG_MAX_ATOMIC_SIZE_QP, 0xb0, 31, 24)               \
	F(RNIC_GENERAL_CAP_LOG_MAX_ATOMIC_SIZE_DC, 0xb0, 7, 0)                 \
	F(RNIC_GENERAL_CAP_ENHANCED_CQE_COMPRESSION, 0xb4, 15, 15)             \
	F(RNIC_GENERAL_CAP_MINI_CQE_RESP_STRIDE_INDEX, 0xb4, 3, 3)             \
	F(RNIC_GENERAL_CAP_CQE_128_ALWAYS, 0xb4, 2, 2)                         \
	F(RNIC_GENERAL_CAP_CQE_COMPRESSION_128, 0xb4, 1, 1)                    \
	F(RNIC_GENERAL_CAP_CQE_COMPRESSION, 0xb4, 0, 0)                        \
	F(RNIC_GENERAL_CAP_CQE_COMPRESSION_TIMEOUT, 0xb8, 31, 16)              \
	F(RNIC_GENERAL_CAP_CQE_COMPRESSION_MAX_NUM, 0xb8, 15, 0)               \
	F(RNIC_GENERAL_CAP_LOG_MAX_TM_OFFLOADED_OP_SIZE, 0xbc, 19, 16)         \
	F(RNIC_GENERAL_CAP_TAG_MATCHING, 0xbc, 15, 15)                         \
	F(RNIC_GENERAL_CAP_RNDV_OFFLOAD_RC, 0xbc, 14, 14)                      \
	F(RNIC_GENERAL_CAP_RNDV_OFFLOAD_DC, 0xbc, 13, 13)                      \
	F(RNIC_GENERAL_CAP_LOG_TAG_MATCHING_LIST_SZ, 0xbc, 12, 8)              \
	F(RNIC_GENERAL_CAP_LOG_MAX_XRQ, 0xbc, 4, 0)                            \
	F(RNIC_GENERAL_CAP_AFFILIATE_NIC_VPORT_CRITERIA, 0xc0, 31, 24)         \
	F(RNIC_GENERAL_CAP_NATIVE_PORT_NUM, 0xc0, 23, 16)                      \
	F(RNIC_GENERAL_CAP_TRUSTED_VNIC_VHCA, 0xc0, 2, 2)                      \
	F(RNIC_GENERAL_CAP_SW_OWNER_ID, 0xc0, 1, 1)                            \
	F(RNIC_GENERAL_CAP_UCTX_CAP, 0xd4, 31, 0)
RNIC_LAYOUT(general_cap, GENERAL_CAP, 0x100)

/* umr_fence: what has to stand between a WQE that changes a key and what uses that. */
enum rnic_umr_fence {
	RNIC_UMR_FENCE_STRONG = 0, /* a fence behind all that is before */
	RNIC_UMR_FENCE_SMALL = 1,
	RNIC_UMR_FENCE_NONE = 2,
};

/* sq_ts_format, rq_ts_format, and qp_ts_format of RoCE: which of enum rnic_ts_format a queue may ask for. */
enum rnic_ts_cap {
	RNIC_TS_CAP_FREE_RUNNING = 0, /* and no other: the field is reserved */
	RNIC_TS_CAP_REAL_TIME = 1,    /* free running is refused */
	RNIC_TS_CAP_BOTH = 2,
};

/* Ethernet offloads. */
#define RNIC_ETHERNET_CAP_FIELDS(F)                                         \
	F(RNIC_ETHERNET_CAP_CSUM_CAP, 0x00, 31, 31)                         \
	F(RNIC_ETHERNET_CAP_VLAN_CAP, 0x00, 30, 30)                         \
	F(RNIC_ETHERNET_CAP_LRO_CAP, 0x00, 29, 29)                          \
	F(RNIC_ETHERNET_CAP_LRO_PSH_FLAG, 0x00, 28, 28)                     \
	F(RNIC_ETHERNET_CAP_LRO_TIME_STAMP, 0x00, 27, 27)                   \
	F(RNIC_ETHERNET_CAP_LRO_MAX_MSG_SZ_MODE, 0x00, 26, 25)              \
	F(RNIC_ETHERNET_CAP_WQE_VLAN_INSERT, 0x00, 24, 24)                  \
	F(RNIC_ETHERNET_CAP_SELF_LB_EN_MODIFIABLE, 0x00, 23, 23)            \
	F(RNIC_ETHERNET_CAP_SELF_LB_MC, 0x00, 22, 22)                       \
	F(RNIC_ETHERNET_CAP_SELF_LB_UC, 0x00, 21, 21)                       \
	F(RNIC_ETHERNET_CAP_MAX_LSO_CAP, 0x00, 20, 16)                      \
	F(RNIC_ETHERNET_CAP_MULTI_PKT_SEND_WQE, 0x00, 15, 14)               \
	F(RNIC_ETHERNET_CAP_WQE_INLINE_MODE, 0x00, 13, 12)                  \
	F(RNIC_ETHERNET_CAP_RSS_IND_TBL_CAP, 0x00, 11, 8)                   \
	F(RNIC_ETHERNET_CAP_REG_UMR_SQ, 0x00, 7, 7)                         \
	F(RNIC_ETHERNET_CAP_SCATTER_FCS, 0x00, 6, 6)                        \
	F(RNIC_ETHERNET_CAP_ENHANCED_MULTI_PKT_SEND_WQE, 0x00, 5, 5)        \
	F(RNIC_ETHERNET_CAP_TUNNEL_LSO_CONST_OUT_IP_ID, 0x00, 4, 4)         \
	F(RNIC_ETHERNET_CAP_TUNNEL_LRO_GRE, 0x00, 3, 3)                     \
	F(RNIC_ETHERNET_CAP_TUNNEL_LRO_VXLAN, 0x00, 2, 2)                   \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_GRE, 0x00, 1, 1)               \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_VXLAN, 0x00, 0, 0)             \
	F(RNIC_ETHERNET_CAP_SWP, 0x04, 31, 31)                              \
	F(RNIC_ETHERNET_CAP_SWP_CSUM, 0x04, 30, 30)                         \
	F(RNIC_ETHERNET_CAP_SWP_LSO, 0x04, 29, 29)                          \
	F(RNIC_ETHERNET_CAP_CQE_CHECKSUM_FULL, 0x04, 28, 28)                \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_MPLS_OVER_UDP, 0x04, 26, 26)   \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_MPLS_OVER_GRE, 0x04, 25, 25)   \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_VXLAN_GPE, 0x04, 24, 24)       \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_IPV4_OVER_VXLAN, 0x04, 23, 23) \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_IP_OVER_IP, 0x04, 22, 22)      \
	F(RNIC_ETHERNET_CAP_INSERT_TRAILER, 0x04, 21, 21)                   \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_IP_OVER_IP_RX, 0x04, 19, 19)   \
	F(RNIC_ETHERNET_CAP_TUNNEL_STATELESS_IP_OVER_IP_TX, 0x04, 18, 18)   \
	F(RNIC_ETHERNET_CAP_MAX_VXLAN_UDP_PORTS, 0x04, 15, 8)               \
	F(RNIC_ETHERNET_CAP_LRO_MIN_MSS_SIZE, 0x08, 15, 0)                  \
	F(RNIC_ETHERNET_CAP_LRO_TIMER_SUPPORTED_PERIODS_0, 0x30, 31, 0)     \
	F(RNIC_ETHERNET_CAP_LRO_TIMER_SUPPORTED_PERIODS_1, 0x34, 31, 0)     \
	F(RNIC_ETHERNET_CAP_LRO_TIMER_SUPPORTED_PERIODS_2, 0x38, 31, 0)     \
	F(RNIC_ETHERNET_CAP_LRO_TIMER_SUPPORTED_PERIODS_3, 0x3c, 31, 0)
RNIC_LAYOUT(ethernet_cap, ETHERNET_CAP, 0x100)

/* On-demand paging: what each transport may page on. */
#define RNIC_ODP_CAP_FIELDS(F)                        \
	F(RNIC_ODP_CAP_SIG, 0x08, 31, 31)             \
	F(RNIC_ODP_CAP_RC_SEND, 0x10, 31, 31)         \
	F(RNIC_ODP_CAP_RC_RECEIVE, 0x10, 30, 30)      \
	F(RNIC_ODP_CAP_RC_WRITE, 0x10, 29, 29)        \
	F(RNIC_ODP_CAP_RC_READ, 0x10, 28, 28)         \
	F(RNIC_ODP_CAP_RC_ATOMIC, 0x10, 27, 27)       \
	F(RNIC_ODP_CAP_RC_SRQ_RECEIVE, 0x10, 26, 26)  \
	F(RNIC_ODP_CAP_UC_SEND, 0x14, 31, 31)         \
	F(RNIC_ODP_CAP_UC_RECEIVE, 0x14, 30, 30)      \
	F(RNIC_ODP_CAP_UC_WRITE, 0x14, 29, 29)        \
	F(RNIC_ODP_CAP_UC_READ, 0x14, 28, 28)         \
	F(RNIC_ODP_CAP_UC_ATOMIC, 0x14, 27, 27)       \
	F(RNIC_ODP_CAP_UC_SRQ_RECEIVE, 0x14, 26, 26)  \
	F(RNIC_ODP_CAP_UD_SEND, 0x18, 31, 31)         \
	F(RNIC_ODP_CAP_UD_RECEIVE, 0x18, 30, 30)      \
	F(RNIC_ODP_CAP_UD_WRITE, 0x18, 29, 29)        \
	F(RNIC_ODP_CAP_UD_READ, 0x18, 28, 28)         \
	F(RNIC_ODP_CAP_UD_ATOMIC, 0x18, 27, 27)       \
	F(RNIC_ODP_CAP_UD_SRQ_RECEIVE, 0x18, 26, 26)  \
	F(RNIC_ODP_CAP_XRC_SEND, 0x1c, 31, 31)        \
	F(RNIC_ODP_CAP_XRC_RECEIVE, 0x1c, 30, 30)     \
	F(RNIC_ODP_CAP_XRC_WRITE, 0x1c, 29, 29)       \
	F(RNIC_ODP_CAP_XRC_READ, 0x1c, 28, 28)        \
	F(RNIC_ODP_CAP_XRC_ATOMIC, 0x1c, 27, 27)      \
	F(RNIC_ODP_CAP_XRC_SRQ_RECEIVE, 0x1c, 26, 26) \
	F(RNIC_ODP_CAP_DC_SEND, 0x20, 31, 31)         \
	F(RNIC_ODP_CAP_DC_RECEIVE, 0x20, 30, 30)      \
	F(RNIC_ODP_CAP_DC_WRITE, 0x20, 29, 29)        \
	F(RNIC_ODP_CAP_DC_READ, 0x20, 28, 28)         \
	F(RNIC_ODP_CAP_DC_ATOMIC, 0x20, 27, 27)       \
	F(RNIC_ODP_CAP_DC_SRQ_RECEIVE, 0x20, 26, 26)
RNIC_LAYOUT(odp_cap, ODP_CAP, 0x100)

/* Atomic operations. */
#define RNIC_ATOMIC_CAP_FIELDS(F)                                                  \
	F(RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE, 0x08, 31, 30)             \
	F(RNIC_ATOMIC_CAP_SUPPORTED_ATOMIC_REQ_8B_ENDIANNESS_MODE_1, 0x08, 25, 25) \
	F(RNIC_ATOMIC_CAP_ATOMIC_OPERATIONS, 0x10, 15, 0)                          \
	F(RNIC_ATOMIC_CAP_ATOMIC_SIZE_QP, 0x14, 15, 0)                             \
	F(RNIC_ATOMIC_CAP_ATOMIC_SIZE_DC, 0x18, 15, 0)
RNIC_LAYOUT(atomic_cap, ATOMIC_CAP, 0x100)

/* In what order of bytes the requester gets an operand of 8 bytes back. */
enum rnic_atomic_endianness {
	RNIC_ATOMIC_BIG_ENDIAN = 0,
	RNIC_ATOMIC_HOST_ENDIAN = 1,
};

/* atomic_operations. The sizes have a bit for each: the size itself. */
enum rnic_atomic_operation {
	RNIC_ATOMIC_COMPARE_SWAP = 1 << 0,
	RNIC_ATOMIC_FETCH_ADD = 1 << 1,
};

/* RoCE. A ConnectX-4 Lx sets bit 30 of the first dword; published sources do not name it. */
#define RNIC_ROCE_CAP_FIELDS(F)                                    \
	F(RNIC_ROCE_CAP_ROCE_APM, 0x00, 31, 31)                    \
	F(RNIC_ROCE_CAP_BIT_30, 0x00, 30, 30)                      \
	F(RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT, 0x00, 27, 27)      \
	F(RNIC_ROCE_CAP_FL_RC_QP_WHEN_ROCE_DISABLED, 0x00, 26, 26) \
	F(RNIC_ROCE_CAP_FL_RC_QP_WHEN_ROCE_ENABLED, 0x00, 25, 25)  \
	F(RNIC_ROCE_CAP_QP_TS_FORMAT, 0x00, 1, 0)                  \
	F(RNIC_ROCE_CAP_L3_TYPE, 0x10, 19, 16)                     \
	F(RNIC_ROCE_CAP_ROCE_VERSION, 0x10, 7, 0)                  \
	F(RNIC_ROCE_CAP_R_ROCE_DEST_UDP_PORT, 0x14, 15, 0)         \
	F(RNIC_ROCE_CAP_R_ROCE_MAX_SRC_UDP_PORT, 0x18, 31, 16)     \
	F(RNIC_ROCE_CAP_R_ROCE_MIN_SRC_UDP_PORT, 0x18, 15, 0)      \
	F(RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE, 0x1c, 15, 0)
RNIC_LAYOUT(roce_cap, ROCE_CAP, 0x100)

/* roce_version has a bit for each enum rnic_roce_version, l3_type these. */
enum rnic_roce_l3_cap {
	RNIC_ROCE_L3_CAP_GRH = 1 << 0,
	RNIC_ROCE_L3_CAP_IPV4 = 1 << 1,
	RNIC_ROCE_L3_CAP_IPV6 = 1 << 2,
};

/* Header fields that a flow table can match on. */
#define RNIC_FLOW_TABLE_FIELDS_FIELDS(F)                                  \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_DMAC, 0x00, 31, 31)                \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_SMAC, 0x00, 30, 30)                \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_ETHER_TYPE, 0x00, 29, 29)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_IP_VERSION, 0x00, 28, 28)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_PRIO, 0x00, 27, 27)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_CFI, 0x00, 26, 26)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_VID, 0x00, 25, 25)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_IPV4_TTL, 0x00, 24, 24)            \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_SECOND_PRIO, 0x00, 23, 23)         \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_SECOND_CFI, 0x00, 22, 22)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_SECOND_VID, 0x00, 21, 21)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_SIP, 0x00, 19, 19)                 \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_DIP, 0x00, 18, 18)                 \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FRAG, 0x00, 17, 17)                \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_IP_PROTOCOL, 0x00, 16, 16)         \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_IP_ECN, 0x00, 15, 15)              \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_IP_DSCP, 0x00, 14, 14)             \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_UDP_SPORT, 0x00, 13, 13)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_UDP_DPORT, 0x00, 12, 12)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_SPORT, 0x00, 11, 11)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_DPORT, 0x00, 10, 10)           \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_TCP_FLAGS, 0x00, 9, 9)             \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_GRE_PROTOCOL, 0x00, 8, 8)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_GRE_KEY, 0x00, 7, 7)               \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_VXLAN_VNI, 0x00, 6, 6)             \
	F(RNIC_FLOW_TABLE_FIELDS_SOURCE_VHCA_PORT, 0x00, 1, 1)            \
	F(RNIC_FLOW_TABLE_FIELDS_SOURCE_ESWITCH_PORT, 0x00, 0, 0)         \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_DMAC, 0x04, 31, 31)                \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_SMAC, 0x04, 30, 30)                \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_ETHER_TYPE, 0x04, 29, 29)          \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_IP_VERSION, 0x04, 28, 28)          \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_FIRST_PRIO, 0x04, 27, 27)          \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_FIRST_CFI, 0x04, 26, 26)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_FIRST_VID, 0x04, 25, 25)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_SECOND_PRIO, 0x04, 23, 23)         \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_SECOND_CFI, 0x04, 22, 22)          \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_SECOND_VID, 0x04, 21, 21)          \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_SIP, 0x04, 19, 19)                 \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_DIP, 0x04, 18, 18)                 \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_FRAG, 0x04, 17, 17)                \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_IP_PROTOCOL, 0x04, 16, 16)         \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_IP_ECN, 0x04, 15, 15)              \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_IP_DSCP, 0x04, 14, 14)             \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_UDP_SPORT, 0x04, 13, 13)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_UDP_DPORT, 0x04, 12, 12)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_TCP_SPORT, 0x04, 11, 11)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_TCP_DPORT, 0x04, 10, 10)           \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_TCP_FLAGS, 0x04, 9, 9)             \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_MPLS_OVER_UDP, 0x08, 26, 23) \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_MPLS_OVER_GRE, 0x08, 22, 19) \
	F(RNIC_FLOW_TABLE_FIELDS_INNER_FIRST_MPLS, 0x08, 18, 15)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_FIRST_MPLS, 0x08, 14, 11)          \
	F(RNIC_FLOW_TABLE_FIELDS_OUTER_ESP_SPI, 0x08, 8, 8)               \
	F(RNIC_FLOW_TABLE_FIELDS_BTH_DST_QP, 0x08, 5, 5)                  \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_7, 0x0c, 7, 7)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_6, 0x0c, 6, 6)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_5, 0x0c, 5, 5)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_4, 0x0c, 4, 4)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_3, 0x0c, 3, 3)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_2, 0x0c, 2, 2)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_1, 0x0c, 1, 1)            \
	F(RNIC_FLOW_TABLE_FIELDS_METADATA_REG_C_0, 0x0c, 0, 0)
RNIC_LAYOUT(flow_table_fields, FLOW_TABLE_FIELDS, 0x10)

/* Properties of the flow tables of one type. */
#define RNIC_FLOW_TABLE_PROPS_FIELDS(F)                                      \
	F(RNIC_FLOW_TABLE_PROPS_FT_SUPPORT, 0x00, 31, 31)                    \
	F(RNIC_FLOW_TABLE_PROPS_FLOW_TAG, 0x00, 30, 30)                      \
	F(RNIC_FLOW_TABLE_PROPS_FLOW_COUNTER, 0x00, 29, 29)                  \
	F(RNIC_FLOW_TABLE_PROPS_FLOW_MODIFY_EN, 0x00, 28, 28)                \
	F(RNIC_FLOW_TABLE_PROPS_MODIFY_ROOT, 0x00, 27, 27)                   \
	F(RNIC_FLOW_TABLE_PROPS_IDENTIFIED_MISS_TABLE_MODE, 0x00, 26, 26)    \
	F(RNIC_FLOW_TABLE_PROPS_FLOW_TABLE_MODIFY, 0x00, 25, 25)             \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT, 0x00, 24, 24)                      \
	F(RNIC_FLOW_TABLE_PROPS_DECAP, 0x00, 23, 23)                         \
	F(RNIC_FLOW_TABLE_PROPS_RESET_ROOT_TO_DEFAULT, 0x00, 22, 22)         \
	F(RNIC_FLOW_TABLE_PROPS_POP_VLAN, 0x00, 21, 21)                      \
	F(RNIC_FLOW_TABLE_PROPS_PUSH_VLAN, 0x00, 20, 20)                     \
	F(RNIC_FLOW_TABLE_PROPS_POP_VLAN_2, 0x00, 18, 18)                    \
	F(RNIC_FLOW_TABLE_PROPS_PUSH_VLAN_2, 0x00, 17, 17)                   \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_AND_VLAN_ACTION, 0x00, 16, 16)      \
	F(RNIC_FLOW_TABLE_PROPS_SW_OWNER, 0x00, 14, 14)                      \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_L3_TUNNEL_TO_L2, 0x00, 13, 13)      \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_L2_TO_L3_TUNNEL, 0x00, 12, 12)      \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_AND_MODIFY_ACTION, 0x00, 11, 11)    \
	F(RNIC_FLOW_TABLE_PROPS_IGNORE_FLOW_LEVEL, 0x00, 10, 10)             \
	F(RNIC_FLOW_TABLE_PROPS_TABLE_MISS_ACTION_DOMAIN, 0x00, 8, 8)        \
	F(RNIC_FLOW_TABLE_PROPS_TERMINATION_TABLE, 0x00, 7, 7)               \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_AND_FWD_TO_TABLE, 0x00, 6, 6)       \
	F(RNIC_FLOW_TABLE_PROPS_SW_OWNER_V2, 0x00, 1, 1)                     \
	F(RNIC_FLOW_TABLE_PROPS_TERMINATION_TABLE_RAW_TRAFFIC, 0x04, 31, 31) \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_FT_SIZE, 0x04, 29, 24)               \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_MODIFY_HEADER_CONTEXT, 0x04, 23, 16) \
	F(RNIC_FLOW_TABLE_PROPS_MAX_MODIFY_HEADER_ACTIONS, 0x04, 15, 8)      \
	F(RNIC_FLOW_TABLE_PROPS_MAX_FT_LEVEL, 0x04, 7, 0)                    \
	F(RNIC_FLOW_TABLE_PROPS_EXECUTE_ASO, 0x08, 25, 25)                   \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_INSERT, 0x0c, 29, 29)               \
	F(RNIC_FLOW_TABLE_PROPS_REFORMAT_REMOVE, 0x0c, 28, 28)               \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_FT_NUM, 0x0c, 7, 0)                  \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_FLOW_COUNTER, 0x10, 15, 8)           \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_DESTINATION, 0x10, 7, 0)             \
	F(RNIC_FLOW_TABLE_PROPS_LOG_MAX_FLOW, 0x14, 7, 0)
RNIC_LAYOUT(flow_table_props, FLOW_TABLE_PROPS, 0x40)

RNIC_INNER(flow_table_props, flow_table_fields, field_support, 0x20)
RNIC_INNER(flow_table_props, flow_table_fields, field_bitmask_support, 0x30)

/* Flow tables: properties by table type, e.g. rnic_flow_table_cap_nic_receive(cap). */
#define RNIC_FLOW_TABLE_CAP_FIELDS(F)                                                   \
	F(RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS, 0x00, 31, 31)                     \
	F(RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS, 0x00, 30, 30)                 \
	F(RNIC_FLOW_TABLE_CAP_ALLOW_SNIFFER_AND_NIC_RX_SHARED_TIR, 0x00, 29, 29)        \
	F(RNIC_FLOW_TABLE_CAP_SW_OWNER_REFORMAT_SUPPORTED, 0x00, 24, 24)                \
	F(RNIC_FLOW_TABLE_CAP_ENCAP_GENERAL_HEADER, 0x04, 31, 31)                       \
	F(RNIC_FLOW_TABLE_CAP_LOG_MAX_PACKET_REFORMAT_CONTEXT, 0x04, 20, 16)            \
	F(RNIC_FLOW_TABLE_CAP_MAX_ENCAP_HEADER_SIZE, 0x04, 9, 0)                        \
	F(RNIC_FLOW_TABLE_CAP_SW_STEERING_NIC_RX_ACTION_DROP_ICM_ADDRESS, 0x400, 63, 0) \
	F(RNIC_FLOW_TABLE_CAP_SW_STEERING_NIC_TX_ACTION_DROP_ICM_ADDRESS, 0x408, 63, 0) \
	F(RNIC_FLOW_TABLE_CAP_SW_STEERING_NIC_TX_ACTION_ALLOW_ICM_ADDRESS, 0x410, 63, 0)
RNIC_LAYOUT(flow_table_cap, FLOW_TABLE_CAP, 0x800)

RNIC_INNER(flow_table_cap, flow_table_props, nic_receive, 0x40)
RNIC_INNER(flow_table_cap, flow_table_props, nic_receive_rdma, 0x80)
RNIC_INNER(flow_table_cap, flow_table_props, nic_receive_sniffer, 0xc0)
RNIC_INNER(flow_table_cap, flow_table_props, nic_transmit, 0x100)
RNIC_INNER(flow_table_cap, flow_table_props, nic_transmit_rdma, 0x140)
RNIC_INNER(flow_table_cap, flow_table_props, nic_transmit_sniffer, 0x180)

#endif
