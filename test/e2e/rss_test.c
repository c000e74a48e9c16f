/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive side scaling: each packet comes to the queue that DPDK's own computation of the hash says. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_thash.h>

#include "main.h"

#define QUEUES	    4
#define FLOWS	    32 /* of a kind */
#define RETA_SIZE   128
#define KEY_BYTES   40
#define FRAME_BYTES 90
#define WAIT_S	    60 /* for a frame: then it is lost */

#define ALL_TYPES                                                                              \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |             \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |    \
	 RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
	 RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

static const struct e2e_conf plain = { 0 };

/* Published with RSS; what the port has unless it is told another. */
static const uint8_t default_key[KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* What a port should do with its frames. */
struct rules {
	uint64_t hf;
	uint8_t key[KEY_BYTES];
	uint16_t reta[RETA_SIZE];
};

static const struct kind {
	const char *name;
	uint8_t version, protocol;
	bool fragment;
	/* ethdev's type for ports, and those for addresses */
	uint64_t ports, addresses;
} kinds[] = {
	{ "TCP/IPv4", 4, IPPROTO_TCP, false, RTE_ETH_RSS_NONFRAG_IPV4_TCP, RTE_ETH_RSS_IPV4 },
	{ "UDP/IPv4", 4, IPPROTO_UDP, false, RTE_ETH_RSS_NONFRAG_IPV4_UDP, RTE_ETH_RSS_IPV4 },
	{ "ICMP/IPv4", 4, IPPROTO_ICMP, false, 0,
	  RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER },
	{ "UDP/IPv4 in fragments", 4, IPPROTO_UDP, true, 0,
	  RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 },
	{ "TCP/IPv6", 6, IPPROTO_TCP, false, RTE_ETH_RSS_NONFRAG_IPV6_TCP, RTE_ETH_RSS_IPV6 },
	{ "UDP/IPv6", 6, IPPROTO_UDP, false, RTE_ETH_RSS_NONFRAG_IPV6_UDP, RTE_ETH_RSS_IPV6 },
	{ "ICMP/IPv6", 6, IPPROTO_ICMPV6, false, 0,
	  RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER },
	{ "UDP/IPv6 in fragments", 6, IPPROTO_UDP, true, 0,
	  RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 },
	{ "no IP", 0, 0, false, 0, 0 },
};

static uint64_t random_state = 7;

/* ---- Frames ---- */

/* The words that a hash of addresses and ports is of, in the host's order, as rte_softrss() takes them. */
struct flow {
	const struct kind *kind;
	uint32_t words[9], address_words;
};

static struct flow
random_flow(const struct kind *kind)
{
	struct flow flow = { .kind = kind, .address_words = kind->version == 6 ? 8 : 2 };
	unsigned int i;

	for (i = 0; i <= flow.address_words; i++)
		flow.words[i] = (uint32_t)e2e_random(&random_state);
	return flow;
}

static uint8_t *
put32(uint8_t *at, uint32_t value)
{
	value = rte_cpu_to_be_32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint8_t *
put_ipv4(uint8_t *at, const struct flow *flow)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(60),
		.fragment_offset = rte_cpu_to_be_16(flow->kind->fragment ? 0x2001 : 0x4000),
		.time_to_live = 64,
		.next_proto_id = flow->kind->protocol,
		.src_addr = rte_cpu_to_be_32(flow->words[0]),
		.dst_addr = rte_cpu_to_be_32(flow->words[1]),
	};

	memcpy(at, &ip, sizeof(ip));
	return at + sizeof(ip);
}

static uint8_t *
put_ipv6(uint8_t *at, const struct flow *flow)
{
	unsigned int i;

	at = put32(at, 0x60000000);
	at = put32(
		at,
		30u << 16 |
			(uint32_t)(flow->kind->fragment ? IPPROTO_FRAGMENT : flow->kind->protocol)
				<< 8 |
			64);
	for (i = 0; i < 8; i++)
		at = put32(at, flow->words[i]);
	if (flow->kind->fragment) {
		at = put32(at, (uint32_t)flow->kind->protocol << 24 | 0x0101);
		at = put32(at, 1);
	}
	return at;
}

