/* SPDX-License-Identifier: BSD-3-Clause */

/* What the driver may rely on with every access: registers, UAR pages, memory, interrupts, reset. */

#include "world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "../e2e/rdma.h"
#include "access/access.h"
#include "access/class.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/uar.h"
#include "fake_vfio.h"
#include "object/cq.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/cmdq.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "prm/queue.h"
#include "prm/uar.h"
#include "prm/wqe.h"

#define OPS   (world.access->ops)
#define READ  RNIC_ACCESS_READ
#define WRITE RNIC_ACCESS_WRITE

#define ISSI_BIT_BYTE (112 - 16 - 1) /* of QUERY_ISSI, in its mailbox */

static uint32_t
read32(uint64_t offset)
{
	return rnic_be32_to_cpu(OPS->read32(world.access, offset));
}

static void
nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

/* ---- Who it is ---- */

static void
the_function_says_who_it_is(void **state)
{
	const uint8_t revision = world.vfio ? 0x21 : 0; /* that of a software RNIC is 0 */
	struct rnic_pci_ids ids;

	(void)state;
	if (world.vfio)
		fake_vfio_set_revision(0, revision);
	world_reopen();
	ids = OPS->pci_ids(world.access);
	assert_int_equal(ids.vendor, RNIC_PCI_VENDOR);
	assert_int_equal(ids.device, 0x1017);
	assert_int_equal(ids.revision, revision);
}

static void
the_library_tells_who_the_function_is(void **state)
{
	const uint8_t revision = world.vfio ? 0x21 : 0;
	struct rdmapmd_context *context;
	struct rdmapmd_device_attr attr;
	struct rnic_dev *dev;

	(void)state;
	if (world.vfio)
		fake_vfio_set_revision(0, revision);
	dev = world_open_driver();
	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	assert_int_equal(rdmapmd_device_query(context, &attr), 0);
	assert_int_equal(attr.vendor_part_id, 0x1017);
	assert_int_equal(attr.hw_ver, revision);
	assert_int_equal(rdmapmd_context_close(context), 0);
	rnic_dev_close(dev);
}

/* ---- Registers ---- */

static void
registers_are_read_and_written(void **state)
{
	const uint64_t page = (uint64_t)(RNIC_FIRST_UAR + 3) * RNIC_UAR_PAGE_BYTES;
	uint32_t timer;

	(void)state;
	assert_int_not_equal(read32(0), 0);
	assert_int_not_equal(read32(0), UINT32_MAX);
	timer = read32(RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_LOW));
	nap();
	assert_int_not_equal(read32(RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_LOW)), timer);

	OPS->write32(world.access, page + 0x10, rnic_cpu_to_be32(0x01020304));
	assert_int_equal(read32(page + 0x10), 0x01020304);
	OPS->write64(world.access, page + 0x18, rnic_cpu_to_be64(UINT64_C(0x1112131421222324)));
	assert_int_equal(read32(page + 0x18), 0x11121314);
	assert_int_equal(read32(page + 0x1c), 0x21222324);
}

static void
outside_of_the_bar_there_is_nothing(void **state)
{
	const uint64_t outside[] = { world.access->bar_size, world.access->bar_size + 4096,
				     UINT32_MAX - 3, UINT64_MAX - 3 };
	size_t i;

	(void)state;
	assert_int_equal(read32(world.access->bar_size - 4), 0);
	for (i = 0; i < RTE_DIM(outside); i++) {
		OPS->write32(world.access, outside[i], RNIC_BE32(1));
		OPS->write64(world.access, outside[i], rnic_cpu_to_be64(1));
		assert_int_equal(read32(outside[i]), UINT32_MAX);
	}
	/* And it did no harm. */
	assert_int_not_equal(read32(0), UINT32_MAX);
	assert_false(atomic_load(&world.access->gone));
}

