/* SPDX-License-Identifier: BSD-3-Clause */

/* What dpdk-test-rdma-perf makes of a device's events, and of time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_cycles.h>

#include <cmocka.h>

#include "main.h"
#include "phase.h"
#include "watch.h"

#define EVENTS_MAX 4
#define SLOW	   1		       /* ticks a second: any time has passed */
#define FAST	   (UINT64_C(1) << 50) /* none has */

static enum rdmapmd_event_type events[EVENTS_MAX];
static unsigned int nevents, taken, acknowledged;
static bool has_link;
static uint64_t hz;
static struct perf_end end;

int __wrap_rdmapmd_async_event_get(struct rdmapmd_context *context,
				   struct rdmapmd_async_event *event);
int __wrap_rdmapmd_async_event_ack(struct rdmapmd_context *context,
				   const struct rdmapmd_async_event *event);
int __wrap_rdmapmd_port_query(struct rdmapmd_context *context, uint8_t port_num,
			      struct rdmapmd_port_attr *attr);
uint64_t __wrap_rte_get_tsc_hz(void);

int
__wrap_rdmapmd_async_event_get(struct rdmapmd_context *context, struct rdmapmd_async_event *event)
{
	(void)context;
	if (taken == nevents)
		return -EAGAIN;
	*event = (struct rdmapmd_async_event){ .event_type = events[taken++] };
	return 0;
}

int
__wrap_rdmapmd_async_event_ack(struct rdmapmd_context *context,
			       const struct rdmapmd_async_event *event)
{
	(void)context;
	assert_int_equal(event->event_type, events[acknowledged]);
	acknowledged++;
	return 0;
}

int
__wrap_rdmapmd_port_query(struct rdmapmd_context *context, uint8_t port_num,
			  struct rdmapmd_port_attr *attr)
{
	(void)context;
	assert_int_equal(port_num, 1);
	*attr = (struct rdmapmd_port_attr){ .state = has_link ? RDMAPMD_PORT_ACTIVE
							      : RDMAPMD_PORT_DOWN };
	return 0;
}

uint64_t
__wrap_rte_get_tsc_hz(void)
{
	return hz;
}

static int
set_up(void **state)
{
	(void)state;
	end = (struct perf_end){ .device = "device" };
	nevents = taken = acknowledged = 0;
	has_link = true;
	hz = SLOW;
	return 0;
}

static void
tell(enum rdmapmd_event_type type)
{
	assert_true(nevents < EVENTS_MAX);
	events[nevents++] = type;
}

/* All that was told is taken, and given back. */
static int
look(unsigned int grace_ms)
{
	const int rc = perf_watch_look(&end, grace_ms);

	assert_int_equal(taken, nevents);
	assert_int_equal(acknowledged, nevents);
	return rc;
}

static void
a_link_that_stays_away_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(look(2000), 0);
	tell(RDMAPMD_EVENT_PORT_ERR);
	has_link = false;
	hz = FAST;
	assert_int_equal(look(2000), 0);
	/* At the end of what was sent there is no time to wait. */
	assert_int_equal(look(0), -ENOLINK);
	hz = SLOW;
	assert_int_equal(look(2000), -ENOLINK);
}

static void
a_link_that_comes_again_is_none(void **state)
{
	(void)state;
	tell(RDMAPMD_EVENT_PORT_ERR);
	has_link = false;
	hz = FAST;
	assert_int_equal(look(2000), 0);
	tell(RDMAPMD_EVENT_PORT_ACTIVE);
	hz = SLOW;
	assert_int_equal(look(2000), 0);
	/* The event was an old one. */
	tell(RDMAPMD_EVENT_PORT_ERR);
	has_link = true;
	assert_int_equal(look(0), 0);
	has_link = false;
	assert_int_equal(look(0), 0);
}

static void
a_device_that_has_gone_is_a_failure(void **state)
{
	(void)state;
	tell(RDMAPMD_EVENT_GID_CHANGE);
	tell(RDMAPMD_EVENT_COMM_EST);
	assert_int_equal(look(2000), 0);
	tell(RDMAPMD_EVENT_DEVICE_FATAL);
	assert_int_equal(look(2000), -ENODEV);
}

/* A thread that did not run for a while, since its process was stopped or the machine slept, begins to wait anew. */
static void
time_away_is_not_waited(void **state)
{
	const uint64_t now = rte_get_timer_cycles();
	struct perf_worker worker = { .channel = NULL };
	struct perf_phase phase = { .told_sent = true };
	struct perf_wait wait = { .worker = &worker };

	(void)state;
	hz = UINT64_C(1) << 32; /* so that this test takes no time */
	assert_int_equal(perf_phase_idle(&phase, &wait, 3), 0);
	wait.since = wait.looked = now - 10 * hz;
	assert_int_equal(perf_phase_idle(&phase, &wait, 3), 0);
	wait.since = now - 10 * hz;
	assert_int_equal(perf_phase_idle(&phase, &wait, 3), -ETIMEDOUT);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

static const struct CMUnitTest tests[] = {
	TEST(a_link_that_stays_away_is_a_failure),
	TEST(a_link_that_comes_again_is_none),
	TEST(a_device_that_has_gone_is_a_failure),
	cmocka_unit_test(time_away_is_not_waited),
};

PLAIN_MAIN("perf-watch", tests)
