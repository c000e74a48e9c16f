/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the data path of queue pairs know of each other. */
#ifndef SOFTRNIC_QP_DATA_H
#define SOFTRNIC_QP_DATA_H

#include "qp.h"

/*
 * What a request's cookie says, so that nothing is parsed twice: where its WQE is, where in it the data segments begin
 * and end (units of 16 bytes), and how it completes.
 */
#define QP_COOKIE(counter, data, ds, fm_ce_se)                             \
	((uint64_t)(uint16_t)(counter) | (uint64_t)(uint8_t)(data) << 16 | \
	 (uint64_t)(uint8_t)(ds) << 24 | (uint64_t)(uint8_t)(fm_ce_se) << 32)
#define QP_COOKIE_COUNTER(cookie)  ((uint16_t)(cookie))
#define QP_COOKIE_DATA(cookie)	   ((uint8_t)((cookie) >> 16))
#define QP_COOKIE_DS(cookie)	   ((uint8_t)((cookie) >> 24))
#define QP_COOKIE_FM_CE_SE(cookie) ((uint8_t)((cookie) >> 32))

/* The vendor syndromes of our error CQEs tell the places apart. */
enum qp_vendor_syndrome {
	QP_VENDOR_REQUESTER = 0x81,
	QP_VENDOR_RESPONDER = 0x82,
	QP_VENDOR_FLUSHED = 0x83,
};

static inline struct softrnic_qp *
softrnic_qp_of(struct roce_qp *roce)
{
	return (struct softrnic_qp *)((uint8_t *)roce - offsetof(struct softrnic_qp, roce));
}

/* ---- qp.c ---- */

/* There may be something to do. */
static inline void
softrnic_qp_activate(struct softrnic *dev, struct softrnic_qp *qp)
{
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&dev->active_qps, qp, active_link);
}

/* It must go to ERR, for a reason that no completion tells: an event does. The next poll changes the state. */
void softrnic_qp_break(struct softrnic_qp *qp, enum rnic_event what, const char *why);

/* ---- watch.c ---- */

/* There is a place for one QP more, or one less. RNIC_STATUS_OK or NO_RES. */
int softrnic_qp_watch_open(struct softrnic *dev);
void softrnic_qp_watch_close(struct softrnic *dev);
/* Its record has just been read: look at it in each poll, and give it a turn when it says more than it did now. */
void softrnic_qp_watch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_unwatch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_watch_poll(struct softrnic *dev);

/* ---- send.c ---- */

/* Post what the driver has put into the send ring, at most `budget` WQEs; how many. */
unsigned int softrnic_qp_fetch(struct softrnic *dev, struct softrnic_qp *qp, unsigned int budget);
int softrnic_qp_gather(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
		       uint32_t length, struct iovec *pieces);
int softrnic_qp_scatter(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
			const struct roce_pkt *pkt);
int softrnic_qp_scatter_atomic(struct roce_qp *roce, const struct roce_request *req,
			       uint64_t original);
void softrnic_qp_complete(struct roce_qp *roce, const struct roce_request *req, uint8_t syndrome);

/* ---- receive.c ---- */

bool softrnic_qp_recv_take(struct roce_qp *roce, struct roce_recv *recv);
int softrnic_qp_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv, uint32_t offset,
			     const struct roce_pkt *pkt);
void softrnic_qp_recv_complete(struct roce_qp *roce, const struct roce_recv *recv,
			       uint8_t syndrome);
/* The receive ring of its own holds WQEs that it has not taken. */
bool softrnic_qp_recv_waits(struct softrnic *dev, struct softrnic_qp *qp);

/* ---- remote.c ---- */

int softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			     enum roce_access access);
int softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
			     const struct roce_pkt *pkt);
int softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			    struct iovec *pieces);
int softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt, uint64_t *original);

/* ---- qp_emit.c ---- */

void softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt);

/* ---- segments.c ---- */

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
