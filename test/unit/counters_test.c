/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's own counters begin near their end (RNIC_COUNTERS=end, see drivers/net/rnic/base/tunables.h), and come round in
 * traffic; those that the manual has begin at 0 are driven there. The data suites run once in the same way; here it is looked
 * at that they do.
 */

#include "unit.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../counts.h"
#include "../e2e/rdma.h"
#include "base/tunables.h"
#include "ethdev/tx_queue.h"
#include "rdma/rdma.h"

#define ROUNDS	    100 /* more than each of them is from its end */
#define PATIENCE_MS 60000

static void
expect_event(struct rdma_pair *pair)
{
	struct pollfd wait = { .fd = pair->channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
	assert_int_equal(rdmapmd_cq_event_get(pair->channel, &cq), 0);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	assert_ptr_equal(cq, pair->cq[1]);
}

static void
test_requests_and_armings_come_round(void **state)
{
	static const struct rdma_conf conf = { .channel = true };
	struct rdma_pair pair = { 0 };
	const struct rnic_rdma_qp *sends, *receives;
	struct rdmapmd_send_wr wr;
	struct rdmapmd_sge from, to;
	struct rnic_rdma_cq *cq;
	uint64_t i;

	(void)state;
	rdma_open(&pair, &conf);
	sends = (struct rnic_rdma_qp *)pair.qp[0];
	receives = (struct rnic_rdma_qp *)pair.qp[1];
	cq = (struct rnic_rdma_cq *)pair.cq[1];
	assert_in_range(sends->sq.head, UINT32_MAX - ROUNDS, UINT32_MAX);
	assert_in_range(receives->rq.head, UINT32_MAX - UINT16_MAX, UINT32_MAX);
	assert_in_range(atomic_load(&cq->arm_sequence), UINT32_MAX - ROUNDS, UINT32_MAX);
	from = rdma_sge(&pair, 0, 64);
	to = rdma_sge(&pair, RDMA_HALF, 64);
	for (i = 0; i < ROUNDS; i++) {
		rdma_post_recv(pair.qp[1], i, &to, 1);
		assert_int_equal(rdmapmd_req_notify_cq(pair.cq[1], false), 0);
		wr = rdma_request(&pair, RDMAPMD_WR_SEND, i, &from);
		rdma_post(pair.qp[0], &wr);
		expect_event(&pair);
		rdma_expect(pair.cq[1], i, RDMAPMD_WC_RECV);
		rdma_expect(pair.cq[0], i, RDMAPMD_WC_SEND);
	}
	assert_in_range(sends->sq.head, UINT32_MAX + UINT64_C(1), UINT32_MAX + (uint64_t)ROUNDS);
	assert_int_equal(sends->sq.tail, sends->sq.head);
	assert_in_range(atomic_load(&cq->arm_sequence), 1, ROUNDS);
	rdma_close(&pair);
	rdma_free(&pair);
}

/* ---- Those that begin at 0: they are driven to their end ---- */

#define BURST 32
#define NOPS  (65500 / BURST) /* bursts */
#define SENDS (65600 / BURST)

/* A burst of a queue pair, of which the last one asks for a completion. */
static void
post_burst(struct rdmapmd_qp *qp, struct rdmapmd_send_wr wr)
{
	struct rdmapmd_send_wr wrs[BURST];
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		wrs[i] = wr;
		wrs[i].wr_id = i;
		wrs[i].send_flags = i == BURST - 1 ? RDMAPMD_SEND_SIGNALED : 0;
	}
	assert_int_equal(rdmapmd_post_send(qp, wrs, BURST), BURST);
}

static void
test_wqe_counters_come_round(void **state)
{
	static const struct rdma_conf conf = { .srq = true };
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	struct rdma_pair pair = { 0 };
	struct rdmapmd_recv_wr receive;
	struct rdmapmd_sge from, to;
	const unsigned int sends = default_run() ? SENDS / 50 : SENDS;
	unsigned int burst, i;

	(void)state;
	rdma_open(&pair, &conf);
	for (burst = 0; burst < NOPS; burst++) {
		post_burst(pair.qp[0], nop);
		rdma_expect(pair.cq[0], BURST - 1, RDMAPMD_WC_NOP);
	}
	/* The send queue's comes round at once, that of the SRQ at the end. */
	from = rdma_sge(&pair, 0, sizeof(burst));
	to = rdma_sge(&pair, RDMA_HALF, sizeof(burst));
	for (burst = 0; burst < sends; burst++) {
		memcpy(pair.memory, &burst, sizeof(burst));
		for (i = 0; i < BURST; i++) {
			receive = (struct rdmapmd_recv_wr){ .wr_id = i,
							    .sg_list = &to,
							    .num_sge = 1 };
			assert_int_equal(rdmapmd_post_srq_recv(pair.srq, &receive, 1), 1);
		}
		post_burst(pair.qp[0], rdma_request(&pair, RDMAPMD_WR_SEND, 0, &from));
		for (i = 0; i < BURST; i++)
			rdma_expect(pair.cq[1], i, RDMAPMD_WC_RECV);
		rdma_expect(pair.cq[0], BURST - 1, RDMAPMD_WC_SEND);
		assert_memory_equal(pair.memory + RDMA_HALF, &burst, sizeof(burst));
	}
	rdma_close(&pair);
	rdma_free(&pair);
}

static void
test_segments_come_round(void **state)
{
	const struct rte_eth_conf conf = { 0 };
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"counters", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	const struct rnic_txq *txq;
	struct rte_mbuf *mbuf;
	unsigned int i;
	uint16_t port;

	(void)state;
	assert_non_null(pool);
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_rnic1", "wire=loop"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_rnic1", &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	txq = rte_eth_devices[port].data->tx_queues[0];
	assert_in_range(txq->elts_head, UINT16_MAX - ROUNDS, UINT16_MAX);
	for (i = 0; i < ROUNDS; i++) {
		mbuf = rte_pktmbuf_alloc(pool);
		assert_non_null(mbuf);
		memset(rte_pktmbuf_append(mbuf, 64), 2, 64);
		while (rte_eth_tx_burst(port, 0, &mbuf, 1) == 0)
			;
	}
	assert_in_range(txq->elts_head, 1, ROUNDS);
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_rnic1"), 0);
	/* Each came back once. */
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_requests_and_armings_come_round, unit_open,
					unit_close),
	cmocka_unit_test_setup_teardown(test_wqe_counters_come_round, unit_open, unit_close),
	cmocka_unit_test(test_segments_come_round),
};

UNIT_MAIN("counters", tests)
