/* SPDX-License-Identifier: BSD-3-Clause */

/* What the device can do, and what the driver asks of it (PRM: "HCA Capabilities"). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/caps.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "prm/caps.h"
#include "prm/cmd.h"

static int
caps_query(struct rnic_dev *dev, enum rnic_cap_type type, bool current, void *cap, size_t bytes)
{
	struct rnic_function_in in = { 0 };
	struct rnic_query_hca_cap_out *out = calloc(1, sizeof(*out));
	int rc;

	if (out == NULL)
		return -ENOMEM;
	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_HCA_CAP,
			   (uint16_t)RNIC_HCA_CAP_OP_MOD(type, current ? 1 : 0), &in, sizeof(in),
			   out, sizeof(*out));
	if (rc == 0)
		memcpy(cap, (uint8_t *)out + RNIC_HCA_CAP_OFFSET, bytes);
	free(out);
	return rc;
}

/* One block of capabilities becomes this. */
static int
caps_set(struct rnic_dev *dev, enum rnic_cap_type type, const void *cap, size_t bytes,
	 rnic_cmd_fn *command)
{
	struct rnic_set_hca_cap_in *in = calloc(1, sizeof(*in));
	struct rnic_cmd_out out;
	int rc;

	if (in == NULL)
		return -ENOMEM;
	memcpy((uint8_t *)in + RNIC_HCA_CAP_OFFSET, cap, bytes);
	rc = command(dev, RNIC_CMD_SET_HCA_CAP, (uint16_t)RNIC_HCA_CAP_OP_MOD(type, 0), in,
		     sizeof(*in), &out, sizeof(out));
	free(in);
	return rc;
}

/* The current capabilities, whole, with the few changes that this driver wants. */
static int
caps_set_general(struct rnic_dev *dev)
{
	struct rnic_general_cap *cap = calloc(1, RNIC_HCA_CAP_BYTES);
	uint64_t log_max_qp;
	int rc;

	if (cap == NULL)
		return -ENOMEM;
	rc = caps_query(dev, RNIC_CAP_GENERAL, true, cap, RNIC_HCA_CAP_BYTES);
	if (rc == 0) {
		log_max_qp =
			rnic_general_cap_get(&dev->caps.general_max, RNIC_GENERAL_CAP_LOG_MAX_QP);
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_LOG_MAX_QP,
				     RTE_MIN(log_max_qp, (uint64_t)dev->args.log_max_qp));
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_PKEY_TABLE_SIZE, 0); /* 128 entries */
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_CMDIF_CHECKSUM, 0);
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_LOG_UAR_PAGE_SZ, 0); /* 4 KiB */
		/* It may be off on a function that has it: the driver before may have switched it off. */
		if (rnic_general_cap_get(cap, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED) &&
		    rnic_general_cap_get(&dev->caps.general_max, RNIC_GENERAL_CAP_ROCE))
			rnic_general_cap_set(cap, RNIC_GENERAL_CAP_ROCE, 1);
		rc = caps_set(dev, RNIC_CAP_GENERAL, cap, RNIC_HCA_CAP_BYTES, rnic_cmd_exec);
	}
	free(cap);
	return rc;
}

/* Operands and results of atomics are big-endian, unless the driver wants them in the host's byte order. */
static int
setup_atomic(struct rnic_dev *dev)
{
	struct rnic_atomic_cap *cap = &dev->caps.atomic, wanted = { 0 };
	int rc;

	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ATOMIC))
		return 0;
	rc = caps_query(dev, RNIC_CAP_ATOMIC, true, cap, sizeof(*cap));
	if (rc != 0 ||
	    !rnic_atomic_cap_get(cap, RNIC_ATOMIC_CAP_SUPPORTED_ATOMIC_REQ_8B_ENDIANNESS_MODE_1))
		return rc;
	rnic_atomic_cap_set(&wanted, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE,
			    RNIC_ATOMIC_HOST_ENDIAN);
	rc = caps_set(dev, RNIC_CAP_ATOMIC, &wanted, sizeof(wanted), rnic_cmd_exec);
	return rc != 0 ? rc : caps_query(dev, RNIC_CAP_ATOMIC, true, cap, sizeof(*cap));
}

