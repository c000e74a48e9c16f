/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PPM_MAX	     1000000
#define DELAY_MAX    10000000
/* Of the daemon's own memory, for what a client has it make. */
#define CLIENT_MEMORY	  (UINT64_C(256) << 20)
#define CLIENT_MEMORY_MIN (UINT64_C(1) << 20)

static const char help[] =
	"Usage: softrnicd [--device KEY=VALUE,...]... [--dir DIR] [--user NAME]\n"
	"                 [--threads N] [--client-memory SIZE] [--log-level LEVEL] [-- EAL OPTIONS]\n"
	"\n"
	"Software RNICs as PCI devices behind vfio-user sockets, one socket a device and one\n"
	"client a socket. Needs neither root nor hugepages. Prints \"ready SOCKET\" per device.\n"
	"\n"
	"  --device KEY=VALUE,...  one device; without this option there is one with all defaults\n"
	"      name=NAME           default rnic0, rnic1, ...\n"
	"      count=N             N such devices, up to 64: NAME0 to NAMEN-1, or by the default names\n"
	"      socket=PATH         default DIR/NAME.sock; a name without '/' lies in DIR\n"
	"      wire=loop           the device receives what it sends (default)\n"
	"      wire=pair:NAME      a cable to the other device with the same pair NAME\n"
	"      wire=switch:NAME    a switch with the other devices with the same switch NAME, up to 64\n"
	"      wire=port:ETHDEV    through that DPDK port, which the EAL options create\n"
	"      wire=pcap           captures, by libpcap:\n"
	"      rx_pcap=FILE        receive FILE, as fast as there are buffers, then take the link\n"
	"                          down; it starts anew for each client\n"
	"      tx_pcap=FILE        write sent frames to FILE\n"
	"      wire=null           what is sent goes nowhere, and is gone\n"
	"      wire=source:BYTES   the same; frames of BYTES bytes come as fast as there are buffers\n"
	"      mac=xx:xx:xx:xx:xx:xx   default: derived from the name and the process\n"
	"      like=NAME           the card to imitate, with what it refuses: default, cx4lx, cx5,\n"
	"                          cx6dx, cx7, their virtual functions (cx5-vf, cx5-vf-trusted,\n"
	"                          ...), bluefield-host, realtime, oldfw, busyfw\n"
	"      id=VVVV:DDDD        PCI vendor and device in hex; default: those of the card that\n"
	"                          it imitates, 15b3:1017 (ConnectX-5) for like=default\n"
	"      drop=, dup=, reorder=, corrupt=   faults, in parts per million of the frames sent\n"
	"      delay=US            a fixed time on the wire for all frames sent, in microseconds\n"
	"      rule=RULE[+RULE]... faults of single RoCE packets, such as drop/psn:100/nth:1: see\n"
	"                          softrnicd(8)\n"
	"      bytes=1     RoCE packets are frames between two devices of this process, too\n"
	"      seed=N              seed of all random choices; default: from the system\n"
	"      health=MS           stop the health counter MS milliseconds after the first driver's\n"
	"                          bring-up, until a reset; only once\n"
	"      fatal=MS            its firmware meets its end MS milliseconds after that, until a reset;\n"
	"                          only once\n"
	"      bf=0|1              offer BlueFlame; default 0\n"
	"      thread=K            the thread that serves it, from 0 on; default: that of its pair's other\n"
	"                          end, or the one with the fewest devices\n"
	"      quirks=NAME[+NAME...]   behaviour of cards to test drivers with: see softrnicd(8)\n"
	"  --dir DIR               folder of the sockets; default $XDG_RUNTIME_DIR/softrnic, or\n"
	"                          /run/softrnic; created if it is missing, with mode 0700; one\n"
	"                          that others may write to, such as /tmp, is refused\n"
	"  --user NAME             user to become when started as root; default nobody\n"
	"  --threads N             threads that serve devices, up to 64; default 1\n"
	"  --client-memory SIZE    limit of the daemon's memory for the objects, rings and lists of\n"
	"                          a client: bytes, or with K, M or G; default 256M. If given, it\n"
	"                          also limits the holes in a client's files\n"
	"  --log-level LEVEL       error, warning, info (default) or debug; on stderr\n"
	"  --version, --help\n"
	"  -- EAL OPTIONS          for DPDK, which only these and wire=port: start; e.g. --no-huge\n"
	"                          without hugepages, --vdev= for virtual devices\n"
	"\n"
	"SIGTERM, SIGINT and SIGHUP end it. A second process, which can do nothing else, then\n"
	"removes its sockets; after a SIGKILL the next start replaces them.\n"
	"Exit code: 0 ended by a signal, 1 could not start, 2 usage.\n"
	"\n"
	"  softrnicd\n"
	"  softrnicd --device name=a,wire=pair:cable --device name=b,wire=pair:cable\n"
	"  softrnicd --device name=f,count=8,wire=switch:hub\n"
	"  softrnicd --threads 4 --device name=f,count=16,wire=switch:hub\n"
	"  softrnicd --dir ./sockets --device mac=02:00:00:00:00:01,drop=1000,seed=7\n"
	"  softrnicd --device wire=pcap,rx_pcap=in.pcap,tx_pcap=out.pcap\n"
	"  softrnicd --device wire=port:net_af_packet0 -- --no-huge --no-pci \\\n"
	"      --vdev=net_af_packet0,iface=eth0\n"
	"  dpdk-testpmd --vdev=net_rnic0,socket=$XDG_RUNTIME_DIR/softrnic/rnic0.sock -- -i\n";

