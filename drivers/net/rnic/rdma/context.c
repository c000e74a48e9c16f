/* SPDX-License-Identifier: BSD-3-Clause */

/* RDMA on a device: what it needs of its own, and what the device says of itself (PRM: "HCA Capabilities"). */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_memory.h>

#include "base/log.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/event.h"
#include "core/health.h"
#include "core/timestamp.h"
#include "neigh/neigh.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "prm/caps.h"
#include "prm/qp.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "rdma/ah.h"
#include "rdma/context.h"
#include "rdma/cq.h"
#include "rdma/event.h"
#include "rdma/gid.h"
#include "rdma/modify.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/path.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/qp.h"
#include "rdma/raw.h"
#include "rdma/rdma.h"
#include "rdma/srq.h"
#include "rdma/td.h"
#include "rdma/vector.h"

#define SEND_WQE_OVERHEAD (3 * RNIC_WQE_DS_BYTES)
#define LOG_MAX_MR_BYTES \
	40 /* of pages of 4 KiB, at worst: the list of them is a command's length */
#define ATOMIC_OPERATIONS (RNIC_ATOMIC_COMPARE_SWAP | RNIC_ATOMIC_FETCH_ADD)
#define PORTS		  RNIC_RDMA_PORT
#define PKEYS		  1 /* RoCE has one, the default */
#define DEFAULT_PKEY	  0xffff

/* ---- Bring-up ---- */

bool
rnic_rdma_supported(const struct rnic_dev *dev)
{
	return rnic_general_cap(dev, RNIC_GENERAL_CAP_ROCE) &&
	       rnic_general_cap(dev, RNIC_GENERAL_CAP_RC);
}

/* ---- Life ---- */

static int
make_kinds(struct rnic_rdma *rdma)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(rdma->kinds); i++) {
		rdma->kinds[i] = calloc(RNIC_RDMA_KINDS, sizeof(rdma->kinds[i][0]));
		if (rdma->kinds[i] == NULL)
			return -ENOMEM;
		rnic_rdma_kinds_init(rdma->kinds[i], i);
	}
	return 0;
}

/* Of a refusal: who has given the port addresses is told; others have a port without RDMA. */
static int
do_without_eqs(struct rnic_dev *dev, int rc, bool refused)
{
	if (dev->args.ip_count > 0 || !refused) {
		RNIC_LOG(ERR, dev, "RDMA's event queues cannot be made: %s", strerror(-rc));
		return rc;
	}
	RNIC_LOG(WARNING, dev, "no RDMA: the device refuses event queues for it (%s)",
		 strerror(-rc));
	return 0;
}

int
rnic_rdma_setup(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma;
	bool refused;
	int rc;

	if (!rnic_rdma_supported(dev))
		return 0;
	rdma = calloc(1, sizeof(*rdma));
	if (rdma == NULL)
		return -ENOMEM;
	pthread_mutex_init(&rdma->lock, NULL);
	pthread_mutex_init(&rdma->vectors_lock, NULL);
	rdma->epoll_fd = -1;
	dev->rdma = rdma;
	rnic_on_lost(dev, RNIC_LOST_RDMA, rnic_rdma_lost, dev);
	rnic_on_event(dev, rnic_rdma_on_event, dev);
	rc = make_kinds(rdma);
	if (rc == 0)
		rc = rdmapmd_table_create(&rdma->cqs);
	if (rc != 0)
		goto fail;
	rc = rnic_rdma_vectors_setup(dev, &refused);
	if (rc != 0) {
		rnic_rdma_teardown(dev);
		return do_without_eqs(dev, rc, refused);
	}
	rc = rnic_q_counters_setup(dev);
	if (rc != 0)
		goto fail;
	rnic_control_add(dev, RNIC_CONTROL_RDMA, &rnic_rdma_source);
	return 0;

fail:
	rnic_rdma_teardown(dev);
	return rc;
}

