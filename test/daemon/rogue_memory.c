/* SPDX-License-Identifier: BSD-3-Clause */

/* Rogues whose memory is long, or far away, or not there. */
#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../counts.h"
#include "client.h"
#include "rogue_parts.h"

/* ---- Lists of keys ---- */

#define LIST	     (1u << 16)
#define LISTS	     16u    /* of a depth, each 1 MiB */
#define FORTH	     40503u /* i * FORTH is in no order that memory likes */
#define BACK	     57303u /* i * FORTH * FORTH * FORTH * BACK is i again */
#define DEPTH	     4
#define SEGMENT	     67	  /* 61 of them, 4 deep, are nearly as many entries as a WQE may have */
#define SEGMENT_STEP 1000 /* over all of the list */
#define PARTS	     32	  /* of a buffer */
#define PART	     128

_Static_assert((uint16_t)((uint64_t)FORTH *FORTH *FORTH *BACK) == 1,
	       "one undoes what the others do");

uint32_t
rogue_list_key(struct rogue *r, const uint32_t *others, uint32_t count, uint64_t address,
	       uint32_t order)
{
	struct drv_mkey list = rogue_mkey(r, RNIC_MKEY_KLM, true);
	struct rnic_klm *entries = calloc(LIST, sizeof(*entries));
	uint32_t key;

	assert_non_null(entries);
	for (uint32_t i = 0; i < LIST; i++)
		entries[i] =
			(struct rnic_klm){ rnic_cpu_to_be32(1), rnic_cpu_to_be32(others[i % count]),
					   rnic_cpu_to_be64(address + (uint16_t)(i * order)) };
	list.length = list.count = LIST;
	list.klms = entries;
	key = rogue_mkey_create(r, &list);
	free(entries);
	return key;
}

/*
 * What lists put out of order the last one puts back: bytes that are neighbours at the top are so at the bottom. Those between
 * are of another list each, and far from each other there, and all of them together are larger than the caches.
 */
void
rogue_build_lists(struct rogue *r)
{
	uint64_t address = hn_alloc(&r->nic.hn, LIST, ROGUE_PAGE);
	const uint32_t lists = r->many ? 1 : LISTS;
	uint32_t keys[LISTS] = { r->physical }, below[LISTS], count = 1;

	rogue_long_frames(r);
	for (unsigned int depth = 0; depth < DEPTH; depth++, address = 0) {
		memcpy(below, keys, sizeof(below));
		for (uint32_t i = 0; i < (depth == DEPTH - 1 ? 1 : lists); i++)
			keys[i] =
				rogue_list_key(r, below, count, address, depth == 0 ? BACK : FORTH);
		count = lists;
	}
	r->key = keys[0];
}

void
rogue_build_lists_both_ways(struct rogue *r)
{
	struct rogue_buffers buffers = {
		.log_size = 7, .segments = PARTS, .bytes = PART, .times = NIC_DESTINATIONS
	};

	rogue_build_lists(r);
	buffers.key = r->key;
	rogue_receive(r, &buffers);
}

void
rogue_work_lists(struct rogue *r)
{
	rogue_reap(r);
	if (r->tir != 0)
		rogue_refill(r);
	while (rogue_send(r, r->key, 0, SEGMENT_STEP, SEGMENT))
		;
}

/* ---- What is long ---- */

#define LONG_PAGES	  (1u << 20)
#define LONG_STEP	  (UINT64_C(1) << 26) /* from segment to segment, in all of it */
#define LONG_BYTES	  64
#define LONG_LOG_CQ	  22
#define LONG_CQE	  128u
#define LONG_OUTPUT_BYTES ((1u << 23) + 0x110)
#define SMALL_MAPS	  512u /* of a page of the key */
#define SMALL_LOG	  21
#define SMALL_PAGES	  (1u << 16)	      /* which all are the same one */
#define SMALL_STEP	  (UINT64_C(1) << 30) /* from segment to segment, in half of it */
#define SLOT_MAKE	  0
#define SLOT_DESTROY	  1