static int __attribute__((format(printf, 1, 2))) usage_error(const char *format, ...)
{
	va_list args;

	fputs("softrnicd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (see --help)\n", stderr);
	return -EINVAL;
}

/* ---- The values of --device ---- */

/* All of the text is a number up to max. */
static int
parse_number(const char *text, int base, uint64_t max, uint64_t *number)
{
	char *end;

	if (!isxdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, base);
	return errno != 0 || *end != '\0' || *number > max ? -EINVAL : 0;
}

static int
parse_text(const char *text, char *to, size_t room)
{
	size_t length = strlen(text);

	if (length == 0 || length >= room)
		return -EINVAL;
	memcpy(to, text, length + 1);
	return 0;
}

/* A name stands in messages and in the path of a socket. */
static int
parse_name(struct device_options *device, const char *value)
{
	const char *c;

	device->named = true;
	for (c = value; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && strchr("_-.", *c) == NULL)
			return -EINVAL;
	}
	return value[0] == '.' ? -EINVAL : parse_text(value, device->name, sizeof(device->name));
}

static int
parse_count(struct device_options *device, const char *value)
{
	uint64_t number;

	if (parse_number(value, 10, DEVICES_MAX, &number) != 0 || number == 0)
		return -EINVAL;
	device->count = (unsigned int)number;
	return 0;
}

static int
parse_socket(struct device_options *device, const char *value)
{
	return parse_text(value, device->socket, sizeof(device->socket));
}

static int
parse_wire(struct device_options *device, const char *value)
{
	const char *name = strchr(value, ':');
	bool named = strncmp(value, "pair:", 5) == 0 || strncmp(value, "port:", 5) == 0 ||
		     strncmp(value, "switch:", 7) == 0 || strncmp(value, "source:", 7) == 0;

	if (named ? name[1] == '\0'
		  : strcmp(value, "loop") != 0 && strcmp(value, "pcap") != 0 &&
			    strcmp(value, "null") != 0)
		return -EINVAL;
	return parse_text(value, device->wire, sizeof(device->wire));
}

static int
parse_rx_pcap(struct device_options *device, const char *value)
{
	device->conf.rx_pcap = device->rx_pcap;
	return parse_text(value, device->rx_pcap, sizeof(device->rx_pcap));
}

static int
parse_tx_pcap(struct device_options *device, const char *value)
{
	device->conf.tx_pcap = device->tx_pcap;
	return parse_text(value, device->tx_pcap, sizeof(device->tx_pcap));
}

/* libpcap would want system calls that the process gives up. */
static int
parse_nothing(struct device_options *device, const char *value)
{
	(void)device;
	(void)value;
	return -EINVAL;
}

static int
parse_mac(struct device_options *device, const char *value)
{
	uint8_t *mac = device->conf.mac;
	int end = 0;

	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
		   &mac[3], &mac[4], &mac[5], &end) != 6 ||
	    value[end] != '\0' || end != 17)
		return -EINVAL;
	return (mac[0] & 1) != 0 ? -EINVAL : 0;
}

