/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow tables: who gets which frame, in what order groups and tables are asked, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"
#include "prm/vport.h"
#include "softrnic/receive/steer.h"

#define QUEUES 3

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq[QUEUES];
	struct dp_sq sq;
	struct dp_rq rq[QUEUES];
	uint8_t *out;
};

static int
setup(void **state)
{
	struct softrnic_conf conf = { .name = "steer",
				      .wire = "loop",
				      .mac = { 0x02, 0x00, 0x00, 0xaa, 0xbb, 0xcc } };
	struct dp_cq_conf cq = { .log_size = 9, .uar = 1, .ignore_overrun = true };
	struct fixture *f = calloc(1, sizeof(*f));
	uint8_t *in;
	int i, k;

	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	assert_int_equal(dp_open(&f->dp, f->poller, &conf), 0);
	assert_int_equal(dp_cq_create(&f->dp, &f->tx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(&f->dp, &f->sq, &f->tx_cq, 8, 2, 0), 0);
	in = dp_alloc(&f->dp, 2048, 64);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_cq_create(&f->dp, &f->rx_cq[i], &cq), 0);
		assert_int_equal(dp_rq_create(&f->dp, &f->rq[i], &f->rx_cq[i], 9, 4), 0);
		assert_int_equal(dp_tir_create(&f->rq[i]), 0);
		for (k = 0; k < 512; k++)
			dp_post(&f->rq[i], in, 2048);
		dp_rq_record(&f->rq[i]);
	}
	f->out = dp_alloc(&f->dp, 2048, 64);
	*state = f;
	return 0;
}

/* Send the frame in f->out; which queues got it, as bits. *tag: the last flow tag. */
static unsigned int
arrives(struct fixture *f, uint32_t bytes, uint32_t *tag)
{
	const struct rnic_cqe *cqe;
	unsigned int queues = 0;
	int i;

	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, f->out, bytes);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	for (i = 0; i < QUEUES; i++) {
		while ((cqe = dp_cq_next(&f->rx_cq[i])) != NULL) {
			assert_int_equal(queues & 1u << i, 0); /* each at most once */
			queues |= 1u << i;
			if (tag != NULL)
				*tag = rnic_be32_to_cpu(cqe->sop_drop_qpn);
		}
	}
	return queues;
}

static unsigned int
arrives_mac(struct fixture *f, uint64_t dmac)
{
	int i;

	memset(f->out, 0, 64);
	for (i = 0; i < 6; i++)
		f->out[i] = (uint8_t)(dmac >> (40 - 8 * i));
	memcpy(f->out + 6, "\x02\x11\x22\x33\x44\x55\x88\xb5", 8);
	return arrives(f, 64, NULL);
}

static void
match_dmac(struct rnic_fte_match_set_lyr_2_4 *set, uint64_t dmac)
{
	memset(set, 0, sizeof(*set));
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_47_16, dmac >> 16);
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_DMAC_15_0, dmac & 0xffff);
}

static int
flow_to(struct fixture *f, uint32_t table, uint32_t group, uint32_t index,
	const struct rnic_fte_match_set_lyr_2_4 *value, uint32_t type, uint32_t id, uint32_t tag)
{
	struct rnic_flow_destination to = { 0 };

	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_TYPE, type);
	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_ID, id);
	return dp_flow_set(&f->dp, table, group, index, value, RNIC_FLOW_ACTION_FWD_DEST, tag, &to,
			   1);
}

static int
flow_tir(struct fixture *f, uint32_t table, uint32_t group, uint32_t index,
	 const struct rnic_fte_match_set_lyr_2_4 *value, int queue)
{
	return flow_to(f, table, group, index, value, RNIC_FLOW_DESTINATION_TIR, f->rq[queue].tirn,
		       0);
}

static void
test_no_root(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(arrives_mac(f, 0x020000000001), 0);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 1);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 1);
}

