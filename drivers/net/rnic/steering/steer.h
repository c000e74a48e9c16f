/* SPDX-License-Identifier: BSD-3-Clause */

/* Which frames reach the ethdev, and which of its queues. */
#ifndef RNIC_STEERING_STEER_H
#define RNIC_STEERING_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "steering/tirs.h"

struct rnic_dev;

#define RNIC_STEERING_MACS_LOG 8
#define RNIC_STEERING_MACS     (1u << RNIC_STEERING_MACS_LOG)
#define RNIC_VLAN_WORDS	       64 /* a bit for each of 4,096 */

struct rnic_mac {
	uint8_t address[6];
};

struct rnic_steering {
	uint32_t tir, table, group_mac, group_multicast, group_all;
	uint32_t entries; /* bitmap of entries set, of the first ones */
	uint8_t mac[6];	  /* of the entry that is set */
	uint8_t own_slot; /* of its two, the one where it is, or will be */
	bool up;
	bool has_tirs; /* several queues: instead of `tir` */
	struct rnic_tirs tirs;

	/* Further addresses: all zero where there is none. */
	bool has_macs;
	uint32_t group_more_macs;
	struct rnic_mac macs[RNIC_STEERING_MACS];

	/* While VLANs are filtered. */
	bool has_vlans;
	uint32_t vlan_table, group_untagged, group_vlan;
	bool untagged;
	uint64_t vlans[RNIC_VLAN_WORDS];
};
/* All frames go to the first queue, or are spread if `rss` is not NULL. */
int rnic_steering_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
			 struct rnic_steering *steering);
int rnic_steering_destroy(struct rnic_dev *dev, struct rnic_steering *steering);
/* Own MAC and broadcast always; all frames / all multicast on request. */
int rnic_steering_set(struct rnic_dev *dev, struct rnic_steering *steering, const uint8_t mac[6],
		      bool promiscuous, bool allmulticast);
/*
 * Addresses beside the own one and broadcast: these and no others, unicast or multicast, each once. The vport is told of
 * them. -ENOSPC: too many; those that were there before are still there.
 */
int rnic_steering_set_macs(struct rnic_dev *dev, struct rnic_steering *steering,
			   const struct rnic_mac *macs, uint32_t count);
/* Of frames with an 802.1Q tag those of these VLANs alone; NULL: all. Those without a tag are not touched. */
int rnic_steering_set_vlans(struct rnic_dev *dev, struct rnic_steering *steering,
			    const uint64_t *vlans);

#endif
