/* SPDX-License-Identifier: BSD-3-Clause */

/* The devargs of a port: flat keys, each at most once; see net_rnic(7). */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_kvargs.h>
#include <rte_lcore.h>
#include <rte_pci.h>

#include "base/devargs.h"
#include "base/log.h"
#include "prm/qp.h"

#define PPM_MAX	       1000000u
#define DELAY_MAX      10000000u
#define LOG_MAX_QP_MIN 8 /* fewer than 256 save nothing */

typedef int set_fn(struct rnic_devargs *args, size_t offset, const char *value);

static int
parse_u64(const char *value, uint64_t max, uint64_t *result)
{
	char *end;

	/* strtoull() takes signs and spaces. */
	if (value[0] < '0' || value[0] > '9')
		return -EINVAL;
	errno = 0;
	*result = strtoull(value, &end, 0);
	if (errno != 0 || *end != '\0' || *result > max)
		return -EINVAL;
	return 0;
}

static int
set_socket(struct rnic_devargs *args, size_t offset, const char *value)
{
	RTE_SET_USED(offset);
	if (value[0] == '\0' || strlen(value) >= sizeof(args->socket))
		return -EINVAL;
	memcpy(args->socket, value, strlen(value) + 1);
	return 0;
}

static int
set_peer(struct rnic_devargs *args, size_t offset, const char *value)
{
	RTE_SET_USED(offset);
	args->peer_any = strcmp(value, "any") == 0;
	return args->peer_any || strcmp(value, "own") == 0 ? 0 : -EINVAL;
}

/* Which names there are the device knows, and says so. */
static int
set_like(struct rnic_devargs *args, size_t offset, const char *value)
{
	RTE_SET_USED(offset);
	if (value[0] == '\0' || strlen(value) >= sizeof(args->like))
		return -EINVAL;
	memcpy(args->like, value, strlen(value) + 1);
	return 0;
}

/* As sysfs names it, however it was written. */
static int
set_pci(struct rnic_devargs *args, size_t offset, const char *value)
{
	struct rte_pci_addr address;

	RTE_SET_USED(offset);
	if (rte_pci_addr_parse(value, &address) != 0)
		return -EINVAL;
	rte_pci_device_name(&address, args->pci, sizeof(args->pci));
	return 0;
}

static int
set_wire(struct rnic_devargs *args, size_t offset, const char *value)
{
	const char *name = strchr(value, ':');
	bool named = strncmp(value, "pair:", 5) == 0 || strncmp(value, "port:", 5) == 0 ||
		     strncmp(value, "switch:", 7) == 0 || strncmp(value, "source:", 7) == 0;

	RTE_SET_USED(offset);
	/* A port on the same device thread would wait for itself when it registers memory: a pair does that job. */
	if (strlen(value) >= sizeof(args->wire) || strncmp(value, "port:net_rnic", 13) == 0 ||
	    (named ? name[1] == '\0'
		   : strcmp(value, "loop") != 0 && strcmp(value, "pcap") != 0 &&
			     strcmp(value, "null") != 0))
		return -EINVAL;
	memcpy(args->wire, value, strlen(value) + 1);
	return 0;
}

static int
set_path(struct rnic_devargs *args, size_t offset, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= RNIC_PATH_BYTES)
		return -EINVAL;
	memcpy((char *)args + offset, value, strlen(value) + 1);
	return 0;
}

static int
set_ppm(struct rnic_devargs *args, size_t offset, const char *value)
{
	uint64_t ppm;

	if (parse_u64(value, PPM_MAX, &ppm) != 0)
		return -EINVAL;
	*(uint32_t *)((char *)args + offset) = (uint32_t)ppm;
	return 0;
}

static int
set_delay(struct rnic_devargs *args, size_t offset, const char *value)
{
	uint64_t us;

	RTE_SET_USED(offset);
	if (parse_u64(value, DELAY_MAX, &us) != 0)
		return -EINVAL;
	args->delay = (uint32_t)us;
	return 0;
}

