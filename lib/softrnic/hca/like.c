/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Personalities, as tables. A row of capabilities says what a card has; where we show something else it says why. A row of
 * refusals says which command a card does not take, by the strictest reading of where it is known from: what all drivers
 * leave alone unless a capability is there is refused without it. Which status a card gives is a guess in all of them but
 * where it says otherwise.
 */
#include "softrnic/base/command.h"
#include "softrnic/hca/like.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
#define TRACE	      { SOFTRNIC_KNOWN_TRACE, "ConnectX-4 Lx, firmware 14.12.1220" }
#define DRIVER(where) { SOFTRNIC_KNOWN_DRIVER, where }
#define REPORT(where) { SOFTRNIC_KNOWN_REPORT, where }
#define GUESS(where)  { SOFTRNIC_KNOWN_GUESS, where }

/* A field of a layout that stands at an offset within another. */
#define AT(offset, field) ((uint32_t)(field) + ((uint32_t)(offset) << 16))

/* ---- Conditions ---- */

#define IS(at, number)	  { SOFTRNIC_LIKE_IS, at, number }
#define ABOVE(at, number) { SOFTRNIC_LIKE_ABOVE, at, number }
#define SET(at)		  { SOFTRNIC_LIKE_SET, at, 0 }
#define ZERO(at)	  { SOFTRNIC_LIKE_ZERO, at, 0 }

#define OP_MOD(number)	 IS(RNIC_CMD_IN_OP_MOD, number)
#define REGISTER(number) IS(RNIC_ACCESS_REG_IN_REGISTER_ID, number)
/* A bit of field_select of MODIFY_NIC_VPORT_CONTEXT. */
#define SELECTED(bit) SET(RNIC_FIELD(0x0c, bit, bit))

#define SELECT_ROCE_EN	      1
#define SELECT_ADDRESSES_LIST 2
#define SELECT_PROMISC	      4
#define SELECT_MTU	      6
_Static_assert(1u << SELECT_ROCE_EN == RNIC_NIC_VPORT_ROCE_EN, "bit of field_select");
_Static_assert(1u << SELECT_ADDRESSES_LIST == RNIC_NIC_VPORT_ADDRESSES_LIST, "bit of field_select");
_Static_assert(1u << SELECT_PROMISC == RNIC_NIC_VPORT_PROMISC, "bit of field_select");
_Static_assert(1u << SELECT_MTU == RNIC_NIC_VPORT_MTU, "bit of field_select");

/* Where contexts stand in inputs, and fields in those that have no names there. */
#define IN_SQ_RQ_CONTEXT  0x20
#define IN_QP_CONTEXT	  0x18
#define IN_VPORT_CONTEXT  0x100
#define IN_FIRST_ADDRESS  RNIC_FIELD(0x200, 63, 0) /* of MODIFY_NIC_VPORT_CONTEXT's list */
#define IN_GROUP_CRITERIA 0x40
#define IN_FLOW_CONTEXT	  0x40
#define SQ_TS_FORMAT	  AT(IN_SQ_RQ_CONTEXT, RNIC_SQC_TS_FORMAT)
#define RQ_TS_FORMAT	  AT(IN_SQ_RQ_CONTEXT, RNIC_RQC_TS_FORMAT)
#define QP_TS_FORMAT	  AT(IN_QP_CONTEXT, RNIC_QPC_TS_FORMAT)
#define IN_MKEY_CONTEXT	  0x10
#define ROOT_DISCONNECTED 1 /* op_mod of SET_FLOW_TABLE_ROOT */
/* The rights in the first translation: an entry of 64 bits behind the command's own fields. */
#define FIRST_MTT_RIGHTS  RNIC_FIELD(sizeof(struct rnic_create_mkey_in) + 4, 2, 0)

/* ---- All cards ---- */

static const struct softrnic_like_refusal card_refusals[] = {
	{ "the send queue is drained: RTS2SQD_QP", RNIC_CMD_RTS2SQD_QP, RNIC_STATUS_BAD_OP, {{ 0 }}, 0,
	  GUESS("Linux has dropped the opcode and the state change for 3.18; before, it had both, as the manual and "
		"FreeBSD's table of opcodes still have") },
	{ "changes of a drained QP: SQD2SQD_QP", RNIC_CMD_SQD2SQD_QP, RNIC_STATUS_BAD_OP, {{ 0 }}, 0,
	  GUESS("Linux has dropped the opcode and the state change for 3.18; before, it had both, as the manual still has") },
	{ "a list of unicast addresses that begins with zeros", RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT,
	  RNIC_STATUS_BAD_PARAM,
	  { SELECTED(SELECT_ADDRESSES_LIST),
	    IS(AT(IN_VPORT_CONTEXT, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE), RNIC_ALLOWED_LIST_UC),
	    ABOVE(AT(IN_VPORT_CONTEXT, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE), 0),
	    ZERO(IN_FIRST_ADDRESS) }, 0,
	  GUESS("no driver lists zeros: Linux's en_main.c makes up an address before") },
};
static const struct softrnic_like_part part_card = {
	.name = "card", .refusals = card_refusals, .refusal_count = COUNT(card_refusals),
};

/* ---- Cards without a choice of timestamps ---- */