static void
uar_pages_are_memory(void **state)
{
	const uint32_t last = RNIC_FIRST_UAR + SOFTRNIC_UAR_PAGES - 1;
	const uint32_t pages[] = { RNIC_FIRST_UAR + 1, RNIC_FIRST_UAR + 2, last };
	volatile uint8_t *page;
	uint64_t offset, value;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(pages); i++) {
		page = OPS->uar(world.access, pages[i]);
		offset = (uint64_t)pages[i] * RNIC_UAR_PAGE_BYTES;
		assert_non_null((const void *)(uintptr_t)page);
		assert_int_equal((uintptr_t)page % RNIC_UAR_PAGE_BYTES, 0);
		/* Stores are seen in the registers, and the other way round. */
		value = rnic_cpu_to_be64(UINT64_C(0xa1a2a3a4b1b2b3b4) + i).raw;
		__atomic_store_n((volatile uint64_t *)(page + 0x18), value, __ATOMIC_RELEASE);
		assert_int_equal(read32(offset + 0x18), 0xa1a2a3a4);
		assert_int_equal(read32(offset + 0x1c), 0xb1b2b3b4 + i);
		OPS->write32(world.access, offset + RNIC_UAR_PAGE_BYTES - 4,
			     rnic_cpu_to_be32(0xc1c2c3c4));
		/* Writes are posted: a read is behind them. */
		(void)read32(offset);
		assert_int_equal(page[RNIC_UAR_PAGE_BYTES - 4], 0xc1);
	}
}

static void
the_first_uar_page_and_all_else_is_not(void **state)
{
	const uint32_t not [] = { 0,
				  1,
				  RNIC_FIRST_UAR - 1,
				  RNIC_FIRST_UAR,
				  RNIC_FIRST_UAR + SOFTRNIC_UAR_PAGES,
				  UINT32_MAX,
				  UINT32_MAX / RNIC_UAR_PAGE_BYTES + 1 };
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(not ); i++)
		assert_null((const void *)(uintptr_t)OPS->uar(world.access, not [i]));
}

/* ---- Memory ---- */

static void
what_is_mapped_is_counted_and_aligned(void **state)
{
	const size_t lengths[] = { 4096, 8192, 12288, 65536, 1u << 20, 5u << 20 };
	uint64_t iovas[RTE_DIM(lengths)], modulus;
	char *memory[RTE_DIM(lengths)];
	size_t i, total = 0;

	(void)state;
	for (i = 0; i < RTE_DIM(lengths); i++) {
		memory[i] = world_alloc(lengths[i]);
		iovas[i] = world_map(memory[i], lengths[i], READ | WRITE);
		total += lengths[i];
		assert_int_equal(world.access->maps, i + 1);
		assert_int_equal(world.access->mapped_bytes, total);
		modulus = UINT64_C(1) << (63 - __builtin_clzll(lengths[i]));
		assert_int_equal((iovas[i] - (uintptr_t)memory[i]) % modulus, 0);
		assert_true(iovas[i] != (uintptr_t)memory[i]);
	}
	for (i = 0; i < RTE_DIM(lengths); i++) {
		world_unmap(iovas[i], lengths[i]);
		rte_free(memory[i]);
	}
}

static void
wrong_maps_are_refused(void **state)
{
	char *memory = world_alloc(8192);
	uint64_t iova, other;

	(void)state;
	assert_int_equal(OPS->map(world.access, memory, 0, READ, &iova), -EINVAL);
	assert_int_equal(OPS->map(world.access, memory + 64, 4096, READ, &iova), -EINVAL);
	assert_int_equal(OPS->map(world.access, memory, 4095, READ, &iova), -EINVAL);
	assert_int_equal(world.access->maps, 0);

	iova = world_map(memory, 8192, READ);
	assert_int_equal(OPS->unmap(world.access, iova, 4096), -ENOENT);
	assert_int_equal(OPS->unmap(world.access, iova + 4096, 4096), -ENOENT);
	assert_int_equal(OPS->unmap(world.access, iova - 4096, 3 * 4096), -ENOENT);
	assert_int_equal(OPS->unmap(world.access, 0x1000, 4096), -ENOENT);
	assert_int_equal(world.access->maps, 1);
	/* The same memory twice, as two keys over one pool would have it. */
	other = world_map(memory + 4096, 4096, WRITE);
	world_unmap(iova, 8192);
	assert_int_equal(OPS->unmap(world.access, iova, 8192), -ENOENT);
	world_unmap(other, 4096);
	rte_free(memory);
}

