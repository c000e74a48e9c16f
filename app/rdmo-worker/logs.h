/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The process's own logs: each is a target of its own, so that a ticket is good for one of them, and is read here.
 */
#ifndef RDMO_WORKER_LOGS_H
#define RDMO_WORKER_LOGS_H

#include <stdint.h>

#include <rdmo.h>

#include "devices.h"
#include "options.h"
#include "tickets.h"

/** A log. */
struct own_log {
	const struct log_options *options;
	struct rdmo_worker *worker;
	struct rdmo_target *target;
	struct rdmo_log *log;
	struct ticket_file file;
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t id; /* the target's */
	uint64_t rq_id;
	uint64_t addr; /* struct rdmo_log_info's */
	uint64_t key;
	uint64_t records, bytes,
		damaged; /* that were read: payloads, and how often something was not whole */
};

struct own_logs {
	uint32_t count;
	int folder; /* of tickets; -1: none */
	struct own_log logs[LOGS_MAX];
};

/**
 * Create the logs and write their tickets. The workers are polled.
 *
 * @param logs    Out; logs_close() on error, too.
 * @param devices Those that are served.
 * @param options What the command line says.
 * @return 0; -errno, which is said.
 */
int logs_open(struct own_logs *logs, struct devices *devices, const struct options *options);

/** Read what has come to each log, up to a bound. @return How many records. */
uint32_t logs_read(struct own_logs *logs);

/** Remove the tickets: nobody who has none yet is to come. */
void logs_close_tickets(struct own_logs *logs);

/** End the logs, with all that they have. The workers are still polled. */
void logs_close(struct own_logs *logs);

#endif
