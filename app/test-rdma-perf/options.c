/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A row for each option, and one function for each kind of value. What options mean together is options_rules.c's; the options of
 * perftest that are not here are options_foreign.c's.
 */
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "options.h"
#include "options_private.h"
#include "say.h"

#define PORT_DEFAULT 18515 /* perftest's, and that of ibv_*_pingpong */
#define JSON_DEFAULT "perftest_out.json"

#define WARM_UP_MAX   128u /* messages of a queue pair */
#define WARM_UP_BYTES (1u << 20)

/* ---- Words ---- */

static const char *const ops[] = {
	[PERF_WRITE] = "write", [PERF_WRITE_IMM] = "write_imm", [PERF_SEND] = "send",
	[PERF_READ] = "read",	[PERF_FETCH_ADD] = "fetch_add", [PERF_CMP_SWAP] = "cmp_swap",
};
static const char *const modes[] = { [PERF_BW] = "bw", [PERF_LAT] = "lat" };
static const char *const exchanges[] = {
	[PERF_NATIVE] = "native",
	[PERF_PINGPONG] = "pingpong",
	[PERF_PERFTEST] = "perftest",
};
static const char *const switches[] = { "off", "on" };
static const char *const transports[] = {
	[RDMAPMD_QPT_RC] = "RC",
	[RDMAPMD_QPT_UC] = "UC",
	[RDMAPMD_QPT_UD] = "UD",
};

const char *
perf_op_name(enum perf_op op)
{
	return ops[op];
}

const char *
perf_transport_name(enum rdmapmd_qp_type transport)
{
	return transports[transport];
}

/* ---- Kinds of values ---- */

enum kind {
	FLAG,	/* bool: true */
	INT,	/* int32_t, any */
	NUMBER, /* uint32_t, min to max; INT_MAX: no more than that is said of it */
	COUNT,	/* uint64_t, min to max */
	WORD,	/* an enum, one of `words` */
	SWITCH, /* bool, one of `words` */
	TEXT,	/* const char * */
	OTHER,	/* what `parse` makes of it */
};

struct row {
	const char *name; /* long */
	int letter;	  /* or 0 */
	enum kind kind;
	bool may_be_bare; /* the value may be missing */
	size_t member;	  /* of struct perf_options */
	size_t has;	  /* bool that says it was given; 0: none */
	const char *title;
	const char *type; /* that perftest reads it as; NULL: int */
	long min, max;
	const char *const *words;
	unsigned int nwords;
	int (*parse)(struct perf_options *options, const char *value);
};

#define MEMBER(name) offsetof(struct perf_options, name)
#define WORDS(list)  .words = (list), .nwords = RTE_DIM(list)

/* Bytes, or with K or M at the end. What else stands behind the number perftest passes over: "4k" are four bytes. */
static int
parse_size(struct perf_options *options, const char *value)
{
	const size_t length = strlen(value);
	const char last = length > 0 ? value[length - 1] : '\0';
	const unsigned int shift = last == 'K' ? 10 : last == 'M' ? 20 : 0;
	const char *behind = value + length - (shift != 0);
	char *end;
	long number = strtol(value, &end, 0);

	if (number < 1 || number > UINT_MAX / 2 >> shift)
		return perf_usage_error("Message Size should be between %d and %d", 1,
					UINT_MAX / 2);
	options->size = (uint32_t)number << shift;
	if (end < behind)
		perf_say("--size=%s: taken for %u bytes, as perftest does: K and M multiply, and "
			 "nothing else",
			 value, options->size);
	return 0;
}

static int
parse_transport(struct perf_options *options, const char *value)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(transports); i++)
		if (transports[i] != NULL && strcmp(transports[i], value) == 0) {
			options->transport = i;
			return 0;
		}
	if (strcmp(value, "XRC") == 0 || strcmp(value, "DC") == 0 || strcmp(value, "SRD") == 0)
		return perf_usage_error("--connection=%s is not supported", value);
	return perf_usage_error("Invalid Connection type. Please choose from {RC,UC,UD}");
}

static int
parse_loopback(struct perf_options *options, const char *value)
{
	options->loopback = true;
	options->device_2 = value;
	return 0;
}

static int
parse_damage(struct perf_options *options, const char *value)
{
	char *end;
	const long offset = strtol(value, &end, 0);

	if (end == value || *end != '\0' || offset < 0 || offset > UINT32_MAX)
		return perf_usage_error("--damage=%s: wanted is an offset in a message", value);
	options->damage = offset;
	return 0;
}

