/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transmit bursts: reap, room, build, publish, count. One body, instances by constant flags.
 *
 * Packets of one segment share enhanced multi-packet WQEs: a control and an Ethernet segment, then one data segment per
 * packet. Packets of several segments get a SEND of their own. A device without multi-packet WQEs gets SENDs only.
 *
 * The Ethernet segment says what the device shall do to packets: those that share a WQE want the same checksums. A VLAN
 * tag or a large send takes a WQE of its own. Where no queue of the port was configured for any of it, a packet that
 * asks is met by the check that finds several segments.
 */

#include <stdatomic.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_vect.h>

#include "base/counter.h"
#include "base/owner.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/dump.h"
#include "ethdev/recovery.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "object/cq.h"
#include "object/entry_dump.h"
#include "object/mempool.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

#define TX_MULTI_PACKET 0x1
#define TX_OFFLOADS	0x2
#define TX_DUMP		0x4

/* Give mbufs back as references and pools allow: those of one pool that are neighbours go together. */
static void
tx_free_each(struct rte_mbuf **mbufs, uint16_t count)
{
	struct rte_mempool *pool = NULL;
	struct rte_mbuf *mbuf;
	uint16_t i, ready = 0;

	for (i = 0; i < count; i++) {
		mbuf = rte_pktmbuf_prefree_seg(mbufs[i]);
		if (unlikely(mbuf == NULL))
			continue;
		if (unlikely(mbuf->pool != pool)) {
			if (ready > 0)
				rte_mempool_put_bulk(pool, (void **)mbufs, ready);
			pool = mbuf->pool;
			ready = 0;
		}
		mbufs[ready++] = mbuf;
	}
	if (likely(ready > 0))
		rte_mempool_put_bulk(pool, (void **)mbufs, ready);
}

static __rte_always_inline void
tx_free_run(const struct rnic_txq *txq, struct rte_mbuf **mbufs, uint16_t count)
{
	/* The application promised: all of one pool, no other references. */
	if (likely(txq->fast_free))
		rte_mempool_put_bulk(mbufs[0]->pool, (void **)mbufs, count);
	else
		tx_free_each(mbufs, count);
}

/* Give back the mbufs of [elts_tail, end). */
static __rte_always_inline void
tx_free(struct rnic_txq *txq, uint16_t end)
{
	uint32_t start = txq->elts_tail & txq->elts_mask;
	uint32_t count = (uint16_t)(end - txq->elts_tail);
	uint32_t first = RTE_MIN(count, txq->elts_mask + 1u - start);

	txq->elts_tail = end;
	if (likely(first > 0))
		tx_free_run(txq, &txq->elts[start], first);
	if (unlikely(count > first))
		tx_free_run(txq, txq->elts, count - first);
}

void __rte_noinline
rnic_tx_free(struct rnic_txq *txq, uint16_t end)
{
	tx_free(txq, end);
}

uint16_t
rnic_tx_count_lost(struct rnic_txq *txq)
{
	const struct rnic_tx_wqe *wqe = &txq->wqes[txq->wqe_counter & txq->sq.mask];
	uint16_t from = wqe->elts_start, packets;
	uint64_t bytes = 0;

	packets = txq->stats.packets - wqe->packets_start;
	if ((uint16_t)(from - txq->elts_tail) > (uint16_t)(txq->elts_head - txq->elts_tail) ||
	    packets > (uint16_t)(txq->elts_head - from)) {
		/* A device that names a WQE that is not under way. */
		from = txq->elts_tail;
		packets = txq->elts_head - from;
	}
	for (; from != txq->elts_head; from++)
		bytes += txq->elts[from & txq->elts_mask]->data_len;
	rnic_counter_add(&txq->stats.packets, -(uint64_t)packets);
	rnic_counter_add(&txq->stats.bytes, -bytes);
	rnic_counter_add(&txq->stats.errors, packets);
	return packets;
}

