/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What commands say, field by field, for devtools/trace-diff: lines "in HEX" and "out HEX" become
 * lib/prm's decoded dumps, each behind it a line "end". How an output reads is said by the input before it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"

struct message {
	unsigned char *bytes;
	size_t length;
};

static void
put_line(void *arg, const char *text)
{
	fprintf(arg, "%s\n", text);
}

/* As many bytes as there are pairs of digits. */
static int
read_hex(const char *text, struct message *message)
{
	size_t length = strspn(text, "0123456789abcdef");
	char digits[3] = "";

	if (length % 2 != 0 || strchr("\n", text[length]) == NULL)
		return -1;
	free(message->bytes);
	message->length = length / 2;
	message->bytes = malloc(message->length + 1);
	if (message->bytes == NULL)
		return -1;
	for (size_t i = 0; i < message->length; i++) {
		memcpy(digits, text + i * 2, 2);
		message->bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return 0;
}

int
main(void)
{
	struct message in = { 0 }, out = { 0 };
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &room, stdin) > 0) {
		if (strncmp(line, "in ", 3) == 0 && read_hex(line + 3, &in) == 0)
			rnic_decode_cmd_in(in.bytes, in.length, put_line, stdout);
		else if (strncmp(line, "out ", 4) == 0 && read_hex(line + 4, &out) == 0)
			rnic_decode_cmd_out(in.bytes, in.length, out.bytes, out.length, put_line,
					    stdout);
		else
			rc = 1;
		puts("end");
	}
	if (rc != 0)
		fprintf(stderr, "trace-fields: not understood: %.60s\n", line);
	free(line);
	free(in.bytes);
	free(out.bytes);
	return rc;
}
