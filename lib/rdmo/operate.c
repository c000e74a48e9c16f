/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "record.h"
#include "round_private.h"

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

/* Does this lane own the queue? A queue without an owner becomes its own. No order is needed: only the owner reads what it has. */
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
	/* Of a remote target: until its tail has moved, rdmo_round_conclude(). */
	if (round->writes != NULL)
		region->held_by = round;
}

/* Bytes go to a region that has them: now, or when the round is written. */
static void
bytes_place(struct rdmo_round *round, const struct rdmo_region *region, uint64_t addr,
	    const uint8_t *from, uint64_t bytes)
{
	if (round->writes != NULL)
		rdmo_writes_add(round->writes, region, addr, from, (uint32_t)bytes);
	else if (bytes > 0)
		memcpy((void *)(uintptr_t)addr, from, bytes);
}

/* ---- Payloads that are still the initiator's ---- */

static void
fetch_add(struct rdmo_round *round, const struct rdmo_region *region, uint64_t to,
	  const struct rdmo_pull *pull)
{
	struct rdmo_fetches *fetches = round->fetches;

	fetches->all[fetches->count++] = (struct rdmo_fetch){
		.from = rte_le_to_cpu_64(pull->addr),
		.to = to,
		.from_key = rte_le_to_cpu_32(pull->rkey),
		.to_key = region->remote != NULL ? region->rkey : region->lkey,
		.bytes = rte_le_to_cpu_32(pull->len),
	};
}

static void
payload_fetch(struct rdmo_round *round, const struct rdmo_request *request,
	      const struct rdmo_region *region, uint64_t to)
{
	for (uint64_t i = 0; i < request->count; i++) {
		fetch_add(round, region, to, &request->pulls[i]);
		to += rte_le_to_cpu_32(request->pulls[i].len);
	}
}

/* The payload of an append, to what was reserved for it. */
static void
payload_put(struct rdmo_round *round, const struct rdmo_request *request,
	    const struct rdmo_region *region, uint64_t to)
{
	if (rdmo_is_pulled(request))
		payload_fetch(round, request, region, to);
	else
		bytes_place(round, region, to, request->payload, request->bytes);
}

/* Nobody else appends there until it is settled. */
static void
region_hold(struct rdmo_round *round, struct rdmo_region *region)
{
	if (region->held_by == round)
		return;
	region->held_by = round;
	round->fetches->held[round->fetches->held_count++] = region;
}

/* To a log: its header and what says that it is there come when its payload has. */
static void
record_fetch(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_origin *origin,
	     const struct rdmo_place *place, const struct rdmo_request *request)
{
	const struct rdmo_record header = rdmo_record_header(place->position, origin->producer,
							     origin->seq, (uint32_t)request->bytes);
	struct rdmo_fetches *fetches = round->fetches;

	fetches->records[fetches->record_count++] = (struct rdmo_due_record){
		.log = data,
		.origin = *origin,
		.position = place->position,
		.bytes = (uint32_t)request->bytes,
		.sum = rdmo_record_sum(&header),
	};
	payload_fetch(round, request, data,
		      rdmo_region_ring_addr(data, place->position) + sizeof(header));
	if (data->remote != NULL) {
		rdmo_writes_pad(round->writes, data, place);
	} else {
		rdmo_region_pad_log(data, place);
		region_hold(round, data);
	}
}

/* To a queue of this process. */
static enum rdmo_status
pull_queue(struct rdmo_round *round, struct rdmo_region *data, uint64_t word,
	   const struct rdmo_request *request, struct rdmo_result *result)
{
	const enum rdmo_status status =
		rdmo_region_reserve(data, word, request->bytes, &result->value);

	if (status != RDMO_STATUS_OK)
		return status;
	payload_fetch(round, request, data, result->value);
	region_hold(round, data);
	return RDMO_STATUS_OK;
}

/* Its tail is to be read, or its head. Until it was, nobody else's append goes by what is known of it. */
static void
queue_look(struct rdmo_round *round, struct rdmo_region *data, uint64_t word, uint32_t rkey)
{
	round->look = (struct rdmo_round_look){ data, word, rkey };
	round->elsewhere = RDMO_LATER;
	data->held_by = round;
}

/* To a remote queue: its bytes are reserved, and are to be written. */
static enum rdmo_status
append_remote(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_region *ptr,
	      uint64_t word, const struct rdmo_request *request, uint64_t *address)
{
	enum rdmo_status status;

	if (rdmo_region_must_look(data, word)) {
		queue_look(round, data, word, ptr->rkey);
		return RDMO_STATUS_OK;
	}
	status = rdmo_region_reserve(data, word, request->bytes, address);
	if (status == RDMO_STATUS_OK)
		payload_put(round, request, data, *address);
	data->word_rkey = ptr->rkey;
	return status;
}

