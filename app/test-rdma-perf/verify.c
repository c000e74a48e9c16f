/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "request.h"
#include "say.h"
#include "verify.h"

/* A WRITE has no completion where it arrives: of its bytes the last one may be seen before others, and UC's completes when it goes. */
#define PATIENCE_MS 1000

static uint64_t
say_wrong(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n,
	  int64_t offset)
{
	perf_say("%s: queue pair 0x%06x: message %" PRIu64
		 " of %u bytes is wrong at offset %" PRId64,
		 phase->end->device, queue->qp->qp_num, n, phase->layout.size, offset);
	return 1;
}

/* Messages that are waited for have one end of patience together; 0: it begins now. @return As perf_request_compare(). */
static int64_t
wait_for_message(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n,
		 uint64_t *end)
{
	int64_t offset;

	while ((offset = perf_request_compare(phase, queue, n)) >= 0) {
		const uint64_t now = rte_get_timer_cycles();

		if (*end == 0)
			*end = now + PATIENCE_MS * rte_get_timer_hz() / 1000;
		if (now > *end)
			break;
	}
	return offset;
}

uint64_t
perf_verify_message(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	uint64_t end = 0;
	int64_t offset = wait_for_message(phase, queue, n, &end);

	return offset >= 0 ? say_wrong(phase, queue, n, offset) : 0;
}

/* ---- Atomics ---- */

static uint64_t
counter_at(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t
perf_verify_fetched(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	const uint8_t *at = perf_request_out(phase, queue, n);

	if (counter_at(at) == n)
		return 0;
	perf_say("%s: queue pair 0x%06x: atomic %" PRIu64 " has fetched %" PRIu64,
		 phase->end->device, queue->qp->qp_num, n, counter_at(at));
	return 1;
}

static uint64_t
verify_counter(struct perf_phase *phase, const struct perf_queue *queue, uint64_t sent)
{
	if (counter_at(queue->in) == sent)
		return 0;
	perf_say("%s: queue pair 0x%06x: after %" PRIu64 " atomics the counter is %" PRIu64,
		 phase->end->device, queue->qp->qp_num, sent, counter_at(queue->in));
	return 1;
}

/* ---- All of a phase ---- */

static uint64_t
last_lap(const struct perf_phase *phase, uint64_t messages)
{
	return messages - RTE_MIN(messages, (uint64_t)phase->layout.slots);
}

/*
 * The last message of each slot. To an SRQ's those of one queue pair come in order, and the last as many as there are slots are of its
 * last lap: so are the last ones of all queue pairs together.
 */
static uint64_t
verify_slots(struct perf_phase *phase, const struct perf_queue *queue, uint64_t messages)
{
	uint64_t n, wrong = 0;

	for (n = last_lap(phase, messages); n < messages && wrong == 0; n++)
		wrong += perf_verify_message(phase, queue, n);
	return wrong;
}

/* Nobody else counts what is lost of UC's WRITEs. */
static uint64_t
verify_unreliable(struct perf_phase *phase, const struct perf_queue *queue, uint64_t messages,
		  struct perf_outcome *outcome)
{
	uint64_t n, end = 0;
	int64_t offset;

	for (n = last_lap(phase, messages); n < messages; n++) {
		offset = wait_for_message(phase, queue, n, &end);
		if (offset >= 0 && !perf_request_was_lost(phase, queue, n))
			return say_wrong(phase, queue, n, offset);
		outcome->lost += offset >= 0;
		outcome->received += offset < 0;
	}
	return 0;
}

static uint64_t
verify_fetched(struct perf_phase *phase, const struct perf_queue *queue, uint64_t sent)
{
	uint64_t n = last_lap(phase, sent), wrong = 0;

	for (; n < sent && wrong == 0; n++)
		wrong += perf_verify_fetched(phase, queue, n);
	return wrong;
}

static uint64_t
verify_queue(struct perf_phase *phase, const struct perf_queue *queue, struct perf_outcome *outcome)
{
	const struct perf_end *end = phase->end;
	const bool responds = !end->requests || end->options->bidirectional;
	const uint64_t to_us = phase->peer_sent[queue->index];
	const uint64_t from_us = phase->sent[queue->index];
	uint64_t wrong = 0;

	if (end->options->op == PERF_READ)
		return end->requests ? verify_slots(phase, queue, from_us) : 0;
	if (end->options->transport == RDMAPMD_QPT_UC && end->options->op == PERF_WRITE)
		return responds ? verify_unreliable(phase, queue, to_us, outcome) : 0;
	if (!perf_op_atomic(end->options->op))
		return responds ? verify_slots(phase, queue, to_us) : 0;
	if (responds)
		wrong += verify_counter(phase, queue, to_us);
	if (end->requests)
		wrong += verify_fetched(phase, queue, from_us);
	return wrong;
}

static uint64_t
verify_worker(struct perf_phase *phase, const struct perf_worker *worker)
{
	uint64_t wrong = 0;
	uint32_t q;

	/* What was lost has left a slot as it was, or moved what came after it to another one. */
	if (phase->outcomes[worker->index].lost > 0)
		return 0;
	/* An SRQ's receives are in the first queue pair's slots. */
	if (worker->srq != NULL)
		return verify_slots(phase, worker->queues, perf_phase_peer_sent(phase, worker));
	for (q = 0; q < worker->nqueues && wrong == 0; q++)
		wrong += verify_queue(phase, &worker->queues[q], &phase->outcomes[worker->index]);
	return wrong;
}

uint64_t
perf_verify_phase(struct perf_phase *phase)
{
	uint64_t wrong = 0;
	uint32_t w;

	for (w = 0; w < phase->end->options->lcores; w++)
		wrong += verify_worker(phase, &phase->end->workers[w]);
	return wrong;
}
