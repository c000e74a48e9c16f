/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "nic.h"
#include "prm/wqe.h"

#define NIC_LOG_SIZE	7
#define NIC_FRAME_BYTES 256
#define NIC_WAITS	2000

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
	uint32_t pd, td, first_uar, uar, tis;

	memset(nic, 0, sizeof(*nic));
	hn_start(&nic->hn, NULL, &conf);
	hn_bring_up(&nic->hn);
	nic_map_uars(nic);
	first_uar = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_UAR);
	uar = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_UAR);
	assert_true(uar * (uint64_t)RNIC_UAR_PAGE_BYTES >= nic->uars_offset);
	pd = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_PD);
	td = hn_alloc_object(&nic->hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	hn_create_eq(&nic->hn, &nic->eq, first_uar, 6, 1, NIC_VECTOR);
	hn_create_cq(&nic->hn, &nic->cq, uar, nic->eq.number, NIC_LOG_SIZE);
	tis = hn_create_tis(&nic->hn, td);
	hn_create_sq(&nic->hn, &nic->sq, pd, uar, nic->cq.number, tis, NIC_LOG_SIZE);
	assert_int_equal(
		hn_modify_sq(&nic->hn, nic->sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	nic->frame = hn_alloc(&nic->hn, NIC_FRAME_BYTES, 4096);
	memset(hn_va(&nic->hn, nic->frame), 0xff, 6);
	nic->mkey = hn_create_mkey(&nic->hn, pd, nic->frame, NIC_FRAME_BYTES, true);
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
