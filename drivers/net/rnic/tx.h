/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A transmit queue: a send queue, its completion queue, and the mbufs that the device has not given back.
 *
 * Every segment of a packet has one slot in `elts`; a WQE takes at most as many WQEBBs as its packets have segments, so
 * that room in `elts` is room in the ring, and one count serves for both. Only some WQEs ask for a completion; a
 * completion gives back everything up to the end of its WQE.
 */
#ifndef RNIC_TX_H
#define RNIC_TX_H

#include <stdint.h>

#include "ethdev.h"
#include "prm/wqe.h"
#include "rnic.h"

#define RNIC_TX_WQE_HEAD_DS 2 /* control and Ethernet segment */
/* Inline L2 header, with a VLAN tag: the least that some cards demand in each send WQE; takes one unit more. */
#define RNIC_TX_DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)
#define RNIC_TX_WQEBBS(ds)   (((ds) + RNIC_TX_DS_PER_WQEBB - 1) / RNIC_TX_DS_PER_WQEBB)
#define RNIC_TX_SEGS_MAX     (RNIC_WQE_DS_MAX - RNIC_TX_WQE_HEAD_DS - 1)
/* Segments after which a completion is asked for: a quarter of the smallest ring. */
#define RNIC_TX_SIGNAL	 32
#define RNIC_TX_ELTS_MIN 128

/* What a completion of the WQE that starts at this WQEBB means. */
struct rnic_tx_wqe {
	uint16_t elts_start, elts_end;
	uint16_t packets_start; /* low bits of stats.packets before it */
	uint16_t rsvd;
};

struct rnic_txq {
	/* hot: every burst */
	struct rnic_cq cq;
	struct rnic_sq sq;
	enum rnic_queue_state state; /* atomic */
	struct rte_mbuf **elts;
	struct rnic_tx_wqe *wqes;
	uint16_t elts_head, elts_tail, elts_mask; /* head and tail run free */
	uint16_t unsignalled; /* segments since the last WQE with a completion */
	/* atomic; a good packet has RTE_ETHER_HDR_LEN to that plus this many bytes */
	uint32_t length_span;
	bool fast_free;
	uint8_t inline_bytes; /* of each packet's start that go into its WQE: 0 or RNIC_INLINE_L2_BYTES */
	struct rnic_queue_stats stats;
	struct rnic_mkey_cache mkeys;

	/* cold */
	struct rnic_dev *dev;
	uint64_t offloads;
	uint16_t nb_desc, queue_id, port_id;
	uint8_t syndrome, vendor_syndrome; /* of the error completion */
	uint16_t wqe_counter;		   /* of the WQE that failed */
	bool recovery_unasked;		   /* no alarm could be set; the burst's own */
	bool error_unsaid;		   /* no line yet of the error completion */
	bool deferred_start;
	uint32_t first_consumer; /* index of the CQ when the SQ began at zero */
	struct rnic_error_lines error_lines;
};

struct rnic_tx_mode {
	const char *name;
	eth_tx_burst_t burst;
};
/* The fitting instance of the burst function for a device. */
const struct rnic_tx_mode *rnic_tx_mode_get(const struct rnic_dev *dev);
uint16_t rnic_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t count);

/* txq.c */
int rnic_txq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc,
		   unsigned int socket, const struct rte_eth_txconf *conf);
void rnic_txq_release(struct rte_eth_dev *eth_dev, uint16_t queue);
void rnic_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info);
int rnic_txq_start(struct rnic_txq *txq, uint16_t mtu);
/* Packets of more than the MTU and RNIC_FRAME_OVERHEAD are counted as errors from now on. Any thread, at any time. */
void rnic_txq_set_mtu(struct rnic_txq *txq, uint16_t mtu);
int rnic_txq_stop(struct rnic_txq *txq);
int rnic_txq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_txq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue);
/* ethdev's tx_descriptor_status. */
int rnic_txq_descriptor_status(void *queue, uint16_t offset);
/* From the burst: an error completion was seen. */
void rnic_txq_failed(struct rnic_txq *txq);
/* From the burst, in any state but running: ask again for a recovery; after it, count what was lost, free it, run again. */
void rnic_txq_restart(struct rnic_txq *txq);
/* ethdev's tx_done_cleanup: how many mbufs were given back. */
int rnic_txq_done_cleanup(void *queue, uint32_t count);

/* tx.c: give back the mbufs of [elts_tail, end). */
void rnic_tx_free(struct rnic_txq *txq, uint16_t end);
/* Take completions; false: the queue is in error now. */
bool rnic_tx_reap(struct rnic_txq *txq);
/* Post a NOP that asks for a completion; there must be room. */
void rnic_tx_post_nop(struct rnic_txq *txq);

#endif
