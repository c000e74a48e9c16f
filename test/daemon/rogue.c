/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "rogue_parts.h"

#define RW	     (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)
#define PORT_EVENTS  (UINT64_C(1) << RNIC_EVENT_PORT_CHANGE)
#define SPARE_IOVA   UINT64_C(0x80000000) /* what comes and goes */
#define SQ_BLOCKS    128u		  /* of the nic's queue */
#define WQE_BLOCKS   16u
#define WQE_DS	     (2 + ROGUE_SEGMENTS)
#define RESULT_BYTES 16

/* ---- Commands ---- */

struct rnic_mkc *
rogue_create_mkey(struct rogue *r, void *in, unsigned int mode, bool writable, uint32_t octwords)
{
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(in);

	hn_head(in, RNIC_CMD_CREATE_MKEY, 0);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, writable);
	rnic_mkc_set(mkc, RNIC_MKC_RR, writable);
	rnic_mkc_set(mkc, RNIC_MKC_RW, writable);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, mode);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, ROGUE_VARIANT);
	rnic_mkc_set(mkc, RNIC_MKC_PD, r->nic.pd);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	return mkc;
}

static uint32_t
make_physical_key(struct rogue *r, uint32_t i, void *in)
{
	(void)i;
	rnic_mkc_set(rogue_create_mkey(r, in, RNIC_MKEY_PA, true, 0), RNIC_MKC_LENGTH64, 1);
	return sizeof(struct rnic_create_mkey_in);
}

uint32_t
rogue_make_destroy_mkey(struct rogue *r, uint32_t number, void *in)
{
	(void)r;
	hn_head(in, RNIC_CMD_DESTROY_MKEY, 0);
	rnic_object_in_set(in, RNIC_OBJECT_IN_NUMBER, number);
	return sizeof(struct rnic_object_in);
}

void
rogue_put(struct rogue *r, unsigned int slot, rogue_make_fn *make, uint32_t i)
{
	_Alignas(8) uint8_t in[ROGUE_IN_BYTES] = { 0 };
	uint32_t bytes = make(r, i, in);

	assert_true(bytes <= sizeof(in));
	hn_cmd_post(&r->nic.hn, slot, in, bytes, RESULT_BYTES);
}

void
rogue_ring(struct rogue *r, uint32_t slots)
{
	hn_ring(&r->nic.hn, slots);
	r->slots |= slots;
}

void
rogue_again(struct rogue *r, uint32_t slots)
{
	for (unsigned int slot = 0; slot < HN_SLOTS; slot++) {
		if ((slots >> slot & 1) != 0)
			__atomic_store_n(&hn_slot(&r->nic.hn, slot)->status_own,
					 RNIC_CMDQ_STATUS_OWN_HW, __ATOMIC_RELEASE);
	}
	rogue_ring(r, slots);
}

bool
rogue_answered(struct rogue *r, uint32_t slots)
{
	for (unsigned int slot = 0; slot < HN_SLOTS; slot++) {
		if ((slots >> slot & 1) != 0 &&
		    (__atomic_load_n(&hn_slot(&r->nic.hn, slot)->status_own, __ATOMIC_ACQUIRE) &
		     RNIC_CMDQ_STATUS_OWN_HW) != 0)
			return false;
	}
	r->slots &= ~slots;
	return true;
}

uint32_t
rogue_number(struct rogue *r, unsigned int slot)
{
	struct rnic_object_out out;

	assert_int_equal(hn_cmd_result(&r->nic.hn, slot, &out, sizeof(out)), RNIC_STATUS_OK);
	return rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
}

static void
wait_for_slots(struct rogue *r, uint32_t slots)
{
	for (unsigned int i = 0; i < 1000; i++) {
		if (rogue_answered(r, slots))
			return;
		softrnic_poll(r->nic.hn.poller);
	}
	fail_msg("commands are not answered");
}

void
rogue_commands(struct rogue *r, uint32_t count, rogue_make_fn *make, uint32_t *numbers)
{
	for (uint32_t i = 0, n; i < count; i += n) {
		n = count - i < HN_SLOTS ? count - i : HN_SLOTS;
		for (uint32_t slot = 0; slot < n; slot++)
			rogue_put(r, slot, make, i + slot);
		rogue_ring(r, UINT32_MAX >> (HN_SLOTS - n));
		wait_for_slots(r, UINT32_MAX >> (HN_SLOTS - n));
		for (uint32_t slot = 0; slot < n; slot++) {
			uint32_t number = rogue_number(r, slot);

			if (numbers != NULL)
				numbers[i + slot] = number;
		}
	}
}

