/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Extended statistics of the port, all counted by the device: the vport's frames and RDMA packets, under the names of
 * `ethtool -S`, then what it counts of queue pairs, under those of `rdma statistic`, if it has RDMA. Those of queues come from
 * ethdev itself.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/dev.h"
#include "ethdev/port.h"
#include "ethdev/stats.h"
#include "ethdev/xstats.h"
#include "object/port.h"
#include "object/port_counters.h"
#include "object/q_counter.h"
#include "rdma/rdma.h"

static unsigned int
xstats_count(const struct rnic_ethdev *port)
{
	return RNIC_PORT_COUNTERS + (port->has_rdma ? RNIC_Q_COUNTERS : 0);
}

int
rnic_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names, unsigned int size)
{
	const unsigned int count = xstats_count(rnic_ethdev_get(eth_dev));
	unsigned int i;

	for (i = 0; names != NULL && i < count && size >= count; i++)
		snprintf(names[i].name, sizeof(names[i].name), "%s",
			 i < RNIC_PORT_COUNTERS ? rnic_port_counter_names[i]
						: rnic_q_counter_names[i - RNIC_PORT_COUNTERS]);
	return (int)count;
}

static int
xstats_read(struct rnic_ethdev *port, uint64_t values[RNIC_XSTATS])
{
	int rc = rnic_port_counters(port->dev, values);

	if (rc == 0 && port->has_rdma)
		rc = rnic_q_counters_read(port->dev, &values[RNIC_PORT_COUNTERS]);
	return rc;
}

/* Counts of the previous device are kept; what the new one counted before is subtracted. */
void
rnic_xstats_begin(struct rnic_ethdev *port)
{
	uint64_t values[RNIC_XSTATS] = { 0 };
	unsigned int i;

	port->has_rdma = port->dev->rdma != NULL && !port->dev->rdma->refused;
	if (xstats_read(port, values) != 0)
		memset(values, 0, sizeof(values));
	for (i = 0; i < RNIC_XSTATS; i++)
		port->xstats_base[i] = port->xstats[i] - values[i];
}

int
rnic_xstats_poll(struct rnic_ethdev *port)
{
	uint64_t values[RNIC_XSTATS] = { 0 };
	unsigned int i;
	int rc;

	if (!port->ask_device || atomic_load_explicit(&port->removed, memory_order_relaxed))
		return 0;
	rc = xstats_read(port, values);
	for (i = 0; i < xstats_count(port) && rc == 0; i++)
		port->xstats[i] = port->xstats_base[i] + values[i];
	return rc;
}

int
rnic_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int size)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const unsigned int count = xstats_count(port);
	unsigned int i;
	int rc;

	if (xstats == NULL || size < count)
		return (int)count;
	rnic_stats_lock(port);
	rc = rnic_xstats_poll(port);
	for (i = 0; i < count && rc == 0; i++)
		xstats[i] = (struct rte_eth_xstat){
			.id = i,
			.value = port->xstats[i] - port->xstats_offset[i],
		};
	rnic_stats_unlock(port);
	return rc == 0 ? (int)count : rc;
}

int
rnic_xstats_reset(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int rc;

	rnic_stats_lock(port);
	rc = rnic_xstats_poll(port);
	if (rc == 0)
		memcpy(port->xstats_offset, port->xstats, sizeof(port->xstats));
	rnic_stats_unlock(port);
	return rc == 0 ? rnic_stats_reset(eth_dev) : rc;
}
