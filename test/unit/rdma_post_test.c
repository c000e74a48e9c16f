/* SPDX-License-Identifier: BSD-3-Clause */

/* Send bursts alone: bytes of WQEs as the PRM has them, rings that are full or wrap, everything that is refused. */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "core/bfreg.h"
#include "prm/cqe.h"
#include "prm/wqe.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/post_recv.h"
#include "rdma/rdma.h"
#include "rdma_rings.h"

static const struct rdmapmd_sge some = { 0x1122334455667788, 0x100, 0xaabbccdd };

static struct rdmapmd_send_wr
request(enum rdmapmd_wr_opcode opcode, unsigned int flags)
{
	return (struct rdmapmd_send_wr){ .wr_id = 7,
					 .sg_list = &some,
					 .num_sge = 1,
					 .opcode = (uint8_t)opcode,
					 .send_flags = (uint8_t)flags,
					 .imm_data = RTE_BE32(0xcafef00d),
					 .wr.rdma = { 0x0102030405060708, 0x99887766 } };
}

static void
test_write(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_RDMA_WRITE, RDMAPMD_SEND_SIGNALED);

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000008 00012303 00000008 00000000"
					 "01020304 05060708 99887766 00000000"
					 "00000100 aabbccdd 11223344 55667788"
					 "a5a5a5a5");
	rings_assert_bytes(&rings->dbrec, "00000000 00000001");
	rings_assert_bytes(rings->bf, "00000008 00012303 00000000");
}

static void
test_write_with_immediate(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr =
		request(RDMAPMD_WR_RDMA_WRITE_WITH_IMM, RDMAPMD_SEND_SOLICITED);

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000009 00012303 00000002 cafef00d"
					 "01020304 05060708 99887766 00000000");
}

static void
test_send(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, RDMAPMD_SEND_FENCE),
					      request(RDMAPMD_WR_SEND_WITH_IMM, 0) };

	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->sq[0], "0000000a 00012302 00000040 00000000"
					 "00000100 aabbccdd 11223344 55667788");
	rings_assert_bytes(rings->sq[1], "0000010b 00012302 00000000 cafef00d"
					 "00000100 aabbccdd 11223344 55667788");
}

static void
test_read(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_RDMA_READ, RDMAPMD_SEND_SIGNALED);

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000010 00012303 00000008 00000000"
					 "01020304 05060708 99887766 00000000"
					 "00000100 aabbccdd 11223344 55667788");
}

static void
test_atomics(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge result = { 0x1122334455667788, 8, 0xaabbccdd };
	struct rdmapmd_send_wr wr[2] = { request(RDMAPMD_WR_ATOMIC_CMP_AND_SWP, 0),
					 request(RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 0) };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		wr[i].sg_list = &result;
		wr[i].wr.atomic.remote_addr = 0x0102030405060708;
		wr[i].wr.atomic.compare_add = 0x1111111122222222;
		wr[i].wr.atomic.swap = 0x3333333344444444;
		wr[i].wr.atomic.rkey = 0x99887766;
	}
	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->sq[0], "00000011 00012304 00000000 00000000"
					 "01020304 05060708 99887766 00000000"
					 "33333333 44444444 11111111 22222222"
					 "00000008 aabbccdd 11223344 55667788");
	rings_assert_bytes(rings->sq[1], "00000112 00012304 00000000 00000000"
					 "01020304 05060708 99887766 00000000"
					 "11111111 22222222 00000000 00000000"
					 "00000008 aabbccdd 11223344 55667788");
}

static void
test_nop(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_NOP,
					    .send_flags = RDMAPMD_SEND_SIGNALED };

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000000 00012301 00000008 00000000 a5a5a5a5");
}

static void
test_every_request_is_signaled_where_the_queue_pair_says_so(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SOLICITED);

	rnic_rdma_kinds_init(rings->kinds, true);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	assert_int_equal(rings->sq[0][0x0b], 0x0a);
}

