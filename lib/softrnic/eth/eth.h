/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames: what eth.c, steer.c and the send queues share. */
#ifndef SOFTRNIC_ETH_H
#define SOFTRNIC_ETH_H

#include <string.h>

#include "device.h"
#include "eth/sum.h"
#include "wire/wire.h"

#define SOFTRNIC_ETH_HEADER	 14 /* addresses and type */
#define SOFTRNIC_ETH_FCS	 4
#define SOFTRNIC_ETH_HEAD_MAX	 128 /* as far as steering looks: two tags, IPv6, TCP */
#define SOFTRNIC_FRAME_BYTES_MAX (1u << 16)
/*
 * What is copied of a frame out of foreign memory before anybody looks at it: all that steering and checksums read of its
 * headers, and no less than any piece of headers that an offload makes, so that the copy takes the place of that.
 */
#define SOFTRNIC_ETH_PRIVATE 144

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

/* Behind what is in `to`: the other frame without its first `skip` bytes. There must be room for its pieces. */
void softrnic_frame_append(struct softrnic_frame *to, const struct softrnic_frame *from,
			   uint32_t skip);

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

/* softrnic_eth_receive() of a frame whose memory its sender may change meanwhile. */
void softrnic_eth_receive_foreign(struct softrnic *dev, const struct softrnic_frame *frame);

/* From a sender in this process to `dev`, which is another device or the sender itself. */
static inline void
softrnic_eth_hand_over(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (dev->conf.foreign_memory)
		softrnic_eth_receive_foreign(dev, frame);
	else
		softrnic_eth_receive(dev, frame);
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
	else if (dev->wire == &softrnic_wire_loop)
		softrnic_eth_hand_over(dev, frame);
	else if (dev->wire == &softrnic_wire_port)
		softrnic_wire_port_send(dev, frame);
	else
		softrnic_wire_pcap_send(dev, frame);
}

/* Is it a unicast address of the vport, its own or one of its list? */
bool softrnic_eth_own_address(const struct softrnic_port *port, const uint8_t *mac);

/* ---- Headers and checksums (checksum.c). ---- */

#define SOFTRNIC_ETHERTYPE_IPV4	 0x0800
#define SOFTRNIC_ETHERTYPE_IPV6	 0x86dd
#define SOFTRNIC_ETHERTYPE_CVLAN 0x8100
#define SOFTRNIC_ETHERTYPE_SVLAN 0x88a8
#define SOFTRNIC_VLAN_TAG	 4 /* bytes */
#define SOFTRNIC_PROTO_TCP	 6
#define SOFTRNIC_PROTO_UDP	 17

static inline uint16_t
softrnic_load16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline bool
softrnic_is_vlan(uint16_t type)
{
	return type == SOFTRNIC_ETHERTYPE_CVLAN || type == SOFTRNIC_ETHERTYPE_SVLAN;
}

/* An IP packet in a frame, behind at most two tags. Offsets count from the frame's start. */
struct softrnic_headers {
	uint32_t l3, l4;
	/* of the packet, as its header says: nobody has checked it against the frame */
	uint32_t ip_bytes;
	uint8_t version; /* 4 or 6 */
	uint8_t proto;	 /* TCP or UDP with its whole header (TCP: without options) there; else 0 */
	bool fragment;
	bool options; /* of IPv4, or extension headers of IPv6 that are options */
};

/* Behind the IP header, options included; never ask for it before the length was checked. */
static inline uint32_t
softrnic_l4_bytes(const struct softrnic_headers *headers)
{
	return headers->ip_bytes - (headers->l4 - headers->l3);
}

/*
 * Find them; false: no IP packet. `head`: the frame's first bytes, in memory that nobody else changes. Of IPv6's
 * extension headers only options are followed.
 */
bool softrnic_headers_parse(const uint8_t *head, uint32_t bytes, struct softrnic_headers *headers);

/*
 * Write the checksums that cs_flags ask for (RNIC_WQE_ETH_L3_CSUM, L4_CSUM) into the headers at `head`, where the frame
 * begins with them. What the fields held counts for nothing. Of a fragment, or without that header: none. The frame
 * remembers the sum. @return whether one was written
 */
bool softrnic_checksums_insert(struct softrnic_frame *frame, uint8_t *head,
			       const struct softrnic_headers *headers, uint8_t cs_flags);

/*
 * Of a received IP or tagged frame: header types, and whether its checksums are right, or what is left to be added up to
 * know that. head: its first bytes.
 */
void softrnic_headers_receive(const struct softrnic_frame *frame, const uint8_t *head,
			      uint32_t bytes, struct softrnic_rx_info *info);

/* The sum of what is behind the IP header is known. */
static inline void
softrnic_rx_sum(struct softrnic_rx_info *info, uint64_t sum)
{
	info->checksum = softrnic_sum_fold(softrnic_sum_add(info->sum.header, sum));
	if (!info->sum.verify)
		return;
	info->good = softrnic_sum_good(softrnic_sum_add(sum, info->sum.pseudo));
	info->bad = !info->good;
	info->l4_ok = info->good ? RNIC_CQE_L4_OK : 0;
}

/* ---- Offloads of sending (offload.c). ---- */

/*
 * Send the frame with a VLAN tag inserted (type and TCI; 0: none), then with the checksums that cs_flags ask for. The
 * sender's memory stays as it is.
 */
void softrnic_offload_send(struct softrnic *dev, const struct softrnic_frame *frame, uint32_t tag,
			   uint8_t cs_flags);

/*
 * Large send: the payload in frames of mss bytes each, behind a copy of the header that is right for it, with all its
 * checksums. At most *frames of them, from where `lso` is; both say afterwards how far it came. 0, or
 * enum rnic_cqe_syndrome: then nothing was sent.
 */
int softrnic_offload_lso(struct softrnic *dev, const uint8_t *header, uint32_t header_bytes,
			 uint32_t mss, const struct softrnic_frame *payload,
			 struct softrnic_lso *lso, unsigned int *frames);

/* Steering (steer.c): send the frame through the flow tables. */
void softrnic_steer(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head,
		    uint32_t head_bytes);
/* Where would softrnic_steer() send it, and is there room? */
enum softrnic_eth_room softrnic_steer_room(struct softrnic *dev, const uint8_t *head,
					   uint32_t head_bytes);

/* Toeplitz hash of at most 36 bytes of input under a key of 40 bytes (rss.c). */
#define SOFTRNIC_TOEPLITZ_INPUT 36
uint32_t softrnic_toeplitz(const uint8_t key[40], const uint8_t *input, uint32_t bytes);

#endif
