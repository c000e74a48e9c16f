/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of GIDs. */
#ifndef TEST_DRIVER_ROCE_ADDR_H
#define TEST_DRIVER_ROCE_ADDR_H

#include "driver.h"
#include "prm/qp.h"

/* RoCE version 2; an IPv4 address is ::ffff:a.b.c.d. */
struct drv_roce_addr {
	uint32_t index;
	uint8_t gid[16];
	uint64_t mac;
	uint32_t vlan; /* 0: frames without a tag */
};

uint32_t drv_roce_addr_fill(void *in, const struct drv_roce_addr *address);
int drv_roce_addr_set(struct drv *drv, const struct drv_roce_addr *address);
int drv_roce_addr_query(struct drv *drv, uint32_t index, struct rnic_roce_addr *entry);

#endif
