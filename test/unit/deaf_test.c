/* SPDX-License-Identifier: BSD-3-Clause */

/* An event queue that ran over while the control thread had no CPU: it is made anew, and what it missed is found out. */

#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "../e2e/rdma.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/mem.h"
#include "core/pages.h"
#include "eqs.h"
#include "object/cq.h"
#include "object/port.h"
#include "prm/cmd.h"
#include "prm/queue.h"
#include "rdma/rdma.h"

#define PATIENCE_MS 60000
#define REQUESTS    300 /* more than the queue has entries */

enum { ASYNC_EQ, COMPLETION_EQ, RDMA_EQ, EQS };

_Static_assert(EQS == UNIT_EQS, "the memory of each is known");

static atomic_uint watched; /* an EQ's number */
static atomic_uint asked;   /* for the state of that one */

bool __real_rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn);
bool __wrap_rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn);

bool
__wrap_rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn)
{
	if (eqn == atomic_load(&watched))
		atomic_fetch_add(&asked, 1);
	return __real_rnic_eq_failed(dev, eqn);
}

static sem_t change_seen, change_go;
static atomic_bool holds;

static void
on_change(void *arg)
{
	(void)arg;
	sem_post(&change_seen);
	if (atomic_load(&holds))
		sem_wait(&change_go);
}

static bool
sees_change(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_MS / 1000;
	return sem_timedwait(&change_seen, &end) == 0;
}

static int
open_deaf(void **state)
{
	unit_tunables()->silence_ms = 50;
	unit_tunables()->health_period_ms = 20;
	sem_init(&change_seen, 0, 0);
	sem_init(&change_go, 0, 0);
	unit_eqs.count = 0;
	return unit_watched_setup(state);
}

static int
close_deaf(void **state)
{
	struct rnic_dev *dev = *state;

	rnic_on_port_change(dev, NULL, NULL);
	unit_watched_close(state);
	sem_destroy(&change_seen);
	sem_destroy(&change_go);
	return 0;
}

/* Its queue takes no more events; the link is down then, and it knows. */
static void
make_deaf(struct rnic_dev *dev)
{
	unsigned int i;

	atomic_store(&holds, true);
	rnic_on_port_change(dev, on_change, dev);
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_true(sees_change());
	for (i = 0; i < REQUESTS; i++)
		assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 1),
				 0);
}

static void
let_go(void)
{
	atomic_store(&holds, false);
	sem_post(&change_go);
}

