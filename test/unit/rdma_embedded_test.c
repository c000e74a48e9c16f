/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA's objects on the embedded device, through the library: what the device says of itself, memory regions as it knows
 * them, events, and what is left when it refuses, or is lost.
 */

#include "verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "../e2e/rdma.h"
#include "base/clock.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/event.h"
#include "object/mkey.h"
#include "object/port.h"
#include "object/port_counters.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/init_seg.h"
#include "prm/mkey.h"
#include "prm/wqe.h"
#include "rdma/context.h"
#include "rdma/rdma.h"
#include "telemetry.h"

#define PATIENCE_MS 20000 /* until an event is taken not to come */

/* Once the driver knows the capabilities, and before anything but the event queue for the rest looks at them. */
static int
without_rc(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "RDMA") == 0)
		rnic_general_cap_set(&dev->caps.general, RNIC_GENERAL_CAP_RC, 0);
	return 0;
}

static void
test_a_device_without_rc_offers_no_rdma(void **state)
{
	struct rdmapmd_context *context;
	struct rnic_dev *dev;

	(void)state;
	rnic_bringup_hook = without_rc;
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev), 0);
	assert_false(rnic_rdma_supported(dev));
	assert_null(dev->rdma);
	assert_int_equal(rdmapmd_device_open(dev->device, &context), -ENOTSUP);
	rnic_dev_close(dev);
	/* And it has no use for an address. */
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, "ip=192.0.2.1", SOCKET_ID_ANY, &dev), -ENOTSUP);
	rnic_bringup_hook = NULL;
}

static void
test_what_the_device_says_of_itself(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	uint16_t pkey;

	assert_int_equal(rdmapmd_device_query(world->context, &attr), 0);
	assert_string_equal(attr.fw_ver, world->dev->fw_version);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.vendor_part_id, 0x1017);
	assert_int_equal(attr.hw_ver, 0);
	assert_int_equal(attr.num_comp_vectors, 1);
	assert_int_equal(attr.max_qp_wr, 1 << 15);
	/* A control segment, a remote address, and what an atomic would have. */
	assert_int_equal(attr.max_send_sge,
			 (attr.max_sq_desc_sz / 16 < 63 ? attr.max_sq_desc_sz / 16 : 63) - 3);
	assert_int_equal(attr.max_recv_sge, attr.max_rq_desc_sz / 16);
	/* The driver has asked for the host's byte order. */
	assert_int_equal(attr.atomic_cap, RDMAPMD_ATOMIC_HCA);
	assert_int_equal(attr.max_qp_rd_atom, 16);
	assert_int_equal(rdmapmd_port_query(world->context, 1, &port), 0);
	assert_int_equal(port.state, RDMAPMD_PORT_ACTIVE);
	assert_true(port.gid_tbl_len >= 2);
	assert_memory_equal(port.mac, world->dev->mac, 6);
	assert_int_equal(rdmapmd_pkey_query(world->context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(rdmapmd_pkey_query(world->context, 1, 1, &pkey), -EINVAL);
}

static void
test_the_part_is_the_card_that_the_device_is_like(void **state)
{
	static const struct {
		const char *devargs;
		uint32_t part;
	} cards[] = { { "like=cx4lx", 0x1015 }, { "like=cx6dx", 0x101d } };
	struct rdmapmd_context *context;
	struct rdmapmd_device_attr attr;
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(cards); i++) {
		assert_int_equal(rnic_dev_open(UNIT_DEVICE, cards[i].devargs, SOCKET_ID_ANY, &dev),
				 0);
		assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
		assert_int_equal(rdmapmd_device_query(context, &attr), 0);
		assert_int_equal(attr.vendor_part_id, cards[i].part);
		assert_int_equal(rdmapmd_context_close(context), 0);
		rnic_dev_close(dev);
	}
}

