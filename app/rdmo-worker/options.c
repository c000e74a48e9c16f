/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdmo.h>

#include "listen.h"
#include "options.h"
#include "say.h"

#define LOG_SIZE	(UINT64_C(64) << 20)
#define LOG_SIZE_MIN	UINT64_C(4096)
#define LOG_SIZE_MAX	(UINT64_C(1) << 48)
#define LOG_PRODUCERS	16
#define LOAD_SIZE	64
#define LOAD_SIZE_MAX	4000 /* it fits into a message of 4096 */
#define LOAD_BURST	32
#define CONNECTIONS	128
#define CONNECTIONS_MAX 2048
#define DURATION_MAX	(UINT64_C(365) * 86400)

static const char help[] =
	"Usage: rdmo-worker [EAL OPTIONS] -- --log NAME[,KEY=VALUE]... [--tickets DIR]\n"
	"                   [--listen ADDRESS] [--load DEVICE[,KEY=VALUE]...]... [OPTION]...\n"
	"       rdmo-worker --help | --version\n"
	"\n"
	"Serves remote direct memory operations: initiators append records to its logs by RDMA. It\n"
	"serves all net_rnic devices that EAL has, on all lcores but the main one, which reads the\n"
	"logs. Prints \"ready ADDRESS\" for each device.\n"
	"\n"
	"  --listen ADDRESS        where initiators connect first, by TCP or a local socket:\n"
	"                          HOST:PORT, [HOST]:PORT or unix:PATH; HOST is a number; default\n"
	"                          " RDMO_ADDRESS ". PORT 0: any that is free. The second device\n"
	"                          has PORT + 1, or PATH.1, and so on\n"
	"  --log NAME[,KEY=VALUE]...   a log, of letters, digits and _-. ; once or more\n"
	"      size=SIZE           of its ring: bytes, or with K, M or G; a power of two from 4K;\n"
	"                          default 64M\n"
	"      producers=N         who may append: numbers 0 to N-1; default 16\n"
	"      keep=0|1            0 (default): records are read, compared with their checksums,\n"
	"                          counted and released. 1: they stay, until the log is full\n"
	"      device=DEVICE       that serves it; default: the first one\n"
	"  --tickets DIR           write a ticket for each log, DIR/NAME, with mode 0600: who has it\n"
	"                          may append. DIR is created if it is missing, with mode 0700.\n"
	"                          Tickets are removed at the end\n"
	"  --load DEVICE[,KEY=VALUE]...   an initiator inside, on that device, which is not served\n"
	"                          then unless there is no other. Its rates are printed each second\n"
	"      log=NAME            to which it appends; default: the first one\n"
	"      size=BYTES          of a record's payload; default 64\n"
	"      burst=N             records, 1 to 256; default 32\n"
	"  --connections N         for how many initiators each lcore has room; default 128\n"
	"  --duration SECONDS      end by itself, as by SIGTERM\n"
	"  --json FILE             what was counted, at the end\n"
	"  --version, --help\n"
	"\n"
	"SIGTERM, SIGINT and SIGHUP end it: what is under way is executed and answered; a second one\n"
	"ends that. What was counted is printed. The logs end with the process.\n"
	"Exit code: 0 ended by a signal or after --duration; 1 could not start, or a device or an\n"
	"initiator inside was lost; 2 usage.\n"
	"\n"
	"  rdmo-worker -l 0-1 --vdev=net_rnic0,socket=w0.sock -- --log events --tickets tickets\n"
	"  rdmo-worker -l 0-2 -a 0000:3b:00.0 -- --listen 192.0.2.1:18515 \\\n"
	"      --log events,size=1G,producers=64 --log audit,keep=1 --tickets /run/rdmo\n"
	"  rdmo-worker -l 0-1 --vdev=net_rnic0,wire=pair:a --vdev=net_rnic1,wire=pair:a \\\n"
	"      --no-pci -- --log events --load net_rnic1\n";

/* ---- Values ---- */

/* All of the text is a decimal number, `min` to `max`. */
static int
parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' || *number < min || *number > max ? -EINVAL : 0;
}

static int
parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *to)
{
	uint64_t number;

	if (parse_number(text, min, max, &number) != 0)
		return -EINVAL;
	*to = (uint32_t)number;
	return 0;
}

/* Bytes, or with K, M, G. */
static int
parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMG";
	char digits[24];
	size_t length = strlen(text);
	const char *unit;
	unsigned int shift = 0;

	if (length == 0 || length >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, length + 1);
	unit = strchr(units, toupper((unsigned char)digits[length - 1]));
	if (unit != NULL) {
		shift = 10 * (unsigned int)(unit - units + 1);
		digits[length - 1] = '\0';
	}
	if (parse_number(digits, 1, UINT64_MAX >> shift, size) != 0)
		return -EINVAL;
	*size <<= shift;
	return 0;
}

