/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Connecting a queue pair in one call, for peers that exchange numbers and addresses by means of their own.
 *
 * Source: IBTA vol. 1, 10.3.1 "Queue Pair and EE Context States".
 */
#ifndef RDMAPMD_CONNECT_H
#define RDMAPMD_CONNECT_H

#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_ah.h"
#include "rdmapmd_device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_qp;

/** What the other side of a connection tells of its queue pair. */
struct rdmapmd_qp_peer {
	union rdmapmd_gid gid; /**< its address */
	uint32_t qp_num;       /**< its number, 24 bits */
	uint32_t psn;	       /**< of its first packet, 24 bits */
	/** the largest path MTU that it can have; 0: as large as this port's */
	enum rdmapmd_mtu mtu;
};

/** In the place of a number that is to be 0, where 0 asks for the default. */
#define RDMAPMD_CONNECT_NONE 0xff

/**
 * What else a connection can have. All zeros are the defaults; what they are is in brackets. Members that concern READs, atomics,
 * acknowledgements and retries are of RC alone.
 */
struct rdmapmd_qp_connect_opts {
	/**
	 * The path, but for its dgid: port_num [1], hop_limit [64], dmac [found out], sgid_index [the first address without a
	 * VLAN that is, as the peer's, IPv4, link-local, or another of IPv6; or else one of the same protocol].
	 */
	struct rdmapmd_ah_attr path;
	uint32_t psn; /**< of the first packet sent here, 24 bits: what the peer has been told */
	/** what the peer may do, besides sending [nothing]: enum rdmapmd_access_flags */
	uint32_t qp_access_flags;
	uint16_t pkey_index; /**< in the port's P_Key table */
	/** READs and atomics under way, that this side answers [16, or what the device can] */
	uint8_t max_dest_rd_atomic;
	/** ... that it begins [16, or what the device can]: no more than the peer answers */
	uint8_t max_rd_atomic;
	/** what the peer is told to wait when there is no receive: a code [12, 0.64 ms] */
	uint8_t min_rnr_timer;
	uint8_t timeout;   /**< until a packet is sent again: 4.096 us << this [14, 67 ms] */
	uint8_t retry_cnt; /**< how often a packet is sent again, to 7 [7] */
	uint8_t rnr_retry; /**< how often after the peer had no receive; 7: for ever [7] */
};

/**
 * Connect a queue pair of RC or UC: INIT, RTR, RTS by rdmapmd_qp_modify(), with the smaller path MTU of both ports. It may be in INIT
 * already, with receives posted, so that what the peer sends at once finds them.
 *
 * Threads: any, if no other call changes its state meanwhile. Blocks: for commands, and as rdmapmd_qp_modify() to RTR for
 *          the MAC of the peer.
 * Order:   the peer may send as soon as it has connected its side; what comes before this side is in RTR is sent again by RC, and
 *          lost by UC.
 *
 * @param qp   A queue pair that is alive, in RESET or INIT.
 * @param peer What the other side tells.
 * @param opts What it is to have beside that; NULL: the defaults.
 * @return 0; -EINVAL not RC or UC, another state, an attribute out of range (named in the log), no address here of the
 *         peer's protocol; as rdmapmd_qp_modify(): it is in RESET then, and what was posted to it has gone.
 */
__rte_experimental int rdmapmd_qp_connect(struct rdmapmd_qp *qp, const struct rdmapmd_qp_peer *peer,
					  const struct rdmapmd_qp_connect_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
