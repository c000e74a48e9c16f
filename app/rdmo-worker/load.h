/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * An initiator inside: it appends to a log in bursts, as many as are answered.
 */
#ifndef RDMO_WORKER_LOAD_H
#define RDMO_WORKER_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <rdmo.h>

#include "devices.h"
#include "logs.h"
#include "options.h"

/** What it has done. */
struct load_counts {
	uint64_t posted;
	uint64_t appended; /* answered with OK */
	uint64_t refused;  /* answered with something else, such as FULL */
};

struct load {
	const struct load_options *options;
	const char *log; /* its name */
	struct device device;
	struct rdmo_conn *conn;
	struct rdmo_op *ops; /* a burst */
	uint8_t *payload;
	struct load_counts counts, told; /* `told`: as they were when the rates were printed last */
};

struct loads {
	uint32_t count;
	struct load loads[LOADS_MAX];
};

/**
 * Connect all initiators. The workers are polled.
 *
 * @param loads   Out; loads_close() on error, too.
 * @param logs    The logs.
 * @param options What the command line says.
 * @return 0; -errno, which is said.
 */
int loads_open(struct loads *loads, const struct own_logs *logs, const struct options *options);

/**
 * Look for answers, and post.
 *
 * @param loads The initiators.
 * @param post  Whether to post more.
 * @param work  Out: how many operations were posted or answered.
 * @return 0; -ENOTCONN a connection has ended, which is said.
 */
int loads_turn(struct loads *loads, bool post, uint32_t *work);

/** Whether all that was posted is answered. */
bool loads_are_answered(const struct loads *loads);

/** Print what each has done since the last time, `seconds` ago. */
void loads_print_rates(struct loads *loads, double seconds);

/** Disconnect, and close the devices. */
void loads_close(struct loads *loads);

#endif
