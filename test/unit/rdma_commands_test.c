/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What queue pairs and SRQs ask of a device: the bytes of their commands, at the offsets that the PRM has for them. And
 * what they do when it refuses.
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

#include "core/bfreg.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "rdma/gid.h"
#include "rdma/modify.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/qp.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma/srq.h"
#include "rdma/td.h"
#include "rdma_commands.h"

/* ---- Queue pairs ---- */

static void
test_create(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	commands_create_qp(world);
	/* 4 KiB of receive ring, then 4 KiB of send ring: two pages. */
	in = commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x18, "00001800 00000111 00393000 5a000077 00ffffff 00000000");
	rings_assert_bytes(in + 0x18 + 0x7c, "00000456");
	rings_assert_bytes(in + 0x18 + 0x9c, "00000456 00000006 54321040 00000000 00000000");
	rings_assert_bytes(in + 0x110, "00000001 23456000 00000001 23457000");
	assert_int_equal(world->qp.qp.qp_num, COMMANDS_NUMBER);
	assert_ptr_equal(world->qp.sq.wq.ring, (uint8_t *)world->qp.memory.mem.address + 4096);
	assert_ptr_equal(world->qp.rq.wq.ring, world->qp.memory.mem.address);
	assert_ptr_equal(rnic_rdma_qps_find(&world->rings->cq, COMMANDS_NUMBER), &world->qp);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_DESTROY_QP, 0x10) + 8, "00000123");
	assert_null(rnic_rdma_qps_find(&world->rings->cq, COMMANDS_NUMBER));
}

static void
test_a_queue_pair_of_an_srq(void **state)
{
	const struct rdmapmd_qp_sizing sends = { .sq = commands_sizing.sq };
	struct world *world = *state;
	const uint8_t *in;

	world->srq.srq.srqn = 0x999;
	world->qp.qp.srq = &world->srq.srq;
	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &sends), 0);
	in = commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 8);
	rings_assert_bytes(in + 0x18 + 8, "00003000");
	rings_assert_bytes(in + 0x18 + 0xac, "01000999");
	assert_null(world->qp.qp.post_recv);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

/* Named in the context, rung by posts, given back with the queue pair. */
static void
test_a_queue_pair_rings_the_register_of_its_thread_domain(void **state)
{
	static uint64_t room[64] __attribute__((aligned(512)));
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	struct rnic_bfreg reg = {
		.address = room, .half = 256, .kind = RNIC_BFREG_DYNAMIC, .uar = 0xabcdef
	};
	struct rnic_rdma_td td = { .bf = &reg };
	struct world *world = *state;

	world->qp.qp.td = &td.td;
	commands_create_qp(world);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8) + 0x18 + 0xc,
			   "5aabcdef");
	atomic_store(&world->qp.sq.open, 1);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 1);
	rings_assert_bytes(room, "00000000 00012301");
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 1);
	rings_assert_bytes(room + 32, "00000100 00012301");
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	assert_int_equal(commands_resources(), 0);
	/* Nor with one that could not be made. */
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 },
					     &commands_sizing),
			 -EINVAL);
	assert_int_equal(commands_resources(), 0);
}

static void
test_a_queue_pair_without_queues(void **state)
{
	const struct rdmapmd_qp_sizing none = { 0 };
	struct world *world = *state;
	const uint8_t *in;

	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &none), 0);
	in = commands_expect(0, RNIC_CMD_CREATE_QP, 0x110);
	rings_assert_bytes(in + 0x18 + 8, "00008000");
	rings_assert_bytes(in + 0x18 + 0xac, "03000000");
	/* What a device says of requests that it cannot have is not believed. */
	rings_complete_send(world->rings, 0);
	assert_int_equal(rings_poll(world->rings, &(struct rdmapmd_wc){ 0 }), -1);
	assert_int_equal(world->rings->cq.unmatched, 1);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_a_refused_create_leaves_nothing(void **state)
{
	struct world *world = *state;

	commands_refused_at = 1;
	assert_int_equal(rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 },
					     &commands_sizing),
			 -EINVAL);
	assert_int_equal(commands_count, 1);
	assert_int_equal(commands_resources(), 0);
}

