/* SPDX-License-Identifier: BSD-3-Clause */

/* Rogues of queue pairs. Each queue pair is connected to itself, over the loop wire: both ends are of one device. */
#include "harness.h"

#include <stdlib.h>

#include "client.h"
#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/roce_addr.h"
#include "driver/vport.h"
#include "rogue_parts.h"

#define PSN	     0x123456
#define MTU	     RNIC_QP_MTU_4096
#define LOG_POOL     13
#define LOG_RECEIVE  5 /* its link and one segment */
#define LOG_RECEIVES 9 /* its link and 31 of them, which is as many as there may be */
#define LOG_CQ	     15
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

static const uint8_t own_gid[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };

/* A MAC address and a GID of its own. */
static void
enable_roce(struct rogue *r)
{
	struct rnic_nic_vport_context context;
	struct drv *drv = &r->nic.hn.drv;
	struct drv_roce_addr address = { 0 };

	assert_int_equal(drv_vport_query(drv, RNIC_ALLOWED_LIST_UC, &context, NULL), 0);
	r->rdma.mac = address.mac = drv_vport_mac(&context);
	memcpy(address.gid, own_gid, sizeof(own_gid));
	assert_int_equal(drv_vport_roce_set(drv, true), 0);
	assert_int_equal(drv_roce_addr_set(drv, &address), 0);
}

/* A pool of receives, each linked to the next one: segments of the key, a step apart. */
static void
create_pool(struct rogue *r, unsigned int log_stride, const struct rogue_buffers *buffers)
{
	const size_t bytes = 1ul << (LOG_POOL + log_stride);
	const uint64_t ring = hn_alloc(&r->nic.hn, bytes, ROGUE_PAGE);
	const struct drv_rmp pool = { .log_size = LOG_POOL,
				      .log_stride = log_stride,
				      .pd = r->nic.pd,
				      .dbrec = hn_alloc(&r->nic.hn, 64, 64),
				      .ring = drv_pages_of(ring, bytes) };

	assert_true((buffers->segments + 1) * sizeof(struct rnic_wqe_data) <= 1u << log_stride);
	for (uint32_t i = 0; i < 1u << LOG_POOL; i++) {
		struct rnic_wqe_next *next = hn_va(&r->nic.hn, ring + ((uint64_t)i << log_stride));
		struct rnic_wqe_data *data = (struct rnic_wqe_data *)(next + 1);

		next->next_wqe_index =
			rnic_cpu_to_be16((uint16_t)((i + 1) & ((1u << LOG_POOL) - 1)));
		for (unsigned int k = 0; k < buffers->segments; k++)
			data[k] = nic_data(buffers->bytes, buffers->key,
					   buffers->address + k * buffers->step);
	}
	r->rdma.pool_dbrec = pool.dbrec;
	assert_int_equal(drv_rmp_create(&r->nic.hn.drv, &pool, &r->rdma.pool), 0);
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
	const size_t bytes = (size_t)RNIC_WQEBB_BYTES << rdma->log_ring;

	return drv_qp_fill(in, &(struct drv_qp){ .pd = r->nic.pd,
						 .uar = r->nic.sq.uar,
						 .send_cqn = rdma->send_cq.number,
						 .receive_cqn = rdma->receive_cq.number,
						 .log_sq = rdma->log_ring,
						 .rmpn = rdma->pool,
						 .dbrec = rdma->dbrec,
						 .ring = drv_pages_of(ring_of(r, i), bytes) });
}

/* Refused receives are tried again for ever, after 0.64 ms each time. */
static uint32_t
make_change(struct rogue *r, uint32_t i, uint16_t opcode, void *in)
{
	struct drv_qp_attr attr = {
		.remote_qpn = r->rdma.qpns[i],
		.mtu = MTU,
		.send_psn = PSN,
		.receive_psn = PSN,
		.log_sra_max = 4,
		.log_rra_max = 4,
		.ack_timeout = 20,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.read = true,
		.write = true,
		.path = { .hop_limit = 64, .udp_sport = 0xc000, .mac = r->rdma.mac }
	};

	memcpy(attr.path.gid, own_gid, sizeof(own_gid));
	return drv_qp_modify_fill(in, opcode, r->rdma.qpns[i], 0, &attr);
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