enum long_step {
	LONG_MADE,
	LONG_USED,
	LONG_GOES,
	LONG_COMES,
};

/*
 * All pages are neighbours: only the last one tells whether the key is one piece of memory. It is made in SLOT_MAKE, where it
 * can be made again.
 */
void
rogue_build_long_key(struct rogue *r)
{
	struct drv_mkey all = rogue_mkey(r, RNIC_MKEY_MTT, false);

	rogue_memory(r, LONG_PAGES * (uint64_t)ROGUE_PAGE);
	all.start = ROGUE_IOVA;
	all.length = r->bytes;
	all.log_page_size = 12;
	all.pages = drv_pages_of(ROGUE_IOVA, r->bytes);
	r->key = rogue_mkey_create(r, &all);
}

void
rogue_work_long_key(struct rogue *r)
{
	rogue_reap(r);
	if (r->under_way > 0 || !rogue_answered(r, r->slots))
		return;
	switch ((enum long_step)(r->step++ % (LONG_COMES + 1))) {
	case LONG_MADE:
		if (r->step > LONG_COMES)
			r->key = rogue_number(r, SLOT_MAKE) << 8 | ROGUE_VARIANT;
		rogue_send(r, r->key, ROGUE_IOVA, LONG_STEP, LONG_BYTES);
		break;
	case LONG_USED:
		rogue_change_map(r);
		rogue_send(r, r->key, ROGUE_IOVA, LONG_STEP, LONG_BYTES);
		break;
	case LONG_GOES:
		rogue_put(r, SLOT_DESTROY, rogue_make_destroy_mkey, r->key >> 8);
		rogue_ring(r, 1u << SLOT_DESTROY);
		break;
	case LONG_COMES:
		rogue_number(r, SLOT_DESTROY);
		rogue_again(r, 1u << SLOT_MAKE);
		break;
	}
}

void
rogue_build_small_maps(struct rogue *r)
{
	struct drv_mkey chunks = rogue_mkey(r, RNIC_MKEY_MTT, false);

	r->bytes = SMALL_MAPS * ROGUE_PAGE;
	r->fd = memfd_create("rogue", MFD_CLOEXEC);
	assert_true(r->fd >= 0 && ftruncate(r->fd, (off_t)r->bytes) == 0);
	for (uint64_t at = 0; at < r->bytes; at += ROGUE_PAGE)
		assert_int_equal(
			vfu_client_dma_map(client_of(r->nic.hn.dev), ROGUE_IOVA + at, ROGUE_PAGE,
					   VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE, r->fd, at),
			0);
	chunks.length = (uint64_t)SMALL_PAGES << SMALL_LOG;
	chunks.log_page_size = SMALL_LOG;
	chunks.pages = (struct drv_pages){ .iova = ROGUE_IOVA, .count = SMALL_PAGES };
	r->key = rogue_mkey_create(r, &chunks);
}

void
rogue_work_small_maps(struct rogue *r)
{
	rogue_reap(r);
	if (r->under_way > 0)
		return;
	rogue_change_map(r);
	rogue_send(r, r->key, 0, SMALL_STEP, LONG_BYTES);
}

static uint32_t
make_destroy_cq(struct rogue *r, uint32_t number, void *in)
{
	(void)r;
	hn_head(in, RNIC_CMD_DESTROY_CQ, 0);
	rnic_object_in_set(in, RNIC_OBJECT_IN_NUMBER, number);
	return sizeof(struct rnic_object_in);
}

/* All of it in one page, again and again; made in SLOT_MAKE. */
static uint32_t
make_long_cq(struct rogue *r, uint64_t page, unsigned int log_size)
{
	const uint32_t pages = (uint32_t)(((uint64_t)LONG_CQE << log_size) / ROGUE_PAGE);
	const struct drv_cq cq = { .log_size = log_size,
				   .uar = r->nic.sq.uar,
				   .eqn = r->nic.eq.number,
				   .big = true,
				   .dbrec = hn_alloc(&r->nic.hn, 64, 64),
				   .ring = { .iova = page, .count = pages } };
	uint32_t cqn;

	assert_int_equal(drv_cq_create(&r->nic.hn.drv, &cq, &cqn), 0);
	return cqn;
}

