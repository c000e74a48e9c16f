/* SPDX-License-Identifier: BSD-3-Clause */

/* What transmit queues offer, and how a packet asks for it. */
#ifndef RNIC_ETHDEV_TX_OFFLOAD_H
#define RNIC_ETHDEV_TX_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_mbuf.h>

#include "ethdev/tx_queue.h"
#include "prm/wqe.h"

struct rnic_dev;
struct rte_mbuf;

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

#endif
