/* SPDX-License-Identifier: BSD-3-Clause */

/* The ethdev on a device that is lost, refuses, or does not stop: what a card may do, and no packet can provoke. */

#include "ethdev.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_interrupts.h>

#include "base/counter.h"
#include "base/tunables.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/mem.h"
#include "eqs.h"
#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "ethdev/rx_queue.h"
#include "ethdev/tx.h"
#include "ethdev/tx_queue.h"
#include "object/cq.h"
#include "object/port.h"
#include "object/rq.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/wqe.h"

/* A queue that is silent is soon suspected. */
static int
setup_suspicious(void **state)
{
	unit_tunables()->silence_ms = 50;
	return unit_ethdev_open(state, 20);
}

static int
count_removal(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port;
	(void)ret;
	assert_int_equal(event, RTE_ETH_EVENT_INTR_RMV);
	atomic_fetch_add((atomic_uint *)arg, 1);
	return 0;
}

static void
test_a_lost_device_is_a_removal_event(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_eth_link link;
	atomic_uint events = 0;

	assert_int_equal(rte_eth_dev_callback_register(f->id, RTE_ETH_EVENT_INTR_RMV, count_removal,
						       &events),
			 0);
	assert_int_equal(rte_eth_dev_is_removed(f->id), 0);
	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	assert_true(UNIT_COMES(atomic_load(&events) != 0));
	assert_int_equal(atomic_load(&events), 1);
	assert_int_equal(rte_eth_dev_is_removed(f->id), 1);
	assert_int_equal(rte_eth_link_get_nowait(f->id, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	rte_eth_dev_callback_unregister(f->id, RTE_ETH_EVENT_INTR_RMV, count_removal, &events);
}

/* Wherever the device stops, the port has the address and the modes that ethdev goes on to tell. */
static void
test_what_is_refused_half_way_is_taken_back(void **state)
{
	static const uint16_t opcodes[] = {
		RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT,
		RNIC_CMD_SET_FLOW_TABLE_ENTRY,
		RNIC_CMD_DELETE_FLOW_TABLE_ENTRY,
	};
	struct unit_ethdev *f = *state;
	struct rnic_ethdev *port = rnic_ethdev_get(&rte_eth_devices[f->id]);
	struct rte_ether_addr was, mac = { { 2, 0, 0, 0, 0, 9 } };
	unsigned int i;

	assert_int_equal(rte_eth_macaddr_get(f->id, &was), 0);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		unit_refuse(f->dev, opcodes[i], RNIC_STATUS_LIM);
		assert_true(rte_eth_dev_default_mac_addr_set(f->id, &mac) < 0);
		assert_memory_equal(port->dev->mac, &was, sizeof(was));
		assert_memory_equal(port->steering.mac, &was, sizeof(was));
		/* A vport that will not is none of ethdev's business, an entry that stays is. */
		if (opcodes[i] == RNIC_CMD_DELETE_FLOW_TABLE_ENTRY)
			assert_true(rte_eth_promiscuous_disable(f->id) < 0);
		unit_refuse_nothing(f->dev);
		assert_true(port->promiscuous);
		unit_loop(f, 8);
		/* It is not stuck. */
		assert_int_equal(rte_eth_dev_default_mac_addr_set(f->id, &mac), 0);
		assert_memory_equal(port->steering.mac, &mac, sizeof(mac));
		assert_int_equal(rte_eth_dev_default_mac_addr_set(f->id, &was), 0);
	}
}

/* Its devargs are refused: as a daemon that is gone would. */
static void
test_a_port_whose_reset_failed_can_be_reset_again(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_eth_dev *eth_dev = &rte_eth_devices[f->id];
	const char *args = eth_dev->device->devargs->args;
	struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 9 } };
	struct rte_dev_reg_info regs = { 0 };
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	uint64_t clock;

	unit_loop(f, 8);
	eth_dev->device->devargs->args = "wire=nowhere";
	assert_true(rte_eth_dev_reset(f->id) < 0);
	assert_true(unit_said("has no device") > 0);
	assert_int_not_equal(rte_eth_dev_get_reg_info(f->id, &regs), 0);
	assert_int_not_equal(rte_eth_read_clock(f->id, &clock), 0);
	assert_int_not_equal(rte_eth_dev_set_link_up(f->id), 0);
	assert_int_not_equal(rte_eth_dev_set_link_down(f->id), 0);
	assert_int_not_equal(rte_eth_promiscuous_disable(f->id), 0);
	assert_int_not_equal(rte_eth_allmulticast_enable(f->id), 0);
	assert_int_not_equal(rte_eth_dev_default_mac_addr_set(f->id, &mac), 0);
	assert_int_not_equal(rte_eth_dev_configure(f->id, 1, 1, &conf), 0);
	assert_int_not_equal(rte_eth_dev_start(f->id), 0);
	assert_int_equal(rte_eth_dev_info_get(f->id, &info), 0);
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.opackets, 8);
	assert_true(rte_eth_dev_reset(f->id) < 0);
	eth_dev->device->devargs->args = args;
	assert_int_equal(rte_eth_dev_reset(f->id), 0);
	assert_int_equal(rte_eth_dev_get_reg_info(f->id, &regs), 0);
	unit_ethdev_configure(f, &conf);
	unit_ethdev_start(f);
	unit_loop(f, 8);
}