static void
test_the_path_mtu_follows_the_port(void **state)
{
	static const struct {
		uint16_t port;
		enum rdmapmd_mtu path;
	} sizes[] = {
		{ 68, RDMAPMD_MTU_256 },    { 607, RDMAPMD_MTU_256 },	{ 608, RDMAPMD_MTU_512 },
		{ 1500, RDMAPMD_MTU_1024 }, { 2144, RDMAPMD_MTU_2048 }, { 4191, RDMAPMD_MTU_2048 },
		{ 4192, RDMAPMD_MTU_4096 }, { 9000, RDMAPMD_MTU_4096 },
	};
	struct unit_verbs *world = *state;
	struct rdmapmd_port_attr port;
	unsigned int i;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		assert_int_equal(rnic_port_set_mtu(world->dev, sizes[i].port), 0);
		assert_int_equal(rdmapmd_port_query(world->context, 1, &port), 0);
		assert_int_equal(port.active_mtu, sizes[i].path);
	}
}

static bool
key_lives(struct rnic_dev *dev, uint32_t key, unsigned int access, uint32_t pdn, uint64_t start)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_mkey_out out;
	struct rnic_mkc *mkc;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, key >> 8);
	if (rnic_cmd_try(dev, RNIC_CMD_QUERY_MKEY, 0, &in, sizeof(in), &out, sizeof(out)) != 0)
		return false;
	mkc = rnic_query_mkey_out_mkc(&out);
	return rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0) == (key & 0xff) &&
	       rnic_mkc_get(mkc, RNIC_MKC_PD) == pdn &&
	       rnic_mkc_get(mkc, RNIC_MKC_START_ADDR) == start &&
	       rnic_mkc_get(mkc, RNIC_MKC_LW) == ((access & RDMAPMD_ACCESS_LOCAL_WRITE) != 0) &&
	       rnic_mkc_get(mkc, RNIC_MKC_RW) == ((access & RDMAPMD_ACCESS_REMOTE_WRITE) != 0) &&
	       rnic_mkc_get(mkc, RNIC_MKC_RR) == ((access & RDMAPMD_ACCESS_REMOTE_READ) != 0);
}

static void
test_memory_regions(void **state)
{
	const unsigned int read_only = RDMAPMD_ACCESS_REMOTE_READ;
	const unsigned int write = RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE;
	struct unit_verbs *world = *state;
	struct rdmapmd_pd *pd, *other;
	uint8_t *memory = rte_malloc(NULL, 1 << 16, 4096);
	const uint64_t start = (uintptr_t)memory;
	struct rdmapmd_mr *mr;
	uint32_t old;

	assert_non_null(memory);
	assert_int_equal(rdmapmd_pd_alloc(world->context, &pd), 0);
	assert_int_equal(rdmapmd_pd_alloc(world->context, &other), 0);
	assert_int_not_equal(pd->pdn, other->pdn);
	assert_int_equal(rdmapmd_mr_reg(pd, memory, 1 << 16, read_only, &mr), 0);
	assert_true(key_lives(world->dev, mr->lkey, read_only, pd->pdn, start));
	old = mr->lkey;
	assert_int_equal(rdmapmd_mr_rereg(mr,
					  RDMAPMD_REREG_MR_CHANGE_PD |
						  RDMAPMD_REREG_MR_CHANGE_ACCESS |
						  RDMAPMD_REREG_MR_CHANGE_TRANSLATION,
					  other, memory + 4096, 4096, write),
			 0);
	assert_false(key_lives(world->dev, old, read_only, pd->pdn, start));
	assert_true(key_lives(world->dev, mr->lkey, write, other->pdn, start + 4096));
	assert_int_equal(mr->lkey, mr->rkey);
	assert_int_equal(rdmapmd_pd_dealloc(other), -EBUSY);
	old = mr->lkey;
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_false(key_lives(world->dev, old, write, other->pdn, start + 4096));
	/* From 0 on: whole pages are what can be translated. */
	assert_int_equal(rdmapmd_mr_reg(pd, memory, 5000, write | RDMAPMD_ACCESS_ZERO_BASED, &mr),
			 0);
	assert_true(key_lives(world->dev, mr->lkey, write, pd->pdn, 0));
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(
		rdmapmd_mr_reg(pd, memory + 8, 100, write | RDMAPMD_ACCESS_ZERO_BASED, &mr),
		-EINVAL);
	rte_free(memory);
}

