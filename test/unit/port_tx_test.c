/* SPDX-License-Identifier: BSD-3-Clause */

/* Sends of an ethdev whose device does not complete them, or refuses them: what a card may do, and no packet can provoke. */

#include "ethdev.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include <rte_alarm.h>

#include "core/doorbell.h"
#include "ethdev/port.h"
#include "ethdev/tx_queue.h"
#include "prm/wqe.h"

/* Alarms can be refused: EAL's needs memory and a timer. */
static unsigned int alarms_refused;
static atomic_uint alarms_asked;

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback callback, void *arg)
{
	static int (*real)(uint64_t us, rte_eal_alarm_callback callback, void *arg);

	atomic_fetch_add(&alarms_asked, 1);
	if (alarms_refused > 0) {
		alarms_refused--;
		return -ENOMEM;
	}
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "rte_eal_alarm_set");
	return real(us, callback, arg);
}

/* Both kinds of WQE, with and without completions before: what was not completed in time is lost, to the packet. */
static void
test_a_stop_that_waits_in_vain_counts_what_is_lost(void **state)
{
	static const unsigned int segs[] = { 1, 3 };
	struct unit_ethdev *f = *state;
	struct rte_eth_stats stats;
	unsigned int before, i;

	/* All of these are completed: their last one asks for it. */
	before = 64;
	unit_loop(f, before);
	assert_int_equal(rte_eth_tx_burst(f->id, 0, NULL, 0), 0);
	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	for (i = 0; i < RTE_DIM(segs); i++)
		unit_send(f, 10, segs[i]);
	assert_int_equal(rte_eth_dev_stop(f->id), 0);
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.opackets, before);
	assert_int_equal(stats.obytes, before * 100);
	assert_int_equal(stats.oerrors, 20);
	assert_true(unit_said("stopped with 20 packets that the device did not send") > 0);
}

static void
test_a_stop_in_vain_with_no_completion_at_all(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_eth_stats stats;

	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	unit_send(f, 7, 2);
	assert_int_equal(rte_eth_dev_stop(f->id), 0);
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.opackets + stats.obytes, 0);
	assert_int_equal(stats.oerrors, 7);
}

/* The WQE that was completed last is overwritten then: what is known of it must not be looked up in the ring. */
static void
test_a_full_ring_holds_no_second_nop(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_eth_stats stats;
	struct rte_mbuf *one;
	unsigned int i;

	unit_loop(f, 64);
	assert_int_equal(rte_eth_tx_burst(f->id, 0, NULL, 0), 0);
	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	/* The last WQEBB is the NOP's. */
	unit_send(f, 255, 1);
	one = rte_pktmbuf_alloc(f->pool);
	assert_non_null(one);
	assert_non_null(rte_pktmbuf_append(one, 100));
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_tx_done_cleanup(f->id, 0, 0), 0);
		assert_int_equal(rte_eth_tx_burst(f->id, 0, &one, 1), 0);
	}
	rte_pktmbuf_free(one);
	assert_int_equal(rte_eth_dev_stop(f->id), 0);
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.opackets, 64);
	assert_int_equal(stats.oerrors, 255);
}

/* Until the device has completed what asked for it, taken by bursts alone. */
static void
reap_by_bursts(struct unit_ethdev *f, uint16_t left)
{
	const struct rnic_txq *txq = rte_eth_devices[f->id].data->tx_queues[0];

	if (!UNIT_COMES(rte_eth_tx_burst(f->id, 0, NULL, 0) == 0 &&
			(uint16_t)(txq->elts_head - txq->elts_tail) <= left))
		fail_msg("%u segments are still under way",
			 (uint16_t)(txq->elts_head - txq->elts_tail));
}

/* Nobody asks for a cleanup again: the burst that takes the NOP's completion gives its slot back. */
static void
test_a_nop_that_a_burst_found_done_holds_no_slot(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_mbuf *one;

	unit_send(f, 1, 1);
	assert_int_equal(rte_eth_tx_done_cleanup(f->id, 0, 0), 0);
	reap_by_bursts(f, 0);
	assert_int_equal(unit_receive(f, 1), 1);
	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	unit_send(f, 256, 1);
	one = rte_pktmbuf_alloc(f->pool);
	assert_non_null(one);
	assert_non_null(rte_pktmbuf_append(one, 100));
	assert_int_equal(rte_eth_tx_burst(f->id, 0, &one, 1), 0);
	rte_pktmbuf_free(one);
}

/* Positions of 16 bits come round again: a NOP of long ago stood among WQEs that are under way now, for ever. */
static void
test_a_nop_of_a_round_before_is_not_under_way(void **state)
{
	const unsigned int single = 20;
	struct unit_ethdev *f = *state;
	const struct rnic_txq *txq = rte_eth_devices[f->id].data->tx_queues[0];
	unsigned int i, freed = 0;
	uint16_t nop_end;

	unit_send(f, 1, 1);
	assert_int_equal(rte_eth_tx_done_cleanup(f->id, 0, 0), 0);
	nop_end = txq->sq.producer;
	reap_by_bursts(f, 0);
	/* Of three segments in two WQEBBs: completions are no longer a multiple of 32 behind the NOP. */
	unit_send(f, 11, 3);
	for (i = 0; i < 2047 * RNIC_TX_SIGNAL; i++) {
		if (i % 128 == 0)
			reap_by_bursts(f, 64);
		unit_send(f, 1, 1);
	}
	reap_by_bursts(f, 0);
	unit_send(f, single, 1);
	/* That is: the scene is set. */
	assert_in_range((uint16_t)(nop_end - txq->sq_tail), 1, single);
	assert_true(UNIT_COMES((freed += rte_eth_tx_done_cleanup(f->id, 0, 0)) >= single));
	assert_int_equal(freed, single);
}

