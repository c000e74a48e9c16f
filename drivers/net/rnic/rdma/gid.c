/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's RoCE addresses (PRM: "RoCE Address"), which the library knows as its GID table. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "neigh/neigh.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/qp.h"
#include "rdma/event.h"
#include "rdma/gid.h"
#include "rdma/rdma.h"
#include "rdma/vector.h"

_Static_assert(sizeof(union rdmapmd_gid) == 16, "an address");

static const union rdmapmd_gid no_gid;

static bool
gid_same(const union rdmapmd_gid *a, const union rdmapmd_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

uint32_t
rnic_gid_count(const struct rnic_dev *dev)
{
	return (uint32_t)rnic_roce_cap_get(&dev->caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE);
}

/* ---- One entry, as the device has it ---- */

static void
gid_entry_get(const struct rnic_roce_addr *address, struct rdmapmd_gid_entry *entry)
{
	const uint64_t mac = rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32) << 32 |
			     rnic_roce_addr_get(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0);
	const bool v2 =
		rnic_roce_addr_get(address, RNIC_ROCE_ADDR_ROCE_VERSION) == RNIC_ROCE_VERSION_2;
	unsigned int i;

	*entry = (struct rdmapmd_gid_entry){ .gid_type = v2 ? RDMAPMD_GID_TYPE_ROCE_V2
							    : RDMAPMD_GID_TYPE_ROCE_V1 };
	if (rnic_roce_addr_get(address, RNIC_ROCE_ADDR_VLAN_VALID))
		entry->vlan_id = (uint16_t)rnic_roce_addr_get(address, RNIC_ROCE_ADDR_VLAN_ID);
	memcpy(entry->gid.raw, address, sizeof(entry->gid.raw));
	for (i = 0; i < sizeof(entry->mac); i++)
		entry->mac[i] = (uint8_t)(mac >> (40 - 8 * i));
}

int
rnic_gid_query(struct rnic_dev *dev, uint32_t index, struct rdmapmd_gid_entry *entry)
{
	struct rnic_query_roce_address_in in = { 0 };
	struct rnic_query_roce_address_out out;
	int rc;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	rnic_query_roce_address_in_set(&in, RNIC_QUERY_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_ROCE_ADDRESS, 0, &in, sizeof(in), &out, sizeof(out));
	if (rc == 0)
		gid_entry_get(rnic_query_roce_address_out_roce_address(&out), entry);
	return rc;
}

static uint64_t
mac_number(const uint8_t mac[6])
{
	uint64_t number = 0;
	unsigned int i;

	for (i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

static void
gid_address_fill(struct rnic_roce_addr *address, const struct rdmapmd_gid_entry *entry)
{
	const bool ipv4 = rdmapmd_gid_is_ipv4(&entry->gid);
	const bool v2 = entry->gid_type == RDMAPMD_GID_TYPE_ROCE_V2;
	const uint64_t mac = mac_number(entry->mac);

	memcpy(address, entry->gid.raw, sizeof(entry->gid.raw));
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_47_32, mac >> 32);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_MAC_31_0, mac);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE,
			   ipv4 ? RNIC_ROCE_L3_TYPE_IPV4 : RNIC_ROCE_L3_TYPE_IPV6);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION,
			   v2 ? RNIC_ROCE_VERSION_2 : RNIC_ROCE_VERSION_1);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_VLAN_VALID, entry->vlan_id != 0);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_VLAN_ID, entry->vlan_id);
}

