/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_thash.h>

#include "packet.h"

#define C_TAG	  0x8100
#define FIN	  0x01
#define PSH	  0x08
#define CWR	  0x80
#define LARGE_TCI 0x123

int
packet_init(const char *name, int argc, char **argv)
{
	static const char *const vdevs[] = { "net_rnic0,wire=pair:cable",
					     "net_rnic1,wire=pair:cable", NULL };

	return e2e_init(name, e2e_ports(argc, argv, vdevs));
}

void
packet_start(const struct e2e_conf *sender, const struct e2e_conf *receiver)
{
	assert_int_equal(e2e_port_setup(0, sender), 0);
	assert_int_equal(e2e_port_setup(1, receiver), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(e2e_wait_link(1, true));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
}

void
packet_stop(void)
{
	assert_int_equal(e2e_port_stop(0), 0);
	assert_int_equal(e2e_port_stop(1), 0);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
}

int
packet_teardown(void **state)
{
	(void)state;
	rte_eth_dev_stop(0);
	rte_eth_dev_stop(1);
	return 0;
}

uint32_t
packet_build(uint8_t *frame, const struct df_spec *spec, uint32_t at)
{
	struct rte_ether_addr to;

	assert_int_equal(rte_eth_macaddr_get(1, &to), 0);
	df_build(frame, spec, at);
	memcpy(frame, &to, sizeof(to));
	return df_length(spec);
}

struct rte_mbuf *
packet_mbuf(const uint8_t *frame, uint32_t bytes, unsigned int segs, const struct df_spec *spec)
{
	struct rte_mbuf *head = NULL, *mbuf;
	uint32_t at, part;
	char *room;

	for (at = 0; segs > 0; segs--, at += part) {
		mbuf = rte_pktmbuf_alloc(e2e_pool);
		assert_non_null(mbuf);
		part = (bytes - at) / segs;
		room = rte_pktmbuf_append(mbuf, part);
		assert_non_null(room);
		memcpy(room, frame + at, part);
		if (head == NULL)
			head = mbuf;
		else
			assert_int_equal(rte_pktmbuf_chain(head, mbuf), 0);
	}
	head->l2_len = df_l3(spec);
	head->l3_len = df_l4(spec) - df_l3(spec);
	head->l4_len = df_payload(spec) - df_l4(spec);
	return head;
}

void
packet_send(uint16_t queue, struct rte_mbuf **pkts, uint16_t count)
{
	assert_int_equal(e2e_send(0, queue, pkts, count), count);
}

struct rte_mbuf *
packet_receive(const uint8_t *frame, uint32_t bytes)
{
	static uint8_t copy[PACKET_ROOM];
	struct rte_mbuf *mbuf;
	const uint8_t *got;

	assert_int_equal(e2e_receive(1, &mbuf, 1), 1);
	got = rte_pktmbuf_read(mbuf, 0, mbuf->pkt_len, copy);
	assert_int_equal(mbuf->pkt_len, bytes);
	assert_memory_equal(got, frame, bytes);
	return mbuf;
}

void
packet_expect(const uint8_t *frame, uint32_t bytes)
{
	rte_pktmbuf_free(packet_receive(frame, bytes));
}

void
packet_expect_spec(const struct df_spec *spec, uint32_t at)
{
	static uint8_t frame[PACKET_ROOM];

	packet_expect(frame, packet_build(frame, spec, at));
}

uint64_t
packet_errors(void)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	return stats.oerrors;
}

/* ---- What a packet may ask for on its way out ---- */

struct rte_mbuf *
packet_make(const struct df_spec *spec, uint64_t ol_flags, unsigned int segs, uint32_t at)
{
	static uint8_t frame[PACKET_ROOM];
	uint32_t bytes = packet_build(frame, spec, at);
	struct rte_mbuf *mbuf;

	if (ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
		memset(frame + df_l3(spec) + 10, 0xa5, 2);
	if (ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG))
		memset(frame + df_l4_checksum_at(spec), 0x5a, 2);
	mbuf = packet_mbuf(frame, bytes, segs, spec);
	mbuf->ol_flags |= ol_flags | (spec->version == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
	return mbuf;
}

uint64_t
packet_checksums(const struct df_spec *spec)
{
	return (spec->proto == DF_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM) |
	       (spec->version == 4 ? RTE_MBUF_F_TX_IP_CKSUM : 0);
}

struct df_spec
packet_tagged(const struct df_spec *spec, uint16_t tci)
{
	struct df_spec with = *spec;

	with.types[1] = spec->types[0];
	with.tcis[1] = spec->tcis[0];
	with.types[0] = C_TAG;
	with.tcis[0] = tci;
	with.tags++;
	return with;
}

void
packet_send_large(const struct df_spec *spec, uint32_t mss, unsigned int segs, bool tag)
{
	struct rte_mbuf *mbuf =
		packet_make(spec, RTE_MBUF_F_TX_TCP_SEG | packet_checksums(spec), segs, 0);

	mbuf->tso_segsz = mss;
	if (tag) {
		mbuf->ol_flags |= RTE_MBUF_F_TX_VLAN;
		mbuf->vlan_tci = LARGE_TCI;
	}
	assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), 1);
	packet_send(0, &mbuf, 1);
}

void
packet_expect_large(const struct df_spec *spec, uint32_t mss, bool tag)
{
	struct df_spec part = tag ? packet_tagged(spec, LARGE_TCI) : *spec;
	uint32_t at;

	for (at = 0; at < spec->payload; at += mss, part.ip_id++) {
		part.payload = RTE_MIN(spec->payload - at, mss);
		part.seq = spec->seq + at;
		part.tcp_flags = spec->tcp_flags;
		if (at + part.payload < spec->payload)
			part.tcp_flags &= ~(FIN | PSH);
		if (at > 0)
			part.tcp_flags &= ~CWR;
		packet_expect_spec(&part, at);
	}
}

uint32_t
packet_hash(const uint8_t *frame, const struct df_spec *spec, bool ports, const uint8_t *key)
{
	uint32_t words[9], count = spec->version == 4 ? 2 : 8, i;

	memcpy(words, frame + df_l3(spec) + (spec->version == 4 ? 12 : 8), count * 4);
	if (ports)
		memcpy(&words[count++], frame + df_l4(spec), 4);
	for (i = 0; i < count; i++)
		words[i] = rte_be_to_cpu_32(words[i]);
	return rte_softrss(words, count, key);
}
