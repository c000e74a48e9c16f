/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Capabilities: one table row per promise. A row is here when the feature works; drivers build on what they read, so a
 * promise that is not kept is worse than none.
 */
#include <string.h>

#include "prm/uar.h"
#include "softrnic/base/object.h"
#include "softrnic/base/quirks.h"
#include "softrnic/event/compress.h"
#include "softrnic/hca/caps.h"
#include "softrnic/hca/l2.h"
#include "softrnic/hca/like.h"
#include "softrnic/receive/flow.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"
#include "softrnic/receive/steer.h"

#define GENERAL(field) RNIC_GENERAL_CAP_##field

struct general_row {
	enum rnic_general_cap_field field;
	uint32_t value;
};

/* Of IB's own table, 8 << n; RoCE's is told by its capabilities. */
#define GID_TABLE_SIZE 4
_Static_assert(8 << GID_TABLE_SIZE == SOFTRNIC_ROCE_ADDRS, "one table");

/* 4.096 us * 2^n, 4 ms: the device thread may be asleep when a packet comes. */
#define ACK_DELAY 10

#define ROCE_UDP_PORT		4791
#define ROCE_UDP_SOURCE_PORT	0xc000
#define ROCE_UDP_SOURCE_PORT_TO 0xffff

static const struct general_row general[] = {
	/* Ethernet port */
	{ GENERAL(PORT_TYPE), 1 },
	{ GENERAL(NUM_PORTS), 1 },
	{ GENERAL(ETH_NET_OFFLOADS), 1 },
	{ GENERAL(NIC_FLOW_TABLE), 1 },
	{ GENERAL(VPORT_COUNTERS), 1 },
	{ GENERAL(LOG_MAX_CURRENT_UC_LIST), SOFTRNIC_MAC_LIST_LOG },
	{ GENERAL(LOG_MAX_CURRENT_MC_LIST), SOFTRNIC_MAC_LIST_LOG },
	{ GENERAL(LOG_MAX_VLAN_LIST), SOFTRNIC_MAC_LIST_LOG },
	/* queues */
	{ GENERAL(LOG_MAX_CQ_SZ), SOFTRNIC_LOG_MAX_CQ_SIZE },
	{ GENERAL(LOG_MAX_EQ_SZ), SOFTRNIC_LOG_MAX_EQ_SIZE },
	{ GENERAL(LOG_MAX_WQ_SZ), SOFTRNIC_LOG_MAX_WQ_SIZE },
	{ GENERAL(LOG_MIN_STRIDE_SZ_RQ), 4 },
	{ GENERAL(LOG_MAX_STRIDE_SZ_RQ), SOFTRNIC_LOG_MAX_RQ_WQE },
	{ GENERAL(LOG_MIN_STRIDE_SZ_SQ), 6 },
	{ GENERAL(LOG_MAX_STRIDE_SZ_SQ), 6 },
	{ GENERAL(MAX_WQE_SZ_SQ), SOFTRNIC_QP_WQE_BYTES_MAX },
	{ GENERAL(MAX_WQE_SZ_RQ), 1 << SOFTRNIC_LOG_MAX_RQ_WQE },
	{ GENERAL(LOG_MAX_TIS_PER_SQ), 0 },
	{ GENERAL(BASIC_CYCLIC_RCV_WQE), 1 },
	{ GENERAL(MODIFY_RQ_COUNTER_SET_ID), 1 },
	{ GENERAL(CQ_OI), 1 },
	{ GENERAL(CQ_RESIZE), 1 },
	{ GENERAL(CQ_MODERATION), 1 },
	{ GENERAL(CQE_VERSION), 1 },
	/* nothing waits as long for more to compress: what has come when a round ends is shown */
	{ GENERAL(CQE_COMPRESSION), 1 },
	{ GENERAL(CQE_COMPRESSION_TIMEOUT), 8 },
	{ GENERAL(CQE_COMPRESSION_MAX_NUM), SOFTRNIC_CQ_COMPRESS_MAX },
	{ GENERAL(MODIFY_TIS), 1 },
	{ GENERAL(LOG_MAX_RQT_SIZE), SOFTRNIC_LOG_MAX_RQT_SIZE },
	/* memory keys */
	{ GENERAL(LOG_MAX_MRW_SZ), 63 },
	{ GENERAL(MAX_INDIRECTION), SOFTRNIC_MAX_INDIRECTION },
	{ GENERAL(LOG_MAX_KLM_LIST_SIZE), SOFTRNIC_LOG_MAX_KLMS },
	{ GENERAL(LOG_MAX_MSG), SOFTRNIC_LOG_MAX_MESSAGE },
	/* any order may be the one that things are done in */
	{ GENERAL(RELAXED_ORDERING_WRITE), 1 },
	{ GENERAL(RELAXED_ORDERING_READ), 1 },
	/* ... and windows; WQEs change all of a key, and what comes behind one finds it changed */
	{ GENERAL(IMAICL), 1 },
	{ GENERAL(UMR_EXTENDED_TRANSLATION_OFFSET), 1 },
	{ GENERAL(UMR_FENCE), RNIC_UMR_FENCE_NONE },
	/* what flows count */
	{ GENERAL(MAX_FLOW_COUNTER_15_0), SOFTRNIC_MAX_FLOW_COUNTERS & 0xffff },
	{ GENERAL(MAX_FLOW_COUNTER_31_16), SOFTRNIC_MAX_FLOW_COUNTERS >> 16 },
	{ GENERAL(FLOW_COUNTER_BULK_ALLOC), 1 },
	{ GENERAL(LOG_MAX_FLOW_COUNTER_BULK), 7 },
	/* commands that users write, and their memory; the kernel's umems, too */
	{ GENERAL(UMEM_UID_0), 1 },
	{ GENERAL(UCTX_CAP), RNIC_UCTX_RIGHT_RAW_TX },
	/* connections and datagrams over RoCE version 2 */
	{ GENERAL(ROCE), 1 },
	{ GENERAL(RC), 1 },
	{ GENERAL(UC), 1 },
	{ GENERAL(UD), 1 },
	{ GENERAL(XRC), 1 },
	{ GENERAL(QKV), 1 },
	{ GENERAL(BLOCK_LB_MC), 1 },
	{ GENERAL(LOG_MAX_MCG), SOFTRNIC_LOG_MAX_MCG },
	{ GENERAL(MAX_QP_MCG), SOFTRNIC_MAX_QP_MCG },
	{ GENERAL(ATOMIC), 1 },
	{ GENERAL(LOG_MAX_QP_SZ), SOFTRNIC_LOG_MAX_QP_SIZE },
	{ GENERAL(LOG_MAX_SRQ_SZ), SOFTRNIC_LOG_MAX_RMP_SIZE },
	{ GENERAL(LOG_MAX_RA_REQ_QP), SOFTRNIC_LOG_MAX_RD_ATOMIC },
	{ GENERAL(LOG_MAX_RA_RES_QP), SOFTRNIC_LOG_MAX_RD_ATOMIC },
	{ GENERAL(GID_TABLE_SIZE), GID_TABLE_SIZE },
	{ GENERAL(LOCAL_CA_ACK_DELAY), ACK_DELAY },
	{ GENERAL(OUT_OF_SEQ_CNT), 1 },
	{ GENERAL(RETRANSMISSION_Q_COUNTERS), 1 },
	{ GENERAL(ENHANCED_ERROR_Q_COUNTERS), 1 },
	{ GENERAL(RTS2RTS_QP_COUNTERS_SET_ID), 1 },
	/* of the time in completions and of the internal timer: nanoseconds */
	{ GENERAL(DEVICE_FREQUENCY_MHZ), 1000 },
	{ GENERAL(DEVICE_FREQUENCY_KHZ), 1000000 },
	/* pages and registers */
	{ GENERAL(LOG_PG_SZ), 12 },
	{ GENERAL(UAR_SZ), 1 },
	{ GENERAL(UAR_4K), 1 },
	{ GENERAL(NUM_OF_UARS_PER_PAGE), 1 },
};

