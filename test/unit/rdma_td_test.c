/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Thread domains on the embedded device, and queue pairs without one: who rings which doorbell register, and that sharing
 * one from two threads loses nothing.
 */

#include "verbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <rte_common.h>

#include "../e2e/rdma.h"
#include "core/bfreg.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/uar.h"
#include "rdma/rdma.h"

static struct rdmapmd_cq *
make_cq(const struct unit_verbs *world)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 63 };
	struct rdmapmd_cq *cq;

	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	return cq;
}

static const struct rnic_bfreg *
register_of(const struct rdmapmd_qp *qp)
{
	return ((const struct rnic_rdma_qp *)qp)->sq.wq.bf;
}

static struct rdmapmd_qp *
make_qp(const struct unit_verbs *world, struct rdmapmd_cq *cq, struct rdmapmd_td *td)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.td = td,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_qp_create(world->pd, &attr, &qp), 0);
	return qp;
}

static void
test_a_thread_domain_has_a_register(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_cq *cq = make_cq(world);
	struct rnic_uars_usage usage;
	struct rdmapmd_td *td[2];
	struct rdmapmd_qp *qp[8];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(rdmapmd_td_alloc(world->context, &td[i]), 0);
		assert_true(td[i]->dedicated);
	}
	/* Two in each domain, then some in none. */
	for (i = 0; i < RTE_DIM(qp); i++)
		qp[i] = make_qp(world, cq, i < 4 ? td[i % 2] : NULL);
	assert_ptr_equal(register_of(qp[0]), register_of(qp[2]));
	assert_ptr_equal(register_of(qp[1]), register_of(qp[3]));
	assert_ptr_not_equal(register_of(qp[0]), register_of(qp[1]));
	for (i = 0; i < RTE_DIM(qp); i++)
		assert_int_equal(register_of(qp[i])->kind,
				 i < 4 ? RNIC_BFREG_DYNAMIC : RNIC_BFREG_LOW_LATENCY);
	assert_int_equal(register_of(qp[0])->users, 3);
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic, 2);
	/* It is the domain's, even without them. */
	assert_int_equal(rdmapmd_qp_destroy(qp[0]), 0);
	assert_int_equal(rdmapmd_qp_destroy(qp[2]), 0);
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic, 2);
	assert_int_equal(rdmapmd_td_dealloc(td[1]), -EBUSY);
	assert_int_equal(rdmapmd_td_dealloc(td[0]), 0);
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic, 1);
	assert_int_equal(rdmapmd_qp_destroy(qp[1]), 0);
	assert_int_equal(rdmapmd_qp_destroy(qp[3]), 0);
	assert_int_equal(rdmapmd_td_dealloc(td[1]), 0);
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic_pages, 0);
	assert_int_equal(usage.low_latency, 4);
}

/* The device has UAR pages for fewer: the rest shares, and all are made and taken down the same way. */
static void
test_more_thread_domains_than_registers(void **state)
{
	static struct rdmapmd_td *td[RNIC_BF_DYNAMIC_REGS];
	struct unit_verbs *world = *state;
	unsigned int i, dedicated = 0;
	struct rnic_uars_usage usage;

	for (i = 0; i < RTE_DIM(td); i++) {
		assert_int_equal(rdmapmd_td_alloc(world->context, &td[i]), 0);
		dedicated += td[i]->dedicated;
		assert_int_equal(td[i]->dedicated, dedicated == i + 1);
	}
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic, dedicated);
	assert_int_equal(usage.dynamic + usage.shared_users, RTE_DIM(td));
	/* Some by hand, the others with the context. */
	for (i = 0; i < RTE_DIM(td); i += 2)
		assert_int_equal(rdmapmd_td_dealloc(td[i]), 0);
	assert_int_equal(rdmapmd_context_close(world->context), 0);
	rnic_uars_usage(world->dev, &usage);
	assert_int_equal(usage.dynamic, 0);
	assert_int_equal(usage.shared_users, 0);
	assert_int_equal(rdmapmd_device_open(world->dev->device, &world->context), 0);
}

/* ---- All registers ---- */

/* What the sixteen and the event queues leave of the device's pages, two registers each. */
#define OFFERED	  (2 * (SOFTRNIC_UAR_PAGES - 1 - RNIC_BFREGS / 2))
#define DEDICATED (OFFERED < RNIC_BF_DYNAMIC_REGS ? OFFERED : RNIC_BF_DYNAMIC_REGS)