static void
hears_again(struct rnic_dev *dev, uint32_t held)
{
	/* The link came up while nobody listened. */
	assert_true(sees_change());
	unit_wait_for_pages(dev, held + REQUESTS);
	/* And from now on events tell. */
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_true(sees_change());
	assert_int_equal(softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
	unit_wait_for_pages(dev, held + REQUESTS + 1);
}

static void
test_a_queue_that_ran_over_is_made_anew(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t held = rnic_pages_held(dev);

	make_deaf(dev);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	let_go();
	hears_again(dev, held);
}

/* CQs of the port name it, so that the device does not let it go before them. */
static void
test_a_queue_that_is_named_by_others_is_made_anew(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t held = rnic_pages_held(dev);
	struct rnic_cq cq;

	assert_int_equal(rnic_cq_create(dev, 4, dev->async_eq, &cq), 0);
	make_deaf(dev);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	let_go();
	hears_again(dev, held);
	assert_int_equal(rnic_cq_destroy(dev, &cq), 0);
}

/* Nothing says that something happened: who starts the port asks. */
static void
test_a_port_that_starts_looks(void **state)
{
	struct rnic_dev *dev = *state;
	const uint32_t held = rnic_pages_held(dev);

	dev->tunables.silence_ms = UINT32_MAX;
	make_deaf(dev);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	let_go();
	/* All that it could hear. */
	rnic_control_sync(dev);
	rnic_control_look(dev);
	hears_again(dev, held);
}

static struct rdmapmd_async_event heard[32];
static unsigned int heard_count;

static bool
heard_of(enum rdmapmd_event_type type, const void *of)
{
	unsigned int i;

	for (i = 0; i < heard_count; i++)
		if (heard[i].event_type == type && (of == NULL || heard[i].element.qp == of))
			return true;
	return false;
}

static bool
has_heard(struct rdmapmd_context *context, enum rdmapmd_event_type type, const void *of)
{
	struct rdmapmd_async_event event;

	while (rdmapmd_async_event_get(context, &event) == 0) {
		if (heard_count < RTE_DIM(heard))
			heard[heard_count++] = event;
		assert_int_equal(rdmapmd_async_event_ack(context, &event), 0);
	}
	return heard_of(type, of);
}

static bool
hears(struct rdmapmd_context *context, enum rdmapmd_event_type type, const void *of)
{
	return UNIT_COMES(has_heard(context, type, of));
}

static void
test_what_was_missed_of_queues_is_told(void **state)
{
	static const struct rdma_conf conf = { 0 };
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 3 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
				       .send_flags = RDMAPMD_SEND_SIGNALED };
	struct rnic_dev *dev = *state;
	struct rdmapmd_context *context;
	struct rdmapmd_cq *cqs[2];
	struct rdmapmd_qp *qps[2];
	struct rdmapmd_pd *pd;
	unsigned int i;

	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	assert_int_equal(rdmapmd_pd_alloc(context, &pd), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rdmapmd_cq_create(context, &cq_attr, &cqs[i]), 0);
		attr.send_cq = attr.recv_cq = cqs[i];
		assert_int_equal(rdmapmd_qp_create(pd, &attr, &qps[i]), 0);
		rdma_connect(qps[i], qps[i], &conf);
	}
	make_deaf(dev);
	/* More completions than there is room for; a queue pair that breaks without one. */
	for (i = 0; i <= cqs[0]->cqe + 1; i++)
		assert_int_equal(rdmapmd_post_send(qps[0], &nop, 1), 1);
	assert_int_equal(rnic_cmd_destroy(dev, RNIC_CMD_2ERR_QP, qps[1]->qp_num), 0);
	assert_int_equal(rnic_port_set_admin(dev, true), 0);
	heard_count = 0;
	let_go();
	assert_true(hears(context, RDMAPMD_EVENT_PORT_ACTIVE, NULL));
	assert_true(hears(context, RDMAPMD_EVENT_CQ_ERR, cqs[0]));
	assert_true(hears(context, RDMAPMD_EVENT_QP_FATAL, qps[1]));
	assert_int_equal(rdmapmd_qp_state(qps[1]), RDMAPMD_QPS_ERR);
	assert_int_equal(rdmapmd_cq_status(cqs[0]), -EOVERFLOW);
	assert_int_equal(rdmapmd_cq_status(cqs[1]), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
}

/* ---- Queues that the device cannot write to any more ---- */

static const struct rdma_conf plain = { 0 };
static struct rdma_pair pair;

/* The first one of the pair sends, the second one has an SRQ; both CQs have the channel. */
static int
open_deaf_pair(void **state)
{
	static const struct rdma_conf conf = { .channel = true, .srq = true };
	int rc = open_deaf(state);

	if (rc == 0)
		rdma_open(&pair, &conf);
	return rc;
}

static int
close_deaf_pair(void **state)
{
	rdma_close(&pair);
	rdma_free(&pair);
	return close_deaf(state);
}

static void
take_memory(struct rnic_dev *dev, unsigned int eq)
{
	const struct rnic_mem *mem = &unit_eqs.first[eq];

	assert_true(unit_eqs.count >= EQS);
	assert_int_equal(dev->access->ops->unmap(dev->access, mem->iova, mem->length), 0);
}

