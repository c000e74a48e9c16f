/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the device does to packets that it sends: which of it a queue offers, how a packet asks for it, and the checks
 * before a burst. The device finds headers by itself and makes checksums from scratch: no field needs a pseudo-header's
 * sum, and prepared packets are as they were.
 */

#include <errno.h>
#include <stdatomic.h>

#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "core/dev.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "prm/caps.h"
#include "prm/wqe.h"

#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */

/* ---- What is offered ---- */

uint64_t
rnic_tx_offloads_of(const struct rnic_dev *dev)
{
	const struct rnic_ethernet_cap *cap = &dev->caps.ethernet;
	/* A tag can always stand in an inline header. */
	uint64_t offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
			    RTE_ETH_TX_OFFLOAD_VLAN_INSERT;

	if (rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_CSUM_CAP)) {
		offloads |= RNIC_TX_CHECKSUM_OFFLOADS;
		if (rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_MAX_LSO_CAP) > 0)
			offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
	}
	return offloads;
}

static uint8_t
checksum_flags(uint64_t offloads, uint64_t ol_flags)
{
	uint8_t cs_flags = 0;
	uint64_t needs = 0;

	switch (ol_flags & RTE_MBUF_F_TX_L4_MASK) {
	case RTE_MBUF_F_TX_L4_NO_CKSUM: break;
	case RTE_MBUF_F_TX_TCP_CKSUM: needs |= RTE_ETH_TX_OFFLOAD_TCP_CKSUM; break;
	case RTE_MBUF_F_TX_UDP_CKSUM: needs |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM; break;
	default: return RNIC_TX_REFUSED;
	}
	if (needs != 0)
		cs_flags |= RNIC_WQE_ETH_L4_CSUM;
	if (ol_flags & RTE_MBUF_F_TX_IP_CKSUM) {
		needs |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
		cs_flags |= RNIC_WQE_ETH_L3_CSUM;
	}
	return (offloads & needs) == needs ? cs_flags : RNIC_TX_REFUSED;
}

void
rnic_tx_offloads_init(struct rnic_txq *txq)
{
	const struct rnic_ethernet_cap *cap = &txq->dev->caps.ethernet;
	struct rnic_tx_offloads *does = &txq->does;
	unsigned int i;

	does->refused = RNIC_TX_ASKS & ~RNIC_TX_CHECKSUMS;
	if (txq->offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)
		does->refused &= ~RTE_MBUF_F_TX_VLAN;
	if (txq->offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO)
		does->refused &= ~RTE_MBUF_F_TX_TCP_SEG;
	for (i = 0; i < RTE_DIM(does->cs_flags); i++)
		does->cs_flags[i] = checksum_flags(txq->offloads, (uint64_t)i << 52);
	does->tag_in_segment = rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_WQE_VLAN_INSERT);
	does->lso_bytes = 1u << rnic_ethernet_cap_get(cap, RNIC_ETHERNET_CAP_MAX_LSO_CAP);
}

/* ---- A packet's WQE ---- */

/* *wire: the length of the longest frame that it becomes. */
static int
plan_large(const struct rnic_txq *txq, const struct rte_mbuf *packet, struct rnic_tx_plan *plan,
	   uint32_t *wire)
{
	uint32_t header = packet->l2_len + packet->l3_len + packet->l4_len;
	uint32_t tag = packet->ol_flags & RTE_MBUF_F_TX_VLAN ? RTE_VLAN_HLEN : 0;
	uint64_t l4 = packet->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint32_t payload = packet->pkt_len - header, mss = packet->tso_segsz;

	if (l4 != RTE_MBUF_F_TX_L4_NO_CKSUM && l4 != RTE_MBUF_F_TX_TCP_CKSUM)
		return -EINVAL;
	if (packet->l2_len < RTE_ETHER_HDR_LEN || packet->l3_len < sizeof(struct rte_ipv4_hdr) ||
	    packet->l4_len < sizeof(struct rte_tcp_hdr) || header + tag > RNIC_TX_HEADER_MAX ||
	    header > packet->pkt_len)
		return -EINVAL;
	/* Flags or not: what the headers have would be the checksums of another packet. */
	plan->eth.cs_flags = RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM;
	*wire = packet->pkt_len;
	if (payload == 0)
		return 0;
	if (mss < RNIC_TX_MSS_MIN || payload > txq->does.lso_bytes ||
	    packet->nb_segs > RNIC_TX_LSO_SEGS_MAX)
		return -EINVAL;
	plan->opcode = RNIC_WQE_LSO;
	plan->eth.mss = rnic_cpu_to_be16((uint16_t)mss);
	plan->header_bytes = (uint16_t)header;
	*wire = header + RTE_MIN(payload, mss);
	return 0;
}

