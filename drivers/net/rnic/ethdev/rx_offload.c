/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What completions tell of frames beside their length: checksums, packet types, hashes, VLAN tags, times. A device tells
 * always; a queue has tables of what its application wants to know, which the burst function looks up.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mbuf_ptype.h>
#include <rte_version.h>

#include "base/log.h"
#include "core/dev.h"
#include "ethdev/port.h"
#include "ethdev/rx.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "object/rq.h"
#include "prm/caps.h"
#include "prm/cqe.h"

#define IP_FLAGS    (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_BAD)
#define L4_FLAGS    (RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD)
#define OTHER_FLAGS (~(uint32_t)(IP_FLAGS | L4_FLAGS))

/* Offloads for which the burst function has to look at more than lengths. */
#define TELLING                                                        \
	(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP | \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TIMESTAMP)

uint64_t
rnic_rx_offloads_of(const struct rnic_dev *dev)
{
	const struct rnic_ethernet_cap *cap = &dev->caps.ethernet;
	uint64_t offloads = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH |
			    RTE_ETH_RX_OFFLOAD_TIMESTAMP;

	if (rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_CSUM_CAP))
		offloads |= RTE_ETH_RX_OFFLOAD_CHECKSUM;
	if (rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_VLAN_CAP))
		offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	return offloads;
}

/* ---- Tables ---- */

static uint32_t
packet_type(uint8_t hdr_type)
{
	uint32_t ptype = RTE_PTYPE_L2_ETHER;

	switch (hdr_type & RNIC_CQE_L3_TYPE_MASK) {
	case RNIC_CQE_L3_IPV4:
		ptype |= hdr_type & RNIC_CQE_IP_OPTIONS ? RTE_PTYPE_L3_IPV4_EXT : RTE_PTYPE_L3_IPV4;
		break;
	case RNIC_CQE_L3_IPV6: ptype |= RTE_PTYPE_L3_IPV6_EXT_UNKNOWN; break;
	default: return ptype;
	}
	if (hdr_type & RNIC_CQE_IP_FRAGMENT)
		return ptype | RTE_PTYPE_L4_FRAG;
	switch (hdr_type & RNIC_CQE_L4_TYPE_MASK) {
	case RNIC_CQE_L4_TCP_NO_ACK:
	case RNIC_CQE_L4_TCP_ACK_NO_DATA:
	case RNIC_CQE_L4_TCP_ACK_AND_DATA: return ptype | RTE_PTYPE_L4_TCP;
	case RNIC_CQE_L4_UDP: return ptype | RTE_PTYPE_L4_UDP;
	default: return ptype;
	}
}