static const struct softrnic_like_refusal no_ts_refusals[] = {
	{ "ts_format of an SQ", RNIC_CMD_CREATE_SQ, RNIC_STATUS_BAD_PARAM, { SET(SQ_TS_FORMAT) }, 0,
	  DRIVER("DPDK mlx5_ts_format_conv(): 0 where the capability is 0, as the bits are reserved") },
	{ "ts_format of an RQ", RNIC_CMD_CREATE_RQ, RNIC_STATUS_BAD_PARAM, { SET(RQ_TS_FORMAT) }, 0,
	  DRIVER("DPDK mlx5_ts_format_conv(): 0 where the capability is 0, as the bits are reserved") },
	{ "ts_format of a QP", RNIC_CMD_CREATE_QP, RNIC_STATUS_BAD_PARAM, { SET(QP_TS_FORMAT) }, 0,
	  DRIVER("Linux mlx5_get_qp_default_ts(): 0 where the capability is 0") },
};
static const struct softrnic_like_part part_no_ts = {
	.name = "no-ts", .refusals = no_ts_refusals, .refusal_count = COUNT(no_ts_refusals),
};

/* ---- ConnectX-4 Lx: what the trace shows, where that is not what we show by ourselves ---- */

#define CAP(TYPE, FIELD, shown, max, current, why)                                                \
	{ #FIELD, RNIC_CAP_##TYPE, SOFTRNIC_LIKE_##shown, RNIC_##FIELD, max, current, why, TRACE }
#define G(FIELD, value)			CAP(GENERAL, GENERAL_CAP_##FIELD, AS_CARD, value, value, NULL)
#define G_OWN(FIELD, max, current, why)	CAP(GENERAL, GENERAL_CAP_##FIELD, OWN, max, current, why)
#define G_NOT(FIELD, value, why)	CAP(GENERAL, GENERAL_CAP_##FIELD, NOT_BUILT, value, value, why)
#define E(FIELD, value)			CAP(ETHERNET_OFFLOADS, ETHERNET_CAP_##FIELD, AS_CARD, value, value, NULL)
#define E_NOT(FIELD, value, why)	CAP(ETHERNET_OFFLOADS, ETHERNET_CAP_##FIELD, NOT_BUILT, value, value, why)
#define A(FIELD, value)			CAP(ATOMIC, ATOMIC_CAP_##FIELD, AS_CARD, value, value, NULL)
#define A_NOT(FIELD, value, why)	CAP(ATOMIC, ATOMIC_CAP_##FIELD, NOT_BUILT, value, value, why)
#define R(FIELD, value)			CAP(ROCE, ROCE_CAP_##FIELD, AS_CARD, value, value, NULL)
#define R_OWN(FIELD, value, why)	CAP(ROCE, ROCE_CAP_##FIELD, OWN, value, value, why)
#define R_NOT(FIELD, value, why)	CAP(ROCE, ROCE_CAP_##FIELD, NOT_BUILT, value, value, why)
/* Flow tables: at an offset of the whole page, under a name of ours. */
#define FLOW(name, shown, field, value, why)                                                      \
	{ "FLOW_TABLE_CAP_" name, RNIC_CAP_FLOW_TABLE, SOFTRNIC_LIKE_##shown, field, value, value, why, TRACE }
#define RX 0x40
#define RX_PROPS(FIELD, shown, value, why)                                                        \
	FLOW("NIC_RECEIVE_" #FIELD, shown, AT(RX, RNIC_FLOW_TABLE_PROPS_##FIELD), value, why)
#define RX_SUPPORT(FIELD, high, low, shown, value, why)                                           \
	FLOW("NIC_RECEIVE_FIELD_SUPPORT_" FIELD, shown, RNIC_FIELD(RX + 0x20, high, low), value, why),  \
	FLOW("NIC_RECEIVE_BITMASK_SUPPORT_" FIELD, shown, RNIC_FIELD(RX + 0x30, high, low), value, why)
/* A whole type of flow tables. */
#define NO_TABLES(NAME, base, properties, why)                                                    \
	FLOW(NAME "_PROPERTIES", NOT_BUILT, RNIC_FIELD(base, 31, 0), properties, why),            \
	FLOW(NAME "_SIZES", NOT_BUILT, RNIC_FIELD((base) + 0x04, 31, 0), 0x100000ff, why),        \
	FLOW(NAME "_LOG_MAX_FT_NUM", NOT_BUILT, RNIC_FIELD((base) + 0x0c, 7, 0), 9, why),         \
	FLOW(NAME "_LOG_MAX_DESTINATION", NOT_BUILT, RNIC_FIELD((base) + 0x10, 7, 0), 10, why),   \
	FLOW(NAME "_LOG_MAX_FLOW", NOT_BUILT, RNIC_FIELD((base) + 0x14, 7, 0), 25, why),          \
	FLOW(NAME "_FIELD_SUPPORT_OUTER", NOT_BUILT, RNIC_FIELD((base) + 0x20, 31, 0), 0xeeefffc0, why), \
	FLOW(NAME "_FIELD_SUPPORT_INNER", NOT_BUILT, RNIC_FIELD((base) + 0x24, 31, 0), 0xeeeffe00, why), \
	FLOW(NAME "_BITMASK_SUPPORT_OUTER", NOT_BUILT, RNIC_FIELD((base) + 0x30, 31, 0), 0xeeefffc0, why), \
	FLOW(NAME "_BITMASK_SUPPORT_INNER", NOT_BUILT, RNIC_FIELD((base) + 0x34, 31, 0), 0xeeeffe00, why)

static const char tables[] = "the size of our tables";
static const char no_dc[] = "no dynamically connected transport";
static const char no_switch[] = "no switch of virtual ports";
static const char no_lro[] = "no large receives";
static const char no_tunnels[] = "no offloads within tunnels";
static const char no_sniffer[] = "no sniffer tables";
static const char no_transmit[] = "no transmit flow tables";
static const char no_inner[] = "no matches within tunnels";
static const char no_moderation[] = "moderation counts entries, from the first one on, and nothing else";
static const char big_endian[] = "no atomics with results in big-endian order, which is all that this card has";

static const struct softrnic_like_cap cx4lx_caps[] = {
	/* as the card */
	G(LOCAL_CA_ACK_DELAY, 16),
	G(BF, 1),
	G(PG, 0),
	G(OUT_OF_SEQ_CNT, 0),
	G(RETRANSMISSION_Q_COUNTERS, 0),
	G(ENHANCED_ERROR_Q_COUNTERS, 0),
	G(MODIFY_RQ_COUNTER_SET_ID, 0),
	G(RTS2RTS_QP_COUNTERS_SET_ID, 0),
	G(MODIFY_TIS, 0),
	G(IMAICL, 0),
	G(UMR_EXTENDED_TRANSLATION_OFFSET, 0),
	G(UMR_FENCE, 0),
	G(FLOW_COUNTER_BULK_ALLOC, 0),
	G(LOG_MAX_FLOW_COUNTER_BULK, 0),
	G(MAX_FLOW_COUNTER_15_0, 0),
	G(LOG_MAX_UCTX, 0),
	G(LOG_MAX_UMEM, 0),
	G(UMEM_UID_0, 0),
	G(UCTX_CAP, 0),
	G(QKV, 1),
	G(RELAXED_ORDERING_WRITE, 0),
	G(RELAXED_ORDERING_READ, 0),
	G(UAR_4K, 0),
	G(NUM_OF_UARS_PER_PAGE, 0),
	G(MAX_NUM_EQS, 0),
	G(DEVICE_FREQUENCY_KHZ, 0),
	G(VPORT_GROUP_MANAGER, 1),
	G(ESWITCH_MANAGER, 1),
	G(LOG_MAX_L2_TABLE, SOFTRNIC_L2_TABLE_LOG),
	CAP(GENERAL, GENERAL_CAP_GID_TABLE_SIZE, AS_CARD, 4, 0, NULL),
	E(ENHANCED_MULTI_PKT_SEND_WQE, 0),
	E(WQE_INLINE_MODE, RNIC_WQE_INLINE_CAP_VPORT),
	E(WQE_VLAN_INSERT, 0),
	E(SELF_LB_EN_MODIFIABLE, 0),
	A(ATOMIC_REQ_8B_ENDIANNESS_MODE, RNIC_ATOMIC_BIG_ENDIAN),
	A(SUPPORTED_ATOMIC_REQ_8B_ENDIANNESS_MODE_1, 0),
	FLOW("NIC_RX_MULTI_PATH_TIRS", AS_CARD, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS, 0, NULL),
	FLOW("NIC_RX_MULTI_PATH_TIRS_FTS", AS_CARD, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS, 0, NULL),
	RX_PROPS(FLOW_COUNTER, AS_CARD, 0, NULL),
	RX_PROPS(FLOW_MODIFY_EN, AS_CARD, 0, NULL),
	RX_PROPS(IDENTIFIED_MISS_TABLE_MODE, AS_CARD, 0, NULL),
	RX_PROPS(FLOW_TABLE_MODIFY, AS_CARD, 0, NULL),
	RX_PROPS(RESET_ROOT_TO_DEFAULT, AS_CARD, 0, NULL),
	RX_PROPS(IGNORE_FLOW_LEVEL, AS_CARD, 0, NULL),
	RX_SUPPORT("OUTER_IP_VERSION", 28, 28, AS_CARD, 0, NULL),
	RX_SUPPORT("OUTER_IPV4_TTL", 24, 24, AS_CARD, 0, NULL),
	/* our limits */
	G_OWN(LOG_MAX_QP, 23, 14, tables),
	G_OWN(LOG_MAX_SRQ, 23, 23, tables),
	G_OWN(LOG_MAX_CQ, 24, 24, tables),
	G_OWN(CQE_COMPRESSION_MAX_NUM, 16, 16, "lists are as long as what came together"),
	G_OWN(LOG_MAX_EQ_SZ, 22, 22, tables),
	G_OWN(LOG_MAX_EQ, 8, 8, tables),
	G_OWN(LOG_MAX_MKEY, 24, 24, tables),
	G_OWN(LOG_MAX_TRANSPORT_DOMAIN, 16, 16, tables),
	G_OWN(LOG_MAX_PD, 24, 24, tables),
	G_OWN(LOG_MAX_RQ, 23, 23, tables),
	G_OWN(LOG_MAX_SQ, 23, 23, tables),
	G_OWN(LOG_MAX_TIR, 23, 23, tables),
	G_OWN(LOG_MAX_TIS, 23, 23, tables),
	G_OWN(LOG_MAX_RMP, 23, 23, tables),
	G_OWN(LOG_MAX_RQT, 16, 16, tables),
	G_OWN(MAX_QP_MCG, 48, 48, tables),
	G_OWN(LOG_MAX_MCG, 21, 21, tables),
	G_OWN(LOG_MAX_XRCD, 24, 24, tables),
	G_OWN(MAX_QP_CNT, 255, 255, tables),
	G_OWN(LOG_MAX_VLAN_LIST, 12, 12, tables),
	G_OWN(LOG_MAX_CURRENT_MC_LIST, 14, 14, tables),
	G_OWN(LOG_MAX_CURRENT_UC_LIST, 10, 10, tables),
	G_OWN(LOG_MAX_MRW_SZ, 64, 64, "addresses have 64 bits, and a region ends before they do"),
	G_OWN(PKEY_TABLE_SIZE, 5, 0, "128 P_Keys, of which the first one counts"),
	G_OWN(UAR_SZ, 5, 5, "our BAR0 is smaller"),
	G_OWN(DEVICE_FREQUENCY_MHZ, 275, 275, "our clock counts nanoseconds"),
	R_OWN(L3_TYPE, 7, "RoCE version 2 alone, over IPv4 and IPv6"),
	R_OWN(ROCE_VERSION, 7, "RoCE version 2 alone, over IPv4 and IPv6"),
	R_OWN(ROCE_ADDRESS_TABLE_SIZE, 256, tables),
	R(SW_R_ROCE_SRC_UDP_PORT, 0),
	RX_PROPS(LOG_MAX_DESTINATION, OWN, 10, tables),
	RX_PROPS(LOG_MAX_FLOW, OWN, 25, tables),
	/* what we do not have */
	G_NOT(LOG_MAX_BSF_LIST_SIZE, 16, "no signatures"),
	G_NOT(LOG_MAX_RA_REQ_DC, 4, no_dc),
	G_NOT(LOG_MAX_RA_RES_DC, 4, no_dc),
	G_NOT(DC_CONNECT_QP, 1, no_dc),
	G_NOT(DC_CNAK_TRACE, 1, no_dc),
	G_NOT(MAX_WQE_SZ_SQ_DC, 256, no_dc),
	G_NOT(END_PAD, 1, "no padding of frames"),
	G_NOT(PAD_TX_ETH_PACKET, 1, "no padding of frames"),
	G_NOT(CC_QUERY_ALLOWED, 1, "no congestion control"),
	G_NOT(CC_MODIFY_ALLOWED, 1, "no congestion control"),
	G_NOT(VHCA_GROUP_MANAGER, 1, no_switch),
	G_NOT(NIC_VPORT_CHANGE_EVENT, 1, no_switch),
	G_NOT(ETS, 1, "one traffic class"),
	G_NOT(STAT_RATE_SUPPORT, 1, "no rates"),
	G_NOT(COMPACT_ADDRESS_VECTOR, 1, "address vectors of 48 bytes alone"),
	G_NOT(STRIDING_RQ, 1, "no striding receive queues"),
	CAP(GENERAL, GENERAL_CAP_CMDIF_CHECKSUM, NOT_BUILT, 3, 0, "no signatures of commands"),
	G_NOT(WQ_SIGNATURE, 1, "no signatures of WQEs"),
	G_NOT(SCTR_DATA_CQE, 1, "no payload in CQEs"),
	G_NOT(CQ_EQ_REMAP, 1, "a CQ keeps its EQ"),
	G_NOT(SCQE_BREAK_MODERATION, 1, no_moderation),
	G_NOT(CQ_PERIOD_START_FROM_CQE, 1, no_moderation),
	G_NOT(EXPONENTIAL_BACKOFF, 1, "timeouts stay the same"),
	G_NOT(CD, 1, "no queues that order others"),
	G_NOT(APM, 1, "no alternate paths"),
	G_NOT(PKV, 1, "no counter of violated P_Keys"),
	CAP(GENERAL, GENERAL_CAP_LOG_UAR_PAGE_SZ, NOT_BUILT, 8, 0, "UAR pages of 4 KiB alone"),
	E_NOT(LRO_CAP, 1, no_lro),
	E_NOT(LRO_TIME_STAMP, 1, no_lro),
	E_NOT(LRO_MIN_MSS_SIZE, 0x544, no_lro),
	E_NOT(LRO_TIMER_SUPPORTED_PERIODS_0, 8, no_lro),
	E_NOT(LRO_TIMER_SUPPORTED_PERIODS_1, 16, no_lro),
	E_NOT(LRO_TIMER_SUPPORTED_PERIODS_2, 32, no_lro),
	E_NOT(LRO_TIMER_SUPPORTED_PERIODS_3, 512, no_lro),
	E_NOT(MULTI_PKT_SEND_WQE, 1, "of multi-packet WQEs the enhanced ones alone"),
	E_NOT(TUNNEL_STATELESS_GRE, 1, no_tunnels),
	E_NOT(TUNNEL_STATELESS_VXLAN, 1, no_tunnels),
	A_NOT(ATOMIC_OPERATIONS, 0xf, big_endian),
	A_NOT(ATOMIC_SIZE_QP, 0x3c, big_endian),
	A_NOT(ATOMIC_SIZE_DC, 0x3c, no_dc),
	R_NOT(BIT_30, 1, "undocumented"),
	RX_SUPPORT("OUTER_SECOND_VLAN", 23, 21, NOT_BUILT, 7, "no matches of second tags"),
	RX_SUPPORT("OUTER_GRE_AND_VXLAN", 8, 6, NOT_BUILT, 7, no_inner),
	FLOW("NIC_RECEIVE_FIELD_SUPPORT_SOURCE_ESWITCH_PORT", NOT_BUILT, RNIC_FIELD(RX + 0x20, 0, 0), 1, no_switch),
	FLOW("NIC_RECEIVE_FIELD_SUPPORT_INNER", NOT_BUILT, RNIC_FIELD(RX + 0x24, 31, 0), 0xeeeffe00, no_inner),
	FLOW("NIC_RECEIVE_BITMASK_SUPPORT_INNER", NOT_BUILT, RNIC_FIELD(RX + 0x34, 31, 0), 0xeeeffe00, no_inner),
	NO_TABLES("NIC_RECEIVE_SNIFFER", 0xc0, 0xc8000000, no_sniffer),
	NO_TABLES("NIC_TRANSMIT", 0x100, 0x88000000, no_transmit),
	NO_TABLES("NIC_TRANSMIT_SNIFFER", 0x180, 0xc8000000, no_sniffer),
};

static const struct softrnic_like_refusal cx4lx_refusals[] = {
	{ "pg_access of a memory key", RNIC_CMD_CREATE_MKEY, RNIC_STATUS_BAD_PARAM,
	  { SET(RNIC_CREATE_MKEY_IN_PG_ACCESS) }, 0,
	  DRIVER("Linux reg_create() in mlx5_ib mr.c: by the capability pg alone") },
	{ "rights in a memory key's translations", RNIC_CMD_CREATE_MKEY, RNIC_STATUS_BAD_PARAM,
	  { IS(AT(IN_MKEY_CONTEXT, RNIC_MKC_ACCESS_MODE_1_0), RNIC_MKEY_MTT), SET(FIRST_MTT_RIGHTS) }, 0,
	  GUESS("Linux reg_create() has them with the capability pg alone; mlx5e sets one in UMR WQEs without, and that works") },
	{ "a flow entry that is changed", RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_SET_FTE_MODIFY) }, 0,
	  DRIVER("Linux mlx5_cmd_update_fte(): not without flow_modify_en") },
	{ "a flow entry with several destinations", RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_PARAM,
	  { ABOVE(AT(IN_FLOW_CONTEXT, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE), 1) }, 0,
	  DRIVER("Linux fwd_next_prio_supported(): not without nic_rx_multi_path_tirs") },
	{ "a flow entry that ignores levels", RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_PARAM,
	  { SET(RNIC_SET_FTE_IN_IGNORE_FLOW_LEVEL) }, 0,
	  DRIVER("Linux asks for it where the capability ignore_flow_level is") },
	{ "a flow group that matches ip_version", RNIC_CMD_CREATE_FLOW_GROUP, RNIC_STATUS_BAD_PARAM,
	  { SET(AT(IN_GROUP_CRITERIA, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION)) }, 0,
	  DRIVER("Linux en_fs.c: by ethertype where ft_field_support.outer_ip_version is 0") },
	{ "a flow group that matches ttl_hoplimit", RNIC_CMD_CREATE_FLOW_GROUP, RNIC_STATUS_BAD_PARAM,
	  { SET(AT(IN_GROUP_CRITERIA, RNIC_FTE_MATCH_SET_LYR_2_4_TTL_HOPLIMIT)) }, 0,
	  DRIVER("Linux matches it where ft_field_support.outer_ipv4_ttl is 1") },
	{ "operands of atomics in the host's order", RNIC_CMD_SET_HCA_CAP, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ATOMIC, 0)),
	    SET(AT(RNIC_HCA_CAP_OFFSET, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE)) }, 0,
	  DRIVER("Linux handle_hca_cap_atomic(): where mode 1 is supported") },
	{ "an RQ's counters that are changed", RNIC_CMD_MODIFY_RQ, RNIC_STATUS_BAD_PARAM,
	  { SET(RNIC_FIELD(RNIC_FIELD_OFFSET(RNIC_MODIFY_RQ_IN_BITMASK) + 4, 3, 3)) }, 0,
	  DRIVER("Linux mlx5_ib: not without modify_rq_counter_set_id") },
	{ "a QP's counters that are changed in RTS", RNIC_CMD_RTS2RTS_QP, RNIC_STATUS_BAD_PARAM,
	  { SET(RNIC_FIELD(RNIC_FIELD_OFFSET(RNIC_MODIFY_QP_IN_OPT_PARAM_MASK), 25, 25)) }, 0,
	  DRIVER("Linux mlx5_ib_qp_set_counter(): not without rts2rts_qp_counters_set_id") },
	{ "a TIS that is changed", RNIC_CMD_MODIFY_TIS, RNIC_STATUS_BAD_PARAM, {{ 0 }}, 0,
	  GUESS("modify_tis is 0, as recorded; mlx5e changes none, mlx5_ib those of RAW_PACKET with a priority alone") },
	{ "root flow table removed", RNIC_CMD_SET_FLOW_TABLE_ROOT, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(ROOT_DISCONNECTED) }, 0,
	  DRIVER("Linux mlx5_fs_cmd_set_tx_flow_table_root(): not without reset_root_to_default") },
	{ "an SQ with multi-packet WQEs", RNIC_CMD_CREATE_SQ, RNIC_STATUS_BAD_PARAM,
	  { SET(AT(IN_SQ_RQ_CONTEXT, RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE)) }, 0,
	  DRIVER("Linux mlx5_ib: not without multi_pkt_send_wqe, which the card has, and we have not") },
};
_Static_assert(1u << 3 == RNIC_MODIFY_RQ_COUNTER_SET_ID, "bit of the bitmask");
_Static_assert(1u << 25 == RNIC_QP_OPT_COUNTER_SET_ID, "bit of opt_param_mask");
static const struct softrnic_like_behaviour cx4lx_behaviours[] = {
	{ "L2 headers are inline in send WQEs", SOFTRNIC_LIKE_INLINE_L2, 1, TRACE },
};
static const struct softrnic_like_part part_cx4lx = {
	.name = "cx4lx", .caps = cx4lx_caps, .cap_count = COUNT(cx4lx_caps),
	.refusals = cx4lx_refusals, .refusal_count = COUNT(cx4lx_refusals),
	.behaviours = cx4lx_behaviours, .behaviour_count = COUNT(cx4lx_behaviours),
};

