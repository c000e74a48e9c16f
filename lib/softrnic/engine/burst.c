/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_branch_prediction.h>

#include "prm/wqe.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/burst.h"
#include "softrnic/engine/send.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/port.h"

/* The bytes that a segment points to; NULL: they are not plain. */
static inline const uint8_t *
burst_payload(struct softrnic *dev, uint32_t pd, const struct rnic_wqe_data *seg, uint32_t length,
	      struct softrnic_tpt_last *last)
{
	const uint8_t *bytes;

	bytes = softrnic_tpt_flat_next(dev, last, seg->lkey, pd, rnic_be64_to_cpu(seg->address),
				       length, SOFTRNIC_LOCAL_READ);
	if (bytes != NULL)
		softrnic_audit(dev, bytes, length, SOFTRNIC_DMA_READ);
	return bytes;
}

/* How many of them there are, in a row. */
static uint32_t
burst_gather(struct softrnic *dev, uint32_t pd, const uint8_t *wqe, uint32_t at, uint32_t end,
	     struct softrnic_burst_frame *frames)
{
	const uint32_t longest = softrnic_eth_frame_max(dev);
	struct softrnic_burst_frame *frame = frames;
	const struct rnic_wqe_data *seg;
	struct softrnic_tpt_last last = { 0 };
	uint32_t length;

	while (at < end && frame < frames + SOFTRNIC_BURST) {
		seg = (const struct rnic_wqe_data *)(wqe + at);
		length = rnic_be32_to_cpu(seg->byte_count);
		at += RNIC_WQE_DS_BYTES;
		if (likely((length & RNIC_WQE_INLINE) == 0)) {
			if (length > longest)
				break;
			frame->bytes = burst_payload(dev, pd, seg, length, &last);
			if (frame->bytes == NULL)
				break;
		} else {
			frame->bytes = (const uint8_t *)seg + sizeof(seg->byte_count);
			length &= ~RNIC_WQE_INLINE;
			if (length > longest ||
			    length + sizeof(seg->byte_count) > end - at + RNIC_WQE_DS_BYTES)
				break;
			at += (length + (uint32_t)sizeof(seg->byte_count) - 1) &
			      ~(RNIC_WQE_DS_BYTES - 1u);
		}
		if (length < SOFTRNIC_ETH_HEADER)
			break;
		frame->length = length;
		frame->end = (uint16_t)at;
		frame->class = softrnic_eth_class(frame->bytes);
		frame++;
	}
	return (uint32_t)(frame - frames);
}

static __attribute__((noinline)) void
burst_send_alone(struct softrnic *dev, const struct softrnic_burst_frame *from)
{
	struct softrnic_frame frame;

	softrnic_burst_alone(from, &frame);
	softrnic_eth_transmit(dev, &frame);
}

uint32_t
softrnic_burst_send(struct softrnic *dev, uint32_t pd, const uint8_t *wqe, uint32_t *at,
		    uint32_t end)
{
	struct softrnic_burst_frame frames[SOFTRNIC_BURST];
	const uint32_t count = burst_gather(dev, pd, wqe, *at, end, frames);
	uint32_t sent = 0, together;

	while (sent < count && !softrnic_share_is_over(dev)) {
		together = softrnic_eth_transmit_burst(dev, frames + sent, count - sent);
		sent += together;
		if (together == 0)
			burst_send_alone(dev, &frames[sent++]);
	}
	if (sent > 0)
		*at = frames[sent - 1].end;
	return sent;
}
