/* SPDX-License-Identifier: BSD-3-Clause */

/* The life of RDMA objects: who holds whom, what a failure leaves behind, closing, several threads. */

#include "rdma_fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>

/* ---- What the library asks the system, answered here ---- */

static bool no_memory, no_descriptors;

void *
aligned_alloc(size_t align, size_t size)
{
	void *memory;

	return no_memory || posix_memalign(&memory, align, size) != 0 ? NULL : memory;
}

int
eventfd(unsigned int count, int flags)
{
	if (no_descriptors) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_eventfd2, count, flags);
}

/* ---- References ---- */

/* Dependants before what they depend on; each goes. */
static void
destroy_all(struct fake_set *set)
{
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(set->srq), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), 0);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), 0);
	assert_int_equal(rdmapmd_mr_dereg(set->mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), 0);
}

static void
test_dependants_hold_back_destruction(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_qp_init_attr attr;

	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY);		      /* MR, SRQ, QP */
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), -EBUSY); /* CQ */
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EBUSY);		      /* QP, twice */
	assert_int_equal(rdmapmd_srq_destroy(set->srq), -EBUSY);	      /* QP */
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EBUSY);		      /* QP */
	assert_int_equal(rdmapmd_mr_dereg(set->mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY); /* SRQ, QP */
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY); /* SRQ */
	assert_int_equal(rdmapmd_srq_destroy(set->srq), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), 0);
	/* A QP alone. */
	set->srq = NULL;
	set->td = NULL;
	attr = fake_qp_attr(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), 0);
	assert_int_equal(fake->alive, 1); /* the context */
}

static void
test_a_refused_destruction_asks_no_driver(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	unsigned int calls;

	calls = fake->call_count;
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EBUSY);
	assert_int_equal(rdmapmd_srq_destroy(set->srq), -EBUSY);
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EBUSY);
	fake_assert_calls(fake, calls, "");
}

static void
test_objects_of_two_contexts_do_not_mix(void **state)
{
	struct fake_set *one = *state, two;
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1 };
	struct rdmapmd_qp_init_attr attrs[6];
	struct rdmapmd_qp *qp = NULL;
	struct rdmapmd_cq *cq = NULL;
	unsigned int calls, i;

	fake_open_all(one->fake, &two);
	calls = one->fake->call_count;
	for (i = 0; i < RTE_DIM(attrs); i++)
		attrs[i] = fake_qp_attr(one);
	attrs[0].send_cq = two.cq;
	attrs[1].recv_cq = two.cq;
	attrs[2].srq = two.srq;
	attrs[3].td = attrs[4].td = two.td;
	attrs[4].srq = NULL;
	for (i = 0; i < RTE_DIM(attrs); i++)
		assert_int_equal(rdmapmd_qp_create(i < 5 ? one->pd : two.pd, &attrs[i], &qp),
				 -EINVAL);
	cq_attr.channel = two.channel;
	assert_int_equal(rdmapmd_cq_create(one->context, &cq_attr, &cq), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(one->mr, RDMAPMD_REREG_MR_CHANGE_PD, two.pd, NULL, 0, 0),
			 -EINVAL);
	assert_null(rdmapmd_qp_find(one->context, two.qp->qp_num));
	assert_null(qp);
	assert_null(cq);
	fake_assert_calls(one->fake, calls, "");
	/* No reference stayed: what has no dependants goes. */
	destroy_all(&two);
	assert_int_equal(rdmapmd_context_close(two.context), 0);
	/* The other context is as it was. */
	assert_int_equal(rdmapmd_qp_state(one->qp), RDMAPMD_QPS_RESET);
}

