/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A receive queue: a cyclic receive queue, its completion queue, and the mbufs that stand in it.
 *
 * A frame takes exactly one WQE, in order, so completions need no lookup. A WQE has 2^log_segs slots for mbufs in `elts`,
 * of which `segs` are used; a frame that needs fewer leaves the rest in place.
 */
#ifndef RNIC_RX_H
#define RNIC_RX_H

#include <stdint.h>

#include <rte_vect.h>
#include <rte_version.h>

#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "core/dev.h"

#define RNIC_RX_REFILL	 32 /* WQEs refilled at once, at most half of the smallest ring */
#define RNIC_RX_SEGS_MAX 16
#define RNIC_RX_WQES_MIN 16

struct rnic_rxq {
	/* hot: every burst */
	struct rnic_cq cq;
	struct rnic_rq rq;
	enum rnic_queue_state state; /* atomic */
	uint16_t consumer;	     /* WQEs, free running */
	uint8_t log_segs, segs;
	uint32_t segment_bytes; /* room for data in one mbuf, behind the headroom */
	uint32_t frame_bytes;	/* the largest frame that a WQE takes */
	struct rte_mbuf **elts;
	struct rte_mempool *pool;
	uint64_t rearm; /* rearm_data of a fresh mbuf */
	struct rnic_queue_stats stats;
	struct rnic_mkey_cache mkeys;

	/* rx_offload.c: what the bytes of a completion mean, flags as those of mbufs; only if the port tells */
	uint64_t timestamp_flag; /* 0: no timestamps */
	int timestamp_offset;
#define RNIC_RX_BYTES 256
	struct rnic_rx_type {
		uint32_t ptype, flags;
	} types[RNIC_RX_BYTES];		  /* l4_l3_hdr_type */
	uint32_t verified[RNIC_RX_BYTES]; /* hds_ip_ext; of `flags` those that hold */
	uint32_t hashed[RNIC_RX_BYTES];	  /* rx_hash_type */

	/* cold */
	struct rnic_dev *dev;
	struct rte_mempool *registered; /* the pool, while it is registered for this queue */
	uint64_t offloads;
	bool ptypes;	/* any are wanted */
	uint32_t slots; /* in elts */
	unsigned int socket;
	uint16_t nb_desc, queue_id, port_id;
	struct rnic_recovery recovery;
	bool deferred_start;

	/* rx_intr.c: while the port runs with Rx interrupts */
	struct rnic_eq *eq;
	uint32_t arm_sequence; /* of the next arming */
	bool armed;	       /* atomic: once, since the port runs */
};

/* What the burst functions of a port tell of a frame: */
#define RNIC_RX_TELLS	   0x1 /* all but when it came */
#define RNIC_RX_TELLS_TIME 0x2 /* that, too */
struct rnic_rx_mode {
	const char *name;
	eth_rx_burst_t burst;
};
const struct rnic_rx_mode *rnic_rx_mode_get(const struct rnic_dev *dev, bool scattered,
					    unsigned int tells);

/* rx_offload.c */
/* What the device can do. */
uint64_t rnic_rx_offloads_of(const struct rnic_dev *dev);
/* The queue's tables, from its offloads and the packet types that are wanted; it does not run. */
void rnic_rx_offloads_init(struct rnic_rxq *rxq, uint32_t ptype_mask);
/* If its offloads ask for them. */
int rnic_rx_timestamps_init(struct rnic_rxq *rxq);
/* RNIC_RX_TELLS... of all queues together. */
unsigned int rnic_rx_tells(const struct rte_eth_dev *eth_dev);
/* ethdev's; since 24.03 it wants their number, before that their end. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
const uint32_t *rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev, size_t *count);
#else
const uint32_t *rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev);
#endif
int rnic_rx_ptypes_set(struct rte_eth_dev *eth_dev, uint32_t ptype_mask);
/* All queues as the port's offloads say. */
int rnic_rx_follow_vlan_strip(struct rte_eth_dev *eth_dev);
void rnic_rx_vlan_strip_queue_set(struct rte_eth_dev *eth_dev, uint16_t queue, int on);

/* rxq.c */
int rnic_rxq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc,
		   unsigned int socket, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *pool);
void rnic_rxq_release(struct rte_eth_dev *eth_dev, uint16_t queue);
void rnic_rxq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_rxq_info *info);
/* Does a WQE of the queue take frames of this MTU, as it stands? */
bool rnic_rxq_fits(const struct rnic_rxq *rxq, uint16_t mtu);
int rnic_rxq_start(struct rnic_rxq *rxq, uint16_t mtu);
int rnic_rxq_stop(struct rnic_rxq *rxq);
/* Of a queue of a port that runs: it holds no mbufs and takes no frames; and again. Frames for it are missed. */
int rnic_rxq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_rxq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue);
/* ethdev's rx_queue_count and rx_descriptor_status. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
typedef int rnic_rxq_count_t;
#else
typedef uint32_t rnic_rxq_count_t;
#endif
rnic_rxq_count_t rnic_rxq_count(void *queue);
int rnic_rxq_descriptor_status(void *queue, uint16_t offset);

/* rx_intr.c: what the control thread does for event queues of Rx interrupts. */
extern const struct rnic_control_source rnic_rx_intr_source;
/* Before the queues are made, if the port is configured so; before they go, and after; what the device has is woken. */
int rnic_rx_intr_start(struct rte_eth_dev *eth_dev);
void rnic_rx_intr_quiet(struct rte_eth_dev *eth_dev);
void rnic_rx_intr_stop(struct rte_eth_dev *eth_dev);
int rnic_rx_intr_enable(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_rx_intr_disable(struct rte_eth_dev *eth_dev, uint16_t queue);
/* A queue with interrupts (rxq->eq) goes on with its next burst: a thread that sleeps on it shall make one. Any thread. */
void rnic_rx_intr_ready(struct rnic_dev *dev, uint16_t queue);
/* Who sleeps on any queue shall look: the device is lost. Any thread. */
void rnic_rx_intr_wake(struct rnic_dev *dev);

/* rx.c: fill all free WQEs and publish them; false: the pool ran dry before. */
bool rnic_rx_refill_all(struct rnic_rxq *rxq);
/* From the burst, in any state but running: after a recovery the ring is filled again. There is nothing to be taken yet. */
void rnic_rx_restart(struct rnic_rxq *rxq);

#endif
