/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "load.h"
#include "say.h"

/* ---- Connect ---- */

/* A burst, which is posted again and again: an operation's payload is copied when it is posted. */
static int
burst_make(struct load *load, const struct own_log *log)
{
	const struct load_options *options = load->options;

	load->ops = calloc(options->burst, sizeof(*load->ops));
	load->payload = malloc(options->size + 1);
	if (load->ops == NULL || load->payload == NULL)
		return say_failed(-ENOMEM, "no memory for a burst of %u records", options->burst);
	for (uint32_t i = 0; i < options->size; i++)
		load->payload[i] = (uint8_t)i;
	for (uint32_t i = 0; i < options->burst; i++)
		load->ops[i] = (struct rdmo_op){
			.id = log->id,
			.op_id = RDMO_OP_APPEND,
			.length = options->size,
			.append = { .ptr_addr = log->addr,
				    .ptr_key = log->key,
				    .data_key = log->key,
				    .payload = load->payload },
		};
	return 0;
}

static int
load_open(struct load *load, const struct own_log *log)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(log->worker),
		.secret = log->secret,
		.depth = RDMO_LOG_WINDOW,
		.is_producer = true,
		.producer = load->options->producer,
	};
	int rc = burst_make(load, log);

	load->log = log->options->name;
	if (rc == 0)
		rc = device_open(&load->device, load->options->device);
	if (rc != 0)
		return rc;
	rc = rdmo_connect(load->device.pd, &attr, &load->conn);
	if (rc == 0)
		return 0;
	return say_failed(rc, "%s cannot connect to log %s at %s: %s: is it on the same wire?",
			  load->device.name, load->log, attr.address, strerror(-rc));
}

int
loads_open(struct loads *loads, const struct own_logs *logs, const struct options *options)
{
	int rc = 0;

	for (uint32_t i = 0; i < options->nloads && rc == 0; i++) {
		struct load *load = &loads->loads[loads->count++];

		load->options = &options->loads[i];
		rc = load_open(load, &logs->logs[load->options->to]);
	}
	return rc;
}

/* ---- A turn ---- */

static uint64_t
under_way(const struct load *load)
{
	return load->counts.posted - load->counts.appended - load->counts.refused;
}

static uint32_t
load_poll(struct load *load)
{
	struct rdmo_completion done[RDMO_LOG_WINDOW];
	const uint32_t n = rdmo_poll(load->conn, done, RTE_DIM(done));
	uint32_t appended = 0;

	for (uint32_t i = 0; i < n; i++)
		appended += done[i].status == RDMO_STATUS_OK;
	load->counts.appended += appended;
	load->counts.refused += n - appended;
	return n;
}

static uint32_t
load_post(struct load *load)
{
	uint32_t n;

	/* Whole bursts: half of one would be a message, too. */
	if (under_way(load) + load->options->burst > RDMO_LOG_WINDOW)
		return 0;
	n = rdmo_post(load->conn, load->ops, load->options->burst);
	load->counts.posted += n;
	return n;
}

static int
load_ended(const struct load *load)
{
	const enum rdmo_reason reason = rdmo_conn_reason(load->conn);

	if (reason != RDMO_REASON_NONE)
		say("%s: the connection to log %s was closed: %s", load->device.name, load->log,
		    rdmo_reason_str(reason));
	else
		say("%s: the connection to log %s has ended", load->device.name, load->log);
	return -ENOTCONN;
}

int
loads_turn(struct loads *loads, bool post, uint32_t *work)
{
	*work = 0;
	for (uint32_t i = 0; i < loads->count; i++) {
		struct load *load = &loads->loads[i];

		*work += load_poll(load);
		if (post)
			*work += load_post(load);
		if (rdmo_conn_error(load->conn) == -ENOTCONN)
			return load_ended(load);
	}
	return 0;
}

bool
loads_are_answered(const struct loads *loads)
{
	for (uint32_t i = 0; i < loads->count; i++)
		if (under_way(&loads->loads[i]) > 0)
			return false;
	return true;
}

/* ---- Rates, end ---- */

void
loads_print_rates(struct loads *loads, double seconds)
{
	for (uint32_t i = 0; i < loads->count; i++) {
		struct load *load = &loads->loads[i];
		const double appended =
			(double)(load->counts.appended - load->told.appended) / seconds;
		const double refused =
			(double)(load->counts.refused - load->told.refused) / seconds;

		printf("%s to %s: %.0f appends/s, %.1f MB/s, %.0f refused/s\n", load->device.name,
		       load->log, appended, appended * load->options->size / 1e6, refused);
		load->told = load->counts;
	}
	if (loads->count > 0)
		fflush(stdout);
}

void
loads_close(struct loads *loads)
{
	for (uint32_t i = 0; i < loads->count; i++) {
		struct load *load = &loads->loads[i];

		rdmo_disconnect(load->conn);
		device_close(&load->device);
		free(load->ops);
		free(load->payload);
	}
	loads->count = 0;
}
