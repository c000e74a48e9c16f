/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive bursts: take entries, fill in mbufs, refill, publish, count. One body, instances by constant flags.
 *
 * A queue whose mbufs each take a whole frame has one slot a WQE; else a frame is spread over the slots of its WQE.
 */

#include <stdatomic.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>
#include <rte_vect.h>

#include "base/counter.h"
#include "base/owner.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/dump.h"
#include "core/timestamp.h"
#include "ethdev/recovery.h"
#include "ethdev/rx.h"
#include "ethdev/rx_queue.h"
#include "object/cq.h"
#include "object/entry_dump.h"
#include "object/mempool.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

#define RX_SCATTERED  0x1
#define RX_TELLS      0x2
#define RX_TIME	      0x4
#define RX_UTC	      0x8 /* the time is UTC: seconds, nanoseconds */
#define RX_DUMP	      0x10
#define RX_COMPRESSED 0x20

/* What rx_fill() writes in two 16-byte stores. */
_Static_assert(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8,
	       "rearm_data, then ol_flags");
_Static_assert(offsetof(struct rte_mbuf, rx_descriptor_fields1) ==
		       offsetof(struct rte_mbuf, rearm_data) + 16,
	       "rx_descriptor_fields1 follows");
_Static_assert(offsetof(struct rte_mbuf, pkt_len) ==
		       offsetof(struct rte_mbuf, rx_descriptor_fields1) + 4,
	       "packet_type, then pkt_len");

/*
 * What a CQE says of its frame, loaded once: the device may change the entry at any time, and what was checked must be
 * what is used.
 */
struct rx_frame {
	uint32_t length;
	uint64_t ol_flags; /* if the port tells */
#ifdef __SSE4_1__
	__m128i fields; /* of the mbuf: packet_type, pkt_len, data_len, vlan_tci, hash */
#else
	uint32_t packet_type, hash;
	uint16_t vlan_tci;
#endif
};

#ifdef __SSE4_1__
static __rte_always_inline struct rx_frame
rx_load(const struct rnic_rxq *rxq, const struct rnic_cqe *cqe, const unsigned int flags)
{
	/* From bytes 0x20 to 0x2f of the CQE; the first two dwords, of no use, give way to what stands before them. */
	const __m128i plain =
		_mm_set_epi8(-1, -1, -1, -1, -1, -1, 14, 15, 12, 13, 14, 15, -1, -1, -1, -1);
	const __m128i telling =
		_mm_set_epi8(0, 1, 2, 3, 6, 7, 14, 15, 12, 13, 14, 15, -1, -1, -1, -1);
	__m128i fields = _mm_load_si128((const __m128i *)&cqe->srqn_user_index);
	const struct rnic_rx_type *type = &rxq->types[cqe->l4_l3_hdr_type];
	struct rx_frame frame = { .ol_flags = 0 };
	uint32_t headers;

	if (flags & RX_TELLS) {
		memcpy(&headers, &cqe->hds_ip_ext, sizeof(headers));
		fields = _mm_insert_epi32(fields, (int)cqe->rx_hash_result.raw, 0);
		fields = _mm_insert_epi32(fields, (int)headers, 1);
		frame.ol_flags = (type->flags & rxq->verified[cqe->hds_ip_ext]) |
				 rxq->hashed[cqe->rx_hash_type];
	}
	frame.fields = _mm_shuffle_epi8(fields, flags & RX_TELLS ? telling : plain);
	/* Compilers may take a plain load apart and do it twice; not what they know nothing of. */
	__asm__("" : "+x"(frame.fields));
	frame.length = (uint32_t)_mm_extract_epi32(frame.fields, 1);
	if (flags & RX_TELLS)
		frame.fields = _mm_insert_epi32(frame.fields, (int)type->ptype, 0);
	return frame;
}
#else
static __rte_always_inline struct rx_frame
rx_load(const struct rnic_rxq *rxq, const struct rnic_cqe *cqe, const unsigned int flags)
{
	const struct rnic_rx_type *type = &rxq->types[cqe->l4_l3_hdr_type];
	struct rx_frame frame = {
		.length = RNIC_SWAP32(__atomic_load_n(&cqe->byte_count.raw, __ATOMIC_RELAXED)),
	};

	if (flags & RX_TELLS) {
		frame.ol_flags = (type->flags & rxq->verified[cqe->hds_ip_ext]) |
				 rxq->hashed[cqe->rx_hash_type];
		frame.packet_type = type->ptype;
		frame.vlan_tci = rnic_be16_to_cpu(cqe->vlan_info);
		frame.hash = rnic_be32_to_cpu(cqe->rx_hash_result);
	}
	return frame;
}
#endif

