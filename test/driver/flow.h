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

/* A field of the outer headers and what it must be: all of it, or the bits of `mask` alone. */
struct drv_match {
	enum rnic_fte_match_set_lyr_2_4_field field;
	uint32_t value, mask;
};
/* clang-format off */
#define DRV_IS(name, value) { RNIC_FTE_MATCH_SET_LYR_2_4_##name, value }
#define DRV_DMAC_IS(mac) DRV_IS(DMAC_47_16, (uint32_t)((mac) >> 16)), DRV_IS(DMAC_15_0, (mac) & 0xffff)
/* clang-format on */
#define DRV_MATCHES 9

struct drv_group {
	uint32_t table, start, end;
	/* What its entries ask for, in either way; neither: nothing, so that all match. */
	const struct rnic_fte_match_set_lyr_2_4 *mask;
	struct drv_match match[DRV_MATCHES]; /* whose values do not count here */
};

uint32_t drv_group_fill(void *in, const struct drv_group *group);
int drv_group_create(struct drv *drv, const struct drv_group *group, uint32_t *number);
int drv_group_destroy(struct drv *drv, uint32_t table, uint32_t group);

struct drv_fte {
	struct drv_match match[DRV_MATCHES]; /* or `value` */
	const struct rnic_flow_destination *to;
	uint32_t count;	  /* of `to` */
	uint32_t counter; /* where it counts; 0: nowhere */
	uint32_t tag;
	uint32_t action; /* RNIC_FLOW_ACTION_...; 0: forward, or drop if there is no destination */
	bool any_level;	 /* destinations may be tables of any level */
	uint32_t modify; /* RNIC_SET_FTE_MODIFY_...: of an entry that is there; 0: a new one */
	uint32_t table, group, index;
	const struct rnic_fte_match_set_lyr_2_4 *value;
};

struct drv_flow_count {
	uint64_t packets, octets;
};

size_t drv_fte_bytes(const struct drv_fte *fte);
uint32_t drv_fte_fill(void *in, const struct drv_fte *fte);
int drv_fte_set(struct drv *drv, const struct drv_fte *fte);
int drv_fte_delete(struct drv *drv, uint32_t table, uint32_t index);
/* struct rnic_query_fte_out and destinations. */
int drv_fte_query(struct drv *drv, uint32_t table, uint32_t index, void *out, uint32_t out_bytes);

struct rnic_flow_destination drv_to_tir(uint32_t tirn);
struct rnic_flow_destination drv_to_table(uint32_t table);

/*
 * A table as a list of entries: entry i has index i, and neighbours that ask for the same bits are a group. There are
 * 16 indices. Table and groups are made, and each entry told where it is; it is left to be set.
 */
int drv_table_of(struct drv *drv, uint32_t level, uint32_t miss_table, struct drv_fte *entries,
		 uint32_t count, uint32_t *table);
int drv_ftes_set(struct drv *drv, const struct drv_fte *entries, uint32_t count);
/* A new root, whose one entry sends each frame to all of these TIRs; table may be NULL. */
int drv_root_to_tirs(struct drv *drv, const uint32_t *tirns, uint32_t count, uint32_t *table);

/* Flow counters, 128 times `bulk` or one: the first one's number. */
int drv_flow_counter_alloc(struct drv *drv, uint32_t bulk, uint32_t *id);
int drv_flow_counter_dealloc(struct drv *drv, uint32_t id);
/* `count` of them, 0 for one without saying so; they may begin anew. What they have counted, each. */
int drv_flow_counter_query(struct drv *drv, uint32_t id, uint32_t count, bool clear,
			   struct drv_flow_count *counts);

#endif
