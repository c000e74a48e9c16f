/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Neighbours: the MACs of others' addresses are asked for, and who asks for ours is answered, since no kernel does either. Until
 * the port has an address of its own beside the link-local one, or another's is looked for, there is nothing of it: no queue, no
 * rule, no table.
 */
#ifndef RNIC_NEIGH_NEIGH_H
#define RNIC_NEIGH_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;
struct rnic_eq;

/* How long the driver asks: three times, a second apart, and a little for late answers. */
#define RNIC_NEIGH_PATIENCE_MS 3500u

/* What the floor above hands down. */
struct rnic_neigh_above {
	/* The event queue of its completions; NULL: there is none. */
	const struct rnic_eq *(*eq)(struct rnic_dev *dev);
	/* A look-up that did not wait has come to an end. Any thread; no lock is held. */
	void (*news)(struct rnic_dev *dev);
};

/* Bring-up, before the first address. `addresses`: at most. */
int rnic_neigh_setup(struct rnic_dev *dev, uint32_t addresses,
		     const struct rnic_neigh_above *above);
/* Ends it with all that was made meanwhile; no thread waits by then. Executes commands. */
void rnic_neigh_down(struct rnic_dev *dev);
/* The control thread has ended, which serves it. */
void rnic_neigh_free(struct rnic_dev *dev);

/* An address in a VLAN, 0: in none, is the port's from now on, or no longer. `lazy`: it can wait for others. Executes commands. */
void rnic_neigh_add(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan, bool lazy);
void rnic_neigh_del(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan);
/* The port has another MAC. */
void rnic_neigh_follow_mac(struct rnic_dev *dev);

/*
 * The MAC that packets to an address are sent to: that of the next hop, or a group's. `own`: the address that they are sent from;
 * zeros: any; `vlan`: of both. Waits for at most that long, or not at all. -EHOSTUNREACH: nobody answers, there is no link, or the card does not
 * let the driver ask; -EINPROGRESS: it did not wait; -ETIMEDOUT: it has waited, and the driver still asks; -ENOSPC: it asks for too
 * many; -EIO: the device is lost. Any thread but the control thread. Executes commands.
 */
int rnic_neigh_resolve(struct rnic_dev *dev, const uint8_t gid[16], const uint8_t own[16],
		       uint16_t vlan, uint32_t timeout_ms, uint8_t mac[6]);

/* From the control thread: is the completion queue this one's? Then it is served. */
bool rnic_neigh_on_completion(struct rnic_dev *dev, uint32_t cqn);
/* Link or device are lost: threads that wait are told. Any thread; executes no command. */
void rnic_neigh_lost_link(struct rnic_dev *dev);

#endif
