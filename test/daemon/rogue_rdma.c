/* SPDX-License-Identifier: BSD-3-Clause */

/* Rogues of queue pairs. Each queue pair is connected to itself, over the loop wire: both ends are of one device. */
#include "harness.h"

#include <stdlib.h>

#include "client.h"
#include "prm/qp.h"
#include "prm/vport.h"
#include "rogue_parts.h"

#define PSN	     0x123456
#define MTU	     RNIC_QP_MTU_4096
#define LOG_POOL     13
#define LOG_RECEIVE  5 /* its link and one segment */
#define LOG_RECEIVES 9 /* its link and 31 of them, which is as many as there may be */
#define LOG_CQ	     15
#define RING_PAGES   4u /* of a queue pair, at most */
#define SMALL	     64u
#define RUNG	     512
#define HELD	     4 /* turns in which the peer has no receives */
#define CYCLES	     4
#define MAPS	     8 /* changes of the map in a turn */
#define LAST_ONLY    true

/* Of NOPs behind one request; with a deadline; through lists. */
#define ANSWERS		  128u
#define ANSWERS_OF_MANY	  16u
#define LOG_ANSWERS	  8
#define DEADLINES	  4096u
#define DEADLINES_OF_MANY 256u
#define LOG_DEADLINES	  6
#define LISTED		  4u
#define LOG_LISTED	  8
#define LIST_WQE_BLOCKS	  16u
#define LIST_SEGMENT	  67
#define LIST_STEP	  1000
#define RECEIVE_SEGMENTS  31
#define RECEIVE_SEGMENT	  132 /* together as much as those of a WQE */
#define RECEIVE_STEP	  2000

/* ---- What they need ---- */

/* A MAC address and a GID of its own. */
static void
enable_roce(struct rogue *r)
{
	struct rnic_query_nic_vport_context_in query = { 0 };
	struct {
		struct rnic_query_nic_vport_context_out out;
		uint8_t list[64];
	} vport = { 0 };
	struct rnic_modify_nic_vport_context_in modify = { 0 };
	struct rnic_set_roce_address_in in = { 0 };
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(&in);
	struct rnic_nic_vport_context *context;
	struct rnic_cmd_out done;

	hn_head(&query, RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, 0);
	hn_cmd_ok(&r->nic.hn, &query, sizeof(query), &vport, sizeof(vport.out));
	context = rnic_query_nic_vport_context_out_nic_vport_context(&vport.out);
	r->rdma.mac =
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32)
			<< 32 |
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_31_0);
	hn_head(&modify, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&modify, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_ROCE_EN);
	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&modify),
				   RNIC_NIC_VPORT_CONTEXT_ROCE_EN, 1);
	hn_cmd_ok(&r->nic.hn, &modify, sizeof(modify), &done, sizeof(done));
	hn_head(&in, RNIC_CMD_SET_ROCE_ADDRESS, 0);
	/* ::ffff:10.0.0.1 */
	memcpy((uint8_t *)address + 10, "\xff\xff\x0a\0\0\x01", 6);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, r->rdma.mac >> 32);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0, r->rdma.mac & UINT32_MAX);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION, RNIC_ROCE_VERSION_2);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE, RNIC_ROCE_L3_TYPE_IPV4);
	hn_cmd_ok(&r->nic.hn, &in, sizeof(in), &done, sizeof(done));
}

/* A pool of receives, each linked to the next one: segments of the key, a step apart. */
static void
create_pool(struct rogue *r, unsigned int log_stride, const struct rogue_buffers *buffers)
{
	struct rogue_rdma *rdma = &r->rdma;
	const uint64_t ring = hn_alloc(&r->nic.hn, 1ul << (LOG_POOL + log_stride), ROGUE_PAGE);
	const uint32_t pages = (1u << (LOG_POOL + log_stride)) / ROGUE_PAGE;
	const size_t bytes = sizeof(struct rnic_create_rmp_in) + pages * 8ul;
	struct rnic_create_rmp_in *in = calloc(1, bytes);
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);
	struct rnic_be64 *list = (struct rnic_be64 *)(in + 1);
	struct rnic_object_out out;

	assert_non_null(in);
	assert_true((buffers->segments + 1) * sizeof(struct rnic_wqe_data) <= 1u << log_stride);
	rdma->pool_dbrec = hn_alloc(&r->nic.hn, 64, 64);
	hn_head(in, RNIC_CMD_CREATE_RMP, 0);
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_LINKED_LIST);
	rnic_wq_set(wq, RNIC_WQ_PD, r->nic.pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, rdma->pool_dbrec);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, LOG_POOL);
	for (uint32_t i = 0; i < pages; i++)
		list[i] = rnic_cpu_to_be64(ring + i * (uint64_t)ROGUE_PAGE);
	for (uint32_t i = 0; i < 1u << LOG_POOL; i++) {
		struct rnic_wqe_next *next = hn_va(&r->nic.hn, ring + ((uint64_t)i << log_stride));
		struct rnic_wqe_data *data = (struct rnic_wqe_data *)(next + 1);

		next->next_wqe_index =
			rnic_cpu_to_be16((uint16_t)((i + 1) & ((1u << LOG_POOL) - 1)));
		for (unsigned int k = 0; k < buffers->segments; k++)
			data[k] = nic_data(buffers->bytes, buffers->key,
					   buffers->address + k * buffers->step);
	}
	hn_cmd_ok(&r->nic.hn, in, (uint32_t)bytes, &out, sizeof(out));
	rdma->pool = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	free(in);
}

