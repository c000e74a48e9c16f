/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts of RAW_PACKET queue pairs alone: bytes of WQEs with an Ethernet segment, and whose an entry of a CQ is. */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "prm/cqe.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/post_recv.h"
#include "rdma/rdma.h"
#include "rdma_rings.h"

#define RQN  0x000888u
#define LAST ((1 << RINGS_LOG_SQ) - 1)

static int
setup(void **state)
{
	struct rings *rings;

	assert_int_equal(rings_setup(state), 0);
	rings = *state;
	rings->qp.qp.qp_type = RDMAPMD_QPT_RAW_PACKET;
	rings->qp.rq.wq.rqn = RQN;
	rnic_rdma_kinds_init(rings->kinds, RNIC_RDMA_QP_RAW);
	return 0;
}

static struct rdmapmd_send_wr
request(const struct rdmapmd_sge *sges, uint16_t count, unsigned int flags)
{
	return (struct rdmapmd_send_wr){ .wr_id = 7,
					 .sg_list = sges,
					 .num_sge = count,
					 .opcode = RDMAPMD_WR_SEND,
					 .send_flags = (uint8_t)flags };
}

/* ---- Posting ---- */

static void
test_a_frame(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sge = { 0x1122334455667788, 60, 0xaabbccdd };
	const struct rdmapmd_send_wr wr = request(&sge, 1, RDMAPMD_SEND_SIGNALED);

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012303 00000008 00000000"
					 "00000000 00000000 00000000 00000000"
					 "0000003c aabbccdd 11223344 55667788 a5a5a5a5");
	rings_assert_bytes(&rings->dbrec, "00000000 00000001");
}

/* 18 bytes of 3, 0, 10 and 20 run on from the Ethernet segment into a unit of their own. */
static void
test_the_header_goes_inline_where_the_device_wants_it(void **state)
{
	static uint8_t bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = {
		{ (uintptr_t)bytes, 3, 1 },
		{ (uintptr_t)bytes, 0, 2 },
		{ (uintptr_t)bytes + 3, 10, 3 },
		{ (uintptr_t)bytes + 13, 20, 4 },
	};
	const struct rdmapmd_send_wr wr = request(sges, 4, 0);
	char hex[64];

	rings->qp.sq.header_bytes = 18;
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012304 00000000 00000000"
					 "00000000 00000000 00000000 0012 6162"
					 "63646566 6768696a 6b6c6d6e 6f707172");
	snprintf(hex, sizeof(hex), "0000000f 00000004 %016llx",
		 (unsigned long long)(uintptr_t)bytes + 18);
	rings_assert_bytes(rings->sq[0] + 48, hex);
	rings_assert_bytes(&rings->dbrec, "00000000 00000001");
}

/* All of it is in the header: no data segment, which would be one of 0 bytes. */
static void
test_a_frame_that_is_all_header(void **state)
{
	static uint8_t bytes[] = "abcdefghijklmnopqrstuvwxyz";
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { (uintptr_t)bytes, 14, 1 },
					    { (uintptr_t)bytes, 18, 1 } };
	struct rdmapmd_send_wr wr[] = { request(&sges[0], 1, 0), request(&sges[1], 1, 0) };

	rings->qp.sq.header_bytes = 18;
	assert_int_equal(rings_post(rings, wr, 2), 2);
	rings_assert_bytes(rings->sq[0], "0000000a 00012303 00000000 00000000"
					 "00000000 00000000 00000000 000e 6162"
					 "63646566 6768696a 6b6c6d6e");
	rings_assert_bytes(rings->sq[1], "0000010a 00012303 00000000 00000000"
					 "00000000 00000000 00000000 0012 6162"
					 "63646566 6768696a 6b6c6d6e 6f707172");
}

static void
test_an_inline_frame(void **state)
{
	static uint8_t bytes[] = "abcdefghijklmnopqrstuvwxyz";
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { (uintptr_t)bytes, 9, 0 },
					    { (uintptr_t)bytes + 9, 13, 0 } };
	const struct rdmapmd_send_wr wr = request(sges, 2, RDMAPMD_SEND_INLINE);

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012304 00000000 00000000"
					 "00000000 00000000 00000000 00000000"
					 "80000016 61626364 65666768 696a6b6c"
					 "6d6e6f70 71727374 7576");
	rings_start_at(rings, 0, 0);
	rings->qp.sq.header_bytes = 18;
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012304 00000000 00000000"
					 "00000000 00000000 00000000 0012 6162"
					 "63646566 6768696a 6b6c6d6e 6f707172"
					 "80000004 73747576");
}

