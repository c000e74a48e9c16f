/* SPDX-License-Identifier: BSD-3-Clause */

/* The devargs: what is taken, what is refused, and that refusals name the key and the valid ones. */

#include "unit.h"
#include "main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/devargs.h"
#include "base/log.h"

static void
test_defaults(void **state)
{
	const char *const empty[] = { NULL, "" };
	struct rnic_devargs args;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(empty); i++) {
		memset(&args, 0xa5, sizeof(args));
		assert_int_equal(rnic_devargs_parse("d", empty[i], &args), 0);
		assert_string_equal(args.wire, "loop");
		assert_string_equal(args.socket, "");
		assert_int_equal(args.drop | args.dup | args.reorder | args.corrupt | args.delay,
				 0);
		assert_int_equal(args.seed, 0);
		assert_int_equal(args.poll_core, -1);
		assert_false(args.bf);
		assert_memory_equal(args.mac, "\0\0\0\0\0\0", 6);
		assert_int_equal(args.ip_count, 0);
	}
}

static void
test_compressed_completions(void **state)
{
	struct rnic_devargs args;

	(void)state;
	assert_int_equal(rnic_devargs_parse("d", "", &args), 0);
	assert_int_equal(args.cqe_comp, RNIC_CQE_COMP_AUTO);
	assert_int_equal(rnic_devargs_parse("d", "cqe_comp=0,pci=41:00.1", &args), 0);
	assert_int_equal(args.cqe_comp, RNIC_CQE_COMP_OFF);
	assert_int_equal(rnic_devargs_parse("d", "socket=/s,cqe_comp=1", &args), 0);
	assert_int_equal(args.cqe_comp, RNIC_CQE_COMP_ON);
	assert_int_equal(rnic_devargs_parse("d", "cqe_comp=auto", &args), 0);
	assert_int_equal(args.cqe_comp, RNIC_CQE_COMP_AUTO);
}

static void
test_wires_without_another_end(void **state)
{
	struct rnic_devargs args;

	(void)state;
	assert_int_equal(rnic_devargs_parse("d", "wire=null", &args), 0);
	assert_string_equal(args.wire, "null");
	assert_int_equal(rnic_devargs_parse("d", "wire=source:64", &args), 0);
	assert_string_equal(args.wire, "source:64");
}

static void
test_every_key(void **state)
{
	struct rnic_devargs args;

	(void)state;
	assert_int_equal(rnic_devargs_parse("d",
					    "wire=pair:left,drop=1,dup=20,reorder=300,"
					    "corrupt=1000000,seed=0xffffffffffffffff,poll=1,bf=1,"
					    "mac=02:12:34:56:78:9a",
					    &args),
			 0);
	assert_string_equal(args.wire, "pair:left");
	assert_int_equal(args.drop, 1);
	assert_int_equal(args.dup, 20);
	assert_int_equal(args.reorder, 300);
	assert_int_equal(args.corrupt, 1000000);
	assert_true(args.seed == UINT64_MAX);
	assert_int_equal(args.poll_core, 1);
	assert_true(args.bf);
	assert_memory_equal(args.mac, "\x02\x12\x34\x56\x78\x9a", 6);
	assert_int_equal(rnic_devargs_parse("d", "socket=/run/softrnic/a.sock,bf=1", &args), 0);
	assert_string_equal(args.socket, "/run/softrnic/a.sock");
	assert_true(args.bf);
	assert_false(args.peer_any);
	assert_int_equal(rnic_devargs_parse("d", "socket=/s,peer=any", &args), 0);
	assert_true(args.peer_any);
	assert_int_equal(rnic_devargs_parse("d", "peer=own,socket=/s", &args), 0);
	assert_false(args.peer_any);
	assert_int_equal(rnic_devargs_parse("d", "wire=port:0000:01:00.0", &args), 0);
	assert_string_equal(args.wire, "port:0000:01:00.0");
	assert_int_equal(rnic_devargs_parse("d",
					    "wire=switch:hub,delay=10000000,"
					    "rule=drop/psn:0x10/nth:1+corrupt/bit:7",
					    &args),
			 0);
	assert_string_equal(args.wire, "switch:hub");
	assert_int_equal(args.delay, 10000000);
	assert_string_equal(args.rule, "drop/psn:0x10/nth:1+corrupt/bit:7");
	assert_int_equal(rnic_devargs_parse("d", "wire=port:0000:01:00.0", &args), 0);
	assert_string_equal(args.rule, "");
	assert_string_equal(args.rx_pcap, "");
	assert_int_equal(
		rnic_devargs_parse("d", "wire=pcap,rx_pcap=a,tx_pcap=/b/c,iface=eth0", &args), 0);
	assert_string_equal(args.wire, "pcap");
	assert_string_equal(args.rx_pcap, "a");
	assert_string_equal(args.tx_pcap, "/b/c");
	assert_string_equal(args.iface, "eth0");
	assert_string_equal(args.like, "");
	assert_int_equal(rnic_devargs_parse("d", "like=cx4lx,wire=loop", &args), 0);
	assert_string_equal(args.like, "cx4lx");
	assert_string_equal(args.quirks, "");
	assert_int_equal(rnic_devargs_parse("d", "quirks=uar-8+init-pages-60000", &args), 0);
	assert_string_equal(args.quirks, "uar-8+init-pages-60000");
	assert_int_equal(rnic_devargs_parse("d", "pci=41:00.1,log_max_qp=8", &args), 0);
	assert_int_equal(args.log_max_qp, 8);
	assert_int_equal(rnic_devargs_parse("d", "log_max_qp=18,socket=/s", &args), 0);
	assert_int_equal(args.log_max_qp, 18);
	assert_int_equal(rnic_devargs_parse("d", "poll=thread,bf=0,wire=loop", &args), 0);
	assert_int_equal(args.log_max_qp, 18);
	assert_int_equal(args.poll_core, -1);
	assert_false(args.bf);
}