/* What a port does: own address, broadcast, all multicast, then promiscuous, on and off. */
static void
test_port_modes(void **state)
{
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set;
	uint32_t table, exact, multicast, all;
	int status, round;

	table = dp_table_create(&f->dp, 0, 6, 0);
	match_dmac(&set, 0xffffffffffff);
	exact = dp_group_create(&f->dp, table, 0, 15, &set, &status);
	assert_int_equal(status, 0);
	match_dmac(&set, 0x010000000000);
	multicast = dp_group_create(&f->dp, table, 16, 16, &set, &status);
	assert_int_equal(status, 0);
	all = dp_group_create(&f->dp, table, 17, 17, NULL, &status);
	assert_int_equal(status, 0);
	match_dmac(&set, 0x020000000001);
	assert_int_equal(flow_tir(f, table, exact, 0, &set, 0), 0);
	match_dmac(&set, 0xffffffffffff);
	assert_int_equal(flow_tir(f, table, exact, 1, &set, 0), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	for (round = 0; round < 2; round++) {
		assert_int_equal(arrives_mac(f, 0x020000000001), 1);
		assert_int_equal(arrives_mac(f, 0x020000000001), 1);
		assert_int_equal(arrives_mac(f, 0x020000000002), 0);
		assert_int_equal(arrives_mac(f, 0xffffffffffff), 1);
		assert_int_equal(arrives_mac(f, 0x01005e000001), 0);
		match_dmac(&set, 0x010000000000);
		assert_int_equal(flow_tir(f, table, multicast, 16, &set, 1), 0);
		assert_int_equal(arrives_mac(f, 0x01005e000001), 2);
		assert_int_equal(arrives_mac(f, 0xffffffffffff), 1);
		assert_int_equal(flow_tir(f, table, all, 17, NULL, 2), 0);
		assert_int_equal(arrives_mac(f, 0x020000000002), 4);
		assert_int_equal(arrives_mac(f, 0x020000000001), 1);
		assert_int_equal(arrives_mac(f, 0x01005e000001), 2);
		assert_int_equal(drv_fte_delete(&f->dp.drv, table, 17), 0);
		assert_int_equal(arrives_mac(f, 0x020000000002), 0);
		assert_int_equal(drv_fte_delete(&f->dp.drv, table, 16), 0);
		assert_int_equal(drv_fte_delete(&f->dp.drv, table, 16), RNIC_STATUS_BAD_RES);
	}
	/* Drop wins over what is behind it. */
	match_dmac(&set, 0x020000000003);
	assert_int_equal(
		dp_flow_set(&f->dp, table, exact, 7, &set, RNIC_FLOW_ACTION_DROP, 0, NULL, 0), 0);
	assert_int_equal(flow_tir(f, table, all, 17, NULL, 2), 0);
	assert_int_equal(arrives_mac(f, 0x020000000003), 0);
	assert_int_equal(arrives_mac(f, 0x020000000004), 4);
}

/* The vport's own filter, which stands before the flow tables: here they take everything. */
static void
test_vport_takes_its_own_addresses_only(void **state)
{
	const uint64_t own = 0x020000aabbcc, other = 0x020000000002;
	const uint64_t group = 0x01005e000001, broadcast = 0xffffffffffff;
	struct fixture *f = *state;
	struct dp_vport vport = { .list = RNIC_ALLOWED_LIST_UC };
	struct rnic_query_vport_counter_in in = { 0 };
	struct rnic_query_vport_counter_out out;
	struct rnic_vport_counters *counters = rnic_query_vport_counter_out_vport_counters(&out);
	uint32_t table = dp_table_create(&f->dp, 0, 2, 0), all;
	int status;

	all = dp_group_create(&f->dp, table, 0, 0, NULL, &status);
	assert_int_equal(flow_tir(f, table, all, 0, NULL, 0), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	/* A driver that told the vport nothing has its permanent address. */
	assert_int_equal(arrives_mac(f, own), 1);
	assert_int_equal(arrives_mac(f, other), 0);
	assert_int_equal(arrives_mac(f, group), 0);
	assert_int_equal(arrives_mac(f, broadcast), 0);
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 3);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 4);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_QUERY_VPORT_COUNTER, 0, &in, sizeof(in), &out,
				    sizeof(out)),
			 0);
