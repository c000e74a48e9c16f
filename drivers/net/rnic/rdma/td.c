/* SPDX-License-Identifier: BSD-3-Clause */

/* Thread domains: a doorbell register, which the queue pairs of the domain ring. */

#include "rdma/rdma.h"

#include "core/bfreg.h"
#include "core/uar.h"
#include "rdma/td.h"
#include "rdmapmd_driver.h"

int
rnic_rdma_td_alloc(struct rdmapmd_td *head)
{
	struct rnic_rdma_td *td = (struct rnic_rdma_td *)head;

	td->bf = rnic_bfreg_alloc(rnic_rdma_dev(head->context), RNIC_BFREG_DYNAMIC);
	head->dedicated = td->bf->kind != RNIC_BFREG_SHARED;
	return 0;
}

int
rnic_rdma_td_dealloc(struct rdmapmd_td *head)
{
	return rnic_bfreg_free(rnic_rdma_dev(head->context), ((struct rnic_rdma_td *)head)->bf);
}