static void
test_a_number_that_is_taken_is_given_back(void **state)
{
	struct world *world = *state;

	assert_int_equal(rnic_rdma_qps_add(&world->rings->cq, &world->rings->qp), 0);
	assert_int_equal(rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 },
					     &commands_sizing),
			 -EEXIST);
	commands_expect(1, RNIC_CMD_DESTROY_QP, 0x10);
	assert_int_equal(commands_resources(), 0);
}

/* ---- States ---- */

static const struct rdmapmd_qp_attr attributes = {
	.path_mtu = RDMAPMD_MTU_1024,
	.rq_psn = 0xaaaaaa,
	.sq_psn = 0xbbbbbb,
	.dest_qp_num = 0xcccccc,
	.qp_access_flags = RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ |
			   RDMAPMD_ACCESS_REMOTE_ATOMIC,
	.ah_attr = { .dgid = { { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 } },
		     .dmac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 },
		     .flow_label = 0x12345,
		     .sgid_index = 3,
		     .hop_limit = 64,
		     .traffic_class = 0x6a,
		     .sl = 5,
		     .port_num = 1 },
	.max_rd_atomic = 17, /* 2^n of them, not more */
	.max_dest_rd_atomic = 5,
	.min_rnr_timer = 12,
	.port_num = 1,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 6,
};

#define NEEDS_INIT \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS)
#define NEEDS_RTR                                                                       \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN | \
	 RDMAPMD_QP_RQ_PSN | RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER)
#define NEEDS_RTS                                                                              \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY | \
	 RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC)

static void
modify(struct world *world, unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, mask, from, to), 0);
}

static void
test_to_rts(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	commands_create_qp(world);
	assert_false(world->qp.rq.open);
	modify(world, NEEDS_INIT, RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT);
	in = commands_expect(1, RNIC_CMD_RST2INIT_QP, 0x110);
	rings_assert_bytes(in + 8, "00000123 00000000 00000000");
	rings_assert_bytes(in + 0x18, "00001800");
	/* Nothing to answer READs with yet: writes alone. */
	rings_assert_bytes(in + 0x18 + 0x90, "00004000");
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "00010000");
	assert_true(world->qp.rq.open && !world->qp.sq.open);

	modify(world, NEEDS_RTR, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR);
	in = commands_expect(2, RNIC_CMD_INIT2RTR_QP, 0x110);
	/* READs and atomics, now that there is room for 5 of them: 2^3. */
	rings_assert_bytes(in + 0x10, "00000006");
	rings_assert_bytes(in + 0x18 + 8, "7e000000");
	rings_assert_bytes(in + 0x18 + 0x14, "00cccccc");
	rings_assert_bytes(in + 0x18 + 0x18, "00000000 00000000 00030040 06a12345"
					     "fe800000 00000000 01020304 05060708"
					     "009a");
	assert_true(in[0x18 + 0x18 + 0x22] >= 0xc0);
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "50010211 22334455");
	rings_assert_bytes(in + 0x18 + 0x90, "0061e000 0caaaaaa");
	assert_true(world->qp.rq.open && !world->qp.sq.open);

	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	in = commands_expect(3, RNIC_CMD_RTR2RTS_QP, 0x110);
	rings_assert_bytes(in + 0x10, "00000000");
	rings_assert_bytes(in + 0x18 + 0x18 + 8, "70000000");
	rings_assert_bytes(in + 0x18 + 0x70, "8087c000");
	rings_assert_bytes(in + 0x18 + 0x78, "00bbbbbb");
	assert_true(world->qp.rq.open && world->qp.sq.open);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	commands_expect(4, RNIC_CMD_2RST_QP, 0x10);
	commands_expect(5, RNIC_CMD_DESTROY_QP, 0x10);
}

