/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_common.h>

#include "round.h"

/* ---- Failures that a FLUSH tells of ---- */

static const struct rdmo_failure no_failure = { .seq = RDMO_NONE, .status = RDMO_STATUS_OK };

void
rdmo_flow_begin(struct rdmo_flow *flow, uint64_t id, uint64_t client, uint64_t rq_id)
{
	*flow = (struct rdmo_flow){
		.id = id,
		.client = client,
		.rq_id = rq_id,
		.producer = RDMO_NO_PRODUCER,
		.others = no_failure,
	};
}

/* In order of sequence numbers: what is there already is earlier. */
static void
failure_note(struct rdmo_flow *flow, const struct rdmo_result *result)
{
	const struct rdmo_failure failure = {
		.key = result->key,
		.seq = result->seq,
		.status = result->status,
	};

	for (uint32_t i = 0; i < flow->failure_count; i++)
		if (flow->failures[i].key == failure.key)
			return;
	if (flow->failure_count < RDMO_FAILURES)
		flow->failures[flow->failure_count++] = failure;
	else if (flow->others.seq == RDMO_NONE)
		flow->others = failure;
}

/* The first one of a key, or of all keys, which is told now. Those without room are told with any key. */
static struct rdmo_failure
failure_take(struct rdmo_flow *flow, uint64_t key)
{
	struct rdmo_failure first = flow->others;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < flow->failure_count; i++) {
		const struct rdmo_failure *failure = &flow->failures[i];

		if (key != 0 && failure->key != key)
			flow->failures[kept++] = *failure;
		else if (failure->seq < first.seq)
			first = *failure;
	}
	flow->failure_count = kept;
	flow->others = no_failure;
	return first;
}

/* ---- Checks ---- */

/* A region that this key opens for the flow, for this; NULL: `status` is set. */
static struct rdmo_region *
region_for(const struct rdmo_map *regions, struct rdmo_flow *flow, uint64_t key, uint32_t right,
	   enum rdmo_status *status)
{
	struct rdmo_region *region = rdmo_map_find(regions, key);

	if (region == NULL || region->client != flow->client ||
	    (region->rq_id != 0 && region->rq_id != flow->rq_id)) {
		flow->wrong_keys++;
		*status = RDMO_STATUS_KEY;
		return NULL;
	}
	if ((region->rights & right) == 0) {
		*status = RDMO_STATUS_RIGHTS;
		return NULL;
	}
	return region;
}

/* ---- Operations ---- */

/* Is the queue this lane's? It becomes so if it is nobody's. No order is needed: what is the owner's, no other one reads. */
static bool
queue_is_here(struct rdmo_round *round, struct rdmo_region *data)
{
	unsigned int owner = atomic_load_explicit(&data->owner, memory_order_relaxed);

	if (owner == 0 &&
	    atomic_compare_exchange_strong_explicit(&data->owner, &owner, round->lane + 1,
						    memory_order_relaxed, memory_order_relaxed))
		return true;
	if (owner == round->lane + 1)
		return true;
	round->elsewhere = owner - 1;
	return false;
}

static void
region_is_due(struct rdmo_round *round, struct rdmo_region *region)
{
	if (region->is_due || !rdmo_tail_is_due(rdmo_region_tail(region)))
		return;
	region->is_due = true;
	round->queues[round->due++] = region;
}

static void
write_add(struct rdmo_writes *writes, const struct rdmo_region *region, uint64_t addr,
	  const uint8_t *from, uint32_t bytes)
{
	if (bytes > 0)
		writes->all[writes->count++] = (struct rdmo_write){
			.addr = addr,
			.from = from,
			.rkey = region->rkey,
			.bytes = bytes,
		};
}

/* Bytes go to a region that has them: now, or when the round is written. */
static void
place(struct rdmo_round *round, const struct rdmo_region *region, uint64_t addr,
      const uint8_t *from, uint64_t bytes)
{
	if (round->writes != NULL)
		write_add(round->writes, region, addr, from, (uint32_t)bytes);
	else if (bytes > 0)
		memcpy((void *)(uintptr_t)addr, from, bytes);
}

