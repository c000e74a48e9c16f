/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <rte_random.h>

#include "logs.h"
#include "say.h"

#define BURST 256

/* ---- Create ---- */

static int
ticket_make(struct own_log *log, int folder)
{
	struct rdmo_ticket ticket = {
		.key = log->key,
		.at = log->addr,
		.bytes = rdmo_log_bytes(log->options->size, log->options->producers),
	};
	char text[RDMO_TICKET_BYTES];
	int rc;

	memcpy(ticket.secret, log->secret, sizeof(ticket.secret));
	rc = rdmo_ticket_get(log->target, &ticket, text, sizeof(text));
	if (rc != 0)
		return say_failed(rc, "log %s: there is no ticket: %s", log->options->name,
				  strerror(-rc));
	return ticket_write(&log->file, folder, log->options->name, text);
}

static int
log_make(struct own_log *log)
{
	struct rdmo_log_attr attr = {
		.capacity = log->options->size,
		.producers = log->options->producers,
	};
	struct rdmo_log_info info;
	int rc;

	rc = rdmo_target_open(log->worker, log->id, &log->target);
	if (rc == 0)
		rc = rdmo_rq_create(log->target, log->secret, &log->rq_id);
	attr.rq_id = log->rq_id;
	if (rc == 0)
		rc = rdmo_log_create(log->target, &attr, &log->log);
	if (rc == 0)
		rc = rdmo_log_query(log->log, &info);
	if (rc == -ENOMEM)
		return say_failed(rc,
				  "log %s: no memory for %" PRIu64 " bytes: give EAL more (-m, "
				  "hugepages), or a smaller size=",
				  log->options->name,
				  rdmo_log_bytes(attr.capacity, attr.producers));
	if (rc != 0)
		return say_failed(rc, "log %s cannot be created: %s", log->options->name,
				  strerror(-rc));
	log->addr = info.addr;
	log->key = info.key;
	return 0;
}

static int
log_open(struct own_logs *logs, struct devices *devices, const struct log_options *options)
{
	struct own_log *log = &logs->logs[logs->count++];
	const struct served *served = devices_find(devices, options->device);
	int rc;

	*log = (struct own_log){ .options = options, .id = rte_rand(), .file.folder = -1 };
	if (served == NULL)
		return say_failed(-ENODEV, "log %s: there is no device %s", options->name,
				  options->device);
	log->worker = served->worker;
	rc = log_make(log);
	return rc == 0 && logs->folder >= 0 ? ticket_make(log, logs->folder) : rc;
}

int
logs_open(struct own_logs *logs, struct devices *devices, const struct options *options)
{
	int rc = 0;

	logs->folder = -1;
	if (options->tickets != NULL) {
		logs->folder = tickets_folder(options->tickets);
		if (logs->folder < 0)
			return logs->folder;
	}
	for (uint32_t i = 0; i < options->nlogs && rc == 0; i++)
		rc = log_open(logs, devices, &options->logs[i]);
	return rc;
}

/* ---- Read ---- */

/* What cannot be told from one another is skipped. */
static void
log_skip(struct own_log *log, const struct rdmo_log_record *where)
{
	log->damaged++;
	say("log %s is damaged at %" PRIu64 ": what is behind it, up to %" PRIu64 ", is skipped",
	    log->options->name, where->position, where->next);
	rdmo_log_release(log->log, where->next);
}

static uint32_t
log_read(struct own_log *log)
{
	struct rdmo_log_record records[BURST];
	const int n = rdmo_log_read(log->log, records, BURST);

	if (n < 0)
		log_skip(log, &records[0]);
	if (n <= 0)
		return 0;
	for (int i = 0; i < n; i++)
		log->bytes += records[i].length;
	log->records += (uint32_t)n;
	if (!log->options->keep)
		rdmo_log_release(log->log, records[n - 1].next);
	return (uint32_t)n;
}

uint32_t
logs_read(struct own_logs *logs)
{
	uint32_t work = 0;

	for (uint32_t i = 0; i < logs->count; i++)
		work += log_read(&logs->logs[i]);
	return work;
}

/* ---- End ---- */

void
logs_close_tickets(struct own_logs *logs)
{
	for (uint32_t i = 0; i < logs->count; i++)
		ticket_remove(&logs->logs[i].file);
}

void
logs_close(struct own_logs *logs)
{
	logs_close_tickets(logs);
	for (uint32_t i = 0; i < logs->count; i++) {
		struct own_log *log = &logs->logs[i];

		/* Initiators lose the worker, rather than that their keys are wrong all at once. */
		if (log->rq_id != 0)
			rdmo_rq_destroy(log->target, log->rq_id);
		rdmo_log_destroy(log->log);
		rdmo_target_close(log->target);
	}
	if (logs->folder >= 0)
		close(logs->folder);
	logs->count = 0;
	logs->folder = -1;
}
