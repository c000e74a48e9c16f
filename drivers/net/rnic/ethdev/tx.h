/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A transmit queue: a send queue, its completion queue, and the mbufs that the device has not given back.
 *
 * Every segment of a packet has one slot in `elts`; a WQE takes at most as many WQEBBs as its packets have segments, so
 * that room in `elts` is room in the ring, and one count serves for both. Large sends alone, which carry their headers,
 * may take more: a queue that was configured for them looks at both. Only some WQEs ask for a completion; a completion
 * gives back everything up to the end of its WQE.
 */
#ifndef RNIC_TX_H
#define RNIC_TX_H

#include <stdint.h>

#include "ethdev/port.h"
#include "prm/wqe.h"
#include "ethdev/recovery.h"
#include "core/dev.h"

#define RNIC_TX_WQE_HEAD_DS  2 /* control and Ethernet segment */
#define RNIC_TX_DS_PER_WQEBB (RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES)
#define RNIC_TX_WQEBBS(ds)   (((ds) + RNIC_TX_DS_PER_WQEBB - 1) / RNIC_TX_DS_PER_WQEBB)
/* One unit is left for an inline L2 header, which some cards demand in each send WQE. */
#define RNIC_TX_SEGS_MAX (RNIC_WQE_DS_MAX - RNIC_TX_WQE_HEAD_DS - 1)
/* Segments after which a completion is asked for: a quarter of the smallest ring. */
#define RNIC_TX_SIGNAL	 32
#define RNIC_TX_ELTS_MIN 128

/* Headers of a large send: Ethernet with two tags, IP and TCP with all options; and what they add to its WQE. */
#define RNIC_TX_HEADER_MAX   (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + 60 + 60)
#define RNIC_TX_HEADER_DS    ((RNIC_TX_HEADER_MAX - 2 + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES)
#define RNIC_TX_LSO_SEGS_MAX (RNIC_WQE_DS_MAX - RNIC_TX_WQE_HEAD_DS - RNIC_TX_HEADER_DS)
#define RNIC_TX_LSO_WQEBBS   2 /* beyond its segments, at most */
/* No TCP has smaller segments; one WQE shall not become tens of thousands of frames. */
#define RNIC_TX_MSS_MIN 32

/* What the device would have to do; the rest of the flags only say what the packet is. */
#define RNIC_TX_TUNNEL \
	(RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 | RTE_MBUF_F_TX_TUNNEL_MASK)
#define RNIC_TX_ASKS \
	(RTE_MBUF_F_TX_OFFLOAD_MASK & ~(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RNIC_TX_TUNNEL))
#define RNIC_TX_CHECKSUMS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)

/* What a queue does to packets, as it was configured (tx_offload.c). */
struct rnic_tx_offloads {
	uint64_t refused; /* of RNIC_TX_ASKS less the checksums */
	/* Flags of the Ethernet segment for three bits of ol_flags, checksums of IP and L4; or RNIC_TX_REFUSED. */
	uint8_t cs_flags[8];
	bool tag_in_segment; /* VLAN tags are the Ethernet segment's, not part of an inline header */
	uint32_t lso_bytes;  /* payload of a large send */
};
#define RNIC_TX_REFUSED 0xff
static inline unsigned int
rnic_tx_checksum_index(uint64_t ol_flags)
{
	return ol_flags >> 52 & 7;
}
_Static_assert(RNIC_TX_CHECKSUMS == UINT64_C(7) << 52, "flags of checksums");

/* The WQE of a packet that has one of its own. */
struct rnic_tx_plan {
	struct rnic_wqe_eth eth;
	enum rnic_wqe_opcode opcode;
	uint16_t header_bytes; /* of the packet's, that are inline */
	bool inline_tag;       /* a VLAN tag goes into them */
};

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
	enum rnic_queue_state state; /* atomic */
	struct rte_mbuf **elts;
	struct rnic_tx_wqe *wqes;
	uint16_t elts_head, elts_tail, elts_mask; /* head and tail run free */
	uint16_t unsignalled; /* segments since the last WQE with a completion */
	/* atomic; a good packet has RTE_ETHER_HDR_LEN to that plus this many bytes */
	uint32_t length_span;
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

