/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "softrnic/wire/lane.h"

bool
softrnic_lane_begin(struct softrnic_lane *lane)
{
	lane->room = aligned_alloc(RTE_CACHE_LINE_SIZE, SOFTRNIC_LANE_BYTES);
	return lane->room != NULL;
}

void
softrnic_lane_end(struct softrnic_lane *lane)
{
	free(lane->room);
}

uint32_t
softrnic_lane_gather(const struct softrnic_lane *lane, uint64_t at, uint64_t shown,
		     struct softrnic_burst_frame *frames, uint64_t *behind)
{
	uint32_t count = 0;

	while (at != shown && count < SOFTRNIC_BURST) {
		const struct softrnic_lane_entry *entry = softrnic_lane_entry(lane, at);
		struct softrnic_burst_frame *frame = &frames[count];

		at += entry->bytes;
		if (entry->length == 0)
			continue;
		frame->bytes = (const uint8_t *)(entry + 1);
		frame->length = entry->length;
		frame->class = softrnic_eth_class(frame->bytes);
		frame->end = entry->said;
		behind[count++] = at;
	}
	return count;
}
