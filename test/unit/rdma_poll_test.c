/* SPDX-License-Identifier: BSD-3-Clause */

/* Poll bursts and arming alone: what each kind of entry becomes, indices that wrap, and what a device must not be believed. */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "prm/cqe.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/reset.h"
#include "rdma/post_recv.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma_rings.h"

#define CQES (1u << RINGS_LOG_CQ)

/* A queue pair whose send requests 0, 1, ... are under way, one WQEBB each. */
static void
post_sends(struct rings *rings, const uint8_t *opcodes, unsigned int count)
{
	static const struct rdmapmd_sge eight = { 0x1000, 8, 1 };
	struct rdmapmd_send_wr wr = { .sg_list = &eight, .send_flags = RDMAPMD_SEND_SIGNALED };
	unsigned int i;

	for (i = 0; i < count; i++) {
		wr.wr_id = 100 + i;
		wr.opcode = opcodes[i];
		wr.num_sge = opcodes[i] != RDMAPMD_WR_NOP;
		assert_int_equal(rings_post(rings, &wr, 1), 1);
	}
}

static const uint8_t writes[RINGS_MAX_POST];
_Static_assert(RDMAPMD_WR_RDMA_WRITE == 0, "zeros are WRITEs");

static void
post_receives(struct rings *rings, unsigned int count)
{
	struct rdmapmd_sge room = { 0x1000, 2000, 1 };
	struct rdmapmd_recv_wr wr = { .sg_list = &room, .num_sge = 1 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		wr.wr_id = 200 + i;
		assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
	}
}

/* ---- Requests that were carried out ---- */

static void
test_each_operation_completes_under_its_name(void **state)
{
	static const struct {
		uint8_t posted, completed;
		uint32_t byte_len; /* 0: not looked at */
	} kinds[] = {
		{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_RDMA_WRITE, 0 },
		{ RDMAPMD_WR_RDMA_WRITE_WITH_IMM, RDMAPMD_WC_RDMA_WRITE, 0 },
		{ RDMAPMD_WR_SEND, RDMAPMD_WC_SEND, 0 },
		{ RDMAPMD_WR_SEND_WITH_IMM, RDMAPMD_WC_SEND, 0 },
		{ RDMAPMD_WR_RDMA_READ, RDMAPMD_WC_RDMA_READ, 8 },
		{ RDMAPMD_WR_ATOMIC_CMP_AND_SWP, RDMAPMD_WC_COMP_SWAP, 8 },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, RDMAPMD_WC_FETCH_ADD, 8 },
		{ RDMAPMD_WR_NOP, RDMAPMD_WC_NOP, 0 },
	};
	struct rings *rings = *state;
	struct rnic_cqe *cqe;
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		rings_start_at(rings, 0, i);
		post_sends(rings, &kinds[i].posted, 1);
		cqe = rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN, 0);
		cqe->byte_count = rnic_cpu_to_be32(4242);
		assert_int_equal(rings_poll(rings, &wc), 100);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(wc.opcode, kinds[i].completed);
		assert_int_equal(wc.wc_flags, 0);
		assert_int_equal(wc.qp_num, RINGS_QPN);
		if (kinds[i].byte_len != 0)
			assert_int_equal(wc.byte_len, kinds[i].byte_len);
	}
}

static void
test_a_completion_is_one_of_all_before_it(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_sends(rings, writes, 4);
	rings_complete_send(rings, 2);
	assert_int_equal(rings_poll(rings, &wc), 102);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 1);
}

static void
test_a_burst_takes_no_more_than_asked(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc[3];
	unsigned int i;

	post_sends(rings, writes, 5);
	for (i = 0; i < 5; i++)
		rings_complete_send(rings, (uint16_t)i);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 0), 0);
	rings_assert_bytes(&rings->cq_dbrec, "00000000");
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 3), 3);
	rings_assert_bytes(&rings->cq_dbrec, "00000003");
	for (i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, 100 + i);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 3), 2);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 3), 0);
	rings_assert_bytes(&rings->cq_dbrec, "00000005");
}

