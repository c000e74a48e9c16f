/* SPDX-License-Identifier: BSD-3-Clause */

/* ARP and neighbour discovery as bytes: what a frame says, or why it is not taken; frames to send. */

#include <string.h>

#include "neigh/packet.h"
#include "prm/qp.h"

#define ETHER_BYTES	14
#define ETHER_MIN_BYTES 60 /* shorter frames are padded */
#define ETHERTYPE_ARP	0x0806
#define ETHERTYPE_IPV4	0x0800
#define ETHERTYPE_IPV6	0x86dd
#define ETHERTYPE_VLAN	0x8100
#define TAG_BYTES	4
#define VLAN_MASK	0xfff

#define ARP_BYTES    28
#define ARP_ETHERNET 1
#define ARP_REQUEST  1
#define ARP_REPLY    2

#define IPV6_BYTES     40
#define IPV6_HOP_LIMIT 255
#define NEXT_ICMPV6    58

#define ND_BYTES	 24 /* to the options */
#define ND_SOLICITATION	 135
#define ND_ADVERTISEMENT 136
#define ND_SOLICITED	 0x40 /* of the flags; 0x80: a router */
#define ND_OVERRIDE	 0x20
#define ECHO_REQUEST	 128
#define ECHO_REPLY	 129
#define ECHO_BYTES	 8 /* at least */
#define ECHO_HOP_LIMIT	 64
#define OPTION_SOURCE	 1
#define OPTION_TARGET	 2
#define OPTION_UNIT	 8
#define ND_FRAME_BYTES	 (ETHER_BYTES + IPV6_BYTES + ND_BYTES + OPTION_UNIT)
_Static_assert(ND_FRAME_BYTES + TAG_BYTES == RNIC_NEIGH_FRAME_BYTES, "the longest");

static const uint8_t no_gid[16], no_mac[6];
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };

static uint16_t
packet_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void
packet_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static bool
gid_is(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, 16) == 0;
}

/* What stands before the addresses' protocol: Ethernet's header, and a tag if there is one. */
static uint32_t
header_bytes(const uint8_t *bytes, uint32_t count)
{
	return count >= ETHER_BYTES + TAG_BYTES && packet_get16(bytes + 12) == ETHERTYPE_VLAN
		       ? ETHER_BYTES + TAG_BYTES
		       : ETHER_BYTES;
}

uint16_t
rnic_neigh_vlan(const uint8_t *bytes, uint32_t count)
{
	return header_bytes(bytes, count) > ETHER_BYTES ? packet_get16(bytes + 14) & VLAN_MASK : 0;
}

uint32_t
rnic_neigh_tag(uint8_t *frame, uint32_t bytes, uint16_t vlan)
{
	if (vlan == 0)
		return bytes;
	memmove(frame + 12 + TAG_BYTES, frame + 12, bytes - 12);
	packet_put16(frame + 12, ETHERTYPE_VLAN);
	packet_put16(frame + 14, vlan);
	return bytes + TAG_BYTES;
}

/* Of one interface. */
static bool
mac_is_unicast(const uint8_t mac[6])
{
	return (mac[0] & 1) == 0 && memcmp(mac, no_mac, 6) != 0;
}

/* 0/8, 127/8, and from 224/4 on are no host's. */
static bool
ipv4_is_host(const uint8_t address[4])
{
	return address[0] != 0 && address[0] != 127 && address[0] < 224;
}

/* ff02::1:ffXX:XXXX (RFC 4291, 2.7.1). */
static void
solicited_group(const uint8_t gid[16], uint8_t group[16])
{
	static const uint8_t prefix[13] = { 0xff, 0x02, [11] = 1, [12] = 0xff };

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + 13, gid + 13, 3);
}

static void
group_mac(const uint8_t group[16], uint8_t mac[6])
{
	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, group + 12, 4);
}

void
rnic_neigh_solicited_mac(const uint8_t gid[16], uint8_t mac[6])
{
	uint8_t group[16];

	solicited_group(gid, group);
	group_mac(group, mac);
}