/* To a remote queue: its bytes are reserved, and are to be written. */
static enum rdmo_status
append_remote(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_region *ptr,
	      uint64_t word, const struct rdmo_request *request, uint64_t *address)
{
	enum rdmo_status status;

	if (rdmo_region_must_look(data, word)) {
		round->look = (struct rdmo_round_look){ data, word, ptr->rkey };
		round->elsewhere = RDMO_LATER;
		return RDMO_STATUS_OK;
	}
	status = rdmo_region_reserve(data, word, request->bytes, address);
	if (status == RDMO_STATUS_OK)
		write_add(round->writes, data, *address, request->payload,
			  (uint32_t)request->bytes);
	data->word_rkey = ptr->rkey;
	return status;
}

/* To a log. Who may waits for its reader, but for what has been here before: it was refused then. */
static enum rdmo_status
append_log(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_request *request,
	   struct rdmo_result *result)
{
	const struct rdmo_origin origin = { result->flow->producer, result->seq };
	const enum rdmo_status status = rdmo_region_append_log(data, &origin, request->payload,
							       request->bytes, &result->value);

	if (status == RDMO_STATUS_FULL && result->flow->may_wait &&
	    origin.seq >= rdmo_region_next_seq(data, origin.producer))
		round->elsewhere = RDMO_WAITS;
	return status;
}

/* To a queue whose tail others move, too: by whichever lane. Nothing is to be published. */
static enum rdmo_status
append_shared(struct rdmo_region *data, const struct rdmo_request *request, uint64_t word,
	      struct rdmo_result *result)
{
	uint32_t one = 1;
	const enum rdmo_status status = rdmo_region_share(data, word, request->payload,
							  request->bytes, 0, &one, &result->value);

	if (status == RDMO_STATUS_OK)
		result->queue = data;
	return status;
}

static enum rdmo_status
append(struct rdmo_round *round, const struct rdmo_map *regions, const struct rdmo_request *request,
       struct rdmo_result *result)
{
	const uint64_t ptr_addr = rte_le_to_cpu_64(request->append->ptr_addr);
	const uint64_t ptr_key = rte_le_to_cpu_64(request->append->ptr_rkey);
	struct rdmo_region *ptr, *data;
	enum rdmo_status status;

	result->key = rte_le_to_cpu_64(request->append->data_rkey);
	ptr = region_for(regions, result->flow, ptr_key, RDMO_RIGHT_APPEND, &status);
	if (ptr == NULL)
		return status;
	data = region_for(regions, result->flow, result->key, RDMO_RIGHT_APPEND, &status);
	if (data == NULL)
		return status;
	if (!rdmo_region_has(ptr, ptr_addr, sizeof(rte_le64_t)))
		return RDMO_STATUS_BOUNDS;
	/* A log has its own tail, which is no other's. */
	if ((ptr->is_log || data->is_log) && (ptr != data || ptr_addr != data->va))
		return RDMO_STATUS_TAIL;
	if (data->is_shared)
		return append_shared(data, request, ptr_addr, result);
	if (!queue_is_here(round, data))
		return RDMO_STATUS_OK; /* to be asked there */
	if (data->is_log)
		status = append_log(round, data, request, result);
	else if (data->remote != NULL)
		status = append_remote(round, data, ptr, ptr_addr, request, &result->value);
	else
		status = rdmo_region_append(data, ptr_addr, request->payload, request->bytes,
					    &result->value);
	if (status != RDMO_STATUS_OK || round->elsewhere != RDMO_HERE)
		return status;
	/* A record that was there before depends on nothing more. */
	if (result->value >= rdmo_region_tail(data)->published)
		result->queue = data;
	region_is_due(round, data);
	return RDMO_STATUS_OK;
}

