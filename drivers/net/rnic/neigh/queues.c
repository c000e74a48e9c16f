/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A CQ for both queues. Of a received frame the first bytes are of interest: they have a buffer, and what is behind them goes to
 * one place for all, so that a frame of whatever length is no error.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/uar.h"
#include "neigh/packet.h"
#include "neigh/queues.h"
#include "object/mkey.h"
#include "object/q_counter.h"
#include "object/wq.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "steering/flow.h"

#define LOG_RECEIVES 6
#define RECEIVES     (1u << LOG_RECEIVES)
#define LOG_STRIDE   5 /* two segments */
#define LOG_SENDS    4
#define SENDS	     (1u << LOG_SENDS)
#define LOG_CQ	     7
_Static_assert(RECEIVES + SENDS <= 1u << LOG_CQ, "room for all completions");
#define SEND_BYTES 256u
_Static_assert(SEND_BYTES >= RNIC_NEIGH_READ_BYTES, "room for all that is built");
#define FRAME_OVERHEAD 64u /* more than a frame has beside its MTU */
#define PAGE_BYTES     4096u
#define FRAME_DS       4 /* control, Ethernet with the first bytes, data */
_Static_assert(FRAME_DS *RNIC_WQE_DS_BYTES == RNIC_WQEBB_BYTES, "a WQE is one basic block");

static uint8_t *
receive_buffer(const struct rnic_neigh_queues *queues, uint16_t index)
{
	return queues->memory + (index & (RECEIVES - 1)) * RNIC_NEIGH_READ_BYTES;
}

static uint8_t *
send_buffer(const struct rnic_neigh_queues *queues, uint16_t index)
{
	return queues->memory + RECEIVES * RNIC_NEIGH_READ_BYTES +
	       (index & (SENDS - 1)) * SEND_BYTES;
}

static uint8_t *
behind_buffer(const struct rnic_neigh_queues *queues)
{
	return queues->memory + RECEIVES * RNIC_NEIGH_READ_BYTES + SENDS * SEND_BYTES;
}

static void
data_fill(struct rnic_wqe_data *data, const struct rnic_neigh_queues *queues, const uint8_t *at,
	  uint32_t bytes)
{
	data->byte_count = rnic_cpu_to_be32(bytes);
	data->lkey = rnic_cpu_to_be32(queues->key);
	data->address = rnic_cpu_to_be64((uintptr_t)at);
}

/* ---- Life ---- */

static int
memory_create(struct rnic_dev *dev, struct rnic_neigh_queues *queues)
{
	struct rnic_mkey_attr attr;
	size_t bytes;
	int rc;

	queues->behind_bytes = dev->max_mtu + FRAME_OVERHEAD;
	bytes = RTE_ALIGN_CEIL(RECEIVES * RNIC_NEIGH_READ_BYTES + SENDS * SEND_BYTES +
				       queues->behind_bytes,
			       PAGE_BYTES);
	queues->memory = rte_zmalloc_socket("neighbours", bytes, PAGE_BYTES, dev->socket_id);
	if (queues->memory == NULL)
		return -ENOMEM;
	attr = rnic_mkey_attr_own(dev, (uintptr_t)queues->memory, bytes, RNIC_ACCESS_WRITE);
	rc = rnic_mkey_create(dev, &attr, &queues->key);
	queues->has_key = rc == 0;
	return rc;
}

static void
receives_post(struct rnic_neigh_queues *queues, uint32_t count)
{
	struct rnic_rq *rq = &queues->rq;

	for (; count > 0; count--, rq->producer++) {
		struct rnic_wqe_data *data =
			(struct rnic_wqe_data *)(rq->ring +
						 ((size_t)(rq->producer & rq->mask) << LOG_STRIDE));

		data_fill(&data[0], queues, receive_buffer(queues, rq->producer),
			  RNIC_NEIGH_READ_BYTES);
		data_fill(&data[1], queues, behind_buffer(queues), queues->behind_bytes);
	}
	rnic_rq_dbrec_publish(rq->dbrec, rq->producer);
}