void
rnic_rdma_teardown(struct rnic_dev *dev)
{
	struct rnic_rdma *rdma = dev->rdma;
	unsigned int i;

	if (rdma == NULL)
		return;
	/* The control thread has ended, which walked them. */
	rnic_control_remove(dev, RNIC_CONTROL_RDMA);
	rnic_neigh_free(dev);
	rnic_q_counters_teardown(dev);
	rnic_rdma_vectors_teardown(dev);
	if (rdmapmd_table_destroy(rdma->cqs) != 0)
		RNIC_LOG(ERR, dev, "%u completion queues are still in use",
			 rdmapmd_table_count(rdma->cqs));
	for (i = 0; i < RTE_DIM(rdma->kinds); i++)
		free(rdma->kinds[i]);
	rnic_rdma_mws_free(rdma);
	/* The control thread has ended, and no other one is left that could find the device lost. */
	rnic_on_event(dev, NULL, NULL);
	rnic_on_lost(dev, RNIC_LOST_RDMA, NULL, NULL);
	pthread_mutex_destroy(&rdma->vectors_lock);
	pthread_mutex_destroy(&rdma->lock);
	dev->rdma = NULL;
	free(rdma);
}

/* ---- What it can do ---- */

static uint32_t
cap_power(const struct rnic_dev *dev, enum rnic_general_cap_field log)
{
	return UINT32_C(1) << RTE_MIN(rnic_general_cap(dev, log), UINT64_C(31));
}

static enum rdmapmd_atomic_cap
atomic_cap(const struct rnic_dev *dev)
{
	const struct rnic_atomic_cap *atomic = &dev->caps.atomic;
	const uint64_t operations = rnic_atomic_cap_get(atomic, RNIC_ATOMIC_CAP_ATOMIC_OPERATIONS);

	/* Bit n of the sizes: 2^n bytes. 8 are what work requests can say, in the host's byte order. */
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ATOMIC) ||
	    !(rnic_atomic_cap_get(atomic, RNIC_ATOMIC_CAP_ATOMIC_SIZE_QP) & sizeof(uint64_t)) ||
	    (operations & ATOMIC_OPERATIONS) != ATOMIC_OPERATIONS ||
	    rnic_atomic_cap_get(atomic, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE) !=
		    RNIC_ATOMIC_HOST_ENDIAN)
		return RDMAPMD_ATOMIC_NONE;
	return RDMAPMD_ATOMIC_HCA;
}

static void
queue_limits(const struct rnic_dev *dev, struct rdmapmd_device_attr *attr)
{
	const uint32_t sq_bytes = (uint32_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_WQE_SZ_SQ);
	const uint32_t rq_bytes = (uint32_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_WQE_SZ_RQ);
	const uint32_t sq_segments = RTE_MIN(sq_bytes / RNIC_WQE_DS_BYTES, RNIC_WQE_DS_MAX + 0u);

	attr->max_qp = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_QP);
	attr->max_qp_wr = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_QP_SZ);
	attr->max_send_wqebb = attr->max_qp_wr;
	attr->max_sq_desc_sz = sq_bytes;
	attr->max_rq_desc_sz = rq_bytes;
	attr->max_send_sge =
		sq_segments - RTE_MIN(sq_segments, SEND_WQE_OVERHEAD / RNIC_WQE_DS_BYTES + 0u);
	attr->max_sge_rd = attr->max_send_sge;
	attr->max_recv_sge = rq_bytes / RNIC_WQE_DS_BYTES;
	attr->max_qp_rd_atom = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_RA_RES_QP);
	attr->max_qp_init_rd_atom = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_RA_REQ_QP);
	attr->max_cq = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_CQ);
	attr->max_cqe = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ) - 1;
	attr->max_srq = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_SRQ);
	attr->max_srq_wr = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_SRQ_SZ) - 1;
	/* One segment of its WQEs is the link to the next. */
	attr->max_srq_sge = attr->max_recv_sge - RTE_MIN(attr->max_recv_sge, 1u);
}

