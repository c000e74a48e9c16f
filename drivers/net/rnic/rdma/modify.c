/* SPDX-License-Identifier: BSD-3-Clause */

/* State changes of queue pairs, and what the device says of them (PRM: "QP State Change Commands"). */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/mem.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/qp.h"
#include "prm/queue.h"
#include "rdma/gid.h"
#include "rdma/modify.h"
#include "rdma/path.h"
#include "rdma/poll.h"
#include "rdma/reset.h"
#include "rdma/qps.h"
#include "rdma/raw.h"
#include "rdma/rdma.h"

#define STATES (RDMAPMD_QPS_ERR + 1)
/* The device asks for an ACK at least every 2^n packets. */
#define LOG_ACK_REQ_FREQ 8

#define OPT_ACCESS  (RNIC_QP_OPT_RRE | RNIC_QP_OPT_RAE | RNIC_QP_OPT_RWE)
#define OPT_RUNNING (OPT_ACCESS | RNIC_QP_OPT_RNR_TIMEOUT | RNIC_QP_OPT_Q_KEY)
#define OPT_DRAINED                                                                      \
	(OPT_RUNNING | RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT |                   \
	 RNIC_QP_OPT_PRIMARY_ADDR_PATH | RNIC_QP_OPT_ACK_TIMEOUT | RNIC_QP_OPT_SRA_MAX | \
	 RNIC_QP_OPT_RRA_MAX | RNIC_QP_OPT_RETRY_COUNT | RNIC_QP_OPT_RNR_RETRY)

/* The command of each change, and which of the optional parameters it takes; to RESET and to ERR there is one for all. */
static const struct {
	uint16_t opcode; /* 0: no such change */
	uint32_t takes;
} changes[STATES][STATES] = {
	[RDMAPMD_QPS_RESET][RDMAPMD_QPS_INIT] = { RNIC_CMD_RST2INIT_QP, 0 },
	[RDMAPMD_QPS_INIT][RDMAPMD_QPS_INIT] = { RNIC_CMD_INIT2INIT_QP,
						 OPT_ACCESS | RNIC_QP_OPT_PKEY_INDEX |
							 RNIC_QP_OPT_Q_KEY | RNIC_QP_OPT_PRI_PORT },
	[RDMAPMD_QPS_INIT][RDMAPMD_QPS_RTR] = { RNIC_CMD_INIT2RTR_QP,
						OPT_ACCESS | RNIC_QP_OPT_PKEY_INDEX |
							RNIC_QP_OPT_Q_KEY },
	[RDMAPMD_QPS_RTR][RDMAPMD_QPS_RTS] = { RNIC_CMD_RTR2RTS_QP, OPT_RUNNING },
	[RDMAPMD_QPS_RTS][RDMAPMD_QPS_RTS] = { RNIC_CMD_RTS2RTS_QP, OPT_RUNNING },
	[RDMAPMD_QPS_RTS][RDMAPMD_QPS_SQD] = { RNIC_CMD_RTS2SQD_QP, 0 },
	[RDMAPMD_QPS_SQD][RDMAPMD_QPS_SQD] = { RNIC_CMD_SQD2SQD_QP, OPT_DRAINED },
	[RDMAPMD_QPS_SQD][RDMAPMD_QPS_RTS] = { RNIC_CMD_SQD_RTS_QP, OPT_RUNNING },
	[RDMAPMD_QPS_SQE][RDMAPMD_QPS_RTS] = { RNIC_CMD_SQERR2RTS_QP, OPT_RUNNING },
};

/* Of each service type those that it knows, as Linux's mlx5_ib has them. */
#define OPT_OF_RC (~(uint32_t)RNIC_QP_OPT_Q_KEY)
#define OPT_OF_UC                                                          \
	(RNIC_QP_OPT_RWE | RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT | \
	 RNIC_QP_OPT_PRIMARY_ADDR_PATH)
#define OPT_OF_UD (RNIC_QP_OPT_Q_KEY | RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT)

