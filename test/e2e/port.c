/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ether.h>

#include "port.h"

#define ETHERTYPE    0x88b5 /* local experimental */
#define WAIT_MS	     60000  /* what does not come by then is lost: a busy machine may be slow */
#define MARKER_BYTES 77
#define PCI_PREFIX   "pci:"
#define PORTS_MAX    4
#define ARGS_MAX     32

struct rte_mempool *e2e_pool;

bool
e2e_sanitized(void)
{
	const char *sanitizer = getenv("RDMAPMD_SANITIZER");

	return sanitizer != NULL && strcmp(sanitizer, "none") != 0;
}

static const atomic_ullong *
audit_counter(void *plugin, const char *name)
{
	return plugin == NULL ? NULL : (const atomic_ullong *)dlsym(plugin, name);
}

bool
e2e_blueflame_right(unsigned long long least)
{
	void *plugin = dlopen(getenv("RDMAPMD_PLUGIN"), RTLD_NOW | RTLD_NOLOAD);
	const atomic_ullong *compared = audit_counter(plugin, "softrnic_bf_compared");
	const atomic_ullong *wrong = audit_counter(plugin, "softrnic_bf_mismatches");

	if (plugin != NULL)
		dlclose(plugin);
	if (compared == NULL || wrong == NULL) {
		fprintf(stderr, "the device of %s compares no WQEs\n", getenv("RDMAPMD_PLUGIN"));
		return false;
	}
	fprintf(stderr, "BlueFlame: %llu copies of WQEs compared (of %llu at least), %llu wrong\n",
		atomic_load(compared), least, atomic_load(wrong));
	return atomic_load(compared) >= least && atomic_load(wrong) == 0;
}

bool
e2e_blueflame(int argc, char *const *argv)
{
	return argc > 1 && !e2e_on_pci(argc, argv) && strstr(argv[1], "bf=1") != NULL;
}

/* ---- Which ports ---- */

static char port_names[PORTS_MAX][64];

static bool
is_function(const char *port)
{
	return strncmp(port, PCI_PREFIX, strlen(PCI_PREFIX)) == 0;
}

bool
e2e_on_pci(int argc, char *const *argv)
{
	return argc > 1 && is_function(argv[1]);
}

const char *const *
e2e_ports(int argc, char **argv, const char *const *vdevs)
{
	static char specs[PORTS_MAX][128];
	static const char *ports[PORTS_MAX + 1];
	unsigned int i;

	if (e2e_on_pci(argc, argv))
		return (const char *const *)&argv[1];
	if (argc < 2)
		return vdevs;
	for (i = 0; i < PORTS_MAX && vdevs[i] != NULL; i++) {
		snprintf(specs[i], sizeof(specs[i]), "%s,%s", vdevs[i], argv[1]);
		ports[i] = specs[i];
	}
	return ports;
}

void
e2e_port_spec(char *spec, size_t room, unsigned int index, const char *devargs)
{
	if (is_function(devargs))
		snprintf(spec, room, "%s", devargs);
	else
		snprintf(spec, room, "net_rnic%u,%s", index, devargs);
}

const char *
e2e_port_name(unsigned int index)
{
	return port_names[index];
}

/* Without its devargs. */
static void
name_port(unsigned int index, const char *port)
{
	if (index < PORTS_MAX)
		snprintf(port_names[index], sizeof(port_names[index]), "%.*s",
			 (int)strcspn(port, ","), port);
}

/* ---- EAL ---- */

struct command_line {
	char *argv[ARGS_MAX];
	int argc;
};

static void
add_arg(struct command_line *line, const char *arg)
{
	line->argv[line->argc++] = (char *)(uintptr_t)arg;
	line->argv[line->argc] = NULL;
}

/* Behind a port's devargs and a '|': another ethdev, which it sends through. */
static void
add_below(struct command_line *line, const char *bar)
{
	if (bar == NULL)
		return;
	*(char *)(uintptr_t)bar = '\0';
	add_arg(line, "--vdev");
	add_arg(line, bar + 1);
}

static void
add_ports(struct command_line *line, const char *const *ports)
{
	unsigned int i;

	for (i = 0; ports[i] != NULL && line->argc < ARGS_MAX - 2; i++) {
		const bool function = is_function(ports[i]);
		const char *port = ports[i] + (function ? strlen(PCI_PREFIX) : 0);

		add_arg(line, function ? "-a" : "--vdev");
		add_arg(line, port);
		name_port(i, port);
		add_below(line, strchr(port, '|'));
	}
}

