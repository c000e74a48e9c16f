/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which unicast addresses are this function's, among those of its card. Called under the port's lock, or before there is
 * anybody else.
 */
#ifndef RNIC_OBJECT_MPFS_H
#define RNIC_OBJECT_MPFS_H

#include <stdint.h>

struct rnic_dev;
struct rnic_mac_entry;

/* For functions that manage their eswitch; nothing for others. -ENOMEM. */
int rnic_mpfs_create(struct rnic_dev *dev);
void rnic_mpfs_destroy(struct rnic_dev *dev);
/* These unicast addresses, and no others. What is refused is a warning, once. */
void rnic_mpfs_follow(struct rnic_dev *dev, const struct rnic_mac_entry *list, uint32_t count);

#endif
