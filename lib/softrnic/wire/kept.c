/* SPDX-License-Identifier: BSD-3-Clause */

/* A frame points at its sender's memory, which will have changed when it is sent later: all of it is copied. */
#include "softrnic/wire/kept.h"
#include "softrnic/wire/roce.h"
#include "softrnic/wire/send.h"

uint32_t
softrnic_kept_payload(const struct roce_pkt *pkt)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < pkt->count; i++)
		bytes += (uint32_t)pkt->pieces[i].iov_len;
	return bytes;
}

void
softrnic_kept_take(struct softrnic_kept *kept, const struct softrnic_frame *frame, uint8_t *data)
{
	softrnic_frame_gather(frame, data, frame->length);
	kept->data = data;
	kept->bytes = frame->length;
	kept->is_roce = false;
}

void
softrnic_kept_take_roce(struct softrnic *dev, struct softrnic_kept *kept,
			const struct softrnic_roce_frame *frame, uint8_t *data)
{
	const struct roce_pkt *pkt = frame->pkt;
	uint32_t at = 0;

	for (uint32_t i = 0; i < pkt->count; at += (uint32_t)pkt->pieces[i++].iov_len)
		memcpy(data + at, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
	kept->data = data;
	kept->bytes = at;
	kept->is_roce = true;
	kept->generation = dev->roce_generation;
	kept->roce = *frame;
	kept->pkt = *pkt;
	kept->head = *frame->head;
	kept->head.prefixes = NULL; /* the queue pair's own, which may go before the packet does */
	kept->piece = (struct iovec){ data, at };
	kept->roce.head = &kept->head;
	kept->roce.pkt = &kept->pkt;
	kept->pkt.pieces = &kept->piece;
	kept->pkt.count = at > 0;
}

void
softrnic_kept_refresh(struct softrnic *dev, struct softrnic_kept *kept)
{
	if (!kept->is_roce || kept->generation == dev->roce_generation)
		return;
	kept->roce.route = softrnic_roce_route(dev, &kept->head);
	kept->generation = dev->roce_generation;
}

void
softrnic_kept_send(struct softrnic *dev, struct softrnic_kept *kept)
{
	struct softrnic_frame frame;

	softrnic_kept_refresh(dev, kept);
	if (kept->is_roce) {
		softrnic_roce_wire_send(dev, &kept->roce);
		return;
	}
	frame.length = kept->bytes;
	frame.count = 1;
	frame.l4_summed = false;
	frame.pieces[0].iov_base = kept->data;
	frame.pieces[0].iov_len = kept->bytes;
	softrnic_wire_send(dev, &frame);
}