/* To a log in steps: of a payload that is fetched, or of a log in another process. */
static enum rdmo_status
append_log_in_steps(struct rdmo_round *round, struct rdmo_region *data,
		    const struct rdmo_request *request, const struct rdmo_origin *origin,
		    uint64_t *position)
{
	struct rdmo_place place = { 0 };
	bool is_new;
	const enum rdmo_status status =
		rdmo_region_reserve_log(data, origin, request->bytes, &place, &is_new);

	*position = place.position;
	if (!is_new)
		return status;
	data->look.is_done = false;
	if (rdmo_is_pulled(request))
		record_fetch(round, data, origin, &place, request);
	else
		rdmo_writes_record(round->writes, data, origin, &place, request->payload,
				   (uint32_t)request->bytes);
	return RDMO_STATUS_OK;
}

/* It is full, as far as is known: what is to be done about it? */
static enum rdmo_status
log_is_full(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_result *result)
{
	if (rdmo_region_must_look_at_head(data)) {
		queue_look(round, data, data->va + offsetof(struct rdmo_log_header, head),
			   data->rkey);
	} else if (result->flow->may_wait) {
		round->elsewhere = RDMO_WAITS;
	}
	/* Who asks once more is to look once more. */
	data->look.is_done = false;
	return RDMO_STATUS_FULL;
}

/* To a log. Who may waits for its reader, but for what has been here before: it was refused then. */
static enum rdmo_status
append_log(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_request *request,
	   struct rdmo_result *result)
{
	const struct rdmo_origin origin = { result->flow->producer, result->seq };
	const bool is_simple = data->remote == NULL && !rdmo_is_pulled(request);
	const enum rdmo_status status =
		is_simple ? rdmo_region_append_log(data, &origin, request->payload, request->bytes,
						   &result->value)
			  : append_log_in_steps(round, data, request, &origin, &result->value);

	return status == RDMO_STATUS_FULL &&
			       origin.seq >= rdmo_region_next_seq(data, origin.producer)
		       ? log_is_full(round, data, result)
		       : status;
}

/* ---- At a tail that others move as well ---- */

enum rdmo_status
rdmo_share_ask(struct rdmo_round *round, uint64_t tail)
{
	struct rdmo_round_atomic *atomic = &round->atomic;

	atomic->operand = tail;
	atomic->swap = tail + atomic->request.bytes;
	return rdmo_queue_room(&atomic->queue->queue, tail, atomic->request.bytes);
}

void
rdmo_share_fill(struct rdmo_round *round, uint64_t to)
{
	const struct rdmo_request *request = &round->atomic.request;
	struct rdmo_region *queue = round->atomic.queue;

	/* Where the next one is looked for first. */
	queue->queue.tail.reserved = to + request->bytes;
	payload_put(round, request, queue, to);
}

/* In another process: by an atomic of its device, alone in its round. What is known of the tail may be old, but for what was just read. */
static enum rdmo_status
append_shared_remote(struct rdmo_round *round, struct rdmo_region *data,
		     const struct rdmo_region *ptr, uint64_t word,
		     const struct rdmo_request *request, struct rdmo_result *result)
{
	const bool is_fresh = data->look.is_done && data->look.word == word;
	const uint64_t tail = is_fresh ? data->look.value : data->queue.tail.reserved;
	enum rdmo_status status;

	if (round->count > 0) {
		round->elsewhere = RDMO_LATER;
		return RDMO_STATUS_OK;
	}
	round->atomic = (struct rdmo_round_atomic){
		.addr = word,
		.rkey = ptr->rkey,
		.is_swap = true,
		.queue = data,
		.request = *request,
	};
	data->look.is_done = false;
	status = rdmo_share_ask(round, tail);
	if (status == RDMO_STATUS_OK) {
		round->atomic.result = result;
		result->queue = data;
		return status;
	}
	round->atomic.queue = NULL;
	if (!is_fresh) {
		round->look = (struct rdmo_round_look){ data, word, ptr->rkey };
		round->elsewhere = RDMO_LATER;
	}
	return status;
}

/* To a queue whose tail others move, too: by whichever lane. Nothing is to be published. */
static enum rdmo_status
append_shared(struct rdmo_round *round, struct rdmo_region *data,
	      const struct rdmo_request *request, uint64_t word, struct rdmo_result *result)
{
	uint32_t one = 1;
	const enum rdmo_status status =
		rdmo_region_share_place(data, word, request->bytes, &one, &result->value);

	if (status != RDMO_STATUS_OK)
		return status;
	payload_put(round, request, data, result->value);
	result->queue = data;
	return RDMO_STATUS_OK;
}

