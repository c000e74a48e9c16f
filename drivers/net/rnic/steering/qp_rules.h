/* SPDX-License-Identifier: BSD-3-Clause */

/* Which frames reach a queue pair: rules for its addresses. */
#ifndef RNIC_STEERING_QP_RULES_H
#define RNIC_STEERING_QP_RULES_H

#include <stdint.h>

struct rnic_dev;

/*
 * The ethdev has a table, or another one, to which frames of no queue pair go on; or it no longer has one. -ENOTSUP: the card
 * does not move its root, and the table is the one before.
 */
int rnic_qp_steering_port_up(struct rnic_dev *dev, uint32_t table);
int rnic_qp_steering_port_down(struct rnic_dev *dev);
/* Frames with this address, and VLAN tag unless that is RDMAPMD_VLAN_ANY, go to a TIR. -EEXIST, -ENOSPC, -ENOTSUP. */
int rnic_qp_steering_add(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id, uint32_t tir,
			 uint32_t tag);
/* No longer. -ENOENT: they did not go to that TIR. */
int rnic_qp_steering_del(struct rnic_dev *dev, const uint8_t mac[6], uint16_t vlan_id,
			 uint32_t tir);
/* None goes there; what the device refuses is forgotten all the same. */
int rnic_qp_steering_drop(struct rnic_dev *dev, uint32_t tir);

#endif