static uint64_t
ring_of(const struct rogue *r, uint32_t i)
{
	return r->rdma.rings + i * ((uint64_t)RNIC_WQEBB_BYTES << r->rdma.log_ring);
}

static uint32_t
make_qp(struct rogue *r, uint32_t i, void *in)
{
	const struct rogue_rdma *rdma = &r->rdma;
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in);
	struct rnic_be64 *pages = (struct rnic_be64 *)((struct rnic_create_qp_in *)in + 1);
	const uint32_t count = (RNIC_WQEBB_BYTES << rdma->log_ring) / ROGUE_PAGE;

	assert_in_range(count, 1, RING_PAGES);
	hn_head(in, RNIC_CMD_CREATE_QP, 0);
	rnic_qpc_set(qpc, RNIC_QPC_ST, RNIC_QP_ST_RC);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_PD, r->nic.pd);
	rnic_qpc_set(qpc, RNIC_QPC_UAR_PAGE, r->nic.sq.uar);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, rdma->send_cq.number);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, rdma->receive_cq.number);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_ADDR, rdma->dbrec);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SQ_SIZE, rdma->log_ring);
	rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
	rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, rdma->pool);
	for (uint32_t k = 0; k < count; k++)
		pages[k] = rnic_cpu_to_be64(ring_of(r, i) + k * (uint64_t)ROGUE_PAGE);
	return (uint32_t)(sizeof(struct rnic_create_qp_in) + count * sizeof(pages[0]));
}

static uint32_t
make_change(struct rogue *r, uint32_t i, uint16_t opcode, void *in)
{
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(in);
	struct rnic_ads *path = rnic_qpc_primary_address_path(qpc);

	hn_head(in, opcode, 0);
	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_QPN, r->rdma.qpns[i]);
	rnic_qpc_set(qpc, RNIC_QPC_ST, RNIC_QP_ST_RC);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_MTU, MTU);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_MSG_MAX, 30);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_RCV_PSN, PSN);
	rnic_qpc_set(qpc, RNIC_QPC_NEXT_SEND_PSN, PSN);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SRA_MAX, 4);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_RRA_MAX, 4);
	rnic_qpc_set(qpc, RNIC_QPC_RETRY_COUNT, 7);
	rnic_qpc_set(qpc, RNIC_QPC_RNR_RETRY, 7);    /* for ever */
	rnic_qpc_set(qpc, RNIC_QPC_MIN_RNR_NAK, 12); /* 0.64 ms */
	rnic_qpc_set(qpc, RNIC_QPC_RWE, 1);
	rnic_qpc_set(qpc, RNIC_QPC_RRE, 1);
	rnic_qpc_set(qpc, RNIC_QPC_REMOTE_QPN, r->rdma.qpns[i]);
	rnic_ads_set(path, RNIC_ADS_VHCA_PORT_NUM, 1);
	rnic_ads_set(path, RNIC_ADS_ACK_TIMEOUT, 20);
	rnic_ads_set(path, RNIC_ADS_RGID_RIP_1, UINT64_C(0xffff0a000001));
	rnic_ads_set(path, RNIC_ADS_HOP_LIMIT, 64);
	rnic_ads_set(path, RNIC_ADS_UDP_SPORT, 0xc000);
	rnic_ads_set(path, RNIC_ADS_RMAC_47_32, r->rdma.mac >> 32);
	rnic_ads_set(path, RNIC_ADS_RMAC_31_0, r->rdma.mac & UINT32_MAX);
	return sizeof(struct rnic_modify_qp_in);
}

