/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One of two processes that exchange frames of random lengths and segments, and check each to its last byte. Both run
 * this program, on the two ends of a wire: frames_peer SOCKET COUNT.
 *
 * A side sends at most WINDOW frames more than it has received, so neither can have more than twice that on the way:
 * less than a ring, nothing may be lost.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_ether.h>

#include "port.h"

#define PORT	   0
#define BURST	   32
#define WINDOW	   128
#define LENGTH_MAX 1514
#define SEGS_MAX   6
#define LINK_WAITS 12 /* of 5 s */
#define IDLE_WAIT  30 /* seconds */

struct side {
	uint64_t state; /* of the lengths */
	uint64_t count;
};

static uint32_t
next_length(struct side *side)
{
	return 64 + e2e_random(&side->state) % (LENGTH_MAX - 63);
}

static bool
send_some(struct side *sent, const struct side *received, uint64_t total, uint64_t *random)
{
	uint64_t room = received->count + WINDOW - sent->count;
	uint16_t burst = 1 + e2e_random(random) % BURST, i;
	struct rte_mbuf *pkts[BURST];

	if (sent->count >= received->count + WINDOW || sent->count == total)
		return true;
	burst = RTE_MIN(burst, RTE_MIN(room, total - sent->count));
	for (i = 0; i < burst; i++) {
		pkts[i] = e2e_frame(e2e_pool, PORT, sent->count + i, next_length(sent),
				    1 + e2e_random(random) % SEGS_MAX);
		if (pkts[i] == NULL)
			return false;
	}
	sent->count += burst;
	return e2e_send(PORT, 0, pkts, burst) == burst;
}

static bool
receive_some(struct side *received, uint64_t *random, bool *got_some)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(PORT, 0, pkts, 1 + e2e_random(random) % BURST), i;
	bool good = true;

	for (i = 0; i < n; i++) {
		good = good && e2e_check(pkts[i], PORT, received->count++, next_length(received));
		rte_pktmbuf_free(pkts[i]);
	}
	*got_some = n > 0;
	return good;
}

static int
exchange(uint64_t total)
{
	struct side sent = { .state = 7 }, received = { .state = 7 };
	uint64_t random = 11, idle_end = 0;
	bool got_some = true;

	while (sent.count < total || received.count < total) {
		if (got_some)
			idle_end = rte_get_timer_cycles() + IDLE_WAIT * rte_get_timer_hz();
		if (!send_some(&sent, &received, total, &random) ||
		    !receive_some(&received, &random, &got_some) ||
		    rte_get_timer_cycles() > idle_end) {
			fprintf(stderr, "%" PRIu64 " sent, %" PRIu64 " of %" PRIu64 " received\n",
				sent.count, received.count, total);
			return -1;
		}
	}
	return 0;
}

static bool
wait_link(bool up)
{
	int i;

	for (i = 0; i < LINK_WAITS; i++)
		if (e2e_wait_link(PORT, up))
			return true;
	return false;
}

/* Neither sends before both can receive, nor takes its link down before both have all. */
static int
meet(const char *point)
{
	char line[8];

	printf("%s\n", point);
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) != NULL ? 0 : -1;
}

int
main(int argc, char **argv)
{
	const struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 1 } };
	const struct e2e_conf conf = { .no_fast_free = true };
	const char *vdevs[] = { NULL, NULL };
	struct rte_eth_stats stats;
	char vdev[200];
	int rc = -1;

	if (argc != 3) {
		fprintf(stderr, "frames_peer SOCKET COUNT\n");
		return 2;
	}
	snprintf(vdev, sizeof(vdev), "net_rnic0,socket=%s", argv[1]);
	vdevs[0] = vdev;
	if (e2e_init("peer", vdevs) != 0)
		return 1;
	/* Both have the same address, so that both make the same frames. */
	if (rte_eth_dev_count_avail() == 1 &&
	    rte_eth_dev_default_mac_addr_set(PORT, (struct rte_ether_addr *)(uintptr_t)&mac) == 0 &&
	    e2e_port_setup(PORT, &conf) == 0 && wait_link(true))
		rc = meet("ready");
	if (rc == 0)
		rc = exchange(strtoull(argv[2], NULL, 10));
	if (rc == 0)
		rc = meet("done");
	if (rc == 0)
		rc = rte_eth_stats_get(PORT, &stats);
	if (rc == 0 && stats.imissed + stats.ierrors + stats.oerrors + stats.rx_nombuf != 0)
		rc = -1;
	rte_eth_dev_stop(PORT);
	if (rc == 0 && e2e_pool_used(e2e_pool) != 0)
		rc = -1;
	e2e_fini();
	return rc == 0 ? 0 : 1;
}
