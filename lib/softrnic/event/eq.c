/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Event queues. An entry's owner byte is written last, with release; it alternates with each round of the ring, so that a driver
 * recognises a new entry. Consumer indices and arming arrive by doorbells only.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/work.h"
#include "softrnic/event/eq.h"
#include "softrnic/event/latch.h"

#define EQ_INDEX_MASK	     0xffffffu
#define EQ_STATUS_WRITE_FAIL 0xa
#define EQ_WHOLE_BYTES	     (64u << 10) /* of rings that are resolved as a whole */

struct softrnic_eq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	uint32_t producer; /* free running */
	uint32_t consumer; /* as last written to a doorbell, 24 bits */
	uint64_t mask[4];  /* of event types */
	uint8_t log_size;
	uint8_t vector;
	bool armed;
	bool ignore_overrun;
	/* A PORT_CHANGE that the driver has not read, and where it is; the link has changed again since. */
	bool port_told, port_changed;
	uint32_t port_index;
	uint8_t status; /* 0, or why it is in error: enum rnic_cq_status serves */
	struct softrnic_object *uar;
	struct rnic_eqc context;
};

#ifdef SOFTRNIC_DMA_AUDIT
const struct softrnic_ring *
softrnic_eq_ring(const struct softrnic_object *eq)
{
	return &((const struct softrnic_eq *)eq)->ring;
}
#endif

static void
eq_free(struct softrnic *dev, struct softrnic_eq *eq)
{
	softrnic_ring_fini(&eq->ring);
	softrnic_free(dev, eq);
}

void
softrnic_eq_drop(struct softrnic *dev, struct softrnic_object *object)
{
	softrnic_object_remove(dev, object);
	eq_free(dev, (struct softrnic_eq *)object);
}

static void
eq_interrupt(struct softrnic *dev, struct softrnic_eq *eq)
{
	const struct softrnic_irq *irq = &dev->irqs[eq->vector];

	eq->armed = false;
	dev->stats.interrupts++;
	if (irq->fn != NULL)
		irq->fn(irq->arg, eq->vector);
}

static uint32_t
eq_unread(const struct softrnic_eq *eq)
{
	return (eq->producer - eq->consumer) & EQ_INDEX_MASK;
}

/*
 * A link may flap as often as a neighbour likes, and what it was in between is worth nothing: at most one PORT_CHANGE waits
 * to be read. What comes meanwhile is told, once, when the consumer index has passed it.
 */
static bool
eq_port_unread(const struct softrnic_eq *eq)
{
	return eq->port_told && !eq->ignore_overrun &&
	       ((eq->producer - eq->port_index) & EQ_INDEX_MASK) <= eq_unread(eq);
}

static void
eq_fail(struct softrnic *dev, struct softrnic_eq *eq, const char *why)
{
	eq->status = EQ_STATUS_WRITE_FAIL;
	SOFTRNIC_LOG(ERR, dev, "EQ 0x%x takes no further events: %s", eq->object.number, why);
}

/*
 * The next entry in the ring; NULL: it cannot be reached. One event goes to as many EQs as there are, and cannot wait: where the
 * map has changed, of a long ring only the entry is looked up.
 */
static struct rnic_eqe *
eq_slot(struct softrnic *dev, struct softrnic_eq *eq)
{
	const uint32_t mask = (UINT32_C(1) << eq->log_size) - 1;
	const uint32_t at = (eq->producer & mask) * sizeof(struct rnic_eqe);

	if (likely(eq->ring.generation == dev->dma_generation))
		return softrnic_ring_at(&eq->ring, at);
	if (eq->ring.bytes > EQ_WHOLE_BYTES)
		return softrnic_ring_find(dev, &eq->ring, at, sizeof(struct rnic_eqe));
	return softrnic_ring_refresh(dev, &eq->ring) ? softrnic_ring_at(&eq->ring, at) : NULL;
}