/* ---- Several segments, inline data ---- */

static void
test_segments_run_on_behind_the_end_of_the_ring(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_sge sges[RINGS_MAX_GS];
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, 0);
	unsigned int i;

	for (i = 0; i < RTE_DIM(sges); i++)
		sges[i] = (struct rdmapmd_sge){ 0x1000 + i, i == 4 ? 0 : 1 + i, i };
	wr.sg_list = sges;
	wr.num_sge = RTE_DIM(sges);
	rings_start_at(rings, (1 << RINGS_LOG_SQ) - 1, 0);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	/* 8 of 9: the empty one would mean 2 GiB. */
	rings_assert_bytes(rings->sq[(1 << RINGS_LOG_SQ) - 1],
			   "00000f0a 00012309 00000000 00000000"
			   "00000001 00000000 00000000 00001000"
			   "00000002 00000001 00000000 00001001"
			   "00000003 00000002 00000000 00001002");
	rings_assert_bytes(rings->sq[0], "00000004 00000003 00000000 00001003"
					 "00000006 00000005 00000000 00001005"
					 "00000007 00000006 00000000 00001006"
					 "00000008 00000007 00000000 00001007");
	rings_assert_bytes(rings->sq[1], "00000009 00000008 00000000 00001008 a5a5a5a5");
	rings_assert_bytes(&rings->dbrec, "00000000 00000012");
}

static void
test_inline_data(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { (uintptr_t) "ABCDEFGH", 8, 0 },
					    { (uintptr_t) "ijklmnop", 5, 0 } };
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE);

	wr.sg_list = sges;
	wr.num_sge = 2;
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	/* 4 + 13 bytes are two units. */
	rings_assert_bytes(rings->sq[0], "0000000a 00012303 00000000 00000000"
					 "8000000d 41424344 45464748 696a6b6c 6d");
}

static void
test_inline_data_runs_on_behind_the_end_of_the_ring(void **state)
{
	struct rings *rings = *state;
	uint8_t data[RINGS_MAX_INLINE];
	const struct rdmapmd_sge sge = { (uintptr_t)data, sizeof(data), 0 };
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_RDMA_WRITE, RDMAPMD_SEND_INLINE);
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	wr.sg_list = &sge;
	rings_start_at(rings, (1 << RINGS_LOG_SQ) - 1, 0);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[(1 << RINGS_LOG_SQ) - 1], "00000f08 0001230b");
	rings_assert_bytes(rings->sq[(1 << RINGS_LOG_SQ) - 1] + 32, "8000008c");
	assert_memory_equal(rings->sq[(1 << RINGS_LOG_SQ) - 1] + 36, data, 28);
	assert_memory_equal(rings->sq, data + 28, sizeof(data) - 28);
	assert_int_equal(rings->sq[1][sizeof(data) - 28 - RNIC_WQEBB_BYTES], 0xa5);
	rings_assert_bytes(&rings->dbrec, "00000000 00000012");
}

static void
test_an_empty_message_has_no_segment(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE),
					request(RDMAPMD_WR_RDMA_WRITE, 0) };

	wr[0].num_sge = wr[1].num_sge = 0;
	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->sq[0], "0000000a 00012301");
	rings_assert_bytes(rings->sq[1], "00000108 00012302");
}

/* ---- Counters, doorbells ---- */

static void
test_the_wqe_counter_wraps(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED) };
	struct rdmapmd_wc wc;

	rings_start_at(rings, 0xffff, 0);
	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->sq[0xf], "00ffff0a");
	rings_assert_bytes(rings->sq[0], "0000000a");
	rings_assert_bytes(&rings->dbrec, "00000000 00000001");
	rings_complete_send(rings, 0);
	assert_int_equal(rings_poll(rings, &wc), 7);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), rings->qp.rq.head - 0xffff);
}