static unsigned int
key_order(struct unit_verbs *world, uint32_t access)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_mkey_out out;
	struct rdmapmd_mr *mr;
	uint8_t *memory = rte_malloc(NULL, 4096, 4096);
	unsigned int order;

	assert_int_equal(rdmapmd_mr_reg(world->pd, memory, 4096, access, &mr), 0);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, mr->lkey >> 8);
	assert_int_equal(rnic_cmd_try(world->dev, RNIC_CMD_QUERY_MKEY, 0, &in, sizeof(in), &out,
				      sizeof(out)),
			 0);
	order = (unsigned int)(rnic_mkc_get(rnic_query_mkey_out_mkc(&out),
					    RNIC_MKC_RELAXED_ORDERING_WRITE) |
			       rnic_mkc_get(rnic_query_mkey_out_mkc(&out),
					    RNIC_MKC_RELAXED_ORDERING_READ)
				       << 1);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	rte_free(memory);
	return order;
}

/* Each direction has a capability of its own; without it the device would refuse the key. */
static void
test_relaxed_ordering_of_a_device_that_has_it(void **state)
{
	struct unit_verbs *world = *state;
	struct rnic_general_cap *general = &world->dev->caps.general;

	assert_int_equal(key_order(world, RDMAPMD_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(key_order(world, RDMAPMD_ACCESS_RELAXED_ORDERING), 3);
	rnic_general_cap_set(general, RNIC_GENERAL_CAP_RELAXED_ORDERING_READ, 0);
	assert_int_equal(key_order(world, RDMAPMD_ACCESS_RELAXED_ORDERING), 1);
	rnic_general_cap_set(general, RNIC_GENERAL_CAP_RELAXED_ORDERING_WRITE, 0);
	assert_int_equal(key_order(world, RDMAPMD_ACCESS_RELAXED_ORDERING), 0);
	/* No device knows the others. */
	assert_int_equal(key_order(world, 1u << 29), 0);
}

/* The event of a channel, within the time that it may take; NULL: none has come. */
static struct rdmapmd_cq *
wait_event(struct rdmapmd_comp_channel *channel, unsigned int patience_ms)
{
	struct pollfd poll_fd = { .fd = channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	if (poll(&poll_fd, 1, (int)patience_ms) != 1)
		return NULL;
	assert_int_equal(rdmapmd_cq_event_get(channel, &cq), 0);
	return cq;
}

static void
test_completion_events(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 63 };
	struct rdmapmd_cq *cq, *armed;
	struct rnic_rdma_cq *rnic_cq;
	struct rdmapmd_wc wc;
	struct rnic_sq sq;
	unsigned int i;

	assert_int_equal(rdmapmd_comp_channel_create(world->context, &attr.channel), 0);
	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	rnic_cq = (struct rnic_rdma_cq *)cq;
	assert_int_equal(rnic_sq_create(world->dev, 6, &rnic_cq->ring, &sq), 0);
	unit_post_nop(&sq);
	/* Not armed: no event. */
	assert_null(wait_event(attr.channel, 20));
	for (i = 0; i < 6; i++) {
		/* Armed behind an entry that was not polled: at once. Then one for each arming. */
		assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
		if (i > 0)
			unit_post_nop(&sq);
		assert_ptr_equal(wait_event(attr.channel, PATIENCE_MS), cq);
		assert_int_equal(rdmapmd_cq_event_get(attr.channel, &armed), -EAGAIN);
		assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
		assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
		assert_int_equal(rnic_cq->unmatched, i + 1);
	}
	assert_int_equal(rnic_sq_destroy(world->dev, &sq), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	assert_int_equal(world->dev->rdma->event_cqs, 0);
}

/* One completion alone is told of when its time is over, not before. */
static void
test_moderated_events(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 63 };
	struct rdmapmd_cq *cq;
	struct rdmapmd_wc wc;
	struct rnic_sq sq;
	uint64_t start;

	assert_int_equal(rdmapmd_comp_channel_create(world->context, &attr.channel), 0);
	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	assert_int_equal(rnic_sq_create(world->dev, 6, &((struct rnic_rdma_cq *)cq)->ring, &sq), 0);
	assert_int_equal(rdmapmd_cq_moderate(cq, 32, 4096), -EINVAL);
	assert_int_equal(rdmapmd_cq_moderate(cq, 32, 4095), 0);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
	/* By the clock that the device goes by. */
	start = rnic_now_us();
	unit_post_nop(&sq);
	assert_ptr_equal(wait_event(attr.channel, PATIENCE_MS), cq);
	assert_true(rnic_now_us() - start >= 4095);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
	assert_int_equal(rnic_sq_destroy(world->dev, &sq), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(attr.channel), 0);
}

static void
test_a_cq_without_a_channel(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 100 };
	struct rdmapmd_wc wc;
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	assert_int_equal(cq->cqe, 127);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), -EINVAL);
	assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
	assert_int_equal(rdmapmd_cq_resize(cq, 200), 0);
	assert_int_equal(cq->cqe, 255);
	assert_int_equal(rdmapmd_cq_moderate(cq, 1, 1), 0);
	assert_int_equal(rdmapmd_cq_moderate(cq, 0, 0), 0);
	assert_int_equal(rdmapmd_cq_moderate(cq, 1, 4096), -EINVAL);
}

