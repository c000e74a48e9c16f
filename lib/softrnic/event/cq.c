/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues.
 *
 * An event is raised once per arming. A driver arms by its record and a doorbell, in this order; since doorbells of shared pages
 * can get lost, a changed record arms, too. `arm` is the word last seen in either, `fired` the word whose event was raised: a
 * doorbell has no effect if the record has already armed. A first word that equals the record's initial value, as Linux's, which
 * begins at sequence number 0, is recognised by its doorbell only, or by one that may have covered that (cq_may_be_armed()).
 */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/uar.h"
#include "softrnic/base/work.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"

#define CQ_LOG_SIZE_MAX	      22
#define CQ_NEVER_FIRED	      UINT64_MAX
#define CQ_ARM_SEQUENCE_SHIFT 28
/* What newer Linux leaves in a record behind CREATE_CQ: the sequence number before the first one. It arms nothing. */
#define CQ_ARM_NOT_YET (2u << CQ_ARM_SEQUENCE_SHIFT)
#define CQ_BURST_MAX   64 /* with what is held back before it, no more than `latched` counts */

_Static_assert(SOFTRNIC_CQ_BATCH <= SOFTRNIC_CQ_COMPRESS_MAX &&
		       SOFTRNIC_CQ_COMPRESS_MAX + CQ_BURST_MAX <= UINT8_MAX,
	       "entries that are held back");

/* Indices are 24 bits in host memory, 32 bits here. */
static uint32_t
cq_index_extend(const struct softrnic_cq *cq, uint32_t index)
{
	return cq->producer - ((cq->producer - index) & RNIC_CQ_INDEX_MASK);
}

static void
cq_fail(struct softrnic *dev, struct softrnic_cq *cq, enum rnic_cq_error why)
{
	uint32_t data[7] = { cq->object.number, 0, why };

	cq->error = true;
	rnic_cqc_set(&cq->context, RNIC_CQC_STATUS,
		     why == RNIC_CQ_ERROR_OVERRUN ? RNIC_CQ_STATUS_OVERFLOW
						  : RNIC_CQ_STATUS_WRITE_FAIL);
	if (why == RNIC_CQ_ERROR_OVERRUN)
		dev->stats.cq_overruns++;
	SOFTRNIC_LOG(WARNING, dev, "CQ 0x%x %s at index 0x%x: it takes no further completions",
		     cq->object.number,
		     why == RNIC_CQ_ERROR_OVERRUN ? "overrun" : "is no longer reachable",
		     cq->producer & RNIC_CQ_INDEX_MASK);
	softrnic_event(dev, RNIC_EVENT_CQ_ERROR, 0, data);
}

bool
softrnic_cq_make_room(struct softrnic *dev, struct softrnic_cq *cq)
{
	uint32_t index;

	if (cq->error)
		return false;
	if (cq->ring.generation != dev->dma_generation && !softrnic_ring_refresh(dev, &cq->ring)) {
		cq_fail(dev, cq, RNIC_CQ_ERROR_ACCESS);
		return false;
	}
	if (cq->ignore_overrun || cq->producer - cq->consumer < 1u << cq->log_size)
		return true;
	if (!softrnic_dbrec_read(dev, &cq->dbrec, 0, &index)) {
		cq_fail(dev, cq, RNIC_CQ_ERROR_ACCESS);
		return false;
	}
	/* An index ahead of the producer shows as far more than the ring holds: full as well. */
	index = cq_index_extend(cq, index);
	if (cq->producer - index >= 1u << cq->log_size) {
		cq_fail(dev, cq, RNIC_CQ_ERROR_OVERRUN);
		return false;
	}
	cq->consumer = index;
	return true;
}

uint32_t
softrnic_cq_burst_open(struct softrnic *dev, struct softrnic_cq *cq, uint32_t want,
		       struct softrnic_cq_burst *burst)
{
	const uint32_t entries = 1u << cq->log_size;
	uint32_t index, used, room;

