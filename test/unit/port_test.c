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
#include <rte_log.h>
#include <rte_mbuf.h>

#include "doorbell.h"
#include "ethdev.h"
#include "tx.h"

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

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct rte_eth_conf conf = {
		.rxmode = { .mtu = 9000, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER },
		.txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS },
	};

	assert_non_null(f);
	*state = f;
	rnic_health_period_ms = 100;
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

static void
send_frames(struct fixture *f, unsigned int count, unsigned int segs)
{
	struct rte_mbuf *frame, *seg;

	while (count-- > 0) {
		frame = rte_pktmbuf_alloc(f->pool);
		assert_non_null(frame);
		memset(rte_pktmbuf_append(frame, 100), 2, 100);
		for (unsigned int i = 1; i < segs; i++) {
			seg = rte_pktmbuf_alloc(f->pool);
			assert_non_null(seg);
			memset(rte_pktmbuf_append(seg, 100), 2, 100);
			assert_int_equal(rte_pktmbuf_chain(frame, seg), 0);
		}
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
	struct rte_eth_stats stats;
	unsigned int naps;

	send_frames(f, 4, 1);
	assert_int_equal(receive_frames(f, 4), 4);
	rnic_sq_dbrec_publish(txq->sq.dbrec, txq->sq.producer + 2 * (txq->sq.mask + 1));
	rnic_doorbell_ring(txq->sq.bf, (const struct rnic_wqe_ctrl *)txq->sq.ring);
	for (naps = 0; naps < NAPS && said(f, "stands still: restart the port") == 0; naps++)
		rte_delay_us_sleep(1000);
	assert_true(said(f, "stands still: restart the port") > 0);
	/* Its mbufs and counters are not lost with it: none of these 10 can be known to have gone. */
	send_frames(f, 6, 1);
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

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(test_a_stop_that_waits_in_vain_counts_what_is_lost),
		PORT_TEST(test_a_stop_in_vain_with_no_completion_at_all),
		PORT_TEST(test_a_recovery_that_cannot_be_asked_for_is_asked_again),
		PORT_TEST(test_a_queue_that_broke_by_event_needs_a_restart),
		PORT_TEST(test_a_lost_device_is_a_removal_event),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return unit_main(argc, argv, run);
}