/* ---- ConnectX-5 and later, of which there is no trace: what drivers that run on them take for granted ---- */

#define CARD(TYPE, FIELD, value, known)                                                           \
	{ #FIELD, RNIC_CAP_##TYPE, SOFTRNIC_LIKE_AS_CARD, RNIC_##FIELD, value, value, NULL, known }

static const struct softrnic_like_cap cx5_caps[] = {
	CARD(GENERAL, GENERAL_CAP_PG, 1,
	     DRIVER("rdma-core mlx5_vfio.c sets pg_access always, and takes no older card")),
	{ "ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT", RNIC_CAP_ROCE, SOFTRNIC_LIKE_AS_CARD,
	  RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT, 1, 0, NULL,
	  GUESS("Linux handle_hca_cap_roce() asks for it where the maximum has it; undocumented which card has it") },
	CARD(FLOW_TABLE, FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS, 1,
	     GUESS("undocumented which firmware has it first")),
};
static const struct softrnic_like_part part_cx5 = {
	.name = "cx5", .caps = cx5_caps, .cap_count = COUNT(cx5_caps),
};

#define TS_FORMATS(value, KNOWN, where)                                                                  \
	CARD(GENERAL, GENERAL_CAP_SQ_TS_FORMAT, value, KNOWN(where)),                                    \
	CARD(GENERAL, GENERAL_CAP_RQ_TS_FORMAT, value, KNOWN(where)),                                    \
	CARD(ROCE, ROCE_CAP_QP_TS_FORMAT, value, KNOWN(where))

static const struct softrnic_like_cap cx6dx_caps[] = {
	TS_FORMATS(RNIC_TS_CAP_BOTH, GUESS, "a card of this family that has both, which Linux and DPDK know"),
	CARD(GENERAL, GENERAL_CAP_ROCE_RW_SUPPORTED, 1,
	     DRIVER("Linux asks for RoCE where it is set, with firmware from 2021 on")),
};
static const struct softrnic_like_part part_cx6dx = {
	.name = "cx6dx", .caps = cx6dx_caps, .cap_count = COUNT(cx6dx_caps),
};

/* ---- Physical functions that no embedded CPU decides for ---- */

static const struct softrnic_like_cap pf_caps[] = {
	CARD(GENERAL, GENERAL_CAP_VPORT_GROUP_MANAGER, 1,
	     DRIVER("Linux MLX5_VPORT_MANAGER(): set of a PF that has VFs; the recorded card's is")),
	CARD(GENERAL, GENERAL_CAP_ESWITCH_MANAGER, 1,
	     DRIVER("Linux mlx5_eswitch_enable(): set of a PF that has VFs; the recorded card's is")),
	CARD(GENERAL, GENERAL_CAP_LOG_MAX_L2_TABLE, SOFTRNIC_L2_TABLE_LOG,
	     GUESS("as the recorded card has it")),
};
static const struct softrnic_like_part part_pf = {
	.name = "pf", .caps = pf_caps, .cap_count = COUNT(pf_caps),
};

/* ---- Virtual functions, below a physical one with mlx5_core in legacy mode ---- */

static const struct softrnic_like_cap vf_caps[] = {
	CARD(GENERAL, GENERAL_CAP_VPORT_GROUP_MANAGER, 0,
	     DRIVER("Linux mlx5_modify_nic_vport_node_guid(): who has it may modify the vports of others")),
	CARD(GENERAL, GENERAL_CAP_ESWITCH_MANAGER, 0,
	     DRIVER("Linux esw_add_uc_addr(): the PF enters a VF's addresses in the switch")),
	CARD(GENERAL, GENERAL_CAP_LOG_MAX_L2_TABLE, 0,
	     DRIVER("Linux esw_add_uc_addr(): the PF enters a VF's addresses in the switch")),
};
static const struct softrnic_like_behaviour vf_behaviours[] = {
	{ "no permanent address, unless the administrator (mac=) has set one", SOFTRNIC_LIKE_NO_MAC, 1,
	  DRIVER("Linux mlx5e_set_netdev_dev_addr(): of zeros it makes up one") },
};
static const struct softrnic_like_part part_vf = {
	.name = "vf", .caps = vf_caps, .cap_count = COUNT(vf_caps),
	.behaviours = vf_behaviours, .behaviour_count = COUNT(vf_behaviours),
};

/* Without the administrator's `trust on`. */
static const struct softrnic_like_behaviour untrusted_behaviours[] = {
	{ "promiscuous modes are taken, and nothing more arrives", SOFTRNIC_LIKE_UNTRUSTED, 1,
	  REPORT("Mellanox community DOC-2473: trusted virtual functions alone enter them") },
};
static const struct softrnic_like_part part_untrusted = {
	.name = "untrusted",
	.behaviours = untrusted_behaviours, .behaviour_count = COUNT(untrusted_behaviours),
};

static const struct softrnic_like_refusal cx4lx_vf_refusals[] = {
	{ "HOST_ENDIANNESS is written", RNIC_CMD_ACCESS_REG, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_ACCESS_REG_WRITE), REGISTER(RNIC_REG_HOST_ENDIANNESS) }, 0,
	  GUESS("Linux set_hca_ctrl() writes it on physical functions alone") },
};
static const struct softrnic_like_part part_cx4lx_vf = {
	.name = "cx4lx-vf", .refusals = cx4lx_vf_refusals, .refusal_count = COUNT(cx4lx_vf_refusals),
};