static void
test_frames_run_on_behind_the_end_of_the_ring(void **state)
{
	static uint8_t bytes[RINGS_MAX_INLINE];
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { 0x1000, 20, 1 },
					    { 0x2000, 21, 2 },
					    { 0x3000, 22, 3 } };
	const struct rdmapmd_sge all = { (uintptr_t)bytes, sizeof(bytes), 0 };
	struct rdmapmd_send_wr wr = request(sges, 3, 0);
	unsigned int i;

	rings_start_at(rings, LAST, 0);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[LAST] + 32, "00000014 00000001 00000000 00001000"
						 "00000015 00000002 00000000 00002000");
	rings_assert_bytes(rings->sq[0], "00000016 00000003 00000000 00003000 a5a5a5a5");
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	rings_start_at(rings, LAST, 0);
	rings->qp.sq.header_bytes = 18;
	wr = request(&all, 1, RDMAPMD_SEND_INLINE);
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	/* 18 of the header, 12 before the end, the rest from the start on. */
	assert_memory_equal(rings->sq[LAST] + 30, bytes, 18);
	rings_assert_bytes(rings->sq[LAST] + 48, "8000007a");
	assert_memory_equal(rings->sq[LAST] + 52, bytes + 18, 12);
	assert_memory_equal(rings->sq[0], bytes + 30, sizeof(bytes) - 30);
	rings_assert_bytes(&rings->dbrec, "00000000 00000012");
}

/* Nothing is read of what is refused: these addresses are nobody's. */
static void
test_frames_that_are_refused(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sixty = { 0x1000, 60, 1 };
	const struct rdmapmd_sge short_one[] = { { 0x1000, 6, 1 }, { 0x1000, 7, 1 } };
	const struct rdmapmd_sge endless[] = { { 0x1000, RNIC_RDMA_MAX_MESSAGE, 1 },
					       { 0x1000, 1, 1 } };
	const struct rdmapmd_sge wrapping[] = { { 0x1000, UINT32_MAX, 1 }, { 0x1000, 20, 1 } };
	const struct rdmapmd_sge inlined = { 0x1000, RINGS_MAX_INLINE + 1, 1 };
	const struct rdmapmd_sge many[RINGS_MAX_GS + 1] = { { 0x1000, 60, 1 } };
	const struct {
		uint8_t opcode, flags;
		uint16_t num_sge;
		const struct rdmapmd_sge *sges;
	} bad[] = {
		{ RDMAPMD_WR_SEND, 0, 0, NULL },
		{ RDMAPMD_WR_SEND, 0, 2, short_one },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 2, short_one },
		{ RDMAPMD_WR_SEND, 0, 2, endless },
		{ RDMAPMD_WR_SEND, 0, 2, wrapping },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 1, &inlined },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 2, wrapping },
		{ RDMAPMD_WR_SEND, 0, RINGS_MAX_GS + 1, many },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, RINGS_MAX_GS + 1, many },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_FENCE, 1, &sixty },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_SOLICITED, 1, &sixty },
		{ RDMAPMD_WR_SEND, 0x10, 1, &sixty },
		{ RDMAPMD_WR_SEND_WITH_IMM, 0, 1, &sixty },
		{ RDMAPMD_WR_RDMA_WRITE, 0, 1, &sixty },
		{ RDMAPMD_WR_RDMA_WRITE_WITH_IMM, 0, 1, &sixty },
		{ RDMAPMD_WR_RDMA_READ, 0, 1, &sixty },
		{ RDMAPMD_WR_ATOMIC_CMP_AND_SWP, 0, 1, &sixty },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 0, 1, &sixty },
		{ RDMAPMD_WR_NOP, 0, 1, &sixty },
		{ RDMAPMD_WR_NOP, RDMAPMD_SEND_FENCE, 0, NULL },
		{ RDMAPMD_WR_NOP + 1, 0, 1, &sixty },
	};
	struct rdmapmd_send_wr wr;
	unsigned int i;

	rings->qp.sq.header_bytes = 18;
	for (i = 0; i < RTE_DIM(bad); i++) {
		wr = request(bad[i].sges, bad[i].num_sge, bad[i].flags);
		wr.opcode = bad[i].opcode;
		rings->qp.qp.post_send_error = 0;
		assert_int_equal(rings_post(rings, &wr, 1), 0);
		assert_int_equal(rings->qp.qp.post_send_error, -EINVAL);
	}
	rings_assert_bytes(&rings->dbrec, "00000000 00000000");
}