static void
test_the_index_wraps_around_the_ring_and_its_24_bits(void **state)
{
	static const uint32_t starts[] = { 0, CQES - 2, 0xfffffe, UINT32_MAX - 1 };
	struct rings *rings = *state;
	struct rdmapmd_wc wc;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(starts); i++) {
		rings_start_at(rings, 0, starts[i]);
		for (k = 0; k < 3 * CQES; k++) {
			/* What the pass before has left there is not ready. */
			assert_int_equal(rings_poll(rings, &wc), -1);
			post_sends(rings, writes, 1);
			rings_complete_send(rings, (uint16_t)k);
			assert_int_equal(rings_poll(rings, &wc), 100);
			assert_int_equal(rnic_be32_to_cpu(rings->cq_dbrec.consumer_index),
					 (starts[i] + k + 1) & 0xffffff);
		}
	}
}

/* ---- What has arrived ---- */

static void
test_receives(void **state)
{
	static const struct {
		enum rnic_cqe_opcode opcode;
		uint8_t completed, flags;
	} kinds[] = {
		{ RNIC_CQE_RESPONDER_WRITE_IMM, RDMAPMD_WC_RECV_RDMA_WITH_IMM,
		  RDMAPMD_WC_WITH_IMM },
		{ RNIC_CQE_RESPONDER_SEND, RDMAPMD_WC_RECV, 0 },
		{ RNIC_CQE_RESPONDER_SEND_IMM, RDMAPMD_WC_RECV, RDMAPMD_WC_WITH_IMM },
		{ RNIC_CQE_RESPONDER_SEND_INVAL, RDMAPMD_WC_RECV, RDMAPMD_WC_WITH_INV },
	};
	struct rings *rings = *state;
	struct rnic_cqe *cqe;
	struct rdmapmd_wc wc;
	unsigned int i;

	post_receives(rings, RTE_DIM(kinds));
	for (i = 0; i < RTE_DIM(kinds); i++) {
		cqe = rings_complete(rings, kinds[i].opcode, RINGS_QPN, (uint16_t)i);
		cqe->byte_count = rnic_cpu_to_be32(1000 + i);
		cqe->immediate = (struct rnic_be32){ RTE_BE32(0xcafef00d) };
		cqe->flags_rqpn = rnic_cpu_to_be32(0x15000321);
		assert_int_equal(rings_poll(rings, &wc), 200 + i);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(wc.opcode, kinds[i].completed);
		assert_int_equal(wc.wc_flags, kinds[i].flags | RDMAPMD_WC_GRH);
		assert_int_equal(wc.byte_len, 1000 + i);
		assert_int_equal(wc.src_qp, 0x321);
		assert_int_equal(wc.sl, 5);
		if (kinds[i].flags & RDMAPMD_WC_WITH_IMM)
			assert_int_equal(wc.imm_data, RTE_BE32(0xcafef00d));
	}
}

static void
test_receives_from_an_srq_name_their_request(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_recv_wr wr[] = { { .wr_id = 300 }, { .wr_id = 301 } };
	struct rdmapmd_wc wc;

	rings->qp.srq = &rings->srq;
	assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, wr, 2), 2);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 1);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 1);
	rings_fail(rings, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_WR_FLUSHED, 0);
	assert_int_equal(rings_poll(rings, &wc), 301);
	/* A second time it is nobody's. */
	assert_int_equal(rings_poll(rings, &wc), 300);
	assert_int_equal(wc.status, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rings->cq.unmatched, 1);
}

/* ---- Times ---- */

#define TIME \
	UINT64_C(0x48632a39b1020304) /* in an entry of an error: vendor's syndrome 3, syndrome 4 */

/* One request of each side, or none that is posted: the entry is an error's or a success. */
static struct rdmapmd_wc
complete_at(struct rings *rings, enum rnic_cqe_opcode opcode, uint64_t time)
{
	const bool sends = opcode == RNIC_CQE_REQUESTER || opcode == RNIC_CQE_REQUESTER_ERROR;
	const struct rdmapmd_recv_wr receive = { .wr_id = 200 };
	const uint16_t counter = sends ? rings->qp.sq.wq.producer : (uint16_t)rings->srq.head;
	struct rdmapmd_wc wc = { 0 };

	if (sends)
		post_sends(rings, writes, 1);
	else if (rings->qp.srq != NULL)
		assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, &receive, 1), 1);
	else
		post_receives(rings, 1);
	rings_complete(rings, opcode, RINGS_QPN, counter)->timestamp = rnic_cpu_to_be64(time);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, &wc, 1), 1);
	assert_int_equal(wc.wr_id, sends ? 100 : 200);
	return wc;
}

