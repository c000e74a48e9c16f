/* SPDX-License-Identifier: BSD-3-Clause */

/* Asynchronous and completion events: descriptors, order, acknowledgement, and what they hold back. */

#include "rdma_fake.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_common.h>

struct world {
	struct fake *fake;
	struct fake_set set;
};

static int
setup(void **state)
{
	static struct world world;

	world.fake = fake_register("fake0");
	fake_open_all(world.fake, &world.set);
	*state = &world;
	return 0;
}

static int
teardown(void **state)
{
	struct world *world = *state;

	assert_int_equal(rdmapmd_context_close(world->set.context), 0);
	fake_unregister(world->fake);
	return 0;
}

static bool
is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLIN);
}

static void
raise_qp(struct world *world, enum rdmapmd_event_type type)
{
	rdmapmd_device_object_event(world->fake->device, type, world->set.qp->qp_num);
}

static enum rdmapmd_event_type
take(struct world *world)
{
	struct rdmapmd_async_event event;

	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), 0);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &event), 0);
	return event.event_type;
}

/* ---- Asynchronous events ---- */

static void
test_every_event_reaches_its_object(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;
	unsigned int type;

	for (type = 0; type < RDMAPMD_EVENT_COUNT; type++) {
		const enum rdmapmd_event_type t = (enum rdmapmd_event_type)type;

		/* Each of them with each number: the type says whose it is. */
		rdmapmd_device_object_event(world->fake->device, t, world->set.cq->cqn);
		rdmapmd_device_object_event(world->fake->device, t, world->set.srq->srqn);
		raise_qp(world, t);
		rdmapmd_device_event(world->fake->device, t, 2);
		assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), 0);
		assert_int_equal(event.event_type, type);
		if (type <= RDMAPMD_EVENT_CQ_ERR)
			assert_ptr_equal(event.element.cq, world->set.cq);
		else if (type <= RDMAPMD_EVENT_QP_LAST_WQE_REACHED)
			assert_ptr_equal(event.element.qp, world->set.qp);
		else if (type <= RDMAPMD_EVENT_SRQ_LIMIT_REACHED)
			assert_ptr_equal(event.element.srq, world->set.srq);
		else if (type <= RDMAPMD_EVENT_GID_CHANGE)
			assert_int_equal(event.element.port_num, 2);
		assert_int_equal(rdmapmd_async_event_ack(world->set.context, &event), 0);
		assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), -EAGAIN);
		assert_string_not_equal(rdmapmd_event_type_str(t), "unknown");
	}
	assert_string_equal(rdmapmd_event_type_str(RDMAPMD_EVENT_COUNT), "unknown");
}

static void
test_events_of_nobody_are_passed_over(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;

	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_QP_FATAL, 0xabcdef);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_COUNT,
				    world->set.qp->qp_num);
	rdmapmd_device_object_event(world->fake->device, (enum rdmapmd_event_type) - 1, 1);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ERR, 0);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ERR, 3);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_COUNT, 1);
	rdmapmd_device_completion_event(world->fake->device, 0xabcdef);
	/* A QP's number is no CQ's. */
	rdmapmd_device_completion_event(world->fake->device, world->set.qp->qp_num);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), -EAGAIN);
	assert_false(is_readable(rdmapmd_async_event_fd(world->set.context)));
	assert_false(is_readable(world->set.channel->fd));
}

static void
test_events_come_in_order_and_once(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;

	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ACTIVE, 1);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
	raise_qp(world, RDMAPMD_EVENT_SQ_DRAINED);
	/* The port came back: that is the last word on it. */
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ACTIVE, 1);
	assert_int_equal(take(world), RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(take(world), RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(take(world), RDMAPMD_EVENT_SQ_DRAINED);
	assert_int_equal(take(world), RDMAPMD_EVENT_PORT_ACTIVE);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), -EAGAIN);
	/* Once taken it can come again. */
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(take(world), RDMAPMD_EVENT_COMM_EST);
}

static void
test_the_descriptor_is_readable_while_events_wait(void **state)
{
	struct world *world = *state;
	const int fd = rdmapmd_async_event_fd(world->set.context);

	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	raise_qp(world, RDMAPMD_EVENT_SQ_DRAINED);
	assert_true(is_readable(fd));
	take(world);
	assert_true(is_readable(fd));
	take(world);
	assert_false(is_readable(fd));
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_true(is_readable(fd));
	take(world);
}

