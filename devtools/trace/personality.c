/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Capabilities of a card, for devtools/trace/personality.py: lines "in HEX" and "out HEX" of its commands become rows of a
 * personality (lib/softrnic/hca/like.h), one for each field in which it is not as our device is by itself.
 *
 * Whether a difference can be shown is a person's judgement. Where a personality has one of that field, it is taken over;
 * else what is less than ours is shown as the card has it, what we do not have at all is not built, and what is more than
 * ours is ours; the last two with a ? for the reason.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/command.h"
#include "softrnic/hca/like.h"
#include "softrnic/hca/caps.h"
#include "prm/layouts.h"

#define DWORDS	   (RNIC_HCA_CAP_BYTES / 4)
#define NAME_BYTES 160

static const struct {
	const char *name;
	unsigned int type;
	const struct rnic_layout_desc *layout;
} types[] = {
	{ "GENERAL", RNIC_CAP_GENERAL, &rnic_general_cap_desc },
	{ "ETHERNET_OFFLOADS", RNIC_CAP_ETHERNET_OFFLOADS, &rnic_ethernet_cap_desc },
	{ "ODP", RNIC_CAP_ODP, &rnic_odp_cap_desc },
	{ "ATOMIC", RNIC_CAP_ATOMIC, &rnic_atomic_cap_desc },
	{ "ROCE", RNIC_CAP_ROCE, &rnic_roce_cap_desc },
	{ "FLOW_TABLE", RNIC_CAP_FLOW_TABLE, &rnic_flow_table_cap_desc },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* One type's, [0] maximum and [1] current. */
struct pages {
	bool known[2];
	struct rnic_be32 card[2][DWORDS], own[2][DWORDS];
	uint32_t unnamed[DWORDS]; /* bits that no field of the layout has */
};
static struct pages all[TYPES];

/* ---- What the card has, and our device by itself ---- */

static unsigned char line_bytes[2][0x2000];

static size_t
read_hex(const char *text, unsigned char *bytes, size_t room)
{
	size_t count = 0;
	unsigned int value;

	while (count < room && sscanf(text + count * 2, "%2x", &value) == 1 &&
	       isxdigit((unsigned char)text[count * 2 + 1]))
		bytes[count++] = (unsigned char)value;
	return count;
}

/* The first answer of each kind: later ones are what a driver has asked for. */
static void
take(const unsigned char *in, size_t in_length, const unsigned char *out, size_t out_length)
{
	const unsigned int op_mod = in_length < 8 ? 0 : in[6] << 8 | in[7];
	size_t bytes;

	if (in_length < 8 || (in[0] << 8 | in[1]) != RNIC_CMD_QUERY_HCA_CAP ||
	    out_length <= RNIC_HCA_CAP_OFFSET || out[0] != RNIC_STATUS_OK)
		return;
	bytes = out_length - RNIC_HCA_CAP_OFFSET;
	for (unsigned int i = 0; i < TYPES; i++) {
		struct pages *pages = &all[i];

		if (types[i].type != op_mod >> 1 || pages->known[op_mod & 1])
			continue;
		pages->known[op_mod & 1] = true;
		memcpy(pages->card[op_mod & 1], out + RNIC_HCA_CAP_OFFSET,
		       bytes < RNIC_HCA_CAP_BYTES ? bytes : RNIC_HCA_CAP_BYTES);
	}
}

static int
read_commands(void)
{
	size_t in_length = 0, room = 0;
	char *line = NULL;
	int rc = 0;

	while (rc == 0 && getline(&line, &room, stdin) > 0) {
		if (strncmp(line, "in ", 3) == 0)
			in_length = read_hex(line + 3, line_bytes[0], sizeof(line_bytes[0]));
		else if (strncmp(line, "out ", 4) == 0)
			take(line_bytes[0], in_length, line_bytes[1],
			     read_hex(line + 4, line_bytes[1], sizeof(line_bytes[1])));
		else
			rc = -1;
	}
	free(line);
	return rc;
}

/* One of the two was not asked for: it is taken to be as the other. */
static void
complete(struct pages *pages)
{
	for (int i = 0; i < 2; i++) {
		if (!pages->known[i] && pages->known[!i])
			memcpy(pages->card[i], pages->card[!i], sizeof(pages->card[i]));
	}
}

static int
read_own(void)
{
	static struct rnic_be32 out[2 * DWORDS];
	const struct softrnic_conf conf = { .name = "default", .seed = 1 };
	const struct rnic_function_in in = { 0 };
	struct softrnic_poller *poller;
	struct softrnic *dev;

	if (softrnic_poller_create(&poller) != 0 || softrnic_create(poller, &conf, &dev) != 0)
		return -1;
	for (unsigned int i = 0; i < TYPES * 2; i++) {
		struct softrnic_cmd cmd = { .opcode = RNIC_CMD_QUERY_HCA_CAP,
					    .op_mod = (uint16_t)RNIC_HCA_CAP_OP_MOD(
						    types[i / 2].type, i % 2),
					    .in = &in,
					    .in_bytes = sizeof(in),
					    .out = out,
					    .out_bytes = RNIC_HCA_CAP_OFFSET + RNIC_HCA_CAP_BYTES };

		memset(out, 0, sizeof(out));
		if (softrnic_cmd_query_hca_cap(dev, &cmd) != RNIC_STATUS_OK)
			return -1;
		memcpy(all[i / 2].own[i % 2], out + RNIC_HCA_CAP_OFFSET / 4, RNIC_HCA_CAP_BYTES);
	}
	softrnic_destroy(dev);
	return softrnic_poller_destroy(poller);
}

/* ---- Rows ---- */

static bool
is_within(uint32_t field, uint32_t outer)
{
	return field == outer || (RNIC_FIELD_OFFSET(field) == RNIC_FIELD_OFFSET(outer) &&
				  (RNIC_FIELD_HIGH(field) > 31) == (RNIC_FIELD_HIGH(outer) > 31) &&
				  RNIC_FIELD_HIGH(field) <= RNIC_FIELD_HIGH(outer) &&
				  RNIC_FIELD_LOW(field) >= RNIC_FIELD_LOW(outer));
}

/* What a row says of a field within its own. */
static bool
says(const struct softrnic_like_cap *row, uint32_t field, const uint64_t card[2])
{
	const uint32_t shift = RNIC_FIELD_LOW(field) - RNIC_FIELD_LOW(row->field);

	return (row->max >> shift & rnic_field_mask(field)) == card[0] &&
	       (row->current >> shift & rnic_field_mask(field)) == card[1];
}

/*
 * The judgement that a personality has of it. It holds for each card if our own value is shown, or if we do not have it at
 * all; else for one that is as that card was.
 */
static const struct softrnic_like_cap *
judged(unsigned int type, uint32_t field, const uint64_t card[2], const uint64_t own[2])
{
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		for (unsigned int p = 0; softrnic_likes[i].parts[p] != NULL; p++) {
			const struct softrnic_like_part *part = softrnic_likes[i].parts[p];

			for (unsigned int k = 0; k < part->cap_count; k++) {
				const struct softrnic_like_cap *row = &part->caps[k];

				if (row->type != type || !is_within(field, row->field))
					continue;
				if (row->shown == SOFTRNIC_LIKE_OWN ||
				    (row->shown == SOFTRNIC_LIKE_NOT_BUILT && own[0] == 0 &&
				     own[1] == 0) ||
				    says(row, field, card))
					return row;
			}
		}
	}
	return NULL;
}

