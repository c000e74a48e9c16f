/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "nic.h"
#include "prm/flow.h"
#include "prm/wqe.h"

#define NIC_LOG_SIZE	   7
#define NIC_FRAME_BYTES	   256
#define NIC_WAITS	   6000
#define NIC_RECEIVER_BYTES 65536 /* without its completion queue */

static void
nic_map_uars(struct nic *nic)
{
	struct vfu_client_region region;
	void *address;

	assert_int_equal(vfu_client_region_info(client_of(nic->hn.dev), VFU_PCI_BAR0, &region), 0);
	assert_int_equal(region.nareas, 1);
	assert_int_equal(vfu_client_region_map(&region, 0, &address), 0);
	nic->uars = address;
	nic->uars_offset = region.areas[0].offset;
	nic->uars_bytes = region.areas[0].size;
	vfu_client_region_release(&region);
}

void
nic_open(struct nic *nic, const char *socket)
{
	struct softrnic_conf conf = { .name = socket };
	uint32_t first_uar, uar, tis;

	memset(nic, 0, sizeof(*nic));
	hn_start(&nic->hn, NULL, &conf);
	hn_bring_up(&nic->hn);
	nic_map_uars(nic);
	first_uar = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_UAR);
	uar = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_UAR);
	assert_true(uar * (uint64_t)RNIC_UAR_PAGE_BYTES >= nic->uars_offset);
	nic->pd = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_PD);
	nic->td = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	hn_create_eq(&nic->hn, &nic->eq, first_uar, 6, 1, NIC_VECTOR);
	hn_create_cq(&nic->hn, &nic->cq, uar, nic->eq.number, NIC_LOG_SIZE);
	tis = hn_create_tis(&nic->hn, nic->td);
	hn_create_sq(&nic->hn, &nic->sq, nic->pd, uar, nic->cq.number, tis, NIC_LOG_SIZE);
	assert_int_equal(
		hn_modify_sq(&nic->hn, nic->sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	nic->frame = hn_alloc(&nic->hn, NIC_FRAME_BYTES, 4096);
	memset(hn_va(&nic->hn, nic->frame), 0xff, 6);
	nic->mkey = hn_create_mkey(&nic->hn, nic->pd, nic->frame, NIC_FRAME_BYTES, true);
}

void
nic_steer_to(struct nic *nic, const uint32_t *tirns, uint32_t count)
{
	struct rnic_create_flow_table_in table = { 0 };
	struct rnic_create_flow_group_in group = { 0 };
	struct {
		struct rnic_set_fte_in in;
		struct rnic_flow_destination to[NIC_DESTINATIONS];
	} fte = { 0 };
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(&fte.in);
	struct rnic_set_flow_table_root_in root = { 0 };
	struct rnic_object_out out[4];
	uint32_t number;

	hn_head(&table, RNIC_CMD_CREATE_FLOW_TABLE, 0);
	hn_cmd_ok(&nic->hn, &table, sizeof(table), out, sizeof(out));
	number = rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);

	hn_head(&group, RNIC_CMD_CREATE_FLOW_GROUP, 0);
	rnic_create_flow_group_in_set(&group, RNIC_CREATE_FLOW_GROUP_IN_TABLE_ID, number);
	hn_cmd_ok(&nic->hn, &group, sizeof(group), out, sizeof(out));

	hn_head(&fte, RNIC_CMD_SET_FLOW_TABLE_ENTRY, 0);
	rnic_set_fte_in_set(&fte.in, RNIC_SET_FTE_IN_TABLE_ID, number);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID,
			      rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER));
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, RNIC_FLOW_ACTION_FWD_DEST);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, count);
	for (uint32_t i = 0; i < count; i++) {
		rnic_flow_destination_set(&fte.to[i], RNIC_FLOW_DESTINATION_TYPE,
					  RNIC_FLOW_DESTINATION_TIR);
		rnic_flow_destination_set(&fte.to[i], RNIC_FLOW_DESTINATION_ID, tirns[i]);
	}
	hn_cmd_ok(&nic->hn, &fte, (uint32_t)(sizeof(fte.in) + count * sizeof(fte.to[0])), out,
		  sizeof(out));

	hn_head(&root, RNIC_CMD_SET_FLOW_TABLE_ROOT, 0);
	rnic_set_flow_table_root_in_set(&root, RNIC_SET_FLOW_TABLE_ROOT_IN_TABLE_ID, number);
	hn_cmd_ok(&nic->hn, &root, sizeof(root), out, sizeof(out));
}

void
nic_steer(struct nic *nic, uint32_t tirn, uint32_t times)
{
	uint32_t tirns[NIC_DESTINATIONS];

	for (uint32_t i = 0; i < times; i++)
		tirns[i] = tirn;
	nic_steer_to(nic, tirns, times);
}

void
nic_be_promiscuous(struct nic *nic)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_PROMISC);
	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_PROMISC_ALL, 1);
	hn_cmd_ok(&nic->hn, &in, sizeof(in), &out, sizeof(out));
}

