/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "rdmo/round.h"
#include "rdmo_handler.h"

#define MESSAGE_BYTES 4096u /* as a worker receives them, unless it says otherwise */
#define QUEUE_BYTES   (1ul << 24)
#define SESSION	      77

enum { ID = 1, CLIENT, PTR_KEY, DATA_KEY };

struct rdmo_handler {
	_Alignas(64) uint8_t message[MESSAGE_BYTES];
	_Alignas(64) uint8_t answers[MESSAGE_BYTES];
	uint32_t message_bytes;
	uint32_t count, bytes; /* of APPENDs */
	/* Of the target. */
	_Alignas(64) rte_le64_t tail;
	uint8_t *queue;
	uint64_t left; /* APPENDs that it has room for */
	struct rdmo_region ptr, data;
	struct rdmo_map regions;
	/* Of the worker. */
	struct rdmo_flow flow;
	struct rdmo_round round;
};

/* ---- Open and close ---- */

static void
queue_begin(struct rdmo_handler *h)
{
	h->tail = rte_cpu_to_le_64((uintptr_t)h->queue);
	h->left = QUEUE_BYTES / h->bytes;
	h->data.has_tail = false;
}

static int
target_open(struct rdmo_handler *h)
{
	h->queue = aligned_alloc(64, QUEUE_BYTES);
	if (h->queue == NULL)
		return -ENOMEM;
	h->ptr = h->data = (struct rdmo_region){ .client = CLIENT, .rights = RDMO_RIGHT_APPEND };
	h->ptr.key = PTR_KEY;
	h->ptr.va = (uintptr_t)&h->tail;
	h->ptr.len = sizeof(h->tail);
	h->data.key = DATA_KEY;
	h->data.va = (uintptr_t)h->queue;
	h->data.len = QUEUE_BYTES;
	queue_begin(h);
	if (rdmo_map_open(&h->regions, 2) != 0)
		return -ENOMEM;
	rdmo_map_put(&h->regions, PTR_KEY, &h->ptr);
	rdmo_map_put(&h->regions, DATA_KEY, &h->data);
	return 0;
}

static int
message_write(struct rdmo_handler *h)
{
	const struct rdmo_append_hdr append = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)&h->tail),
		.ptr_rkey = RTE_LE64(PTR_KEY),
		.data_rkey = RTE_LE64(DATA_KEY),
	};
	struct rdmo_writer w;

	rdmo_writer_begin(&w, h->message, MESSAGE_BYTES, RDMO_MSG_REQUESTS, SESSION, 1);
	for (uint32_t i = 0; i < h->count; i++)
		if (!rdmo_writer_append(&w, ID, 0, &append, h->answers, h->bytes))
			return -EINVAL;
	h->message_bytes = rdmo_writer_end(&w, 0);
	return 0;
}

int
rdmo_handler_open(uint32_t count, uint32_t bytes, struct rdmo_handler **handler)
{
	struct rdmo_handler *made;
	int rc;

	if (count == 0 || count > RDMO_ROUND || bytes == 0 || bytes > MESSAGE_BYTES)
		return -EINVAL;
	made = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*made), 64));
	if (made == NULL)
		return -ENOMEM;
	*made = (struct rdmo_handler){ .count = count, .bytes = bytes };
	rdmo_flow_begin(&made->flow, ID, CLIENT, 0);
	rc = message_write(made);
	if (rc == 0)
		rc = target_open(made);
	if (rc != 0) {
		rdmo_handler_close(made);
		return rc;
	}
	*handler = made;
	return 0;
}

void
rdmo_handler_close(struct rdmo_handler *handler)
{
	if (handler == NULL)
		return;
	if (handler->regions.slots != NULL)
		rdmo_map_close(&handler->regions);
	free(handler->queue);
	free(handler);
}

/* ---- A message ---- */

/* As the operations lie in it, those that are alike at once. False: it is none. */
static bool
execute(struct rdmo_handler *h)
{
	struct rdmo_request request;
	struct rdmo_reader reader;

	if (rdmo_requests_open(&reader, h->message, h->message_bytes, SESSION) != RDMO_REASON_NONE)
		return false;
	while (rdmo_requests_next(&reader, &request)) {
		rdmo_round_execute(&h->round, &h->regions, &h->flow, &request);
		rdmo_round_go_on(&h->round, &request, &reader, RDMO_ROUND - h->round.count);
	}
	rdmo_round_settle(&h->round);
	return true;
}

/* False: something was refused. */
static bool
answer(struct rdmo_handler *h)
{
	struct rdmo_writer w;

	rdmo_writer_begin(&w, h->answers, MESSAGE_BYTES, RDMO_MSG_ANSWERS, SESSION, 0);
	for (uint32_t i = 0; i < h->round.result_count; i++) {
		const struct rdmo_result *r = &h->round.results[i];

		if (r->status != RDMO_STATUS_OK)
			return false;
		rdmo_writer_answer(&w, r->op_id, r->status, r->seq, r->value);
		if (r->count > 1)
			rdmo_writer_appended(&w, r->seq + 1, r->second, r->step, r->count - 1);
	}
	rdmo_writer_end(&w, 0);
	return true;
}

int64_t
rdmo_handler_handle(struct rdmo_handler *handler)
{
	if (handler->left < handler->count)
		queue_begin(handler);
	rdmo_round_begin(&handler->round);
	if (!execute(handler) || !answer(handler) || handler->round.count != handler->count) {
		fprintf(stderr, "handler: an append was refused\n");
		return -1;
	}
	handler->left -= handler->count;
	return handler->count;
}
