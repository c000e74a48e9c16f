/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's table of addresses. -EINVAL beyond it; an empty entry is zeros. */
#ifndef RNIC_RDMA_GID_H
#define RNIC_RDMA_GID_H

#include <stdint.h>

#include "rdmapmd_driver.h"

struct rdmapmd_ah_attr;
struct rdmapmd_gid_entry;
struct rnic_dev;

#define RNIC_GID_LINK_LOCAL 0 /* where the port's own stands */
uint32_t rnic_gid_count(const struct rnic_dev *dev);
int rnic_gid_query(struct rnic_dev *dev, uint32_t index, struct rdmapmd_gid_entry *entry);
int rnic_gid_set(struct rnic_dev *dev, uint32_t index, const struct rdmapmd_gid_entry *entry);
/* Another address, where there is room. -EEXIST, -ENOSPC. Threads: any. */
int rnic_gid_add(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint32_t *index);
/* The same in a VLAN, 1 .. 4094; 0: in none. */
int rnic_gid_add_vlan(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint16_t vlan,
		      uint32_t *index);
/* -ENODATA it is empty, -EPERM the port's own, -EBUSY paths begin there. Threads: any. */
int rnic_gid_del(struct rnic_dev *dev, uint32_t index);
/* A path begins at the address, or no longer does. -EINVAL: there is no address. */
int rnic_gid_hold(struct rnic_dev *dev, uint32_t index);
void rnic_gid_drop(struct rnic_dev *dev, uint32_t index);
/* The MAC of an address: of the port's own, or by rnic_neigh_resolve(), whose errors it has. */
int rnic_gid_resolve(struct rnic_dev *dev, struct rdmapmd_ah_attr *ah, uint32_t timeout_ms);
/* The port's MAC has changed: so have its addresses; none of them, if the device does not take one. */
int rnic_gids_follow_mac(struct rnic_dev *dev);
/* Bring-up: RoCE is on, the table holds the port's link-local address, then those of devarg ip=. */
int rnic_gids_setup(struct rnic_dev *dev);
void rnic_gids_down(struct rnic_dev *dev);

#endif