void
rnic_tx_rings_begin(struct rnic_txq *txq)
{
	txq->sq_tail = 0;
	txq->slots = txq->elts_mask + 1;
	txq->nop_posted = false;
	txq->unsignalled = 0;
}

void __rte_noinline
rnic_tx_restart(struct rnic_txq *txq)
{
	if (!rnic_recovery_retry(&txq->recovery))
		return;
	/* What the device completed after the error is of no interest: all goes back. */
	rnic_cq_drop(&txq->cq);
	(void)rnic_tx_count_lost(txq);
	rnic_tx_free(txq, txq->elts_head);
	rnic_tx_rings_begin(txq);
	rnic_counter_add(&txq->stats.restarts, 1);
	atomic_store_explicit(&txq->state, RNIC_QUEUE_RUNNING, memory_order_release);
}

/*
 * A cleanup has posted a NOP, and WQEs were completed: was it among them? To be asked each time, as its position means
 * another WQE when the 16 bits have come round.
 */
static void __rte_noinline
tx_look_for_nop(struct rnic_txq *txq)
{
	uint16_t under_way = txq->sq.producer - txq->sq_tail;

	if ((uint16_t)(txq->nop_end - txq->sq_tail - 1) < under_way)
		return;
	txq->nop_posted = false;
	txq->slots = txq->elts_mask + 1;
}

/* What the device has completed is the queue's again: entries before `consumer`, mbufs before `end`. */
static __rte_always_inline void
tx_take(struct rnic_txq *txq, uint32_t consumer, uint16_t end)
{
	txq->cq.consumer = consumer;
	rnic_cq_dbrec_publish(txq->cq.dbrec, consumer);
	if (unlikely(txq->nop_posted))
		tx_look_for_nop(txq);
	tx_free(txq, end);
}

/*
 * An entry behind which no packet is done that was not before. One that is no good completion is noted, the rest is the
 * recovery's: false. Else there is nothing to do, but the next entry is for the next time: a device that always writes one
 * more does not keep the burst here.
 */
static bool __rte_noinline
tx_no_progress(struct rnic_txq *txq, const struct rnic_cqe *cqe, const struct rnic_tx_wqe *wqe,
	       uint32_t consumer, uint16_t end)
{
	const struct rnic_error_cqe *error = (const struct rnic_error_cqe *)cqe;
	const bool good =
		RNIC_CQE_OPCODE(cqe->op_own) == RNIC_CQE_REQUESTER && wqe->elts_end == end;

	if (good) {
		txq->sq_tail = wqe->sq_end;
	} else {
		txq->recovery.syndrome = error->syndrome;
		txq->recovery.vendor_syndrome = error->vendor_error_syndrome;
		txq->wqe_counter = rnic_be16_to_cpu(error->wqe_counter);
	}
	tx_take(txq, consumer, end);
	/* Last of all: from here on the queue is the recovery's. */
	if (!good)
		rnic_recovery_failed(&txq->recovery);
	return good;
}

/* Take completions, give mbufs back; false: an error completion was among them. */
static __rte_always_inline bool
tx_reap(struct rnic_txq *txq, uint32_t enough, const unsigned int flags)
{
	struct rnic_cq *cq = &txq->cq;
	const struct rnic_tx_wqe *wqes = txq->wqes;
	uint16_t end = txq->elts_tail, head = txq->elts_head;
	uint32_t consumer = cq->consumer;
	const struct rnic_tx_wqe *wqe;
	const struct rnic_cqe *cqe;

	/* As long as there is something to wait for. */
	while (end != head && (uint16_t)(end - txq->elts_tail) < enough) {
		cqe = &cq->ring[consumer & cq->mask];
		if (!rnic_cqe_ready(cqe, consumer, cq->log_size))
			break;
		if (flags & TX_DUMP)
			rnic_dump_cq_entry(cq, cqe);
		consumer++;
		wqe = &wqes[rnic_be16_to_cpu(cqe->wqe_counter) & txq->sq.mask];
		/* A completion of what is not under way is the device's error, too. */
		if (unlikely(RNIC_CQE_OPCODE(cqe->op_own) != RNIC_CQE_REQUESTER ||
			     (uint16_t)(head - wqe->elts_end) >= (uint16_t)(head - end)))
			return tx_no_progress(txq, cqe, wqe, consumer, end);
		end = wqe->elts_end;
		txq->sq_tail = wqe->sq_end;
	}
	if (consumer != cq->consumer)
		tx_take(txq, consumer, end);
	return true;
}

