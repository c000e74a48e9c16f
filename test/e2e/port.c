/* SPDX-License-Identifier: BSD-3-Clause */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ether.h>

#include "port.h"

#define ETHERTYPE 0x88b5 /* local experimental */
#define WAIT_MS	  60000	 /* what does not come by then is lost: a busy machine may be slow */

struct rte_mempool *e2e_pool;
bool e2e_full;

bool
e2e_sanitized(void)
{
	const char *sanitizer = getenv("RDMAPMD_SANITIZER");

	return sanitizer != NULL && strcmp(sanitizer, "none") != 0;
}

int
e2e_init(const char *name, const char *const *vdevs)
{
	const char *plugin = getenv("RDMAPMD_PLUGIN");
	const char *full = getenv("RDMAPMD_FULL");
	char *argv[32];
	char prefix[64];
	int argc = 0;

	if (plugin == NULL) {
		fprintf(stderr, "RDMAPMD_PLUGIN must name librte_net_rnic.so\n");
		return -1;
	}
	e2e_full = full != NULL && full[0] == '1';
	snprintf(prefix, sizeof(prefix), "--file-prefix=rnic-%s-%d", name, (int)getpid());
	argv[argc++] = (char *)(uintptr_t)name;
	argv[argc++] = (char *)(uintptr_t) "-d";
	argv[argc++] = (char *)(uintptr_t)plugin;
	/* One lcore that may run on any CPU, and leaves room for the device thread. */
	argv[argc++] = (char *)(uintptr_t) "--lcores=0@(0-1)";
	argv[argc++] = (char *)(uintptr_t) "--no-pci";
	argv[argc++] = (char *)(uintptr_t) "--no-telemetry";
	argv[argc++] = (char *)(uintptr_t) "--no-huge";
	argv[argc++] = (char *)(uintptr_t) "-m256";
	argv[argc++] = (char *)(uintptr_t) "--log-level=lib.*:4";
	argv[argc++] = prefix;
	for (; *vdevs != NULL; vdevs++) {
		argv[argc++] = (char *)(uintptr_t) "--vdev";
		argv[argc++] = (char *)(uintptr_t)*vdevs;
	}
	argv[argc] = NULL;
	if (rte_eal_init(argc, argv) < 0) {
		fprintf(stderr, "EAL does not start\n");
		return -1;
	}
	e2e_pool = rte_pktmbuf_pool_create("e2e", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					   SOCKET_ID_ANY);
	if (e2e_pool == NULL) {
		fprintf(stderr, "no memory for a mempool\n");
		return -1;
	}
	return 0;
}

void
e2e_fini(void)
{
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
	}
	rte_eal_cleanup();
}

int
e2e_port_setup(uint16_t port, const struct e2e_conf *conf)
{
	struct rte_eth_conf eth = {
		.rxmode = { .mtu = conf->mtu != 0 ? conf->mtu : RTE_ETHER_MTU },
		.txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS },
	};
	uint16_t tx_queues = conf->tx_queues != 0 ? conf->tx_queues : 1, queue;
	int rc;

	if (!conf->no_fast_free)
		eth.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (eth.rxmode.mtu > RTE_ETHER_MTU)
		eth.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	eth.intr_conf.lsc = 1;
	rc = rte_eth_dev_configure(port, 1, tx_queues, &eth);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port, 0, conf->rx_desc != 0 ? conf->rx_desc : 512,
					    SOCKET_ID_ANY, NULL,
					    conf->rx_pool != NULL ? conf->rx_pool : e2e_pool);
	for (queue = 0; rc == 0 && queue < tx_queues; queue++)
		rc = rte_eth_tx_queue_setup(port, queue, conf->tx_desc != 0 ? conf->tx_desc : 512,
					    SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = conf->promiscuous ? rte_eth_promiscuous_enable(port)
				       : rte_eth_promiscuous_disable(port);
	if (rc == 0)
		rc = rte_eth_dev_start(port);
	return rc;
}

int
e2e_port_stop(uint16_t port)
{
	return rte_eth_dev_stop(port);
}

bool
e2e_wait_link(uint16_t port, bool up)
{
	struct rte_eth_link link;
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == up)
			return true;
		rte_delay_us_sleep(1000);
	}
	return false;
}

bool
e2e_wait_counted(uint16_t port, size_t member, uint64_t value)
{
	struct rte_eth_stats stats;
	unsigned int ms;
	uint64_t now;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if (rte_eth_stats_get(port, &stats) != 0)
			return false;
		memcpy(&now, (const uint8_t *)&stats + member, sizeof(now));
		if (now >= value)
			return now == value;
		rte_delay_us_sleep(1000);
	}
	return false;
}

unsigned int
e2e_pool_used(struct rte_mempool *pool)
{
	return rte_mempool_in_use_count(pool);
}

static void
frame_header(uint16_t to, uint8_t header[E2E_HEADROOM])
{
	struct rte_ether_hdr *ether = (struct rte_ether_hdr *)header;

	memset(header, 0, E2E_HEADROOM);
	rte_eth_macaddr_get(to, &ether->dst_addr);
	memset(ether->src_addr.addr_bytes, 0x02, RTE_ETHER_ADDR_LEN);
	ether->ether_type = rte_cpu_to_be_16(ETHERTYPE);
}