/* Of products that no 32 bits hold. */
static uint32_t
cap_product(uint64_t a, uint64_t b)
{
	return (uint32_t)RTE_MIN(a * b, (uint64_t)UINT32_MAX);
}

static void
datagram_limits(const struct rnic_dev *dev, struct rdmapmd_device_attr *attr)
{
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_UD))
		return;
	attr->max_ah = INT32_MAX;
	attr->max_mcast_qp_attach = (uint32_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_QP_MCG);
	if (attr->max_mcast_qp_attach > 0)
		attr->max_mcast_grp = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_MCG);
	attr->max_total_mcast_qp_attach =
		cap_product(attr->max_mcast_grp, attr->max_mcast_qp_attach);
}

static uint32_t
cap_flags(const struct rnic_dev *dev)
{
	static const struct {
		enum rnic_general_cap_field field;
		uint32_t flags;
	} rows[] = {
		{ RNIC_GENERAL_CAP_PKV, RDMAPMD_DEVICE_BAD_PKEY_CNTR },
		{ RNIC_GENERAL_CAP_QKV, RDMAPMD_DEVICE_BAD_QKEY_CNTR },
		{ RNIC_GENERAL_CAP_IMAICL,
		  RDMAPMD_DEVICE_MEM_WINDOW | RDMAPMD_DEVICE_MEM_WINDOW_TYPE_2B },
		{ RNIC_GENERAL_CAP_BLOCK_LB_MC, RDMAPMD_DEVICE_BLOCK_MULTICAST_LOOPBACK },
	};
	uint32_t flags = RDMAPMD_DEVICE_CURR_QP_STATE_MOD | RDMAPMD_DEVICE_PORT_ACTIVE_EVENT |
			 RDMAPMD_DEVICE_RC_RNR_NAK_GEN;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++)
		if (rnic_general_cap(dev, rows[i].field))
			flags |= rows[i].flags;
	if (dev->system_image_guid != 0)
		flags |= RDMAPMD_DEVICE_SYS_IMAGE_GUID;
	return flags;
}

/* Of the free running clock, in the completions of queue pairs and of RAW_PACKET's queues. */
static bool
has_timestamps(const struct rnic_dev *dev)
{
	return rnic_general_cap(dev, RNIC_GENERAL_CAP_DEVICE_FREQUENCY_KHZ) != 0 &&
	       rnic_roce_cap_get(&dev->caps.roce, RNIC_ROCE_CAP_QP_TS_FORMAT) !=
		       RNIC_TS_CAP_REAL_TIME &&
	       rnic_general_cap(dev, RNIC_GENERAL_CAP_SQ_TS_FORMAT) != RNIC_TS_CAP_REAL_TIME &&
	       rnic_general_cap(dev, RNIC_GENERAL_CAP_RQ_TS_FORMAT) != RNIC_TS_CAP_REAL_TIME;
}

static int
device_query(struct rdmapmd_context *context, struct rdmapmd_device_attr *attr)
{
	const struct rnic_dev *dev = rnic_rdma_dev(context);
	const struct rnic_pci_ids ids = dev->access->ops->pci_ids(dev->access);

	*attr = (struct rdmapmd_device_attr){
		.node_guid = dev->node_guid,
		.sys_image_guid = dev->system_image_guid,
		.max_mr_size = UINT64_C(1) << LOG_MAX_MR_BYTES,
		.page_size_cap = ~UINT64_C(0xfff),
		/* As much of it as Linux's mlx5_ib says. */
		.completion_timestamp_mask = has_timestamps(dev) ? INT64_MAX : 0,
		.vendor_id = dev->vendor_id,
		.vendor_part_id = ids.device,
		.hw_ver = ids.revision,
		.max_pd = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_PD),
		.max_mr = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_MKEY),
		.num_comp_vectors = dev->rdma->vector_count,
		.device_cap_flags = cap_flags(dev),
		.hca_core_clock =
			(uint32_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_DEVICE_FREQUENCY_KHZ),
		.atomic_cap = atomic_cap(dev),
		.max_pkeys = PKEYS,
		.local_ca_ack_delay =
			(uint8_t)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOCAL_CA_ACK_DELAY),
		.phys_port_cnt = PORTS,
	};
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", dev->fw_version);
	/* A window is a key of its own. */
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_IMAICL))
		attr->max_mw = attr->max_mr;
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_CQ_MODERATION)) {
		attr->max_cq_count = (uint32_t)rnic_field_mask(RNIC_CQC_CQ_MAX_COUNT);
		attr->max_cq_period = (uint32_t)rnic_field_mask(RNIC_CQC_CQ_PERIOD);
	}
	queue_limits(dev, attr);
	datagram_limits(dev, attr);
	attr->max_res_rd_atom = cap_product(attr->max_qp, attr->max_qp_rd_atom);
	return 0;
}