static int
parse_id(struct device_options *device, const char *value)
{
	uint64_t vendor, id;
	char text[10];

	if (parse_text(value, text, sizeof(text)) != 0 || strlen(text) != 9 || text[4] != ':')
		return -EINVAL;
	text[4] = '\0';
	if (parse_number(text, 16, 0xfffe, &vendor) != 0 ||
	    parse_number(text + 5, 16, 0xfffe, &id) != 0)
		return -EINVAL;
	device->id.vendor = vendor;
	device->id.device = id;
	return 0;
}

static int
parse_like(struct device_options *device, const char *value)
{
	device->conf.like = device->like;
	if (softrnic_like_pci_device(value) == 0)
		return -EINVAL;
	return parse_text(value, device->like, sizeof(device->like));
}

static int
parse_ppm(const char *value, uint32_t *ppm)
{
	uint64_t number;
	int rc = parse_number(value, 10, PPM_MAX, &number);

	if (rc == 0)
		*ppm = number;
	return rc;
}

static int
parse_drop(struct device_options *device, const char *value)
{
	return parse_ppm(value, &device->conf.drop_ppm);
}

static int
parse_dup(struct device_options *device, const char *value)
{
	return parse_ppm(value, &device->conf.dup_ppm);
}

static int
parse_reorder(struct device_options *device, const char *value)
{
	return parse_ppm(value, &device->conf.reorder_ppm);
}

static int
parse_corrupt(struct device_options *device, const char *value)
{
	return parse_ppm(value, &device->conf.corrupt_ppm);
}

static int
parse_delay(struct device_options *device, const char *value)
{
	uint64_t number;
	int rc = parse_number(value, 10, DELAY_MAX, &number);

	if (rc == 0)
		device->conf.delay_us = (uint32_t)number;
	return rc;
}

static int
parse_rule(struct device_options *device, const char *value)
{
	device->conf.rules = device->rules;
	return softrnic_rules_valid(value) ? parse_text(value, device->rules, sizeof(device->rules))
					   : -EINVAL;
}

static int
parse_seed(struct device_options *device, const char *value)
{
	return parse_number(value, 0, UINT64_MAX, &device->conf.seed);
}

static int
parse_milliseconds(const char *value, uint32_t *ms)
{
	uint64_t number;

	if (parse_number(value, 10, UINT32_MAX, &number) != 0 || number == 0)
		return -EINVAL;
	*ms = (uint32_t)number;
	return 0;
}

static int
parse_health(struct device_options *device, const char *value)
{
	return parse_milliseconds(value, &device->conf.health_stop_ms);
}

static int
parse_fatal(struct device_options *device, const char *value)
{
	return parse_milliseconds(value, &device->conf.fatal_ms);
}

static int
parse_thread(struct device_options *device, const char *value)
{
	uint64_t number;

	if (parse_number(value, 10, THREADS_MAX - 1, &number) != 0)
		return -EINVAL;
	device->thread = (unsigned int)number;
	device->placed = true;
	return 0;
}

static int
parse_bool(const char *value, bool *on)
{
	uint64_t number;
	int rc = parse_number(value, 10, 1, &number);

	if (rc == 0)
		*on = number == 1;
	return rc;
}

static int
parse_bytes(struct device_options *device, const char *value)
{
	return parse_bool(value, &device->conf.bytes);
}

static int
parse_bf(struct device_options *device, const char *value)
{
	return parse_bool(value, &device->conf.bf);
}

static int
parse_quirks(struct device_options *device, const char *value)
{
	device->conf.quirks = device->quirks;
	return softrnic_quirks_valid(value)
		       ? parse_text(value, device->quirks, sizeof(device->quirks))
		       : -EINVAL;
}

