/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs on wires through ethdevs that take few frames at a time: nothing is lost to that. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "qp_world.h"
#include "test_clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"

#define RING	16 /* one frame fewer fits */
#define MESSAGE (1u << 20)
#define QPS	6
#define SHARE	(64u << 10) /* of the buffer, for each of them */
#define ROUNDS	4

static struct rte_ring *rings[2]; /* to the left, to the right */

static void
make_ethdevs(void)
{
	assert_true(rte_eth_from_rings("left", &rings[0], 1, &rings[1], 1, 0) >= 0);
	assert_true(rte_eth_from_rings("right", &rings[1], 1, &rings[0], 1, 0) >= 0);
}

static void
end_ethdevs(void)
{
	struct rte_mbuf *mbuf;

	assert_int_equal(rte_vdev_uninit("net_ring_left"), 0);
	assert_int_equal(rte_vdev_uninit("net_ring_right"), 0);
	for (unsigned int i = 0; i < 2; i++) {
		while (rte_ring_dequeue(rings[i], (void **)&mbuf) == 0)
			rte_pktmbuf_free(mbuf);
	}
}

static void
wait_for_link(struct qw *qw, unsigned int end)
{
	unsigned int naps = 0;
	bool up = false;

	while (!up) {
		softrnic_poll(qw->poller);
		softrnic_lock(qw->poller);
		up = qw->ends[end]->dp.dev->port.link_up;
		softrnic_unlock(qw->poller);
		if (++naps > 20000)
			fail_msg("the link does not go up");
		usleep(1000);
	}
}

static int
setup(void **state)
{
	const struct qw_conf conf = { .pair = true,
				      .wires = { "port:net_ring_left", "port:net_ring_right" } };
	const struct qw_attr attr = qw_attr();
	struct qw_two *two;

	make_ethdevs();
	two = qw_two_open(&conf);
	wait_for_link(&two->qw, 0);
	wait_for_link(&two->qw, 1);
	qw_two_connect(two, &attr);
	/* Wires that were not used throw away what is there when they are. */
	qw_poll(&two->qw, 10);
	qw_fill(two->out, QW_BUFFER, 1);
	*state = two;
	return 0;
}

static int
teardown(void **state)
{
	qw_two_close(*state);
	end_ethdevs();
	return 0;
}

/* Nothing was lost or asked for again, on either side; the ethdevs have been full. */
static void
expect_no_loss(struct qw_two *two)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct softrnic *dev = two->qw.ends[i]->dp.dev;

		assert_int_equal(dp_stats(&two->qw.ends[i]->dp).wire_dropped, 0);
		assert_int_equal(dev->roce_counters.local_ack_timeout_err, 0);
		assert_int_equal(dev->roce_counters.packet_seq_err, 0);
		assert_int_equal(dev->roce_counters.out_of_sequence, 0);
		assert_int_equal(dev->roce_counters.duplicate_request, 0);
	}
}

static bool
completed(void *arg)
{
	return dp_cq_peek(arg) != NULL;
}

static void
test_a_large_write_is_not_repeated(void **state)
{
	struct qw_two *two = *state;

	for (uint16_t i = 0; i < 3; i++) {
		memset(two->in, 0, MESSAGE);
		qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, MESSAGE, two->in);
		assert_true(qw_run_until(&two->qw, completed, &two->a_send));
		qw_done(two, i);
		assert_memory_equal(two->in, two->out, MESSAGE);
	}
	expect_no_loss(two);
}

/* Payload is read once, into the ethdev's mbufs: where frames for other wires are made nothing is. */
static void
test_payload_is_copied_once(void **state)
{
	struct qw_two *two = *state;
	uint8_t *rooms[] = { two->a.end->dp.dev->roce_room, two->b.end->dp.dev->roce_room };

	for (unsigned int i = 0; i < 2; i++)
		memset(rooms[i], 0xa5, ROCEV2_FRAME_MAX);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, SHARE, two->in);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_READ, two->out + SHARE, SHARE, two->in);
	for (uint16_t i = 0; i < 2; i++) {
		assert_true(qw_run_until(&two->qw, completed, &two->a_send));
		qw_done(two, i);
	}
	assert_memory_equal(two->in, two->out, SHARE);
	assert_memory_equal(two->out + SHARE, two->in, SHARE);
	for (unsigned int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < ROCEV2_FRAME_MAX; at++)
			assert_int_equal(rooms[i][at], 0xa5);
}

/* Answers of many packets wait as requests do. */
static void
test_a_large_read_is_not_repeated(void **state)
{
	struct qw_two *two = *state;

	qw_fill(two->in, MESSAGE, 5);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_READ, two->out, MESSAGE, two->in);
	assert_true(qw_run_until(&two->qw, completed, &two->a_send));
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, MESSAGE);
	expect_no_loss(two);
}