/* One of them stays, for completions. */
void
rogue_build_long_ring(struct rogue *r)
{
	const uint64_t page = hn_alloc(&r->nic.hn, ROGUE_PAGE, ROGUE_PAGE);
	const uint32_t cqn = make_long_cq(r, page, LONG_LOG_CQ);

	hn_create_sq(&r->nic.hn, &r->sq, r->nic.pd, r->nic.sq.uar, cqn, r->tis, 6);
	assert_int_equal(
		hn_modify_sq(&r->nic.hn, r->sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	r->cqn = make_long_cq(r, page, LONG_LOG_CQ);
}

/* A WQE that does nothing but complete. */
static void
post_nop(struct rogue *r)
{
	struct hn *hn = &r->nic.hn;
	struct rnic_wqe_ctrl *ctrl = (struct rnic_wqe_ctrl *)((uint8_t *)hn_va(hn, r->sq.iova) +
							      (r->sq.producer & 63) * 64u);
	const uint64_t high = RNIC_WQE_CTRL_DW0(0, r->sq.producer, RNIC_WQE_NOP);
	const uint32_t low = RNIC_WQE_CTRL_DW1(r->sq.number, 1);

	*ctrl = (struct rnic_wqe_ctrl){ .opmod_idx_opcode = rnic_cpu_to_be32((uint32_t)high),
					.qpn_ds = rnic_cpu_to_be32(low),
					.fm_ce_se = RNIC_WQE_CE_ALWAYS };
	r->sq.producer++;
	nic_record_sends(hn, r->sq.dbrec, r->sq.producer);
	hn_write64(hn, r->sq.uar * (uint64_t)RNIC_UAR_PAGE_BYTES + RNIC_UAR_BLUEFLAME,
		   high << 32 | low);
}

void
rogue_work_long_ring(struct rogue *r)
{
	rogue_change_map(r);
	post_nop(r);
	if (!rogue_answered(r, r->slots))
		return;
	if (r->step++ % 2 == 0) {
		if (r->step > 1)
			r->cqn = rogue_number(r, SLOT_MAKE);
		rogue_put(r, SLOT_DESTROY, make_destroy_cq, r->cqn);
		rogue_ring(r, 1u << SLOT_DESTROY);
	} else {
		rogue_number(r, SLOT_DESTROY);
		rogue_again(r, 1u << SLOT_MAKE);
	}
}

/* ---- Many rings ---- */

#define MANY_LOG 7 /* receives of each queue */

/* There is room for so many of the longest rings that half of these are half as long. */
static uint32_t
queue_of_many(struct rogue *r, uint32_t i, uint64_t page, uint64_t buffer)
{
	const uint32_t cqn = make_long_cq(r, page, LONG_LOG_CQ - (i % 2));
	struct hn_wq *rq = &r->queues[i];
	struct hn *hn = &r->nic.hn;
	struct rnic_wqe_data *data;

	hn_create_rq(hn, rq, r->nic.pd, cqn, 4, MANY_LOG);
	data = hn_va(hn, rq->iova);
	for (unsigned int k = 0; k < 1u << MANY_LOG; k++)
		data[k] = nic_data(ROGUE_BUFFER, r->physical, buffer);
	assert_int_equal(hn_modify_rq(hn, rq->number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	return hn_create_tir(hn, r->nic.td, rq->number);
}

/* All completion queues lie in one page, which nobody reads; one record is that of all receive queues. */
void
rogue_build_many_rings(struct rogue *r)
{
	const uint64_t page = hn_alloc(&r->nic.hn, ROGUE_PAGE, ROGUE_PAGE);
	const uint64_t buffer = hn_alloc(&r->nic.hn, ROGUE_BUFFER, ROGUE_PAGE);
	uint32_t tirns[NIC_DESTINATIONS];

	r->count = NIC_DESTINATIONS;
	r->queues = calloc(r->count, sizeof(r->queues[0]));
	assert_non_null(r->queues);
	for (uint32_t i = 0; i < r->count; i++)
		tirns[i] = queue_of_many(r, i, page, buffer);
	nic_be_promiscuous(&r->nic);
	nic_steer_to(&r->nic, tirns, r->count);
}

/* As many receives as there may be frames under way. */
void
rogue_work_many_rings(struct rogue *r)
{
	rogue_reap(r);
	if (r->under_way > 0)
		return;
	rogue_change_map(r);
	for (uint32_t i = 0; i < r->count; i++) {
		r->queues[i].producer += 2;
		nic_record_receives(&r->nic.hn, r->queues[i].dbrec, r->queues[i].producer);
	}
	for (; r->under_way < 2; r->under_way++)
		nic_send(&r->nic);
}

void
rogue_build_long_output(struct rogue *r)
{
	struct rnic_cmd_in in = { 0 };

	hn_head(&in, RNIC_CMD_NOP, 0);
	hn_cmd_post(&r->nic.hn, SLOT_MAKE, &in, sizeof(in), LONG_OUTPUT_BYTES);
	rogue_ring(r, 1u << SLOT_MAKE);
}

void
rogue_work_long_output(struct rogue *r)
{
	if (!rogue_answered(r, 1u << SLOT_MAKE))
		return;
	rogue_number(r, SLOT_MAKE);
	rogue_again(r, 1u << SLOT_MAKE);
}

/* ---- What is touched ---- */

#define TWO_PAGES	  (2ul * ROGUE_PAGE)
#define OVER_TWO	  160 /* bytes of a segment, half of them in each of two pages */
#define INTO_TWO	  320
#define STRIDE		  (ROGUE_SEGMENTS * TWO_PAGES) /* of a WQE */
#define TOUCHED		  (UINT64_C(32) << 20)	       /* either way */
#define MUCH		  (UINT64_C(256) << 20)
#define MUCH_OF_MANY	  (UINT64_C(32) << 20)
#define MUCH_FULL	  (UINT64_C(4) << 30)
#define MUCH_FULL_OF_MANY (UINT64_C(512) << 20)

/* So many bytes to both sides of the border of two pages. */
static uint64_t
over(uint64_t at, uint32_t bytes)
{
	return ROGUE_IOVA + at + ROGUE_PAGE - bytes / 2;
}

void
rogue_build_first_touches(struct rogue *r)
{
	struct rogue_buffers buffers = { .log_size = 7,
					 .segments = PARTS,
					 .address = over(TOUCHED, INTO_TWO),
					 .step = TWO_PAGES,
					 .bytes = INTO_TWO,
					 .times = 1 };

	rogue_long_frames(r);
	rogue_memory(r, 2 * TOUCHED);
	rogue_receive(r, &buffers);
}

void
rogue_work_first_touches(struct rogue *r)
{
	rogue_reap(r);
	rogue_refill(r);
	if (r->at + STRIDE > TOUCHED) {
		assert_int_equal(fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
					   (off_t)r->bytes),
				 0);
		r->at = 0;
	}
	while (r->at + STRIDE <= TOUCHED &&
	       rogue_send(r, r->physical, over(r->at, OVER_TWO), TWO_PAGES, OVER_TWO))
		r->at += STRIDE;
}

static void
send_and_wait(struct rogue *r, uint64_t at)
{
	for (unsigned int i = 0;
	     !rogue_send(r, r->physical, over(at, OVER_TWO), TWO_PAGES, OVER_TWO); i++) {
		assert_true(i < 60000);
		usleep(i < 200 ? 20 : 1000);
		rogue_reap(r);
		rogue_refill(r);
	}
}

/*
 * As the owner of memory does. What the device's own first touches take is another row's; of so much memory there is always
 * some that the host of a virtual machine has yet to find, which takes milliseconds.
 */
static void
touch_first(const struct rogue *r)
{
	void *memory = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

	assert_true(memory != MAP_FAILED);
	assert_int_equal(madvise(memory, r->bytes, MADV_POPULATE_WRITE), 0);
	munmap(memory, r->bytes);
}

/* All of it is touched by the device. */
void
rogue_build_much(struct rogue *r)
{
	const uint64_t bytes = r->many	    ? (full_run() ? MUCH_FULL_OF_MANY : MUCH_OF_MANY)
			       : full_run() ? MUCH_FULL
					    : MUCH;
	struct rogue_buffers buffers = {
		.log_size = 6, .segments = 1, .bytes = ROGUE_BUFFER, .times = 1
	};

	buffers.address = hn_alloc(&r->nic.hn, ROGUE_BUFFER, ROGUE_PAGE);
	rogue_long_frames(r);
	rogue_memory(r, bytes);
	touch_first(r);
	rogue_receive(r, &buffers);
	for (r->at = 0; r->at + STRIDE <= bytes; r->at += STRIDE)
		send_and_wait(r, r->at);
	send_and_wait(r, bytes - STRIDE);
	for (unsigned int i = 0; r->under_way > 0; i++) {
		assert_true(i < 60000);
		usleep(i < 200 ? 20 : 1000);
		rogue_reap(r);
	}
}

void
rogue_work_unmap(struct rogue *r)
{
	if (!r->done)
		assert_int_equal(
			vfu_client_dma_unmap(client_of(r->nic.hn.dev), ROGUE_IOVA, r->bytes), 0);
	r->done = true;
}

/* The daemon is the last to have the memory: it is freed where it is unmapped. */
void
rogue_work_leave(struct rogue *r)
{
	if (r->done)
		return;
	close(r->fd);
	r->fd = -1;
	nic_close(&r->nic);
	r->open = false;
	r->done = true;
}

/* ---- What vanishes ---- */

/* The device has something to read in any case; and whoever is disconnected already cannot ring any more. */
static void
end_by_vanishing(struct rogue *r)
{
	const struct rogue again = { .socket = r->socket, .many = r->many, .fd = -1 };
	struct rnic_be32 bit = rnic_cpu_to_be32(1);
	struct vfu_client *client = client_of(r->nic.hn.dev);

	vfu_client_region_write(client, VFU_PCI_BAR0, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL),
				&bit, sizeof(bit));
	client_wait_for_end(client);
	rogue_close(r);
	*r = again;
}

void
rogue_work_truncation(struct rogue *r)
{
	rogue_open(r, r->socket, r->many);
	nic_make_receiver(&r->nic);
	nic_post(&r->nic);
	for (unsigned int i = 0; i < 64; i++)
		nic_send(&r->nic);
	assert_int_equal(ftruncate(client_memory_fd(r->nic.hn.dev), 0), 0);
	end_by_vanishing(r);
}

void
rogue_work_truncation_of_much(struct rogue *r)
{
	rogue_open(r, r->socket, r->many);
	rogue_build_much(r);
	assert_int_equal(ftruncate(r->fd, (off_t)(r->bytes - ROGUE_PAGE)), 0);
	send_and_wait(r, r->bytes - STRIDE);
	end_by_vanishing(r);
}

/* ---- What comes from outside ---- */

#define FLOOD_LOG    10
#define FLOOD_FRAMES 4096

void
rogue_build_flood(struct rogue *r)
{
	struct rogue_buffers buffers = { .log_size = FLOOD_LOG,
					 .segments = 1,
					 .bytes = ROGUE_BUFFER,
					 .times = NIC_DESTINATIONS };

	buffers.address = hn_alloc(&r->nic.hn, ROGUE_BUFFER, ROGUE_PAGE);
	rogue_receive(r, &buffers);
}

void
rogue_work_flood(struct rogue *r)
{
	rogue_refill(r);
	r->done = r->nic.rq_cq.consumer >= FLOOD_FRAMES;
}
