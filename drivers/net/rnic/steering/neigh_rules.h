/* SPDX-License-Identifier: BSD-3-Clause */

/* Which table frames meet first; and, while neighbours are resolved, a look at those of neighbours before that. */
#ifndef RNIC_STEERING_NEIGH_RULES_H
#define RNIC_STEERING_NEIGH_RULES_H

#include <stdint.h>

struct rnic_dev;

/*
 * Frames of ARP and ICMPv6, with a VLAN tag or without, go to a TIR, and where they went before. -ENOTSUP: not on this card, which is
 * said in the log.
 */
int rnic_neigh_rules_up(struct rnic_dev *dev, uint32_t tir);
/* No longer; nothing of it is left, whatever the device says. */
int rnic_neigh_rules_down(struct rnic_dev *dev);
/* All frames meet this table now, in the place of the one before. That stays what it is when the device refuses. */
int rnic_neigh_rules_next(struct rnic_dev *dev, uint32_t table);
/* The one of now is about to go, and no other comes. */
int rnic_neigh_rules_no_next(struct rnic_dev *dev);

#endif
