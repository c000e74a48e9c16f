/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues, shared receive queues, and that bursts reach the driver. */

#include "rdma_fake.h"

#include <rte_common.h>

/* ---- CQ and SRQ ---- */

static void
test_sizes_of_completion_queues(void **state)
{
	static const struct {
		uint32_t asked;
		uint8_t log_size;
	} sizes[] = { { 1, 1 },
		      { 2, 2 },
		      { 3, 2 },
		      { 4, 3 },
		      { 127, 7 },
		      { 128, 8 },
		      { (1u << 22) - 1, 22 } };
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_cq_init_attr attr = { 0 };
	struct rdmapmd_cq *cq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		attr.cqe = sizes[i].asked;
		assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), 0);
		assert_int_equal(fake->cq.log_size, sizes[i].log_size);
		assert_int_equal(cq->cqe, (1u << sizes[i].log_size) - 1);
		assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	}
	attr.cqe = 0;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), -EINVAL);
	attr.cqe = 1u << 22;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), -EINVAL);
	attr.cqe = UINT32_MAX;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), -EINVAL);
	attr.cqe = 1;
	attr.comp_vector = 4;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), -EINVAL);
	attr.comp_vector = 3;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), 0);
	assert_int_equal(fake->cq.comp_vector, 3);
}

static void
test_completion_timestamps(void **state)
{
	const uint32_t known = RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP;
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1 };
	struct rdmapmd_cq *cq;
	uint32_t flag;

	assert_int_equal(known, 1 << 7); /* IBV_WC_EX_WITH_COMPLETION_TIMESTAMP */
	fake->cq.timestamps = true;
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), 0);
	assert_false(fake->cq.timestamps);
	for (flag = 1; flag != 0; flag <<= 1) {
		attr.wc_flags = flag;
		assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq),
				 flag == known ? 0 : -EINVAL);
	}
	assert_true(fake->cq.timestamps);
}

static void
test_resize_and_moderation(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;

	assert_int_equal(rdmapmd_cq_resize(set->cq, 100), 0);
	assert_int_equal(set->cq->cqe, 127);
	assert_int_equal(rdmapmd_cq_resize(set->cq, 0), -EINVAL);
	fake->fail = "cq_resize";
	fake->error = -EINVAL;
	assert_int_equal(rdmapmd_cq_resize(set->cq, 1), -EINVAL);
	assert_int_equal(set->cq->cqe, 127);
	assert_int_equal(rdmapmd_cq_moderate(set->cq, 8, 16), 0);
	assert_int_equal(fake->count, 8);
	assert_int_equal(fake->period_us, 16);
	fake->ops.cq_resize = NULL;
	fake->ops.cq_moderate = NULL;
	assert_int_equal(rdmapmd_cq_resize(set->cq, 1), -ENOTSUP);
	assert_int_equal(rdmapmd_cq_moderate(set->cq, 1, 1), -ENOTSUP);
}

static void
test_bursts_reach_the_driver(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_recv_wr recv[2] = { 0 };
	struct rdmapmd_send_wr send[2] = { 0 };
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_wc wc[3];
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_post_send(set->qp, send, 2), 2);
	assert_int_equal(rdmapmd_post_srq_recv(set->srq, recv, 2), 2);
	assert_int_equal(rdmapmd_poll_cq(set->cq, wc, 3), 3);
	assert_int_equal(rdmapmd_req_notify_cq(set->cq, true), 1);
	/* With an SRQ there is no receive queue. */
	assert_int_equal(rdmapmd_post_recv(set->qp, recv, 2), 0);
	assert_int_equal(set->qp->post_recv_error, -EINVAL);
	/* A queue of no size takes nothing. */
	set->srq = NULL;
	attr = fake_qp_attr(set);
	attr.cap.max_send_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	assert_int_equal(rdmapmd_post_send(qp, send, 1), 0);
	assert_int_equal(qp->post_send_error, -EINVAL);
	assert_int_equal(rdmapmd_post_recv(qp, recv, 2), 2);
	/* What bursts read lies on a cache line's beginning. */
	assert_int_equal((uintptr_t)qp % 64, 0);
	assert_int_equal(sizeof(struct rdmapmd_send_wr), 64);
	assert_int_equal(sizeof(struct rdmapmd_wc), 40);
}