/* May its payload be fetched to there? */
static bool
may_be_fetched(const struct rdmo_request *request, const struct rdmo_region *region)
{
	return !rdmo_is_pulled(request) || region->remote != NULL || region->is_fetchable;
}

/*
 * Can this be the tail of that? A log has its own, which is no other's. And what is appended, here or to another queue, would be a tail: any
 * place could be said to be the next one.
 */
static bool
tail_may_be(const struct rdmo_region *ptr, uint64_t ptr_addr, const struct rdmo_region *data)
{
	if (ptr->is_log || data->is_log)
		return ptr == data && ptr_addr == data->va;
	if (ptr_addr + sizeof(rte_le64_t) > data->va && ptr_addr < data->va + data->len)
		return false;
	return !atomic_load_explicit(&ptr->has_payloads, memory_order_relaxed) &&
	       !atomic_load_explicit(&data->has_tails, memory_order_relaxed);
}

/* One has appended: so it stays. Written once, as others of all lanes read it. */
static void
tail_has_been(struct rdmo_region *ptr, struct rdmo_region *data)
{
	if (data->is_log)
		return;
	if (!atomic_load_explicit(&ptr->has_tails, memory_order_relaxed))
		atomic_store_explicit(&ptr->has_tails, true, memory_order_relaxed);
	if (!atomic_load_explicit(&data->has_payloads, memory_order_relaxed))
		atomic_store_explicit(&data->has_payloads, true, memory_order_relaxed);
}

/* To a queue or log whose tail nobody else moves. */
static enum rdmo_status
append_exclusive(struct rdmo_round *round, struct rdmo_region *data, const struct rdmo_region *ptr,
		 const struct rdmo_request *request, struct rdmo_result *result)
{
	const uint64_t ptr_addr = rte_le_to_cpu_64(request->append->ptr_addr);
	enum rdmo_status status;

	if (!queue_is_here(round, data))
		return RDMO_STATUS_OK; /* to be asked there */
	if (data->held_by != NULL && data->held_by != round) {
		round->elsewhere = RDMO_BUSY;
		return RDMO_STATUS_OK;
	}
	if (data->is_log)
		status = append_log(round, data, request, result);
	else if (data->remote != NULL)
		status = append_remote(round, data, ptr, ptr_addr, request, &result->value);
	else if (rdmo_is_pulled(request))
		status = pull_queue(round, data, ptr_addr, request, result);
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

static enum rdmo_status
append_execute(struct rdmo_round *round, const struct rdmo_map *regions,
	       const struct rdmo_request *request, struct rdmo_result *result)
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
	if (!tail_may_be(ptr, ptr_addr, data))
		return RDMO_STATUS_TAIL;
	if (!may_be_fetched(request, data))
		return RDMO_STATUS_NOTSUP;
	if (data->is_shared && data->remote != NULL)
		status = append_shared_remote(round, data, ptr, ptr_addr, request, result);
	else if (data->is_shared)
		status = append_shared(round, data, request, ptr_addr, result);
	else
		status = append_exclusive(round, data, ptr, request, result);
	if (status == RDMO_STATUS_OK && round->elsewhere == RDMO_HERE)
		tail_has_been(ptr, data);
	return status;
}

/* Does it name a log? Whether it may is append_execute()'s to check. */
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
scatter_execute(struct rdmo_round *round, const struct rdmo_map *regions,
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
		if (!may_be_fetched(request, region))
			return RDMO_STATUS_NOTSUP;
	}
	pieces = rdmo_pieces_of(request);
	while (rdmo_pieces_next(&pieces, &piece)) {
		region = rdmo_map_find(regions, piece.rkey);
		if (rdmo_is_pulled(request))
			fetch_add(round, region, piece.addr, (const void *)piece.data);
		else
			bytes_place(round, region, piece.addr, piece.data, piece.len);
	}
	return RDMO_STATUS_OK;
}

