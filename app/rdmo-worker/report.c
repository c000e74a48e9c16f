/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "say.h"

void
report_print(const struct devices *devices, const struct own_logs *logs, const struct loads *loads)
{
	struct rdmo_worker_stats stats;

	for (uint32_t i = 0; i < devices->count; i++) {
		const struct served *served = &devices->served[i];

		rdmo_worker_stats(served->worker, &stats);
		printf("%s at %s: %" PRIu64 " messages, %" PRIu64 " operations, %" PRIu64
		       " refused, %" PRIu64 " answers, %" PRIu64 " connections closed\n",
		       served->device.name, rdmo_worker_address(served->worker), stats.messages,
		       stats.operations, stats.refused, stats.answers, stats.closed);
	}
	for (uint32_t i = 0; i < logs->count; i++) {
		const struct own_log *log = &logs->logs[i];

		printf("log %s: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " damaged\n",
		       log->options->name, log->records, log->bytes, log->damaged);
	}
	for (uint32_t i = 0; i < loads->count; i++) {
		const struct load *load = &loads->loads[i];

		printf("%s to %s: %" PRIu64 " posted, %" PRIu64 " appended, %" PRIu64 " refused\n",
		       load->device.name, load->log, load->counts.posted, load->counts.appended,
		       load->counts.refused);
	}
	fflush(stdout);
}

/* ---- JSON ---- */

static void
text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\": \"", key);
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else if ((unsigned char)*value < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

static void
number(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, key, value);
}

/* An object of an array begins. */
static void
begin(FILE *out, uint32_t i)
{
	fputs(i == 0 ? "\n    { " : ",\n    { ", out);
}

static void
write_devices(FILE *out, const struct devices *devices)
{
	struct rdmo_worker_stats stats;

	for (uint32_t i = 0; i < devices->count; i++) {
		const struct served *served = &devices->served[i];

		rdmo_worker_stats(served->worker, &stats);
		begin(out, i);
		text(out, "device", served->device.name);
		fputs(", ", out);
		text(out, "address", rdmo_worker_address(served->worker));
		number(out, "messages", stats.messages);
		number(out, "operations", stats.operations);
		number(out, "refused", stats.refused);
		number(out, "answers", stats.answers);
		number(out, "closed", stats.closed);
		fputs(" }", out);
	}
}

static void
write_logs(FILE *out, const struct own_logs *logs)
{
	for (uint32_t i = 0; i < logs->count; i++) {
		const struct own_log *log = &logs->logs[i];

		begin(out, i);
		text(out, "log", log->options->name);
		number(out, "records", log->records);
		number(out, "bytes", log->bytes);
		number(out, "damaged", log->damaged);
		fputs(" }", out);
	}
}

static void
write_loads(FILE *out, const struct loads *loads)
{
	for (uint32_t i = 0; i < loads->count; i++) {
		const struct load *load = &loads->loads[i];

		begin(out, i);
		text(out, "device", load->device.name);
		fputs(", ", out);
		text(out, "log", load->log);
		number(out, "posted", load->counts.posted);
		number(out, "appended", load->counts.appended);
		number(out, "refused", load->counts.refused);
		fputs(" }", out);
	}
}

int
report_write_json(FILE *out, const struct devices *devices, const struct own_logs *logs,
		  const struct loads *loads)
{
	fputs("{\n  \"devices\": [", out);
	write_devices(out, devices);
	fputs("\n  ],\n  \"logs\": [", out);
	write_logs(out, logs);
	fputs("\n  ],\n  \"loads\": [", out);
	write_loads(out, loads);
	fputs(loads->count > 0 ? "\n  ]\n}\n" : "]\n}\n", out);
	return fflush(out) == 0 && ferror(out) == 0
		       ? 0
		       : say_failed(-EIO, "--json: cannot write: %s", strerror(errno));
}
