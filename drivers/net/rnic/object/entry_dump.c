/* SPDX-License-Identifier: BSD-3-Clause */

#include "object/entry_dump.h"

#include <string.h>

#include <rte_common.h>

#include "core/dump.h"
#include "object/cq.h"
#include "object/sq.h"
#include "prm/cqe.h"
#include "prm/dump.h"
#include "prm/wqe.h"

void
rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, enum rnic_wqe_kind kind)
{
	struct rnic_dump_text text = { .put = rnic_dump_put };
	uint8_t wqe[(RNIC_WQE_DS_MAX + 1) * RNIC_WQE_DS_BYTES];
	uint32_t ring_bytes = ((uint32_t)sq->mask + 1) * RNIC_WQEBB_BYTES;
	uint32_t start = (uint32_t)(index & sq->mask) * RNIC_WQEBB_BYTES;
	uint32_t first = RTE_MIN((uint32_t)sizeof(wqe), ring_bytes - start);

	/* In one piece, even where it wraps around the end of the ring. */
	memcpy(wqe, sq->ring + start, first);
	memcpy(wqe + first, sq->ring, sizeof(wqe) - first);
	rnic_dump_wqe((uintptr_t)sq->ring + start, wqe, sizeof(wqe), rnic_dump_text_line, &text);
	rnic_decode_wqe(wqe, sizeof(wqe), kind, rnic_dump_text_line, &text);
	rnic_dump_text_end(&text);
}

void
rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe)
{
	struct rnic_dump_text text = { .put = rnic_dump_put };

	rnic_dump_cqe(cq->cqn, cqe, sizeof(*cqe), rnic_dump_text_line, &text);
	rnic_decode_cqe(cqe, sizeof(*cqe), rnic_dump_text_line, &text);
	rnic_dump_text_end(&text);
}