static const struct {
	unsigned int attribute;
	uint32_t parameter;
} parameters[] = {
	{ RDMAPMD_QP_ACCESS_FLAGS, OPT_ACCESS },
	{ RDMAPMD_QP_PKEY_INDEX, RNIC_QP_OPT_PKEY_INDEX },
	{ RDMAPMD_QP_PORT, RNIC_QP_OPT_PRI_PORT },
	{ RDMAPMD_QP_QKEY, RNIC_QP_OPT_Q_KEY },
	{ RDMAPMD_QP_AV, RNIC_QP_OPT_PRIMARY_ADDR_PATH | RNIC_QP_OPT_PRI_PORT },
	{ RDMAPMD_QP_TIMEOUT, RNIC_QP_OPT_ACK_TIMEOUT },
	{ RDMAPMD_QP_RETRY_CNT, RNIC_QP_OPT_RETRY_COUNT },
	{ RDMAPMD_QP_RNR_RETRY, RNIC_QP_OPT_RNR_RETRY },
	{ RDMAPMD_QP_MAX_QP_RD_ATOMIC, RNIC_QP_OPT_SRA_MAX },
	/* None to answer: no READs, no atomics. */
	{ RDMAPMD_QP_MAX_DEST_RD_ATOMIC, RNIC_QP_OPT_RRA_MAX | RNIC_QP_OPT_RRE | RNIC_QP_OPT_RAE },
	{ RDMAPMD_QP_MIN_RNR_TIMER, RNIC_QP_OPT_RNR_TIMEOUT },
};

/* ---- What a command carries ---- */

/* Room for `count` at a time is 2^n of them. */
static uint64_t
log2_ceil(uint32_t count)
{
	return count > 1 ? 32u - (uint32_t)__builtin_clz(count - 1) : 0;
}

/* At most `count` at a time, which are 2^n. */
static uint64_t
log2_floor(uint32_t count)
{
	return count > 1 ? 31u - (uint32_t)__builtin_clz(count) : 0;
}

/* Flows between the same two ports differ in their source port. */
static uint16_t
udp_source_port(const struct rnic_rdma_qp *qp, const struct rdmapmd_ah_attr *ah)
{
	return rnic_path_source_port(qp->dev, ah->flow_label != 0 ? ah->flow_label : qp->qp.qp_num);
}

