/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which state changes of a queue pair are legal, with which attributes (InfiniBand specification, volume 1, "Modify
 * Queue Pair": tables of attributes by transition and service type; of RAW_PACKET as verbs have it).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "log_private.h"
#include "object_private.h"
#include "path_private.h"
#include "qp_state_private.h"

#define STATES (RDMAPMD_QPS_ERR + 1)

struct change {
	bool legal;
	unsigned int needs, allows;
};

#define ALTERNATE (RDMAPMD_QP_ALT_PATH | RDMAPMD_QP_PATH_MIG_STATE)
#define LIVE	  (RDMAPMD_QP_CUR_STATE | RDMAPMD_QP_ACCESS_FLAGS | RDMAPMD_QP_MIN_RNR_TIMER | ALTERNATE)

static const struct change of_rc[STATES][STATES] = {
	[RDMAPMD_QPS_RESET] = {
		[RDMAPMD_QPS_INIT] = {
			.legal = true,
			.needs = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		},
	},
	[RDMAPMD_QPS_INIT] = {
		[RDMAPMD_QPS_INIT] = {
			.legal = true,
			.allows = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		},
		[RDMAPMD_QPS_RTR] = {
			.legal = true,
			.needs = RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN |
				 RDMAPMD_QP_RQ_PSN | RDMAPMD_QP_MAX_DEST_RD_ATOMIC |
				 RDMAPMD_QP_MIN_RNR_TIMER,
			.allows = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_ACCESS_FLAGS |
				  RDMAPMD_QP_ALT_PATH,
		},
	},
	[RDMAPMD_QPS_RTR] = {
		[RDMAPMD_QPS_RTS] = {
			.legal = true,
			.needs = RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY |
				 RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC,
			.allows = LIVE,
		},
	},
	[RDMAPMD_QPS_RTS] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE },
		[RDMAPMD_QPS_SQD] = { .legal = true, .allows = RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY },
	},
	[RDMAPMD_QPS_SQD] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE },
		[RDMAPMD_QPS_SQD] = {
			.legal = true,
			.allows = RDMAPMD_QP_PORT | RDMAPMD_QP_AV | RDMAPMD_QP_TIMEOUT |
				  RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY |
				  RDMAPMD_QP_MAX_QP_RD_ATOMIC | RDMAPMD_QP_MAX_DEST_RD_ATOMIC |
				  RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_ACCESS_FLAGS |
				  RDMAPMD_QP_MIN_RNR_TIMER | ALTERNATE,
		},
	},
};

#define LIVE_UC (RDMAPMD_QP_CUR_STATE | RDMAPMD_QP_ACCESS_FLAGS | ALTERNATE)

static const struct change of_uc[STATES][STATES] = {
	[RDMAPMD_QPS_RESET] = {
		[RDMAPMD_QPS_INIT] = {
			.legal = true,
			.needs = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		},
	},
	[RDMAPMD_QPS_INIT] = {
		[RDMAPMD_QPS_INIT] = {
			.legal = true,
			.allows = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS,
		},
		[RDMAPMD_QPS_RTR] = {
			.legal = true,
			.needs = RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN |
				 RDMAPMD_QP_RQ_PSN,
			.allows = RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_ACCESS_FLAGS |
				  RDMAPMD_QP_ALT_PATH,
		},
	},
	[RDMAPMD_QPS_RTR] = {
		[RDMAPMD_QPS_RTS] = {
			.legal = true, .needs = RDMAPMD_QP_SQ_PSN, .allows = LIVE_UC,
		},
	},
	[RDMAPMD_QPS_RTS] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE_UC },
		[RDMAPMD_QPS_SQD] = { .legal = true, .allows = RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY },
	},
	[RDMAPMD_QPS_SQD] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE_UC },
		[RDMAPMD_QPS_SQD] = {
			.legal = true,
			.allows = RDMAPMD_QP_AV | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_ACCESS_FLAGS |
				  ALTERNATE,
		},
	},
	[RDMAPMD_QPS_SQE] = {
		[RDMAPMD_QPS_RTS] = {
			.legal = true, .allows = RDMAPMD_QP_CUR_STATE | RDMAPMD_QP_ACCESS_FLAGS,
		},
	},
};

/* Datagrams bring their paths along. */
#define ADDRESSED (RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY)
#define LIVE_UD	  (RDMAPMD_QP_CUR_STATE | RDMAPMD_QP_QKEY)

