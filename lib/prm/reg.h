/* SPDX-License-Identifier: BSD-3-Clause */

/* Access registers: what ACCESS_REG reads and writes (PRM: "Access Registers"). */
#ifndef RNIC_PRM_REG_H
#define RNIC_PRM_REG_H

#include "field.h"

enum rnic_reg {
	RNIC_REG_PMTU = 0x5003,
	RNIC_REG_PTYS = 0x5004,
	RNIC_REG_PAOS = 0x5006,
	RNIC_REG_PFCC = 0x5007,
	RNIC_REG_PPCNT = 0x5008,
	RNIC_REG_PCMR = 0x5041,
	RNIC_REG_NODE_DESC = 0x6001,
	RNIC_REG_HOST_ENDIANNESS = 0x7004,
};

#define RNIC_ACCESS_REG_WRITE 0 /* op_mod */
#define RNIC_ACCESS_REG_READ  1

/* Port MTU: bytes of a frame with Ethernet header and FCS. */
#define RNIC_PMTU_REG_FIELDS(F)                   \
	F(RNIC_PMTU_REG_LOCAL_PORT, 0x00, 23, 16) \
	F(RNIC_PMTU_REG_MAX_MTU, 0x04, 31, 16)    \
	F(RNIC_PMTU_REG_ADMIN_MTU, 0x08, 31, 16)  \
	F(RNIC_PMTU_REG_OPER_MTU, 0x0c, 31, 16)
RNIC_LAYOUT(pmtu_reg, PMTU_REG, 0x10)

/* Port type and speed. */
#define RNIC_PTYS_REG_FIELDS(F)                                 \
	F(RNIC_PTYS_REG_AN_DISABLE_CAP, 0x00, 29, 29)           \
	F(RNIC_PTYS_REG_AN_DISABLE_ADMIN, 0x00, 30, 30)         \
	F(RNIC_PTYS_REG_LOCAL_PORT, 0x00, 23, 16)               \
	F(RNIC_PTYS_REG_PROTO_MASK, 0x00, 2, 0)                 \
	F(RNIC_PTYS_REG_AN_STATUS, 0x04, 31, 28)                \
	F(RNIC_PTYS_REG_DATA_RATE_OPER, 0x04, 15, 0)            \
	F(RNIC_PTYS_REG_EXT_ETH_PROTO_CAPABILITY, 0x08, 31, 0)  \
	F(RNIC_PTYS_REG_ETH_PROTO_CAPABILITY, 0x0c, 31, 0)      \
	F(RNIC_PTYS_REG_IB_LINK_WIDTH_CAPABILITY, 0x10, 31, 16) \
	F(RNIC_PTYS_REG_IB_PROTO_CAPABILITY, 0x10, 15, 0)       \
	F(RNIC_PTYS_REG_EXT_ETH_PROTO_ADMIN, 0x14, 31, 0)       \
	F(RNIC_PTYS_REG_ETH_PROTO_ADMIN, 0x18, 31, 0)           \
	F(RNIC_PTYS_REG_IB_LINK_WIDTH_ADMIN, 0x1c, 31, 16)      \
	F(RNIC_PTYS_REG_IB_PROTO_ADMIN, 0x1c, 15, 0)            \
	F(RNIC_PTYS_REG_EXT_ETH_PROTO_OPER, 0x20, 31, 0)        \
	F(RNIC_PTYS_REG_ETH_PROTO_OPER, 0x24, 31, 0)            \
	F(RNIC_PTYS_REG_IB_LINK_WIDTH_OPER, 0x28, 31, 16)       \
	F(RNIC_PTYS_REG_IB_PROTO_OPER, 0x28, 15, 0)             \
	F(RNIC_PTYS_REG_CONNECTOR_TYPE, 0x2c, 3, 0)             \
	F(RNIC_PTYS_REG_ETH_PROTO_LP_ADVERTISE, 0x30, 31, 0)
RNIC_LAYOUT(ptys_reg, PTYS_REG, 0x40)

#define RNIC_PTYS_PROTO_ETH	   0x4
#define RNIC_PTYS_ETH_100GBASE_CR4 (1u << 20)
#define RNIC_PTYS_ETH_100GBASE_SR4 (1u << 21)
#define RNIC_PTYS_ETH_25GBASE_CR   (1u << 27)
/* Of the extended fields; the number behind is that of lanes. */
#define RNIC_PTYS_EXT_200GAUI_1 (1u << 14)
#define RNIC_PTYS_EXT_400GAUI_2 (1u << 17)
#define RNIC_PTYS_EXT_800GAUI_8 (1u << 19)
#define RNIC_PTYS_EXT_800GAUI_4 (1u << 20)