	if (cq->error || cq->batch <= 1 || dev->dump_queues || cq->ring.flat == NULL ||
	    cq->ring.generation != dev->dma_generation)
		return 0;
	/* What was held back there comes before it. */
	if (cq->compress != NULL && cq->latch == NULL)
		softrnic_cq_show(cq);
	used = cq->ignore_overrun ? 0 : cq->producer - cq->consumer;
	if (used + want > entries && softrnic_dbrec_read(dev, &cq->dbrec, 0, &index)) {
		index = cq_index_extend(cq, index);
		if (cq->producer - index <= entries)
			cq->consumer = index;
		used = cq->ignore_overrun ? 0 : cq->producer - cq->consumer;
	}
	if (used > entries)
		return 0;
	room = entries - used;
	/* A batch never goes round its ring. */
	if (cq->latch != NULL && room > entries - cq->latched)
		room = entries - cq->latched;
	if (room > CQ_BURST_MAX)
		room = CQ_BURST_MAX;
	/* An entry of 128 bytes has the completion in its second half. */
	*burst = (struct softrnic_cq_burst){
		.cq = cq,
		.ring = (uint8_t *)cq->ring.flat + (1u << cq->cqe_bytes_log2) -
			sizeof(struct rnic_cqe),
		.producer = cq->producer,
		.mask = entries - 1,
		.entry_shift = cq->cqe_bytes_log2,
		.log_size = cq->log_size,
		.compressed = cq->compress != NULL,
	};
	return want < room ? want : room;
}

int
softrnic_cq_post_error(struct softrnic *dev, struct softrnic_cq *cq, enum rnic_cqe_opcode opcode,
		       enum rnic_cqe_syndrome syndrome, uint8_t vendor_syndrome, uint32_t sop_qpn,
		       uint32_t user_index, uint16_t wqe_counter)
{
	struct rnic_error_cqe *entry = (struct rnic_error_cqe *)softrnic_cq_claim(dev, cq);

	if (entry == NULL)
		return -ENOSPC;
	entry->srqn = rnic_cpu_to_be32(user_index);
	entry->vendor_error_syndrome = vendor_syndrome;
	entry->syndrome = (uint8_t)syndrome;
	entry->sop_qpn = rnic_cpu_to_be32(sop_qpn);
	entry->wqe_counter = rnic_cpu_to_be16(wqe_counter);
	/* An error asks for attention: it counts as solicited. */
	softrnic_cq_publish(dev, cq, (struct rnic_cqe *)entry, opcode, true);
	return 0;
}

static void
cq_hold(struct softrnic *dev, struct softrnic_cq *cq, bool hold)
{
	if (cq->held == hold)
		return;
	cq->held = hold;
	if (hold)
		TAILQ_INSERT_TAIL(&dev->held_cqs, cq, held_link);
	else
		TAILQ_REMOVE(&dev->held_cqs, cq, held_link);
}

/* Has the event to wait, with so many entries that the driver has not seen? The clock starts with the first of them. */
static bool
cq_moderate(struct softrnic *dev, struct softrnic_cq *cq, uint32_t unseen)
{
	uint64_t now;

	if (cq->max_count == 0 || cq->period_ns == 0 || unseen >= cq->max_count)
		return false;
	now = softrnic_now_ns() - dev->power_on_ns;
	if (!cq->held)
		cq->held_to = now + cq->period_ns;
	cq_hold(dev, cq, true);
	return now < cq->held_to;
}

/* Raise the event if the CQ is armed and has an entry that the driver had not seen when it armed. */
static void
cq_check_event(struct softrnic *dev, struct softrnic_cq *cq)
{
	uint32_t data[7] = { 0 };
	uint32_t seen, last;

	if (!cq->armed)
		return;
	seen = cq_index_extend(cq, cq->arm & RNIC_CQ_INDEX_MASK);
	last = (cq->arm & RNIC_CQ_ARM_SOLICITED) != 0 ? cq->solicited : cq->producer;
	if ((int32_t)(last - seen) <= 0 || cq_moderate(dev, cq, last - seen))
		return;
	cq_hold(dev, cq, false);
	cq->armed = false;
	cq->fired = cq->arm;
	data[6] = cq->object.number;
	softrnic_eq_post(dev, cq->eqn, RNIC_EVENT_COMPLETION, 0, data);
}