/* In the order of --help. */
static const struct row rows[] = {
	{ "op", 0, WORD, .member = MEMBER(op), .has = MEMBER(has_op), WORDS(ops) },
	{ "mode", 0, WORD, .member = MEMBER(mode), .has = MEMBER(has_mode), WORDS(modes) },
	{ "exchange", 0, WORD, .member = MEMBER(exchange), WORDS(exchanges) },
	{ "loopback", 0, OTHER, .may_be_bare = true, .parse = parse_loopback },
	{ "lcores", 0, NUMBER, .member = MEMBER(lcores), .title = "Number of lcores", .min = 1,
	  .max = PERF_LCORES_MAX },
	{ "verify", 0, SWITCH, .member = MEMBER(verify), .has = MEMBER(has_verify),
	  WORDS(switches) },
	{ "damage", 0, OTHER, .parse = parse_damage },
	{ "plot", 0, TEXT, .member = MEMBER(plot_file) },
	{ "all", 'a', FLAG, .member = MEMBER(all) },
	{ "bidirectional", 'b', FLAG, .member = MEMBER(bidirectional) },
	{ "connection", 'c', OTHER, .parse = parse_transport },
	{ "ib-dev", 'd', TEXT, .member = MEMBER(device) },
	{ "duration", 'D', NUMBER, .member = MEMBER(duration), .title = "Duration period", .min = 1,
	  .max = INT_MAX },
	{ "events", 'e', FLAG, .member = MEMBER(events) },
	{ "CPU-freq", 'F', OTHER },
	{ "inline_size", 'I', NUMBER, .member = MEMBER(inline_size), .title = "Max inline",
	  .min = 0, .max = 912 },
	{ "iters", 'n', COUNT, .member = MEMBER(iters), .has = MEMBER(has_iters),
	  .title = "Iteration num", .min = 5, .max = 100000000 },
	{ "mtu", 'm', INT, .member = MEMBER(mtu), .has = MEMBER(has_mtu), .title = "MTU" },
	{ "outs", 'o', INT, .member = MEMBER(out_reads), .has = MEMBER(has_out_reads),
	  .title = "Outstanding Reads" },
	{ "port", 'p', NUMBER, .member = MEMBER(port), .title = "Port", .min = 1, .max = 65535 },
	{ "post_list", 'l', NUMBER, .member = MEMBER(post_list), .title = "Send Post List size",
	  .min = 1, .max = INT_MAX },
	{ "cq-mod", 'Q', NUMBER, .member = MEMBER(cq_mod), .has = MEMBER(has_cq_mod),
	  .title = "CQ moderation", .min = 1, .max = 1024 },
	{ "qp", 'q', NUMBER, .member = MEMBER(qps), .has = MEMBER(has_qps), .title = "num of Qps",
	  .min = 1, .max = 16384 },
	{ "rx-depth", 'r', NUMBER, .member = MEMBER(rx_depth), .has = MEMBER(has_rx_depth),
	  .title = "Rx depth", .min = 1, .max = 16384 },
	{ "size", 's', OTHER, .has = MEMBER(has_size), .parse = parse_size },
	{ "tx-depth", 't', NUMBER, .member = MEMBER(tx_depth), .has = MEMBER(has_tx_depth),
	  .title = "Tx depth", .min = 1, .max = 15000 },
	{ "qp-timeout", 'u', NUMBER, .member = MEMBER(timeout), .title = "QP Timeout",
	  .type = "uint8_t", .min = 0, .max = 31 },
	{ "gid-index", 'x', NUMBER, .member = MEMBER(gid_index), .title = "Gid index",
	  .type = "uint8_t", .min = 0, .max = 64 },
	{ "out_json", 0, FLAG, .member = MEMBER(json) },
	{ "out_json_file", 0, TEXT, .member = MEMBER(json_file) },
	{ "report_gbits", 0, FLAG, .member = MEMBER(gbits) },
	{ "use-srq", 0, FLAG, .member = MEMBER(use_srq) },
	{ "help", 'h', OTHER },
	{ "version", 'V', OTHER },
};

static int
unknown_word(const struct row *row, const char *value)
{
	char list[160] = "";
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < row->nwords; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i > 0 ? ", " : "",
				       row->words[i]);
	return perf_usage_error("--%s=%s: there are %s", row->name, value, list);
}

static int
take_word(const struct row *row, void *member, const char *value)
{
	unsigned int i;

	for (i = 0; i < row->nwords && strcmp(row->words[i], value) != 0; i++)
		;
	if (i == row->nwords)
		return unknown_word(row, value);
	if (row->kind == SWITCH)
		*(bool *)member = i != 0;
	else
		*(unsigned int *)member = i;
	return 0;
}

static int
no_number(const struct row *row, const char *value)
{
	return perf_usage_error("%s argument %s should be %s", row->title, value,
				row->type != NULL ? row->type : "int");
}

static int
take_int(const struct row *row, int32_t *member, const char *value)
{
	char *end;
	long number = strtol(value, &end, 0);

	if (end == value || *end != '\0')
		return no_number(row, value);
	*member = (int32_t)RTE_MAX((long)INT32_MIN, RTE_MIN((long)INT32_MAX, number));
	return 0;
}

static int
take_number(const struct row *row, struct perf_options *options, const char *value)
{
	void *member = (char *)options + row->member;
	char *end;
	/* As perftest: a sign, and what no number can hold, are for the bounds to judge; nothing is 0. */
	const long number = strtol(value, &end, 0);

	if (*end != '\0')
		return no_number(row, value);
	if (number < row->min && row->max == INT_MAX)
		return perf_usage_error("%s must be positive", row->title);
	if (number < row->min || number > row->max)
		return perf_usage_error("%s should be between %ld and %ld", row->title, row->min,
					row->max);
	if (row->kind == COUNT)
		*(uint64_t *)member = (uint64_t)number;
	else
		*(uint32_t *)member = (uint32_t)number;
	return 0;
}