/* ---- Compressed completions (PRM: "CQE Compression", prm/cqe.h) ---- */

/* A slot of a session, whatever is in it: not to be taken for an entry when its turn comes again. */
static __rte_always_inline void
rx_slot_taken(struct rnic_cqe *slot)
{
	__atomic_store_n(&slot->op_own, RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1), __ATOMIC_RELAXED);
}

static __rte_always_inline void
rx_session_keep(struct rnic_rx_session *session, struct rx_frame frame)
{
	session->ol_flags = frame.ol_flags;
#ifdef __SSE4_1__
	/* Lengths and hash are the lists'. */
	frame.fields = _mm_and_si128(frame.fields, _mm_set_epi32(0, 0xffff0000, 0, -1));
	_mm_store_si128((__m128i *)session->fields, frame.fields);
#else
	memcpy(session->fields, &frame.packet_type, sizeof(frame.packet_type));
	memcpy(session->fields + 4, &frame.vlan_tci, sizeof(frame.vlan_tci));
#endif
}

/* Of a received frame or frames, in this format. */
static __rte_always_inline bool
rx_ready_in(const struct rnic_cqe *cqe, uint8_t format, uint32_t index, uint8_t log_size)
{
	return rnic_cqe_ready_bits(cqe, (uint8_t)(RNIC_CQE_RESPONDER_SEND << 4 | format),
				   0xf0 | RNIC_CQE_FORMAT, index, log_size);
}

/* A title that cannot be: the CQ goes on behind its session, if it may have as many slots. */
static int
rx_session_refuse(struct rnic_cq *cq, uint32_t count)
{
	cq->lost = count - 1 > cq->mask;
	cq->session = cq->lost ? 0 : count - 1;
	return -1;
}

/*
 * Is the entry a title? Then its session is under way. -1: a device that tells of more frames than buffers are posted, of another buffer
 * than the next one, or in a format that nobody has asked for, is mistaken.
 */
static int __rte_noinline
rx_session_open(struct rnic_rxq *rxq, const struct rnic_cqe *title, uint32_t index, uint16_t posted,
		bool tells)
{
	struct rnic_cq *cq = &rxq->cq;
	const uint16_t wqe = rxq->rq.producer - posted;
	uint32_t count;

	if (!rx_ready_in(title, RNIC_CQE_COMPRESSED, index, cq->log_size))
		/* Each look tells of one format: a title may come between two of them. */
		return rx_ready_in(title, 1 << 2, index, cq->log_size) ||
				       rx_ready_in(title, 2 << 2, index, cq->log_size)
			       ? rx_session_refuse(cq, 1)
			       : 0;
	count = RNIC_SWAP32(__atomic_load_n(&title->byte_count.raw, __ATOMIC_RELAXED));
	if (count - 1 >= posted ||
	    ((rnic_be16_to_cpu(title->wqe_counter) ^ wqe) & rxq->rq.mask) != 0)
		return rx_session_refuse(cq, count);
	rx_session_keep(&rxq->session, rx_load(rxq, title, tells ? RX_TELLS : 0));
	rxq->session.first = index;
	rxq->session.at = 0;
	cq->session = count;
	return 1;
}

/* The next eight from the at'th on, or as many as there are: what lists say is loaded once, as entries are. */
static __rte_always_inline void
rx_session_list(struct rnic_rxq *rxq, uint32_t at)
{
	struct rnic_rx_session *session = &rxq->session;
	const uint32_t index = session->first + (at == 0 ? 1 : at);

	memcpy(session->minis, &rxq->cq.ring[index & rxq->cq.mask], sizeof(session->minis));
}

