/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * More queues than doorbell registers: queue pairs that share one under its lock, from two threads, and queue pairs whose
 * thread domains have one; each of them sends, and what it sent arrives.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include "port.h"
#include "rdma.h"

#define PAIRS 40  /* of queue pairs: 80 are more than 16 registers */
#define BYTES 128 /* of a message */
#define ALL_ACCESS                                                                               \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)

struct pair {
	struct rdmapmd_td *td; /* of the one that sends; may be NULL */
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *from, *to;
};

static struct {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;
	struct rdmapmd_cq *unused;
	uint8_t *memory; /* what is sent from, then what is written to */
	struct pair pairs[PAIRS];
} world;

static struct rdmapmd_qp *
make_qp(struct rdmapmd_cq *cq, struct rdmapmd_td *td)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.td = td,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 2 },
	};
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_qp_create(world.pd, &attr, &qp), 0);
	return qp;
}

/* One in two of them, or none, is in a thread domain. */
static void
open_pairs(bool domains)
{
	static const struct rdma_conf conf = { .access = ALL_ACCESS };
	struct rdmapmd_cq_init_attr attr = { .cqe = 63 };
	unsigned int i;

	assert_int_equal(rdmapmd_device_open_by_name(e2e_port_name(0), &world.context), 0);
	assert_int_equal(rdmapmd_pd_alloc(world.context, &world.pd), 0);
	world.memory = rte_zmalloc(NULL, 2 * PAIRS * BYTES, 4096);
	assert_non_null(world.memory);
	assert_int_equal(
		rdmapmd_mr_reg(world.pd, world.memory, 2 * PAIRS * BYTES, ALL_ACCESS, &world.mr),
		0);
	assert_int_equal(rdmapmd_cq_create(world.context, &attr, &world.unused), 0);
	for (i = 0; i < PAIRS; i++) {
		struct pair *pair = &world.pairs[i];

		*pair = (struct pair){ 0 };
		assert_int_equal(rdmapmd_cq_create(world.context, &attr, &pair->cq), 0);
		if (domains && i % 2) {
			assert_int_equal(rdmapmd_td_alloc(world.context, &pair->td), 0);
			assert_true(pair->td->dedicated);
		}
		pair->from = make_qp(pair->cq, pair->td);
		pair->to = make_qp(world.unused, NULL);
		rdma_connect(pair->from, pair->to, &conf);
		rdma_connect(pair->to, pair->from, &conf);
	}
}

static int
open_with_domains(void **unused)
{
	(void)unused;
	open_pairs(true);
	return 0;
}

static int
open_without(void **unused)
{
	(void)unused;
	open_pairs(false);
	return 0;
}

static int
close_pairs(void **unused)
{
	(void)unused;
	assert_int_equal(rdmapmd_context_close(world.context), 0);
	rte_free(world.memory);
	return 0;
}

static uint8_t *
source_of(unsigned int pair)
{
	return world.memory + (size_t)pair * BYTES;
}

static uint8_t *
target_of(unsigned int pair)
{
	return source_of(PAIRS + pair);
}

/* A WRITE of what is in the source now. Two segments: the WQE fills its WQEBB. */
static bool
post(unsigned int pair, uint64_t wr_id)
{
	const uintptr_t from = (uintptr_t)source_of(pair);
	const struct rdmapmd_sge sges[] = {
		{ from, BYTES / 2, world.mr->lkey },
		{ from + BYTES / 2, BYTES / 2, world.mr->lkey },
	};
	const struct rdmapmd_send_wr wr = {
		.wr_id = wr_id,
		.opcode = RDMAPMD_WR_RDMA_WRITE,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = sges,
		.num_sge = RTE_DIM(sges),
		.wr.rdma = { (uintptr_t)target_of(pair), world.mr->rkey },
	};

	return rdmapmd_post_send(world.pairs[pair].from, &wr, 1) == 1;
}

static void
send_rounds(unsigned int rounds)
{
	unsigned int i, round;

	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < PAIRS; i++) {
			memset(source_of(i), (int)(round + i), BYTES);
			assert_true(post(i, i));
		}
		for (i = 0; i < PAIRS; i++) {
			rdma_expect(world.pairs[i].cq, i, RDMAPMD_WC_RDMA_WRITE);
			assert_memory_equal(target_of(i), source_of(i), BYTES);
		}
	}
}

static void
test_every_queue_sends_from_its_register(void **unused)
{
	(void)unused;
	send_rounds(20);
}

/* With one request under way at a time each WQE is posted alone, and compared before its half is rung again. */
static void
test_whole_wqes_go_to_registers(void **unused)
{
	(void)unused;
	send_rounds(100);
	assert_true(e2e_blueflame_right(1001));
}

struct worker {
	pthread_t thread;
	unsigned int first, step;
	const char *wrong;
};

/* All queue pairs of one thread in turn, each with a request under way. */
static void *
work(void *arg)
{
	const uint64_t end = rte_get_timer_cycles() + 120 * rte_get_timer_hz();
	const unsigned int rounds = full_run() ? 20000 : 500;
	struct worker *worker = arg;
	struct rdmapmd_wc wc;
	unsigned int round, i;

	for (round = 0; round < rounds && worker->wrong == NULL; round++) {
		for (i = worker->first; i < PAIRS; i += worker->step) {
			memset(source_of(i), (int)(round + i), BYTES);
			if (!post(i, round))
				worker->wrong = "a request is not taken";
		}
		for (i = worker->first; i < PAIRS && worker->wrong == NULL; i += worker->step) {
			while (rdmapmd_poll_cq(world.pairs[i].cq, &wc, 1) == 0)
				if (rte_get_timer_cycles() > end) {
					worker->wrong = "no completion";
					return NULL;
				}
			if (wc.status != RDMAPMD_WC_SUCCESS || wc.wr_id != round)
				worker->wrong = "another completion";
			else if (memcmp(target_of(i), source_of(i), BYTES) != 0)
				worker->wrong = "other data";
		}
	}
	return NULL;
}

static void
test_two_threads_with_more_queues_than_registers(void **unused)
{
	struct worker workers[2];
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(workers); i++) {
		workers[i] = (struct worker){ .first = i, .step = RTE_DIM(workers) };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	for (i = 0; i < RTE_DIM(workers); i++)
		if (workers[i].wrong != NULL)
			fail_msg("thread %u: %s", i, workers[i].wrong);
}

/* One argument: devargs of the device, "wire=loop" otherwise. Frames must come back. */
int
main(int argc, char **argv)
{
	char vdev[256];
	const char *const vdevs[] = { vdev, NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_queue_sends_from_its_register,
						open_with_domains, close_pairs),
		cmocka_unit_test_setup_teardown(test_two_threads_with_more_queues_than_registers,
						open_without, close_pairs),
		/* The last one: it looks at what all of them did. */
		cmocka_unit_test_setup_teardown(test_whole_wqes_go_to_registers, open_with_domains,
						close_pairs),
	};
	const size_t count = RTE_DIM(tests) - !e2e_blueflame(argc, argv);
	int rc;

	e2e_port_spec(vdev, sizeof(vdev), 0, argc > 1 ? argv[1] : "wire=loop");
	if (e2e_init("rdma-doorbells", vdevs) != 0)
		return 1;
	rc = _cmocka_run_group_tests("rdma_doorbells", tests, count, NULL, NULL);
	e2e_fini();
	return rc;
}