static void
eq_write(struct softrnic *dev, struct softrnic_eq *eq, uint8_t type, uint8_t sub_type,
	 const uint32_t data[7])
{
	uint32_t entries = UINT32_C(1) << eq->log_size;
	struct rnic_eqe *slot, eqe = { .type = type, .sub_type = sub_type };

	/* Whatever it tells of, completions that came before it are seen before it. */
	softrnic_cqs_show(dev);
	if (!eq->ignore_overrun && eq_unread(eq) >= entries) {
		dev->stats.eq_overruns++;
		eq_fail(dev, eq, "overrun");
		return;
	}
	slot = eq_slot(dev, eq);
	if (slot == NULL) {
		eq_fail(dev, eq, "it is no longer mapped for the device");
		return;
	}
	for (unsigned int i = 0; i < 7; i++)
		eqe.data[i] = rnic_cpu_to_be32(data[i]);
	softrnic_audit(dev, slot, sizeof(eqe), SOFTRNIC_DMA_WRITE);
	memcpy(slot, &eqe, offsetof(struct rnic_eqe, owner));
	/* Pairs with the driver's acquire of the owner byte. */
	__atomic_store_n(&slot->owner, (uint8_t)(eq->producer >> eq->log_size & 1),
			 __ATOMIC_RELEASE);
	eq->producer++;
	dev->stats.eqes++;
	if (eq->armed)
		eq_interrupt(dev, eq);
}

/*
 * At most one is unread, so that it takes the place of none that the driver has reckoned with. A queue of completions gets
 * nothing else from any card.
 */
static void
eq_post_unknown(struct softrnic *dev, struct softrnic_eq *eq)
{
	static const uint32_t data[7] = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };

	if ((eq->mask[0] | eq->mask[1] | eq->mask[2] | eq->mask[3]) != 0 && eq_unread(eq) == 0)
		eq_write(dev, eq, softrnic_quirks_unknown_event(dev), 0xff, data);
}

static void
eq_post(struct softrnic *dev, struct softrnic_eq *eq, uint8_t type, uint8_t sub_type,
	const uint32_t data[7])
{
	/* A driver that has begun to leave gets no events. */
	if (eq->status != 0 || dev->leaving)
		return;
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_EVENTS_UNKNOWN))
		eq_post_unknown(dev, eq);
	if (type == RNIC_EVENT_PORT_CHANGE) {
		eq->port_changed = eq_port_unread(eq);
		if (eq->port_changed)
			return;
		eq->port_told = true;
		eq->port_index = eq->producer;
	}
	eq_write(dev, eq, type, sub_type, data);
}

void
softrnic_eq_post(struct softrnic *dev, uint32_t eqn, uint8_t type, uint8_t sub_type,
		 const uint32_t data[7])
{
	struct softrnic_eq *eq = softrnic_object_get(dev, SOFTRNIC_EQ, eqn);

	if (eq != NULL)
		eq_post(dev, eq, type, sub_type, data);
}

static bool
eq_wants(const struct softrnic_eq *eq, uint8_t type)
{
	return (eq->mask[type / 64] >> type % 64 & 1) != 0;
}

void
softrnic_event(struct softrnic *dev, uint8_t type, uint8_t sub_type, const uint32_t data[7])
{
	struct softrnic_eq *eq;
	uint32_t number = 0;

	while ((eq = softrnic_object_next(dev, SOFTRNIC_EQ, &number)) != NULL) {
		if (!eq_wants(eq, type))
			continue;
		eq_post(dev, eq, type, sub_type, data);
		/* Thousands of events, such as those of queues that fail, are spread over several rounds. */
		softrnic_spend(dev, 1);
	}
}

bool
softrnic_event_wanted(const struct softrnic *dev, uint8_t type)
{
	const struct softrnic_object_table *table = &dev->tables[SOFTRNIC_EQ];
	uint32_t left = table->used;

	for (uint32_t i = 0; left > 0; i++) {
		if (table->slots[i] == NULL)
			continue;
		if (eq_wants((const struct softrnic_eq *)table->slots[i], type))
			return true;
		left--;
	}
	return false;
}

void
softrnic_eq_doorbell(struct softrnic *dev, uint32_t value, bool arm)
{
	struct softrnic_eq *eq = softrnic_object_get(dev, SOFTRNIC_EQ, value >> 24);
	uint32_t consumer = value & EQ_INDEX_MASK;

	if (eq == NULL)
		return;
	/* An index that was never written, or long ago, is no index. */
	if (!eq->ignore_overrun &&
	    ((eq->producer - consumer) & EQ_INDEX_MASK) > UINT32_C(1) << eq->log_size) {
		SOFTRNIC_LOG(NOTICE, dev, "EQ 0x%x: doorbell with index 0x%x, entries end at 0x%x",
			     eq->object.number, consumer, eq->producer & EQ_INDEX_MASK);
		return;
	}
	eq->consumer = consumer;
	eq->port_told = eq_port_unread(eq);
	/* Also where the link is again what was told: the driver may have asked in between. */
	if (eq->port_changed && !eq->port_told)
		dev->port_tell(dev, value >> 24);
	if (!arm)
		return;
	eq->armed = true;
	/* What came between the driver's last look and now would otherwise wait for the next event. */
	if (eq_unread(eq) > 0)
		eq_interrupt(dev, eq);
}