static bool
has_failed(struct rnic_dev *dev, const struct rnic_eq *eq)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_eq_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, rnic_eq_number(eq));
	assert_int_equal(
		rnic_cmd_exec(dev, RNIC_CMD_QUERY_EQ, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	return rnic_eqc_get(rnic_query_eq_out_eqc(&out), RNIC_EQC_STATUS) != 0;
}

/* The next event of it is lost, and then it has failed. */
static void
wait_for_failure(struct rnic_dev *dev, const struct rnic_eq *eq)
{
	assert_true(UNIT_COMES(has_failed(dev, eq)));
}

/* As a link that has changed, of which no event told; all that it could hear is heard. */
static void
suspect(struct rnic_dev *dev)
{
	rnic_control_sync(dev);
	rnic_control_suspect(dev);
}

static void
complete_one(struct rdmapmd_qp *qp)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };

	rdma_post(qp, &nop);
}

/* The next event of the channel; NULL: none within the time. */
static struct rdmapmd_cq *
next_event(int ms)
{
	struct pollfd wait = { .fd = pair.channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	if (poll(&wait, 1, ms) != 1)
		return NULL;
	assert_int_equal(rdmapmd_cq_event_get(pair.channel, &cq), 0);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	return cq;
}

static void
assert_woken(struct rdmapmd_cq *cq)
{
	assert_ptr_equal(next_event(PATIENCE_MS), cq);
	(void)rdma_wait(cq);
}

/* Those that name it are looked at; those that are made later name the new one. */
static void
test_a_queue_of_completions_is_made_anew(void **state)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 16 };
	struct rnic_dev *dev = *state;
	struct rdmapmd_cq *later;
	struct rdmapmd_qp *qp;
	unsigned int i;

	take_memory(dev, COMPLETION_EQ);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rdmapmd_req_notify_cq(pair.cq[i], false), 0);
		complete_one(pair.qp[i]);
		wait_for_failure(dev, dev->rdma->vectors[0].eq);
	}
	suspect(dev);
	/* What was missed, of both in any order; then what comes. */
	for (i = 0; i < 2; i++) {
		later = next_event(PATIENCE_MS);
		assert_non_null(later);
		(void)rdma_wait(later);
	}
	for (i = 0; i < 6; i++) {
		assert_null(next_event(0));
		assert_int_equal(rdmapmd_req_notify_cq(pair.cq[i % 2], false), 0);
		complete_one(pair.qp[i % 2]);
		assert_woken(pair.cq[i % 2]);
	}
	cq_attr.channel = pair.channel;
	assert_int_equal(rdmapmd_cq_create(pair.context, &cq_attr, &later), 0);
	attr.send_cq = attr.recv_cq = later;
	assert_int_equal(rdmapmd_qp_create(pair.pd, &attr, &qp), 0);
	rdma_connect(qp, qp, &plain);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rdmapmd_req_notify_cq(later, false), 0);
		complete_one(qp);
		assert_woken(later);
	}
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(later), 0);
	assert_false(atomic_load(&dev->dead));
}

static int
open_deaf_with_vectors(void **state)
{
	unit_tunables()->rx_vectors = 2;
	return open_deaf_pair(state);
}