/* The driver believes that receive WQEs may be longer than the device takes. */
static void
test_what_the_device_refuses_leaves_nothing(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 100 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 64 },
	};
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 63 } };
	struct rnic_general_cap *general = &world->dev->caps.general;
	struct rdmapmd_context *context;
	struct rdmapmd_srq *srq;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	uint32_t maps;

	rnic_general_cap_set(general, RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ, 0x400);
	assert_int_equal(rdmapmd_device_open(world->dev->device, &context), 0);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	assert_int_equal(rdmapmd_cq_create(context, &cq_attr, &cq), 0);
	maps = world->dev->access->maps;
	attr.send_cq = attr.recv_cq = cq;
	assert_int_equal(rdmapmd_qp_create(pd, &attr, &qp), -EINVAL);
	assert_int_equal(rdmapmd_srq_create(pd, &srq_attr, &srq), -EINVAL);
	assert_int_equal(world->dev->access->maps, maps);
	assert_int_equal(rdmapmd_context_close(context), 0);
}

/* ---- Events of the device ---- */

static void
test_a_cq_that_ran_over(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 7 };
	struct pollfd wait = { .events = POLLIN };
	struct rdmapmd_async_event event;
	struct rnic_rdma_cq *rnic_cq;
	struct rdmapmd_cq *cq;
	struct rnic_sq sq;
	unsigned int i;

	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	rnic_cq = (struct rnic_rdma_cq *)cq;
	assert_int_equal(rnic_sq_create(world->dev, 6, &rnic_cq->ring, &sq), 0);
	assert_int_equal(rdmapmd_cq_status(cq), 0);
	for (i = 0; i < 9; i++)
		unit_post_nop(&sq);
	wait.fd = rdmapmd_async_event_fd(world->context);
	assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
	assert_int_equal(rdmapmd_async_event_get(world->context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	assert_int_equal(rdmapmd_cq_status(cq), -EOVERFLOW);
	assert_int_equal(rdmapmd_cq_destroy(cq), -EBUSY);
	assert_int_equal(rdmapmd_async_event_ack(world->context, &event), 0);
	assert_int_equal(rnic_sq_destroy(world->dev, &sq), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
}

static void
expect_event(struct rdmapmd_context *context, enum rdmapmd_event_type type)
{
	struct pollfd wait = { .fd = rdmapmd_async_event_fd(context), .events = POLLIN };
	struct rdmapmd_async_event event;

	if (poll(&wait, 1, PATIENCE_MS) != 1)
		fail_msg("no event '%s'", rdmapmd_event_type_str(type));
	assert_int_equal(rdmapmd_async_event_get(context, &event), 0);
	assert_int_equal(event.event_type, type);
	assert_int_equal(rdmapmd_async_event_ack(context, &event), 0);
}

static void
test_the_port_comes_and_goes(void **state)
{
	struct unit_verbs *world = *state;

	assert_int_equal(rnic_port_set_admin(world->dev, false), 0);
	expect_event(world->context, RDMAPMD_EVENT_PORT_ERR);
	assert_int_equal(rnic_port_set_admin(world->dev, true), 0);
	expect_event(world->context, RDMAPMD_EVENT_PORT_ACTIVE);
}

static struct rnic_dev *
device_of(const struct rdma_pair *pair)
{
	return rdmapmd_device_priv(rdmapmd_context_device(pair->context));
}

/* All 8 bits of a path's traffic class are sent; who gets CE counts it, of RC also that of answers. */
static void
test_who_met_congestion_is_counted(void **state)
{
	static const enum rdmapmd_qp_type types[] = { RDMAPMD_QPT_RC, RDMAPMD_QPT_UC };
	struct rdma_conf conf = { 0 };
	struct softrnic_stats stats;
	struct rdma_pair pair = { 0 };
	struct rdmapmd_send_wr wr;
	uint64_t marked = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4 * RTE_DIM(types); i++) {
		conf.type = types[i / 4];
		conf.traffic_class = (uint8_t)(0x68 | i % 4);
		rdma_open(&pair, &conf);
		wr = rdma_request(&pair, RDMAPMD_WR_SEND, 1, NULL);
		rdma_post_recv(pair.qp[1], 2, NULL, 0);
		rdma_post(pair.qp[0], &wr);
		rdma_expect(pair.cq[0], 1, RDMAPMD_WC_SEND);
		rdma_expect(pair.cq[1], 2, RDMAPMD_WC_RECV);
		softrnic_stats_get(unit_softrnic(device_of(&pair)), &stats);
		if (i % 4 == 3)
			marked += conf.type == RDMAPMD_QPT_RC ? 2 : 1;
		assert_int_equal(stats.np_ecn_marked_roce_packets, marked);
		rdma_close(&pair);
	}
	rdma_free(&pair);
}

/* ---- The device is lost ---- */

static int
open_pair(void **state)
{
	static const struct rdma_conf conf = { .channel = true, .td = true };
	static struct rdma_pair pair;
	void *dev;

	unit_tunables()->health_period_ms = 20;
	assert_int_equal(unit_open(&dev), 0);
	rdma_open(&pair, &conf);
	*state = &pair;
	return 0;
}

/* All of it goes, with the errors of a device that is not there. */
static int
close_lost_pair(void **state)
{
	struct rdma_pair *pair = *state;
	void *dev = device_of(pair);

	rdmapmd_context_close(pair->context);
	rdma_free(pair);
	return unit_close(&dev);
}

static int
close_pair(void **state)
{
	struct rdma_pair *pair = *state;
	void *dev = device_of(pair);

	rdma_close(pair);
	rdma_free(pair);
	return unit_close(&dev);
}

static void
lose(struct rdma_pair *pair)
{
	assert_int_equal(softrnic_fault(unit_softrnic(device_of(pair)), SOFTRNIC_FAULT_FATAL, 1),
			 0);
	expect_event(pair->context, RDMAPMD_EVENT_DEVICE_FATAL);
}

static void
test_a_lost_device_flushes_everything(void **state)
{
	struct rdma_pair *pair = *state;
	struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_SEND, 0, NULL);
	struct rdmapmd_cq *armed;
	unsigned int i;
	int left;

	/* Sends that wait for a receive, and receives that wait for a send. */
	for (i = 0; i < 5; i++) {
		wr.wr_id = i;
		rdma_post(pair->qp[0], &wr);
		rdma_post_recv(pair->qp[0], 100 + i, NULL, 0);
	}
	assert_int_equal(rdmapmd_req_notify_cq(pair->cq[0], false), 0);
	lose(pair);
	armed = wait_event(pair->channel, PATIENCE_MS);
	assert_non_null(armed);
	assert_int_equal(rdmapmd_cq_events_ack(armed, 1), 0);
	for (i = 0; i < 5; i++)
		rdma_expect_status(pair->cq[0], i, RDMAPMD_WC_WR_FLUSH_ERR);
	for (i = 0; i < 5; i++)
		rdma_expect_status(pair->cq[0], 100 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rdmapmd_qp_state(pair->qp[0]), RDMAPMD_QPS_ERR);
	/* What is posted now comes back, too; whoever arms is not left alone with it. */
	rdma_post(pair->qp[0], &wr);
	while ((armed = wait_event(pair->channel, 0)) != NULL)
		assert_int_equal(rdmapmd_cq_events_ack(armed, 1), 0);
	assert_int_equal(rdmapmd_req_notify_cq(pair->cq[0], false), 0);
	armed = wait_event(pair->channel, PATIENCE_MS);
	assert_ptr_equal(armed, pair->cq[0]);
	assert_int_equal(rdmapmd_cq_events_ack(armed, 1), 0);
	rdma_expect_status(pair->cq[0], 4, RDMAPMD_WC_WR_FLUSH_ERR);
	/* Draining ends. */
	rdma_post_recv(pair->qp[1], 7, NULL, 0);
	left = rdmapmd_qp_drain(pair->qp[1]);
	assert_int_equal(left, 1);
	rdma_expect_status(pair->cq[1], 7, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rdmapmd_qp_drain(pair->qp[1]), 0);
}

