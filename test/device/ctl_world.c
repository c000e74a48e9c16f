/* SPDX-License-Identifier: BSD-3-Clause */

#include "ctl_world.h"
#include "driver/wq.h"
#include "softrnic/hca/cmd_table.h"

static uint32_t
created(struct hn *hn, void *in, uint32_t bytes)
{
	uint32_t number;

	assert_int_equal(drv_execute(&hn->drv, in, bytes, &number), RNIC_STATUS_OK);
	return number;
}

/* ---- Good inputs; each returns its length. ---- */

/* The first page of the world's memory is each ring, the third has the records. */
#define RING(w)                                 \
	{                                       \
		.iova = (w)->memory, .count = 1 \
	}
#define DBREC(w) ((w)->memory + 8192)

static uint32_t
good_eq(struct world *w, void *in)
{
	const struct drv_eq eq = { .log_size = 6, .uar = w->uar, .ring = RING(w) };

	return drv_eq_fill(in, &eq);
}

static uint32_t
good_cq(struct world *w, void *in)
{
	const struct drv_cq cq = { .log_size = 6,
				   .uar = w->uar,
				   .eqn = w->eq.number,
				   .dbrec = DBREC(w),
				   .ring = RING(w) };

	return drv_cq_fill(in, &cq);
}

static uint32_t
good_sq(struct world *w, void *in)
{
	const struct drv_sq sq = { .log_size = 6,
				   .pd = w->pd,
				   .uar = w->uar,
				   .cqn = w->cq.number,
				   .tisn = w->tis,
				   .dbrec = DBREC(w),
				   .ring = RING(w) };

	return drv_sq_fill(in, &sq);
}

static uint32_t
good_rq(struct world *w, void *in)
{
	const struct drv_rq rq = { .log_size = 6,
				   .log_stride = 4,
				   .pd = w->pd,
				   .cqn = w->cq.number,
				   .counter = w->counter,
				   .dbrec = DBREC(w),
				   .ring = RING(w) };

	return drv_rq_fill(in, &rq);
}

static uint32_t
good_mkey(struct world *w, void *in)
{
	const uint64_t mtts[] = { w->memory, w->memory + 4096 };
	const struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				       .log_page_size = 12,
				       .pd = w->pd,
				       .length = 8192,
				       .mtts = mtts,
				       .count = 2 };

	return drv_mkey_fill(in, &mkey);
}

/* Send and receive ring of 4 WQEs each in one page. */
static uint32_t
good_qp(struct world *w, struct rnic_create_qp_in *in)
{
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in);

	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_PD, w->pd);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_SIZE, 2);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SQ_SIZE, 2);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, w->counter);
	rnic_qpc_set(qpc, RNIC_QPC_UAR_PAGE, w->uar);
	rnic_qpc_set(qpc, RNIC_QPC_USER_INDEX, 0xabcde);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, w->cq.number);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, w->cq.number);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_ADDR, w->memory + 8192);
	*(struct rnic_be64 *)(in + 1) = rnic_cpu_to_be64(w->memory);
	return sizeof(*in) + 8;
}

const uint8_t world_gid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
const uint8_t world_peer_gid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 };

static void
good_path(struct rnic_ads *ads)
{
	rnic_ads_set(ads, RNIC_ADS_SRC_ADDR_INDEX, WORLD_GID_INDEX);
	rnic_ads_set(ads, RNIC_ADS_HOP_LIMIT, 64);
	rnic_ads_set(ads, RNIC_ADS_UDP_SPORT, 0xc123);
	memcpy(&ads->dw[4], world_peer_gid, sizeof(world_peer_gid));
	rnic_ads_set(ads, RNIC_ADS_VHCA_PORT_NUM, 1);
	rnic_ads_set(ads, RNIC_ADS_RMAC_47_32, 0x0200);
	rnic_ads_set(ads, RNIC_ADS_RMAC_31_0, 0x00c0ffee);
}