/* It stands in messages, and is a file's. */
static int
parse_name(const char *text, char *name)
{
	const size_t length = strlen(text);

	if (length == 0 || length >= NAME_BYTES || text[0] == '.')
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("_-.", text[i]) == NULL)
			return -EINVAL;
	memcpy(name, text, length + 1);
	return 0;
}

/* As EAL has it: whether there is such a device is seen later. */
static int
parse_device(const char *text, char *device)
{
	const size_t length = strlen(text);

	if (length == 0 || length >= NAME_BYTES)
		return -EINVAL;
	memcpy(device, text, length + 1);
	return 0;
}

/* ---- NAME[,KEY=VALUE]... ---- */

struct key {
	const char *name;
	int (*parse)(void *object, const char *value);
	const char *wanted; /* what a value is */
};

static int
log_size(void *object, const char *value)
{
	struct log_options *log = object;

	if (parse_size(value, &log->size) != 0 || log->size < LOG_SIZE_MIN ||
	    log->size > LOG_SIZE_MAX || (log->size & (log->size - 1)) != 0)
		return -EINVAL;
	return 0;
}

static int
log_producers(void *object, const char *value)
{
	struct log_options *log = object;

	return parse_u32(value, 1, RDMO_LOG_PRODUCERS_MAX, &log->producers);
}

static int
log_keep(void *object, const char *value)
{
	struct log_options *log = object;
	uint32_t keep;

	if (parse_u32(value, 0, 1, &keep) != 0)
		return -EINVAL;
	log->keep = keep != 0;
	return 0;
}

static int
log_device(void *object, const char *value)
{
	struct log_options *log = object;

	return parse_device(value, log->device);
}

static int
load_log(void *object, const char *value)
{
	struct load_options *load = object;

	return parse_name(value, load->log);
}

static int
load_size(void *object, const char *value)
{
	struct load_options *load = object;

	return parse_u32(value, 0, LOAD_SIZE_MAX, &load->size);
}

static int
load_burst(void *object, const char *value)
{
	struct load_options *load = object;

	return parse_u32(value, 1, RDMO_LOG_WINDOW, &load->burst);
}

static const struct key log_keys[] = {
	{ "size", log_size, "a power of two from 4K to 256T" },
	{ "producers", log_producers, "1 to 65536" },
	{ "keep", log_keep, "0 or 1" },
	{ "device", log_device, "a device" },
	{ NULL, NULL, NULL },
};
static const struct key load_keys[] = {
	{ "log", load_log, "a log's name" },
	{ "size", load_size, "bytes, 0 to 4000" },
	{ "burst", load_burst, "records, 1 to 256" },
	{ NULL, NULL, NULL },
};

static int
parse_key(const char *option, const struct key *key, void *object, const char *text)
{
	const char *value = strchr(text, '=');
	const size_t length = value != NULL ? (size_t)(value - text) : strlen(text);

	for (; key->name != NULL; key++)
		if (strlen(key->name) == length && strncmp(key->name, text, length) == 0)
			break;
	if (key->name == NULL)
		return say_usage("%s: unknown key \"%s\"", option, text);
	if (value == NULL || key->parse(object, value + 1) != 0)
		return say_usage("%s: \"%s\": wanted is %s", option, text, key->wanted);
	return 0;
}

/* The keys behind the name, which is cut off there. */
static int
parse_keys(const char *option, char *name, const struct key *keys, void *object)
{
	char *at = strchr(name, ','), *next;
	int rc = 0;

	if (at != NULL)
		*at++ = '\0';
	for (; at != NULL && rc == 0; at = next) {
		next = strchr(at, ',');
		if (next != NULL)
			*next++ = '\0';
		rc = parse_key(option, keys, object, at);
	}
	return rc;
}

static int
parse_log(struct options *options, char *value)
{
	struct log_options *log = &options->logs[options->nlogs];

	if (options->nlogs == LOGS_MAX)
		return say_usage("there are more than %u times --log", LOGS_MAX);
	*log = (struct log_options){ .size = LOG_SIZE, .producers = LOG_PRODUCERS };
	if (parse_keys("--log", value, log_keys, log) != 0)
		return -EINVAL;
	if (parse_name(value, log->name) != 0)
		return say_usage("--log: \"%s\" is no name: letters, digits and _-. , 63 at most",
				 value);
	for (uint32_t i = 0; i < options->nlogs; i++)
		if (strcmp(options->logs[i].name, log->name) == 0)
			return say_usage("--log: there are two logs named %s", log->name);
	options->nlogs++;
	return 0;
}

