/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA's objects on the embedded device, through the library: what needs no queue pair. The device does not offer RDMA by
 * itself; the test says that it does.
 */

#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "doorbell.h"
#include "prm/wqe.h"
#include "rdma.h"

struct world {
	struct rnic_dev *dev;
	struct rdmapmd_context *context;
	uint32_t maps, keys;
};

/* Before anything of the driver's looks whether there is RDMA, but the event queue for the rest. */
static int
pretend(struct rnic_dev *dev, const char *stage, bool up)
{
	struct rnic_general_cap *general = &dev->caps.general;

	if (!up || strcmp(stage, "RDMA") != 0)
		return 0;
	rnic_general_cap_set(general, RNIC_GENERAL_CAP_ROCE, 1);
	rnic_general_cap_set(general, RNIC_GENERAL_CAP_RC, 1);
	rnic_general_cap_set(general, RNIC_GENERAL_CAP_LOG_MAX_QP_SZ, 15);
	rnic_roce_cap_set(&dev->caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE, 0);
	return 0;
}

static int
open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	void *dev;

	assert_non_null(world);
	rnic_bringup_hook = pretend;
	assert_int_equal(unit_open(&dev), 0);
	rnic_bringup_hook = NULL;
	world->dev = dev;
	assert_int_equal(rdmapmd_device_open(world->dev->device, &world->context), 0);
	world->maps = world->dev->access->maps;
	world->keys = rnic_mkeys_count(world->dev);
	*state = world;
	return 0;
}

static int
close_world(void **state)
{
	struct world *world = *state;
	void *dev = world->dev;

	assert_int_equal(rdmapmd_context_close(world->context), 0);
	/* All that the objects had was given back. */
	assert_int_equal(world->dev->access->maps, world->maps);
	assert_int_equal(rnic_mkeys_count(world->dev), world->keys);
	assert_int_equal(unit_close(&dev), 0);
	free(world);
	return 0;
}

static void
test_a_device_without_rc_offers_no_rdma(void **state)
{
	struct rnic_dev *dev = *state;
	struct rdmapmd_context *context;

	assert_false(rnic_rdma_supported(dev));
	assert_null(dev->rdma);
	assert_int_equal(rdmapmd_device_open(dev->device, &context), -ENOTSUP);
}

static void
test_what_the_device_says_of_itself(void **state)
{
	struct world *world = *state;
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	uint16_t pkey;

	assert_int_equal(rdmapmd_device_query(world->context, &attr), 0);
	assert_string_equal(attr.fw_ver, world->dev->fw_version);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.num_comp_vectors, 1);
	assert_int_equal(attr.max_qp_wr, 1 << 15);
	/* A control segment, a remote address, and what an atomic would have. */
	assert_int_equal(attr.max_send_sge,
			 (attr.max_sq_desc_sz / 16 < 63 ? attr.max_sq_desc_sz / 16 : 63) - 3);
	assert_int_equal(attr.max_recv_sge, attr.max_rq_desc_sz / 16);
	assert_int_equal(attr.atomic_cap, RDMAPMD_ATOMIC_NONE);
	assert_int_equal(rdmapmd_port_query(world->context, 1, &port), 0);
	assert_int_equal(port.gid_tbl_len, 0);
	assert_memory_equal(port.mac, world->dev->mac, 6);
	assert_int_equal(rdmapmd_pkey_query(world->context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(rdmapmd_pkey_query(world->context, 1, 1, &pkey), -EINVAL);
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
	struct world *world = *state;
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
	struct world *world = *state;
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

/* A NOP of a send queue that completes into the CQ: an entry of nobody's, but an entry. */
static void
post_nop(struct rnic_sq *sq)
{
	struct rnic_wqe_ctrl *ctrl =
		(struct rnic_wqe_ctrl *)(sq->ring +
					 (size_t)(sq->producer & sq->mask) * RNIC_WQEBB_BYTES);

	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode =
			rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq->producer, RNIC_WQE_NOP)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq->sqn, 1)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	sq->producer++;
	rnic_sq_dbrec_publish(sq->dbrec, sq->producer);
	rnic_doorbell_ring(&sq->bf, ctrl);
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
	struct world *world = *state;
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
	post_nop(&sq);
	/* Not armed: no event. */
	assert_null(wait_event(attr.channel, 20));
	for (i = 0; i < 6; i++) {
		/* Armed behind an entry that was not polled: at once. Then one for each arming. */
		assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
		if (i > 0)
			post_nop(&sq);
		assert_ptr_equal(wait_event(attr.channel, 5000), cq);
		assert_int_equal(rdmapmd_cq_event_get(attr.channel, &armed), -EAGAIN);
		assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
		assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
		assert_int_equal(rnic_cq->strange, i + 1);
	}
	assert_int_equal(rnic_sq_destroy(world->dev, &sq), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
	assert_int_equal(world->dev->rdma->event_cqs, 0);
}

static void
test_a_cq_without_a_channel(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq_init_attr attr = { .cqe = 100 };
	struct rdmapmd_wc wc;
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	assert_int_equal(cq->cqe, 127);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), -EINVAL);
	assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
	/* The device has neither. */
	assert_int_equal(rdmapmd_cq_resize(cq, 200), -ENOTSUP);
	assert_int_equal(rdmapmd_cq_moderate(cq, 1, 1), -ENOTSUP);
}

static void
test_what_the_device_refuses_leaves_nothing(void **state)
{
	struct world *world = *state;
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 100 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdmapmd_srq *srq;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	uint32_t maps;

	assert_int_equal(rdmapmd_pd_alloc(world->context, &pd), 0);
	assert_int_equal(rdmapmd_cq_create(world->context, &cq_attr, &cq), 0);
	maps = world->dev->access->maps;
	attr.send_cq = attr.recv_cq = cq;
	assert_true(rdmapmd_qp_create(pd, &attr, &qp) < 0);
	assert_true(rdmapmd_srq_create(pd, &srq_attr, &srq) < 0);
	assert_int_equal(world->dev->access->maps, maps);
}

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, open_world, close_world)
#define PLAIN_TEST(name) cmocka_unit_test_setup_teardown(name, unit_open, unit_close)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN_TEST(test_a_device_without_rc_offers_no_rdma),
		TEST(test_what_the_device_says_of_itself),
		TEST(test_the_path_mtu_follows_the_port),
		TEST(test_memory_regions),
		TEST(test_completion_events),
		TEST(test_a_cq_without_a_channel),
		TEST(test_what_the_device_refuses_leaves_nothing),
	};

	return cmocka_run_group_tests_name("rdma_embedded", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