/* To port 1; the last bytes of the source address say which it is. */
static struct rte_mbuf *
make_frame(const struct flow *flow, uint16_t number, bool tagged)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(e2e_pool);
	struct rte_ether_addr to;
	uint8_t *at;

	assert_non_null(mbuf);
	at = (uint8_t *)rte_pktmbuf_append(mbuf, FRAME_BYTES);
	assert_non_null(at);
	memset(at, 0, FRAME_BYTES);
	assert_int_equal(rte_eth_macaddr_get(1, &to), 0);
	memcpy(at, &to, sizeof(to));
	at[6] = 2;
	memcpy(at + 10, &number, sizeof(number));
	at += 12;
	if (tagged)
		at = put32(at, 0x81000000 | 77);
	switch (flow->kind->version) {
	case 4:
		*at++ = 0x08;
		*at++ = 0x00;
		at = put_ipv4(at, flow);
		break;
	case 6:
		*at++ = 0x86;
		*at++ = 0xdd;
		at = put_ipv6(at, flow);
		break;
	default: *at++ = 0x88; *at++ = 0xb5;
	}
	put32(at, flow->words[flow->address_words]);
	return mbuf;
}

static uint16_t
expected_queue(const struct flow *flow, const struct rules *rules)
{
	uint32_t words[9], hash = 0;

	memcpy(words, flow->words, sizeof(words));
	if (rules->hf & flow->kind->ports)
		hash = rte_softrss(words, flow->address_words + 1, rules->key);
	else if (rules->hf & flow->kind->addresses)
		hash = rte_softrss(words, flow->address_words, rules->key);
	return rules->reta[hash % RETA_SIZE];
}

/* The queue of each of `count` frames of port 1; QUEUES: it did not come. */
static void
receive_all(uint16_t *queues, unsigned int count)
{
	uint64_t end = rte_get_timer_cycles() + WAIT_S * rte_get_timer_hz();
	struct rte_mbuf *pkts[FLOWS];
	unsigned int got = 0;
	uint16_t queue, n, i, number;

	for (i = 0; i < count; i++)
		queues[i] = QUEUES;
	while (got < count && rte_get_timer_cycles() < end)
		for (queue = 0; queue < QUEUES; queue++) {
			n = rte_eth_rx_burst(1, queue, pkts, FLOWS);
			for (i = 0; i < n; i++) {
				memcpy(&number, rte_pktmbuf_mtod_offset(pkts[i], uint8_t *, 10),
				       sizeof(number));
				assert_true(number < count);
				assert_int_equal(queues[number], QUEUES);
				queues[number] = queue;
				rte_pktmbuf_free(pkts[i]);
			}
			got += n;
		}
}

/* Random flows of a kind, with and without a tag. How many queues they came to. */
static unsigned int
check_kind(const struct kind *kind, const struct rules *rules)
{
	struct rte_mbuf *pkts[FLOWS];
	struct flow flows[FLOWS];
	uint16_t queues[FLOWS];
	unsigned int seen = 0, i;

	for (i = 0; i < FLOWS; i++) {
		flows[i] = random_flow(kind);
		pkts[i] = make_frame(&flows[i], i, i % 4 == 3);
	}
	assert_int_equal(e2e_send(0, 0, pkts, FLOWS), FLOWS);
	receive_all(queues, FLOWS);
	for (i = 0; i < FLOWS; i++) {
		if (queues[i] != expected_queue(&flows[i], rules))
			fail_msg("%s, types 0x%" PRIx64 ": queue %u, not %u", kind->name, rules->hf,
				 queues[i], expected_queue(&flows[i], rules));
		seen |= 1u << queues[i];
	}
	return (unsigned int)__builtin_popcount(seen);
}

static void
check_all(const struct rules *rules)
{
	unsigned int i, seen;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		seen = check_kind(&kinds[i], rules);
		/* Of a table that names all queues, 32 flows meet more than one. */
		if (rules->hf & (kinds[i].ports | kinds[i].addresses))
			assert_true(seen > 1);
		else
			assert_int_equal(seen, 1);
	}
}

/* ---- Ports ---- */

static struct rules
default_rules(uint64_t hf)
{
	struct rules rules = { .hf = hf };
	unsigned int i;

	memcpy(rules.key, default_key, sizeof(rules.key));
	for (i = 0; i < RETA_SIZE; i++)
		rules.reta[i] = i % QUEUES;
	return rules;
}

static void
start_rss(uint64_t hf)
{
	assert_true(e2e_pair_start(
		&plain, &(struct e2e_conf){ .rx_queues = QUEUES, .rss = true, .rss_hf = hf }));
}