static int
set_seed(struct rnic_devargs *args, size_t offset, const char *value)
{
	RTE_SET_USED(offset);
	return parse_u64(value, UINT64_MAX, &args->seed);
}

static int
set_poll(struct rnic_devargs *args, size_t offset, const char *value)
{
	uint64_t core;

	RTE_SET_USED(offset);
	if (strcmp(value, "thread") == 0) {
		args->poll_core = -1;
		return 0;
	}
	if (parse_u64(value, CPU_SETSIZE - 1, &core) != 0)
		return -EINVAL;
	args->poll_core = (int)core;
	return 0;
}

static int
set_bool(struct rnic_devargs *args, size_t offset, const char *value)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return -EINVAL;
	*(bool *)((char *)args + offset) = value[0] == '1';
	return 0;
}

/* Two on a page, which is of one kind. */
static int
set_registers(struct rnic_devargs *args, size_t offset, const char *value)
{
	uint64_t count;

	if (parse_u64(value, RNIC_BFREGS_MAX, &count) != 0 || count % 2 != 0)
		return -EINVAL;
	*(uint16_t *)((char *)args + offset) = (uint16_t)count;
	return 0;
}

static int
set_log_max_qp(struct rnic_devargs *args, size_t offset, const char *value)
{
	uint64_t log;

	RTE_SET_USED(offset);
	if (parse_u64(value, RNIC_LOG_MAX_QP, &log) != 0 || log < LOG_MAX_QP_MIN)
		return -EINVAL;
	args->log_max_qp = (uint8_t)log;
	return 0;
}