bool
rnic_tx_reap(struct rnic_txq *txq, uint32_t enough)
{
	return tx_reap(txq, enough, TX_OFFLOADS | (rnic_dump_wanted() ? TX_DUMP : 0));
}

static __rte_always_inline void *
tx_wqebb(const struct rnic_txq *txq, uint16_t index)
{
	return txq->sq.ring + (uint32_t)(index & txq->sq.mask) * RNIC_WQEBB_BYTES;
}

/*
 * Finish the WQE at the producer: `ds` units long, its packets' segments end at elts_end. `more`: WQEBBs that it takes
 * beyond one for each of them.
 */
static __rte_always_inline struct rnic_wqe_ctrl *
tx_close_wqe(struct rnic_txq *txq, uint8_t opcode, uint32_t ds, uint16_t elts_end,
	     struct rnic_wqe_eth eth_segment, uint16_t more)
{
	uint16_t index = txq->sq.producer, elts_start = txq->elts_head;
	uint16_t sq_end = index + RNIC_TX_WQEBBS(ds);
	uint16_t unsignalled = txq->unsignalled + elts_end - elts_start + more;
	struct rnic_wqe_ctrl *ctrl = tx_wqebb(txq, index);
	struct rnic_wqe_eth *eth = (struct rnic_wqe_eth *)(ctrl + 1);
	bool signal = unsignalled >= RNIC_TX_SIGNAL;

	txq->wqes[index & txq->sq.mask] =
		(struct rnic_tx_wqe){ elts_start, elts_end, (uint16_t)txq->stats.packets, sq_end };
	txq->unsignalled = signal ? 0 : unsignalled;
	txq->elts_head = elts_end;
	txq->sq.producer = sq_end;
	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, index, opcode)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(txq->sq.sqn, ds)),
		.fm_ce_se = signal ? RNIC_WQE_CE_ALWAYS : RNIC_WQE_CE_ON_ERROR,
	};
	*eth = eth_segment;
	return ctrl;
}

/* In three plain stores: compilers that may merge them make more of it. */
static __rte_always_inline void
tx_data_segment(struct rnic_wqe_data *data, uint32_t length, struct rnic_be32 lkey,
		uintptr_t address)
{
	__atomic_store_n(&data->byte_count.raw, RNIC_SWAP32(length), __ATOMIC_RELAXED);
	__atomic_store_n(&data->lkey.raw, lkey.raw, __ATOMIC_RELAXED);
	__atomic_store_n(&data->address.raw, RNIC_SWAP64(address), __ATOMIC_RELAXED);
}

/* The checksums of a packet that may share a WQE; RNIC_TX_REFUSED: it may not, or is not served at all. */
static inline uint8_t
tx_shared_checksums(const struct rnic_txq *txq, uint64_t ol_flags)
{
	uint8_t cs_flags = txq->does.cs_flags[rnic_tx_checksum_index(ol_flags)];

	if (ol_flags & RNIC_TX_ASKS & ~RNIC_TX_CHECKSUMS)
		return RNIC_TX_REFUSED;
	/* The device would look at the outer headers. */
	return cs_flags != 0 && ol_flags & RNIC_TX_TUNNEL ? RNIC_TX_REFUSED : cs_flags;
}