static const struct {
	const char *name;
	int (*parse)(struct device_options *device, const char *value);
	const char *wanted; /* or what this says */
	const char *(*describe)(void);
} keys[] = {
	{ "name", parse_name, "1 to 63 letters, digits, '_', '-' or '.'" },
	{ "count", parse_count, "a number of devices, 1 to 64" },
	{ "socket", parse_socket, "a path of 1 to 107 bytes" },
	{ "wire", parse_wire,
	  "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES" },
	{ "rx_pcap", parse_rx_pcap, "a path of 1 to 255 bytes" },
	{ "tx_pcap", parse_tx_pcap, "a path of 1 to 255 bytes" },
	{ "iface", parse_nothing,
	  "wire=port:net_af_packet0 and, behind \"--\", --vdev=net_af_packet0,iface=..., as this "
	  "process is jailed" },
	{ "mac", parse_mac, "xx:xx:xx:xx:xx:xx, no group address" },
	{ "like", parse_like, "one of " SOFTRNIC_LIKE_NAMES },
	{ "id", parse_id, "VVVV:DDDD in hex, such as 15b3:1017" },
	{ "drop", parse_drop, "parts per million, 0 to 1000000" },
	{ "dup", parse_dup, "parts per million, 0 to 1000000" },
	{ "reorder", parse_reorder, "parts per million, 0 to 1000000" },
	{ "corrupt", parse_corrupt, "parts per million, 0 to 1000000" },
	{ "delay", parse_delay, "microseconds, 0 to 10000000" },
	{ "rule", parse_rule, .describe = softrnic_rules_wanted },
	{ "bytes", parse_bytes, "0 or 1" },
	{ "seed", parse_seed, "a number of 64 bits" },
	{ "health", parse_health, "milliseconds, at least 1" },
	{ "fatal", parse_fatal, "milliseconds, at least 1" },
	{ "bf", parse_bf, "0 or 1" },
	{ "thread", parse_thread, "a thread's number, 0 to 63" },
	{ "quirks", parse_quirks, .describe = softrnic_quirks_wanted },
};

static int
unknown_key(const char *key)
{
	char list[160] = "";
	size_t i, at = 0;

	for (i = 0; i < COUNT(keys); i++) {
		if (keys[i].parse != parse_nothing)
			at += snprintf(list + at, sizeof(list) - at, " %s", keys[i].name);
	}
	return usage_error("--device: unknown key \"%s\"; there are%s", key, list);
}

static int
parse_pair(struct device_options *device, char *pair, unsigned int *seen)
{
	char *value = strchr(pair, '=');
	size_t i;

	if (value == NULL)
		return usage_error("--device: \"%s\" is not KEY=VALUE", pair);
	*value++ = '\0';
	for (i = 0; i < COUNT(keys); i++) {
		if (strcmp(keys[i].name, pair) == 0)
			break;
	}
	if (i == COUNT(keys))
		return unknown_key(pair);
	if (*seen & 1u << i)
		return usage_error("--device: %s= is given twice", pair);
	*seen |= 1u << i;
	if (keys[i].parse(device, value) != 0)
		return usage_error("--device: %s=%s: wanted is %s", pair, value,
				   keys[i].wanted != NULL ? keys[i].wanted : keys[i].describe());
	return 0;
}

/* ---- One of many ---- */

/* The same once more, with strings of its own. */
static void
copy_device(struct device_options *to, const struct device_options *from)
{
	*to = *from;
	if (from->conf.rx_pcap != NULL)
		to->conf.rx_pcap = to->rx_pcap;
	if (from->conf.tx_pcap != NULL)
		to->conf.tx_pcap = to->tx_pcap;
	if (from->conf.like != NULL)
		to->conf.like = to->like;
	if (from->conf.quirks != NULL)
		to->conf.quirks = to->quirks;
	if (from->conf.rules != NULL)
		to->conf.rules = to->rules;
}

/* What no other device may have: the number behind the name, or its place there, and added to the address and the seed. */
static int
number_device(struct device_options *device, const char *name, unsigned int number,
	      unsigned int place)
{
	static const uint8_t none[6];
	uint8_t *mac = device->conf.mac;
	uint32_t low = (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5];
	int length = snprintf(device->name, sizeof(device->name), "%s%u",
			      device->named ? name : "rnic", device->named ? number : place);

	if (length >= (int)sizeof(device->name))
		return usage_error("--device: name=%s: with a number it is too long", name);
	if (device->conf.seed != 0)
		device->conf.seed += number;
	if (memcmp(mac, none, sizeof(none)) == 0)
		return 0;
	if (low + number > 0xffffff)
		return usage_error("--device: mac=: its last three bytes have no room for count= "
				   "addresses");
	low += number;
	mac[3] = (uint8_t)(low >> 16);
	mac[4] = (uint8_t)(low >> 8);
	mac[5] = (uint8_t)low;
	return 0;
}