static void
test_an_edge_triggered_wait(void **state)
{
	struct world *world = *state;
	struct epoll_event want = { .events = EPOLLIN | EPOLLET }, got;
	struct rdmapmd_async_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC), round;

	assert_int_equal(
		epoll_ctl(epoll, EPOLL_CTL_ADD, rdmapmd_async_event_fd(world->set.context), &want),
		0);
	for (round = 0; round < 3; round++) {
		raise_qp(world, RDMAPMD_EVENT_COMM_EST);
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 1);
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 0);
		while (rdmapmd_async_event_get(world->set.context, &event) == 0)
			assert_int_equal(rdmapmd_async_event_ack(world->set.context, &event), 0);
	}
	close(epoll);
}

static void
test_unacknowledged_events_hold_back_destruction(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event of_qp, of_srq, of_cq;

	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &of_qp), 0);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_SRQ_LIMIT_REACHED,
				    world->set.srq->srqn);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &of_srq), 0);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_CQ_ERR, world->set.cq->cqn);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &of_cq), 0);

	world->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_destroy(world->set.qp), -EBUSY);
	fake_assert_calls(world->fake, 0, "");
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &of_qp), 0);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &of_qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_destroy(world->set.qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(world->set.srq), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &of_srq), 0);
	assert_int_equal(rdmapmd_srq_destroy(world->set.srq), 0);
	assert_int_equal(rdmapmd_cq_destroy(world->set.cq), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &of_cq), 0);
	assert_int_equal(rdmapmd_cq_destroy(world->set.cq), 0);
}

static void
test_each_event_that_was_taken_counts(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event one, two;

	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &one), 0);
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &two), 0);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &one), 0);
	assert_int_equal(rdmapmd_qp_destroy(world->set.qp), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &two), 0);
	assert_int_equal(rdmapmd_qp_destroy(world->set.qp), 0);
}

static void
test_events_that_were_not_taken_go_with_their_object(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;
	uint32_t qp_num = world->set.qp->qp_num;

	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
	assert_int_equal(rdmapmd_qp_destroy(world->set.qp), 0);
	/* One that was under way meanwhile. */
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_QP_FATAL, qp_num);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), -EAGAIN);
	assert_false(is_readable(rdmapmd_async_event_fd(world->set.context)));
}

static void
test_events_do_not_hold_back_a_close(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;
	struct fake_set other;

	fake_open_all(world->fake, &other);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_COMM_EST, other.qp->qp_num);
	assert_int_equal(rdmapmd_async_event_get(other.context, &event), 0);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_SQ_DRAINED,
				    other.qp->qp_num);
	assert_int_equal(rdmapmd_context_close(other.context), 0);
}

static void
test_events_go_to_the_context_they_are_of(void **state)
{
	struct world *world = *state;
	struct rdmapmd_async_event event;
	struct fake_set other;

	fake_open_all(world->fake, &other);
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_async_event_get(other.context, &event), -EAGAIN);
	/* Acknowledged with another context: no. */
	assert_int_equal(rdmapmd_async_event_get(world->set.context, &event), 0);
	assert_int_equal(rdmapmd_async_event_ack(other.context, &event), -EINVAL);
	assert_int_equal(rdmapmd_async_event_ack(world->set.context, &event), 0);
	/* What is of all goes to all. */
	rdmapmd_device_event(world->fake->device, RDMAPMD_EVENT_PORT_ERR, 2);
	assert_int_equal(take(world), RDMAPMD_EVENT_PORT_ERR);
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
	struct world *world = *state;
	unsigned int i;

	for (i = 0; i < RTE_DIM(fatal); i++) {
		raise_qp(world, fatal[i]);
		assert_int_equal(rdmapmd_qp_state(world->set.qp), RDMAPMD_QPS_ERR);
		assert_int_equal(rdmapmd_qp_modify(world->set.qp, &attr, RDMAPMD_QP_STATE), 0);
	}
	raise_qp(world, RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(rdmapmd_qp_state(world->set.qp), RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_cq_status(world->set.cq), 0);
	rdmapmd_device_object_event(world->fake->device, RDMAPMD_EVENT_CQ_ERR, world->set.cq->cqn);
	assert_int_equal(rdmapmd_cq_status(world->set.cq), -EOVERFLOW);
}

/* ---- Completion events ---- */

