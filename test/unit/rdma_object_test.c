/* SPDX-License-Identifier: BSD-3-Clause */

/* The life of RDMA objects: who holds whom, what a failure or a lost device leaves behind, several threads. */

#include "rdma_fake.h"

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
		offsetof(struct rdmapmd_driver_ops, srq_create), /* all four or none */
		offsetof(struct rdmapmd_driver_ops, srq_arm),
		offsetof(struct rdmapmd_driver_ops, srq_query),
		offsetof(struct rdmapmd_driver_ops, srq_destroy),
	};
	static const size_t sizes[] = {
		offsetof(struct rdmapmd_driver_ops, context_size),
		offsetof(struct rdmapmd_driver_ops, pd_size),
		offsetof(struct rdmapmd_driver_ops, mr_size),
		offsetof(struct rdmapmd_driver_ops, cq_size),
		offsetof(struct rdmapmd_driver_ops, qp_size),
		offsetof(struct rdmapmd_driver_ops, srq_size),
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
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	struct rdmapmd_gid_entry gid;
	const char *names[2] = { NULL };
	uint64_t values[3] = { 0, 0, 99 };
	struct fake_set set;
	uint16_t pkey;

	(void)state;
	fake_open(fake, &set);
	assert_int_equal(rdmapmd_device_query(set.context, &attr), 0);
	assert_memory_equal(&attr, &fake->attr, sizeof(attr));
	assert_int_equal(rdmapmd_device_query(set.context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_port_query(set.context, 1, &port), 0);
	assert_int_equal(port.active_mtu, RDMAPMD_MTU_1024);
	assert_int_equal(rdmapmd_port_query(set.context, 0, &port), -EINVAL);
	assert_int_equal(rdmapmd_port_query(set.context, 3, &port), -EINVAL);
	assert_int_equal(rdmapmd_gid_query(set.context, 2, 1, &gid), 0);
	assert_int_equal(gid.gid.raw[12], 10);
	assert_int_equal(rdmapmd_gid_query(set.context, 1, 2, &gid), -ENODATA);
	assert_int_equal(rdmapmd_gid_query(set.context, 1, 4, &gid), -EINVAL);
	assert_int_equal(rdmapmd_gid_query(set.context, 3, 1, &gid), -EINVAL);
	assert_int_equal(rdmapmd_pkey_query(set.context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(rdmapmd_pkey_query(set.context, 1, 1, &pkey), -EINVAL);

	assert_int_equal(rdmapmd_counters_names(set.context, NULL, 0), 2);
	assert_int_equal(rdmapmd_counters_names(set.context, names, 1), 2);
	assert_string_equal(names[0], "rx_write_requests");
	assert_null(names[1]);
	assert_int_equal(rdmapmd_counters_read(set.context, 1, values, 3), 2);
	assert_int_equal(values[0], 11);
	assert_int_equal(values[1], 22);
	assert_int_equal(values[2], 99);
	values[1] = 0;
	assert_int_equal(rdmapmd_counters_read(set.context, 1, values, 1), 2);
	assert_int_equal(values[1], 0);
	assert_int_equal(rdmapmd_counters_read(set.context, 3, values, 1), -EINVAL);
	fake->fail = "port_query";
	fake->error = -EIO;
	assert_int_equal(rdmapmd_port_query(set.context, 1, &port), -EIO);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
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

/* ---- References ---- */

static void
test_dependants_hold_back_destruction(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_qp_init_attr attr;
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EBUSY);		     /* MR, SRQ, QP */
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), -EBUSY); /* CQ */
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -EBUSY);		     /* QP, twice */
	assert_int_equal(rdmapmd_srq_destroy(set.srq), -EBUSY);		     /* QP */
	assert_int_equal(rdmapmd_mr_dereg(set.mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EBUSY); /* SRQ, QP */
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EBUSY); /* SRQ */
	assert_int_equal(rdmapmd_srq_destroy(set.srq), 0);
	/* A QP alone. */
	set.srq = NULL;
	attr = fake_qp_attr(&set);
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &set.qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set.cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), 0);
	assert_int_equal(fake->alive, 1); /* the context */
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_a_refused_destruction_asks_no_driver(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set set;
	unsigned int calls;

	(void)state;
	fake_open_all(fake, &set);
	calls = fake->call_count;
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EBUSY);
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -EBUSY);
	assert_int_equal(rdmapmd_srq_destroy(set.srq), -EBUSY);
	fake_assert_calls(fake, calls, "");
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_objects_of_two_contexts_do_not_mix(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1 };
	struct rdmapmd_qp *qp = NULL;
	struct rdmapmd_cq *cq = NULL;
	struct fake_set one, two;
	unsigned int calls;

	(void)state;
	fake_open_all(fake, &one);
	fake_open_all(fake, &two);
	calls = fake->call_count;
	attr = fake_qp_attr(&one);
	attr.send_cq = two.cq;
	assert_int_equal(rdmapmd_qp_create(one.pd, &attr, &qp), -EINVAL);
	attr = fake_qp_attr(&one);
	attr.recv_cq = two.cq;
	assert_int_equal(rdmapmd_qp_create(one.pd, &attr, &qp), -EINVAL);
	attr = fake_qp_attr(&one);
	attr.srq = two.srq;
	assert_int_equal(rdmapmd_qp_create(one.pd, &attr, &qp), -EINVAL);
	attr = fake_qp_attr(&one);
	assert_int_equal(rdmapmd_qp_create(two.pd, &attr, &qp), -EINVAL);
	cq_attr.channel = two.channel;
	assert_int_equal(rdmapmd_cq_create(one.context, &cq_attr, &cq), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(one.mr, RDMAPMD_REREG_MR_CHANGE_PD, two.pd, NULL, 0, 0),
			 -EINVAL);
	assert_null(qp);
	assert_null(cq);
	fake_assert_calls(fake, calls, "");
	/* No reference stayed: what has no dependants goes. */
	assert_int_equal(rdmapmd_qp_destroy(two.qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(two.srq), 0);
	assert_int_equal(rdmapmd_cq_destroy(two.cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(two.channel), 0);
	assert_int_equal(rdmapmd_mr_dereg(two.mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(two.pd), 0);
	assert_int_equal(rdmapmd_context_close(two.context), 0);
	/* The other context is as it was. */
	assert_int_equal(rdmapmd_qp_state(one.qp), RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_context_close(one.context), 0);
	fake_unregister(fake);
}

static void
test_destroyed_objects_are_refused(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_async_event event = { .event_type = RDMAPMD_EVENT_QP_FATAL };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1 };
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_srq_attr srq_size = { 0 };
	struct rdmapmd_qp_attr qp_attr = { 0 };
	struct rdmapmd_qp_sizing sizing;
	struct rdmapmd_mr *mr;
	struct fake_set set;
	uint32_t qp_num;

	(void)state;
	fake_open_all(fake, &set);
	qp_num = set.qp->qp_num;
	attr = fake_qp_attr(&set);
	assert_ptr_equal(rdmapmd_qp_find(set.context, qp_num), set.qp);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_null(rdmapmd_qp_find(set.context, qp_num));
	assert_int_equal(rdmapmd_qp_destroy(set.qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_modify(set.qp, &qp_attr, RDMAPMD_QP_STATE), -EINVAL);
	assert_int_equal(rdmapmd_qp_query(set.qp, &qp_attr, NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_state(set.qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_drain(set.qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_sizing_query(set.qp, &sizing), -EINVAL);
	event.element.qp = set.qp;
	assert_int_equal(rdmapmd_async_event_ack(set.context, &event), -EINVAL);

	assert_int_equal(rdmapmd_srq_destroy(set.srq), 0);
	assert_int_equal(rdmapmd_srq_destroy(set.srq), -EINVAL);
	assert_int_equal(rdmapmd_srq_modify(set.srq, &srq_size, 0), -EINVAL);
	assert_int_equal(rdmapmd_srq_query(set.srq, &srq_size), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &set.qp), -EINVAL);

	assert_int_equal(rdmapmd_cq_destroy(set.cq), 0);
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -EINVAL);
	assert_int_equal(rdmapmd_cq_resize(set.cq, 4), -EINVAL);
	assert_int_equal(rdmapmd_cq_moderate(set.cq, 1, 1), -EINVAL);
	assert_int_equal(rdmapmd_cq_status(set.cq), -EINVAL);
	assert_int_equal(rdmapmd_cq_events_ack(set.cq, 0), -EINVAL);
	attr.srq = NULL;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &set.qp), -EINVAL);

	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), -EINVAL);
	assert_int_equal(rdmapmd_cq_event_get(set.channel, &set.cq), -EINVAL);
	cq_attr.channel = set.channel;
	assert_int_equal(rdmapmd_cq_create(set.context, &cq_attr, &set.cq), -EINVAL);

	assert_int_equal(rdmapmd_mr_dereg(set.mr), 0);
	assert_int_equal(rdmapmd_mr_dereg(set.mr), -EINVAL);
	assert_int_equal(rdmapmd_mr_rereg(set.mr, 1, set.pd, fake_memory, 1, 0), -EINVAL);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -EINVAL);
	assert_int_equal(rdmapmd_mr_reg(set.pd, fake_memory, 1, 0, &mr), -EINVAL);
	assert_int_equal(rdmapmd_srq_create(set.pd, &srq_attr, &set.srq), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &set.qp), -EINVAL);

	assert_int_equal(rdmapmd_context_close(set.context), 0);
	assert_int_equal(rdmapmd_context_close(set.context), -EINVAL);
	assert_int_equal(rdmapmd_pd_alloc(set.context, &set.pd), -EINVAL);
	assert_int_equal(rdmapmd_comp_channel_create(set.context, &set.channel), -EINVAL);
	assert_int_equal(rdmapmd_async_event_get(set.context, &event), -EINVAL);
	assert_int_equal(rdmapmd_async_event_fd(set.context), -EINVAL);
	assert_null(rdmapmd_qp_find(set.context, qp_num));
	fake_unregister(fake);
}

