/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * State changes of queue pairs (PRM: "QP State Change Commands").
 *
 * A command carries a whole context. What of it is taken is said by the command (what a change must say) and by
 * opt_param_mask (what it may say). Both are written here in bits of that mask; what no mask can ask for has bits of its
 * own. Each service type has its own. What is taken goes into a copy of the QP's context; if the copy is good the transport's attributes are made from
 * it, and it becomes the QP's.
 */
#include <string.h>

#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/base/sizes.h"
#include "softrnic/engine/qp_modify.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

#define TAKE_SIZES	(UINT64_C(1) << 32) /* how long packets and messages are */
#define TAKE_CONNECTION (UINT64_C(1) << 33) /* the peer, where its PSNs begin */
#define TAKE_REQUESTS	(UINT64_C(1) << 34) /* where our PSNs begin */

#define OPT_ACCESS  (RNIC_QP_OPT_RRE | RNIC_QP_OPT_RAE | RNIC_QP_OPT_RWE)
#define OPT_RUNNING (OPT_ACCESS | RNIC_QP_OPT_RNR_TIMEOUT | RNIC_QP_OPT_PM_STATE)
#define OPT_PLACE   (RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT)
#define OPT_RETRY                                                                    \
	(RNIC_QP_OPT_ACK_TIMEOUT | RNIC_QP_OPT_RETRY_COUNT | RNIC_QP_OPT_RNR_RETRY | \
	 RNIC_QP_OPT_SRA_MAX)

#define PORT		 1
#define ACK_REQ_FREQ_MAX 8

/* What a change takes in any case, and what it takes if it is asked to: RNIC_QP_OPT_..., TAKE_... */
struct taken {
	uint64_t needs, may;
};

struct change {
	uint16_t opcode;
	uint8_t from, to; /* enum roce_state */
	uint8_t lacks;	  /* types that have no such change: 1 << each */
	struct taken of[SOFTRNIC_QP_TYPES];
};

#define NO_REG_UMR (1u << SOFTRNIC_QP_REG_UMR)
#define UC_RUNNING (RNIC_QP_OPT_RWE | RNIC_QP_OPT_PM_STATE)

/* XRC's two ends change as RC's. */
#define RELIABLE(needs, may) [SOFTRNIC_QP_RC] = { needs, may }, [SOFTRNIC_QP_XRC] = { needs, may }

/* QP1 is a queue pair of datagrams. */
#define DATAGRAMS(needs, may) [SOFTRNIC_QP_UD] = { needs, may }, [SOFTRNIC_QP_QP1] = { needs, may }