/* Its device is half way to where it would begin anew: a start would not meet it there. A second stop gets it the rest. */
static void
test_a_receive_queue_that_cannot_be_emptied_is_down(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->id].data->rx_queues[0];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		unit_loop(f, 8);
		assert_int_equal(rnic_rq_set_state(rxq->dev, &rxq->rq, RNIC_WQ_STATE_ERR), 0);
		unit_refuse(f->dev, RNIC_CMD_MODIFY_RQ, RNIC_STATUS_LIM);
		assert_true(rte_eth_dev_rx_queue_stop(f->id, 0) < 0);
		assert_true(unit_said("it is down: stop it again"));
		unit_refuse_nothing(f->dev);
		/* Whatever is asked of it, nothing is taken for a frame. */
		assert_int_equal(rte_eth_dev_rx_queue_start(f->id, 0), 0);
		assert_int_equal(rte_eth_rx_burst(f->id, 0, &(struct rte_mbuf *){ NULL }, 1), 0);
		assert_int_equal(rte_eth_dev_rx_queue_stop(f->id, 0), 0);
		assert_int_equal(rte_eth_dev_rx_queue_start(f->id, 0), 0);
	}
	unit_loop(f, 8);
}

/* As a thread that wants to sleep on its receive queue. */
static void
restart_with_interrupts(struct unit_ethdev *f)
{
	const struct rte_eth_conf conf = { .intr_conf = { .rxq = 1 } };

	assert_int_equal(rte_eth_dev_stop(f->id), 0);
	unit_ethdev_configure(f, &conf);
	unit_ethdev_start(f);
	assert_int_equal(
		rte_eth_dev_rx_intr_ctl_q(f->id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL),
		0);
}

static bool
woken(int ms)
{
	struct rte_epoll_event event;

	return rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, ms) == 1;
}

