/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands on flow tables, their groups and entries; a TIR of one queue. */
#ifndef RNIC_STEERING_FLOW_H
#define RNIC_STEERING_FLOW_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_create_tir_in;
struct rnic_dev;

/* May another flow table take the root's place? Where it may not, Linux sets no root at all, and no VLANs are filtered. */
bool rnic_flow_root_moves(struct rnic_dev *dev);

/* Of a frame: its destination address, its outer VLAN tag, what is behind. As a mask: which bits matter. */
struct rnic_flow_match {
	uint8_t mac[6];
	bool by_vlan; /* there is a tag */
	uint16_t vlan_id;
	uint16_t ethertype; /* behind the tags */
	uint8_t ip_protocol;
	bool fragment;
};
struct rnic_flow_entry {
	uint32_t table, group, index;
	struct rnic_flow_match match;
	uint32_t tag; /* what completions say where they name no queue */
	bool to_tir, to_table;
	uint32_t tir, next_table; /* of a higher level */
};
/* Of one queue; or of what the context says. In the port's transport domain. */
int rnic_tir_create(struct rnic_dev *dev, uint32_t rqn, uint32_t *tir);
int rnic_tir_create_for(struct rnic_dev *dev, struct rnic_create_tir_in *in, uint32_t *tir);
int rnic_flow_table_create(struct rnic_dev *dev, uint8_t level, unsigned int log_size,
			   uint32_t *table);
int rnic_flow_table_destroy(struct rnic_dev *dev, uint32_t table);
int rnic_flow_root_set(struct rnic_dev *dev, uint32_t table);
/* A mask of nothing: its entries match everything. */
int rnic_flow_group_create(struct rnic_dev *dev, uint32_t table, uint32_t first, uint32_t last,
			   const struct rnic_flow_match *mask, uint32_t *group);
int rnic_flow_group_destroy(struct rnic_dev *dev, uint32_t table, uint32_t group);
/* A new one: none that is there is changed, since cards without flow_modify_en cannot do that. */
int rnic_flow_entry_set(struct rnic_dev *dev, const struct rnic_flow_entry *entry);
int rnic_flow_entry_delete(struct rnic_dev *dev, uint32_t table, uint32_t index);

#endif
