/* SPDX-License-Identifier: BSD-3-Clause */

#include "qp.h"

#define LOG_UNIT    4  /* log_rq_stride counts from 16 bytes on */
#define LOG_MSG_MAX 30 /* as long as messages may be */

static void
put_receive_side(struct rnic_qpc *qpc, const struct drv_qp *qp)
{
	if (qp->rmpn != 0) {
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
		rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, qp->rmpn);
	} else if (qp->no_rq) {
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
	} else {
		rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_SIZE, qp->log_rq);
		rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_STRIDE, qp->log_stride - LOG_UNIT);
	}
}

uint32_t
drv_qp_fill(void *in, const struct drv_qp *qp)
{
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in);

	drv_head(in, RNIC_CMD_CREATE_QP, 0);
	rnic_qpc_set(qpc, RNIC_QPC_ST, qp->st);
	rnic_qpc_set(qpc, RNIC_QPC_BLOCK_LB_MC, qp->block_lb_mc);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_PD, qp->pd);
	rnic_qpc_set(qpc, RNIC_QPC_TS_FORMAT, qp->ts_format);
	rnic_qpc_set(qpc, RNIC_QPC_RLKY, qp->rlky);
	rnic_qpc_set(qpc, RNIC_QPC_FRE, qp->fre);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, qp->counter);
	rnic_qpc_set(qpc, RNIC_QPC_UAR_PAGE, qp->uar);
	rnic_qpc_set(qpc, RNIC_QPC_USER_INDEX, qp->user_index);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, qp->send_cqn);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, qp->receive_cqn);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_ADDR, qp->dbrec);
	rnic_qpc_set(qpc, RNIC_QPC_XRCD, qp->xrcd);
	rnic_qpc_set(qpc, RNIC_QPC_NO_SQ, qp->no_sq);
	if (!qp->no_sq)
		rnic_qpc_set(qpc, RNIC_QPC_LOG_SQ_SIZE, qp->log_sq);
	put_receive_side(qpc, qp);
	return drv_pages_put(in, sizeof(struct rnic_create_qp_in), &qp->ring);
}

int
drv_qp_create(struct drv *drv, const struct drv_qp *qp, uint32_t *qpn)
{
	void *in = drv_in(sizeof(struct rnic_create_qp_in) + qp->ring.count * 8ul);

	return drv_create(drv, in, drv_qp_fill(in, qp), qpn);
}

static void
put_path(struct rnic_ads *ads, const struct drv_path *path)
{
	struct rnic_be64 gid[2];

	memcpy(gid, path->gid, sizeof(gid));
	rnic_ads_set(ads, RNIC_ADS_SRC_ADDR_INDEX, path->source);
	rnic_ads_set(ads, RNIC_ADS_HOP_LIMIT, path->hop_limit);
	rnic_ads_set(ads, RNIC_ADS_FLOW_LABEL, path->flow_label);
	rnic_ads_set(ads, RNIC_ADS_ECN, path->traffic_class & 3);
	rnic_ads_set(ads, RNIC_ADS_DSCP, path->traffic_class >> 2);
	rnic_ads_set(ads, RNIC_ADS_ETH_PRIO, path->priority);
	rnic_ads_set(ads, RNIC_ADS_UDP_SPORT, path->udp_sport);
	rnic_ads_set(ads, RNIC_ADS_RGID_RIP_0, rnic_be64_to_cpu(gid[0]));
	rnic_ads_set(ads, RNIC_ADS_RGID_RIP_1, rnic_be64_to_cpu(gid[1]));
	rnic_ads_set(ads, RNIC_ADS_VHCA_PORT_NUM, 1);
	rnic_ads_set(ads, RNIC_ADS_RMAC_47_32, path->mac >> 32);
	rnic_ads_set(ads, RNIC_ADS_RMAC_31_0, path->mac & UINT32_MAX);
}

