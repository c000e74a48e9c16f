/* SPDX-License-Identifier: BSD-3-Clause */

/* The NIC vport context. */
#ifndef TEST_DRIVER_VPORT_H
#define TEST_DRIVER_VPORT_H

#include "driver.h"
#include "prm/vport.h"

#define DRV_VPORT_LIST 128 /* entries of a list at most */

/* What it is told: of all this, what `select` names (RNIC_NIC_VPORT_...). */
struct drv_vport {
	uint32_t select;
	uint16_t mtu; /* as registers count: with header, tag and FCS */
	bool roce, promisc_uc, promisc_mc, promisc_all;
	enum rnic_allowed_list_type list; /* that becomes these entries */
	uint32_t count;
	const uint64_t *entries; /* MACs; VLANs in the upper half */
};

/* What it lets through: promiscuity and one list. */
#define DRV_VPORT_FILTER (RNIC_NIC_VPORT_PROMISC | RNIC_NIC_VPORT_ADDRESSES_LIST)

size_t drv_vport_bytes(const struct drv_vport *vport);
uint32_t drv_vport_fill(void *in, const struct drv_vport *vport);
int drv_vport_modify(struct drv *drv, const struct drv_vport *vport);
int drv_vport_mtu_set(struct drv *drv, uint16_t mtu);
int drv_vport_roce_set(struct drv *drv, bool enabled);
int drv_vport_promisc_set(struct drv *drv, bool all);

/* The context, and a list's entries (NULL: not asked for), as many as allowed_list_size says. */
int drv_vport_query(struct drv *drv, enum rnic_allowed_list_type list,
		    struct rnic_nic_vport_context *context, uint64_t entries[DRV_VPORT_LIST]);
/* The permanent address in a context. */
uint64_t drv_vport_mac(const struct rnic_nic_vport_context *context);

#endif