static void
set_reta(const uint16_t queues[RETA_SIZE])
{
	struct rte_eth_rss_reta_entry64 reta[RETA_SIZE / RTE_ETH_RETA_GROUP_SIZE];
	unsigned int i;

	for (i = 0; i < RETA_SIZE; i++) {
		reta[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = queues[i];
	}
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, RETA_SIZE), 0);
}

static void
check_reta(const uint16_t queues[RETA_SIZE])
{
	struct rte_eth_rss_reta_entry64 reta[RETA_SIZE / RTE_ETH_RETA_GROUP_SIZE];
	unsigned int i;

	for (i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(1, reta, RETA_SIZE), 0);
	for (i = 0; i < RETA_SIZE; i++)
		assert_int_equal(
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE],
			queues[i]);
}

/* ---- Tests ---- */

static void
info_tells_of_it(void **unused)
{
	struct rte_eth_dev_info info;

	(void)unused;
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	assert_int_equal(info.reta_size, RETA_SIZE);
	assert_int_equal(info.hash_key_size, KEY_BYTES);
	assert_true(info.flow_type_rss_offloads == ALL_TYPES);
	assert_true(info.max_rx_queues >= QUEUES);
}

static void
each_kind_of_packet_has_its_hash(void **unused)
{
	struct rules rules = default_rules(ALL_TYPES);

	(void)unused;
	start_rss(ALL_TYPES);
	check_all(&rules);
	assert_true(e2e_pair_stop());
}

/* From the start, and while the port runs. */
static void
hash_types_are_what_was_asked_for(void **unused)
{
	static const uint64_t choices[] = {
		0,
		RTE_ETH_RSS_IPV4,
		RTE_ETH_RSS_IPV6,
		RTE_ETH_RSS_NONFRAG_IPV4_TCP,
		RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV4,
		RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_FRAG_IPV6,
		RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_NONFRAG_IPV6_OTHER,
		ALL_TYPES,
	};
	struct rte_eth_rss_conf conf = { 0 };
	struct rules rules;
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(choices); i++) {
		start_rss(choices[i]);
		rules = default_rules(choices[i]);
		check_all(&rules);
		conf.rss_hf = rules.hf = choices[(i + 3) % RTE_DIM(choices)];
		assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
		check_all(&rules);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &conf), 0);
		assert_true(conf.rss_hf == rules.hf);
		assert_true(e2e_pair_stop());
	}
	conf.rss_hf = RTE_ETH_RSS_L2_PAYLOAD;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), -EINVAL);
}

static void
random_key(uint8_t key[KEY_BYTES])
{
	unsigned int i;

	for (i = 0; i < KEY_BYTES; i++)
		key[i] = (uint8_t)e2e_random(&random_state);
}

static void
the_key_is_what_was_asked_for(void **unused)
{
	struct rules rules = default_rules(ALL_TYPES);
	uint8_t now[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_hf = ALL_TYPES }, get = { .rss_key = now };

	(void)unused;
	random_key(rules.key);
	assert_true(e2e_pair_start(&plain, &(struct e2e_conf){ .rx_queues = QUEUES,
							       .rss = true,
							       .rss_hf = ALL_TYPES,
							       .rss_key = rules.key }));
	check_all(&rules);
	random_key(rules.key);
	conf.rss_key = rules.key;
	conf.rss_key_len = KEY_BYTES;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	check_all(&rules);
	/* Without one it stays, and a short one is refused. */
	conf.rss_key = NULL;
	conf.rss_key_len = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	conf.rss_key = now;
	conf.rss_key_len = 16;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), -EINVAL);
	get.rss_key_len = KEY_BYTES;
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &get), 0);
	assert_memory_equal(now, rules.key, KEY_BYTES);
	check_all(&rules);
	assert_true(e2e_pair_stop());
}

