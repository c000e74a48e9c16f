/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames out of packets. */
#ifndef ROCEV2_ENCODE_H
#define ROCEV2_ENCODE_H

#include "softrnic/roce/pkt.h"
#include "softrnic/rocev2/frame.h"
#include "softrnic/rocev2/opcode.h"

/* Is the frame IPv4's? Its addresses say so. */
bool rocev2_is_ipv4(const struct rocev2_frame *frame);

/* Bytes behind IP: UDP, headers, payload, padding, ICRC. */
static inline uint32_t
rocev2_udp_bytes(const struct roce_pkt *pkt)
{
	return ROCEV2_UDP_BYTES + ROCEV2_BTH_BYTES + rocev2_opcodes[pkt->opcode].bytes +
	       ((pkt->length + 3) & ~3u) + ROCEV2_ICRC_BYTES;
}

/* Bytes of the frame, without FCS. */
uint32_t rocev2_frame_bytes(const struct rocev2_frame *frame, const struct roce_pkt *pkt);

/*
 * Write the whole frame. The payload is read once and what `room` then holds is summed, whatever becomes of the pieces
 * meanwhile.
 *
 * @param frame  what is around the packet
 * @param pkt    opcode one of rocev2_opcodes, at most ROCE_MTU_MAX of payload in its pieces
 * @param room   of rocev2_frame_bytes(), at most ROCEV2_FRAME_MAX, and no less than ROCEV2_HEAD_MAX
 * @return the bytes written
 */
uint32_t rocev2_encode(const struct rocev2_frame *frame, const struct roce_pkt *pkt, uint8_t *room);

/*
 * The 40 bytes before a datagram's payload in memory: the IPv6 header; or 20 bytes of zeros and the IPv4 header, by whose
 * checksum drivers know it. As on the wire, also for a packet that has never been on one.
 */
void rocev2_encode_grh(const struct rocev2_frame *frame, const struct roce_pkt *pkt,
		       uint8_t grh[ROCEV2_GRH_BYTES]);

/* A source port that spreads connections: of both queue pairs and addresses, the same for each packet of one. */
uint16_t rocev2_source_port(const struct rocev2_frame *frame, uint32_t source_qpn,
			    uint32_t dest_qpn);

#endif