static void
test_a_nop_among_frames(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr = request(NULL, 0, RDMAPMD_SEND_SIGNALED);

	wr.opcode = RDMAPMD_WR_NOP;
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000000 00012301 00000008 00000000 a5a5a5a5");
}

/* ---- Polling ---- */

static void
post_receives(struct rings *rings, unsigned int count)
{
	struct rdmapmd_sge room = { 0x1000, 2000, 1 };
	unsigned int i;

	for (i = 0; i < count; i++)
		assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp,
						     &(struct rdmapmd_recv_wr){ .wr_id = 10 + i,
										.sg_list = &room,
										.num_sge = 1 },
						     1),
				 1);
}

/* An entry of the receive queue, with its own number, and this user index. */
static void
fail_receive(struct rings *rings, uint32_t rqn, uint32_t index)
{
	struct rnic_error_cqe *error =
		(struct rnic_error_cqe *)rings_complete(rings, RNIC_CQE_RESPONDER_ERROR, rqn, 0);

	error->srqn = rnic_cpu_to_be32(index);
	error->syndrome = RNIC_SYND_WR_FLUSHED;
}

/* The flow's tag stands where a message has the queue pair's number, and is the same. */
static void
test_a_received_frame(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_receives(rings, 1);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0)->byte_count = RNIC_BE32(1514);
	assert_int_equal(rings_poll(rings, &wc), 10);
	assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
	assert_int_equal(wc.opcode, RDMAPMD_WC_RECV);
	assert_int_equal(wc.byte_len, 1514);
	assert_int_equal(wc.qp_num, RINGS_QPN);
	assert_int_equal(wc.wc_flags, 0);
}

static void
test_errors_of_the_receive_queue_are_the_queue_pair_s(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_receives(rings, 3);
	fail_receive(rings, RQN, RINGS_QPN);
	fail_receive(rings, RQN, RINGS_QPN);
	assert_int_equal(rings_poll(rings, &wc), 10);
	assert_int_equal(wc.status, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.qp_num, RINGS_QPN);
	assert_int_equal(rings_poll(rings, &wc), 11);
	assert_int_equal(rings_in_error, 2);
	assert_int_equal(rings_sends_in_error, 0);
	/* Another one's number or index, or a queue pair of a number that no queue has. */
	fail_receive(rings, RQN + 1, RINGS_QPN);
	fail_receive(rings, RQN, RINGS_QPN + 1);
	fail_receive(rings, RINGS_QPN + 1, 0xffffff);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rings->cq.unmatched, 3);
	/* One without a send queue has the number itself. */
	fail_receive(rings, RINGS_QPN, 0);
	assert_int_equal(rings_poll(rings, &wc), 12);
}

static void
test_an_error_of_a_send_is_told_as_one(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sge = { 0x1000, 60, 1 };
	const struct rdmapmd_send_wr wr = request(&sge, 1, 0);
	struct rdmapmd_wc wc;

	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_LOCAL_LENGTH, 0);
	assert_int_equal(rings_poll(rings, &wc), 7);
	assert_int_equal(wc.status, RDMAPMD_WC_LOC_LEN_ERR);
	assert_int_equal(rings_sends_in_error, 1);
}

/* Errors of the receive queue that wait are blotted out with the rest. */
static void
test_cleaning_finds_all_entries(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_receives(rings, 2);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0);
	fail_receive(rings, RQN, RINGS_QPN);
	rnic_rdma_cq_clean(&rings->cq, &rings->qp);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rings->cq.unmatched, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, rings_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_a_frame),
	TEST(test_the_header_goes_inline_where_the_device_wants_it),
	TEST(test_a_frame_that_is_all_header),
	TEST(test_an_inline_frame),
	TEST(test_frames_run_on_behind_the_end_of_the_ring),
	TEST(test_frames_that_are_refused),
	TEST(test_a_nop_among_frames),
	TEST(test_a_received_frame),
	TEST(test_errors_of_the_receive_queue_are_the_queue_pair_s),
	TEST(test_an_error_of_a_send_is_told_as_one),
	TEST(test_cleaning_finds_all_entries),
};

PLAIN_MAIN("rdma_frames", tests)