uint32_t
drv_qp_modify_fill(void *in, uint16_t opcode, uint32_t qpn, uint32_t options,
		   const struct drv_qp_attr *attr)
{
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(in);
	struct rnic_ads *ads = rnic_qpc_primary_address_path(qpc);

	drv_head(in, opcode, 0);
	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_QPN, qpn);
	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, options);
	rnic_qpc_set(qpc, RNIC_QPC_ST, RNIC_QP_ST_RC);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, attr->counter);
	rnic_qpc_set(qpc, RNIC_QPC_MTU, attr->mtu);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_MSG_MAX, LOG_MSG_MAX);
	rnic_qpc_set(qpc, RNIC_QPC_REMOTE_QPN, attr->remote_qpn);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_RCV_PSN, attr->receive_psn);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_SEND_PSN, attr->send_psn);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SRA_MAX, attr->log_sra_max);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_RRA_MAX, attr->log_rra_max);
	rnic_qpc_set(qpc, RNIC_QPC_RETRY_COUNT, attr->retry_count);
	rnic_qpc_set(qpc, RNIC_QPC_RNR_RETRY, attr->rnr_retry);
	rnic_qpc_set(qpc, RNIC_QPC_MIN_RNR_NAK, attr->min_rnr_timer);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_ACK_REQ_FREQ, attr->log_ack_req_freq);
	rnic_qpc_set(qpc, RNIC_QPC_Q_KEY, attr->qkey);
	rnic_qpc_set(qpc, RNIC_QPC_RRE, attr->read);
	rnic_qpc_set(qpc, RNIC_QPC_RWE, attr->write);
	rnic_qpc_set(qpc, RNIC_QPC_RAE, attr->atomic);
	rnic_qpc_set(qpc, RNIC_QPC_ATOMIC_MODE,
		     attr->atomic ? RNIC_QP_ATOMIC_MODE_IB_SPEC : RNIC_QP_ATOMIC_MODE_NONE);
	put_path(ads, &attr->path);
	rnic_ads_set(ads, RNIC_ADS_ACK_TIMEOUT, attr->ack_timeout);
	return sizeof(struct rnic_modify_qp_in);
}

int
drv_qp_modify(struct drv *drv, uint16_t opcode, uint32_t qpn, uint32_t options,
	      const struct drv_qp_attr *attr)
{
	struct rnic_modify_qp_in in = { 0 };

	if (attr == NULL)
		return drv_simple(drv, opcode, qpn, NULL);
	return drv_execute(drv, &in, drv_qp_modify_fill(&in, opcode, qpn, options, attr), NULL);
}

uint32_t
drv_mcg_fill(void *in, uint16_t opcode, uint32_t qpn, const uint8_t gid[16])
{
	struct rnic_be64 half[2];

	memcpy(half, gid, sizeof(half));
	drv_head(in, opcode, 0);
	rnic_mcg_in_set(in, RNIC_MCG_IN_QPN, qpn);
	rnic_mcg_in_set(in, RNIC_MCG_IN_MULTICAST_GID_0, rnic_be64_to_cpu(half[0]));
	rnic_mcg_in_set(in, RNIC_MCG_IN_MULTICAST_GID_1, rnic_be64_to_cpu(half[1]));
	return sizeof(struct rnic_mcg_in);
}

int
drv_mcg(struct drv *drv, uint16_t opcode, uint32_t qpn, const uint8_t gid[16])
{
	struct rnic_mcg_in in = { 0 };

	return drv_execute(drv, &in, drv_mcg_fill(&in, opcode, qpn, gid), NULL);
}

int
drv_qp_query(struct drv *drv, uint32_t qpn, struct rnic_qpc *qpc)
{
	struct rnic_query_qp_out out;
	int status = drv_query(drv, RNIC_CMD_QUERY_QP, qpn, &out, sizeof(out));

	*qpc = *rnic_query_qp_out_qpc(&out);
	return status;
}