static int
take(const struct row *row, struct perf_options *options, const char *value)
{
	void *member = (char *)options + row->member;

	if (row->has != 0)
		*(bool *)((char *)options + row->has) = true;
	switch (row->kind) {
	case FLAG: *(bool *)member = true; return 0;
	case INT: return take_int(row, member, value);
	case NUMBER:
	case COUNT: return take_number(row, options, value);
	case WORD:
	case SWITCH: return take_word(row, member, value);
	case TEXT: *(const char **)member = value; return 0;
	case OTHER: break;
	}
	return row->parse != NULL ? row->parse(options, value) : 0;
}

/* ---- getopt's tables, made of the rows ---- */

#define VALUE_ROW 0x1000 /* + number of the row */

static bool
takes_value(const struct row *row)
{
	return row->kind != FLAG && (row->kind != OTHER || row->parse != NULL);
}

struct tables {
	struct option longs[RTE_DIM(rows) + PERF_FOREIGN_MAX + 1];
	char shorts[2 * RTE_DIM(rows) + PERF_FOREIGN_MAX + 2];
};

static void
make_tables(struct tables *tables)
{
	unsigned int i, n = 0;
	char *letter = tables->shorts;

	*letter++ = ':';
	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct row *row = &rows[i];

		tables->longs[n++] = (struct option){
			.name = row->name,
			.has_arg = row->may_be_bare   ? optional_argument
				   : takes_value(row) ? required_argument
						      : no_argument,
			.val = VALUE_ROW + (int)i,
		};
		if (row->letter != 0) {
			*letter++ = (char)row->letter;
			if (takes_value(row))
				*letter++ = ':';
		}
	}
	n += perf_foreign_longs(tables->longs + n);
	tables->longs[n] = (struct option){ 0 };
	strcpy(letter, perf_foreign_letters);
}

static const struct row *
find_row(int value)
{
	unsigned int i;

	if (value >= VALUE_ROW && value < VALUE_ROW + (int)RTE_DIM(rows))
		return &rows[value - VALUE_ROW];
	for (i = 0; i < RTE_DIM(rows); i++)
		if (rows[i].letter != 0 && rows[i].letter == value)
			return &rows[i];
	return NULL;
}

static int
not_an_option(int value, char **argv)
{
	const char *name = perf_foreign_name(value);

	if (name != NULL)
		return perf_usage_error("--%s is not supported", name);
	if (value == ':')
		return perf_usage_error("%s wants a value", argv[optind - 1]);
	if (optopt != 0 && optopt < VALUE_ROW)
		return perf_usage_error("unknown option -%c", optopt);
	if (find_row(optopt) != NULL)
		return perf_usage_error("--%s takes no value", find_row(optopt)->name);
	return perf_usage_error("unknown option %s", argv[optind - 1]);
}

static int
parse_all(struct perf_options *options, int argc, char **argv)
{
	struct tables tables;
	const struct row *row;
	int value, rc = 0;

	make_tables(&tables);
	optind = 0;
	opterr = 0;
	while (rc == 0 &&
	       (value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		row = find_row(value);
		if (row == NULL)
			return not_an_option(value, argv);
		if (row->letter == 'h') {
			perf_options_help();
			return 1;
		}
		if (row->letter == 'V') {
			printf(PERF_PROGRAM " " RDMAPMD_VERSION "\n");
			return 1;
		}
		rc = take(row, options, optarg);
	}
	if (rc != 0)
		return rc;
	if (options->json && options->json_file == NULL)
		options->json_file = JSON_DEFAULT;
	if (optind < argc)
		options->host = argv[optind++];
	return optind < argc ? perf_usage_error("\"%s\": there is one HOST", argv[optind]) : 0;
}

int
perf_options_parse(struct perf_options *options, int argc, char **argv)
{
	int rc;

	*options = (struct perf_options){
		.transport = RDMAPMD_QPT_RC,
		.port = PORT_DEFAULT,
		.qps = 1,
		.post_list = 1,
		.inline_size = PERF_INLINE_AUTO,
		.timeout = 14,
		.verify = true,
		.damage = -1,
		.lcores = 1,
	};
	rc = parse_all(options, argc, argv);
	if (rc != 0)
		return rc;
	perf_options_default(options);
	return perf_options_check(options);
}

uint32_t
perf_warm_up_iters(const struct perf_options *o, uint32_t size)
{
	uint32_t n = RTE_MIN(WARM_UP_BYTES / size, WARM_UP_MAX);

	if (perf_op_receives(o->op))
		n = RTE_MIN(n, o->use_srq ? o->rx_depth / o->qps : o->rx_depth);
	return RTE_MAX(n / o->post_list, 1u) * o->post_list;
}
