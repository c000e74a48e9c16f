/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The initialization segment at the start of BAR0 (PRM: "Initialization Segment"): byte offsets and
 * bits.
 */
#ifndef RNIC_PRM_INIT_SEG_H
#define RNIC_PRM_INIT_SEG_H

#include "field.h"

#define RNIC_INIT_SEG_FIELDS(F)                              \
	F(RNIC_ISEG_FW_REV_MINOR, 0x0000, 31, 16)            \
	F(RNIC_ISEG_FW_REV_MAJOR, 0x0000, 15, 0)             \
	F(RNIC_ISEG_CMD_INTERFACE_REV, 0x0004, 31, 16)       \
	F(RNIC_ISEG_FW_REV_SUBMINOR, 0x0004, 15, 0)          \
	F(RNIC_ISEG_CMDQ_ADDR_HIGH, 0x0010, 31, 0)           \
	F(RNIC_ISEG_CMDQ_ADDR_LOW, 0x0014, 31, 12)           \
	F(RNIC_ISEG_NIC_INTERFACE, 0x0014, 10, 8)            \
	F(RNIC_ISEG_LOG_CMDQ_SIZE, 0x0014, 7, 4)             \
	F(RNIC_ISEG_LOG_CMDQ_STRIDE, 0x0014, 3, 0)           \
	F(RNIC_ISEG_COMMAND_DOORBELL, 0x0018, 31, 0)         \
	F(RNIC_ISEG_INITIALIZING, 0x01fc, 31, 31)            \
	F(RNIC_ISEG_FW_RESET_SUPPORTED, 0x01fc, 30, 30)      \
	F(RNIC_ISEG_NIC_INTERFACE_SUPPORTED, 0x01fc, 26, 24) \
	F(RNIC_ISEG_EMBEDDED_CPU, 0x01fc, 23, 23)            \
	F(RNIC_ISEG_ASSERT_VAR_0, 0x0200, 31, 0)             \
	F(RNIC_ISEG_ASSERT_EXIT_PTR, 0x0220, 31, 0)          \
	F(RNIC_ISEG_ASSERT_CALLRA, 0x0224, 31, 0)            \
	F(RNIC_ISEG_HEALTH_TIME, 0x022c, 31, 0)              \
	F(RNIC_ISEG_HEALTH_FW_VERSION, 0x0230, 31, 0)        \
	F(RNIC_ISEG_HEALTH_HW_ID, 0x0234, 31, 0)             \
	F(RNIC_ISEG_HEALTH_RFR, 0x0238, 31, 31)              \
	F(RNIC_ISEG_HEALTH_SEVERITY, 0x0238, 30, 24)         \
	F(RNIC_ISEG_HEALTH_IRISC_INDEX, 0x023c, 31, 24)      \
	F(RNIC_ISEG_HEALTH_SYNDROME, 0x023c, 23, 16)         \
	F(RNIC_ISEG_HEALTH_EXT_SYNDROME, 0x023c, 15, 0)      \
	F(RNIC_ISEG_CMD_EXEC_TIMEOUT, 0x0ff8, 31, 0)         \
	F(RNIC_ISEG_CMDQ_INIT_TIMEOUT, 0x0ffc, 31, 0)        \
	F(RNIC_ISEG_INTERNAL_TIMER_HIGH, 0x1000, 31, 0)      \
	F(RNIC_ISEG_INTERNAL_TIMER_LOW, 0x1004, 31, 0)       \
	F(RNIC_ISEG_HEALTH_COUNTER, 0x1010, 23, 0)           \
	F(RNIC_ISEG_REAL_TIME_HIGH, 0x1040, 31, 0)           \
	F(RNIC_ISEG_REAL_TIME_LOW, 0x1044, 31, 0)
RNIC_LAYOUT(init_seg, INIT_SEG, 0x4000)

/* In pages of 4 KiB. UAR pages may begin behind it. */
#define RNIC_INIT_SEG_PAGES (sizeof(struct rnic_init_seg) / 4096)

#define RNIC_CMD_INTERFACE_REV 5
#define RNIC_CMDQ_LOG_SIZE     5 /* 32 command slots */
#define RNIC_CMDQ_LOG_STRIDE   6 /* of 64 bytes */

/* nic_interface: how the driver wants the function. */
enum rnic_nic_interface {
	RNIC_NIC_INTERFACE_FULL_DRIVER = 0,
	RNIC_NIC_INTERFACE_DISABLED = 1,
	RNIC_NIC_INTERFACE_NO_DRAM = 2,
	RNIC_NIC_INTERFACE_SW_RESET = 7,
};

/* The first UAR page that a ConnectX-4 Lx hands out, and so the software RNIC. */
#define RNIC_FIRST_UAR 0x10

#endif