static void
test_each_change_has_its_command(void **state)
{
	static const struct {
		enum rdmapmd_qp_state from, to;
		unsigned int mask;
		enum rnic_cmd_opcode opcode;
		uint32_t optional;
	} kinds[] = {
		{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, NEEDS_INIT, RNIC_CMD_INIT2INIT_QP, 0x1001e },
		{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, RDMAPMD_QP_STATE | RDMAPMD_QP_MIN_RNR_TIMER,
		  RNIC_CMD_RTS2RTS_QP, 0x40 },
		{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, RDMAPMD_QP_STATE, RNIC_CMD_RTS2SQD_QP, 0 },
		{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD,
		  RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
			  RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_MAX_QP_RD_ATOMIC |
			  RDMAPMD_QP_MAX_DEST_RD_ATOMIC,
		  RNIC_CMD_SQD2SQD_QP, 0x17386 },
		{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, RDMAPMD_QP_STATE | RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_SQD_RTS_QP, 0xe },
	};
	struct world *world = *state;
	unsigned int i;
	uint8_t in[4];

	commands_create_qp(world);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		modify(world, kinds[i].mask, kinds[i].from, kinds[i].to);
		memcpy(in, commands_expect(1 + i, kinds[i].opcode, 0x110) + 0x10, sizeof(in));
		assert_int_equal(in[0] << 24 | in[1] << 16 | in[2] << 8 | in[3], kinds[i].optional);
	}
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTS, RDMAPMD_QPS_ERR);
	commands_expect(commands_count - 1, RNIC_CMD_2ERR_QP, 0x10);
	assert_true(world->qp.sq.open && world->qp.rq.open);
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, RDMAPMD_QP_STATE,
					     RDMAPMD_QPS_RTR, RDMAPMD_QPS_SQD),
			 -EINVAL);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_to_reset_forgets_everything(void **state)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	struct world *world = *state;
	struct rdmapmd_wc wc;

	commands_create_qp(world);
	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 1);
	rings_complete_send(world->rings, 0);
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTS, RDMAPMD_QPS_RESET);
	commands_expect(2, RNIC_CMD_2RST_QP, 0x10);
	assert_int_equal(rings_poll(world->rings, &wc), -1);
	assert_int_equal(rnic_rdma_qp_outstanding(&world->qp.qp), 0);
	assert_int_equal(commands_record, 0);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 0);
	assert_int_equal(world->qp.qp.post_send_error, -EPERM);
	/* In RESET already: one command is enough. */
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	assert_int_equal(commands_count, 4);
}

static void
test_a_refused_change_changes_nothing(void **state)
{
	const struct rdmapmd_send_wr nop = { .wr_id = 7,
					     .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	struct world *world = *state;
	struct rdmapmd_wc wc;

	commands_create_qp(world);
	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 1);
	commands_refused_at = commands_count + 1;
	rings_complete_send(world->rings, 0);
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, RDMAPMD_QP_STATE,
					     RDMAPMD_QPS_RTS, RDMAPMD_QPS_RESET),
			 -EINVAL);
	assert_true(world->qp.sq.open);
	/* What has completed is still to be had. */
	assert_int_equal(rings_poll(world->rings, &wc), 7);
	/* Gone all the same, whatever the device says. */
	commands_refused_at = commands_count + 2;
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), -EINVAL);
}

static void
test_query(void **state)
{
	static const struct {
		uint8_t device;
		enum rdmapmd_qp_state state;
		bool draining;
	} kinds[] = {
		{ 0, RDMAPMD_QPS_RESET, false }, { 1, RDMAPMD_QPS_INIT, false },
		{ 2, RDMAPMD_QPS_RTR, false },	 { 3, RDMAPMD_QPS_RTS, false },
		{ 5, RDMAPMD_QPS_SQD, false },	 { 7, RDMAPMD_QPS_SQD, true },
		{ 6, RDMAPMD_QPS_ERR, false },
	};
	struct world *world = *state;
	struct rdmapmd_qp_attr attr;
	unsigned int i;

	commands_create_qp(world);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		attr = attributes;
		commands_answer[0x18] = (uint8_t)(kinds[i].device << 4);
		commands_answer[0x18 + 0x7b] = 0x11;
		commands_answer[0x18 + 0x97] = 0x22;
		assert_int_equal(rnic_rdma_qp_query(&world->qp.qp, &attr), 0);
		rings_assert_bytes(commands_expect(1 + i, RNIC_CMD_QUERY_QP, 0x10) + 8, "00000123");
		assert_int_equal(attr.qp_state, kinds[i].state);
		assert_int_equal(attr.sq_draining, kinds[i].draining);
		assert_int_equal(attr.sq_psn, kinds[i].device > 1 ? 0x11 : 0xbbbbbb);
		assert_int_equal(attr.rq_psn, kinds[i].device > 1 ? 0x22 : 0xaaaaaa);
	}
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