/* The device is asked to read and to write where it may and where it may not. */
static void
the_device_reaches_what_is_mapped_and_no_more(void **state)
{
	const unsigned int rights[] = { READ, WRITE, READ | WRITE };
	const size_t bytes = 2 * RNIC_PAGE_BYTES;
	char *memory = world_alloc(bytes + RNIC_PAGE_BYTES), *output = world_alloc(RNIC_PAGE_BYTES);
	struct sender sender;
	uint64_t iova, out;
	size_t i;

	(void)state;
	sender_open(&sender);
	out = world_map(output, RNIC_PAGE_BYTES, READ | WRITE);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	sender_block(output);
	assert_int_equal(sender_ask(&sender, 0, out), RNIC_DELIVERY_OK);
	for (i = 0; i < RTE_DIM(rights); i++) {
		const bool read = rights[i] & READ, both = rights[i] == (READ | WRITE);
		size_t at;

		iova = world_map(memory, bytes, rights[i]);
		for (at = 0; at < bytes + RNIC_PAGE_BYTES; at += RNIC_CMDQ_BLOCK_ALIGN) {
			sender_block(memory + at);
			sender_block(output);
			assert_int_equal(sender_ask(&sender, iova + at, out),
					 read && at < bytes ? RNIC_DELIVERY_OK
							    : RNIC_DELIVERY_INPUT_POINTER_ERR);
			sender_block(memory + at);
			assert_int_equal(sender_ask(&sender, 0, iova + at),
					 both && at < bytes ? RNIC_DELIVERY_OK
							    : RNIC_DELIVERY_OUTPUT_POINTER_ERR);
		}
		assert_int_equal(sender_ask(&sender, iova - RNIC_CMDQ_BLOCK_ALIGN, out),
				 RNIC_DELIVERY_INPUT_POINTER_ERR);
		world_unmap(iova, bytes);
		sender_block(output);
		assert_int_equal(sender_ask(&sender, iova, out), RNIC_DELIVERY_INPUT_POINTER_ERR);
		sender_block(output);
		assert_int_equal(sender_ask(&sender, (uintptr_t)memory, out),
				 RNIC_DELIVERY_INPUT_POINTER_ERR);
	}
	world_unmap(out, RNIC_PAGE_BYTES);
	sender_close(&sender);
	rte_free(memory);
	rte_free(output);
}

/* Over the borders of EAL's pages, whatever their size. */
static void
long_maps_are_one_range_for_the_device(void **state)
{
	const size_t bytes = 5u << 20, step = (1u << 20) - RNIC_CMDQ_BLOCK_ALIGN;
	char *memory = world_alloc(bytes);
	struct sender sender;
	uint64_t iova;
	size_t at;

	(void)state;
	sender_open(&sender);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	iova = world_map(memory, bytes, READ | WRITE);
	for (at = 0; at < bytes; at += step) {
		sender_block(memory + at);
		assert_int_equal(sender_ask(&sender, 0, iova + at), RNIC_DELIVERY_OK);
		/* The answer has come to this memory: ISSI 1 is supported. */
		assert_int_not_equal(memory[at + ISSI_BIT_BYTE], 0);
	}
	world_unmap(iova, bytes);
	sender_close(&sender);
	rte_free(memory);
}

/* A mailbox in each of many maps, made and unmade in disorder. */
static void
many_maps_come_and_go(void **state)
{
	enum { MAPS = 400 };
	char *memory = world_alloc(MAPS * RNIC_PAGE_BYTES);
	static uint64_t iovas[MAPS];
	struct sender sender;
	unsigned int i, round;

	(void)state;
	sender_open(&sender);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	memset(iovas, 0, sizeof(iovas));
	srandom(7);
	for (round = 0; round < 4000; round++) {
		char *page;

		i = (unsigned int)random() % MAPS;
		page = memory + (size_t)i * RNIC_PAGE_BYTES;
		if (iovas[i] == 0) {
			assert_int_equal(OPS->map(world.access, page, RNIC_PAGE_BYTES, READ | WRITE,
						  &iovas[i]),
					 0);
			continue;
		}
		sender_block(page);
		if (round % 8 == 0)
			assert_int_equal(sender_ask(&sender, 0, iovas[i]), RNIC_DELIVERY_OK);
		world_unmap(iovas[i], RNIC_PAGE_BYTES);
		if (round % 8 == 0)
			assert_int_equal(sender_ask(&sender, 0, iovas[i]),
					 RNIC_DELIVERY_OUTPUT_POINTER_ERR);
		iovas[i] = 0;
	}
	for (i = 0; i < MAPS; i++)
		if (iovas[i] != 0)
			world_unmap(iovas[i], RNIC_PAGE_BYTES);
	sender_close(&sender);
	rte_free(memory);
}