static uint64_t
doorbells(struct rnic_dev *dev)
{
	struct softrnic_stats stats;

	softrnic_stats_get(unit_softrnic(dev), &stats);
	return stats.doorbells;
}

/* One request of each, all of which complete, each once. */
static void
post_to_all(struct rdmapmd_qp *const *qp, unsigned int count)
{
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_NOP,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	uint8_t *done = calloc(count, 1);
	struct rdmapmd_wc wc;
	unsigned int i;

	assert_non_null(done);
	for (i = 0; i < count; i++) {
		wr.wr_id = i;
		rdma_post(qp[i], &wr);
	}
	for (i = 0; i < count; i++) {
		wc = rdma_wait(qp[0]->send_cq);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_in_range(wc.wr_id, 0, count - 1);
		assert_int_equal(wc.qp_num, qp[wc.wr_id]->qp_num);
		assert_int_equal(done[wc.wr_id]++, 0);
	}
	free(done);
}

/*
 * As many as there can be, each a queue pair's, each rung once: the device comes to see all of the rings. It would find the
 * requests without (records of queues are looked at now and then), so that completions alone say nothing of a register.
 */
static void
test_the_doorbell_of_each_register_reaches_the_device(void **state)
{
	static const volatile void *addresses[DEDICATED];
	static struct rdmapmd_qp *qp[DEDICATED + 1];
	struct rdmapmd_cq_init_attr attr = { .cqe = RTE_DIM(qp) };
	const struct rdma_conf conf = { 0 };
	struct unit_verbs *world = *state;
	struct rdmapmd_td *td;
	struct rdmapmd_cq *cq;
	uint64_t before;
	unsigned int i, k;

	assert_int_equal(rdmapmd_cq_create(world->context, &attr, &cq), 0);
	for (i = 0; i < RTE_DIM(qp); i++) {
		assert_int_equal(rdmapmd_td_alloc(world->context, &td), 0);
		assert_int_equal(td->dedicated, i < DEDICATED);
		qp[i] = make_qp(world, cq, td);
		assert_int_equal(register_of(qp[i])->kind,
				 td->dedicated ? RNIC_BFREG_DYNAMIC : RNIC_BFREG_SHARED);
		rdma_connect(qp[i], qp[i], &conf);
	}
	for (i = 0; i < DEDICATED; i++) {
		addresses[i] = register_of(qp[i])->address;
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(addresses[i], addresses[k]);
	}
	/* The commands' own doorbells are behind us. */
	rnic_control_sync(world->dev);
	before = doorbells(world->dev);
	post_to_all(qp, DEDICATED);
	(void)UNIT_COMES(doorbells(world->dev) >= before + DEDICATED);
	assert_int_equal(doorbells(world->dev), before + DEDICATED);
	/* The one too many shares, and rings as well. */
	post_to_all(&qp[DEDICATED], 1);
	assert_true(doorbells(world->dev) <= before + RTE_DIM(qp));
}

/* ---- Threads ---- */

struct poster {
	pthread_t thread;
	struct rdmapmd_qp *qp;
	uint32_t total;
	uint32_t wrong; /* completions out of order, or bad ones */
};

/* As many under way as fit, one doorbell for each request. On a machine that is busy the device has its turn, too. */
static void *
post_nops(void *arg)
{
	struct poster *poster = arg;
	struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_NOP,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	uint32_t posted = 0, done = 0;
	struct rdmapmd_wc wc;
	uint16_t n;

	while (done < poster->total) {
		wr.wr_id = posted;
		n = posted < poster->total ? rdmapmd_post_send(poster->qp, &wr, 1) : 0;
		posted += n;
		if (n == 0)
			sched_yield();
		while (rdmapmd_poll_cq(poster->qp->send_cq, &wc, 1) == 1) {
			poster->wrong += wc.status != RDMAPMD_WC_SUCCESS || wc.wr_id != done;
			done++;
		}
	}
	return NULL;
}

static void
post_from_threads(struct poster *posters, unsigned int count)
{
	static const struct rdma_conf conf = { 0 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		posters[i].total = 20000;
		/* To itself: a NOP goes nowhere. */
		rdma_connect(posters[i].qp, posters[i].qp, &conf);
	}
	for (i = 0; i < count; i++)
		assert_int_equal(pthread_create(&posters[i].thread, NULL, post_nops, &posters[i]),
				 0);
	for (i = 0; i < count; i++) {
		assert_int_equal(pthread_join(posters[i].thread, NULL), 0);
		assert_int_equal(posters[i].wrong, 0);
	}
}