static void
queues_arm(struct rnic_neigh_queues *queues)
{
	rnic_cq_arm(queues->cq.dbrec, queues->arm_register,
		    (queues->sequence & 3) << RNIC_CQ_ARM_SEQUENCE_SHIFT |
			    (queues->cq.consumer & RNIC_CQ_INDEX_MASK),
		    queues->cq.cqn);
}

static int
objects_create(struct rnic_dev *dev, const struct rnic_eq *eq, struct rnic_neigh_queues *queues)
{
	const struct rnic_wq_owner owner = { .pd = dev->pd, .q_counter = dev->qp_counters->number };
	int rc = rnic_cq_create(dev, LOG_CQ, eq, &queues->cq);

	if (rc == 0)
		rc = rnic_sq_create_for(dev, &owner, LOG_SENDS, &queues->cq, &queues->sq);
	if (rc == 0)
		rc = rnic_sq_set_state(dev, &queues->sq, RNIC_WQ_STATE_RDY);
	if (rc == 0)
		rc = rnic_rq_create_for(dev, &owner, LOG_RECEIVES, LOG_STRIDE, &queues->cq,
					&queues->rq);
	if (rc == 0)
		rc = rnic_rq_set_state(dev, &queues->rq, RNIC_WQ_STATE_RDY);
	if (rc == 0)
		rc = rnic_tir_create(dev, queues->rq.rqn, &queues->tir);
	queues->has_tir = rc == 0;
	return rc;
}

int
rnic_neigh_queues_create(struct rnic_dev *dev, const struct rnic_eq *eq,
			 struct rnic_neigh_queues *queues)
{
	int rc;

	*queues = (struct rnic_neigh_queues){ .sequence = RNIC_CQ_ARM_SEQUENCE_FIRST };
	/* Of more headers there would have to be a parser here. */
	if (dev->min_inline_mode > RNIC_INLINE_MODE_L2)
		return -ENOTSUP;
	rc = memory_create(dev, queues);
	if (rc == 0)
		rc = objects_create(dev, eq, queues);
	if (rc != 0) {
		rnic_neigh_queues_destroy(dev, queues);
		return rc;
	}
	queues->arm_register = rnic_uars_cq_register(dev);
	receives_post(queues, RECEIVES);
	queues_arm(queues);
	return 0;
}

void
rnic_neigh_queues_destroy(struct rnic_dev *dev, struct rnic_neigh_queues *queues)
{
	if (queues->has_tir)
		rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIR, queues->tir);
	rnic_rq_destroy(dev, &queues->rq);
	rnic_sq_destroy(dev, &queues->sq);
	if (queues->cq.ring != NULL)
		rnic_cq_destroy(dev, &queues->cq);
	if (queues->has_key)
		rnic_mkey_destroy(dev, queues->key);
	rte_free(queues->memory);
	*queues = (struct rnic_neigh_queues){ 0 };
}

int
rnic_neigh_queues_recover(struct rnic_dev *dev, struct rnic_neigh_queues *queues)
{
	/* Both at once: what waits in the CQ is of neither afterwards. */
	int rc = rnic_rq_set_state(dev, &queues->rq, RNIC_WQ_STATE_RST);

	if (rc == 0)
		rc = rnic_sq_recover(dev, &queues->sq);
	if (rc == 0)
		rc = rnic_rq_recover(dev, &queues->rq);
	return rc;
}

void
rnic_neigh_queues_restart(struct rnic_neigh_queues *queues)
{
	rnic_cq_drop(&queues->cq);
	queues->rq_tail = queues->sq_tail = 0;
	queues->broken = false;
	receives_post(queues, RECEIVES);
	queues_arm(queues);
}

/* ---- Frames ---- */