static void
the_redirection_table_is_what_was_asked_for(void **unused)
{
	struct rules rules = default_rules(ALL_TYPES);
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = 0 } };
	unsigned int i;

	(void)unused;
	start_rss(ALL_TYPES);
	check_reta(rules.reta);
	for (i = 0; i < RETA_SIZE; i++)
		rules.reta[i] = e2e_random(&random_state) % QUEUES;
	/* What has no hash goes where the first place says. */
	rules.reta[0] = 3;
	set_reta(rules.reta);
	check_reta(rules.reta);
	check_all(&rules);
	/* One place alone. */
	rules.reta[70] = (rules.reta[70] + 1) % QUEUES;
	reta[1].mask = 1 << 6;
	reta[1].reta[6] = rules.reta[70];
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, RETA_SIZE), 0);
	check_reta(rules.reta);
	check_all(&rules);
	/* No such queue, no such table. */
	reta[1].reta[6] = QUEUES;
	assert_int_not_equal(rte_eth_dev_rss_reta_update(1, reta, RETA_SIZE), 0);
	reta[1].reta[6] = 0;
	assert_int_not_equal(rte_eth_dev_rss_reta_update(1, reta, 64), 0);
	check_reta(rules.reta);
	check_all(&rules);
	assert_true(e2e_pair_stop());
}

/* Frames to one queue after the other: each counts its own, and is not counted by another. */
static void
each_queue_counts_what_came_to_it(void **unused)
{
	uint16_t reta[RETA_SIZE], queues[FLOWS], queue, i;
	struct rte_mbuf *pkts[FLOWS];
	struct rte_eth_stats stats;
	struct flow flow;

	(void)unused;
	start_rss(ALL_TYPES);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	for (queue = 0; queue < QUEUES; queue++) {
		for (i = 0; i < RETA_SIZE; i++)
			reta[i] = queue;
		set_reta(reta);
		for (i = 0; i <= queue; i++) {
			flow = random_flow(&kinds[0]);
			pkts[i] = make_frame(&flow, i, false);
		}
		assert_int_equal(e2e_send(0, 0, pkts, queue + 1), queue + 1);
		receive_all(queues, queue + 1);
		for (i = 0; i <= queue; i++)
			assert_int_equal(queues[i], queue);
	}
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	for (queue = 0; queue < QUEUES; queue++) {
		assert_int_equal(stats.q_ipackets[queue], queue + 1);
		assert_int_equal(stats.q_ibytes[queue], (queue + 1) * FRAME_BYTES);
		assert_int_equal(stats.q_errors[queue], 0);
	}
	assert_true(e2e_pair_stop());
}

/* What was asked for before the start, and at the next one. */
static void
a_restart_changes_nothing(void **unused)
{
	struct rules rules = default_rules(ALL_TYPES);
	struct rte_eth_rss_conf conf = { .rss_hf = RTE_ETH_RSS_IPV4 };
	unsigned int i;

	(void)unused;
	start_rss(ALL_TYPES);
	for (i = 0; i < RETA_SIZE; i++)
		rules.reta[i] = 1 + i % (QUEUES - 1);
	assert_true(e2e_pair_stop());
	/* Asked of a port that is stopped. */
	set_reta(rules.reta);
	rules.hf = RTE_ETH_RSS_IPV4;
	random_key(rules.key);
	conf.rss_key = rules.key;
	conf.rss_key_len = KEY_BYTES;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_dev_start(0), 0);
		assert_int_equal(rte_eth_dev_start(1), 0);
		assert_true(e2e_wait_link(0, true));
		check_reta(rules.reta);
		check_all(&rules);
		assert_true(e2e_pair_stop());
	}
}

static void
without_it_the_first_queue_has_all(void **unused)
{
	struct rules rules = default_rules(0);
	struct rte_eth_rss_conf conf = { .rss_hf = ALL_TYPES };

	(void)unused;
	assert_true(e2e_pair_start(&plain, &(struct e2e_conf){ .rx_queues = QUEUES }));
	check_all(&rules);
	assert_int_not_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	assert_true(e2e_pair_stop());
}

static const struct CMUnitTest tests[] = {
	E2E_PAIR_TEST(info_tells_of_it),
	E2E_PAIR_TEST(each_kind_of_packet_has_its_hash),
	E2E_PAIR_TEST(hash_types_are_what_was_asked_for),
	E2E_PAIR_TEST(the_key_is_what_was_asked_for),
	E2E_PAIR_TEST(the_redirection_table_is_what_was_asked_for),
	E2E_PAIR_TEST(each_queue_counts_what_came_to_it),
	E2E_PAIR_TEST(a_restart_changes_nothing),
	E2E_PAIR_TEST(without_it_the_first_queue_has_all),
};

E2E_PAIR_MAIN("rss", tests)