#ifdef __SSE4_1__
static __rte_always_inline struct rx_frame
rx_session_frame(const struct rnic_rx_session *session, uint64_t mini, const unsigned int flags)
{
	/* Hash, then length. */
	const __m128i plain =
		_mm_set_epi8(-1, -1, -1, -1, -1, -1, 6, 7, 4, 5, 6, 7, -1, -1, -1, -1);
	const __m128i telling = _mm_set_epi8(0, 1, 2, 3, -1, -1, 6, 7, 4, 5, 6, 7, -1, -1, -1, -1);
	struct rx_frame frame = { .ol_flags = session->ol_flags };

	frame.length = RNIC_SWAP32((uint32_t)(mini >> 32));
	frame.fields = _mm_shuffle_epi8(_mm_cvtsi64_si128((int64_t)mini),
					flags & RX_TELLS ? telling : plain);
	if (flags & RX_TELLS)
		frame.fields = _mm_or_si128(frame.fields,
					    _mm_load_si128((const __m128i *)session->fields));
	return frame;
}
#else
static __rte_always_inline struct rx_frame
rx_session_frame(const struct rnic_rx_session *session, uint64_t mini, const unsigned int flags)
{
	struct rx_frame frame = { .ol_flags = session->ol_flags };
	struct rnic_mini_cqe told;

	memcpy(&told, &mini, sizeof(told));
	frame.length = rnic_be32_to_cpu(told.byte_count);
	if (flags & RX_TELLS) {
		memcpy(&frame.packet_type, session->fields, sizeof(frame.packet_type));
		memcpy(&frame.vlan_tci, session->fields + 4, sizeof(frame.vlan_tci));
		frame.hash = rnic_be32_to_cpu(told.rx_hash_result);
	}
	return frame;
}
#endif

/* ---- mbufs ---- */

/* rearm_data of a fresh mbuf, and no flags. */
struct rx_fresh {
#ifdef __SSE4_1__
	__m128i fields;
#else
	uint64_t rearm;
#endif
};

static __rte_always_inline struct rx_fresh
rx_fresh(const struct rnic_rxq *rxq)
{
#ifdef __SSE4_1__
	struct rx_fresh fresh = { .fields = _mm_cvtsi64_si128((int64_t)rxq->rearm) };

	/* It has a register of its own there; compilers would keep it among those that are scarce. */
	__asm__("" : "+x"(fresh.fields));
#else
	struct rx_fresh fresh = { .rearm = rxq->rearm };
#endif
	return fresh;
}

/* The mbuf of a frame, all of what the application may read of it; what is not told is zero. */
static __rte_always_inline void
rx_fill(struct rte_mbuf *mbuf, struct rx_fresh fresh, const struct rx_frame *frame,
	const unsigned int flags)
{
#ifdef __SSE4_1__
	if (flags & RX_TELLS) {
		/* Compilers that merge the two into one store need more for it than they save. */
		_mm_storel_epi64((__m128i *)&mbuf->rearm_data, fresh.fields);
		__atomic_store_n(&mbuf->ol_flags, frame->ol_flags, __ATOMIC_RELAXED);
	} else {
		_mm_store_si128((__m128i *)&mbuf->rearm_data, fresh.fields);
	}
	_mm_store_si128((__m128i *)&mbuf->rx_descriptor_fields1, frame->fields);
#else
	RTE_SET_USED(flags);
	memcpy(&mbuf->rearm_data, &fresh.rearm, sizeof(fresh.rearm));
	mbuf->ol_flags = frame->ol_flags;
	mbuf->packet_type = frame->packet_type;
	mbuf->pkt_len = frame->length;
	mbuf->data_len = frame->length;
	mbuf->vlan_tci = frame->vlan_tci;
	mbuf->hash.rss = frame->hash;
#endif
}

/* The device's clock, as rte_eth_read_clock() has it. */
static __rte_always_inline void
rx_timestamp(const struct rnic_rxq *rxq, const struct rnic_cqe *cqe, struct rte_mbuf *mbuf,
	     bool utc)
{
	const uint64_t time = rnic_be64_to_cpu(cqe->timestamp);

	if (rxq->timestamp_flag == 0)
		return;
	*RTE_MBUF_DYNFIELD(mbuf, rxq->timestamp_offset, rte_mbuf_timestamp_t *) =
		utc ? rnic_clock_utc((uint32_t)(time >> 32), (uint32_t)time) : time;
	mbuf->ol_flags |= rxq->timestamp_flag;
}

static __rte_always_inline struct rnic_wqe_data *
rx_wqe(const struct rnic_rxq *rxq, uint16_t index)
{
	return (struct rnic_wqe_data *)(rxq->rq.ring +
					((size_t)(index & rxq->rq.mask) << rxq->rq.log_stride));
}