/* ---- Interrupts and reset ---- */

static void
vectors_have_descriptors_of_their_own(void **state)
{
	unsigned int i, k;
	uint64_t count;

	(void)state;
	assert_true(world.access->irq_count >= 8);
	for (i = 0; i < world.access->irq_count; i++) {
		assert_true(OPS->irq_fd(world.access, i) >= 0);
		assert_int_equal(read(OPS->irq_fd(world.access, i), &count, sizeof(count)), -1);
		assert_int_equal(errno, EAGAIN);
		for (k = 0; k < i; k++)
			assert_int_not_equal(OPS->irq_fd(world.access, i),
					     OPS->irq_fd(world.access, k));
	}
	assert_int_equal(OPS->irq_fd(world.access, world.access->irq_count), -EINVAL);
	assert_int_equal(OPS->irq_fd(world.access, UINT32_MAX), -EINVAL);
}

static bool
readable(int fd, int timeout_ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, timeout_ms) == 1;
}

static void
a_vector_tells_of_its_event_queue_alone(void **state)
{
	const struct rnic_access_ops *ops;
	struct rnic_dev *dev;
	struct rnic_eq *eq;
	unsigned int vector;

	(void)state;
	dev = world_open_driver();
	ops = dev->access->ops;
	/* The driver itself reads those of 0 and 1. */
	for (vector = 2; vector < 8; vector += 3) {
		assert_int_equal(rnic_eq_create(dev, 5, UINT64_C(1) << RNIC_EVENT_PORT_CHANGE,
						vector, rnic_event_handle, &eq),
				 0);
		rnic_eq_arm(dev, eq);
		assert_false(readable(ops->irq_fd(dev->access, vector), 50));
		assert_int_equal(rnic_port_set_admin(dev, true), 0);
		assert_int_equal(rnic_port_set_admin(dev, false), 0);
		assert_true(readable(ops->irq_fd(dev->access, vector), 60000));
		assert_false(readable(ops->irq_fd(dev->access, vector + 1), 50));
		assert_true(rnic_eq_poll(dev, eq) > 0);
		rnic_eq_destroy(dev, eq);
	}
	rnic_dev_close(dev);
}

static uint32_t
arm_state(struct rnic_dev *dev, const struct rnic_cq *cq)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_cq_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, cq->cqn);
	assert_int_equal(
		rnic_cmd_exec(dev, RNIC_CMD_QUERY_CQ, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	return (uint32_t)rnic_cqc_get(rnic_query_cq_out_cqc(&out), RNIC_CQC_ST);
}

/* They share a register: where only the last doorbell is seen, the records tell of the others. */
static void
cqs_armed_in_a_row_are_all_armed(void **state)
{
	const uint32_t word = RNIC_CQ_ARM_SEQUENCE_FIRST << RNIC_CQ_ARM_SEQUENCE_SHIFT;
	struct rnic_cq cqs[4];
	struct rnic_dev *dev;
	struct rnic_eq *eq;
	unsigned int i;
	int round, tries;

	(void)state;
	dev = world_open_driver();
	assert_int_equal(rnic_eq_create(dev, 6, 0, 2, rnic_event_handle, &eq), 0);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < RTE_DIM(cqs); i++)
			assert_int_equal(rnic_cq_create(dev, 6, eq, &cqs[i]), 0);
		for (i = 0; i < RTE_DIM(cqs); i++)
			rnic_cq_arm(cqs[i].dbrec, rnic_uars_cq_register(dev), word, cqs[i].cqn);
		for (i = 0; i < RTE_DIM(cqs); i++) {
			for (tries = 0; tries < 60000; tries++) {
				if (arm_state(dev, &cqs[i]) == RNIC_ARM_STATE_ARMED)
					break;
				nap();
			}
			assert_int_equal(arm_state(dev, &cqs[i]), RNIC_ARM_STATE_ARMED);
			assert_int_equal(rnic_cq_destroy(dev, &cqs[i]), 0);
		}
	}
	rnic_eq_destroy(dev, eq);
	rnic_dev_close(dev);
}

