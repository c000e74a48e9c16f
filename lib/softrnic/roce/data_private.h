/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of messages, for who sends them: RC's and UC's are the same. */
#ifndef ROCE_DATA_PRIVATE_H
#define ROCE_DATA_PRIVATE_H

#include <rte_branch_prediction.h>

#include "softrnic/roce/machine_private.h"

/*
 * The next packet of a SEND or WRITE, but for who it goes to and its PSN: 0, or the syndrome of a request whose data is
 * not there. The opcode is RC's.
 */
static inline uint8_t
roce_data_packet(struct roce_qp *qp, const struct roce_request *request,
		 struct iovec pieces[ROCE_PKT_PIECES], struct roce_pkt *pkt)
{
	bool write = roce_is_write(request->opcode);
	/* All that carry a word have it: SEND_INVAL is the one that is neither SEND_IMM nor RDMA_WRITE_IMM. */
	bool immediate = (request->opcode & 1) != 0;
	uint32_t sent = qp->requester.sent, offset = sent << qp->mtu_log;
	bool first = sent == 0, last = sent + 1 == request->packets;
	int count;

	pkt->length = last ? request->length - offset : 1u << qp->mtu_log;
	if (pkt->length > 0) {
		count = qp->ops->gather(qp, request, offset, pkt->length, pieces);
		if (count < 0)
			return (uint8_t)-count;
		pkt->count = (uint32_t)count;
	}
	pkt->opcode = write ? ROCE_WRITE_FIRST : ROCE_SEND_FIRST;
	if (last) {
		pkt->opcode += first ? ROCE_SEND_ONLY : ROCE_SEND_LAST;
		pkt->opcode += immediate ? 1 : 0;
		if (unlikely(request->opcode == RNIC_WQE_SEND_INVAL))
			pkt->opcode = first ? ROCE_SEND_ONLY_INVALIDATE : ROCE_SEND_LAST_INVALIDATE;
		pkt->immediate = request->immediate;
		pkt->solicited = request->solicited && (immediate || !write);
	} else if (!first) {
		pkt->opcode += ROCE_SEND_MIDDLE;
	}
	if (first && write) {
		pkt->rkey = request->rkey;
		pkt->va = request->va;
		pkt->dma_length = request->length;
	}
	return 0;
}

#endif
