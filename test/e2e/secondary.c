/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A secondary process that stays, for test_tools.py: one call a line of input, its name, return code and what it found as a
 * line of output.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

static void
say_stats(uint16_t port)
{
	struct rte_eth_stats stats = { 0 };
	int rc = rte_eth_stats_get(port, &stats);

	printf("stats %d ipackets %lu opackets %lu imissed %lu oerrors %lu\n", rc, stats.ipackets,
	       stats.opackets, stats.imissed, stats.oerrors);
}

static void
say_xstats(uint16_t port)
{
	struct rte_eth_xstat_name names[512];
	struct rte_eth_xstat xstats[512];
	int rc = rte_eth_xstats_get(port, xstats, RTE_DIM(xstats)), i;

	printf("xstats %d", rc);
	if (rte_eth_xstats_get_names(port, names, RTE_DIM(names)) == rc)
		for (i = 0; i < rc; i++)
			printf(" %s %lu", names[xstats[i].id].name, xstats[i].value);
	printf("\n");
}

static void
say_info(uint16_t port)
{
	struct rte_eth_dev_info info = { 0 };
	struct rte_eth_rxq_info rxq = { 0 };
	struct rte_eth_txq_info txq = { 0 };
	char fw[64] = "";
	int rc = rte_eth_dev_info_get(port, &info);

	printf("info %d driver %s max_mtu %u", rc,
	       info.driver_name != NULL ? info.driver_name : "-", info.max_mtu);
	printf(" rxq %d", rte_eth_rx_queue_info_get(port, 0, &rxq));
	printf(" nb_desc %u", rxq.nb_desc);
	printf(" txq %d", rte_eth_tx_queue_info_get(port, 0, &txq));
	printf(" nb_desc %u", txq.nb_desc);
	printf(" fw %d", rte_eth_dev_fw_version_get(port, fw, sizeof(fw)));
	printf(" removed %d\n", rte_eth_dev_is_removed(port));
}

static void
say_rss(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX }, { .mask = 1 } };
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };
	unsigned int i;

	printf("rss %d key ", rte_eth_dev_rss_hash_conf_get(port, &conf));
	for (i = 0; i < sizeof(key); i++)
		printf("%02X", key[i]);
	printf(" types 0x%lx reta %d", conf.rss_hf,
	       rte_eth_dev_rss_reta_query(port, reta, RTE_DIM(reta) * RTE_ETH_RETA_GROUP_SIZE));
	for (i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		printf(" %u", reta[0].reta[i]);
	printf("\n");
}

static void
say_regs(uint16_t port)
{
	struct rte_dev_reg_info info = { 0 };
	uint32_t *values;
	int rc = rte_eth_dev_get_reg_info(port, &info);

	printf("regs %d count %u width %u", rc, info.length, info.width);
	values = calloc(info.length, sizeof(values[0]));
	info.data = values;
	info.length = 0;
	rc = values == NULL ? -ENOMEM : rte_eth_dev_get_reg_info(port, &info);
	printf(" read %d first 0x%08x\n", rc, rc == 0 ? values[0] : 0);
	free(values);
}

static void
say_control(uint16_t port)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_ether_addr mac = { .addr_bytes = { 2 } };
	struct rte_mbuf *mbufs[4];

	printf("control configure %d start %d stop %d", rte_eth_dev_configure(port, 1, 1, &conf),
	       rte_eth_dev_start(port), rte_eth_dev_stop(port));
	printf(" promiscuous %d mtu %d mac %d up %d down %d reset %d",
	       rte_eth_promiscuous_disable(port), rte_eth_dev_set_mtu(port, 1400),
	       rte_eth_dev_default_mac_addr_set(port, &mac), rte_eth_dev_set_link_up(port),
	       rte_eth_dev_set_link_down(port), rte_eth_dev_reset(port));
	printf(" received %u\n", rte_eth_rx_burst(port, 0, mbufs, RTE_DIM(mbufs)));
}

int
main(int argc, char **argv)
{
	char line[64], call[32];
	unsigned int port;

	if (rte_eal_init(argc, argv) < 0)
		return EXIT_FAILURE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %u\n", rte_eth_dev_count_avail());
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "%31s %u", call, &port) != 2)
			break;
		if (strcmp(call, "stats") == 0)
			say_stats((uint16_t)port);
		else if (strcmp(call, "xstats") == 0)
			say_xstats((uint16_t)port);
		else if (strcmp(call, "info") == 0)
			say_info((uint16_t)port);
		else if (strcmp(call, "rss") == 0)
			say_rss((uint16_t)port);
		else if (strcmp(call, "regs") == 0)
			say_regs((uint16_t)port);
		else if (strcmp(call, "control") == 0)
			say_control((uint16_t)port);
		else if (strcmp(call, "reset") == 0)
			printf("reset %d\n", rte_eth_stats_reset((uint16_t)port));
		else if (strcmp(call, "xreset") == 0)
			printf("xreset %d\n", rte_eth_xstats_reset((uint16_t)port));
	}
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