/*
 * What packets of a WQE have in common: one segment, and what they ask for. Flags lie behind the number of segments,
 * and both are looked at in one load.
 */
_Static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, rearm_data) + 4,
	       "segments in rearm_data");
_Static_assert(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8,
	       "then ol_flags");
#define TX_SEGS_SHIFT 32

struct tx_alike {
#ifdef __SSE4_1__
	__m128i flags;
#else
	uint64_t flags;
#endif
	uint8_t cs_flags;
};

static __rte_always_inline void
tx_alike_as(struct tx_alike *alike, uint64_t ol_flags)
{
#ifdef __SSE4_1__
	alike->flags = _mm_set_epi64x((int64_t)ol_flags, INT64_C(1) << TX_SEGS_SHIFT);
#else
	alike->flags = ol_flags;
#endif
}

/* Is the packet like the one before? If nothing is offered: is it of one segment, and asks for nothing? */
static __rte_always_inline bool
tx_is_alike(const struct tx_alike *alike, const struct rte_mbuf *mbuf, const unsigned int flags)
{
	const uint64_t look = flags & TX_OFFLOADS ? RNIC_TX_ASKS | RNIC_TX_TUNNEL : RNIC_TX_ASKS;
#ifdef __SSE4_1__
	const __m128i *seen = (const __m128i *)&mbuf->rearm_data;

	/* No packet has no segment: any bit but the lowest says that there are several. */
	if (!(flags & TX_OFFLOADS))
		return _mm_testz_si128(
			_mm_set_epi64x((int64_t)look, INT64_C(0xfffe) << TX_SEGS_SHIFT),
			_mm_load_si128(seen));
	return _mm_testz_si128(_mm_set_epi64x((int64_t)look, INT64_C(0xffff) << TX_SEGS_SHIFT),
			       _mm_xor_si128(alike->flags, _mm_load_si128(seen)));
#else
	uint64_t want = flags & TX_OFFLOADS ? alike->flags : 0;

	return mbuf->nb_segs == 1 && ((mbuf->ol_flags ^ want) & look) == 0;
#endif
}

/* One that is not: may it share the WQE all the same? UDP beside TCP does. */
static bool __rte_noinline
tx_joins(const struct rnic_txq *txq, const struct rte_mbuf *mbuf, uint8_t cs_flags)
{
	return mbuf->nb_segs == 1 && tx_shared_checksums(txq, mbuf->ol_flags) == cs_flags;
}

/* It is in mkeys.last then. */
static bool __rte_noinline
tx_find_key(struct rnic_txq *txq, const struct rte_mbuf *mbuf, uintptr_t address)
{
	struct rnic_be32 lkey;

	return rnic_mkey_lookup(&txq->mkeys, mbuf, address, &lkey);
}

/* With a branch, which is taken seldom: left to itself, gcc compares in vector registers, which costs twenty instructions. */
static __rte_always_inline uint32_t
tx_least(uint32_t usual, uint32_t limit)
{
	if (unlikely(usual > limit)) {
		__asm__ volatile("");
		return limit;
	}
	return usual;
}

/* Packets that fit one WQE from there on, and neither ring's end among them. */
static __rte_always_inline uint32_t
tx_run(const struct rnic_txq *txq, uint32_t count, uint32_t index, uint32_t elt)
{
	count = tx_least(count, RNIC_TX_SEGS_MAX);
	count = tx_least(count, txq->elts_mask + 1u - elt);
	return tx_least(count,
			(txq->sq.mask + 1u - index) * RNIC_TX_DS_PER_WQEBB - RNIC_TX_WQE_HEAD_DS);
}

/*
 * Packets of one segment, as many as fit one WQE, up to `count`; stops at one that is not good for it, and where the
 * ring of WQEs or of elts ends. Returns how many.
 */
static __rte_always_inline uint32_t
tx_multi_packet(struct rnic_txq *txq, struct rte_mbuf **pkts, uint32_t count,
		struct rnic_wqe_ctrl **last, const unsigned int flags)
{
	struct tx_alike alike = { .cs_flags = 0 };

