/* SPDX-License-Identifier: BSD-3-Clause */

/* A connection in one call: by the public calls alone. */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "device_private.h"
#include "log_private.h"
#include "rdmapmd_connect.h"
#include "rdmapmd_qp.h"

#define PORT	      1
#define HOP_LIMIT     64
#define RD_ATOMIC     16
#define MIN_RNR_TIMER 12
#define TIMEOUT	      14
#define RETRIES	      7

/* What RC needs beyond UC. */
#define RC_RTR (RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER)
#define RC_RTS                                                              \
	(RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY | \
	 RDMAPMD_QP_MAX_QP_RD_ATOMIC)

static uint8_t
value_or(uint8_t value, uint32_t otherwise)
{
	return value == RDMAPMD_CONNECT_NONE ? 0 : value != 0 ? value : (uint8_t)otherwise;
}

static uint32_t
at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static bool
is_link_local(const union rdmapmd_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Where the path begins. 0 if there is nothing better: the path is looked at once more. */
static uint8_t
source_index(struct rdmapmd_context *context, const struct rdmapmd_ah_attr *path,
	     uint32_t gid_tbl_len)
{
	struct rdmapmd_gid_entry own;
	uint32_t i, found = 0;
	bool has_one = false;

	for (i = 0; i < gid_tbl_len && i <= UINT8_MAX; i++) {
		if (rdmapmd_gid_query(context, path->port_num, i, &own) != 0 || own.vlan_id != 0 ||
		    rdmapmd_gid_is_ipv4(&own.gid) != rdmapmd_gid_is_ipv4(&path->dgid))
			continue;
		if (is_link_local(&own.gid) == is_link_local(&path->dgid))
			return (uint8_t)i;
		if (!has_one)
			found = i;
		has_one = true;
	}
	return (uint8_t)found;
}

static int
attr_fill(struct rdmapmd_qp *qp, const struct rdmapmd_qp_peer *peer,
	  const struct rdmapmd_qp_connect_opts *opts, struct rdmapmd_qp_attr *attr)
{
	struct rdmapmd_device_attr device;
	struct rdmapmd_port_attr port;
	int rc = rdmapmd_device_query(qp->context, &device);

	*attr = (struct rdmapmd_qp_attr){
		.port_num = opts->path.port_num != 0 ? opts->path.port_num : PORT,
		.pkey_index = opts->pkey_index,
		.qp_access_flags = opts->qp_access_flags,
		.ah_attr = opts->path,
		.dest_qp_num = peer->qp_num,
		.rq_psn = peer->psn,
		.sq_psn = opts->psn,
		.min_rnr_timer = value_or(opts->min_rnr_timer, MIN_RNR_TIMER),
		.timeout = value_or(opts->timeout, TIMEOUT),
		.retry_cnt = value_or(opts->retry_cnt, RETRIES),
		.rnr_retry = value_or(opts->rnr_retry, RETRIES),
	};
	if (rc == 0)
		rc = rdmapmd_port_query(qp->context, attr->port_num, &port);
	if (rc != 0)
		return rc;
	/* One that is none is not taken, and is named, by the change to RTR. */
	attr->path_mtu = peer->mtu;
	if (peer->mtu == 0 || (rdmapmd_mtu_bytes(peer->mtu) != 0 && peer->mtu > port.active_mtu))
		attr->path_mtu = port.active_mtu;
	attr->max_dest_rd_atomic =
		value_or(opts->max_dest_rd_atomic, at_most(RD_ATOMIC, device.max_qp_rd_atom));
	attr->max_rd_atomic =
		value_or(opts->max_rd_atomic, at_most(RD_ATOMIC, device.max_qp_init_rd_atom));
	attr->ah_attr.dgid = peer->gid;
	attr->ah_attr.port_num = attr->port_num;
	if (attr->ah_attr.hop_limit == 0)
		attr->ah_attr.hop_limit = HOP_LIMIT;
	if (attr->ah_attr.sgid_index == 0)
		attr->ah_attr.sgid_index =
			source_index(qp->context, &attr->ah_attr, port.gid_tbl_len);
	return 0;
}

static int
state_step(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr, enum rdmapmd_qp_state state,
	   unsigned int mask)
{
	attr->qp_state = state;
	return rdmapmd_qp_modify(qp, attr, RDMAPMD_QP_STATE | mask);
}

static int
connect_by(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr)
{
	const bool rc_type = qp->qp_type == RDMAPMD_QPT_RC;
	int rc = state_step(qp, attr, RDMAPMD_QPS_INIT,
			    RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS);

	if (rc == 0)
		rc = state_step(qp, attr, RDMAPMD_QPS_RTR,
				RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN |
					RDMAPMD_QP_RQ_PSN | (rc_type ? RC_RTR : 0u));
	if (rc == 0)
		rc = state_step(qp, attr, RDMAPMD_QPS_RTS,
				RDMAPMD_QP_SQ_PSN | (rc_type ? RC_RTS : 0u));
	return rc;
}

int
rdmapmd_qp_connect(struct rdmapmd_qp *qp, const struct rdmapmd_qp_peer *peer,
		   const struct rdmapmd_qp_connect_opts *opts)
{
	static const struct rdmapmd_qp_connect_opts defaults;
	struct rdmapmd_qp_attr attr;
	int rc = peer == NULL ? -EINVAL : rdmapmd_qp_state(qp);
	const char *why = NULL;

	if (rc < 0)
		return rc;
	if (qp->qp_type != RDMAPMD_QPT_RC && qp->qp_type != RDMAPMD_QPT_UC)
		why = "it is neither RC nor UC";
	else if (rc != RDMAPMD_QPS_RESET && rc != RDMAPMD_QPS_INIT)
		why = "it is neither in RESET nor in INIT";
	if (why != NULL) {
		RDMAPMD_LOG(ERR, qp->context->device, "QP 0x%x: cannot be connected: %s",
			    qp->qp_num, why);
		return -EINVAL;
	}
	rc = attr_fill(qp, peer, opts != NULL ? opts : &defaults, &attr);
	if (rc == 0)
		rc = connect_by(qp, &attr);
	if (rc != 0)
		(void)state_step(qp, &attr, RDMAPMD_QPS_RESET, 0);
	return rc;
}