/* Twice each: the first one of its kind goes another way. */
static void
complete_all(struct rings *rings, bool timed)
{
	static const enum rnic_cqe_opcode good[] = {
		RNIC_CQE_REQUESTER,	      RNIC_CQE_REQUESTER,      RNIC_CQE_RESPONDER_WRITE_IMM,
		RNIC_CQE_RESPONDER_SEND,      RNIC_CQE_RESPONDER_SEND, RNIC_CQE_RESPONDER_SEND_IMM,
		RNIC_CQE_RESPONDER_SEND_INVAL
	};
	static const enum rnic_cqe_opcode bad[] = { RNIC_CQE_REQUESTER_ERROR,
						    RNIC_CQE_RESPONDER_ERROR };
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(good); i++) {
		wc = complete_at(rings, good[i], TIME + i);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_true(wc.completion_ts == (timed ? TIME + i : 0));
	}
	for (i = 0; i < RTE_DIM(bad); i++) {
		wc = complete_at(rings, bad[i], TIME);
		assert_int_equal(wc.status, RDMAPMD_WC_LOC_PROT_ERR);
		assert_int_equal(wc.vendor_err, 3);
		assert_true(wc.completion_ts == 0);
	}
}

static void
test_times_are_those_of_the_entries(void **state)
{
	struct rings *rings = *state;
	unsigned int timed, kind, type;

	for (timed = 0; timed < 2; timed++)
		for (kind = 0; kind < RNIC_RDMA_POLL_KINDS; kind++)
			for (type = 0; type < 3; type++) {
				rings_start_at(rings, 0, 0);
				rings->cq.last_sends = rings->cq.last_receives = RNIC_RDMA_NO_KIND;
				rings->cq.cq.poll_cq = rnic_rdma_polls[timed][kind];
				rings->qp.qp.qp_type = type == 1 ? RDMAPMD_QPT_UD : RDMAPMD_QPT_RC;
				rings->qp.srq = type == 2 ? &rings->srq : NULL;
				complete_all(rings, timed != 0);
			}
}

/* ---- Failures ---- */

static void
test_each_syndrome_has_its_status(void **state)
{
	static const struct {
		uint8_t syndrome, status;
	} kinds[] = {
		{ 0x01, RDMAPMD_WC_LOC_LEN_ERR },    { 0x02, RDMAPMD_WC_LOC_QP_OP_ERR },
		{ 0x04, RDMAPMD_WC_LOC_PROT_ERR },   { 0x05, RDMAPMD_WC_WR_FLUSH_ERR },
		{ 0x06, RDMAPMD_WC_MW_BIND_ERR },    { 0x10, RDMAPMD_WC_BAD_RESP_ERR },
		{ 0x11, RDMAPMD_WC_LOC_ACCESS_ERR }, { 0x12, RDMAPMD_WC_REM_INV_REQ_ERR },
		{ 0x13, RDMAPMD_WC_REM_ACCESS_ERR }, { 0x14, RDMAPMD_WC_REM_OP_ERR },
		{ 0x15, RDMAPMD_WC_RETRY_EXC_ERR },  { 0x16, RDMAPMD_WC_RNR_RETRY_EXC_ERR },
		{ 0x22, RDMAPMD_WC_REM_ABORT_ERR },  { 0x77, RDMAPMD_WC_GENERAL_ERR },
	};
	struct rings *rings = *state;
	struct rdmapmd_wc wc;
	unsigned int i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		rings_start_at(rings, 0, i);
		post_sends(rings, writes, 1);
		post_receives(rings, 1);
		rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 0, kinds[i].syndrome, 0x8a);
		assert_int_equal(rings_poll(rings, &wc), 100);
		assert_int_equal(wc.status, kinds[i].status);
		assert_int_equal(wc.vendor_err, 0x8a);
		assert_int_equal(wc.qp_num, RINGS_QPN);
		rings_fail(rings, RNIC_CQE_RESPONDER_ERROR, 0, kinds[i].syndrome, 0x8b);
		assert_int_equal(rings_poll(rings, &wc), 200);
		assert_int_equal(wc.status, kinds[i].status);
		assert_int_equal(wc.vendor_err, 0x8b);
		assert_int_equal(rings_in_error, 2 * (i + 1));
	}
}

/* ---- What is not believed ---- */

static void
assert_passed_over(struct rings *rings, uint64_t strange)
{
	struct rdmapmd_wc wc;

	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rings->cq.ring.consumer, rings->produced);
	assert_int_equal(rings->cq.unmatched, strange);
	assert_int_equal(rings_in_error, 0);
}