static enum rdmapmd_phys_state
phys_state(const struct rnic_port_info *port)
{
	if (port->up)
		return RDMAPMD_PHYS_STATE_LINK_UP;
	return port->off ? RDMAPMD_PHYS_STATE_DISABLED : RDMAPMD_PHYS_STATE_POLLING;
}

static int
port_query(struct rdmapmd_context *context, uint8_t port_num, struct rdmapmd_port_attr *attr)
{
	struct rnic_dev *dev = rnic_rdma_dev(context);
	struct rnic_port_info port;
	int rc = rnic_port_query(dev, &port);

	RTE_SET_USED(port_num);
	if (rc != 0)
		return rc;
	*attr = (struct rdmapmd_port_attr){
		.state = port.up ? RDMAPMD_PORT_ACTIVE : RDMAPMD_PORT_DOWN,
		.max_mtu = rnic_path_mtu(dev->max_mtu),
		.active_mtu = rnic_path_mtu(port.mtu),
		.phys_state = phys_state(&port),
		.link_layer = RDMAPMD_LINK_LAYER_ETHERNET,
		.active_speed = port.protocol.speed,
		.max_msg_sz = cap_power(dev, RNIC_GENERAL_CAP_LOG_MAX_MSG),
		.gid_tbl_len = rnic_gid_count(dev),
		.port_cap_flags = RDMAPMD_PORT_CAP_IP_BASED_GIDS,
		.qkey_viol_cntr = port.qkey_violations,
		.pkey_tbl_len = PKEYS,
		.active_width = port.protocol.lanes,
		.flags = RDMAPMD_PORT_GRH_REQUIRED,
	};
	memcpy(attr->mac, dev->mac, sizeof(attr->mac));
	return 0;
}

static int
pkey_query(struct rdmapmd_context *context, uint8_t port_num, uint16_t index, uint16_t *pkey)
{
	RTE_SET_USED(context);
	RTE_SET_USED(port_num);
	if (index >= PKEYS)
		return -EINVAL;
	*pkey = DEFAULT_PKEY;
	return 0;
}

static int
gid_query(struct rdmapmd_context *context, uint8_t port_num, uint32_t index,
	  struct rdmapmd_gid_entry *entry)
{
	RTE_SET_USED(port_num);
	return rnic_gid_query(rnic_rdma_dev(context), index, entry);
}

static int
gid_add(struct rdmapmd_context *context, uint8_t port_num, const union rdmapmd_gid *gid,
	uint16_t vlan_id, uint32_t *index)
{
	RTE_SET_USED(port_num);
	return rnic_gid_count(rnic_rdma_dev(context)) > 0
		       ? rnic_gid_add_vlan(rnic_rdma_dev(context), gid, vlan_id, index)
		       : -ENOSPC;
}

static int
gid_del(struct rdmapmd_context *context, uint8_t port_num, uint32_t index)
{
	RTE_SET_USED(port_num);
	return rnic_gid_del(rnic_rdma_dev(context), index);
}