static void
cq_arm(struct softrnic *dev, struct softrnic_cq *cq, uint32_t arm)
{
	/* The doorbell of what the record told of already does not start the clock again. */
	if (cq->arm != arm)
		cq_hold(dev, cq, false);
	cq->arm = arm;
	cq->armed = cq->fired != arm;
	cq_check_event(dev, cq);
}

/*
 * The first word that arms a CQ may be the one that its record has from the start, so that its doorbell alone tells of it; and that may
 * be covered by another CQ's: libmlx5 has one register for all CQs of a process, and perftest arms two of them one behind the other. So
 * a CQ that has had no event yet has one when such a first word was found on its page. At worst nobody has asked for it.
 */
static bool
cq_may_be_armed(const struct softrnic *dev, const struct softrnic_cq *cq)
{
	return cq->fired == CQ_NEVER_FIRED && cq->arm >> CQ_ARM_SEQUENCE_SHIFT == 0 &&
	       softrnic_uar_arms(dev, cq->uar) != cq->arms;
}

static void
cq_read_arm(struct softrnic *dev, struct softrnic_cq *cq)
{
	uint32_t arm;

	/* Far behind, the last solicited entry would seem to be ahead one day. */
	if (cq->producer - cq->solicited > 1u << 30)
		cq->solicited = cq->producer - (1u << 30);
	if (softrnic_dbrec_read(dev, &cq->dbrec, 1, &arm) && arm != cq->arm) {
		if (cq->fired == CQ_NEVER_FIRED && arm == CQ_ARM_NOT_YET)
			cq->arm = arm;
		else
			cq_arm(dev, cq, arm);
		return;
	}
	cq->armed |= cq_may_be_armed(dev, cq);
	cq_check_event(dev, cq);
}

void
softrnic_cq_flush(struct softrnic *dev)
{
	struct softrnic_cq *cq;

	softrnic_cqs_show(dev);
	while ((cq = STAILQ_FIRST(&dev->pending_cqs)) != NULL) {
		STAILQ_REMOVE_HEAD(&dev->pending_cqs, pending_link);
		cq->pending = false;
		cq_read_arm(dev, cq);
	}
}

void
softrnic_cq_release(struct softrnic *dev)
{
	struct softrnic_cq *cq, *last = TAILQ_LAST(&dev->held_cqs, softrnic_held_cqs);
	const uint64_t now = softrnic_now_ns() - dev->power_on_ns;
	uint32_t looks = 0;

	if (dev->leaving)
		return;
	/* Who was looked at goes to the end, if it stays. */
	do {
		cq = TAILQ_FIRST(&dev->held_cqs);
		TAILQ_REMOVE(&dev->held_cqs, cq, held_link);
		TAILQ_INSERT_TAIL(&dev->held_cqs, cq, held_link);
		if (now >= cq->held_to)
			cq_check_event(dev, cq);
	} while (cq != last && ++looks < SOFTRNIC_IDLE_LOOKS);
}

void
softrnic_cq_sweep(struct softrnic *dev)
{
	struct softrnic_cq *cq = TAILQ_FIRST(&dev->swept_cqs);

	if (cq == NULL)
		return;
	if (TAILQ_NEXT(cq, sweep_link) != NULL) {
		TAILQ_REMOVE(&dev->swept_cqs, cq, sweep_link);
		TAILQ_INSERT_TAIL(&dev->swept_cqs, cq, sweep_link);
	}
	cq_read_arm(dev, cq);
}

bool
softrnic_cq_arm_doorbell(struct softrnic *dev, uint32_t arm, uint32_t cqn)
{
	struct softrnic_cq *cq = softrnic_object_get(dev, SOFTRNIC_CQ, cqn & 0xffffff);
	bool is_first;

	if (cq == NULL)
		return false;
	is_first = cq->fired == CQ_NEVER_FIRED && arm >> CQ_ARM_SEQUENCE_SHIFT == 0;
	cq_arm(dev, cq, arm);
	return is_first;
}