struct rnic_tx_mode {
	const char *name;
	eth_tx_burst_t burst;
};
/* The fitting instance of the burst function for a device, and what its queues offer together. */
const struct rnic_tx_mode *rnic_tx_mode_get(const struct rnic_dev *dev, uint64_t offloads);

/* tx_offload.c */
#define RNIC_TX_CHECKSUM_OFFLOADS                                       \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
/* Those that packets ask for. */
#define RNIC_TX_PACKET_OFFLOADS \
	(RNIC_TX_CHECKSUM_OFFLOADS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_TCP_TSO)
/* What the device can do. */
uint64_t rnic_tx_offloads_of(const struct rnic_dev *dev);
/* Fills `does` from `offloads`. */
void rnic_tx_offloads_init(struct rnic_txq *txq);
/*
 * How the packet is to be sent, lengths and flags looked at, but not its bytes. -ENOTSUP: the queue does not do that;
 * -EINVAL: not as it is.
 */
int rnic_tx_plan(const struct rnic_txq *txq, const struct rte_mbuf *packet,
		 struct rnic_tx_plan *plan);
/*
 * The header of a large send: is it where the packet says, and what the device can cut? It would take the whole queue into
 * error for one that is not.
 */
bool rnic_tx_large_fits(const struct rte_mbuf *packet, const uint8_t *header, uint32_t bytes);
uint16_t rnic_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t count);

/* Units of 16 bytes behind the Ethernet segment that inline bytes take. */
static inline uint32_t
rnic_tx_header_ds(uint32_t bytes)
{
	const uint32_t in_segment = 2;

	return bytes > in_segment ? (bytes - in_segment + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES
				  : 0;
}

/* Slots of elts for the next packets, with ring behind them. */
static inline uint32_t
rnic_tx_room(const struct rnic_txq *txq)
{
	uint32_t elts = txq->slots - (uint16_t)(txq->elts_head - txq->elts_tail);
	uint32_t wqebbs = txq->sq.mask + 1u - (uint16_t)(txq->sq.producer - txq->sq_tail);

	return txq->offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO ? RTE_MIN(elts, wqebbs) : elts;
}

/* txq.c */
int rnic_txq_setup(struct rte_eth_dev *eth_dev, uint16_t queue, uint16_t nb_desc,
		   unsigned int socket, const struct rte_eth_txconf *conf);
void rnic_txq_release(struct rte_eth_dev *eth_dev, uint16_t queue);
void rnic_txq_info(struct rte_eth_dev *eth_dev, uint16_t queue, struct rte_eth_txq_info *info);
/* Of all queues together. */
uint64_t rnic_txq_offloads(const struct rte_eth_dev *eth_dev);
int rnic_txq_start(struct rnic_txq *txq, uint16_t mtu);
/* Packets of more than the MTU and RNIC_FRAME_OVERHEAD are counted as errors from now on. Any thread, at any time. */
void rnic_txq_set_mtu(struct rnic_txq *txq, uint16_t mtu);
int rnic_txq_stop(struct rnic_txq *txq);
int rnic_txq_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_txq_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue);
/* ethdev's tx_descriptor_status. */
int rnic_txq_descriptor_status(void *queue, uint16_t offset);
/*
 * ethdev's tx_done_cleanup: how many packets were given back; no more completions are taken once those had `count` mbufs,
 * unless that is 0: never more packets than asked for, but for those that share the last completion.
 */
int rnic_txq_done_cleanup(void *queue, uint32_t count);

/* tx.c: give back the mbufs of [elts_tail, end). */
void rnic_tx_free(struct rnic_txq *txq, uint16_t end);
/* The packets from the failed WQE on were counted when they were posted: no longer. Returns how many they are. */
uint16_t rnic_tx_count_lost(struct rnic_txq *txq);
/* Nothing is in the rings. */
void rnic_tx_rings_begin(struct rnic_txq *txq);
/* From the burst, in any state but running: after a recovery what was lost is counted and freed, and the queue runs. */
void rnic_tx_restart(struct rnic_txq *txq);
/* Take completions, until `enough` mbufs were given back; false: the queue is in error now. */
#define RNIC_TX_REAP_ALL UINT32_MAX
bool rnic_tx_reap(struct rnic_txq *txq, uint32_t enough);
/* Post a NOP that asks for a completion; there must be room. */
void rnic_tx_post_nop(struct rnic_txq *txq);

#endif
