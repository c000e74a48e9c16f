/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port: what ties a device (core/dev.h) to DPDK's ethdev. The struct is the port's dev_private, and the primary process's
 * alone: secondary ones ask for what is in it (secondary.c).
 *
 * Threads: ethdev's rule, one control call on a port at a time. The interrupt thread comes in through the link, removal
 * and recovery callbacks only. Statistics may be read at any time.
 */
#ifndef RNIC_ETHDEV_PORT_H
#define RNIC_ETHDEV_PORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_version.h>

#include "base/owner.h"
#include "object/port.h"
#include "object/port_counters.h"
#include "object/q_counter.h"
#include "steering/steer.h"
#include "steering/tirs.h"

struct rnic_dev;
struct rte_eth_dev;

#define RNIC_RX_QUEUES_MAX 16 /* no more than ethdev has counters for */
#define RNIC_TX_QUEUES_MAX 16
#define RNIC_MAC_ADDRS_MAX 128
#define RNIC_MC_ADDRS_MAX  128
#define RNIC_DESC_MIN	   64
#define RNIC_DESC_MAX	   8192
#define RNIC_DESC_DEFAULT  512
#define RNIC_BURST_DEFAULT 32

/* Of a frame without FCS, besides the MTU: Ethernet header and one VLAN tag, as the port is set to take. */
#define RNIC_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)

/* Of one queue, since its set-up. */
struct rnic_queue_stats {
	uint64_t packets, bytes;
	uint64_t errors;
	uint64_t no_mbuf;  /* Rx: allocations that failed */
	uint64_t restarts; /* after error completions */
};

/* DPDK has a struct of their own for what queues count since 25.11; before, the port's has that, too. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define RNIC_QUEUE_STATS_APART 1
#define RNIC_QUEUE_STATS       eth_queue_stats
#else
#define RNIC_QUEUE_STATS rte_eth_stats
#endif

/* What is said of a port and of its queues, whichever DPDK it is, also from one process to another. */
struct rnic_port_stats {
	uint64_t ipackets, ibytes, ierrors, imissed, rx_nombuf;
	uint64_t opackets, obytes, oerrors;
	uint64_t q_ipackets[RTE_ETHDEV_QUEUE_STAT_CNTRS], q_ibytes[RTE_ETHDEV_QUEUE_STAT_CNTRS];
	uint64_t q_errors[RTE_ETHDEV_QUEUE_STAT_CNTRS];
	uint64_t q_opackets[RTE_ETHDEV_QUEUE_STAT_CNTRS], q_obytes[RTE_ETHDEV_QUEUE_STAT_CNTRS];
};

struct rnic_ethdev {
	struct rnic_dev *dev;
	struct rnic_steering steering;
	atomic_bool started; /* read by the interrupt thread */
	atomic_bool removed; /* set by the interrupt thread */
	uint16_t max_mtu;
	uint32_t speed_capa; /* RTE_ETH_LINK_SPEED_... */
	char fw_version[32];

	/* filter.c */
	bool promiscuous, allmulticast; /* as the device has them */
	uint32_t mac_count; /* slots for unicast addresses, that of the own one included */
	struct rte_ether_addr mc_addrs[RNIC_MC_ADDRS_MAX];
	uint32_t mc_count;

	/* rx_offload.c, tx_offload.c */
	uint64_t rx_offloads, tx_offloads; /* of queues, that the device can do */
	bool filters_vlans;		   /* the same of the port */
	uint32_t ptype_mask;		   /* of packet types, those that are wanted */
	unsigned int rx_tells;		   /* while it is started */

	/* rss.c; written under stats_lock */
	bool rss_on;
	uint64_t rss_hf;
	struct rnic_rss rss;

	/* stats.c */
	pthread_mutex_t stats_lock;
	bool ask_device;
	uint64_t imissed, port_ierrors, port_oerrors;	  /* what the device counts */
	uint32_t out_of_buffer;				  /* as last read from the device */
	struct rnic_port_errors port_errors;		  /* likewise */
	struct rnic_queue_stats rx_released, tx_released; /* of queues that are gone */
	struct rnic_port_stats offset; /* as of the last reset; under stats_lock */

	/* xstats.c; under stats_lock */
	bool has_rdma;
#define RNIC_XSTATS (RNIC_PORT_COUNTERS + RNIC_Q_COUNTERS)
	uint64_t xstats[RNIC_XSTATS];
	uint64_t xstats_base[RNIC_XSTATS];   /* what the device's are to be added to */
	uint64_t xstats_offset[RNIC_XSTATS]; /* as of the last reset */
};

static inline struct rnic_ethdev *
rnic_ethdev_get(const struct rte_eth_dev *eth_dev)
{
	rnic_owner_enter(eth_dev->data);
	return eth_dev->data->dev_private;
}

#endif
