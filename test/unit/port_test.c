/* SPDX-License-Identifier: BSD-3-Clause */

/* The ethdev on a device that misbehaves: what a card may do, and no packet can provoke. */

#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_interrupts.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "base/counter.h"
#include "base/tunables.h"
#include "core/dev.h"
#include "core/doorbell.h"
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

#define NAME "net_rnic0"

#define NAPS 20000 /* of a millisecond, until something is taken not to come */

struct fixture {
	struct rte_mempool *pool;
	uint16_t port;
	struct softrnic *device;
	FILE *log;
	char *text;
	size_t size;
};

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

static void
wait_for_link(const struct fixture *f)
{
	struct rte_eth_link link;
	unsigned int naps;

	for (naps = 0; naps < NAPS; naps++) {
		assert_int_equal(rte_eth_link_get(f->port, &link), 0);
		if (link.link_status == RTE_ETH_LINK_UP)
			return;
		rte_delay_us_sleep(1000);
	}
	fail_msg("no link");
}

/* How often the control thread looks; it is not there yet. */
static int
open_port(void **state, unsigned int period_ms)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct rte_eth_conf conf = {
		.rxmode = { .mtu = 9000, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER },
		.txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS },
	};

	assert_non_null(f);
	*state = f;
	rnic_health_period_ms = period_ms;
	f->pool = rte_pktmbuf_pool_create("port", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	assert_non_null(f->pool);
	assert_int_equal(rte_eal_hotplug_add("vdev", NAME, "wire=loop"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(NAME, &f->port), 0);
	assert_int_equal(rte_eth_dev_configure(f->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(f->port, 0, 1024, SOCKET_ID_ANY, NULL, f->pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(f->port, 0, 256, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_promiscuous_enable(f->port), 0);
	assert_int_equal(rte_eth_dev_start(f->port), 0);
	f->device = unit_softrnic(rnic_ethdev_get(&rte_eth_devices[f->port])->dev);
	wait_for_link(f);
	f->log = open_memstream(&f->text, &f->size);
	assert_non_null(f->log);
	assert_int_equal(rte_log_set_level_pattern("pmd.net.rnic.driver", RTE_LOG_WARNING), 0);
	rte_openlog_stream(f->log);
	return 0;
}

static int
setup(void **state)
{
	return open_port(state, 100);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rte_eth_dev_stop(f->port);
	assert_int_equal(rte_eal_hotplug_remove("vdev", NAME), 0);
	rte_openlog_stream(NULL);
	fclose(f->log);
	free(f->text);
	assert_int_equal(rte_mempool_in_use_count(f->pool), 0);
	rte_mempool_free(f->pool);
	free(f);
	return 0;
}

static unsigned int usual_silence;

/* A queue that is silent is soon suspected. */
static int
setup_suspicious(void **state)
{
	usual_silence = rnic_silence_ms;
	rnic_silence_ms = 50;
	return open_port(state, 20);
}

static int
teardown_suspicious(void **state)
{
	int rc = teardown(state);

	rnic_silence_ms = usual_silence;
	return rc;
}

/* How often the driver has said it. Its threads write while we read, and the text may move then: not without the lock. */
static unsigned int
said(struct fixture *f, const char *what)
{
	unsigned int times = 0;
	const char *at;

	flockfile(f->log);
	fflush(f->log);
	for (at = f->text; (at = strstr(at, what)) != NULL; at++)
		times++;
	funlockfile(f->log);
	return times;
}

static struct rte_mbuf *
make_frame(struct fixture *f, unsigned int segs)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(f->pool), *seg;

	assert_non_null(frame);
	memset(rte_pktmbuf_append(frame, 100), 2, 100);
	for (unsigned int i = 1; i < segs; i++) {
		seg = rte_pktmbuf_alloc(f->pool);
		assert_non_null(seg);
		memset(rte_pktmbuf_append(seg, 100), 2, 100);
		assert_int_equal(rte_pktmbuf_chain(frame, seg), 0);
	}
	return frame;
}

static void
send_frames(struct fixture *f, unsigned int count, unsigned int segs)
{
	struct rte_mbuf *frame;

	while (count-- > 0) {
		frame = make_frame(f, segs);
		assert_int_equal(rte_eth_tx_burst(f->port, 0, &frame, 1), 1);
	}
}

static unsigned int
receive_frames(struct fixture *f, unsigned int want)
{
	struct rte_mbuf *pkts[32];
	unsigned int got = 0, naps;
	uint16_t n;

	for (naps = 0; naps < NAPS && got < want; naps++) {
		n = rte_eth_rx_burst(f->port, 0, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, n);
		got += n;
		if (n == 0)
			rte_delay_us_sleep(1000);
	}
	return got;
}

/* Both kinds of WQE, with and without completions before: what was not completed in time is lost, to the packet. */
static void
test_a_stop_that_waits_in_vain_counts_what_is_lost(void **state)
{
	static const unsigned int segs[] = { 1, 3 };
	struct fixture *f = *state;
	struct rte_eth_stats stats;
	unsigned int before, i;

	/* All of these are completed: their last one asks for it. */
	before = 64;
	send_frames(f, before, 1);
	assert_int_equal(receive_frames(f, before), before);
	assert_int_equal(rte_eth_tx_burst(f->port, 0, NULL, 0), 0);
	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	for (i = 0; i < RTE_DIM(segs); i++)
		send_frames(f, 10, segs[i]);
	assert_int_equal(rte_eth_dev_stop(f->port), 0);
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.opackets, before);
	assert_int_equal(stats.obytes, before * 100);
	assert_int_equal(stats.oerrors, 20);
	assert_true(said(f, "stopped with 20 packets that the device did not send") > 0);
}

static void
test_a_stop_in_vain_with_no_completion_at_all(void **state)
{
	struct fixture *f = *state;
	struct rte_eth_stats stats;

	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	send_frames(f, 7, 2);
	assert_int_equal(rte_eth_dev_stop(f->port), 0);
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.opackets + stats.obytes, 0);
	assert_int_equal(stats.oerrors, 7);
}

/* The WQE that was completed last is overwritten then: what is known of it must not be looked up in the ring. */
static void
test_a_full_ring_holds_no_second_nop(void **state)
{
	struct fixture *f = *state;
	struct rte_eth_stats stats;
	struct rte_mbuf *one;
	unsigned int i;

	send_frames(f, 64, 1);
	assert_int_equal(receive_frames(f, 64), 64);
	assert_int_equal(rte_eth_tx_burst(f->port, 0, NULL, 0), 0);
	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	/* The last WQEBB is the NOP's. */
	send_frames(f, 255, 1);
	one = rte_pktmbuf_alloc(f->pool);
	assert_non_null(one);
	assert_non_null(rte_pktmbuf_append(one, 100));
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_tx_done_cleanup(f->port, 0, 0), 0);
		assert_int_equal(rte_eth_tx_burst(f->port, 0, &one, 1), 0);
	}
	rte_pktmbuf_free(one);
	assert_int_equal(rte_eth_dev_stop(f->port), 0);
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.opackets, 64);
	assert_int_equal(stats.oerrors, 255);
}