static void
set_path(struct rnic_ads *ads, const struct rnic_rdma_qp *qp, const struct rdmapmd_ah_attr *ah)
{
	const uint8_t *mac = ah->dmac;
	struct rnic_be64 gid[2];

	memcpy(gid, ah->dgid.raw, sizeof(gid));
	rnic_ads_set(ads, RNIC_ADS_SRC_ADDR_INDEX, ah->sgid_index);
	rnic_ads_set(ads, RNIC_ADS_HOP_LIMIT, ah->hop_limit);
	rnic_ads_set(ads, RNIC_ADS_TCLASS, ah->traffic_class);
	rnic_ads_set(ads, RNIC_ADS_FLOW_LABEL, ah->flow_label);
	rnic_ads_set(ads, RNIC_ADS_RGID_RIP_0, rnic_be64_to_cpu(gid[0]));
	rnic_ads_set(ads, RNIC_ADS_RGID_RIP_1, rnic_be64_to_cpu(gid[1]));
	rnic_ads_set(ads, RNIC_ADS_DSCP, ah->traffic_class >> 2);
	rnic_ads_set(ads, RNIC_ADS_ECN, ah->traffic_class & 3);
	rnic_ads_set(ads, RNIC_ADS_UDP_SPORT, udp_source_port(qp, ah));
	rnic_ads_set(ads, RNIC_ADS_ETH_PRIO, ah->sl);
	rnic_ads_set(ads, RNIC_ADS_VHCA_PORT_NUM, ah->port_num);
	rnic_ads_set(ads, RNIC_ADS_RMAC_47_32, (uint64_t)mac[0] << 8 | mac[1]);
	rnic_ads_set(ads, RNIC_ADS_RMAC_31_0,
		     (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 |
			     mac[5]);
}

/* What the peer may do: as set last, or now. */
static void
set_access(struct rnic_qpc *qpc, const struct rnic_rdma_qp *qp, const struct rdmapmd_qp_attr *attr,
	   unsigned int mask)
{
	const uint32_t access = mask & RDMAPMD_QP_ACCESS_FLAGS ? attr->qp_access_flags : qp->access;
	const bool answers = (mask & RDMAPMD_QP_MAX_DEST_RD_ATOMIC ? attr->max_dest_rd_atomic
								   : qp->max_dest_rd_atomic) > 0;
	const bool atomics = answers && (access & RDMAPMD_ACCESS_REMOTE_ATOMIC);

	rnic_qpc_set(qpc, RNIC_QPC_RWE, (access & RDMAPMD_ACCESS_REMOTE_WRITE) != 0);
	rnic_qpc_set(qpc, RNIC_QPC_RRE, answers && (access & RDMAPMD_ACCESS_REMOTE_READ));
	rnic_qpc_set(qpc, RNIC_QPC_RAE, atomics);
	rnic_qpc_set(qpc, RNIC_QPC_ATOMIC_MODE,
		     atomics ? RNIC_QP_ATOMIC_MODE_IB_SPEC : RNIC_QP_ATOMIC_MODE_NONE);
}

static void
set_timing(struct rnic_qpc *qpc, const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	if (mask & RDMAPMD_QP_TIMEOUT)
		rnic_ads_set(rnic_qpc_primary_address_path(qpc), RNIC_ADS_ACK_TIMEOUT,
			     attr->timeout);
	if (mask & RDMAPMD_QP_RETRY_CNT)
		rnic_qpc_set(qpc, RNIC_QPC_RETRY_COUNT, attr->retry_cnt);
	if (mask & RDMAPMD_QP_RNR_RETRY)
		rnic_qpc_set(qpc, RNIC_QPC_RNR_RETRY, attr->rnr_retry);
	if (mask & RDMAPMD_QP_MIN_RNR_TIMER)
		rnic_qpc_set(qpc, RNIC_QPC_MIN_RNR_NAK, attr->min_rnr_timer);
}

/* What datagrams have in the place of a path's MTU, as with Linux: one packet is a message. Of QP1 it is a MAD. */
static void
set_datagrams(struct rnic_qpc *qpc, const struct rnic_rdma_qp *qp)
{
	const bool qp1 = qp->qp.qp_type == RDMAPMD_QPT_GSI;

	rnic_qpc_set(qpc, RNIC_QPC_MTU, qp1 ? RNIC_QP_MTU_256 : RNIC_QP_MTU_4096);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_MSG_MAX, qp1 ? 8 : 12);
	if (qp1)
		rnic_ads_set(rnic_qpc_primary_address_path(qpc), RNIC_ADS_VHCA_PORT_NUM,
			     RNIC_RDMA_PORT);
}

static void
set_attributes(struct rnic_qpc *qpc, const struct rnic_rdma_qp *qp,
	       const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	struct rnic_ads *ads = rnic_qpc_primary_address_path(qpc);

	if (mask & RDMAPMD_QP_AV)
		set_path(ads, qp, &attr->ah_attr);
	if (mask & RDMAPMD_QP_PORT)
		rnic_ads_set(ads, RNIC_ADS_VHCA_PORT_NUM, attr->port_num);
	if (mask & RDMAPMD_QP_PKEY_INDEX)
		rnic_ads_set(ads, RNIC_ADS_PKEY_INDEX, attr->pkey_index);
	if (mask & (RDMAPMD_QP_ACCESS_FLAGS | RDMAPMD_QP_MAX_DEST_RD_ATOMIC))
		set_access(qpc, qp, attr, mask);
	if (mask & RDMAPMD_QP_PATH_MTU) {
		rnic_qpc_set(qpc, RNIC_QPC_MTU, attr->path_mtu);
		rnic_qpc_set(qpc, RNIC_QPC_LOG_MSG_MAX,
			     rnic_general_cap(qp->dev, RNIC_GENERAL_CAP_LOG_MAX_MSG));
	}
	if (mask & RDMAPMD_QP_QKEY)
		rnic_qpc_set(qpc, RNIC_QPC_Q_KEY, attr->qkey);
	if (mask & RDMAPMD_QP_DEST_QPN)
		rnic_qpc_set(qpc, RNIC_QPC_REMOTE_QPN, attr->dest_qp_num);
	if (mask & RDMAPMD_QP_RQ_PSN)
		rnic_qpc_set(qpc, RNIC_QPC_NEXT_RCV_PSN, attr->rq_psn);
	if (mask & RDMAPMD_QP_SQ_PSN) {
		rnic_qpc_set(qpc, RNIC_QPC_NEXT_SEND_PSN, attr->sq_psn);
		rnic_qpc_set(qpc, RNIC_QPC_LOG_ACK_REQ_FREQ, LOG_ACK_REQ_FREQ);
	}
	if (mask & RDMAPMD_QP_MAX_QP_RD_ATOMIC)
		rnic_qpc_set(qpc, RNIC_QPC_LOG_SRA_MAX, log2_floor(attr->max_rd_atomic));
	if (mask & RDMAPMD_QP_MAX_DEST_RD_ATOMIC)
		rnic_qpc_set(qpc, RNIC_QPC_LOG_RRA_MAX, log2_ceil(attr->max_dest_rd_atomic));
	set_timing(qpc, attr, mask);
}

