/* SPDX-License-Identifier: BSD-3-Clause */

/* What a bad cable remembers, among it the frame that it holds back. */
#ifndef SOFTRNIC_HELD_H
#define SOFTRNIC_HELD_H

#include "softrnic/receive/roce.h"

struct softrnic_faults {
	uint64_t random; /* its own stream: nothing else moves it */
	uint64_t place;	 /* another one: which bit of a RoCE packet's bytes is damaged */
	/* A frame that waits to be overtaken; held_bytes 0: none does. Of a RoCE packet `held` is the payload. */
	uint8_t held[SOFTRNIC_FRAME_BYTES_MAX];
	uint32_t held_bytes;
	uint32_t held_polls;
	bool held_roce;
	struct softrnic_roce_frame roce;
	struct rocev2_frame roce_head;
	struct roce_pkt roce_pkt;
	struct iovec roce_piece;
	uint8_t damaged[SOFTRNIC_FRAME_BYTES_MAX];
};

/* The link went: a frame that waited to be overtaken is lost, and counted. dev->faults may be NULL. */
static inline void
softrnic_faults_link_down(struct softrnic *dev)
{
	struct softrnic_faults *faults = dev->faults;

	if (faults == NULL || faults->held_bytes == 0)
		return;
	faults->held_bytes = 0;
	dev->stats.wire_dropped++;
}

#endif
