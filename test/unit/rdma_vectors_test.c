/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion vectors on the embedded device: how many there are with few and many MSI-X vectors and event queues, that each
 * tells of its own, that threads that name a new one at the same time share its event queue, and what a lost device leaves.
 */

#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <rte_common.h>

#include "../e2e/rdma.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/health.h"
#include "prm/caps.h"
#include "rdma/rdma.h"

#define PATIENCE_MS 60000
#define VECTORS	    6 /* of the embedded device, one of whose 8 is kept for a receive queue */
#define THREADS	    4

struct vector {
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
};

struct world {
	struct rnic_dev *dev;
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	uint32_t count;
	struct vector vectors[VECTORS];
};

/* What the device has of each. */
static struct {
	unsigned int irqs, eqs;
} few;

static int
have_few(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "wait until initialized") == 0)
		dev->access->irq_count = few.irqs;
	if (up && strcmp(stage, "RDMA") == 0 && few.eqs != 0)
		rnic_general_cap_set(&dev->caps.general, RNIC_GENERAL_CAP_MAX_NUM_EQS, few.eqs);
	return 0;
}

static void
open_world(struct world *world)
{
	struct rdmapmd_device_attr attr;
	void *dev;

	*world = (struct world){ 0 };
	assert_int_equal(unit_open(&dev), 0);
	world->dev = dev;
	assert_int_equal(rdmapmd_device_open(world->dev->device, &world->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(world->context, &world->pd), 0);
	assert_int_equal(rdmapmd_device_query(world->context, &attr), 0);
	world->count = attr.num_comp_vectors;
	assert_in_range(world->count, 1, VECTORS);
}

static void
close_world(struct world *world)
{
	void *dev = world->dev;

	assert_int_equal(rdmapmd_context_close(world->context), 0);
	assert_int_equal(unit_close(&dev), 0);
}

/* Who wants to hear of it. */
static void
use_vector(struct world *world, uint32_t number)
{
	struct vector *vector = &world->vectors[number];
	struct rdmapmd_cq_init_attr attr = { .cqe = 15, .comp_vector = number };

	assert_int_equal(rdmapmd_comp_channel_create(world->context, &vector->channel), 0);
	attr.channel = vector->channel;
	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &vector->cq), 0);
	vector->qp = rdma_to_itself(world->pd, vector->cq);
	assert_int_equal(rdmapmd_req_notify_cq(vector->cq, false), 0);
}

static void
assert_told(const struct vector *vector)
{
	struct pollfd channel = { .fd = vector->channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	assert_int_equal(poll(&channel, 1, PATIENCE_MS), 1);
	assert_int_equal(rdmapmd_cq_event_get(vector->channel, &cq), 0);
	assert_ptr_equal(cq, vector->cq);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
}

static void
complete(const struct vector *vector)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };

	rdma_post(vector->qp, &nop);
}

static void
each_tells(struct world *world)
{
	struct rdmapmd_cq_init_attr beyond = { .cqe = 15, .comp_vector = world->count };
	struct rdmapmd_cq *cq;
	uint32_t i;

	for (i = 0; i < world->count; i++)
		use_vector(world, i);
	for (i = world->count; i-- > 0;) {
		complete(&world->vectors[i]);
		assert_told(&world->vectors[i]);
	}
	assert_int_equal(rdmapmd_cq_create(world->context, &beyond, &cq), -EINVAL);
}

static void
test_as_many_as_are_left(void **state)
{
	static const struct {
		unsigned int irqs, rx, eqs, vectors;
	} rows[] = {
		{ 1, 0, 0, 1 }, { 2, 0, 0, 1 }, { 3, 0, 0, 1 }, { 8, 0, 0, 1 }, { 4, 1, 0, 2 },
		{ 8, 2, 0, 5 }, { 8, 1, 0, 6 }, { 8, 1, 2, 1 }, { 8, 1, 3, 1 }, { 8, 1, 5, 2 },
	};
	struct world world;
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		rnic_bringup_hook = have_few;
		few.irqs = rows[i].irqs;
		few.eqs = rows[i].eqs;
		unit_tunables()->rx_vectors = (uint8_t)rows[i].rx;
		open_world(&world);
		if (world.count != rows[i].vectors)
			fail_msg("row %u: %u completion vectors", i, world.count);
		each_tells(&world);
		close_world(&world);
	}
}

/* ---- The first CQs of a vector, at the same time ---- */

struct namer {
	const struct world *world;
	pthread_barrier_t *together;
	pthread_t thread;
	struct rdmapmd_cq *cqs[VECTORS];
	int rc;
};

static void *
name_each(void *arg)
{
	struct namer *namer = arg;
	struct rdmapmd_cq_init_attr attr = { .cqe = 15 };

	for (; attr.comp_vector < namer->world->count; attr.comp_vector++) {
		pthread_barrier_wait(namer->together);
		if (namer->rc == 0)
			namer->rc = rdmapmd_cq_create(namer->world->context, &attr,
						      &namer->cqs[attr.comp_vector]);
	}
	return NULL;
}

static void
test_threads_that_name_a_new_one_share_its_event_queue(void **state)
{
	struct namer namers[THREADS] = { 0 };
	const struct rnic_rdma *rdma;
	pthread_barrier_t together;
	struct world world;
	unsigned int i, k;
	struct softrnic_stats stats;
	uint32_t objects;

	(void)state;
	unit_tunables()->rx_vectors = 1;
	open_world(&world);
	rdma = world.dev->rdma;
	softrnic_stats_get(unit_softrnic(world.dev), &stats);
	objects = stats.objects;
	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (i = 0; i < THREADS; i++) {
		namers[i].world = &world;
		namers[i].together = &together;
		assert_int_equal(pthread_create(&namers[i].thread, NULL, name_each, &namers[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(namers[i].thread, NULL);
	pthread_barrier_destroy(&together);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(namers[i].rc, 0);
		for (k = 0; k < VECTORS; k++)
			assert_int_equal(((struct rnic_rdma_cq *)namers[i].cqs[k])->eqn,
					 rnic_eq_number(rdma->vectors[k].eq));
	}
	/* The CQs, and one event queue for each vector but the first, which had its own. */
	softrnic_stats_get(unit_softrnic(world.dev), &stats);
	assert_int_equal(stats.objects, objects + THREADS * VECTORS + VECTORS - 1);
	close_world(&world);
}

/* Who sleeps is told, of whichever vector; a new one is made no more. */
static void
test_a_lost_device_wakes_those_of_each(void **state)
{
	const struct rdmapmd_cq_init_attr attr = { .cqe = 15, .comp_vector = VECTORS - 1 };
	struct rdmapmd_cq *cq;
	struct world world;
	uint32_t i;
	void *dev;

	(void)state;
	unit_tunables()->rx_vectors = 1;
	open_world(&world);
	for (i = 0; i < VECTORS - 1; i++)
		use_vector(&world, i);
	rnic_dev_fatal(world.dev, "the test says so");
	for (i = 0; i < VECTORS - 1; i++)
		assert_told(&world.vectors[i]);
	assert_true(rdmapmd_cq_create(world.context, &attr, &cq) < 0);
	assert_null(world.dev->rdma->vectors[VECTORS - 1].eq);
	/* Commands fail; all that is the host's goes. */
	(void)rdmapmd_context_close(world.context);
	dev = world.dev;
	assert_int_equal(unit_close(&dev), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_as_many_as_are_left),
	cmocka_unit_test(test_threads_that_name_a_new_one_share_its_event_queue),
	cmocka_unit_test(test_a_lost_device_wakes_those_of_each),
};

UNIT_MAIN("rdma_vectors", tests)
