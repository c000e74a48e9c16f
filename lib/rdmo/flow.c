/* SPDX-License-Identifier: BSD-3-Clause */

#include "flow.h"

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

void
rdmo_failure_note(struct rdmo_flow *flow, uint64_t key, uint64_t seq, enum rdmo_status status)
{
	const struct rdmo_failure failure = { .key = key, .seq = seq, .status = status };

	for (uint32_t i = 0; i < flow->failure_count; i++)
		if (flow->failures[i].key == failure.key) {
			/* A FLUSH of all keys has still to tell of this one. */
			if (flow->failures[i].is_told)
				rdmo_failure_note_any(flow, seq, status);
			return;
		}
	if (flow->failure_count < RDMO_FAILURES)
		flow->failures[flow->failure_count++] = failure;
	else
		rdmo_failure_note_any(flow, seq, status);
}

void
rdmo_failure_note_any(struct rdmo_flow *flow, uint64_t seq, enum rdmo_status status)
{
	if (flow->others.seq == RDMO_NONE)
		flow->others = (struct rdmo_failure){ .seq = seq, .status = status };
}

struct rdmo_failure
rdmo_failure_take(struct rdmo_flow *flow, uint64_t key)
{
	struct rdmo_failure first = flow->others;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < flow->failure_count; i++) {
		const struct rdmo_failure *failure = &flow->failures[i];

		if (key != 0 && failure->key != key)
			flow->failures[kept++] = *failure;
		else if (failure->seq < first.seq && (key != 0 || !failure->is_told))
			first = *failure;
	}
	flow->failure_count = kept;
	for (uint32_t i = 0; i < kept; i++)
		flow->failures[i].is_told |= flow->failures[i].seq == first.seq;
	flow->others = no_failure;
	return first;
}