/* Point a data segment at an mbuf that came fresh from the pool. False: its memory has no key. */
static __rte_always_inline bool
rx_post(struct rnic_rxq *rxq, struct rnic_wqe_data *data, struct rte_mbuf *mbuf)
{
	uintptr_t address = (uintptr_t)mbuf->buf_addr + RTE_PKTMBUF_HEADROOM;
	struct rnic_be32 lkey;

	if (unlikely(!rnic_mkey_lookup(&rxq->mkeys, mbuf, address, &lkey)))
		return false;
	data->lkey = lkey;
	data->address = rnic_cpu_to_be64(address);
	return true;
}

/* Fill the empty slots of the WQE at the producer. */
static bool
rx_refill_wqe(struct rnic_rxq *rxq)
{
	uint16_t index = rxq->rq.producer;
	struct rnic_wqe_data *data = rx_wqe(rxq, index);
	struct rte_mbuf **elts = &rxq->elts[(uint32_t)(index & rxq->rq.mask) << rxq->log_segs];
	struct rte_mbuf *mbuf;
	uint8_t i;

	for (i = 0; i < rxq->segs; i++) {
		/* Where a frame left mbufs in place; a single slot is always empty when it comes to be filled. */
		if (rxq->segs > 1 && elts[i] != NULL)
			continue;
		mbuf = rte_mbuf_raw_alloc(rxq->pool);
		if (unlikely(mbuf == NULL))
			return false;
		if (unlikely(!rx_post(rxq, &data[i], mbuf))) {
			rte_mbuf_raw_free(mbuf);
			return false;
		}
		elts[i] = mbuf;
	}
	rxq->rq.producer++;
	return true;
}

bool
rnic_rx_refill_all(struct rnic_rxq *rxq)
{
	bool full = true;

	while ((uint16_t)(rxq->rq.producer - rxq->consumer) <= rxq->rq.mask && full)
		full = rx_refill_wqe(rxq);
	rnic_rq_dbrec_publish(rxq->rq.dbrec, rxq->rq.producer);
	return full;
}

/* Up to the next aligned run; what a short pool still has keeps the queue alive. */
static void __rte_noinline
rx_refill_short(struct rnic_rxq *rxq)
{
	do {
		if (!rx_refill_wqe(rxq)) {
			rnic_counter_add(&rxq->stats.no_mbuf, 1);
			break;
		}
	} while (rxq->rq.producer % RNIC_RX_REFILL != 0 &&
		 (uint16_t)(rxq->rq.producer - rxq->consumer) <= rxq->rq.mask);
	rnic_rq_dbrec_publish(rxq->rq.dbrec, rxq->rq.producer);
}

/* A run of WQEs of one mbuf each. False: there are no mbufs, or no key for them. */
static __rte_always_inline bool
rx_refill_run(struct rnic_rxq *rxq, uint16_t producer)
{
	struct rte_mbuf **elts = &rxq->elts[producer & rxq->rq.mask];
	struct rnic_wqe_data *data = rx_wqe(rxq, producer);
	uintptr_t start = -rxq->mkeys.last.start, range = rxq->mkeys.last.end + start, address;
	struct rnic_be32 lkey = rxq->mkeys.last.lkey, found;
	unsigned int i;

	if (unlikely(rte_mempool_get_bulk(rxq->pool, (void **)elts, RNIC_RX_REFILL) < 0))
		return false;
	if (unlikely(atomic_load_explicit(rxq->mkeys.device_generation, memory_order_relaxed) !=
		     rxq->mkeys.generation))
		range = 0;
	for (i = 0; i < RNIC_RX_REFILL; i++) {
		address = (uintptr_t)elts[i]->buf_addr + RTE_PKTMBUF_HEADROOM;
		if (unlikely(address + start >= range)) {
			if (!rnic_mkey_lookup(&rxq->mkeys, elts[i], address, &found)) {
				rte_mempool_put_bulk(rxq->pool, (void **)elts, RNIC_RX_REFILL);
				return false;
			}
			lkey = found;
			start = -rxq->mkeys.last.start;
			range = rxq->mkeys.last.end + start;
		}
		__atomic_store_n(&data[i].lkey.raw, lkey.raw, __ATOMIC_RELAXED);
		__atomic_store_n(&data[i].address.raw, RNIC_SWAP64(address), __ATOMIC_RELAXED);
	}
	return true;
}

