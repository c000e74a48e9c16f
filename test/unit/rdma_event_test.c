/* SPDX-License-Identifier: BSD-3-Clause */

/* Asynchronous and completion events: descriptors, order, acknowledgement, and what they hold back. */

#include "rdma_fake.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_common.h>

static bool
is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLIN);
}

static void
raise_qp(struct fake_set *set, enum rdmapmd_event_type type)
{
	rdmapmd_device_object_event(set->fake->device, type, set->qp->qp_num);
}

static enum rdmapmd_event_type
take(struct fake_set *set)
{
	struct rdmapmd_async_event event;

	assert_int_equal(rdmapmd_async_event_get(set->context, &event), 0);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
	return event.event_type;
}

/* ---- Asynchronous events ---- */

static void
test_every_event_reaches_its_object(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;
	unsigned int type;

	for (type = 0; type < RDMAPMD_EVENT_COUNT; type++) {
		const enum rdmapmd_event_type t = (enum rdmapmd_event_type)type;

		/* Each of them with each number: the type says whose it is. */
		rdmapmd_device_object_event(set->fake->device, t, set->cq->cqn);
		rdmapmd_device_object_event(set->fake->device, t, set->srq->srqn);
		raise_qp(set, t);
		rdmapmd_device_event(set->fake->device, t, 2);
		assert_int_equal(rdmapmd_async_event_get(set->context, &event), 0);
		assert_int_equal(event.event_type, type);
		if (type <= RDMAPMD_EVENT_CQ_ERR)
			assert_ptr_equal(event.element.cq, set->cq);
		else if (type <= RDMAPMD_EVENT_QP_LAST_WQE_REACHED)
			assert_ptr_equal(event.element.qp, set->qp);
		else if (type <= RDMAPMD_EVENT_SRQ_LIMIT_REACHED)
			assert_ptr_equal(event.element.srq, set->srq);
		else if (type <= RDMAPMD_EVENT_RESOLVED)
			assert_int_equal(event.element.port_num, 2);
		assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
		assert_int_equal(rdmapmd_async_event_get(set->context, &event), -EAGAIN);
		assert_string_not_equal(rdmapmd_event_type_str(t), "unknown");
	}
	assert_string_equal(rdmapmd_event_type_str(RDMAPMD_EVENT_COUNT), "unknown");
}

static void
test_events_of_nobody_are_passed_over(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;

	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_QP_FATAL, 0xabcdef);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_COUNT, set->qp->qp_num);
	rdmapmd_device_object_event(set->fake->device, (enum rdmapmd_event_type) - 1, 1);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ERR, 0);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ERR, 3);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_COUNT, 1);
	rdmapmd_device_completion_event(set->fake->device, 0xabcdef);
	/* A QP's number is no CQ's. */
	rdmapmd_device_completion_event(set->fake->device, set->qp->qp_num);
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), -EAGAIN);
	assert_false(is_readable(rdmapmd_async_event_fd(set->context)));
	assert_false(is_readable(set->channel->fd));
}

static void
test_events_come_in_order_and_once(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;

	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ACTIVE, 1);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
	raise_qp(set, RDMAPMD_EVENT_SQ_DRAINED);
	/* The port came back: that is the last word on it. */
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ACTIVE, 1);
	assert_int_equal(take(set), RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(take(set), RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(take(set), RDMAPMD_EVENT_SQ_DRAINED);
	assert_int_equal(take(set), RDMAPMD_EVENT_PORT_ACTIVE);
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), -EAGAIN);
	/* Once taken it can come again. */
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(take(set), RDMAPMD_EVENT_COMM_EST);
}

static void
test_the_descriptor_is_readable_while_events_wait(void **state)
{
	struct fake_set *set = *state;
	const int fd = rdmapmd_async_event_fd(set->context);

	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	raise_qp(set, RDMAPMD_EVENT_SQ_DRAINED);
	assert_true(is_readable(fd));
	take(set);
	assert_true(is_readable(fd));
	take(set);
	assert_false(is_readable(fd));
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_true(is_readable(fd));
	take(set);
}