/* Of what flags_verified() says, that which is there and wanted; and the tag. */
static uint32_t
type_flags(uint8_t hdr_type, uint64_t offloads)
{
	uint32_t ptype = packet_type(hdr_type), flags = 0;

	if (RTE_ETH_IS_IPV4_HDR(ptype) && offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM)
		flags |= IP_FLAGS;
	if (((ptype & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP &&
	     offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM) ||
	    ((ptype & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_UDP &&
	     offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM))
		flags |= L4_FLAGS;
	/* No queue is without the tag and not told. */
	if (hdr_type & RNIC_CQE_VLAN_STRIPPED)
		flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	return flags;
}

/* Behind a bad IP header nothing is known of L4. */
static uint32_t
flags_verified(uint8_t ok)
{
	if (!(ok & RNIC_CQE_L3_OK))
		return OTHER_FLAGS | RTE_MBUF_F_RX_IP_CKSUM_BAD;
	return OTHER_FLAGS | RTE_MBUF_F_RX_IP_CKSUM_GOOD |
	       (ok & RNIC_CQE_L4_OK ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD);
}

void
rnic_rx_offloads_init(struct rnic_rxq *rxq, uint32_t ptype_mask)
{
	unsigned int i;

	rxq->ptypes = ptype_mask != 0;
	for (i = 0; i < RNIC_RX_BYTES; i++) {
		rxq->types[i].ptype = packet_type((uint8_t)i) & ptype_mask;
		rxq->types[i].flags = type_flags((uint8_t)i, rxq->offloads);
		rxq->verified[i] = flags_verified((uint8_t)i);
		rxq->hashed[i] = i != 0 && rxq->offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH
					 ? RTE_MBUF_F_RX_RSS_HASH
					 : 0;
	}
}

unsigned int
rnic_rx_tells(const struct rte_eth_dev *eth_dev)
{
	unsigned int tells = 0;
	const struct rnic_rxq *rxq;
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		rxq = eth_dev->data->rx_queues[i];
		if (rxq == NULL)
			continue;
		if (rxq->ptypes || rxq->offloads & TELLING)
			tells |= RNIC_RX_TELLS;
		if (rxq->timestamp_flag != 0)
			tells |= RNIC_RX_TELLS_TIME;
	}
	if (rnic_rx_not_compressed_why(rnic_ethdev_get(eth_dev)->dev, tells) == NULL)
		tells |= RNIC_RX_COMPRESSED;
	return tells;
}

int
rnic_rx_timestamps_init(struct rnic_rxq *rxq)
{
	if (!(rxq->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP))
		return 0;
	if (rte_mbuf_dyn_rx_timestamp_register(&rxq->timestamp_offset, &rxq->timestamp_flag) == 0)
		return 0;
	RNIC_LOG(ERR, rxq->dev, "Rx queue %u: no room in mbufs for timestamps: %s", rxq->queue_id,
		 rte_strerror(rte_errno));
	return -rte_errno;
}

/* ---- Packet types ---- */

static const uint32_t ptypes[] = {
	RTE_PTYPE_L2_ETHER,    RTE_PTYPE_L3_IPV4,
	RTE_PTYPE_L3_IPV4_EXT, RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_L4_FRAG,     RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L4_UDP,      RTE_PTYPE_UNKNOWN, /* the end */
};

#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
const uint32_t *
rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev, size_t *count)
{
	RTE_SET_USED(eth_dev);
	*count = RTE_DIM(ptypes) - 1;
	return ptypes;
}
#else
const uint32_t *
rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev)
{
	RTE_SET_USED(eth_dev);
	return ptypes;
}
#endif

int
rnic_rx_ptypes_set(struct rte_eth_dev *eth_dev, uint32_t ptype_mask)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	if (port->started) {
		RNIC_LOG(ERR, port->dev, "packet types: stop the port first");
		return -EBUSY;
	}
	port->ptype_mask = ptype_mask;
	return 0;
}

/* ---- VLAN tags ---- */

static int
set_strip(struct rte_eth_dev *eth_dev, uint16_t queue, bool strip)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_rxq *rxq = eth_dev->data->rx_queues[queue];
	int rc = 0;

	if (rxq == NULL)
		return 0;
	/* A tag that is taken out must be told of. */
	if (port->started && strip && !(port->rx_tells & RNIC_RX_TELLS)) {
		RNIC_LOG(ERR, port->dev,
			 "VLAN stripping: the port runs without any Rx offload; stop it first");
		return -EBUSY;
	}
	if (port->started)
		rc = rnic_rq_set_vlan_strip(port->dev, &rxq->rq, strip);
	if (rc != 0)
		return rc;
	if (strip)
		rxq->offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	else
		rxq->offloads &= ~RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	return 0;
}

int
rnic_rx_follow_vlan_strip(struct rte_eth_dev *eth_dev)
{
	bool strip = eth_dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	bool stripped[RNIC_RX_QUEUES_MAX];
	const struct rnic_rxq *rxq;
	uint16_t i;
	int rc = 0;

	for (i = 0; i < eth_dev->data->nb_rx_queues && rc == 0; i++) {
		rxq = eth_dev->data->rx_queues[i];
		stripped[i] = rxq != NULL && rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
		rc = set_strip(eth_dev, i, strip);
	}
	if (rc == 0)
		return 0;
	/* The last one has refused; for ethdev the others are as they were, too. */
	for (i--; i > 0; i--)
		(void)set_strip(eth_dev, i - 1, stripped[i - 1]);
	return rc;
}

void
rnic_rx_vlan_strip_queue_set(struct rte_eth_dev *eth_dev, uint16_t queue, int on)
{
	(void)set_strip(eth_dev, queue, on != 0);
}