/* Everything that a driver could say; a change takes what it takes. Each value is another one than 0. */
static uint32_t
good_modify_qp(struct world *w, struct rnic_modify_qp_in *in, uint32_t qpn, uint32_t mask)
{
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(in);
	struct rnic_ads *ads = rnic_qpc_primary_address_path(qpc);

	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_QPN, qpn);
	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, mask);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, w->counter);
	rnic_qpc_set(qpc, RNIC_QPC_MTU, RNIC_QP_MTU_1024);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_MSG_MAX, 30);
	rnic_qpc_set(qpc, RNIC_QPC_REMOTE_QPN, 0x123456);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_RCV_PSN, 0xabcdef);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_SEND_PSN, 0xfedcba);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_ACK_REQ_FREQ, 8);
	rnic_qpc_set(qpc, RNIC_QPC_RRE, 1);
	rnic_qpc_set(qpc, RNIC_QPC_RWE, 1);
	rnic_qpc_set(qpc, RNIC_QPC_RAE, 1);
	rnic_qpc_set(qpc, RNIC_QPC_ATOMIC_MODE, RNIC_QP_ATOMIC_MODE_IB_SPEC);
	rnic_qpc_set(qpc, RNIC_QPC_MIN_RNR_NAK, 12);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_RRA_MAX, 2);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SRA_MAX, 3);
	rnic_qpc_set(qpc, RNIC_QPC_RETRY_COUNT, 5);
	rnic_qpc_set(qpc, RNIC_QPC_RNR_RETRY, 6);
	good_path(ads);
	rnic_ads_set(ads, RNIC_ADS_ACK_TIMEOUT, 14);
	return sizeof(*in);
}

#define OPT_ACCESS (RNIC_QP_OPT_RRE | RNIC_QP_OPT_RWE | RNIC_QP_OPT_RAE)

/* Of those that change a QP, from the state that the change begins in; with all options that it has. */
static uint32_t
good_qp_input(struct world *w, uint16_t opcode, void *in)
{
	const uint32_t running = OPT_ACCESS | RNIC_QP_OPT_RNR_TIMEOUT | RNIC_QP_OPT_PM_STATE;
	const uint32_t place = RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT;

	switch (opcode) {
	case RNIC_CMD_RST2INIT_QP: return good_modify_qp(w, in, w->qps[ROCE_RST], 0);
	case RNIC_CMD_INIT2INIT_QP:
		return good_modify_qp(w, in, w->qps[ROCE_INIT], OPT_ACCESS | place);
	case RNIC_CMD_INIT2RTR_QP:
		return good_modify_qp(w, in, w->qps[ROCE_INIT],
				      OPT_ACCESS | RNIC_QP_OPT_PKEY_INDEX);
	case RNIC_CMD_RTR2RTS_QP: return good_modify_qp(w, in, w->qps[ROCE_RTR], running);
	case RNIC_CMD_RTS2RTS_QP:
		return good_modify_qp(w, in, w->qps[ROCE_RTS],
				      running | RNIC_QP_OPT_COUNTER_SET_ID);
	case RNIC_CMD_RTS2SQD_QP: return good_modify_qp(w, in, w->qps[ROCE_RTS], 0);
	case RNIC_CMD_SQD_RTS_QP: return good_modify_qp(w, in, w->qps[ROCE_SQD], running);
	case RNIC_CMD_SQD2SQD_QP:
		return good_modify_qp(w, in, w->qps[ROCE_SQD],
				      running | place | RNIC_QP_OPT_PRIMARY_ADDR_PATH |
					      RNIC_QP_OPT_ACK_TIMEOUT | RNIC_QP_OPT_RETRY_COUNT |
					      RNIC_QP_OPT_RNR_RETRY | RNIC_QP_OPT_SRA_MAX |
					      RNIC_QP_OPT_RRA_MAX);
	default: return 0;
	}
}

static uint32_t
good_rmp(struct world *w, struct rnic_create_rmp_in *in)
{
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

	drv_wq_put(wq, w->pd, DBREC(w), 5, 2);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_LINKED_LIST);
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	*(struct rnic_be64 *)(in + 1) = rnic_cpu_to_be64(w->memory);
	return sizeof(*in) + 8;
}

static uint32_t
good_modify_rmp(struct world *w, struct rnic_modify_rmp_in *in)
{
	struct rnic_rmpc *rmpc = rnic_modify_rmp_in_rmpc(in);

	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_RMPN, w->rmp);
	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_RMP_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_BITMASK, RNIC_MODIFY_RMP_LWM);
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_wq_set(rnic_rmpc_wq(rmpc), RNIC_WQ_LWM, 2);
	return sizeof(*in);
}