static const struct change changes[] = {
	{ RNIC_CMD_RST2INIT_QP,
	  ROCE_RST,
	  ROCE_INIT,
	  0,
	  { RELIABLE(OPT_ACCESS | OPT_PLACE | RNIC_QP_OPT_COUNTER_SET_ID, 0),
	    [SOFTRNIC_QP_UC] = { RNIC_QP_OPT_RWE | OPT_PLACE | RNIC_QP_OPT_COUNTER_SET_ID, 0 },
	    DATAGRAMS(RNIC_QP_OPT_Q_KEY | OPT_PLACE | RNIC_QP_OPT_COUNTER_SET_ID, 0),
	    [SOFTRNIC_QP_REG_UMR] = { OPT_PLACE | RNIC_QP_OPT_COUNTER_SET_ID, 0 } } },
	{ RNIC_CMD_INIT2RTR_QP,
	  ROCE_INIT,
	  ROCE_RTR,
	  0,
	  { RELIABLE(TAKE_SIZES | TAKE_CONNECTION | RNIC_QP_OPT_PRIMARY_ADDR_PATH |
			     RNIC_QP_OPT_PRI_PORT | RNIC_QP_OPT_RRA_MAX | RNIC_QP_OPT_RNR_TIMEOUT,
		     OPT_ACCESS | RNIC_QP_OPT_PKEY_INDEX),
	    [SOFTRNIC_QP_UC] = { TAKE_SIZES | TAKE_CONNECTION | RNIC_QP_OPT_PRIMARY_ADDR_PATH |
					 RNIC_QP_OPT_PRI_PORT,
				 RNIC_QP_OPT_RWE | RNIC_QP_OPT_PKEY_INDEX },
	    DATAGRAMS(TAKE_SIZES, RNIC_QP_OPT_Q_KEY | RNIC_QP_OPT_PKEY_INDEX),
	    [SOFTRNIC_QP_REG_UMR] = { TAKE_SIZES, 0 } } },
	{ RNIC_CMD_RTR2RTS_QP,
	  ROCE_RTR,
	  ROCE_RTS,
	  0,
	  { RELIABLE(TAKE_REQUESTS | OPT_RETRY, OPT_RUNNING),
	    [SOFTRNIC_QP_UC] = { TAKE_REQUESTS, UC_RUNNING },
	    DATAGRAMS(TAKE_REQUESTS, RNIC_QP_OPT_Q_KEY) } },
	{ RNIC_CMD_RTS2RTS_QP,
	  ROCE_RTS,
	  ROCE_RTS,
	  NO_REG_UMR,
	  { RELIABLE(0, OPT_RUNNING | RNIC_QP_OPT_COUNTER_SET_ID),
	    [SOFTRNIC_QP_UC] = { 0, UC_RUNNING | RNIC_QP_OPT_COUNTER_SET_ID },
	    DATAGRAMS(0, RNIC_QP_OPT_Q_KEY | RNIC_QP_OPT_COUNTER_SET_ID) } },
	{ RNIC_CMD_SQERR2RTS_QP,
	  ROCE_SQER,
	  ROCE_RTS,
	  NO_REG_UMR,
	  { [SOFTRNIC_QP_UC] = { 0, RNIC_QP_OPT_RWE }, DATAGRAMS(0, RNIC_QP_OPT_Q_KEY) } },
	{ RNIC_CMD_RTS2SQD_QP, ROCE_RTS, ROCE_SQD, 0, { { 0 } } },
	{ RNIC_CMD_SQD_RTS_QP,
	  ROCE_SQD,
	  ROCE_RTS,
	  NO_REG_UMR,
	  { RELIABLE(0, OPT_RUNNING), [SOFTRNIC_QP_UC] = { 0, UC_RUNNING },
	    DATAGRAMS(0, RNIC_QP_OPT_Q_KEY) } },
	{ RNIC_CMD_INIT2INIT_QP,
	  ROCE_INIT,
	  ROCE_INIT,
	  NO_REG_UMR,
	  { RELIABLE(0, OPT_ACCESS | OPT_PLACE),
	    [SOFTRNIC_QP_UC] = { 0, RNIC_QP_OPT_RWE | OPT_PLACE },
	    DATAGRAMS(0, RNIC_QP_OPT_Q_KEY | OPT_PLACE) } },
	{ RNIC_CMD_SQD2SQD_QP,
	  ROCE_SQD,
	  ROCE_SQD,
	  NO_REG_UMR,
	  { RELIABLE(0, OPT_RUNNING | OPT_PLACE | OPT_RETRY | RNIC_QP_OPT_PRIMARY_ADDR_PATH |
				RNIC_QP_OPT_RRA_MAX),
	    [SOFTRNIC_QP_UC] = { 0, UC_RUNNING | OPT_PLACE | RNIC_QP_OPT_PRIMARY_ADDR_PATH },
	    DATAGRAMS(0, RNIC_QP_OPT_Q_KEY | OPT_PLACE) } },
};

