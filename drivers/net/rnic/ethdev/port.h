/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port: what ties a device (rnic.h) to DPDK's ethdev. The struct is the port's dev_private, and the primary process's
 * alone: secondary ones ask for what is in it (secondary.c).
 *
 * Threads: ethdev's rule, one control call on a port at a time. The interrupt thread comes in through the link, removal
 * and recovery callbacks only. Statistics may be read at any time.
 */
#ifndef RNIC_ETHDEV_H
#define RNIC_ETHDEV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_version.h>

#include "base/owner.h"
#include "prm/init_seg.h"
#include "object/q_counter.h"
#include "core/dev.h"

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

/* Written by one thread, read by any: a torn or lost value is impossible, order does not matter. */
static inline void
rnic_counter_add(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline uint64_t
rnic_counter_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

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
	bool started; /* atomic, as the interrupt thread asks */
	bool removed; /* atomic, set by the interrupt thread */
	uint16_t max_mtu;
	uint32_t speed_capa; /* RTE_ETH_LINK_SPEED_... */
	char fw_version[32];

	/* filter.c */
	bool promiscuous, allmulticast; /* as the device has them */
	uint32_t mac_count; /* places for unicast addresses, that of the own one included */
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

/* ethdev.c */
int rnic_ethdev_create(struct rte_device *device, const char *name, const char *devargs);
int rnic_ethdev_attach(struct rte_device *device, const char *name); /* in a secondary process */
int rnic_ethdev_destroy(struct rte_eth_dev *eth_dev);
extern const struct eth_dev_ops rnic_ethdev_ops;

/* secondary.c */
/* What a secondary process may do. */
extern const struct eth_dev_ops rnic_secondary_ops;
/* In the primary process: from now on secondary ones may ask about the port, or not any more. */
void rnic_secondary_offer(struct rte_eth_dev *eth_dev);
void rnic_secondary_withdraw(struct rte_eth_dev *eth_dev);
/* While a port that is offered has no device, they are told that there is no such port. Waits for an answer under way. */
void rnic_secondary_hide(const struct rte_eth_dev *eth_dev, bool hidden);

/* info.c: what the port is and can do */
int rnic_info_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info);
int rnic_info_fw_version(struct rte_eth_dev *eth_dev, char *text, size_t size);
int rnic_info_rx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			    struct rte_eth_burst_mode *mode);
int rnic_info_tx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			    struct rte_eth_burst_mode *mode);

/* regs.c: registers as they are, the device's clock. Up to the health counter; nothing in there changes by being read. */
#define RNIC_REGS_WIDTH 4u
#define RNIC_REGS	(RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER) / RNIC_REGS_WIDTH + 1)
int rnic_regs_get(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info);
int rnic_regs_clock(struct rte_eth_dev *eth_dev, uint64_t *clock);

/* filter.c: which frames the port takes */
int rnic_filter_promiscuous_enable(struct rte_eth_dev *eth_dev);
int rnic_filter_promiscuous_disable(struct rte_eth_dev *eth_dev);
int rnic_filter_allmulticast_enable(struct rte_eth_dev *eth_dev);
int rnic_filter_allmulticast_disable(struct rte_eth_dev *eth_dev);
int rnic_filter_mac_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac);
int rnic_filter_mac_add(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac, uint32_t index,
			uint32_t pool);
void rnic_filter_mac_remove(struct rte_eth_dev *eth_dev, uint32_t index);
int rnic_filter_set_mc_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *macs,
			    uint32_t count);
int rnic_filter_vlan_set(struct rte_eth_dev *eth_dev, uint16_t vlan_id, int on);
int rnic_filter_vlan_offload_set(struct rte_eth_dev *eth_dev, int mask);
/* The port starts, its steering is there: all that was asked for before. */
int rnic_filter_start(struct rte_eth_dev *eth_dev);

/* rss.c: which queue a frame comes to */
#define RNIC_RSS_TYPES                                                                         \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |             \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |    \
	 RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
	 RTE_ETH_RSS_NONFRAG_IPV6_OTHER)
/* From the port's configuration: the hash, and all queues in turn. */
int rnic_rss_configure(struct rte_eth_dev *eth_dev);
/* The device's numbers of the queues, RNIC_RX_QUEUES_MAX at most. They are made. */
void rnic_rss_queues(const struct rte_eth_dev *eth_dev, uint32_t *rqns);
int rnic_rss_hash_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int rnic_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int rnic_rss_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
			 uint16_t size);
int rnic_rss_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *reta,
			uint16_t size);

/* link.c: link state, and what the device reports of itself */
int rnic_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete);
int rnic_link_refresh(struct rte_eth_dev *eth_dev);
/* RTE_ETH_LINK_SPEED_... of the speeds that the port can have; 0: it does not tell. */
uint32_t rnic_link_speed_capa(struct rnic_dev *dev);
int rnic_link_set_up(struct rte_eth_dev *eth_dev);
int rnic_link_set_down(struct rte_eth_dev *eth_dev);
/* What the device tells of itself; `arg` is the port. */
void rnic_link_on_port_change(void *arg);
void rnic_link_on_lost(void *arg);

/* stats.c */
/* ethdev's, in the primary process. */
#ifdef RNIC_QUEUE_STATS_APART
int rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
		   struct eth_queue_stats *queues);
#else
int rnic_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats);
#endif
/* What ethdev wants to know, of queues too unless `queues` is NULL. Returns 0. */
int rnic_stats_tell(const struct rnic_port_stats *all, struct rte_eth_stats *stats,
		    struct RNIC_QUEUE_STATS *queues);
/* In the primary process. */
void rnic_stats_read(struct rte_eth_dev *eth_dev, struct rnic_port_stats *stats);
int rnic_stats_reset(struct rte_eth_dev *eth_dev);
/* A queue comes into its slot of the port, whole for whoever reads. */
void rnic_stats_admit(struct rnic_ethdev *port, void **slot, void *queue);
/* It ends: its counters go into the sum, and it out of the slot, at once for whoever reads. */
void rnic_stats_retire(struct rnic_ethdev *port, struct rnic_queue_stats *sum, void **slot,
		       const struct rnic_queue_stats *stats);
/* Readers against the end of queues and of the device. */
void rnic_stats_lock(struct rnic_ethdev *port);
void rnic_stats_unlock(struct rnic_ethdev *port);
/* With the lock held: the device comes. Ask it, as long as whoever reads statistics may (port->ask_device). */
void rnic_stats_begin(struct rnic_ethdev *port);
void rnic_stats_poll(struct rnic_ethdev *port);

/* xstats.c */
int rnic_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names,
		      unsigned int size);
int rnic_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int size);
int rnic_xstats_reset(struct rte_eth_dev *eth_dev);
/* With the lock of the statistics held: the device comes; ask it. */
void rnic_xstats_begin(struct rnic_ethdev *port);
int rnic_xstats_poll(struct rnic_ethdev *port);

#endif