static int
set_cqe_comp(struct rnic_devargs *args, size_t offset, const char *value)
{
	static const char *const words[] = { "auto", "0", "1" };
	unsigned int i;

	RTE_SET_USED(offset);
	for (i = 0; i < RTE_DIM(words); i++) {
		if (strcmp(value, words[i]) == 0) {
			args->cqe_comp = (enum rnic_cqe_comp)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
set_mac(struct rnic_devargs *args, size_t offset, const char *value)
{
	struct rte_ether_addr mac;

	RTE_SET_USED(offset);
	if (rte_ether_unformat_addr(value, &mac) != 0 || !rte_is_valid_assigned_ether_addr(&mac))
		return -EINVAL;
	memcpy(args->mac, mac.addr_bytes, sizeof(args->mac));
	return 0;
}

/* One address, IPv4 ones mapped. Only what can be a host's. */
static int
parse_ip(const char *text, uint8_t gid[16])
{
	struct in6_addr address;
	uint8_t ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		rnic_gid_set_ipv4(gid, ipv4);
		/* 0/8, 127/8, 224/4 and what is above */
		return ipv4[0] == 0 || ipv4[0] == 127 || ipv4[0] >= 224 ? -EINVAL : 0;
	}
	if (inet_pton(AF_INET6, text, &address) != 1 || IN6_IS_ADDR_UNSPECIFIED(&address) ||
	    IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
	    IN6_IS_ADDR_V4MAPPED(&address))
		return -EINVAL;
	memcpy(gid, &address, sizeof(address));
	return 0;
}

/* Of an address that has some, a prefix is what its link shares; no host has all of the rest zeros, or of IPv4 ones. */
static int
parse_prefix(const char *text, const uint8_t gid[16], uint8_t *prefix)
{
	const bool ipv4 = rnic_gid_is_ipv4(gid);
	unsigned int bit, ones = 0, hosts;
	uint64_t bits;

	*prefix = 128;
	if (text == NULL)
		return 0;
	if (parse_u64(text, ipv4 ? 32 : 128, &bits) != 0 || bits == 0)
		return -EINVAL;
	*prefix = (uint8_t)(bits + (ipv4 ? 96 : 0));
	hosts = 128u - *prefix;
	for (bit = *prefix; bit < 128; bit++)
		ones += gid[bit / 8] >> (7 - bit % 8) & 1;
	/* Two hosts, or one, need all their addresses (RFC 3021, RFC 6164). */
	return hosts > 1 && (ones == 0 || (ipv4 && ones == hosts)) ? -EINVAL : 0;
}

static int
set_ip(struct rnic_devargs *args, size_t offset, const char *value)
{
	char text[RNIC_IPS_MAX * (INET6_ADDRSTRLEN + 4)];
	char *one, *prefix, *rest = text;

	RTE_SET_USED(offset);
	if (strlen(value) >= sizeof(text))
		return -EINVAL;
	memcpy(text, value, strlen(value) + 1);
	while ((one = strsep(&rest, "+")) != NULL) {
		prefix = one;
		one = strsep(&prefix, "/");
		if (args->ip_count == RNIC_IPS_MAX ||
		    parse_ip(one, args->ip[args->ip_count]) != 0 ||
		    parse_prefix(prefix, args->ip[args->ip_count],
				 &args->ip_prefix[args->ip_count]) != 0)
			return -EINVAL;
		args->ip_count++;
	}
	return 0;
}

static int
set_gw(struct rnic_devargs *args, size_t offset, const char *value)
{
	char text[2 * INET6_ADDRSTRLEN];
	char *one, *rest = text;
	uint8_t gid[16];
	bool ipv4;

	RTE_SET_USED(offset);
	if (strlen(value) >= sizeof(text))
		return -EINVAL;
	memcpy(text, value, strlen(value) + 1);
	while ((one = strsep(&rest, "+")) != NULL) {
		if (parse_ip(one, gid) != 0)
			return -EINVAL;
		ipv4 = rnic_gid_is_ipv4(gid);
		if (args->has_gw[ipv4])
			return -EINVAL;
		args->has_gw[ipv4] = true;
		memcpy(args->gw[ipv4], gid, sizeof(gid));
	}
	return 0;
}

static const struct devarg {
	const char *key;
	const char *values; /* for messages */
	set_fn *set;
	size_t offset;
	bool everywhere; /* else it makes the embedded device what it is, which socket= and pci= exclude */
} devargs[] = {
	{ "socket", "the path of a vfio-user socket, of 1 to 107 bytes", set_socket, 0, true },
	{ "peer", "own (a server of root's or of this user's) or any", set_peer, 0, true },
	{ "pci", "a PCI function on vfio-pci, as 0000:01:00.0", set_pci, 0, true },
	{ "wire",
	  "loop, pair:NAME, switch:NAME, port:ETHDEV (no net_rnic), pcap, null or source:BYTES",
	  set_wire, 0 },
	{ "rx_pcap", "the path of a capture, of 1 to 255 bytes", set_path,
	  offsetof(struct rnic_devargs, rx_pcap) },
	{ "tx_pcap", "the path of a capture, of 1 to 255 bytes", set_path,
	  offsetof(struct rnic_devargs, tx_pcap) },
	{ "iface", "the name of a network interface", set_path,
	  offsetof(struct rnic_devargs, iface) },
	{ "drop", "0 to 1000000 (parts per million)", set_ppm,
	  offsetof(struct rnic_devargs, drop) },
	{ "dup", "0 to 1000000 (parts per million)", set_ppm, offsetof(struct rnic_devargs, dup) },
	{ "reorder", "0 to 1000000 (parts per million)", set_ppm,
	  offsetof(struct rnic_devargs, reorder) },
	{ "corrupt", "0 to 1000000 (parts per million)", set_ppm,
	  offsetof(struct rnic_devargs, corrupt) },
	{ "delay", "0 to 10000000 (microseconds)", set_delay, 0 },
	{ "rule", "rules with + between them, such as drop/opcode:0x0a/nth:3", set_path,
	  offsetof(struct rnic_devargs, rule) },
	{ "bytes", "0 or 1", set_bool, offsetof(struct rnic_devargs, bytes) },
	{ "seed", "a number", set_seed, 0 },
	{ "poll", "thread, or a CPU to pin it to", set_poll, 0 },
	{ "bf", "0 or 1", set_bool, offsetof(struct rnic_devargs, bf), true },
	{ "bfregs", "an even number up to 512", set_registers,
	  offsetof(struct rnic_devargs, bfregs), true },
	{ "low_latency", "an even number below bfregs=", set_registers,
	  offsetof(struct rnic_devargs, low_latency), true },
	{ "log_max_qp", "8 to 18", set_log_max_qp, 0, true },
	{ "cqe_comp", "0, 1 or auto", set_cqe_comp, 0, true },
	{ "inline", "0 or 1", set_bool, offsetof(struct rnic_devargs, inline_l2) },
	{ "like", "a card's name of 1 to 31 bytes, such as cx4lx", set_like, 0 },
	{ "quirks", "names with + between them", set_path, offsetof(struct rnic_devargs, quirks) },
	{ "mac", "a unicast address as 02:00:00:00:00:01", set_mac, 0 },
	{ "ip",
	  "up to 8 IPv4 or IPv6 addresses of hosts, with + between them, each with /PREFIX or without",
	  set_ip, 0, true },
	{ "gw", "an IPv4 or an IPv6 address of a host, or one of each with + between them", set_gw,
	  0, true },
};
_Static_assert(RNIC_IPS_MAX == 8, "as ip= describes itself");
_Static_assert(RNIC_BFREGS_MAX == 512, "as bfregs= describes itself");
_Static_assert(LOG_MAX_QP_MIN == 8 && RNIC_LOG_MAX_QP == 18, "as log_max_qp= describes itself");

#define VALID_KEYS                                                                                   \
	"socket peer pci wire rx_pcap tx_pcap iface drop dup reorder corrupt delay rule bytes seed " \
	"poll bf bfregs low_latency log_max_qp cqe_comp inline like quirks mac ip gw"

struct parse {
	const char *device;
	struct rnic_devargs *args;
	uint32_t seen; /* bits by index of the table */
};

static int
parse_pair(const char *key, const char *value, void *arg)
{
	struct parse *parse = arg;
	size_t i;

	for (i = 0; i < RTE_DIM(devargs); i++)
		if (strcmp(key, devargs[i].key) == 0)
			break;
	if (i == RTE_DIM(devargs)) {
		RNIC_LOG_NAMED(ERR, parse->device, "unknown devarg '%s'; valid are: " VALID_KEYS,
			       key);
		return -EINVAL;
	}
	if (parse->seen & 1u << i) {
		RNIC_LOG_NAMED(ERR, parse->device,
			       "devarg '%s' is given twice; valid, once each, are: " VALID_KEYS,
			       key);
		return -EINVAL;
	}
	parse->seen |= 1u << i;
	if (value == NULL || devargs[i].set(parse->args, devargs[i].offset, value) != 0) {
		RNIC_LOG_NAMED(ERR, parse->device,
			       "devarg '%s=%s': must be %s; valid devargs are: " VALID_KEYS, key,
			       value != NULL ? value : "", devargs[i].values);
		return -EINVAL;
	}
	return 0;
}

/* Does a gateway lie on the link of an address? */
static bool
gw_is_near(const struct rnic_devargs *args, const uint8_t gw[16])
{
	const bool ipv4 = rnic_gid_is_ipv4(gw),
		   link_local = gw[0] == 0xfe && (gw[1] & 0xc0) == 0x80;
	unsigned int i;

	for (i = 0; i < args->ip_count; i++)
		if (rnic_gid_is_ipv4(args->ip[i]) == ipv4 &&
		    rnic_gid_shares(args->ip[i], gw, args->ip_prefix[i]))
			return true;
	return link_local;
}

static int
check_gateways(const struct parse *parse)
{
	const struct rnic_devargs *args = parse->args;
	unsigned int i;

	for (i = 0; i < RTE_DIM(args->gw); i++)
		if (args->has_gw[i] && !gw_is_near(args, args->gw[i])) {
			RNIC_LOG_NAMED(ERR, parse->device,
				       "devarg 'gw': the %s gateway is on the link of no address: "
				       "give ip=ADDRESS/PREFIX of that link",
				       i == 1 ? "IPv4" : "IPv6");
			return -EINVAL;
		}
	return 0;
}

/* Options of the device itself are given to its server, or fixed by the card. */
static int
check_together(const struct parse *parse)
{
	const bool socket = parse->args->socket[0] != '\0', pci = parse->args->pci[0] != '\0';
	size_t i;

	if (socket && pci) {
		RNIC_LOG_NAMED(ERR, parse->device,
			       "devargs 'socket' and 'pci' name a device each: give one of them");
		return -EINVAL;
	}
	if (parse->args->peer_any && !socket) {
		RNIC_LOG_NAMED(
			ERR, parse->device,
			"devarg 'peer' sets whose server may have the memory of the port: it "
			"wants socket=");
		return -EINVAL;
	}
	for (i = 0; (socket || pci) && i < RTE_DIM(devargs); i++) {
		if (!(parse->seen & 1u << i) || devargs[i].everywhere)
			continue;
		if (pci)
			RNIC_LOG_NAMED(ERR, parse->device,
				       "devarg '%s' is for the embedded device, and this is a PCI "
				       "function; valid devargs of one are: bf, ip, gw, "
				       "bfregs, low_latency, log_max_qp, cqe_comp",
				       devargs[i].key);
		else
			RNIC_LOG_NAMED(
				ERR, parse->device,
				"devarg '%s' is for the embedded device, and socket= names "
				"another: give it to the server (softrnicd --device %s=...); "
				"valid devargs with socket= are: peer, bf, ip, gw, bfregs, "
				"low_latency, log_max_qp, cqe_comp",
				devargs[i].key, devargs[i].key);
		return -EINVAL;
	}
	if (parse->args->low_latency >= parse->args->bfregs) {
		RNIC_LOG_NAMED(
			ERR, parse->device,
			"devargs bfregs=%u, low_latency=%u: at least two registers are shared, "
			"by queues that do not get one of their own",
			parse->args->bfregs, parse->args->low_latency);
		return -EINVAL;
	}
	if (pci && parse->args->bf)
		RNIC_LOG_NAMED(
			WARNING, parse->device,
			"devarg 'bf=1' has no use on a PCI function: vfio-pci maps registers "
			"uncached, so that 64 bytes are eight writes to the card, and a doorbell "
			"is one");
	return 0;
}

int
rnic_devargs_parse(const char *device, const char *text, struct rnic_devargs *args)
{
	struct parse parse = { .device = device, .args = args };
	struct rte_kvargs *pairs;
	int rc;

	*args = (struct rnic_devargs){
		.wire = "loop",
		.poll_core = -1,
		.log_max_qp = RNIC_LOG_MAX_QP,
		.bfregs = RNIC_BFREGS,
		.low_latency = RNIC_LOW_LATENCY,
	};
	if (text == NULL || text[0] == '\0')
		return 0;
	pairs = rte_kvargs_parse(text, NULL);
	if (pairs == NULL) {
		RNIC_LOG_NAMED(ERR, device,
			       "devargs '%s': must be key=value,...; valid keys are: " VALID_KEYS,
			       text);
		return -EINVAL;
	}
	rc = rte_kvargs_process(pairs, NULL, parse_pair, &parse) == 0 ? 0 : -EINVAL;
	rte_kvargs_free(pairs);
	if (rc == 0)
		rc = check_gateways(&parse);
	return rc == 0 ? check_together(&parse) : rc;
}