/* Log2 of how many objects of a type there can be. */
static const struct {
	enum rnic_general_cap_field field;
	enum softrnic_object_type type;
} counts[] = {
	{ GENERAL(LOG_MAX_CQ), SOFTRNIC_CQ },
	{ GENERAL(LOG_MAX_EQ), SOFTRNIC_EQ },
	{ GENERAL(LOG_MAX_MKEY), SOFTRNIC_MKEY },
	{ GENERAL(LOG_MAX_PD), SOFTRNIC_PD },
	{ GENERAL(LOG_MAX_TRANSPORT_DOMAIN), SOFTRNIC_TD },
	{ GENERAL(LOG_MAX_RQ), SOFTRNIC_RQ },
	{ GENERAL(LOG_MAX_SQ), SOFTRNIC_SQ },
	{ GENERAL(LOG_MAX_QP), SOFTRNIC_QP },
	{ GENERAL(LOG_MAX_SRQ), SOFTRNIC_RMP },
	{ GENERAL(LOG_MAX_RMP), SOFTRNIC_RMP },
	{ GENERAL(LOG_MAX_XRCD), SOFTRNIC_XRCD },
	{ GENERAL(LOG_MAX_UCTX), SOFTRNIC_UCTX },
	{ GENERAL(LOG_MAX_UMEM), SOFTRNIC_UMEM },
	{ GENERAL(LOG_MAX_TIR), SOFTRNIC_TIR },
	{ GENERAL(LOG_MAX_TIS), SOFTRNIC_TIS },
	{ GENERAL(LOG_MAX_RQT), SOFTRNIC_RQT },
};

