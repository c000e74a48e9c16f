/* SPDX-License-Identifier: BSD-3-Clause */

/* A frame is pieces; what is asked of them now and then. */
#include "softrnic/port/frame.h"

const uint8_t *
softrnic_frame_gather(const struct softrnic_frame *frame, uint8_t *room, uint32_t bytes)
{
	uint32_t at = 0, i;
	size_t n;

	for (i = 0; i < frame->count && at < bytes; i++) {
		n = frame->pieces[i].iov_len;
		if (n > bytes - at)
			n = bytes - at;
		memcpy(room + at, frame->pieces[i].iov_base, n);
		at += (uint32_t)n;
	}
	return room;
}

void
softrnic_frame_append(struct softrnic_frame *to, const struct softrnic_frame *from, uint32_t skip)
{
	uint32_t i;
	size_t n;

	for (i = 0; i < from->count; i++) {
		n = from->pieces[i].iov_len;
		if (skip >= n) {
			skip -= (uint32_t)n;
			continue;
		}
		to->pieces[to->count].iov_base = (uint8_t *)from->pieces[i].iov_base + skip;
		to->pieces[to->count].iov_len = n - skip;
		to->length += (uint32_t)(n - skip);
		to->count++;
		skip = 0;
	}
}