/* As GIDs: IPv4 addresses mapped. */
static void
test_addresses(void **state)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 33 };
	static const uint8_t ipv6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 0x12 };
	struct rnic_devargs args;

	(void)state;
	assert_int_equal(rnic_devargs_parse("d", "ip=192.0.2.33", &args), 0);
	assert_int_equal(args.ip_count, 1);
	assert_memory_equal(args.ip[0], ipv4, 16);
	assert_int_equal(rnic_devargs_parse("d", "ip=2001:db8::12+192.0.2.33,socket=/s", &args), 0);
	assert_int_equal(args.ip_count, 2);
	assert_memory_equal(args.ip[0], ipv6, 16);
	assert_memory_equal(args.ip[1], ipv4, 16);
	assert_int_equal(rnic_devargs_parse("d",
					    "ip=1.0.0.1+1.0.0.2+1.0.0.3+1.0.0.4+1.0.0.5+1.0.0.6"
					    "+1.0.0.7+1.0.0.8",
					    &args),
			 0);
	assert_int_equal(args.ip_count, 8);
}

static void
test_links_and_gateways(void **state)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 254 };
	static const uint8_t ipv6[16] = { 0xfe, 0x80, [15] = 1 };
	struct rnic_devargs args;

	(void)state;
	assert_int_equal(rnic_devargs_parse("d",
					    "ip=192.0.2.1/24+2001:db8::1/64+192.0.3.1+192.0.4.0/31,"
					    "gw=fe80::1+192.0.2.254",
					    &args),
			 0);
	assert_int_equal(args.ip_prefix[0], 96 + 24);
	assert_int_equal(args.ip_prefix[1], 64);
	assert_int_equal(args.ip_prefix[2], 128);
	assert_int_equal(args.ip_prefix[3], 96 + 31);
	assert_true(args.has_gw[0] && args.has_gw[1]);
	assert_memory_equal(args.gw[0], ipv6, 16);
	assert_memory_equal(args.gw[1], ipv4, 16);
	/* Nobody could reach it. */
	assert_int_equal(rnic_devargs_parse("d", "ip=192.0.2.1/24,gw=192.0.3.254", &args), -EINVAL);
	assert_int_equal(rnic_devargs_parse("d", "ip=192.0.2.1,gw=192.0.2.254", &args), -EINVAL);
	assert_int_equal(rnic_devargs_parse("d", "gw=192.0.2.254", &args), -EINVAL);
	assert_int_equal(rnic_devargs_parse("d", "ip=192.0.2.1/24,gw=2001:db8::1", &args), -EINVAL);
}