static void
test_one_doorbell_for_a_burst(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_RDMA_READ, 0) };

	assert_int_equal(rings_post(rings, wr, 3), 3);
	/* The last WQE's first words in the first half, nothing in the second; those are used in turn. */
	rings_assert_bytes(rings->bf, "00000210 00012303 00000000");
	rings_assert_bytes(rings->bf + RINGS_BF_HALF, "00000000 00000000");
	assert_int_equal(rings_post(rings, wr, 1), 1);
	rings_assert_bytes(rings->bf, "00000210 00012303");
	rings_assert_bytes(rings->bf + RINGS_BF_HALF, "0000030a 00012302 00000000");
}

static void *
post_one(void *of)
{
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, 0);

	return (void *)(uintptr_t)rings_post(of, &wr, 1);
}

/* Who has the lock is waited for: however long the thread takes to get there, the register is as it was. */
static void
test_a_shared_register_is_rung_under_its_lock(void **state)
{
	struct rings *rings = *state;
	uint64_t before[2], now[2];
	pthread_t thread;
	void *posted;

	rings->bf_register.kind = RNIC_BFREG_SHARED;
	rte_spinlock_init(&rings->bf_register.lock);
	rte_spinlock_lock(&rings->bf_register.lock);
	memcpy(before, rings->bf, sizeof(before));
	assert_int_equal(pthread_create(&thread, NULL, post_one, rings), 0);
	usleep(20000);
	memcpy(now, rings->bf, sizeof(now));
	rte_spinlock_unlock(&rings->bf_register.lock);
	assert_int_equal(pthread_join(thread, &posted), 0);
	assert_memory_equal(now, before, sizeof(now));
	assert_int_equal((uintptr_t)posted, 1);
	rings_assert_bytes(rings->bf, "0000000a 00012302");
	assert_false(rte_spinlock_is_locked(&rings->bf_register.lock));
}

static void
test_a_single_wqe_goes_with_the_ring_where_that_is_allowed(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_SEND, 0) };

	rings->bf_register.blueflame = true;
	assert_int_equal(rings_post(rings, wr, 1), 1);
	assert_memory_equal(rings->bf, rings->sq[0], RNIC_WQEBB_BYTES);
	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->bf + RINGS_BF_HALF, "0000020a 00012302 00000000");
}

static void
test_dumps(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[RINGS_MAX_GS] = {
		{ 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 3 }, { 4, 4, 4 }, { 5, 5, 5 }
	};
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0), request(RDMAPMD_WR_SEND, 0),
					request(RDMAPMD_WR_SEND, 0) };
	struct rdmapmd_wc wc;

	wr[0].sg_list = sges;
	wr[0].num_sge = 5;
	rings_start_at(rings, 0xffff, 7);
	assert_int_equal(rnic_rdma_post_send_dump(&rings->qp.qp, wr, 3), 3);
	/* Each WQE once, the first one of two WQEBBs. */
	assert_int_equal(rings_dump_count, 3);
	assert_int_equal(rings_dumped_kind, RNIC_WQE_OF_MESSAGES);
	assert_int_equal(rings_dumped[0], 0xffff);
	assert_int_equal(rings_dumped[1], 1);
	assert_int_equal(rings_dumped[2], 2);
	rings_complete_send(rings, 2);
	assert_int_equal(rnic_rdma_polls[false][RNIC_RDMA_POLL_DUMP](&rings->cq.cq, &wc, 1), 1);
	assert_int_equal(rings_dump_count, 4);
	assert_int_equal(rings_dumped[3], 7);
}

static void
test_nothing_is_rung_for_nothing(void **state)
{
	struct rings *rings = *state;

	assert_int_equal(rings_post(rings, NULL, 0), 0);
	rings_assert_bytes(rings->bf, "00000000 00000000");
	rings_assert_bytes(&rings->dbrec, "00000000 00000000");
}