	uint32_t index = txq->sq.producer & txq->sq.mask, elt = txq->elts_head & txq->elts_mask;
	struct rnic_wqe_data *data =
		(struct rnic_wqe_data *)(txq->sq.ring + (size_t)index * RNIC_WQEBB_BYTES) +
		RNIC_TX_WQE_HEAD_DS;
	struct rte_mbuf *mbuf, **elts = &txq->elts[elt];
	uintptr_t address, start = -txq->mkeys.last.start, range = txq->mkeys.last.end + start;
	struct rnic_be32 lkey = txq->mkeys.last.lkey;
	uint32_t payload, span = atomic_load_explicit(&txq->length_span, memory_order_relaxed);
	uint64_t bytes = 0;
	intptr_t left;
	size_t done;

	if (flags & TX_OFFLOADS) {
		alike.cs_flags = tx_shared_checksums(txq, pkts[0]->ol_flags);
		if (alike.cs_flags == RNIC_TX_REFUSED)
			return 0;
		tx_alike_as(&alike, pkts[0]->ol_flags);
	}
	if (unlikely(atomic_load_explicit(txq->mkeys.device_generation, memory_order_relaxed) !=
		     txq->mkeys.generation))
		range = 0;
	count = tx_run(txq, count, index, elt);
	/* Counted up to 0, which is one comparison less. */
	pkts += count;
	elts += count;
	data += count;
	for (left = -(intptr_t)count; left != 0; left++) {
		mbuf = pkts[left];
		address = (uintptr_t)mbuf->buf_addr + mbuf->data_off;
		if (unlikely(!tx_is_alike(&alike, mbuf, flags))) {
			if (!(flags & TX_OFFLOADS) || !tx_joins(txq, mbuf, alike.cs_flags))
				break;
			tx_alike_as(&alike, mbuf->ol_flags);
		}
		/* Loaded here: with nothing between two reasons to stop, gcc makes one of them, three instructions more. */
		payload = mbuf->data_len - RTE_ETHER_HDR_LEN;
		if (unlikely(payload > span))
			break;
		if (unlikely(address + start >= range)) {
			if (!tx_find_key(txq, mbuf, address))
				break;
			lkey = txq->mkeys.last.lkey;
			start = -txq->mkeys.last.start;
			range = txq->mkeys.last.end + start;
		}
		bytes += payload;
		tx_data_segment(&data[left], payload + RTE_ETHER_HDR_LEN, lkey, address);
		elts[left] = mbuf;
	}
	done = count + left;
	if (likely(done > 0)) {
		*last = tx_close_wqe(txq, RNIC_WQE_ENHANCED_MPSW, RNIC_TX_WQE_HEAD_DS + done,
				     txq->elts_head + done,
				     (struct rnic_wqe_eth){ .cs_flags = alike.cs_flags }, 0);
		rnic_counter_add(&txq->stats.packets, done);
		rnic_counter_add(&txq->stats.bytes, bytes + done * RTE_ETHER_HDR_LEN);
	}
	return done;
}

/* Where the unit `ds` of the WQE at the producer is. */
static inline void *
tx_unit(const struct rnic_txq *txq, uint32_t ds)
{
	uint32_t at = (uint32_t)txq->sq.producer * RNIC_WQEBB_BYTES + ds * RNIC_WQE_DS_BYTES;

	return txq->sq.ring + (at & ((txq->sq.mask + 1u) * RNIC_WQEBB_BYTES - 1));
}