static const char *
judge(unsigned int type, uint32_t field, const uint64_t card[2], const uint64_t own[2],
      const char **why)
{
	static const char *const shown[] = {
		[SOFTRNIC_LIKE_AS_CARD] = "AS_CARD",
		[SOFTRNIC_LIKE_OWN] = "OWN",
		[SOFTRNIC_LIKE_NOT_BUILT] = "NOT_BUILT",
	};
	const struct softrnic_like_cap *before = judged(type, field, card, own);

	*why = before != NULL ? before->why : "?";
	if (before != NULL)
		return shown[before->shown];
	if (card[0] <= own[0] && card[1] <= own[1]) {
		*why = NULL;
		return shown[SOFTRNIC_LIKE_AS_CARD];
	}
	return shown[own[0] == 0 && own[1] == 0 ? SOFTRNIC_LIKE_NOT_BUILT : SOFTRNIC_LIKE_OWN];
}

static void
put_row(unsigned int index, const char *name, bool named, uint32_t field, const char *known)
{
	const struct pages *pages = &all[index];
	uint64_t card[2], own[2];
	const char *shown, *why;

	for (int i = 0; i < 2; i++) {
		card[i] = rnic_field_get(pages->card[i], field);
		own[i] = rnic_field_get(pages->own[i], field);
	}
	if (card[0] == own[0] && card[1] == own[1])
		return;
	shown = judge(types[index].type, field, card, own, &why);
	printf("\t{ \"%s\", RNIC_CAP_%s, SOFTRNIC_LIKE_%s, ", name, types[index].name, shown);
	if (named)
		printf("RNIC_%s", name);
	else
		printf("RNIC_FIELD(0x%x, %u, %u)", RNIC_FIELD_OFFSET(field), RNIC_FIELD_HIGH(field),
		       RNIC_FIELD_LOW(field));
	printf(", 0x%" PRIx64 ", 0x%" PRIx64 ", ", card[0], card[1]);
	if (why == NULL)
		printf("NULL");
	else
		printf("\"%s\"", why);
	printf(", %s },\n", known);
}