/* A vector's queue is mended as the first one's is, and those beside it are left as they are. */
static void
test_the_queue_of_each_vector_is_made_anew(void **state)
{
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 16, .comp_vector = 3 };
	struct rnic_dev *dev = *state;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	uint32_t eqns[2];
	unsigned int i;

	cq_attr.channel = pair.channel;
	assert_int_equal(rdmapmd_cq_create(pair.context, &cq_attr, &cq), 0);
	qp = rdma_to_itself(pair.pd, cq);
	eqns[0] = rnic_eq_number(dev->rdma->vectors[0].eq);
	eqns[1] = rnic_eq_number(dev->rdma->vectors[3].eq);
	assert_int_not_equal(eqns[0], eqns[1]);
	/* Its queue is the last one that was made. */
	assert_int_equal(
		dev->access->ops->unmap(dev->access, unit_eqs.last.iova, unit_eqs.last.length), 0);
	assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
	complete_one(qp);
	wait_for_failure(dev, dev->rdma->vectors[3].eq);
	/* That it owes an event is seen in the CQ. */
	assert_woken(cq);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rdmapmd_req_notify_cq(cq, false), 0);
		complete_one(qp);
		assert_woken(cq);
		assert_int_equal(rdmapmd_req_notify_cq(pair.cq[0], false), 0);
		complete_one(pair.qp[0]);
		assert_woken(pair.cq[0]);
	}
	assert_int_equal(rnic_eq_number(dev->rdma->vectors[0].eq), eqns[0]);
	assert_int_not_equal(rnic_eq_number(dev->rdma->vectors[3].eq), eqns[1]);
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(cq), 0);
}

/* The event of a command's completion, long before any queue counts as silent. */
static void
keep_lively(struct rnic_dev *dev)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	uint32_t speed;
	bool up;

	assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
	nanosleep(&nap, NULL);
}