/* Of packets that the device has not sent, nobody says that they are done. */
static void
test_descriptors_under_way_are_full(void **state)
{
	struct unit_ethdev *f = *state;
	uint16_t slot;

	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	unit_send(f, 40, 1);
	/* The first question that meets a full slot asks for a completion, which takes a slot itself. */
	assert_int_equal(rte_eth_tx_descriptor_status(f->id, 0, 215), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(rte_eth_tx_descriptor_status(f->id, 0, 216), RTE_ETH_TX_DESC_FULL);
	for (slot = 0; slot < 215; slot++)
		assert_int_equal(rte_eth_tx_descriptor_status(f->id, 0, slot),
				 RTE_ETH_TX_DESC_DONE);
	for (; slot < 256; slot++)
		assert_int_equal(rte_eth_tx_descriptor_status(f->id, 0, slot),
				 RTE_ETH_TX_DESC_FULL);
}

/* Beyond its key's memory: the device refuses it with an error completion. */
static void
break_transmit_queue(struct unit_ethdev *f, struct rte_mempool *island)
{
	struct rte_mbuf *bad = rte_pktmbuf_alloc(island);

	assert_non_null(bad);
	bad->data_len = bad->pkt_len = 9000;
	assert_int_equal(rte_eth_tx_burst(f->id, 0, &bad, 1), 1);
}

/* EAL may have no alarm to give. */
static void
test_a_recovery_that_cannot_be_asked_for_is_asked_again(void **state)
{
	struct rte_mempool *island = rte_pktmbuf_pool_create(
		"island", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct unit_ethdev *f = *state;
	struct rte_eth_stats stats;

	assert_non_null(island);
	alarms_refused = 5;
	atomic_store(&alarms_asked, 0);
	break_transmit_queue(f, island);
	assert_true(UNIT_COMES(rte_eth_tx_burst(f->id, 0, NULL, 0) == 0 &&
			       rte_eth_stats_get(f->id, &stats) == 0 && stats.oerrors != 0));
	assert_int_equal(stats.oerrors, 1);
	/* Until one was had, not more; and said once. */
	assert_int_equal(atomic_load(&alarms_asked), 6);
	assert_int_equal(unit_said("no alarm for its recovery"), 1);
	unit_loop(f, 8);
	rte_mempool_free(island);
}

/* More WQEs than the ring has: the device gives the queue up by an event, no completion tells. */
static void
test_a_queue_that_broke_by_event_needs_a_restart(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_txq *txq = rte_eth_devices[f->id].data->tx_queues[0];
	struct rte_mbuf *frames[6];
	struct rte_eth_stats stats;
	unsigned int i;

	unit_loop(f, 4);
	rnic_sq_dbrec_publish(txq->sq.dbrec, txq->sq.producer + 2 * (txq->sq.mask + 1));
	rnic_doorbell_ring(txq->sq.bf, (const struct rnic_wqe_ctrl *)txq->sq.ring);
	assert_true(UNIT_COMES(unit_said("stands still: restart the port") > 0));
	/*
	 * Its mbufs and counters are not lost with it: none of these 10 can be known to have gone. In one burst: they are flushed
	 * soon, and the next burst finds that.
	 */
	for (i = 0; i < RTE_DIM(frames); i++)
		frames[i] = unit_frame(f, 1);
	assert_int_equal(rte_eth_tx_burst(f->id, 0, frames, RTE_DIM(frames)), RTE_DIM(frames));
	assert_int_equal(rte_eth_dev_stop(f->id), 0);
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.opackets + stats.oerrors, 10);
	assert_true(stats.oerrors >= 6);
	unit_ethdev_start(f);
	unit_loop(f, 8);
}

static const struct CMUnitTest tests[] = {
	ETHDEV_TEST(test_a_stop_that_waits_in_vain_counts_what_is_lost),
	ETHDEV_TEST(test_a_stop_in_vain_with_no_completion_at_all),
	ETHDEV_TEST(test_a_full_ring_holds_no_second_nop),
	ETHDEV_TEST(test_a_nop_that_a_burst_found_done_holds_no_slot),
	ETHDEV_TEST(test_a_nop_of_a_round_before_is_not_under_way),
	ETHDEV_TEST(test_descriptors_under_way_are_full),
	ETHDEV_TEST(test_a_recovery_that_cannot_be_asked_for_is_asked_again),
	ETHDEV_TEST(test_a_queue_that_broke_by_event_needs_a_restart),
};

UNIT_MAIN("port_tx", tests)
