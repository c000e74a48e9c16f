/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows that a peer invalidates, and those that end in the middle of a message. */
#include "qp_umr.h"

/* ---- A peer's invalidation ---- */

/* a's SEND with that key; it is not handed over. */
static void
send_inval(struct qw_two *two, uint32_t key, uint32_t bytes)
{
	struct rnic_wqe_ctrl *ctrl;

	qw_recv(&two->b, two->in, 8192);
	ctrl = qw_wqe(&two->a, RNIC_WQE_SEND_INVAL, two->out, bytes, NULL, 0, RNIC_WQE_CE_ALWAYS);
	ctrl->immediate = rnic_cpu_to_be32(key);
}

static void
test_send_with_invalidate(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 1024, 1025, 8192 };
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW);
	const struct rnic_cqe *cqe;

	for (unsigned int i = 0; i < 5; i++) {
		const uint32_t key = bound(two, true, mr, ALL_RR_RW);
		struct umr umr = unbind(true, key);

		works(two, RNIC_WQE_RDMA_WRITE, key);
		send_inval(two, key, sizes[i]);
		qw_go(two);
		assert_non_null(dp_cq_next(&two->a_send));
		cqe = dp_cq_next(&two->b_recv);
		assert_non_null(cqe);
		assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND_INVAL);
		assert_int_equal(rnic_be32_to_cpu(cqe->immediate), key);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), sizes[i]);
		assert_memory_equal(two->in, two->out, sizes[i]);
		refused(two, RNIC_WQE_RDMA_WRITE, key);
		/* Once more by its own side: that is no fault. */
		done(two, &umr);
	}
}

/* The peer of the SEND has an error, the key is as it was. */
static void
not_invalidated(struct qw_two *two, uint32_t key)
{
	const uint16_t counter = two->a.sq.producer;

	send_inval(two, key, 64);
	qw_go(two);
	qw_failed(two, counter, RNIC_SYND_REMOTE_ACCESS);
	qw_expect_error(&two->b_recv, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_LOCAL_ACCESS,
			two->b.qpn);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	again(two);
}

static void
test_what_a_peer_may_not_invalidate(void **state)
{
	struct qw_two *two = *state;
	const struct qw_qp_conf b_conf = qw_two_qp_conf(two, true);
	const uint32_t mr = region(two, DRV_LW | ALL_RR_RW),
		       type1 = bound(two, false, mr, ALL_RR_RW);
	const uint32_t key = bound(two, true, mr, ALL_RR_RW);
	struct drv_mkey foreign = { .mode = RNIC_MKEY_KLM, .free = false, .rinval = true };
	uint32_t other = window(two, true);
	struct umr umr;
	struct qw_qp b;

	/* a region, a window of type 1, another byte, no key at all, one that is not bound */
	not_invalidated(two, mr);
	works(two, RNIC_WQE_RDMA_WRITE, mr);
	not_invalidated(two, type1);
	works(two, RNIC_WQE_RDMA_WRITE, type1);
	not_invalidated(two, key ^ 1);
	works(two, RNIC_WQE_RDMA_WRITE, key);
	not_invalidated(two, 0x7fff00);
	not_invalidated(two, other);
	/* one that is bound to another queue pair */
	assert_int_equal(qw_qp_create(two->b.end, &b, &b_conf), 0);
	umr = bind(&b, true, other, mr, (uintptr_t)two->in + AT, 64, DRV_RR);
	done(two, &umr);
	not_invalidated(two, next_of(other));
	/* one of another domain */
	foreign.pd = dp_create_simple(&two->b.end->dp, RNIC_CMD_ALLOC_PD);
	assert_int_equal(drv_mkey_create(&two->b.end->dp.drv, &foreign, &other), 0);
	not_invalidated(two, other);
}

/* A message of two packets whose second one comes twice: the key is bound again in between, and stays so. */
static void
test_invalidated_once(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW);

	for (unsigned int i = 0; i < 100; i++) {
		const uint32_t key = bound(two, true, mr, ALL_RR_RW);
		const uint16_t counter = two->a.sq.producer;

		send_inval(two, key, 2048);
		dp_sq_ring(&two->a.sq);
		while (dp_cq_peek(&two->a_send) == NULL)
			qw_poll(&two->qw, 1);
		qw_done(two, counter);
		assert_non_null(dp_cq_next(&two->b_recv));
		qw_expect_nothing(&two->b_recv);
	}
}

/* ---- In the middle of a message ---- */

/* a's message by that key is under way: some of it is there, not all. */
static void
begin(struct qw_two *two, uint8_t opcode, uint32_t key)
{
	const uint8_t *there = opcode == RNIC_WQE_RDMA_READ ? two->out : two->in;

	memset(two->in, opcode == RNIC_WQE_RDMA_READ, QW_BUFFER);
	memset(two->out, opcode != RNIC_WQE_RDMA_READ, QW_BUFFER);
	qw_wqe(&two->a, opcode, two->out, QW_BUFFER, two->in, key, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	while (there[0] == 0)
		qw_poll(&two->qw, 1);
	assert_int_equal(there[QW_BUFFER - 1], 0);
}

static uint32_t
arrived(const uint8_t *there)
{
	uint32_t bytes = 0;

	while (bytes < QW_BUFFER && there[bytes] != 0)
		bytes++;
	return bytes;
}

/* From the completion of the invalidation on, nothing. */
static void
race(struct qw_two *two, uint8_t opcode)
{
	const uint8_t *there = opcode == RNIC_WQE_RDMA_READ ? two->out : two->in;
	const uint32_t mr = region(two, DRV_LW), before = window(two, true), key = next_of(before);
	struct umr umr = bind(&two->b, true, before, mr, (uintptr_t)two->in, QW_BUFFER, ALL_RR_RW);
	uint32_t bytes;

	done(two, &umr);
	begin(two, opcode, key);
	umr = unbind(true, key);
	put(&two->b, &umr, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->b.sq);
	while (dp_cq_peek(&two->b_send) == NULL)
		qw_poll(&two->qw, 1);
	bytes = arrived(there);
	assert_in_range(bytes, 1, QW_BUFFER - 1);
	qw_run(&two->qw);
	/* A READ's packets that had left before may still come. */
	if (opcode == RNIC_WQE_RDMA_WRITE)
		assert_int_equal(arrived(there), bytes);
	assert_in_range(arrived(there), 1, QW_BUFFER - 1);
	qw_failed(two, 0, RNIC_SYND_REMOTE_ACCESS);
}

static void
test_race_of_writes(void **state)
{
	race(*state, RNIC_WQE_RDMA_WRITE);
}

static void
test_race_of_reads(void **state)
{
	race(*state, RNIC_WQE_RDMA_READ);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_send_with_invalidate), TEST(test_what_a_peer_may_not_invalidate),
		LOSSY(test_invalidated_once),	 TEST(test_race_of_writes),
		TEST(test_race_of_reads),
	};

	return cmocka_run_group_tests_name("qp_umr_peer", tests, NULL, NULL);
}