static const struct change of_ud[STATES][STATES] = {
	[RDMAPMD_QPS_RESET] = {
		[RDMAPMD_QPS_INIT] = { .legal = true, .needs = ADDRESSED | RDMAPMD_QP_PORT },
	},
	[RDMAPMD_QPS_INIT] = {
		[RDMAPMD_QPS_INIT] = { .legal = true, .allows = ADDRESSED | RDMAPMD_QP_PORT },
		[RDMAPMD_QPS_RTR] = { .legal = true, .allows = ADDRESSED },
	},
	[RDMAPMD_QPS_RTR] = {
		[RDMAPMD_QPS_RTS] = {
			.legal = true, .needs = RDMAPMD_QP_SQ_PSN, .allows = LIVE_UD,
		},
	},
	[RDMAPMD_QPS_RTS] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE_UD },
		[RDMAPMD_QPS_SQD] = { .legal = true, .allows = RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY },
	},
	[RDMAPMD_QPS_SQD] = {
		[RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE_UD },
		[RDMAPMD_QPS_SQD] = { .legal = true, .allows = ADDRESSED },
	},
	[RDMAPMD_QPS_SQE] = { [RDMAPMD_QPS_RTS] = { .legal = true, .allows = LIVE_UD } },
};

/* Frames have neither peer nor path. */
static const struct change of_raw_packet[STATES][STATES] = {
	[RDMAPMD_QPS_RESET] = {
		[RDMAPMD_QPS_INIT] = { .legal = true, .needs = RDMAPMD_QP_PORT },
	},
	[RDMAPMD_QPS_INIT] = {
		[RDMAPMD_QPS_INIT] = { .legal = true },
		[RDMAPMD_QPS_RTR] = { .legal = true },
	},
	[RDMAPMD_QPS_RTR] = { [RDMAPMD_QPS_RTS] = { .legal = true } },
	[RDMAPMD_QPS_RTS] = { [RDMAPMD_QPS_RTS] = { .legal = true } },
	[RDMAPMD_QPS_SQE] = { [RDMAPMD_QPS_RTS] = { .legal = true } },
};

static struct change
change_look_up(uint8_t type, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	struct change change;

	/* From anywhere. */
	if (to == RDMAPMD_QPS_RESET || to == RDMAPMD_QPS_ERR)
		return (struct change){ .legal = true };
	switch (type) {
	case RDMAPMD_QPT_UC: return of_uc[from][to];
	case RDMAPMD_QPT_UD: return of_ud[from][to];
	case RDMAPMD_QPT_RAW_PACKET: return of_raw_packet[from][to];
	/* Datagrams of a port that was chosen when it was created. */
	case RDMAPMD_QPT_GSI:
		change = of_ud[from][to];
		change.needs &= ~(unsigned int)RDMAPMD_QP_PORT;
		change.allows &= ~(unsigned int)RDMAPMD_QP_PORT;
		return change;
	default: return of_rc[from][to];
	}
}

