/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames: what eth.c, steer.c and the send queues share. */
#ifndef SOFTRNIC_ETH_H
#define SOFTRNIC_ETH_H

#include <string.h>

#include "device.h"

#define SOFTRNIC_ETH_HEADER	 14 /* addresses and type */
#define SOFTRNIC_ETH_FCS	 4
#define SOFTRNIC_ETH_HEAD_MAX	 128 /* as far as steering looks: two tags, IPv6, TCP */
#define SOFTRNIC_FRAME_BYTES_MAX (1u << 16)

/*
 * Longest frame that is sent or taken, without FCS: the port and the vport on it have an MTU each, and both count all
 * bytes on the wire.
 */
static inline uint32_t
softrnic_eth_frame_max(const struct softrnic *dev)
{
	const struct softrnic_port *port = &dev->port;

	return (port->vport_mtu < port->admin_mtu ? port->vport_mtu : port->admin_mtu) -
	       SOFTRNIC_ETH_FCS;
}

/* Longest frame that the port could ever be set to take. */
static inline uint32_t
softrnic_eth_frame_limit(const struct softrnic *dev)
{
	return dev->port.max_mtu - SOFTRNIC_ETH_FCS;
}

/*
 * The first min(bytes, frame->length) bytes of the frame in one piece: where they are, or gathered in `room`.
 */
const uint8_t *softrnic_frame_gather(const struct softrnic_frame *frame, uint8_t *room,
				     uint32_t bytes);

static inline const uint8_t *
softrnic_frame_head(const struct softrnic_frame *frame, uint8_t *room, uint32_t bytes)
{
	if (__builtin_expect(frame->pieces[0].iov_len >= bytes ||
				     frame->pieces[0].iov_len == frame->length,
			     1))
		return frame->pieces[0].iov_base;
	return softrnic_frame_gather(frame, room, bytes);
}

/* Index into packet counters by destination: unicast, multicast, broadcast. */
enum softrnic_eth_class {
	SOFTRNIC_ETH_UNICAST,
	SOFTRNIC_ETH_MULTICAST,
	SOFTRNIC_ETH_BROADCAST,
};

static inline enum softrnic_eth_class
softrnic_eth_class(const uint8_t *head)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (__builtin_expect((head[0] & 1) == 0, 1))
		return SOFTRNIC_ETH_UNICAST;
	return memcmp(head, broadcast, sizeof(broadcast)) == 0 ? SOFTRNIC_ETH_BROADCAST
							       : SOFTRNIC_ETH_MULTICAST;
}

/*
 * Put a frame on the wire: delivered or dropped (counted) when it returns. A direct call per frame, to the few wires
 * that there are; a new wire becomes a case here.
 */
static inline void
softrnic_wire_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (dev->wire == &softrnic_wire_pair)
		softrnic_pair_send(dev, frame);
	else
		softrnic_eth_receive(dev, frame); /* loop */
}

/* Is it a unicast address of the vport, its own or one of its list? */
bool softrnic_eth_own_address(const struct softrnic_port *port, const uint8_t *mac);

/* Steering (steer.c): send the frame through the flow tables. */
void softrnic_steer(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head,
		    uint32_t head_bytes);

/* Toeplitz hash of `bytes` of input under a key of 40 bytes (rss.c). */
uint32_t softrnic_toeplitz(const uint8_t key[40], const uint8_t *input, uint32_t bytes);

#endif