/* ---- The path's address ---- */

static void
test_a_path_keeps_its_address(void **state)
{
	struct world *world = *state;

	commands_create_qp(world);
	assert_int_equal(rnic_gid_del(&world->dev, 2), 0);
	/* Refused: no path, and nothing kept. */
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, NEEDS_RTR,
					     RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR),
			 -EINVAL);
	modify(world, NEEDS_RTR, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR);
	assert_int_equal(rnic_gid_del(&world->dev, 3), -EBUSY);
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RESET);
	assert_int_equal(rnic_gid_del(&world->dev, 3), 0);
	/* Taken away since the library looked. */
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, NEEDS_RTR,
					     RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR),
			 -EINVAL);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_another_path_lets_the_first_address_go(void **state)
{
	struct rdmapmd_qp_attr other = attributes;
	struct world *world = *state;

	other.ah_attr.sgid_index = 1;
	commands_create_qp(world);
	modify(world, NEEDS_RTR, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR);
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &other,
					     RDMAPMD_QP_STATE | RDMAPMD_QP_AV, RDMAPMD_QPS_SQD,
					     RDMAPMD_QPS_SQD),
			 0);
	assert_int_equal(rnic_gid_del(&world->dev, 3), 0);
	assert_int_equal(rnic_gid_del(&world->dev, 1), -EBUSY);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	assert_int_equal(rnic_gid_del(&world->dev, 1), 0);
}

static void
test_a_lost_device_is_not_asked_to_flush(void **state)
{
	struct world *world = *state;
	unsigned int before;

	commands_create_qp(world);
	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	before = commands_count;
	atomic_store(&world->dev.dead, true);
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTS, RDMAPMD_QPS_ERR);
	assert_int_equal(commands_count, before);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

/* ---- SRQs ---- */

static void
test_srq_commands(void **state)
{
	const struct rdmapmd_srq_sizing srq_sizing = {
		.wqe_size = 64, .wqe_count = 128, .max_post = 127, .max_gs = 3
	};
	struct world *world = *state;
	const uint8_t *in;
	uint32_t limit;

	assert_int_equal(rnic_rdma_srq_create(&world->srq.srq, &srq_sizing), 0);
	in = commands_expect(0, RNIC_CMD_CREATE_RMP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x20, "00100000 00000000");
	rings_assert_bytes(in + 0x50, "00000000 00000000 00000111 00000000 00000006 54321040"
				      "00000000 00000000 00060007");
	rings_assert_bytes(in + 0x110, "00000001 23456000 00000001 23457000");
	assert_int_equal(world->srq.srq.srqn, COMMANDS_NUMBER);
	assert_int_equal(rnic_rdma_srq_arm(&world->srq.srq, 17), 0);
	in = commands_expect(1, RNIC_CMD_MODIFY_RMP, 0x110);
	rings_assert_bytes(in + 8, "10000123 00000000 00000000 00000001");
	rings_assert_bytes(in + 0x20, "00100000");
	rings_assert_bytes(in + 0x54, "00000011");
	commands_answer[0x57] = 9;
	assert_int_equal(rnic_rdma_srq_query(&world->srq.srq, &limit), 0);
	assert_int_equal(limit, 9);
	assert_int_equal(rnic_rdma_srq_destroy(&world->srq.srq), 0);
	rings_assert_bytes(commands_expect(3, RNIC_CMD_DESTROY_RMP, 0x10) + 8, "00000123");
	commands_refused_at = 5;
	assert_int_equal(rnic_rdma_srq_create(&world->srq.srq, &srq_sizing), -EINVAL);
}