/* ---- Completion vectors: of driver, library and device together ---- */

#define VECTORS_TRIED 6u

struct vector {
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	uint32_t eqn, told; /* its event queue, and how many entries that has had */
};

static uint32_t
event_queue_of(struct rnic_dev *dev, const struct rdmapmd_cq *cq)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_cq_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, cq->cqn);
	assert_int_equal(
		rnic_cmd_exec(dev, RNIC_CMD_QUERY_CQ, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	return (uint32_t)rnic_cqc_get(rnic_query_cq_out_cqc(&out), RNIC_CQC_C_EQN);
}

static uint32_t
of_event_queue(struct rnic_dev *dev, uint32_t eqn, enum rnic_eqc_field field)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_eq_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, eqn);
	assert_int_equal(
		rnic_cmd_exec(dev, RNIC_CMD_QUERY_EQ, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	return (uint32_t)rnic_eqc_get(rnic_query_eq_out_eqc(&out), field);
}

static void
vector_open(struct rdmapmd_context *context, struct rdmapmd_pd *pd, uint32_t number,
	    struct vector *vector)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 16, .comp_vector = number };

	assert_int_equal(rdmapmd_comp_channel_create(context, &vector->channel), 0);
	attr.channel = vector->channel;
	assert_int_equal(rdmapmd_cq_create(context, &attr, &vector->cq), 0);
	vector->qp = rdma_to_itself(pd, vector->cq);
}

/* Which of them heard: their channels, and their event queues as the device counts. */
static void
only_one_hears(struct rnic_dev *dev, struct vector *vectors, uint32_t count, uint32_t which)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	struct rdmapmd_cq *cq;
	uint32_t i, told;

	rdma_post(vectors[which].qp, &nop);
	assert_true(readable(vectors[which].channel->fd, 60000));
	assert_int_equal(rdmapmd_cq_event_get(vectors[which].channel, &cq), 0);
	assert_ptr_equal(cq, vectors[which].cq);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	(void)rdma_wait(cq);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
	for (i = 0; i < count; i++) {
		assert_false(readable(vectors[i].channel->fd, 0));
		told = of_event_queue(dev, vectors[i].eqn, RNIC_EQC_PRODUCER_COUNTER);
		assert_int_equal(told - vectors[i].told, i == which);
		vectors[i].told = told;
	}
}

static void
each_completion_vector_tells_of_its_own(void **state)
{
	const struct rdmapmd_cq_init_attr beyond = { .cqe = 16, .comp_vector = UINT32_MAX };
	struct vector vectors[VECTORS_TRIED];
	struct rdmapmd_device_attr attr;
	struct rdmapmd_context *context;
	uint32_t i, k, count, irqs;
	struct rdmapmd_cq *cq;
	struct rdmapmd_pd *pd;
	struct rnic_dev *dev;

	(void)state;
	OPS->close(world.access);
	world.access = NULL;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, world.devargs, SOCKET_ID_ANY, &dev), 0);
	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	assert_int_equal(rdmapmd_device_query(context, &attr), 0);
	/* One for the library, one for all else, and one for each of 16 receive queues. */
	irqs = dev->access->irq_count;
	assert_int_equal(attr.num_comp_vectors, irqs > 18 ? irqs - 17 : 1);
	assert_int_equal(rdmapmd_cq_create(context, &beyond, &cq), -EINVAL);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	count = RTE_MIN(attr.num_comp_vectors, VECTORS_TRIED);
	for (i = 0; i < count; i++) {
		vector_open(context, pd, i + 1 < count || i == 0 ? i : attr.num_comp_vectors - 1,
			    &vectors[i]);
		vectors[i].eqn = event_queue_of(dev, vectors[i].cq);
		for (k = 0; k < i; k++)
			assert_true(vectors[k].eqn != vectors[i].eqn &&
				    of_event_queue(dev, vectors[k].eqn, RNIC_EQC_INTR) !=
					    of_event_queue(dev, vectors[i].eqn, RNIC_EQC_INTR));
		vectors[i].told = of_event_queue(dev, vectors[i].eqn, RNIC_EQC_PRODUCER_COUNTER);
		assert_int_equal(rdmapmd_req_notify_cq(vectors[i].cq, false), 0);
	}
	for (i = 0; i < 3 * count; i++)
		only_one_hears(dev, vectors, count, i * 5 % count);
	assert_int_equal(rdmapmd_context_close(context), 0);
	rnic_dev_close(dev);
}