/* ---- Change ---- */

/*
 * The manual has SQD, Linux's driver never asks for it: firmware may not know the command, or not this way out of a state. The
 * queue pair may also be in another one than we know, if it broke meanwhile: that is no matter of the firmware's.
 */
static bool
knows_no_sqd(struct rnic_rdma_qp *qp, uint16_t opcode, int rc, uint64_t status)
{
	struct rdmapmd_qp_attr now;

	if (opcode != RNIC_CMD_RTS2SQD_QP && opcode != RNIC_CMD_SQD2SQD_QP)
		return false;
	if (rc == -EOPNOTSUPP)
		return true;
	return status == RNIC_STATUS_BAD_QP_STATE && rnic_rdma_qp_query(&qp->qp, &now) == 0 &&
	       now.qp_state ==
		       (opcode == RNIC_CMD_RTS2SQD_QP ? RDMAPMD_QPS_RTS : RDMAPMD_QPS_SQD) &&
	       !now.sq_draining;
}

/* Nothing has changed then. Returns what the caller is told. */
static int
qp_why_unchanged(struct rnic_rdma_qp *qp, uint16_t opcode, int rc, const struct rnic_cmd_out *out)
{
	if (!knows_no_sqd(qp, opcode, rc, rnic_cmd_out_get(out, RNIC_CMD_OUT_STATUS)))
		return rc;
	RNIC_LOG(ERR, qp->dev,
		 "QP 0x%x: this card's firmware has no state SQD: stop posting, and poll until all "
		 "sends have completed",
		 qp->qp.qp_num);
	return -ENOTSUP;
}

/* Of the attributes in `mask` the parameters that a change takes optionally. */
static uint32_t
optional_parameters(unsigned int mask, uint32_t takes)
{
	uint32_t given = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(parameters); i++)
		if (mask & parameters[i].attribute)
			given |= parameters[i].parameter;
	return given & takes;
}

static uint32_t
known_parameters(const struct rnic_rdma_qp *qp)
{
	return rnic_rdma_is_datagram(qp)	  ? OPT_OF_UD
	       : qp->qp.qp_type == RDMAPMD_QPT_UC ? OPT_OF_UC
						  : OPT_OF_RC;
}

static int
qp_change(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_attr *attr, unsigned int mask,
	  uint16_t opcode, uint32_t takes)
{
	struct rnic_modify_qp_in in = { 0 };
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(&in);
	struct rnic_cmd_out out = { 0 };
	int rc;

	rnic_modify_qp_in_set(&in, RNIC_MODIFY_QP_IN_QPN, qp->qp.qp_num);
	rnic_modify_qp_in_set(&in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK,
			      optional_parameters(mask, takes & known_parameters(qp)));
	rnic_qpc_set(qpc, RNIC_QPC_ST, rnic_rdma_service_type(qp));
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, qp->dev->qp_counters->number);
	if (rnic_rdma_is_datagram(qp))
		set_datagrams(qpc, qp);
	set_attributes(qpc, qp, attr, mask);
	rc = rnic_cmd_exec(qp->dev, opcode, 0, &in, sizeof(in), &out, sizeof(out));
	return rc == 0 ? 0 : qp_why_unchanged(qp, opcode, rc, &out);
}

