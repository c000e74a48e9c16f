/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Contexts of event, completion and work queues (PRM: "Event Queue Context", "Completion Queue
 * Context", "WQ Context").
 */
#ifndef RNIC_PRM_QUEUE_H
#define RNIC_PRM_QUEUE_H

#include "field.h"

/* Event queue context. */
#define RNIC_EQC_FIELDS(F)                        \
	F(RNIC_EQC_STATUS, 0x00, 31, 28)          \
	F(RNIC_EQC_EC, 0x00, 18, 18)              \
	F(RNIC_EQC_OI, 0x00, 17, 17)              \
	F(RNIC_EQC_ST, 0x00, 11, 8)               \
	F(RNIC_EQC_PAGE_OFFSET, 0x08, 11, 6)      \
	F(RNIC_EQC_LOG_EQ_SIZE, 0x0c, 28, 24)     \
	F(RNIC_EQC_UAR_PAGE, 0x0c, 23, 0)         \
	F(RNIC_EQC_INTR, 0x14, 11, 0)             \
	F(RNIC_EQC_LOG_PAGE_SIZE, 0x18, 28, 24)   \
	F(RNIC_EQC_CONSUMER_COUNTER, 0x28, 23, 0) \
	F(RNIC_EQC_PRODUCER_COUNTER, 0x2c, 23, 0)
RNIC_LAYOUT(eqc, EQC, 0x40)

/* st of EQs and CQs: fired or armed. */
enum rnic_queue_arm_state {
	RNIC_ARM_STATE_ARMED = 0x9,
	RNIC_ARM_STATE_FIRED = 0xa,
	RNIC_ARM_STATE_ALWAYS_ARMED = 0xb,
};

/* Completion queue context. */
#define RNIC_CQC_FIELDS(F)                                 \
	F(RNIC_CQC_STATUS, 0x00, 31, 28)                   \
	F(RNIC_CQC_AS_NOTIFY, 0x00, 27, 27)                \
	F(RNIC_CQC_INITIATOR_SRC_DCT, 0x00, 26, 26)        \
	F(RNIC_CQC_DBR_UMEM_VALID, 0x00, 25, 25)           \
	F(RNIC_CQC_APU_CQ, 0x00, 24, 24)                   \
	F(RNIC_CQC_CQE_SZ, 0x00, 23, 21)                   \
	F(RNIC_CQC_CC, 0x00, 20, 20)                       \
	F(RNIC_CQC_SCQE_BREAK_MODERATION_EN, 0x00, 18, 18) \
	F(RNIC_CQC_OI, 0x00, 17, 17)                       \
	F(RNIC_CQC_CQ_PERIOD_MODE, 0x00, 16, 15)           \
	F(RNIC_CQC_CQE_COMP_EN, 0x00, 14, 14)              \
	F(RNIC_CQC_MINI_CQE_RES_FORMAT, 0x00, 13, 12)      \
	F(RNIC_CQC_ST, 0x00, 11, 8)                        \
	F(RNIC_CQC_CQE_COMPRESSION_LAYOUT, 0x00, 1, 0)     \
	F(RNIC_CQC_DBR_UMEM_ID, 0x04, 31, 0)               \
	F(RNIC_CQC_PAGE_OFFSET, 0x08, 11, 6)               \
	F(RNIC_CQC_LOG_CQ_SIZE, 0x0c, 28, 24)              \
	F(RNIC_CQC_UAR_PAGE, 0x0c, 23, 0)                  \
	F(RNIC_CQC_CQ_PERIOD, 0x10, 27, 16)                \
	F(RNIC_CQC_CQ_MAX_COUNT, 0x10, 15, 0)              \
	F(RNIC_CQC_C_EQN, 0x14, 31, 0)                     \
	F(RNIC_CQC_LOG_PAGE_SIZE, 0x18, 28, 24)            \
	F(RNIC_CQC_LAST_NOTIFIED_INDEX, 0x20, 23, 0)       \
	F(RNIC_CQC_LAST_SOLICIT_INDEX, 0x24, 23, 0)        \
	F(RNIC_CQC_CONSUMER_COUNTER, 0x28, 23, 0)          \
	F(RNIC_CQC_PRODUCER_COUNTER, 0x2c, 23, 0)          \
	F(RNIC_CQC_DBR_ADDR, 0x38, 63, 0)
RNIC_LAYOUT(cqc, CQC, 0x40)

enum rnic_cq_status {
	RNIC_CQ_STATUS_OK = 0x0,
	RNIC_CQ_STATUS_OVERFLOW = 0x9,
	RNIC_CQ_STATUS_WRITE_FAIL = 0xa,
};

enum rnic_cqe_size {
	RNIC_CQE_SIZE_64 = 0,
	RNIC_CQE_SIZE_128 = 1,
};

/*
 * Work queue: inside the contexts of SQs, RQs and RMPs; page addresses follow the command that
 * carries it.
 */
#define RNIC_WQ_FIELDS(F)                                \
	F(RNIC_WQ_WQ_TYPE, 0x00, 31, 28)                 \
	F(RNIC_WQ_WQ_SIGNATURE, 0x00, 27, 27)            \
	F(RNIC_WQ_END_PADDING_MODE, 0x00, 26, 25)        \
	F(RNIC_WQ_CD_SLAVE, 0x00, 24, 24)                \
	F(RNIC_WQ_HDS_SKIP_FIRST_SGE, 0x04, 31, 31)      \
	F(RNIC_WQ_LOG2_HDS_BUF_SIZE, 0x04, 30, 28)       \
	F(RNIC_WQ_PAGE_OFFSET, 0x04, 20, 16)             \
	F(RNIC_WQ_LWM, 0x04, 15, 0)                      \
	F(RNIC_WQ_PD, 0x08, 23, 0)                       \
	F(RNIC_WQ_UAR_PAGE, 0x0c, 23, 0)                 \
	F(RNIC_WQ_DBR_ADDR, 0x10, 63, 0)                 \
	F(RNIC_WQ_HW_COUNTER, 0x18, 31, 0)               \
	F(RNIC_WQ_SW_COUNTER, 0x1c, 31, 0)               \
	F(RNIC_WQ_LOG_WQ_STRIDE, 0x20, 19, 16)           \
	F(RNIC_WQ_LOG_WQ_PG_SZ, 0x20, 12, 8)             \
	F(RNIC_WQ_LOG_WQ_SZ, 0x20, 4, 0)                 \
	F(RNIC_WQ_DBR_UMEM_VALID, 0x24, 31, 31)          \
	F(RNIC_WQ_WQ_UMEM_VALID, 0x24, 30, 30)           \
	F(RNIC_WQ_LOG_HAIRPIN_NUM_PACKETS, 0x24, 28, 24) \
	F(RNIC_WQ_LOG_HAIRPIN_DATA_SZ, 0x24, 20, 16)     \
	F(RNIC_WQ_DBR_UMEM_ID, 0x28, 31, 0)              \
	F(RNIC_WQ_WQ_UMEM_ID, 0x2c, 31, 0)               \
	F(RNIC_WQ_WQ_UMEM_OFFSET, 0x30, 63, 0)
RNIC_LAYOUT(wq, WQ, 0xc0)

enum rnic_wq_type {
	RNIC_WQ_LINKED_LIST = 0,
	RNIC_WQ_CYCLIC = 1,
	RNIC_WQ_LINKED_LIST_STRIDING = 2,
	RNIC_WQ_CYCLIC_STRIDING = 3,
};

/* ts_format of SQs, RQs and QPs: what clock the times in their completions are of. */
enum rnic_ts_format {
	RNIC_TS_FORMAT_FREE_RUNNING = 0, /* the internal timer */
	RNIC_TS_FORMAT_DEFAULT = 1,	 /* as the device was configured */
	RNIC_TS_FORMAT_REAL_TIME = 2,	 /* seconds in the high dword, nanoseconds in the low one */
};

/* Send queue context. */
#define RNIC_SQC_FIELDS(F)                                 \
	F(RNIC_SQC_RLKY, 0x00, 31, 31)                     \
	F(RNIC_SQC_CD_MASTER, 0x00, 30, 30)                \
	F(RNIC_SQC_FRE, 0x00, 29, 29)                      \
	F(RNIC_SQC_FLUSH_IN_ERROR_EN, 0x00, 28, 28)        \
	F(RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE, 0x00, 27, 27) \
	F(RNIC_SQC_MIN_WQE_INLINE_MODE, 0x00, 26, 24)      \
	F(RNIC_SQC_STATE, 0x00, 23, 20)                    \
	F(RNIC_SQC_REG_UMR, 0x00, 19, 19)                  \
	F(RNIC_SQC_ALLOW_SWP, 0x00, 18, 18)                \
	F(RNIC_SQC_HAIRPIN, 0x00, 17, 17)                  \
	F(RNIC_SQC_TS_FORMAT, 0x00, 5, 4)                  \
	F(RNIC_SQC_USER_INDEX, 0x04, 23, 0)                \
	F(RNIC_SQC_CQN, 0x08, 23, 0)                       \
	F(RNIC_SQC_TIS_LST_SZ, 0x20, 31, 16)               \
	F(RNIC_SQC_TIS_NUM_0, 0x2c, 23, 0)
RNIC_LAYOUT(sqc, SQC, 0xf0)
RNIC_INNER(sqc, wq, wq, 0x30)

/* Receive queue context. */
#define RNIC_RQC_FIELDS(F)                          \
	F(RNIC_RQC_RLKY, 0x00, 31, 31)              \
	F(RNIC_RQC_DELAY_DROP_EN, 0x00, 30, 30)     \
	F(RNIC_RQC_SCATTER_FCS, 0x00, 29, 29)       \
	F(RNIC_RQC_VSD, 0x00, 28, 28)               \
	F(RNIC_RQC_MEM_RQ_TYPE, 0x00, 27, 24)       \
	F(RNIC_RQC_STATE, 0x00, 23, 20)             \
	F(RNIC_RQC_FLUSH_IN_ERROR_EN, 0x00, 18, 18) \
	F(RNIC_RQC_HAIRPIN, 0x00, 17, 17)           \
	F(RNIC_RQC_TS_FORMAT, 0x00, 5, 4)           \
	F(RNIC_RQC_USER_INDEX, 0x04, 23, 0)         \
	F(RNIC_RQC_CQN, 0x08, 23, 0)                \
	F(RNIC_RQC_COUNTER_SET_ID, 0x0c, 31, 24)    \
	F(RNIC_RQC_RMPN, 0x10, 23, 0)
RNIC_LAYOUT(rqc, RQC, 0xf0)
RNIC_INNER(rqc, wq, wq, 0x30)

/* mem_rq_type: where an RQ's WQEs are. */
enum rnic_rq_mem {
	RNIC_RQ_MEM_INLINE = 0,
	RNIC_RQ_MEM_RMP = 1,
};

/* States of SQs and RQs. */
enum rnic_wq_state {
	RNIC_WQ_STATE_RST = 0,
	RNIC_WQ_STATE_RDY = 1,
	RNIC_WQ_STATE_ERR = 3,
};

/* Transport interface send context. */
#define RNIC_TISC_FIELDS(F)                                    \
	F(RNIC_TISC_STRICT_LAG_TX_PORT_AFFINITY, 0x00, 31, 31) \
	F(RNIC_TISC_TLS_EN, 0x00, 30, 30)                      \
	F(RNIC_TISC_LAG_TX_PORT_AFFINITY, 0x00, 27, 24)        \
	F(RNIC_TISC_PRIO, 0x00, 19, 16)                        \
	F(RNIC_TISC_TRANSPORT_DOMAIN, 0x24, 23, 0)             \
	F(RNIC_TISC_UNDERLAY_QPN, 0x28, 23, 0)                 \
	F(RNIC_TISC_PD, 0x2c, 23, 0)
RNIC_LAYOUT(tisc, TISC, 0xa0)

/* Transport interface receive context. */
#define RNIC_TIRC_FIELDS(F)                                     \
	F(RNIC_TIRC_DISP_TYPE, 0x04, 31, 28)                    \
	F(RNIC_TIRC_TLS_EN, 0x04, 27, 27)                       \
	F(RNIC_TIRC_LRO_TIMEOUT_PERIOD_USECS, 0x10, 27, 12)     \
	F(RNIC_TIRC_LRO_ENABLE_MASK, 0x10, 11, 8)               \
	F(RNIC_TIRC_LRO_MAX_IP_PAYLOAD_SIZE, 0x10, 7, 0)        \
	F(RNIC_TIRC_INLINE_RQN, 0x1c, 23, 0)                    \
	F(RNIC_TIRC_RX_HASH_SYMMETRIC, 0x20, 31, 31)            \
	F(RNIC_TIRC_TUNNELED_OFFLOAD_EN, 0x20, 29, 29)          \
	F(RNIC_TIRC_INDIRECT_TABLE, 0x20, 23, 0)                \
	F(RNIC_TIRC_RX_HASH_FN, 0x24, 31, 28)                   \
	F(RNIC_TIRC_SELF_LB_BLOCK, 0x24, 25, 24)                \
	F(RNIC_TIRC_TRANSPORT_DOMAIN, 0x24, 23, 0)              \
	F(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0, 0x28, 63, 0)        \
	F(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_1, 0x30, 63, 0)        \
	F(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_2, 0x38, 63, 0)        \
	F(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_3, 0x40, 63, 0)        \
	F(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_4, 0x48, 63, 0)        \
	F(RNIC_TIRC_RX_HASH_OUTER_L3_PROT_TYPE, 0x50, 31, 31)   \
	F(RNIC_TIRC_RX_HASH_OUTER_L4_PROT_TYPE, 0x50, 30, 30)   \
	F(RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, 0x50, 29, 0) \
	F(RNIC_TIRC_RX_HASH_INNER_L3_PROT_TYPE, 0x54, 31, 31)   \
	F(RNIC_TIRC_RX_HASH_INNER_L4_PROT_TYPE, 0x54, 30, 30)   \
	F(RNIC_TIRC_RX_HASH_INNER_SELECTED_FIELDS, 0x54, 29, 0)
RNIC_LAYOUT(tirc, TIRC, 0xf0)

enum rnic_tir_disp_type {
	RNIC_TIR_DIRECT = 0,
	RNIC_TIR_INDIRECT = 1,
};

/*
 * self_lb_block, whatever its name says: a set bit lets the TIR have what its own function sends to itself. DPDK's and
 * Linux's drivers set it to allow that.
 */
enum rnic_tir_self_lb {
	RNIC_TIR_SELF_LB_UNICAST = 1 << 0,
	RNIC_TIR_SELF_LB_MULTICAST = 1 << 1,
};

enum rnic_rx_hash_fn {
	RNIC_RX_HASH_NONE = 0,
	RNIC_RX_HASH_INVERTED_XOR8 = 1,
	RNIC_RX_HASH_TOEPLITZ = 2,
};

/* rx_hash_field_select: the kind of packet, and which of its fields the hash is of. */
enum rnic_rx_hash_l3 {
	RNIC_RX_HASH_L3_IPV4 = 0,
	RNIC_RX_HASH_L3_IPV6 = 1,
};
enum rnic_rx_hash_l4 {
	RNIC_RX_HASH_L4_TCP = 0,
	RNIC_RX_HASH_L4_UDP = 1,
};
#define RNIC_RX_HASH_SRC_IP   (1u << 0)
#define RNIC_RX_HASH_DST_IP   (1u << 1)
#define RNIC_RX_HASH_L4_SPORT (1u << 2)
#define RNIC_RX_HASH_L4_DPORT (1u << 3)

/* Receive queue table: rqt_actual_size queue numbers, 4 bytes each, follow. */
#define RNIC_RQTC_FIELDS(F)                    \
	F(RNIC_RQTC_RQT_MAX_SIZE, 0x14, 15, 0) \
	F(RNIC_RQTC_RQT_ACTUAL_SIZE, 0x18, 15, 0)
RNIC_LAYOUT(rqtc, RQTC, 0xf0)

#endif
