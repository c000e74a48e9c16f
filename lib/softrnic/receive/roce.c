/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs in: addresses, port, and the queue pair that they are for, while the sender waits. */
#include <rte_branch_prediction.h>

#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/qp_datagram.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/decode.h"

#define COMPLETIONS_FREE 16 /* of an answer; two of the others are like a frame */

/*
 * Low bytes of UDP's source port and length, and the opcode, of IPv4 without a tag; other frames have others there, which spread
 * less.
 */
#define SEEN_SOURCE (SOFTRNIC_ETH_HEADER + ROCEV2_IPV4_BYTES + 1)
#define SEEN_LENGTH (SOFTRNIC_ETH_HEADER + ROCEV2_IPV4_BYTES + 5)
#define SEEN_OPCODE (SOFTRNIC_ETH_HEADER + ROCEV2_IPV4_BYTES + ROCEV2_UDP_BYTES)

/* "Congestion experienced", of the traffic class (RFC 3168). */
#define ECN_MASK 3
#define ECN_CE	 3

_Static_assert(SOFTRNIC_FRAME_PIECES + SOFTRNIC_FRAME_SPARE <= ROCE_PKT_PIECES,
	       "a frame's pieces are not more than a packet's");
_Static_assert(SOFTRNIC_ETH_HEAD_MAX == ROCEV2_HEAD_MAX,
	       "what is kept of a frame is what is decoded of it");

/* ---- Whose it is ---- */

/* A frame with a tag of VLAN 0, which is only a priority, is one without. */
static inline uint16_t
roce_vlan(const struct rocev2_frame *head)
{
	return head->tagged ? head->tci & ROCEV2_VLAN_MASK : 0;
}

static inline bool
roce_addr_fits(const struct softrnic_roce_addr *addr, const struct rocev2_frame *head)
{
	return addr->valid && memcmp(addr->gid, head->dgid, sizeof(addr->gid)) == 0 &&
	       (addr->tagged ? addr->vlan : 0) == roce_vlan(head);
}

/* Of a group there is no entry: it is on each VLAN that some address is on. */
static bool
roce_vlan_is_ours(const struct softrnic *dev, const struct rocev2_frame *head)
{
	const struct softrnic_roce_addr *addr = dev->roce_addrs;

	for (uint32_t i = 0; i < SOFTRNIC_ROCE_ADDRS; i++, addr++) {
		if (addr->valid && (addr->tagged ? addr->vlan : 0) == roce_vlan(head))
			return true;
	}
	return false;
}

bool
softrnic_roce_takes(struct softrnic *dev, const struct rocev2_frame *head)
{
	if (!dev->port.roce_enabled)
		return false;
	if (!softrnic_eth_own_address(&dev->port, head->dmac))
		return softrnic_mcg_takes(dev, head) && roce_vlan_is_ours(dev, head);
	/* Most come to the address that the one before came to. */
	if (roce_addr_fits(&dev->roce_addrs[dev->roce_addr_last], head))
		return true;
	for (uint32_t i = 0; i < SOFTRNIC_ROCE_ADDRS; i++) {
		if (roce_addr_fits(&dev->roce_addrs[i], head)) {
			dev->roce_addr_last = i;
			return true;
		}
	}
	return false;
}

/* Does it come the way that the queue pair's path says? */
static inline bool
roce_path_fits(const struct softrnic *dev, const struct softrnic_qp *qp,
	       const struct rocev2_frame *head)
{
	return roce_addr_fits(&dev->roce_addrs[qp->source_index], head) &&
	       memcmp(head->sgid, qp->frame.dgid, sizeof(head->sgid)) == 0;
}

/* ---- To its queue pair ---- */

/* Sent by one of our own addresses, as far as it says. */
static bool
roce_is_from_us(const struct softrnic *dev, const struct rocev2_frame *head)
{
	for (uint32_t i = 0; i < SOFTRNIC_ROCE_ADDRS; i++) {
		if (dev->roce_addrs[i].valid &&
		    memcmp(dev->roce_addrs[i].gid, head->sgid, sizeof(head->sgid)) == 0)
			return true;
	}
	return false;
}

