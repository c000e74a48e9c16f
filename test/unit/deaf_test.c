/* SPDX-License-Identifier: BSD-3-Clause */

/* An event queue that ran over while the control thread had no CPU: it is made anew, and what it missed is found out. */

#include "unit.h"

#include <semaphore.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "../e2e/rdma.h"
#include "rdma.h"

#define PATIENCE_MS 60000
#define REQUESTS    300 /* more than the queue has entries */

static sem_t change_seen, change_go;
static atomic_bool holds;

static void
on_change(struct rnic_dev *dev)
{
	(void)dev;
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

static unsigned int usual_silence, usual_period;

static int
open_deaf(void **state)
{
	struct rnic_dev *dev;

	usual_silence = rnic_silence_ms;
	usual_period = rnic_health_period_ms;
	rnic_silence_ms = 50;
	rnic_health_period_ms = 20;
	sem_init(&change_seen, 0, 0);
	sem_init(&change_go, 0, 0);
	unit_watch = (struct unit_watch){ 0 };
	if (unit_watched_open(&dev) != 0)
		return -1;
	*state = dev;
	return 0;
}

static int
close_deaf(void **state)
{
	struct rnic_dev *dev = *state;

	atomic_store(&dev->on_port_change, NULL);
	rnic_dev_close(dev);
	unit_watch_assert_clean();
	sem_destroy(&change_seen);
	sem_destroy(&change_go);
	rnic_silence_ms = usual_silence;
	rnic_health_period_ms = usual_period;
	rnic_bringup_hook = NULL;
	return 0;
}

/* Its queue takes no more events; the link is down then, and it knows. */
static void
make_deaf(struct rnic_dev *dev)
{
	unsigned int i;

	atomic_store(&holds, true);
	atomic_store(&dev->on_port_change, on_change);
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

	rnic_silence_ms = UINT32_MAX;
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
hears(struct rdmapmd_context *context, enum rdmapmd_event_type type, const void *of)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct rdmapmd_async_event event;
	unsigned int ms, i;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		while (rdmapmd_async_event_get(context, &event) == 0) {
			if (heard_count < RTE_DIM(heard))
				heard[heard_count++] = event;
			assert_int_equal(rdmapmd_async_event_ack(context, &event), 0);
		}
		for (i = 0; i < heard_count; i++)
			if (heard[i].event_type == type &&
			    (of == NULL || heard[i].element.cq == of || heard[i].element.qp == of))
				return true;
		nanosleep(&nap, NULL);
	}
	return false;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_deaf, close_deaf)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_queue_that_ran_over_is_made_anew),
		TEST(test_a_queue_that_is_named_by_others_is_made_anew),
		TEST(test_a_port_that_starts_looks),
		TEST(test_what_was_missed_of_queues_is_told),
	};

	return cmocka_run_group_tests_name("deaf", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