static uint32_t
good_address(struct rnic_set_roce_address_in *in)
{
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(in);

	rnic_set_roce_address_in_set(in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX,
				     WORLD_GID_INDEX);
	memcpy(address, world_gid, sizeof(world_gid));
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, 0x0211);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0, 0x22334455);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE, RNIC_ROCE_L3_TYPE_IPV4);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION, RNIC_ROCE_VERSION_2);
	return sizeof(*in);
}

static uint32_t
good_rqt(struct world *w, void *in)
{
	const uint32_t rqns[] = { w->rq.number, w->rq.number };
	uint32_t bytes = drv_rqt_fill(in, rqns, 2);

	rnic_rqtc_set(rnic_create_rqt_in_rqtc(in), RNIC_RQTC_RQT_MAX_SIZE, 4);
	return bytes;
}

static uint32_t
good_modify_rqt(struct world *w, struct rnic_modify_rqt_in *in)
{
	struct rnic_rqtc *rqtc = rnic_modify_rqt_in_rqtc(in);
	struct rnic_rqn_entry *entries = (struct rnic_rqn_entry *)(in + 1);

	rnic_modify_rqt_in_set(in, RNIC_MODIFY_RQT_IN_RQTN, w->rqt);
	rnic_modify_rqt_in_set(in, RNIC_MODIFY_RQT_IN_BITMASK, RNIC_MODIFY_RQT_RQN_LIST);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, 1);
	rnic_rqn_entry_set(&entries[0], RNIC_RQN_ENTRY_RQN, w->rq.number);
	return sizeof(*in) + 4;
}

static uint32_t
good_tir(struct world *w, void *in)
{
	const struct drv_tir tir = {
		.td = w->td, .rqn = w->rq.number, .rqtn = w->rqt, .hash = RNIC_RX_HASH_TOEPLITZ
	};

	return drv_tir_fill(in, &tir);
}

static uint32_t
good_group(void *in, uint32_t table, uint32_t start, uint32_t end)
{
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 };
	const struct drv_group group = { table, start, end, &mask };

	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16, UINT32_MAX);
	return drv_group_fill(in, &group);
}

static uint32_t
good_fte(struct world *w, void *in, uint32_t index)
{
	const struct rnic_flow_destination to = drv_to_tir(w->tir);
	const struct drv_fte fte = { .table = w->table,
				     .group = w->group,
				     .index = index,
				     .action = RNIC_FLOW_ACTION_FWD_DEST,
				     .to = &to,
				     .count = 1 };

	return drv_fte_fill(in, &fte);
}

static uint32_t
good_vport(void *in)
{
	struct rnic_modify_nic_vport_context_in *vport = in;
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(vport);

	rnic_modify_nic_vport_context_in_set(vport, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_MTU | RNIC_NIC_VPORT_ADDRESSES_LIST |
						     RNIC_NIC_VPORT_PERMANENT_ADDRESS);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_MTU, 1522);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, 1);
	return sizeof(*vport) + 8;
}

static uint32_t
good_set_hca_cap(struct world *w, uint8_t *in)
{
	struct rnic_function_in query = { 0 };
	static uint8_t out[0x1010];

	hn_head(&query, RNIC_CMD_QUERY_HCA_CAP, 0);
	hn_cmd_ok(&w->hn, &query, sizeof(query), out, sizeof(out));
	memcpy(in + RNIC_HCA_CAP_OFFSET, out + RNIC_HCA_CAP_OFFSET,
	       sizeof(struct rnic_general_cap));
	return 0x1010;
}

static uint32_t
number_in(void *in, uint32_t number)
{
	rnic_object_in_set(in, RNIC_OBJECT_IN_NUMBER, number);
	return sizeof(struct rnic_object_in);
}