/* What a driver may set with SET_HCA_CAP, up to the maximum; other fields keep their values. */
static const enum rnic_general_cap_field settable[] = {
	GENERAL(CMDIF_CHECKSUM),
	GENERAL(LOG_UAR_PAGE_SZ),
	GENERAL(PKEY_TABLE_SIZE),
	GENERAL(LOG_MAX_QP),
	GENERAL(CACHE_LINE_128BYTE),
	GENERAL(MKEY_BY_NAME),
	GENERAL(DCT),
	GENERAL(RELEASE_ALL_PAGES),
	GENERAL(ROCE),
};

static uint8_t
caps_qp_ts_format(const struct softrnic *dev)
{
	struct rnic_roce_cap cap = { 0 };

	softrnic_like_caps(dev, RNIC_CAP_ROCE, true, &cap);
	return (uint8_t)rnic_roce_cap_get(&cap, RNIC_ROCE_CAP_QP_TS_FORMAT);
}

void
softrnic_caps_init(struct softrnic *dev)
{
	struct rnic_general_cap *max = &dev->general_cap[0];

	memset(max, 0, sizeof(*max));
	for (unsigned int i = 0; i < sizeof(general) / sizeof(general[0]); i++)
		rnic_general_cap_set(max, general[i].field, general[i].value);
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		rnic_general_cap_set(max, counts[i].field,
				     __builtin_ctz(softrnic_object_limit(counts[i].type)));
	rnic_general_cap_set(max, GENERAL(MAX_NUM_EQS), softrnic_object_limit(SOFTRNIC_EQ));
	rnic_general_cap_set(max, GENERAL(MAX_QP_CNT), softrnic_object_limit(SOFTRNIC_Q_COUNTER));
	if (dev->conf.bf)
		rnic_general_cap_set(max, GENERAL(BF), 1);
	/* Where doorbells stand, too: Linux has the second register of a page so many bytes behind the first. */
	rnic_general_cap_set(max, GENERAL(LOG_BF_REG_SIZE), __builtin_ctz(RNIC_BF_REG_BYTES));
	dev->general_cap[1] = *max;
	dev->roce_ports_chosen = false;
	softrnic_like_caps(dev, RNIC_CAP_GENERAL, false, max);
	softrnic_like_caps(dev, RNIC_CAP_GENERAL, true, &dev->general_cap[1]);
	softrnic_quirks_caps(dev);
	dev->qp_ts_format = caps_qp_ts_format(dev);
}

static void
caps_ethernet_cap(const struct softrnic *dev, struct rnic_ethernet_cap *cap)
{
	bool inline_l2 = dev->conf.inline_l2;

	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_WQE_INLINE_MODE,
			      inline_l2 ? RNIC_WQE_INLINE_CAP_VPORT
					: RNIC_WQE_INLINE_CAP_NOT_REQUIRED);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_ENHANCED_MULTI_PKT_SEND_WQE, !inline_l2);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_RSS_IND_TBL_CAP, SOFTRNIC_LOG_MAX_RQT_SIZE);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_CSUM_CAP, 1);
	/* Stripping; insertion takes the place of the inline header, so there is none where that is demanded. */
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_VLAN_CAP, 1);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_WQE_VLAN_INSERT, !inline_l2);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_SELF_LB_EN_MODIFIABLE, 1);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_SELF_LB_MC, 1);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_SELF_LB_UC, 1);
	rnic_ethernet_cap_set(cap, RNIC_ETHERNET_CAP_MAX_LSO_CAP, SOFTRNIC_LOG_MAX_LSO);
}