static const struct {
	uint64_t bits;
	enum rnic_qpc_field field;
} fields[] = {
	{ TAKE_SIZES, RNIC_QPC_MTU },
	{ TAKE_SIZES, RNIC_QPC_LOG_MSG_MAX },
	{ TAKE_CONNECTION, RNIC_QPC_REMOTE_QPN },
	{ TAKE_CONNECTION, RNIC_QPC_NEXT_RCV_PSN },
	{ TAKE_REQUESTS, RNIC_QPC_NEXT_SEND_PSN },
	{ TAKE_REQUESTS, RNIC_QPC_LOG_ACK_REQ_FREQ },
	{ RNIC_QP_OPT_RRE, RNIC_QPC_RRE },
	{ RNIC_QP_OPT_RWE, RNIC_QPC_RWE },
	{ RNIC_QP_OPT_RAE, RNIC_QPC_RAE },
	{ RNIC_QP_OPT_RAE, RNIC_QPC_ATOMIC_MODE },
	{ RNIC_QP_OPT_RNR_TIMEOUT, RNIC_QPC_MIN_RNR_NAK },
	{ RNIC_QP_OPT_SRA_MAX, RNIC_QPC_LOG_SRA_MAX },
	{ RNIC_QP_OPT_RRA_MAX, RNIC_QPC_LOG_RRA_MAX },
	{ RNIC_QP_OPT_RETRY_COUNT, RNIC_QPC_RETRY_COUNT },
	{ RNIC_QP_OPT_RNR_RETRY, RNIC_QPC_RNR_RETRY },
	{ RNIC_QP_OPT_PM_STATE, RNIC_QPC_PM_STATE },
	{ RNIC_QP_OPT_COUNTER_SET_ID, RNIC_QPC_COUNTER_SET_ID },
	{ RNIC_QP_OPT_Q_KEY, RNIC_QPC_Q_KEY },
};