/* Queue pairs, pools and addresses. */
static uint32_t
good_rdma_input(struct world *w, uint16_t opcode, void *in)
{
	switch (opcode) {
	case RNIC_CMD_CREATE_QP: return good_qp(w, in);
	case RNIC_CMD_DESTROY_QP:
	case RNIC_CMD_QUERY_QP:
	case RNIC_CMD_2ERR_QP:
	case RNIC_CMD_2RST_QP: return number_in(in, w->qps[ROCE_RTS]);
	case RNIC_CMD_CREATE_RMP: return good_rmp(w, in);
	case RNIC_CMD_MODIFY_RMP: return good_modify_rmp(w, in);
	case RNIC_CMD_DESTROY_RMP: return number_in(in, w->loose_rmp);
	case RNIC_CMD_QUERY_RMP: return number_in(in, w->rmp);
	case RNIC_CMD_SET_ROCE_ADDRESS: return good_address(in);
	case RNIC_CMD_QUERY_ROCE_ADDRESS:
		rnic_query_roce_address_in_set(in, RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX,
					       WORLD_GID_INDEX);
		return sizeof(struct rnic_query_roce_address_in);
	default: return good_qp_input(w, opcode, in);
	}
}

/* Tables and queues. */
static uint32_t
good_queue_input(struct world *w, uint16_t opcode, void *in)
{
	switch (opcode) {
	case RNIC_CMD_CREATE_CQ: return good_cq(w, in);
	case RNIC_CMD_DESTROY_CQ: return number_in(in, w->loose_cq.number);
	case RNIC_CMD_QUERY_CQ: return number_in(in, w->cq.number);
	case RNIC_CMD_MODIFY_CQ:
		number_in(in, w->cq.number);
		return sizeof(struct rnic_modify_cq_in);
	case RNIC_CMD_CREATE_SQ: return good_sq(w, in);
	case RNIC_CMD_MODIFY_SQ:
		return drv_sq_modify_fill(in, w->sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	case RNIC_CMD_DESTROY_SQ:
	case RNIC_CMD_QUERY_SQ: return number_in(in, w->sq.number);
	case RNIC_CMD_CREATE_RQ: return good_rq(w, in);
	case RNIC_CMD_MODIFY_RQ:
		number_in(in, w->rq.number);
		rnic_rqc_set(rnic_modify_rq_in_rqc(in), RNIC_RQC_STATE, RNIC_WQ_STATE_RDY);
		rnic_modify_rq_in_set(in, RNIC_MODIFY_RQ_IN_BITMASK, RNIC_MODIFY_RQ_COUNTER_SET_ID);
		rnic_rqc_set(rnic_modify_rq_in_rqc(in), RNIC_RQC_COUNTER_SET_ID, w->counter);
		return sizeof(struct rnic_modify_rq_in);
	case RNIC_CMD_DESTROY_RQ: return number_in(in, w->loose_rq.number);
	case RNIC_CMD_QUERY_RQ: return number_in(in, w->rq.number);
	default: return 0;
	}
}

static uint32_t
good_flow_input(struct world *w, uint16_t opcode, void *in)
{
	switch (opcode) {
	case RNIC_CMD_SET_FLOW_TABLE_ROOT:
		rnic_set_flow_table_root_in_set(in, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, w->table);
		return sizeof(struct rnic_set_flow_table_root_in);
	case RNIC_CMD_CREATE_FLOW_TABLE: return sizeof(struct rnic_create_flow_table_in);
	case RNIC_CMD_MODIFY_FLOW_TABLE:
		rnic_modify_flow_table_in_set(in, RNIC_MODIFY_FLOW_TABLE_IN_TABLE_ID, w->table);
		rnic_modify_flow_table_in_set(in, RNIC_MODIFY_FLOW_TABLE_IN_MODIFY_FIELD_SELECT,
					      RNIC_MODIFY_FLOW_TABLE_MISS_TABLE_ID);
		return sizeof(struct rnic_modify_flow_table_in);
	case RNIC_CMD_DESTROY_FLOW_TABLE:
	case RNIC_CMD_QUERY_FLOW_TABLE:
		rnic_flow_table_in_set(in, RNIC_FLOW_TABLE_IN_TABLE_ID, w->loose_table);
		return sizeof(struct rnic_flow_table_in);
	case RNIC_CMD_CREATE_FLOW_GROUP: return good_group(in, w->table, 32, 63);
	case RNIC_CMD_DESTROY_FLOW_GROUP:
	case RNIC_CMD_QUERY_FLOW_GROUP:
		rnic_flow_group_in_set(in, RNIC_FLOW_GROUP_IN_TABLE_ID, w->table);
		rnic_flow_group_in_set(in, RNIC_FLOW_GROUP_IN_GROUP_ID, w->loose_group);
		return sizeof(struct rnic_flow_group_in);
	case RNIC_CMD_SET_FLOW_TABLE_ENTRY: return good_fte(w, in, 1);
	case RNIC_CMD_QUERY_FLOW_TABLE_ENTRY:
	case RNIC_CMD_DELETE_FLOW_TABLE_ENTRY:
		rnic_fte_in_set(in, RNIC_FTE_IN_TABLE_ID, w->table);
		return sizeof(struct rnic_fte_in);
	default: return 0;
	}
}

static uint32_t
good_l2_entry(struct rnic_l2_table_entry_in *in, uint32_t index)
{
	rnic_l2_table_entry_in_set(in, RNIC_L2_TABLE_ENTRY_IN_TABLE_INDEX, index);
	rnic_l2_table_entry_in_set(in, RNIC_L2_TABLE_ENTRY_IN_MAC_47_32, 0x0200);
	rnic_l2_table_entry_in_set(in, RNIC_L2_TABLE_ENTRY_IN_MAC_31_0, index);
	return sizeof(*in);
}

static uint32_t
good_port_input(struct world *w, uint16_t opcode, void *in)
{
	switch (opcode) {
	case RNIC_CMD_QUERY_VPORT_STATE: return sizeof(struct rnic_vport_in);
	case RNIC_CMD_MODIFY_VPORT_STATE: return sizeof(struct rnic_modify_vport_state_in);
	case RNIC_CMD_QUERY_NIC_VPORT_CONTEXT: return sizeof(struct rnic_vport_in);
	case RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT: return good_vport(in);
	case RNIC_CMD_QUERY_VPORT_COUNTER: return sizeof(struct rnic_query_vport_counter_in);
	case RNIC_CMD_SET_L2_TABLE_ENTRY: return good_l2_entry(in, 1);
	case RNIC_CMD_DELETE_L2_TABLE_ENTRY: return good_l2_entry(in, 0);
	case RNIC_CMD_QUERY_Q_COUNTER:
		rnic_query_q_counter_in_set(in, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID, w->counter);
		return sizeof(struct rnic_query_q_counter_in);
	case RNIC_CMD_ACCESS_REG: {
		void *reg = (uint8_t *)in + sizeof(struct rnic_access_reg_in);

		rnic_access_reg_in_set(in, RNIC_ACCESS_REG_IN_REGISTER_ID, RNIC_REG_PMTU);
		rnic_pmtu_reg_set(reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
		rnic_pmtu_reg_set(reg, RNIC_PMTU_REG_ADMIN_MTU, 1522);
		return sizeof(struct rnic_access_reg_in) + sizeof(struct rnic_pmtu_reg);
	}
	default: return good_flow_input(w, opcode, in);
	}
}

uint32_t
world_good_input(struct world *w, uint16_t opcode, void *in)
{
	uint32_t bytes;

	hn_head(in, opcode, 0);
	switch (opcode) {
	case RNIC_CMD_QUERY_PAGES:
	case RNIC_CMD_MANAGE_PAGES: hn_head(in, opcode, 1); return 16;
	case RNIC_CMD_SET_ISSI: return number_in(in, 1);
	case RNIC_CMD_SET_HCA_CAP: return good_set_hca_cap(w, in);
	case RNIC_CMD_CREATE_MKEY: return good_mkey(w, in);
	case RNIC_CMD_QUERY_MKEY:
	case RNIC_CMD_DESTROY_MKEY: return number_in(in, w->mkey >> 8);
	case RNIC_CMD_CREATE_EQ: return good_eq(w, in);
	case RNIC_CMD_DESTROY_EQ: return number_in(in, w->loose_eq.number);
	case RNIC_CMD_QUERY_EQ: return number_in(in, w->eq.number);
	case RNIC_CMD_DEALLOC_PD: return number_in(in, w->loose_pd);
	case RNIC_CMD_DEALLOC_UAR: return number_in(in, w->loose_uar);
	case RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN: return number_in(in, w->loose_td);
	case RNIC_CMD_DEALLOC_Q_COUNTER: return number_in(in, w->loose_counter);
	case RNIC_CMD_CREATE_TIS: return drv_tis_fill(in, w->td);
	case RNIC_CMD_MODIFY_TIS:
		number_in(in, w->tis);
		rnic_modify_tis_in_set(in, RNIC_MODIFY_TIS_IN_BITMASK, 0x9); /* prio, affinity */
		rnic_tisc_set(rnic_modify_tis_in_tisc(in), RNIC_TISC_LAG_TX_PORT_AFFINITY, 1);
		return sizeof(struct rnic_modify_tis_in);
	case RNIC_CMD_DESTROY_TIS: return number_in(in, w->loose_tis);
	case RNIC_CMD_QUERY_TIS: return number_in(in, w->tis);
	case RNIC_CMD_CREATE_TIR: return good_tir(w, in);
	case RNIC_CMD_MODIFY_TIR:
		number_in(in, w->indirect_tir);
		rnic_tirc_set(rnic_modify_tir_in_tirc(in), RNIC_TIRC_INDIRECT_TABLE, w->rqt);
		rnic_modify_tir_in_set(in, RNIC_MODIFY_TIR_IN_BITMASK, 0x7);
		return sizeof(struct rnic_modify_tir_in);
	case RNIC_CMD_DESTROY_TIR: return number_in(in, w->loose_tir);
	case RNIC_CMD_QUERY_TIR: return number_in(in, w->tir);
	case RNIC_CMD_CREATE_RQT: return good_rqt(w, in);
	case RNIC_CMD_MODIFY_RQT: return good_modify_rqt(w, in);
	case RNIC_CMD_DESTROY_RQT: return number_in(in, w->loose_rqt);
	case RNIC_CMD_QUERY_RQT: return number_in(in, w->rqt);
	default:
		bytes = good_queue_input(w, opcode, in);
		if (bytes == 0)
			bytes = good_rdma_input(w, opcode, in);
		if (bytes == 0)
			bytes = good_port_input(w, opcode, in);
		return bytes != 0 ? bytes : 16;
	}
}

/* ---- The world ---- */

static void
populate_flows(struct world *w)
{
	const struct drv_table table = { .log_size = 6 };
	uint32_t *groups[] = { &w->group, &w->loose_group };
	uint8_t in[IN_ROOM];

	assert_int_equal(drv_table_create(&w->hn.drv, &table, &w->table), RNIC_STATUS_OK);
	assert_int_equal(drv_table_create(&w->hn.drv, &table, &w->loose_table), RNIC_STATUS_OK);
	for (unsigned int i = 0; i < 2; i++) {
		memset(in, 0, sizeof(in));
		*groups[i] = created(&w->hn, in, good_group(in, w->table, 16 * i, 16 * i + 15));
	}
	memset(in, 0, sizeof(in));
	created(&w->hn, in, good_fte(w, in, 0));
}

void *
world_good(struct world *w, uint16_t opcode)
{
	memset(w->in, 0, sizeof(w->in));
	w->in_bytes = world_good_input(w, opcode, w->in);
	return w->in;
}

int
world_run(struct world *w, uint32_t *number)
{
	return drv_execute(&w->hn.drv, w->in, w->in_bytes, number);
}

void
world_qp_raise(struct world *w, uint32_t qpn, enum roce_state from, enum roce_state to)
{
	static const struct {
		enum roce_state from, to;
		uint16_t opcode;
	} steps[] = {
		{ ROCE_RST, ROCE_INIT, RNIC_CMD_RST2INIT_QP },
		{ ROCE_INIT, ROCE_RTR, RNIC_CMD_INIT2RTR_QP },
		{ ROCE_RTR, ROCE_RTS, RNIC_CMD_RTR2RTS_QP },
		{ ROCE_RTS, ROCE_SQD, RNIC_CMD_RTS2SQD_QP },
	};

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].from < from || steps[i].to > to || to == ROCE_RST)
			continue;
		number_in(world_good(w, steps[i].opcode), qpn);
		assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	}
}