static int
parse_load(struct options *options, char *value)
{
	struct load_options *load = &options->loads[options->nloads];

	if (options->nloads == LOADS_MAX)
		return say_usage("there are more than %u times --load", LOADS_MAX);
	*load = (struct load_options){ .size = LOAD_SIZE, .burst = LOAD_BURST };
	if (parse_keys("--load", value, load_keys, load) != 0)
		return -EINVAL;
	if (parse_device(value, load->device) != 0)
		return say_usage("--load: \"%s\" is no device", value);
	options->nloads++;
	return 0;
}

/* ---- What goes together ---- */

/* Producers of the initiators inside are the last ones: others count from 0. */
static int
place_load(struct options *options, struct load_options *load)
{
	const struct log_options *log;
	uint32_t before = 0;

	while (load->to < options->nlogs && load->log[0] != '\0' &&
	       strcmp(options->logs[load->to].name, load->log) != 0)
		load->to++;
	if (load->to == options->nlogs)
		return say_usage("--load: there is no --log %s", load->log);
	log = &options->logs[load->to];
	for (const struct load_options *other = options->loads; other < load; other++)
		before += other->to == load->to;
	if (before >= log->producers)
		return say_usage("--load: log %s has %u producers, and there are more initiators",
				 log->name, log->producers);
	if (load->size + sizeof(struct rdmo_record) > log->size / 2)
		return say_usage("--load: log %s has records of half its size at most", log->name);
	load->producer = log->producers - 1 - before;
	return 0;
}

static int
check(struct options *options)
{
	int rc = 0;

	if (options->nlogs == 0)
		return say_usage("there is nothing to serve: give it a --log");
	if (options->tickets == NULL && options->nloads == 0)
		return say_usage("nobody could append to the logs: give it --tickets, or --load");
	for (uint32_t i = 0; i < options->nlogs && rc == 0; i++)
		if (options->logs[i].device[0] != '\0' &&
		    options_load_on(options, options->logs[i].device))
			rc = say_usage("device %s has an initiator: it does not serve log %s",
				       options->logs[i].device, options->logs[i].name);
	for (uint32_t i = 0; i < options->nloads && rc == 0; i++)
		rc = place_load(options, &options->loads[i]);
	return rc;
}

bool
options_load_on(const struct options *options, const char *device)
{
	for (uint32_t i = 0; i < options->nloads; i++)
		if (strcmp(options->loads[i].device, device) == 0)
			return true;
	return false;
}

/* ---- Options ---- */

enum { LISTEN = 256, LOG, TICKETS, LOAD, CONNECTIONS_OF_LCORE, DURATION, JSON };

static const struct option longs[] = {
	{ "listen", required_argument, NULL, LISTEN },
	{ "log", required_argument, NULL, LOG },
	{ "tickets", required_argument, NULL, TICKETS },
	{ "load", required_argument, NULL, LOAD },
	{ "connections", required_argument, NULL, CONNECTIONS_OF_LCORE },
	{ "duration", required_argument, NULL, DURATION },
	{ "json", required_argument, NULL, JSON },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int
parse_listen(struct options *options, const char *value)
{
	char first[RDMO_ADDRESS_BYTES];

	if (listen_address(value, 0, first, sizeof(first)) != 0)
		return say_usage("--listen: \"%s\": wanted is HOST:PORT, [HOST]:PORT or unix:PATH",
				 value);
	options->listen = value;
	return 0;
}

static int
take(struct options *options, int option, char *value)
{
	switch (option) {
	case LISTEN: return parse_listen(options, value);
	case LOG: return parse_log(options, value);
	case TICKETS: options->tickets = value; return 0;
	case LOAD: return parse_load(options, value);
	case JSON: options->json = value; return 0;
	case CONNECTIONS_OF_LCORE:
		return parse_u32(value, 1, CONNECTIONS_MAX, &options->connections) == 0
			       ? 0
			       : say_usage("--connections: wanted is 1 to %u", CONNECTIONS_MAX);
	case DURATION:
		return parse_u32(value, 1, DURATION_MAX, &options->duration_s) == 0
			       ? 0
			       : say_usage("--duration: wanted are seconds, 1 and more");
	case 'h': fputs(help, stdout); return 1;
	case 'V': puts(PROGRAM " " RDMAPMD_VERSION); return 1;
	default: return -EINVAL;
	}
}

int
options_parse(struct options *options, int argc, char **argv)
{
	int option, rc = 0;

	*options = (struct options){ .listen = RDMO_ADDRESS, .connections = CONNECTIONS };
	optind = 0;
	opterr = 0;
	while (rc == 0 && (option = getopt_long(argc, argv, ":hV", longs, NULL)) != -1) {
		if (option == '?')
			return say_usage("unknown option %s", argv[optind - 1]);
		if (option == ':')
			return say_usage("%s wants a value", argv[optind - 1]);
		rc = take(options, option, optarg);
	}
	if (rc != 0)
		return rc;
	if (optind < argc)
		return say_usage("\"%s\" is no option", argv[optind]);
	return check(options);
}