static void
test_null_is_refused(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_qp_init_attr attr = { 0 };
	struct rdmapmd_qp *qp = NULL;
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	assert_int_equal(rdmapmd_pd_alloc(NULL, &set.pd), -EINVAL);
	assert_int_equal(rdmapmd_pd_alloc(set.context, NULL), -EINVAL);
	assert_int_equal(rdmapmd_pd_dealloc(NULL), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set.pd, NULL, &qp), -EINVAL);
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, NULL), -EINVAL);
	attr = fake_qp_attr(&set);
	attr.send_cq = NULL;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &qp), -EINVAL);
	attr = fake_qp_attr(&set);
	attr.recv_cq = NULL;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &qp), -EINVAL);
	assert_int_equal(rdmapmd_cq_create(set.context, NULL, &set.cq), -EINVAL);
	assert_int_equal(rdmapmd_qp_modify(set.qp, NULL, 0), -EINVAL);
	assert_int_equal(rdmapmd_context_close(NULL), -EINVAL);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

/* ---- Errors of the driver ---- */

static int
create_something(struct fake_set *set, const char *call)
{
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 1, .channel = set->channel };
	struct rdmapmd_qp_init_attr qp_attr = fake_qp_attr(set);

	if (strcmp(call, "pd_alloc") == 0)
		return rdmapmd_pd_alloc(set->context, &set->pd);
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
	static const char *const calls[] = { "pd_alloc", "mr_reg", "cq_create", "srq_create",
					     "qp_create" };
	struct fake *fake = fake_register("fake0");
	struct fake_set set, before;
	unsigned int i;
	int alive;

	(void)state;
	fake_open_all(fake, &set);
	for (i = 0; i < RTE_DIM(calls); i++) {
		before = set;
		alive = fake->alive;
		fake->fail = calls[i];
		fake->error = -ENOSPC;
		assert_int_equal(create_something(&set, calls[i]), -ENOSPC);
		assert_int_equal(fake->alive, alive);
		/* The result is not touched. */
		assert_memory_equal(&set, &before, sizeof(set));
		fake->fail = NULL;
	}
	/* No dependency stayed behind. */
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(set.srq), 0);
	assert_int_equal(rdmapmd_cq_destroy(set.cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), 0);
	assert_int_equal(rdmapmd_mr_dereg(set.mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_a_driver_that_gives_a_number_twice(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp *first, *second = NULL;
	struct fake_set set;
	int alive;

	(void)state;
	fake_open_all(fake, &set);
	attr = fake_qp_attr(&set);
	fake->same_numbers = true;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &first), 0);
	alive = fake->alive;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &second), -EIO);
	assert_int_equal(fake->alive, alive);
	assert_null(second);
	assert_ptr_equal(rdmapmd_qp_find(set.context, 7), first);
	assert_int_equal(rdmapmd_qp_destroy(first), 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_a_destroy_that_fails_in_the_device_is_told_and_done(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	fake->error = -ETIMEDOUT;
	fake->fail = "qp_destroy";
	assert_int_equal(rdmapmd_qp_destroy(set.qp), -ETIMEDOUT);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), -EINVAL);
	/* It holds nothing back any more. */
	fake->fail = "srq_destroy";
	assert_int_equal(rdmapmd_srq_destroy(set.srq), -ETIMEDOUT);
	fake->fail = "cq_destroy";
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -ETIMEDOUT);
	fake->fail = "mr_dereg";
	assert_int_equal(rdmapmd_mr_dereg(set.mr), -ETIMEDOUT);
	fake->fail = "pd_dealloc";
	assert_int_equal(rdmapmd_pd_dealloc(set.pd), -ETIMEDOUT);
	assert_int_equal(rdmapmd_comp_channel_destroy(set.channel), 0);
	fake->fail = "context_close";
	assert_int_equal(rdmapmd_context_close(set.context), -ETIMEDOUT);
	assert_int_equal(rdmapmd_context_close(set.context), -EINVAL);
	fake_unregister(fake);
}