/* One mbuf a WQE, RNIC_RX_REFILL of them at a time; aligned runs do not wrap. */
static __rte_always_inline void
rx_refill_single(struct rnic_rxq *rxq)
{
	uint16_t producer = rxq->rq.producer, end = rxq->consumer + rxq->rq.mask + 1;

	do {
		if (unlikely(producer % RNIC_RX_REFILL != 0) ||
		    unlikely(!rx_refill_run(rxq, producer))) {
			rxq->rq.producer = producer;
			rx_refill_short(rxq);
			return;
		}
		producer += RNIC_RX_REFILL;
	} while ((uint16_t)(end - producer) >= RNIC_RX_REFILL);
	rxq->rq.producer = producer;
	rnic_rq_dbrec_publish(rxq->rq.dbrec, producer);
}

/* The mbufs of one frame, linked; its slots are empty afterwards. */
static __rte_always_inline struct rte_mbuf *
rx_scattered(struct rnic_rxq *rxq, uint16_t index, struct rx_fresh fresh,
	     const struct rx_frame *frame, const unsigned int flags)
{
	struct rte_mbuf **elts = &rxq->elts[(uint32_t)(index & rxq->rq.mask) << rxq->log_segs];
	struct rte_mbuf *head = elts[0], *last = head, *mbuf;
	uint32_t left = frame->length;
	uint16_t segs = 1;

	elts[0] = NULL;
	rx_fill(head, fresh, frame, flags);
	while (left > rxq->segment_bytes) {
		last->data_len = rxq->segment_bytes;
		left -= rxq->segment_bytes;
		mbuf = elts[segs];
		elts[segs++] = NULL;
		rx_fill(mbuf, fresh, frame, flags);
		last->next = mbuf;
		last = mbuf;
	}
	last->data_len = left;
	head->nb_segs = segs;
	return head;
}

/* An entry that is no good frame: count it, the rest is the recovery's. */
static void __rte_noinline
rx_error(struct rnic_rxq *rxq, const struct rnic_cqe *cqe)
{
	const struct rnic_error_cqe *error = (const struct rnic_error_cqe *)cqe;

	rxq->recovery.syndrome = error->syndrome;
	rxq->recovery.vendor_syndrome = error->vendor_error_syndrome;
	if (RNIC_CQE_OPCODE(cqe->op_own) != RNIC_CQE_RESPONDER_ERROR ||
	    error->syndrome != RNIC_SYND_WR_FLUSHED)
		rnic_counter_add(&rxq->stats.errors, 1);
}

/* Where no frame was found: false if the entry says why. One that has come this very moment is for the next time. */
static bool __rte_noinline
rx_no_frame(struct rnic_rxq *rxq, const struct rnic_cqe *cqe, uint32_t index, bool dump)
{
	if (!rnic_cqe_ready(cqe, index, rxq->cq.log_size) ||
	    RNIC_CQE_OPCODE(cqe->op_own) == RNIC_CQE_RESPONDER_SEND)
		return true;
	if (dump)
		rnic_dump_cq_entry(&rxq->cq, cqe);
	rx_error(rxq, cqe);
	return false;
}

void __rte_noinline
rnic_rx_restart(struct rnic_rxq *rxq)
{
	if (!rnic_recovery_retry(&rxq->recovery))
		return;
	if (!rnic_rx_refill_all(rxq))
		rnic_counter_add(&rxq->stats.no_mbuf, 1);
	atomic_store_explicit(&rxq->state, RNIC_QUEUE_RUNNING, memory_order_release);
}

/* Is there an entry to take? Most polls find none: they shall cost nothing. */
static __rte_always_inline bool
rx_ready(struct rnic_rxq *rxq, const unsigned int flags)
{
	const struct rnic_cq *cq = &rxq->cq;

	if (unlikely(atomic_load_explicit(&rxq->state, memory_order_acquire) !=
		     RNIC_QUEUE_RUNNING)) {
		rnic_rx_restart(rxq);
		return false;
	}
	if ((flags & RX_COMPRESSED && cq->session != 0) ||
	    rnic_cqe_ready(&cq->ring[cq->consumer & cq->mask], cq->consumer, cq->log_size))
		return true;
	/* Nothing will come until there are mbufs. */
	if (unlikely(rxq->rq.producer == rxq->consumer))
		rx_refill_short(rxq);
	return false;
}

/* What a burst has taken. */
struct rx_taken {
	uint32_t index, end; /* completions: the next one; behind the last one that may be taken */
	uint32_t consumer;   /* WQEs */
	uint64_t bytes;
	bool good;
};