/* What stands still in its health may receive all the same: a buffer comes back when it cannot be written to any more. */
static void
test_a_lost_device_is_reset_before_buffers_come_back(void **state)
{
	struct rdma_pair *pair = *state;
	struct rnic_dev *dev = device_of(pair);

	rdma_post_recv(pair->qp[0], 1, NULL, 0);
	assert_int_not_equal(rnic_register_read(dev, RNIC_ISEG_CMDQ_ADDR_LOW), 0);
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_HEALTH_STOPPED, 1), 0);
	rdma_expect_status(pair->cq[0], 1, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_register_read(dev, RNIC_ISEG_CMDQ_ADDR_LOW), 0);
}

/* The driver goes while an application has everything open: shells are what is left. */
static void
test_a_device_that_is_closed_under_an_application(void **state)
{
	struct rdma_pair *pair = *state;
	const struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_SEND, 1, NULL);
	struct rnic_dev *dev = device_of(pair);
	struct rdmapmd_wc wc;

	rdma_post(pair->qp[0], &wr);
	rnic_dev_close(dev);
	expect_event(pair->context, RDMAPMD_EVENT_DEVICE_FATAL);
	assert_int_equal(rdmapmd_post_send(pair->qp[0], &wr, 1), 0);
	assert_int_equal(rdmapmd_poll_cq(pair->cq[0], &wc, 1), 0);
	assert_int_equal(rdmapmd_qp_drain(pair->qp[0]), -ENODEV);
	/* Shells go as ever, without a word from the driver. */
	rdma_close(pair);
	rdma_free(pair);
}

