/* SPDX-License-Identifier: BSD-3-Clause */

/* A good input for each command; each function returns its length. */
#include "ctl_world.h"
#include "driver/cap.h"
#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/roce_addr.h"
#include "driver/umem.h"
#include "driver/vport.h"
#include "driver/xrc_srq.h"

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
good_umem(const struct world *w, void *in)
{
	const struct drv_umem umem = {
		.log_page_size = 12,
		.pages = { w->memory | RNIC_MTT_READ | RNIC_MTT_WRITE, 4096, 4 },
	};

	return drv_umem_fill(in, &umem);
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
good_qp(struct world *w, void *in)
{
	const struct drv_qp qp = { .pd = w->pd,
				   .uar = w->uar,
				   .send_cqn = w->cq.number,
				   .receive_cqn = w->cq.number,
				   .counter = w->counter,
				   .user_index = 0xabcde,
				   .log_sq = 2,
				   .log_rq = 2,
				   .log_stride = 4,
				   .dbrec = DBREC(w),
				   .ring = RING(w) };

	return drv_qp_fill(in, &qp);
}

const uint8_t world_gid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
const uint8_t world_group_gid[16] = { 0xff, 0x15, [15] = 7 };
const uint8_t world_peer_gid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 };

/* Everything that a driver could say; a change takes what it takes. Each value is another one than 0. */
static uint32_t
good_modify_qp(struct world *w, uint16_t opcode, void *in, uint32_t qpn, uint32_t options)
{
	struct drv_qp_attr attr = { .counter = w->counter,
				    .remote_qpn = 0x123456,
				    .mtu = RNIC_QP_MTU_1024,
				    .send_psn = 0xfedcba,
				    .receive_psn = 0xabcdef,
				    .log_sra_max = 3,
				    .log_rra_max = 2,
				    .ack_timeout = 14,
				    .retry_count = 5,
				    .rnr_retry = 6,
				    .min_rnr_timer = 12,
				    .log_ack_req_freq = 8,
				    .read = true,
				    .write = true,
				    .atomic = true,
				    .qkey = 0x11223344,
				    .path = { .source = WORLD_GID_INDEX,
					      .hop_limit = 64,
					      .udp_sport = 0xc123,
					      .mac = UINT64_C(0x020000c0ffee) } };

	memcpy(attr.path.gid, world_peer_gid, sizeof(world_peer_gid));
	return drv_qp_modify_fill(in, opcode, qpn, options, &attr);
}

#define OPT_ACCESS (RNIC_QP_OPT_RRE | RNIC_QP_OPT_RWE | RNIC_QP_OPT_RAE)

/* Those that change a QP: the state that the change begins in, and all options that it has. */
static uint32_t
good_qp_input(struct world *w, uint16_t opcode, void *in)
{
	const uint32_t running = OPT_ACCESS | RNIC_QP_OPT_RNR_TIMEOUT | RNIC_QP_OPT_PM_STATE;
	const uint32_t place = RNIC_QP_OPT_PKEY_INDEX | RNIC_QP_OPT_PRI_PORT;
	const uint32_t drained = RNIC_QP_OPT_PRIMARY_ADDR_PATH | RNIC_QP_OPT_ACK_TIMEOUT |
				 RNIC_QP_OPT_RETRY_COUNT | RNIC_QP_OPT_RNR_RETRY |
				 RNIC_QP_OPT_SRA_MAX | RNIC_QP_OPT_RRA_MAX;
	const struct {
		uint16_t opcode;
		enum rnic_qp_state from;
		uint32_t options;
	} changes[] = {
		{ RNIC_CMD_RST2INIT_QP, RNIC_QP_STATE_RST, 0 },
		{ RNIC_CMD_INIT2INIT_QP, RNIC_QP_STATE_INIT, OPT_ACCESS | place },
		{ RNIC_CMD_INIT2RTR_QP, RNIC_QP_STATE_INIT, OPT_ACCESS | RNIC_QP_OPT_PKEY_INDEX },
		{ RNIC_CMD_RTR2RTS_QP, RNIC_QP_STATE_RTR, running },
		{ RNIC_CMD_RTS2RTS_QP, RNIC_QP_STATE_RTS, running | RNIC_QP_OPT_COUNTER_SET_ID },
		{ RNIC_CMD_SQERR2RTS_QP, RNIC_QP_STATE_SQER, RNIC_QP_OPT_Q_KEY },
		{ RNIC_CMD_RTS2SQD_QP, RNIC_QP_STATE_RTS, 0 },
		{ RNIC_CMD_SQD_RTS_QP, RNIC_QP_STATE_SQD, running },
		{ RNIC_CMD_SQD2SQD_QP, RNIC_QP_STATE_SQD, running | place | drained },
	};

	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (changes[i].opcode == opcode)
			return good_modify_qp(w, opcode, in, w->qps[changes[i].from],
					      changes[i].options);
	}
	return 0;
}