static int
eq_context(struct softrnic *dev, struct softrnic_eq *eq, const struct softrnic_cmd *cmd)
{
	struct rnic_create_eq_in in = *(const struct rnic_create_eq_in *)cmd->in;
	const struct rnic_eqc *eqc = rnic_create_eq_in_eqc(&in);
	unsigned int log_size = rnic_eqc_get(eqc, RNIC_EQC_LOG_EQ_SIZE);
	unsigned int vector = rnic_eqc_get(eqc, RNIC_EQC_INTR);
	struct softrnic_ring_place place;

	if (log_size > SOFTRNIC_LOG_MAX_EQ_SIZE || vector >= SOFTRNIC_MSIX_VECTORS)
		return RNIC_STATUS_BAD_PARAM;
	eq->context = *eqc;
	eq->producer = softrnic_tunables.queue_index;
	eq->log_size = log_size;
	eq->vector = vector;
	eq->ignore_overrun = rnic_eqc_get(eqc, RNIC_EQC_OI);
	eq->mask[0] = rnic_create_eq_in_get(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0);
	eq->mask[1] = rnic_create_eq_in_get(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_1);
	eq->mask[2] = rnic_create_eq_in_get(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_2);
	eq->mask[3] = rnic_create_eq_in_get(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_3);
	eq->uar = softrnic_object_find(dev, SOFTRNIC_UAR, rnic_eqc_get(eqc, RNIC_EQC_UAR_PAGE));
	if (eq->uar == NULL)
		return RNIC_STATUS_BAD_RES;
	place = (struct softrnic_ring_place){
		.pas = (const struct rnic_be64 *)((const uint8_t *)cmd->in + sizeof(in)),
		.pas_bytes = cmd->in_bytes - sizeof(in),
		.log_page_size = rnic_eqc_get(eqc, RNIC_EQC_LOG_PAGE_SIZE),
		.page_offset = rnic_eqc_get(eqc, RNIC_EQC_PAGE_OFFSET),
	};
	return softrnic_ring_init(dev, &eq->ring, &place, sizeof(struct rnic_eqe) << log_size,
				  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
}

SOFTRNIC_CMD(create_eq)
{
	struct rnic_object_out *out = cmd->out;
	struct softrnic_eq *eq;
	int status;

	eq = softrnic_alloc(dev, 1, sizeof(*eq));
	if (eq == NULL)
		return RNIC_STATUS_NO_RES;
	status = eq_context(dev, eq, cmd);
	if (status == RNIC_STATUS_OK)
		status = softrnic_object_add(dev, SOFTRNIC_EQ, &eq->object);
	if (status != RNIC_STATUS_OK) {
		eq_free(dev, eq);
		return status;
	}
	eq->uar->refs++;
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, eq->object.number);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_eq)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_eq *eq = softrnic_object_find(
		dev, SOFTRNIC_EQ, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (eq == NULL)
		return RNIC_STATUS_BAD_RES;
	/* CQs report to it. */
	if (eq->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	eq->uar->refs--;
	softrnic_object_remove(dev, &eq->object);
	eq_free(dev, eq);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_eq)
{
	const struct rnic_object_in *in = cmd->in;
	struct rnic_query_eq_out *out = cmd->out;
	const struct softrnic_eq *eq = softrnic_object_get(
		dev, SOFTRNIC_EQ, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));
	struct rnic_eqc *eqc = rnic_query_eq_out_eqc(out);

	if (eq == NULL)
		return RNIC_STATUS_BAD_RES;
	*eqc = eq->context;
	rnic_eqc_set(eqc, RNIC_EQC_STATUS, eq->status);
	rnic_eqc_set(eqc, RNIC_EQC_ST, eq->armed ? RNIC_ARM_STATE_ARMED : RNIC_ARM_STATE_FIRED);
	rnic_eqc_set(eqc, RNIC_EQC_CONSUMER_COUNTER, eq->consumer);
	rnic_eqc_set(eqc, RNIC_EQC_PRODUCER_COUNTER, eq->producer);
	rnic_query_eq_out_set(out, RNIC_QUERY_EQ_OUT_EVENT_BITMASK_0, eq->mask[0]);
	return RNIC_STATUS_OK;
}