static void
test_entries_of_nobody_are_passed_over(void **state)
{
	struct rings *rings = *state;

	post_sends(rings, writes, 1);
	rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN + 16, 0);
	rings_complete(rings, RNIC_CQE_REQUESTER_ERROR, 0, 0);
	assert_passed_over(rings, 2);
}

/* ---- Lengths ---- */

/* Requests of so many bytes, in one segment or two, with room for what a message may be said to have. */
static const struct {
	uint32_t lengths[2], total;
} rooms[] = { { { 100, 0 }, 100 }, { { 50, 30 }, 80 }, { { 0, 0 }, 0 }, { { 1, 2000 }, 2001 } };

static void
room_of(unsigned int i, struct rdmapmd_sge sges[2], struct rdmapmd_recv_wr *wr)
{
	sges[0] = (struct rdmapmd_sge){ 0x1000, rooms[i].lengths[0], 1 };
	sges[1] = (struct rdmapmd_sge){ 0x2000, rooms[i].lengths[1], 1 };
	*wr = (struct rdmapmd_recv_wr){ .wr_id = 200 + i, .sg_list = sges, .num_sge = 2 };
}

static void
assert_length(struct rings *rings, enum rnic_cqe_opcode opcode, unsigned int i, uint32_t said,
	      uint32_t expected)
{
	struct rdmapmd_wc wc;

	rings_complete(rings, opcode, RINGS_QPN, (uint16_t)i)->byte_count = rnic_cpu_to_be32(said);
	assert_int_equal(rings_poll(rings, &wc), 200 + i);
	assert_int_equal(wc.byte_len, expected);
}

/* Whoever believed it would read behind the buffer. */
static void
test_no_message_is_longer_than_its_request(void **state)
{
	static const uint32_t said[] = { 0, 1, 79, 80, 81, 100, 101, 2001, 2002, UINT32_MAX };
	struct rings *rings = *state;
	struct rdmapmd_sge sges[2];
	struct rdmapmd_recv_wr wr;
	unsigned int i, k;

	for (k = 0; k < RTE_DIM(said); k++) {
		rings_start_at(rings, 0, 0);
		for (i = 0; i < RTE_DIM(rooms); i++) {
			room_of(i, sges, &wr);
			assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
		}
		for (i = 0; i < RTE_DIM(rooms); i++)
			assert_length(rings, RNIC_CQE_RESPONDER_SEND, i, said[k],
				      RTE_MIN(said[k], rooms[i].total));
	}
	/* A peer's WRITE is not in the request's memory. */
	room_of(2, sges, &wr);
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
	assert_length(rings, RNIC_CQE_RESPONDER_WRITE_IMM, 2, 5000, 5000);
}

static void
test_no_message_is_longer_than_its_request_of_an_srq(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_sge sges[2];
	struct rdmapmd_recv_wr wr;
	unsigned int i;

	rings->qp.srq = &rings->srq;
	/* One stays free. */
	for (i = 0; i < RTE_DIM(rooms) - 1; i++) {
		room_of(i, sges, &wr);
		assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, &wr, 1), 1);
	}
	assert_length(rings, RNIC_CQE_RESPONDER_SEND, 1, 5000, 80);
	assert_length(rings, RNIC_CQE_RESPONDER_WRITE_IMM, 0, 5000, 5000);
	assert_length(rings, RNIC_CQE_RESPONDER_SEND_IMM, 2, 1, 0);
}

static void
test_a_read_is_as_long_as_its_request(void **state)
{
	const struct rdmapmd_sge sges[3] = { { 0x1000, 40, 1 },
					     { 0x2000, 0, 1 },
					     { 0x3000, 60, 1 } };
	struct rdmapmd_send_wr wr = { .wr_id = 100,
				      .opcode = RDMAPMD_WR_RDMA_READ,
				      .sg_list = sges,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	static const uint32_t totals[] = { 0, 40, 40, 100 };
	struct rings *rings = *state;
	struct rdmapmd_wc wc;
	uint16_t i;

	for (i = 0; i < RTE_DIM(totals); i++) {
		wr.num_sge = i;
		assert_int_equal(rings_post(rings, &wr, 1), 1);
		/* Of none it says what has stood there before. */
		rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN, i)->byte_count =
			rnic_cpu_to_be32(i == 0 ? 0xa5a5a5a5 : 70);
		assert_int_equal(rings_poll(rings, &wc), 100);
		assert_int_equal(wc.byte_len, totals[i]);
	}
}

