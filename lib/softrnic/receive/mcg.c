/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Groups: ATTACH_TO_MCG and DETACH_FROM_MCG. A group is an address and the queue pairs that are in it; it is there as long as
 * somebody is in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prm/qp.h"
#include "softrnic/base/command.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/random.h"
#include "softrnic/base/work.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/receive/qp.h"

#define BUCKETS 512u

struct softrnic_mcgs {
	LIST_HEAD(, softrnic_mcg) buckets[BUCKETS];
};

/* ---- Addresses ---- */

/* ff00::/8, or 224.0.0.0/4 of IPv4. */
static bool
mcg_is_group(const uint8_t gid[16])
{
	return rnic_gid_is_ipv4(gid) ? (gid[12] & 0xf0) == 0xe0 : gid[0] == 0xff;
}

/* The MAC address that frames to a group have (RFC 1112, RFC 2464). */
static void
mcg_mac(const uint8_t gid[16], uint8_t mac[6])
{
	if (rnic_gid_is_ipv4(gid)) {
		memcpy(mac, "\x01\x00\x5e", 3);
		memcpy(mac + 3, gid + 13, 3);
		mac[3] &= 0x7f;
	} else {
		memset(mac, 0x33, 2);
		memcpy(mac + 2, gid + 12, 4);
	}
}

static uint32_t
mcg_bucket(const uint8_t gid[16])
{
	uint64_t high, low;

	memcpy(&high, gid, sizeof(high));
	memcpy(&low, gid + sizeof(high), sizeof(low));
	high ^= softrnic_splitmix64(&low);
	return softrnic_splitmix64(&high) % BUCKETS;
}

static struct softrnic_mcg *
mcg_find(const struct softrnic *dev, const uint8_t gid[16])
{
	struct softrnic_mcg *group;

	LIST_FOREACH(group, &dev->mcgs->buckets[mcg_bucket(gid)], link) {
		if (memcmp(group->gid, gid, sizeof(group->gid)) == 0)
			break;
	}
	return group;
}

const struct softrnic_mcg *
softrnic_mcg_find(const struct softrnic *dev, const uint8_t gid[16])
{
	return mcg_find(dev, gid);
}

bool
softrnic_mcg_takes(const struct softrnic *dev, const struct rocev2_frame *head)
{
	uint8_t mac[6];

	if (dev->mcg_count == 0 || mcg_find(dev, head->dgid) == NULL)
		return false;
	mcg_mac(head->dgid, mac);
	return memcmp(head->dmac, mac, sizeof(mac)) == 0;
}

/* ---- Members ---- */

static struct softrnic_mcg_member *
mcg_member(const struct softrnic_mcg *group, const struct softrnic_qp *qp)
{
	struct softrnic_mcg_member *member;

	LIST_FOREACH(member, &group->members, group_link) {
		if (member->qp == qp)
			break;
	}
	return member;
}

static struct softrnic_mcg *
mcg_create(struct softrnic *dev, const uint8_t gid[16])
{
	struct softrnic_mcg *group = softrnic_alloc(dev, 1, sizeof(*group));

	if (group == NULL)
		return NULL;
	memcpy(group->gid, gid, sizeof(group->gid));
	LIST_INIT(&group->members);
	LIST_INSERT_HEAD(&dev->mcgs->buckets[mcg_bucket(gid)], group, link);
	dev->mcg_count++;
	/* Who sends to it has to ask again where that is. */
	softrnic_roce_changed(dev);
	return group;
}

/* If nobody is in it, there is no group. */
static void
mcg_release(struct softrnic *dev, struct softrnic_mcg *group)
{
	if (group->count > 0)
		return;
	LIST_REMOVE(group, link);
	softrnic_free(dev, group);
	dev->mcg_count--;
	softrnic_roce_changed(dev);
}