const char *
rnic_neigh_reason_text(enum rnic_neigh_reason reason)
{
	static const char *const texts[] = {
		[RNIC_NEIGH_GOOD] = "good",
		[RNIC_NEIGH_OTHER] = "neither ARP nor neighbour discovery",
		[RNIC_NEIGH_SHORT] = "too short",
		[RNIC_NEIGH_HARDWARE] = "not of Ethernet",
		[RNIC_NEIGH_PROTOCOL] = "not of IP",
		[RNIC_NEIGH_SIZES] = "addresses of another size",
		[RNIC_NEIGH_OPERATION] = "an operation that there is not",
		[RNIC_NEIGH_LENGTH] = "a length beyond the frame",
		[RNIC_NEIGH_HOP_LIMIT] = "a hop limit that is not 255",
		[RNIC_NEIGH_CHECKSUM] = "a wrong checksum",
		[RNIC_NEIGH_OPTION] = "an option of a wrong length",
		[RNIC_NEIGH_ADDRESS] = "an address that no neighbour has",
	};

	return (unsigned int)reason < RNIC_NEIGH_REASONS ? texts[reason] : "unknown";
}

/* ---- ARP ---- */

static enum rnic_neigh_reason
arp_check(const uint8_t *arp, uint32_t count)
{
	if (count < ARP_BYTES)
		return RNIC_NEIGH_SHORT;
	if (packet_get16(arp) != ARP_ETHERNET)
		return RNIC_NEIGH_HARDWARE;
	if (packet_get16(arp + 2) != ETHERTYPE_IPV4)
		return RNIC_NEIGH_PROTOCOL;
	if (arp[4] != 6 || arp[5] != 4)
		return RNIC_NEIGH_SIZES;
	if (packet_get16(arp + 6) != ARP_REQUEST && packet_get16(arp + 6) != ARP_REPLY)
		return RNIC_NEIGH_OPERATION;
	return RNIC_NEIGH_GOOD;
}

static enum rnic_neigh_reason
arp_parse(const uint8_t *arp, uint32_t count, struct rnic_neigh_message *message)
{
	static const uint8_t no_ipv4[4];
	enum rnic_neigh_reason reason = arp_check(arp, count);
	const uint8_t *sender = arp + 14;

	if (reason != RNIC_NEIGH_GOOD)
		return reason;
	message->answers = packet_get16(arp + 6) == ARP_REPLY;
	/* A probe looks whether an address is free (RFC 5227). */
	message->has_gid = message->answers || memcmp(sender, no_ipv4, sizeof(no_ipv4)) != 0;
	if (!mac_is_unicast(arp + 8) || (message->has_gid && !ipv4_is_host(sender)))
		return RNIC_NEIGH_ADDRESS;
	/* Nothing in a reply says whether it was asked for. What an announcement says holds from now on. */
	message->solicited = message->answers;
	message->override = true;
	message->has_mac = true;
	memcpy(message->mac, arp + 8, sizeof(message->mac));
	if (message->has_gid)
		rnic_gid_set_ipv4(message->gid, sender);
	rnic_gid_set_ipv4(message->target, arp + 24);
	return RNIC_NEIGH_GOOD;
}

static uint32_t
arp_build(uint8_t *frame, const uint8_t own_mac[6], const uint8_t own[16], uint16_t operation,
	  const uint8_t to_mac[6], const uint8_t target[16])
{
	uint8_t *arp = frame + ETHER_BYTES;

	memset(frame, 0, ETHER_MIN_BYTES);
	memcpy(frame, to_mac, 6);
	memcpy(frame + 6, own_mac, 6);
	packet_put16(frame + 12, ETHERTYPE_ARP);
	packet_put16(arp, ARP_ETHERNET);
	packet_put16(arp + 2, ETHERTYPE_IPV4);
	arp[4] = 6;
	arp[5] = 4;
	packet_put16(arp + 6, operation);
	memcpy(arp + 8, own_mac, 6);
	memcpy(arp + 14, own + 12, 4);
	/* Of a request that is what is asked for. */
	if (operation == ARP_REPLY)
		memcpy(arp + 18, to_mac, 6);
	memcpy(arp + 24, target + 12, 4);
	return ETHER_MIN_BYTES;
}