static void
test_completion_events(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1, .channel = world->set.channel };
	struct rdmapmd_cq *second, *cq;
	const int fd = world->set.channel->fd;

	assert_int_equal(rdmapmd_cq_create(world->set.context, &attr, &second), 0);
	assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), -EAGAIN);
	assert_false(is_readable(fd));
	rdmapmd_device_completion_event(world->fake->device, second->cqn);
	rdmapmd_device_completion_event(world->fake->device, world->set.cq->cqn);
	assert_true(is_readable(fd));
	assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), 0);
	assert_ptr_equal(cq, second);
	assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), 0);
	assert_ptr_equal(cq, world->set.cq);
	assert_false(is_readable(fd));
	assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), -EAGAIN);

	assert_int_equal(rdmapmd_cq_destroy(second), -EBUSY);
	assert_int_equal(rdmapmd_cq_events_ack(second, 2), -EINVAL);
	assert_int_equal(rdmapmd_cq_destroy(second), -EBUSY);
	assert_int_equal(rdmapmd_cq_events_ack(second, 1), 0);
	assert_int_equal(rdmapmd_cq_destroy(second), 0);
	assert_int_equal(rdmapmd_cq_events_ack(world->set.cq, 1), 0);
	/* They are no asynchronous events. */
	assert_false(is_readable(rdmapmd_async_event_fd(world->set.context)));
}

static void
test_many_events_are_acknowledged_at_once(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq *cq;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		rdmapmd_device_completion_event(world->fake->device, world->set.cq->cqn);
		assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), 0);
	}
	assert_int_equal(rdmapmd_cq_events_ack(world->set.cq, 101), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(world->set.cq, UINT32_MAX), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(world->set.cq, 100), 0);
	assert_int_equal(rdmapmd_cq_events_ack(world->set.cq, 1), -EINVAL);
}

static void
test_a_queue_that_goes_takes_its_event_out_of_the_channel(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1, .channel = world->set.channel };
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(world->set.context, &attr, &cq), 0);
	rdmapmd_device_completion_event(world->fake->device, cq->cqn);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	assert_int_equal(rdmapmd_cq_event_get(world->set.channel, &cq), -EAGAIN);
	assert_false(is_readable(world->set.channel->fd));
}

static void
test_a_queue_without_a_channel(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 1 };
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(world->set.context, &attr, &cq), 0);
	rdmapmd_device_completion_event(world->fake->device, cq->cqn);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), -EINVAL);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
}

/* ---- Threads ---- */

struct raiser {
	struct world *world;
	atomic_bool stop;
};

static void *
raise_events(void *arg)
{
	struct raiser *raiser = arg;
	uint32_t number = 0;

	while (!atomic_load(&raiser->stop)) {
		number = (number + 1) % 600;
		rdmapmd_device_object_event(raiser->world->fake->device, RDMAPMD_EVENT_QP_FATAL,
					    number);
		rdmapmd_device_completion_event(raiser->world->fake->device, number);
		rdmapmd_device_event(raiser->world->fake->device, RDMAPMD_EVENT_PORT_ERR, 1);
		if (number == 0)
			usleep(100);
	}
	return NULL;
}

/* Objects come and go while events of theirs come: none is of an object that is gone. */
static void
test_events_race_with_destruction(void **state)
{
	struct world *world = *state;
	struct raiser raiser = { .world = world };
	struct rdmapmd_async_event event;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp *qp;
	pthread_t thread;
	int round;

	assert_int_equal(pthread_create(&thread, NULL, raise_events, &raiser), 0);
	for (round = 0; round < 300; round++) {
		world->fake->next_number = (uint32_t)(100 + round);
		attr = fake_qp_attr(&world->set);
		assert_int_equal(rdmapmd_qp_create(world->set.pd, &attr, &qp), 0);
		while (rdmapmd_async_event_get(world->set.context, &event) == 0) {
			if (event.event_type == RDMAPMD_EVENT_QP_FATAL)
				assert_true(event.element.qp == qp ||
					    event.element.qp == world->set.qp);
			assert_int_equal(rdmapmd_async_event_ack(world->set.context, &event), 0);
		}
		assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	}
	atomic_store(&raiser.stop, true);
	pthread_join(thread, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_event_reaches_its_object),
		TEST(test_events_of_nobody_are_passed_over),
		TEST(test_events_come_in_order_and_once),
		TEST(test_the_descriptor_is_readable_while_events_wait),
		TEST(test_an_edge_triggered_wait),
		TEST(test_unacknowledged_events_hold_back_destruction),
		TEST(test_each_event_that_was_taken_counts),
		TEST(test_events_that_were_not_taken_go_with_their_object),
		TEST(test_events_do_not_hold_back_a_close),
		TEST(test_events_go_to_the_context_they_are_of),
		TEST(test_fatal_events_change_states),
		TEST(test_completion_events),
		TEST(test_many_events_are_acknowledged_at_once),
		TEST(test_a_queue_that_goes_takes_its_event_out_of_the_channel),
		TEST(test_a_queue_without_a_channel),
		TEST(test_events_race_with_destruction),
	};

	fake_quiet();
	return cmocka_run_group_tests_name("rdma_event", tests, NULL, NULL);
}