static uint32_t
make_init(struct rogue *r, uint32_t i, void *in)
{
	return make_change(r, i, RNIC_CMD_RST2INIT_QP, in);
}

static uint32_t
make_rtr(struct rogue *r, uint32_t i, void *in)
{
	return make_change(r, i, RNIC_CMD_INIT2RTR_QP, in);
}

static uint32_t
make_rts(struct rogue *r, uint32_t i, void *in)
{
	return make_change(r, i, RNIC_CMD_RTR2RTS_QP, in);
}

/* Queue pairs with rings of that many blocks, connected. */
static void
build_qps(struct rogue *r, uint32_t count, uint32_t log_ring)
{
	struct rogue_rdma *rdma = &r->rdma;
	struct hn *hn = &r->nic.hn;

	rdma->count = count;
	rdma->log_ring = log_ring;
	rdma->qpns = calloc(count, sizeof(rdma->qpns[0]));
	assert_non_null(rdma->qpns);
	rdma->rings = hn_alloc(hn, count * ((size_t)RNIC_WQEBB_BYTES << log_ring), ROGUE_PAGE);
	rdma->dbrec = hn_alloc(hn, 64, 64);
	hn_create_cq(hn, &rdma->send_cq, r->nic.sq.uar, r->nic.eq.number, LOG_CQ);
	hn_create_cq(hn, &rdma->receive_cq, r->nic.sq.uar, r->nic.eq.number, LOG_POOL);
	rogue_commands(r, count, make_qp, rdma->qpns);
	rogue_commands(r, count, make_init, NULL);
	rogue_commands(r, count, make_rtr, NULL);
	rogue_commands(r, count, make_rts, NULL);
}

/* ---- What they do, in cycles ---- */

/* What is in the rings already is posted once more. */
static void
post_all(struct rogue *r)
{
	static struct vfu_region_write writes[RUNG];
	struct rogue_rdma *rdma = &r->rdma;

	rdma->posted = (uint16_t)(rdma->posted + (1u << rdma->log_ring));
	nic_record_sends(&r->nic.hn, rdma->dbrec, rdma->posted);
	for (uint32_t i = 0, n; i < rdma->count; i += n) {
		n = rdma->count - i < RUNG ? rdma->count - i : RUNG;
		for (uint32_t k = 0; k < n; k++)
			writes[k] = rogue_bell(r, RNIC_WQE_CTRL_DW0(0, rdma->posted, RNIC_WQE_NOP),
					       rdma->qpns[i + k]);
		assert_int_equal(vfu_client_region_write_multi(client_of(r->nic.hn.dev), writes, n),
				 0);
	}
}

/* All post what they have; some turns later there are receives for all of it; and when it is done it begins anew. */
static void
work_cycles(struct rogue *r, unsigned int held)
{
	struct rogue_rdma *rdma = &r->rdma;

	rogue_take(r, &rdma->receive_cq, RNIC_CQE_RESPONDER_SEND);
	rdma->seen += rogue_take(r, &rdma->send_cq, RNIC_CQE_REQUESTER);
	if (rdma->step == 0) {
		rdma->seen = 0;
		post_all(r);
	}
	if (rdma->step++ == held) {
		rdma->pooled = (uint16_t)(rdma->pooled + rdma->receives);
		nic_record_receives(&r->nic.hn, rdma->pool_dbrec, rdma->pooled);
	}
	if (rdma->step > held && rdma->seen == rdma->completions) {
		rdma->step = 0;
		r->done = ++rdma->cycles >= CYCLES;
	}
}

/* ---- WQEs ---- */

static struct rnic_wqe_ctrl *
put_wqe(struct rogue *r, uint32_t i, uint32_t block, uint8_t opcode, uint32_t ds, bool signaled)
{
	struct rnic_wqe_ctrl *ctrl =
		hn_va(&r->nic.hn, ring_of(r, i) + (uint64_t)block * RNIC_WQEBB_BYTES);

	ctrl->opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, block, opcode));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(r->rdma.qpns[i], ds));
	ctrl->fm_ce_se = signaled ? RNIC_WQE_CE_ALWAYS : RNIC_WQE_CE_ON_ERROR;
	return ctrl;
}