/* ---- A host's function of a BlueField whose embedded CPU decides ---- */

static const struct softrnic_like_refusal host_refusals[] = {
	{ "the vport's MTU", RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, RNIC_STATUS_BAD_PARAM,
	  { SELECTED(SELECT_MTU) }, 0,
	  GUESS("Linux mlx5e_set_mtu() does not look at the answer") },
	{ "the vport's lists of addresses", RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, RNIC_STATUS_BAD_PARAM,
	  { SELECTED(SELECT_ADDRESSES_LIST) }, 0,
	  GUESS("Linux mlx5e_vport_context_update_addr_list() logs it and goes on") },
	{ "the vport's promiscuous modes", RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, RNIC_STATUS_BAD_PARAM,
	  { SELECTED(SELECT_PROMISC) }, 0,
	  GUESS("Linux mlx5e_vport_context_update() does not look at the answer") },
	{ "PMTU", RNIC_CMD_ACCESS_REG, RNIC_STATUS_BAD_PARAM, { REGISTER(RNIC_REG_PMTU) }, 0,
	  GUESS("Linux mlx5e_query_mtu() asks the vport first, and takes no answer for 1500") },
	{ "PAOS is written", RNIC_CMD_ACCESS_REG, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_ACCESS_REG_WRITE), REGISTER(RNIC_REG_PAOS) }, 0,
	  GUESS("Linux mlx5e_modify_admin_state() does not look at the answer") },
};
static const struct softrnic_like_part part_host = {
	.name = "bluefield-host", .refusals = host_refusals, .refusal_count = COUNT(host_refusals),
};

