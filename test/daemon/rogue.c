/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "driver/reg.h"
#include "rogue_parts.h"

#define RW	     (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)
#define PORT_EVENTS  (UINT64_C(1) << RNIC_EVENT_PORT_CHANGE)
#define SPARE_IOVA   UINT64_C(0x80000000) /* what comes and goes */
#define SQ_BLOCKS    128u		  /* of the nic's queue */
#define WQE_BLOCKS   16u
#define RESULT_BYTES 16

/* ---- Commands ---- */

struct drv_mkey
rogue_mkey(const struct rogue *r, enum rnic_mkey_access_mode mode, bool writable)
{
	return (struct drv_mkey){ .mode = mode,
				  .access = DRV_LR | (writable ? DRV_LW | DRV_RR | DRV_RW : 0),
				  .pd = r->nic.pd,
				  .variant = ROGUE_VARIANT };
}

uint32_t
rogue_mkey_create(struct rogue *r, const struct drv_mkey *mkey)
{
	uint32_t key;

	assert_int_equal(drv_mkey_create(&r->nic.hn.drv, mkey, &key), 0);
	return key;
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
	struct drv_mkey all;

	memset(r, 0, sizeof(*r));
	r->socket = socket;
	r->many = many;
	r->fd = -1;
	nic_open(&r->nic, socket);
	r->open = true;
	r->tis = hn_create_tis(&r->nic.hn, r->nic.td);
	hn_create_eq(&r->nic.hn, &r->ports, r->nic.eq.uar, 6, PORT_EVENTS, NIC_VECTOR);
	all = rogue_mkey(r, RNIC_MKEY_PA, true);
	all.length64 = true;
	r->physical = rogue_mkey_create(r, &all);
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

/* ---- Doorbells ---- */

struct vfu_region_write
rogue_bell(const struct rogue *r, uint32_t first, uint32_t number)
{
	const uint64_t page = r->nic.sq.uar * (uint64_t)RNIC_UAR_PAGE_BYTES;
	const struct rnic_be64 bell =
		rnic_cpu_to_be64((uint64_t)first << 32 | RNIC_WQE_CTRL_DW1(number, 1));
	struct vfu_region_write write = {
		page + RNIC_UAR_BLUEFLAME, VFU_PCI_BAR0, sizeof(bell), { 0 }
	};

	memcpy(write.data, &bell, sizeof(bell));
	return write;
}

/* ---- Frames ---- */

void
rogue_long_frames(struct rogue *r)
{
	struct drv *drv = &r->nic.hn.drv;
	struct rnic_pmtu_reg reg = { 0 };

	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
	assert_int_equal(drv_reg_read(drv, RNIC_REG_PMTU, &reg, sizeof(reg)), 0);
	assert_int_equal(drv_mtu_set(drv, (uint16_t)rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_MAX_MTU)),
			 0);
}

bool
rogue_send(struct rogue *r, uint32_t key, uint64_t address, uint64_t step, uint32_t bytes)
{
	struct rnic_wqe_data *data;

	if (r->under_way == SQ_BLOCKS / WQE_BLOCKS)
		return false;
	data = nic_wqe(&r->nic, WQE_BLOCKS, ROGUE_SEGMENTS);
	for (uint32_t i = 0; i < ROGUE_SEGMENTS; i++)
		data[i] = nic_data(bytes, key, address + i * step);
	r->under_way++;
	nic_give(&r->nic, WQE_BLOCKS);
	return true;
}

uint32_t
rogue_take(struct rogue *r, struct hn_cq *cq, enum rnic_cqe_opcode opcode)
{
	struct rnic_cqe cqe;
	uint32_t count = 0;

	/* A WQE that fails is done soon. */
	for (; hn_cq_next(&r->nic.hn, cq, &cqe); count++)
		assert_int_equal(RNIC_CQE_OPCODE(cqe.op_own), opcode);
	nic_record_taken(&r->nic.hn, cq);
	return count;
}

void
rogue_reap(struct rogue *r)
{
	r->under_way -= rogue_take(r, &r->nic.cq, RNIC_CQE_REQUESTER);
}

static unsigned int
log2_of(unsigned int n)
{
	return 31u - (unsigned int)__builtin_clz(n);
}

static void
post_buffers(struct rogue *r, uint32_t count)
{
	r->nic.rq.producer = (uint16_t)(r->nic.rq.producer + count);
	nic_record_receives(&r->nic.hn, r->nic.rq.dbrec, r->nic.rq.producer);
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
	for (unsigned int i = 0; i < buffers->segments << buffers->log_size; i++)
		data[i] = nic_data(buffers->bytes, key, buffers->address + i * buffers->step);
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
	post_buffers(r, rogue_take(r, &r->nic.rq_cq, RNIC_CQE_RESPONDER_SEND));
}