/* A SEND that needs a receive, and a ring full of NOPs behind it. */
static void
build_waiting(struct rogue *r, uint32_t count, uint32_t log_ring, bool last_only)
{
	const uint64_t buffer = hn_alloc(&r->nic.hn, ROGUE_PAGE, ROGUE_PAGE);
	const struct rogue_buffers into = {
		.segments = 1, .key = r->physical, .address = buffer, .bytes = SMALL
	};
	const uint32_t blocks = 1u << log_ring;

	rogue_long_frames(r);
	enable_roce(r);
	create_pool(r, LOG_RECEIVE, &into);
	build_qps(r, count, log_ring);
	for (uint32_t i = 0; i < count; i++) {
		struct rnic_wqe_ctrl *send = put_wqe(r, i, 0, RNIC_WQE_SEND, 2, !last_only);
		struct rnic_wqe_data *data = (struct rnic_wqe_data *)(send + 1);

		*data = nic_data(SMALL, r->physical, buffer);
		for (uint32_t block = 1; block < blocks; block++)
			put_wqe(r, i, block, RNIC_WQE_NOP, 1, !last_only || block == blocks - 1);
	}
	r->rdma.receives = count;
	r->rdma.completions = last_only ? count : count * blocks;
}

void
rogue_build_answers(struct rogue *r)
{
	build_waiting(r, r->many ? ANSWERS_OF_MANY : ANSWERS, LOG_ANSWERS, !LAST_ONLY);
}

void
rogue_work_answers(struct rogue *r)
{
	work_cycles(r, HELD);
}

void
rogue_build_deadlines(struct rogue *r)
{
	build_waiting(r, r->many ? DEADLINES_OF_MANY : DEADLINES, LOG_DEADLINES, LAST_ONLY);
}

void
rogue_work_deadlines(struct rogue *r)
{
	work_cycles(r, HELD);
}

void
rogue_work_watched(struct rogue *r)
{
	for (unsigned int i = 0; i < MAPS; i++)
		rogue_change_map(r);
	work_cycles(r, 0);
}

/* ---- Lists of keys ---- */

/* From one way through lists to another: what the peer is told of is one access, so its list leads to memory, in order. */
static void
put_listed(struct rogue *r, uint32_t i, uint32_t block, uint8_t opcode, uint32_t remote)
{
	const bool one_sided = opcode != RNIC_WQE_SEND;
	const uint32_t ds = 1u + one_sided + ROGUE_SEGMENTS;
	struct rnic_wqe_ctrl *ctrl = put_wqe(r, i, block, opcode, ds, true);
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)(ctrl + 1);

	if (one_sided)
		*(struct rnic_wqe_raddr *)data++ =
			(struct rnic_wqe_raddr){ .rkey = rnic_cpu_to_be32(remote) };
	for (uint32_t k = 0; k < ROGUE_SEGMENTS; k++)
		data[k] = nic_data(LIST_SEGMENT, r->key, k * (uint64_t)LIST_STEP);
}

static void
build_listed(struct rogue *r)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ };
	const struct rogue_buffers into = { .segments = RECEIVE_SEGMENTS,
					    .key = r->key,
					    .step = RECEIVE_STEP,
					    .bytes = RECEIVE_SEGMENT };
	const uint64_t memory = hn_alloc(&r->nic.hn, 1u << 16, ROGUE_PAGE);
	const uint32_t remote = rogue_list_key(r, &r->physical, 1, memory, 1);
	const uint32_t wqes = (1u << LOG_LISTED) / LIST_WQE_BLOCKS;

	enable_roce(r);
	create_pool(r, LOG_RECEIVES, &into);
	build_qps(r, LISTED, LOG_LISTED);
	for (uint32_t i = 0; i < LISTED; i++) {
		for (uint32_t n = 0; n < wqes; n++) {
			put_listed(r, i, n * LIST_WQE_BLOCKS, opcodes[n % 3], remote);
			r->rdma.receives += opcodes[n % 3] == RNIC_WQE_SEND;
		}
	}
	r->rdma.completions = LISTED * wqes;
}

void
rogue_build_rdma_lists(struct rogue *r)
{
	rogue_build_lists(r);
	build_listed(r);
}

void
rogue_work_rdma_lists(struct rogue *r)
{
	work_cycles(r, 0);
}

/* ---- All at once ---- */

void
rogue_build_all_parts(struct rogue *r)
{
	rogue_build_lists_both_ways(r);
	build_listed(r);
	/* The last one, since its command is to be found in its slot. */
	rogue_build_long_ring(r);
}

void
rogue_work_all_parts(struct rogue *r)
{
	rogue_work_long_ring(r);
	rogue_work_lists(r);
	work_cycles(r, 0);
}