static void
test_an_edge_triggered_wait(void **state)
{
	struct fake_set *set = *state;
	struct epoll_event want = { .events = EPOLLIN | EPOLLET }, got;
	struct rdmapmd_async_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC), round;

	assert_int_equal(
		epoll_ctl(epoll, EPOLL_CTL_ADD, rdmapmd_async_event_fd(set->context), &want), 0);
	for (round = 0; round < 3; round++) {
		raise_qp(set, RDMAPMD_EVENT_COMM_EST);
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 1);
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 0);
		while (rdmapmd_async_event_get(set->context, &event) == 0)
			assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
	}
	close(epoll);
}

static void
test_unacknowledged_events_hold_back_destruction(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event of_qp, of_srq, of_cq;

	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(set->context, &of_qp), 0);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_SRQ_LIMIT_REACHED,
				    set->srq->srqn);
	assert_int_equal(rdmapmd_async_event_get(set->context, &of_srq), 0);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_CQ_ERR, set->cq->cqn);
	assert_int_equal(rdmapmd_async_event_get(set->context, &of_cq), 0);

	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_destroy(set->qp), -EBUSY);
	fake_assert_calls(set->fake, 0, "");
	assert_int_equal(rdmapmd_async_event_ack(set->context, &of_qp), 0);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &of_qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(set->srq), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &of_srq), 0);
	assert_int_equal(rdmapmd_srq_destroy(set->srq), 0);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &of_cq), 0);
	assert_int_equal(rdmapmd_cq_destroy(set->cq), 0);
}

static void
test_each_event_that_was_taken_counts(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event one, two;

	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(set->context, &one), 0);
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(set->context, &two), 0);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &one), 0);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &two), 0);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
}

static void
test_events_that_were_not_taken_go_with_their_object(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;
	uint32_t qp_num = set->qp->qp_num;

	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	/* One that was under way meanwhile. */
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_QP_FATAL, qp_num);
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), -EAGAIN);
	assert_false(is_readable(rdmapmd_async_event_fd(set->context)));
}

static void
test_events_do_not_hold_back_a_close(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;
	struct fake_set other;

	fake_open_all(set->fake, &other);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_COMM_EST, other.qp->qp_num);
	assert_int_equal(rdmapmd_async_event_get(other.context, &event), 0);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_SQ_DRAINED, other.qp->qp_num);
	assert_int_equal(rdmapmd_context_close(other.context), 0);
}

static void
test_events_go_to_the_context_they_are_of(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_async_event event;
	struct fake_set other;

	fake_open_all(set->fake, &other);
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(other.context, &event), -EAGAIN);
	/* Acknowledged with another context: no. */
	assert_int_equal(rdmapmd_async_event_get(set->context, &event), 0);
	assert_int_equal(rdmapmd_async_event_ack(other.context, &event), -EINVAL);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
	/* What is of all goes to all. */
	rdmapmd_device_event(set->fake->device, RDMAPMD_EVENT_PORT_ERR, 2);
	assert_int_equal(take(set), RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(rdmapmd_async_event_get(other.context, &event), 0);
	assert_int_equal(event.element.port_num, 2);
	assert_int_equal(rdmapmd_context_close(other.context), 0);
}

static void
test_fatal_events_change_states(void **state)
{
	static const enum rdmapmd_event_type fatal[] = { RDMAPMD_EVENT_QP_FATAL,
							 RDMAPMD_EVENT_QP_REQ_ERR,
							 RDMAPMD_EVENT_QP_ACCESS_ERR };
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RESET };
	struct fake_set *set = *state;
	unsigned int i;

	for (i = 0; i < RTE_DIM(fatal); i++) {
		raise_qp(set, fatal[i]);
		assert_int_equal(rdmapmd_qp_state(set->qp), RDMAPMD_QPS_ERR);
		assert_int_equal(rdmapmd_qp_modify(set->qp, &attr, RDMAPMD_QP_STATE), 0);
	}
	raise_qp(set, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_qp_state(set->qp), RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_cq_status(set->cq), 0);
	rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_CQ_ERR, set->cq->cqn);
	assert_int_equal(rdmapmd_cq_status(set->cq), -EOVERFLOW);
}

/* ---- Completion events ---- */

