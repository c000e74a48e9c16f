/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What peers ask of our memory: each packet is checked anew, since a key may go at any time. The reserved key, which
 * leads anywhere, is only for the queue's own driver: softrnic_tpt_check() knows no such key.
 */
#include <errno.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/work.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/memory/window.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/qp_remote.h"

static unsigned int
qp_tpt_access(enum roce_access access)
{
	switch (access) {
	case ROCE_REMOTE_READ: return SOFTRNIC_REMOTE_READ;
	case ROCE_REMOTE_WRITE: return SOFTRNIC_REMOTE_WRITE;
	default: return SOFTRNIC_REMOTE_ATOMIC;
	}
}

/*
 * Host pieces, at most ROCE_PKT_PIECES: how many, or a syndrome. The peer is to blame for what its key does not allow; for
 * memory that is not there, the responder.
 */
static inline int
qp_remote_pieces(struct softrnic_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
		 unsigned int access, struct iovec *pieces)
{
	struct softrnic *dev = qp->dev;
	uint8_t *host = softrnic_tpt_flat(dev, rkey, qp->pd, va, length, access);
	int n;

	if (likely(host != NULL)) {
		pieces[0] = (struct iovec){ host, length };
		return 1;
	}
	if (softrnic_tpt_check_for(dev, qp->object.number, rkey, qp->pd, va, length, access) != 0)
		return -RNIC_SYND_REMOTE_ACCESS;
	n = softrnic_tpt_translate_for(dev, qp->object.number, rkey, qp->pd, va, length, access,
				       pieces, ROCE_PKT_PIECES);
	if (n < 0)
		return n == -EACCES ? -RNIC_SYND_REMOTE_ACCESS : -RNIC_SYND_REMOTE_OPERATION;
	softrnic_spend_pieces(dev, (uint32_t)n);
	return n;
}

int
softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			 enum roce_access access)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	if (likely(softrnic_tpt_flat(qp->dev, rkey, qp->pd, va, length, qp_tpt_access(access)) !=
		   NULL))
		return 0;
	if (softrnic_tpt_check_for(qp->dev, qp->object.number, rkey, qp->pd, va, length,
				   qp_tpt_access(access)) != 0)
		return -RNIC_SYND_REMOTE_ACCESS;
	return 0;
}

int
softrnic_qp_remote_invalidate(struct roce_qp *roce, uint32_t rkey)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	return softrnic_window_invalidate(qp->dev, qp->object.number, qp->pd, rkey) == 0
		       ? 0
		       : -RNIC_SYND_REMOTE_ACCESS;
}

int
softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
			 const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct iovec to[ROCE_PKT_PIECES];
	int n = qp_remote_pieces(qp, rkey, va, pkt->length, SOFTRNIC_REMOTE_WRITE, to);

	if (unlikely(n < 0))
		return n;
	softrnic_qp_copy(qp->dev, to, pkt);
	return 0;
}

int
softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			struct iovec *pieces)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	int n = qp_remote_pieces(qp, rkey, va, length, SOFTRNIC_REMOTE_READ, pieces);

	for (int i = 0; i < n; i++)
		softrnic_audit(qp->dev, pieces[i].iov_base, pieces[i].iov_len, SOFTRNIC_DMA_READ);
	return n;
}

/*
 * On the value as the CPU has it, in one step for everybody who can reach the memory: other queue pairs, and the
 * processes whose memory it is.
 */
int
softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt, uint64_t *original)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct iovec pieces[ROCE_PKT_PIECES];
	uint64_t *at, value;
	int n;

	n = qp_remote_pieces(qp, pkt->rkey, pkt->va, sizeof(*at), SOFTRNIC_REMOTE_ATOMIC, pieces);
	if (n < 0)
		return n;
	at = pieces[0].iov_base;
	/* The address is a multiple of 8; memory may be mapped otherwise, and then there is no atomic step. */
	if (n != 1 || (uintptr_t)at % sizeof(*at) != 0)
		return -RNIC_SYND_REMOTE_OPERATION;
	softrnic_audit(qp->dev, at, sizeof(*at), SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	if (pkt->opcode == ROCE_FETCH_ADD) {
		*original = __atomic_fetch_add(at, pkt->swap_add, __ATOMIC_SEQ_CST);
		return 0;
	}
	value = pkt->compare;
	__atomic_compare_exchange_n(at, &value, pkt->swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	*original = value;
	return 0;
}
