/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recording.h"

#define COMMAND "$ " /* what its line begins with */

const char *const recorded_programs[] = {
	"ib_write_bw", "ib_send_bw",  "ib_read_bw",    "ib_atomic_bw", "ib_write_lat",
	"ib_send_lat", "ib_read_lat", "ib_atomic_lat", NULL,
};

void
recording_open(struct recording *recording, const char *program)
{
	const char *root = getenv("RDMAPMD_SOURCE");
	char path[1000];

	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/test/daemon/perftest/%s.txt", root, program);
	*recording = (struct recording){ .file = fopen(path, "r") };
	if (recording->file == NULL)
		fail_msg("cannot open %s", path);
}

const char *
recording_line(struct recording *recording)
{
	while (fgets(recording->line, sizeof(recording->line), recording->file) != NULL) {
		recording->line[strcspn(recording->line, "\n")] = '\0';
		if (strncmp(recording->line, COMMAND, strlen(COMMAND)) != 0)
			return recording->line;
		snprintf(recording->command, sizeof(recording->command), "%s", recording->line);
	}
	return NULL;
}

void
recording_close(struct recording *recording)
{
	fclose(recording->file);
}
