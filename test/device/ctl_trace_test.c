/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What Linux's mlx5_core sent to a ConnectX-4 Lx while it started it, sent to our device: it must take every command,
 * and answer as the card did where an answer is not the card's own business. devtools/trace/commands.py says how the
 * recording reads. The DMA addresses stay as they are: the device gets memory there.
 *
 * A device that is like that card shows the capabilities that the card has shown, bit by bit; where it does not, a row of
 * its personality names the field and says why.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver/cap.h"
#include "harness.h"
#include "prm/layouts.h"
#include "softrnic/hca/like.h"

/* Above the highest address of the recording; hardly any of it is touched. */
#define MEMORY_BYTES (UINT64_C(1) << 35)
#define SPARE_PAGES  UINT64_C(0x1000000) /* for pages whose addresses the log has lost */

struct message {
	uint32_t length, logged;
	uint8_t *bytes; /* of the whole length */
};

struct command {
	unsigned int opcode;
	char name[48];
	struct message in, out;
};

static struct command commands[64];
static unsigned int command_count;
static const char *path;

static void
put64(struct message *message, uint64_t at, uint64_t value)
{
	for (unsigned int i = 0; i < 8 && at + i < message->length; i++)
		message->bytes[at + i] = value >> (56 - 8 * i);
}

static bool
read_row(struct message *message, const char *line)
{
	unsigned long long at, first, step, count;
	unsigned int high, low = 0;

	if (message == NULL)
		return false;
	if (sscanf(line, "%llx %llx+%llx*%llx", &at, &first, &step, &count) == 4) {
		for (unsigned long long i = 0; i < count; i++)
			put64(message, at + 8 * i, first + i * step);
		return true;
	}
	if (sscanf(line, "%llx %x %x", &at, &high, &low) < 2)
		return false;
	put64(message, at, (uint64_t)high << 32 | low);
	return true;
}

static bool
read_line(const char *line)
{
	static struct message *message;
	struct command *command;
	char way[8];

	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (strncmp(line, "command ", 8) == 0) {
		if (command_count == sizeof(commands) / sizeof(commands[0]))
			return false;
		command = &commands[command_count++];
		message = NULL;
		return sscanf(line, "command %x %47s", &command->opcode, command->name) == 2;
	}
	if (command_count == 0)
		return false;
	command = &commands[command_count - 1];
	if (line[0] == 'i' || line[0] == 'o') {
		message = line[0] == 'i' ? &command->in : &command->out;
		if (sscanf(line, "%7s %x %x", way, &message->length, &message->logged) != 3)
			return false;
		message->bytes = calloc(1, message->length);
		return message->bytes != NULL;
	}
	return read_row(message, line);
}

static int
read_recording(void **state)
{
	char line[256];
	FILE *file = fopen(path, "r");

	(void)state;
	if (file == NULL) {
		print_error("%s: cannot be read\n", path);
		return -1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		if (!read_line(line)) {
			print_error("%s: not understood: %s", path, line);
			fclose(file);
			return -1;
		}
	}
	fclose(file);
	return command_count > 40 ? 0 : -1;
}

static int
free_recording(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < command_count; i++) {
		free(commands[i].in.bytes);
		free(commands[i].out.bytes);
	}
	return 0;
}

/* Numbers of pages that the card asked for: ours asks for as many. */
static uint32_t
pages_asked(unsigned int which)
{
	for (unsigned int i = 0; i < command_count; i++) {
		if (commands[i].opcode == RNIC_CMD_QUERY_PAGES && which-- == 0)
			return hn_get32(commands[i].out.bytes, 0x0c);
	}
	fail_msg("no such QUERY_PAGES");
	return 0;
}

/* Every field cut to what our device allows; the rest as Linux wrote it. */
static void
cut_to_maximum(struct hn *hn, uint8_t *set)
{
	struct rnic_general_cap *asked = (void *)(set + RNIC_HCA_CAP_OFFSET);
	struct rnic_general_cap max;

	assert_int_equal(drv_cap_query(&hn->drv, RNIC_CAP_GENERAL, false, &max, sizeof(max)), 0);
	for (unsigned int i = 0; i < rnic_general_cap_desc.field_count; i++) {
		const struct rnic_field_desc *d = &rnic_general_cap_desc.fields[i];
		uint32_t field = RNIC_FIELD(d->offset, d->high, d->low);

		if (rnic_field_get(asked->dw, field) > rnic_field_get(max.dw, field))
			rnic_field_set(asked->dw, field, rnic_field_get(max.dw, field));
	}
}