/* The entries that are there, up to a title. */
static __rte_always_inline void
rx_take_entries(struct rnic_rxq *rxq, struct rte_mbuf **pkts, struct rx_taken *taken,
		const unsigned int flags)
{
	struct rnic_cq *cq = &rxq->cq;
	const struct rnic_cqe *cqe, *ring = cq->ring;
	const uint32_t cq_mask = cq->mask, frame_bytes = rxq->frame_bytes;
	const uint16_t rq_mask = rxq->rq.mask;
	const uint8_t log_size = cq->log_size;
	const uint8_t mask = flags & RX_COMPRESSED ? 0xf0 | RNIC_CQE_FORMAT : 0xf0;
	const struct rx_fresh fresh = rx_fresh(rxq);
	struct rte_mbuf **elts = rxq->elts;
	uint32_t index, end = taken->end, consumer = taken->consumer;
	struct rx_frame frame;
	uint64_t bytes = 0;

	for (index = taken->index; index != end; index++, consumer++) {
		cqe = &ring[index & cq_mask];
		if (unlikely(!rnic_cqe_ready_bits(cqe, RNIC_CQE_RESPONDER_SEND << 4, mask, index,
						  log_size))) {
			if (!(flags & RX_COMPRESSED))
				taken->good = rx_no_frame(rxq, cqe, index, flags & RX_DUMP);
			break;
		}
		if (flags & RX_DUMP)
			rnic_dump_cq_entry(cq, cqe);
		frame = rx_load(rxq, cqe, flags);
		if (unlikely(frame.length - 1 >= frame_bytes)) {
			rx_error(rxq, cqe);
			taken->good = false;
			break;
		}
		if (flags & RX_SCATTERED) {
			*pkts = rx_scattered(rxq, consumer, fresh, &frame, flags);
		} else {
			*pkts = elts[consumer & rq_mask];
			rx_fill(*pkts, fresh, &frame, flags);
		}
		if (flags & RX_TIME)
			rx_timestamp(rxq, cqe, *pkts,
				     flags & RX_UTC ||
					     (flags & RX_DUMP && rnic_clock_is_real(rxq->dev)));
		pkts++;
		bytes += frame.length;
	}
	taken->index = index;
	taken->consumer = consumer;
	taken->bytes += bytes;
}

/* A title or a list that cannot be is the device's mistake, and has no syndrome. */
static void __rte_noinline
rx_mistake(struct rnic_rxq *rxq)
{
	rxq->recovery.syndrome = rxq->recovery.vendor_syndrome = 0;
	rnic_counter_add(&rxq->stats.errors, 1);
}

/* Of a session that is under way: what is left, or as much as is wanted. */
static __rte_always_inline void
rx_take_session(struct rnic_rxq *rxq, struct rte_mbuf **pkts, struct rx_taken *taken,
		const unsigned int flags)
{
	struct rnic_rx_session *session = &rxq->session;
	const uint32_t n = RTE_MIN(rxq->cq.session, taken->end - taken->index);
	const uint32_t cq_mask = rxq->cq.mask, frame_bytes = rxq->frame_bytes;
	const uint32_t first = taken->index, consumer = taken->consumer;
	const uint16_t rq_mask = rxq->rq.mask;
	const struct rx_fresh fresh = rx_fresh(rxq);
	struct rnic_cqe *ring = rxq->cq.ring;
	struct rte_mbuf **elts = rxq->elts;
	uint32_t i, at = session->at;
	struct rx_frame frame;
	uint64_t bytes = 0;

	for (i = 0; i < n; i++, at++) {
		if (at % RNIC_MINI_CQES == 0)
			rx_session_list(rxq, at);
		/* Behind the list that is in it. */
		rx_slot_taken(&ring[(first + i) & cq_mask]);
		frame = rx_session_frame(session, session->minis[at % RNIC_MINI_CQES], flags);
		if (unlikely(frame.length - 1 >= frame_bytes))
			break;
		if (flags & RX_SCATTERED) {
			pkts[i] = rx_scattered(rxq, (uint16_t)(consumer + i), fresh, &frame, flags);
		} else {
			pkts[i] = elts[(consumer + i) & rq_mask];
			rx_fill(pkts[i], fresh, &frame, flags);
		}
		bytes += frame.length;
	}
	session->at = at;
	/* With the one that is a mistake: behind it the CQ goes on. */
	rxq->cq.session -= i + (i != n);
	taken->index += i;
	taken->consumer += i;
	taken->bytes += bytes;
	if (unlikely(i != n)) {
		rx_mistake(rxq);
		taken->good = false;
	}
}

