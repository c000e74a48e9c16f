/* SPDX-License-Identifier: BSD-3-Clause */

/* Address handles, and the groups of datagrams (PRM: "Datagram Segment", "ATTACH_TO_MCG"). */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "core/cmd.h"
#include "core/dev.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/qp.h"
#include "prm/wqe.h"
#include "rdma/ah.h"
#include "rdma/gid.h"
#include "rdma/path.h"
#include "rdma/rdma.h"

/* The priority of a RoCE packet stands above a bit that is 0, as with Linux: create_ib_ah(). */
#define PRIORITY_SHIFT 1

/* Flows between the same two ports differ in their source port, by what they are told apart by. */
static uint32_t
flow_of(const struct rdmapmd_ah_attr *attr)
{
	uint32_t words[4];

	if (attr->flow_label != 0)
		return attr->flow_label;
	memcpy(words, attr->dgid.raw, sizeof(words));
	return words[0] ^ words[1] ^ words[2] ^ words[3];
}

static void
fill_vector(const struct rnic_dev *dev, const struct rdmapmd_ah_attr *attr,
	    struct rnic_wqe_av *vector)
{
	*vector = (struct rnic_wqe_av){
		.dqp = RNIC_BE32(RNIC_WQE_AV_EXTENDED),
		.stat_rate_sl = (uint8_t)(attr->sl << PRIORITY_SHIFT),
		.udp_sport = rnic_cpu_to_be16(rnic_path_source_port(dev, flow_of(attr))),
		.tclass = attr->traffic_class,
		.hop_limit = attr->hop_limit,
		.grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH |
					       (uint32_t)attr->sgid_index << RNIC_WQE_AV_GID_SHIFT |
					       attr->flow_label),
	};
	memcpy(vector->rmac, attr->dmac, sizeof(vector->rmac));
	memcpy(vector->rgid, attr->dgid.raw, sizeof(vector->rgid));
}

int
rnic_rdma_ah_create(struct rdmapmd_ah *head, const struct rdmapmd_ah_attr *attr)
{
	struct rnic_rdma_ah *ah = (struct rnic_rdma_ah *)head;
	struct rnic_dev *dev = rnic_rdma_dev(head->context);
	int rc = rnic_gid_hold(dev, attr->sgid_index);

	if (rc != 0)
		return rc;
	ah->source = attr->sgid_index;
	fill_vector(dev, attr, &ah->vector);
	return 0;
}

int
rnic_rdma_ah_destroy(struct rdmapmd_ah *head)
{
	rnic_gid_drop(rnic_rdma_dev(head->context), ((struct rnic_rdma_ah *)head)->source);
	return 0;
}

/* ---- Groups ---- */

static int
group_command(struct rnic_dev *dev, uint16_t opcode, uint32_t qpn, const union rdmapmd_gid *gid)
{
	struct rnic_mcg_in in = { 0 };
	struct rnic_be64 words[2];

	memcpy(words, gid->raw, sizeof(words));
	rnic_mcg_in_set(&in, RNIC_MCG_IN_QPN, qpn);
	rnic_mcg_in_set(&in, RNIC_MCG_IN_MULTICAST_GID_0, rnic_be64_to_cpu(words[0]));
	rnic_mcg_in_set(&in, RNIC_MCG_IN_MULTICAST_GID_1, rnic_be64_to_cpu(words[1]));
	return rnic_cmd_exec_in(dev, opcode, 0, &in, sizeof(in));
}

int
rnic_rdma_mcast_attach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	struct rnic_dev *dev = rnic_rdma_dev(qp->context);
	uint8_t mac[6];
	int rc;

	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_MAX_QP_MCG) == 0)
		return -ENOTSUP;
	/*
	 * Where functions share a port, a switch may let in what the vport has asked for: Linux's RDMA CM has the netdev join
	 * first. Without one a group's datagrams pass by their address alone, and Linux's mlx5_ib joins with the command alone.
	 */
	rdmapmd_gid_multicast_mac(gid, mac);
	rc = rnic_port_add_group(dev, mac);
	if (rc != 0)
		return rc;
	rc = group_command(dev, RNIC_CMD_ATTACH_TO_MCG, qp->qp_num, gid);
	if (rc != 0)
		rnic_port_del_group(dev, mac);
	return rc;
}

int
rnic_rdma_mcast_detach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	struct rnic_dev *dev = rnic_rdma_dev(qp->context);
	uint8_t mac[6];
	int rc = group_command(dev, RNIC_CMD_DETACH_FROM_MCG, qp->qp_num, gid), mac_rc;

	rdmapmd_gid_multicast_mac(gid, mac);
	mac_rc = rnic_port_del_group(dev, mac);
	return rc != 0 ? rc : mac_rc;
}
