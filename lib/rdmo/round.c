/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_common.h>

#include "record.h"
#include "round.h"
#include "round_private.h"

/* At a shared tail: others move it as often as they append; more often only who wants to keep a round from its end. */
#define TRIES_MAX 1000

/* Of a round that fetches: nothing but what is fetched, which no other operation of it is to be before or behind of. */
static bool
can_fetch(const struct rdmo_round *round, const struct rdmo_request *request)
{
	return rdmo_is_pulled(request) &&
	       (request->status != RDMO_STATUS_OK || round->fetches->count == 0 ||
		((request->flags & RDMO_FLAG_FENCE) == 0 &&
		 request->count <= RDMO_FETCHES - round->fetches->count));
}

bool
rdmo_round_has_room(const struct rdmo_round *round, const struct rdmo_request *request)
{
	const uint64_t pieces =
		request->op_id == RDMO_OP_SCATTER ? request->count : RDMO_APPEND_WRITES;

	/* What it does in one step with others', as a queue pair does it, would not be in order. */
	const bool is_alone =
		(request->flags & (RDMO_FLAG_FENCE | RDMO_FLAG_PULL)) != 0 ||
		(request->op_id >= RDMO_OP_GATHER && request->op_id <= RDMO_OP_CMP_SWAP) ||
		round->gather.result != NULL ||
		(round->fetches != NULL && round->fetches->count > 0);

	if (round->writes == NULL)
		return can_fetch(round, request);
	return round->count == 0 || request->status != RDMO_STATUS_OK ||
	       (!is_alone && round->atomic.result == NULL &&
		pieces <= round->writes->room - round->writes->count);
}

bool
rdmo_round_execute(struct rdmo_round *round, const struct rdmo_map *regions, struct rdmo_flow *flow,
		   const struct rdmo_request *request)
{
	struct rdmo_result *result = &round->results[round->result_count];

	if ((request->flags & RDMO_FLAG_FENCE) != 0)
		rdmo_round_settle(round);
	*result = (struct rdmo_result){
		.flow = flow,
		.seq = request->seq,
		.count = 1,
		.op_id = request->op_id,
		.is_silent = request->op_id < RDMO_OPS && request->op_id != RDMO_OP_FLUSH &&
			     (request->flags & RDMO_FLAG_SILENT) != 0,
	};
	round->elsewhere = RDMO_HERE;
	result->status = rdmo_operate(round, regions, request, result);
	if (round->elsewhere != RDMO_HERE)
		return false;
	if (rdmo_is_pulled(request) && result->status == RDMO_STATUS_OK)
		round->fetches->flow = flow;
	if ((request->flags & RDMO_FLAG_NOTIFY) != 0 && result->status == RDMO_STATUS_OK)
		result->notify = rdmo_map_find(regions, result->key);
	round->count++;
	round->result_count++;
	return true;
}

/* Those behind it, at a tail that others move, too: one run. What does not fit is asked for, and refused, one by one. */
static uint32_t
share_alike(const struct rdmo_region *queue, const struct rdmo_request *request, uint32_t n,
	    uint64_t *address)
{
	const uint64_t stride = rdmo_requests_stride(request);

	if (n > 0 && rdmo_region_share(queue, rte_le_to_cpu_64(request->append->ptr_addr),
				       request->payload + stride, request->bytes, stride, &n,
				       address) != RDMO_STATUS_OK)
		n = 0;
	return n;
}

/* Up to `n` like the result's, which went well, behind it. Returns how many. */
static uint32_t
appends_alike(struct rdmo_result *result, const struct rdmo_request *request, uint32_t n)
{
	struct rdmo_region *const queue = result->queue;
	const struct rdmo_origin origin = { result->flow->producer, result->seq };
	const uint64_t stride = rdmo_requests_stride(request);

	result->step = queue->is_log ? rdmo_record_bytes(request->bytes) : request->bytes;
	if (queue->is_shared)
		return share_alike(queue, request, n, &result->second);
	if (queue->is_log)
		return rdmo_region_append_log_alike(queue, &origin, request->payload,
						    request->bytes, stride, n, &result->second);
	return rdmo_region_append_alike(queue, request->payload, request->bytes, stride, n,
					&result->second);
}