/* To a group: each member has it, or not, by itself. */
static void
roce_deliver_group(struct softrnic *dev, const struct rocev2_frame *head,
		   const struct roce_pkt *pkt)
{
	const struct softrnic_mcg *group = softrnic_mcg_find(dev, head->dgid);
	const struct softrnic_mcg_member *member;
	struct softrnic_qp *qp;

	if (group == NULL || pkt->dest_qpn != SOFTRNIC_MCG_QPN) {
		dev->stats.roce_unknown_qp++;
		return;
	}
	if (ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_UD) {
		dev->stats.roce_dropped++;
		return;
	}
	LIST_FOREACH(member, &group->members, group_link) {
		qp = member->qp;
		if (qp->block_lb_mc && pkt->source_qpn == qp->object.number &&
		    roce_is_from_us(dev, head))
			continue;
		softrnic_spend(dev, 1);
		if (roce_qp_receives(&qp->roce))
			softrnic_qp_datagram_receive(dev, qp, head, pkt);
		else
			dev->stats.roce_dropped++;
	}
}

/* Not for a connection that is there: a datagram, or a packet to drop. */
static __attribute__((noinline)) void
roce_deliver_datagram(struct softrnic *dev, struct softrnic_qp *qp, const struct rocev2_frame *head,
		      const struct roce_pkt *pkt)
{
	if (softrnic_eth_class(head->dmac) != SOFTRNIC_ETH_UNICAST) {
		roce_deliver_group(dev, head, pkt);
		return;
	}
	/* By its own number, which none but QP1's owner knows, nobody reaches it. */
	if (pkt->dest_qpn == RNIC_QP1_QPN)
		qp = dev->qp1;
	else if (qp == dev->qp1)
		qp = NULL;
	if (qp == NULL)
		dev->stats.roce_unknown_qp++;
	else if (ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_UD || !softrnic_qp_is_datagram(qp) ||
		 !roce_qp_receives(&qp->roce))
		dev->stats.roce_dropped++;
	else
		softrnic_qp_datagram_receive(dev, qp, head, pkt);
}

static void
roce_deliver(struct softrnic *dev, const struct rocev2_frame *head, const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_object_get(dev, SOFTRNIC_QP, pkt->dest_qpn);
	uint32_t done;

	dev->stats.np_ecn_marked_roce_packets += (head->traffic_class & ECN_MASK) == ECN_CE;
	if (unlikely(qp == NULL || ROCE_TRANSPORT(pkt->opcode) != qp->connection ||
		     !roce_qp_receives(&qp->roce))) {
		roce_deliver_datagram(dev, qp, head, pkt);
		return;
	}
	if (unlikely(!roce_path_fits(dev, qp, head))) {
		/* A group's address goes with the number of groups alone. */
		if (softrnic_eth_class(head->dmac) != SOFTRNIC_ETH_UNICAST)
			dev->stats.roce_unknown_qp++;
		else
			dev->stats.roce_source_errors++;
		return;
	}
	if (unlikely(!softrnic_roce_pkey_fits(head->pkey))) {
		dev->stats.roce_pkey_errors++;
		return;
	}
	done = qp->roce.requester.tail;
	roce_qp_receive(&qp->roce, pkt, dev->now);
	/* One answer may end hundreds of requests, each with a completion. */
	done = qp->roce.requester.tail - done;
	if (unlikely(done > COMPLETIONS_FREE))
		softrnic_spend(dev, done / 2);
	softrnic_qp_activate(dev, qp);
}