/* ---- Late events ---- */

static void
nap(void *arg)
{
	const struct timespec time = { .tv_nsec = 100000000 };

	(void)arg;
	nanosleep(&time, NULL);
}

/* The responder breaks, and says so; until its event is handled, both ends are connected anew. */
static void
test_an_event_of_a_life_before(void **state)
{
	static const struct rdma_conf conf = { 0 };
	struct rdma_pair *pair = *state;
	const struct rdmapmd_sge sge = rdma_sge(pair, 0, 8);
	struct rdmapmd_send_wr wr = rdma_request(pair, RDMAPMD_WR_RDMA_WRITE, 1, &sge);
	struct rnic_dev *dev = device_of(pair);
	struct rnic_port_errors errors;

	wr.wr.rdma.rkey ^= 0x77;
	rnic_on_port_change(dev, nap, dev);
	rnic_event_note_port(dev);
	/* A command, whose event puts the control thread to sleep. */
	assert_int_equal(rnic_port_errors(dev, &errors), 0);
	rdma_post(pair->qp[0], &wr);
	rdma_expect_status(pair->cq[0], 1, RDMAPMD_WC_REM_ACCESS_ERR);
	rdma_to(pair->qp[0], RDMAPMD_QPS_RESET);
	rdma_to(pair->qp[1], RDMAPMD_QPS_RESET);
	rdma_connect(pair->qp[0], pair->qp[1], &conf);
	rdma_connect(pair->qp[1], pair->qp[0], &conf);
	rnic_control_sync(dev);
	assert_int_equal(rdmapmd_qp_state(pair->qp[0]), RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_qp_state(pair->qp[1]), RDMAPMD_QPS_RTS);
	expect_event(pair->context, RDMAPMD_EVENT_QP_ACCESS_ERR);
	rnic_on_port_change(dev, NULL, NULL);
}