static void
plan_tag(const struct rnic_txq *txq, const struct rte_mbuf *packet, struct rnic_tx_plan *plan)
{
	if (txq->does.tag_in_segment && plan->header_bytes == 0) {
		plan->eth.inline_header_size = rnic_cpu_to_be16(RNIC_WQE_ETH_INSERT_VLAN);
		plan->eth.inline_header_start[0] = packet->vlan_tci >> 8;
		plan->eth.inline_header_start[1] = packet->vlan_tci & 0xff;
		return;
	}
	plan->inline_tag = true;
	if (plan->opcode != RNIC_WQE_LSO)
		plan->header_bytes = RTE_ETHER_HDR_LEN;
}

static int
plan_offloads(const struct rnic_txq *txq, const struct rte_mbuf *packet, struct rnic_tx_plan *plan,
	      uint32_t *wire)
{
	int rc;

	if (packet->ol_flags & txq->does.refused)
		return -ENOTSUP;
	if (packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		rc = plan_large(txq, packet, plan, wire);
		if (rc != 0)
			return rc;
	} else {
		plan->eth.cs_flags = txq->does.cs_flags[rnic_tx_checksum_index(packet->ol_flags)];
		if (plan->eth.cs_flags == RNIC_TX_REFUSED)
			return -ENOTSUP;
	}
	/* The device would look at the outer headers. */
	if (plan->eth.cs_flags != 0 && packet->ol_flags & RNIC_TX_TUNNEL)
		return -ENOTSUP;
	if (packet->ol_flags & RTE_MBUF_F_TX_VLAN) {
		plan_tag(txq, packet, plan);
		*wire += RTE_VLAN_HLEN;
	}
	return 0;
}

int
rnic_tx_plan(const struct rnic_txq *txq, const struct rte_mbuf *packet, struct rnic_tx_plan *plan)
{
	uint32_t span = atomic_load_explicit(&txq->length_span, memory_order_relaxed);
	uint32_t wire = packet->pkt_len;
	int rc;

	*plan = (struct rnic_tx_plan){
		.opcode = RNIC_WQE_SEND,
		.header_bytes = RTE_MIN(packet->pkt_len, (uint32_t)txq->inline_bytes),
	};
	if (packet->nb_segs > RNIC_TX_SEGS_MAX || packet->pkt_len < RTE_ETHER_HDR_LEN)
		return -EINVAL;
	if (packet->ol_flags & RNIC_TX_ASKS) {
		rc = plan_offloads(txq, packet, plan, &wire);
		if (rc != 0)
			return rc;
	}
	return wire - RTE_ETHER_HDR_LEN <= span ? 0 : -EINVAL;
}

/* ---- Before a burst, and of large sends in it: are the headers where the packet says, so that the device will find them? ---- */

struct headers {
	uint32_t l2, l3; /* bytes */
	uint32_t ip_bytes;
	uint8_t proto; /* of a whole packet; 0: a fragment */
	bool ipv4;
};

