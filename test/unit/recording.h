/* SPDX-License-Identifier: BSD-3-Clause */

/* What perftest and ibv_*_pingpong have printed: test/daemon/perftest/, which devtools/guest/record_perftest.py makes. */
#ifndef UNIT_RECORDING_H
#define UNIT_RECORDING_H

#include <stdio.h>

/* perftest's, and then NULL. */
extern const char *const recorded_programs[];

struct recording {
	FILE *file;
	char command[400]; /* whose output the line is of */
	char line[400];	   /* without its end */
};

/* The recording of a program; one that is not there fails the test. */
void recording_open(struct recording *recording, const char *program);
/* The next line that a command has printed; NULL: there are no more. */
const char *recording_line(struct recording *recording);
void recording_close(struct recording *recording);

#endif