static void
populate_qps(struct world *w)
{
	static const enum roce_state states[] = { ROCE_RST, ROCE_INIT, ROCE_RTR, ROCE_RTS,
						  ROCE_SQD };

	world_good(w, RNIC_CMD_CREATE_RMP);
	assert_int_equal(world_run(w, &w->rmp), RNIC_STATUS_OK);
	assert_int_equal(world_run(w, &w->loose_rmp), RNIC_STATUS_OK);
	world_good(w, RNIC_CMD_SET_ROCE_ADDRESS);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	for (unsigned int i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		uint32_t *qpn = &w->qps[states[i]];
		struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP));

		if (states[i] == ROCE_RST) {
			rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
			rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, w->rmp);
		}
		assert_int_equal(world_run(w, qpn), RNIC_STATUS_OK);
		world_qp_raise(w, *qpn, ROCE_RST, states[i]);
	}
}

void
world_populate(struct world *w)
{
	struct hn *hn = &w->hn;
	uint8_t in[IN_ROOM] = { 0 };

	w->memory = hn_alloc(hn, 65536, 65536);
	w->pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	w->loose_pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	w->td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	w->loose_td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	w->uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	w->loose_uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	w->counter = hn_alloc_object(hn, RNIC_CMD_ALLOC_Q_COUNTER);
	w->loose_counter = hn_alloc_object(hn, RNIC_CMD_ALLOC_Q_COUNTER);
	hn_create_eq(hn, &w->eq, w->uar, 4, 0, 0);
	hn_create_eq(hn, &w->loose_eq, w->uar, 4, 0, 0);
	hn_create_cq(hn, &w->cq, w->uar, w->eq.number, 4);
	hn_create_cq(hn, &w->loose_cq, w->uar, w->eq.number, 4);
	w->mkey = hn_create_mkey(hn, w->pd, w->memory, 65536, true);
	w->tis = hn_create_tis(hn, w->td);
	w->loose_tis = hn_create_tis(hn, w->td);
	hn_create_sq(hn, &w->sq, w->pd, w->uar, w->cq.number, w->tis, 4);
	hn_head(in, RNIC_CMD_CREATE_RQ, 0);
	w->rq.number = created(hn, in, good_rq(w, in));
	hn_create_rq(hn, &w->loose_rq, w->pd, w->cq.number, 4, 4);
	w->rqt = hn_create_rqt(hn, &w->rq.number, 1);
	w->loose_rqt = hn_create_rqt(hn, &w->rq.number, 1);
	w->tir = hn_create_tir(hn, w->td, w->rq.number);
	w->loose_tir = hn_create_tir(hn, w->td, w->rq.number);
	memset(in, 0, sizeof(in));
	hn_head(in, RNIC_CMD_CREATE_TIR, 0);
	w->indirect_tir = created(hn, in, good_tir(w, in));
	populate_flows(w);
	populate_qps(w);
	memset(in, 0, sizeof(in));
	hn_head(in, RNIC_CMD_SET_L2_TABLE_ENTRY, 0);
	created(hn, in, good_l2_entry((void *)in, 0));
}