/* Until the device has completed what asked for it, taken by bursts alone. */
static void
reap_by_bursts(struct fixture *f, uint16_t left)
{
	const struct rnic_txq *txq = rte_eth_devices[f->port].data->tx_queues[0];
	unsigned int naps;

	for (naps = 0; naps < NAPS; naps++) {
		assert_int_equal(rte_eth_tx_burst(f->port, 0, NULL, 0), 0);
		if ((uint16_t)(txq->elts_head - txq->elts_tail) <= left)
			return;
		rte_delay_us_sleep(1000);
	}
	fail_msg("%u segments are still under way", (uint16_t)(txq->elts_head - txq->elts_tail));
}

/* Nobody asks for a cleanup again: the burst that takes the NOP's completion gives its slot back. */
static void
test_a_nop_that_a_burst_found_done_holds_no_slot(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *one;

	send_frames(f, 1, 1);
	assert_int_equal(rte_eth_tx_done_cleanup(f->port, 0, 0), 0);
	reap_by_bursts(f, 0);
	assert_int_equal(receive_frames(f, 1), 1);
	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	send_frames(f, 256, 1);
	one = rte_pktmbuf_alloc(f->pool);
	assert_non_null(one);
	assert_non_null(rte_pktmbuf_append(one, 100));
	assert_int_equal(rte_eth_tx_burst(f->port, 0, &one, 1), 0);
	rte_pktmbuf_free(one);
}