void
rdmo_round_go_on(struct rdmo_round *round, const struct rdmo_request *request,
		 struct rdmo_reader *reader, uint32_t n)
{
	struct rdmo_result *result = &round->results[round->result_count - 1];
	uint32_t taken;

	/*
	 * No append here that went well, and for the first time; one with RDMO_FLAG_FENCE, each of which settles those before it; one whose
	 * payload is not in the message.
	 */
	if (result->queue == NULL || result->queue->remote != NULL ||
	    (request->flags & (RDMO_FLAG_FENCE | RDMO_FLAG_PULL)) != 0)
		return;
	taken = appends_alike(result, request, RTE_MIN(n, reader->alike));
	rdmo_requests_pass(reader, request, taken);
	result->count += taken;
	round->count += taken;
}

/* ---- The end of a round ---- */

/* A tail that somebody else has moved: what was to be before it is not. */
static void
result_undo(struct rdmo_result *result)
{
	for (uint32_t i = 0; i < result->count && result->queue->is_log; i++) {
		const struct rdmo_origin origin = { result->flow->producer, result->seq + i };

		rdmo_region_undo_log(result->queue, &origin);
	}
	result->status = RDMO_STATUS_TAIL;
	result->value = 0;
}

/* It is visible: a reader that is told, and looks, finds it. Partner: the one that takes the count. */
static void
result_notify(struct rdmo_round *round, const struct rdmo_result *result)
{
	atomic_fetch_add_explicit(&result->notify->notified, result->count, memory_order_release);
	round->has_notified = true;
}

/* Whichever of its keys a FLUSH is about. */
static void
result_fail(struct rdmo_round *round, const struct rdmo_result *result)
{
	rdmo_failure_note(result->flow, result->key, result->seq, result->status);
	for (uint32_t i = 0; i < round->name_count; i++)
		if (round->names[i].result == result)
			rdmo_failure_note(result->flow, round->names[i].key, result->seq,
					  result->status);
	if (round->unnamed == result)
		rdmo_failure_note_any(result->flow, result->seq, result->status);
}

static void
result_settle(struct rdmo_round *round, struct rdmo_result *result)
{
	struct rdmo_failure failure;

	if (result->queue != NULL && rdmo_region_tail(result->queue)->stopped)
		result_undo(result);
	if (result->status != RDMO_STATUS_OK && result->op_id != RDMO_OP_FLUSH) {
		result_fail(round, result);
	} else if (result->is_flushed) {
		failure = rdmo_failure_take(result->flow, result->key);
		result->status = failure.status;
		result->value = failure.seq;
	}
	if (result->notify != NULL && result->status == RDMO_STATUS_OK)
		result_notify(round, result);
}

/* Of a remote target: others may append to them again. */
static void
queues_free(struct rdmo_round *round)
{
	for (uint32_t i = 0; i < round->due; i++)
		round->queues[i]->held_by = NULL;
	if (round->look.queue != NULL)
		round->look.queue->held_by = NULL;
}

void
rdmo_round_conclude(struct rdmo_round *round)
{
	if (round->writes != NULL)
		queues_free(round);
	for (uint32_t i = 0; i < round->due; i++)
		round->queues[i]->is_due = false;
	round->due = 0;
	for (; round->settled < round->result_count; round->settled++)
		result_settle(round, &round->results[round->settled]);
}

void
rdmo_round_settle(struct rdmo_round *round)
{
	for (uint32_t i = 0; i < round->due; i++) {
		struct rdmo_region *region = round->queues[i];

		if (rdmo_tail_publish(rdmo_region_tail(region),
				      (rte_le64_t *)(uintptr_t)region->word) &&
		    rdmo_region_must_wake(region))
			round->bells[round->bell_count++] = (int)region->bell - 1;
	}
	rdmo_round_conclude(round);
}

void
rdmo_round_gathered(const struct rdmo_round *round, uint8_t *to)
{
	const struct rdmo_round_gather *gather = &round->gather;

	if (gather->from != NULL) {
		memcpy(to, gather->from, gather->bytes);
		return;
	}
	for (uint64_t i = 0; i < gather->count; i++) {
		const uint32_t bytes = rte_le_to_cpu_32(gather->pieces[i].len);

		if (bytes > 0)
			memcpy(to, (void *)(uintptr_t)rte_le_to_cpu_64(gather->pieces[i].addr),
			       bytes);
		to += bytes;
	}
}