/* Each of its CQs may have a thread of its own: neither takes what the other has. */
static void
test_entries_in_the_wrong_queue_are_passed_over(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_cq other = { 0 };

	post_sends(rings, writes, 1);
	post_receives(rings, 1);
	rings->qp.qp.send_cq = &other;
	rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN, 0);
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_WR_FLUSHED, 0);
	assert_passed_over(rings, 2);
	rings->qp.qp.send_cq = &rings->cq.cq;
	rings->qp.qp.recv_cq = &other;
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0);
	rings_fail(rings, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_WR_FLUSHED, 0);
	assert_passed_over(rings, 4);
	assert_int_equal(rings->qp.sq.tail, 0);
	assert_int_equal(rings->qp.rq.tail, 0);
}

/* What a queue pair may complete in a CQ is not all that it could. */
static void
pass_over_after_good_ones(struct rings *rings, enum rnic_cqe_opcode good, enum rnic_cqe_opcode bad,
			  int first)
{
	struct rdmapmd_wc wc;
	uint16_t i;

	post_sends(rings, writes, 3);
	post_receives(rings, 3);
	for (i = 0; i < 3; i++) {
		rings_complete(rings, good, RINGS_QPN, i);
		assert_int_equal(rings_poll(rings, &wc), first + i);
		rings_complete(rings, bad, RINGS_QPN, i);
		assert_passed_over(rings, i + 1u);
	}
}

static void
test_arrivals_in_a_send_queue_are_passed_over_after_good_sends(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_cq other = { 0 };

	rings->qp.qp.recv_cq = &other;
	pass_over_after_good_ones(rings, RNIC_CQE_REQUESTER, RNIC_CQE_RESPONDER_SEND, 100);
	assert_int_equal(rings->qp.rq.tail, 0);
}

static void
test_sends_in_a_receive_queue_are_passed_over_after_good_arrivals(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_cq other = { 0 };

	rings->qp.qp.send_cq = &other;
	pass_over_after_good_ones(rings, RNIC_CQE_RESPONDER_SEND, RNIC_CQE_REQUESTER, 200);
	assert_int_equal(rings->qp.sq.tail, 0);
}

/* Each entry is of another queue pair than the one before, or of another kind. */
static void
test_queue_pairs_complete_in_turn(void **state)
{
	static const uint8_t opcodes[] = { RNIC_CQE_REQUESTER, RNIC_CQE_RESPONDER_SEND };
	struct rings *rings = *state;
	struct rnic_rdma_qp other = rings->qp;
	struct rnic_rdma_wqe wqe = { .wr_id = 300, .what = RDMAPMD_WC_SEND };
	uint64_t wr_id = 400;
	struct rdmapmd_wc wc;
	unsigned int i;

	other.qp.qp_num = RINGS_QPN + 1;
	other.sq.wqes = &wqe;
	other.sq.wq.mask = 0;
	other.rq.wr_ids = &wr_id;
	other.rq.wq.mask = 0;
	assert_int_equal(rnic_rdma_qps_add(&rings->cq, &other), 0);
	post_sends(rings, writes, 4);
	post_receives(rings, 4);
	for (i = 0; i < 8; i++) {
		rings_complete(rings, (enum rnic_cqe_opcode)opcodes[i % 2], RINGS_QPN,
			       (uint16_t)(i / 2));
		assert_int_equal(rings_poll(rings, &wc), (i % 2 ? 200 : 100) + i / 2);
		assert_int_equal(wc.qp_num, RINGS_QPN);
		wqe.head = other.sq.tail;
		other.rq.head = other.rq.tail + 1;
		rings_complete(rings, (enum rnic_cqe_opcode)opcodes[i / 2 % 2], RINGS_QPN + 1, 0);
		assert_int_equal(rings_poll(rings, &wc), i / 2 % 2 ? 400 : 300);
		assert_int_equal(wc.qp_num, RINGS_QPN + 1);
	}
	/* Gone, with what the CQ knew of it. */
	rnic_rdma_qps_remove(&rings->cq, &other);
	wqe.head = other.sq.tail;
	rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN + 1, 0);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN + 1, 0);
	assert_passed_over(rings, 2);
}

