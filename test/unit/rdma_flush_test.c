/* SPDX-License-Identifier: BSD-3-Clause */

/* What polls give when the device is lost: every request that was posted, flushed, in order, once. */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/post_recv.h"
#include "rdma_rings.h"

static const struct rdmapmd_sge eight = { 0x1000, 8, 1 };

static void
post_send(struct rings *rings, uint64_t wr_id, uint8_t flags)
{
	const struct rdmapmd_send_wr wr = { .wr_id = wr_id,
					    .sg_list = &eight,
					    .num_sge = 1,
					    .opcode = RDMAPMD_WR_SEND,
					    .send_flags = flags };

	assert_int_equal(rings_post(rings, &wr, 1), 1);
}

/* A WQE of three WQEBBs. */
static void
post_long(struct rings *rings, uint64_t wr_id)
{
	static uint8_t payload[RINGS_MAX_INLINE];
	const struct rdmapmd_sge sge = { (uintptr_t)payload, sizeof(payload), 0 };
	const struct rdmapmd_send_wr wr = { .wr_id = wr_id,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = RDMAPMD_WR_SEND,
					    .send_flags = RDMAPMD_SEND_INLINE };

	assert_int_equal(rings_post(rings, &wr, 1), 1);
}

static void
post_receive(struct rings *rings, uint64_t wr_id)
{
	const struct rdmapmd_recv_wr wr = { .wr_id = wr_id };

	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
}

static void
assert_flushed(struct rings *rings, uint64_t wr_id)
{
	struct rdmapmd_wc wc;

	assert_int_equal(rings_poll(rings, &wc), wr_id);
	assert_int_equal(wc.status, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.qp_num, RINGS_QPN);
	assert_int_equal(wc.vendor_err, 0);
	assert_true(wc.completion_ts == 0);
}

static void
assert_nothing(struct rings *rings)
{
	struct rdmapmd_wc wc;

	assert_int_equal(rings_poll(rings, &wc), -1);
}

static void
test_all_that_was_posted_comes_back_in_order(void **state)
{
	struct rings *rings = *state;

	post_send(rings, 1, 0);
	post_long(rings, 2);
	post_send(rings, 3, RDMAPMD_SEND_SIGNALED);
	post_receive(rings, 11);
	post_receive(rings, 12);
	assert_nothing(rings);
	atomic_store(&rings_lost, true);
	assert_flushed(rings, 1);
	assert_int_equal(rings_in_error, 1);
	assert_flushed(rings, 2);
	assert_flushed(rings, 3);
	assert_flushed(rings, 11);
	assert_flushed(rings, 12);
	assert_nothing(rings);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 0);
}

static void
test_a_burst_flushes_as_many_as_fit(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		post_send(rings, i, 0);
	post_receive(rings, 4);
	atomic_store(&rings_lost, true);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 0), 0);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 3), 3);
	assert_int_equal(wc[2].wr_id, 2);
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(wc[1].wr_id, 4);
}

static void
test_what_completed_before_is_told_first(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_wc wc;

	post_send(rings, 1, RDMAPMD_SEND_SIGNALED);
	post_send(rings, 2, RDMAPMD_SEND_SIGNALED);
	rings_complete_send(rings, 0);
	atomic_store(&rings_lost, true);
	/* A burst of nothing finds nothing out. */
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, &wc, 0), 0);
	assert_int_equal(rings_poll(rings, &wc), 1);
	assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
	assert_flushed(rings, 2);
	assert_nothing(rings);
}

/* A device that was taken for lost and goes on: its entries would stand for requests that came later. */
static void
test_entries_that_come_late_are_not_believed(void **state)
{
	struct rings *rings = *state;

	post_send(rings, 1, RDMAPMD_SEND_SIGNALED);
	atomic_store(&rings_lost, true);
	assert_flushed(rings, 1);
	rings_complete_send(rings, 0);
	assert_nothing(rings);
	post_send(rings, 2, RDMAPMD_SEND_SIGNALED);
	assert_flushed(rings, 2);
	assert_nothing(rings);
}

static void
test_posting_goes_on_around_the_rings(void **state)
{
	struct rings *rings = *state;
	unsigned int i;

	/* Next to the wrap of all that counts. */
	rings_start_at(rings, UINT32_MAX - 7, 0);
	atomic_store(&rings_lost, true);
	for (i = 0; i < 40; i++) {
		if (i % 3 == 0)
			post_long(rings, 100 + i);
		else
			post_send(rings, 100 + i, 0);
		post_receive(rings, 200 + i);
		assert_flushed(rings, 100 + i);
		assert_flushed(rings, 200 + i);
	}
	assert_nothing(rings);
}

static void
test_a_full_queue_is_flushed(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	unsigned int i;

	for (i = 0; i < RINGS_MAX_POST; i++)
		post_send(rings, i, 0);
	assert_int_equal(rings_post(rings, &nop, 1), 0);
	assert_int_equal(rings->qp.qp.post_send_error, -ENOMEM);
	atomic_store(&rings_lost, true);
	for (i = 0; i < RINGS_MAX_POST; i++)
		assert_flushed(rings, i);
	assert_nothing(rings);
}

/* The driver's own NOP behind unsignaled requests. */
static void
test_the_drivers_own_requests_are_not_told(void **state)
{
	struct rings *rings = *state;

	post_send(rings, 1, 0);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 2);
	atomic_store(&rings_lost, true);
	assert_flushed(rings, 1);
	assert_nothing(rings);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 0);
}

static void
test_each_cq_flushes_what_completes_into_it(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_cq other = { 0 };

	rings->qp.qp.recv_cq = &other;
	post_send(rings, 1, 0);
	post_receive(rings, 2);
	atomic_store(&rings_lost, true);
	assert_flushed(rings, 1);
	assert_nothing(rings);
	rings->qp.qp.recv_cq = &rings->cq.cq;
	rings->qp.qp.send_cq = &other;
	assert_flushed(rings, 2);
}

/* Arming waits for what will not come: an event at once, if there is something to be had. */
static void
test_arming_wakes_if_something_waits(void **state)
{
	struct rings *rings = *state;

	post_send(rings, 1, 0);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	assert_int_equal(rings_woken, 0);
	atomic_store(&rings_lost, true);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	assert_int_equal(rings_woken, 1);
	assert_flushed(rings, 1);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, false), 0);
	assert_int_equal(rings_woken, 1);
	post_receive(rings, 2);
	assert_int_equal(rnic_rdma_req_notify_cq(&rings->cq.cq, true), 0);
	assert_int_equal(rings_woken, 2);
}

static const struct CMUnitTest tests[] = {
	RINGS_TEST(test_all_that_was_posted_comes_back_in_order),
	RINGS_TEST(test_a_burst_flushes_as_many_as_fit),
	RINGS_TEST(test_what_completed_before_is_told_first),
	RINGS_TEST(test_entries_that_come_late_are_not_believed),
	RINGS_TEST(test_posting_goes_on_around_the_rings),
	RINGS_TEST(test_a_full_queue_is_flushed),
	RINGS_TEST(test_the_drivers_own_requests_are_not_told),
	RINGS_TEST(test_each_cq_flushes_what_completes_into_it),
	RINGS_TEST(test_arming_wakes_if_something_waits),
};

PLAIN_MAIN("rdma_flush", tests)
