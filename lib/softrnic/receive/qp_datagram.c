/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams in: anybody may send them to anybody who has the same keys, and they tell where they come from. */
#include <rte_branch_prediction.h>

#include "softrnic/port/port.h"
#include "softrnic/receive/pkey.h"
#include "softrnic/receive/qp_datagram.h"
#include "softrnic/rocev2/encode.h"

_Static_assert(ROCE_GRH_BYTES == ROCEV2_GRH_BYTES, "what stands before the payload");

void
softrnic_qp_datagram_receive(struct softrnic *dev, struct softrnic_qp *qp,
			     const struct rocev2_frame *head, const struct roce_pkt *pkt)
{
	struct iovec pieces[1 + ROCE_PKT_PIECES];
	struct roce_pkt whole = *pkt;
	uint8_t grh[ROCEV2_GRH_BYTES];

	if (unlikely(!softrnic_roce_pkey_fits(head->pkey))) {
		dev->stats.roce_pkey_errors++;
		return;
	}
	if (unlikely(pkt->qkey != qp->roce.attr.qkey)) {
		dev->stats.roce_qkey_errors++;
		return;
	}
	if (unlikely(!softrnic_roce_datagram_fits(dev, pkt->length))) {
		qp->roce.counters->resp_local_length_error++;
		return;
	}
	rocev2_encode_grh(head, pkt, grh);
	pieces[0] = (struct iovec){ grh, sizeof(grh) };
	for (uint32_t i = 0; i < pkt->count; i++)
		pieces[1 + i] = pkt->pieces[i];
	whole.length += sizeof(grh);
	whole.count++;
	whole.pieces = pieces;
	qp->arriving = head;
	roce_qp_receive(&qp->roce, &whole, dev->now);
	qp->arriving = NULL;
	softrnic_qp_activate(dev, qp);
}