/* More queue pairs than registers: two that share one, each with a thread. */
static void
test_two_threads_ring_one_register(void **state)
{
	struct unit_verbs *world = *state;
	struct poster posters[2] = { 0 };
	struct rdmapmd_qp *qp[17];
	unsigned int i, k = 0;

	for (i = 0; i < RTE_DIM(qp); i++)
		qp[i] = make_qp(world, make_cq(world), NULL);
	while (register_of(qp[k]) != register_of(qp[16]))
		k++;
	assert_in_range(k, 4, 15);
	assert_int_equal(register_of(qp[k])->kind, RNIC_BFREG_SHARED);
	posters[0].qp = qp[k];
	posters[1].qp = qp[16];
	post_from_threads(posters, RTE_DIM(posters));
}

/* Beside each other on one page, and no lock. */
static void
test_each_thread_rings_the_register_of_its_domain(void **state)
{
	struct unit_verbs *world = *state;
	struct poster posters[2] = { 0 };
	struct rdmapmd_td *td;
	unsigned int i;

	for (i = 0; i < RTE_DIM(posters); i++) {
		assert_int_equal(rdmapmd_td_alloc(world->context, &td), 0);
		assert_true(td->dedicated);
		posters[i].qp = make_qp(world, make_cq(world), td);
	}
	assert_int_equal(register_of(posters[0].qp)->uar, register_of(posters[1].qp)->uar);
	post_from_threads(posters, RTE_DIM(posters));
}

/* Domains come and go in threads beside each other. */
static void *
make_domains(void *arg)
{
	struct unit_verbs *world = arg;
	struct rdmapmd_td *td[5];
	uintptr_t errors = 0;
	unsigned int round, i;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < RTE_DIM(td); i++)
			errors += rdmapmd_td_alloc(world->context, &td[i]) != 0;
		for (i = 0; i < RTE_DIM(td); i++)
			errors += !td[i]->dedicated || rdmapmd_td_dealloc(td[i]) != 0;
	}
	return (void *)errors;
}

static void
test_domains_come_and_go_in_threads(void **state)
{
	pthread_t threads[3];
	unsigned int i;
	void *errors;

	for (i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_domains, *state), 0);
	for (i = 0; i < RTE_DIM(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &errors), 0);
		assert_null(errors);
	}
}

/* ---- The device is lost ---- */

static void
test_a_domain_of_a_lost_device_goes_with_its_error(void **state)
{
	struct unit_verbs *world = *state;
	struct rdmapmd_td *td[2];
	struct rdmapmd_qp *qp;
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(rdmapmd_td_alloc(world->context, &td[i]), 0);
	qp = make_qp(world, make_cq(world), td[0]);
	assert_int_equal(softrnic_fault(unit_softrnic(world->dev), SOFTRNIC_FAULT_FATAL, 1), 0);
	assert_int_equal(rdmapmd_td_dealloc(td[0]), -EBUSY);
	assert_int_equal(rdmapmd_qp_destroy(qp), -EIO);
	assert_int_equal(rdmapmd_td_dealloc(td[0]), 0); /* its page has another user */
	assert_int_equal(rdmapmd_td_dealloc(td[1]), -EIO);
	assert_int_equal(rdmapmd_td_dealloc(td[1]), -EINVAL);
	/* It can be made still, and is of no use. */
	assert_int_equal(rdmapmd_td_alloc(world->context, &td[0]), 0);
	assert_false(td[0]->dedicated);
	unit_verbs_close_lost(world);
}

static const struct CMUnitTest tests[] = {
	UNIT_VERBS_TEST(test_a_thread_domain_has_a_register),
	UNIT_VERBS_TEST(test_more_thread_domains_than_registers),
	UNIT_VERBS_TEST(test_the_doorbell_of_each_register_reaches_the_device),
	UNIT_VERBS_TEST(test_two_threads_ring_one_register),
	UNIT_VERBS_TEST(test_each_thread_rings_the_register_of_its_domain),
	UNIT_VERBS_TEST(test_domains_come_and_go_in_threads),
	cmocka_unit_test_setup(test_a_domain_of_a_lost_device_goes_with_its_error,
			       unit_verbs_setup),
};

UNIT_MAIN("rdma_td", tests)
