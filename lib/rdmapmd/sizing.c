/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sizes of queues (PRM: "Work Queue Structure"), from what an application needs at least.
 *
 * A send WQE of RC is a control segment, at most a remote address and an atomic segment, and then either data segments or
 * the payload itself behind a word with its length. One of RAW_PACKET has an Ethernet segment and the rest of the L2 header in
 * the place of the latter two, one of a datagram an address vector. Whole WQEBBs of 64 bytes are reserved for the largest one.
 */

#include <errno.h>

#include <rte_common.h>

#include "sizing_private.h"

#define SEGMENT	       16u /* bytes of a control, remote address, atomic, next or data segment */
#define WQEBB	       64u
#define SEND_OVERHEAD  (3 * SEGMENT)
#define UD_OVERHEAD    (4 * SEGMENT)
#define MAX_SEGMENTS   63u /* that a control segment can count */
#define INLINE_HEADER  4u
#define MAX_LOG_WQEBBS 15 /* WQE counters have 16 bits */

/* What stands before the data. */
static uint32_t
send_overhead(enum rdmapmd_qp_type type)
{
	return type == RDMAPMD_QPT_UD || type == RDMAPMD_QPT_GSI ? UD_OVERHEAD : SEND_OVERHEAD;
}

/* Both sizes are those of the largest send WQE, in bytes; all operands are below 2^32. */
static uint64_t
send_wqe_size(const struct rdmapmd_qp_cap *cap, uint32_t overhead)
{
	const uint64_t gather = overhead + (uint64_t)cap->max_send_sge * SEGMENT;
	const uint64_t in_line =
		cap->max_inline_data == 0
			? 0
			: overhead + RTE_ALIGN_CEIL(INLINE_HEADER + (uint64_t)cap->max_inline_data,
						    (uint64_t)SEGMENT);

	return RTE_ALIGN_CEIL(RTE_MAX(gather, in_line), (uint64_t)WQEBB);
}

/* Bytes of inline data. Who has them has no atomic segment: one of those that stand before the data is not counted, but for UD. */
static uint32_t
send_max_inline(uint32_t wqe, uint32_t overhead)
{
	const uint32_t counted =
		overhead == UD_OVERHEAD ? RTE_MIN(wqe, MAX_SEGMENTS * SEGMENT) : wqe;

	return counted - overhead - INLINE_HEADER;
}

static int
size_sq(const struct rdmapmd_device_attr *device, enum rdmapmd_qp_type type,
	struct rdmapmd_qp_cap *cap, struct rdmapmd_qp_sizing *sizing)
{
	const uint32_t overhead = send_overhead(type);
	/* Segments that are in the place of data; the device's limit leaves room for the overhead of others. */
	const uint32_t more = (overhead - SEND_OVERHEAD) / SEGMENT;
	uint64_t wqe, bytes, count;

	if (cap->max_send_wr == 0) {
		cap->max_send_sge = cap->max_inline_data = 0;
		return 0;
	}
	/* There is always room for one: a WQE is a block at least. */
	cap->max_send_sge = RTE_MAX(cap->max_send_sge, 1u);
	wqe = send_wqe_size(cap, overhead);
	if (cap->max_send_wr > device->max_qp_wr ||
	    cap->max_send_sge + more > device->max_send_sge || wqe > device->max_sq_desc_sz ||
	    cap->max_inline_data > send_max_inline((uint32_t)wqe, overhead))
		return -EINVAL;
	bytes = rte_align64pow2(cap->max_send_wr * wqe);
	count = bytes / WQEBB;
	if (count > device->max_send_wqebb || count > UINT64_C(1) << MAX_LOG_WQEBBS)
		return -EINVAL;
	sizing->sq.wqe_size = (uint32_t)wqe;
	sizing->sq.wqe_count = (uint32_t)count;
	sizing->sq.max_post = (uint32_t)(bytes / wqe);
	sizing->sq.max_gs = cap->max_send_sge;
	sizing->sq.max_inline = send_max_inline((uint32_t)wqe, overhead);
	cap->max_send_wr = sizing->sq.max_post;
	cap->max_inline_data = sizing->sq.max_inline;
	return 0;
}