/* What a driver of this card relies on in both. */
static void
compare_general(const uint8_t *ours, const uint8_t *card)
{
	static const enum rnic_general_cap_field same[] = {
		RNIC_GENERAL_CAP_PORT_TYPE,	   RNIC_GENERAL_CAP_NUM_PORTS,
		RNIC_GENERAL_CAP_LOG_PG_SZ,	   RNIC_GENERAL_CAP_CQE_VERSION,
		RNIC_GENERAL_CAP_MAX_WQE_SZ_SQ,	   RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ,
		RNIC_GENERAL_CAP_LOG_MAX_WQ_SZ,	   RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ,
		RNIC_GENERAL_CAP_NIC_FLOW_TABLE,   RNIC_GENERAL_CAP_ETH_NET_OFFLOADS,
		RNIC_GENERAL_CAP_VPORT_COUNTERS,   RNIC_GENERAL_CAP_LOG_MAX_MSG,
		RNIC_GENERAL_CAP_LOG_MAX_RQT_SIZE,
	};
	const struct rnic_general_cap *a = (const void *)(ours + RNIC_HCA_CAP_OFFSET);
	const struct rnic_general_cap *b = (const void *)(card + RNIC_HCA_CAP_OFFSET);

	for (unsigned int i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		if (rnic_general_cap_get(a, same[i]) != rnic_general_cap_get(b, same[i]))
			fail_msg("capability at 0x%x: 0x%x, the card has 0x%x",
				 RNIC_FIELD_OFFSET(same[i]),
				 (unsigned int)rnic_general_cap_get(a, same[i]),
				 (unsigned int)rnic_general_cap_get(b, same[i]));
	}
}

static void
compare(const struct command *command, const uint8_t *out)
{
	const uint8_t *card = command->out.bytes;

	switch (command->opcode) {
	case RNIC_CMD_QUERY_HCA_CAP:
		if (command->in.bytes[7] >> 1 == RNIC_CAP_GENERAL)
			compare_general(out, card);
		break;
	case RNIC_CMD_QUERY_ADAPTER:
		assert_int_equal(hn_get32(out, 0x28), hn_get32(card, 0x28));
		break;
	default:
		for (uint32_t i = 0; i < command->out.logged; i++) {
			if (out[i] != card[i])
				fail_msg("%s: output byte 0x%x is 0x%02x, the card has 0x%02x",
					 command->name, i, out[i], card[i]);
		}
	}
}

static void
replay(struct hn *hn, struct command *command)
{
	uint8_t *out = calloc(1, command->out.length);
	uint8_t *in = command->in.bytes;
	int status;

	/* The log lost the last lines of the longest command. */
	for (uint32_t at = command->in.logged;
	     command->opcode == RNIC_CMD_MANAGE_PAGES && at < command->in.length; at += 8)
		put64(&command->in, at, SPARE_PAGES + at / 8 * 4096);
	status = hn_cmd(hn, in, command->in.length, out, command->out.length);
	if (command->opcode == RNIC_CMD_SET_HCA_CAP) {
		/* Made for what the card can, so it asks for more than ours may give; another device has it whole. */
		uint8_t *cut = malloc(command->in.length);

		assert_int_equal(status, RNIC_STATUS_BAD_PARAM);
		memcpy(cut, in, command->in.length);
		cut_to_maximum(hn, cut);
		status = hn_cmd(hn, cut, command->in.length, out, command->out.length);
		free(cut);
	}
	if (status != command->out.bytes[0])
		fail_msg("%s(0x%x): status 0x%x, the card answered 0x%x", command->name,
			 command->opcode, status, command->out.bytes[0]);
	compare(command, out);
	free(out);
}

