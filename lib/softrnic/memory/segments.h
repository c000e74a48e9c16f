/* SPDX-License-Identifier: BSD-3-Clause */

/* Data segments of WQEs, and what they lead to. */
#ifndef SOFTRNIC_SEGMENTS_H
#define SOFTRNIC_SEGMENTS_H

#include "softrnic/base/ring.h"

/* A walk through data segments; it goes on where it was, so that long messages of many segments cost the same. */
struct softrnic_qp_cursor {
	uint32_t wqe;	/* which WQE it is in: its cookie */
	uint32_t at;	/* of the segment in the WQE, bytes */
	uint32_t start; /* of the segment's data in the message, bytes */
};

/* Data segments in a private copy of a WQE: from byte `first` to byte `end`. */
struct softrnic_qp_segments {
	const uint8_t *wqe;
	uint32_t first, end;
	uint32_t id; /* another one for each WQE that a cursor may have been in */
	uint32_t pd;
	bool rlky; /* the reserved key is allowed */
};

static inline const struct rnic_wqe_data *
softrnic_qp_segment(const struct softrnic_qp_segments *segments, uint32_t at)
{
	return (const struct rnic_wqe_data *)(segments->wqe + at);
}

/* Bytes of data: a pointer's 0 is 2 GiB. */
static inline uint32_t
softrnic_qp_segment_length(const struct rnic_wqe_data *segment)
{
	uint32_t length = rnic_be32_to_cpu(segment->byte_count);

	if ((length & RNIC_WQE_INLINE) != 0)
		return length & ~RNIC_WQE_INLINE;
	return length == 0 ? UINT32_C(1) << 31 : length;
}

/* Bytes that it takes in the WQE. */
static inline uint32_t
softrnic_qp_segment_size(const struct rnic_wqe_data *segment)
{
	uint32_t length = rnic_be32_to_cpu(segment->byte_count);

	if ((length & RNIC_WQE_INLINE) == 0)
		return RNIC_WQE_DS_BYTES;
	length &= ~RNIC_WQE_INLINE;
	return (4 + length + RNIC_WQE_DS_BYTES - 1) & ~(RNIC_WQE_DS_BYTES - 1u);
}

/*
 * Host memory of [offset, offset + length) of what the segments describe, which holds that much: how many pieces, at most
 * ROCE_PKT_PIECES, or minus an enum rnic_cqe_syndrome. Inline data is in the copy.
 */
int softrnic_qp_pieces(struct softrnic *dev, const struct softrnic_qp_segments *segments,
		       struct softrnic_qp_cursor *cursor, uint32_t offset, uint32_t length,
		       unsigned int access, struct iovec *pieces);
/* A packet's payload into pieces that hold at least as much. */
void softrnic_qp_copy(struct softrnic *dev, const struct iovec *to, const struct roce_pkt *pkt);
/* `bytes` of a ring, from byte `at` on, both of them multiples of 16, to a private copy. */
void softrnic_qp_ring_copy(struct softrnic *dev, const struct softrnic_ring *ring, uint32_t at,
			   uint8_t *to, uint32_t bytes);

#endif
