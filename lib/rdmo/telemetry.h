/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * dpdk-telemetry's /rdmo/... : what workers do, and how full logs are. A handler runs in telemetry's thread: it reads what lcores count, which they do not
 * notice, and looks at connections while the bootstrap's thread makes and ends none.
 *
 * Threads: any.
 */
#ifndef RDMO_TELEMETRY_H
#define RDMO_TELEMETRY_H

#include <stdint.h>
#include <sys/queue.h>

struct rdmo_crew;
struct rdmo_log;
struct rdmo_log_info;
struct rte_tel_data;

/* A worker, as it is shown. */
struct rdmo_shown {
	TAILQ_ENTRY(rdmo_shown) next;
	const char *address; /* of its bootstrap */
	struct rdmo_crew *crew;
};

/* From here on it is shown; it is not any more. The memory is the caller's. */
void rdmo_telemetry_add(struct rdmo_shown *shown);
void rdmo_telemetry_remove(struct rdmo_shown *shown);

/* A log of a target of this process, as it is shown. */
struct rdmo_shown_log {
	TAILQ_ENTRY(rdmo_shown_log) next;
	const struct rdmo_log *log;
	int (*query)(const struct rdmo_log *log, struct rdmo_log_info *info);
	uint64_t capacity;
	uint32_t producers;
};

void rdmo_telemetry_add_log(struct rdmo_shown_log *shown);
void rdmo_telemetry_remove_log(struct rdmo_shown_log *shown);

/* Handlers. Returns 0; -ENOENT no worker listens there, no log has that address; -ENOMEM. */
int rdmo_telemetry_worker(const char *cmd, const char *params, struct rte_tel_data *data);
int rdmo_telemetry_connections(const char *cmd, const char *params, struct rte_tel_data *data);
int rdmo_telemetry_log(const char *cmd, const char *params, struct rte_tel_data *data);

#endif