/* ---- Firmware that is set up or made otherwise ---- */

/* REAL_TIME_CLOCK_ENABLE=1. */
static const struct softrnic_like_cap realtime_caps[] = {
	TS_FORMATS(RNIC_TS_CAP_REAL_TIME, DRIVER, "Linux and DPDK choose the default format (1) where it is not 0"),
};
static const struct softrnic_like_refusal realtime_refusals[] = {
	{ "an SQ with the free running clock", RNIC_CMD_CREATE_SQ, RNIC_STATUS_BAD_PARAM,
	  { ZERO(SQ_TS_FORMAT) }, 0,
	  REPORT("UCX pull request 8267: with real time alone the creation of a QP fails") },
	{ "an RQ with the free running clock", RNIC_CMD_CREATE_RQ, RNIC_STATUS_BAD_PARAM,
	  { ZERO(RQ_TS_FORMAT) }, 0,
	  REPORT("UCX pull request 8267: with real time alone the creation of a QP fails") },
	{ "a QP with the free running clock", RNIC_CMD_CREATE_QP, RNIC_STATUS_BAD_PARAM,
	  { ZERO(QP_TS_FORMAT) }, 0,
	  REPORT("UCX pull request 8267: with real time alone the creation of a QP fails") },
};
static const struct softrnic_like_part part_realtime = {
	.name = "realtime", .caps = realtime_caps, .cap_count = COUNT(realtime_caps),
	.refusals = realtime_refusals, .refusal_count = COUNT(realtime_refusals),
};