/* Which requests the new state takes. */
static void
qp_enter(struct rnic_rdma_qp *qp, enum rdmapmd_qp_state state)
{
	const bool sends =
		state == RDMAPMD_QPS_RTS || state == RDMAPMD_QPS_SQD || state == RDMAPMD_QPS_ERR;

	atomic_store_explicit(&qp->state, (uint8_t)state, memory_order_relaxed);
	atomic_store_explicit(&qp->sq.open, sends, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.open, state != RDMAPMD_QPS_RESET, memory_order_relaxed);
}

/*
 * The device has let go of it: its events and completions match no queue pair, nothing is posted, its path leads from nowhere. Its
 * CQs may be polled meanwhile, for others.
 */
static void
qp_forget(struct rnic_rdma_qp *qp)
{
	rnic_control_sync(qp->dev);
	rnic_rdma_cqs_stop(qp);
	rnic_rdma_cq_clean((struct rnic_rdma_cq *)qp->qp.send_cq, qp);
	rnic_rdma_cq_clean((struct rnic_rdma_cq *)qp->qp.recv_cq, qp);
	rnic_rdma_queues_reset(qp);
	rnic_rdma_cqs_go(qp);
	if (qp->has_path)
		rnic_gid_drop(qp->dev, qp->source);
	qp->has_path = false;
}

static int
qp_reset_device(struct rnic_rdma_qp *qp)
{
	return rnic_rdma_is_raw(qp) ? rnic_rdma_raw_set_state(qp, RNIC_WQ_STATE_RST)
				    : rnic_cmd_destroy(qp->dev, RNIC_CMD_2RST_QP, qp->qp.qp_num);
}

int
rnic_rdma_qp_reset(struct rnic_rdma_qp *qp)
{
	int rc = qp_reset_device(qp);

	qp_forget(qp);
	return rc;
}

static int
qp_to_reset(struct rnic_rdma_qp *qp)
{
	int rc = qp_reset_device(qp);

	if (rc != 0)
		return rc;
	qp_forget(qp);
	qp->access = 0;
	qp->max_dest_rd_atomic = 0;
	return 0;
}

/* A lost device no longer works on it: polls flush its requests. */
static int
qp_to_error(struct rnic_rdma_qp *qp)
{
	if (atomic_load(&qp->dev->dead))
		return 0;
	return rnic_rdma_is_raw(qp) ? rnic_rdma_raw_set_state(qp, RNIC_WQ_STATE_ERR)
				    : rnic_cmd_destroy(qp->dev, RNIC_CMD_2ERR_QP, qp->qp.qp_num);
}

/* A change that may give it a path: the address that the path begins with stays as long as it does. */
static int
qp_change_path(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_attr *attr, unsigned int mask,
	       uint16_t opcode, uint32_t takes)
{
	const uint8_t source = attr->ah_attr.sgid_index;
	int rc;

	if (!(mask & RDMAPMD_QP_AV))
		return qp_change(qp, attr, mask, opcode, takes);
	rc = rnic_gid_hold(qp->dev, source);
	if (rc != 0)
		return rc;
	rc = qp_change(qp, attr, mask, opcode, takes);
	if (rc != 0) {
		rnic_gid_drop(qp->dev, source);
		return rc;
	}
	if (qp->has_path)
		rnic_gid_drop(qp->dev, qp->source);
	qp->has_path = true;
	qp->source = source;
	return 0;
}

/* The context has no number for none at all: the post does not take them. */
static void
qp_limit_reads(struct rnic_rdma_qp *qp, uint8_t max_rd_atomic)
{
	const unsigned int kind = (qp->qp.sq_sig_all ? RNIC_RDMA_QP_SIGNALS_ALL : 0) |
				  (max_rd_atomic == 0 ? RNIC_RDMA_QP_ASKS_NONE : 0);

	atomic_store_explicit(&qp->sq.kinds, qp->dev->rdma->kinds[kind], memory_order_relaxed);
}

/* What the port's frames hold now; a MAD is shorter. The device looks, too. */
static uint16_t
max_datagram(const struct rnic_rdma_qp *qp)
{
	uint16_t mtu = 0;

	if (qp->qp.qp_type == RDMAPMD_QPT_GSI)
		return (uint16_t)rdmapmd_mtu_bytes(RDMAPMD_MTU_256);
	if (rnic_port_mtu(qp->dev, &mtu) != 0)
		mtu = qp->dev->max_mtu;
	return (uint16_t)rdmapmd_mtu_bytes(rnic_path_mtu(mtu));
}