static int
ah_resolve(struct rdmapmd_context *context, struct rdmapmd_ah_attr *ah, uint32_t timeout_ms)
{
	return rnic_gid_resolve(rnic_rdma_dev(context), ah, timeout_ms);
}

static int
clock_read(struct rdmapmd_context *context, uint64_t *clock)
{
	return rnic_clock_read(rnic_rdma_dev(context), false, clock);
}

static int
counters_read(struct rdmapmd_context *context, uint8_t port_num, uint64_t *values)
{
	RTE_SET_USED(port_num);
	return rnic_q_counters_read(rnic_rdma_dev(context), values);
}

/* A context needs the port up, whether the ethdev is started or not. What else it could have is the device's. */
static int
context_open(struct rdmapmd_context *context)
{
	struct rnic_dev *dev = rnic_rdma_dev(context);

	return atomic_load(&dev->dead) ? -EIO : rnic_port_use(dev);
}

static int
context_close(struct rdmapmd_context *context)
{
	RTE_SET_USED(context);
	return 0;
}

const struct rdmapmd_driver_ops rnic_rdma_ops = {
	.context_size = sizeof(struct rdmapmd_context),
	.pd_size = sizeof(struct rdmapmd_pd),
	.mr_size = sizeof(struct rdmapmd_mr),
	.cq_size = sizeof(struct rnic_rdma_cq),
	.qp_size = sizeof(struct rnic_rdma_qp),
	.srq_size = sizeof(struct rnic_rdma_srq),
	.td_size = sizeof(struct rnic_rdma_td),
	.ah_size = sizeof(struct rnic_rdma_ah),
	.mw_size = sizeof(struct rnic_rdma_mw),
	.context_open = context_open,
	.context_close = context_close,
	.device_query = device_query,
	.port_query = port_query,
	.gid_query = gid_query,
	.gid_add = gid_add,
	.gid_del = gid_del,
	.pkey_query = pkey_query,
	.resolve = ah_resolve,
	.clock_read = clock_read,
	.counters = rnic_q_counter_names,
	.counters_read = counters_read,
	.pd_alloc = rnic_rdma_pd_alloc,
	.pd_dealloc = rnic_rdma_pd_dealloc,
	.mr_reg = rnic_rdma_mr_reg,
	.mr_rereg = rnic_rdma_mr_rereg,
	.mr_dereg = rnic_rdma_mr_dereg,
	.mw_alloc = rnic_rdma_mw_alloc,
	.mw_free = rnic_rdma_mw_free,
	.mw_bind = rnic_rdma_mw_bind,
	.mw_bound = rnic_rdma_mw_bound,
	.cq_create = rnic_rdma_cq_create,
	.cq_resize = rnic_rdma_cq_resize,
	.cq_moderate = rnic_rdma_cq_moderate,
	.cq_destroy = rnic_rdma_cq_destroy,
	.qp_create = rnic_rdma_qp_create,
	.qp_modify = rnic_rdma_qp_modify,
	.qp_query = rnic_rdma_qp_query,
	.qp_destroy = rnic_rdma_qp_destroy,
	.qp_attach_mac = rnic_rdma_raw_attach_mac,
	.qp_detach_mac = rnic_rdma_raw_detach_mac,
	.qp_outstanding = rnic_rdma_qp_outstanding,
	.srq_create = rnic_rdma_srq_create,
	.srq_arm = rnic_rdma_srq_arm,
	.srq_query = rnic_rdma_srq_query,
	.srq_destroy = rnic_rdma_srq_destroy,
	.ah_create = rnic_rdma_ah_create,
	.ah_destroy = rnic_rdma_ah_destroy,
	.mcast_attach = rnic_rdma_mcast_attach,
	.mcast_detach = rnic_rdma_mcast_detach,
	.td_alloc = rnic_rdma_td_alloc,
	.td_dealloc = rnic_rdma_td_dealloc,
};
