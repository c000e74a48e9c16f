/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Data segments: from an offset in a message to host memory. A packet goes on where the one before it ended, so a walk
 * remembers its segment; only a packet that is sent again from further back begins anew.
 */
#include <errno.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/copy.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/segments.h"
#include "softrnic/memory/tpt.h"

/* Further pieces for `length` bytes of a pointer segment, from byte `skip` of it on; how many there are now. */
static inline int
segment_pieces(struct softrnic *dev, const struct softrnic_qp_segments *segments,
	       const struct rnic_wqe_data *segment, uint32_t skip, uint32_t length,
	       unsigned int access, struct iovec *pieces, int count)
{
	uint32_t key = rnic_be32_to_cpu(segment->lkey);
	uint64_t va = rnic_be64_to_cpu(segment->address);
	uint8_t *host;
	int n;

	if (unlikely(va + skip < va || count == ROCE_PKT_PIECES))
		return count == ROCE_PKT_PIECES ? -RNIC_SYND_LOCAL_LENGTH
						: -RNIC_SYND_LOCAL_PROTECTION;
	va += skip;
	host = softrnic_tpt_flat(dev, key, segments->pd, va, length, access);
	if (likely(host != NULL)) {
		pieces[count] = (struct iovec){ host, length };
		return count + 1;
	}
	if (key == SOFTRNIC_RESERVED_LKEY && !segments->rlky)
		return -RNIC_SYND_LOCAL_PROTECTION;
	n = softrnic_tpt_translate(dev, key, segments->pd, va, length, access, &pieces[count],
				   ROCE_PKT_PIECES - count);
	if (n < 0)
		return n == -E2BIG ? -RNIC_SYND_LOCAL_LENGTH : -RNIC_SYND_LOCAL_PROTECTION;
	return count + n;
}

int
softrnic_qp_pieces(struct softrnic *dev, const struct softrnic_qp_segments *segments,
		   struct softrnic_qp_cursor *cursor, uint32_t offset, uint32_t length,
		   unsigned int access, struct iovec *pieces)
{
	const struct rnic_wqe_data *segment;
	uint32_t bytes, skip;
	int count = 0;

	if (offset == 0 || cursor->wqe != segments->id || offset < cursor->start)
		*cursor = (struct softrnic_qp_cursor){ .wqe = segments->id, .at = segments->first };
	while (length > 0) {
		/* The sum was taken of this very copy. */
		if (unlikely(cursor->at >= segments->end))
			return -RNIC_SYND_LOCAL_LENGTH;
		segment = softrnic_qp_segment(segments, cursor->at);
		bytes = softrnic_qp_segment_length(segment);
		skip = offset - cursor->start;
		if (skip >= bytes) {
			cursor->start += bytes;
			cursor->at += softrnic_qp_segment_size(segment);
			continue;
		}
		bytes -= skip;
		if (bytes > length)
			bytes = length;
		if (unlikely((rnic_be32_to_cpu(segment->byte_count) & RNIC_WQE_INLINE) != 0)) {
			if (access != SOFTRNIC_LOCAL_READ)
				return -RNIC_SYND_LOCAL_PROTECTION;
			if (count == ROCE_PKT_PIECES)
				return -RNIC_SYND_LOCAL_LENGTH;
			pieces[count].iov_base =
				(void *)(uintptr_t)(segments->wqe + cursor->at + 4 + skip);
			pieces[count++].iov_len = bytes;
		} else {
			int first = count;

			count = segment_pieces(dev, segments, segment, skip, bytes, access, pieces,
					       count);
			if (unlikely(count < 0))
				return count;
			for (; first < count; first++)
				softrnic_audit(dev, pieces[first].iov_base, pieces[first].iov_len,
					       access == SOFTRNIC_LOCAL_READ ? SOFTRNIC_DMA_READ
									     : SOFTRNIC_DMA_WRITE);
		}
		offset += bytes;
		length -= bytes;
	}
	softrnic_spend_pieces(dev, (uint32_t)count);
	return count;
}

void
softrnic_qp_copy(struct softrnic *dev, const struct iovec *to, const struct roce_pkt *pkt)
{
	const struct iovec *from = pkt->pieces;
	uint32_t left = pkt->length;
	size_t to_at = 0, from_at = 0, n;

	(void)dev;
	if (likely(pkt->count == 1 && to->iov_len >= left)) {
		softrnic_audit(dev, to->iov_base, left, SOFTRNIC_DMA_WRITE);
		softrnic_copy(to->iov_base, from->iov_base, left);
		return;
	}
	while (left > 0) {
		n = from->iov_len - from_at;
		if (n > to->iov_len - to_at)
			n = to->iov_len - to_at;
		softrnic_audit(dev, (uint8_t *)to->iov_base + to_at, n, SOFTRNIC_DMA_WRITE);
		softrnic_copy((uint8_t *)to->iov_base + to_at, (uint8_t *)from->iov_base + from_at,
			      n);
		from_at += n;
		to_at += n;
		left -= (uint32_t)n;
		if (from_at == from->iov_len) {
			from++;
			from_at = 0;
		}
		if (to_at == to->iov_len) {
			to++;
			to_at = 0;
		}
	}
}

void
softrnic_qp_ring_copy(struct softrnic *dev, const struct softrnic_ring *ring, uint32_t at,
		      uint8_t *to, uint32_t bytes)
{
	/* Rings begin on 64 bytes of a page: no such block lies across two of them. */
	uint32_t step = ring->flat != NULL ? bytes : RNIC_WQEBB_BYTES;
	const void *from;
	uint32_t n;

	(void)dev;
	for (; bytes > 0; at += n, to += n, bytes -= n) {
		n = step - (ring->flat != NULL ? 0 : at % RNIC_WQEBB_BYTES);
		if (n > bytes)
			n = bytes;
		from = softrnic_ring_at(ring, at);
		softrnic_audit(dev, from, n, SOFTRNIC_DMA_READ);
		memcpy(to, from, n);
	}
	/* What SOFTRNIC_PRIVATE does for a variable: from here on nothing is read from the ring again. */
	__asm__ volatile("" : : : "memory");
}