/* Fields of the path that are not taken with the path. */
static const struct {
	uint64_t bits;
	enum rnic_ads_field field;
} path_fields[] = {
	{ RNIC_QP_OPT_PKEY_INDEX, RNIC_ADS_PKEY_INDEX },
	{ RNIC_QP_OPT_PRI_PORT, RNIC_ADS_VHCA_PORT_NUM },
	{ RNIC_QP_OPT_ACK_TIMEOUT, RNIC_ADS_ACK_TIMEOUT },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- What is taken ---- */

static void
qp_context_take(struct rnic_qpc *to, struct rnic_qpc *from, uint64_t take)
{
	struct rnic_ads *path = rnic_qpc_primary_address_path(to);
	const struct rnic_ads *given = rnic_qpc_primary_address_path(from);
	const struct rnic_ads before = *path;

	for (unsigned int i = 0; i < COUNT(fields); i++) {
		if ((take & fields[i].bits) != 0)
			rnic_qpc_set(to, fields[i].field, rnic_qpc_get(from, fields[i].field));
	}
	if ((take & RNIC_QP_OPT_PRIMARY_ADDR_PATH) != 0)
		*path = *given;
	for (unsigned int i = 0; i < COUNT(path_fields); i++)
		rnic_ads_set(path, path_fields[i].field,
			     rnic_ads_get((take & path_fields[i].bits) != 0 ? given : &before,
					  path_fields[i].field));
}

void
softrnic_qp_forget(struct softrnic_qp *qp)
{
	struct rnic_qpc *qpc = &qp->context;

	for (unsigned int i = 0; i < COUNT(fields); i++) {
		/* CREATE_QP says these, too. */
		if (fields[i].field != RNIC_QPC_COUNTER_SET_ID &&
		    fields[i].field != RNIC_QPC_PM_STATE)
			rnic_qpc_set(qpc, fields[i].field, 0);
	}
	memset(rnic_qpc_primary_address_path(qpc), 0, sizeof(struct rnic_ads));
	memset(rnic_qpc_secondary_address_path(qpc), 0, sizeof(struct rnic_ads));
	memset(&qp->frame, 0, sizeof(qp->frame));
	memset(&qp->av, 0, sizeof(qp->av));
	qp->source_index = 0;
	qp->route_generation = 0;
}

/* ---- Is it good? ---- */

static void
qp_gid_of_path(const struct rnic_ads *path, uint8_t gid[16])
{
	struct rnic_be64 half[2] = {
		rnic_cpu_to_be64(rnic_ads_get(path, RNIC_ADS_RGID_RIP_0)),
		rnic_cpu_to_be64(rnic_ads_get(path, RNIC_ADS_RGID_RIP_1)),
	};

	memcpy(gid, half, sizeof(half));
}

static const char *
qp_path_fault(const struct softrnic *dev, const struct rnic_ads *path)
{
	const uint64_t index = rnic_ads_get(path, RNIC_ADS_SRC_ADDR_INDEX);
	const struct softrnic_roce_addr *source;
	uint8_t gid[16];

	if (index >= SOFTRNIC_ROCE_ADDRS || !dev->roce_addrs[index].valid)
		return "the path's source address is not in the table";
	source = &dev->roce_addrs[index];
	qp_gid_of_path(path, gid);
	if (rnic_gid_is_ipv4(gid) != rnic_gid_is_ipv4(source->gid))
		return "one end of the path has an IPv4 address, the other an IPv6 address";
	if (rnic_ads_get(path, RNIC_ADS_FL) != 0)
		return "forced loopback is not offered";
	return NULL;
}

static const char *
qp_mtu_fault(const struct softrnic *dev, const struct softrnic_qp *qp, uint64_t code)
{
	if (code < RNIC_QP_MTU_256 || code > RNIC_QP_MTU_4096)
		return "unknown MTU";
	/* Of datagrams each is looked at when it is sent; Linux says 4096 whatever the port has. */
	if (softrnic_qp_is_connected(qp) && !softrnic_roce_mtu_fits(dev, RNIC_QP_MTU_BYTES(code)))
		return "the port's MTU is too small for the path's";
	return NULL;
}

static const char *
qp_context_fault(const struct softrnic *dev, const struct softrnic_qp *qp, struct rnic_qpc *qpc,
		 uint64_t take)
{
	const struct rnic_ads *path = rnic_qpc_primary_address_path(qpc);
	const char *fault = NULL;

#define GET(field) rnic_qpc_get(qpc, RNIC_QPC_##field)
	if (rnic_ads_get(path, RNIC_ADS_PKEY_INDEX) != 0)
		return "there is one P_Key, of index 0";
	if (rnic_ads_get(path, RNIC_ADS_VHCA_PORT_NUM) != PORT)
		return "there is one port, of number 1";
	if (GET(ATOMIC_MODE) > RNIC_QP_ATOMIC_MODE_IB_SPEC)
		return "atomics have 8 bytes";
	if (GET(LOG_RRA_MAX) > SOFTRNIC_LOG_MAX_RD_ATOMIC ||
	    GET(LOG_SRA_MAX) > SOFTRNIC_LOG_MAX_RD_ATOMIC)
		return "more READs and atomics at a time than the capabilities say";
	if (GET(LOG_MSG_MAX) > SOFTRNIC_LOG_MAX_MESSAGE)
		return "messages are longer than log_max_msg";
	if ((take & RNIC_QP_OPT_PM_STATE) != 0 && GET(PM_STATE) != RNIC_QP_PM_STATE_MIGRATED)
		return "there are no alternate paths";
	if ((take & TAKE_SIZES) != 0)
		fault = qp_mtu_fault(dev, qp, GET(MTU));
#undef GET
	if (fault == NULL && (take & RNIC_QP_OPT_PRIMARY_ADDR_PATH) != 0)
		fault = qp_path_fault(dev, path);
	return fault;
}

/* ---- Change ---- */

static struct roce_attr
qp_attributes(const struct softrnic_qp *qp, struct rnic_qpc *qpc)
{
#define GET(field) rnic_qpc_get(qpc, RNIC_QPC_##field)
	const bool atomics = GET(RAE) != 0 && GET(ATOMIC_MODE) != RNIC_QP_ATOMIC_MODE_NONE;
	const uint64_t ack_req_freq = GET(LOG_ACK_REQ_FREQ);
	const bool qp1 = qp->type == SOFTRNIC_QP_QP1;
	struct roce_attr attr = {
		.mtu = (uint16_t)RNIC_QP_MTU_BYTES(GET(MTU)),
		.dest_qpn = (uint32_t)GET(REMOTE_QPN),
		.rq_psn = (uint32_t)GET(NEXT_RCV_PSN),
		.max_dest_rd_atomic = (uint8_t)(1u << GET(LOG_RRA_MAX)),
		.sq_psn = (uint32_t)GET(NEXT_SEND_PSN),
		.max_rd_atomic = (uint8_t)(1u << GET(LOG_SRA_MAX)),
		.timeout = (uint8_t)rnic_ads_get(rnic_qpc_primary_address_path(qpc),
						 RNIC_ADS_ACK_TIMEOUT),
		.retry_cnt = (uint8_t)GET(RETRY_COUNT),
		.rnr_retry = (uint8_t)GET(RNR_RETRY),
		/* Asking for ACKs more often than a driver must have them is fine. */
		.ack_req_freq_log = (uint8_t)(ack_req_freq < ACK_REQ_FREQ_MAX ? ack_req_freq
									      : ACK_REQ_FREQ_MAX),
		.min_rnr_timer = (uint8_t)GET(MIN_RNR_NAK),
		.access = (GET(RRE) != 0 ? ROCE_REMOTE_READ : 0) |
			  (GET(RWE) != 0 ? ROCE_REMOTE_WRITE : 0) |
			  (atomics ? ROCE_REMOTE_ATOMIC : 0),
		.qkey = qp1 ? RNIC_QP1_QKEY : (uint32_t)GET(Q_KEY),
		.source_qpn = qp1 ? RNIC_QP1_QPN : qp->object.number,
	};
#undef GET

	return attr;
}

static void
qp_counter_set(struct softrnic *dev, struct softrnic_qp *qp, struct softrnic_q_counter *counter)
{
	if (qp->counter != NULL)
		qp->counter->object.refs--;
	if (counter != NULL)
		counter->object.refs++;
	qp->counter = counter;
	roce_qp_set_counters(&qp->roce, counter != NULL ? &counter->roce : &dev->roce_counters);
}

static void
qp_path_set(const struct softrnic *dev, struct softrnic_qp *qp, const struct rnic_ads *path)
{
	const uint64_t mac = rnic_ads_get(path, RNIC_ADS_RMAC_47_32) << 32 |
			     rnic_ads_get(path, RNIC_ADS_RMAC_31_0);

	struct rocev2_frame *frame = &qp->frame;

	qp->source_index = (uint8_t)rnic_ads_get(path, RNIC_ADS_SRC_ADDR_INDEX);
	qp_gid_of_path(path, frame->dgid);
	for (unsigned int i = 0; i < sizeof(frame->dmac); i++)
		frame->dmac[i] = (uint8_t)(mac >> (40 - 8 * i));
	frame->traffic_class = (uint8_t)(rnic_ads_get(path, RNIC_ADS_DSCP) << 2 |
					 rnic_ads_get(path, RNIC_ADS_ECN));
	frame->hop_limit = (uint8_t)rnic_ads_get(path, RNIC_ADS_HOP_LIMIT);
	frame->flow_label = (uint32_t)rnic_ads_get(path, RNIC_ADS_FLOW_LABEL);
	frame->tci = (uint16_t)(rnic_ads_get(path, RNIC_ADS_ETH_PRIO) << 13 |
				rnic_ads_get(path, RNIC_ADS_DEI_CFI) << 12);
	frame->source_port = (uint16_t)rnic_ads_get(path, RNIC_ADS_UDP_SPORT);
	if (frame->source_port == 0) {
		memcpy(frame->sgid, dev->roce_addrs[qp->source_index].gid, sizeof(frame->sgid));
		frame->source_port =
			rocev2_source_port(frame, qp->object.number, qp->roce.attr.dest_qpn);
	}
	qp->route_generation = 0;
}

static const struct change *
qp_change_find(uint16_t opcode)
{
	for (unsigned int i = 0; i < COUNT(changes); i++) {
		if (changes[i].opcode == opcode)
			return &changes[i];
	}
	return NULL;
}

/* The change is one that the state allows: take, check, change, keep. */
static int
qp_modify(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_qp *qp,
	  const struct change *change)
{
	struct rnic_modify_qp_in *in = (struct rnic_modify_qp_in *)(uintptr_t)cmd->in;
	const uint64_t mask = rnic_modify_qp_in_get(in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK);
	const struct taken *taken = &change->of[qp->type];
	const uint64_t take = taken->needs | mask;
	struct softrnic_q_counter *counter = NULL;
	struct rnic_qpc context = qp->context;
	struct roce_attr attr;
	const char *fault;
	int status;

	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 3;
	/* To ask for what is taken anyhow does no harm. */
	if ((take & ~(taken->needs | taken->may)) != 0)
		return softrnic_refuse(dev, cmd, "a parameter that this change cannot take");
	qp_context_take(&context, rnic_modify_qp_in_qpc(in), take);
	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 4;
	fault = qp_context_fault(dev, qp, &context, take);
	if (fault != NULL)
		return softrnic_refuse(dev, cmd, fault);
	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 5;
	status = softrnic_q_counter_find(
		dev, (uint32_t)rnic_qpc_get(&context, RNIC_QPC_COUNTER_SET_ID), &counter);
	if (status != RNIC_STATUS_OK)
		return status;
	attr = qp_attributes(qp, &context);
	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 6;
	status = softrnic_qp_change(dev, qp, (enum roce_state)change->to, &attr);
	if (status != RNIC_STATUS_OK)
		return status;
	if ((take & RNIC_QP_OPT_COUNTER_SET_ID) != 0)
		qp_counter_set(dev, qp, counter);
	if ((take & RNIC_QP_OPT_PRIMARY_ADDR_PATH) != 0)
		qp_path_set(dev, qp, rnic_qpc_primary_address_path(&context));
	qp->context = context;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_qp)
{
	const struct change *change = qp_change_find(cmd->opcode);
	struct softrnic_qp *qp = softrnic_object_find(
		dev, SOFTRNIC_QP, (uint32_t)rnic_modify_qp_in_get(cmd->in, RNIC_MODIFY_QP_IN_QPN));

	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 1;
	if (change == NULL)
		return RNIC_STATUS_BAD_OP;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = (uint32_t)cmd->opcode << 12 | 2;
	if (qp->roce.state != change->from || (change->lacks & 1u << qp->type) != 0)
		return RNIC_STATUS_BAD_QP_STATE;
	return qp_modify(dev, cmd, qp, change);
}

/* ---- From any state ---- */

static struct softrnic_qp *
qp_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_QP,
				    (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));
}

SOFTRNIC_CMD(2err_qp)
{
	struct softrnic_qp *qp = qp_of_command(dev, cmd);

	cmd->syndrome = 0x507001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x507002;
	return softrnic_qp_change(dev, qp, ROCE_ERR, NULL);
}

SOFTRNIC_CMD(2rst_qp)
{
	struct softrnic_qp *qp = qp_of_command(dev, cmd);
	int status;

	cmd->syndrome = 0x50a001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x50a002;
	status = softrnic_qp_change(dev, qp, ROCE_RST, NULL);
	if (status == RNIC_STATUS_OK)
		softrnic_qp_forget(qp);
	return status;
}