/* ---- What is not taken ---- */

static void
test_a_full_ring(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[RINGS_MAX_POST + 2];
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wr); i++) {
		wr[i] = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED);
		wr[i].wr_id = i;
	}
	assert_int_equal(rings_post(rings, wr, RTE_DIM(wr)), RINGS_MAX_POST);
	assert_int_equal(rings->qp.qp.post_send_error, -ENOMEM);
	assert_int_equal(rings_post(rings, wr, 1), 0);
	assert_int_equal(rings->qp.qp.post_send_error, -ENOMEM);
	rings_complete_send(rings, 1);
	assert_int_equal(rings_poll(rings, &wc), 1);
	assert_int_equal(rings_post(rings, wr, RTE_DIM(wr)), 2);
}

static void
test_requests_that_are_refused(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge eight = { 0x1000, 8, 1 }, nine = { 0x1000, 9, 1 };
	const struct rdmapmd_sge long_sges[] = { { 0, RNIC_RDMA_MAX_MESSAGE, 1 }, { 0, 1, 1 } };
	const struct rdmapmd_sge wrapping[] = { { 0, UINT32_MAX, 1 }, { 0, 2, 1 } };
	const struct rdmapmd_sge inlined = { 0, RINGS_MAX_INLINE + 1, 1 };
	const struct rdmapmd_sge inlined_wrap[] = { { 0, 1, 1 }, { 0, UINT32_MAX, 1 } };
	const struct rdmapmd_sge many[RINGS_MAX_GS + 1] = { { 0 } };
	const struct {
		uint8_t opcode, flags;
		uint16_t num_sge;
		const struct rdmapmd_sge *sges;
	} bad[] = {
		{ RDMAPMD_WR_NOP + 1, 0, 1, &eight },
		{ 0xff, 0, 1, &eight },
		{ RDMAPMD_WR_SEND, 0x10, 1, &eight },
		{ RDMAPMD_WR_SEND, 0x80, 1, &eight },
		{ RDMAPMD_WR_SEND, 0, RINGS_MAX_GS + 1, many },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, RINGS_MAX_GS + 1, many },
		{ RDMAPMD_WR_SEND, 0, 2, long_sges },
		{ RDMAPMD_WR_RDMA_WRITE, 0, 2, wrapping },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 1, &inlined },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 2, inlined_wrap },
		{ RDMAPMD_WR_RDMA_READ, RDMAPMD_SEND_INLINE, 1, &eight },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, RDMAPMD_SEND_INLINE, 1, &eight },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 0, 1, &nine },
		{ RDMAPMD_WR_ATOMIC_CMP_AND_SWP, 0, 0, &eight },
		{ RDMAPMD_WR_ATOMIC_CMP_AND_SWP, 0, 2, long_sges },
		{ RDMAPMD_WR_NOP, 0, 1, &eight },
		{ RDMAPMD_WR_NOP, RDMAPMD_SEND_INLINE, 0, NULL },
	};
	struct rdmapmd_send_wr wr[3];
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++) {
		rings_start_at(rings, 0, 0);
		wr[0] = wr[2] = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED);
		wr[1] = wr[0];
		wr[1].opcode = bad[i].opcode;
		wr[1].send_flags = bad[i].flags;
		wr[1].sg_list = bad[i].sges;
		wr[1].num_sge = bad[i].num_sge;
		rings->qp.qp.post_send_error = 0;
		assert_int_equal(rings_post(rings, wr, 3), 1);
		assert_int_equal(rings->qp.qp.post_send_error, -EINVAL);
		/* What stands before it is taken and rung, nothing behind it. */
		rings_assert_bytes(&rings->dbrec, "00000000 00000001");
		assert_int_equal(rings->qp.sq.head, 1);
	}
}