/* What is asked of a queue pair that is gone; the next ones as well. */
static void
refused_queue_pair(struct fake_set *set)
{
	struct rdmapmd_async_event event = { .event_type = RDMAPMD_EVENT_QP_FATAL };
	struct rdmapmd_qp_attr attr = { 0 };
	struct rdmapmd_qp_sizing sizing;

	assert_int_equal(rdmapmd_qp_destroy(set->qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_modify(set->qp, &attr, RDMAPMD_QP_STATE), -EINVAL);
	assert_int_equal(rdmapmd_qp_query(set->qp, &attr, NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_state(set->qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_drain(set->qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_sizing_query(set->qp, &sizing), -EINVAL);
	event.element.qp = set->qp;
	assert_int_equal(rdmapmd_async_event_ack(set->context, &event), -EINVAL);
}

static void
refused_srq(struct fake_set *set)
{
	struct rdmapmd_srq_attr size = { 0 };

	assert_int_equal(rdmapmd_srq_destroy(set->srq), -EINVAL);
	assert_int_equal(rdmapmd_srq_modify(set->srq, &size, 0), -EINVAL);
	assert_int_equal(rdmapmd_srq_query(set->srq, &size), -EINVAL);
}

static void
refused_cq_and_channel(struct fake_set *set)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 1, .channel = set->channel };

	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EINVAL);
	assert_int_equal(rdmapmd_cq_resize(set->cq, 4), -EINVAL);
	assert_int_equal(rdmapmd_cq_moderate(set->cq, 1, 1), -EINVAL);
	assert_int_equal(rdmapmd_cq_status(set->cq), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, 0), -EINVAL);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), -EINVAL);
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &set->cq), -EINVAL);
	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &set->cq), -EINVAL);
}

static void
refused_memory_and_domain(struct fake_set *set)
{
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_dereg(set->mr), 0);
	assert_int_equal(rdmapmd_mr_dereg(set->mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(set->mr, 1, set->pd, fake_memory, 1, 0), -EINVAL);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set->pd, fake_memory, 1, 0, &mr), -EINVAL);
	assert_int_equal(rdmapmd_srq_create(set->pd, &srq_attr, &set->srq), -EINVAL);
}

static void
refused_context(struct fake_set *set)
{
	struct rdmapmd_async_event event;

	assert_int_equal(rdmapmd_context_close(set->context), -EINVAL);
	assert_int_equal(rdmapmd_pd_alloc(set->context, &set->pd), -EINVAL);
	assert_int_equal(rdmapmd_td_alloc(set->context, &set->td), -EINVAL);
	assert_int_equal(rdmapmd_comp_channel_create(set->context, &set->channel), -EINVAL);
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), -EINVAL);
	assert_int_equal(rdmapmd_async_event_fd(set->context), -EINVAL);
}

/* Also as what another queue pair would be made of. */
static void
test_destroyed_objects_are_refused(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	const uint32_t qp_num = set->qp->qp_num;

	assert_ptr_equal(rdmapmd_qp_find(set->context, qp_num), set->qp);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_null(rdmapmd_qp_find(set->context, qp_num));
	refused_queue_pair(set);

	assert_int_equal(rdmapmd_srq_destroy(set->srq), 0);
	refused_srq(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->qp), -EINVAL);
	attr.srq = NULL;

	assert_int_equal(rdmapmd_td_dealloc(set->td), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->qp), -EINVAL);
	attr.td = NULL;

	assert_int_equal(rdmapmd_cq_destroy(set->cq), 0);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->qp), -EINVAL);
	refused_cq_and_channel(set);
	refused_memory_and_domain(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &set->qp), -EINVAL);

	assert_int_equal(rdmapmd_context_close(set->context), 0);
	refused_context(set);
	assert_null(rdmapmd_qp_find(set->context, qp_num));
	set->context = NULL;
}

static void
test_null_is_refused(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr = { 0 };
	struct rdmapmd_qp *qp = NULL;

	assert_int_equal(rdmapmd_pd_alloc(NULL, &set->pd), -EINVAL);
	assert_int_equal(rdmapmd_pd_alloc(set->context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_pd_dealloc(NULL), -EINVAL);
	assert_int_equal(rdmapmd_td_alloc(NULL, &set->td), -EINVAL);
	assert_int_equal(rdmapmd_td_alloc(set->context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_td_dealloc(NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set->pd, NULL, &qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, NULL), -EINVAL);
	attr = fake_qp_attr(set);
	attr.send_cq = NULL;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -EINVAL);
	attr = fake_qp_attr(set);
	attr.recv_cq = NULL;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -EINVAL);
	assert_int_equal(rdmapmd_cq_create(set->context, NULL, &set->cq), -EINVAL);
	assert_int_equal(rdmapmd_qp_modify(set->qp, NULL, 0), -EINVAL);
	assert_int_equal(rdmapmd_context_close(NULL), -EINVAL);
}

/* ---- Errors of the driver ---- */

static const char *const creates[] = { "pd_alloc",  "td_alloc",	  "mr_reg",
				       "cq_create", "srq_create", "qp_create" };