/* RoCE is there for who asks for it, and off. */
#define UNLESS_ROCE RNIC_GENERAL_CAP_ROCE

static const struct softrnic_like_cap oldfw_caps[] = {
	{ "GENERAL_CAP_ROCE", RNIC_CAP_GENERAL, SOFTRNIC_LIKE_AS_CARD, RNIC_GENERAL_CAP_ROCE, 1, 0, NULL,
	  GUESS("Linux handle_hca_cap() asks for it where the maximum has it") },
	CARD(GENERAL, GENERAL_CAP_ROCE_RW_SUPPORTED, 1,
	     GUESS("Linux handle_hca_cap() asks for it where this is set")),
};
static const struct softrnic_like_refusal oldfw_refusals[] = {
	{ "capabilities of RoCE (maximum)", RNIC_CMD_QUERY_HCA_CAP, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ROCE, 0)) }, UNLESS_ROCE,
	  GUESS("Linux handle_hca_cap_roce() asks where RoCE is on") },
	{ "capabilities of RoCE (current)", RNIC_CMD_QUERY_HCA_CAP, RNIC_STATUS_BAD_PARAM,
	  { OP_MOD(RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ROCE, 1)) }, UNLESS_ROCE,
	  GUESS("Linux handle_hca_cap_roce() asks where RoCE is on") },
	{ "the vport's RoCE is enabled", RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, RNIC_STATUS_BAD_PARAM,
	  { SELECTED(SELECT_ROCE_EN), SET(AT(IN_VPORT_CONTEXT, RNIC_NIC_VPORT_CONTEXT_ROCE_EN)) },
	  UNLESS_ROCE, GUESS("Linux mlx5_ib does so where RoCE is on") },
	{ "a GID", RNIC_CMD_SET_ROCE_ADDRESS, RNIC_STATUS_BAD_PARAM, {{ 0 }}, UNLESS_ROCE,
	  GUESS("Linux mlx5_core_roce_gid_set() checks that RoCE is on") },
	{ "a reliable connection", RNIC_CMD_CREATE_QP, RNIC_STATUS_BAD_PARAM,
	  { IS(AT(IN_QP_CONTEXT, RNIC_QPC_ST), RNIC_QP_ST_RC) }, UNLESS_ROCE,
	  GUESS("the capability fl_rc_qp_when_roce_disabled is for cards that take some") },
};
static const struct softrnic_like_part part_oldfw = {
	.name = "oldfw", .caps = oldfw_caps, .cap_count = COUNT(oldfw_caps),
	.refusals = oldfw_refusals, .refusal_count = COUNT(oldfw_refusals),
};