/* Positions of 16 bits come round again: a NOP of long ago stood among WQEs that are under way now, for ever. */
static void
test_a_nop_of_a_round_before_is_not_under_way(void **state)
{
	const unsigned int single = 20;
	struct fixture *f = *state;
	const struct rnic_txq *txq = rte_eth_devices[f->port].data->tx_queues[0];
	unsigned int i, naps, freed = 0;
	uint16_t nop_end;

	send_frames(f, 1, 1);
	assert_int_equal(rte_eth_tx_done_cleanup(f->port, 0, 0), 0);
	nop_end = txq->sq.producer;
	reap_by_bursts(f, 0);
	/* Of three segments in two WQEBBs: completions are no longer a multiple of 32 behind the NOP. */
	send_frames(f, 11, 3);
	for (i = 0; i < 2047 * RNIC_TX_SIGNAL; i++) {
		if (i % 128 == 0)
			reap_by_bursts(f, 64);
		send_frames(f, 1, 1);
	}
	reap_by_bursts(f, 0);
	send_frames(f, single, 1);
	/* That is: the scene is set. */
	assert_in_range((uint16_t)(nop_end - txq->sq_tail), 1, single);
	for (naps = 0; naps < NAPS && freed < single; naps++) {
		freed += rte_eth_tx_done_cleanup(f->port, 0, 0);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(freed, single);
}

/* Of packets that the device has not sent, nobody says that they are done. */
static void
test_descriptors_under_way_are_full(void **state)
{
	struct fixture *f = *state;
	uint16_t slot;

	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	send_frames(f, 40, 1);
	/* The first question that meets a full slot asks for a completion, which takes a slot itself. */
	assert_int_equal(rte_eth_tx_descriptor_status(f->port, 0, 215), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(rte_eth_tx_descriptor_status(f->port, 0, 216), RTE_ETH_TX_DESC_FULL);
	for (slot = 0; slot < 215; slot++)
		assert_int_equal(rte_eth_tx_descriptor_status(f->port, 0, slot),
				 RTE_ETH_TX_DESC_DONE);
	for (; slot < 256; slot++)
		assert_int_equal(rte_eth_tx_descriptor_status(f->port, 0, slot),
				 RTE_ETH_TX_DESC_FULL);
}

/* Beyond its key's memory: the device refuses it with an error completion. */
static void
break_transmit_queue(struct fixture *f, struct rte_mempool *island)
{
	struct rte_mbuf *bad = rte_pktmbuf_alloc(island);

	assert_non_null(bad);
	bad->data_len = bad->pkt_len = 9000;
	assert_int_equal(rte_eth_tx_burst(f->port, 0, &bad, 1), 1);
}

/* EAL may have no alarm to give. */
static void
test_a_recovery_that_cannot_be_asked_for_is_asked_again(void **state)
{
	struct rte_mempool *island = rte_pktmbuf_pool_create(
		"island", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct fixture *f = *state;
	struct rte_eth_stats stats;
	unsigned int naps;

	assert_non_null(island);
	alarms_refused = 5;
	atomic_store(&alarms_asked, 0);
	break_transmit_queue(f, island);
	for (naps = 0; naps < NAPS; naps++) {
		assert_int_equal(rte_eth_tx_burst(f->port, 0, NULL, 0), 0);
		assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
		if (stats.oerrors != 0)
			break;
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(stats.oerrors, 1);
	/* Until one was had, not more; and said once. */
	assert_int_equal(atomic_load(&alarms_asked), 6);
	assert_int_equal(said(f, "no alarm for its recovery"), 1);
	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
	rte_mempool_free(island);
}

/* More WQEs than the ring has: the device gives the queue up by an event, no completion tells. */
static void
test_a_queue_that_broke_by_event_needs_a_restart(void **state)
{
	struct fixture *f = *state;
	struct rnic_txq *txq = rte_eth_devices[f->port].data->tx_queues[0];
	struct rte_mbuf *frames[6];
	struct rte_eth_stats stats;
	unsigned int naps, i;

	send_frames(f, 4, 1);
	assert_int_equal(receive_frames(f, 4), 4);
	rnic_sq_dbrec_publish(txq->sq.dbrec, txq->sq.producer + 2 * (txq->sq.mask + 1));
	rnic_doorbell_ring(txq->sq.bf, (const struct rnic_wqe_ctrl *)txq->sq.ring);
	for (naps = 0; naps < NAPS && said(f, "stands still: restart the port") == 0; naps++)
		rte_delay_us_sleep(1000);
	assert_true(said(f, "stands still: restart the port") > 0);
	/*
	 * Its mbufs and counters are not lost with it: none of these 10 can be known to have gone. In one burst: they are flushed
	 * soon, and the next burst finds that.
	 */
	for (i = 0; i < RTE_DIM(frames); i++)
		frames[i] = make_frame(f, 1);
	assert_int_equal(rte_eth_tx_burst(f->port, 0, frames, RTE_DIM(frames)), RTE_DIM(frames));
	assert_int_equal(rte_eth_dev_stop(f->port), 0);
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.opackets + stats.oerrors, 10);
	assert_true(stats.oerrors >= 6);
	assert_int_equal(rte_eth_dev_start(f->port), 0);
	wait_for_link(f);
	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
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
	struct fixture *f = *state;
	struct rte_eth_link link;
	atomic_uint events = 0;
	unsigned int naps;

	assert_int_equal(rte_eth_dev_callback_register(f->port, RTE_ETH_EVENT_INTR_RMV,
						       count_removal, &events),
			 0);
	assert_int_equal(rte_eth_dev_is_removed(f->port), 0);
	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	for (naps = 0; naps < NAPS && atomic_load(&events) == 0; naps++)
		rte_delay_us_sleep(1000);
	assert_int_equal(atomic_load(&events), 1);
	assert_int_equal(rte_eth_dev_is_removed(f->port), 1);
	assert_int_equal(rte_eth_link_get_nowait(f->port, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	rte_eth_dev_callback_unregister(f->port, RTE_ETH_EVENT_INTR_RMV, count_removal, &events);
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
	struct fixture *f = *state;
	struct rnic_ethdev *port = rnic_ethdev_get(&rte_eth_devices[f->port]);
	struct rte_ether_addr was, mac = { { 2, 0, 0, 0, 0, 9 } };
	unsigned int i;

	assert_int_equal(rte_eth_macaddr_get(f->port, &was), 0);
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		softrnic_fault(f->device, SOFTRNIC_FAULT_COMMAND_STATUS,
			       opcodes[i] << 8 | RNIC_STATUS_LIM);
		assert_true(rte_eth_dev_default_mac_addr_set(f->port, &mac) < 0);
		assert_memory_equal(port->dev->mac, &was, sizeof(was));
		assert_memory_equal(port->steering.mac, &was, sizeof(was));
		/* A vport that will not is none of ethdev's business, an entry that stays is. */
		if (opcodes[i] == RNIC_CMD_DELETE_FLOW_TABLE_ENTRY)
			assert_true(rte_eth_promiscuous_disable(f->port) < 0);
		softrnic_fault(f->device, SOFTRNIC_FAULT_NONE, 0);
		assert_true(port->promiscuous);
		send_frames(f, 8, 1);
		assert_int_equal(receive_frames(f, 8), 8);
		/* It is not stuck. */
		assert_int_equal(rte_eth_dev_default_mac_addr_set(f->port, &mac), 0);
		assert_memory_equal(port->steering.mac, &mac, sizeof(mac));
		assert_int_equal(rte_eth_dev_default_mac_addr_set(f->port, &was), 0);
	}
}

/* Its devargs are refused: as a daemon that is gone would. */
static void
test_a_port_whose_reset_failed_can_be_reset_again(void **state)
{
	struct fixture *f = *state;
	struct rte_eth_dev *eth_dev = &rte_eth_devices[f->port];
	const char *args = eth_dev->device->devargs->args;
	struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 9 } };
	struct rte_dev_reg_info regs = { 0 };
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	uint64_t clock;

	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
	eth_dev->device->devargs->args = "wire=nowhere";
	assert_true(rte_eth_dev_reset(f->port) < 0);
	assert_true(said(f, "has no device") > 0);
	assert_int_not_equal(rte_eth_dev_get_reg_info(f->port, &regs), 0);
	assert_int_not_equal(rte_eth_read_clock(f->port, &clock), 0);
	assert_int_not_equal(rte_eth_dev_set_link_up(f->port), 0);
	assert_int_not_equal(rte_eth_dev_set_link_down(f->port), 0);
	assert_int_not_equal(rte_eth_promiscuous_disable(f->port), 0);
	assert_int_not_equal(rte_eth_allmulticast_enable(f->port), 0);
	assert_int_not_equal(rte_eth_dev_default_mac_addr_set(f->port, &mac), 0);
	assert_int_not_equal(rte_eth_dev_configure(f->port, 1, 1, &conf), 0);
	assert_int_not_equal(rte_eth_dev_start(f->port), 0);
	assert_int_equal(rte_eth_dev_info_get(f->port, &info), 0);
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.opackets, 8);
	assert_true(rte_eth_dev_reset(f->port) < 0);
	eth_dev->device->devargs->args = args;
	assert_int_equal(rte_eth_dev_reset(f->port), 0);
	assert_int_equal(rte_eth_dev_get_reg_info(f->port, &regs), 0);
	assert_int_equal(rte_eth_dev_configure(f->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(f->port, 0, 1024, SOCKET_ID_ANY, NULL, f->pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(f->port, 0, 256, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(f->port), 0);
	wait_for_link(f);
	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
}

/* Its device is half way to where it would begin anew: a start would not meet it there. A second stop gets it the rest. */
static void
test_a_receive_queue_that_cannot_be_emptied_is_down(void **state)
{
	struct fixture *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->port].data->rx_queues[0];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		send_frames(f, 8, 1);
		assert_int_equal(receive_frames(f, 8), 8);
		assert_int_equal(rnic_rq_set_state(rxq->dev, &rxq->rq, RNIC_WQ_STATE_ERR), 0);
		softrnic_fault(f->device, SOFTRNIC_FAULT_COMMAND_STATUS,
			       RNIC_CMD_MODIFY_RQ << 8 | RNIC_STATUS_LIM);
		assert_true(rte_eth_dev_rx_queue_stop(f->port, 0) < 0);
		assert_true(said(f, "it is down: stop it again"));
		softrnic_fault(f->device, SOFTRNIC_FAULT_NONE, 0);
		/* Whatever is asked of it, nothing is taken for a frame. */
		assert_int_equal(rte_eth_dev_rx_queue_start(f->port, 0), 0);
		assert_int_equal(rte_eth_rx_burst(f->port, 0, &(struct rte_mbuf *){ NULL }, 1), 0);
		assert_int_equal(rte_eth_dev_rx_queue_stop(f->port, 0), 0);
		assert_int_equal(rte_eth_dev_rx_queue_start(f->port, 0), 0);
	}
	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
}

/* As a thread that wants to sleep on its receive queue. */
static void
restart_with_interrupts(struct fixture *f)
{
	const struct rte_eth_conf conf = { .intr_conf = { .rxq = 1 } };

	assert_int_equal(rte_eth_dev_stop(f->port), 0);
	assert_int_equal(rte_eth_dev_configure(f->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(f->port, 0, 1024, SOCKET_ID_ANY, NULL, f->pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(f->port, 0, 256, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(f->port), 0);
	wait_for_link(f);
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(f->port, 0, RTE_EPOLL_PER_THREAD,
						   RTE_INTR_EVENT_ADD, NULL),
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
	struct fixture *f = *state;
	struct rnic_dev *dev = rnic_ethdev_get(&rte_eth_devices[f->port])->dev;
	const struct rnic_mem *mem = &unit_eqs.last;
	unsigned int i;
	uint32_t speed;
	bool up;

	restart_with_interrupts(f);
	assert_int_equal(dev->access->ops->unmap(dev->access, mem->iova, mem->length), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
	send_frames(f, 8, 1);
	/* Commands complete all the while, so that the asynchronous queue has something to tell. */
	for (i = 0; i < NAPS && said(f, "its event queue accepts no further events") == 0; i++) {
		assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
		rte_delay_us_sleep(1000);
	}
	for (i = 0; i < 3; i++) {
		assert_true(woken(NAPS));
		assert_int_equal(rte_eth_dev_rx_intr_disable(f->port, 0), 0);
		assert_int_equal(receive_frames(f, 8), 8);
		assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
		send_frames(f, 8, 1);
	}
	assert_int_equal(receive_frames(f, 8), 8);
	assert_int_equal(said(f, "its event queue accepts no further events"), 1);
	/* The next start makes another one. */
	restart_with_interrupts(f);
	assert_int_equal(rte_eth_dev_rx_intr_disable(f->port, 0), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
	assert_false(woken(50));
	send_frames(f, 8, 1);
	assert_true(woken(NAPS));
	assert_int_equal(receive_frames(f, 8), 8);
}

static void
test_a_lost_device_wakes_who_sleeps(void **state)
{
	struct fixture *f = *state;

	restart_with_interrupts(f);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
	assert_false(woken(20));
	softrnic_fault(f->device, SOFTRNIC_FAULT_FATAL, 1);
	assert_true(woken(NAPS));
	/* Who would sleep again is told. */
	assert_int_not_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
}

/* A frame that met a WQE without a key: counted for the port and for the queue, and those behind it come. */
static void
test_an_error_of_a_receive_queue_is_counted(void **state)
{
	struct fixture *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->port].data->rx_queues[0];
	struct rnic_wqe_data *data = (struct rnic_wqe_data *)rxq->rq.ring;
	struct rte_eth_stats stats;
	struct rte_mbuf *pkt;
	unsigned int ms;

	__atomic_store_n(&data->lkey.raw, 0, __ATOMIC_RELAXED);
	send_frames(f, 1, 1);
	/* The first burst after the recovery fills the ring again. */
	for (ms = 0;
	     ms < 5000 && (rnic_counter_get(&rxq->stats.restarts) == 0 ||
			   __atomic_load_n(&rxq->state, __ATOMIC_ACQUIRE) != RNIC_QUEUE_RUNNING);
	     ms++) {
		assert_int_equal(rte_eth_rx_burst(f->port, 0, &pkt, 1), 0);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(rte_eth_stats_get(f->port, &stats), 0);
	assert_int_equal(stats.ierrors, 1);
	assert_int_equal(stats.q_errors[0], 1);
	assert_int_equal(stats.ipackets, 0);
	send_frames(f, 8, 1);
	assert_int_equal(receive_frames(f, 8), 8);
}

/* A queue in error runs again with a burst after its recovery, and no frame comes before that would wake who makes it. */
static void
test_a_recovery_wakes_who_sleeps(void **state)
{
	struct fixture *f = *state;
	struct rnic_wqe_data *data;
	struct rnic_rxq *rxq;
	struct rte_mbuf *pkt;

	restart_with_interrupts(f);
	rxq = rte_eth_devices[f->port].data->rx_queues[0];
	data = (struct rnic_wqe_data *)rxq->rq.ring;
	__atomic_store_n(&data->lkey.raw, 0, __ATOMIC_RELAXED);
	assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
	send_frames(f, 1, 1);
	/* By the error, by what it flushed perhaps, and at last by the recovery. */
	do {
		assert_true(woken(NAPS));
		assert_int_equal(rte_eth_dev_rx_intr_disable(f->port, 0), 0);
		assert_int_equal(rte_eth_rx_burst(f->port, 0, &pkt, 1), 0);
		assert_int_equal(rte_eth_dev_rx_intr_enable(f->port, 0), 0);
	} while (__atomic_load_n(&rxq->state, __ATOMIC_ACQUIRE) != RNIC_QUEUE_RUNNING);
	send_frames(f, 8, 1);
	assert_true(woken(NAPS));
	assert_int_equal(receive_frames(f, 8), 8);
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
	struct fixture *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->port].data->rx_queues[0];
	const uint8_t log_size = always_one_more(&rxq->cq, RNIC_CQE_RESPONDER_SEND);

	assert_int_equal(rte_eth_dev_rx_queue_stop(f->port, 0), 0);
	assert_at_most_a_ring(&rxq->cq, log_size);
}

static void
test_a_receive_queue_is_recovered_while_entries_come(void **state)
{
	struct fixture *f = *state;
	struct rnic_rxq *rxq = rte_eth_devices[f->port].data->rx_queues[0];
	const uint8_t log_size = always_one_more(&rxq->cq, RNIC_CQE_RESPONDER_SEND);
	unsigned int naps;

	rnic_recovery_failed(&rxq->recovery);
	for (naps = 0;
	     naps < NAPS && __atomic_load_n(&rxq->state, __ATOMIC_ACQUIRE) != RNIC_QUEUE_RECOVERED;
	     naps++)
		rte_delay_us_sleep(1000);
	assert_true(naps < NAPS);
	assert_at_most_a_ring(&rxq->cq, log_size);
}

static void
test_a_transmit_queue_is_restarted_while_entries_come(void **state)
{
	struct fixture *f = *state;
	struct rnic_txq *txq = rte_eth_devices[f->port].data->tx_queues[0];
	const uint8_t log_size = always_one_more(&txq->cq, RNIC_CQE_REQUESTER);

	__atomic_store_n(&txq->state, RNIC_QUEUE_RECOVERED, __ATOMIC_RELEASE);
	rnic_tx_restart(txq);
	assert_at_most_a_ring(&txq->cq, log_size);
}

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(test_a_stop_that_waits_in_vain_counts_what_is_lost),
		PORT_TEST(test_a_stop_in_vain_with_no_completion_at_all),
		PORT_TEST(test_a_full_ring_holds_no_second_nop),
		PORT_TEST(test_a_nop_that_a_burst_found_done_holds_no_slot),
		PORT_TEST(test_a_nop_of_a_round_before_is_not_under_way),
		PORT_TEST(test_descriptors_under_way_are_full),
		PORT_TEST(test_a_recovery_that_cannot_be_asked_for_is_asked_again),
		PORT_TEST(test_a_queue_that_broke_by_event_needs_a_restart),
		PORT_TEST(test_a_lost_device_is_a_removal_event),
		PORT_TEST(test_what_is_refused_half_way_is_taken_back),
		PORT_TEST(test_a_port_whose_reset_failed_can_be_reset_again),
		PORT_TEST(test_an_error_of_a_receive_queue_is_counted),
		PORT_TEST(test_a_receive_queue_that_cannot_be_emptied_is_down),
		cmocka_unit_test_setup_teardown(test_who_sleeps_on_a_queue_without_events_is_woken,
						setup_suspicious, teardown_suspicious),
		PORT_TEST(test_a_lost_device_wakes_who_sleeps),
		PORT_TEST(test_a_recovery_wakes_who_sleeps),
		PORT_TEST(test_a_receive_queue_is_stopped_while_entries_come),
		PORT_TEST(test_a_receive_queue_is_recovered_while_entries_come),
		PORT_TEST(test_a_transmit_queue_is_restarted_while_entries_come),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
