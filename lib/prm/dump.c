/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <inttypes.h>

#include "cmd_table.h"
#include "cmdq.h"
#include "dump_private.h"

/* Elements of a list that a decoded dump shows. */
#define LIST_SHOWN 16

/* Bytes of an input or output that are searched for bits without a name: all but long lists. */
#define NAMED_BYTES (RNIC_HCA_CAP_OFFSET + RNIC_HCA_CAP_BYTES)

void
rnic_dump_text_end(struct rnic_dump_text *text)
{
	if (text->used > 0)
		text->put(text->text);
	text->used = 0;
}

void
rnic_dump_text_line(void *arg, const char *line)
{
	struct rnic_dump_text *text = arg;
	size_t length = strnlen(line, sizeof(text->text) - 2);

	if (length + 2 > sizeof(text->text) - text->used)
		rnic_dump_text_end(text);
	memcpy(text->text + text->used, line, length);
	text->used += length;
	memcpy(text->text + text->used, "\n", 2);
	text->used++;
}

/*
 * Rows of 16 bytes as mlx5_core prints them; offset goes on from row to row and from block to
 * block.
 */
static void
dump_rows(const void *bytes, size_t length, size_t *offset, rnic_dump_line *line, void *arg)
{
	for (size_t i = 0; i < length; i += 16) {
		rnic_dump_printf(line, arg, "%03zx: %08x %08x %08x %08x", *offset,
				 rnic_dump_dword(bytes, length, i),
				 rnic_dump_dword(bytes, length, i + 4),
				 rnic_dump_dword(bytes, length, i + 8),
				 rnic_dump_dword(bytes, length, i + 12));
		*offset += 16;
	}
}

static void
dump_title(const char *what, uint32_t opcode, bool output, rnic_dump_line *line, void *arg)
{
	const struct rnic_cmd_desc *cmd = rnic_cmd_find(opcode);

	rnic_dump_printf(line, arg, "dump command %s%s(0x%x) %s", what,
			 cmd != NULL ? cmd->name : "unknown command opcode", opcode,
			 output ? "OUTPUT" : "INPUT");
}

void
rnic_dump_cmd(const void *entry, const void *const *blocks, size_t block_count, bool output,
	      rnic_dump_line *line, void *arg)
{
	const uint8_t *input = (const uint8_t *)entry + offsetof(struct rnic_cmdq_entry, input);
	size_t offset = 0;

	dump_title("", rnic_dump_dword(input, RNIC_CMDQ_INLINE_BYTES, 0) >> 16, output, line, arg);
	dump_rows(entry, sizeof(struct rnic_cmdq_entry), &offset, line, arg);
	line(arg, "");
	for (size_t i = 0; i < block_count; i++) {
		line(arg, "command block:");
		dump_rows(blocks[i], sizeof(struct rnic_cmdq_block), &offset, line, arg);
		line(arg, "");
	}
}

void
rnic_dump_cmd_data(uint32_t opcode, const void *data, size_t length, bool output,
		   rnic_dump_line *line, void *arg)
{
	size_t offset = 0;

	dump_title("data ", opcode, output, line, arg);
	dump_rows(data, length, &offset, line, arg);
}

struct decoder {
	const uint8_t *bytes;
	size_t length;
	rnic_dump_line *line;
	void *arg;
	int64_t list_last; /* index of the last element seen, or -1 */
	const char *list_name;
	uint8_t unnamed[NAMED_BYTES]; /* the bytes less all bits that a field named */
};

/* "sqc.wq.log_wq_sz" */
static void
field_path(const struct rnic_cmd_part *part, const char *field, char *path, size_t size)
{
	char outer[96] = "", index[24] = "";
	size_t n;

	if (part->outer != NULL)
		field_path(part->outer, NULL, outer, sizeof(outer));
	if (part->index >= 0)
		snprintf(index, sizeof(index), "[%" PRId64 "]", part->index);
	snprintf(path, size, "%s%s%s%s", outer, part->name, index,
		 part->name[0] != '\0' ? "." : "");
	n = strlen(path);
	for (size_t i = 0; field != NULL && field[i] != '\0' && n + 1 < size; i++)
		path[n++] = (char)tolower((unsigned char)field[i]);
	path[n] = '\0';
}

static void
decode_part(void *arg, const struct rnic_cmd_part *part)
{
	struct decoder *d = arg;
	const struct rnic_field_desc *field;
	char path[160];
	uint64_t value;
	bool shown = part->index < LIST_SHOWN;

	if (part->index >= 0) {
		d->list_last = part->index;
		d->list_name = part->name;
	}
	for (uint32_t i = 0; i < part->layout->field_count; i++) {
		field = &part->layout->fields[i];
		if (!rnic_desc_get(d->bytes, d->length, part->offset, field, &value))
			continue;
		rnic_desc_set(d->unnamed, sizeof(d->unnamed), part->offset, field, 0);
		if (value == 0 || !shown)
			continue;
		field_path(part, rnic_field_short_name(part->layout, field), path, sizeof(path));
		/* An address whose low bits mean something else is shown as the address. */
		if (field->high == 63)
			value <<= field->low;
		rnic_dump_printf(d->line, d->arg, "  %03x[%2u:%2u] %s = 0x%" PRIx64,
				 part->offset + field->offset, field->high, field->low, path,
				 value);
	}
}

static void
decode_begin(struct decoder *d, const void *bytes, size_t length, rnic_dump_line *line, void *arg)
{
	memset(d, 0, sizeof(*d));
	d->bytes = bytes;
	d->length = length;
	d->line = line;
	d->arg = arg;
	d->list_last = -1;
	memcpy(d->unnamed, bytes, length < sizeof(d->unnamed) ? length : sizeof(d->unnamed));
}

static void
decode_end(const struct decoder *d)
{
	uint32_t dw;

	if (d->list_last >= LIST_SHOWN)
		rnic_dump_printf(d->line, d->arg, "  %" PRId64 " more of %s",
				 d->list_last + 1 - LIST_SHOWN, d->list_name);
	for (size_t i = 0; i < sizeof(d->unnamed); i += 4) {
		dw = rnic_dump_dword(d->unnamed, sizeof(d->unnamed), i);
		if (dw != 0)
			rnic_dump_printf(d->line, d->arg, "  %03zx no name for 0x%08x", i, dw);
	}
}

void
rnic_decode_cmd_in(const void *in, size_t in_length, rnic_dump_line *line, void *arg)
{
	uint32_t opcode = rnic_dump_dword(in, in_length, 0) >> 16;
	struct decoder d;

	rnic_dump_printf(line, arg, "%s(0x%x) input, %zu bytes", rnic_cmd_name(opcode), opcode,
			 in_length);
	decode_begin(&d, in, in_length, line, arg);
	rnic_cmd_walk_in(in, in_length, decode_part, &d);
	decode_end(&d);
}

void
rnic_decode_cmd_out(const void *in, size_t in_length, const void *out, size_t out_length,
		    rnic_dump_line *line, void *arg)
{
	uint32_t opcode = rnic_dump_dword(in, in_length, 0) >> 16;
	uint32_t status = rnic_dump_dword(out, out_length, 0) >> 24;
	struct decoder d;

	rnic_dump_printf(line, arg, "%s(0x%x) output, %zu bytes: %s(0x%x), syndrome 0x%x",
			 rnic_cmd_name(opcode), opcode, out_length, rnic_cmd_status_name(status),
			 status, rnic_dump_dword(out, out_length, 4));
	decode_begin(&d, out, out_length, line, arg);
	rnic_cmd_walk_out(in, in_length, out_length, decode_part, &d);
	decode_end(&d);
}