static void
the_recorded_start_of_linux(void **state)
{
	struct softrnic_conf conf = { .name = "trace",
				      .like = *state,
				      .boot_pages = pages_asked(0),
				      .init_pages = pages_asked(1) };
	struct softrnic_stats stats;
	unsigned int eqs = 0;
	struct hn hn;
	void *memory;

	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	hn_start(&hn, NULL, &conf);
	assert_int_equal(softrnic_dma_map(hn.dev, 0, MEMORY_BYTES, memory,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
	for (unsigned int i = 0; i < command_count; i++) {
		replay(&hn, &commands[i]);
		eqs += commands[i].opcode == RNIC_CMD_CREATE_EQ;
	}
	softrnic_stats_get(hn.dev, &stats);
	assert_int_equal(stats.pages_held, conf.boot_pages + conf.init_pages);
	assert_int_equal(stats.objects, eqs + 4);
	hn_stop(&hn);
	munmap(memory, MEMORY_BYTES);
}

/* ---- A device that is like this card ---- */

static char cx4lx[] = "cx4lx";

/* What the card answered first, of a type. */
static const struct rnic_be32 *
recorded_page(unsigned int type, bool current)
{
	for (unsigned int i = 0; i < command_count; i++) {
		if (commands[i].opcode == RNIC_CMD_QUERY_HCA_CAP &&
		    commands[i].in.bytes[7] == RNIC_HCA_CAP_OP_MOD(type, current))
			return (const void *)(commands[i].out.bytes + RNIC_HCA_CAP_OFFSET);
	}
	return NULL;
}

/* The row is the card's, and says what ours shows; its bits are dealt with. True: ours differ there. */
static bool
row_explains(const struct softrnic_like_cap *row, bool current, const struct rnic_be32 *card,
	     const struct rnic_be32 *own, struct rnic_be32 *unexplained)
{
	const uint64_t theirs = rnic_field_get(card, row->field);
	const uint64_t ours = rnic_field_get(own, row->field);

	if (theirs != (current ? row->current : row->max))
		fail_msg("%s: the card has 0x%" PRIx64 ", its row says something else", row->name,
			 theirs);
	if (row->shown == SOFTRNIC_LIKE_AS_CARD && ours != theirs)
		fail_msg("%s: 0x%" PRIx64 ", the card has 0x%" PRIx64, row->name, ours, theirs);
	if (row->shown == SOFTRNIC_LIKE_NOT_BUILT && ours != 0)
		fail_msg("%s: 0x%" PRIx64 " is shown of what is not built", row->name, ours);
	rnic_field_set(unexplained, row->field, 0);
	return ours != theirs;
}

/* Bits that differ in one page of both, and that no row explains, are a failure; `differs`: of which rows some do. */
static void
compare_pages(struct hn *hn, unsigned int type, bool current, bool *differs)
{
	static struct rnic_be32 own[RNIC_HCA_CAP_BYTES / 4], left[RNIC_HCA_CAP_BYTES / 4];
	const struct rnic_be32 *card = recorded_page(type, current);
	const struct softrnic_like *like = softrnic_like_find(cx4lx);
	unsigned int row = 0;

	if (card == NULL)
		fail_msg("the recording has no capabilities of type %u", type);
	assert_int_equal(drv_cap_query(&hn->drv, type, current, own, sizeof(own)), 0);
	for (unsigned int i = 0; i < RNIC_HCA_CAP_BYTES / 4; i++)
		left[i].raw = own[i].raw ^ card[i].raw;
	for (unsigned int part = 0; like->parts[part] != NULL; part++) {
		for (unsigned int i = 0; i < like->parts[part]->cap_count; i++, row++) {
			const struct softrnic_like_cap *cap = &like->parts[part]->caps[i];

			if (cap->type == type && row_explains(cap, current, card, own, left))
				differs[row] = true;
		}
	}
	for (unsigned int i = 0; i < RNIC_HCA_CAP_BYTES / 4; i++) {
		if (left[i].raw != 0)
			fail_msg("capabilities of type %u, %s, at 0x%x: 0x%08x, the card has "
				 "0x%08x; no row explains 0x%08x",
				 type, current ? "current" : "maximum", 4 * i,
				 rnic_be32_to_cpu(own[i]), rnic_be32_to_cpu(card[i]),
				 rnic_be32_to_cpu(left[i]));
	}
}

static void
cx4lx_shows_what_the_card_showed(void **state)
{
	static const unsigned int types[] = { RNIC_CAP_GENERAL, RNIC_CAP_ETHERNET_OFFLOADS,
					      RNIC_CAP_ATOMIC, RNIC_CAP_ROCE, RNIC_CAP_FLOW_TABLE };
	const struct softrnic_like *like = softrnic_like_find(cx4lx);
	struct softrnic_conf conf = { .name = "cx4lx", .like = cx4lx };
	bool differs[512] = { false };
	unsigned int row = 0;
	struct hn hn;

	(void)state;
	assert_non_null(like);
	hn_start(&hn, NULL, &conf);
	hn_enable(&hn);
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		compare_pages(&hn, types[i], false, differs);
		compare_pages(&hn, types[i], true, differs);
	}
	/* A row that explains nothing any more goes. */
	for (unsigned int part = 0; like->parts[part] != NULL; part++) {
		for (unsigned int i = 0; i < like->parts[part]->cap_count; i++, row++) {
			const struct softrnic_like_cap *cap = &like->parts[part]->caps[i];

			assert_true(row < sizeof(differs) / sizeof(differs[0]));
			if (cap->shown != SOFTRNIC_LIKE_AS_CARD && !differs[row])
				fail_msg("%s: shown as the card has it, against its row",
					 cap->name);
			assert_true((cap->why == NULL) == (cap->shown == SOFTRNIC_LIKE_AS_CARD));
		}
	}
	hn_stop(&hn);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recorded_start_of_linux),
		{ "the_recorded_start_of_linux: like=cx4lx", the_recorded_start_of_linux, NULL,
		  NULL, cx4lx },
		cmocka_unit_test(cx4lx_shows_what_the_card_showed),
	};

	if (argc != 2)
		return 2;
	path = argv[1];
	return cmocka_run_group_tests(tests, read_recording, free_recording);
}