/* All pieces are checked before the first one is read. */
static enum rdmo_status
gather_execute(struct rdmo_round *round, const struct rdmo_map *regions,
	       const struct rdmo_request *request, struct rdmo_result *result)
{
	const struct rdmo_region *region;
	enum rdmo_status status;

	if (request->bytes > result->flow->gather_bytes)
		return RDMO_STATUS_LENGTH;
	for (uint64_t i = 0; i < request->count; i++) {
		const struct rdmo_gather_iov *iov = &request->gather[i];

		result->key = rte_le_to_cpu_64(iov->rkey);
		region = region_for(regions, result->flow, result->key, RDMO_RIGHT_READ, &status);
		if (region == NULL)
			return status;
		if (!rdmo_region_has(region, rte_le_to_cpu_64(iov->addr),
				     rte_le_to_cpu_32(iov->len)))
			return RDMO_STATUS_BOUNDS;
	}
	round->gather = (struct rdmo_round_gather){
		.result = result,
		.pieces = request->gather,
		.count = request->count,
		.bytes = (uint32_t)request->bytes,
	};
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
atomic_execute(struct rdmo_round *round, const struct rdmo_map *regions,
	       const struct rdmo_request *request, struct rdmo_result *result)
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
		rdmo_writes_add(round->writes, region, addr, (const uint8_t *)&put->value,
				sizeof(put->value));
}

static enum rdmo_status
put_execute(struct rdmo_round *round, const struct rdmo_map *regions,
	    const struct rdmo_request *request, struct rdmo_result *result)
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
	bytes_place(round, region, addr, request->payload, request->bytes);
	signal_give(round, number, hdr, result);
	return RDMO_STATUS_OK;
}

static enum rdmo_status
flush_execute(const struct rdmo_map *regions, const struct rdmo_request *request,
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
request_execute(struct rdmo_round *round, const struct rdmo_map *regions,
		const struct rdmo_request *request, struct rdmo_result *result)
{
	if (request->status != RDMO_STATUS_OK)
		return request->status;
	if (atomic_load_explicit(&result->flow->is_lost, memory_order_relaxed))
		return RDMO_STATUS_TARGET_LOST;
	if (request->id != result->flow->id)
		return RDMO_STATUS_CLIENT;
	if (request->seq < result->flow->replayed && !is_to_log(regions, request))
		return RDMO_STATUS_UNKNOWN;
	if (rdmo_is_pulled(request) && round->fetches == NULL) {
		round->elsewhere = RDMO_PULLED;
		return RDMO_STATUS_OK;
	}
	switch (request->op_id) {
	case RDMO_OP_APPEND: return append_execute(round, regions, request, result);
	case RDMO_OP_SCATTER: return scatter_execute(round, regions, request, result);
	case RDMO_OP_GATHER: return gather_execute(round, regions, request, result);
	case RDMO_OP_PUT_SIGNAL: return put_execute(round, regions, request, result);
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP: return atomic_execute(round, regions, request, result);
	default: return flush_execute(regions, request, result);
	}
}

/* ---- What failed, by all of its keys ---- */

static void
name_add(struct rdmo_round *round, const struct rdmo_result *result, uint64_t key)
{
	if (key == result->key)
		return;
	for (uint32_t i = 0; i < round->name_count; i++)
		if (round->names[i].result == result && round->names[i].key == key)
			return;
	if (round->name_count < RDMO_ROUND_NAMES)
		round->names[round->name_count++] = (struct rdmo_round_name){ result, key };
	else if (round->unnamed == NULL)
		round->unnamed = result;
}

static void
names_add(struct rdmo_round *round, const struct rdmo_request *request,
	  const struct rdmo_result *result)
{
	struct rdmo_pieces pieces;
	struct rdmo_piece piece;

	switch (request->op_id) {
	case RDMO_OP_APPEND:
		name_add(round, result, rte_le_to_cpu_64(request->append->data_rkey));
		name_add(round, result, rte_le_to_cpu_64(request->append->ptr_rkey));
		break;
	case RDMO_OP_SCATTER:
		pieces = rdmo_pieces_of(request);
		while (rdmo_pieces_next(&pieces, &piece))
			name_add(round, result, piece.rkey);
		break;
	case RDMO_OP_GATHER:
		for (uint64_t i = 0; i < request->count; i++)
			name_add(round, result, rte_le_to_cpu_64(request->gather[i].rkey));
		break;
	case RDMO_OP_PUT_SIGNAL:
		name_add(round, result, rte_le_to_cpu_64(request->put->rkey));
		name_add(round, result, rte_le_to_cpu_64(request->put->signal_rkey));
		break;
	case RDMO_OP_FETCH_ADD:
	case RDMO_OP_CMP_SWAP:
		name_add(round, result, rte_le_to_cpu_64(request->atomic->rkey));
		break;
	default: break;
	}
}

enum rdmo_status
rdmo_operate(struct rdmo_round *round, const struct rdmo_map *regions,
	     const struct rdmo_request *request, struct rdmo_result *result)
{
	const enum rdmo_status status = request_execute(round, regions, request, result);

	/* What is not well formed has no keys that could be read. */
	if (status != RDMO_STATUS_OK && request->status == RDMO_STATUS_OK &&
	    round->elsewhere == RDMO_HERE)
		names_add(round, request, result);
	return status;
}
