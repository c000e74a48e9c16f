/* SPDX-License-Identifier: BSD-3-Clause */

/* Options of perftest 4.5 that this program does not have: its message says so, and not that the option was misspelt. */
#include <stddef.h>

#include <rte_common.h>

#include "options_private.h"

#define VALUE_FOREIGN 0x2000 /* + number of the row */

static const struct {
	const char *name;
	int letter; /* or 0 */
} rows[] = {
	{ "aes_block_size", 0 },
	{ "aes_xts", 0 },
	{ "atomic_type", 'A' },
	{ "burst_size", 0 },
	{ "client", 'P' },
	{ "com_rdma_cm", 0 },
	{ "comm_rdma_cm", 'z' },
	{ "cpu_util", 0 },
	{ "credentials_path", 0 },
	{ "data_enc_key_app_path", 0 },
	{ "data_enc_keys_number", 0 },
	{ "dest_ip", 'J' },
	{ "dest_mac", 'E' },
	{ "dest_port", 'K' },
	{ "disable_pcie_relaxed", 0 },
	{ "dlid", 0 },
	{ "dont_xchg_versions", 0 },
	{ "dualport", 'O' },
	{ "encrypt_on_tx", 0 },
	{ "ethertype", 'Y' },
	{ "flow_label", 0 },
	{ "flows", 0 },
	{ "flows_burst", 0 },
	{ "force-link", 0 },
	{ "hop_limit", 'L' },
	{ "ib-port", 'i' },
	{ "inline_recv", 0 },
	{ "ipv6", 0 },
	{ "kek_path", 0 },
	{ "latency_gap", 0 },
	{ "limit_bw", 'w' },
	{ "limit_msgrate", 'y' },
	{ "local_ip", 0 },
	{ "local_mac", 0 },
	{ "local_port", 0 },
	{ "log_active_dci_streams", 0 },
	{ "log_dci_streams", 0 },
	{ "mac_fwd", 'v' },
	{ "margin", 'f' },
	{ "mcg", 'g' },
	{ "MGID", 'M' },
	{ "mmap", 0 },
	{ "mmap-offset", 0 },
	{ "mr_per_qp", 0 },
	{ "noPeak", 'N' },
	{ "odp", 0 },
	{ "output", 0 },
	{ "perform_warm_up", 0 },
	{ "pkey_index", 0 },
	{ "promiscuous", 0 },
	{ "rate_limit", 0 },
	{ "rate_limit_type", 0 },
	{ "rate_units", 0 },
	{ "raw_ipv6", 0 },
	{ "raw_mcast", 0 },
	{ "rdma_cm", 'R' },
	{ "recv_post_list", 0 },
	{ "remote_ip", 0 },
	{ "remote_mac", 0 },
	{ "remote_port", 0 },
	{ "reply_every", 0 },
	{ "report-both", 0 },
	{ "report-counters", 'W' },
	{ "report-cycles", 'C' },
	{ "report-histogram", 0 },
	{ "report-histogrm", 'H' },
	{ "report-per-port", 0 },
	{ "report-unsorted", 'U' },
	{ "retry_count", 0 },
	{ "reversed", 0 },
	{ "run_infinitely", 0 },
	{ "server", 'Z' },
	{ "sig_before", 0 },
	{ "sl", 'S' },
	{ "sniffer", 0 },
	{ "source_ip", 'j' },
	{ "source_ip", 0 },
	{ "source_mac", 'B' },
	{ "source_port", 'k' },
	{ "tclass", 0 },
	{ "tcp", 0 },
	{ "tos", 'T' },
	{ "typical_pkt_size", 0 },
	{ "use_cuda", 0 },
	{ "use_cuda_bus_id", 0 },
	{ "use_hugepages", 0 },
	{ "use_old_post_send", 0 },
	{ "use_ooo", 0 },
	{ "use_rocm", 0 },
	{ "use_rss", 'G' },
	{ "vector", 'X' },
	{ "vlan_en", 0 },
	{ "vlan_pcp", 0 },
	{ "wait_destroy", 0 },
};
_Static_assert(RTE_DIM(rows) <= PERF_FOREIGN_MAX, "");

const char perf_foreign_letters[] = "APzJEKOYLiwyvfgMNRWCHUZSjBkTGX";

unsigned int
perf_foreign_longs(struct option *longs)
{
	unsigned int i;

	/* Whether one takes a value does not matter: none of them is used. */
	for (i = 0; i < RTE_DIM(rows); i++)
		longs[i] = (struct option){ .name = rows[i].name,
					    .has_arg = optional_argument,
					    .val = VALUE_FOREIGN + (int)i };
	return RTE_DIM(rows);
}

const char *
perf_foreign_name(int value)
{
	unsigned int i;

	if (value >= VALUE_FOREIGN && value < VALUE_FOREIGN + (int)RTE_DIM(rows))
		return rows[value - VALUE_FOREIGN].name;
	for (i = 0; i < RTE_DIM(rows); i++)
		if (rows[i].letter != 0 && rows[i].letter == value)
			return rows[i].name;
	return NULL;
}