/* ---- Telemetry ---- */

/* What a handler says, as text: these stand in the place of the library's functions. */
static char told[2048];

static void
tell(const char *format, const char *name, const char *text, uint64_t value)
{
	const size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, format, name, text, value);
}

int
rte_tel_data_start_array(struct rte_tel_data *data, enum rte_tel_value_type type)
{
	(void)data;
	assert_int_equal(type, RTE_TEL_STRING_VAL);
	return 0;
}

int
rte_tel_data_start_dict(struct rte_tel_data *data)
{
	(void)data;
	return 0;
}

int
rte_tel_data_add_array_string(struct rte_tel_data *data, const char *text)
{
	(void)data;
	tell("[%s]%s", text, "", 0);
	return 0;
}

int
rte_tel_data_add_dict_string(struct rte_tel_data *data, const char *name, const char *text)
{
	(void)data;
	tell("[%s=%s]", name, text, 0);
	return 0;
}

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif
int
rte_tel_data_add_dict_uint(struct rte_tel_data *data, const char *name, uint64_t value)
{
	(void)data;
	tell("[%s%s%" PRIu64 "]", name, "=", value);
	return 0;
}

static void
assert_told(const char *what)
{
	if (strstr(told, what) == NULL)
		fail_msg("'%s' is not in '%s'", what, told);
}

static void
test_telemetry(void **state)
{
	union rdmapmd_gid ipv4 = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 } };
	struct unit_verbs *world = *state;
	const uint32_t objects = unit_objects(world->dev);
	struct rdmapmd_td *td;
	uint32_t index;

	assert_int_equal(rdmapmd_gid_add(world->context, 1, &ipv4, &index), 0);
	/* With it come the driver's own queues, which stay. */
	world->objects += unit_objects(world->dev) - objects;
	world->maps = world->dev->access->maps;
	world->keys = rnic_mkeys_count(world->dev);
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_list("/rnic/list", NULL, NULL), 0);
	assert_told("[net_rnic0]");
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_info("/rnic/info", "net_rnic0", NULL), 0);
	assert_told("[rdma=yes]");
	assert_told("[state=ACTIVE]");
	assert_told("[active_mtu=1024]");
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_gids("/rnic/gids", "net_rnic0", NULL), 0);
	assert_told("[0=fe80::");
	assert_told("[1=192.0.2.9]");
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_counters("/rnic/counters", "net_rnic0", NULL), 0);
	assert_told("[rx_write_requests=0]");
	assert_told("[req_cqe_flush_error=0]");
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_softrnic("/rnic/softrnic", "net_rnic0", NULL), 0);
	assert_told("[tx_errors=0]");
	assert_told("[tx_checksums=0][tx_vlans=0][tx_lso=0][tx_lso_frames=0]");
	assert_told("[commands_failed=0]");
	assert_int_equal(rdmapmd_td_alloc(world->context, &td), 0);
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_doorbells("/rnic/doorbells", "net_rnic0", NULL), 0);
	/* The driver's own queue for neighbours shares one. */
	assert_told("[low_latency=0][dynamic=1][dynamic_pages=1][shared_users=1]");
	assert_int_equal(rnic_telemetry_doorbells("/rnic/doorbells", "net_rnic9", NULL), -ENODEV);
	assert_int_equal(rnic_telemetry_info("/rnic/info", "net_rnic9", NULL), -ENODEV);
	assert_int_equal(rnic_telemetry_gids("/rnic/gids", "", NULL), -ENODEV);
	assert_int_equal(rnic_telemetry_counters("/rnic/counters", NULL, NULL), -ENODEV);
	assert_int_equal(rnic_telemetry_softrnic("/rnic/softrnic", NULL, NULL), -ENODEV);
}