int
rnic_rdma_qp_modify(struct rdmapmd_qp *head, const struct rdmapmd_qp_attr *attr, unsigned int mask,
		    enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	int rc;

	if (to == RDMAPMD_QPS_RESET)
		rc = qp_to_reset(qp);
	else if (to == RDMAPMD_QPS_ERR)
		rc = qp_to_error(qp);
	else if (rnic_rdma_is_raw(qp))
		rc = rnic_rdma_raw_start(qp, from, to);
	else if (changes[from][to].opcode == 0)
		rc = -EINVAL;
	else
		rc = qp_change_path(qp, attr, mask, changes[from][to].opcode,
				    changes[from][to].takes);
	if (rc != 0)
		return rc;
	if (mask & RDMAPMD_QP_ACCESS_FLAGS)
		qp->access = attr->qp_access_flags;
	if (mask & RDMAPMD_QP_MAX_DEST_RD_ATOMIC)
		qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & RDMAPMD_QP_RQ_PSN)
		atomic_store_explicit(&qp->rq_psn, attr->rq_psn, memory_order_relaxed);
	if (mask & RDMAPMD_QP_MAX_QP_RD_ATOMIC)
		qp_limit_reads(qp, attr->max_rd_atomic);
	if (to == RDMAPMD_QPS_RTS && rnic_rdma_is_datagram(qp))
		qp->sq.max_datagram = max_datagram(qp);
	/* Queues that are drained, and the last WQE of an SRQ, are told of. */
	if ((mask & RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY) != 0 ||
	    (to == RDMAPMD_QPS_ERR && qp->srq != NULL))
		rnic_eq_suspect(qp->dev->rdma->event_eq);
	qp_enter(qp, to);
	return 0;
}

/* ---- Query ---- */

static enum rdmapmd_qp_state
state_of(uint64_t state)
{
	switch (state) {
	case RNIC_QP_STATE_RST: return RDMAPMD_QPS_RESET;
	case RNIC_QP_STATE_INIT: return RDMAPMD_QPS_INIT;
	case RNIC_QP_STATE_RTR: return RDMAPMD_QPS_RTR;
	case RNIC_QP_STATE_RTS: return RDMAPMD_QPS_RTS;
	case RNIC_QP_STATE_SQER: return RDMAPMD_QPS_SQE;
	case RNIC_QP_STATE_SQD:
	case RNIC_QP_STATE_SQ_DRAINING: return RDMAPMD_QPS_SQD;
	default: return RDMAPMD_QPS_ERR;
	}
}

static void
qp_attributes_get(const struct rnic_qpc *qpc, struct rdmapmd_qp_attr *attr)
{
	const uint64_t state = rnic_qpc_get(qpc, RNIC_QPC_STATE);

	attr->qp_state = state_of(state);
	attr->sq_draining = state == RNIC_QP_STATE_SQ_DRAINING;
	if (state == RNIC_QP_STATE_RST || state == RNIC_QP_STATE_INIT)
		return;
	attr->qkey = (uint32_t)rnic_qpc_get(qpc, RNIC_QPC_Q_KEY);
	/* What moves by itself. */
	attr->rq_psn = (uint32_t)rnic_qpc_get(qpc, RNIC_QPC_NEXT_RCV_PSN);
	attr->sq_psn = (uint32_t)rnic_qpc_get(qpc, RNIC_QPC_NEXT_SEND_PSN);
}

int
rnic_rdma_qp_query(struct rdmapmd_qp *head, struct rdmapmd_qp_attr *attr)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	struct rnic_query_qp_out *out;
	/* The page list comes with it. */
	const uint32_t bytes = (uint32_t)sizeof(*out) + rnic_mem_page_count(&qp->memory.mem) * 8;
	int rc;

	if (rnic_rdma_is_raw(qp))
		return rnic_rdma_raw_query(qp, attr);
	out = calloc(1, bytes);
	if (out == NULL)
		return -ENOMEM;
	rc = rnic_cmd_query(qp->dev, RNIC_CMD_QUERY_QP, head->qp_num, out, bytes);
	if (rc == 0)
		qp_attributes_get(rnic_query_qp_out_qpc(out), attr);
	free(out);
	return rc;
}
