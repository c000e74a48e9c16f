/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive bursts alone: bytes of WQEs as the PRM has them, rings that are full, SRQs whose requests complete in several threads. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_common.h>

#include "prm/cqe.h"
#include "rdma/post_recv.h"
#include "rdma/rdma.h"
#include "rdma/srq.h"
#include "rdma_rings.h"

static void
test_receive(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { 0x1000, 0x10, 1 },
					    { 0x2000, 0, 2 },
					    { 0x3000, 0x30, 3 },
					    { 0x4000, 0x40, 4 },
					    { 0x5000, 0x50, 5 } };
	const struct rdmapmd_recv_wr wr[] = { { .wr_id = 1, .sg_list = sges, .num_sge = 3 },
					      { .wr_id = 2, .sg_list = &sges[2], .num_sge = 1 },
					      { .wr_id = 3, .sg_list = sges, .num_sge = 5 } };

	rings_start_at(rings, 0xffff, 0);
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, wr, 3), 2);
	assert_int_equal(rings->qp.qp.post_recv_error, -EINVAL);
	rings_assert_bytes(rings->rq[3], "00000010 00000001 00000000 00001000"
					 "00000030 00000003 00000000 00003000"
					 "00000000 00000100 00000000 00000000 a5a5a5a5");
	rings_assert_bytes(rings->rq[0], "00000030 00000003 00000000 00003000"
					 "00000000 00000100 00000000 00000000 a5a5a5a5");
	rings_assert_bytes(&rings->dbrec, "00000001 00000000");
}

static void
test_a_receive_request_that_fills_its_wqe(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = {
		{ 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 3 }, { 4, INT32_MAX, 4 }
	};
	struct rdmapmd_sge too_long[] = { { 1, (uint32_t)INT32_MAX + 1, 1 } };
	struct rdmapmd_recv_wr wr = { .sg_list = sges, .num_sge = 4 };

	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->rq[0] + 48, "7fffffff 00000004 00000000 00000004");
	assert_int_equal(rings->rq[1][0], 0xa5);
	wr.sg_list = too_long;
	wr.num_sge = 1;
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 0);
	assert_int_equal(rings->qp.qp.post_recv_error, -EINVAL);
}

static void
test_a_full_receive_queue(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_recv_wr wr[5] = { { .wr_id = 5 }, { .wr_id = 6 } };
	struct rdmapmd_wc wc;

	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, wr, 5), 4);
	assert_int_equal(rings->qp.qp.post_recv_error, -ENOMEM);
	rings_complete(rings, RNIC_CQE_RESPONDER_SEND, RINGS_QPN, 0);
	assert_int_equal(rings_poll(rings, &wc), 5);
	assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, wr, 2), 1);
}

static void
test_srq(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sge = { 0x1000, 0x10, 1 };
	const struct rdmapmd_recv_wr wr[4] = { { .wr_id = 10, .sg_list = &sge, .num_sge = 1 },
					       { .wr_id = 11 },
					       { .wr_id = 12, .sg_list = &sge, .num_sge = 4 } };
	uint64_t wr_id;

	assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, wr, 3), 2);
	assert_int_equal(rings->srq.srq.post_error, -EINVAL);
	rings_assert_bytes(rings->srq_ring[0], "00000001 00000000 00000000 00000000"
					       "00000010 00000001 00000000 00001000"
					       "00000000 00000100");
	rings_assert_bytes(rings->srq_ring[1], "00000002 00000000 00000000 00000000"
					       "00000000 00000100 00000000 00000000");
	rings_assert_bytes(&rings->srq_dbrec, "00000002");
	/* One is always free. */
	assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, wr, 2), 1);
	assert_int_equal(rings->srq.srq.post_error, -ENOMEM);
	/* In any order; what comes back is posted again, last in the list. */
	assert_true(rnic_rdma_srq_complete(&rings->srq, 1, &wr_id));
	assert_int_equal(wr_id, 11);
	assert_false(rnic_rdma_srq_complete(&rings->srq, 1, &wr_id));
	assert_false(rnic_rdma_srq_complete(&rings->srq, 3, &wr_id));
	assert_int_equal(rnic_rdma_post_srq_recv(&rings->srq.srq, wr, 2), 1);
	rings_assert_bytes(rings->srq_ring[3], "00000001");
	rings_assert_bytes(&rings->srq_dbrec, "00000004");
	assert_true(rnic_rdma_srq_complete(&rings->srq, 3, &wr_id));
	assert_int_equal(wr_id, 10);
}

/* ---- An SRQ whose requests complete in several threads ---- */

#define NOTHING UINT32_MAX
#define ROUNDS	20000u

struct completer {
	struct rnic_rdma_srq *srq;
	atomic_uint mail; /* a WQE that is done, or NOTHING */
	atomic_bool stop;
	uint64_t sum; /* of the wr_ids */
	bool bad;
};

static void *
complete(void *arg)
{
	struct completer *self = arg;
	uint64_t wr_id = 0;
	uint32_t index;

	while (!atomic_load(&self->stop)) {
		index = atomic_load(&self->mail);
		if (index == NOTHING) {
			sched_yield();
			continue;
		}
		self->bad |= !rnic_rdma_srq_complete(self->srq, (uint16_t)index, &wr_id);
		self->sum += wr_id;
		atomic_store(&self->mail, NOTHING);
	}
	return NULL;
}