void
nic_make_receiver(struct nic *nic)
{
	struct hn *hn = &nic->hn;
	size_t at = (hn->used + 4095) & ~4095ul, end;
	struct rnic_wqe_data *data;
	uint32_t mkey;

	/* The completion queue is needed first, but is to lie last. */
	hn->used = at + NIC_RECEIVER_BYTES;
	hn_create_cq(hn, &nic->rq_cq, nic->sq.uar, nic->eq.number, NIC_LOG_SIZE);
	end = hn->used;
	hn->used = at;
	hn_create_rq(hn, &nic->rq, nic->pd, nic->rq_cq.number, 4, NIC_LOG_SIZE);
	nic->buffers = hn_alloc(hn, 4096, 4096);
	mkey = hn_create_mkey(hn, nic->pd, nic->buffers, 4096, true);
	assert_true(hn->used <= at + NIC_RECEIVER_BYTES);
	hn->used = end;
	data = hn_va(hn, nic->rq.iova);
	for (unsigned int i = 0; i < 1u << NIC_LOG_SIZE; i++) {
		data[i].byte_count = rnic_cpu_to_be32(2048);
		data[i].lkey = rnic_cpu_to_be32(mkey);
		data[i].address = rnic_cpu_to_be64(nic->buffers);
	}
	assert_int_equal(hn_modify_rq(hn, nic->rq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	nic_be_promiscuous(nic);
	nic_steer(nic, hn_create_tir(hn, nic->td, nic->rq.number), 1);
}

void
nic_post(struct nic *nic)
{
	struct rnic_wq_dbrec *dbrec = hn_va(&nic->hn, nic->rq.dbrec);

	nic->rq.producer += 1u << NIC_LOG_SIZE;
	__atomic_store_n(&dbrec->receive_counter.raw, rnic_cpu_to_be32(nic->rq.producer).raw,
			 __ATOMIC_RELEASE);
}

void
nic_close(struct nic *nic)
{
	munmap(nic->uars, nic->uars_bytes);
	hn_stop(&nic->hn);
}

static uint64_t *
nic_register(struct nic *nic, uint32_t offset)
{
	uint64_t page = nic->sq.uar * (uint64_t)RNIC_UAR_PAGE_BYTES - nic->uars_offset;

	return (uint64_t *)(void *)(nic->uars + page + offset);
}

void
nic_ring(struct nic *nic)
{
	uint64_t high = RNIC_WQE_CTRL_DW0(0, nic->sq.producer - 1, RNIC_WQE_SEND);
	uint64_t bell = high << 32 | RNIC_WQE_CTRL_DW1(nic->sq.number, 3);

	__atomic_store_n(nic_register(nic, RNIC_UAR_BLUEFLAME), rnic_cpu_to_be64(bell).raw,
			 __ATOMIC_RELEASE);
}

void
nic_send(struct nic *nic)
{
	uint32_t slot = nic->sq.producer & ((1u << NIC_LOG_SIZE) - 1);
	uint8_t *wqe = (uint8_t *)hn_va(&nic->hn, nic->sq.iova) + slot * 64ul;
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)wqe;
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)(wqe + 32);
	struct rnic_wq_dbrec *dbrec = hn_va(&nic->hn, nic->sq.dbrec);

	memset(wqe, 0, 64);
	ctrl->opmod_idx_opcode =
		rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, nic->sq.producer, RNIC_WQE_SEND));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(nic->sq.number, 3));
	ctrl->fm_ce_se = RNIC_WQE_CE_ALWAYS;
	data->byte_count = rnic_cpu_to_be32(NIC_FRAME_BYTES);
	data->lkey = rnic_cpu_to_be32(nic->mkey);
	data->address = rnic_cpu_to_be64(nic->frame);
	nic->sq.producer++;
	__atomic_store_n(&dbrec->send_counter.raw, rnic_cpu_to_be32(nic->sq.producer).raw,
			 __ATOMIC_RELEASE);
	nic_ring(nic);
}

bool
nic_sent(struct nic *nic)
{
	struct rnic_cq_dbrec *dbrec = hn_va(&nic->hn, nic->cq.dbrec);
	struct rnic_cqe cqe;

	for (unsigned int i = 0; i < NIC_WAITS; i++) {
		if (hn_cq_next(&nic->hn, &nic->cq, &cqe)) {
			__atomic_store_n(&dbrec->consumer_index.raw,
					 rnic_cpu_to_be32(nic->cq.consumer).raw, __ATOMIC_RELEASE);
			return RNIC_CQE_OPCODE(cqe.op_own) == RNIC_CQE_REQUESTER;
		}
		usleep(i < 200 ? 20 : 10000);
	}
	return false;
}

void
nic_arm(struct nic *nic)
{
	struct rnic_cq_dbrec *dbrec = hn_va(&nic->hn, nic->cq.dbrec);
	uint32_t arm = (nic->arm_sequence++ & 3) << 28 | (nic->cq.consumer & RNIC_CQ_INDEX_MASK);

	__atomic_store_n(&dbrec->arm.raw, rnic_cpu_to_be32(arm).raw, __ATOMIC_RELEASE);
	__atomic_store_n(nic_register(nic, RNIC_UAR_CQ_ARM),
			 rnic_cpu_to_be64((uint64_t)arm << 32 | nic->cq.number).raw,
			 __ATOMIC_RELEASE);
}
