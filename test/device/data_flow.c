/* SPDX-License-Identifier: BSD-3-Clause */

/* The half of data_path.h that traffic needs: flow tables, WQEs, doorbells, completions. */
#include <stdlib.h>
#include <string.h>

#include "data_path.h"

int
dp_steer_all(struct dp_rq *rq)
{
	int status = dp_tir_create(rq);

	return status != 0 ? status : drv_root_to_tirs(&rq->dp->drv, &rq->tirn, 1, &rq->dp->root);
}

void *
dp_wqe_at(struct dp_sq *sq, uint32_t ds)
{
	uint32_t start = (uint32_t)((uint8_t *)sq->last - sq->ring);
	uint32_t at = start + ds * RNIC_WQE_DS_BYTES;

	return sq->ring + (at & ((RNIC_WQEBB_BYTES << sq->log_size) - 1u));
}

struct rnic_wqe_ctrl *
dp_wqe(struct dp_sq *sq, uint8_t opcode, uint32_t ds, uint8_t ce)
{
	uint32_t slot = sq->producer & ((1u << sq->log_size) - 1), i;
	struct rnic_wqe_ctrl *ctrl =
		(struct rnic_wqe_ctrl *)(sq->ring + (size_t)slot * RNIC_WQEBB_BYTES);

	sq->last = ctrl;
	for (i = 0; i < ds; i++)
		memset(dp_wqe_at(sq, i), 0, RNIC_WQE_DS_BYTES);
	ctrl->opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq->producer, opcode));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq->sqn, ds));
	ctrl->fm_ce_se = ce;
	sq->producer = (uint16_t)(sq->producer + (ds + 3) / 4);
	return ctrl;
}

void
dp_wqe_data(struct dp_sq *sq, uint32_t ds, const void *data, uint32_t bytes)
{
	struct rnic_wqe_data *seg = dp_wqe_at(sq, ds);

	seg->byte_count = rnic_cpu_to_be32(bytes);
	seg->lkey = rnic_cpu_to_be32(sq->dp->lkey);
	seg->address = rnic_cpu_to_be64((uintptr_t)data);
}

/* A register of a UAR page that is mapped. */
static uint64_t *
bell(const struct dp *dp, uint32_t uar, uint32_t offset)
{
	const uint64_t page = uar * (uint64_t)RNIC_UAR_PAGE_BYTES - dp->bar_offset;

	return (uint64_t *)(void *)(dp->bar + page + offset);
}

void
dp_sq_record(struct dp_sq *sq)
{
	__atomic_store_n(&sq->dbrec->send_counter.raw, RNIC_SWAP32(sq->producer), __ATOMIC_RELEASE);
}

void
dp_sq_ring(struct dp_sq *sq)
{
	uint64_t word;

	dp_sq_record(sq);
	memcpy(&word, sq->last, sizeof(word));
	__atomic_store_n(bell(sq->dp, sq->uar, RNIC_UAR_BLUEFLAME + sq->half * RNIC_BF_HALF_BYTES),
			 word, __ATOMIC_RELEASE);
	sq->half ^= 1;
}

void
dp_send(struct dp_sq *sq, const void *data, uint32_t bytes)
{
	dp_wqe(sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(sq, 2, data, bytes);
	dp_sq_ring(sq);
}

void
dp_post(struct dp_rq *rq, void *data, uint32_t bytes)
{
	uint32_t slot = rq->producer & ((1u << rq->log_size) - 1);
	struct rnic_wqe_data *seg =
		(struct rnic_wqe_data *)(rq->ring + ((size_t)slot << rq->log_stride));

	seg[0].byte_count = rnic_cpu_to_be32(bytes);
	seg[0].lkey = rnic_cpu_to_be32(rq->dp->lkey);
	seg[0].address = rnic_cpu_to_be64((uintptr_t)data);
	if (rq->log_stride > 4) {
		seg[1].byte_count = rnic_cpu_to_be32(0);
		seg[1].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
	}
	rq->producer++;
}

void
dp_rq_record(struct dp_rq *rq)
{
	__atomic_store_n(&rq->dbrec->receive_counter.raw, RNIC_SWAP32(rq->producer),
			 __ATOMIC_RELEASE);
}

unsigned int
dp_run(struct dp *dp)
{
	unsigned int done = 0, idle = 0, n;

	while (idle < 100) {
		n = softrnic_poll(dp->poller);
		done += n;
		idle = n == 0 ? idle + 1 : 0;
	}
	return done;
}

const struct rnic_cqe *
dp_cq_peek(struct dp_cq *cq)
{
	return drv_cqe_next(cq->ring, cq->log_size, cq->bytes, cq->consumer);
}

const struct rnic_cqe *
dp_cq_next(struct dp_cq *cq)
{
	const struct rnic_cqe *cqe;

	if (cq->session.left == 0) {
		cqe = dp_cq_peek(cq);
		if (cqe == NULL)
			return NULL;
		if (drv_is_title(cqe))
			drv_session_open(&cq->session, cqe, cq->consumer);
	}
	if (cq->session.left != 0)
		cqe = drv_session_next(&cq->session, cq->ring, cq->log_size, cq->bytes,
				       cq->consumer);
	cq->consumer++;
	__atomic_store_n(&cq->dbrec->consumer_index.raw,
			 RNIC_SWAP32(cq->consumer & RNIC_CQ_INDEX_MASK), __ATOMIC_RELEASE);
	return cqe;
}

void
dp_cq_arm(struct dp_cq *cq, uint32_t sequence, bool solicited)
{
	uint32_t arm = sequence << RNIC_CQ_ARM_SEQUENCE_SHIFT |
		       (solicited ? RNIC_CQ_ARM_SOLICITED : 0) |
		       (cq->consumer & RNIC_CQ_INDEX_MASK);

	__atomic_store_n(&cq->dbrec->arm.raw, RNIC_SWAP32(arm), __ATOMIC_RELEASE);
	__atomic_store_n(bell(cq->dp, cq->uar, RNIC_UAR_CQ_ARM),
			 RNIC_SWAP64((uint64_t)arm << 32 | cq->cqn), __ATOMIC_RELEASE);
}

const struct rnic_eqe *
dp_eq_next(struct dp *dp)
{
	const struct rnic_eqe *eqe = drv_eqe_next(dp->eqes, DP_EQ_LOG_SIZE, dp->eq_consumer);

	if (eqe != NULL)
		dp->eq_consumer++;
	return eqe;
}

void
dp_eq_seen(struct dp *dp)
{
	struct rnic_be32 seen = rnic_cpu_to_be32(RNIC_EQ_DOORBELL(dp->eqn, dp->eq_consumer));

	softrnic_bar_write(dp->dev,
			   dp->uars[0] * (uint64_t)RNIC_UAR_PAGE_BYTES + RNIC_UAR_EQ_UPDATE, &seen,
			   sizeof(seen));
}

struct softrnic_stats
dp_stats(struct dp *dp)
{
	struct softrnic_stats stats;

	softrnic_stats_get(dp->dev, &stats);
	return stats;
}