static void
caps_flow_table_cap(struct rnic_flow_table_cap *cap)
{
	struct rnic_flow_table_props *rx = rnic_flow_table_cap_nic_receive(cap);

#define SET(field, value) rnic_flow_table_props_set(rx, RNIC_FLOW_TABLE_PROPS_##field, value)
	SET(FT_SUPPORT, 1);
	SET(FLOW_TAG, 1);
	SET(MODIFY_ROOT, 1);
	SET(IDENTIFIED_MISS_TABLE_MODE, 1);
	SET(FLOW_MODIFY_EN, 1);
	SET(FLOW_TABLE_MODIFY, 1);
	SET(RESET_ROOT_TO_DEFAULT, 1);
	SET(IGNORE_FLOW_LEVEL, 1);
	SET(FLOW_COUNTER, 1);
	SET(LOG_MAX_FT_SIZE, SOFTRNIC_LOG_MAX_FT_SIZE);
	SET(MAX_FT_LEVEL, 255);
	SET(LOG_MAX_FT_NUM, __builtin_ctz(softrnic_object_limit(SOFTRNIC_FLOW_TABLE)));
	SET(LOG_MAX_DESTINATION, __builtin_ctz(STEER_TIRS_MAX));
	SET(LOG_MAX_FLOW, SOFTRNIC_LOG_MAX_FLOW);
#undef SET
	rnic_flow_table_cap_set(cap, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS, 1);
	rnic_flow_table_cap_set(cap, RNIC_FLOW_TABLE_CAP_NIC_RX_MULTI_PATH_TIRS_FTS, 1);
	softrnic_steering_fields(rnic_flow_table_props_field_support(rx));
	softrnic_steering_fields(rnic_flow_table_props_field_bitmask_support(rx));
}

/* Compare-and-swap and fetch-and-add of 8 bytes; the old value comes in the host's order of bytes. */
static void
caps_atomic_cap(struct rnic_atomic_cap *cap)
{
#define SET(field, value) rnic_atomic_cap_set(cap, RNIC_ATOMIC_CAP_##field, value)
	SET(ATOMIC_REQ_8B_ENDIANNESS_MODE, RNIC_ATOMIC_HOST_ENDIAN);
	SET(SUPPORTED_ATOMIC_REQ_8B_ENDIANNESS_MODE_1, 1);
	SET(ATOMIC_OPERATIONS, RNIC_ATOMIC_COMPARE_SWAP | RNIC_ATOMIC_FETCH_ADD);
	SET(ATOMIC_SIZE_QP, sizeof(uint64_t));
#undef SET
}

static void
caps_roce_cap(bool current, struct rnic_roce_cap *cap)
{
#define SET(field, value) rnic_roce_cap_set(cap, RNIC_ROCE_CAP_##field, value)
	/* now: for the driver that has asked for it */
	SET(SW_R_ROCE_SRC_UDP_PORT, !current);
	SET(L3_TYPE, RNIC_ROCE_L3_CAP_IPV4 | RNIC_ROCE_L3_CAP_IPV6);
	SET(ROCE_VERSION, 1 << RNIC_ROCE_VERSION_2);
	SET(R_ROCE_DEST_UDP_PORT, ROCE_UDP_PORT);
	SET(R_ROCE_MIN_SRC_UDP_PORT, ROCE_UDP_SOURCE_PORT);
	SET(R_ROCE_MAX_SRC_UDP_PORT, ROCE_UDP_SOURCE_PORT_TO);
	SET(ROCE_ADDRESS_TABLE_SIZE, SOFTRNIC_ROCE_ADDRS);
#undef SET
}

