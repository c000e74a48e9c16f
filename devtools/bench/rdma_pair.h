/* SPDX-License-Identifier: BSD-3-Clause */

/* What rdma_bench and rdma_instr share: queue pairs between two devices, or a device and itself, ready to send. */
#ifndef RDMA_PAIR_H
#define RDMA_PAIR_H

#include <rdmapmd.h>

#define RDMA_PAIR_DEPTH	  128 /* send requests of each queue pair */
#define RDMA_PAIR_SIGNALS 32  /* the longest way between two signaled ones */

struct rdma_end {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq; /* of all its queue pairs */
	struct rdmapmd_mr *mr;
	struct rdmapmd_ah *ah; /* the way to the other end, for datagrams */
	uint8_t *memory;
	struct rdmapmd_qp **qps;
	uint32_t max_inline;
	struct rte_mempool *pool; /* of the port, which was started for its MTU; NULL: it was not */
	uint16_t port;
};

struct rdma_pair_attr {
	enum rdmapmd_qp_type type; /* RC, or UD: of its one queue pair the other end is the peer */
	unsigned int qps;	   /* at each end */
	unsigned int receives;	   /* requests that each queue pair has room for */
	size_t bytes;		   /* of each end's memory */
	uint16_t mtu;		   /* of the ports; 0: as it is */
};

#define RDMA_PAIR_QKEY 0x11111111

struct rdma_pair {
	struct rdma_end ends[2];
};

/* Both names may be the same. 0, or -errno with a line on stderr. */
int rdma_pair_open(struct rdma_pair *pair, const char *const names[2],
		   const struct rdma_pair_attr *attr);
int rdma_pair_close(struct rdma_pair *pair);

#endif