static void
test_entries_of_no_request_are_passed_over(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	rings_complete_send(rings, 0); /* nothing posted */
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 5, RNIC_SYND_WR_FLUSHED, 0);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0);
	rings_fail(rings, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_WR_FLUSHED, 0);
	assert_passed_over(rings, 4);
	post_sends(rings, writes, 2);
	rings_complete_send(rings, 0);
	assert_int_equal(rings_poll(rings, &wc), 100);
	rings_complete_send(rings, 0); /* twice */
	rings_complete_send(rings, 2); /* not yet */
	assert_passed_over(rings, 6);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 1);
}

static void
test_entries_of_unknown_kinds_are_passed_over(void **state)
{
	struct rings *rings = *state;
	unsigned int opcode;
	uint64_t strange = 0;

	post_sends(rings, writes, 1);
	post_receives(rings, 1);
	for (opcode = 5; opcode < 13; opcode++) {
		rings_complete(rings, (enum rnic_cqe_opcode)opcode, RINGS_QPN, 0);
		assert_passed_over(rings, ++strange);
	}
}

static void
test_a_queue_pair_without_a_queue(void **state)
{
	struct rings *rings = *state;

	rings->qp.sq.max_post = 0;
	rings_complete_send(rings, 0);
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_WR_FLUSHED, 0);
	assert_passed_over(rings, 2);
}

/* The WQEBB of one that is long done: as many requests later as 32 bits count. */
static void
test_an_entry_of_a_request_of_long_ago_is_passed_over(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_send *sq = &rings->qp.sq;
	const struct rdmapmd_send_wr wr = { .wr_id = 300, .opcode = RDMAPMD_WR_NOP };
	struct rdmapmd_wc wc;

	post_sends(rings, writes, 1);
	rings_complete_send(rings, 0);
	assert_int_equal(rings_poll(rings, &wc), 100);
	sq->head += UINT32_MAX;
	sq->tail += UINT32_MAX;
	sq->signaled += UINT32_MAX;
	assert_int_equal(rings_post(rings, &wr, 1), 1);
	rings_complete_send(rings, 0);
	assert_passed_over(rings, 1);
	rings_complete_send(rings, 1);
	assert_int_equal(rings_poll(rings, &wc), 300);
}

/* An invalid opcode is no entry at all, whatever its owner bit says. */
static void
test_an_invalid_entry_is_not_taken(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_sends(rings, writes, 1);
	rings_complete(rings, RNIC_CQE_INVALID, RINGS_QPN, 0);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rings->cq.ring.consumer, 0);
}

/* ---- Queue pairs that come and go ---- */

static void
test_a_destroyed_queue_pair_has_no_completions(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_recv_wr wr = { .wr_id = 300 };
	struct rdmapmd_wc wc;

	rings->qp.srq = &rings->srq;
	assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, &wr, 1), 1);
	post_sends(rings, writes, 2);
	rings_complete_send(rings, 0);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0);
	rings_fail(rings, RNIC_CQE_REQUESTER_ERROR, 1, RNIC_SYND_WR_FLUSHED, 0);
	rnic_rdma_cq_clean(&rings->cq, &rings->qp);
	/* The number may be a new queue pair's by now. */
	rnic_rdma_queues_reset(&rings->qp);
	post_sends(rings, writes, 1);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rings->cq.unmatched, 0);
	/* What it had from the SRQ was given back: all but one can be posted. */
	assert_int_equal(
		rnic_rdma_post_srq_recv(&rings->srq.srq, (struct rdmapmd_recv_wr[4]){ { 0 } }, 4),
		3);
	rings_complete_send(rings, 0);
	assert_int_equal(rings_poll(rings, &wc), 100);
}

static void
test_completions_of_others_stay_when_one_is_destroyed(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_qp other = { .qp = { .qp_num = RINGS_QPN + 16 } };
	struct rdmapmd_wc wc;

	assert_int_equal(rnic_rdma_qps_add(&rings->cq, &other), 0);
	post_sends(rings, writes, 2);
	rings_complete_send(rings, 0);
	rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN + 16, 0);
	rings_complete_send(rings, 1);
	rnic_rdma_cq_clean(&rings->cq, &other);
	rnic_rdma_qps_remove(&rings->cq, &other);
	assert_int_equal(rings_poll(rings, &wc), 100);
	assert_int_equal(rings_poll(rings, &wc), 101);
}

#define MANY 1000