static void
test_shared_receive_queues(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 4 },
					      .srq_context = &fake };
	struct rdmapmd_srq_attr attr = { .srq_limit = 10 };
	struct rdmapmd_srq *srq;

	assert_int_equal(rdmapmd_pd_alloc(set->context, &set->pd), 0);
	assert_int_equal(rdmapmd_srq_create(set->pd, &init, &srq), 0);
	/* A next segment and 4 data segments are 80 bytes: 128, room for 7. 100 and the end of the list: 128. */
	assert_int_equal(fake->srq_sizing.wqe_size, 128);
	assert_int_equal(fake->srq_sizing.wqe_count, 128);
	assert_int_equal(init.attr.max_wr, 127);
	assert_int_equal(init.attr.max_sge, 7);
	assert_ptr_equal(srq->srq_context, &fake);

	assert_int_equal(rdmapmd_srq_modify(srq, &attr, RDMAPMD_SRQ_LIMIT), 0);
	assert_int_equal(rdmapmd_srq_query(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 127);
	assert_int_equal(attr.max_sge, 7);
	assert_int_equal(attr.srq_limit, 10);
	attr.srq_limit = 128;
	assert_int_equal(rdmapmd_srq_modify(srq, &attr, RDMAPMD_SRQ_LIMIT), -EINVAL);
	assert_int_equal(rdmapmd_srq_modify(srq, &attr, 4), -EINVAL);
	attr.max_wr = 200;
	assert_int_equal(rdmapmd_srq_modify(srq, &attr, RDMAPMD_SRQ_LIMIT | RDMAPMD_SRQ_MAX_WR), 0);
	assert_int_equal(fake->srq_sizing.wqe_count, 256);
	assert_int_equal(fake->srq_sizing.wqe_size, 128);
	assert_int_equal(fake->limit, 128);
	fake->ops.srq_resize = NULL;
	assert_int_equal(rdmapmd_srq_modify(srq, &attr, RDMAPMD_SRQ_MAX_WR), -ENOTSUP);

	init.attr = (struct rdmapmd_srq_attr){ .max_wr = 0, .max_sge = 1 };
	assert_int_equal(rdmapmd_srq_create(set->pd, &init, &srq), -EINVAL);
	init.attr = (struct rdmapmd_srq_attr){ .max_wr = 32768, .max_sge = 1 };
	assert_int_equal(rdmapmd_srq_create(set->pd, &init, &srq), -EINVAL);
	init.attr = (struct rdmapmd_srq_attr){ .max_wr = 1, .max_sge = 32 };
	assert_int_equal(rdmapmd_srq_create(set->pd, &init, &srq), -EINVAL);
}

/* A second device of the driver's, which has these operations. */
static struct rdmapmd_device *
open_second(const struct rdmapmd_driver_ops *ops, struct fake *fake,
	    struct rdmapmd_context **context)
{
	struct rdmapmd_device *device;

	assert_int_equal(rdmapmd_device_register("second", "fake", fake, &device), 0);
	assert_int_equal(rdmapmd_device_offer(device, ops), 0);
	assert_int_equal(rdmapmd_device_open(device, context), 0);
	return device;
}

static void
test_a_device_without_srqs(void **state)
{
	struct fake *fake = ((struct fake_set *)*state)->fake;
	struct rdmapmd_srq_init_attr init = { .attr = { .max_wr = 1 } };
	struct rdmapmd_driver_ops ops = fake->ops;
	struct rdmapmd_context *context;
	struct rdmapmd_device *device;
	struct rdmapmd_srq *srq;
	struct rdmapmd_pd *pd;

	ops.srq_create = NULL;
	ops.srq_arm = NULL;
	ops.srq_query = NULL;
	ops.srq_destroy = NULL;
	ops.srq_size = 0;
	device = open_second(&ops, fake, &context);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	assert_int_equal(rdmapmd_srq_create(pd, &init, &srq), -ENOTSUP);
	assert_int_equal(rdmapmd_context_close(context), 0);
	rdmapmd_device_unregister(device);
}

