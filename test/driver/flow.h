/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow tables of the NIC's receive side: tables, groups, entries, the root. */
#ifndef TEST_DRIVER_FLOW_H
#define TEST_DRIVER_FLOW_H

#include "driver.h"
#include "prm/flow.h"

struct drv_table {
	uint32_t level, log_size;
	uint32_t miss_table; /* where frames go on that match nothing; 0: nowhere */
};

int drv_table_create(struct drv *drv, const struct drv_table *table, uint32_t *number);
int drv_table_destroy(struct drv *drv, uint32_t table);
int drv_root_set(struct drv *drv, uint32_t table);

struct drv_group {
	uint32_t table, start, end;
	const struct rnic_fte_match_set_lyr_2_4 *mask; /* of the outer headers; NULL: all match */
};

uint32_t drv_group_fill(void *in, const struct drv_group *group);
int drv_group_create(struct drv *drv, const struct drv_group *group, uint32_t *number);
int drv_group_destroy(struct drv *drv, uint32_t table, uint32_t group);

struct drv_fte {
	uint32_t table, group, index, tag;
	uint32_t action; /* RNIC_FLOW_ACTION_... */
	bool any_level;	 /* destinations may be tables of any level */
	const struct rnic_fte_match_set_lyr_2_4 *value;
	const struct rnic_flow_destination *to;
	uint32_t count; /* of `to` */
};

size_t drv_fte_bytes(const struct drv_fte *fte);
uint32_t drv_fte_fill(void *in, const struct drv_fte *fte);
int drv_fte_set(struct drv *drv, const struct drv_fte *fte);
int drv_fte_delete(struct drv *drv, uint32_t table, uint32_t index);

struct rnic_flow_destination drv_to_tir(uint32_t tirn);

#endif
