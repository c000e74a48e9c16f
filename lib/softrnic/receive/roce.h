/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs, as descriptors or as frames of bytes, and the addresses that they go by. */
#ifndef SOFTRNIC_QP_ROCE_H
#define SOFTRNIC_QP_ROCE_H

#include "prm/qp.h"
#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"
#include "softrnic/port/headers.h"
#include "softrnic/receive/pkey.h"
#include "softrnic/receive/route.h"
#include "softrnic/rocev2/decode.h"

/* An entry of the RoCE address table: a GID. */
struct softrnic_roce_addr {
	bool valid, tagged;
	uint16_t vlan;
	struct rnic_roce_addr context;
	uint8_t gid[16];
	uint8_t mac[6];
};
#define SOFTRNIC_ROCE_ADDRS 128

/* Frames that came to the device and were good, by addresses of that generation. */
struct softrnic_roce_seen {
	uint64_t generation;
	struct rocev2_model model;
};
#define SOFTRNIC_ROCE_SEEN 8

/* A packet on its way, valid during the call that carries it. */
struct softrnic_roce_frame {
	const struct rocev2_frame *head;
	const struct roce_pkt *pkt;
	uint32_t
		bytes; /* that it has, or would have, on an Ethernet wire without FCS: what counters count */
	enum softrnic_roce_route route;
	bool corrupt; /* damaged on its way: its ICRC is wrong */
};

/* Does the device take RoCE packets with these addresses: its MAC address, and a GID of that VLAN? */
bool softrnic_roce_takes(struct softrnic *dev, const struct rocev2_frame *head);

/* Is a frame of bytes a RoCE packet for this device? Then its addresses are set. `head` as below. */
bool softrnic_roce_recognize(struct softrnic *dev, const uint8_t *head, uint32_t bytes,
			     struct rocev2_frame *addresses);

/* From the wire, as a descriptor. What fits nothing is counted and dropped. */
void softrnic_roce_receive(struct softrnic *dev, const struct softrnic_roce_frame *frame);

/*
 * A frame of bytes, before anybody else looks at it: true if it was a RoCE packet for this device, whatever became of it.
 * `head`: its first min(frame->length, SOFTRNIC_ETH_HEAD_MAX) bytes, which nobody changes.
 */
bool softrnic_roce_receive_frame(struct softrnic *dev, const struct softrnic_frame *frame,
				 const uint8_t *head);

/* Could it be one? Most frames are known by a few bytes not to be. At least SOFTRNIC_ETH_HEADER bytes of `bytes` are there. */
static inline bool
softrnic_roce_possible(const struct softrnic *dev, const uint8_t *head, uint32_t bytes)
{
	uint32_t type = (uint32_t)head[12] << 8 | head[13], port;

	if (!dev->port.roce_enabled || bytes < SOFTRNIC_ETH_HEADER + ROCEV2_IPV4_BYTES + 4)
		return false;
	if (type == SOFTRNIC_ETHERTYPE_IPV4)
		port = SOFTRNIC_ETH_HEADER + ROCEV2_IPV4_BYTES + 2;
	else if (type == SOFTRNIC_ETHERTYPE_IPV6 &&
		 bytes >= SOFTRNIC_ETH_HEADER + ROCEV2_IPV6_BYTES + 4)
		port = SOFTRNIC_ETH_HEADER + ROCEV2_IPV6_BYTES + 2;
	else
		return type == SOFTRNIC_ETHERTYPE_CVLAN;
	return ((uint32_t)head[port] << 8 | head[port + 1]) == ROCEV2_UDP_PORT;
}

#endif