/* ---- Close ---- */

static void
test_close_destroys_dependants_first(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set set;
	unsigned int calls;

	(void)state;
	fake_open_all(fake, &set);
	calls = fake->call_count;
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_assert_calls(fake, calls,
			  "qp_destroy srq_destroy cq_destroy mr_dereg pd_dealloc context_close");
	fake_unregister(fake);
}

static void
test_close_goes_on_when_the_device_fails(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	fake->fail = "cq_destroy";
	fake->error = -EIO;
	assert_int_equal(rdmapmd_context_close(set.context), -EIO);
	assert_int_equal(fake->alive, 0);
	fake_unregister(fake);
}

/* ---- The device goes ---- */

static void
test_removal_leaves_shells(void **state)
{
	struct fake *fake = fake_register("fake0");
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
	struct fake_set set;
	unsigned int calls;

	(void)state;
	fake_open_all(fake, &set);
	device = rdmapmd_device_find("fake0");
	calls = fake->call_count;
	rdmapmd_device_unregister(fake->device);
	fake_assert_calls(fake, calls,
			  "qp_destroy srq_destroy cq_destroy mr_dereg pd_dealloc context_close");
	assert_int_equal(fake->alive, 0);
	calls = fake->call_count;

	assert_int_equal(rdmapmd_async_event_get(set.context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_DEVICE_FATAL);
	assert_int_equal(rdmapmd_async_event_ack(set.context, &event), 0);
	assert_int_equal(rdmapmd_post_send(set.qp, &send, 1), 0);
	assert_int_equal(rdmapmd_post_recv(set.qp, &recv, 1), 0);
	assert_int_equal(rdmapmd_post_srq_recv(set.srq, &recv, 1), 0);
	assert_int_equal(rdmapmd_poll_cq(set.cq, wc, 4), 0);
	assert_int_equal(rdmapmd_req_notify_cq(set.cq, false), -EINVAL);
	attr = fake_qp_attr(&set);
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &qp), -ENODEV);
	assert_int_equal(rdmapmd_qp_modify(set.qp, &qp_attr, RDMAPMD_QP_STATE), -ENODEV);
	assert_int_equal(rdmapmd_qp_drain(set.qp), -ENODEV);
	assert_int_equal(rdmapmd_device_query(set.context, &device_attr), -ENODEV);
	assert_int_equal(rdmapmd_device_open(device, &context), -ENODEV);
	/* They still count as what holds what. */
	assert_int_equal(rdmapmd_cq_destroy(set.cq), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_int_equal(rdmapmd_mr_dereg(set.mr), 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_assert_calls(fake, calls, "");
	rdmapmd_device_put(device);
	free(fake);
}

static void
test_close_and_destroy_before_removal_and_after(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set one, two;

	(void)state;
	fake_open_all(fake, &one);
	fake_open_all(fake, &two);
	assert_int_equal(rdmapmd_context_close(one.context), 0);
	rdmapmd_device_unregister(fake->device);
	assert_int_equal(fake->alive, 0);
	assert_int_equal(fake_count(fake, "qp_destroy"), 2);
	assert_int_equal(rdmapmd_context_close(two.context), 0);
	free(fake);
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
	struct fake *fake = fake_register("fake0");
	struct under_way way;
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	start_call(&way, &set);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), -EBUSY);
	assert_int_equal(rdmapmd_context_close(set.context), -EBUSY);
	/* Others are not held up. */
	assert_int_equal(rdmapmd_mr_dereg(set.mr), 0);
	let_go_on(&way);
	end_call(&way);
	assert_int_equal(way.rc, 0);
	assert_int_equal(rdmapmd_qp_destroy(set.qp), 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
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
	struct fake *fake = fake_register("fake0");
	struct under_way way;
	struct fake_set set;
	pthread_t later;

	(void)state;
	fake_open_all(fake, &set);
	start_call(&way, &set);
	assert_int_equal(pthread_create(&later, NULL, let_go_on_later, &way), 0);
	rdmapmd_device_unregister(fake->device);
	assert_true(way.go_on);
	pthread_join(later, NULL);
	end_call(&way);
	assert_int_equal(way.rc, 0);
	assert_int_equal(fake->alive, 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	free(fake);
}

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
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_cq_init_attr attr = { 0 };
	struct fake_set set;
	struct rdmapmd_cq *cq;
	unsigned int i;

	(void)state;
	fake_open(fake, &set);
	for (i = 0; i < RTE_DIM(sizes); i++) {
		attr.cqe = sizes[i].asked;
		assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), 0);
		assert_int_equal(fake->cq.log_size, sizes[i].log_size);
		assert_int_equal(cq->cqe, (1u << sizes[i].log_size) - 1);
		assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	}
	attr.cqe = 0;
	assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), -EINVAL);
	attr.cqe = 1u << 22;
	assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), -EINVAL);
	attr.cqe = UINT32_MAX;
	assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), -EINVAL);
	attr.cqe = 1;
	attr.comp_vector = 4;
	assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), -EINVAL);
	attr.comp_vector = 3;
	assert_int_equal(rdmapmd_cq_create(set.context, &attr, &cq), 0);
	assert_int_equal(fake->cq.comp_vector, 3);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_resize_and_moderation(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	assert_int_equal(rdmapmd_cq_resize(set.cq, 100), 0);
	assert_int_equal(set.cq->cqe, 127);
	assert_int_equal(rdmapmd_cq_resize(set.cq, 0), -EINVAL);
	fake->fail = "cq_resize";
	fake->error = -EINVAL;
	assert_int_equal(rdmapmd_cq_resize(set.cq, 1), -EINVAL);
	assert_int_equal(set.cq->cqe, 127);
	assert_int_equal(rdmapmd_cq_moderate(set.cq, 8, 16), 0);
	assert_int_equal(fake->count, 8);
	assert_int_equal(fake->period_us, 16);
	fake->ops.cq_resize = NULL;
	fake->ops.cq_moderate = NULL;
	assert_int_equal(rdmapmd_cq_resize(set.cq, 1), -ENOTSUP);
	assert_int_equal(rdmapmd_cq_moderate(set.cq, 1, 1), -ENOTSUP);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_bursts_reach_the_driver(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_recv_wr recv[2] = { 0 };
	struct rdmapmd_send_wr send[2] = { 0 };
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_wc wc[3];
	struct rdmapmd_qp *qp;
	struct fake_set set;

	(void)state;
	fake_open_all(fake, &set);
	assert_int_equal(rdmapmd_post_send(set.qp, send, 2), 2);
	assert_int_equal(rdmapmd_post_srq_recv(set.srq, recv, 2), 2);
	assert_int_equal(rdmapmd_poll_cq(set.cq, wc, 3), 3);
	assert_int_equal(rdmapmd_req_notify_cq(set.cq, true), 1);
	/* With an SRQ there is no receive queue. */
	assert_int_equal(rdmapmd_post_recv(set.qp, recv, 2), 0);
	assert_int_equal(set.qp->post_recv_error, -EINVAL);
	/* A queue of no size takes nothing. */
	set.srq = NULL;
	attr = fake_qp_attr(&set);
	attr.cap.max_send_wr = 0;
	assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &qp), 0);
	assert_int_equal(rdmapmd_post_send(qp, send, 1), 0);
	assert_int_equal(qp->post_send_error, -EINVAL);
	assert_int_equal(rdmapmd_post_recv(qp, recv, 2), 2);
	/* What bursts read lies on a cache line's beginning. */
	assert_int_equal((uintptr_t)qp % 64, 0);
	assert_int_equal(sizeof(struct rdmapmd_send_wr), 64);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_shared_receive_queues(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 4 },
					      .srq_context = &fake };
	struct rdmapmd_srq_attr attr = { .srq_limit = 10 };
	struct rdmapmd_srq *srq;
	struct fake_set set;

	(void)state;
	fake_open(fake, &set);
	assert_int_equal(rdmapmd_pd_alloc(set.context, &set.pd), 0);
	assert_int_equal(rdmapmd_srq_create(set.pd, &init, &srq), 0);
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
	assert_int_equal(rdmapmd_srq_create(set.pd, &init, &srq), -EINVAL);
	init.attr = (struct rdmapmd_srq_attr){ .max_wr = 32768, .max_sge = 1 };
	assert_int_equal(rdmapmd_srq_create(set.pd, &init, &srq), -EINVAL);
	init.attr = (struct rdmapmd_srq_attr){ .max_wr = 1, .max_sge = 32 };
	assert_int_equal(rdmapmd_srq_create(set.pd, &init, &srq), -EINVAL);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_a_device_without_srqs(void **state)
{
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_srq_init_attr init = { .attr = { .max_wr = 1 } };
	struct rdmapmd_device *device;
	struct rdmapmd_driver_ops ops = fake->ops;
	struct rdmapmd_srq *srq;
	struct fake_set set;

	(void)state;
	ops.srq_create = NULL;
	ops.srq_arm = NULL;
	ops.srq_query = NULL;
	ops.srq_destroy = NULL;
	ops.srq_size = 0;
	assert_int_equal(rdmapmd_device_register("second", "fake", fake, &device), 0);
	assert_int_equal(rdmapmd_device_offer(device, &ops), 0);
	assert_int_equal(rdmapmd_device_open(device, &set.context), 0);
	assert_int_equal(rdmapmd_pd_alloc(set.context, &set.pd), 0);
	assert_int_equal(rdmapmd_srq_create(set.pd, &init, &srq), -ENOTSUP);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	rdmapmd_device_unregister(device);
	fake_unregister(fake);
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
	struct fake *fake = fake_register("fake0");
	struct worker workers[THREADS] = { 0 };
	struct fake_set set;
	unsigned int i;

	(void)state;
	fake_open(fake, &set);
	for (i = 0; i < THREADS; i++) {
		workers[i].fake = fake;
		workers[i].context = i % 2 ? set.context : NULL;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].errors, 0);
	}
	assert_int_equal(fake->alive, 1);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_a_thousand_queue_pairs(void **state)
{
	static struct rdmapmd_qp *qps[1024];
	struct fake *fake = fake_register("fake0");
	struct rdmapmd_qp_init_attr attr;
	struct fake_set set;
	unsigned int i;

	(void)state;
	fake_open_all(fake, &set);
	for (i = 0; i < RTE_DIM(qps); i++) {
		attr = fake_qp_attr(&set);
		assert_int_equal(rdmapmd_qp_create(set.pd, &attr, &qps[i]), 0);
	}
	for (i = 0; i < RTE_DIM(qps); i++)
		assert_ptr_equal(rdmapmd_qp_find(set.context, qps[i]->qp_num), qps[i]);
	for (i = 0; i < RTE_DIM(qps); i += 2)
		assert_int_equal(rdmapmd_qp_destroy(qps[i]), 0);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_by_name_and_port),
		cmocka_unit_test(test_a_device_without_rdma_does_not_open),
		cmocka_unit_test(test_a_secondary_process_is_refused_with_one_message),
		cmocka_unit_test(test_an_incomplete_driver_is_refused),
		cmocka_unit_test(test_an_open_that_fails_leaves_nothing),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_mtu_in_bytes),
		cmocka_unit_test(test_dependants_hold_back_destruction),
		cmocka_unit_test(test_a_refused_destruction_asks_no_driver),
		cmocka_unit_test(test_objects_of_two_contexts_do_not_mix),
		cmocka_unit_test(test_destroyed_objects_are_refused),
		cmocka_unit_test(test_null_is_refused),
		cmocka_unit_test(test_a_create_that_fails_leaves_nothing),
		cmocka_unit_test(test_a_driver_that_gives_a_number_twice),
		cmocka_unit_test(test_a_destroy_that_fails_in_the_device_is_told_and_done),
		cmocka_unit_test(test_close_destroys_dependants_first),
		cmocka_unit_test(test_close_goes_on_when_the_device_fails),
		cmocka_unit_test(test_removal_leaves_shells),
		cmocka_unit_test(test_close_and_destroy_before_removal_and_after),
		cmocka_unit_test(test_an_object_in_use_does_not_go),
		cmocka_unit_test(test_removal_waits_for_calls),
		cmocka_unit_test(test_sizes_of_completion_queues),
		cmocka_unit_test(test_resize_and_moderation),
		cmocka_unit_test(test_bursts_reach_the_driver),
		cmocka_unit_test(test_shared_receive_queues),
		cmocka_unit_test(test_a_device_without_srqs),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_a_thousand_queue_pairs),
	};

	fake_quiet();
	return cmocka_run_group_tests_name("rdma_object", tests, NULL, NULL);
}