/* Its event queue is written to no more, and nothing would ever wake who sleeps on the receive queue. */
static void
test_who_sleeps_on_a_queue_without_events_is_woken(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_dev *dev = f->dev;
	const struct rnic_mem *mem = &unit_eqs.last;
	unsigned int i;
	uint32_t speed;
	bool up;

	restart_with_interrupts(f);
	assert_int_equal(dev->access->ops->unmap(dev->access, mem->iova, mem->length), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	unit_send(f, 8, 1);
	/* Commands complete all the while, so that the asynchronous queue has something to tell. */
	assert_true(UNIT_COMES(rnic_port_link(f->dev, &up, &speed) == 0 &&
			       unit_said("its event queue accepts no further events") > 0));
	for (i = 0; i < 3; i++) {
		assert_true(woken(UNIT_PATIENCE_MS));
		assert_int_equal(rte_eth_dev_rx_intr_disable(f->id, 0), 0);
		assert_int_equal(unit_receive(f, 8), 8);
		assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
		unit_send(f, 8, 1);
	}
	assert_int_equal(unit_receive(f, 8), 8);
	assert_int_equal(unit_said("its event queue accepts no further events"), 1);
	/* The next start makes another one. */
	restart_with_interrupts(f);
	assert_int_equal(rte_eth_dev_rx_intr_disable(f->id, 0), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	assert_false(woken(50));
	unit_send(f, 8, 1);
	assert_true(woken(UNIT_PATIENCE_MS));
	assert_int_equal(unit_receive(f, 8), 8);
}

static void
test_a_lost_device_wakes_who_sleeps(void **state)
{
	struct unit_ethdev *f = *state;

	restart_with_interrupts(f);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	assert_false(woken(20));
	softrnic_fault(unit_softrnic(f->dev), SOFTRNIC_FAULT_FATAL, 1);
	assert_true(woken(UNIT_PATIENCE_MS));
	/* Who would sleep again is told. */
	assert_int_not_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
}

/* A frame that met a WQE without a key: counted for the port and for the queue, and those behind it come. */
static void
test_an_error_of_a_receive_queue_is_counted(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->id].data->rx_queues[0];
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)rxq->rq.ring;
	struct rte_eth_stats stats;
	struct rte_mbuf *pkt;
	unsigned int ms;

	__atomic_store_n(&data->lkey.raw, 0, __ATOMIC_RELAXED);
	unit_send(f, 1, 1);
	/* The first burst after the recovery fills the ring again. */
	for (ms = 0; ms < 5000 && (rnic_counter_get(&rxq->stats.restarts) == 0 ||
				   atomic_load(&rxq->state) != RNIC_QUEUE_RUNNING);
	     ms++) {
		assert_int_equal(rte_eth_rx_burst(f->id, 0, &pkt, 1), 0);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(rte_eth_stats_get(f->id, &stats), 0);
	assert_int_equal(stats.ierrors, 1);
	assert_int_equal(stats.q_errors[0], 1);
	assert_int_equal(stats.ipackets, 0);
	unit_loop(f, 8);
}

/* A queue in error runs again with a burst after its recovery, and no frame comes before that would wake who makes it. */
static void
test_a_recovery_wakes_who_sleeps(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_wqe_data *data;
	struct rnic_rxq *rxq;
	struct rte_mbuf *pkt;

	restart_with_interrupts(f);
	rxq = rte_eth_devices[f->id].data->rx_queues[0];
	data = (struct rnic_wqe_data *)rxq->rq.ring;
	__atomic_store_n(&data->lkey.raw, 0, __ATOMIC_RELAXED);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	unit_send(f, 1, 1);
	/* By the error, by what it flushed perhaps, and at last by the recovery. */
	do {
		assert_true(woken(UNIT_PATIENCE_MS));
		assert_int_equal(rte_eth_dev_rx_intr_disable(f->id, 0), 0);
		assert_int_equal(rte_eth_rx_burst(f->id, 0, &pkt, 1), 0);
		assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	} while (atomic_load(&rxq->state) != RNIC_QUEUE_RUNNING);
	unit_send(f, 8, 1);
	assert_true(woken(UNIT_PATIENCE_MS));
	assert_int_equal(unit_receive(f, 8), 8);
}

/* Frames that are told of together: who takes some of them and sleeps is woken for the rest. */
static void
test_who_sleeps_with_frames_left_is_woken(void **state)
{
	struct unit_ethdev *f = *state;
	struct rte_mbuf *frames[8], *pkts[3];

	restart_with_interrupts(f);
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		frames[i] = unit_frame(f, 1);
	assert_int_equal(rte_eth_tx_burst(f->id, 0, frames, RTE_DIM(frames)), RTE_DIM(frames));
	assert_true(UNIT_COMES(rte_eth_rx_queue_count(f->id, 0) == RTE_DIM(frames)));
	assert_int_equal(rte_eth_rx_burst(f->id, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
	assert_int_equal(rte_eth_rx_queue_count(f->id, 0), RTE_DIM(frames) - RTE_DIM(pkts));
	assert_int_equal(rte_eth_rx_descriptor_status(f->id, 0, 4), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(f->id, 0, 5), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->id, 0), 0);
	assert_true(woken(UNIT_PATIENCE_MS));
	assert_int_equal(rte_eth_dev_rx_intr_disable(f->id, 0), 0);
	assert_int_equal(unit_receive(f, 5), 5);
}

/* ---- A device that always has one more entry ---- */

#define LOG_ENTRIES 20

/*
 * The queue rests. Whenever it is looked at, an entry is there, as of a device that always writes the next pass in time: by
 * their owner bits passes are of 2^20 entries, and each is ready.
 */
static uint8_t
always_one_more(struct rnic_cq *cq, enum rnic_cqe_opcode opcode)
{
	const uint8_t log_size = cq->log_size;
	uint32_t i;

	assert_int_equal(cq->consumer, 0);
	for (i = 0; i <= cq->mask; i++)
		cq->ring[i].op_own = RNIC_CQE_OP_OWN(opcode, 0);
	cq->log_size = LOG_ENTRIES;
	return log_size;
}

static void
assert_at_most_a_ring(struct rnic_cq *cq, uint8_t log_size)
{
	assert_in_range(cq->consumer, 1, cq->mask + 1);
	cq->log_size = log_size;
}

static void
test_a_receive_queue_is_stopped_while_entries_come(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->id].data->rx_queues[0];
	const uint8_t log_size = always_one_more(&rxq->cq, RNIC_CQE_RESPONDER_SEND);

	assert_int_equal(rte_eth_dev_rx_queue_stop(f->id, 0), 0);
	assert_at_most_a_ring(&rxq->cq, log_size);
}

static void
test_a_receive_queue_is_recovered_while_entries_come(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->id].data->rx_queues[0];
	const uint8_t log_size = always_one_more(&rxq->cq, RNIC_CQE_RESPONDER_SEND);

	rnic_recovery_failed(&rxq->recovery);
	assert_true(UNIT_COMES(atomic_load(&rxq->state) == RNIC_QUEUE_RECOVERED));
	assert_at_most_a_ring(&rxq->cq, log_size);
}

