/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One scripted run of the driver over the access that the arguments name: bring-up, queues, frames, stop. Everything
 * that goes between driver and device is dumped to a file, for two runs to be compared. What is random otherwise, device
 * addresses and variants of keys, is the same in every run: getrandom() is ours.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <ethdev_driver.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "core/control.h"
#include "core/dev.h"
#include "ethdev/port.h"

#define FRAMES	  100
#define PATIENCE  20 /* seconds */
#define RING_SIZE 64

ssize_t
getrandom(void *buffer, size_t length, unsigned int flags)
{
	(void)flags;
	memset(buffer, 0x5a, length);
	return (ssize_t)length;
}

static int
failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, rte_strerror(rte_errno));
	return 1;
}

static struct rte_mbuf *
make_frame(struct rte_mempool *pool, unsigned int sequence)
{
	const uint16_t length = 60 + sequence * 14;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	char *data = mbuf != NULL ? rte_pktmbuf_append(mbuf, length) : NULL;

	if (data != NULL) {
		memset(data, (int)sequence, length);
		/* To the port's own address, as the device is told to have. */
		memcpy(data, "\x02\0\0\0\0\x0a\x02\0\0\0\0\x0b\x88\xb5", 14);
	}
	return mbuf;
}

/* Each comes back before the next one goes: a completion is there at the latest with the second one behind it. */
static int
exchange(uint16_t port, struct rte_mempool *pool)
{
	unsigned int i;

	for (i = 0; i < FRAMES; i++) {
		const uint64_t end = rte_get_timer_cycles() + PATIENCE * rte_get_timer_hz();
		struct rte_mbuf *mbuf = make_frame(pool, i), *got = NULL;

		if (mbuf == NULL || rte_eth_tx_burst(port, 0, &mbuf, 1) != 1)
			return failed("send");
		while (rte_eth_rx_burst(port, 0, &got, 1) == 0)
			if (rte_get_timer_cycles() > end)
				return failed("receive");
		if (got->pkt_len != 60 + i * 14)
			return failed("length");
		rte_pktmbuf_free(got);
	}
	return 0;
}

/* What the control thread asks for after a start, in its own time, is asked for in its first whole round. */
static void
ask_all(uint16_t port)
{
	struct rnic_dev *dev = rnic_ethdev_get(&rte_eth_devices[port])->dev;

	rnic_control_sync(dev);
	rnic_control_sync(dev);
}

static int
run_port(const char *devargs)
{
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("frames", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	const struct rte_eth_conf conf = { 0 };
	uint16_t port;
	int rc;

	if (pool == NULL)
		return failed("pool");
	if (rte_vdev_init("net_rnic0", devargs) != 0 ||
	    rte_eth_dev_get_port_by_name("net_rnic0", &port) != 0)
		return failed("no port");
	if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(port, 0, RING_SIZE, 0, NULL, pool) != 0 ||
	    rte_eth_tx_queue_setup(port, 0, RING_SIZE, 0, NULL) != 0 ||
	    rte_eth_dev_start(port) != 0)
		return failed("start");
	rc = exchange(port, pool);
	ask_all(port);
	rte_eth_dev_stop(port);
	rte_eth_dev_close(port);
	rte_vdev_uninit("net_rnic0");
	rte_mempool_free(pool);
	return rc;
}

/* DEVARGS DUMP */
int
main(int argc, char **argv)
{
	char *eal[] = { argv[0],
			(char *)"--no-huge",
			(char *)"-m",
			(char *)"64",
			(char *)"--no-shconf",
			(char *)"--no-pci",
			(char *)"--no-telemetry",
			(char *)"--lcores=0@(0-1)",
			(char *)"--log-level=*:error" };
	FILE *dump;
	int rc;

	if (argc != 3)
		return failed("DEVARGS DUMP are wanted");
	dump = fopen(argv[2], "w");
	if (dump == NULL || rte_eal_init(RTE_DIM(eal), eal) < 0)
		return failed("EAL");
	rte_log_set_level((uint32_t)rnic_logtype_dump, RTE_LOG_DEBUG);
	rte_log_set_global_level(RTE_LOG_DEBUG);
	rte_openlog_stream(dump);
	rc = run_port(argv[1]);
	rte_openlog_stream(NULL);
	fclose(dump);
	rte_eal_cleanup();
	return rc;
}