/* Up to the state that a command needs, or just below it. */
void
world_make(struct world *w, unsigned int state, bool init_pages)
{
	int32_t count;

	memset(w, 0, sizeof(*w));
	hn_start(&w->hn, NULL, NULL);
	/* No device has this by itself; commands that need it are tested with the others. */
	for (unsigned int i = 0; i < 2; i++) {
		rnic_general_cap_set(&w->hn.dev->general_cap[i], RNIC_GENERAL_CAP_ESWITCH_MANAGER,
				     1);
		rnic_general_cap_set(&w->hn.dev->general_cap[i], RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE,
				     2);
	}
	if (state == SOFTRNIC_HCA_OFF)
		return;
	hn_enable(&w->hn);
	if (state == SOFTRNIC_HCA_READY || init_pages) {
		assert_int_equal(hn_query_pages(&w->hn, RNIC_PAGES_INIT, &count), 0);
		assert_int_equal(hn_give_pages(&w->hn, count), 0);
	}
	if (state == SOFTRNIC_HCA_ENABLED)
		return;
	assert_int_equal(hn_simple(&w->hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	world_populate(w);
}

unsigned int
world_state_for(uint16_t opcode)
{
	switch (opcode) {
	case RNIC_CMD_TEARDOWN_HCA: return SOFTRNIC_HCA_READY;
	default:
		for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
			if (softrnic_cmd_table[i].opcode == opcode)
				return softrnic_cmd_table[i].state;
		}
		return SOFTRNIC_HCA_READY;
	}
}