static void
test_completion_events(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1, .channel = set->channel };
	struct rdmapmd_cq *second, *cq;
	const int fd = set->channel->fd;

	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &second), 0);
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), -EAGAIN);
	assert_false(is_readable(fd));
	rdmapmd_device_completion_event(set->fake->device, second->cqn);
	rdmapmd_device_completion_event(set->fake->device, set->cq->cqn);
	assert_true(is_readable(fd));
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), 0);
	assert_ptr_equal(cq, second);
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), 0);
	assert_ptr_equal(cq, set->cq);
	assert_false(is_readable(fd));
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), -EAGAIN);

	assert_int_equal(rdmapmd_cq_destroy(second), -EBUSY);
	assert_int_equal(rdmapmd_cq_events_ack(second, 2), -EINVAL);
	assert_int_equal(rdmapmd_cq_destroy(second), -EBUSY);
	assert_int_equal(rdmapmd_cq_events_ack(second, 1), 0);
	assert_int_equal(rdmapmd_cq_destroy(second), 0);
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, 1), 0);
	/* They are no asynchronous events. */
	assert_false(is_readable(rdmapmd_async_event_fd(set->context)));
}

static void
test_many_events_are_acknowledged_at_once(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_cq *cq;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		rdmapmd_device_completion_event(set->fake->device, set->cq->cqn);
		assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), 0);
	}
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, 101), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, UINT32_MAX), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, 100), 0);
	assert_int_equal(rdmapmd_cq_events_ack(set->cq, 1), -EINVAL);
}

static void
test_a_queue_that_goes_takes_its_event_out_of_the_channel(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1, .channel = set->channel };
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), 0);
	rdmapmd_device_completion_event(set->fake->device, cq->cqn);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), -EAGAIN);
	assert_false(is_readable(set->channel->fd));
}

static void
test_a_queue_without_a_channel(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1 };
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(set->context, &attr, &cq), 0);
	rdmapmd_device_completion_event(set->fake->device, cq->cqn);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), -EINVAL);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
}

/* ---- Threads ---- */

struct raiser {
	struct fake_set *set;
	atomic_bool stop;
};

static void *
raise_events(void *arg)
{
	struct raiser *raiser = arg;
	uint32_t number = 0;

	while (!atomic_load(&raiser->stop)) {
		number = (number + 1) % 600;
		rdmapmd_device_object_event(raiser->set->fake->device, RDMAPMD_EVENT_QP_FATAL,
					    number);
		rdmapmd_device_completion_event(raiser->set->fake->device, number);
		rdmapmd_device_event(raiser->set->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
		if (number == 0)
			usleep(100);
	}
	return NULL;
}

/* Objects come and go while events of theirs come: none is of an object that is gone. */
static void
test_events_race_with_destruction(void **state)
{
	struct fake_set *set = *state;
	struct raiser raiser = { .set = set };
	struct rdmapmd_async_event event;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp *qp;
	pthread_t thread;
	int round;

	assert_int_equal(pthread_create(&thread, NULL, raise_events, &raiser), 0);
	for (round = 0; round < 300; round++) {
		set->fake->next_number = (uint32_t)(100 + round);
		attr = fake_qp_attr(set);
		assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
		while (rdmapmd_async_event_get(set->context, &event) == 0) {
			if (event.event_type == RDMAPMD_EVENT_QP_FATAL)
				assert_true(event.element.qp == qp || event.element.qp == set->qp);
			assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
		}
		assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	}
	atomic_store(&raiser.stop, true);
	pthread_join(thread, NULL);
}

static const struct CMUnitTest tests[] = {
	FAKE_TEST(test_every_event_reaches_its_object),
	FAKE_TEST(test_events_of_nobody_are_passed_over),
	FAKE_TEST(test_events_come_in_order_and_once),
	FAKE_TEST(test_the_descriptor_is_readable_while_events_wait),
	FAKE_TEST(test_an_edge_triggered_wait),
	FAKE_TEST(test_unacknowledged_events_hold_back_destruction),
	FAKE_TEST(test_each_event_that_was_taken_counts),
	FAKE_TEST(test_events_that_were_not_taken_go_with_their_object),
	FAKE_TEST(test_events_do_not_hold_back_a_close),
	FAKE_TEST(test_events_go_to_the_context_they_are_of),
	FAKE_TEST(test_fatal_events_change_states),
	FAKE_TEST(test_completion_events),
	FAKE_TEST(test_many_events_are_acknowledged_at_once),
	FAKE_TEST(test_a_queue_that_goes_takes_its_event_out_of_the_channel),
	FAKE_TEST(test_a_queue_without_a_channel),
	FAKE_TEST(test_events_race_with_destruction),
};

FAKE_MAIN("rdma_event", tests)