static int
mcg_join(struct softrnic *dev, struct softrnic_mcg *group, struct softrnic_qp *qp)
{
	struct softrnic_mcg_member *member;

	if (group->count == SOFTRNIC_MAX_QP_MCG)
		return RNIC_STATUS_LIM;
	member = softrnic_alloc(dev, 1, sizeof(*member));
	if (member == NULL)
		return RNIC_STATUS_NO_RES;
	*member = (struct softrnic_mcg_member){ .group = group, .qp = qp };
	LIST_INSERT_HEAD(&group->members, member, group_link);
	LIST_INSERT_HEAD(&qp->groups, member, qp_link);
	group->count++;
	qp->object.refs++;
	return RNIC_STATUS_OK;
}

static void
mcg_part(struct softrnic *dev, struct softrnic_mcg_member *member)
{
	struct softrnic_mcg *group = member->group;

	LIST_REMOVE(member, group_link);
	LIST_REMOVE(member, qp_link);
	member->qp->object.refs--;
	softrnic_free(dev, member);
	group->count--;
	mcg_release(dev, group);
}

void
softrnic_mcg_leave(struct softrnic *dev, struct softrnic_qp *qp)
{
	while (!LIST_EMPTY(&qp->groups)) {
		mcg_part(dev, LIST_FIRST(&qp->groups));
		softrnic_spend(dev, 1);
	}
}

int
softrnic_mcgs_init(struct softrnic *dev)
{
	dev->mcgs = calloc(1, sizeof(*dev->mcgs));
	return dev->mcgs != NULL ? 0 : -ENOMEM;
}

void
softrnic_mcgs_fini(struct softrnic *dev)
{
	free(dev->mcgs);
	dev->mcgs = NULL;
}

/* ---- Commands ---- */

static void
mcg_gid_of_command(const struct softrnic_cmd *cmd, uint8_t gid[16])
{
	const struct rnic_mcg_in *in = cmd->in;
	const struct rnic_be64 half[2] = {
		rnic_cpu_to_be64(rnic_mcg_in_get(in, RNIC_MCG_IN_MULTICAST_GID_0)),
		rnic_cpu_to_be64(rnic_mcg_in_get(in, RNIC_MCG_IN_MULTICAST_GID_1)),
	};

	memcpy(gid, half, sizeof(half));
}

static struct softrnic_qp *
mcg_qp_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_QP,
				    (uint32_t)rnic_mcg_in_get(cmd->in, RNIC_MCG_IN_QPN));
}

/* Who is in it already stays in it, once. */
SOFTRNIC_CMD(attach_to_mcg)
{
	struct softrnic_qp *qp = mcg_qp_of_command(dev, cmd);
	struct softrnic_mcg *group;
	uint8_t gid[16];
	int status;

	mcg_gid_of_command(cmd, gid);
	cmd->syndrome = 0x806001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x806002;
	if (qp->type != SOFTRNIC_QP_UD)
		return softrnic_refuse(dev, cmd, "groups are of queue pairs of datagrams");
	if (!mcg_is_group(gid))
		return softrnic_refuse(dev, cmd, "it is no group's address");
	cmd->syndrome = 0x806003;
	group = mcg_find(dev, gid);
	if (group != NULL && mcg_member(group, qp) != NULL)
		return RNIC_STATUS_OK;
	if (group == NULL && dev->mcg_count == 1u << SOFTRNIC_LOG_MAX_MCG)
		return RNIC_STATUS_LIM;
	if (group == NULL)
		group = mcg_create(dev, gid);
	if (group == NULL)
		return RNIC_STATUS_NO_RES;
	status = mcg_join(dev, group, qp);
	mcg_release(dev, group);
	return status;
}

SOFTRNIC_CMD(detach_from_mcg)
{
	struct softrnic_qp *qp = mcg_qp_of_command(dev, cmd);
	struct softrnic_mcg_member *member = NULL;
	const struct softrnic_mcg *group;
	uint8_t gid[16];

	mcg_gid_of_command(cmd, gid);
	cmd->syndrome = 0x807001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x807002;
	group = mcg_find(dev, gid);
	if (group != NULL)
		member = mcg_member(group, qp);
	if (member == NULL)
		return RNIC_STATUS_BAD_RES;
	mcg_part(dev, member);
	return RNIC_STATUS_OK;
}
