/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains and memory regions. */
#ifndef RNIC_RDMA_MR_H
#define RNIC_RDMA_MR_H

struct rdmapmd_mr;
struct rdmapmd_mr_attr;
struct rdmapmd_pd;

int rnic_rdma_pd_alloc(struct rdmapmd_pd *pd);
int rnic_rdma_pd_dealloc(struct rdmapmd_pd *pd);
int rnic_rdma_mr_reg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
int rnic_rdma_mr_rereg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
int rnic_rdma_mr_dereg(struct rdmapmd_mr *mr);

#endif