/* max_rd_atomic 0 */
static void
test_a_queue_pair_that_asks_for_nothing(void **state)
{
	static const uint8_t opcodes[] = { RDMAPMD_WR_RDMA_READ, RDMAPMD_WR_ATOMIC_CMP_AND_SWP,
					   RDMAPMD_WR_ATOMIC_FETCH_AND_ADD };
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_RDMA_WRITE, 0);
	unsigned int i;

	rnic_rdma_kinds_init(rings->kinds, RNIC_RDMA_QP_ASKS_NONE);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		const struct rdmapmd_sge eight = { 0x1000, 8, 1 };

		wr = request(opcodes[i], RDMAPMD_SEND_SIGNALED);
		wr.sg_list = &eight;
		wr.num_sge = 1;
		rings->qp.qp.post_send_error = 0;
		assert_int_equal(rings_post(rings, &wr, 1), 0);
		assert_int_equal(rings->qp.qp.post_send_error, -EINVAL);
	}
}

static void
test_a_state_that_takes_no_requests(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr send = request(RDMAPMD_WR_SEND, 0);
	const struct rdmapmd_recv_wr recv = { .num_sge = 0 };

	rings->qp.sq.open = rings->qp.rq.open = 0;
	assert_int_equal(rings_post(rings, &send, 1), 0);
	assert_int_equal(rings->qp.qp.post_send_error, -EPERM);
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &recv, 1), 0);
	assert_int_equal(rings->qp.qp.post_recv_error, -EPERM);
	rings_assert_bytes(&rings->dbrec, "00000000 00000000");
}

/* ---- Queues that nobody signals ---- */

static void
test_a_queue_full_of_unsignaled_requests_gets_empty_again(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[RINGS_MAX_POST];
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wr); i++)
		wr[i] = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SOLICITED);
	assert_int_equal(rings_post(rings, wr, RTE_DIM(wr)), RTE_DIM(wr));
	assert_int_equal(rings->sq[RINGS_MAX_POST - 2][0x0b], 0x02);
	assert_int_equal(rings->sq[RINGS_MAX_POST - 1][0x0b], 0x0a);
	rings_complete_send(rings, RINGS_MAX_POST - 1);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 0);
	assert_int_equal(rings_post(rings, wr, 1), 1);
}

static void
test_a_full_queue_with_a_completion_to_come_is_left_alone(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[RINGS_MAX_POST];
	unsigned int i;

	for (i = 0; i < RTE_DIM(wr); i++)
		wr[i] = request(RDMAPMD_WR_SEND, i == 0 ? RDMAPMD_SEND_SIGNALED : 0);
	assert_int_equal(rings_post(rings, wr, 2), 2);
	assert_int_equal(rings_post(rings, wr + 2, RTE_DIM(wr) - 2), RTE_DIM(wr) - 2);
	assert_int_equal(rings->sq[RINGS_MAX_POST - 1][0x0b], 0);
}

static void
test_a_failed_request_is_reported_though_it_was_signaled_on_the_quiet(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[RINGS_MAX_POST];
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wr); i++)
		wr[i] = request(RDMAPMD_WR_SEND, 0);
	assert_int_equal(rings_post(rings, wr, RTE_DIM(wr)), RTE_DIM(wr));
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, RINGS_MAX_POST - 1, RNIC_SYND_WR_FLUSHED, 0);
	assert_int_equal(rings_poll(rings, &wc), 7);
	assert_int_equal(wc.status, RDMAPMD_WC_WR_FLUSH_ERR);
}

static void
test_draining_posts_a_nop_behind_an_unsignaled_request(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, 0);
	struct rdmapmd_wc wc;

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 2);
	rings_assert_bytes(rings->sq[1], "00000100 00012301 00000008 00000000");
	rings_assert_bytes(&rings->dbrec, "00000000 00000002");
	rings_assert_bytes(rings->bf + RINGS_BF_HALF, "00000100 00012301");
	/* Once is enough. */
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 2);
	/* Flushed or not: nobody sees it. */
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 1, RNIC_SYND_WR_FLUSHED, 0);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 0);
}

