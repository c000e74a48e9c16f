/* SPDX-License-Identifier: BSD-3-Clause */

/* What capabilities promise of sizes; handlers hold drivers to it. */
#ifndef SOFTRNIC_SIZES_H
#define SOFTRNIC_SIZES_H

#define SOFTRNIC_LOG_MAX_CQ_SIZE   22
#define SOFTRNIC_LOG_MAX_EQ_SIZE   16
#define SOFTRNIC_LOG_MAX_WQ_SIZE   15
#define SOFTRNIC_LOG_MAX_RQ_WQE	   9  /* bytes of a receive WQE */
#define SOFTRNIC_LOG_MAX_QP_SIZE   15 /* receive WQEs, send WQEBBs */
#define SOFTRNIC_LOG_MAX_RMP_SIZE  15
#define SOFTRNIC_LOG_MAX_MESSAGE   30
#define SOFTRNIC_LOG_MAX_RQT_SIZE  9
#define SOFTRNIC_LOG_MAX_LSO	   18 /* bytes of payload of a large send */
#define SOFTRNIC_LOG_MAX_FT_SIZE   16
#define SOFTRNIC_LOG_MAX_FLOW	   16 /* entries of all flow tables */
#define SOFTRNIC_MAX_INDIRECTION   4  /* keys of keys of keys */
#define SOFTRNIC_LOG_MAX_KLMS	   16
#define SOFTRNIC_MAX_FLOW_COUNTERS (1u << 15)
#define SOFTRNIC_MAX_KLMS	   (1u << SOFTRNIC_LOG_MAX_KLMS)

/* READs and atomics of a queue pair that wait for an answer; of its peer that are remembered. */
#define SOFTRNIC_LOG_MAX_RD_ATOMIC 4

/* More work than queue pairs ever have in a poll: it ends. Some can be added to it. */
#define SOFTRNIC_QPS_WORK_ENOUGH 0x7fffffffu

#endif
