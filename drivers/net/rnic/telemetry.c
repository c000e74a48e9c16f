/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * dpdk-telemetry's /rnic/... : what there is, and what it counts. A handler runs in telemetry's thread. The device stays
 * while it asks; it opens no context, since an application's brings the port up.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "access/direct.h"
#include "core/uar.h"
#include "object/q_counter.h"
#include "rdma/context.h"
#include "rdma/gid.h"
#include "rdma/rdma.h"
#include "telemetry.h"

#define DRIVER "net_rnic"
#define PORT   1

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

int
rnic_telemetry_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct rdmapmd_device *device = NULL;

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	while ((device = rdmapmd_device_next(device)) != NULL)
		if (strcmp(rdmapmd_device_driver(device), DRIVER) == 0)
			rte_tel_data_add_array_string(data, rdmapmd_device_name(device));
	return 0;
}

/*
 * The device that a command names, until context_leave(). -ENODEV: none of ours; -ENOTSUP: no RDMA; -EIO: it is lost.
 */
static int
enter_named(const char *params, struct rdmapmd_context *context)
{
	struct rdmapmd_device *device =
		params != NULL && params[0] != '\0' ? rdmapmd_device_find(params) : NULL;
	int rc = -ENODEV;

	if (device != NULL && strcmp(rdmapmd_device_driver(device), DRIVER) == 0)
		rc = rdmapmd_device_enter(device, context);
	if (rc == 0 && atomic_load(&rnic_rdma_dev(context)->dead)) {
		rdmapmd_device_leave(device);
		rc = -EIO;
	}
	if (rc != 0)
		rdmapmd_device_put(device);
	return rc;
}

static void
context_leave(struct rdmapmd_context *context)
{
	rdmapmd_device_leave(context->device);
	rdmapmd_device_put(context->device);
}

static void
add_port(struct rte_tel_data *data, struct rdmapmd_context *context)
{
	struct rdmapmd_port_attr port;
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	if (rnic_rdma_ops.port_query(context, PORT, &port) != 0)
		return;
	snprintf(mac, sizeof(mac), RTE_ETHER_ADDR_PRT_FMT, port.mac[0], port.mac[1], port.mac[2],
		 port.mac[3], port.mac[4], port.mac[5]);
	rte_tel_data_add_dict_string(data, "mac", mac);
	rte_tel_data_add_dict_string(data, "state",
				     port.state == RDMAPMD_PORT_ACTIVE ? "ACTIVE" : "DOWN");
	rte_tel_data_add_dict_uint(data, "active_mtu", rdmapmd_mtu_bytes(port.active_mtu));
	rte_tel_data_add_dict_uint(data, "active_speed_mbps", port.active_speed);
}

int
rnic_telemetry_info(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct rdmapmd_device_attr attr;
	struct rdmapmd_context context;
	int rc = enter_named(params, &context);

	RTE_SET_USED(cmd);
	if (rc == -ENODEV)
		return rc;
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "name", params);
	rte_tel_data_add_dict_string(data, "rdma", rc == 0 ? "yes" : "no");
	if (rc != 0)
		return 0;
	rc = rnic_rdma_ops.device_query(&context, &attr);
	if (rc == 0) {
		rte_tel_data_add_dict_string(data, "fw_ver", attr.fw_ver);
		rte_tel_data_add_dict_uint(data, "max_qp", attr.max_qp);
		rte_tel_data_add_dict_uint(data, "max_qp_wr", attr.max_qp_wr);
		rte_tel_data_add_dict_uint(data, "max_cq", attr.max_cq);
		rte_tel_data_add_dict_uint(data, "max_mr", attr.max_mr);
		rte_tel_data_add_dict_uint(data, "max_srq", attr.max_srq);
		add_port(data, &context);
	}
	context_leave(&context);
	return rc;
}