/* Who looks changes nothing: a port that was switched off stays so, and nobody is told otherwise. */
static void
test_telemetry_leaves_the_port_as_it_is(void **state)
{
	static int (*const handlers[])(const char *, const char *, struct rte_tel_data *) = {
		rnic_telemetry_list,	 rnic_telemetry_info,	  rnic_telemetry_gids,
		rnic_telemetry_counters, rnic_telemetry_softrnic, rnic_telemetry_doorbells,
	};
	struct unit_verbs *world = *state;
	struct rdmapmd_async_event event;
	uint32_t speed;
	unsigned int i;
	bool up;

	assert_int_equal(rnic_port_set_admin(world->dev, false), 0);
	expect_event(world->context, RDMAPMD_EVENT_PORT_ERR);
	for (i = 0; i < RTE_DIM(handlers); i++) {
		told[0] = '\0';
		assert_int_equal(handlers[i]("", "net_rnic0", NULL), 0);
		assert_int_equal(rnic_port_link(world->dev, &up, &speed), 0);
		assert_false(up);
	}
	told[0] = '\0';
	assert_int_equal(rnic_telemetry_info("/rnic/info", "net_rnic0", NULL), 0);
	assert_told("[state=DOWN]");
	rnic_control_sync(world->dev);
	assert_int_equal(rdmapmd_async_event_get(world->context, &event), -EAGAIN);
}

#define PAIR_TEST(name, close) cmocka_unit_test_setup_teardown(name, open_pair, close)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_a_device_without_rc_offers_no_rdma),
	cmocka_unit_test(test_the_part_is_the_card_that_the_device_is_like),
	UNIT_VERBS_TEST(test_what_the_device_says_of_itself),
	UNIT_VERBS_TEST(test_the_path_mtu_follows_the_port),
	UNIT_VERBS_TEST(test_memory_regions),
	UNIT_VERBS_TEST(test_relaxed_ordering_of_a_device_that_has_it),
	UNIT_VERBS_TEST(test_completion_events),
	UNIT_VERBS_TEST(test_moderated_events),
	UNIT_VERBS_TEST(test_a_cq_without_a_channel),
	UNIT_VERBS_TEST(test_what_the_device_refuses_leaves_nothing),
	UNIT_VERBS_TEST(test_a_cq_that_ran_over),
	UNIT_VERBS_TEST(test_the_port_comes_and_goes),
	UNIT_VERBS_TEST(test_who_met_congestion_is_counted),
	UNIT_VERBS_TEST(test_telemetry),
	UNIT_VERBS_TEST(test_telemetry_leaves_the_port_as_it_is),
	PAIR_TEST(test_an_event_of_a_life_before, close_pair),
	PAIR_TEST(test_a_lost_device_flushes_everything, close_lost_pair),
	PAIR_TEST(test_a_lost_device_is_reset_before_buffers_come_back, close_lost_pair),
	PAIR_TEST(test_a_device_that_is_closed_under_an_application, unit_restore),
};

UNIT_MAIN("rdma_embedded", tests)