static int
create_something(struct fake_set *set, const char *call)
{
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1, .channel = set->channel };
	struct rdmapmd_qp_init_attr qp_attr = fake_qp_attr(set);

	if (strcmp(call, "pd_alloc") == 0)
		return rdmapmd_pd_alloc(set->context, &set->pd);
	if (strcmp(call, "td_alloc") == 0)
		return rdmapmd_td_alloc(set->context, &set->td);
	if (strcmp(call, "mr_reg") == 0)
		return rdmapmd_mr_reg(set->pd, fake_memory, 4096, 0, &set->mr);
	if (strcmp(call, "cq_create") == 0)
		return rdmapmd_cq_create(set->context, &cq_attr, &set->cq);
	if (strcmp(call, "srq_create") == 0)
		return rdmapmd_srq_create(set->pd, &srq_attr, &set->srq);
	return rdmapmd_qp_create(set->pd, &qp_attr, &set->qp);
}

static void
test_a_create_that_fails_leaves_nothing(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct fake_set before;
	unsigned int i;
	int alive;

	for (i = 0; i < RTE_DIM(creates); i++) {
		before = *set;
		alive = fake->alive;
		fake->fail = creates[i];
		fake->error = -ENOSPC;
		assert_int_equal(create_something(set, creates[i]), -ENOSPC);
		assert_int_equal(fake->alive, alive);
		/* The result is not touched. */
		assert_memory_equal(set, &before, sizeof(*set));
		fake->fail = NULL;
	}
	/* No dependency stayed behind. */
	destroy_all(set);
}

static void
test_a_driver_that_gives_a_number_twice(void **state)
{
	static const char *const calls[] = { "cq_create", "srq_create", "qp_create" };
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct fake_set first;
	unsigned int i;
	int alive;

	fake->same_numbers = true;
	for (i = 0; i < RTE_DIM(calls); i++) {
		assert_int_equal(create_something(set, calls[i]), 0);
		first = *set;
		alive = fake->alive;
		assert_int_equal(create_something(set, calls[i]), -EIO);
		assert_int_equal(fake->alive, alive);
		assert_memory_equal(set, &first, sizeof(*set));
	}
	assert_ptr_equal(rdmapmd_qp_find(set->context, 7), first.qp);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
}

static void
test_no_memory_and_no_descriptors(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_context *context;
	unsigned int i;
	int alive;

	alive = fake->alive;
	no_memory = true;
	for (i = 0; i < RTE_DIM(creates); i++)
		assert_int_equal(create_something(set, creates[i]), -ENOMEM);
	assert_int_equal(rdmapmd_comp_channel_create(set->context, &channel), -ENOMEM);
	assert_int_equal(rdmapmd_device_open(fake->device, &context), -ENOMEM);
	no_memory = false;
	no_descriptors = true;
	assert_int_equal(rdmapmd_comp_channel_create(set->context, &channel), -EMFILE);
	assert_int_equal(rdmapmd_device_open(fake->device, &context), -EMFILE);
	no_descriptors = false;
	assert_int_equal(fake->alive, alive);
	/* No dependency stayed behind. */
	destroy_all(set);
}

static void
test_a_destroy_that_fails_in_the_device_is_told_and_done(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;

	fake->error = -ETIMEDOUT;
	fake->fail = "qp_destroy";
	assert_int_equal(rdmapmd_qp_destroy(set->qp), -ETIMEDOUT);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), -EINVAL);
	/* It holds nothing back any more. */
	fake->fail = "srq_destroy";
	assert_int_equal(rdmapmd_srq_destroy(set->srq), -ETIMEDOUT);
	fake->fail = "td_dealloc";
	assert_int_equal(rdmapmd_td_dealloc(set->td), -ETIMEDOUT);
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EINVAL);
	fake->fail = "cq_destroy";
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -ETIMEDOUT);
	fake->fail = "mr_dereg";
	assert_int_equal(rdmapmd_mr_dereg(set->mr), -ETIMEDOUT);
	fake->fail = "pd_dealloc";
	assert_int_equal(rdmapmd_pd_dealloc(set->pd), -ETIMEDOUT);
	assert_int_equal(rdmapmd_comp_channel_destroy(set->channel), 0);
	fake->fail = "context_close";
	assert_int_equal(rdmapmd_context_close(set->context), -ETIMEDOUT);
	assert_int_equal(rdmapmd_context_close(set->context), -EINVAL);
	set->context = NULL;
}

/* ---- Close ---- */

static void
test_close_destroys_dependants_first(void **state)
{
	struct fake_set *set = *state;
	const unsigned int calls = set->fake->call_count;

	assert_int_equal(rdmapmd_context_close(set->context), 0);
	fake_assert_calls(set->fake, calls,
			  "qp_destroy srq_destroy cq_destroy mr_dereg td_dealloc pd_dealloc "
			  "context_close");
	set->context = NULL;
}