static void
caps_report_no_roce(const struct rnic_dev *dev)
{
	const char *why = "it is off although it was asked for";

	if (!rnic_general_cap_get(&dev->caps.general_max, RNIC_GENERAL_CAP_ROCE))
		why = "the device does not have it";
	else if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED))
		why = "it is off, and the firmware lets no driver of this function switch it on; of a "
		      "VF the PF's driver can (devlink port function set ... roce enable)";
	RNIC_LOG(NOTICE, dev, "no RDMA, for want of RoCE: %s", why);
}

/* The UDP source port of a path is the device's choice, unless the driver wants to choose it: a wish, and no more. */
static int
setup_roce(struct rnic_dev *dev)
{
	struct rnic_roce_cap *cap = &dev->caps.roce, max;
	int rc;

	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ROCE)) {
		caps_report_no_roce(dev);
		return 0;
	}
	rc = caps_query(dev, RNIC_CAP_ROCE, true, cap, sizeof(*cap));
	if (rc == 0)
		rc = caps_query(dev, RNIC_CAP_ROCE, false, &max, sizeof(max));
	if (rc != 0 || rnic_roce_cap_get(cap, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT) ||
	    !rnic_roce_cap_get(&max, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT))
		return rc;
	rnic_roce_cap_set(cap, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT, 1);
	rc = caps_set(dev, RNIC_CAP_ROCE, cap, sizeof(*cap), rnic_cmd_try);
	if (rnic_cmd_refused(rc))
		RNIC_LOG(NOTICE, dev, "the device goes on choosing UDP source ports itself: %s",
			 strerror(-rc));
	else if (rc != 0)
		return rc;
	return caps_query(dev, RNIC_CAP_ROCE, true, cap, sizeof(*cap));
}

/* What a poll-mode Ethernet driver cannot do without. */
static int
caps_refuse(const struct rnic_dev *dev, const char *missing)
{
	RNIC_LOG(ERR, dev, "the device does not have %s", missing);
	return -ENOTSUP;
}

static const char no_tables[] = "flow tables for received frames";

/* Before anything else is asked: firmware may refuse to tell of what there is not. */
static int
check_general(const struct rnic_dev *dev)
{
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_PORT_TYPE) != 1)
		return caps_refuse(dev,
				   "an Ethernet port (this one is InfiniBand: change the port's "
				   "link type)");
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_ETH_NET_OFFLOADS))
		return caps_refuse(dev, "Ethernet queues");
	return rnic_general_cap(dev, RNIC_GENERAL_CAP_NIC_FLOW_TABLE) ? 0
								      : caps_refuse(dev, no_tables);
}

static int
query_flow_table(struct rnic_dev *dev)
{
	struct rnic_flow_table_cap *cap = &dev->caps.flow_table;
	int rc = caps_query(dev, RNIC_CAP_FLOW_TABLE, true, cap, sizeof(*cap));

	if (rc == 0 && !rnic_flow_table_props_get(rnic_flow_table_cap_nic_receive(cap),
						  RNIC_FLOW_TABLE_PROPS_FT_SUPPORT))
		rc = caps_refuse(dev, no_tables);
	return rc;
}

int
rnic_caps_setup(struct rnic_dev *dev)
{
	struct rnic_caps *caps = &dev->caps;
	int rc;

	rc = caps_query(dev, RNIC_CAP_GENERAL, false, &caps->general_max,
			sizeof(caps->general_max));
	if (rc == 0)
		rc = caps_set_general(dev);
	if (rc == 0)
		rc = caps_query(dev, RNIC_CAP_GENERAL, true, &caps->general, sizeof(caps->general));
	if (rc == 0)
		rc = check_general(dev);
	if (rc == 0)
		rc = caps_query(dev, RNIC_CAP_ETHERNET_OFFLOADS, true, &caps->ethernet,
				sizeof(caps->ethernet));
	if (rc == 0)
		rc = query_flow_table(dev);
	if (rc == 0)
		rc = setup_atomic(dev);
	return rc != 0 ? rc : setup_roce(dev);
}
