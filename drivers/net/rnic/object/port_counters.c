/* SPDX-License-Identifier: BSD-3-Clause */

/* What the vport counts (PRM: "QUERY_VPORT_COUNTER"). */

#include <rte_common.h>

#include "core/cmd.h"
#include "core/dev.h"
#include "object/port_counters.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/vport.h"

/* All zeros of a device that does not count. */
static int
query_counters(struct rnic_dev *dev, struct rnic_vport_counters *counters)
{
	struct rnic_query_vport_counter_in in = { 0 };
	struct rnic_query_vport_counter_out out;
	int rc;

	*counters = (struct rnic_vport_counters){ 0 };
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_VPORT_COUNTERS))
		return 0;
	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_VPORT_COUNTER, 0, &in, sizeof(in), &out,
			   sizeof(out));
	if (rc == 0)
		*counters = *rnic_query_vport_counter_out_vport_counters(&out);
	return rc;
}

int
rnic_port_errors(struct rnic_dev *dev, struct rnic_port_errors *errors)
{
	struct rnic_vport_counters counters;
	int rc = query_counters(dev, &counters);

	errors->received =
		rnic_vport_counters_get(&counters, RNIC_VPORT_COUNTERS_RECEIVED_ERRORS_PACKETS);
	errors->transmit =
		rnic_vport_counters_get(&counters, RNIC_VPORT_COUNTERS_TRANSMIT_ERRORS_PACKETS);
	return rc;
}

#define COUNTERS(C)                                                          \
	C(rx_vport_unicast_packets, RECEIVED_ETH_UNICAST_PACKETS)            \
	C(rx_vport_unicast_bytes, RECEIVED_ETH_UNICAST_OCTETS)               \
	C(rx_vport_multicast_packets, RECEIVED_ETH_MULTICAST_PACKETS)        \
	C(rx_vport_multicast_bytes, RECEIVED_ETH_MULTICAST_OCTETS)           \
	C(rx_vport_broadcast_packets, RECEIVED_ETH_BROADCAST_PACKETS)        \
	C(rx_vport_broadcast_bytes, RECEIVED_ETH_BROADCAST_OCTETS)           \
	C(tx_vport_unicast_packets, TRANSMITTED_ETH_UNICAST_PACKETS)         \
	C(tx_vport_unicast_bytes, TRANSMITTED_ETH_UNICAST_OCTETS)            \
	C(tx_vport_multicast_packets, TRANSMITTED_ETH_MULTICAST_PACKETS)     \
	C(tx_vport_multicast_bytes, TRANSMITTED_ETH_MULTICAST_OCTETS)        \
	C(tx_vport_broadcast_packets, TRANSMITTED_ETH_BROADCAST_PACKETS)     \
	C(tx_vport_broadcast_bytes, TRANSMITTED_ETH_BROADCAST_OCTETS)        \
	C(rx_vport_rdma_unicast_packets, RECEIVED_IB_UNICAST_PACKETS)        \
	C(rx_vport_rdma_unicast_bytes, RECEIVED_IB_UNICAST_OCTETS)           \
	C(rx_vport_rdma_multicast_packets, RECEIVED_IB_MULTICAST_PACKETS)    \
	C(rx_vport_rdma_multicast_bytes, RECEIVED_IB_MULTICAST_OCTETS)       \
	C(tx_vport_rdma_unicast_packets, TRANSMITTED_IB_UNICAST_PACKETS)     \
	C(tx_vport_rdma_unicast_bytes, TRANSMITTED_IB_UNICAST_OCTETS)        \
	C(tx_vport_rdma_multicast_packets, TRANSMITTED_IB_MULTICAST_PACKETS) \
	C(tx_vport_rdma_multicast_bytes, TRANSMITTED_IB_MULTICAST_OCTETS)

#define NAME(name, field) #name,
const char *const rnic_port_counter_names[] = { COUNTERS(NAME) };
#define FIELD(name, field) RNIC_VPORT_COUNTERS_##field,
static const enum rnic_vport_counters_field counter_fields[] = { COUNTERS(FIELD) };
_Static_assert(RTE_DIM(counter_fields) == RNIC_PORT_COUNTERS, "room for all");

int
rnic_port_counters(struct rnic_dev *dev, uint64_t values[RNIC_PORT_COUNTERS])
{
	struct rnic_vport_counters counters;
	int rc = query_counters(dev, &counters);
	unsigned int i;

	for (i = 0; i < RNIC_PORT_COUNTERS; i++)
		values[i] = rnic_vport_counters_get(&counters, counter_fields[i]);
	return rc;
}