#define RECEIVED(field) rnic_vport_counters_get(counters, RNIC_VPORT_COUNTERS_RECEIVED_ETH_##field)
	assert_int_equal(RECEIVED(UNICAST_PACKETS), 1);
	assert_int_equal(RECEIVED(UNICAST_OCTETS), 64);
	assert_int_equal(RECEIVED(MULTICAST_PACKETS), 0);
	assert_int_equal(RECEIVED(BROADCAST_OCTETS), 0);
#undef RECEIVED
	/* By its lists. */
	vport.macs[vport.count++] = 0x020000000003;
	vport.macs[vport.count++] = other;
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	assert_int_equal(arrives_mac(f, other), 1);
	assert_int_equal(arrives_mac(f, 0x020000000004), 0);
	vport = (struct dp_vport){ .list = RNIC_ALLOWED_LIST_MC,
				   .count = 1,
				   .macs = { broadcast } };
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	assert_int_equal(arrives_mac(f, broadcast), 1);
	assert_int_equal(arrives_mac(f, group), 0);
	assert_int_equal(arrives_mac(f, other), 1);
	/* By its modes. */
	vport.promisc_mc = true;
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	assert_int_equal(arrives_mac(f, group), 1);
	assert_int_equal(arrives_mac(f, 0x020000000004), 0);
	vport = (struct dp_vport){ .list = RNIC_ALLOWED_LIST_MC, .promisc_uc = true };
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	assert_int_equal(arrives_mac(f, 0x020000000004), 1);
	assert_int_equal(arrives_mac(f, broadcast), 0);
	vport = (struct dp_vport){ .promisc_all = true };
	assert_int_equal(dp_vport_modify(&f->dp, &vport), 0);
	assert_int_equal(arrives_mac(f, broadcast), 1);
	assert_int_equal(arrives_mac(f, 0x020000000004), 1);
}

/* Many addresses, so that buckets grow; each goes where it was told. */
static void
test_many_entries(void **state)
{
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set;
	uint32_t table, group, i;
	int status;

	table = dp_table_create(&f->dp, 0, 12, 0);
	match_dmac(&set, 0xffffffffffff);
	group = dp_group_create(&f->dp, table, 0, 4095, &set, &status);
	assert_int_equal(status, 0);
	for (i = 0; i < 1000; i++) {
		match_dmac(&set, 0x020000000000 + i * 0x10001);
		assert_int_equal(
			flow_tir(f, table, group, (i * 37) % 4096, &set, (int)(i % QUEUES)), 0);
	}
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	for (i = 0; i < 400; i++)
		assert_int_equal(arrives_mac(f, 0x020000000000 + i * 0x10001), 1u << i % QUEUES);
	for (i = 0; i < 1000; i++)
		assert_int_equal(drv_fte_delete(&f->dp.drv, table, (i * 37) % 4096), 0);
	assert_int_equal(arrives_mac(f, 0x020000000000), 0);
}