void
softrnic_wq_event(struct softrnic *dev, enum rnic_event what, uint32_t queue_type, uint32_t number)
{
	uint32_t data[7] = { 0 };

	data[5] = queue_type << 24;
	data[6] = number;
	softrnic_event(dev, what, 0, data);
}

static void
cq_free(struct softrnic *dev, struct softrnic_cq *cq)
{
	softrnic_cq_show(cq);
	if (cq->pending)
		STAILQ_REMOVE(&dev->pending_cqs, cq, softrnic_cq, pending_link);
	cq_hold(dev, cq, false);
	TAILQ_REMOVE(&dev->swept_cqs, cq, sweep_link);
	softrnic_uar_user(dev, cq->uar, -1);
	softrnic_object_remove(dev, &cq->object);
	softrnic_ring_fini(&cq->ring);
	softrnic_dbrec_fini(dev, &cq->dbrec);
	cq->eq->refs--;
	softrnic_free(dev, cq->compress);
	softrnic_free(dev, cq);
}

void
softrnic_cq_drop(struct softrnic *dev, struct softrnic_object *object)
{
	cq_free(dev, (struct softrnic_cq *)object);
}

/* A batch never goes round its ring. All entries of a collapsed CQ are in one place. */
static void
cq_set_batch(struct softrnic_cq *cq)
{
	const uint32_t entries = cq->collapsed ? 1 : 1u << cq->log_size;
	const uint32_t most = cq->compress != NULL ? SOFTRNIC_CQ_COMPRESS_MAX : SOFTRNIC_CQ_BATCH;

	cq->batch = (uint8_t)(entries < most ? entries : most);
}

/* A list needs a slot of its own: neither a collapsed CQ nor one of a single entry has it. */
static int
cq_compress_init(struct softrnic *dev, struct softrnic_cq *cq)
{
	const struct rnic_cqc *cqc = &cq->context;
	const uint64_t format = rnic_cqc_get(cqc, RNIC_CQC_MINI_CQE_RES_FORMAT);

	if (rnic_cqc_get(cqc, RNIC_CQC_CQE_COMP_EN) == 0)
		return RNIC_STATUS_OK;
	if (format > RNIC_MINI_CQE_CHECKSUM || rnic_cqc_get(cqc, RNIC_CQC_CC) != 0 ||
	    rnic_cqc_get(cqc, RNIC_CQC_LOG_CQ_SIZE) == 0 ||
	    rnic_cqc_get(cqc, RNIC_CQC_CQE_COMPRESSION_LAYOUT) != 0)
		return RNIC_STATUS_BAD_PARAM;
	cq->compress = softrnic_alloc(dev, 1, sizeof(*cq->compress));
	if (cq->compress == NULL)
		return RNIC_STATUS_NO_RES;
	cq->compress->dev = dev;
	cq->compress->format = (enum rnic_mini_cqe_format)format;
	return RNIC_STATUS_OK;
}