/* ---- Of a round that fetches ---- */

static void
held_free(struct rdmo_fetches *fetches)
{
	for (uint32_t i = 0; i < fetches->held_count; i++)
		fetches->held[i]->held_by = NULL;
}

void
rdmo_round_fetched(struct rdmo_round *round)
{
	struct rdmo_fetches *fetches = round->fetches;

	for (uint32_t i = 0; i < fetches->record_count; i++) {
		const struct rdmo_due_record *record = &fetches->records[i];

		if (record->log->remote != NULL)
			rdmo_writes_header(round->writes, record->log, &record->origin,
					   record->position, record->bytes, record->sum);
		else
			rdmo_region_finish_log(record->log, &record->origin, record->position,
					       record->bytes);
	}
	held_free(fetches);
}

void
rdmo_round_passed(struct rdmo_round *round, const void *bytes, uint32_t count)
{
	struct rdmo_due_record *record = &round->fetches->records[0];

	/* Of a remote target there is one at most. */
	if (round->fetches->record_count > 0)
		record->sum = rdmo_record_sum_more(record->sum, bytes, count);
}

/* What went well so far has not. */
static void
results_lose(struct rdmo_round *round, enum rdmo_status status)
{
	for (uint32_t i = round->settled; i < round->result_count; i++) {
		struct rdmo_result *result = &round->results[i];

		if (result->status == RDMO_STATUS_OK && result->op_id != RDMO_OP_FLUSH) {
			result->status = status;
			result->value = 0;
			result->queue = NULL;
		}
	}
}

/* Does it have one of these bytes? No sum that could wrap. */
static bool
region_meets(const struct rdmo_region *region, uint64_t addr, uint64_t bytes)
{
	return addr - region->va < region->len || region->va - addr < bytes;
}

bool
rdmo_round_uses(const struct rdmo_round *round, const struct rdmo_region *region)
{
	const struct rdmo_fetches *fetches = round->fetches;

	if (round->atomic.queue == region ||
	    (round->atomic.result != NULL &&
	     region_meets(region, round->atomic.addr, sizeof(rte_le64_t))))
		return true;
	for (uint32_t i = 0; i < round->result_count; i++)
		if (round->results[i].queue == region || round->results[i].notify == region)
			return true;
	for (uint32_t i = 0; i < round->due; i++)
		if (region_meets(region, round->queues[i]->word, sizeof(rte_le64_t)))
			return true;
	for (uint32_t i = 0; i < fetches->count; i++)
		if (region_meets(region, fetches->all[i].to, fetches->all[i].bytes))
			return true;
	return false;
}

void
rdmo_round_abandon(struct rdmo_round *round)
{
	/* It is the only one that has reserved anything there since the last publication. */
	for (uint32_t i = 0; i < round->due; i++)
		rdmo_tail_forget(rdmo_region_tail(round->queues[i]));
	held_free(round->fetches);
	results_lose(round, RDMO_STATUS_UNKNOWN);
	rdmo_round_conclude(round);
}

/* ---- Of a remote target ---- */

bool
rdmo_round_reserved(struct rdmo_round *round, uint64_t found)
{
	struct rdmo_result *result = round->atomic.result;

	if (found == round->atomic.operand) {
		rdmo_share_fill(round, found);
		result->value = found;
		return true;
	}
	result->status =
		++round->atomic.tries < TRIES_MAX ? rdmo_share_ask(round, found) : RDMO_STATUS_TAIL;
	if (result->status == RDMO_STATUS_OK)
		return false;
	result->queue = NULL;
	return true;
}

void
rdmo_round_moved(struct rdmo_round *round, uint32_t due, const struct rdmo_tail_move *move,
		 uint64_t found)
{
	rdmo_tail_moved(rdmo_region_tail(round->queues[due]), move, found);
}

void
rdmo_round_lose(struct rdmo_round *round)
{
	for (uint32_t i = 0; i < round->due; i++)
		rdmo_region_tail(round->queues[i])->stopped = true;
	results_lose(round, RDMO_STATUS_TARGET_LOST);
}