/* The bytes run on from the Ethernet segment into the next units, and around the end of the ring. */
static inline void
tx_inline_header(struct rnic_txq *txq, struct rnic_wqe_ctrl *ctrl, const uint8_t *header,
		 uint32_t bytes)
{
	struct rnic_wqe_eth *eth = (struct rnic_wqe_eth *)(ctrl + 1);
	uint8_t *start = (uint8_t *)eth + offsetof(struct rnic_wqe_eth, inline_header_start);
	uint8_t *ring_end = txq->sq.ring + (txq->sq.mask + 1u) * RNIC_WQEBB_BYTES;
	uint32_t first = RTE_MIN(bytes, (uint32_t)(ring_end - start));

	eth->inline_header_size = rnic_cpu_to_be16((uint16_t)bytes);
	memcpy(start, header, first);
	memcpy(txq->sq.ring, header + first, bytes - first);
}

/* Behind the addresses; the header has room. Returns its length. */
static inline uint32_t
tx_insert_tag(uint8_t *header, uint32_t bytes, uint16_t tci)
{
	const uint32_t at = 2 * RTE_ETHER_ADDR_LEN;
	const uint8_t tag[RTE_VLAN_HLEN] = { RTE_ETHER_TYPE_VLAN >> 8, RTE_ETHER_TYPE_VLAN & 0xff,
					     tci >> 8, tci & 0xff };

	memmove(header + at + sizeof(tag), header + at, bytes - at);
	memcpy(header + at, tag, sizeof(tag));
	return bytes + sizeof(tag);
}

/* The plan of a packet that asks for nothing is quickly made. */
static inline bool
tx_plan(const struct rnic_txq *txq, const struct rte_mbuf *packet, struct rnic_tx_plan *plan)
{
	uint32_t span = atomic_load_explicit(&txq->length_span, memory_order_relaxed);

	if (unlikely(packet->ol_flags & RNIC_TX_ASKS))
		return rnic_tx_plan(txq, packet, plan) == 0;
	*plan = (struct rnic_tx_plan){
		.opcode = RNIC_WQE_SEND,
		.header_bytes = RTE_MIN(packet->pkt_len, (uint32_t)txq->inline_bytes),
	};
	return packet->pkt_len - RTE_ETHER_HDR_LEN <= span && packet->nb_segs <= RNIC_TX_SEGS_MAX;
}

/* One packet of any number of segments, for which there is room, as a WQE; false: it cannot be sent. */
static bool
tx_send(struct rnic_txq *txq, struct rte_mbuf *packet, struct rnic_wqe_ctrl **last)
{
	const struct rnic_wqe_data *ring_end = (struct rnic_wqe_data *)tx_wqebb(txq, txq->sq.mask) +
					       RNIC_WQEBB_BYTES / RNIC_WQE_DS_BYTES;
	uint16_t segs = packet->nb_segs, elt = txq->elts_head;
	uint32_t bytes = 0, header_bytes = 0, here, inline_left, ds;
	uint8_t header[RNIC_TX_HEADER_MAX];
	struct rte_mbuf *mbuf, *next;
	struct rnic_tx_plan plan;
	struct rnic_wqe_data *data;
	struct rnic_be32 lkey;
	uintptr_t address;

	if (unlikely(!tx_plan(txq, packet, &plan)))
		return false;
	inline_left = plan.header_bytes;
	ds = RNIC_TX_WQE_HEAD_DS +
	     rnic_tx_header_ds(inline_left + (plan.inline_tag ? RTE_VLAN_HLEN : 0));
	data = tx_unit(txq, ds);
	for (mbuf = packet; mbuf != NULL && segs > 0; mbuf = mbuf->next, segs--) {
		txq->elts[elt++ & txq->elts_mask] = mbuf;
		address = rte_pktmbuf_mtod(mbuf, uintptr_t);
		bytes += mbuf->data_len;
		here = RTE_MIN(mbuf->data_len, inline_left);
		memcpy(&header[header_bytes], (const void *)address, here);
		header_bytes += here;
		inline_left -= here;
		/* A length of 0 would mean 2 GiB. */
		if (mbuf->data_len == here)
			continue;
		if (!rnic_mkey_lookup(&txq->mkeys, mbuf, address, &lkey))
			return false;
		if (data == ring_end)
			data = (struct rnic_wqe_data *)txq->sq.ring;
		tx_data_segment(data++, mbuf->data_len - here, lkey, address + here);
		ds++;
	}
	/* The chain must be what its head says. */
	if (unlikely(mbuf != NULL || segs != 0 || bytes != packet->pkt_len))
		return false;
	if (plan.opcode == RNIC_WQE_LSO && !rnic_tx_large_fits(packet, header, header_bytes))
		return false;
	if (plan.inline_tag)
		header_bytes = tx_insert_tag(header, header_bytes, packet->vlan_tci);
	/* Segments are given back one by one: in bulk, they must look as the pool wants them. */
	if (txq->fast_free) {
		packet->nb_segs = 1;
		for (mbuf = packet; mbuf != NULL; mbuf = next) {
			next = mbuf->next;
			mbuf->next = NULL;
		}
	}
	*last = tx_close_wqe(txq, plan.opcode, ds, elt, plan.eth,
			     plan.opcode == RNIC_WQE_LSO ? RNIC_TX_LSO_WQEBBS : 0);
	if (header_bytes > 0)
		tx_inline_header(txq, *last, header, header_bytes);
	rnic_counter_add(&txq->stats.packets, 1);
	rnic_counter_add(&txq->stats.bytes, bytes);
	return true;
}