static void
test_draining_waits_for_what_is_signaled(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED) };
	const struct rdmapmd_recv_wr recv = { .num_sge = 0 };

	assert_int_equal(rings_post(rings, wr, 2), 2);
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &recv, 1), 1);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 3);
	rings_assert_bytes(&rings->dbrec, "00000001 00000002");
}

/* ---- A burst is what its requests are, one by one ---- */

#define BURST	     8u
#define BURST_ROUNDS 20000u

static uint32_t
below(uint64_t *random, uint32_t limit)
{
	*random = *random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*random >> 33) % limit;
}

/* Mostly as the one before, as bursts are; now and then something that is refused, or rare. */
static void
draw(uint64_t *random, struct rdmapmd_send_wr *wr, struct rdmapmd_sge *sges, const uint8_t *data)
{
	static const uint32_t lengths[] = { 1,
					    8,
					    28,
					    29,
					    64,
					    100,
					    RINGS_MAX_INLINE,
					    RINGS_MAX_INLINE + 1,
					    0,
					    RNIC_RDMA_MAX_MESSAGE,
					    RNIC_RDMA_MAX_MESSAGE + 1 };

	wr->wr_id = below(random, UINT16_MAX);
	wr->wr.rdma.remote_addr = below(random, UINT16_MAX);
	if (below(random, 4) == 0) {
		wr->opcode = (uint8_t)below(random, RNIC_RDMA_OPCODES + below(random, 8) / 7);
		wr->send_flags = (uint8_t)below(random, RNIC_RDMA_FLAGS + below(random, 8) / 7);
		wr->num_sge = (uint16_t)(below(random, 4) == 0 ? below(random, 3) : 1);
	}
	wr->sg_list = sges;
	for (unsigned int i = 0; i < 2; i++)
		sges[i] = (struct rdmapmd_sge){
			.addr = (uintptr_t)data,
			.length = lengths[below(random,
						below(random, 4) == 0 ? RTE_DIM(lengths) : 6)],
			.lkey = below(random, UINT16_MAX),
		};
}

/* Post one; data in line as two segments, which make the same WQE, and are built elsewhere. */
static uint16_t
post_split(struct rings *rings, const struct rdmapmd_send_wr *wr)
{
	struct rdmapmd_sge two[2] = { wr->sg_list[0], wr->sg_list[0] };
	struct rdmapmd_send_wr split = *wr;

	if (wr->num_sge == 1 && (wr->send_flags & RDMAPMD_SEND_INLINE) && two[0].length > 1 &&
	    two[0].length <= RINGS_MAX_INLINE) {
		two[0].length = 1;
		two[1].addr++;
		two[1].length--;
		split.sg_list = two;
		split.num_sge = 2;
	}
	return rings_post(rings, &split, 1);
}

static void
test_a_burst_is_what_its_requests_are_one_by_one(void **state)
{
	struct rings *burst = *state, *single;
	struct rdmapmd_sge sges[BURST][2];
	struct rdmapmd_send_wr wrs[BURST];
	uint8_t data[RINGS_MAX_INLINE + 1];
	uint64_t random = 42;
	void *other;
	uint32_t n, i;

	assert_int_equal(rings_setup(&other), 0);
	single = other;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	for (uint32_t round = 0; round < BURST_ROUNDS; round++) {
		const uint32_t start = below(&random, 1 << RINGS_LOG_SQ);

		rings_start_at(burst, start, 0);
		rings_start_at(single, start, 0);
		wrs[0] = request(RDMAPMD_WR_RDMA_WRITE, 0);
		for (i = 0; i < BURST; i++) {
			if (i > 0)
				wrs[i] = wrs[i - 1];
			draw(&random, &wrs[i], sges[i], data);
		}
		n = below(&random, BURST + 1);
		for (i = 0; i < n && post_split(single, &wrs[i]) == 1; i++)
			;
		assert_int_equal(rings_post(burst, wrs, (uint16_t)n), i);
		if (i < n)
			assert_int_equal(burst->qp.qp.post_send_error,
					 single->qp.qp.post_send_error);
		assert_int_equal(burst->qp.sq.head, single->qp.sq.head);
		assert_int_equal(burst->qp.sq.signaled, single->qp.sq.signaled);
		assert_int_equal(burst->qp.sq.wq.producer, single->qp.sq.wq.producer);
		assert_memory_equal(burst->sq, single->sq, sizeof(burst->sq));
		assert_memory_equal(burst->wqes, single->wqes, sizeof(burst->wqes));
		assert_memory_equal(&burst->dbrec, &single->dbrec, sizeof(burst->dbrec));
	}
	rings_teardown(&other);
}

