/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * doc/design/metal.md has the rows of all personalities, as tables between two marks. They are compared with those of the
 * program; with --write behind the document's name it gets them.
 */
#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prm/cmd.h"
#include "prm/cmd_table.h"
#include "softrnic/hca/like.h"

#define BEGIN "<!-- rows of lib/softrnic/hca/like.c -->\n"
#define END   "<!-- end of the rows -->\n"

#define PARTS_MAX 64

static const char *path;
static const struct softrnic_like_part *parts[PARTS_MAX];
static unsigned int part_count;

/* Each part once, in the order of the personalities that have it. */
static void
collect_parts(void)
{
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		for (unsigned int p = 0; softrnic_likes[i].parts[p] != NULL; p++) {
			unsigned int k = 0;

			while (k < part_count && parts[k] != softrnic_likes[i].parts[p])
				k++;
			if (k == part_count && part_count < PARTS_MAX)
				parts[part_count++] = softrnic_likes[i].parts[p];
		}
	}
}

static void
put_known(FILE *to, const struct softrnic_known *known)
{
	static const char *const from[] = { "trace", "drivers", "report", "guess" };

	fprintf(to, "| %s: %s |\n", from[known->from], known->where);
}

static void
put_personalities(FILE *to)
{
	fprintf(to, "| like= | PCI device | made of |\n|---|---|---|\n");
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		const struct softrnic_like *like = &softrnic_likes[i];

		fprintf(to, "| %s | 15b3:%04x |", like->name, like->pci_device);
		for (unsigned int p = 0; like->parts[p] != NULL; p++)
			fprintf(to, "%s %s", p == 0 ? "" : ",", like->parts[p]->name);
		fprintf(to, "%s |\n", like->parts[0] == NULL ? " nothing" : "");
	}
}

static void
put_capability(FILE *to, const char *part, const struct softrnic_like_cap *row)
{
	static const char *const shown[] = { "the same", "our own", "0" };

	fprintf(to, "| %s | ", part);
	for (const char *c = row->name; *c != '\0'; c++)
		fputc(tolower((unsigned char)*c), to);
	if (row->max == row->current)
		fprintf(to, " | 0x%" PRIx64, row->max);
	else
		fprintf(to, " | at most 0x%" PRIx64 ", now 0x%" PRIx64, row->max, row->current);
	fprintf(to, " | %s | %s ", shown[row->shown], row->why != NULL ? row->why : "-");
	put_known(to, &row->known);
}

static void
put_capabilities(FILE *to)
{
	fprintf(to, "\n| part | capability | a card has | shown is | why | known from |\n"
		    "|---|---|---|---|---|---|\n");
	for (unsigned int p = 0; p < part_count; p++) {
		for (unsigned int i = 0; i < parts[p]->cap_count; i++)
			put_capability(to, parts[p]->name, &parts[p]->caps[i]);
	}
}

static void
put_refusals(FILE *to)
{
	fprintf(to, "\n| part | command | refused is | with | known from |\n"
		    "|---|---|---|---|---|\n");
	for (unsigned int p = 0; p < part_count; p++) {
		for (unsigned int i = 0; i < parts[p]->refusal_count; i++) {
			const struct softrnic_like_refusal *row = &parts[p]->refusals[i];

			fprintf(to, "| %s | %s | %s%s | %s ", parts[p]->name,
				rnic_cmd_name(row->opcode), row->name,
				row->lifted_by != 0 ? ", until asked for by SET_HCA_CAP" : "",
				rnic_cmd_status_name(row->status));
			put_known(to, &row->known);
		}
	}
}

static void
put_behaviours(FILE *to)
{
	fprintf(to, "\n| part | what it does | known from |\n|---|---|---|\n");
	for (unsigned int p = 0; p < part_count; p++) {
		for (unsigned int i = 0; i < parts[p]->behaviour_count; i++) {
			fprintf(to, "| %s | %s ", parts[p]->name, parts[p]->behaviours[i].name);
			put_known(to, &parts[p]->behaviours[i].known);
		}
	}
}

/* The rows as the document has them; the caller's to free. */
static char *
rows_make(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (to == NULL)
		abort();
	put_personalities(to);
	put_capabilities(to);
	put_refusals(to);
	put_behaviours(to);
	fclose(to);
	return text;
}

static char *
read_document(void)
{
	FILE *file = fopen(path, "r");
	char *text;
	long bytes;

	if (file == NULL)
		return NULL;
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)bytes + 1);
	if (text != NULL && fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
		text[0] = '\0';
	fclose(file);
	return text;
}

static void
the_document_has_these_rows(void **state)
{
	char *document = read_document(), *rows = rows_make(), *at, *end, *said;
	const char *line = rows;

	(void)state;
	assert_non_null(document);
	at = strstr(document, BEGIN);
	end = strstr(document, END);
	if (at == NULL || end == NULL)
		fail_msg("%s lacks the marks of the rows", path);
	*end = '\0';
	for (said = at + strlen(BEGIN); *said != '\0' && *said == *line; said++, line++)
		;
	if (*said != '\0' || *line != '\0') {
		/* From the start of the first line that differs. */
		while (line > rows && line[-1] != '\n') {
			line--;
			said--;
		}
		fail_msg("%s: its row is\n%.*s\nand should be\n%.*s\n(--write mends it)", path,
			 (int)strcspn(said, "\n"), said, (int)strcspn(line, "\n"), line);
	}
	free(rows);
	free(document);
}

static int
write_rows(void)
{
	char *document = read_document(), *rows = rows_make();
	char *at = document != NULL ? strstr(document, BEGIN) : NULL;
	char *end = at != NULL ? strstr(at, END) : NULL;
	FILE *file;

	if (end == NULL || (file = fopen(path, "w")) == NULL) {
		fprintf(stderr, "%s: cannot be written, or lacks the marks\n", path);
		return 1;
	}
	fprintf(file, "%.*s%s%s%s", (int)(at - document), document, BEGIN, rows, end);
	free(rows);
	free(document);
	return fclose(file) == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_document_has_these_rows) };

	if (argc < 2)
		return 2;
	path = argv[1];
	collect_parts();
	if (argc == 3 && strcmp(argv[2], "--write") == 0)
		return write_rows();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