/* What one queue tells says nothing of the others: those that owe an event are asked for, however lively that one is. */
static void
test_a_queue_that_fell_silent_beside_a_lively_one_is_found(void **state)
{
	struct rdmapmd_qp_attr drain = { .qp_state = RDMAPMD_QPS_SQD, .en_sqd_async_notify = 1 };
	struct rnic_dev *dev = *state;
	struct rdmapmd_cq *cq = NULL;
	bool hears_of = false;
	unsigned int i;

	/* A CQ is armed and has an entry. */
	take_memory(dev, COMPLETION_EQ);
	assert_int_equal(rdmapmd_req_notify_cq(pair.cq[0], false), 0);
	complete_one(pair.qp[0]);
	wait_for_failure(dev, dev->rdma->vectors[0].eq);
	for (i = 0; i < PATIENCE_MS / 4 && cq == NULL; i++) {
		keep_lively(dev);
		cq = next_event(0);
	}
	assert_ptr_equal(cq, pair.cq[0]);
	(void)rdma_wait(cq);
	/* A queue pair is to say when it is drained. */
	take_memory(dev, RDMA_EQ);
	assert_int_equal(rdmapmd_qp_modify(pair.qp[0], &drain,
					   RDMAPMD_QP_STATE | RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	wait_for_failure(dev, dev->rdma->event_eq);
	heard_count = 0;
	for (i = 0; i < PATIENCE_MS / 4 && !hears_of; i++) {
		keep_lively(dev);
		hears_of = has_heard(pair.context, RDMAPMD_EVENT_SQ_DRAINED, pair.qp[0]);
	}
	assert_true(hears_of);
}

/*
 * Nothing is owed: nobody asks, however long a queue has told of nothing. The others are another matter: whatever takes long
 * on a busy machine brings them under suspicion.
 */
static void
test_a_queue_that_owes_nothing_is_left_alone(void **state)
{
	struct rnic_dev *dev = *state;
	struct rdmapmd_cq *cq;
	unsigned int i;

	atomic_store(&watched, rnic_eq_number(atomic_load(&dev->rdma->vectors[0].eq)));
	/* An event that was heard, and an entry behind it that nobody armed for. */
	assert_int_equal(rdmapmd_req_notify_cq(pair.cq[0], false), 0);
	complete_one(pair.qp[0]);
	cq = next_event(PATIENCE_MS);
	assert_ptr_equal(cq, pair.cq[0]);
	/* A look from before it was heard is over: until then the event was owed. */
	rnic_control_sync(dev);
	atomic_store(&asked, 0);
	(void)rdma_wait(cq);
	complete_one(pair.qp[0]);
	for (i = 0; i < 100; i++)
		keep_lively(dev);
	assert_int_equal(atomic_load(&asked), 0);
	(void)rdma_wait(cq);
}

/* Both ends in one device: the first one sends, the second one has an SRQ. */
static void
test_what_was_missed_of_rdma_is_told(void **state)
{
	static const struct rdma_conf rtr = { .up_to = RDMAPMD_QPS_RTR };
	struct rdmapmd_srq_attr limit = { .srq_limit = 2 };
	struct rdmapmd_qp_attr drain = { .qp_state = RDMAPMD_QPS_SQD, .en_sqd_async_notify = 1 };
	struct rdmapmd_send_wr write;
	struct rdmapmd_sge sge;
	struct rnic_dev *dev = *state;
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_qp *listens, *talks;

	attr.send_cq = attr.recv_cq = pair.cq[0];
	assert_int_equal(rdmapmd_qp_create(pair.pd, &attr, &listens), 0);
	assert_int_equal(rdmapmd_qp_create(pair.pd, &attr, &talks), 0);
	rdma_connect(listens, talks, &rtr);
	rdma_connect(talks, listens, &plain);
	take_memory(dev, RDMA_EQ);
	/* A packet in RTR. */
	sge = rdma_sge(&pair, 0, 8);
	write = rdma_request(&pair, RDMAPMD_WR_RDMA_WRITE, 1, &sge);
	rdma_post(talks, &write);
	rdma_expect(pair.cq[0], 1, RDMAPMD_WC_RDMA_WRITE);
	wait_for_failure(dev, dev->rdma->event_eq);
	/* A limit that is reached as soon as it is set; a queue that is drained; one that takes no more from its SRQ. */
	assert_int_equal(rdmapmd_srq_modify(pair.srq, &limit, RDMAPMD_SRQ_LIMIT), 0);
	assert_int_equal(rdmapmd_qp_modify(pair.qp[0], &drain,
					   RDMAPMD_QP_STATE | RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	rdma_to(pair.qp[1], RDMAPMD_QPS_ERR);
	heard_count = 0;
	suspect(dev);
	assert_true(hears(pair.context, RDMAPMD_EVENT_COMM_EST, listens));
	assert_true(hears(pair.context, RDMAPMD_EVENT_SRQ_LIMIT_REACHED, pair.srq));
	assert_true(hears(pair.context, RDMAPMD_EVENT_SQ_DRAINED, pair.qp[0]));
	assert_true(hears(pair.context, RDMAPMD_EVENT_QP_LAST_WQE_REACHED, pair.qp[1]));
	/* Nothing of what did not happen. */
	assert_false(heard_of(RDMAPMD_EVENT_COMM_EST, talks));
	assert_false(heard_of(RDMAPMD_EVENT_SQ_DRAINED, talks));
	assert_false(heard_of(RDMAPMD_EVENT_QP_FATAL, pair.qp[1]));
	assert_int_equal(rdmapmd_qp_destroy(talks), 0);
	assert_int_equal(rdmapmd_qp_destroy(listens), 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, open_deaf, close_deaf)
#define PAIR_TEST(name) cmocka_unit_test_setup_teardown(name, open_deaf_pair, close_deaf_pair)

static const struct CMUnitTest tests[] = {
	TEST(test_a_queue_that_ran_over_is_made_anew),
	TEST(test_a_queue_that_is_named_by_others_is_made_anew),
	TEST(test_a_port_that_starts_looks),
	TEST(test_what_was_missed_of_queues_is_told),
	PAIR_TEST(test_a_queue_of_completions_is_made_anew),
	cmocka_unit_test_setup_teardown(test_the_queue_of_each_vector_is_made_anew,
					open_deaf_with_vectors, close_deaf_pair),
	PAIR_TEST(test_what_was_missed_of_rdma_is_told),
	PAIR_TEST(test_a_queue_that_fell_silent_beside_a_lively_one_is_found),
	PAIR_TEST(test_a_queue_that_owes_nothing_is_left_alone),
};

UNIT_MAIN("deaf", tests)