static int
gid_set_entry(struct rnic_dev *dev, uint32_t index, const struct rdmapmd_gid_entry *entry,
	      rnic_cmd_fn *command)
{
	struct rnic_set_roce_address_in in = { 0 };
	struct rnic_cmd_out out;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	rnic_set_roce_address_in_set(&in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	if (!gid_same(&entry->gid, &no_gid))
		gid_address_fill(rnic_set_roce_address_in_roce_address(&in), entry);
	return command(dev, RNIC_CMD_SET_ROCE_ADDRESS, 0, &in, sizeof(in), &out, sizeof(out));
}

int
rnic_gid_set(struct rnic_dev *dev, uint32_t index, const struct rdmapmd_gid_entry *entry)
{
	return gid_set_entry(dev, index, entry, rnic_cmd_exec);
}

/* ---- The table: what the port's addresses are, and which paths begin there ---- */

struct rnic_gid {
	struct rdmapmd_gid_entry entry;
	uint32_t paths; /* of queue pairs */
};

/* Called with the lock held: where an address stands; the number of entries if it is none of ours. */
static uint32_t
gid_find(const struct rnic_dev *dev, const union rdmapmd_gid *gid, uint16_t vlan)
{
	const uint32_t count = rnic_gid_count(dev);
	uint32_t i;

	for (i = 0; i < count; i++)
		if (dev->rdma->gids[i].entry.vlan_id == vlan &&
		    gid_same(&dev->rdma->gids[i].entry.gid, gid))
			break;
	return i;
}

/* Called with the lock held. */
static int
gid_put(struct rnic_dev *dev, uint32_t index, const union rdmapmd_gid *gid, uint16_t vlan,
	rnic_cmd_fn *command)
{
	struct rdmapmd_gid_entry entry = { .gid = *gid,
					   .gid_type = RDMAPMD_GID_TYPE_ROCE_V2,
					   .vlan_id = vlan };
	int rc;

	memcpy(entry.mac, dev->mac, sizeof(entry.mac));
	rc = gid_set_entry(dev, index, &entry, command);
	if (rc == 0)
		dev->rdma->gids[index].entry = entry;
	return rc;
}

/* Called with the lock held. */
static int
gid_clear(struct rnic_dev *dev, uint32_t index)
{
	static const struct rdmapmd_gid_entry none;
	int rc = rnic_gid_set(dev, index, &none);

	if (rc == 0)
		dev->rdma->gids[index].entry = none;
	return rc;
}

static int
gid_add(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint16_t vlan, uint32_t *index,
	rnic_cmd_fn *command)
{
	struct rnic_rdma *rdma = dev->rdma;
	const uint32_t count = rnic_gid_count(dev);
	int rc;

	pthread_mutex_lock(&rdma->gids_lock);
	*index = gid_find(dev, &no_gid, 0);
	if (gid_find(dev, gid, vlan) != count)
		rc = -EEXIST;
	else if (*index == count)
		rc = -ENOSPC;
	else
		rc = gid_put(dev, *index, gid, vlan, command);
	/* A port that has nothing but its link-local address is an Ethernet port's. */
	if (rc == 0)
		rnic_neigh_add(dev, gid->raw, vlan, *index == RNIC_GID_LINK_LOCAL);
	pthread_mutex_unlock(&rdma->gids_lock);
	if (rc == 0)
		rnic_rdma_port_event(dev, RDMAPMD_EVENT_GID_CHANGE);
	return rc;
}

int
rnic_gid_add(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint32_t *index)
{
	return gid_add(dev, gid, 0, index, rnic_cmd_exec);
}

int
rnic_gid_add_vlan(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint16_t vlan,
		  uint32_t *index)
{
	return gid_add(dev, gid, vlan, index, rnic_cmd_exec);
}

int
rnic_gid_del(struct rnic_dev *dev, uint32_t index)
{
	struct rnic_rdma *rdma = dev->rdma;
	struct rdmapmd_gid_entry was;
	int rc;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	pthread_mutex_lock(&rdma->gids_lock);
	was = rdma->gids[index].entry;
	if (gid_same(&was.gid, &no_gid))
		rc = -ENODATA;
	else if (index == RNIC_GID_LINK_LOCAL)
		rc = -EPERM;
	else if (rdma->gids[index].paths > 0)
		rc = -EBUSY;
	else
		rc = gid_clear(dev, index);
	if (rc == 0)
		rnic_neigh_del(dev, was.gid.raw, was.vlan_id);
	pthread_mutex_unlock(&rdma->gids_lock);
	if (rc == 0)
		rnic_rdma_port_event(dev, RDMAPMD_EVENT_GID_CHANGE);
	return rc;
}

int
rnic_gid_hold(struct rnic_dev *dev, uint32_t index)
{
	struct rnic_rdma *rdma = dev->rdma;
	int rc = 0;

	if (index >= rnic_gid_count(dev))
		return -EINVAL;
	pthread_mutex_lock(&rdma->gids_lock);
	/* The library has looked; somebody may have taken it away since. */
	if (gid_same(&rdma->gids[index].entry.gid, &no_gid))
		rc = -EINVAL;
	else
		rdma->gids[index].paths++;
	pthread_mutex_unlock(&rdma->gids_lock);
	return rc;
}

void
rnic_gid_drop(struct rnic_dev *dev, uint32_t index)
{
	pthread_mutex_lock(&dev->rdma->gids_lock);
	dev->rdma->gids[index].paths--;
	pthread_mutex_unlock(&dev->rdma->gids_lock);
}

int
rnic_gid_resolve(struct rnic_dev *dev, struct rdmapmd_ah_attr *ah, uint32_t timeout_ms)
{
	const uint32_t count = rnic_gid_count(dev);
	struct rdmapmd_gid_entry own = { 0 };
	uint32_t index;

	pthread_mutex_lock(&dev->rdma->gids_lock);
	if (ah->sgid_index < count)
		own = dev->rdma->gids[ah->sgid_index].entry;
	index = gid_find(dev, &ah->dgid, own.vlan_id);
	if (index != count)
		memcpy(ah->dmac, dev->rdma->gids[index].entry.mac, sizeof(ah->dmac));
	pthread_mutex_unlock(&dev->rdma->gids_lock);
	return index != count ? 0
			      : rnic_neigh_resolve(dev, ah->dgid.raw, own.gid.raw, own.vlan_id,
						   timeout_ms, ah->dmac);
}

/* ---- What neighbours need of this floor ---- */

static const struct rnic_eq *
neigh_eq(struct rnic_dev *dev)
{
	struct rnic_eq *eq;

	return rnic_rdma_vector_eq(dev, 0, &eq) == 0 ? eq : NULL;
}

static void
neigh_news(struct rnic_dev *dev)
{
	rnic_rdma_port_event(dev, RDMAPMD_EVENT_RESOLVED);
}

static const struct rnic_neigh_above neigh_above = { .eq = neigh_eq, .news = neigh_news };

/* ---- The port's own ---- */

/* fe80::/64 with the MAC as EUI-64 (RFC 4291, appendix A): what every RoCE port has. */
static union rdmapmd_gid
link_local(const uint8_t mac[6])
{
	return (union rdmapmd_gid){ { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2],
				      0xff, 0xfe, mac[3], mac[4], mac[5] } };
}

