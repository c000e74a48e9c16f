/* SPDX-License-Identifier: BSD-3-Clause */

/* Devices and contexts: opening, what a device says, and what is left when it goes. */

#include "rdma_fake.h"

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_log.h>

/* ---- What the library asks DPDK, answered here ---- */

static enum rte_proc_type_t process_type = RTE_PROC_PRIMARY;

enum rte_proc_type_t
rte_eal_process_type(void)
{
	return process_type;
}

int
rte_eth_dev_get_name_by_port(uint16_t port_id, char *name)
{
	if (port_id != 3)
		return -ENODEV;
	strcpy(name, "fake0");
	return 0;
}

/* ---- Devices and contexts ---- */

static void
test_open_by_name_and_port(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_context *context = NULL;
	struct rdmapmd_device *found;

	(void)state;
	assert_int_equal(rdmapmd_device_open_by_name("fake0", &context), 0);
	assert_ptr_equal(rdmapmd_context_device(context), fake->device);
	assert_int_equal(rdmapmd_context_close(context), 0);
	assert_int_equal(rdmapmd_device_open_by_port(3, &context), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	found = rdmapmd_device_find_by_port(3);
	assert_ptr_equal(found, fake->device);
	rdmapmd_device_put(found);
	assert_null(rdmapmd_device_find_by_port(4));

	context = NULL;
	assert_int_equal(rdmapmd_device_open_by_name("fake1", &context), -ENODEV);
	assert_int_equal(rdmapmd_device_open_by_port(4, &context), -ENODEV);
	assert_int_equal(rdmapmd_device_open_by_name(NULL, &context), -EINVAL);
	assert_int_equal(rdmapmd_device_open(NULL, &context), -EINVAL);
	assert_int_equal(rdmapmd_device_open(fake->device, NULL), -EINVAL);
	assert_null(context);
	fake_unregister(fake);
}

static void
test_a_device_without_rdma_does_not_open(void **state)
{
	struct rdmapmd_context *context;
	struct rdmapmd_device *device;

	(void)state;
	assert_int_equal(rdmapmd_device_register("ethernet", "other", NULL, &device), 0);
	assert_int_equal(rdmapmd_device_open(device, &context), -ENOTSUP);
	rdmapmd_device_unregister(device);
}

static void
test_a_secondary_process_is_refused_with_one_message(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_context *context;
	size_t size;
	char *text;
	FILE *log = open_memstream(&text, &size);

	(void)state;
	rte_openlog_stream(log);
	rte_log_set_global_level(RTE_LOG_DEBUG);
	process_type = RTE_PROC_SECONDARY;
	assert_int_equal(rdmapmd_device_open(fake->device, &context), -ENOTSUP);
	assert_int_equal(rdmapmd_device_open_by_name("fake0", &context), -ENOTSUP);
	process_type = RTE_PROC_PRIMARY;
	rte_log_set_global_level(RTE_LOG_EMERG);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_non_null(strstr(text, "fake0: a DPDK secondary process cannot use RDMA"));
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
	free(text);
	fake_unregister(fake);
}

/* Of its structs. */
static const size_t sizes[] = {
	offsetof(struct rdmapmd_driver_ops, context_size),
	offsetof(struct rdmapmd_driver_ops, pd_size),
	offsetof(struct rdmapmd_driver_ops, mr_size),
	offsetof(struct rdmapmd_driver_ops, cq_size),
	offsetof(struct rdmapmd_driver_ops, qp_size),
	offsetof(struct rdmapmd_driver_ops, srq_size),
	offsetof(struct rdmapmd_driver_ops, td_size),
	offsetof(struct rdmapmd_driver_ops, ah_size),
};

static void
test_an_incomplete_driver_is_refused(void **state)
{
	static const size_t mandatory[] = {
		offsetof(struct rdmapmd_driver_ops, context_open),
		offsetof(struct rdmapmd_driver_ops, context_close),
		offsetof(struct rdmapmd_driver_ops, device_query),
		offsetof(struct rdmapmd_driver_ops, port_query),
		offsetof(struct rdmapmd_driver_ops, gid_query),
		offsetof(struct rdmapmd_driver_ops, pkey_query),
		offsetof(struct rdmapmd_driver_ops, counters_read), /* with counters */
		offsetof(struct rdmapmd_driver_ops, pd_alloc),
		offsetof(struct rdmapmd_driver_ops, pd_dealloc),
		offsetof(struct rdmapmd_driver_ops, mr_reg),
		offsetof(struct rdmapmd_driver_ops, mr_rereg),
		offsetof(struct rdmapmd_driver_ops, mr_dereg),
		offsetof(struct rdmapmd_driver_ops, cq_create),
		offsetof(struct rdmapmd_driver_ops, cq_destroy),
		offsetof(struct rdmapmd_driver_ops, qp_create),
		offsetof(struct rdmapmd_driver_ops, qp_modify),
		offsetof(struct rdmapmd_driver_ops, qp_query),
		offsetof(struct rdmapmd_driver_ops, qp_destroy),
		offsetof(struct rdmapmd_driver_ops, qp_outstanding),
		offsetof(struct rdmapmd_driver_ops, qp_attach_mac), /* both or none */
		offsetof(struct rdmapmd_driver_ops, qp_detach_mac),
		offsetof(struct rdmapmd_driver_ops, srq_create), /* all four or none */
		offsetof(struct rdmapmd_driver_ops, srq_arm),
		offsetof(struct rdmapmd_driver_ops, srq_query),
		offsetof(struct rdmapmd_driver_ops, srq_destroy),
		offsetof(struct rdmapmd_driver_ops, td_alloc), /* both or none */
		offsetof(struct rdmapmd_driver_ops, td_dealloc),
		offsetof(struct rdmapmd_driver_ops, ah_create), /* both or none */
		offsetof(struct rdmapmd_driver_ops, ah_destroy),
		offsetof(struct rdmapmd_driver_ops, mcast_attach), /* both or none */
		offsetof(struct rdmapmd_driver_ops, mcast_detach),
	};
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_driver_ops ops;
	struct rdmapmd_device *device;
	unsigned int i;

	(void)state;
	assert_int_equal(rdmapmd_device_register("second", "fake", fake, &device), 0);
	for (i = 0; i < RTE_DIM(mandatory); i++) {
		ops = fake->ops;
		memset((char *)&ops + mandatory[i], 0, sizeof(void *));
		assert_int_equal(rdmapmd_device_offer(device, &ops), -EINVAL);
	}
	for (i = 0; i < RTE_DIM(sizes); i++) {
		ops = fake->ops;
		(*(size_t *)((char *)&ops + sizes[i])) = 8;
		assert_int_equal(rdmapmd_device_offer(device, &ops), -EINVAL);
	}
	assert_int_equal(rdmapmd_device_offer(device, &fake->ops), 0);
	assert_int_equal(rdmapmd_device_offer(device, &fake->ops), -EEXIST);
	rdmapmd_device_unregister(device);
	fake_unregister(fake);
}

static atomic_int unregistering; /* 1: about to, 2: done */

static void *
unregister(void *device)
{
	atomic_store(&unregistering, 1);
	rdmapmd_device_unregister(device);
	atomic_store(&unregistering, 2);
	return NULL;
}

static void
test_a_device_stays_while_its_driver_asks(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_context context, again;
	struct rdmapmd_device *device;
	pthread_t thread;
	unsigned int i;

	(void)state;
	assert_int_equal(rdmapmd_device_register("second", "fake", fake, &device), 0);
	assert_int_equal(rdmapmd_device_enter(device, &context), -ENOTSUP);
	assert_int_equal(rdmapmd_device_offer(device, &fake->ops), 0);
	assert_ptr_equal(rdmapmd_device_find("second"), device);
	assert_int_equal(rdmapmd_device_enter(device, &context), 0);
	assert_ptr_equal(context.device, device);
	assert_ptr_equal(context.device_priv, fake);
	/* Nobody has opened it. */
	assert_int_equal(fake_count(fake, "context_open"), 0);
	atomic_store(&unregistering, 0);
	assert_int_equal(pthread_create(&thread, NULL, unregister, device), 0);
	while (atomic_load(&unregistering) == 0)
		sched_yield();
	for (i = 0; i < 1000; i++) {
		assert_int_equal(atomic_load(&unregistering), 1);
		assert_ptr_equal(rdmapmd_device_priv(device), fake);
		sched_yield();
	}
	rdmapmd_device_leave(device);
	pthread_join(thread, NULL);
	assert_int_equal(rdmapmd_device_enter(device, &again), -ENODEV);
	rdmapmd_device_put(device);
	fake_unregister(fake);
}

static void
test_an_open_that_fails_leaves_nothing(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_context *context = NULL;

	(void)state;
	fake->fail = "context_open";
	fake->error = -EIO;
	assert_int_equal(rdmapmd_device_open(fake->device, &context), -EIO);
	fake_assert_calls(fake, 0, "context_open");
	fake->fail = "device_query";
	fake->error = -ETIMEDOUT;
	assert_int_equal(rdmapmd_device_open(fake->device, &context), -ETIMEDOUT);
	fake_assert_calls(fake, 1, "context_open device_query context_close");
	assert_null(context);
	assert_int_equal(fake->alive, 0);
	fake_unregister(fake);
}

static void
test_queries(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	struct rdmapmd_gid_entry gid;
	const char *names[2] = { NULL };
	uint64_t values[3] = { 0, 0, 99 };
	uint16_t pkey;

	assert_int_equal(rdmapmd_device_query(set->context, &attr), 0);
	assert_memory_equal(&attr, &fake->attr, sizeof(attr));
	assert_int_equal(rdmapmd_device_query(set->context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_device_clock_read(set->context, values), 0);
	assert_true(values[0] == UINT64_C(0x1122334455667788));
	assert_int_equal(rdmapmd_device_clock_read(set->context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_port_query(set->context, 1, &port), 0);
	assert_int_equal(port.active_mtu, RDMAPMD_MTU_1024);
	assert_int_equal(rdmapmd_port_query(set->context, 0, &port), -EINVAL);
	assert_int_equal(rdmapmd_port_query(set->context, 3, &port), -EINVAL);
	assert_int_equal(rdmapmd_gid_query(set->context, 2, 1, &gid), 0);
	assert_int_equal(gid.gid.raw[12], 10);
	assert_int_equal(rdmapmd_gid_query(set->context, 1, 2, &gid), -ENODATA);
	assert_int_equal(rdmapmd_gid_query(set->context, 1, 4, &gid), -EINVAL);
	assert_int_equal(rdmapmd_gid_query(set->context, 3, 1, &gid), -EINVAL);
	assert_int_equal(rdmapmd_pkey_query(set->context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(rdmapmd_pkey_query(set->context, 1, 1, &pkey), -EINVAL);

	assert_int_equal(rdmapmd_counters_names(set->context, NULL, 0), 2);
	assert_int_equal(rdmapmd_counters_names(set->context, names, 1), 2);
	assert_string_equal(names[0], "rx_write_requests");
	assert_null(names[1]);
	assert_int_equal(rdmapmd_counters_read(set->context, 1, values, 3), 2);
	assert_int_equal(values[0], 11);
	assert_int_equal(values[1], 22);
	assert_int_equal(values[2], 99);
	values[1] = 0;
	assert_int_equal(rdmapmd_counters_read(set->context, 1, values, 1), 2);
	assert_int_equal(values[1], 0);
	assert_int_equal(rdmapmd_counters_read(set->context, 3, values, 1), -EINVAL);
	fake->fail = "port_query";
	fake->error = -EIO;
	assert_int_equal(rdmapmd_port_query(set->context, 1, &port), -EIO);
}

static void
test_addresses_of_a_port(void **state)
{
	static const union rdmapmd_gid good = { { 0x20, 1, 0xd, 0xb8, [15] = 1 } };
	static const union rdmapmd_gid bad[] = {
		{ { 0 } },
		{ { 0xff, 2, [15] = 1 } },
		{ { [10] = 0xff, [11] = 0xff, 0, 0, 0, 1 } },
		{ { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
		{ { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 } },
		{ { [10] = 0xff, [11] = 0xff, 255, 255, 255, 255 } },
	};
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_gid_entry entry;
	uint32_t index = 99;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++)
		assert_int_equal(rdmapmd_gid_add(set->context, 1, &bad[i], &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add(set->context, 3, &good, &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add(set->context, 1, NULL, &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add(set->context, 1, &good, NULL), -EINVAL);
	assert_int_equal(fake_count(fake, "gid_add"), 0);
	fake->fail = "gid_add";
	fake->error = -ENOSPC;
	assert_int_equal(rdmapmd_gid_add(set->context, 1, &good, &index), -ENOSPC);
	assert_int_equal(index, 99);
	fake->fail = NULL;
	assert_int_equal(rdmapmd_gid_add(set->context, 1, &good, &index), 0);
	assert_int_equal(index, 3);
	assert_int_equal(rdmapmd_gid_query(set->context, 1, 3, &entry), 0);
	assert_memory_equal(&entry.gid, &good, sizeof(good));
	assert_int_equal(entry.vlan_id, 0);
	assert_int_equal(rdmapmd_gid_add_vlan(set->context, 1, &good, 0, &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add_vlan(set->context, 1, &good, 4095, &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add_vlan(set->context, 1, &bad[1], 5, &index), -EINVAL);
	assert_int_equal(rdmapmd_gid_add_vlan(set->context, 1, &good, 4094, &index), 0);
	assert_int_equal(rdmapmd_gid_query(set->context, 1, 3, &entry), 0);
	assert_int_equal(entry.vlan_id, 4094);
	assert_int_equal(rdmapmd_gid_del(set->context, 0, 3), -EINVAL);
	assert_int_equal(rdmapmd_gid_del(NULL, 1, 3), -EINVAL);
	assert_int_equal(rdmapmd_gid_del(set->context, 1, 3), 0);
	assert_int_equal(rdmapmd_gid_query(set->context, 1, 3, &entry), -ENODATA);
	fake->ops.gid_add = NULL;
	fake->ops.gid_del = NULL;
	assert_int_equal(rdmapmd_gid_add(set->context, 1, &good, &index), -ENOTSUP);
	assert_int_equal(rdmapmd_gid_del(set->context, 1, 1), -ENOTSUP);
}

static void
test_ipv4_addresses_are_told_from_others(void **state)
{
	union rdmapmd_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 1 } }, made;
	unsigned int i;

	(void)state;
	memset(&made, 0x55, sizeof(made));
	rdmapmd_gid_set_ipv4(&made, gid.raw + 12);
	assert_memory_equal(&made, &gid, sizeof(gid));
	assert_true(rdmapmd_gid_is_ipv4(&gid));
	for (i = 0; i < 12; i++) {
		gid.raw[i] ^= 1;
		assert_false(rdmapmd_gid_is_ipv4(&gid));
		gid.raw[i] ^= 1;
	}
}

static void
test_mtu_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(rdmapmd_mtu_bytes(RDMAPMD_MTU_256), 256);
	assert_int_equal(rdmapmd_mtu_bytes(RDMAPMD_MTU_4096), 4096);
	assert_int_equal(rdmapmd_mtu_bytes((enum rdmapmd_mtu)0), 0);
	assert_int_equal(rdmapmd_mtu_bytes((enum rdmapmd_mtu)6), 0);
}

/* ---- The device goes ---- */

static void
test_removal_leaves_shells(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_device_attr device_attr;
	struct rdmapmd_send_wr send = { 0 };
	struct rdmapmd_recv_wr recv = { 0 };
	struct rdmapmd_async_event event;
	struct rdmapmd_qp_attr qp_attr = { .qp_state = RDMAPMD_QPS_ERR };
	struct rdmapmd_context *context;
	struct rdmapmd_device *device;
	struct rdmapmd_wc wc[4];
	struct rdmapmd_qp *qp;
	struct rdmapmd_td *td;
	unsigned int calls;
	uint64_t clock;

	device = rdmapmd_device_find("fake0");
	calls = fake->call_count;
	fake_remove(fake);
	fake_assert_calls(fake, calls,
			  "qp_destroy srq_destroy cq_destroy mr_dereg td_dealloc pd_dealloc "
			  "context_close");
	assert_int_equal(fake->alive, 0);
	calls = fake->call_count;

	assert_int_equal(rdmapmd_async_event_get(set->context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_DEVICE_FATAL);
	assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
	assert_int_equal(rdmapmd_post_send(set->qp, &send, 1), 0);
	assert_int_equal(rdmapmd_post_recv(set->qp, &recv, 1), 0);
	assert_int_equal(rdmapmd_post_srq_recv(set->srq, &recv, 1), 0);
	assert_int_equal(rdmapmd_poll_cq(set->cq, wc, 4), 0);
	assert_int_equal(rdmapmd_req_notify_cq(set->cq, false), -ENODEV);
	attr = fake_qp_attr(set);
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -ENODEV);
	assert_int_equal(rdmapmd_td_alloc(set->context, &td), -ENODEV);
	assert_int_equal(rdmapmd_qp_modify(set->qp, &qp_attr, RDMAPMD_QP_STATE), -ENODEV);
	assert_int_equal(rdmapmd_qp_drain(set->qp), -ENODEV);
	assert_int_equal(rdmapmd_device_query(set->context, &device_attr), -ENODEV);
	assert_int_equal(rdmapmd_device_clock_read(set->context, &clock), -ENODEV);
	assert_int_equal(rdmapmd_device_open(device, &context), -ENODEV);
	/* They still count as what holds what. */
	assert_int_equal(rdmapmd_cq_destroy(set->cq), -EBUSY);
	assert_int_equal(rdmapmd_td_dealloc(set->td), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
	assert_int_equal(rdmapmd_td_dealloc(set->td), 0);
	assert_int_equal(rdmapmd_mr_dereg(set->mr), 0);
	assert_int_equal(rdmapmd_context_close(set->context), 0);
	set->context = NULL;
	fake_assert_calls(fake, calls, "");
	rdmapmd_device_put(device);
}

static void
test_close_and_destroy_before_removal_and_after(void **state)
{
	struct fake_set *after = *state, before;
	struct fake *fake = after->fake;

	fake_open_all(fake, &before);
	assert_int_equal(rdmapmd_context_close(before.context), 0);
	fake_remove(fake);
	assert_int_equal(fake_count(fake, "qp_destroy"), 2);
}

/* Whoever waits for completions hears of it, armed or not. */
static void
test_removal_wakes_those_who_sleep_on_a_channel(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct pollfd wait = { .events = POLLIN };
	struct rdmapmd_cq *cq;
	struct rdmapmd_wc wc;

	wait.fd = set->channel->fd;
	assert_int_equal(poll(&wait, 1, 0), 0);
	fake_remove(fake);
	assert_int_equal(poll(&wait, 1, 0), 1);
	assert_int_equal(rdmapmd_cq_event_get(set->channel, &cq), 0);
	assert_ptr_equal(cq, set->cq);
	assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), -ENODEV);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
}

/* ---- A call that is under way ---- */

struct under_way {
	pthread_t thread;
	struct fake_set *set;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool inside, go_on;
	int rc;
};

static void
wait_inside(void *arg)
{
	struct under_way *way = arg;

	pthread_mutex_lock(&way->lock);
	way->inside = true;
	pthread_cond_broadcast(&way->changed);
	while (!way->go_on)
		pthread_cond_wait(&way->changed, &way->lock);
	pthread_mutex_unlock(&way->lock);
}

static void *
query_qp(void *arg)
{
	struct under_way *way = arg;
	struct rdmapmd_qp_attr attr;

	way->rc = rdmapmd_qp_query(way->set->qp, &attr, NULL);
	return NULL;
}

static void
start_call(struct under_way *way, struct fake_set *set)
{
	*way = (struct under_way){ .set = set };
	pthread_mutex_init(&way->lock, NULL);
	pthread_cond_init(&way->changed, NULL);
	set->fake->at = "qp_query";
	set->fake->during = wait_inside;
	set->fake->arg = way;
	assert_int_equal(pthread_create(&way->thread, NULL, query_qp, way), 0);
	pthread_mutex_lock(&way->lock);
	while (!way->inside)
		pthread_cond_wait(&way->changed, &way->lock);
	pthread_mutex_unlock(&way->lock);
}

static void
let_go_on(struct under_way *way)
{
	pthread_mutex_lock(&way->lock);
	way->go_on = true;
	pthread_cond_broadcast(&way->changed);
	pthread_mutex_unlock(&way->lock);
}

static void
end_call(struct under_way *way)
{
	pthread_join(way->thread, NULL);
	way->set->fake->at = NULL;
	pthread_mutex_destroy(&way->lock);
	pthread_cond_destroy(&way->changed);
}

static void
test_an_object_in_use_does_not_go(void **state)
{
	struct fake_set *set = *state;
	struct under_way way;

	start_call(&way, set);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), -EBUSY);
	assert_int_equal(rdmapmd_context_close(set->context), -EBUSY);
	/* Others are not held up. */
	assert_int_equal(rdmapmd_mr_dereg(set->mr), 0);
	let_go_on(&way);
	end_call(&way);
	assert_int_equal(way.rc, 0);
	assert_int_equal(rdmapmd_qp_destroy(set->qp), 0);
}

static void *
let_go_on_later(void *arg)
{
	usleep(20000);
	let_go_on(arg);
	return NULL;
}

static void
test_removal_waits_for_calls(void **state)
{
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct under_way way;
	pthread_t later;

	start_call(&way, set);
	assert_int_equal(pthread_create(&later, NULL, let_go_on_later, &way), 0);
	fake_remove(fake);
	assert_true(way.go_on);
	pthread_join(later, NULL);
	end_call(&way);
	assert_int_equal(way.rc, 0);
	assert_int_equal(fake->alive, 0);
}

static void
test_resolve(void **state)
{
	static const uint8_t link_local[16] = { 0xfe, 0x80, [8] = 0x00, 0x02, 0xc9,
						0xff, 0xfe, 1,		2,    3 };
	static const uint8_t of_link_local[6] = { 0x02, 0x02, 0xc9, 1, 2, 3 };
	struct fake_set *set = *state;
	struct fake *fake = set->fake;
	struct rdmapmd_ah_attr ah = { .dgid = { { 0x20, 1, [15] = 1 } }, .port_num = 1 };

	assert_int_equal(rdmapmd_resolve(set->context, &ah, 17), 0);
	assert_int_equal(ah.dmac[5], 0x99);
	assert_int_equal(fake->timeout_ms, 17);
	/* One that fails changes nothing. */
	fake->fail = "resolve";
	fake->error = -EINPROGRESS;
	ah.dmac[5] = 1;
	assert_int_equal(rdmapmd_resolve(set->context, &ah, 0), -EINPROGRESS);
	assert_int_equal(ah.dmac[5], 1);
	/* It stands in the address. */
	memcpy(ah.dgid.raw, link_local, 16);
	assert_int_equal(rdmapmd_resolve(set->context, &ah, 0), 0);
	assert_memory_equal(ah.dmac, of_link_local, 6);
	ah.port_num = 3;
	assert_int_equal(rdmapmd_resolve(set->context, &ah, 0), -EINVAL);
	ah.port_num = 1;
	memset(&ah.dgid, 0, sizeof(ah.dgid));
	assert_int_equal(rdmapmd_resolve(set->context, &ah, 0), -EINVAL);
	assert_int_equal(rdmapmd_resolve(set->context, NULL, 0), -EINVAL);
	fake->ops.resolve = NULL;
	ah.dgid.raw[0] = 0x20;
	assert_int_equal(rdmapmd_resolve(set->context, &ah, 0), -EHOSTUNREACH);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_open_by_name_and_port),
	cmocka_unit_test(test_a_device_without_rdma_does_not_open),
	cmocka_unit_test(test_a_secondary_process_is_refused_with_one_message),
	cmocka_unit_test(test_an_incomplete_driver_is_refused),
	cmocka_unit_test(test_a_device_stays_while_its_driver_asks),
	cmocka_unit_test(test_an_open_that_fails_leaves_nothing),
	FAKE_CONTEXT_TEST(test_queries),
	FAKE_CONTEXT_TEST(test_addresses_of_a_port),
	FAKE_CONTEXT_TEST(test_resolve),
	cmocka_unit_test(test_ipv4_addresses_are_told_from_others),
	cmocka_unit_test(test_mtu_in_bytes),
	FAKE_TEST(test_removal_leaves_shells),
	FAKE_TEST(test_removal_wakes_those_who_sleep_on_a_channel),
	FAKE_TEST(test_close_and_destroy_before_removal_and_after),
	FAKE_TEST(test_an_object_in_use_does_not_go),
	FAKE_TEST(test_removal_waits_for_calls),
};

FAKE_MAIN("rdma_device", tests)
