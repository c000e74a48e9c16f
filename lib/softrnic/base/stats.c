/* SPDX-License-Identifier: BSD-3-Clause */

/* What a device counts, by name. */
#include "softrnic/softrnic.h"

#define ROW(member)                                                                 \
	{                                                                           \
		.name = #member, .offset = offsetof(struct softrnic_stats, member), \
		.wide = sizeof(((struct softrnic_stats *)0)->member) == 8,          \
	}

static const struct {
	const char *name;
	uint16_t offset;
	bool wide;
} rows[] = {
	ROW(commands),
	ROW(commands_failed),
	ROW(doorbells),
	ROW(doorbells_missed),
	ROW(wqes),
	ROW(cqes),
	ROW(cqes_compressed),
	ROW(cqe_titles),
	ROW(eqes),
	ROW(interrupts),
	ROW(tx_packets),
	ROW(tx_bytes),
	ROW(tx_errors),
	ROW(rx_packets),
	ROW(rx_bytes),
	ROW(rx_errors),
	ROW(rx_no_buffer),
	ROW(rx_unmatched),
	ROW(tx_checksums),
	ROW(tx_vlans),
	ROW(tx_lso),
	ROW(tx_lso_frames),
	ROW(rx_checksums_good),
	ROW(rx_checksums_bad),
	ROW(rx_vlans),
	ROW(wire_dropped),
	ROW(wire_duplicated),
	ROW(wire_reordered),
	ROW(wire_corrupted),
	ROW(wire_no_peer),
	ROW(roce_dropped),
	ROW(roce_unknown_qp),
	ROW(roce_icrc_errors),
	ROW(roce_malformed),
	ROW(roce_source_errors),
	ROW(roce_pkey_errors),
	ROW(roce_qkey_errors),
	ROW(roce_cnps),
	ROW(np_ecn_marked_roce_packets),
	ROW(tpt_faults),
	ROW(cq_overruns),
	ROW(eq_overruns),
	ROW(shares_cut),
	ROW(memory_refused),
	ROW(pages_held),
	ROW(objects),
	ROW(dma_maps),
};

#define ROWS	sizeof(rows) / sizeof(rows[0])
#define ROWS_32 3

/* A counter that is new needs a row here. */
_Static_assert(sizeof(struct softrnic_stats) == (ROWS - ROWS_32) * 8 + (ROWS_32 * 4 + 7) / 8 * 8,
	       "all counters have a name");

void
softrnic_stats_each(const struct softrnic_stats *stats,
		    void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	const uint8_t *at;

	for (unsigned int i = 0; i < ROWS; i++) {
		at = (const uint8_t *)stats + rows[i].offset;
		fn(arg, rows[i].name, rows[i].wide ? *(const uint64_t *)at : *(const uint32_t *)at);
	}
}