/* What parsing says to the log. */
static void
parse_and_read_log(const char *text, int expected, char *said, size_t room)
{
	struct rnic_devargs args;
	FILE *stream = tmpfile();
	size_t n;

	assert_non_null(stream);
	rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_DEBUG);
	rte_openlog_stream(stream);
	assert_int_equal(rnic_devargs_parse("net_rnic7", text, &args), expected);
	rte_openlog_stream(NULL);
	rewind(stream);
	n = fread(said, 1, room - 1, stream);
	said[n] = '\0';
	fclose(stream);
}

static const struct {
	const char *text, *named;
} bad[] = {
	{ "colour=red", "'colour'" },
	{ "drop=1,drop=1", "'drop'" },
	{ "bf=0,wire=loop,bf=0", "'bf'" },
	{ "drop=1000001", "drop=1000001" },
	{ "drop=-1", "drop=-1" },
	{ "drop=", "drop=" },
	{ "dup=1x", "dup=1x" },
	{ "reorder= 1", "reorder= 1" },
	{ "corrupt=0x", "corrupt=0x" },
	{ "delay=10000001", "delay=10000001" },
	{ "delay=1ms", "delay=1ms" },
	{ "rule=", "rule=" },
	{ "seed=18446744073709551616", "seed=18446744073709551616" },
	{ "poll=cpu0", "poll=cpu0" },
	{ "poll=-1", "poll=-1" },
	{ "bf=2", "bf=2" },
	{ "bf=yes", "bf=yes" },
	{ "bfregs=514", "bfregs=514" },
	{ "bfregs=3", "bfregs=3" },
	{ "low_latency=5", "low_latency=5" },
	{ "log_max_qp=7", "log_max_qp=7" },
	{ "log_max_qp=19", "log_max_qp=19" },
	{ "cqe_comp=2", "cqe_comp=2" },
	{ "cqe_comp=", "cqe_comp=" },
	{ "mac=02:00:00:00:00", "mac=02:00:00:00:00" },
	{ "mac=01:00:00:00:00:01", "mac=01:00:00:00:00:01" },
	{ "mac=00:00:00:00:00:00", "mac=00:00:00:00:00:00" },
	{ "ip=", "ip=" },
	{ "ip=192.0.2.1+", "ip=192.0.2.1+" },
	{ "ip=192.0.2.256", "ip=192.0.2.256" },
	{ "ip=192.0.2.0/24", "ip=192.0.2.0/24" },
	{ "ip=0.0.0.0", "ip=0.0.0.0" },
	{ "ip=127.0.0.1", "ip=127.0.0.1" },
	{ "ip=224.0.0.1", "ip=224.0.0.1" },
	{ "ip=255.255.255.255", "ip=255" },
	{ "ip=::", "ip=::" },
	{ "ip=::1", "ip=::1" },
	{ "ip=ff02::1", "ip=ff02::1" },
	{ "ip=::ffff:192.0.2.1", "ip=::ffff:192.0.2.1" },
	{ "ip=192.0.2.255/24", "ip=192.0.2.255/24" },
	{ "ip=192.0.2.1/33", "ip=192.0.2.1/33" },
	{ "ip=192.0.2.1/0", "ip=192.0.2.1/0" },
	{ "ip=192.0.2.1/", "ip=192.0.2.1/" },
	{ "ip=192.0.2.1/24/24", "ip=192.0.2.1/24/24" },
	{ "ip=2001:db8::/64", "ip=2001:db8::/64" },
	{ "ip=2001:db8::1/129", "ip=2001:db8::1/129" },
	{ "gw=", "gw=" },
	{ "gw=192.0.2.1/24", "gw=192.0.2.1/24" },
	{ "gw=192.0.2.1+192.0.2.2", "gw=192.0.2.1+192.0.2.2" },
	{ "gw=ff02::2", "gw=ff02::2" },
	{ "ip=1.0.0.1+1.0.0.2+1.0.0.3+1.0.0.4+1.0.0.5+1.0.0.6+1.0.0.7+1.0.0.8+1.0.0.9",
	  "ip=1.0.0.1" },
	{ "socket=", "socket=" },
	{ "peer=", "peer=" },
	{ "peer=all", "peer=all" },
	{ "pci=", "pci=" },
	{ "pci=eth0", "pci=eth0" },
	{ "pci=0000:01:00", "pci=0000:01:00" },
	{ "pci=0000:01:00.0x", "pci=0000:01:00.0x" },
	{ "wire=", "wire=" },
	{ "wire=tap", "wire=tap" },
	{ "wire=pair:", "wire=pair:" },
	{ "wire=port:", "wire=port:" },
	{ "wire=switch:", "wire=switch:" },
	{ "wire=source:", "wire=source:" },
	{ "wire=source", "wire=source" },
	{ "wire=null:", "wire=null:" },
	{ "wire=port:net_rnic1", "wire=port:net_rnic1" },
	{ "wire=pcap:", "wire=pcap:" },
	{ "rx_pcap=", "rx_pcap=" },
	{ "tx_pcap=", "tx_pcap=" },
	{ "iface=", "iface=" },
	{ "like=", "like=" },
	{ "like=01234567890123456789012345678901", "like=0123" },
	{ "quirks=", "quirks=" },
	{ "wire=pair:"
	  "0123456789012345678901234567890123456789012345678901234567890123456789",
	  "wire=pair:0123" },
	{ "=1", "''" },
};