static uint32_t
good_rmp(struct world *w, void *in)
{
	const struct drv_rmp rmp = {
		.log_size = 2, .log_stride = 5, .pd = w->pd, .dbrec = DBREC(w), .ring = RING(w)
	};

	return drv_rmp_fill(in, &rmp);
}

static uint32_t
good_xrc_srq(struct world *w, void *in)
{
	const struct drv_xrc_srq srq = { .log_size = 2,
					 .log_stride = 5,
					 .pd = w->pd,
					 .xrcd = w->xrcd,
					 .cqn = w->cq.number,
					 .dbrec = DBREC(w),
					 .ring = RING(w) };

	return drv_xrc_srq_fill(in, &srq);
}

static uint32_t
good_address(void *in)
{
	struct drv_roce_addr address = { .index = WORLD_GID_INDEX,
					 .mac = UINT64_C(0x021122334455) };

	memcpy(address.gid, world_gid, sizeof(world_gid));
	return drv_roce_addr_fill(in, &address);
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
good_group(const struct world *w, void *in)
{
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 };
	const struct drv_group group = { w->table, 32, 63, &mask };

	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16, UINT32_MAX);
	return drv_group_fill(in, &group);
}

static uint32_t
good_fte(struct world *w, void *in)
{
	const struct rnic_flow_destination to = drv_to_tir(w->tir);
	const struct drv_fte fte = {
		.to = &to, .count = 1, .table = w->table, .group = w->group, .index = 1
	};

	return drv_fte_fill(in, &fte);
}

static uint32_t
good_vport(void *in)
{
	const uint64_t nobody = 0;
	const struct drv_vport vport = { .select = RNIC_NIC_VPORT_MTU |
						   RNIC_NIC_VPORT_ADDRESSES_LIST |
						   RNIC_NIC_VPORT_PERMANENT_ADDRESS,
					 .mtu = 1522,
					 .count = 1,
					 .entries = &nobody };

	return drv_vport_fill(in, &vport);
}

static uint32_t
good_set_hca_cap(struct world *w, uint8_t *in)
{
	assert_int_equal(drv_cap_query(&w->hn.drv, RNIC_CAP_GENERAL, false,
				       in + RNIC_HCA_CAP_OFFSET, sizeof(struct rnic_general_cap)),
			 0);
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
	case RNIC_CMD_2RST_QP: return number_in(in, w->qps[RNIC_QP_STATE_RTS]);
	case RNIC_CMD_ATTACH_TO_MCG:
	case RNIC_CMD_DETACH_FROM_MCG:
		return drv_mcg_fill(in, opcode, w->datagram, world_group_gid);
	case RNIC_CMD_CREATE_RMP: return good_rmp(w, in);
	case RNIC_CMD_MODIFY_RMP: return drv_rmp_limit_fill(in, w->rmp, 2);
	case RNIC_CMD_DESTROY_RMP: return number_in(in, w->loose_rmp);
	case RNIC_CMD_QUERY_RMP: return number_in(in, w->rmp);
	case RNIC_CMD_CREATE_XRC_SRQ: return good_xrc_srq(w, in);
	case RNIC_CMD_ARM_XRC_SRQ: return drv_xrc_srq_arm_fill(in, w->xrc_srq, 2);
	case RNIC_CMD_DESTROY_XRC_SRQ:
	case RNIC_CMD_QUERY_XRC_SRQ: return number_in(in, w->xrc_srq);
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
	case RNIC_CMD_CREATE_FLOW_GROUP: return good_group(w, in);
	case RNIC_CMD_DESTROY_FLOW_GROUP:
	case RNIC_CMD_QUERY_FLOW_GROUP:
		rnic_flow_group_in_set(in, RNIC_FLOW_GROUP_IN_TABLE_ID, w->table);
		rnic_flow_group_in_set(in, RNIC_FLOW_GROUP_IN_GROUP_ID, w->loose_group);
		return sizeof(struct rnic_flow_group_in);
	case RNIC_CMD_SET_FLOW_TABLE_ENTRY: return good_fte(w, in);
	case RNIC_CMD_DEALLOC_FLOW_COUNTER: return number_in(in, w->loose_flow_counter);
	case RNIC_CMD_QUERY_FLOW_COUNTER:
		rnic_query_flow_counter_in_set(in, RNIC_QUERY_FLOW_COUNTER_IN_FLOW_COUNTER_ID,
					       w->flow_counter);
		return sizeof(struct rnic_query_flow_counter_in);
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
	case RNIC_CMD_QUERY_HCA_VPORT_PKEY: return sizeof(struct rnic_query_hca_vport_pkey_in);
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
	case RNIC_CMD_DEALLOC_XRCD: return number_in(in, w->loose_xrcd);
	case RNIC_CMD_CREATE_UCTX: return sizeof(struct rnic_create_uctx_in);
	case RNIC_CMD_DESTROY_UCTX: return number_in(in, w->loose_uctx);
	case RNIC_CMD_CREATE_UMEM: return good_umem(w, in);
	case RNIC_CMD_DESTROY_UMEM: return number_in(in, w->loose_umem);
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