/* The last one is the first of its count. */
static int
multiply_device(struct options *options)
{
	struct device_options first = options->devices[options->ndevices - 1], *device;
	unsigned int number, at = options->ndevices - 1;
	int rc = 0;

	if (first.socket[0] != '\0')
		return usage_error("--device: socket= is one path, and not for count=");
	if (first.conf.rx_pcap != NULL || first.conf.tx_pcap != NULL)
		return usage_error("--device: rx_pcap= and tx_pcap= are files of one device, and "
				   "not for count=");
	if (at + first.count > DEVICES_MAX)
		return usage_error("more than %d devices", DEVICES_MAX);
	options->ndevices = at + first.count;
	for (number = 0; number < first.count && rc == 0; number++) {
		device = &options->devices[at + number];
		copy_device(device, &first);
		rc = number_device(device, first.name, number, at + number);
	}
	return rc;
}

static int
add_device(struct options *options, const char *text)
{
	struct device_options *device;
	char *copy, *pair, *rest;
	unsigned int seen = 0;
	int rc = 0;

	if (options->ndevices == DEVICES_MAX)
		return usage_error("more than %d devices", DEVICES_MAX);
	device = &options->devices[options->ndevices];
	snprintf(device->name, sizeof(device->name), "rnic%u", options->ndevices);
	snprintf(device->wire, sizeof(device->wire), "loop");
	options->ndevices++;

	copy = strdup(text);
	if (copy == NULL)
		return usage_error("no memory");
	rest = copy;
	while (rc == 0 && rest != NULL && *rest != '\0') {
		pair = strsep(&rest, ",");
		rc = parse_pair(device, pair, &seen);
	}
	free(copy);
	return rc == 0 && device->count != 0 ? multiply_device(options) : rc;
}

/* ---- The whole line ---- */

static int
parse_log_level(struct options *options, const char *text)
{
	static const char *const levels[] = {
		[VFU_LOG_ERROR] = "error",
		[VFU_LOG_WARNING] = "warning",
		[VFU_LOG_INFO] = "info",
		[VFU_LOG_DEBUG] = "debug",
	};
	size_t i;

	for (i = 0; i < COUNT(levels); i++) {
		if (strcmp(levels[i], text) == 0) {
			options->log_level = i;
			return 0;
		}
	}
	return usage_error("--log-level %s: expected error, warning, info, debug", text);
}

static int
parse_client_memory(struct options *options, const char *text)
{
	static const char units[] = "KMG";
	size_t length = strlen(text);
	const char *unit =
		length > 1 ? strchr(units, toupper((unsigned char)text[length - 1])) : NULL;
	unsigned int shift = unit == NULL ? 0 : 10 * (unsigned int)(unit - units + 1);
	char number[32];

	snprintf(number, sizeof(number), "%s", text);
	if (unit != NULL && length < sizeof(number))
		number[length - 1] = '\0';
	if (length >= sizeof(number) ||
	    parse_number(number, 10, UINT64_MAX >> shift, &options->client_memory) != 0 ||
	    options->client_memory << shift < CLIENT_MEMORY_MIN)
		return usage_error("--client-memory %s: bytes, at least 1M; K, M or G may stand "
				   "behind the number",
				   text);
	options->client_memory <<= shift;
	return 0;
}

/* How many threads serve the devices says --threads, and where they run is the system's business. */
static bool
names_lcores(const char *arg)
{
	static const char *const longs[] = { "--lcores", "--main-lcore" };
	size_t i;

	for (i = 0; i < COUNT(longs); i++) {
		if (strncmp(arg, longs[i], strlen(longs[i])) == 0)
			return true;
	}
	return arg[0] == '-' && arg[1] != '\0' && strchr("lcsS", arg[1]) != NULL;
}

static int
take_rest(struct options *options, int argc, char **argv)
{
	int i;

	if (optind >= argc)
		return 0;
	if (strcmp(argv[optind - 1], "--") != 0)
		return usage_error("unknown option \"%s\"", argv[optind]);
	options->eal_argv = argv + optind;
	options->eal_argc = argc - optind;
	for (i = 0; i < options->eal_argc; i++) {
		if (names_lcores(options->eal_argv[i]))
			return usage_error(
				"EAL option %s: --threads sets the number of threads, and "
				"taskset(1) ties them to CPUs",
				options->eal_argv[i]);
	}
	return 0;
}