/*
 * An empty multi-packet session: the next packet has several segments, wants a WQE of its own, or is not good. Taken, or
 * false: no room.
 */
static bool __rte_noinline
tx_single(struct rnic_txq *txq, struct rte_mbuf *packet, uint16_t room, struct rnic_wqe_ctrl **last)
{
	uint32_t needs = packet->nb_segs;

	if (packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG)
		needs += RNIC_TX_LSO_WQEBBS;
	if (needs > room && packet->nb_segs <= RNIC_TX_SEGS_MAX)
		return false;
	if (!tx_send(txq, packet, last)) {
		/* Taken, as ethdev has it, but not sent: rte_eth_tx_prepare() would have told. */
		rte_pktmbuf_free(packet);
		rnic_counter_add(&txq->stats.errors, 1);
	}
	return true;
}

/*
 * The ring of a queue that may write whole WQEs: a single one that fits half a register goes with it. One that wraps
 * around the end of its ring, or several, are as quick to fetch.
 */
static void __rte_noinline
tx_ring_blueflame(struct rnic_sq *sq, const struct rnic_wqe_ctrl *last, uint16_t first)
{
	uint16_t wqebbs = sq->producer - first, at = first & sq->mask;
	uint32_t bytes = (uint32_t)wqebbs * RNIC_WQEBB_BYTES;

	if ((const uint8_t *)last == sq->ring + (size_t)at * RNIC_WQEBB_BYTES &&
	    bytes <= sq->bf->half && at + wqebbs <= sq->mask + 1)
		rnic_blueflame_ring(sq->bf, last, bytes);
	else
		rnic_doorbell_ring(sq->bf, last);
}