/* Port administrative and operational status. */
#define RNIC_PAOS_REG_FIELDS(F)                    \
	F(RNIC_PAOS_REG_SWID, 0x00, 31, 24)        \
	F(RNIC_PAOS_REG_LOCAL_PORT, 0x00, 23, 16)  \
	F(RNIC_PAOS_REG_ADMIN_STATUS, 0x00, 11, 8) \
	F(RNIC_PAOS_REG_OPER_STATUS, 0x00, 3, 0)   \
	F(RNIC_PAOS_REG_ASE, 0x04, 31, 31)         \
	F(RNIC_PAOS_REG_EE, 0x04, 30, 30)          \
	F(RNIC_PAOS_REG_E, 0x04, 1, 0)
RNIC_LAYOUT(paos_reg, PAOS_REG, 0x10)

enum rnic_port_status {
	RNIC_PORT_UP = 1,
	RNIC_PORT_DOWN = 2,
};

/* Port flow control. */
#define RNIC_PFCC_REG_FIELDS(F)                     \
	F(RNIC_PFCC_REG_LOCAL_PORT, 0x00, 23, 16)   \
	F(RNIC_PFCC_REG_PNAT, 0x00, 15, 14)         \
	F(RNIC_PFCC_REG_PRIO_MASK_TX, 0x04, 23, 16) \
	F(RNIC_PFCC_REG_PRIO_MASK_RX, 0x04, 7, 0)   \
	F(RNIC_PFCC_REG_PPTX, 0x08, 31, 31)         \
	F(RNIC_PFCC_REG_APTX, 0x08, 30, 30)         \
	F(RNIC_PFCC_REG_PFCTX, 0x08, 23, 16)        \
	F(RNIC_PFCC_REG_PPRX, 0x0c, 31, 31)         \
	F(RNIC_PFCC_REG_APRX, 0x0c, 30, 30)         \
	F(RNIC_PFCC_REG_PFCRX, 0x0c, 23, 16)
RNIC_LAYOUT(pfcc_reg, PFCC_REG, 0x10)

/* Port counters; the rows after GRP and CLR are those of group 0 (IEEE 802.3). */
#define RNIC_PPCNT_REG_FIELDS(F)                                      \
	F(RNIC_PPCNT_REG_SWID, 0x00, 31, 24)                          \
	F(RNIC_PPCNT_REG_LOCAL_PORT, 0x00, 23, 16)                    \
	F(RNIC_PPCNT_REG_PNAT, 0x00, 15, 14)                          \
	F(RNIC_PPCNT_REG_GRP, 0x00, 5, 0)                             \
	F(RNIC_PPCNT_REG_CLR, 0x04, 31, 31)                           \
	F(RNIC_PPCNT_REG_PRIO_TC, 0x04, 4, 0)                         \
	F(RNIC_PPCNT_REG_A_FRAMES_TRANSMITTED_OK, 0x08, 63, 0)        \
	F(RNIC_PPCNT_REG_A_FRAMES_RECEIVED_OK, 0x10, 63, 0)           \
	F(RNIC_PPCNT_REG_A_FRAME_CHECK_SEQUENCE_ERRORS, 0x18, 63, 0)  \
	F(RNIC_PPCNT_REG_A_ALIGNMENT_ERRORS, 0x20, 63, 0)             \
	F(RNIC_PPCNT_REG_A_OCTETS_TRANSMITTED_OK, 0x28, 63, 0)        \
	F(RNIC_PPCNT_REG_A_OCTETS_RECEIVED_OK, 0x30, 63, 0)           \
	F(RNIC_PPCNT_REG_A_MULTICAST_FRAMES_XMITTED_OK, 0x38, 63, 0)  \
	F(RNIC_PPCNT_REG_A_BROADCAST_FRAMES_XMITTED_OK, 0x40, 63, 0)  \
	F(RNIC_PPCNT_REG_A_MULTICAST_FRAMES_RECEIVED_OK, 0x48, 63, 0) \
	F(RNIC_PPCNT_REG_A_BROADCAST_FRAMES_RECEIVED_OK, 0x50, 63, 0)
RNIC_LAYOUT(ppcnt_reg, PPCNT_REG, 0x100)

/* Port checks. */
#define RNIC_PCMR_REG_FIELDS(F)                   \
	F(RNIC_PCMR_REG_LOCAL_PORT, 0x00, 23, 16) \
	F(RNIC_PCMR_REG_FCS_CAP, 0x04, 1, 1)      \
	F(RNIC_PCMR_REG_FCS_CHK, 0x08, 1, 1)
RNIC_LAYOUT(pcmr_reg, PCMR_REG, 0xc)

/* Host endianness: 0 little. */
#define RNIC_HOST_ENDIANNESS_REG_FIELDS(F) F(RNIC_HOST_ENDIANNESS_REG_HE, 0x00, 31, 31)
RNIC_LAYOUT(host_endianness_reg, HOST_ENDIANNESS_REG, 0x10)

/* Node description: 64 bytes of text. */
RNIC_FRAME(node_desc_reg, 0x40)

#endif