static void
test_an_srq_takes_wqes_back_from_two_threads(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_srq *srq = &rings->srq;
	struct completer completers[2] = { { .srq = srq, .mail = NOTHING },
					   { .srq = srq, .mail = NOTHING } };
	struct rdmapmd_recv_wr wr[4] = { { 0 } };
	pthread_t threads[2];
	unsigned int i;
	uint32_t index;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, complete, &completers[i]), 0);
	for (i = 0; i < ROUNDS; i++) {
		wr[0].wr_id = i;
		index = srq->head;
		while (rnic_rdma_post_srq_recv(&srq->srq, wr, 1) != 1)
			sched_yield();
		while (atomic_load(&completers[i % 2].mail) != NOTHING)
			sched_yield();
		atomic_store(&completers[i % 2].mail, index);
	}
	for (i = 0; i < 2; i++) {
		while (atomic_load(&completers[i].mail) != NOTHING)
			sched_yield();
		atomic_store(&completers[i].stop, true);
		pthread_join(threads[i], NULL);
		assert_false(completers[i].bad);
	}
	assert_int_equal(completers[0].sum + completers[1].sum,
			 (uint64_t)ROUNDS * (ROUNDS - 1) / 2);
	/* None got lost. */
	assert_int_equal(rnic_rdma_post_srq_recv(&srq->srq, wr, 4), 3);
}

/* What a device that lies names in two CQs, which two threads poll. */
struct race {
	struct rnic_rdma_srq *srq;
	/* Which round each has come to; a round is for one WQE, that may be taken once. */
	atomic_uint posted, ready, done;
	uint32_t index;
	unsigned int taken[2];
	uint64_t sum[2]; /* of the wr_ids */
};

#define OFFSETS 64 /* the second one is so much later, in turn */

static void
await(atomic_uint *counter, unsigned int round)
{
	for (unsigned int i = 1; atomic_load(counter) < round; i++) {
		if (i % 1000 == 0)
			sched_yield();
	}
}

static void
race_take(struct race *race, unsigned int who)
{
	uint64_t wr_id;

	if (!rnic_rdma_srq_complete(race->srq, (uint16_t)race->index, &wr_id))
		return;
	race->taken[who]++;
	race->sum[who] += wr_id;
}

static void *
race_along(void *arg)
{
	struct race *race = arg;

	for (unsigned int round = 1; round <= ROUNDS; round++) {
		await(&race->posted, round);
		atomic_store(&race->ready, round);
		for (unsigned int i = 0; i < round % OFFSETS; i++)
			atomic_signal_fence(memory_order_seq_cst);
		race_take(race, 1);
		atomic_store(&race->done, round);
	}
	return NULL;
}

static void
test_an_srq_gives_a_wqe_to_one_of_two_threads(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_srq *srq = &rings->srq;
	struct race race = { .srq = srq };
	struct rdmapmd_recv_wr wr[4] = { { 0 } };
	unsigned int missing = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, race_along, &race), 0);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		wr[0].wr_id = round;
		race.index = srq->head;
		missing += rnic_rdma_post_srq_recv(&srq->srq, wr, 1) != 1;
		atomic_store(&race.posted, round);
		await(&race.ready, round);
		race_take(&race, 0);
		await(&race.done, round);
	}
	pthread_join(thread, NULL);
	assert_int_equal(missing, 0);
	assert_int_equal(race.taken[0] + race.taken[1], ROUNDS);
	assert_int_equal(race.sum[0] + race.sum[1], (uint64_t)ROUNDS * (ROUNDS + 1) / 2);
	/* Nor was one put into the list twice. */
	assert_int_equal(rnic_rdma_post_srq_recv(&srq->srq, wr, 4), 3);
}

/* A device that lies names WQEs at any time: whether one is posted is all that the two threads know of each other. */
struct early {
	struct rnic_rdma_srq *srq;
	atomic_uint done;     /* rounds */
	unsigned int strange; /* wr_ids of another round */
};

static void *
take_early(void *arg)
{
	struct early *early = arg;
	uint64_t wr_id = 0;

	for (unsigned int round = 1; round <= ROUNDS; round++) {
		for (unsigned int i = 0; !rnic_rdma_srq_complete(early->srq, (uint16_t)i, &wr_id);
		     i++) {
			if (i % 1000 == 0)
				sched_yield();
		}
		early->strange += wr_id != round;
		atomic_store(&early->done, round);
	}
	return NULL;
}

static void
test_an_srq_gives_a_wqe_with_its_wr_id(void **state)
{
	struct rings *rings = *state;
	struct rnic_rdma_srq *srq = &rings->srq;
	struct early early = { .srq = srq };
	struct rdmapmd_recv_wr wr[4] = { { 0 } };
	unsigned int missing = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, take_early, &early), 0);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		wr[0].wr_id = round;
		missing += rnic_rdma_post_srq_recv(&srq->srq, wr, 1) != 1;
		await(&early.done, round);
	}
	pthread_join(thread, NULL);
	assert_int_equal(missing, 0);
	assert_int_equal(early.strange, 0);
	assert_int_equal(rnic_rdma_post_srq_recv(&srq->srq, wr, 4), 3);
}

static const struct CMUnitTest tests[] = {
	RINGS_TEST(test_receive),
	RINGS_TEST(test_a_receive_request_that_fills_its_wqe),
	RINGS_TEST(test_a_full_receive_queue),
	RINGS_TEST(test_srq),
	RINGS_TEST(test_an_srq_takes_wqes_back_from_two_threads),
	RINGS_TEST(test_an_srq_gives_a_wqe_to_one_of_two_threads),
	RINGS_TEST(test_an_srq_gives_a_wqe_with_its_wr_id),
};

PLAIN_MAIN("rdma_recv", tests)