int
rnic_telemetry_gids(const char *cmd, const char *params, struct rte_tel_data *data)
{
	static const union rdmapmd_gid none;
	char address[INET6_ADDRSTRLEN + sizeof(" vlan 4094")], index_text[16];
	struct rdmapmd_gid_entry entry;
	struct rdmapmd_port_attr port;
	struct rdmapmd_context context;
	uint32_t index;
	int rc = enter_named(params, &context);

	RTE_SET_USED(cmd);
	if (rc != 0)
		return rc;
	rc = rnic_rdma_ops.port_query(&context, PORT, &port);
	rte_tel_data_start_dict(data);
	for (index = 0; rc == 0 && index < port.gid_tbl_len; index++) {
		if (rnic_gid_query(rnic_rdma_dev(&context), index, &entry) != 0 ||
		    memcmp(&entry.gid, &none, sizeof(none)) == 0)
			continue;
		snprintf(index_text, sizeof(index_text), "%u", index);
		if (rdmapmd_gid_is_ipv4(&entry.gid))
			inet_ntop(AF_INET, entry.gid.raw + 12, address, sizeof(address));
		else
			inet_ntop(AF_INET6, entry.gid.raw, address, sizeof(address));
		if (entry.vlan_id != 0)
			snprintf(address + strlen(address), sizeof(" vlan 4094"), " vlan %u",
				 entry.vlan_id & 0xfffu);
		rte_tel_data_add_dict_string(data, index_text, address);
	}
	context_leave(&context);
	return rc;
}

int
rnic_telemetry_counters(const char *cmd, const char *params, struct rte_tel_data *data)
{
	uint64_t values[RNIC_Q_COUNTERS];
	struct rdmapmd_context context;
	unsigned int i;
	int rc = enter_named(params, &context);

	RTE_SET_USED(cmd);
	if (rc != 0)
		return rc;
	rc = rnic_q_counters_read(rnic_rdma_dev(&context), values);
	rte_tel_data_start_dict(data);
	for (i = 0; rc == 0 && i < RTE_DIM(values); i++)
		rte_tel_data_add_dict_uint(data, rnic_q_counter_names[i], values[i]);
	context_leave(&context);
	return rc;
}

int
rnic_telemetry_doorbells(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct rnic_uars_usage usage;
	struct rdmapmd_context context;
	int rc = enter_named(params, &context);

	RTE_SET_USED(cmd);
	if (rc != 0)
		return rc;
	rnic_uars_usage(rnic_rdma_dev(&context), &usage);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_uint(data, "low_latency", usage.low_latency);
	rte_tel_data_add_dict_uint(data, "dynamic", usage.dynamic);
	rte_tel_data_add_dict_uint(data, "dynamic_pages", usage.dynamic_pages);
	rte_tel_data_add_dict_uint(data, "shared_users", usage.shared_users);
	context_leave(&context);
	return 0;
}

static void
add_counter(void *arg, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_uint(arg, name, value);
}

int
rnic_telemetry_softrnic(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct rdmapmd_context context;
	int rc = enter_named(params, &context);

	RTE_SET_USED(cmd);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(data);
	rc = rnic_access_direct_stats(rnic_rdma_dev(&context)->access, add_counter, data);
	context_leave(&context);
	return rc;
}

void
rnic_telemetry_register(void)
{
	rte_telemetry_register_cmd("/rnic/list", rnic_telemetry_list,
				   "The devices of net_rnic. No parameters");
	rte_telemetry_register_cmd("/rnic/info", rnic_telemetry_info,
				   "What a device is and can do. Parameters: its name");
	rte_telemetry_register_cmd("/rnic/gids", rnic_telemetry_gids,
				   "The addresses of a device's port. Parameters: its name");
	rte_telemetry_register_cmd(
		"/rnic/counters", rnic_telemetry_counters,
		"What a device counts of queue pairs, as `rdma statistic` names it. "
		"Parameters: its name");
	rte_telemetry_register_cmd(
		"/rnic/softrnic", rnic_telemetry_softrnic,
		"What an embedded software RNIC counts of itself: large sends, checksums, faults of "
		"its wire. Parameters: its name");
	rte_telemetry_register_cmd(
		"/rnic/doorbells", rnic_telemetry_doorbells,
		"Doorbell registers of a device that are in use: owned ones of both kinds, users of "
		"the shared ones. Parameters: its name");
}