/* The whole frame as it should be. */
static void
frame_bytes(uint16_t to, uint64_t sequence, uint32_t length, uint8_t *bytes)
{
	uint64_t state = sequence * UINT64_C(0x9e3779b97f4a7c15) + length + 1, word;
	uint8_t header[E2E_HEADROOM];
	uint32_t at, part;

	frame_header(to, header);
	memcpy(bytes, header, RTE_MIN(length, (uint32_t)E2E_HEADROOM));
	for (at = E2E_HEADROOM; at < length; at += part) {
		word = e2e_random(&state);
		part = RTE_MIN(length - at, (uint32_t)sizeof(word));
		memcpy(bytes + at, &word, part);
	}
}

struct rte_mbuf *
e2e_frame(struct rte_mempool *pool, uint16_t to, uint64_t sequence, uint32_t length,
	  unsigned int segs)
{
	static uint8_t bytes[16384];
	struct rte_mbuf *head = NULL, *last = NULL, *mbuf;
	uint32_t at = 0, part;

	frame_bytes(to, sequence, length, bytes);
	for (; segs > 0; segs--) {
		mbuf = rte_pktmbuf_alloc(pool);
		if (mbuf == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		part = (length - at) / segs;
		if (part > rte_pktmbuf_tailroom(mbuf))
			part = rte_pktmbuf_tailroom(mbuf);
		memcpy(rte_pktmbuf_mtod(mbuf, void *), bytes + at, part);
		at += part;
		mbuf->data_len = part;
		if (head == NULL) {
			head = mbuf;
		} else {
			last->next = mbuf;
			head->nb_segs++;
		}
		last = mbuf;
	}
	head->pkt_len = at;
	return head;
}

bool
e2e_check(const struct rte_mbuf *mbuf, uint16_t to, uint64_t sequence, uint32_t length)
{
	static uint8_t bytes[16384], got[16384];
	const struct rte_mbuf *seg;
	uint32_t sum = 0, segs = 0, at;
	const uint8_t *data;

	frame_bytes(to, sequence, length, bytes);
	for (seg = mbuf; seg != NULL; seg = seg->next, segs++)
		sum += seg->data_len;
	if (mbuf->pkt_len != length || sum != length || segs != mbuf->nb_segs) {
		fprintf(stderr, "# frame %" PRIu64 ": %u bytes (%u in %u of %u segments), not %u\n",
			sequence, mbuf->pkt_len, sum, segs, mbuf->nb_segs, length);
		return false;
	}
	if (mbuf->port != to || mbuf->refcnt != 1) {
		fprintf(stderr, "# frame %" PRIu64 ": port %u, refcnt %u\n", sequence, mbuf->port,
			mbuf->refcnt);
		return false;
	}
	data = rte_pktmbuf_read(mbuf, 0, length, got);
	for (at = 0; at < length; at++) {
		if (data[at] != bytes[at]) {
			fprintf(stderr,
				"# frame %" PRIu64 ": byte %u of %u is 0x%02x, not 0x%02x\n",
				sequence, at, length, data[at], bytes[at]);
			return false;
		}
	}
	return true;
}

uint16_t
e2e_send(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t count)
{
	uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() * WAIT_MS / 1000;
	uint16_t sent = 0, more;

	while (sent < count && rte_get_timer_cycles() < end) {
		more = rte_eth_tx_burst(port, queue, pkts + sent, count - sent);
		sent += more;
		/* The device thread may have no other CPU. */
		if (more == 0)
			sched_yield();
	}
	return sent;
}

uint16_t
e2e_receive(uint16_t port, struct rte_mbuf **pkts, uint16_t count)
{
	uint64_t wait = rte_get_timer_hz() * WAIT_MS / 1000;
	uint64_t end = rte_get_timer_cycles() + wait;
	uint16_t done = 0, more;

	while (done < count && rte_get_timer_cycles() < end) {
		more = rte_eth_rx_burst(port, 0, pkts + done, count - done);
		done += more;
		if (more > 0)
			end = rte_get_timer_cycles() + wait;
		else
			sched_yield();
	}
	return done;
}

bool
e2e_silent(uint16_t port)
{
	uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() / 20;
	struct rte_mbuf *pkts[32];
	uint16_t all = 0, more;

	while (rte_get_timer_cycles() < end) {
		more = rte_eth_rx_burst(port, 0, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, more);
		all += more;
	}
	return all == 0;
}

bool
e2e_exchange(uint16_t from, uint16_t to, uint64_t sequence, uint32_t length, unsigned int segs,
	     unsigned int count)
{
	struct rte_mbuf *pkts[64];
	unsigned int i;
	uint16_t got;
	bool good;

	for (i = 0; i < count; i++) {
		pkts[i] = e2e_frame(e2e_pool, to, sequence + i, length, segs);
		if (pkts[i] == NULL) {
			fprintf(stderr, "# no mbufs\n");
			return false;
		}
	}
	got = e2e_send(from, 0, pkts, count);
	if (got != count) {
		fprintf(stderr, "# %u of %u frames sent\n", got, count);
		rte_pktmbuf_free_bulk(pkts + got, count - got);
		return false;
	}
	got = e2e_receive(to, pkts, count);
	good = got == count;
	if (!good)
		fprintf(stderr, "# %u of %u frames received (%u bytes, %u segments)\n", got, count,
			length, segs);
	for (i = 0; i < got; i++) {
		good = good && e2e_check(pkts[i], to, sequence + i, length);
		rte_pktmbuf_free(pkts[i]);
	}
	return good;
}
