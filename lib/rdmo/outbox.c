/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>

#include <rte_common.h>

#include "message.h"
#include "outbox.h"

#define ORDER_MASK (RTE_DIM(((struct rdmo_outbox *)0)->order) - 1)

static_assert((ORDER_MASK & (ORDER_MASK + 1)) == 0 && ORDER_MASK >= RDMO_OUTBOX_MAX,
	      "room for all buffers");

static struct rdmo_msg *
message_at(const struct rdmo_outbox *box, uint32_t place)
{
	return (struct rdmo_msg *)(box->memory +
				   (size_t)box->order[place & ORDER_MASK].buffer * box->bytes);
}

void
rdmo_outbox_begin(struct rdmo_outbox *box, void *memory, uint32_t buffers, uint32_t bytes,
		  bool keeps)
{
	*box = (struct rdmo_outbox){
		.memory = memory,
		.buffers = buffers,
		.bytes = bytes,
		.keeps = keeps,
	};
	for (uint32_t i = 0; i < buffers; i++)
		box->free[i / 64] |= UINT64_C(1) << i % 64;
}

/* The first one that is free, so that few are used as long as few are needed; as many as there are buffers: none is. */
static uint32_t
buffer_free(const struct rdmo_outbox *box)
{
	for (uint32_t i = 0; i < RTE_DIM(box->free); i++)
		if (box->free[i] != 0)
			return i * 64 + (uint32_t)__builtin_ctzll(box->free[i]);
	return box->buffers;
}

void *
rdmo_outbox_free(const struct rdmo_outbox *box)
{
	const uint32_t buffer = buffer_free(box);

	return buffer < box->buffers ? box->memory + (size_t)buffer * box->bytes : NULL;
}

void
rdmo_outbox_put(struct rdmo_outbox *box)
{
	const uint32_t buffer = buffer_free(box);

	box->order[box->next++ & ORDER_MASK].buffer = buffer;
	box->free[buffer / 64] &= ~(UINT64_C(1) << buffer % 64);
}

struct rdmo_msg *
rdmo_outbox_next(const struct rdmo_outbox *box)
{
	return box->posted != box->next ? message_at(box, box->posted) : NULL;
}

void
rdmo_outbox_posted(struct rdmo_outbox *box, uint32_t number)
{
	box->order[box->posted++ & ORDER_MASK].number = number;
}

/* The number behind a message's last operation. */
static uint64_t
message_end(const struct rdmo_msg *msg)
{
	return rte_le_to_cpu_64(msg->seq) + rte_le_to_cpu_16(msg->count);
}

static void
oldest_free(struct rdmo_outbox *box)
{
	const uint32_t buffer = box->order[box->oldest++ & ORDER_MASK].buffer;

	box->free[buffer / 64] |= UINT64_C(1) << buffer % 64;
}

void
rdmo_outbox_done(struct rdmo_outbox *box, uint32_t number, uint64_t seq)
{
	while (box->oldest != box->posted &&
	       (int32_t)(number - box->order[box->oldest & ORDER_MASK].number) >= 0 &&
	       (!box->keeps || message_end(message_at(box, box->oldest)) <= seq))
		oldest_free(box);
}

void
rdmo_outbox_again(struct rdmo_outbox *box, uint64_t seq)
{
	struct rdmo_msg *first;

	while (box->oldest != box->next && message_end(message_at(box, box->oldest)) <= seq)
		oldest_free(box);
	box->posted = box->oldest;
	first = rdmo_outbox_next(box);
	if (first != NULL && rte_le_to_cpu_64(first->seq) < seq)
		rdmo_requests_drop(first, (uint32_t)(seq - rte_le_to_cpu_64(first->seq)));
}
