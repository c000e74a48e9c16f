/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains, and memory regions on the table of memory keys. */

#include <errno.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/mkey.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "rdma/mr.h"
#include "rdma/rdma.h"

_Static_assert((int)RNIC_MKEY_LOCAL_WRITE == RDMAPMD_ACCESS_LOCAL_WRITE &&
		       (int)RNIC_MKEY_REMOTE_WRITE == RDMAPMD_ACCESS_REMOTE_WRITE &&
		       (int)RNIC_MKEY_REMOTE_READ == RDMAPMD_ACCESS_REMOTE_READ &&
		       (int)RNIC_MKEY_REMOTE_ATOMIC == RDMAPMD_ACCESS_REMOTE_ATOMIC,
	       "the same bits");
#define KEY_ACCESS                                                                               \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)

int
rnic_rdma_pd_alloc(struct rdmapmd_pd *pd)
{
	return rnic_cmd_alloc(rnic_rdma_dev(pd->context), RNIC_CMD_ALLOC_PD, &pd->pdn);
}

int
rnic_rdma_pd_dealloc(struct rdmapmd_pd *pd)
{
	return rnic_cmd_destroy(rnic_rdma_dev(pd->context), RNIC_CMD_DEALLOC_PD, pd->pdn);
}

/* A device without one of the two refuses a key that asks for it. */
static unsigned int
relaxed_access(const struct rnic_dev *dev, uint32_t access)
{
	if (!(access & RDMAPMD_ACCESS_RELAXED_ORDERING))
		return 0;
	return (rnic_general_cap(dev, RNIC_GENERAL_CAP_RELAXED_ORDERING_WRITE)
			? RNIC_MKEY_RELAXED_WRITE
			: 0u) |
	       (rnic_general_cap(dev, RNIC_GENERAL_CAP_RELAXED_ORDERING_READ)
			? RNIC_MKEY_RELAXED_READ
			: 0u);
}

static int
create_key(struct rnic_dev *dev, const struct rdmapmd_mr_attr *attr, uint32_t *key)
{
	const struct rnic_mkey_attr key_attr = {
		.memory = attr->addr,
		.length = attr->length,
		.address = attr->iova,
		.pd = attr->pd->pdn,
		.access = (attr->access & KEY_ACCESS) | relaxed_access(dev, attr->access),
	};

	return rnic_mkey_create(dev, &key_attr, key);
}

int
rnic_rdma_mr_reg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	uint32_t key;
	int rc = create_key(rnic_rdma_dev(mr->context), attr, &key);

	if (rc == 0)
		mr->lkey = mr->rkey = key;
	return rc;
}

/* The new key first: if there is none, the old one is as it was. */
int
rnic_rdma_mr_rereg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	struct rnic_dev *dev = rnic_rdma_dev(mr->context);
	uint32_t key;
	int rc = create_key(dev, attr, &key);

	if (rc != 0)
		return rc;
	rc = rnic_mkey_destroy(dev, mr->lkey);
	if (rc != 0)
		/* The device keeps a key of memory that it can no longer reach: unmapped all the same. */
		RNIC_LOG(WARNING, dev, "cannot destroy memory key 0x%x: error %d", mr->lkey, -rc);
	mr->lkey = mr->rkey = key;
	return 0;
}

int
rnic_rdma_mr_dereg(struct rdmapmd_mr *mr)
{
	return rnic_mkey_destroy(rnic_rdma_dev(mr->context), mr->lkey);
}