/* The context's numbers, checked; RNIC_STATUS_OK or why not. */
static int
cq_from_context(struct softrnic *dev, struct softrnic_cq *cq)
{
	const struct rnic_cqc *cqc = &cq->context;
	const struct softrnic_address record = {
		.in_umem = rnic_cqc_get(cqc, RNIC_CQC_DBR_UMEM_VALID) != 0,
		.umem = (uint32_t)rnic_cqc_get(cqc, RNIC_CQC_DBR_UMEM_ID),
		.at = rnic_cqc_get(cqc, RNIC_CQC_DBR_ADDR),
	};
	uint64_t cqe_size = rnic_cqc_get(cqc, RNIC_CQC_CQE_SZ);
	int status;

	if (cqe_size > RNIC_CQE_SIZE_128 ||
	    rnic_cqc_get(cqc, RNIC_CQC_LOG_CQ_SIZE) > CQ_LOG_SIZE_MAX)
		return RNIC_STATUS_BAD_PARAM;
	status = cq_compress_init(dev, cq);
	if (status != RNIC_STATUS_OK)
		return status;
	cq->cqe_bytes_log2 = (uint8_t)(6 + cqe_size);
	cq->log_size = (uint8_t)rnic_cqc_get(cqc, RNIC_CQC_LOG_CQ_SIZE);
	cq->collapsed = rnic_cqc_get(cqc, RNIC_CQC_CC) != 0;
	cq_set_batch(cq);
	cq->ignore_overrun = rnic_cqc_get(cqc, RNIC_CQC_OI) != 0;
	cq->max_count = (uint16_t)rnic_cqc_get(cqc, RNIC_CQC_CQ_MAX_COUNT);
	cq->period_ns = rnic_cqc_get(cqc, RNIC_CQC_CQ_PERIOD) * 1000;
	cq->uar = (uint32_t)rnic_cqc_get(cqc, RNIC_CQC_UAR_PAGE);
	cq->eqn = (uint32_t)rnic_cqc_get(cqc, RNIC_CQC_C_EQN);
	cq->eq = softrnic_object_get(dev, SOFTRNIC_EQ, cq->eqn);
	/* No reference is taken: libmlx5 gives back the page of CQs that a program leaves for its exit to destroy. */
	if (cq->eq == NULL || softrnic_object_find(dev, SOFTRNIC_UAR, cq->uar) == NULL)
		return RNIC_STATUS_BAD_RES;
	return softrnic_dbrec_init(dev, &cq->dbrec, &record);
}

/* The ring of CREATE_CQ, or the new one of MODIFY_CQ: both say it at the same places, and list pages behind the same length. */
static int
cq_ring_init(struct softrnic *dev, struct softrnic_ring *ring, const struct softrnic_cmd *cmd,
	     const struct rnic_cqc *cqc, uint32_t bytes)
{
	const struct rnic_create_cq_in *in = cmd->in;
	const struct softrnic_ring_place place = {
		.pas = (const struct rnic_be64 *)(in + 1),
		.pas_bytes = cmd->in_bytes - sizeof(*in),
		.log_page_size = rnic_cqc_get(cqc, RNIC_CQC_LOG_PAGE_SIZE),
		.page_offset = rnic_cqc_get(cqc, RNIC_CQC_PAGE_OFFSET),
		.address = { .in_umem = rnic_create_cq_in_get(in,
							      RNIC_CREATE_CQ_IN_CQ_UMEM_VALID) != 0,
			     .umem = (uint32_t)rnic_create_cq_in_get(in,
								     RNIC_CREATE_CQ_IN_CQ_UMEM_ID),
			     .at = rnic_create_cq_in_get(in, RNIC_CREATE_CQ_IN_CQ_UMEM_OFFSET) },
	};

	return softrnic_ring_init(dev, ring, &place, bytes, SOFTRNIC_DMA_WRITE);
}

SOFTRNIC_CMD(create_cq)
{
	/* Inputs are private copies: the accessors of inner layouts want them writable. */
	struct rnic_create_cq_in *in = (struct rnic_create_cq_in *)(uintptr_t)cmd->in;
	struct softrnic_cq *cq;
	int status;

	cmd->syndrome = 0x400001;
	cq = softrnic_alloc(dev, 1, sizeof(*cq));
	if (cq == NULL)
		return RNIC_STATUS_NO_RES;
	cq->context = *rnic_create_cq_in_cqc(in);
	cq->fired = CQ_NEVER_FIRED;
	cq->producer = cq->consumer = cq->solicited = softrnic_tunables.queue_index;
	cmd->syndrome = 0x400002;
	status = cq_from_context(dev, cq);
	if (status != RNIC_STATUS_OK)
		goto free_cq;
	cmd->syndrome = 0x400003;
	status = cq_ring_init(dev, &cq->ring, cmd, &cq->context,
			      1u << (cq->log_size + cq->cqe_bytes_log2));
	if (status != RNIC_STATUS_OK)
		goto free_cq;
	cmd->syndrome = 0x400004;
	status = softrnic_object_add(dev, SOFTRNIC_CQ, &cq->object);
	if (status != RNIC_STATUS_OK)
		goto free_ring;
	softrnic_dbrec_read(dev, &cq->dbrec, 1, &cq->arm);
	cq->arms = softrnic_uar_arms(dev, cq->uar);
	cq->eq->refs++;
	softrnic_uar_user(dev, cq->uar, 1);
	TAILQ_INSERT_TAIL(&dev->swept_cqs, cq, sweep_link);
	dev->dump_queues = softrnic_dump_queues_wanted();
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, cq->object.number);
	return RNIC_STATUS_OK;