/* Where no entry follows that is one frame's: a title, whose session is under way then; or what the burst ends with. */
static __rte_always_inline bool
rx_take_title(struct rnic_rxq *rxq, struct rx_taken *taken, const unsigned int flags)
{
	const struct rnic_cqe *cqe = &rxq->cq.ring[taken->index & rxq->cq.mask];
	const uint16_t posted = (uint16_t)(rxq->rq.producer - taken->consumer);
	const int opened = rx_session_open(rxq, cqe, taken->index, posted, flags & RX_TELLS);

	if (opened > 0)
		return true;
	if (opened == 0) {
		taken->good = rx_no_frame(rxq, cqe, taken->index, false);
	} else {
		rx_mistake(rxq);
		taken->good = false;
	}
	return false;
}

/* Entries and sessions. */
static __rte_always_inline void
rx_take_compressed(struct rnic_rxq *rxq, struct rte_mbuf **pkts, struct rx_taken *taken,
		   const unsigned int flags)
{
	const uint32_t first = taken->index;

	while (taken->index != taken->end && taken->good) {
		if (rxq->cq.session != 0) {
			rx_take_session(rxq, &pkts[taken->index - first], taken, flags);
			continue;
		}
		rx_take_entries(rxq, &pkts[taken->index - first], taken, flags);
		if (taken->index == taken->end || !taken->good || !rx_take_title(rxq, taken, flags))
			break;
	}
}

/* What is there, up to `count`. */
static __rte_always_inline uint16_t
rx_take(struct rnic_rxq *rxq, struct rte_mbuf **pkts, uint16_t count, const unsigned int flags)
{
	const uint16_t posted = rxq->rq.producer - rxq->consumer;
	const uint32_t first = rxq->cq.consumer;
	struct rnic_cq *cq = &rxq->cq;
	/* An entry for a WQE that was never posted would be the device's error. */
	struct rx_taken taken = { .index = first,
				  .end = first + RTE_MIN(count, posted),
				  .consumer = rxq->consumer,
				  .good = true };

	if (flags & RX_COMPRESSED) {
		rx_take_compressed(rxq, pkts, &taken, flags);
	} else {
		rx_take_entries(rxq, pkts, &taken, flags);
	}
	rxq->consumer = (uint16_t)taken.consumer;
	cq->consumer = taken.index + !taken.good;
	rnic_cq_dbrec_publish(cq->dbrec, cq->consumer);
	rnic_counter_add(&rxq->stats.packets, taken.index - first);
	rnic_counter_add(&rxq->stats.bytes, taken.bytes);
	if (unlikely(!taken.good)) {
		/* Last of all: from here on the queue is the recovery's. */
		rnic_recovery_failed(&rxq->recovery);
		return (uint16_t)(taken.index - first);
	}
	if (flags & RX_SCATTERED) {
		if (unlikely(!rnic_rx_refill_all(rxq)))
			rnic_counter_add(&rxq->stats.no_mbuf, 1);
	} else if (rxq->rq.mask + 1 - (uint16_t)(rxq->rq.producer - taken.consumer) >=
		   RNIC_RX_REFILL) {
		rx_refill_single(rxq);
	}
	return (uint16_t)(taken.index - first);
}

/* Two functions each, so that a poll that finds nothing saves no registers. */
#define RX_INSTANCE(name, flags)                                                                 \
	static uint16_t __rte_noinline name##_take(struct rnic_rxq *rxq, struct rte_mbuf **pkts, \
						   uint16_t count)                               \
	{                                                                                        \
		return rx_take(rxq, pkts, count, flags);                                         \
	}                                                                                        \
	static uint16_t name(void *queue, struct rte_mbuf **pkts, uint16_t count)                \
	{                                                                                        \
		uint16_t done = 0;                                                               \
                                                                                                 \
		rnic_owner_enter(queue);                                                         \
		if (rx_ready(queue, flags))                                                      \
			done = name##_take(queue, pkts, count);                                  \
		rnic_owner_leave(queue);                                                         \
		return done;                                                                     \
	}

#define RX_ALL	      (RX_TELLS | RX_TIME | RX_DUMP)
#define RX_TELLS_MANY (RX_TELLS | RX_COMPRESSED)

