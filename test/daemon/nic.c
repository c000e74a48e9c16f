/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "driver/vport.h"
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
	struct rnic_flow_destination to[NIC_DESTINATIONS];
	struct drv_fte all = { .action = RNIC_FLOW_ACTION_FWD_DEST, .to = to, .count = count };
	const struct drv_table table = { 0 };
	struct drv *drv = &nic->hn.drv;

	for (uint32_t i = 0; i < count; i++)
		to[i] = drv_to_tir(tirns[i]);
	assert_int_equal(drv_table_create(drv, &table, &all.table), 0);
	assert_int_equal(
		drv_group_create(drv, &(struct drv_group){ .table = all.table }, &all.group), 0);
	assert_int_equal(drv_fte_set(drv, &all), 0);
	assert_int_equal(drv_root_set(drv, all.table), 0);
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
	assert_int_equal(drv_vport_promisc_set(&nic->hn.drv, true), 0);
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
	for (unsigned int i = 0; i < 1u << NIC_LOG_SIZE; i++)
		data[i] = nic_data(2048, mkey, nic->buffers);
	assert_int_equal(hn_modify_rq(hn, nic->rq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	nic_be_promiscuous(nic);
	nic_steer(nic, hn_create_tir(hn, nic->td, nic->rq.number), 1);
}

void
nic_post(struct nic *nic)
{
	nic->rq.producer += 1u << NIC_LOG_SIZE;
	nic_record_receives(&nic->hn, nic->rq.dbrec, nic->rq.producer);
}

void
nic_close(struct nic *nic)
{
	munmap(nic->uars, nic->uars_bytes);
	hn_stop(&nic->hn);
}

/* ---- WQEs, records and registers ---- */

struct rnic_wqe_data
nic_data(uint32_t bytes, uint32_t key, uint64_t address)
{
	return (struct rnic_wqe_data){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				       rnic_cpu_to_be64(address) };
}

static void
store(struct rnic_be32 *word, uint32_t value)
{
	__atomic_store_n(&word->raw, rnic_cpu_to_be32(value).raw, __ATOMIC_RELEASE);
}

void
nic_record_sends(const struct hn *hn, uint64_t dbrec, uint16_t blocks)
{
	store(&((struct rnic_wq_dbrec *)hn_va(hn, dbrec))->send_counter, blocks);
}

void
nic_record_receives(const struct hn *hn, uint64_t dbrec, uint16_t wqes)
{
	store(&((struct rnic_wq_dbrec *)hn_va(hn, dbrec))->receive_counter, wqes);
}

void
nic_record_taken(const struct hn *hn, const struct hn_cq *cq)
{
	store(&((struct rnic_cq_dbrec *)hn_va(hn, cq->dbrec))->consumer_index, cq->consumer);
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

void *
nic_wqe(struct nic *nic, unsigned int blocks, uint32_t segments)
{
	const uint32_t slot = nic->sq.producer & ((1u << NIC_LOG_SIZE) - 1);
	struct rnic_wqe_ctrl *ctrl =
		hn_va(&nic->hn, nic->sq.iova + slot * (uint64_t)RNIC_WQEBB_BYTES);

	memset(ctrl, 0, (size_t)blocks * RNIC_WQEBB_BYTES);
	ctrl->opmod_idx_opcode =
		rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, nic->sq.producer, RNIC_WQE_SEND));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(nic->sq.number, 2 + segments));
	ctrl->fm_ce_se = RNIC_WQE_CE_ALWAYS;
	return (uint8_t *)ctrl + 2ul * RNIC_WQE_DS_BYTES;
}

void
nic_give(struct nic *nic, unsigned int blocks)
{
	nic->sq.producer = (uint16_t)(nic->sq.producer + blocks);
	nic_record_sends(&nic->hn, nic->sq.dbrec, nic->sq.producer);
	nic_ring(nic);
}

void
nic_send(struct nic *nic)
{
	struct rnic_wqe_data *data = nic_wqe(nic, 1, 1);

	*data = nic_data(NIC_FRAME_BYTES, nic->mkey, nic->frame);
	nic_give(nic, 1);
}

bool
nic_sent(struct nic *nic)
{
	struct rnic_cqe cqe;

	for (unsigned int i = 0; i < NIC_WAITS; i++) {
		if (hn_cq_next(&nic->hn, &nic->cq, &cqe)) {
			nic_record_taken(&nic->hn, &nic->cq);
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

	store(&dbrec->arm, arm);
	__atomic_store_n(nic_register(nic, RNIC_UAR_CQ_ARM),
			 rnic_cpu_to_be64((uint64_t)arm << 32 | nic->cq.number).raw,
			 __ATOMIC_RELEASE);
}
