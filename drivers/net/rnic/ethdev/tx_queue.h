/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A transmit queue: a send queue, its completion queue, and the mbufs that the device has not given back.
 *
 * Every segment of a packet has one slot in `elts`; a WQE takes at most as many WQEBBs as its packets have segments, so
 * that room in `elts` is room in the ring, and one count serves for both. Large sends alone, which carry their headers,
 * may take more: a queue that was configured for them looks at both. Only some WQEs ask for a completion; a completion
 * gives back everything up to the end of its WQE.
 */
#ifndef RNIC_ETHDEV_TX_QUEUE_H
#define RNIC_ETHDEV_TX_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_common.h>

#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/sq.h"
#include "prm/wqe.h"

struct rnic_dev;
struct rte_mbuf;

#define RNIC_TX_WQE_HEAD_DS  2 /* control and Ethernet segment */
#define RNIC_TX_DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)
#define RNIC_TX_WQEBBS(ds)   (((ds) + RNIC_TX_DS_PER_WQEBB - 1) / RNIC_TX_DS_PER_WQEBB)
/* One unit is left for an inline L2 header, which some cards demand in each send WQE. */
#define RNIC_TX_SEGS_MAX (RNIC_WQE_DS_MAX - RNIC_TX_WQE_HEAD_DS - 1)
/* Segments after which a completion is asked for: a quarter of the smallest ring. */
#define RNIC_TX_SIGNAL	 32
#define RNIC_TX_ELTS_MIN 128

/* What a queue does to packets, as it was configured (tx_offload.c). */
struct rnic_tx_offloads {
	uint64_t refused; /* of RNIC_TX_ASKS less the checksums */
	/* Flags of the Ethernet segment for three bits of ol_flags, checksums of IP and L4; or RNIC_TX_REFUSED. */
	uint8_t cs_flags[8];
	bool tag_in_segment; /* VLAN tags are the Ethernet segment's, not part of an inline header */
	uint32_t lso_bytes;  /* payload of a large send */
};
#define RNIC_TX_REFUSED 0xff

/* What a completion of the WQE that starts at this WQEBB means. */
struct rnic_tx_wqe {
	uint16_t elts_start, elts_end;
	uint16_t packets_start; /* low bits of stats.packets before it */
	uint16_t sq_end;	/* WQEBB behind it */
};

struct rnic_txq {
	/* hot: every burst */
	struct rnic_cq cq;
	struct rnic_sq sq;
	_Atomic enum rnic_queue_state state;
	struct rte_mbuf **elts;
	struct rnic_tx_wqe *wqes;
	uint16_t elts_head, elts_tail, elts_mask; /* head and tail run free */
	uint16_t unsignalled; /* segments since the last WQE with a completion */
	/* a good packet has RTE_ETHER_HDR_LEN to that plus this many bytes */
	_Atomic uint32_t length_span;
	bool fast_free;
	uint8_t inline_bytes; /* of each packet's start that go into its WQE: 0 or RNIC_INLINE_L2_BYTES */
	/* the WQE that was completed last ended here */
	uint16_t sq_tail;
	/* of elts that packets may have: all, less one while a NOP has its WQEBB */
	uint16_t slots;
	bool nop_posted;  /* by a cleanup, and not known to be completed */
	uint16_t nop_end; /* WQEBB behind that one */
	struct rnic_queue_stats stats;
	struct rnic_mkey_cache mkeys;
	struct rnic_tx_offloads does;

	/* cold */
	struct rnic_dev *dev;
	uint64_t offloads;
	uint16_t nb_desc, queue_id, port_id;
	uint16_t wqe_counter; /* of the WQE that failed */
	bool deferred_start;
	struct rnic_recovery recovery;
};

/* Slots of elts for the next packets, with ring behind them. */
static inline uint32_t
rnic_tx_room(const struct rnic_txq *txq)
{
	uint32_t elts = txq->slots - (uint16_t)(txq->elts_head - txq->elts_tail);
	uint32_t wqebbs = txq->sq.mask + 1u - (uint16_t)(txq->sq.producer - txq->sq_tail);

	return txq->offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO ? RTE_MIN(elts, wqebbs) : elts;
}

#endif