SOFTRNIC_CMD(query_hca_cap)
{
	unsigned int type = cmd->op_mod >> 1;
	void *cap = (uint8_t *)cmd->out + RNIC_HCA_CAP_OFFSET;
	const struct rnic_function_in *in = cmd->in;

	if (rnic_function_in_get(in, RNIC_FUNCTION_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	switch (type) {
	case RNIC_CAP_GENERAL:
		memcpy(cap, &dev->general_cap[cmd->op_mod & 1], sizeof(dev->general_cap[0]));
		return RNIC_STATUS_OK;
	case RNIC_CAP_ETHERNET_OFFLOADS: caps_ethernet_cap(dev, cap); break;
	case RNIC_CAP_FLOW_TABLE: caps_flow_table_cap(cap); break;
	case RNIC_CAP_ATOMIC: caps_atomic_cap(cap); break;
	case RNIC_CAP_ROCE: caps_roce_cap(cmd->op_mod & 1, cap); break;
	/* A card of this class knows it; there is nothing in it. */
	case RNIC_CAP_ODP: break;
	/* Who manages the switch asks. It has one function: there are no tables in it, and nothing else to set. */
	case RNIC_CAP_ESWITCH_FLOW_TABLE:
	case RNIC_CAP_ESWITCH:
		if (!softrnic_manages_eswitch(dev))
			return RNIC_STATUS_BAD_PARAM;
		break;
	default: return RNIC_STATUS_BAD_PARAM;
	}
	softrnic_like_caps(dev, type, cmd->op_mod & 1, cap);
	if (type == RNIC_CAP_ROCE && cmd->op_mod & 1 && dev->roce_ports_chosen)
		rnic_roce_cap_set(cap, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT, 1);
	return RNIC_STATUS_OK;
}

/* Linux asks for the host's order of bytes, and says nothing else. */
static int
caps_atomic_cap_set(const struct rnic_atomic_cap *asked)
{
	return rnic_atomic_cap_get(asked, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE) ==
			       RNIC_ATOMIC_HOST_ENDIAN
		       ? RNIC_STATUS_OK
		       : RNIC_STATUS_BAD_PARAM;
}

/* Is none of a layout's fields above its maximum? */
static bool
caps_within_max(struct softrnic *dev, struct softrnic_cmd *cmd,
		const struct rnic_layout_desc *layout, const struct rnic_be32 *asked,
		const struct rnic_be32 *max)
{
	for (unsigned int i = 0; i < layout->field_count; i++) {
		const struct rnic_field_desc *desc = &layout->fields[i];
		uint32_t field = RNIC_FIELD(desc->offset, desc->high, desc->low);

		if (rnic_field_get(asked, field) > rnic_field_get(max, field)) {
			SOFTRNIC_LOG(NOTICE, dev,
				     "SET_HCA_CAP: %s 0x%" PRIx64
				     " is more than the maximum 0x%" PRIx64,
				     desc->name, rnic_field_get(asked, field),
				     rnic_field_get(max, field));
			cmd->syndrome = desc->offset;
			return false;
		}
	}
	return true;
}

/* Who chooses UDP source ports, and nothing else. A path that names one has it in either case. */
static int
caps_roce_cap_set(struct softrnic *dev, struct softrnic_cmd *cmd, const struct rnic_roce_cap *asked)
{
	struct rnic_roce_cap max = { 0 };

	caps_roce_cap(false, &max);
	softrnic_like_caps(dev, RNIC_CAP_ROCE, false, &max);
	if (!caps_within_max(dev, cmd, &rnic_roce_cap_desc, asked->dw, max.dw))
		return RNIC_STATUS_BAD_PARAM;
	dev->roce_ports_chosen =
		rnic_roce_cap_get(asked, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT) != 0;
	return RNIC_STATUS_OK;
}

static int
caps_general_cap_set(struct softrnic *dev, struct softrnic_cmd *cmd,
		     const struct rnic_general_cap *asked)
{
	const struct rnic_general_cap *max = &dev->general_cap[0];

	if (!caps_within_max(dev, cmd, &rnic_general_cap_desc, asked->dw, max->dw))
		return RNIC_STATUS_BAD_PARAM;
	for (unsigned int i = 0; i < sizeof(settable) / sizeof(settable[0]); i++)
		rnic_general_cap_set(&dev->general_cap[1], settable[i],
				     rnic_general_cap_get(asked, settable[i]));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(set_hca_cap)
{
	const struct rnic_set_hca_cap_in *in = cmd->in;
	const void *asked = (const uint8_t *)cmd->in + RNIC_HCA_CAP_OFFSET;

	if (dev->state != SOFTRNIC_HCA_ENABLED)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (rnic_set_hca_cap_in_get(in, RNIC_SET_HCA_CAP_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	switch (cmd->op_mod >> 1) {
	case RNIC_CAP_GENERAL: return caps_general_cap_set(dev, cmd, asked);
	case RNIC_CAP_ATOMIC: return caps_atomic_cap_set(asked);
	case RNIC_CAP_ROCE: return caps_roce_cap_set(dev, cmd, asked);
	default: return RNIC_STATUS_BAD_PARAM;
	}
}