static int
size_rq(const struct rdmapmd_device_attr *device, struct rdmapmd_qp_cap *cap,
	struct rdmapmd_qp_sizing *sizing)
{
	const uint32_t segments = RTE_MAX(cap->max_recv_sge, 1u);
	uint64_t wqe, count;

	if (cap->max_recv_wr == 0) {
		cap->max_recv_sge = 0;
		return 0;
	}
	if (cap->max_recv_wr > device->max_qp_wr || segments > device->max_recv_sge)
		return -EINVAL;
	wqe = rte_align64pow2((uint64_t)segments * SEGMENT);
	if (wqe > device->max_rq_desc_sz)
		return -EINVAL;
	/* A ring is no smaller than a WQEBB. */
	count = RTE_MAX(rte_align64pow2(cap->max_recv_wr) * wqe, (uint64_t)WQEBB) / wqe;
	if (count > UINT64_C(1) << MAX_LOG_WQEBBS)
		return -EINVAL;
	sizing->rq.wqe_size = (uint32_t)wqe;
	sizing->rq.wqe_count = (uint32_t)count;
	sizing->rq.max_post = (uint32_t)count;
	sizing->rq.max_gs = (uint32_t)(wqe / SEGMENT);
	cap->max_recv_wr = sizing->rq.max_post;
	/* What the device takes may be less than what fits a WQE. */
	if (sizing->rq.max_gs > device->max_recv_sge)
		sizing->rq.max_gs = device->max_recv_sge;
	cap->max_recv_sge = sizing->rq.max_gs;
	return 0;
}

int
rdmapmd_size_qp(const struct rdmapmd_device_attr *device, enum rdmapmd_qp_type type, bool srq,
		struct rdmapmd_qp_cap *cap, struct rdmapmd_qp_sizing *sizing)
{
	struct rdmapmd_qp_cap got = *cap;
	int rc;

	*sizing = (struct rdmapmd_qp_sizing){ 0 };
	if (srq)
		got.max_recv_wr = 0;
	rc = size_sq(device, type, &got, sizing);
	if (rc == 0)
		rc = size_rq(device, &got, sizing);
	if (rc == 0)
		*cap = got;
	return rc;
}

int
rdmapmd_size_cq(const struct rdmapmd_device_attr *device, uint32_t cqe, uint8_t *log_size)
{
	/* One entry stays free: a full ring and an empty one look alike to the device. */
	const uint64_t entries = rte_align64pow2((uint64_t)cqe + 1);

	if (cqe == 0 || cqe > device->max_cqe)
		return -EINVAL;
	*log_size = (uint8_t)__builtin_ctzll(entries);
	return 0;
}

int
rdmapmd_size_srq(const struct rdmapmd_device_attr *device, struct rdmapmd_srq_attr *attr,
		 struct rdmapmd_srq_sizing *sizing)
{
	const uint32_t segments = RTE_MAX(attr->max_sge, 1u);
	uint64_t wqe, count;

	if (attr->max_wr == 0 || attr->max_wr > device->max_srq_wr ||
	    segments > device->max_srq_sge)
		return -EINVAL;
	wqe = rte_align64pow2(SEGMENT + (uint64_t)segments * SEGMENT);
	/* One WQE is the free list's end. */
	count = rte_align64pow2((uint64_t)attr->max_wr + 1);
	if (count > UINT64_C(1) << MAX_LOG_WQEBBS)
		return -EINVAL;
	*sizing = (struct rdmapmd_srq_sizing){
		.wqe_size = (uint32_t)wqe,
		.wqe_count = (uint32_t)count,
		.max_post = (uint32_t)count - 1,
		.max_gs = RTE_MIN((uint32_t)(wqe / SEGMENT) - 1, device->max_srq_sge),
	};
	attr->max_wr = sizing->max_post;
	attr->max_sge = sizing->max_gs;
	return 0;
}