static void
test_refusals_name_the_key_and_list_the_valid_ones(void **state)
{
	static const char *const keys[] = { "socket",	   "peer",    "pci",  "wire", "rx_pcap",
					    "tx_pcap",	   "iface",   "drop", "dup",  "reorder",
					    "corrupt",	   "seed",    "poll", "bf",   "inline",
					    "like",	   "quirks",  "mac",  "ip",   "log_max_qp",
					    "bytes",	   "delay",   "rule", "gw",   "bfregs",
					    "low_latency", "cqe_comp" };
	char said[1024];
	size_t i, k;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		parse_and_read_log(bad[i].text, -EINVAL, said, sizeof(said));
		if (strstr(said, bad[i].named) == NULL || strstr(said, "net_rnic7") == NULL)
			fail_msg("'%s': said only: %s", bad[i].text, said);
		for (k = 0; k < RTE_DIM(keys); k++)
			if (strstr(said, keys[k]) == NULL)
				fail_msg("'%s': %s is not listed: %s", bad[i].text, keys[k], said);
	}
}

/* A function of a card, as sysfs names it; it has its wire and its address itself. */
static void
test_a_pci_function(void **state)
{
	static const char *const names[] = { "pci=0000:41:00.1", "pci=41:00.1",
					     "pci=0000:41:0.1,bf=1", "ip=192.0.2.1,pci=41:00.1" };
	static const char *const with[] = {
		"wire=loop", "drop=1",	 "delay=1",    "rule=drop",    "seed=1",
		"bytes=1",   "inline=1", "like=cx4lx", "quirks=uar-8", "mac=02:00:00:00:00:01"
	};
	struct rnic_devargs args;
	char text[64], said[1024];
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(names); i++) {
		assert_int_equal(rnic_devargs_parse("d", names[i], &args), 0);
		assert_string_equal(args.pci, "0000:41:00.1");
		assert_string_equal(args.socket, "");
	}
	for (i = 0; i < RTE_DIM(with); i++) {
		snprintf(text, sizeof(text), "%s,pci=41:00.1", with[i]);
		parse_and_read_log(text, -EINVAL, said, sizeof(said));
		assert_non_null(strstr(said, "this is a PCI function"));
		assert_non_null(strstr(said, "bf, ip"));
	}
	parse_and_read_log("socket=/s,pci=41:00.1", -EINVAL, said, sizeof(said));
	assert_non_null(strstr(said, "give one of them"));
}