/* Called with the lock held: an entry with that MAC; the first one of the table is what is made of it. */
static int
gid_follow(struct rnic_dev *dev, uint32_t index, const uint8_t mac[6])
{
	struct rdmapmd_gid_entry entry = dev->rdma->gids[index].entry;
	int rc;

	if (gid_same(&entry.gid, &no_gid))
		return 0;
	if (index == RNIC_GID_LINK_LOCAL)
		entry.gid = link_local(mac);
	memcpy(entry.mac, mac, sizeof(entry.mac));
	rc = gid_set_entry(dev, index, &entry, rnic_cmd_exec);
	if (rc == 0)
		dev->rdma->gids[index].entry = entry;
	return rc;
}

/* Called with the lock held: all of them, or, as far as the device can, none. */
static int
gids_follow(struct rnic_dev *dev, const uint8_t mac[6], const uint8_t was[6])
{
	const uint32_t count = rnic_gid_count(dev);
	uint32_t i;
	int rc = 0;

	for (i = 0; i < count; i++) {
		rc = gid_follow(dev, i, mac);
		if (rc != 0)
			break;
	}
	while (rc != 0 && i > 0)
		(void)gid_follow(dev, --i, was);
	return rc;
}

int
rnic_gids_follow_mac(struct rnic_dev *dev)
{
	const union rdmapmd_gid own = link_local(dev->mac);
	struct rnic_rdma *rdma = dev->rdma;
	struct rdmapmd_gid_entry was;
	int rc;

	if (rdma == NULL || rdma->gids == NULL)
		return 0;
	pthread_mutex_lock(&rdma->gids_lock);
	was = rdma->gids[RNIC_GID_LINK_LOCAL].entry;
	rc = gids_follow(dev, dev->mac, was.mac);
	if (rc == 0 && !gid_same(&was.gid, &own)) {
		rnic_neigh_del(dev, was.gid.raw, 0);
		rnic_neigh_add(dev, own.raw, 0, true);
	}
	if (rc == 0)
		rnic_neigh_follow_mac(dev);
	pthread_mutex_unlock(&rdma->gids_lock);
	if (rc == 0)
		rnic_rdma_port_event(dev, RDMAPMD_EVENT_GID_CHANGE);
	return rc;
}