/* ---- Life ---- */

void
rogue_open(struct rogue *r, const char *socket, bool many)
{
	memset(r, 0, sizeof(*r));
	r->socket = socket;
	r->many = many;
	r->fd = -1;
	nic_open(&r->nic, socket);
	r->open = true;
	r->tis = hn_create_tis(&r->nic.hn, r->nic.td);
	hn_create_eq(&r->nic.hn, &r->ports, r->nic.eq.uar, 6, PORT_EVENTS, NIC_VECTOR);
	rogue_commands(r, 1, make_physical_key, &r->physical);
	r->physical = r->physical << 8 | ROGUE_VARIANT;
}

void
rogue_close(struct rogue *r)
{
	if (r->open)
		nic_close(&r->nic);
	if (r->fd >= 0)
		close(r->fd);
	free(r->numbers);
	free(r->queues);
	free(r->rdma.qpns);
	memset(r, 0, sizeof(*r));
}

/* ---- Memory ---- */

void
rogue_memory(struct rogue *r, uint64_t bytes)
{
	r->fd = memfd_create("rogue", MFD_CLOEXEC);
	assert_true(r->fd >= 0 && ftruncate(r->fd, (off_t)bytes) == 0);
	assert_int_equal(
		vfu_client_dma_map(client_of(r->nic.hn.dev), ROGUE_IOVA, bytes, RW, r->fd, 0), 0);
	r->bytes = bytes;
}

void
rogue_change_map(struct rogue *r)
{
	struct vfu_client *client = client_of(r->nic.hn.dev);

	assert_int_equal(vfu_client_dma_map(client, SPARE_IOVA, ROGUE_PAGE, RW,
					    client_memory_fd(r->nic.hn.dev), 0),
			 0);
	assert_int_equal(vfu_client_dma_unmap(client, SPARE_IOVA, ROGUE_PAGE), 0);
}

/* ---- Frames ---- */

void
rogue_long_frames(struct rogue *r)
{
	struct {
		struct rnic_access_reg_in head;
		struct rnic_pmtu_reg reg;
	} in = { 0 }, out;
	struct rnic_modify_nic_vport_context_in vport = { 0 };
	struct rnic_cmd_out done;
	uint64_t mtu;

	hn_head(&in, RNIC_CMD_ACCESS_REG, RNIC_ACCESS_REG_READ);
	rnic_access_reg_in_set(&in.head, RNIC_ACCESS_REG_IN_REGISTER_ID, RNIC_REG_PMTU);
	rnic_pmtu_reg_set(&in.reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
	hn_cmd_ok(&r->nic.hn, &in, sizeof(in), &out, sizeof(out));
	mtu = rnic_pmtu_reg_get(&out.reg, RNIC_PMTU_REG_MAX_MTU);
	hn_head(&in, RNIC_CMD_ACCESS_REG, RNIC_ACCESS_REG_WRITE);
	rnic_pmtu_reg_set(&in.reg, RNIC_PMTU_REG_ADMIN_MTU, mtu);
	hn_cmd_ok(&r->nic.hn, &in, sizeof(in), &out, sizeof(out));

	hn_head(&vport, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&vport, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_MTU);
	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&vport),
				   RNIC_NIC_VPORT_CONTEXT_MTU, mtu);
	hn_cmd_ok(&r->nic.hn, &vport, sizeof(vport), &done, sizeof(done));
}

