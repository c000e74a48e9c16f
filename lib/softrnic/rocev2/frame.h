/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a RoCEv2 frame has around its packet: Ethernet, IP, UDP, and those fields of the BTH that are not the protocol's.
 * With struct roce_pkt it is the whole frame, as numbers.
 */
#ifndef ROCEV2_FRAME_H
#define ROCEV2_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define ROCEV2_UDP_PORT	    4791
#define ROCEV2_IPV4_VERSION 0x45u /* and five words of header: no options */
#define ROCEV2_IPV6_VERSION 6u
#define ROCEV2_VLAN_MASK    0xfff /* of a tag */

#define ROCEV2_ETHER_BYTES  14
#define ROCEV2_TAG_BYTES    4
#define ROCEV2_IPV4_BYTES   20
#define ROCEV2_IPV6_BYTES   40
#define ROCEV2_UDP_BYTES    8
#define ROCEV2_BTH_BYTES    12
#define ROCEV2_ICRC_BYTES   4
#define ROCEV2_GRH_BYTES    40 /* before a datagram's payload in memory */
#define ROCEV2_EXTENDED_MAX 32 /* XRCETH and AtomicETH */

/* Of the BTH, opcode to destination queue pair: what the packets of a connection share most often. */
#define ROCEV2_BTH_SHARED 8

/* From Ethernet on, up to there: the most that it takes. */
#define ROCEV2_SHARED_MAX                                                               \
	(ROCEV2_ETHER_BYTES + ROCEV2_TAG_BYTES + ROCEV2_IPV6_BYTES + ROCEV2_UDP_BYTES + \
	 ROCEV2_BTH_SHARED)

/* The headers of any frame fit in it: the beginning of a frame that must stand in one piece. */
#define ROCEV2_HEAD_MAX 128
/* Of any frame, without FCS: headers, the largest MTU, ICRC. */
#define ROCEV2_FRAME_MAX (ROCEV2_HEAD_MAX + 4096)

/*
 * How frames of a packet's opcode, length and destination begin, for one who sends many of them. Good as long as the struct
 * rocev2_frame does not change.
 */
struct rocev2_prefix {
	uint64_t key; /* says which packets; 0: none */
	uint32_t crc; /* the ICRC's sum up to its end */
	uint32_t length;
	/* from Ethernet on; what is behind them is not read */
	uint8_t bytes[ROCEV2_SHARED_MAX];
};
#define ROCEV2_PREFIXES 2 /* requests and answers, which take turns */

struct rocev2_frame {
	uint8_t dmac[6], smac[6];
	uint8_t sgid[16], dgid[16]; /* both of IPv4 (::ffff:a.b.c.d), or both of IPv6 */
	bool tagged;
	uint16_t tci;	       /* of the VLAN tag: priority, DEI, VLAN */
	uint8_t traffic_class; /* IPv4's type of service; its lowest two bits are ECN's */
	uint8_t hop_limit;     /* IPv4's time to live */
	uint32_t flow_label;   /* of IPv6, 20 bits */
	uint16_t source_port;
	uint16_t pkey;
	bool mig_req; /* real cards send 1, rxe 0 */
	bool fecn, becn;
	/* IP's header as it came, while the frame that was decoded is there; NULL: of a packet that has not been bytes */
	const uint8_t *ip;
	/* sent: ROCEV2_PREFIXES of them, all zeros when one of the fields above has changed; NULL: each is built again */
	struct rocev2_prefix *prefixes;
	/* received: the ICRC's sum up to the end of what packets share */
	uint32_t shared_crc;
};

#endif
