/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow tables: who gets which frame, in what order groups and tables are asked, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_world.h"
#include "driver/counter.h"
#include "driver/vport.h"
#include "softrnic/base/tunables.h"
#include "softrnic/receive/steer.h"

#define QUEUES 3
#define MAC(i) (UINT64_C(0x020000000000) + (i)*UINT64_C(0x10001))
/* Of a struct dw *w: an entry's destination. */
#define TO(queue) .to = &w->to[queue], .count = 1

static unsigned int
arrives_mac(struct dw *w, uint64_t dmac)
{
	int i;

	memset(w->out, 0, 64);
	for (i = 0; i < 6; i++)
		w->out[i] = (uint8_t)(dmac >> (40 - 8 * i));
	memcpy(w->out + 6, "\x02\x11\x22\x33\x44\x55\x88\xb5", 8);
	return dw_arrives(w, 64, NULL);
}

/* A group of 2^log_size entries for addresses in a table of its own, and its first `count` entries. */
static uint32_t
table_of_macs(struct dw *w, uint32_t log_size, uint32_t count)
{
	const uint32_t table = dw_table(w, 0, log_size, 0), last = (1u << log_size) - 1;
	const uint32_t group = dw_group(
		w, &(struct drv_group){ table, 0, last, .match = { DRV_DMAC_IS(MAC(0)) } });

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(
			drv_fte_set(&w->dp.drv, &(struct drv_fte){ .match = { DRV_DMAC_IS(MAC(i)) },
								   TO(i % QUEUES),
								   .table = table,
								   .group = group,
								   .index = i * 37 & last }),
			0);
	return table;
}

/* Groups without entries, each of one index. */
static uint32_t
make_groups(struct dw *w, uint32_t table, uint32_t first, uint32_t end)
{
	uint32_t group = 0;

	for (uint32_t i = first; i < end; i++)
		group = dw_group(w, &(struct drv_group){ table, i, i });
	return group;
}

static void
test_no_root(void **state)
{
	struct dw *w = *state;

	assert_int_equal(arrives_mac(w, 0x020000000001), 0);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 1);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 1);
}

/* What a port does: own address, broadcast, all multicast, then promiscuous, on and off. */
static void
test_port_modes(void **state)
{
	enum { OWN, BROADCAST, DROPPED, MULTICAST, ALL, ROWS };
	struct dw *w = *state;
	struct drv_fte port[ROWS] = {
		[OWN] = { { DRV_DMAC_IS(0x020000000001) }, TO(0) },
		[BROADCAST] = { { DRV_DMAC_IS(0xffffffffffff) }, TO(0) },
		[DROPPED] = { { DRV_DMAC_IS(0x020000000003) } },
		[MULTICAST] = { { { RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16, 1 << 24, 1 << 24 } },
				TO(1) },
		[ALL] = { TO(2) },
	};
	struct drv *drv = &w->dp.drv;
	uint32_t table;

	assert_int_equal(drv_table_of(drv, 0, 0, port, ROWS, &table), 0);
	assert_int_equal(drv_fte_set(drv, &port[OWN]), 0);
	assert_int_equal(drv_fte_set(drv, &port[BROADCAST]), 0);
	dw_root(w, table);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(arrives_mac(w, 0x020000000001), 1);
		assert_int_equal(arrives_mac(w, 0x020000000001), 1);
		assert_int_equal(arrives_mac(w, 0x020000000002), 0);
		assert_int_equal(arrives_mac(w, 0xffffffffffff), 1);
		assert_int_equal(arrives_mac(w, 0x01005e000001), 0);
		assert_int_equal(drv_fte_set(drv, &port[MULTICAST]), 0);
		assert_int_equal(arrives_mac(w, 0x01005e000001), 2);
		assert_int_equal(arrives_mac(w, 0xffffffffffff), 1);
		assert_int_equal(drv_fte_set(drv, &port[ALL]), 0);
		assert_int_equal(arrives_mac(w, 0x020000000002), 4);
		assert_int_equal(arrives_mac(w, 0x020000000001), 1);
		assert_int_equal(arrives_mac(w, 0x01005e000001), 2);
		assert_int_equal(drv_fte_delete(drv, table, ALL), 0);
		assert_int_equal(arrives_mac(w, 0x020000000002), 0);
		assert_int_equal(drv_fte_delete(drv, table, MULTICAST), 0);
		assert_int_equal(drv_fte_delete(drv, table, MULTICAST), RNIC_STATUS_BAD_RES);
	}
	/* Drop wins over what is behind it. */
	assert_int_equal(drv_fte_set(drv, &port[DROPPED]), 0);
	assert_int_equal(drv_fte_set(drv, &port[ALL]), 0);
	assert_int_equal(arrives_mac(w, 0x020000000003), 0);
	assert_int_equal(arrives_mac(w, 0x020000000004), 4);
}