/* ---- Neighbour discovery ---- */

/* Of an ICMPv6 packet with its pseudo header: 0 if the checksum in it is right (RFC 8200, 8.1). */
static uint16_t
icmp_sum(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes)
{
	uint32_t sum = bytes + NEXT_ICMPV6, i;

	for (i = 8; i < IPV6_BYTES; i += 2)
		sum += packet_get16(ip + i);
	for (i = 0; i + 1 < bytes; i += 2)
		sum += packet_get16(icmp + i);
	if (i < bytes)
		sum += (uint32_t)icmp[i] << 8;
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* An IPv4 address is ARP's: nothing that IPv6 says of it holds. */
static bool
nd_is_host(const uint8_t gid[16])
{
	return gid[0] != 0xff && !gid_is(gid, no_gid) && !rnic_gid_is_ipv4(gid);
}

static enum rnic_neigh_reason
nd_check(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes)
{
	if (ip[7] != IPV6_HOP_LIMIT)
		return RNIC_NEIGH_HOP_LIMIT;
	if (icmp_sum(ip, icmp, bytes) != 0)
		return RNIC_NEIGH_CHECKSUM;
	if (icmp[1] != 0)
		return RNIC_NEIGH_OPERATION;
	if (bytes < ND_BYTES)
		return RNIC_NEIGH_SHORT;
	return nd_is_host(icmp + 8) ? RNIC_NEIGH_GOOD : RNIC_NEIGH_ADDRESS;
}

/* The first option of that kind has the MAC. */
static enum rnic_neigh_reason
options_parse(const uint8_t *option, uint32_t bytes, uint8_t kind,
	      struct rnic_neigh_message *message)
{
	uint32_t length;

	for (; bytes > 0; option += length, bytes -= length) {
		length = bytes >= 2 ? option[1] * OPTION_UNIT : 0u;
		if (length == 0 || length > bytes)
			return RNIC_NEIGH_OPTION;
		if (option[0] != kind || message->has_mac)
			continue;
		if (length != OPTION_UNIT)
			return RNIC_NEIGH_OPTION;
		if (!mac_is_unicast(option + 2))
			return RNIC_NEIGH_ADDRESS;
		message->has_mac = true;
		memcpy(message->mac, option + 2, sizeof(message->mac));
	}
	return RNIC_NEIGH_GOOD;
}

/* RFC 4861, 7.1.1. */
static enum rnic_neigh_reason
solicitation_parse(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes,
		   struct rnic_neigh_message *message)
{
	const uint8_t *source = ip + 8;
	enum rnic_neigh_reason reason =
		options_parse(icmp + ND_BYTES, bytes - ND_BYTES, OPTION_SOURCE, message);
	uint8_t group[16];

	if (reason != RNIC_NEIGH_GOOD)
		return reason;
	message->has_gid = !gid_is(source, no_gid);
	solicited_group(icmp + 8, group);
	if (message->has_gid ? !nd_is_host(source) : message->has_mac || !gid_is(ip + 24, group))
		return RNIC_NEIGH_ADDRESS;
	message->override = true;
	memcpy(message->gid, source, sizeof(message->gid));
	memcpy(message->target, icmp + 8, sizeof(message->target));
	return RNIC_NEIGH_GOOD;
}

/* RFC 4861, 7.1.2. */
static enum rnic_neigh_reason
advertisement_parse(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes,
		    struct rnic_neigh_message *message)
{
	message->answers = true;
	message->has_gid = true;
	message->solicited = (icmp[4] & ND_SOLICITED) != 0;
	message->override = (icmp[4] & ND_OVERRIDE) != 0;
	if (ip[24] == 0xff && message->solicited)
		return RNIC_NEIGH_ADDRESS;
	memcpy(message->gid, icmp + 8, sizeof(message->gid));
	return options_parse(icmp + ND_BYTES, bytes - ND_BYTES, OPTION_TARGET, message);
}

static enum rnic_neigh_reason
ipv6_parse(const uint8_t *ip, uint32_t count, struct rnic_neigh_message *message)
{
	const uint8_t *icmp = ip + IPV6_BYTES;
	enum rnic_neigh_reason reason;
	uint32_t bytes;

	if (count < IPV6_BYTES + 1)
		return RNIC_NEIGH_SHORT;
	/* Neighbour discovery has no other headers before it. */
	if (ip[0] >> 4 != 6 || ip[6] != NEXT_ICMPV6 ||
	    (icmp[0] != ND_SOLICITATION && icmp[0] != ND_ADVERTISEMENT))
		return RNIC_NEIGH_OTHER;
	bytes = packet_get16(ip + 4);
	if (bytes > count - IPV6_BYTES)
		return RNIC_NEIGH_LENGTH;
	if (bytes < 4)
		return RNIC_NEIGH_SHORT;
	reason = nd_check(ip, icmp, bytes);
	if (reason != RNIC_NEIGH_GOOD)
		return reason;
	return icmp[0] == ND_SOLICITATION ? solicitation_parse(ip, icmp, bytes, message)
					  : advertisement_parse(ip, icmp, bytes, message);
}

enum rnic_neigh_reason
rnic_neigh_parse(const uint8_t *bytes, uint32_t count, struct rnic_neigh_message *message)
{
	const uint32_t header = header_bytes(bytes, count);

	*message = (struct rnic_neigh_message){ .vlan = rnic_neigh_vlan(bytes, count) };
	if (count < ETHER_BYTES)
		return RNIC_NEIGH_SHORT;
	/* An answer goes there. */
	if (!mac_is_unicast(bytes + 6))
		return RNIC_NEIGH_ADDRESS;
	switch (packet_get16(bytes + header - 2)) {
	case ETHERTYPE_ARP: return arp_parse(bytes + header, count - header, message);
	case ETHERTYPE_IPV6: return ipv6_parse(bytes + header, count - header, message);
	default: return RNIC_NEIGH_OTHER;
	}
}

/* With the MAC as an option, if there is a kind of it. */
static uint32_t
nd_build(uint8_t *frame, const uint8_t own_mac[6], const uint8_t source[16],
	 const uint8_t destination[16], const uint8_t *to_mac, uint8_t type, uint8_t flags,
	 const uint8_t target[16], uint8_t option)
{
	const uint32_t bytes = ND_BYTES + (option != 0 ? OPTION_UNIT : 0);
	uint8_t *ip = frame + ETHER_BYTES, *icmp = ip + IPV6_BYTES;

	memset(frame, 0, ND_FRAME_BYTES);
	if (to_mac != NULL)
		memcpy(frame, to_mac, 6);
	else
		group_mac(destination, frame);
	memcpy(frame + 6, own_mac, 6);
	packet_put16(frame + 12, ETHERTYPE_IPV6);
	ip[0] = 0x60;
	packet_put16(ip + 4, (uint16_t)bytes);
	ip[6] = NEXT_ICMPV6;
	ip[7] = IPV6_HOP_LIMIT;
	memcpy(ip + 8, source, 16);
	memcpy(ip + 24, destination, 16);
	icmp[0] = type;
	icmp[4] = flags;
	memcpy(icmp + 8, target, 16);
	if (option != 0) {
		icmp[ND_BYTES] = option;
		icmp[ND_BYTES + 1] = 1;
		memcpy(icmp + ND_BYTES + 2, own_mac, 6);
	}
	packet_put16(icmp + 2, icmp_sum(ip, icmp, bytes));
	return ETHER_BYTES + IPV6_BYTES + bytes;
}

/* ---- Echoes ---- */

/* A whole ICMPv6 packet that is right in itself: how long it is behind the IPv6 header; 0: none. */
static uint32_t
echo_check(const uint8_t *bytes, uint32_t count)
{
	const uint32_t header = header_bytes(bytes, count);
	const uint8_t *ip = bytes + header, *icmp = ip + IPV6_BYTES;
	uint32_t length;

	if (count < header + IPV6_BYTES + ECHO_BYTES || !mac_is_unicast(bytes + 6) ||
	    packet_get16(ip - 2) != ETHERTYPE_IPV6 || ip[0] >> 4 != 6 || ip[6] != NEXT_ICMPV6 ||
	    icmp[0] != ECHO_REQUEST || icmp[1] != 0)
		return 0;
	length = packet_get16(ip + 4);
	if (length < ECHO_BYTES || length > count - header - IPV6_BYTES || !nd_is_host(ip + 8) ||
	    ip[24] == 0xff || icmp_sum(ip, icmp, length) != 0)
		return 0;
	return length;
}

uint32_t
rnic_neigh_build_echo(uint8_t reply[RNIC_NEIGH_READ_BYTES], const uint8_t own_mac[6],
		      const uint8_t *bytes, uint32_t count, uint8_t own[16])
{
	const uint32_t length = echo_check(bytes, count);
	const uint8_t *asked = bytes + header_bytes(bytes, count);
	uint8_t *ip = reply + ETHER_BYTES, *icmp = ip + IPV6_BYTES;

	if (length == 0)
		return 0;
	memcpy(own, asked + 24, 16);
	memcpy(reply, bytes + 6, 6);
	memcpy(reply + 6, own_mac, 6);
	packet_put16(reply + 12, ETHERTYPE_IPV6);
	memcpy(ip, asked, IPV6_BYTES + length);
	ip[7] = ECHO_HOP_LIMIT;
	memcpy(ip + 8, own, 16);
	memcpy(ip + 24, asked + 8, 16);
	icmp[0] = ECHO_REPLY;
	packet_put16(icmp + 2, 0);
	packet_put16(icmp + 2, icmp_sum(ip, icmp, length));
	return ETHER_BYTES + IPV6_BYTES + length;
}

/* ---- Frames to send ---- */

uint32_t
rnic_neigh_build_request(uint8_t frame[RNIC_NEIGH_FRAME_BYTES], const uint8_t own_mac[6],
			 const uint8_t own[16], const uint8_t target[16], const uint8_t *to)
{
	uint8_t group[16];

	if (rnic_gid_is_ipv4(target))
		return arp_build(frame, own_mac, own, ARP_REQUEST, to != NULL ? to : broadcast,
				 target);
	solicited_group(target, group);
	/* Who has no address says no MAC (RFC 4861, 4.3). */
	return nd_build(frame, own_mac, own, to != NULL ? target : group, to, ND_SOLICITATION, 0,
			target, gid_is(own, no_gid) ? 0 : OPTION_SOURCE);
}

uint32_t
rnic_neigh_build_answer(uint8_t frame[RNIC_NEIGH_FRAME_BYTES], const uint8_t own_mac[6],
			const uint8_t own[16], const uint8_t to_gid[16], const uint8_t to_mac[6])
{
	if (rnic_gid_is_ipv4(own))
		return arp_build(frame, own_mac, own, ARP_REPLY, to_mac, to_gid);
	if (gid_is(to_gid, no_gid))
		return rnic_neigh_build_announcement(frame, own_mac, own);
	return nd_build(frame, own_mac, own, to_gid, to_mac, ND_ADVERTISEMENT,
			ND_SOLICITED | ND_OVERRIDE, own, OPTION_TARGET);
}

uint32_t
rnic_neigh_build_announcement(uint8_t frame[RNIC_NEIGH_FRAME_BYTES], const uint8_t own_mac[6],
			      const uint8_t own[16])
{
	if (rnic_gid_is_ipv4(own))
		return arp_build(frame, own_mac, own, ARP_REQUEST, broadcast, own);
	return nd_build(frame, own_mac, own, all_nodes, NULL, ND_ADVERTISEMENT, ND_OVERRIDE, own,
			OPTION_TARGET);
}
