/* SPDX-License-Identifier: BSD-3-Clause */

/* The port, as its vport and its registers have it. */
#ifndef RNIC_OBJECT_PORT_H
#define RNIC_OBJECT_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "object/protocol.h"

struct rnic_dev;

/* A function that may not change it has a warning, if what the port has is enough, else -EPERM. */
int rnic_port_set_mtu(struct rnic_dev *dev, uint16_t mtu);
/* The same of who starts: it goes on with what the port has. */
int rnic_port_request_mtu(struct rnic_dev *dev, uint16_t mtu);
/* The L3 MTU as it is now. */
int rnic_port_mtu(struct rnic_dev *dev, uint16_t *mtu);
/* A refusal is not reported. */
int rnic_port_set_roce(struct rnic_dev *dev, bool on);
int rnic_port_set_admin(struct rnic_dev *dev, bool up);
/* Somebody needs the port up, which an application may have switched off; nobody but an application does. Threads: any. */
int rnic_port_use(struct rnic_dev *dev);
/* Link state and speed in Mb/s (0 unknown). */
int rnic_port_link(struct rnic_dev *dev, bool *up, uint32_t *speed);
/* The speeds that it can have, in Mb/s; 0 where there is none. */
int rnic_port_speeds(struct rnic_dev *dev, uint32_t speeds[RNIC_PROTOCOLS]);
/* All of it that changes. */
struct rnic_port_info {
	struct rnic_protocol protocol; /* of a link that is up */
	bool up;
	bool off;		  /* it was told to have no link */
	uint16_t mtu;		  /* L3, as rnic_port_mtu() */
	uint16_t qkey_violations; /* datagrams that the device has dropped for their Q_Key */
};
int rnic_port_query(struct rnic_dev *dev, struct rnic_port_info *info);
int rnic_port_set_mac(struct rnic_dev *dev, const uint8_t mac[6]);
/* Who has made something of the port's address, set and taken back (NULL) by bring-up; there is one. Returns 0 or -errno. */
void rnic_port_on_mac(struct rnic_dev *dev, int (*follow)(struct rnic_dev *dev));
/* The address is another one: what was made of it is made again. What the follower says; 0 if there is none. */
int rnic_port_follow_mac(struct rnic_dev *dev);
/* How many unicast addresses the vport takes, its own included. */
uint32_t rnic_port_macs_max(struct rnic_dev *dev);
/* A vport that refuses it takes what it took: a warning, no error. Steering is another matter. */
int rnic_port_set_promiscuous(struct rnic_dev *dev, bool on, bool allmulticast);

int rnic_port_setup(struct rnic_dev *dev);
void rnic_port_down(struct rnic_dev *dev);
/* Addresses of queue pairs, that the vport lets in beside its own. Each is counted. -ENOSPC: no more. Threads: any. */
int rnic_port_add_mac(struct rnic_dev *dev, const uint8_t mac[6]);
int rnic_port_del_mac(struct rnic_dev *dev, const uint8_t mac[6]);
/* Those of groups of datagrams: in the list as far as the others leave room, and joined without if not. Threads: any. */
int rnic_port_add_group(struct rnic_dev *dev, const uint8_t mac[6]);
int rnic_port_del_group(struct rnic_dev *dev, const uint8_t mac[6]);

#endif
