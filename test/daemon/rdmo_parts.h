/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the processes have in common that remote direct memory operations are between: each has a role, a device of softrnicd, and a
 * conversation with who has started it, by lines.
 */
#ifndef DAEMON_RDMO_PARTS_H
#define DAEMON_RDMO_PARTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdmapmd.h>

#include "rdmo/rdmo.h"

#define TRY(call)                                                                     \
	do {                                                                          \
		int rc_ = (call);                                                     \
		if (rc_ != 0) {                                                       \
			fprintf(stderr, "%s:%d: " #call ": %s\n", __FILE__, __LINE__, \
				strerror(abs(rc_)));                                  \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

/* The device's. */
extern struct rdmapmd_pd *rdmo_parts_pd;

struct rdmo_role {
	const char *name;
	int argc;		  /* with the program's name, the role's and devargs */
	void (*run)(char **args); /* those behind that */
};

/* What main() is: PROGRAM ROLE DEVARGS ARGS. Returns its exit code, 2 for a role that there is not. */
int rdmo_parts_main(int argc, char **argv, const struct rdmo_role *roles, uint32_t n);

/* A line of the input: 1 there is one, 0 none yet, -1 it has ended. */
int rdmo_parts_asked(int wait_ms);

/* The end of a line, which goes out. */
void rdmo_parts_tell(void);

/* A worker with a thread that polls it: "listening ADDRESS". */
struct rdmo_worker *rdmo_parts_worker(const char *address, uint32_t receives, uint32_t credits);
void rdmo_parts_worker_end(void);

#endif