/* With other devices nobody is at the other end of anything. */
static void
test_whose_the_peer_may_be_is_asked_with_a_socket(void **state)
{
	static const char *const without[] = { "peer=any", "pci=41:00.1,peer=any",
					       "wire=loop,peer=any" };
	char said[1024];
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(without); i++) {
		parse_and_read_log(without[i], -EINVAL, said, sizeof(said));
		assert_non_null(strstr(said, "'peer'"));
		assert_non_null(strstr(said, "wants socket="));
	}
}

/* What makes a device is said to whoever has it. */
static void
test_a_socket_excludes_what_is_the_embedded_devices(void **state)
{
	static const char *const with[] = { "wire=loop",
					    "wire=pair:a",
					    "drop=1",
					    "rx_pcap=a",
					    "dup=0",
					    "reorder=1",
					    "corrupt=1",
					    "seed=1",
					    "poll=thread",
					    "quirks=x",
					    "mac=02:00:00:00:00:01" };
	char text[256], key[32], said[1024];
	size_t i;
	int order;

	(void)state;
	for (i = 0; i < RTE_DIM(with); i++)
		for (order = 0; order < 2; order++) {
			snprintf(text, sizeof(text), "%s,%s", order ? "socket=/s" : with[i],
				 order ? with[i] : "socket=/s");
			snprintf(key, sizeof(key), "'%.*s'", (int)strcspn(with[i], "="), with[i]);
			parse_and_read_log(text, -EINVAL, said, sizeof(said));
			if (strstr(said, key) == NULL || strstr(said, "softrnicd --device") == NULL)
				fail_msg("'%s': said only: %s", text, said);
		}
}

/* It works, and is slower than without: vfio-pci maps no register for combined writes. */
static void
test_blueflame_of_a_pci_function_is_warned_of(void **state)
{
	static const char *const without[] = { "pci=41:00.1", "pci=41:00.1,bf=0", "bf=1",
					       "socket=/s,bf=1" };
	static const char *const with[] = { "pci=41:00.1,bf=1", "bf=1,ip=192.0.2.1,pci=41:00.1" };
	char said[1024];
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(without); i++) {
		parse_and_read_log(without[i], 0, said, sizeof(said));
		assert_string_equal(said, "");
	}
	for (i = 0; i < RTE_DIM(with); i++) {
		parse_and_read_log(with[i], 0, said, sizeof(said));
		assert_non_null(strstr(said, "'bf=1' has no use"));
	}
}

static void
test_some_doorbell_registers_are_shared(void **state)
{
	static const char *const all[] = { "low_latency=16", "bfregs=4", "bfregs=0,low_latency=0",
					   "bfregs=8,low_latency=10" };
	struct rnic_devargs args;
	char said[1024];
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(all); i++) {
		parse_and_read_log(all[i], -EINVAL, said, sizeof(said));
		assert_non_null(strstr(said, "at least two registers are shared"));
	}
	assert_int_equal(rnic_devargs_parse("d", "bf=1", &args), 0);
	assert_int_equal(args.bfregs, 16);
	assert_int_equal(args.low_latency, 4);
	assert_int_equal(rnic_devargs_parse("d", "low_latency=510,pci=41:00.1,bfregs=512", &args),
			 0);
	assert_int_equal(args.bfregs, 512);
	assert_int_equal(args.low_latency, 510);
	assert_int_equal(rnic_devargs_parse("d", "bfregs=6", &args), 0);
	assert_int_equal(args.low_latency, 4);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_defaults),
	cmocka_unit_test(test_every_key),
	cmocka_unit_test(test_wires_without_another_end),
	cmocka_unit_test(test_compressed_completions),
	cmocka_unit_test(test_addresses),
	cmocka_unit_test(test_links_and_gateways),
	cmocka_unit_test(test_refusals_name_the_key_and_list_the_valid_ones),
	cmocka_unit_test(test_some_doorbell_registers_are_shared),
	cmocka_unit_test(test_a_pci_function),
	cmocka_unit_test(test_blueflame_of_a_pci_function_is_warned_of),
	cmocka_unit_test(test_whose_the_peer_may_be_is_asked_with_a_socket),
	cmocka_unit_test(test_a_socket_excludes_what_is_the_embedded_devices),
};

PLAIN_MAIN("devargs", tests)
