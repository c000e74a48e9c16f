/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "packet.h"

int
packet_init(const char *name, int argc, char **argv)
{
	char ports[2][128];
	const char *const vdevs[] = { ports[0], ports[1], NULL };
	int i;

	for (i = 0; i < 2; i++)
		snprintf(ports[i], sizeof(ports[i]), "net_rnic%d,wire=pair:%s%s%s", i, name,
			 argc > 1 ? "," : "", argc > 1 ? argv[1] : "");
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