static __rte_always_inline uint16_t
tx_burst(struct rnic_txq *txq, struct rte_mbuf **pkts, uint16_t count, const unsigned int flags)
{
	uint32_t done = 0, room, posted;
	struct rnic_wqe_ctrl *last = NULL, *was;
	uint16_t first;

	/* In any other state the queue is the recovery's. */
	if (unlikely(atomic_load_explicit(&txq->state, memory_order_acquire) !=
		     RNIC_QUEUE_RUNNING)) {
		rnic_tx_restart(txq);
		return 0;
	}
	if (unlikely(!tx_reap(txq, RNIC_TX_REAP_ALL, flags)))
		return 0;
	first = txq->sq.producer;
	while (done < count) {
		room = flags & TX_OFFLOADS
			       ? rnic_tx_room(txq)
			       : txq->slots - (uint32_t)(uint16_t)(txq->elts_head - txq->elts_tail);
		was = last;
		posted = 0;
		if (flags & TX_MULTI_PACKET)
			posted = tx_multi_packet(txq, &pkts[done], tx_least(count - done, room),
						 &last, flags);
		/* Without any room neither takes one. */
		if (posted == 0 && tx_single(txq, pkts[done], room, &last))
			posted = 1;
		if (unlikely(posted == 0))
			break;
		done += posted;
		if ((flags & TX_DUMP) && last != was)
			rnic_dump_sq_wqe(&txq->sq,
					 ((uint8_t *)last - txq->sq.ring) / RNIC_WQEBB_BYTES,
					 RNIC_WQE_OF_FRAMES);
	}
	if (likely(txq->sq.producer != first)) {
		rnic_sq_dbrec_publish(txq->sq.dbrec, txq->sq.producer);
		if (unlikely(txq->sq.bf->blueflame))
			tx_ring_blueflame(&txq->sq, last, first);
		else
			rnic_doorbell_ring(txq->sq.bf, last);
	}
	return done;
}

void
rnic_tx_post_nop(struct rnic_txq *txq)
{
	struct rnic_wqe_ctrl *ctrl;

	txq->unsignalled = RNIC_TX_SIGNAL;
	ctrl = tx_close_wqe(txq, RNIC_WQE_NOP, 1, txq->elts_head, (struct rnic_wqe_eth){ 0 }, 0);
	rnic_sq_dbrec_publish(txq->sq.dbrec, txq->sq.producer);
	rnic_doorbell_ring(txq->sq.bf, ctrl);
}

#define TX_INSTANCE(name, flags)                                                  \
	static uint16_t name(void *queue, struct rte_mbuf **pkts, uint16_t count) \
	{                                                                         \
		uint16_t done;                                                    \
                                                                                  \
		rnic_owner_enter(queue);                                          \
		done = tx_burst(queue, pkts, count, flags);                       \
		rnic_owner_leave(queue);                                          \
		return done;                                                      \
	}

TX_INSTANCE(rnic_tx_burst_send, 0)
TX_INSTANCE(rnic_tx_burst_send_offloads, TX_OFFLOADS)
TX_INSTANCE(rnic_tx_burst_send_dump, TX_OFFLOADS | TX_DUMP)
TX_INSTANCE(rnic_tx_burst_multi, TX_MULTI_PACKET)
TX_INSTANCE(rnic_tx_burst_multi_offloads, TX_MULTI_PACKET | TX_OFFLOADS)
TX_INSTANCE(rnic_tx_burst_multi_dump, TX_MULTI_PACKET | TX_OFFLOADS | TX_DUMP)

static const struct rnic_tx_mode tx_modes[2][3] = {
	{ { "Scalar SEND", rnic_tx_burst_send },
	  { "Scalar SEND, offloads", rnic_tx_burst_send_offloads },
	  { "Scalar SEND, dumping", rnic_tx_burst_send_dump } },
	{ { "Scalar multi-packet", rnic_tx_burst_multi },
	  { "Scalar multi-packet, offloads", rnic_tx_burst_multi_offloads },
	  { "Scalar multi-packet, dumping", rnic_tx_burst_multi_dump } },
};

const struct rnic_tx_mode *
rnic_tx_mode_get(const struct rnic_dev *dev, uint64_t offloads)
{
	/* Multi-packet WQEs have no room for inline headers. */
	bool multi = dev->min_inline_mode == RNIC_INLINE_MODE_NONE &&
		     rnic_ethernet_cap_get(&dev->caps.ethernet,
					   RNIC_ETHERNET_CAP_ENHANCED_MULTI_PKT_SEND_WQE);

	if (rnic_dump_wanted())
		return &tx_modes[multi][2];
	return &tx_modes[multi][(offloads & RNIC_TX_PACKET_OFFLOADS) != 0];
}