/* A segment of 0 bytes would mean 2 GiB. */
static void
test_a_segment_of_nothing_is_left_out(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge nothing = { 0x1000, 0, 1 };
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE),
					request(RDMAPMD_WR_RDMA_WRITE, RDMAPMD_SEND_INLINE),
					request(RDMAPMD_WR_SEND, 0),
					request(RDMAPMD_WR_RDMA_WRITE, 0) };

	for (unsigned int i = 0; i < RTE_DIM(wr); i++)
		wr[i].sg_list = &nothing;
	assert_int_equal(rings_post(rings, wr, RTE_DIM(wr)), RTE_DIM(wr));
	rings_assert_bytes(rings->sq[0], "0000000a 00012301");
	rings_assert_bytes(rings->sq[1], "00000108 00012302");
	rings_assert_bytes(rings->sq[2], "0000020a 00012301");
	rings_assert_bytes(rings->sq[3], "00000308 00012302");
}

static const struct CMUnitTest tests[] = {
	RINGS_TEST(test_write),
	RINGS_TEST(test_write_with_immediate),
	RINGS_TEST(test_send),
	RINGS_TEST(test_read),
	RINGS_TEST(test_atomics),
	RINGS_TEST(test_nop),
	RINGS_TEST(test_every_request_is_signaled_where_the_queue_pair_says_so),
	RINGS_TEST(test_segments_run_on_behind_the_end_of_the_ring),
	RINGS_TEST(test_inline_data),
	RINGS_TEST(test_inline_data_runs_on_behind_the_end_of_the_ring),
	RINGS_TEST(test_an_empty_message_has_no_segment),
	RINGS_TEST(test_the_wqe_counter_wraps),
	RINGS_TEST(test_one_doorbell_for_a_burst),
	RINGS_TEST(test_a_shared_register_is_rung_under_its_lock),
	RINGS_TEST(test_a_single_wqe_goes_with_the_ring_where_that_is_allowed),
	RINGS_TEST(test_dumps),
	RINGS_TEST(test_nothing_is_rung_for_nothing),
	RINGS_TEST(test_a_full_ring),
	RINGS_TEST(test_requests_that_are_refused),
	RINGS_TEST(test_a_queue_pair_that_asks_for_nothing),
	RINGS_TEST(test_a_state_that_takes_no_requests),
	RINGS_TEST(test_a_queue_full_of_unsignaled_requests_gets_empty_again),
	RINGS_TEST(test_a_full_queue_with_a_completion_to_come_is_left_alone),
	RINGS_TEST(test_a_failed_request_is_reported_though_it_was_signaled_on_the_quiet),
	RINGS_TEST(test_draining_posts_a_nop_behind_an_unsignaled_request),
	RINGS_TEST(test_draining_waits_for_what_is_signaled),
	RINGS_TEST(test_a_burst_is_what_its_requests_are_one_by_one),
	RINGS_TEST(test_a_segment_of_nothing_is_left_out),
};

PLAIN_MAIN("rdma_post", tests)