bool
rnic_neigh_queues_send(struct rnic_neigh_queues *queues, const uint8_t *frame, uint32_t bytes)
{
	struct rnic_sq *sq = &queues->sq;
	struct rnic_wqe_ctrl *ctrl;
	struct rnic_wqe_eth *eth;
	uint8_t *buffer, *wqe;

	/* While they are broken, the index is the recovery's, which does not hold the caller's lock. */
	if (queues->broken || (uint16_t)(sq->producer - queues->sq_tail) >= SENDS)
		return false;
	buffer = send_buffer(queues, sq->producer);
	wqe = sq->ring + (size_t)(sq->producer & sq->mask) * RNIC_WQEBB_BYTES;
	ctrl = (struct rnic_wqe_ctrl *)wqe;
	eth = (struct rnic_wqe_eth *)(ctrl + 1);
	memcpy(buffer, frame, bytes);
	memset(wqe, 0, RNIC_WQEBB_BYTES);
	ctrl->opmod_idx_opcode =
		rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq->producer, RNIC_WQE_SEND));
	ctrl->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq->sqn, FRAME_DS));
	ctrl->fm_ce_se = RNIC_WQE_CE_ALWAYS;
	/* Some devices demand the first bytes here, and all take them. They run on into the next unit. */
	eth->inline_header_size = rnic_cpu_to_be16(RNIC_INLINE_L2_BYTES);
	memcpy((uint8_t *)eth + offsetof(struct rnic_wqe_eth, inline_header_start), frame,
	       RNIC_INLINE_L2_BYTES);
	data_fill((struct rnic_wqe_data *)(eth + 2), queues, buffer + RNIC_INLINE_L2_BYTES,
		  bytes - RNIC_INLINE_L2_BYTES);
	sq->producer++;
	rnic_sq_dbrec_publish(sq->dbrec, sq->producer);
	rnic_doorbell_ring(sq->bf, ctrl);
	return true;
}

/* What it says is compared with what was posted: a device may say what it likes. */
static void
entry_receive(struct rnic_neigh_queues *queues, const struct rnic_cqe *cqe,
	      void (*fn)(void *arg, const uint8_t *frame, uint32_t bytes), void *arg)
{
	const uint32_t bytes = rnic_be32_to_cpu(cqe->byte_count);
	uint8_t frame[RNIC_NEIGH_READ_BYTES];

	if ((uint16_t)(queues->rq.producer - queues->rq_tail) == 0) {
		queues->broken = true;
		return;
	}
	/* Copied once: what is looked at does not change. */
	memcpy(frame, receive_buffer(queues, queues->rq_tail), sizeof(frame));
	queues->rq_tail++;
	receives_post(queues, 1);
	fn(arg, frame, RTE_MIN(bytes, (uint32_t)sizeof(frame)));
}

static void
entry_handle(struct rnic_neigh_queues *queues, const struct rnic_cqe *cqe,
	     void (*fn)(void *arg, const uint8_t *frame, uint32_t bytes), void *arg)
{
	const uint16_t next = (uint16_t)(rnic_be16_to_cpu(cqe->wqe_counter) + 1);

	switch (RNIC_CQE_OPCODE(cqe->op_own)) {
	case RNIC_CQE_REQUESTER:
		if ((uint16_t)(queues->sq.producer - next) < SENDS)
			queues->sq_tail = next;
		break;
	case RNIC_CQE_RESPONDER_SEND: entry_receive(queues, cqe, fn, arg); break;
	default: queues->broken = true;
	}
}

void
rnic_neigh_queues_poll(struct rnic_neigh_queues *queues,
		       void (*fn)(void *arg, const uint8_t *frame, uint32_t bytes), void *arg)
{
	struct rnic_cq *cq = &queues->cq;
	struct rnic_cqe cqe;
	uint32_t count;

	/* At most a ring of them: a device that always writes one more does not keep the thread here. */
	for (count = 0; count <= cq->mask && !queues->broken; count++) {
		const struct rnic_cqe *slot = &cq->ring[cq->consumer & cq->mask];

		if (!rnic_cqe_ready(slot, cq->consumer, cq->log_size))
			break;
		cqe = *slot;
		rte_compiler_barrier();
		cq->consumer++;
		rnic_cq_dbrec_publish(cq->dbrec, cq->consumer);
		entry_handle(queues, &cqe, fn, arg);
	}
	if (!queues->broken)
		queues_arm(queues);
}