/* ---- Beside a poll ---- */

static sem_t in_poll;
static atomic_bool gone, gone_in_poll;

/* Between two entries. Whoever takes the queue pair away has time enough to do so, if it does not wait for us. */
static void
let_it_go(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	unsigned int ms;

	if (rings_dump_count != 2)
		return;
	sem_post(&in_poll);
	for (ms = 0; ms < 200 && !atomic_load(&gone); ms++)
		nanosleep(&nap, NULL);
	atomic_store(&gone_in_poll, atomic_load(&gone));
}

struct taker {
	struct rnic_rdma_qp *qp;
	int (*take)(struct rnic_rdma_qp *qp);
};

static int
destroy(struct rnic_rdma_qp *qp)
{
	return rnic_rdma_qp_destroy(&qp->qp);
}

static void *
take_away(void *arg)
{
	struct taker *taker = arg;
	int rc;

	sem_wait(&in_poll);
	rc = taker->take(taker->qp);
	atomic_store(&gone, true);
	return (void *)(intptr_t)rc;
}

/* A poll knows of a queue pair: it is not freed, and its requests are not forgotten, before the poll has ended. */
static void
test_a_queue_pair_does_not_go_within_a_poll(void **state)
{
	int (*const takes[])(struct rnic_rdma_qp *) = { rnic_rdma_qp_reset, destroy };
	struct world *world = *state;
	struct rnic_cqe *cqe;
	struct taker taker;
	struct rdmapmd_wc wc[4];
	const rdmapmd_poll_cq_t dump = rnic_rdma_polls[false][RNIC_RDMA_POLL_DUMP];
	pthread_t thread;
	unsigned int i, k;
	void *rc;

	sem_init(&in_poll, 0, 0);
	commands_create_qp(world);
	for (i = 0; i < RTE_DIM(takes); i++) {
		atomic_store(&gone, false);
		atomic_store(&gone_in_poll, false);
		rings_dump_count = 0;
		rings_in_poll = let_it_go;
		for (k = 0; k < 3; k++) {
			cqe = rings_complete(world->rings, RNIC_CQE_REQUESTER, COMMANDS_NUMBER, 0);
			cqe->byte_count = rnic_cpu_to_be32(k);
		}
		taker = (struct taker){ &world->qp, takes[i] };
		assert_int_equal(pthread_create(&thread, NULL, take_away, &taker), 0);
		assert_int_equal(dump(&world->rings->cq.cq, wc, RTE_DIM(wc)), 0);
		rings_in_poll = NULL;
		pthread_join(thread, &rc);
		assert_null(rc);
		assert_false(atomic_load(&gone_in_poll));
	}
	sem_destroy(&in_poll);
	assert_null(rnic_rdma_qps_find(&world->rings->cq, COMMANDS_NUMBER));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, commands_setup, commands_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_create),
	TEST(test_a_queue_pair_of_an_srq),
	TEST(test_a_queue_pair_rings_the_register_of_its_thread_domain),
	TEST(test_a_queue_pair_without_queues),
	TEST(test_a_refused_create_leaves_nothing),
	TEST(test_a_number_that_is_taken_is_given_back),
	TEST(test_to_rts),
	TEST(test_each_change_has_its_command),
	TEST(test_to_reset_forgets_everything),
	TEST(test_a_refused_change_changes_nothing),
	TEST(test_query),
	TEST(test_a_path_keeps_its_address),
	TEST(test_another_path_lets_the_first_address_go),
	TEST(test_a_lost_device_is_not_asked_to_flush),
	TEST(test_srq_commands),
	TEST(test_a_queue_pair_does_not_go_within_a_poll),
};

PLAIN_MAIN("rdma_commands", tests)