/* Names are made of --device's order, so they can be known to be unique only at the end. */
static int
check_devices(struct options *options)
{
	struct device_options *device, *other;

	for (device = options->devices; device < options->devices + options->ndevices; device++) {
		for (other = options->devices; other < device; other++) {
			if (strcmp(other->name, device->name) == 0)
				return usage_error("two devices are named \"%s\"", device->name);
		}
		device->conf.name = device->name;
		device->conf.wire = device->wire;
		if (device->id.vendor == 0 && device->id.device == 0)
			device->id = (struct pci_identity){
				.vendor = 0x15b3,
				.device = softrnic_like_pci_device(device->conf.like),
			};
		device->conf.foreign_memory = true;
		device->conf.memory_max =
			options->client_memory != 0 ? options->client_memory : CLIENT_MEMORY;
		/* A virtual machine's memory is all holes. */
		device->holes_max =
			options->client_memory != 0 ? options->client_memory : UINT64_MAX;
	}
	return 0;
}

static int
parse_threads(struct options *options, const char *text)
{
	uint64_t number;

	if (parse_number(text, 10, THREADS_MAX, &number) != 0 || number == 0)
		return usage_error("--threads %s: a number, 1 to %d", text, THREADS_MAX);
	options->threads = (unsigned int)number;
	return 0;
}

/* The other end of its pair that has a thread, or NULL. */
static const struct device_options *
find_other_end(const struct options *options, const struct device_options *device)
{
	const struct device_options *other;

	if (strncmp(device->wire, "pair:", 5) != 0)
		return NULL;
	for (other = options->devices; other < options->devices + options->ndevices; other++) {
		if (other != device && other->placed && strcmp(other->wire, device->wire) == 0)
			return other;
	}
	return NULL;
}

static unsigned int
find_free_thread(const struct options *options, const unsigned int *counts)
{
	unsigned int thread, fewest = 0;

	for (thread = 1; thread < options->threads; thread++) {
		if (counts[thread] < counts[fewest])
			fewest = thread;
	}
	return fewest;
}

/* Those that say where they want to be come first. Within a thread a pair's frames are copied once. */
static int
place_devices(struct options *options)
{
	unsigned int counts[THREADS_MAX] = { 0 };
	struct device_options *device, *end = options->devices + options->ndevices;
	const struct device_options *other;

	for (device = options->devices; device < end; device++) {
		if (device->placed && device->thread >= options->threads)
			return usage_error("--device: thread=%u: there are %u (--threads)",
					   device->thread, options->threads);
		if (device->placed)
			counts[device->thread]++;
	}
	for (device = options->devices; device < end; device++) {
		if (device->placed)
			continue;
		other = find_other_end(options, device);
		device->thread = other != NULL ? other->thread : find_free_thread(options, counts);
		device->placed = true;
		counts[device->thread]++;
	}
	return 0;
}

int
options_parse(struct options *options, int argc, char **argv)
{
	/* --probe-jail is for the tests, and so is not in the help. */
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "dir", required_argument, NULL, 'D' },
		{ "user", required_argument, NULL, 'u' },
		{ "threads", required_argument, NULL, 't' },
		{ "client-memory", required_argument, NULL, 'm' },
		{ "log-level", required_argument, NULL, 'l' },
		{ "probe-jail", required_argument, NULL, 'p' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, rc = 0;

	memset(options, 0, sizeof(*options));
	options->log_level = VFU_LOG_INFO;
	options->threads = 1;
	opterr = 0;
	while (rc == 0 && (option = getopt_long(argc, argv, "+:h", longs, NULL)) != -1) {
		switch (option) {
		case 'd': rc = add_device(options, optarg); break;
		case 'D':
			if (parse_text(optarg, options->dir, sizeof(options->dir)) != 0)
				rc = usage_error("--dir: a path of 1 to %zu bytes",
						 sizeof(options->dir) - 1);
			break;
		case 'u': options->user = optarg; break;
		case 't': rc = parse_threads(options, optarg); break;
		case 'm': rc = parse_client_memory(options, optarg); break;
		case 'l': rc = parse_log_level(options, optarg); break;
		case 'p': options->probe_jail = optarg; break;
		case 'v': puts("softrnicd " RDMAPMD_VERSION); return 1;
		case 'h': fputs(help, stdout); return 1;
		case ':': rc = usage_error("%s wants a value", argv[optind - 1]); break;
		default: rc = usage_error("unknown option %s", argv[optind - 1]); break;
		}
	}
	if (rc == 0)
		rc = take_rest(options, argc, argv);
	if (rc == 0 && options->ndevices == 0)
		rc = add_device(options, "");
	if (rc == 0)
		rc = check_devices(options);
	return rc != 0 ? rc : place_devices(options);
}