bool
rogue_send(struct rogue *r, uint32_t key, uint64_t address, uint64_t step, uint32_t bytes)
{
	struct hn_wq *sq = &r->nic.sq;
	uint8_t *wqe = (uint8_t *)hn_va(&r->nic.hn, sq->iova) +
		       (sq->producer & (SQ_BLOCKS - 1)) * RNIC_WQEBB_BYTES;
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)wqe;
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)(wqe + 2 * RNIC_WQE_DS_BYTES);
	struct rnic_wq_dbrec *dbrec = hn_va(&r->nic.hn, sq->dbrec);

	if (r->under_way == SQ_BLOCKS / WQE_BLOCKS)
		return false;
	memset(wqe, 0, WQE_BLOCKS * RNIC_WQEBB_BYTES);
	ctrl->opmod_idx_opcode =
		rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq->producer, RNIC_WQE_SEND));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq->number, WQE_DS));
	ctrl->fm_ce_se = RNIC_WQE_CE_ALWAYS;
	for (uint32_t i = 0; i < ROGUE_SEGMENTS; i++) {
		data[i].byte_count = rnic_cpu_to_be32(bytes);
		data[i].lkey = rnic_cpu_to_be32(key);
		data[i].address = rnic_cpu_to_be64(address + i * step);
	}
	sq->producer += WQE_BLOCKS;
	r->under_way++;
	__atomic_store_n(&dbrec->send_counter.raw, rnic_cpu_to_be32(sq->producer).raw,
			 __ATOMIC_RELEASE);
	nic_ring(&r->nic);
	return true;
}

void
rogue_reap(struct rogue *r)
{
	struct rnic_cq_dbrec *dbrec = hn_va(&r->nic.hn, r->nic.cq.dbrec);
	struct rnic_cqe cqe;

	while (r->under_way > 0 && hn_cq_next(&r->nic.hn, &r->nic.cq, &cqe)) {
		/* A WQE that fails is done soon. */
		assert_int_equal(RNIC_CQE_OPCODE(cqe.op_own), RNIC_CQE_REQUESTER);
		r->under_way--;
	}
	__atomic_store_n(&dbrec->consumer_index.raw, rnic_cpu_to_be32(r->nic.cq.consumer).raw,
			 __ATOMIC_RELEASE);
}

static unsigned int
log2_of(unsigned int n)
{
	return 31u - (unsigned int)__builtin_clz(n);
}

static void
post_buffers(struct rogue *r, uint32_t count)
{
	struct rnic_wq_dbrec *dbrec = hn_va(&r->nic.hn, r->nic.rq.dbrec);

	r->nic.rq.producer += count;
	__atomic_store_n(&dbrec->receive_counter.raw, rnic_cpu_to_be32(r->nic.rq.producer).raw,
			 __ATOMIC_RELEASE);
}

void
rogue_receive(struct rogue *r, const struct rogue_buffers *buffers)
{
	struct hn *hn = &r->nic.hn;
	const uint32_t key = buffers->key != 0 ? buffers->key : r->physical;
	struct rnic_wqe_data *data;

	hn_create_cq(hn, &r->nic.rq_cq, r->nic.sq.uar, r->nic.eq.number, buffers->log_size);
	hn_create_rq(hn, &r->nic.rq, r->nic.pd, r->nic.rq_cq.number, 4 + log2_of(buffers->segments),
		     buffers->log_size);
	data = hn_va(hn, r->nic.rq.iova);
	for (unsigned int i = 0; i < buffers->segments << buffers->log_size; i++) {
		data[i].byte_count = rnic_cpu_to_be32(buffers->bytes);
		data[i].lkey = rnic_cpu_to_be32(key);
		data[i].address = rnic_cpu_to_be64(buffers->address + i * buffers->step);
	}
	assert_int_equal(hn_modify_rq(hn, r->nic.rq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY),
			 0);
	nic_be_promiscuous(&r->nic);
	r->tir = hn_create_tir(hn, r->nic.td, r->nic.rq.number);
	if (buffers->times > 0)
		nic_steer(&r->nic, r->tir, buffers->times);
	post_buffers(r, 1u << buffers->log_size);
}

void
rogue_refill(struct rogue *r)
{
	struct rnic_cq_dbrec *dbrec = hn_va(&r->nic.hn, r->nic.rq_cq.dbrec);
	struct rnic_cqe cqe;
	uint32_t count = 0;

	while (hn_cq_next(&r->nic.hn, &r->nic.rq_cq, &cqe)) {
		assert_int_equal(RNIC_CQE_OPCODE(cqe.op_own), RNIC_CQE_RESPONDER_SEND);
		count++;
	}
	__atomic_store_n(&dbrec->consumer_index.raw, rnic_cpu_to_be32(r->nic.rq_cq.consumer).raw,
			 __ATOMIC_RELEASE);
	post_buffers(r, count);
}