static void
test_a_device_without_timestamps(void **state)
{
	struct fake *fake = ((struct fake_set *)*state)->fake;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1,
					     .wc_flags = RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct rdmapmd_driver_ops ops = fake->ops;
	struct rdmapmd_context *context;
	struct rdmapmd_device *device;
	struct rdmapmd_cq *cq;
	uint64_t clock = 7;

	fake->attr.completion_timestamp_mask = 0;
	ops.clock_read = NULL;
	device = open_second(&ops, fake, &context);
	fake->cq.log_size = 0xff;
	assert_int_equal(rdmapmd_cq_create(context, &attr, &cq), -ENOTSUP);
	assert_int_equal(fake->cq.log_size, 0xff);
	attr.wc_flags = 0;
	assert_int_equal(rdmapmd_cq_create(context, &attr, &cq), 0);
	assert_int_equal(rdmapmd_device_clock_read(context, &clock), -ENOTSUP);
	assert_int_equal(clock, 7);
	assert_int_equal(rdmapmd_context_close(context), 0);
	rdmapmd_device_unregister(device);
}

static void
test_a_device_without_thread_domains(void **state)
{
	struct fake *fake = ((struct fake_set *)*state)->fake;
	struct rdmapmd_driver_ops ops = fake->ops;
	struct rdmapmd_context *context;
	struct rdmapmd_device *device;
	struct rdmapmd_td *td;

	ops.td_alloc = NULL;
	ops.td_dealloc = NULL;
	ops.td_size = 0;
	device = open_second(&ops, fake, &context);
	assert_int_equal(rdmapmd_td_alloc(context, &td), -ENOTSUP);
	assert_int_equal(rdmapmd_context_close(context), 0);
	rdmapmd_device_unregister(device);
}

static void
test_queue_pairs_of_a_thread_domain(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp *second, *other;

	assert_true(set->td->dedicated);
	assert_ptr_equal(set->td->context, set->context);
	assert_ptr_equal(set->qp->td, set->td);
	attr = fake_qp_attr(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &second), 0);
	assert_ptr_equal(fake->qp_init.td, set->td);
	attr.td = NULL;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &other), 0);
	assert_null(other->td);
	/* The last one that leaves lets it go. */
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(second), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), 0);
}

static void
test_every_status_has_a_name(void **state)
{
	unsigned int i;

	(void)state;
	assert_string_equal(rdmapmd_wc_status_str(RDMAPMD_WC_SUCCESS), "success");
	for (i = 0; i <= RDMAPMD_WC_GENERAL_ERR; i++)
		assert_string_not_equal(rdmapmd_wc_status_str((enum rdmapmd_wc_status)i),
					"unknown");
	assert_string_equal(
		rdmapmd_wc_status_str((enum rdmapmd_wc_status)(RDMAPMD_WC_GENERAL_ERR + 1)),
		"unknown");
}

static const struct CMUnitTest tests[] = {
	FAKE_CONTEXT_TEST(test_sizes_of_completion_queues),
	FAKE_CONTEXT_TEST(test_completion_timestamps),
	FAKE_TEST(test_resize_and_moderation),
	FAKE_TEST(test_bursts_reach_the_driver),
	FAKE_CONTEXT_TEST(test_shared_receive_queues),
	FAKE_CONTEXT_TEST(test_a_device_without_srqs),
	FAKE_CONTEXT_TEST(test_a_device_without_timestamps),
	FAKE_CONTEXT_TEST(test_a_device_without_thread_domains),
	FAKE_TEST(test_queue_pairs_of_a_thread_domain),
	cmocka_unit_test(test_every_status_has_a_name),
};

FAKE_MAIN("rdma_queue", tests)