static const struct softrnic_like_behaviour busyfw_behaviours[] = {
	{ "each command takes 10 ms, one after the other", SOFTRNIC_LIKE_COMMAND_US, 10000,
	  GUESS("drivers wait for up to 60 s for one") },
};
static const struct softrnic_like_part part_busyfw = {
	.name = "busyfw", .behaviours = busyfw_behaviours, .behaviour_count = COUNT(busyfw_behaviours),
};

/* ---- The names ---- */

const struct softrnic_like softrnic_likes[] = {
	{ "default", 0x1017, { NULL } },
	{ "cx4lx", 0x1015, { &part_card, &part_no_ts, &part_cx4lx } },
	{ "cx4lx-vf", 0x1016,
	  { &part_card, &part_no_ts, &part_cx4lx, &part_vf, &part_cx4lx_vf, &part_untrusted } },
	{ "cx4lx-vf-trusted", 0x1016, { &part_card, &part_no_ts, &part_cx4lx, &part_vf, &part_cx4lx_vf } },
	{ "cx5", 0x1017, { &part_card, &part_no_ts, &part_cx5, &part_pf } },
	{ "cx5-vf", 0x1018, { &part_card, &part_no_ts, &part_cx5, &part_vf, &part_untrusted } },
	{ "cx5-vf-trusted", 0x1018, { &part_card, &part_no_ts, &part_cx5, &part_vf } },
	{ "cx6dx", 0x101d, { &part_card, &part_cx5, &part_cx6dx, &part_pf } },
	{ "cx6dx-vf", 0x101e, { &part_card, &part_cx5, &part_cx6dx, &part_vf, &part_untrusted } },
	{ "cx6dx-vf-trusted", 0x101e, { &part_card, &part_cx5, &part_cx6dx, &part_vf } },
	/* Nothing is known that sets it apart, but for its links. */
	{ "cx7", 0x1021, { &part_card, &part_cx5, &part_cx6dx, &part_pf } },
	{ "cx7-vf", 0x101e, { &part_card, &part_cx5, &part_cx6dx, &part_vf, &part_untrusted } },
	{ "cx7-vf-trusted", 0x101e, { &part_card, &part_cx5, &part_cx6dx, &part_vf } },
	{ "bluefield-host", 0xa2d6, { &part_card, &part_cx5, &part_cx6dx, &part_host } },
	{ "realtime", 0x101d, { &part_card, &part_cx5, &part_cx6dx, &part_pf, &part_realtime } },
	{ "oldfw", 0x1017, { &part_card, &part_no_ts, &part_cx5, &part_pf, &part_oldfw } },
	{ "busyfw", 0x1017, { &part_card, &part_no_ts, &part_cx5, &part_pf, &part_busyfw } },
};
/* clang-format on */