static void
test_close_goes_on_when_the_device_fails(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;

	fake->fail = "cq_destroy";
	fake->error = -EIO;
	assert_int_equal(rdmapmd_context_close(set->context), -EIO);
	assert_int_equal(fake->alive, 0);
	set->context = NULL;
}

/* ---- Threads ---- */

#define THREADS 4

struct worker {
	pthread_t thread;
	struct fake *fake;
	struct rdmapmd_context *context; /* shared by all, or NULL: one's own */
	int errors;
};

static int
one_round(struct fake *fake, struct rdmapmd_context *context)
{
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT, .port_num = 1 };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1 };
	struct fake_set set = { .fake = fake, .context = context };
	struct rdmapmd_qp_init_attr qp_attr;
	int errors = 0;

	errors += rdmapmd_pd_alloc(context, &set.pd) != 0;
	errors += rdmapmd_comp_channel_create(context, &set.channel) != 0;
	cq_attr.channel = set.channel;
	errors += rdmapmd_cq_create(context, &cq_attr, &set.cq) != 0;
	qp_attr = fake_qp_attr(&set);
	errors += rdmapmd_qp_create(set.pd, &qp_attr, &set.qp) != 0;
	errors += rdmapmd_qp_modify(set.qp, &attr,
				    RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
					    RDMAPMD_QP_ACCESS_FLAGS) != 0;
	errors += rdmapmd_qp_state(set.qp) != RDMAPMD_QPS_INIT;
	rdmapmd_device_completion_event(fake->device, set.cq->cqn);
	rdmapmd_device_object_event(fake->device, RDMAPMD_EVENT_COMM_EST, set.qp->qp_num);
	errors += rdmapmd_qp_destroy(set.qp) != 0;
	errors += rdmapmd_cq_destroy(set.cq) != 0;
	errors += rdmapmd_comp_channel_destroy(set.channel) != 0;
	errors += rdmapmd_pd_dealloc(set.pd) != 0;
	return errors;
}

static void *
work(void *arg)
{
	struct worker *worker = arg;
	struct rdmapmd_context *context = worker->context;
	int round;

	for (round = 0; round < 100; round++) {
		if (worker->context == NULL)
			worker->errors += rdmapmd_device_open(worker->fake->device, &context) != 0;
		worker->errors += one_round(worker->fake, context);
		if (worker->context == NULL)
			worker->errors += rdmapmd_context_close(context) != 0;
	}
	return NULL;
}

static void
test_many_threads(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct worker workers[THREADS] = { 0 };
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		workers[i].fake = fake;
		workers[i].context = i % 2 ? set->context : NULL;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].errors, 0);
	}
	assert_int_equal(fake->alive, 1);
}

static void
test_a_thousand_queue_pairs(void **state)
{
	static struct rdmapmd_qp *qps[1024];
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr;
	unsigned int i;

	for (i = 0; i < RTE_DIM(qps); i++) {
		attr = fake_qp_attr(set);
		assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qps[i]), 0);
	}
	for (i = 0; i < RTE_DIM(qps); i++)
		assert_ptr_equal(rdmapmd_qp_find(set->context, qps[i]->qp_num), qps[i]);
	for (i = 0; i < RTE_DIM(qps); i += 2)
		assert_int_equal(rdmapmd_qp_destroy(qps[i]), 0);
}

static const struct CMUnitTest tests[] = {
	FAKE_TEST(test_dependants_hold_back_destruction),
	FAKE_TEST(test_a_refused_destruction_asks_no_driver),
	FAKE_TEST(test_objects_of_two_contexts_do_not_mix),
	FAKE_TEST(test_destroyed_objects_are_refused),
	FAKE_TEST(test_null_is_refused),
	FAKE_TEST(test_a_create_that_fails_leaves_nothing),
	FAKE_TEST(test_a_driver_that_gives_a_number_twice),
	FAKE_TEST(test_no_memory_and_no_descriptors),
	FAKE_TEST(test_a_destroy_that_fails_in_the_device_is_told_and_done),
	FAKE_TEST(test_close_destroys_dependants_first),
	FAKE_TEST(test_close_goes_on_when_the_device_fails),
	FAKE_CONTEXT_TEST(test_many_threads),
	FAKE_TEST(test_a_thousand_queue_pairs),
};

FAKE_MAIN("rdma_object", tests)