static void
upper(char *text)
{
	for (; *text != '\0'; text++)
		*text = (char)toupper((unsigned char)*text);
}

/* Fields of a layout that stands at an offset of the type's, under the names that lead to it; then those within it. */
static void
put_layout(unsigned int index, const struct rnic_layout_desc *layout, uint32_t offset,
	   const char *path, const char *known)
{
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < layout->field_count; i++) {
		const struct rnic_field_desc *field = &layout->fields[i];
		const uint64_t bits =
			rnic_field_mask(RNIC_FIELD(0u, (uint32_t)field->high, (uint32_t)field->low))
			<< field->low;
		uint32_t *unnamed = &all[index].unnamed[(offset + field->offset) / 4];

		*unnamed &= ~(uint32_t)(field->high > 31 ? bits >> 32 : bits);
		if (field->high > 31)
			unnamed[1] &= ~(uint32_t)bits;
		snprintf(name, sizeof(name), "%s_%s", path, rnic_field_short_name(layout, field));
		upper(name);
		put_row(index, name, offset == 0,
			RNIC_FIELD(offset + field->offset, (uint32_t)field->high,
				   (uint32_t)field->low),
			known);
	}
	for (uint32_t i = 0; i < rnic_inner_count; i++) {
		if (rnic_inners[i].outer != layout)
			continue;
		snprintf(name, sizeof(name), "%s_%s", path, rnic_inners[i].member);
		put_layout(index, rnic_inners[i].inner, offset + rnic_inners[i].offset, name,
			   known);
	}
}

static uint32_t
differing(const struct pages *pages, int current, uint32_t dword)
{
	return rnic_be32_to_cpu(pages->card[current][dword]) ^
	       rnic_be32_to_cpu(pages->own[current][dword]);
}

/* Bits without a name, those beside each other in one row. */
static void
put_unnamed(unsigned int index, const char *path, const char *known)
{
	const struct pages *pages = &all[index];
	char name[NAME_BYTES + 32];

	for (uint32_t i = 0; i < DWORDS; i++) {
		uint32_t left =
			pages->unnamed[i] & (differing(pages, 0, i) | differing(pages, 1, i));

		while (left != 0) {
			uint32_t high = 31 - (uint32_t)__builtin_clz(left), low = high;

			while (low > 0 && left & 1u << (low - 1))
				low--;
			left &= ~(uint32_t)(rnic_field_mask(RNIC_FIELD(0u, high, low)) << low);
			snprintf(name, sizeof(name), "%s_0X%02X_%u_%u", path, 4 * i, high, low);
			put_row(index, name, false, RNIC_FIELD(4 * i, high, low), known);
		}
	}
}

int
main(int argc, char **argv)
{
	char path[NAME_BYTES];
	bool any = false;

	if (argc != 2) {
		fprintf(stderr, "usage: trace-personality KNOWN <COMMANDS\n");
		return 2;
	}
	if (read_commands() != 0 || read_own() != 0) {
		fprintf(stderr,
			"trace-personality: the commands are not understood, or there is no device\n");
		return 1;
	}
	for (unsigned int i = 0; i < TYPES; i++) {
		if (!all[i].known[0] && !all[i].known[1])
			continue;
		any = true;
		complete(&all[i]);
		memset(all[i].unnamed, 0xff, sizeof(all[i].unnamed));
		snprintf(path, sizeof(path), "%s", types[i].layout->name);
		upper(path);
		put_layout(i, types[i].layout, 0, path, argv[1]);
		put_unnamed(i, path, argv[1]);
	}
	if (!any)
		fprintf(stderr, "trace-personality: no capabilities there\n");
	return any ? 0 : 1;
}