const unsigned int softrnic_like_count = COUNT(softrnic_likes);

const struct softrnic_like *
softrnic_like_find(const char *name)
{
	if (name == NULL)
		return &softrnic_likes[0];
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		if (strcmp(softrnic_likes[i].name, name) == 0)
			return &softrnic_likes[i];
	}
	return NULL;
}

uint16_t
softrnic_like_pci_device(const char *name)
{
	const struct softrnic_like *like = softrnic_like_find(name);

	return like == NULL ? 0 : like->pci_device;
}

/* ---- What the device asks ---- */

void
softrnic_like_caps(const struct softrnic *dev, unsigned int type, bool current, void *cap)
{
	for (const struct softrnic_like_part *const *part = dev->like->parts; *part != NULL;
	     part++) {
		for (unsigned int i = 0; i < (*part)->cap_count; i++) {
			const struct softrnic_like_cap *row = &(*part)->caps[i];

			if (row->type != type || row->shown == SOFTRNIC_LIKE_OWN)
				continue;
			rnic_field_set(cap, row->field,
				       row->shown == SOFTRNIC_LIKE_NOT_BUILT ? 0
				       : current			     ? row->current
									     : row->max);
		}
	}
}

static bool
like_when_holds(const struct softrnic_like_when *when, const struct softrnic_cmd *cmd)
{
	uint32_t bytes =
		RNIC_FIELD_OFFSET(when->field) + (RNIC_FIELD_HIGH(when->field) > 31 ? 8 : 4);
	uint64_t value;

	if (when->how == SOFTRNIC_LIKE_ALWAYS)
		return true;
	if (cmd->in_bytes < bytes)
		return false;
	value = rnic_field_get(cmd->in, when->field);
	switch (when->how) {
	case SOFTRNIC_LIKE_IS: return value == when->value;
	case SOFTRNIC_LIKE_ABOVE: return value > when->value;
	case SOFTRNIC_LIKE_SET: return value != 0;
	default: return value == 0;
	}
}

static bool
like_refusal_holds(const struct softrnic *dev, const struct softrnic_like_refusal *row,
		   const struct softrnic_cmd *cmd)
{
	if (row->opcode != cmd->opcode ||
	    (row->lifted_by != 0 && rnic_field_get(dev->general_cap[1].dw, row->lifted_by) != 0))
		return false;
	for (unsigned int i = 0; i < SOFTRNIC_LIKE_WHENS; i++) {
		if (!like_when_holds(&row->when[i], cmd))
			return false;
	}
	return true;
}

int
softrnic_like_refuses(const struct softrnic *dev, struct softrnic_cmd *cmd)
{
	for (const struct softrnic_like_part *const *part = dev->like->parts; *part != NULL;
	     part++) {
		for (unsigned int i = 0; i < (*part)->refusal_count; i++) {
			const struct softrnic_like_refusal *row = &(*part)->refusals[i];

			if (!like_refusal_holds(dev, row, cmd))
				continue;
			cmd->syndrome = SOFTRNIC_LIKE_SYNDROME(row->opcode, i);
			SOFTRNIC_LOG(NOTICE, dev, "refused as by a %s: %s", dev->like->name,
				     row->name);
			return row->status;
		}
	}
	return RNIC_STATUS_OK;
}

void
softrnic_like_apply(struct softrnic *dev)
{
	for (const struct softrnic_like_part *const *part = dev->like->parts; *part != NULL;
	     part++) {
		for (unsigned int i = 0; i < (*part)->behaviour_count; i++) {
			const struct softrnic_like_behaviour *row = &(*part)->behaviours[i];

			switch (row->does) {
			case SOFTRNIC_LIKE_INLINE_L2: dev->conf.inline_l2 = true; break;
			case SOFTRNIC_LIKE_NO_MAC: dev->no_mac = true; break;
			case SOFTRNIC_LIKE_UNTRUSTED: dev->untrusted = true; break;
			case SOFTRNIC_LIKE_COMMAND_US:
				dev->command_ns = row->value * UINT64_C(1000);
				break;
			}
		}
	}
}