/* What is on the path takes such frames, queue pairs' as well. The ethdevs below are the wires', as soon as those have seen them. */
static int
set_mtus(const char *const *ports)
{
	const char *mtu = getenv("E2E_MTU");
	struct e2e_conf conf = { .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	unsigned int i;
	uint16_t port;

	if (mtu == NULL)
		return 0;
	conf.mtu = (uint16_t)atoi(mtu);
	for (i = 0; ports[i] != NULL; i++) {
		if (rte_eth_dev_get_port_by_name(e2e_port_name(i), &port) != 0 ||
		    e2e_port_setup(port, &conf) != 0) {
			fprintf(stderr, "%s does not start with an MTU of %s\n", e2e_port_name(i),
				mtu);
			return -1;
		}
	}
	return 0;
}

int
e2e_init(const char *name, const char *const *ports)
{
	const bool functions = ports[0] != NULL && is_function(ports[0]);
	const char *plugin = getenv("RDMAPMD_PLUGIN");
	struct command_line line = { .argc = 0 };
	char prefix[64];

	if (plugin == NULL) {
		fprintf(stderr, "RDMAPMD_PLUGIN must name librte_net_rnic.so\n");
		return -1;
	}
	snprintf(prefix, sizeof(prefix), "--file-prefix=rnic-%s-%d", name, (int)getpid());
	add_arg(&line, name);
	add_arg(&line, "-d");
	add_arg(&line, plugin);
	/* One lcore that may run on any CPU, and leaves room for the device thread. */
	add_arg(&line, sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "--lcores=0@(0-1)" : "--lcores=0@0");
	if (!functions)
		add_arg(&line, "--no-pci");
	add_arg(&line, "--no-telemetry");
	add_arg(&line, functions ? "--in-memory" : "--no-huge");
	add_arg(&line, functions ? "-m128" : "-m256");
	add_arg(&line, "--log-level=lib.*:4");
	add_arg(&line, prefix);
	add_ports(&line, ports);
	if (rte_eal_init(line.argc, line.argv) < 0) {
		fprintf(stderr, "EAL does not start\n");
		return -1;
	}
	e2e_pool = rte_pktmbuf_pool_create("e2e", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					   SOCKET_ID_ANY);
	if (e2e_pool == NULL) {
		fprintf(stderr, "no memory for a mempool\n");
		return -1;
	}
	return set_mtus(ports);
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

static int
configure(uint16_t port, const struct e2e_conf *conf, uint16_t rx_queues, uint16_t tx_queues)
{
	struct rte_eth_conf eth = {
		.rxmode = { .mtu = conf->mtu != 0 ? conf->mtu : RTE_ETHER_MTU,
			    .offloads = conf->rx_offloads },
		.txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | conf->tx_offloads },
		.intr_conf = { .lsc = !conf->link_polled, .rxq = conf->rx_interrupts },
	};

	if (!conf->no_fast_free)
		eth.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (eth.rxmode.mtu > RTE_ETHER_MTU)
		eth.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (conf->rss) {
		eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		eth.rx_adv_conf.rss_conf.rss_hf = conf->rss_hf;
		eth.rx_adv_conf.rss_conf.rss_key = conf->rss_key;
		eth.rx_adv_conf.rss_conf.rss_key_len = conf->rss_key != NULL ? 40 : 0;
	}
	return rte_eth_dev_configure(port, rx_queues, tx_queues, &eth);
}

int
e2e_port_setup(uint16_t port, const struct e2e_conf *conf)
{
	uint16_t tx_queues = conf->tx_queues != 0 ? conf->tx_queues : 1, queue;
	uint16_t rx_queues = conf->rx_queues != 0 ? conf->rx_queues : 1;
	struct rte_eth_rxconf rx = { .offloads = 0 };
	struct rte_eth_txconf tx = { .offloads = 0 };
	int rc = configure(port, conf, rx_queues, tx_queues);

	for (queue = 0; rc == 0 && queue < rx_queues; queue++) {
		rx.rx_deferred_start = conf->rx_deferred >> queue & 1;
		rc = rte_eth_rx_queue_setup(port, queue, conf->rx_desc != 0 ? conf->rx_desc : 512,
					    SOCKET_ID_ANY, &rx,
					    conf->rx_pool != NULL ? conf->rx_pool : e2e_pool);
	}
	for (queue = 0; rc == 0 && queue < tx_queues; queue++) {
		tx.tx_deferred_start = conf->tx_deferred >> queue & 1;
		rc = rte_eth_tx_queue_setup(port, queue, conf->tx_desc != 0 ? conf->tx_desc : 512,
					    SOCKET_ID_ANY, &tx);
	}
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

static bool
pair_linked(void)
{
	if (e2e_wait_link(0, true) && e2e_wait_link(1, true))
		return true;
	fprintf(stderr, "# no link\n");
	return false;
}

bool
e2e_pair_start(const struct e2e_conf *conf0, const struct e2e_conf *conf1)
{
	int rc = e2e_port_setup(0, conf0);

	if (rc == 0)
		rc = e2e_port_setup(1, conf1);
	if (rc == 0)
		return pair_linked();
	fprintf(stderr, "# ports not set up: %s\n", strerror(-rc));
	return false;
}

bool
e2e_pair_resume(void)
{
	return rte_eth_dev_start(0) == 0 && rte_eth_dev_start(1) == 0 && pair_linked();
}

bool
e2e_pair_restart(void)
{
	return e2e_pair_stop() && e2e_pair_resume();
}

bool
e2e_pair_stop(void)
{
	const int rc0 = e2e_port_stop(0), rc1 = e2e_port_stop(1);
	const unsigned int used = e2e_pool_used(e2e_pool);

	if (rc0 == 0 && rc1 == 0 && used == 0)
		return true;
	fprintf(stderr, "# ports stopped: %d, %d; %u mbufs are left\n", rc0, rc1, used);
	return false;
}

int
e2e_pair_give_up(void **unused)
{
	RTE_SET_USED(unused);
	rte_eth_dev_stop(0);
	rte_eth_dev_stop(1);
	return 0;
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

int
e2e_delivered(const struct rte_ether_addr *to, uint16_t vlan_id)
{
	const uint16_t tag[2] = { rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN),
				  rte_cpu_to_be_16(vlan_id) };
	struct rte_mbuf *pkts[2] = { e2e_frame(e2e_pool, 1, 1, 100, 1),
				     e2e_frame(e2e_pool, 1, 2, MARKER_BYTES, 1) };
	struct rte_mbuf *got;
	bool marker = false;
	int before = 0;

	if (pkts[0] == NULL || pkts[1] == NULL)
		return -1;
	rte_pktmbuf_mtod(pkts[0], struct rte_ether_hdr *)->dst_addr = *to;
	if (vlan_id != E2E_UNTAGGED)
		memcpy(rte_pktmbuf_mtod_offset(pkts[0], uint8_t *, 12), tag, sizeof(tag));
	if (e2e_send(0, 0, pkts, 2) != 2)
		return -1;
	while (!marker && e2e_receive(1, &got, 1) == 1) {
		marker = got->pkt_len == MARKER_BYTES;
		before += !marker;
		rte_pktmbuf_free(got);
	}
	return marker && before <= 1 ? before : -1;
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

bool
e2e_send_frames(unsigned int count)
{
	struct rte_mbuf *pkts[64];
	unsigned int i;

	if (count > RTE_DIM(pkts))
		return false;
	for (i = 0; i < count; i++) {
		pkts[i] = e2e_frame(e2e_pool, 1, i, 64, 1);
		if (pkts[i] == NULL)
			return false;
	}
	return e2e_send(0, 0, pkts, (uint16_t)count) == count;
}

bool
e2e_send_eight(uint32_t length, uint16_t port, size_t member, struct rte_eth_stats *tx,
	       struct rte_eth_stats *rx)
{
	struct rte_mbuf *pkts[8];
	unsigned int i;

	if (rte_eth_stats_reset(0) != 0 || rte_eth_stats_reset(1) != 0)
		return false;
	for (i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = e2e_frame(e2e_pool, 1, i, length, 1 + length / 2048);
	return e2e_send(0, 0, pkts, RTE_DIM(pkts)) == RTE_DIM(pkts) &&
	       e2e_wait_counted(port, member, RTE_DIM(pkts)) && rte_eth_stats_get(0, tx) == 0 &&
	       rte_eth_stats_get(1, rx) == 0;
}
