/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The way of a packet: addresses, port, faults, wire, and the queue pair at its other end, all of it while the sender
 * waits. Only softrnic_qps_poll() emits, so one packet never leads to another before its call has returned.
 */
#include "data.h"
#include "eth/port.h"
#include "wire/send.h"
#include "work.h"

#define DEFAULT_PKEY 0xffff /* the whole of the P_Key table */

#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES  8
#define BTH_BYTES  12
#define ICRC_BYTES 4

#define COMPLETIONS_FREE 16 /* of an answer; two of the others are like a frame */

/* Extended headers by opcode (ImmDt 4, RETH 16, AETH 4, AtomicETH 28, AtomicAckETH 8). */
static const uint8_t extended_bytes[32] = {
	[ROCE_SEND_LAST_IMM] = 4,	 [ROCE_SEND_ONLY_IMM] = 4,
	[ROCE_WRITE_FIRST] = 16,	 [ROCE_WRITE_LAST_IMM] = 4,
	[ROCE_WRITE_ONLY] = 16,		 [ROCE_WRITE_ONLY_IMM] = 20,
	[ROCE_READ_REQUEST] = 16,	 [ROCE_READ_RESPONSE_FIRST] = 4,
	[ROCE_READ_RESPONSE_LAST] = 4,	 [ROCE_READ_RESPONSE_ONLY] = 4,
	[ROCE_ACKNOWLEDGE] = 4,		 [ROCE_ATOMIC_ACKNOWLEDGE] = 12,
	[ROCE_COMPARE_SWAP] = 28,	 [ROCE_FETCH_ADD] = 28,
	[ROCE_SEND_LAST_INVALIDATE] = 4, [ROCE_SEND_ONLY_INVALIDATE] = 4,
};

uint32_t
softrnic_roce_frame_bytes(const struct softrnic_roce_frame *frame)
{
	uint32_t ip = softrnic_gid_is_ipv4(frame->dgid) ? IPV4_BYTES : IPV6_BYTES;

	return SOFTRNIC_ETH_HEADER + ip + UDP_BYTES + BTH_BYTES +
	       extended_bytes[frame->pkt->opcode & 0x1f] + ((frame->pkt->length + 3) & ~3u) +
	       ICRC_BYTES;
}

/* ---- Out ---- */

void
softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic *peer = softrnic_wire_end(dev);

	if (peer != NULL)
		softrnic_roce_receive(peer, frame);
}

void
softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic *dev = qp->dev;
	const struct softrnic_roce_addr *source = &dev->roce_addrs[qp->source_index];
	struct softrnic_port *port = &dev->port;
	struct softrnic_roce_frame frame;
	enum softrnic_eth_class class;

	memcpy(frame.smac, source->mac, sizeof(frame.smac));
	memcpy(frame.dmac, qp->dmac, sizeof(frame.dmac));
	memcpy(frame.sgid, source->gid, sizeof(frame.sgid));
	memcpy(frame.dgid, qp->dgid, sizeof(frame.dgid));
	frame.pkey = DEFAULT_PKEY;
	frame.corrupt = false;
	frame.pkt = pkt;
	frame.bytes = softrnic_roce_frame_bytes(&frame);
	dev->qps_work += pkt->length;
	if (__builtin_expect(!source->valid || !port->roce_enabled || !port->rdma_up ||
				     frame.bytes > softrnic_eth_frame_max(dev),
			     0)) {
		port->counters.tx_errors++;
		dev->stats.tx_errors++;
		return;
	}
	class = softrnic_eth_class(frame.dmac);
	port->counters.tx_rdma_packets[class]++;
	port->counters.tx_rdma_bytes[class] += frame.bytes;
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += frame.bytes;
	if (__builtin_expect(dev->faults != NULL, 0))
		softrnic_faults_send_roce(dev, &frame);
	else
		softrnic_roce_wire_send(dev, &frame);
}

/* ---- In ---- */

/* Is it for us, and does it come the way that the queue pair's path says? */
static inline bool
path_fits(const struct softrnic *dev, const struct softrnic_qp *qp,
	  const struct softrnic_roce_frame *frame)
{
	const struct softrnic_roce_addr *own = &dev->roce_addrs[qp->source_index];

	return own->valid && memcmp(frame->dgid, own->gid, sizeof(own->gid)) == 0 &&
	       memcmp(frame->sgid, qp->dgid, sizeof(qp->dgid)) == 0;
}

static inline bool
qp_receives(const struct softrnic_qp *qp)
{
	return qp->roce.state >= ROCE_RTR && qp->roce.state != ROCE_ERR;
}

void
softrnic_roce_receive(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic_port *port = &dev->port;
	enum softrnic_eth_class class = softrnic_eth_class(frame->dmac);
	struct softrnic_qp *qp;
	uint32_t done;

	/* A function without a driver takes nothing. */
	if (__builtin_expect(dev->state != SOFTRNIC_HCA_READY || dev->dead, 0)) {
		dev->stats.rx_unmatched++;
		return;
	}
	if (__builtin_expect(frame->bytes > softrnic_eth_frame_max(dev), 0)) {
		port->counters.rx_errors++;
		dev->stats.rx_errors++;
		return;
	}
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += frame->bytes;
	softrnic_port_count_length(port, frame->bytes);
	if (__builtin_expect(!softrnic_eth_own_address(port, frame->dmac), 0)) {
		port->counters.rx_packets[class]++;
		port->counters.rx_bytes[class] += frame->bytes;
		port->counters.rx_foreign_packets[class]++;
		port->counters.rx_foreign_bytes[class] += frame->bytes;
		dev->stats.roce_dropped++;
		return;
	}
	port->counters.rx_rdma_packets[class]++;
	port->counters.rx_rdma_bytes[class] += frame->bytes;
	if (__builtin_expect(frame->corrupt, 0)) {
		dev->stats.roce_icrc_errors++;
		return;
	}
	if (__builtin_expect(!port->roce_enabled || frame->pkey != DEFAULT_PKEY, 0)) {
		dev->stats.roce_dropped++;
		return;
	}
	qp = softrnic_object_get(dev, SOFTRNIC_QP, frame->pkt->dest_qpn);
	if (__builtin_expect(qp == NULL, 0)) {
		dev->stats.roce_unknown_qp++;
		return;
	}
	if (__builtin_expect(!qp_receives(qp) || !path_fits(dev, qp, frame), 0)) {
		dev->stats.roce_dropped++;
		return;
	}
	done = qp->roce.requester.tail;
	roce_qp_receive(&qp->roce, frame->pkt, dev->now);
	/* One answer may end hundreds of requests, each with a completion. */
	done = qp->roce.requester.tail - done;
	if (__builtin_expect(done > COMPLETIONS_FREE, 0))
		softrnic_charge(dev, done / 2);
	softrnic_qp_activate(dev, qp);
}