free_ring:
	softrnic_ring_fini(&cq->ring);
free_cq:
	softrnic_dbrec_fini(dev, &cq->dbrec);
	softrnic_free(dev, cq->compress);
	softrnic_free(dev, cq);
	return status;
}

static struct softrnic_cq *
cq_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_CQ,
				    (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));
}

SOFTRNIC_CMD(destroy_cq)
{
	struct softrnic_cq *cq = cq_of_command(dev, cmd);

	cmd->syndrome = 0x401001;
	if (cq == NULL)
		return RNIC_STATUS_BAD_RES;
	if (cq->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	cq_free(dev, cq);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_cq)
{
	struct softrnic_cq *cq = cq_of_command(dev, cmd);
	struct rnic_cqc *cqc = rnic_query_cq_out_cqc(cmd->out);
	uint32_t consumer;

	cmd->syndrome = 0x402001;
	if (cq == NULL)
		return RNIC_STATUS_BAD_RES;
	*cqc = cq->context;
	if (!softrnic_dbrec_read(dev, &cq->dbrec, 0, &consumer))
		consumer = cq->consumer;
	rnic_cqc_set(cqc, RNIC_CQC_ST, cq->armed ? RNIC_ARM_STATE_ARMED : RNIC_ARM_STATE_FIRED);
	rnic_cqc_set(cqc, RNIC_CQC_PRODUCER_COUNTER, cq->producer & RNIC_CQ_INDEX_MASK);
	rnic_cqc_set(cqc, RNIC_CQC_CONSUMER_COUNTER, consumer & RNIC_CQ_INDEX_MASK);
	rnic_cqc_set(cqc, RNIC_CQC_LAST_SOLICIT_INDEX, cq->solicited & RNIC_CQ_INDEX_MASK);
	return RNIC_STATUS_OK;
}

/* Is there room in the old ring for the entry that ends it, and in the new one for that and all that waits? */
static int
cq_resize_room(struct softrnic *dev, struct softrnic_cq *cq, uint32_t log_size)
{
	uint32_t index;

	if (cq->error || !softrnic_dbrec_read(dev, &cq->dbrec, 0, &index))
		return RNIC_STATUS_BAD_RES_STATE;
	index = cq_index_extend(cq, index);
	if (cq->producer - index >= 1u << cq->log_size)
		return RNIC_STATUS_BAD_RES_STATE;
	if (cq->producer - index >= 1u << log_size)
		return RNIC_STATUS_BAD_SIZE_OUTS_CQES;
	cq->consumer = index;
	return RNIC_STATUS_OK;
}

/*
 * Another ring (PRM: "Resize CQ"): an entry that says so ends the old one, where the driver finds what it has not polled
 * yet; the next one, with the next number, is in the new ring.
 */
static int
cq_resize(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_cq *cq)
{
	struct rnic_modify_cq_in *in = (struct rnic_modify_cq_in *)(uintptr_t)cmd->in;
	const struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(in);
	const uint32_t log_size = (uint32_t)rnic_cqc_get(cqc, RNIC_CQC_LOG_CQ_SIZE);
	struct softrnic_ring ring;
	struct rnic_cqe *last;
	int status;

	cmd->syndrome = 0x403003;
	if (rnic_modify_cq_in_get(in, RNIC_MODIFY_CQ_IN_FIELD_SELECT) != RNIC_RESIZE_CQ_RING ||
	    6 + rnic_cqc_get(cqc, RNIC_CQC_CQE_SZ) != cq->cqe_bytes_log2 ||
	    log_size > CQ_LOG_SIZE_MAX || cq->collapsed || (log_size == 0 && cq->compress != NULL))
		return RNIC_STATUS_BAD_PARAM;
	cmd->syndrome = 0x403004;
	status = cq_resize_room(dev, cq, log_size);
	if (status != RNIC_STATUS_OK)
		return status;
	cmd->syndrome = 0x403005;
	status = cq_ring_init(dev, &ring, cmd, cqc, 1u << (log_size + cq->cqe_bytes_log2));
	if (status != RNIC_STATUS_OK)
		return status;
	last = softrnic_cq_claim(dev, cq);
	if (last == NULL) {
		softrnic_ring_fini(&ring);
		return RNIC_STATUS_BAD_RES_STATE;
	}
	softrnic_cq_publish(dev, cq, last, RNIC_CQE_RESIZE, false);
	softrnic_ring_fini(&cq->ring);
	softrnic_ring_move(&cq->ring, &ring);
	cq->log_size = (uint8_t)log_size;
	cq_set_batch(cq);
	rnic_cqc_set(&cq->context, RNIC_CQC_LOG_CQ_SIZE, log_size);
	rnic_cqc_set(&cq->context, RNIC_CQC_LOG_PAGE_SIZE,
		     rnic_cqc_get(cqc, RNIC_CQC_LOG_PAGE_SIZE));
	rnic_cqc_set(&cq->context, RNIC_CQC_PAGE_OFFSET, rnic_cqc_get(cqc, RNIC_CQC_PAGE_OFFSET));
	return RNIC_STATUS_OK;
}

/* Fields of the context that may change: what an event waits for, and whether overrun is ignored. */
static void
cq_modify_fields(struct softrnic *dev, struct softrnic_cq *cq, const struct rnic_cqc *cqc,
		 uint64_t select)
{
	if ((select & RNIC_MODIFY_CQ_OVERRUN) != 0) {
		cq->ignore_overrun = rnic_cqc_get(cqc, RNIC_CQC_OI) != 0;
		rnic_cqc_set(&cq->context, RNIC_CQC_OI, cq->ignore_overrun);
	}
	if ((select & RNIC_MODIFY_CQ_MAX_COUNT) != 0) {
		cq->max_count = (uint16_t)rnic_cqc_get(cqc, RNIC_CQC_CQ_MAX_COUNT);
		rnic_cqc_set(&cq->context, RNIC_CQC_CQ_MAX_COUNT, cq->max_count);
	}
	if ((select & RNIC_MODIFY_CQ_PERIOD) != 0) {
		cq->period_ns = rnic_cqc_get(cqc, RNIC_CQC_CQ_PERIOD) * 1000;
		rnic_cqc_set(&cq->context, RNIC_CQC_CQ_PERIOD,
			     rnic_cqc_get(cqc, RNIC_CQC_CQ_PERIOD));
	}
	/* What waits, waits by the new values. */
	cq_hold(dev, cq, false);
	cq_check_event(dev, cq);
}

/* Another ring, or other values of fields. */
SOFTRNIC_CMD(modify_cq)
{
	const uint64_t known =
		RNIC_MODIFY_CQ_OVERRUN | RNIC_MODIFY_CQ_MAX_COUNT | RNIC_MODIFY_CQ_PERIOD;
	struct rnic_modify_cq_in *in = (struct rnic_modify_cq_in *)(uintptr_t)cmd->in;
	struct softrnic_cq *cq = cq_of_command(dev, cmd);
	uint64_t select = rnic_modify_cq_in_get(in, RNIC_MODIFY_CQ_IN_FIELD_SELECT);

	cmd->syndrome = 0x403001;
	if (cq == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x403002;
	if (cmd->op_mod == RNIC_MODIFY_CQ_RESIZE)
		return cq_resize(dev, cmd, cq);
	if (cmd->op_mod != RNIC_MODIFY_CQ_FIELDS || (select & ~known) != 0)
		return RNIC_STATUS_BAD_PARAM;
	cq_modify_fields(dev, cq, rnic_modify_cq_in_cqc(in), select);
	return RNIC_STATUS_OK;
}