/* Both ways at once, by many: each has its turn, so that none is a round behind another. */
static void
test_queue_pairs_share_what_the_wire_takes(void **state)
{
	struct qw_two *two = *state;
	const struct qw_qp_conf a_conf = qw_two_qp_conf(two, false),
				b_conf = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp a[QPS], b[QPS];
	unsigned int done[QPS] = { 0 }, all = 0;

	for (unsigned int i = 0; i < QPS; i++) {
		qw_two_more(two, &a[i], &a_conf, &b[i], &b_conf, &attr);
		for (unsigned int k = 0; k < ROUNDS; k++) {
			qw_post(&a[i], &b[i], RNIC_WQE_RDMA_WRITE, two->out + i * SHARE, SHARE,
				two->in + i * SHARE);
			qw_post(&b[i], &a[i], RNIC_WQE_RDMA_WRITE, two->in + MESSAGE + i * SHARE,
				SHARE, two->out + MESSAGE + i * SHARE);
		}
	}
	qw_fill(two->in + MESSAGE, QPS * SHARE, 7);
	while (all < QPS * ROUNDS) {
		const struct rnic_cqe *cqe;
		unsigned int i = 0, k;

		assert_true(qw_run_until(&two->qw, completed, &two->a_send));
		cqe = dp_cq_next(&two->a_send);
		assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER);
		while (a[i].qpn != (rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff))
			i++;
		done[i]++;
		all++;
		for (k = 0; k < QPS; k++)
			assert_true(done[i] <= done[k] + 1);
	}
	for (all = 0; all < QPS * ROUNDS; all++) {
		assert_true(qw_run_until(&two->qw, completed, &two->b_send));
		assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&two->b_send)->op_own),
				 RNIC_CQE_REQUESTER);
	}
	assert_memory_equal(two->in, two->out, QPS * SHARE);
	assert_memory_equal(two->out + MESSAGE, two->in + MESSAGE, QPS * SHARE);
	expect_no_loss(two);
}

/* An Ethernet queue that sends whatever the wire takes, and more, leaves something to queue pairs. */
static void
test_a_flood_of_frames_does_not_starve_queue_pairs(void **state)
{
	struct qw_two *two = *state;
	struct dp *dp = &two->a.end->dp;
	struct dp_cq cq;
	struct dp_sq sq;
	unsigned int polls;

	assert_int_equal(dp_cq_create(dp, &cq,
				      &(struct dp_cq_conf){
					      .log_size = 10, .uar = 1, .ignore_overrun = true }),
			 0);
	assert_int_equal(dp_sq_create(dp, &sq, &cq, 8, 1, 0), 0);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out + 4096, SHARE, two->in);
	for (polls = 0; dp_cq_peek(&two->a_send) == NULL; polls++) {
		assert_true(polls < 20000);
		for (unsigned int i = 0; i < 40; i++)
			dp_send(&sq, two->out, 60);
		softrnic_poll(two->qw.poller);
		while (dp_cq_next(&cq) != NULL)
			;
	}
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out + 4096, SHARE);
	assert_true(dp_stats(dp).tx_errors > 0);
	expect_no_loss(two);
}

/* Nobody takes anything out of the ring. */
static bool
a_failed(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

static void
test_a_wire_that_has_stopped_loses_and_the_queue_pair_finds_out(void **state)
{
	struct qw_two *two = *state;
	struct softrnic *dev = two->a.end->dp.dev;
	struct qw_attr attr = qw_attr();
	uint64_t before;

	/* The other end lets nothing in any more: its queue pairs are all in reset. */
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, MESSAGE, two->in);
	while (!dev->wire_full)
		softrnic_poll(two->qw.poller);
	before = dp_clock(&two->a.end->dp, false);
	while (dp_clock(&two->a.end->dp, false) - before < 5000000) {
		softrnic_poll(two->qw.poller);
		assert_int_equal(dev->stats.wire_dropped, 0);
	}
	/* Commands are executed all the while, and in the end it has tried eight times. */
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_RTS);
	assert_true(qw_run_until(&two->qw, a_failed, two));
	qw_failed(two, 0, RNIC_SYND_RETRY_EXCEEDED);
	assert_int_equal(dev->roce_counters.local_ack_timeout_err, 8);
	assert_true(dev->stats.wire_dropped > 0);
	/* The next one finds room again. */
	attr.psn = 77;
	qw_two_reconnect(two, &attr);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, MESSAGE, two->in);
	assert_true(qw_run_until(&two->qw, completed, &two->a_send));
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, MESSAGE);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_a_large_write_is_not_repeated),
		T(test_payload_is_copied_once),
		T(test_a_large_read_is_not_repeated),
		T(test_queue_pairs_share_what_the_wire_takes),
		T(test_a_flood_of_frames_does_not_starve_queue_pairs),
		T(test_a_wire_that_has_stopped_loses_and_the_queue_pair_finds_out),
	};

	return cmocka_run_group_tests_name("qp_port", tests, NULL, NULL);
}

int
main(void)
{
	char prefix[64];
	char *argv[] = { (char *)(uintptr_t) "qp-port",
			 (char *)(uintptr_t) "--lcores=0@(0-1)",
			 (char *)(uintptr_t) "--no-pci",
			 (char *)(uintptr_t) "--no-telemetry",
			 (char *)(uintptr_t) "--no-huge",
			 (char *)(uintptr_t) "-m128",
			 (char *)(uintptr_t) "--log-level=lib.*:4",
			 prefix,
			 NULL };
	int failed;

	snprintf(prefix, sizeof(prefix), "--file-prefix=rnic-qp-port-%d", (int)getpid());
	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return 1;
	rings[0] = rte_ring_create("to_left", RING, 0, 0);
	rings[1] = rte_ring_create("to_right", RING, 0, 0);
	if (rings[0] == NULL || rings[1] == NULL)
		return 1;
	failed = run();
	rte_eal_cleanup();
	return failed;
}