static void
reset_forgets_the_driver_but_not_the_host(void **state)
{
	char *output = world_alloc(RNIC_PAGE_BYTES);
	struct sender sender;
	uint64_t out;
	int round;

	(void)state;
	sender_open(&sender);
	out = world_map(output, RNIC_PAGE_BYTES, READ | WRITE);
	for (round = 0; round < 3; round++) {
		assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
		sender_block(output);
		assert_int_equal(sender_ask(&sender, 0, out), RNIC_DELIVERY_OK);
		assert_int_equal(OPS->reset(world.access), 0);
		/* The maps are there, the address of the queue is not. */
		assert_int_equal(world.access->maps, 2);
		sender.slot->status_own = RNIC_CMDQ_STATUS_OWN_HW;
		OPS->write32(world.access, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL),
			     RNIC_BE32(1));
		nap();
		assert_int_not_equal(read32(0), UINT32_MAX);
		assert_int_equal(sender.slot->status_own, RNIC_CMDQ_STATUS_OWN_HW);
		sender_announce(&sender);
	}
	world_unmap(out, RNIC_PAGE_BYTES);
	sender_close(&sender);
	rte_free(output);
}

static void
it_opens_again_and_again(void **state)
{
	struct unit_account before;
	int i;

	(void)state;
	unit_account_take(&before);
	for (i = 0; i < 20; i++) {
		world_reopen();
		assert_int_not_equal(read32(0), UINT32_MAX);
	}
	unit_account_assert_same(&before);
}

/* Whoever comes next finds a function that was never used. */
static void
nothing_stays_for_the_next_one(void **state)
{
	struct sender sender;

	(void)state;
	sender_open(&sender);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	sender_close(&sender);
	world_reopen();
	sender_open(&sender);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	sender_close(&sender);
}

static int
run(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		CASE(the_function_says_who_it_is),
		CASE(the_library_tells_who_the_function_is),
		CASE(registers_are_read_and_written),
		CASE(outside_of_the_bar_there_is_nothing),
		CASE(uar_pages_are_memory),
		CASE(the_first_uar_page_and_all_else_is_not),
		CASE(what_is_mapped_is_counted_and_aligned),
		CASE(wrong_maps_are_refused),
		CASE(the_device_reaches_what_is_mapped_and_no_more),
		CASE(long_maps_are_one_range_for_the_device),
		CASE(many_maps_come_and_go),
		CASE(vectors_have_descriptors_of_their_own),
		CASE(a_vector_tells_of_its_event_queue_alone),
		CASE(cqs_armed_in_a_row_are_all_armed),
		CASE(each_completion_vector_tells_of_its_own),
		CASE(reset_forgets_the_driver_but_not_the_host),
		CASE(it_opens_again_and_again),
		CASE(nothing_stays_for_the_next_one),
	};

	return cmocka_run_group_tests_name(world.vfio	  ? "vfio"
					   : world.remote ? "vfio_user"
							  : "direct",
					   tests, NULL, NULL);
}

/* direct | vfio | vfio_user SOFTRNICD, then EAL's arguments if not --no-huge */
int
main(int argc, char **argv)
{
	int skip = 1;

	world.vfio = argc > 1 && strcmp(argv[1], "vfio") == 0;
	world.remote = argc > 2 && strcmp(argv[1], "vfio_user") == 0;
	if (world.remote) {
		daemon_program = argv[2];
		skip = 2;
	}
	argv[skip] = argv[0];
	return unit_main(argc - skip, argv + skip, run);
}
