/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of queue pairs on wires. Between devices of one process they stay descriptors, so that the payload is copied once,
 * from the sender's memory to the receiver's; into every other wire, and where the other end does not know the address, they
 * go as the bytes of a frame.
 */
#include "softrnic/base/random.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/work.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/wire/held.h"
#include "softrnic/wire/roce.h"
#include "softrnic/wire/send.h"

#define BTH_ECN 4 /* which no ICRC covers */

enum softrnic_roce_route
softrnic_roce_route(struct softrnic *dev, const struct rocev2_frame *head)
{
	struct softrnic *peer = dev->peer;

	/* To a group it goes out in any case. */
	if (softrnic_eth_class(head->dmac) == SOFTRNIC_ETH_UNICAST &&
	    softrnic_roce_takes(dev, head))
		return peer == dev && dev->conf.bytes ? SOFTRNIC_ROCE_BYTES : SOFTRNIC_ROCE_SELF;
	if (peer != NULL && !dev->conf.bytes && softrnic_roce_takes(peer, head))
		return SOFTRNIC_ROCE_PEER;
	if (dev->wire == &softrnic_wire_switch && !dev->conf.bytes)
		return softrnic_wire_switch_route(dev, head);
	return SOFTRNIC_ROCE_BYTES;
}

/*
 * A bit flips, from the BTH on: whatever it hits, the packet is dropped. Where is drawn apart from all else, so that frames and
 * descriptors meet the same fate.
 */
static void
roce_damage(struct softrnic *dev, const struct softrnic_roce_frame *frame, uint8_t *bytes)
{
	uint32_t bth = frame->bytes - rocev2_udp_bytes(frame->pkt) + ROCEV2_UDP_BYTES;
	uint32_t bits = (frame->bytes - bth - 1) * 8;
	uint32_t bit = (uint32_t)(softrnic_splitmix64(&dev->faults->place) % bits);

	if (bit >= BTH_ECN * 8)
		bit += 8;
	bytes[bth + bit / 8] ^= (uint8_t)(1u << bit % 8);
}

void
softrnic_roce_bytes(struct softrnic *dev, const struct softrnic_roce_frame *frame,
		    struct softrnic_frame *bytes)
{
	bytes->length = rocev2_encode(frame->head, frame->pkt, dev->roce_room);
	bytes->count = 1;
	bytes->l4_summed = false;
	bytes->pieces[0].iov_base = dev->roce_room;
	bytes->pieces[0].iov_len = bytes->length;
}

/*
 * It took the last frame that it has room for: what is sent behind it would be lost. The poll of queue pairs ends here, and goes
 * on with the next one of them when there is room.
 */
static __attribute__((noinline)) void
roce_wire_is_full(struct softrnic *dev)
{
	if (dev->budget->qp_packets == NULL)
		return;
	*dev->budget->qp_packets = 0;
	dev->qps_work = SOFTRNIC_QPS_WORK_ENOUGH;
}

/* The payload goes from the sender's memory to where the ethdev takes it from. */
static void
roce_send_placed(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	uint8_t *place = softrnic_wire_port_place(dev, rocev2_frame_bytes(frame->head, frame->pkt));

	if (unlikely(place == NULL))
		return;
	rocev2_encode(frame->head, frame->pkt, place);
	if (unlikely(frame->corrupt))
		roce_damage(dev, frame, place);
	softrnic_wire_port_send_placed(dev);
}

/* Any other wire has its own way with it. */
static void
roce_send_made(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic_frame bytes;

	softrnic_roce_bytes(dev, frame, &bytes);
	if (unlikely(frame->corrupt))
		roce_damage(dev, frame, dev->roce_room);
	softrnic_wire_send(dev, &bytes);
}

static void
roce_send_bytes(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	if (dev->wire == &softrnic_wire_port)
		roce_send_placed(dev, frame);
	else
		roce_send_made(dev, frame);
	if (unlikely(dev->wire_full || dev->wire_busy))
		roce_wire_is_full(dev);
}

/* Not to the device itself, nor to the one at the other end of a cable. */
static __attribute__((noinline)) void
roce_send_aside(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic *end;

	if (frame->route == SOFTRNIC_ROCE_BYTES) {
		roce_send_bytes(dev, frame);
		return;
	}
	end = softrnic_wire_switch_end(dev, frame->route);
	if (end != NULL)
		softrnic_roce_receive(end, frame);
}

void
softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic *end;

	if (unlikely(frame->route >= SOFTRNIC_ROCE_BYTES)) {
		roce_send_aside(dev, frame);
		return;
	}
	end = frame->route == SOFTRNIC_ROCE_SELF ? dev : softrnic_wire_end(dev);
	if (end != NULL)
		softrnic_roce_receive(end, frame);
}