static void
test_a_thousand_queue_pairs_of_one_cq(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_qp *qps = calloc(MANY, sizeof(*qps));
	unsigned int i, k;

	assert_non_null(qps);
	for (i = 0; i < MANY; i++) {
		/* Many that want the same slot. */
		qps[i].qp.qp_num = i % 2 ? 0x800000 + i : i << 13;
		assert_int_equal(rnic_rdma_qps_add(&rings->cq, &qps[i]), 0);
		assert_int_equal(rnic_rdma_qps_add(&rings->cq, &qps[i]), 0);
	}
	for (k = 0; k < MANY; k += 3)
		rnic_rdma_qps_remove(&rings->cq, &qps[k]);
	for (i = 0; i < MANY; i++)
		assert_ptr_equal(rnic_rdma_qps_find(&rings->cq, qps[i].qp.qp_num),
				 i % 3 == 0 ? NULL : &qps[i]);
	for (i = 0; i < MANY; i++)
		rnic_rdma_qps_remove(&rings->cq, &qps[i]);
	assert_ptr_equal(rnic_rdma_qps_find(&rings->cq, RINGS_QPN), &rings->qp);
	free(qps);
}

static void
test_a_number_given_twice_is_refused(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_qp other = { .qp = { .qp_num = RINGS_QPN } };

	assert_int_equal(rnic_rdma_qps_add(&rings->cq, &other), -EEXIST);
	assert_ptr_equal(rnic_rdma_qps_find(&rings->cq, RINGS_QPN), &rings->qp);
}

/* ---- Arming ---- */

static void
test_arming(void **state)
{
	struct rings *rings = *state;

	rings_start_at(rings, 0, 0xff000123);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	rings_assert_bytes(&rings->cq_dbrec.arm, "00000123");
	rings_assert_bytes(&rings->arm_register, "00000123 00000456");
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, true), 0);
	rings_assert_bytes(&rings->cq_dbrec.arm, "01000123");
	rings_assert_bytes(&rings->arm_register, "01000123 00000456");
	/* After each event another sequence number, of 2 bits. */
	atomic_fetch_add(&rings->cq.arm_sequence, 3);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	rings_assert_bytes(&rings->arm_register, "30000123 00000456");
	atomic_fetch_add(&rings->cq.arm_sequence, 1);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	rings_assert_bytes(&rings->arm_register, "00000123 00000456");
}

static const struct CMUnitTest tests[] = {
	RINGS_TEST(test_each_operation_completes_under_its_name),
	RINGS_TEST(test_a_completion_is_one_of_all_before_it),
	RINGS_TEST(test_a_burst_takes_no_more_than_asked),
	RINGS_TEST(test_the_index_wraps_around_the_ring_and_its_24_bits),
	RINGS_TEST(test_receives),
	RINGS_TEST(test_receives_from_an_srq_name_their_request),
	RINGS_TEST(test_times_are_those_of_the_entries),
	RINGS_TEST(test_each_syndrome_has_its_status),
	RINGS_TEST(test_entries_of_nobody_are_passed_over),
	RINGS_TEST(test_no_message_is_longer_than_its_request),
	RINGS_TEST(test_no_message_is_longer_than_its_request_of_an_srq),
	RINGS_TEST(test_a_read_is_as_long_as_its_request),
	RINGS_TEST(test_entries_in_the_wrong_queue_are_passed_over),
	RINGS_TEST(test_arrivals_in_a_send_queue_are_passed_over_after_good_sends),
	RINGS_TEST(test_sends_in_a_receive_queue_are_passed_over_after_good_arrivals),
	RINGS_TEST(test_queue_pairs_complete_in_turn),
	RINGS_TEST(test_entries_of_no_request_are_passed_over),
	RINGS_TEST(test_entries_of_unknown_kinds_are_passed_over),
	RINGS_TEST(test_a_queue_pair_without_a_queue),
	RINGS_TEST(test_an_entry_of_a_request_of_long_ago_is_passed_over),
	RINGS_TEST(test_an_invalid_entry_is_not_taken),
	RINGS_TEST(test_a_destroyed_queue_pair_has_no_completions),
	RINGS_TEST(test_completions_of_others_stay_when_one_is_destroyed),
	RINGS_TEST(test_a_thousand_queue_pairs_of_one_cq),
	RINGS_TEST(test_a_number_given_twice_is_refused),
	RINGS_TEST(test_arming),
};

PLAIN_MAIN("rdma_poll", tests)