static void
test_a_transmit_queue_is_restarted_while_entries_come(void **state)
{
	struct unit_ethdev *f = *state;
	struct rnic_txq *txq = rte_eth_devices[f->id].data->tx_queues[0];
	const uint8_t log_size = always_one_more(&txq->cq, RNIC_CQE_REQUESTER);

	atomic_store(&txq->state, RNIC_QUEUE_RECOVERED);
	rnic_tx_restart(txq);
	assert_at_most_a_ring(&txq->cq, log_size);
}

static const struct CMUnitTest tests[] = {
	ETHDEV_TEST(test_a_lost_device_is_a_removal_event),
	ETHDEV_TEST(test_what_is_refused_half_way_is_taken_back),
	ETHDEV_TEST(test_a_port_whose_reset_failed_can_be_reset_again),
	ETHDEV_TEST(test_an_error_of_a_receive_queue_is_counted),
	ETHDEV_TEST(test_a_receive_queue_that_cannot_be_emptied_is_down),
	cmocka_unit_test_setup_teardown(test_who_sleeps_on_a_queue_without_events_is_woken,
					setup_suspicious, unit_ethdev_close),
	ETHDEV_TEST(test_a_lost_device_wakes_who_sleeps),
	ETHDEV_TEST(test_a_recovery_wakes_who_sleeps),
	ETHDEV_TEST(test_who_sleeps_with_frames_left_is_woken),
	ETHDEV_TEST(test_a_receive_queue_is_stopped_while_entries_come),
	ETHDEV_TEST(test_a_receive_queue_is_recovered_while_entries_come),
	ETHDEV_TEST(test_a_transmit_queue_is_restarted_while_entries_come),
};

UNIT_MAIN("port", tests)