static void
test_chains(void **state)
{
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set;
	uint32_t first, second, third, g1, g2, g3, tag = 0;
	int status;

	third = dp_table_create(&f->dp, 9, 2, 0);
	second = dp_table_create(&f->dp, 5, 2, third);
	first = dp_table_create(&f->dp, 1, 2, 0);
	assert_int_not_equal(first * second * third, 0);
	/* A miss may not lead back, nor to the same level. */
	assert_int_equal(dp_table_create(&f->dp, 9, 2, second), 0);
	assert_int_equal(dp_table_create(&f->dp, 9, 2, third), 0);
	g1 = dp_group_create(&f->dp, first, 0, 3, NULL, &status);
	match_dmac(&set, 0xffffffffffff);
	g2 = dp_group_create(&f->dp, second, 0, 3, &set, &status);
	g3 = dp_group_create(&f->dp, third, 0, 3, NULL, &status);
	assert_int_equal(flow_to(f, third, g3, 0, NULL, RNIC_FLOW_DESTINATION_TABLE, second, 0),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(flow_to(f, third, g3, 0, NULL, RNIC_FLOW_DESTINATION_TABLE, third, 0),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(flow_to(f, first, g1, 0, NULL, RNIC_FLOW_DESTINATION_TABLE, second, 5), 0);
	match_dmac(&set, 0x020000000001);
	assert_int_equal(
		flow_to(f, second, g2, 0, &set, RNIC_FLOW_DESTINATION_TIR, f->rq[0].tirn, 0xabcdef),
		0);
	assert_int_equal(
		flow_to(f, third, g3, 0, NULL, RNIC_FLOW_DESTINATION_TIR, f->rq[1].tirn, 0), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, first), 0);
	assert_int_equal(arrives_mac(f, 0x020000000001), 1);
	assert_int_equal(arrives_mac(f, 0x020000000002), 2);
	assert_int_equal(arrives(f, 64, &tag), 2);
	assert_int_equal(tag, 5);
	f->out[5] = 1;
	assert_int_equal(arrives(f, 64, &tag), 1);
	assert_int_equal(tag, 0xabcdef);
	/* In use: cannot go. The root can, when it is empty. */
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[0].tirn),
			 RNIC_STATUS_RES_BUSY);
}

/* An entry may ask for a table of any level: a way that leads down arrives, one in a circle goes nowhere. */
static void
test_chains_of_any_level(void **state)
{
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set;
	uint32_t high, low, g_high, g_low;
	int status;

	high = dp_table_create(&f->dp, 9, 2, 0);
	low = dp_table_create(&f->dp, 1, 2, 0);
	g_high = dp_group_create(&f->dp, high, 0, 3, NULL, &status);
	match_dmac(&set, 0xffffffffffff);
	g_low = dp_group_create(&f->dp, low, 0, 3, &set, &status);
	assert_int_equal(drv_root_set(&f->dp.drv, high), 0);
	assert_int_equal(flow_to(f, high, g_high, 0, NULL, RNIC_FLOW_DESTINATION_TABLE, low, 0),
			 RNIC_STATUS_BAD_PARAM);
	f->dp.any_level = true;
	assert_int_equal(flow_to(f, high, g_high, 0, NULL, RNIC_FLOW_DESTINATION_TABLE, low, 0), 0);
	match_dmac(&set, 0x020000000001);
	assert_int_equal(flow_tir(f, low, g_low, 0, &set, 1), 0);
	match_dmac(&set, 0x020000000002);
	assert_int_equal(flow_to(f, low, g_low, 1, &set, RNIC_FLOW_DESTINATION_TABLE, high, 0), 0);
	match_dmac(&set, 0x020000000003);
	assert_int_equal(flow_to(f, low, g_low, 2, &set, RNIC_FLOW_DESTINATION_TABLE, low, 0), 0);
	assert_int_equal(arrives_mac(f, 0x020000000001), 2);
	assert_int_equal(arrives_mac(f, 0x020000000002), 0);
	assert_int_equal(arrives_mac(f, 0x020000000003), 0);
	assert_int_equal(arrives_mac(f, 0x020000000001), 2);
	/* Tables that lead to each other can be taken apart. */
	assert_int_equal(drv_fte_delete(&f->dp.drv, low, 1), 0);
	assert_int_equal(arrives_mac(f, 0x020000000002), 0);
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
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	uint32_t table, ports, vlan, group;
	int status;

	table = dp_table_create(&f->dp, 0, 4, 0);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 0xffff);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_31_0, 0xffffffff);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION, 0xf);
	ports = dp_group_create(&f->dp, table, 0, 3, &set, &status);
	assert_int_equal(status, 0);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT, 80);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_DST_IP_31_0, 0x0a000002);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION, 4);
	assert_int_equal(flow_tir(f, table, ports, 0, &set, 0), 0);
	memset(&set, 0, sizeof(set));
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_CVLAN_TAG, 1);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_VID, 0xfff);
	vlan = dp_group_create(&f->dp, table, 4, 7, &set, &status);
	assert_int_equal(status, 0);
	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_FIRST_VID, 100);
	assert_int_equal(flow_tir(f, table, vlan, 4, &set, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);

	memcpy(f->out, tcp, sizeof(tcp));
	assert_int_equal(arrives(f, 64, NULL), 1);
	f->out[37] = 81;
	assert_int_equal(arrives(f, 64, NULL), 0);
	f->out[37] = 80;
	f->out[23] = 17; /* UDP has other ports */
	assert_int_equal(arrives(f, 64, NULL), 0);
	/* The same in a tag: both groups would do, the first one wins; then another address. */
	memcpy(f->out, tcp, sizeof(tcp));
	memmove(f->out + 16, f->out + 12, 60);
	memcpy(f->out + 12, "\x81\x00\x20\x64", 4);
	assert_int_equal(arrives(f, 68, NULL), 1);
	f->out[37] = 3;
	assert_int_equal(arrives(f, 68, NULL), 2);
	f->out[15] = 0x65;
	assert_int_equal(arrives(f, 68, NULL), 0);
	/* A mask beyond what we parse is refused, a group over another one too. */
	memset(&set, 0xff, sizeof(set));
	group = dp_group_create(&f->dp, table, 8, 9, &set, &status);
	(void)group;
	assert_int_equal(status, RNIC_STATUS_BAD_PARAM);
	dp_group_create(&f->dp, table, 7, 9, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_BAD_PARAM);
	dp_group_create(&f->dp, table, 9, 16, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_BAD_PARAM);
	dp_group_create(&f->dp, table, 9, 8, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_BAD_PARAM);
}