/* Does it name a log? Whether it may is append()'s to check. */
static bool
is_to_log(const struct rdmo_map *regions, const struct rdmo_request *request)
{
	const struct rdmo_region *data;

	if (request->op_id != RDMO_OP_APPEND)
		return false;
	data = rdmo_map_find(regions, rte_le_to_cpu_64(request->append->data_rkey));
	return data != NULL && data->is_log;
}

/* All pieces are checked before the first byte is written. */
static enum rdmo_status
scatter(struct rdmo_round *round, const struct rdmo_map *regions,
	const struct rdmo_request *request, struct rdmo_result *result)
{
	struct rdmo_pieces pieces = rdmo_pieces_of(request);
	struct rdmo_region *region;
	struct rdmo_piece piece;
	enum rdmo_status status;

	while (rdmo_pieces_next(&pieces, &piece)) {
		result->key = piece.rkey;
		region = region_for(regions, result->flow, piece.rkey, RDMO_RIGHT_WRITE, &status);
		if (region == NULL)
			return status;
		if (!rdmo_region_has(region, piece.addr, piece.len))
			return RDMO_STATUS_BOUNDS;
	}
	pieces = rdmo_pieces_of(request);
	while (rdmo_pieces_next(&pieces, &piece))
		place(round, rdmo_map_find(regions, piece.rkey), piece.addr, piece.data, piece.len);
	return RDMO_STATUS_OK;
}