RX_INSTANCE(rnic_rx_burst_single, 0)
RX_INSTANCE(rnic_rx_burst_single_offloads, RX_TELLS)
RX_INSTANCE(rnic_rx_burst_single_compressed, RX_COMPRESSED)
RX_INSTANCE(rnic_rx_burst_single_compressed_offloads, RX_TELLS_MANY)
RX_INSTANCE(rnic_rx_burst_single_time, RX_TELLS | RX_TIME)
RX_INSTANCE(rnic_rx_burst_single_utc, RX_TELLS | RX_TIME | RX_UTC)
RX_INSTANCE(rnic_rx_burst_single_dump, RX_ALL)
RX_INSTANCE(rnic_rx_burst_scattered, RX_SCATTERED)
RX_INSTANCE(rnic_rx_burst_scattered_offloads, RX_SCATTERED | RX_TELLS)
RX_INSTANCE(rnic_rx_burst_scattered_compressed, RX_SCATTERED | RX_COMPRESSED)
RX_INSTANCE(rnic_rx_burst_scattered_compressed_offloads, RX_SCATTERED | RX_TELLS_MANY)
RX_INSTANCE(rnic_rx_burst_scattered_time, RX_SCATTERED | RX_TELLS | RX_TIME)
RX_INSTANCE(rnic_rx_burst_scattered_utc, RX_SCATTERED | RX_TELLS | RX_TIME | RX_UTC)
RX_INSTANCE(rnic_rx_burst_scattered_dump, RX_SCATTERED | RX_ALL)

enum rx_mode {
	RX_MODE_PLAIN,
	RX_MODE_TELLS,
	RX_MODE_COMPRESSED,
	RX_MODE_COMPRESSED_TELLS,
	RX_MODE_TIME,
	RX_MODE_UTC,
	RX_MODE_DUMP,
	RX_MODES,
};

static const struct rnic_rx_mode rx_modes[2][RX_MODES] = {
	{ { "Scalar", rnic_rx_burst_single },
	  { "Scalar, offloads", rnic_rx_burst_single_offloads },
	  { "Scalar, compressed completions", rnic_rx_burst_single_compressed },
	  { "Scalar, compressed completions, offloads", rnic_rx_burst_single_compressed_offloads },
	  { "Scalar, offloads with time", rnic_rx_burst_single_time },
	  { "Scalar, offloads with UTC", rnic_rx_burst_single_utc },
	  { "Scalar, dumping", rnic_rx_burst_single_dump } },
	{ { "Scalar scattered", rnic_rx_burst_scattered },
	  { "Scalar scattered, offloads", rnic_rx_burst_scattered_offloads },
	  { "Scalar scattered, compressed completions", rnic_rx_burst_scattered_compressed },
	  { "Scalar scattered, compressed completions, offloads",
	    rnic_rx_burst_scattered_compressed_offloads },
	  { "Scalar scattered, offloads with time", rnic_rx_burst_scattered_time },
	  { "Scalar scattered, offloads with UTC", rnic_rx_burst_scattered_utc },
	  { "Scalar scattered, dumping", rnic_rx_burst_scattered_dump } },
};

const char *
rnic_rx_not_compressed_why(const struct rnic_dev *dev, unsigned int tells)
{
	if (dev->args.cqe_comp == RNIC_CQE_COMP_OFF)
		return "cqe_comp=0";
	if (!rnic_general_cap(dev, RNIC_GENERAL_CAP_CQE_COMPRESSION))
		return "the device has none";
	if (tells & RNIC_RX_TELLS_TIME)
		return "one would have no time of its own, and the port tells when frames come";
	return rnic_dump_wanted() ? "entries are dumped" : NULL;
}

const struct rnic_rx_mode *
rnic_rx_mode_get(const struct rnic_dev *dev, bool scattered, unsigned int tells)
{
	const struct rnic_rx_mode *modes = rx_modes[scattered];

	/* As the CQs are, whatever is wanted by now. */
	if (tells & RNIC_RX_COMPRESSED)
		return &modes[tells & RNIC_RX_TELLS ? RX_MODE_COMPRESSED_TELLS
						    : RX_MODE_COMPRESSED];
	if (rnic_dump_wanted())
		return &modes[RX_MODE_DUMP];
	if (tells & RNIC_RX_TELLS_TIME)
		return &modes[rnic_clock_is_real(dev) ? RX_MODE_UTC : RX_MODE_TIME];
	return &modes[tells & RNIC_RX_TELLS ? RX_MODE_TELLS : RX_MODE_PLAIN];
}