static void
ipv6_match(struct rnic_fte_match_set_lyr_2_4 *set, uint32_t version, const uint32_t src[4],
	   const uint32_t dst[4])
{
#define SET(field, value) \
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_##field, value)
	memset(set, 0, sizeof(*set));
	SET(IP_VERSION, version);
	SET(SRC_IP_127_96, src[0]);
	SET(SRC_IP_95_64, src[1]);
	SET(SRC_IP_63_32, src[2]);
	SET(SRC_IP_31_0, src[3]);
	SET(DST_IP_127_96, dst[0]);
	SET(DST_IP_95_64, dst[1]);
	SET(DST_IP_63_32, dst[2]);
	SET(DST_IP_31_0, dst[3]);
#undef SET
}

/* Version and all 16 bytes of both addresses. */
static void
test_ipv6_addresses(void **state)
{
	static const uint32_t all[4] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	static const uint32_t src[4] = { 0x20010db8, 0x01020304, 0x05060708, 0x090a0b0c };
	static const uint32_t dst[4] = { 0x20010db8, 0xf1f2f3f4, 0xf5f6f7f8, 0xf9fafbfc };
	struct fixture *f = *state;
	struct rnic_fte_match_set_lyr_2_4 set;
	uint32_t table = dp_table_create(&f->dp, 0, 4, 0), group, i;
	int status;

	ipv6_match(&set, 0xf, all, all);
	group = dp_group_create(&f->dp, table, 0, 3, &set, &status);
	assert_int_equal(status, 0);
	ipv6_match(&set, 6, src, dst);
	assert_int_equal(flow_tir(f, table, group, 0, &set, 1), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	memset(f->out, 0, 74);
	memcpy(f->out, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x86\xdd\x60\0\0\0\0\x14\6\x40", 22);
	for (i = 0; i < 16; i++) {
		f->out[22 + i] = (uint8_t)(src[i / 4] >> (24 - 8 * (i % 4)));
		f->out[38 + i] = (uint8_t)(dst[i / 4] >> (24 - 8 * (i % 4)));
	}
	assert_int_equal(arrives(f, 74, NULL), 2);
	/* One bit of any byte makes it another one; so does another version. */
	for (i = 22; i < 54; i++) {
		f->out[i] ^= 0x10;
		assert_int_equal(arrives(f, 74, NULL), 0);
		f->out[i] ^= 0x10;
	}
	f->out[14] = 0x40;
	assert_int_equal(arrives(f, 74, NULL), 0);
	f->out[14] = 0x60;
	assert_int_equal(arrives(f, 74, NULL), 2);
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
	struct rnic_fte_match_set_lyr_2_4 set = { 0 };
	struct fixture *f = *state;
	uint32_t table = dp_table_create(&f->dp, 0, 4, 0), group;
	size_t i;
	int status;

	rnic_fte_match_set_lyr_2_4_set(&set, RNIC_FTE_MATCH_SET_LYR_2_4_FRAG, 1);
	group = dp_group_create(&f->dp, table, 0, 3, &set, &status);
	assert_int_equal(status, 0);
	assert_int_equal(flow_tir(f, table, group, 0, &set, 1), 0);
	memset(&set, 0, sizeof(set));
	assert_int_equal(flow_tir(f, table, group, 1, &set, 0), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		memset(f->out, 0, 74);
		memcpy(f->out, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
		memcpy(f->out + 12, frames[i].head, frames[i].bytes);
		assert_int_equal(arrives(f, 74, NULL), frames[i].fragment ? 2 : 1);
	}
}

/* reset_root_to_default: no root any more, whatever the command's table is. */
static void
test_root_back_to_none(void **state)
{
	struct fixture *f = *state;
	struct rnic_set_flow_table_root_in in = { 0 };
	uint32_t table = dp_table_create(&f->dp, 0, 2, 0), group;
	int status;

	group = dp_group_create(&f->dp, table, 0, 3, NULL, &status);
	assert_int_equal(flow_tir(f, table, group, 0, NULL, 0), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
		assert_int_equal(arrives_mac(f, 0x020000000001), 1);
		assert_int_equal(dp_command(&f->dp, RNIC_CMD_SET_FLOW_TABLE_ROOT, 1, &in,
					    sizeof(in), NULL, 0),
				 0);
		assert_int_equal(arrives_mac(f, 0x020000000001), 0);
	}
	assert_int_equal(dp_stats(&f->dp).rx_unmatched, 2);
}

static void
test_replication(void **state)
{
	struct fixture *f = *state;
	struct rnic_flow_destination to[QUEUES] = { 0 };
	uint32_t table, group;
	int status, i;

	table = dp_table_create(&f->dp, 0, 2, 0);
	group = dp_group_create(&f->dp, table, 0, 3, NULL, &status);
	for (i = 0; i < QUEUES; i++) {
		to[i] = drv_to_tir(f->rq[i].tirn);
	}
	assert_int_equal(dp_flow_set(&f->dp, table, group, 1, NULL, RNIC_FLOW_ACTION_FWD_DEST, 0,
				     to, QUEUES),
			 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	assert_int_equal(arrives_mac(f, 0x020000000001), 7);
	/* Refused: an index that is taken, one of no group, no destination, counting, an unknown TIR. */
	assert_int_equal(flow_tir(f, table, group, 1, NULL, 0), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(flow_tir(f, table, group, 4, NULL, 0), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(flow_tir(f, table, group + 1, 2, NULL, 0), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(
		dp_flow_set(&f->dp, table, group, 2, NULL, RNIC_FLOW_ACTION_FWD_DEST, 0, NULL, 0),
		RNIC_STATUS_BAD_PARAM);
	assert_int_equal(dp_flow_set(&f->dp, table, group, 2, NULL,
				     RNIC_FLOW_ACTION_DROP | RNIC_FLOW_ACTION_COUNT, 0, NULL, 0),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(flow_to(f, table, group, 2, NULL, RNIC_FLOW_DESTINATION_TIR, 0xffffff, 0),
			 RNIC_STATUS_BAD_RES);
	assert_int_equal(arrives_mac(f, 0x020000000001), 7);
}

/* A table takes so many groups, the device so many entries; one gone makes room for one. */
static void
test_limits_of_groups_and_entries(void **state)
{
	struct fixture *f = *state;
	struct softrnic_steering *steering = f->dp.dev->steering;
	uint32_t table = dp_table_create(&f->dp, 0, 11, 0), group = 0, first = 0, i;
	int status;

	for (i = 0; i < STEER_GROUPS_MAX; i++) {
		group = dp_group_create(&f->dp, table, i, i, NULL, &status);
		assert_int_equal(status, 0);
		first = i == 0 ? group : first;
	}
	dp_group_create(&f->dp, table, i, i, NULL, &status);
	assert_int_equal(status, RNIC_STATUS_LIM);
	assert_int_equal(drv_group_destroy(&f->dp.drv, table, group), 0);
	group = dp_group_create(&f->dp, table, i, i, NULL, &status);
	assert_int_equal(status, 0);
	/* As if the others were elsewhere: there is room for one. */
	steering->entry_count += (1u << SOFTRNIC_LOG_MAX_FLOW) - 1;
	assert_int_equal(flow_tir(f, table, group, i, NULL, 0), 0);
	assert_int_equal(flow_tir(f, table, first, 0, NULL, 0), RNIC_STATUS_LIM);
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, i), 0);
	assert_int_equal(flow_tir(f, table, first, 0, NULL, 0), 0);
	steering->entry_count -= (1u << SOFTRNIC_LOG_MAX_FLOW) - 1;
}

/* Ids have 24 bits, and come round to groups that are still there. */
static void
test_ids_of_groups_come_round(void **state)
{
	struct fixture *f = *state;
	struct softrnic_steering *steering = f->dp.dev->steering;
	uint32_t table = dp_table_create(&f->dp, 0, 11, 0), first, second, last, i;
	int status;

	first = dp_group_create(&f->dp, table, 0, 0, NULL, &status);
	assert_int_equal(flow_tir(f, table, first, 0, NULL, 0), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
	/* As if 2^24 others had come and gone since. */
	steering->next_group_id = first;
	second = dp_group_create(&f->dp, table, 1, 1, NULL, &status);
	assert_int_equal(status, 0);
	assert_int_equal(flow_tir(f, table, second, 1, NULL, 1), 0);
	assert_int_equal(drv_fte_delete(&f->dp.drv, table, 1), 0);
	/* It is the second one that goes. */
	assert_int_equal(drv_group_destroy(&f->dp.drv, table, second), 0);
	assert_int_equal(drv_group_destroy(&f->dp.drv, table, second), RNIC_STATUS_BAD_RES);
	assert_int_equal(arrives_mac(f, 0x020000000001), 1);
	/* However many are in a row. */
	steering->next_group_id = first;
	for (i = 1; i < STEER_GROUPS_MAX; i++)
		dp_group_create(&f->dp, table, i, i, NULL, &status);
	table = dp_table_create(&f->dp, 0, 11, 0);
	for (i = 0; i < STEER_GROUPS_MAX - 1; i++)
		dp_group_create(&f->dp, table, i, i, NULL, &status);
	steering->next_group_id = first;
	last = dp_group_create(&f->dp, table, i, i, NULL, &status);
	assert_int_equal(status, 0);
	assert_int_equal((last - first) & 0xffffff, STEER_DEVICE_GROUPS_MAX - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_root, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_port_modes, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_vport_takes_its_own_addresses_only, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_many_entries, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_chains, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_chains_of_any_level, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_headers, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_ipv6_addresses, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_fragments, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_root_back_to_none, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_limits_of_groups_and_entries, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_replication, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_ids_of_groups_come_round, setup, dp_teardown),
	};

	return cmocka_run_group_tests_name("data_steer", tests, NULL, NULL);
}