/* The vport's own filter, which stands before the flow tables: here they take everything. */
static void
test_vport_takes_its_own_addresses_only(void **state)
{
	enum { OWN, OTHER, STRANGER, GROUP, BROADCAST, MACS };
	static const uint64_t macs[MACS] = { 0x020000aabbcc, 0x020000000002, 0x020000000004,
					     0x01005e000001, 0xffffffffffff };
	static const uint64_t listed[] = { 0x020000000003, 0x020000000002 };
	static const uint64_t broadcast[] = { 0xffffffffffff };
	static const struct {
		struct drv_vport vport;
		unsigned int taken[MACS];
	} rows[] = {
		/* Its permanent address is its own, whatever the lists say. */
		{ { .list = RNIC_ALLOWED_LIST_UC }, { [OWN] = 1 } },
		/* Of the lists each stays when the other one changes. */
		{ { .list = RNIC_ALLOWED_LIST_UC, .count = 2, .entries = listed },
		  { [OWN] = 1, [OTHER] = 1 } },
		{ { .list = RNIC_ALLOWED_LIST_MC, .count = 1, .entries = broadcast },
		  { [OWN] = 1, [OTHER] = 1, [BROADCAST] = 1 } },
		{ { .list = RNIC_ALLOWED_LIST_MC,
		    .count = 1,
		    .entries = broadcast,
		    .promisc_mc = true },
		  { [OWN] = 1, [OTHER] = 1, [GROUP] = 1, [BROADCAST] = 1 } },
		{ { .list = RNIC_ALLOWED_LIST_MC, .promisc_uc = true },
		  { [OWN] = 1, [OTHER] = 1, [STRANGER] = 1 } },
		{ { .promisc_all = true }, { 1, 1, 1, 1, 1 } },
	};
	struct dw *w = *state;

	dw_root_to_first(w);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct drv_vport vport = rows[i].vport;

		vport.select = DRV_VPORT_FILTER;
		assert_int_equal(drv_vport_modify(&w->dp.drv, &vport), 0);
		for (unsigned int m = 0; m < MACS; m++)
			assert_int_equal(arrives_mac(w, macs[m]), rows[i].taken[m]);
	}
}

/* What it takes is what it counts. */
static void
test_vport_counts_what_it_takes(void **state)
{
	struct dw *w = *state;
	struct rnic_vport_counters counters;

	dw_root_to_first(w);
	assert_int_equal(drv_vport_promisc_set(&w->dp.drv, false), 0);
	assert_int_equal(arrives_mac(w, 0x020000aabbcc), 1);
	assert_int_equal(arrives_mac(w, 0x020000000002), 0);
	assert_int_equal(arrives_mac(w, 0x01005e000001), 0);
	assert_int_equal(arrives_mac(w, 0xffffffffffff), 0);
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 3);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 4);
	assert_int_equal(drv_vport_counter_query(&w->dp.drv, false, &counters), 0);
#define RECEIVED(field) rnic_vport_counters_get(&counters, RNIC_VPORT_COUNTERS_RECEIVED_ETH_##field)
	assert_int_equal(RECEIVED(UNICAST_PACKETS), 1);
	assert_int_equal(RECEIVED(UNICAST_OCTETS), 64);
	assert_int_equal(RECEIVED(MULTICAST_PACKETS), 0);
	assert_int_equal(RECEIVED(BROADCAST_OCTETS), 0);
#undef RECEIVED
}

/* Many addresses, so that buckets grow; each goes where it was told. */
static void
test_many_entries(void **state)
{
	struct dw *w = *state;
	uint32_t table = table_of_macs(w, 12, 1000), i;

	dw_root(w, table);
	for (i = 0; i < 400; i++)
		assert_int_equal(arrives_mac(w, MAC(i)), 1u << i % QUEUES);
	for (i = 0; i < 1000; i++)
		assert_int_equal(drv_fte_delete(&w->dp.drv, table, (i * 37) % 4096), 0);
	assert_int_equal(arrives_mac(w, MAC(0)), 0);
}

