/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A CQ that many queue pairs share, on the embedded device: one thread polls it while others make, reset and destroy queue
 * pairs of it, as verbs allow. Nothing of those that stay is lost.
 */

#include "verbs.h"

#include <pthread.h>
#include <sched.h>

#include <rte_common.h>

#include "../e2e/rdma.h"
#include "base/clock.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/health.h"
#include "prm/cmd.h"
#include "prm/qp.h"

#define PATIENCE_US (60 * UINT64_C(1000000))
#define OTHERS	    8
#define ROUNDS	    40
#define NOPS	    5
#define ANOTHER	    (UINT64_C(1) << 32) /* the request of another queue pair */

struct world {
	struct unit_verbs verbs;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *survivor;
	atomic_bool stop, failed;
	uint64_t done, lost, wrong, others; /* the thread's, until it is joined */
};

static struct rdmapmd_qp *
make_qp(const struct world *world)
{
	static const struct rdma_conf conf = { 0 };
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = world->cq,
		.recv_cq = world->cq,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_wr = 1,
			 .max_recv_sge = 1 },
	};
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_qp_create(world->verbs.pd, &attr, &qp), 0);
	/* To itself: a NOP goes nowhere. */
	rdma_connect(qp, qp, &conf);
	return qp;
}

static int
open_world(void **state)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 1023 };
	static struct world world;

	world = (struct world){ .stop = false };
	unit_verbs_open(&world.verbs);
	assert_int_equal(rdmapmd_cq_create(world.verbs.context, &attr, &world.cq), 0);
	world.survivor = make_qp(&world);
	*state = &world;
	return 0;
}

static int
close_world(void **state)
{
	struct world *world = *state;

	unit_verbs_close(&world->verbs);
	return 0;
}

static int
close_lost_world(void **state)
{
	struct world *world = *state;

	unit_verbs_close_lost(&world->verbs);
	return 0;
}

/* As many of the survivor's requests under way as fit; all that the CQ has is taken. */
static void *
poll_on(void *arg)
{
	struct world *world = arg;
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_NOP,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	uint64_t posted = 0, last = rnic_now_us();
	struct rdmapmd_wc wc[8];
	uint16_t n, i;

	while (!atomic_load(&world->stop) || world->done < posted) {
		wr.wr_id = posted;
		if (!atomic_load(&world->stop))
			posted += rdmapmd_post_send(world->survivor, &wr, 1);
		n = rdmapmd_poll_cq(world->cq, wc, RTE_DIM(wc));
		for (i = 0; i < n; i++) {
			if (wc[i].wr_id >= ANOTHER) {
				world->others++;
				continue;
			}
			world->wrong +=
				wc[i].status != RDMAPMD_WC_SUCCESS || wc[i].wr_id != world->done;
			world->done++;
			last = rnic_now_us();
		}
		if (n == 0)
			sched_yield();
		if (rnic_now_us() - last > PATIENCE_US) {
			world->lost = posted - world->done;
			atomic_store(&world->failed, true);
			break;
		}
	}
	return NULL;
}

static void
post_nops(struct rdmapmd_qp *qp, uint64_t wr_id)
{
	struct rdmapmd_send_wr wr = { .wr_id = wr_id,
				      .opcode = RDMAPMD_WR_NOP,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	unsigned int i;

	for (i = 0; i < NOPS; i++)
		assert_int_equal(rdmapmd_post_send(qp, &wr, 1), 1);
}

/* Some by way of RESET, with completions that wait and some that have been polled. */
static void
come_and_go(struct world *world, unsigned int round)
{
	struct rdmapmd_qp *qp[OTHERS];
	unsigned int i, k;

	for (i = 0; i < OTHERS; i++)
		qp[i] = make_qp(world);
	for (i = 0; i < OTHERS; i++)
		post_nops(qp[i], ANOTHER + i);
	for (i = 0; i < OTHERS; i++) {
		k = (i * 3 + round) % OTHERS;
		if (k % 2 != 0)
			rdma_to(qp[k], RDMAPMD_QPS_RESET);
		assert_int_equal(rdmapmd_qp_destroy(qp[k]), 0);
	}
}

static void
test_queue_pairs_go_while_their_cq_is_polled(void **state)
{
	struct world *world = *state;
	unsigned int round;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, poll_on, world), 0);
	for (round = 0; round < ROUNDS && !atomic_load(&world->failed); round++)
		come_and_go(world, round);
	atomic_store(&world->stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(world->lost, 0);
	assert_int_equal(world->wrong, 0);
	assert_true(world->done > 0);
	assert_in_range(world->others, 0, ROUNDS * OTHERS * NOPS);
}

