/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ARP (RFC 826), neighbour discovery (RFC 4861), short ICMPv6 echoes (RFC 4443) as bytes: no device, no clock, no memory of its own. Addresses are GIDs, those
 * of IPv4 mapped to IPv6. VLANs are 1 .. 4094, or 0: none, also of a frame that has a tag for its priority alone.
 */
#ifndef RNIC_NEIGH_PACKET_H
#define RNIC_NEIGH_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_NEIGH_FRAME_BYTES 90  /* the longest that is built here, with a tag */
#define RNIC_NEIGH_READ_BYTES  256 /* of a frame, at most: what is behind is of no use */

/* Why a frame is not taken. */
enum rnic_neigh_reason {
	RNIC_NEIGH_GOOD,
	RNIC_NEIGH_OTHER, /* neither ARP nor a solicitation or advertisement */
	RNIC_NEIGH_SHORT, /* it ends before it should */
	RNIC_NEIGH_HARDWARE,
	RNIC_NEIGH_PROTOCOL,
	RNIC_NEIGH_SIZES,     /* of addresses */
	RNIC_NEIGH_OPERATION, /* of ARP; the code of ICMPv6 */
	RNIC_NEIGH_LENGTH,    /* IPv6's is more than there is */
	RNIC_NEIGH_HOP_LIMIT, /* not 255: a router was on the way */
	RNIC_NEIGH_CHECKSUM,
	RNIC_NEIGH_OPTION,  /* its length */
	RNIC_NEIGH_ADDRESS, /* one that is no neighbour's, or that may not stand where it does */
	RNIC_NEIGH_REASONS
};
const char *rnic_neigh_reason_text(enum rnic_neigh_reason reason);

/* What a frame says. */
struct rnic_neigh_message {
	bool answers;	/* an ARP reply, an advertisement; else it asks */
	bool solicited; /* answers: somebody has asked for it */
	bool override;	/* it takes the place of what was known */
	bool has_gid;	/* who it speaks of; not of one that looks whether an address is free */
	bool has_mac;	/* and its MAC */
	uint8_t gid[16];
	uint8_t mac[6];
	uint8_t target[16]; /* asks: the address asked for */
	uint16_t vlan;
};
/* The VLAN that a frame is in. */
uint16_t rnic_neigh_vlan(const uint8_t *bytes, uint32_t count);
/* `count` bytes of a frame from its destination address on, without the checksum of Ethernet. */
enum rnic_neigh_reason rnic_neigh_parse(const uint8_t *bytes, uint32_t count,
					struct rnic_neigh_message *message);

/* The group that solicitations for an IPv6 address are sent to, and its MAC. */
void rnic_neigh_solicited_mac(const uint8_t gid[16], uint8_t mac[6]);

/* Put a frame that was built, and has room for it, into a VLAN; how many bytes it has then. */
uint32_t rnic_neigh_tag(uint8_t *frame, uint32_t bytes, uint16_t vlan);
/*
 * Frames to send, without a tag: each returns how many bytes it has. `own`: zeros of who has no address of that family. `to`: NULL, to all who
 * may have the address.
 */
uint32_t rnic_neigh_build_request(uint8_t frame[RNIC_NEIGH_FRAME_BYTES], const uint8_t own_mac[6],
				  const uint8_t own[16], const uint8_t target[16],
				  const uint8_t *to);
/* `to_gid` zeros: to who looks whether the address is free. */
uint32_t rnic_neigh_build_answer(uint8_t frame[RNIC_NEIGH_FRAME_BYTES], const uint8_t own_mac[6],
				 const uint8_t own[16], const uint8_t to_gid[16],
				 const uint8_t to_mac[6]);
/*
 * The answer to an ICMPv6 echo request, if that is one which is whole, in at most RNIC_NEIGH_READ_BYTES; 0: it is none. `own`: out,
 * who is asked.
 */
uint32_t rnic_neigh_build_echo(uint8_t reply[RNIC_NEIGH_READ_BYTES], const uint8_t own_mac[6],
			       const uint8_t *bytes, uint32_t count, uint8_t own[16]);
/* To all: this is the MAC of an address from now on. */
uint32_t rnic_neigh_build_announcement(uint8_t frame[RNIC_NEIGH_FRAME_BYTES],
				       const uint8_t own_mac[6], const uint8_t own[16]);

#endif