static inline void
roce_count(struct softrnic *dev, const uint8_t *dmac, uint32_t bytes)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	enum softrnic_eth_class class = softrnic_eth_class(dmac);

	dev->stats.rx_packets++;
	dev->stats.rx_bytes += bytes;
	softrnic_port_count_length(&dev->port, bytes);
	counters->rx_rdma_packets[class]++;
	counters->rx_rdma_bytes[class] += bytes;
}

void
softrnic_roce_receive(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	/* A function without a driver takes nothing. */
	if (unlikely(dev->state != SOFTRNIC_HCA_READY || dev->dead)) {
		dev->stats.rx_unmatched++;
		return;
	}
	if (unlikely(frame->bytes > softrnic_eth_frame_max(dev))) {
		dev->port.counters.rx_errors++;
		dev->stats.rx_errors++;
		return;
	}
	roce_count(dev, frame->head->dmac, frame->bytes);
	if (unlikely(frame->corrupt)) {
		dev->stats.roce_icrc_errors++;
		return;
	}
	roce_deliver(dev, frame->head, frame->pkt);
}

bool
softrnic_roce_recognize(struct softrnic *dev, const uint8_t *head, uint32_t bytes,
			struct rocev2_frame *addresses)
{
	return rocev2_recognize(head, bytes, addresses) && softrnic_roce_takes(dev, addresses);
}

static void
roce_receive_decoded(struct softrnic *dev, enum rocev2_reason reason,
		     const struct rocev2_frame *addresses, const struct roce_pkt *pkt)
{
	switch (reason) {
	case ROCEV2_GOOD:
		if (pkt->opcode == ROCE_CNP)
			dev->stats.roce_cnps++;
		else
			roce_deliver(dev, addresses, pkt);
		break;
	case ROCEV2_ICRC: dev->stats.roce_icrc_errors++; break;
	default: dev->stats.roce_malformed++; break;
	}
}

/* Where a frame that began so may have been kept: connections and their opcodes spread. */
static inline struct softrnic_roce_seen *
roce_seen(struct softrnic *dev, const uint8_t *head)
{
	return &dev->roce_seen[(head[SEEN_SOURCE] ^ head[SEEN_LENGTH] >> 2 ^ head[SEEN_OPCODE]) %
			       SOFTRNIC_ROCE_SEEN];
}

/* As any frame. One that is ours and good is kept in `seen` (NULL: nowhere), for those that follow. */
static __attribute__((noinline)) bool
roce_receive_new(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head,
		 struct softrnic_roce_seen *seen)
{
	struct iovec payload[ROCE_PKT_PIECES];
	struct rocev2_frame addresses;
	enum rocev2_reason reason;
	struct roce_pkt pkt;

	if (!softrnic_roce_recognize(dev, head, frame->length, &addresses))
		return false;
	roce_count(dev, head, frame->length);
	reason = rocev2_decode(head, frame->pieces, frame->length, &addresses, &pkt, payload);
	if (reason == ROCEV2_GOOD && seen != NULL) {
		rocev2_model_make(&seen->model, head, frame->length, &addresses, &pkt);
		seen->generation = dev->roce_generation;
	}
	roce_receive_decoded(dev, reason, &addresses, &pkt);
	return true;
}

bool
softrnic_roce_receive_frame(struct softrnic *dev, const struct softrnic_frame *frame,
			    const uint8_t *head)
{
	struct softrnic_roce_seen *seen = NULL;
	struct iovec payload[ROCE_PKT_PIECES];
	enum rocev2_reason reason;

	/* No packet is as short, but a frame may be. */
	if (likely(frame->length > SEEN_OPCODE))
		seen = roce_seen(dev, head);
	if (seen == NULL || seen->generation != dev->roce_generation ||
	    !rocev2_model_fits(&seen->model, head, frame->length))
		return roce_receive_new(dev, frame, head, seen);
	roce_count(dev, head, frame->length);
	reason = rocev2_model_decode(&seen->model, head, frame->pieces, payload);
	roce_receive_decoded(dev, reason, &seen->model.frame, &seen->model.pkt);
	return true;
}