/* The device goes in between: what was posted is flushed, by polls beside those that destroy. */
static void
test_queue_pairs_of_a_lost_device_go_while_their_cq_is_polled(void **state)
{
	struct world *world = *state;
	struct rdmapmd_qp *qp[OTHERS];
	struct rdmapmd_wc wc;
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < OTHERS; i++) {
		qp[i] = make_qp(world);
		post_nops(qp[i], ANOTHER + i);
	}
	assert_int_equal(pthread_create(&thread, NULL, poll_on, world), 0);
	rnic_dev_fatal(world->verbs.dev, "the test says so");
	for (i = 0; i < OTHERS; i++)
		rdmapmd_qp_destroy(qp[i]);
	atomic_store(&world->stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(world->lost, 0);
	while (rdmapmd_poll_cq(world->cq, &wc, 1) == 1)
		;
	assert_int_equal(rdmapmd_poll_cq(world->cq, &wc, 1), 0);
}

/* ---- Whose completion it is ---- */

/* Does the device have a queue pair of this number? */
static bool
device_has(const struct world *world, uint32_t qp_num)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_qp_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, qp_num);
	return rnic_cmd_try(world->verbs.dev, RNIC_CMD_QUERY_QP, 0, &in, sizeof(in), &out,
			    sizeof(out)) == 0;
}

static void
test_a_completion_leads_to_its_queue_pair(void **state)
{
	struct world *world = *state;
	struct rdmapmd_qp *qp[4 * OTHERS];
	struct rdmapmd_context *second;
	struct rdmapmd_wc wc;
	uint32_t number;
	unsigned int i;

	for (i = 0; i < RTE_DIM(qp); i++) {
		qp[i] = make_qp(world);
		post_nops(qp[i], ANOTHER + i);
	}
	/* The number that the device has put into the entry. */
	for (i = 0; i < RTE_DIM(qp) * NOPS; i++) {
		wc = rdma_wait(world->cq);
		assert_true(device_has(world, wc.qp_num));
		assert_non_null(rdmapmd_qp_find(world->verbs.context, wc.qp_num));
		assert_ptr_equal(rdmapmd_qp_find(world->verbs.context, wc.qp_num),
				 qp[wc.wr_id - ANOTHER]);
	}
	assert_int_equal(rdmapmd_device_open(world->verbs.dev->device, &second), 0);
	assert_null(rdmapmd_qp_find(second, qp[0]->qp_num));
	assert_int_equal(rdmapmd_context_close(second), 0);
	for (i = 0; i < RTE_DIM(qp); i++) {
		number = qp[i]->qp_num;
		assert_int_equal(rdmapmd_qp_destroy(qp[i]), 0);
		assert_false(device_has(world, number));
		assert_null(rdmapmd_qp_find(world->verbs.context, number));
		if (i + 1 < RTE_DIM(qp))
			assert_ptr_equal(rdmapmd_qp_find(world->verbs.context, qp[i + 1]->qp_num),
					 qp[i + 1]);
	}
	assert_ptr_equal(rdmapmd_qp_find(world->verbs.context, world->survivor->qp_num),
			 world->survivor);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_a_completion_leads_to_its_queue_pair, open_world,
					close_world),
	cmocka_unit_test_setup_teardown(test_queue_pairs_go_while_their_cq_is_polled, open_world,
					close_world),
	cmocka_unit_test_setup_teardown(
		test_queue_pairs_of_a_lost_device_go_while_their_cq_is_polled, open_world,
		close_lost_world),
};

UNIT_MAIN("rdma_shared", tests)