static bool
parse_ip(const uint8_t *ip, uint32_t bytes, uint16_t type, struct headers *headers)
{
	struct rte_ipv4_hdr v4;
	struct rte_ipv6_hdr v6;

	if (type == RTE_ETHER_TYPE_IPV4 && bytes >= sizeof(v4)) {
		memcpy(&v4, ip, sizeof(v4));
		headers->ipv4 = true;
		headers->l3 = rte_ipv4_hdr_len(&v4);
		headers->ip_bytes = rte_be_to_cpu_16(v4.total_length);
		headers->proto = v4.fragment_offset & rte_cpu_to_be_16(IPV4_FRAGMENT_MASK)
					 ? 0
					 : v4.next_proto_id;
		return v4.version_ihl >> 4 == 4 && headers->l3 >= sizeof(v4);
	}
	if (type == RTE_ETHER_TYPE_IPV6 && bytes >= sizeof(v6)) {
		memcpy(&v6, ip, sizeof(v6));
		headers->ipv4 = false;
		headers->l3 = sizeof(v6);
		headers->ip_bytes = sizeof(v6) + rte_be_to_cpu_16(v6.payload_len);
		headers->proto = v6.proto;
		return ip[0] >> 4 == 6;
	}
	return false;
}

/* As the device does, behind two tags at most, of which `tags` are yet to come. */
static bool
headers_parse(const uint8_t *head, uint32_t bytes, unsigned int tags, struct headers *headers)
{
	uint32_t at = 2 * RTE_ETHER_ADDR_LEN;
	uint16_t type;

	for (;; tags++, at += RTE_VLAN_HLEN) {
		if (bytes < at + sizeof(type))
			return false;
		type = (uint16_t)(head[at] << 8 | head[at + 1]);
		if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
			break;
		if (tags == 2)
			return false;
	}
	headers->l2 = at + sizeof(type);
	return parse_ip(head + headers->l2, bytes - headers->l2, type, headers);
}

/* The header of the protocol that is asked for, whole, and its packet as well. */
static bool
l4_fits(const struct rte_mbuf *packet, const uint8_t *head, uint32_t bytes,
	const struct headers *headers)
{
	bool udp = (packet->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_UDP_CKSUM;
	uint32_t least = udp ? sizeof(struct rte_udp_hdr) : sizeof(struct rte_tcp_hdr);
	uint32_t at = headers->l2 + headers->l3;
	struct rte_tcp_hdr tcp;

	if (headers->proto != (udp ? IPPROTO_UDP : IPPROTO_TCP) || bytes < at + least)
		return false;
	if (!(packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG))
		return headers->ip_bytes >= headers->l3 + least &&
		       headers->ip_bytes <= packet->pkt_len - headers->l2;
	memcpy(&tcp, head + at, sizeof(tcp));
	return (tcp.data_off >> 4) * 4u == packet->l4_len;
}

static bool
head_fits(const struct rte_mbuf *packet, uint8_t cs_flags, const uint8_t *head, uint32_t bytes)
{
	struct headers headers;

	if (!headers_parse(head, bytes, (packet->ol_flags & RTE_MBUF_F_TX_VLAN) != 0, &headers) ||
	    headers.l2 != packet->l2_len || headers.l3 != packet->l3_len)
		return false;
	if (packet->ol_flags & RTE_MBUF_F_TX_IP_CKSUM && !headers.ipv4)
		return false;
	return !(cs_flags & RNIC_WQE_ETH_L4_CSUM) || l4_fits(packet, head, bytes, &headers);
}

bool
rnic_tx_large_fits(const struct rte_mbuf *packet, const uint8_t *header, uint32_t bytes)
{
	return head_fits(packet, RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM, header, bytes);
}

static bool
headers_fit(const struct rte_mbuf *packet, uint8_t cs_flags)
{
	uint32_t bytes = RTE_MIN(packet->pkt_len, (uint32_t)RNIC_TX_HEADER_MAX);
	uint8_t copy[RNIC_TX_HEADER_MAX];
	const uint8_t *head = rte_pktmbuf_read(packet, 0, bytes, copy);

	return head != NULL && head_fits(packet, cs_flags, head, bytes);
}

uint16_t
rnic_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t count)
{
	const struct rnic_txq *txq = queue;
	struct rnic_tx_plan plan;
	uint16_t i;
	int rc = 0;

	for (i = 0; i < count; i++) {
		rc = rnic_tx_plan(txq, pkts[i], &plan);
		if (rc == 0 && plan.eth.cs_flags != 0 && !headers_fit(pkts[i], plan.eth.cs_flags))
			rc = -EINVAL;
		if (rc != 0) {
			rte_errno = -rc;
			break;
		}
	}
	return i;
}