static void
test_chains(void **state)
{
	struct dw *w = *state;
	struct drv_fte last = { TO(1) };
	const uint32_t third = dw_table_of(w, 9, 0, &last, 1);
	struct drv_fte exact = { { DRV_DMAC_IS(0x020000000001) }, TO(0), .tag = 0xabcdef };
	const uint32_t second = dw_table_of(w, 5, third, &exact, 1);
	const struct rnic_flow_destination to_second = drv_to_table(second);
	struct drv_fte on = { .to = &to_second, .count = 1, .tag = 5 };
	struct rnic_cqe cqe;

	dw_root(w, dw_table_of(w, 1, 0, &on, 1));
	assert_int_equal(arrives_mac(w, 0x020000000001), 1);
	assert_int_equal(arrives_mac(w, 0x020000000002), 2);
	assert_int_equal(dw_arrives(w, 64, &cqe), 2);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn), 5);
	w->out[5] = 1;
	assert_int_equal(dw_arrives(w, 64, &cqe), 1);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn), 0xabcdef);
	/* In use: cannot go. The root can, when it is empty. */
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[0].tirn),
			 RNIC_STATUS_RES_BUSY);
}

/* Neither a miss nor an entry leads back, nor to the same level. */
static void
test_chains_lead_down(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	const uint32_t low = dw_table(w, 9, 2, 0), high = dw_table(w, 5, 2, low);
	const struct rnic_flow_destination to[] = { drv_to_table(low), drv_to_table(high) };
	struct drv_fte entry = { .count = 1, .table = low };

	entry.group = dw_group(w, &(struct drv_group){ low });
	for (unsigned int i = 0; i < 2; i++) {
		entry.to = &to[i];
		assert_int_equal(drv_fte_set(drv, &entry), RNIC_STATUS_BAD_PARAM);
	}
	assert_int_equal(drv_table_create(drv, &(struct drv_table){ 9, 2, low }, NULL),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(drv_table_create(drv, &(struct drv_table){ 9, 2, high }, NULL),
			 RNIC_STATUS_BAD_PARAM);
}

/* An entry may ask for a table of any level: a way that leads down arrives, one in a circle goes nowhere. */
static void
test_chains_of_any_level(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	struct rnic_flow_destination to_high, to_low;
	struct drv_fte down = { .to = &to_low, .count = 1 };
	struct drv_fte rows[] = {
		{ { DRV_DMAC_IS(0x020000000001) }, TO(1) },
		{ { DRV_DMAC_IS(0x020000000002) }, .to = &to_high, .count = 1, .any_level = true },
		{ { DRV_DMAC_IS(0x020000000003) }, .to = &to_low, .count = 1, .any_level = true },
	};
	uint32_t high, low;

	assert_int_equal(drv_table_of(drv, 9, 0, &down, 1, &high), 0);
	assert_int_equal(drv_table_of(drv, 1, 0, rows, 3, &low), 0);
	to_high = drv_to_table(high);
	to_low = drv_to_table(low);
	dw_root(w, high);
	assert_int_equal(drv_fte_set(drv, &down), RNIC_STATUS_BAD_PARAM);
	down.any_level = true;
	assert_int_equal(drv_fte_set(drv, &down), 0);
	assert_int_equal(drv_ftes_set(drv, rows, 3), 0);
	assert_int_equal(arrives_mac(w, 0x020000000001), 2);
	assert_int_equal(arrives_mac(w, 0x020000000002), 0);
	assert_int_equal(arrives_mac(w, 0x020000000003), 0);
	assert_int_equal(arrives_mac(w, 0x020000000001), 2);
	/* Tables that lead to each other can be taken apart. */
	assert_int_equal(drv_fte_delete(drv, low, 1), 0);
	assert_int_equal(arrives_mac(w, 0x020000000002), 0);
}

/* A full parse: VLAN, IP, ports. */
static void
test_headers(void **state)
{
	static const uint8_t tcp[] = {
		2,    0,    0, 0,  0, 1, 2, 0, 0,  0, 0, 2, 0x08, 0, /* Ethernet */
		0x45, 0,    0, 50, 0, 0, 0, 0, 64, 6, 0, 0, 10,	  0, 0, 1, 10, 0, 0, 2, /* IPv4 */
		0x12, 0x34, 0, 80, /* TCP ports */
	};
	struct dw *w = *state;
	struct drv_fte rows[] = {
		{ { DRV_IS(TCP_DPORT, 80), DRV_IS(DST_IP_31_0, 0x0a000002), DRV_IS(IP_VERSION, 4) },
		  TO(0) },
		{ { DRV_IS(CVLAN_TAG, 1), DRV_IS(FIRST_VID, 100) }, TO(1) },
	};

	dw_root(w, dw_table_of(w, 0, 0, rows, 2));
	memcpy(w->out, tcp, sizeof(tcp));
	assert_int_equal(dw_arrives(w, 64, NULL), 1);
	w->out[37] = 81;
	assert_int_equal(dw_arrives(w, 64, NULL), 0);
	w->out[37] = 80;
	w->out[23] = 17; /* UDP has other ports */
	assert_int_equal(dw_arrives(w, 64, NULL), 0);
	/* The same in a tag: both groups would do, the first one wins; then another address. */
	memcpy(w->out, tcp, sizeof(tcp));
	memmove(w->out + 16, w->out + 12, 60);
	memcpy(w->out + 12, "\x81\x00\x20\x64", 4);
	assert_int_equal(dw_arrives(w, 68, NULL), 1);
	w->out[37] = 3;
	assert_int_equal(dw_arrives(w, 68, NULL), 2);
	w->out[15] = 0x65;
	assert_int_equal(dw_arrives(w, 68, NULL), 0);
}

/* A mask beyond what we parse, a group over another one, one that ends behind the table or before it begins. */
static void
test_groups_that_are_refused(void **state)
{
	struct dw *w = *state;
	struct rnic_fte_match_set_lyr_2_4 all;
	const uint32_t table = dw_table(w, 0, 4, 0);
	const struct drv_group refused[] = {
		{ table, 8, 9, &all }, { table, 7, 9 }, { table, 9, 16 }, { table, 9, 8 }
	};

	memset(&all, 0xff, sizeof(all));
	dw_group(w, &(struct drv_group){ table, 4, 7 });
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(drv_group_create(&w->dp.drv, &refused[i], NULL),
				 RNIC_STATUS_BAD_PARAM);
	dw_group(w, &(struct drv_group){ table, 8, 9 });
}

/* Version and all 16 bytes of both addresses. */
static void
test_ipv6_addresses(void **state)
{
	static const uint32_t src[4] = { 0x20010db8, 0x01020304, 0x05060708, 0x090a0b0c };
	static const uint32_t dst[4] = { 0x20010db8, 0xf1f2f3f4, 0xf5f6f7f8, 0xf9fafbfc };
	struct dw *w = *state;
	struct drv_fte row = { { DRV_IS(IP_VERSION, 6), DRV_IS(SRC_IP_127_96, src[0]),
				 DRV_IS(SRC_IP_95_64, src[1]), DRV_IS(SRC_IP_63_32, src[2]),
				 DRV_IS(SRC_IP_31_0, src[3]), DRV_IS(DST_IP_127_96, dst[0]),
				 DRV_IS(DST_IP_95_64, dst[1]), DRV_IS(DST_IP_63_32, dst[2]),
				 DRV_IS(DST_IP_31_0, dst[3]) },
			       TO(1) };
	uint32_t i;

	dw_root(w, dw_table_of(w, 0, 0, &row, 1));
	memset(w->out, 0, 74);
	memcpy(w->out, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x86\xdd\x60\0\0\0\0\x14\6\x40", 22);
	for (i = 0; i < 16; i++) {
		w->out[22 + i] = (uint8_t)(src[i / 4] >> (24 - 8 * (i % 4)));
		w->out[38 + i] = (uint8_t)(dst[i / 4] >> (24 - 8 * (i % 4)));
	}
	assert_int_equal(dw_arrives(w, 74, NULL), 2);
	/* One bit of any byte makes it another one; so does another version. */
	for (i = 22; i < 54; i++) {
		w->out[i] ^= 0x10;
		assert_int_equal(dw_arrives(w, 74, NULL), 0);
		w->out[i] ^= 0x10;
	}
	w->out[14] = 0x40;
	assert_int_equal(dw_arrives(w, 74, NULL), 0);
	w->out[14] = 0x60;
	assert_int_equal(dw_arrives(w, 74, NULL), 2);
}

/* Fragments of both versions, the first and the others, are told from what is whole. */
static void
test_fragments(void **state)
{
	static const struct {
		const char *head;
		size_t bytes;
		bool fragment;
	} frames[] = {
		{ "\x08\0\x45\0\0\x32\0\0\x40\0\x40\x11", 12, false },
		{ "\x08\0\x45\0\0\x32\0\0\x20\0\x40\x11", 12, true },
		{ "\x08\0\x45\0\0\x32\0\0\0\x10\x40\x11", 12, true },
		{ "\x86\xdd\x60\0\0\0\0\x14\x11\x40", 10, false },
		{ "\x86\xdd\x60\0\0\0\0\x14\x2c\x40", 10, true },
	};
	struct dw *w = *state;
	struct drv_fte rows[] = {
		{ { DRV_IS(FRAG, 1) }, TO(1) },
		{ { DRV_IS(FRAG, 0) }, TO(0) },
	};
	size_t i;

	dw_root(w, dw_table_of(w, 0, 0, rows, 2));
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		memset(w->out, 0, 74);
		memcpy(w->out, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
		memcpy(w->out + 12, frames[i].head, frames[i].bytes);
		assert_int_equal(dw_arrives(w, 74, NULL), frames[i].fragment ? 2 : 1);
	}
}

/* reset_root_to_default: no root any more, whatever the command's table is. */
static void
test_root_back_to_none(void **state)
{
	struct dw *w = *state;
	struct rnic_set_flow_table_root_in in = { 0 };
	const uint32_t table = dw_root_to_first(w);

	for (int round = 0; round < 2; round++) {
		dw_root(w, table);
		assert_int_equal(arrives_mac(w, 0x020000000001), 1);
		assert_int_equal(dp_command(&w->dp, RNIC_CMD_SET_FLOW_TABLE_ROOT, 1, &in,
					    sizeof(in), NULL, 0),
				 0);
		assert_int_equal(arrives_mac(w, 0x020000000001), 0);
	}
	assert_int_equal(dp_stats(&w->dp).rx_unmatched, 2);
}

static void
test_replication(void **state)
{
	struct dw *w = *state;
	uint32_t tirns[QUEUES];

	for (int i = 0; i < QUEUES; i++)
		tirns[i] = w->rq[i].tirn;
	assert_int_equal(drv_root_to_tirs(&w->dp.drv, tirns, QUEUES, NULL), 0);
	assert_int_equal(arrives_mac(w, 0x020000000001), 7);
}

/* An index that is taken, one of no group, a group that is none, no destination, counting, an unknown TIR. */
static void
test_entries_that_are_refused(void **state)
{
	struct dw *w = *state;
	const uint32_t table = dw_table(w, 0, 2, 0), forward = RNIC_FLOW_ACTION_FWD_DEST;
	const uint32_t counted = RNIC_FLOW_ACTION_DROP | RNIC_FLOW_ACTION_COUNT;
	const uint32_t group = dw_group(w, &(struct drv_group){ table, 0, 3 }), none = group + 1;
	const struct rnic_flow_destination unknown = drv_to_tir(0xffffff);
	const struct {
		struct drv_fte fte;
		int status;
	} rows[] = {
		{ { TO(1), .table = table, .group = group, .index = 1 }, 0 },
		{ { TO(0), .table = table, .group = group, .index = 1 }, RNIC_STATUS_BAD_PARAM },
		{ { TO(0), .table = table, .group = group, .index = 4 }, RNIC_STATUS_BAD_PARAM },
		{ { TO(0), .table = table, .group = none, .index = 2 }, RNIC_STATUS_BAD_PARAM },
		{ { .action = forward, .table = table, .group = group, .index = 2 },
		  RNIC_STATUS_BAD_PARAM },
		{ { .action = counted, .table = table, .group = group, .index = 2 },
		  RNIC_STATUS_BAD_PARAM },
		{ { .to = &unknown, .count = 1, .table = table, .group = group, .index = 2 },
		  RNIC_STATUS_BAD_RES },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(drv_fte_set(&w->dp.drv, &rows[i].fte), rows[i].status);
	dw_root(w, table);
	assert_int_equal(arrives_mac(w, 0x020000000001), 2);
}

/* A table takes so many groups; one gone makes room for one. */
static void
test_limit_of_groups(void **state)
{
	struct dw *w = *state;
	const uint32_t table = dw_table(w, 0, 11, 0);
	const uint32_t last = make_groups(w, table, 0, STEER_GROUPS_MAX);
	const struct drv_group more = { table, STEER_GROUPS_MAX, STEER_GROUPS_MAX };

	assert_int_equal(drv_group_create(&w->dp.drv, &more, NULL), RNIC_STATUS_LIM);
	assert_int_equal(drv_group_destroy(&w->dp.drv, table, last), 0);
	dw_group(w, &more);
}

/* The device takes so many entries; one gone makes room for one. */
static void
test_limit_of_entries(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	struct drv_fte entries[] = { { TO(0) }, { TO(0) } };
	uint32_t table;

	/* But for one they are elsewhere. */
	table_of_macs(w, SOFTRNIC_LOG_MAX_FLOW, (1u << SOFTRNIC_LOG_MAX_FLOW) - 1);
	assert_int_equal(drv_table_of(drv, 0, 0, entries, 2, &table), 0);
	assert_int_equal(drv_fte_set(drv, &entries[0]), 0);
	assert_int_equal(drv_fte_set(drv, &entries[1]), RNIC_STATUS_LIM);
	assert_int_equal(drv_fte_delete(drv, table, 0), 0);
	assert_int_equal(drv_fte_set(drv, &entries[1]), 0);
}

/* As if so many others had come and gone that the next id is again the first one's: `made` ids ago. */
static void
come_round(uint32_t made)
{
	softrnic_tunables.flow_groups -= made;
}

/* Ids have 24 bits, and come round to groups that are still there. */
static void
test_ids_of_groups_come_round(void **state)
{
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	const struct softrnic_tunables usual = softrnic_tunables;
	const uint32_t table = dw_table(w, 0, 11, 0), other = dw_table(w, 0, 11, 0);
	const uint32_t first = make_groups(w, table, 0, 1);
	uint32_t second, last;

	assert_int_equal(
		drv_fte_set(drv, &(struct drv_fte){ TO(0), .table = table, .group = first }), 0);
	dw_root(w, table);
	come_round(1);
	second = make_groups(w, table, 1, 2);
	assert_int_equal(drv_fte_set(drv, &(struct drv_fte){ TO(1), .table = table, .group = second,
							     .index = 1 }),
			 0);
	assert_int_equal(drv_fte_delete(drv, table, 1), 0);
	/* It is the second one that goes. */
	assert_int_equal(drv_group_destroy(drv, table, second), 0);
	assert_int_equal(drv_group_destroy(drv, table, second), RNIC_STATUS_BAD_RES);
	assert_int_equal(arrives_mac(w, 0x020000000001), 1);
	/* However many are in a row. */
	come_round(second + 1 - first);
	make_groups(w, table, 1, STEER_GROUPS_MAX);
	make_groups(w, other, 0, STEER_GROUPS_MAX - 1);
	come_round(1 + 2 * (STEER_GROUPS_MAX - 1));
	last = make_groups(w, other, STEER_GROUPS_MAX - 1, STEER_GROUPS_MAX);
	assert_int_equal((last - first) & 0xffffff, STEER_DEVICE_GROUPS_MAX - 1);
	softrnic_tunables = usual;
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, dw_setup, dp_teardown)
	const struct CMUnitTest tests[] = {
		T(no_root),
		T(port_modes),
		T(vport_takes_its_own_addresses_only),
		T(vport_counts_what_it_takes),
		T(many_entries),
		T(chains),
		T(chains_lead_down),
		T(chains_of_any_level),
		T(headers),
		T(groups_that_are_refused),
		T(ipv6_addresses),
		T(fragments),
		T(root_back_to_none),
		T(limit_of_groups),
		T(limit_of_entries),
		T(replication),
		T(entries_that_are_refused),
		T(ids_of_groups_come_round),
	};

	return cmocka_run_group_tests_name("data_steer", tests, NULL, NULL);
}