/* In memory of this process, by the CPU: it found this. */
static uint64_t
number_change(rte_le64_t *number, bool is_swap, uint64_t operand, uint64_t swap)
{
	rte_le64_t found =
		is_swap ? rte_cpu_to_le_64(operand) : __atomic_load_n(number, __ATOMIC_RELAXED);

	/* Release: for who sees the new one, what was done before is visible. */
	if (is_swap)
		__atomic_compare_exchange_n(number, &found, rte_cpu_to_le_64(swap), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	else
		while (!__atomic_compare_exchange_n(
			number, &found, rte_cpu_to_le_64(rte_le_to_cpu_64(found) + operand), true,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			;
	return rte_le_to_cpu_64(found);
}

static enum rdmo_status
atomic(struct rdmo_round *round, const struct rdmo_map *regions, const struct rdmo_request *request,
       struct rdmo_result *result)
{
	const uint64_t addr = rte_le_to_cpu_64(request->atomic->addr);
	const uint64_t operand = rte_le_to_cpu_64(request->atomic->operand);
	const uint64_t swap = rte_le_to_cpu_64(request->atomic->swap);
	struct rdmo_region *region;
	enum rdmo_status status;

	result->key = rte_le_to_cpu_64(request->atomic->rkey);
	region = region_for(regions, result->flow, result->key, RDMO_RIGHT_ATOMIC, &status);
	if (region == NULL)
		return status;
	if (!rdmo_region_has(region, addr, sizeof(rte_le64_t)))
		return RDMO_STATUS_BOUNDS;
	if (region->remote == NULL)
		result->value = number_change((rte_le64_t *)(uintptr_t)addr,
					      request->op_id == RDMO_OP_CMP_SWAP, operand, swap);
	else
		round->atomic = (struct rdmo_round_atomic){
			.result = result,
			.addr = addr,
			.operand = operand,
			.swap = swap,
			.rkey = region->rkey,
			.is_swap = request->op_id == RDMO_OP_CMP_SWAP,
		};
	return RDMO_STATUS_OK;
}

/* A signal, behind its payload. */
static void
signal_give(struct rdmo_round *round, const struct rdmo_region *region,
	    const struct rdmo_put_hdr *put, struct rdmo_result *result)
{
	const uint64_t addr = rte_le_to_cpu_64(put->signal_addr);
	const uint64_t value = rte_le_to_cpu_64(put->value);
	const bool is_add = put->kind == rte_cpu_to_le_32(RDMO_SIGNAL_ADD);
	rte_le64_t *const number = (rte_le64_t *)(uintptr_t)addr;

	if (region->remote == NULL && is_add)
		number_change(number, false, value, 0);
	else if (region->remote == NULL)
		__atomic_store_n(number, put->value, __ATOMIC_RELEASE);
	else if (is_add)
		round->atomic = (struct rdmo_round_atomic){
			.result = result,
			.addr = addr,
			.operand = value,
			.rkey = region->rkey,
		};
	else
		write_add(round->writes, region, addr, (const uint8_t *)&put->value,
			  sizeof(put->value));
}

static enum rdmo_status
put(struct rdmo_round *round, const struct rdmo_map *regions, const struct rdmo_request *request,
    struct rdmo_result *result)
{
	const struct rdmo_put_hdr *hdr = request->put;
	const uint64_t addr = rte_le_to_cpu_64(hdr->addr);
	const uint32_t right = hdr->kind == rte_cpu_to_le_32(RDMO_SIGNAL_ADD) ? RDMO_RIGHT_ATOMIC
									      : RDMO_RIGHT_WRITE;
	struct rdmo_region *region, *number;
	enum rdmo_status status;

	result->key = rte_le_to_cpu_64(hdr->rkey);
	region = region_for(regions, result->flow, result->key, RDMO_RIGHT_WRITE, &status);
	if (region == NULL)
		return status;
	number = region_for(regions, result->flow, rte_le_to_cpu_64(hdr->signal_rkey), right,
			    &status);
	if (number == NULL)
		return status;
	if (!rdmo_region_has(region, addr, request->bytes) ||
	    !rdmo_region_has(number, rte_le_to_cpu_64(hdr->signal_addr), sizeof(rte_le64_t)))
		return RDMO_STATUS_BOUNDS;
	place(round, region, addr, request->payload, request->bytes);
	signal_give(round, number, hdr, result);
	return RDMO_STATUS_OK;
}

static enum rdmo_status
flush(const struct rdmo_map *regions, const struct rdmo_request *request,
      struct rdmo_result *result)
{
	enum rdmo_status status = RDMO_STATUS_OK;

	result->flush_id = rte_le_to_cpu_64(request->flush->flush_id);
	result->key = rte_le_to_cpu_64(request->flush->key);
	if (result->key != 0 &&
	    region_for(regions, result->flow, result->key, RDMO_RIGHTS_ALL, &status) == NULL)
		return status;
	result->is_flushed = true;
	return RDMO_STATUS_OK;
}

static enum rdmo_status
execute(struct rdmo_round *round, const struct rdmo_map *regions,
	const struct rdmo_request *request, struct rdmo_result *result)
{
	if (request->status != RDMO_STATUS_OK)
		return request->status;
	if (atomic_load_explicit(&result->flow->is_lost, memory_order_relaxed))
		return RDMO_STATUS_TARGET_LOST;
	if (request->id != result->flow->id)
		return RDMO_STATUS_CLIENT;
	if ((request->flags & RDMO_FLAG_PULL) != 0)
		return RDMO_STATUS_NOTSUP;
	if (request->seq < result->flow->replayed && !is_to_log(regions, request))
		return RDMO_STATUS_UNKNOWN;
	switch (request->op_id) {
	case RDMO_OP_APPEND: return append(round, regions, request, result);
	case RDMO_OP_SCATTER: return scatter(round, regions, request, result);
	case RDMO_OP_PUT_SIGNAL: return put(round, regions, request, result);
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP: return atomic(round, regions, request, result);
	default: return flush(regions, request, result);
	}
}

bool
rdmo_round_has_room(const struct rdmo_round *round, const struct rdmo_request *request)
{
	const uint64_t pieces = request->op_id == RDMO_OP_SCATTER ? request->count : 1;

	/* What it does in one step with others', as a queue pair does it, would not be in order. */
	const bool is_alone =
		(request->flags & RDMO_FLAG_FENCE) != 0 || request->op_id == RDMO_OP_PUT_SIGNAL ||
		request->op_id == RDMO_OP_FETCH_ADD || request->op_id == RDMO_OP_CMP_SWAP;

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
	result->status = execute(round, regions, request, result);
	if (round->elsewhere != RDMO_HERE)
		return false;
	if ((request->flags & RDMO_FLAG_NOTIFY) != 0 && result->status == RDMO_STATUS_OK)
		result->notify = rdmo_map_find(regions, result->key);
	round->count++;
	round->result_count++;
	return true;
}

/* Those behind it, at a tail that others move, too: one run. What does not fit is asked for, and refused, one by one. */
static uint32_t
share_alike(const struct rdmo_region *queue, const struct rdmo_request *request, uint32_t n,
	    uint64_t *addresses)
{
	const uint64_t stride = rdmo_requests_stride(request);

	if (n > 0 && rdmo_region_share(queue, rte_le_to_cpu_64(request->append->ptr_addr),
				       request->payload + stride, request->bytes, stride, &n,
				       addresses) != RDMO_STATUS_OK)
		n = 0;
	return n;
}

void
rdmo_round_go_on(struct rdmo_round *round, const struct rdmo_request *request,
		 struct rdmo_reader *reader, uint32_t n)
{
	struct rdmo_result *result = &round->results[round->result_count - 1];
	uint32_t taken;

	/* No append to a queue here that went well; or one with RDMO_FLAG_FENCE, each of which settles those before it. */
	if (result->queue == NULL || result->queue->is_log || result->queue->remote != NULL ||
	    (request->flags & RDMO_FLAG_FENCE) != 0)
		return;
	taken = RTE_MIN(n, reader->alike);
	if (result->queue->is_shared)
		taken = share_alike(result->queue, request, taken, &round->values[round->count]);
	else
		taken = rdmo_region_append_alike(result->queue, request->payload, request->bytes,
						 rdmo_requests_stride(request), taken,
						 &round->values[round->count]);
	rdmo_requests_pass(reader, request, taken);
	result->first = round->count;
	result->count += taken;
	round->count += taken;
}

/* ---- The end of a round ---- */

/* A tail that somebody else has moved: what was to be before it is not. */
static void
result_undo(struct rdmo_result *result)
{
	const struct rdmo_origin origin = { result->flow->producer, result->seq };

	if (result->queue->is_log)
		rdmo_region_undo_log(result->queue, &origin);
	result->status = RDMO_STATUS_TAIL;
	result->value = 0;
}

/* It is visible: whoever is told, and looks, finds it. Partner: who takes the count. */
static void
result_notify(struct rdmo_round *round, const struct rdmo_result *result)
{
	atomic_fetch_add_explicit(&result->notify->notified, result->count, memory_order_release);
	round->has_notified = true;
}

static void
result_settle(struct rdmo_round *round, struct rdmo_result *result)
{
	struct rdmo_failure failure;

	if (result->queue != NULL && rdmo_region_tail(result->queue)->stopped)
		result_undo(result);
	if (result->status != RDMO_STATUS_OK && result->op_id != RDMO_OP_FLUSH) {
		failure_note(result->flow, result);
	} else if (result->is_flushed) {
		failure = failure_take(result->flow, result->key);
		result->status = failure.status;
		result->value = failure.seq;
	}
	if (result->notify != NULL && result->status == RDMO_STATUS_OK)
		result_notify(round, result);
}

void
rdmo_round_conclude(struct rdmo_round *round)
{
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
	for (uint32_t i = round->settled; i < round->result_count; i++) {
		struct rdmo_result *result = &round->results[i];

		if (result->status == RDMO_STATUS_OK && result->op_id != RDMO_OP_FLUSH) {
			result->status = RDMO_STATUS_TARGET_LOST;
			result->value = 0;
			result->queue = NULL;
		}
	}
}
