/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "request.h"
#include "say.h"
#include "verify.h"

/* A WRITE has no completion where it arrives: of its bytes the last one may be seen before others. */
#define PATIENCE_MS 200

/* --damage: before it is looked at for the first time. */
static void
damage(const struct perf_phase *phase, uint8_t *message, uint64_t n)
{
	const int64_t offset = phase->end->options->damage;

	if (n == 0 && offset >= 0 && offset < phase->layout.size && !phase->warm_up)
		message[offset] ^= 1;
}

static uint64_t
say_wrong(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n,
	  int64_t offset)
{
	perf_say("%s: queue pair 0x%06x: message %" PRIu64
		 " of %u bytes is wrong at offset %" PRId64,
		 phase->end->device, queue->qp->qp_num, n, phase->layout.size, offset);
	return 1;
}

uint64_t
perf_verify_message(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	uint64_t end = 0;
	int64_t offset;

	damage(phase, perf_request_in(phase, queue, n), n);
	while ((offset = perf_request_compare(phase, queue, n)) >= 0) {
		const uint64_t now = rte_get_timer_cycles();

		if (end == 0)
			end = now + PATIENCE_MS * rte_get_timer_hz() / 1000;
		if (now > end)
			return say_wrong(phase, queue, n, offset);
	}
	return 0;
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
	uint8_t *at = perf_request_out(phase, queue, n);

	damage(phase, at, n);
	if (counter_at(at) == n)
		return 0;
	perf_say("%s: queue pair 0x%06x: atomic %" PRIu64 " has fetched %" PRIu64,
		 phase->end->device, queue->qp->qp_num, n, counter_at(at));
	return 1;
}

static uint64_t
verify_counter(struct perf_phase *phase, const struct perf_queue *queue, uint64_t sent)
{
	damage(phase, queue->in, 0);
	if (counter_at(queue->in) == sent)
		return 0;
	perf_say("%s: queue pair 0x%06x: after %" PRIu64 " atomics the counter is %" PRIu64,
		 phase->end->device, queue->qp->qp_num, sent, counter_at(queue->in));
	return 1;
}

/* ---- All of a phase ---- */

/* The last messages of each slot. */
static uint64_t
verify_slots(struct perf_phase *phase, const struct perf_queue *queue, uint64_t messages)
{
	const uint64_t n = RTE_MIN(messages, (uint64_t)phase->layout.slots);
	uint64_t slot, wrong = 0;

	for (slot = 0; slot < n && wrong == 0; slot++)
		wrong += perf_verify_message(phase, queue, slot);
	return wrong;
}

static uint64_t
verify_fetched(struct perf_phase *phase, const struct perf_queue *queue, uint64_t sent)
{
	uint64_t n = sent - RTE_MIN(sent, (uint64_t)phase->layout.slots), wrong = 0;

	for (; n < sent && wrong == 0; n++)
		wrong += perf_verify_fetched(phase, queue, n);
	return wrong;
}

static uint64_t
verify_queue(struct perf_phase *phase, const struct perf_queue *queue)
{
	const struct perf_end *end = phase->end;
	const bool responds = !end->requests || end->options->bidirectional;
	const uint64_t to_us = phase->peer_sent[queue->index];
	const uint64_t from_us = phase->sent[queue->index];
	uint64_t wrong = 0;

	if (end->options->op == PERF_READ)
		return end->requests ? verify_slots(phase, queue, from_us) : 0;
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
		wrong += verify_queue(phase, &worker->queues[q]);
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