static const struct {
	unsigned int bit;
	const char *name;
} bits[] = {
	{ RDMAPMD_QP_STATE, "STATE" },
	{ RDMAPMD_QP_CUR_STATE, "CUR_STATE" },
	{ RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY" },
	{ RDMAPMD_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
	{ RDMAPMD_QP_PKEY_INDEX, "PKEY_INDEX" },
	{ RDMAPMD_QP_PORT, "PORT" },
	{ RDMAPMD_QP_QKEY, "QKEY" },
	{ RDMAPMD_QP_AV, "AV" },
	{ RDMAPMD_QP_PATH_MTU, "PATH_MTU" },
	{ RDMAPMD_QP_TIMEOUT, "TIMEOUT" },
	{ RDMAPMD_QP_RETRY_CNT, "RETRY_CNT" },
	{ RDMAPMD_QP_RNR_RETRY, "RNR_RETRY" },
	{ RDMAPMD_QP_RQ_PSN, "RQ_PSN" },
	{ RDMAPMD_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
	{ RDMAPMD_QP_ALT_PATH, "ALT_PATH" },
	{ RDMAPMD_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" },
	{ RDMAPMD_QP_SQ_PSN, "SQ_PSN" },
	{ RDMAPMD_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
	{ RDMAPMD_QP_PATH_MIG_STATE, "PATH_MIG_STATE" },
	{ RDMAPMD_QP_CAP, "CAP" },
	{ RDMAPMD_QP_DEST_QPN, "DEST_QPN" },
};

void
rdmapmd_qp_mask_str(unsigned int mask, char *text, size_t size)
{
	size_t used = 0;
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < RTE_DIM(bits); i++) {
		if (!(mask & bits[i].bit))
			continue;
		mask &= ~bits[i].bit;
		used += (size_t)snprintf(text + used, size - used, " %s", bits[i].name);
		if (used >= size)
			return;
	}
	if (mask != 0)
		snprintf(text + used, size - used, " 0x%x", mask);
}

int
rdmapmd_qp_check_change(struct rdmapmd_device *device, const struct rdmapmd_qp *qp,
			enum rdmapmd_qp_state from, enum rdmapmd_qp_state to, unsigned int mask)
{
	const bool known = (unsigned int)from < STATES && (unsigned int)to < STATES;
	const struct change change =
		known ? change_look_up(qp->qp_type, from, to) : (struct change){ 0 };
	const unsigned int missing = change.needs & ~mask;
	const unsigned int excess = mask & ~(change.needs | change.allows | RDMAPMD_QP_STATE);
	char names[256];

	if (!change.legal) {
		RDMAPMD_LOG(ERR, device, "QP 0x%x: cannot go from %s to %s", qp->qp_num,
			    rdmapmd_qp_state_str(from), rdmapmd_qp_state_str(to));
		return -EINVAL;
	}
	if (missing != 0 || excess != 0) {
		rdmapmd_qp_mask_str(missing != 0 ? missing : excess, names, sizeof(names));
		RDMAPMD_LOG(ERR, device, "QP 0x%x, %s to %s: attributes%s:%s", qp->qp_num,
			    rdmapmd_qp_state_str(from), rdmapmd_qp_state_str(to),
			    missing != 0 ? " are missing" : " are not allowed", names);
		return -EINVAL;
	}
	if (mask & ALTERNATE) {
		RDMAPMD_LOG(ERR, device, "QP 0x%x: alternate paths are not supported", qp->qp_num);
		return -ENOTSUP;
	}
	return 0;
}

/* ---- Values ---- */

/* Each attribute that is a number has a largest value, and all but ports count from 0. */
struct limit {
	unsigned int bit;
	uint64_t value, least, most;
};

/* What no range says: -ENOTSUP, -EINVAL. */
static int
check_meaning(const struct rdmapmd_context_object *context, const struct rdmapmd_qp *qp,
	      const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	if ((mask & RDMAPMD_QP_ACCESS_FLAGS) &&
	    (attr->qp_access_flags & RDMAPMD_ACCESS_REMOTE_ATOMIC) &&
	    context->attr.atomic_cap == RDMAPMD_ATOMIC_NONE) {
		RDMAPMD_LOG(ERR, context->device,
			    "QP 0x%x: ACCESS_FLAGS: the device does not support remote atomics",
			    qp->qp_num);
		return -ENOTSUP;
	}
	if ((mask & RDMAPMD_QP_QKEY) && qp->qp_type == RDMAPMD_QPT_GSI &&
	    attr->qkey != RDMAPMD_QP1_QKEY) {
		RDMAPMD_LOG(ERR, context->device, "QP 0x%x: QKEY: that of queue pair 1 is 0x%x",
			    qp->qp_num, RDMAPMD_QP1_QKEY);
		return -EINVAL;
	}
	if ((mask & RDMAPMD_QP_AV) && rdmapmd_gid_is_multicast(&attr->ah_attr.dgid)) {
		RDMAPMD_LOG(ERR, context->device,
			    "QP 0x%x: path to the peer: dgid is the address of a group",
			    qp->qp_num);
		return -EINVAL;
	}
	return 0;
}

int
rdmapmd_qp_check_values(const struct rdmapmd_context_object *context, const struct rdmapmd_qp *qp,
			const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	const struct rdmapmd_device_attr *device = &context->attr;
	const uint64_t access = RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE |
				RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC;
	const struct limit limits[] = {
		{ RDMAPMD_QP_ACCESS_FLAGS, attr->qp_access_flags & ~access, 0, 0 },
		{ RDMAPMD_QP_PKEY_INDEX, (uint64_t)attr->pkey_index + 1, 1, device->max_pkeys },
		{ RDMAPMD_QP_PORT, attr->port_num, 1, device->phys_port_cnt },
		{ RDMAPMD_QP_PATH_MTU, (uint64_t)attr->path_mtu, RDMAPMD_MTU_256,
		  RDMAPMD_MTU_4096 },
		{ RDMAPMD_QP_TIMEOUT, attr->timeout, 0, 31 },
		{ RDMAPMD_QP_RETRY_CNT, attr->retry_cnt, 0, 7 },
		{ RDMAPMD_QP_RNR_RETRY, attr->rnr_retry, 0, 7 },
		{ RDMAPMD_QP_MIN_RNR_TIMER, attr->min_rnr_timer, 0, 31 },
		{ RDMAPMD_QP_RQ_PSN, attr->rq_psn, 0, 0xffffff },
		{ RDMAPMD_QP_SQ_PSN, attr->sq_psn, 0, 0xffffff },
		{ RDMAPMD_QP_DEST_QPN, attr->dest_qp_num, 0, 0xffffff },
		{ RDMAPMD_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic, 0,
		  device->max_qp_init_rd_atom },
		{ RDMAPMD_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic, 0,
		  device->max_qp_rd_atom },
	};
	char name[32];
	unsigned int i;
	int rc = check_meaning(context, qp, attr, mask);

	if (rc != 0)
		return rc;
	for (i = 0; i < RTE_DIM(limits); i++) {
		if (!(mask & limits[i].bit) ||
		    (limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
			continue;
		rdmapmd_qp_mask_str(limits[i].bit, name, sizeof(name));
		RDMAPMD_LOG(ERR, context->device, "QP 0x%x:%s is out of range", qp->qp_num, name);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "QP 0x%x", qp->qp_num);
	return mask & RDMAPMD_QP_AV ? rdmapmd_path_check(context, name, &attr->ah_attr) : 0;
}