static int
set_own(struct rnic_dev *dev)
{
	const union rdmapmd_gid own = link_local(dev->mac);
	uint32_t index;
	unsigned int i;
	int rc = gid_add(dev, &own, 0, &index, rnic_cmd_try);

	for (i = 0; i < dev->args.ip_count && rc == 0; i++) {
		union rdmapmd_gid gid;

		memcpy(gid.raw, dev->args.ip[i], sizeof(gid.raw));
		rc = gid_add(dev, &gid, 0, &index, rnic_cmd_try);
		/* The link-local one, said once more. */
		if (rc == -EEXIST)
			rc = 0;
		if (rc == -ENOSPC)
			RNIC_LOG(ERR, dev, "ip=: the device has room for %u addresses",
				 rnic_gid_count(dev));
	}
	return rc;
}

/*
 * Of a refusal: who has given the port addresses is told; others have a port without RDMA, as with Linux, where mlx5_ib has
 * no device then and mlx5e has one.
 */
static int
do_without(struct rnic_dev *dev, int rc)
{
	if (dev->args.ip_count > 0 || !rnic_cmd_refused(rc)) {
		RNIC_LOG(ERR, dev, "the port's RoCE addresses cannot be set: %s", strerror(-rc));
		return rc;
	}
	RNIC_LOG(WARNING, dev, "no RDMA: the device refuses RoCE to this function (%s)",
		 strerror(-rc));
	dev->rdma->refused = true;
	return 0;
}

int
rnic_gids_setup(struct rnic_dev *dev)
{
	const uint32_t count = dev->rdma != NULL ? rnic_gid_count(dev) : 0;
	int rc;

	if (count == 0 && dev->args.ip_count > 0) {
		RNIC_LOG(ERR, dev, "ip= is for devices with RoCE, which this one does not have");
		return -ENOTSUP;
	}
	if (count == 0)
		return 0;
	dev->rdma->gids = calloc(count, sizeof(dev->rdma->gids[0]));
	if (dev->rdma->gids == NULL)
		return -ENOMEM;
	pthread_mutex_init(&dev->rdma->gids_lock, NULL);
	rc = rnic_neigh_setup(dev, count, &neigh_above);
	if (rc == 0)
		rc = rnic_port_set_roce(dev, true);
	if (rc == 0)
		rc = set_own(dev);
	if (rc == 0) {
		rnic_port_on_mac(dev, rnic_gids_follow_mac);
		return 0;
	}
	rnic_gids_down(dev);
	return do_without(dev, rc);
}

void
rnic_gids_down(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	uint32_t i;

	if (rdma == NULL || rdma->gids == NULL)
		return;
	rnic_port_on_mac(dev, NULL);
	rnic_neigh_down(dev);
	for (i = 0; i < rnic_gid_count(dev); i++)
		if (!gid_same(&rdma->gids[i].entry.gid, &no_gid))
			gid_clear(dev, i);
	rnic_port_set_roce(dev, false);
	pthread_mutex_destroy(&rdma->gids_lock);
	free(rdma->gids);
	rdma->gids = NULL;
}
