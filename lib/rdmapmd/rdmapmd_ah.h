/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Paths: where packets go. A connected queue pair has one, as an attribute. Each datagram names its own: an address handle,
 * which is made once, and used by any number of requests of the queue pairs of its protection domain.
 *
 * Source: IBTA vol. 1, chapter 11, "Create Address Handle", "Destroy Address Handle"; annex A17 (RoCEv2) for the headers of
 * packets. PRM: "Datagram Segment".
 */
#ifndef RDMAPMD_AH_H
#define RDMAPMD_AH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_compat.h>

#include "rdmapmd_device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_pd;
struct rdmapmd_wc;

/** A path. On RoCE it always consists of GIDs. */
struct rdmapmd_ah_attr {
	/** The peer's address; of an address handle also a group's (rdmapmd_gid_is_multicast()). */
	union rdmapmd_gid dgid;
	/**
	 * The next hop's MAC. All zero: derived from dgid for groups, and for link-local addresses that contain a MAC; else
	 * resolved by the driver if it can, which may take 3.5 s: rdmapmd_resolve().
	 */
	uint8_t dmac[6];
	uint32_t flow_label; /**< 20 bits */
	/** The source address, in the port's GID table: IPv4 for an IPv4 dgid, IPv6 for an IPv6 one. */
	uint8_t sgid_index;
	uint8_t hop_limit;     /**< 0 .. 255 routers */
	uint8_t traffic_class; /**< 8 bits: DSCP and ECN of the packets */
	uint8_t sl;	       /**< service level, 3 bits */
	uint8_t port_num;      /**< from 1 */
};

/** An address handle. The public head: read it, do not write it. */
struct rdmapmd_ah {
	struct rdmapmd_context *context; /**< it was created in */
	struct rdmapmd_pd *pd;		 /**< its protection domain */
};

/** The queue pair that a datagram to a group's address is sent to. */
#define RDMAPMD_MULTICAST_QPN 0xffffff

/** Bytes before the payload of a received datagram: an IPv6 header, or an IPv4 one in the last 20 of them. */
#define RDMAPMD_GRH_BYTES 40

/**
 * Whether an address is a group's.
 *
 * Threads: any. Blocks: never.
 *
 * @param gid Any address, also an empty one.
 * @return Whether it is one of ff00::/8, or an IPv4 address of 224.0.0.0/4.
 */
static inline bool
rdmapmd_gid_is_multicast(const union rdmapmd_gid *gid)
{
	return gid->raw[0] == 0xff || (rdmapmd_gid_is_ipv4(gid) && gid->raw[12] >> 4 == 0xe);
}

/**
 * The MAC of a group's packets: the low bits of its address (RFC 1112, section 6.4; RFC 2464, section 7).
 *
 * Threads: any. Blocks: never.
 *
 * @param gid A group's address.
 * @param mac Out: in the order of the wire.
 */
static inline void
rdmapmd_gid_multicast_mac(const union rdmapmd_gid *gid, uint8_t mac[6])
{
	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, gid->raw + 12, 4);
	if (rdmapmd_gid_is_ipv4(gid)) {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] &= 0x7f;
	}
}

/**
 * Create an address handle.
 *
 * Threads: any. Blocks: for commands, and until the peer's MAC is known.
 *
 * @param pd   A protection domain that is alive.
 * @param attr The path; read during the call only.
 * @param ah   Out: the address handle. As long as it lives, its source address stays the port's.
 * @return 0; -EINVAL no such port, no address at sgid_index or one of another protocol than dgid, an empty dgid, a value
 *         out of range (named in the log); -EHOSTUNREACH the MAC of the peer is not known: set dmac; -ENOTSUP the driver
 *         has no datagrams; -ENOMEM.
 */
__rte_experimental int rdmapmd_ah_create(struct rdmapmd_pd *pd, const struct rdmapmd_ah_attr *attr,
					 struct rdmapmd_ah **ah);

/**
 * Create an address handle for an answer: the path back to who sent a datagram. Its service level and traffic class are the
 * datagram's, its hop limit is 255. If the datagram came to a group, the answer begins at the first address of that protocol
 * that the port has.
 *
 * Threads: any. Blocks: as rdmapmd_ah_create().
 *
 * @param pd       A protection domain that is alive.
 * @param port_num The port at which it arrived, from 1.
 * @param wc       The completion of its receive, with RDMAPMD_WC_IPV4 if the bytes are an IPv4 header.
 * @param grh      The first RDMAPMD_GRH_BYTES of the receive's buffer.
 * @param ah       Out: the address handle. The peer's queue pair is wc->src_qp.
 * @return As rdmapmd_ah_create(); -EINVAL also: the completion has no RDMAPMD_WC_GRH, the bytes are no header, or the
 *         datagram was sent to an address that the port has no longer.
 */
__rte_experimental int rdmapmd_ah_from_wc(struct rdmapmd_pd *pd, uint8_t port_num,
					  const struct rdmapmd_wc *wc, const void *grh,
					  struct rdmapmd_ah **ah);

/**
 * Destroy an address handle. Requests that were posted with it are sent nevertheless.
 *
 * Threads: any; no thread may post a request that names it meanwhile. Blocks: for commands.
 *
 * @param ah An address handle that is alive.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmapmd_ah_destroy(struct rdmapmd_ah *ah);

#ifdef __cplusplus
}
#endif

#endif
